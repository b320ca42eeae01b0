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

const FILE_PREFIX: &str = "chats.";
const ROW_BYTES: usize = 12 + 4 * PARTS;

/// The share of one file in one chat: messages, and bytes of text by part. A chat may be spread over several files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChatLength {
    pub(crate) messages: u32,
    pub(crate) bytes: [u32; PARTS],
}

impl ChatLength {
    pub(crate) fn add_message(&mut self, part: Part, bytes: usize) {
        self.messages += 1;
        let total = &mut self.bytes[part as usize];
        *total = total.saturating_add(bytes as u32);
    }

    fn add_lengths(&mut self, other: &ChatLength) {
        self.messages += other.messages;
        for (total, more) in self.bytes.iter_mut().zip(other.bytes) {
            *total = total.saturating_add(more);
        }
    }
}

/// The writer's view: by file and chat, so that a file can be dropped without reading the others.
#[derive(Default)]
pub(crate) struct ChatLengths {
    lengths: BTreeMap<(u32, u32), ChatLength>,
}

impl ChatLengths {
    pub(crate) fn add_message(&mut self, chat: u32, file: u32, part: Part, bytes: usize) {
        self.lengths.entry((file, chat)).or_default().add_message(part, bytes);
    }

    pub(crate) fn drop_message(&mut self, chat: u32, file: u32, part: Part, bytes: usize) {
        if let Some(length) = self.lengths.get_mut(&(file, chat)) {
            length.messages = length.messages.saturating_sub(1);
            let total = &mut length.bytes[part as usize];
            *total = total.saturating_sub(bytes as u32);
        }
    }

    pub(crate) fn drop_file(&mut self, file: u32) {
        let of: Vec<_> = self.lengths.range((file, 0)..=(file, u32::MAX)).map(|(key, _)| *key).collect();
        for key in of {
            self.lengths.remove(&key);
        }
    }

    pub(crate) fn drop_chat(&mut self, chat: u32) {
        self.lengths.retain(|(_, of), _| *of != chat);
    }

    /// Rows in the order of chats; written to a draft and renamed, so that a reader sees one commit or the other.
    pub(crate) fn write(&self, folder: &Path, stamp: u64) -> Result<(), Error> {
        let mut rows: Vec<_> = self.lengths.iter().collect();
        rows.sort_by_key(|((_, chat), _)| *chat);
        let mut bytes = Vec::with_capacity(rows.len() * ROW_BYTES);
        for ((file, chat), tally) in rows {
            for number in [*chat, *file, tally.messages].iter().chain(&tally.bytes) {
                bytes.extend(number.to_le_bytes());
            }
        }
        bytes.extend(fnv1a(&bytes).to_le_bytes());
        let (path, draft) = (chats_path(folder, stamp), folder.join("chats.draft"));
        let write = || {
            let mut file = fs::File::create(&draft)?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            fs::rename(&draft, &path)
        };
        write().map_err(|source| Error::io(&path, source))
    }

    pub(crate) fn read(folder: &Path, stamp: u64) -> Result<ChatLengths, Error> {
        let mut tallies = ChatLengths::default();
        for (chat, file, tally) in read_rows(folder, stamp)? {
            tallies.lengths.insert((file, chat), tally);
        }
        Ok(tallies)
    }
}

fn chats_path(folder: &Path, stamp: u64) -> PathBuf {
    folder.join(format!("{FILE_PREFIX}{stamp}"))
}

fn read_rows(folder: &Path, stamp: u64) -> Result<Vec<(u32, u32, ChatLength)>, Error> {
    let path = chats_path(folder, stamp);
    let bytes = fs::read(&path).map_err(|error| Error::damaged(&path, &error))?;
    let (bytes, checksum) = bytes.split_at(bytes.len().saturating_sub(8));
    if bytes.len() % ROW_BYTES != 0 || fnv1a(bytes).to_le_bytes() != checksum {
        return Err(Error::damaged(&path, &"checksum mismatch"));
    }
    Ok(bytes.chunks_exact(ROW_BYTES).map(parse_row).collect())
}

/// FNV-1a checksum, so that a corrupt file does not invent conversations.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

fn parse_row(bytes: &[u8]) -> (u32, u32, ChatLength) {
    let mut numbers = [0; ROW_BYTES / 4];
    for (number, bytes) in numbers.iter_mut().zip(bytes.chunks_exact(4)) {
        *number = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    let [chat, file, messages, bytes @ ..] = numbers;
    (chat, file, ChatLength { messages, bytes })
}

/// Removes the files of other commits. A file left behind only costs disk space.
pub(crate) fn remove_others(folder: &Path, stamp: u64) {
    let keep = chats_path(folder, stamp);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let stale = entry.file_name().to_string_lossy().starts_with(FILE_PREFIX) && entry.path() != keep;
        if stale {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The reader's view: each chat has a slot, and slots index the arrays of the ranking.
#[derive(Clone, Default)]
pub(crate) struct Chats {
    ids: Vec<u32>,
    lengths: Vec<ChatLength>,
    slots: FxHashMap<u32, u32>,
    /// The same as an array if IDs are dense, which they are unless the caller numbers chats by hashes.
    dense: Vec<u32>,
}

const NO_SLOT: u32 = u32::MAX;

impl Chats {
    pub(crate) fn read(folder: &Path, stamp: u64) -> Result<Chats, Error> {
        let mut chats = Chats::default();
        for (chat, _, tally) in read_rows(folder, stamp)? {
            if chats.ids.last() != Some(&chat) {
                chats.ids.push(chat);
                chats.lengths.push(ChatLength::default());
            }
            if let Some(last) = chats.lengths.last_mut() {
                last.add_lengths(&tally);
            }
        }
        let most = chats.ids.last().map_or(0, |last| *last as usize + 1);
        if most <= chats.ids.len() * 16 + 4096 {
            chats.dense = vec![NO_SLOT; most];
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

    pub(crate) fn chat_at(&self, slot: usize) -> u32 {
        self.ids[slot]
    }

    pub(crate) fn length_of(&self, slot: usize) -> &ChatLength {
        &self.lengths[slot]
    }

    #[inline]
    pub(crate) fn slot_of(&self, chat: u32) -> Option<usize> {
        match self.dense.get(chat as usize) {
            Some(&slot) if slot != NO_SLOT => Some(slot as usize),
            _ => self.slots.get(&chat).map(|slot| *slot as usize),
        }
    }

    /// Counts a message that is not in the index yet; returns the chat's slot.
    pub(crate) fn add_message(&mut self, chat: u32, part: Part, bytes: usize) -> usize {
        let slot = self.slot_of(chat).unwrap_or_else(|| {
            self.ids.push(chat);
            self.lengths.push(ChatLength::default());
            self.slots.insert(chat, self.ids.len() as u32 - 1);
            self.ids.len() - 1
        });
        self.lengths[slot].add_message(part, bytes);
        slot
    }
}
