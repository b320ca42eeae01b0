//! Stores what a session was shown, in a small file per session: the last card and the ones it dismissed, so that the hook for the
//! next prompt can carry out the user's choice, and the symbols about which it was told a decision.
//!
//! Does not know the text of a card. An unreadable file counts as missing. If the file cannot be written, no card is
//! shown, because the choice would be lost.

use os::files::OpenOptionsExt;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The cards of one session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionCards {
    /// The session ID: two IDs may hash to the same file name, and a file of another session is ignored.
    session: String,
    /// The card that the next prompt may respond to.
    pub pending: Option<Pending>,
    /// Sessions that are not suggested again: dismissed, or already brought in.
    done: Vec<String>,
    /// Symbols about which the session was told a decision.
    told: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pending {
    pub chat_id: String,
    pub source: String,
}

/// Files kept; a user has a handful of sessions at once.
const MAX_FILES: usize = 64;
/// Dismissed suggestions kept per session.
const MAX_DONE: usize = 32;
/// Symbols kept per session.
const MAX_TOLD: usize = 256;
/// Read limit; a valid file is far smaller.
const MAX_BYTES: u64 = 64 << 10;

pub struct Cards {
    folder: PathBuf,
    /// Creates the folder, accessible only to its owner.
    make_folder: fn(&Path) -> std::io::Result<()>,
}

impl Cards {
    pub fn new(folder: PathBuf, make_folder: fn(&Path) -> std::io::Result<()>) -> Cards {
        Cards { folder, make_folder }
    }

    fn path(&self, session: &str) -> PathBuf {
        self.folder.join(format!("{:016x}.json", record::event_key(b'c', &[session.as_bytes()])))
    }

    pub fn load(&self, session: &str) -> SessionCards {
        let read = || {
            let mut text = String::new();
            File::open(self.path(session)).ok()?.take(MAX_BYTES).read_to_string(&mut text).ok()?;
            serde_json::from_str::<SessionCards>(&text).ok().filter(|shown| shown.session == session)
        };
        read().unwrap_or_else(|| SessionCards { session: session.to_string(), ..SessionCards::default() })
    }

    /// Replaces the file atomically without syncing: a power failure costs one card.
    pub fn save(&self, shown: &SessionCards) -> std::io::Result<()> {
        if !self.folder.is_absolute() {
            return Err(std::io::ErrorKind::NotFound.into());
        }
        (self.make_folder)(&self.folder)?;
        let path = self.path(&shown.session);
        let beside = path.with_extension(format!("{}.new", std::process::id()));
        let written = write_private(&beside, &serde_json::to_vec(shown)?)
            .and_then(|()| std::fs::rename(&beside, &path));
        if written.is_err() {
            let _ = std::fs::remove_file(&beside);
        }
        self.remove_oldest();
        written
    }

    /// Removes every mention of these sessions. Leftovers of killed hooks are removed as well.
    pub fn forget_sessions(&self, is_forgotten: &dyn Fn(&str) -> bool) -> std::io::Result<()> {
        for entry in std::fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let read = std::fs::read(entry.path()).ok();
            let known = read.and_then(|bytes| serde_json::from_slice::<SessionCards>(&bytes).ok());
            let kept = known.as_ref().filter(|shown| !is_forgotten(&shown.session));
            let kept = kept.map(|shown| shown.without_sessions(is_forgotten));
            if kept.is_some() && kept == known {
                continue;
            }
            std::fs::remove_file(entry.path())?;
            kept.map_or(Ok(()), |kept| self.save(&kept))?;
        }
        Ok(())
    }

    /// Removes the oldest files, including leftovers of killed hooks.
    fn remove_oldest(&self) {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let aged = entries.filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())));
        let mut files: Vec<(SystemTime, PathBuf)> = aged.collect();
        if files.len() <= MAX_FILES {
            return;
        }
        files.sort();
        for (_, path) in &files[..files.len() - MAX_FILES] {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600).open(path)?.write_all(bytes)
}

impl SessionCards {
    fn without_sessions(&self, is_forgotten: &dyn Fn(&str) -> bool) -> SessionCards {
        SessionCards {
            session: self.session.clone(),
            pending: self.pending.clone().filter(|pending| !is_forgotten(&pending.chat_id)),
            done: self.done.iter().filter(|id| !is_forgotten(id)).cloned().collect(),
            told: self.told.clone(),
        }
    }

    pub fn is_done(&self, chat_id: &str) -> bool {
        self.done.iter().any(|done| done == chat_id)
    }

