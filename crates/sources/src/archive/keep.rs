//! Writes a copy: entries are packed as they come, beside the place where the copy will be, and the copy that is
//! there stays until the new one is whole and on disk. One that is dropped unfinished has never been.
//!
//! A copy is continued by taking its frames over as they are. Does not know when a transcript is worth keeping.

use super::entry::{CallLine, Head, MessageLine};
use super::table::{self, Archive, Closing, DEAD, Frame, Header, LARGEST, Mark, Table};
use super::{UNFINISHED, failed, forget};
use crate::{Error, Facts};
use record::{Call, Message, Row};
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use zstd::bulk::Compressor;

/// Lines that are packed together: enough to pack well, little enough to unpack for one entry.
const FRAME: usize = 256 * 1024;
/// Level 3 packs 158 MB of made-up history into 18.9 MB, level 1 into 20.0 MB in a fifth less time; waiting for the
/// disk costs four times either.
const LEVEL: i32 = 3;
/// A copy of which more than half was replaced is packed again, unless it is too small to matter.
const WASTE: u64 = 1024 * 1024;

/// A copy being made of one transcript.
pub struct Keeper {
    pack: Pack,
    header: Header,
    /// Where in `pack.marks` the entry of an ordinal is that counts.
    latest: FxHashMap<u32, usize>,
    failed: Option<Error>,
}

impl Keeper {
    pub(super) fn new(path: PathBuf, header: Header) -> Result<Keeper, Error> {
        Ok(Keeper { pack: Pack::create(path)?, header, latest: FxHashMap::default(), failed: None })
    }

    /// Takes over the entries before `from`, all of which must be whole.
    pub(super) fn continuing(archive: &Archive, header: Header, from: u32) -> Result<Keeper, Error> {
        let damaged = |what| Error::Damaged { path: archive.path.clone(), what };
        if !archive.table.header.keys_hold() {
            return Err(damaged("its rows have other keys than rows have today"));
        }
        let marks = archive.index()?;
        let mut keeper = Keeper::new(archive.path.clone(), header)?;
        if let Some(error) = keeper.take_over(archive, marks)? {
            return Err(error);
        }
        keeper.cut(from);
        Ok(keeper)
    }

    /// Takes over whatever is whole.
    pub(super) fn mending(archive: &Archive, header: Header) -> Result<Keeper, Error> {
        let mut keeper = Keeper::new(archive.path.clone(), header)?;
        if let (true, Ok(marks)) = (archive.table.header.keys_hold(), archive.index()) {
            keeper.take_over(archive, marks)?;
        }
        Ok(keeper)
    }

    /// Frames as they are, without unpacking. The entries of a damaged one no longer count; what was wrong with the
    /// last such is handed back.
    fn take_over(&mut self, archive: &Archive, marks: Vec<Mark>) -> Result<Option<Error>, Error> {
        let (mut marks, mut wrong) = (marks.into_iter(), None);
        for n in 0..archive.spans.len() {
            let entries = archive.spans[n].frame.entries as usize;
            let mut here: Vec<Mark> = marks.by_ref().take(entries).collect();
            let bytes = match archive.packed(n) {
                Ok(bytes) => bytes,
                Err(error) => {
                    // Its place stays taken, so that the places behind it remain what they were.
                    for mark in &mut here {
                        mark.ordinal = DEAD;
                    }
                    wrong = (archive.living(n) > 0).then_some(error).or(wrong);
                    vec![0; archive.spans[n].frame.packed as usize]
                }
            };
            self.pack.take(archive.spans[n].frame, &bytes, &here)?;
        }
        for (at, mark) in self.pack.marks.iter().enumerate().filter(|(_, mark)| mark.ordinal != DEAD) {
            self.latest.insert(mark.ordinal, at);
        }
        Ok(wrong)
    }

    /// How many entries there are so far.
    pub fn entries(&self) -> u32 {
        self.latest.len() as u32
    }

    /// Whether the entry is there already with this very row, so that its record need not be read again.
    pub fn has(&self, ordinal: u32, row: &Row, name: &str) -> bool {
        let mark = self.latest.get(&ordinal).map(|at| self.pack.marks[*at]);
        mark.is_some_and(|mark| print(&Head::new(ordinal, row, name)).is_ok_and(|print| print == mark.print))
    }

