//! The help of `loci` itself: commands in groups, examples first.
//!
//! Does not know the flags of the commands.

use clap::Command;
use std::fmt::Write as _;

/// The groups of commands, in the order of help. Every command that is not hidden is in one of them.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Find",
        &["ui", "search", "show", "sessions", "project", "pick", "resume", "handoff", "export", "resolve"],
    ),
    ("Understand", &["why", "about", "query", "analyze", "stats", "usage", "digest", "report"]),
    ("Remember", &["memory", "recommend", "sync"]),
    ("Code", &["code", "edit"]),
    ("Agents", &["setup", "mcp", "hook", "statusline", "agent", "dispatch", "daemon"]),
    (
        "Upkeep",
        &[
            "sources",
            "config",
            "status",
            "doctor",
            "import",
            "index",
            "archive",
            "secrets",
            "forget",
            "ref",
            "cleanup",
            "update",
            "completions",
            "shell-init",
            "man",
        ],
    ),
];

const ABOUT: &str = "Search your coding agents' sessions, remember what was decided, and see what happened.";

const EXAMPLES: &str = "Examples:
  loci ui                              browse sessions, memory, errors and usage
  loci search lost socket              search all sessions
  loci sessions                        list recent sessions
  loci show last                       read the latest one
  loci resume the flaky test           continue the session that was about it
  loci why src/store.rs:40             see which sessions made a line what it is
  loci query errors --all-projects     list failed tool calls
  loci usage --all-projects            show tokens and cost per day
  loci memory list                     list what was decided
  loci setup                           let your agents use Loci";

const NOTES: &str = "\
Loci reads the transcripts that coding agents keep on this machine (`loci sources` lists
them). A session is one conversation with an agent. Loci needs no setup and never
modifies transcripts.

search, show and sessions cover all projects; query, analyze, stats and usage cover the
current project (the enclosing git repository, or the current directory) unless you pass
--all-projects. Output is text on a terminal and JSON elsewhere. `loci COMMAND -h`
describes a command, `--help` also the options for programs.
Exit codes: 0 success, 1 error, 2 nothing found, 3 part of the history could not be read.";

/// The text of `loci --help`.
pub(crate) fn format_help(root: &Command) -> String {
    let mut out = format!("{ABOUT}\n\nUsage: loci COMMAND [ARGUMENTS]\n\n{EXAMPLES}\n");
    for (title, commands) in GROUPS {
        let _ = write!(out, "\n{title}\n");
        for command in commands.iter().filter_map(|name| root.find_subcommand(name)) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(out, "  {:<12} {about}", command.get_name());
        }
    }
    let _ = write!(out, "\n  -h, --help     Print help\n  -V, --version  Print version\n\n{NOTES}\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_command_is_in_one_group() {
        let root = crate::args::build_command(None);
        let listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let known: BTreeSet<&str> =
            root.get_subcommands().filter(|it| !it.is_hide_set()).map(Command::get_name).collect();
        assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), known);
        assert_eq!(listed.len(), known.len(), "a command is in two groups");
    }

    #[test]
    fn it_fits_into_100_columns() {
        let help = format_help(&crate::args::build_command(None));
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
    }
}
