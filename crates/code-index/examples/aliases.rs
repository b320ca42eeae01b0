//! Renames sampled types and members of a real tree, one at a time, in a copy, and checks what the index and `changes --since` say:
//!
//!     cargo run --release -p loci-code-index --example aliases -- FOLDER [COUNT]
//!
//! - A renamed type has an alias, and no body that mentions it counts as changed behaviour.
//! - A renamed function has an alias.
//! - A function that another one replaces has none.
//!
//! The new name replaces the old one wherever it is a word, so names that are declared once are taken. Needs git. Does not change
//! the folder.

#![allow(clippy::print_stdout)] // a tool for the terminal

use code::{
    ChangeClass, ChangeKind, MemberKind, MemberSummary, RefreshOptions, TypeKind, TypeSummary, language_of,
};
use loci_code_index::{ChangedType, RenamedType, Store, StoreError};
use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let count = args.get(1).and_then(|n| n.parse().ok()).unwrap_or(200);
    let usage = || "usage: aliases FOLDER [COUNT]".into();
    match args.first().ok_or_else(usage).and_then(|folder| run(Path::new(folder), count)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(folder: &Path, count: usize) -> Outcome<()> {
    let copy = tempfile::tempdir()?;
    let mut tree = Tree::copy(folder, &copy.path().join("tree"))?;
    let types = tree.types()?;
    let names = count_names(&types);
    let is_unique = |name: &String| names[name] == 1 && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let renamed: Vec<&TypeSummary> =
        types.iter().filter(|it| is_type(it) && is_unique(&it.simple_name)).collect();
    let mut type_tally = Tally::default();
    for of in spread(&renamed, count) {
        let edits = tree.replace_everywhere(&of.simple_name);
        type_tally.add(&of.name, &tree.try_edits(&edits, &of.name)?);
    }
    type_tally.print("renamed types");
    let functions = functions(&types);
    let renamed: Vec<&Function<'_>> = functions.iter().filter(|it| is_unique(&it.1.name)).collect();
    let mut member_tally = Tally::default();
    for (of, member) in spread(&renamed, count) {
        let edits = tree.replace_everywhere(&member.name);
        let name = format!("{}.{}", of.name, member.name);
        member_tally.add(&name, &tree.try_edits(&edits, &name)?);
    }
    member_tally.print("renamed functions");
    let mut other_tally = Tally::default();
    let bodies: Vec<&Function<'_>> = functions.iter().collect();
    for (n, old) in spread(&bodies, count).into_iter().enumerate() {
        let Some(edits) = tree.replace_by_another(old, &bodies, n) else { continue };
        let name = format!("{}.{}", old.0.name, old.1.name);
        other_tally.add(&name, &tree.try_edits(&edits, &name)?);
    }
    other_tally.print("functions replaced by another");
    Ok(())
}

/// A function or method with its type.
type Function<'a> = (&'a TypeSummary, &'a MemberSummary);

/// The new text of files.
type Edits = BTreeMap<String, String>;

/// A copy of the tree, in a repository, with its index.
struct Tree {
    root: PathBuf,
    store: Store,
    texts: Edits,
}

/// What was said about an edit: by the refreshed index, and by a comparison with the commit.
struct Answer {
    has_alias: [bool; 2],
    changed_bodies: [Vec<String>; 2],
}

impl Tree {
    fn copy(from: &Path, to: &Path) -> Outcome<Tree> {
        let mut texts = BTreeMap::new();
        for path in tracked_files(from)? {
            let Ok(bytes) = fs::read(from.join(&path)) else { continue };
            let at = to.join(&path);
            fs::create_dir_all(at.parent().unwrap_or(to))?;
            fs::write(at, &bytes)?;
            if let (Ok(text), true) = (String::from_utf8(bytes), language_of(path.as_ref()).is_some()) {
                texts.insert(path, text);
            }
        }
        for args in [&["init", "-q"][..], &["add", "-A", "-f"], &["commit", "-qm", "one"]] {
            run_git(to, args, &[])?;
        }
        let mut store = Store::in_memory(to)?;
        store.refresh(options())?;
        Ok(Tree { root: to.to_owned(), store, texts })
    }

    fn types(&self) -> Outcome<Vec<TypeSummary>> {
        let mut types = Vec::new();
        self.store.for_each_summary(|summary| {
            types.push(summary);
            Ok::<(), StoreError>(())
        })?;
        types.sort_by(|one, other| (&one.name, one.id).cmp(&(&other.name, other.id)));
        Ok(types)
    }

    /// The files that mention a name, with another in its place.
    fn replace_everywhere(&self, name: &str) -> Edits {
        let new = format!("{name}Other");
        let edited = self.texts.iter().map(|(path, text)| (path.clone(), replace_word(text, name, &new)));
        edited.filter(|(path, text)| *text != self.texts[path]).collect()
    }

    /// Replaces a function by one of another type that begins in the same column, under a new name.
    fn replace_by_another(&self, old: &Function<'_>, all: &[&Function<'_>], n: usize) -> Option<Edits> {
        let (file, from, to) = place(old);
        let text = self.texts.get(file)?;
        let fits = |other: &&&Function<'_>| {
            let (other_file, start, _) = place(other);
            let other_text = self.texts.get(other_file);
            let same_language = other_file.rsplit('.').next() == file.rsplit('.').next();
            let same_column = other_text.is_some_and(|it| column(it, start) == column(text, from));
            same_language && same_column && other.0.id != old.0.id && other.1.kind == old.1.kind
        };
        let start = (n * 7919) % all.len();
        let new = all.iter().cycle().skip(start).take(all.len()).find(fits)?;
        let (new_file, new_from, new_to) = place(new);
        let body = replace_word(
            &self.texts[new_file][new_from..new_to],
            &new.1.name,
            &format!("{}Other", new.1.name),
        );
        Some(Edits::from([(file.to_owned(), format!("{}{body}{}", &text[..from], &text[to..]))]))
    }

    /// Writes edits, asks, and takes them back.
    fn try_edits(&mut self, edits: &Edits, old_name: &str) -> Outcome<Answer> {
        self.write(edits)?;
        let done = self.store.refresh(options())?;
        let root = self.root.clone();
        let since = self.store.changes_since("HEAD", "", &|args, stdin| run_git(&root, args, &stdin))?;
        let has_alias = [&done.aliases, &since.aliases]
            .map(|all: &Vec<RenamedType>| all.iter().any(|it| it.old_name == old_name));
        let changed_bodies = [&done.changes, &since.changes].map(|all| changed_bodies(all));
        let back: Edits = edits.keys().map(|path| (path.clone(), self.texts[path].clone())).collect();
        self.write(&back)?;
        self.store.refresh(options())?;
        Ok(Answer { has_alias, changed_bodies })
    }

    fn write(&self, edits: &Edits) -> Outcome<()> {
        for (path, text) in edits {
            fs::write(self.root.join(path), text)?;
        }
        Ok(())
    }
}

