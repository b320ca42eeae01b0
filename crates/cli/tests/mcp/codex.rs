//! The real Codex makes a history and asks Loci about it: what the model is then told must be what happened. Also what
//! Codex says of the session that a call is made in, which is all that Loci knows of it.

use crate::scripted_client::{
    DECISION, FAILURE, Played, ScriptedClient, WORD, calls, column, envelope, says,
};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use testutil::binary;
use testutil::clients::{CODEX, Clients};

const START: &str =
    r#". "$CLIENTS/codex/codex_env.sh"; CX_TIMEOUT=60 cx "$home" exec --json --skip-git-repo-check "$@""#;

/// What came back from the call of the turn before: the structure as text, with how long it took in front; of a failure
/// the blocks of text, with the same in front.
fn told(played: &Played, turn: usize) -> String {
    let output = &played.request(turn)["input"].as_array().unwrap().last().unwrap()["output"];
    let text = match output {
        Value::Array(blocks) => blocks.last().unwrap()["text"].as_str(),
        text => text.as_str(),
    };
    let text = text.unwrap_or_else(|| panic!("turn {turn}: {output}"));
    text.split_once("Output:\n").map_or(text, |(_, answer)| answer).to_string()
}

fn session(played: &Played) -> String {
    let events = played.said.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let started = events.into_iter().find(|event| event["type"] == "thread.started").unwrap();
    started["thread_id"].as_str().unwrap().to_string()
}

fn ours(tool: &str, input: Value) -> Value {
    let mut call = calls(tool, input);
    call["namespace"] = json!("mcp__loci");
    call
}

fn shell(command: &str) -> Value {
    calls("exec_command", json!({"cmd": command, "yield_time_ms": 5000}))
}

/// Tells Codex of Loci, by way of a shell that writes down what Codex says to it.
fn install(client: &ScriptedClient, clients_config: &str) {
    let (home, settings) = (client.home.path(), client.home.path().join(".codex"));
    let (wrapper, heard) = (home.join("heard.sh"), home.join("heard.jsonl"));
    fs::write(&wrapper, format!("#!/bin/bash\ntee -a '{}' | '{}' mcp\n", heard.display(), binary())).unwrap();
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
    let server = format!("{clients_config}\n[mcp_servers.loci]\ncommand = \"{}\"\n", wrapper.display());
    fs::create_dir_all(&settings).unwrap();
    fs::write(settings.join("config.toml"), server).unwrap();
}

/// What Codex said beside each call.
fn said_beside(client: &ScriptedClient) -> Vec<Value> {
    let heard = fs::read_to_string(client.home.path().join("heard.jsonl")).unwrap();
    let messages = heard.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    messages.filter(|m| m["method"] == "tools/call").map(|m| m["params"]["_meta"].clone()).collect()
}

fn ready() -> ScriptedClient {
    let clients = Clients::offline(CODEX);
    let config = fs::read_to_string(clients.scripts.join("codex/config.toml")).unwrap();
    let client = ScriptedClient::new(clients, START);
    install(&client, &config);
    client
}

