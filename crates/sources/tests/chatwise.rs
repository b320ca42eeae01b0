//! Reading `ChatWise` databases, made up from the schema that other readers document. No database of the app itself was
//! available: the tests prove that the source follows that schema, not that the schema is right.

#![allow(clippy::unwrap_used)] // clippy.toml allows it in tests, but not in functions they call

use loci_sources::chatwise::ChatWise;
use loci_sources::{Environment, Source};
use record::{Call, Kind, ProblemKind, Status};
use std::path::{Path, PathBuf};
use testutil::survey::{Surveyed, survey_all};

const KEY: &str = "sk-poison-never-to-be-read";

const SCHEMA: &str = "
    create table chat(id text primary key, title text, model text, assistantId text, createdAt integer,
        lastReplyAt integer, agentOptions text);
    create table message(id text primary key, chatId text, role text, content text, reasoningContent text,
        model text, files text, meta text, createdAt integer);
    create table provider(id text, apiKey text);
    create table tool(id text, name text, configuration text);";

const ROWS: &str = r#"
    insert into provider values ('p', 'sk-poison-never-to-be-read');
    insert into tool values ('t', 'srv', '{"env":{"KEY":"sk-poison-never-to-be-read"}}');
    insert into chat values
        ('c1', 'Weather', 'gpt-x', null, 1794699523000, 1794699530000, '{"workDirectory":"/home/dev/proj"}'),
        ('c2', null, null, null, 1794699600, null, null);
    insert into message values
        ('m0', 'c1', 'system', 'Be brief.', null, null, null, null, 1794699523000),
        ('m1', 'c1', 'user', 'What is it like?', null, null,
            '[{"name":"map.png","mimeType":"image/png"},{"name":"a.csv","type":"text/csv"}]', null, 1794699523500),
        ('m2', 'c1', 'assistant', 'Looking.', 'secret thoughts', 'gpt-y', null,
            '{"toolCall":{"use_mcp_tool":{"server_name":"srv","tool_name":"weather","arguments":"{\"path\":\"/x\"}"}},
              "toolResult":{"content":[{"type":"text","text":"rain"},{"type":"image","mimeType":"image/png"}]}}', 1794699524000),
        ('m3', 'c1', 'assistant', '', null, null, null,
            '{"toolCall":{"use_mcp_tool":{"server_name":"srv","tool_name":"fails","arguments":"not json"}},
              "toolResult":"{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":\"no such city\"}]}"}', 1794699525000),
        ('m4', 'c1', 'assistant', '', null, null, null,
            '{"toolCall":{"web_search":{"query":"x"}},"toolResult":"plain words"}', 1794699526000),
        ('m5', 'c1', 'assistant', 'It rains.', null, null, null, '{"toolCall":{"web_search":{"query":"y"}}}', 1794699527000),
        ('m6', 'c2', 'user', 'in seconds', null, null, null, '{broken', 1794699601),
        ('m7', 'c2', 'narrator', 'once upon a time', null, null, null, null, '1794699602'),
        ('m8', 'c2', 'assistant', null, null, null, 'none', '[]', null),
        ('m9', 'c9', 'user', 'a chat that is gone', null, null, null, null, 1794699601);"#;

fn survey_chats(folder: &Path, schema: &str, rows: &str) -> Vec<Surveyed> {
    let connection = db::Connection::open(folder.join("app.db")).unwrap();
    connection.execute_batch(schema).unwrap();
    connection.execute_batch(rows).unwrap();
    survey_all(&ChatWise, folder)
}

