//! Looks up names and paths: enclosing types, namespaces and modules, from the inside out.
//!
//! Does not know how an import is resolved, only what it binds.

use super::{Certainty, LookupPlace, LookupResult, ResolvedReference, Resolver, TypeOrNamespace};
use crate::codebase::{ATTRIBUTE_SUFFIX, Container, GLOBAL_NAMESPACE, SOURCE_FOLDER};
use syntax::{MemberKind, Path, Position, TypeKind};

impl Resolver<'_> {
    /// `[Fact]` is `FactAttribute` if that exists, otherwise `Fact` if that is an attribute.
    pub(super) fn resolve_attribute(&self, place: LookupPlace, path: &Path) -> Vec<ResolvedReference> {
        let facts = &self.code.files[place.file as usize].facts;
        let Some(last) = path.segments.last() else { return Vec::new() };
        let longer = facts.word_text(last.word).to_owned() + ATTRIBUTE_SUFFIX;
        if let Some(name) = self.code.tables.name_id(&longer) {
            let found = self.follow_segments(place, path, Position::Attribute, false, Some(name));
            if found.last().is_some_and(|mention| mention.segment as usize + 1 == path.segments.len()) {
                return found;
            }
        }
        let found = self.follow_path(place, path, Position::Type, false);
        let is_one = found.last().is_some_and(|mention| self.is_attribute(mention.to, 0));
        if is_one { found } else { Vec::new() }
    }

    /// Whether a type derives from `Attribute`.
    fn is_attribute(&self, of: u32, depth: u32) -> bool {
        let each = &self.code.types[of as usize];
        let named_so = each.parts.iter().any(|(file, part)| {
            let facts = &self.code.files[*file as usize].facts;
            let names = &facts.types[*part as usize].base_references;
            names.iter().any(|at| {
                let path = facts.reference_path(&facts.references[*at as usize]);
                path.segments.last().is_some_and(|last| facts.word_text(last.word).ends_with("Attribute"))
            })
        });
        named_so || (depth < 16 && self.bases(of).iter().any(|base| self.is_attribute(*base, depth + 1)))
    }

    pub(crate) fn follow_path(
        &self,
        place: LookupPlace,
        path: &Path,
        position: Position,
        veiled: bool,
    ) -> Vec<ResolvedReference> {
        self.follow_segments(place, path, position, veiled, None)
    }

    /// Follows a path from its first segment; `last` replaces the word of its last segment.
    fn follow_segments(
        &self,
        place: LookupPlace,
        path: &Path,
        position: Position,
        veiled: bool,
        last: Option<u32>,
    ) -> Vec<ResolvedReference> {
        let tables = &self.code.tables;
        let count = path.segments.len();
        let word = |at: usize| match last {
            Some(name) if at + 1 == count => name,
            _ => tables.word_name(place.file, path.segments[at].word),
        };
        let arity = |at: usize| path.segments[at].arity;
        let next = (count > 1).then(|| word(1));
        let (mut symbol, mut at): (TypeOrNamespace, usize) = match path.alias {
            Some(alias) => match self.resolve_alias(place, alias) {
                Some(symbol) => (symbol, 0),
                None => return Vec::new(),
            },
            None => match self.first_segment(place, word(0), arity(0), next, position, veiled) {
                Some(symbol) => (symbol, 1),
                None => return Vec::new(),
            },
        };
        // the last segment of a call is a method
        let end = if position == Position::Called { count - 1 } else { count };
        let mut found = Vec::new();
        loop {
            if let (TypeOrNamespace::Type(to), Some(segment)) = (symbol, at.checked_sub(1)) {
                found.push(ResolvedReference { segment: segment as u32, to, certainty: Certainty::Certain });
            }
            if at >= end {
                return found;
            }
            let inner = match symbol {
                TypeOrNamespace::Namespace(of) => self.in_namespace(place.file, of, word(at), arity(at)),
                TypeOrNamespace::Type(of) => {
                    self.nested_type(place.file, of, word(at), arity(at), 0).map(TypeOrNamespace::Type)
                }
            };
            let Some(inner) = inner else {
                found.extend(self.module_reference(place.file, symbol, at));
                return found;
            };
            symbol = inner;
            at += 1;
        }
    }

    /// The module, if the next segment is neither a type nor a module but one of its functions or values.
    fn module_reference(&self, file: u32, symbol: TypeOrNamespace, at: usize) -> Option<ResolvedReference> {
        let (TypeOrNamespace::Namespace(of), Some(segment)) = (symbol, at.checked_sub(1)) else {
            return None;
        };
        let LookupResult::Symbol(TypeOrNamespace::Type(to)) =
            self.pick_visible(file, self.code.tables.modules_of(of))
        else {
            return None;
        };
        Some(ResolvedReference { segment: segment as u32, to, certainty: Certainty::Certain })
    }

    /// Resolves the alias before `::`.
    fn resolve_alias(&self, place: LookupPlace, alias: u32) -> Option<TypeOrNamespace> {
        if self.code.files[place.file as usize].facts.word_text(alias) == "global" {
            return Some(TypeOrNamespace::Namespace(GLOBAL_NAMESPACE));
        }
        let name = self.code.tables.word_name(place.file, alias);
        self.enclosing_scopes(place)
            .find_map(|scope| self.scope_imports(place.file, scope).aliases.get(&name))?
            .to_owned()
    }

    pub(crate) fn enclosing_scopes(&self, place: LookupPlace) -> impl Iterator<Item = u32> {
        let facts = &self.code.files[place.file as usize].facts;
        std::iter::successors(Some(place.scope), |scope| facts.scopes[*scope as usize].parent)
    }

    pub(crate) fn in_namespace(&self, file: u32, of: u32, name: u32, arity: u16) -> Option<TypeOrNamespace> {
        match self.pick_visible(file, self.code.tables.types_named(Container::Namespace(of), name, arity)) {
            LookupResult::Symbol(symbol) => Some(symbol),
            LookupResult::Ends => None,
            LookupResult::Nothing => self.in_module(file, of, name, arity, 0).or_else(|| {
                let inner = self.source_root(of)?;
                self.in_namespace(file, inner, name, arity)
            }),
        }
    }

    /// The source folder of a package that has no module of its own.
    pub(crate) fn source_root(&self, of: u32) -> Option<u32> {
        let imports = |(file, scope): &(u32, u32)| {
            &self.code.files[*file as usize].facts.scopes[*scope as usize].imports
        };
        let mut scopes = self.scopes_of_module(of).iter();
        let is_package =
            self.code.tables.modules_of(of).is_empty() && scopes.all(|scope| imports(scope).is_empty());
        let name =
            self.code.tables.name_id(SOURCE_FOLDER).filter(|_| is_package && of != GLOBAL_NAMESPACE)?;
        self.code.tables.child_namespace(of, name)
    }

    /// Looks up a name that a module does not declare: a re-exported type before a submodule, so that `NotFound` in
    /// `error/index.ts` is the type from `error/NotFound.ts` and not that file.
    pub(super) fn in_module(
        &self,
        file: u32,
        of: u32,
        name: u32,
        arity: u16,
        depth: usize,
    ) -> Option<TypeOrNamespace> {
        let passed = self.re_exported(file, of, name, arity, depth);
        if matches!(passed, Some(TypeOrNamespace::Type(_))) {
            return passed;
        }
        self.code.tables.child_namespace(of, name).map(TypeOrNamespace::Namespace).or(passed)
    }

    /// Of several types with the same full name, picks the one in the file's own project, or the only visible one.
    pub(super) fn pick_visible(&self, file: u32, candidates: &[u32]) -> LookupResult {
        let own = self.code.files[file as usize].project;
        let visible = self.visible.get(own as usize).filter(|visible| !visible.is_empty());
        let seen = |at: &&u32| {
            let project = self.code.types[**at as usize].project;
            project == own || visible.is_none_or(|visible| visible[project as usize])
        };
        let mut seen = candidates.iter().filter(seen);
        let (first, second) = (seen.next(), seen.next());
        let home = candidates.iter().find(|at| self.code.types[**at as usize].project == own);
        match (home, first, second) {
            (Some(home), ..) => LookupResult::Symbol(TypeOrNamespace::Type(*home)),
            (None, Some(only), None) => LookupResult::Symbol(TypeOrNamespace::Type(*only)),
            (None, Some(_), Some(_)) => LookupResult::Ends,
            (None, None, _) => LookupResult::Nothing,
        }
    }

    /// A type nested in another type or in one of its bases.
    pub(crate) fn nested_type(&self, file: u32, of: u32, name: u32, arity: u16, depth: u32) -> Option<u32> {
        if let LookupResult::Symbol(TypeOrNamespace::Type(found)) =
            self.pick_visible(file, self.code.tables.types_named(Container::Type(of), name, arity))
        {
            return Some(found);
        }
        let bases = self.bases(of).iter();
        if depth > 32 {
            return None;
        }
        bases
            .filter(|base| **base != of)
            .find_map(|base| self.nested_type(file, *base, name, arity, depth + 1))
    }

    /// Resolves the first segment of a path: enclosing types, then namespaces and imports, from the inside out.
    fn first_segment(
        &self,
        place: LookupPlace,
        name: u32,
        arity: u16,
        next: Option<u32>,
        position: Position,
        veiled: bool,
    ) -> Option<TypeOrNamespace> {
        let value = matches!(position, Position::Value | Position::Called | Position::Bare);
        if veiled && !self.is_color_color_variable(place, name, next) {
            return None;
        }
        match self.in_enclosing_types(place, name, arity, next, position, value && arity == 0) {
            LookupResult::Symbol(symbol) => return Some(symbol),
            LookupResult::Ends => return None,
            LookupResult::Nothing => {}
        }
        match self.in_namespaces(place, name, arity, next.is_some()) {
            LookupResult::Symbol(symbol) => Some(symbol),
            _ => None,
        }
    }

    fn in_enclosing_types(
        &self,
        place: LookupPlace,
        name: u32,
        arity: u16,
        next: Option<u32>,
        position: Position,
        value: bool,
    ) -> LookupResult {
        let mut at = place.owner;
        if position == Position::Base {
            at = at.and_then(|of| self.code.types[of as usize].outer);
        }
        while let Some(of) = at {
            if value && let Some(member) = self.find_member(of, name, 0) {
                let type_too = next.is_some() && self.is_color_color(member, name, next);
                if !type_too {
                    return LookupResult::Ends;
                }
            }
            if let Some(nested) = self.nested_type(place.file, of, name, arity, 0) {
                return LookupResult::Symbol(TypeOrNamespace::Type(nested));
            }
            at = self.code.types[of as usize].outer;
        }
        LookupResult::Nothing
    }

    /// A member of a type or of one of its bases.
    fn find_member(&self, of: u32, name: u32, depth: u32) -> Option<(u32, u32, u32)> {
        if let Some(found) = self.code.tables.members_named(of, name).first() {
            // a constructor has the name of its type and is not a value
            let is_value =
                !matches!(self.code.member(*found).kind, MemberKind::Constructor | MemberKind::Destructor);
            if is_value {
                return Some(*found);
            }
        }
        if depth > 32 {
            return None;
        }
        self.bases(of)
            .iter()
            .filter(|base| **base != of)
            .find_map(|base| self.find_member(*base, name, depth + 1))
    }

    /// Whether a member has the name of its type, as in `Encoding Encoding`, and the next segment is a static member: then the
    /// path refers to the type.
    fn is_color_color(&self, (file, part, member): (u32, u32, u32), name: u32, next: Option<u32>) -> bool {
        let declared = self.code.member((file, part, member)).value_type;
        let facts = &self.code.files[file as usize].facts;
        let Some(reference) = declared.map(|at| facts.references[at as usize]) else { return false };
        let named = facts.reference_path(&reference).segments.last();
        if named.is_none_or(|last| self.code.tables.word_name(file, last.word) != name) {
            return false;
        }
        let Some(target) = self.target_type(file, &reference) else { return false };
        next.is_some_and(|next| self.is_static(target, next))
    }

    /// Like `is_color_color` for a variable, whose type is looked up where the variable is used.
    fn is_color_color_variable(&self, place: LookupPlace, name: u32, next: Option<u32>) -> bool {
        let Some(TypeOrNamespace::Type(target)) =
            self.first_segment(place, name, 0, next, Position::Type, false)
        else {
            return false;
        };
        next.is_some_and(|next| self.is_static(target, next))
    }

    fn is_static(&self, of: u32, name: u32) -> bool {
        match self.find_member(of, name, 0) {
            Some(member) => self.code.member(member).is_static,
            None => self.has_unseen_base(of),
        }
    }

    pub(crate) fn in_namespaces(
        &self,
        place: LookupPlace,
        name: u32,
        arity: u16,
        more: bool,
    ) -> LookupResult {
        let tables = &self.code.tables;
        let facts = &self.code.files[place.file as usize].facts;
        for scope in self.enclosing_scopes(place) {
            let around = tables.enclosing_namespaces(place.file, scope);
            let parent = facts.scopes[scope as usize].parent;
            let outer = parent.filter(|_| !facts.requires_imports);
            let levels = around.len()
                - outer.map_or(0, |parent| tables.enclosing_namespaces(place.file, parent).len());
            for (level, namespace) in around.iter().take(levels).enumerate() {
                match self.pick_visible(
                    place.file,
                    tables.types_named(Container::Namespace(*namespace), name, arity),
                ) {
                    LookupResult::Nothing => {}
                    // an `impl` for `Arc` does not declare an `Arc`; an import may provide it
                    found if level == 0 && self.is_only_impl(&found) => {
                        let imported = self.find_imported(place.file, scope, name, arity, more);
                        return if matches!(imported, LookupResult::Nothing) { found } else { imported };
                    }
                    found => return found,
                }
                if more
                    && arity == 0
                    && let Some(inner) = tables.child_namespace(*namespace, name)
                {
                    return LookupResult::Symbol(TypeOrNamespace::Namespace(inner));
                }
                if level == 0 {
                    match self.find_imported(place.file, scope, name, arity, more) {
                        LookupResult::Nothing => {}
                        found => return found,
                    }
                }
            }
        }
        LookupResult::Nothing
    }

    /// Whether the source contains only `impl` blocks of a type.
    fn is_only_impl(&self, found: &LookupResult) -> bool {
        matches!(found, LookupResult::Symbol(TypeOrNamespace::Type(of)) if self.code.types[*of as usize].kind == TypeKind::Impl)
    }

    /// The namespace that a whole path names.
    pub(crate) fn namespace_of_path(&self, place: LookupPlace, path: &Path) -> Option<u32> {
        let tables = &self.code.tables;
        let word = |at: usize| tables.word_name(place.file, path.segments[at].word);
        let (mut symbol, from) = match path.alias {
            Some(alias) => (self.resolve_alias(place, alias)?, 0),
            None => match self.in_namespaces(place, word(0), 0, true) {
                LookupResult::Symbol(symbol) => (symbol, 1),
                _ => return None,
            },
        };
        for at in from..path.segments.len() {
            let TypeOrNamespace::Namespace(of) = symbol else { return None };
            symbol = self.in_namespace(place.file, of, word(at), 0)?;
        }
        match symbol {
            TypeOrNamespace::Namespace(of) => Some(of),
            TypeOrNamespace::Type(_) => None,
        }
    }
}
