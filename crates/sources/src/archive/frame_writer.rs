//! Writes a copy: collects lines, and compresses them into the frames of an archive file once they exceed one frame;
//! then appends the index, the table and the trailer. Smaller copies become a row. Neither is visible until it is
//! published.
//!
//! Does not know which entries a copy should contain.

use super::entry::RowLine;
use super::manifest::{Listed, Manifest};
use super::packed::{self, PackedCopies};
use super::packed_form;
use super::table::{self, Frame, Header, IndexEntry, KEPT, MAX_FRAME, REPLACED, StoredOutcome, Table};
use super::{TEMP_EXTENSION, io_error};
use crate::Error;
use os::files::{DirBuilderExt, OpenOptionsExt};
use serde::Serialize;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use zstd::bulk::Compressor;

/// Lines that are compressed together: enough to compress well, few enough to decompress for one entry.
pub(super) const FRAME_SIZE: usize = 256 * 1024;
/// Level 3 compresses 158 MB of made-up history into 18.9 MB, level 1 into 20.0 MB in a fifth less time;
/// waiting for the disk costs four times either.
const COMPRESSION_LEVEL: i32 = 3;

/// A file that is removed unless it is published.
pub(super) struct TemporaryFile {
    path: PathBuf,
    target: PathBuf,
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // Already renamed, or useless; `Store::remove_temporary_files` removes what is left.
        let _ = fs::remove_file(&self.path);
    }
}

impl TemporaryFile {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn create(target: PathBuf) -> Result<(TemporaryFile, File), Error> {
        static CREATED: AtomicU32 = AtomicU32::new(0);
        let (process, n) = (std::process::id(), CREATED.fetch_add(1, Ordering::Relaxed));
        let path = target.with_extension(format!("{process}-{n}.{TEMP_EXTENSION}"));
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(io_error(folder))?;
        }
        // A file of the same name was left by a process that no longer exists.
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path);
        let file = file.map_err(io_error(&target))?;
        Ok((TemporaryFile { path, target }, file))
    }
}

/// Where a copy is written to.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) path: PathBuf,
    pub(super) packed: Arc<PackedCopies>,
    pub(super) manifest: Arc<Manifest>,
}

impl Target {
    /// Enters the copy that was stored into the list, at the end of the batch if there is one.
    fn list(&self, name: u128, listed: &Listed) -> Result<(), Error> {
        self.manifest.add(name, listed);
        if self.packed.is_in_batch() {
            Ok(())
        } else {
            self.manifest.flush(|| self.packed.written_revision())
        }
    }
}

fn to_listed(table: &Table, check: u64) -> Listed {
    Listed {
        entries: table.entries,
        kept: table.kept.len() as u32,
        check,
        source: table.header.source.clone(),
        session: table.closing.sessions.first().map(|line| line.session_id.clone()).unwrap_or_default(),
    }
}

/// A copy that is being written. It has no file as long as its lines fit one frame.
pub(super) struct FrameWriter {
    target: Target,
    output: Option<Output>,
    raw: Vec<u8>,
    /// Entries in `raw`.
    pending: u32,
    frames: Vec<Frame>,
    pub(super) marks: Vec<IndexEntry>,
}

struct Output {
    temporary: TemporaryFile,
    file: File,
    compressor: Compressor<'static>,
    at: u64,
}

impl Output {
    fn create(target: &Path) -> Result<Output, Error> {
        let (temporary, file) = TemporaryFile::create(target.to_path_buf())?;
        let compressor = Compressor::new(COMPRESSION_LEVEL).map_err(io_error(target))?;
        let mut output = Output { temporary, file, compressor, at: 0 };
        output.write_bytes(&table::encode_start())?;
        Ok(output)
    }

