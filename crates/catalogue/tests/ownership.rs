//! An event that two transcripts contain is indexed from one of them. When that changes, both count as changed: an index that was
//! killed before its commit lacks the change in either.
#![allow(clippy::unwrap_used)] // a test may fail by panicking

use loci_catalogue::{Survey, Watermark, Writer};
use record::{Row, Session, Stamp};
use std::path::Path;

/// Applies a transcript with these events and commits; returns its number and the catalogue's sequence.
fn apply(writer: &mut Writer, path: &str, birth: i64, keys: &[u64]) -> (u32, u64) {
    let rows: Vec<Row> =
        keys.iter().map(|key| Row { key: *key, id: [*key as u8; 24], lines: 1, ..Row::default() }).collect();
    let name = path.bytes().fold(7, |sum, byte| sum * 31 + u64::from(byte));
    writer.begin().unwrap();
    let applied = writer
        .apply_survey(&Survey {
            name,
            source: "test",
            path: Path::new(path),
            part: None,
            origin: None,
            hint: "",
            family: Path::new("/"),
            size: 1,
            inode: 1,
            changed: 1,
            inode_changed: 1,
            watermark: Watermark::default(),
            gone: false,
            rewritten: false,
            sessions: &[Session::new("test", path)],
            birth: Some(Stamp(birth)),
            abandoned: &[],
            bad: 0,
            problems: &[],
            rows: &rows,
            names: &[],
            wants_text: &|_| true,
        })
        .unwrap();
    (applied.file, writer.commit().unwrap())
}

#[test]
fn a_file_that_loses_an_event_to_an_older_one_counts_as_changed() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(&folder.path().join("catalogue.db"), &["test"]).unwrap();
    let (fork, indexed) = apply(&mut writer, "/fork", 200, &[1, 2]);
    assert_eq!(writer.indexed_events(fork).unwrap().len(), 2);
    // The original is read up to the events that the fork had first.
    let (original, _) = apply(&mut writer, "/original", 100, &[1, 2]);
    assert_eq!(writer.indexed_events(fork).unwrap().len(), 0);
    assert_eq!(writer.ids_since(indexed).unwrap(), [fork, original]);
}

#[test]
fn a_file_that_inherits_an_event_counts_as_changed() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(&folder.path().join("catalogue.db"), &["test"]).unwrap();
    let (original, _) = apply(&mut writer, "/original", 100, &[1, 2]);
    let (fork, indexed) = apply(&mut writer, "/fork", 200, &[1, 2]);
    writer.begin().unwrap();
    assert_eq!(writer.delete_file(original).unwrap().into_iter().collect::<Vec<_>>(), [fork]);
    writer.commit().unwrap();
    assert_eq!(writer.indexed_events(fork).unwrap().len(), 2);
    assert_eq!(writer.ids_since(indexed).unwrap(), [fork]);
}
