//! Builds and parses the command line from the tables in `api`: each view and operation is a command, each parameter a
//! flag of the same name. Only the command in use gets all its flags; the others need just a name for the help.
//!
//! Does not know what the commands do.

use crate::commands::operation::Invocation;
use crate::commands::view::ViewInvocation;
use crate::commands::{
    config, daemon, export, hook, mcp, operation, page, resume, shell, shell_init, statusline, ui, update,
    view,
};
use crate::flags::HTML;
use crate::output::{OutputFormat, print_error_record, print_note};
use crate::{forgiving, help, version};
use api::code_error::is_code_command;
use api::{Code, OPERATIONS, VIEWS};
use clap::error::{ContextKind, ContextValue};
use clap::{ArgMatches, Command};
use std::ffi::OsString;
use std::process::ExitCode;

/// The parsed command line.
pub(crate) enum ParsedCommand {
    View(Box<ViewInvocation>),
    Operation(Box<Invocation>),
    Mcp(Box<mcp::McpServer>),
    Hook(ArgMatches),
    Daemon(ArgMatches),
    Config(ArgMatches),
    StatusLine(ArgMatches),
    Export(ArgMatches),
    Page(&'static page::Page, ArgMatches),
    Resume(ArgMatches),
    Ui(ArgMatches),
    Pick(ArgMatches),
    ShellInit(ArgMatches),
    Update(ArgMatches),
    Completions(ArgMatches),
    Man(ArgMatches),
}

/// Makes a command that is neither a view nor an operation from its arguments.
type ParsedOwn = fn(ArgMatches) -> ParsedCommand;

/// Returns `None` if there is nothing left to do, for example without a subcommand.
pub(crate) fn parse() -> Result<Option<ParsedCommand>, ExitCode> {
    let typed = meant_command_line(rewrite_help_and_version(std::env::args_os().collect()));
    let typed = open_browser(typed);
    let first = typed.get(1).map_or_else(String::new, |word| word.to_string_lossy().into_owned());
    let read = |line: &[OsString]| build_command(Some(&first)).try_get_matches_from(line);
    let with_file =
        |error: clap::Error| words_with_file(&error, &typed).map_or(Err(error), |line| read(&line));
    let matches = match read(&typed).or_else(with_file) {
        Ok(matches) => matches,
        Err(mut e) => {
            replace_suggestions(&mut e, &typed);
            let failed = e.use_stderr();
            // A closed pipe, as in `--help | head`, is not an error.
            let _ = e.print();
            if failed {
                let mut error = error_from_clap(&e);
                if let Some(line) = corrected_line(&e, &typed) {
                    print_note(&format!("hint: {line}"));
                    error.hints.insert(0, line);
                }
                print_error_record(find_output_format(), &error, is_code_command(&first));
            }
            return Err(ExitCode::from(u8::from(failed)));
        }
    };
    let Some((name, sub)) = matches.subcommand() else { return Ok(None) };
    let own: &[(&str, ParsedOwn)] = &[
        (shell::COMPLETIONS, ParsedCommand::Completions),
        (shell::MAN, ParsedCommand::Man),
        (config::COMMAND, ParsedCommand::Config),
        (statusline::COMMAND, ParsedCommand::StatusLine),
        (export::COMMAND, ParsedCommand::Export),
        (resume::COMMAND, ParsedCommand::Resume),
        (ui::COMMAND, ParsedCommand::Ui),
        (ui::PICK, ParsedCommand::Pick),
        (shell_init::COMMAND, ParsedCommand::ShellInit),
        (update::COMMAND, ParsedCommand::Update),
        (hook::COMMAND, ParsedCommand::Hook),
        (daemon::COMMAND, ParsedCommand::Daemon),
    ];
    if let Some((_, parsed)) = own.iter().find(|(own, _)| *own == name) {
        return Ok(Some(parsed(sub.clone())));
    }
    if name == mcp::COMMAND {
        return Ok(Some(ParsedCommand::Mcp(Box::new(mcp::McpServer::from_matches(sub)))));
    }
    if let Some((operation, sub)) = operation::find_operation(name, sub) {
        if let Some(page) = page::find_page(operation) {
            return Ok(Some(ParsedCommand::Page(page, sub.clone())));
        }
        return Ok(Some(ParsedCommand::Operation(Box::new(operation::build_invocation(operation, sub)))));
    }
    let (found, sub) = match sub.subcommand() {
        Some((inner, deeper)) => (api::view_named(name, inner), deeper),
        None => (api::view_named("", name), sub),
    };
    Ok(found.map(|found| ParsedCommand::View(Box::new(view::build_invocation(found, sub)))))
}

/// `loci` alone opens the browser, for a person with a history.
fn open_browser(mut typed: Vec<OsString>) -> Vec<OsString> {
    if typed.len() == 1 && ui::is_useful() {
        typed.push(ui::COMMAND.into());
    }
    typed
}

/// Rewrites `loci help code outline` and `loci version` to the flags clap understands.
fn rewrite_help_and_version(mut typed: Vec<OsString>) -> Vec<OsString> {
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

/// The command line that is meant if the first word is not a command; says so on stderr.
fn meant_command_line(typed: Vec<OsString>) -> Vec<OsString> {
    let Some(first) = typed.get(1).and_then(|word| word.to_str()) else { return typed };
    let root = build_command(Some(""));
    if root.find_subcommand(first).is_some() && !forgiving::is_question(&typed) {
        return typed;
    }
    let is_near = |word: &str| !nearest_names(word, root.get_subcommands().map(Command::get_name)).is_empty();
    match forgiving::rewrite(&typed, is_near) {
        Some(meant) => {
            print_note(&meant.note);
            meant.line
        }
        None => typed,
    }
}

/// Replaces clap's suggestion (for `serach` it suggested `dispatch`) with the commands at the smallest edit distance and those
/// that start with the typed word.
fn replace_suggestions(error: &mut clap::Error, typed: &[OsString]) {
    let Some(ContextValue::String(wrong)) = error.get(ContextKind::InvalidSubcommand) else { return };
    let root = build_command(None);
    let known = typed.iter().skip(1).filter_map(|word| word.to_str());
    let parents = known.map_while(|word| (word != wrong).then_some(word));
    let group = parents.fold(&root, |at, word| at.find_subcommand(word).unwrap_or(at));
    let near =
        nearest_names(wrong, group.get_subcommands().filter(|it| !it.is_hide_set()).map(Command::get_name));
    if !near.is_empty() {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(near));
    }
}

/// The command line with the wrong word replaced by the suggested one, to be typed as it is.
fn corrected_line(error: &clap::Error, typed: &[OsString]) -> Option<String> {
    let word = |kind: ContextKind| match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(all) => all.first().cloned(),
        _ => None,
    };
    let pairs = [
        (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand),
        (ContextKind::InvalidArg, ContextKind::SuggestedArg),
        (ContextKind::InvalidValue, ContextKind::SuggestedValue),
    ];
    let (wrong, right) = pairs.iter().find_map(|(wrong, right)| Some((word(*wrong)?, word(*right)?)))?;
    let words: Vec<String> = typed.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let at = words.iter().position(|typed| *typed == wrong || typed.starts_with(&format!("{wrong}=")))?;
    let replace = |(index, word): (usize, &String)| {
        if index == at { word.replacen(&wrong, &right, 1) } else { word.clone() }
    };
    let line: Vec<String> = words.iter().enumerate().map(replace).map(|word| quote_word(&word)).collect();
    Some(format!("loci {}", line.join(" ")))
}

