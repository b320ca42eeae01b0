//! One appended message costs what its session costs, however many sessions the store has: counted in sessions and bytes
//! that are read again, for a database and for whole JSON files.

use db::Connection;
use serde_json::{Value, json};
use std::path::PathBuf;
use testutil::{Home, run_line, write_file};

const SESSIONS: usize = 60;
/// 2026-11-16, in milliseconds: all sessions of one day, so that none is settled by its age.
const NOON: i64 = 1_794_830_400_000;

fn index(home: &Home) -> Value {
    run_line(home, "index -o json").expect(0).records().remove(0)
}

fn assert_found(home: &Home, word: &str) {
    let found = run_line(home, &format!("search {word} -o json")).expect(0).records().remove(0);
    assert_eq!(found["results"].as_array().unwrap().len(), 1, "{found}");
}

// ---- a database

struct Kilo {
    home: Home,
    database: Connection,
}

impl Kilo {
    fn new() -> Kilo {
        let home = Home::new();
        let path = write_file(&home.path().join(".local/share/kilo/kilo.db"), b"");
        let database = Connection::open(path).unwrap();
        database
            .execute_batch(
                "create table session(id text primary key, directory text, title text, time_created integer, time_updated integer);
                 create table message(id text primary key, session_id text, time_created integer, time_updated integer, data text);
                 create table part(id text primary key, message_id text, session_id text, time_created integer, time_updated integer, data text);
                 create index message_session on message(session_id);
                 create index part_session on part(session_id);",
            )
            .unwrap();
        let kilo = Kilo { home, database };
        kilo.database.execute_batch("begin").unwrap();
        for session in 0..SESSIONS {
            let at = NOON + session as i64 * 1000;
            let row = (format!("ses_{session}"), "/srv/app", "Work", at, at);
            kilo.database.execute("insert into session values (?1, ?2, ?3, ?4, ?5)", row).unwrap();
            for n in 0..10 {
                kilo.say(session, n, &format!("prompt {n} of session {session}"));
            }
        }
        kilo.database.execute_batch("commit").unwrap();
        kilo
    }

    fn say(&self, session: usize, n: usize, text: &str) {
        let at = NOON + (session * 100 + n) as i64;
        let (message, own) = (format!("msg_{session}_{n:04}"), format!("ses_{session}"));
        let data = json!({"role": "user", "time": {"created": at}}).to_string();
        let row = (&message, &own, at, at, data);
        self.database.execute("insert into message values (?1, ?2, ?3, ?4, ?5)", row).unwrap();
        let data = json!({"type": "text", "text": text}).to_string();
        let row = (format!("prt_{session}_{n:04}"), &message, &own, at, at, data);
        self.database.execute("insert into part values (?1, ?2, ?3, ?4, ?5, ?6)", row).unwrap();
    }
}

#[test]
fn a_message_in_a_database_makes_one_session_be_read_again() {
    let kilo = Kilo::new();
    let all = index(&kilo.home);
    assert_eq!((&all["sessions"], &all["added"]), (&json!(SESSIONS), &json!(SESSIONS)));
    assert_eq!(index(&kilo.home)["changed"], 0);

    kilo.say(7, 10, "quinces");
    let after = index(&kilo.home);
    assert_eq!((&after["added"], &after["changed"]), (&json!(0), &json!(1)), "{after}");
    let ratio = all["bytesRead"].as_f64().unwrap() / after["bytesRead"].as_f64().unwrap();
    assert!(ratio > SESSIONS as f64 / 3.0, "{all} {after}");
    kilo.say(8, 10, "medlars");
    for word in ["quinces", "medlars"] {
        assert_found(&kilo.home, word);
    }
}

/// A tool that ends is an update of its row, which may keep its size.
#[test]
fn a_row_that_is_rewritten_in_place_makes_its_session_be_read_again() {
    let kilo = Kilo::new();
    index(&kilo.home);
    let rewritten = "update part set data = replace(data, 'prompt 3', 'parsnips'), time_updated = time_updated + 1 where id = 'prt_5_0003'";
    assert_eq!(kilo.database.execute(rewritten, ()).unwrap(), 1);
    assert_eq!(index(&kilo.home)["changed"], 1);
    assert_found(&kilo.home, "parsnips");
    kilo.database.execute("delete from part where session_id = 'ses_9' and id > 'prt_9_0004'", ()).unwrap();
    // Half of its entries: it counts as shortened.
    let shorter = run_line(&kilo.home, "index -o json").expect(3).records().remove(0);
    assert_eq!((&shorter["changed"], &shorter["problems"]), (&json!(1), &json!(1)), "{shorter}");
}

// ---- whole files

fn cline_file(home: &Home, session: usize) -> PathBuf {
    let id = format!("{}_abcde", NOON + session as i64);
    home.path().join(format!(".cline/data/sessions/{id}/{id}.messages.json"))
}

fn write_cline(home: &Home, session: usize, prompts: &[&str]) -> u64 {
    let message = |(n, text): (usize, &&str)| json!({"id": format!("m{session}-{n}"), "role": "user", "ts": NOON + n as i64, "content": [{"type": "text", "text": text}]});
    let messages: Vec<Value> = prompts.iter().enumerate().map(message).collect();
    let document =
        json!({"version": 1, "agent": "lead", "sessionId": session.to_string(), "messages": messages});
    let text = document.to_string();
    write_file(&cline_file(home, session), text.as_bytes());
    text.len() as u64
}

#[test]
fn a_message_in_a_whole_file_makes_one_file_be_read_again() {
    let home = Home::new();
    (0..SESSIONS).for_each(|session| {
        write_cline(&home, session, &["Look at the parser.", "And at the tests."]);
    });
    assert_eq!(index(&home)["added"], SESSIONS);
    let size = write_cline(&home, 7, &["Look at the parser.", "And at the tests.", "Count the quinces."]);
    let after = index(&home);
    assert_eq!((&after["added"], &after["changed"]), (&json!(0), &json!(1)), "{after}");
    assert!(after["bytesRead"].as_u64().unwrap() <= size * 2, "{after}, of a file of {size} bytes");
    write_cline(&home, 8, &["Look at the parser.", "And at the tests.", "Count the medlars."]);
    for word in ["quinces", "medlars"] {
        assert_found(&home, word);
    }
}
