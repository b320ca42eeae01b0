//! Status of a codebase index, counted for each request, with the daemon's figures if one is running.
//!
//! Does not know what a normal figure is: `api::alerts` has the thresholds.

use super::code_query::{CodeQuery, with_tree};
use super::notes::count_notes;
use crate::Service;
use crate::operations::status::daemon_status;
use api::alerts::{Metric, find_alerts};
use api::code::{CodeStatus, CodeStatusRequest, GetPromptWindow, InLanguage};
use api::{Error, Handle, Request};
use code::{count_tokens, language_of};
use folder::{LociFolder, PACKS, PROMPT_WINDOW};
use std::collections::BTreeMap;
use std::path::Path;

impl Handle<CodeStatusRequest> for Service {
    fn handle(&self, request: &CodeStatusRequest) -> Result<CodeStatus, Error> {
        request.check_params()?;
        with_tree(self, request.root.as_ref(), |query| {
            let (extent, folder) = (query.extent(), query.folder());
            let packs = folder.as_ref().and_then(|folder| folder.list_files(PACKS).ok()).unwrap_or_default();
            let (notes, wanted, failures) = count_notes(self, query)?;
            let (daemon, memory_mb) = (daemon_status(self), resident_megabytes());
            let p95_resolve_ms = daemon.p95_resolve_ms();
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
                memory_mb,
                uptime_sec: daemon.uptime_seconds,
                p95_resolve_ms,
                outline_hit_ratio: code_index::OUTLINES.ratio(),
                prompt_budget_ratio: folder.as_ref().and_then(window_share),
                alerts: find_alerts(&[
                    (Metric::ResolveTime, p95_resolve_ms),
                    (Metric::QueueLength, Some(wanted as f64)),
                    (Metric::Memory, memory_mb.map(|mb| mb as f64)),
                ]),
                coverage: query.coverage(),
            })
        })
    }
}

/// The tokens of the stored prompt window as a share of the default budget.
fn window_share(folder: &LociFolder) -> Option<f64> {
    let window = folder.read(PROMPT_WINDOW).ok()??;
    let tokens = count_tokens(&String::from_utf8_lossy(&window));
    Some(tokens as f64 / GetPromptWindow::default().budget as f64)
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
