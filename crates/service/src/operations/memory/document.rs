//! Exports all memory as one document, and imports it. The format is defined here, so that a change of the store does not
//! change exported documents.
//!
//! Does not export forgotten items: a document that names them would preserve them.

use crate::{Service, memory_store};
use api::memory::{
    ExportMemory, FORMAT, ImportMemory, KeptEvidence, KeptFact, KeptSession, KeptTag, KeptWords,
    MemoryDocument, MemoryImported, VERSION,
};
use api::search::stamp_to_ms;
use api::{Code, Error, Handle, Request};
use history::tombstones::Tombstones;
use memory::{AttributedText, By, Evidence, Fact, Kind, Origin, SessionMemory, State, Subject};
use record::Stamp;

impl Handle<ExportMemory> for Service {
    fn handle(&self, request: &ExportMemory) -> Result<MemoryDocument, Error> {
        request.check_params()?;
        let (sessions, facts) = match memory_store::open_existing(self)? {
            Some(store) => store.load_all().map_err(|error| memory_store::store_error(&error))?,
            None => (Vec::new(), Vec::new()),
        };
        Ok(MemoryDocument {
            format: FORMAT.to_string(),
            version: VERSION,
            sessions: sessions.iter().map(export_session).collect(),
            facts: facts.iter().map(export_fact).collect(),
        })
    }
}

impl Handle<ImportMemory> for Service {
    fn handle(&self, request: &ImportMemory) -> Result<MemoryImported, Error> {
        request.check_params()?;
        let path = self.cwd.join(&request.file);
        let wrong = |why: String| {
            Error::new(Code::InvalidArgument, format!("{}: {why}", path.display()))
                .hint("loci memory export > memory.json")
        };
        let text = std::fs::read_to_string(&path)
            .map_err(|error| Error::new(Code::ReadError, format!("{}: {error}", path.display())))?;
        let document: MemoryDocument =
            serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        if (document.format.as_str(), document.version) != (FORMAT, VERSION) {
            return Err(wrong(format!(
                "unsupported format {} {}, expected {FORMAT} {VERSION}",
                document.format, document.version
            )));
        }
        let gone = Tombstones::read(self.home().as_ref());
        let mut sessions = document
            .sessions
            .into_iter()
            .map(import_session)
            .collect::<Result<Vec<_>, _>>()
            .map_err(wrong)?;
        let mut facts =
            document.facts.into_iter().map(import_fact).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
        // Forgotten sessions stay forgotten on import too.
        let before = sessions.len() + facts.len();
        sessions.retain(|one| !gone.contains(&one.source, &one.session_id));
        for fact in &mut facts {
            let rests = !fact.evidence.is_empty();
            fact.evidence.retain(|one| !gone.contains(&one.source, &one.session_id));
            fact.text = if rests && fact.evidence.is_empty() {
                String::new()
            } else {
                self.history().mask_line(&fact.text)
            };
            fact.symbols = fact.symbols.iter().map(|symbol| self.history().mask_line(symbol)).collect();
        }
        facts.retain(|fact| !fact.text.is_empty());
        let left_out = (before - sessions.len() - facts.len()) as u64;
        // A document may come from any machine, so its text is masked.
        for one in &mut sessions {
            one.name.text = self.history().mask_line(&one.name.text);
            one.summary.text = self.history().mask_line(&one.summary.text);
            one.tags = one
                .tags
                .iter()
                .map(|(tag, by)| (memory::normalise_tag(&self.history().mask_line(tag)), *by))
                .collect();
        }
        let imported = memory_store::open(self)?
            .import_memory(&sessions, &facts)
            .map_err(|error| memory_store::store_error(&error))?;
        Ok(MemoryImported {
            sessions: imported.sessions,
            facts: imported.facts,
            unchanged: imported.unchanged,
            forgotten: imported.forgotten + left_out,
        })
    }
}

fn export_words(words: &AttributedText) -> KeptWords {
    KeptWords { text: words.text.clone(), by: words.by.word().to_string(), at: stamp_to_ms(words.at) }
}

fn export_session(one: &SessionMemory) -> KeptSession {
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

fn export_fact(fact: &Fact) -> KeptFact {
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

fn import_session(one: KeptSession) -> Result<SessionMemory, String> {
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

fn import_fact(one: KeptFact) -> Result<Fact, String> {
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
        made_at: to_stamp(one.made_at),
        kind: Kind::from_word(&one.kind).unwrap_or(Kind::Decision),
        subject: Subject::default(),
        superseded_by: one.superseded_by,
    })
}
