//! Keeps what git printed about the history up to HEAD: it stays the same until HEAD moves, and a long history takes git seconds.
//!
//! Only for commands that depend on HEAD and their arguments alone. Does not know what they print: an answer in which a secret is
//! found is not kept.

use crate::RunGit;
use history::History;
use history::home;
use history::masker::LazyMasker;
use provenance::note::sha256_hex;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Answers that are kept; a larger one is asked for again.
const MAX_ANSWERS: usize = 400;
const MAX_BYTES: usize = 8 << 20;

/// Git, and the answers of earlier runs.
pub struct KeptGit<'g> {
    git: RunGit<'g>,
    /// None: nothing can be kept.
    folder: Option<PathBuf>,
    /// The repository and its HEAD.
    key: String,
    /// None: secrets are not looked for, and nothing is kept.
    masker: Option<&'g LazyMasker>,
}

impl<'g> KeptGit<'g> {
    pub fn new(history: &History<'g>, root: &Path, git: RunGit<'g>) -> KeptGit<'g> {
        let head = git(&["rev-parse", "--verify", "--quiet", "HEAD"], Vec::new()).unwrap_or_default();
        let head = String::from_utf8_lossy(&head).trim().to_string();
        let folder = history.home().map(|home| home.git_answers()).filter(|_| !head.is_empty());
        KeptGit { git, folder, key: format!("{}\n{head}", root.display()), masker: history.masker() }
    }

    /// What git prints for these arguments, from now or from before.
    pub fn run(&self, args: &[&str]) -> Result<Vec<u8>, String> {
        let Some(folder) = &self.folder else { return (self.git)(args, Vec::new()) };
        let file = folder.join(sha256_hex(format!("{}\n{}", self.key, args.join("\n")).as_bytes()));
        if let Ok(bytes) = std::fs::read(&file) {
            return Ok(bytes);
        }
        let printed = (self.git)(args, Vec::new())?;
        if printed.len() <= MAX_BYTES && self.is_clean(&printed) {
            keep(folder, &file, &printed);
        }
        Ok(printed)
    }

    /// Whether masking leaves the answer as it is: file contents, patches and messages of commits may contain secrets.
    fn is_clean(&self, printed: &[u8]) -> bool {
        let text = String::from_utf8_lossy(printed);
        self.masker.is_some_and(|masker| matches!(masker.mask_text(&text), Cow::Borrowed(_)))
    }
}

/// Best effort: what cannot be kept is asked for again.
fn keep(folder: &Path, file: &Path, bytes: &[u8]) {
    let is_written = home::create_private_dir(folder).and_then(|()| home::replace_file(file, bytes)).is_ok();
    let Ok(listed) = std::fs::read_dir(folder) else { return };
    let mut known: Vec<(std::time::SystemTime, PathBuf)> = listed
        .flatten()
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    if is_written && known.len() > MAX_ANSWERS {
        known.sort();
        for (_, path) in &known[..known.len() - MAX_ANSWERS * 3 / 4] {
            let _ = std::fs::remove_file(path);
        }
    }
}
