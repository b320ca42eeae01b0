//! Source files and manifests, as bytes.
//!
//! Does not know what is in them.

use rustix::fs::{Mode, OFlags, open};
use std::fs::File;
use std::io::{Error as IoError, Read};
use std::path::Path;

/// What is larger was made by a tool, and its tree takes many times its size in memory.
const LARGEST: u64 = 8 << 20;

/// The bytes of a source file. Nothing but a plain file is opened, and no link is followed: opening a FIFO would wait for its
/// writer, and between a look and the opening one may have taken the file's place.
pub fn read_source(root: &Path, path: &str) -> Result<Vec<u8>, IoError> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(open(root.join(path), flags, Mode::empty())?);
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(IoError::other("not a plain file"));
    }
    let mut bytes = Vec::with_capacity(meta.len().min(LARGEST) as usize);
    if meta.len() <= LARGEST {
        file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    }
    if meta.len().max(bytes.len() as u64) > LARGEST {
        let (mega, most) = (meta.len() >> 20, LARGEST >> 20);
        return Err(IoError::other(format!("{mega} MB; up to {most} MB are read")));
    }
    Ok(bytes)
}
