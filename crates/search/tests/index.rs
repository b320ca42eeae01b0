//! Guarantees of an index: atomic commits, one writer, dropping files and chats, detecting damage, read-only use.
#![allow(clippy::unwrap_used)] // helpers of tests are not known to be tests

use loci_search::{self as search, Doc, Error, Index, Part, Query, Writer};
use std::fs;
use std::path::Path;

const HEAP: usize = 32 << 20;

fn doc(file: u32, chat: u32, event: u64, text: &str) -> Doc<'_> {
    Doc { file, chat, event, turn: event, part: Part::Person, at: 1_000 * event as i64, text }
}

fn write_docs(folder: &Path, docs: &[Doc]) -> Writer {
    let mut writer = Writer::open(folder, 1, HEAP).unwrap();
    for doc in docs {
        writer.add(doc).unwrap();
    }
    writer.commit(1).unwrap();
    writer
}

fn open_index(folder: &Path) -> Index {
    Index::open(folder).unwrap().unwrap()
}

fn find_chats(index: &Index, query: &str) -> Vec<u32> {
    index.find(&Query::new(query), &[]).unwrap().chats.iter().map(|hit| hit.chat).collect()
}

#[test]
fn only_committed_messages_are_found() {
    let folder = tempfile::tempdir().unwrap();
    assert!(Index::open(folder.path()).unwrap().is_none());
    let mut writer = Writer::open(folder.path(), 2, HEAP).unwrap();
    assert!(Index::open(folder.path()).unwrap().is_none());
    writer.add(&doc(1, 7, 1, "the cache is stale")).unwrap();
    writer.commit(41).unwrap();
    writer.add(&doc(1, 8, 2, "not committed, the cache")).unwrap();
    let index = open_index(folder.path());
    assert_eq!((index.last_sequence(), find_chats(&index, "cache")), (41, vec![7]));
    drop(writer);
    let writer = Writer::open(folder.path(), 1, HEAP).unwrap();
    assert_eq!(writer.last_sequence(), 41);
    assert_eq!(index.verify_checksums().unwrap(), Vec::<String>::new());
}

#[test]
fn skip_common_ignores_words_of_very_many_messages() {
    let folder = tempfile::tempdir().unwrap();
    let many = (0..5_001_u32).map(|at| (at % 9, "the build is slow"));
    let texts: Vec<(u32, &str)> = many.chain([(20, "the build needs libfoo")]).collect();
    let docs: Vec<Doc> =
        texts.iter().zip(1..).map(|((chat, text), event)| doc(1, *chat, event, text)).collect();
    write_docs(folder.path(), &docs);
    let index = open_index(folder.path());
    let found = |query: &str, skip_common: bool| {
        let found = index.find(&Query { skip_common, ..Query::new(query) }, &[]).unwrap();
        (found.total_chats, found.terms.typed_terms().len())
    };
    assert_eq!(found("build libfoo", false), (10, 2));
    assert_eq!(found("build libfoo", true), (1, 1), "only the rare word is searched");
    assert_eq!(found("slow build", true), (0, 0), "no rare word is left");
    assert_eq!(found("needs libfoo", true), found("needs libfoo", false));
}

#[test]
fn a_second_writer_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let _writer = write_docs(folder.path(), &[doc(1, 1, 1, "words")]);
    assert!(matches!(Writer::open(folder.path(), 1, HEAP), Err(Error::Busy { .. })));
}

#[test]
fn files_and_chats_can_be_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let docs = [
        doc(1, 1, 1, "cache one"),
        doc(2, 1, 2, "cache two"),
        doc(2, 2, 3, "cache three"),
        doc(3, 3, 4, "cache"),
    ];
    let mut writer = write_docs(folder.path(), &docs);
    let before = open_index(folder.path());
    writer.drop_file(2);
    writer.drop_chat(3);
    writer.add(&doc(2, 4, 5, "cache again")).unwrap();
    writer.commit(2).unwrap();
    let mut found = find_chats(&open_index(folder.path()), "cache");
    found.sort_unstable();
    assert_eq!(found, [1, 4]);
    assert_eq!(find_chats(&open_index(folder.path()), "two three"), Vec::<u32>::new());
    assert_eq!(find_chats(&before, "three"), [2], "an open index does not change");
}

