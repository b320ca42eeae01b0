//! Finds the earlier session that a prompt refers back to and builds a card for it. Most prompts get none.
//!
//! Reads no transcript until there is a card and takes no lock: unindexed sessions are not suggested. Does not know who
//! sees the card, nor what they choose.

mod summary;

use crate::Service;
use crate::session_names::{NamedSession, SessionNames};
use api::recommend::{Abstained, Card, Recommend, THRESHOLD};
use api::search::stamp_to_ms;
use catalogue::{ListedSession, Reader};
use history::projects::Projects;
use history::snapshot::open_both;
use history::tombstones::Tombstones;
use history::{event_ids, scope, transcripts};
use recommend::confidence::Evidence;
use recommend::identifier::is_inside_identifier;
use recommend::rank::{self, Sessions};
use recommend::reference::Reference;
use recommend::signs::Signs;
use recommend::{chinese, cue};
use record::{RowKind, Session, Stamp};
use search::{Index, Query, SearchResult};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Sessions requested from the search: the best one and its rivals.
const RIVALS: usize = 6;
const DAY: f64 = 86_400_000.0;
/// What remains of the confidence if half of the words were found only inside of identifiers.
const IN_IDENTIFIER: f64 = 0.8;

/// The prompt to find a suggestion for, and its context.
pub(crate) struct PromptContext<'a> {
    pub(crate) prompt: &'a str,
    pub(crate) session: Option<&'a str>,
    /// Include the requesting session in the search: if it matches best, the prompt refers to its visible context and no
    /// card is shown. Off for requests by an agent, because its own prompt is already recorded.
    pub(crate) include_own: bool,
    /// The working directory; sessions of its project are preferred.
    pub(crate) cwd: &'a Path,
    /// Only sessions of this project.
    pub(crate) only: Option<Vec<PathBuf>>,
}

/// What is searched: the index, and the session names in memory that match the subject.
struct SearchContext {
    reader: Reader,
    index: Index,
    subject: String,
    named: Vec<NamedSession>,
}

/// The best candidate, and the evidence for it.
pub(crate) struct Candidate {
    pub(crate) chat: ListedSession,
    pub(crate) evidence: Evidence,
    pub(crate) confidence: f64,
    reference: Reference,
    found: SearchResult,
    here: bool,
    reader: Reader,
}

impl Service {
    /// The inputs of the confidence model for a prompt, the candidate's session ID and its confidence; used to fit the model.
    #[doc(hidden)]
    pub fn confidence_inputs(&self, request: &Recommend) -> Option<(Vec<f32>, String, f64)> {
        let pick = self.best_candidate(&self.prompt_context(request)).ok()?;
        let inputs = pick.evidence.inputs();
        Some((inputs, pick.chat.session.session_id.to_string(), pick.confidence))
    }

    pub(crate) fn prompt_context<'a>(&'a self, request: &'a Recommend) -> PromptContext<'a> {
        PromptContext {
            prompt: &request.prompt,
            session: request.session.as_deref(),
            include_own: false,
            cwd: &self.cwd,
            only: request.project.as_ref().map(|named| scope::find_project(&self.history(), named)),
        }
    }

    /// The session to suggest for a prompt, or the reason for abstaining and the confidence if there was a candidate.
    pub(crate) fn find_suggestion(
        &self,
        context: &PromptContext<'_>,
        threshold: f64,
    ) -> Result<Candidate, (Abstained, Option<f64>)> {
        let pick = self.best_candidate(context).map_err(|why| (why, None))?;
        if pick.confidence < threshold {
            return Err((Abstained::Unsure, Some(pick.confidence)));
        }
        Ok(pick)
    }

