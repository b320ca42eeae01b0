//! The official MCP inspector against the server, in both eras of the protocol, over stdio and HTTP.

use crate::http::HttpServer;
use serde_json::Value;
use std::process::Command;
use testutil::clients::{Clients, INSPECTOR, NODE};
use testutil::{Finished, Home, binary, run_command, sample_home, set_environment};

/// The arguments with which the inspector starts the server itself.
fn stdio_server() -> [&'static str; 2] {
    [binary(), "mcp"]
}

const ERAS: &[&str] = &["legacy", "modern"];

/// The inspector's exit code for a tool result with `isError`.
const TOOL_FAILED: i32 = 5;

fn inspect(clients: &Clients, home: &Home, server: &[&str], era: &str, line: &str) -> Finished {
    let mut command = Command::new(clients.installed.join(NODE));
    set_environment(&mut command, home.path());
    command.arg(clients.installed.join(INSPECTOR)).arg("--cli").args(server);
    command.args(["--format", "json", "--protocol-era", era]).args(line.split(' '));
    run_command(command)
}

#[test]
#[ignore = "needs mcp-tools: see CONTRIBUTING.md"]
fn the_inspector_accepts_the_tool_list_without_warnings() {
    let clients = Clients::require(&[INSPECTOR, NODE]);
    let home = sample_home();
    let server = HttpServer::start(&home);
    for (server, era) in [&stdio_server()[..], &[&server.address, "--transport", "http"]]
        .iter()
        .flat_map(|s| ERAS.iter().map(move |era| (s, era)))
    {
        let listed = inspect(&clients, &home, server, era, "--method tools/list --strict").expect(0);
        let response: Value = serde_json::from_str(listed.text()).unwrap();
        assert_eq!(
            response["result"]["tools"].as_array().unwrap().len(),
            crate::default_tool_count(),
            "{server:?} {era}"
        );
        assert_eq!(listed.stderr, "", "{server:?} {era}");
    }
}

/// The inspector's arguments, its exit code, and a text that its output contains.
const CASES: &[(&str, i32, &str)] = &[
    ("--method tools/call --tool-name search_conversations --tool-arg intent_query=socket", 0, "aaaa1111"),
    ("--method tools/call --tool-name gather_chats --tool-arg chatIds=[\"aaaa1111\"]", 0, "fix the socket"),
    ("--method tools/call --tool-name query_tools --tool-arg all_projects=true", 0, "\"mode\":\"file_ref\""),
    ("--method tools/call --tool-name get_stats --tool-arg all_projects=true", 0, "\"mode\":\"inline\""),
    ("--method tools/call --tool-name query_history --tool-arg view=sources", 0, "\"source\\\":\\\"codex"),
    (
        "--method tools/call --tool-name query_tools --tool-arg no_such=1",
        TOOL_FAILED,
        "unknown parameter `no_such`",
    ),
    (
        "--method tools/call --tool-name gather_chats --tool-arg chatIds=[\"zzz\"]",
        TOOL_FAILED,
        "SESSION_NOT_FOUND",
    ),
    ("--method tools/call --tool-name query_tools_session", TOOL_FAILED, "the requesting session is unknown"),
    ("--method prompts/list", 0, "\"recall\""),
    (
        "--method prompts/get --prompt-name recall --prompt-args what=ledger",
        0,
        "Search my past conversations for: ledger",
    ),
    ("--method prompts/get --prompt-name errors", 0, "Report what failed in this project."),
    ("--method prompts/get --prompt-name recall", 1, "missing argument `what`"),
];

#[test]
#[ignore = "needs mcp-tools: see CONTRIBUTING.md"]
fn inspector_requests_give_the_expected_output() {
    let clients = Clients::require(&[INSPECTOR, NODE]);
    let home = sample_home();
    for (era, (line, code, expected)) in ERAS.iter().flat_map(|era| CASES.iter().map(move |row| (era, row))) {
        let ended = inspect(&clients, &home, &stdio_server(), era, line);
        let output = format!("{}{}", ended.text(), ended.stderr);
        assert_eq!(ended.code, Some(*code), "{era} {line}: {output}");
        assert!(output.contains(expected), "{era} {line}: {output}");
    }
}
