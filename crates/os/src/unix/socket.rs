//! Sockets that only processes of this machine reach, by a path. Does not know what is said over them.

pub use std::os::unix::net::{UnixListener as Listener, UnixStream as Stream};

use crate::FileIdentity;
use std::ffi::OsStr;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::{Path, PathBuf};

/// The identity of the socket at a path; `None` if there is none.
pub fn identity(path: &Path) -> Option<FileIdentity> {
    let meta = std::fs::symlink_metadata(path).ok()?;
    meta.file_type().is_socket().then(|| super::files::identity(path, &meta).ok()).flatten()
}

/// Whether the other end runs as the same user.
#[cfg(target_os = "linux")]
pub fn is_own(stream: &Stream) -> bool {
    rustix::net::sockopt::socket_peercred(stream).is_ok_and(|peer| peer.uid == rustix::process::getuid())
}

/// Other systems rely on the permissions of the socket and its folder.
#[cfg(not(target_os = "linux"))]
pub fn is_own(_stream: &Stream) -> bool {
    true
}

/// A folder of this user whose path is short enough for the name of a socket.
pub fn short_folder() -> PathBuf {
    PathBuf::from(format!("/tmp/loci-{}", rustix::process::getuid().as_raw()))
}

/// Ends the wait of a thread that accepts connections.
pub fn stop_accepting(listener: &Listener) {
    let _ = rustix::net::shutdown(listener, rustix::net::Shutdown::Both);
}

/// Sends messages to a socket that another program reads; one that does not read does not block the sender.
#[derive(Debug)]
pub struct Datagrams {
    socket: UnixDatagram,
    to: SocketAddr,
}

impl Datagrams {
    /// `name` is a path, or an abstract socket name prefixed with `@`.
    pub fn open(name: &OsStr) -> Option<Datagrams> {
        let to = address(name)?;
        let socket = UnixDatagram::unbound().ok()?;
        socket.set_nonblocking(true).ok()?;
        Some(Datagrams { socket, to })
    }

    pub fn send(&self, message: &[u8]) {
        let _ = self.socket.send_to_addr(message, &self.to);
    }
}

#[cfg(target_os = "linux")]
fn address(name: &OsStr) -> Option<SocketAddr> {
    use std::os::linux::net::SocketAddrExt;
    match name.as_encoded_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name).ok(),
        None => SocketAddr::from_pathname(name).ok(),
    }
}

#[cfg(not(target_os = "linux"))]
fn address(name: &OsStr) -> Option<SocketAddr> {
    SocketAddr::from_pathname(name).ok().filter(|_| !name.as_encoded_bytes().starts_with(b"@"))
}
