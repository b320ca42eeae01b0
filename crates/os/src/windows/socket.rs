//! There is no local socket: nothing connects, and nothing can be bound. A daemon over named pipes would be written here.
//!
//! Does not know the daemon, which is the only user of these types.

use crate::FileIdentity;
use std::convert::Infallible;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A connection. There is none.
#[derive(Debug)]
pub struct Stream(Infallible);

/// A bound socket. There is none.
#[derive(Debug)]
pub struct Listener(Infallible);

fn unsupported() -> Error {
    Error::new(ErrorKind::Unsupported, "the daemon does not run on Windows")
}

impl Stream {
    pub fn connect(_path: impl AsRef<Path>) -> Result<Stream> {
        Err(unsupported())
    }

    pub fn try_clone(&self) -> Result<Stream> {
        match self.0 {}
    }

    pub fn set_read_timeout(&self, _timeout: Option<Duration>) -> Result<()> {
        match self.0 {}
    }

    pub fn set_write_timeout(&self, _timeout: Option<Duration>) -> Result<()> {
        match self.0 {}
    }

    pub fn shutdown(&self, _how: std::net::Shutdown) -> Result<()> {
        match self.0 {}
    }
}

impl Read for &Stream {
    fn read(&mut self, _bytes: &mut [u8]) -> Result<usize> {
        match self.0 {}
    }
}

impl Read for Stream {
    fn read(&mut self, _bytes: &mut [u8]) -> Result<usize> {
        match self.0 {}
    }
}

impl Write for &Stream {
    fn write(&mut self, _bytes: &[u8]) -> Result<usize> {
        match self.0 {}
    }

    fn flush(&mut self) -> Result<()> {
        match self.0 {}
    }
}

impl Write for Stream {
    fn write(&mut self, _bytes: &[u8]) -> Result<usize> {
        match self.0 {}
    }

    fn flush(&mut self) -> Result<()> {
        match self.0 {}
    }
}

impl Listener {
    pub fn bind(_path: impl AsRef<Path>) -> Result<Listener> {
        Err(unsupported())
    }

    pub fn incoming(&self) -> std::iter::Empty<Result<Stream>> {
        match self.0 {}
    }
}

pub fn identity(_path: &Path) -> Option<FileIdentity> {
    None
}

pub fn is_own(stream: &Stream) -> bool {
    match stream.0 {}
}

pub fn short_folder() -> PathBuf {
    std::env::temp_dir()
}

pub fn stop_accepting(listener: &Listener) {
    match listener.0 {}
}

/// Sends messages to a socket that another program reads. There is none.
#[derive(Debug)]
pub struct Datagrams(Infallible);

impl Datagrams {
    pub fn open(_name: &std::ffi::OsStr) -> Option<Datagrams> {
        None
    }

    pub fn send(&self, _message: &[u8]) {
        match self.0 {}
    }
}
