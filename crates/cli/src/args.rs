//! The command line, built from the tables of `api`: a view is a command, a parameter a flag of the same name.

use crate::output::{Shown, refuse};
use api::{Ask, Code, Param, Shape, VIEWS, View};
use clap::{Arg, ArgAction, ArgMatches, Command, builder::PossibleValuesParser, value_parser};
use record::Clock;
use serde_json::{Map, Value, json};
use service::Service;
use std::process::ExitCode;

/// What was typed, understood.
pub(crate) struct Call {
    pub(crate) view: &'static View,
    pub(crate) ask: Result<Ask, api::Error>,
    pub(crate) service: Service,
    pub(crate) format: Shown,
}

/// None: the help or the version was shown, or nothing more is to be done.
pub(crate) fn parse() -> Result<Option<Call>, ExitCode> {
    let matches = match command().try_get_matches() {
        Ok(matches) => matches,
        Err(e) => {
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
    let (view, sub) = match sub.subcommand() {
        Some((inner, deeper)) => (api::ask::view(name, inner), deeper),
        None => (api::ask::view("", name), sub),
    };
    Ok(view.map(|view| call(view, sub)))
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
    beside.or_else(joined).map_or_else(Shown::default, Shown::from_word)
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
    let places = service::env::places();
    let threads = threads(matches, &places);
    let format =
        matches.get_one::<String>("output").map_or_else(Shown::default, |word| Shown::from_word(word));
    Call {
        view,
        ask: threads.clone().and_then(|_| Ask::new(view, params(view, matches))),
        format,
        service: Service::new(
            places,
            Clock::System,
            cwd(),
            std::env::current_exe().unwrap_or_default(),
            threads.unwrap_or(1).clamp(1, 64),
        ),
    }
}

#[allow(clippy::disallowed_methods)] // the one place
fn cwd() -> std::path::PathBuf {
    std::env::current_dir().unwrap_or_default()
}

fn params(view: &View, matches: &ArgMatches) -> Map<String, Value> {
    let mut map = Map::new();
    for param in view.params().filter_map(api::params::param_named) {
        let value = match param.shape {
            Shape::Flag => matches.get_flag(param.name).then(|| json!(true)),
            Shape::Text => matches.get_one::<String>(param.name).map(|s| json!(s)),
            Shape::Count => matches.get_one::<u64>(param.name).map(|n| json!(n)),
            Shape::Number => matches.get_one::<f64>(param.name).map(|n| json!(n)),
            Shape::List => matches.get_many::<String>(param.name).map(|all| json!(all.collect::<Vec<_>>())),
        };
        map.extend(value.map(|v| (param.name.to_string(), v)));
    }
    map
}

// ---- the commands

pub(crate) fn command() -> Command {
    let mut root = Command::new("loci")
        .version(env!("CARGO_PKG_VERSION"))
        .about("What happened in your coding agents' sessions: find it, count it, ask about it.")
        .after_help(FIRST)
        .arg_required_else_help(true)
        .subcommand_required(true)
        .disable_help_subcommand(true);
    for (group, about) in [
        ("query", "Records of what happened: calls, failures, messages, turns, files"),
        ("analyze", "What recurs: sequences, failures by name, churn, gaps"),
    ] {
        let views = VIEWS.iter().filter(|v| v.group == group);
        let examples: Vec<&str> = views.clone().map(|v| v.example).take(3).collect();
        root = root.subcommand(
            Command::new(group)
                .about(about)
                .after_help(format!("Examples:\n  {}", examples.join("\n  ")))
                .arg_required_else_help(true)
                .subcommand_required(true)
                .disable_help_subcommand(true)
                .subcommands(views.map(view_command)),
        );
    }
    root.subcommands(VIEWS.iter().filter(|v| v.group.is_empty()).map(view_command))
}

const FIRST: &str = "First steps:
  loci sources                         what was found on this machine
  loci query errors --all-projects     what failed
  loci usage --all-projects            what it cost, day by day
  loci query tools --jq 'select(.status==\"error\")' | head

In a project's directory questions are about that project; --all-projects asks about everything.
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
        .arg(
            Arg::new("threads")
                .long("threads")
                .value_name("N")
                .value_parser(value_parser!(u64).range(1..))
                .help("Read with this many threads [default: one per core]"),
        )
}

fn after(view: &View) -> String {
    let jq = format!("\n\njq: {}", service::JQ_RULE);
    format!("Order: {}\nFields: {}\n\nExample:\n  {}{jq}", view.order, view.fields.join(", "), view.example)
}

fn flag(view: &View, param: &'static Param) -> Arg {
    let long = param.name.replace('_', "-");
    let mut about = param.about.to_string();
    if param.name == "by" {
        about = format!("{about}: {}", view.by.join(", "));
    }
    let arg = Arg::new(param.name).long(long).help(about);
    if param.shape == Shape::Flag {
        return arg.action(ArgAction::SetTrue);
    }
    let arg = arg.value_name(param.value).allow_hyphen_values(param.shape == Shape::Text);
    match param.shape {
        Shape::List => arg.action(ArgAction::Append).value_delimiter(','),
        Shape::Count => arg.value_parser(value_parser!(u64)),
        Shape::Number => arg.value_parser(value_parser!(f64)),
        _ => arg,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        command().debug_assert();
    }

    /// Every example in the help is itself a valid command line.
    #[test]
    fn examples_can_be_typed() {
        for view in VIEWS {
            let words = split(view.example);
            let matches =
                command().try_get_matches_from(&words).unwrap_or_else(|e| panic!("{}: {e}", view.example));
            let (_, sub) = matches.subcommand().unwrap();
            let sub = sub.subcommand().map_or(sub, |(_, deeper)| deeper);
            Ask::new(view, params(view, sub)).unwrap();
        }
        assert_eq!(api::PARAMS.iter().filter(|p| p.about.is_empty()).count(), 0);
    }

    fn split(line: &str) -> Vec<String> {
        let parts = line.split('\'').enumerate();
        parts
            .flat_map(|(i, part)| {
                if i % 2 == 1 {
                    vec![part.to_string()]
                } else {
                    part.split_whitespace().map(String::from).collect()
                }
            })
            .collect()
    }
}
