//! Transcripts that lost more than a tenth of their entries.
//!
//! Does not know what they lost: the archive has it.

use crate::reader::{Reader, path_column};
use crate::{Error, Writer};
use db::params;
use std::path::PathBuf;

/// A transcript that lost entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShortenedFile {
    pub path: PathBuf,
    pub part: Option<String>,
    /// The session in it, or the first of several.
    pub session_id: String,
    /// How many entries the archive has of it, and how many of them the transcript no longer has.
    pub entries: u32,
    pub kept: u32,
}

impl Reader {
    /// The transcripts that are there and have less than nine tenths of what they had, by path.
    pub fn shortened_files(&self) -> Result<Vec<ShortenedFile>, Error> {
        let sql = "select f.path, f.part, coalesce((select c.session_id from sessions s join chats c on c.id = s.chat \
            where s.file = f.id order by s.ordinal limit 1), f.hint), t.entries, t.kept \
            from shortened t join files f on f.id = t.file where f.gone = 0 order by f.path, f.part";
        self.query_all(sql, [], |row| {
            Ok(ShortenedFile {
                path: path_column(row, 0)?,
                part: row.get(1)?,
                session_id: row.get(2)?,
                entries: row.get(3)?,
                kept: row.get(4)?,
            })
        })
    }
}

impl Writer {
    /// Records how much of a transcript only the archive has: up to a tenth is normal where agents rewrite their transcripts.
    pub fn set_shortened(&self, file: u32, entries: u32, kept: u32) -> Result<(), Error> {
        if u64::from(kept) * 10 > u64::from(entries) {
            return self
                .execute(
                    "insert or replace into shortened(file, entries, kept) values (?1, ?2, ?3)",
                    params![file, entries, kept],
                )
                .map(drop);
        }
        self.execute("delete from shortened where file = ?1", [file]).map(drop)
    }
}
