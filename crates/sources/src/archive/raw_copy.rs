//! Copies as bytes, to be carried from one archive to another as they are.
//!
//! Does not know where the bytes travel. What arrives is checked before it becomes visible.

use super::copy::{Archive, is_missing};
use super::frame_writer::TemporaryFile;
use super::packed::{self, PackedCopy, PackedVersion};
use super::packed_form;
use super::table::Header;
use super::{Store, io_error, table};
use crate::Error;
use std::fs;
use std::io::Write;
use std::path::Path;

/// What a file begins with; a row begins with a word of its own.
const FILE_START: &[u8] = table::START_MAGIC;

impl Store {
    /// The stored bytes of a copy, as those of the transcript with the second name. None: there is none.
    pub fn read_raw(&self, name: u128, transcript: u128) -> Result<Option<Vec<u8>>, Error> {
        let path = self.path_by_name(name);
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let content = packed::find(self.packed.path(), name)?.map(|copy| copy.content);
                // A damaged row must not become an intact one.
                let renamed = |content: Vec<u8>| match packed_form::verify(name, &content) {
                    Ok(()) if name != transcript => packed_form::rename(transcript, content),
                    _ => content,
                };
                Ok(content.map(renamed))
            }
            Err(error) => Err(io_error(&path)(error)),
        }
    }

    /// Opens wholes and parts of a copy from another archive, without storing them.
    pub(super) fn with_opened<T>(
        &self,
        name: u128,
        pieces: &[&[u8]],
        read: impl FnOnce(&[Archive]) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let (mut archives, mut files) = (Vec::new(), Vec::new());
        for bytes in pieces {
            let (archive, file) = self.open_piece(name, bytes)?;
            archives.push(archive);
            files.extend(file);
        }
        read(&archives)
    }

    /// The file of a large copy is removed with the second value.
    pub(super) fn open_piece(
        &self,
        name: u128,
        bytes: &[u8],
    ) -> Result<(Archive, Option<TemporaryFile>), Error> {
        let path = self.path_by_name(name);
        if !bytes.starts_with(FILE_START) {
            return Ok((Archive::from_row(&path, &row_of(name, bytes))?, None));
        }
        let (temporary, mut file) = TemporaryFile::create(path.clone())?;
        file.write_all(bytes).map_err(io_error(&path))?;
        Ok((Archive::open_file(temporary.path())?, Some(temporary)))
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

/// A copy is of the transcript that its name says.
pub(super) fn check_name(path: &Path, header: &Header, name: u128) -> Result<(), Error> {
    if header.transcript_name() == name {
        Ok(())
    } else {
        Err(Error::Damaged { path: path.to_path_buf(), what: "it is the copy of another transcript" })
    }
}
