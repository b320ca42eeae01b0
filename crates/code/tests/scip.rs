//! SCIP indexes: decoding agrees with the official bindings, usages map to positions in the source files, and stale
//! files fall back to name resolution.

#![allow(clippy::unwrap_used)] // a test may fail by panicking

use loci_code::scip::{
    Damage, Declaration, Freshness, Index, IndexPlaces, ScipError, SymbolUsages, SymbolVerdicts, TreeIndexes,
    Verdict,
};
use loci_code::{Codebase, Resolver, SymbolIndex, TypeNames, hash_type, read_tree};
use project::discover;
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use syntax::{Span, TypeKind};

const FIXTURES: &[&str] = &["typescript", "rust"];

fn fixture_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/scip").join(name)
}

/// A copy of a fixture whose files are older than its index.
fn sample_tree(name: &str) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("src")).unwrap();
    for folder in ["", "src"] {
        for entry in fs::read_dir(fixture_path(name).join(folder)).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_file() {
                let path = root.path().join(folder).join(entry.file_name());
                fs::copy(entry.path(), &path).unwrap();
                set_time(&path, if path.ends_with("index.scip") { 200 } else { 100 });
            }
        }
    }
    root
}

fn set_time(path: &Path, seconds: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

/// Changes a file after it was indexed.
fn edit_file(root: &Path, path: &str, change: impl Fn(String) -> String) {
    let path = root.join(path);
    let text = change(fs::read_to_string(&path).unwrap());
    fs::write(&path, text).unwrap();
    set_time(&path, 300);
}

fn load_codebase(root: &Path) -> Codebase {
    read_tree(root, &discover(root).unwrap(), 1).0
}

fn load_indexes<'a>(code: &'a Codebase, root: &'a Path) -> (TreeIndexes<'a>, Vec<ScipError>) {
    TreeIndexes::load(code, IndexPlaces { root, cache: None })
}

fn find_declaration(code: &Codebase, path: &str) -> Declaration {
    let types = TypeNames::of_codebase(code);
    let result = SymbolIndex::new(&types, &|_| 0).resolve_path(path);
    Declaration::locate(code, result.resolved.unwrap_or_else(|| panic!("{path}: {result:?}")))
}

/// `file:line:column role` of each usage.
fn describe_usages(code: &Codebase, usages: &SymbolUsages) -> Vec<String> {
    let one = |it: &loci_code::scip::UsagePosition| {
        let path = &code.files[it.file as usize].path;
        format!("{}:{}:{} {}", path.trim_start_matches("src/"), it.line, it.column, it.roles.name())
    };
    usages.places.iter().map(one).collect()
}

#[test]
fn occurrences_agree_with_the_official_bindings() {
    for name in FIXTURES {
        let index = Index::open(&fixture_path(name).join("index.scip")).unwrap();
        assert_eq!(index.damage, []);
        let mut decoded = Vec::new();
        for document in &index.documents {
            for it in &document.occurrences {
                let ((line, column), (end, until)) = (it.from, it.to);
                let (path, symbol) = (&document.path, index.symbol_name(it.symbol));
                decoded.push(format!("{path}\t{line}:{column}-{end}:{until}\t{}\t{symbol}", it.roles.0));
            }
        }
        decoded.sort();
        let reference = fs::read_to_string(fixture_path(name).join("index.tsv")).unwrap();
        let mut reference: Vec<&str> = reference.lines().collect();
        reference.sort_unstable();
        assert_eq!(decoded, reference, "{name}");
    }
}

