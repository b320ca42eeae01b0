//! The real Claude Code makes a history and asks Loci about it: what the model is then told must be what happened.

use crate::scripted_client::{
    DECISION, FAILURE, Played, ScriptedClient, WORD, calls, column, envelope, says,
};
use serde_json::{Value, json};
use std::fs;
use testutil::binary;
use testutil::clients::{CLAUDE, Clients};

const START: &str = r#"CL_TIMEOUT=60 cl "$home" "$@" --output-format json"#;

/// The text that came back from the call of the turn before.
fn told(played: &Played, turn: usize) -> String {
    let messages = played.request(turn)["messages"].as_array().unwrap();
    let asked = messages.iter().rfind(|message| message["role"] == "user").unwrap();
    let result = asked["content"].as_array().unwrap().iter().find(|block| block["type"] == "tool_result");
    match &result.unwrap_or_else(|| panic!("turn {turn}: {asked}"))["content"] {
        Value::String(text) => text.clone(),
        blocks => blocks[0]["text"].as_str().unwrap_or_else(|| panic!("turn {turn}: {blocks}")).to_string(),
    }
}

fn session(played: &Played) -> String {
    let said: Value = serde_json::from_str(&played.said).unwrap();
    said["session_id"].as_str().unwrap().to_string()
}

/// The tools of ours that stand in a request, and the bytes that they cost.
fn offered(played: &Played, turn: usize) -> (Vec<String>, usize) {
    let tools = played.request(turn)["tools"].as_array().unwrap();
    let ours =
        tools.iter().filter(|tool| tool["name"].as_str().is_some_and(|n| n.starts_with("mcp__loci__")));
    let ours: Vec<&Value> = ours.collect();
    let bytes = ours.iter().map(|tool| tool.to_string().len()).sum();
    (ours.iter().map(|tool| tool["name"].as_str().unwrap().to_string()).collect(), bytes)
}

#[test]
#[ignore = "needs claude-code: see CONTRIBUTING.md"]
fn claude_code_asks_about_what_it_did_and_is_told() {
    let clients = Clients::offline(CLAUDE);
    let client = ScriptedClient::new(clients, START);
    let file = "{{CWD}}/ledger.txt";
    let work = client.play(
        "work",
        &[
            calls(
                "Bash",
                json!({"command": format!("echo '{FAILURE}' >&2; exit 3"), "description": "Build"}),
            ),
            calls("Write", json!({"file_path": file, "content": "one\n"})),
            calls("Edit", json!({"file_path": file, "old_string": "one", "new_string": "two"})),
            says("Done."),
        ],
        &["-p", "SCENARIO:work Please build.", "--dangerously-skip-permissions"],
    );
    let decided =
        client.play("decide", &[says(DECISION)], &["-p", "SCENARIO:decide Where does the ledger go?"]);
    let (work, decided) = (session(&work), session(&decided));

    let servers = client.home.path().join("servers.json");
    fs::write(&servers, json!({"mcpServers": {"loci": {"command": binary(), "args": ["mcp"]}}}).to_string())
        .unwrap();
    let hidden = "gather_chats query_tools query_tools_session query_file_access";
    let hidden: Vec<String> = hidden.split(' ').map(|name| format!("mcp__loci__{name}")).collect();
    let asked = client.play(
        "ask",
        &[
            calls(
                "mcp__loci__search_conversations",
                json!({"intent_query": format!("{WORD} ledger decision")}),
            ),
            calls("ToolSearch", json!({"query": format!("select:{}", hidden.join(",")), "max_results": 10})),
            calls("mcp__loci__gather_chats", json!({"chatIds": [decided]})),
            calls("mcp__loci__query_tools", json!({"status": "error"})),
            calls("mcp__loci__query_tools_session", json!({})),
            calls("mcp__loci__query_file_access", json!({"file": "ledger.txt"})),
            calls("mcp__loci__query_tools", json!({"no_such": 1})),
            says("Answered."),
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
    let own = session(&asked);

    let found = envelope(&told(&asked, 1));
    assert_eq!(found["results"][0]["chatId"], decided, "{found}");
    assert_eq!(found["results"][0]["snippets"][0]["text"], DECISION);
    assert!(!found.to_string().contains(&own), "the session that asks is among what it is told: {found}");

    let read = envelope(&told(&asked, 3));
    assert_eq!(read["chat"]["id"], decided);
    assert_eq!(read["messages"].as_array().unwrap().last().unwrap()["content"], DECISION);

    let failed = envelope(&told(&asked, 4));
    assert_eq!(column(&failed, "session_id"), [&work]);
    assert!(failed[0]["error"].as_str().unwrap().contains(FAILURE), "{failed}");
    assert_eq!((&failed[0]["tool"], &failed[0]["exit_code"]), (&json!("Bash"), &json!(3)));

    let here = envelope(&told(&asked, 5));
    assert!(column(&here, "session_id").iter().all(|id| *id == own), "{here}");
    assert_eq!(column(&here, "tool")[0], "mcp__loci__search_conversations");

    let touched = envelope(&told(&asked, 6));
    assert_eq!(column(&touched[0]["timeline"], "action"), ["write", "edit"], "{touched}");
    assert_eq!(column(&touched[0]["timeline"], "session_id"), [&work, &work]);

    assert!(told(&asked, 7).contains("takes no `no_such`"), "{}", told(&asked, 7));
    what_reaches_the_model(&asked);
}

/// Only what everything begins with is there from the start; the others cost nothing before they are looked for.
fn what_reaches_the_model(asked: &Played) {
    for turn in [0, 2] {
        let (names, bytes) = offered(asked, turn);
        println!(
            "turn {turn}: {} of our tools in the request, {bytes} bytes: {}",
            names.len(),
            names.join(" ")
        );
    }
    assert_eq!(offered(asked, 0).0, ["mcp__loci__search_conversations"]);
    let first = asked.request(0).to_string();
    assert!(
        first.contains("Loci holds the user's past coding-agent sessions"),
        "the instructions are missing"
    );
}
