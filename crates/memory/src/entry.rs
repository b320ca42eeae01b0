//! The entries of memory: sessions with their names, tags and summaries, facts with their evidence, and the findings of
//! jobs.
//!
//! Does not know how entries are derived, merged or stored.

use record::{Stamp, event_key};
use std::collections::{BTreeMap, BTreeSet};

/// Declares an enum and its stored words in one place, the weakest variant first.
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
    /// Who assigned a name, summary or tag; later variants are stronger.
    By {
        /// Derived from the session without a model.
        Derived = "derived",
        /// The agent's own title.
        Host = "host",
        Model = "model",
        /// The user renamed the session in its agent.
        Renamed = "renamed",
        /// The user set it in Loci.
        Person = "person",
    }
}

words! {
    /// Whose words a fact is made from; later variants are trusted more.
    Origin {
        Model = "model",
        /// The agent said it in the session, and the person let it stand.
        Agent = "agent",
        User = "user",
    }
}

words! {
    State {
        /// Valid.
        Fresh = "fresh",
        /// The files or names it refers to no longer exist.
        Stale = "stale",
        /// A later fact on the same subject replaced it.
        Superseded = "superseded",
        /// Withdrawn by a person.
        Retired = "retired",
        /// Reads like an instruction and awaits review by a person.
        Review = "review",
    }
}

words! {
    /// What a fact is.
    Kind {
        Decision = "decision",
        /// Holds for all work from then on.
        Rule = "rule",
        Preference = "preference",
        /// Imposed from outside: a limit, a contract, hardware.
        Constraint = "constraint",
        /// Why something went wrong.
        Cause = "cause",
        /// Left undone or undecided.
        Open = "open",
    }
}

/// A text with its author and time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttributedText {
    pub text: String,
    pub by: By,
    pub at: Stamp,
}

/// The memory of one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionMemory {
    pub source: String,
    pub session_id: String,
    pub project: String,
    pub started_at: Stamp,
    /// The time of the last message this memory was derived from.
    pub ended_at: Stamp,
    /// The time of the last message that a model has seen; none if no model was called.
    pub seen_by_model: Stamp,
    pub name: AttributedText,
    pub summary: AttributedText,
    pub tags: BTreeMap<String, By>,
    /// Tags removed by a person.
    pub removed_tags: BTreeSet<String>,
    pub pinned: bool,
}

/// A message that contains a fact.
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
    /// A person has edited its text or set its state.
    pub edited: bool,
    /// When a person last changed it, in the time of the device; later than every change that this one followed.
    pub edited_at: Stamp,
    /// When it was last stated.
    pub made_at: Stamp,
    pub kind: Kind,
    pub subject: Subject,
    /// The ID of the fact that replaced it.
    pub superseded_by: Option<String>,
}

/// What a fact is about, to recognise a later fact on the same subject.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// Content words of the fact, of the prompt that opened its session, and of the message it answers.
    pub words: BTreeSet<String>,
    /// It says that something no longer holds, or its session began with that.
    pub reverses: bool,
}

/// A sentence worth keeping, with the messages that contain it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotedFact {
    pub text: String,
    /// The agent's words, not the person's.
    pub is_by_agent: bool,
    pub evidence: Vec<String>,
    /// Names and files it mentions.
    pub symbols: Vec<String>,
    pub state: State,
    /// When it was last stated.
    pub stated_at: Stamp,
    pub kind: Kind,
    pub subject: Subject,
    /// IDs of the facts that a model says it replaces.
    pub replaces: Vec<String>,
}

/// The result of one job for one session.
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
    pub facts: Vec<NotedFact>,
    pub origin: Origin,
    pub at: Stamp,
}

/// A text normalised for comparison: letters and digits, lower case, single spaces.
pub fn normalise_text(text: &str) -> String {
    let letters: String =
        text.to_lowercase().chars().map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect();
    letters.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A short ID, identical wherever the same fact is stated for the same project.
pub fn fact_id(project: &str, text: &str) -> String {
    let hash = event_key(b'm', &[project.as_bytes(), normalise_text(text).as_bytes()]);
    format!("f-{:012x}", hash & 0xffff_ffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_depends_on_the_normalised_text_and_the_project() {
        assert_eq!(fact_id("/p", "Always use tabs."), fact_id("/p", "always  use TABS"));
        assert_ne!(fact_id("/p", "Always use tabs"), fact_id("/q", "Always use tabs"));
        assert_eq!(fact_id("/p", "Always use tabs"), "f-bcd790c33f93", "ids are pasted by people and stay");
    }
}
