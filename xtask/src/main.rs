//! The project's own chores. `cargo xtask` alone lists them.
#![allow(clippy::print_stdout, clippy::print_stderr)] // a chore talks to the person who runs it

mod args;
mod bench;
mod corpus;
mod ignored;
mod quality;
mod reference;
mod rooms;
mod scan;
mod tidy;

use std::process::ExitCode;

/// What a chore says about its outcome: `false` is a finding already printed, an error is a chore not done.
type Outcome = Result<bool, String>;

/// A chore: its name, its help, and the function that does it.
type Chore = (&'static str, &'static str, fn(&[String]) -> Outcome);

const CHORES: &[Chore] = &[
    ("bench", bench::HELP, bench::run),
    ("corpus", corpus::HELP, corpus::run),
    ("ignored", ignored::HELP, ignored::run),
    ("quality", quality::HELP, quality::run),
    ("reference", reference::HELP, reference::run),
    ("scan", scan::HELP, scan::run),
    ("stages", bench::chores::STAGES, bench::chores::stages),
    ("tidy", tidy::HELP, tidy::run),
    ("walk", bench::chores::WALK, bench::chores::walk),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let name = args.first().map_or("", String::as_str);
    let Some((_, _, chore)) = CHORES.iter().find(|(known, ..)| *known == name) else {
        usage();
        return if matches!(name, "" | "help" | "--help") { ExitCode::SUCCESS } else { ExitCode::from(2) };
    };
    match chore(&args[1..]) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask {name}: {error}");
            ExitCode::from(2)
        }
    }
}

fn usage() {
    println!("usage: cargo xtask CHORE [flags]\n");
    for (name, help, _) in CHORES {
        println!("  {name:<10} {}\n", help.replace('\n', "\n             "));
    }
}
