//! Every way in which a transcript can change after it was indexed. After each change a search finds the current
//! content and nothing else, without a run of `loci index`; and the updated index gives the same responses as one built
//! from scratch.

use crate::history::{History, append, needle};
use crate::instance::{Instance, assert_same, collect_responses, run_view};
use serde_json::json;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use testutil::{ALPHA, Home, Rollout, Session, run_loci};

const VIEWS: &[&str] = &[
    "query messages --all-projects",
    "query tools --all-projects",
    "query sessions --all-projects",
    "stats --all-projects --by session",
];

/// The unique word of the transcript's prompt `n`.
fn old_word(n: usize) -> String {
    needle(1000 + n)
}

/// A word that is not in the transcript before the change.
fn new_word() -> String {
    needle(7777)
}

struct Change {
    name: &'static str,
    /// Applies the change to the file, given its text and a line with the new word.
    apply: fn(&Path, &str, &str),
    /// The old words that are gone; the others are still found.
    lost: &'static [usize],
    /// Whether the change adds the new word.
    adds: bool,
    /// The agent's file no longer exists under its name: its content comes from the archive.
    from_archive: bool,
}

fn first_lines(text: &str, count: usize) -> String {
    text.lines().take(count).map(|line| format!("{line}\n")).collect()
}

/// Overwrites the file in place (same inode).
fn overwrite(path: &Path, bytes: &[u8]) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(bytes, 0).unwrap();
    file.set_len(bytes.len() as u64).unwrap();
}

/// Renames another file over this one (new inode).
fn replace(path: &Path, bytes: &[u8]) {
    let replacement = path.with_extension("beside");
    File::create(&replacement).unwrap().write_all(bytes).unwrap();
    fs::rename(&replacement, path).unwrap();
}

const CHANGES: &[Change] = &[
    Change {
        name: "appended",
        apply: |path, _, more| append(path, more.as_bytes()),
        lost: &[],
        adds: true,
        from_archive: false,
    },
    Change {
        name: "truncated",
        apply: |path, text, _| overwrite(path, first_lines(text, 8).as_bytes()),
        lost: &[3, 4, 5],
        adds: false,
        from_archive: false,
    },
    Change {
        name: "truncated in the middle of a line",
        apply: |path, text, _| overwrite(path, &text.as_bytes()[..first_lines(text, 10).len() + 40]),
        lost: &[4, 5],
        adds: false,
        from_archive: false,
    },
    Change {
        name: "truncated, then grown past its old size",
        apply: |path, text, more| {
            overwrite(path, first_lines(text, 8).as_bytes());
            let filler = more.replace(&new_word(), &format!("{} {}", new_word(), "filler ".repeat(3000)));
            append(path, filler.as_bytes());
        },
        lost: &[3, 4, 5],
        adds: true,
        from_archive: false,
    },
    Change {
        name: "rewritten in place with the same length",
        apply: |path, text, _| overwrite(path, text.replace(&old_word(5), &new_word()).as_bytes()),
        lost: &[5],
        adds: true,
        from_archive: false,
    },
    Change {
        name: "replaced by identical content",
        apply: |path, text, _| replace(path, text.as_bytes()),
        lost: &[],
        adds: false,
        from_archive: false,
    },
    Change {
        name: "replaced by other content",
        apply: |path, text, more| {
            replace(path, format!("{}{more}", text.replace(&old_word(1), "nothing")).as_bytes())
        },
        lost: &[1],
        adds: true,
        from_archive: false,
    },
    Change {
        name: "renamed",
        apply: |path, _, _| {
            fs::rename(path, path.with_file_name("abababab-0000-4000-8000-000000000000.jsonl")).unwrap();
        },
        lost: &[],
        adds: false,
        from_archive: true,
    },
    Change {
        name: "deleted",
        apply: |path, _, _| fs::remove_file(path).unwrap(),
        lost: &[],
        adds: false,
        from_archive: true,
    },
    Change {
        name: "deleted and recreated",
        apply: |path, text, more| {
            fs::remove_file(path).unwrap();
            fs::write(path, format!("{}{more}", first_lines(text, 4))).unwrap();
        },
        lost: &[1, 2, 3, 4, 5],
        adds: true,
        from_archive: false,
    },
    Change {
        name: "touched",
        apply: |path, _, _| {
            let now = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_900_000_000);
            File::options().write(true).open(path).unwrap().set_modified(now).unwrap();
        },
        lost: &[],
        adds: false,
        from_archive: false,
    },
    Change {
        name: "edited at the start and appended to",
        apply: |path, text, more| {
            overwrite(path, format!("{}{more}", text.replace(&old_word(0), &needle(5555))).as_bytes());
        },
        lost: &[0],
        adds: true,
        from_archive: false,
    },
    Change {
        name: "emptied",
        apply: |path, _, _| overwrite(path, b""),
        lost: &[0, 1, 2, 3, 4, 5],
        adds: false,
        from_archive: false,
    },
];

