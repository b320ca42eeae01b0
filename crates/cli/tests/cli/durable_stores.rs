//! The databases that cannot be rebuilt, made by a newer version (R35) or damaged (R40): Loci says so, changes nothing, and
//! never takes them for empty.
//!
//! Does not test derived data, which is rebuilt: see the suite `index`.

use std::fs;
use std::path::PathBuf;
use testutil::{ALPHA, Finished, Home, Session, run_line, write_file};

const ID: &str = "aaaa1111-0000-4000-8000-000000000001";

fn home_with_stores() -> Home {
    let home = Home::new();
    for n in 0..30 {
        let mut session =
            Session::new(&format!("{n:08x}-0000-4000-8000-000000000000"), ALPHA, "2026-03-01T10:00:00Z");
        session.prompt(&format!("We decided to keep walrus {n} in the northern pool")).reply(&["Noted."]);
        home.add(&session);
    }
    let mut session = Session::new(ID, ALPHA, "2026-03-02T10:00:00Z");
    session.prompt("We decided to feed the walrus at noon").reply(&["Noted."]);
    home.add(&session);
    run_line(&home, "memory consolidate --no-model").expect(0);
    run_line(&home, &format!("memory edit {ID} --name 'Feeding times'")).expect(0);
    run_line(&home, "agent add walrus").expect(0);
    home
}

fn databases(home: &Home) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(home.path().join(".local/share/loci")).unwrap().flatten().map(|entry| entry.path());
    entries.filter(|path| path.extension().is_some_and(|ending| ending == "db")).collect()
}

/// Commands that read or write each database.
const COMMANDS: &[(&str, &str)] = &[
    ("memory.db", "memory list -o json"),
    ("memory.db", "memory show aaaa1111 -o json"),
    ("memory.db", "memory edit aaaa1111 --name other -o json"),
    ("memory.db", "memory consolidate --no-model -o json"),
    ("memory.db", "memory export -o json"),
    ("post.db", "agent list -o json"),
    ("post.db", "agent add other -o json"),
];

fn commands_of(name: &str) -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().filter(move |(database, _)| *database == name).map(|(_, line)| *line)
}

fn assert_refused(ended: &Finished, label: &str) {
    assert!(!ended.stderr.contains("panicked"), "{label}: {}", ended.stderr);
    assert_eq!(ended.code, Some(1), "{label}: {ended:?}");
}

#[test]
fn a_database_of_a_newer_loci_is_refused_and_not_changed() {
    let home = home_with_stores();
    let mut refused = 0;
    for path in databases(&home) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        db::Connection::open(&path).unwrap().execute_batch("pragma user_version = 99").unwrap();
        let before = fs::read(&path).unwrap();
        for line in commands_of(&name) {
            let ended = run_line(&home, line);
            assert_refused(&ended, line);
            let error = ended.records().remove(0)["error"].to_string();
            assert!(error.contains("newer Loci (layout 99, this version supports "), "{line}: {error}");
            assert_eq!(fs::read(&path).unwrap(), before, "{line} changed {name}");
            refused += 1;
        }
    }
    assert!(refused >= 5, "{refused} commands, of {:?}", databases(&home));
}

type Damage = (&'static str, fn(&mut Vec<u8>));

/// Damages that SQLite can detect. The first page is the schema.
const DAMAGES: &[Damage] = &[
    ("its first bytes", |bytes| bytes[..64].fill(0x5a)),
    ("its schema", |bytes| bytes[100..3000].iter_mut().for_each(|byte| *byte ^= 0x5a)),
    ("every page but the first", |bytes| bytes[4096..].iter_mut().for_each(|byte| *byte ^= 0x5a)),
    ("the heads of all pages", |bytes| (1..bytes.len() / 4096).for_each(|page| bytes[page * 4096] ^= 0xff)),
    ("cut in half", |bytes| bytes.truncate(bytes.len() / 2)),
    ("other content", |bytes| *bytes = b"not a database, but long enough".repeat(400)),
];

#[test]
fn a_damaged_memory_is_reported_and_never_taken_for_empty() {
    let home = home_with_stores();
    let path = home.path().join(".local/share/loci/memory.db");
    let intact = fs::read(&path).unwrap();
    assert!(intact.len() > 4 * 4096, "{} bytes", intact.len());
    for (name, damage) in DAMAGES {
        let mut bytes = intact.clone();
        damage(&mut bytes);
        write_file(&path, &bytes);
        for line in commands_of("memory.db") {
            let ended = run_line(&home, line);
            let label = format!("{name}: {line}");
            assert!(!ended.stderr.contains("panicked"), "{label}: {}", ended.stderr);
            // A part that is intact may still be read.
            let has_result = matches!(ended.code, Some(0 | 3)) && ended.text().contains("walrus");
            let is_reported = ended.code == Some(1) && ended.text().contains("memory.db");
            let is_edit = line.contains("edit") && ended.code == Some(0);
            assert!(has_result || is_reported || is_edit, "{label}: {:?} {}", ended.code, ended.text());
        }
        write_file(&path, &bytes);
        // The sessions themselves are still found, and what is seen of the damage at a glance is said.
        let search = run_line(&home, "search walrus -o json");
        let expected = if search.stderr.contains("memory.db is damaged") { 3 } else { 0 };
        assert!(search.expect(expected).text().contains("walrus"), "{name}");
        let report = run_line(&home, "doctor --json").records().remove(0);
        let findings = report["findings"].as_array().unwrap();
        let finding = findings.iter().find(|finding| finding["check"] == "databases").unwrap();
        assert_eq!(finding["severity"], "problem", "{name}: {finding}");
    }
}
