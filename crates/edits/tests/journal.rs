//! Applying and undoing: all files or none, after a kill between any two steps, with two editors, changed files and a full disk.
//!
//! Does not test how plans are made.

#![allow(clippy::unwrap_used, clippy::pedantic, clippy::type_complexity)] // a test may fail by panicking

use loci_edits::{
    EditError, Fault, Journal, JournalState, Plan, Position, RenameOptions, Step, SymbolPlace, Tree,
    plan_deletion, plan_insertion, plan_rename, plan_replacement,
};
use std::cell::Cell;
use std::io::{Error, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const FILES: [(&str, &str); 3] = [
    ("Get.java", "package p;\npublic class Get { }\n"),
    ("A.java", "package p;\r\nclass A { Get a; }\r\n"),
    ("B.java", "package p;\nclass B { Get b; Get c; }"),
];

struct Setup {
    home: tempfile::TempDir,
    plan: Plan,
}

impl Setup {
    fn new() -> Setup {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("tree")).unwrap();
        for (path, text) in FILES {
            std::fs::write(home.path().join("tree").join(path), text).unwrap();
        }
        let tree = Tree::open(&home.path().join("tree"), 1).unwrap();
        let at = SymbolPlace { file: "Get.java".into(), at: 24, name: "Get".into() };
        let plan = plan_rename(&tree, &at, "Fetch", RenameOptions::default()).unwrap();
        assert!(plan.is_complete() && plan.files.len() == 3, "{:?}", plan.unsure);
        Setup { home, plan }
    }

    fn root(&self) -> std::path::PathBuf {
        self.home.path().join("tree")
    }

    fn journal(&self) -> Journal {
        Journal::new(&self.root(), &self.home.path().join("edits"))
    }

    /// Every file of the tree, hidden ones too.
    fn snapshot(&self) -> Vec<(String, String)> {
        list(&self.root())
    }
}

fn list(root: &Path) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = std::fs::read_dir(root)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let text = String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap()).into_owned();
            (entry.file_name().into_string().unwrap(), text)
        })
        .collect();
    found.sort();
    found
}

/// Fails the n-th step.
struct FailAt {
    left: Cell<usize>,
    kind: ErrorKind,
}

impl Fault for FailAt {
    fn before(&self, _: Step) -> Option<Error> {
        let left = self.left.get();
        self.left.set(left.wrapping_sub(1));
        (left == 0).then(|| Error::from(self.kind))
    }
}

fn fail_at(step: usize, kind: ErrorKind) -> Box<FailAt> {
    Box::new(FailAt { left: Cell::new(step), kind })
}

#[test]
fn an_edit_is_applied_and_undone_byte_for_byte() {
    let setup = Setup::new();
    let before = setup.snapshot();
    let applied = setup.journal().apply(&setup.plan, 1).unwrap();
    let after = setup.snapshot();
    assert_eq!(after[0].1, "package p;\r\nclass A { Fetch a; }\r\n");
    assert_eq!(after[1].1, "package p;\nclass B { Fetch b; Fetch c; }");
    assert_eq!(after[2], ("Fetch.java".into(), "package p;\npublic class Fetch { }\n".into()));
    assert!(matches!(
        setup.journal().apply(&setup.plan, 1),
        Err(EditError::AlreadyApplied(_) | EditError::Changed(_))
    ));
    setup.journal().undo(&applied.id).unwrap();
    assert_eq!(setup.snapshot(), before);
    assert!(matches!(setup.journal().undo(&applied.id), Err(EditError::NotApplied(_))));
}

