//! A session that the repository itself names, in a note of git-ai or a checkpoint of Entire.
//!
//! Does not know whether the session is recorded here.

use crate::attestation::CheckpointPrompt;
use provenance::note::NotedSession;

/// What says that a session made something, besides the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NamedBy {
    Note,
    Checkpoint,
    /// The output of the session's own `git commit`.
    Commit,
}

impl NamedBy {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            NamedBy::Note => "git-ai note",
            NamedBy::Checkpoint => "Entire checkpoint",
            NamedBy::Commit => "git commit",
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct NamedSession {
    /// The agent's ID of the session, or the note's key if that is all there is.
    pub(crate) id: String,
    pub(crate) source: String,
    pub(crate) model: Option<String>,
    /// What was asked for, as far as the repository has it.
    pub(crate) prompt: String,
    noted: Option<NotedSession>,
}

impl NamedSession {
    pub(crate) fn from_note(noted: &NotedSession) -> NamedSession {
        let id = if noted.id.is_empty() { &noted.key } else { &noted.id };
        NamedSession {
            id: id.clone(),
            source: noted.tool.clone(),
            model: noted.model.clone(),
            prompt: noted.prompt.clone(),
            noted: Some(noted.clone()),
        }
    }

    pub(crate) fn from_checkpoint(found: &CheckpointPrompt) -> NamedSession {
        let (id, source) = (found.session.id.clone(), found.session.agent.clone());
        NamedSession { id, source, prompt: found.prompt.clone(), ..NamedSession::default() }
    }

    pub(crate) fn is_same(&self, other: &NamedSession) -> bool {
        self.id == other.id
    }

    /// Whether it is a recorded session. Where git-ai has another name for a source, the first part of the source's name is it.
    pub(crate) fn is_session(&self, source: &str, id: &str) -> bool {
        let tools = [source, source.split('-').next().unwrap_or(source)];
        self.noted.as_ref().map_or(self.id == id, |noted| noted.is_session(&tools, id))
    }
}
