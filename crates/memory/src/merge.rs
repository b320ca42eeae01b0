//! What is remembered, and how what a job finds is joined with it: tags and facts are united, a name gives way to a better
//! one, and what a person wrote gives way to nothing.
//!
//! Does not know how it is stored.

use crate::digest::Digest;
use crate::facts::Noted;
use crate::order::is_order;
use crate::tags::tag_of;
use crate::unsaid::{carries, forgotten_in, nameless, taken_out};
use record::{Stamp, key};
use std::collections::{BTreeMap, BTreeSet};

/// Declares the words of an enum once, the weakest first.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum $name { $($(#[$doc])* $variant,)* }
        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];
            pub fn word(self) -> &'static str { match self { $($name::$variant => $word,)* } }
            pub fn from_word(word: &str) -> Option<$name> { $name::ALL.iter().copied().find(|one| one.word() == word) }
        }
    };
}

words! {
    /// Who gave a name, a summary or a tag; a later one is stronger.
    By {
        /// Made from what is there.
        Derived = "derived",
        /// The agent's own title.
        Host = "host",
        Model = "model",
        /// The person renamed the session in its agent.
        Renamed = "renamed",
        /// The person said so to Loci.
        Person = "person",
    }
}

words! {
    /// Whose words a fact is made from; a later one is trusted more.
    Origin {
        Model = "model",
        User = "user",
    }
}

words! {
    State {
        /// It holds.
        Fresh = "fresh",
        /// What it rests on is no longer there.
        Stale = "stale",
        /// A person has put it away.
        Retired = "retired",
        /// It reads like an order: a person has to look at it first.
        Review = "review",
    }
}

/// Some words, who gave them and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worded {
    pub text: String,
    pub by: By,
    pub at: Stamp,
}

/// What is remembered of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remembered {
    pub source: String,
    pub session_id: String,
    pub project: String,
    pub started_at: Stamp,
    /// The last thing said in it that this was made from.
    pub ended_at: Stamp,
    /// The same of what a model has seen; none where it was never asked.
    pub seen_by_model: Stamp,
    pub name: Worded,
    pub summary: Worded,
    pub tags: BTreeMap<String, By>,
    /// Tags that a person has taken away.
    pub shed: BTreeSet<String>,
    pub pinned: bool,
}

/// A message that a fact stands in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Evidence {
    pub source: String,
    pub session_id: String,
    pub message_id: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    pub id: String,
    pub text: String,
    pub state: State,
    pub origin: Origin,
    pub evidence: BTreeSet<Evidence>,
    pub symbols: BTreeSet<String>,
    pub project: String,
    pub pinned: bool,
    /// A person has changed its words or decided on its state.
    pub edited: bool,
    /// When it was said last.
    pub made_at: Stamp,
}

/// What a job has found out about one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub source: String,
    pub session_id: String,
    pub project: String,
    pub started_at: Stamp,
    pub ended_at: Stamp,
    pub name: (String, By),
    pub summary: (String, By),
    pub tags: Vec<String>,
    pub tagged_by: By,
    pub facts: Vec<Noted>,
    pub origin: Origin,
    pub at: Stamp,
}

impl Finding {
    /// Nothing yet, about the session of a digest.
    pub(crate) fn of(digest: &Digest, by: By, origin: Origin, at: Stamp) -> Finding {
        Finding {
            source: digest.source.clone(),
            session_id: digest.session_id.clone(),
            project: digest.project.clone(),
            started_at: digest.started_at,
            ended_at: digest.ended_at,
            name: (String::new(), by),
            summary: (String::new(), by),
            tags: Vec::new(),
            tagged_by: by,
            facts: Vec::new(),
            origin,
            at,
        }
    }
}

impl Finding {
    /// Without the words that were forgotten.
    pub(crate) fn without(&self, forgotten: &BTreeSet<String>) -> Finding {
        let mut found = self.clone();
        for (text, mark) in [(&mut found.name.0, ""), (&mut found.summary.0, "…")] {
            let unsaid = forgotten_in(text, &self.project, forgotten);
            *text = taken_out(text, &unsaid, mark);
        }
        found
    }
}

impl Remembered {
    /// Without the words of a fact that is forgotten. What a person wrote is theirs. What is left gives way to
    /// what is made from the transcripts without them, and a model is asked again where it was a model's.
    pub(crate) fn without(mut self, fact: &Fact) -> Remembered {
        let unsaid = [fact.text.clone()];
        let ours = |words: &Worded| words.by < By::Renamed;
        let summary = taken_out(&self.summary.text, &unsaid, "…");
        let (named, told) = (carries(&self.name.text, &unsaid), summary != self.summary.text);
        let models = |words: &Worded| words.by == By::Model;
        if (named && models(&self.name)) || (told && models(&self.summary)) {
            self.seen_by_model = Stamp::NONE;
        }
        if named && ours(&self.name) {
            let text = nameless(&self.source, &self.project, self.started_at);
            self.name = Worded { text, by: By::Derived, at: self.name.at };
        }
        if told && ours(&self.summary) {
            self.summary = Worded { text: summary, by: By::Derived, at: self.summary.at };
        }
        self
    }