/// Kills a transaction before each of its steps, and looks only; then every way out leads to where it says.
fn kill_at_each_step(start: impl Fn(&Setup), run: impl Fn(&Journal, &Setup) -> Result<(), EditError>) {
    let (mut kills, mut named, mut partly) = (0, 0, 0);
    for step in 0.. {
        let mut results = Vec::new();
        for way_out in ["apply", "undo"] {
            let setup = Setup::new();
            let before = setup.snapshot();
            setup.journal().apply(&setup.plan, 1).unwrap();
            let after = setup.snapshot();
            setup.journal().undo(&setup.plan.id()).unwrap();
            start(&setup);
            if run(&setup.journal().with_fault(fail_at(step, ErrorKind::Interrupted)), &setup).is_ok() {
                break;
            }
            kills += 1;
            let killed = setup.snapshot();
            let interrupted = setup.journal().interrupted();
            let is_whole = killed == before || killed == after;
            assert!(interrupted.is_some() || is_whole, "step {step}: {killed:?}");
            setup.journal().entries();
            assert_eq!(setup.snapshot(), killed, "step {step}: looking writes nothing");
            named += usize::from(interrupted.is_some());
            partly += usize::from(!is_whole);
            let id = setup.plan.id();
            if way_out == "apply" {
                if setup.journal().finish(&id).unwrap().is_none() {
                    // it was at rest, and may be so on either side
                    let _ = setup.journal().apply(&setup.plan, 2);
                }
                assert_eq!(setup.snapshot(), after, "step {step}");
            } else {
                match setup.journal().undo(&id) {
                    Ok(_) => {}
                    Err(EditError::NotApplied(_) | EditError::NoSuchEdit(_)) => {
                        assert!(interrupted.is_none())
                    }
                    Err(error) => panic!("step {step}: {error}"),
                }
                assert_eq!(setup.snapshot(), before, "step {step}");
            }
            assert_eq!(setup.journal().interrupted(), None, "step {step}");
            results.push(way_out);
        }
        if results.is_empty() {
            break;
        }
    }
    assert!(kills > 20 && named > 10 && partly > 4, "{kills} {named} {partly}");
}

#[test]
fn a_kill_between_any_two_steps_of_applying_leaves_two_ways_out() {
    kill_at_each_step(|_| {}, |journal, setup| journal.apply(&setup.plan, 2).map(|_| ()));
}

#[test]
fn a_kill_between_any_two_steps_of_undoing_leaves_two_ways_out() {
    kill_at_each_step(
        |setup| drop(setup.journal().apply(&setup.plan, 2).unwrap()),
        |journal, setup| journal.undo(&setup.plan.id()).map(|_| ()),
    );
}

/// A setup whose edit was killed once its first file was written.
fn interrupted_setup() -> Setup {
    for step in 0.. {
        let setup = Setup::new();
        let _ = setup.journal().with_fault(fail_at(step, ErrorKind::Interrupted)).apply(&setup.plan, 1);
        if setup.root().join("Fetch.java").exists() {
            return setup;
        }
    }
    unreachable!("some step writes the first file")
}

#[test]
fn an_interrupted_edit_keeps_others_out_until_it_is_finished_or_rolled_back() {
    let setup = interrupted_setup();
    let named = setup.journal().interrupted().unwrap();
    assert_eq!((named.id, named.files), (setup.plan.id(), 4));
    assert!((1..4).contains(&named.written), "{}", named.written);
    let killed = setup.snapshot();
    let other = Plan { title: "another".into(), ..setup.plan.clone() };
    let refused = setup.journal().apply(&Plan { files: Vec::new(), ..other }, 2);
    assert!(matches!(refused, Err(EditError::Interrupted(_))), "{refused:?}");
    assert_eq!(setup.snapshot(), killed);
    setup.journal().undo(&setup.plan.id()).unwrap();
    assert!(setup.snapshot().iter().any(|(path, _)| path == "Get.java"));
}

#[test]
fn git_does_not_show_what_a_killed_edit_has_staged() {
    let setup = Setup::new();
    let git = |args: &[&str]| {
        let ran = std::process::Command::new("git")
            .args(args)
            .current_dir(setup.root())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap()
    };
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["-c", "user.name=n", "-c", "user.email=a@b", "commit", "-qm", "x"]);
    let mut most = 0;
    for step in 0.. {
        let ran = setup.journal().with_fault(fail_at(step, ErrorKind::Interrupted)).apply(&setup.plan, 1);
        let is_done = ran.is_ok();
        let status = git(&["status", "--porcelain", "--untracked-files=all"]);
        assert!(!status.contains("loci"), "step {step}: {status}");
        most = most.max(setup.journal().interrupted().map_or(0, |it| it.temporary));
        match setup.journal().undo(&setup.plan.id()) {
            Ok(_) => assert!(!setup.root().join(".git/loci").exists(), "step {step}"),
            Err(EditError::NoSuchEdit(_) | EditError::NotApplied(_)) => {}
            Err(error) => panic!("step {step}: {error}"),
        }
        assert_eq!(git(&["status", "--porcelain"]), "", "step {step}");
        if is_done {
            break;
        }
    }
    assert_eq!(most, 3, "they were staged somewhere");
}

