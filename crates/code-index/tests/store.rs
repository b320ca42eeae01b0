//! The stored index: a refreshed one equals a freshly built one after any edits, a refresh costs only as much as the
//! change, and notes become stale when they should.

#![allow(clippy::unwrap_used)]

use code::Baseline;
use code::{ChangeClass, NoteStatus, RefreshOptions};
use folder::LociFolder;
use loci_code_index::{ExportOptions, NoteHead, Store, StoreError};
use proptest::prelude::*;
use std::fs;
use std::path::Path;
use syntax::TypeId;
use tempfile::TempDir;

/// In the past: every file may have been written since, so each is read again.
const NOW: RefreshOptions<'_> = RefreshOptions { now: 0, threads: 2, progress: &|_, _| true };
/// In the far future: files with unchanged metadata are unchanged.
const LATER: RefreshOptions<'_> =
    RefreshOptions { now: i64::MAX / 2_000_000, threads: 2, progress: &|_, _| true };

fn create_tree(files: &[(&str, &str)]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        write_file(root.path(), path, text);
    }
    root
}

fn write_file(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Two projects, one of which uses the other; names that hide each other; a partial type in two files; an attribute.
fn sample_tree() -> TempDir {
    let root = create_tree(&[
        ("Core/Core.csproj", "<Project Sdk=\"Microsoft.NET.Sdk\" />"),
        (
            "App/App.csproj",
            "<Project Sdk=\"Microsoft.NET.Sdk\"><ItemGroup><ProjectReference Include=\"..\\Core\\Core.csproj\" /></ItemGroup></Project>",
        ),
        (
            "Core/Node.cs",
            "namespace Core { public partial class Node : Base { public Kind Kind { get; set; } } }",
        ),
        ("Core/Node.More.cs", "namespace Core { partial class Node { private int count = 1; } }"),
        (
            "Core/Base.cs",
            "namespace Core { public class Base { public class Inner { } public virtual void Run() { } } }",
        ),
        ("Core/Kind.cs", "namespace Core { public enum Kind { One, Two } }"),
        ("Core/MarkAttribute.cs", "namespace Core { public class MarkAttribute : System.Attribute { } }"),
        (
            "App/Store.cs",
            "using Core; namespace App { [Mark] public class Store : Node { Inner inner; public Node Get(Kind kind) { return kind == Kind.One ? null : new Node(); } } }",
        ),
        ("App/Other.cs", "namespace App { public class Other { public Store All() { return null; } } }"),
        ("web/package.json", "{\"name\": \"web\"}"),
        ("web/a.ts", "import { B } from './b';\nexport class A extends B { run(b: B): void {} }\n"),
        ("web/b.ts", "export class B { id = 1; }\n"),
        ("web/index.ts", "export * from './b';\n"),
        ("web/more.ts", "export { B as C } from './index';\n"),
        (
            "web/use.ts",
            "import { B } from './index';\nimport { C } from './more';\nexport class U { b?: B; c?: C }\n",
        ),
        ("py/pyproject.toml", "[project]\nname = \"py\"\n"),
        ("py/py/__init__.py", "from .store import Store\n"),
        ("py/py/store.py", "class Store:\n    pass\n\nclass Other:\n    pass\n"),
        ("py/py/use.py", "from py import Store\n\nclass Shelf(Store):\n    pass\n"),
        ("rust/Cargo.toml", "[package]\nname = \"rust\"\n"),
        (
            "rust/src/lib.rs",
            "mod inner;\nmod user;\npub use inner::*;\npub struct Outer { pub inner: inner::Inner }\n",
        ),
        (
            "rust/src/user.rs",
            "use crate::Inner;\npub struct User { pub inner: Inner, pub other: crate::Other }\n",
        ),
        ("rust/src/inner.rs", "pub struct Inner;\nimpl crate::Outer { pub fn make() -> Self { todo!() } }\n"),
        ("Base/One.cs", "namespace N1 { public class A { public class Inner { } public static int Z; } }"),
        ("Base/Two.cs", "namespace N2 { public class A { public class Inner { } } }"),
        ("Base/B.cs", "using N1; namespace N { public class B : A { public A A; } }"),
        ("Base/C.cs", "namespace N { public class C : B { Inner inner; int z = A.Z; } }"),
        ("Base/D.cs", "namespace M { class D { N.B.Inner b; N.C.Inner c; } [Foo] class V { } }"),
        ("Base/Foo.cs", "public class Foo : Mid { } public class Mid : System.Attribute { }"),
        ("py/py/a.py", "class A:\n    class Inner:\n        pass\n"),
        ("py/py/a2.py", "class A:\n    class Inner:\n        pass\n"),
        ("py/py/b.py", "from py.a import A\n\nclass B(A):\n    pass\n"),
        ("py/py/c.py", "from py.b import B\n\nclass C:\n    x: B.Inner\n"),
    ]);
    // enough other files that a refresh joins only a part again
    for n in 0..60 {
        write_file(root.path(), &format!("Far/F{n}.cs"), &format!("namespace Far {{ class F{n} {{ }} }}"));
    }
    root
}

/// Possible changes of the tree: a path and its new text; `None` removes it.
const EVENTS: &[(&str, Option<&str>)] = &[
    ("Core/Node.cs", Some("namespace Core { public partial class Node { public Kind Kind { get; set; } } }")),
    ("Core/Node.More.cs", None),
    ("Core/Node.More.cs", Some("namespace Core { partial class Node { private int count = 2; } }")),
    ("Core/Base.cs", Some("namespace Core { public class Base { public void Run() { Node n; } } }")),
    (
        "Core/Base.cs",
        Some("namespace Core { public class Base { public class Inner { } public int Kind; } }"),
    ),
    ("Core/Kind.cs", Some("namespace Core { public enum Kinds { One, Two } }")),
    ("Core/Kind.cs", Some("namespace App { public enum Kind { One } }")),
    ("App/Kind.cs", Some("namespace App { public class Kind { public static int One; } }")),
    ("App/Kind.cs", None),
    ("App/Mark.cs", Some("namespace App { public class Mark : System.Attribute { } }")),
    ("App/Global.cs", Some("global using Core;")),
    ("App/Store.cs", Some("namespace App { public class Store { Node node; } }")),
    ("App/App.csproj", Some("<Project Sdk=\"Microsoft.NET.Sdk\" />")),
    ("App/Core/Node.cs", Some("namespace App.Core { public class Node { } }")),
    ("web/b.ts", Some("export interface B { id: number }\n")),
    ("web/c.ts", Some("export { B } from './b';\nexport class C { b?: B }\n")),
    ("rust/src/inner.rs", Some("pub struct Inner { pub outer: Option<Box<crate::Outer>> }\n")),
    ("rust/src/lib.rs", Some("mod inner;\npub use inner::Inner as Outer;\n")),
    ("web/index.ts", Some("export * from './a';\n")),
    ("web/index.ts", Some("export { A as B } from './a';\n")),
    ("web/more.ts", Some("export { A as C } from './a';\n")),
    ("web/b.ts", Some("export class Bb { id = 1; }\n")),
    ("py/py/__init__.py", Some("from .store import Other as Store\n")),
    ("py/py/store.py", Some("class Other:\n    pass\n")),
    ("rust/src/lib.rs", Some("mod inner;\nmod user;\npub use inner::Inner as Other;\npub struct Outer;\n")),
    ("rust/src/inner.rs", Some("pub struct Inner;\npub struct Other;\n")),
    ("App/Global.cs", Some("global using Alias = Core.Kind;")),
    ("App/Uses.cs", Some("namespace App { public class Uses { public Alias A() { return default; } } }")),
    ("Base/B.cs", Some("using N2; namespace N { public class B : A { public A A; } }")),
    ("Base/B.cs", Some("namespace N { public class B : A { public A A; } }")),
    ("Base/B.cs", Some("namespace N { public class B { } }")),
    (
        "Base/D.cs",
        Some(
            "namespace N { class A { } } namespace M { class D { N.B.Inner b; N.C.Inner c; } [Foo] class V { } }",
        ),
    ),
    ("Base/Foo.cs", Some("public class Foo : Mid { } public class Mid { }")),
    ("Base/One.cs", Some("namespace N1 { public class A { } }")),
    ("Base/Big.cs", None),
    ("Base/Big.cs", Some("class Big { N.B.Inner inner; }")),
    ("Base/Big.cs", Some(BIG)),
    ("py/py/b.py", Some("from py.a2 import A\n\nclass B(A):\n    pass\n")),
    ("py/py/b.py", Some("import os\n\nclass B:\n    pass\n")),
    ("Far/F1.cs", None),
    ("Far/More.cs", Some("namespace Far { class More { F2 f; } }")),
    (".gitignore", Some("rust/\n")),
    ("Core/Kind.cs", None),
];

/// Placeholder for a file that is too large to be read.
const BIG: &str = "big";

fn apply_event(root: &Path, event: usize) {
    let (path, text) = EVENTS[event % EVENTS.len()];
    match text {
        Some(BIG) => write_file(root, path, &"//".repeat(5 << 20)),
        Some(text) => write_file(root, path, text),
        None => drop(fs::remove_file(root.join(path))),
    }
}

fn fresh_store(root: &Path) -> Store {
    let mut store = Store::in_memory(root).unwrap();
    store.refresh(NOW).unwrap();
    store
}

proptest! {
    // an eighth of the default or of `PROPTEST_CASES`: each case reads a tree ten times
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 8, ..ProptestConfig::default() })]

    #[test]
    fn a_refreshed_index_equals_a_fresh_one(batches in prop::collection::vec(prop::collection::vec(0..EVENTS.len(), 1..4), 1..5)) {
        let root = sample_tree();
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(&folder.path().join("kept.db"), root.path()).unwrap();
        store.refresh(NOW).unwrap();
        for batch in batches {
            for event in &batch {
                apply_event(root.path(), *event);
            }
            store.refresh(NOW).unwrap();
            let fresh = fresh_store(root.path());
            prop_assert_eq!(store.types().unwrap(), fresh.types().unwrap(), "after {:?}", &batch);
            for (id, _) in fresh.types().unwrap() {
                prop_assert_eq!(store.type_summary(id).unwrap(), fresh.type_summary(id).unwrap(), "after {:?}", &batch);
                prop_assert_eq!(store.uses(id).unwrap(), fresh.uses(id).unwrap(), "after {:?}", &batch);
            }
            prop_assert_eq!(store.fingerprint().unwrap(), fresh.fingerprint().unwrap(), "after {:?}", &batch);
            prop_assert_eq!(store.extent().unwrap(), fresh.extent().unwrap());
        }
    }
}

