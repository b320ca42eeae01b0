//! How much of a code base is known, in figures that were counted for this answer.
//!
//! Does not know what a daemon would: how long it runs, what failed before.

use super::code_query::{CodeQuery, at_desk};
use super::notes::counted;
use crate::Service;
use api::code::{CodeStatus, CodeStatusRequest, InLanguage};
use api::{Error, Handle, Request};
use code::folder::PACKS;
use code::language_of;
use std::collections::BTreeMap;
use std::path::Path;

impl Handle<CodeStatusRequest> for Service {
    fn handle(&self, ask: &CodeStatusRequest) -> Result<CodeStatus, Error> {
        code_status(self, ask)
    }
}

fn code_status(service: &Service, ask: &CodeStatusRequest) -> Result<CodeStatus, Error> {
    ask.check()?;
    at_desk(service, ask.root.as_ref(), |desk| {
        let (extent, folder) = (desk.extent(), desk.folder());
        let packs = folder.as_ref().and_then(|folder| folder.list(PACKS).ok()).unwrap_or_default();
        let (notes, wanted, failures) = counted(service, desk)?;
        Ok(CodeStatus {
            root: desk.root().to_string_lossy().into_owned(),
            projects: extent.projects,
            files: extent.files,
            lines: extent.lines,
            types_indexed: extent.types,
            members: desk.members(),
            edges: extent.edges,
            gaps: extent.gaps,
            languages: languages(desk),
            packs: packs.iter().filter_map(|name| name.strip_suffix(".md")).count() as u64,
            pinned: desk.access.pinned.len() as u64,
            notes,
            semantic_queue_length: wanted,
            semantic_failures: failures,
            memory_mb: memory(),
            coverage: desk.coverage(),
        })
    })
}

fn languages(desk: &CodeQuery<'_>) -> Vec<InLanguage> {
    let mut count: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for (path, its) in desk.files() {
        let Some(language) = language_of(Path::new(&path)) else { continue };
        let (files, lines) = count.entry(language.name).or_default();
        (*files, *lines) = (*files + 1, *lines + its);
    }
    let told =
        |(name, (files, lines)): (&str, (u64, u64))| InLanguage { name: name.to_string(), files, lines };
    let mut all: Vec<InLanguage> = count.into_iter().map(told).collect();
    all.sort_by_key(|each| std::cmp::Reverse(each.files));
    all
}

/// What this process holds, in megabytes, where the system says so.
fn memory() -> Option<u64> {
    let told = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = told.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes.div_ceil(1024))
}
