//! Checks this crate against real code in a folder. Nothing is downloaded: a missing folder is reported as skipped, which is
//! not a failure.
//!
//!     cargo run --release -p loci-code --example corpus -- gaps DIR…            parse gaps and parsing speed
//!     cargo run --release -p loci-code --example corpus -- index DIR            the whole pipeline, with time and memory
//!     cargo run --release -p loci-code --example corpus -- laws DIR…            how edits of every file are classified
//!     cargo run --release -p loci-code --example corpus -- formatted OLD NEW    how a formatter's run is classified (two copies)
//!     cargo run --release -p loci-code --example corpus -- outlines DIR…        the token cost of outlines
//!     cargo run --release -p loci-code --example corpus -- outline DIR NAME     print one outline
//!     cargo run --release -p loci-code --example corpus -- used DIR             print every usage of a member and its declaration
//!     cargo run --release -p loci-code --example corpus -- oracle ROSLYN SYMBOL,SYMBOL DIR
//!     cargo run --release -p loci-code --example corpus -- usages ROSLYN SYMBOL,SYMBOL DIR
//!
//! `check_usages` compares usages of members with `roslyn_usages.tsv`, which `crates/code/oracle/Usages.cs` writes; it fails if the
//! precision or the recall of certain usages is too low. `check_oracle` compares types, members and references between types with
//! Roslyn's results for the same files: `ROSLYN` is a folder with `roslyn_types.tsv`, `roslyn_deps.tsv` and optionally
//! `roslyn_occ.tsv`. It fails if a type or a member count differs, or if precision or recall is below 0.995.

#![allow(clippy::print_stdout)] // a tool for the terminal

#[path = "../tests/sample_edits/mod.rs"]
mod sample_edits;

use loci_code::{
    Certainty, Codebase, Outliner, Resolver, SourceFile, TokenCost, TypeHashes, UsageFinder, classify_change,
    count_tokens, hash_type, read_tree,
};
use project::{Project, discover};
use sample_edits::{
    STYLES, add_attributes, add_comments, add_statements, extend_docs, reformat_csharp, reformat_whitespace,
    split_types,
};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use syntax::{FileFacts, LANGUAGES, Language, MemberKind, Reader, Symbols, decode_text};

/// Required precision and recall of explicit references between types.
const MIN_EDGE_SCORE: f64 = 0.995;
/// Required precision and recall of usages of members that are reported as certain.
const MIN_USAGE_SCORE: (f64, f64) = (0.97, 0.85);

type Outcome = Result<bool, Box<dyn Error>>;

/// The files of a tree, by path relative to its root.
type Texts = BTreeMap<String, String>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["gaps", folders @ ..] => check_folders(folders, check_gaps),
        ["index", folder] => check_folders(&[folder], measure_index),
        ["laws", folders @ ..] => check_folders(folders, check_invariants),
        ["formatted", old, new] => check_folders(&[new], |new| check_formatted(Path::new(old), new)),
        ["outlines", folders @ ..] => check_folders(folders, measure_outlines),
        ["outline", folder, name] => check_folders(&[folder], |folder| print_outlines(folder, name)),
        ["used", folder] => check_folders(&[folder], list_used),
        ["oracle", roslyn, symbols, folder] => check_folders(&[folder], |folder| {
            check_oracle(Path::new(roslyn), &symbols.split(',').collect(), folder)
        }),
        ["usages", roslyn, symbols, folder] => check_folders(&[folder], |folder| {
            check_usages(Path::new(roslyn), &symbols.split(',').collect(), folder)
        }),
        _ => Err("unknown command: see the head of crates/code/examples/corpus.rs".into()),
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

fn check_folders(folders: &[&str], check: impl Fn(&Path) -> Outcome) -> Outcome {
    let mut passed = true;
    for folder in folders.iter().map(Path::new) {
        if folder.is_dir() {
            passed &= check(folder)?;
        } else {
            println!("skipped: no such folder: {}", folder.display());
        }
    }
    Ok(passed)
}

fn check_gaps(folder: &Path) -> Outcome {
    let mut passed = true;
    for language in LANGUAGES {
        let texts = read_texts(folder, language)?;
        passed &= texts.is_empty() || gaps_in(folder, language, &texts)?;
    }
    Ok(passed)
}