#[test]
fn symbols_and_positions_map_to_each_other() {
    for name in FIXTURES {
        let index = Index::open(&fixture_path(name).join("index.scip")).unwrap();
        let mut count = 0;
        for symbol in 0..index.symbol_count() {
            let all = index.occurrences_of(symbol);
            assert_eq!(index.definitions_of(symbol).count() + index.references_to(symbol).count(), all.len());
            for place in all {
                let it = index.occurrence(*place);
                assert_eq!(it.symbol, symbol);
                assert!(it.from == it.to || index.symbols_at(place.document, it.from).contains(&symbol));
                assert!(!index.symbols_at(place.document, it.to).contains(&symbol) || it.from < it.to);
            }
            count += all.len();
            let known = index.find_symbol(index.symbol_name(symbol));
            assert_eq!(known, Some(symbol).filter(|_| !index.symbol_name(symbol).starts_with("local ")));
        }
        assert_eq!(count, index.documents.iter().map(|it| it.occurrences.len()).sum::<usize>());
    }
}

#[test]
fn usages_are_at_the_indexed_positions() {
    for (name, path, expected) in [
        (
            "typescript",
            "MemoryStore",
            "index.ts:1:10 reference, store.ts:7:14 definition, store.ts:30:35 reference, store.ts:31:23 reference, \
             use.ts:1:10 reference, use.ts:7:28 reference",
        ),
        (
            "typescript",
            "store.Mode",
            "index.ts:1:23 reference, index.ts:1:31 reference, store.ts:25:13 definition, store.ts:30:28 reference, \
             store.ts:32:18 reference, use.ts:1:23 reference, use.ts:4:43 reference",
        ),
        ("typescript", "Store.size", "store.ts:4:14 definition, use.ts:5:31 reference"),
        ("typescript", "Store.get", "store.ts:3:5 definition, use.ts:5:55 reference"),
        (
            "typescript",
            "MemoryStore.put",
            "store.ts:16:5 definition, store.ts:32:36 reference, use.ts:11:15 reference",
        ),
        ("typescript", "MemoryStore.size", "store.ts:20:9 definition"),
        ("typescript", "Mode.Write", "store.ts:27:5 definition, store.ts:32:23 reference"),
        ("typescript", "store.open", "store.ts:30:17 definition, use.ts:4:38 reference"),
        (
            "rust",
            "MemoryStore",
            "lib.rs:4:17 reference, lib.rs:9:28 reference, lib.rs:10:21 reference, store.rs:8:12 definition, \
             store.rs:17:6 reference, store.rs:24:16 reference",
        ),
        (
            "rust",
            "Mode",
            "lib.rs:4:30 reference, lib.rs:9:19 reference, lib.rs:11:21 reference, store.rs:12:10 definition",
        ),
        ("rust", "MemoryStore.put", "lib.rs:12:15 reference, store.rs:18:12 definition"),
        (
            "rust",
            "MemoryStore.values",
            "store.rs:9:5 definition, store.rs:20:14 reference, store.rs:26:14 reference",
        ),
        ("rust", "demo.MARK", "lib.rs:6:11 definition, store.rs:1:12 reference"),
    ] {
        let root = sample_tree(name);
        let code = load_codebase(root.path());
        let (exact, problems) = load_indexes(&code, root.path());
        assert!(problems.is_empty(), "{problems:?}");
        let usages =
            exact.usages_of(find_declaration(&code, path)).unwrap_or_else(|| panic!("{path} is not indexed"));
        assert_eq!(describe_usages(&code, &usages).join(", "), expected, "{name} {path}");
        assert!(usages.stale.is_empty());
        let definition = exact.definition_of(find_declaration(&code, path)).unwrap();
        assert!(definition.iter().all(|it| it.roles.is_definition()) && definition.len() == 1);
    }
}

#[test]
fn references_of_a_file_agree_with_usages() {
    for name in FIXTURES {
        let root = sample_tree(name);
        let code = load_codebase(root.path());
        let exact = load_indexes(&code, root.path()).0;
        let links = exact.link_declarations();
        assert!(links.len() > 10);
        for file in 0..code.files.len() as u32 {
            for (usage, symbol) in exact.references_in(file, &links).unwrap() {
                assert!(exact.usages_of(symbol).unwrap().places.contains(&usage), "{symbol:?} {usage:?}");
            }
        }
    }
}

