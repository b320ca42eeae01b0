//! A full disk and one that cannot be written to. What was kept stays intact, what is asked is still answered, an
//! error says what to do, and once there is room again the next run completes.
//!
//! The small disks are made in a mount namespace of their own, which not every machine allows: those tests are ignored by default.

use crate::history::History;
use crate::instance::{Instance, VIEWS, answers, assert_same};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use testutil::needs::{self, OtherUser};
use testutil::{binary, can_run, run_command};

/// Runs a script of `sh` where `$LOCI` is the binary, `$HOME` the histories, `$BOX` an empty folder to mount on, and
/// `keep NAME COMMAND…` leaves what a command printed and how it ended.
fn script(home: &Path, text: &str) -> (TempDir, impl Fn(&str) -> (i32, String, String) + use<>) {
    let out = TempDir::new().unwrap();
    fs::create_dir(out.path().join("box")).unwrap();
    let mut command = Command::new("unshare");
    let keep = "keep() { name=$1; shift; code=0; \"$@\" >$OUT/$name.out 2>$OUT/$name.err || code=$?; echo $code >$OUT/$name.code; }\n";
    command.args(["-Urm", "sh", "-c", &format!("set -e\n{keep}{text}")]);
    testutil::set_environment(&mut command, home);
    command.env("LOCI", binary()).env("OUT", out.path()).env("BOX", out.path().join("box"));
    command.env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin");
    let ran = run_command(command);
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
    needs::mount_namespace();
    let history = wordy();
    let word = history.needles[0].clone();
    let line = "query messages --all-projects --fields id,text";
    let expected = Instance::new(history.home.path()).run(line).text().to_string();
    let listing = "sessions -o json --limit 1000";
    let fresh = Instance::new(history.home.path());
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
#[ignore = "needs namespaces: see CONTRIBUTING.md"]
fn a_full_disk_is_told_and_got_over() {
    runs_out_of_room("mount -t tmpfs -o size=24m tmpfs $BOX; mkdir -p $BOX/data $BOX/cache; FULL=$BOX");
}

#[test]
#[ignore = "needs namespaces: see CONTRIBUTING.md"]
fn a_full_cache_is_told_and_got_over() {
    runs_out_of_room("mount -t tmpfs -o size=24m tmpfs $BOX/cache; FULL=$BOX/cache");
}

#[test]
#[ignore = "needs namespaces: see CONTRIBUTING.md"]
fn a_full_archive_is_told_and_got_over() {
    runs_out_of_room("mount -t tmpfs -o size=8m tmpfs $BOX/data; FULL=$BOX/data");
}

/// What each question gives where nothing can be written.
fn read_only(home: &Path, instance: &Instance, word: &str) {
    let (data, cache) = (instance.data.display(), instance.cache.display());
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
    if instance.catalogue().exists() {
        assert!(code == 0 && text.contains("chatId"), "{code} {text} {complaint}");
    } else {
        assert!(code == 1 && complaint.contains("XDG_DATA_HOME"), "{code} {text} {complaint}");
    }
    let (code, _, complaint) = told("index");
    assert!(code == 1 && complaint.contains("Read-only"), "{code} {complaint}");
    assert!(complaint.contains("XDG_CACHE_HOME"), "it says what to do: {complaint}");
}

#[test]
#[ignore = "needs namespaces: see CONTRIBUTING.md"]
fn an_index_on_a_disk_that_is_read_only_is_searched() {
    needs::mount_namespace();
    let mut history = History::new(12);
    let instance = Instance::new(history.home.path());
    instance.index();
    read_only(history.home.path(), &instance, &history.needles[3].clone());
    // What was said since is found as well, though nothing can be written down.
    let word = history.grow(2);
    read_only(history.home.path(), &instance, &word);
}

#[test]
#[ignore = "needs namespaces: see CONTRIBUTING.md"]
fn without_an_index_a_small_history_is_searched_where_nothing_can_be_written() {
    needs::mount_namespace();
    let history = History::new(12);
    let instance = Instance::new(history.home.path());
    for word in history.needles.iter().step_by(7) {
        read_only(history.home.path(), &instance, word);
    }
}

/// Directories that their owner has closed: mode 0555 stops everybody but root, who borrows another name.
#[test]
fn an_index_in_closed_directories_is_searched() {
    let other = needs::is_root().then(OtherUser::new);
    let history = History::new(6);
    let instance = Instance::new(history.home.path());
    instance.index();
    let roots = [history.home.path(), instance.data.parent().unwrap()];
    if other.is_some() {
        for root in roots {
            assert!(can_run("chown", &["-R", "65534:65534", root.to_str().unwrap()]));
        }
    }
    let mode = |mode: &str| {
        let folders = ["-R", mode, instance.data.to_str().unwrap(), instance.cache.to_str().unwrap()];
        assert!(can_run("chmod", &folders));
    };
    mode("a-w");
    let word = &history.needles[0];
    for (line, code) in [(format!("search {word} -o json"), 0), ("index -o json".to_string(), 1)] {
        let words = testutil::split_words(&line);
        let plain = instance.command(&words.iter().map(String::as_str).collect::<Vec<_>>());
        let mut command = match &other {
            Some(other) => other.program(other.binary()),
            None => Command::new(plain.get_program()),
        };
        command.args(plain.get_args()).env_clear().current_dir("/");
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let ran = run_command(command);
        mode("u+w");
        let ran = ran.expect(code);
        mode("a-w");
        assert!(code == 1 || ran.text().contains(word.as_str()), "{line}");
        assert!(code == 0 || ran.stderr.contains("XDG_DATA_HOME"), "{line}: {}", ran.stderr);
    }
    mode("u+w");
    let now = answers(&instance, &VIEWS[..3], std::slice::from_ref(word));
    let fresh = Instance::new(history.home.path());
    assert_same("after being closed", &now, &answers(&fresh, &VIEWS[..3], std::slice::from_ref(word)));
}
