//! Finds the types that may be relevant to a question by matching its words against names, with outline, note and usages.
//!
//! Does not answer the question.

use super::super::code_query::CodeQuery;
use super::super::{notes, usages};
use api::Error;
use api::code::{Coverage, Exhibit};
use code::{Certainty, Digest, Named, Note, Symbol, investigation};
use history::scope;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Component, Path, PathBuf};

/// As many types as fit into a prompt of about 4,000 tokens.
const SHOWN: usize = 6;
/// How many candidates are checked for being tests.
const WEIGHED: usize = 30;
/// Only the first types get usages: finding them is the slow part.
const WITH_USAGES: usize = 4;
const USAGES: usize = 3;
const MOST_OF_OUTLINE: usize = 1_500;

pub(super) struct Evidence {
    pub(super) looked_at: usize,
    pub(super) exhibits: Vec<Exhibit>,
    pub(super) coverage: Coverage,
}

/// Resolves scope paths to type IDs. A path is a type, a member, a namespace, a folder or a source file.
pub(super) fn scoped(query: &CodeQuery<'_>, scope: &[String]) -> Result<Vec<String>, Error> {
    let mut found = BTreeSet::new();
    for path in scope {
        let low = path.to_lowercase();
        let below = |name: &str| {
            let name = name.to_lowercase();
            name == low || name.strip_prefix(&low).is_some_and(|rest| rest.starts_with(['.', '+']))
        };
        let place = place(query, path);
        let within = |file: &String| place.as_ref().is_some_and(|place| Path::new(file).starts_with(place));
        let is_within = |of: u32| query.card(of).is_some_and(|card| card.files.iter().any(within));
        let mut fit: Vec<u32> = (0..query.types())
            .filter(|of| below(&query.name(*of)) || place.is_some() && is_within(*of))
            .collect();
        if fit.is_empty() {
            fit.push(query.one_type(path)?);
        }
        found.extend(fit.into_iter().map(|of| query.id(of)));
    }
    Ok(found.into_iter().collect())
}

/// Resolves a path to a folder or file below the root, if it is one; `./src`, `.` and absolute paths work too.
fn place(query: &CodeQuery<'_>, path: &str) -> Option<PathBuf> {
    let whole = query.root().join(path);
    let real = scope::real(&whole);
    let below = whole.strip_prefix(query.root()).or_else(|_| real.strip_prefix(query.root())).ok()?;
    whole.exists().then(|| below.components().filter(|part| *part != Component::CurDir).collect())
}

/// Hash of the structure of all types in scope.
pub(super) fn basis(query: &CodeQuery<'_>, within: Option<&[String]>) -> Digest {
    let mut basis = String::new();
    query.had(query.store().each_card(|card| {
        let id = card.id.to_string();
        if within.is_none_or(|ids| ids.binary_search(&id).is_ok()) {
            let _ = writeln!(basis, "{id} {}", card.hashes.hashes.structure.0); // writing to a String does not fail
        }
        Ok(())
    }));
    Digest::of(basis.as_bytes())
}

/// Gathers evidence about the best matches. If no word matches, the most used types of the scope are taken.
pub(super) fn gather(query: &CodeQuery<'_>, question: &str, within: Option<&[String]>) -> Evidence {
    let all = query.had(query.store().all_names());
    let inside = |named: &Named| within.is_none_or(|ids| ids.binary_search(&named.id.to_string()).is_ok());
    let types: Vec<Named> = all.into_iter().filter(inside).collect();
    let mut best: Vec<u32> = investigation::rank(&investigation::words(question), &types)
        .into_iter()
        .take(WEIGHED)
        .filter_map(|at| query.number(&types[at].id.to_string()))
        .collect();
    // Stable sort: a tested type says more than its tests, whose names contain the type's name.
    best.sort_by_key(|of| query.tags(*of).contains(&"test"));
    best.truncate(SHOWN);
    if best.is_empty() && within.is_some() {
        let mut by_use: Vec<u32> =
            types.iter().filter_map(|named| query.number(&named.id.to_string())).collect();
        by_use.sort_by_key(|of| (std::cmp::Reverse(query.used_by(*of)), query.name(*of)));
        best.extend(by_use.into_iter().take(SHOWN));
    }
    let exhibits = best.iter().enumerate().map(|(at, of)| exhibit(query, *of, at < WITH_USAGES)).collect();
    Evidence { looked_at: types.len(), exhibits, coverage: query.coverage() }
}

/// The full names of a type and its members.
pub(super) fn names(query: &CodeQuery<'_>, of: u32) -> Vec<String> {
    let name = query.name(of);
    let members = query.card(of).map(|card| card.members.clone()).unwrap_or_default();
    let called = members
        .iter()
        .flat_map(|member| [format!("{name}.{}", member.name), format!("{name}.{}", member.key)]);
    called.chain([name.clone()]).collect()
}

fn exhibit(query: &CodeQuery<'_>, of: u32, with_usages: bool) -> Exhibit {
    let symbol = Symbol { of, member: None };
    let note = query.folder().and_then(|folder| notes::read(query, &folder, of));
    let note = note.map(|note| {
        let stale = note.standing(query, of).0 != Note::Cached;
        let before = if stale { "(written before the type was changed)\n" } else { "" };
        format!("{before}{}", note.body())
    });
    Exhibit {
        symbol: query.told(symbol),
        outline: shortened(&query.outline(of)),
        note,
        usages: if with_usages { used(query, symbol) } else { Vec::new() },
    }
}

fn used(query: &CodeQuery<'_>, symbol: Symbol) -> Vec<api::code::Usage> {
    let mut all = query.mentions(symbol);
    let own = query.card(symbol.of).map(|card| card.files.clone()).unwrap_or_default();
    all.retain(|each| each.certainty != Certainty::Possible && !own.contains(&each.file));
    all.sort_by(|one, other| {
        (one.certainty, &one.file, one.at).cmp(&(other.certainty, &other.file, other.at))
    });
    all.iter().take(USAGES).map(|each| usages::told(query, each)).collect()
}

fn shortened(outline: &str) -> String {
    let cut = outline.floor_char_boundary(MOST_OF_OUTLINE);
    if cut == outline.len() {
        return outline.trim_end().to_string();
    }
    let whole = outline[..cut].rfind('\n').unwrap_or(cut);
    format!("{}\n…", &outline[..whole])
}