/// `From>To certainty` for each edge between types, without edges to modules.
fn describe_edges(code: &Codebase, resolver: &Resolver) -> Vec<String> {
    let short = |of: u32| code.simple_name(of);
    let is_type = |of: u32| code.types[of as usize].kind != TypeKind::Module;
    let edges = resolver.all_edges().into_iter().filter(|edge| is_type(edge.to));
    edges.map(|it| format!("{}>{} {}", short(it.from), short(it.to), it.certainty.name())).collect()
}

#[test]
fn indexed_references_are_exact_and_stale_files_are_resolved_by_name() {
    let root = sample_tree("typescript");
    let code = load_codebase(root.path());
    let expected = |shelf: &str, module: &str| {
        [
            "store>MemoryStore exact".to_owned(),
            "store>Mode exact".to_owned(),
            "MemoryStore>Store exact".to_owned(),
            format!("use>Mode {module}"),
            format!("use>Store {module}"),
            format!("Shelf>MemoryStore {shelf}"),
        ]
    };
    let (exact, _) = load_indexes(&code, root.path());
    assert_eq!(describe_edges(&code, &Resolver::with_indexes(&code, &exact)), expected("exact", "exact"));

    // additions are resolved by name, the rest stays exact
    edit_file(root.path(), "src/use.ts", |text| text + "class Late { mode: OpenMode }\n");
    let code = load_codebase(root.path());
    let (exact, _) = load_indexes(&code, root.path());
    let found = describe_edges(&code, &Resolver::with_indexes(&code, &exact));
    let late = ["Late>Mode certain".to_owned()];
    assert_eq!(found, [&expected("exact", "exact")[..5], &late, &expected("exact", "exact")[5..]].concat());

    edit_file(root.path(), "src/use.ts", |text| {
        format!("\n{}", text.replace("class Late { mode: OpenMode }\n", ""))
    });
    let code = load_codebase(root.path());
    let (exact, _) = load_indexes(&code, root.path());
    assert_eq!(describe_edges(&code, &Resolver::with_indexes(&code, &exact)), expected("certain", "certain"));
}

#[test]
fn definitions_in_a_changed_file_are_resolved_by_name() {
    let root = sample_tree("typescript");
    edit_file(root.path(), "src/store.ts", |text| format!("\n{text}"));
    let code = load_codebase(root.path());
    let (exact, _) = load_indexes(&code, root.path());
    let found = describe_edges(&code, &Resolver::with_indexes(&code, &exact));
    assert!(found.contains(&"use>Store certain".to_owned()), "{found:?}");
    assert!(found.contains(&"Shelf>MemoryStore certain".to_owned()), "{found:?}");
}

#[test]
fn hashes_do_not_depend_on_an_index() {
    for name in FIXTURES {
        let root = sample_tree(name);
        let code = load_codebase(root.path());
        let (exact, _) = load_indexes(&code, root.path());
        let (plain, exact) = (Resolver::new(&code), Resolver::with_indexes(&code, &exact));
        for of in 0..code.types.len() as u32 {
            assert_eq!(hash_type(&code, &plain, of), hash_type(&code, &exact, of));
        }
    }
}

