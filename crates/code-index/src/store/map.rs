//! A map of the tree: its most important types and functions, ranked by the graph, within a token budget.
//!
//! Does not know the terminal: the map is text, one file after the other.

use super::folders::is_below;
use super::table::Table;
use super::{Store, StoreError, is_test_path};
use code::count_tokens;
use code::{Certainty, Edge};
use code::{MemberSummary, SourceRange, TypeSummary};
use graph::rank_nodes;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use syntax::{MemberKind, TypeId, TypeKind};

/// A map within its budget.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeMap {
    pub text: String,
    pub tokens: u64,
    /// The types and functions shown, and all that could be.
    pub shown: u64,
    pub total: u64,
}

/// Importance of a type in a test or in generated code, compared with another.
const MINOR_WEIGHT: f64 = 0.05;
/// Importance of a type that only its project sees.
const HIDDEN_WEIGHT: f64 = 0.7;
/// What a mention in a test counts: tests show what is meant to be used, and mention their helpers a lot.
const TEST_MENTION: f64 = 0.3;
/// What a function counts, compared with a type without members, and how many a module can have.
const FUNCTION_WEIGHT: f64 = 2.0;
const MAX_FUNCTIONS: usize = 20;
/// Members shown of one type, and types considered at most: a larger map would not be read.
const MAX_MEMBERS: usize = 6;
const MAX_TYPES: usize = 2000;
/// How many members are shown of so many types, the most important first: a map is for finding where to look closer.
const DETAIL: &[(usize, usize)] = &[(4, MAX_MEMBERS), (12, 2), (usize::MAX, 0)];

impl Store {
    /// The most important symbols below a folder (all for an empty path) within a budget of tokens.
    pub fn map(&self, under: &str, budget: u64) -> Result<TreeMap, StoreError> {
        let entries = self.ranked_entries(under)?;
        let total = entries.len() as u64;
        // the largest number that fits: a map of more is longer
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
        Ok(TreeMap { tokens: count_tokens(&text) as u64, shown: fits as u64, total, text })
    }

    fn ranked_entries(&self, under: &str) -> Result<Vec<MapEntry>, StoreError> {
        let ranked = self.rank_tree(under)?;
        let mut found: Vec<(f64, MapEntry)> = Vec::new();
        let mut types = 0;
        for at in rank_order(&ranked).take(MAX_TYPES) {
            let rank = ranked.ranks[at];
            let Some(summary) = self.type_summary(ranked.ids[at])? else { continue };
            match summary.kind {
                TypeKind::Impl => {}
                TypeKind::Module => {
                    let functions = ranked.mentions.weigh_functions(&summary)?;
                    let total: f64 = functions.iter().map(|(weight, _)| weight).sum();
                    let is_shown =
                        |it: &MemberSummary| is_below(&summary.files[it.range.file as usize], under);
                    for (weight, function) in functions.into_iter().filter(|it| is_shown(it.1)) {
                        found.push((rank * weight / total, self.function_entry(&summary, function)));
                    }
                }
                _ => {
                    let detail = DETAIL.iter().find(|(most, _)| types < *most);
                    types += 1;
                    found
                        .extend(self.type_entry(&summary, detail.map_or(0, |it| it.1))?.map(|it| (rank, it)));
                }
            }
        }
        found.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        Ok(found.into_iter().map(|(_, entry)| entry).collect())
    }

