//! A temporary home directory, and the paths of transcripts in it.
//!
//! Does not know what a transcript contains.

use crate::{Rollout, Session};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A temporary home directory.
pub struct Home(TempDir);

impl Home {
    pub fn new() -> Home {
        Home(TempDir::new().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Returns the folder of a project in Claude Code's store.
    pub fn project_folder(&self, cwd: &str) -> PathBuf {
        let name: String = cwd.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        self.path().join(".claude/projects").join(name)
    }

    /// Returns the path at which Claude Code would store the session.
    pub fn transcript_path(&self, session: &Session) -> PathBuf {
        let folder = self.project_folder(&session.cwd);
        match &session.agent {
            Some(agent) => folder.join(&session.id).join(format!("subagents/agent-{agent}.jsonl")),
            None => folder.join(format!("{}.jsonl", session.id)),
        }
    }

    /// Writes the session where Claude Code would.
    pub fn add(&self, session: &Session) -> PathBuf {
        self.add_bytes(session, session.text().as_bytes())
    }

    /// Writes other bytes at the path of the session.
    pub fn add_bytes(&self, session: &Session, bytes: &[u8]) -> PathBuf {
        write_file(&self.transcript_path(session), bytes)
    }

    /// Writes the rollout where Codex would.
    pub fn add_codex(&self, rollout: &Rollout) -> PathBuf {
        let name = format!("rollout-2026-03-04T09-00-00-{}.jsonl", rollout.id);
        write_file(
            &self.path().join(".codex/sessions/2026/03/04").join(name),
            (rollout.lines.join("\n") + "\n").as_bytes(),
        )
    }
}

/// Writes a file and the folders above it.
pub fn write_file(path: &Path, bytes: &[u8]) -> PathBuf {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
    path.to_path_buf()
}

/// Copies a folder. The copies are writable even where the originals are not.
pub fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap_or_else(|error| panic!("{}: {error}", from.display())) {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::write(&target, fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}
