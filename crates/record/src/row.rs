//! A row: the little that a survey of a transcript keeps of one message or tool call, and the position of its
//! bytes. Deduplicating copies, joining results and sorting work on rows alone; text is read again from its
//! position only for the records that are printed. 120 bytes each, so that ten million fit on a disk, not in
//! memory.
//!
//! Does not contain text.

use crate::{Kind, Stamp, Status, Tokens};

#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord, Default)]
#[repr(u8)]
pub enum RowKind {
    #[default]
    Message,
    Call,
    /// A result whose call did not occur earlier in the same file.
    Result,
}

pub const COPIED: u8 = 1; // the entry itself states that it was copied from another session
pub const SIDECHAIN: u8 = 2; // written by or to a subagent
pub const WARM_UP: u8 = 4; // the client's own start-up request: costs tokens, contains no message
pub const USAGE_ONLY: u8 = 8; // a token count without a message of its own

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Rows with the same key are the same event, found several times.
    pub key: u64,
    pub at: Stamp,
    /// When the result arrived, or the last block was written.
    pub until: Stamp,
    /// Where it starts: a byte offset in a line-based file, an ordinal elsewhere.
    pub start: u64,
    /// Where its last line or its result starts.
    pub end: u64,
    pub file: u32,
    pub end_file: u32,
    /// The session within `file` that it belongs to.
    pub session: u32,
    pub turn: u32,
    pub sequence: u32,
    /// Index of the tool or model in the table of names.
    pub name: u32,
    /// How many lines were joined into this row.
    pub lines: u32,
    pub tokens: Tokens,
    /// The first bytes of the id, for a stable order among equal times.
    pub id: [u8; 24],
    pub row: RowKind,
    pub detail: u8,
    pub flags: u8,
}

impl Default for Row {
    fn default() -> Row {
        Row {
            key: 0,
            at: Stamp::NONE,
            until: Stamp::NONE,
            start: 0,
            end: Row::NO_END,
            file: 0,
            end_file: 0,
            session: 0,
            turn: 0,
            sequence: 0,
            name: 0,
            lines: 1,
            tokens: Tokens::ZERO,
            id: [0; 24],
            row: RowKind::Message,
            detail: 0,
            flags: 0,
        }
    }
}

impl Row {
    pub const NO_END: u64 = u64::MAX;
    pub const SIZE: usize = 115;

    pub fn status(&self) -> Status {
        Status::from_byte(self.detail)
    }

    pub fn kind(&self) -> Kind {
        Kind::from_byte(self.detail)
    }

    pub fn has_flag(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    pub fn id_head(id: &[u8]) -> [u8; 24] {
        let mut head = [0; 24];
        let n = id.len().min(24);
        head[..n].copy_from_slice(&id[..n]);
        head
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        for n in [self.key, self.at.0 as u64, self.until.0 as u64, self.start, self.end] {
            out.extend_from_slice(&n.to_le_bytes());
        }
        let t = self.tokens;
        for n in [
            self.file,
            self.end_file,
            self.session,
            self.turn,
            self.sequence,
            self.name,
            self.lines,
            t.input,
            t.output,
            t.cache_read,
            t.cache_write,
            t.cache_write_1h,
        ] {
            out.extend_from_slice(&n.to_le_bytes());
        }
        out.extend_from_slice(&self.id);
        out.extend_from_slice(&[self.row as u8, self.detail, self.flags]);
    }

    /// The inverse of `encode`; `bytes` is `SIZE` long.
    pub fn decode(bytes: &[u8]) -> Row {
        let long = |i: usize| u64::from_le_bytes(read_array(&bytes[i * 8..]));
        let short = |i: usize| u32::from_le_bytes(read_array(&bytes[40 + i * 4..]));
        Row {
            key: long(0),
            at: Stamp(long(1) as i64),
            until: Stamp(long(2) as i64),
            start: long(3),
            end: long(4),
            file: short(0),
            end_file: short(1),
            session: short(2),
            turn: short(3),
            sequence: short(4),
            name: short(5),
            lines: short(6),
            tokens: Tokens {
                input: short(7),
                output: short(8),
                cache_read: short(9),
                cache_write: short(10),
                cache_write_1h: short(11),
            },
            id: read_array(&bytes[88..]),
            row: [RowKind::Message, RowKind::Call, RowKind::Result][usize::from(bytes[112]).min(2)],
            detail: bytes[113],
            flags: bytes[114],
        }
    }
}

fn read_array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[..N]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_survives_the_spill_file() {
        let row = Row {
            key: 1,
            at: Stamp(-5),
            until: Stamp(7),
            start: 2,
            end: 3,
            file: 4,
            end_file: 5,
            session: 6,
            turn: 7,
            sequence: 8,
            name: 9,
            lines: 10,
            tokens: Tokens { input: 11, output: 12, cache_read: 13, cache_write: 14, cache_write_1h: 15 },
            id: Row::id_head(b"toolu_0123456789abcdefghijklmn"),
            row: RowKind::Result,
            detail: 1,
            flags: WARM_UP,
        };
        let mut bytes = Vec::new();
        row.encode(&mut bytes);
        assert_eq!(bytes.len(), Row::SIZE);
        assert_eq!(Row::decode(&bytes), row);
    }
}
