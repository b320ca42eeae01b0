//! Holds the room against an index that a compiler made of a folder. Nothing is fetched, and no indexer is run.
//!
//!     cargo run --release -p loci-code --example scip -- agree INDEX TSV         every occurrence, beside another reader's
//!     cargo run --release -p loci-code --example scip -- fits INDEX FOLDER       what of the index is still spelled so
//!     cargo run --release -p loci-code --example scip -- score INDEX FOLDER      our own references, beside the compiler's
//!     cargo run --release -p loci-code --example scip -- aged OLD INDEX FOLDER   the same with an index of an earlier tree
//!     cargo run --release -p loci-code --example scip -- usages INDEX FOLDER NAME
//!
//! `TSV` has what the official bindings read, as `testdata/scip/dump.cjs` prints it. An index is made with
//! `scip-typescript index --output INDEX` or `rust-analyzer scip . --output INDEX`, in the folder.

#![allow(clippy::print_stdout)] // a tool for the terminal

use loci_code::scip::{Columns, Declared, Exact, Freshness, Index, ScipError};
use loci_code::{Certainty, Codebase, Named, Names, Resolver, read_tree};
use project::discover;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::ExitCode;
use syntax::{MemberKind, TypeKind, decode};

type Outcome = Result<bool, Box<dyn Error>>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["agree", index, told] => agree(Path::new(index), Path::new(told)),
        ["fits", index, folder] => asked(index, folder, fits),
        ["score", index, folder] => asked(index, folder, score),
        ["aged", old, index, folder] => {
            asked(index, folder, |asked| aged(asked, folder, Index::open(Path::new(old))))
        }
        ["usages", index, folder, name] => asked(index, folder, |asked| usages(asked, name)),
        _ => Err("see the head of crates/code/examples/scip.rs for what can be asked".into()),
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

/// Every occurrence of an index as one line, sorted, as the other reader tells it.
fn told(index: &Index) -> Vec<String> {
    let mut lines = Vec::new();
    for document in &index.documents {
        for it in &document.occurrences {
            let ((line, column), (end, end_column)) = (it.from, it.to);
            let name = index.name(it.symbol).replace('\n', "\\n");
            lines.push(format!(
                "{}\t{line}:{column}-{end}:{end_column}\t{}\t{name}",
                document.path, it.roles.0
            ));
        }
    }
    lines.sort();
    lines
}

fn agree(index: &Path, told_path: &Path) -> Outcome {
    let start = busy();
    let read = Index::open(index)?;
    let (spent, memory, size) = (busy() - start, peak(), fs::metadata(index)?.len());
    let count: usize = read.documents.iter().map(|document| document.occurrences.len()).sum();
    println!("{}: {size} bytes read in {spent:.2} s of a processor with {memory}", index.display());
    println!("  {} documents, {count} occurrences, {} symbols", read.documents.len(), read.symbols());
    println!("  damage: {:?}", read.damage);
    let definitions: usize = (0..read.symbols()).map(|symbol| read.definitions(symbol).count()).sum();
    let references: usize = (0..read.symbols()).map(|symbol| read.references(symbol).count()).sum();
    println!("  {definitions} definitions, {references} references by symbol");
    let ours = told(&read);
    let mut theirs: Vec<String> =
        BufReader::new(fs::File::open(told_path)?).lines().collect::<Result<_, _>>()?;
    theirs.sort();
    let differing = ours.iter().zip(&theirs).find(|(one, other)| one != other);
    println!("  ours {}, theirs {}; first that differs: {differing:?}", ours.len(), theirs.len());
    Ok(ours == theirs && definitions + references == count)
}

/// A folder, as we read it, with the index of it.
struct Asked<'a> {
    code: &'a Codebase,
    exact: Exact<'a>,
    texts: Vec<String>,
    /// The type of each declaration, by file and part.
    of_parts: BTreeMap<(u32, u32), u32>,
}

