//! The same question through the command line, the socket, MCP over stdio and MCP over HTTP gives the same records, for every
//! tool that changes nothing.

use crate::fixture::{Fixture, TIMEOUT};
use api::params::flag_name;
use api::tools::ToolTarget;
use api::{Set, TOOLS, Tool};
use serde_json::{Map, Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use testutil::{McpClient, sample_home, split_words, write_file};

const OWN: &str = "bbbb1111-0000-4000-8000-000000000003";

/// Parameters for each tool: enough that it finds something.
const REQUESTS: &[(&str, &str)] = &[
    ("search_conversations", r#"{"intent_query": "socket", "limit_chats": 2}"#),
    ("gather_chats", r#"{"chatIds": ["aaaa1111"]}"#),
    ("resolve_ids", r#"{"chatIdPrefix": "aaaa"}"#),
    ("list_sessions", r#"{"limit": 2}"#),
    ("query_tools", r#"{"all_projects": true, "limit": 3}"#),
    ("query_tools_session", "{}"),
    ("query_user_messages", r#"{"all_projects": true}"#),
    ("query_user_messages_session", "{}"),
    ("get_stats", r#"{"all_projects": true, "by": "tool"}"#),
    ("get_session_stats", "{}"),
    ("query_errors", r#"{"all_projects": true}"#),
    ("query_tool_sequences", r#"{"all_projects": true, "min_count": 1}"#),
    ("query_file_access", r#"{"all_projects": true}"#),
    ("query_conversation", r#"{"all_projects": true}"#),
    ("query_context", r#"{"all_projects": true}"#),
    ("query_history", r#"{"view": "usage", "all_projects": true}"#),
    ("get_outline", r#"{"path": "Quokka"}"#),
    ("get_source", r#"{"path": "Quokka.hop"}"#),
    ("find_symbols", r#"{"query": "Quokka"}"#),
    ("code_map", "{}"),
    ("find_usages", r#"{"path": "Quokka"}"#),
    ("code_graph", r#"{"filter": "type:Quokka"}"#),
    ("why", r#"{"target": "quokka.py"}"#),
    ("recall", r#"{"target": "Quokka"}"#),
    ("list_messages", "{}"),
    ("list_agents", "{}"),
    ("list_edits", "{}"),
    ("recommend", r#"{"prompt": "what did we decide about the socket in the daemon last time?"}"#),
    ("list_memory", "{}"),
    ("list_packs", "{}"),
];

/// Tools that change nothing and are not compared, each for a reason.
const NOT_COMPARED: &[(&str, &str)] = &[
    ("read_ref", "reads a file that only one of the interfaces wrote"),
    ("show_memory", "needs an ID that memory makes up"),
    ("get_semantic", "no note exists without a model"),
    ("investigate", "returns the number of an operation that differs each time"),
    ("stream_op", "takes that number"),
    ("show_edit", "needs the ID of a plan"),
    ("code_status", "counts the questions asked before"),
    ("code_changes", "needs a git repository"),
    ("code_context", "depends on what was asked for before"),
];

fn params_of(text: &str) -> Map<String, Value> {
    serde_json::from_str(text).unwrap()
}

/// The command line for a tool.
fn command_line(tool: &Tool, params: &Map<String, Value>) -> Vec<String> {
    let flags = |params: &Map<String, Value>| {
        let flag = |(name, value): (&String, &Value)| match value {
            Value::Bool(_) => format!(" --{}", flag_name(name)),
            Value::String(text) => format!(" --{} '{text}'", flag_name(name)),
            other => format!(" --{} {other}", flag_name(name)),
        };
        params.iter().map(flag).collect::<String>()
    };
    let line = match tool.asks {
        ToolTarget::Operation => tool.operation().unwrap().command_line(params),
        ToolTarget::AnyView => {
            let mut rest = params.clone();
            let view = rest.shift_remove("view").unwrap();
            format!("loci {}{}", view.as_str().unwrap(), flags(&rest))
        }
        ToolTarget::OwnSession(..) => {
            format!("loci {} --session {OWN}{}", tool.view().unwrap().title(), flags(params))
        }
        ToolTarget::View(..) => format!("loci {}{}", tool.view().unwrap().title(), flags(params)),
    };
    split_words(&line)[1..].to_vec()
}

/// The data of an envelope without the time of the answer.
fn data_of(mut envelope: Value) -> Value {
    assert_eq!(envelope["mode"], "inline", "{envelope}");
    let mut data = envelope["data"].take();
    if let Some(data) = data.as_object_mut() {
        data.retain(|name, _| !["asOf", "tookMs"].contains(&name.as_str()));
    }
    data
}

/// `loci mcp --http` and its address.
struct HttpServer {
    child: Child,
    address: String,
}

impl HttpServer {
    fn start(fixture: &Fixture, sets: &str) -> HttpServer {
        let mut command = fixture.command(&["mcp", "--http", "--toolsets", sets]);
        command.env("LOCI_DAEMON", "off").env("CLAUDE_CODE_SESSION_ID", OWN);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let address =
            line.trim().strip_prefix("loci: listening at http://").unwrap_or_else(|| panic!("{line}"));
        HttpServer { child, address: address.to_string() }
    }

    fn post(&self, session: Option<&str>, body: &Value) -> String {
        let (host, path) = self.address.split_once('/').unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let session = session.map_or(String::new(), |id| format!("Mcp-Session-Id: {id}\r\n"));
        let body = body.to_string();
        let request = format!(
            "POST /{path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nConnection: close\r\n{session}\
             MCP-Protocol-Version: 2025-06-18\r\nAccept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut response = Vec::new();
        let _ = stream.read_to_end(&mut response);
        String::from_utf8_lossy(&response).into_owned()
    }

    fn initialize(&self) -> Option<String> {
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let response =
            self.post(None, &json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}));
        let header =
            |line: &str| line.to_lowercase().strip_prefix("mcp-session-id:").map(|id| id.trim().to_string());
        let session = response.lines().find_map(header);
        self.post(session.as_deref(), &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        session
    }

    fn call(&self, session: Option<&str>, tool: &str, arguments: &Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        let response =
            self.post(session, &json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}));
        // Plain, in chunks, or as an event: the message is the one line that starts with a brace.
        let line = response.lines().map(|line| line.trim_start_matches("data: "));
        let message =
            line.filter_map(|line| serde_json::from_str::<Value>(line).ok()).find(|one| one["id"] == 2);
        let mut message = message.unwrap_or_else(|| panic!("{tool}: {response}"));
        assert_ne!(message["result"]["isError"], true, "{tool}: {message}");
        message["result"]["structuredContent"].take()
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn four_interfaces_give_the_same_records_for_every_tool() {
    let listed = |name: &str| REQUESTS.iter().chain(NOT_COMPARED).any(|(known, _)| *known == name);
    let missing: Vec<&str> =
        TOOLS.iter().filter(|tool| tool.read_only() && !listed(tool.name)).map(|tool| tool.name).collect();
    assert!(missing.is_empty(), "no request for {missing:?}");

    let fixture = Fixture::in_home(sample_home());
    write_file(
        &fixture.path().join("quokka.py"),
        b"class Quokka:\n    def hop(self):\n        return 1\n\n\ndef use():\n    return Quokka().hop()\n",
    );
    let script = "git init -q && git add quokka.py && git -c user.name=a -c user.email=a@b commit -qm first";
    let mut shell = std::process::Command::new("sh");
    let made = shell.args(["-c", script]).current_dir(fixture.path()).env("HOME", fixture.path()).status();
    assert!(made.unwrap().success());
    // The home has a damaged line.
    fixture.loci_without_daemon(&["index"]).expect(3);
    fixture.loci_without_daemon(&["memory", "consolidate", "--no-model"]);
    let sets: Vec<&str> = Set::ALL.iter().map(|(_, name, _)| *name).collect();
    let sets = sets.join(",");
    let args = ["mcp", "--toolsets", &sets];
    let mut stdio = McpClient::start_with_args(fixture.path(), &args, &[("CLAUDE_CODE_SESSION_ID", OWN)]);
    let http = HttpServer::start(&fixture, &sets);
    let session = http.initialize();
    let _daemon = fixture.serve();
    let mut different = Vec::new();
    for (name, params) in REQUESTS {
        let (tool, mut params) = (api::tool_named(name).unwrap(), params_of(params));
        params.insert("inline_threshold_bytes".to_string(), json!(65536));
        let mut words =
            command_line(tool, &params_of(REQUESTS.iter().find(|(known, _)| known == name).unwrap().1));
        words.extend(["--hybrid", "--inline-threshold-bytes", "65536"].map(str::to_string));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let printed = |output: testutil::Finished| {
            data_of(
                output.records().into_iter().next().unwrap_or_else(|| panic!("{words:?}: {}", output.stderr)),
            )
        };
        let expected = printed(fixture.loci_without_daemon(&words));
        let answers = [
            ("socket", printed(fixture.loci(&words))),
            ("stdio", data_of(stdio.call(name, Value::Object(params.clone())))),
            ("http", data_of(http.call(session.as_deref(), name, &Value::Object(params.clone())))),
        ];
        let wrong = answers.into_iter().filter(|(_, data)| *data != expected);
        different.extend(
            wrong.map(|(interface, data)| format!("{name} over {interface}: {data}\nexpected: {expected}")),
        );
    }
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
}
