//! No secret that masking knows reaches a file of Loci's own or anything it prints, whatever part of a transcript it
//! stands in: neither catalogue nor log, text index, archive, lock, nor any answer.

use crate::history::{Growing, gemini};
use crate::instance::{Instance, files};
use mask::Masker;
use mask::specimen::generate_secrets;
use serde_json::json;
use std::fs;
use testutil::{ALPHA, Home, Rollout, Session, write_file};

const SEED: u64 = 20_261_115;

/// A secret that masking finds, and a text it stands in.
struct Planted {
    pieces: Vec<String>,
    text: String,
}

/// Those that masking catches where they stand: what it knowingly misses is measured in its own room.
fn planted() -> Vec<Planted> {
    let masker = Masker::new([7; 32]);
    let caught = |piece: &String, text: &str| !masker.mask_text(text).contains(piece.as_str());
    let each =
        generate_secrets(SEED).into_iter().step_by(5).map(|s| Planted { pieces: s.secret, text: s.text });
    let mut all: Vec<Planted> = each.collect();
    for one in &mut all {
        let text = one.text.clone();
        one.pieces.retain(|piece| piece.len() >= 12 && caught(piece, &text));
    }
    all.retain(|one| !one.pieces.is_empty());
    assert!(all.len() > 150, "{}", all.len());
    all
}

fn plant(home: &Home, planted: &[Planted]) {
    for (n, chunk) in planted.chunks(8).enumerate() {
        let start = format!("2026-03-01T{:02}:{:02}:00Z", n / 60, n % 60);
        let mut session = Session::new(&format!("{n:08x}-0000-4000-8000-000000000000"), ALPHA, &start);
        for (k, one) in chunk.iter().enumerate() {
            match (n + k) % 5 {
                0 => session.prompt(&one.text),
                1 => session.reply(&[&one.text]),
                2 => session.did("Bash", json!({"command": one.text}), "done"),
                3 => session.did("Read", json!({"file_path": "/srv/demo/alpha/x"}), &one.text),
                _ => session.failed("Bash", json!({"command": "env"}), &one.text),
            };
        }
        session.prompt("That is all");
        home.add(&session);
    }
    let mut rollout = Rollout::new("cccc0000-0000-4000-8000-000000000000", ALPHA, "2026-03-03T10:00:00Z");
    for (n, one) in planted.iter().step_by(9).enumerate() {
        rollout.prompt(&one.text).did(&format!("call_{n}"), &one.text, 1).reply(&one.text);
    }
    home.add_codex(&rollout);
    let path = home.path().join(".gemini/tmp/proj/chats/session-2026-04-02T10-00-00000000.json");
    write_file(&path, gemini(0, &planted[3].text).to_string().as_bytes());
}

fn read(path: &std::path::Path) -> String {
    lossy(&fs::read(path).unwrap())
}

/// Secrets are ASCII: what is no text around them may become anything.
fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn no_caught_secret_is_left_in_any_file_or_answer() {
    let (home, planted) = (Home::new(), planted());
    plant(&home, &planted);
    let instance = Instance::new(home.path());
    let mut printed: Vec<(String, String)> = Vec::new();
    let mut ask = |instance: &Instance, line: String| {
        let ended = instance.run(&line);
        assert!(matches!(ended.code, Some(0 | 2 | 3)), "{line}: {:?} {}", ended.code, ended.stderr);
        printed.push((line, lossy(&ended.stdout) + &ended.stderr));
    };
    ask(&instance, "index -o json".into());
    let ids: Vec<String> = (0..planted.len().div_ceil(8))
        .map(|n| format!("{n:08x}-0000-4000-8000-000000000000"))
        .chain(["cccc0000-0000-4000-8000-000000000000".into(), "eeee0000-0000-4000-8000-000000000000".into()])
        .collect();
    let mut all = |instance: &Instance| {
        for view in crate::instance::VIEWS {
            ask(instance, (*view).to_string());
        }
        for words in ["token", "export key", "password", "secret", "that is all", "curl", "config"] {
            ask(instance, format!("search {words} -o json --limit-chats 50 --limit-snippets-per-chat 20"));
        }
        ask(instance, "sessions -o json --limit 1000".into());
        for id in &ids {
            ask(instance, format!("show {id} -o json"));
        }
    };
    all(&instance);
    // The archive is unpacked by showing it: what it holds is all that is left.
    let kept = instance.with_empty_cache();
    for folder in [".claude", ".codex", ".gemini"] {
        fs::remove_dir_all(home.path().join(folder)).unwrap();
    }
    all(&kept);
    ask(&instance, "index -o json".into());

    let mut stored: Vec<(String, String)> = Vec::new();
    for root in [&instance.data, &instance.cache, &kept.cache] {
        stored.extend(files(root).iter().map(|path| (path.display().to_string(), read(path))));
    }
    assert!(stored.iter().any(|(name, _)| name.ends_with(".loci")));
    assert!(stored.iter().any(|(name, _)| name.ends_with("catalogue.db")));
    let mut leaks = Vec::new();
    for (name, text) in stored.iter().chain(&printed) {
        for one in &planted {
            leaks.extend(
                one.pieces.iter().filter(|piece| text.contains(*piece)).map(|p| format!("{name}: {p}")),
            );
        }
    }
    assert!(leaks.is_empty(), "{} leaks:\n{}", leaks.len(), leaks[..leaks.len().min(20)].join("\n"));
    // What was looked for could have been found: the text around the secrets is there.
    assert!(printed.iter().any(|(_, text)| text.contains("That is all")));
}

