//! The commands that are views: one flag per parameter, records on stdout.
//!
//! Does not know how a view is computed.

use crate::daemon_client::{self, ViewCall};
use crate::environment;
use crate::flags::{
    HYBRID, color_flag, flag_value, hybrid_flag, json_flag, threads_flag, unmasked_flag, wants_colour,
    with_param_type,
};
use crate::output::{self, OutputFormat, StdoutWriter, format_count, print_note, with_progress};
use crate::view_text::TextFormatter;
use api::{Exit, Param, VIEWS, View, ViewRequest};
use clap::{Arg, ArgMatches, Command, builder::PossibleValue, builder::PossibleValuesParser};
use render::RenderOptions;
use serde_json::{Map, Value};
use service::{Format, OutcomeSummary, Service, enclosing_project};
use std::io::Write;
use std::path::PathBuf;

// ---- command

pub(crate) fn group_command(bare: Command, group: &str) -> Command {
    let views = VIEWS.iter().filter(|v| v.group == group);
    let examples: Vec<&str> = views.clone().map(|v| v.example).take(3).collect();
    bare.after_help(format!("Examples:\n  {}", examples.join("\n  ")))
        .arg_required_else_help(true)
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .subcommands(views.map(view_command))
}

pub(crate) fn view_command(view: &'static View) -> Command {
    let mut command = Command::new(view.name).about(view.about).after_help(help_footer(view));
    for param in view.params().filter_map(ViewRequest::param_named) {
        command = command.arg(param_flag(view, param));
    }
    let jsonl = PossibleValue::new("jsonl").alias("json");
    let output = PossibleValuesParser::new([jsonl, PossibleValue::new("tsv"), PossibleValue::new("text")]);
    command
        .arg(
            Arg::new("output")
                .short('o')
                .long("output")
                .value_name("FORMAT")
                .value_parser(output)
                .help("Output format [default: text on a terminal, jsonl elsewhere]"),
        )
        .arg(json_flag())
        .arg(color_flag())
        .args(["query", "analyze"].contains(&view.group).then(unmasked_flag))
        .arg(hybrid_flag())
        .arg(threads_flag())
}

fn help_footer(view: &View) -> String {
    let jq = format!("\n\njq: {}", service::JQ_RULE);
    format!("Order: {}\nFields: {}\n\nExample:\n  {}{jq}", view.order, view.fields.join(", "), view.example)
}

fn param_flag(view: &View, param: &'static Param) -> Arg {
    let mut about = param.about.to_string();
    if param.name == "by" {
        about = format!("{about}: {}", view.by.join(", "));
    }
    with_param_type(Arg::new(param.name).long(api::params::flag_name(param.name)).help(about), param)
}

// ---- request

/// A view with its parameters.
pub(crate) struct ViewInvocation {
    view: &'static View,
    /// As given on the command line; `request` is the parsed form.
    params: Map<String, Value>,
    request: Result<ViewRequest, api::Error>,
    service: Service,
    format: OutputFormat,
    /// Print the envelope an agent gets.
    hybrid: bool,
    colour: bool,
}

pub(crate) fn build_invocation(view: &'static View, matches: &ArgMatches) -> ViewInvocation {
    let (service, valid) = environment::build_service(matches);
    let format = match matches.get_one::<String>("output") {
        Some(word) => OutputFormat::from_word(word),
        None if matches.get_flag("json") => OutputFormat::Jsonl,
        None => OutputFormat::default(),
    };
    let (hybrid, params) = (matches.get_flag(HYBRID), collect_params(view, matches));
    let request = valid.and_then(|()| ViewRequest::new(view, &params));
    let no_color = service::env::text_var(&service.places, "NO_COLOR").is_some();
    let colour = wants_colour(matches, no_color, output::stdout_size().1);
    ViewInvocation { view, params, request, service, format, hybrid, colour }
}

fn collect_params(view: &View, matches: &ArgMatches) -> Map<String, Value> {
    let mut map = Map::new();
    for param in view.params().filter_map(ViewRequest::param_named) {
        map.extend(flag_value(param, param.name, matches).map(|v| (param.name.to_string(), v)));
    }
    map
}

impl ViewInvocation {
    pub(crate) fn run(&self) -> Exit {
        let mut out = RecordPrinter::new(self.format, self.view);
        if self.format == OutputFormat::Text && !self.hybrid {
            out.to = StdoutWriter::paged(&environment::pager(&self.service));
        }
        match out.print_view(self) {
            Ok(outcome) => out.finish_with_notes(self, &outcome),
            Err(error) => output::report_error(self.format, &error),
        }
    }
}

