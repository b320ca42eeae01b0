//! Where the daemon of a home directory has its socket, its state and its data.
//!
//! Does not know the daemon.

use history::home::Home;
use std::path::PathBuf;

/// Where the daemon of these places is found.
#[derive(Clone, Debug)]
pub struct DaemonPaths {
    pub runtime: Option<PathBuf>,
    pub state: PathBuf,
    pub data: PathBuf,
}

impl DaemonPaths {
    /// None without a home.
    pub fn of(places: &sources::Places) -> Option<DaemonPaths> {
        let home = Home::of(places)?;
        let state = places.xdg("XDG_STATE_HOME", ".local/state");
        let runtime = places.vars.get("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|dir| dir.is_absolute());
        state.is_absolute().then(|| DaemonPaths { runtime, state: state.join("loci"), data: home.data })
    }
}
