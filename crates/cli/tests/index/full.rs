//! A full disk and one that cannot be written to. What was kept stays intact, what is asked is still answered, an
//! error says what to do, and once there is room again the next run completes.
//!
//! The small disks are made in a mount namespace of their own; where that is not allowed the tests say so and skip.

use crate::desk::{Desk, VIEWS, answers, assert_same};
use crate::history::History;
use crate::run::{EXE, can, ended, is_root};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

fn has_namespaces() -> bool {
    let may = can("unshare", &["-Urm", "sh", "-c", "mount -t tmpfs -o size=1m tmpfs /mnt"]);
    if !may {
        println!("skipped: this machine does not allow mount namespaces");
    }
    may
}

/// Runs a script of `sh` where `$LOCI` is the binary, `$HOME` the histories, `$BOX` an empty folder to mount on, and
/// `keep NAME COMMAND…` leaves what a command printed and how it ended.
fn script(home: &Path, text: &str) -> (TempDir, impl Fn(&str) -> (i32, String, String) + use<>) {
    let out = TempDir::new().unwrap();
    fs::create_dir(out.path().join("box")).unwrap();
    let mut command = Command::new("unshare");
    let keep = "keep() { name=$1; shift; code=0; \"$@\" >$OUT/$name.out 2>$OUT/$name.err || code=$?; echo $code >$OUT/$name.code; }\n";
    command.args(["-Urm", "sh", "-c", &format!("set -e\n{keep}{text}")]);
    crate::run::dress(&mut command, home);
    command.env("LOCI", EXE).env("OUT", out.path()).env("BOX", out.path().join("box"));
    command.env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin");
    let ran = ended(command);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let root: PathBuf = out.path().to_path_buf();
    let told = move |name: &str| {
        let read = |ending: &str| fs::read_to_string(root.join(format!("{name}.{ending}"))).unwrap();
        (read("code").trim().parse().unwrap(), read("out"), read("err"))
    };
    (out, told)
}

/// Enough text that catalogue, index and archive together need a few megabytes.
fn wordy() -> History {
    let mut history = History::new(30);
    let mut dice = crate::history::Dice(11);
    for n in 0..history.growing.len() {
        let words: Vec<String> = (0..900).map(|_| crate::history::needle(dice.below(10_000))).collect();
        history.growing[n].session.prompt(&words.join(" "));
        history.growing[n].flush();
    }
    history
}

/// Room that is left, in kilobytes: each lets the run come a little further.
const ROOM: &[u32] = &[0, 40, 120, 250, 500, 800, 1200, 1800];

fn runs_out_of_room(mounts: &str) {
    if !has_namespaces() {
        return;
    }
    let history = wordy();
    let word = history.needles[0].clone();
    let line = "query messages --all-projects --fields id,text";
    let expected = Desk::new(history.home.path()).run(line).text().to_string();
    let listing = "sessions -o json --limit 1000";
    let fresh = Desk::new(history.home.path());
    fresh.index();
    let sessions = fresh.run(listing).expect(0).records()[0]["sessions"].clone();
    let mut failed = 0;
    for room in ROOM {
        let (_out, told) = script(
            history.home.path(),
            &format!(
                "mkdir -p $BOX/data $BOX/cache
                {mounts}
                export XDG_DATA_HOME=$BOX/data XDG_CACHE_HOME=$BOX/cache
                full=$(df -k --output=avail $FULL | tail -1)
                head -c $(( (full - {room}) * 1024 )) /dev/zero >$FULL/ballast
                keep first $LOCI index -o json
                keep view $LOCI {line}
                keep found $LOCI search {word} -o json
                rm $FULL/ballast
                keep second $LOCI index -o json
                keep after $LOCI {listing}
                keep again $LOCI search {word} -o json
                keep viewed $LOCI {line}"
            ),
        );
        let (code, _, complaint) = told("first");
        assert!(!complaint.contains("panicked"), "{room} kB: {complaint}");
        if code != 0 {
            failed += 1;
            assert_eq!(code, 1, "{room} kB: {complaint}");
            assert!(complaint.contains("no space left"), "{room} kB: {complaint}");
            assert!(complaint.contains("free some space"), "{room} kB: {complaint}");
        }
        let (code, text, complaint) = told("view");
        assert!(matches!(code, 0 | 3) && text == expected, "{room} kB: {code} {complaint}");
        let (code, text, complaint) = told("found");
        assert!(code == 0 && text.contains(&word), "{room} kB: {code} {text} {complaint}");
        let (code, _, complaint) = told("second");
        assert_eq!(code, 0, "{room} kB, with room again: {complaint}");
        let (_, text, _) = told("after");
        let now: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(now["sessions"], sessions, "{room} kB");
        let (code, text, _) = told("again");
        assert!(code == 0 && text.contains(&word), "{room} kB: {text}");
        assert_eq!(told("viewed").1, expected, "{room} kB");
    }
    assert!(failed >= 3, "only {failed} of {} runs met the full disk", ROOM.len());
}

