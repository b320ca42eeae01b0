//! Full and read-only disks. Stored data stays intact, queries still work, an error says what to do, and the next run
//! completes once there is space again.
//!
//! The small disks need a mount namespace, which not every machine allows: those tests are ignored by default.

use crate::history::History;
use crate::instance::{Instance, VIEWS, assert_same, collect_responses};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use testutil::needs::{self, OtherUser};
use testutil::{binary, can_run, run_command};

/// Runs an `sh` script in which `$LOCI` is the binary, `$HOME` the home with the transcripts, `$BOX` an empty folder to
/// mount on, and `keep NAME COMMAND…` saves a command's exit code and output. Returns a function that reads the exit
/// code, stdout and stderr saved under a name.
fn run_script(home: &Path, text: &str) -> (TempDir, impl Fn(&str) -> (i32, String, String) + use<>) {
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
    let result_of = move |name: &str| {
        let read = |ending: &str| fs::read_to_string(root.join(format!("{name}.{ending}"))).unwrap();
        (read("code").trim().parse().unwrap(), read("out"), read("err"))
    };
    (out, result_of)
}

/// A history whose catalogue, index and archive together need a few megabytes.
fn wordy_history() -> History {
    let mut history = History::new(30);
    let mut rng = crate::history::Rng(11);
    for n in 0..history.growing.len() {
        let words: Vec<String> = (0..900).map(|_| crate::history::needle(rng.below(10_000))).collect();
        history.growing[n].session.prompt(&words.join(" "));
        history.growing[n].flush();
    }
    history
}

/// Free space in kilobytes: each value lets the run get a little further.
const FREE_SPACE_KB: &[u32] = &[0, 40, 120, 250, 500, 800, 1200, 1800];

