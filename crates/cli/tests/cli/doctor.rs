//! `loci doctor`: its findings for planted faults, and its report bundle, which must not contain confidential data.

use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};
use testutil::{ALPHA, Home, Session, command, run_command, run_loci, write_file};

fn home_with_session() -> Home {
    let home = Home::new();
    let mut session = Session::new("aaaa1111-0000-4000-8000-000000000001", ALPHA, "2026-03-01T10:00:00Z");
    session.prompt("the walrus eats at noon").reply(&["Noted."]);
    home.add(&session);
    home
}

fn find_check(home: &Home, name: &str) -> Option<Value> {
    let checkup = run_loci(home, &["doctor", "--json"]).records().remove(0);
    checkup["findings"].as_array().unwrap().iter().find(|finding| finding["check"] == name).cloned()
}

#[test]
fn leftover_temporary_files_are_reported_once_they_are_old() {
    let home = home_with_session();
    run_loci(&home, &["index"]).expect(0);
    assert_eq!(find_check(&home, "leftovers"), None);
    let partial = home.path().join(".local/share/loci/forgotten.4711.new");
    write_file(&partial, b"half");
    assert_eq!(find_check(&home, "leftovers"), None, "a process may still be writing it");
    fs::File::options()
        .append(true)
        .open(&partial)
        .unwrap()
        .set_modified(UNIX_EPOCH + Duration::from_secs(9))
        .unwrap();
    let found = find_check(&home, "leftovers").unwrap();
    assert_eq!(
        (&found["severity"], &found["fix"]),
        (&"warning".into(), &format!("rm -- {}", partial.display()).into())
    );
}

#[test]
fn several_loci_binaries_on_the_path_are_reported() {
    let home = home_with_session();
    let install_script = |folder: &str| {
        let path = home.path().join(folder).join("loci");
        write_file(&path, b"#!/bin/sh\n");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.parent().unwrap().to_path_buf()
    };
    let (other, third) = (install_script("other"), install_script("third"));
    let own = home.path().join("own");
    fs::create_dir_all(&own).unwrap();
    std::os::unix::fs::symlink(testutil::binary(), own.join("loci")).unwrap();
    let check_with_path = |folders: &[&std::path::Path]| {
        let path = std::env::join_paths(folders).unwrap();
        let mut doctor = command(home.path(), &["doctor", "--json"]);
        doctor.env("PATH", path);
        let checkup = run_command(doctor).records().remove(0);
        let all = checkup["findings"].as_array().unwrap().clone();
        all.into_iter().find(|finding| finding["check"] == "programs")
    };
    assert_eq!(check_with_path(&[]), None, "no `loci` on PATH");
    assert_eq!(check_with_path(&[&own, &own]).unwrap()["severity"], "ok");
    let several = check_with_path(&[&own, &other]).unwrap();
    assert!(
        several["severity"] == "warning" && several["message"].to_string().contains("other/loci"),
        "{several}"
    );
    let wrong = check_with_path(&[&third, &own]).unwrap();
    assert!(wrong["message"].to_string().contains("but `loci` on PATH is"), "{wrong}");
}

#[test]
fn an_unusable_model_is_reported_without_calling_it() {
    let home = home_with_session();
    let claude = home.path().join("bin/claude");
    write_file(&claude, b"#!/bin/sh\ntouch $HOME/asked\n");
    let check_with_settings = |settings: &str, mode: u32, key: Option<&str>| {
        write_file(&home.path().join(".config/loci/config.toml"), format!("[model]\n{settings}").as_bytes());
        fs::set_permissions(&claude, fs::Permissions::from_mode(mode)).unwrap();
        let mut doctor = command(home.path(), &["doctor", "--json"]);
        doctor.env("PATH", home.path().join("bin")).envs(key.map(|key| ("A_KEY", key)));
        let checkup = run_command(doctor).records().remove(0);
        let all = checkup["findings"].as_array().unwrap().clone();
        all.into_iter().find(|finding| finding["check"] == "model")
    };
    assert_eq!(check_with_settings("", 0o755, None), None, "no model is configured");
    let local = "provider = \"openai\"\nmodel = \"x\"\nbase_url = \"http://127.0.0.1:1\"";
    for (settings, mode, key, severity, message) in [
        (
            "provider = \"claud\"".to_string(),
            0o755,
            None,
            "problem",
            "use one of `claude`, `anthropic`, `openai`",
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
        (format!("{local}\nkey_env = \"A_KEY\""), 0o755, Some("hush-hush"), "ok", "model x"),
        (format!("{local}\nkey_command = \"touch $HOME/asked\""), 0o755, None, "ok", "model x"),
    ] {
        let found = check_with_settings(&settings, mode, key).unwrap();
        assert_eq!(found["severity"], severity, "{settings}: {found}");
        assert!(found["message"].as_str().unwrap().contains(message), "{settings}: {found}");
        assert!(!found.to_string().contains("hush-hush"), "{found}");
        assert_eq!(severity == "ok", found["fix"].is_null(), "{found}");
    }
    assert!(!home.path().join("asked").exists(), "a command was run");
}

#[test]
fn a_broken_agent_setup_is_reported() {
    let home = home_with_session();
    assert_eq!(find_check(&home, "wiring"), None);
    run_loci(&home, &["setup", "claude-code", "--yes"]).expect(0);
    assert_eq!(find_check(&home, "wiring").unwrap()["severity"], "ok");
    let settings = home.path().join(".claude/settings.json");
    let text = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, "{}").unwrap();
    let found = find_check(&home, "wiring").unwrap();
    assert_eq!((&found["severity"], &found["fix"]), (&"warning".into(), &"loci setup".into()), "{text}");
}

