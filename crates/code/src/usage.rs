//! Finds usages of members and free functions, with their certainty.
//!
//! Does not know the types of expressions beyond what is written in the source: the result of a library's member, the inferred
//! type of a generic method, and the choice between overloads with the same number of arguments need a compiler, and are reported
//! as uncertain. Members that are used without their names (indexers, operators) are not found.

mod free_names;
mod meanings;

pub use meanings::{Meaning, Mention, NameReport, NamedDeclaration};

use crate::codebase::{Codebase, GLOBAL_NAMESPACE, MemberLocation};
use crate::resolve::{Certainty, LookupPlace, LookupResult, Resolver, TypeOrNamespace};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::cmp::Reverse;
use syntax::{
    FileFacts, Member, MemberKind, MemberReference, ParameterCount, Path, Position, ReceiverExpr, Scope,
    Span, TypeKind, Visibility, WrittenType, language_of,
};

/// A place that uses a member.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Usage {
    pub file: u32,
    /// Byte offset of the name, and of its end.
    pub at: u32,
    pub end: u32,
    /// File, part and index of the member's declaration.
    pub member: (u32, u32, u32),
    pub certainty: Certainty,
}

/// Finds usages of members in a codebase.
pub struct UsageFinder<'a> {
    code: &'a Codebase,
    resolver: &'a Resolver<'a>,
    /// Extension methods, by name.
    extensions: FxHashMap<u32, Vec<MemberLocation>>,
    /// Cache of resolved type expressions, by file, part and index in the file's list.
    known_types: RefCell<FxHashMap<TypeExpression, Option<TypeOrNamespace>>>,
    /// Cache: whether a type inherits, directly or indirectly, from a type that is not in the source.
    unseen_bases: RefCell<FxHashMap<u32, bool>>,
}

/// A type expression (file, declaration, index in the file's list); the declaration decides how its names resolve.
type TypeExpression = (u32, Option<u32>, u32);

/// What a member access resolves to.
#[derive(Clone, Debug)]
enum Resolution {
    Members(Vec<MemberLocation>, Certainty),
    Type(u32),
    Namespace(u32),
    /// Nothing in the source.
    Outside,
    /// Anything with this name.
    Unknown,
}

/// A resolved member access, and the value it evaluates to.
struct ResolvedAccess {
    meaning: Resolution,
    value: Receiver,
}

/// The receiver of a member access.
#[derive(Clone, Copy, Debug)]
enum Receiver {
    Instance(u32, Option<TypeExpression>),
    Static(u32),
    Namespace(u32),
    Outside(Option<TypeExpression>),
    Unknown,
}

/// A member access: the name, the number of arguments if it is called, the number of type arguments, and where it is.
#[derive(Clone, Copy)]
struct MemberAccess {
    name: u32,
    called: Option<u8>,
    arity: u16,
    place: LookupPlace,
    part: Option<u32>,
}

