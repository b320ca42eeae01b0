//! Stores responses too large to inline in files: readable only by their owner, with random names, in a folder of Loci's
//! own. Old files are removed.
//!
//! Does not know the meaning of the lines.

use crate::home;
use api::saved_results::{CleanedUp, Cleanup, Part, ReadRef, RefRead};
use api::{Code, Error};
use os::directory::Directory;
use record::Clock;
use sources::Environment;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Total size of all files; the oldest are removed first. A larger result is not saved.
const MAX_TOTAL_BYTES: u64 = 256 << 20;
/// How long they are kept.
pub const KEPT_DAYS: u64 = 7;
const DAY: i64 = 86_400_000;
const EXTENSION: &str = ".jsonl";

#[derive(Clone)]
pub struct SavedResults {
    dir: PathBuf,
    clock: Clock,
    max_bytes: u64,
}

/// A file that is being written; deleted on drop unless finished.
pub struct ResultWriter {
    file: std::io::BufWriter<File>,
    pub path: PathBuf,
    pub bytes: u64,
    pub lines: u64,
    max_bytes: u64,
    whole: bool,
}

/// Deletes every saved result, and returns how many there were. Any of them may quote a session without naming it.
pub fn remove_all(home: &home::Home) -> Result<u64, Error> {
    let saved = SavedResults::in_home(home);
    let all = Cleanup { max_age_days: 0, ..Cleanup::default() };
    let done = saved.remove_old(&all)?;
    if done.kept > 0 {
        let message = format!("cannot delete saved results in {}", saved.dir.display());
        return Err(Error::new(Code::ReadError, message));
    }
    Ok(done.removed)
}

/// The number of saved results.
pub fn count_all(home: &home::Home) -> Result<u64, Error> {
    let saved = SavedResults::in_home(home);
    Ok(saved.list_files()?.map_or(0, |(_, files)| files.len() as u64))
}

impl SavedResults {
    pub fn new(places: &Environment, clock: Clock) -> SavedResults {
        let dir = places.xdg_dir("XDG_STATE_HOME", ".local/state").join("loci/refs");
        SavedResults { dir, clock, max_bytes: MAX_TOTAL_BYTES }
    }

    fn in_home(home: &home::Home) -> SavedResults {
        SavedResults { dir: home.saved_results(), clock: Clock::System, max_bytes: MAX_TOTAL_BYTES }
    }

    /// With another limit on the size of all files, for tests.
    #[must_use]
    pub fn with_limit(self, max_bytes: u64) -> SavedResults {
        SavedResults { max_bytes, ..self }
    }

    /// Creates a file, named after session, time and query.
    pub fn create_file(&self, session: &str, query: &str) -> std::io::Result<ResultWriter> {
        let dir = self.open_folder()?;
        let name = self.new_name(session, query)?;
        let file = dir.create_file(&name, 0o600)?;
        let (path, file) = (self.dir.join(&name), std::io::BufWriter::with_capacity(64 * 1024, file));
        Ok(ResultWriter { file, path, bytes: 0, lines: 0, max_bytes: self.max_bytes, whole: false })
    }

    fn new_name(&self, session: &str, query: &str) -> std::io::Result<String> {
        let random = home::random_token()?;
        let plain = |text: &str, most| -> String {
            let safe = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
            text.chars().filter(safe).take(most).collect()
        };
        let session = if session.is_empty() { "all".to_string() } else { plain(session, 8) };
        let at = plain(&self.clock.now().to_string(), 15);
        Ok(format!("{session}-{at}-{}-{random}{EXTENSION}", plain(query, 32)))
    }

    /// Opens the folder, creating it if needed. A folder of another user is refused: its owner could read and plant files.
    fn open_folder(&self) -> std::io::Result<Directory> {
        let refused = |why: &str| std::io::Error::new(std::io::ErrorKind::PermissionDenied, why.to_string());
        if !self.dir.is_absolute() {
            return Err(refused("HOME is not set"));
        }
        if std::fs::symlink_metadata(&self.dir).is_err() {
            home::create_private_dir(&self.dir)?;
        }
        let dir = Directory::open_no_follow(&self.dir)?;
        dir.make_private()?;
        Ok(dir)
    }

