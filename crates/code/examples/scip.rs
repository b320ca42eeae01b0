//! Checks this crate against a compiler's index of a folder. Nothing is downloaded, and no indexer is run.
//!
//!     cargo run --release -p loci-code --example scip -- agree INDEX TSV         compare every occurrence with another decoder's
//!     cargo run --release -p loci-code --example scip -- fits INDEX FOLDER       which files still match the index
//!     cargo run --release -p loci-code --example scip -- score INDEX FOLDER      compare our references with the compiler's
//!     cargo run --release -p loci-code --example scip -- aged OLD INDEX FOLDER   the same with an index of an earlier version
//!     cargo run --release -p loci-code --example scip -- usages INDEX FOLDER NAME
//!
//! `TSV` is the output of the official bindings, as printed by `testdata/scip/dump.cjs`. To create an index, run
//! `scip-typescript index --output INDEX` or `rust-analyzer scip . --output INDEX` in the folder.

#![allow(clippy::print_stdout)] // a tool for the terminal

use loci_code::scip::{ColumnEncoding, Declaration, Freshness, Index, ScipError, TreeIndexes};
use loci_code::{Certainty, Codebase, Resolver, SymbolIndex, TypeNames, read_tree};
use project::discover;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::ExitCode;
use syntax::{MemberKind, TypeKind, decode_text};

type Outcome = Result<bool, Box<dyn Error>>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["agree", index, tsv] => compare_occurrences(Path::new(index), Path::new(tsv)),
        ["fits", index, folder] => with_folder(index, folder, check_freshness),
        ["score", index, folder] => with_folder(index, folder, compare_references),
        ["aged", old, index, folder] => {
            with_folder(index, folder, |input| compare_aged(input, folder, Index::open(Path::new(old))))
        }
        ["usages", index, folder, name] => with_folder(index, folder, |input| print_usages(input, name)),
        _ => Err("unknown command: see the head of crates/code/examples/scip.rs".into()),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Every occurrence of an index as one line, sorted, in the format of `TSV`.
fn occurrence_lines(index: &Index) -> Vec<String> {
    let mut lines = Vec::new();
    for document in &index.documents {
        for it in &document.occurrences {
            let ((line, column), (end, end_column)) = (it.from, it.to);
            let name = index.symbol_name(it.symbol).replace('\n', "\\n");
            lines.push(format!(
                "{}\t{line}:{column}-{end}:{end_column}\t{}\t{name}",
                document.path, it.roles.0
            ));
        }
    }
    lines.sort();
    lines
}

fn compare_occurrences(index: &Path, tsv: &Path) -> Outcome {
    let start = cpu_seconds();
    let read = Index::open(index)?;
    let (spent, memory, size) = (cpu_seconds() - start, peak_memory(), fs::metadata(index)?.len());
    let count: usize = read.documents.iter().map(|document| document.occurrences.len()).sum();
    println!("{}: {size} bytes read in {spent:.2} s CPU with {memory}", index.display());
    println!("  {} documents, {count} occurrences, {} symbols", read.documents.len(), read.symbol_count());
    println!("  damage: {:?}", read.damage);
    let definitions: usize = (0..read.symbol_count()).map(|symbol| read.definitions_of(symbol).count()).sum();
    let references: usize = (0..read.symbol_count()).map(|symbol| read.references_to(symbol).count()).sum();
    println!("  {definitions} definitions, {references} references by symbol");
    let ours = occurrence_lines(&read);
    let mut theirs: Vec<String> = BufReader::new(fs::File::open(tsv)?).lines().collect::<Result<_, _>>()?;
    theirs.sort();
    let differing = ours.iter().zip(&theirs).find(|(one, other)| one != other);
    println!("  ours {}, theirs {}; first difference: {differing:?}", ours.len(), theirs.len());
    Ok(ours == theirs && definitions + references == count)
}

/// A folder's codebase with its index.
struct IndexedFolder<'a> {
    code: &'a Codebase,
    exact: TreeIndexes<'a>,
    texts: Vec<String>,
    /// The type of each declaration, by file and part.
    of_parts: BTreeMap<(u32, u32), u32>,
}

