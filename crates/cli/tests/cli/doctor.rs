//! What `loci doctor` finds, each fault planted; and the file it writes for a report, which says nothing it should not.

use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};
use testutil::{ALPHA, Home, Session, command, run_command, run_loci, write_file};

fn history() -> Home {
    let home = Home::new();
    let mut session = Session::new("aaaa1111-0000-4000-8000-000000000001", ALPHA, "2026-03-01T10:00:00Z");
    session.prompt("the walrus eats at noon").reply(&["Noted."]);
    home.add(&session);
    home
}

fn find(home: &Home, name: &str) -> Option<Value> {
    let checkup = run_loci(home, &["doctor", "--json"]).records().remove(0);
    checkup["findings"].as_array().unwrap().iter().find(|finding| finding["check"] == name).cloned()
}

#[test]
fn what_a_kill_left_half_written_is_found_once_it_is_old() {
    let home = history();
    run_loci(&home, &["index"]).expect(0);
    assert_eq!(find(&home, "leftovers"), None);
    let half = home.path().join(".local/share/loci/forgotten.4711.new");
    write_file(&half, b"half");
    assert_eq!(find(&home, "leftovers"), None, "somebody may be writing it");
    fs::File::options()
        .append(true)
        .open(&half)
        .unwrap()
        .set_modified(UNIX_EPOCH + Duration::from_secs(9))
        .unwrap();
    let found = find(&home, "leftovers").unwrap();
    assert_eq!(
        (&found["severity"], &found["fix"]),
        (&"warning".into(), &format!("rm -- {}", half.display()).into())
    );
}

#[test]
fn several_programs_of_the_name_are_told() {
    let home = history();
    let place = |folder: &str| {
        let path = home.path().join(folder).join("loci");
        write_file(&path, b"#!/bin/sh\n");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.parent().unwrap().to_path_buf()
    };
    let (other, third) = (place("other"), place("third"));
    let own = home.path().join("own");
    fs::create_dir_all(&own).unwrap();
    std::os::unix::fs::symlink(testutil::binary(), own.join("loci")).unwrap();
    let told = |folders: &[&std::path::Path]| {
        let path = std::env::join_paths(folders).unwrap();
        let mut asked = command(home.path(), &["doctor", "--json"]);
        asked.env("PATH", path);
        let checkup = run_command(asked).records().remove(0);
        let all = checkup["findings"].as_array().unwrap().clone();
        all.into_iter().find(|finding| finding["check"] == "programs")
    };
    assert_eq!(told(&[]), None, "none is on the path");
    assert_eq!(told(&[&own, &own]).unwrap()["severity"], "ok");
    let several = told(&[&own, &other]).unwrap();
    assert!(
        several["severity"] == "warning" && several["message"].to_string().contains("other/loci"),
        "{several}"
    );
    let wrong = told(&[&third, &own]).unwrap();
    assert!(wrong["message"].to_string().contains("whoever types `loci` gets"), "{wrong}");
}

#[test]
fn a_model_that_could_not_be_asked_is_told_and_nobody_is_asked() {
    let home = history();
    let claude = home.path().join("bin/claude");
    write_file(&claude, b"#!/bin/sh\ntouch $HOME/asked\n");
    let told = |settings: &str, mode: u32, key: Option<&str>| {
        write_file(&home.path().join(".config/loci/config.toml"), format!("[model]\n{settings}").as_bytes());
        fs::set_permissions(&claude, fs::Permissions::from_mode(mode)).unwrap();
        let mut asked = command(home.path(), &["doctor", "--json"]);
        asked.env("PATH", home.path().join("bin")).envs(key.map(|key| ("A_KEY", key)));
        let checkup = run_command(asked).records().remove(0);
        let all = checkup["findings"].as_array().unwrap().clone();
        all.into_iter().find(|finding| finding["check"] == "model")
    };
    assert_eq!(told("", 0o755, None), None, "none is configured");
    let local = "provider = \"openai\"\nmodel = \"x\"\nbase_url = \"http://127.0.0.1:1\"";
    for (settings, mode, key, severity, says) in [
        (
            "provider = \"claud\"".to_string(),
            0o755,
            None,
            "problem",
            "it is one of `claude`, `anthropic`, `openai`",
        ),
        ("provider = \"claude\"".to_string(), 0o755, None, "ok", "bin/claude"),
        ("provider = \"claude\"".to_string(), 0o644, None, "problem", "no program `claude` on PATH"),
        (
            "provider = \"openai\"\nmodel = \"x\"\nbase_url = \"nowhere\"".to_string(),
            0o755,
            None,
            "problem",
            "not a server URL",
        ),
        (local.to_string(), 0o755, None, "ok", "http://127.0.0.1:1"),
        (format!("{local}\nkey_env = \"A_KEY\""), 0o755, None, "problem", "A_KEY is not set"),
        (format!("{local}\nkey_env = \"A_KEY\""), 0o755, Some("hush-hush"), "ok", "is asked for x"),
        (format!("{local}\nkey_command = \"touch $HOME/asked\""), 0o755, None, "ok", "is asked for x"),
    ] {
        let found = told(&settings, mode, key).unwrap();
        assert_eq!(found["severity"], severity, "{settings}: {found}");
        assert!(found["message"].as_str().unwrap().contains(says), "{settings}: {found}");
        assert!(!found.to_string().contains("hush-hush"), "{found}");
        assert_eq!(severity == "ok", found["fix"].is_null(), "{found}");
    }
    assert!(!home.path().join("asked").exists(), "nothing was run");
}

