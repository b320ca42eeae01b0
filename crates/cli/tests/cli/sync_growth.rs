//! `loci sync` of sessions that grow: what was appended travels alone, and all devices end with the same sessions.

use crate::sync::{Devices, SHOP, run, session};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use testutil::{Home, Session, run_line};

/// Text that does not compress below half its length: random hexadecimal digits.
fn noise(length: usize, seed: u64) -> String {
    let mut state = seed * 2 + 1;
    let next = |_| {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        char::from_digit((state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 60) as u32, 16).unwrap()
    };
    (0..length)
        .map(next)
        .collect::<Vec<char>>()
        .chunks(9)
        .map(|word| word.iter().collect::<String>() + " ")
        .collect()
}

/// A session with a megabyte of talk.
fn long_session() -> Session {
    let mut session = session(1, SHOP, "Count the walruses");
    for number in 0..250 {
        session.prompt(&format!("Question {number}: {}", noise(2_000, number + 1)));
        session.reply(&[&noise(2_000, number + 1_000)]);
    }
    session
}

fn object_sizes(devices: &Devices) -> BTreeMap<PathBuf, u64> {
    let size = |path: &PathBuf| std::fs::metadata(path).map_or(0, |data| data.len());
    devices.objects().into_iter().map(|path| (path.clone(), size(&path))).collect()
}

/// Number and bytes of the objects that a round of a device adds.
fn measure_round(devices: &Devices, home: &Home) -> (usize, u64) {
    let before = object_sizes(devices);
    assert_eq!(run(home, "sync now")["sent"], 1);
    let after = object_sizes(devices);
    let new: Vec<u64> =
        after.iter().filter(|(path, _)| !before.contains_key(*path)).map(|(_, size)| *size).collect();
    (new.len(), new.iter().sum())
}

fn export(home: &Home, id: &str) -> String {
    run_line(home, &format!("export {id} -o markdown")).expect(0).text().to_string()
}

#[test]
fn an_appended_message_costs_its_own_size_and_four_kilobytes() {
    let devices = Devices::joined();
    let mut growing = long_session();
    devices.work.add(&growing);
    let (_, whole) = measure_round(&devices, &devices.work);
    assert!(whole > 500_000, "{whole}");
    run(&devices.laptop, "sync now");
    for (number, length) in [(1, 20), (2, 10_000), (3, 600)] {
        growing.prompt(&format!("Appended {number}: {}", noise(length, 7 + number)));
        devices.work.add(&growing);
        assert!(run(&devices.work, "sync preview")["bytes"].as_u64().unwrap() < 4_096 + length as u64);
        let (objects, bytes) = measure_round(&devices, &devices.work);
        println!("{length} characters: {objects} objects, {bytes} bytes");
        // Half the digits is the least that they compress to.
        assert!(
            objects == 2 && bytes <= length as u64 / 2 + 4_096,
            "{length}: {objects} objects, {bytes} bytes"
        );
        assert_eq!(run(&devices.laptop, "sync now")["transcripts"], 1);
        assert_eq!(run(&devices.laptop, "search Appended")["results"].as_array().unwrap().len(), 1);
        assert_eq!(export(&devices.laptop, "00000001"), export(&devices.work, "00000001"));
    }
    // Nothing is sent for a copy that was only written anew, and nothing comes back.
    run_line(&devices.work, "index --rebuild").expect(0);
    assert_eq!(run(&devices.work, "sync now")["sent"], 0);
    let idle = run(&devices.laptop, "sync now");
    assert_eq!((&idle["sent"], &idle["transcripts"]), (&0.into(), &0.into()), "{idle}");
    let third = Home::new();
    run(&third, &format!("sync join {} {}", devices.bucket.path().display(), devices.phrase));
    assert_eq!(run(&third, "sync now")["transcripts"], 1);
    assert_eq!(export(&third, "00000001"), export(&devices.work, "00000001"));
}

/// A call that gets its result later is replaced: what it was no longer counts.
#[test]
fn a_call_and_its_result_arrive_one_after_the_other() {
    let devices = Devices::joined();
    let mut growing = session(1, SHOP, "Count the walruses");
    devices.work.add(&growing);
    devices.rounds();
    for number in 0..4 {
        let call = growing.call("Bash", serde_json::json!({"command": format!("count walrus {number}")}));
        devices.work.add(&growing);
        run(&devices.work, "sync now");
        if number % 2 == 0 {
            run(&devices.laptop, "sync now");
        }
        growing.result(&call, &format!("{number} walruses"), serde_json::Value::Null);
        devices.work.add(&growing);
        run(&devices.work, "sync now");
    }
    run(&devices.laptop, "sync now");
    assert_eq!(export(&devices.laptop, "00000001"), export(&devices.work, "00000001"));
    assert!(export(&devices.laptop, "00000001").contains("3 walruses"));
}

