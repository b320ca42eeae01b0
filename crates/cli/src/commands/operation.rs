//! The commands that are operations: arguments become one request, and its response is printed as text or as JSON.
//!
//! Does not know what an operation does: the service implements it.

use crate::flags::{HYBRID, hybrid_flag, shaped, threads_flag, unmasked_flag, value};
use crate::output::{self, Shown};
use crate::{daemon_client, environment};
use api::control::CONTROL;
use api::operation::{Handy, Means, Number, Words};
use api::params::dashed;
use api::{AnyResponse, Code, Control, Error, Exit, OPERATIONS, Operation, Param, Shape};
use clap::{Arg, ArgAction, ArgMatches, Command, builder::PossibleValuesParser};
use record::Clock;
use render::{Render, RenderOptions};
use serde_json::{Map, Value, json};
use service::Service;
use std::path::Path;

/// An operation with its parameters.
pub(crate) struct Invocation {
    operation: &'static Operation,
    params: Result<Map<String, Value>, Error>,
    service: Service,
    shown: Shown,
    /// `--yes`: skip the confirmation prompt.
    yes: bool,
    /// Print the envelope an agent gets.
    hybrid: bool,
}

/// Operations that ask for confirmation because they change data that cannot be rebuilt: name, error without a terminal,
/// prompt.
const ASKED: &[(&str, &str, &str)] = &[
    (
        "forget",
        "forgetting is permanent and needs confirmation, but there is no terminal",
        "Forget this? [y/N] ",
    ),
    (
        "setup",
        "setup changes your agents' files and needs confirmation, but there is no terminal",
        "Make these changes? [y/N] ",
    ),
    (
        "forget_memory",
        "forgetting is permanent and needs confirmation, but there is no terminal",
        "Forget this? [y/N] ",
    ),
];
/// The operation that prints whole messages and therefore takes `--unmasked`.
const QUOTING: &str = "gather_chats";

// ---- command

pub(crate) fn command(operation: &'static Operation) -> Command {
    let name = operation.command.rsplit(' ').next().unwrap_or(operation.command);
    let mut command = Command::new(name).about(operation.about).after_help(after(operation));
    if let Some(words) = &operation.words {
        command = command.arg(positional(words));
    }
    for handy in operation.handy {
        command = command.arg(short_flag(operation, handy));
    }
    for param in operation.params {
        let arg = Arg::new(param.name).long(dashed(param.name)).help(param.about);
        command = command.arg(shaped(with_letter(arg, param.name), param));
    }
    for control in CONTROL.iter().filter(|control| operation.takes_control(control.name)) {
        let arg = Arg::new(control.name).long(dashed(control.name)).help(control.about);
        command = command.arg(shaped(arg, control));
    }
    if asked(operation).is_some() {
        let yes = Arg::new("yes")
            .long("yes")
            .short('y')
            .help("Skip the confirmation prompt")
            .action(ArgAction::SetTrue);
        command = command.arg(yes);
    }
    command
        .arg(
            Arg::new("output")
                .short('o')
                .long("output")
                .value_name("FORMAT")
                .value_parser(PossibleValuesParser::new(["json", "text"]))
                .help("Output format [default: text on a terminal, json elsewhere]"),
        )
        .arg(
            Arg::new("json")
                .long("json")
                .action(ArgAction::SetTrue)
                .conflicts_with("output")
                .help("Print one line of JSON, same as -o json"),
        )
        .args((operation.name == QUOTING).then(unmasked_flag))
        .arg(hybrid_flag())
        .arg(threads_flag())
}

fn after(operation: &Operation) -> String {
    let json = format!("JSON output is one object, the response of `{}`.", operation.name);
    format!("Output: {}.\n{json}\n\nExample:\n  {}", operation.answer, operation.example)
}

const WORDS: &str = "words";

