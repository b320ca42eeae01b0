//! Transcripts, folders and databases that cannot be read for a while: what was indexed of them stays, the failure is
//! reported, and they are read again as soon as that is possible.

use crate::history::{append, needle};
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use testutil::needs::{OtherUser, is_root};
use testutil::{ALPHA, Finished, Home, Session, run_command, split_words};

/// A home whose owner file modes apply to: the current user, or another one if that is root.
struct OwnedHome {
    home: Home,
    owner: Option<OtherUser>,
}

impl OwnedHome {
    fn new(home: Home) -> OwnedHome {
        let owner = is_root().then(OtherUser::new);
        if owner.is_some() {
            let chown = Command::new("chown").args(["-R", "65534:65534"]).arg(home.path()).status().unwrap();
            assert!(chown.success());
        }
        OwnedHome { home, owner }
    }

    fn command(&self, line: &str) -> Command {
        let words = split_words(line);
        let args: Vec<&str> = words.iter().map(String::as_str).collect();
        match &self.owner {
            Some(owner) => owner.loci(&self.home, &args),
            None => testutil::command(self.home.path(), &args),
        }
    }

    fn run(&self, line: &str) -> Finished {
        run_command(self.command(line))
    }

    fn index(&self, code: i32) -> Value {
        self.run("index -o json").expect(code).records().remove(0)
    }

    fn finds(&self, word: &str) -> bool {
        // Quoted, so that other spellings are not tried.
        let found = self.run(&format!("search '\"{word}\"' -o json"));
        assert!(matches!(found.code, Some(0 | 2 | 3)), "{:?}: {}", found.code, found.stderr);
        !found.records()[0]["results"].as_array().unwrap().is_empty()
    }
}

fn session(n: usize) -> Session {
    let id = format!("{n:08x}-0000-4000-8000-000000000000");
    let mut session = Session::new(&id, ALPHA, "2026-03-02T09:00:00Z");
    session.prompt(&format!("first {}", needle(n))).reply(&["done"]);
    session
}

/// A line with a word that occurs nowhere else, as the agent would append it.
fn append_prompt(path: &Path, session: &mut Session, word: &str) {
    let before = session.lines.len();
    session.prompt(&format!("later {word}"));
    for line in &session.lines[before..] {
        append(path, format!("{line}\n").as_bytes());
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn home_with_sessions(count: usize) -> (OwnedHome, Vec<(PathBuf, Session)>) {
    let home = Home::new();
    let sessions = (0..count).map(|n| (home.add(&session(n)), session(n))).collect();
    (OwnedHome::new(home), sessions)
}

#[test]
fn an_unreadable_transcript_keeps_its_content_and_is_read_again() {
    let (owned, mut sessions) = home_with_sessions(3);
    let events = owned.index(0)["events"].clone();
    let (path, session) = &mut sessions[1];
    append_prompt(path, session, "quokkabird");
    set_mode(path, 0o000);
    let denied = owned.index(3);
    assert_eq!((&denied["problems"], &denied["events"]), (&1.into(), &events), "{denied}");
    assert!(owned.finds(&needle(1)), "what was indexed is lost");
    let problems = owned.run("sources --problems").expect(3).records();
    assert_eq!(problems[0]["problem"], "unreadable", "{problems:?}");
    let findings = owned.run("doctor -o json").records().remove(0).to_string();
    assert!(findings.contains("cannot be read"), "{findings}");
    set_mode(path, 0o644);
    assert_eq!(owned.index(0)["problems"], 0);
    assert!(owned.finds("quokkabird") && owned.finds(&needle(1)));
}

#[test]
fn a_new_unreadable_transcript_is_reported_by_every_update_until_it_is_read() {
    let (owned, sessions) = home_with_sessions(2);
    set_mode(&sessions[0].0, 0o000);
    for _ in 0..2 {
        assert_eq!(owned.index(3)["problems"], 1);
    }
    assert!(!owned.finds(&needle(0)) && owned.finds(&needle(1)));
    set_mode(&sessions[0].0, 0o644);
    assert!(owned.finds(&needle(0)), "a search does not notice that it can be read again");
}

#[test]
fn an_unreadable_folder_does_not_count_as_deleted() {
    let (owned, sessions) = home_with_sessions(2);
    let events = owned.index(0)["events"].clone();
    let folder = sessions[0].0.parent().unwrap();
    // Without the archive there is no other copy that could answer.
    fs::remove_dir_all(owned.home.path().join(".local/share/loci/archive")).unwrap();
    set_mode(folder, 0o000);
    let denied = owned.index(3);
    assert_eq!((&denied["events"], &denied["gone"]), (&events, &0.into()), "{denied}");
    set_mode(folder, 0o755);
    assert_eq!(owned.index(0)["events"], events);
    assert!(owned.finds(&needle(0)) && owned.finds(&needle(1)));
}

#[test]
fn too_few_file_descriptors_lose_nothing() {
    let (owned, _) = home_with_sessions(60);
    // Too few to start, enough for the stores but not for every transcript, enough.
    for limit in [16, 20, 24, 26, 28, 30, 32, 36] {
        let loci = owned.command("index -o json");
        let mut limited = Command::new("sh");
        limited.args(["-c", &format!("ulimit -n {limit}; exec \"$@\""), "sh"]);
        limited.arg(loci.get_program()).args(loci.get_args());
        limited.envs(loci.get_envs().filter_map(|(name, value)| Some((name, value?))));
        run_command(limited);
    }
    assert_eq!(owned.index(0)["problems"], 0);
    for n in 0..60 {
        assert!(owned.finds(&needle(n)), "{n}");
    }
}

#[test]
fn a_rewrite_in_place_with_equal_size_and_time_is_noticed() {
    let (owned, sessions) = home_with_sessions(1);
    owned.index(0);
    let path = &sessions[0].0;
    let before = fs::metadata(path).unwrap();
    let (old, new) = (needle(0), needle(9));
    assert_eq!(old.len(), new.len());
    let text = fs::read_to_string(path).unwrap().replace(&old, &new);
    let times = fs::FileTimes::new().set_modified(before.modified().unwrap());
    fs::write(path, text).unwrap();
    fs::File::options().write(true).open(path).unwrap().set_times(times).unwrap();
    let after = fs::metadata(path).unwrap();
    assert_eq!(
        (before.ino(), before.len(), before.mtime_nsec()),
        (after.ino(), after.len(), after.mtime_nsec())
    );
    assert!(owned.finds(&new) && !owned.finds(&old));
}