    /// Ranks the types of the whole tree; the order has only those below a folder.
    pub(super) fn rank_tree(&self, under: &str) -> Result<RankedTree<'_>, StoreError> {
        let (ids, names): (Vec<TypeId>, Vec<String>) = self.types()?.into_iter().unzip();
        let mut files = vec![String::new(); ids.len()];
        let (mut own, mut below) = (vec![0.0; ids.len()], vec![false; ids.len()]);
        let mut names_alike: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mentions = Mentions::new(self)?;
        self.for_each_summary(|summary| {
            if let Ok(at) = ids.binary_search(&summary.id) {
                own[at] = mentions.weigh_type(&summary)?;
                // a type is shown in its first file, the functions of a module each in their own
                let places = if summary.kind == TypeKind::Module { summary.files.len() } else { 1 };
                below[at] = summary.files.iter().take(places).any(|file| is_below(file, under));
                if summary.kind != TypeKind::Module {
                    names_alike.entry(summary.simple_name).or_default().push(at);
                }
                files[at] = summary.files.into_iter().next().unwrap_or_default();
            }
            Ok(())
        })?;
        // a mention of `Builder` means one of them
        for alike in names_alike.values() {
            for at in alike {
                own[*at] /= (alike.len() as f64).sqrt();
            }
        }
        let edges = self.edges(&ids)?;
        let known = edges.iter().filter(|edge| edge.certainty < Certainty::Possible);
        let ranks =
            rank_nodes(ids.len(), known.map(|edge| (edge.from, edge.to, edge.references)), |of| own[of]);
        let mut order: Vec<usize> = (0..ids.len()).filter(|at| below[*at]).collect();
        order.sort_by(|one, other| ranks[*other].total_cmp(&ranks[*one]).then(ids[*one].cmp(&ids[*other])));
        Ok(RankedTree { ids, names, files, edges, order, ranks, mentions })
    }

    /// A type with some of its members in the file of its first declaration.
    fn type_entry(&self, of: &TypeSummary, members: usize) -> Result<Option<MapEntry>, StoreError> {
        let Some(range) = of.parts.first() else { return Ok(None) };
        let file = of.files[range.file as usize].clone();
        let text = self.read_text(&file);
        let mut lines = vec![line_of(&text, range, "")];
        for member in self.leading_members(of, members)? {
            if of.files[member.range.file as usize] == file {
                lines.push(line_of(&text, &member.range, "  "));
            }
        }
        Ok(Some(MapEntry { file, lines }))
    }

    fn function_entry(&self, of: &TypeSummary, function: &MemberSummary) -> MapEntry {
        let file = of.files[function.range.file as usize].clone();
        let lines = vec![line_of(&self.read_text(&file), &function.range, "")];
        MapEntry { file, lines }
    }

    /// The public members that most files mention, in source order.
    fn leading_members<'s>(
        &self,
        of: &'s TypeSummary,
        most: usize,
    ) -> Result<Vec<&'s MemberSummary>, StoreError> {
        let table = Table::new(&self.db);
        let mut known: Vec<(u64, &MemberSummary)> = Vec::new();
        for member in of.members.iter().filter(|member| is_shown(member)) {
            if known.iter().all(|(_, other)| other.name != member.name) {
                known.push((table.mention_count(&member.name)?, member));
            }
        }
        known.sort_by_key(|(files, member)| (Reverse(*files), member.range.span.from));
        known.truncate(most);
        known.sort_by_key(|(_, member)| (member.range.file, member.range.span.from));
        Ok(known.into_iter().map(|(_, member)| member).collect())
    }
}

/// A line of the map, with its number in the file.
fn line_of(text: &str, range: &SourceRange, indent: &str) -> (usize, String) {
    let before = text.get(..range.signature.from as usize).unwrap_or_default();
    let shown = super::locate::one_line(range.signature.text_in(text));
    (1 + before.matches('\n').count(), format!("{indent}{shown}"))
}

/// Whether a map shows a member: others see it, and it has a name of its own.
fn is_shown(member: &MemberSummary) -> bool {
    member.visibility.is_visible_outside()
        && !matches!(member.kind, MemberKind::Constructor | MemberKind::Destructor)
        && !member.name.starts_with("__")
        && member.name != "_"
}

/// Weighs types by the files that mention them.
pub(super) struct Mentions<'a> {
    table: Table<'a>,
    /// Each file, and what a mention in it counts.
    files: FxHashMap<i64, (String, f64)>,
    ids: FxHashMap<String, i64>,
}

