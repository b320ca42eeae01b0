//! `loci resume`: continues an earlier session with the agent's own command.
//!
//! Does not know the agents' commands: sessions carry theirs.

use crate::flags::threads_flag;
use crate::{environment, output};
use api::gather_chats::{GatherChats, Gathered};
use api::guidance::confidence_word;
use api::resume::needs_of;
use api::search::{Intent, SearchConversations};
use api::sessions::{ListSessions, SessionLine};
use api::terminal_text::{one_line, short_id, truncate_width};
use api::{Code, Error, Exit, Handle};
use clap::{Arg, ArgAction, ArgMatches, Command};
use render::format::count_of;
use service::Service;
use std::path::Path;

pub(crate) const COMMAND: &str = "resume";

/// Sessions offered when none is named.
const OFFERED: u64 = 10;

pub(crate) fn build_command() -> Command {
    Command::new(COMMAND)
        .about("Continue an earlier session in its agent")
        .arg(
            Arg::new("words")
                .value_name("ID|WORDS")
                .num_args(0..)
                .help("The session: an ID, a prefix of one, `last`, or words to search for [default: choose from a list]"),
        )
        .arg(
            Arg::new("print")
                .long("print")
                .action(ArgAction::SetTrue)
                .help("Print the command instead of running it; the default without a terminal"),
        )
        .arg(threads_flag())
        .after_help("Examples:\n  loci resume last\n  loci resume the flaky upload test\n  eval \"$(loci resume 975e66ab --print)\"")
}

/// A session that can be resumed.
struct Resumable {
    title: String,
    command: String,
}

pub(crate) fn run(matches: &ArgMatches) -> Exit {
    let (service, valid) = environment::build_service(matches);
    let words: Vec<String> = matches.get_many::<String>("words").into_iter().flatten().cloned().collect();
    let print_only = matches.get_flag("print") || !output::can_prompt() || !output::stdout_size().1;
    match valid.and_then(|()| find_session(&service, &words, print_only)) {
        Ok(Some(session)) if print_only => finish(output::print_stdout(&format!("{}\n", session.command))),
        Ok(Some(session)) => replace_process(&session.title, &session.command),
        Ok(None) => Exit::Nothing,
        Err(error) => finish(Err(error)),
    }
}

/// Runs the agent in the place of this process. Returns only if it could not be started.
pub(crate) fn replace_process(title: &str, command: &str) -> Exit {
    let title = one_line(title);
    if let Err(error) = check_startable(command) {
        return finish(Err(error));
    }
    output::print_note(&format!("resuming “{title}”: {}", one_line(command)));
    let error = os::processes::replace_process(os::processes::shell_command(command));
    finish(Err(Error::new(Code::ReadError, format!("sh: {error}"))))
}

/// The shell would only say `not found`.
fn check_startable(command: &str) -> Result<(), Error> {
    let needs = needs_of(command);
    let handoff = format!("loci handoff {}", needs.id);
    if let Some(folder) = needs.folder.filter(|folder| !Path::new(folder).is_dir()) {
        return Err(no_session(&format!("the folder of this session is gone: {folder}")).hint(handoff));
    }
    match os::processes::has_program(needs.program) {
        Ok(false) => {
            Err(no_session(&format!("{} is not installed, or not in PATH", needs.program)).hint(handoff))
        }
        // The shell says what it cannot start.
        Ok(true) | Err(_) => Ok(()),
    }
}

fn finish(result: Result<(), Error>) -> Exit {
    match result {
        Ok(()) => Exit::Found,
        Err(error) => output::report_error(output::OutputFormat::Text, &error),
    }
}

/// Returns `None` if the person chose none.
fn find_session(service: &Service, words: &[String], print_only: bool) -> Result<Option<Resumable>, Error> {
    match words {
        [] if print_only => newest_session(service).map(Some),
        [] => choose_session(service),
        [one] if one == "last" => newest_session(service).map(Some),
        [one] if is_id(one) => session_with_id(service, one).map(Some),
        _ => session_about(service, &words.join(" "), print_only),
    }
}

/// Whether the word is an ID or a prefix of one, rather than something to search for.
fn is_id(word: &str) -> bool {
    word.len() >= 6
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
        && word.bytes().any(|byte| byte.is_ascii_digit())
}