impl<'a> UsageFinder<'a> {
    pub fn new(code: &'a Codebase, resolver: &'a Resolver<'a>) -> UsageFinder<'a> {
        let mut usages = UsageFinder {
            code,
            resolver,
            extensions: FxHashMap::default(),
            known_types: RefCell::default(),
            unseen_bases: RefCell::default(),
        };
        usages.find_extensions();
        usages
    }

    /// The usages of a member, by file and position.
    pub fn usages_of(&self, member: (u32, u32, u32)) -> Vec<Usage> {
        self.usages_under(member, &[])
    }

    /// The usages of a member under its own name and under names that imports give it, by file and position. A place whose
    /// receiver is not in the source is listed only if there is no other: a name that occurs is never reported as unused.
    pub fn usages_under(&self, member: (u32, u32, u32), aliases: &[String]) -> Vec<Usage> {
        let declared = self.code.member(member);
        let named = [&declared.name].into_iter().chain(aliases);
        let names: Vec<u32> = named.filter_map(|name| self.code.tables.name_id(name)).collect();
        let (mut found, mut outside) = (Vec::new(), Vec::new());
        for file in 0..self.code.files.len() as u32 {
            let has_name = names.iter().any(|name| self.code.tables.has_word(file, *name));
            if !has_name || !self.may_be_named_in(member.0, file) {
                continue;
            }
            let wanted =
                |used: &MemberReference| names.contains(&self.code.tables.word_name(file, used.word));
            self.resolve_file(file, wanted, |used, owner, meaning| {
                let certainty = self.certainty_of(member, file, owner, used, meaning);
                let list = if certainty.is_some() { &mut found } else { &mut outside };
                if certainty.is_some() || matches!(meaning, Resolution::Outside) {
                    let certainty = certainty.unwrap_or(Certainty::Possible);
                    list.push(self.usage_at(file, used, member, certainty));
                }
            });
        }
        let mut found: Vec<Usage> = if found.is_empty() { outside } else { found };
        found.sort_unstable();
        found
    }

    /// Whether the language of a file can name what another file declares.
    fn may_be_named_in(&self, declared: u32, file: u32) -> bool {
        let language = |file: u32| language_of(self.code.files[file as usize].path.as_ref());
        let (declared, used) = (language(declared), language(file));
        declared.zip(used).is_none_or(|(declared, used)| declared.may_be_named_in(used))
    }

    /// The places where a file with textual references has the name of a type.
    pub fn textual_mentions(&self, file: u32, of: u32, names: &[u32]) -> Vec<(u32, u32)> {
        let facts = &self.code.files[file as usize].facts;
        let declared = self.code.types[of as usize].parts[0].0;
        if !facts.is_textual || !self.may_be_named_in(declared, file) {
            return Vec::new();
        }
        let is_it = |it: &&MemberReference| names.contains(&self.code.tables.word_name(file, it.word));
        let range = |it: &MemberReference| (it.at, it.at + facts.word_text(it.word).len() as u32);
        facts.member_references.iter().filter(is_it).map(range).collect()
    }

    fn usage_at(
        &self,
        file: u32,
        used: &MemberReference,
        member: MemberLocation,
        certainty: Certainty,
    ) -> Usage {
        let length = self.code.files[file as usize].facts.word_text(used.word).len() as u32;
        Usage { file, at: used.at, end: used.at + length, member, certainty }
    }

    /// How certainly a name that means something refers to a member; `None` if it does not.
    fn certainty_of(
        &self,
        member: MemberLocation,
        file: u32,
        owner: Option<u32>,
        used: &MemberReference,
        meaning: &Resolution,
    ) -> Option<Certainty> {
        let declared = self.code.member(member);
        let of = self.code.tables.type_of(member.0, member.1);
        let is_free = self.code.types[of as usize].kind == TypeKind::Module;
        let same = |other: &MemberLocation| {
            *other == member
                || self.code.tables.type_of(other.0, other.1) == of
                    && (is_same_member(self.code.member(*other), declared) || is_free)
        };
        match meaning {
            Resolution::Members(members, certainty) if members.iter().any(same) => Some(*certainty),
            Resolution::Members(members, _) if !is_free => {
                let dispatches = members.iter().any(|other| self.may_dispatch(*other, of));
                let is_related = || members.iter().any(|other| self.is_redeclared(*other, of));
                if dispatches { Some(Certainty::Likely) } else { is_related().then_some(Certainty::Possible) }
            }
            // a macro is known to its whole crate
            Resolution::Unknown if used.receiver == ReceiverExpr::Implicit && self.is_modular(file) => {
                let is_macro = declared.kind == MemberKind::Macro;
                let certainty = if is_macro { Certainty::Likely } else { Certainty::Possible };
                (is_free || owner == Some(of)).then_some(certainty)
            }
            Resolution::Unknown => {
                is_callable_with(declared.kind, declared.parameter_count, used.argument_count, true)
                    .then_some(Certainty::Possible)
            }
            _ => None,
        }
    }

    /// How certainly a place that a compiler resolved to one member refers to another of the same name; `None` if their types are
    /// not related.
    pub fn certainty_through(&self, target: MemberLocation, member: MemberLocation) -> Option<Certainty> {
        let of = self.code.tables.type_of(member.0, member.1);
        if self.code.member(target).name != self.code.member(member).name {
            None
        } else if self.may_dispatch(target, of) {
            Some(Certainty::Likely)
        } else {
            self.is_redeclared(target, of).then_some(Certainty::Possible)
        }
    }

    /// Whether an access to a member of another type may reach the member of the same name in this one: a base declares it, or
    /// a derived type overrides it.
    fn may_dispatch(&self, other: MemberLocation, of: u32) -> bool {
        let to = self.code.tables.type_of(other.0, other.1);
        to != of && (self.derives_from(of, to) || self.derives_from(to, of))
    }

    /// Whether two interfaces or aliases redeclare the same member of a common base. In a language that compares types by
    /// structure, a value of one may be a value of the other.
    fn is_redeclared(&self, other: MemberLocation, of: u32) -> bool {
        let to = self.code.tables.type_of(other.0, other.1);
        let is_shape =
            |at: u32| matches!(self.code.types[at as usize].kind, TypeKind::Interface | TypeKind::Alias);
        if !is_shape(of) || !is_shape(to) || !self.is_modular(other.0) {
            return false;
        }
        let name = self.code.tables.name_id(&self.code.member(other).name);
        let declares =
            |at: &u32| name.is_some_and(|name| !self.code.tables.members_named(*at, name).is_empty());
        let theirs = self.lineage(to);
        self.lineage(of).iter().any(|base| theirs.contains(base) && declares(base))
    }

    /// A type and its direct and indirect bases.
    fn lineage(&self, of: u32) -> Vec<u32> {
        let mut lineage = vec![of];
        let mut at = 0;
        while let Some(of) = lineage.get(at).copied() {
            let bases = self.resolver.bases(of).iter();
            let new: Vec<u32> = bases.copied().filter(|base| !lineage.contains(base)).collect();
            lineage.extend(new);
            at += 1;
        }
        lineage
    }

    /// The places where imports name a type or module.
    pub fn imports_of_type(&self, file: u32, of: u32, names: &[u32]) -> Vec<(u32, u32)> {
        let wanted = |used: &MemberReference| {
            used.receiver == ReceiverExpr::Import
                && names.contains(&self.code.tables.word_name(file, used.word))
        };
        let mut found = Vec::new();
        self.resolve_file(file, wanted, |used, _, meaning| {
            let is_it = match meaning {
                Resolution::Type(found) => *found == of,
                Resolution::Namespace(found) => self.code.tables.modules_of(*found).contains(&of),
                _ => false,
            };
            if is_it {
                let length = self.code.files[file as usize].facts.word_text(used.word).len() as u32;
                found.push((used.at, used.at + length));
            }
        });
        found
    }

    /// The members that a file uses, by position. Unresolved accesses are left out.
    pub fn usages_in_file(&self, file: u32) -> Vec<Usage> {
        let mut found = Vec::new();
        self.resolve_file(
            file,
            |_| true,
            |used, _, meaning| {
                if let Resolution::Members(members, certainty) = meaning {
                    found.extend(members.iter().map(|member| self.usage_at(file, used, *member, *certainty)));
                }
            },
        );
        found.sort_unstable();
        found
    }

    /// Resolves the wanted member accesses of a file, and as few of the others as that requires.
    fn resolve_file(
        &self,
        file: u32,
        wanted: impl Fn(&MemberReference) -> bool,
        mut report: impl FnMut(&MemberReference, Option<u32>, &Resolution),
    ) {
        let facts = &self.code.files[file as usize].facts;
        let uses = &facts.member_references;
        let wanted: Vec<bool> = uses.iter().map(wanted).collect();
        let needed = required_accesses(uses, &wanted);
        let owners = owner_boundaries(facts.types.iter().map(|part| part.span));
        let mut resolved: Vec<ResolvedAccess> = Vec::with_capacity(uses.len());
        for (at, used) in uses.iter().enumerate() {
            if !needed[at] {
                resolved.push(ResolvedAccess { meaning: Resolution::Unknown, value: Receiver::Unknown });
                continue;
            }
            let part = owner_at(&owners, used.at);
            let scope = part.map_or(0, |part| scope_in(facts, part));
            let owner = part.map(|part| self.code.tables.type_of(file, part));
            let place = LookupPlace { file, scope, owner };
            let name = self.code.tables.word_name(file, used.word);
            let access =
                MemberAccess { name, called: used.argument_count, arity: u16::from(used.arity), place, part };
            let next = self.resolve_access(access, used.receiver, uses, &mut resolved);
            resolved.push(next);
        }
        for (at, used) in uses.iter().enumerate().filter(|(at, _)| wanted[*at]) {
            let part = owner_at(&owners, used.at);
            let owner = part.map(|part| self.code.tables.type_of(file, part));
            report(used, owner, &resolved[at].meaning);
        }
    }

    /// Resolves a member access, based on the resolved accesses before it.
    fn resolve_access(
        &self,
        access: MemberAccess,
        on: ReceiverExpr,
        uses: &[MemberReference],
        resolved: &mut [ResolvedAccess],
    ) -> ResolvedAccess {
        let value = match on {
            ReceiverExpr::Implicit | ReceiverExpr::Base | ReceiverExpr::Import | ReceiverExpr::Unknown => {
                Receiver::Unknown
            }
            ReceiverExpr::This => self.own_instance(access),
            ReceiverExpr::Global => Receiver::Namespace(GLOBAL_NAMESPACE),
            ReceiverExpr::Typed(written) => self.value_of((access.place.file, access.part, written)),
            ReceiverExpr::Member(at) => {
                self.settle_receiver(access, &uses[at as usize], &mut resolved[at as usize])
            }
            ReceiverExpr::Element(at) => self.element_of(resolved[at as usize].value, false),
            ReceiverExpr::Indexed(at) => self.element_of(resolved[at as usize].value, true),
            ReceiverExpr::External => Receiver::Outside(None),
        };
        let mut meaning = match on {
            ReceiverExpr::Implicit if self.is_modular(access.place.file) => self.resolve_free_name(access),
            ReceiverExpr::Implicit => self.resolve_unqualified(access),
            ReceiverExpr::Import => self.resolve_import_word(access),
            ReceiverExpr::Base => self.resolve_in_bases(access),
            _ => self.resolve_on(access, value),
        };
        // overloads with the same result type are as good as one
        if let (
            ReceiverExpr::Member(at) | ReceiverExpr::Element(at) | ReceiverExpr::Indexed(at),
            Resolution::Members(_, certainty),
        ) = (on, &mut meaning)
            && let Resolution::Members(before, Certainty::Likely) = &resolved[at as usize].meaning
            && before.len() == 1
        {
            *certainty = Certainty::Likely;
        }
        let gives = match &meaning {
            Resolution::Members(members, _) => self.common_result(members, access.called.is_some(), value),
            Resolution::Type(of) => Receiver::Static(*of),
            Resolution::Namespace(of) => Receiver::Namespace(*of),
            Resolution::Outside | Resolution::Unknown => Receiver::Unknown,
        };
        ResolvedAccess { meaning, value: gives }
    }

    /// A value of the enclosing type; a module has none.
    fn own_instance(&self, access: MemberAccess) -> Receiver {
        let of = access.place.owner.filter(|of| self.code.types[*of as usize].kind != TypeKind::Module);
        of.map_or(Receiver::Unknown, |of| Receiver::Instance(of, None))
    }

    fn resolve_on(&self, access: MemberAccess, value: Receiver) -> Resolution {
        match value {
            Receiver::Namespace(of) => self.resolve_in_namespace(access, of),
            Receiver::Static(of) => self.member_of(access, of).unwrap_or_else(|| {
                let nested = self.resolver.nested_type(access.place.file, of, access.name, access.arity, 0);
                nested.map_or(Resolution::Outside, Resolution::Type)
            }),
            Receiver::Instance(of, _) => self.member_of(access, of).unwrap_or_else(|| {
                if self.has_unknown_members(access.place.file, of) {
                    return Resolution::Unknown;
                }
                self.resolve_extension(access, value)
            }),
            Receiver::Outside(_) => self.resolve_extension(access, value),
            Receiver::Unknown => Resolution::Unknown,
        }
    }

    /// Whether a value of a type may have members that the source does not show: what an alias stands for, or a base outside.
    fn has_unknown_members(&self, file: u32, of: u32) -> bool {
        let is_alias = self.code.types[of as usize].kind == TypeKind::Alias;
        self.is_modular(file) && (is_alias || self.extends_unseen(of))
    }

    fn resolve_in_namespace(&self, access: MemberAccess, of: u32) -> Resolution {
        let file = access.place.file;
        let is_modular = self.is_modular(file);
        if let Some(found) = is_modular.then(|| self.resolve_in_module(file, of, access.name)).flatten() {
            return found;
        }
        match self.resolver.in_namespace(file, of, access.name, access.arity) {
            Some(TypeOrNamespace::Type(found)) => Resolution::Type(found),
            Some(TypeOrNamespace::Namespace(found)) => Resolution::Namespace(found),
            None if is_modular => Resolution::Unknown,
            None => Resolution::Outside,
        }
    }

    /// Resolves an unqualified name: a member of an enclosing type, a type, or a statically imported member.
    fn resolve_unqualified(&self, access: MemberAccess) -> Resolution {
        let mut unseen = false;
        let mut at = access.place.owner;
        while let Some(of) = at {
            if let Some(Resolution::Members(members, certainty)) = self.member_of(access, of) {
                return Resolution::Members(members, if unseen { Certainty::Likely } else { certainty });
            }
            let nested = self.resolver.nested_type(access.place.file, of, access.name, access.arity, 0);
            if let Some(nested) = nested.filter(|_| access.called.is_none()) {
                return Resolution::Type(nested);
            }
            unseen |= self.extends_unseen(of);
            at = self.code.types[of as usize].outer;
        }
        if access.called.is_none() {
            match self.resolver.in_namespaces(access.place, access.name, access.arity, true) {
                LookupResult::Symbol(TypeOrNamespace::Type(found)) => return Resolution::Type(found),
                LookupResult::Symbol(TypeOrNamespace::Namespace(found)) => {
                    return Resolution::Namespace(found);
                }
                LookupResult::Ends => return Resolution::Outside,
                LookupResult::Nothing => {}
            }
        }
        if self.code.files[access.place.file as usize].facts.requires_imports {
            let scopes = self.resolver.enclosing_scopes(access.place);
            let named = scopes.map(|scope| self.imported_members(access.place.file, scope, access.name));
            if let Some(found) = named.into_iter().find(|found| !found.is_empty()) {
                let sure = found.len() == 1 && !unseen;
                return Resolution::Members(found, if sure { Certainty::Certain } else { Certainty::Likely });
            }
        }
        let imported = self.resolver.static_imports(access.place).find_map(|of| self.member_of(access, of));
        match imported {
            Some(Resolution::Members(members, _)) if unseen => {
                Resolution::Members(members, Certainty::Likely)
            }
            Some(meaning) => meaning,
            None => Resolution::Outside,
        }
    }

    /// Resolves `base.X`.
    fn resolve_in_bases(&self, access: MemberAccess) -> Resolution {
        let Some(of) = access.place.owner else { return Resolution::Unknown };
        let found = self.inherited_bases(of).find_map(|base| self.member_of(access, base));
        found.unwrap_or(Resolution::Outside)
    }

    /// A member of a type or of its bases, nearest first. Bases are resolved only as far as necessary.
    fn member_of(&self, access: MemberAccess, of: u32) -> Option<Resolution> {
        let mut lineage = vec![of];
        let mut at = 0;
        while let Some(of) = lineage.get(at).copied() {
            let fitting = self.declared_in(access, of);
            if !fitting.is_empty() {
                let sure = fitting.len() == 1 && !self.calls_value(access, fitting[0]);
                let certainty = if sure { Certainty::Certain } else { Certainty::Likely };
                return Some(Resolution::Members(fitting, certainty));
            }
            for base in self.inherited_bases(of) {
                if !lineage.contains(&base) {
                    lineage.push(base);
                }
            }
            at += 1;
        }
        None
    }

    /// The members with this name that a type itself declares and that the access may refer to.
    fn declared_in(&self, access: MemberAccess, of: u32) -> Vec<MemberLocation> {
        let mut fitting: Vec<MemberLocation> = Vec::new();
        for at in self.code.tables.members_named(of, access.name) {
            let member = self.code.member(*at);
            // both halves of a partial method count as one
            let known = fitting.iter().any(|other| is_same_member(self.code.member(*other), member));
            if !known
                && is_callable_with(member.kind, member.parameter_count, access.called, false)
                && accepts_type_arguments(member, access.arity)
                && self.is_accessible(member.visibility, of, access.place)
            {
                fitting.push(*at);
            }
        }
        self.prefer_by_call(access, &mut fitting);
        fitting
    }

    /// Whether a value is called, and a function with the same name may exist that was not parsed: tokio declares some inside
    /// macros.
    fn calls_value(&self, access: MemberAccess, at: MemberLocation) -> bool {
        let is_function = matches!(self.code.member(at).kind, MemberKind::Method | MemberKind::Function);
        access.called.is_some() && !is_function && self.code.files[at.0 as usize].facts.requires_imports
    }

    /// In languages other than C#, a function and a value may share a name: then a call refers to the function.
    fn prefer_by_call(&self, access: MemberAccess, members: &mut Vec<MemberLocation>) {
        let is_function = |at: &MemberLocation| {
            matches!(self.code.member(*at).kind, MemberKind::Method | MemberKind::Function)
        };
        let called = access.called.is_some();
        if members.iter().any(|at| is_function(at) == called) {
            members.retain(|at| is_function(at) == called);
        }
    }

    /// Whether a member is accessible: a private one is, within its type and the types nested in it.
    fn is_accessible(&self, visibility: Visibility, of: u32, place: LookupPlace) -> bool {
        let around = |at: &u32| self.code.types[*at as usize].outer;
        // in other languages, the whole file or module can access private members
        let is_file_wide = self.code.files[place.file as usize].facts.requires_imports;
        visibility.is_visible_outside()
            || is_file_wide
            || std::iter::successors(place.owner, around).any(|at| at == of)
    }

    /// Whether the type of a member is a type parameter of its type.
    fn gives_parameter(&self, member: MemberLocation) -> bool {
        let facts = &self.code.files[member.0 as usize].facts;
        let gives = self.code.member(member).result_type;
        gives.is_some_and(|gives| facts.written_types[gives as usize] == WrittenType::TYPE_PARAMETER)
    }

    /// The result of members, if it is the same for all candidates.
    fn common_result(&self, members: &[MemberLocation], called: bool, on: Receiver) -> Receiver {
        let one = |at: &MemberLocation| {
            let member = self.code.member(*at);
            match member.kind {
                MemberKind::EnumValue => Receiver::Instance(self.code.tables.type_of(at.0, at.1), None),
                // a method group, or a call of a function stored in a variable
                MemberKind::Method | MemberKind::Function if !called => Receiver::Unknown,
                MemberKind::Method | MemberKind::Function => self.result_of(*at, on),
                _ if called => Receiver::Unknown,
                _ => self.result_of(*at, on),
            }
        };
        let first = members.first().map_or(Receiver::Unknown, one);
        let same = |other: &Receiver| match (first, other) {
            (Receiver::Instance(one, _), Receiver::Instance(other, _)) => one == *other,
            (Receiver::Outside(_), Receiver::Outside(_)) => true,
            _ => false,
        };
        if members[1..].iter().map(one).all(|other| same(&other)) { first } else { Receiver::Unknown }
    }

    fn result_of(&self, at: MemberLocation, on: Receiver) -> Receiver {
        match self.code.member(at).result_type {
            Some(_) if self.gives_parameter(at) => self.element_of(on, false),
            Some(gives) => self.value_of((at.0, Some(at.1), gives)),
            None => Receiver::Unknown,
        }
    }

    /// The receiver that a member access evaluates to. In `Status.Active`, where `Status` is both a type and a member of that
    /// type, a static `Active` means that `Status` refers to the type and not to the member.
    fn settle_receiver(
        &self,
        access: MemberAccess,
        used: &MemberReference,
        receiver: &mut ResolvedAccess,
    ) -> Receiver {
        let is_member = matches!(receiver.meaning, Resolution::Members(..));
        if !is_member || used.receiver != ReceiverExpr::Implicit || used.argument_count.is_some() {
            return receiver.value;
        }
        let word = self.code.tables.word_name(access.place.file, used.word);
        match receiver.value {
            Receiver::Instance(of, _)
                if self.code.tables.name_id(self.code.simple_name(of)) == Some(word)
                    && self.is_static(access, of) =>
            {
                *receiver = ResolvedAccess { meaning: Resolution::Type(of), value: Receiver::Static(of) };
            }
            // the members of a library's type are unknown
            Receiver::Outside(Some((file, _, written))) if self.last_word(file, written) == Some(word) => {
                if let Resolution::Members(_, certainty) = &mut receiver.meaning {
                    *certainty = Certainty::Likely;
                }
            }
            _ => {}
        }
        receiver.value
    }

    /// Whether the accessed member is static or a nested type.
    fn is_static(&self, access: MemberAccess, of: u32) -> bool {
        match self.member_of(access, of) {
            Some(Resolution::Members(members, _)) => self.code.member(members[0]).is_static,
            _ => self.resolver.nested_type(access.place.file, of, access.name, access.arity, 0).is_some(),
        }
    }

    fn last_word(&self, file: u32, written: u32) -> Option<u32> {
        let facts = &self.code.files[file as usize].facts;
        let path = facts.written_types[written as usize].path?;
        let last = facts.paths[path as usize].segments.last()?;
        Some(self.code.tables.word_name(file, last.word))
    }

    /// A value of a type expression.
    fn value_of(&self, expression: TypeExpression) -> Receiver {
        let (file, part, written) = expression;
        let facts = &self.code.files[file as usize].facts;
        let it = facts.written_types[written as usize];
        let Some(path) = it.path else {
            return if it == WrittenType::TYPE_PARAMETER {
                Receiver::Unknown
            } else {
                Receiver::Outside(Some(expression))
            };
        };
        let is_own = |path: &Path| matches!(*path.segments, [only] if facts.word_text(only.word) == "Self");
        if let Some(part) = part.filter(|_| is_own(&facts.paths[path as usize])) {
            return Receiver::Instance(self.code.tables.type_of(file, part), None);
        }
        let known = self.known_types.borrow().get(&expression).copied();
        let target = known.unwrap_or_else(|| {
            let scope = part.map_or(0, |part| scope_in(facts, part));
            let owner = part.map(|part| self.code.tables.type_of(file, part));
            let path = &facts.paths[path as usize];
            let place = LookupPlace { file, scope, owner };
            let mentions = self.resolver.follow_path(place, path, Position::Type, false);
            let last = mentions.last().filter(|last| last.segment as usize + 1 == path.segments.len());
            let is_module = |to: u32| self.code.types[to as usize].kind == TypeKind::Module;
            let target = last.filter(|last| !is_module(last.to)).map(|last| TypeOrNamespace::Type(last.to));
            let module = || self.resolver.namespace_of_path(place, path).map(TypeOrNamespace::Namespace);
            let target = target.or_else(|| facts.has_module_path.then(module).flatten());
            self.known_types.borrow_mut().insert(expression, target);
            target
        });
        match target {
            Some(TypeOrNamespace::Type(of)) => Receiver::Instance(of, Some(expression)),
            Some(TypeOrNamespace::Namespace(of)) => Receiver::Namespace(of),
            None => Receiver::Outside(Some(expression)),
        }
    }

    /// An element of a collection value.
    fn element_of(&self, value: Receiver, indexed: bool) -> Receiver {
        let (Receiver::Instance(_, Some((file, part, written)))
        | Receiver::Outside(Some((file, part, written)))) = value
        else {
            return Receiver::Unknown;
        };
        match self.code.files[file as usize].facts.written_types[written as usize] {
            WrittenType { element: Some(inner), has_single_argument: single, .. } if single || indexed => {
                self.value_of((file, part, inner))
            }
            _ => Receiver::Unknown,
        }
    }

    /// Resolves a call of an extension method.
    fn resolve_extension(&self, access: MemberAccess, value: Receiver) -> Resolution {
        self.code.tables.record_lookup(access.name);
        let candidates = self.extensions.get(&access.name).map_or(&[][..], Vec::as_slice);
        let called = access.called.map(|count| count.saturating_add(1));
        let fitting: Vec<MemberLocation> = candidates
            .iter()
            .copied()
            .filter(|at| {
                let member = self.code.member(*at);
                let facts = &self.code.files[at.0 as usize].facts;
                let namespace =
                    self.code.tables.enclosing_namespaces(at.0, facts.types[at.1 as usize].scope)[0];
                called.is_some()
                    && is_callable_with(member.kind, member.parameter_count, called, false)
                    && accepts_type_arguments(member, access.arity)
                    && self.resolver.can_see_namespace(access.place, namespace)
                    && self.accepts_receiver(*at, value)
            })
            .collect();
        match (fitting.len(), value) {
            (0, _) => Resolution::Outside,
            (1, Receiver::Instance(of, _)) if !self.extends_unseen(of) => {
                Resolution::Members(fitting, Certainty::Certain)
            }
            _ => Resolution::Members(fitting, Certainty::Likely),
        }
    }

    /// Whether the first parameter of an extension method accepts a value.
    fn accepts_receiver(&self, at: MemberLocation, value: Receiver) -> bool {
        let wanted = self.code.member(at).parameter_count.receiver_type;
        let wanted = wanted.map_or(Receiver::Unknown, |written| self.value_of((at.0, Some(at.1), written)));
        match (wanted, value) {
            (Receiver::Instance(wanted, _), Receiver::Instance(of, _)) => self.derives_from(of, wanted),
            (Receiver::Instance(..), Receiver::Outside(_)) => false,
            (Receiver::Outside(Some(wanted)), Receiver::Outside(Some(given))) => {
                let (wanted, given) = (self.last_word(wanted.0, wanted.2), self.last_word(given.0, given.2));
                wanted == given || wanted.is_some() && given.is_some()
            }
            _ => true,
        }
    }

    fn derives_from(&self, of: u32, wanted: u32) -> bool {
        self.lineage(of).contains(&wanted)
    }

    /// The bases whose members a type inherits: a class does not inherit those of its interfaces.
    fn inherited_bases(&self, of: u32) -> impl Iterator<Item = u32> {
        let kind = |at: u32| self.code.types[at as usize].kind;
        let all = kind(of) == TypeKind::Interface;
        self.resolver.bases(of).iter().copied().filter(move |base| all || kind(*base) != TypeKind::Interface)
    }

    /// Whether a type inherits, directly or indirectly, from a type that is not in the source.
    fn extends_unseen(&self, of: u32) -> bool {
        if let Some(known) = self.unseen_bases.borrow().get(&of) {
            return *known;
        }
        let mut lineage = vec![of];
        let mut at = 0;
        while let Some(of) = lineage.get(at).copied().filter(|of| !self.names_unseen(*of)) {
            let new: Vec<u32> = self.inherited_bases(of).filter(|base| !lineage.contains(base)).collect();
            lineage.extend(new);
            at += 1;
        }
        let found = at < lineage.len();
        self.unseen_bases.borrow_mut().insert(of, found);
        found
    }

    /// Whether a type has a base that is not in the source, other than an interface of a class. Interfaces are recognised by the
    /// .NET naming convention: an I and another capital.
    fn names_unseen(&self, of: u32) -> bool {
        let each = &self.code.types[of as usize];
        let is_interface = each.kind == TypeKind::Interface;
        each.parts.iter().any(|(file, part)| {
            let facts = &self.code.files[*file as usize].facts;
            facts.types[*part as usize].base_references.iter().any(|name| {
                let reference = &facts.references[*name as usize];
                let word = facts
                    .reference_path(reference)
                    .segments
                    .last()
                    .map_or("", |last| facts.word_text(last.word));
                (is_interface || !is_interface_name(word))
                    && self.resolver.target_type(*file, reference).is_none()
            })
        })
    }

    fn find_extensions(&mut self) {
        for (file, source) in self.code.files.iter().enumerate() {
            for (part, declared) in source.facts.types.iter().enumerate() {
                for (at, member) in
                    declared.members.iter().enumerate().filter(|(_, it)| it.parameter_count.is_extension)
                {
                    if let Some(name) = self.code.tables.name_id(&member.name) {
                        let place = (file as u32, part as u32, at as u32);
                        self.extensions.entry(name).or_default().push(place);
                    }
                }
            }
        }
    }
}

/// Whether two declarations in a type are of the same member.
fn is_same_member(one: &Member, other: &Member) -> bool {
    one.kind == other.kind && one.key == other.key
}

/// Whether a member can be accessed by its name with this many arguments. An extension method receives one more than is written.
fn is_callable_with(kind: MemberKind, takes: ParameterCount, called: Option<u8>, or_extends: bool) -> bool {
    let count =
        |count: u8| takes.min <= count && (count <= takes.max || takes.max == ParameterCount::UNLIMITED);
    match kind {
        MemberKind::Constructor | MemberKind::Destructor | MemberKind::Indexer | MemberKind::Operator => {
            false
        }
        MemberKind::Method => called.is_none_or(|called| {
            count(called) || or_extends && takes.is_extension && count(called.saturating_add(1))
        }),
        _ => true,
    }
}

/// Whether a member can be accessed with this many type arguments: they are often left out, but their number is never wrong.
fn accepts_type_arguments(member: &Member, count: u16) -> bool {
    let declared = member.key.split_once(member.name.as_str()).map_or("", |(_, rest)| rest);
    let declared = declared.strip_prefix('`').and_then(|rest| rest.split('(').next());
    count == 0 || declared.and_then(|it| it.parse().ok()) == Some(count)
}

/// The scope for lookups inside a declaration. A module has its own scope, which has its name.
fn scope_in(facts: &FileFacts, part: u32) -> u32 {
    let part = &facts.types[part as usize];
    if part.kind != TypeKind::Module {
        return part.scope;
    }
    let around = &facts.scopes[part.scope as usize].namespace;
    let within = |scope: &Scope| {
        let inner = scope.namespace.strip_prefix(around.as_slice());
        inner.is_some_and(|inner| matches!(inner, [only] if facts.word_text(*only) == part.name))
    };
    facts.scopes.iter().position(within).unwrap_or(0) as u32
}

fn is_interface_name(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next() == Some('I') && letters.next().is_some_and(char::is_uppercase)
}

/// The accesses that have to be resolved for the wanted ones: their receivers, and the accesses directly on them, which may show
/// that a type was meant.
fn required_accesses(uses: &[MemberReference], wanted: &[bool]) -> Vec<bool> {
    let mut needed = wanted.to_vec();
    for at in 1..uses.len() {
        needed[at] |= wanted[at - 1] && uses[at].receiver == ReceiverExpr::Member(at as u32 - 1);
    }
    for at in (0..uses.len()).rev() {
        if let (
            true,
            ReceiverExpr::Member(before) | ReceiverExpr::Element(before) | ReceiverExpr::Indexed(before),
        ) = (needed[at], uses[at].receiver)
        {
            needed[before as usize] = true;
        }
    }
    needed
}

/// The boundaries at which the innermost declaration changes, by position.
fn owner_boundaries(spans: impl Iterator<Item = Span>) -> Vec<(u32, Option<u32>)> {
    let mut changes: Vec<(u32, Option<u32>)> = Vec::new();
    let mut open: Vec<(u32, u32)> = Vec::new();
    // a module is added when a free function or value is found in it, after the types before that
    let mut spans: Vec<(usize, Span)> = spans.enumerate().collect();
    spans.sort_by_key(|(_, span)| (span.from, Reverse(span.to)));
    for (part, span) in spans {
        close_declarations(&mut open, &mut changes, span.from);
        changes.push((span.from, Some(part as u32)));
        open.push((span.to, part as u32));
    }
    close_declarations(&mut open, &mut changes, u32::MAX);
    changes
}

/// Closes the declarations that end at or before a byte.
fn close_declarations(open: &mut Vec<(u32, u32)>, changes: &mut Vec<(u32, Option<u32>)>, before: u32) {
    while let Some((to, _)) = open.pop_if(|(to, _)| *to <= before) {
        changes.push((to, open.last().map(|(_, outer)| *outer)));
    }
}

fn owner_at(changes: &[(u32, Option<u32>)], at: u32) -> Option<u32> {
    let next = changes.partition_point(|(from, _)| *from <= at);
    next.checked_sub(1).and_then(|last| changes[last].1)
}
