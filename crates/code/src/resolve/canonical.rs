//! The canonical spelling of a reference, which hashes use: a changed import that changes a meaning changes it.
//!
//! Does not know library metadata beyond a list of well-known namespaces.

use super::{LookupPlace, Resolver, path_as_written};
use syntax::ImportKind;
use syntax::csharp::well_known;

impl Resolver<'_> {
    /// The canonical spelling of a reference: the full name of a type in the source; otherwise the name as written, qualified
    /// with its namespace if that is known, or followed by all unknown namespaces it may come from.
    pub(crate) fn canonical_name(&self, file: u32, reference: u32) -> String {
        let facts = &self.code.files[file as usize].facts;
        let reference = &facts.references[reference as usize];
        if let Some(target) = self.target_type(file, reference) {
            return self.code.types[target as usize].name.clone();
        }
        let path = facts.reference_path(reference);
        let written = path_as_written(facts, path);
        let Some(first) = path.segments.first().filter(|_| path.alias.is_none()) else { return written };
        if let Some(mut alias) = self.alias_as_written(file, reference.scope, first.word) {
            let rest = path.segments[1..].iter().map(|it| facts.word_text(it.word));
            rest.for_each(|word| alias.extend([".", word]));
            return alias;
        }
        let imported = self.unseen_namespaces(file, reference.scope);
        if let Some(home) = well_known::namespace_of(facts.word_text(first.word), &imported) {
            return format!("{home}.{written}");
        }
        if written.rsplit_once('.').is_some_and(|(namespace, _)| well_known::is_known_namespace(namespace)) {
            return written;
        }
        let unknown: Vec<&str> =
            imported.into_iter().filter(|namespace| !well_known::is_known_namespace(namespace)).collect();
        format!("{written}@{}", unknown.join(","))
    }

    /// The target of an alias as written, if it is not in the source, without what follows the alias.
    fn alias_as_written(&self, file: u32, scope: u32, word: u32) -> Option<String> {
        let facts = &self.code.files[file as usize].facts;
        let mut imports = self
            .enclosing_scopes(LookupPlace { file, scope, owner: None })
            .flat_map(|scope| &facts.scopes[scope as usize].imports);
        let alias = imports.find(|import| import.kind == ImportKind::Alias(word))?;
        Some(path_as_written(facts, &facts.paths[alias.path as usize]))
    }

    /// The namespaces that a scope imports and that are not in the source, sorted.
    fn unseen_namespaces(&self, file: u32, scope: u32) -> Vec<&str> {
        let project = self.code.files[file as usize].project;
        let own = self.enclosing_scopes(LookupPlace { file, scope, owner: None });
        let own = own.flat_map(|scope| &self.scope_imports(file, scope).unseen);
        let shared = self.global_imports(project).into_iter().flat_map(|global| &global.unseen);
        let mut found: Vec<&str> = own.chain(shared).map(String::as_str).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}
