//! Declarations with several names, such as `int a, b = 1`: what the names share is read once, not once per name.
//!
//! Does not know where a grammar puts the names.

use super::{Head, Walk};
use facts::{Doc, Shape};
use std::ops::Range;
use tree_sitter::Node;

/// What the names of one declaration share.
pub(super) struct SharedReading {
    pub(super) references: Range<usize>,
    pub(super) attributes: Vec<Shape>,
    pub(super) doc: Option<Doc>,
    /// Where the declaration starts, without and with the comments before it.
    pub(super) start: usize,
    pub(super) comments: usize,
    /// Where it starts after the attributes.
    pub(super) signature: usize,
}

impl<'a> Walk<'a> {
    /// Reads each name of a declaration, with a copy of its head; adding the member or type does not visit the declaration again.
    pub(crate) fn read_names(
        &mut self,
        node: Node<'a>,
        head: &Head<'a>,
        count: usize,
        mut read: impl FnMut(&mut Walk<'a>, usize, Head<'a>),
    ) {
        let mut head = head.clone();
        if count > 1 {
            self.shared = Some(self.read_shared(node, &head));
            head.attributes.clear();
        }
        for at in 0..count {
            // a copy of the head
            if !self.budget.spend(1 + head.excluded.len()) {
                break;
            }
            read(self, at, head.clone());
        }
        self.shared = None;
    }

    fn read_shared(&mut self, node: Node<'a>, head: &Head<'a>) -> SharedReading {
        // textual references belong to no declaration, and a `typedef` makes no module
        let owner = match self.owner {
            None if !self.facts.is_textual => Some(self.module_part()),
            owner => owner,
        };
        let outer = std::mem::replace(&mut self.owner, owner);
        let from = self.facts.references.len();
        self.visit_head(node, &head.attributes, None);
        self.owner = outer;
        SharedReading {
            references: from..self.facts.references.len(),
            attributes: self.attribute_shapes(head, from),
            doc: self.read_doc(head),
            start: head.start,
            comments: self.start_with_comments(head.start),
            signature: head.signature_span(self).from as usize,
        }
    }
}
