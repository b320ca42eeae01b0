//! Every store of the corpus: each line accounted for, every question answered in whole JSON, no panic.

use crate::raw::Raw;
use testutil::Home;
use testutil::corpus::{recorded_stores, text};

/// A full disk tore one line in each of the two files; the second file was cut off in its last line.
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
        let answer = home.run(&["sources"]);
        let about = format!("{client} {version}");
        let torn = version == TORN.0;
        assert_eq!(answer.code, if torn { 3 } else { 0 }, "{about}: {}", answer.complaint);
        let found: Vec<_> = answer.records.iter().filter(|r| r["found"] != false).collect();
        assert!(!found.is_empty(), "{about}");
        let sum = |key: &str| found.iter().map(|r| r[key].as_u64().unwrap()).sum::<u64>();
        for record in &found {
            let n = |key: &str| record[key].as_u64().unwrap();
            let kinds = ["understood", "ignored", "unknown", "bad", "blank", "unfinished"].map(n);
            assert_eq!(n("lines"), kinds.iter().sum::<u64>(), "{about}: {record}");
            assert_eq!(text(record, "source"), client, "{about}");
            assert!(record["unknown_types"].is_null() && n("unknown") == 0, "{about}: {record}");
            assert!(record["unknown_fields"].is_null(), "{about}: {record}");
        }
        let (bad, unfinished) = if torn { (TORN.1, TORN.2) } else { (0, 0) };
        assert_eq!((sum("bad"), sum("unfinished")), (bad, unfinished), "{about}");
        if client == "claude-code" {
            let raw = Raw::read(home.path());
            assert_eq!((sum("lines"), bad, unfinished), (raw.lines, raw.torn, raw.unfinished), "{about}");
        }
    }
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn torn_lines_are_named_with_their_place() {
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
fn every_question_is_answered_over_every_store() {
    for (client, version) in recorded_stores() {
        let home = Home::of_recorded(&client, &version);
        let torn = version == TORN.0;
        for view in VIEWS {
            let words: Vec<&str> = view.split(' ').chain(["--all-projects"]).collect();
            let answer = home.run(&words);
            // What was lost may have held what was asked for: an empty answer is incomplete too.
            let expected = match (answer.records.is_empty(), torn) {
                (_, true) => 3,
                (true, false) => 2,
                (false, false) => 0,
            };
            assert_eq!(answer.code, expected, "{client} {version}: {view}: {}", answer.complaint);
        }
    }
}
