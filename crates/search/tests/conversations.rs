//! Search quality on the sessions in `testdata/talk`: nine of ten queries find the right session first.
#![allow(clippy::unwrap_used)] // helpers of tests are not known to be tests

use loci_search::{Doc, Index, Part, Query, Writer};
use serde_json::Value;

fn load_list(name: &str) -> Vec<Value> {
    let path = format!("{}/testdata/talk/{name}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Each text with its event ID: a thousand times the session number plus the message number.
fn list_events(sessions: &[Value]) -> Vec<(u32, u64, Part, String)> {
    let mut found = Vec::new();
    for (chat, session) in sessions.iter().enumerate() {
        let first = chat as u64 * 1000;
        found.push((chat as u32, first, Part::Title, session["title"].as_str().unwrap().to_owned()));
        for (nth, message) in session["messages"].as_array().unwrap().iter().enumerate() {
            let part = match message["role"].as_str().unwrap() {
                "user" => Part::Person,
                "tool" => Part::Tool,
                _ => Part::Assistant,
            };
            found.push((
                chat as u32,
                first + 1 + nth as u64,
                part,
                message["text"].as_str().unwrap().to_owned(),
            ));
        }
    }
    found
}

#[test]
fn nine_of_ten_queries_find_their_session_first() {
    let (sessions, queries) = (load_list("sessions.json"), load_list("queries.json"));
    let events = list_events(&sessions);
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(folder.path(), 1, 32 << 20).unwrap();
    for (chat, event, part, text) in &events {
        writer
            .add(&Doc { file: *chat, chat: *chat, event: *event, turn: *event, part: *part, at: 0, text })
            .unwrap();
    }
    writer.commit(1).unwrap();
    let index = Index::open(folder.path()).unwrap().unwrap();
    let text = |event: u64| events.iter().find(|(_, of, ..)| *of == event).map(|(.., text)| text.clone());
    let mut missed = Vec::new();
    for entry in &queries {
        let typed = entry["query"].as_str().unwrap();
        let (fuzzy, expand) = (entry["mode"] == "fuzzy", entry["expand"] == "auto");
        let query = Query { fuzzy, expand, text: Some(&text), ..Query::new(typed) };
        let found = index.find(&query, &[]).unwrap();
        let first = found.chats.first().map(|hit| sessions[hit.chat as usize]["id"].clone());
        if !entry["right"].as_array().unwrap().iter().any(|right| Some(right) == first.as_ref()) {
            missed.push(typed);
        }
    }
    assert!(queries.len() >= 80 && sessions.len() >= 40);
    assert!(missed.len() * 10 <= queries.len(), "{} of {} missed: {missed:#?}", missed.len(), queries.len());
}
