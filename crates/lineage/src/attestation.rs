//! What a repository itself says about the sessions behind its commits: notes of git-ai, checkpoints of Entire.
//!
//! Both arrive with `git fetch`, so they also name sessions of other people. Does not know lines of text or recorded edits.

use crate::RunGit;
use provenance::Commit;
use provenance::checkpoint::{self, CheckpointSession};
use provenance::note::Note;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

const NOTES: &str = "refs/notes/ai";
/// Checkpoints of which the sessions are read, newest first.
const MAX_CHECKPOINTS: usize = 60;

/// What is said about one commit.
#[derive(Clone, Debug, Default)]
pub struct Attestation {
    pub note: Note,
    pub checkpoint: Vec<CheckpointPrompt>,
    /// The commit without its patch.
    pub commit: Commit,
}

/// A session of a checkpoint, and what its person asked for.
#[derive(Clone, Debug, Default)]
pub struct CheckpointPrompt {
    pub session: CheckpointSession,
    pub prompt: String,
}

/// What is said about some commits, by hash.
pub type Attestations = FxHashMap<String, Attestation>;

/// The names under which a repository keeps notes and checkpoints.
#[derive(Debug, Default)]
pub struct AttestingRefs(Vec<String>);

impl AttestingRefs {
    pub fn list(git: RunGit<'_>) -> AttestingRefs {
        let patterns = [
            NOTES,
            &format!("refs/heads/{}", checkpoint::BRANCH),
            &format!("refs/remotes/*/{}", checkpoint::BRANCH),
        ];
        let listed = git(&[&["for-each-ref", "--format=%(refname)"][..], &patterns[..]].concat(), Vec::new());
        let listed = listed.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        AttestingRefs(listed.lines().map(str::to_string).collect())
    }

    pub fn has_notes(&self) -> bool {
        self.0.iter().any(|name| name == NOTES)
    }
}

/// Reads what the repository says about these commits; nothing if it has neither notes nor checkpoints.
pub fn read_attestations(git: RunGit<'_>, refs: &AttestingRefs, commits: &BTreeSet<&str>) -> Attestations {
    if commits.is_empty() || refs.0.is_empty() {
        return Attestations::default();
    }
    let mut found = read_notes(git, commits);
    if let Some(branch) = refs.0.iter().find(|name| name.ends_with(checkpoint::BRANCH)) {
        read_checkpoints(git, branch, &mut found);
    }
    found.into_iter().map(|(hash, (attestation, _))| (hash, attestation)).collect()
}

/// The notes of commits, and the names of their checkpoints.
fn read_notes(git: RunGit<'_>, commits: &BTreeSet<&str>) -> FxHashMap<String, (Attestation, String)> {
    let trailer = format!("%(trailers:key={},valueonly,separator=%x20)", checkpoint::TRAILER);
    let format = format!("--format=%x01%H %ct %at %s%x02{trailer}%x02%N");
    let args = ["log", "--no-walk=unsorted", "--stdin", "--no-notes", "--notes=ai", "--no-color", &format];
    let asked = commits.iter().copied().collect::<Vec<&str>>().join("\n");
    let printed = git(&args, asked.into_bytes()).unwrap_or_default();
    let printed = String::from_utf8_lossy(&printed);
    let entries = printed.split('\u{1}').filter(|entry| !entry.is_empty());
    entries.filter_map(parse_entry).map(|it| (it.0.commit.hash.clone(), it)).collect()
}

fn parse_entry(entry: &str) -> Option<(Attestation, String)> {
    let mut parts = entry.splitn(3, '\u{2}');
    let commit = provenance::parse_log(&format!("\u{1}{}", parts.next()?)).pop()?;
    let checkpoint = parts.next()?.split_whitespace().next().unwrap_or_default().to_string();
    let note = Note::parse(parts.next()?);
    Some((Attestation { note, checkpoint: Vec::new(), commit }, checkpoint))
}

fn read_checkpoints(git: RunGit<'_>, branch: &str, found: &mut FxHashMap<String, (Attestation, String)>) {
    let mut named: Vec<(&mut Attestation, String)> = found
        .values_mut()
        .filter_map(|(attestation, name)| Some((attestation, checkpoint::folder_of(name)?)))
        .collect();
    named.sort_by_key(|(attestation, _)| {
        std::cmp::Reverse((attestation.commit.at, attestation.commit.hash.clone()))
    });
    named.truncate(MAX_CHECKPOINTS);
    let metadata = named.iter().map(|(_, folder)| format!("{folder}/metadata.json")).collect::<Vec<_>>();
    let metadata = read_blobs(git, branch, &metadata);
    for ((attestation, _), metadata) in named.into_iter().zip(metadata) {
        let paths = checkpoint::session_paths(&metadata);
        let asked = paths.iter().flat_map(|path| [path.clone(), path.replace("metadata.json", "prompt.txt")]);
        let blobs = read_blobs(git, branch, &asked.collect::<Vec<_>>());
        attestation.checkpoint = blobs.chunks(2).filter_map(parse_session).collect();
    }
}

fn parse_session(blobs: &[Vec<u8>]) -> Option<CheckpointPrompt> {
    let [metadata, prompt] = blobs else { return None };
    let prompt = String::from_utf8_lossy(prompt).trim().to_string();
    Some(CheckpointPrompt { session: checkpoint::parse_session(metadata)?, prompt })
}

/// The contents of files of a branch, empty for those that are not there.
fn read_blobs(git: RunGit<'_>, branch: &str, paths: &[String]) -> Vec<Vec<u8>> {
    let asked: Vec<String> = paths.iter().map(|path| format!("{branch}:{path}")).collect();
    let printed = git(&["cat-file", "--batch"], asked.join("\n").into_bytes()).unwrap_or_default();
    let (mut rest, mut found) = (&printed[..], Vec::new());
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let head = String::from_utf8_lossy(&rest[..end]).into_owned();
        rest = &rest[end + 1..];
        let words: Vec<&str> = head.rsplitn(3, ' ').collect();
        let size = if let [size, "blob", _] = words[..] { size.parse::<usize>().ok() } else { None };
        let size = size.filter(|size| *size <= rest.len());
        found.push(size.map_or_else(Vec::new, |size| rest[..size].to_vec()));
        // A line feed follows each.
        rest = size.and_then(|size| rest.get(size + 1..)).unwrap_or(rest);
    }
    found.resize(paths.len(), Vec::new());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_branch_are_read_and_missing_ones_are_empty() {
        let git = |_: &[&str], _: Vec<u8>| Ok(b"aa blob 3\na\nb\nx:y missing\nbb blob 0\n\n".to_vec());
        let paths = ["1", "2", "3", "4"].map(String::from);
        assert_eq!(read_blobs(&git, "x", &paths), [b"a\nb".to_vec(), Vec::new(), Vec::new(), Vec::new()]);
    }

    #[test]
    fn a_repository_without_notes_is_not_asked_further() {
        let git = |args: &[&str], _: Vec<u8>| {
            assert_eq!(args[0], "for-each-ref");
            Ok(Vec::new())
        };
        let refs = AttestingRefs::list(&git);
        assert!(!refs.has_notes());
        assert!(read_attestations(&git, &refs, &BTreeSet::from(["abc"])).is_empty());
    }
}
