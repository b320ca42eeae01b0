//! The command line, built from the tables of `api`: a view or an operation is a command, a parameter a flag of the
//! same name. Only the command that was typed is built in full; of the others help needs the names.

use crate::commands::operation::Invocation;
use crate::commands::view::Call;
use crate::commands::{daemon, hook, mcp, operation, view};
use crate::output::{Shown, refuse};
use api::{Code, OPERATIONS, VIEWS};
use clap::error::{ContextKind, ContextValue};
use clap::{ArgMatches, Command};
use std::ffi::OsString;
use std::process::ExitCode;

/// What was typed, understood.
pub(crate) enum Typed {
    View(Box<Call>),
    Operation(Box<Invocation>),
    Mcp(Box<mcp::Serve>),
    Hook(ArgMatches),
    Daemon(ArgMatches),
}

/// None: the help or the version was shown, or nothing more is to be done.
pub(crate) fn parse() -> Result<Option<Typed>, ExitCode> {
    let typed = as_meant(std::env::args_os().collect());
    let first = typed.get(1).map_or_else(String::new, |word| word.to_string_lossy().into_owned());
    let matches = match command(Some(&first)).try_get_matches_from(&typed) {
        Ok(matches) => matches,
        Err(mut e) => {
            suggest(&mut e, &typed);
            let failed = e.use_stderr();
            // A closed pipe behind `--help | head` is no error.
            let _ = e.print();
            if failed {
                refuse(asked_format(), &refusal(&e));
            }
            return Err(ExitCode::from(u8::from(failed)));
        }
    };
    let Some((name, sub)) = matches.subcommand() else { return Ok(None) };
    if name == hook::COMMAND {
        return Ok(Some(Typed::Hook(sub.clone())));
    }
    if name == daemon::COMMAND {
        return Ok(Some(Typed::Daemon(sub.clone())));
    }
    if name == mcp::COMMAND {
        return Ok(Some(Typed::Mcp(Box::new(mcp::Serve::typed(sub)))));
    }
    if let Some((operation, sub)) = operation::operation_typed(name, sub) {
        return Ok(Some(Typed::Operation(Box::new(operation::invocation(operation, sub)))));
    }
    let (found, sub) = match sub.subcommand() {
        Some((inner, deeper)) => (api::view_named(name, inner), deeper),
        None => (api::view_named("", name), sub),
    };
    Ok(found.map(|found| Typed::View(Box::new(view::call(found, sub)))))
}

/// `loci help code outline` and `loci version` as clap understands them.
fn as_meant(mut typed: Vec<OsString>) -> Vec<OsString> {
    match typed.get(1).and_then(|word| word.to_str()) {
        Some("help") => {
            typed.remove(1);
            typed.push("--help".into());
        }
        Some("version") if typed.len() == 2 => typed[1] = "--version".into(),
        _ => {}
    }
    typed
}

/// In place of what clap takes for similar, which for `serach` was `dispatch`: what begins so, and what the fewest slips of the
/// finger lie between.
fn suggest(error: &mut clap::Error, typed: &[OsString]) {
    let Some(ContextValue::String(wrong)) = error.get(ContextKind::InvalidSubcommand) else { return };
    let root = command(None);
    let known = typed.iter().skip(1).filter_map(|word| word.to_str());
    let there = known.map_while(|word| (word != wrong).then_some(word));
    let group = there.fold(&root, |at, word| at.find_subcommand(word).unwrap_or(at));
    let near = nearest(wrong, group.get_subcommands().filter(|it| !it.is_hide_set()).map(Command::get_name));
    if !near.is_empty() {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(near));
    }
}

fn nearest<'n>(wrong: &str, names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let far = |name: &str| {
        let begins = name.starts_with(wrong) && wrong.len() > 2;
        service::letters_apart(wrong, name).or(begins.then_some(usize::MAX))
    };
    // Of two that lie as near, the one with as many letters: `statsu` is `status` with two swapped.
    let longer = |name: &str| name.len().abs_diff(wrong.len());
    let mut near: Vec<(usize, usize, &str)> =
        names.filter_map(|name| Some((far(name)?, longer(name), name))).collect();
    near.sort_unstable();
    near.into_iter().map(|(.., name)| name.to_string()).collect()
}

/// What clap complains of, as an error of ours.
fn refusal(error: &clap::Error) -> api::Error {
    if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return api::Error::new(Code::InvalidArgument, "a command is missing").hint("loci --help");
    }
    let said = error.to_string();
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or("the command line is not understood");
    let refused = api::Error::new(Code::InvalidArgument, first.trim_start_matches("error: "));
    lines.filter_map(|line| line.strip_prefix("tip: ")).fold(refused, api::Error::hint)
}

