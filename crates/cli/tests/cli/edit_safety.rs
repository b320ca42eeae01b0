//! What an edit does to a tree and to the machine if it is killed, and while a compiler runs: the files are as before or as after,
//! the user's build sees no write, and no process of a compiler remains.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use testutil::tracer::{Fault, Operation, Tracer};
use testutil::{Home, command, run_command, run_loci, write_file};

/// A crate in `tree` with one module that has a function and several that use it.
fn home_with_modules(count: usize) -> Home {
    let home = Home::new();
    let tree = home.path().join("tree");
    write_file(
        &tree.join("Cargo.toml"),
        b"[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
    );
    let modules: String = (0..count).map(|at| format!("mod m{at};\n")).collect();
    write_file(&tree.join("src/lib.rs"), format!("pub mod a;\n{modules}").as_bytes());
    write_file(&tree.join("src/a.rs"), b"pub fn get() -> u8 {\n    1\n}\n");
    for at in 0..count {
        let text = format!("use crate::a::get;\n\npub fn f{at}() -> u8 {{\n    get()\n}}\n");
        write_file(&tree.join(format!("src/m{at}.rs")), text.as_bytes());
    }
    home
}

fn snapshot(home: &Home) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(home.path().join("tree/src")).unwrap().flatten();
    let mut found: Vec<_> = entries.map(|it| (it.path(), fs::read(it.path()).unwrap())).collect();
    found.sort();
    found
}

/// Brings the files back and forgets all edits.
fn restore(home: &Home, files: &[(PathBuf, Vec<u8>)]) {
    let _ = fs::remove_dir_all(home.path().join(".local/state/loci/edits"));
    for (path, _) in snapshot(home) {
        fs::remove_file(path).unwrap();
    }
    files.iter().for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
}

fn plan_rename(home: &Home) -> String {
    let planned =
        run_loci(home, &["edit", "rename", "get", "fetch", "--root", "tree", "-o", "json"]).expect(0);
    planned.records()[0]["id"].as_str().unwrap().to_owned()
}

/// `LOCI_KILLS` sets the number of kills: `LOCI_KILLS=500 cargo test -p loci --test cli -- edit_safety::`
#[test]
fn a_kill_before_any_change_of_a_file_is_finished_or_rolled_back_by_command() {
    let kills: usize = testutil::needs::number_variable("LOCI_KILLS", 30);
    let step = if kills < 100 { 4 } else { 1 };
    let tracer = Tracer::new();
    let (mut done, mut seen) = (0, [0, 0]);
    'kills: for count in 1.. {
        let home = home_with_modules(count);
        let before = snapshot(&home);
        let id = plan_rename(&home);
        run_loci(&home, &["edit", "apply", &id, "--root", "tree"]).expect(0);
        let after = snapshot(&home);
        assert_ne!(before, after);
        for word in ["apply", "undo"] {
            for at in (1..).step_by(step) {
                if done == kills {
                    break 'kills;
                }
                restore(&home, &before);
                assert_eq!(plan_rename(&home), id);
                if word == "undo" {
                    run_loci(&home, &["edit", "apply", &id, "--root", "tree"]).expect(0);
                }
                let killed = command(home.path(), &["edit", word, &id, "--root", "tree"]);
                let (finished, _) = tracer.run(&killed, home.path(), Fault::Kill, at);
                if finished.code == Some(0) {
                    break;
                }
                done += 1;
                let killed = snapshot(&home);
                run_loci(&home, &["edit", "list", "--root", "tree"]);
                assert_eq!(snapshot(&home), killed, "looking writes nothing");
                let way_out = if done % 2 == 0 { "apply" } else { "undo" };
                run_loci(&home, &["edit", way_out, &id, "--root", "tree"]);
                let (now, expected) = (snapshot(&home), if way_out == "apply" { &after } else { &before });
                assert!(now == *expected, "{word} of {count} files, call {at}, {way_out}: {now:?}");
                seen[usize::from(now == after)] += 1;
            }
        }
    }
    assert!(seen[0] > 3 && seen[1] > 3, "{seen:?}");
}

