//! `cargo xtask release --try`: installs each package of this machine with its own tool into an empty prefix, runs the program in a
//! fresh home, removes it with the same tool, and lists what is left.
//!
//! Does not know how packages are written.

mod installs;
mod marketplaces;

use super::material::Release;
use super::output::Output;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use testutil::{Home, Session};

/// What became of a package.
pub(crate) enum Verdict {
    /// Installed, used, and removed, with what was seen.
    Tried(String),
    /// Not on this machine, and why.
    NotTried(String),
    Failed(String),
}

/// A step that cannot be done here, or one that failed.
pub(crate) enum Stop {
    Missing(String),
    Wrong(String),
}

impl From<String> for Stop {
    fn from(error: String) -> Stop {
        Stop::Wrong(error)
    }
}

/// The release, its files, and the folder of one trial.
pub(crate) struct Trial<'a> {
    release: &'a Release,
    output: &'a Output,
    /// Empty when the trial begins; removed when it ends.
    folder: &'a Path,
}

type Try = fn(&Trial<'_>) -> Result<String, Stop>;

const TRIALS: &[(&str, Try)] = &[
    ("tar.gz", |trial| installs::archive(trial, "tar.gz")),
    ("tar.xz", |trial| installs::archive(trial, "tar.xz")),
    ("npm", installs::npm),
    ("pip", installs::pip),
    ("uv", installs::uv),
    ("deb", installs::deb),
    ("rpm", installs::rpm),
    ("container", installs::container),
    ("mcpb", installs::bundle),
    ("homebrew", installs::homebrew),
    ("scoop, winget", |_| Err(Stop::Missing("they run on Windows".to_owned()))),
    ("nix", installs::nix),
    ("claude-code", marketplaces::claude_code),
    ("codex", marketplaces::codex),
    ("gemini-cli", marketplaces::gemini),
    ("cursor", |_| Err(Stop::Missing("it has no command for plugins".to_owned()))),
];

/// Prints a table; false if a trial failed.
pub(crate) fn run(release: &Release, output: &Output) -> bool {
    let mut passed = true;
    for (name, attempt) in TRIALS {
        let (word, detail) = match try_one(release, output, *attempt) {
            Verdict::Tried(detail) => ("tried", detail),
            Verdict::NotTried(reason) => ("not tried", reason),
            Verdict::Failed(error) => ("FAILED", error),
        };
        passed &= word != "FAILED";
        println!("{name:<14} {word:<10} {detail}");
    }
    passed
}

fn try_one(release: &Release, output: &Output, attempt: Try) -> Verdict {
    let folder = Home::new();
    match attempt(&Trial { release, output, folder: folder.path() }) {
        Ok(detail) => Verdict::Tried(detail),
        Err(Stop::Missing(reason)) => Verdict::NotTried(reason),
        Err(Stop::Wrong(error)) => Verdict::Failed(error),
    }
}

// ---- what every package has to do

const SESSION: &str = "7d1f2c3a-0000-4000-8000-000000000001";

/// Runs the installed program for the first time: its version, a search and a filter over one transcript, and what setup would change.
fn use_program(version: &str, command: &dyn Fn(&Path) -> Command) -> Result<(), String> {
    let home = Home::new();
    let mut session = Session::new(SESSION, "/srv/demo/shop", "2026-03-04T09:00:00Z");
    session
        .prompt("Please make the flaky upload test pass")
        .reply(&["The upload test waits for the server now."]);
    home.add(&session);
    fs::create_dir_all(home.path().join(".claude")).map_err(|error| error.to_string())?;
    let run = |args: &[&str]| run_for_output(command(home.path()).args(args));
    for (args, expected) in [
        (&["--version"][..], version),
        (&["search", "flaky upload test"], "7d1f2c3a"),
        // The filter runs within a memory limit, which an allocator may not bear.
        (&["query", "sessions", "--all-projects", "--jq", ".session_id[:4]"], "\"7d1f\""),
        (&["setup", "--dry-run"], "claude-code"),
    ] {
        let shown = run(args)?;
        if !shown.contains(expected) {
            return Err(format!("loci {}: `{expected}` is not in the output: {shown:.400}", args.join(" ")));
        }
    }
    Ok(())
}

/// The program at a path, with nothing in the environment but a home.
fn program_at(path: &Path) -> impl Fn(&Path) -> Command {
    move |home| {
        let mut command = Command::new(path);
        testutil::set_environment(&mut command, home);
        command
    }
}

/// Every file and link below a folder.
fn list_files(folder: &Path) -> BTreeSet<PathBuf> {
    let (mut found, mut open) = (BTreeSet::new(), vec![folder.to_path_buf()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(entry.path());
            } else {
                found.insert(entry.path());
            }
        }
    }
    found
}

/// Fails if a folder has other files than before.
fn expect_files(folder: &Path, before: &BTreeSet<PathBuf>) -> Result<(), String> {
    let left: Vec<String> =
        list_files(folder).difference(before).map(|path| path.display().to_string()).collect();
    if left.is_empty() { Ok(()) } else { Err(format!("left behind: {}", left.join(", "))) }
}

// ---- processes

/// A tool in an environment of its own: `HOME` in the folder of the trial, and the caller's `PATH`.
fn tool(trial: &Trial<'_>, program: &str) -> Command {
    let mut command = Command::new(program);
    let path = testutil::needs::path_variable("PATH").unwrap_or_default();
    command.env_clear().env("PATH", path).env("HOME", trial.folder.join("home")).env("LC_ALL", "C.UTF-8");
    command
}

/// Whether a tool answers; the reason why not.
fn require(trial: &Trial<'_>, program: &str) -> Result<(), Stop> {
    let answer = tool(trial, program).arg("--version").stdin(Stdio::null()).output();
    if answer.is_ok_and(|output| output.status.success()) {
        return Ok(());
    }
    Err(Stop::Missing(format!("no {program} here")))
}

fn run_for_output(command: &mut Command) -> Result<String, String> {
    run_for_texts(command).map(|(shown, _)| shown)
}

/// Standard output and standard error of a command that succeeds.
fn run_for_texts(command: &mut Command) -> Result<(String, String), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{command:?}: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (shown, said) = (text(&output.stdout), text(&output.stderr));
    if output.status.success() {
        return Ok((shown, said));
    }
    Err(format!("{command:?}: {} {shown}{said}", output.status))
}