#[test]
fn the_cost_of_a_changed_body_does_not_depend_on_the_size_of_the_tree() {
    let cost = |others: usize| {
        let root = sample_tree();
        for n in 0..others {
            let text =
                format!("namespace Far{n} {{ public class Far{n} {{ public int F() {{ return {n}; }} }} }}");
            write_file(root.path(), &format!("Far/F{n}.cs"), &text);
        }
        let mut store = Store::in_memory(root.path()).unwrap();
        store.refresh(LATER).unwrap();
        let all = store.refresh(LATER).unwrap().read_bytes;
        write_file(
            root.path(),
            "App/Other.cs",
            "namespace App { public class Other { public Store All() { return new Store(); } } }",
        );
        let done = store.refresh(LATER).unwrap();
        assert_eq!((done.parsed, done.hashed, done.joined_whole), (1, 1, false));
        assert_eq!(done.changes.len(), 1);
        (done.source_bytes, done.read_bytes - all, done.written_bytes)
    };
    assert_eq!(cost(2), cost(400));
}

#[test]
fn changes_are_classified_and_affect_dependents() {
    let root = sample_tree();
    let mut store = Store::in_memory(root.path()).unwrap();
    assert_eq!(store.refresh(NOW).unwrap().changes, [], "a first build reports no changes");
    let changes = |store: &mut Store, path: &str, text: &str| -> Vec<(String, Option<ChangeClass>)> {
        write_file(root.path(), path, text);
        let done = store.refresh(NOW).unwrap();
        done.changes.into_iter().map(|it| (it.name, it.change.map(|change| change.class))).collect()
    };
    let kind = |more: &str| format!("namespace Core {{ public enum Kind {{ One, Two{more} }} }}");
    assert_eq!(
        changes(&mut store, "Core/Kind.cs", &kind(", Three")),
        [("Core.Kind".into(), Some(ChangeClass::Structure))]
    );
    let state = |store: &Store, name: &str| {
        let id = store.types().unwrap().into_iter().find(|(_, it)| it == name).unwrap().0;
        store.note_state(id).unwrap()
    };
    assert!(state(&store, "Core.Node").dependency_changed && state(&store, "App.Store").dependency_changed);
    assert!(!state(&store, "App.Other").dependency_changed, "it uses neither of them");
    assert_eq!(state(&store, "Core.Node").status, NoteStatus::None, "without a note nothing can be stale");
    assert_eq!(changes(&mut store, "Core/Kind.cs", &(kind(", Three") + " // x")), [], "a trailing comment");
    let more = "namespace Core { partial class Node { private int count = 7; } }";
    assert_eq!(
        changes(&mut store, "Core/Node.More.cs", more),
        [("Core.Node".into(), Some(ChangeClass::Internal))]
    );
    assert!(state(&store, "Core.Node").has_drift());
}

