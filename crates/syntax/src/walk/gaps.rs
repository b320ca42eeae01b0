//! Records the places in a tree where parsing failed.
//!
//! Does not know why it failed.

use super::{MAX_DEPTH, node_span};
use facts::{FileFacts, Gap, GapKind, Span};
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
    visit_gaps(root, 0, &mut |node, kind| push_gap(facts, node, kind));
    let FileFacts { types, gaps, .. } = facts;
    let mut spans: Vec<Span> = gaps.iter().map(|gap| gap.span).collect();
    spans.sort_unstable();
    let mut longest = 0;
    let reach: Vec<u32> = spans.iter().map(|span| (longest = longest.max(span.to), longest).1).collect();
    for part in types {
        let first = spans.partition_point(|span| span.from < part.span.from);
        let begins_inside = spans.get(first).is_some_and(|span| span.from <= part.span.to);
        let reaches_into = first > 0 && part.span.from < part.span.to && reach[first - 1] > part.span.from;
        part.degraded = begins_inside || reaches_into;
    }
}

/// The number of outermost error nodes.
pub(crate) fn count_gaps(root: Node) -> usize {
    let mut count = 0;
    visit_gaps(root, 0, &mut |_, _| count += 1);
    count
}

/// Descends only into nodes that contain an error.
fn visit_gaps(node: Node, depth: u32, visit: &mut dyn FnMut(Node, GapKind)) {
    if node.is_error() {
        return visit(node, GapKind::Unexpected);
    }
    if node.is_missing() {
        return visit(node, GapKind::Missing);
    }
    if node.has_error() && depth < MAX_DEPTH {
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            visit_gaps(child, depth + 1, visit);
        }
    }
}