/// A home with a session of six prompts, which a test changes, and with sessions that stay the same.
fn changing_home() -> (Home, Session) {
    let home = Home::new();
    let mut session = Session::new("aaaa1111-0000-4000-8000-000000000001", ALPHA, "2026-03-01T10:00:00Z");
    // The first prompt is the title, which copies share.
    session.prompt("To begin with").reply(&["Yes."]);
    for n in 0..6 {
        session.prompt(&format!("Prompt {n} asks for {}", old_word(n))).reply(&["Yes."]);
    }
    home.add(&session);
    let mut other = Session::new("aaaa2222-0000-4000-8000-000000000002", ALPHA, "2026-03-02T10:00:00Z");
    other.prompt("Bystander").did(
        "Read",
        json!({"file_path": "/srv/demo/alpha/src/main.rs"}),
        "fn main() {}",
    );
    home.add(&other);
    let mut codex = Rollout::new("cccc1111-0000-4000-8000-000000000004", ALPHA, "2026-03-04T09:00:00Z");
    codex.prompt("Codex, list the files").did("call_1", "ls", 0).reply("Listed.");
    home.add_codex(&codex);
    (home, session)
}

#[track_caller]
fn assert_finds(instance: &Instance, change: &Change, label: &str) {
    for n in 0..6 {
        let expected = usize::from(!change.lost.contains(&n));
        assert_eq!(
            instance.search_ids(&old_word(n)).len(),
            expected,
            "{}, {label}: old word {n}",
            change.name
        );
    }
    assert_eq!(
        instance.search_ids(&new_word()).len(),
        usize::from(change.adds),
        "{}, {label}: new word",
        change.name
    );
}

#[test]
fn every_change_is_found_and_the_updated_index_equals_a_fresh_one() {
    for change in CHANGES {
        let (home, mut session) = changing_home();
        let instance = Instance::new(home.path());
        instance.index();
        let text = session.text();
        session.prompt(&format!("At last {}", new_word()));
        let more = format!("{}\n", session.lines.last().unwrap());
        (change.apply)(&home.transcript_path(&session), &text, &more);

        let run_views =
            |instance: &Instance| VIEWS.iter().map(|line| run_view(instance, line)).collect::<Vec<_>>();
        assert_same(change.name, &run_views(&instance), &run_views(&instance.with_empty_cache()));
        // Searches a duplicate: what the search writes must not help the index run below.
        assert_finds(&instance.duplicate(), change, "without index");
        // Of 14 entries, one is less than a tenth.
        let index = if change.lost.len() > 1 { Instance::index_shortened } else { Instance::index };
        index(&instance);
        assert_finds(&instance, change, "indexed");
        let fresh =
            if change.from_archive { instance.with_empty_cache() } else { Instance::new(home.path()) };
        fresh.index();
        let searches: Vec<String> =
            (0..6).map(old_word).chain([new_word(), "prompt".into(), "bystander".into()]).collect();
        assert_same(
            change.name,
            &collect_responses(&instance, VIEWS, &searches),
            &collect_responses(&fresh, VIEWS, &searches),
        );
        assert_eq!(instance.index()["changed"], 0, "{}: a second index run has nothing to do", change.name);
    }
}

/// R13: a line that an agent is still writing is not found until it is complete.
#[test]
fn a_half_written_line_is_not_found_until_it_is_complete() {
    let (home, mut session) = changing_home();
    let instance = Instance::new(home.path());
    instance.index();
    session.prompt(&format!("At last {}", new_word()));
    let more = format!("{}\n", session.lines.last().unwrap());
    let path = home.transcript_path(&session);
    for (from, to) in [(0, 1), (1, more.len() / 2), (more.len() / 2, more.len() - 2)] {
        append(&path, &more.as_bytes()[from..to]);
        assert!(instance.search_ids(&new_word()).is_empty(), "{to} of {} bytes", more.len());
        assert_eq!(instance.search_ids(&old_word(5)).len(), 1);
        instance.index();
        assert!(instance.search_ids(&new_word()).is_empty(), "{to} of {} bytes, indexed", more.len());
    }
    append(&path, &more.as_bytes()[more.len() - 2..]);
    assert_eq!(instance.search_ids(&new_word()).len(), 1);
    instance.index();
    let fresh = Instance::new(home.path());
    fresh.index();
    let searches = [new_word(), old_word(0), old_word(5)];
    assert_same(
        "completed",
        &collect_responses(&instance, VIEWS, &searches),
        &collect_responses(&fresh, VIEWS, &searches),
    );
}