    // ---- reading

    /// Reads lines of a file, up to `limit` bytes.
    pub fn read_lines(&self, request: &ReadRef, limit: u64) -> Result<RefRead, Error> {
        let mut file = BufReader::new(self.open_result(&request.name)?);
        let fail = |e: std::io::Error| Error::new(Code::ReadError, format!("{}: {e}", request.name));
        let mut read = RefRead::default();
        let (most, mut size, mut line) = (request.limit.unwrap_or(u64::MAX), 2, Vec::new());
        let mut full = false;
        loop {
            line.clear();
            let at = file.stream_position().map_err(fail)?;
            if file.read_until(b'\n', &mut line).map_err(fail)? == 0 {
                break;
            }
            let number = read.total_lines;
            read.total_lines += 1;
            if number < request.offset || full || read.lines.len() as u64 >= most {
                full |= number >= request.offset;
                continue;
            }
            size += line.len() as u64;
            if size <= limit && request.from_byte == 0 {
                read.lines.push(serde_json::from_slice(&line).unwrap_or_default());
            } else {
                full = true;
                if read.lines.is_empty() {
                    let rest = file.stream_position().map_err(fail)?;
                    read.part = Some(
                        read_part(&mut file, at, line.len() as u64, request.from_byte, limit)
                            .map_err(fail)?,
                    );
                    file.seek(SeekFrom::Start(rest)).map_err(fail)?;
                }
            }
        }
        let given =
            read.lines.len() as u64 + u64::from(read.part.as_ref().is_some_and(|p| p.next_byte.is_none()));
        let next = request.offset + given;
        read.next_offset = (next < read.total_lines).then_some(next);
        Ok(read)
    }

    /// Opens a saved result by its file name; paths outside the folder are refused.
    fn open_result(&self, named: &str) -> Result<File, Error> {
        let gone = || {
            Error::new(Code::NotFound, format!("no saved result `{}`", shorten_name(named)))
                .hint(format!("saved results are kept for {KEPT_DAYS} days; run the request again"))
        };
        let path = Path::new(named);
        let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(gone)?;
        let ours = path.parent().is_none_or(|dir| dir.as_os_str().is_empty() || dir == self.dir);
        if !ours || !is_result_name(name) {
            return Err(gone());
        }
        let dir = self.open_folder().map_err(|_| gone())?;
        dir.open_file(name).map_err(|_| gone())
    }

    // ---- removing

    pub fn remove_old(&self, request: &Cleanup) -> Result<CleanedUp, Error> {
        let mut done = CleanedUp { dry_run: request.dry_run, ..CleanedUp::default() };
        let Some((dir, files)) = self.list_files()? else { return Ok(done) };
        let oldest = self.clock.now().0.saturating_sub((request.max_age_days as i64).saturating_mul(DAY));
        for file in files {
            let old = file.at < oldest || request.max_age_days == 0;
            if old && (request.dry_run || dir.remove_file(&file.name).is_ok()) {
                (done.removed, done.bytes) = (done.removed + 1, done.bytes + file.bytes);
            } else {
                (done.kept, done.kept_bytes) = (done.kept + 1, done.kept_bytes + file.bytes);
            }
        }
        Ok(done)
    }

    /// Removes the oldest files beyond the total size.
    pub fn enforce_size_limit(&self) {
        let Ok(Some((dir, mut files))) = self.list_files() else { return };
        files.sort_by_key(|file| std::cmp::Reverse(file.at));
        let mut taken = 0;
        for file in &files {
            taken += file.bytes;
            if taken > self.max_bytes {
                let _ = dir.remove_file(&file.name);
            }
        }
    }

