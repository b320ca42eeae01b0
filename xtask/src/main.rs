//! Development tasks. `cargo xtask` without arguments lists them.
#![allow(clippy::print_stdout, clippy::print_stderr)] // output is for the person who runs the task

mod args;
mod bench;
mod corpus;
mod crates;
mod ignored;
mod modules;
mod pictures;
mod quality;
mod reference;
mod release;
mod reliability;
mod repository;
mod scan;
mod site;
mod stores;
mod tidy;
mod train;

use std::process::ExitCode;

/// The result of a task: `false` means findings were printed, an error that the task could not run.
type Outcome = Result<bool, String>;

/// A task: its name, its help, and its function.
type Task = (&'static str, &'static str, fn(&[String]) -> Outcome);

const TASKS: &[Task] = &[
    ("bench", bench::HELP, bench::run),
    ("corpus", corpus::HELP, corpus::run),
    ("ignored", ignored::HELP, ignored::run),
    ("pictures", pictures::HELP, pictures::run),
    ("quality", quality::HELP, quality::run),
    ("reference", reference::HELP, reference::run),
    ("release", release::HELP, release::run),
    ("scan", scan::HELP, scan::run),
    ("site", site::HELP, site::run),
    ("stages", bench::stages::STAGES_HELP, bench::stages::run_stages),
    ("stores", stores::HELP, stores::run),
    ("tidy", tidy::HELP, tidy::run),
    ("train", train::HELP, train::run),
    ("walk", bench::stages::WALK_HELP, bench::stages::run_walk),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let name = args.first().map_or("", String::as_str);
    let Some((_, _, task)) = TASKS.iter().find(|(known, ..)| *known == name) else {
        print_usage();
        return if matches!(name, "" | "help" | "--help") { ExitCode::SUCCESS } else { ExitCode::from(2) };
    };
    match task(&args[1..]) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask {name}: {error}");
            ExitCode::from(2)
        }
    }
}

fn print_usage() {
    println!("usage: cargo xtask TASK [flags]\n");
    for (name, help, _) in TASKS {
        println!("  {name:<10} {}\n", help.replace('\n', "\n             "));
    }
}
