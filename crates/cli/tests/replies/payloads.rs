//! Texts that imitate the protocol of a conversation, and ordinary texts that look a little like it, by writers who had not seen the guard.
//! Each goes through everything that an agent reads: records over MCP, the handoff, the document of an export, and the card of a hook.
//!
//! `LOCI_PAYLOADS=FILE` and `LOCI_ORDINARY=FILE` run other texts, every one through every output: lines of
//! `{"id", "text", "must_not_contain"}`, where without the last the text itself must not arrive. Without them one in eighteen goes through the outputs
//! that need a process for each.

use crate::hooks::run_hook;
use serde_json::{Value, json};
use std::path::Path;
use testutil::{ALPHA, BETA, Home, McpClient, Session, run_line};

struct Sample {
    id: String,
    text: String,
    /// What must not arrive.
    forbidden: Vec<String>,
}

/// The samples, and whether each goes through every output.
fn read_samples(variable: &str, committed: &str) -> (Vec<Sample>, usize) {
    let given = testutil::needs::path_variable(variable);
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../history/testdata").join(committed);
    let every = if given.is_some() { 1 } else { 18 };
    let lines = std::fs::read_to_string(given.unwrap_or(own)).unwrap();
    let samples = lines.lines().map(|line| {
        let entry: Value = serde_json::from_str(line).unwrap();
        let text = entry["text"].as_str().unwrap().to_string();
        let listed = entry["must_not_contain"].as_array().cloned().unwrap_or_else(|| vec![json!(text)]);
        let forbidden = listed.iter().map(|piece| piece.as_str().unwrap().to_string()).collect();
        Sample { id: entry["id"].as_str().unwrap().to_string(), text, forbidden }
    });
    (samples.collect(), every)
}

fn session_id(number: usize) -> String {
    format!("{number:08x}-0000-4000-8000-000000000000")
}

/// One session for each sample, with the text as prompt, input and output of a tool, and reply. A session of its own for ordinary text keeps
/// what one sample says from deciding about another.
fn home_with(samples: &[Sample]) -> Home {
    let home = Home::new();
    for (number, sample) in samples.iter().enumerate() {
        let mut session = Session::new(&session_id(number), ALPHA, "2026-03-02T09:00:00Z");
        session.prompt(&sample.text);
        session.did("Bash", json!({"command": sample.text}), &sample.text);
        session.reply(&[&format!("We decided to use okapi{number}card.")]);
        session.prompt(&format!("okapi{number}card\n{}", sample.text)).reply(&[&sample.text]);
        home.add(&session);
    }
    run_line(&home, "index").expect(0);
    home
}

/// All strings in a value, keys included.
fn collect_texts(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(text) => out.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect_texts(item, out)),
        Value::Object(map) => map.iter().for_each(|(name, item)| {
            out.push(name.clone());
            collect_texts(item, out);
        }),
        _ => {}
    }
}

/// What an output says, as its reader sees it: decoded if it is JSON.
fn texts_of(printed: &str) -> Vec<String> {
    let mut texts = Vec::new();
    match serde_json::from_str::<Value>(printed) {
        Ok(value) => collect_texts(&value, &mut texts),
        Err(_) => texts.push(printed.to_string()),
    }
    texts
}

