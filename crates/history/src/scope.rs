//! Which transcripts a question is about. What is named most narrowly wins: a session, then a project, then the
//! working directory's project.
//!
//! More is read than is shown: copies are only recognised beside their originals, so the whole group of
//! transcripts that could hold them is read.

use crate::History;
use crate::tombstones::Tombstones;
use api::{Code, Error, ViewRequest};
use record::{Row, Session, Stamp};
use sources::{SOURCES, Transcript};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub struct Scope {
    pub session: Option<String>,
    pub project: Option<PathBuf>,
    pub since: Stamp,
    pub until: Stamp,
    tombstones: Tombstones,
}

impl Scope {
    pub fn new(history: &History<'_>, ask: &ViewRequest) -> Result<Scope, Error> {
        let clock = history.clock;
        let since = ask.since.as_deref().map_or(Some(Stamp(i64::MIN)), |text| clock.moment(text));
        let until = ask.until.as_deref().map_or(Some(Stamp(i64::MAX)), |text| clock.moment_until(text));
        let unclear = |name: &str, text: &Option<String>| {
            let text = text.as_deref().unwrap_or("");
            Error::new(Code::InvalidArgument, format!("--{name} does not understand `{text}`"))
                .hint("write 7d, 12h, today, 2026-11-01 or 2026-11-01T09:30:00Z")
        };
        ask.source.iter().try_for_each(|name| known_source(name))?;
        Ok(Scope {
            session: ask.session.clone(),
            project: project(history, ask),
            since: since.ok_or_else(|| unclear("since", &ask.since))?,
            until: until.ok_or_else(|| unclear("until", &ask.until))?,
            tombstones: Tombstones::read(history.home().as_ref()),
        })
    }

    /// Leaves the transcripts that may matter.
    pub fn narrow(&self, transcripts: &mut Vec<Transcript>) {
        if let Some(project) = &self.project {
            transcripts.retain(|t| SOURCES[t.source].may_belong(t, project));
        }
        if let Some(session) = &self.session {
            let called = |t: &Transcript| {
                t.hint.starts_with(session.as_str())
                    || t.hint.strip_prefix("agent-").is_some_and(|a| a.starts_with(session.as_str()))
            };
            let groups: BTreeSet<PathBuf> =
                transcripts.iter().filter(|t| called(t)).map(|t| t.group.clone()).collect();
            // An id that no name tells (it is written inside) is looked for everywhere.
            if !groups.is_empty() {
                transcripts.retain(|t| groups.contains(&t.group));
            }
        }
    }

    pub fn holds_session(&self, session: &Session) -> bool {
        self.session.as_ref().is_none_or(|prefix| session.is_called(prefix))
            && self.project.as_ref().is_none_or(|project| session.is_of(project))
            && !self.tombstones.holds(session.source, &session.session_id)
    }

    pub(crate) fn holds_row(&self, row: &Row) -> bool {
        (row.at.is_some() || self.since.0 == i64::MIN) && row.at >= self.since && row.at <= self.until
    }

    /// A session is in the window if any of it is.
    pub fn holds_span(&self, session: &Session) -> bool {
        session.ended_at >= self.since && session.started_at <= self.until
    }
}

pub fn known_source(name: &str) -> Result<(), Error> {
    if SOURCES.iter().any(|source| source.name() == name) {
        return Ok(());
    }
    let known = SOURCES.iter().map(|s| s.name()).collect::<Vec<_>>().join(", ");
    let unknown = Error::new(Code::InvalidArgument, format!("there is no source `{name}`"));
    Err(unknown.hint(format!("one of: {known}")))
}

/// The project a question is about; None for all.
fn project(history: &History<'_>, ask: &ViewRequest) -> Option<PathBuf> {
    if let Some(named) = &ask.project {
        return Some(real(&history.cwd.join(named)));
    }
    if ask.all_projects || ask.session.is_some() {
        return None;
    }
    Some(enclosing(history.cwd))
}

/// A project is named by its path; who gives its name alone is told so.
pub fn no_folder(history: &History<'_>, named: &str) -> Option<String> {
    let path = real(&history.cwd.join(named));
    let told =
        || format!("there is no folder {}: a project is given by its path, `.` for this one", path.display());
    (!path.exists()).then(told)
}

/// The repository that a directory lies in, or the directory itself.
pub fn enclosing(directory: &Path) -> PathBuf {
    let directory = real(directory);
    let repository = directory.ancestors().find(|dir| dir.join(".git").exists()).map(Path::to_path_buf);
    repository.unwrap_or(directory)
}

/// Agents write resolved paths; a project that is gone keeps the name it is given, without `.` and `..`.
pub fn real(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| {
        let mut plain = PathBuf::new();
        for part in path.components() {
            match part {
                std::path::Component::ParentDir => drop(plain.pop()),
                std::path::Component::CurDir => {}
                other => plain.push(other),
            }
        }
        plain
    })
}
