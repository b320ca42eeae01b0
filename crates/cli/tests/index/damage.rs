//! Damage to derived data: flipped bytes, truncated or missing files, another version's schema. A search then returns
//! the correct result or reports what is wrong and what to do, never an empty result; the next `loci index` repairs it.

use crate::history::History;
use crate::instance::{Instance, VIEWS, assert_same, collect_responses, list_files};
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

fn flip_bytes(path: &Path, at: u64, count: usize) {
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut bytes = vec![0; count];
    let read = file.read_at(&mut bytes, at).unwrap();
    bytes.truncate(read);
    bytes.iter_mut().for_each(|byte| *byte ^= 0x5a);
    file.write_all_at(&bytes, at).unwrap();
}

/// Truncates a file to its length divided by `divisor`.
fn truncate_file(path: &Path, divisor: u64) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    let length = file.metadata().unwrap().len();
    file.set_len(length / divisor).unwrap();
}

/// The largest file of the text index with this extension.
fn largest_segment(instance: &Instance, ending: &str) -> PathBuf {
    let all = list_files(&instance.text_index());
    let has_ending = |path: &&PathBuf| path.to_string_lossy().ends_with(ending);
    all.iter().filter(has_ending).max_by_key(|path| fs::metadata(path).unwrap().len()).expect(ending).clone()
}

fn chats_file(instance: &Instance) -> PathBuf {
    let is_chats = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("chats.");
    list_files(&instance.text_index()).into_iter().find(is_chats).unwrap()
}

const DAMAGES: &[(&str, fn(&Instance))] = &[
    ("catalogue: its first bytes", |instance| flip_bytes(&instance.catalogue(), 0, 64)),
    ("catalogue: its schema", |instance| flip_bytes(&instance.catalogue(), 100, 3000)),
    ("catalogue: all pages but the first", |instance| {
        let length = fs::metadata(instance.catalogue()).unwrap().len();
        flip_bytes(&instance.catalogue(), 4096, length as usize - 4096);
    }),
    ("catalogue: the second half", |instance| {
        let length = fs::metadata(instance.catalogue()).unwrap().len();
        flip_bytes(&instance.catalogue(), length / 2, length as usize / 2);
    }),
    ("catalogue: every tenth page's head", |instance| {
        let length = fs::metadata(instance.catalogue()).unwrap().len();
        (1..length / 4096).step_by(10).for_each(|page| flip_bytes(&instance.catalogue(), page * 4096, 16));
    }),
    ("catalogue: one byte of every third page's head", |instance| {
        let length = fs::metadata(instance.catalogue()).unwrap().len();
        (1..length / 4096).step_by(3).for_each(|page| flip_bytes(&instance.catalogue(), page * 4096, 1));
    }),
    ("text index: a byte in the middle of every segment file", |instance| {
        for path in list_files(&instance.text_index()) {
            let length = fs::metadata(&path).unwrap().len();
            if path.extension().is_some_and(|e| e != "json" && e != "lock") && length > 200 {
                flip_bytes(&path, length / 2, 1);
            }
        }
    }),
    ("catalogue: cut in half", |instance| truncate_file(&instance.catalogue(), 2)),
    ("catalogue: empty", |instance| truncate_file(&instance.catalogue(), u64::MAX)),
    ("catalogue: a log of nonsense", |instance| {
        fs::write(instance.cache.join("loci/catalogue.db-wal"), vec![0x5a; 70_000]).unwrap();
    }),
    ("catalogue: no file but a folder", |instance| {
        fs::remove_file(instance.catalogue()).unwrap();
        fs::create_dir(instance.catalogue()).unwrap();
    }),
    ("catalogue: an older version's", |instance| {
        let connection = db::Connection::open(instance.catalogue()).unwrap();
        connection.execute_batch("pragma user_version = 1; alter table files rename to folios").unwrap();
    }),
    ("text index: terms gone", |instance| fs::remove_file(largest_segment(instance, ".term")).unwrap()),
    ("text index: terms cut", |instance| truncate_file(&largest_segment(instance, ".term"), 2)),
    ("text index: postings cut", |instance| truncate_file(&largest_segment(instance, ".idx"), 2)),
    ("text index: fast fields cut", |instance| truncate_file(&largest_segment(instance, ".fast"), 2)),
    ("text index: terms empty", |instance| truncate_file(&largest_segment(instance, ".term"), u64::MAX)),
    ("text index: terms flipped", |instance| flip_bytes(&largest_segment(instance, ".term"), 0, 1 << 20)),
    ("text index: postings flipped", |instance| flip_bytes(&largest_segment(instance, ".idx"), 0, 1 << 20)),
    ("text index: fast fields flipped", |instance| {
        flip_bytes(&largest_segment(instance, ".fast"), 0, 1 << 20)
    }),
    ("text index: meta.json gone", |instance| {
        fs::remove_file(instance.text_index().join("meta.json")).unwrap()
    }),
    ("text index: meta.json cut", |instance| truncate_file(&instance.text_index().join("meta.json"), 2)),
    ("text index: meta.json empty", |instance| {
        truncate_file(&instance.text_index().join("meta.json"), u64::MAX)
    }),
    ("text index: meta.json nonsense", |instance| {
        fs::write(instance.text_index().join("meta.json"), b"{\"segments\": 7}").unwrap();
    }),
    ("text index: chats gone", |instance| fs::remove_file(chats_file(instance)).unwrap()),
    ("text index: chats cut", |instance| truncate_file(&chats_file(instance), 2)),
    ("text index: chats nonsense", |instance| fs::write(chats_file(instance), vec![0xff; 3000]).unwrap()),
    ("text index: chats flipped in the middle", |instance| flip_bytes(&chats_file(instance), 40, 1)),
    ("text index: no folder but a file", |instance| {
        fs::remove_dir_all(instance.text_index()).unwrap();
        fs::write(instance.text_index(), b"x").unwrap();
    }),
];

