//! Where a member is used, and how sure that is.
//!
//! Does not know the types of expressions beyond what is written: what a library's member gives, what a generic method infers and
//! which of several overloads with the same number of arguments is meant are left to a compiler, and said to be unsure. Of
//! members that are used without their names (constructors, indexers, operators) it knows nothing.

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
    /// Where the name stands.
    pub at: u32,
    /// File, part and index of the member's declaration.
    pub member: (u32, u32, u32),
    pub certainty: Certainty,
}

/// A code base, asked where members are used.
pub struct Usages<'a> {
    code: &'a Codebase,
    resolver: &'a Resolver<'a>,
    /// The methods that may be called as if they were members of another type, by name.
    extensions: FxHashMap<u32, Vec<MemberAt>>,
    /// What written types are, by file, part and place in the file's list.
    known: RefCell<FxHashMap<Seat, Option<u32>>>,
    /// Whether types inherit, near or far, from one that is not in the source.
    unseen: RefCell<FxHashMap<u32, bool>>,
}

/// A written type, and the declaration in which it is written, which decides what it means.
type Seat = (u32, Option<u32>, u32);

/// What a mention means.
#[derive(Clone, Debug)]
enum Meaning {
    Members(Vec<MemberAt>, Certainty),
    Type(u32),
    Namespace(u32),
    /// Nothing that the source declares.
    Outside,
    /// Anything that has the name.
    Unknown,
}

/// What a mention means, and what may be asked of it in turn.
struct Told {
    meaning: Meaning,
    gives: Value,
}

/// What a member is asked of.
#[derive(Clone, Copy, Debug)]
enum Value {
    Instance(u32, Option<Seat>),
    Static(u32),
    Namespace(u32),
    Outside(Option<Seat>),
    Unknown,
}

