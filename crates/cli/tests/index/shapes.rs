//! Histories of unusual shape: forks that repeat nearly everything, impossible timestamps, a line of a hundred
//! megabytes, invalid bytes.

use crate::history::{Rng, needle};
use crate::instance::{Instance, VIEWS, assert_same, collect_responses};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufWriter, Write};
use testutil::{ALPHA, Home, Session, peak_memory, write_file};

/// Nearly a hundred prompts of words that compress badly.
fn long_session(id: &str) -> Session {
    let mut session = Session::new(id, ALPHA, "2026-03-01T10:00:00Z");
    let mut rng = Rng(5);
    session.prompt("To begin with");
    for n in 0..95 {
        let mut words: Vec<String> = (0..60).map(|_| needle(rng.below(9_000))).collect();
        words.extend((n == 40).then(|| needle(9999)));
        session.prompt(&format!("Number {n}: {}", words.join(" "))).reply(&[&words.join(" and ")]);
    }
    session
}

/// A fork that repeats the original and adds five turns.
fn fork_of(original: &Session, n: usize) -> Session {
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

/// Ten forks repeat 95 of a hundred turns, and the repeated text is indexed once: the stored size grows by the new text
/// and by one catalogue row per line, not by the repeated text.
#[test]
fn forks_are_indexed_once() {
    let home = Home::new();
    let original = long_session("aaaa1111-0000-4000-8000-000000000001");
    home.add(&original);
    let one = Instance::new(home.path()).index();
    for n in 0..10 {
        home.add(&fork_of(&original, n));
    }
    let instance = Instance::new(home.path());
    let all = instance.index();
    let bytes = |report: &Value, name: &str| report[name].as_u64().unwrap() as f64;
    let text = |report: &Value| bytes(report, "indexBytes");
    assert!(text(&all) < 1.3 * text(&one), "{} after {}", text(&all), text(&one));
    // The catalogue keeps each fork's rows to recognise copies: at most a third of the original's size.
    let grown = bytes(&all, "catalogueBytes") + text(&all) - bytes(&one, "catalogueBytes") - text(&one);
    let original_took = bytes(&one, "catalogueBytes") + text(&one);
    assert!(grown / 10.0 < original_took / 3.0, "{grown} for ten, {original_took} for the first");
    // Text that all of them contain is returned once, from the original.
    assert_eq!(instance.search_ids(&needle(9999)), [original.id.as_str()]);
    for n in 0..10 {
        assert_eq!(instance.search_ids(&needle(9100 + n * 10 + 3)).len(), 1);
    }
}

/// The copies are the older files on disk, as after a restored backup or when the original continued.
#[test]
fn a_hit_is_attributed_to_the_original_even_if_its_file_is_newer() {
    let home = Home::new();
    let mut original = Session::new("aaaa1111-0000-4000-8000-000000000001", ALPHA, "2026-03-01T10:00:00Z");
    original.prompt("To begin with").prompt(&format!("Here is {}", needle(42))).reply(&["Yes."]);
    let mut fork = fork_of(&original, 1);
    fork.wait_minutes(5).prompt("and on");
    home.add(&fork);
    std::thread::sleep(std::time::Duration::from_millis(30));
    home.add(&original);
    let instance = Instance::new(home.path());
    assert_eq!(instance.search_ids(&needle(42)), [original.id.as_str()]);
    instance.index();
    assert_eq!(instance.search_ids(&needle(42)), [original.id.as_str()], "indexed");

    // The same if the fork was indexed before the original existed.
    let home = Home::new();
    home.add(&fork);
    let instance = Instance::new(home.path());
    instance.index();
    assert_eq!(instance.search_ids(&needle(42)), [fork.id.as_str()]);
    home.add(&original);
    assert_eq!(instance.search_ids(&needle(42)).len(), 1, "once, before it is indexed");
    instance.index();
    assert_eq!(instance.search_ids(&needle(42)), [original.id.as_str()], "the original came later");
}

#[test]
fn an_unindexed_fork_adds_no_duplicate_hits() {
    let home = Home::new();
    let mut original = Session::new("aaaa1111-0000-4000-8000-000000000001", ALPHA, "2026-03-01T10:00:00Z");
    original.prompt("To begin with").prompt(&format!("Here is {}", needle(42)));
    original.did("Bash", json!({"command": format!("echo {}", needle(43))}), "ok").reply(&["Yes."]);
    home.add(&original);
    let instance = Instance::new(home.path());
    instance.index();
    home.add(&fork_of(&original, 1));
    for n in [42, 43] {
        assert_eq!(instance.search_ids(&needle(n)), [original.id.as_str()], "{n}");
    }
    assert_eq!(instance.search_ids(&needle(9113)).len(), 1, "the new text of the fork");
}

/// R17: missing, zero, future and unparsable timestamps.
#[test]
fn odd_timestamps_keep_the_order_and_give_no_negative_age() {
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
        let with_timestamp = |line: &String| {
            let mut entry: Value = serde_json::from_str(line).unwrap();
            if at.is_empty() {
                entry.as_object_mut().unwrap().shift_remove("timestamp");
            } else {
                entry["timestamp"] = json!(at);
            }
            entry.to_string()
        };
        session.lines = session.lines.iter().map(with_timestamp).collect();
        home.add(&session);
        ids.push(id);
    }
    let instance = Instance::new(home.path());
    instance.index();
    let searches: Vec<String> = (0..5).map(needle).chain(["odd time".to_string()]).collect();
    let responses = collect_responses(&instance, VIEWS, &searches);
    assert_same("twice", &responses, &collect_responses(&instance, VIEWS, &searches));
    let fresh = Instance::new(home.path());
    assert_same("without index", &responses[7..], &collect_responses(&fresh, VIEWS, &searches)[7..]);
    for (n, id) in ids.iter().enumerate() {
        assert_eq!(instance.search_ids(&needle(n)), [id.as_str()]);
    }
    let listed = instance.run("sessions -o json").expect(0).records().remove(0);
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 5);
    for line in ["sessions -o text", "search odd time -o text"] {
        let text = instance.run(line).expect(0).text().to_string();
        assert!(!text.contains("-1") && !text.contains("in the future"), "{line}: {text}");
    }
}

