//! Finds usages of members, with their certainty.
//!
//! Does not know the types of expressions beyond what is written in the source: the result of a library's member, the inferred
//! type of a generic method, and the choice between overloads with the same number of arguments need a compiler, and are reported
//! as uncertain. Members that are used without their names (constructors, indexers, operators) are not found.

use crate::codebase::{Codebase, GLOBAL, MemberAt};
use crate::resolve::{Certainty, Found, Place, Resolver, Symbol};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::cmp::Reverse;
use syntax::{
    FileFacts, Member, MemberKind, On, Path, Position, Scope, Span, Takes, TypeKind, Use, Visibility, Written,
};

/// A place that uses a member.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Usage {
    pub file: u32,
    /// Byte offset of the name.
    pub at: u32,
    /// File, part and index of the member's declaration.
    pub member: (u32, u32, u32),
    pub certainty: Certainty,
}

/// Finds usages of members in a codebase.
pub struct Usages<'a> {
    code: &'a Codebase,
    resolver: &'a Resolver<'a>,
    /// Extension methods, by name.
    extensions: FxHashMap<u32, Vec<MemberAt>>,
    /// Cache of resolved type expressions, by file, part and index in the file's list.
    known: RefCell<FxHashMap<Seat, Option<u32>>>,
    /// Cache: whether a type inherits, directly or indirectly, from a type that is not in the source.
    unseen: RefCell<FxHashMap<u32, bool>>,
}

/// A type expression (file, declaration, index in the file's list); the declaration decides how its names resolve.
type Seat = (u32, Option<u32>, u32);

/// What a member access resolves to.
#[derive(Clone, Debug)]
enum Meaning {
    Members(Vec<MemberAt>, Certainty),
    Type(u32),
    Namespace(u32),
    /// Nothing in the source.
    Outside,
    /// Anything with this name.
    Unknown,
}

/// A resolved member access, and the value it evaluates to.
struct Told {
    meaning: Meaning,
    gives: Value,
}

/// The receiver of a member access.
#[derive(Clone, Copy, Debug)]
enum Value {
    Instance(u32, Option<Seat>),
    Static(u32),
    Namespace(u32),
    Outside(Option<Seat>),
    Unknown,
}

/// A member access: the name, the number of arguments if it is called, the number of type arguments, and where it is.
#[derive(Clone, Copy)]
struct Ask {
    name: u32,
    called: Option<u8>,
    arity: u16,
    place: Place,
    part: Option<u32>,
}

