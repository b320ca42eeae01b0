//! Damage to what Loci derived: bytes flipped, files cut short or missing, another version's layout. A search then
//! gives the right answer or says what is wrong and what to do, never nothing; and the next `loci index` heals it.

use crate::desk::{Desk, VIEWS, answers, assert_same, files};
use crate::history::History;
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
fn segment(desk: &Desk, ending: &str) -> PathBuf {
    let all = files(&desk.words());
    let of = |path: &&PathBuf| path.to_string_lossy().ends_with(ending);
    all.iter().filter(of).max_by_key(|path| fs::metadata(path).unwrap().len()).expect(ending).clone()
}

fn chats(desk: &Desk) -> PathBuf {
    let named = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("chats.");
    files(&desk.words()).into_iter().find(named).unwrap()
}

const DAMAGES: &[(&str, fn(&Desk))] = &[
    ("catalogue: its first bytes", |desk| flip(&desk.catalogue(), 0, 64)),
    ("catalogue: its schema", |desk| flip(&desk.catalogue(), 100, 3000)),
    ("catalogue: all pages but the first", |desk| {
        let length = fs::metadata(desk.catalogue()).unwrap().len();
        flip(&desk.catalogue(), 4096, length as usize - 4096);
    }),
    ("catalogue: the second half", |desk| {
        let length = fs::metadata(desk.catalogue()).unwrap().len();
        flip(&desk.catalogue(), length / 2, length as usize / 2);
    }),
    ("catalogue: every tenth page's head", |desk| {
        let length = fs::metadata(desk.catalogue()).unwrap().len();
        (1..length / 4096).step_by(10).for_each(|page| flip(&desk.catalogue(), page * 4096, 16));
    }),
    ("catalogue: cut in half", |desk| cut(&desk.catalogue(), 2)),
    ("catalogue: empty", |desk| cut(&desk.catalogue(), u64::MAX)),
    ("catalogue: a log of nonsense", |desk| {
        fs::write(desk.cache.join("loci/catalogue.db-wal"), vec![0x5a; 70_000]).unwrap();
    }),
    ("catalogue: no file but a folder", |desk| {
        fs::remove_file(desk.catalogue()).unwrap();
        fs::create_dir(desk.catalogue()).unwrap();
    }),
    ("catalogue: a newer version's", |desk| {
        let connection = db::Connection::open(desk.catalogue()).unwrap();
        connection.execute_batch("pragma user_version = 99; alter table files rename to folios").unwrap();
    }),
    ("text index: terms gone", |desk| fs::remove_file(segment(desk, ".term")).unwrap()),
    ("text index: terms cut", |desk| cut(&segment(desk, ".term"), 2)),
    ("text index: postings cut", |desk| cut(&segment(desk, ".idx"), 2)),
    ("text index: fast fields cut", |desk| cut(&segment(desk, ".fast"), 2)),
    ("text index: terms empty", |desk| cut(&segment(desk, ".term"), u64::MAX)),
    ("text index: terms flipped", |desk| flip(&segment(desk, ".term"), 0, 1 << 20)),
    ("text index: postings flipped", |desk| flip(&segment(desk, ".idx"), 0, 1 << 20)),
    ("text index: fast fields flipped", |desk| flip(&segment(desk, ".fast"), 0, 1 << 20)),
    ("text index: meta.json gone", |desk| fs::remove_file(desk.words().join("meta.json")).unwrap()),
    ("text index: meta.json cut", |desk| cut(&desk.words().join("meta.json"), 2)),
    ("text index: meta.json empty", |desk| cut(&desk.words().join("meta.json"), u64::MAX)),
    ("text index: meta.json nonsense", |desk| {
        fs::write(desk.words().join("meta.json"), b"{\"segments\": 7}").unwrap();
    }),
    ("text index: chats gone", |desk| fs::remove_file(chats(desk)).unwrap()),
    ("text index: chats cut", |desk| cut(&chats(desk), 2)),
    ("text index: chats nonsense", |desk| fs::write(chats(desk), vec![0xff; 3000]).unwrap()),
    ("text index: chats flipped in the middle", |desk| flip(&chats(desk), 40, 1)),
    ("text index: no folder but a file", |desk| {
        fs::remove_dir_all(desk.words()).unwrap();
        fs::write(desk.words(), b"x").unwrap();
    }),
];

#[test]
fn damage_is_healed_or_told_and_never_an_empty_answer() {
    let history = History::new(12);
    let whole = Desk::new(history.home.path());
    whole.index();
    let searches: Vec<String> = history.searches().into_iter().step_by(4).collect();
    let right = answers(&whole, VIEWS, &searches);
    let mut wrong = Vec::new();
    for (name, damage) in DAMAGES {
        let desk = whole.copied();
        damage(&desk);
        if let Some(complaint) = complaint(&desk, &history.needles[0], &right) {
            wrong.push(format!("{name}: {complaint}"));
        }
        // What the search may have healed is damaged again for `index`.
        let desk = whole.copied();
        damage(&desk);
        let healed = desk.run("index -o json");
        if healed.code != Some(0) || healed.stderr.contains("panicked") {
            let told = healed.stderr.lines().take(3).collect::<Vec<_>>().join(" / ");
            wrong.push(format!("{name}: index ends with {:?}: {told}", healed.code));
            continue;
        }
        let now = std::panic::catch_unwind(|| assert_same(name, &right, &answers(&desk, VIEWS, &searches)));
        if let Err(told) = now {
            let told = told.downcast_ref::<String>().cloned().unwrap_or_default();
            wrong.push(format!("{name}: not healed by index: {told:.400}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), DAMAGES.len(), wrong.join("\n"));
}

/// What is wrong with how a search and a question take the damage, if anything is.
fn complaint(desk: &Desk, word: &str, right: &[crate::desk::Answer]) -> Option<String> {
    let line = "query messages --all-projects";
    let viewed = desk.run(line);
    let expected = &right.iter().find(|(asked, ..)| asked == line).unwrap().2;
    let typed = |ended: &crate::run::Ended| ended.code == Some(1) && ended.stderr.contains("loci ");
    if viewed.stderr.contains("panicked") {
        return Some(format!("`{line}` panics: {:.300}", viewed.stderr));
    }
    if viewed.text() != expected && !typed(&viewed) {
        return Some(format!("`{line}` gives another answer, exit {:?}: {}", viewed.code, viewed.stderr));
    }
    let found = desk.run(&format!("search {word} -o json"));
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
    let desk = Desk::new(history.home.path());
    desk.index();
    flip(&chats(&desk), 0, 1 << 16);
    assert_eq!(desk.finds(&history.needles[1]).len(), 1);
}

/// A byte anywhere in the catalogue: the same bargain, wherever it is.
#[test]
fn a_flipped_byte_anywhere_in_the_catalogue_never_panics() {
    let history = History::new(6);
    let whole = Desk::new(history.home.path());
    whole.index();
    let length = fs::metadata(whole.catalogue()).unwrap().len();
    let mut dice = crate::history::Dice(7);
    for _ in 0..40 {
        let desk = whole.copied();
        let at = dice.below(length as usize) as u64;
        flip(&desk.catalogue(), at, 1);
        for line in
            ["query messages --all-projects", "sessions -o json", "search part -o json", "index -o json"]
        {
            let ended = desk.run(line);
            assert!(!ended.stderr.contains("panicked"), "byte {at}, {line}: {}", ended.stderr);
            assert!(matches!(ended.code, Some(0..=3)), "byte {at}, {line}: {:?}", ended.code);
        }
    }
}