    /// `name` is the model's. An entry that is there already is replaced. The last ordinal there could be, `u32::MAX`,
    /// is none.
    pub fn message(&mut self, ordinal: u32, row: &Row, name: &str, message: &Message) {
        self.add(&Head::new(ordinal, row, name), &MessageLine::from(message));
    }

    /// `name` is the tool's. The record of a result alone is a call that has what the result says.
    pub fn call(&mut self, ordinal: u32, row: &Row, name: &str, call: &Call) {
        self.add(&Head::new(ordinal, row, name), &CallLine::from(call));
    }

    /// Takes an entry back: the transcript no longer has it.
    pub fn drop_entry(&mut self, ordinal: u32) {
        if let Some(at) = self.latest.remove(&ordinal) {
            self.pack.marks[at].ordinal = DEAD;
        }
    }

    /// Takes back every entry from `from` on: the transcript has become shorter.
    pub fn cut(&mut self, from: u32) {
        for mark in self.pack.marks.iter_mut().filter(|mark| mark.ordinal >= from) {
            mark.ordinal = DEAD;
        }
        self.latest.retain(|ordinal, _| *ordinal < from);
    }

    /// What fails here is told at the end: a walk over a transcript has nobody to tell.
    fn add(&mut self, head: &Head<'_>, record: &impl Serialize) {
        if self.failed.is_some() {
            return;
        }
        self.drop_entry(head.ordinal);
        self.latest.insert(head.ordinal, self.pack.marks.len());
        self.failed = self.pack.add(head, record).err();
    }

    /// Closes the copy and puts it in its place. Gives its size on disk.
    pub fn finish(self, facts: &Facts) -> Result<u64, Error> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let (dead, all) = self.pack.waste();
        let mut written = self.pack.close(self.header, Closing::from(facts))?;
        if dead * 2 > all && all > WASTE {
            written = forget::repack(&written)?;
        }
        written.publish()
    }
}

fn print(head: &Head<'_>) -> serde_json::Result<u64> {
    let mut line = serde_json::to_vec(head)?;
    line.push(b'\n');
    Ok(table::fnv(&line))
}

/// A file that goes unless it is published.
struct Temporary {
    path: PathBuf,
    target: PathBuf,
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Already renamed, or of no use to anyone; `Store::sweep` finds what stays.
        let _ = fs::remove_file(&self.path);
    }
}

impl Temporary {
    fn create(target: PathBuf) -> Result<(Temporary, File), Error> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let (process, n) = (std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let path = target.with_extension(format!("{process}-{n}.{UNFINISHED}"));
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed(folder))?;
        }
        // One of the same name was left by a process that is gone.
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path);
        let file = file.map_err(failed(&target))?;
        Ok((Temporary { path, target }, file))
    }
}

/// An archive file that is being written.
pub(super) struct Pack {
    temporary: Temporary,
    file: File,
    compressor: Compressor<'static>,
    raw: Vec<u8>,
    /// Entries in `raw`.
    waiting: u32,
    frames: Vec<Frame>,
    at: u64,
    marks: Vec<Mark>,
}