fn gaps_in(folder: &Path, language: &'static Language, texts: &Texts) -> Outcome {
    let mut reader = Reader::new(language)?;
    let start = cpu_seconds();
    let facts: Vec<FileFacts> = texts.values().map(|text| reader.read(text, &Symbols::default())).collect();
    let spent = cpu_seconds() - start;
    let mut damaged = 0;
    for ((path, text), facts) in texts.iter().zip(&facts) {
        damaged += usize::from(!facts.gaps.is_empty());
        for gap in facts.gaps.iter().take(3) {
            let quoted =
                text.get(gap.span.from as usize..).unwrap_or_default().lines().next().unwrap_or_default();
            println!("{path}:{}: {:?} `{}`", gap.line, gap.kind, quoted.trim());
        }
    }
    let lines: u64 = facts.iter().map(|facts| u64::from(facts.lines)).sum();
    println!(
        "{}, {}: {} files, {lines} lines; {damaged} files with gaps ({:.2} %); {spent:.2} s CPU, {:.0} lines/s",
        folder.display(),
        language.name,
        texts.len(),
        damaged as f64 * 100.0 / texts.len().max(1) as f64,
        lines as f64 / spent
    );
    Ok(damaged * 100 <= texts.len())
}

/// The whole pipeline from the folder to the hashes.
fn measure_index(folder: &Path) -> Outcome {
    let start = cpu_seconds();
    let layout = discover(folder)?;
    let (code, problems) = read_tree(folder, &layout, 2);
    let read = cpu_seconds();
    let resolver = Resolver::new(&code);
    let edges = resolver.all_edges();
    let resolved = cpu_seconds();
    let all: Vec<TypeHashes> =
        (0..code.types.len() as u32).map(|at| hash_type(&code, &resolver, at)).collect();
    let hashed = cpu_seconds();
    let lines: u64 = code.files.iter().map(|file| u64::from(file.facts.lines)).sum();
    let gaps = code.files.iter().filter(|file| !file.facts.gaps.is_empty()).count();
    println!(
        "{}: {} projects, {} files, {lines} lines, {} types, {} members, {} edges; {gaps} files with gaps, {} problems",
        folder.display(),
        layout.projects.len(),
        code.files.len(),
        code.types.len(),
        all.iter().map(|each| each.members.len()).sum::<usize>(),
        edges.len(),
        problems.len() + layout.problems.len()
    );
    println!(
        "read in {:.2} s CPU, resolved in {:.2}, hashed in {:.2}: {:.0} lines/s; peak memory {}",
        read - start,
        resolved - read,
        hashed - resolved,
        lines as f64 / (hashed - start),
        peak_memory()
    );
    Ok(true)
}

/// Checks that a formatter's run over a whole tree is cosmetic for every type.
fn check_formatted(old: &Path, new: &Path) -> Outcome {
    let mut passed = true;
    for language in LANGUAGES {
        let (before, after) = (read_texts(old, language)?, read_texts(new, language)?);
        let touched = before.iter().filter(|(path, text)| after.get(*path) != Some(text)).count();
        if touched > 0 {
            println!("{}: {touched} of {} files are reformatted", language.name, before.len());
            let same = |_: &str, text: &str| text.to_owned();
            let (before, after) =
                (hash_edited(&before, language, same)?, hash_edited(&after, language, same)?);
            passed &= compare_classes(language.name, &before, &after, &["Cosmetic", "unchanged"]);
        }
    }
    Ok(passed)
}

/// Checks the invariants of change classification on every file of a tree: all kinds of edits for C#, reformatting for the
/// other languages.
fn check_invariants(folder: &Path) -> Outcome {
    let mut passed = check_csharp_invariants(folder)?;
    for language in &LANGUAGES[1..] {
        let texts = read_texts(folder, language)?;
        if texts.is_empty() {
            continue;
        }
        let old = hash_edited(&texts, language, |_, text| text.to_owned())?;
        for style in STYLES {
            let mut reader = Reader::new(language)?;
            let new =
                hash_edited(&texts, language, |_, text| reformat_whitespace(&mut reader, text, *style))?;
            passed &= compare_classes(
                &format!("{} layout {style:?}", language.name),
                &old,
                &new,
                &["Cosmetic", "unchanged"],
            );
        }
    }
    Ok(passed)
}

