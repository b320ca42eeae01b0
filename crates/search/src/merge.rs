//! Decides which segments to merge, and when: few enough for fast search, small enough to merge in little memory.
//!
//! Does not know what a segment contains.

use tantivy::SegmentMeta;
use tantivy::merge_policy::{MergeCandidate, MergePolicy};

/// A merge keeps doc IDs and term ordinals in memory: about 150 bytes per document, so 45 MB at this size.
const MAX_DOCS: u32 = 300_000;
/// The number of segments of one size that are merged into one of the next.
const MERGE_WIDTH: usize = 8;
/// Segments below this size count as equal: commits of a few lines each.
const SMALL_SEGMENT: u32 = 4096;
/// A segment with at least this share of deleted documents is rewritten.
const MAX_DELETED: f32 = 0.3;

#[derive(Debug)]
pub(crate) struct BoundedMergePolicy;

impl MergePolicy for BoundedMergePolicy {
    fn compute_merge_candidates(&self, segments: &[SegmentMeta]) -> Vec<MergeCandidate> {
        let mut sorted: Vec<&SegmentMeta> = segments.iter().collect();
        sorted.sort_by_key(|segment| (segment.num_docs(), segment.id()));
        let mut found = Vec::new();
        let mut rest = &sorted[..];
        while let Some(first) = rest.first() {
            let most = first.num_docs().max(SMALL_SEGMENT).saturating_mul(4);
            let level = rest.iter().take_while(|segment| segment.num_docs() <= most).count();
            found.extend(merge_level(&rest[..level]));
            rest = &rest[level..];
        }
        found
    }
}

/// Among segments of about one size: enough that fit together, otherwise those with many deleted documents.
fn merge_level(level: &[&SegmentMeta]) -> Vec<MergeCandidate> {
    let mut docs = 0;
    let fitting = level
        .iter()
        .take_while(|segment| {
            docs += segment.num_docs();
            docs <= MAX_DOCS
        })
        .count();
    let fitting = &level[..fitting];
    if fitting.len() >= MERGE_WIDTH {
        return vec![MergeCandidate(fitting.iter().map(|segment| segment.id()).collect())];
    }
    let is_sparse =
        |segment: &&&SegmentMeta| segment.num_deleted_docs() as f32 > segment.max_doc() as f32 * MAX_DELETED;
    level.iter().filter(is_sparse).map(|segment| MergeCandidate(vec![segment.id()])).collect()
}