    fn write_bytes(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.file.write_all(bytes).map_err(io_error(&self.temporary.target))?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    fn write_frame(&mut self, raw: &[u8]) -> Result<Frame, Error> {
        let packed = self.compressor.compress(raw).map_err(io_error(&self.temporary.target))?;
        self.write_bytes(&packed)?;
        let (raw, check) = (raw.len() as u64, table::fnv1a_64(&packed));
        Ok(Frame { packed: packed.len() as u64, raw, entries: 0, check })
    }
}

impl FrameWriter {
    pub(super) fn new(target: Target) -> FrameWriter {
        let (raw, frames, marks) = (Vec::new(), Vec::new(), Vec::new());
        FrameWriter { target, output: None, raw, pending: 0, frames, marks }
    }

    fn output(&mut self) -> Result<&mut Output, Error> {
        let output = match self.output.take() {
            Some(output) => output,
            None => Output::create(&self.target.path)?,
        };
        Ok(self.output.insert(output))
    }

    pub(super) fn add_entry(&mut self, head: &RowLine<'_>, record: &impl Serialize) -> Result<(), Error> {
        self.append_entry(head, |raw| serde_json::to_writer(raw, record))
    }

    /// Adds an entry whose record is serialised already.
    pub(super) fn add_line(&mut self, head: &RowLine<'_>, record: &[u8]) -> Result<(), Error> {
        self.append_entry(head, |raw| {
            raw.extend_from_slice(record);
            Ok(())
        })
    }

    /// Writes an entry behind the others, in place: a record can be 100 MB, of which there is no second copy. One that is
    /// larger than a frame gets its own.
    fn append_entry(
        &mut self,
        head: &RowLine<'_>,
        write: impl FnOnce(&mut Vec<u8>) -> serde_json::Result<()>,
    ) -> Result<(), Error> {
        let start = self.raw.len();
        let written = self.write_lines(head, write);
        let (print, record) = written.inspect_err(|_| self.raw.truncate(start))?;
        self.mark_entry(start, record, head.ordinal, print)
    }

    /// The transcript no longer has the entry that was added last.
    pub(super) fn mark_last_kept(&mut self) {
        if let Some(mark) = self.marks.last_mut() {
            mark.ordinal = KEPT;
        }
    }

    /// Adds an entry as another copy has it, byte for byte, so that positions stay the same.
    pub(super) fn add_stored(&mut self, head: &[u8], record: &[u8], ordinal: u32) -> Result<(), Error> {
        let start = self.raw.len();
        for line in [head, record] {
            self.raw.extend_from_slice(line);
            self.raw.push(b'\n');
        }
        self.mark_entry(start, record.len(), ordinal, table::fnv1a_64_of([head, b"\n"]))
    }

    /// Enters lines that begin at `start` into the index, and writes a frame when there are enough.
    fn mark_entry(&mut self, start: usize, record: usize, ordinal: u32, print: u64) -> Result<(), Error> {
        let length = (self.raw.len() - start) as u32;
        if start > 0 && start + record > FRAME_SIZE {
            self.flush_until(start)?;
        }
        self.pending += 1;
        self.marks.push(IndexEntry { ordinal, length, fingerprint: print });
        if self.raw.len() >= FRAME_SIZE { self.flush_frame() } else { Ok(()) }
    }

    /// Returns the fingerprint of the row's line and the length of the record.
    fn write_lines(
        &mut self,
        head: &RowLine<'_>,
        write: impl FnOnce(&mut Vec<u8>) -> serde_json::Result<()>,
    ) -> Result<(u64, usize), Error> {
        let unwritable = |error: serde_json::Error| io_error(&self.target.path)(error.into());
        let start = self.raw.len();
        serde_json::to_writer(&mut self.raw, head).map_err(unwritable)?;
        self.raw.push(b'\n');
        let (print, record) = (table::fnv1a_64(&self.raw[start..]), self.raw.len());
        write(&mut self.raw).map_err(unwritable)?;
        let record = self.raw.len() - record;
        if record as u64 > MAX_FRAME / 2 {
            let error = std::io::Error::other("an entry is too large to archive");
            return Err(io_error(&self.target.path)(error));
        }
        self.raw.push(b'\n');
        Ok((print, record))
    }

