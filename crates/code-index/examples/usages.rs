//! Samples functions and compares their usages with a text search, or prints usages for a compiler to judge:
//!
//!     cargo run --release -p loci-code-index --example usages -- sample FOLDER...
//!     cargo run --release -p loci-code-index --example usages -- dump FOLDER [COUNT] > usages.jsonl
//!
//! `sample` takes free functions with unique names that are called somewhere, judging by a text search without comments and
//! strings; in a language without free functions, it takes methods. `dump` takes symbols of all kinds; `cargo xtask quality judges`
//! compares its output with the references that a compiler finds.

#![allow(clippy::print_stdout)] // a tool for the terminal

use code::{
    Certainty, MemberKind, MemberSummary, RefreshOptions, TypeKind, TypeSummary, decode_text, language_of,
};
use loci_code_index::{Store, StoreError, UsageSite};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

/// Functions sampled of each tree, as in the review that this repeats.
const SAMPLE: usize = 60;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match args.split_first() {
        Some((task, folders)) if task == "sample" && !folders.is_empty() => {
            folders.iter().try_for_each(|folder| sample_tree(Path::new(folder)))
        }
        Some((task, [folder, rest @ ..])) if task == "dump" => {
            let count = rest.first().and_then(|count| count.parse().ok()).unwrap_or(250);
            dump_tree(Path::new(folder), count)
        }
        _ => Err("usage: usages sample FOLDER... | usages dump FOLDER [COUNT]".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// A tree with its index and the text of its files.
struct Tree {
    store: Store,
    types: Vec<TypeSummary>,
    /// The text of each file, with comments and strings blanked.
    code: BTreeMap<String, String>,
}

/// A member, by type and position in it; or the type itself.
type Symbol<'a> = (&'a TypeSummary, Option<&'a MemberSummary>);

/// Files and line numbers.
type Lines = BTreeSet<(String, usize)>;

impl Tree {
    fn open(folder: &Path) -> Result<Tree, Box<dyn Error>> {
        let root = folder.canonicalize()?;
        let mut store = Store::in_memory(&root)?;
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_millis() as i64);
        store.refresh(RefreshOptions { now, threads: 2, progress: &|_, _| true })?;
        let mut types = Vec::new();
        store.for_each_summary(|summary| {
            types.push(summary);
            Ok::<(), StoreError>(())
        })?;
        types.sort_by(|one, other| (&one.name, one.id).cmp(&(&other.name, other.id)));
        let mut code = BTreeMap::new();
        for (path, _) in store.files()? {
            let bytes = fs::read(root.join(&path))?;
            let language = language_of(Path::new(&path)).map_or("", |language| language.name);
            code.insert(path, blank_text(&decode_text(&bytes), language == "Python", language == "Rust"));
        }
        Ok(Tree { store, types, code })
    }

    fn usages(&self, (of, member): Symbol<'_>) -> Result<Vec<UsageSite>, StoreError> {
        let found = match member {
            Some(member) => self.store.member_usages(of, member),
            None => self.store.type_usages(of),
        };
        found.map(|found| found.sites)
    }

    fn line_of(&self, file: &str, at: u32) -> usize {
        let text = self.code.get(file).map_or("", String::as_str);
        text.get(..at as usize).map_or(0, |before| before.matches('\n').count()) + 1
    }

    /// The lines on which a name is declared.
    fn declared_lines(&self, (of, member): Symbol<'_>) -> Lines {
        let name = member.map_or(&of.simple_name, |member| &member.name);
        let ranges = match member {
            Some(member) => vec![member.range],
            None => of.parts.clone(),
        };
        let mut found = BTreeSet::new();
        for range in ranges {
            let file = &of.files[range.file as usize];
            let text = self.code.get(file).map_or("", String::as_str);
            let places = word_places(text, name);
            let first = places.into_iter().find(|at| (range.signature.from as usize..).contains(at));
            found.extend(first.map(|at| (file.clone(), self.line_of(file, at as u32))));
        }
        found
    }

    /// The lines that mention a name, and those that call it, apart from its declaration.
    fn text_lines(&self, symbol: Symbol<'_>) -> [Lines; 2] {
        let name = symbol.1.map_or(&symbol.0.simple_name, |member| &member.name);
        let declared = self.declared_lines(symbol);
        let (mut mentioned, mut called) = (BTreeSet::new(), BTreeSet::new());
        for (file, text) in &self.code {
            for at in word_places(text, name) {
                let line = (file.clone(), self.line_of(file, at as u32));
                if declared.contains(&line) {
                    continue;
                }
                let after = text[at + name.len()..].trim_start();
                if after.starts_with(['(', '!']) && !after.starts_with("!=") || after.starts_with("::<") {
                    called.insert(line.clone());
                }
                mentioned.insert(line);
            }
        }
        [mentioned, called]
    }
}

/// The places where a name is a whole word.
fn word_places(text: &str, name: &str) -> Vec<usize> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let whole = |at: usize| !text[..at].ends_with(is_word) && !text[at + name.len()..].starts_with(is_word);
    text.match_indices(name).map(|(at, _)| at).filter(|at| whole(*at)).collect()
}

