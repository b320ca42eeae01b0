//! The command line, built from the tables of `api`: a view or an operation is a command, a parameter a flag of the
//! same name. Only the command that was typed is built in full; of the others help needs the names.

use crate::doors::{self, Deed};
use crate::output::{Shown, refuse};
use api::control::{INLINE_THRESHOLD, JQ_FILTER, STATS_FIRST};
use api::{Ask, Code, OPERATIONS, Operation, Param, Shape, VIEWS, View};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, ArgMatches, Command, builder::PossibleValuesParser, value_parser};
use record::Clock;
use serde_json::{Map, Value, json};
use service::Service;
use std::ffi::OsString;
use std::process::ExitCode;

/// What was typed, understood.
pub(crate) enum Typed {
    Question(Box<Call>),
    Deed(Box<Deed>),
    Mcp(Box<crate::mcp::Serve>),
    Hook(ArgMatches),
    Daemon(ArgMatches),
}

/// A question over the history.
pub(crate) struct Call {
    pub(crate) view: &'static View,
    /// As typed, and understood.
    pub(crate) params: Map<String, Value>,
    pub(crate) ask: Result<Ask, api::Error>,
    pub(crate) service: Service,
    pub(crate) format: Shown,
    /// As an agent gets it.
    pub(crate) hybrid: bool,
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
    if name == crate::hook::COMMAND {
        return Ok(Some(Typed::Hook(sub.clone())));
    }
    if name == crate::daemon::COMMAND {
        return Ok(Some(Typed::Daemon(sub.clone())));
    }
    if name == crate::mcp::COMMAND {
        return Ok(Some(Typed::Mcp(Box::new(crate::mcp::Serve::typed(sub)))));
    }
    if let Some((operation, sub)) = operation_typed(name, sub) {
        let (service, sound) = service(sub);
        return Ok(Some(Typed::Deed(Box::new(doors::deed(operation, sub, service, sound)))));
    }
    let (view, sub) = match sub.subcommand() {
        Some((inner, deeper)) => (api::ask::view(name, inner), deeper),
        None => (api::ask::view("", name), sub),
    };
    Ok(view.map(|view| Typed::Question(Box::new(call(view, sub)))))
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

/// The operation of a command, which may stand in a group: `loci code outline`.
pub(crate) fn operation_typed<'m>(
    name: &str,
    sub: &'m ArgMatches,
) -> Option<(&'static Operation, &'m ArgMatches)> {
    let (typed, sub) = match sub.subcommand() {
        Some((inner, deeper)) => (format!("{name} {inner}"), deeper),
        None => (name.to_string(), sub),
    };
    OPERATIONS.iter().find(|operation| operation.command == typed).map(|operation| (operation, sub))
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

/// How many threads were asked for, on the command line or in the environment.
fn threads(matches: &ArgMatches, places: &service::Places) -> Result<usize, api::Error> {
    let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    if let Some(n) = matches.get_one::<u64>("threads") {
        return Ok(*n as usize);
    }
    let Some(set) = service::env::text(places, "LOCI_THREADS") else { return Ok(cores()) };
    set.parse().ok().filter(|n| *n > 0).ok_or_else(|| {
        let message = format!("LOCI_THREADS is `{set}`, not a number from 1 on");
        api::Error::new(Code::InvalidArgument, message)
    })
}

fn call(view: &'static View, matches: &ArgMatches) -> Call {
    let (service, sound) = service(matches);
    let format =
        matches.get_one::<String>("output").map_or_else(Shown::default, |word| Shown::from_word(word));
    let (hybrid, params) = (matches.get_flag(HYBRID), params(view, matches));
    let ask = sound.and_then(|()| Ask::new(view, params.clone()));
    Call { view, params, ask, service, format, hybrid }
}

/// What answers, and whether it was told sensibly how.
fn service(matches: &ArgMatches) -> (Service, Result<(), api::Error>) {
    let places = service::env::places();
    let threads = threads(matches, &places);
    let exe = std::env::current_exe().unwrap_or_default();
    let many = threads.as_ref().map_or(1, |n| *n).clamp(1, 64);
    let mut service = Service::new(places, Clock::System, cwd(), exe, many);
    service.daemon = Some(crate::daemon::teller(&service.places));
    service.masked = !matches!(matches.try_get_one::<bool>("unmasked"), Ok(Some(true)));
    (service, threads.map(|_| ()))
}

#[allow(clippy::disallowed_methods)] // the one place
pub(crate) fn cwd() -> std::path::PathBuf {
    std::env::current_dir().unwrap_or_default()
}

fn params(view: &View, matches: &ArgMatches) -> Map<String, Value> {
    let mut map = Map::new();
    for param in view.params().filter_map(api::params::param_named) {
        map.extend(value(param, param.name, matches).map(|v| (param.name.to_string(), v)));
    }
    map
}

/// What was given for a parameter, under the name its flag has.
pub(crate) fn value(param: &Param, flag: &str, matches: &ArgMatches) -> Option<Value> {
    match param.shape {
        Shape::Flag => matches.get_flag(flag).then(|| json!(true)),
        Shape::Switch => matches.get_one::<bool>(flag).map(|b| json!(b)),
        Shape::Text | Shape::Choice(_) => matches.get_one::<String>(flag).map(|s| json!(s)),
        Shape::Count => matches.get_one::<u64>(flag).map(|n| json!(n)),
        Shape::Number => matches.get_one::<f64>(flag).map(|n| json!(n)),
        Shape::List | Shape::Texts => {
            matches.get_many::<String>(flag).map(|all| json!(all.collect::<Vec<_>>()))
        }
    }
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
    for operation in OPERATIONS.iter().filter(|operation| !operation.command.contains(' ')) {
        let bare = Command::new(operation.command).about(operation.about);
        root = root.subcommand(if full(operation.command) { doors::command(operation) } else { bare });
    }
    root = root.subcommand(crate::mcp::command()).subcommand(crate::hook::command());
    root = root.subcommand(crate::daemon::command());
    for (group, about) in [
        ("query", "Records of what happened: calls, failures, messages, turns, files"),
        ("analyze", "What recurs: sequences, failures by name, churn, gaps"),
    ] {
        let bare = Command::new(group).about(about);
        root = root.subcommand(if full(group) { group_command(bare, group) } else { bare });
    }
    for (group, about) in DEEDS {
        let bare = Command::new(*group).about(*about);
        root = root.subcommand(if full(group) { deeds_command(bare, group) } else { bare });
    }
    for view in VIEWS.iter().filter(|v| v.group.is_empty()) {
        let bare = Command::new(view.name).about(view.about);
        root = root.subcommand(if full(view.name) { view_command(view) } else { bare });
    }
    root
}

fn group_command(bare: Command, group: &str) -> Command {
    let views = VIEWS.iter().filter(|v| v.group == group);
    let examples: Vec<&str> = views.clone().map(|v| v.example).take(3).collect();
    bare.after_help(format!("Examples:\n  {}", examples.join("\n  ")))
        .arg_required_else_help(true)
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .subcommands(views.map(view_command))
}

/// The groups of operations.
const DEEDS: &[(&str, &str)] = &[
    ("code", "The code base itself: outlines, names, usages, who depends on whom"),
    ("agent", "Other agents, by name: who they are, and what they were told"),
    ("memory", "What is remembered of sessions: names, summaries, what was decided"),
];

fn deeds_command(bare: Command, group: &str) -> Command {
    let inside = move |operation: &&Operation| operation.command.split(' ').next() == Some(group);
    let inside = OPERATIONS.iter().filter(|operation| operation.command.contains(' ')).filter(inside);
    let examples: Vec<&str> = inside.clone().map(|operation| operation.example).take(3).collect();
    bare.after_help(format!("Examples:\n  {}", examples.join("\n  ")))
        .arg_required_else_help(true)
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .subcommands(inside.map(doors::command))
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

fn view_command(view: &'static View) -> Command {
    let mut command = Command::new(view.name).about(view.about).after_help(after(view));
    for param in view.params().filter_map(api::params::param_named) {
        command = command.arg(flag(view, param));
    }
    let output = PossibleValuesParser::new(["jsonl", "tsv", "text"]);
    command
        .arg(
            Arg::new("output")
                .short('o')
                .long("output")
                .value_name("FORMAT")
                .value_parser(output)
                .help("How to print [default: text on a terminal, jsonl elsewhere]"),
        )
        .args(["query", "analyze"].contains(&view.group).then(unmasked_flag))
        .arg(hybrid_flag())
        .arg(threads_flag())
}

/// Only a person at a terminal may ask for it: no other door has it, and nothing that puts text into a file goes with it.
pub(crate) fn unmasked_flag() -> Arg {
    Arg::new("unmasked")
        .long("unmasked")
        .conflicts_with_all([HYBRID, STATS_FIRST.name])
        .action(ArgAction::SetTrue)
        .help("Show secrets as they stand in the agent's own file; everywhere else they are masked")
}

pub(crate) const HYBRID: &str = "hybrid";

pub(crate) fn hybrid_flag() -> Arg {
    Arg::new(HYBRID)
        .long(HYBRID)
        .action(ArgAction::SetTrue)
        .help("Answer as an agent is answered: one JSON object, with a large answer in a file")
}

pub(crate) fn threads_flag() -> Arg {
    Arg::new("threads")
        .long("threads")
        .value_name("N")
        .value_parser(value_parser!(u64).range(1..))
        .help("Read with this many threads [default: one per core]")
}

fn after(view: &View) -> String {
    let jq = format!("\n\njq: {}", service::JQ_RULE);
    format!("Order: {}\nFields: {}\n\nExample:\n  {}{jq}", view.order, view.fields.join(", "), view.example)
}

fn flag(view: &View, param: &'static Param) -> Arg {
    let mut about = param.about.to_string();
    if param.name == "by" {
        about = format!("{about}: {}", view.by.join(", "));
    }
    shaped(Arg::new(param.name).long(api::params::dashed(param.name)).help(about), param)
}

/// How a control is typed: the filter also by its short name, what is about envelopes only with one.
fn as_control(arg: Arg, param: &Param) -> Arg {
    match param.name {
        name if name == JQ_FILTER.name => arg.visible_alias("jq"),
        name if name == INLINE_THRESHOLD.name => arg.requires(HYBRID),
        _ => arg,
    }
}

/// A flag that takes what the parameter is.
pub(crate) fn shaped(arg: Arg, param: &Param) -> Arg {
    let arg = as_control(arg, param);
    if param.shape == Shape::Flag {
        return arg.action(ArgAction::SetTrue);
    }
    let text = matches!(param.shape, Shape::Text | Shape::Texts);
    let arg = arg.value_name(param.value).allow_hyphen_values(text);
    match param.shape {
        Shape::List => arg.action(ArgAction::Append).value_delimiter(','),
        Shape::Texts => arg.action(ArgAction::Append),
        Shape::Count => arg.value_parser(value_parser!(u64)),
        Shape::Number => arg.value_parser(value_parser!(f64)),
        Shape::Choice(words) => {
            arg.value_parser(PossibleValuesParser::new(words)).hide_possible_values(false)
        }
        // A word behind a blank would be taken for its value.
        Shape::Switch => arg
            .value_parser(value_parser!(bool))
            .value_name("true|false")
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true"),
        _ => arg,
    }
}

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

    /// Every example in the help is itself a valid command line.
    #[test]
    fn examples_can_be_typed() {
        for view in VIEWS {
            let words = split(view.example);
            let matches = command(words.get(1).map(String::as_str))
                .try_get_matches_from(&words)
                .unwrap_or_else(|e| panic!("{}: {e}", view.example));
            let (_, sub) = matches.subcommand().unwrap();
            let sub = sub.subcommand().map_or(sub, |(_, deeper)| deeper);
            Ask::new(view, params(view, sub)).unwrap();
        }
        assert_eq!(api::PARAMS.iter().filter(|p| p.about.is_empty()).count(), 0);
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
