//! Reads a source tree into a codebase: parses every file of its projects on several threads, with the preprocessor symbols of
//! each project.
//!
//! Does not know what was read before; the caller passes only the changed files.

use crate::codebase::{Codebase, SourceFile};
use project::{Layout, Project, is_generated, read_source};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::Builder;
use syntax::{Digest, Reader, decode_text, language_of};

/// A thousand nested types, which is as deep as a reader follows, overflow the default 2 MB in a test build; 4 MB were enough.
/// Unused stack costs nothing.
const STACK_BYTES: usize = 16 << 20;

/// When and how a request is processed.
#[derive(Clone, Copy)]
pub struct RefreshOptions<'a> {
    /// Current time in milliseconds since 1970.
    pub now: i64,
    pub threads: usize,
    /// Progress callback: receives the number of files read and the total, and returns false to cancel.
    pub progress: &'a (dyn Fn(u64, u64) -> bool + Sync),
}

/// The caller cancelled.
#[derive(Debug)]
pub struct Cancelled;

/// Reads all files of a layout. A file that cannot be read is reported as a problem; the others are still read.
pub fn read_tree(root: &Path, layout: &Layout, threads: usize) -> (Codebase, Vec<String>) {
    let moment = RefreshOptions { now: 0, threads, progress: &|_, _| true };
    let mut results = Vec::new();
    let take = |result| {
        results.push(result);
        Ok::<(), Cancelled>(())
    };
    // this caller never cancels
    let _ = read_files(root, &layout.projects, &layout.files, &|_, _| None, moment, take);
    // threads finish in any order
    results.sort_by(|one: &ReadResult, other| one.path.cmp(&other.path));
    let (mut files, mut problems) = (Vec::new(), Vec::new());
    for result in results {
        match result.file {
            Ok(file) => files.extend(file),
            Err(reason) => problems.push(format!("{}: {reason}", result.path)),
        }
    }
    (Codebase::new(layout.projects.clone(), files), problems)
}

/// The result of reading one file.
pub struct ReadResult {
    pub path: String,
    pub project: u32,
    /// Its size in bytes, and the digest of its content.
    pub bytes: u64,
    pub digest: u64,
    /// `None` if the content is unchanged; an error if it cannot be read.
    pub file: Result<Option<SourceFile>, String>,
}

/// Reads files of some projects, and hands over each as soon as it is read, in any order. `known` returns the digest of a file's
/// content when it was last read. What was read before the caller cancelled is handed over too.
pub fn read_files<E: From<Cancelled>>(
    root: &Path,
    projects: &[Project],
    files: &[(String, u32)],
    known: &(dyn Fn(&str, u32) -> Option<u64> + Sync),
    moment: RefreshOptions<'_>,
    mut take: impl FnMut(ReadResult) -> Result<(), E>,
) -> Result<(), E> {
    let stopped = AtomicBool::new(false);
    let next = AtomicUsize::new(0);
    let work = |results: Sender<ReadResult>| {
        let mut worker = FileReader { root, projects, known, readers: Vec::new() };
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((path, project)) = files.get(at) else { break };
            // asked within a file as well: the largest ones take seconds
            let is_wanted =
                || !stopped.load(Ordering::Relaxed) && (moment.progress)(at as u64, files.len() as u64);
            let result = if is_wanted() { worker.read_file(path, *project, &is_wanted) } else { None };
            if result.is_none_or(|result| results.send(result).is_err()) {
                stopped.store(true, Ordering::Relaxed);
                break;
            }
        }
    };
    // for a file or two, another thread costs more than it gains
    let threads = moment.threads.min(files.len() / 4).max(1);
    let (sender, results) = channel();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (work, own) = (&work, sender.clone());
            // If no thread can be spawned, the current one does the work.
            if Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, move || work(own)).is_err() {
                work(sender.clone());
            }
        }
        drop(sender);
        results.into_iter().try_for_each(&mut take).inspect_err(|_| stopped.store(true, Ordering::Relaxed))
    })?;
    if stopped.into_inner() { Err(Cancelled.into()) } else { Ok(()) }
}

/// The state of one reading thread.
struct FileReader<'a> {
    root: &'a Path,
    projects: &'a [Project],
    known: &'a (dyn Fn(&str, u32) -> Option<u64> + Sync),
    readers: Vec<(&'static str, Reader)>,
}

impl FileReader<'_> {
    /// `None` if the caller cancelled.
    fn read_file(
        &mut self,
        path: &str,
        project: u32,
        is_wanted: &(dyn Fn() -> bool + Sync),
    ) -> Option<ReadResult> {
        let mut result = ReadResult { path: path.to_owned(), project, bytes: 0, digest: 0, file: Ok(None) };
        match read_source(self.root, path) {
            Ok(bytes) => {
                result.bytes = bytes.len() as u64;
                result.digest = Digest::of_bytes(&bytes).0;
                if (self.known)(path, project) != Some(result.digest) {
                    result.file = self.parse_file(path, project, &bytes, is_wanted).transpose()?.map(Some);
                }
            }
            Err(error) => result.file = Err(error.to_string()),
        }
        Some(result)
    }

    fn parse_file(
        &mut self,
        path: &str,
        project: u32,
        bytes: &[u8],
        is_wanted: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<SourceFile>, String> {
        let language = language_of(Path::new(path)).ok_or("unsupported language")?;
        if !self.readers.iter().any(|(name, _)| *name == language.name) {
            let reader = Reader::new(language).map_err(|error| error.to_string())?;
            self.readers.push((language.name, reader));
        }
        let reader = self.readers.iter_mut().find(|(name, _)| *name == language.name);
        let (_, reader) = reader.ok_or("unsupported language")?;
        let text = decode_text(bytes);
        let facts = reader.read_while(&text, &self.projects[project as usize].symbols, is_wanted);
        let generated = is_generated(path, &text);
        Ok(facts.map(|facts| SourceFile { path: path.to_owned(), project, generated, facts }))
    }
}