fn check_csharp_invariants(folder: &Path) -> Outcome {
    let symbols = Symbols::default();
    let texts = read_texts(folder, &LANGUAGES[0])?;
    let mut reader = Reader::new(&LANGUAGES[0])?;
    let facts: BTreeMap<&str, FileFacts> =
        texts.iter().map(|(path, text)| (path.as_str(), reader.read(text, &symbols))).collect();
    let old = hash_edited(&texts, &LANGUAGES[0], |_, text| text.to_owned())?;
    let mut passed = true;
    for style in STYLES {
        let new = hash_edited(&texts, &LANGUAGES[0], |_, text| reformat_csharp(text, &symbols, *style))?;
        passed &= compare_classes(&format!("layout {style:?}"), &old, &new, &["Cosmetic"]);
    }
    let new = hash_edited(&texts, &LANGUAGES[0], |_, text| add_comments(text, &symbols))?;
    passed &= compare_classes("comments", &old, &new, &["Cosmetic", "unchanged"]);
    // documentation inside bodies is a comment
    let new = hash_edited(&texts, &LANGUAGES[0], |_, text| extend_docs(text, &symbols))?;
    passed &= compare_classes("documentation", &old, &new, &["Docs", "Cosmetic", "unchanged"]);
    for (open, class) in [(false, "Internal"), (true, "PublicBehavior")] {
        let edit = |path: &str, text: &str| {
            add_statements(text, &facts[path], |member| member.visibility.is_public_api() == open).0
        };
        passed &=
            compare_classes(class, &old, &hash_edited(&texts, &LANGUAGES[0], edit)?, &[class, "unchanged"]);
    }
    let mut halves = Texts::new();
    for (path, text) in &texts {
        let (first, second, count) = split_types(text, &symbols, &facts[path.as_str()]);
        halves.insert(path.clone(), if count > 0 { first } else { text.clone() });
        if count > 0 {
            halves.insert(format!("{path}.2.cs"), second);
        }
    }
    let new = hash_edited(&halves, &LANGUAGES[0], |_, text| text.to_owned())?;
    passed &= compare_classes("divided over files", &old, &new, &["Cosmetic", "unchanged"]);
    let new = hash_edited(&texts, &LANGUAGES[0], |path, text| add_attributes(text, &facts[path]).0)?;
    Ok(passed & compare_classes("attributes", &old, &new, &["Structure", "unchanged"]))
}

/// The hashes of all types of a tree after editing each file.
fn hash_edited(
    texts: &Texts,
    language: &'static Language,
    mut edit: impl FnMut(&str, &str) -> String,
) -> Result<BTreeMap<String, TypeHashes>, Box<dyn Error>> {
    let texts: Texts = texts.iter().map(|(path, text)| (path.clone(), edit(path, text))).collect();
    let code = join_files(&texts, language, &Symbols::default())?;
    let resolver = Resolver::new(&code);
    let one = |at: usize| (code.types[at].name.clone(), hash_type(&code, &resolver, at as u32));
    Ok((0..code.types.len()).map(one).collect())
}

/// Prints how many types an edit puts into each class, counting types with gaps separately; returns whether only `allowed`
/// classes occur.
fn compare_classes(
    name: &str,
    old: &BTreeMap<String, TypeHashes>,
    new: &BTreeMap<String, TypeHashes>,
    allowed: &[&str],
) -> bool {
    let mut classes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, before) in old {
        let class = match new.get(name) {
            Some(after) if before.degraded || after.degraded => "(with a gap)",
            Some(after) => classify_change(before, after).map_or("unchanged", |change| change.class.name()),
            None => "gone",
        };
        classes.entry(class).or_default().push(name);
    }
    let mut passed = true;
    for (class, types) in &classes {
        let wrong = !allowed.contains(class) && *class != "(with a gap)";
        passed &= !wrong;
        let examples =
            if wrong { types.iter().take(3).copied().collect::<Vec<_>>().join(", ") } else { String::new() };
        println!("{name}: {class} {} {examples}", types.len());
    }
    passed
}

/// Joins files as one project.
fn join_files(
    texts: &Texts,
    language: &'static Language,
    symbols: &Symbols,
) -> Result<Codebase, Box<dyn Error>> {
    let mut reader = Reader::new(language)?;
    let file = |(path, text): (&String, &String)| SourceFile {
        path: path.clone(),
        project: 0,
        generated: false,
        facts: reader.read(text, symbols),
    };
    Ok(Codebase::new(vec![Project::default()], texts.iter().map(file).collect()))
}