fn with_folder(index: &str, folder: &str, check: impl Fn(&IndexedFolder) -> bool) -> Outcome {
    let root = Path::new(folder);
    let (code, _) = read_tree(root, &discover(root)?, 2);
    let written = fs::metadata(index)?.modified().ok();
    let exact = TreeIndexes::with_index(&code, root, Index::open(Path::new(index))?, "", written);
    let text = |path: &str| fs::read(root.join(path)).map(|bytes| decode_text(&bytes).into_owned());
    let texts: Vec<String> = code.files.iter().map(|file| text(&file.path)).collect::<Result<_, _>>()?;
    let mut of_parts = BTreeMap::new();
    for (at, each) in code.types.iter().enumerate() {
        of_parts.extend(each.parts.iter().map(|part| (*part, at as u32)));
    }
    Ok(check(&IndexedFolder { code: &code, exact, texts, of_parts }))
}

fn check_freshness(input: &IndexedFolder) -> bool {
    let mut found: BTreeMap<Freshness, Vec<&str>> = BTreeMap::new();
    for (at, file) in input.code.files.iter().enumerate() {
        found.entry(input.exact.freshness(at as u32)).or_default().push(&file.path);
    }
    for (freshness, files) in &found {
        println!("{freshness:?}: {} files, {:?}", files.len(), &files[..files.len().min(5)]);
    }
    let ours = input.exact.link_declarations();
    let types = ours.values().filter(|symbol| symbol.member.is_none()).count();
    println!("{types} of our types and {} of our members are defined in it", ours.len() - types);
    !found.contains_key(&Freshness::Stale)
}

fn print_usages(input: &IndexedFolder, name: &str) -> bool {
    let types = TypeNames::of_codebase(input.code);
    for (symbol, _) in SymbolIndex::new(&types, &|_| 0).resolve_path(name).candidates {
        let symbol = Declaration::locate(input.code, symbol);
        let usages = input.exact.usages_of(symbol);
        println!("{symbol:?}: {} places", usages.as_ref().map_or(0, |it| it.places.len()));
        for it in usages.iter().flat_map(|it| &it.places) {
            let file = &input.code.files[it.file as usize].path;
            println!("  {file}:{}:{} {}", it.line, it.column, it.roles.name());
        }
    }
    true
}

/// A position that may refer to a type: file and byte.
type FilePosition = (u32, u32);

/// The index data at a position: the types it may refer to, and whether it may refer to a value as well. In TypeScript, a type
/// and a value can share a name, and an index has both at each occurrence of that name.
#[derive(Default)]
struct IndexedTarget {
    types: BTreeSet<u32>,
    value: bool,
}

fn compare_references(input: &IndexedFolder) -> bool {
    println!("by names alone:");
    let _ = print_score(input, &Resolver::new(input.code));
    println!("with the index:");
    print_score(input, &Resolver::with_indexes(input.code, &input.exact))
}

/// How useful an index is after the tree has changed, with every file newer than it.
fn compare_aged(input: &IndexedFolder, folder: &str, old: Result<Index, ScipError>) -> bool {
    let old = match old {
        Ok(old) => old,
        Err(error) => {
            println!("{error}");
            return false;
        }
    };
    let exact = TreeIndexes::with_index(input.code, Path::new(folder), old, "", None);
    let mut found: BTreeMap<Freshness, usize> = BTreeMap::new();
    for file in 0..input.code.files.len() as u32 {
        *found.entry(exact.freshness(file)).or_default() += 1;
    }
    println!("files: {found:?}");
    let resolver = Resolver::with_indexes(input.code, &exact);
    let mut sure = 0;
    for edge in resolver.all_edges() {
        sure += usize::from(edge.certainty == Certainty::Exact);
    }
    println!("exact references between types: {sure} of {}", resolver.all_edges().len());
    print_score(input, &resolver)
}

