//! The commands that are operations: arguments become one request, and its response is printed as text or as JSON.
//!
//! Does not know what an operation does: the service implements it.

use crate::flags::{
    HYBRID, add_page_flags, color_flag, flag_value, for_programs, hybrid_flag, json_flag, threads_flag,
    unmasked_flag, wants_colour, with_param_type,
};
use crate::output::{self, OutputFormat};
use crate::{daemon_client, environment};
use api::operation::{Confirmation, FlagMeaning, Number, Phrase, Positional, ShortFlag};
use api::params::flag_name;
use api::{AnyResponse, Code, Control, Error, Exit, OPERATIONS, Operation, Param, Shape};
use clap::{Arg, ArgAction, ArgMatches, Command, builder::PossibleValue, builder::PossibleValuesParser};
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
    format: OutputFormat,
    /// `--yes`: skip the confirmation prompt.
    yes: bool,
    /// `--show-phrase`, or a terminal: the recovery phrase may be printed.
    may_show_phrase: bool,
    /// Print the envelope an agent gets.
    hybrid: bool,
    colour: bool,
}

const SHOW_PHRASE: &str = "show_phrase";

// ---- command

pub(crate) fn build_command(operation: &'static Operation) -> Command {
    let name = operation.command.rsplit(' ').next().unwrap_or(operation.command);
    let mut command = Command::new(name).about(operation.about).after_help(help_footer(operation));
    command = command.visible_aliases(operation.second_name);
    if let Some(words) = &operation.words {
        command = command.arg(positional_arg(words));
    }
    for handy in operation.handy {
        command = command.arg(short_flag(operation, handy));
    }
    for param in operation.params {
        let arg = with_param_type(Arg::new(param.name).long(flag_name(param.name)).help(param.about), param);
        let has_short_flag = operation.handy.iter().any(|handy| handy.means.param_name() == param.name);
        command = command.arg(if has_short_flag { for_programs(arg) } else { arg });
    }
    for control in Control::PARAMS.iter().filter(|control| operation.accepts_control(control.name)) {
        let arg = Arg::new(control.name).long(flag_name(control.name)).help(control.about);
        command = command.arg(with_param_type(arg, control));
    }
    if operation.confirm.is_some() {
        let yes = Arg::new("yes")
            .long("yes")
            .short('y')
            .help("Skip the confirmation prompt")
            .action(ArgAction::SetTrue);
        command = command.arg(yes);
    }
    if operation.phrase == Phrase::Shown {
        let show = Arg::new(SHOW_PHRASE)
            .long(flag_name(SHOW_PHRASE))
            .help("Print the recovery phrase although the output is no terminal")
            .action(ArgAction::SetTrue);
        command = command.arg(show);
    }
    let command = command
        .arg(
            Arg::new("output")
                .short('o')
                .long("output")
                .value_name("FORMAT")
                .value_parser(PossibleValuesParser::new([
                    PossibleValue::new("json").alias("jsonl"),
                    PossibleValue::new("text"),
                ]))
                .help("Output format [default: text on a terminal, json elsewhere]"),
        )
        .arg(json_flag())
        .arg(color_flag())
        .args(operation.unmaskable.then(unmasked_flag))
        .arg(hybrid_flag())
        .arg(threads_flag());
    if operation.page { add_page_flags(command) } else { command }
}

fn help_footer(operation: &Operation) -> String {
    let json = format!("JSON output is one object: the response of the operation `{}`.", operation.name);
    format!("Output: {}.\n{json}\n\nExample:\n  {}", operation.answer, operation.example)
}

const WORDS_ARG: &str = "words";

fn positional_arg(words: &Positional) -> Arg {
    let arg = Arg::new(WORDS_ARG).value_name(words.value).help(words.about);
    match words.number {
        Number::One => arg,
        Number::InTurn => arg.num_args(1..=words.into.len()),
        Number::Several | Number::Sentence => arg.num_args(1..).action(ArgAction::Append),
    }
}

fn add_short_name(arg: Arg, flag: &str) -> Arg {
    if flag == "limit" { arg.short('n') } else { arg }
}

