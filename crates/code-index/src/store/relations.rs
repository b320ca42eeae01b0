//! What is related to a symbol: callers to a depth, what it calls, subtypes, and tests that reach it.
//!
//! Does not know relations that only exist at run time: callbacks, reflection, dependency injection.

use super::folders::is_test_symbol;
use super::locate::Located;
use super::partial::join_partial;
use super::table::Table;
use super::usage_site::{UsageSite, UsageSites, keep_best_sites};
use super::{PROJECTS, Store, StoreError};
use crate::assignment::{is_assignable, is_assigned};
use crate::nested::NestedFunctions;
use code::Certainty;
use code::UsageFinder;
use code::{MemberSummary, SourceRange, TypeSummary};
use code::{TypeNames, without_arguments};
use project::Project;
use std::collections::{BTreeMap, BTreeSet};
use syntax::{Level, MemberKind, Span, TypeId, TypeKind, language_of, whole_words};

/// How places are related to a symbol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    /// Every place that refers to it.
    Usages,
    /// The places that assign it.
    Writes,
    /// The places that use it, and those that use the functions around them, to a depth.
    Callers,
    /// What it uses itself.
    Callees,
    /// Types that derive from it or implement it, directly or indirectly.
    Subtypes,
    /// Callers in tests, to a depth.
    Tests,
}

/// The relations by name.
pub const RELATIONS: &[(&str, Relation)] = &[
    ("usages", Relation::Usages),
    ("writes", Relation::Writes),
    ("callers", Relation::Callers),
    ("callees", Relation::Callees),
    ("subtypes", Relation::Subtypes),
    ("tests", Relation::Tests),
];

/// At each step, so many functions are followed: what more reach is used everywhere, and the next step would be the whole tree.
const MAX_FOLLOWED: usize = 100;
/// Members that have a value and run nothing: they are used, not called.
const NO_CODE: &[MemberKind] = &[MemberKind::Field, MemberKind::Constant, MemberKind::EnumValue];
/// How far a test may be from what it reaches.
const TEST_DEPTH: u32 = 3;

/// Finds places for a type, or one of its members.
type Step<'a> = &'a dyn Fn(&TypeSummary, Option<&MemberSummary>) -> Result<Vec<UsageSite>, StoreError>;

impl Store {
    /// The places related to a type or one of its members; `depth` limits chains of callers.
    pub fn related(
        &self,
        of: &TypeSummary,
        member: Option<&MemberSummary>,
        relation: Relation,
        depth: u32,
    ) -> Result<UsageSites, StoreError> {
        match relation {
            Relation::Usages => self.usages(of, member),
            Relation::Writes => self.writes(of, member),
            Relation::Callers => self.callers(of, member, depth.max(1)),
            Relation::Callees => self.callees(of, member, depth.max(1)),
            Relation::Subtypes => member.map_or_else(|| self.subtypes(of), |it| self.overrides(of, it)),
            Relation::Tests => {
                let mut found = self.callers(of, member, depth.max(TEST_DEPTH))?;
                let is_test =
                    |site: &UsageSite| is_test_symbol(&site.file, site.within.as_deref().unwrap_or_default());
                found.sites.retain(is_test);
                Ok(found)
            }
        }
    }

    fn usages(&self, of: &TypeSummary, member: Option<&MemberSummary>) -> Result<UsageSites, StoreError> {
        match member {
            Some(member) => self.member_usages(of, member),
            None => self.type_usages(of),
        }
    }

    /// The usages that assign a member; none of a function or a type.
    fn writes(&self, of: &TypeSummary, member: Option<&MemberSummary>) -> Result<UsageSites, StoreError> {
        let Some(member) = member.filter(|it| is_assignable(it.kind)) else {
            return Ok(UsageSites::default());
        };
        let mut found = self.member_usages(of, member)?;
        let mut texts: BTreeMap<String, String> = BTreeMap::new();
        found.sites.retain(|site| {
            let text = texts.entry(site.file.clone()).or_insert_with(|| self.read_text(&site.file));
            is_assigned(&site.file, text, (site.at, site.end))
        });
        Ok(found)
    }

    /// Adds the places that `step` finds for the functions around the places, to a depth. Places that match by name only are not
    /// followed: a chain of guesses is none.
    fn follow(
        &self,
        found: &mut UsageSites,
        depth: u32,
        what: &str,
        step: Step<'_>,
    ) -> Result<(), StoreError> {
        let is_sure = |site: &UsageSite| site.certainty < Certainty::Possible;
        let (mut seen, mut level) = (BTreeSet::new(), found.sites.clone());
        level.retain(is_sure);
        for _ in 1..depth {
            let mut next = BTreeSet::new();
            for site in &level {
                let around = self.caller_at(&site.file, site.at)?;
                next.extend(around.filter(|at| at.member.is_some() && seen.insert(*at)));
            }
            if next.len() > MAX_FOLLOWED {
                let left = next.len() - MAX_FOLLOWED;
                found.problems.push(format!("{what} of {left} more functions were not searched"));
            }
            level.clear();
            for at in next.into_iter().take(MAX_FOLLOWED) {
                let Some(summary) = self.type_summary(at.of)? else { continue };
                let member = at.member.and_then(|at| summary.members.get(at as usize));
                level.extend(step(&summary, member)?.into_iter().filter(is_sure));
            }
            found.sites.extend(level.iter().cloned());
        }
        Ok(())
    }

