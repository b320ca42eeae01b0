//! Directories for the daemon's socket, state and data.
//!
//! Does not know the daemon.

use history::home::Home;
use std::path::PathBuf;

/// The directories of the daemon for a home directory.
#[derive(Clone, Debug)]
pub struct DaemonPaths {
    pub runtime: Option<PathBuf>,
    pub state: PathBuf,
    pub data: PathBuf,
}

impl DaemonPaths {
    /// None without a home directory.
    pub fn of(places: &sources::Environment) -> Option<DaemonPaths> {
        let home = Home::from_places(places)?;
        let state = places.xdg_dir("XDG_STATE_HOME", ".local/state");
        let runtime = places.vars.get("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|dir| dir.is_absolute());
        state.is_absolute().then(|| DaemonPaths { runtime, state: state.join("loci"), data: home.data })
    }
}