#[test]
fn a_name_that_resolves_differently_changes_the_types_that_reference_it() {
    let root = sample_tree();
    let mut store = Store::in_memory(root.path()).unwrap();
    store.refresh(NOW).unwrap();
    write_file(root.path(), "App/Kind.cs", "namespace App { public class Kind { public static Kind One; } }");
    let done = store.refresh(NOW).unwrap();
    let structure: Vec<&str> = done
        .changes
        .iter()
        .filter(|it| it.change.as_ref().is_some_and(|change| change.class == ChangeClass::Structure))
        .map(|it| it.name.as_str())
        .collect();
    assert_eq!(structure, ["App.Store"], "its Kind resolves to another type, although its file is unchanged");
    assert_eq!(done.parsed, 1);
}

#[test]
fn a_renamed_type_is_detected() {
    let root = create_tree(&[
        (
            "a.cs",
            "namespace N { public class Old { public int A() { return 1; } public int B(string s) { return s.Length; } } }",
        ),
        ("b.cs", "namespace N { public class User { Old old; } }"),
    ]);
    let mut store = Store::in_memory(root.path()).unwrap();
    store.refresh(NOW).unwrap();
    write_file(
        root.path(),
        "a.cs",
        "namespace N { public class New { public int A() { return 1; } public int B(string s) { return s.Length; } } }",
    );
    write_file(root.path(), "b.cs", "namespace N { public class User { New old; } }");
    let done = store.refresh(NOW).unwrap();
    let names: Vec<(&str, &str)> =
        done.aliases.iter().map(|it| (it.old_name.as_str(), it.new_name.as_str())).collect();
    assert_eq!(names, [("N.Old", "N.New")]);
    assert_eq!(store.renamed_types().unwrap(), done.aliases);
}

