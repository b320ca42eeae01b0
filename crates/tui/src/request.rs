//! The requests of the browser, and how each is answered by operations and views.
//!
//! Does not know which screen asks, nor on which thread the answer is computed.

use crate::backend::Backend;
use crate::filters::Filters;
use api::gather_chats::{GatherChats, Gathered, OneChat};
use api::memory::{
    AcceptMemory, EditMemory, ListMemory, Memories, MemoryShown, PinMemory, RetireMemory, ShowMemory,
};
use api::project::ListProjects;
use api::search::{ChatFound, Intent, SearchConversations, SearchFound};
use api::sessions::{ListSessions, SessionLine, Sessions};
use api::why::{Why, WhyFound};
use api::{Code, Error, Handle, ViewRequest, view_named};
use render::format::format_money;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Query {
    Search { words: String, filters: Filters, limit: u64, passages: u32 },
    Sessions { filters: Filters, limit: u64 },
    Session { id: String },
    Choices,
    Memories { words: String, state: Option<String>, project: Option<String>, limit: u64 },
    Memory { id: String },
    Change(Change),
    Export { id: String, path: PathBuf },
    Errors { filters: Filters },
    Occurrences { signature: String, filters: Filters },
    Usage { by: &'static str, filters: Filters },
    Why { target: String },
}

/// A change to memory by a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Accept(String),
    Retire(String),
    Pin { id: String, off: bool },
    Edit { id: String, is_fact: bool, text: String },
}

#[derive(Debug)]
pub(crate) enum Answer {
    Search(SearchFound),
    Sessions(Sessions),
    Session(Box<OneChat>),
    Choices(Choices),
    Memories(Memories),
    Memory(Box<MemoryShown>),
    Changed(String),
    Exported(PathBuf),
    Errors(Vec<ErrorGroup>),
    Occurrences(Vec<Occurrence>),
    Usage(Vec<UsageLine>),
    Why(Box<WhyFound>),
}

/// The values of the filters that depend on the history.
#[derive(Debug, Default)]
pub(crate) struct Choices {
    pub(crate) agents: Vec<String>,
    pub(crate) projects: Vec<String>,
}

/// A record of `analyze errors`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ErrorGroup {
    pub(crate) signature: String,
    pub(crate) tool: String,
    pub(crate) count: u64,
    pub(crate) sessions: u64,
    pub(crate) first_at: Option<String>,
    pub(crate) last_at: Option<String>,
    pub(crate) message: String,
}

/// A record of `query errors`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Occurrence {
    pub(crate) timestamp: Option<String>,
    pub(crate) session_id: String,
    pub(crate) source: String,
    pub(crate) project: Option<String>,
    pub(crate) message: Option<String>,
    pub(crate) input: Value,
}

/// A record of `usage`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct UsageLine {
    pub(crate) day: Option<String>,
    pub(crate) week: Option<String>,
    pub(crate) month: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) project: Option<String>,
    pub(crate) source: Option<String>,
    pub(crate) messages: u64,
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) cache_read: u64,
    pub(crate) cache_write: u64,
    pub(crate) cost_usd: Option<f64>,
    /// Replies of models without a price.
    pub(crate) unpriced: Option<u64>,
}

impl UsageLine {
    pub(crate) fn money(&self) -> String {
        format_money(self.cost_usd.unwrap_or(0.0), self.unpriced.unwrap_or(0))
    }
}

/// Occurrences of an error that are listed.
const OCCURRENCES: u64 = 20;
/// More projects than a person chooses from.
const PROJECTS: u64 = 1000;
/// Characters around a match: a preview of a few lines.
const SNIPPET_WINDOW: u32 = 240;

impl Query {
    /// Whether the answer may need to read the whole history. Such a request does not delay the others.
    pub(crate) fn is_slow(&self) -> bool {
        matches!(
            self,
            Query::Choices
                | Query::Errors { .. }
                | Query::Occurrences { .. }
                | Query::Usage { .. }
                | Query::Why { .. }
        )
    }

