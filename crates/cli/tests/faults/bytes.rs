//! Invalid UTF-8, malformed JSON values, byte order marks and deep nesting: at most the affected record is lost, and
//! all output stays valid.

use serde_json::json;
use testutil::{ALPHA, Home, Session, run_line, run_loci};

fn session_id(n: usize) -> String {
    format!("aaaa{n:04}-0000-4000-8000-000000000001")
}

/// Fields of a record into which an odd JSON value is injected.
const INJECTION_POINTS: &[&str] =
    &["input", "tool_result", "toolUseResult", "prompt", "reply", "unknown_field", "tool_name", "cwd"];

/// A transcript of three turns, the middle one with an odd value in one field.
fn transcript_with_value(odd: &[u8], place: &str, n: usize) -> Vec<u8> {
    let marker = "@ODD@";
    let put = |name: &str, default: &str| json!(if name == place { marker } else { default });
    let mut session = Session::new(&session_id(n), ALPHA, "2026-03-01T10:00:00Z");
    session.prompt("before").did("Bash", json!({"command": "first"}), "one");
    let mut odd_turn = session.with_new_ids();
    odd_turn.entry("user", json!({"cwd": put("cwd", ALPHA), "odd": put("unknown_field", ""), "message": {"role": "user", "content": put("prompt", "middle")}}));
    odd_turn.entry("assistant", json!({"message": {"id": format!("m-odd-{n}"), "content": [{"type": "text", "text": put("reply", "fine")}]}}));
    odd_turn.entry("assistant", json!({"message": {"id": format!("m-call-{n}"), "content": [{"type": "tool_use", "id": format!("t-odd-{n}"), "name": put("tool_name", "Odd"), "input": {"value": put("input", "x")}}]}}));
    odd_turn.entry("user", json!({"message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": format!("t-odd-{n}"), "content": put("tool_result", "y")}]}, "toolUseResult": {"z": put("toolUseResult", "z")}}));
    let mut bytes = session.text().into_bytes();
    for part in odd_turn.text().as_bytes().split_inclusive(|b| *b == b'\n') {
        let at = part.windows(marker.len() + 2).position(|w| w == format!("\"{marker}\"").as_bytes());
        match at {
            Some(at) => {
                bytes.extend_from_slice(&part[..at]);
                bytes.extend_from_slice(odd);
                bytes.extend_from_slice(&part[at + marker.len() + 2..]);
            }
            None => bytes.extend_from_slice(part),
        }
    }
    session.lines.clear();
    session.wait_minutes(1).prompt("after").did("Bash", json!({"command": "last"}), "two");
    bytes.extend_from_slice(session.text().as_bytes());
    bytes
}

/// Command lines that cover every kind of view and format.
const COMMAND_LINES: &[&str] = &[
    "query tools",
    "query messages",
    "query turns",
    "query errors",
    "stats",
    "usage",
    "analyze sequences --min-count 1",
    "query files",
    "query sessions",
    "sources",
    "query tools -o tsv",
    "query tools -o text",
    "query messages -o text",
    "query tools --pattern zzz",
];

/// Runs every command over a home with these files, one session each: no crash, valid output, intact neighbours.
fn assert_tolerates(files: &[Vec<u8>], deep: bool, label: &str) {
    let home = Home::new();
    for (n, bytes) in files.iter().enumerate() {
        home.add_bytes(&Session::new(&session_id(n), ALPHA, "2026-03-01T10:00:00Z"), bytes);
    }
    for line in COMMAND_LINES {
        let all = if *line == "sources" { "" } else { "--all-projects" };
        let ended = run_line(&home, &format!("{line} {all}"));
        assert!(matches!(ended.code, Some(0 | 2 | 3)), "{label}: {line}: {:?} {}", ended.code, ended.stderr);
        assert!(!ended.stderr.contains("panicked"), "{label}: {line}: {}", ended.stderr);
        for text in ended.lines().iter().filter(|_| !line.contains("-o")) {
            let valid = check_json(text, deep);
            assert!(valid.is_ok(), "{label}: {line}: {valid:?}: {text:.900}");
        }
    }
    let filtered = run_line(&home, "query tools --all-projects --jq .tool");
    let bash_calls = filtered.lines().iter().filter(|l| **l == "\"Bash\"").count();
    assert!(
        filtered.code != Some(1),
        "{label}: one record aborts the filter for all records: {}",
        filtered.stderr
    );
    assert_eq!(bash_calls, 2 * files.len(), "{label}");
    for n in 0..files.len() {
        assert_neighbours_intact(&home, &session_id(n), label);
    }
}

/// `serde_json::Value` stops at 128 levels; `RawValue` has no such limit.
fn check_json(text: &str, deep: bool) -> Result<(), serde_json::Error> {
    if deep {
        serde_json::from_str::<Box<serde_json::value::RawValue>>(text).map(drop)
    } else {
        serde_json::from_str::<serde_json::Value>(text).map(drop)
    }
}

/// The turns before and after the odd one are complete.
fn assert_neighbours_intact(home: &Home, session: &str, label: &str) {
    let tools = run_loci(
        home,
        &["query", "tools", "--session", session, "--fields", "input", "--tool", "Bash", "--reverse"],
    );
    let commands: Vec<String> =
        tools.all("input").iter().map(|i| i["command"].as_str().unwrap().to_string()).collect();
    assert_eq!(commands, ["first", "last"], "{label}: {session}");
    let prompts =
        run_loci(home, &["query", "user-messages", "--session", session, "--fields", "text", "--reverse"])
            .all("text");
    assert_eq!(
        (&prompts[0], prompts.last().unwrap()),
        (&json!("before"), &json!("after")),
        "{label}: {session}"
    );
}