#[test]
fn a_cancelled_refresh_stores_nothing() {
    let root = sample_tree();
    for n in 0..1100 {
        write_file(root.path(), &format!("many/{n}.txt"), "");
    }
    let mut store = Store::in_memory(root.path()).unwrap();
    for after in [0, 1, 3] {
        let calls = std::sync::atomic::AtomicU64::new(0);
        let progress = |_, _| calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < after;
        let stopped = store.refresh(RefreshOptions { progress: &progress, ..NOW });
        assert!(matches!(stopped, Err(StoreError::Cancelled)), "{stopped:?}");
        assert_eq!(store.types().unwrap(), []);
    }
    store.refresh(NOW).unwrap();
    assert!(!store.types().unwrap().is_empty());
}

#[test]
fn an_unreadable_file_does_not_affect_the_others() {
    let root = sample_tree();
    let mut store = Store::in_memory(root.path()).unwrap();
    store.refresh(NOW).unwrap();
    let before = store.types().unwrap().len();
    fs::remove_file(root.path().join("App/Other.cs")).unwrap();
    std::os::unix::fs::symlink("nowhere", root.path().join("App/Other.cs")).unwrap();
    store.refresh(NOW).unwrap();
    assert_eq!(store.types().unwrap().len(), before - 1);
}