/// The command line in which a file that was given as the format, `-o report.html`, is the file: the format is its ending.
fn words_with_file(error: &clap::Error, typed: &[OsString]) -> Option<Vec<OsString>> {
    let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue) else { return None };
    let Some(ContextValue::Strings(formats)) = error.get(ContextKind::ValidValue) else { return None };
    // a command that draws pages writes them to a file
    let (_, ending) = value.rsplit_once('.').filter(|_| formats.iter().any(|format| format == HTML))?;
    let is_given =
        |pair: &[OsString]| (pair[0] == "-o" || pair[0] == "--output") && pair[1] == value.as_str();
    let at = typed.windows(2).position(is_given)?;
    let is_format = formats.iter().any(|format| format == ending);
    let instead = if is_format { vec!["-o", ending, "--file", value] } else { vec!["--file", value] };
    let instead = instead.into_iter().map(OsString::from);
    Some(typed[..at].iter().cloned().chain(instead).chain(typed[at + 2..].iter().cloned()).collect())
}

/// A flag stays as it is: quoted, it would read as a value.
fn quote_word(word: &str) -> String {
    if word.starts_with('-') { word.to_string() } else { api::operation::shell_quote(word) }
}

fn nearest_names<'n>(wrong: &str, names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let distance = |name: &str| {
        let is_prefix = name.starts_with(wrong) && wrong.len() > 2;
        service::letters_apart(wrong, name).or(is_prefix.then_some(usize::MAX))
    };
    // At equal distance, prefer equal length: `statsu` is `status` with two letters swapped.
    let length_difference = |name: &str| name.len().abs_diff(wrong.len());
    let mut near: Vec<(usize, usize, &str)> =
        names.filter_map(|name| Some((distance(name)?, length_difference(name), name))).collect();
    near.sort_unstable();
    near.into_iter().map(|(.., name)| name.to_string()).collect()
}

/// Converts a clap error to an [`api::Error`].
fn error_from_clap(error: &clap::Error) -> api::Error {
    if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return api::Error::new(Code::InvalidArgument, "missing command").hint("loci --help");
    }
    let text = error.to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or("invalid command line");
    let error = api::Error::new(Code::InvalidArgument, first.trim_start_matches("error: "));
    lines.filter_map(|line| line.strip_prefix("tip: ")).fold(error, api::Error::hint)
}

