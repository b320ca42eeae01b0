//! `cargo run --release -p loci-code --example corpus -- gaps DIR…`: how much of real code is read, and how fast, by the time
//! this process had a processor.

#![allow(clippy::print_stdout)] // a tool for the terminal

use loci_code::specimen::{STYLES, attributed, commented, documented, reformatted, with_statement};
use loci_code::{
    Codebase, Cost, FileFacts, LANGUAGES, Language, Outliner, Project, Reader, Resolver, SourceFile, Symbols,
    TypeHashes, classify, count_tokens, decode, hashes,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["gaps", folders @ ..] => folders.iter().for_each(|folder| gaps(Path::new(folder))),
        ["laws", folders @ ..] => folders.iter().for_each(|folder| laws(Path::new(folder))),
        ["outlines", folders @ ..] => folders.iter().for_each(|folder| outlines(Path::new(folder))),
        ["outline", folder, name] => outline(Path::new(folder), name),
        ["oracle", out, symbols, folder] => oracle(Path::new(out), symbols, Path::new(folder)),
        _ => println!(
            "corpus gaps DIR…\ncorpus laws DIR…\ncorpus outlines DIR…\ncorpus outline DIR NAME\ncorpus oracle OUT SYMBOL,SYMBOL DIR"
        ),
    }
}

fn gaps(folder: &Path) {
    for language in LANGUAGES {
        let texts = texts(folder, language);
        if !texts.is_empty() {
            gaps_in(folder, language, &texts);
        }
    }
}

fn gaps_in(folder: &Path, language: &'static Language, texts: &[(PathBuf, String)]) {
    let mut reader = Reader::new(language).unwrap();
    let start = busy();
    let facts: Vec<FileFacts> =
        texts.iter().map(|(_, text)| reader.read(text, &Symbols::default())).collect();
    let spent = busy() - start;
    let mut damaged = 0;
    for ((path, text), facts) in texts.iter().zip(&facts) {
        damaged += usize::from(!facts.gaps.is_empty());
        for gap in facts.gaps.iter().take(3) {
            let quoted =
                text.get(gap.span.from as usize..).unwrap_or_default().lines().next().unwrap_or_default();
            println!("{}:{}: {:?} `{}`", path.display(), gap.line, gap.kind, quoted.trim());
        }
    }
    let lines: u64 = facts.iter().map(|facts| u64::from(facts.lines)).sum();
    let types: usize = facts.iter().map(|facts| facts.types.len()).sum();
    let references: usize = facts.iter().map(|facts| facts.references.len()).sum();
    println!(
        "{}, {}: {} files, {lines} lines, {types} declarations of types, {references} references; {damaged} files with a gap \
         ({:.2} %); {:.2} s of a processor, {:.0} lines a second",
        folder.display(),
        language.name,
        texts.len(),
        damaged as f64 * 100.0 / texts.len() as f64,
        spent,
        lines as f64 / spent
    );
}

/// What holds for any edit of a kind, over every file of a tree at once.
fn laws(folder: &Path) {
    let symbols = Symbols::default();
    let texts = texts(folder, &LANGUAGES[0]);
    let mut reader = Reader::new(&LANGUAGES[0]).unwrap();
    let facts: Vec<FileFacts> = texts.iter().map(|(_, text)| reader.read(text, &symbols)).collect();
    let old = all_hashes(&texts, |text, _| text.to_owned());
    for style in STYLES {
        compare(
            &format!("layout {style:?}"),
            &old,
            &all_hashes(&texts, |text, _| reformatted(text, &symbols, *style)),
        );
    }
    compare("comments", &old, &all_hashes(&texts, |text, _| commented(text, &symbols)));
    compare("documentation", &old, &all_hashes(&texts, |text, _| documented(text, &symbols)));
    for open in [false, true] {
        let edit = |text: &str, at: usize| {
            with_statement(text, &facts[at], |member| member.visibility.is_open() == open).0
        };
        compare(if open { "public bodies" } else { "private bodies" }, &old, &all_hashes(&texts, edit));
    }
    compare("attributes", &old, &all_hashes(&texts, |text, at| attributed(text, &facts[at]).0));
}

