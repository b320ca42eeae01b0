//! Which session the beginning of an id means, and what is said where it means several.
//!
//! Does not choose among several, and does not know where the sessions were read.

use api::{Code, Error};
use record::Session;
use std::collections::BTreeMap;

/// Candidates that are named before the rest is only counted.
const NAMED: usize = 10;

/// Sessions by what each is called by.
pub type Called<'a> = BTreeMap<&'a str, &'a Session>;

/// What a conversation is called by: a subagent that has no session of its own by its agent's id.
pub fn own_id(session: &Session) -> &str {
    match (&session.agent_id, &session.parent_session_id) {
        (Some(agent), Some(parent)) if *parent == session.session_id => agent,
        _ => &session.session_id,
    }
}

/// Those whose id begins so; that one alone whose id it is.
pub fn called<'a>(sessions: impl Iterator<Item = &'a Session>, prefix: &str) -> Called<'a> {
    let bare = prefix.strip_prefix("agent-").unwrap_or(prefix);
    let mut called = Called::new();
    for session in sessions {
        let id = own_id(session);
        if id.starts_with(prefix) || (session.agent_id.is_some() && id.starts_with(bare)) {
            called.entry(id).or_insert(session);
        }
    }
    if let Some(exact) = [prefix, bare].into_iter().find(|id| called.contains_key(id)) {
        called.retain(|id, _| *id == exact);
    }
    called
}

/// Several are meant; each is given as it would be typed behind `typed`, with what it is about.
pub fn ambiguous(prefix: &str, called: &Called<'_>, typed: &str) -> Error {
    let message = format!("{} sessions have an id that begins with `{prefix}`", called.len());
    named(Error::new(Code::AmbiguousId, message), called, typed)
}

pub fn named(mut error: Error, sessions: &Called<'_>, typed: &str) -> Error {
    for (id, session) in sessions.iter().take(NAMED) {
        let title = session.title.as_ref().map_or("", |(title, _)| title);
        let title = api::terminal_text::cut(&api::terminal_text::one_line(title), 60);
        let about = format!("{} {title}", session.source);
        error = error.hint(format!("{typed} {id}  # {}", about.trim_end()));
    }
    match more(sessions.len()) {
        Some(more) => error.hint(more),
        None => error,
    }
}

/// The same where only ids are known.
pub fn one_of<'a>(prefix: &str, what: &str, ids: impl Iterator<Item = &'a str>) -> Error {
    let ids: Vec<&str> = ids.collect();
    let message = format!("{} {what} have an id that begins with `{prefix}`", ids.len());
    let listed = ids.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    let error = Error::new(Code::AmbiguousId, message).hint(format!("one of: {listed}"));
    match more(ids.len()) {
        Some(more) => error.hint(more),
        None => error,
    }
}

fn more(all: usize) -> Option<String> {
    let more = all.saturating_sub(NAMED);
    (more > 0).then(|| format!("and {more} more: give more of the id"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_named_is_counted() {
        let ids: Vec<String> = (0..12).map(|at| format!("ab{at:02}")).collect();
        let error = one_of("ab", "sessions", ids.iter().map(String::as_str));
        assert_eq!(error.message, "12 sessions have an id that begins with `ab`");
        assert_eq!(error.hints.last().unwrap(), "and 2 more: give more of the id");
        let error = one_of("ab", "sessions", ids[..10].iter().map(String::as_str));
        assert_eq!(error.hints.len(), 1);
        assert!(error.hints[0].ends_with("ab09"), "{:?}", error.hints);
    }
}
