//! Upgrades (R34): homes with the stores of every earlier layout, each made by a binary of its time, are opened by this version.
//! Catalogue, text index and code index are rebuilt, the other stores are migrated, and nothing is lost that only a store has:
//! archived sessions, names, tags, facts, tombstones, agents, messages. A process that is killed before any call that changes a
//! file leaves the same to the next.
//!
//! Does not know the layouts: what must be found is what went in. A home is opened at another place than it was made.
//!
//! `LOCI_FAULTS=100000` kills before every call; by default a few, spread over the run.

use db::OptionalExtension as _;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use testutil::needs::number_variable;
use testutil::old_stores::{
    self, AGENT, FACT, Fate, MADE_AT, MESSAGE, NAME, OldHome, PROJECT, PROJECT_NAME, SESSIONS, TAG, TOKEN,
};
use testutil::tracer::{Fault, Tracer};
use testutil::{Finished, run_command, split_words};

/// Commands that together open every store, and after how many calls to kill each in the short form.
const LINES: &[(&str, usize)] =
    &[("index", 4), ("memory list", 1), ("agent list", 1), ("code outline Harbour", 1), ("sync now", 1)];
/// The tests of a quarter of the homes each run at the same time.
const SHARDS: usize = 4;
/// Together more than thirty.
const MIN_KILLS: usize = 6;

fn command(home: &Path, line: &str) -> Command {
    let words = split_words(line);
    let mut command = testutil::command(home, &words.iter().map(String::as_str).collect::<Vec<_>>());
    command.current_dir(home.join(PROJECT));
    command
}

fn run(home: &OldHome, line: &str) -> Finished {
    let ended = run_command(command(home.path(), line));
    assert!(!ended.stderr.contains("panicked"), "{line}: {}", ended.stderr);
    ended
}

/// Unpacks a home, and lets it find its storage and its code index at the new place.
pub(crate) fn unpack(name: &str) -> OldHome {
    let home = OldHome::unpack(name);
    for file in ["sync/settings.json", "setup.json"].map(|file| home.data().join(file)) {
        if let Ok(text) = fs::read_to_string(&file) {
            fs::write(&file, text.replace(MADE_AT, home.path().to_str().unwrap())).unwrap();
        }
    }
    move_code_index(&home);
    home
}

/// A code index is named after the path of its tree.
fn move_code_index(home: &OldHome) {
    let (folder, aside) = (home.cache().join("code"), home.path().join("aside.db"));
    let find = || {
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
        entries.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "db"))
    };
    let Some(old) = find() else { return };
    fs::rename(old, &aside).unwrap();
    run(home, "code outline Harbour").expect(0);
    let new = find().unwrap();
    for ending in ["-wal", "-shm"] {
        let _ = fs::remove_file(db::sibling_path(&new, ending));
    }
    fs::rename(aside, new).unwrap();
}

pub(crate) fn upgrade(home: &OldHome) {
    for (line, _) in LINES.iter().filter(|(line, _)| home.runs(line)) {
        let ended = run(home, line);
        assert!(matches!(ended.code, Some(0 | 2)), "{line}: {ended:?}");
    }
}

trait Runs {
    fn runs(&self, line: &str) -> bool;
}

impl Runs for OldHome {
    /// Without a space there is nothing to synchronise.
    fn runs(&self, line: &str) -> bool {
        !line.starts_with("sync") || self.did("sync")
    }
}

// ---- what must be found

/// The responses that must not depend on kills, without the place of the home.
fn responses(home: &OldHome) -> Vec<(String, String)> {
    let mut lines = vec![
        search_line(),
        "query messages --all-projects".to_string(),
        "query tools --all-projects".to_string(),
        "query sessions --all-projects --fields session_id,title,turns,tool_calls,errors".to_string(),
        "memory export".to_string(),
        "agent list --json".to_string(),
        "agent messages --json".to_string(),
        "project list --json".to_string(),
        "code outline Harbour".to_string(),
        "code packs".to_string(),
    ];
    if home.did("sync") {
        lines.push("sessions --device laptop -o json".to_string());
    }
    let place = home.path().to_str().unwrap();
    let answer = |line: String| {
        let ended = run(home, &line);
        assert!(matches!(ended.code, Some(0 | 2)), "{line}: {:?} {}", ended.code, ended.stderr);
        let text = without_time(ended.text()).replace(place, "HOME");
        (line, text)
    };
    lines.into_iter().map(answer).collect()
}

/// A response without the time at which it was made, and without order and counts of what a search found: they depend on how the index is
/// divided into segments, and so on where its writer was killed.
fn without_time(text: &str) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(mut response) if response.get("asOf").is_some() => {
            response["asOf"] = Value::Null;
            if let Some(found) = response["results"].as_array_mut() {
                found.sort_by_key(|chat| chat["chatId"].to_string());
                found.iter_mut().for_each(|chat| chat["hits"] = Value::Null);
                for key in ["confidence", "topChatIds", "guidance"] {
                    response[key] = Value::Null;
                }
            }
            response.to_string()
        }
        _ => text.to_string(),
    }
}