/// The hashes of all types of a tree, each file edited.
fn all_hashes(
    texts: &[(PathBuf, String)],
    edit: impl Fn(&str, usize) -> String,
) -> BTreeMap<String, TypeHashes> {
    let mut reader = Reader::new(&LANGUAGES[0]).unwrap();
    let file = |(at, (path, text)): (usize, &(PathBuf, String))| SourceFile {
        path: path.display().to_string(),
        project: 0,
        generated: false,
        facts: reader.read(&edit(text, at), &Symbols::default()),
    };
    let code = Codebase::new(vec![Project::default()], texts.iter().enumerate().map(file).collect());
    let resolver = Resolver::new(&code);
    (0..code.types.len())
        .map(|at| (code.types[at].name.clone(), hashes(&code, &resolver, at as u32)))
        .collect()
}

/// How many types an edit puts into each class; those that could not be read in full are counted apart.
fn compare(name: &str, old: &BTreeMap<String, TypeHashes>, new: &BTreeMap<String, TypeHashes>) {
    let mut classes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, before) in old {
        let class = match new.get(name) {
            Some(after) if before.degraded || after.degraded => "(with a gap)",
            Some(after) => classify(before, after).map_or("unchanged", |change| change.class.name()),
            None => "gone",
        };
        classes.entry(class).or_default().push(name);
    }
    let told: Vec<String> = classes
        .iter()
        .map(|(class, types)| {
            format!(
                "{class} {} ({})",
                types.len(),
                types.iter().take(2).copied().collect::<Vec<_>>().join(", ")
            )
        })
        .collect();
    println!("{name}: {}", told.join("; "));
}

/// A tree as one project, with its texts.
fn whole(folder: &Path) -> (Codebase, BTreeMap<String, String>) {
    let mut reader = Reader::new(&LANGUAGES[0]).unwrap();
    let texts = texts(folder, &LANGUAGES[0]);
    let name = |path: &Path| path.strip_prefix(folder).unwrap_or(path).display().to_string();
    let file = |(path, text): &(PathBuf, String)| SourceFile {
        path: name(path),
        project: 0,
        generated: false,
        facts: reader.read(text, &Symbols::default()),
    };
    let code = Codebase::new(vec![Project::default()], texts.iter().map(file).collect());
    (code, texts.into_iter().map(|(path, text)| (name(&path), text)).collect())
}

/// The text of all declarations of a type, with what is written above each.
fn source(code: &Codebase, texts: &BTreeMap<String, String>, at: usize) -> String {
    let part = |(file, part): &(u32, u32)| {
        let text = &texts[&code.files[*file as usize].path];
        let span = code.part((*file, *part)).span;
        let above = text[..span.from as usize].rfind(['{', '}', ';']).map_or(0, |at| at + 1);
        text[above..span.to as usize].to_owned()
    };
    code.types[at].parts.iter().map(part).collect()
}

/// What outlines cost beside the source they stand for.
fn outlines(folder: &Path) {
    let (code, texts) = whole(folder);
    let resolver = Resolver::new(&code);
    let outliner = Outliner::new(&code, &resolver);
    let mut costs: Vec<(Cost, Cost, usize)> = Vec::new();
    for at in 0..code.types.len() {
        let source = source(&code, &texts, at);
        let text = Cost::new(&outliner.text(at as u32), &source);
        costs.push((text, Cost { outline: count_tokens(&outliner.file(at as u32)), ..text }, at));
    }
    let median = |percent: &dyn Fn(&(Cost, Cost, usize)) -> f64, least: usize| {
        let mut all: Vec<f64> = costs.iter().filter(|it| it.0.source >= least).map(percent).collect();
        all.sort_by(f64::total_cmp);
        (all.len(), all[all.len() / 2])
    };
    let total = |pick: &dyn Fn(&(Cost, Cost, usize)) -> usize| costs.iter().map(pick).sum::<usize>();
    println!(
        "{}: all outlines {} tokens of {} of source ({:.1} %)",
        folder.display(),
        total(&|it| it.0.outline),
        total(&|it| it.0.source),
        total(&|it| it.0.outline) as f64 * 100.0 / total(&|it| it.0.source) as f64
    );
    for least in [0, 200, 400, 800, 1600] {
        let (count, read) = median(&|it| it.0.percent(), least);
        let (_, kept) = median(&|it| it.1.percent(), least);
        println!(
            "  {count} types of {least} tokens or more: median {read:.1} % as read, {kept:.1} % with hashes"
        );
    }
}

