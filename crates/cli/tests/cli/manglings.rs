//! The archive only grows: transcripts are shortened, rewritten, zeroed, restored from older copies, deleted and continued on up to
//! three devices, with kills and rounds of sync in any order. Every entry that was ever indexed is in every archive, but for what was
//! forgotten, and every transcript that lost more than a tenth is named.
//!
//! `LOCI_MANGLINGS=1000` runs the long form over 50 transcripts; `LOCI_SEED` repeats a run.

use crate::sync::{Devices, run, session};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use testutil::{Home, Session, archived_entries, command, run_line};

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

fn needle(number: usize) -> String {
    format!("ndl{number}x")
}

fn needles_in(text: &str) -> BTreeSet<usize> {
    let number = |piece: &str| piece.split_once('x').and_then(|(number, _)| number.parse().ok());
    text.split("ndl").skip(1).filter_map(number).collect()
}

/// A transcript on one device. Each line has one needle.
struct Transcript {
    device: usize,
    session: Session,
    path: PathBuf,
    /// Its lines as they are on the disk, and what it was before.
    lines: Vec<String>,
    versions: Vec<Vec<String>>,
    exists: bool,
    /// The needles that were there when it was indexed.
    indexed: BTreeSet<usize>,
    is_forgotten: bool,
}

impl Transcript {
    fn present(&self) -> BTreeSet<usize> {
        let whole = self.lines.iter().filter(|line| !line.contains('\0'));
        if self.exists { whole.flat_map(|line| needles_in(line)).collect() } else { BTreeSet::new() }
    }

    fn write(&mut self) {
        self.exists = true;
        fs::create_dir_all(self.path.parent().unwrap()).unwrap();
        fs::write(&self.path, self.lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    }

    fn append(&mut self, random: &mut Random, next: &mut usize) {
        for _ in 0..=random.below(3) {
            let before = self.session.lines.len();
            self.session.prompt(&format!("Question {}", needle(*next)));
            self.session.reply(&[&format!("Answer {}", needle(*next + 1))]);
            *next += 2;
            self.lines.extend_from_slice(&self.session.lines[before..]);
        }
    }

    /// Returns what was done.
    fn mangle(&mut self, random: &mut Random, next: &mut usize) -> &'static str {
        self.versions.push(self.lines.clone());
        let many = self.lines.len();
        let done = match random.below(8) {
            0 => {
                self.lines.truncate(random.below(many + 1));
                "shorten"
            }
            1 if many > 2 => {
                let from = random.below(many - 1);
                self.lines.drain(from..=from + random.below(many - from - 1));
                "cut out"
            }
            2 if many > 2 => {
                // From the middle of a line to the middle of another, as after a loss of power.
                let from = random.below(many - 1);
                let to = from + 1 + random.below(many - from - 1);
                let joined =
                    [&self.lines[from][..20], &"\0".repeat(400), &self.lines[to][self.lines[to].len() - 8..]]
                        .concat();
                self.lines.splice(from..=to, [joined]);
                "zero"
            }
            3 => {
                self.lines = self.versions[random.below(self.versions.len())].clone();
                "restore"
            }
            4 if many > 0 => {
                let at = random.below(many);
                let old = needles_in(&self.lines[at]).into_iter().next();
                if let Some(old) = old.filter(|_| !self.lines[at].contains('\0')) {
                    self.lines[at] = self.lines[at].replace(&needle(old), &needle(*next));
                    *next += 1;
                }
                "rewrite"
            }
            5 => {
                self.exists = false;
                let _ = fs::remove_file(&self.path);
                return "delete";
            }
            _ => {
                self.append(random, next);
                "append"
            }
        };
        self.write();
        done
    }
}

fn join(devices: &Devices, home: &Home, label: &str) {
    let url = devices.bucket.path().to_str().unwrap().to_string();
    let mut child = command(home.path(), &["sync", "join", &url, "-", "--label", label])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    writeln!(child.stdin.take().unwrap(), "{}", devices.phrase).unwrap();
    assert!(child.wait().unwrap().success());
}

fn kill_in_between(home: &Home, line: &str, random: &mut Random) {
    let words: Vec<&str> = line.split(' ').collect();
    let mut child = command(home.path(), &words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(random.below(120) as u64));
    // It may have finished.
    let _ = child.kill();
    child.wait().unwrap();
}

/// Updates the index of a device and checks which transcripts it names.
fn index(home: &Home, transcripts: &mut [&mut Transcript], log: &str) {
    let finished = testutil::run_loci(home, &["index", "--json"]);
    let done: Value = finished.records().remove(0);
    let notes = done["notes"].to_string();
    for one in transcripts {
        one.indexed.extend(one.present());
        let (had, has) = (one.indexed.len(), one.present().len());
        let is_short = one.exists && !one.is_forgotten && (had - has) * 10 > had;
        let is_named = notes.contains(one.path.to_str().unwrap());
        assert_eq!(is_named, is_short, "{} had {had}, has {has}\n{notes}\n{log}", one.path.display());
        assert!(!is_short || finished.code == Some(3), "{:?}\n{log}", finished.code);
    }
}