#[test]
fn a_changed_file_stays_valid_while_no_definition_moves() {
    let root = sample_tree("typescript");
    let code = load_codebase(root.path());
    let file = |path: &str| code.files.iter().position(|it| it.path == path).unwrap() as u32;
    let freshness = |path: &str| load_indexes(&code, root.path()).0.freshness(file(path));
    let store = find_declaration(&code, "MemoryStore");
    assert_eq!(freshness("src/use.ts"), Freshness::Unchanged);
    assert!(load_indexes(&code, root.path()).0.incomplete_files().is_empty());

    edit_file(root.path(), "src/use.ts", |text| text + "// the end\n");
    assert_eq!(freshness("src/use.ts"), Freshness::Fits);
    let usages = load_indexes(&code, root.path()).0.usages_of(store).unwrap();
    assert_eq!((usages.places.len(), usages.stale.len()), (6, 0));
    assert_eq!(load_indexes(&code, root.path()).0.incomplete_files(), [file("src/use.ts")]);

    // a reference changed, but no definition moved
    edit_file(root.path(), "src/use.ts", |text| text.replace("extends MemoryStore", "extends OtherShelfs"));
    let usages = load_indexes(&code, root.path()).0.usages_of(store).unwrap();
    assert_eq!((usages.places.len(), usages.stale), (4, vec![file("src/use.ts")]));

    edit_file(root.path(), "src/use.ts", |text| format!("\n{text}"));
    assert_eq!(freshness("src/use.ts"), Freshness::Stale);
    let exact = load_indexes(&code, root.path()).0;
    assert_eq!(exact.usages_of(store).unwrap().stale, [file("src/use.ts")]);
    assert_eq!(exact.usages_of(find_declaration(&code, "Shelf")), None);
    assert_eq!(exact.references_in(file("src/use.ts"), &exact.link_declarations()), None);

    // a downloaded index is newer than a file it does not match
    set_time(&root.path().join("src/use.ts"), 100);
    assert_eq!(freshness("src/use.ts"), Freshness::Stale);
}

#[test]
fn each_project_may_have_an_index_and_an_invalid_one_is_skipped() {
    let root = tempfile::tempdir().unwrap();
    let inner = sample_tree("typescript");
    fs::create_dir(root.path().join("app")).unwrap();
    fs::rename(inner.path().join("src"), root.path().join("app/src")).unwrap();
    for name in ["package.json", "index.scip"] {
        fs::copy(inner.path().join(name), root.path().join("app").join(name)).unwrap();
    }
    fs::write(root.path().join("index.scip"), "not an index").unwrap();
    fs::create_dir(root.path().join("tool")).unwrap();
    fs::write(root.path().join("tool/package.json"), "{ \"name\": \"tool\" }").unwrap();
    fs::write(root.path().join("tool/a.ts"), "let a: MemoryStore").unwrap();
    let store = "scip-typescript npm demo 1.0.0 src/`store.ts`/MemoryStore#";
    let bytes = encode_index(&[("a.ts", vec![([0, 7, 0, 18], store, 0)])]);
    fs::write(root.path().join("tool/index.scip"), bytes).unwrap();
    let code = load_codebase(root.path());
    let (exact, problems) = load_indexes(&code, root.path());
    assert!(matches!(&problems[..], [ScipError::NotAnIndex { .. }]), "{problems:?}");
    assert_eq!(exact.indexes().map(|(folder, _)| folder).collect::<Vec<_>>(), ["app/", "tool/"]);
    let usages = exact.usages_of(find_declaration(&code, "MemoryStore")).unwrap();
    let found = describe_usages(&code, &usages);
    assert_eq!(found.len(), 7);
    assert_eq!(
        (&found[0][..], &found[6][..]),
        ("app/src/index.ts:1:10 reference", "tool/a.ts:1:8 reference")
    );
}

#[test]
fn a_truncated_index_is_read_up_to_the_cut() {
    for name in FIXTURES {
        let bytes = fs::read(fixture_path(name).join("index.scip")).unwrap();
        let whole = Index::read(&bytes[..]).unwrap();
        for until in 0..bytes.len() {
            let cut = Index::read(&bytes[..until]).unwrap();
            assert!(cut.documents.iter().all(|it| whole.find_document(&it.path).is_some()), "{name} {until}");
            let reported = cut.damage.iter().any(|it| matches!(it, Damage::BreaksOff { .. }));
            // a cut between two fields cannot be detected
            assert!(
                reported || cut.documents.len() < whole.documents.len() || cut.documents == whole.documents
            );
        }
    }
}

