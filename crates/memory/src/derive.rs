//! What can be said of a session without asking anybody: its name, tags, a summary, and the decisions that stand in it.
//! The same digest gives the same words.
//!
//! Does not know what was remembered before.

use crate::By;
use crate::digest::Digest;
use crate::facts::{Noted, facts};
use crate::merge::{Finding, Origin};
use crate::name::{name, of_nothing};
use crate::summary::summary;
use crate::tags::tags;
use crate::unsaid::still_says;
use record::Stamp;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Derived {
    pub name: String,
    pub named_by: By,
    pub tags: Vec<String>,
    pub summary: String,
    pub facts: Vec<Noted>,
}

pub fn derive(digest: &Digest) -> Derived {
    let (mut name, mut named_by) = name(digest);
    if still_says(&name, &digest.unsaid) {
        (name, named_by) = (of_nothing(digest), By::Derived);
    }
    Derived { name, named_by, tags: tags(digest), summary: summary(digest), facts: facts(digest) }
}

impl Derived {
    /// As it is remembered.
    pub fn finding(self, digest: &Digest, now: Stamp) -> Finding {
        let (name, summary) = ((self.name, self.named_by), (self.summary, By::Derived));
        let (tags, facts) = (self.tags, self.facts);
        Finding { name, summary, tags, facts, ..Finding::of(digest, By::Derived, Origin::User, now) }
    }
}