/// Prefixes of lines above a declaration that belong to it.
const ABOVE: &[&str] = &["//", "/*", "*", "#[", "@", "["];

/// The source of all declarations of a type, with documentation and attributes.
fn source_text(code: &Codebase, texts: &Texts, at: usize) -> String {
    let part = |(file, part): &(u32, u32)| {
        let text = &texts[&code.files[*file as usize].path];
        let span = code.part((*file, *part)).span;
        let mut above = text[..span.from as usize].rfind('\n').map_or(0, |at| at + 1);
        while let Some(line) = text[..above].lines().next_back() {
            if !ABOVE.iter().any(|mark| line.trim_start().starts_with(mark)) {
                break;
            }
            above = line.as_ptr() as usize - text.as_ptr() as usize;
        }
        text[above..span.to as usize].to_owned()
    };
    code.types[at].parts.iter().map(part).collect()
}

/// The cost of outlines next to that of their source, for each language of a tree.
fn measure_outlines(folder: &Path) -> Outcome {
    for language in LANGUAGES {
        let texts = read_texts(folder, language)?;
        if !texts.is_empty() {
            println!("{}, {}", folder.display(), language.name);
            outlines_in(&join_files(&texts, language, &Symbols::default())?, &texts);
        }
    }
    Ok(true)
}

fn outlines_in(code: &Codebase, texts: &Texts) {
    let resolver = Resolver::new(code);
    let outliner = Outliner::new(code, &resolver);
    let mut costs: Vec<(TokenCost, TokenCost)> = Vec::new();
    for at in 0..code.types.len() {
        let read = TokenCost::new(&outliner.outline_text(at as u32), &source_text(code, texts, at));
        costs.push((read, TokenCost { outline: count_tokens(&outliner.outline_file(at as u32)), ..read }));
    }
    let outline: usize = costs.iter().map(|it| it.0.outline).sum();
    let source: usize = costs.iter().map(|it| it.0.source).sum();
    let share = outline as f64 * 100.0 / source.max(1) as f64;
    println!("  all outlines {outline} tokens, all source {source} ({share:.1} %)");
    for least in [0, 100, 200, 400, 800, 1600] {
        let median = |percent: fn(&(TokenCost, TokenCost)) -> f64| {
            let mut all: Vec<f64> = costs.iter().filter(|it| it.0.source >= least).map(percent).collect();
            all.sort_by(f64::total_cmp);
            (all.len(), all.get(all.len() / 2).copied().unwrap_or_default())
        };
        let ((count, read), (_, kept)) = (median(|it| it.0.percent()), median(|it| it.1.percent()));
        println!(
            "  {count} types of {least} tokens or more: median {read:.1} % as read, {kept:.1} % with hashes"
        );
    }
}

fn print_outlines(folder: &Path, name: &str) -> Outcome {
    for language in LANGUAGES {
        let texts = read_texts(folder, language)?;
        let code = join_files(&texts, language, &Symbols::default())?;
        let resolver = Resolver::new(&code);
        let outliner = Outliner::new(&code, &resolver);
        for at in (0..code.types.len()).filter(|at| code.types[*at].name.ends_with(name)) {
            let text = outliner.outline_text(at as u32);
            println!("{text}{:?}", TokenCost::new(&text, &source_text(&code, &texts, at)));
        }
    }
    Ok(true)
}

