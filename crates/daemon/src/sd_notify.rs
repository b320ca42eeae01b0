//! Reports the daemon's state to systemd (`sd_notify`): ready, alive, stopping. Does nothing unless systemd set
//! `NOTIFY_SOCKET`.
//!
//! Does not receive anything from systemd.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

pub(crate) const READY: &str = "READY=1";
pub(crate) const ALIVE: &str = "WATCHDOG=1";
pub(crate) const STOPPING: &str = "STOPPING=1";

#[derive(Debug)]
pub(crate) struct SystemdNotifier(Option<(UnixDatagram, SocketAddr)>);

impl SystemdNotifier {
    /// `name` is the value of `NOTIFY_SOCKET`: a path, or an abstract socket name prefixed with `@`.
    pub(crate) fn new(name: Option<&OsStr>) -> SystemdNotifier {
        let address = name.filter(|name| !name.is_empty()).and_then(socket_address);
        let socket = || UnixDatagram::unbound().ok();
        // A receiver that does not read must not block the daemon.
        let nonblocking = |socket: &UnixDatagram| socket.set_nonblocking(true).is_ok();
        SystemdNotifier(address.and_then(|address| Some((socket().filter(nonblocking)?, address))))
    }

    pub(crate) fn notify(&self, state: &str) {
        if let Some((socket, address)) = &self.0 {
            let _ = socket.send_to_addr(state.as_bytes(), address);
        }
    }
}

#[cfg(target_os = "linux")]
fn socket_address(name: &OsStr) -> Option<SocketAddr> {
    use std::os::linux::net::SocketAddrExt;
    match name.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name).ok(),
        None => SocketAddr::from_pathname(name).ok(),
    }
}

#[cfg(not(target_os = "linux"))]
fn socket_address(name: &OsStr) -> Option<SocketAddr> {
    SocketAddr::from_pathname(name).ok().filter(|_| !name.as_bytes().starts_with(b"@"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receive_text(socket: &UnixDatagram) -> String {
        let mut buffer = [0; 64];
        let length = socket.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    }

    #[test]
    fn notifications_reach_a_path_and_an_abstract_name() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("n");
        let socket = UnixDatagram::bind(&path).unwrap();
        let notifier = SystemdNotifier::new(Some(path.as_os_str()));
        notifier.notify(READY);
        notifier.notify(STOPPING);
        assert_eq!((receive_text(&socket), receive_text(&socket)), (READY.to_string(), STOPPING.to_string()));
        #[cfg(target_os = "linux")]
        {
            use std::os::linux::net::SocketAddrExt;
            let name = format!("loci-test-{}", std::process::id());
            let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
            SystemdNotifier::new(Some(OsStr::new(&format!("@{name}")))).notify(ALIVE);
            assert_eq!(receive_text(&socket), ALIVE);
        }
    }

    #[test]
    fn a_missing_receiver_is_ignored() {
        for name in [None, Some(""), Some("/nowhere/at/all")] {
            SystemdNotifier::new(name.map(OsStr::new)).notify(READY);
        }
    }
}
