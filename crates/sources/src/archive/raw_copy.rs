//! Copies as bytes, to be carried from one archive to another as they are.
//!
//! Does not know where the bytes travel. What arrives is checked before it becomes visible.

use super::copy::{Archive, is_missing};
use super::frame_writer::{Target, TemporaryFile, publish_file};
use super::packed::{self, PackedCopy, PackedVersion};
use super::{Store, io_error, table};
use crate::Error;
use std::fs;
use std::io::Write;

/// What a file begins with; a row begins with a word of its own.
const FILE_START: &[u8] = table::START_MAGIC;

impl Store {
    /// The stored bytes of a copy. None: there is none.
    pub fn read_raw(&self, name: u128) -> Result<Option<Vec<u8>>, Error> {
        let path = self.path_by_name(name);
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Ok(packed::find(self.packed.path(), name)?.map(|copy| copy.content))
            }
            Err(error) => Err(io_error(&path)(error)),
        }
    }

    /// Stores bytes that [`Store::read_raw`] of another archive returned, in place of the copy that is there. Refuses what is not an
    /// intact copy of the transcript with that name.
    pub fn put_raw(&self, name: u128, bytes: &[u8]) -> Result<(), Error> {
        let path = self.path_by_name(name);
        if !bytes.starts_with(FILE_START) {
            let version = PackedVersion { id: 0, changed: 0, length: bytes.len() as u64 };
            let copy = PackedCopy { name, version, content: bytes.to_vec() };
            check_copy(Archive::from_row(&path, &copy)?, name)?;
            self.packed.put(name, bytes)?;
            return match fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(io_error(&path)(error)),
                _ => Ok(()),
            };
        }
        let target = Target { path: path.clone(), packed: self.packed.clone() };
        let (temporary, mut file) = TemporaryFile::create(path.clone())?;
        file.write_all(bytes).map_err(io_error(&path))?;
        check_copy(Archive::open_file(temporary.path())?, name)?;
        publish_file(&target, &temporary, &file)
    }

    /// Passes on the decompressed lines of a copy, a frame at a time: every text that is in it.
    pub fn for_each_frame(&self, name: u128, each: &mut dyn FnMut(&[u8])) -> Result<(), Error> {
        let archive = match Archive::open(&self.path_by_name(name)) {
            Err(error) if is_missing(&error) => return Ok(()),
            opened => opened?,
        };
        for frame in 0..archive.spans.len() {
            each(&archive.unpack_frame(frame)?);
        }
        Ok(())
    }
}

/// Every frame can be read, and the copy is of the transcript that its name says.
fn check_copy(archive: Archive, name: u128) -> Result<(), Error> {
    let path = archive.path.clone();
    for frame in 0..archive.spans.len() {
        archive.unpack_frame(frame)?;
    }
    archive.read_index()?;
    let header = archive.table.header;
    let named = table::fnv1a_128(&[
        header.source.as_bytes(),
        b"\0",
        std::path::PathBuf::from(header.path).as_os_str().as_encoded_bytes(),
        b"\0",
        header.part.as_ref().map_or(&b"\0"[..], |part| part.as_bytes()),
    ]);
    if named == name {
        Ok(())
    } else {
        Err(Error::Damaged { path, what: "it is the copy of another transcript" })
    }
}