/// A program that does this.
fn add_program(home: &Home, path: &str, script: &str) {
    let path = write_file(&home.path().join(path), format!("#!/bin/sh\n{script}\n").as_bytes());
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A `cargo` that does this and finds nothing wrong, in a tree that is trusted.
fn add_cargo(home: &Home, script: &str) {
    add_program(home, "bin/cargo", script);
    run_loci(home, &["edit", "trust", "--root", "tree"]).expect(0);
}

fn checked_rename(home: &Home) -> Command {
    let mut command = command(home.path(), &["edit", "rename", "get", "fetch", "--check", "--root", "tree"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", home.path().join("bin").display()));
    command
}

#[test]
fn a_tree_that_is_not_trusted_runs_no_compiler() {
    let home = home_with_modules(1);
    add_program(&home, "bin/cargo", "echo ran >> \"$HOME/ran\"");
    let ran = home.path().join("ran");
    let refused = run_command(checked_rename(&home)).expect(1);
    assert!(refused.stderr.contains("loci edit trust"), "{}", refused.stderr);
    assert!(!ran.exists());
    let trust = run_loci(&home, &["edit", "trust", "--root", "tree", "-o", "json"]).expect(0);
    assert_eq!(trust.records()[0]["trusted"], true);
    run_command(checked_rename(&home)).expect(0);
    assert!(ran.exists());
    let revoked = run_loci(&home, &["edit", "trust", "--revoke", "--root", "tree", "-o", "json"]).expect(0);
    assert_eq!(revoked.records()[0]["trusted"], false);
    run_command(checked_rename(&home)).expect(1);
}

#[test]
fn a_project_below_the_root_is_checked_in_its_folder() {
    let home = home_with_modules(1);
    let web = home.path().join("tree/web");
    write_file(&web.join("tsconfig.json"), b"{}");
    write_file(&web.join("src/build/a.ts"), b"export function load() {\n  return 1;\n}\n");
    let script = r#"test -f src/build/a.ts || exit 9
        grep -q fetchAll src/build/a.ts && { echo 'src/build/a.ts(2,3): error TS1: no'; exit 1; }
        pwd >> "$HOME/ran""#;
    add_program(&home, "tree/web/node_modules/.bin/tsc", script);
    run_loci(&home, &["edit", "trust", "--root", "tree"]).expect(0);
    let rename = |new: &str| run_loci(&home, &["edit", "rename", "load", new, "--check", "--root", "tree"]);
    rename("fetch").expect(0);
    let ran = fs::read_to_string(home.path().join("ran")).unwrap();
    assert!(ran.lines().count() == 2 && ran.lines().all(|it| it.ends_with("/web")), "{ran}");
    let refused = rename("fetchAll").expect(1).stderr;
    assert!(refused.contains("web/src/build/a.ts:2"), "{refused}");
}

#[test]
fn of_two_checks_at_once_the_second_waits() {
    let home = home_with_modules(1);
    add_cargo(&home, "mkdir \"$HOME/running\" || exit 9; sleep 1; rmdir \"$HOME/running\"");
    let first = checked_rename(&home).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    run_command(checked_rename(&home)).expect(0);
    let first = first.wait_with_output().unwrap();
    assert!(first.status.success(), "{}", String::from_utf8_lossy(&first.stderr));
}

#[test]
fn a_compiler_that_hangs_is_ended_at_its_deadline() {
    let home = home_with_modules(1);
    add_cargo(&home, "echo $$ > \"$HOME/new\"; mv \"$HOME/new\" \"$HOME/pid\"; trap '' TERM; sleep 300");
    let mut check = checked_rename(&home);
    check.env("LOCI_CHECK_SECONDS", "2");
    let ended = run_command(check).expect(1);
    assert!(ended.stderr.contains("cargo check"), "{}", ended.stderr);
    assert!(exits(&fs::read_to_string(home.path().join("pid")).unwrap()));
    let mut check = checked_rename(&home);
    check.env("LOCI_CHECK_SECONDS", "soon");
    assert!(run_command(check).expect(1).stderr.contains("LOCI_CHECK_SECONDS: `soon` is not a number"));
}

#[test]
fn a_check_writes_nothing_into_the_tree() {
    let home = home_with_modules(1);
    let tree = home.path().join("tree");
    write_file(&tree.join("target/debug/p"), b"built");
    write_file(&tree.join("node_modules/q/index.js"), b"installed");
    add_cargo(
        &home,
        "mkdir -p target node_modules/.cache \"$CARGO_TARGET_DIR\"
         echo 1 > target/x; echo 1 > node_modules/.cache/x; echo 1 > \"$CARGO_TARGET_DIR/x\"
         test -f node_modules/q/index.js || exit 1
         echo ran >> \"$HOME/ran\"",
    );
    let (finished, operations) = Tracer::new().record(&checked_rename(&home), &tree);
    finished.expect(0);
    let ran = fs::read_to_string(home.path().join("ran")).unwrap();
    assert_eq!(ran.lines().count(), 2, "before and after the edit");
    assert_eq!(operations, Vec::<Operation>::new());
    assert!(!tree.join("target/x").exists() && !tree.join("node_modules/.cache").exists());
}

/// Whether a process has exited, within a minute.
fn exits(pid: &str) -> bool {
    let started = Instant::now();
    let stat = Path::new("/proc").join(pid.trim()).join("stat");
    let is_gone = || fs::read_to_string(&stat).map_or(true, |it| it.contains(") Z "));
    while !is_gone() && started.elapsed() < Duration::from_mins(1) {
        std::thread::sleep(Duration::from_millis(20));
    }
    is_gone()
}

#[test]
fn a_compiler_that_forks_leaves_no_process() {
    let home = home_with_modules(1);
    add_cargo(&home, "setsid sleep 300 >/dev/null 2>&1 & echo $! > \"$HOME/pid\"");
    run_command(checked_rename(&home)).expect(0);
    assert!(exits(&fs::read_to_string(home.path().join("pid")).unwrap()));
}

#[test]
fn a_compiler_that_hangs_ends_with_loci() {
    let home = home_with_modules(1);
    add_cargo(&home, "echo $$ > \"$HOME/new\"; mv \"$HOME/new\" \"$HOME/pid\"; trap '' TERM; sleep 300");
    let mut child = checked_rename(&home).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let pid = home.path().join("pid");
    while !pid.exists() {
        assert!(child.try_wait().unwrap().is_none(), "the compiler did not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(exits(&fs::read_to_string(pid).unwrap()));
    let before = snapshot(&home);
    assert!(before.iter().all(|(_, text)| !String::from_utf8_lossy(text).contains("fetch")));
}