    pub fn was_told(&self, symbol: &str) -> bool {
        self.told.iter().any(|told| told == symbol)
    }

    pub fn mark_told(&mut self, symbol: String) {
        self.told.push(symbol);
        let over = self.told.len().saturating_sub(MAX_TOLD);
        self.told.drain(..over);
    }

    /// Takes the pending card and marks its session as done.
    pub fn take_pending(&mut self) -> Option<Pending> {
        let pending = self.pending.take()?;
        self.done.push(pending.chat_id.clone());
        let over = self.done.len().saturating_sub(MAX_DONE);
        self.done.drain(..over);
        Some(pending)
    }
}

/// The response of a prompt to a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    Bring,
    /// Dismissed explicitly, or not mentioned.
    Leave,
}

/// Phrases that can only refer to the card: a bare `2` may be a reply to the model.
const BRING: &[&str] = &[
    "loci bring",
    "bring its summary in",
    "bring the summary in",
    "bring in its summary",
    "bring in the summary",
    "带入摘要",
    "调入摘要",
    "把摘要带",
    "把摘要调",
    "摘要调入",
    "摘要带进来",
];

/// Negations; one before the phrase turns it into a refusal.
const NEGATIONS: &[&str] = &["n't", "not ", "never", "no ", "without", "不", "别", "勿", "无需", "没"];
/// Characters allowed before the phrase, for "Yes, please …".
const MAX_LEAD: usize = 20;

pub fn parse_choice(prompt: &str) -> Choice {
    let prompt = prompt.to_lowercase().replace('’', "'");
    let at = BRING.iter().filter_map(|words| prompt.find(words)).min();
    let refuses = |before: &str| NEGATIONS.iter().any(|word| before.contains(word));
    match at {
        // Further into the prompt, the phrase is mentioned rather than used.
        Some(at) if prompt[..at].chars().count() <= MAX_LEAD && !refuses(&prompt[..at]) => Choice::Bring,
        _ => Choice::Leave,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_choose_a_response() {
        for (prompt, choice) in [
            ("loci bring", Choice::Bring),
            ("Loci bring, then write the migration", Choice::Bring),
            ("bring its summary in here", Choice::Bring),
            ("带入摘要", Choice::Bring),
            ("把摘要调入，然后继续", Choice::Bring),
            ("don't bring its summary in", Choice::Leave),
            ("不要带入摘要", Choice::Leave),
            ("don’t bring its summary in", Choice::Leave),
            ("不要调入摘要，直接继续", Choice::Leave),
            ("never let loci bring anything", Choice::Leave),
            ("yes please, loci bring", Choice::Bring),
            ("好的，请带入摘要", Choice::Bring),
            ("write a test that types loci bring into the prompt", Choice::Leave),
            ("loci ignore", Choice::Leave),
            ("忽略", Choice::Leave),
            ("2", Choice::Leave),
            ("bring the build back to green", Choice::Leave),
            ("写一段摘要", Choice::Leave),
        ] {
            assert_eq!(super::parse_choice(prompt), choice, "{prompt}");
        }
    }

    #[test]
    fn cards_are_few_and_belong_to_their_session() {
        let home = tempfile::tempdir().unwrap();
        let cards = Cards::new(home.path().join("cards"), |folder| std::fs::create_dir_all(folder));
        let pending = |chat: &str| Some(Pending { chat_id: chat.to_string(), source: "codex".to_string() });
        for session in 0..MAX_FILES + 9 {
            let mut shown = cards.load(&format!("s{session}"));
            shown.pending = pending("c");
            cards.save(&shown).unwrap();
        }
        assert_eq!(std::fs::read_dir(&cards.folder).unwrap().count(), MAX_FILES);
        let last = format!("s{}", MAX_FILES + 8);
        assert_eq!(cards.load(&last).pending, pending("c"));
        // A file under this name that belongs to another session.
        std::fs::copy(cards.path(&last), cards.path("other")).unwrap();
        assert_eq!(
            cards.load("other"),
            SessionCards { session: "other".to_string(), ..SessionCards::default() }
        );
    }

    #[test]
    fn settled_cards_are_remembered_up_to_a_limit() {
        let mut shown = SessionCards::default();
        for chat in 0..MAX_DONE + 3 {
            shown.pending = Some(Pending { chat_id: chat.to_string(), ..Pending::default() });
            assert!(shown.take_pending().is_some() && shown.take_pending().is_none());
        }
        assert!(!shown.is_done("2") && shown.is_done("3") && shown.is_done(&(MAX_DONE + 2).to_string()));
    }
}
