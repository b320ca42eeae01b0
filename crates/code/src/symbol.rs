//! Resolves symbol paths as people and models write them: `NodeStore`, `Core.NodeStore.Get*`, `store.get(int)`, with or without
//! type arguments, in any case, with `+` or `.` before a nested type.
//!
//! Does not guess: a near match is suggested, never returned as the result.

use crate::codebase::{Codebase, Type};
use project::wildcard_matches;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use syntax::{Member, TypeId, Visibility};

/// A type, or a member of one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Symbol {
    /// Index into the searched types.
    pub of: u32,
    /// Index into the type's members.
    pub member: Option<u32>,
}

/// The names of a type and its members.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TypeNames {
    pub id: TypeId,
    /// The full name.
    pub name: String,
    pub project: String,
    pub arity: u16,
    pub visibility: Visibility,
    pub members: Vec<MemberName>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MemberName {
    pub name: String,
    /// The name with parameter types.
    pub key: String,
    pub visibility: Visibility,
}

impl TypeNames {
    /// The last part of the name.
    pub fn simple_name(&self) -> &str {
        let last = self.name.rsplit(['.', '+']).next().unwrap_or(&self.name);
        last.split('`').next().unwrap_or(last)
    }

    /// The names of all types of a codebase.
    pub fn of_codebase(code: &Codebase) -> Vec<TypeNames> {
        let one = |each: &Type| TypeNames {
            id: each.id,
            name: each.name.clone(),
            project: code.projects.get(each.project as usize).map_or_else(String::new, |it| it.name.clone()),
            arity: code.parts(each).next().map_or(0, |part| part.arity),
            visibility: each.visibility,
            members: distinct_members(code, each)
                .into_iter()
                .map(|(_, member)| to_member_name(member))
                .collect(),
        };
        code.types.iter().map(one).collect()
    }
}

fn to_member_name(member: &Member) -> MemberName {
    MemberName { name: member.name.clone(), key: member.key.clone(), visibility: member.visibility }
}

/// The members of a type, each with its file; the two halves of a partial method count as one.
pub(crate) fn distinct_members<'a>(code: &'a Codebase, of: &Type) -> Vec<(u32, &'a Member)> {
    let (mut found, mut seen) = (Vec::new(), FxHashSet::default());
    for at in &of.parts {
        for member in &code.part(*at).members {
            if seen.insert((member.kind, member.key.as_str())) {
                found.push((at.0, member));
            }
        }
    }
    found
}

/// How a path matches a symbol, best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MatchKind {
    Exact,
    /// The path is a suffix of the name.
    Suffix,
    Wildcard,
    /// The edit distance.
    Near(u8),
}

/// The result of resolving a path.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PathResolution {
    /// The symbol, if it is unambiguous.
    pub resolved: Option<Symbol>,
    /// All symbols that match equally well, the likeliest first.
    pub candidates: Vec<(Symbol, MatchKind)>,
    /// Whether the best of them is spelled as in the path, case included.
    pub is_case_exact: bool,
}

/// How the case of a path matches that of a name, best first. Case is compared before completeness: `Store` refers to every type
/// of that name rather than to a module that is called just `store`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum CaseMatch {
    Same,
    /// The case of the last part matches.
    SameAtEnd,
    Other,
}

/// Names with a larger edit distance are different words.
const MAX_DISTANCE: usize = 2;
/// In shorter names, two edits give an unrelated word.
const MIN_NEAR_LENGTH: usize = 4;

/// Symbols by name.
pub struct SymbolIndex<'a> {
    types: &'a [TypeNames],
    /// The lookup key of each type: its name in lower case, with `.` instead of `+` and without the number of type parameters.
    keys: Vec<String>,
    /// Types by the last part of their keys.
    by_end: FxHashMap<Box<str>, Vec<u32>>,
    members: FxHashMap<Box<str>, Vec<Symbol>>,
    /// When a type was last requested; larger is more recent.
    last_requested: &'a dyn Fn(TypeId) -> u64,
}

/// A parsed path.
struct ParsedPath {
    /// In the form of the keys.
    path: String,
    /// The same in its original case.
    original: String,
    /// The parameter types in brackets.
    signature: Option<String>,
    /// The number of type arguments of the last part, if given.
    arity: Option<u16>,
}

