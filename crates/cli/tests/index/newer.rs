//! Stores of a newer version (R35): this version refuses them, says what to do, and leaves every byte as it is. Views, which
//! need no store, and the code operations, which can build their index in memory, go on working.
//!
//! Does not know what a newer layout contains: only its number is larger.

use crate::upgrades::{unpack, upgrade};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use testutil::old_stores::{self, OldHome, PROJECT};
use testutil::{Finished, run_command, split_words};

/// A store with a larger number, and the commands that need it.
struct Newer {
    name: &'static str,
    raise: fn(&OldHome),
    refused: &'static [&'static str],
}

const STORES: &[Newer] = &[
    Newer {
        name: "the catalogue",
        raise: |home| raise_layout(&home.cache().join("catalogue.db")),
        refused: &["search walrusledger", "index", "sessions", "forget aaaa0001 --yes"],
    },
    Newer {
        name: "the text index",
        raise: |home| raise_text_index(&home.cache().join("search")),
        refused: &["search walrusledger", "index"],
    },
    Newer {
        name: "the rules of masking",
        raise: |home| {
            let sql = "update meta set value = 99 where name = 'rules'";
            change_database(&home.cache().join("catalogue.db"), sql);
        },
        refused: &["index"],
    },
    Newer {
        name: "memory",
        raise: |home| raise_layout(&home.data().join("memory.db")),
        refused: &[
            "memory list",
            "memory edit aaaa0001 --name other",
            "memory consolidate --no-model",
            "memory export",
        ],
    },
    Newer {
        name: "messages",
        raise: |home| raise_layout(&home.data().join("post.db")),
        refused: &["agent list", "agent messages", "agent add other .", "dispatch harbourmaster 'more'"],
    },
    Newer {
        name: "the ledger",
        raise: |home| raise_layout(&home.data().join("ledger.db")),
        refused: &["memory costs", "memory jobs"],
    },
    Newer {
        name: "the state of sync",
        raise: |home| raise_layout(&home.data().join("sync/sync.db")),
        refused: &["sync now", "sync status"],
    },
    Newer {
        name: "what was exchanged",
        raise: |home| raise_layout(&home.data().join("sync/exchanged.db")),
        refused: &["sync now"],
    },
    Newer {
        name: "origins",
        raise: |home| raise_layout(&home.data().join("origins.db")),
        refused: &["sync now"],
    },
    Newer {
        name: "the receipt of setup",
        raise: |home| {
            let path = home.data().join("setup.json");
            let text = fs::read_to_string(&path).unwrap().replace("\"version\": 1", "\"version\": 99");
            fs::write(&path, text.replace("\"agents\"", "\"clients\"")).unwrap();
        },
        refused: &["setup claude-code --yes", "setup claude-code --dry-run", "setup --remove --yes"],
    },
    Newer {
        name: "small archived copies",
        raise: |home| raise_layout(&home.data().join("archive/packed.db")),
        refused: &["index"],
    },
];

/// An empty database is created if there is none.
fn change_database(path: &Path, sql: &str) {
    db::Connection::open(path).unwrap().execute_batch(sql).unwrap();
    assert!(!db::sibling_path(path, "-wal").exists(), "{}", path.display());
}

fn raise_layout(path: &Path) {
    change_database(path, "pragma user_version = 99");
}

fn raise_text_index(folder: &Path) {
    let path = folder.join("meta.json");
    let meta = fs::read_to_string(&path).unwrap();
    let at = meta.find("\"payload\"").unwrap() + "\"payload\"".len();
    let at = at + meta[at..].find(|c: char| c.is_ascii_digit()).unwrap();
    fs::write(&path, format!("{}9{}", &meta[..at], &meta[at..])).unwrap();
}

/// A home of this version with every store.
fn current_home() -> OldHome {
    let name = old_stores::names().pop().unwrap();
    let home = unpack(&name);
    upgrade(&home);
    // A rebuild puts the stores into a folder of their own, as newer rules of masking need it: an empty cache does not.
    fs::remove_dir_all(home.cache()).unwrap();
    upgrade(&home);
    assert!(home.cache().join("catalogue.db").exists());
    home
}

fn run(home: &OldHome, line: &str) -> Finished {
    let words = split_words(line);
    let mut command = testutil::command(home.path(), &words.iter().map(String::as_str).collect::<Vec<_>>());
    command.current_dir(home.path().join(PROJECT));
    let ended = run_command(command);
    assert!(!ended.stderr.contains("panicked"), "{line}: {}", ended.stderr);
    ended
}

