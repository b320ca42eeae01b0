//! Every file that Loci writes is in the table of SECURITY.md, and tokens occur in none but those that the table calls unmasked.
//!
//! Runs what writes: index, search, memory, why, code, edits, hooks, saved results, sync. Does not start a daemon or a model.

use crate::hooks::run_hook;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Command;
use testutil::{Home, McpClient, Session, run_line, write_file};

/// A token that masking knows, different in each place.
fn canary(place: usize) -> String {
    let letters = b"abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
    let body = (0..36).map(|at| char::from(letters[(at * 17 + place * 29 + at * at * 3) % letters.len()]));
    format!("ghp_{}", body.collect::<String>())
}

fn git(root: &Path, words: &[&str]) {
    let identity = ["-c", "user.email=dev@example.org", "-c", "user.name=dev"];
    let done = Command::new("git").arg("-C").arg(root).args(identity).args(words).output().unwrap();
    assert!(done.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// A row of the table: the paths it names, and whether it says that secrets may be in them.
struct Listed {
    paths: Vec<String>,
    is_unmasked: bool,
}

fn listed_places() -> Vec<Listed> {
    let page =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../SECURITY.md")).unwrap();
    let section = page.split("## What Loci opens").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| "));
    let read = |row: &str| {
        let (what, how) = row.trim_start_matches("| ").split_once(" | ").unwrap();
        let quoted = what.split('`').skip(1).step_by(2);
        // The folders as a whole say nothing about a file.
        let is_whole = |path: &str| matches!(path, "~/.local/share/loci" | "~/.cache/loci");
        let is_path = |path: &&str| (path.starts_with("~/") || path.starts_with(".loci")) && !is_whole(path);
        let paths = quoted.filter(is_path).map(str::to_string);
        let is_unmasked = how.to_lowercase().contains("not masked") && !how.contains("is not kept");
        Listed { paths: paths.collect(), is_unmasked }
    };
    rows.map(read).collect()
}

fn files_below(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        match path.symlink_metadata().unwrap() {
            meta if meta.is_dir() => files_below(&path, out),
            _ => out.push(path),
        }
    }
}

fn contains(bytes: &[u8], word: &str) -> bool {
    bytes.windows(word.len()).any(|part| part == word.as_bytes())
}

#[test]
fn every_written_file_is_listed_and_holds_no_token_unless_it_says_so() {
    let home = Home::new();
    let tokens: Vec<String> = (0..16).map(canary).collect();
    let root = home.path().join("work/shop");
    let source = format!(
        "KEY = \"{}\"\n\n\ndef conn(token=\"{}\"):\n    \"\"\"doc {}\"\"\"\n    return token\n\n\nclass Store:\n    def get(self):\n        return conn()\n",
        tokens[0], tokens[1], tokens[2]
    );
    write_file(&root.join("src/a.py"), source.as_bytes());
    git(&root, &["init", "-q"]);
    git(&root, &["add", "-A"]);
    git(&root, &["commit", "-qm", &format!("add the store {}", tokens[3])]);
    git(&root, &["remote", "add", "origin", &format!("https://x:{}@github.com/acme/shop.git", tokens[4])]);
    git(&root, &["checkout", "-q", "-b", &format!("feat-{}", tokens[5])]);
    let cwd = root.to_str().unwrap();
    let mut session = Session::new("aaaa1111-0000-4000-8000-000000000000", cwd, "2026-03-02T09:00:00Z");
    session.prompt(&format!("fix conn with {}", tokens[6]));
    session.did("Bash", json!({"command": format!("curl {}", tokens[7])}), &format!("out {}", tokens[8]));
    session.did(
        "Edit",
        json!({"file_path": root.join("src/a.py"), "old_string": "return conn()", "new_string": format!("return conn('{}')", tokens[9])}),
        "ok",
    );
    session.did(
        "Write",
        json!({"file_path": root.join(format!("src/{}.py", tokens[10])), "content": "z"}),
        "ok",
    );
    session.reply(&[&format!("We decided to use {} because it is faster.", tokens[11])]);
    home.add(&session);
    let mut named = Session::new(
        &format!("sess-{}", tokens[12]),
        &format!("/w/p-{}", tokens[13]),
        "2026-03-03T09:00:00Z",
    );
    named.prompt("hello there").reply(&["yes"]);
    home.add(&named);

    let storage = home.path().join("storage");
    std::fs::create_dir_all(&storage).unwrap();
    let mut printed = String::new();
    for line in [
        "index".to_string(),
        "memory consolidate --no-model".to_string(),
        format!("memory add 'conn needs {}' --project {cwd}", tokens[14]),
        "search fix".to_string(),
        "sessions".to_string(),
        "query messages --all-projects".to_string(),
        "query edits --all-projects".to_string(),
        "query tools --all-projects --hybrid --inline-threshold 10".to_string(),
        format!("why {cwd}/src/a.py"),
        format!("about {cwd}/src/a.py"),
        format!("code index --root {cwd}"),
        format!("code pin Store --root {cwd}"),
        format!("code pack Store --filter type:Store --root {cwd}"),
        format!("code investigate 'what does conn do with {}' --root {cwd}", tokens[15]),
        "handoff aaaa1111".to_string(),
        "digest".to_string(),
        "recommend 'as we discussed fix conn'".to_string(),
        format!("sync init --show-phrase {}", storage.display()),
        "sync now".to_string(),
        "doctor".to_string(),
    ] {
        let ran = run_line(&home, &line);
        assert!(!ran.stderr.contains("panicked"), "{line}: {}", ran.stderr);
        // What shows source shows it masked, too.
        let command = line.split(' ').next().unwrap();
        printed += &format!("\n{command}\n{}{}", String::from_utf8_lossy(&ran.stdout), ran.stderr);
    }
    run_line(&home, &format!("edit rename conn connect --root {cwd}"));
    let mut agent = McpClient::new(home.path(), &[]);
    agent.call("query_tools", json!({"all_projects": true, "inline_threshold_bytes": 10}));
    let asked = json!({"cwd": cwd, "session_id": "s", "prompt": "as we discussed last time about conn"});
    for event in ["session-start", "prompt"] {
        printed += &run_hook(&home, event, asked.clone()).stdout;
    }

    for (place, token) in tokens.iter().enumerate() {
        let shown = printed.find(token.as_str()).map(|at| &printed[at.saturating_sub(200)..at]);
        assert_eq!(shown, None, "token {place} is shown");
    }
    let mut files = Vec::new();
    for folder in [".cache", ".local", ".config", "work/shop/.loci", "storage"] {
        files_below(&home.path().join(folder), &mut files);
    }
    assert!(files.len() > 20, "{files:?}");
    let places = listed_places();
    let (mut unlisted, mut leaks) = (Vec::new(), Vec::new());
    for file in &files {
        let name = file.strip_prefix(home.path()).unwrap().to_str().unwrap();
        let shown = match name.strip_prefix("work/shop/") {
            Some(name) => name.to_string(),
            None => format!("~/{name}"),
        };
        let row = places.iter().filter_map(|row| {
            let fits = row.paths.iter().filter(|path| shown.starts_with(path.trim_end_matches('/')));
            Some((fits.map(String::len).max()?, row))
        });
        let row = row.max_by_key(|(length, _)| *length).map(|(_, row)| row);
        if row.is_none() && !name.starts_with("storage") {
            unlisted.push(shown.clone());
        }
        let bytes = std::fs::read(file).unwrap_or_default();
        let leaked: Vec<usize> = (0..tokens.len()).filter(|at| contains(&bytes, &tokens[*at])).collect();
        // The catalogue finds a transcript by its path, which has the name of the file.
        let is_path = leaked.iter().all(|at| *at == 12) && name.contains("catalogue");
        if !leaked.is_empty() && !is_path && !row.is_some_and(|row| row.is_unmasked) {
            leaks.push(format!("{shown}: {leaked:?}"));
        }
    }
    assert!(unlisted.is_empty(), "not in the table of SECURITY.md:\n{}", unlisted.join("\n"));
    assert!(leaks.is_empty(), "tokens in files that are not listed as unmasked:\n{}", leaks.join("\n"));
}