#[test]
fn a_full_disk_is_told_and_got_over() {
    runs_out_of_room("mount -t tmpfs -o size=24m tmpfs $BOX; mkdir -p $BOX/data $BOX/cache; FULL=$BOX");
}

#[test]
fn a_full_cache_is_told_and_got_over() {
    runs_out_of_room("mount -t tmpfs -o size=24m tmpfs $BOX/cache; FULL=$BOX/cache");
}

#[test]
fn a_full_archive_is_told_and_got_over() {
    runs_out_of_room("mount -t tmpfs -o size=8m tmpfs $BOX/data; FULL=$BOX/data");
}

/// What each question gives where nothing can be written.
fn read_only(home: &Path, desk: &Desk, word: &str) {
    let (data, cache) = (desk.data.display(), desk.cache.display());
    let (_out, told) = script(
        home,
        &format!(
            "mount --bind {data} {data}; mount -o remount,ro,bind {data}
            mount --bind {cache} {cache}; mount -o remount,ro,bind {cache}
            export XDG_DATA_HOME={data} XDG_CACHE_HOME={cache}
            keep found $LOCI search {word} -o json
            keep view $LOCI query messages --all-projects
            keep listed $LOCI sessions -o json
            keep index $LOCI index -o json"
        ),
    );
    let (code, text, complaint) = told("found");
    assert!(code == 0 && text.contains(word), "{code} {text} {complaint}");
    assert!(matches!(told("view").0, 0 | 3), "{}", told("view").2);
    let (code, text, complaint) = told("listed");
    if desk.catalogue().exists() {
        assert!(code == 0 && text.contains("chatId"), "{code} {text} {complaint}");
    } else {
        assert!(code == 1 && complaint.contains("XDG_DATA_HOME"), "{code} {text} {complaint}");
    }
    let (code, _, complaint) = told("index");
    assert!(code == 1 && complaint.contains("Read-only"), "{code} {complaint}");
    assert!(complaint.contains("XDG_CACHE_HOME"), "it says what to do: {complaint}");
}

#[test]
fn an_index_on_a_disk_that_is_read_only_is_searched() {
    if !has_namespaces() {
        return;
    }
    let mut history = History::new(12);
    let desk = Desk::new(history.home.path());
    desk.index();
    read_only(history.home.path(), &desk, &history.needles[3].clone());
    // What was said since is found as well, though nothing can be written down.
    let word = history.grow(2);
    read_only(history.home.path(), &desk, &word);
}

#[test]
fn without_an_index_a_small_history_is_searched_where_nothing_can_be_written() {
    if !has_namespaces() {
        return;
    }
    let history = History::new(12);
    let desk = Desk::new(history.home.path());
    for word in history.needles.iter().step_by(7) {
        read_only(history.home.path(), &desk, word);
    }
}

/// Directories that their owner has closed: mode 0555 stops everybody but root, who borrows another name.
#[test]
fn an_index_in_closed_directories_is_searched() {
    let borrowed = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    if is_root() && !can("setpriv", &[&borrowed[..], &["true"]].concat()) {
        println!("skipped: root, and no setpriv to be somebody else");
        return;
    }
    let history = History::new(6);
    let desk = Desk::new(history.home.path());
    desk.index();
    let roots = [history.home.path(), desk.data.parent().unwrap()];
    if is_root() {
        for root in roots {
            assert!(can("chown", &["-R", "65534:65534", root.to_str().unwrap()]));
        }
    }
    let mode = |mode: &str| {
        let folders = ["-R", mode, desk.data.to_str().unwrap(), desk.cache.to_str().unwrap()];
        assert!(can("chmod", &folders));
    };
    mode("a-w");
    let word = &history.needles[0];
    for (line, code) in [(format!("search {word} -o json"), 0), ("index -o json".to_string(), 1)] {
        let words = crate::run::words(&line);
        let plain = desk.command(&words.iter().map(String::as_str).collect::<Vec<_>>());
        let mut command = if is_root() { Command::new("setpriv") } else { Command::new(plain.get_program()) };
        if is_root() {
            command.args(borrowed).arg(plain.get_program());
        }
        command.args(plain.get_args()).env_clear().current_dir("/");
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let ran = ended(command);
        mode("u+w");
        let ran = ran.expect(code);
        mode("a-w");
        assert!(code == 1 || ran.text().contains(word.as_str()), "{line}");
        assert!(code == 0 || ran.stderr.contains("XDG_DATA_HOME"), "{line}: {}", ran.stderr);
    }
    mode("u+w");
    let now = answers(&desk, &VIEWS[..3], std::slice::from_ref(word));
    let fresh = Desk::new(history.home.path());
    assert_same("after being closed", &now, &answers(&fresh, &VIEWS[..3], std::slice::from_ref(word)));
}
