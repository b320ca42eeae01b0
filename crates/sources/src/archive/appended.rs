//! A copy as its lines and the rest, so that what was appended to it can be carried alone. Lines are only ever added, until a copy is
//! written anew: what was replaced stays in its place and no longer counts.
//!
//! Does not know where the bytes travel, nor whether the other side has the lines before.

use super::copy::{Archive, is_missing};
use super::entry::{RowLine, split_entries};
use super::frame_writer::FrameWriter;
use super::packed_form::{self, FormError};
use super::raw_copy::check_name;
use super::table::{Frame, KEPT, REPLACED, Table};
use super::unite::prints_at;
use super::{Store, VERSION, io_error};
use crate::Error;
use std::path::Path;

/// A copy, or what was appended to one.
pub struct CopyLines {
    pub lines: Vec<u8>,
    /// The positions of entries that no longer count, ascending. Positions begin at the first line of the copy.
    pub dead: Vec<u64>,
    /// What is written anew with each change: sessions and the like.
    table: Table,
}

impl Store {
    /// The lines of a copy. None: there is no copy, or it has more bytes of lines than the limit.
    pub fn read_lines(&self, name: u128, limit: u64) -> Result<Option<CopyLines>, Error> {
        let archive = match Archive::open(&self.path_by_name(name)) {
            Err(error) if is_missing(&error) => return Ok(None),
            opened => opened?,
        };
        take_lines(archive, limit)
    }

    /// Stores a copy in place of the one that is there. Refuses what is not a copy of the transcript with that name.
    pub fn put_lines(&self, name: u128, copy: CopyLines) -> Result<(), Error> {
        let path = self.path_by_name(name);
        let damaged = |what| Error::Damaged { path: path.clone(), what };
        check_name(&path, &copy.table.header, name)?;
        let mut writer = FrameWriter::new(self.target_at(path.clone()));
        let mut end = 0;
        for (at, head, record) in split_entries(&copy.lines) {
            let row: RowLine<'_> =
                serde_json::from_slice(head).map_err(|_| damaged("its lines cannot be parsed"))?;
            let has = |places: &[u64]| places.binary_search(&at).is_ok();
            let ordinal = match () {
                () if has(&copy.dead) => REPLACED,
                () if has(&copy.table.kept) => KEPT,
                () => row.ordinal,
            };
            writer.add_stored(head, record, ordinal)?;
            end = at as usize + head.len() + record.len() + 2;
        }
        if end != copy.lines.len() {
            return Err(damaged("its lines cannot be parsed"));
        }
        writer.finish(copy.table.header, copy.table.closing)?.publish().map(drop)
    }
}

fn take_lines(mut archive: Archive, limit: u64) -> Result<Option<CopyLines>, Error> {
    if archive.raw_length() > limit {
        return Ok(None);
    }
    let mut lines = Vec::with_capacity(archive.raw_length() as usize);
    for frame in 0..archive.spans.len() {
        lines.extend_from_slice(&archive.unpack_frame(frame)?);
    }
    let dead = std::mem::take(&mut archive.table.dead);
    Ok(Some(CopyLines { lines, dead, table: archive.table }))
}

impl CopyLines {
    /// Agent and ID of each session.
    pub fn sessions(&self) -> impl Iterator<Item = (&str, &str)> {
        let sessions = self.table.closing.sessions.iter();
        sessions.map(|session| (self.table.header.source.as_str(), session.session_id.as_str()))
    }

    /// Everything but the lines and what no longer counts of them, to be compared.
    pub fn rest(&self) -> Vec<u8> {
        // Serialization cannot fail: the types contain only what JSON can represent.
        serde_json::to_vec(&(&self.table.header, &self.table.closing)).unwrap_or_default()
    }

    /// The lines from a position on, and the content of the entries before it that no longer count since then, in the form of a small
    /// copy.
    pub fn encode_since(mut self, name: u128, at: usize, dead_before: &[u64]) -> Result<Vec<u8>, Error> {
        let lines = self.lines.get(at..).unwrap_or_default();
        let is_new = |place: &u64| dead_before.binary_search(place).is_err();
        let (before, after): (Vec<u64>, Vec<u64>) =
            self.dead.iter().copied().filter(is_new).partition(|place| *place < at as u64);
        let relative = |places: &[u64]| -> Vec<u64> {
            places.iter().filter_map(|place| place.checked_sub(at as u64)).collect()
        };
        self.table.dropped = prints_at(&self.lines, &before, &self.table.closing.sessions);
        self.table.dead = relative(&after);
        self.table.kept = relative(&self.table.kept);
        self.table.frames = packed_form::frames_of(lines, 0);
        self.table.index = Frame::default();
        packed_form::encode(name, lines, &self.table).map_err(io_error(Path::new("")))
    }