    /// Usages, and usages of the members around them.
    fn callers(
        &self,
        of: &TypeSummary,
        member: Option<&MemberSummary>,
        depth: u32,
    ) -> Result<UsageSites, StoreError> {
        let mut found = self.usages(of, member)?;
        self.follow(&mut found, depth, "callers", &|of, member| Ok(self.usages(of, member)?.sites))?;
        self.name_callers(&mut found.sites)?;
        keep_best_sites(&mut found.sites);
        Ok(found)
    }

    /// The declarations of the functions that a symbol uses, and of those that these use, to a depth.
    fn callees(
        &self,
        of: &TypeSummary,
        member: Option<&MemberSummary>,
        depth: u32,
    ) -> Result<UsageSites, StoreError> {
        let mut found = UsageSites { sites: self.direct_callees(of, member)?, problems: Vec::new() };
        if of
            .files
            .iter()
            .filter_map(|file| language_of(file.as_ref()))
            .any(|it| it.level == Level::Declarations)
        {
            found.problems.push("what a function calls is not known in this language".to_owned());
        }
        self.follow(&mut found, depth, "callees", &|of, member| self.direct_callees(of, member))?;
        keep_best_sites(&mut found.sites);
        Ok(found)
    }

    /// The declarations of the functions that a symbol uses; `within` is the name of the function.
    fn direct_callees(
        &self,
        of: &TypeSummary,
        member: Option<&MemberSummary>,
    ) -> Result<Vec<UsageSite>, StoreError> {
        let mut table = Table::new(&self.db);
        let projects: Vec<Project> = table.get_meta(PROJECTS)?.unwrap_or_default();
        let ranges = member.map_or_else(|| of.parts.clone(), |member| vec![member.range]);
        let mut start = Vec::new();
        for path in &of.files {
            if let Some(row) = table.find_file(path)? {
                start.push(table.load_source(row.id)?);
            }
        }
        let (_, mut sites) = join_partial(&mut table, &projects, start, |code, resolver| {
            let finder = UsageFinder::new(code, resolver);
            let mut sites = Vec::new();
            for range in &ranges {
                let path = &of.files[range.file as usize];
                let Some(file) = code.files.iter().position(|file| file.path == *path) else { continue };
                for usage in finder.usages_in_file(file as u32) {
                    let is_here = range.span.from <= usage.at && usage.at < range.span.to;
                    let used = code.member(usage.member);
                    if is_here && !NO_CODE.contains(&used.kind) {
                        let of = code.tables.type_of(usage.member.0, usage.member.1);
                        let full = format!("{}.{}", code.types[of as usize].name, used.key);
                        let file = &code.files[usage.member.0 as usize].path;
                        sites.push(self.declared_at(
                            file,
                            used.signature,
                            [&used.name, &full],
                            usage.certainty,
                        ));
                    }
                }
            }
            sites
        })?;
        keep_best_sites(&mut sites);
        Ok(sites)
    }

    /// The declarations of derived types, in Rust the blocks that implement the trait; `within` is the name of the type.
    fn subtypes(&self, of: &TypeSummary) -> Result<UsageSites, StoreError> {
        let mut found = UsageSites::default();
        for (summary, base, certainty) in self.derived_types(of)? {
            let file = |range: &SourceRange| &summary.files[range.file as usize];
            let header = |range: &SourceRange| self.header(file(range), range.signature);
            let is_meant = |it: &&SourceRange| !whole_words(&header(it), &base).is_empty();
            let part = summary.parts.iter().find(|it| certainty == Certainty::Likely || is_meant(it));
            let (part, names) = (part.or(summary.parts.first()), [&summary.simple_name, &summary.name]);
            found.sites.extend(part.map(|it| self.declared_at(file(it), it.signature, names, certainty)));
        }
        found.sites.sort();
        Ok(found)
    }

    /// The declarations of a member in derived types.
    fn overrides(&self, of: &TypeSummary, member: &MemberSummary) -> Result<UsageSites, StoreError> {
        let mut found = UsageSites::default();
        for (summary, _, certainty) in self.derived_types(of)? {
            for own in summary.members.iter().filter(|own| overrides(own, member)) {
                let (full, at) = (format!("{}.{}", summary.name, own.name), own.range);
                let file = &summary.files[at.file as usize];
                found.sites.push(self.declared_at(file, at.signature, [&own.name, &full], certainty));
            }
        }
        found.sites.sort();
        Ok(found)
    }

