//! What is known of one session when a name, tags and a summary are made for it: whoever holds the transcripts fills it in,
//! with secrets masked already.
//!
//! Does not know where any of it was read.

use crate::By;
use record::{Role, Session, Stamp, TitleOrigin};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default)]
pub struct Digest {
    pub source: String,
    pub session_id: String,
    pub project: String,
    pub started_at: Stamp,
    pub ended_at: Stamp,
    /// What its host calls it: by the host itself, or by the person who renamed it there.
    pub titles: Vec<(String, By)>,
    /// What the person typed, in its order.
    pub prompts: Vec<Said>,
    /// The last of what was said by both sides, in its order.
    pub turns: Vec<Said>,
    /// Slash commands, as they were typed.
    pub slashes: Vec<String>,
    /// Files that were changed, and how often.
    pub changed: BTreeMap<String, u32>,
    /// Files that were only looked at.
    pub looked_at: BTreeMap<String, u32>,
    /// Commands that did not fail.
    pub commands: Vec<String>,
    /// Commands that failed or were not allowed: nothing was done by them.
    pub failed: Vec<String>,
    /// The first lines of the messages of commits.
    pub commits: Vec<String>,
    pub last_reply: String,
    /// How many prompts stand behind it.
    pub unanswered: usize,
    /// Sentences that were forgotten and taken out: nothing that is made of the rest may say them.
    pub unsaid: Vec<String>,
    pub calls: u32,
    pub errors: u32,
}

#[derive(Clone, Debug)]
pub struct Said {
    pub id: String,
    pub role: Role,
    pub at: Stamp,
    pub text: String,
}

impl Digest {
    /// Adds what is known of a session from one of its transcripts.
    pub fn describe(&mut self, session: &Session) {
        (self.source, self.session_id) = (session.source.to_string(), session.session_id.to_string());
        if self.project.is_empty() {
            self.project = session.place().to_string();
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

    /// The folder's own name, without the way to it.
    pub fn project_name(&self) -> &str {
        file_name(&self.project)
    }
}

/// The last part of a path.
pub(crate) fn file_name(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

/// By how often, then by name.
pub(crate) fn by_count(files: &BTreeMap<String, u32>) -> Vec<&str> {
    let mut all: Vec<(&String, &u32)> = files.iter().collect();
    all.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    all.into_iter().map(|(path, _)| path.as_str()).collect()
}

/// Files by their names; those of one name in several folders by as much of the way to them as tells them apart.
pub(crate) fn told_apart(paths: &[&str]) -> Vec<String> {
    let tail = |path: &str, parts: usize| {
        let from = path.trim_end_matches('/').rmatch_indices('/').nth(parts - 1);
        from.map_or(path, |(at, _)| &path[at + 1..]).to_string()
    };
    let alone = |path: &&str, parts: usize| {
        let same = |other: &&&str| other != &path && tail(other, parts) == tail(path, parts);
        paths.iter().filter(same).count() == 0
    };
    let told = |path: &&str| {
        (1..9)
            .find(|parts| alone(path, *parts))
            .map_or_else(|| (*path).to_string(), |parts| tail(path, parts))
    };
    paths.iter().map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::told_apart;

    #[test]
    fn files_of_one_name_are_told_apart_by_their_folders() {
        let paths = ["/p/src/main.rs", "/p/tests/main.rs", "/p/a/src/lib.rs", "/p/b/src/lib.rs", "/p/x.md"];
        assert_eq!(
            told_apart(&paths),
            ["src/main.rs", "tests/main.rs", "a/src/lib.rs", "b/src/lib.rs", "x.md"]
        );
    }
}