fn assert_recovers_from_full_disk(mounts: &str) {
    needs::mount_namespace();
    let history = wordy_history();
    let word = history.needles[0].clone();
    let line = "query messages --all-projects --fields id,text";
    let expected = Instance::new(history.home.path()).run(line).text().to_string();
    let listing = "sessions -o json --limit 1000";
    let fresh = Instance::new(history.home.path());
    fresh.index();
    let sessions = fresh.run(listing).expect(0).records()[0]["sessions"].clone();
    let mut failed = 0;
    for free_kb in FREE_SPACE_KB {
        let (_out, result_of) = run_script(
            history.home.path(),
            &format!(
                "mkdir -p $BOX/data $BOX/cache
                {mounts}
                export XDG_DATA_HOME=$BOX/data XDG_CACHE_HOME=$BOX/cache
                full=$(df -k --output=avail $FULL | tail -1)
                head -c $(( (full - {free_kb}) * 1024 )) /dev/zero >$FULL/ballast
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
        let (code, _, stderr) = result_of("first");
        assert!(!stderr.contains("panicked"), "{free_kb} kB: {stderr}");
        if code != 0 {
            failed += 1;
            assert_eq!(code, 1, "{free_kb} kB: {stderr}");
            assert!(stderr.contains("no space left"), "{free_kb} kB: {stderr}");
            assert!(stderr.contains("free some space"), "{free_kb} kB: {stderr}");
        }
        let (code, text, stderr) = result_of("view");
        assert!(matches!(code, 0 | 3) && text == expected, "{free_kb} kB: {code} {stderr}");
        let (code, text, stderr) = result_of("found");
        assert!(code == 0 && text.contains(&word), "{free_kb} kB: {code} {text} {stderr}");
        let (code, _, stderr) = result_of("second");
        assert_eq!(code, 0, "{free_kb} kB, with space again: {stderr}");
        let (_, text, _) = result_of("after");
        let now: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(now["sessions"], sessions, "{free_kb} kB");
        let (code, text, _) = result_of("again");
        assert!(code == 0 && text.contains(&word), "{free_kb} kB: {text}");
        assert_eq!(result_of("viewed").1, expected, "{free_kb} kB");
    }
    assert!(failed >= 3, "only {failed} of {} runs hit the full disk", FREE_SPACE_KB.len());
}

#[test]
#[ignore = "needs namespaces: see CONTRIBUTING.md"]
fn a_full_disk_is_reported_and_recovered_from() {
    assert_recovers_from_full_disk(
        "mount -t tmpfs -o size=24m tmpfs $BOX; mkdir -p $BOX/data $BOX/cache; FULL=$BOX",
    );
}

#[test]
#[ignore = "needs namespaces: see CONTRIBUTING.md"]
fn a_full_cache_disk_is_reported_and_recovered_from() {
    assert_recovers_from_full_disk("mount -t tmpfs -o size=24m tmpfs $BOX/cache; FULL=$BOX/cache");
}

#[test]
#[ignore = "needs namespaces: see CONTRIBUTING.md"]
fn a_full_archive_disk_is_reported_and_recovered_from() {
    assert_recovers_from_full_disk("mount -t tmpfs -o size=8m tmpfs $BOX/data; FULL=$BOX/data");
}

/// Checks each command with read-only data and cache directories.
fn assert_works_read_only(home: &Path, instance: &Instance, word: &str) {
    let (data, cache) = (instance.data.display(), instance.cache.display());
    let (_out, result_of) = run_script(
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
    let (code, text, stderr) = result_of("found");
    assert!(code == 0 && text.contains(word), "{code} {text} {stderr}");
    assert!(matches!(result_of("view").0, 0 | 3), "{}", result_of("view").2);
    let (code, text, stderr) = result_of("listed");
    if instance.catalogue().exists() {
        assert!(code == 0 && text.contains("chatId"), "{code} {text} {stderr}");
    } else {
        assert!(code == 1 && stderr.contains("XDG_DATA_HOME"), "{code} {text} {stderr}");
    }
    let (code, _, stderr) = result_of("index");
    assert!(code == 1 && stderr.contains("Read-only"), "{code} {stderr}");
    assert!(stderr.contains("XDG_CACHE_HOME"), "the error gives no hint: {stderr}");
}

#[test]
#[ignore = "needs namespaces: see CONTRIBUTING.md"]
fn an_index_on_a_read_only_disk_is_searched() {
    needs::mount_namespace();
    let mut history = History::new(12);
    let instance = Instance::new(history.home.path());
    instance.index();
    assert_works_read_only(history.home.path(), &instance, &history.needles[3].clone());
    // Messages added since then are found as well, although nothing can be written.
    let word = history.grow_session(2);
    assert_works_read_only(history.home.path(), &instance, &word);
}

#[test]
#[ignore = "needs namespaces: see CONTRIBUTING.md"]
fn a_small_history_is_searched_without_an_index_on_a_read_only_disk() {
    needs::mount_namespace();
    let history = History::new(12);
    let instance = Instance::new(history.home.path());
    for word in history.needles.iter().step_by(7) {
        assert_works_read_only(history.home.path(), &instance, word);
    }
}

/// Data and cache directories without write permission. File modes do not apply to root, who runs as another user.
#[test]
fn an_index_in_unwritable_directories_is_searched() {
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
    let change_mode = |mode: &str| {
        let args = ["-R", mode, instance.data.to_str().unwrap(), instance.cache.to_str().unwrap()];
        assert!(can_run("chmod", &args));
    };
    change_mode("a-w");
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
        change_mode("u+w");
        let ran = ran.expect(code);
        change_mode("a-w");
        assert!(code == 1 || ran.text().contains(word.as_str()), "{line}");
        assert!(code == 0 || ran.stderr.contains("XDG_DATA_HOME"), "{line}: {}", ran.stderr);
    }
    change_mode("u+w");
    let now = collect_responses(&instance, &VIEWS[..3], std::slice::from_ref(word));
    let fresh = Instance::new(history.home.path());
    assert_same(
        "after being unwritable",
        &now,
        &collect_responses(&fresh, &VIEWS[..3], std::slice::from_ref(word)),
    );
}
