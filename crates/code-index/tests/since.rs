//! Changes since a commit, in a repository made by git.

#![allow(clippy::unwrap_used)] // a test may fail by panicking

use code::RefreshOptions;
use loci_code_index::{ChangesSince, SinceError, Store};
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
    store.changes_since(since, "", &|args, stdin| git(root, args, &stdin))
}

fn describe(found: &ChangesSince) -> Vec<String> {
    let class = |it: &loci_code_index::ChangedType| match &it.change {
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
fn callers_of_what_is_gone_are_dependents() {
    let root = repository(FILES);
    let path = root.path();
    let dependents = |text: &str| {
        write_file(path, "shop/tools.py", text);
        let found = changes(path, "HEAD").unwrap();
        (found.dependents.into_iter().map(|(_, name)| name).collect::<Vec<_>>(), found.tests)
    };
    let expected = (vec!["shop.use.Use".to_owned()], vec!["tests/test_use.py".to_owned()]);
    assert_eq!(dependents("def other():\n    return 1\n"), expected, "a function");
    fs::remove_file(path.join("shop/tools.py")).unwrap();
    let found = changes(path, "HEAD").unwrap();
    assert_eq!(found.dependents[0].1, "shop.use.Use", "its file");
    fs::remove_file(path.join("shop/store.py")).unwrap();
    write_file(path, "shop/tools.py", FILES[1].1);
    let found = changes(path, "HEAD").unwrap();
    assert_eq!((found.dependents[0].1.as_str(), found.tests.len()), ("shop.use.Use", 1), "a class");

    let root = repository(&[
        ("package.json", "{ \"name\": \"shop\" }"),
        ("src/tools.ts", "export function clean(x: number) {\n  return x;\n}\n"),
        (
            "src/use.ts",
            "import { clean } from './tools';\nexport class Use {\n  f() { return clean(1); }\n}\n",
        ),
    ]);
    write_file(root.path(), "src/tools.ts", "export function clean(x: string) {\n  return x;\n}\n");
    let found = changes(root.path(), "HEAD").unwrap();
    let names: Vec<&str> = found.dependents.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(names, ["shop.src.use.Use"], "another parameter type is another key");
}

#[test]
fn tests_of_a_function_whose_body_changed_are_found_without_a_type_in_between() {
    let mut files = FILES.to_vec();
    files.push((
        "tests/test_tools.py",
        "from shop.tools import clean\n\n\ndef test_clean():\n    assert clean(1) == 1\n",
    ));
    let root = repository(&files);
    write_file(root.path(), "shop/tools.py", &FILES[1].1.replace("return x", "return x or 0"));
    let found = changes(root.path(), "HEAD").unwrap();
    assert_eq!(found.tests, ["tests/test_tools.py", "tests/test_use.py"]);
    let root = repository(&files);
    write_file(root.path(), "shop/tools.py", &FILES[1].1.replace("return 1", "return 2"));
    assert_eq!(changes(root.path(), "HEAD").unwrap().tests, [""; 0], "nothing tests `other`");

    let text = "pub fn clean() -> u8 {\n    1\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn cleans() {\n        super::clean();\n    }\n}\n";
    let root = repository(&[
        ("Cargo.toml", "[package]\nname = \"shop\"\nversion = \"0.1.0\"\n"),
        ("src/lib.rs", "pub mod tools;\npub mod other;\n"),
        ("src/tools.rs", text),
    ]);
    write_file(root.path(), "src/tools.rs", &text.replace("    1", "    2"));
    assert_eq!(changes(root.path(), "HEAD").unwrap().tests, ["src/tools.rs"]);
}

#[test]
fn an_unknown_commit_is_an_error() {
    let root = repository(FILES);
    for name in ["nope", "-x", ""] {
        let error = changes(root.path(), name).unwrap_err().to_string();
        assert!(error.contains("is not a commit"), "{error}");
    }
}

const MENTIONS: &[(&str, &str)] = &[
    ("pyproject.toml", "[project]\nname = \"shop\"\n"),
    (
        "shop/store.py",
        "class Store:\n    def put(self, x: int):\n        self.items.append(x + 1)\n        return len(self.items)\n\n    def take(self):\n        return self.items.pop(0) if self.items else None\n",
    ),
    (
        "shop/use.py",
        "from .store import Store\n\n\nclass Body:\n    def f(self):\n        return Store().put(1)\n\n\nclass Signature:\n    def f(self, of: Store):\n        return of\n\n    def g(self):\n        return Store()\n\n\nclass Edited:\n    def f(self):\n        return Store().put(1)\n",
    ),
];

/// Replaces a text in every file.
fn replace_everywhere(root: &Path, old: &str, new: &str) {
    for (path, _) in MENTIONS {
        let text = fs::read_to_string(root.join(path)).unwrap();
        fs::write(root.join(path), text.replace(old, new)).unwrap();
    }
}

/// What a comparison with the commit and a refreshed index say about an edit.
fn both_reports(edit: impl Fn(&Path)) -> [(Vec<String>, Vec<String>); 2] {
    let root = repository(MENTIONS);
    let path = root.path();
    let mut store = Store::in_memory(path).unwrap();
    store.refresh(NOW).unwrap();
    edit(path);
    let done = store.refresh(NOW).unwrap();
    let since = store.changes_since("HEAD", "", &|args, stdin| git(path, args, &stdin)).unwrap();
    let reports = [(since.changes, since.aliases), (done.changes, done.aliases)];
    reports.map(|(changes, aliases)| {
        let mut lines = describe(&ChangesSince { changes: changes.clone(), ..ChangesSince::default() });
        for (of, change) in changes.iter().filter_map(|it| Some((&it.name, it.change.as_ref()?))) {
            let member =
                |it: &code::MemberChange| format!("{} {of}.{} {:?}", it.class.name(), it.key, it.change);
            lines.extend(change.members.iter().map(member));
        }
        lines.sort();
        (lines, aliases.iter().map(|it| format!("{} {}", it.old_name, it.new_name)).collect())
    })
}

#[test]
fn a_renamed_type_leaves_the_bodies_that_mention_it() {
    let reports = both_reports(|root| {
        replace_everywhere(root, "Store", "Shelf");
        let use_py = fs::read_to_string(root.join("shop/use.py")).unwrap();
        let (before, edited) = use_py.split_once("class Edited").unwrap();
        write_file(
            root,
            "shop/use.py",
            &format!("{before}class Edited{}", edited.replace("put(1)", "put(2)")),
        );
    });
    for (changes, aliases) in reports {
        assert_eq!(aliases, ["shop.store.Store shop.store.Shelf"]);
        assert_eq!(
            changes,
            [
                "Added shop.store.Shelf",
                "Cosmetic shop.use.Body",
                "PublicBehavior shop.use.Edited",
                "PublicBehavior shop.use.Edited.f Changed",
                "Removed shop.store.Store",
                "Structure shop.use.Signature",
                "Structure shop.use.Signature.f Changed",
            ]
        );
    }
}

#[test]
fn a_renamed_member_has_an_alias() {
    for (changes, aliases) in both_reports(|root| replace_everywhere(root, "put(", "add(")) {
        assert_eq!(aliases, ["shop.store.Store.put shop.store.Store.add"]);
        assert!(changes.contains(&"Structure shop.store.Store.put Removed".to_owned()), "{changes:?}");
        assert!(changes.contains(&"Cosmetic shop.use.Body".to_owned()), "{changes:?}");
    }
}

#[test]
fn a_member_that_another_replaces_has_none() {
    let replace = |body: &'static str| {
        move |root: &Path| {
            replace_everywhere(root, "def put(self, x: int):\n        self.items.append(x + 1)", body);
        }
    };
    // Another body, and the same body with other parameters.
    let others = [
        "def add(self, x: int):\n        self.items.extend(x + 1)",
        "def add(self, *, y: int):\n        self.items.append(x + 1)",
    ];
    for other in others {
        for (_, aliases) in both_reports(replace(other)) {
            assert_eq!(aliases, [""; 0], "{other}");
        }
    }
}

#[test]
fn a_former_member_leads_to_the_new_one() {
    let root = repository(MENTIONS);
    let mut store = Store::in_memory(root.path()).unwrap();
    store.refresh(NOW).unwrap();
    replace_everywhere(root.path(), "put(", "add(");
    store.refresh(NOW).unwrap();
    let found = store.resolve_name("Store.put", &|_| 0).unwrap();
    assert_eq!(found.redirected_from.unwrap().0, "shop.store.Store.put");
    let of = store.type_summary(found.resolved[0].of).unwrap().unwrap();
    assert_eq!(of.members[found.resolved[0].member.unwrap() as usize].name, "add");
}
