//! Small responses are inline, large ones are saved to a file, and both are complete.

use serde_json::{Value, json};
use std::fs;
use testutil::McpClient;
use testutil::{ALPHA, Home, Session, command, run_command, run_line, write_file};

/// A session with `calls` calls, every seventh of which failed.
fn home_with_history(calls: usize) -> Home {
    let home = Home::new();
    let mut session = Session::new("aaaa1111-0000-4000-8000-000000000000", ALPHA, "2026-03-02T09:00:00Z");
    session.prompt("count the pebbles");
    for n in 0..calls {
        let input = json!({"command": format!("echo pebble {n}")});
        if n % 7 == 3 {
            session.failed("Bash", input, &format!("pebble {n} is lost"));
        } else {
            session.did("Bash", input, &format!("pebble {n}"));
        }
    }
    home.add(&session);
    home
}

/// The records of a saved result.
fn saved_records(envelope: &Value) -> Vec<Value> {
    let text = fs::read_to_string(envelope["file_ref"]["path"].as_str().unwrap()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn json_length(value: &Value) -> usize {
    value.to_string().len()
}

#[test]
fn many_records_are_saved_to_a_file_and_few_stay_inline() {
    let home = home_with_history(1500);
    let mut agent = McpClient::new(home.path(), &[]);
    let many = agent.call("query_tools", json!({"all_projects": true}));
    assert_eq!(many["mode"], "file_ref");
    let (file_ref, summary) = (&many["file_ref"], &many["file_ref"]["summary"]);
    assert_eq!((&file_ref["line_count"], &summary["total_records"]), (&json!(1500), &json!(1500)));
    assert_eq!((&summary["error_count"], &summary["success_count"]), (&json!(214), &json!(1286)));
    assert_eq!(summary["by_tool"], json!({"Bash": 1500}));
    assert!(file_ref["fields"].as_array().unwrap().contains(&json!("status")));
    assert!(summary["first_line"]["id"].is_string() && summary["last_line"]["id"].is_string());
    assert!(json_length(&many) <= 2048, "{} bytes: {many}", json_length(&many));
    // The file contains every record, exactly as the command line prints it.
    let printed = run_line(&home, "query tools --all-projects").expect(0).records();
    assert_eq!(saved_records(&many), printed);
    let path = file_ref["path"].as_str().unwrap();
    assert_eq!(fs::metadata(path).unwrap().len(), file_ref["size_bytes"].as_u64().unwrap());
    // {session}-{time}-{query}-{random}
    let name = path.rsplit('/').next().unwrap().strip_suffix(".jsonl").unwrap();
    let parts: Vec<&str> = name.split('-').collect();
    assert_eq!((parts[0], parts[2], parts[3].len()), ("all", "query_tools", 32), "{name}");

    let few = agent.call("query_tools", json!({"all_projects": true, "limit": 10}));
    assert_eq!(few["mode"], "inline");
    assert_eq!(few["data"].as_array().unwrap()[..], printed[..10]);
    let one = agent.call("query_tools", json!({"session": "aaaa1111", "limit": 600}));
    assert!(one["file_ref"]["path"].as_str().unwrap().contains("/aaaa1111-"), "{one}");
}

#[test]
fn the_inline_threshold_is_set_by_parameter_environment_and_configuration() {
    let home = home_with_history(4);
    let modes = |agent: &mut McpClient| {
        let mut mode = |more: Value| {
            let mut params = json!({"all_projects": true, "fields": ["tool"]});
            params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            agent.call("query_tools", params)["mode"].as_str().unwrap().to_string()
        };
        [
            mode(json!({})),
            mode(json!({"inline_threshold_bytes": 0})),
            mode(json!({"inline_threshold_bytes": 65536})),
        ]
    };
    assert_eq!(modes(&mut McpClient::new(home.path(), &[])), ["inline", "file_ref", "inline"]);
    let variable = [("LOCI_INLINE_THRESHOLD", "10")];
    assert_eq!(modes(&mut McpClient::new(home.path(), &variable)), ["file_ref", "file_ref", "inline"]);
    write_file(&home.path().join(".config/loci/config.toml"), b"inline_threshold_bytes = 10\n");
    assert_eq!(modes(&mut McpClient::new(home.path(), &[])), ["file_ref", "file_ref", "inline"]);
    // The environment overrides the configuration.
    let variable = [("LOCI_INLINE_THRESHOLD", "8192")];
    assert_eq!(modes(&mut McpClient::new(home.path(), &variable)), ["inline", "file_ref", "inline"]);
    let variable = [("LOCI_INLINE_THRESHOLD", "100000")];
    assert_eq!(
        modes(&mut McpClient::new(home.path(), &variable)),
        ["inline", "file_ref", "inline"],
        "capped"
    );
    let mut agent = McpClient::new(home.path(), &[("LOCI_INLINE_THRESHOLD", "much")]);
    assert_eq!(agent.refused("query_tools", json!({})), "INVALID_ARGUMENT");
    write_file(&home.path().join(".config/loci/config.toml"), b"inline_treshold = 10\n");
    let mut agent = McpClient::new(home.path(), &[]);
    assert_eq!(agent.refused("query_tools", json!({})), "INVALID_ARGUMENT");
    assert_eq!(agent.refused("query_tools", json!({"inline_threshold_bytes": 65537})), "INVALID_ARGUMENT");
}

/// A response of exactly the threshold stays inline; one byte more goes to a file.
#[test]
fn the_inline_threshold_is_exact() {
    let home = home_with_history(3);
    let mut agent = McpClient::new(home.path(), &[]);
    let params =
        |n: usize| json!({"all_projects": true, "fields": ["tool", "id"], "inline_threshold_bytes": n});
    let data = agent.call("query_tools", params(8192))["data"].take();
    let exact = json_length(&data);
    assert_eq!(agent.call("query_tools", params(exact))["mode"], "inline");
    assert_eq!(agent.call("query_tools", params(exact - 1))["mode"], "file_ref");
}

#[test]
fn a_file_ref_response_is_small_regardless_of_the_file_content() {
    let home = Home::new();
    let mut session = Session::new(
        "bbbb2222-0000-4000-8000-000000000000",
        &format!("/srv/{}", "d".repeat(200)),
        "2026-03-02T09:00:00Z",
    );
    session.prompt(&"虚拟列表 ".repeat(3000));
    for n in 0..40 {
        let name = format!("mcp__{}__{}", "server".repeat(8), "tool".repeat(n + 1));
        session.did(
            &name,
            json!({"path": "p".repeat(5000), "\u{1f600}".repeat(50): n}),
            &"line\n".repeat(4000),
        );
        session.failed("Bash", json!({"command": "c".repeat(900)}), &format!("{n}{}", "\\\"\n".repeat(2000)));
    }
    session
        .did("Read", json!({"file_path": format!("/{}", "f".repeat(3000))}), "x")
        .reply(&[&"r".repeat(90_000)]);
    home.add(&session);
    let mut agent = McpClient::new(home.path(), &[]);
    let wide = r#"[range(300) | {key: ("field" * 9 + tostring), value: .}] | from_entries"#;
    for (tool, params) in [
        ("query_tools", json!({})),
        ("query_tools", json!({"stats_first": true})),
        ("query_tools", json!({"jq_filter": wide})),
        ("query_tools", json!({"jq_filter": ".output"})),
        ("query_errors", json!({})),
        ("query_conversation", json!({})),
        ("query_user_messages", json!({})),
        ("query_file_access", json!({"inline_threshold_bytes": 0})),
        ("query_history", json!({"view": "query messages"})),
        ("search_conversations", json!({"intent_query": "虚拟列表", "inline_threshold_bytes": 0})),
        ("gather_chats", json!({"chatIds": ["bbbb2222"]})),
        ("list_sessions", json!({"inline_threshold_bytes": 0})),
    ] {
        let mut params = params;
        if tool.starts_with("query") {
            params["all_projects"] = json!(true);
        }
        let response = agent.call(tool, params.clone());
        assert_eq!(response["mode"], "file_ref", "{tool} {params}: {response:.300}");
        assert!(
            json_length(&response) <= 2048,
            "{tool} {params}: {} bytes: {response}",
            json_length(&response)
        );
        assert_eq!(
            saved_records(&response).len() as u64,
            response["file_ref"]["line_count"].as_u64().unwrap(),
            "{tool}"
        );
    }
}

#[test]
fn stats_can_replace_or_precede_the_records() {
    let home = home_with_history(14);
    let mut agent = McpClient::new(home.path(), &[]);
    let counts = json!([{"tool": "Bash", "status": "success", "count": 12}, {"tool": "Bash", "status": "error", "count": 2}]);
    let only = agent.call("query_tools", json!({"all_projects": true, "stats_only": true}));
    assert_eq!((&only["mode"], &only["data"]), (&json!("inline"), &counts));
    let first =
        agent.call("query_tools", json!({"all_projects": true, "stats_first": true, "fields": ["id"]}));
    assert_eq!(first["data"].as_array().unwrap().len(), 14);
    let first = agent.call(
        "query_tools",
        json!({"all_projects": true, "stats_first": true, "fields": ["tool", "status"]}),
    );
    assert_eq!(first["stats"], counts);
    // Filters apply before counting; the same on the command line.
    let params = json!({"all_projects": true, "stats_only": true, "jq_filter": "select(.status == \"error\") | .tool"});
    assert_eq!(agent.call("query_tools", params)["data"], json!([{"value": "Bash", "count": 2}]));
    let line = "query tools --all-projects --stats-only --jq 'select(.status==\"error\")|.tool'";
    assert_eq!(run_line(&home, line).expect(0).text(), "{\"value\":\"Bash\",\"count\":2}\n");
    let both = run_line(&home, "query tools --all-projects --stats-first --fields tool,status").expect(0);
    let (head, tail) = both.text().split_once("---\n").unwrap();
    assert_eq!((head.lines().count(), tail.lines().count()), (2, 14));
    let table = run_line(&home, "query tools --all-projects --stats-only -o tsv").expect(0);
    assert_eq!(table.text(), "tool\tstatus\tcount\nBash\tsuccess\t12\nBash\terror\t2\n");
    run_line(&home, "query tools --all-projects --stats-first -o tsv").expect(1);
    assert_eq!(
        agent.refused("query_tools", json!({"stats_only": true, "stats_first": true})),
        "INVALID_ARGUMENT"
    );
    // Counting leaves no file behind.
    let refs = home.path().join(".local/state/loci/refs");
    assert!(!refs.exists() || fs::read_dir(refs).unwrap().next().is_none());
}

#[test]
fn the_records_of_an_operation_can_be_filtered_and_counted() {
    let home = home_with_history(6);
    let mut agent = McpClient::new(home.path(), &[]);
    let roles = agent
        .call("gather_chats", json!({"chatIds": ["aaaa1111"], "jq_filter": ".role", "stats_only": true}));
    let total: u64 = roles["data"].as_array().unwrap().iter().map(|r| r["count"].as_u64().unwrap()).sum();
    let all = agent.call("gather_chats", json!({"chatIds": ["aaaa1111"], "inline_threshold_bytes": 65536}));
    assert_eq!(total, all["data"]["messages"].as_array().unwrap().len() as u64);
    assert_eq!(agent.call("list_sessions", json!({"jq_filter": ".chatId[:8]"}))["data"], json!(["aaaa1111"]));
    assert_eq!(run_line(&home, "sessions --jq '.chatId[:8]'").expect(0).text(), "\"aaaa1111\"\n");
    assert_eq!(run_line(&home, "sessions --stats-only").expect(0).records()[0]["count"], 1);
    assert_eq!(
        agent.refused("resolve_ids", json!({"chatIdPrefix": "a", "jq_filter": "."})),
        "INVALID_ARGUMENT"
    );
    run_line(&home, "index --stats-only").expect(1);
}

#[test]
fn the_hybrid_flag_prints_what_an_agent_gets() {
    let home = home_with_history(30);
    let mut agent = McpClient::new(home.path(), &[]);
    let mut from_server = agent.call("query_tools", json!({"all_projects": true, "limit": 2}));
    let mut from_command_line =
        run_line(&home, "query tools --all-projects --limit 2 --hybrid").expect(0).records().remove(0);
    (from_server["recalled"]["as_of"], from_command_line["recalled"]["as_of"]) = (json!(0), json!(0));
    assert_eq!(from_server, from_command_line);
    let found = run_line(&home, "search pebble --hybrid").expect(0).records().remove(0);
    assert_eq!(found["data"]["topChatIds"], json!(["aaaa1111-0000-4000-8000-000000000000"]));
    run_line(&home, "query tools --inline-threshold-bytes 5").expect(1);
    // Unmasked output is never saved to files.
    run_line(&home, "query tools --unmasked --hybrid").expect(1);
    run_line(&home, "query tools --unmasked --stats-first").expect(1);
    let no_results =
        run_line(&home, "query tools --all-projects --tool Nope --hybrid").expect(2).records().remove(0);
    assert_eq!((&no_results["mode"], &no_results["data"]), (&json!("inline"), &json!([])));
}

#[test]
fn a_saved_result_can_be_read_through_the_server() {
    let home = Home::new();
    let mut session = Session::new("cccc3333-0000-4000-8000-000000000000", ALPHA, "2026-03-02T09:00:00Z");
    session.prompt("go").did("Bash", json!({"command": "long"}), &"虚a\"".repeat(9000));
    for n in 0..50 {
        session.did("Read", json!({"file_path": format!("/f{n}")}), "short");
    }
    home.add(&session);
    let mut agent = McpClient::new(home.path(), &[]);
    let response = agent.call("query_tools", json!({"all_projects": true, "reverse": true}));
    let all = saved_records(&response);
    let path = response["file_ref"]["path"].as_str().unwrap().to_string();
    let name = path.rsplit('/').next().unwrap().to_string();
    // Reading it in parts returns every record, including the line that is longer than a response.
    let (mut read, mut offset, mut long, mut byte, mut rounds) = (Vec::new(), 0, String::new(), 0, 0);
    loop {
        rounds += 1;
        assert!(rounds < 100);
        let params =
            json!({"ref": if rounds % 2 == 0 { &name } else { &path }, "offset": offset, "from_byte": byte});
        let data = agent.call("read_ref", params)["data"].take();
        assert_eq!(data["total_lines"], 51);
        if let Some(part) = data["part"].as_object() {
            long.push_str(part["text"].as_str().unwrap());
            byte = part.get("next_byte").map_or(0, |next| next.as_u64().unwrap());
            if byte > 0 {
                continue;
            }
            read.push(serde_json::from_str(&std::mem::take(&mut long)).unwrap());
        } else {
            read.extend(data["lines"].as_array().unwrap().iter().cloned());
        }
        match data["next_offset"].as_u64() {
            Some(next) => offset = next,
            None => break,
        }
    }
    assert_eq!(read, all);
    let two = agent.call("read_ref", json!({"ref": name, "offset": 7, "limit": 2}))["data"].take();
    assert_eq!(two["lines"].as_array().unwrap()[..], all[7..9]);
    assert_eq!(two["next_offset"], 9);
    let from_command_line =
        run_line(&home, &format!("ref {name} --offset 50 -o json")).expect(0).records().remove(0);
    assert_eq!(from_command_line["lines"][0], all[50]);
}

#[test]
fn an_agent_can_query_its_own_session() {
    let home = home_with_history(5);
    let mut other = Session::new("dddd4444-0000-4000-8000-000000000000", ALPHA, "2026-03-03T09:00:00Z");
    other.prompt("count the pebbles again").did("Read", json!({"file_path": "/x"}), "pebble");
    home.add(&other);
    let own_session = [("CLAUDE_CODE_SESSION_ID", "dddd4444-0000-4000-8000-000000000000")];
    let mut agent = McpClient::new(home.path(), &own_session);
    let calls = agent.call("query_tools_session", json!({"fields": ["tool"]}));
    assert_eq!(calls["data"], json!([{"tool": "Read"}]));
    assert_eq!(agent.call("get_session_stats", json!({}))["data"][0]["tool_calls"], 1);
    let messages = agent.call("query_user_messages_session", json!({"fields": ["text"]}));
    assert_eq!(messages["data"], json!([{"text": "count the pebbles again"}]));
    // A search excludes the requesting session.
    let found = agent.call("search_conversations", json!({"intent_query": "pebbles"}));
    assert_eq!(found["data"]["topChatIds"], json!(["aaaa1111-0000-4000-8000-000000000000"]));
    assert_eq!(agent.refused("query_tools_session", json!({"session": "aaaa1111"})), "INVALID_ARGUMENT");
    let mut agent_without_session = McpClient::new(home.path(), &[]);
    assert_eq!(agent_without_session.refused("query_tools_session", json!({})), "SESSION_NOT_FOUND");
    let mut agent_in_project = McpClient::new(home.path(), &[("CLAUDE_PROJECT_DIR", ALPHA)]);
    let latest = agent_in_project.call("query_tools_session", json!({"fields": ["tool"]}));
    assert_eq!(latest["data"], json!([{"tool": "Read"}]), "the latest session of the project");
    assert!(latest["notes"][0].as_str().unwrap().contains("dddd4444"), "{latest}");
    let found = agent_without_session.call("search_conversations", json!({"intent_query": "pebbles"}));
    assert_eq!(found["data"]["topChatIds"].as_array().unwrap().len(), 2);
}

#[test]
fn an_empty_stdin_ends_the_server() {
    let home = home_with_history(1);
    let mut server = command(home.path(), &["mcp"]);
    server.stdin(std::process::Stdio::null());
    run_command(server).expect(0);
}
