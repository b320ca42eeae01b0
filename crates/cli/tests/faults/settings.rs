//! Hostile settings (S14): a repository cannot change how Loci behaves, and a settings file that is no settings file is
//! reported at once.
//!
//! Does not test valid settings: see `docs/reference/environment.md` and the tests of `config`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use testutil::{ALPHA, Finished, Home, Session, can_run, command, run_command, write_file};

fn home_with_session() -> Home {
    let home = Home::new();
    let mut session = Session::new("aaaa1111-0000-4000-8000-000000000001", ALPHA, "2026-03-01T10:00:00Z");
    session.prompt("We decided to feed the walrus at noon").reply(&["Noted."]);
    home.add(&session);
    home
}

fn run_in(folder: &Path, home: &Home, args: &[&str]) -> Finished {
    let mut loci = command(home.path(), args);
    loci.current_dir(folder);
    run_command(loci)
}

#[test]
fn settings_in_a_repository_are_ignored() {
    let home = home_with_session();
    let (tree, trace) = (home.path().join("tree"), home.path().join("trace"));
    let settings = format!(
        "[model]\nprovider = \"openai\"\nmodel = \"x\"\nbase_url = \"http://127.0.0.1:9\"\nkey_command = \"touch {}\"\n",
        trace.display()
    );
    for name in [
        "config.toml",
        "loci.toml",
        ".loci.toml",
        ".loci/config.toml",
        ".config/loci/config.toml",
        ".git/loci/config.toml",
    ] {
        write_file(&tree.join(name), settings.as_bytes());
    }
    write_file(&tree.join("a.rs"), b"pub struct Part;\n");
    for args in [
        &["memory", "consolidate", "-o", "json"][..],
        &["code", "outline", "Part"],
        &["code", "notes"],
        &["search", "walrus"],
        &["doctor", "--json"],
    ] {
        let ended = run_in(&tree, &home, args);
        assert!(!ended.stderr.contains("panicked"), "{args:?}: {}", ended.stderr);
        assert!(!String::from_utf8_lossy(&ended.stdout).contains("127.0.0.1"), "{args:?}: {ended:?}");
    }
    assert!(!trace.exists(), "a command from the repository was run");
    let doctor = run_in(&tree, &home, &["doctor", "--json"]).records().remove(0);
    let findings = doctor["findings"].as_array().unwrap();
    assert!(findings.iter().all(|finding| finding["check"] != "model"), "{doctor}");
}

/// Ways to make a settings file that cannot be read as one.
const HOSTILE: &[(&str, fn(&Path))] = &[
    ("a named pipe", |path| assert!(can_run("mkfifo", &[path.to_str().unwrap()]))),
    ("a folder", |path| fs::create_dir(path).unwrap()),
    ("an endless device", |path| symlink("/dev/zero", path).unwrap()),
    ("a link to itself", |path| symlink(path, path).unwrap()),
    ("other bytes", |path| fs::write(path, [0xff, 0xfe, 0, 1]).unwrap()),
    ("two megabytes", |path| fs::write(path, "# settings\n".repeat(200_000)).unwrap()),
    ("deep arrays", |path| fs::write(path, format!("a = {}", "[".repeat(100_000))).unwrap()),
    ("deep tables", |path| fs::write(path, format!("[{}a]", "a.".repeat(100_000))).unwrap()),
    ("equal keys", |path| fs::write(path, "a = 1\n".repeat(100_000)).unwrap()),
];

#[test]
fn a_file_that_is_no_settings_file_is_reported_at_once() {
    for (name, write) in HOSTILE {
        let home = home_with_session();
        let path = home.path().join(".config/loci/config.toml");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        write(&path);
        // A search needs no settings; `run_command` panics if a command hangs.
        let found = run_in(home.path(), &home, &["search", "walrus", "-o", "json"]);
        assert!(matches!(found.code, Some(0 | 1)) && !found.stderr.contains("panicked"), "{name}: {found:?}");
        let doctor = run_in(home.path(), &home, &["doctor", "--json"]);
        assert!(!doctor.stderr.contains("panicked"), "{name}: {}", doctor.stderr);
        let report = doctor.records().remove(0);
        let findings = report["findings"].as_array().unwrap();
        let finding = findings.iter().find(|finding| finding["check"] == "settings");
        let message =
            finding.unwrap_or_else(|| panic!("{name}: no finding in {report}"))["message"].to_string();
        assert!(message.contains("config.toml"), "{name}: {message}");
    }
}