fn mangle_transcripts(manglings: usize, many: usize, seed: u64) {
    let (mut random, mut next) = (Random(seed | 1), 0);
    let devices = Devices::joined();
    let third = Home::new();
    join(&devices, &third, "third");
    let homes = [&devices.work, &devices.laptop, &third];
    let mut transcripts: Vec<Transcript> = (0..many)
        .map(|number| {
            let device = random.below(3);
            let mut session = session(number as u32 + 1, "/srv/demo/shop", "Begin");
            session.lines.clear();
            let path = homes[device].transcript_path(&session);
            let mut one = Transcript {
                device,
                session,
                path,
                lines: Vec::new(),
                versions: vec![Vec::new()],
                exists: true,
                indexed: BTreeSet::new(),
                is_forgotten: false,
            };
            (0..4).for_each(|_| one.append(&mut random, &mut next));
            one.write();
            one
        })
        .collect();
    let (mut done, mut log) = (0, Vec::new());
    while done < manglings {
        let device = random.below(3);
        let mut here: Vec<&mut Transcript> =
            transcripts.iter_mut().filter(|one| one.device == device).collect();
        // Everything that is mangled below was indexed once.
        index(homes[device], &mut here, &format!("seed {seed}\n{}", log.join("\n")));
        for _ in 0..1 + random.below(8) {
            let at = random.below(here.len());
            let did = here[at].mangle(&mut random, &mut next);
            log.push(format!("{did} {}", here[at].path.display()));
            done += 1;
        }
        match random.below(6) {
            0 => kill_in_between(homes[device], "index", &mut random),
            1 => kill_in_between(homes[device], "sync now", &mut random),
            2 => {
                run_line(homes[random.below(3)], "sync now").expect(0);
            }
            _ => {}
        }
        if done * 2 > manglings && !transcripts.iter().any(|one| one.is_forgotten) {
            let at = random.below(many);
            let (home, id) = (homes[transcripts[at].device], transcripts[at].session.id.clone());
            run_line(home, &format!("forget {id} --yes")).expect(0);
            transcripts[at].is_forgotten = true;
        }
    }
    for (device, home) in homes.iter().enumerate() {
        let mut here: Vec<&mut Transcript> =
            transcripts.iter_mut().filter(|one| one.device == device).collect();
        index(home, &mut here, &format!("seed {seed}\n{}", log.join("\n")));
    }
    for home in homes.iter().chain(&homes).chain(&homes) {
        run(home, "sync now");
    }
    for (device, home) in homes.iter().enumerate() {
        let archived = needles_in(&archived_entries(home.path()).concat());
        for one in &transcripts {
            let lost: Vec<_> = one.indexed.difference(&archived).collect();
            let left = one.indexed.len() - lost.len();
            if one.is_forgotten {
                assert_eq!(left, 0, "device {device} has what was forgotten, seed {seed}");
            } else {
                assert!(
                    lost.is_empty(),
                    "device {device} lacks {lost:?} of {}, seed {seed}",
                    one.path.display()
                );
            }
        }
    }
}

#[test]
fn nothing_that_was_indexed_is_lost_however_transcripts_are_mangled() {
    let seed = testutil::needs::number_variable("LOCI_SEED", 0x9e37_79b9_7f4a_7c15);
    match testutil::needs::number_variable("LOCI_MANGLINGS", 0) {
        0 => mangle_transcripts(40, 12, seed),
        manglings => mangle_transcripts(manglings, 50, seed),
    }
}

/// A session with this many prompts.
fn long_session(number: u32, prompts: usize) -> Session {
    let mut session = session(number, "/srv/demo/shop", "Begin");
    for turn in 0..prompts {
        session.prompt(&format!("Turn {}", needle(turn))).reply(&[&format!("Done {}", needle(turn + 1000))]);
    }
    session
}

fn prompts(home: &Home) -> usize {
    let listed = testutil::run_loci(home, &["query", "user-messages", "--all-projects", "-o", "jsonl"]);
    needles_in(listed.text()).iter().filter(|number| **number < 1000).count()
}

