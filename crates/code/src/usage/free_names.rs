//! Resolves names without a receiver to free functions and values, through the module, its imports and what other modules
//! re-export.
//!
//! Does not know local variables: `syntax` leaves them out of the facts.

use super::{MemberAccess, Resolution, UsageFinder};
use crate::codebase::MemberLocation;
use crate::resolve::{Certainty, LookupResult, TypeOrNamespace};
use syntax::{Import, ImportKind};

/// How many modules may re-export a function on its way.
const MAX_RE_EXPORTS: usize = 6;

impl UsageFinder<'_> {
    /// Whether the names of a file are looked up in modules rather than in enclosing types.
    pub(super) fn is_modular(&self, file: u32) -> bool {
        self.code.files[file as usize].facts.has_module_path
    }

    /// Resolves a name without a receiver in a language of modules: the module itself, then imports, then types.
    pub(super) fn resolve_free_name(&self, access: MemberAccess) -> Resolution {
        let file = access.place.file;
        for scope in self.resolver.enclosing_scopes(access.place) {
            let namespace = self.code.tables.enclosing_namespaces(file, scope)[0];
            let own = self.declared_in_module(file, namespace, access.name);
            let found = if own.is_empty() { self.imported_members(file, scope, access.name) } else { own };
            if !found.is_empty() {
                return self.free_members(found);
            }
        }
        match self.resolver.in_namespaces(access.place, access.name, access.arity, true) {
            LookupResult::Symbol(TypeOrNamespace::Type(found)) => Resolution::Type(found),
            LookupResult::Symbol(TypeOrNamespace::Namespace(found)) => Resolution::Namespace(found),
            LookupResult::Ends => Resolution::Outside,
            LookupResult::Nothing => Resolution::Unknown,
        }
    }

    /// Declarations in one module are variants of one function; in several modules, only one of them is meant.
    fn free_members(&self, members: Vec<MemberLocation>) -> Resolution {
        let module = |at: &MemberLocation| self.code.tables.type_of(at.0, at.1);
        let is_one = members.iter().all(|at| module(at) == module(&members[0]));
        let certainty = if is_one { Certainty::Certain } else { Certainty::Likely };
        Resolution::Members(members, certainty)
    }

    /// A free function or value that a module declares or re-exports.
    pub(super) fn resolve_in_module(&self, file: u32, namespace: u32, name: u32) -> Option<Resolution> {
        let found = self.module_members(file, namespace, name, 0);
        (!found.is_empty()).then(|| self.free_members(found))
    }

    /// Whether the module of a type also declares a value with the type's name.
    pub fn has_value_named_as(&self, of: u32) -> bool {
        let Some((file, part)) = self.code.types[of as usize].parts.first().copied() else { return false };
        let scope = self.code.part((file, part)).scope;
        let namespace = self.code.tables.enclosing_namespaces(file, scope)[0];
        let name = self.code.tables.name_id(self.code.simple_name(of));
        name.is_some_and(|name| !self.declared_in_module(file, namespace, name).is_empty())
    }

    /// What the words of imports refer to: a member, a type or a module.
    pub(super) fn resolve_import_word(&self, access: MemberAccess) -> Resolution {
        let file = access.place.file;
        let facts = &self.code.files[file as usize].facts;
        let (mut members, mut symbol) = (Vec::new(), None);
        for (scope, import) in facts
            .scopes
            .iter()
            .enumerate()
            .flat_map(|(at, scope)| scope.imports.iter().map(move |import| (at as u32, import)))
        {
            let segments = &facts.paths[import.path as usize].segments;
            let is_word = |word: u32| self.code.tables.word_name(file, word) == access.name;
            let Some(at) = segments.iter().rposition(|segment| is_word(segment.word)) else { continue };
            if at + 1 == segments.len() {
                add_distinct(&mut members, self.import_members(file, scope, import, 0));
            }
            symbol = symbol.or_else(|| self.resolver.import_prefix(file, scope, import, at + 1));
        }
        match symbol {
            _ if !members.is_empty() => self.free_members(members),
            Some(TypeOrNamespace::Type(of)) => Resolution::Type(of),
            Some(TypeOrNamespace::Namespace(of)) => Resolution::Namespace(of),
            None => Resolution::Outside,
        }
    }

    /// What the only import of a file refers to.
    pub fn imported_symbol(&self, file: u32) -> Option<(u32, Option<MemberLocation>)> {
        let import = self.code.files[file as usize].facts.scopes[0].imports.first()?;
        if let Some(member) = self.import_members(file, 0, import, 0).first() {
            return Some((self.code.tables.type_of(member.0, member.1), Some(*member)));
        }
        let count = self.code.files[file as usize].facts.paths[import.path as usize].segments.len();
        match self.resolver.import_prefix(file, 0, import, count)? {
            TypeOrNamespace::Type(of) => Some((of, None)),
            TypeOrNamespace::Namespace(of) => Some((*self.code.tables.modules_of(of).first()?, None)),
        }
    }

    /// The members that the imports of a scope bind to a name: by that name first, then from modules imported as a whole.
    pub(super) fn imported_members(&self, file: u32, scope: u32, name: u32) -> Vec<MemberLocation> {
        self.members_through_imports(file, scope, name, 0)
    }

    fn members_through_imports(&self, file: u32, scope: u32, name: u32, depth: usize) -> Vec<MemberLocation> {
        let imports = &self.code.files[file as usize].facts.scopes[scope as usize].imports;
        let mut found = Vec::new();
        for import in imports {
            if matches!(import.kind, ImportKind::Alias(word) if self.code.tables.word_name(file, word) == name)
            {
                add_distinct(&mut found, self.import_members(file, scope, import, depth));
            }
        }
        if found.is_empty() {
            for whole in self.resolver.imported_namespaces(file, scope) {
                add_distinct(&mut found, self.module_members(file, *whole, name, depth + 1));
            }
        }
        found
    }

    /// The members that an import names by its last word.
    fn import_members(&self, file: u32, scope: u32, import: &Import, depth: usize) -> Vec<MemberLocation> {
        let segments = &self.code.files[file as usize].facts.paths[import.path as usize].segments;
        let Some(last) = segments.last() else { return Vec::new() };
        let name = self.code.tables.word_name(file, last.word);
        match self.resolver.import_prefix(file, scope, import, segments.len() - 1) {
            Some(TypeOrNamespace::Namespace(of)) => self.module_members(file, of, name, depth),
            Some(TypeOrNamespace::Type(of)) => self.code.tables.members_named(of, name).to_vec(),
            None => Vec::new(),
        }
    }

    /// The free functions and values with this name that a module declares or re-exports.
    fn module_members(&self, file: u32, namespace: u32, name: u32, depth: usize) -> Vec<MemberLocation> {
        let own = self.declared_in_module(file, namespace, name);
        if !own.is_empty() || depth >= MAX_RE_EXPORTS {
            return own;
        }
        let mut found = Vec::new();
        for (at, scope) in self.resolver.scopes_of_module(namespace) {
            add_distinct(&mut found, self.members_through_imports(*at, *scope, name, depth + 1));
        }
        if let Some(inner) = self.resolver.source_root(namespace).filter(|_| found.is_empty()) {
            found = self.module_members(file, inner, name, depth + 1);
        }
        found
    }

    /// The members with this name that a module itself declares; of two projects with the same module, in the file's own.
    fn declared_in_module(&self, file: u32, namespace: u32, name: u32) -> Vec<MemberLocation> {
        let modules = self.code.tables.modules_of(namespace);
        let project = self.code.files[file as usize].project;
        let is_own = |of: &&u32| self.code.types[**of as usize].project == project;
        let has_own = modules.iter().any(|of| is_own(&of));
        let mut found = Vec::new();
        for of in modules.iter().filter(|of| !has_own || is_own(of)) {
            found.extend(self.code.tables.members_named(*of, name));
        }
        found
    }
}

fn add_distinct(found: &mut Vec<MemberLocation>, more: Vec<MemberLocation>) {
    found.extend(more.into_iter().filter(|at| !found.contains(at)).collect::<Vec<_>>());
}