    fn flush_frame(&mut self) -> Result<(), Error> {
        self.flush_until(self.raw.len())?;
        self.raw.shrink_to(4 * FRAME_SIZE);
        Ok(())
    }

    /// Writes the lines before a position as a frame.
    fn flush_until(&mut self, end: usize) -> Result<(), Error> {
        if self.pending > 0 {
            let mut raw = std::mem::take(&mut self.raw);
            let frame = self.output()?.write_frame(&raw[..end])?;
            self.frames.push(Frame { entries: std::mem::take(&mut self.pending), ..frame });
            raw.drain(..end);
            self.raw = raw;
        }
        Ok(())
    }

    /// Adds an entry that was serialised here.
    pub(super) fn add_lines(&mut self, head: &[u8], record: &[u8], ordinal: u32) -> Result<(), Error> {
        if record.len() as u64 > MAX_FRAME / 2 {
            let error = std::io::Error::other("an entry is too large to archive");
            return Err(io_error(&self.target.path)(error));
        }
        self.add_stored(head, record, ordinal)
    }

    /// The same copy without the replaced entries, if it is a small one.
    pub(super) fn drop_replaced(&mut self) {
        if self.output.is_some() {
            return;
        }
        let (mut at, mut raw) = (0, Vec::with_capacity(self.raw.len()));
        for mark in &self.marks {
            let end = at + mark.length as usize;
            if mark.ordinal != REPLACED {
                raw.extend_from_slice(&self.raw[at..end]);
            }
            at = end;
        }
        self.raw = raw;
        self.marks.retain(|mark| mark.ordinal != REPLACED);
        self.pending = self.marks.len() as u32;
    }

    /// Adds a frame of another file unchanged.
    pub(super) fn copy_frame(
        &mut self,
        frame: Frame,
        bytes: &[u8],
        marks: &[IndexEntry],
    ) -> Result<(), Error> {
        self.output()?.write_bytes(bytes)?;
        self.frames.push(frame);
        self.marks.extend_from_slice(marks);
        Ok(())
    }

    /// Begins with the lines of a small copy, replaced ones included, so that positions stay the same.
    pub(super) fn continue_lines(&mut self, lines: &[u8], marks: Vec<IndexEntry>) {
        self.raw = lines.to_vec();
        self.pending = marks.len() as u32;
        self.marks = marks;
    }

    pub(super) fn entry_count(&self) -> u32 {
        self.marks.len() as u32
    }

    /// Where the copy is written to.
    pub(super) fn path(&self) -> &Path {
        &self.target.path
    }

    /// The number of entries that count, and of those among them that the transcript no longer has.
    pub(super) fn count_entries(&self) -> (u32, u32) {
        let count = |is: fn(u32) -> bool| self.marks.iter().filter(|mark| is(mark.ordinal)).count() as u32;
        (count(|ordinal| ordinal != REPLACED), count(|ordinal| ordinal == KEPT))
    }

    /// Bytes of replaced entries, and of all.
    pub(super) fn replaced_bytes(&self) -> (u64, u64) {
        let length = |mark: &IndexEntry| u64::from(mark.length);
        let dead = self.marks.iter().filter(|mark| mark.ordinal == REPLACED).map(length).sum();
        (dead, self.marks.iter().map(length).sum())
    }

    /// Completes the copy: in the form of a row if its lines fit one frame, unless it already is a file.
    pub(super) fn finish(self, header: Header, closing: StoredOutcome) -> Result<FinishedCopy, Error> {
        let (mut dead, mut kept, mut place) = (Vec::new(), Vec::new(), 0);
        for mark in &self.marks {
            dead.extend((mark.ordinal == REPLACED).then_some(place));
            kept.extend((mark.ordinal == KEPT).then_some(place));
            place += u64::from(mark.length);
        }
        let entries = (self.marks.len() - dead.len()) as u32;
        let (frames, index, dropped) = (Vec::new(), Frame::default(), Vec::new());
        let table = Table { header, closing, entries, dead, kept, dropped, frames, index };
        if self.output.is_some() || self.target.path.exists() {
            self.finish_file(table)
        } else {
            self.finish_row(table)
        }
    }