fn asked(index: &str, folder: &str, ask: impl Fn(&Asked) -> bool) -> Outcome {
    let root = Path::new(folder);
    let (code, _) = read_tree(root, &discover(root)?, 2);
    let written = fs::metadata(index)?.modified().ok();
    let exact = Exact::with(&code, root, Index::open(Path::new(index))?, "", written);
    let text = |path: &str| fs::read(root.join(path)).map(|bytes| decode(&bytes).into_owned());
    let texts: Vec<String> = code.files.iter().map(|file| text(&file.path)).collect::<Result<_, _>>()?;
    let mut of_parts = BTreeMap::new();
    for (at, each) in code.types.iter().enumerate() {
        of_parts.extend(each.parts.iter().map(|part| (*part, at as u32)));
    }
    Ok(ask(&Asked { code: &code, exact, texts, of_parts }))
}

fn fits(asked: &Asked) -> bool {
    let mut found: BTreeMap<Freshness, Vec<&str>> = BTreeMap::new();
    for (at, file) in asked.code.files.iter().enumerate() {
        found.entry(asked.exact.freshness(at as u32)).or_default().push(&file.path);
    }
    for (freshness, files) in &found {
        println!("{freshness:?}: {} files, {:?}", files.len(), &files[..files.len().min(5)]);
    }
    let ours = asked.exact.ours();
    let types = ours.values().filter(|symbol| symbol.member.is_none()).count();
    println!("{types} of our types and {} of our members are defined in it", ours.len() - types);
    !found.contains_key(&Freshness::Stale)
}

fn usages(asked: &Asked, name: &str) -> bool {
    let types = Named::all(asked.code);
    for (symbol, _) in Names::new(&types, &|_| 0).meant(name).candidates {
        let symbol = Declared::of(asked.code, symbol);
        let told = asked.exact.usages(symbol);
        println!("{symbol:?}: {} places", told.as_ref().map_or(0, |it| it.places.len()));
        for it in told.iter().flat_map(|it| &it.places) {
            let file = &asked.code.files[it.file as usize].path;
            println!("  {file}:{}:{} {}", it.line, it.column, it.roles.name());
        }
    }
    true
}

/// A byte of a file where a type may be named.
type At = (u32, u32);

/// What an index says of a place: the types it may be, and whether it may be a value as well. TypeScript has types and values of
/// one name, and an index has both wherever that name stands.
#[derive(Default)]
struct Said {
    types: BTreeSet<u32>,
    value: bool,
}

fn score(asked: &Asked) -> bool {
    println!("by names alone:");
    let _ = scored(asked, &Resolver::new(asked.code));
    println!("with the index:");
    scored(asked, &Resolver::with_exact(asked.code, &asked.exact))
}

/// What an index is worth after the tree has moved on, every file being younger than it.
fn aged(asked: &Asked, folder: &str, old: Result<Index, ScipError>) -> bool {
    let old = match old {
        Ok(old) => old,
        Err(error) => {
            println!("{error}");
            return false;
        }
    };
    let exact = Exact::with(asked.code, Path::new(folder), old, "", None);
    let mut found: BTreeMap<Freshness, usize> = BTreeMap::new();
    for file in 0..asked.code.files.len() as u32 {
        *found.entry(exact.freshness(file)).or_default() += 1;
    }
    println!("files: {found:?}");
    let resolver = Resolver::with_exact(asked.code, &exact);
    let mut sure = 0;
    for edge in resolver.edges() {
        sure += usize::from(edge.certainty == Certainty::Exact);
    }
    println!("exact references between types: {sure} of {}", resolver.edges().len());
    scored(asked, &resolver)
}

