//! Tells systemd how the daemon stands, where systemd started it and named a socket for that: ready, alive, about to end.
//!
//! Hears nothing back; where nobody listens, nothing is said.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

pub(crate) const READY: &str = "READY=1";
pub(crate) const ALIVE: &str = "WATCHDOG=1";
pub(crate) const ENDING: &str = "STOPPING=1";

#[derive(Debug)]
pub(crate) struct Herald(Option<(UnixDatagram, SocketAddr)>);

impl Herald {
    /// `name` is what stands in `NOTIFY_SOCKET`: a path, or with `@` before it a name without one.
    pub(crate) fn to(name: Option<&OsStr>) -> Herald {
        let address = name.filter(|name| !name.is_empty()).and_then(address);
        let socket = || UnixDatagram::unbound().ok();
        // Whoever does not read must not keep a daemon from serving.
        let quick = |socket: &UnixDatagram| socket.set_nonblocking(true).is_ok();
        Herald(address.and_then(|address| Some((socket().filter(quick)?, address))))
    }

    pub(crate) fn say(&self, word: &str) {
        if let Some((socket, address)) = &self.0 {
            let _ = socket.send_to_addr(word.as_bytes(), address);
        }
    }
}

#[cfg(target_os = "linux")]
fn address(name: &OsStr) -> Option<SocketAddr> {
    use std::os::linux::net::SocketAddrExt;
    match name.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name).ok(),
        None => SocketAddr::from_pathname(name).ok(),
    }
}

#[cfg(not(target_os = "linux"))]
fn address(name: &OsStr) -> Option<SocketAddr> {
    SocketAddr::from_pathname(name).ok().filter(|_| !name.as_bytes().starts_with(b"@"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(socket: &UnixDatagram) -> String {
        let mut said = [0; 64];
        let many = socket.recv(&mut said).unwrap();
        String::from_utf8_lossy(&said[..many]).into_owned()
    }

    #[test]
    fn what_is_said_arrives_at_a_path_and_at_a_name() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("n");
        let socket = UnixDatagram::bind(&path).unwrap();
        let herald = Herald::to(Some(path.as_os_str()));
        herald.say(READY);
        herald.say(ENDING);
        assert_eq!((heard(&socket), heard(&socket)), (READY.to_string(), ENDING.to_string()));
        #[cfg(target_os = "linux")]
        {
            use std::os::linux::net::SocketAddrExt;
            let name = format!("loci-test-{}", std::process::id());
            let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
            Herald::to(Some(OsStr::new(&format!("@{name}")))).say(ALIVE);
            assert_eq!(heard(&socket), ALIVE);
        }
    }

    #[test]
    fn nobody_listens_and_nothing_happens() {
        for name in [None, Some(""), Some("/nowhere/at/all")] {
            Herald::to(name.map(OsStr::new)).say(READY);
        }
    }
}