#[test]
fn codex_asks_about_what_it_did_and_is_told() {
    let client = ready();
    let patch = "*** Begin Patch\n*** Add File: ledger.txt\n+one\n*** End Patch\n";
    let patch = json!({"type": "tool_use", "custom": true, "name": "apply_patch", "input": patch});
    let failing = shell(&format!("echo '{FAILURE}' >&2; exit 3"));
    let work = client.play("work", &[failing, patch, says("Done.")], &["SCENARIO:work Please build."]);
    let decided = client.play("decide", &[says(DECISION)], &["SCENARIO:decide Where does the ledger go?"]);
    let (work, decided) = (session(&work), session(&decided));

    let search = json!({"type": "tool_search_call", "execution": "client", "call_id": "call_find", "status": "completed",
        "arguments": {"query": "search past conversations", "limit": 20}});
    let asked = client.play(
        "ask",
        &[
            search,
            ours("search_conversations", json!({"intent_query": format!("{WORD} ledger decision")})),
            ours("gather_chats", json!({"chatIds": [decided]})),
            ours("query_tools", json!({"status": "error"})),
            ours("query_tools_session", json!({})),
            ours("query_file_access", json!({"file": "ledger.txt"})),
            ours("query_tools", json!({"no_such": 1})),
            says("Answered."),
        ],
        &[&format!("SCENARIO:ask What did we decide about the {WORD}?")],
    );
    let own = session(&asked);

    let found = envelope(&told(&asked, 2));
    assert_eq!(found["results"][0]["chatId"], decided, "{found}");
    assert_eq!(found["results"][0]["snippets"][0]["text"], DECISION);
    assert!(!found.to_string().contains(&own), "the session that asks is among what it is told: {found}");

    let read = envelope(&told(&asked, 3));
    assert_eq!(read["chat"]["id"], decided);
    assert_eq!(read["messages"].as_array().unwrap().last().unwrap()["content"], DECISION);

    let failed = envelope(&told(&asked, 4));
    assert_eq!(column(&failed, "session_id"), [&work]);
    assert_eq!((&failed[0]["error"], &failed[0]["exit_code"]), (&json!(FAILURE), &json!(3)));

    let here = envelope(&told(&asked, 5));
    assert!(column(&here, "session_id").iter().all(|id| *id == own), "{here}");
    assert!(column(&here, "tool").contains(&"mcp__loci__search_conversations"), "{here}");

    let touched = envelope(&told(&asked, 6));
    assert_eq!(column(&touched[0]["timeline"], "session_id"), [&work], "{touched}");

    assert!(told(&asked, 7).contains("takes no `no_such`"), "{}", told(&asked, 7));
    for beside in said_beside(&client) {
        assert_eq!(beside["x-codex-turn-metadata"]["thread_id"], own, "{beside}");
    }
    what_reaches_the_model(&asked);
}

/// Codex shows no tool of a server before it is looked for: only the instructions are there from the start.
fn what_reaches_the_model(asked: &Played) {
    let first = asked.request(0)["tools"].to_string();
    assert!(
        first.contains("Loci holds the user's past coding-agent sessions"),
        "the instructions are missing"
    );
    assert!(!first.contains("intent_query"), "a tool is there that nobody looked for");
    let found = asked.request(1)["input"].as_array().unwrap().last().unwrap();
    let tools = found["tools"][0]["tools"].as_array().unwrap_or_else(|| panic!("{found}"));
    let bytes = tools.iter().map(|tool| tool.to_string().len()).sum::<usize>();
    println!(
        "a search finds {} of our tools, {bytes} bytes: {}",
        tools.len(),
        column(&found["tools"][0]["tools"], "name").join(" ")
    );
    assert!(column(&found["tools"][0]["tools"], "name").contains(&"search_conversations"));
}

/// A subagent is a session of its own in Codex's history, and asks as one.
#[test]
fn a_subagent_of_codex_asks_about_itself() {
    let client = ready();
    let spawn = json!({"message": "SCENARIO:sub go", "agent_type": "default", "task_name": "sub"});
    let mut spawn = calls("spawn_agent", spawn);
    spawn["namespace"] = json!("multi_agent_v1");
    // The subagent ends while its parent sleeps.
    let parent = [spawn, shell("sleep 3"), says("Done.")];
    let sub = [shell("echo from-the-subagent"), ours("query_tools_session", json!({})), says("Sub done.")];
    let played =
        client.play_both(("main", &parent), ("sub", &sub), &["-m", "gpt-5.2-codex", "SCENARIO:main go"]);
    let here = envelope(&told(&played, 2));
    assert!(here.to_string().contains("from-the-subagent"), "{here}");
    let beside = &said_beside(&client)[0]["x-codex-turn-metadata"];
    assert!(column(&here, "session_id").iter().all(|id| beside["thread_id"] == *id), "{here}: {beside}");
    assert_eq!(beside["parent_thread_id"], session(&played), "{beside}");
}