/// A title is the beginning of a prompt; a secret that is cut there must not be left as half a secret.
#[test]
fn a_secret_is_not_cut_in_half_by_a_title() {
    let home = Home::new();
    let all: Vec<Planted> = planted().into_iter().filter(|one| one.pieces.len() == 1).collect();
    let mut halves = Vec::new();
    for (n, one) in all.iter().enumerate().take(60) {
        let piece = &one.pieces[0];
        let start = format!("2026-03-01T{:02}:{:02}:00Z", n / 60, n % 60);
        let mut session = Session::new(&format!("{n:08x}-0000-4000-8000-000000000000"), ALPHA, &start);
        let before = one.text.find(piece.as_str()).unwrap();
        // The secret begins a little before wherever a title may end.
        let lead = "w ".repeat(40 - (n % 4) * 6);
        session.prompt(&format!("{}{}", &lead[..lead.len().saturating_sub(before % 30)], one.text));
        session.reply(&["Yes."]);
        home.add(&session);
        halves.push(piece.chars().take(piece.chars().count().div_ceil(2).max(10)).collect::<String>());
    }
    let instance = Instance::new(home.path());
    instance.index();
    let listed = instance.run("sessions -o json --limit 1000").expect(0).text().to_string();
    let viewed = instance.run("query sessions --all-projects").expect(0).text().to_string();
    let shown = instance.with_empty_cache().run("query sessions --all-projects").expect(0).text().to_string();
    let stored: String = files(&instance.cache).iter().map(|path| read(path)).collect();
    assert!(listed.contains("w w w w w"));
    for half in &halves {
        for (name, text) in
            [("sessions", &listed), ("view", &viewed), ("no cache", &shown), ("file", &stored)]
        {
            assert!(!text.contains(half.as_str()), "half of a secret is left in a title ({name}): {half}");
        }
    }
}

/// The title of a conversation that goes on, and of one that begins, as a search shows it that reads them on the spot.
#[test]
fn a_title_stays_masked_when_its_conversation_goes_on() {
    let home = Home::new();
    let secret = format!("ghp_{}", "k9X2mQ7vL4pR8sT1wY6zB3nC5dF0gH2jA4eU");
    let begun = |id: &str| {
        let mut session = Session::new(id, ALPHA, "2026-03-01T10:00:00Z");
        // The title ends within the secret.
        session.prompt(&format!("{}{secret} is what I use", "w ".repeat(30))).reply(&["Yes."]);
        session
    };
    let mut known = Growing::new(&home, begun("aaaa0000-0000-4000-8000-000000000000"));
    let instance = Instance::new(home.path());
    instance.index();
    known.session.prompt("and now the quibblefox");
    known.flush();
    let mut new = begun("bbbb0000-0000-4000-8000-000000000000").apart();
    new.prompt(&format!("{}{secret} is what I use", "w ".repeat(30))).prompt("a quibblefox again");
    home.add(&new);
    let told = instance.run("search quibblefox -o json").expect(0).text().to_string();
    assert_eq!(crate::instance::found(&serde_json::from_str(&told).unwrap()).len(), 2);
    let listed = instance.run("sessions -o json").expect(0).text().to_string();
    for text in [told, listed] {
        assert!(text.contains("w w w") && !text.contains(&secret[..12]), "{text}");
    }
}
