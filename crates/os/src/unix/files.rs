//! Metadata, permissions and positions of files. Does not know directory handles: see `directory`.

use crate::{FileIdentity, FileStamp};
use rustix::fs::{Mode, OFlags};
use std::fs::{File, Metadata, Permissions};
use std::io::{Error, Result};
use std::os::unix::ffi::OsStringExt;
pub use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Saturating: a damaged file system can have any time.
fn nanoseconds(seconds: i64, rest: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

/// Reads the stamp from metadata.
pub fn stamp(meta: &Metadata) -> FileStamp {
    FileStamp {
        inode: meta.ino(),
        modified: nanoseconds(meta.mtime(), meta.mtime_nsec()),
        changed: nanoseconds(meta.ctime(), meta.ctime_nsec()),
    }
}

/// The identity of the file or folder that `meta` was read from. Other systems need the path for it.
pub fn identity(_path: &Path, meta: &Metadata) -> Result<FileIdentity> {
    Ok(identity_of(meta))
}

/// The identity of an open file.
pub fn open_identity(file: &File) -> Result<FileIdentity> {
    file.metadata().map(|meta| identity_of(&meta))
}

fn identity_of(meta: &Metadata) -> FileIdentity {
    FileIdentity { device: meta.dev(), file: meta.ino() }
}

/// The device that a file is on.
pub fn device(meta: &Metadata) -> u64 {
    meta.dev()
}

pub fn is_linked_elsewhere(meta: &Metadata) -> bool {
    meta.nlink() > 1
}

/// The permission bits.
pub fn mode(meta: &Metadata) -> u32 {
    meta.mode() & 0o7777
}

/// Whether the group or all others may do anything with the file.
pub fn is_open_to_others(meta: &Metadata) -> bool {
    meta.mode() & 0o077 != 0
}

pub fn belongs_to_us(meta: &Metadata) -> bool {
    meta.uid() == rustix::process::geteuid().as_raw()
}

/// Whether a file can be run as a program.
pub fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.mode() & 0o111 != 0)
}

pub fn set_mode(path: &Path, mode: u32) -> Result<()> {
    std::fs::set_permissions(path, Permissions::from_mode(mode))
}

pub fn set_open_mode(file: &File, mode: u32) -> Result<()> {
    file.set_permissions(Permissions::from_mode(mode))
}

/// Gives a new file the owner and the permissions of the file that it replaces.
pub fn copy_ownership(file: &File, former: &Metadata) -> Result<()> {
    let ours = file.metadata()?;
    if (ours.uid(), ours.gid()) != (former.uid(), former.gid()) {
        std::os::unix::fs::fchown(file, Some(former.uid()), Some(former.gid()))?;
    }
    set_open_mode(file, mode(former))
}

/// Gives a path the group of another one.
pub fn take_group(path: &Path, of: &Metadata) -> Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let has_it = std::fs::symlink_metadata(path)?.gid() == of.gid();
    if has_it { Ok(()) } else { std::os::unix::fs::lchown(path, None, Some(of.gid())) }
}

/// Opens a regular file for reading. Does not follow a link, and does not wait for the writer of a FIFO: the type is checked on
/// the open file, since a FIFO may replace the file between a check and the open.
pub fn open_regular(path: &Path) -> Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(Error::other("not a regular file")) }
}

/// Fails unless the path is a folder itself, not a link to one.
pub fn check_real_folder(path: &Path) -> Result<()> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).map(drop).map_err(Error::from)
}

/// Makes a link at `at` to a file or folder.
pub fn link_to(target: &Path, at: &Path) -> Result<()> {
    std::os::unix::fs::symlink(target, at)
}

/// Writes at `at` the name of an entry beside it, which `read_pointer` reads: a symbolic link.
pub fn write_pointer(name: &Path, at: &Path) -> Result<()> {
    std::os::unix::fs::symlink(name, at)
}

pub fn read_pointer(at: &Path) -> Option<PathBuf> {
    std::fs::read_link(at).ok()
}

/// Makes new and removed names of a folder durable.
pub fn sync_folder(folder: &Path) -> Result<()> {
    File::open(folder)?.sync_all()
}

/// Makes everything written to the file system of a folder durable.
#[cfg(target_os = "linux")]
pub fn sync_file_system(folder: &Path) -> Result<()> {
    rustix::fs::syncfs(File::open(folder)?).map_err(Error::from)
}

/// Other systems can only sync all file systems.
#[cfg(not(target_os = "linux"))]
pub fn sync_file_system(_folder: &Path) -> Result<()> {
    rustix::fs::sync();
    Ok(())
}

/// Free space on the file system of a folder.
pub fn free_bytes(folder: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(folder).ok()?;
    Some(stat.f_bavail * stat.f_frsize)
}

/// The number by which Linux knows the kind of file system; other systems have none.
#[cfg(target_os = "linux")]
#[allow(clippy::unnecessary_cast)] // the type is narrower on 32-bit platforms
pub fn file_system_type(path: &Path) -> Option<i64> {
    rustix::fs::statfs(path).ok().map(|found| found.f_type as i64)
}

#[cfg(not(target_os = "linux"))]
pub fn file_system_type(_path: &Path) -> Option<i64> {
    None
}

/// The path that has these bytes, as `OsStr::as_encoded_bytes` returned them.
pub fn path_from_bytes(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

/// The terminal of this process, whatever its standard streams are.
pub fn open_terminal() -> Result<File> {
    File::options().read(true).write(true).open("/dev/tty")
}

/// Another handle of standard output.
pub fn duplicate_stdout() -> Result<File> {
    use std::os::fd::AsFd;
    std::io::stdout().as_fd().try_clone_to_owned().map(File::from)
}