#[test]
fn a_file_that_is_planned_and_read_is_named_once() {
    let setup = Setup::new();
    let mut plan = setup.plan.clone();
    let digest = plan.files.iter().find(|file| file.path == "B.java").unwrap().digest;
    plan.read.insert("B.java".into(), digest);
    std::fs::write(setup.root().join("B.java"), "package p; class B { Get b; }").unwrap();
    let refused = setup.journal().apply(&plan, 1).unwrap_err();
    assert_eq!(refused.to_string(), "changed since the edit was planned: B.java");
}

#[test]
fn a_full_disk_at_any_step_is_rolled_back() {
    for step in 0.. {
        let setup = Setup::new();
        let before = setup.snapshot();
        let failed = setup.journal().with_fault(fail_at(step, ErrorKind::StorageFull)).apply(&setup.plan, 1);
        if failed.is_ok() {
            assert!(step > 10);
            break;
        }
        assert!(matches!(failed, Err(EditError::RolledBack { .. })), "{failed:?}");
        assert_eq!(setup.snapshot(), before, "step {step}");
        assert!(setup.journal().entries().is_empty(), "step {step}");
    }
}

#[test]
fn an_undo_that_fails_at_any_step_leaves_the_edit_applied() {
    for step in 0.. {
        let setup = Setup::new();
        let before = setup.snapshot();
        let id = setup.journal().apply(&setup.plan, 1).unwrap().id;
        let after = setup.snapshot();
        let failed = setup.journal().with_fault(fail_at(step, ErrorKind::StorageFull)).undo(&id);
        if failed.is_ok() {
            assert!(step > 10);
            break;
        }
        let failed = failed.unwrap_err();
        assert!(matches!(failed, EditError::RolledBack { .. }), "step {step}: {failed:?}");
        assert_eq!(failed.reason(), "disk-full");
        assert_eq!(setup.snapshot(), after, "step {step}");
        setup.journal().undo(&id).unwrap();
        assert_eq!(setup.snapshot(), before, "step {step}");
    }
}

#[test]
fn an_edit_that_git_took_back_can_be_applied_again() {
    let setup = Setup::new();
    setup.journal().apply(&setup.plan, 1).unwrap();
    assert!(matches!(setup.journal().apply(&setup.plan, 1), Err(EditError::AlreadyApplied(_))));
    let after = setup.snapshot();
    std::fs::remove_file(setup.root().join("Fetch.java")).unwrap();
    for (path, text) in FILES {
        std::fs::write(setup.root().join(path), text).unwrap();
    }
    let before = setup.snapshot();
    let id = setup.journal().apply(&setup.plan, 2).unwrap().id;
    assert_eq!(setup.snapshot(), after);
    setup.journal().undo(&id).unwrap();
    assert_eq!(setup.snapshot(), before);
}

#[test]
fn plans_are_dropped_a_month_after_or_beyond_the_size_limit() {
    let setup = Setup::new();
    let save = |title: &str, diff: usize| {
        let plan = Plan { title: title.to_owned(), diff: "x".repeat(diff), ..setup.plan.clone() };
        setup.journal().save_plan(&plan).unwrap()
    };
    let age = |id: &str, seconds: u64| {
        let file = std::fs::File::options()
            .write(true)
            .open(setup.home.path().join(format!("edits/{id}.plan.json")))
            .unwrap();
        let written = file.metadata().unwrap().modified().unwrap();
        file.set_modified(written - std::time::Duration::from_secs(seconds)).unwrap();
    };
    let is_there = |id: &str| setup.journal().load_plan(id).is_ok();
    let (old, large) = (save("old", 0), save("large", 40 << 20));
    age(&old, 29 * 24 * 3600);
    let recent = save("recent", 0);
    assert!(is_there(&old) && is_there(&large) && is_there(&recent));
    age(&old, 3 * 24 * 3600);
    age(&large, 60);
    let second = save("second", 40 << 20);
    assert_eq!([&old, &large, &recent, &second].map(|id| is_there(id)), [false, false, true, true]);
}