/// R18: one line of a hundred megabytes among ordinary ones.
#[test]
fn a_line_of_a_hundred_megabytes_is_indexed_in_bounded_memory() {
    let home = Home::new();
    let mut session = Session::new("aaaa1111-0000-4000-8000-000000000001", ALPHA, "2026-03-01T10:00:00Z");
    session.prompt(&format!("Before {}", needle(1)));
    let before = session.text();
    session.did("Bash", json!({"command": "cat everything"}), "MIDDLE");
    session.prompt(&format!("After {}", needle(2)));
    let path = write_file(&home.transcript_path(&session), before.as_bytes());
    let mut file = BufWriter::new(File::options().append(true).open(&path).unwrap());
    for line in &session.lines[1..] {
        // Claude Code writes the output twice into the line; enlarging one copy is enough.
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
    let (code, peak_kb, _) = peak_memory(instance.command(&["index", "-o", "json"]));
    assert_eq!(code, Some(0));
    println!("{} MB of transcript, peak memory {} MB", size >> 20, peak_kb >> 10);
    // The line, its decoded and masked copies, and the buffers of the index writers.
    assert!(peak_kb << 10 < 6 * size, "{} MB", peak_kb >> 10);
    for n in [1, 2] {
        assert_eq!(instance.search_ids(&needle(n)).len(), 1);
    }
    let (code, peak_kb, _) = peak_memory(instance.command(&["search", &needle(2)]));
    assert_eq!(code, Some(0));
    assert!(peak_kb < 300 << 10, "a search took {} MB", peak_kb >> 10);
}

/// R19: invalid bytes and unusual text.
#[test]
fn odd_bytes_cost_at_most_their_own_line() {
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
    assert_eq!(instance.search_ids(&needle(9)).len(), 1, "the line after the odd ones");
    for (n, (name, _)) in
        odd.iter().enumerate().filter(|(_, (name, _))| ["U+2028", "bidi", "escape"].contains(name))
    {
        assert_eq!(instance.search_ids(&needle(n + 1)).len(), 1, "{name}");
    }
    let searches: Vec<String> = (0..10).map(needle).collect();
    let responses = collect_responses(&instance, VIEWS, &searches);
    assert_same(
        "with no cache",
        &responses[11..],
        &collect_responses(&instance.with_empty_cache(), VIEWS, &searches)[11..],
    );
    for word in &searches {
        let shown = instance.run(&format!("search {word} -o text"));
        assert!(!shown.text().contains('\u{1b}') && !shown.text().contains('\u{202e}'), "{}", shown.text());
    }
}
