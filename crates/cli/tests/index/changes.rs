//! The ways in which a transcript can change after it was indexed. After each, a search finds what stands there now
//! and nothing that no longer does, without anybody having asked for an index; and the index that is then brought up to
//! date gives the answers of one that is made from nothing.

use crate::history::{append, needle};
use crate::instance::{Instance, answers, assert_same, viewed};
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

/// The words of the transcript's prompts, and one that is not in it yet.
fn old(n: usize) -> String {
    needle(1000 + n)
}
fn new() -> String {
    needle(7777)
}

struct Change {
    name: &'static str,
    /// What is done to the file, given what stands in it and a line with the new word.
    apply: fn(&Path, &str, &str),
    /// Of the old words, those that are gone; the others are still found.
    lost: &'static [usize],
    adds: bool,
    /// The agent's file is no longer there under its name: what is known of it comes from the archive.
    from_archive: bool,
}

fn lines(text: &str, many: usize) -> String {
    text.lines().take(many).map(|line| format!("{line}\n")).collect()
}

/// Overwrites in place: the file stays the same file.
fn overwrite(path: &Path, bytes: &[u8]) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(bytes, 0).unwrap();
    file.set_len(bytes.len() as u64).unwrap();
}

fn replace(path: &Path, bytes: &[u8]) {
    let beside = path.with_extension("beside");
    File::create(&beside).unwrap().write_all(bytes).unwrap();
    fs::rename(&beside, path).unwrap();
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
        apply: |path, text, _| overwrite(path, lines(text, 8).as_bytes()),
        lost: &[3, 4, 5],
        adds: false,
        from_archive: false,
    },
    Change {
        name: "truncated in the middle of a line",
        apply: |path, text, _| overwrite(path, &text.as_bytes()[..lines(text, 10).len() + 40]),
        lost: &[4, 5],
        adds: false,
        from_archive: false,
    },
    Change {
        name: "truncated, then grown past its old size",
        apply: |path, text, more| {
            overwrite(path, lines(text, 8).as_bytes());
            let filler = more.replace(&new(), &format!("{} {}", new(), "filler ".repeat(3000)));
            append(path, filler.as_bytes());
        },
        lost: &[3, 4, 5],
        adds: true,
        from_archive: false,
    },
    Change {
        name: "rewritten in place, as long as before",
        apply: |path, text, _| overwrite(path, text.replace(&old(5), &new()).as_bytes()),
        lost: &[5],
        adds: true,
        from_archive: false,
    },
    Change {
        name: "replaced by the same",
        apply: |path, text, _| replace(path, text.as_bytes()),
        lost: &[],
        adds: false,
        from_archive: false,
    },
    Change {
        name: "replaced by another",
        apply: |path, text, more| {
            replace(path, format!("{}{more}", text.replace(&old(1), "nothing")).as_bytes())
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
        name: "deleted and made again",
        apply: |path, text, more| {
            fs::remove_file(path).unwrap();
            fs::write(path, format!("{}{more}", lines(text, 4))).unwrap();
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
        name: "its beginning edited, and appended to",
        apply: |path, text, more| {
            overwrite(path, format!("{}{more}", text.replace(&old(0), &needle(5555))).as_bytes());
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

/// A session of six prompts, and beside it others, which nothing happens to.
fn world() -> (Home, Session) {
    let home = Home::new();
    let mut session = Session::new("aaaa1111-0000-4000-8000-000000000001", ALPHA, "2026-03-01T10:00:00Z");
    // The first prompt is the title, which copies have as well.
    session.prompt("To begin with").reply(&["Yes."]);
    for n in 0..6 {
        session.prompt(&format!("Prompt {n} asks for {}", old(n))).reply(&["Yes."]);
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
fn finds(instance: &Instance, change: &Change, about: &str) {
    for n in 0..6 {
        let many = usize::from(!change.lost.contains(&n));
        assert_eq!(instance.finds(&old(n)).len(), many, "{}, {about}: old word {n}", change.name);
    }
    assert_eq!(instance.finds(&new()).len(), usize::from(change.adds), "{}, {about}: new word", change.name);
}

#[test]
fn a_search_knows_every_change_and_the_index_then_equals_a_fresh_one() {
    for change in CHANGES {
        let (home, mut session) = world();
        let instance = Instance::new(home.path());
        instance.index();
        let text = session.text();
        session.prompt(&format!("At last {}", new()));
        let more = format!("{}\n", session.lines.last().unwrap());
        (change.apply)(&home.file(&session), &text, &more);

        let viewed =
            |instance: &Instance| VIEWS.iter().map(|line| viewed(instance, line)).collect::<Vec<_>>();
        assert_same(change.name, &viewed(&instance), &viewed(&instance.with_empty_cache()));
        // A copy, so that what the search writes does not help the index afterwards.
        let asked = instance.copied();
        finds(&asked, change, "without index");
        instance.index();
        finds(&instance, change, "indexed");
        let fresh =
            if change.from_archive { instance.with_empty_cache() } else { Instance::new(home.path()) };
        fresh.index();
        let searches: Vec<String> =
            (0..6).map(old).chain([new(), "prompt".into(), "bystander".into()]).collect();
        assert_same(change.name, &answers(&instance, VIEWS, &searches), &answers(&fresh, VIEWS, &searches));
        assert_eq!(instance.index()["changed"], 0, "{}: nothing is left to do", change.name);
    }
}

/// R13: what an agent is in the middle of writing is nothing yet, and then everything.
#[test]
fn half_a_line_is_nothing_until_it_is_whole() {
    let (home, mut session) = world();
    let instance = Instance::new(home.path());
    instance.index();
    session.prompt(&format!("At last {}", new()));
    let more = format!("{}\n", session.lines.last().unwrap());
    let path = home.file(&session);
    for (from, to) in [(0, 1), (1, more.len() / 2), (more.len() / 2, more.len() - 2)] {
        append(&path, &more.as_bytes()[from..to]);
        assert!(instance.finds(&new()).is_empty(), "{to} of {} bytes", more.len());
        assert_eq!(instance.finds(&old(5)).len(), 1);
        instance.index();
        assert!(instance.finds(&new()).is_empty(), "{to} of {} bytes, indexed", more.len());
    }
    append(&path, &more.as_bytes()[more.len() - 2..]);
    assert_eq!(instance.finds(&new()).len(), 1);
    instance.index();
    let fresh = Instance::new(home.path());
    fresh.index();
    let searches = [new(), old(0), old(5)];
    assert_same("completed", &answers(&instance, VIEWS, &searches), &answers(&fresh, VIEWS, &searches));
}

/// Two files tell the same; the one that told it first is rewritten without it, or goes for good.
#[test]
fn what_a_fork_repeats_is_found_when_the_original_no_longer_says_it() {
    for archived in [true, false] {
        let (home, session) = world();
        let mut fork = session.clone();
        fork.id = "aaaa3333-0000-4000-8000-000000000003".to_string();
        let id = |id: &str| format!("\"sessionId\":\"{id}\"");
        fork.lines = session.lines.iter().map(|l| l.replace(&id(&session.id), &id(&fork.id))).collect();
        fork.prompt("The fork goes on");
        home.add(&fork);
        let instance = Instance::new(home.path());
        instance.index();
        assert_eq!(instance.finds(&old(4)), [session.id.as_str()], "given once, in the original");

        let path = home.file(&session);
        if archived {
            fs::write(&path, lines(&session.text(), 6)).unwrap();
        } else {
            // Nothing is left of it: neither the agent's file nor the copy.
            fs::remove_file(&path).unwrap();
            let others = Instance::new(home.path());
            others.index();
            let others = others.archived();
            for name in instance.archived().iter().filter(|name| !others.contains(name)) {
                fs::remove_file(instance.data.join("loci/archive").join(name)).unwrap();
            }
            assert_eq!(instance.archived().len(), 3);
        }
        if archived {
            assert_eq!(instance.copied().finds(&old(4)), [fork.id.as_str()], "without index");
        }
        instance.index();
        assert_eq!(instance.finds(&old(4)), [fork.id.as_str()], "archived {archived}, indexed");
        let fresh = Instance::new(home.path());
        fresh.index();
        let searches: Vec<String> = (0..6).map(old).collect();
        assert_same(
            "a fork stays",
            &answers(&instance, VIEWS, &searches),
            &answers(&fresh, VIEWS, &searches),
        );
    }
}

/// A home with everything that Loci keeps, at another path.
fn moved(from: &Home) -> Home {
    let to = Home::new();
    let (here, there) = (from.path().join("."), to.path());
    assert!(std::process::Command::new("cp").arg("-a").arg(here).arg(there).status().unwrap().success());
    to
}

#[test]
fn a_home_that_moved_tells_everything_once() {
    let home = testutil::sample_home();
    let of = |home: &Home, line: &[&str]| run_loci(home, line).records();
    let count = |home: &Home| {
        let archived = of(home, &["archive"]);
        let listed = of(home, &["sessions", "--limit", "100"]);
        (archived[0]["files"].clone(), listed[0]["sessions"].as_array().unwrap().len())
    };
    run_loci(&home, &["index"]);
    let before = count(&home);
    let home = moved(&home);
    assert_eq!(of(&home, &["index"]).len(), 1);
    assert_eq!(count(&home), before);
    let files = |home: &Home| of(home, &["sources"]).iter().filter_map(|r| r["files"].as_u64()).sum::<u64>();
    assert_eq!(Some(files(&home)), before.0.as_u64());
    assert_eq!(of(&home, &["doctor"]).len(), 1);
}

/// What was said only at the old place stays.
#[test]
fn a_copy_that_says_more_than_the_transcript_at_the_new_place_is_kept() {
    let home = Home::new();
    let mut session = Session::new("aaaa1111-0000-4000-8000-000000000001", ALPHA, "2026-03-01T10:00:00Z");
    session.prompt("The first question").reply(&["An answer"]);
    let short = session.text();
    session.prompt("What was said about the quagga");
    home.add(&session);
    run_loci(&home, &["index"]);
    let home = moved(&home);
    home.add_bytes(&session, short.as_bytes());
    run_loci(&home, &["index"]);
    assert_eq!(run_loci(&home, &["archive"]).records()[0]["files"], 2);
    assert!(run_loci(&home, &["search", "quagga"]).expect(0).text().contains("quagga"));
}
