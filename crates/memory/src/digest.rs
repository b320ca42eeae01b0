//! The digest of one session from which its name, tags and summary are derived. The caller reads the transcripts and
//! fills it in, with secrets already masked.
//!
//! Does not know where any of it was read from.

use crate::entry::By;
use record::{Role, Session, Stamp, TitleOrigin};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default)]
pub struct Digest {
    pub source: String,
    pub session_id: String,
    pub project: String,
    pub started_at: Stamp,
    pub ended_at: Stamp,
    /// The session's titles, set by the agent or by the user who renamed the session there.
    pub titles: Vec<(String, By)>,
    /// The user's prompts, in order.
    pub prompts: Vec<DigestMessage>,
    /// The agent's messages next to the prompts, in order.
    pub replies: Vec<Reply>,
    /// The last messages of both sides, in order.
    pub turns: Vec<DigestMessage>,
    /// Slash commands as typed.
    pub slash_commands: Vec<String>,
    /// Changed files with the number of changes.
    pub files_changed: BTreeMap<String, u32>,
    /// Files that were only read.
    pub files_read: BTreeMap<String, u32>,
    /// Commands that succeeded.
    pub commands: Vec<String>,
    /// Commands that failed or were denied, and so had no effect.
    pub failed_commands: Vec<String>,
    /// The first lines of commit messages.
    pub commits: Vec<String>,
    pub last_reply: String,
    /// The number of prompts after the last reply.
    pub unanswered_prompts: usize,
    /// Forgotten sentences that were removed: no text derived from the rest may repeat them.
    pub forgotten_texts: Vec<String>,
    pub calls: u32,
    pub errors: u32,
}

#[derive(Clone, Debug)]
pub struct DigestMessage {
    pub id: String,
    pub role: Role,
    pub at: Stamp,
    pub text: String,
}

/// A message of the agent and its place in the exchange.
#[derive(Clone, Debug)]
pub struct Reply {
    pub message: DigestMessage,
    pub prompts_before: usize,
    /// Calls of tools since the message before.
    pub calls: u32,
}

impl Digest {
    /// Adds what is known of a session from one of its transcripts.
    pub fn describe(&mut self, session: &Session) {
        (self.source, self.session_id) = (session.source.to_string(), session.session_id.to_string());
        if self.project.is_empty() {
            self.project = session.directory().to_string();
        }
        if session.started_at.is_some()
            && (!self.started_at.is_some() || session.started_at < self.started_at)
        {
            self.started_at = session.started_at;
        }
        self.ended_at = self.ended_at.max(session.ended_at);
        let titled = session.title.as_ref().and_then(|(title, origin)| match origin {
            TitleOrigin::Custom => Some((title.to_string(), By::Renamed)),
            TitleOrigin::Agent => Some((title.to_string(), By::Host)),
            TitleOrigin::FirstPrompt => None,
        });
        self.titles.extend(titled);
    }

    /// The folder's own name, without its parent path.
    pub fn project_name(&self) -> &str {
        file_name(&self.project)
    }
}

/// The last component of a path.
pub(crate) fn file_name(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

/// Sorted by count, then by name.
pub(crate) fn sorted_by_count(files: &BTreeMap<String, u32>) -> Vec<&str> {
    let mut all: Vec<(&String, &u32)> = files.iter().collect();
    all.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    all.into_iter().map(|(path, _)| path.as_str()).collect()
}

/// Shows files by name; files with the same name in several folders by as many path components as are needed to
/// distinguish them.
pub(crate) fn distinct_file_names(paths: &[&str]) -> Vec<String> {
    let tail = |path: &str, parts: usize| {
        let from = path.trim_end_matches('/').rmatch_indices('/').nth(parts - 1);
        from.map_or(path, |(at, _)| &path[at + 1..]).to_string()
    };
    let is_unique = |path: &&str, parts: usize| {
        let same = |other: &&&str| other != &path && tail(other, parts) == tail(path, parts);
        paths.iter().filter(same).count() == 0
    };
    let label = |path: &&str| {
        (1..9)
            .find(|parts| is_unique(path, *parts))
            .map_or_else(|| (*path).to_string(), |parts| tail(path, parts))
    };
    paths.iter().map(label).collect()
}

#[cfg(test)]
mod tests {
    use super::distinct_file_names;

    #[test]
    fn files_with_the_same_name_are_shown_with_their_folders() {
        let paths = ["/p/src/main.rs", "/p/tests/main.rs", "/p/a/src/lib.rs", "/p/b/src/lib.rs", "/p/x.md"];
        assert_eq!(
            distinct_file_names(&paths),
            ["src/main.rs", "tests/main.rs", "a/src/lib.rs", "b/src/lib.rs", "x.md"]
        );
    }
}
