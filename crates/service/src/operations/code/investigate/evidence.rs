//! Finds the types that may be relevant to a question by matching its words against names, with outline, note and usages.
//!
//! Does not answer the question.

use super::super::code_query::CodeQuery;
use super::super::{notes, usages};
use api::Error;
use api::code::{Coverage, EvidenceItem};
use code::{Certainty, Digest, NoteStatus, Symbol, TypeNames, investigation};
use history::scope;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Component, Path, PathBuf};

/// As many types as fit into a prompt of about 4,000 tokens.
const MAX_EXHIBITS: usize = 6;
/// How many candidates are checked for being tests.
const MAX_CANDIDATES: usize = 30;
/// Only the first types get usages: finding them is the slow part.
const WITH_USAGES: usize = 4;
const MAX_USAGES: usize = 3;
const MAX_OUTLINE_BYTES: usize = 1_500;

pub(super) struct Evidence {
    pub(super) looked_at: usize,
    pub(super) exhibits: Vec<EvidenceItem>,
    pub(super) coverage: Coverage,
}

/// Resolves scope paths to type IDs. A path is a type, a member, a namespace, a folder or a source file.
pub(super) fn resolve_scope(query: &CodeQuery<'_>, scope: &[String]) -> Result<Vec<String>, Error> {
    let mut found = BTreeSet::new();
    for path in scope {
        let low = path.to_lowercase();
        let below = |name: &str| {
            let name = name.to_lowercase();
            name == low || name.strip_prefix(&low).is_some_and(|rest| rest.starts_with(['.', '+']))
        };
        let place = path_in_tree(query, path);
        let within = |file: &String| place.as_ref().is_some_and(|place| Path::new(file).starts_with(place));
        let is_within = |of: u32| query.card(of).is_some_and(|card| card.files.iter().any(within));
        let mut fit: Vec<u32> = (0..query.number_all_types())
            .filter(|of| below(&query.name(*of)) || place.is_some() && is_within(*of))
            .collect();
        if fit.is_empty() {
            fit.push(query.resolve_type(path)?);
        }
        found.extend(fit.into_iter().map(|of| query.id(of)));
    }
    Ok(found.into_iter().collect())
}

/// Resolves a path to a folder or file below the root, if it is one; `./src`, `.` and absolute paths work too.
fn path_in_tree(query: &CodeQuery<'_>, path: &str) -> Option<PathBuf> {
    let whole = query.root().join(path);
    let real = scope::canonical_path(&whole);
    let below = whole.strip_prefix(query.root()).or_else(|_| real.strip_prefix(query.root())).ok()?;
    whole.exists().then(|| below.components().filter(|part| *part != Component::CurDir).collect())
}

/// Hash of the structure of all types in scope.
pub(super) fn structure_digest(query: &CodeQuery<'_>, within: Option<&[String]>) -> Digest {
    let mut basis = String::new();
    query.or_record_error(query.store().for_each_summary(|card| {
        let id = card.id.to_string();
        if within.is_none_or(|ids| ids.binary_search(&id).is_ok()) {
            let _ = writeln!(basis, "{id} {}", card.hashes.hashes.structure.0); // writing to a String does not fail
        }
        Ok(())
    }));
    Digest::of_bytes(basis.as_bytes())
}

/// Gathers evidence about the best matches. If no word matches, the most used types of the scope are taken.
pub(super) fn gather_evidence(query: &CodeQuery<'_>, question: &str, within: Option<&[String]>) -> Evidence {
    let all = query.or_record_error(query.store().all_names());
    let inside =
        |named: &TypeNames| within.is_none_or(|ids| ids.binary_search(&named.id.to_string()).is_ok());
    let types: Vec<TypeNames> = all.into_iter().filter(inside).collect();
    let mut best: Vec<u32> = investigation::rank_types(&investigation::search_terms(question), &types)
        .into_iter()
        .take(MAX_CANDIDATES)
        .filter_map(|at| query.type_by_id(&types[at].id.to_string()))
        .collect();
    // Stable sort: a tested type says more than its tests, whose names contain the type's name.
    best.sort_by_key(|of| query.file_kinds(*of).contains(&"test"));
    best.truncate(MAX_EXHIBITS);
    if best.is_empty() && within.is_some() {
        let mut by_use: Vec<u32> =
            types.iter().filter_map(|named| query.type_by_id(&named.id.to_string())).collect();
        by_use.sort_by_key(|of| (std::cmp::Reverse(query.user_count(*of)), query.name(*of)));
        best.extend(by_use.into_iter().take(MAX_EXHIBITS));
    }
    let exhibits =
        best.iter().enumerate().map(|(at, of)| make_exhibit(query, *of, at < WITH_USAGES)).collect();
    Evidence { looked_at: types.len(), exhibits, coverage: query.coverage() }
}

/// The full names of a type and its members.
pub(super) fn symbol_names(query: &CodeQuery<'_>, of: u32) -> Vec<String> {
    let name = query.name(of);
    let members = query.card(of).map(|card| card.members.clone()).unwrap_or_default();
    let called = members
        .iter()
        .flat_map(|member| [format!("{name}.{}", member.name), format!("{name}.{}", member.key)]);
    called.chain([name.clone()]).collect()
}

fn make_exhibit(query: &CodeQuery<'_>, of: u32, with_usages: bool) -> EvidenceItem {
    let symbol = Symbol { of, member: None };
    let note = query.folder().and_then(|folder| notes::read_note(query, &folder, of));
    let note = note.map(|note| {
        let stale = note.current_state(query, of).0 != NoteStatus::Cached;
        let before = if stale { "(written before the type was changed)\n" } else { "" };
        format!("{before}{}", note.content.body())
    });
    EvidenceItem {
        symbol: query.symbol_ref(symbol),
        outline: truncate_outline(&query.outline(of)),
        note,
        usages: if with_usages { find_usages(query, symbol) } else { Vec::new() },
    }
}

fn find_usages(query: &CodeQuery<'_>, symbol: Symbol) -> Vec<api::code::Usage> {
    let mut all = query.find_related(symbol, code_index::Relation::Usages, 1);
    let own = query.card(symbol.of).map(|card| card.files.clone()).unwrap_or_default();
    all.retain(|each| each.certainty != Certainty::Possible && !own.contains(&each.file));
    all.sort_by(|one, other| {
        (one.certainty, &one.file, one.at).cmp(&(other.certainty, &other.file, other.at))
    });
    all.iter().take(MAX_USAGES).map(|each| usages::to_usage(query, each)).collect()
}

fn truncate_outline(outline: &str) -> String {
    let cut = outline.floor_char_boundary(MAX_OUTLINE_BYTES);
    if cut == outline.len() {
        return outline.trim_end().to_string();
    }
    let whole = outline[..cut].rfind('\n').unwrap_or(cut);
    format!("{}\n…", &outline[..whole])
}