fn positional(words: &Words) -> Arg {
    let arg = Arg::new(WORDS).value_name(words.value).help(words.about);
    match words.number {
        Number::One => arg,
        Number::InTurn => arg.num_args(1..=words.into.len()),
        Number::Several | Number::Sentence => arg.num_args(1..).action(ArgAction::Append),
    }
}

fn with_letter(arg: Arg, flag: &str) -> Arg {
    if flag == "limit" { arg.short('n') } else { arg }
}

fn short_flag(operation: &Operation, handy: &Handy) -> Arg {
    let arg = with_letter(Arg::new(handy.flag).long(handy.flag).help(handy.about), handy.flag);
    match (handy.means, param(operation, handy.means.param())) {
        (Means::Is(name, _), _) => arg.action(ArgAction::SetTrue).conflicts_with(name),
        (Means::Names(_), Some(param)) if param.shape == Shape::Texts => shaped(arg, param),
        (Means::Names(name), Some(param)) => shaped(arg, param).conflicts_with(name),
        (Means::Start(name) | Means::End(name), _) => {
            arg.value_name(handy.value).conflicts_with(name).allow_hyphen_values(true)
        }
        (Means::Names(_), None) => arg,
    }
}

fn param(operation: &Operation, name: &str) -> Option<&'static Param> {
    operation.params.iter().find(|param| param.name == name)
}

/// Command groups with their help.
pub(crate) const GROUPS: &[(&str, &str)] = &[
    ("code", "Outline types, resolve names, find usages and dependencies in a code base"),
    ("agent", "Manage named agents and the messages sent to them"),
    ("memory", "Manage session names, summaries and facts"),
];

pub(crate) fn group_command(bare: Command, group: &str) -> Command {
    let inside = move |operation: &&Operation| operation.command.split(' ').next() == Some(group);
    let inside = OPERATIONS.iter().filter(|operation| operation.command.contains(' ')).filter(inside);
    let examples: Vec<&str> = inside.clone().map(|operation| operation.example).take(3).collect();
    bare.after_help(format!("Examples:\n  {}", examples.join("\n  ")))
        .arg_required_else_help(true)
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .subcommands(inside.map(command))
}

// ---- arguments

/// Finds the operation of a command, which may be in a group: `loci code outline`.
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

pub(crate) fn invocation(operation: &'static Operation, matches: &ArgMatches) -> Invocation {
    let (service, valid) = environment::service(matches);
    let shown = match matches.get_one::<String>("output") {
        Some(word) => Shown::from_word(word),
        None if matches.get_flag("json") => Shown::Jsonl,
        None => Shown::default(),
    };
    let yes = asked(operation).is_some() && matches.get_flag("yes");
    let params = valid.and_then(|()| params(operation, matches, service.clock, &service.cwd));
    Invocation { operation, params, service, shown, yes, hybrid: matches.get_flag(HYBRID) }
}

fn params(
    operation: &Operation,
    matches: &ArgMatches,
    clock: Clock,
    cwd: &Path,
) -> Result<Map<String, Value>, Error> {
    let mut map = Map::new();
    for param in operation.params {
        map.extend(value(param, param.name, matches).map(|v| (param.name.to_string(), v)));
    }
    for control in CONTROL.iter().filter(|control| operation.takes_control(control.name)) {
        map.extend(value(control, control.name, matches).map(|v| (control.name.to_string(), v)));
    }
    for handy in operation.handy {
        say_in_full(operation, handy, matches, clock, &mut map)?;
    }
    if let Some(words) = &operation.words {
        fill(words, matches, &mut map);
    }
    // Relative to the working directory.
    if let Some(Value::String(project)) = map.get_mut("project") {
        *project = cwd.join(&*project).to_string_lossy().into_owned();
    }
    Ok(map)
}

