//! Status of a codebase index, counted for each request.
//!
//! Does not know the daemon's state, such as its uptime or earlier failures.

use super::code_query::{CodeQuery, with_tree};
use super::notes::count_notes;
use crate::Service;
use api::code::{CodeStatus, CodeStatusRequest, InLanguage};
use api::{Error, Handle, Request};
use code::language_of;
use folder::PACKS;
use std::collections::BTreeMap;
use std::path::Path;

impl Handle<CodeStatusRequest> for Service {
    fn handle(&self, request: &CodeStatusRequest) -> Result<CodeStatus, Error> {
        request.check_params()?;
        with_tree(self, request.root.as_ref(), |query| {
            let (extent, folder) = (query.extent(), query.folder());
            let packs = folder.as_ref().and_then(|folder| folder.list_files(PACKS).ok()).unwrap_or_default();
            let (notes, wanted, failures) = count_notes(self, query)?;
            Ok(CodeStatus {
                root: query.root().to_string_lossy().into_owned(),
                projects: extent.projects,
                files: extent.files,
                lines: extent.lines,
                types_indexed: extent.types,
                members: query.member_count(),
                edges: extent.edges,
                gaps: extent.gaps,
                languages: count_languages(query),
                packs: packs.iter().filter_map(|name| name.strip_suffix(".md")).count() as u64,
                pinned: query.access.pinned.len() as u64,
                notes,
                semantic_queue_length: wanted,
                semantic_failures: failures,
                memory_mb: resident_megabytes(),
                coverage: query.coverage(),
            })
        })
    }
}

fn count_languages(query: &CodeQuery<'_>) -> Vec<InLanguage> {
    let mut count: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for (path, file_lines) in query.parsed_files() {
        let Some(language) = language_of(Path::new(&path)) else { continue };
        let (files, lines) = count.entry(language.name).or_default();
        (*files, *lines) = (*files + 1, *lines + file_lines);
    }
    let to_entry =
        |(name, (files, lines)): (&str, (u64, u64))| InLanguage { name: name.to_string(), files, lines };
    let mut all: Vec<InLanguage> = count.into_iter().map(to_entry).collect();
    all.sort_by_key(|each| std::cmp::Reverse(each.files));
    all
}

/// Resident memory of this process in megabytes, if the system reports it.
fn resident_megabytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes.div_ceil(1024))
}