fn search_line() -> String {
    let also = SESSIONS[1..].iter().map(|made_up| format!(" --also {}", made_up.word)).collect::<String>();
    format!("search {}{also} -o json --limit-chats 50", SESSIONS[0].word)
}

fn response<'r>(responses: &'r [(String, String)], start: &str) -> &'r str {
    &responses.iter().find(|(line, _)| line.starts_with(start)).unwrap().1
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text:.300}"))
}

fn assert_nothing_is_lost(name: &str, home: &OldHome, responses: &[(String, String)]) {
    let made_up = SESSIONS.iter().filter(|made_up| match made_up.fate {
        Fate::Kept | Fate::Deleted => true,
        Fate::Forgotten => !home.did("forget"),
        Fate::Received => home.did("sync"),
    });
    let expected: BTreeSet<&str> = made_up.clone().map(|made_up| made_up.id).collect();
    let found = json(response(responses, "search"));
    let found: Vec<&str> =
        found["results"].as_array().unwrap().iter().map(|chat| chat["chatId"].as_str().unwrap()).collect();
    assert_eq!(found.iter().copied().collect::<BTreeSet<_>>(), expected, "{name}: sessions found");
    assert_eq!(found.len(), expected.len(), "{name}: {found:?}");
    let messages = response(responses, "query messages");
    for made_up in SESSIONS {
        let count = messages.lines().filter(|line| line.contains(made_up.word)).count();
        assert_eq!(count, usize::from(expected.contains(made_up.id)), "{name}: {}", made_up.word);
    }
    let puffins =
        messages.lines().filter(|line| line.contains("\"puffin ") && line.contains("burrow")).count();
    assert_eq!(puffins, 40, "{name}: the large session");
    assert!(!messages.contains(TOKEN) && !response(responses, "query tools").contains(TOKEN), "{name}");
    assert!(response(responses, "query tools").contains("GH_TOKEN"), "{name}: the masked call");
    assert_memory(name, home, &json(response(responses, "memory export")));
    assert_choices(name, home, responses);
}

/// Every entry that the old version has exported is there, with the same values.
fn assert_memory(name: &str, home: &OldHome, now: &Value) {
    for kind in ["sessions", "facts"] {
        for old in home.made.memory[kind].as_array().into_iter().flatten() {
            let same = |new: &&Value| ["id", "source", "chatId"].iter().all(|key| new[*key] == old[*key]);
            let new = now[kind].as_array().unwrap().iter().find(same);
            let new = new.unwrap_or_else(|| panic!("{name}: {old} is lost"));
            for (key, value) in old.as_object().unwrap() {
                assert_eq!(&new[key], value, "{name}: `{key}` of {old}");
            }
        }
    }
    let text = now.to_string();
    assert!(!home.did("name") || text.contains(NAME) && text.contains(TAG), "{name}: {text}");
    assert!(!home.did("fact") || text.contains(FACT), "{name}: {text}");
}

/// Agents, messages, names of projects, pins and packs.
fn assert_choices(name: &str, home: &OldHome, responses: &[(String, String)]) {
    let has = |start: &str, what: &str| response(responses, start).contains(what);
    assert!(!home.did("agent") || has("agent list", AGENT), "{name}");
    assert!(!home.did("project") || has("project list", PROJECT_NAME), "{name}");
    assert!(!home.did("code pack") || has("code packs", "quay"), "{name}");
    if home.did("message") {
        let spooled = fs::read_to_string(home.data().join("pending.jsonl")).unwrap();
        assert!(spooled.contains(MESSAGE), "{name}: {spooled}");
        assert_eq!(json(response(responses, "agent messages"))["spooled"], 1, "{name}");
    }
    if home.did("code pin") {
        let pins = fs::read_to_string(home.path().join(PROJECT).join(".loci/access.json")).unwrap();
        assert!(pins.contains("Harbour"), "{name}: {pins}");
    }
    if home.did("sync") {
        let received = SESSIONS.iter().find(|made_up| made_up.fate == Fate::Received).unwrap();
        let copies = db::open_foreign(&home.data().join("sync/exchanged.db")).unwrap();
        let sql = "select sessions from copies where device is not null";
        let sessions: Option<String> = copies.query_row(sql, [], |row| row.get(0)).optional().unwrap();
        assert!(sessions.is_some_and(|text| text.contains(received.id)), "{name}: where a copy came from");
    }
}

// ---- kills

struct Shard {
    tracer: Tracer,
    kills: usize,
}

