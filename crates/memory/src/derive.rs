//! What can be said of a session without asking anybody: its name, tags, a summary, and the decisions that stand in it.
//! The same digest gives the same words.
//!
//! Does not know what was remembered before.

use crate::By;
use crate::digest::Digest;
use crate::facts::{Noted, facts};
use crate::merge::{Finding, Origin};
use crate::name::name;
use crate::summary::summary;
use crate::tags::tags;
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
    let (name, named_by) = name(digest);
    Derived { name, named_by, tags: tags(digest), summary: summary(digest), facts: facts(digest) }
}

impl Derived {
    /// As it is remembered.
    pub fn finding(self, digest: &Digest, now: Stamp) -> Finding {
        Finding {
            source: digest.source.clone(),
            session_id: digest.session_id.clone(),
            project: digest.project.clone(),
            started_at: digest.started_at,
            ended_at: digest.ended_at,
            name: (self.name, self.named_by),
            summary: (self.summary, By::Derived),
            tags: self.tags,
            tagged_by: By::Derived,
            facts: self.facts,
            origin: Origin::User,
            at: now,
        }
    }
}
