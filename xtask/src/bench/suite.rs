//! The measured commands and their goals.
//!
//! Does not know how they are measured.

use super::goal::{Bound, Cost, Goal};
use super::measure::{Case, Results};
use super::place::{Binaries, Corpus, Work, installed};
use crate::scan::transcripts;
use std::path::Path;

const LIGHT: &str = "query tools --all-projects --fields timestamp,session_id,tool,status --threads 1";
const LIGHT2: &str = "query tools --all-projects --fields timestamp,session_id,tool,status --threads 2";
const WHOLE: &str = "query tools --all-projects --threads 1";
const USAGE: &str = "usage --all-projects -o jsonl";

/// The equivalent jq program: each call, and each result with the ID of its call.
const JQ: &str = r#"(.message.content | arrays | .[]) as $block
  | if $block.type == "tool_use" then [.timestamp, .sessionId, $block.name, $block.id]
    elif $block.type == "tool_result" then [$block.tool_use_id, $block.is_error // false]
    else empty end"#;

/// The big corpus takes minutes, and its ratios vary less.
const BIG_ROUNDS: usize = 3;

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

fn loci(name: &str, line: &str, corpus: &Corpus, binaries: &Binaries) -> Case {
    Case::new(&format!("{name}{}", corpus.suffix), &binaries.loci, &corpus.home, &words(line))
}

pub(super) fn light(corpus: &Corpus, binaries: &Binaries) -> Case {
    loci("light", LIGHT, corpus, binaries)
}

pub(super) fn light2(corpus: &Corpus, binaries: &Binaries) -> Case {
    loci("light2", LIGHT2, corpus, binaries)
}

pub(super) fn whole(corpus: &Corpus, binaries: &Binaries) -> Case {
    loci("whole", WHOLE, corpus, binaries)
}

pub(super) fn usage(corpus: &Corpus, binaries: &Binaries) -> Case {
    loci("usage", USAGE, corpus, binaries)
}

pub(super) fn ccusage(corpus: &Corpus, binaries: &Binaries) -> Option<Case> {
    let program = binaries.ccusage.as_deref()?;
    Some(Case::new("ccusage", program, &corpus.home, &words("daily --json --offline")))
}

fn scan(name: &str, threads: &str, corpus: &Corpus, binaries: &Binaries) -> Case {
    let name = format!("{name}{}", corpus.suffix);
    Case::new(&name, &binaries.xtask, &corpus.home, &["scan", ".claude/projects", "--threads", threads])
}

/// All commands that read a corpus. The other tools read only the small one: they take minutes.
pub(super) fn queries(corpora: &[Corpus], binaries: &Binaries, rounds: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    for (at, corpus) in corpora.iter().enumerate() {
        let mut these = vec![
            scan("scan", "1", corpus, binaries),
            scan("scan2", "2", corpus, binaries),
            light(corpus, binaries),
            light2(corpus, binaries),
            whole(corpus, binaries),
            usage(corpus, binaries),
        ];
        let rounds = if at == 0 { rounds } else { rounds.min(BIG_ROUNDS) };
        for case in &mut these {
            case.rounds = rounds;
        }
        if at == 0 {
            these.extend(others(corpus, binaries, rounds));
        }
        for case in &mut these {
            case.scan = Some(format!("scan{}", corpus.suffix));
        }
        cases.extend(these);
    }
    cases
}

fn others(corpus: &Corpus, binaries: &Binaries, rounds: usize) -> Vec<Case> {
    let rg = installed("rg").then(|| {
        let args = words("--no-config --no-ignore --hidden --threads 1 -c \"tool_use\" .claude/projects");
        Case { rounds, ..Case::new("rg", Path::new("rg"), &corpus.home, &args) }
    });
    let ccusage = ccusage(corpus, binaries).map(|case| Case { rounds: rounds.min(BIG_ROUNDS), ..case });
    [rg, jq(corpus), ccusage].into_iter().flatten().collect()
}

/// So slow that one run is enough.
pub(super) fn jq(corpus: &Corpus) -> Option<Case> {
    let mut case = Case::new("jq", Path::new("jq"), &corpus.home, &["-c", JQ]);
    let files = transcripts(&corpus.projects()).unwrap_or_default();
    // Relative to the home: a folder's own name begins with a dash and would be taken for an option.
    let named = files.iter().filter_map(|file| file.strip_prefix(&corpus.home).ok());
    case.args.extend(named.map(|file| file.as_os_str().to_owned()));
    case.repeats = Some(1);
    installed("jq").then_some(case)
}

/// Two hundred starts of each, alternating in groups of twenty.
pub(super) fn start_up(binaries: &Binaries, work: &Work, smoke: bool) -> Vec<Case> {
    let home = work.empty_home();
    let nothing_found = Some(2);
    let empty = Case::new("empty", &binaries.loci, &home, &words("query tools --limit 1"));
    let mut cases = [
        Case::new("noop", &binaries.noop, &home, &[]),
        Case::new("help", &binaries.loci, &home, &["--help"]),
        Case { fine: nothing_found, ..empty },
    ];
    for case in &mut cases {
        case.repeats = Some(20);
        case.rounds = if smoke { 3 } else { 10 };
    }
    cases.to_vec()
}

pub(super) fn goals(results: &Results) -> Vec<Goal> {
    use Bound::{AtLeast, AtMost};
    let mut goals = vec![
        Goal::new("jq", Cost::Cpu, AtLeast(15.0), "light"),
        Goal::new("help", Cost::Wall, AtMost(3.0), "noop"),
        Goal::new("empty", Cost::Wall, AtMost(3.0), "noop"),
    ];
    for suffix in ["", " big"] {
        let name = |name: &str| format!("{name}{suffix}");
        if results.find(&name("scan")).is_none() {
            continue;
        }
        goals.push(Goal::new(&name("light"), Cost::Cpu, AtMost(4.0), &name("scan")));
        goals.push(Goal::new(&name("whole"), Cost::Cpu, AtMost(8.0), &name("scan")));
        // If even the plain scan gains nothing from a second thread, no second core is available.
        let provided = Some((name("scan2"), name("scan")));
        goals.push(Goal { provided, ..Goal::new(&name("light2"), Cost::Wall, AtMost(0.6), &name("light")) });
    }
    goals
}

/// Ten times the history may cost eleven times as much.
pub(super) fn growth(small: &Corpus, big: &Corpus) -> Goal {
    let times = big.count("/bytes") as f64 / small.count("/bytes") as f64;
    Goal::new("light big", Cost::Cpu, Bound::AtMost(1.1 * times), "light")
}