#[test]
fn extra_messages_are_ranked_like_indexed_ones() {
    let (part, whole) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let docs = [
        doc(1, 1, 1, "the virtual list stutters when scrolling"),
        doc(1, 2, 2, "the list of virtual machines"),
        doc(1, 3, 3, "scrolling the log"),
        doc(2, 4, 4, "virtual list scrolling, virtual list again"),
        doc(2, 2, 5, "and the machines scroll by"),
    ];
    drop(write_docs(part.path(), &docs[..3]));
    drop(write_docs(whole.path(), &docs));
    for query in ["virtual list", "scrolling", "machines", "log", "virtual list scrolling stutter"] {
        let joined = open_index(part.path()).find(&Query::new(query), &docs[3..]).unwrap();
        let joined: Vec<u32> = joined.chats.iter().map(|hit| hit.chat).collect();
        assert_eq!(joined, find_chats(&open_index(whole.path()), query), "{query}");
        let alone = search::find_among(&Query::new(query), &docs).unwrap();
        assert_eq!(alone.chats.iter().map(|hit| hit.chat).collect::<Vec<_>>(), joined, "{query}");
    }
}

#[test]
fn damage_and_other_versions_are_distinguished() {
    let folder = tempfile::tempdir().unwrap();
    drop(write_docs(folder.path(), &[doc(1, 1, 1, "words")]));
    let meta = folder.path().join("meta.json");
    let good = fs::read_to_string(&meta).unwrap();
    fs::write(&meta, &good[..good.len() / 2]).unwrap();
    assert!(matches!(Index::open(folder.path()), Err(Error::Damaged { .. })));
    assert!(matches!(Writer::open(folder.path(), 1, HEAP), Err(Error::Damaged { .. })));
    // The payload begins with the version.
    let at = good.find("\"payload\"").unwrap() + "\"payload\"".len();
    let at = at + good[at..].find(|c: char| c.is_ascii_digit()).unwrap();
    fs::write(&meta, format!("{}99{}", &good[..at], &good[at..])).unwrap();
    assert!(matches!(Index::open(folder.path()), Err(Error::Newer { .. })));
    assert!(matches!(Writer::open(folder.path(), 1, HEAP), Err(Error::Newer { .. })));
    fs::write(&meta, format!("{}1{}", &good[..at], &good[at + 1..])).unwrap();
    assert!(matches!(Index::open(folder.path()), Err(Error::Version { .. })));
    fs::write(&meta, good.replace("\"person\"", "\"someone\"")).unwrap();
    assert!(matches!(Writer::open(folder.path(), 1, HEAP), Err(Error::Version { .. })));
    fs::write(&meta, &good).unwrap();
    for name in ["chats.", ".term"] {
        let path = find_file(folder.path(), name);
        let bytes = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(matches!(Index::open(folder.path()), Err(Error::Damaged { .. })), "{name}");
        fs::write(&path, bytes).unwrap();
    }
    let path = find_file(folder.path(), ".idx");
    let mut bytes = fs::read(&path).unwrap();
    bytes[3] ^= 0x55;
    fs::write(&path, bytes).unwrap();
    assert_eq!(
        open_index(folder.path()).verify_checksums().unwrap(),
        [path.file_name().unwrap().to_string_lossy()]
    );
}

fn find_file(folder: &Path, name: &str) -> std::path::PathBuf {
    let mut paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.find(|path| path.file_name().unwrap().to_string_lossy().contains(name)).unwrap()
}

#[test]
fn a_read_only_folder_is_sufficient() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    drop(write_docs(folder.path(), &[doc(1, 1, 1, "words")]));
    let count = || fs::read_dir(folder.path()).unwrap().count();
    let before = count();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let found = find_chats(&open_index(folder.path()), "words");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!((found, count()), (vec![1], before));
}
