//! The files that large answers are put into: another user can neither read nor plant one (S8), a full disk costs an
//! agent nothing but convenience (R7), and what is old goes.

use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};
use testutil::McpClient;
use testutil::needs::{self, OtherUser};
use testutil::{ALPHA, Home, Session, binary, run_command, run_line, set_environment};

fn history() -> Home {
    let home = Home::new();
    let mut session = Session::new("aaaa1111-0000-4000-8000-000000000000", ALPHA, "2026-03-02T09:00:00Z");
    session.prompt("count the pebbles");
    for n in 0..300 {
        session.did("Bash", json!({"command": format!("echo pebble {n}")}), &format!("pebble {n}"));
    }
    home.add(&session);
    home
}

fn refs(home: &Home) -> PathBuf {
    home.path().join(".local/state/loci/refs")
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

fn asked(home: &Home) -> Value {
    McpClient::new(home.path(), &[]).call("query_tools", json!({"all_projects": true}))
}

#[test]
fn files_are_for_their_owner_alone() {
    let home = history();
    let reply = asked(&home);
    let path = PathBuf::from(reply["file_ref"]["path"].as_str().unwrap());
    assert_eq!((mode(&path), mode(&refs(&home))), (0o600, 0o700));
    // A folder that was opened to others is closed again, whatever the umask.
    fs::set_permissions(refs(&home), fs::Permissions::from_mode(0o777)).unwrap();
    let again = PathBuf::from(asked(&home)["file_ref"]["path"].as_str().unwrap());
    assert_eq!((mode(&again), mode(&refs(&home))), (0o600, 0o700));
}

/// Every way in which another user could read or plant a file, tried by another user.
#[test]
#[ignore = "needs root: see CONTRIBUTING.md"]
fn another_user_can_neither_read_nor_plant() {
    let other = OtherUser::new();
    let home = history();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let path = asked(&home)["file_ref"]["path"].as_str().unwrap().to_string();
    let dir = refs(&home);
    let dir = dir.to_str().unwrap();
    for attempt in [
        format!("cat {path}"),
        format!("ls {dir}"),
        format!("ln {path} /tmp/loci-planted-$$"),
        format!("ln -s /etc/passwd {dir}/planted.jsonl"),
        format!("mkfifo {dir}/planted.jsonl"),
        format!("echo x > {dir}/planted.jsonl"),
        format!("echo x >> {path}"),
        format!("mv {path} /tmp/loci-planted-$$"),
        format!("rm -f {path}"),
        format!("mv {dir} {dir}.old"),
    ] {
        let mut command = other.program("sh");
        command.arg("-c").arg(&attempt);
        assert_ne!(run_command(command).code, Some(0), "{attempt}");
    }
    assert!(Path::new(&path).is_file());
}

/// Why a reply is inline although it is large.
fn reason(home: &Home) -> String {
    let reply = asked(home);
    assert_eq!(reply["mode"], "inline");
    assert!(!reply["data"].as_array().unwrap().is_empty());
    reply["degraded_reason"].as_str().unwrap().to_string()
}

/// What another user put in our way beforehand is not used.
#[test]
fn a_folder_that_is_not_ours_is_not_used() {
    let home = history();
    fs::create_dir_all(refs(&home).parent().unwrap()).unwrap();
    let elsewhere = home.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, refs(&home)).unwrap();
    assert!(reason(&home).starts_with("refs_unwritable"), "a link");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    fs::remove_file(refs(&home)).unwrap();
    fs::write(refs(&home), "x").unwrap();
    assert!(reason(&home).starts_with("refs_unwritable"), "a file");
}

#[test]
#[ignore = "needs root: see CONTRIBUTING.md"]
fn a_folder_of_another_user_is_not_used() {
    assert!(needs::is_root(), "needs root: only root can give a folder away");
    let home = history();
    fs::create_dir_all(refs(&home)).unwrap();
    std::os::unix::fs::chown(refs(&home), Some(65534), Some(65534)).unwrap();
    assert!(reason(&home).starts_with("refs_unwritable"));
}

/// R7: with no room for files every question is still answered, page by page, and nothing is left behind.
#[test]
#[ignore = "needs namespaces: see CONTRIBUTING.md"]
fn without_room_for_files_answers_come_in_pages() {
    needs::mount_namespace();
    let home = history();
    let state = home.path().join(".local/state");
    fs::create_dir_all(&state).unwrap();
    let script = format!(
        "mount -t tmpfs -o size=4k tmpfs {state} && i=0; while [ $i -lt 300 ]; do \
         $LOCI query tools --all-projects --hybrid --fields id,output --offset $i || exit 9; \
         i=$((i+60)); done; find {state} -name '*.jsonl' | wc -l; \
         $LOCI show aaaa1111 --hybrid; $LOCI query tools --all-projects --stats-only --hybrid",
        state = state.display()
    );
    let mut command = Command::new("unshare");
    command.args(["-Urm", "sh", "-c", &script]);
    set_environment(&mut command, home.path());
    command.env("LOCI", binary()).env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin");
    let ended = run_command(command).expect(0);
    let lines = ended.lines();
    assert_eq!(lines[5], "0", "half a file was left behind: {lines:?}");
    for line in &lines[..5] {
        let reply: Value = serde_json::from_str(line).unwrap();
        assert_eq!(reply["mode"], "inline");
        let data = reply["data"].as_array().unwrap();
        if let Some(next) = reply["next_offset"].as_u64() {
            assert_eq!(reply["degraded_reason"], "refs_full", "{reply:.300}");
            assert!(!data.is_empty() && line.len() < 10_000 && next > 0, "{reply:.300}");
        }
    }
    let shown: Value = serde_json::from_str(lines[6]).unwrap();
    assert_eq!(shown["degraded_reason"], "refs_full", "{shown:.300}");
    assert!(!shown["data"]["messages"].as_array().unwrap().is_empty());
    let counted: Value = serde_json::from_str(lines[7]).unwrap();
    assert_eq!(counted["data"][0]["count"], 300);
}

#[test]
fn old_files_go_at_the_start_and_when_asked() {
    let home = history();
    let old = PathBuf::from(asked(&home)["file_ref"]["path"].as_str().unwrap());
    let new = PathBuf::from(asked(&home)["file_ref"]["path"].as_str().unwrap());
    let foreign = refs(&home).join("notes.txt");
    fs::write(&foreign, "mine").unwrap();
    let age = |path: &Path, days: u64| {
        let at = SystemTime::UNIX_EPOCH.elapsed().unwrap() - Duration::from_hours(24 * days);
        fs::File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_modified(SystemTime::UNIX_EPOCH + at)
            .unwrap();
    };
    age(&old, 8);
    age(&foreign, 80);
    let dry = run_line(&home, "cleanup --dry-run -o json").expect(0).records().remove(0);
    assert_eq!((&dry["removed"], &dry["kept"]), (&json!(1), &json!(1)));
    assert!(old.exists());
    // A server that starts removes what is older than a week.
    let mut agent = McpClient::new(home.path(), &[]);
    for _ in 0..100 {
        if !old.exists() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(!old.exists() && new.exists());
    age(&new, 3);
    assert_eq!(agent.call("cleanup_temp_files", json!({}))["data"]["removed"], 0);
    assert_eq!(agent.call("cleanup_temp_files", json!({"max_age_days": 2}))["data"]["removed"], 1);
    assert!(!new.exists() && foreign.exists(), "only files of ours are removed");
}