impl<'a> Mentions<'a> {
    fn new(store: &'a Store) -> Result<Mentions<'a>, StoreError> {
        let table = Table::new(&store.db);
        let (mut files, mut ids) = (FxHashMap::default(), FxHashMap::default());
        for (path, row) in table.files()? {
            let weight = if is_minor_path(&path) { TEST_MENTION } else { 1.0 };
            files.insert(row.id, (path.clone(), weight));
            ids.insert(path, row.id);
        }
        Ok(Mentions { table, files, ids })
    }

    /// What a type counts by itself: how many files mention it, and how much it has to offer. Chosen on 60 symbols of three
    /// repositories and compared on 60 of others: `quality map`.
    fn weigh_type(&self, of: &TypeSummary) -> Result<f64, StoreError> {
        let first = of.files.first().map_or("", String::as_str);
        let weight = if of.kind == TypeKind::Module {
            self.weigh_functions(of)?.iter().map(|(weight, _)| weight).sum()
        } else {
            let mentions = self.weigh_name(&of.simple_name, &self.scope_of(of))?;
            let weight = mentions * (1.0 + of.members.len() as f64);
            if is_minor_path(first) { MINOR_WEIGHT * weight } else { weight }
        };
        let hidden = if of.visibility.is_visible_outside() { 1.0 } else { HIDDEN_WEIGHT };
        Ok(weight * hidden * if of.generated { MINOR_WEIGHT } else { 1.0 })
    }

    /// The leading functions of a module, with what each counts.
    fn weigh_functions<'s>(&self, of: &'s TypeSummary) -> Result<Vec<(f64, &'s MemberSummary)>, StoreError> {
        // packages of constants have ten thousand members
        let (mut found, mut names, scope) = (Vec::new(), FxHashSet::default(), self.scope_of(of));
        for member in of.members.iter().filter(|member| is_shown(member)) {
            if names.insert(&member.name) {
                let weight = FUNCTION_WEIGHT * self.weigh_name(&member.name, &scope)?;
                let is_minor = is_minor_path(&of.files[member.range.file as usize]);
                found.push((if is_minor { MINOR_WEIGHT * weight } else { weight }, member));
            }
        }
        found.sort_by(|(one, _): &(f64, _), (other, _)| other.total_cmp(one));
        found.truncate(MAX_FUNCTIONS);
        Ok(found)
    }

    /// Where mentions of a type and its members count.
    fn scope_of<'s>(&self, of: &'s TypeSummary) -> MentionScope<'s> {
        let own = of.files.iter().filter_map(|path| self.ids.get(path).copied()).collect();
        let first = of.files.first().map_or("", String::as_str);
        // elsewhere, the name of something private means something else: `struct Debug` is not what `derive(Debug)` names
        let is_hidden = !of.visibility.is_visible_outside();
        let folder = if is_hidden { first.rsplit_once('/').map_or("", |(folder, _)| folder) } else { "" };
        MentionScope { own, folder }
    }

    /// What the mentions of a name count together.
    fn weigh_name(&self, name: &str, scope: &MentionScope<'_>) -> Result<f64, StoreError> {
        let found = self.table.files_mentioning(name)?;
        let others = found.iter().filter(|file| !scope.own.contains(file));
        let known = others.filter_map(|file| self.files.get(file));
        let weights = known.filter(|(path, _)| is_below(path, scope.folder)).map(|(_, weight)| weight);
        Ok((TEST_MENTION + weights.sum::<f64>()).sqrt())
    }
}

/// The files whose mentions of a name count: those below a folder, without the own ones.
struct MentionScope<'s> {
    own: FxHashSet<i64>,
    folder: &'s str,
}

/// Whether a file is beside the point of its repository: tests, examples, measurements.
fn is_minor_path(path: &str) -> bool {
    let is_word = |folder: &str| {
        let folder = folder.trim_start_matches('_').to_lowercase();
        MINOR_FOLDERS.contains(&&*folder)
    };
    let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
    is_test_path(path) || folders.split('/').any(is_word)
}

/// Folders whose code shows or measures the rest.
const MINOR_FOLDERS: &[&str] = &[
    "bench",
    "benches",
    "benchmark",
    "benchmarks",
    "demo",
    "demos",
    "doc",
    "docs",
    "example",
    "examples",
    "fixtures",
    "sample",
    "samples",
    "testdata",
];

/// The types of a tree: IDs, names, first files, ranks and edges by position, and the positions of some, the most important first.
pub(super) struct RankedTree<'a> {
    pub(super) ids: Vec<TypeId>,
    pub(super) names: Vec<String>,
    pub(super) files: Vec<String>,
    pub(super) edges: Vec<Edge>,
    order: Vec<usize>,
    ranks: Vec<f64>,
    mentions: Mentions<'a>,
}

pub(super) fn rank_order<'a>(of: &'a RankedTree<'_>) -> impl Iterator<Item = usize> + 'a {
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
