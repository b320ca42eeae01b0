//! Operations that are also a page for people: `loci report` and `loci code map`, in a file or on standard output.
//!
//! Does not know how a page is drawn: that is in `report`.

use super::{export, operation};
use crate::flags::{FILE, HTML};
use crate::output::{self, OutputFormat};
use api::code::CodeMap;
use api::report::ReportRequest;
use api::{AnyResponse, Code, Error, Exit, Operation, Request};
use clap::ArgMatches;
use operation::Invocation;
use render::Render as _;
use std::path::Path;

/// An operation with a page.
pub(crate) struct Page {
    operation: &'static Operation,
    /// A parameter that the page needs, beyond those that were given.
    needs: Option<&'static str>,
    /// `None` for a response of another operation.
    draw: fn(&Invocation, &AnyResponse) -> Option<String>,
    /// A command that writes the page.
    example: &'static str,
}

const PAGES: &[Page] = &[
    Page {
        operation: ReportRequest::OPERATION,
        needs: None,
        draw: draw_report,
        example: "loci report --file report.html",
    },
    Page {
        operation: CodeMap::OPERATION,
        needs: Some("packages"),
        draw: draw_code_map,
        example: "loci code map --file map.html",
    },
];

pub(crate) fn find_page(operation: &Operation) -> Option<&'static Page> {
    PAGES.iter().find(|page| page.operation.name == operation.name)
}

pub(crate) fn run(page: &Page, matches: &ArgMatches) -> Exit {
    let mut invocation = operation::build_invocation(page.operation, matches);
    let format = matches.get_one::<String>("output").map(String::as_str);
    let format = match (matches.get_flag(HTML), matches.get_flag("json")) {
        (true, _) => Some(HTML),
        (_, true) => Some("json"),
        _ => format,
    };
    let file = matches.get_one::<String>(FILE).map(Path::new);
    let form = match (format, file) {
        (None | Some(HTML), Some(_)) | (Some(HTML), None) => Form::Page,
        (Some("json"), Some(_)) => Form::Json,
        (_, Some(_)) => Form::Text,
        (_, None) => return invocation.run(),
    };
    if form == Form::Page {
        page.needs.iter().for_each(|name| invocation.set_flag(name));
    }
    write_document(page, &invocation, file, form)
        .unwrap_or_else(|error| output::report_error(OutputFormat::Text, &error))
}

#[derive(Clone, Copy, PartialEq)]
enum Form {
    Page,
    Json,
    Text,
}

fn write_document(
    page: &Page,
    invocation: &Invocation,
    path: Option<&Path>,
    form: Form,
) -> Result<Exit, Error> {
    if path.is_none() && output::stdout_size().1 {
        let error = Error::new(Code::InvalidArgument, "standard output is a terminal, which shows no pages");
        return Err(error.hint(page.example).hint(format!("loci {} -o text", page.operation.command)));
    }
    let Some((response, _)) = invocation.request_response()? else { return Ok(Exit::Nothing) };
    let document = match form {
        Form::Page => (page.draw)(invocation, &response),
        Form::Json => Some(to_json(&response)),
        Form::Text => Some(response.render(&plain_options(invocation))),
    };
    let document = document.ok_or_else(|| {
        Error::new(Code::InternalError, format!("`{}` has another response", page.operation.name))
    })?;
    match path {
        Some(path) => export::write_file(path, &document)?,
        None => output::print_stdout(&document)?,
    }
    Ok(invocation.note_losses(response.exit()))
}

fn to_json(response: &AnyResponse) -> String {
    // Serialization cannot fail: the types contain only what JSON can represent.
    serde_json::to_string_pretty(response).unwrap_or_default() + "\n"
}

fn draw_report(invocation: &Invocation, response: &AnyResponse) -> Option<String> {
    let AnyResponse::ReportRequest(report) = response else { return None };
    Some(report::to_html(report, &plain_options(invocation)))
}

fn draw_code_map(invocation: &Invocation, response: &AnyResponse) -> Option<String> {
    let AnyResponse::CodeMap(map) = response else { return None };
    Some(report::map_to_html(map, &invocation.tree_name()))
}

/// Without colours, whatever the terminal can do: a file has none.
fn plain_options(invocation: &Invocation) -> render::RenderOptions {
    let options = invocation.render_options();
    render::RenderOptions::plain(options.clock, &options.home)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_with_the_flags_of_a_page_have_one() {
        let names: Vec<&str> = PAGES.iter().map(|page| page.operation.name).collect();
        let marked: Vec<&str> = api::OPERATIONS.iter().filter(|one| one.page).map(|one| one.name).collect();
        assert_eq!(names, marked);
    }
}
