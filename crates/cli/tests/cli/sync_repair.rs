//! `loci sync` on a storage that loses things, and on a device that comes back: nothing is lost, and what was forgotten stays forgotten.
//!
//! Does not know the format of the storage.

use crate::sync::{Devices, SHOP, run, session};
use serde_json::json;
use testutil::{Home, run_line};

fn count_sessions(home: &Home) -> serde_json::Value {
    run(home, "sessions")["total"].clone()
}

/// Copies a folder with everything in it.
fn copy_folder(from: &std::path::Path, to: &std::path::Path) {
    let copied = std::process::Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(copied.success());
}

/// Runs two rounds on both devices that must find nothing in the end.
fn settle(devices: &Devices) {
    devices.rounds();
    for home in [&devices.work, &devices.laptop] {
        run_line(home, "sync now").expect(0);
    }
}

#[test]
fn nothing_is_sent_into_a_folder_that_is_not_mounted() {
    let devices = Devices::joined();
    devices.work.add(&session(1, SHOP, "Count the walruses"));
    devices.rounds();
    let (mounted, aside) = (devices.bucket.path(), devices.bucket.path().with_extension("aside"));
    std::fs::rename(mounted, &aside).unwrap();
    std::fs::create_dir(mounted).unwrap();
    devices.work.add(&session(2, SHOP, "Count the penguins"));
    let refused = run_line(&devices.work, "sync now").expect(1);
    assert!(refused.stderr.contains("does not contain this space"), "{}", refused.stderr);
    assert_eq!(std::fs::read_dir(mounted).unwrap().count(), 0);
    let found = run_line(&devices.work, "doctor --json");
    assert!(String::from_utf8_lossy(&found.stdout).contains("does not contain this space"));
    std::fs::remove_dir(mounted).unwrap();
    std::fs::rename(&aside, mounted).unwrap();
    devices.rounds();
    assert_eq!(count_sessions(&devices.laptop), json!(2));
}

#[test]
fn a_storage_restored_from_a_backup_gets_back_what_it_lost() {
    let devices = Devices::joined();
    devices.work.add(&session(1, SHOP, "Count the walruses"));
    devices.rounds();
    let backup = Home::new();
    copy_folder(&devices.bucket.path().join("v1"), backup.path());
    devices.work.add(&session(2, SHOP, "Count the penguins"));
    run(&devices.work, "memory add 'The walrus labels are blue' --project /srv/demo/shop");
    run(&devices.work, "sync now");
    std::fs::remove_dir_all(devices.bucket.path().join("v1")).unwrap();
    copy_folder(&backup.path().join("v1"), devices.bucket.path());
    let mended = run(&devices.work, "sync now");
    assert!(mended["repaired"].as_u64() > Some(0) && mended["findings"].is_null(), "{mended}");
    settle(&devices);
    assert_eq!(count_sessions(&devices.laptop), json!(2));
    let checked = run(&devices.laptop, "sync check --read");
    assert!(checked["findings"].is_null() && checked["bytes"].as_u64() > Some(0), "{checked}");
}

#[test]
fn an_emptied_storage_is_filled_by_a_repair_and_the_phrase_opens_it() {
    let devices = Devices::joined();
    devices.work.add(&session(1, SHOP, "Count the walruses"));
    devices.laptop.add(&session(2, SHOP, "Count the penguins"));
    devices.rounds();
    std::fs::remove_dir_all(devices.bucket.path().join("v1")).unwrap();
    run_line(&devices.work, "sync now").expect(1);
    // What the other device wrote is still missing.
    run_line(&devices.work, "sync check --repair").expect(3);
    run_line(&devices.laptop, "sync now").expect(0);
    settle(&devices);
    run_line(&devices.work, "sync check --read").expect(0);
    let fresh = Home::new();
    run(&fresh, &format!("sync join {} {} --label new", devices.bucket.path().display(), devices.phrase));
    run(&fresh, "sync now");
    assert_eq!(count_sessions(&fresh), json!(2));
}