#[test]
fn damage_is_repaired_or_reported_and_never_gives_an_empty_result() {
    let history = History::new(12);
    let intact = Instance::new(history.home.path());
    intact.index();
    let searches: Vec<String> = history.search_terms().into_iter().step_by(4).collect();
    let expected = collect_responses(&intact, VIEWS, &searches);
    let mut problems = Vec::new();
    for (name, damage) in DAMAGES {
        let instance = intact.duplicate();
        damage(&instance);
        if let Some(problem) = find_problem(&instance, &history.needles[0], &expected) {
            problems.push(format!("{name}: {problem}"));
        }
        // The search may have repaired that copy, so `index` gets a new one.
        let instance = intact.duplicate();
        damage(&instance);
        let repair = instance.run("index -o json");
        if repair.code != Some(0) || repair.stderr.contains("panicked") {
            let message = repair.stderr.lines().take(3).collect::<Vec<_>>().join(" / ");
            problems.push(format!("{name}: index exits with {:?}: {message}", repair.code));
            continue;
        }
        let compared = std::panic::catch_unwind(|| {
            assert_same(name, &expected, &collect_responses(&instance, VIEWS, &searches))
        });
        if let Err(panic) = compared {
            let message = panic.downcast_ref::<String>().cloned().unwrap_or_default();
            problems.push(format!("{name}: not repaired by index: {message:.400}"));
        }
    }
    assert!(problems.is_empty(), "{} of {}:\n{}", problems.len(), DAMAGES.len(), problems.join("\n"));
}

/// Returns what is wrong with how a view and a search handle the damage, if anything.
fn find_problem(instance: &Instance, word: &str, expected: &[crate::instance::Response]) -> Option<String> {
    let line = "query messages --all-projects";
    let viewed = instance.run(line);
    let expected = &expected.iter().find(|(command, ..)| command == line).unwrap().2;
    let has_hint = |ended: &testutil::Finished| ended.code == Some(1) && ended.stderr.contains("loci ");
    if viewed.stderr.contains("panicked") {
        return Some(format!("`{line}` panics: {:.300}", viewed.stderr));
    }
    if viewed.text() != expected && !has_hint(&viewed) {
        return Some(format!("`{line}` gives another response, exit {:?}: {}", viewed.code, viewed.stderr));
    }
    let found = instance.run(&format!("search {word} -o json"));
    if found.stderr.contains("panicked") {
        return Some(format!("search panics: {:.300}", found.stderr));
    }
    let correct = found.code == Some(0) && found.text().contains(word);
    if !correct && !has_hint(&found) {
        return Some(format!(
            "search returns neither the result nor a hint, exit {:?}: {} {}",
            found.code,
            found.text(),
            found.stderr
        ));
    }
    None
}

/// Session numbers that do not exist must not be trusted.
#[test]
fn a_damaged_chats_file_is_detected() {
    let history = History::new(12);
    let instance = Instance::new(history.home.path());
    instance.index();
    flip_bytes(&chats_file(&instance), 0, 1 << 16);
    assert_eq!(instance.search_ids(&history.needles[1]).len(), 1);
}

/// Flips a single byte at 40 random offsets.
#[test]
fn a_flipped_byte_anywhere_in_the_catalogue_never_panics() {
    let history = History::new(6);
    let intact = Instance::new(history.home.path());
    intact.index();
    let length = fs::metadata(intact.catalogue()).unwrap().len();
    let mut rng = crate::history::Rng(7);
    for _ in 0..40 {
        let instance = intact.duplicate();
        let at = rng.below(length as usize) as u64;
        flip_bytes(&instance.catalogue(), at, 1);
        for line in
            ["query messages --all-projects", "sessions -o json", "search part -o json", "index -o json"]
        {
            let ended = instance.run(line);
            assert!(!ended.stderr.contains("panicked"), "byte {at}, {line}: {}", ended.stderr);
            assert!(matches!(ended.code, Some(0..=3)), "byte {at}, {line}: {:?}", ended.code);
        }
    }
}