/// Compares types, members and references with Roslyn, with all files as one project, as the oracle does.
fn check_oracle(roslyn: &Path, symbols: &Symbols, folder: &Path) -> Outcome {
    if !roslyn.join("roslyn_types.tsv").is_file() {
        println!("skipped: no Roslyn results in {}", roslyn.display());
        return Ok(true);
    }
    let texts = read_texts(folder, &LANGUAGES[0])?;
    let code = join_files(&texts, &LANGUAGES[0], symbols)?;
    let resolver = Resolver::new(&code);
    let name = |at: u32| code.types[at as usize].name.as_str();
    let types: BTreeSet<String> = code
        .types
        .iter()
        .map(|each| format!("{}\t{}", each.name, code.declared_member_count(each)))
        .collect();
    let theirs: BTreeSet<String> = read_lines(&roslyn.join("roslyn_types.tsv"))?
        .iter()
        .filter_map(|line| Some((line.split('\t').next()?, line.rsplit('\t').next()?)))
        .map(|(name, members)| format!("{name}\t{members}"))
        .collect();
    println!("{}: {} types with members, Roslyn {}", folder.display(), types.len(), theirs.len());
    for line in types.symmetric_difference(&theirs).take(10) {
        println!("  differs: {line}");
    }
    let deps =
        resolver.all_edges().iter().map(|edge| format!("{}\t{}", name(edge.from), name(edge.to))).collect();
    let mut passed = types == theirs;
    passed &= print_score("references between types", &deps, &read_lines(&roslyn.join("roslyn_deps.tsv"))?);
    let places = roslyn.join("roslyn_occ.tsv");
    if places.is_file() {
        let root = folder.display().to_string();
        // Roslyn's paths begin with the folder's path or its name
        let cut = |line: &String| match line.strip_prefix(&root) {
            Some(rest) => rest.trim_start_matches('/').to_owned(),
            None => line.split_once('/').map_or_else(|| line.clone(), |(_, rest)| rest.to_owned()),
        };
        let theirs = read_lines(&places)?.iter().map(cut).collect();
        passed &=
            print_score("references to types by line", &type_references(&code, &resolver, &texts), &theirs);
    }
    Ok(passed)
}

fn print_score(name: &str, ours: &BTreeSet<String>, theirs: &BTreeSet<String>) -> bool {
    let both = ours.intersection(theirs).count() as f64;
    let (precision, recall) = (both / ours.len().max(1) as f64, both / theirs.len().max(1) as f64);
    println!(
        "  {name}: {} ours, {} Roslyn's, precision {precision:.4}, recall {recall:.4}",
        ours.len(),
        theirs.len()
    );
    for line in ours.difference(theirs).take(5) {
        println!("    only ours: {line}");
    }
    for line in theirs.difference(ours).take(5) {
        println!("    only Roslyn's: {line}");
    }
    precision >= MIN_EDGE_SCORE && recall >= MIN_EDGE_SCORE
}

/// Prints usages for comparison with another tool's index: position, name, certainty, and the member's declaration.
fn list_used(folder: &Path) -> Outcome {
    let (code, _) = read_tree(folder, &discover(folder)?, 2);
    let resolver = Resolver::new(&code);
    let usages = UsageFinder::new(&code, &resolver);
    let text =
        |file: &SourceFile| fs::read(folder.join(&file.path)).map(|bytes| decode_text(&bytes).into_owned());
    let texts: Vec<String> = code.files.iter().map(text).collect::<Result<_, _>>()?;
    let line = |file: u32, at: u32| texts[file as usize][..at as usize].matches('\n').count() + 1;
    for (file, source) in code.files.iter().enumerate() {
        for usage in usages.usages_in_file(file as u32) {
            let (declared, part, member) = usage.member;
            let member = &code.part((declared, part)).members[member as usize];
            let before = texts[file][..usage.at as usize].rfind('\n').map_or(0, |at| at + 1);
            println!(
                "{}\t{}:{}\t{}\t{:?}\t{}\t{}-{}",
                source.path,
                line(file as u32, usage.at),
                usage.at as usize - before,
                member.name,
                usage.certainty,
                code.files[declared as usize].path,
                line(declared, member.span.from),
                line(declared, member.signature.to)
            );
        }
    }
    Ok(true)
}

/// Compares usages of members with Roslyn. Usages that Roslyn cannot resolve, because a library is missing, count as neither
/// wrong nor missed.
fn check_usages(roslyn: &Path, symbols: &Symbols, folder: &Path) -> Outcome {
    let expected = roslyn.join("roslyn_usages.tsv");
    if !expected.is_file() {
        println!("skipped: no such file: {}", expected.display());
        return Ok(true);
    }
    let texts = read_texts(folder, &LANGUAGES[0])?;
    let code = join_files(&texts, &LANGUAGES[0], symbols)?;
    let start = cpu_seconds();
    let (certain, likely) = usages_by_certainty(&code, &texts);
    let (unsure, sure): (BTreeSet<String>, _) =
        read_lines(&expected)?.into_iter().partition(|line| line.contains("\t?"));
    let unsure: BTreeSet<String> = unsure.iter().map(|line| line.replace("\t?", "\t")).collect();
    let (right, open) = (certain.intersection(&sure).count(), certain.intersection(&unsure).count());
    let share = |part: usize, all: usize| part as f64 / all.max(1) as f64;
    let (precision, recall) = (share(right, certain.len() - open), share(right, sure.len()));
    println!(
        "{}: {} usages of members, Roslyn {}; {} certain, {open} of them unresolved by Roslyn; precision {precision:.4}, recall {recall:.4}, \
         with likely ones {:.4}; {:.2} s CPU",
        folder.display(),
        certain.len() + likely.len(),
        sure.len(),
        certain.len(),
        share(right + likely.intersection(&sure).count(), sure.len()),
        cpu_seconds() - start
    );
    for line in certain.iter().filter(|line| !sure.contains(*line) && !unsure.contains(*line)).take(5) {
        println!("    only ours: {line}");
    }
    for line in sure.iter().filter(|line| !certain.contains(*line) && !likely.contains(*line)).take(5) {
        println!("    only Roslyn's: {line}");
    }
    Ok(precision >= MIN_USAGE_SCORE.0 && recall >= MIN_USAGE_SCORE.1)
}

