//! The packages of a tree: its folders with their sizes and the dependencies between them.
//!
//! Does not know how they are drawn.

use super::folders::is_below;
use super::map::rank_order;
use super::{Store, StoreError, is_test_path};
use code::{Certainty, Edge};
use graph::Graph;
use std::collections::BTreeMap;

/// A folder with source files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Package {
    pub path: String,
    pub files: u64,
    pub lines: u64,
    /// All types, and the names of the most important ones.
    pub types: u64,
    pub leading: Vec<String>,
    pub is_test: bool,
    /// 0 for a package that uses no other; otherwise one more than the highest that it uses.
    pub layer: u64,
    /// Packages that use each other have the same number.
    pub cycle: Option<u64>,
    /// Position of each package that it uses, and the number of references.
    pub uses: Vec<(usize, u64)>,
}

/// More are not told apart in a picture: deeper folders count as part of the folder above.
const MAX_PACKAGES: usize = 300;
const MAX_LEADING: usize = 12;

impl Store {
    /// The packages below a folder (all for an empty path), by path.
    pub fn packages(&self, under: &str) -> Result<Vec<Package>, StoreError> {
        let mut files = self.files()?;
        files.retain(|(path, _)| is_below(path, under));
        let depth = find_depth(&files);
        let mut found: BTreeMap<&str, Package> = BTreeMap::new();
        for (path, lines) in &files {
            let package = found.entry(folder_of(path, depth)).or_default();
            package.is_test = (package.files == 0 || package.is_test) && is_test_path(path);
            package.files += 1;
            package.lines += lines;
        }
        let paths: Vec<&str> = found.keys().copied().collect();
        let mut packages: Vec<Package> = found
            .iter()
            .map(|(path, package)| Package { path: (*path).to_string(), ..package.clone() })
            .collect();

        let ranked = self.rank_tree(under)?;
        let at: Vec<Option<usize>> =
            ranked.files.iter().map(|file| paths.binary_search(&folder_of(file, depth)).ok()).collect();
        for of in rank_order(&ranked) {
            let Some(package) = at[of].map(|at| &mut packages[at]) else { continue };
            package.types += 1;
            if package.leading.len() < MAX_LEADING {
                package.leading.push(ranked.names[of].clone());
            }
        }
        add_uses(&mut packages, &at, &ranked.edges);
        add_layers(&mut packages);
        Ok(packages)
    }
}

/// The folder of a file, at most so many levels deep; empty for the root of the tree.
fn folder_of(path: &str, depth: usize) -> &str {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    folder.match_indices('/').nth(depth.saturating_sub(1)).map_or(folder, |(end, _)| &folder[..end])
}

/// The deepest level at which there are not too many folders.
fn find_depth(files: &[(String, u64)]) -> usize {
    let count = |depth: usize| {
        let mut folders: Vec<&str> = files.iter().map(|(path, _)| folder_of(path, depth)).collect();
        folders.sort_unstable();
        folders.dedup();
        folders.len()
    };
    let deepest = files.iter().map(|(path, _)| path.matches('/').count()).max().unwrap_or(1).max(1);
    (1..=deepest).rev().find(|depth| count(*depth) <= MAX_PACKAGES).unwrap_or(1)
}

fn add_uses(packages: &mut [Package], at: &[Option<usize>], edges: &[Edge]) {
    let mut uses: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for edge in edges.iter().filter(|edge| edge.certainty < Certainty::Possible) {
        if let (Some(from), Some(to)) = (at[edge.from as usize], at[edge.to as usize])
            && from != to
        {
            *uses.entry((from, to)).or_default() += u64::from(edge.references);
        }
    }
    for ((from, to), references) in uses {
        packages[from].uses.push((to, references));
    }
}

fn add_layers(packages: &mut [Package]) {
    let ends = |(from, package): (usize, &Package)| {
        package.uses.iter().map(|(to, _)| (from as u32, *to as u32)).collect::<Vec<_>>()
    };
    let groups = Graph::new(packages.len(), packages.iter().enumerate().flat_map(ends)).groups();
    let mut cycles = 0;
    // the groups come dependencies first
    for group in groups {
        let below = |of: &u32| packages[*of as usize].uses.iter().map(|(to, _)| *to);
        let outside = group.iter().flat_map(below).filter(|to| !group.contains(&(*to as u32)));
        let layer = outside.map(|to| packages[to].layer + 1).max().unwrap_or(0);
        cycles += u64::from(group.len() > 1);
        for of in &group {
            packages[*of as usize].layer = layer;
            packages[*of as usize].cycle = (group.len() > 1).then_some(cycles);
        }
    }
}
