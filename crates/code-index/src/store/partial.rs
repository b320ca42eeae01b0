//! A partial codebase that resolves names like the whole: some files, and all declarations that their names may refer to.
//!
//! Does not know where facts are stored: it asks for names and receives the files that declare them. Results equal those of the
//! whole codebase, because all declarations of every name that was looked up are loaded; a property test checks this on real
//! trees.

use code::Resolver;
use code::{Codebase, KnownIds, NAMESPACE_FILE, SourceFile, spelled_full_name};
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

/// What has been loaded of a codebase so far, and what joining it has shown to be missing.
pub(crate) struct PartialJoin {
    projects: Vec<Project>,
    files: Vec<SourceFile>,
    had: BTreeSet<String>,
    /// Names whose declarations have been loaded.
    fetched: BTreeSet<String>,
    spaces: BTreeSet<Vec<String>>,
    ids: KnownIds,
    /// Whether the files that apply to all others have been loaded.
    is_started: bool,
}

impl PartialJoin {
    /// Starts with some files and all declarations of what they declare.
    pub(crate) fn start<S: DeclarationSource>(
        source: &mut S,
        projects: &[Project],
        files: Vec<SourceFile>,
    ) -> Result<PartialJoin, S::Error> {
        let mut partial = PartialJoin {
            projects: projects.to_vec(),
            files: Vec::new(),
            had: BTreeSet::new(),
            fetched: BTreeSet::new(),
            spaces: BTreeSet::new(),
            ids: KnownIds::default(),
            is_started: false,
        };
        partial.add_files(source, files)?;
        Ok(partial)
    }

    pub(crate) fn has_file(&self, path: &str) -> bool {
        self.had.contains(path)
    }

    /// Adds files, and the files that declare the same types.
    pub(crate) fn add_files<S: DeclarationSource>(
        &mut self,
        source: &mut S,
        files: Vec<SourceFile>,
    ) -> Result<(), S::Error> {
        let declared = files.iter().flat_map(|file| declared_names(&file.facts)).collect();
        self.had.extend(files.iter().map(|file| file.path.clone()));
        self.files.extend(files);
        self.load_declarations(source, declared)?;
        Ok(())
    }

    /// Loads the declarations of names; whether there are any that were not loaded before.
    pub(crate) fn load_declarations<S: DeclarationSource>(
        &mut self,
        source: &mut S,
        mut wanted: BTreeSet<String>,
    ) -> Result<bool, S::Error> {
        let mut has_grown = false;
        loop {
            wanted.retain(|word| !self.fetched.contains(word));
            if wanted.is_empty() && self.is_started {
                return Ok(has_grown);
            }
            self.is_started = true;
            let (more, spaces) = source.files_declaring(&wanted, &self.had)?;
            self.fetched.append(&mut wanted);
            // `impl` blocks are joined with their type by name
            wanted.extend(more.iter().flat_map(|file| impl_target_names(&file.facts)));
            let known = self.spaces.len();
            self.spaces.extend(spaces);
            has_grown |= !more.is_empty() || self.spaces.len() > known;
            self.had.extend(more.iter().map(|file| file.path.clone()));
            self.files.extend(more);
        }
    }

    /// Joins what was loaded.
    pub(crate) fn join(&mut self) -> Codebase {
        let mut files = std::mem::take(&mut self.files);
        files.push(namespace_file(&self.spaces));
        Codebase::with_known_ids(self.projects.clone(), files, &mut self.ids)
    }

    /// Takes the files of a codebase back, to join them with more.
    pub(crate) fn take_back(&mut self, code: Codebase) {
        self.ids.remember(code.types);
        self.files.extend(code.files.into_iter().filter(|file| file.path != NAMESPACE_FILE));
    }
}

/// Joins files and runs `query` on them, loading more files until all names it looks up are covered; returns its last result.
pub(crate) fn join_partial<S: DeclarationSource, T>(
    source: &mut S,
    projects: &[Project],
    start: Vec<SourceFile>,
    mut query: impl FnMut(&Codebase, &Resolver<'_>) -> T,
) -> Result<(Codebase, T), S::Error> {
    let mut partial = PartialJoin::start(source, projects, start)?;
    loop {
        let code = partial.join();
        let result = query(&code, &Resolver::new(&code));
        if !partial.load_declarations(source, code.tables.looked_up_names())? {
            return Ok((code, result));
        }
        partial.take_back(code);
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
