//! Transcripts that are half written, spliced, damaged, or changed between two queries.

use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use testutil::{ALPHA, Home, Session, run_line, run_loci, write_file};

const ID: &str = "aaaa1111-0000-4000-8000-000000000001";

fn append(path: &Path, bytes: &[u8]) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(bytes).unwrap();
}

/// All messages and calls of a history, with all fields.
fn all_records(home: &Home) -> Vec<Value> {
    let all = |view: &str| run_loci(home, &["query", view, "--all-projects"]);
    [all("messages"), all("tools")].iter().flat_map(testutil::Finished::records).collect()
}

// ---- half a record

/// Appends `line` in two parts, split at each of `cuts`: the first part must not change the output.
fn assert_partial_line_is_hidden(session: &Session, line: &str, cuts: impl Iterator<Item = usize>) {
    let home = Home::new();
    let path = home.add(session);
    let (before, mut whole) = (all_records(&home), session.clone());
    whole.raw_line(line);
    let after = {
        let other = Home::new();
        other.add(&whole);
        all_records(&other)
    };
    assert_ne!(before, after);
    for cut in cuts {
        home.add(session);
        append(&path, &line.as_bytes()[..cut]);
        let (messages, tools) = (
            run_loci(&home, &["query", "messages", "--all-projects"]),
            run_loci(&home, &["query", "tools", "--all-projects"]),
        );
        let shown: Vec<Value> = [&messages, &tools].iter().flat_map(|e| e.records()).collect();
        assert_eq!(shown, before, "cut at {cut} of {}: {}", line.len(), &line[..cut]);
        assert_eq!((messages.code, tools.code), (Some(0), Some(0)), "cut at {cut}: {}", messages.stderr);
        append(&path, &line.as_bytes()[cut..]);
        append(&path, b"\n");
        assert_eq!(all_records(&home), after, "completed after {cut}");
    }
}

/// The last line may be half written at any moment: nothing of it is shown until it is complete, then all of it, once.
#[test]
fn a_half_written_record_is_not_shown() {
    let mut session = Session::new(ID, ALPHA, "2026-03-01T10:00:00Z");
    session.prompt("go").reply(&["yes"]);
    let call = session.call("Bash", json!({"command": "ls"}));
    let mut next = session.clone();
    next.result(
        &call,
        "done",
        json!({"stdout": "done", "parts": [{"n": 1}, {"n": 2}], "deep": {"a": {"b": {}}}}),
    );
    let result = next.lines.last().unwrap().clone();
    let ends: Vec<usize> =
        (1..result.len()).filter(|n| matches!(result.as_bytes()[n - 1], b'}' | b']')).collect();
    assert_partial_line_is_hidden(&session, &result, (1..result.len()).step_by(29).chain(ends));
    let mut next = session.clone();
    next.prompt("a later prompt");
    let prompt = next.lines.last().unwrap().clone();
    assert_partial_line_is_hidden(&session, &prompt, (1..prompt.len()).step_by(37));
}

// ---- damage in the middle

/// A deterministic pseudo-random number generator.
struct Rng(u64);

