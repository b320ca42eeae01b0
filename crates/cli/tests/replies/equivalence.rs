//! The same request gives the same response through every interface; and every parameter of every tool either has an
//! effect or is rejected.

use api::tools::ToolTarget;
use api::{Set, TOOLS, Tool};
use serde_json::{Map, Value, json};
use testutil::McpClient;
use testutil::{run_line, sample_home};

/// A valid value for each parameter that is not a flag or a number.
fn sample_value(tool: &Tool, name: &str) -> Value {
    match name {
        "session" | "chatIdPrefix" | "messageIdPrefix" => json!("aaaa1111"),
        "chatIds" => json!(["aaaa1111"]),
        "project" => json!("/srv/demo/alpha"),
        "source" => json!(["codex"]),
        "device" => json!("desk"),
        "since" => json!("2026-03-02"),
        "until" => json!("2026-03-03"),
        "time_window" => json!("all"),
        "intent_query" => json!("socket"),
        "role_filter" => json!(["user"]),
        "exclude_terms" | "tool" => json!(["Bash"]),
        "status" => json!("error"),
        "signature" => json!("Bash-00000000"),
        "file" => json!("lib.rs"),
        "pattern" => json!(if tool.name == "query_tool_sequences" { "Read -> Edit" } else { "x" }),
        "fields" => json!([tool.view().map_or("session_id", |view| view.fields[0])]),
        "jq_filter" => json!("."),
        "by" => json!("tool"),
        "precision_mode" => json!("fuzzy"),
        "expand" => json!("auto"),
        "scope" => json!("both"),
        "match" => json!("all"),
        "response_mode" => json!("text"),
        "ref" => json!("all-20260101T000000-x-0123456789abcdef0123456789abcdef.jsonl"),
        "view" => json!("query tools"),
        "prompt" => json!("as we discussed last time about the socket"),
        "path" | "query" if tool.sets.contains(&Set::Code) => json!("Quokka"),
        "query" => json!("socket"),
        "root" => json!("tree"),
        "target" => json!("quokka.py"),
        "format" => json!("agent-trace"),
        "certainty" => json!("likely"),
        "relation" => json!("callers"),
        "kind" if tool.name == "find_symbols" => json!("class"),
        "under" => json!("tree"),
        "kind" => json!("facts"),
        "state" => json!("fresh"),
        "tag" => json!(["bug"]),
        other => panic!("{}: no value for {other}", tool.name),
    }
}

#[test]
fn tools_accept_exactly_the_parameters_they_list() {
    let home = sample_home();
    testutil::write_file(&home.path().join("tree/quokka.py"), b"class Quokka:\n    pass\n");
    run_line(&home, &format!("sync init --show-phrase {} --label desk", home.path().join("tree").display()))
        .expect(0);
    let mut agent = McpClient::new(home.path(), &[("CLAUDE_CODE_SESSION_ID", "aaaa1111")]);
    let listed = agent.request("tools/list", json!({}))["result"]["tools"].take();
    let in_default_set = |tool: &&Tool| tool.sets.iter().any(|set| Set::USUAL.contains(set));
    assert_eq!(listed.as_array().unwrap().len(), TOOLS.iter().filter(in_default_set).count());
    for (tool, shown) in TOOLS.iter().filter(in_default_set).zip(listed.as_array().unwrap()) {
        assert_eq!(
            (shown["name"].as_str().unwrap(), &shown["annotations"]["readOnlyHint"]),
            (tool.name, &json!(tool.read_only()))
        );
        let required = shown["inputSchema"]["required"].as_array().cloned().unwrap_or_default();
        let required = if tool.name == "resolve_ids" { vec![json!("chatIdPrefix")] } else { required };
        let base: Map<String, Value> = required
            .iter()
            .map(|name| (name.as_str().unwrap().to_string(), sample_value(tool, name.as_str().unwrap())))
            .collect();
        for (name, schema) in shown["inputSchema"]["properties"].as_object().unwrap() {
            let mut params = base.clone();
            params.insert(
                name.clone(),
                match schema["type"].as_str() {
                    Some("boolean") => json!(true),
                    _ if name == "threshold" => json!(0.5),
                    _ if name == "budget" => json!(300),
                    Some("integer" | "number") => json!(3),
                    _ => sample_value(tool, name),
                },
            );
            if name == "slurp" {
                params.insert("jq_filter".to_string(), json!("."));
            }
            // Views differ in their parameters: a parameter that one rejects by name is valid for another.
            let result = agent.tool_result(tool.name, Value::Object(params.clone()));
            let text = result["content"][0]["text"].as_str().unwrap_or_default();
            let expected_error = tool.asks == ToolTarget::AnyView && text.contains("unknown parameter")
                || tool.name == "read_ref" && text.contains("NOT_FOUND");
            assert!(result["isError"] != true || expected_error, "{} {params:?}: {text}", tool.name);
        }
        let mut params = base.clone();
        params.insert("nope".to_string(), json!(1));
        assert_eq!(agent.refused(tool.name, Value::Object(params)), "INVALID_ARGUMENT", "{}", tool.name);
    }
}

