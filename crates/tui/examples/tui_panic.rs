//! A browser without a history that panics on its own thread, for the test that a panic restores the terminal.

use api::{Code, Error, Operations, Progress, View, ViewRequest};
use loci_tui::{Backend, Purpose, Settings, browse};
use render::RenderOptions;
use serde_json::Value;
use std::io::stdout;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, LazyLock};

static PROGRESS: LazyLock<Progress> = LazyLock::new(Progress::default);

/// Counts how often its progress was asked for: the browser's own thread does that while a request is running.
#[derive(Default)]
struct NoHistory(AtomicU32);

impl Backend for NoHistory {
    fn operations(&self) -> &dyn Operations {
        loop {
            std::thread::park();
        }
    }

    fn read_view(&self, _: &'static View, _: &ViewRequest) -> Result<Vec<Value>, Error> {
        Err(Error::new(Code::InternalError, "no history"))
    }

    fn export_session(&self, _: &str, path: &Path) -> Result<PathBuf, Error> {
        Ok(path.to_path_buf())
    }

    fn progress(&self) -> &Progress {
        assert!(self.0.fetch_add(1, Relaxed) < 4, "on purpose");
        &PROGRESS
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let output = stdout().as_fd().try_clone_to_owned()?.into();
    let options = RenderOptions::plain(record::Clock::System, "");
    let backend: Arc<dyn Backend> = Arc::new(NoHistory::default());
    let settings = Settings { purpose: Purpose::Browse, words: String::new(), options, output };
    browse(&backend, settings, |_| {})?;
    Ok(())
}
