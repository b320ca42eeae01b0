//! The real Claude Code creates a history and queries it through Loci: the tool results that reach the model must match
//! what happened.

use crate::scripted_client::{
    DECISION, FAILURE, ScriptedClient, ScriptedSession, WORD, column, envelope_data, text_block, tool_call,
};
use crate::tasks;
use serde_json::{Value, json};
use std::fs;
use testutil::binary;
use testutil::clients::{CLAUDE, Clients};

pub(crate) const START: &str = r#"CL_TIMEOUT=60 cl "$home" "$@" --output-format json"#;

/// The result of the previous turn's tool call.
pub(crate) fn tool_result(session: &ScriptedSession, turn: usize) -> String {
    let messages = session.request(turn)["messages"].as_array().unwrap();
    let message = messages.iter().rfind(|message| message["role"] == "user").unwrap();
    let result = message["content"].as_array().unwrap().iter().find(|block| block["type"] == "tool_result");
    match &result.unwrap_or_else(|| panic!("turn {turn}: {message}"))["content"] {
        Value::String(text) => text.clone(),
        blocks => blocks[0]["text"].as_str().unwrap_or_else(|| panic!("turn {turn}: {blocks}")).to_string(),
    }
}

fn session_id(session: &ScriptedSession) -> String {
    let output: Value = serde_json::from_str(&session.stdout).unwrap();
    output["session_id"].as_str().unwrap().to_string()
}

/// The Loci tools in a request, and their size in bytes.
fn loci_tools_in_request(session: &ScriptedSession, turn: usize) -> (Vec<String>, usize) {
    let tools = session.request(turn)["tools"].as_array().unwrap();
    let loci_tools =
        tools.iter().filter(|tool| tool["name"].as_str().is_some_and(|n| n.starts_with("mcp__loci__")));
    let loci_tools: Vec<&Value> = loci_tools.collect();
    let bytes = loci_tools.iter().map(|tool| tool.to_string().len()).sum();
    (loci_tools.iter().map(|tool| tool["name"].as_str().unwrap().to_string()).collect(), bytes)
}

#[test]
#[ignore = "needs claude-code: see CONTRIBUTING.md"]
fn claude_code_queries_its_own_session() {
    let clients = Clients::offline(CLAUDE);
    let client = ScriptedClient::new(clients, START);
    let file = "{{CWD}}/ledger.txt";
    let work = client.run_session(
        "work",
        &[
            tool_call(
                "Bash",
                json!({"command": format!("echo '{FAILURE}' >&2; exit 3"), "description": "Build"}),
            ),
            tool_call("Write", json!({"file_path": file, "content": "one\n"})),
            tool_call("Edit", json!({"file_path": file, "old_string": "one", "new_string": "two"})),
            text_block("Done."),
        ],
        &["-p", "SCENARIO:work Please build.", "--dangerously-skip-permissions"],
    );
    let decided = client.run_session(
        "decide",
        &[text_block(DECISION)],
        &["-p", "SCENARIO:decide Where does the ledger go?"],
    );
    let (work, decided) = (session_id(&work), session_id(&decided));

    let servers = client.home.path().join("servers.json");
    fs::write(&servers, json!({"mcpServers": {"loci": {"command": binary(), "args": ["mcp"]}}}).to_string())
        .unwrap();
    let hidden = "gather_chats query_tools query_tools_session query_file_access";
    let hidden: Vec<String> = hidden.split(' ').map(|name| format!("mcp__loci__{name}")).collect();
    let queries = client.run_session(
        "ask",
        &[
            tool_call(
                "mcp__loci__search_conversations",
                json!({"intent_query": format!("{WORD} ledger decision")}),
            ),
            tool_call(
                "ToolSearch",
                json!({"query": format!("select:{}", hidden.join(",")), "max_results": 10}),
            ),
            tool_call("mcp__loci__gather_chats", json!({"chatIds": [decided]})),
            tool_call("mcp__loci__query_tools", json!({"status": "error"})),
            tool_call("mcp__loci__query_tools_session", json!({})),
            tool_call("mcp__loci__query_file_access", json!({"file": "ledger.txt"})),
            tool_call("mcp__loci__query_tools", json!({"no_such": 1})),
            text_block("Answered."),
        ],
        &[
            "-p",
            &format!("SCENARIO:ask What did we decide about the {WORD}?"),
            "--mcp-config",
            servers.to_str().unwrap(),
            "--allowedTools",
            "mcp__loci",
        ],
    );
    let own_id = session_id(&queries);

    let found = envelope_data(&tool_result(&queries, 1));
    assert_eq!(found["results"][0]["chatId"], decided, "{found}");
    assert_eq!(found["results"][0]["snippets"][0]["text"], DECISION);
    assert!(!found.to_string().contains(&own_id), "the results contain the requesting session: {found}");

    let read = envelope_data(&tool_result(&queries, 3));
    assert_eq!(read["chat"]["id"], decided);
    assert_eq!(read["messages"].as_array().unwrap().last().unwrap()["content"], DECISION);

    let failed = envelope_data(&tool_result(&queries, 4));
    assert_eq!(column(&failed, "session_id"), [&work]);
    assert!(failed[0]["error"].as_str().unwrap().contains(FAILURE), "{failed}");
    assert_eq!((&failed[0]["tool"], &failed[0]["exit_code"]), (&json!("Bash"), &json!(3)));

    let own_calls = envelope_data(&tool_result(&queries, 5));
    assert!(column(&own_calls, "session_id").iter().all(|id| *id == own_id), "{own_calls}");
    assert_eq!(column(&own_calls, "tool").last(), Some(&"mcp__loci__search_conversations"), "newest first");

    let accesses = envelope_data(&tool_result(&queries, 6));
    assert_eq!(column(&accesses[0]["timeline"], "action"), ["write", "edit"], "{accesses}");
    assert_eq!(column(&accesses[0]["timeline"], "session_id"), [&work, &work]);

    assert!(tool_result(&queries, 7).contains("unknown parameter `no_such`"), "{}", tool_result(&queries, 7));
    assert_tools_are_deferred(&queries);
}