fn outline(folder: &Path, name: &str) {
    let (code, texts) = whole(folder);
    let resolver = Resolver::new(&code);
    let outliner = Outliner::new(&code, &resolver);
    for at in (0..code.types.len()).filter(|at| code.types[*at].name.ends_with(name)) {
        let text = outliner.file(at as u32);
        println!("{text}{:?}", Cost::new(&text, &source(&code, &texts, at)));
    }
}

/// What the oracle of Roslyn writes of the same files, as it writes it: all of them as one project.
fn oracle(out: &Path, symbols: &str, folder: &Path) {
    let symbols: Symbols = symbols.split(',').collect();
    let mut reader = Reader::new(&LANGUAGES[0]).unwrap();
    let texts = texts(folder, &LANGUAGES[0]);
    let file = |(path, text): &(PathBuf, String)| SourceFile {
        path: path.display().to_string(),
        project: 0,
        generated: false,
        facts: reader.read(text, &symbols),
    };
    let start = busy();
    let code = Codebase::new(vec![Project::default()], texts.iter().map(file).collect());
    let resolver = Resolver::new(&code);
    let edges = resolver.edges();
    println!("read and resolved in {:.2} s of a processor", busy() - start);
    let types: Vec<String> = code
        .types
        .iter()
        .map(|each| format!("{}\t{}\t{}\n", each.name, each.kind.name(), code.declared(each)))
        .collect();
    let name = |at: u32| &code.types[at as usize].name;
    let deps: BTreeSet<String> =
        edges.iter().map(|edge| format!("{}\t{}\n", name(edge.from), name(edge.to))).collect();
    fs::create_dir_all(out).unwrap();
    fs::write(out.join("types.tsv"), types.concat()).unwrap();
    fs::write(out.join("deps.tsv"), deps.into_iter().collect::<String>()).unwrap();
    fs::write(out.join("occ.tsv"), occurrences(&code, &resolver, &texts)).unwrap();
}

fn occurrences(code: &Codebase, resolver: &Resolver, texts: &[(PathBuf, String)]) -> String {
    let mut lines = BTreeSet::new();
    for (at, file) in code.files.iter().enumerate() {
        let (_, text) = texts.iter().find(|(path, _)| path.display().to_string() == file.path).unwrap();
        let starts: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
        let shown = file.path.split("/corpus/").last().unwrap_or_default();
        for reference in file.facts.references.iter().filter(|reference| reference.owner.is_some()) {
            let line = starts.partition_point(|start| *start < reference.at as usize) + 1;
            let path = file.facts.path(reference);
            for mention in resolver.mentions(at as u32, reference) {
                let word = file.facts.word(path.segments[mention.segment as usize].word);
                lines.insert(format!("{shown}:{line}\t{word}\t{}\n", code.types[mention.to as usize].name));
            }
        }
    }
    lines.into_iter().collect()
}

fn texts(folder: &Path, language: &Language) -> Vec<(PathBuf, String)> {
    let (mut open, mut found) = (vec![folder.to_path_buf()], Vec::new());
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
        } else if path.extension().and_then(|it| it.to_str()).is_some_and(|it| language.endings.contains(&it)) {
            found.push((path.clone(), decode(&fs::read(&path).unwrap()).into_owned()));
        }
    }
    found.sort();
    found
}

/// Seconds of a processor that this process has had.
fn busy() -> f64 {
    let told = fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    told.split(' ').next().and_then(|first| first.parse::<f64>().ok()).unwrap_or_default() / 1e9
}