    /// The file and the byte where the name of a type or member is declared first.
    pub fn name_place(&self, of: &TypeSummary, member: Option<&MemberSummary>) -> Option<(String, u32)> {
        let range = member.map(|member| member.range).or_else(|| of.parts.first().copied())?;
        let name = member.map_or(&of.simple_name, |member| &member.name);
        let file = of.files.get(range.file as usize)?;
        let site = self.declared_at(file, range.signature, [name, name], Certainty::Certain);
        Some((site.file, site.at))
    }

    fn header(&self, file: &str, signature: Span) -> String {
        signature.text_in(&self.read_text(file)).to_owned()
    }

    /// The place of a declared name, which attributes may precede.
    fn declared_at(
        &self,
        file: &str,
        signature: Span,
        [name, full]: [&String; 2],
        certainty: Certainty,
    ) -> UsageSite {
        let before = whole_words(&self.header(file, signature), name).first().map_or(0, |it| it.from);
        let (file, at, within) = (file.to_owned(), signature.from + before, Some(full.clone()));
        UsageSite { file, at, end: signature.to, within, certainty }
    }

    /// The types that derive from a type, each with the simple name of the one it derives from.
    fn derived_types(&self, of: &TypeSummary) -> Result<Vec<(TypeSummary, String, Certainty)>, StoreError> {
        let table = Table::new(&self.db);
        let mut seen = BTreeSet::from([of.id]);
        let mut open = vec![(of.id, of.simple_name.clone())];
        let mut found = Vec::new();
        while let Some((id, base)) = open.pop() {
            for id in table.users_of(id, true)?.into_iter().filter(|id| seen.insert(*id)) {
                let Some(summary) = self.type_summary(id)? else { continue };
                open.push((id, summary.simple_name.clone()));
                // where only declarations are read, bases are names
                let is_by_name = |file: &String| {
                    language_of(file.as_ref()).is_some_and(|it| it.level == Level::Declarations)
                };
                let is_possible = summary.files.iter().any(is_by_name);
                let certainty = if is_possible { Certainty::Possible } else { Certainty::Certain };
                found.push((summary, base.clone(), certainty));
            }
        }
        for id in self.types_with_members_of(of)?.into_iter().filter(|id| seen.insert(*id)) {
            found.extend(self.type_summary(id)?.map(|it| (it, of.simple_name.clone(), Certainty::Likely)));
        }
        Ok(found)
    }

    /// A type implements an interface of Go by having its methods; their parameters are not compared.
    fn types_with_members_of(&self, of: &TypeSummary) -> Result<Vec<TypeId>, StoreError> {
        let is_go = |file: &String| language_of(file.as_ref()).is_some_and(|it| it.name == "Go");
        if of.kind != TypeKind::Interface || of.members.is_empty() || !of.files.iter().any(is_go) {
            return Ok(Vec::new());
        }
        let has = |named: &TypeNames, name: &str| named.members.iter().any(|it| it.name == name);
        let mut all = Table::new(&self.db).all_names()?;
        all.retain(|named| of.members.iter().all(|member| has(named, &member.name)));
        Ok(all.into_iter().map(|named| named.id).collect())
    }

    /// Sets the full name of the innermost declaration around each place, with the functions inside of it: `a.outer > inner`.
    fn name_callers(&self, sites: &mut [UsageSite]) -> Result<(), StoreError> {
        let mut files: BTreeMap<String, NestedFunctions> = BTreeMap::new();
        for site in sites {
            let Some(Located { of, member }) = self.caller_at(&site.file, site.at)? else { continue };
            let Some(summary) = self.type_summary(of)? else { continue };
            let Some(member) = member.and_then(|at| summary.members.get(at as usize)) else {
                site.within = Some(summary.name);
                continue;
            };
            let mut name = format!("{}.{}", summary.name, member.name);
            let file = files
                .entry(site.file.clone())
                .or_insert_with(|| NestedFunctions::new(site.file.clone(), self.read_text(&site.file)));
            for inner in file.names_at(member.range.span, site.at) {
                name.push_str(" > ");
                name.push_str(&inner);
            }
            site.within = Some(name);
        }
        Ok(())
    }
}

/// Whether a member takes the place of one of a base: the same name and as many parameters.
fn overrides(own: &MemberSummary, base: &MemberSummary) -> bool {
    let commas = |it: &MemberSummary| without_arguments(&it.key).0.matches(',').count();
    let is_same_kind = own.kind == base.kind && own.key.ends_with("()") == base.key.ends_with("()");
    is_same_kind && own.name == base.name && commas(own) == commas(base)
}
