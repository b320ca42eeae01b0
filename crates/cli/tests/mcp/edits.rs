//! The real Claude Code renames a function through Loci: it plans, looks at the diff, applies and undoes, and asks for permission
//! before it writes, as for any tool that writes.

use crate::claude::{START, tool_result};
use crate::scripted_client::{ScriptedClient, ScriptedSession, envelope_data, text_block, tool_call};
use serde_json::{Value, json};
use std::fs;
use testutil::binary;
use testutil::clients::{CLAUDE, Clients};

const DECLARED: &str = "pub fn get() -> u8 {\n    1\n}\n";
const USED: &str = "use crate::a::get;\n\npub fn f() -> u8 {\n    get()\n}\n";

/// A client that works in a package of two modules.
fn client_with_code() -> ScriptedClient {
    let client = ScriptedClient::new(Clients::offline(CLAUDE), START);
    let work = client.home.path().join("work");
    fs::create_dir_all(work.join("src")).unwrap();
    for (path, text) in [
        ("Cargo.toml", "[package]\nname = \"sample\"\n"),
        ("src/lib.rs", "pub mod a;\npub mod b;\n"),
        ("src/a.rs", DECLARED),
        ("src/b.rs", USED),
    ] {
        fs::write(work.join(path), text).unwrap();
    }
    let server = json!({"command": binary(), "args": ["mcp", "--toolsets", "core,edit"]});
    let servers = json!({"mcpServers": {"loci": server}});
    fs::write(client.home.path().join("servers.json"), servers.to_string()).unwrap();
    client
}

fn sources(client: &ScriptedClient) -> [String; 2] {
    ["src/a.rs", "src/b.rs"]
        .map(|path| fs::read_to_string(client.home.path().join("work").join(path)).unwrap())
}

/// Runs calls of tools in one session; only the tools in `allowed` need no permission.
fn run_calls(
    client: &ScriptedClient,
    name: &str,
    calls: &[(&str, Value)],
    allowed: &[&str],
) -> ScriptedSession {
    let of_loci = |tool: &str| format!("mcp__loci__{tool}");
    let names: Vec<String> = calls.iter().map(|(tool, _)| of_loci(tool)).collect();
    let load = json!({"query": format!("select:{}", names.join(",")), "max_results": 10});
    let mut turns = vec![tool_call("ToolSearch", load)];
    turns.extend(calls.iter().map(|(tool, input)| tool_call(&of_loci(tool), input.clone())));
    turns.push(text_block("Done."));
    let servers = client.home.path().join("servers.json").display().to_string();
    let allowed = allowed.iter().map(|tool| of_loci(tool)).collect::<Vec<_>>().join(",");
    let prompt = format!("SCENARIO:{name} Rename it.");
    client.run_session(
        name,
        &turns,
        &["-p", &prompt, "--mcp-config", &servers, "--allowedTools", &format!("ToolSearch,{allowed}")],
    )
}

#[test]
#[ignore = "needs claude-code: see CONTRIBUTING.md"]
fn claude_code_plans_applies_and_undoes_a_rename() {
    let client = client_with_code();
    let rename = ("rename_symbol", json!({"path": "get", "new_name": "fetch"}));
    let planned = run_calls(&client, "plan", std::slice::from_ref(&rename), &["rename_symbol"]);
    let plan = envelope_data(&tool_result(&planned, 2));
    let (id, diff) = (plan["id"].as_str().unwrap(), plan["diff"].as_str().unwrap());
    assert_eq!(plan["complete"], true, "{plan}");
    assert!(diff.contains("-use crate::a::get;\n+use crate::a::fetch;\n"), "{diff}");
    assert_eq!(sources(&client), [DECLARED, USED], "a plan writes nothing");

    let applied = ("apply_edit", json!({"id": id}));
    let refused = run_calls(&client, "ask", &[rename.clone(), applied.clone()], &["rename_symbol"]);
    let answer = tool_result(&refused, 3);
    assert!(answer.contains("permission"), "{answer}");
    let denied: Value = serde_json::from_str(&refused.stdout).unwrap();
    assert_eq!(denied["permission_denials"][0]["tool_name"], "mcp__loci__apply_edit", "{denied}");
    assert_eq!(sources(&client), [DECLARED, USED], "nobody allowed it");

    run_calls(&client, "apply", std::slice::from_ref(&applied), &["apply_edit"]);
    assert_eq!(sources(&client), [DECLARED, USED].map(|text| text.replace("get", "fetch")));
    let undone = run_calls(&client, "undo", &[("undo_edit", json!({"id": id}))], &["undo_edit"]);
    assert_eq!(sources(&client), [DECLARED, USED], "{}", tool_result(&undone, 2));
    let again = run_calls(&client, "again", &[("undo_edit", json!({"id": id}))], &["undo_edit"]);
    assert!(tool_result(&again, 2).contains("error"), "it was undone: {}", tool_result(&again, 2));
}