#[test]
fn an_agent_that_would_start_another_program_is_told() {
    let home = history();
    assert_eq!(find(&home, "wiring"), None);
    run_loci(&home, &["setup", "claude-code", "--yes"]).expect(0);
    assert_eq!(find(&home, "wiring").unwrap()["severity"], "ok");
    let settings = home.path().join(".claude/settings.json");
    let text = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, "{}").unwrap();
    let found = find(&home, "wiring").unwrap();
    assert_eq!((&found["severity"], &found["fix"]), (&"warning".into(), &"loci setup".into()), "{text}");
}

#[test]
fn a_report_holds_what_helps_and_nothing_that_was_said_or_is_secret() {
    let home = history();
    let token = format!("ghp_{}", "16C7e42F292c6912E7710c838347Ae178B4a");
    let settings = format!(
        "inline_threshold_bytes = 9000\n[model]\nprovider = \"openai\"\nmodel = \"m\"\nbase_url = \"http://127.0.0.1:9\"\n\
         projects_off = [\"/srv/clients/merger\"]\n# {token}, password hunter2\n"
    );
    write_file(&home.path().join(".config/loci/config.toml"), settings.as_bytes());
    let line = format!("{{\"what\":\"started\",\"socket\":\"{}/run\"}}\n", home.path().display());
    write_file(&home.path().join(".local/state/loci/daemon.log"), line.as_bytes());
    run_loci(&home, &["index"]).expect(0);
    run_loci(&home, &["memory", "consolidate", "--no-model"]).expect(0);
    // What an agent calls a folder says what somebody works on.
    let closed = home.path().join(".claude/projects/-srv-acme-merger");
    fs::create_dir_all(&closed).unwrap();
    write_file(
        &home.path().join(".local/state/loci/daemon.log"),
        format!("{line}{{\"at\":\"{}\"}}\n", closed.display()).as_bytes(),
    );
    let done = run_loci(&home, &["doctor", "--bundle", "report.tar", "--json"]).records().remove(0);
    let file = home.path().join("report.tar");
    assert_eq!(done["bundle"], file.to_string_lossy().as_ref());
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let listed = Command::new("tar").args(["-tf"]).arg(&file).output().unwrap();
    let names = String::from_utf8(listed.stdout).unwrap();
    let wanted = ["version.txt", "status.json", "doctor.json", "config.toml", "daemon.log"];
    assert_eq!(
        names.lines().collect::<Vec<_>>(),
        wanted.map(|name| format!("loci-report/{name}")),
        "any tar reads it"
    );
    let held = String::from_utf8(fs::read(&file).unwrap()).unwrap();
    for part in [
        "loci 0.",
        "\"findings\"",
        "\"sizes\"",
        "inline_threshold_bytes = 9000\n",
        "model.provider = \"openai\"\n",
        "model.projects_off = (1 entries)\n",
        "\"started\"",
        "~/run",
        "~/.local/share/loci",
        "~/.claude/projects/…",
    ] {
        assert!(held.contains(part), "{part}: {held}");
    }
    let project = closed.file_name().unwrap().to_string_lossy();
    let own = home.path().to_string_lossy();
    for part in [&token, "walrus", "Noted", &own, "hunter2", "merger", "127.0.0.1", &project] {
        assert!(!held.contains(part), "{part}: {held}");
    }
    let again = run_loci(&home, &["doctor", "--bundle", "report.tar"]);
    assert!(
        again.code == Some(1) && again.stderr.contains("choose a new file in a writable folder"),
        "nothing is written over: {}",
        again.stderr
    );
    assert_eq!(run_loci(&home, &["doctor", "--bundle", ""]).code, Some(1));
}

#[test]
fn settings_that_nobody_can_read_are_a_problem() {
    let home = history();
    assert_eq!(find(&home, "settings"), None);
    write_file(&home.path().join(".config/loci/config.toml"), b"[model]\nprovidr = \"claude\"\n");
    let found = find(&home, "settings").unwrap();
    assert_eq!(found["severity"], "problem");
    let told = (found["message"].to_string(), found["fix"].to_string());
    assert!(told.0.contains("providr") && told.1.contains("config.toml"), "{found}");
}