    /// As another memory has it, without the words that were forgotten here. What a machine made there of a session may
    /// have them cut or turned, and here they are known by a hash alone: it is not taken, and a model is asked here.
    pub(crate) fn without_all(&self, forgotten: &BTreeSet<String>, ours: Option<&Remembered>) -> Remembered {
        if forgotten.is_empty() {
            return self.clone();
        }
        let name = nameless(&self.source, &self.project, self.started_at);
        let made = |text: String| Worded { text, by: By::Derived, at: Stamp::NONE };
        let (our_name, our_summary) = ours.map_or_else(
            || (made(name), made(String::new())),
            |ours| (ours.name.clone(), ours.summary.clone()),
        );
        let taken = |theirs: &Worded, ours: Worded| {
            let unsaid = forgotten_in(&theirs.text, &self.project, forgotten);
            let text = taken_out(&theirs.text, &unsaid, "…");
            if theirs.by < By::Renamed { ours } else { Worded { text, ..theirs.clone() } }
        };
        Remembered {
            name: taken(&self.name, our_name),
            summary: taken(&self.summary, our_summary),
            seen_by_model: Stamp::NONE,
            ..self.clone()
        }
    }
}

/// A session that goes on for weeks would gather tags without end; jobs add none beyond this.
const MOST_TAGS: usize = 16;

/// What is remembered of a session after a finding.
pub(crate) fn session(known: Option<&Remembered>, found: &Finding) -> Remembered {
    let given = |(text, by): &(String, By)| Worded { text: text.clone(), by: *by, at: found.at };
    let (name, summary) = (given(&found.name), given(&found.summary));
    let mut merged = match known {
        Some(known) => Remembered {
            name: better(&known.name, name, known.ended_at > found.ended_at),
            summary: better(&known.summary, summary, known.ended_at > found.ended_at),
            ..known.clone()
        },
        None => Remembered {
            source: found.source.clone(),
            session_id: found.session_id.clone(),
            project: found.project.clone(),
            started_at: found.started_at,
            ended_at: found.ended_at,
            seen_by_model: Stamp::NONE,
            name,
            summary,
            tags: BTreeMap::new(),
            shed: BTreeSet::new(),
            pinned: false,
        },
    };
    add_tags(&mut merged, found);
    // What a model was asked of need not be what was derived last.
    match found.origin {
        Origin::User => merged.ended_at = merged.ended_at.max(found.ended_at),
        Origin::Model => merged.seen_by_model = merged.seen_by_model.max(found.ended_at),
    }
    if merged.project.is_empty() {
        merged.project.clone_from(&found.project);
    }
    merged
}

fn better(known: &Worded, new: Worded, is_late: bool) -> Worded {
    let keeps = known.by == By::Person || known.by > new.by || new.text.is_empty();
    let same = known.by == new.by && (is_late || known.text == new.text);
    if keeps || same { known.clone() } else { new }
}

fn add_tags(merged: &mut Remembered, found: &Finding) {
    for tag in found.tags.iter().map(|tag| tag_of(tag)).filter(|tag| !tag.is_empty()) {
        if merged.shed.contains(&tag) {
            continue;
        }
        let room = merged.tags.len() < MOST_TAGS;
        match merged.tags.get_mut(&tag) {
            Some(by) => *by = (*by).max(found.tagged_by),
            None if room => drop(merged.tags.insert(tag, found.tagged_by)),
            None => {}
        }
    }
}

/// A fact after it was found in a session.
pub(crate) fn fact(known: Option<&Fact>, found: &Finding, noted: &Noted) -> Fact {
    let told = |message: &String| Evidence {
        source: found.source.clone(),
        session_id: found.session_id.clone(),
        message_id: message.clone(),
    };
    let mut merged = known.cloned().unwrap_or_else(|| Fact {
        id: fact_id(&found.project, &noted.text),
        text: noted.text.clone(),
        state: noted.state,
        origin: found.origin,
        evidence: BTreeSet::new(),
        symbols: BTreeSet::new(),
        project: found.project.clone(),
        pinned: false,
        edited: false,
        made_at: Stamp::NONE,
    });
    // Its date is that of the words: a run over old transcripts makes nothing new of them.
    let elsewhere = |one: &Evidence| (&one.source, &one.session_id) != (&found.source, &found.session_id);
    let may_be = |at: &Stamp| *at <= found.ended_at || merged.evidence.iter().any(elsewhere);
    let before = Some(merged.made_at).filter(may_be).unwrap_or(Stamp::NONE);
    merged.made_at = noted.said_at.or(found.ended_at).max(before);
    merged.evidence.extend(noted.evidence.iter().map(told));
    if !merged.edited {
        merged.symbols.extend(noted.symbols.iter().cloned());
        // The person's own word for what a model has gathered settles what it was held back for.
        if found.origin > merged.origin {
            (merged.origin, merged.state) = (found.origin, noted.state);
        }
    }
    merged
}

