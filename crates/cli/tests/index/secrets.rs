//! No secret that masking detects reaches a file Loci writes (catalogue, log, text index, archive, lock) or anything it
//! prints, regardless of where in a transcript it occurs.

use crate::history::{GrowingSession, gemini_transcript};
use crate::instance::{Instance, list_files};
use mask::Masker;
use mask::specimen::generate_secrets;
use serde_json::json;
use std::fs;
use testutil::{ALPHA, Home, Rollout, Session, write_file};

const SEED: u64 = 20_261_115;

/// A secret that masking detects, and the text that contains it.
struct SecretInText {
    pieces: Vec<String>,
    text: String,
}

/// The generated secrets that masking detects in their text. The tests of the `mask` crate measure the others.
fn detectable_secrets() -> Vec<SecretInText> {
    let masker = Masker::new([7; 32]);
    let is_detected = |piece: &String, text: &str| !masker.mask_text(text).contains(piece.as_str());
    let each = generate_secrets(SEED)
        .into_iter()
        .step_by(5)
        .map(|s| SecretInText { pieces: s.secret, text: s.text });
    let mut all: Vec<SecretInText> = each.collect();
    for secret in &mut all {
        let text = secret.text.clone();
        secret.pieces.retain(|piece| piece.len() >= 12 && is_detected(piece, &text));
    }
    all.retain(|secret| !secret.pieces.is_empty());
    assert!(all.len() > 150, "{}", all.len());
    all
}

fn write_transcripts(home: &Home, secrets: &[SecretInText]) {
    for (n, chunk) in secrets.chunks(8).enumerate() {
        let start = format!("2026-03-01T{:02}:{:02}:00Z", n / 60, n % 60);
        let mut session = Session::new(&format!("{n:08x}-0000-4000-8000-000000000000"), ALPHA, &start);
        for (k, secret) in chunk.iter().enumerate() {
            match (n + k) % 5 {
                0 => session.prompt(&secret.text),
                1 => session.reply(&[&secret.text]),
                2 => session.did("Bash", json!({"command": secret.text}), "done"),
                3 => session.did("Read", json!({"file_path": "/srv/demo/alpha/x"}), &secret.text),
                _ => session.failed("Bash", json!({"command": "env"}), &secret.text),
            };
        }
        session.prompt("That is all");
        home.add(&session);
    }
    let mut rollout = Rollout::new("cccc0000-0000-4000-8000-000000000000", ALPHA, "2026-03-03T10:00:00Z");
    for (n, secret) in secrets.iter().step_by(9).enumerate() {
        rollout.prompt(&secret.text).did(&format!("call_{n}"), &secret.text, 1).reply(&secret.text);
    }
    home.add_codex(&rollout);
    let path = home.path().join(".gemini/tmp/proj/chats/session-2026-04-02T10-00-00000000.json");
    write_file(&path, gemini_transcript(0, &secrets[3].text).to_string().as_bytes());
}

fn read_lossy(path: &std::path::Path) -> String {
    decode_lossy(&fs::read(path).unwrap())
}

/// Secrets are ASCII, so invalid bytes around them may be replaced.
fn decode_lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn no_detected_secret_is_left_in_any_file_or_response() {
    let (home, secrets) = (Home::new(), detectable_secrets());
    write_transcripts(&home, &secrets);
    let instance = Instance::new(home.path());
    let mut printed: Vec<(String, String)> = Vec::new();
    let mut run = |instance: &Instance, line: String| {
        let ended = instance.run(&line);
        assert!(matches!(ended.code, Some(0 | 2 | 3)), "{line}: {:?} {}", ended.code, ended.stderr);
        printed.push((line, decode_lossy(&ended.stdout) + &ended.stderr));
    };
    run(&instance, "index -o json".into());
    let ids: Vec<String> = (0..secrets.len().div_ceil(8))
        .map(|n| format!("{n:08x}-0000-4000-8000-000000000000"))
        .chain(["cccc0000-0000-4000-8000-000000000000".into(), "eeee0000-0000-4000-8000-000000000000".into()])
        .collect();
    let mut run_all = |instance: &Instance| {
        for view in crate::instance::VIEWS {
            run(instance, (*view).to_string());
        }
        for words in ["token", "export key", "password", "secret", "that is all", "curl", "config"] {
            run(instance, format!("search {words} -o json --limit-chats 50 --limit-snippets-per-chat 20"));
        }
        run(instance, "sessions -o json --limit 1000".into());
        for id in &ids {
            run(instance, format!("show {id} -o json"));
        }
    };
    run_all(&instance);
    // With the transcripts deleted, all output comes from the archive.
    let archive_only = instance.with_empty_cache();
    for folder in [".claude", ".codex", ".gemini"] {
        fs::remove_dir_all(home.path().join(folder)).unwrap();
    }
    run_all(&archive_only);
    run(&instance, "index -o json".into());

    let mut stored: Vec<(String, String)> = Vec::new();
    for root in [&instance.data, &instance.cache, &archive_only.cache] {
        stored.extend(list_files(root).iter().map(|path| (path.display().to_string(), read_lossy(path))));
    }
    assert!(stored.iter().any(|(name, _)| name.ends_with("packed.db")));
    assert!(stored.iter().any(|(name, _)| name.ends_with("catalogue.db")));
    let mut leaks = Vec::new();
    for (name, text) in stored.iter().chain(&printed) {
        for secret in &secrets {
            leaks.extend(
                secret.pieces.iter().filter(|piece| text.contains(*piece)).map(|p| format!("{name}: {p}")),
            );
        }
    }
    assert!(leaks.is_empty(), "{} leaks:\n{}", leaks.len(), leaks[..leaks.len().min(20)].join("\n"));
    // Control: text around the secrets is in the output, so a secret would have been found.
    assert!(printed.iter().any(|(_, text)| text.contains("That is all")));
}

