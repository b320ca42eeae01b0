//! What the imports of a scope, a file and a project bring into scope, and what modules re-export.
//!
//! Does not know free functions: imports of those are resolved by `usage::free_names`.

use super::{
    BaseRound, LookupPlace, LookupResult, MAX_PASSES, ResolvedImports, Resolver, TypeOrNamespace,
    path_as_written,
};
use crate::codebase::{Container, GLOBAL_NAMESPACE};
use syntax::{Import, ImportKind, Segment};

impl Resolver<'_> {
    /// The resolved imports of a scope. A module may re-export what it imports, so imports are resolved in passes, each based on
    /// the previous one; this way the result does not depend on the order of lookups.
    pub(super) fn scope_imports(&self, file: u32, scope: u32) -> &ResolvedImports {
        let Some(round) = self.round.get() else { return &self.no_imports };
        // a file that is not a module does not re-export anything
        let round = if self.code.files[file as usize].facts.has_module_path { round } else { 0 };
        let found = self.imports[file as usize][round]
            .get_or_init(|| self.with_imports(round.checked_sub(1), || self.resolve_imports(file)));
        &found[scope as usize]
    }

    /// Runs a lookup with the imports of an earlier pass, and without bases.
    fn with_imports<T>(&self, round: Option<usize>, lookup: impl FnOnce() -> T) -> T {
        let known = self.round.replace(round);
        let found = self.with_bases(BaseRound::None, lookup);
        self.round.set(known);
        found
    }

    /// The imports that apply to all files of a project.
    pub(super) fn global_imports(&self, project: u32) -> Option<&ResolvedImports> {
        let found = self.global.get(project as usize)?;
        Some(found.get_or_init(|| self.with_imports(None, || self.resolve_global_imports(project as usize))))
    }

    /// The types whose members can be named without qualification at this place.
    pub(crate) fn static_imports(&self, place: LookupPlace) -> impl Iterator<Item = u32> {
        self.imports_at(place).flat_map(|imports| imports.statics.iter().copied())
    }

    /// Whether members of a namespace can be named without qualification at this place.
    pub(crate) fn can_see_namespace(&self, place: LookupPlace, namespace: u32) -> bool {
        self.code.tables.enclosing_namespaces(place.file, place.scope).contains(&namespace)
            || self.imports_at(place).any(|imports| imports.namespaces.contains(&namespace))
    }

    fn imports_at(&self, place: LookupPlace) -> impl Iterator<Item = &ResolvedImports> {
        let project = self.code.files[place.file as usize].project;
        let own = self.enclosing_scopes(place).map(move |scope| self.scope_imports(place.file, scope));
        own.chain(self.global_imports(project))
    }

    /// Like `in_namespace`, for a segment of an import other than the last: folders and files come before re-exports.
    fn in_import_path(&self, file: u32, of: u32, name: u32, arity: u16) -> Option<TypeOrNamespace> {
        let declared =
            self.pick_visible(file, self.code.tables.types_named(Container::Namespace(of), name, arity));
        let inner =
            self.code.tables.child_namespace(of, name).filter(|_| matches!(declared, LookupResult::Nothing));
        inner.map_or_else(
            || self.in_namespace(file, of, name, arity),
            |inner| Some(TypeOrNamespace::Namespace(inner)),
        )
    }

    /// Looks up a name among the imports of a module, which it re-exports.
    pub(super) fn re_exported(
        &self,
        file: u32,
        of: u32,
        name: u32,
        arity: u16,
        depth: usize,
    ) -> Option<TypeOrNamespace> {
        let scopes = self.modules.get(&of).filter(|_| depth < MAX_PASSES)?;
        let imports = || scopes.iter().map(|(file, scope)| self.scope_imports(*file, *scope));
        if let Some(found) = imports().find_map(|imports| imports.aliases.get(&name).copied().flatten()) {
            return Some(found);
        }
        let mut wholes = imports().flat_map(|imports| &imports.namespaces).filter(|whole| **whole != of);
        wholes.find_map(|whole| {
            match self
                .pick_visible(file, self.code.tables.types_named(Container::Namespace(*whole), name, arity))
            {
                LookupResult::Symbol(symbol) => Some(symbol),
                LookupResult::Ends => None,
                LookupResult::Nothing => self.in_module(file, *whole, name, arity, depth + 1),
            }
        })
    }

    /// Looks up a name in the imports of a scope and, at file level, in the global imports of the project.
    pub(super) fn find_imported(
        &self,
        file: u32,
        scope: u32,
        name: u32,
        arity: u16,
        more: bool,
    ) -> LookupResult {
        let own = self.scope_imports(file, scope);
        let shared = self.global_imports(self.code.files[file as usize].project).filter(|_| scope == 0);
        for imports in std::iter::once(own).chain(shared) {
            match imports.aliases.get(&name).filter(|_| arity == 0) {
                Some(Some(symbol @ TypeOrNamespace::Type(_))) => return LookupResult::Symbol(*symbol),
                Some(Some(symbol)) if more => return LookupResult::Symbol(*symbol),
                // an alias of something that is not in the source
                Some(None) => return LookupResult::Ends,
                _ => {}
            }
        }
        let mut only = None;
        for imports in std::iter::once(own).chain(shared) {
            let in_namespaces = imports.namespaces.iter().map(|of| Container::Namespace(*of));
            let in_types = imports.statics.iter().map(|of| Container::Type(*of));
            for container in in_namespaces.chain(in_types) {
                match self.pick_visible(file, self.code.tables.types_named(container, name, arity)) {
                    LookupResult::Symbol(symbol) if only.is_none_or(|known| known == symbol) => {
                        only = Some(symbol);
                    }
                    LookupResult::Nothing => {
                        only = only.or_else(|| self.re_exported_by(file, container, name, arity, more));
                    }
                    _ => return LookupResult::Ends,
                }
            }
        }
        only.map_or(LookupResult::Nothing, LookupResult::Symbol)
    }

    /// Looks up a name in the re-exports of a module that is imported as a whole.
    fn re_exported_by(
        &self,
        file: u32,
        from: Container,
        name: u32,
        arity: u16,
        more: bool,
    ) -> Option<TypeOrNamespace> {
        let Container::Namespace(of) = from else { return None };
        let found = self.re_exported(file, of, name, arity, 1)?;
        Some(found).filter(|found| more || matches!(found, TypeOrNamespace::Type(_)))
    }

    fn resolve_imports(&self, file: u32) -> Vec<ResolvedImports> {
        let source = &self.code.files[file as usize];
        let has_project = self.global.get(source.project as usize).is_some();
        let own = |import: &&Import| !(import.global && has_project);
        let mut found = vec![ResolvedImports::default(); source.facts.scopes.len()];
        for (scope, imports) in found.iter_mut().enumerate() {
            for import in source.facts.scopes[scope].imports.iter().filter(own) {
                self.add_import(file, scope as u32, import, imports);
            }
        }
        found
    }

    fn resolve_global_imports(&self, project: usize) -> ResolvedImports {
        let mut found = ResolvedImports::default();
        for file in &self.global_import_files[project] {
            for (at, scope) in self.code.files[*file as usize].facts.scopes.iter().enumerate() {
                for import in scope.imports.iter().filter(|import| import.global) {
                    self.add_import(*file, at as u32, import, &mut found);
                }
            }
        }
        for namespace in &self.code.projects[project].usings {
            let mut words = namespace.split('.').map(|word| self.code.tables.name_id(word));
            match words.try_fold(GLOBAL_NAMESPACE, |of, word| self.code.tables.child_namespace(of, word?)) {
                Some(of) => found.namespaces.push(of),
                None => found.unseen.push(namespace.clone()),
            }
        }
        found
    }

    /// Adds a resolved import.
    fn add_import(&self, file: u32, scope: u32, import: &Import, imports: &mut ResolvedImports) {
        let symbol = self.imported_symbol(file, scope, import);
        if symbol.is_none() && import.kind == ImportKind::Namespace {
            let facts = &self.code.files[file as usize].facts;
            imports.unseen.push(path_as_written(facts, &facts.paths[import.path as usize]));
        }
        insert_import(imports, import.kind, symbol, |word| self.code.tables.word_name(file, word));
    }

    /// Resolves an import: looked up from its own namespace outwards, without the help of other imports.
    fn imported_symbol(&self, file: u32, scope: u32, import: &Import) -> Option<TypeOrNamespace> {
        let facts = &self.code.files[file as usize].facts;
        let path = &facts.paths[import.path as usize];
        let tables = &self.code.tables;
        let from: &[u32] =
            if path.alias.is_some() { &[GLOBAL_NAMESPACE] } else { tables.enclosing_namespaces(file, scope) };
        // a whole import refers to a module rather than to an item with the same name in it
        let whole = import.kind == ImportKind::Namespace;
        let last = path.segments.len().saturating_sub(1);
        from.iter().find_map(|namespace| {
            path.segments.iter().enumerate().try_fold(
                TypeOrNamespace::Namespace(*namespace),
                |symbol, (at, segment)| {
                    let name = tables.word_name(file, segment.word);
                    match symbol {
                        TypeOrNamespace::Namespace(of) if at < last || whole => {
                            self.in_import_path(file, of, name, segment.arity)
                        }
                        TypeOrNamespace::Namespace(of) => self.in_namespace(file, of, name, segment.arity),
                        TypeOrNamespace::Type(of) => {
                            self.nested_type(file, of, name, segment.arity, 0).map(TypeOrNamespace::Type)
                        }
                    }
                },
            )
        })
    }

    /// What the first `count` segments of an import refer to; none of them is the root of its path.
    pub(crate) fn import_prefix(
        &self,
        file: u32,
        scope: u32,
        import: &Import,
        count: usize,
    ) -> Option<TypeOrNamespace> {
        let path = &self.code.files[file as usize].facts.paths[import.path as usize];
        let tables = &self.code.tables;
        let from: &[u32] =
            if path.alias.is_some() { &[GLOBAL_NAMESPACE] } else { tables.enclosing_namespaces(file, scope) };
        let step = |symbol: TypeOrNamespace, segment: &Segment| {
            let name = tables.word_name(file, segment.word);
            match symbol {
                TypeOrNamespace::Namespace(of) => self.in_import_path(file, of, name, segment.arity),
                TypeOrNamespace::Type(of) => {
                    self.nested_type(file, of, name, segment.arity, 0).map(TypeOrNamespace::Type)
                }
            }
        };
        from.iter().find_map(|namespace| {
            path.segments.iter().take(count).try_fold(TypeOrNamespace::Namespace(*namespace), step)
        })
    }

    /// The modules that a scope imports as a whole.
    pub(crate) fn imported_namespaces(&self, file: u32, scope: u32) -> &[u32] {
        &self.scope_imports(file, scope).namespaces
    }

    /// The scopes of a module, as file and scope.
    pub(crate) fn scopes_of_module(&self, namespace: u32) -> &[(u32, u32)] {
        self.modules.get(&namespace).map_or(&[], Vec::as_slice)
    }
}

fn insert_import(
    imports: &mut ResolvedImports,
    kind: ImportKind,
    symbol: Option<TypeOrNamespace>,
    name: impl Fn(u32) -> u32,
) {
    match (kind, symbol) {
        // of two conditional imports, the one that is in the source
        (ImportKind::Alias(word), symbol) => {
            let known = imports.aliases.entry(name(word)).or_default();
            *known = symbol.or(*known);
        }
        (ImportKind::Namespace, Some(TypeOrNamespace::Namespace(of))) => imports.namespaces.push(of),
        (ImportKind::Static, Some(TypeOrNamespace::Type(of))) => imports.statics.push(of),
        _ => {}
    }
}
