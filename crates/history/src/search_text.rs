//! What of a record is searched: the words in it, without the JSON around them, and no more of a long output than
//! anybody would look for.
//!
//! Does not know how words are cut.

use crate::to_record::role;
use memchr::memchr2;
use record::row::{USAGE_ONLY, WARM_UP};
use record::{Call, Kind, Role, Row, RowKind};
use search::Part;

/// Of a longer text its beginning and its end are searched.
const HEAD: usize = 96 * 1024;
const TAIL: usize = 32 * 1024;

/// Whether anything was said in it: counts alone and the client's talk with itself are not searched.
pub(crate) fn is_told(row: &Row) -> bool {
    row.row != RowKind::Result && !row.is(WARM_UP) && !row.is(USAGE_ONLY)
}

/// Whose words a message of a kind are; of the same role as `to_record::role` says, so that a filter means what is shown.
pub(crate) fn part_of(kind: Kind) -> Part {
    match (kind, role(kind)) {
        (Kind::Prompt, _) => Part::Person,
        (_, Role::Assistant) => Part::Assistant,
        (_, Role::System) => Part::System,
        (_, Role::User) => Part::Client,
    }
}

pub(crate) fn of_call(call: &Call) -> String {
    shortened(all_of_call(call))
}

/// However long it is.
pub fn all_of_call(call: &Call) -> String {
    let mut text = String::with_capacity(call.input.len() + call.output.as_ref().map_or(0, String::len));
    strings(&call.input, &mut text);
    if let Some(output) = &call.output {
        strings(output, &mut text);
    } else if let Some(error) = &call.error {
        text.push_str(error);
    }
    text
}

pub fn shortened(mut text: String) -> String {
    if text.len() <= HEAD + TAIL {
        return text;
    }
    let (head, tail) = (text.floor_char_boundary(HEAD), text.ceil_char_boundary(text.len() - TAIL));
    text.replace_range(head..tail, "\n");
    text
}

/// Appends the text of every string in a JSON value, a line each; the keys of objects are nobody's words.
fn strings(json: &str, out: &mut String) {
    let bytes = json.as_bytes();
    let mut at = 0;
    while let Some(open) = memchr::memchr(b'"', &bytes[at..]) {
        let start = at + open + 1;
        let Some(end) = string_end(bytes, start) else { return };
        at = end + 1;
        let rest = bytes[at..].iter().find(|b| !b.is_ascii_whitespace());
        if rest != Some(&b':') {
            out.push_str(&sources::json::text(&bytes[start..end]));
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

/// What a call asked for and got: a tool's words, or Loci's own coming back.
pub(crate) fn part_of_call(call: &Call) -> Part {
    if is_echo(&call.tool, call) { Part::Echo } else { Part::Tool }
}

/// Whether a call is Loci's own answer coming back: what it printed into a transcript is not news.
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
    fn words_are_taken_out_of_the_json_around_them() {
        let call = Call {
            input: r#"{"command": "ls \"a\\b\"", "n": 3, "list": ["x", {"k": "y"}]}"#.to_string(),
            output: Some(r#""one\ntwo""#.to_string()),
            ..Call::default()
        };
        assert_eq!(of_call(&call), "ls \"a\\b\"\nx\ny\none\ntwo\n");
    }

    #[test]
    fn of_a_long_output_both_ends_are_searched() {
        let long = format!("begin {} end", "é".repeat(100_000));
        let short = shortened(long);
        assert!(short.len() <= HEAD + TAIL + 4 && short.starts_with("begin") && short.ends_with("end"));
    }

    #[test]
    fn what_loci_printed_is_known() {
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
