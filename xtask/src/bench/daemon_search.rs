//! `cargo xtask bench daemon --search`: one search by way of the daemon, against the same search without it and a program that does nothing.
//!
//!     cargo xtask bench daemon --search --size 1G --keep DIR
//!
//! Rare words are found in one session, as a person who remembers a word searches; common ones in many, whose texts have to be read. Does not
//! know how the daemon answers.

use super::daemon::DaemonSandbox;
use super::fixtures;
use super::goal::judge;
use super::measure::{Case, Results, Sample, measure_cases};
use super::workspace::{Binaries, Workspace, describe_machine};
use crate::Outcome;
use crate::args::Args;
use std::path::Path;

/// Limit for the client's processor time, relative to a program that does nothing.
const MAX_CLIENT_RATIO: f64 = 4.0;
/// Limit for the time to the answer, relative to a search without the daemon.
const MAX_ANSWER_RATIO: f64 = 1.0 / 3.0;
const COMMON: [&str; 5] = ["checked number", "closed gate", "compile error", "daemon socket", "flaky test"];
const NEEDLES: usize = 100;

pub(super) fn run(args: &[String]) -> Outcome {
    let args = Args::parse(args, &["size", "many", "rounds", "loci", "keep"], &["strict", "search"])?;
    let size = args.size_value("size")?.unwrap_or(1_000_000_000);
    let many = args.number_value("many", 10_000)? as usize;
    let rounds = args.number_value("rounds", 5)?.max(1) as usize;
    let binaries = Binaries::find(args.path_value("loci").as_deref(), None, false)?;
    let work = Workspace::new(args.path_value("keep").as_deref())?;
    let corpus = work.open_corpus(&binaries, "daemon", size, 7, "")?;
    fixtures::write_many_sessions(&corpus.home, many).map_err(|error| error.to_string())?;
    let needles = fixtures::plant_needles(&corpus.home, NEEDLES).map_err(|error| error.to_string())?;
    let rare: Vec<&str> = needles.iter().map(|needle| needle.query.as_str()).collect();
    println!("{}\n{corpus}, and {many} short sessions", describe_machine());
    let sandbox = DaemonSandbox { loci: binaries.loci.clone(), home: corpus.home.clone() };
    sandbox.run_loci(&["index"], &sandbox.home)?;
    let mut daemon = sandbox.start_daemon()?;
    let judged = check_answers(&binaries, &corpus.home, &rare)
        .and_then(|()| measure(&binaries, &corpus.home, &rare, rounds));
    let _ = sandbox.run_loci(&["daemon", "stop"], &sandbox.home);
    let _ = daemon.wait();
    Ok(judged? || !args.has_switch("strict"))
}

fn search_case(name: &str, daemon: &'static str, binaries: &Binaries, home: &Path, words: &[&str]) -> Case {
    let mut case = Case::new(name, &binaries.loci, home, &["search", "--json", "--limit", "10"]);
    case.rotating_args = words.iter().map(Into::into).collect();
    case.daemon = daemon;
    case
}

/// Both ways give the same answer, but for the time at which it was given.
fn check_answers(binaries: &Binaries, home: &Path, rare: &[&str]) -> Result<(), String> {
    let words: Vec<&str> = COMMON.iter().chain(rare.iter().take(20)).copied().collect();
    let answers = |daemon| {
        let case = search_case("check", daemon, binaries, home, &words);
        words.iter().map(|_| Ok(without_time(&case.run_for_output()?))).collect::<Result<Vec<_>, String>>()
    };
    let (with, without) = (answers("use")?, answers("off")?);
    let differs = words.iter().zip(with.iter().zip(&without)).find(|(_, (with, without))| with != without);
    differs.map_or(Ok(()), |(words, _)| Err(format!("`{words}` finds something else by way of the daemon")))
}

fn without_time(answer: &str) -> String {
    let mut read: serde_json::Value = serde_json::from_str(answer).unwrap_or_default();
    if let Some(fields) = read.as_object_mut() {
        fields.remove("asOf");
    }
    read.to_string()
}

fn measure(binaries: &Binaries, home: &Path, rare: &[&str], rounds: usize) -> Result<bool, String> {
    let mut cases = vec![Case::new("noop", &binaries.noop, home, &[])];
    for (kind, words) in [("rare", rare), ("common", &COMMON[..])] {
        cases.push(search_case(&format!("{kind}, alone"), "off", binaries, home, words));
        cases.push(search_case(&format!("{kind}, daemon"), "use", binaries, home, words));
    }
    for case in &mut cases {
        (case.rounds, case.repeats) = (rounds, Some(20));
    }
    let mut results = Results::default();
    measure_cases(&cases, &mut results)?;
    for row in &results.rows {
        let of =
            |cost: fn(&Sample) -> f64| super::measure::median(row.samples.iter().map(cost).collect()) * 1e3;
        println!(
            "{:16} wall {:8.2} ms, CPU of the client {:8.2} ms",
            row.name,
            of(|s| s.wall),
            of(|s| s.cpu)
        );
    }
    let ratio = |name: &str, of: &str, cost: fn(&Sample) -> f64| {
        results.median_ratio(name, of, cost).unwrap_or(f64::NAN)
    };
    let client = ratio("rare, daemon", "noop", |sample| sample.cpu);
    let answer = ratio("rare, daemon", "rare, alone", |sample| sample.wall);
    let common = ratio("common, daemon", "common, alone", |sample| sample.wall);
    println!("       common words: {common:.2} of the time without the daemon");
    let small = judge("CPU of the client, against a program that does nothing", client, MAX_CLIENT_RATIO, "");
    Ok(judge("time of the answer, against that without the daemon", answer, MAX_ANSWER_RATIO, "") && small)
}
