//! What makes two entries of copies the same: session, ID and content. Positions, turns and token counts do not count, because a
//! transcript that lost a line has others.
//!
//! Does not know which copy an entry is in.

use super::entry::{CallLine, MessageLine, RowLine, SessionLine};
use super::table::{fnv1a_64, fnv1a_64_of};

/// The hashes of an entry by which it is found in another copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Content {
    /// Of session, ID and record. Agents that give no IDs get one from the position, which counts in no hash but `identity`.
    pub(super) print: u64,
    /// Of session and ID: two states of one entry share it.
    pub(super) identity: u64,
}

impl Content {
    /// `session` is the hash of the entry's session, see [`session_print`].
    pub(super) fn of(head: &RowLine<'_>, session: &SessionPrint<'_>, record: &[u8]) -> Content {
        let (id, rest) = split_id(record);
        let (kind, session_hash) = (head.row.as_bytes(), session.hash.to_le_bytes());
        let identity = if id.is_empty() { head.key.to_le_bytes().to_vec() } else { id.to_vec() };
        let is_position = is_position(id, session.id);
        let counted = if is_position { &[][..] } else { &identity };
        Content {
            print: fnv1a_64_of([&session_hash, kind, b"\0", counted, b"\0", rest]),
            identity: fnv1a_64_of([&session_hash, kind, b"\0", &identity]),
        }
    }
}

/// The ID of a session and the hash of what identifies it.
pub(super) struct SessionPrint<'s> {
    id: &'s str,
    hash: u64,
}

impl SessionPrint<'_> {
    fn of(line: &SessionLine) -> SessionPrint<'_> {
        SessionPrint { id: &line.session_id, hash: fnv1a_64(line.identity().as_bytes()) }
    }
}

pub(super) fn session_prints(sessions: &[SessionLine]) -> Vec<SessionPrint<'_>> {
    sessions.iter().map(SessionPrint::of).collect()
}

/// The ID at the beginning of a record, as it is written there, and the rest.
fn split_id(record: &[u8]) -> (&[u8], &[u8]) {
    let Some(rest) = record.strip_prefix(b"{\"id\":\"") else { return (&[], record) };
    let mut at = 0;
    while let Some(byte) = rest.get(at) {
        match byte {
            b'"' => return rest.split_at(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    (&[], record)
}

/// Whether an ID was made from the position of the entry in its session.
fn is_position(id: &[u8], session: &str) -> bool {
    let number = id.strip_prefix(session.as_bytes()).and_then(|rest| rest.strip_prefix(b"#"));
    number.is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
}

/// Whether the second state of an entry has all that the first has: its text goes on, or its result came. `mask` applies the newest
/// masking rules to what was masked with older ones.
pub(super) fn is_extended(first: &[u8], second: &[u8], mask: Option<&dyn Fn(&str) -> String>) -> bool {
    let goes_on = |before: &str, after: &str| {
        after.starts_with(before) || mask.is_some_and(|mask| after.starts_with(&mask(before)))
    };
    let is_same =
        |before: &str, after: &str| before == after || mask.is_some_and(|mask| mask(before) == after);
    let messages = (serde_json::from_slice(first), serde_json::from_slice(second));
    if let (Ok(before), Ok(after)) = messages {
        let (before, after): (MessageLine<'_>, MessageLine<'_>) = (before, after);
        return goes_on(&before.text, &after.text);
    }
    let calls = (serde_json::from_slice(first), serde_json::from_slice(second));
    let (Ok(before), Ok(after)) = calls else { return false };
    let (before, after): (CallLine<'_>, CallLine<'_>) = (before, after);
    let has_output = match (&before.output, &after.output) {
        (None, _) => true,
        (Some(before), Some(after)) => goes_on(before, after),
        (Some(_), None) => false,
    };
    // The input of a call without a result may still be growing.
    let has_input = is_same(&before.input, &after.input)
        || before.output.is_none()
            && (before.input.trim().is_empty()
                || before.input == "{}"
                || goes_on(&before.input, &after.input));
    is_same(&before.tool, &after.tool) && has_input && has_output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extension_has_all_of_the_state_before() {
        let message = |text: &str| format!(r#"{{"id":"a","text":"{text}"}}"#).into_bytes();
        assert!(is_extended(&message("one"), &message("one two"), None));
        assert!(!is_extended(&message("one two"), &message("one"), None));
        assert!(!is_extended(&message("one"), &message("two"), None));
        let call = |more: &str| {
            format!(r#"{{"id":"a","tool":"Bash","input":"{{}}","status":"success"{more}}}"#).into_bytes()
        };
        let (open, done) = (call(""), call(r#","output":"x""#));
        assert!(is_extended(&open, &done, None) && !is_extended(&done, &open, None));
        assert!(!is_extended(&message("one"), &done, None) && !is_extended(&done, &message("one"), None));
        let mask = |text: &str| text.replace("secret", "•");
        assert!(is_extended(&message("a secret"), &message("a •, and more"), Some(&mask)));
    }

    #[test]
    fn an_id_made_from_the_position_is_no_content() {
        assert!(
            is_position(b"s-1#12", "s-1") && !is_position(b"s-1#", "s-1") && !is_position(b"s-2#1", "s-1")
        );
        assert_eq!(split_id(br#"{"id":"a\"b","text":""}"#), (&br#"a\"b"#[..], &br#"","text":""}"#[..]));
        assert_eq!(split_id(br#"{"text":""}"#), (&b""[..], &br#"{"text":""}"#[..]));
    }
}
