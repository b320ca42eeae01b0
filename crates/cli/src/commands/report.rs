//! `loci report`: an operation as any other for its numbers, and a page for people, in a file or on standard output.
//!
//! Does not know how the page is drawn: that is in `report`.

use super::{export, operation};
use crate::flags::HYBRID;
use crate::output::{self, OutputFormat};
use api::report::Report;
use api::{AnyResponse, Code, Error, Exit, Operation, Response};
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgMatches, Command};
use operation::Invocation;
use std::path::Path;

pub(crate) const COMMAND: &str = api::report::OPERATION.command;

pub(crate) fn build_command(operation: &'static Operation) -> Command {
    let formats =
        [PossibleValue::new("html"), PossibleValue::new("json").alias("jsonl"), PossibleValue::new("text")];
    let file = Arg::new("file").long("file").value_name("PATH").conflicts_with(HYBRID);
    operation::build_command(operation)
        .mut_arg("output", |output| {
            output
                .value_parser(PossibleValuesParser::new(formats))
                .help("Output format [default: html to a file; text on a terminal, json elsewhere]")
        })
        .arg(file.help("Write to this file instead of standard output: a page, unless -o says otherwise"))
}

pub(crate) fn run(matches: &ArgMatches) -> Exit {
    let invocation = operation::build_invocation(&api::report::OPERATION, matches);
    let format = matches.get_one::<String>("output").map(String::as_str);
    let format = if matches.get_flag("json") { Some("json") } else { format };
    let file = matches.get_one::<String>("file").map(Path::new);
    match (format, file) {
        (None | Some("html"), Some(path)) => write_or_fail(&invocation, Some(path), draw_page),
        (Some("html"), None) => write_or_fail(&invocation, None, draw_page),
        (Some("json"), Some(path)) => write_or_fail(&invocation, Some(path), write_json),
        (_, Some(path)) => write_or_fail(&invocation, Some(path), write_text),
        (_, None) => invocation.run(),
    }
}

type Draw = fn(&Invocation, &Report) -> String;

fn write_or_fail(invocation: &Invocation, path: Option<&Path>, draw: Draw) -> Exit {
    write_document(invocation, path, draw)
        .unwrap_or_else(|error| output::report_error(OutputFormat::Text, &error))
}

fn write_document(invocation: &Invocation, path: Option<&Path>, draw: Draw) -> Result<Exit, Error> {
    if path.is_none() && output::stdout_size().1 {
        return Err(Error::new(Code::InvalidArgument, "standard output is a terminal, which shows no pages")
            .hint("loci report --file report.html")
            .hint("loci report -o text"));
    }
    let Some((AnyResponse::ReportRequest(report), _)) = invocation.request_response()? else {
        return Err(Error::new(Code::InternalError, "report has another response"));
    };
    let document = draw(invocation, &report);
    match path {
        Some(path) => export::write_file(path, &document)?,
        None => output::print_stdout(&document)?,
    }
    Ok(report.exit())
}

fn draw_page(invocation: &Invocation, report: &Report) -> String {
    report::to_html(report, &plain_options(invocation))
}

fn write_text(invocation: &Invocation, report: &Report) -> String {
    render::Render::render(report, &plain_options(invocation))
}

fn write_json(_: &Invocation, report: &Report) -> String {
    // Serialization cannot fail: the types contain only what JSON can represent.
    serde_json::to_string_pretty(report).unwrap_or_default() + "\n"
}

/// Without colours, whatever the terminal can do: a file has none.
fn plain_options(invocation: &Invocation) -> render::RenderOptions {
    let options = invocation.render_options();
    render::RenderOptions::plain(options.clock, &options.home)
}
