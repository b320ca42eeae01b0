//! Damage to what Loci derived: bytes flipped, files cut short or missing, another version's layout. A search then
//! gives the right answer or says what is wrong and what to do, never nothing; and the next `loci index` heals it.

use crate::history::History;
use crate::instance::{Instance, VIEWS, answers, assert_same, files};
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

fn flip(path: &Path, at: u64, many: usize) {
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut bytes = vec![0; many];
    let read = file.read_at(&mut bytes, at).unwrap();
    bytes.truncate(read);
    bytes.iter_mut().for_each(|byte| *byte ^= 0x5a);
    file.write_all_at(&bytes, at).unwrap();
}

fn cut(path: &Path, part: u64) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    let length = file.metadata().unwrap().len();
    file.set_len(length / part).unwrap();
}

/// The largest file of the text index that ends so.
fn segment(instance: &Instance, ending: &str) -> PathBuf {
    let all = files(&instance.words());
    let of = |path: &&PathBuf| path.to_string_lossy().ends_with(ending);
    all.iter().filter(of).max_by_key(|path| fs::metadata(path).unwrap().len()).expect(ending).clone()
}

fn chats(instance: &Instance) -> PathBuf {
    let named = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("chats.");
    files(&instance.words()).into_iter().find(named).unwrap()
}

const DAMAGES: &[(&str, fn(&Instance))] = &[
    ("catalogue: its first bytes", |instance| flip(&instance.catalogue(), 0, 64)),
    ("catalogue: its schema", |instance| flip(&instance.catalogue(), 100, 3000)),
    ("catalogue: all pages but the first", |instance| {
        let length = fs::metadata(instance.catalogue()).unwrap().len();
        flip(&instance.catalogue(), 4096, length as usize - 4096);
    }),
    ("catalogue: the second half", |instance| {
        let length = fs::metadata(instance.catalogue()).unwrap().len();
        flip(&instance.catalogue(), length / 2, length as usize / 2);
    }),
    ("catalogue: every tenth page's head", |instance| {
        let length = fs::metadata(instance.catalogue()).unwrap().len();
        (1..length / 4096).step_by(10).for_each(|page| flip(&instance.catalogue(), page * 4096, 16));
    }),
    ("catalogue: cut in half", |instance| cut(&instance.catalogue(), 2)),
    ("catalogue: empty", |instance| cut(&instance.catalogue(), u64::MAX)),
    ("catalogue: a log of nonsense", |instance| {
        fs::write(instance.cache.join("loci/catalogue.db-wal"), vec![0x5a; 70_000]).unwrap();
    }),
    ("catalogue: no file but a folder", |instance| {
        fs::remove_file(instance.catalogue()).unwrap();
        fs::create_dir(instance.catalogue()).unwrap();
    }),
    ("catalogue: a newer version's", |instance| {
        let connection = db::Connection::open(instance.catalogue()).unwrap();
        connection.execute_batch("pragma user_version = 99; alter table files rename to folios").unwrap();
    }),
    ("text index: terms gone", |instance| fs::remove_file(segment(instance, ".term")).unwrap()),
    ("text index: terms cut", |instance| cut(&segment(instance, ".term"), 2)),
    ("text index: postings cut", |instance| cut(&segment(instance, ".idx"), 2)),
    ("text index: fast fields cut", |instance| cut(&segment(instance, ".fast"), 2)),
    ("text index: terms empty", |instance| cut(&segment(instance, ".term"), u64::MAX)),
    ("text index: terms flipped", |instance| flip(&segment(instance, ".term"), 0, 1 << 20)),
    ("text index: postings flipped", |instance| flip(&segment(instance, ".idx"), 0, 1 << 20)),
    ("text index: fast fields flipped", |instance| flip(&segment(instance, ".fast"), 0, 1 << 20)),
    ("text index: meta.json gone", |instance| fs::remove_file(instance.words().join("meta.json")).unwrap()),
    ("text index: meta.json cut", |instance| cut(&instance.words().join("meta.json"), 2)),
    ("text index: meta.json empty", |instance| cut(&instance.words().join("meta.json"), u64::MAX)),
    ("text index: meta.json nonsense", |instance| {
        fs::write(instance.words().join("meta.json"), b"{\"segments\": 7}").unwrap();
    }),
    ("text index: chats gone", |instance| fs::remove_file(chats(instance)).unwrap()),
    ("text index: chats cut", |instance| cut(&chats(instance), 2)),
    ("text index: chats nonsense", |instance| fs::write(chats(instance), vec![0xff; 3000]).unwrap()),
    ("text index: chats flipped in the middle", |instance| flip(&chats(instance), 40, 1)),
    ("text index: no folder but a file", |instance| {
        fs::remove_dir_all(instance.words()).unwrap();
        fs::write(instance.words(), b"x").unwrap();
    }),
];

