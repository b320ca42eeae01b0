//! A reader that keeps its snapshot while others write (R37): the write-ahead log stays bounded, and shrinks once the reader
//! is gone.
//!
//! Does not know how a checkpoint works.

use crate::history::History;
use crate::instance::{Instance, list_files};
use std::path::Path;
use std::time::Duration;
use testutil::needs::number_variable;

/// Bounds of the log while the reader holds its snapshot, and afterwards.
const MAX_WAL: u64 = 64 << 20;
const MAX_WAL_AT_REST: u64 = 4 << 20;

/// Less than a writer waits for a lock, with room for a slow machine.
const PATIENCE: Duration = Duration::from_secs(8);

fn largest_wal(instance: &Instance) -> u64 {
    let files = list_files(&instance.cache).into_iter().chain(list_files(&instance.data));
    let logs = files.filter(|path| path.to_string_lossy().ends_with("-wal"));
    logs.map(|path| path.metadata().map_or(0, |meta| meta.len())).max().unwrap_or(0)
}

fn hold_snapshot(path: &Path, table: &str) -> db::Connection {
    let connection = db::Connection::open(path).unwrap();
    connection.execute_batch("begin").unwrap();
    connection.query_row(&format!("select count(*) from {table}"), [], |row| row.get::<_, i64>(0)).unwrap();
    connection
}

/// `LOCI_ROUNDS=400` runs the long form.
#[test]
fn a_long_reader_does_not_let_the_log_grow_without_bound() {
    let mut history = History::new(12);
    let instance = Instance::new(history.home.path());
    instance.index();
    instance.run("memory consolidate --no-model").expect(0);
    let readers = [
        hold_snapshot(&instance.catalogue(), "files"),
        hold_snapshot(&instance.data.join("loci/memory.db"), "sqlite_schema"),
    ];
    let edited = history.growing[0].session.id.clone();
    for round in 0..number_variable("LOCI_ROUNDS", 12) {
        let word = history.grow_session(round % 12);
        let updated = instance.run("index").expect(0);
        assert!(
            updated.took < PATIENCE,
            "round {round}: the update waits for the reader, {:?}",
            updated.took
        );
        instance.run(&format!("memory edit {edited} --name 'round {round}'")).expect(0);
        assert_eq!(instance.search_ids(&word).len(), 1, "round {round}");
        let length = largest_wal(&instance);
        assert!(length <= MAX_WAL, "round {round}: a log of {length} bytes");
    }
    drop(readers);
    history.grow_session(0);
    instance.index();
    instance.run(&format!("memory edit {edited} --name last")).expect(0);
    let length = largest_wal(&instance);
    assert!(length <= MAX_WAL_AT_REST, "at rest: a log of {length} bytes");
}
