//! The list of all copies, outside of the archive: what is listed and not there was lost, to damage or by hand.
//!
//! A file of lines, each with a checksum; the last line of a copy counts. Lines are only appended, until most of them are of the past.
//! It also has the revision that the database of small copies had at least: an older one in its place is noticed.
//! A process that is killed after it has stored a copy and before the line is written leaves a copy that is not listed:
//! [`super::Store::list_unlisted`] adds it. Does not know contents.

use super::io_error;
use super::table::{fnv1a_64, fnv1a_64_of};
use crate::{Error, FileStamp};
use memchr::memmem;
use os::files::OpenOptionsExt;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Lines of the past that are kept until the list is written anew.
const MAX_PAST: usize = 4096;
/// How many bytes are appended until lines of the past are looked for.
const STEP: u64 = 1 << 19;

/// In the line of a copy that was removed.
const REMOVED: &[u8] = b"\t-\t";
/// In place of the name, in a line with a revision.
const REVISION: &str = "revision";

/// A copy as it is listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) entries: u32,
    /// How many of them the transcript no longer has.
    pub(super) kept: u32,
    /// A hash of the stored bytes: of a large copy, of its table.
    pub(super) check: u64,
    pub(super) source: String,
    /// The first session in it.
    pub(super) session: String,
}

/// A copy that is listed and is not there, or has less than is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostCopy {
    pub name: u128,
    pub source: String,
    pub session_id: String,
    /// How many entries it had, and has.
    pub entries: u32,
    pub found: u32,
}

/// What the file has.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) copies: BTreeMap<u128, Listed>,
    /// The database of small copies had this revision, or a later one.
    pub(super) revision: i64,
    lines: usize,
}

#[derive(Debug)]
pub(super) struct Manifest {
    path: PathBuf,
    pending: Mutex<String>,
}

impl Manifest {
    /// The list of the archive in this folder.
    pub(super) fn new(archive: &Path) -> Manifest {
        Manifest { path: archive.with_extension("list"), pending: Mutex::default() }
    }

    pub(super) fn add(&self, name: u128, copy: &Listed) {
        // A separator in a name would make two fields of it.
        let clean = |text: &str| text.replace(['\t', '\n', '\r'], " ");
        let Listed { entries, kept, check, source, session } = copy;
        self.push(&format!(
            "{name:032x}\t{entries}\t{kept}\t{check:016x}\t{}\t{}",
            clean(source),
            clean(session)
        ));
    }

    pub(super) fn remove(&self, name: u128) {
        // The checksum follows: see `REMOVED`.
        self.push(&format!("{name:032x}\t-"));
    }

    fn push_revision(&self, revision: i64) {
        self.push(&format!("{REVISION}\t{revision}"));
    }

    fn push(&self, line: &str) {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending.extend([line, "\t", &format!("{:016x}", fnv1a_64(line.as_bytes())), "\n"]);
    }

    /// Forgets what was not written: the copies were not stored.
    pub(super) fn discard(&self) {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Writes what was added since the last time, and the revision of the database that has it.
    pub(super) fn flush(&self, revision: impl FnOnce() -> Result<i64, Error>) -> Result<(), Error> {
        if self.pending.lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
            return Ok(());
        }
        self.push_revision(revision()?);
        self.append()
    }

