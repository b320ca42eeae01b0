//! A small file of lines whose damage is noticed: each line ends with a checksum, and the last line has their number and a
//! hash of all. A flipped bit costs one line; a cut, a zeroed page or an empty file is not taken for a shorter list.
//!
//! Does not know what the lines mean, nor where a second copy of them is.

use crate::files::{self, OpenOptionsExt};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// How much of a file can be trusted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Condition {
    Missing,
    Whole,
    /// Written before lines had checksums. Damage to it cannot be noticed.
    Unchecked,
    Damaged,
}

/// What a file has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckedLines {
    pub condition: Condition,
    /// Lines whose checksum is right.
    pub lines: Vec<String>,
    /// Lines of a damaged file whose checksum is wrong or missing, without what may be one.
    pub doubtful: Vec<String>,
}

/// How many files this process has begun to write.
static WRITTEN: AtomicU64 = AtomicU64::new(0);
/// Starts the last line. No line of a list starts with it.
const END: &str = "#end";

/// Reads the lines of a file. A missing one has none; fails if it is there and cannot be read.
pub fn read_lines(path: &Path) -> io::Result<CheckedLines> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(parse_lines(&bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(CheckedLines { condition: Condition::Missing, lines: Vec::new(), doubtful: Vec::new() })
        }
        Err(error) => Err(error),
    }
}

fn parse_lines(bytes: &[u8]) -> CheckedLines {
    let text = String::from_utf8_lossy(bytes);
    let (mut lines, mut doubtful, mut end) = (Vec::new(), Vec::new(), None);
    for (at, line) in text.lines().enumerate() {
        match split_checked(line) {
            Some(content) if content.starts_with(END) => end = Some((at, content)),
            Some(content) => lines.push(unescape(content)),
            None if line.starts_with(END) => {}
            None => doubtful.push(unescape(strip_checksum(line))),
        }
    }
    let is_complete = doubtful.is_empty()
        && text.ends_with('\n')
        && end.is_some_and(|(at, content)| at == lines.len() && content == end_of(&lines));
    let is_unchecked = lines.is_empty()
        && end.is_none()
        && text.ends_with('\n')
        && text
            .lines()
            .all(|line| strip_checksum(line) == line && line.contains('\t') && !line.contains('\0'));
    let condition = match () {
        () if is_complete => Condition::Whole,
        () if is_unchecked => Condition::Unchecked,
        () => Condition::Damaged,
    };
    CheckedLines { condition, lines, doubtful }
}

/// Replaces the file atomically, with mode 0600, and waits for the disk.
pub fn replace_lines<'l>(path: &Path, lines: impl Iterator<Item = &'l str>) -> io::Result<()> {
    replace(path, lines, true)
}

/// The same without waiting for the disk: a power failure may leave the old file, or none.
pub fn replace_lines_lazily<'l>(path: &Path, lines: impl Iterator<Item = &'l str>) -> io::Result<()> {
    replace(path, lines, false)
}

fn replace<'l>(path: &Path, lines: impl Iterator<Item = &'l str>, is_durable: bool) -> io::Result<()> {
    let lines: Vec<String> = lines.map(str::to_string).collect();
    let mut text: String = lines.iter().map(|line| with_checksum(&escape(line))).collect();
    text.push_str(&with_checksum(&end_of(&lines)));
    // Two connections of one process may be closed at the same time.
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let beside = path.with_extension(format!("{}.{number}.new", std::process::id()));
    let written = (|| {
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
        file.write_all(text.as_bytes())?;
        if is_durable {
            file.sync_all()?;
        }
        std::fs::rename(&beside, path)?;
        if is_durable { files::sync_folder(path.parent().unwrap_or(path)) } else { Ok(()) }
    })();
    if written.is_err() {
        // The error of writing is the one to report.
        let _ = std::fs::remove_file(&beside);
    }
    written
}

fn end_of(lines: &[String]) -> String {
    format!("{END} {} {:016x}", lines.len(), hash(lines.iter().map(String::as_bytes)))
}

fn with_checksum(content: &str) -> String {
    format!("{content}\t{:016x}\n", hash(std::iter::once(content.as_bytes())))
}

/// The content of a line whose checksum is right.
fn split_checked(line: &str) -> Option<&str> {
    let (content, sum) = line.rsplit_once('\t')?;
    (u64::from_str_radix(sum, 16).ok()? == hash(std::iter::once(content.as_bytes())) && sum.len() == 16)
        .then_some(content)
}

/// The content of a line whose checksum may be damaged: a last field of its length is taken for one.
fn strip_checksum(line: &str) -> &str {
    match line.rsplit_once('\t') {
        Some((content, sum)) if sum.chars().count() == 16 => content,
        _ => line,
    }
}

/// FNV-1a. Every step is a bijection of the state, so that no single flipped byte goes unnoticed.
fn hash<'b>(parts: impl Iterator<Item = &'b [u8]>) -> u64 {
    let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    parts.fold(0xcbf2_9ce4_8422_2325, |hash, part| fold(part.iter().fold(hash, fold), &b'\n'))
}

fn escape(line: &str) -> String {
    line.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r")
}

fn unescape(line: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(line.len()), line.chars());
    while let Some(one) = rest.next() {
        match one {
            '\\' => match rest.next() {
                Some('n') => out.push('\n'),
                Some('r') => out.push('\r'),
                other => out.extend(other),
            },
            plain => out.push(plain),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(lines: &[&str]) -> Vec<u8> {
        let folder =
            std::env::temp_dir().join(format!("loci-checked-{}-{}", std::process::id(), lines.len()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("list");
        replace_lines(&path, lines.iter().copied()).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(read_lines(&path).unwrap().lines, lines);
        std::fs::remove_dir_all(folder).unwrap();
        bytes
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        for lines in [&[][..], &["one\t\\ two\nthree", "four", "five\tsix"][..]] {
            let bytes = written(lines);
            assert_eq!(parse_lines(&bytes).condition, Condition::Whole);
            for at in 0..bytes.len() {
                for bit in 0..8 {
                    let mut flipped = bytes.clone();
                    flipped[at] ^= 1 << bit;
                    let found = parse_lines(&flipped);
                    // The letter case of a checksum says nothing.
                    let is_same = found.lines == lines && flipped.eq_ignore_ascii_case(&bytes);
                    assert!(
                        found.condition == Condition::Damaged || is_same,
                        "byte {at}, bit {bit}: {found:?}"
                    );
                    assert!(found.lines.len() + 2 >= lines.len(), "a flip joins two lines at most");
                }
                let cut = parse_lines(&bytes[..at]);
                assert_eq!(cut.condition, Condition::Damaged, "cut at {at}: {cut:?}");
            }
        }
    }

    #[test]
    fn zeros_and_garbage_are_damage_and_a_list_without_checksums_is_not() {
        for bytes in [&b""[..], &[0; 300], b"garbage", b"gar\tbage", &[0xff; 40]] {
            assert_eq!(parse_lines(bytes).condition, Condition::Damaged, "{bytes:?}");
        }
        let old = parse_lines(b"claude-code\tabc\ncodex\tdef\n");
        assert_eq!(old.condition, Condition::Unchecked);
        assert_eq!(old.doubtful, ["claude-code\tabc", "codex\tdef"]);
    }
}
