//! Which card was shown to a session last, and which were waved away: a small file for each session, so that the next
//! prompt's hook can carry out what the person chose.
//!
//! Does not know what a card says. A file that cannot be read is as good as none, and one that cannot be written is no
//! card: a choice that would be forgotten is not offered.

use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What one session was shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Shown {
    /// Two ids could have one file; then neither believes it.
    session: String,
    /// The card that the next prompt may answer.
    pub pending: Option<Pending>,
    /// What is not shown to this session again: ignored, or already brought in.
    done: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pending {
    pub chat_id: String,
    pub source: String,
}

/// Sessions that are remembered; a person has a handful at once.
const FILES: usize = 64;
/// Conversations that one session has waved away.
const DONE: usize = 32;
/// A file of ours is far smaller.
const LARGEST: u64 = 64 << 10;

pub struct Cards {
    folder: PathBuf,
    /// Creates the folder, for its owner alone.
    make_folder: fn(&Path) -> std::io::Result<()>,
}

impl Cards {
    pub fn new(folder: PathBuf, make_folder: fn(&Path) -> std::io::Result<()>) -> Cards {
        Cards { folder, make_folder }
    }

    fn path(&self, session: &str) -> PathBuf {
        self.folder.join(format!("{:016x}.json", record::key(b'c', &[session.as_bytes()])))
    }

    pub fn of(&self, session: &str) -> Shown {
        let read = || {
            let mut text = String::new();
            File::open(self.path(session)).ok()?.take(LARGEST).read_to_string(&mut text).ok()?;
            serde_json::from_str::<Shown>(&text).ok().filter(|shown| shown.session == session)
        };
        read().unwrap_or_else(|| Shown { session: session.to_string(), ..Shown::default() })
    }

    /// Written beside and renamed, without waiting for the disk: what a power cut takes is one card.
    pub fn keep(&self, shown: &Shown) -> std::io::Result<()> {
        if !self.folder.is_absolute() {
            return Err(std::io::ErrorKind::NotFound.into());
        }
        (self.make_folder)(&self.folder)?;
        let path = self.path(&shown.session);
        let beside = path.with_extension(format!("{}.new", std::process::id()));
        let written =
            write(&beside, &serde_json::to_vec(shown)?).and_then(|()| std::fs::rename(&beside, &path));
        if written.is_err() {
            let _ = std::fs::remove_file(&beside);
        }
        self.tidy();
        written
    }

    /// The oldest go; what a killed hook left half written goes with them.
    fn tidy(&self) {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let aged = entries.filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())));
        let mut files: Vec<(SystemTime, PathBuf)> = aged.collect();
        if files.len() <= FILES {
            return;
        }
        files.sort();
        for (_, path) in &files[..files.len() - FILES] {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600).open(path)?.write_all(bytes)
}

impl Shown {
    pub fn is_done(&self, chat_id: &str) -> bool {
        self.done.iter().any(|done| done == chat_id)
    }

    /// The pending card has had its answer.
    pub fn settle(&mut self) -> Option<Pending> {
        let pending = self.pending.take()?;
        self.done.push(pending.chat_id.clone());
        let over = self.done.len().saturating_sub(DONE);
        self.done.drain(..over);
        Some(pending)
    }
}

/// What a prompt says to a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    Bring,
    /// Ignoring it, or simply going on.
    Leave,
}

/// Words that mean the card and nothing else: a bare `2` may answer the model.
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

/// Before a choice, it means the contrary.
const NOT: &[&str] = &["n't", "not ", "never", "no ", "without", "不", "别", "勿", "无需", "没"];
/// "Yes, please …" may come before it.
const NEAR: usize = 20;

pub fn choice(prompt: &str) -> Choice {
    let prompt = prompt.to_lowercase().replace('’', "'");
    let at = BRING.iter().filter_map(|words| prompt.find(words)).min();
    let refuses = |before: &str| NOT.iter().any(|word| before.contains(word));
    match at {
        // A choice stands at the beginning; further on it is talked about.
        Some(at) if prompt[..at].chars().count() <= NEAR && !refuses(&prompt[..at]) => Choice::Bring,
        _ => Choice::Leave,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_and_what_they_choose() {
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
            assert_eq!(super::choice(prompt), choice, "{prompt}");
        }
    }

    #[test]
    fn cards_are_few_and_belong_to_their_session() {
        let home = tempfile::tempdir().unwrap();
        let cards = Cards::new(home.path().join("cards"), |folder| std::fs::create_dir_all(folder));
        let pending = |chat: &str| Some(Pending { chat_id: chat.to_string(), source: "codex".to_string() });
        for session in 0..FILES + 9 {
            let mut shown = cards.of(&format!("s{session}"));
            shown.pending = pending("c");
            cards.keep(&shown).unwrap();
        }
        assert_eq!(std::fs::read_dir(&cards.folder).unwrap().count(), FILES);
        let last = format!("s{}", FILES + 8);
        assert_eq!(cards.of(&last).pending, pending("c"));
        // A file under this name that tells of another session.
        std::fs::copy(cards.path(&last), cards.path("other")).unwrap();
        assert_eq!(cards.of("other"), Shown { session: "other".to_string(), ..Shown::default() });
    }

    #[test]
    fn what_was_settled_is_remembered_up_to_a_number() {
        let mut shown = Shown::default();
        for chat in 0..DONE + 3 {
            shown.pending = Some(Pending { chat_id: chat.to_string(), ..Pending::default() });
            assert!(shown.settle().is_some() && shown.settle().is_none());
        }
        assert!(!shown.is_done("2") && shown.is_done("3") && shown.is_done(&(DONE + 2).to_string()));
    }
}
