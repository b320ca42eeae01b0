//! `loci code index --scip`: a scripted indexer runs outside of the tree and under limits, and what it writes is used.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use testutil::{Finished, Home, command, run_command, run_line, write_file};

/// A tree in TypeScript without an index, below the home.
fn home_with_tree() -> Home {
    let home = Home::new();
    for name in ["package.json", "tsconfig.json", "src/index.ts", "src/store.ts", "src/use.ts"] {
        write_file(&home.path().join("tree").join(name), &fs::read(fixture(name)).unwrap());
    }
    home
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../code/testdata/scip/typescript").join(name)
}

/// Installs a script as an indexer; `$3` is the file it has to write, `$INDEX` a valid index of the tree.
fn install_indexer(home: &Home, name: &str, script: &str) {
    use std::os::unix::fs::PermissionsExt;
    let text = format!("#!/bin/sh\nINDEX='{}'\n{script}\n", fixture("index.scip").display());
    let path = write_file(&home.path().join("bin").join(name), text.as_bytes());
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn trust(home: &Home) {
    run_line(home, "edit trust --root tree").expect(0);
}

/// Runs indexers with a path that has only those that are installed in the home.
fn index_with(home: &Home, args: &[&str], vars: &[(&str, &str)]) -> Finished {
    let args = [&["code", "index", "--scip", "--root", "tree"], args].concat();
    let mut index = command(home.path(), &args);
    index.env("PATH", format!("{}:/usr/bin:/bin", home.path().join("bin").display()));
    index.envs(vars.iter().copied());
    run_command(index)
}

fn certainties(home: &Home) -> Vec<Value> {
    let used = run_line(home, "code usages Store --root tree -o json").expect(0).records().remove(0);
    used["usages"].as_array().unwrap().iter().map(|it| it["certainty"].clone()).collect()
}

/// The files of Loci's cache of indexes.
fn cached_indexes(home: &Home) -> Vec<String> {
    let stores = fs::read_dir(home.path().join(".cache/loci/code")).unwrap().map(|it| it.unwrap().path());
    let folders = stores.filter(|path| path.extension().is_some_and(|ending| ending == "scip"));
    let files = folders.flat_map(|folder| fs::read_dir(folder).unwrap());
    let mut names: Vec<String> =
        files.map(|it| it.unwrap().file_name().into_string().unwrap()).filter(|it| it != "lock").collect();
    names.sort();
    names
}

fn tree_files(home: &Home) -> Vec<String> {
    let folder = |path: &str| fs::read_dir(home.path().join("tree").join(path)).unwrap();
    let names = ["", "src"].into_iter().flat_map(folder).map(|it| it.unwrap().file_name());
    let mut names: Vec<String> = names.map(|it| it.into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn an_indexer_runs_on_request_and_its_references_are_exact() {
    let home = home_with_tree();
    install_indexer(&home, "scip-typescript", "test \"$1 $2\" = 'index --output' && cp \"$INDEX\" \"$3\"");
    trust(&home);
    run_line(&home, "code index --root tree").expect(0);
    assert!(cached_indexes(&home).is_empty(), "without the flag, nothing runs");
    assert!(certainties(&home).iter().all(|it| *it != "exact"));
    let before = tree_files(&home);
    let done = index_with(&home, &["-o", "json"], &[]).expect(0).records().remove(0);
    assert_eq!(done["indexers"][0]["indexer"], "scip-typescript", "{done}");
    assert_eq!(done["indexers"][0]["files"], 3, "{done}");
    assert_eq!(tree_files(&home), before, "nothing is written into the tree");
    assert_eq!(cached_indexes(&home), ["scip-typescript.scip"]);
    let exact = certainties(&home);
    assert!(!exact.is_empty() && exact.iter().all(|it| *it == "exact"), "{exact:?}");
    // a file that was edited since is resolved by name
    let path = home.path().join("tree/src/use.ts");
    write_file(&path, format!("\n{}", fs::read_to_string(&path).unwrap()).as_bytes());
    let mixed = certainties(&home);
    assert!(mixed.iter().any(|it| it == "exact") && mixed.iter().any(|it| it == "certain"), "{mixed:?}");
    let text = index_with(&home, &["-o", "text"], &[]).expect(0);
    assert!(text.text().contains("scip-typescript: 3 files, "), "{}", text.text());
}

#[test]
fn an_indexer_needs_a_person_who_trusts_the_tree() {
    let home = home_with_tree();
    install_indexer(&home, "scip-typescript", "touch ran; cp \"$INDEX\" \"$3\"");
    let refused = index_with(&home, &[], &[]).expect(1);
    assert!(refused.stderr.contains("loci edit trust"), "{}", refused.stderr);
    assert!(!home.path().join("tree/ran").exists());
}

#[test]
fn without_an_indexer_the_error_says_what_to_install() {
    let home = home_with_tree();
    trust(&home);
    let missing = index_with(&home, &[], &[]).expect(1);
    assert!(missing.stderr.contains("npm install -g @sourcegraph/scip-typescript"), "{}", missing.stderr);
    fs::remove_file(home.path().join("tree/tsconfig.json")).unwrap();
    let unfit = index_with(&home, &[], &[]).expect(1);
    assert!(unfit.stderr.contains("scip-typescript: tsconfig.json"), "{}", unfit.stderr);
}

#[test]
fn an_indexer_that_fails_leaves_the_earlier_index() {
    let home = home_with_tree();
    trust(&home);
    install_indexer(&home, "scip-typescript", "cp \"$INDEX\" \"$3\"");
    index_with(&home, &[], &[]).expect(0);
    for (script, expected) in [
        ("echo it broke >&2; cp \"$INDEX\" \"$3\"; exit 3", "scip-typescript failed (exit code 3): it broke"),
        ("echo nothing to do", "scip-typescript wrote no index: nothing to do"),
        ("printf '\\377\\377' > \"$3\"", "is not a SCIP index"),
    ] {
        install_indexer(&home, "scip-typescript", script);
        let failed = index_with(&home, &[], &[]).expect(1);
        assert!(failed.stderr.contains(expected), "{}", failed.stderr);
        assert_eq!(cached_indexes(&home), ["scip-typescript.scip"]);
        assert!(certainties(&home).iter().all(|it| *it == "exact"));
    }
}

#[test]
fn an_indexer_that_hangs_is_stopped_with_its_children_and_reported_meanwhile() {
    let home = home_with_tree();
    trust(&home);
    install_indexer(&home, "scip-typescript", "sleep 300 & echo $! > \"$HOME/child\"; wait");
    for wrong in ["soon", "0", "-1"] {
        let refused = index_with(&home, &[], &[("LOCI_INDEXER_SECONDS", wrong)]).expect(1);
        assert!(refused.stderr.contains(&format!("LOCI_INDEXER_SECONDS: `{wrong}` is not a number")));
    }
    let hung = index_with(&home, &[], &[("LOCI_INDEXER_SECONDS", "3")]).expect(1);
    assert!(hung.stderr.contains("scip-typescript: timed out after 3 s"), "{}", hung.stderr);
    assert!(hung.stderr.contains("scip-typescript is indexing, 1 s"), "{}", hung.stderr);
    assert!(cached_indexes(&home).is_empty());
    let child = fs::read_to_string(home.path().join("child")).unwrap();
    assert!(!Path::new("/proc").join(child.trim()).exists(), "its child is still running");
}

#[test]
fn a_language_without_an_indexer_does_not_stop_the_others() {
    let home = home_with_tree();
    write_file(&home.path().join("tree/tools/pyproject.toml"), b"[project]\nname = \"tools\"\n");
    write_file(&home.path().join("tree/tools/a.py"), b"def f(): pass\n");
    trust(&home);
    install_indexer(&home, "scip-typescript", "cp \"$INDEX\" \"$3\"");
    let done = index_with(&home, &["-o", "json"], &[]).expect(0).records().remove(0);
    let (first, second) = (&done["indexers"][0], &done["indexers"][1]);
    assert!(first["error"].is_null() && second["folder"] == "tools/", "{done}");
    assert!(second["error"].as_str().unwrap().contains("npm install -g @sourcegraph/scip-python"), "{done}");
}

#[test]
fn the_newer_of_two_indexes_is_used() {
    let home = home_with_tree();
    trust(&home);
    install_indexer(&home, "scip-typescript", "cp \"$INDEX\" \"$3\"");
    index_with(&home, &[], &[]).expect(0);
    // newer than the cached one, and without any reference
    let empty = [&[0x0a, 0x07, 0x12, 0x05, 0x0a, 0x03][..], b"own"].concat();
    let documents = ["src/index.ts", "src/store.ts", "src/use.ts"]
        .map(|path| [&[0x12, path.len() as u8 + 2, 0x0a, path.len() as u8][..], path.as_bytes()].concat());
    let root = write_file(&home.path().join("tree/index.scip"), &[empty, documents.concat()].concat());
    assert!(certainties(&home).iter().all(|it| *it == "certain"));
    let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1000);
    fs::File::options().write(true).open(root).unwrap().set_modified(long_ago).unwrap();
    assert!(certainties(&home).iter().all(|it| *it == "exact"));
}