    fn list_files(&self) -> Result<Option<(Directory, Vec<SavedFile>)>, Error> {
        if std::fs::symlink_metadata(&self.dir).is_err() {
            return Ok(None);
        }
        let fail = |e: std::io::Error| Error::new(Code::ReadError, format!("{}: {e}", self.dir.display()));
        let dir = self.open_folder().map_err(fail)?;
        let mut files = Vec::new();
        for entry in std::fs::read_dir(&self.dir).map_err(fail)?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            // The metadata is of the entry itself: symlinks are skipped.
            if let Some(meta) = entry.metadata().ok().filter(|meta| meta.is_file() && is_result_name(&name)) {
                let at = os::files::stamp(&meta).modified / 1_000_000;
                files.push(SavedFile { name, bytes: meta.len(), at });
            }
        }
        Ok(Some((dir, files)))
    }
}

struct SavedFile {
    name: String,
    bytes: u64,
    at: i64,
}

impl ResultWriter {
    /// Fails with `FileTooLarge` beyond the size that all saved results may have together.
    pub fn write_line(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        if self.bytes + bytes.len() as u64 > self.max_bytes {
            return Err(std::io::ErrorKind::FileTooLarge.into());
        }
        self.file.write_all(bytes)?;
        (self.bytes, self.lines) = (self.bytes + bytes.len() as u64, self.lines + 1);
        Ok(())
    }

    /// Reads the lines back and deletes the file.
    pub fn read_back(mut self, take: &mut dyn FnMut(&[u8]) -> bool) -> std::io::Result<()> {
        self.file.flush()?;
        let mut lines = BufReader::with_capacity(64 * 1024, File::open(&self.path)?);
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line)? > 0 && take(&line) {
            line.clear();
        }
        Ok(())
    }

    pub fn finish(mut self) -> std::io::Result<(PathBuf, u64, u64)> {
        self.file.flush()?;
        self.whole = true;
        Ok((self.path.clone(), self.bytes, self.lines))
    }
}

impl Drop for ResultWriter {
    /// Deletes an incomplete file.
    fn drop(&mut self) {
        if !self.whole {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Whether a name has the form `session-time-query-random.jsonl`, without path characters.
fn is_result_name(name: &str) -> bool {
    let Some(stem) = name.strip_suffix(EXTENSION) else { return false };
    let safe = stem.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    let random = stem.rsplit('-').next().unwrap_or_default();
    safe && stem.split('-').count() >= 4
        && random.len() == 32
        && random.bytes().all(|b| b.is_ascii_hexdigit())
}

fn shorten_name(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(120).collect()
}

/// Reads part of one line, cut at a character boundary.
fn read_part(
    file: &mut (impl Read + Seek),
    at: u64,
    line: u64,
    from: u64,
    limit: u64,
) -> std::io::Result<Part> {
    let end = line.saturating_sub(1);
    let from = from.min(end);
    file.seek(SeekFrom::Start(at + from))?;
    let mut bytes = vec![0; (end - from).min(limit.max(4)) as usize];
    file.read_exact(&mut bytes)?;
    let cut = match std::str::from_utf8(&bytes) {
        Err(e) if e.error_len().is_none() => e.valid_up_to(),
        _ => bytes.len(),
    };
    let next = from + cut as u64;
    let text = String::from_utf8_lossy(&bytes[..cut]).into_owned();
    Ok(Part { text, line_bytes: end, next_byte: (next < end).then_some(next) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn saved_results_never_take_more_than_their_limit() {
        let tmp = tempfile::tempdir().unwrap();
        let places = Environment { home: tmp.path().to_path_buf(), vars: BTreeMap::new() };
        let saved = SavedResults::new(&places, Clock::System).with_limit(1000);
        let size = || saved.list_files().unwrap().unwrap().1.iter().map(|file| file.bytes).sum::<u64>();
        let line = [b'x'; 100];
        for _ in 0..3 {
            let mut file = saved.create_file("s", "q").unwrap();
            (0..6).for_each(|_| file.write_line(&line).unwrap());
            file.finish().unwrap();
            saved.enforce_size_limit();
            assert!(size() <= 1000, "{}", size());
        }
        let mut large = saved.create_file("s", "q").unwrap();
        let refused = (0..11).find_map(|_| large.write_line(&line).err()).unwrap();
        assert_eq!(refused.kind(), std::io::ErrorKind::FileTooLarge);
        drop(large);
        assert!(size() <= 1000, "what was begun is deleted: {}", size());
    }
}
