//! Merges a job's findings into the existing memory: tags and facts are united, a name is replaced only by a better
//! one, and text written by a person is never replaced.
//!
//! Does not know how memory is stored.

use crate::digest::Digest;
use crate::entry::{
    AttributedText, By, Evidence, Fact, Finding, NotedFact, Origin, SessionMemory, State, fact_id,
};
use crate::forgetting::{forgotten_in, is_made_of_forgotten, placeholder_name, replace_forgotten};
use crate::instruction::is_instruction;
use crate::tags::normalise_tag;
use crate::talk::cues::fold;
use crate::talk::sentence::content_words;
use record::Stamp;
use std::collections::{BTreeMap, BTreeSet};

impl Finding {
    /// An empty finding for the session of a digest.
    pub(crate) fn for_digest(digest: &Digest, by: By, origin: Origin, at: Stamp) -> Finding {
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
    /// Removes forgotten sentences from the name and the summary.
    pub(crate) fn without_forgotten(&self, forgotten: &BTreeSet<String>) -> Finding {
        let mut found = self.clone();
        for (text, mark) in [(&mut found.name.0, ""), (&mut found.summary.0, "…")] {
            let forgotten_texts = forgotten_in(text, &self.project, forgotten);
            *text = replace_forgotten(text, &forgotten_texts, mark);
        }
        found
    }
}

impl SessionMemory {
    /// Removes the text of a forgotten fact, except from what a person wrote. The remaining name and summary are
    /// replaced by ones derived without that text; where they were a model's, the model is called again.
    pub(crate) fn without_fact(mut self, fact: &Fact) -> SessionMemory {
        let forgotten_texts = [fact.text.clone()];
        let is_replaceable = |words: &AttributedText| words.by < By::Renamed;
        let summary = replace_forgotten(&self.summary.text, &forgotten_texts, "…");
        let (in_name, in_summary) =
            (is_made_of_forgotten(&self.name.text, &forgotten_texts), summary != self.summary.text);
        let is_by_model = |words: &AttributedText| words.by == By::Model;
        if (in_name && is_by_model(&self.name)) || (in_summary && is_by_model(&self.summary)) {
            self.seen_by_model = Stamp::NONE;
        }
        if in_name && is_replaceable(&self.name) {
            let text = placeholder_name(&self.source, &self.project, self.started_at);
            self.name = AttributedText { text, by: By::Derived, at: self.name.at };
        }
        if in_summary && is_replaceable(&self.summary) {
            self.summary = AttributedText { text: summary, by: By::Derived, at: self.summary.at };
        }
        self
    }