impl<'a> Usages<'a> {
    pub fn new(code: &'a Codebase, resolver: &'a Resolver<'a>) -> Usages<'a> {
        let mut usages = Usages {
            code,
            resolver,
            extensions: FxHashMap::default(),
            known: RefCell::default(),
            unseen: RefCell::default(),
        };
        usages.find_extensions();
        usages
    }

    /// The usages of a member, by file and position.
    pub fn of(&self, member: (u32, u32, u32)) -> Vec<Usage> {
        let declared = self.code.member(member);
        let Some(name) = self.code.tables.name(&declared.name) else { return Vec::new() };
        let of = self.code.tables.type_of(member.0, member.1);
        let same = |other: &MemberAt| {
            *other == member
                || self.code.tables.type_of(other.0, other.1) == of
                    && is_same(self.code.member(*other), declared)
        };
        let files = (0..self.code.files.len() as u32).filter(|file| self.code.tables.has_word(*file, name));
        let mut found: Vec<Usage> = Vec::new();
        for file in files {
            let wanted = |used: &Use| self.code.tables.word(file, used.word) == name;
            self.read(file, wanted, |used, meaning| {
                let certainty = match meaning {
                    Meaning::Members(members, certainty) => members.iter().any(same).then_some(*certainty),
                    Meaning::Unknown => {
                        fits(declared.kind, declared.takes, used.called, true).then_some(Certainty::Possible)
                    }
                    _ => None,
                };
                found.extend(certainty.map(|certainty| Usage { file, at: used.at, member, certainty }));
            });
        }
        found.sort_unstable();
        found
    }

    /// The members that a file uses, by position. Unresolved accesses are left out.
    pub fn in_file(&self, file: u32) -> Vec<Usage> {
        let mut found = Vec::new();
        self.read(
            file,
            |_| true,
            |used, meaning| {
                if let Meaning::Members(members, certainty) = meaning {
                    let usage = |member: &MemberAt| Usage {
                        file,
                        at: used.at,
                        member: *member,
                        certainty: *certainty,
                    };
                    found.extend(members.iter().map(usage));
                }
            },
        );
        found.sort_unstable();
        found
    }

    /// Resolves the wanted member accesses of a file, and as few of the others as that requires.
    fn read(&self, file: u32, wanted: impl Fn(&Use) -> bool, mut report: impl FnMut(&Use, &Meaning)) {
        let facts = &self.code.files[file as usize].facts;
        let uses = &facts.uses;
        let wanted: Vec<bool> = uses.iter().map(wanted).collect();
        let needed = needed(uses, &wanted);
        let owners = owners(facts.types.iter().map(|part| part.span));
        let mut resolved: Vec<Told> = Vec::with_capacity(uses.len());
        for (at, used) in uses.iter().enumerate() {
            if !needed[at] {
                resolved.push(Told { meaning: Meaning::Unknown, gives: Value::Unknown });
                continue;
            }
            let part = owner_at(&owners, used.at);
            let scope = part.map_or(0, |part| scope_in(facts, part));
            let owner = part.map(|part| self.code.tables.type_of(file, part));
            let place = Place { file, scope, owner };
            let name = self.code.tables.word(file, used.word);
            let access = Ask { name, called: used.called, arity: u16::from(used.arity), place, part };
            let next = self.told(access, used.on, uses, &mut resolved);
            resolved.push(next);
        }
        for (at, used) in uses.iter().enumerate().filter(|(at, _)| wanted[*at]) {
            report(used, &resolved[at].meaning);
        }
    }

    /// Resolves a member access, based on the resolved accesses before it.
    fn told(&self, access: Ask, on: On, uses: &[Use], resolved: &mut [Told]) -> Told {
        let value = match on {
            On::Sight | On::Base | On::Unknown => Value::Unknown,
            On::This => self.own(access),
            On::Root => Value::Namespace(GLOBAL),
            On::Written(written) => self.value_of((access.place.file, access.part, written)),
            On::Use(at) => self.settle(access, &uses[at as usize], &mut resolved[at as usize]),
            On::Element(at) => self.element(resolved[at as usize].gives, false),
            On::Indexed(at) => self.element(resolved[at as usize].gives, true),
            On::Outside => Value::Outside(None),
        };
        let mut meaning = match on {
            On::Sight => self.in_sight(access),
            On::Base => self.in_bases(access),
            _ => self.asked_of(access, value),
        };
        // overloads with the same result type are as good as one
        if let (On::Use(at) | On::Element(at) | On::Indexed(at), Meaning::Members(_, certainty)) =
            (on, &mut meaning)
            && let Meaning::Members(before, Certainty::Likely) = &resolved[at as usize].meaning
            && before.len() == 1
        {
            *certainty = Certainty::Likely;
        }
        let gives = match &meaning {
            Meaning::Members(members, _) => self.given_by(members, access.called.is_some(), value),
            Meaning::Type(of) => Value::Static(*of),
            Meaning::Namespace(of) => Value::Namespace(*of),
            Meaning::Outside | Meaning::Unknown => Value::Unknown,
        };
        Told { meaning, gives }
    }

    /// A value of the enclosing type; a module has none.
    fn own(&self, access: Ask) -> Value {
        let of = access.place.owner.filter(|of| self.code.types[*of as usize].kind != TypeKind::Module);
        of.map_or(Value::Unknown, |of| Value::Instance(of, None))
    }

    fn asked_of(&self, access: Ask, value: Value) -> Meaning {
        match value {
            Value::Namespace(of) => {
                match self.resolver.in_namespace(access.place.file, of, access.name, access.arity) {
                    Some(Symbol::Type(found)) => Meaning::Type(found),
                    Some(Symbol::Namespace(found)) => Meaning::Namespace(found),
                    None => Meaning::Outside,
                }
            }
            Value::Static(of) => self.member_of(access, of).unwrap_or_else(|| {
                let nested = self.resolver.nested(access.place.file, of, access.name, access.arity, 0);
                nested.map_or(Meaning::Outside, Meaning::Type)
            }),
            Value::Instance(of, _) => {
                self.member_of(access, of).unwrap_or_else(|| self.extension(access, value))
            }
            Value::Outside(_) => self.extension(access, value),
            Value::Unknown => Meaning::Unknown,
        }
    }

    /// Resolves an unqualified name: a member of an enclosing type, a type, or a statically imported member.
    fn in_sight(&self, access: Ask) -> Meaning {
        let mut unseen = false;
        let mut at = access.place.owner;
        while let Some(of) = at {
            if let Some(Meaning::Members(members, certainty)) = self.member_of(access, of) {
                return Meaning::Members(members, if unseen { Certainty::Likely } else { certainty });
            }
            let nested = self.resolver.nested(access.place.file, of, access.name, access.arity, 0);
            if let Some(nested) = nested.filter(|_| access.called.is_none()) {
                return Meaning::Type(nested);
            }
            unseen |= self.extends_unseen(of);
            at = self.code.types[of as usize].outer;
        }
        if access.called.is_none() {
            match self.resolver.in_namespaces(access.place, access.name, access.arity, true) {
                Found::Symbol(Symbol::Type(found)) => return Meaning::Type(found),
                Found::Symbol(Symbol::Namespace(found)) => return Meaning::Namespace(found),
                Found::Ends => return Meaning::Outside,
                Found::Nothing => {}
            }
        }
        let imported = self.resolver.statics(access.place).find_map(|of| self.member_of(access, of));
        match imported {
            Some(Meaning::Members(members, _)) if unseen => Meaning::Members(members, Certainty::Likely),
            Some(meaning) => meaning,
            None => Meaning::Outside,
        }
    }

    /// Resolves `base.X`.
    fn in_bases(&self, access: Ask) -> Meaning {
        let Some(of) = access.place.owner else { return Meaning::Unknown };
        let found = self.inherited(of).find_map(|base| self.member_of(access, base));
        found.unwrap_or(Meaning::Outside)
    }

    /// A member of a type or of its bases, nearest first. Bases are resolved only as far as necessary.
    fn member_of(&self, access: Ask, of: u32) -> Option<Meaning> {
        let mut lineage = vec![of];
        let mut at = 0;
        while let Some(of) = lineage.get(at).copied() {
            let fitting = self.declared_in(access, of);
            if !fitting.is_empty() {
                let sure = fitting.len() == 1 && !self.calls_value(access, fitting[0]);
                let certainty = if sure { Certainty::Certain } else { Certainty::Likely };
                return Some(Meaning::Members(fitting, certainty));
            }
            for base in self.inherited(of) {
                if !lineage.contains(&base) {
                    lineage.push(base);
                }
            }
            at += 1;
        }
        None
    }

    /// The members with this name that a type itself declares and that the access may refer to.
    fn declared_in(&self, access: Ask, of: u32) -> Vec<MemberAt> {
        let mut fitting: Vec<MemberAt> = Vec::new();
        for at in self.code.tables.members(of, access.name) {
            let member = self.code.member(*at);
            // both halves of a partial method count as one
            let known = fitting.iter().any(|other| is_same(self.code.member(*other), member));
            if !known
                && fits(member.kind, member.takes, access.called, false)
                && takes_types(member, access.arity)
                && self.is_open(member.visibility, of, access.place)
            {
                fitting.push(*at);
            }
        }
        self.of_one_kind(access, &mut fitting);
        fitting
    }

    /// Whether a value is called, and a function with the same name may exist that was not parsed: tokio declares some inside
    /// macros.
    fn calls_value(&self, access: Ask, at: MemberAt) -> bool {
        let is_function = matches!(self.code.member(at).kind, MemberKind::Method | MemberKind::Function);
        access.called.is_some() && !is_function && self.code.files[at.0 as usize].facts.closed
    }

    /// In languages other than C#, a function and a value may share a name: then a call refers to the function.
    fn of_one_kind(&self, access: Ask, members: &mut Vec<MemberAt>) {
        let is_function =
            |at: &MemberAt| matches!(self.code.member(*at).kind, MemberKind::Method | MemberKind::Function);
        let called = access.called.is_some();
        if members.iter().any(|at| is_function(at) == called) {
            members.retain(|at| is_function(at) == called);
        }
    }

    /// Whether a member is accessible: a private one is, within its type and the types nested in it.
    fn is_open(&self, visibility: Visibility, of: u32, place: Place) -> bool {
        let around = |at: &u32| self.code.types[*at as usize].outer;
        // in other languages, the whole file or module can access private members
        let is_file_wide = self.code.files[place.file as usize].facts.closed;
        visibility.is_seen() || is_file_wide || std::iter::successors(place.owner, around).any(|at| at == of)
    }

    /// Whether the type of a member is a type parameter of its type.
    fn gives_parameter(&self, member: MemberAt) -> bool {
        let facts = &self.code.files[member.0 as usize].facts;
        let gives = self.code.member(member).gives;
        gives.is_some_and(|gives| facts.written[gives as usize] == Written::PARAMETER)
    }

    /// The result of members, if it is the same for all candidates.
    fn given_by(&self, members: &[MemberAt], called: bool, on: Value) -> Value {
        let one = |at: &MemberAt| {
            let member = self.code.member(*at);
            match member.kind {
                MemberKind::EnumValue => Value::Instance(self.code.tables.type_of(at.0, at.1), None),
                // a method group, or a call of a function stored in a variable
                MemberKind::Method | MemberKind::Function if !called => Value::Unknown,
                MemberKind::Method | MemberKind::Function => self.result(*at, on),
                _ if called => Value::Unknown,
                _ => self.result(*at, on),
            }
        };
        let first = members.first().map_or(Value::Unknown, one);
        let same = |other: &Value| match (first, other) {
            (Value::Instance(one, _), Value::Instance(other, _)) => one == *other,
            (Value::Outside(_), Value::Outside(_)) => true,
            _ => false,
        };
        if members[1..].iter().map(one).all(|other| same(&other)) { first } else { Value::Unknown }
    }

    fn result(&self, at: MemberAt, on: Value) -> Value {
        match self.code.member(at).gives {
            Some(_) if self.gives_parameter(at) => self.element(on, false),
            Some(gives) => self.value_of((at.0, Some(at.1), gives)),
            None => Value::Unknown,
        }
    }

    /// The receiver that a member access evaluates to. In `Status.Active`, where `Status` is both a type and a member of that
    /// type, a static `Active` means that `Status` refers to the type and not to the member.
    fn settle(&self, access: Ask, used: &Use, receiver: &mut Told) -> Value {
        let is_member = matches!(receiver.meaning, Meaning::Members(..));
        if !is_member || used.on != On::Sight || used.called.is_some() {
            return receiver.gives;
        }
        let word = self.code.tables.word(access.place.file, used.word);
        match receiver.gives {
            Value::Instance(of, _)
                if self.code.tables.name(self.code.simple_name(of)) == Some(word)
                    && self.is_static(access, of) =>
            {
                *receiver = Told { meaning: Meaning::Type(of), gives: Value::Static(of) };
            }
            // the members of a library's type are unknown
            Value::Outside(Some((file, _, written))) if self.last_word(file, written) == Some(word) => {
                if let Meaning::Members(_, certainty) = &mut receiver.meaning {
                    *certainty = Certainty::Likely;
                }
            }
            _ => {}
        }
        receiver.gives
    }

    /// Whether the accessed member is static or a nested type.
    fn is_static(&self, access: Ask, of: u32) -> bool {
        match self.member_of(access, of) {
            Some(Meaning::Members(members, _)) => self.code.member(members[0]).is_static,
            _ => self.resolver.nested(access.place.file, of, access.name, access.arity, 0).is_some(),
        }
    }

    fn last_word(&self, file: u32, written: u32) -> Option<u32> {
        let facts = &self.code.files[file as usize].facts;
        let path = facts.written[written as usize].path?;
        let last = facts.paths[path as usize].segments.last()?;
        Some(self.code.tables.word(file, last.word))
    }

    /// A value of a type expression.
    fn value_of(&self, seat: Seat) -> Value {
        let (file, part, written) = seat;
        let facts = &self.code.files[file as usize].facts;
        let it = facts.written[written as usize];
        let Some(path) = it.path else {
            return if it == Written::PARAMETER { Value::Unknown } else { Value::Outside(Some(seat)) };
        };
        let is_own = |path: &Path| matches!(*path.segments, [only] if facts.word(only.word) == "Self");
        if let Some(part) = part.filter(|_| is_own(&facts.paths[path as usize])) {
            return Value::Instance(self.code.tables.type_of(file, part), None);
        }
        let known = self.known.borrow().get(&seat).copied();
        let target = known.unwrap_or_else(|| {
            let scope = part.map_or(0, |part| scope_in(facts, part));
            let owner = part.map(|part| self.code.tables.type_of(file, part));
            let path = &facts.paths[path as usize];
            let place = Place { file, scope, owner };
            let mentions = self.resolver.follow(place, path, Position::Type, false);
            let last = mentions.last().filter(|last| last.segment as usize + 1 == path.segments.len());
            let target = last.map(|last| last.to);
            self.known.borrow_mut().insert(seat, target);
            target
        });
        target.map_or(Value::Outside(Some(seat)), |of| Value::Instance(of, Some(seat)))
    }

    /// An element of a collection value.
    fn element(&self, value: Value, indexed: bool) -> Value {
        let (Value::Instance(_, Some((file, part, written))) | Value::Outside(Some((file, part, written)))) =
            value
        else {
            return Value::Unknown;
        };
        match self.code.files[file as usize].facts.written[written as usize] {
            Written { inner: Some(inner), single, .. } if single || indexed => {
                self.value_of((file, part, inner))
            }
            _ => Value::Unknown,
        }
    }

    /// Resolves a call of an extension method.
    fn extension(&self, access: Ask, value: Value) -> Meaning {
        self.code.tables.note(access.name);
        let candidates = self.extensions.get(&access.name).map_or(&[][..], Vec::as_slice);
        let called = access.called.map(|count| count.saturating_add(1));
        let fitting: Vec<MemberAt> = candidates
            .iter()
            .copied()
            .filter(|at| {
                let member = self.code.member(*at);
                let facts = &self.code.files[at.0 as usize].facts;
                let namespace = self.code.tables.around(at.0, facts.types[at.1 as usize].scope)[0];
                called.is_some()
                    && fits(member.kind, member.takes, called, false)
                    && takes_types(member, access.arity)
                    && self.resolver.sees(access.place, namespace)
                    && self.receives(*at, value)
            })
            .collect();
        match (fitting.len(), value) {
            (0, _) => Meaning::Outside,
            (1, Value::Instance(of, _)) if !self.extends_unseen(of) => {
                Meaning::Members(fitting, Certainty::Certain)
            }
            _ => Meaning::Members(fitting, Certainty::Likely),
        }
    }

    /// Whether the first parameter of an extension method accepts a value.
    fn receives(&self, at: MemberAt, value: Value) -> bool {
        let wanted = self.code.member(at).takes.receiver;
        let wanted = wanted.map_or(Value::Unknown, |written| self.value_of((at.0, Some(at.1), written)));
        match (wanted, value) {
            (Value::Instance(wanted, _), Value::Instance(of, _)) => self.is_a(of, wanted),
            (Value::Instance(..), Value::Outside(_)) => false,
            (Value::Outside(Some(wanted)), Value::Outside(Some(given))) => {
                let (wanted, given) = (self.last_word(wanted.0, wanted.2), self.last_word(given.0, given.2));
                wanted == given || wanted.is_some() && given.is_some()
            }
            _ => true,
        }
    }

    fn is_a(&self, of: u32, wanted: u32) -> bool {
        let mut lineage = vec![of];
        let mut at = 0;
        while let Some(of) = lineage.get(at).copied().filter(|of| *of != wanted) {
            let bases = self.resolver.bases(of).iter();
            let new: Vec<u32> = bases.copied().filter(|base| !lineage.contains(base)).collect();
            lineage.extend(new);
            at += 1;
        }
        at < lineage.len()
    }

    /// The bases whose members a type inherits: a class does not inherit those of its interfaces.
    fn inherited(&self, of: u32) -> impl Iterator<Item = u32> {
        let kind = |at: u32| self.code.types[at as usize].kind;
        let all = kind(of) == TypeKind::Interface;
        self.resolver.bases(of).iter().copied().filter(move |base| all || kind(*base) != TypeKind::Interface)
    }

    /// Whether a type inherits, directly or indirectly, from a type that is not in the source.
    fn extends_unseen(&self, of: u32) -> bool {
        if let Some(known) = self.unseen.borrow().get(&of) {
            return *known;
        }
        let mut lineage = vec![of];
        let mut at = 0;
        while let Some(of) = lineage.get(at).copied().filter(|of| !self.names_unseen(*of)) {
            let new: Vec<u32> = self.inherited(of).filter(|base| !lineage.contains(base)).collect();
            lineage.extend(new);
            at += 1;
        }
        let found = at < lineage.len();
        self.unseen.borrow_mut().insert(of, found);
        found
    }

    /// Whether a type has a base that is not in the source, other than an interface of a class. Interfaces are recognised by the
    /// .NET naming convention: an I and another capital.
    fn names_unseen(&self, of: u32) -> bool {
        let each = &self.code.types[of as usize];
        let is_interface = each.kind == TypeKind::Interface;
        each.parts.iter().any(|(file, part)| {
            let facts = &self.code.files[*file as usize].facts;
            facts.types[*part as usize].base_names.iter().any(|name| {
                let reference = &facts.references[*name as usize];
                let word = facts.path(reference).segments.last().map_or("", |last| facts.word(last.word));
                (is_interface || !is_interface_name(word)) && self.resolver.target(*file, reference).is_none()
            })
        })
    }

    fn find_extensions(&mut self) {
        for (file, source) in self.code.files.iter().enumerate() {
            for (part, declared) in source.facts.types.iter().enumerate() {
                for (at, member) in declared.members.iter().enumerate().filter(|(_, it)| it.takes.extends) {
                    if let Some(name) = self.code.tables.name(&member.name) {
                        let place = (file as u32, part as u32, at as u32);
                        self.extensions.entry(name).or_default().push(place);
                    }
                }
            }
        }
    }
}

/// Whether two declarations in a type are of the same member.
fn is_same(one: &Member, other: &Member) -> bool {
    one.kind == other.kind && one.key == other.key
}

/// Whether a member can be accessed by its name with this many arguments. An extension method receives one more than is written.
fn fits(kind: MemberKind, takes: Takes, called: Option<u8>, or_extends: bool) -> bool {
    let count = |count: u8| takes.least <= count && (count <= takes.most || takes.most == Takes::ANY);
    match kind {
        MemberKind::Constructor | MemberKind::Destructor | MemberKind::Indexer | MemberKind::Operator => {
            false
        }
        MemberKind::Method => called.is_none_or(|called| {
            count(called) || or_extends && takes.extends && count(called.saturating_add(1))
        }),
        _ => true,
    }
}

/// Whether a member can be accessed with this many type arguments: they are often left out, but their number is never wrong.
fn takes_types(member: &Member, count: u16) -> bool {
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
        inner.is_some_and(|inner| matches!(inner, [only] if facts.word(*only) == part.name))
    };
    facts.scopes.iter().position(within).unwrap_or(0) as u32
}

