//! Copies as bytes, to be carried from one archive to another as they are.
//!
//! Does not know where the bytes travel. What arrives is checked before it becomes visible.

use super::copy::{Archive, is_missing};
use super::frame_writer::{Target, TemporaryFile, publish_file};
use super::packed::{self, PackedCopy, PackedVersion};
use super::table::{Bytes, Header};
use super::{Store, io_error, table};
use crate::Error;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

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
            check_copy(&Archive::from_row(&path, &row_of(name, bytes))?, name)?;
            self.packed.put(name, bytes)?;
            if !path.exists() {
                return Ok(());
            }
            // Otherwise a kill before the end of the batch would leave neither.
            self.packed.commit_now()?;
            return fs::remove_file(&path).map_err(io_error(&path));
        }
        let target = Target { path: path.clone(), packed: self.packed.clone() };
        let (temporary, mut file) = TemporaryFile::create(path.clone())?;
        file.write_all(bytes).map_err(io_error(&path))?;
        check_copy(&Archive::open_file(temporary.path())?, name)?;
        publish_file(&target, &temporary, &file)
    }

    /// Opens bytes that [`Store::read_raw`] of another archive returned, without storing them.
    pub(super) fn open_raw<T>(
        &self,
        name: u128,
        bytes: &[u8],
        read: impl FnOnce(Archive) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let path = self.path_by_name(name);
        if !bytes.starts_with(FILE_START) {
            return read(Archive::from_row(&path, &row_of(name, bytes))?);
        }
        let (temporary, mut file) = TemporaryFile::create(path.clone())?;
        file.write_all(bytes).map_err(io_error(&path))?;
        read(Archive::open_file(temporary.path())?)
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

fn row_of(name: u128, bytes: &[u8]) -> PackedCopy {
    let version = PackedVersion { id: 0, changed: 0, length: bytes.len() as u64 };
    PackedCopy { name, version, content: bytes.to_vec() }
}

/// Every frame can be read, and the copy is of the transcript that its name says.
fn check_copy(archive: &Archive, name: u128) -> Result<(), Error> {
    for frame in 0..archive.spans.len() {
        archive.unpack_frame(frame)?;
    }
    archive.read_index()?;
    check_name(&archive.path, &archive.table.header, name)
}

/// A copy is of the transcript that its name says.
pub(super) fn check_name(path: &Path, header: &Header, name: u128) -> Result<(), Error> {
    let original = match &header.path {
        Bytes::Text(text) => PathBuf::from(text),
        Bytes::Raw(bytes) => os::files::path_from_bytes(bytes.clone()),
    };
    let named = table::fnv1a_128(&[
        header.source.as_bytes(),
        b"\0",
        original.as_os_str().as_encoded_bytes(),
        b"\0",
        header.part.as_ref().map_or(&b"\0"[..], |part| part.as_bytes()),
    ]);
    if named == name {
        Ok(())
    } else {
        Err(Error::Damaged { path: path.to_path_buf(), what: "it is the copy of another transcript" })
    }
}
