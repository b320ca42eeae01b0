//! Reads source files and manifests as bytes.
//!
//! Does not know their contents.

use std::io::{Error as IoError, Read};
use std::path::Path;

/// Maximum size of a source file. Larger ones are generated, and their syntax tree takes many times their size in memory.
const MAX_SOURCE_BYTES: u64 = 8 << 20;

/// Reads a source file. Rejects anything but regular files and does not follow links.
pub fn read_source(root: &Path, path: &str) -> Result<Vec<u8>, IoError> {
    let file = os::files::open_regular(&root.join(path))?;
    let meta = file.metadata()?;
    let mut bytes = Vec::with_capacity(meta.len().min(MAX_SOURCE_BYTES) as usize);
    if meta.len() <= MAX_SOURCE_BYTES {
        file.take(MAX_SOURCE_BYTES + 1).read_to_end(&mut bytes)?;
    }
    if meta.len().max(bytes.len() as u64) > MAX_SOURCE_BYTES {
        let (mega, most) = (meta.len() >> 20, MAX_SOURCE_BYTES >> 20);
        return Err(IoError::other(format!("too large: {mega} MB, the limit is {most} MB")));
    }
    Ok(bytes)
}