#[test]
fn the_bundle_contains_diagnostics_but_no_messages_or_secrets() {
    let home = home_with_session();
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
    // The names of project folders reveal what the user works on.
    let project_folder = home.path().join(".claude/projects/-srv-acme-merger");
    fs::create_dir_all(&project_folder).unwrap();
    write_file(
        &home.path().join(".local/state/loci/daemon.log"),
        format!("{line}{{\"at\":\"{}\"}}\n", project_folder.display()).as_bytes(),
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
        "as listed by tar"
    );
    let contents = String::from_utf8(fs::read(&file).unwrap()).unwrap();
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
        assert!(contents.contains(part), "{part}: {contents}");
    }
    let project = project_folder.file_name().unwrap().to_string_lossy();
    let home_path = home.path().to_string_lossy();
    for part in [&token, "walrus", "Noted", &home_path, "hunter2", "merger", "127.0.0.1", &project] {
        assert!(!contents.contains(part), "{part}: {contents}");
    }
    let again = run_loci(&home, &["doctor", "--bundle", "report.tar"]);
    assert!(
        again.code == Some(1) && again.stderr.contains("choose a new file in a writable folder"),
        "an existing file is not overwritten: {}",
        again.stderr
    );
    assert_eq!(run_loci(&home, &["doctor", "--bundle", ""]).code, Some(1));
}

#[test]
fn invalid_settings_are_reported_as_a_problem() {
    let home = home_with_session();
    assert_eq!(find_check(&home, "settings"), None);
    write_file(&home.path().join(".config/loci/config.toml"), b"[model]\nprovidr = \"claude\"\n");
    let found = find_check(&home, "settings").unwrap();
    assert_eq!(found["severity"], "problem");
    let texts = (found["message"].to_string(), found["fix"].to_string());
    assert!(texts.0.contains("providr") && texts.1.contains("config.toml"), "{found}");
}

#[test]
fn damage_to_memory_is_reported() {
    let home = home_with_session();
    run_loci(&home, &["memory", "consolidate", "--no-model"]).expect(0);
    assert_eq!(find_check(&home, "databases").unwrap()["severity"], "ok");
    let path = home.path().join(".local/share/loci/memory.db");
    let mut bytes = fs::read(&path).unwrap();
    assert!(bytes.len() > 3 * 4096, "{}", bytes.len());
    bytes[4096] ^= 0xff;
    fs::write(&path, bytes).unwrap();
    let found = find_check(&home, "databases").unwrap();
    assert_eq!(found["severity"], "problem", "{found}");
    assert!(found["message"].as_str().unwrap().contains("memory.db is damaged"), "{found}");
}

#[test]
fn an_old_transcript_without_a_session_is_not_a_problem() {
    let home = home_with_session();
    let folder = home.path().join(".claude/projects/-srv-demo-alpha");
    for (name, text) in [("empty", ""), ("garbage", "not a transcript\n")] {
        let path = folder.join(format!("{name}.jsonl"));
        write_file(&path, text.as_bytes());
        let old =
            fs::metadata(&path).unwrap().modified().unwrap() - std::time::Duration::from_secs(27 * 86_400);
        fs::File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
    }
    run_loci(&home, &["index"]);
    let found = find_check(&home, "clean-up").unwrap();
    assert_eq!(found["severity"], "ok", "{found}");
}