// ---- records

struct RecordPrinter {
    format: OutputFormat,
    view: &'static View,
    to: StdoutWriter,
}

impl RecordPrinter {
    fn new(shown: OutputFormat, view: &'static View) -> RecordPrinter {
        RecordPrinter { format: shown, view, to: StdoutWriter::new() }
    }

    fn print_view(&mut self, call: &ViewInvocation) -> Result<OutcomeSummary, api::Error> {
        let request = call.request.as_ref().map_err(Clone::clone)?;
        if call.hybrid {
            return with_progress(&call.service, || print_envelope(call, request));
        }
        with_progress(&call.service, || self.print_records(call, request))
    }

    fn print_records(
        &mut self,
        call: &ViewInvocation,
        request: &api::ViewRequest,
    ) -> Result<OutcomeSummary, api::Error> {
        let (clock, colour) = (call.service.clock, call.colour);
        let mut text = (self.format == OutputFormat::Text)
            .then(|| TextFormatter::new(self.view, request, clock, colour));
        let to = &mut self.to;
        let mut take = |line: &[u8]| match &mut text {
            Some(text) => text.write_record(line, to),
            None => to.write_all(line).is_ok(),
        };
        let query = ViewCall { view: call.view, params: &call.params, tsv: self.format == OutputFormat::Tsv };
        let result = match daemon_client::call_view(&call.service, &query, &mut take) {
            Ok(result) => result,
            Err(printed) => run_locally(call, request, &mut printed.skip_printed(&mut take)),
        };
        let zone = text.as_ref().and_then(TextFormatter::zone_note);
        if let Some(text) = text {
            text.write_table(to);
        }
        // Flush before reporting an error: the error record follows the records found so far.
        let flushed = to.flush();
        to.close();
        let ending = result?;
        if let Some(zone) = zone.filter(|_| output::stdout_size().1) {
            print_note(&zone);
        }
        match self.to.take_failure() {
            Some(e) => Err(api::Error::new(api::Code::ReadError, format!("standard output: {e}"))),
            None => Ok(OutcomeSummary {
                printed: if flushed.is_ok() { ending.printed } else { ending.printed.max(1) },
                ..ending
            }),
        }
    }

    /// How many records there are, if not all were printed.
    fn total_note(&self, call: &ViewInvocation, ending: &OutcomeSummary) -> Option<String> {
        // Without a limit, whoever reads the records has closed the pipe.
        let is_plain = call
            .request
            .as_ref()
            .is_ok_and(|request| request.limit.is_some() && !request.output_controls().alters_records());
        let total = ending.total.filter(|total| is_plain && 0 < ending.printed && ending.printed < *total)?;
        (self.format == OutputFormat::Text)
            .then(|| format!("{} of {}", ending.printed, format_count(total as usize, "record")))
    }

    /// Which project was read, if nobody has named one: much of a history may lie elsewhere.
    fn scope_note(&self, call: &ViewInvocation) -> Option<String> {
        let request = call.request.as_ref().ok()?;
        let is_chosen = request.project.is_some() || request.all_projects || request.session.is_some();
        let is_read =
            self.format == OutputFormat::Text && output::stdout_size().1 && self.view.name != "sources";
        let home = call.service.places.home.to_string_lossy().into_owned();
        let options = RenderOptions::plain(call.service.clock, &home);
        let project = enclosing_project(&call.service.cwd).to_string_lossy().into_owned();
        (is_read && !is_chosen)
            .then(|| format!("project {} · -a for all projects", options.display_path(&project)))
    }

    /// Prints notes for people and returns the exit code.
    fn finish_with_notes(&mut self, call: &ViewInvocation, ending: &OutcomeSummary) -> Exit {
        if ending.lost > 0 && self.view.name != "sources" {
            print_note(&format_lost_note(ending));
        }
        if let Some(note) = self.total_note(call, ending) {
            print_note(&note);
        }
        if let Some(scope) = self.scope_note(call) {
            print_note(&scope);
        }
        let empty = ending.printed == 0 || (self.view.name == "sources" && ending.files == 0);
        if empty {
            print_note(&explain_empty(call, ending));
        }
        let exit = match (ending.lost > 0, empty) {
            (true, _) => Exit::Incomplete,
            (_, true) => Exit::Nothing,
            _ => Exit::Found,
        };
        output::note_losses(call.service.losses_of_view(self.view), exit)
    }
}