/// Whether every mention is one of the compiler's.
fn scored(asked: &Asked, resolver: &Resolver) -> bool {
    let known = asked.exact.ours();
    let known: BTreeSet<u32> =
        known.values().filter(|symbol| symbol.member.is_none()).map(|symbol| symbol.of).collect();
    // what only a macro declares has no definition that we could find, so nothing can be said about it
    let mut ours = our_mentions(asked, resolver);
    ours.retain(|_, to| known.contains(to));
    // nor about code that the compiler left out
    let all = ours.len();
    ours.retain(|at, _| is_told(asked, *at));
    println!("{} of our mentions are where the index has nothing", all - ours.len());
    let mut theirs = their_mentions(asked);
    theirs.retain(|at, said| !said.value || ours.contains_key(at));
    let right = |at: &At, to: &u32| theirs.get(at).is_some_and(|said| said.types.contains(to));
    let both = ours.iter().filter(|(at, to)| right(at, to)).count();
    println!("mentions of types: {}", rates(ours.len(), theirs.len(), both));
    let wrong = ours.iter().filter(|(at, to)| !right(at, to)).map(|(at, to)| (*at, *to)).collect();
    shown(asked, "only ours", wrong);
    let missed = theirs.iter().filter(|(at, _)| !ours.contains_key(at));
    let missed = missed.filter_map(|(at, said)| Some((*at, *said.types.first()?))).collect();
    shown(asked, "only the compiler's", missed);
    let edge =
        |at: &At, to: u32| owner(asked, at.0, at.1).map(|from| (from, to)).filter(|(from, to)| from != to);
    let between: BTreeSet<(u32, u32)> = ours.iter().filter_map(|(at, to)| edge(at, *to)).collect();
    let named = |(at, said): (&At, &Said)| {
        // of several that a place may be, the one we took if it is among them
        let to = ours.get(at).filter(|to| said.types.contains(to)).or(said.types.first())?;
        edge(at, *to)
    };
    let theirs: BTreeSet<(u32, u32)> = theirs.iter().filter_map(named).collect();
    let both = between.intersection(&theirs).count();
    println!("references between types: {}", rates(between.len(), theirs.len(), both));
    between.is_subset(&theirs)
}

fn rates(ours: usize, theirs: usize, both: usize) -> String {
    let (precision, recall) = (both as f64 / ours.max(1) as f64, both as f64 / theirs.max(1) as f64);
    format!("{ours} ours, {theirs} the compiler's, precision {precision:.4}, recall {recall:.4}")
}

/// Forty of what differs, from all over the tree.
fn shown(asked: &Asked, name: &str, all: Vec<(At, u32)>) {
    println!("  {name}: {}", all.len());
    let step = (all.len() / 40).max(1);
    for ((file, byte), to) in all.into_iter().step_by(step) {
        let text = &asked.texts[file as usize];
        let line = text[..byte as usize].matches('\n').count();
        let path = &asked.code.files[file as usize].path;
        let name = &asked.code.types[to as usize].name;
        println!("    {path}:{} {name} | {}", line + 1, text.lines().nth(line).unwrap_or_default().trim());
    }
}

/// Where our resolver sees types, in files that the index has.
fn our_mentions(asked: &Asked, resolver: &Resolver) -> BTreeMap<At, u32> {
    let mut found = BTreeMap::new();
    for (at, file) in asked.code.files.iter().enumerate().filter(|(at, _)| is_known(asked, *at as u32)) {
        let text = &asked.texts[at];
        // a macro's `use` is words to us
        let imports = imports(text);
        for reference in file.facts.references.iter().filter(|it| resolver.owner(at as u32, it).is_some()) {
            let path = file.facts.path(reference);
            for mention in resolver.mentions(at as u32, reference) {
                // from the end: what a path is relative to is not written at its beginning
                let mut byte = reference.until as usize;
                for segment in path.segments[mention.segment as usize..].iter().rev() {
                    let before = text.get(reference.at as usize..byte).unwrap_or_default();
                    byte = before
                        .rfind(file.facts.word(segment.word))
                        .map_or(byte, |at| reference.at as usize + at);
                }
                let imported = imports.iter().any(|(from, to)| (*from..*to).contains(&byte));
                if is_counted(asked, mention.to) && !imported {
                    found.insert((at as u32, byte as u32), mention.to);
                }
            }
        }
    }
    found
}

