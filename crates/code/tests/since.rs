//! Changes since a commit, in a repository made by git.

#![allow(clippy::unwrap_used)] // a test may fail by panicking

use loci_code::{ChangesSince, RefreshOptions, SinceError, Store};
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

const NOW: RefreshOptions<'_> = RefreshOptions { now: 0, threads: 1, progress: &|_, _| true };

fn git(root: &Path, args: &[&str], stdin: &[u8]) -> Result<Vec<u8>, String> {
    let mut child = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"])
        .args(args)
        .current_dir(root)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    child.stdin.take().unwrap().write_all(stdin).map_err(|error| error.to_string())?;
    let done = child.wait_with_output().map_err(|error| error.to_string())?;
    if done.status.success() { Ok(done.stdout) } else { Err(String::from_utf8_lossy(&done.stderr).into()) }
}

fn write_file(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn repository(files: &[(&str, &str)]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        write_file(root.path(), path, text);
    }
    for args in [&["init", "-q"][..], &["add", "-A"], &["commit", "-qm", "one"]] {
        git(root.path(), args, b"").unwrap();
    }
    root
}

fn changes(root: &Path, since: &str) -> Result<ChangesSince, SinceError> {
    let mut store = Store::in_memory(root).unwrap();
    store.refresh(NOW).unwrap();
    store.changes_since(since, &|args, stdin| git(root, args, &stdin))
}

fn describe(found: &ChangesSince) -> Vec<String> {
    let class = |it: &loci_code::ChangedType| match &it.change {
        Some(change) => change.class.name(),
        None if it.removed => "Removed",
        None => "Added",
    };
    found.changes.iter().map(|it| format!("{} {}", class(it), it.name)).collect()
}

const FILES: &[(&str, &str)] = &[
    ("pyproject.toml", "[project]\nname = \"shop\"\n"),
    ("shop/tools.py", "def clean(x):\n    return x\n\n\ndef other():\n    return 1\n"),
    ("shop/store.py", "class Store:\n    def put(self, x: int):\n        return x\n"),
    (
        "shop/use.py",
        "from .tools import clean\nfrom .store import Store\n\n\nclass Use:\n    of: Store\n\n    def f(self):\n        return clean(1)\n",
    ),
    ("shop/gone.py", "class Gone:\n    pass\n"),
    ("tests/test_use.py", "from shop.use import Use\n\n\nclass TestUse:\n    of: Use\n"),
];

#[test]
fn every_changed_type_is_reported_with_its_dependents_and_tests() {
    let root = repository(FILES);
    let path = root.path();
    assert_eq!(describe(&changes(path, "HEAD").unwrap()), [""; 0]);
    write_file(
        path,
        "shop/tools.py",
        "def clean(x, y: int = 0):\n    return x\n\n\ndef other():\n    return 2\n",
    );
    write_file(path, "shop/store.py", "class Store:\n    def put(self, x: int):\n        return x + 1\n");
    write_file(path, "shop/new.py", "class New:\n    pass\n");
    fs::remove_file(path.join("shop/gone.py")).unwrap();
    let found = changes(path, "HEAD").unwrap();
    assert_eq!(
        describe(&found),
        [
            "Removed shop.gone.Gone",
            "Added shop.new.New",
            "PublicBehavior shop.store.Store",
            "Structure shop.tools"
        ]
    );
    assert_eq!(found.files, ["shop/gone.py", "shop/new.py", "shop/store.py", "shop/tools.py"]);
    assert_eq!(found.tests, ["tests/test_use.py"]);
    assert_eq!(changes(path, "HEAD").unwrap(), found, "asked twice, the same answer");
    // committed or not makes no difference
    for args in [&["add", "-A"][..], &["commit", "-qm", "two"]] {
        git(path, args, b"").unwrap();
    }
    assert_eq!(describe(&changes(path, "HEAD").unwrap()), [""; 0]);
    let later = changes(path, "HEAD~1").unwrap();
    assert_eq!((later.changes, later.tests), (found.changes, found.tests));
}

#[test]
fn callers_of_a_changed_function_are_dependents() {
    let root = repository(FILES);
    let path = root.path();
    write_file(
        path,
        "shop/tools.py",
        "async def clean(x) -> int:\n    return x\n\n\ndef other():\n    return 1\n",
    );
    let found = changes(path, "HEAD").unwrap();
    assert_eq!(describe(&found), ["Structure shop.tools"]);
    let names: Vec<&str> = found.dependents.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(names, ["shop.use.Use"]);
    assert_eq!(found.tests, ["tests/test_use.py"]);
}

#[test]
fn an_unknown_commit_is_an_error() {
    let root = repository(FILES);
    for name in ["nope", "-x", ""] {
        let error = changes(root.path(), name).unwrap_err().to_string();
        assert!(error.contains("is not a commit"), "{error}");
    }
}