/// A session as two memories have it. What a person wrote in ours stays.
pub(crate) fn both(ours: Option<&Remembered>, theirs: &Remembered) -> Remembered {
    let Some(ours) = ours else { return theirs.clone() };
    let is_late = ours.ended_at >= theirs.ended_at;
    let mut merged = Remembered {
        name: better(&ours.name, theirs.name.clone(), is_late),
        summary: better(&ours.summary, theirs.summary.clone(), is_late),
        ended_at: ours.ended_at.max(theirs.ended_at),
        seen_by_model: ours.seen_by_model.max(theirs.seen_by_model),
        pinned: ours.pinned || theirs.pinned,
        ..ours.clone()
    };
    for (tag, by) in theirs.tags.iter().filter(|(tag, _)| !ours.shed.contains(*tag)) {
        let known = merged.tags.entry(tag.clone()).or_insert(*by);
        *known = (*known).max(*by);
    }
    for tag in theirs.shed.iter().filter(|tag| merged.tags.get(*tag) != Some(&By::Person)) {
        merged.shed.insert(tag.clone());
    }
    merged.tags.retain(|tag, _| !merged.shed.contains(tag));
    merged
}

/// A fact as two memories have it. One that is new to us and reads like an order waits for a person here too, whoever
/// accepted it elsewhere.
pub(crate) fn both_facts(ours: Option<&Fact>, mut theirs: Fact) -> Fact {
    let Some(ours) = ours else {
        if is_order(&theirs.text) && theirs.state != State::Retired {
            theirs.state = State::Review;
        }
        return theirs;
    };
    let mut merged = if theirs.edited && !ours.edited {
        let order = is_order(&theirs.text) && theirs.state != State::Retired;
        let state = if order { State::Review } else { theirs.state };
        Fact { text: theirs.text, state, edited: true, ..ours.clone() }
    } else {
        ours.clone()
    };
    merged.evidence.append(&mut theirs.evidence);
    merged.symbols.append(&mut theirs.symbols);
    merged.origin = merged.origin.max(theirs.origin);
    merged.pinned |= theirs.pinned;
    merged
}

/// A text as it is compared: letters and digits, lower case, single blanks.
pub fn normal(text: &str) -> String {
    let letters: String =
        text.to_lowercase().chars().map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect();
    letters.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Short, and the same wherever the same is said of the same project.
pub fn fact_id(project: &str, text: &str) -> String {
    let hash = key(b'm', &[project.as_bytes(), normal(text).as_bytes()]);
    format!("f-{:012x}", hash & 0xffff_ffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_of_what_is_said() {
        assert_eq!(fact_id("/p", "Always use tabs."), fact_id("/p", "always  use TABS"));
        assert_ne!(fact_id("/p", "Always use tabs"), fact_id("/q", "Always use tabs"));
        assert_eq!(fact_id("/p", "Always use tabs"), "f-bcd790c33f93", "ids are pasted by people and stay");
    }

    #[test]
    fn a_better_name_replaces_a_worse_one_and_a_persons_stays() {
        let worded = |text: &str, by| Worded { text: text.into(), by, at: Stamp(1) };
        for (known, new, is_late, kept) in [
            (("a", By::Derived), ("b", By::Host), false, "b"),
            (("a", By::Host), ("b", By::Derived), false, "a"),
            (("a", By::Model), ("b", By::Model), false, "b"),
            (("a", By::Model), ("b", By::Model), true, "a"),
            (("a", By::Model), ("b", By::Renamed), false, "b"),
            (("a", By::Renamed), ("b", By::Renamed), false, "b"),
            (("a", By::Person), ("b", By::Renamed), false, "a"),
            (("a", By::Person), ("b", By::Person), false, "a"),
            (("a", By::Derived), ("", By::Model), false, "a"),
        ] {
            let merged = better(&worded(known.0, known.1), worded(new.0, new.1), is_late);
            assert_eq!(merged.text, kept, "{known:?} {new:?}");
        }
    }
}