impl Rng {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// A session of `n` entries of every shape, each with a unique word.
fn varied_session(n: usize, rng: &mut Rng) -> Session {
    let mut session = Session::new(ID, ALPHA, "2026-03-01T10:00:00Z");
    session.prompt("word-first");
    for i in 0..n {
        let word = format!("word-{i} {{\"type\":\"user\",\"uuid\":\"x\"}} \\ \"quoted\" é 🚀");
        match rng.below(5) {
            0 => session.prompt(&word),
            1 => session.reply(&[&word]),
            2 => session.entry(
                "user",
                json!({"message": {"role": "user", "content": [{"type": "text", "text": word}]}}),
            ),
            3 => session.did("Bash", json!({"command": word, "more": {"a": [1, {"b": {"c": {}}}]}}), "out"),
            _ => session.failed("Read", json!({"file_path": word}), "no"),
        };
        if rng.below(6) == 0 {
            let line = json!({"type": "progress", "sessionId": ID, "data": {"type": "x", "n": i}});
            session.raw_line(line.to_string());
        }
    }
    session
}

/// A damaged transcript: its bytes, the indexes of the lines that cannot be recovered, the number of bad lines.
struct DamagedTranscript {
    bytes: Vec<u8>,
    lost: BTreeSet<usize>,
    bad: u64,
}

/// Damages about every third line: a record cut short with the next one spliced onto it, a missing line end, or a run
/// of NULs.
fn damage_lines(lines: &[String], rng: &mut Rng) -> DamagedTranscript {
    let mut damaged = DamagedTranscript { bytes: Vec::new(), lost: BTreeSet::new(), bad: 0 };
    let mut i = 0;
    while i < lines.len() {
        let line = lines[i].as_bytes();
        let last = i + 1 == lines.len();
        let damage = if i == 0 { 9 } else { rng.below(9) };
        match damage {
            0 if !last => {
                damaged.bytes.extend_from_slice(&line[..=rng.below(line.len() - 1)]);
                damaged.bytes.extend_from_slice(lines[i + 1].as_bytes());
                damaged.lost.insert(i);
                damaged.bad += 1;
                i += 1;
            }
            1 if !last => {
                damaged.bytes.extend_from_slice(line);
                damaged.bytes.extend_from_slice(lines[i + 1].as_bytes());
                damaged.bad += 1;
                i += 1;
            }
            2 => {
                let (before, after) = (rng.below(300), rng.below(3));
                damaged.bytes.extend(std::iter::repeat_n(0, 1 + before));
                damaged.bytes.extend_from_slice(line);
                damaged.bytes.extend(std::iter::repeat_n(0, after));
                damaged.bad += 1;
            }
            3 => {
                damaged.bytes.extend_from_slice(&line[..=rng.below(line.len() - 1)]);
                damaged.bytes.extend(std::iter::repeat_n(0, 1 + rng.below(5000)));
                damaged.lost.insert(i);
                damaged.bad += 1;
            }
            _ => damaged.bytes.extend_from_slice(line),
        }
        damaged.bytes.push(b'\n');
        i += 1;
    }
    damaged
}

/// The IDs of the records.
fn record_ids(records: &[Value]) -> BTreeSet<String> {
    records.iter().map(|r| r["id"].as_str().unwrap().to_string()).collect()
}

/// The IDs in the lines that are not `lost`: of messages (the reply's own ID, else the entry's `uuid`) and of calls.
fn expected_ids(lines: &[String], lost: &BTreeSet<usize>) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for (i, line) in lines.iter().enumerate() {
        let line: Value = serde_json::from_str(line).unwrap();
        if lost.contains(&i) || line["message"].is_null() {
            continue;
        }
        let message = &line["message"];
        let content = message["content"].as_array().cloned().unwrap_or_default();
        all.extend(
            content.iter().filter(|b| b["type"] == "tool_use").map(|b| b["id"].as_str().unwrap().to_string()),
        );
        if content.iter().all(|b| b["type"] != "tool_result") {
            all.insert(message["id"].as_str().or(line["uuid"].as_str()).unwrap().to_string());
        }
    }
    all
}

#[test]
fn intact_records_are_recovered_and_none_are_invented() {
    let (mut damages, mut rng) = (0, Rng(42));
    for round in 0..12 {
        let session = varied_session(90, &mut rng);
        let damaged = damage_lines(&session.lines, &mut rng);
        damages += damaged.bad;
        let home = Home::new();
        home.add_bytes(&session, &damaged.bytes);
        let (found, wanted) = (record_ids(&all_records(&home)), expected_ids(&session.lines, &damaged.lost));
        let (missing, invented): (Vec<_>, Vec<_>) =
            (wanted.difference(&found).collect(), found.difference(&wanted).collect());
        if let Some(id) = missing.iter().chain(&invented).next() {
            let lines = damaged.bytes.split(|b| *b == b'\n');
            let line = lines.map(String::from_utf8_lossy).find(|line| line.contains(id.as_str()));
            panic!("round {round}: missing {missing:?}, invented {invented:?}:\n{line:?}");
        }
        let sources = run_line(&home, "sources --source claude-code");
        assert_eq!(sources.all("bad"), [damaged.bad], "round {round}");
        let coverage = &sources.records()[0];
        let n = |name: &str| coverage[name].as_u64().unwrap();
        assert_eq!(
            n("lines"),
            n("understood") + n("ignored") + n("unknown") + n("bad") + n("blank") + n("unfinished")
        );
    }
    assert!(damages >= 300, "{damages} damages are too few");
}

// ---- a file that changes between two queries

fn base_session() -> Session {
    let mut session = Session::new(ID, ALPHA, "2026-03-01T10:00:00Z");
    session
        .prompt("one")
        .reply(&["a", "b"])
        .did("Bash", json!({"command": "ls"}), "x")
        .prompt("two")
        .reply(&["c"]);
    session
}

/// The lines of two further entries.
fn further_lines(session: &Session) -> Vec<u8> {
    let mut longer = session.clone();
    longer.prompt("three").did("Read", json!({"file_path": "/y"}), "z");
    longer.lines[session.lines.len()..].iter().map(|l| format!("{l}\n")).collect::<String>().into_bytes()
}