/// Replaces comments and strings with spaces; knows nothing else about a language, so that it cannot share a mistake with the
/// parser.
fn blank_text(text: &str, is_python: bool, is_rust: bool) -> String {
    let mut out: Vec<u8> = text.as_bytes().to_vec();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let end = if is_python && rest.starts_with(b"#") || !is_python && rest.starts_with(b"//") {
            find_from(bytes, at, b"\n")
        } else if !is_python && rest.starts_with(b"/*") {
            find_from(bytes, at + 2, b"*/") + 2
        } else if is_python && (rest.starts_with(b"\"\"\"") || rest.starts_with(b"'''")) {
            find_from(bytes, at + 3, &rest[..3]) + 3
        } else if rest[0] == b'"' || rest[0] == b'`' && !is_python || rest[0] == b'\'' && !is_rust {
            string_end(bytes, at)
        } else if rest.len() > 2 && rest[0] == b'\'' && rest[2] == b'\'' {
            at + 3
        } else {
            at += 1;
            continue;
        };
        let end = end.min(bytes.len());
        for byte in &mut out[at..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = end.max(at + 1);
    }
    String::from_utf8(out).unwrap_or_default()
}

fn find_from(bytes: &[u8], from: usize, what: &[u8]) -> usize {
    let from = from.min(bytes.len());
    bytes[from..].windows(what.len()).position(|it| it == what).map_or(bytes.len(), |at| from + at)
}

/// The end of a string that starts at a quote; one in single or double quotes ends with its line.
fn string_end(bytes: &[u8], from: usize) -> usize {
    let quote = bytes[from];
    let mut at = from + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'\n' if quote != b'`' => return at,
            byte if byte == quote => return at + 1,
            _ => {}
        }
        at += 1;
    }
    at
}

/// Of a list, as many as wanted, evenly spread.
fn spread<T>(all: Vec<T>, count: usize) -> Vec<T> {
    let total = all.len();
    let chosen = |at: usize| total <= count || at * count / total != (at + 1) * count / total;
    all.into_iter().enumerate().filter(|(at, _)| chosen(*at)).map(|(_, each)| each).collect()
}