fn say_in_full(
    operation: &Operation,
    handy: &Handy,
    matches: &ArgMatches,
    clock: Clock,
    map: &mut Map<String, Value>,
) -> Result<(), Error> {
    let name = handy.means.param().to_string();
    match handy.means {
        Means::Is(_, word) => {
            if matches.get_flag(handy.flag) {
                let value = word.parse::<bool>().map_or_else(|_| json!(word), |yes| json!(yes));
                map.insert(name, value);
            }
        }
        Means::Names(_) => {
            let given = param(operation, &name).and_then(|param| value(param, handy.flag, matches));
            match (map.get_mut(&name), given) {
                (Some(Value::Array(all)), Some(Value::Array(more))) => all.extend(more),
                (_, Some(given)) => drop(map.insert(name, given)),
                (_, None) => {}
            }
        }
        Means::Start(_) | Means::End(_) => {
            let Some(text) = matches.get_one::<String>(handy.flag) else { return Ok(()) };
            let start = matches!(handy.means, Means::Start(_));
            let at = if start { clock.moment(text) } else { clock.moment_until(text) };
            let at = at.ok_or_else(|| unclear(handy.flag, text))?;
            let span = map.entry(name).or_insert_with(|| json!({}));
            span[if start { "start" } else { "end" }] = json!(at.0);
        }
    }
    Ok(())
}

fn unclear(flag: &str, text: &str) -> Error {
    Error::new(Code::InvalidArgument, format!("invalid time `{text}` for --{flag}"))
        .hint("use 7d, 12h, today, 2026-11-01 or 2026-11-01T09:30:00Z")
}

/// Inserts the positional arguments, before values given by flags.
fn fill(words: &Words, matches: &ArgMatches, map: &mut Map<String, Value>) {
    let mut typed: Vec<String> = matches.get_many::<String>(WORDS).into_iter().flatten().cloned().collect();
    if typed.is_empty() {
        return;
    }
    if words.number == Number::InTurn {
        for (name, word) in words.into.iter().zip(&typed) {
            map.entry(*name).or_insert_with(|| json!(word));
        }
        return;
    }
    if words.number == Number::Sentence {
        typed = vec![typed.join(" ")];
    }
    for name in words.into {
        let mut all: Vec<Value> = typed.iter().map(|word| json!(word)).collect();
        match map.get(*name) {
            Some(Value::Array(more)) => all.extend(more.iter().cloned()),
            Some(_) => continue,
            None => {}
        }
        let list = words.number == Number::Several || all.len() > 1;
        let value = if list { Value::Array(all) } else { all.swap_remove(0) };
        map.insert((*name).to_string(), value);
    }
}

// ---- response

impl Invocation {
    pub(crate) fn run(self) -> Exit {
        match self.answered() {
            Ok(Some((response, control))) => self.show(&response, &control),
            Ok(None) => Exit::Nothing,
            Err(error) => output::fail(self.shown, &error),
        }
    }

    /// Returns `None` if the person declined.
    fn answered(&self) -> Result<Option<(AnyResponse, Control)>, Error> {
        let mut params = self.params.clone()?;
        let control = self.service.control(self.operation, &mut params)?;
        let response = match asked(self.operation) {
            Some((_, refusal, question)) if !self.yes && !says_dry(&params) => {
                self.agreed(params, refusal, question)?
            }
            _ => Some(self.call(params)?),
        };
        Ok(response.map(|response| (response, control)))
    }

    fn call(&self, mut params: Map<String, Value>) -> Result<AnyResponse, Error> {
        daemon_client::keyed(self.operation.name, &mut params);
        self.service.progress.on_step(output::step);
        output::with_progress(&self.service, || {
            let response = daemon_client::ask(&self.service, self.operation, &params);
            response.unwrap_or_else(|| api::call(&self.service, self.operation, params))
        })
    }

