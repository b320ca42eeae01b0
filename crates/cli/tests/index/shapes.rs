//! Histories of unusual shape: forks that repeat nearly everything, times that cannot be, a line of a hundred
//! megabytes, bytes that are no text.

use crate::history::{Dice, needle};
use crate::instance::{Instance, VIEWS, answers, assert_same};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufWriter, Write};
use testutil::{ALPHA, Home, Session, millis, peak_memory, write_file};

/// A hundred prompts of words that pack badly.
fn long(id: &str) -> Session {
    let mut session = Session::new(id, ALPHA, "2026-03-01T10:00:00Z");
    let mut dice = Dice(5);
    session.prompt("To begin with");
    for n in 0..95 {
        let mut words: Vec<String> = (0..60).map(|_| needle(dice.below(9_000))).collect();
        words.extend((n == 40).then(|| needle(9999)));
        session.prompt(&format!("Number {n}: {}", words.join(" "))).reply(&[&words.join(" and ")]);
    }
    session
}

fn forked(original: &Session, n: usize) -> Session {
    let mut fork = original.clone();
    fork.id = format!("f{n:07x}-0000-4000-8000-000000000000");
    let id = |id: &str| format!("\"sessionId\":\"{id}\"");
    fork.lines = original.lines.iter().map(|line| line.replace(&id(&original.id), &id(&fork.id))).collect();
    fork.now += n as i64 * 60_000;
    for own in 0..5 {
        fork.prompt(&format!("Only fork {n} says {}", needle(9100 + n * 10 + own))).reply(&["It does."]);
    }
    fork
}

/// The text of ten forks that repeat 95 of a hundred turns is in the index once: what is stored for searching grows by
/// what is new in them and a row of the catalogue for each line, not by the text.
#[test]
fn forks_are_indexed_once() {
    let home = Home::new();
    let original = long("aaaa1111-0000-4000-8000-000000000001");
    home.add(&original);
    let one = Instance::new(home.path()).index();
    for n in 0..10 {
        home.add(&forked(&original, n));
    }
    let instance = Instance::new(home.path());
    let all = instance.index();
    let bytes = |told: &Value, name: &str| told[name].as_u64().unwrap() as f64;
    let text = |told: &Value| bytes(told, "indexBytes");
    assert!(text(&all) < 1.3 * text(&one), "{} after {}", text(&all), text(&one));
    // Each fork's rows are kept, for copies to be known: a third of what the whole original took, at the most.
    let grown = bytes(&all, "catalogueBytes") + text(&all) - bytes(&one, "catalogueBytes") - text(&one);
    let original_took = bytes(&one, "catalogueBytes") + text(&one);
    assert!(grown / 10.0 < original_took / 3.0, "{grown} for ten, {original_took} for the first");
    // What all of them say is given once, and in the original.
    assert_eq!(instance.finds(&needle(9999)), [original.id.as_str()]);
    for n in 0..10 {
        assert_eq!(instance.finds(&needle(9100 + n * 10 + 3)).len(), 1);
    }
}

/// The copies are the older files on the disk, as they are after a restored backup or an original that went on.
#[test]
fn a_hit_is_given_in_the_original_whichever_file_is_older() {
    let home = Home::new();
    let mut original = Session::new("aaaa1111-0000-4000-8000-000000000001", ALPHA, "2026-03-01T10:00:00Z");
    original.prompt("To begin with").prompt(&format!("Here is {}", needle(42))).reply(&["Yes."]);
    let mut fork = forked(&original, 1);
    fork.wait_minutes(5).prompt("and on");
    home.add(&fork);
    std::thread::sleep(std::time::Duration::from_millis(30));
    home.add(&original);
    let instance = Instance::new(home.path());
    assert_eq!(instance.finds(&needle(42)), [original.id.as_str()]);
    instance.index();
    assert_eq!(instance.finds(&needle(42)), [original.id.as_str()], "indexed");

    // The same when the fork was indexed before the original was there.
    let home = Home::new();
    home.add(&fork);
    let instance = Instance::new(home.path());
    instance.index();
    assert_eq!(instance.finds(&needle(42)), [fork.id.as_str()]);
    home.add(&original);
    assert_eq!(instance.finds(&needle(42)).len(), 1, "once, before it is indexed");
    instance.index();
    assert_eq!(instance.finds(&needle(42)), [original.id.as_str()], "the original came later");
}

