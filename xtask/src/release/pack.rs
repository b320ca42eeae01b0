//! Writes trees as tar, cpio and zip, and compresses them: the same bytes for the same files, on every machine.
//!
//! Does not know packages. Written out, because each format is a page, and a library would add its own times and owners.

use super::targets::Target;
use super::tree::{File, Tree};
use flate2::write::{DeflateEncoder, GzEncoder};
use flate2::{Compression, Crc};
use lzma_rust2::{FilterType, XzOptions, XzWriter};
use std::io::Write as _;

/// How long to compress: a trial does not need the smallest files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    Quick,
    Full,
}

impl Effort {
    fn deflate(self) -> Compression {
        if self == Effort::Full { Compression::best() } else { Compression::fast() }
    }

    fn xz(self) -> XzOptions {
        XzOptions::with_preset(if self == Effort::Full { 9 } else { 0 })
    }
}

/// Whether a tar lists folders: dpkg removes only what is listed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Folders {
    Listed,
    Implied,
}

// ---- tar

const BLOCK: usize = 512;
/// The name field of a header, and the field for the folders before it.
const MAX_TAR_NAME: usize = 100;
const MAX_TAR_PREFIX: usize = 155;

pub(crate) fn tar(tree: &Tree, epoch: u64, folders: Folders) -> Result<Vec<u8>, String> {
    let mut out = Vec::with_capacity(tree.size() as usize + BLOCK * 256);
    if folders == Folders::Listed {
        out.extend(tar_header("./", 0o755, 0, epoch, b'5')?);
        for folder in tree.folders() {
            out.extend(tar_header(&format!("./{folder}/"), 0o755, 0, epoch, b'5')?);
        }
    }
    let prefix = if folders == Folders::Listed { "./" } else { "" };
    for (path, file) in tree.iter() {
        out.extend(tar_header(&format!("{prefix}{path}"), file.mode, file.bytes.len(), epoch, b'0')?);
        out.extend(&file.bytes);
        pad(&mut out, BLOCK);
    }
    out.resize(out.len() + 2 * BLOCK, 0);
    Ok(out)
}

fn tar_header(path: &str, mode: u32, size: usize, epoch: u64, kind: u8) -> Result<[u8; BLOCK], String> {
    let (prefix, name) = split_tar_path(path).ok_or_else(|| format!("{path}: too long for a tar"))?;
    let mut header = [0; BLOCK];
    let mut put = |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    put(345, prefix);
    put(100, &format!("{mode:07o}"));
    put(108, "0000000");
    put(116, "0000000");
    put(124, &format!("{size:011o}"));
    put(136, &format!("{epoch:011o}"));
    put(148, "        "); // the checksum is taken over spaces
    put(257, "ustar\x0000");
    put(265, "root");
    put(297, "root");
    header[156] = kind;
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Ok(header)
}

/// A path as a prefix, empty if it is not needed, and a name. None: it does not fit.
fn split_tar_path(path: &str) -> Option<(&str, &str)> {
    if path.len() <= MAX_TAR_NAME {
        return Some(("", path));
    }
    let mut splits = path.match_indices('/').map(|(at, _)| (&path[..at], &path[at + 1..]));
    splits.find(|(prefix, name)| prefix.len() <= MAX_TAR_PREFIX && name.len() <= MAX_TAR_NAME)
}

fn pad(out: &mut Vec<u8>, to: usize) {
    out.resize(out.len().next_multiple_of(to), 0);
}

// ---- cpio

/// An entry of an rpm payload, in the "newc" form: `./` before each path, and the place in the list as the inode.
pub(crate) struct CpioEntry<'a> {
    pub(crate) path: &'a str,
    pub(crate) mode: u32,
    pub(crate) bytes: &'a [u8],
}

pub(crate) fn cpio(entries: &[CpioEntry<'_>], epoch: u64) -> Vec<u8> {
    let mut out = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        add_cpio(&mut out, at + 1, &format!("./{}", entry.path), entry.mode, entry.bytes, epoch);
    }
    add_cpio(&mut out, 0, "TRAILER!!!", 0, &[], 0);
    out
}

