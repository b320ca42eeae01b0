//! Migration of a database that cannot be rebuilt (R34): killed before, or failing at, every call that changes a file, it
//! is completed by the next process, and the backup of the old layout is kept.
//!
//! Does not know the layouts of Loci's own databases: the first ones are still current. The process that migrates is this
//! test binary.
//!
//! `LOCI_FAULTS=100000` tries every call; by default a few, spread over the run.

use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use testutil::needs::{number_variable, path_variable};
use testutil::tracer::{EIO, ENOSPC, Fault, Tracer};

const STEPS: [&str; 4] = [
    "create table notes(id integer primary key, text text not null)",
    "alter table notes add column pinned integer not null default 0; create index by_text on notes(text)",
    "create table tags(note integer, tag text); insert into tags select id, 'old' from notes",
    "update notes set text = text || '!', pinned = 1 where id % 2 = 0",
];
const ROWS: i64 = 400;

/// A database with the first layout.
fn create_old(path: &Path) {
    let connection = db::durable::open_writer(path, &STEPS[..1]).unwrap();
    connection.execute_batch("begin").unwrap();
    for n in 0..ROWS {
        connection
            .execute("insert into notes(text) values (?1)", [format!("note {n} {}", "x".repeat(80))])
            .unwrap();
    }
    connection.execute_batch("commit").unwrap();
}

fn assert_migrated(connection: &db::Connection) {
    let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count("pragma user_version"), STEPS.len() as i64);
    assert_eq!(count("select count(*) from tags"), ROWS);
    assert_eq!(count("select count(*) from notes where pinned = 1 and text like '%x!'"), ROWS / 2);
    assert_eq!(count("select count(*) from notes"), ROWS);
    let check: String = connection.query_row("pragma integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
}

/// Also the process that the next test kills: then it migrates the database that the variable names.
#[test]
fn a_database_is_migrated_step_by_step() {
    let folder = TempDir::new().unwrap();
    let path = path_variable("LOCI_MIGRATED").unwrap_or_else(|| {
        create_old(&folder.path().join("notes.db"));
        folder.path().join("notes.db")
    });
    assert_migrated(&db::durable::open_writer(&path, &STEPS).unwrap());
}

fn migrating_process(path: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "migration::a_database_is_migrated_step_by_step"]);
    command.env("LOCI_MIGRATED", path).env("RUST_BACKTRACE", "0");
    command
}

fn copy_old(from: &Path, folder: &TempDir) -> PathBuf {
    let path = folder.path().join("notes.db");
    std::fs::copy(from, &path).unwrap();
    path
}

#[test]
fn an_interrupted_migration_is_completed_by_the_next_process() {
    let (tracer, original) = (Tracer::new(), TempDir::new().unwrap());
    let old = original.path().join("old.db");
    create_old(&old);
    let folder = TempDir::new().unwrap();
    let path = copy_old(&old, &folder);
    let (finished, calls) = tracer.run(&migrating_process(&path), folder.path(), Fault::None, 0);
    assert!(finished.code == Some(0) && calls > 20, "{calls} calls: {finished:?}");
    let tried = number_variable("LOCI_FAULTS", 14).min(calls);
    let mut interrupted = 0;
    for at in (0..tried).map(|n| 1 + n * calls / tried) {
        for fault in [Fault::Kill, Fault::Once(EIO), Fault::Sticky(ENOSPC)] {
            let folder = TempDir::new().unwrap();
            let path = copy_old(&old, &folder);
            let (finished, _) = tracer.run(&migrating_process(&path), folder.path(), fault, at);
            interrupted += usize::from(finished.code != Some(0));
            let migrated = db::durable::open_writer(&path, &STEPS);
            assert_migrated(&migrated.unwrap_or_else(|error| panic!("{fault:?} at call {at}: {error}")));
            let backup = db::durable::open_reader(&folder.path().join("notes.db-1.before"), &STEPS[..1]);
            let rows = backup
                .map(|backup| backup.query_row("select count(*) from notes", [], |row| row.get::<_, i64>(0)));
            assert_eq!(rows, Some(Ok(ROWS)), "{fault:?} at call {at}: the backup");
        }
    }
    assert!(interrupted > tried, "only {interrupted} of {} runs were interrupted", tried * 3);
}