#[test]
fn a_transcript_that_was_cut_is_complete_in_every_archive_and_named_until_it_is_whole() {
    let devices = Devices::joined();
    let whole = long_session(1, 60);
    devices.work.add(&whole);
    devices.rounds();
    assert_eq!((prompts(&devices.work), prompts(&devices.laptop)), (60, 60));
    let mut cut = whole.clone();
    cut.lines.truncate(6);
    let path = devices.work.add(&cut);
    let indexed = testutil::run_loci(&devices.work, &["index", "--json"]);
    assert_eq!(indexed.code, Some(3), "{}", indexed.text());
    assert!(indexed.text().contains("shortened"), "{}", indexed.text());
    // It stays true over runs, and is named where problems are.
    assert_eq!(testutil::run_loci(&devices.work, &["index", "--json"]).code, Some(3));
    let problems = testutil::run_loci(&devices.work, &["sources", "--problems"]);
    assert!(problems.text().contains("shortened") && problems.code == Some(3), "{}", problems.text());
    let doctor = testutil::run_loci(&devices.work, &["doctor", "--json"]).text().to_string();
    assert!(doctor.contains("lost") && doctor.contains(path.to_str().unwrap()), "{doctor}");
    // Queries show what the transcript has, and say that there is more.
    assert!(prompts(&devices.work) < 10);
    let shown = testutil::run_loci(&devices.work, &["show", "00000001", "--json"]).records().remove(0);
    assert!(
        shown["notes"].to_string().contains("kept that the transcript no longer has"),
        "{}",
        shown["notes"]
    );
    let all = testutil::run_loci(&devices.work, &["show", "00000001", "--all", "--json"]).text().to_string();
    assert_eq!(needles_in(&all).iter().filter(|number| **number < 1000).count(), 60);
    devices.rounds();
    assert_eq!(prompts(&devices.laptop), 60);
    fs::remove_file(&path).unwrap();
    run_line(&devices.work, "index").expect(0);
    assert_eq!((prompts(&devices.work), prompts(&devices.laptop)), (60, 60));
    // Back again, it is whole.
    devices.work.add(&whole);
    run_line(&devices.work, "index").expect(0);
    assert_eq!(prompts(&devices.work), 60);
}

#[test]
fn a_session_that_was_continued_on_two_machines_is_the_union_on_both() {
    let devices = Devices::joined();
    let base = session(1, "/srv/demo/shop", &needle(1));
    devices.work.add(&base);
    devices.rounds();
    let continued = |from: Session, text: &str| {
        let mut side = from;
        side.lines.clone_from(&base.lines);
        side.prompt(text).reply(&["Understood."]);
        side
    };
    let (work, laptop) = (continued(base.clone(), &needle(2)), continued(base.with_new_ids(), &needle(3)));
    let here = devices.work.add(&work);
    let there = devices.laptop.add(&laptop);
    devices.rounds();
    for _ in 0..2 {
        for home in [&devices.work, &devices.laptop] {
            let listed =
                testutil::run_loci(home, &["query", "user-messages", "--all-projects", "-o", "jsonl"]);
            assert!(needles_in(listed.text()).is_superset(&BTreeSet::from([1, 2, 3])), "{}", listed.text());
        }
        let _ = (fs::remove_file(&here), fs::remove_file(&there));
        devices.rounds();
    }
}

/// Aider keeps one file for each folder, and no IDs. Two machines with the same user name have the same paths.
#[test]
fn histories_at_one_path_of_two_machines_are_found_on_both_and_come_back() {
    let devices = Devices::joined();
    let shared = Home::new();
    let path = shared.path().join(".aider.chat.history.md");
    let history = |animal: &str| {
        format!(
            "\n# aider chat started at 2026-11-11 10:00:00\n\n#### explain the {animal} function\n\nThe {animal} function.\n\n"
        )
    };
    let run_on = |home: &Home, animal: Option<&str>, args: &[&str]| {
        // The machine's own file is at the path.
        match animal {
            Some(animal) => fs::write(&path, history(animal)).unwrap(),
            None => drop(fs::remove_file(&path)),
        }
        let mut command = command(home.path(), args);
        command.env("AIDER_CHAT_HISTORY_FILE", &path);
        let finished = testutil::run_command(command);
        assert_ne!(finished.code, Some(1), "{}", finished.stderr);
        finished.text().to_string()
    };
    for _ in 0..2 {
        run_on(&devices.work, Some("giraffe"), &["sync", "now"]);
        run_on(&devices.laptop, Some("walrus"), &["sync", "now"]);
    }
    let third = Home::new();
    join(&devices, &third, "third");
    run_on(&third, None, &["sync", "now"]);
    for (home, animal) in
        [(&devices.work, Some("giraffe")), (&devices.laptop, Some("walrus")), (&third, None)]
    {
        let listed = run_on(home, animal, &["query", "messages", "--all-projects", "-o", "jsonl"]);
        assert!(listed.contains("giraffe") && listed.contains("walrus"), "{animal:?}: {listed}");
    }
}

#[test]
fn a_copy_that_was_lost_is_named_by_doctor_until_it_is_there_again() {
    let home = Home::new();
    let one = long_session(1, 3);
    let path = home.add(&one);
    run_line(&home, "index").expect(0);
    fs::remove_file(&path).unwrap();
    run_line(&home, "index").expect(0);
    fs::write(home.path().join(".local/share/loci/archive/packed.db"), [0_u8; 4096]).unwrap();
    testutil::run_loci(&home, &["index"]);
    testutil::run_loci(&home, &["index"]);
    let doctor = testutil::run_loci(&home, &["doctor", "--json"]).text().to_string();
    assert!(doctor.contains("lost") && doctor.contains(&one.id), "{doctor}");
    home.add(&one);
    run_line(&home, "index").expect(0);
    let doctor = testutil::run_loci(&home, &["doctor", "--json"]).text().to_string();
    assert!(!doctor.contains("are lost"), "{doctor}");
}