    /// Shows a dry run and asks for confirmation. Without a terminal, returns `refusal` as an error.
    fn agreed(
        &self,
        params: Map<String, Value>,
        refusal: &str,
        question: &str,
    ) -> Result<Option<AnyResponse>, Error> {
        let mut dry = params.clone();
        dry.insert("dry_run".to_string(), json!(true));
        if !output::can_ask() {
            let typed = self.operation.typed(&params);
            return Err(Error::new(Code::InvalidArgument, refusal)
                .hint(format!("{typed} --dry-run"))
                .hint(format!("{typed} --yes")));
        }
        let preview = self.call(dry)?;
        if !preview.is_pending() {
            return Ok(Some(preview));
        }
        output::say(&preview.render(&self.render_options()))?;
        if output::ask(question) { self.call(params).map(Some) } else { Ok(None) }
    }

    fn render_options(&self) -> RenderOptions {
        let plain = service::env::text(&self.service.places, "NO_COLOR").is_some();
        let (width, terminal) = output::screen();
        let home = self.service.places.home.to_string_lossy().into_owned();
        RenderOptions { clock: self.service.clock, home, width, colour: terminal && !plain }
    }

    fn text(&self, response: &AnyResponse, control: &Control) -> Result<String, Error> {
        // Serialization cannot fail: the types contain only what JSON can represent.
        let json = |value: Result<String, serde_json::Error>| value.unwrap_or_default() + "\n";
        if self.hybrid {
            let envelope = self.service.enclosed(self.operation, response, control)?;
            return Ok(json(serde_json::to_string(&envelope)));
        }
        if control.alters() {
            let mut lines = Vec::new();
            self.service.shaped(self.operation, response, control, &mut |line| {
                lines.extend_from_slice(line);
                true
            })?;
            return Ok(String::from_utf8_lossy(&lines).into_owned());
        }
        Ok(match self.shown {
            Shown::Text => response.render(&self.render_options()),
            _ => json(serde_json::to_string(response)),
        })
    }

    fn show(&self, response: &AnyResponse, control: &Control) -> Exit {
        match self.text(response, control).and_then(|text| output::say(&text)) {
            Ok(()) => response.exit(),
            Err(error) => output::fail(self.shown, &error),
        }
    }
}

fn asked(operation: &Operation) -> Option<&'static (&'static str, &'static str, &'static str)> {
    ASKED.iter().find(|(name, ..)| *name == operation.name)
}