/// Where the index has references to types that we declare; imports are no references of a type.
fn their_mentions(asked: &Asked) -> BTreeMap<At, Said> {
    let mut found: BTreeMap<At, Said> = BTreeMap::new();
    let ours = asked.exact.ours();
    for (at, text) in asked.texts.iter().enumerate() {
        let imports = imports(text);
        let told = asked.exact.mentions(at as u32, &ours).unwrap_or_default();
        for (it, symbol) in told.iter().filter(|(it, _)| !it.roles.is_definition()) {
            let byte = it.span.from as usize;
            let imported = imports.iter().any(|(from, to)| (*from..*to).contains(&byte));
            let is_type = symbol.member.is_none() && is_counted(asked, symbol.of);
            let owned = owner(asked, it.file, it.span.from).is_some();
            if owned && !imported && it.span.of(text) != "Self" {
                let said = found.entry((it.file, it.span.from)).or_default();
                said.types.extend(is_type.then_some(symbol.of));
                said.value |= is_value(asked, *symbol);
            }
        }
    }
    found.retain(|_, said| !said.types.is_empty());
    found
}

/// Whether a symbol is a constant or a variable; a constructor is there for its type.
fn is_value(asked: &Asked, symbol: Declared) -> bool {
    let Some((file, part, member)) = symbol.member else { return false };
    let kind = asked.code.part((file, part)).members[member as usize].kind;
    kind != MemberKind::Constructor
}

/// Whether the index has anything at a place.
fn is_told(asked: &Asked, (file, byte): At) -> bool {
    let before = &asked.texts[file as usize][..byte as usize];
    let (line, start) = (before.matches('\n').count() as u32, before.rfind('\n').map_or(0, |at| at + 1));
    let path = &asked.code.files[file as usize].path;
    let mut indexes = asked.exact.indexes().filter_map(|(_, index)| Some((index, index.document(path)?)));
    indexes.any(|(index, document)| {
        let column = match index.documents[document as usize].columns {
            Columns::Utf8 => before.len() - start,
            Columns::Utf16 => before[start..].encode_utf16().count(),
            Columns::Utf32 => before[start..].chars().count(),
        };
        let at = (line, column as u32);
        let all = &index.documents[document as usize].occurrences;
        all[all.partition_point(|it| it.from < at)..].first().is_some_and(|it| it.from == at)
    })
}

fn is_known(asked: &Asked, file: u32) -> bool {
    asked.exact.freshness(file) <= Freshness::Fits
}

/// Modules are left out: an index names them in every path, we only where nothing nearer can be named.
fn is_counted(asked: &Asked, of: u32) -> bool {
    asked.code.types[of as usize].kind != TypeKind::Module
}

/// The innermost type around a byte.
fn owner(asked: &Asked, file: u32, byte: u32) -> Option<u32> {
    let parts = asked.code.files[file as usize].facts.types.iter().enumerate();
    let around = parts.filter(|(_, part)| part.span.from <= byte && byte < part.span.to);
    let inner = around.min_by_key(|(_, part)| part.span.to - part.span.from)?;
    asked.of_parts.get(&(file, inner.0 as u32)).copied()
}

/// How a statement begins that imports, and how it ends.
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

/// The stretches of a text that import.
fn imports(text: &str) -> Vec<(usize, usize)> {
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

/// Seconds of a processor that the threads of this process have had.
fn busy() -> f64 {
    let told = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = told.rsplit(") ").next().unwrap_or_default().split(' ');
    let ticks: Vec<f64> = fields.skip(11).take(2).filter_map(|field| field.parse().ok()).collect();
    ticks.iter().sum::<f64>() / 100.0
}

/// The most memory this process has had.
fn peak() -> String {
    let told = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = told.lines().find(|line| line.starts_with("VmHWM"));
    line.and_then(|line| line.split_once(':')).map_or_else(String::new, |(_, value)| value.trim().to_owned())
}