#[test]
fn a_chat_is_read_with_its_calls() {
    let folder = tempfile::tempdir().unwrap();
    let all = survey_chats(folder.path(), SCHEMA, ROWS);
    assert_eq!(all.len(), 2);
    let chat = &all[0];
    assert_eq!(chat.of(Kind::Prompt), ["What is it like?\n[image: image/png]\n[file: a.csv]"]);
    assert_eq!(chat.of(Kind::Reply), ["Looking.", "", "", "It rains."]);
    assert_eq!(chat.of(Kind::Context), ["Be brief."]);
    assert_eq!(
        chat.calls(),
        ["mcp__srv__weather", "mcp__srv__fails error", "web_search unknown", "web_search pending"]
    );
    let weather = &chat.calls[0].1;
    assert_eq!((weather.input.as_str(), weather.file.as_deref()), (r#"{"path":"/x"}"#, Some("/x")));
    assert_eq!(weather.output.as_deref(), Some(r#""rain\n[image: image/png]""#));
    assert_eq!(Call::mcp_server(&weather.tool), Some("srv"));
    assert_eq!(chat.calls[1].1.input, "\"not json\"");
    assert_eq!(chat.calls[1].1.error.as_deref(), Some("no such city"));
    assert_eq!(chat.calls[2].1.output.as_deref(), Some("\"plain words\""));
    let models: Vec<_> = chat.messages.iter().map(|(_, m)| m.model.as_deref()).collect();
    assert_eq!(models, [None, None, Some("gpt-y"), Some("gpt-x"), Some("gpt-x"), Some("gpt-x")]);
    let session = chat.session();
    assert_eq!((&*session.project, &*session.cwd), ("/home/dev/proj", "/home/dev/proj"));
    assert_eq!(&*session.title.as_ref().unwrap().0, "Weather");
    assert_eq!(session.started_at.to_string(), "2026-11-14T23:38:43.000Z");
}

#[test]
fn odd_rows_are_read_as_far_as_possible() {
    let folder = tempfile::tempdir().unwrap();
    let all = survey_chats(folder.path(), SCHEMA, ROWS);
    let odd = &all[1];
    assert_eq!(odd.of(Kind::Prompt), ["in seconds"]);
    assert_eq!(odd.session().started_at.to_string(), "2026-11-14T23:40:00.000Z");
    assert_eq!(odd.messages.last().unwrap().1.at.unwrap().to_string(), "2026-11-14T23:40:01.000Z");
    assert_eq!(odd.unknown_names(), ["message narrator"]);
    assert_eq!(odd.facts.problems[0].kind, ProblemKind::Salvaged);
    assert_eq!(&*odd.session().title.as_ref().unwrap().0, "in seconds");
}

#[test]
fn a_result_in_its_own_row_completes_the_pending_call() {
    let folder = tempfile::tempdir().unwrap();
    let rows = r#"insert into chat values ('c', 't', 'm', null, 1794699523000, null, null);
        insert into message values
        ('a', 'c', 'assistant', '', null, null, null, '{"toolCall":{"search":{"query":"x"}}}', 1794699524000),
        ('b', 'c', 'tool', '{"content":[{"type":"text","text":"found"}]}', null, null, null, null, 1794699525000);"#;
    let all = survey_chats(folder.path(), SCHEMA, rows);
    let (row, call) = &all[0].calls[0];
    assert_eq!((call.status, call.output.as_deref()), (Status::Success, Some("\"found\"")));
    assert_eq!(row.until.0 - row.at.0, 1000);
}

#[test]
fn older_schemas_without_some_columns_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let schema =
        "create table chat(id text, title text); create table message(chatId text, role text, content text)";
    let rows = "insert into chat values ('c', 't'); insert into message values ('c', 'user', 'hi'), ('c', 'assistant', 'ho')";
    let all = survey_chats(folder.path(), schema, rows);
    assert_eq!((all[0].of(Kind::Prompt), all[0].of(Kind::Reply)), (vec!["hi"], vec!["ho"]));
}

/// Tables that contain API keys are never read: their content appears nowhere, and dropping them changes nothing.
#[test]
fn keys_are_never_read() {
    let folder = tempfile::tempdir().unwrap();
    let all = survey_chats(folder.path(), SCHEMA, ROWS);
    for chat in &all {
        let everything =
            format!("{:?}{:?}{:?}{:?}", chat.messages, chat.calls, chat.facts.sessions, chat.facts.problems);
        assert!(!everything.contains(KEY) && !everything.contains("secret thoughts"));
    }
    let bare = tempfile::tempdir().unwrap();
    let connection = db::Connection::open(bare.path().join("app.db")).unwrap();
    connection.execute_batch(SCHEMA).unwrap();
    connection.execute_batch(ROWS).unwrap();
    connection.execute_batch("drop table provider; drop table tool").unwrap();
    drop(connection);
    let again = survey_all(&ChatWise, bare.path());
    assert_eq!(all.len(), again.len());
    for (a, b) in all.iter().zip(&again) {
        assert_eq!(format!("{:?}", a.messages), format!("{:?}", b.messages));
        assert_eq!(format!("{:?}", a.calls), format!("{:?}", b.calls));
    }
}

#[test]
fn the_database_is_found_in_default_and_configured_locations() {
    let mut places = Environment { home: PathBuf::from("/h"), ..Environment::default() };
    let paths = |places: &Environment| {
        ChatWise.default_roots(places).iter().map(|p| p.display().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(
        paths(&places),
        [
            "/h/Library/Application Support/app.chatwise",
            "/h/.config/app.chatwise",
            "/h/.local/share/app.chatwise"
        ]
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a:b, c.db");
    let connection = db::Connection::open(&file).unwrap();
    connection.execute_batch(SCHEMA).unwrap();
    connection.execute_batch(ROWS).unwrap();
    places.vars.insert("CHATWISE_DB_PATH", file.clone().into());
    assert_eq!(ChatWise.default_roots(&places), std::slice::from_ref(&file));
    assert_eq!(survey_all(&ChatWise, &file).len(), 2);
    assert_eq!(survey_all(&ChatWise, &folder.path().join("missing")).len(), 0);
}