    /// The imported session without text that was forgotten here. A machine-written name or summary may contain
    /// forgotten sentences cut or reworded, and only their hashes are known here. It is therefore not imported, and a
    /// model is called locally.
    pub(crate) fn without_forgotten(
        &self,
        forgotten: &BTreeSet<String>,
        ours: Option<&SessionMemory>,
    ) -> SessionMemory {
        if forgotten.is_empty() {
            return self.clone();
        }
        let name = placeholder_name(&self.source, &self.project, self.started_at);
        let derived = |text: String| AttributedText { text, by: By::Derived, at: Stamp::NONE };
        let (our_name, our_summary) = ours.map_or_else(
            || (derived(name), derived(String::new())),
            |ours| (ours.name.clone(), ours.summary.clone()),
        );
        let choose = |theirs: &AttributedText, ours: AttributedText| {
            let forgotten_texts = forgotten_in(&theirs.text, &self.project, forgotten);
            let text = replace_forgotten(&theirs.text, &forgotten_texts, "…");
            if theirs.by < By::Renamed { ours } else { AttributedText { text, ..theirs.clone() } }
        };
        SessionMemory {
            name: choose(&self.name, our_name),
            summary: choose(&self.summary, our_summary),
            seen_by_model: Stamp::NONE,
            ..self.clone()
        }
    }
}

/// Jobs add no tags beyond this number: a session that continues for weeks would otherwise collect them without limit.
const MAX_TAGS: usize = 16;

/// The memory of a session after merging a finding.
pub(crate) fn merge_session(known: Option<&SessionMemory>, found: &Finding) -> SessionMemory {
    let given = |(text, by): &(String, By)| AttributedText { text: text.clone(), by: *by, at: found.at };
    let (name, summary) = (given(&found.name), given(&found.summary));
    let mut merged = match known {
        Some(known) => SessionMemory {
            name: choose_text(&known.name, name, known.ended_at > found.ended_at),
            summary: choose_text(&known.summary, summary, known.ended_at > found.ended_at),
            ..known.clone()
        },
        None => SessionMemory {
            source: found.source.clone(),
            session_id: found.session_id.clone(),
            project: found.project.clone(),
            started_at: found.started_at,
            ended_at: found.ended_at,
            seen_by_model: Stamp::NONE,
            name,
            summary,
            tags: BTreeMap::new(),
            removed_tags: BTreeSet::new(),
            pinned: false,
        },
    };
    add_tags(&mut merged, found);
    // A model may have seen a different part of the session than the last derivation.
    match found.origin {
        Origin::User | Origin::Agent => merged.ended_at = merged.ended_at.max(found.ended_at),
        Origin::Model => merged.seen_by_model = merged.seen_by_model.max(found.ended_at),
    }
    if merged.project.is_empty() {
        merged.project.clone_from(&found.project);
    }
    merged
}

fn choose_text(known: &AttributedText, new: AttributedText, is_late: bool) -> AttributedText {
    let keeps = known.by == By::Person || known.by > new.by || new.text.is_empty();
    let same = known.by == new.by && (is_late || known.text == new.text);
    if keeps || same { known.clone() } else { new }
}

fn add_tags(merged: &mut SessionMemory, found: &Finding) {
    for tag in found.tags.iter().map(|tag| normalise_tag(tag)).filter(|tag| !tag.is_empty()) {
        if merged.removed_tags.contains(&tag) {
            continue;
        }
        let has_capacity = merged.tags.len() < MAX_TAGS;
        match merged.tags.get_mut(&tag) {
            Some(by) => *by = (*by).max(found.tagged_by),
            None if has_capacity => drop(merged.tags.insert(tag, found.tagged_by)),
            None => {}
        }
    }
}

/// The known fact that a model states in words of its own: it cites the same message and has most of its words.
pub(crate) fn restated_fact<'a>(known: &'a [Fact], found: &Finding, noted: &NotedFact) -> Option<&'a Fact> {
    let cites = |one: &Evidence| {
        (&one.source, &one.session_id) == (&found.source, &found.session_id)
            && noted.evidence.contains(&one.message_id)
    };
    let said = content_words(&fold(&noted.text));
    let closeness = |fact: &Fact| {
        let words = content_words(&fold(&fact.text));
        (words.intersection(&said).count(), words.len().min(said.len()))
    };
    known
        .iter()
        .filter(|fact| fact.evidence.iter().any(cites))
        .map(|fact| (closeness(fact), fact))
        .filter(|((shared, smaller), _)| *shared >= 2 && shared * 5 >= smaller * 3)
        .max_by_key(|((shared, _), fact)| (*shared, &fact.id))
        .map(|(_, fact)| fact)
}