impl Shard {
    fn check(&mut self, number: usize, name: &str) {
        let whole = unpack(name);
        let keys =
            (fs::read(whole.data().join("mask.key")).ok(), fs::read(whole.data().join("forgotten")).ok());
        upgrade(&whole);
        let expected = responses(&whole);
        assert_nothing_is_lost(name, &whole, &expected);
        assert_eq!(fs::read(whole.data().join("mask.key")).ok(), keys.0, "{name}: the key of placeholders");
        let before = String::from_utf8(keys.1.unwrap_or_default()).unwrap();
        for copy in ["forgotten", "archive/forgotten"] {
            let after = fs::read_to_string(whole.data().join(copy)).unwrap();
            assert!(before.lines().all(|line| after.contains(line)), "{name}: tombstones in {copy}: {after}");
        }
        for (line, short) in LINES.iter().filter(|(line, _)| whole.runs(line)) {
            self.kill_command(number, name, line, *short, &expected);
        }
    }

    /// Kills a command at several calls, each in a new copy of the home, and completes the upgrade.
    fn kill_command(
        &mut self,
        number: usize,
        name: &str,
        line: &str,
        short: usize,
        expected: &[(String, String)],
    ) {
        let counted = unpack(name);
        let (ended, calls) = self.tracer.run(&command(counted.path(), line), counted.path(), Fault::None, 0);
        assert!(matches!(ended.code, Some(0 | 2)), "{name}: {line}: {ended:?}");
        let tried = number_variable("LOCI_FAULTS", short as u64) as usize;
        for n in 0..tried.min(calls) {
            // Another place for each home.
            let at = 1 + (n * calls / tried.min(calls) + number * calls / 17) % calls;
            let home = unpack(name);
            let (ended, _) = self.tracer.run(&command(home.path(), line), home.path(), Fault::Kill, at);
            let label = format!("{name}: `{line}` killed at call {at} of {calls}");
            assert!(matches!(ended.code, Some(137 | 0 | 2)), "{label}: {ended:?}");
            self.kills += usize::from(ended.code == Some(137));
            upgrade(&home);
            for ((line, old), (_, new)) in expected.iter().zip(&responses(&home)) {
                assert_eq!(new, old, "{label}: `{line}`");
            }
        }
    }
}

fn check_shard(shard: usize) {
    let mut run = Shard { tracer: Tracer::new(), kills: 0 };
    let all = old_stores::names();
    assert!(all.len() >= 7, "{all:?}");
    for (number, name) in all.iter().enumerate().filter(|(number, _)| number % SHARDS == shard) {
        run.check(number, name);
    }
    println!("{} of the upgrades were killed", run.kills);
    assert!(run.kills >= MIN_KILLS, "{} kills", run.kills);
}

#[test]
fn stores_of_earlier_versions_are_upgraded_through_kills_first_quarter() {
    check_shard(0);
}

#[test]
fn stores_of_earlier_versions_are_upgraded_through_kills_second_quarter() {
    check_shard(1);
}

#[test]
fn stores_of_earlier_versions_are_upgraded_through_kills_third_quarter() {
    check_shard(2);
}

#[test]
fn stores_of_earlier_versions_are_upgraded_through_kills_fourth_quarter() {
    check_shard(3);
}

/// What a migration has copied beside the database is forgotten as well.
#[test]
fn a_backup_of_an_earlier_layout_does_not_keep_what_is_forgotten() {
    let name = old_stores::names().into_iter().find(|name| OldHome::unpack(name).did("name")).unwrap();
    let home = unpack(&name);
    upgrade(&home);
    let mentions_name = || {
        let files = crate::instance::list_files(&home.data()).into_iter();
        let contains =
            |path: &PathBuf| fs::read(path).unwrap().windows(NAME.len()).any(|part| part == NAME.as_bytes());
        files.filter(contains).collect::<Vec<_>>()
    };
    let backup = mentions_name().into_iter().find(|path| path.to_string_lossy().ends_with(".before"));
    assert!(backup.is_some(), "{name}: {:?}", mentions_name());
    run(&home, "forget aaaa0001 --yes").expect(0);
    assert_eq!(mentions_name(), Vec::<PathBuf>::new(), "{name}");
}

#[test]
fn memory_exported_by_an_earlier_version_is_imported() {
    for name in old_stores::names() {
        let home = unpack(&name);
        if !home.did("consolidate") {
            continue;
        }
        let file = home.path().join("memory.json");
        fs::write(&file, home.made.memory.to_string()).unwrap();
        fs::remove_file(home.data().join("memory.db")).unwrap();
        let _ = fs::remove_file(home.data().join("memory.db.seal"));
        run(&home, &format!("memory import {}", file.display())).expect(0);
        let now = json(run(&home, "memory export").expect(0).text());
        assert_memory(&name, &home, &now);
    }
}
