//! Reports everything that has one name: its declarations, grouped into families that must keep the same name, and what each
//! mention of the name refers to.
//!
//! Does not know local variables, comments or strings: `syntax` finds those.

use super::{Resolution, UsageFinder};
use crate::codebase::{Codebase, MemberLocation};
use crate::resolve::Certainty;
use rustc_hash::FxHashMap;
use syntax::{MemberKind, Span, TypeKind};

/// What has one name in a codebase.
#[derive(Clone, Debug, Default)]
pub struct NameReport {
    pub declarations: Vec<NamedDeclaration>,
    /// By file and position.
    pub mentions: Vec<Mention>,
}

/// A declaration of a type or of a member; overloads are separate declarations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedDeclaration {
    pub file: u32,
    pub span: Span,
    pub signature: Span,
    /// `None` for a type.
    pub member: Option<MemberKind>,
    /// The type that is declared or that has the member.
    pub of: u32,
    /// Declarations with the same number have to keep the same name: overloads, overrides and the parts of a type.
    pub family: u32,
    /// Whether a base outside of the source may declare it too.
    pub may_override: bool,
}

/// A place that mentions a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    pub file: u32,
    /// The word, or the path that contains it.
    pub span: Span,
    /// Which of the equal words in the path is meant.
    pub ordinal: u32,
    pub meaning: Meaning,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Some of the report's declarations, by index.
    Declared(Vec<u32>, Certainty),
    /// Nothing with this name in the source.
    Outside,
    Unknown,
}