impl<'a> SymbolIndex<'a> {
    pub fn new(types: &'a [TypeNames], lately: &'a dyn Fn(TypeId) -> u64) -> SymbolIndex<'a> {
        let keys: Vec<String> = types.iter().map(|each| lookup_key(&each.name)).collect();
        let mut by_end: FxHashMap<Box<str>, Vec<u32>> = FxHashMap::default();
        let mut members: FxHashMap<Box<str>, Vec<Symbol>> = FxHashMap::default();
        for (of, each) in types.iter().enumerate() {
            by_end.entry(last_segment(&keys[of]).into()).or_default().push(of as u32);
            for (index, member) in each.members.iter().enumerate() {
                let symbol = Symbol { of: of as u32, member: Some(index as u32) };
                members.entry(member.name.to_lowercase().into()).or_default().push(symbol);
            }
        }
        SymbolIndex { types, keys, by_end, members, last_requested: lately }
    }

    /// Resolves a path. IDs are not paths: the caller resolves them.
    pub fn resolve_path(&self, path: &str) -> PathResolution {
        let Some(wanted) = parse_path(path) else { return PathResolution::default() };
        let mut candidates =
            if wanted.path.contains(['*', '?']) { self.by_pattern(&wanted) } else { self.by_name(&wanted) };
        if candidates.is_empty() {
            candidates = self.near_matches(&wanted);
        }
        let best = candidates.iter().map(|(_, fit)| *fit).min();
        candidates.retain(|(_, fit)| Some(*fit) == best);
        candidates.sort_by_cached_key(|(symbol, _)| self.rank_key(*symbol));
        candidates.dedup();
        let resolved = match &candidates[..] {
            [(symbol, MatchKind::Exact | MatchKind::Suffix | MatchKind::Wildcard)] => Some(*symbol),
            [(first, MatchKind::Exact | MatchKind::Suffix), rest @ ..] => {
                self.are_one_symbol(*first, rest, wanted.arity).then_some(*first)
            }
            _ => None,
        };
        let is_case_exact = candidates
            .first()
            .is_some_and(|(symbol, _)| self.match_case(*symbol, &wanted) == CaseMatch::Same);
        PathResolution { resolved, candidates, is_case_exact }
    }

    /// Whether all candidates are overloads of one member, or one type with different numbers of type parameters, of which the
    /// one without is meant unless the path says otherwise.
    fn are_one_symbol(&self, first: Symbol, rest: &[(Symbol, MatchKind)], arity: Option<u16>) -> bool {
        let names = |symbol: Symbol| (self.type_names(symbol), self.member_name(symbol).map(|it| &it.name));
        let (of, member) = names(first);
        rest.iter().all(|(other, _)| {
            let (other_of, other_member) = names(*other);
            match (member, other_member) {
                (Some(member), Some(other_member)) => other.of == first.of && member == other_member,
                (None, None) => {
                    arity.is_none()
                        && of.arity == 0
                        && other_of.arity > 0
                        && of.project == other_of.project
                        && normalise_name(&of.name) == normalise_name(&other_of.name)
                }
                _ => false,
            }
        })
    }

    /// Searches symbols whose names contain or start with a text, or nearly match it; types before members.
    pub fn search_text(&self, text: &str, limit: usize) -> Vec<(Symbol, MatchKind)> {
        let Some(wanted) = parse_path(text) else { return Vec::new() };
        let mut found = self.resolve_path(text).candidates;
        let is_pattern = wanted.path.contains(['*', '?']);
        let within = |name: &str| {
            name.contains(&wanted.path)
                || is_pattern && wildcard_matches(wanted.path.as_bytes(), name.as_bytes())
        };
        let types = self.keys.iter().enumerate().filter(|(_, key)| within(last_segment(key)));
        found.extend(types.map(|(of, _)| (Symbol { of: of as u32, member: None }, MatchKind::Wildcard)));
        let members = self.members.iter().filter(|(name, _)| within(name)).flat_map(|(_, all)| all);
        found.extend(members.map(|symbol| (*symbol, MatchKind::Wildcard)));
        let by_text = |symbol: &Symbol| !self.simple_name(*symbol).starts_with(&wanted.path);
        found.sort_by_cached_key(|(symbol, fit)| {
            (*fit, symbol.member.is_some(), by_text(symbol), self.rank_key(*symbol))
        });
        let mut seen = FxHashSet::default();
        found.retain(|(symbol, _)| seen.insert(*symbol));
        found.truncate(limit);
        found
    }

    /// The full name of a symbol, `A.B.Outer+Inner` or `A.B.Name.Member`.
    pub fn full_name(&self, symbol: Symbol) -> String {
        let name = &self.types[symbol.of as usize].name;
        match self.member_name(symbol) {
            Some(member) => format!("{name}.{}", member.key),
            None => name.clone(),
        }
    }

    pub fn type_names(&self, symbol: Symbol) -> &'a TypeNames {
        &self.types[symbol.of as usize]
    }

    fn member_name(&self, symbol: Symbol) -> Option<&'a MemberName> {
        symbol.member.map(|at| &self.type_names(symbol).members[at as usize])
    }

    fn simple_name(&self, symbol: Symbol) -> String {
        let of_type = || last_segment(&self.keys[symbol.of as usize]).to_owned();
        self.member_name(symbol).map_or_else(of_type, |member| member.name.to_lowercase())
    }

    /// Sort key for equally good matches: shallower namespace, more visible, more recently requested, shorter name.
    fn rank_key(&self, symbol: Symbol) -> (usize, Visibility, std::cmp::Reverse<u64>, usize, String) {
        let each = self.type_names(symbol);
        let depth = self.keys[symbol.of as usize].matches('.').count();
        let visibility = self.member_name(symbol).map_or(each.visibility, |member| member.visibility);
        let full = self.full_name(symbol);
        let key = format!("{full} {}", each.project);
        (depth, visibility, std::cmp::Reverse((self.last_requested)(each.id)), full.len(), key)
    }

    // ---- the ways a path can match

    fn by_name(&self, wanted: &ParsedPath) -> Vec<(Symbol, MatchKind)> {
        let mut found = Vec::new();
        if wanted.signature.is_none() {
            found.extend(
                self.matching_types(&wanted.path, wanted.arity)
                    .map(|(of, fit)| (Symbol { of, member: None }, fit)),
            );
        }
        let (outer, name) = split_last(&wanted.path);
        for symbol in self.members.get(name).into_iter().flatten() {
            let fits = match outer {
                Some(outer) => match_path(&self.keys[symbol.of as usize], outer),
                None => Some(MatchKind::Suffix),
            };
            if let Some(fit) = fits.filter(|_| self.has_signature(*symbol, wanted.signature.as_deref())) {
                found.push((*symbol, fit));
            }
        }
        let letters: Vec<CaseMatch> =
            found.iter().map(|(symbol, _)| self.match_case(*symbol, wanted)).collect();
        let best = letters.iter().min();
        let mut each = letters.iter();
        found.retain(|_| each.next() == best);
        // A constructor has the name of its type: a path with that name means the type.
        if found.iter().any(|(symbol, _)| symbol.member.is_none()) {
            found.retain(|(symbol, _)| symbol.member.is_none());
        }
        found
    }

    fn match_case(&self, symbol: Symbol, wanted: &ParsedPath) -> CaseMatch {
        let name = normalise_name(&self.type_names(symbol).name);
        let (outer, last) = split_last(&wanted.original);
        let (whole, at_end) = match self.member_name(symbol) {
            None => (match_path(&name, &wanted.original).is_some(), last_segment(&name) == last),
            Some(member) => {
                (outer.is_none_or(|outer| match_path(&name, outer).is_some()), member.name == last)
            }
        };
        match (whole, at_end) {
            (true, true) => CaseMatch::Same,
            (false, true) => CaseMatch::SameAtEnd,
            (_, false) => CaseMatch::Other,
        }
    }

    fn matching_types<'s>(
        &'s self,
        path: &'s str,
        arity: Option<u16>,
    ) -> impl Iterator<Item = (u32, MatchKind)> + 's {
        let ends = self.by_end.get(last_segment(path)).into_iter().flatten();
        let with = move |of: &&u32| arity.is_none_or(|arity| self.types[**of as usize].arity == arity);
        ends.filter(with).filter_map(move |of| Some((*of, match_path(&self.keys[*of as usize], path)?)))
    }

    fn by_pattern(&self, wanted: &ParsedPath) -> Vec<(Symbol, MatchKind)> {
        let types = self.keys.iter().enumerate().filter(|(_, key)| fits_pattern(&wanted.path, key));
        let mut found: Vec<(Symbol, MatchKind)> =
            types.map(|(of, _)| (Symbol { of: of as u32, member: None }, MatchKind::Wildcard)).collect();
        let (outer, name) = split_last(&wanted.path);
        let Some(outer) = outer else { return found };
        for (of, _) in self.keys.iter().enumerate().filter(|(_, key)| fits_pattern(outer, key)) {
            for (index, member) in self.types[of].members.iter().enumerate() {
                if wildcard_matches(name.as_bytes(), member.name.to_lowercase().as_bytes()) {
                    found.push((Symbol { of: of as u32, member: Some(index as u32) }, MatchKind::Wildcard));
                }
            }
        }
        found
    }

    /// Near matches, nearest only.
    fn near_matches(&self, wanted: &ParsedPath) -> Vec<(Symbol, MatchKind)> {
        let (outer, name) = split_last(&wanted.path);
        if name.len() < MIN_NEAR_LENGTH || name.contains(['*', '?']) {
            return Vec::new();
        }
        let near = |other: &str| edit_distance(name, other).map(|n| MatchKind::Near(n as u8));
        let mut found = Vec::new();
        for (ending, types) in &self.by_end {
            if let Some(fit) = near(ending) {
                found.extend(types.iter().map(|of| (Symbol { of: *of, member: None }, fit)));
            }
        }
        if outer.is_some() {
            for (other, members) in &self.members {
                if let Some(fit) = near(other) {
                    let of_that = |symbol: &&Symbol| {
                        outer.is_some_and(|outer| {
                            self::match_path(&self.keys[symbol.of as usize], outer).is_some()
                        })
                    };
                    found.extend(members.iter().filter(of_that).map(|symbol| (*symbol, fit)));
                }
            }
        }
        found
    }

    /// Whether a member has these parameter types.
    fn has_signature(&self, symbol: Symbol, signature: Option<&str>) -> bool {
        let (Some(signature), Some(member)) = (signature, self.member_name(symbol)) else {
            return signature.is_none();
        };
        let own = member.key.split_once('(').map_or("", |(_, rest)| rest.trim_end_matches(')'));
        let plain = |text: &str| text.to_lowercase().replace(' ', "");
        // `get(TypeToken)` means `get(TypeToken<T>)`
        plain(own) == plain(signature)
            || !signature.contains('<') && plain(&without_arguments(own).0) == plain(signature)
    }
}