fn short_flag(operation: &Operation, handy: &ShortFlag) -> Arg {
    let arg = add_short_name(Arg::new(handy.flag).long(handy.flag).help(handy.about), handy.flag);
    match (handy.means, find_param(operation, handy.means.param_name())) {
        (FlagMeaning::Is(name, _), _) => arg.action(ArgAction::SetTrue).conflicts_with(name),
        (FlagMeaning::Names(_), Some(param)) if param.shape == Shape::Texts => with_param_type(arg, param),
        (FlagMeaning::Names(name), Some(param)) => with_param_type(arg, param).conflicts_with(name),
        (FlagMeaning::Start(name) | FlagMeaning::End(name), _) => {
            arg.value_name(handy.value).conflicts_with(name).allow_hyphen_values(true)
        }
        (FlagMeaning::Names(_), None) => arg,
    }
}

fn find_param(operation: &Operation, name: &str) -> Option<&'static Param> {
    operation.params.iter().find(|param| param.name == name)
}

/// Command groups with their help.
pub(crate) const GROUPS: &[(&str, &str)] = &[
    ("code", "Outline types, resolve names, find usages and dependencies in a source tree"),
    ("edit", "Rename, move, replace, insert and delete code by symbol, with preview, check and undo"),
    ("agent", "Manage named agents and the messages sent to them"),
    ("memory", "Manage session names, summaries and facts"),
    ("project", "List projects and give them names"),
    ("sync", "Synchronise archive and memory with your other devices, end-to-end encrypted"),
];

pub(crate) fn group_command(bare: Command, group: &str) -> Command {
    let inside = move |operation: &&Operation| operation.command.split(' ').next() == Some(group);
    let inside = OPERATIONS.iter().filter(|operation| operation.command.contains(' ')).filter(inside);
    let examples: Vec<&str> = inside.clone().map(|operation| operation.example).take(3).collect();
    bare.after_help(format!("Examples:\n  {}", examples.join("\n  ")))
        .arg_required_else_help(true)
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .subcommands(inside.map(build_command))
}

// ---- arguments

/// Finds the operation of a command, which may be in a group: `loci code outline`.
pub(crate) fn find_operation<'m>(
    name: &str,
    sub: &'m ArgMatches,
) -> Option<(&'static Operation, &'m ArgMatches)> {
    let (typed, sub) = match sub.subcommand() {
        Some((inner, deeper)) => (format!("{name} {inner}"), deeper),
        None => (name.to_string(), sub),
    };
    OPERATIONS.iter().find(|operation| operation.command == typed).map(|operation| (operation, sub))
}

pub(crate) fn build_invocation(operation: &'static Operation, matches: &ArgMatches) -> Invocation {
    let (service, valid) = environment::build_service(matches);
    let shown = match matches.get_one::<String>("output") {
        Some(word) => OutputFormat::from_word(word),
        None if matches.get_flag("json") => OutputFormat::Jsonl,
        None => OutputFormat::default(),
    };
    let yes = operation.confirm.is_some() && matches.get_flag("yes");
    let params = valid.and_then(|()| collect_params(operation, matches, service.clock, &service.cwd));
    let no_color = service::env::text_var(&service.places, "NO_COLOR").is_some();
    let colour = wants_colour(matches, no_color, output::stdout_size().1);
    let hybrid = matches.get_flag(HYBRID);
    let may_show_phrase =
        operation.phrase != Phrase::Shown || matches.get_flag(SHOW_PHRASE) || output::stdout_size().1;
    Invocation { operation, params, service, format: shown, yes, may_show_phrase, hybrid, colour }
}

fn collect_params(
    operation: &Operation,
    matches: &ArgMatches,
    clock: Clock,
    cwd: &Path,
) -> Result<Map<String, Value>, Error> {
    let mut map = Map::new();
    for param in operation.params {
        map.extend(flag_value(param, param.name, matches).map(|v| (param.name.to_string(), v)));
    }
    for control in Control::PARAMS.iter().filter(|control| operation.accepts_control(control.name)) {
        map.extend(flag_value(control, control.name, matches).map(|v| (control.name.to_string(), v)));
    }
    for handy in operation.handy {
        expand_short_flag(operation, handy, matches, clock, &mut map)?;
    }
    if let Some(words) = &operation.words {
        insert_positionals(words, matches, &mut map);
    }
    // A path is relative to the working directory; a name or a remote is not.
    if let Some(Value::String(project)) = map.get_mut("project")
        && (project.starts_with('.') || cwd.join(&*project).exists())
    {
        *project = cwd.join(&*project).to_string_lossy().into_owned();
    }
    Ok(map)
}