    /// What [`CopyLines::encode_since`] has encoded.
    pub fn decode_appended(name: u128, bytes: &[u8]) -> Result<CopyLines, Error> {
        let path = || std::path::PathBuf::from(format!("{name:032x}"));
        let (lines, mut table) = packed_form::decode(name, bytes).map_err(|error| match error {
            FormError::Newer(version) => {
                Error::Newer { path: path(), version: version.into(), supported: VERSION }
            }
            FormError::Damaged(what) => Error::Damaged { path: path(), what },
        })?;
        let dead = std::mem::take(&mut table.dead);
        Ok(CopyLines { lines, dead, table })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::table::{Header, StoredOutcome, fnv1a_128};
    use std::path::PathBuf;

    const SOURCE: &str = "claude";
    const PATH: &str = "/srv/demo/one.jsonl";

    fn name() -> u128 {
        fnv1a_128(&[SOURCE.as_bytes(), b"\0", PATH.as_bytes(), b"\0", b"\0"])
    }

    fn entry(number: u32, length: usize) -> String {
        let text: String =
            (0..length).map(|at| char::from(b'a' + ((at * 7 + number as usize) % 26) as u8)).collect();
        format!(
            "{{\"n\":{number},\"row\":\"message\",\"is\":\"prompt\",\"key\":{number},\"turn\":1,\"seq\":1,\"lines\":1,\"later\":7}}\n\
             {{\"id\":\"{number}\",\"text\":\"{text}\",\"tool_calls\":0}}\n"
        )
    }

    fn copy_of(lines: &str, dead: &[u64], size: u64) -> CopyLines {
        let header = format!(
            "{{\"source\":\"{SOURCE}\",\"path\":\"{PATH}\",\"hint\":\"\",\"group\":\"\",\"size\":{size},\"keys\":0}}"
        );
        let header: Header = serde_json::from_str(&header).unwrap();
        let sessions =
            serde_json::from_str(r#"[{"session_id":"s","started_at":null,"ended_at":null}]"#).unwrap();
        let (closing, index) = (StoredOutcome { sessions, ..StoredOutcome::default() }, Frame::default());
        let (dead_lines, kept, dropped) = (Vec::new(), Vec::new(), Vec::new());
        let table =
            Table { header, closing, entries: 0, dead: dead_lines, kept, dropped, frames: Vec::new(), index };
        CopyLines { lines: lines.into(), dead: dead.to_vec(), table }
    }

    #[test]
    fn a_copy_grows_by_what_was_appended_whatever_its_form() {
        // The second is larger than a row, and grows within a file; the third outgrows the row.
        for (before, after) in [(300, 200), (700_000, 200), (100_000, 400_000)] {
            let tmp = tempfile::tempdir().unwrap();
            let (here, there) =
                (Store::new(tmp.path().join("archive")), Store::new(tmp.path().join("elsewhere")));
            let first = [entry(0, before), entry(1, 50)].concat();
            here.put_lines(name(), copy_of(&first, &[], 1)).unwrap();
            let whole = here.read_raw(name(), name()).unwrap().unwrap();
            // The second entry goes on.
            let second = [first.as_str(), &entry(1, after)].concat();
            let dead = [entry(0, before).len() as u64];
            let part = copy_of(&second, &dead, 2).encode_since(name(), first.len(), &[]).unwrap();
            assert!(part.len() < after + 1_000, "{}", part.len());
            for order in [[&whole, &part], [&part, &whole]] {
                let slot = crate::archive::name_of_origin(name(), Some("a"));
                for bytes in order.into_iter().chain(order) {
                    there.unite_copies(name(), Some("a"), &[bytes]).unwrap();
                }
                let copy = there.read_lines(slot, u64::MAX).unwrap().unwrap();
                let living = copy.lines.len() - copy.dead.len();
                assert_eq!(
                    living,
                    entry(0, before).len() + entry(1, after).len(),
                    "{}",
                    String::from_utf8_lossy(&copy.lines).len()
                );
                there.remove_copy(&there.path_by_name(slot)).unwrap();
            }
        }
    }

    #[test]
    fn lines_that_are_no_copy_of_this_transcript_are_refused() {
        let tmp = tempfile::tempdir().unwrap();
        let store = Store::new(tmp.path().join("archive"));
        let whole = entry(0, 30);
        assert!(store.put_lines(name() ^ 1, copy_of(&whole, &[], 1)).is_err());
        assert!(store.put_lines(name(), copy_of(&whole[..whole.len() - 1], &[], 1)).is_err());
        assert!(store.put_lines(name(), copy_of("no row\nno record\n", &[], 1)).is_err());
        assert!(store.read_lines(name(), u64::MAX).unwrap().is_none());
        store.put_lines(name(), copy_of(&whole, &[], 1)).unwrap();
        assert!(store.read_lines(name(), whole.len() as u64 - 1).unwrap().is_none());
        let part = copy_of(&whole, &[], 1).encode_since(name(), 0, &[]).unwrap();
        assert!(CopyLines::decode_appended(name() ^ 1, &part).is_err());
        assert!(CopyLines::decode_appended(name(), &part[..part.len() - 1]).is_err());
        assert_eq!(store.path_by_name(name()).extension(), Some(PathBuf::from("loci").as_os_str()));
    }
}
