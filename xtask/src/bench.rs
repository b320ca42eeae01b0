//! `cargo xtask bench`: the cost of queries relative to reading the files, and whether their results are right.
//!
//! Every goal is a ratio of two commands measured alternately in one run, so that it holds on any machine; seconds are
//! printed but never judged.

mod black_hole;
mod check;
mod code;
mod daemon;
mod daemon_search;
mod files;
mod fixtures;
mod goal;
mod hook;
mod index;
mod large_space;
mod measure;
pub(crate) mod stages;
mod stated;
mod suite;
mod sync;
mod table;
mod ui;
mod why;
mod workspace;

use crate::Outcome;
use crate::args::Args;
use measure::{Results, measure_cases};
use std::path::PathBuf;
use workspace::{Binaries, Workspace};

pub(crate) const HELP: &str = "[--size 1G] [--seed 7] [--rounds 5] [--big 10G] [--loci PATH] [--ccusage PATH]\n\
    [--keep DIR] [--smoke | --strict]\n\
    measure the release build against a newline scan, and against rg, jq and ccusage if installed;\n\
    --keep leaves the corpora in DIR for the next run, --strict fails if a ratio is missed,\n\
    --smoke is for a busy machine: fails at twice the ratios that docs/performance.md states\n\
    index [--size 1G] [--seed 7] [--rounds 3] [--big 10G] [--many 10000] [--needles 200] [--loci PATH] [--keep DIR]\n\
    [--smoke | --strict]\n\
    measure indexing and search against plain tantivy, a directory walk and a program that does nothing;\n\
    requires: cargo build --release && cargo build --release -p loci-search --example bare\n\
    hook [--size 1G] [--seed 7] [--rounds 200] [--loci PATH] [--keep DIR] [--smoke | --strict]\n\
    measure the latency of hooks beyond that of a program that does nothing\n\
    code [--files 3000] [--rounds 5] [--root DIR] [--loci PATH] [--smoke | --strict]\n\
    measure operations on an indexed codebase against a program that reads as many bytes, and count the work of an edit\n\
    daemon [--many 10000] [--rounds 200] [--idle 600] [--root DIR] [--loci PATH] [--keep DIR] [--smoke | --strict]\n\
    measure the socket against an echo server, how soon an appended line is found, and the cost of idling\n\
    daemon --search [--size 1G] [--many 10000] [--rounds 5] [--loci PATH] [--keep DIR] [--strict]\n\
    measure a search by way of the daemon, against one without it and a program that does nothing\n\
    files [--count 200000] [--empty] [--loci PATH] [--keep DIR]\n\
    measure memory and disk per transcript for very many tiny transcripts, or empty ones; fails above the goals\n\
    ui [--size 1G] [--many 10000] [--rounds 3] [--idle 20] [--loci PATH] [--keep DIR] [--strict]\n\
    measure how soon `loci ui` answers a key, against one search, the cost of a frame, and memory and processor time at rest\n\
    sync [--size 1G] [--loci PATH] [--keep DIR] [--strict]\n\
    measure what a new device needs to fetch a history, against rclone and indexing; requires rclone\n\
    sync --black-hole [--many 2000] [--rounds 40] [--loci PATH] [--keep DIR] [--strict]\n\
    measure local commands while the storage accepts connections and never answers, against those without sync\n\
    sync --devices 1000 [--days 220]\n\
    simulate a year of spaces with up to that many devices: objects, bytes, requests, their list price, and joining\n\
    why [--commits 10000] [--size 1G] [--rounds 3] [--loci PATH] [--keep DIR] [--smoke | --strict]\n\
    measure `loci why` on a long history against `git log -L` and a search, and an index with edits against one without";

const VALUES: [&str; 7] = ["size", "seed", "rounds", "big", "loci", "ccusage", "keep"];

struct Options {
    size: u64,
    big: Option<u64>,
    seed: u64,
    rounds: usize,
    loci: Option<PathBuf>,
    ccusage: Option<PathBuf>,
    keep: Option<PathBuf>,
    smoke: bool,
    strict: bool,
}

impl Options {
    fn parse(args: &[String]) -> Result<Options, String> {
        let args = Args::parse(args, &VALUES, &["smoke", "strict"])?;
        if let Some(word) = args.positional.first() {
            return Err(format!("unexpected argument {word}"));
        }
        if args.has_switch("smoke") && args.has_switch("strict") {
            return Err("--smoke and --strict exclude each other".to_owned());
        }
        Ok(Options {
            size: args.size_value("size")?.unwrap_or(1_000_000_000),
            big: args.size_value("big")?,
            seed: args.number_value("seed", 7)?,
            rounds: args.number_value("rounds", 5)?.max(1) as usize,
            loci: args.path_value("loci"),
            ccusage: args.path_value("ccusage"),
            keep: args.path_value("keep"),
            smoke: args.has_switch("smoke"),
            strict: args.has_switch("strict"),
        })
    }
}

pub(crate) fn run(args: &[String]) -> Outcome {
    match args.split_first() {
        Some((first, rest)) if first == "index" => return index::run(rest),
        Some((first, rest)) if first == "hook" => return hook::run(rest),
        Some((first, rest)) if first == "code" => return code::run(rest),
        Some((first, rest)) if first == "daemon" && rest.iter().any(|arg| arg == "--search") => {
            return daemon_search::run(rest);
        }
        Some((first, rest)) if first == "daemon" => return daemon::run(rest),
        Some((first, rest)) if first == "files" => return files::run(rest),
        Some((first, rest)) if first == "ui" => return ui::run(rest),
        Some((first, rest)) if first == "sync" => return sync::run(rest),
        Some((first, rest)) if first == "why" => return why::run(rest),
        _ => {}
    }
    let options = Options::parse(args)?;
    let binaries = Binaries::find(options.loci.as_deref(), options.ccusage.as_deref(), options.smoke)?;
    let work = Workspace::new(options.keep.as_deref())?;
    let mut corpora = vec![work.open_corpus(&binaries, "corpus", options.size, options.seed, "")?];
    if let Some(big) = options.big {
        corpora.push(work.open_corpus(&binaries, "corpus", big, options.seed, " big")?);
    }
    println!("{}", workspace::describe_machine());
    for program in ["rg", "jq"].iter().filter(|program| !workspace::is_installed(program)) {
        println!("{program}: not installed, skipped");
    }
    let (mut findings, mut results) = (Vec::new(), Results::default());
    for corpus in &corpora {
        println!("{corpus}");
        check::check_corpus(corpus, &binaries, &work, &mut results, &mut findings)?;
    }
    measure_cases(&suite::query_cases(&corpora, &binaries, options.rounds), &mut results)?;
    measure_cases(&suite::start_up_cases(&binaries, &work, options.smoke), &mut results)?;

    let mut goals = if options.smoke { stated::query_goals() } else { suite::list_goals(&results) };
    goals.extend(corpora.get(1).map(|big| suite::growth_goal(&corpora[0], big)));
    let missed = table::print_table(&results, &goals);
    println!();
    for finding in &findings {
        println!("{} {}", if finding.passed { "ok   " } else { "WRONG" }, finding.text);
    }
    let right = findings.iter().all(|finding| finding.passed);
    Ok(right && !((options.strict || options.smoke) && missed))
}