/// The certain and the likely usages of members, in the oracle's format.
fn usages_by_certainty(code: &Codebase, texts: &Texts) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut certain, mut likely) = (BTreeSet::new(), BTreeSet::new());
    let resolver = Resolver::new(code);
    let usages = UsageFinder::new(code, &resolver);
    let owner: BTreeMap<(u32, u32), &str> =
        code.types.iter().flat_map(|each| each.parts.iter().map(|at| (*at, each.name.as_str()))).collect();
    for (at, file) in code.files.iter().enumerate() {
        let starts: Vec<usize> = texts[&file.path].match_indices('\n').map(|(at, _)| at).collect();
        for usage in usages.usages_in_file(at as u32) {
            let (declared, part, member) = usage.member;
            let member = &code.part((declared, part)).members[member as usize];
            let line = starts.partition_point(|start| *start < usage.at as usize) + 1;
            let count =
                if member.kind == MemberKind::Method { parameter_count(&member.key) } else { String::new() };
            let of = owner[&(declared, part)];
            let usage_line = format!("{}:{line}\t{}\t{of}.{}{count}", file.path, member.name, member.name);
            let found = if usage.certainty == Certainty::Certain { &mut certain } else { &mut likely };
            found.insert(usage_line);
        }
    }
    (certain, likely)
}

/// The number of parameters in a member's key, in brackets.
fn parameter_count(key: &str) -> String {
    let list = key.split_once('(').map_or("", |(_, list)| list.trim_end_matches(')'));
    let (mut depth, mut commas) = (0_i32, 0);
    for letter in list.chars() {
        match letter {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth -= 1,
            ',' if depth == 0 => commas += 1,
            _ => {}
        }
    }
    format!("({})", if list.is_empty() { 0 } else { commas + 1 })
}

fn type_references(code: &Codebase, resolver: &Resolver, texts: &Texts) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, file) in code.files.iter().enumerate() {
        let starts: Vec<usize> = texts[&file.path].match_indices('\n').map(|(at, _)| at).collect();
        for reference in file.facts.references.iter().filter(|reference| reference.owner.is_some()) {
            let line = starts.partition_point(|start| *start < reference.at as usize) + 1;
            let path = file.facts.reference_path(reference);
            for mention in resolver.resolve_reference(at as u32, reference) {
                let word = file.facts.word_text(path.segments[mention.segment as usize].word);
                found.insert(format!(
                    "{}:{line}\t{word}\t{}",
                    file.path, code.types[mention.to as usize].name
                ));
            }
        }
    }
    found
}

fn read_lines(path: &Path) -> Result<BTreeSet<String>, Box<dyn Error>> {
    Ok(fs::read_to_string(path)?.lines().map(str::to_owned).collect())
}

/// Every file of a language below a folder, including ignored ones, as in the oracle.
fn read_texts(folder: &Path, language: &Language) -> Result<Texts, Box<dyn Error>> {
    let (mut open, mut found): (Vec<PathBuf>, Texts) = (vec![folder.to_path_buf()], BTreeMap::new());
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path)?.flatten().map(|entry| entry.path()));
        } else if path
            .extension()
            .and_then(|it| it.to_str())
            .is_some_and(|it| language.extensions.contains(&it))
        {
            let name = path.strip_prefix(folder)?.display().to_string();
            found.insert(name, decode_text(&fs::read(&path)?).into_owned());
        }
    }
    Ok(found)
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