    /// Whether a later request of the same kind makes this one pointless.
    pub(crate) fn is_replaced_by(&self, later: &Query) -> bool {
        let is_effect = matches!(self, Query::Change(_) | Query::Export { .. });
        !is_effect && self.is_same_kind(later)
    }

    pub(crate) fn is_same_kind(&self, other: &Query) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    pub(crate) fn answer(&self, backend: &dyn Backend) -> Result<Answer, Error> {
        let operations = backend.operations();
        match self {
            Query::Search { words, filters, limit, .. } if words.is_empty() => {
                newest_sessions(backend, filters, *limit).map(Answer::Search)
            }
            Query::Search { words, filters, limit, passages } => {
                let request = search_request(words, filters, *limit, *passages);
                Handle::<SearchConversations>::handle(operations, &request).map(Answer::Search)
            }
            Query::Sessions { filters, limit } => {
                let mut request = ListSessions { limit: *limit, ..ListSessions::default() };
                filters.limit_sessions(&mut request);
                Handle::<ListSessions>::handle(operations, &request).map(Answer::Sessions)
            }
            Query::Session { id } => read_session(backend, id),
            Query::Choices => read_choices(backend).map(Answer::Choices),
            Query::Memories { words, state, project, limit } => {
                let query = Some(words.trim().to_string()).filter(|words| !words.is_empty());
                let (state, project) = (state.clone(), project.clone());
                let request = ListMemory { query, state, project, limit: *limit, ..ListMemory::default() };
                Handle::<ListMemory>::handle(operations, &request).map(Answer::Memories)
            }
            Query::Memory { id } => {
                let shown = Handle::<ShowMemory>::handle(operations, &ShowMemory { id: id.clone() });
                shown.map(|shown| Answer::Memory(Box::new(shown)))
            }
            Query::Change(change) => change.apply(backend).map(Answer::Changed),
            Query::Export { id, path } => backend.export_session(id, path).map(Answer::Exported),
            Query::Errors { filters } => {
                read_records(backend, "analyze", "errors", &filters.view_request()).map(Answer::Errors)
            }
            Query::Occurrences { signature, filters } => {
                let (signature, limit) = (Some(signature.clone()), Some(OCCURRENCES));
                let request = ViewRequest { signature, limit, ..filters.view_request() };
                read_records(backend, "query", "errors", &request).map(Answer::Occurrences)
            }
            Query::Usage { by, filters } => {
                let request = ViewRequest { by: Some((*by).to_string()), ..filters.view_request() };
                read_records(backend, "", "usage", &request).map(Answer::Usage)
            }
            Query::Why { target } => {
                let request = Why { target: target.clone(), budget: 20_000, ..Why::default() };
                Handle::<Why>::handle(operations, &request).map(|found| Answer::Why(Box::new(found)))
            }
        }
    }
}

fn search_request(words: &str, filters: &Filters, limit: u64, passages: u32) -> SearchConversations {
    let mut request = SearchConversations {
        intent_query: Intent(vec![words.to_string()]),
        limit_chats: limit as u32, // at most MOST_CHATS
        limit_snippets_per_chat: passages,
        snippet_window: SNIPPET_WINDOW,
        include_guidance: false,
        ..SearchConversations::default()
    };
    filters.limit_search(&mut request);
    request
}

/// Without words, the newest sessions in the form of a search result.
fn newest_sessions(backend: &dyn Backend, filters: &Filters, limit: u64) -> Result<SearchFound, Error> {
    let mut request = ListSessions { limit, ..ListSessions::default() };
    filters.limit_sessions(&mut request);
    let listed = Handle::<ListSessions>::handle(backend.operations(), &request)?;
    let results = listed.sessions.into_iter().map(session_to_found).collect();
    Ok(SearchFound { results, total_chats: listed.total, notes: listed.notes, ..SearchFound::default() })
}