fn says_dry(params: &Map<String, Value>) -> bool {
    params.get("dry_run") == Some(&json!(true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{command as root, tests::split};
    use api::search::{ChatFound, Intent, Match, SearchConversations, SearchFound, TimeWindow};
    use api::{Request, guidance};
    use record::Stamp;

    /// Parses a command line to an operation and its parameters, or the error message.
    fn typed(line: &str) -> Result<(&'static Operation, Map<String, Value>), String> {
        let words = split(line);
        let matches = root(words.get(1).map(String::as_str))
            .try_get_matches_from(&words)
            .map_err(|e| format!("{line}: {e}"))?;
        let (name, sub) = matches.subcommand().unwrap();
        let (operation, sub) = operation_typed(name, sub).unwrap();
        let clock = Clock::At(Stamp::parse(b"2026-11-15T12:00:00Z"));
        params(operation, sub, clock, Path::new("/srv/here")).map(|p| (operation, p)).map_err(|e| e.message)
    }

    fn searched(line: &str) -> SearchConversations {
        SearchConversations::read(typed(line).unwrap().1).unwrap()
    }

    #[test]
    fn every_operation_example_parses() {
        for operation in OPERATIONS {
            let (found, params) = typed(operation.example).unwrap();
            assert_eq!(found.name, operation.name);
            assert!(!params.is_empty() || operation.params.len() < 2, "{}", operation.example);
        }
    }

    #[test]
    fn positional_words_and_flags_form_the_query() {
        for (line, intents) in [
            ("loci search lost socket", vec!["lost socket"]),
            ("loci search 'lost socket' daemon", vec!["lost socket daemon"]),
            ("loci search lost socket --also 'unix, pipe'", vec!["lost socket", "unix, pipe"]),
            ("loci search --intent-query a --intent-query b", vec!["a", "b"]),
            ("loci search a --intent-query b --also c", vec!["a", "b", "c"]),
            ("loci search --intent-query=-x", vec!["-x"]),
        ] {
            assert_eq!(searched(line).intent_query.0, intents, "{line}");
        }
    }

    #[test]
    fn short_flags_mean_what_the_long_ones_mean() {
        for (short, long) in [
            ("--fuzzy", "--precision-mode fuzzy"),
            ("--all", "--match all"),
            ("-n 3", "--limit-chats 3"),
            ("--limit 3", "--limit-chats=3"),
            ("--no-tools", "--include-tools-in-search=false"),
            ("--project .", "--project /srv/here/."),
        ] {
            assert_eq!(
                searched(&format!("loci search x {short}")),
                searched(&format!("loci search x {long}"))
            );
        }
        let window =
            searched("loci search x --since 2026-11-01T00:00:00Z --until 2026-11-02T00:00:00Z").time_window;
        let ms = |text: &str| Some(Stamp::parse(text.as_bytes()).0);
        let (start, end) = (ms("2026-11-01T00:00:00Z"), ms("2026-11-02T00:00:00Z"));
        assert_eq!(window, TimeWindow::Span { start, end });
        assert_eq!(
            typed("loci resolve ab").unwrap().1,
            *json!({"chatIdPrefix": "ab", "messageIdPrefix": "ab"}).as_object().unwrap()
        );
        assert_eq!(
            typed("loci show a b --no-tools").unwrap().1,
            *json!({"chatIds": ["a", "b"], "includeTools": false}).as_object().unwrap()
        );
        assert_eq!(
            typed("loci code context add A.B --minutes 5").unwrap().1,
            *json!({"action": "add", "path": "A.B", "minutes": 5}).as_object().unwrap()
        );
        assert_eq!(
            typed("loci forget a --chat-ids b,c").unwrap().1,
            *json!({"chat_ids": ["a", "b", "c"]}).as_object().unwrap()
        );
    }

    #[test]
    fn conflicting_or_invalid_flags_are_rejected() {
        for line in [
            "loci search x --fuzzy --precision-mode basic",
            "loci search x --since 7d --time-window 30d",
            "loci search x -n 3 --limit-chats 4",
            "loci search x --precision-mode exact",
            "loci search x --since soon",
            "loci search x --tool Bash",
            "loci sessions --json -o text",
            "loci sessions --limit x",
            "loci code context add A B",
        ] {
            assert!(typed(line).is_err(), "{line}");
        }
    }

    /// The command line of a suggested next step parses back to the same request.
    #[test]
    fn suggested_next_steps_parse_to_the_same_request() {
        let chat = |id: &str| ChatFound { chat_id: id.into(), ..ChatFound::default() };
        let request = SearchConversations {
            intent_query: Intent(vec!["it hangs".into(), "虚拟列表".into()]),
            time_window: TimeWindow::Span { start: Some(1_794_000_000_000), end: None },
            project: Some("/srv/a b".into()),
            matching: Match::All,
            include_tools_in_search: false,
            ..SearchConversations::default()
        };
        for results in [vec![], vec![chat("7f3a"), chat("8b")]] {
            let found = SearchFound { confidence: 0.5, results, ..SearchFound::default() };
            for action in guidance::guide(&request, &found).next_actions {
                let operation = api::operation_named(&action.tool).unwrap();
                let line = operation.typed(&action.args);
                let (_, params) = typed(&line).unwrap();
                if operation.name == "gather_chats" {
                    assert_eq!(params, action.args, "{line}");
                } else {
                    let (parsed, suggested) =
                        (SearchConversations::read(params), SearchConversations::read(action.args));
                    assert_eq!(parsed.unwrap(), suggested.unwrap(), "{line}");
                }
            }
        }
    }
}
