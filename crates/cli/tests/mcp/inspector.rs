//! The official inspector, in both eras of the protocol, on standard input and output and over HTTP.

use crate::http::HttpServer;
use serde_json::Value;
use std::process::Command;
use testutil::clients::{Clients, INSPECTOR, NODE};
use testutil::{Finished, Home, binary, run_command, sample_home, set_environment};

/// How the inspector is told to start the server itself.
fn stdio() -> [&'static str; 2] {
    [binary(), "mcp"]
}

const ERAS: &[&str] = &["legacy", "modern"];

/// The inspector's exit code when a tool says that it failed.
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
fn nothing_in_the_list_of_tools_is_complained_of() {
    let clients = Clients::with(&[INSPECTOR, NODE]);
    let home = sample_home();
    let server = HttpServer::start(&home);
    for (server, era) in [&stdio()[..], &[&server.address, "--transport", "http"]]
        .iter()
        .flat_map(|s| ERAS.iter().map(move |era| (s, era)))
    {
        let listed = inspect(&clients, &home, server, era, "--method tools/list --strict").expect(0);
        let answer: Value = serde_json::from_str(listed.text()).unwrap();
        assert_eq!(answer["result"]["tools"].as_array().unwrap().len(), crate::usual(), "{server:?} {era}");
        assert_eq!(listed.stderr, "", "{server:?} {era}");
    }
}

/// What is asked, with which code the inspector ends, and what is in the answer.
const ASKED: &[(&str, i32, &str)] = &[
    ("--method tools/call --tool-name search_conversations --tool-arg intent_query=socket", 0, "aaaa1111"),
    ("--method tools/call --tool-name gather_chats --tool-arg chatIds=[\"aaaa1111\"]", 0, "fix the socket"),
    ("--method tools/call --tool-name query_tools --tool-arg all_projects=true", 0, "\"mode\":\"file_ref\""),
    ("--method tools/call --tool-name get_stats --tool-arg all_projects=true", 0, "\"mode\":\"inline\""),
    ("--method tools/call --tool-name query_history --tool-arg view=sources", 0, "\"source\\\":\\\"codex"),
    ("--method tools/call --tool-name query_tools --tool-arg no_such=1", TOOL_FAILED, "takes no `no_such`"),
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
    ("--method prompts/get --prompt-name recall", 1, "`what` is missing"),
];

#[test]
#[ignore = "needs mcp-tools: see CONTRIBUTING.md"]
fn what_the_inspector_asks_is_answered() {
    let clients = Clients::with(&[INSPECTOR, NODE]);
    let home = sample_home();
    for (era, (line, code, answer)) in ERAS.iter().flat_map(|era| ASKED.iter().map(move |row| (era, row))) {
        let ended = inspect(&clients, &home, &stdio(), era, line);
        let said = format!("{}{}", ended.text(), ended.stderr);
        assert_eq!(ended.code, Some(*code), "{era} {line}: {said}");
        assert!(said.contains(answer), "{era} {line}: {said}");
    }
}
