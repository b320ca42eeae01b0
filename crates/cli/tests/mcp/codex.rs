//! The real Codex creates a history and queries it through Loci: the tool results that reach the model must match what
//! happened. Also checks the session metadata that Codex sends with each call, which is all Loci knows about the
//! requesting session.

use crate::scripted_client::{
    DECISION, FAILURE, ScriptedClient, ScriptedSession, WORD, column, envelope_data, text_block, tool_call,
};
use crate::tasks;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use testutil::binary;
use testutil::clients::{CODEX, Clients};

const START: &str =
    r#". "$CLIENTS/codex/codex_env.sh"; CX_TIMEOUT=60 cx "$home" exec --json --skip-git-repo-check "$@""#;

/// The result of the previous turn's tool call. Codex prefixes the structured content, or the text blocks of an error,
/// with the duration.
fn tool_result(session: &ScriptedSession, turn: usize) -> String {
    let output = &session.request(turn)["input"].as_array().unwrap().last().unwrap()["output"];
    let text = match output {
        Value::Array(blocks) => blocks.last().unwrap()["text"].as_str(),
        text => text.as_str(),
    };
    let text = text.unwrap_or_else(|| panic!("turn {turn}: {output}"));
    text.split_once("Output:\n").map_or(text, |(_, result)| result).to_string()
}

fn session_id(session: &ScriptedSession) -> String {
    let events = session.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let started = events.into_iter().find(|event| event["type"] == "thread.started").unwrap();
    started["thread_id"].as_str().unwrap().to_string()
}

/// A call of one of Loci's tools.
fn loci_call(tool: &str, input: Value) -> Value {
    let mut call = tool_call(tool, input);
    call["namespace"] = json!("mcp__loci");
    call
}

fn shell(command: &str) -> Value {
    tool_call("exec_command", json!({"cmd": command, "yield_time_ms": 5000}))
}

/// Registers Loci with Codex through a wrapper script that logs the messages from Codex.
fn install(client: &ScriptedClient, clients_config: &str) {
    let (home, settings) = (client.home.path(), client.home.path().join(".codex"));
    let (wrapper, log) = (home.join("heard.sh"), home.join("heard.jsonl"));
    fs::write(&wrapper, format!("#!/bin/bash\ntee -a '{}' | '{}' mcp\n", log.display(), binary())).unwrap();
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
    let server = format!("{clients_config}\n[mcp_servers.loci]\ncommand = \"{}\"\n", wrapper.display());
    fs::create_dir_all(&settings).unwrap();
    fs::write(settings.join("config.toml"), server).unwrap();
}

/// The `_meta` object of each tool call from Codex.
fn call_metadata(client: &ScriptedClient) -> Vec<Value> {
    let log = fs::read_to_string(client.home.path().join("heard.jsonl")).unwrap();
    let messages = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    messages.filter(|m| m["method"] == "tools/call").map(|m| m["params"]["_meta"].clone()).collect()
}

fn installed_client() -> ScriptedClient {
    let clients = Clients::offline(CODEX);
    let config = fs::read_to_string(clients.scripts.join("codex/config.toml")).unwrap();
    let client = ScriptedClient::new(clients, START);
    install(&client, &config);
    client
}

#[test]
#[ignore = "needs codex: see CONTRIBUTING.md"]
fn codex_queries_its_own_session() {
    let client = installed_client();
    let patch = "*** Begin Patch\n*** Add File: ledger.txt\n+one\n*** End Patch\n";
    let patch = json!({"type": "tool_use", "custom": true, "name": "apply_patch", "input": patch});
    let failing = shell(&format!("echo '{FAILURE}' >&2; exit 3"));
    let work =
        client.run_session("work", &[failing, patch, text_block("Done.")], &["SCENARIO:work Please build."]);
    let decided =
        client.run_session("decide", &[text_block(DECISION)], &["SCENARIO:decide Where does the ledger go?"]);
    let (work, decided) = (session_id(&work), session_id(&decided));

    let search = json!({"type": "tool_search_call", "execution": "client", "call_id": "call_find", "status": "completed",
        "arguments": {"query": "search past conversations", "limit": 20}});
    let queries = client.run_session(
        "ask",
        &[
            search,
            loci_call("search_conversations", json!({"intent_query": format!("{WORD} ledger decision")})),
            loci_call("gather_chats", json!({"chatIds": [decided]})),
            loci_call("query_tools", json!({"status": "error"})),
            loci_call("query_tools_session", json!({})),
            loci_call("query_file_access", json!({"file": "ledger.txt"})),
            loci_call("query_tools", json!({"no_such": 1})),
            text_block("Answered."),
        ],
        &[&format!("SCENARIO:ask What did we decide about the {WORD}?")],
    );
    let own_id = session_id(&queries);

    let found = envelope_data(&tool_result(&queries, 2));
    assert_eq!(found["results"][0]["chatId"], decided, "{found}");
    assert_eq!(found["results"][0]["snippets"][0]["text"], DECISION);
    assert!(!found.to_string().contains(&own_id), "the results contain the requesting session: {found}");

    let read = envelope_data(&tool_result(&queries, 3));
    assert_eq!(read["chat"]["id"], decided);
    assert_eq!(read["messages"].as_array().unwrap().last().unwrap()["content"], DECISION);

    let failed = envelope_data(&tool_result(&queries, 4));
    assert_eq!(column(&failed, "session_id"), [&work]);
    assert_eq!((&failed[0]["error"], &failed[0]["exit_code"]), (&json!(FAILURE), &json!(3)));

    let own_calls = envelope_data(&tool_result(&queries, 5));
    assert!(column(&own_calls, "session_id").iter().all(|id| *id == own_id), "{own_calls}");
    assert!(column(&own_calls, "tool").contains(&"mcp__loci__search_conversations"), "{own_calls}");

    let accesses = envelope_data(&tool_result(&queries, 6));
    assert_eq!(column(&accesses[0]["timeline"], "session_id"), [&work], "{accesses}");

    assert!(tool_result(&queries, 7).contains("unknown parameter `no_such`"), "{}", tool_result(&queries, 7));
    for meta in call_metadata(&client) {
        assert_eq!(meta["x-codex-turn-metadata"]["thread_id"], own_id, "{meta}");
    }
    assert_tools_are_deferred(&queries);
}

