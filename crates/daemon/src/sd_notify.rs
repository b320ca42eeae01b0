//! Reports the daemon's state to systemd (`sd_notify`): ready, alive, stopping. Does nothing unless systemd set
//! `NOTIFY_SOCKET`.
//!
//! Does not receive anything from systemd.

use os::socket::Datagrams;
use std::ffi::OsStr;

pub(crate) const READY: &str = "READY=1";
pub(crate) const ALIVE: &str = "WATCHDOG=1";
pub(crate) const STOPPING: &str = "STOPPING=1";

#[derive(Debug)]
pub(crate) struct SystemdNotifier(Option<Datagrams>);

impl SystemdNotifier {
    /// `name` is the value of `NOTIFY_SOCKET`: a path, or an abstract socket name prefixed with `@`.
    pub(crate) fn new(name: Option<&OsStr>) -> SystemdNotifier {
        SystemdNotifier(name.filter(|name| !name.is_empty()).and_then(Datagrams::open))
    }

    pub(crate) fn notify(&self, state: &str) {
        if let Some(socket) = &self.0 {
            socket.send(state.as_bytes());
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::os::unix::net::{SocketAddr, UnixDatagram};

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
