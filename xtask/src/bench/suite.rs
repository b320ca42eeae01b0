//! The measured commands and their goals.
//!
//! Does not know how they are measured.

use super::goal::{Bound, Cost, Goal};
use super::measure::{Case, Results};
use super::workspace::{Binaries, Corpus, Workspace, is_installed};
use crate::scan::find_transcripts;
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

fn split_words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

fn loci_case(name: &str, line: &str, corpus: &Corpus, binaries: &Binaries) -> Case {
    Case::new(&format!("{name}{}", corpus.suffix), &binaries.loci, &corpus.home, &split_words(line))
}

pub(super) fn light_case(corpus: &Corpus, binaries: &Binaries) -> Case {
    loci_case("light", LIGHT, corpus, binaries)
}

pub(super) fn light2_case(corpus: &Corpus, binaries: &Binaries) -> Case {
    loci_case("light2", LIGHT2, corpus, binaries)
}

pub(super) fn whole_case(corpus: &Corpus, binaries: &Binaries) -> Case {
    loci_case("whole", WHOLE, corpus, binaries)
}

pub(super) fn usage_case(corpus: &Corpus, binaries: &Binaries) -> Case {
    loci_case("usage", USAGE, corpus, binaries)
}

pub(super) fn ccusage_case(corpus: &Corpus, binaries: &Binaries) -> Option<Case> {
    let program = binaries.ccusage.as_deref()?;
    Some(Case::new("ccusage", program, &corpus.home, &split_words("daily --json --offline")))
}

fn scan_case(name: &str, threads: &str, corpus: &Corpus, binaries: &Binaries) -> Case {
    let name = format!("{name}{}", corpus.suffix);
    Case::new(&name, &binaries.xtask, &corpus.home, &["scan", ".claude/projects", "--threads", threads])
}

/// All commands that read a corpus. The other tools read only the small one: they take minutes.
pub(super) fn query_cases(corpora: &[Corpus], binaries: &Binaries, rounds: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    for (at, corpus) in corpora.iter().enumerate() {
        let mut these = vec![
            scan_case("scan", "1", corpus, binaries),
            scan_case("scan2", "2", corpus, binaries),
            light_case(corpus, binaries),
            light2_case(corpus, binaries),
            whole_case(corpus, binaries),
            usage_case(corpus, binaries),
        ];
        let rounds = if at == 0 { rounds } else { rounds.min(BIG_ROUNDS) };
        for case in &mut these {
            case.rounds = rounds;
        }
        if at == 0 {
            these.extend(other_tool_cases(corpus, binaries, rounds));
        }
        for case in &mut these {
            case.scan = Some(format!("scan{}", corpus.suffix));
        }
        cases.extend(these);
    }
    cases
}

fn other_tool_cases(corpus: &Corpus, binaries: &Binaries, rounds: usize) -> Vec<Case> {
    let rg = is_installed("rg").then(|| {
        let args =
            split_words("--no-config --no-ignore --hidden --threads 1 -c \"tool_use\" .claude/projects");
        Case { rounds, ..Case::new("rg", Path::new("rg"), &corpus.home, &args) }
    });
    let ccusage = ccusage_case(corpus, binaries).map(|case| Case { rounds: rounds.min(BIG_ROUNDS), ..case });
    [rg, jq_case(corpus), ccusage].into_iter().flatten().collect()
}

/// So slow that one run is enough.
pub(super) fn jq_case(corpus: &Corpus) -> Option<Case> {
    let mut case = Case::new("jq", Path::new("jq"), &corpus.home, &["-c", JQ]);
    let files = find_transcripts(&corpus.projects_folder()).unwrap_or_default();
    // Relative to the home: a folder's own name begins with a dash and would be taken for an option.
    let named = files.iter().filter_map(|file| file.strip_prefix(&corpus.home).ok());
    case.args.extend(named.map(|file| file.as_os_str().to_owned()));
    case.repeats = Some(1);
    is_installed("jq").then_some(case)
}

/// Starts in one sample. CPU time is counted in ticks of 10 ms, and a program that does nothing takes half a millisecond: 20 starts of it are one
/// tick, which made the ratio of one build vary from 10 to 16.
const STARTS: u32 = 200;

pub(super) fn start_up_cases(binaries: &Binaries, work: &Workspace, smoke: bool) -> Vec<Case> {
    let home = work.empty_home();
    let nothing_found = Some(2);
    let empty = Case::new("empty", &binaries.loci, &home, &split_words("query tools --limit 1"));
    let mut cases = [
        Case::new("noop", &binaries.noop, &home, &[]),
        Case::new("help", &binaries.loci, &home, &["--help"]),
        Case { accepted_exit: nothing_found, ..empty },
    ];
    for case in &mut cases {
        case.repeats = Some(STARTS);
        case.rounds = if smoke { 3 } else { 10 };
    }
    cases.to_vec()
}

pub(super) fn list_goals(results: &Results) -> Vec<Goal> {
    use Bound::{AtLeast, AtMost};
    let mut goals = vec![
        Goal::new("jq", Cost::Cpu, AtLeast(15.0), "light"),
        Goal::new("help", Cost::Wall, AtMost(3.0), "noop"),
        Goal::new("empty", Cost::Wall, AtMost(3.0), "noop"),
    ];
    for suffix in ["", " big"] {
        let name = |name: &str| format!("{name}{suffix}");
        if results.find_row(&name("scan")).is_none() {
            continue;
        }
        goals.push(Goal::new(&name("light"), Cost::Cpu, AtMost(4.0), &name("scan")));
        goals.push(Goal::new(&name("whole"), Cost::Cpu, AtMost(8.0), &name("scan")));
        // If even the plain scan gains nothing from a second thread, no second core is available.
        let provided = Some((name("scan2"), name("scan")));
        goals.push(Goal {
            precondition: provided,
            ..Goal::new(&name("light2"), Cost::Wall, AtMost(0.6), &name("light"))
        });
    }
    goals
}

/// Ten times the history may cost eleven times as much.
pub(super) fn growth_goal(small: &Corpus, big: &Corpus) -> Goal {
    let times = big.manifest_count("/bytes") as f64 / small.manifest_count("/bytes") as f64;
    Goal::new("light big", Cost::Cpu, Bound::AtMost(1.1 * times), "light")
}