fn sample_tree(folder: &Path) -> Result<(), Box<dyn Error>> {
    let tree = Tree::open(folder)?;
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for of in &tree.types {
        *counts.entry(&of.simple_name).or_default() += 1;
        of.members.iter().for_each(|member| *counts.entry(&member.name).or_default() += 1);
    }
    let is_free = |of: &TypeSummary, member: &MemberSummary| {
        of.kind == TypeKind::Module && member.kind == MemberKind::Function
    };
    let members = || tree.types.iter().flat_map(|of| of.members.iter().map(move |member| (of, member)));
    let has_free = members().any(|(of, member)| is_free(of, member));
    let fits = |(of, member): &(&TypeSummary, &MemberSummary)| {
        let kind = if has_free { is_free(of, member) } else { member.kind == MemberKind::Method };
        kind && counts[member.name.as_str()] == 1
    };
    let called: Vec<(Symbol<'_>, [Lines; 2])> = members()
        .filter(fits)
        .map(|(of, member)| ((of, Some(member)), tree.text_lines((of, Some(member)))))
        .filter(|(_, [_, called])| !called.is_empty())
        .collect();
    let mut result = Tally::default();
    for (symbol, [mentioned, called]) in spread(called, SAMPLE) {
        let usages = tree.usages(symbol)?;
        result.add(&tree, symbol, &usages, [&mentioned, &called]);
    }
    result.print(folder, if has_free { "free functions" } else { "methods" });
    Ok(())
}

#[derive(Default)]
struct Tally {
    sampled: usize,
    with_usages: usize,
    likely: usize,
    lines: usize,
    lines_found: usize,
    lines_likely: usize,
    missing: Vec<String>,
    unsure: Vec<String>,
}

impl Tally {
    fn add(&mut self, tree: &Tree, symbol: Symbol<'_>, usages: &[UsageSite], [_, called]: [&Lines; 2]) {
        let lines = |least: Certainty| -> Lines {
            let sure = usages.iter().filter(|usage| usage.certainty <= least);
            sure.map(|usage| (usage.file.clone(), tree.line_of(&usage.file, usage.at))).collect()
        };
        let (all, likely) = (lines(Certainty::Possible), lines(Certainty::Likely));
        let name = format!("{}.{}", symbol.0.name, symbol.1.map_or("", |member| &member.name));
        self.sampled += 1;
        self.with_usages += usize::from(!all.is_empty());
        self.likely += usize::from(!likely.is_empty());
        self.lines += called.len();
        self.lines_found += called.intersection(&all).count();
        self.lines_likely += called.intersection(&likely).count();
        if all.is_empty() {
            self.missing.push(name);
        } else if likely.is_empty() {
            self.unsure.push(name);
        }
    }

    fn print(&self, folder: &Path, what: &str) {
        let percent = |part: usize, of: usize| 100.0 * part as f64 / of.max(1) as f64;
        println!(
            "{}: {} {what} that are called: {} with usages ({:.0} %), {} as likely or better ({:.0} %); \
             of {} lines that call them {:.0} % are found, {:.0} % as likely or better",
            folder.file_name().unwrap_or_default().to_string_lossy(),
            self.sampled,
            self.with_usages,
            percent(self.with_usages, self.sampled),
            self.likely,
            percent(self.likely, self.sampled),
            self.lines,
            percent(self.lines_found, self.lines),
            percent(self.lines_likely, self.lines),
        );
        for (mark, names) in [("no usages", &self.missing), ("possible only", &self.unsure)] {
            if !names.is_empty() {
                println!("  {mark}: {}", names.join(", "));
            }
        }
    }
}

/// Prints symbols with their declaration and usages as JSON, one per line; lines and columns start at 1.
fn dump_tree(folder: &Path, count: usize) -> Result<(), Box<dyn Error>> {
    let tree = Tree::open(folder)?;
    let mut all: Vec<Symbol<'_>> = Vec::new();
    for of in &tree.types {
        if of.kind != TypeKind::Module {
            all.push((of, None));
        }
        let named = |member: &&MemberSummary| {
            member.name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$')
                && !matches!(member.kind, MemberKind::Constructor | MemberKind::Destructor)
        };
        all.extend(of.members.iter().filter(named).map(|member| (of, Some(member))));
    }
    let is_source = |(of, _): &Symbol<'_>| language_of(Path::new(&of.files[0])).is_some();
    for symbol in spread(all.into_iter().filter(is_source).collect(), count) {
        let (of, member) = symbol;
        let range = member.map_or(of.parts[0], |member| member.range);
        let name = member.map_or(&of.simple_name, |member| &member.name);
        let file = &of.files[range.file as usize];
        let text = tree.code.get(file).map_or("", String::as_str);
        let Some(at) = word_places(text, name).into_iter().find(|at| *at >= range.signature.from as usize)
        else {
            continue;
        };
        let start = text[..at].rfind('\n').map_or(0, |line| line + 1);
        let usages: Vec<String> = tree
            .usages(symbol)?
            .iter()
            .map(|usage| {
                let line = tree.line_of(&usage.file, usage.at);
                format!("[{:?},{line},{:?}]", usage.file, usage.certainty.name())
            })
            .collect();
        println!(
            "{{\"symbol\":{:?},\"name\":{name:?},\"kind\":{:?},\"file\":{file:?},\"line\":{},\"column\":{},\"usages\":[{}]}}",
            format!("{}.{}", of.name, member.map_or("", |member| &member.name)),
            member.map_or(of.kind.name(), |member| member.kind.name()),
            tree.line_of(file, at as u32),
            text[start..at].chars().count() + 1,
            usages.join(",")
        );
    }
    Ok(())
}
