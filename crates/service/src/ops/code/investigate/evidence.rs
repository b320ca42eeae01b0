//! What in a code base may have to do with a question: the types whose names have its words in them, with what is known of each.
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

/// As many as fit into a prompt of some 4,000 tokens.
const SHOWN: usize = 6;
/// Of so many it is looked which are tests.
const WEIGHED: usize = 30;
/// Finding who mentions a type is the slow part.
const WITH_USAGES: usize = 4;
const USAGES: usize = 3;
const MOST_OF_OUTLINE: usize = 1_500;

pub(super) struct Evidence {
    pub(super) looked_at: usize,
    pub(super) exhibits: Vec<Exhibit>,
    pub(super) coverage: Coverage,
}

/// The types that paths mean: a type or a member's type, a namespace, a folder or a file of source.
pub(super) fn scoped(desk: &CodeQuery<'_>, scope: &[String]) -> Result<Vec<String>, Error> {
    let mut found = BTreeSet::new();
    for path in scope {
        let low = path.to_lowercase();
        let below = |name: &str| {
            let name = name.to_lowercase();
            name == low || name.strip_prefix(&low).is_some_and(|rest| rest.starts_with(['.', '+']))
        };
        let place = place(desk, path);
        let within = |file: &String| place.as_ref().is_some_and(|place| Path::new(file).starts_with(place));
        let lies = |of: u32| desk.card(of).is_some_and(|card| card.files.iter().any(within));
        let mut fit: Vec<u32> =
            (0..desk.types()).filter(|of| below(&desk.name(*of)) || place.is_some() && lies(*of)).collect();
        if fit.is_empty() {
            fit.push(desk.one_type(path)?);
        }
        found.extend(fit.into_iter().map(|of| desk.id(of)));
    }
    Ok(found.into_iter().collect())
}

/// The folder or file below the root that a path leads to, if it does: `./src`, `.` and a whole path are ways to name one as well.
fn place(desk: &CodeQuery<'_>, path: &str) -> Option<PathBuf> {
    let whole = desk.root().join(path);
    let real = scope::real(&whole);
    let below = whole.strip_prefix(desk.root()).or_else(|_| real.strip_prefix(desk.root())).ok()?;
    whole.exists().then(|| below.components().filter(|part| *part != Component::CurDir).collect())
}

/// The structure of everything that is looked at, in a number.
pub(super) fn basis(desk: &CodeQuery<'_>, within: Option<&[String]>) -> Digest {
    let mut told = String::new();
    desk.had(desk.store().each_card(|card| {
        let id = card.id.to_string();
        if within.is_none_or(|ids| ids.binary_search(&id).is_ok()) {
            let _ = writeln!(told, "{id} {}", card.hashes.hashes.structure.0); // writing to a String does not fail
        }
        Ok(())
    }));
    Digest::of(told.as_bytes())
}

/// What is known of the types that fit best. Where no word fits, what was named as the scope speaks for itself.
pub(super) fn gather(desk: &CodeQuery<'_>, question: &str, within: Option<&[String]>) -> Evidence {
    let all = desk.had(desk.store().all_names());
    let inside = |named: &Named| within.is_none_or(|ids| ids.binary_search(&named.id.to_string()).is_ok());
    let types: Vec<Named> = all.into_iter().filter(inside).collect();
    let mut best: Vec<u32> = investigation::rank(&investigation::words(question), &types)
        .into_iter()
        .take(WEIGHED)
        .filter_map(|at| desk.number(&types[at].id.to_string()))
        .collect();
    // Stable: what is tested says more than its tests, which are called the same and more.
    best.sort_by_key(|of| desk.tags(*of).contains(&"test"));
    best.truncate(SHOWN);
    if best.is_empty() && within.is_some() {
        let mut by_use: Vec<u32> =
            types.iter().filter_map(|named| desk.number(&named.id.to_string())).collect();
        by_use.sort_by_key(|of| (std::cmp::Reverse(desk.used_by(*of)), desk.name(*of)));
        best.extend(by_use.into_iter().take(SHOWN));
    }
    let exhibits = best.iter().enumerate().map(|(at, of)| exhibit(desk, *of, at < WITH_USAGES)).collect();
    Evidence { looked_at: types.len(), exhibits, coverage: desk.coverage() }
}

/// Full names of a type and its members.
pub(super) fn names(desk: &CodeQuery<'_>, of: u32) -> Vec<String> {
    let name = desk.name(of);
    let members = desk.card(of).map(|card| card.members.clone()).unwrap_or_default();
    let called = members
        .iter()
        .flat_map(|member| [format!("{name}.{}", member.name), format!("{name}.{}", member.key)]);
    called.chain([name.clone()]).collect()
}

fn exhibit(desk: &CodeQuery<'_>, of: u32, with_usages: bool) -> Exhibit {
    let symbol = Symbol { of, member: None };
    let note = desk.folder().and_then(|folder| notes::read(desk, &folder, of));
    let note = note.map(|note| {
        let stale = note.standing(desk, of).0 != Note::Cached;
        let before = if stale { "(written before the type was changed)\n" } else { "" };
        format!("{before}{}", note.body())
    });
    Exhibit {
        symbol: desk.told(symbol),
        outline: shortened(&desk.outline(of)),
        note,
        usages: if with_usages { used(desk, symbol) } else { Vec::new() },
    }
}

fn used(desk: &CodeQuery<'_>, symbol: Symbol) -> Vec<api::code::Usage> {
    let mut all = desk.mentions(symbol);
    let own = desk.card(symbol.of).map(|card| card.files.clone()).unwrap_or_default();
    all.retain(|each| each.certainty != Certainty::Possible && !own.contains(&each.file));
    all.sort_by(|one, other| {
        (one.certainty, &one.file, one.at).cmp(&(other.certainty, &other.file, other.at))
    });
    all.iter().take(USAGES).map(|each| usages::told(desk, each)).collect()
}

fn shortened(outline: &str) -> String {
    let cut = outline.floor_char_boundary(MOST_OF_OUTLINE);
    if cut == outline.len() {
        return outline.trim_end().to_string();
    }
    let whole = outline[..cut].rfind('\n').unwrap_or(cut);
    format!("{}\n…", &outline[..whole])
}
