//! What a client may say, and in what order: whatever is wrong is answered as the protocol wants it, and the server goes
//! on. Long calls tell how far they are, can be called off, and do not hold up others.

use crate::raw_client::{PATIENCE, RawClient};
use crate::shutdown::children;
use serde_json::{Value, json};
use std::time::Duration;
use testutil::{ALPHA, Home, Session, sample_home};

const INVALID_REQUEST: i64 = -32600;
const NO_METHOD: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const UNSUPPORTED_VERSION: i64 = -32022;

/// What a client says about itself with each request, from 2026-07-28 on.
fn modern(version: &str) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// A line, and the code of the error it is answered with; none where there is no answer. A line that is no JSON has no
/// id to answer to: the official SDKs are silent, so that two who misunderstand each other do not echo for ever.
fn lines() -> Vec<(Vec<u8>, Option<i64>)> {
    let request = |method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": "bad", "method": method, "params": params}).to_string().into_bytes()
    };
    let mut torn = request("ping", json!({}));
    torn.truncate(20);
    vec![
        (b"this is not JSON".to_vec(), None),
        (torn, None),
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
        (request("no/such", json!({})), Some(NO_METHOD)),
        (request("resources/read", json!({"uri": "file:///x"})), Some(NO_METHOD)),
        (request("tools/call", json!({"name": 5})), Some(INVALID_PARAMS)),
        (request("tools/call", json!({})), Some(INVALID_PARAMS)),
        (request("tools/call", json!({"name": "query_tools", "arguments": [1]})), Some(INVALID_PARAMS)),
        (request("tools/call", json!({"name": "no_such", "arguments": {}})), Some(INVALID_PARAMS)),
        (request("prompts/get", json!({"name": "no_such"})), Some(INVALID_PARAMS)),
        (request("prompts/get", json!({"name": "recall"})), Some(INVALID_PARAMS)),
    ]
}

#[test]
fn whatever_a_client_says_the_server_lives_on() {
    let home = sample_home();
    let mut client = RawClient::greeted(home.path(), &[]);
    for (line, code) in lines() {
        let shown = String::from_utf8_lossy(&line[..line.len().min(100)]).into_owned();
        client.raw(&[&line[..], b"\n"].concat());
        // Silence is shown by what is answered next; an answer may come before or after that.
        client.lives();
        let mut said: Vec<Value> = client.aside.drain(..).collect();
        if code.is_some() && said.is_empty() {
            said.extend(client.next(PATIENCE));
        }
        let codes: Vec<_> = said.iter().map(|reply| reply["error"]["code"].as_i64()).collect();
        assert_eq!(codes, Vec::from_iter(code.map(Some)), "{shown}: {said:?}");
    }
}

/// The same before anything else is said. Only the greeting can be asked for then.
#[test]
fn whatever_comes_before_the_greeting_the_server_waits_for_it() {
    let home = sample_home();
    for (line, _) in lines() {
        let mut client = RawClient::start(home.path(), &[]);
        client.raw(&[&line[..], b"\n"].concat());
        let greeted = client.greet("2025-06-18");
        assert_eq!(greeted["result"]["protocolVersion"], "2025-06-18", "{greeted}");
        client.lives();
    }
}

#[test]
fn a_call_of_five_megabytes_is_refused_in_words() {
    let home = sample_home();
    let mut client = RawClient::greeted(home.path(), &[]);
    let refused = client.tool("search_conversations", json!({"intent_query": "y".repeat(5 << 20)}));
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(refused.to_string().len() < 1000 && refused.to_string().contains("at most 4096"), "{refused}");
    client.lives();
}

#[test]
fn the_version_is_agreed_upon() {
    let home = sample_home();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let answer = RawClient::start(home.path(), &[]).greet(version);
        assert_eq!(answer["result"]["protocolVersion"], version);
    }
    for version in ["1999-01-01", "2099-01-01", "nonsense"] {
        let mut client = RawClient::start(home.path(), &[]);
        assert_eq!(client.greet(version)["result"]["protocolVersion"], "2025-11-25", "{version}");
        client.lives();
    }
    let mut client = RawClient::start(home.path(), &[]);
    let refused = client.ask("tools/list", json!({"_meta": modern("2099-01-01")}));
    assert_eq!(refused["error"]["code"], UNSUPPORTED_VERSION, "{refused}");
    let listed = client.ask("tools/list", json!({"_meta": modern("2026-07-28")}));
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), crate::usual());
}

// ---- long calls

/// Sessions with one call each, to be filtered by a program that takes its time for each.
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

/// Takes its time for each record.
pub(crate) const SLOW: &str = "[limit(1500000; range(infinite))] | length";

/// A question that is asked through a filter.
pub(crate) fn through(filter: &str) -> Value {
    json!({"name": "query_tools", "arguments": {"all_projects": true, "jq_filter": filter}})
}