/// Prints precision and recall; returns whether all our edges are also the compiler's.
fn print_score(input: &IndexedFolder, resolver: &Resolver) -> bool {
    let known = input.exact.link_declarations();
    let known: BTreeSet<u32> =
        known.values().filter(|symbol| symbol.member.is_none()).map(|symbol| symbol.of).collect();
    // types declared by a macro have no definition we could find, so they are not compared
    let mut ours = our_references(input, resolver);
    ours.retain(|_, to| known.contains(to));
    // nor is code that the compiler did not compile
    let all = ours.len();
    ours.retain(|at, _| is_in_index(input, *at));
    println!("{} of our references are where the index has nothing", all - ours.len());
    let mut theirs = their_references(input);
    theirs.retain(|at, target| !target.value || ours.contains_key(at));
    let right = |at: &FilePosition, to: &u32| theirs.get(at).is_some_and(|target| target.types.contains(to));
    let both = ours.iter().filter(|(at, to)| right(at, to)).count();
    println!("references to types: {}", format_rates(ours.len(), theirs.len(), both));
    let wrong = ours.iter().filter(|(at, to)| !right(at, to)).map(|(at, to)| (*at, *to)).collect();
    print_differences(input, "only ours", wrong);
    let missed = theirs.iter().filter(|(at, _)| !ours.contains_key(at));
    let missed = missed.filter_map(|(at, target)| Some((*at, *target.types.first()?))).collect();
    print_differences(input, "only the compiler's", missed);
    let edge = |at: &FilePosition, to: u32| {
        owner_of(input, at.0, at.1).map(|from| (from, to)).filter(|(from, to)| from != to)
    };
    let between: BTreeSet<(u32, u32)> = ours.iter().filter_map(|(at, to)| edge(at, *to)).collect();
    let named = |(at, target): (&FilePosition, &IndexedTarget)| {
        // of several candidates at a position, ours if it is among them
        let to = ours.get(at).filter(|to| target.types.contains(to)).or(target.types.first())?;
        edge(at, *to)
    };
    let theirs: BTreeSet<(u32, u32)> = theirs.iter().filter_map(named).collect();
    let both = between.intersection(&theirs).count();
    println!("references between types: {}", format_rates(between.len(), theirs.len(), both));
    between.is_subset(&theirs)
}

fn format_rates(ours: usize, theirs: usize, both: usize) -> String {
    let (precision, recall) = (both as f64 / ours.max(1) as f64, both as f64 / theirs.max(1) as f64);
    format!("{ours} ours, {theirs} the compiler's, precision {precision:.4}, recall {recall:.4}")
}

/// Prints about forty differences, spread over the tree.
fn print_differences(input: &IndexedFolder, name: &str, all: Vec<(FilePosition, u32)>) {
    println!("  {name}: {}", all.len());
    let step = (all.len() / 40).max(1);
    for ((file, byte), to) in all.into_iter().step_by(step) {
        let text = &input.texts[file as usize];
        let line = text[..byte as usize].matches('\n').count();
        let path = &input.code.files[file as usize].path;
        let name = &input.code.types[to as usize].name;
        println!("    {path}:{} {name} | {}", line + 1, text.lines().nth(line).unwrap_or_default().trim());
    }
}

/// The references to types that our resolver finds, in indexed files.
fn our_references(input: &IndexedFolder, resolver: &Resolver) -> BTreeMap<FilePosition, u32> {
    let mut found = BTreeMap::new();
    for (at, file) in input.code.files.iter().enumerate().filter(|(at, _)| is_known(input, *at as u32)) {
        let text = &input.texts[at];
        // we do not parse a `use` inside a macro as an import
        let imports = import_ranges(text);
        for reference in file.facts.references.iter().filter(|it| resolver.owner_of(at as u32, it).is_some())
        {
            let path = file.facts.reference_path(reference);
            for mention in resolver.resolve_reference(at as u32, reference) {
                // search from the end: an implicit prefix of a path is not in the text
                let mut byte = reference.name_end as usize;
                for segment in path.segments[mention.segment as usize..].iter().rev() {
                    let before = text.get(reference.at as usize..byte).unwrap_or_default();
                    byte = before
                        .rfind(file.facts.word_text(segment.word))
                        .map_or(byte, |at| reference.at as usize + at);
                }
                let imported = imports.iter().any(|(from, to)| (*from..*to).contains(&byte));
                if is_counted(input, mention.to) && !imported {
                    found.insert((at as u32, byte as u32), mention.to);
                }
            }
        }
    }
    found
}

