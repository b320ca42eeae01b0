//! `loci ui` and `loci pick`: gives the browser its operations, its terminal, and notice of changed transcripts.
//!
//! Does not know what the browser shows: that is in `tui`.

use super::{export, resume};
use crate::environment;
use crate::flags::{color_flag, threads_flag, wants_colour};
use crate::output::{self, OutputFormat};
use api::sessions::ListSessions;
use api::{Code, Error, Exit, Handle, Operations, Progress, View, ViewRequest};
use clap::{Arg, ArgAction, ArgMatches, Command};
use render::RenderOptions;
use serde_json::Value;
use service::{Format, Service, WatchedList};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use tui::{Backend, Ending, Notice, Notifier, Purpose, Settings};

pub(crate) const COMMAND: &str = "ui";
pub(crate) const PICK: &str = "pick";

/// 128 and the number of SIGTERM, as shells report it.
const TERMINATED: u8 = 143;

pub(crate) fn build_command() -> Command {
    Command::new(COMMAND)
        .about("Browse sessions, memory, errors and usage in the terminal")
        .arg(words_arg())
        .arg(color_flag())
        .arg(threads_flag())
        .after_help("Press ? in the browser for its keys.\n\nExamples:\n  loci ui\n  loci ui flaky test")
}

pub(crate) fn build_pick_command() -> Command {
    Command::new(PICK)
        .about("Choose a session on a search screen and print its ID")
        .arg(words_arg())
        .arg(
            Arg::new("resume")
                .long("resume")
                .action(ArgAction::SetTrue)
                .conflicts_with("command")
                .help("Resume the session in its agent instead of printing its ID"),
        )
        .arg(
            Arg::new("command")
                .long("command")
                .action(ArgAction::SetTrue)
                .help("Print the command that resumes the session instead of its ID"),
        )
        .arg(color_flag())
        .arg(threads_flag())
        .after_help("The screen is drawn on the terminal of the process, so standard output can be a pipe.\n\nExamples:\n  loci show \"$(loci pick)\"\n  loci pick --resume flaky test")
}

fn words_arg() -> Arg {
    Arg::new("words").value_name("WORDS").num_args(0..).help("What to search for at first")
}

/// Whether there is a person at the terminal, and a history to browse.
pub(crate) fn is_useful() -> bool {
    if output::open_screen().is_none() {
        return false;
    }
    let Ok(matches) = build_command().try_get_matches_from([COMMAND]) else { return false };
    let (service, valid) = environment::build_service(&matches);
    let request = ListSessions { limit: 1, ..ListSessions::default() };
    let list = || Handle::<ListSessions>::handle(&service, &request);
    valid.is_ok() && output::with_progress(&service, list).is_ok_and(|listed| listed.total > 0)
}

pub(crate) fn run(matches: &ArgMatches) -> ExitCode {
    let Some(screen) = output::open_screen() else {
        let error =
            Error::new(Code::InvalidArgument, "the browser needs a terminal for its input and output")
                .hint("loci search WORDS")
                .hint("loci sessions");
        return fail(&error);
    };
    match browse(matches, Purpose::Browse, screen) {
        Ok(Ending::Resume { title, command }) => resume::replace_process(&title, &command).code().into(),
        Ok(Ending::Terminated) => TERMINATED.into(),
        Ok(Ending::Quit | Ending::Chosen { .. }) => ExitCode::SUCCESS,
        Err(error) => fail(&error),
    }
}

pub(crate) fn run_pick(matches: &ArgMatches) -> ExitCode {
    let Some(screen) = output::open_own_terminal() else {
        let error = Error::new(Code::InvalidArgument, "choosing a session needs a terminal")
            .hint("loci search WORDS --json")
            .hint("loci resume --print WORDS");
        return fail(&error);
    };
    match browse(matches, Purpose::Pick, screen) {
        Ok(Ending::Chosen { id, resume }) => finish_pick(matches, &id, resume),
        Ok(Ending::Resume { title, command }) => resume::replace_process(&title, &command).code().into(),
        Ok(Ending::Terminated) => TERMINATED.into(),
        Ok(Ending::Quit) => Exit::Nothing.code().into(),
        Err(error) => fail(&error),
    }
}

