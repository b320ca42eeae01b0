//! The length of each conversation, in a small file next to the index, so that a cold process needs one read for it.
//!
//! Does not know any words.

use crate::error::Error;
use crate::schema::{PARTS, Part};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

const NAME: &str = "chats.";
const ROW: usize = 12 + 4 * PARTS;

/// The share of one file in one chat: messages, and bytes of text by part. A chat may be spread over several files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) messages: u32,
    pub(crate) bytes: [u32; PARTS],
}

impl Tally {
    pub(crate) fn add(&mut self, part: Part, bytes: usize) {
        self.messages += 1;
        let total = &mut self.bytes[part as usize];
        *total = total.saturating_add(bytes as u32);
    }

    fn join(&mut self, other: &Tally) {
        self.messages += other.messages;
        for (total, more) in self.bytes.iter_mut().zip(other.bytes) {
            *total = total.saturating_add(more);
        }
    }
}

/// The writer's view: by file and chat, so that a file can be dropped without reading the others.
#[derive(Default)]
pub(crate) struct Tallies {
    rows: BTreeMap<(u32, u32), Tally>,
    /// The turn of the next message of each chat; it never decreases, so that neighbours stay distinguishable.
    turns: FxHashMap<u32, u32>,
}

impl Tallies {
    pub(crate) fn add(&mut self, chat: u32, file: u32, part: Part, bytes: usize) -> u32 {
        self.rows.entry((file, chat)).or_default().add(part, bytes);
        let turn = self.turns.entry(chat).or_default();
        *turn += 1;
        *turn - 1
    }

    pub(crate) fn drop_file(&mut self, file: u32) {
        let of: Vec<_> = self.rows.range((file, 0)..=(file, u32::MAX)).map(|(key, _)| *key).collect();
        for key in of {
            self.rows.remove(&key);
        }
    }

    pub(crate) fn drop_chat(&mut self, chat: u32) {
        self.rows.retain(|(_, of), _| *of != chat);
    }

    /// Rows in the order of chats; written to a draft and renamed, so that a reader sees one commit or the other.
    pub(crate) fn write(&self, folder: &Path, stamp: u64) -> Result<(), Error> {
        let mut rows: Vec<_> = self.rows.iter().collect();
        rows.sort_by_key(|((_, chat), _)| *chat);
        let mut bytes = Vec::with_capacity(rows.len() * ROW);
        for ((file, chat), tally) in rows {
            for number in [*chat, *file, tally.messages].iter().chain(&tally.bytes) {
                bytes.extend(number.to_le_bytes());
            }
        }
        bytes.extend(sum(&bytes).to_le_bytes());
        let (path, draft) = (path(folder, stamp), folder.join("chats.draft"));
        let write = || {
            let mut file = fs::File::create(&draft)?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            fs::rename(&draft, &path)
        };
        write().map_err(|source| Error::io(&path, source))
    }

    pub(crate) fn read(folder: &Path, stamp: u64) -> Result<Tallies, Error> {
        let mut tallies = Tallies::default();
        for (chat, file, tally) in rows(folder, stamp)? {
            *tallies.turns.entry(chat).or_default() += tally.messages;
            tallies.rows.insert((file, chat), tally);
        }
        Ok(tallies)
    }
}

fn path(folder: &Path, stamp: u64) -> PathBuf {
    folder.join(format!("{NAME}{stamp}"))
}

fn rows(folder: &Path, stamp: u64) -> Result<Vec<(u32, u32, Tally)>, Error> {
    let path = path(folder, stamp);
    let bytes = fs::read(&path).map_err(|error| Error::damaged(&path, &error))?;
    let (bytes, checksum) = bytes.split_at(bytes.len().saturating_sub(8));
    if bytes.len() % ROW != 0 || sum(bytes).to_le_bytes() != checksum {
        return Err(Error::damaged(&path, &"checksum mismatch"));
    }
    Ok(bytes.chunks_exact(ROW).map(row).collect())
}

/// FNV-1a checksum, so that a corrupt file does not invent conversations.
fn sum(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

fn row(bytes: &[u8]) -> (u32, u32, Tally) {
    let mut numbers = [0; ROW / 4];
    for (number, bytes) in numbers.iter_mut().zip(bytes.chunks_exact(4)) {
        *number = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    let [chat, file, messages, bytes @ ..] = numbers;
    (chat, file, Tally { messages, bytes })
}

/// Removes the files of other commits. A file left behind only costs disk space.
pub(crate) fn remove_others(folder: &Path, stamp: u64) {
    let keep = path(folder, stamp);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let stale = entry.file_name().to_string_lossy().starts_with(NAME) && entry.path() != keep;
        if stale {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The reader's view: each chat has a slot, and slots index the arrays of the ranking.
#[derive(Clone, Default)]
pub(crate) struct Chats {
    ids: Vec<u32>,
    tallies: Vec<Tally>,
    slots: FxHashMap<u32, u32>,
    /// The same as an array if IDs are dense, which they are unless the caller numbers chats by hashes.
    dense: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Chats {
    pub(crate) fn read(folder: &Path, stamp: u64) -> Result<Chats, Error> {
        let mut chats = Chats::default();
        for (chat, _, tally) in rows(folder, stamp)? {
            if chats.ids.last() != Some(&chat) {
                chats.ids.push(chat);
                chats.tallies.push(Tally::default());
            }
            if let Some(last) = chats.tallies.last_mut() {
                last.join(&tally);
            }
        }
        let most = chats.ids.last().map_or(0, |last| *last as usize + 1);
        if most <= chats.ids.len() * 16 + 4096 {
            chats.dense = vec![NONE; most];
            for (slot, id) in chats.ids.iter().enumerate() {
                chats.dense[*id as usize] = slot as u32;
            }
        } else {
            chats.slots = chats.ids.iter().enumerate().map(|(slot, id)| (*id, slot as u32)).collect();
        }
        Ok(chats)
    }

    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(crate) fn id(&self, slot: usize) -> u32 {
        self.ids[slot]
    }

    pub(crate) fn tally(&self, slot: usize) -> &Tally {
        &self.tallies[slot]
    }

    #[inline]
    pub(crate) fn slot(&self, chat: u32) -> Option<usize> {
        match self.dense.get(chat as usize) {
            Some(&slot) if slot != NONE => Some(slot as usize),
            _ => self.slots.get(&chat).map(|slot| *slot as usize),
        }
    }

    /// Counts a message that is not in the index yet; returns the chat's slot and the message's turn.
    pub(crate) fn add(&mut self, chat: u32, part: Part, bytes: usize) -> (usize, u32) {
        let slot = self.slot(chat).unwrap_or_else(|| {
            self.ids.push(chat);
            self.tallies.push(Tally::default());
            self.slots.insert(chat, self.ids.len() as u32 - 1);
            self.ids.len() - 1
        });
        let tally = &mut self.tallies[slot];
        tally.add(part, bytes);
        (slot, tally.messages - 1)
    }
}
