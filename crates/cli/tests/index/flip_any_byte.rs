//! Every store that cannot be rebuilt, and the catalogue, damaged in every way: no forgotten session comes back, no reader answers
//! "nothing" with exit code 0 or 2 where something was, and `doctor` names what was lost until it is mended or dismissed.
//!
//! `LOCI_FLIPS=200` damages each store 200 times (about 1,400 homes); the normal run does it once.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use testutil::model_server::{Server, chat, ok};
use testutil::needs::number_variable;
use testutil::{ALPHA, Finished, Home, Session, copy_folder, run_line, write_file};

const SESSIONS: usize = 8;
const FACTS: usize = 4;

/// The stores, each with files below the home.
const STORES: &[(&str, &[&str])] = &[
    ("catalogue", &[".cache/loci/catalogue.db"]),
    ("archive", &[".local/share/loci/archive/packed.db"]),
    ("memory", &[".local/share/loci/memory.db"]),
    ("tombstones", &[".local/share/loci/forgotten", ".local/share/loci/archive/forgotten"]),
    ("mailbox", &[".local/share/loci/post.db"]),
    ("sync", &[".local/share/loci/sync/exchanged.db", ".local/share/loci/sync/sync.db"]),
    ("ledger", &[".local/share/loci/ledger.db"]),
];

struct Damaged {
    home: Home,
    label: String,
    /// The storage that all these homes name, as it was.
    storage: Storage,
}

#[derive(Clone)]
struct Storage {
    place: PathBuf,
    whole: PathBuf,
}

impl Storage {
    fn restore(&self) {
        fs::remove_dir_all(&self.place).unwrap();
        fs::create_dir_all(&self.place).unwrap();
        copy_folder(&self.whole, &self.place);
    }
}

fn id(number: usize) -> String {
    format!("{number:08x}-0000-4000-8000-000000000000")
}

fn add_session(home: &Home, number: usize) -> PathBuf {
    let mut session = Session::new(&id(number), ALPHA, "2026-03-01T10:00:00Z");
    for turn in 0..6 {
        session.prompt(&format!("flipneedle{number}x{turn}q: we decided to keep walrus {number}"));
        session.reply(&[&"Noted. ".repeat(60)]);
    }
    home.add(&session)
}

/// Has a model call about a session recorded. No setting stays: none of what follows may call a model.
fn add_model_call(home: &Home, number: usize) {
    let answer = serde_json::json!({
        "session_name": format!("Walrus {number}"), "tags": ["walrus"], "summary": "A walrus is kept.", "facts": [],
    });
    let server = Server::new(vec![ok(chat(&answer.to_string()))]);
    let settings = home.path().join(".config/loci/config.toml");
    let model =
        format!("[model]\nprovider = \"openai\"\nmodel = \"a-model\"\nbase_url = \"{}\"\n", server.url);
    write_file(&settings, model.as_bytes());
    run_line(home, &format!("memory consolidate {}", id(number))).expect(0);
    assert_eq!(server.requests(), 1);
    fs::remove_file(settings).unwrap();
}

/// Sessions 0 and 1 are forgotten, only the archive has 2 and 3, and the first half of all this is in `older`.
fn build_homes() -> (Home, Home) {
    let (home, older) = (Home::new(), Home::new());
    let paths: Vec<PathBuf> = (0..SESSIONS).map(|number| add_session(&home, number)).collect();
    let storage = home.path().join("storage");
    fs::create_dir_all(&storage).unwrap();
    run_line(&home, &format!("sync init {} --show-phrase", storage.display())).expect(0);
    run_line(&home, "index").expect(0);
    run_line(&home, "memory consolidate --no-model").expect(0);
    run_line(&home, "memory add 'Fact number 0 holds'").expect(0);
    run_line(&home, "agent add walrus0").expect(0);
    add_model_call(&home, 4);
    run_line(&home, &format!("forget {} --yes", id(0))).expect(0);
    run_line(&home, "sync now").expect(0);
    fs::create_dir_all(older.path()).unwrap();
    copy_folder(home.path(), older.path());
    for number in 1..FACTS {
        run_line(&home, &format!("memory add 'Fact number {number} holds'")).expect(0);
    }
    run_line(&home, "agent add walrus1").expect(0);
    add_model_call(&home, 5);
    run_line(&home, &format!("forget {} --yes", id(1))).expect(0);
    run_line(&home, "sync now").expect(0);
    paths[2..4].iter().for_each(|path| fs::remove_file(path).unwrap());
    run_line(&home, "index").expect(0);
    (home, older)
}

/// A small generator of its own: a damage is found again by its number.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

const KINDS: &[&str] = &[
    "one bit",
    "cut",
    "empty",
    "deleted",
    "older",
    "zeros",
    "20 bytes",
    "a page of zeros",
    "head",
    "garbage",
];

