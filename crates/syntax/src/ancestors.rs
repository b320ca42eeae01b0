//! The nodes around a node. Ancestors travel with the walk: `Node::parent` and the siblings of a node search the tree from its root,
//! which takes time with the square of the depth.
//!
//! Does not know what a node means.

use tree_sitter::{Node, TreeCursor};

/// The parent of a node, searched from a node around it. `None` if it is not around it.
pub(crate) fn parent_below<'a>(around: Node<'a>, node: Node<'a>) -> Option<Node<'a>> {
    if around == node || node.start_byte() < around.start_byte() || around.end_byte() < node.end_byte() {
        return None;
    }
    let mut at = around;
    loop {
        let next = at.child_with_descendant(node)?;
        if next == node {
            return Some(at);
        }
        at = next;
    }
}

/// The parent of a node, searched from the innermost of some open nodes, outermost first.
pub(crate) fn parent_within<'a>(open: &[Node<'a>], node: Node<'a>) -> Option<Node<'a>> {
    open.iter().rev().find_map(|around| parent_below(*around, node))
}

/// The siblings before a node, the nearest first.
pub(crate) fn siblings_before<'a>(parent: Option<Node<'a>>, node: Node<'a>) -> SiblingsBefore<'a> {
    SiblingsBefore { cursor: parent.and_then(|parent| cursor_at(parent, node)) }
}

pub(crate) struct SiblingsBefore<'a> {
    cursor: Option<TreeCursor<'a>>,
}

impl<'a> Iterator for SiblingsBefore<'a> {
    type Item = Node<'a>;

    fn next(&mut self) -> Option<Node<'a>> {
        let cursor = self.cursor.as_mut()?;
        cursor.goto_previous_sibling().then(|| cursor.node())
    }
}

/// The sibling after a node.
pub(crate) fn sibling_after<'a>(parent: Option<Node<'a>>, node: Node<'a>) -> Option<Node<'a>> {
    let mut cursor = cursor_at(parent?, node)?;
    cursor.goto_next_sibling().then(|| cursor.node())
}

/// A cursor at a child.
fn cursor_at<'a>(parent: Node<'a>, child: Node<'a>) -> Option<TreeCursor<'a>> {
    let mut cursor = parent.walk();
    cursor.goto_first_child_for_byte(child.start_byte())?;
    // an empty node begins where the one before it ends
    while cursor.node() != child && cursor.node().start_byte() >= child.start_byte() {
        if !cursor.goto_previous_sibling() {
            break;
        }
    }
    while cursor.node() != child {
        if cursor.node().start_byte() > child.end_byte() || !cursor.goto_next_sibling() {
            return None;
        }
    }
    Some(cursor)
}
