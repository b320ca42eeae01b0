//! The daemon's paths: socket, lock and log. Every command computes the same paths.
//!
//! Does not check whether a daemon is running.

use crate::ownership;
use std::path::{Path, PathBuf};

/// The base directories, from the environment.
#[derive(Clone, Copy, Debug)]
pub struct BaseDirs<'a> {
    /// `XDG_RUNTIME_DIR`, if set.
    pub runtime: Option<&'a Path>,
    pub state: &'a Path,
    pub data: &'a Path,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimePaths {
    pub socket: PathBuf,
    /// Locked by the process that serves. It is in the data directory, so environments that share data share a daemon.
    pub lock: PathBuf,
    pub log: PathBuf,
}

/// A socket path is limited to 107 bytes on Linux and 103 elsewhere. A new socket is created beside the old one under a
/// longer name, so the limit here is lower.
const MAX_SOCKET_PATH: usize = 90;

impl RuntimePaths {
    pub fn from_base_dirs(homes: BaseDirs<'_>) -> RuntimePaths {
        let name = format!("daemon-{:08x}.sock", hash_path(homes.data));
        let socket = match homes.runtime.filter(|dir| is_usable(dir)) {
            Some(dir) => dir.join("loci").join(&name),
            None => homes.state.join("run").join(&name),
        };
        let socket = if socket.as_os_str().len() > MAX_SOCKET_PATH { fallback_socket(&name) } else { socket };
        RuntimePaths { socket, lock: homes.data.join("daemon.lock"), log: homes.state.join("daemon.log") }
    }
}

impl RuntimePaths {
    /// Rejects a socket path that contains something that must not be used or replaced.
    pub fn check_socket(&self) -> Result<(), crate::Error> {
        ownership::check_replaceable(&self.socket)
    }
}

fn is_usable(dir: &Path) -> bool {
    let own = |meta: std::fs::Metadata| meta.is_dir() && os::files::belongs_to_us(&meta);
    dir.is_absolute() && std::fs::metadata(dir).is_ok_and(own)
}

/// The socket path for a base directory that is too deep. The folder's owner is checked as for any other.
fn fallback_socket(name: &str) -> PathBuf {
    os::socket::short_folder().join(name)
}

/// Hashes a path with FNV-1a, which is the same in every build: clients of another version must find the same socket.
fn hash_path(path: &Path) -> u32 {
    let bytes = path.as_os_str().as_encoded_bytes().iter();
    bytes.fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_socket_path_fits_however_deep_the_home_is() {
        let tmp = tempfile::tempdir().unwrap();
        let deep = Path::new("/").join("ä b".repeat(60));
        let of =
            |runtime, state, data| RuntimePaths::from_base_dirs(BaseDirs { runtime, state, data }).socket;
        let (state, data) = (Path::new("/h/s/loci"), Path::new("/h/d/loci"));
        assert_eq!(of(Some(tmp.path()), state, data).parent().unwrap(), tmp.path().join("loci"));
        assert_eq!(of(None, state, data).parent().unwrap(), Path::new("/h/s/loci/run"));
        assert_eq!(of(Some(Path::new("relative")), state, data), of(None, state, data));
        assert_eq!(of(Some(Path::new("/not/there")), state, data), of(None, state, data));
        let far = of(None, &deep, data);
        assert!(far.as_os_str().len() <= MAX_SOCKET_PATH && far.starts_with("/tmp"), "{}", far.display());
        assert_ne!(far, of(None, &deep, Path::new("/other/d")), "each data directory has its own socket");
    }
}