/// Holds the journal's lock during a step by applying another plan from inside of it.
struct SecondEditor(std::path::PathBuf, Plan, Cell<Option<EditError>>);

impl Fault for SecondEditor {
    fn before(&self, step: Step) -> Option<Error> {
        if step == Step::Rename {
            let second = Journal::new(&self.0.join("tree"), &self.0.join("edits")).apply(&self.1, 2);
            self.2.set(second.err());
            return Some(Error::from(ErrorKind::StorageFull))
                .filter(|_| !matches!(self.2.take(), Some(EditError::Busy)));
        }
        None
    }
}

#[test]
fn of_two_editors_at_once_one_is_refused() {
    let setup = Setup::new();
    let second = SecondEditor(setup.home.path().into(), setup.plan.clone(), Cell::new(None));
    // the fault lets the first go on only if the second was refused as busy
    setup.journal().with_fault(Box::new(second)).apply(&setup.plan, 1).unwrap();
}

/// Fails a step unless a journal of the same folder says that an edit is being written.
struct Onlooker(Journal);

impl Fault for Onlooker {
    fn before(&self, _: Step) -> Option<Error> {
        (!self.0.is_writing()).then(|| Error::from(ErrorKind::StorageFull))
    }
}

#[test]
fn others_see_that_an_edit_is_being_written() {
    let setup = Setup::new();
    assert!(!setup.journal().is_writing());
    setup.journal().with_fault(Box::new(Onlooker(setup.journal()))).apply(&setup.plan, 1).unwrap();
    assert!(!setup.journal().is_writing());
}

#[test]
fn a_file_changed_after_planning_or_applying_is_named() {
    let setup = Setup::new();
    std::fs::write(setup.root().join("B.java"), "package p; class B { Get b; }").unwrap();
    let before = setup.snapshot();
    let refused = setup.journal().apply(&setup.plan, 1).unwrap_err();
    assert!(matches!(&refused, EditError::Changed(files) if files == &["B.java"]), "{refused:?}");
    assert_eq!(setup.snapshot(), before);

    let setup = Setup::new();
    let id = setup.journal().apply(&setup.plan, 1).unwrap().id;
    std::fs::write(setup.root().join("A.java"), "class A {}").unwrap();
    let after = setup.snapshot();
    let refused = setup.journal().undo(&id).unwrap_err();
    assert!(matches!(&refused, EditError::Changed(files) if files == &["A.java"]), "{refused:?}");
    assert_eq!(setup.snapshot(), after);
}

#[test]
fn a_file_that_someone_changed_during_a_crash_is_kept() {
    let setup = interrupted_setup();
    std::fs::write(setup.root().join("B.java"), "mine").unwrap();
    let killed = setup.snapshot();
    let refused = setup.journal().finish(&setup.plan.id()).unwrap_err();
    assert!(matches!(&refused, EditError::CannotFinish { paths, .. } if paths == &["B.java"]), "{refused:?}");
    assert_eq!(setup.snapshot(), killed, "nothing is written");
    let rolled_back = setup.journal().undo(&setup.plan.id()).unwrap();
    assert_eq!(rolled_back.kept, ["B.java"]);
    let now = setup.snapshot();
    assert!(now.iter().any(|(path, text)| path == "B.java" && text == "mine"), "{now:?}");
    assert!(now.iter().all(|(path, _)| !path.starts_with('.') && path != "Fetch.java"), "{now:?}");
    assert!(now.iter().any(|(path, text)| path == "A.java" && text.contains("Get a")), "{now:?}");
}