    fn finish_row(self, mut table: Table) -> Result<FinishedCopy, Error> {
        table.frames = packed_form::frames_of(&self.raw, self.pending);
        let name = super::name_from_path(&self.target.path);
        let bytes = packed_form::encode(name, &self.raw, &table).map_err(io_error(&self.target.path))?;
        let listed = to_listed(&table, table::fnv1a_64(&bytes));
        Ok(FinishedCopy::Row { target: self.target, name, bytes, listed })
    }

    /// Writes the index, the table and the trailer.
    fn finish_file(mut self, mut table: Table) -> Result<FinishedCopy, Error> {
        self.flush_frame()?;
        let mut index = Vec::new();
        self.marks.iter().for_each(|mark| mark.encode(&mut index));
        table.index = self.output()?.write_frame(&index)?;
        table.frames = std::mem::take(&mut self.frames);
        let bytes = serde_json::to_vec(&table).map_err(|e| io_error(&self.target.path)(e.into()))?;
        let output = self.output()?;
        let at = output.at;
        let frame = output.write_frame(&bytes)?;
        let listed = to_listed(&table, frame.check);
        output.write_bytes(&table::encode_trailer(at, &frame))?;
        let length = output.at;
        match self.output {
            Some(Output { temporary, file, .. }) => {
                Ok(FinishedCopy::File { target: self.target, temporary, file, length, listed })
            }
            None => Err(io_error(&self.target.path)(std::io::Error::other("nothing was written"))),
        }
    }
}

/// A complete copy that is not visible yet.
pub(super) enum FinishedCopy {
    Row { target: Target, name: u128, bytes: Vec<u8>, listed: Listed },
    File { target: Target, temporary: TemporaryFile, file: File, length: u64, listed: Listed },
}

impl FinishedCopy {
    /// The temporary file and where the copy belongs. None: it is a row.
    pub(super) fn file(&self) -> Option<(&Path, &Target)> {
        match self {
            FinishedCopy::Row { .. } => None,
            FinishedCopy::File { target, temporary, .. } => Some((&temporary.path, target)),
        }
    }

    /// Makes the copy visible. Returns its size.
    pub(super) fn publish(self) -> Result<u64, Error> {
        match self {
            FinishedCopy::Row { target, name, bytes, listed } => {
                target.packed.put(name, &bytes)?;
                target.list(name, &listed)?;
                Ok(bytes.len() as u64)
            }
            FinishedCopy::File { target, temporary, file, length, listed } => {
                publish_file(&target, &temporary, &file)?;
                target.list(super::name_from_path(&target.path), &listed)?;
                Ok(length)
            }
        }
    }
}

/// Replaces the row of a copy that has outgrown it, after the file is on the disk.
pub(super) fn publish_file(target: &Target, temporary: &TemporaryFile, file: &File) -> Result<(), Error> {
    let path = &target.path;
    let name = super::name_from_path(path);
    let has_row = packed::find_version(target.packed.path(), name)?.is_some();
    if has_row {
        file.sync_all().map_err(io_error(path))?;
    }
    fs::rename(&temporary.path, path).map_err(io_error(path))?;
    if has_row {
        sync_directory(path)?;
        target.packed.remove_replaced(name)?;
    }
    Ok(())
}

/// A rename or removal is durable only after syncing its directory.
pub(super) fn sync_directory(path: &Path) -> Result<(), Error> {
    let folder = path.parent().unwrap_or(path);
    os::files::sync_folder(folder).map_err(io_error(folder))
}
