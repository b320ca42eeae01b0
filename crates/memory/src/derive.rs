//! Derives a session's name, tags, summary and decisions without calling a model. The same digest always yields the
//! same text.
//!
//! Does not know the existing memory of the session.

use crate::digest::Digest;
use crate::entry::{By, Finding, NotedFact, Origin};
use crate::facts::extract_facts;
use crate::forgetting::still_contains;
use crate::name::{derive_name, fallback_name};
use crate::summary::summarise_session;
use crate::tags::derive_tags;
use crate::talk::Talk;
use record::Stamp;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DerivedMemory {
    pub name: String,
    pub named_by: By,
    pub tags: Vec<String>,
    pub summary: String,
    pub facts: Vec<NotedFact>,
}

pub fn derive_memory(digest: &Digest) -> DerivedMemory {
    let talk = Talk::new(digest);
    let facts = extract_facts(&talk);
    let (mut name, mut named_by) = derive_name(digest, &talk);
    if still_contains(&name, &digest.forgotten_texts) {
        (name, named_by) = (fallback_name(digest), By::Derived);
    }
    DerivedMemory {
        name,
        named_by,
        tags: derive_tags(digest, &talk),
        summary: summarise_session(digest, &talk, &facts),
        facts,
    }
}

impl DerivedMemory {
    /// The derived text as a [`Finding`].
    pub fn into_finding(self, digest: &Digest, now: Stamp) -> Finding {
        let (name, summary) = ((self.name, self.named_by), (self.summary, By::Derived));
        let (tags, facts) = (self.tags, self.facts);
        Finding { name, summary, tags, facts, ..Finding::for_digest(digest, By::Derived, Origin::User, now) }
    }
}