fn session_to_found(line: SessionLine) -> ChatFound {
    ChatFound {
        chat_id: line.chat_id,
        title: line.title,
        time_range: line.time_range,
        source: line.source,
        project: line.project,
        resume: line.resume,
        archived: line.archived,
        device: line.device,
        ..ChatFound::default()
    }
}

fn read_session(backend: &dyn Backend, id: &str) -> Result<Answer, Error> {
    let request = GatherChats { chat_ids: vec![id.to_string()], ..GatherChats::default() };
    match Handle::<GatherChats>::handle(backend.operations(), &request)? {
        Gathered::One(session) => Ok(Answer::Session(session)),
        Gathered::Several(_) => Err(Error::new(Code::InternalError, "one session was requested")),
    }
}

fn read_choices(backend: &dyn Backend) -> Result<Choices, Error> {
    let request = ListProjects { limit: PROJECTS, ..ListProjects::default() };
    let projects = Handle::<ListProjects>::handle(backend.operations(), &request)?.projects;
    let by_source = ViewRequest { by: Some("source".to_string()), ..Filters::default().view_request() };
    let sources: Vec<UsageLine> = read_records(backend, "", "stats", &by_source)?;
    let folder = |project: &api::project::Project| project.folders.first().map(|folder| folder.path.clone());
    Ok(Choices {
        agents: sources.into_iter().filter_map(|line| line.source).collect(),
        projects: projects.iter().filter_map(folder).collect(),
    })
}

fn read_records<T: DeserializeOwned>(
    backend: &dyn Backend,
    group: &str,
    name: &str,
    request: &ViewRequest,
) -> Result<Vec<T>, Error> {
    let missing = || Error::new(Code::InternalError, format!("no view `{group} {name}`"));
    let view = view_named(group, name).ok_or_else(missing)?;
    let invalid = |error| Error::new(Code::InternalError, format!("{name}: {error}"));
    let records = backend.read_view(view, request)?;
    records.into_iter().map(|record| serde_json::from_value(record).map_err(invalid)).collect()
}

impl Change {
    /// Makes the change; returns what to tell the person.
    fn apply(&self, backend: &dyn Backend) -> Result<String, Error> {
        let operations = backend.operations();
        let (changed, verb) = match self {
            Change::Accept(id) => {
                (Handle::<AcceptMemory>::handle(operations, &AcceptMemory { id: id.clone() })?, "accepted")
            }
            Change::Retire(id) => {
                (Handle::<RetireMemory>::handle(operations, &RetireMemory { id: id.clone() })?, "retired")
            }
            Change::Pin { id, off } => {
                let request = PinMemory { id: id.clone(), off: *off };
                let verb = if *off { "unpinned" } else { "pinned" };
                (Handle::<PinMemory>::handle(operations, &request)?, verb)
            }
            Change::Edit { id, is_fact, text } => {
                let (name, fact) = (text.clone(), text.clone());
                let (name, text) = if *is_fact { (None, Some(fact)) } else { (Some(name), None) };
                let request = EditMemory { id: id.clone(), name, text, ..EditMemory::default() };
                (Handle::<EditMemory>::handle(operations, &request)?, "changed")
            }
        };
        let id = &changed.memory.id;
        Ok(if changed.changed { format!("{verb} {id}") } else { format!("{id}: no change") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_never_replaced_by_a_later_one() {
        let change = Query::Change(Change::Accept("f-1".to_string()));
        assert!(!change.is_replaced_by(&Query::Change(Change::Accept("f-2".to_string()))));
        let search = |words: &str| Query::Search {
            words: words.to_string(),
            filters: Filters::default(),
            limit: 1,
            passages: 1,
        };
        assert!(search("a").is_replaced_by(&search("ab")));
        assert!(!search("a").is_replaced_by(&Query::Choices));
    }
}