#[test]
fn a_flipped_bit_does_not_invent_occurrences() {
    for name in FIXTURES {
        let mut bytes = fs::read(fixture_path(name).join("index.scip")).unwrap();
        // every byte and every bit, but not all combinations: that takes half a minute
        for at in 0..bytes.len() {
            let bit = 1 << (at % 8);
            bytes[at] ^= bit;
            let index = Index::read(&bytes[..]).unwrap();
            let count: usize = index.documents.iter().map(|it| it.occurrences.len()).sum();
            assert!(count < bytes.len() / 8);
            bytes[at] ^= bit;
        }
    }
}

#[test]
fn paths_outside_the_folder_are_rejected() {
    for path in ["../a.ts", "/a.ts", "a//b.ts", "a/./b.ts", "a/../../b.ts", ""] {
        let index = Index::read(&encode_index(&[(path, vec![([0, 0, 0, 1], "local 1", 1)])])[..]).unwrap();
        assert_eq!(index.damage, [Damage::Outside { path: path.to_owned() }]);
        assert!(index.documents.is_empty());
    }
}

// ---- synthetic indexes

type SampleDocument<'a> = (&'a str, Vec<([u32; 4], &'a str, u32)>);

fn encode_varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn encode_field(at: u64, bytes: &[u8]) -> Vec<u8> {
    [encode_varint(at << 3 | 2), encode_varint(bytes.len() as u64), bytes.to_vec()].concat()
}

/// Encodes an index: ranges within one line have three numbers.
fn encode_index(documents: &[SampleDocument]) -> Vec<u8> {
    let occurrence = |(range, symbol, roles): &([u32; 4], &str, u32)| {
        let [line, column, end, until] = *range;
        let range = if line == end { vec![line, column, until] } else { range.to_vec() };
        let range: Vec<u8> = range.iter().flat_map(|it| encode_varint(u64::from(*it))).collect();
        let roles = [encode_varint(3 << 3), encode_varint(u64::from(*roles))].concat();
        encode_field(2, &[encode_field(1, &range), encode_field(2, symbol.as_bytes()), roles].concat())
    };
    let document = |(path, occurrences): &SampleDocument| {
        let occurrences: Vec<u8> = occurrences.iter().flat_map(occurrence).collect();
        encode_field(2, &[encode_field(1, path.as_bytes()), occurrences].concat())
    };
    documents.iter().flat_map(document).collect()
}

// ---- verdicts

const STORE: &str = "s npm demo 1 `a.ts`/Store#";

/// A tree in which `b.ts` mentions `Store` of `a.ts` at byte 7, and an index with the definition and some occurrences in `b.ts`.
fn tree_with_index(mentions: &[([u32; 4], &str, u32)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("package.json", "{ \"name\": \"demo\" }"),
        ("a.ts", "export class Store { }\nexport class Other { }\n"),
        ("b.ts", "let a: Store;\nimport { Store as S } from './a';\n"),
    ] {
        fs::write(root.path().join(path), text).unwrap();
        set_time(&root.path().join(path), 100);
    }
    let other = "s npm demo 1 `a.ts`/Other#";
    let defined = vec![([0, 13, 0, 18], STORE, 1), ([1, 13, 1, 18], other, 1)];
    let bytes = encode_index(&[("a.ts", defined), ("b.ts", mentions.to_vec())]);
    fs::write(root.path().join("index.scip"), bytes).unwrap();
    set_time(&root.path().join("index.scip"), 200);
    root
}

/// What the indexes of a tree say of a range in `b.ts`, for `Store`.
fn verdict_on_store(root: &Path, from: u32, to: u32) -> Verdict {
    let code = load_codebase(root);
    let (exact, _) = load_indexes(&code, root);
    let file = code.files.iter().position(|it| it.path == "b.ts").unwrap() as u32;
    let store = find_declaration(&code, "Store");
    SymbolVerdicts::load(&exact, store).unwrap().0.verdict_at(file, Span { from, to })
}

#[test]
fn an_index_refutes_only_where_it_resolved_another_symbol() {
    use Verdict::{Ambiguous, Confirmed, Silent};
    let at = [0, 7, 0, 12];
    let other = "s npm demo 1 `a.ts`/Other#";
    let refuted = || Verdict::Other(Vec::new());
    for (mentions, expected) in [
        (vec![(at, STORE, 0)], Confirmed),
        (vec![(at, "s npm typescript 5 `lib.d.ts`/Store#", 0)], refuted()),
        (vec![(at, "local 1", 0), ([0, 4, 0, 5], "local 1", 1)], refuted()),
        // nothing is there, or in the file, or the range is another
        (vec![], Silent),
        (vec![([0, 4, 0, 5], other, 0)], Silent),
        (vec![([0, 7, 0, 9], other, 0)], Silent),
        // what an indexer did not resolve
        (vec![(at, "local 1", 0)], Silent),
        (vec![(at, "s npm demo 1 `gone.ts`/Store#", 0)], Silent),
        (vec![(at, other, 0), (at, "local 1", 0)], Silent),
        (vec![(at, "s npm demo 1 `b.ts`/Store0:", 1)], Silent),
        // several symbols: a union, or a type and a value of one name
        (vec![(at, other, 0), (at, STORE, 0)], Ambiguous),
        (vec![(at, "s npm demo 1 `a.ts`/Store.", 0), (at, STORE, 0)], Silent),
    ] {
        let root = tree_with_index(&mentions);
        assert_eq!(verdict_on_store(root.path(), 7, 12), expected, "{mentions:?}");
    }
    let root = tree_with_index(&[(at, other, 0)]);
    let code = load_codebase(root.path());
    let expected = Verdict::Other(vec![find_declaration(&code, "Other")]);
    assert_eq!(verdict_on_store(root.path(), 7, 12), expected);
}

#[test]
fn an_index_says_nothing_where_the_text_has_changed() {
    let other = "s npm demo 1 `a.ts`/Other#";
    let root = tree_with_index(&[([0, 7, 0, 12], other, 0)]);
    assert!(matches!(verdict_on_store(root.path(), 7, 12), Verdict::Other(_)));
    // `Other` is not at this place any more
    edit_file(root.path(), "b.ts", |text| text + "// the end\n");
    assert_eq!(verdict_on_store(root.path(), 7, 12), Verdict::Silent);
    // the declaration of `Other` has moved, so the index does not know what the name means now
    let root = tree_with_index(&[([0, 7, 0, 12], other, 0)]);
    edit_file(root.path(), "a.ts", |text| text.replace("export class Other", "\nexport class Other"));
    let code = load_codebase(root.path());
    let (exact, _) = load_indexes(&code, root.path());
    assert!(SymbolVerdicts::load(&exact, find_declaration(&code, "Store")).is_none());
}

#[test]
fn an_import_with_another_name_ends_before_it() {
    // as scip-python does: the occurrence is all of `Store as S`
    let root = tree_with_index(&[([1, 9, 1, 19], STORE, 0)]);
    let code = load_codebase(root.path());
    let (exact, _) = load_indexes(&code, root.path());
    let usages = exact.usages_of(find_declaration(&code, "Store")).unwrap();
    let spans: Vec<Span> = usages.places.iter().map(|it| it.span).collect();
    assert_eq!(spans, [Span { from: 13, to: 18 }, Span { from: 23, to: 28 }]);
}

#[test]
fn the_same_project_as_an_installed_package_refutes_nothing() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("src/demo")).unwrap();
    for (path, text) in [
        ("pyproject.toml", "[project]\nname = \"demo\"\n"),
        ("src/demo/app.py", "class Store: pass\n"),
        ("use.py", "a = Store\nb = Store\n"),
    ] {
        fs::write(root.path().join(path), text).unwrap();
        set_time(&root.path().join(path), 100);
    }
    let mentions = vec![
        ([0, 4, 0, 9], "s pip Demo 3 `demo.app`/Store#", 0),
        ([1, 4, 1, 9], "s pip py 3 `app`/Store#", 0),
    ];
    let defined = vec![([0, 6, 0, 11], "s pip . 0 `src.demo.app`/Store#", 1)];
    let bytes = encode_index(&[("src/demo/app.py", defined), ("use.py", mentions)]);
    fs::write(root.path().join("index.scip"), bytes).unwrap();
    let code = load_codebase(root.path());
    let (exact, _) = load_indexes(&code, root.path());
    let file = code.files.iter().position(|it| it.path == "use.py").unwrap() as u32;
    let mut verdicts = SymbolVerdicts::load(&exact, find_declaration(&code, "Store")).unwrap().0;
    assert_eq!(verdicts.verdict_at(file, Span { from: 4, to: 9 }), Verdict::Silent);
    assert_eq!(verdicts.verdict_at(file, Span { from: 14, to: 19 }), Verdict::Other(Vec::new()));
}