fn add_cpio(out: &mut Vec<u8>, inode: usize, name: &str, mode: u32, bytes: &[u8], epoch: u64) {
    let (length, size) = (name.len() + 1, bytes.len());
    let header = format!(
        "070701{inode:08x}{mode:08x}{0:08x}{0:08x}{1:08x}{epoch:08x}{size:08x}{0:08x}{0:08x}{0:08x}{0:08x}{length:08x}{0:08x}",
        0, 1
    );
    out.extend(header.as_bytes());
    out.extend(name.as_bytes());
    out.push(0);
    pad(out, 4);
    out.extend(bytes);
    pad(out, 4);
}

// ---- zip

/// 1980-01-01, the earliest date that a zip can store.
const ZIP_DATE: u16 = (1 << 5) | 1;

/// Writes a zip in the order of the entries.
pub(crate) fn zip<'a>(
    entries: impl Iterator<Item = (&'a str, &'a File)>,
    effort: Effort,
) -> Result<Vec<u8>, String> {
    let (mut out, mut directory, mut count) = (Vec::new(), Vec::new(), 0_u16);
    for (path, file) in entries {
        let start = zip_number(out.len())?;
        let packed = deflate(&file.bytes, effort)?;
        let mut crc = Crc::new();
        crc.update(&file.bytes);
        // From "version needed" to "extra length": the same in both headers.
        let mut shared: Vec<u8> = Vec::new();
        for short in [20_u16, 1 << 11, 8, 0, ZIP_DATE] {
            shared.extend(short.to_le_bytes());
        }
        for long in [crc.sum(), zip_number(packed.len())?, zip_number(file.bytes.len())?] {
            shared.extend(long.to_le_bytes());
        }
        shared.extend((path.len() as u16).to_le_bytes());
        shared.extend(0_u16.to_le_bytes());
        out.extend(b"PK\x03\x04");
        out.extend(&shared);
        out.extend(path.as_bytes());
        out.extend(packed);
        directory.extend(b"PK\x01\x02");
        directory.extend([20, 3]); // version 2.0, made on Unix: modes follow
        directory.extend(&shared);
        directory.extend([0; 6]); // comment, disk, kind of text
        directory.extend(((0o100_000 | file.mode) << 16).to_le_bytes());
        directory.extend(start.to_le_bytes());
        directory.extend(path.as_bytes());
        count += 1;
    }
    let start = zip_number(out.len())?;
    out.extend(&directory);
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend(count.to_le_bytes());
    out.extend(count.to_le_bytes());
    out.extend(zip_number(directory.len())?.to_le_bytes());
    out.extend(start.to_le_bytes());
    out.extend(0_u16.to_le_bytes());
    Ok(out)
}

fn zip_number(number: usize) -> Result<u32, String> {
    u32::try_from(number).map_err(|_| "a zip of 4 GB would need its 64-bit form".to_owned())
}

// ---- compression

fn deflate(bytes: &[u8], effort: Effort) -> Result<Vec<u8>, String> {
    let mut writer = DeflateEncoder::new(Vec::new(), effort.deflate());
    writer.write_all(bytes).and_then(|()| writer.finish()).map_err(|error| format!("deflate: {error}"))
}

/// Without a time in its header.
pub(crate) fn gzip(bytes: &[u8], effort: Effort) -> Result<Vec<u8>, String> {
    let mut writer = GzEncoder::new(Vec::new(), effort.deflate());
    writer.write_all(bytes).and_then(|()| writer.finish()).map_err(|error| format!("gzip: {error}"))
}

/// The filter for code of `x86_64` makes the file 6 % smaller, and every `xz` knows it; that for aarch64 came with 5.4, which is too new.
pub(crate) fn xz(bytes: &[u8], effort: Effort, target: &Target) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("xz: {error}");
    let mut options = effort.xz();
    if target.triple.starts_with("x86_64") {
        options.prepend_pre_filter(FilterType::BcjX86, 0);
    }
    let mut writer = XzWriter::new(Vec::new(), options).map_err(failed)?;
    writer.write_all(bytes).map_err(failed)?;
    writer.finish().map_err(failed)
}
