//! A session: one conversation with one agent, or one subagent's part in it.

use crate::{Cell, Record, Stamp};
use std::path::Path;
use std::sync::Arc;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TitleOrigin {
    /// The person named it.
    Custom,
    /// The agent named it.
    Agent,
    /// Neither did: it is the beginning of the first prompt.
    FirstPrompt,
}

impl TitleOrigin {
    pub fn from_name(word: &str) -> Option<TitleOrigin> {
        let all = [TitleOrigin::Custom, TitleOrigin::Agent, TitleOrigin::FirstPrompt];
        all.into_iter().find(|origin| origin.as_str() == word)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            TitleOrigin::Custom => "custom",
            TitleOrigin::Agent => "agent",
            TitleOrigin::FirstPrompt => "first_prompt",
        }
    }
}

/// The properties of a session once its transcript has been read. The counts exclude copies.
#[derive(Clone, Debug)]
pub struct Session {
    pub session_id: Arc<str>,
    pub source: &'static str,
    pub project: Arc<str>,
    pub cwd: Arc<str>,
    pub git_branch: Arc<str>,
    pub version: Arc<str>,
    pub title: Option<(Arc<str>, TitleOrigin)>,
    pub started_at: Stamp,
    pub ended_at: Stamp,
    pub turns: u32,
    pub tool_calls: u32,
    pub errors: u32,
    pub models: Vec<Arc<str>>,
    pub parent_session_id: Option<Arc<str>>,
    pub agent_id: Option<Arc<str>>,
}

impl Session {
    pub fn new(source: &'static str, session_id: &str) -> Session {
        let none: Arc<str> = Arc::from("");
        Session {
            session_id: Arc::from(session_id),
            source,
            project: none.clone(),
            cwd: none.clone(),
            git_branch: none.clone(),
            version: none,
            title: None,
            started_at: Stamp::NONE,
            ended_at: Stamp::NONE,
            turns: 0,
            tool_calls: 0,
            errors: 0,
            models: Vec::new(),
            parent_session_id: None,
            agent_id: None,
        }
    }

    /// Whether `--session` selects it: by a prefix of its own id or of its agent's.
    pub fn matches_prefix(&self, prefix: &str) -> bool {
        let agent = self.agent_id.as_deref().unwrap_or("");
        self.session_id.starts_with(prefix)
            || (!agent.is_empty() && agent.starts_with(prefix.trim_start_matches("agent-")))
    }

    /// Where the session took place: its project, or the directory it was started in.
    pub fn directory(&self) -> &str {
        if self.project.is_empty() { &self.cwd } else { &self.project }
    }

    /// The title; empty if the session has none.
    pub fn title_text(&self) -> &str {
        self.title.as_ref().map_or("", |(title, _)| title)
    }

    /// Whether the session took place in a directory or below it.
    pub fn is_within(&self, directory: &Path) -> bool {
        let below = |path: &str| !path.is_empty() && Path::new(path).starts_with(directory);
        below(&self.project) || below(&self.cwd)
    }

    /// The session as a record. `named` is a name from elsewhere and who gave it; it takes the place of the title.
    pub fn to_record(&self, named: Option<(String, &'static str)>) -> Record<'_> {
        let own = || self.title.as_ref().map(|(title, origin)| (title.to_string(), origin.as_str()));
        let (title, origin) = named.or_else(own).unzip();
        let text = |s: &'_ Arc<str>| Cell::text(s.to_string());
        let some = |s: &'_ Arc<str>| if s.is_empty() { Cell::Null } else { text(s) };
        let models = self.models.iter().map(text).collect();
        vec![
            ("session_id", text(&self.session_id)),
            ("source", Cell::text(self.source)),
            ("project", some(&self.project)),
            ("cwd", some(&self.cwd)),
            ("git_branch", some(&self.git_branch)),
            ("title", Cell::opt(title, Cell::text)),
            ("title_origin", Cell::opt(origin, Cell::text)),
            ("started_at", Cell::Time(self.started_at)),
            ("ended_at", Cell::Time(self.ended_at)),
            ("turns", Cell::count(self.turns)),
            ("tool_calls", Cell::count(self.tool_calls)),
            ("errors", Cell::count(self.errors)),
            ("models", Cell::List(models)),
            ("parent_session_id", Cell::opt(self.parent_session_id.as_ref(), text)),
            ("agent_id", Cell::opt(self.agent_id.as_ref(), text)),
            ("version", some(&self.version)),
        ]
    }
}