#[derive(Default)]
struct Tally {
    tried: usize,
    aliases: [usize; 2],
    without: Vec<String>,
    /// Edits after which the behaviour of a member counts as changed.
    changed: [Vec<String>; 2],
}

impl Tally {
    fn add(&mut self, name: &str, answer: &Answer) {
        self.tried += 1;
        for at in 0..2 {
            self.aliases[at] += usize::from(answer.has_alias[at]);
            if !answer.changed_bodies[at].is_empty() {
                self.changed[at].push(format!("{name}: {}", answer.changed_bodies[at].join(", ")));
            }
        }
        if !answer.has_alias[0] {
            self.without.push(name.to_owned());
        }
    }

    fn print(&self, what: &str) {
        let [index, since] = self.aliases;
        println!("{what}: {}; with an alias in the index {index}, since the commit {since}", self.tried);
        let [index, since] = &self.changed;
        println!("  with changed behaviour in the index {}, since the commit {}", index.len(), since.len());
        since
            .iter()
            .chain(index)
            .take(8)
            .for_each(|it| println!("    {}", it.chars().take(200).collect::<String>()));
        println!("  without an alias in the index: {:?}", self.without.iter().take(12).collect::<Vec<_>>());
    }
}

fn changed_bodies(changes: &[ChangedType]) -> Vec<String> {
    let mut found = Vec::new();
    for (of, change) in changes.iter().filter_map(|it| Some((&it.name, it.change.as_ref()?))) {
        let is_body = |class: ChangeClass| class == ChangeClass::PublicBehavior;
        let members =
            change.members.iter().filter(|it| is_body(it.class) && it.change == ChangeKind::Changed);
        let before = found.len();
        found.extend(members.map(|it| format!("{of}.{}", it.key)));
        if is_body(change.class) && found.len() == before {
            found.push(of.clone());
        }
    }
    found
}