#[test]
fn a_call_that_is_called_off_is_not_answered_and_the_next_one_is() {
    let home = long_history(20);
    for meta in [json!({}), modern("2026-07-28")] {
        let mut client = RawClient::start(home.path(), &[]);
        if meta.get("io.modelcontextprotocol/protocolVersion").is_none() {
            client.greet("2025-06-18");
        }
        let with = |mut params: Value| {
            params["_meta"] = meta.clone();
            params
        };
        let long = client.begin("tools/call", with(through(SLOW)));
        assert!(client.next(Duration::from_millis(300)).is_none(), "it was to take longer");
        let cancelled = json!({"requestId": long, "reason": "enough"});
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled}));
        let next = json!({"name": "list_sessions", "arguments": {"limit": 1}});
        let answer = client.ask("tools/call", with(next));
        assert_eq!(answer["result"]["structuredContent"]["mode"], "inline", "{answer}");
        assert!(client.next(Duration::from_millis(2500)).is_none_or(|m| m["id"] != long), "it was answered");
        assert!(client.aside.iter().all(|message| message["id"] != long), "{:?}", client.aside);
        // A filter is ended after the record it is at, which takes seconds in a build for tests.
        let until = std::time::Instant::now() + Duration::from_secs(20);
        while !children(client.child.id()).is_empty() {
            assert!(std::time::Instant::now() < until, "somebody still works on it");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn many_calls_at_once_are_all_answered_and_short_ones_do_not_wait() {
    let home = long_history(12);
    let mut client = RawClient::greeted(home.path(), &[]);
    let long = client.begin("tools/call", through(SLOW));
    let ask =
        |n: u64| json!({"name": "query_tools", "arguments": {"all_projects": true, "limit": n % 3 + 1}});
    let ids: Vec<u64> = (0..40).map(|n| client.begin("tools/call", ask(n))).collect();
    for (n, id) in ids.iter().enumerate() {
        let answer = client.answer(*id);
        let records = answer["result"]["structuredContent"]["data"].as_array().map(Vec::len);
        assert_eq!(records, Some(n % 3 + 1), "{answer}");
    }
    assert!(client.aside.iter().all(|message| message["id"] != long), "the long one came first");
    assert_eq!(client.answer(long)["result"]["structuredContent"]["data"].as_array().map(Vec::len), Some(12));
}

#[test]
fn a_long_call_tells_how_far_it_is_if_that_is_wanted() {
    const FILES: usize = 12;
    let home = long_history(FILES);
    let mut client = RawClient::greeted(home.path(), &[]);
    // Its files are read in no time; the filter takes its time, whatever the machine.
    let mut call = through(SLOW);
    let unasked = client.ask("tools/call", call.clone());
    assert_eq!(unasked["result"]["structuredContent"]["mode"], "inline", "{unasked:.300}");
    assert!(client.aside.is_empty(), "{:?}", client.aside);
    call["_meta"] = json!({"progressToken": "how far"});
    let answer = client.ask("tools/call", call);
    assert_eq!(answer["result"]["structuredContent"]["mode"], "inline", "{answer:.300}");
    let told: Vec<Value> = client.aside.drain(..).collect();
    for message in &told {
        assert_eq!(message["method"], "notifications/progress", "{message}");
        assert_eq!(message["params"]["progressToken"], "how far", "{message}");
    }
    let steps: Vec<f64> = told.iter().map(|m| m["params"]["progress"].as_f64().unwrap()).collect();
    assert!(steps.is_sorted_by(|a, b| a < b), "{steps:?}");
    let last = told.last().expect("nothing was told");
    let (progress, total) = (&last["params"]["progress"], &last["params"]["total"]);
    assert_eq!((progress, total), (&json!(FILES as f64), &json!(FILES as f64)), "{last}");
}

// ---- what is offered

#[test]
fn a_set_of_tools_is_offered_alone() {
    let home = sample_home();
    let names = |args: &[&str]| -> Vec<String> {
        let listed = RawClient::greeted(home.path(), args).ask("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap().clone();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_string()).collect()
    };
    let chat =
        ["search_conversations", "gather_chats", "resolve_ids", "list_sessions", "read_ref", "recommend"];
    assert_eq!(names(&["--toolsets", "chat"]), chat);
    assert_eq!(names(&["--toolsets", "chat,history"]), names(&[]));
    assert!(
        names(&["--toolsets", "history"])
            .iter()
            .all(|name| name == "read_ref" || !chat.contains(&name.as_str()))
    );
    let mut client = RawClient::greeted(home.path(), &["--toolsets", "chat"]);
    let refused = client.ask("tools/call", json!({"name": "query_tools", "arguments": {}}));
    assert_eq!(refused["error"]["code"], INVALID_PARAMS, "{refused}");
}

#[test]
fn the_id_of_a_session_is_completed() {
    let home = sample_home();
    let mut client = RawClient::greeted(home.path(), &[]);
    let mut complete = |prompt: &str, name: &str, value: &str| -> Vec<String> {
        let params = json!({"ref": {"type": "ref/prompt", "name": prompt}, "argument": {"name": name, "value": value}});
        let answer = client.ask("completion/complete", params);
        serde_json::from_value(answer["result"]["completion"]["values"].clone()).unwrap()
    };
    assert_eq!(complete("session", "session", "aaaa1111"), ["aaaa1111-0000-4000-8000-000000000001"]);
    assert!(complete("session", "session", "").len() > 2);
    assert!(complete("session", "session", "zzzz").is_empty());
    assert!(complete("recall", "what", "a").is_empty());
}