/// Finds the output format in a command line that could not be parsed.
fn find_output_format() -> OutputFormat {
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let separate =
        words.windows(2).find(|pair| pair[0] == "-o" || pair[0] == "--output").map(|pair| &*pair[1]);
    let joined = || words.iter().find_map(|w| w.strip_prefix("--output=").or_else(|| w.strip_prefix("-o")));
    let json = || words.iter().any(|w| w == "--json").then_some("json");
    separate.or_else(joined).or_else(json).map_or_else(OutputFormat::default, OutputFormat::from_word)
}

// ---- commands

/// Builds `wanted` with all its flags and the other commands by name only; with `None`, builds every command in full.
pub(crate) fn build_command(wanted: Option<&str>) -> Command {
    let full = |name: &str| wanted.is_none_or(|wanted| wanted == name);
    let mut root = Command::new("loci")
        .version(version::describe())
        .arg_required_else_help(true)
        .subcommand_required(true)
        .disable_help_subcommand(true);
    for one in OPERATIONS.iter().filter(|operation| !operation.command.contains(' ')) {
        let bare = Command::new(one.command).about(one.about);
        root = root.subcommand(if full(one.command) { operation::build_command(one) } else { bare });
    }
    root = root
        .subcommand(statusline::build_command())
        .subcommand(mcp::build_command())
        .subcommand(hook::build_command());
    root = root.subcommand(daemon::build_command());
    root = root
        .subcommand(config::build_command())
        .subcommand(export::build_command())
        .subcommand(resume::build_command())
        .subcommand(ui::build_command())
        .subcommand(ui::build_pick_command())
        .subcommand(shell_init::build_command())
        .subcommand(update::build_command());
    root = root.subcommand(shell::completions_command()).subcommand(shell::man_command());
    for (group, about) in [
        ("query", "List tool calls, errors, messages, turns, sessions and files"),
        ("analyze", "Find recurring errors and tool call sequences, file churn and idle gaps"),
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
    let text = help::format_help(&root);
    root.override_help(text)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    #[test]
    fn clap_accepts_the_command_definitions() {
        build_command(None).debug_assert();
        for wanted in ["", "search", "query", "stats"] {
            build_command(Some(wanted)).debug_assert();
        }
    }

    /// Every `--help` page, one snapshot per command, so that a change of wording shows up in review. Accept changes with
    /// `INSTA_UPDATE=always cargo test -p loci help_pages`.
    #[test]
    fn help_pages_match_their_snapshots() {
        let mut root = build_command(None).term_width(100);
        root.build();
        insta::assert_snapshot!("loci", root.render_long_help().to_string());
        for command in root.get_subcommands_mut() {
            let mut pages = String::new();
            render_help_pages(command, &mut pages);
            insta::assert_snapshot!(command.get_name().to_string(), pages);
        }
    }

    fn render_help_pages(command: &mut Command, pages: &mut String) {
        let page = command.clone().term_width(100).render_long_help();
        let name = command.get_bin_name().unwrap_or_default();
        api::terminal_text::append_fmt(pages, format_args!("==> {name}\n{page}\n"));
        for inner in command.get_subcommands_mut() {
            render_help_pages(inner, pages);
        }
    }

    #[test]
    fn a_mistyped_command_suggests_the_nearest_one() {
        for (line, nearest) in [
            ("loci serach", "search"),
            ("loci sarch", "search"),
            ("loci sesions", "sessions"),
            ("loci sess", "sessions"),
            ("loci statsu", "status"),
            ("loci code outlin", "outline"),
            ("loci memory csots", "costs"),
        ] {
            let typed: Vec<OsString> = split_words(line).into_iter().map(OsString::from).collect();
            let mut error = build_command(typed[1].to_str()).try_get_matches_from(&typed).unwrap_err();
            replace_suggestions(&mut error, &typed);
            let hints = error_from_clap(&error).hints;
            let (_, names) = hints[0].split_once(": ").unwrap();
            assert!(names.starts_with(&format!("'{nearest}'")), "{line}: {hints:?}");
        }
        assert_eq!(nearest_names("xyzzy", ["search", "show"].into_iter()), [""; 0]);
    }

    #[test]
    fn help_and_version_also_work_as_subcommands() {
        for (line, rewritten) in [
            ("loci help", "loci --help"),
            ("loci help search", "loci search --help"),
            ("loci help code outline", "loci code outline --help"),
            ("loci version", "loci --version"),
            ("loci search version", "loci search version"),
            ("loci search help", "loci search help"),
        ] {
            let typed = rewrite_help_and_version(split_words(line).into_iter().map(OsString::from).collect());
            assert_eq!(
                typed,
                split_words(rewritten).into_iter().map(OsString::from).collect::<Vec<_>>(),
                "{line}"
            );
        }
        let shown = build_command(Some("code")).try_get_matches_from(["loci", "code", "outline", "--help"]);
        assert_eq!(shown.unwrap_err().kind(), clap::error::ErrorKind::DisplayHelp);
    }

    /// Splits a command line like a shell, as far as the examples need: spaces and single quotes.
    pub(crate) fn split_words(line: &str) -> Vec<String> {
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
