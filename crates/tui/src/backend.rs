//! What the browser asks of the rest of Loci.
//!
//! Does not know how a request is answered: in this process, or by the daemon.

use api::{Error, Operations, Progress, View, ViewRequest};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Answers the requests of the browser. Called on the worker threads only.
pub trait Backend: Send + Sync {
    fn operations(&self) -> &dyn Operations;

    /// The records of a view.
    fn read_view(&self, view: &'static View, request: &ViewRequest) -> Result<Vec<Value>, Error>;

    /// Writes a session to a new file, in the format of its ending; returns the path.
    fn export_session(&self, id: &str, path: &Path) -> Result<PathBuf, Error>;

    /// The progress of the request that is running.
    fn progress(&self) -> &Progress;
}