fn finish_pick(matches: &ArgMatches, id: &str, resume: Option<String>) -> ExitCode {
    let wants_command = matches.get_flag("command") || matches.get_flag("resume");
    let printed = match resume {
        None if wants_command => {
            let message = "this session cannot be resumed by its agent";
            return fail(&Error::new(Code::SessionNotFound, message).hint(format!("loci show {id}")));
        }
        Some(command) if matches.get_flag("resume") => {
            return resume::replace_process(id, &command).code().into();
        }
        Some(command) if wants_command => command,
        _ => id.to_string(),
    };
    match output::print_stdout(&format!("{printed}\n")) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error),
    }
}

fn fail(error: &Error) -> ExitCode {
    output::report_error(OutputFormat::Text, error).code().into()
}

fn browse(matches: &ArgMatches, purpose: Purpose, screen: File) -> Result<Ending, Error> {
    let (mut service, valid) = environment::build_service(matches);
    valid?;
    let watched = Arc::new(WatchedList::default());
    service.watched = Some(Arc::clone(&watched));
    let service = Arc::new(service);
    let backend: Arc<dyn Backend> = Arc::new(LocalBackend(Arc::clone(&service)));
    let words: Vec<&str> =
        matches.get_many::<String>("words").into_iter().flatten().map(String::as_str).collect();
    let settings = Settings {
        purpose,
        words: words.join(" "),
        options: display_options(&service, matches),
        output: screen,
    };
    let ending = tui::browse(&backend, settings, |notifier| watch(service, watched, notifier));
    ending.map_err(|error| Error::new(Code::InvalidArgument, error.to_string()).hint("loci sessions"))
}

fn display_options(service: &Service, matches: &ArgMatches) -> RenderOptions {
    let home = service.places.home.to_string_lossy().into_owned();
    let no_color = service::env::text_var(&service.places, "NO_COLOR").is_some();
    let colour = wants_colour(matches, no_color, true);
    RenderOptions { colour, ..RenderOptions::plain(service.clock, &home) }
}

/// Without notices the browser still works: `R` reads again.
fn watch(service: Arc<Service>, watched: Arc<WatchedList>, notifier: Notifier) {
    let signals = notifier.clone();
    let _ = daemon::watch_signals(move || {
        signals.send(Notice::Terminate);
    });
    let _ = daemon::watch_folders(
        move || service.history_folders(),
        move || {
            watched.mark_changed();
            notifier.send(Notice::HistoryChanged)
        },
    );
}

/// Answers requests in this process.
struct LocalBackend(Arc<Service>);

impl Backend for LocalBackend {
    fn operations(&self) -> &dyn Operations {
        &*self.0
    }

    fn read_view(&self, view: &'static View, request: &ViewRequest) -> Result<Vec<Value>, Error> {
        let mut records = Vec::new();
        let mut take = |line: &[u8]| {
            records.extend(serde_json::from_slice::<Value>(line).ok());
            true
        };
        self.0.run_view(view, request, Format::Jsonl, &mut take)?;
        Ok(records)
    }

    fn export_session(&self, id: &str, path: &Path) -> Result<PathBuf, Error> {
        let session = export::read_session(&self.0, id.to_string(), true)?;
        let format = path.extension().and_then(|ending| ending.to_str());
        let document = export::format_document(&self.0, format, &session);
        let path = self.0.cwd.join(path);
        write_new_file(&path, &document)?;
        Ok(path)
    }

    fn progress(&self) -> &Progress {
        &self.0.progress
    }
}

/// Never replaces a file: the name may have been typed in a hurry.
fn write_new_file(path: &Path, document: &str) -> Result<(), Error> {
    let failed = |error: std::io::Error| Error::new(Code::ReadError, format!("{}: {error}", path.display()));
    let mut file = File::options().write(true).create_new(true).open(path).map_err(failed)?;
    file.write_all(document.as_bytes()).map_err(failed)
}
