//! Derives a session's name, tags, summary and decisions without calling a model. The same digest always yields the
//! same text.
//!
//! Does not know the existing memory of the session.

use crate::digest::Digest;
use crate::entry::{By, Finding, Noted, Origin};
use crate::facts::facts;
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
    /// The derived text as a [`Finding`].
    pub fn finding(self, digest: &Digest, now: Stamp) -> Finding {
        let (name, summary) = ((self.name, self.named_by), (self.summary, By::Derived));
        let (tags, facts) = (self.tags, self.facts);
        Finding { name, summary, tags, facts, ..Finding::of(digest, By::Derived, Origin::User, now) }
    }
}