/// The bytes of every file below data and cache, but for locks and the shared memory of databases.
fn all_bytes(home: &OldHome) -> BTreeMap<PathBuf, Vec<u8>> {
    let files =
        [home.data(), home.cache()].into_iter().flat_map(|folder| crate::instance::list_files(&folder));
    let is_state = |path: &PathBuf| {
        let name = path.to_string_lossy();
        name.ends_with(".lock") || name.ends_with("-shm") || path.metadata().unwrap().len() == 0
    };
    files.filter(|path| !is_state(path)).map(|path| (path.clone(), fs::read(&path).unwrap())).collect()
}

#[test]
fn a_store_of_a_newer_version_is_refused_and_not_changed() {
    for store in STORES {
        let home = current_home();
        (store.raise)(&home);
        let before = all_bytes(&home);
        for line in store.refused {
            let label = format!("{}: `{line}`", store.name);
            let ended = run(&home, &format!("{line} -o json"));
            assert_eq!(ended.code, Some(1), "{label}: {ended:?}");
            let error = ended.records().remove(0);
            assert_eq!(error["code"], "NEWER_STORE", "{label}: {error}");
            assert!(error["error"].to_string().contains("a newer Loci"), "{label}: {error}");
            assert!(error["hints"].to_string().contains("loci update --check"), "{label}: {error}");
            let after = all_bytes(&home);
            let changed: Vec<_> =
                before.iter().filter(|(path, bytes)| after.get(*path) != Some(bytes)).collect();
            let paths: Vec<_> = changed.iter().map(|(path, _)| path).collect();
            assert!(paths.is_empty(), "{label} changed {paths:?}");
        }
    }
}

#[test]
fn without_the_stores_of_a_newer_version_views_and_code_operations_answer() {
    let home = current_home();
    let lines = ["query messages --all-projects", "stats --all-projects"];
    let outline = |home: &OldHome| run(home, "code outline Harbour").expect(0).records().remove(0);
    let known = outline(&home);
    let expected: Vec<String> = lines.map(|line| run(&home, line).expect(0).text().to_string()).to_vec();
    raise_layout(&home.cache().join("catalogue.db"));
    let code = crate::instance::list_files(&home.cache().join("code"));
    let code = code.iter().find(|path| path.extension().is_some_and(|ending| ending == "db")).unwrap();
    raise_layout(code);
    let before = all_bytes(&home);
    for (line, expected) in lines.iter().zip(&expected) {
        let ended = run(&home, line).expect(0);
        assert_eq!(ended.text(), expected, "{line}");
    }
    let built = outline(&home);
    assert_eq!(built["outline"], known["outline"]);
    let notes = built["coverage"]["notes"].to_string();
    assert!(notes.contains("a newer Loci") && notes.contains("in memory"), "{notes}");
    assert_eq!(all_bytes(&home), before);
}

/// Only if a person asks for it.
#[test]
fn a_rebuild_replaces_the_catalogue_and_index_of_a_newer_version() {
    let home = current_home();
    raise_layout(&home.cache().join("catalogue.db"));
    raise_text_index(&home.cache().join("search"));
    let problems = run(&home, "doctor --json").records().remove(0)["findings"].to_string();
    assert!(problems.contains("a newer Loci") && problems.contains("loci update --check"), "{problems}");
    run(&home, "index --rebuild").expect(0);
    let found = run(&home, "search heronschedule -o json").expect(0).records().remove(0);
    assert_eq!(found["results"][0]["chatId"], "aaaa0002-0000-4000-8000-000000000002");
}

/// A copy in the archive that this version cannot read stays, and the others are found.
#[test]
fn an_archived_copy_of_a_newer_version_is_reported_and_kept() {
    let home = current_home();
    let is_copy = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "loci");
    let copies: Vec<PathBuf> =
        crate::instance::list_files(&home.data().join("archive")).into_iter().filter(is_copy).collect();
    assert!(!copies.is_empty());
    for path in &copies {
        let mut bytes = fs::read(path).unwrap();
        bytes[12] = 99;
        let sum = bytes[..16].iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        bytes[16..24].copy_from_slice(&sum.to_le_bytes());
        fs::write(path, bytes).unwrap();
    }
    let before: Vec<Vec<u8>> = copies.iter().map(|path| fs::read(path).unwrap()).collect();
    run(&home, "index --rebuild").expect(3);
    let problems = run(&home, "sources --problems").expect(3);
    assert!(problems.text().contains("was written by a newer Loci (format 99"), "{}", problems.text());
    let advice = run(&home, "doctor -o json");
    assert!(advice.text().contains("loci update --check"), "{}", advice.text());
    run(&home, "search heronschedule -o json").expect(3);
    let after: Vec<Vec<u8>> = copies.iter().map(|path| fs::read(path).unwrap()).collect();
    assert!(before == after);
}
