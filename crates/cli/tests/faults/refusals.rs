//! Invalid input is rejected: exit code 1, a message with a hint on stderr, and an error record on stdout in the
//! requested format.

use testutil::{Finished, run_line, sample_home};

/// Command lines with their error codes.
const REJECTED: &[(&str, &str)] = &[
    ("query tools --nope", "INVALID_ARGUMENT"),
    ("query tools --signature x", "INVALID_ARGUMENT"),
    ("query nothing", "INVALID_ARGUMENT"),
    ("query frobnicate", "INVALID_ARGUMENT"),
    ("query tools --limit many", "INVALID_ARGUMENT"),
    ("query tools --limit -1", "INVALID_ARGUMENT"),
    ("query tools extra", "INVALID_ARGUMENT"),
    ("query tools --threads 0", "INVALID_ARGUMENT"),
    ("query tools --fields nope", "INVALID_ARGUMENT"),
    ("query tools --fields tool,nope", "INVALID_ARGUMENT"),
    ("query tools --status broken", "INVALID_ARGUMENT"),
    ("query tools --since whenever", "INVALID_ARGUMENT"),
    ("query tools --until soon", "INVALID_ARGUMENT"),
    ("query tools --source notes", "INVALID_ARGUMENT"),
    ("query tools --project x --all-projects", "INVALID_ARGUMENT"),
    ("query tools --slurp", "INVALID_ARGUMENT"),
    ("stats --by colour", "INVALID_ARGUMENT"),
    ("usage --by tool", "INVALID_ARGUMENT"),
    ("sources --session aaaa", "INVALID_ARGUMENT"),
    ("query tools --session zzzz", "SESSION_NOT_FOUND"),
    ("query tools --all-projects --pattern (", "FILTER_ERROR"),
    ("query tools --all-projects --jq '.['", "FILTER_ERROR"),
    ("query tools --all-projects --jq nope", "FILTER_ERROR"),
    ("query tools --all-projects --jq '.tool.x'", "FILTER_ERROR"),
];

fn assert_rejected(ended: &Finished, line: &str) {
    assert_eq!(ended.code, Some(1), "{line}: {ended:?}");
    assert!(ended.stderr.contains("error"), "{line}: {}", ended.stderr);
    let hinted = ["hint:", "tip:", "Usage:", "--help"].iter().any(|word| ended.stderr.contains(word));
    assert!(hinted, "{line} gives no hint: {}", ended.stderr);
    assert!(!ended.stderr.contains("panicked"), "{line}: {}", ended.stderr);
}

/// The message of an error record; operations on code have an object in `error`.
fn message_of(record: &serde_json::Value) -> Option<&str> {
    let error = &record["error"];
    error.as_str().or_else(|| error["message"].as_str())
}

#[test]
fn an_error_is_a_json_record() {
    let home = sample_home();
    for (line, code) in REJECTED {
        for format in ["", " -o jsonl"] {
            let ended = run_line(&home, &format!("{line}{format}"));
            assert_rejected(&ended, line);
            let records = ended.records();
            assert_eq!(records.len(), 1, "{line}: {}", ended.text());
            assert_eq!(records[0]["code"], *code, "{line}");
            assert!(message_of(&records[0]).is_some_and(|e| !e.is_empty()), "{line}");
        }
    }
}

#[test]
fn an_error_is_a_tsv_table() {
    let home = sample_home();
    for (line, code) in REJECTED {
        let ended = run_line(&home, &format!("{line} -o tsv"));
        assert_rejected(&ended, line);
        let lines = ended.lines();
        assert_eq!(lines.len(), 2, "{line}: {}", ended.text());
        assert_eq!(lines[0], "error\tcode", "{line}");
        let fields: Vec<&str> = lines[1].split('\t').collect();
        assert_eq!((fields.len(), fields[1]), (2, *code), "{line}");
    }
}

/// In text format the error goes to stderr only.
#[test]
fn an_error_in_text_format_prints_nothing_to_stdout() {
    let home = sample_home();
    for (line, _) in REJECTED {
        let ended = run_line(&home, &format!("{line} -o text"));
        assert_rejected(&ended, line);
        assert!(ended.stdout.is_empty(), "{line}: {}", ended.text());
    }
}
