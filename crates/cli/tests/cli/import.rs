//! `loci import`: what is read, what is refused and with which hint, and that nothing but masked copies is written.

use serde_json::{Value, json};
use std::fs;
use testutil::{Finished, Home, run_line, write_file};

const RECORDS: &str =
    include_str!("../../../sources/testdata/import/home/.local/share/loci/imports/mine.jsonl");
const ACP: &str = include_str!("../../../sources/testdata/import/home/.local/share/loci/imports/acp.jsonl");

fn put(home: &Home, name: &str, text: &str) {
    write_file(&home.path().join(name), text.as_bytes());
}

fn import(home: &Home, line: &str) -> Finished {
    run_line(home, &format!("import {line} -o json"))
}

/// `ID messages calls change` of each session.
fn sessions(response: &Value) -> Vec<String> {
    let one = |session: &Value| {
        let text = |key: &str| session[key].as_str().unwrap().to_string();
        format!("{} {} {} {}", text("chatId"), session["messages"], session["calls"], text("change"))
    };
    response["sessions"].as_array().unwrap().iter().map(one).collect()
}

fn imported_files(home: &Home) -> Vec<String> {
    let entries = fs::read_dir(home.path().join(".local/share/loci/imports")).into_iter().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn records_are_imported_once_and_found_by_the_next_search() {
    let home = Home::new();
    let understood: String =
        RECORDS.lines().filter(|l| !l.contains("note")).map(|l| format!("{l}\n")).collect();
    put(&home, "mine.jsonl", &understood);
    let dry = import(&home, "mine.jsonl --dry-run").expect(0).records().remove(0);
    assert_eq!(sessions(&dry), ["s-1 3 2 new"]);
    assert_eq!((&dry["form"], &dry["dryRun"]), (&json!("records"), &json!(true)));
    assert!(imported_files(&home).is_empty(), "a dry run writes nothing");

    assert_eq!(sessions(&import(&home, "mine.jsonl").expect(0).records()[0]), ["s-1 3 2 new"]);
    assert_eq!(imported_files(&home), ["s-1.jsonl"]);
    let found = run_line(&home, "search 'add a helper' -o json").expect(0).records().remove(0);
    assert_eq!(found["results"][0]["source"], "import");
    let again = import(&home, "mine.jsonl").expect(0).records().remove(0);
    assert_eq!(sessions(&again), ["s-1 3 2 unchanged"]);

    put(
        &home,
        "mine.jsonl",
        &format!("{understood}{}\n", json!({"type":"message","role":"user","text":"And zebras."})),
    );
    assert_eq!(sessions(&import(&home, "mine.jsonl").expect(0).records()[0]), ["s-1 4 2 changed"]);
    run_line(&home, "search zebras -o json").expect(0);
    assert_eq!(imported_files(&home), ["s-1.jsonl"]);
}

#[test]
fn lines_that_cannot_be_read_are_reported_and_the_rest_is_imported() {
    let home = Home::new();
    put(&home, "mine.jsonl", &format!("{RECORDS}not json\n"));
    let response = import(&home, "mine.jsonl").expect(3).records().remove(0);
    assert_eq!(sessions(&response), ["s-1 3 2 new"]);
    assert_eq!(response["unknown"], 1);
    assert_eq!(response["problems"].as_array().unwrap().len(), 1, "{response}");
    let text = run_line(&home, "import mine.jsonl -o text").expect(3);
    assert!(
        text.text().contains("left out: ") && text.text().contains("1 line of an unknown type"),
        "{text:?}"
    );
}

#[test]
fn the_sessions_of_a_stream_are_separated() {
    let home = Home::new();
    let second = ACP.replace("\"a-1\"", "\"b-2\"").replace("helper", "parser");
    let response = r#"{"jsonrpc":"2.0","id":1,"result":{"sessionId":"a-1"}}"#;
    let bare = r#"{"sessionId":"b-2","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Done."}}}"#;
    let (new, rest) = ACP.split_once('\n').unwrap();
    put(&home, "both.jsonl", &format!("{new}\n{response}\n{rest}{second}{bare}\n"));
    let response = import(&home, "both.jsonl").expect(0).records().remove(0);
    assert_eq!(response["form"], "ACP");
    assert_eq!(sessions(&response), ["a-1 3 1 new", "b-2 4 1 new"]);
    let listed = run_line(&home, "sessions --source import -o json").expect(0).records().remove(0);
    let folders: Vec<_> =
        listed["sessions"].as_array().unwrap().iter().map(|s| s["project"].clone()).collect();
    assert_eq!(folders, ["/srv/app", "/srv/app"], "{listed}");
}

#[test]
fn exports_of_claude_ai_and_chatgpt_are_imported() {
    let home = Home::new();
    let claude = json!([{"uuid": "u1", "name": "Colours", "created_at": "2026-11-16T01:00:00Z", "chat_messages": [
        {"uuid": "m1", "sender": "human", "text": "Which ochre?", "created_at": "2026-11-16T01:00:01Z"},
        {"uuid": "m2", "sender": "assistant", "text": "Yellow.", "created_at": "2026-11-16T01:00:02Z"}]},
        {"uuid": "u2", "name": "", "created_at": "2026-11-16T02:00:00Z", "chat_messages": []}]);
    put(&home, "conversations.json", &claude.to_string());
    let response = import(&home, "conversations.json").expect(0).records().remove(0);
    assert_eq!(sessions(&response), ["u1 2 0 new", "u2 0 0 new"]);
    assert_eq!(response["form"], "claude.ai");
    let message = json!({"id": "a", "author": {"role": "user"}, "content": {"parts": ["Which umber?"]}});
    let chatgpt = json!([{"conversation_id": "c/1", "title": "Umber", "current_node": "a",
        "mapping": {"a": {"parent": null, "message": message}}}]);
    put(&home, "gpt.json", &serde_json::to_string_pretty(&chatgpt).unwrap());
    assert_eq!(sessions(&import(&home, "gpt.json").expect(0).records()[0]), ["c/1 1 0 new"]);
    for (words, title) in [("ochre", "Colours"), ("umber", "Umber")] {
        let found = run_line(&home, &format!("search {words} -o json")).expect(0).records().remove(0);
        assert_eq!(found["results"][0]["title"], title);
    }
}

#[test]
fn nonsense_is_refused_with_what_to_type_next() {
    let home = Home::new();
    put(&home, "empty.jsonl", " \n");
    put(&home, "prose.txt", "Dear diary");
    put(&home, "list.json", "[1, 2]");
    put(&home, "torn.json", "[{\"uuid\":");
    put(&home, "other.jsonl", "{\"colour\":\"red\"}\n");
    put(&home, "export.zip", "PK\u{3}\u{4}rest");
    fs::create_dir(home.path().join("folder")).unwrap();
    for (file, why, hint) in [
        ("missing.jsonl", "No such file", "--dry-run"),
        ("folder", "folder", "hint"),
        ("empty.jsonl", "the file is empty", "{\"type\":\"message\""),
        ("prose.txt", "neither JSON lines nor", "loci import --help"),
        ("list.json", "item 1 is not a conversation", "loci import --help"),
        ("torn.json", "no message and no call", "loci import --help"),
        ("other.jsonl", "no message and no call", "loci sources"),
        ("export.zip", "a zip archive", "unzip "),
    ] {
        let refused = run_line(&home, &format!("import {file}")).expect(1);
        assert!(refused.stderr.contains(why) && refused.stderr.contains(hint), "{file}: {}", refused.stderr);
        assert!(imported_files(&home).is_empty(), "{file}");
    }
}

#[test]
fn imported_copies_are_masked_and_forgotten_for_good() {
    let home = Home::new();
    let secrets = mask::specimen::generate_secrets(1);
    let secret = &secrets.iter().find(|one| one.kind.starts_with("github")).unwrap().secret[0];
    let line =
        json!({"type": "message", "role": "user", "text": format!("my token is {secret}, use quinces")});
    put(&home, "mine.jsonl", &format!("{line}\n"));
    run_line(&home, "import mine.jsonl").expect(0);
    let stored = fs::read_to_string(home.path().join(".local/share/loci/imports/mine.jsonl")).unwrap();
    assert!(stored.contains("quinces") && !stored.contains(secret.as_str()), "{stored}");
    let found = run_line(&home, "search quinces -o json").expect(0).records().remove(0);
    assert_eq!(found["results"][0]["chatId"], "mine");
    run_line(&home, "forget mine --yes").expect(0);
    assert!(imported_files(&home).is_empty(), "{:?}", imported_files(&home));
    let again = import(&home, "mine.jsonl").expect(2).records().remove(0);
    assert_eq!((&again["forgotten"], &again["sessions"]), (&json!(1), &json!([])));
    run_line(&home, "search quinces").expect(2);
}

#[test]
fn a_title_keeps_the_backslashes_of_its_prompt() {
    let home = Home::new();
    let line = json!({"type": "message", "role": "user", "text": r"Open C:\new\table.txt"});
    put(&home, "mine.jsonl", &format!("{line}\n"));
    import(&home, "mine.jsonl").expect(0);
    let found = run_line(&home, "search table.txt -o json").expect(0).records().remove(0);
    assert_eq!(found["results"][0]["title"], r"Open C:\new\table.txt");
}