/// The indexed references to types that we declare; imports do not count as references of a type.
fn their_references(input: &IndexedFolder) -> BTreeMap<FilePosition, IndexedTarget> {
    let mut found: BTreeMap<FilePosition, IndexedTarget> = BTreeMap::new();
    let ours = input.exact.link_declarations();
    for (at, text) in input.texts.iter().enumerate() {
        let imports = import_ranges(text);
        let references = input.exact.references_in(at as u32, &ours).unwrap_or_default();
        for (it, symbol) in references.iter().filter(|(it, _)| !it.roles.is_definition()) {
            let byte = it.span.from as usize;
            let imported = imports.iter().any(|(from, to)| (*from..*to).contains(&byte));
            let is_type = symbol.member.is_none() && is_counted(input, symbol.of);
            let owned = owner_of(input, it.file, it.span.from).is_some();
            if owned && !imported && it.span.text_in(text) != "Self" {
                let target = found.entry((it.file, it.span.from)).or_default();
                target.types.extend(is_type.then_some(symbol.of));
                target.value |= is_value(input, *symbol);
            }
        }
    }
    found.retain(|_, target| !target.types.is_empty());
    found
}

/// Whether a symbol is a constant or a variable; a constructor counts as its type.
fn is_value(input: &IndexedFolder, symbol: Declaration) -> bool {
    let Some((file, part, member)) = symbol.member else { return false };
    let kind = input.code.part((file, part)).members[member as usize].kind;
    kind != MemberKind::Constructor
}

/// Whether the index has an occurrence at a position.
fn is_in_index(input: &IndexedFolder, (file, byte): FilePosition) -> bool {
    let before = &input.texts[file as usize][..byte as usize];
    let (line, start) = (before.matches('\n').count() as u32, before.rfind('\n').map_or(0, |at| at + 1));
    let path = &input.code.files[file as usize].path;
    let mut indexes =
        input.exact.indexes().filter_map(|(_, index)| Some((index, index.find_document(path)?)));
    indexes.any(|(index, document)| {
        let column = match index.documents[document as usize].columns {
            ColumnEncoding::Utf8 => before.len() - start,
            ColumnEncoding::Utf16 => before[start..].encode_utf16().count(),
            ColumnEncoding::Utf32 => before[start..].chars().count(),
        };
        let at = (line, column as u32);
        let all = &index.documents[document as usize].occurrences;
        all[all.partition_point(|it| it.from < at)..].first().is_some_and(|it| it.from == at)
    })
}

fn is_known(input: &IndexedFolder, file: u32) -> bool {
    input.exact.freshness(file) <= Freshness::Fits
}

/// Modules are left out: an index reports them in every path, we only where nothing inside them is referenced.
fn is_counted(input: &IndexedFolder, of: u32) -> bool {
    input.code.types[of as usize].kind != TypeKind::Module
}

/// The innermost type that contains a byte.
fn owner_of(input: &IndexedFolder, file: u32, byte: u32) -> Option<u32> {
    let parts = input.code.files[file as usize].facts.types.iter().enumerate();
    let around = parts.filter(|(_, part)| part.span.from <= byte && byte < part.span.to);
    let inner = around.min_by_key(|(_, part)| part.span.to - part.span.from)?;
    input.of_parts.get(&(file, inner.0 as u32)).copied()
}

/// How import statements begin and end.
const IMPORTS: &[(&str, &str)] = &[
    ("import ", "\n"),
    ("import {", " from "),
    ("import type ", " from "),
    ("export {", "}"),
    ("export type {", "}"),
    ("export * ", "\n"),
    ("use ", ";"),
    ("pub use ", ";"),
    ("pub(crate) use ", ";"),
    ("pub(super) use ", ";"),
];

/// The ranges of import statements in a text.
fn import_ranges(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut from = 0;
    for line in text.split_inclusive('\n') {
        let begun = from + line.len() - line.trim_start().len();
        for (_, end) in IMPORTS.iter().filter(|(begin, _)| text[begun..].starts_with(begin)) {
            let until = text[begun..].find(end).map_or(text.len(), |at| begun + at);
            found.push((begun, until));
        }
        from += line.len();
    }
    found
}

/// CPU time of this process, in seconds.
fn cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
    let ticks: Vec<f64> = fields.skip(11).take(2).filter_map(|field| field.parse().ok()).collect();
    ticks.iter().sum::<f64>() / 100.0
}

/// Peak memory of this process.
fn peak_memory() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    line.and_then(|line| line.split_once(':')).map_or_else(String::new, |(_, value)| value.trim().to_owned())
}