/// Two transcripts contain the same events; the original is rewritten without them, or deleted with its archived copy.
#[test]
fn a_fork_is_found_when_its_original_loses_the_shared_events() {
    for archived in [true, false] {
        let (home, session) = changing_home();
        let mut fork = session.clone();
        fork.id = "aaaa3333-0000-4000-8000-000000000003".to_string();
        let id = |id: &str| format!("\"sessionId\":\"{id}\"");
        fork.lines = session.lines.iter().map(|l| l.replace(&id(&session.id), &id(&fork.id))).collect();
        fork.prompt("The fork goes on");
        home.add(&fork);
        let instance = Instance::new(home.path());
        instance.index();
        assert_eq!(
            instance.search_ids(&old_word(4)),
            [session.id.as_str()],
            "returned once, from the original"
        );

        let path = home.transcript_path(&session);
        if archived {
            fs::write(&path, first_lines(&session.text(), 6)).unwrap();
        } else {
            // Neither the agent's file nor the archived copy is left.
            fs::remove_file(&path).unwrap();
            let others = Instance::new(home.path());
            others.index();
            let others = others.archived_copies();
            for name in instance.archived_copies().iter().filter(|name| !others.contains(name)) {
                instance.remove_small_copy(name);
            }
            assert_eq!(instance.archived_copies().len(), 3);
        }
        if archived {
            assert_eq!(instance.duplicate().search_ids(&old_word(4)), [fork.id.as_str()], "without index");
        }
        if archived {
            instance.index_shortened()
        } else {
            let done = instance.run("index -o json").expect(3).records().remove(0);
            instance.dismiss("lost-copy");
            done
        };
        assert_eq!(instance.search_ids(&old_word(4)), [fork.id.as_str()], "archived {archived}, indexed");
        let fresh = Instance::new(home.path());
        fresh.index();
        let searches: Vec<String> = (0..6).map(old_word).collect();
        assert_same(
            "only the fork is left",
            &collect_responses(&instance, VIEWS, &searches),
            &collect_responses(&fresh, VIEWS, &searches),
        );
    }
}

/// Copies a home, with everything Loci stores in it, to another path.
fn relocate_home(from: &Home) -> Home {
    let to = Home::new();
    let (source, target) = (from.path().join("."), to.path());
    assert!(std::process::Command::new("cp").arg("-a").arg(source).arg(target).status().unwrap().success());
    to
}

#[test]
fn a_moved_home_lists_everything_once() {
    let home = testutil::sample_home();
    let run = |home: &Home, line: &[&str]| run_loci(home, line).records();
    let count = |home: &Home| {
        let archived = run(home, &["archive"]);
        let listed = run(home, &["sessions", "--limit", "100"]);
        (archived[0]["files"].clone(), listed[0]["sessions"].as_array().unwrap().len())
    };
    run_loci(&home, &["index"]);
    let before = count(&home);
    let home = relocate_home(&home);
    assert_eq!(run(&home, &["index"]).len(), 1);
    assert_eq!(count(&home), before);
    let files = |home: &Home| run(home, &["sources"]).iter().filter_map(|r| r["files"].as_u64()).sum::<u64>();
    assert_eq!(Some(files(&home)), before.0.as_u64());
    assert_eq!(run(&home, &["doctor"]).len(), 1);
}

/// Messages that only the archived copy of the old path contains are kept.
#[test]
fn an_archived_copy_longer_than_the_moved_transcript_is_kept() {
    let home = Home::new();
    let mut session = Session::new("aaaa1111-0000-4000-8000-000000000001", ALPHA, "2026-03-01T10:00:00Z");
    session.prompt("The first question").reply(&["An answer"]);
    let short = session.text();
    session.prompt("What was said about the quagga");
    home.add(&session);
    run_loci(&home, &["index"]);
    let home = relocate_home(&home);
    home.add_bytes(&session, short.as_bytes());
    run_loci(&home, &["index"]);
    assert_eq!(run_loci(&home, &["archive"]).records()[0]["files"], 2);
    assert!(run_loci(&home, &["search", "quagga"]).expect(0).text().contains("quagga"));
}

/// A damaged database of small copies is noticed, set aside and refilled from the transcripts that still exist; copies of
/// deleted ones are saved where they can be read.
#[test]
fn a_damaged_archive_is_repaired_by_the_next_update() {
    let history = History::new(40);
    let instance = Instance::new(history.home.path());
    instance.index();
    let path = instance.data.join("loci/archive/packed.db");
    let whole = instance.archived_copies();
    let bytes = fs::read(&path).unwrap();
    for from in [0, bytes.len() / 2] {
        let mut damaged = fs::read(&path).unwrap();
        damaged[from..from + 48].fill(0xee);
        fs::write(&path, damaged).unwrap();
        let problem = r#""check":"archive","severity":"problem""#;
        let doctor = instance.run("doctor -o json");
        assert!(doctor.text().contains(problem), "{}", doctor.text());
        let indexed = instance.run("index -o json");
        assert!(indexed.text().contains("packed.db was damaged"), "{}", indexed.text());
        assert_eq!(instance.archived_copies(), whole, "archived again");
        assert!(!instance.run("doctor -o json").text().contains(problem));
    }
}