fn is_interface_name(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next() == Some('I') && letters.next().is_some_and(char::is_uppercase)
}

/// The accesses that have to be resolved for the wanted ones: their receivers, and the accesses directly on them, which may show
/// that a type was meant.
fn needed(uses: &[Use], wanted: &[bool]) -> Vec<bool> {
    let mut needed = wanted.to_vec();
    for at in 1..uses.len() {
        needed[at] |= wanted[at - 1] && uses[at].on == On::Use(at as u32 - 1);
    }
    for at in (0..uses.len()).rev() {
        if let (true, On::Use(before) | On::Element(before) | On::Indexed(before)) = (needed[at], uses[at].on)
        {
            needed[before as usize] = true;
        }
    }
    needed
}

/// The boundaries at which the innermost declaration changes, by position.
fn owners(spans: impl Iterator<Item = Span>) -> Vec<(u32, Option<u32>)> {
    let mut changes: Vec<(u32, Option<u32>)> = Vec::new();
    let mut open: Vec<(u32, u32)> = Vec::new();
    // a module is added when a free function or value is found in it, after the types before that
    let mut spans: Vec<(usize, Span)> = spans.enumerate().collect();
    spans.sort_by_key(|(_, span)| (span.from, Reverse(span.to)));
    for (part, span) in spans {
        close(&mut open, &mut changes, span.from);
        changes.push((span.from, Some(part as u32)));
        open.push((span.to, part as u32));
    }
    close(&mut open, &mut changes, u32::MAX);
    changes
}

/// Closes the declarations that end at or before a byte.
fn close(open: &mut Vec<(u32, u32)>, changes: &mut Vec<(u32, Option<u32>)>, before: u32) {
    while let Some((to, _)) = open.pop_if(|(to, _)| *to <= before) {
        changes.push((to, open.last().map(|(_, outer)| *outer)));
    }
}

fn owner_at(changes: &[(u32, Option<u32>)], at: u32) -> Option<u32> {
    let next = changes.partition_point(|(from, _)| *from <= at);
    next.checked_sub(1).and_then(|last| changes[last].1)
}