fn is_type(of: &TypeSummary) -> bool {
    of.kind != TypeKind::Module
}

/// How many types and members have each name.
fn count_names(types: &[TypeSummary]) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for of in types {
        let members = of.members.iter().filter(|it| it.name != of.simple_name).map(|it| &it.name);
        for name in members.chain([&of.simple_name]) {
            *found.entry(name.clone()).or_default() += 1;
        }
    }
    found
}

fn functions(types: &[TypeSummary]) -> Vec<Function<'_>> {
    let is_function = |it: &&MemberSummary| matches!(it.kind, MemberKind::Method | MemberKind::Function);
    let has_body = |it: &&MemberSummary| it.range.span.to > it.range.signature.to;
    let all = types.iter().flat_map(|of| of.members.iter().map(move |member| (of, member)));
    all.filter(|(_, it)| is_function(it) && has_body(it)).collect()
}

fn place<'a>((of, member): &Function<'a>) -> (&'a str, usize, usize) {
    let span = member.range.span;
    (&of.files[member.range.file as usize], span.from as usize, span.to as usize)
}

fn column(text: &str, at: usize) -> usize {
    at - text[..at].rfind('\n').map_or(0, |line| line + 1)
}

/// A number of elements, evenly spread.
fn spread<'a, T>(all: &[&'a T], count: usize) -> Vec<&'a T> {
    let step = (all.len() / count.max(1)).max(1);
    all.iter().step_by(step).take(count).copied().collect()
}

fn replace_word(text: &str, old: &str, new: &str) -> String {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    let (mut replaced, mut from) = (String::new(), 0);
    for (at, _) in text.match_indices(old) {
        let end = at + old.len();
        if !text[..at].ends_with(is_letter) && !text[end..].starts_with(is_letter) {
            replaced += &text[from..at];
            replaced += new;
            from = end;
        }
    }
    replaced + &text[from..]
}

fn tracked_files(of: &Path) -> Outcome<Vec<String>> {
    let printed = run_git(of, &["ls-files", "-z"], &[])?;
    let paths = printed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    Ok(paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect())
}

fn run_git(root: &Path, args: &[&str], stdin: &[u8]) -> Result<Vec<u8>, String> {
    let identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "core.quotePath=false"];
    let mut git = Command::new("git");
    git.args(identity).args(args).current_dir(root).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = git.stderr(Stdio::piped()).spawn().map_err(|error| error.to_string())?;
    let written = child.stdin.take().map_or(Ok(()), |mut pipe| pipe.write_all(stdin));
    let done = written.and_then(|()| child.wait_with_output()).map_err(|error| error.to_string())?;
    if done.status.success() { Ok(done.stdout) } else { Err(String::from_utf8_lossy(&done.stderr).into()) }
}

fn options() -> RefreshOptions<'static> {
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_millis() as i64);
    RefreshOptions { now, threads: 2, progress: &|_, _| true }
}