fn expand_short_flag(
    operation: &Operation,
    handy: &ShortFlag,
    matches: &ArgMatches,
    clock: Clock,
    map: &mut Map<String, Value>,
) -> Result<(), Error> {
    let name = handy.means.param_name().to_string();
    match handy.means {
        FlagMeaning::Is(_, word) => {
            if matches.get_flag(handy.flag) {
                let value = word.parse::<bool>().map_or_else(|_| json!(word), |yes| json!(yes));
                map.insert(name, value);
            }
        }
        FlagMeaning::Names(_) => {
            let given = find_param(operation, &name).and_then(|param| flag_value(param, handy.flag, matches));
            match (map.get_mut(&name), given) {
                (Some(Value::Array(all)), Some(Value::Array(more))) => all.extend(more),
                (_, Some(given)) => drop(map.insert(name, given)),
                (_, None) => {}
            }
        }
        FlagMeaning::Start(_) | FlagMeaning::End(_) => {
            let Some(text) = matches.get_one::<String>(handy.flag) else { return Ok(()) };
            let start = matches!(handy.means, FlagMeaning::Start(_));
            let at = if start { clock.parse_time(text) } else { clock.parse_end_time(text) };
            let at = at.ok_or_else(|| invalid_time_error(handy.flag, text))?;
            let span = map.entry(name).or_insert_with(|| json!({}));
            span[if start { "start" } else { "end" }] = json!(at.0);
        }
    }
    Ok(())
}

fn invalid_time_error(flag: &str, text: &str) -> Error {
    Error::new(Code::InvalidArgument, format!("invalid time `{text}` for --{flag}"))
        .hint("use 7d, 12h, today, 2026-11-01 or 2026-11-01T09:30:00Z")
}

