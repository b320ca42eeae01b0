//! What a reader, person or model, needs to know of a type without reading it: what it is, what it offers, what it builds upon, in
//! a fraction of its tokens.
//!
//! Does not know what the type is for; a note by a model may say that.

use crate::codebase::{Codebase, Type};
use crate::file::{Member, MemberKind, Shape, TypeKind, Visibility};
use crate::hash::{TypeHashes, hashes};
use crate::id::{MemberId, TypeId};
use crate::resolve::Resolver;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// More dependencies than this are counted, not named.
const DEPENDENCIES: usize = 5;

/// What an outline costs beside what it stands for, in tokens of the vocabulary o200k. For models with another one both are
/// estimates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cost {
    pub outline: usize,
    pub source: usize,
}

impl Cost {
    pub fn new(outline: &str, source: &str) -> Cost {
        Cost { outline: count_tokens(outline), source: count_tokens(source) }
    }

    /// In hundredths.
    pub fn percent(self) -> f64 {
        self.outline as f64 * 100.0 / self.source.max(1) as f64
    }
}

/// How many tokens a text has for a model.
pub fn count_tokens(text: &str) -> usize {
    bpe_openai::o200k_base().count(text)
}

/// Writes outlines of the types of one code base.
pub struct Outliner<'a> {
    code: &'a Codebase,
    resolver: &'a Resolver<'a>,
    ids: Vec<TypeId>,
    /// How many types share a simple name.
    sharing: FxHashMap<String, u32>,
}