/// Prints the envelope an agent gets.
fn print_envelope(call: &ViewInvocation, request: &api::ViewRequest) -> Result<OutcomeSummary, api::Error> {
    let result =
        daemon_client::call_view_envelope(&call.service, call.view, &call.params).unwrap_or_else(|| {
            let (envelope, outcome) =
                call.service.run_view_enveloped(call.view, request.clone(), &call.view.file_stem())?;
            Ok((envelope, outcome.summarize()))
        });
    let (envelope, ending) = result?;
    output::print_stdout(&(serde_json::to_string(&envelope).unwrap_or_default() + "\n"))?;
    Ok(ending)
}

/// Runs the view in this process: all of it, or the rest after the daemon disconnected.
fn run_locally(
    call: &ViewInvocation,
    request: &api::ViewRequest,
    take: &mut dyn FnMut(&[u8]) -> bool,
) -> Result<OutcomeSummary, api::Error> {
    let format = if call.format == OutputFormat::Tsv { Format::Tsv } else { Format::Jsonl };
    call.service.run_view(call.view, request, format, take).map(|outcome| outcome.summarize())
}

fn format_lost_note(ending: &OutcomeSummary) -> String {
    let (places, files) = (format_count(ending.lost, "place"), format_count(ending.lost_files, "file"));
    format!("{places} in {files} could not be read; `loci sources --problems` lists them")
}

/// Explains an empty result: what was searched, and what would widen the search.
fn explain_empty(call: &ViewInvocation, ending: &OutcomeSummary) -> String {
    if call.request.as_ref().is_ok_and(|request| request.problems) && ending.files > 0 {
        return format!("no problems: {} read completely", format_count(ending.files as usize, "transcript"));
    }
    if ending.looked.is_empty() {
        return "no place to search: HOME is not set".to_string();
    }
    if ending.files == 0 && ending.sessions == 0 {
        // With thirty agents, a list of all places is a wall in front of somebody who has none of them.
        let is_listed = |there: bool| there || call.view.name == "sources";
        let places: Vec<String> = ending
            .looked
            .iter()
            .filter(|(_, _, there)| is_listed(*there))
            .map(|(name, path, there)| {
                format!(
                    "  {name:<12} {}{}",
                    path.display(),
                    if *there { " (exists, no sessions of this project)" } else { "" }
                )
            })
            .collect();
        let project = ending.project.as_ref().filter(|_| ending.looked.iter().any(|l| l.2));
        let head = match project {
            Some(project) => format!(
                "no sessions found for {}; use --all-projects to search every project. Searched:",
                project.display()
            ),
            None => "no agent history found. Searched:".to_string(),
        };
        let lines = match absent_agents(&ending.looked).filter(|_| !is_listed(false)) {
            Some(absent) => [places, vec![format!("  {absent}")]].concat(),
            None => places,
        };
        return format!("{head}\n{}", lines.join("\n"));
    }
    let scope = match &ending.project {
        Some(project) => format!(" in {} (--all-projects covers everything)", project.display()),
        None => String::new(),
    };
    format!("nothing found for `loci {}`{scope}", call.view.title())
}

/// Names the agents of which no place exists, on one line.
fn absent_agents(looked: &[(String, PathBuf, bool)]) -> Option<String> {
    let is_present = |name: &String| looked.iter().any(|place| place.2 && place.0 == *name);
    let mut absent: Vec<&str> =
        looked.iter().map(|place| &place.0).filter(|name| !is_present(name)).map(String::as_str).collect();
    absent.dedup();
    (!absent.is_empty()).then(|| format!("nothing of {}; `loci sources` lists the places", absent.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{build_command, tests::split_words};

    /// Every example in the help is a valid command line.
    #[test]
    fn every_view_example_parses() {
        for view in VIEWS {
            let words = split_words(view.example);
            let matches = build_command(words.get(1).map(String::as_str))
                .try_get_matches_from(&words)
                .unwrap_or_else(|e| panic!("{}: {e}", view.example));
            let (_, sub) = matches.subcommand().unwrap();
            let sub = sub.subcommand().map_or(sub, |(_, deeper)| deeper);
            ViewRequest::new(view, &collect_params(view, sub)).unwrap();
        }
        assert_eq!(ViewRequest::PARAMS.iter().filter(|p| p.about.is_empty()).count(), 0);
    }
}
