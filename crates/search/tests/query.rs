//! Every field of a query affects the result.
#![allow(clippy::unwrap_used)] // helpers of tests are not known to be tests

use loci_search::{Doc, Index, Part, Parts, Query, Scope, SearchResult, Writer};
use tempfile::TempDir;

fn doc(chat: u32, event: u64, part: Part, text: &'static str) -> Doc<'static> {
    Doc { file: chat, chat, event, turn: event, part, at: 1_000 * event as i64, text }
}

const HEAP: usize = 32 << 20;

fn sample_docs() -> Vec<Doc<'static>> {
    vec![
        doc(1, 1, Part::Title, "Cache eviction policy"),
        doc(1, 2, Part::Person, "which eviction policy does the cache use"),
        doc(1, 3, Part::Assistant, "the cache evicts the least recently used entry, an LRU policy"),
        doc(2, 4, Part::Person, "the deployment failed with exit code 137"),
        doc(2, 5, Part::Tool, "OOMKilled: memory cgroup out of memory, cache 12 MB"),
        doc(3, 6, Part::Person, "虚拟列表滚动很卡"),
        doc(3, 7, Part::Assistant, "use windowing, render the visible rows alone"),
        doc(4, 8, Part::Person, "rename getUserById to loadUser"),
        doc(4, 9, Part::Assistant, "done, the deployment is green"),
        doc(5, 10, Part::Assistant, "the scrolling stutters because each row is measured"),
    ]
}

fn sample_index() -> (TempDir, Index) {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(folder.path(), 1, HEAP).unwrap();
    for doc in sample_docs() {
        writer.add(&doc).unwrap();
    }
    writer.commit(1).unwrap();
    let index = Index::open(folder.path()).unwrap().unwrap();
    (folder, index)
}

fn chats(found: &SearchResult) -> Vec<u32> {
    found.chats.iter().map(|hit| hit.chat).collect()
}

fn sorted_chats(found: &SearchResult) -> Vec<u32> {
    let mut chats = chats(found);
    chats.sort_unstable();
    chats
}

#[test]
fn each_query_field_affects_the_result() {
    let (_folder, index) = sample_index();
    let find = |query: &Query| sorted_chats(&index.find(query, &[]).unwrap());
    let all = |text: &str| Query::new(text);
    assert_eq!(find(&all("cache")), [1, 2]);
    assert_eq!(find(&Query { scope: Scope::Title, ..all("cache") }), [1]);
    assert_eq!(find(&Query { scope: Scope::Content, ..all("cache eviction") }), [1, 2]);
    let parts = Parts { tool: false, ..Parts::default() };
    assert_eq!(find(&Query { parts, ..all("cache") }), [1]);
    let parts = Parts { person: false, tool: false, ..Parts::default() };
    assert_eq!(find(&Query { parts, ..all("deployment") }), [4]);
    assert_eq!(find(&all("deployment failed")), [2, 4]);
    assert_eq!(find(&Query { match_all: true, ..all("deployment failed") }), [2]);
    assert_eq!(find(&Query { match_all: true, ..all("getUserById") }), [4]);
    assert_eq!(find(&Query { exclude: vec!["MEMORY".to_owned()], ..all("cache") }), [1]);
    assert_eq!(find(&Query { exclude: vec!["eviction policy".to_owned()], ..all("cache") }), [2]);
    assert_eq!(find(&Query { from: Some(4_000), ..all("cache") }), [2]);
    assert_eq!(find(&Query { to: Some(4_000), ..all("cache") }), [1]);
    assert_eq!(find(&Query { allowed: Some(&|chat| chat != 1), ..all("cache") }), [2]);
    assert_eq!(find(&Query { limit_chats: 1, ..all("cache") }).len(), 1);
    assert_eq!(
        find(&Query { intents: vec!["eviction".to_owned(), "getUserById".to_owned()], ..all("") }),
        [1, 4]
    );
}