#[test]
fn a_device_that_returns_does_not_undo_what_was_changed_meanwhile() {
    let devices = Devices::joined();
    for number in [1, 2] {
        devices.work.add(&session(number, SHOP, "Count the walruses"));
    }
    run(&devices.work, "memory consolidate --no-model");
    let added = run(&devices.work, "memory add 'The cache key has no version' --project /srv/demo/shop");
    let fact = added["memory"]["id"].as_str().unwrap().to_string();
    devices.rounds();
    run(&devices.laptop, "sync leave");
    run(&devices.work, "memory edit 00000001 --name 'Newer on work'");
    run(&devices.work, &format!("memory retire {fact}"));
    run(&devices.work, "sync now");
    // While it was away, this device has changed something else.
    run(&devices.laptop, "memory edit 00000002 --name 'Newer on laptop'");
    let url = devices.bucket.path().display();
    run(&devices.laptop, &format!("sync join {url} {} --label laptop", devices.phrase));
    run(&devices.laptop, "sync now");
    devices.rounds();
    for home in [&devices.work, &devices.laptop] {
        let shown = |id: &str| run(home, &format!("memory show {id}")).to_string();
        assert!(shown("00000001").contains("Newer on work"), "{}", shown("00000001"));
        assert!(shown("00000002").contains("Newer on laptop"), "{}", shown("00000002"));
        assert!(shown(&fact).contains("retired"), "{}", shown(&fact));
    }
}

#[test]
fn a_lost_list_of_forgotten_sessions_comes_back_from_sync() {
    let devices = Devices::joined();
    for (number, word) in [(1, "walruses"), (2, "penguins")] {
        devices.work.add(&session(number, SHOP, &format!("Count the {word}")));
    }
    devices.rounds();
    run_line(&devices.work, "forget 00000001 --yes").expect(0);
    devices.rounds();
    for copy in ["forgotten", "archive/forgotten"] {
        // The second copy is of a later version.
        let _ = std::fs::remove_file(devices.work.path().join(".local/share/loci").join(copy));
    }
    run_line(&devices.work, "sync now").expect(0);
    run_line(&devices.work, "index --rebuild");
    devices.rounds();
    for home in [&devices.work, &devices.laptop] {
        assert_eq!(count_sessions(home), json!(1));
        assert_eq!(run_line(home, "search walruses").code, Some(2));
    }
}

#[test]
fn the_phrase_is_neither_an_argument_nor_printed_into_a_pipe() {
    let (bucket, home) = (Home::new(), Home::new());
    let url = bucket.path().display();
    let refused = run_line(&home, &format!("sync init {url}")).expect(1);
    assert!(refused.stderr.contains("--show-phrase"), "{}", refused.stderr);
    assert_eq!(std::fs::read_dir(bucket.path()).unwrap().count(), 0);
    let started = run(&home, &format!("sync init {url} --show-phrase"));
    let phrase = started["phrase"].as_str().unwrap();
    assert!(phrase.starts_with("loci1-") && phrase.len() == 47, "{phrase}");
    let second = Home::new();
    // Without the prefix, the harness leaves it among the arguments.
    let refused = run_line(&second, &format!("sync join {url} {}", &phrase[6..])).expect(1);
    assert!(refused.stderr.contains("standard input"), "{}", refused.stderr);
    run(&home, "sync now");
    let replaced = run(&home, "sync rekey --show-phrase");
    run_line(&second, &format!("sync join {url} {phrase}")).expect(1);
    run(&second, &format!("sync join {url} {}", replaced["phrase"].as_str().unwrap()));
    run(&second, "sync now");
}

/// Two users of one machine, with a group in common.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "needs root: see CONTRIBUTING.md"]
fn a_team_on_a_folder_works_for_two_users() {
    use std::os::unix::fs::{PermissionsExt as _, chown};
    let can_switch = testutil::needs::is_root() && testutil::can_run("setpriv", &["--version"]);
    assert!(can_switch, "needs root: only root with `setpriv` can become another user");
    let (shared, ada, bob) = (Home::new(), Home::new(), Home::new());
    for (home, uid) in [(&ada, 2001), (&bob, 2002)] {
        chown(home.path(), Some(uid), Some(3000)).unwrap();
    }
    // Temporary folders are private: the binary and the folder must be reachable for both.
    chown(shared.path(), None, Some(3000)).unwrap();
    std::fs::set_permissions(shared.path(), std::fs::Permissions::from_mode(0o2770)).unwrap();
    let program = shared.path().with_extension("loci");
    std::fs::copy(testutil::binary(), &program).unwrap();
    let url = shared.path().display().to_string();
    let type_as = |uid: u32, home: &Home, line: &str| {
        let mut command = std::process::Command::new("setpriv");
        testutil::set_environment(&mut command, home.path());
        command.args([&format!("--reuid={uid}"), "--regid=3000", "--clear-groups"]).arg(&program);
        command.args(line.split(' ')).arg("--json");
        testutil::run_command(command).expect(0).records().remove(0)
    };
    let started = type_as(2001, &ada, &format!("sync init {url} --team core --label ada --show-phrase"));
    assert!(started["warning"].is_null(), "{started}");
    let asked = type_as(2002, &bob, &format!("sync join {url} --team core --label bob"));
    let admitted =
        type_as(2001, &ada, &format!("sync admit {} --team core", asked["request"].as_str().unwrap()));
    let invitation = admitted["invitation"].as_str().unwrap();
    type_as(2002, &bob, &format!("sync join {url} {invitation} --team core"));
    for (uid, home) in [(2001, &ada), (2002, &bob), (2001, &ada)] {
        assert!(type_as(uid, home, "sync now")["findings"].is_null());
    }
    std::fs::remove_file(program).unwrap();
}

