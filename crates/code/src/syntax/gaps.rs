//! The places of a tree that could not be read.
//!
//! Does not know why.

use super::{DEPTH, Walk, span};
use crate::file::{FileFacts, Gap, GapKind};
use tree_sitter::Node;

impl<'a> Walk<'a> {
    pub(super) fn too_deep(&mut self, node: Node<'a>) {
        self.gap(node, GapKind::TooDeep);
    }

    fn gap(&mut self, node: Node<'a>, kind: GapKind) {
        let line = node.start_position().row as u32 + 1;
        self.facts.gaps.push(Gap { span: span(node), line, kind });
    }

    /// Every outermost place that fits no rule. Only what has an error inside is looked into.
    pub(super) fn gaps(&mut self, node: Node<'a>) {
        if node.is_error() {
            return self.gap(node, GapKind::Unexpected);
        }
        if node.is_missing() {
            return self.gap(node, GapKind::Missing);
        }
        self.depth += 1;
        if self.depth < DEPTH {
            let mut cursor = node.walk();
            for child in node.children(&mut cursor).filter(|child| child.has_error() || child.is_missing()) {
                self.gaps(child);
            }
        }
        self.depth -= 1;
    }

    pub(super) fn mark_degraded(&mut self) {
        let FileFacts { types, gaps, .. } = &mut self.facts;
        for part in types {
            let inside = |gap: &Gap| gap.span.from >= part.span.from && gap.span.from <= part.span.to;
            part.degraded = gaps.iter().any(|gap| inside(gap) || gap.span.overlaps(part.span));
        }
    }
}
