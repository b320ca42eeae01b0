//! Records the places in a tree where parsing failed.
//!
//! Does not know why it failed.

use super::{MAX_DEPTH, node_span};
use facts::{FileFacts, Gap, GapKind};
use tree_sitter::Node;

/// Records a node whose children were not visited.
pub(crate) fn record_too_deep(facts: &mut FileFacts, node: Node) {
    push_gap(facts, node, GapKind::TooDeep);
}

fn push_gap(facts: &mut FileFacts, node: Node, kind: GapKind) {
    let line = node.start_position().row as u32 + 1;
    facts.gaps.push(Gap { span: node_span(node), line, kind });
}

/// Records every outermost error node, and marks the types that contain one as degraded.
pub(crate) fn record_gaps(facts: &mut FileFacts, root: Node) {
    if root.has_error() {
        record_outermost(facts, root, 0);
    }
    let FileFacts { types, gaps, .. } = facts;
    for part in types {
        let inside = |gap: &Gap| gap.span.from >= part.span.from && gap.span.from <= part.span.to;
        part.degraded = gaps.iter().any(|gap| inside(gap) || gap.span.overlaps(part.span));
    }
}

/// Descends only into nodes that contain an error.
fn record_outermost(facts: &mut FileFacts, node: Node, depth: u32) {
    if node.is_error() {
        return push_gap(facts, node, GapKind::Unexpected);
    }
    if node.is_missing() {
        return push_gap(facts, node, GapKind::Missing);
    }
    if depth < MAX_DEPTH {
        let mut cursor = node.walk();
        for child in node.children(&mut cursor).filter(|child| child.has_error() || child.is_missing()) {
            record_outermost(facts, child, depth + 1);
        }
    }
}
