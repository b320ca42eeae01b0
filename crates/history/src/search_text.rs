//! Extracts the searchable text of a record: strings without the JSON around them, and only both ends of long outputs.
//!
//! Does not tokenize.

use crate::to_record::role_of;
use memchr::memchr2;
use record::row::{USAGE_ONLY, WARM_UP};
use record::{Call, Kind, Role, Row, RowKind};
use search::Part;

/// Of a longer text, only the beginning and the end are searched.
const HEAD: usize = 96 * 1024;
const TAIL: usize = 32 * 1024;

/// Whether a row has searchable text: lone results, usage counts and warm-up calls do not.
pub(crate) fn is_searchable(row: &Row) -> bool {
    row.row != RowKind::Result && !row.has_flag(WARM_UP) && !row.has_flag(USAGE_ONLY)
}

/// The author of a message of this kind. Consistent with `to_record::role`, so that a filter matches the role shown.
pub(crate) fn part_of(kind: Kind) -> Part {
    match (kind, role_of(kind)) {
        (Kind::Prompt, _) => Part::Person,
        (_, Role::Assistant) => Part::Assistant,
        (_, Role::System) => Part::System,
        (_, Role::User) => Part::Client,
    }
}

pub(crate) fn call_text(call: &Call) -> String {
    shorten_text(full_call_text(call))
}

/// The text of a call, not shortened.
pub fn full_call_text(call: &Call) -> String {
    let mut text = String::with_capacity(call.input.len() + call.output.as_ref().map_or(0, String::len));
    push_strings(&call.input, &mut text);
    if let Some(output) = &call.output {
        push_strings(output, &mut text);
    } else if let Some(error) = &call.error {
        text.push_str(error);
    }
    text
}

pub fn shorten_text(mut text: String) -> String {
    if text.len() <= HEAD + TAIL {
        return text;
    }
    let (head, tail) = (text.floor_char_boundary(HEAD), text.ceil_char_boundary(text.len() - TAIL));
    text.replace_range(head..tail, "\n");
    text
}

/// Appends every string in a JSON value on a line of its own; object keys are skipped.
fn push_strings(json: &str, out: &mut String) {
    let bytes = json.as_bytes();
    let mut at = 0;
    while let Some(open) = memchr::memchr(b'"', &bytes[at..]) {
        let start = at + open + 1;
        let Some(end) = string_end(bytes, start) else { return };
        at = end + 1;
        let rest = bytes[at..].iter().find(|b| !b.is_ascii_whitespace());
        if rest != Some(&b':') {
            out.push_str(&sources::json::decode_string(&bytes[start..end]));
            out.push('\n');
        }
    }
}

fn string_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

/// The author of a call's text: a tool, or Loci itself.
pub(crate) fn part_of_call(call: &Call) -> Part {
    if is_echo(&call.tool, call) { Part::Echo } else { Part::Tool }
}

/// Whether a call's output is Loci's own: its results in a transcript are no new content.
fn is_echo(tool: &str, call: &Call) -> bool {
    if let Some(server) = Call::mcp_server(tool) {
        return server == "loci" || server.ends_with("_loci");
    }
    let command = sources::json::get_text(call.input.as_bytes(), b"command");
    command.is_some_and(|command| {
        let first = command.split_whitespace().next().unwrap_or_default();
        first == "loci" || first.ends_with("/loci")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_extracted_from_json() {
        let call = Call {
            input: r#"{"command": "ls \"a\\b\"", "n": 3, "list": ["x", {"k": "y"}]}"#.to_string(),
            output: Some(r#""one\ntwo""#.to_string()),
            ..Call::default()
        };
        assert_eq!(call_text(&call), "ls \"a\\b\"\nx\ny\none\ntwo\n");
    }

    #[test]
    fn a_long_output_keeps_both_ends() {
        let long = format!("begin {} end", "é".repeat(100_000));
        let short = shorten_text(long);
        assert!(short.len() <= HEAD + TAIL + 4 && short.starts_with("begin") && short.ends_with("end"));
    }

    #[test]
    fn calls_of_loci_are_recognised() {
        let bash =
            |command: &str| Call { input: format!("{{\"command\":\"{command}\"}}"), ..Call::default() };
        for (tool, call, echo) in [
            ("mcp__loci__search_conversations", Call::default(), true),
            ("mcp__plugin_loci_loci__gather_chats", Call::default(), true),
            ("mcp__velocity__run", Call::default(), false),
            ("Bash", bash("loci search socket"), true),
            ("Bash", bash("/usr/local/bin/loci show 12"), true),
            ("Bash", bash("ls loci"), false),
        ] {
            assert_eq!(is_echo(tool, &call), echo, "{tool} {}", call.input);
        }
    }
}