/// Inserts the positional arguments, before values given by flags.
fn insert_positionals(words: &Positional, matches: &ArgMatches, map: &mut Map<String, Value>) {
    let mut typed: Vec<String> =
        matches.get_many::<String>(WORDS_ARG).into_iter().flatten().cloned().collect();
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
        match self.request_response() {
            Ok(Some((response, control))) => self.print_response(&response, &control),
            Ok(None) => Exit::Nothing,
            Err(error) => self.report_error(error),
        }
    }

    /// Says what the answer could miss: see [`output::note_losses`].
    pub(crate) fn note_losses(&self, exit: Exit) -> Exit {
        output::note_losses(self.service.losses_of_operation(self.operation), exit)
    }

    fn report_error(&self, error: Error) -> Exit {
        if !self.operation.is_about_code() {
            return output::report_error(self.format, &error);
        }
        let error = error.with_progress(&self.service.progress).with_trace();
        output::report_error_of(self.format, &error, true)
    }

    /// Returns `None` if the person declined.
    pub(crate) fn request_response(&self) -> Result<Option<(AnyResponse, Control)>, Error> {
        let mut params = self.params.clone()?;
        let control = self.service.take_controls(self.operation, &mut params)?;
        let response = match self.operation.confirm {
            Some(confirmation) if !self.yes && !is_dry_run(&params) => {
                self.confirm_and_call(params, confirmation)?
            }
            _ => Some(self.call_operation(params)?),
        };
        Ok(response.map(|response| (response, control)))
    }

    fn call_operation(&self, mut params: Map<String, Value>) -> Result<AnyResponse, Error> {
        if self.operation.phrase == Phrase::Typed {
            read_phrase(&mut params)?;
        }
        if !self.may_show_phrase {
            let message = "the recovery phrase is shown once, and the output is no terminal";
            let typed = self.operation.command_line(&params);
            return Err(Error::new(Code::InvalidArgument, message)
                .hint("run it in a terminal")
                .hint(format!("{typed} --show-phrase")));
        }
        daemon_client::add_message_key(self.operation.name, &mut params);
        self.service.progress.on_step(output::print_step);
        let is_removal =
            self.operation.name == "setup" && params.contains_key("remove") && !is_dry_run(&params);
        let response = output::with_progress(&self.service, || {
            let response = daemon_client::call_operation(&self.service, self.operation, &params);
            response.unwrap_or_else(|| api::call(&self.service, self.operation, params))
        })?;
        if is_removal && self.service.count_agents()? == 0 {
            super::daemon::stop_running(&self.service.places)?;
        }
        Ok(response)
    }

    /// Shows a dry run and asks for confirmation, which needs a terminal.
    fn confirm_and_call(
        &self,
        params: Map<String, Value>,
        confirmation: Confirmation,
    ) -> Result<Option<AnyResponse>, Error> {
        let mut dry = params.clone();
        dry.insert("dry_run".to_string(), json!(true));
        if !output::can_prompt() {
            let typed = self.operation.command_line(&params);
            let message = format!("{} and needs confirmation, but there is no terminal", confirmation.why);
            return Err(Error::new(Code::InvalidArgument, message)
                .hint(format!("{typed} --dry-run"))
                .hint(format!("{typed} --yes")));
        }
        let preview = self.call_operation(dry)?;
        if !preview.is_pending() {
            return Ok(Some(preview));
        }
        output::print_stdout(&preview.render(&self.render_options()))?;
        let mut params = params;
        if self.operation.name == "setup" {
            ask_for_toolsets(&mut params);
        }
        if output::confirm(&format!("{} [y/N] ", confirmation.question)) {
            self.call_operation(params).map(Some)
        } else {
            Ok(None)
        }
    }

    pub(crate) fn set_flag(&mut self, name: &str) {
        if let Ok(params) = &mut self.params {
            params.insert(name.to_string(), json!(true));
        }
    }

    /// The name of the source tree that the operation is about.
    pub(crate) fn tree_name(&self) -> String {
        let root = self.params.as_ref().ok().and_then(|params| params.get("root")?.as_str());
        let path = self.service.cwd.join(root.unwrap_or_default());
        let name = path.components().next_back().map(|name| name.as_os_str().to_string_lossy().into_owned());
        name.unwrap_or_default()
    }

    pub(crate) fn render_options(&self) -> RenderOptions {
        let home = self.service.places.home.to_string_lossy().into_owned();
        let (width, wrap) = output::stdout_size();
        RenderOptions { clock: self.service.clock, home, width, wrap, colour: self.colour }
    }

    fn format_response(&self, response: &AnyResponse, control: &Control) -> Result<String, Error> {
        // Serialization cannot fail: the types contain only what JSON can represent.
        let json = |value: Result<String, serde_json::Error>| value.unwrap_or_default() + "\n";
        if self.hybrid {
            let envelope = self.service.wrap_response(self.operation, response, control)?;
            return Ok(json(serde_json::to_string(&envelope)));
        }
        if control.alters_records() {
            let mut lines = Vec::new();
            self.service.print_shaped(self.operation, response, control, &mut |line| {
                lines.extend_from_slice(line);
                true
            })?;
            return Ok(String::from_utf8_lossy(&lines).into_owned());
        }
        Ok(match self.format {
            OutputFormat::Text => response.render(&self.render_options()),
            _ => json(serde_json::to_string(response)),
        })
    }

    fn print_response(&self, response: &AnyResponse, control: &Control) -> Exit {
        let pager = environment::pager(&self.service);
        let print = |text: String| output::print_paged(&text, &pager);
        match self.format_response(response, control).and_then(print) {
            Ok(()) => self.note_losses(response.exit()),
            Err(error) => self.report_error(error),
        }
    }
}

/// Reads the recovery phrase from standard input: as an argument, the history of the shell and other programs would have it. A team is
/// asked without any secret, and joined with an invitation, which is none.
fn read_phrase(params: &mut Map<String, Value>) -> Result<(), Error> {
    let is_team = params.contains_key("team");
    let given = params.get("phrase").and_then(Value::as_str).map(str::to_owned);
    match given.as_deref() {
        None if is_team => Ok(()),
        None | Some("-") => {
            params.insert("phrase".to_string(), json!(output::prompt_line("Recovery phrase: ")));
            Ok(())
        }
        Some(invitation) if is_team && invitation.contains('.') => Ok(()),
        Some(_) => {
            let message = "the recovery phrase is read from standard input, not from arguments";
            Err(Error::new(Code::InvalidArgument, message)
                .hint("loci sync join URL, and type it")
                .hint("loci sync join URL < FILE"))
        }
    }
}