/// The format of a command line that could not be parsed.
fn asked_format() -> Shown {
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let beside = words.windows(2).find(|pair| pair[0] == "-o" || pair[0] == "--output").map(|pair| &*pair[1]);
    let joined = || words.iter().find_map(|w| w.strip_prefix("--output=").or_else(|| w.strip_prefix("-o")));
    let json = || words.iter().any(|w| w == "--json").then_some("json");
    beside.or_else(joined).or_else(json).map_or_else(Shown::default, Shown::from_word)
}

// ---- the commands

/// `wanted` is built in full, the others by name; all of them where nothing is wanted in particular.
pub(crate) fn command(wanted: Option<&str>) -> Command {
    let full = |name: &str| wanted.is_none_or(|wanted| wanted == name);
    let mut root = Command::new("loci")
        .version(env!("CARGO_PKG_VERSION"))
        .about("What happened in your coding agents' sessions: find it, count it, ask about it.")
        .after_help(FIRST)
        .arg_required_else_help(true)
        .subcommand_required(true)
        .disable_help_subcommand(true);
    for one in OPERATIONS.iter().filter(|operation| !operation.command.contains(' ')) {
        let bare = Command::new(one.command).about(one.about);
        root = root.subcommand(if full(one.command) { operation::command(one) } else { bare });
    }
    root = root.subcommand(mcp::command()).subcommand(hook::command());
    root = root.subcommand(daemon::command());
    for (group, about) in [
        ("query", "Records of what happened: calls, failures, messages, turns, files"),
        ("analyze", "What recurs: sequences, failures by name, churn, gaps"),
    ] {
        let bare = Command::new(group).about(about);
        root = root.subcommand(if full(group) { view::group_command(bare, group) } else { bare });
    }
    for (group, about) in operation::GROUPS {
        let bare = Command::new(*group).about(*about);
        root = root.subcommand(if full(group) { operation::group_command(bare, group) } else { bare });
    }
    for one in VIEWS.iter().filter(|v| v.group.is_empty()) {
        let bare = Command::new(one.name).about(one.about);
        root = root.subcommand(if full(one.name) { view::view_command(one) } else { bare });
    }
    root
}

const FIRST: &str = "First steps:
  loci sources                         what was found on this machine
  loci search lost socket              where something was talked about
  loci sessions                        what was worked on lately
  loci query errors --all-projects     what failed
  loci usage --all-projects            what it cost, day by day
  loci query tools --jq 'select(.status==\"error\")' | head

search, show and sessions are about every project; query, analyze, stats and usage about the
one whose directory you are in, or with --all-projects about everything.
Exit codes: 0 found, 1 error, 2 nothing found, 3 found but a part of the history could not be read.";

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        command(None).debug_assert();
        for wanted in ["", "search", "query", "stats"] {
            command(Some(wanted)).debug_assert();
        }
    }

    #[test]
    fn a_slip_of_the_finger_is_told_by_what_lies_nearest() {
        for (line, nearest) in [
            ("loci serach", "search"),
            ("loci sarch", "search"),
            ("loci sesions", "sessions"),
            ("loci sess", "sessions"),
            ("loci statsu", "status"),
            ("loci code outlin", "outline"),
            ("loci memory csots", "costs"),
        ] {
            let typed: Vec<OsString> = split(line).into_iter().map(OsString::from).collect();
            let mut error = command(typed[1].to_str()).try_get_matches_from(&typed).unwrap_err();
            suggest(&mut error, &typed);
            let hints = refusal(&error).hints;
            let (_, names) = hints[0].split_once(": ").unwrap();
            assert!(names.starts_with(&format!("'{nearest}'")), "{line}: {hints:?}");
        }
        assert_eq!(nearest("xyzzy", ["search", "show"].into_iter()), [""; 0]);
    }

    #[test]
    fn help_and_version_are_words_as_well() {
        for (line, meant) in [
            ("loci help", "loci --help"),
            ("loci help search", "loci search --help"),
            ("loci help code outline", "loci code outline --help"),
            ("loci version", "loci --version"),
            ("loci search version", "loci search version"),
            ("loci search help", "loci search help"),
        ] {
            let typed = as_meant(split(line).into_iter().map(OsString::from).collect());
            assert_eq!(typed, split(meant).into_iter().map(OsString::from).collect::<Vec<_>>(), "{line}");
        }
        let shown = command(Some("code")).try_get_matches_from(["loci", "code", "outline", "--help"]);
        assert_eq!(shown.unwrap_err().kind(), clap::error::ErrorKind::DisplayHelp);
    }

    /// The words of a command line as a shell would part them, as far as examples go: blanks and single quotes.
    pub(crate) fn split(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quoted) = (Vec::new(), None::<String>, false);
        for c in line.chars() {
            match c {
                '\'' => {
                    quoted = !quoted;
                    word.get_or_insert_default();
                }
                ' ' if !quoted => words.extend(word.take()),
                _ => word.get_or_insert_default().push(c),
            }
        }
        words.extend(word);
        words
    }
}