impl<'a> Outliner<'a> {
    pub fn new(code: &'a Codebase, resolver: &'a Resolver<'a>) -> Outliner<'a> {
        let mut ids: Vec<TypeId> = code.types.iter().map(|each| each.id).collect();
        ids.sort_unstable();
        let mut sharing = FxHashMap::default();
        for at in 0..code.types.len() as u32 {
            *sharing.entry(code.simple_name(at).to_owned()).or_default() += 1;
        }
        Outliner { code, resolver, ids, sharing }
    }

    /// The shortest id that tells a type from the others.
    pub fn short_id(&self, of: u32) -> String {
        self.code.types[of as usize].id.short(&self.ids)
    }

    /// The outline as it is read: what the type is, what it offers, what it builds upon.
    pub fn text(&self, of: u32) -> String {
        let each = &self.code.types[of as usize];
        let mut out = format!("# {} {}\n", each.name, self.short_id(of));
        let _ = writeln!(out, "Kind: {} | Files: {}", self.kind(each), self.files(each).join(","));
        self.body(&mut out, of);
        out
    }

    /// The same with the whole id, which does not depend on what other types there are.
    pub(crate) fn whole(&self, of: u32) -> String {
        let id = self.code.types[of as usize].id;
        self.text(of).replacen(&self.short_id(of), &id.to_string(), 1)
    }

    pub(crate) fn whole_file(&self, of: u32) -> String {
        let id = self.code.types[of as usize].id;
        self.file(of).replacen(&self.short_id(of), &id.to_string(), 1)
    }

    /// The outline as it is kept: the same, with the hashes that say whether it still holds.
    pub fn file(&self, of: u32) -> String {
        let each = &self.code.types[of as usize];
        let TypeHashes { hashes, .. } = hashes(self.code, self.resolver, of);
        let assembly = self.code.projects.get(each.project as usize).map_or("", |project| &project.name);
        let mut out = format!("# {} {}\n", each.name, self.short_id(of));
        let (kind, files) = (self.kind(each), self.files(each).join(","));
        let structure = hashes.structure;
        let _ = writeln!(
            out,
            "Kind: {kind} | Files: {files} | Assembly: {assembly} | StructureHash: {structure}"
        );
        let (public, internal, both) = (hashes.public, hashes.internal, hashes.implementation());
        let _ = writeln!(out, "PublicImplHash: {public} | InternalImplHash: {internal} | ImplHash: {both}");
        let _ = writeln!(out, "XmlDocHash: {}", hashes.doc);
        self.body(&mut out, of);
        out
    }

    /// One member: its signature, what its documentation says first, and where it stands.
    pub fn member(&self, of: u32, key: &str) -> Option<String> {
        let each = &self.code.types[of as usize];
        let mut out = String::new();
        for (file, part) in &each.parts {
            let members = &self.code.part((*file, *part)).members;
            for member in members.iter().filter(|member| member.key == key) {
                let id = MemberId::new(each.id, member.kind, key);
                let _ = writeln!(out, "{}.{} {id}", each.name, member.key);
                let _ = writeln!(out, "  {}", signature(member));
                if let Some(doc) = &member.doc {
                    let _ = writeln!(out, "  XMLDOC: {}", doc.summary);
                }
                let path = &self.code.files[*file as usize].path;
                let _ = writeln!(out, "  File: {path} | Bytes: {}-{}", member.span.from, member.span.to);
            }
        }
        (!out.is_empty()).then_some(out)
    }

    fn kind(&self, of: &Type) -> String {
        let mut words: Vec<&str> = Vec::new();
        if of.visibility != Visibility::Public {
            words.push(of.visibility.name());
        }
        for part in self.code.parts(of) {
            words.extend(
                part.modifiers
                    .iter()
                    .map(String::as_str)
                    .filter(|it| matches!(*it, "abstract" | "static" | "sealed" | "readonly" | "ref")),
            );
        }
        words.dedup();
        words.push(of.kind.name());
        words.join(" ")
    }

    fn files(&self, of: &Type) -> Vec<&str> {
        let mut files: Vec<&str> =
            of.parts.iter().map(|(file, _)| self.code.files[*file as usize].path.as_str()).collect();
        files.dedup();
        files
    }

    fn body(&self, out: &mut String, of: u32) {
        let each = &self.code.types[of as usize];
        if let Some(doc) = self.code.parts(each).find_map(|part| part.doc.as_ref()) {
            let _ = writeln!(out, "XMLDOC: {}", doc.summary);
        }
        let header: String = self
            .code
            .parts(each)
            .map(|part| part.shown.as_str())
            .find(|it| !it.is_empty())
            .unwrap_or_default()
            .to_owned();
        if !header.is_empty() {
            let _ = writeln!(out, "Takes: {header}");
        }
        if self.code.parts(each).any(|part| part.degraded) {
            out.push_str("Gaps: parts of this type could not be read\n");
        }
        self.offers(out, of);
        let based = self.based_upon(each);
        if !based.is_empty() {
            let _ = writeln!(out, "Implements: {}", based.join(", "));
        }
        self.depends(out, of);
    }

    /// What may be used from outside: values of an enumeration on one line, everything else one by one.
    fn offers(&self, out: &mut String, of: u32) {
        let each = &self.code.types[of as usize];
        let mut members: Vec<&Member> = self
            .code
            .parts(each)
            .flat_map(|part| &part.members)
            .filter(|member| member.visibility.is_open() && member.kind != MemberKind::Destructor)
            .collect();
        if each.kind == TypeKind::Enum {
            let values: Vec<&str> = members.iter().map(|member| member.shown.as_str()).collect();
            let _ = writeln!(out, "Values: {}", values.join(", "));
            return;
        }
        members.sort_by(|one, other| (one.kind, &one.key).cmp(&(other.kind, &other.key)));
        members.dedup_by(|one, other| (one.kind, &one.key) == (other.kind, &other.key));
        let nested: Vec<u32> =
            self.code.nested(of).filter(|at| self.code.types[*at as usize].visibility.is_open()).collect();
        if members.is_empty() && nested.is_empty() {
            return;
        }
        out.push_str("Public API:\n");
        for at in nested {
            let _ =
                writeln!(out, "+ {} {}", self.code.types[at as usize].kind.name(), self.code.simple_name(at));
        }
        let (data, functions): (Vec<&Member>, Vec<&Member>) =
            members.into_iter().partition(|member| is_data(member.kind));
        together(out, &data);
        for member in functions {
            let _ = writeln!(out, "+ {}", signature(member));
        }
    }

    /// Bases as a reader knows them.
    fn based_upon(&self, of: &Type) -> Vec<String> {
        let mut found = Vec::new();
        for (file, part) in &of.parts {
            let facts = &self.code.files[*file as usize].facts;
            for at in &facts.types[*part as usize].base_names {
                let reference = &facts.references[*at as usize];
                let name = match self.resolver.target(*file, reference) {
                    Some(base) => self.short_name(base),
                    None => facts
                        .path(reference)
                        .segments
                        .last()
                        .map_or("", |last| facts.word(last.word))
                        .to_owned(),
                };
                if !found.contains(&name) {
                    found.push(name);
                }
            }
        }
        found
    }

    /// The last part of a type's name if no other type has it, else all of it.
    fn short_name(&self, of: u32) -> String {
        let simple = self.code.simple_name(of);
        match self.sharing.get(simple) {
            Some(1) => simple.to_owned(),
            _ => self.code.types[of as usize].name.clone(),
        }
    }

    /// The types that signatures mention, the most mentioned first.
    fn depends(&self, out: &mut String, of: u32) {
        let mut count: BTreeMap<u32, u32> = BTreeMap::new();
        for (file, part) in &self.code.types[of as usize].parts {
            let facts = &self.code.files[*file as usize].facts;
            let part = &facts.types[*part as usize];
            let open =
                part.members.iter().filter(|member| member.visibility.is_open()).map(|member| &member.shape);
            for reference in open.chain([&part.header]).flat_map(Shape::names) {
                if let Some(to) = self.resolver.target(*file, &facts.references[*reference as usize]) {
                    *count.entry(to).or_default() += 1;
                }
            }
        }
        count.remove(&of);
        let mut found: Vec<(u32, u32)> = count.into_iter().collect();
        found.sort_by_key(|(at, count)| (std::cmp::Reverse(*count), *at));
        if found.is_empty() {
            return;
        }
        let mut names: Vec<String> =
            found.iter().take(DEPENDENCIES).map(|(at, _)| self.short_name(*at)).collect();
        if found.len() > DEPENDENCIES {
            names.push(format!("… {} more", found.len() - DEPENDENCIES));
        }
        let _ = writeln!(out, "DependsOn: {}", names.join(", "));
    }
}

/// A signature, with its visibility unless that is public.
fn signature(member: &Member) -> String {
    unless_public(member.visibility) + &member.shown
}

fn unless_public(visibility: Visibility) -> String {
    if visibility == Visibility::Public { String::new() } else { format!("{} ", visibility.name()) }
}

fn is_data(kind: MemberKind) -> bool {
    matches!(kind, MemberKind::Field | MemberKind::Constant | MemberKind::Property | MemberKind::Event)
}

/// Fields and properties that differ only in type and name share a line: a type of twenty of them costs a third less.
fn together(out: &mut String, data: &[&Member]) {
    let mut alike: Vec<(Around, Vec<&str>)> = Vec::new();
    for member in data {
        let (around, core) = pieces(member);
        match alike.iter_mut().find(|(known, _)| *known == around) {
            Some((_, cores)) => cores.push(core),
            None => alike.push((around, vec![core])),
        }
    }
    for (Around { visibility, modifiers, accessors }, cores) in alike {
        let _ = writeln!(out, "+ {}{modifiers}{}{accessors}", unless_public(visibility), cores.join(", "));
    }
}

/// What stands around the type and name of a field or property.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Around<'a> {
    visibility: Visibility,
    modifiers: &'a str,
    accessors: &'a str,
}

const MODIFIERS: &[&str] = &[
    "abstract", "const", "new", "override", "readonly", "required", "sealed", "static", "virtual", "volatile",
];

fn pieces(member: &Member) -> (Around<'_>, &str) {
    let (front, accessors) = member.shown.split_at(member.shown.find(" {").unwrap_or(member.shown.len()));
    let mut core = front;
    while let Some((_, rest)) = core.split_once(' ').filter(|(word, _)| MODIFIERS.contains(word)) {
        core = rest;
    }
    let modifiers = &front[..front.len() - core.len()];
    (Around { visibility: member.visibility, modifiers, accessors }, core)
}