/// Devices that agree on a fact; the laptop has left, and work has retired the fact since.
fn devices_apart() -> (Devices, String) {
    let devices = Devices::joined();
    let added = run(&devices.work, "memory add 'The cache key has no version' --project /srv/demo/shop");
    let fact = added["memory"]["id"].as_str().unwrap().to_string();
    devices.rounds();
    let left = run(&devices.laptop, "sync leave");
    assert!(left["warning"].is_null(), "{left}");
    run(&devices.work, &format!("memory retire {fact}"));
    run(&devices.work, "sync now");
    (devices, fact)
}

fn join_laptop(devices: &Devices) {
    let url = devices.bucket.path().display();
    run(&devices.laptop, &format!("sync join {url} {} --label laptop", devices.phrase));
}

fn check_retired(devices: &Devices, fact: &str) {
    for home in [&devices.work, &devices.laptop] {
        let shown = run(home, &format!("memory show {fact}")).to_string();
        assert!(shown.contains("retired"), "{shown}");
    }
}

fn laptop_file(devices: &Devices, name: &str) -> std::path::PathBuf {
    devices.laptop.path().join(".local/share/loci/sync").join(name)
}

#[test]
fn a_device_that_leaves_again_before_its_first_round_still_knows_what_it_had_exchanged() {
    let (devices, fact) = devices_apart();
    join_laptop(&devices);
    run(&devices.laptop, "sync leave");
    assert!(std::fs::read_to_string(laptop_file(&devices, "left.json")).unwrap().contains(&fact));
    join_laptop(&devices);
    run(&devices.laptop, "sync now");
    devices.rounds();
    check_retired(&devices, &fact);
}

#[test]
fn a_damaged_list_of_what_a_device_knew_is_named_until_a_person_removes_it() {
    let (devices, fact) = devices_apart();
    let left = laptop_file(&devices, "left.json");
    let text = std::fs::read_to_string(&left).unwrap();
    for damaged in [text.replacen("cache", "cacke", 1), text[..text.len() / 2].to_string(), String::new()] {
        std::fs::write(&left, damaged).unwrap();
        if !laptop_file(&devices, "settings.json").exists() {
            join_laptop(&devices);
        }
        let refused = run_line(&devices.laptop, "sync now").expect(1);
        assert!(refused.stderr.contains("left.json"), "{}", refused.stderr);
        let doctor = run_line(&devices.laptop, "doctor --json");
        assert!(String::from_utf8_lossy(&doctor.stdout).contains("left.json"));
    }
    std::fs::remove_file(&left).unwrap();
    run(&devices.laptop, "sync now");
    devices.rounds();
    check_retired(&devices, &fact);
}

#[test]
fn a_device_whose_state_is_damaged_can_leave_and_says_what_it_does_not_keep() {
    let devices = Devices::joined();
    devices.rounds();
    std::fs::write(laptop_file(&devices, "sync.db"), vec![7; 8192]).unwrap();
    let left = run(&devices.laptop, "sync leave");
    assert!(left["warning"].as_str().is_some_and(|text| text.contains("not kept")), "{left}");
    join_laptop(&devices);
    run(&devices.laptop, "sync now");
}

#[test]
fn damaged_settings_are_named_and_are_not_those_of_a_device_outside_of_any_space() {
    let devices = Devices::joined();
    devices.rounds();
    std::fs::write(laptop_file(&devices, "settings.json"), "{\"url\": ").unwrap();
    let refused = run_line(&devices.laptop, "sync now").expect(1);
    assert!(refused.stderr.contains("settings of sync are damaged"), "{}", refused.stderr);
    let doctor = run_line(&devices.laptop, "doctor --json");
    assert!(String::from_utf8_lossy(&doctor.stdout).contains("settings of sync are damaged"));
    run(&devices.laptop, "sync leave");
    join_laptop(&devices);
    run(&devices.laptop, "sync now");
}