    /// The best candidate, regardless of its confidence.
    pub(crate) fn best_candidate(&self, context: &PromptContext<'_>) -> Result<Candidate, Abstained> {
        let today = self.clock.local_fields(self.clock.now()).map_or((1, 1), |now| (now[1], now[2]));
        let signs = Signs::read(context.prompt);
        let supposed = || signs.may_refer().then(|| cue::suppose_reference(context.prompt)).flatten();
        let reference =
            cue::find_reference(context.prompt, today).or_else(supposed).ok_or(Abstained::NoReference)?;
        let (Ok((Some(reader), Some(index))), Some(home)) = (open_both(&self.history()), self.home()) else {
            return Err(Abstained::NothingKept);
        };
        let subject = chinese::split_words(&reference.subject, &|pair| index.frequency(pair));
        let named = SessionNames::load(self).find_named(&[&subject], Some(&reader));
        let ground = SearchContext { reader, index, subject, named };
        let project = Some(context.cwd).filter(|cwd| cwd.is_absolute());
        let project = project.map(|cwd| scope::project_folders(&self.history(), cwd)).unwrap_or_default();
        let is_here = |session: &Session| scope::is_within_any(session, &project);
        let mut found = self.look_up(&ground, &reference, context, &[])?;
        let reader = &ground.reader;
        let of = |chat: u32| load_session(reader, chat).map(|chat| chat.session);
        let sessions = Sessions { load: &of, is_here: &is_here };
        let tied = rank::find_ties(&found.chats, &sessions);
        // A second search doubles the cost: only if a tied session other than the first is preferred.
        if let Some((meant, others)) = tied.split_first().filter(|(meant, _)| **meant != found.chats[0].chat)
        {
            found = self.look_up(&ground, &reference, context, others)?;
            found.chats.sort_by_key(|hit| hit.chat != *meant);
        }
        let first = found.chats.first().ok_or(Abstained::NothingFound)?;
        let own = context.session.is_some_and(|id| session_numbers(reader, id).contains(&first.chat));
        if own {
            return Err(Abstained::OwnSession);
        }
        let chat = load_session(reader, first.chat).ok_or(Abstained::NothingFound)?;
        let forgotten = Tombstones::read(Some(&home)).map_err(|_| Abstained::NothingFound)?;
        if forgotten.contains(chat.session.source, &chat.session.session_id) {
            return Err(Abstained::NothingFound);
        }
        let here = is_here(&chat.session);
        let margin = rank::lead_margin(&found.chats, &tied, here, &sessions);
        let dated = reference.time.is_some();
        let (plain, cued, again) = (reference.plain, reference.cued, tied.len() > 1);
        let age = (self.clock.now().0 - chat.session.ended_at.0) as f64 / DAY;
        let evidence = Evidence {
            of: found.evidence,
            margin,
            here,
            dated,
            again,
            plain,
            cued,
            signs,
            age: age.max(0.0) as f32,
        };
        // Four digits, as for a search: the order in which segments were written changes the seventh.
        let confidence = (f64::from(evidence.confidence()) * 10_000.0).round() / 10_000.0;
        let reader = ground.reader;
        let mut pick = Candidate { chat, evidence, confidence, reference, found, here, reader };
        if pick.confidence >= THRESHOLD && self.matches_identifier_only(&pick) {
            pick.confidence *= IN_IDENTIFIER;
        }
        Ok(pick)
    }

    /// Whether half of the prompt's words occur in the best passages only inside of identifiers: `DATABASE_URL` is not about the
    /// choice of a database.
    fn matches_identifier_only(&self, pick: &Candidate) -> bool {
        let mut is_free: BTreeMap<String, bool> = BTreeMap::new();
        for text in self.matched_texts(pick) {
            let cut = search::snippet(&text, &pick.found.terms, text.len());
            for place in &cut.highlights {
                let word = cut.text[place.clone()].to_lowercase();
                *is_free.entry(word).or_default() |= !is_inside_identifier(&cut.text, place.clone());
            }
        }
        // One of many words inside an identifier says nothing against the others.
        let inside = is_free.values().filter(|is_free| !**is_free).count();
        inside > 0 && inside * 2 >= is_free.len()
    }

    /// The name and the best passages of a candidate.
    fn matched_texts(&self, pick: &Candidate) -> Vec<String> {
        let best = pick.found.chats.first().into_iter().flat_map(|hit| &hit.events);
        let texts = best.filter_map(|event| self.text_of(&pick.reader, event.event));
        let session = &pick.chat.session;
        let names = [session.title_text().to_string(), SessionNames::load(self).name_and_tags(session)];
        texts.chain(names).collect()
    }

    fn look_up(
        &self,
        ground: &SearchContext,
        reference: &Reference,
        context: &PromptContext<'_>,
        but: &[u32],
    ) -> Result<SearchResult, Abstained> {
        let SearchContext { reader, index, subject, named } = ground;
        let own = context
            .session
            .filter(|_| !context.include_own)
            .map(|id| session_numbers(reader, id))
            .unwrap_or_default();
        let only = context.only.as_deref().map(|project| project_sessions(reader, project));
        let may = |chat: u32| {
            !own.contains(&chat)
                && !but.contains(&chat)
                && only.as_ref().is_none_or(|only| only.contains(&chat))
        };
        let ago = |days: f64| self.clock.now().0 - (days * DAY) as i64;
        let query = Query {
            from: reference.time.as_ref().map(|time| ago(time.days.1)),
            to: Some(reference.time.as_ref().map_or(self.clock.now().0, |time| ago(time.days.0))),
            allowed: Some(&may),
            limit_chats: RIVALS,
            skip_common: true,
            ..Query::new(subject)
        };
        let named: Vec<_> = named.iter().map(NamedSession::to_doc).collect();
        index.find(&query, &named).map_err(|_| Abstained::NothingKept)
    }

