//! Every store of the recorded corpus: each line is accounted for, and every view succeeds with valid JSON.

use crate::raw::Raw;
use testutil::Home;
use testutil::corpus::{recorded_stores, text};

/// A full disk damaged one line in each of the two files and truncated the last line of the second: version, bad lines,
/// unfinished lines.
const TORN: (&str, u64, u64) = ("2.1.325-torn", 2, 1);

pub(crate) const VIEWS: &[&str] = &[
    "query tools",
    "query errors",
    "query messages",
    "query user-messages",
    "query assistant-messages",
    "query turns",
    "query context",
    "query file-access",
    "query sessions",
    "query files",
    "analyze sequences",
    "analyze errors",
    "analyze file-churn",
    "analyze idle",
    "stats",
    "usage",
];

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn every_line_of_every_store_is_accounted_for() {
    for (client, version) in recorded_stores() {
        let home = Home::of_recorded(&client, &version);
        let response = home.run(&["sources"]);
        let store = format!("{client} {version}");
        let torn = version == TORN.0;
        assert_eq!(response.code, if torn { 3 } else { 0 }, "{store}: {}", response.stderr);
        let found: Vec<_> = response.records.iter().filter(|r| r["found"] != false).collect();
        assert!(!found.is_empty(), "{store}");
        let sum = |key: &str| found.iter().map(|r| r[key].as_u64().unwrap()).sum::<u64>();
        for record in &found {
            let n = |key: &str| record[key].as_u64().unwrap();
            let kinds = ["understood", "ignored", "unknown", "bad", "blank", "unfinished"].map(n);
            assert_eq!(n("lines"), kinds.iter().sum::<u64>(), "{store}: {record}");
            assert_eq!(text(record, "source"), client, "{store}");
            assert!(record["unknown_types"].is_null() && n("unknown") == 0, "{store}: {record}");
            assert!(record["unknown_fields"].is_null(), "{store}: {record}");
        }
        let (bad, unfinished) = if torn { (TORN.1, TORN.2) } else { (0, 0) };
        assert_eq!((sum("bad"), sum("unfinished")), (bad, unfinished), "{store}");
        if client == "claude-code" {
            let raw = Raw::read(home.path());
            assert_eq!((sum("lines"), bad, unfinished), (raw.lines, raw.torn, raw.unfinished), "{store}");
        }
    }
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn damaged_lines_are_reported_with_their_offset() {
    let home = Home::of_recorded("claude-code", TORN.0);
    let problems = home.run(&["sources", "--problems"]).records;
    let bad: Vec<_> = problems.iter().filter(|p| p["problem"] == "bad_line").collect();
    assert_eq!(bad.len() as u64, TORN.1);
    for problem in bad {
        let bytes = std::fs::read(text(problem, "file")).unwrap();
        let from = &bytes[problem["offset"].as_u64().unwrap() as usize..];
        let line = from.split(|b| *b == b'\n').next().unwrap();
        assert!(serde_json::from_slice::<serde_json::Value>(line).is_err());
        assert!(text(problem, "note").starts_with(&format!("{} bytes", line.len())), "{problem}");
    }
    assert_eq!(problems.iter().filter(|p| p["problem"] == "unfinished").count() as u64, TORN.2);
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn every_view_works_on_every_store() {
    for (client, version) in recorded_stores() {
        let home = Home::of_recorded(&client, &version);
        let torn = version == TORN.0;
        for view in VIEWS {
            let words: Vec<&str> = view.split(' ').chain(["--all-projects"]).collect();
            let response = home.run(&words);
            // A damaged line may have contained a match, so an empty response is incomplete, too.
            let expected = match (response.records.is_empty(), torn) {
                (_, true) => 3,
                (true, false) => 2,
                (false, false) => 0,
            };
            assert_eq!(response.code, expected, "{client} {version}: {view}: {}", response.stderr);
        }
    }
}