fn packs(devices: &Devices) -> Vec<PathBuf> {
    let mut packs = devices.objects();
    packs.retain(|path| path.to_string_lossy().contains("/packs/"));
    packs.sort();
    packs
}

#[test]
fn what_was_appended_is_stored_in_whatever_order_it_arrives() {
    let devices = Devices::joined();
    let aside = Home::new();
    let hide = |path: &Path| std::fs::rename(path, aside.path().join(path.file_name().unwrap())).unwrap();
    let show = |path: &Path| std::fs::rename(aside.path().join(path.file_name().unwrap()), path).unwrap();
    let mut growing = session(1, SHOP, "Count the walruses");
    let mut sent = Vec::new();
    for number in 0..4 {
        growing.prompt(&format!("And the narwhals, time {number}"));
        devices.work.add(&growing);
        run(&devices.work, "sync now");
        let new: Vec<PathBuf> = packs(&devices).into_iter().filter(|path| !sent.contains(path)).collect();
        assert_eq!(new.len(), 1);
        sent.extend(new);
    }
    // The last part first, then the one before the last, then the whole, then what is between.
    sent.iter().for_each(|path| hide(path));
    for shown in [3, 2, 0, 1] {
        show(&sent[shown]);
        run_line(&devices.laptop, "sync now");
    }
    assert_eq!(export(&devices.laptop, "00000001"), export(&devices.work, "00000001"));
    assert_eq!(run(&devices.laptop, "sync now")["sent"], 0);
}

#[test]
fn a_round_that_is_killed_while_a_session_grows_loses_nothing() {
    let devices = Devices::joined();
    let mut growing = session(1, SHOP, "Count the walruses");
    let mut killed = 0;
    for number in 0..24 {
        growing.prompt(&format!("Question {number}: {}", noise(300, number))).reply(&["Seven."]);
        devices.work.add(&growing);
        for home in [&devices.work, &devices.laptop] {
            let mut command = testutil::command(home.path(), &["sync", "now"]);
            let mut process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(number * 5));
            let _ = process.kill();
            killed += u64::from(process.wait().unwrap().code().is_none());
        }
    }
    assert!(killed > 5, "{killed} kills");
    devices.rounds();
    assert_eq!(export(&devices.laptop, "00000001"), export(&devices.work, "00000001"));
    let third = Home::new();
    run(&third, &format!("sync join {} {}", devices.bucket.path().display(), devices.phrase));
    run(&third, "sync now");
    assert_eq!(export(&third, "00000001"), export(&devices.work, "00000001"));
}

#[test]
fn a_session_that_grew_is_forgotten_with_all_its_parts() {
    for forgets_at_work in [true, false] {
        let devices = Devices::joined();
        let mut growing = session(1, SHOP, "Count the walruses");
        growing.prompt(&noise(40_000, 5));
        for number in 0..5 {
            growing.prompt(&format!("Narwhals {number}: {}", noise(20_000, number + 50)));
            devices.work.add(&growing);
            devices.rounds();
        }
        let stored: u64 = object_sizes(&devices).values().sum();
        assert!(stored > 60_000, "{stored}");
        let home = if forgets_at_work { &devices.work } else { &devices.laptop };
        run_line(home, "forget 00000001 --yes").expect(0);
        devices.rounds();
        devices.rounds();
        let stored: u64 = object_sizes(&devices).values().sum();
        assert!(stored < 20_000, "{stored} bytes are left");
        let third = Home::new();
        run(&third, &format!("sync join {} {}", devices.bucket.path().display(), devices.phrase));
        run(&third, "sync now");
        for home in [&devices.work, &devices.laptop, &third] {
            run_line(home, "search Narwhals").expect(2);
        }
    }
}

/// Two devices whose homes have the same path, as two containers have, so that a transcript has one name on both.
struct Twins {
    folder: Home,
    homes: [Home; 2],
}

impl Twins {
    fn run(&self, which: usize, line: &str) -> serde_json::Value {
        let path = self.folder.path().join("home");
        let _ = std::fs::remove_file(&path);
        std::os::unix::fs::symlink(self.homes[which].path(), &path).unwrap();
        let words = testutil::split_words(&format!("{line} --json"));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        testutil::run_command(testutil::command(&path, &words)).expect(0).records().remove(0)
    }
}

