//! Selects the transcripts of a request. The narrowest parameter wins: a session, then a project, then the project of the
//! working directory.
//!
//! Reads more than is shown: copies are only recognised next to their originals, so the whole group of transcripts that
//! could contain them is read. Does not read transcripts itself.

use crate::projects::Projects;
use crate::tombstones::Tombstones;
use crate::{History, catalogue_cache};
use api::{Code, Error, ViewRequest};
use record::{Row, Session, Stamp};
use sources::{SOURCES, Transcript};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub struct Scope {
    pub session: Option<String>,
    /// The folders of the project; empty for all projects.
    pub folders: Vec<PathBuf>,
    pub since: Stamp,
    pub until: Stamp,
    tombstones: Tombstones,
}

impl Scope {
    pub fn new(history: &History<'_>, request: &ViewRequest) -> Result<Scope, Error> {
        let clock = history.clock;
        let since = request.since.as_deref().map_or(Some(Stamp(i64::MIN)), |text| clock.parse_time(text));
        let until = request.until.as_deref().map_or(Some(Stamp(i64::MAX)), |text| clock.parse_end_time(text));
        let unclear = |name: &str, text: &Option<String>| {
            let text = text.as_deref().unwrap_or("");
            Error::new(Code::InvalidArgument, format!("invalid time `{text}` for --{name}")).hint(
                "use a duration (7d, 12h), `today`, a date (2026-11-01) or a time (2026-11-01T09:30:00Z)",
            )
        };
        request.source.iter().try_for_each(|name| check_source(name))?;
        Ok(Scope {
            session: request.session.clone(),
            folders: requested_folders(history, request),
            since: since.ok_or_else(|| unclear("since", &request.since))?,
            until: until.ok_or_else(|| unclear("until", &request.until))?,
            tombstones: Tombstones::read(history.home().as_ref())?,
        })
    }

    /// Keeps only transcripts that may match.
    pub fn retain_matching(&self, transcripts: &mut Vec<Transcript>) {
        if !self.folders.is_empty() {
            transcripts.retain(|t| self.folders.iter().any(|folder| SOURCES[t.source].may_belong(t, folder)));
        }
        if let Some(session) = &self.session {
            let called = |t: &Transcript| {
                t.hint.starts_with(session.as_str())
                    || t.hint.strip_prefix("agent-").is_some_and(|a| a.starts_with(session.as_str()))
            };
            let groups: BTreeSet<Arc<Path>> =
                transcripts.iter().filter(|t| called(t)).map(|t| t.group.clone()).collect();
            // If no file name contains the ID, it may be inside any transcript: all are read.
            if !groups.is_empty() {
                transcripts.retain(|t| groups.contains(&t.group));
            }
        }
    }

    pub fn contains_session(&self, session: &Session) -> bool {
        self.session.as_ref().is_none_or(|prefix| session.matches_prefix(prefix))
            && (self.folders.is_empty() || is_within_any(session, &self.folders))
            && !self.tombstones.contains(session.source, &session.session_id)
    }

    pub(crate) fn contains_row(&self, row: &Row) -> bool {
        (row.at.is_some() || self.since.0 == i64::MIN) && row.at >= self.since && row.at <= self.until
    }

    /// Whether any part of the session is within the time range.
    pub fn overlaps_session(&self, session: &Session) -> bool {
        session.ended_at >= self.since && session.started_at <= self.until
    }
}

pub fn check_source(name: &str) -> Result<(), Error> {
    if SOURCES.iter().any(|source| source.name() == name) {
        return Ok(());
    }
    let known = SOURCES.iter().map(|s| s.name()).collect::<Vec<_>>().join(", ");
    let unknown = Error::new(Code::InvalidArgument, format!("unknown source `{name}`"));
    Err(unknown.hint(format!("one of: {known}")))
}

/// The folders of the project of a request; empty for all projects.
fn requested_folders(history: &History<'_>, request: &ViewRequest) -> Vec<PathBuf> {
    if let Some(named) = &request.project {
        return find_project(history, named);
    }
    if request.all_projects || request.session.is_some() {
        return Vec::new();
    }
    project_folders(history, history.cwd)
}

/// The folders of the project that contains a directory: its repository with all worktrees and former places, or only the
/// directory.
pub fn project_folders(history: &History<'_>, directory: &Path) -> Vec<PathBuf> {
    Projects::load(history).folders_of(&enclosing_project(directory))
}

/// Whether a session took place in one of the folders.
pub fn is_within_any(session: &Session, folders: &[PathBuf]) -> bool {
    folders.iter().any(|folder| session.is_within(folder))
}

/// The folders of a project that is given by its path, name or remote. A path wins, also that of a folder which no longer
/// exists but has sessions; of several projects with the name, the one with the newest session.
pub fn find_project(history: &History<'_>, named: &str) -> Vec<PathBuf> {
    let found = known_project(history, named);
    if found.is_empty() { vec![canonical_path(&history.cwd.join(named))] } else { found }
}

/// The folders, if one exists or has sessions.
fn known_project(history: &History<'_>, named: &str) -> Vec<PathBuf> {
    let (path, projects) = (canonical_path(&history.cwd.join(named)), Projects::load(history));
    if path.exists() {
        return projects.folders_of(&path);
    }
    let called = projects.find_named(named);
    if !called.is_empty() {
        return called;
    }
    let with_sessions = || {
        let name = path.file_name()?.to_str()?;
        let reader = catalogue_cache::open_catalogue(history)?;
        reader.newest_project(&path.to_string_lossy(), name).ok().flatten()
    };
    with_sessions().map_or_else(Vec::new, |folder| projects.folders_of(Path::new(&folder)))
}

/// A note if no project has the name or the path.
pub fn missing_project_note(history: &History<'_>, named: &str) -> Option<String> {
    let shown = Path::new(named).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let note = || {
        format!("no project is called `{shown}` and there is no such folder; `loci project list` lists them")
    };
    known_project(history, named).is_empty().then(note)
}

/// The repository that contains a directory, or the directory itself.
pub fn enclosing_project(directory: &Path) -> PathBuf {
    let directory = canonical_path(directory);
    let repository = directory.ancestors().find(|dir| dir.join(".git").exists()).map(Path::to_path_buf);
    repository.unwrap_or(directory)
}

/// Canonicalises a path, as agents do before they record it. A path that no longer exists is only cleaned of `.` and `..`.
pub fn canonical_path(path: &Path) -> PathBuf {
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