    fn append(&self) -> Result<(), Error> {
        let lines = std::mem::take(&mut *self.pending.lock().unwrap_or_else(PoisonError::into_inner));
        if lines.is_empty() {
            return Ok(());
        }
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder).map_err(io_error(&self.path))?;
        }
        let mut options = OpenOptions::new();
        let file = options.append(true).create(true).mode(0o600).open(&self.path);
        let write = |mut file: File| {
            file.write_all(lines.as_bytes())?;
            // After a power cut, what was removed from the archive must not be listed.
            if memmem::find(lines.as_bytes(), REMOVED).is_some() {
                file.sync_data()?;
            }
            file.metadata().map(|meta| meta.len())
        };
        let after = file.and_then(write).map_err(io_error(&self.path))?;
        let before = after - lines.len() as u64;
        if before / STEP == after / STEP { Ok(()) } else { self.remove_past() }
    }

    /// Only those who store copies come here: a reader that writes the list anew would drop what is being appended.
    fn remove_past(&self) -> Result<(), Error> {
        let listing = self.read()?;
        if listing.lines > 2 * listing.copies.len() + MAX_PAST { self.rewrite(&listing) } else { Ok(()) }
    }

    /// A number that changes with the file.
    pub(super) fn state(&self) -> u64 {
        let meta = fs::metadata(&self.path).ok();
        let stamp =
            meta.map(|meta| (meta.len(), FileStamp::from_metadata(&meta).changed)).unwrap_or_default();
        fnv1a_64_of([&stamp.0.to_le_bytes(), &stamp.1.to_le_bytes()])
    }

    /// The listed copies. A damaged line counts as none.
    pub(super) fn read(&self) -> Result<Listing, Error> {
        let bytes = match fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Listing::default()),
            Err(error) => return Err(io_error(&self.path)(error)),
        };
        let mut listing = Listing::default();
        for line in bytes.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok()) {
            listing.lines += 1;
            match parse(line) {
                Some(Line::Copy(name, copy)) => drop(listing.copies.insert(name, copy)),
                Some(Line::Removed(name)) => drop(listing.copies.remove(&name)),
                Some(Line::Revision(revision)) => listing.revision = listing.revision.max(revision),
                None => {}
            }
        }
        Ok(listing)
    }

    /// Writes the list anew if something was removed: it must not mention what was forgotten.
    pub(super) fn erase_removed(&self) -> Result<(), Error> {
        self.append()?;
        match fs::read(&self.path) {
            Ok(bytes) if memmem::find(&bytes, REMOVED).is_some() => self.rewrite(&self.read()?),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(io_error(&self.path)(error)),
        }
    }

    fn rewrite(&self, listing: &Listing) -> Result<(), Error> {
        let fresh = Manifest { path: self.path.with_extension("list.new"), pending: Mutex::default() };
        // Left by a process that was killed.
        let _ = fs::remove_file(&fresh.path);
        for (name, copy) in &listing.copies {
            fresh.add(*name, copy);
        }
        fresh.push_revision(listing.revision);
        // Without copies, nothing is written below.
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o600).open(&fresh.path).map_err(io_error(&self.path))?;
        fresh.append()?;
        fs::rename(&fresh.path, &self.path).map_err(io_error(&self.path))
    }
}

enum Line {
    Copy(u128, Listed),
    Removed(u128),
    Revision(i64),
}

/// None: the line is damaged.
fn parse(line: &str) -> Option<Line> {
    let (text, check) = line.rsplit_once('\t')?;
    if u64::from_str_radix(check, 16).ok()? != fnv1a_64(text.as_bytes()) {
        return None;
    }
    let mut fields = text.split('\t');
    let name = fields.next()?;
    if name == REVISION {
        return fields.next()?.parse().ok().map(Line::Revision);
    }
    let name = u128::from_str_radix(name, 16).ok()?;
    let entries = fields.next()?;
    if entries == "-" {
        return Some(Line::Removed(name));
    }
    let copy = Listed {
        entries: entries.parse().ok()?,
        kept: fields.next()?.parse().ok()?,
        check: u64::from_str_radix(fields.next()?, 16).ok()?,
        source: fields.next()?.to_string(),
        session: fields.next()?.to_string(),
    };
    Some(Line::Copy(name, copy))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(entries: u32) -> Listed {
        Listed { entries, kept: 1, check: 7, source: "claude".to_string(), session: "s\t1".to_string() }
    }

    #[test]
    fn the_last_line_of_a_copy_counts_and_a_damaged_line_is_none() {
        let tmp = tempfile::tempdir().unwrap();
        let manifest = Manifest::new(&tmp.path().join("archive"));
        assert!(manifest.read().unwrap().copies.is_empty());
        for (name, entries) in [(1, 10), (2, 20), (1, 11)] {
            manifest.add(name, &listed(entries));
        }
        manifest.flush(|| Ok(7)).unwrap();
        manifest.remove(2);
        manifest.add(3, &listed(30));
        manifest.erase_removed().unwrap();
        assert!(!fs::read_to_string(&manifest.path).unwrap().contains(&format!("{:032x}", 2)));
        let read = manifest.read().unwrap();
        assert_eq!(read.copies.keys().copied().collect::<Vec<_>>(), [1, 3]);
        assert_eq!((read.copies[&1].entries, read.copies[&1].session.as_str()), (11, "s 1"));
        assert_eq!(read.revision, 7);
        let mut bytes = fs::read(&manifest.path).unwrap();
        let at = bytes.windows(2).rposition(|pair| pair == b"\t7").unwrap() - 30;
        bytes[at] ^= 1;
        fs::write(&manifest.path, bytes).unwrap();
        assert_eq!(manifest.read().unwrap().copies.keys().copied().collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn lines_of_the_past_are_removed_in_time() {
        let tmp = tempfile::tempdir().unwrap();
        let manifest = Manifest::new(&tmp.path().join("archive"));
        for entries in 0..2 * MAX_PAST as u32 {
            manifest.add(1, &listed(entries));
        }
        // More than one step.
        manifest.flush(|| Ok(1)).unwrap();
        assert_eq!(manifest.read().unwrap().copies.len(), 1);
        assert!(fs::metadata(&manifest.path).unwrap().len() < 200);
        assert_eq!(manifest.read().unwrap().copies[&1].entries, 2 * MAX_PAST as u32 - 1);
    }
}