#[test]
fn damage_is_healed_or_told_and_never_an_empty_answer() {
    let history = History::new(12);
    let whole = Instance::new(history.home.path());
    whole.index();
    let searches: Vec<String> = history.searches().into_iter().step_by(4).collect();
    let right = answers(&whole, VIEWS, &searches);
    let mut wrong = Vec::new();
    for (name, damage) in DAMAGES {
        let instance = whole.copied();
        damage(&instance);
        if let Some(complaint) = complaint(&instance, &history.needles[0], &right) {
            wrong.push(format!("{name}: {complaint}"));
        }
        // What the search may have healed is damaged again for `index`.
        let instance = whole.copied();
        damage(&instance);
        let healed = instance.run("index -o json");
        if healed.code != Some(0) || healed.stderr.contains("panicked") {
            let told = healed.stderr.lines().take(3).collect::<Vec<_>>().join(" / ");
            wrong.push(format!("{name}: index ends with {:?}: {told}", healed.code));
            continue;
        }
        let now =
            std::panic::catch_unwind(|| assert_same(name, &right, &answers(&instance, VIEWS, &searches)));
        if let Err(told) = now {
            let told = told.downcast_ref::<String>().cloned().unwrap_or_default();
            wrong.push(format!("{name}: not healed by index: {told:.400}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), DAMAGES.len(), wrong.join("\n"));
}

/// What is wrong with how a search and a question take the damage, if anything is.
fn complaint(instance: &Instance, word: &str, right: &[crate::instance::Answer]) -> Option<String> {
    let line = "query messages --all-projects";
    let viewed = instance.run(line);
    let expected = &right.iter().find(|(asked, ..)| asked == line).unwrap().2;
    let typed = |ended: &testutil::Finished| ended.code == Some(1) && ended.stderr.contains("loci ");
    if viewed.stderr.contains("panicked") {
        return Some(format!("`{line}` panics: {:.300}", viewed.stderr));
    }
    if viewed.text() != expected && !typed(&viewed) {
        return Some(format!("`{line}` gives another answer, exit {:?}: {}", viewed.code, viewed.stderr));
    }
    let found = instance.run(&format!("search {word} -o json"));
    if found.stderr.contains("panicked") {
        return Some(format!("search panics: {:.300}", found.stderr));
    }
    let right = found.code == Some(0) && found.text().contains(word);
    if !right && !typed(&found) {
        return Some(format!(
            "search says nothing right, exit {:?}: {} {}",
            found.code,
            found.text(),
            found.stderr
        ));
    }
    None
}

/// Numbers of conversations that do not exist must not be believed.
#[test]
fn a_flipped_list_of_chats_is_noticed() {
    let history = History::new(12);
    let instance = Instance::new(history.home.path());
    instance.index();
    flip(&chats(&instance), 0, 1 << 16);
    assert_eq!(instance.finds(&history.needles[1]).len(), 1);
}

/// A byte anywhere in the catalogue: the same bargain, wherever it is.
#[test]
fn a_flipped_byte_anywhere_in_the_catalogue_never_panics() {
    let history = History::new(6);
    let whole = Instance::new(history.home.path());
    whole.index();
    let length = fs::metadata(whole.catalogue()).unwrap().len();
    let mut dice = crate::history::Dice(7);
    for _ in 0..40 {
        let instance = whole.copied();
        let at = dice.below(length as usize) as u64;
        flip(&instance.catalogue(), at, 1);
        for line in
            ["query messages --all-projects", "sessions -o json", "search part -o json", "index -o json"]
        {
            let ended = instance.run(line);
            assert!(!ended.stderr.contains("panicked"), "byte {at}, {line}: {}", ended.stderr);
            assert!(matches!(ended.code, Some(0..=3)), "byte {at}, {line}: {:?}", ended.code);
        }
    }
}
