//! Metadata and positions of files. There are no permission bits: a file inherits the access list of its folder, and a user's
//! own folders admit nobody else. Does not know directory handles: see `directory`.

use crate::{FileIdentity, FileStamp};
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::{Error, ErrorKind, Result};
use std::os::windows::fs::{FileExt as _, MetadataExt, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Windows counts tenths of a microsecond since 1601.
const TICKS_UNTIL_1970: i64 = 116_444_736_000_000_000;
const NANOSECONDS_PER_TICK: i64 = 100;
/// Opens a link itself, and a folder like a file.
const OPEN_REPARSE_POINT: u32 = 0x0020_0000;
const BACKUP_SEMANTICS: u32 = 0x0200_0000;

fn nanoseconds(ticks: u64) -> i64 {
    (ticks as i64).saturating_sub(TICKS_UNTIL_1970).saturating_mul(NANOSECONDS_PER_TICK)
}

/// Reads and writes at a position, without moving the cursor for others who use the same handle.
pub trait FileExt {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> Result<usize>;
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> Result<()>;
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> Result<()>;
}

impl FileExt for File {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> Result<usize> {
        self.seek_read(bytes, offset)
    }

    fn read_exact_at(&self, mut bytes: &mut [u8], mut offset: u64) -> Result<()> {
        while !bytes.is_empty() {
            match self.seek_read(bytes, offset)? {
                0 => return Err(Error::from(ErrorKind::UnexpectedEof)),
                read => (bytes, offset) = (&mut bytes[read..], offset + read as u64),
            }
        }
        Ok(())
    }

    fn write_all_at(&self, mut bytes: &[u8], mut offset: u64) -> Result<()> {
        while !bytes.is_empty() {
            match self.seek_write(bytes, offset)? {
                0 => return Err(Error::from(ErrorKind::WriteZero)),
                written => (bytes, offset) = (&bytes[written..], offset + written as u64),
            }
        }
        Ok(())
    }
}

/// Accepts permission bits, which have no meaning here.
pub trait OpenOptionsExt {
    fn mode(&mut self, mode: u32) -> &mut Self;
}

impl OpenOptionsExt for OpenOptions {
    fn mode(&mut self, _mode: u32) -> &mut Self {
        self
    }
}

/// Accepts permission bits, which have no meaning here.
pub trait DirBuilderExt {
    fn mode(&mut self, mode: u32) -> &mut Self;
}

impl DirBuilderExt for DirBuilder {
    fn mode(&mut self, _mode: u32) -> &mut Self {
        self
    }
}

/// Reads the stamp from metadata. A file's index takes an open handle: the time of creation stands for it.
pub fn stamp(meta: &Metadata) -> FileStamp {
    let modified = nanoseconds(meta.last_write_time());
    FileStamp { inode: meta.creation_time(), modified, changed: modified }
}

/// The identity of a file or folder.
pub fn identity(path: &Path, _meta: &Metadata) -> Result<FileIdentity> {
    identity_of(&winapi_util::Handle::from_path_any(path)?)
}

/// The identity of an open file.
pub fn open_identity(file: &File) -> Result<FileIdentity> {
    identity_of(file)
}

fn identity_of(handle: impl winapi_util::AsHandleRef) -> Result<FileIdentity> {
    let found = winapi_util::file::information(handle)?;
    Ok(FileIdentity { device: found.volume_serial_number(), file: found.file_index() })
}

/// No volume holds files made up by the kernel, so all count as one.
pub fn device(_meta: &Metadata) -> u64 {
    0
}

/// Cannot be told from metadata.
pub fn is_linked_elsewhere(_meta: &Metadata) -> bool {
    false
}

/// The permission bits that a file with this attribute would have elsewhere.
pub fn mode(meta: &Metadata) -> u32 {
    if meta.permissions().readonly() { 0o444 } else { 0o644 }
}

pub fn is_open_to_others(_meta: &Metadata) -> bool {
    false
}

pub fn belongs_to_us(_meta: &Metadata) -> bool {
    true
}

/// Whether a file can be run as a program: its ending says so.
pub fn is_program(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    ["exe", "cmd", "bat", "com"].iter().any(|known| ending.eq_ignore_ascii_case(known)) && path.is_file()
}

pub fn set_mode(_path: &Path, _mode: u32) -> Result<()> {
    Ok(())
}

pub fn set_open_mode(_file: &File, _mode: u32) -> Result<()> {
    Ok(())
}

/// Nothing to do: the access list comes from the folder.
pub fn copy_ownership(_file: &File, _former: &Metadata) -> Result<()> {
    Ok(())
}

/// Gives a path the group of another one.
pub fn take_group(_path: &Path, _of: &Metadata) -> Result<()> {
    Ok(())
}

/// Opens a regular file for reading, not what a link points to.
pub fn open_regular(path: &Path) -> Result<File> {
    let flags = OPEN_REPARSE_POINT | BACKUP_SEMANTICS;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(Error::other("not a regular file")) }
}

/// Fails unless the path is a folder itself, not a link to one.
pub fn check_real_folder(path: &Path) -> Result<()> {
    let is_folder = std::fs::symlink_metadata(path)?.is_dir();
    if is_folder { Ok(()) } else { Err(Error::from(ErrorKind::NotADirectory)) }
}

/// Makes a link at `at` to a file or folder. Needs the developer mode of Windows, or an administrator.
pub fn link_to(target: &Path, at: &Path) -> Result<()> {
    if target.is_dir() {
        std::os::windows::fs::symlink_dir(target, at)
    } else {
        std::os::windows::fs::symlink_file(target, at)
    }
}

/// Writes at `at` the name of an entry beside it, which `read_pointer` reads: as text, since links need a privilege.
pub fn write_pointer(name: &Path, at: &Path) -> Result<()> {
    std::fs::write(at, name.as_os_str().as_encoded_bytes())
}

pub fn read_pointer(at: &Path) -> Option<PathBuf> {
    std::fs::read_to_string(at).ok().map(PathBuf::from)
}

/// Names are durable with the journal of the file system; a folder cannot be synced.
pub fn sync_folder(_folder: &Path) -> Result<()> {
    Ok(())
}

/// A volume can be synced only by an administrator: the last seconds before a power failure can be lost.
pub fn sync_file_system(_folder: &Path) -> Result<()> {
    Ok(())
}

/// Not known without a system call of its own.
pub fn free_bytes(_folder: &Path) -> Option<u64> {
    None
}

pub fn file_system_type(_path: &Path) -> Option<i64> {
    None
}

/// The path that has these bytes, as `OsStr::as_encoded_bytes` returned them; lone surrogates are replaced.
pub fn path_from_bytes(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(&bytes).into_owned())
}

/// The console of this process, whatever its standard streams are.
pub fn open_terminal() -> Result<File> {
    File::options().read(true).write(true).open("CONOUT$")
}

/// Another handle of standard output.
pub fn duplicate_stdout() -> Result<File> {
    use std::os::windows::io::AsHandle;
    std::io::stdout().as_handle().try_clone_to_owned().map(File::from)
}