/// The lookup key of a name: normalised and in lower case.
fn lookup_key(name: &str) -> String {
    normalise_name(name).chars().flat_map(char::to_lowercase).collect()
}

/// Normalises `A.B+C` and `A.B.C`, with or without the number of type parameters, to the same spelling.
fn normalise_name(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '+' => out.push('.'),
            '`' => while chars.next_if(char::is_ascii_digit).is_some() {},
            c => out.push(c),
        }
    }
    out
}

/// The words of a path, in its own case.
pub fn path_words(path: &str) -> Vec<String> {
    let words = parse_path(path).map(|wanted| wanted.original.replace('/', ".")).unwrap_or_default();
    words.split('.').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// The last word of a path, which a matching type or member must have as its name; `None` for a pattern.
pub fn last_word(path: &str) -> Option<String> {
    let wanted = parse_path(path)?;
    let last = last_segment(&wanted.path);
    (!wanted.path.contains(['*', '?'])).then(|| last.to_owned())
}

/// Parses a path; `None` if it is empty.
fn parse_path(path: &str) -> Option<ParsedPath> {
    let path = path.trim().trim_start_matches("global::");
    let (path, signature) = match path.split_once('(') {
        Some((path, rest)) => (path, Some(rest.trim_end().trim_end_matches(')').to_string())),
        None => (path, None),
    };
    let (plain, mut arity) = without_arguments(path);
    if let Some((_, digits)) = path.rsplit_once('`') {
        arity = digits.parse().ok().or(arity);
    }
    let spelled = normalise_name(&plain.replace("::", ".")).trim_matches('.').to_string();
    let path = lookup_key(&spelled);
    (!path.is_empty()).then_some(ParsedPath { path, original: spelled, signature, arity })
}

/// A path without type arguments, and the number of type arguments at its end, if there are any.
pub fn without_arguments(path: &str) -> (String, Option<u16>) {
    let (mut out, mut depth, mut commas, mut last) = (String::new(), 0, 0, None);
    for c in path.chars() {
        match c {
            '<' => {
                depth += 1;
                commas = if depth == 1 { 0 } else { commas };
            }
            '>' if depth > 0 => {
                depth -= 1;
                last = (depth == 0).then_some(commas + 1).or(last);
            }
            ',' if depth == 1 => commas += 1,
            _ if depth > 0 => {}
            c => {
                out.push(c);
                last = None;
            }
        }
    }
    (out, last)
}

/// The parts before and after the last dot.
fn split_last(path: &str) -> (Option<&str>, &str) {
    path.rsplit_once('.').map_or((None, path), |(outer, name)| (Some(outer), name))
}

fn last_segment(path: &str) -> &str {
    split_last(path).1
}

/// How a path matches a type's key: completely, or as a suffix that starts after a dot.
fn match_path(key: &str, path: &str) -> Option<MatchKind> {
    if key == path {
        return Some(MatchKind::Exact);
    }
    let before = key.strip_suffix(path)?;
    before.ends_with('.').then_some(MatchKind::Suffix)
}

/// Whether a pattern matches a key, or a suffix of it that starts after a dot.
fn fits_pattern(pattern: &str, key: &str) -> bool {
    let starts = std::iter::once(0).chain(key.match_indices('.').map(|(at, _)| at + 1));
    starts.into_iter().any(|at| wildcard_matches(pattern.as_bytes(), &key.as_bytes()[at..]))
}

/// The edit distance of two words (insertions, deletions, substitutions and transpositions); `None` if it exceeds two.
pub fn edit_distance(one: &str, other: &str) -> Option<usize> {
    if one.chars().count().abs_diff(other.chars().count()) > MAX_DISTANCE {
        return None;
    }
    Some(strsim::osa_distance(one, other)).filter(|distance| *distance <= MAX_DISTANCE)
}