/// A title is the start of a prompt: a secret that extends beyond its end must not leave its first half there.
#[test]
fn a_title_does_not_contain_half_a_secret() {
    let home = Home::new();
    let all: Vec<SecretInText> =
        detectable_secrets().into_iter().filter(|secret| secret.pieces.len() == 1).collect();
    let mut halves = Vec::new();
    for (n, secret) in all.iter().enumerate().take(60) {
        let piece = &secret.pieces[0];
        let start = format!("2026-03-01T{:02}:{:02}:00Z", n / 60, n % 60);
        let mut session = Session::new(&format!("{n:08x}-0000-4000-8000-000000000000"), ALPHA, &start);
        let before = secret.text.find(piece.as_str()).unwrap();
        // The secret starts shortly before a possible end of the title.
        let lead = "w ".repeat(40 - (n % 4) * 6);
        session.prompt(&format!("{}{}", &lead[..lead.len().saturating_sub(before % 30)], secret.text));
        session.reply(&["Yes."]);
        home.add(&session);
        halves.push(piece.chars().take(piece.chars().count().div_ceil(2).max(10)).collect::<String>());
    }
    let instance = Instance::new(home.path());
    instance.index();
    let listed = instance.run("sessions -o json --limit 1000").expect(0).text().to_string();
    let viewed = instance.run("query sessions --all-projects").expect(0).text().to_string();
    let shown = instance.with_empty_cache().run("query sessions --all-projects").expect(0).text().to_string();
    let stored: String = list_files(&instance.cache).iter().map(|path| read_lossy(path)).collect();
    assert!(listed.contains("w w w w w"));
    for half in &halves {
        for (name, text) in
            [("sessions", &listed), ("view", &viewed), ("no cache", &shown), ("file", &stored)]
        {
            assert!(!text.contains(half.as_str()), "a title contains half a secret ({name}): {half}");
        }
    }
}

/// The titles of a session that continues and of a new one, in a search that reads their unindexed tails.
#[test]
fn a_title_stays_masked_when_its_session_continues() {
    let home = Home::new();
    let secret = format!("ghp_{}", "k9X2mQ7vL4pR8sT1wY6zB3nC5dF0gH2jA4eU");
    let session_with_secret = |id: &str| {
        let mut session = Session::new(id, ALPHA, "2026-03-01T10:00:00Z");
        // The title ends within the secret.
        session.prompt(&format!("{}{secret} is what I use", "w ".repeat(30))).reply(&["Yes."]);
        session
    };
    let mut known = GrowingSession::new(&home, session_with_secret("aaaa0000-0000-4000-8000-000000000000"));
    let instance = Instance::new(home.path());
    instance.index();
    known.session.prompt("and now the quibblefox");
    known.flush();
    let mut new = session_with_secret("bbbb0000-0000-4000-8000-000000000000").with_new_ids();
    new.prompt(&format!("{}{secret} is what I use", "w ".repeat(30))).prompt("a quibblefox again");
    home.add(&new);
    let found = instance.run("search quibblefox -o json").expect(0).text().to_string();
    assert_eq!(crate::instance::search_hits(&serde_json::from_str(&found).unwrap()).len(), 2);
    let listed = instance.run("sessions -o json").expect(0).text().to_string();
    for text in [found, listed] {
        assert!(text.contains("w w w") && !text.contains(&secret[..12]), "{text}");
    }
}

/// A branch, a version or a tool's name may contain a secret as well; they are stored and printed with every session.
#[test]
fn secrets_in_branches_versions_and_tool_names_are_masked() {
    let token = ["ghp", "_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"].concat();
    let home = Home::new();
    let mut session = Session::new("dddd0000-0000-4000-8000-000000000000", ALPHA, "2026-03-01T10:00:00Z");
    session.prompt("go").did(&format!("mcp__x__{token}"), json!({"a": 1}), "done").reply(&["ok"]);
    for line in &mut session.lines {
        *line = line.replace("\"main\"", &format!("\"fix/{token}\""));
        *line = line.replace("2.1.100", &format!("2.1.100 {token}"));
    }
    home.add(&session);
    let instance = Instance::new(home.path());
    instance.index();
    for line in [
        "sessions -o json",
        "query tools --all-projects",
        "query sessions --all-projects",
        "show dddd0000 -o json",
        "stats --all-projects",
        "sources",
    ] {
        let printed = instance.run(line).expect(0).text().to_string();
        assert!(!printed.contains(&token), "{line}: {printed}");
    }
    for path in [&instance.data, &instance.cache].iter().flat_map(|folder| list_files(folder)) {
        let bytes = fs::read(&path).unwrap();
        assert!(!bytes.windows(token.len()).any(|part| part == token.as_bytes()), "{}", path.display());
    }
}