/// Overwrites the file in place (same inode); `keep_time` restores the modification time.
fn rewrite(path: &Path, bytes: &[u8], keep_time: bool) {
    let time = fs::metadata(path).unwrap().modified().unwrap();
    fs::write(path, bytes).unwrap();
    if keep_time {
        File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
    }
}

type Change = fn(&Path, &Session);

const CHANGES: &[(&str, Change)] = &[
    ("append", |path, session| append(path, &further_lines(session))),
    ("append half a record", |path, session| append(path, &further_lines(session)[..100])),
    ("truncate at a line", |path, session| {
        rewrite(path, (session.lines[..4].join("\n") + "\n").as_bytes(), false);
    }),
    ("truncate inside a line", |path, session| rewrite(path, &session.text().as_bytes()[..900], false)),
    ("truncate to nothing", |path, _| rewrite(path, b"", false)),
    ("truncate, then grow past the old end", |path, session| {
        rewrite(path, (session.lines[..2].join("\n") + "\n").as_bytes(), false);
        (0..4).for_each(|_| append(path, &further_lines(session)));
    }),
    ("rewrite in the same size", |path, session| {
        rewrite(path, session.text().replace("two", "TWO").as_bytes(), false);
    }),
    ("rewrite in the same size and time", |path, session| {
        rewrite(path, session.text().replace("two", "2nd").as_bytes(), true);
    }),
    ("replace the inode", |path, session| {
        let replacement = path.with_extension("new");
        fs::write(&replacement, session.text().replace("one", "uno")).unwrap();
        fs::rename(&replacement, path).unwrap();
    }),
    ("rotate", |path, session| {
        fs::rename(path, path.with_file_name("aaaa9999-0000-4000-8000-000000000009.jsonl")).unwrap();
        fs::write(path, further_lines(session)).unwrap();
    }),
    ("delete", |path, session| {
        let mut other =
            Session::new("bbbb1111-0000-4000-8000-000000000002", &session.cwd, "2026-03-01T11:00:00Z");
        write_file(
            &path.with_file_name("bbbb1111-0000-4000-8000-000000000002.jsonl"),
            other.prompt("left").text().as_bytes(),
        );
        fs::remove_file(path).unwrap();
    }),
    ("move to another folder", |path, _| {
        let target = path.parent().unwrap().with_file_name("-srv-demo-beta").join("x.jsonl");
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::rename(path, target).unwrap();
    }),
    ("insert a line at the start", |path, session| {
        let mut first = Session::new(ID, &session.cwd, "2026-02-28T10:00:00Z");
        first.agent = None;
        let line = json!({"type": "summary", "summary": "A title", "leafUuid": "u-none"}).to_string();
        rewrite(path, format!("{line}\n{}", session.text()).as_bytes(), true);
    }),
];

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            let _ = fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// After any change the output equals that of a fresh copy of the files.
#[test]
fn a_changed_file_gives_the_output_of_a_fresh_copy() {
    assert!(CHANGES.len() >= 12);
    for (name, change) in CHANGES {
        let (home, fresh, session) = (Home::new(), Home::new(), base_session());
        let path = home.add(&session);
        let before = all_records(&home);
        change(&path, &session);
        copy_tree(&home.path().join(".claude"), &fresh.path().join(".claude"));
        for line in [
            "query messages --all-projects",
            "query tools --all-projects",
            "query sessions --all-projects",
            "stats --all-projects",
            "usage --all-projects",
            "sources --source claude-code",
        ] {
            assert_eq!(run_line(&home, line).stdout, run_line(&fresh, line).stdout, "{name}: {line}");
        }
        if !name.contains("half") && !name.contains("start") {
            assert_ne!(all_records(&home), before, "{name} changes nothing");
        }
    }
}

/// Problems are listed up to a limit and counted completely; the output states both.
#[test]
fn damage_beyond_the_listing_limit_is_counted() {
    let home = Home::new();
    let mut session = Session::new("aaaa0000-0000-4000-8000-00000000000e", "/p", "2026-03-01T10:00:00Z");
    session.prompt("here");
    let bytes = session.text() + &"{\"x\":\n".repeat(200);
    home.add_bytes(&session, bytes.as_bytes());
    let done = run_line(&home, "query user-messages --all-projects").expect(3);
    assert!(done.stderr.contains("200 places in 1 file"), "{}", done.stderr);
    let listed = run_line(&home, "sources --problems").expect(3).all("note");
    assert!(
        listed.len() < 200 && listed.last().unwrap().as_str().unwrap().contains("not listed"),
        "{listed:?}"
    );
}