#[test]
fn a_fork_that_is_not_indexed_yet_repeats_nothing() {
    let home = Home::new();
    let mut original = Session::new("aaaa1111-0000-4000-8000-000000000001", ALPHA, "2026-03-01T10:00:00Z");
    original.prompt("To begin with").prompt(&format!("Here is {}", needle(42)));
    original.did("Bash", json!({"command": format!("echo {}", needle(43))}), "ok").reply(&["Yes."]);
    home.add(&original);
    let instance = Instance::new(home.path());
    instance.index();
    home.add(&forked(&original, 1));
    for n in [42, 43] {
        assert_eq!(instance.finds(&needle(n)), [original.id.as_str()], "{n}");
    }
    assert_eq!(instance.finds(&needle(9113)).len(), 1, "what is new in the fork");
}

/// R17: no time, the beginning of time, a time to come.
#[test]
fn odd_times_change_no_order_and_make_no_negative_age() {
    let home = Home::new();
    let mut ids = Vec::new();
    for (n, at) in
        ["1970-01-01T00:00:00.000Z", "2999-12-31T23:59:59.000Z", "", "2026-03-01T10:00:00.000Z", "soon"]
            .iter()
            .enumerate()
    {
        let id = format!("{n:08x}-0000-4000-8000-000000000000");
        let mut session = Session::new(&id, ALPHA, "2026-03-01T10:00:00Z");
        session.prompt(&format!("Odd time {}", needle(n))).did("Bash", json!({"command": "date"}), "x");
        session.reply(&["Yes."]);
        let given = |line: &String| {
            let mut entry: Value = serde_json::from_str(line).unwrap();
            if at.is_empty() {
                entry.as_object_mut().unwrap().shift_remove("timestamp");
            } else {
                entry["timestamp"] = json!(at);
            }
            entry.to_string()
        };
        session.lines = session.lines.iter().map(given).collect();
        home.add(&session);
        ids.push(id);
    }
    let instance = Instance::new(home.path());
    instance.index();
    let searches: Vec<String> = (0..5).map(needle).chain(["odd time".to_string()]).collect();
    let told = answers(&instance, VIEWS, &searches);
    assert_same("twice", &told, &answers(&instance, VIEWS, &searches));
    let fresh = Instance::new(home.path());
    assert_same("without index", &told[7..], &answers(&fresh, VIEWS, &searches)[7..]);
    for (n, id) in ids.iter().enumerate() {
        assert_eq!(instance.finds(&needle(n)), [id.as_str()]);
    }
    let listed = instance.run("sessions -o json").expect(0).records().remove(0);
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 5);
    for line in ["sessions -o text", "search odd time -o text"] {
        let text = instance.run(line).expect(0).text().to_string();
        assert!(!text.contains("-1") && !text.contains("in the future"), "{line}: {text}");
    }
    let _ = millis("2026-03-01T10:00:00Z");
}