impl UsageFinder<'_> {
    /// Everything that has this name.
    pub fn report_name(&self, name: &str) -> NameReport {
        let mut report = NameReport { declarations: self.declarations_named(name), mentions: Vec::new() };
        self.join_families(&mut report.declarations);
        let Some(id) = self.code.tables.name_id(name) else { return report };
        for file in 0..self.code.files.len() as u32 {
            if self.code.tables.has_word(file, id) {
                self.mentions_of_types(file, name, &mut report);
                self.mentions_of_members(file, id, name, &mut report);
            }
        }
        report.mentions.sort_by_key(|it| (it.file, it.span.from, it.span.to));
        report
    }

    fn declarations_named(&self, name: &str) -> Vec<NamedDeclaration> {
        let mut found = Vec::new();
        for (file, source) in self.code.files.iter().enumerate() {
            for (index, part) in source.facts.types.iter().enumerate() {
                let of = self.code.tables.type_of(file as u32, index as u32);
                let base = NamedDeclaration {
                    file: file as u32,
                    span: part.span,
                    signature: part.signature,
                    member: None,
                    of,
                    family: 0,
                    may_override: false,
                };
                if part.name == name && !matches!(part.kind, TypeKind::Impl) {
                    found.push(base.clone());
                }
                for member in part.members.iter().filter(|it| it.name == name) {
                    found.push(NamedDeclaration {
                        span: member.span,
                        signature: member.signature,
                        member: Some(member.kind),
                        may_override: self.has_unseen_contract(file as u32, index as u32, member.kind),
                        ..base.clone()
                    });
                }
            }
        }
        found
    }

    /// Whether a member may implement or override one that is not in the source.
    fn has_unseen_contract(&self, file: u32, part: u32, kind: MemberKind) -> bool {
        if !matches!(
            kind,
            MemberKind::Method | MemberKind::Property | MemberKind::AssociatedType | MemberKind::Constant
        ) {
            return false;
        }
        let facts = &self.code.files[file as usize].facts;
        let declared = &facts.types[part as usize];
        // an `impl` of a trait declares nothing but the trait's members
        if declared.kind == TypeKind::Impl {
            return declared
                .base_references
                .iter()
                .any(|at| self.resolver.target_type(file, &facts.references[*at as usize]).is_none());
        }
        // in Rust, a trait has no members of the traits it requires
        if declared.kind == TypeKind::Trait {
            return false;
        }
        self.lineage(self.code.tables.type_of(file, part)).into_iter().any(|of| self.has_base_outside(of))
    }

    /// Whether a declaration of the type itself, not of an `impl` block, names a base that is not in the source.
    fn has_base_outside(&self, of: u32) -> bool {
        self.code.types[of as usize].parts.iter().any(|(file, part)| {
            let facts = &self.code.files[*file as usize].facts;
            let declared = &facts.types[*part as usize];
            declared.kind != TypeKind::Impl
                && declared
                    .base_references
                    .iter()
                    .any(|at| self.resolver.target_type(*file, &facts.references[*at as usize]).is_none())
        })
    }

    /// Joins the parts of a type, the overloads of a member, and the members that a common type inherits.
    fn join_families(&self, declarations: &mut [NamedDeclaration]) {
        let mut families = Families::new(declarations.len());
        let mut by_type: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
        for (at, declaration) in declarations.iter().enumerate() {
            let is_constructor = declaration.member == Some(MemberKind::Constructor);
            let of_type = declarations
                .iter()
                .position(|it| it.member.is_none() && it.of == declaration.of)
                .filter(|_| declaration.member.is_none() || is_constructor);
            if let Some(first) = of_type {
                families.join(first, at);
            } else {
                by_type.entry(declaration.of).or_default().push(at);
            }
        }
        // a type that inherits from two of these, without naming the member, makes them one family
        for of in by_type.keys() {
            self.code.tables.record_subtypes(*of);
        }
        for members in by_type.values() {
            members.windows(2).for_each(|pair| families.join(pair[0], pair[1]));
        }
        for of in 0..self.code.types.len() as u32 {
            if self.code.types[of as usize].kind == TypeKind::Module {
                continue;
            }
            let lineage = self.lineage(of);
            let mut declaring = lineage.iter().filter_map(|it| by_type.get(it)).map(|it| it[0]);
            if let Some(first) = declaring.next() {
                declaring.for_each(|other| families.join(first, other));
            }
        }
        self.join_implicit_interfaces(&by_type, declarations, &mut families);
        self.join_merged_declarations(declarations, &mut families);
        for (at, declaration) in declarations.iter_mut().enumerate() {
            declaration.family = families.root(at) as u32;
        }
    }

    /// In TypeScript, a type and a value of a module with one name are one symbol: one import and one export mean both.
    fn join_merged_declarations(&self, declarations: &[NamedDeclaration], families: &mut Families) {
        let is_free = |it: &NamedDeclaration| {
            it.member.is_some() && self.code.types[it.of as usize].kind == TypeKind::Module
        };
        for (at, it) in declarations.iter().enumerate().filter(|(_, it)| it.member.is_none()) {
            let path = &self.code.files[it.file as usize].path;
            if syntax::language_of(path.as_ref()).is_none_or(|it| it.name != "TypeScript") {
                continue;
            }
            let is_value = |other: &&(usize, &NamedDeclaration)| other.1.file == it.file && is_free(other.1);
            for (value, _) in declarations.iter().enumerate().filter(|other| is_value(&other)) {
                families.join(at, value);
            }
        }
    }

    /// In Go, a type with all methods of an interface implements it.
    fn join_implicit_interfaces(
        &self,
        by_type: &FxHashMap<u32, Vec<usize>>,
        declarations: &[NamedDeclaration],
        families: &mut Families,
    ) {
        let is_go = |at: usize| {
            syntax::language_of(self.code.files[declarations[at].file as usize].path.as_ref())
                .is_some_and(|it| it.name == "Go")
        };
        let is_method = |at: usize| declarations[at].member == Some(MemberKind::Method);
        let of_go: Vec<(u32, usize)> = by_type
            .iter()
            .map(|(of, all)| (*of, all[0]))
            .filter(|(_, at)| is_go(*at) && is_method(*at))
            .collect();
        let is_interface = |of: u32| self.code.types[of as usize].kind == TypeKind::Interface;
        for (interface, at) in of_go.iter().filter(|(of, _)| is_interface(*of)) {
            let wanted = self.method_names(*interface);
            for (other, member) in &of_go {
                let own = self.method_names(*other);
                if wanted.iter().all(|name| own.contains(name)) {
                    families.join(*at, *member);
                }
            }
        }
    }

    fn method_names(&self, of: u32) -> Vec<&str> {
        let types = self.lineage(of);
        let parts = types.iter().flat_map(|of| self.code.parts(&self.code.types[*of as usize]));
        let members = parts.flat_map(|part| &part.members);
        members.filter(|it| it.kind == MemberKind::Method).map(|it| it.name.as_str()).collect()
    }

    fn mentions_of_types(&self, file: u32, name: &str, report: &mut NameReport) {
        let facts = &self.code.files[file as usize].facts;
        for reference in &facts.references {
            let path = facts.reference_path(reference);
            let is_it = |at: &usize| facts.word_text(path.segments[*at].word) == name;
            let places: Vec<usize> = (0..path.segments.len()).filter(is_it).collect();
            if places.is_empty() {
                continue;
            }
            let resolved = self.resolver.resolve_reference(file, reference);
            for (ordinal, segment) in places.into_iter().enumerate() {
                let to = resolved.iter().find(|it| it.segment as usize == segment);
                let span = Span { from: reference.at, to: reference.name_end };
                let meaning = to.map_or(Meaning::Unknown, |to| {
                    let declared = declared_types(&report.declarations, to.to);
                    if declared.is_empty() {
                        Meaning::Outside
                    } else {
                        Meaning::Declared(declared, to.certainty)
                    }
                });
                report.mentions.push(Mention { file, span, ordinal: ordinal as u32, meaning });
            }
        }
    }

    fn mentions_of_members(&self, file: u32, id: u32, name: &str, report: &mut NameReport) {
        let mut found = Vec::new();
        let wanted = |used: &syntax::MemberReference| self.code.tables.word_name(file, used.word) == id;
        self.resolve_file(file, wanted, |used, _, meaning| {
            let span = Span { from: used.at, to: used.at + name.len() as u32 };
            let meaning = self.to_meaning(&report.declarations, meaning);
            found.push(Mention { file, span, ordinal: 0, meaning });
        });
        report.mentions.extend(found);
    }

    fn to_meaning(&self, declarations: &[NamedDeclaration], resolution: &Resolution) -> Meaning {
        match resolution {
            Resolution::Members(members, certainty) => {
                let all = members.iter().flat_map(|at| declared_members(self.code, declarations, *at));
                let mut all: Vec<u32> = all.collect();
                all.dedup();
                if all.is_empty() { Meaning::Outside } else { Meaning::Declared(all, *certainty) }
            }
            Resolution::Type(of) => {
                let all = declared_types(declarations, *of);
                if all.is_empty() { Meaning::Outside } else { Meaning::Declared(all, Certainty::Certain) }
            }
            // a package is not what a declaration of the same name declares
            Resolution::Namespace(_) | Resolution::Outside => Meaning::Outside,
            Resolution::Unknown => Meaning::Unknown,
        }
    }
}

fn declared_types(declarations: &[NamedDeclaration], of: u32) -> Vec<u32> {
    let is_it = |it: &NamedDeclaration| it.member.is_none() && it.of == of;
    (0..declarations.len() as u32).filter(|at| is_it(&declarations[*at as usize])).collect()
}

fn declared_members(code: &Codebase, declarations: &[NamedDeclaration], at: MemberLocation) -> Vec<u32> {
    let span = code.member(at).span;
    let is_it = |it: &NamedDeclaration| it.member.is_some() && it.file == at.0 && it.span == span;
    (0..declarations.len() as u32).filter(|at| is_it(&declarations[*at as usize])).collect()
}

/// Disjoint sets.
struct Families(Vec<usize>);

impl Families {
    fn new(count: usize) -> Families {
        Families((0..count).collect())
    }

    fn root(&self, at: usize) -> usize {
        let mut at = at;
        while self.0[at] != at {
            at = self.0[at];
        }
        at
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        let (first, second) = (one.min(other), one.max(other));
        self.0[second] = first;
    }
}