/// Both write it, together and apart: all end with what both wrote, in whatever order they read.
#[test]
fn two_devices_that_write_one_transcript_agree_elsewhere() {
    let bucket = Home::new();
    let twins = Twins { folder: Home::new(), homes: [Home::new(), Home::new()] };
    let url = bucket.path().display();
    let phrase =
        twins.run(0, &format!("sync init --show-phrase {url}"))["phrase"].as_str().unwrap().to_string();
    twins.run(1, &format!("sync join {url} {phrase}"));
    let join = || {
        let home = Home::new();
        run(&home, &format!("sync join {url} {phrase}"));
        home
    };
    let (often, seldom) = (join(), join());
    let mut sessions = [0, 1].map(|_| session(1, SHOP, "Count the walruses"));
    // Which grows, whether both get the same words, and whether the first hears of it before it goes on.
    for (step, (which, is_same)) in
        [(0, true), (1, true), (0, true), (0, false), (1, false), (1, false), (0, false)]
            .into_iter()
            .enumerate()
    {
        for (number, session) in
            sessions.iter_mut().enumerate().filter(|(number, _)| is_same || *number == which)
        {
            let words =
                if is_same { format!("Narwhal {step}") } else { format!("Narwhal {step} of {number}") };
            session.prompt(&words);
        }
        twins.homes[which].add(&sessions[which]);
        twins.run(which, "sync now");
        run(&often, "sync now");
        if step % 3 == 2 {
            run(&seldom, "sync now");
        }
        // One for each copy with something that the others lack.
        assert!(run(&often, "sessions")["total"].as_u64() <= Some(2), "after step {step}");
    }
    run(&seldom, "sync now");
    let late = join();
    run(&late, "sync now");
    assert!(export(&often, "00000001").contains("Narwhal 2"));
    // The same IDs have different words on both, which agents do not do: a view shows one of them, and the archives have both.
    let archived = |home: &Home| testutil::archived_entries(home.path()).concat();
    for words in ["Narwhal 3 of 0", "Narwhal 4 of 1", "Narwhal 5 of 1", "Narwhal 6 of 0"] {
        for home in [&often, &seldom, &late] {
            assert!(archived(home).contains(words), "{words}");
        }
    }
}

/// A transcript that became shorter, or was written anew: the others have both.
#[test]
fn a_session_that_was_rewritten_is_complete_elsewhere() {
    let devices = Devices::joined();
    let mut growing = session(1, SHOP, "Count the walruses");
    growing.prompt("And the narwhals");
    devices.work.add(&growing);
    devices.rounds();
    growing.prompt("And the penguins");
    devices.work.add(&growing);
    devices.rounds();
    let mut rewritten = session(1, SHOP, "Count the ostriches");
    rewritten.prompt("And the emus");
    let path = devices.work.add(&rewritten);
    assert!(path.exists());
    devices.rounds();
    rewritten.prompt("And the kiwis");
    devices.work.add(&rewritten);
    devices.rounds();
    // That it was rewritten is named until it is dismissed.
    testutil::run_loci(&devices.work, &["doctor", "--dismiss", "shortened"]);
    let archived = testutil::archived_entries(devices.laptop.path()).concat();
    let (there, here) = (archived, export(&devices.work, "00000001"));
    for (animal, is_here) in [
        ("walruses", false),
        ("narwhals", false),
        ("penguins", false),
        ("ostriches", true),
        ("emus", true),
        ("kiwis", true),
    ] {
        assert_eq!((there.contains(animal), here.contains(animal)), (true, is_here), "{animal}");
    }
    for animal in ["ostriches", "kiwis", "penguins"] {
        run(&devices.laptop, &format!("search {animal}"));
    }
}

#[test]
fn what_newer_rules_mask_does_not_leave_in_a_part() {
    let devices = Devices::joined();
    let (harmless, secret) =
        ("walrus-walrus-walrus-walrus-walrus-walru", "ghp_16C7e42F292c6912E7710c838347Ae178B4a");
    let mut growing = session(1, SHOP, "Count the walruses");
    devices.work.add(&growing);
    devices.rounds();
    growing.prompt(&format!("The token is {harmless}"));
    devices.work.add(&growing);
    run_line(&devices.work, "index").expect(0);
    // Archived by a version that had no rule for it.
    assert_eq!(testutil::replace_in_archive(devices.work.path(), harmless, secret), 1);
    let before = object_sizes(&devices);
    for prompt in ["And the narwhals", "And the penguins"] {
        let round = run(&devices.work, "sync now");
        assert_eq!((&round["withheld"], &round["sent"]), (&1.into(), &0.into()), "{round}");
        assert_eq!(object_sizes(&devices), before);
        // What is appended later does not carry it either.
        growing.prompt(prompt);
        devices.work.add(&growing);
    }
    run_line(&devices.work, "index").expect(0);
    run_line(&devices.work, "index --rebuild").expect(0);
    devices.rounds();
    assert_eq!(export(&devices.laptop, "00000001"), export(&devices.work, "00000001"));
    assert!(export(&devices.laptop, "00000001").contains("penguins"));
}
