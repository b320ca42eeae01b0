//! Protocol errors get the response that the protocol requires, and the server continues. Long calls report progress,
//! can be cancelled, and do not block other calls.

use crate::raw_client::{RawClient, TIMEOUT};
use crate::shutdown::child_pids;
use serde_json::{Value, json};
use std::time::Duration;
use testutil::{ALPHA, Home, Session, sample_home};

const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const UNSUPPORTED_VERSION: i64 = -32022;

/// The `_meta` object that clients send with each request since protocol version 2026-07-28.
fn request_meta(version: &str) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// Lines and the code of the error response to each; `None` where there is no response. A line that is not JSON has no
/// ID to respond to: like the official SDKs, the server stays silent, so that two peers cannot send errors back and
/// forth for ever.
fn odd_lines() -> Vec<(Vec<u8>, Option<i64>)> {
    let request = |method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": "bad", "method": method, "params": params}).to_string().into_bytes()
    };
    let mut truncated = request("ping", json!({}));
    truncated.truncate(20);
    vec![
        (b"this is not JSON".to_vec(), None),
        (truncated, None),
        (b"{\"jsonrpc\":\"2.0\",\"id\":\"bad\",\"method\":\"ping\",\"x\":\"\xff\xfe\"}".to_vec(), None),
        (vec![b'x'; 5 << 20], None),
        (Vec::new(), None),
        (b"  ".to_vec(), None),
        (br#"{"hello":1}"#.to_vec(), Some(INVALID_REQUEST)),
        (br#"{"jsonrpc":"2.0","id":"bad"}"#.to_vec(), Some(INVALID_REQUEST)),
        (br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#.to_vec(), Some(INVALID_REQUEST)),
        (br#"[{"jsonrpc":"2.0","id":"bad","method":"ping"}]"#.to_vec(), Some(INVALID_REQUEST)),
        (br#"{"jsonrpc":"2.0","method":"notifications/no_such"}"#.to_vec(), None),
        (br#"{"jsonrpc":"2.0","method":"tools/list"}"#.to_vec(), None),
        (br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}"#.to_vec(), None),
        (br#"{"jsonrpc":"2.0","id":77,"result":{}}"#.to_vec(), None),
        (request("no/such", json!({})), Some(METHOD_NOT_FOUND)),
        (request("resources/read", json!({"uri": "file:///x"})), Some(METHOD_NOT_FOUND)),
        (request("tools/call", json!({"name": 5})), Some(INVALID_PARAMS)),
        (request("tools/call", json!({})), Some(INVALID_PARAMS)),
        (request("tools/call", json!({"name": "query_tools", "arguments": [1]})), Some(INVALID_PARAMS)),
        (request("tools/call", json!({"name": "no_such", "arguments": {}})), Some(INVALID_PARAMS)),
        (request("prompts/get", json!({"name": "no_such"})), Some(INVALID_PARAMS)),
        (request("prompts/get", json!({"name": "recall"})), Some(INVALID_PARAMS)),
    ]
}

#[test]
fn the_server_survives_every_odd_line() {
    let home = sample_home();
    let mut client = RawClient::initialized(home.path(), &[]);
    for (line, code) in odd_lines() {
        let shown = String::from_utf8_lossy(&line[..line.len().min(100)]).into_owned();
        client.send_bytes(&[&line[..], b"\n"].concat());
        // A ping proves that there is no response; an error response may come before or after that of the ping.
        client.assert_alive();
        let mut responses: Vec<Value> = client.other_messages.drain(..).collect();
        if code.is_some() && responses.is_empty() {
            responses.extend(client.next_message(TIMEOUT));
        }
        let codes: Vec<_> = responses.iter().map(|response| response["error"]["code"].as_i64()).collect();
        assert_eq!(codes, Vec::from_iter(code.map(Some)), "{shown}: {responses:?}");
    }
}

/// Sends the same lines before `initialize`.
#[test]
fn odd_lines_before_initialize_do_not_break_the_server() {
    let home = sample_home();
    for (line, _) in odd_lines() {
        let mut client = RawClient::start(home.path(), &[]);
        client.send_bytes(&[&line[..], b"\n"].concat());
        let initialized = client.initialize("2025-06-18");
        assert_eq!(initialized["result"]["protocolVersion"], "2025-06-18", "{initialized}");
        client.assert_alive();
    }
}

#[test]
fn a_call_of_five_megabytes_is_rejected_with_a_message() {
    let home = sample_home();
    let mut client = RawClient::initialized(home.path(), &[]);
    let rejected = client.call_tool("search_conversations", json!({"intent_query": "y".repeat(5 << 20)}));
    assert_eq!(rejected["isError"], true, "{rejected}");
    assert!(rejected.to_string().len() < 1000 && rejected.to_string().contains("at most 4096"), "{rejected}");
    client.assert_alive();
}

#[test]
fn the_protocol_version_is_negotiated() {
    let home = sample_home();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let response = RawClient::start(home.path(), &[]).initialize(version);
        assert_eq!(response["result"]["protocolVersion"], version);
    }
    for version in ["1999-01-01", "2099-01-01", "nonsense"] {
        let mut client = RawClient::start(home.path(), &[]);
        assert_eq!(client.initialize(version)["result"]["protocolVersion"], "2025-11-25", "{version}");
        client.assert_alive();
    }
    let mut client = RawClient::start(home.path(), &[]);
    let rejected = client.request("tools/list", json!({"_meta": request_meta("2099-01-01")}));
    assert_eq!(rejected["error"]["code"], UNSUPPORTED_VERSION, "{rejected}");
    let listed = client.request("tools/list", json!({"_meta": request_meta("2026-07-28")}));
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), crate::default_tool_count());
}

// ---- long calls

/// A history of sessions with one call each, to be run through [`SLOW_FILTER`].
pub(crate) fn long_history(sessions: usize) -> Home {
    let home = Home::new();
    let output = "a line of output that somebody may look for later\n";
    for n in 0..sessions {
        let id = format!("{n:08x}-0000-4000-8000-000000000001");
        let mut session = Session::new(&id, ALPHA, "2026-03-01T10:00:00Z");
        session.prompt("go on").did("Read", json!({"file_path": format!("/srv/{n}.rs")}), output);
        home.add(&session);
    }
    home
}

/// A filter that is slow for each record.
pub(crate) const SLOW_FILTER: &str = "[limit(1500000; range(infinite))] | length";

/// The parameters of a call with a jq filter.
pub(crate) fn filtered_call(filter: &str) -> Value {
    json!({"name": "query_tools", "arguments": {"all_projects": true, "jq_filter": filter}})
}

#[test]
fn a_cancelled_call_gets_no_response_and_the_next_call_does() {
    let home = long_history(20);
    for meta in [json!({}), request_meta("2026-07-28")] {
        let mut client = RawClient::start(home.path(), &[]);
        if meta.get("io.modelcontextprotocol/protocolVersion").is_none() {
            client.initialize("2025-06-18");
        }
        let with_meta = |mut params: Value| {
            params["_meta"] = meta.clone();
            params
        };
        let long = client.send_request("tools/call", with_meta(filtered_call(SLOW_FILTER)));
        assert!(client.next_message(Duration::from_millis(300)).is_none(), "the call ended too early");
        let cancelled = json!({"requestId": long, "reason": "enough"});
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled}));
        let next = json!({"name": "list_sessions", "arguments": {"limit": 1}});
        let response = client.request("tools/call", with_meta(next));
        assert_eq!(response["result"]["structuredContent"]["mode"], "inline", "{response}");
        assert!(
            client.next_message(Duration::from_millis(2500)).is_none_or(|m| m["id"] != long),
            "the cancelled call got a response"
        );
        assert!(
            client.other_messages.iter().all(|message| message["id"] != long),
            "{:?}",
            client.other_messages
        );
        // A filter ends after its current record, which takes seconds in a debug build.
        let until = std::time::Instant::now() + Duration::from_secs(20);
        while !child_pids(client.child.id()).is_empty() {
            assert!(std::time::Instant::now() < until, "the filter is still running");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn concurrent_calls_all_get_responses_and_short_ones_do_not_wait() {
    let home = long_history(12);
    let mut client = RawClient::initialized(home.path(), &[]);
    let long = client.send_request("tools/call", filtered_call(SLOW_FILTER));
    let params =
        |n: u64| json!({"name": "query_tools", "arguments": {"all_projects": true, "limit": n % 3 + 1}});
    let ids: Vec<u64> = (0..40).map(|n| client.send_request("tools/call", params(n))).collect();
    for (n, id) in ids.iter().enumerate() {
        let response = client.wait_for_response(*id);
        let records = response["result"]["structuredContent"]["data"].as_array().map(Vec::len);
        assert_eq!(records, Some(n % 3 + 1), "{response}");
    }
    assert!(client.other_messages.iter().all(|message| message["id"] != long), "the long call ended first");
    assert_eq!(
        client.wait_for_response(long)["result"]["structuredContent"]["data"].as_array().map(Vec::len),
        Some(12)
    );
}

#[test]
fn a_long_call_reports_progress_if_requested() {
    const FILES: usize = 12;
    let home = long_history(FILES);
    let mut client = RawClient::initialized(home.path(), &[]);
    // Reading the files takes no time; the filter is slow on every machine.
    let mut call = filtered_call(SLOW_FILTER);
    let without_token = client.request("tools/call", call.clone());
    assert_eq!(without_token["result"]["structuredContent"]["mode"], "inline", "{without_token:.300}");
    assert!(client.other_messages.is_empty(), "{:?}", client.other_messages);
    call["_meta"] = json!({"progressToken": "how far"});
    let response = client.request("tools/call", call);
    assert_eq!(response["result"]["structuredContent"]["mode"], "inline", "{response:.300}");
    let notifications: Vec<Value> = client.other_messages.drain(..).collect();
    for message in &notifications {
        assert_eq!(message["method"], "notifications/progress", "{message}");
        assert_eq!(message["params"]["progressToken"], "how far", "{message}");
    }
    let steps: Vec<f64> = notifications.iter().map(|m| m["params"]["progress"].as_f64().unwrap()).collect();
    assert!(steps.is_sorted_by(|a, b| a < b), "{steps:?}");
    let last = notifications.last().expect("no progress was reported");
    let (progress, total) = (&last["params"]["progress"], &last["params"]["total"]);
    assert_eq!((progress, total), (&json!(FILES as f64), &json!(FILES as f64)), "{last}");
}

// ---- tool lists and completion

#[test]
fn toolsets_restrict_the_listed_tools() {
    let home = sample_home();
    let names = |args: &[&str]| -> Vec<String> {
        let listed = RawClient::initialized(home.path(), args).request("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap().clone();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_string()).collect()
    };
    let chat =
        ["search_conversations", "gather_chats", "resolve_ids", "list_sessions", "read_ref", "recommend"];
    assert_eq!(names(&["--toolsets", "chat"]), chat);
    assert_eq!(names(&["--toolsets", "chat,history,core"]), names(&[]));
    for tool in ["list_memory", "find_usages", "search_conversations", "query_errors"] {
        assert!(names(&["--toolsets", "core"]).iter().any(|name| name == tool), "{tool}");
    }
    let folder = home.path().join(".config/loci");
    testutil::write_file(&folder.join("config.toml"), b"[mcp]\ntoolsets = [\"chat\"]\n");
    assert_eq!(names(&[]), chat, "the setting applies without the flag");
    assert_ne!(names(&["--toolsets", "core"]), chat, "the flag wins");
    assert!(
        names(&["--toolsets", "history"])
            .iter()
            .all(|name| name == "read_ref" || !chat.contains(&name.as_str()))
    );
    let mut client = RawClient::initialized(home.path(), &["--toolsets", "chat"]);
    let rejected = client.request("tools/call", json!({"name": "query_tools", "arguments": {}}));
    assert_eq!(rejected["error"]["code"], INVALID_PARAMS, "{rejected}");
}

#[test]
fn session_ids_are_completed() {
    let home = sample_home();
    let mut client = RawClient::initialized(home.path(), &[]);
    let mut complete = |prompt: &str, name: &str, value: &str| -> Vec<String> {
        let params = json!({"ref": {"type": "ref/prompt", "name": prompt}, "argument": {"name": name, "value": value}});
        let response = client.request("completion/complete", params);
        serde_json::from_value(response["result"]["completion"]["values"].clone()).unwrap()
    };
    assert_eq!(complete("session", "session", "aaaa1111"), ["aaaa1111-0000-4000-8000-000000000001"]);
    assert!(complete("session", "session", "").len() > 2);
    assert!(complete("session", "session", "zzzz").is_empty());
    assert!(complete("recall", "what", "a").is_empty());
}