/// The first request contains one tool of each kind; Claude Code loads the others after a tool search.
fn assert_tools_are_deferred(queries: &ScriptedSession) {
    for turn in [0, 2] {
        let (names, bytes) = loci_tools_in_request(queries, turn);
        println!(
            "turn {turn}: {} tools of Loci in the request, {bytes} bytes: {}",
            names.len(),
            names.join(" ")
        );
    }
    let loaded: Vec<String> = ["get_outline", "list_memory", "query_errors", "search_conversations"]
        .map(|name| format!("mcp__loci__{name}"))
        .to_vec();
    assert_eq!(loci_tools_in_request(queries, 0).0, loaded, "one of each kind");
    let first = queries.request(0).to_string();
    assert!(
        first.contains("Loci holds the user's past coding-agent sessions"),
        "the instructions are missing"
    );
}

#[test]
#[ignore = "needs claude-code: see CONTRIBUTING.md"]
fn claude_code_solves_ten_tasks_with_the_default_tools() {
    let client = ScriptedClient::new(Clients::offline(CLAUDE), START);
    tasks::prepare(&client);
    let failing = json!({"command": format!("echo '{FAILURE}' >&2; exit 3"), "description": "Build"});
    let written = json!({"file_path": "{{CWD}}/ledger.txt", "content": "one\n"});
    client.run_session(
        "work",
        &[tool_call("Bash", failing), tool_call("Write", written), text_block("Done.")],
        &["-p", "SCENARIO:work Please build.", "--dangerously-skip-permissions"],
    );
    let decided = client.run_session(
        "decide",
        &[text_block(DECISION)],
        &["-p", "SCENARIO:decide Where does the ledger go?"],
    );
    let tasks = tasks::ten_tasks(&session_id(&decided));
    let servers = client.home.path().join("servers.json");
    fs::write(&servers, json!({"mcpServers": {"loci": {"command": binary(), "args": ["mcp"]}}}).to_string())
        .unwrap();
    let names: Vec<String> =
        tasks::tool_names(&tasks).iter().map(|name| format!("mcp__loci__{name}")).collect();
    let load = json!({"query": format!("select:{}", names.join(",")), "max_results": 20});
    let mut turns = vec![tool_call("ToolSearch", load)];
    turns.extend(tasks::calls(&tasks, |tool, input| tasks::prefixed_call("mcp__loci__", tool, input)));
    turns.push(text_block("Answered."));
    let servers = servers.to_str().unwrap();
    let solved = client.run_session(
        "ask",
        &turns,
        &["-p", "SCENARIO:ask Ten questions.", "--mcp-config", servers, "--allowedTools", "mcp__loci"],
    );
    // The first turn loads the tools.
    tasks::assert_solved(&tasks, |at| tool_result(&solved, at + 2));
}
