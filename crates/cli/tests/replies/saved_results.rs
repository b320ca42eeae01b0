//! Saved results: another user can neither read nor plant one (S8), a full disk costs an agent nothing but convenience
//! (R7), and old ones are removed.

use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};
use testutil::McpClient;
use testutil::needs::{self, OtherUser};
use testutil::{ALPHA, Home, Session, binary, run_command, run_line, set_environment};

fn home_with_history() -> Home {
    let home = Home::new();
    let mut session = Session::new("aaaa1111-0000-4000-8000-000000000000", ALPHA, "2026-03-02T09:00:00Z");
    session.prompt("count the pebbles");
    for n in 0..300 {
        session.did("Bash", json!({"command": format!("echo pebble {n}")}), &format!("pebble {n}"));
    }
    home.add(&session);
    home
}

fn refs_folder(home: &Home) -> PathBuf {
    home.path().join(".local/state/loci/refs")
}

fn file_mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

fn query_tools(home: &Home) -> Value {
    McpClient::new(home.path(), &[]).call("query_tools", json!({"all_projects": true}))
}

#[test]
fn saved_results_are_readable_only_by_their_owner() {
    let home = home_with_history();
    let response = query_tools(&home);
    let path = PathBuf::from(response["file_ref"]["path"].as_str().unwrap());
    assert_eq!((file_mode(&path), file_mode(&refs_folder(&home))), (0o600, 0o700));
    // Loci restores the mode of a folder that was opened to others, regardless of the umask.
    fs::set_permissions(refs_folder(&home), fs::Permissions::from_mode(0o777)).unwrap();
    let again = PathBuf::from(query_tools(&home)["file_ref"]["path"].as_str().unwrap());
    assert_eq!((file_mode(&again), file_mode(&refs_folder(&home))), (0o600, 0o700));
}

/// Every way in which another user could read or plant a file, tried by another user.
#[test]
#[ignore = "needs root: see CONTRIBUTING.md"]
fn another_user_can_neither_read_nor_plant_a_saved_result() {
    let other = OtherUser::new();
    let home = home_with_history();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let path = query_tools(&home)["file_ref"]["path"].as_str().unwrap().to_string();
    let dir = refs_folder(&home);
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

/// The reason why a large response is inline.
fn degraded_reason(home: &Home) -> String {
    let response = query_tools(home);
    assert_eq!(response["mode"], "inline");
    assert!(!response["data"].as_array().unwrap().is_empty());
    response["degraded_reason"].as_str().unwrap().to_string()
}

/// A link or file that another user planted in place of the folder is not used.
#[test]
fn a_planted_link_or_file_is_not_used_as_the_folder() {
    let home = home_with_history();
    fs::create_dir_all(refs_folder(&home).parent().unwrap()).unwrap();
    let elsewhere = home.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, refs_folder(&home)).unwrap();
    assert!(degraded_reason(&home).starts_with("refs_unwritable"), "a link");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    fs::remove_file(refs_folder(&home)).unwrap();
    fs::write(refs_folder(&home), "x").unwrap();
    assert!(degraded_reason(&home).starts_with("refs_unwritable"), "a file");
}

#[test]
#[ignore = "needs root: see CONTRIBUTING.md"]
fn a_folder_of_another_user_is_not_used() {
    assert!(needs::is_root(), "needs root: only root can give a folder away");
    let home = home_with_history();
    fs::create_dir_all(refs_folder(&home)).unwrap();
    std::os::unix::fs::chown(refs_folder(&home), Some(65534), Some(65534)).unwrap();
    assert!(degraded_reason(&home).starts_with("refs_unwritable"));
}

/// R7: without disk space every query still works, page by page, and no partial file is left behind.
#[test]
#[ignore = "needs namespaces: see CONTRIBUTING.md"]
fn on_a_full_disk_responses_come_in_pages() {
    needs::mount_namespace();
    let home = home_with_history();
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
    assert_eq!(lines[5], "0", "a partial file was left behind: {lines:?}");
    for line in &lines[..5] {
        let response: Value = serde_json::from_str(line).unwrap();
        assert_eq!(response["mode"], "inline");
        let data = response["data"].as_array().unwrap();
        if let Some(next) = response["next_offset"].as_u64() {
            assert_eq!(response["degraded_reason"], "refs_full", "{response:.300}");
            assert!(!data.is_empty() && line.len() < 10_000 && next > 0, "{response:.300}");
        }
    }
    let shown: Value = serde_json::from_str(lines[6]).unwrap();
    assert_eq!(shown["degraded_reason"], "refs_full", "{shown:.300}");
    assert!(!shown["data"]["messages"].as_array().unwrap().is_empty());
    let counted: Value = serde_json::from_str(lines[7]).unwrap();
    assert_eq!(counted["data"][0]["count"], 300);
}

#[test]
fn old_files_are_removed_at_startup_and_on_request() {
    let home = home_with_history();
    let old = PathBuf::from(query_tools(&home)["file_ref"]["path"].as_str().unwrap());
    let new = PathBuf::from(query_tools(&home)["file_ref"]["path"].as_str().unwrap());
    let foreign = refs_folder(&home).join("notes.txt");
    fs::write(&foreign, "mine").unwrap();
    let set_age = |path: &Path, days: u64| {
        let at = SystemTime::UNIX_EPOCH.elapsed().unwrap() - Duration::from_hours(24 * days);
        fs::File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_modified(SystemTime::UNIX_EPOCH + at)
            .unwrap();
    };
    set_age(&old, 8);
    set_age(&foreign, 80);
    let dry = run_line(&home, "cleanup --dry-run -o json").expect(0).records().remove(0);
    assert_eq!((&dry["removed"], &dry["kept"]), (&json!(1), &json!(1)));
    assert!(old.exists());
    // On startup the server removes files older than a week.
    let mut agent = McpClient::new(home.path(), &[]);
    for _ in 0..100 {
        if !old.exists() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(!old.exists() && new.exists());
    set_age(&new, 3);
    assert_eq!(agent.call("cleanup_temp_files", json!({}))["data"]["removed"], 0);
    assert_eq!(agent.call("cleanup_temp_files", json!({"max_age_days": 2}))["data"]["removed"], 1);
    assert!(!new.exists() && foreign.exists(), "only saved results are removed");
}