/// Codex loads a server's tools only after a tool search: the first request contains just the instructions.
fn assert_tools_are_deferred(queries: &ScriptedSession) {
    let first = queries.request(0)["tools"].to_string();
    assert!(
        first.contains("Loci holds the user's past coding-agent sessions"),
        "the instructions are missing"
    );
    assert!(!first.contains("intent_query"), "a tool was loaded without a search");
    let found = queries.request(1)["input"].as_array().unwrap().last().unwrap();
    let tools = found["tools"][0]["tools"].as_array().unwrap_or_else(|| panic!("{found}"));
    let bytes = tools.iter().map(|tool| tool.to_string().len()).sum::<usize>();
    println!(
        "a search finds {} tools of Loci, {bytes} bytes: {}",
        tools.len(),
        column(&found["tools"][0]["tools"], "name").join(" ")
    );
    assert!(column(&found["tools"][0]["tools"], "name").contains(&"search_conversations"));
}

/// A subagent is a separate session in Codex's history and sends its own session metadata.
#[test]
#[ignore = "needs codex: see CONTRIBUTING.md"]
fn a_codex_subagent_queries_its_own_session() {
    let client = installed_client();
    let spawn = json!({"message": "SCENARIO:sub go", "agent_type": "default", "task_name": "sub"});
    let mut spawn = tool_call("spawn_agent", spawn);
    spawn["namespace"] = json!("multi_agent_v1");
    // The subagent ends while its parent sleeps.
    let parent = [spawn, shell("sleep 3"), text_block("Done.")];
    let sub = [
        shell("echo from-the-subagent"),
        loci_call("query_tools_session", json!({})),
        text_block("Sub done."),
    ];
    let session = client.run_session_with_subagent(
        ("main", &parent),
        ("sub", &sub),
        &["-m", "gpt-5.2-codex", "SCENARIO:main go"],
    );
    let own_calls = envelope_data(&tool_result(&session, 2));
    assert!(own_calls.to_string().contains("from-the-subagent"), "{own_calls}");
    let metadata = &call_metadata(&client)[0]["x-codex-turn-metadata"];
    assert!(
        column(&own_calls, "session_id").iter().all(|id| metadata["thread_id"] == *id),
        "{own_calls}: {metadata}"
    );
    assert_eq!(metadata["parent_thread_id"], session_id(&session), "{metadata}");
}

#[test]
#[ignore = "needs codex: see CONTRIBUTING.md"]
fn codex_solves_ten_tasks_with_the_default_tools() {
    let client = installed_client();
    tasks::prepare(&client);
    let patch = "*** Begin Patch\n*** Add File: ledger.txt\n+one\n*** End Patch\n";
    let patch = json!({"type": "tool_use", "custom": true, "name": "apply_patch", "input": patch});
    let failing = shell(&format!("echo '{FAILURE}' >&2; exit 3"));
    client.run_session("work", &[failing, patch, text_block("Done.")], &["SCENARIO:work Please build."]);
    let decided =
        client.run_session("decide", &[text_block(DECISION)], &["SCENARIO:decide Where does the ledger go?"]);
    let tasks = tasks::ten_tasks(&session_id(&decided));
    let search = json!({"type": "tool_search_call", "execution": "client", "call_id": "call_find", "status": "completed",
        "arguments": {"query": "search past conversations, errors, memory and code", "limit": 50}});
    let mut turns = vec![search];
    turns.extend(tasks::calls(&tasks, loci_call));
    turns.push(text_block("Answered."));
    let solved = client.run_session("ask", &turns, &["SCENARIO:ask Ten questions."]);
    tasks::assert_solved(&tasks, |at| tool_result(&solved, at + 2));
}
