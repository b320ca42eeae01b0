//! A partial codebase that resolves names like the whole: some files, and all declarations that their names may refer to.
//!
//! Does not know where facts are stored: it asks for names and receives the files that declare them. Results equal those of the
//! whole codebase, because all declarations of every name that was looked up are loaded; a property test checks this on real
//! trees.

use code::Resolver;
use code::{Codebase, NAMESPACE_FILE, SourceFile, spelled_full_name};
use project::Project;
use std::collections::BTreeSet;
use syntax::{FileFacts, Scope, TypeKind};

/// Finds declarations by name.
pub(crate) trait DeclarationSource {
    type Error;

    /// The files that declare any of these names and are not in `had`, and the namespaces whose last word is one of them.
    #[allow(clippy::type_complexity)] // a pair of lists
    fn files_declaring(
        &mut self,
        words: &BTreeSet<String>,
        had: &BTreeSet<String>,
    ) -> Result<(Vec<SourceFile>, Vec<Vec<String>>), Self::Error>;
}

/// Joins files and runs `query` on them, loading more files until all names it looks up are covered; returns its last result.
pub(crate) fn join_partial<S: DeclarationSource, T>(
    source: &mut S,
    projects: &[Project],
    start: Vec<SourceFile>,
    mut query: impl FnMut(&Codebase, &Resolver<'_>) -> T,
) -> Result<(Codebase, T), S::Error> {
    let mut files = start;
    let mut had: BTreeSet<String> = files.iter().map(|file| file.path.clone()).collect();
    let mut wanted: BTreeSet<String> = files.iter().flat_map(|file| declared_names(&file.facts)).collect();
    let (mut fetched, mut spaces) = (BTreeSet::new(), BTreeSet::new());
    loop {
        let (more, found) = source.files_declaring(&wanted, &had)?;
        fetched.append(&mut wanted);
        // `impl` blocks are joined with their type by name
        wanted.extend(more.iter().flat_map(|file| impl_target_names(&file.facts)));
        had.extend(more.iter().map(|file| file.path.clone()));
        spaces.extend(found);
        files.retain(|file| file.path != NAMESPACE_FILE);
        files.extend(more);
        files.push(namespace_file(&spaces));
        let code = Codebase::new(projects.to_vec(), files);
        let result = query(&code, &Resolver::new(&code));
        wanted.extend(code.tables.looked_up_names().map(str::to_owned));
        wanted.retain(|word| !fetched.contains(word));
        if wanted.is_empty() {
            return Ok((code, result));
        }
        files = code.files;
    }
}

/// The names under which a file's declarations are indexed: its types, and its extension methods.
pub(crate) fn declared_names(facts: &FileFacts) -> BTreeSet<String> {
    let named = facts.types.iter().map(|part| part.name.clone());
    let members = facts.types.iter().flat_map(|part| &part.members);
    let extending =
        members.filter(|member| member.parameter_count.is_extension).map(|member| member.name.clone());
    named.chain(extending).chain(impl_target_names(facts)).collect()
}

/// The names of the types that a file has `impl` blocks for.
fn impl_target_names(facts: &FileFacts) -> Vec<String> {
    let mut names = Vec::new();
    for part in facts.types.iter().filter(|part| part.kind == TypeKind::Impl) {
        names.push(part.name.clone());
        let written = part.extended_type.and_then(|at| spelled_full_name(facts, at));
        names.extend(written.and_then(|name| name.rsplit('.').next().map(str::to_owned)));
    }
    names
}

fn namespace_file(spaces: &BTreeSet<Vec<String>>) -> SourceFile {
    let mut facts = FileFacts { has_module_path: true, ..FileFacts::default() };
    facts.scopes.push(Scope::default());
    for space in spaces {
        let mut namespace = Vec::new();
        for word in space {
            namespace.push(facts.words.len() as u32);
            facts.words.push(word.as_str().into());
        }
        facts.scopes.push(Scope { parent: Some(0), namespace, imports: Vec::new() });
    }
    SourceFile { path: NAMESPACE_FILE.to_owned(), project: 0, generated: false, facts }
}