#[test]
fn fuzzy_finds_misspelled_words() {
    let (_folder, index) = sample_index();
    for (typed, chat) in [("evicton", 1), ("deploymnet", 2), ("getUsrById", 4), ("stuter", 5), ("window", 3)]
    {
        let found = index.find(&Query { fuzzy: true, ..Query::new(typed) }, &[]).unwrap();
        assert!(chats(&found).contains(&chat), "{typed}");
    }
    assert_eq!(chats(&index.find(&Query::new("evicton"), &[]).unwrap()), Vec::<u32>::new());
}

#[test]
fn expansion_finds_synonyms_and_lists_them() {
    let (_folder, index) = sample_index();
    let plain = index.find(&Query::new("卡顿"), &[]).unwrap();
    assert_eq!((chats(&plain), plain.expanded.len()), (vec![], 0));
    let found = index.find(&Query { expand: true, ..Query::new("卡顿") }, &[]).unwrap();
    assert_eq!(sorted_chats(&found), [3, 5]);
    assert!(found.expanded["卡顿"].contains(&"stutter".to_owned()));
}

#[test]
fn expansion_learns_words_from_the_users_own_texts() {
    let (_folder, index) = sample_index();
    let text =
        |event: u64| sample_docs().into_iter().find(|doc| doc.event == event).map(|doc| doc.text.to_owned());
    let extra: Vec<Doc> =
        (0..40).map(|nth| doc(100 + nth, 1000 + u64::from(nth), Part::Person, "noise")).collect();
    let more = [
        doc(6, 20, Part::Person, "the frobnicator overheats near the glorp"),
        doc(7, 21, Part::Person, "a frobnicator needs a glorp"),
        doc(8, 22, Part::Person, "only the glorp is here"),
    ];
    let extra = [&extra[..], &more].concat();
    let query = Query { expand: true, text: Some(&text), ..Query::new("frobnicator") };
    let found = index.find(&query, &extra).unwrap();
    assert_eq!(sorted_chats(&found), [6, 7, 8]);
    assert_eq!(found.expanded["*"], ["glorp"]);
    assert_ne!(found.chats[0].chat, 8);
}

#[test]
fn hits_are_counted_and_the_best_come_first() {
    let (_folder, index) = sample_index();
    let found =
        index.find(&Query { limit_hits_per_chat: 2, ..Query::new("cache eviction policy") }, &[]).unwrap();
    let first = &found.chats[0];
    assert_eq!((first.chat, first.hits, first.events.len(), found.total_chats), (1, 3, 2, 2));
    assert!(first.events[0].score >= first.events[1].score);
    assert!(found.confidence > 0.5 && found.confidence <= 1.0);
    let none = index.find(&Query::new("xyzzy"), &[]).unwrap();
    assert_eq!((none.chats.len(), none.total_chats, none.confidence.to_bits()), (0, 0, 0));
}

#[test]
fn a_single_chinese_character_is_found_within_words() {
    let (_folder, index) = sample_index();
    assert_eq!(chats(&index.find(&Query::new("卡"), &[]).unwrap()), [3]);
    assert_eq!(chats(&index.find(&Query::new("列表"), &[]).unwrap()), [3]);
}

#[test]
fn an_answer_ranks_above_the_repeated_question() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(folder.path(), 1, HEAP).unwrap();
    let docs = [
        doc(1, 1, Part::Person, "did we ever find out why the nightly import times out?"),
        doc(1, 2, Part::Assistant, "I cannot see that from here."),
        doc(2, 3, Part::Person, "the nightly import times out"),
        doc(
            2,
            4,
            Part::Assistant,
            "the nightly import times out since the vendor throttles it, so I added a backoff",
        ),
    ];
    for doc in &docs {
        writer.add(doc).unwrap();
    }
    writer.commit(1).unwrap();
    let index = Index::open(folder.path()).unwrap().unwrap();
    let text = |event: u64| docs.iter().find(|doc| doc.event == event).map(|doc| doc.text.to_owned());
    let query = Query { text: Some(&text), ..Query::new("why does the nightly import time out") };
    assert_eq!(chats(&index.find(&query, &[]).unwrap()), [2, 1]);
}