#[test]
fn read_only_files_and_links_are_refused_and_modes_are_kept() {
    let setup = Setup::new();
    let path = setup.root().join("B.java");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o444)).unwrap();
    assert!(
        matches!(setup.journal().apply(&setup.plan, 1), Err(EditError::ReadOnly(file)) if file == "B.java")
    );
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o750)).unwrap();
    setup.journal().apply(&setup.plan, 1).unwrap();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o750);

    let setup = Setup::new();
    std::fs::hard_link(setup.root().join("B.java"), setup.home.path().join("B")).unwrap();
    assert!(
        matches!(setup.journal().apply(&setup.plan, 1), Err(EditError::Linked(file)) if file == "B.java")
    );

    let setup = Setup::new();
    std::fs::rename(setup.root().join("B.java"), setup.home.path().join("B")).unwrap();
    std::os::unix::fs::symlink(setup.home.path().join("B"), setup.root().join("B.java")).unwrap();
    assert!(matches!(
        setup.journal().apply(&setup.plan, 1),
        Err(EditError::Changed(_) | EditError::Linked(_))
    ));
}

#[test]
fn a_path_outside_of_the_tree_is_never_written() {
    let setup = Setup::new();
    for path in ["../B.java", "/B.java", "a/../../B.java"] {
        let mut plan = setup.plan.clone();
        plan.files[0].moved_to = Some(path.into());
        assert!(setup.journal().apply(&plan, 1).is_err(), "{path}");
    }
}

#[test]
fn old_entries_are_dropped() {
    let setup = Setup::new();
    let id = setup.journal().apply(&setup.plan, 1).unwrap().id;
    setup.journal().undo(&id).unwrap();
    assert_eq!(setup.journal().entry(&id).unwrap().state, JournalState::Undone);
    let tree = Tree::open(&setup.root(), 1).unwrap();
    let at = SymbolPlace { file: "A.java".into(), at: 18, name: "A".into() };
    let other = plan_rename(&tree, &at, "Z", RenameOptions::default()).unwrap();
    setup.journal().apply(&other, 40 * 24 * 3600 * 1000).unwrap();
    assert!(matches!(setup.journal().entry(&id), Err(EditError::NoSuchEdit(_))));
}

// ---- bodies, insertions, deletions

fn edit(
    file: &str,
    text: &[u8],
    name: &str,
    plan: impl Fn(&Tree, &SymbolPlace) -> Result<Plan, EditError>,
) -> Result<Vec<u8>, EditError> {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join(file), text).unwrap();
    let tree = Tree::open(home.path(), 1).unwrap();
    let at = tree.text(file).unwrap().text.find(name).unwrap() as u32;
    let plan = plan(&tree, &SymbolPlace { file: file.into(), at, name: name.into() })?;
    Journal::new(home.path(), &home.path().join(".edits")).apply(&plan, 1)?;
    Ok(std::fs::read(home.path().join(file)).unwrap())
}

#[test]
fn a_body_is_replaced_with_its_indentation_and_line_ends() {
    let table: &[(&str, &[u8], &str, &[u8])] = &[
        (
            "a.rs",
            b"mod m {\r\n    fn get() {\r\n        1\r\n    }\r\n}\r\n",
            "2 +\n3",
            b"mod m {\r\n    fn get() {\r\n        2 +\r\n        3\r\n    }\r\n}\r\n",
        ),
        (
            "a.go",
            b"package a\n\nfunc get() int {\n\treturn 1\n}\n",
            "{\n\treturn 2\n}",
            b"package a\n\nfunc get() int {\n\treturn 2\n}\n",
        ),
        (
            "a.py",
            b"class A:\n    def get(self):\n        return 1\n",
            "x = 2\nreturn x",
            b"class A:\n    def get(self):\n        x = 2\n        return x\n",
        ),
        (
            "A.java",
            b"\xef\xbb\xbfclass A {\n  int get() {\n    return 1;\n  }\n}",
            "return 2;",
            b"\xef\xbb\xbfclass A {\n  int get() {\n    return 2;\n  }\n}",
        ),
        (
            "a.ts",
            b"function get() {\n  return 1;\r\n}\r\n",
            "return 2;",
            b"function get() {\n  return 2;\n}\r\n",
        ),
        (
            "A.cs",
            b"class A {\n    int get() { return 1; }\n}\n",
            "return 2;",
            b"class A {\n    int get() {\n        return 2;\n    }\n}\n",
        ),
    ];
    for (file, before, new, after) in table {
        let done = edit(file, before, "get", |tree, at| plan_replacement(tree, at, new, false)).unwrap();
        assert_eq!(String::from_utf8_lossy(&done), String::from_utf8_lossy(after), "{file}");
    }
}