/// A fact after it was found in a session.
pub(crate) fn merge_fact(known: Option<&Fact>, found: &Finding, noted: &NotedFact) -> Fact {
    let to_evidence = |message: &String| Evidence {
        source: found.source.clone(),
        session_id: found.session_id.clone(),
        message_id: message.clone(),
    };
    let origin = if noted.is_by_agent { found.origin.min(Origin::Agent) } else { found.origin };
    let mut merged = known.cloned().unwrap_or_else(|| Fact {
        id: fact_id(&found.project, &noted.text),
        text: noted.text.clone(),
        state: noted.state,
        origin,
        evidence: BTreeSet::new(),
        symbols: BTreeSet::new(),
        project: found.project.clone(),
        pinned: false,
        edited: false,
        edited_at: Stamp::NONE,
        made_at: Stamp::NONE,
        kind: noted.kind,
        subject: noted.subject.clone(),
        superseded_by: None,
    });
    // A fact is dated by the message that states it: a run over old transcripts does not make it newer.
    let elsewhere = |one: &Evidence| (&one.source, &one.session_id) != (&found.source, &found.session_id);
    let may_be = |at: &Stamp| *at <= found.ended_at || merged.evidence.iter().any(elsewhere);
    let before = Some(merged.made_at).filter(may_be).unwrap_or(Stamp::NONE);
    merged.made_at = noted.stated_at.or(found.ended_at).max(before);
    merged.evidence.extend(noted.evidence.iter().map(to_evidence));
    if !merged.edited {
        merged.symbols.extend(noted.symbols.iter().cloned());
        // If the user states what a model had inferred, the reason to hold it for review no longer applies.
        if origin > merged.origin {
            (merged.origin, merged.state) = (origin, noted.state);
        }
        if origin >= merged.origin {
            (merged.kind, merged.subject) = (noted.kind, noted.subject.clone());
        }
        // The words stay the person's; what they are, a model tells better than the derivation.
        if found.origin == Origin::Model {
            merged.kind = noted.kind;
        }
    }
    merged
}

/// A session merged from two memories. Text that a person wrote in ours is kept.
pub(crate) fn merge_imported_session(ours: Option<&SessionMemory>, theirs: &SessionMemory) -> SessionMemory {
    let Some(ours) = ours else { return theirs.clone() };
    let is_late = ours.ended_at >= theirs.ended_at;
    let mut merged = SessionMemory {
        name: choose_text(&ours.name, theirs.name.clone(), is_late),
        summary: choose_text(&ours.summary, theirs.summary.clone(), is_late),
        ended_at: ours.ended_at.max(theirs.ended_at),
        seen_by_model: ours.seen_by_model.max(theirs.seen_by_model),
        pinned: ours.pinned || theirs.pinned,
        ..ours.clone()
    };
    for (tag, by) in theirs.tags.iter().filter(|(tag, _)| !ours.removed_tags.contains(*tag)) {
        let known = merged.tags.entry(tag.clone()).or_insert(*by);
        *known = (*known).max(*by);
    }
    for tag in theirs.removed_tags.iter().filter(|tag| merged.tags.get(*tag) != Some(&By::Person)) {
        merged.removed_tags.insert(tag.clone());
    }
    merged.tags.retain(|tag, _| !merged.removed_tags.contains(tag));
    merged
}

/// A fact merged from two memories. A fact that is new here and reads like an instruction awaits review here too, even
/// if it was accepted elsewhere.
pub(crate) fn merge_imported_fact(ours: Option<&Fact>, mut theirs: Fact) -> Fact {
    let Some(ours) = ours else {
        if is_instruction(&theirs.text) && theirs.state != State::Retired {
            theirs.state = State::Review;
        }
        return theirs;
    };
    let mut merged = if theirs.edited && !ours.edited {
        let order = is_instruction(&theirs.text) && theirs.state != State::Retired;
        let state = if order { State::Review } else { theirs.state };
        Fact { text: theirs.text, state, edited: true, edited_at: theirs.edited_at, ..ours.clone() }
    } else {
        ours.clone()
    };
    merged.evidence.append(&mut theirs.evidence);
    merged.symbols.append(&mut theirs.symbols);
    merged.origin = merged.origin.max(theirs.origin);
    merged.pinned |= theirs.pinned;
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_better_name_replaces_a_worse_one_and_a_persons_stays() {
        let worded = |text: &str, by| AttributedText { text: text.into(), by, at: Stamp(1) };
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
            let merged = choose_text(&worded(known.0, known.1), worded(new.0, new.1), is_late);
            assert_eq!(merged.text, kept, "{known:?} {new:?}");
        }
    }
}
