//! Flags shared by several commands, and conversion of their values to JSON parameters.
//!
//! Does not know which commands exist.

use api::control::{INLINE_THRESHOLD, JQ_FILTER, STATS_FIRST};
use api::{Param, Shape};
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use serde_json::{Value, json};

/// For people at a terminal: no other interface offers it, and it conflicts with flags that write text to a file.
pub(crate) fn unmasked_flag() -> Arg {
    Arg::new("unmasked")
        .long("unmasked")
        .conflicts_with_all([HYBRID, STATS_FIRST.name])
        .action(ArgAction::SetTrue)
        .help("Show secrets unmasked, read from the agent's own transcript")
}

/// The heading of flags that programs use and people seldom do; `-h` leaves them out.
const FOR_PROGRAMS: &str = "Options for programs";

pub(crate) fn for_programs(arg: Arg) -> Arg {
    arg.help_heading(FOR_PROGRAMS).hide_short_help(true)
}

/// `--color`, which overrides `NO_COLOR` and the terminal.
pub(crate) fn color_flag() -> Arg {
    Arg::new("color")
        .long("color")
        .value_name("WHEN")
        .value_parser(PossibleValuesParser::new(["auto", "always", "never"]))
        .help("Colour the text [default: auto: on a terminal, unless NO_COLOR is set]")
}

/// Whether text is coloured.
pub(crate) fn wants_colour(matches: &ArgMatches, no_color: bool, terminal: bool) -> bool {
    match matches.get_one::<String>("color").map(String::as_str) {
        Some("always") => true,
        Some("never") => false,
        _ => terminal && !no_color,
    }
}

pub(crate) fn json_flag() -> Arg {
    Arg::new("json")
        .long("json")
        .action(ArgAction::SetTrue)
        .conflicts_with("output")
        .help("Print JSON, one object per line")
}

pub(crate) const HYBRID: &str = "hybrid";

pub(crate) fn hybrid_flag() -> Arg {
    for_programs(
        Arg::new(HYBRID)
            .long(HYBRID)
            .action(ArgAction::SetTrue)
            .help("Print the response an agent gets: one JSON object, with large results saved to a file"),
    )
}

pub(crate) const HTML: &str = "html";
pub(crate) const FILE: &str = "file";

/// The flags of a command whose response can be drawn as a page.
pub(crate) fn add_page_flags(command: Command) -> Command {
    let formats =
        [PossibleValue::new(HTML), PossibleValue::new("json").alias("jsonl"), PossibleValue::new("text")];
    let html = Arg::new(HTML).long(HTML).action(ArgAction::SetTrue).conflicts_with_all(["output", "json"]);
    let file = Arg::new(FILE).long(FILE).value_name("PATH").conflicts_with(HYBRID);
    command
        .mut_arg("output", |output| {
            output
                .value_parser(PossibleValuesParser::new(formats))
                .help("Output format [default: html to a file; text on a terminal, json elsewhere]")
        })
        .arg(html.help("Draw a page, as -o html"))
        .arg(file.help("Write to this file instead of standard output: a page, unless -o says otherwise"))
}

pub(crate) fn threads_flag() -> Arg {
    for_programs(
        Arg::new("threads")
            .long("threads")
            .value_name("N")
            .value_parser(value_parser!(u64).range(1..))
            .help("Read transcripts with N threads [default: one per core]"),
    )
}

/// Adds what is special about output controls: `--jq` as an alias, and envelope settings only with `--hybrid`.
fn with_control_options(arg: Arg, param: &Param) -> Arg {
    match param.name {
        name if name == JQ_FILTER.name => arg.visible_alias("jq"),
        name if name == INLINE_THRESHOLD.name => arg.requires(HYBRID),
        _ => arg,
    }
}

/// Gives a flag the value type of its parameter.
pub(crate) fn with_param_type(arg: Arg, param: &Param) -> Arg {
    let arg = with_control_options(arg, param);
    let arg = if param.program { for_programs(arg) } else { arg };
    let arg = match param.name {
        "limit" => arg.short('n'),
        "all_projects" => arg.short('a'),
        _ => arg,
    };
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
        // Without `=`, the next word would be taken for the value.
        Shape::Switch => arg
            .value_parser(value_parser!(bool))
            .value_name("true|false")
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true"),
        _ => arg,
    }
}

/// Returns the value given for a parameter; `flag` is the name of its flag.
pub(crate) fn flag_value(param: &Param, flag: &str, matches: &ArgMatches) -> Option<Value> {
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