/// Damages one file of a store, without what SQLite keeps beside it.
fn damage(path: &Path, older: &Path, kind: &str, number: u64) {
    let mut numbers = Numbers(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    for _ in 0..5 {
        numbers.below(2);
    }
    for ending in ["-wal", "-shm"] {
        let mut beside = path.as_os_str().to_os_string();
        beside.push(ending);
        let _ = fs::remove_file(beside);
    }
    let mut bytes = fs::read(path).unwrap();
    let length = bytes.len();
    match kind {
        "one bit" => bytes[numbers.below(length)] ^= 1_u8 << numbers.below(8),
        "20 bytes" => (0..20).for_each(|_| bytes[numbers.below(length)] ^= 1 + numbers.below(255) as u8),
        "cut" => bytes.truncate(numbers.below(length)),
        "zeros" => bytes.fill(0),
        "a page of zeros" => {
            let from = numbers.below(length.div_ceil(4096)) * 4096;
            bytes[from..length.min(from + 4096)].fill(0);
        }
        "head" => (0..length.min(4096)).for_each(|at| bytes[at] = numbers.below(256) as u8),
        "garbage" => bytes.iter_mut().for_each(|byte| *byte = numbers.below(256) as u8),
        "empty" => bytes.clear(),
        "older" => match fs::read(older) {
            Ok(older) => bytes = older,
            Err(_) => bytes.clear(),
        },
        _ => return fs::remove_file(path).unwrap(),
    }
    fs::write(path, bytes).unwrap();
}

/// What a reader shows: how many of the words that it should show, and its exit code.
struct Answer {
    shown: usize,
    forgotten: usize,
    code: Option<i32>,
    text: String,
}

fn read(home: &Home, line: &str, words: &[String]) -> Answer {
    let ended: Finished = run_line(home, line);
    let text = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(!ended.stderr.contains("panicked"), "{line}: {}", ended.stderr);
    let shown = words.iter().filter(|word| text.contains(*word)).count();
    let forgotten = (0..2).filter(|number| text.contains(&format!("flipneedle{number}x"))).count();
    Answer { shown, forgotten, code: ended.code, text: format!("{text:.300}{:.300}", ended.stderr) }
}

fn readers() -> Vec<(&'static str, Vec<String>)> {
    let sessions = (2..SESSIONS).map(|number| format!("flipneedle{number}x0q")).collect();
    let facts = (0..FACTS).map(|number| format!("Fact number {number} holds")).collect();
    let agents = vec!["walrus0".to_string(), "walrus1".to_string()];
    vec![
        ("sync status --json", vec!["/storage".to_string()]),
        ("query user-messages --all-projects -o jsonl", sessions),
        ("search flipneedle3x1q --json", vec!["flipneedle3x1q".to_string()]),
        ("memory list --kind facts --json", facts),
        ("agent list --json", agents),
        ("memory costs --by session --json", vec![id(4), id(5)]),
    ]
}

fn has_problem(home: &Home) -> bool {
    let doctor = run_line(home, "doctor --json");
    assert!(!doctor.stderr.contains("panicked"), "{}", doctor.stderr);
    doctor.code == Some(1)
}

/// What is wrong with how the damaged home behaves, if anything.
fn check(damaged: &Damaged) -> Vec<String> {
    let Damaged { home, label, storage } = damaged;
    let mut wrong = Vec::new();
    let mut has_less = false;
    for step in ["before", "after index", "after rebuild"] {
        for (line, words) in readers() {
            let answer = read(home, line, &words);
            let has_nothing = answer.shown == 0 && matches!(answer.code, Some(0 | 2));
            if answer.forgotten > 0 {
                wrong.push(format!("{label}: {step}: `{line}` shows a forgotten session"));
            }
            if has_nothing {
                wrong.push(format!(
                    "{label}: {step}: `{line}` answers nothing, {:?}: {}",
                    answer.code, answer.text
                ));
            }
            has_less |= answer.shown < words.len();
            if answer.shown < words.len() && answer.code == Some(0) {
                wrong.push(format!(
                    "{label}: {step}: `{line}` shows {} of {}, exit 0",
                    answer.shown,
                    words.len()
                ));
            }
            if step == "after rebuild" && answer.shown < words.len() && !has_problem(home) {
                wrong.push(format!(
                    "{label}: {step}: `{line}` shows {} of {}, and doctor is silent",
                    answer.shown,
                    words.len()
                ));
            }
        }
        match step {
            "before" => drop(run_line(home, "index")),
            "after index" if has_less && !has_problem(home) => {
                // What was damaged may have been mended by that run.
                has_less = readers().iter().any(|(line, words)| read(home, line, words).shown < words.len());
                if has_less {
                    wrong.push(format!("{label}: something is missing, and doctor is silent"));
                }
            }
            _ => {}
        }
        if step == "after index" {
            drop(run_line(home, "index --rebuild"));
        }
    }
    if label.starts_with("sync") || label.starts_with("tombstones") {
        // A round with what is left of the state, or none.
        storage.restore();
        for line in ["sync now", "index --rebuild"] {
            let ended = run_line(home, line);
            assert!(!ended.stderr.contains("panicked"), "{label}: {line}: {}", ended.stderr);
        }
        for (line, words) in readers() {
            if read(home, line, &words).forgotten > 0 {
                wrong.push(format!("{label}: after a round: `{line}` shows a forgotten session"));
            }
        }
    }
    wrong
}

#[test]
fn no_damage_to_a_store_goes_unsaid_or_brings_a_forgotten_session_back() {
    let (whole, older) = build_homes();
    let times = number_variable("LOCI_FLIPS", 1) as usize;
    let storage = Storage { place: whole.path().join("storage"), whole: older.path().join("whole-storage") };
    fs::create_dir_all(&storage.whole).unwrap();
    copy_folder(&storage.place, &storage.whole);
    for (line, words) in readers() {
        let answer = read(&whole, line, &words);
        assert_eq!(
            (answer.shown, answer.forgotten, answer.code),
            (words.len(), 0, Some(0)),
            "{line}: {}",
            answer.text
        );
    }
    assert!(!has_problem(&whole), "{}", run_line(&whole, "doctor -o text").text());
    let (mut wrong, mut figures) = (Vec::new(), BTreeMap::new());
    for (at, (store, files)) in STORES.iter().enumerate() {
        for file in *files {
            assert!(whole.path().join(file).is_file(), "{store}: the home has no {file}");
        }
        for number in 0..times {
            // The short form takes other kinds for each store.
            let kind = KINDS[(number + at * if times < KINDS.len() { 2 } else { 0 }) % KINDS.len()];
            let file = files[(number / KINDS.len() + number) % files.len()];
            let home = Home::new();
            copy_folder(whole.path(), home.path());
            damage(&home.path().join(file), &older.path().join(file), kind, (at * 1000 + number) as u64);
            let label = format!("{store} {number}: {kind} of {file}");
            let damaged = Damaged { home, label, storage: storage.clone() };
            let found = check(&damaged);
            let figure: &mut (usize, usize) = figures.entry(*store).or_default();
            *figure = (figure.0 + 1, figure.1 + usize::from(!found.is_empty()));
            wrong.extend(found);
        }
    }
    for (store, (homes, bad)) in &figures {
        println!("{store}: {homes} damaged, {bad} wrong");
    }
    assert!(wrong.is_empty(), "{} wrong, {figures:?}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_loss_is_said_by_every_reader_until_it_is_dismissed() {
    let (home, _) = build_homes();
    let data = home.path().join(".local/share/loci");
    for file in ["forgotten", "archive/forgotten"] {
        fs::write(data.join(file), b"").unwrap();
    }
    fs::remove_file(data.join("memory.db")).unwrap();
    for _ in 0..2 {
        for line in [
            "query user-messages --all-projects",
            "search flipneedle3x1q",
            "show 00000003",
            "sessions",
            "memory list",
        ] {
            let ended = run_line(&home, line);
            assert_eq!(ended.code, Some(3), "{line}: {}", ended.stderr);
            assert!(ended.stderr.contains("loci doctor"), "{line}: {}", ended.stderr);
        }
        let enveloped = run_line(&home, "query user-messages --all-projects --hybrid").text().to_string();
        assert!(enveloped.contains("forgotten sessions were damaged"), "{enveloped}");
        let problems = run_line(&home, "sources --problems").text().to_string();
        assert!(problems.contains("\"problem\":\"forgotten\""), "{problems}");
        run_line(&home, "index");
    }
    let report = run_line(&home, "doctor --json").expect(1).records().remove(0);
    let losses = report["findings"].as_array().unwrap().iter().filter(|one| one["check"] == "losses");
    assert_eq!(losses.count(), 2, "{report}");
    run_line(&home, "doctor --dismiss forgotten");
    run_line(&home, "doctor --dismiss memory");
    run_line(&home, "doctor --dismiss memory").expect(1);
    run_line(&home, "query user-messages --all-projects").expect(0);
    assert_eq!(run_line(&home, "memory list").code, Some(2));
    let report = run_line(&home, "doctor -o text").text().to_string();
    assert!(report.contains("2 dismissed"), "{report}");
}

#[test]
fn every_reader_says_that_a_line_could_not_be_read() {
    let home = Home::new();
    add_session(&home, 5);
    let mut damaged = Session::new(&id(6), ALPHA, "2026-03-02T10:00:00Z");
    damaged.prompt("flipneedle6x0q").reply(&["ok"]);
    let mut bytes = damaged.text().into_bytes();
    bytes.extend(vec![0; 41_000]);
    bytes.push(b'\n');
    home.add_bytes(&damaged, &bytes);
    for line in ["index", "index", "search flipneedle5x1q", "sessions", "query user-messages --all-projects"]
    {
        let ended = run_line(&home, &format!("{line} --json"));
        let said = [ended.text(), &ended.stderr].concat();
        assert_eq!(ended.code, Some(3), "{line}: {said}");
        assert!(said.contains("could not be read") || said.contains("\"problems\":1"), "{line}: {said}");
    }
    // Of another project, nothing is missing.
    run_line(&home, "sessions --project /srv/elsewhere").expect(2);
    fs::remove_file(home.transcript_path(&damaged)).unwrap();
    home.add(&damaged);
    for line in ["index", "search flipneedle5x1q", "sessions", "query user-messages --all-projects"] {
        run_line(&home, line).expect(0);
    }
}