#[test]
fn a_note_becomes_stale_if_something_changes_during_writing() {
    let tree = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(tree.path().join(name), text).unwrap();
    write("A.cs", "public class A { public B Made; public int One() { return 1; } }");
    write("B.cs", "public class B { public int Two; }");
    let mut store = Store::in_memory(tree.path()).unwrap();
    let mut now = 1_000_000;
    let mut refresh = |store: &mut Store| {
        now += 60_000;
        store.refresh(RefreshOptions { now, threads: 1, progress: &|_, _| true }).unwrap();
        now
    };
    let at = refresh(&mut store);
    let id = store.types().unwrap().into_iter().find(|(_, name)| name == "A").unwrap().0;
    let base = |store: &Store| {
        let card = store.type_summary(id).unwrap().unwrap();
        let text = std::fs::read_to_string(tree.path().join("A.cs")).unwrap();
        Baseline::capture(&card, &|place, signature| {
            let span = if signature { place.signature } else { place.span };
            span.text_in(&text).to_string()
        })
    };
    assert_eq!(store.request_note(id, at).unwrap().status, NoteStatus::Pending);
    assert_eq!(store.requested_notes(at).unwrap().len(), 1);
    let before = store.begin_note(id, at).unwrap();
    assert_eq!(
        (before.status, store.note_state(id).unwrap().status),
        (NoteStatus::Pending, NoteStatus::Generating)
    );
    store.abandon_note(id, &before, at).unwrap();
    assert_eq!(
        store.requested_notes(at).unwrap()[0].1.status,
        NoteStatus::Pending,
        "a failed note is still requested"
    );
    // the structure of a dependency changes during writing
    store.begin_note(id, at).unwrap();
    let then = base(&store);
    write("B.cs", "public class B { public long Two; }");
    refresh(&mut store);
    assert_eq!(store.finish_note(id, "a note", &then, true).unwrap().status, NoteStatus::Stale);
    store.begin_note(id, at).unwrap();
    assert_eq!(store.finish_note(id, "a note", &then, true).unwrap().status, NoteStatus::Cached);
    assert_eq!(store.note_state_for_text(id, "a note", true, at).unwrap().status, NoteStatus::Cached);
    assert!(store.requested_notes(at).unwrap().is_empty());
    let before = store.begin_note(id, at).unwrap();
    store.abandon_note(id, &before, at).unwrap();
    assert_eq!(
        store.note_state(id).unwrap().status,
        NoteStatus::Cached,
        "a failed rewrite leaves a current note current"
    );
    // the baseline gives the changes since
    assert_eq!(store.baseline_of(id).unwrap().unwrap().changes_since(&base(&store)), None);
    write("A.cs", "public class A { public B Made; public int One() { return 11; } }");
    refresh(&mut store);
    let (class, members) = store.baseline_of(id).unwrap().unwrap().changes_since(&base(&store)).unwrap();
    assert_eq!((class, members.len()), (ChangeClass::PublicBehavior, 1));
    assert_eq!(members[0].signature, "public int One()");
    assert_eq!(members[0].diff, ["- public int One() { return 1; }", "+ public int One() { return 11; }"]);
    // a text that another process changed is a different note
    assert_eq!(store.note_state_for_text(id, "another", false, at).unwrap().status, NoteStatus::Stale);
}

const LEDGER: &str = "public class Ledger { public Coin First; public int Sum(int more) { return more + 40000000; } public int Low(string text) { return text.Length; } }";

/// A tree with a type that has a current note, and the type it uses.
fn noted_tree() -> (TempDir, Store) {
    let tree = create_tree(&[("Ledger.cs", LEDGER), ("Coin.cs", "public class Coin { public int Worth; }")]);
    let mut store = Store::in_memory(tree.path()).unwrap();
    store.refresh(NOW).unwrap();
    let id = type_named(&store, "Ledger");
    assert_eq!(store.note_state_for_text(id, "a note", true, 0).unwrap().status, NoteStatus::Cached);
    (tree, store)
}

fn type_named(store: &Store, name: &str) -> TypeId {
    store.types().unwrap().into_iter().find(|(_, it)| it == name).unwrap().0
}

