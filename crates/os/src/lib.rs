//! What differs between operating systems, behind one interface: file identities, times and permissions, folders that are not
//! followed through links, local sockets, processes.
//!
//! One module per system implements the same functions; a caller never asks which system it is on. Does not know what the files
//! and processes are for.

pub mod checked_file;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use unix::{directory, files, processes, socket};
#[cfg(windows)]
pub use windows::{directory, files, processes, socket};

/// Fills a buffer with random bytes of the system's generator.
pub fn fill_random(bytes: &mut [u8]) -> std::io::Result<()> {
    getrandom::fill(bytes).map_err(|error| std::io::Error::other(error.to_string()))
}

/// What tells a changed file from an unchanged one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileStamp {
    pub inode: u64,
    /// Nanoseconds since 1970.
    pub modified: i64,
    /// When the inode changed, likewise; where the system does not tell, the time of the last write.
    pub changed: i64,
}

/// Names a file or folder, whatever its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileIdentity {
    pub device: u64,
    pub file: u64,
}

/// Limits that a process puts on itself before it runs code it does not trust.
#[derive(Clone, Copy, Debug)]
pub struct ProcessLimits {
    /// Bytes of address space.
    pub memory: u64,
    pub open_files: u64,
}