/// Newest first: those of the current project, or of all projects if it has none.
fn recent_sessions(service: &Service, limit: u64) -> Result<Vec<SessionLine>, Error> {
    let here = service.cwd.to_string_lossy().into_owned();
    let all = ListSessions { limit, ..ListSessions::default() };
    let of_project = ListSessions { project: Some(here), ..all.clone() };
    let list =
        |request: &ListSessions| Handle::<ListSessions>::handle(service, request).map(|it| it.sessions);
    let nearby = output::with_progress(service, || list(&of_project))?;
    if nearby.is_empty() { list(&all) } else { Ok(nearby) }
}

fn newest_session(service: &Service) -> Result<Resumable, Error> {
    let found = recent_sessions(service, OFFERED)?.into_iter().find_map(to_resumable);
    found.ok_or_else(|| no_session("there is no session to resume"))
}

fn to_resumable(session: SessionLine) -> Option<Resumable> {
    Some(Resumable { title: session.title, command: session.resume? })
}

fn choose_session(service: &Service) -> Result<Option<Resumable>, Error> {
    let offered: Vec<Resumable> =
        recent_sessions(service, OFFERED)?.into_iter().filter_map(to_resumable).collect();
    if offered.is_empty() {
        return Err(no_session("there is no session to resume"));
    }
    Ok(ask_which(offered))
}

fn ask_which(mut offered: Vec<Resumable>) -> Option<Resumable> {
    for (at, session) in offered.iter().enumerate() {
        output::write_stderr(&format!("{:>3}  {}\n", at + 1, one_line(&session.title)));
    }
    let typed = output::prompt_line("Resume which? [1] ");
    let number = if typed.is_empty() { Some(1) } else { typed.parse::<usize>().ok() };
    let index = number.and_then(|number| number.checked_sub(1)).filter(|index| *index < offered.len());
    index.map(|index| offered.swap_remove(index))
}

fn session_with_id(service: &Service, id: &str) -> Result<Resumable, Error> {
    let request = GatherChats { chat_ids: vec![id.to_string()], include_tools: false, all: false };
    let read = output::with_progress(service, || Handle::<GatherChats>::handle(service, &request))?;
    let Gathered::One(session) = read else { return Err(no_session("resume takes one session")) };
    let gone = || match &session.chat.device {
        Some(device) => elsewhere(device, &session.chat.id),
        None => no_session("the agent has deleted this session; it can be read, not resumed")
            .hint(format!("loci show {id}")),
    };
    let command = session.chat.resume.clone().ok_or_else(gone)?;
    Ok(Resumable { title: session.chat.title.clone(), command })
}

/// The session that words mean; the person is asked unless one is sure.
fn session_about(service: &Service, words: &str, print_only: bool) -> Result<Option<Resumable>, Error> {
    let intent_query = Intent(vec![words.to_string()]);
    let request = SearchConversations { intent_query, limit_chats: 5, ..SearchConversations::default() };
    let found = output::with_progress(service, || Handle::<SearchConversations>::handle(service, &request))?;
    let is_sure = confidence_word(found.confidence) == "sure"
        && found.results.first().is_some_and(|first| first.resume.is_some());
    let first = found.results.first().and_then(|one| Some((one.device.clone()?, one.chat_id.clone())));
    let mut offered: Vec<Resumable> = found
        .results
        .into_iter()
        .filter_map(|one| Some(Resumable { title: one.title, command: one.resume? }))
        .collect();
    match (offered.len(), first) {
        (0, Some((device, id))) => Err(elsewhere(&device, &id)),
        (0, None) => Err(no_session(&format!("no session about `{words}` can be resumed"))
            .hint(format!("loci search {words}"))),
        _ if is_sure => Ok(Some(offered.swap_remove(0))),
        _ if print_only => {
            let message = format!("{} may be meant by `{words}`", count_of(offered.len() as u64, "session"));
            let resume = |one: &Resumable| {
                let title = truncate_width(&one_line(&one.title), 60);
                format!("loci resume {}  # {title}", short_id(needs_of(&one.command).id))
            };
            Err(offered.iter().map(resume).fold(no_session(&message), Error::hint))
        }
        _ => Ok(ask_which(offered)),
    }
}

fn elsewhere(device: &str, id: &str) -> Error {
    no_session(&format!("this session took place on another device, `{device}`, and cannot be resumed here"))
        .hint(format!("loci handoff {id}"))
}

fn no_session(message: &str) -> Error {
    Error::new(Code::SessionNotFound, message)
}