/// What one sample looks like in each output.
fn outputs(
    home: &Home,
    agent: &mut McpClient,
    number: usize,
    thoroughly: bool,
) -> Vec<(&'static str, Vec<String>)> {
    let id = session_id(number);
    let mut all = Vec::new();
    let mut add = |name, value: &Value| {
        let mut texts = Vec::new();
        collect_texts(value, &mut texts);
        all.push((name, texts));
    };
    let wide = |mut params: Value| {
        params["inline_threshold_bytes"] = json!(65_536);
        params
    };
    add("gather_chats", &agent.call("gather_chats", wide(json!({"chatIds": [id]}))));
    add("query_tools", &agent.call("query_tools", wide(json!({"session": id}))));
    add("query_conversation", &agent.call("query_conversation", wide(json!({"session": id}))));
    if !thoroughly {
        return all;
    }
    add(
        "search_conversations",
        &agent.call("search_conversations", wide(json!({"intent_query": format!("okapi{number}card")}))),
    );
    for line in [
        format!("handoff {id}"),
        format!("handoff {id} -o text"),
        format!("export {id}"),
        format!("export {id} -o json"),
    ] {
        let name = if line.starts_with("handoff") { "handoff" } else { "export" };
        all.push((name, texts_of(run_line(home, &line).expect(0).text())));
    }
    let prompt = format!("as we discussed last time about okapi{number}card");
    let card =
        run_hook(home, "prompt", json!({"cwd": BETA, "session_id": format!("s{number}"), "prompt": prompt}));
    all.push(("card", texts_of(&card.stdout)));
    all
}

#[test]
fn no_payload_arrives_raw() {
    let (samples, every) = read_samples("LOCI_PAYLOADS", "payloads.jsonl");
    assert!(samples.len() >= 50);
    let home = home_with(&samples);
    let mut agent = McpClient::new(home.path(), &[]);
    let (mut arrived, mut cards) = (Vec::new(), 0);
    for (number, sample) in samples.iter().enumerate() {
        for (name, texts) in outputs(&home, &mut agent, number, number % every == 0) {
            assert!(!texts.is_empty() || name == "card", "{name} of {}", sample.id);
            cards += usize::from(name == "card" && !texts.concat().is_empty());
            for piece in &sample.forbidden {
                if let Some(text) = texts.iter().find(|text| text.contains(piece.as_str())) {
                    arrived.push(format!("{} in {name}: {piece:?} in {text:?}", sample.id));
                }
            }
        }
    }
    println!("{} payloads, {cards} cards, {} arrived raw", samples.len(), arrived.len());
    assert!(arrived.is_empty(), "{}", arrived.join("\n"));
}

#[test]
fn ordinary_text_arrives_unaltered() {
    let (samples, every) = read_samples("LOCI_ORDINARY", "ordinary.jsonl");
    assert!(samples.len() >= 50);
    let home = home_with(&samples);
    let mut agent = McpClient::new(home.path(), &[]);
    let mut altered = Vec::new();
    for (number, sample) in samples.iter().enumerate() {
        for (name, texts) in outputs(&home, &mut agent, number, number % every == 0) {
            // A card and a snippet quote a part, and Markdown escapes.
            let is_whole = matches!(name, "gather_chats" | "query_conversation");
            if is_whole && !texts.iter().any(|text| text.contains(sample.text.trim())) {
                altered.push(format!("{} in {name}: {:?} became {:?}", sample.id, sample.text, texts));
            }
        }
    }
    println!("{} ordinary texts, {} altered", samples.len(), altered.len());
    assert!(altered.is_empty(), "{}", altered.join("\n"));
}

/// Every operation that says an agent reads its answer.
#[test]
fn what_is_written_for_an_agent_is_defused() {
    let (samples, _) = read_samples("LOCI_PAYLOADS", "payloads.jsonl");
    let home = home_with(&samples[..3]);
    let reads = |about: &str| {
        about.contains("another agent") || about.contains("for an agent") || about.contains("for agents")
    };
    let meant: Vec<&str> = api::OPERATIONS
        .iter()
        .filter(|it| reads(it.about) || reads(it.answer))
        .map(|it| it.command)
        .collect();
    assert!(meant.contains(&"handoff"), "{meant:?}");
    for command in meant {
        for (number, sample) in samples.iter().take(3).enumerate() {
            for format in ["json", "text"] {
                let ran = run_line(&home, &format!("{command} {} -o {format}", session_id(number)));
                let said = texts_of(&String::from_utf8_lossy(&ran.stdout)).concat();
                assert!(!said.is_empty(), "{command}: {}", ran.stderr);
                for piece in &sample.forbidden {
                    assert!(!said.contains(piece.as_str()), "{command} {format}: {piece:?} in {said}");
                }
            }
        }
    }
}
