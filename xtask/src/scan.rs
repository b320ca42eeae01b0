//! The lower bound that queries are compared with: reads every transcript once and counts its newlines.
//!
//! Does not parse anything.

use crate::Outcome;
use crate::args::Args;
use memchr::memchr_iter;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

pub(crate) const HELP: &str =
    "DIR [--threads N]\ncount the newlines of every .jsonl in DIR: the lower bound in bench";

/// Small enough for the second-level cache, so that the scan is measured and not memory.
const BUFFER_BYTES: usize = 256 * 1024;

pub(crate) fn run(args: &[String]) -> Outcome {
    let args = Args::parse(args, &["threads"], &[])?;
    let [dir] = args.positional.as_slice() else { return Err("expected one directory".to_owned()) };
    let files = find_transcripts(Path::new(dir)).map_err(|error| format!("{dir}: {error}"))?;
    let threads = args.number_value("threads", 1)?.max(1);
    let (lines, next) = (AtomicU64::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        let workers: Vec<_> =
            (0..threads).map(|_| scope.spawn(|| scan_files(&files, &next, &lines))).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a scanning thread panicked"))
    })
    .map_err(|error| format!("{dir}: {error}"))?;
    println!("{} lines in {} files", lines.into_inner(), files.len());
    Ok(true)
}

fn scan_files(files: &[PathBuf], next: &AtomicUsize, lines: &AtomicU64) -> io::Result<()> {
    let mut piece = vec![0; BUFFER_BYTES];
    while let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
        lines.fetch_add(count_newlines(path, &mut piece)?, Ordering::Relaxed);
    }
    Ok(())
}

fn count_newlines(path: &Path, piece: &mut [u8]) -> io::Result<u64> {
    let mut file = File::open(path)?;
    let mut count = 0;
    loop {
        match file.read(piece)? {
            0 => return Ok(count),
            read => count += memchr_iter(b'\n', &piece[..read]).count() as u64,
        }
    }
}

/// Every `.jsonl` file in a directory tree, sorted.
pub(crate) fn find_transcripts(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_path_buf()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let path = entry.path();
            if entry.file_type()?.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "jsonl") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
