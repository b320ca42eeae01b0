//! Sessions and facts of memory as they are written into documents and records. The form is defined here, so that a change of the
//! store does not change what was written before.
//!
//! Does not know where a document goes.

use api::memory::{KeptEvidence, KeptFact, KeptSession, KeptTag, KeptWords};
use api::search::stamp_to_ms;
use memory::{AttributedText, By, Evidence, Fact, Kind, Origin, SessionMemory, State, Subject};
use record::Stamp;

/// The collection of the records of sessions.
pub(crate) const SESSIONS: &str = "names";

fn export_words(words: &AttributedText) -> KeptWords {
    KeptWords { text: words.text.clone(), by: words.by.word().to_string(), at: stamp_to_ms(words.at) }
}

pub fn export_session(one: &SessionMemory) -> KeptSession {
    let tag = |(tag, by): (&String, &By)| KeptTag { tag: tag.clone(), by: by.word().to_string() };
    KeptSession {
        source: one.source.clone(),
        chat_id: one.session_id.clone(),
        project: one.project.clone(),
        started_at: stamp_to_ms(one.started_at),
        ended_at: stamp_to_ms(one.ended_at),
        seen_by_model: stamp_to_ms(one.seen_by_model),
        name: export_words(&one.name),
        summary: export_words(&one.summary),
        tags: one.tags.iter().map(tag).collect(),
        removed_tags: one.removed_tags.clone(),
        pinned: one.pinned,
    }
}

pub fn export_fact(fact: &Fact) -> KeptFact {
    let evidence = |one: &Evidence| KeptEvidence {
        source: one.source.clone(),
        chat_id: one.session_id.clone(),
        message_id: one.message_id.clone(),
    };
    KeptFact {
        id: fact.id.clone(),
        text: fact.text.clone(),
        state: fact.state.word().to_string(),
        origin: fact.origin.word().to_string(),
        evidence: fact.evidence.iter().map(evidence).collect(),
        symbols: fact.symbols.clone(),
        project: fact.project.clone(),
        pinned: fact.pinned,
        edited: fact.edited,
        edited_at: stamp_to_ms(fact.edited_at),
        made_at: stamp_to_ms(fact.made_at),
        kind: fact.kind.word().to_string(),
        superseded_by: fact.superseded_by.clone(),
    }
}

fn to_stamp(ms: Option<i64>) -> Stamp {
    ms.map_or(Stamp::NONE, Stamp)
}

/// Parses an enum word, or reports the invalid value.
fn parse_word<T>(name: &str, word: &str, from: impl Fn(&str) -> Option<T>) -> Result<T, String> {
    from(word).ok_or_else(|| format!("invalid `{name}`: `{word}`"))
}

fn import_words(words: KeptWords) -> Result<AttributedText, String> {
    Ok(AttributedText {
        text: words.text,
        by: parse_word("by", &words.by, By::from_word)?,
        at: to_stamp(words.at),
    })
}

pub fn import_session(one: KeptSession) -> Result<SessionMemory, String> {
    let tag = |tag: KeptTag| Ok::<_, String>((tag.tag, parse_word("by", &tag.by, By::from_word)?));
    Ok(SessionMemory {
        source: one.source,
        session_id: one.chat_id,
        project: one.project,
        started_at: to_stamp(one.started_at),
        ended_at: to_stamp(one.ended_at),
        seen_by_model: to_stamp(one.seen_by_model),
        name: import_words(one.name)?,
        summary: import_words(one.summary)?,
        tags: one.tags.into_iter().map(tag).collect::<Result<_, _>>()?,
        removed_tags: one.removed_tags,
        pinned: one.pinned,
    })
}

pub fn import_fact(one: KeptFact) -> Result<Fact, String> {
    let evidence = |one: KeptEvidence| Evidence {
        source: one.source,
        session_id: one.chat_id,
        message_id: one.message_id,
    };
    if !one.id.starts_with("f-") {
        return Err(format!("`{}` is not a fact ID", one.id));
    }
    Ok(Fact {
        id: one.id,
        text: one.text,
        state: parse_word("state", &one.state, State::from_word)?,
        origin: parse_word("origin", &one.origin, Origin::from_word)?,
        evidence: one.evidence.into_iter().map(evidence).collect(),
        symbols: one.symbols,
        project: one.project,
        pinned: one.pinned,
        edited: one.edited,
        edited_at: to_stamp(one.edited_at),
        made_at: to_stamp(one.made_at),
        kind: if one.kind.is_empty() {
            Kind::Decision
        } else {
            parse_word("kind", &one.kind, Kind::from_word)?
        },
        subject: Subject::default(),
        superseded_by: one.superseded_by,
    })
}