/// A member as it is asked for.
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

    /// Where a member is used: file by file, in the order of the text.
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

    /// The members that a file uses, in the order of the text. What may be anything is left out.
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

    /// Finds out what some mentions of a file mean, and no more of the others than that takes.
    fn read(&self, file: u32, wanted: impl Fn(&Use) -> bool, mut tell: impl FnMut(&Use, &Meaning)) {
        let facts = &self.code.files[file as usize].facts;
        let uses = &facts.uses;
        let wanted: Vec<bool> = uses.iter().map(wanted).collect();
        let needed = needed(uses, &wanted);
        let owners = owners(facts.types.iter().map(|part| part.span));
        let mut told: Vec<Told> = Vec::with_capacity(uses.len());
        for (at, used) in uses.iter().enumerate() {
            if !needed[at] {
                told.push(Told { meaning: Meaning::Unknown, gives: Value::Unknown });
                continue;
            }
            let part = owner_at(&owners, used.at);
            let scope = part.map_or(0, |part| scope_in(facts, part));
            let owner = part.map(|part| self.code.tables.type_of(file, part));
            let place = Place { file, scope, owner };
            let name = self.code.tables.word(file, used.word);
            let ask = Ask { name, called: used.called, arity: u16::from(used.arity), place, part };
            let next = self.told(ask, used.on, uses, &mut told);
            told.push(next);
        }
        for (at, used) in uses.iter().enumerate().filter(|(at, _)| wanted[*at]) {
            tell(used, &told[at].meaning);
        }
    }

    /// What a mention means, by what those before it mean.
    fn told(&self, ask: Ask, on: On, uses: &[Use], told: &mut [Told]) -> Told {
        let value = match on {
            On::Sight | On::Base | On::Unknown => Value::Unknown,
            On::This => self.own(ask),
            On::Root => Value::Namespace(GLOBAL),
            On::Written(written) => self.value_of((ask.place.file, ask.part, written)),
            On::Use(at) => self.settle(ask, &uses[at as usize], &mut told[at as usize]),
            On::Element(at) => self.element(told[at as usize].gives, false),
            On::Indexed(at) => self.element(told[at as usize].gives, true),
            On::Outside => Value::Outside(None),
        };
        let mut meaning = match on {
            On::Sight => self.in_sight(ask),
            On::Base => self.in_bases(ask),
            _ => self.asked_of(ask, value),
        };
        // overloads that all give the same are as good as one
        if let (On::Use(at) | On::Element(at) | On::Indexed(at), Meaning::Members(_, certainty)) =
            (on, &mut meaning)
            && let Meaning::Members(before, Certainty::Likely) = &told[at as usize].meaning
            && before.len() == 1
        {
            *certainty = Certainty::Likely;
        }
        let gives = match &meaning {
            Meaning::Members(members, _) => self.given_by(members, ask.called.is_some(), value),
            Meaning::Type(of) => Value::Static(*of),
            Meaning::Namespace(of) => Value::Namespace(*of),
            Meaning::Outside | Meaning::Unknown => Value::Unknown,
        };
        Told { meaning, gives }
    }

    /// A value of the type around; a module has none.
    fn own(&self, ask: Ask) -> Value {
        let of = ask.place.owner.filter(|of| self.code.types[*of as usize].kind != TypeKind::Module);
        of.map_or(Value::Unknown, |of| Value::Instance(of, None))
    }

    fn asked_of(&self, ask: Ask, value: Value) -> Meaning {
        match value {
            Value::Namespace(of) => {
                match self.resolver.in_namespace(ask.place.file, of, ask.name, ask.arity) {
                    Some(Symbol::Type(found)) => Meaning::Type(found),
                    Some(Symbol::Namespace(found)) => Meaning::Namespace(found),
                    None => Meaning::Outside,
                }
            }
            Value::Static(of) => self.member_of(ask, of).unwrap_or_else(|| {
                let nested = self.resolver.nested(ask.place.file, of, ask.name, ask.arity, 0);
                nested.map_or(Meaning::Outside, Meaning::Type)
            }),
            Value::Instance(of, _) => self.member_of(ask, of).unwrap_or_else(|| self.extension(ask, value)),
            Value::Outside(_) => self.extension(ask, value),
            Value::Unknown => Meaning::Unknown,
        }
    }

    /// A name alone: a member of the types around, or a type, or a member that an import brings.
    fn in_sight(&self, ask: Ask) -> Meaning {
        let mut unseen = false;
        let mut at = ask.place.owner;
        while let Some(of) = at {
            if let Some(Meaning::Members(members, certainty)) = self.member_of(ask, of) {
                return Meaning::Members(members, if unseen { Certainty::Likely } else { certainty });
            }
            let nested = self.resolver.nested(ask.place.file, of, ask.name, ask.arity, 0);
            if let Some(nested) = nested.filter(|_| ask.called.is_none()) {
                return Meaning::Type(nested);
            }
            unseen |= self.extends_unseen(of);
            at = self.code.types[of as usize].outer;
        }
        if ask.called.is_none() {
            match self.resolver.in_namespaces(ask.place, ask.name, ask.arity, true) {
                Found::Symbol(Symbol::Type(found)) => return Meaning::Type(found),
                Found::Symbol(Symbol::Namespace(found)) => return Meaning::Namespace(found),
                Found::Ends => return Meaning::Outside,
                Found::Nothing => {}
            }
        }
        let imported = self.resolver.statics(ask.place).find_map(|of| self.member_of(ask, of));
        match imported {
            Some(Meaning::Members(members, _)) if unseen => Meaning::Members(members, Certainty::Likely),
            Some(meaning) => meaning,
            None => Meaning::Outside,
        }
    }

    /// `base.X`.
    fn in_bases(&self, ask: Ask) -> Meaning {
        let Some(of) = ask.place.owner else { return Meaning::Unknown };
        let found = self.inherited(of).find_map(|base| self.member_of(ask, base));
        found.unwrap_or(Meaning::Outside)
    }

    /// A member of a type or of what it inherits from, the nearest first. Bases are looked up only as far as it takes.
    fn member_of(&self, ask: Ask, of: u32) -> Option<Meaning> {
        let mut lineage = vec![of];
        let mut at = 0;
        while let Some(of) = lineage.get(at).copied() {
            let fitting = self.declared_in(ask, of);
            if !fitting.is_empty() {
                let sure = fitting.len() == 1 && !self.calls_value(ask, fitting[0]);
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

    /// The members that a type itself declares under a name and that may be meant.
    fn declared_in(&self, ask: Ask, of: u32) -> Vec<MemberAt> {
        let mut fitting: Vec<MemberAt> = Vec::new();
        for at in self.code.tables.members(of, ask.name) {
            let member = self.code.member(*at);
            // both halves of a partial method are one
            let known = fitting.iter().any(|other| is_same(self.code.member(*other), member));
            if !known
                && fits(member.kind, member.takes, ask.called, false)
                && takes_types(member, ask.arity)
                && self.is_open(member.visibility, of, ask.place)
            {
                fitting.push(*at);
            }
        }
        self.of_one_kind(ask, &mut fitting);
        fitting
    }

    /// Whether a value is called where a function of its name may stand beside it, unread: tokio writes them inside macros.
    fn calls_value(&self, ask: Ask, at: MemberAt) -> bool {
        let is_function = matches!(self.code.member(at).kind, MemberKind::Method | MemberKind::Function);
        ask.called.is_some() && !is_function && self.code.files[at.0 as usize].facts.closed
    }

    /// Elsewhere than in C#, a function and a value may share a name: then a call means the function.
    fn of_one_kind(&self, ask: Ask, members: &mut Vec<MemberAt>) {
        let is_function =
            |at: &MemberAt| matches!(self.code.member(*at).kind, MemberKind::Method | MemberKind::Function);
        let called = ask.called.is_some();
        if members.iter().any(|at| is_function(at) == called) {
            members.retain(|at| is_function(at) == called);
        }
    }

    /// Whether a member is in sight: a private one is, inside the type that declares it and the types nested in that.
    fn is_open(&self, visibility: Visibility, of: u32, place: Place) -> bool {
        let around = |at: &u32| self.code.types[*at as usize].outer;
        // elsewhere a file or a module sees what is private in it
        let is_file_wide = self.code.files[place.file as usize].facts.closed;
        visibility.is_seen() || is_file_wide || std::iter::successors(place.owner, around).any(|at| at == of)
    }

    /// Whether a member gives a type parameter of its type.
    fn gives_parameter(&self, member: MemberAt) -> bool {
        let facts = &self.code.files[member.0 as usize].facts;
        let gives = self.code.member(member).gives;
        gives.is_some_and(|gives| facts.written[gives as usize] == Written::PARAMETER)
    }

    /// What members give, if all that may be meant give the same.
    fn given_by(&self, members: &[MemberAt], called: bool, on: Value) -> Value {
        let one = |at: &MemberAt| {
            let member = self.code.member(*at);
            match member.kind {
                MemberKind::EnumValue => Value::Instance(self.code.tables.type_of(at.0, at.1), None),
                // a method that is not called, a function in a variable that is
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

    /// What a mention gives that something is asked of. `Status.Active`, where `Status` is both a type and a member of that type: what
    /// is static is asked of the type, and then the member is not meant.
    fn settle(&self, ask: Ask, used: &Use, told: &mut Told) -> Value {
        let is_member = matches!(told.meaning, Meaning::Members(..));
        if !is_member || used.on != On::Sight || used.called.is_some() {
            return told.gives;
        }
        let word = self.code.tables.word(ask.place.file, used.word);
        match told.gives {
            Value::Instance(of, _)
                if self.code.tables.name(self.code.simple_name(of)) == Some(word)
                    && self.is_static(ask, of) =>
            {
                *told = Told { meaning: Meaning::Type(of), gives: Value::Static(of) };
            }
            // the members of a library's type are not known
            Value::Outside(Some((file, _, written))) if self.last_word(file, written) == Some(word) => {
                if let Meaning::Members(_, certainty) = &mut told.meaning {
                    *certainty = Certainty::Likely;
                }
            }
            _ => {}
        }
        told.gives
    }

    /// Whether what is asked for is asked of a type, not of its values.
    fn is_static(&self, ask: Ask, of: u32) -> bool {
        match self.member_of(ask, of) {
            Some(Meaning::Members(members, _)) => self.code.member(members[0]).is_static,
            _ => self.resolver.nested(ask.place.file, of, ask.name, ask.arity, 0).is_some(),
        }
    }

    fn last_word(&self, file: u32, written: u32) -> Option<u32> {
        let facts = &self.code.files[file as usize].facts;
        let path = facts.written[written as usize].path?;
        let last = facts.paths[path as usize].segments.last()?;
        Some(self.code.tables.word(file, last.word))
    }

    /// A value of a written type.
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

    /// One of those that a value is a list of.
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

    /// A method that is called as if it were a member of a type that does not have it.
    fn extension(&self, ask: Ask, value: Value) -> Meaning {
        self.code.tables.note(ask.name);
        let candidates = self.extensions.get(&ask.name).map_or(&[][..], Vec::as_slice);
        let called = ask.called.map(|count| count.saturating_add(1));
        let fitting: Vec<MemberAt> = candidates
            .iter()
            .copied()
            .filter(|at| {
                let member = self.code.member(*at);
                let facts = &self.code.files[at.0 as usize].facts;
                let namespace = self.code.tables.around(at.0, facts.types[at.1 as usize].scope)[0];
                called.is_some()
                    && fits(member.kind, member.takes, called, false)
                    && takes_types(member, ask.arity)
                    && self.resolver.sees(ask.place, namespace)
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

    /// Whether an extension may take a value as its first.
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

    /// The bases whose members a type has as well: a class does not have those of its interfaces.
    fn inherited(&self, of: u32) -> impl Iterator<Item = u32> {
        let kind = |at: u32| self.code.types[at as usize].kind;
        let all = kind(of) == TypeKind::Interface;
        self.resolver.bases(of).iter().copied().filter(move |base| all || kind(*base) != TypeKind::Interface)
    }

    /// Whether a type inherits, near or far, from something that the source does not have.
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

    /// Whether a base of a type, and no mere interface of a class, is not in the source. Names tell them apart there: those of .NET's
    /// interfaces begin with an I and another capital.
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

/// Whether two declarations in one type are of one member.
fn is_same(one: &Member, other: &Member) -> bool {
    one.kind == other.kind && one.key == other.key
}

/// Whether a member may be asked for by its name, and with so many arguments. As an extension it is handed one that is not written.
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

/// Whether a member may be asked for with so many type arguments: they are often left out, and never too many or too few.
fn takes_types(member: &Member, count: u16) -> bool {
    let declared = member.key.split_once(member.name.as_str()).map_or("", |(_, rest)| rest);
    let declared = declared.strip_prefix('`').and_then(|rest| rest.split('(').next());
    count == 0 || declared.and_then(|it| it.parse().ok()) == Some(count)
}

/// The scope in which names are looked up inside a declaration. A module has one of its own, which bears its name.
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

/// The mentions that have to be understood for those that are wanted: what they are asked of, and what is asked of them at once,
/// since that may show that a type was meant.
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

/// Where each declaration of a type begins or goes on, by the order of the text.
fn owners(spans: impl Iterator<Item = Span>) -> Vec<(u32, Option<u32>)> {
    let mut changes: Vec<(u32, Option<u32>)> = Vec::new();
    let mut open: Vec<(u32, u32)> = Vec::new();
    // a module is declared when something stands free in it, after types that do not
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

/// Ends the declarations that do not reach as far as a byte.
fn close(open: &mut Vec<(u32, u32)>, changes: &mut Vec<(u32, Option<u32>)>, before: u32) {
    while let Some((to, _)) = open.pop_if(|(to, _)| *to <= before) {
        changes.push((to, open.last().map(|(_, outer)| *outer)));
    }
}

fn owner_at(changes: &[(u32, Option<u32>)], at: u32) -> Option<u32> {
    let next = changes.partition_point(|(from, _)| *from <= at);
    next.checked_sub(1).and_then(|last| changes[last].1)
}
