//! Compares the declarations of a tree with those that another program lists, by file, line and name: precision and recall of types,
//! functions and values. The listing comes from standard input, one line each: path, line, kind, name and kind of the scope, separated by tabs. What is declared in a function is left out.
//!
//! Does not know who made the listing. For C, C++, Kotlin, PHP, Ruby and shell:
//!
//! ```text
//! cd FOLDER && ctags -R --kinds-C=+px --kinds-C++=+px --kinds-PHP=-a -x --_xformat="%F TAB %n TAB %K TAB %N TAB %p" . > LISTING
//! cargo run -p loci-code --example declarations -- FOLDER C C++ < LISTING
//! ```
//!
//! For Swift, which ctags does not read, `judges/swift.py FOLDER` makes the listing with the lexer of Pygments. With `--list`, every
//! difference is printed.

#![allow(clippy::print_stdout)] // a command-line program

use project::discover;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::io::Read as _;
use std::path::Path;
use syntax::{FileFacts, MemberKind, Reader, Span, Symbols, TypeKind, decode_text, language_of, whole_words};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Group {
    Type,
    Function,
    Value,
    Macro,
}

const GROUPS: &[Group] = &[Group::Type, Group::Function, Group::Value, Group::Macro];

/// Names of members that are keywords, which listings leave out.
const KEYWORD_NAMES: &[&str] = &["constructor", "init", "deinit", "subscript"];

/// File, line and name.
type Place = (String, u32, String);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (flags, words): (Vec<String>, Vec<String>) =
        arguments.into_iter().partition(|it| it.starts_with("--"));
    let Some((folder, languages)) = words.split_first() else {
        return Err("usage: declarations FOLDER LANGUAGE… < LISTING".into());
    };
    let ours = read_tree(Path::new(folder), languages)?;
    let mut listing = Vec::new();
    std::io::stdin().read_to_end(&mut listing)?;
    let listing = String::from_utf8_lossy(&listing);
    let files: BTreeSet<&str> = ours.files.iter().map(String::as_str).collect();
    let theirs = parse_listing(&listing, &files);
    println!("{} files, {} lines, {} files with gaps", ours.files.len(), ours.lines, ours.with_gaps);
    let has = |flag: &str| flags.iter().any(|it| it == flag);
    for group in GROUPS {
        compare(*group, &ours.declared, &theirs, has("--list"));
    }
    for gap in ours.gaps.iter().filter(|_| has("--gaps")) {
        println!("gap: {gap}");
    }
    Ok(())
}

#[derive(Default)]
struct Tree {
    files: Vec<String>,
    lines: u64,
    with_gaps: u64,
    gaps: Vec<String>,
    declared: BTreeMap<Place, Group>,
}

fn read_tree(root: &Path, languages: &[String]) -> Result<Tree, Box<dyn Error>> {
    let mut tree = Tree::default();
    for (path, _) in discover(root)?.files {
        let Some(language) = language_of(Path::new(&path)) else { continue };
        if !languages.iter().any(|it| it == language.name) {
            continue;
        }
        let bytes = std::fs::read(root.join(&path))?;
        let text = decode_text(&bytes);
        let facts = Reader::new(language)?.read(&text, &Symbols::default());
        tree.lines += u64::from(facts.lines);
        tree.with_gaps += u64::from(!facts.gaps.is_empty());
        tree.gaps.extend(facts.gaps.iter().map(|gap| format!("{path}:{} {:?}", gap.line, gap.kind)));
        tree.declared.extend(declarations_of(&path, &text, &facts));
        tree.files.push(path);
    }
    Ok(tree)
}

fn declarations_of(path: &str, text: &str, facts: &FileFacts) -> Vec<(Place, Group)> {
    let place = |name: &str, span: Span, signature: Span, is_last: bool| -> Place {
        let from = signature.from.clamp(span.from, span.to) as usize;
        let near = text.get(from..span.to as usize).unwrap_or_default();
        let places = whole_words(near, name);
        let place = if is_last { places.last() } else { places.first() };
        let at = from + place.map_or(0, |it| it.from as usize);
        let shown = name.replace("operator ", "operator");
        (path.to_owned(), text[..at].matches('\n').count() as u32 + 1, shown)
    };
    let mut found = Vec::new();
    for part in &facts.types {
        // `typedef struct { … } name`
        let head = part.signature.text_in(text);
        let is_typedef = head.starts_with("typedef")
            && (part.kind == TypeKind::Alias || whole_words(head, &part.name).is_empty());
        if !matches!(part.kind, TypeKind::Module | TypeKind::Impl) {
            found.push((place(&part.name, part.span, part.signature, is_typedef), Group::Type));
        }
        for member in part.members.iter().filter(|it| !KEYWORD_NAMES.contains(&it.name.as_str())) {
            found.push((place(&member.name, member.span, member.signature, false), group_of(member.kind)));
        }
    }
    found
}