#[test]
fn the_server_and_the_command_line_give_the_same_response() {
    let home = sample_home();
    let mut agent = McpClient::new(home.path(), &[]);
    for (tool, params, line) in [
        ("query_tools", json!({"status": "error"}), "query tools --status error"),
        (
            "query_tools",
            json!({"tool": ["Read", "shell"], "limit": 3, "offset": 1, "reverse": true}),
            "query tools --tool Read,shell --limit 3 --offset 1 --reverse",
        ),
        ("query_user_messages", json!({"pattern": "(?i)beta"}), "query user-messages --pattern (?i)beta"),
        ("get_stats", json!({"by": "tool"}), "stats --by tool"),
        (
            "query_errors",
            json!({"since": "2026-03-02T12:00:00Z"}),
            "query errors --since 2026-03-02T12:00:00Z",
        ),
        (
            "query_tool_sequences",
            json!({"min_count": 1, "pattern": "Read -> Edit"}),
            "analyze sequences --min-count 1 --pattern 'Read -> Edit'",
        ),
        ("query_file_access", json!({"file": "src/lib.rs"}), "query file-access --file src/lib.rs"),
        ("query_conversation", json!({"fields": ["prompt", "tools"]}), "query turns --fields prompt,tools"),
        ("query_context", json!({"window": 0, "tool": ["Bash"]}), "query context --window 0 --tool Bash"),
        ("query_history", json!({"view": "usage", "by": "model"}), "usage --by model"),
        ("query_history", json!({"view": "query files", "jq_filter": ".file"}), "query files --jq .file"),
    ] {
        let mut params = params;
        (params["all_projects"], params["inline_threshold_bytes"]) = (json!(true), json!(65536));
        let data = agent.call(tool, params)["data"].take();
        let printed = run_line(&home, &format!("{line} --all-projects")).records();
        assert!(!printed.is_empty(), "{line}");
        assert_eq!(data, json!(printed), "{tool} and {line}");
    }
    for (tool, params, line) in [
        (
            "gather_chats",
            json!({"chatIds": ["aaaa1111"], "includeTools": false}),
            "show aaaa1111 --no-tools --json",
        ),
        ("resolve_ids", json!({"chatIdPrefix": "aaaa"}), "resolve --chat-id-prefix aaaa --json"),
        ("list_sessions", json!({"limit": 2}), "sessions --limit 2 --json"),
    ] {
        let mut params = params;
        params["inline_threshold_bytes"] = json!(65536);
        let data = agent.call(tool, params)["data"].take();
        // The home has a damaged line, which a list of its sessions may miss.
        let code = if tool == "list_sessions" { 3 } else { 0 };
        assert_eq!(data, run_line(&home, line).expect(code).records().remove(0), "{tool} and {line}");
    }
}
