//! A map of the tree: its most important types with their members, ranked by the graph, within a token budget.
//!
//! Does not know the terminal: the map is text, one file after the other.

use super::folders::is_below;
use super::table::Table;
use super::{Store, StoreError, is_test_path};
use code::count_tokens;
use code::{Certainty, Edge};
use code::{MemberSummary, TypeSummary};
use graph::rank_nodes;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use syntax::{MemberKind, TypeId, TypeKind};

/// A map within its budget.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeMap {
    pub text: String,
    pub tokens: u64,
    /// The types shown, and all that could be.
    pub shown: u64,
    pub types: u64,
}

/// Importance that a type in a test or in generated code has by itself.
const MINOR_WEIGHT: f64 = 0.05;
/// Members shown of one type, and types considered at most: a larger map would not be read.
const MAX_MEMBERS: usize = 6;
const MAX_TYPES: usize = 2000;

impl Store {
    /// The most important types below a folder (all for an empty path) within a budget of tokens.
    pub fn map(&self, under: &str, budget: u64) -> Result<TreeMap, StoreError> {
        let entries = self.ranked_entries(under)?;
        let types = entries.len() as u64;
        // the largest number of types that fits: a map of more types is longer
        let (mut fits, mut exceeds) = (0, entries.len() + 1);
        while exceeds - fits > 1 {
            let middle = usize::midpoint(fits, exceeds);
            if count_tokens(&layout(&entries[..middle])) as u64 <= budget {
                fits = middle;
            } else {
                exceeds = middle;
            }
        }
        let text = layout(&entries[..fits]);
        Ok(TreeMap { tokens: count_tokens(&text) as u64, shown: fits as u64, types, text })
    }

    fn ranked_entries(&self, under: &str) -> Result<Vec<MapEntry>, StoreError> {
        let ranked = self.rank_tree(under)?;
        let mut entries = Vec::new();
        for at in rank_order(&ranked).take(MAX_TYPES) {
            if let Some(summary) = self.type_summary(ranked.ids[at])? {
                entries.extend(self.map_entry(&summary)?);
            }
        }
        Ok(entries)
    }

    /// Ranks the types of the whole tree; the order has only those below a folder.
    pub(super) fn rank_tree(&self, under: &str) -> Result<RankedTree, StoreError> {
        let (ids, names): (Vec<TypeId>, Vec<String>) = self.types()?.into_iter().unzip();
        let mut files = vec![String::new(); ids.len()];
        let mut minor = vec![false; ids.len()];
        self.for_each_summary(|summary| {
            if let Ok(at) = ids.binary_search(&summary.id) {
                files[at] = summary.files.first().cloned().unwrap_or_default();
                minor[at] = summary.generated || is_test_path(&files[at]);
            }
            Ok(())
        })?;
        let edges = self.edges(&ids)?;
        let known = edges.iter().filter(|edge| edge.certainty < Certainty::Possible);
        let ranks = rank_nodes(ids.len(), known.map(|edge| (edge.from, edge.to, edge.references)), |of| {
            if minor[of] { MINOR_WEIGHT } else { 1.0 }
        });
        let mut order: Vec<usize> = (0..ids.len()).filter(|at| is_below(&files[*at], under)).collect();
        order.sort_by(|one, other| ranks[*other].total_cmp(&ranks[*one]).then(ids[*one].cmp(&ids[*other])));
        Ok(RankedTree { ids, names, files, edges, order })
    }

    /// The lines of one type; `None` for a module that shows nothing.
    fn map_entry(&self, of: &TypeSummary) -> Result<Option<MapEntry>, StoreError> {
        let Some(range) = of.parts.first() else { return Ok(None) };
        let file = of.files[range.file as usize].clone();
        let text = self.read_text(&file);
        let line = |at: u32| 1 + text.get(..at as usize).map_or(0, |before| before.matches('\n').count());
        let mut lines = Vec::new();
        let indent = if of.kind == TypeKind::Module { "" } else { "  " };
        if of.kind != TypeKind::Module {
            let shown = super::locate::one_line(range.signature.text_in(&text));
            lines.push((line(range.signature.from), shown));
        }
        for member in self.leading_members(of)? {
            if of.files[member.range.file as usize] == file {
                let shown = super::locate::one_line(member.range.signature.text_in(&text));
                lines.push((line(member.range.signature.from), format!("{indent}{shown}")));
            }
        }
        Ok((!lines.is_empty()).then_some(MapEntry { file, lines }))
    }

    /// The public members that most files mention, in source order.
    fn leading_members<'s>(&self, of: &'s TypeSummary) -> Result<Vec<&'s MemberSummary>, StoreError> {
        let table = Table::new(&self.db);
        let is_shown = |member: &&MemberSummary| {
            member.visibility.is_visible_outside()
                && !matches!(member.kind, MemberKind::Constructor | MemberKind::Destructor)
                && !member.name.starts_with("__")
        };
        let mut known: Vec<(u64, &MemberSummary)> = Vec::new();
        for member in of.members.iter().filter(is_shown) {
            if known.iter().all(|(_, other)| other.name != member.name) {
                known.push((table.mention_count(&member.name)?, member));
            }
        }
        known.sort_by_key(|(files, member)| (Reverse(*files), member.range.span.from));
        known.truncate(MAX_MEMBERS);
        known.sort_by_key(|(_, member)| (member.range.file, member.range.span.from));
        Ok(known.into_iter().map(|(_, member)| member).collect())
    }
}

/// The types of a tree: IDs, names, first files and edges by position, and the positions of some, the most important first.
pub(super) struct RankedTree {
    pub(super) ids: Vec<TypeId>,
    pub(super) names: Vec<String>,
    pub(super) files: Vec<String>,
    pub(super) edges: Vec<Edge>,
    order: Vec<usize>,
}

pub(super) fn rank_order(of: &RankedTree) -> impl Iterator<Item = usize> {
    of.order.iter().copied()
}

/// One type in a map: its file, and lines with their numbers.
struct MapEntry {
    file: String,
    lines: Vec<(usize, String)>,
}

/// Groups entries by file; the file of the most important type comes first.
fn layout(entries: &[MapEntry]) -> String {
    let mut order: Vec<&str> = Vec::new();
    let mut files: BTreeMap<&str, Vec<&(usize, String)>> = BTreeMap::new();
    for entry in entries {
        if !files.contains_key(entry.file.as_str()) {
            order.push(&entry.file);
        }
        files.entry(&entry.file).or_default().extend(&entry.lines);
    }
    let mut out = String::new();
    for file in order {
        let _ = writeln!(out, "{file}");
        let mut lines = files.remove(file).unwrap_or_default();
        lines.sort();
        lines.dedup();
        for (line, shown) in lines {
            let _ = writeln!(out, "{line:>6}  {shown}");
        }
    }
    out
}