fn group_of(kind: MemberKind) -> Group {
    match kind {
        MemberKind::Method
        | MemberKind::Function
        | MemberKind::Constructor
        | MemberKind::Destructor
        | MemberKind::Operator
        | MemberKind::Indexer => Group::Function,
        MemberKind::AssociatedType => Group::Type,
        MemberKind::Macro => Group::Macro,
        _ => Group::Value,
    }
}

/// The listed declarations of the files that were read.
fn parse_listing(listing: &str, files: &BTreeSet<&str>) -> BTreeMap<Place, Option<Group>> {
    let parse = |line: &str| {
        let mut fields = line.split('\t');
        let path = fields.next()?.trim_start_matches("./");
        let (at, kind, name) = (fields.next()?.parse().ok()?, fields.next()?, fields.next()?);
        let is_local =
            fields.next().is_some_and(|scope| matches!(scope, "function" | "method" | "singletonMethod"));
        let name = if kind == "accessor" { name.trim_end_matches('=') } else { name };
        let name = name.trim_start_matches('$').replace("operator ", "operator");
        (files.contains(path) && !is_local).then(|| ((path.to_owned(), at, name), group_of_kind(kind)))
    };
    // `typedef struct a { … } a;` is one type, which ctags lists at both names
    let named = |line: &str, kind: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        fields.get(2).is_some_and(|it| *it == kind).then(|| (fields[0].to_owned(), fields[3].to_owned()))
    };
    let tags: BTreeSet<(String, String)> = listing
        .lines()
        .flat_map(|line| ["struct", "union", "enum"].map(|kind| named(line, kind)))
        .flatten()
        .collect();
    let lines = listing.lines().filter(|line| named(line, "typedef").is_none_or(|it| !tags.contains(&it)));
    lines.filter_map(parse).filter(|(place, _)| is_named(&place.2)).collect()
}

/// ctags names anonymous types itself.
fn is_named(name: &str) -> bool {
    !name.starts_with("__anon") && !name.starts_with('<') && !name.starts_with("AnonymousC")
}

fn group_of_kind(kind: &str) -> Option<Group> {
    match kind {
        "class" | "struct" | "union" | "enum" | "typedef" | "interface" | "trait" | "object"
        | "typealias" => Some(Group::Type),
        "function" | "prototype" | "method" | "singletonMethod" | "alias" => Some(Group::Function),
        "member" | "variable" | "externvar" | "enumerator" | "constant" | "define" | "accessor" => {
            Some(Group::Value)
        }
        "macro" => Some(Group::Macro),
        // a namespace, package or module is declared by every file that adds to it
        _ => None,
    }
}

fn compare(group: Group, ours: &BTreeMap<Place, Group>, theirs: &BTreeMap<Place, Option<Group>>, list: bool) {
    let own: Vec<&Place> = ours.iter().filter(|(_, of)| **of == group).map(|(place, _)| place).collect();
    let listed = theirs.iter().filter(|(_, of)| **of == Some(group)).map(|(place, _)| place);
    let listed: Vec<&Place> = listed.collect();
    let extra: Vec<&Place> = own.iter().copied().filter(|place| !theirs.contains_key(*place)).collect();
    let missed: Vec<&Place> = listed.iter().copied().filter(|place| !ours.contains_key(*place)).collect();
    let share = |part: usize, all: usize| if all == 0 { 1.0 } else { part as f64 / all as f64 };
    println!(
        "{group:?}: {} declared, {} listed, precision {:.3}, recall {:.3}",
        own.len(),
        listed.len(),
        share(own.len() - extra.len(), own.len()),
        share(listed.len() - missed.len(), listed.len())
    );
    for (mark, places) in [("only here", &extra), ("only listed", &missed)] {
        for (path, line, name) in places.iter().filter(|_| list) {
            println!("  {mark}: {path}:{line} {name}");
        }
    }
}