#[test]
fn utf_16_stays_utf_16() {
    let encode = |text: &str| -> Vec<u8> {
        [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect()
    };
    let before = encode("class A {\r\n    int get() { return 1; }\r\n}");
    let done = edit("A.cs", &before, "get", |tree, at| {
        plan_rename(tree, at, "f\u{e4}tch", RenameOptions::default())
    });
    assert_eq!(done.unwrap(), encode("class A {\r\n    int f\u{e4}tch() { return 1; }\r\n}"));
}

#[test]
fn a_whole_declaration_is_replaced_and_broken_text_is_refused() {
    let before = b"struct A;\n\nimpl A {\n    fn get() {}\n}\n";
    let whole = |new: &'static str| {
        edit("a.rs", before, "get", move |tree, at| plan_replacement(tree, at, new, true))
    };
    assert_eq!(
        whole("fn get() -> u8 {\n    1\n}").unwrap(),
        b"struct A;\n\nimpl A {\n    fn get() -> u8 {\n        1\n    }\n}\n"
    );
    assert!(matches!(whole("fn get( {"), Err(EditError::Broken { .. })));
}

#[test]
fn text_is_inserted_before_after_and_inside() {
    let before = b"struct A;\n\nimpl A {\n    /// Gets.\n    fn get() {}\n}\n";
    let insert = |position| {
        let name = if position == Position::Inside { "A" } else { "get" };
        let done =
            edit("a.rs", before, name, |tree, at| plan_insertion(tree, at, position, "fn set() {\n    1\n}"));
        done.map(|bytes| String::from_utf8(bytes).unwrap())
    };
    let new = "    fn set() {\n        1\n    }";
    assert_eq!(
        insert(Position::Before).unwrap(),
        format!("struct A;\n\nimpl A {{\n{new}\n\n    /// Gets.\n    fn get() {{}}\n}}\n")
    );
    assert_eq!(
        insert(Position::After).unwrap(),
        format!("struct A;\n\nimpl A {{\n    /// Gets.\n    fn get() {{}}\n\n{new}\n}}\n")
    );
    let class = b"class A {\n    get() {}\n}\n";
    let done =
        edit("a.ts", class, "A", |tree, at| plan_insertion(tree, at, Position::Inside, "set() {}")).unwrap();
    assert_eq!(String::from_utf8(done).unwrap(), "class A {\n    get() {}\n\n    set() {}\n}\n");
    let python = b"class A:\n    def get(self): pass\n\nx = 1\n";
    let done = edit("a.py", python, "A", |tree, at| {
        plan_insertion(tree, at, Position::Inside, "def set(self): pass")
    });
    assert_eq!(
        String::from_utf8(done.unwrap()).unwrap(),
        "class A:\n    def get(self): pass\n\n    def set(self): pass\n\nx = 1\n"
    );
}

#[test]
fn a_used_declaration_is_not_deleted() {
    let used = b"fn get() {}\n\n/// Sets.\nfn set() {\n    get()\n}\n";
    let refused = edit("a.rs", used, "get", |tree, at| plan_deletion(tree, at, false)).unwrap_err();
    assert!(matches!(&refused, EditError::StillUsed { places, .. } if places[0].line == 5), "{refused:?}");
    let forced = edit("a.rs", used, "get", |tree, at| plan_deletion(tree, at, true)).unwrap();
    assert_eq!(forced, b"/// Sets.\nfn set() {\n    get()\n}\n");
    let go = b"package a\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\nfunc get() { fmt.Println() }\n\nfunc set() { os.Exit(1) }\n";
    let deleted = edit("a.go", go, "get", |tree, at| plan_deletion(tree, at, false)).unwrap();
    assert_eq!(
        deleted, b"package a\n\nimport (\n\t\"os\"\n)\n\nfunc set() { os.Exit(1) }\n",
        "Go refuses unused imports"
    );
    let unused = edit("a.rs", used, "set", |tree, at| plan_deletion(tree, at, false)).unwrap();
    assert_eq!(unused, b"fn get() {}\n\n");
}
