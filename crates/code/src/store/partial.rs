//! A part of a code base that answers like the whole: some files, and whatever else looking up their names asks for.
//!
//! Does not know where facts are kept: it names words, and is handed the files that declare them. What a part says is what the whole
//! would say, since every name that was looked for has all its declarations in it; a law in the tests holds real trees to that.

use crate::codebase::{Codebase, SourceFile, written};
use crate::resolve::Resolver;
use project::Project;
use std::collections::BTreeSet;
use syntax::{FileFacts, Scope, TypeKind};

/// Where declarations are found by name.
pub(crate) trait Shelf {
    type Error;

    /// The files that declare any of these names and are not in `had`, and the namespaces whose last word is one of them.
    #[allow(clippy::type_complexity)] // a pair of lists
    fn declaring(
        &mut self,
        words: &BTreeSet<String>,
        had: &BTreeSet<String>,
    ) -> Result<(Vec<SourceFile>, Vec<Vec<String>>), Self::Error>;
}

/// No tree has this path: namespaces that no file at hand declares stand in it.
const NAMESPACES: &str = "\u{0}namespaces";

/// Joins files, with what `ask` looks up in them, and gives its last answer.
pub(crate) fn world<S: Shelf, T>(
    shelf: &mut S,
    projects: &[Project],
    start: Vec<SourceFile>,
    mut ask: impl FnMut(&Codebase, &Resolver<'_>) -> T,
) -> Result<(Codebase, T), S::Error> {
    let mut files = start;
    let mut had: BTreeSet<String> = files.iter().map(|file| file.path.clone()).collect();
    let mut wanted: BTreeSet<String> = files.iter().flat_map(|file| declared(&file.facts)).collect();
    let (mut fetched, mut spaces) = (BTreeSet::new(), BTreeSet::new());
    loop {
        let (more, found) = shelf.declaring(&wanted, &had)?;
        fetched.append(&mut wanted);
        // what adds to a type is joined with it by its name
        wanted.extend(more.iter().flat_map(|file| added(&file.facts)));
        had.extend(more.iter().map(|file| file.path.clone()));
        spaces.extend(found);
        files.retain(|file| file.path != NAMESPACES);
        files.extend(more);
        files.push(only_namespaces(&spaces));
        let code = Codebase::new(projects.to_vec(), files);
        let told = ask(&code, &Resolver::new(&code));
        wanted.extend(code.tables.asked().map(str::to_owned));
        wanted.retain(|word| !fetched.contains(word));
        if wanted.is_empty() {
            return Ok((code, told));
        }
        files = code.files;
    }
}

/// The names under which a file's declarations are found: those of its types, and of methods that may be called as if they were
/// members of another.
pub(crate) fn declared(facts: &FileFacts) -> BTreeSet<String> {
    let named = facts.types.iter().map(|part| part.name.clone());
    let members = facts.types.iter().flat_map(|part| &part.members);
    let extending = members.filter(|member| member.takes.extends).map(|member| member.name.clone());
    named.chain(extending).chain(added(facts)).collect()
}

/// The names of types that a file adds members to.
fn added(facts: &FileFacts) -> Vec<String> {
    let mut names = Vec::new();
    for part in facts.types.iter().filter(|part| part.kind == TypeKind::Impl) {
        names.push(part.name.clone());
        let written = part.extends.and_then(|at| written(facts, at));
        names.extend(written.and_then(|name| name.rsplit('.').next().map(str::to_owned)));
    }
    names
}

fn only_namespaces(spaces: &BTreeSet<Vec<String>>) -> SourceFile {
    let mut facts = FileFacts { placed: true, ..FileFacts::default() };
    facts.scopes.push(Scope::default());
    for space in spaces {
        let mut namespace = Vec::new();
        for word in space {
            namespace.push(facts.words.len() as u32);
            facts.words.push(word.as_str().into());
        }
        facts.scopes.push(Scope { parent: Some(0), namespace, imports: Vec::new() });
    }
    SourceFile { path: NAMESPACES.to_owned(), project: 0, generated: false, facts }
}