/// Malformed or unexpected JSON values.
const ODD_VALUES: &[(&str, &[u8])] = &[
    ("invalid UTF-8", b"\"a\xff\xfe\xc0\x80b\""),
    ("UTF-8 cut short", b"\"a\xf0\x9f\x9a\""),
    ("surrogates in UTF-8", b"\"\xed\xa0\x80\""),
    ("a lone high surrogate", br#""a\ud83dz""#),
    ("a lone low surrogate", br#""a\udc00z""#),
    ("surrogates the wrong way round", br#""\udc00\ud83d""#),
    ("an escaped NUL", br#""a\u0000b""#),
    ("a raw NUL", b"\"a\0b\""),
    ("raw control characters", b"\"a\x01\x1b[31m\x7fb\x08\""),
    ("a raw tab", b"\"a\tb\""),
    ("a carriage return", b"\"a\rb\""),
    ("a bad escape", br#""a\x41 \q b""#),
    ("a short escape", br#""a\u12""#),
    ("line separators", "\"a\u{2028}b\u{2029}c\"".as_bytes()),
    ("bidi controls", "\"a\u{202e}b\u{2066}c\u{200f}\"".as_bytes()),
    ("a BOM inside", "\"\u{feff}a\"".as_bytes()),
    ("escape sequences", br#""\u001b[2J\u001b]0;x\u0007""#),
    ("not a number", b"NaN"),
    ("infinity", b"-Infinity"),
    ("a bad number", b"01.2.3e"),
    ("a huge number", b"1e999999"),
    ("many digits", b"123456789012345678901234567890.000000000000000000000000000001"),
    ("a bare word", b"undefined"),
    ("crossed brackets", b"[1}"),
    ("crossed the other way", b"{\"a\":1]"),
    ("missing commas", b"[1 2]"),
    ("a trailing comma", b"[1,]"),
    ("too many commas", b"{\"a\":1,,\"b\":2}"),
    ("a key without value", b"{\"a\"}"),
    ("single quotes", b"['a']"),
    ("a number as key", b"{1:2}"),
    ("null", b"null"),
    ("an object", b"{\"a\":[1,2,{\"b\":null}]}"),
    ("an empty array", b"[]"),
    ("duplicate keys", b"{\"a\":1,\"a\":2}"),
];

fn transcripts_with_value(odd: &[u8], places: &[&str]) -> Vec<Vec<u8>> {
    places.iter().enumerate().map(|(n, place)| transcript_with_value(odd, place, n)).collect()
}

#[test]
fn odd_values_cost_one_record_at_most() {
    for (name, odd) in ODD_VALUES {
        // A number may be valid JSON and still exceed what a `Value` can represent.
        assert_tolerates(&transcripts_with_value(odd, INJECTION_POINTS), *name == "a huge number", name);
    }
}

#[test]
fn byte_order_marks_line_endings_and_blank_lines_are_ignored() {
    let plain = transcript_with_value(b"\"x\"", "input", 0);
    let text = String::from_utf8(plain.clone()).unwrap();
    let crlf = text.replace('\n', "\r\n").into_bytes();
    let bom = |bytes: &[u8]| [b"\xef\xbb\xbf".as_slice(), bytes].concat();
    for (name, bytes) in [
        ("BOM", bom(&plain)),
        ("CRLF", crlf.clone()),
        ("both", bom(&crlf)),
        ("blank lines", text.replace('\n', "\n\n \t \n").into_bytes()),
        ("no last line end", plain[..plain.len() - 1].to_vec()),
    ] {
        let (home, plain_home) = (Home::new(), Home::new());
        let session = Session::new(&session_id(0), ALPHA, "2026-03-01T10:00:00Z");
        home.add_bytes(&session, &bytes);
        plain_home.add_bytes(&session, &plain);
        for line in ["query tools --all-projects", "query messages --all-projects"] {
            assert_eq!(run_line(&home, line).stdout, run_line(&plain_home, line).stdout, "{name}: {line}");
        }
        assert_tolerates(&[bytes], false, name);
    }
}

#[test]
fn deeply_nested_values_do_not_crash() {
    for depth in [127, 128, 1000, 100_000, 2_000_000] {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let odd = open.repeat(depth) + "1" + &close.repeat(depth);
            if depth < 2_000_000 || open == "[" {
                let files = transcripts_with_value(
                    odd.as_bytes(),
                    &["input", "tool_result", "toolUseResult", "prompt"],
                );
                assert_tolerates(&files, true, &format!("{open} nested {depth} times"));
            }
        }
    }
}

/// The line is counted as bad and nothing else is lost.
#[test]
fn unclosed_nesting_counts_as_one_bad_line() {
    for depth in [128, 100_000] {
        for open in ["[", "{\"a\":", "[{\"a\":"] {
            let home = Home::new();
            let bytes = transcript_with_value(open.repeat(depth).as_bytes(), "toolUseResult", 0);
            home.add_bytes(&Session::new(&session_id(0), ALPHA, "2026-03-01T10:00:00Z"), &bytes);
            assert_eq!(run_line(&home, "sources --source claude-code").all("bad"), [1], "{open} {depth}");
            let prompts = run_line(&home, "query user-messages --all-projects --fields text").all("text");
            assert_eq!(prompts, ["after", "middle", "before"]);
        }
    }
}
