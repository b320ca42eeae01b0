//! Stores of any size are read in bounded memory: a database, JSON files that are read whole, a log. The long form takes
//! minutes and gigabytes of disk: `cargo test --release -p loci --test faults -- --ignored two_gigabytes`.

use db::Connection;
use serde_json::json;
use std::fs::File;
use std::io::{BufWriter, Write};
use testutil::{Home, command, peak_memory, run_line, write_file};

const MB: u64 = 1 << 20;
/// The documented memory bound, in kilobytes.
const MAX_MEMORY_KB: u64 = 300 * 1024;
/// The size of one session, and of one message in it.
const SESSION: u64 = 4 * MB;
const MESSAGE: u64 = 64 << 10;

fn filling() -> String {
    "words of a long answer ".repeat(MESSAGE as usize / 23)
}

fn add_database(home: &Home, total: u64) {
    let path = write_file(&home.path().join(".local/share/kilo/kilo.db"), b"");
    let database = Connection::open(path).unwrap();
    database
        .execute_batch(
            "pragma synchronous = off; begin;
             create table session(id text primary key, directory text, time_created integer, time_updated integer);
             create table message(id text primary key, session_id text, data text);
             create table part(id text primary key, message_id text, session_id text, data text);
             create index message_session on message(session_id); create index part_session on part(session_id);",
        )
        .unwrap();
    let part = json!({"type": "text", "text": filling()}).to_string();
    for session in 0..total / SESSION {
        let own = format!("ses_{session}");
        database
            .execute("insert into session values (?1, '/srv/app', ?2, ?2)", (&own, session as i64))
            .unwrap();
        for n in 0..SESSION / MESSAGE {
            let message = format!("msg_{session}_{n}");
            let data = json!({"role": "user"}).to_string();
            database.execute("insert into message values (?1, ?2, ?3)", (&message, &own, data)).unwrap();
            let row = (format!("prt_{session}_{n}"), &message, &own, &part);
            database.execute("insert into part values (?1, ?2, ?3, ?4)", row).unwrap();
        }
    }
    database.execute_batch("commit").unwrap();
}

fn add_whole_files(home: &Home, total: u64) {
    for session in 0..total / SESSION {
        let message = |n| json!({"id": format!("m{session}-{n}"), "role": "user", "content": [{"type": "text", "text": filling()}]});
        let messages: Vec<_> = (0..SESSION / MESSAGE).map(message).collect();
        let text = json!({"sessionId": session.to_string(), "messages": messages}).to_string();
        let id = format!("{}_abcde", 1_794_830_400_000_u64 + session);
        write_file(
            &home.path().join(format!(".cline/data/sessions/{id}/{id}.messages.json")),
            text.as_bytes(),
        );
    }
}

fn add_log(home: &Home, total: u64) {
    let path = write_file(&home.path().join(".qwen/projects/-srv-app/chats/q1.jsonl"), b"");
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path).unwrap());
    for n in 0..total / MESSAGE {
        let message = json!({"role": "user", "parts": [{"text": filling()}]});
        let line = json!({"uuid": format!("u{n}"), "sessionId": "q1", "timestamp": "2026-11-16T01:00:00Z", "type": "user",
            "provenance": "real_user", "cwd": "/srv/app", "message": message});
        writeln!(file, "{line}").unwrap();
    }
    file.flush().unwrap();
}

fn assert_bounded_memory(total: u64) {
    for (source, add) in
        [("kilo", add_database as fn(&Home, u64)), ("cline", add_whole_files), ("qwen", add_log)]
    {
        let home = Home::new();
        add(&home, total);
        let started = std::time::Instant::now();
        let (code, peak_kb, _) = peak_memory(command(home.path(), &["stats", "--all-projects"]));
        println!("{source}: {} MB in {:?}, peak {} MB", total / MB, started.elapsed(), peak_kb / 1024);
        assert!(code == Some(0) && peak_kb < MAX_MEMORY_KB, "{source}: {code:?}, {} MB", peak_kb / 1024);
        let read = run_line(&home, &format!("sources --source {source}")).expect(0);
        let messages = total / SESSION * (SESSION / MESSAGE);
        assert!(read.all("understood")[0].as_u64().unwrap() >= messages, "{source}: {}", read.text());
    }
}

#[test]
fn stores_of_a_hundred_megabytes_are_read_in_bounded_memory() {
    assert_bounded_memory(100 * MB);
}

#[test]
#[ignore = "takes minutes: see CONTRIBUTING.md"]
fn two_gigabytes_of_each_kind_of_store_are_read_in_bounded_memory() {
    assert_bounded_memory(2048 * MB);
}