/// Asks which tools agents should get, unless that was said or nothing is installed.
fn ask_for_toolsets(params: &mut Map<String, Value>) {
    if params.contains_key("toolsets") || params.get("remove") == Some(&json!(true)) {
        return;
    }
    let typed = output::prompt_line("Toolsets, comma-separated [as shown]: ");
    let names: Vec<&str> = typed.split([',', ' ']).filter(|name| !name.is_empty()).collect();
    if !names.is_empty() {
        params.insert("toolsets".to_string(), json!(names));
    }
}

fn is_dry_run(params: &Map<String, Value>) -> bool {
    params.get("dry_run") == Some(&json!(true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{build_command as root, tests::split_words};
    use api::search::{ChatFound, Intent, Match, SearchConversations, SearchFound, TimeWindow};
    use api::{Request, guidance};
    use record::Stamp;

    /// Parses a command line to an operation and its parameters, or the error message.
    fn parse_line(line: &str) -> Result<(&'static Operation, Map<String, Value>), String> {
        let words = split_words(line);
        let matches = root(words.get(1).map(String::as_str))
            .try_get_matches_from(&words)
            .map_err(|e| format!("{line}: {e}"))?;
        let (name, sub) = matches.subcommand().unwrap();
        let (operation, sub) = find_operation(name, sub).unwrap();
        let clock = Clock::At(Stamp::parse(b"2026-11-15T12:00:00Z"));
        collect_params(operation, sub, clock, Path::new("/srv/here"))
            .map(|p| (operation, p))
            .map_err(|e| e.message)
    }

    fn parse_search(line: &str) -> SearchConversations {
        SearchConversations::read(&parse_line(line).unwrap().1).unwrap()
    }

    #[test]
    fn every_operation_example_parses() {
        for operation in OPERATIONS {
            let (found, params) = parse_line(operation.example).unwrap();
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
            assert_eq!(parse_search(line).intent_query.0, intents, "{line}");
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
                parse_search(&format!("loci search x {short}")),
                parse_search(&format!("loci search x {long}"))
            );
        }
        let window = parse_search("loci search x --since 2026-11-01T00:00:00Z --until 2026-11-02T00:00:00Z")
            .time_window;
        let ms = |text: &str| Some(Stamp::parse(text.as_bytes()).0);
        let (start, end) = (ms("2026-11-01T00:00:00Z"), ms("2026-11-02T00:00:00Z"));
        assert_eq!(window, TimeWindow::Span { start, end });
        assert_eq!(
            parse_line("loci resolve ab").unwrap().1,
            *json!({"chatIdPrefix": "ab", "messageIdPrefix": "ab"}).as_object().unwrap()
        );
        assert_eq!(
            parse_line("loci show a b --no-tools").unwrap().1,
            *json!({"chatIds": ["a", "b"], "includeTools": false}).as_object().unwrap()
        );
        assert_eq!(
            parse_line("loci code context add A.B --minutes 5").unwrap().1,
            *json!({"action": "add", "path": "A.B", "minutes": 5}).as_object().unwrap()
        );
        assert_eq!(
            parse_line("loci forget a --chat-ids b,c").unwrap().1,
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
            assert!(parse_line(line).is_err(), "{line}");
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
            for action in guidance::guidance_for(&request, &found).next_actions {
                let operation = api::operation_named(&action.tool).unwrap();
                let line = operation.command_line(&action.args);
                let (_, params) = parse_line(&line).unwrap();
                if operation.name == "gather_chats" {
                    assert_eq!(params, action.args, "{line}");
                } else {
                    let (parsed, suggested) =
                        (SearchConversations::read(&params), SearchConversations::read(&action.args));
                    assert_eq!(parsed.unwrap(), suggested.unwrap(), "{line}");
                }
            }
        }
    }
}