    /// The name in memory, or else the title.
    fn display_name(&self, session: &Session) -> String {
        let kept = self.session_memory(&session.session_id).map(|known| known.name.text);
        let kept = kept.filter(|name| !name.trim().is_empty());
        api::terminal_text::one_line(&kept.unwrap_or_else(|| session.title_text().to_string()))
    }

    /// The beginning of the summary that the second choice would bring in.
    pub(crate) fn preview_summary(&self, pick: &Candidate) -> String {
        self.summarize_session(&pick.reader, &pick.chat).preview()
    }

    pub(crate) fn build_card(&self, pick: &Candidate, english: bool) -> Card {
        let session = &pick.chat.session;
        let project = session.directory();
        let folder = Projects::load(&self.history()).present_folder(project);
        Card {
            chat_id: session.session_id.to_string(),
            name: self.display_name(session),
            date: stamp_to_ms(session.ended_at),
            source: session.source.to_string(),
            project: (!project.is_empty()).then(|| project.to_string()),
            why: self.match_reasons(pick, english),
            confidence: pick.confidence,
            resume: api::resume_command(session.source, &folder, &session.session_id)
                .filter(|_| !pick.chat.gone),
            preview: String::new(),
        }
    }

    /// The matched words as they occur in the session, then time and project.
    fn match_reasons(&self, pick: &Candidate, english: bool) -> Vec<String> {
        let mut words = BTreeSet::new();
        for text in self.matched_texts(pick) {
            let cut = search::snippet(&text, &pick.found.terms, WIDTH);
            words.extend(cut.highlights.iter().map(|place| cut.text[place.clone()].to_lowercase()));
        }
        let mut why: Vec<String> =
            words.into_iter().filter(|word| !word.trim().is_empty()).take(WORDS).collect();
        let (when, here) = if english { ("time: ", "this project") } else { ("时间：", "当前项目") };
        why.extend(pick.reference.time.as_ref().map(|time| format!("{when}{}", time.words)));
        why.extend(pick.here.then(|| here.to_string()));
        why
    }

    fn text_of(&self, reader: &Reader, event: u64) -> Option<String> {
        if let Some(number) = event_ids::title_session(event) {
            return reader.session_title(number).ok()?;
        }
        let (_, row) = reader.events_by_id(&[event]).ok()?.pop()?;
        let stored = reader.file_by_id(catalogue::split_event_id(event).0).ok()??;
        let transcript = transcripts::as_readable(&self.history(), &stored)?;
        // Tool output may be megabytes long and says least about the subject.
        (row.row == RowKind::Message)
            .then(|| self.history().read_text(&transcript, &row))
            .flatten()
            .map(|(_, text)| text)
    }
}

/// Matched words shown on a card, and the width of the excerpts they are taken from.
const WORDS: usize = 8;
const WIDTH: usize = 400;

pub(crate) fn session_numbers(reader: &Reader, id: &str) -> Vec<u32> {
    if id.is_empty() {
        return Vec::new();
    }
    reader
        .sessions_with_prefix(id, 8)
        .map(|all| all.into_iter().map(|c| c.chat).collect())
        .unwrap_or_default()
}

fn project_sessions(reader: &Reader, folders: &[PathBuf]) -> BTreeSet<u32> {
    let listed = catalogue::SessionFilter { folders, limit: u64::MAX, ..catalogue::SessionFilter::default() };
    reader
        .newest_sessions(&listed)
        .map(|chats| chats.iter().map(|chat| chat.id).collect())
        .unwrap_or_default()
}

pub(crate) fn load_session(reader: &Reader, chat: u32) -> Option<ListedSession> {
    reader.sessions_of_chat(chat).ok()?.into_iter().next()
}

/// The local date.
pub(crate) fn local_date(service: &Service, at: Option<i64>) -> String {
    at.and_then(|at| service.clock.local_fields(Stamp(at)))
        .map_or_else(String::new, |[year, month, day, ..]| format!("{year}-{month:02}-{day:02}"))
}
