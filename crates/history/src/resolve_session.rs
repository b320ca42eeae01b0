//! Resolves a session ID prefix, and builds the error for an ambiguous one.
//!
//! Does not choose among several matches, and does not know where the sessions were read.

use api::{Code, Error};
use record::Session;
use std::collections::BTreeMap;

/// Candidates listed in an error; the rest is only counted.
const MAX_LISTED: usize = 10;

/// The word for the newest session.
pub const LAST: &str = "last";

/// The session ID in the path of a transcript: the file's name, or the UUID at its end, which is where Codex has it.
/// Anything that is not such a path is returned as it is.
pub fn id_in_path(typed: &str) -> &str {
    let name = typed.rsplit('/').next().unwrap_or(typed);
    let Some(stem) = name.strip_suffix(".zst").unwrap_or(name).strip_suffix(".jsonl") else { return typed };
    let tail = stem.len().checked_sub(UUID_LENGTH).and_then(|at| stem.get(at..)).filter(|tail| is_uuid(tail));
    tail.unwrap_or(stem)
}

const UUID_LENGTH: usize = 36;

fn is_uuid(text: &str) -> bool {
    let is_dash = |at: usize| matches!(at, 8 | 13 | 18 | 23);
    text.len() == UUID_LENGTH
        && text
            .bytes()
            .enumerate()
            .all(|(at, byte)| if is_dash(at) { byte == b'-' } else { byte.is_ascii_hexdigit() })
}

/// Sessions by their own ID.
pub type SessionsById<'a> = BTreeMap<&'a str, &'a Session>;

/// The ID that identifies a session: for a subagent without a session of its own, its agent ID.
pub fn own_id(session: &Session) -> &str {
    match (&session.agent_id, &session.parent_session_id) {
        (Some(agent), Some(parent)) if *parent == session.session_id => agent,
        _ => &session.session_id,
    }
}

/// The sessions whose ID starts with the prefix; only the exact match if there is one.
pub fn match_prefix<'a>(sessions: impl Iterator<Item = &'a Session>, prefix: &str) -> SessionsById<'a> {
    let bare = prefix.strip_prefix("agent-").unwrap_or(prefix);
    let mut called = SessionsById::new();
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

/// The error for an ambiguous prefix. Each hint is the command `typed` with one full ID, and the session's title.
pub fn ambiguous_prefix(prefix: &str, called: &SessionsById<'_>, typed: &str) -> Error {
    let message = format!("session prefix `{prefix}` is ambiguous ({} matches)", called.len());
    with_session_hints(Error::new(Code::AmbiguousId, message), called, typed)
}

/// Adds a hint for each session, up to the limit.
pub fn with_session_hints(mut error: Error, sessions: &SessionsById<'_>, typed: &str) -> Error {
    for (id, session) in sessions.iter().take(MAX_LISTED) {
        let title = session.title.as_ref().map_or("", |(title, _)| title);
        let title = api::terminal_text::truncate_width(&api::terminal_text::one_line(title), 60);
        let about = format!("{} {title}", session.source);
        error = error.hint(format!("{typed} {id}  # {}", about.trim_end()));
    }
    match remaining_hint(sessions.len()) {
        Some(more) => error.hint(more),
        None => error,
    }
}

/// The same error if only IDs are known. `what` is a plural noun such as `sessions`.
pub fn ambiguous_id<'a>(prefix: &str, what: &str, ids: impl Iterator<Item = &'a str>) -> Error {
    let ids: Vec<&str> = ids.collect();
    let message = format!("prefix `{prefix}` is ambiguous ({} {what} match)", ids.len());
    let listed = ids.iter().take(MAX_LISTED).copied().collect::<Vec<_>>().join(", ");
    let error = Error::new(Code::AmbiguousId, message).hint(format!("one of: {listed}"));
    match remaining_hint(ids.len()) {
        Some(more) => error.hint(more),
        None => error,
    }
}

fn remaining_hint(all: usize) -> Option<String> {
    let more = all.saturating_sub(MAX_LISTED);
    (more > 0).then(|| format!("and {more} more: use a longer prefix"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_transcript_names_its_session() {
        let id = "7f5311d9-e02a-458b-a913-523723c8103a";
        for path in [
            format!("/home/u/.claude/projects/-src/{id}.jsonl"),
            format!("rollout-2026-11-01T10-00-00-{id}.jsonl"),
            format!("../rollout-2026-11-01T10-00-00-{id}.jsonl.zst"),
            id.to_string(),
        ] {
            assert_eq!(id_in_path(&path), id, "{path}");
        }
        assert_eq!(id_in_path("agent-a1b2.jsonl"), "agent-a1b2");
        assert_eq!(id_in_path("a1b2"), "a1b2");
        assert_eq!(id_in_path("a/b"), "a/b");
    }

    #[test]
    fn ids_beyond_the_limit_are_counted() {
        let ids: Vec<String> = (0..12).map(|at| format!("ab{at:02}")).collect();
        let error = ambiguous_id("ab", "sessions", ids.iter().map(String::as_str));
        assert_eq!(error.message, "prefix `ab` is ambiguous (12 sessions match)");
        assert_eq!(error.hints.last().unwrap(), "and 2 more: use a longer prefix");
        let error = ambiguous_id("ab", "sessions", ids[..10].iter().map(String::as_str));
        assert_eq!(error.hints.len(), 1);
        assert!(error.hints[0].ends_with("ab09"), "{:?}", error.hints);
    }
}