/// R18: one line of a hundred megabytes among ordinary ones.
#[test]
fn a_line_of_a_hundred_megabytes_is_indexed_within_bounds() {
    let home = Home::new();
    let mut session = Session::new("aaaa1111-0000-4000-8000-000000000001", ALPHA, "2026-03-01T10:00:00Z");
    session.prompt(&format!("Before {}", needle(1)));
    let before = session.text();
    session.did("Bash", json!({"command": "cat everything"}), "MIDDLE");
    session.prompt(&format!("After {}", needle(2)));
    let path = write_file(&home.file(&session), before.as_bytes());
    let mut file = BufWriter::new(File::options().append(true).open(&path).unwrap());
    for line in &session.lines[1..] {
        // The output stands twice in the line, as Claude Code writes it; one is enough to be large.
        let Some((left, right)) = line.split_once("MIDDLE") else {
            writeln!(file, "{line}").unwrap();
            continue;
        };
        write!(file, "{left}").unwrap();
        let block = "some words of output ".repeat(5000);
        for _ in 0..1000 {
            file.write_all(block.as_bytes()).unwrap();
        }
        writeln!(file, "{right}").unwrap();
    }
    file.flush().unwrap();
    drop(file);
    let size = std::fs::metadata(&path).unwrap().len();
    assert!(size > 100_000_000);
    let instance = Instance::new(home.path());
    let (code, most, _) = peak_memory(instance.command(&["index", "-o", "json"]));
    assert_eq!(code, Some(0));
    println!("{} MB of transcript, {} MB of memory", size >> 20, most >> 10);
    // The line itself, what is unpacked of it, what is masked of it, and the writers' own.
    assert!(most << 10 < 6 * size, "{} MB", most >> 10);
    for n in [1, 2] {
        assert_eq!(instance.finds(&needle(n)).len(), 1);
    }
    let (code, most, _) = peak_memory(instance.command(&["search", &needle(2)]));
    assert_eq!(code, Some(0));
    assert!(most < 300 << 10, "a search took {} MB", most >> 10);
}

/// R19: what is no text, and text that is odd.
#[test]
fn odd_bytes_cost_their_line_and_nothing_else() {
    let home = Home::new();
    let mut session = Session::new("aaaa1111-0000-4000-8000-000000000001", ALPHA, "2026-03-01T10:00:00Z");
    session.prompt(&format!("First {}", needle(0)));
    let mut bytes = vec![0xef, 0xbb, 0xbf];
    bytes.extend_from_slice(session.text().as_bytes());
    let odd: &[(&str, &[u8])] = &[
        ("invalid UTF-8", b"\xff\xfe\xc3\x28"),
        ("NUL", b"\0\0\0"),
        ("U+2028", "\u{2028}".as_bytes()),
        ("bidi", "\u{202e}abc\u{202c}".as_bytes()),
        ("a lone surrogate", br"\ud800"),
        ("escape", br"\u001b[31m"),
        ("CR", b"\r"),
    ];
    for (n, (_, inside)) in odd.iter().enumerate() {
        session.lines.clear();
        session.prompt(&format!("Odd {} SPOT end", needle(n + 1)));
        let line = session.text();
        let (left, right) = line.split_once("SPOT").unwrap();
        bytes.extend([left.as_bytes(), inside, right.as_bytes()].concat());
    }
    session.lines.clear();
    session.prompt(&format!("Last {}", needle(9)));
    bytes.extend_from_slice(session.text().replace('\n', "\r\n").as_bytes());
    home.add_bytes(&session, &bytes);
    let instance = Instance::new(home.path());
    instance.index();
    assert_eq!(instance.finds(&needle(9)).len(), 1, "what stands behind it");
    for (n, (name, _)) in
        odd.iter().enumerate().filter(|(_, (name, _))| ["U+2028", "bidi", "escape"].contains(name))
    {
        assert_eq!(instance.finds(&needle(n + 1)).len(), 1, "{name}");
    }
    let searches: Vec<String> = (0..10).map(needle).collect();
    let told = answers(&instance, VIEWS, &searches);
    assert_same("with no cache", &told[11..], &answers(&instance.with_empty_cache(), VIEWS, &searches)[11..]);
    for word in &searches {
        let shown = instance.run(&format!("search {word} -o text"));
        assert!(!shown.text().contains('\u{1b}') && !shown.text().contains('\u{202e}'), "{}", shown.text());
    }
}
