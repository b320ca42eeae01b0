//! `loci export`: writes a session as a document to keep or to send: Markdown, HTML or JSON, secrets masked.
//!
//! Does not know how the document is laid out: that is in `render`.

use crate::flags::threads_flag;
use crate::{environment, output};
use api::gather_chats::{GatherChats, Gathered, OneChat};
use api::{Code, Error, Exit, Handle, Request};
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgAction, ArgMatches, Command};
use render::{RenderOptions, export};
use service::Service;
use std::path::Path;

pub(crate) const COMMAND: &str = "export";

pub(crate) fn build_command() -> Command {
    Command::new(COMMAND)
        .about("Write a session as a document: Markdown, HTML or JSON")
        .arg(
            Arg::new("session")
                .value_name("ID")
                .default_value("last")
                .help("The session: an ID, a prefix of one, the path of a transcript, or `last`"),
        )
        .arg(
            Arg::new("output")
                .short('o')
                .long("output")
                .value_name("FORMAT")
                .default_value("md")
                .value_parser(PossibleValuesParser::new([PossibleValue::new("md").alias("markdown"), "html".into(), "json".into()]))
                .help("The form of the document; html is one file that needs no network"),
        )
        .arg(Arg::new("file").long("file").value_name("PATH").help("Write to this file instead of standard output"))
        .arg(
            Arg::new("no-tools")
                .long("no-tools")
                .action(ArgAction::SetTrue)
                .help("Leave out tool calls and their results"),
        )
        .arg(threads_flag())
        .after_help("Secrets are masked as everywhere else.\n\nExamples:\n  loci export last -o html --file session.html\n  loci export 975e66ab | less")
}

pub(crate) fn run(matches: &ArgMatches) -> Exit {
    let (service, valid) = environment::build_service(matches);
    match valid.and_then(|()| write_document(&service, matches)) {
        Ok(exit) => exit,
        Err(error) => output::report_error(output::OutputFormat::Text, &error),
    }
}

fn write_document(service: &Service, matches: &ArgMatches) -> Result<Exit, Error> {
    let id = matches.get_one::<String>("session").cloned().unwrap_or_default();
    let with_tools = !matches.get_flag("no-tools");
    let session = output::with_progress(service, || read_session(service, id, with_tools))?;
    let format = matches.get_one::<String>("output").map(String::as_str);
    let document = format_document(service, format, &session);
    match matches.get_one::<String>("file") {
        Some(path) => write_file(Path::new(path), &document)?,
        None => output::print_stdout(&document)?,
    }
    let exit = if session.partial { Exit::Incomplete } else { Exit::Found };
    Ok(output::note_losses(service.losses_of_operation(GatherChats::OPERATION), exit))
}

pub(crate) fn read_session(service: &Service, id: String, with_tools: bool) -> Result<Box<OneChat>, Error> {
    let request = GatherChats { chat_ids: vec![id], include_tools: with_tools, all: false };
    match Handle::<GatherChats>::handle(service, &request)? {
        // A document is often given to an agent.
        Gathered::One(session) => Ok(service::defuse_answer(session)),
        Gathered::Several(_) => Err(Error::new(Code::InvalidArgument, "export takes one session")),
    }
}

/// The session as HTML, as JSON, or otherwise as Markdown.
pub(crate) fn format_document(service: &Service, format: Option<&str>, session: &OneChat) -> String {
    let home = service.places.home.to_string_lossy().into_owned();
    let options = RenderOptions::plain(service.clock, &home);
    match format {
        Some("html") => export::to_html(session, &options),
        Some("json") => serde_json::to_string_pretty(session).unwrap_or_default() + "\n",
        _ => export::to_markdown(session, &options),
    }
}

pub(crate) fn write_file(path: &Path, document: &str) -> Result<(), Error> {
    let failed = |error: std::io::Error| Error::new(Code::ReadError, format!("{}: {error}", path.display()));
    std::fs::write(path, document).map_err(failed)?;
    output::print_note(&format!("wrote {} ({} bytes)", path.display(), document.len()));
    Ok(())
}