impl Pack {
    pub(super) fn create(target: PathBuf) -> Result<Pack, Error> {
        let (temporary, file) = Temporary::create(target)?;
        let compressor = Compressor::new(LEVEL).map_err(failed(&temporary.target))?;
        let (raw, frames, marks) = (Vec::new(), Vec::new(), Vec::new());
        let mut pack = Pack { temporary, file, compressor, raw, waiting: 0, frames, at: 0, marks };
        pack.write(&table::start())?;
        Ok(pack)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.file.write_all(bytes).map_err(failed(&self.temporary.target))?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    fn add(&mut self, head: &Head<'_>, record: &impl Serialize) -> Result<(), Error> {
        let unwritable = |error: serde_json::Error| failed(&self.temporary.target)(error.into());
        let line = serde_json::to_vec(record).map_err(unwritable)?;
        self.add_line(head, &line)
    }

    /// An entry whose record is a line already. One that is larger than a frame has its own.
    pub(super) fn add_line(&mut self, head: &Head<'_>, record: &[u8]) -> Result<(), Error> {
        if !self.raw.is_empty() && self.raw.len() + record.len() > FRAME {
            self.flush()?;
        }
        if record.len() as u64 > LARGEST / 2 {
            return Err(failed(&self.temporary.target)(std::io::Error::other(
                "an entry is too large to be kept",
            )));
        }
        let start = self.raw.len();
        serde_json::to_writer(&mut self.raw, head).map_err(|e| failed(&self.temporary.target)(e.into()))?;
        self.raw.push(b'\n');
        let print = table::fnv(&self.raw[start..]);
        self.raw.extend_from_slice(record);
        self.raw.push(b'\n');
        self.waiting += 1;
        let length = (self.raw.len() - start) as u32;
        self.marks.push(Mark { ordinal: head.ordinal, length, print });
        if self.raw.len() >= FRAME { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), Error> {
        if self.waiting > 0 {
            let raw = std::mem::take(&mut self.raw);
            let frame = self.frame(&raw)?;
            self.frames.push(Frame { entries: std::mem::take(&mut self.waiting), ..frame });
            self.raw = raw;
            self.raw.clear();
            self.raw.shrink_to(4 * FRAME);
        }
        Ok(())
    }

    fn frame(&mut self, raw: &[u8]) -> Result<Frame, Error> {
        let packed = self.compressor.compress(raw).map_err(failed(&self.temporary.target))?;
        self.write(&packed)?;
        let (raw, check) = (raw.len() as u64, table::fnv(&packed));
        Ok(Frame { packed: packed.len() as u64, raw, entries: 0, check })
    }

    /// A frame of another file as it is.
    fn take(&mut self, frame: Frame, bytes: &[u8], marks: &[Mark]) -> Result<(), Error> {
        self.write(bytes)?;
        self.frames.push(frame);
        self.marks.extend_from_slice(marks);
        Ok(())
    }

    pub(super) fn entries(&self) -> u32 {
        self.marks.len() as u32
    }

    /// Bytes of entries that no longer count, and of all.
    fn waste(&self) -> (u64, u64) {
        let length = |mark: &Mark| u64::from(mark.length);
        let dead = self.marks.iter().filter(|mark| mark.ordinal == DEAD).map(length).sum();
        (dead, self.marks.iter().map(length).sum())
    }

    /// Writes what stands behind the entries, and sees that all of it is on disk.
    pub(super) fn close(mut self, header: Header, closing: Closing) -> Result<Written, Error> {
        self.flush()?;
        let mut index = Vec::new();
        self.marks.iter().for_each(|mark| mark.encode(&mut index));
        let index = self.frame(&index)?;
        let (mut dead, mut place) = (Vec::new(), 0);
        for mark in &self.marks {
            dead.extend((mark.ordinal == DEAD).then_some(place));
            place += u64::from(mark.length);
        }
        let entries = (self.marks.len() - dead.len()) as u32;
        let frames = std::mem::take(&mut self.frames);
        let table = Table { header, closing, entries, dead, frames, index };
        let table = serde_json::to_vec(&table).map_err(|e| failed(&self.temporary.target)(e.into()))?;
        let at = self.at;
        let frame = self.frame(&table)?;
        self.write(&table::trailer(at, &frame))?;
        self.file.sync_all().map_err(failed(&self.temporary.target))?;
        Ok(Written { temporary: self.temporary, length: self.at })
    }
}

/// A whole copy that is not in its place yet.
pub(super) struct Written {
    temporary: Temporary,
    length: u64,
}

impl Written {
    pub(super) fn path(&self) -> &Path {
        &self.temporary.path
    }

    pub(super) fn target(&self) -> &Path {
        &self.temporary.target
    }

    pub(super) fn publish(self) -> Result<u64, Error> {
        fs::rename(self.path(), self.target()).map_err(failed(self.target()))?;
        sync_directory(self.target())?;
        Ok(self.length)
    }
}

/// A name that was given or taken is on disk only with its directory.
pub(super) fn sync_directory(path: &Path) -> Result<(), Error> {
    let folder = path.parent().unwrap_or(path);
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed(folder))
}