#[test]
fn of_two_indexes_of_a_folder_the_newer_is_used() {
    let root = tree_with_index(&[([0, 7, 0, 12], STORE, 0)]);
    let cache = tempfile::tempdir().unwrap();
    let cached = cache.path().join("scip-typescript.scip");
    let bytes = encode_index(&[("a.ts", vec![([0, 13, 0, 18], STORE, 1)]), ("b.ts", vec![])]);
    fs::write(&cached, bytes).unwrap();
    let code = load_codebase(root.path());
    for (seconds, expected) in [(150, 2), (250, 1)] {
        set_time(&cached, seconds);
        let (exact, _) =
            TreeIndexes::load(&code, IndexPlaces { root: root.path(), cache: Some(cache.path()) });
        let usages = exact.usages_of(find_declaration(&code, "Store")).unwrap();
        assert_eq!(usages.places.len(), expected, "{seconds}");
    }
}

proptest! {
    #[test]
    fn an_encoded_index_is_decoded(
        lines in proptest::collection::vec((0..2usize, 0..900u32, 0..300u32, 0..3u32, 300..600u32, 0..4usize, 0..128u32), 0..40)
    ) {
        let names = ["a b c d X#", "a b c d X#y().", "local 1", "local 2"];
        let mut documents: [SampleDocument; 2] = [("a.ts", Vec::new()), ("b/c.ts", Vec::new())];
        for (at, line, column, more, until, name, roles) in lines {
            documents[at].1.push(([line, column, line + more, until], names[name], roles));
        }
        let index = Index::read(&encode_index(&documents)[..]).unwrap();
        prop_assert_eq!(&index.damage, &[]);
        for ((path, mut expected), document) in documents.into_iter().zip(&index.documents) {
            let fields = |it: &loci_code::scip::Occurrence| {
                ([it.from.0, it.from.1, it.to.0, it.to.1], index.symbol_name(it.symbol), it.roles.0)
            };
            let mut found: Vec<_> = document.occurrences.iter().map(fields).collect();
            expected.sort_unstable();
            found.sort_unstable();
            prop_assert_eq!((path, expected), (document.path.as_str(), found));
        }
    }

    #[test]
    fn any_bytes_can_be_decoded(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let index = Index::read(&bytes[..]).unwrap();
        prop_assert!(index.documents.len() <= bytes.len());
        // the same bytes as a document, which random input rarely reaches
        Index::read(&encode_field(2, &bytes)[..]).unwrap();
        Index::read(&encode_field(2, &[encode_field(1, b"a.ts"), encode_field(2, &bytes)].concat())[..]).unwrap();
    }
}