#[test]
fn a_renamed_type_keeps_a_current_note_only_if_nothing_else_changed() {
    let body = "return more + 40000000;";
    for (text, status) in [
        (LEDGER.to_owned(), NoteStatus::Cached),
        (LEDGER.replace(body, "return more - 40000000;"), NoteStatus::Stale),
        (LEDGER.replace("int Sum(", "long Sum("), NoteStatus::Stale),
        (LEDGER.replace("Coin First", "private int own; public Coin First"), NoteStatus::Cached),
    ] {
        let (tree, mut store) = noted_tree();
        write_file(tree.path(), "Ledger.cs", &text.replace("Ledger", "Journal"));
        let done = store.refresh(NOW).unwrap();
        assert_eq!(done.aliases.len(), 1, "{text}");
        let state = store.note_state(type_named(&store, "Journal")).unwrap();
        assert_eq!(state.status, status, "{text}");
        assert_eq!(state.has_drift(), text.contains("own"), "{text}");
        // The edit is reverted, under the new name and under the old one.
        for name in ["Journal", "Ledger"] {
            write_file(tree.path(), "Ledger.cs", &LEDGER.replace("Ledger", name));
            store.refresh(NOW).unwrap();
        }
        let state = store.note_state(type_named(&store, "Ledger")).unwrap();
        assert_eq!((state.status, state.has_drift()), (NoteStatus::Cached, false), "{text}");
    }
}

#[test]
fn a_note_is_current_again_when_an_edit_is_reverted() {
    let coin = "public class Coin { public int Worth; }";
    for (path, before, after) in [
        ("Ledger.cs", LEDGER, LEDGER.replace("int Sum(", "long Sum(")),
        ("Ledger.cs", LEDGER, LEDGER.replace("return more", "return 7 + more")),
        ("Coin.cs", coin, coin.replace("int Worth", "long Worth")),
    ] {
        let (tree, mut store) = noted_tree();
        let id = type_named(&store, "Ledger");
        write_file(tree.path(), path, &after);
        store.refresh(NOW).unwrap();
        assert_eq!(store.note_state(id).unwrap().status, NoteStatus::Stale, "{after}");
        assert_eq!(store.request_note(id, 0).unwrap().status, NoteStatus::Pending);
        write_file(tree.path(), path, before);
        store.refresh(NOW).unwrap();
        let state = store.note_state(id).unwrap();
        assert_eq!((state.status, state.dependency_changed), (NoteStatus::Cached, false), "{after}");
        assert!(store.requested_notes(0).unwrap().is_empty(), "nothing is left to write");
    }
}

#[test]
fn files_without_active_code_are_counted() {
    let tree = create_tree(&[
        ("Off.cs", "#if NOWHERE\npublic class Off { }\n#endif\n"),
        ("On.cs", "public class On { }\n#if NOWHERE\npublic class Never { }\n#endif\n"),
        ("Empty.cs", "// nothing\n"),
    ]);
    let mut store = Store::in_memory(tree.path()).unwrap();
    store.refresh(NOW).unwrap();
    let extent = store.extent().unwrap();
    assert_eq!((extent.files, extent.inactive, extent.with_gaps), (3, 1, 0));
    write_file(tree.path(), "Off.cs", "public class Off { }");
    store.refresh(NOW).unwrap();
    assert_eq!(store.extent().unwrap().inactive, 0);
}

#[test]
fn writing_a_note_does_not_invalidate_the_outlines() {
    let tree = create_tree(&[("A.cs", "public class A { public int One; }")]);
    let mut store = Store::in_memory(tree.path()).unwrap();
    let done = store.refresh(NOW).unwrap();
    let folder = LociFolder::open_or_create(tree.path()).unwrap();
    let lock = folder.lock_for_writing(std::time::Duration::from_secs(5)).unwrap();
    let (mask, parse_note) = (|text: &str| text.to_string(), |_: &str| NoteHead::default());
    let options = ExportOptions { mask: &mask, parse_note: &parse_note };
    store.export_files(&folder, &lock, &done, &options).unwrap();
    assert!(store.is_exported(&folder, &done).unwrap());
    store.without_invalidating(&folder, || lock.write("types/T_a.semantic.md", b"ROLE: x\n")).unwrap();
    assert!(store.is_exported(&folder, &done).unwrap(), "its own write does not count as a change");
    lock.write("types/T_b.semantic.md", b"ROLE: y\n").unwrap();
    assert!(!store.is_exported(&folder, &done).unwrap(), "another process may have changed anything");
    store.without_invalidating(&folder, || lock.write("types/T_c.semantic.md", b"ROLE: z\n")).unwrap();
    assert!(!store.is_exported(&folder, &done).unwrap(), "the other change still has to be checked");
}
