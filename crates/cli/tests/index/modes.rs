//! What others may read, and files that may not grow: modes with an open umask, and a limit on the size of files.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use testutil::{Finished, Home, sample_home};

/// Runs `loci` below a shell that first sets limits.
fn run_below(home: &Home, first: &str, args: &[&str]) -> Finished {
    let loci = testutil::command(home.path(), args);
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{first}; exec \"$@\""), "sh"]);
    shell.arg(loci.get_program()).args(loci.get_args()).current_dir(home.path()).env_clear();
    shell.envs(loci.get_envs().filter_map(|(name, value)| Some((name, value?))));
    testutil::run_command(shell)
}

fn assert_private(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let meta = entry.metadata().unwrap();
        if meta.is_file() {
            assert_eq!(meta.permissions().mode() & 0o077, 0, "{}", entry.path().display());
            found.push(entry.path());
        } else if meta.is_dir() {
            assert_private(&entry.path(), found);
        }
    }
}

#[test]
fn others_can_read_nothing_even_with_an_open_umask() {
    let home = sample_home();
    let state = home.path().join(".local/state/loci");
    fs::create_dir_all(&state).unwrap();
    fs::set_permissions(&state, PermissionsExt::from_mode(0o755)).unwrap();
    fs::create_dir_all(home.path().join("work/src")).unwrap();
    fs::write(home.path().join("work/src/a.py"), "def get():\n    return 1\n").unwrap();
    fs::create_dir(home.path().join("storage")).unwrap();
    let storage = home.path().join("storage").to_string_lossy().into_owned();
    let lines: [&[&str]; 13] = [
        &["index"],
        &["search", "walrus"],
        &["memory", "consolidate"],
        &["memory", "add", "The walrus holds"],
        &["projects"],
        &["query", "messages", "--all-projects", "--stats-first"],
        &["code", "outline", "get", "--root", "work"],
        &["why", "src/a.py", "--root", "work"],
        &["edit", "rename", "get", "fetch", "--apply", "--root", "work"],
        &["agent", "add", "a", "--client", "claude"],
        &["sync", "init", &storage, "--label", "a", "--show-phrase"],
        &["sync", "now"],
        &["index", "--rebuild"],
    ];
    for line in lines {
        let ran = run_below(&home, "umask 0", line);
        assert!(ran.code.is_some_and(|code| code < 4), "{line:?}: {}", ran.stderr);
    }
    let mut found = Vec::new();
    for folder in [".local/share/loci", ".cache/loci", ".local/state/loci"] {
        let folder = home.path().join(folder);
        assert_eq!(
            fs::metadata(&folder).unwrap().permissions().mode() & 0o777,
            0o700,
            "{}",
            folder.display()
        );
        assert_private(&folder, &mut found);
    }
    assert!(found.len() > 20, "{found:?}");
    let names: Vec<String> = found.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    for name in ["catalogue.db", "/search/", "memory.db", "round.lock", "/edits/", "/code/"] {
        assert!(names.iter().any(|path| path.contains(name)), "{name}: {names:?}");
    }
}

/// `ulimit -f` counts blocks of 512 bytes.
#[test]
fn a_limit_on_the_size_of_files_is_an_error_and_not_the_end() {
    let home = sample_home();
    for blocks in [8, 40, 200] {
        for line in [&["index", "--rebuild"][..], &["memory", "add", "The walrus holds"], &["index"]] {
            let ran = run_below(&home, &format!("ulimit -f {blocks}"), line);
            assert!(ran.code.is_some(), "{blocks} {line:?}: ended by a signal");
        }
    }
    // The home has one damaged line.
    let done = testutil::run_loci(&home, &["index", "-o", "json"]).expect(3).records().remove(0);
    assert_eq!(done["problems"], 1, "{done}");
}
