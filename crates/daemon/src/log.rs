//! The daemon's log: one JSON object per line, in a file of limited size. It never contains text from sessions.
//!
//! Does not decide what is logged.

use os::files::OpenOptionsExt;
use record::Clock;
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The log is rotated at this size; there are at most two files.
const MAX_FILE_BYTES: u64 = 2 << 20;

#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    clock: Clock,
    file: Mutex<Option<(File, u64)>>,
}

impl Log {
    pub fn new(path: &Path, clock: Clock) -> Log {
        Log { path: path.to_path_buf(), clock, file: Mutex::new(None) }
    }

    /// Appends an entry. Logging is best effort: write errors are ignored.
    pub fn write_entry(&self, what: &str, more: &Value) {
        let mut line = json!({"at": self.clock.now().to_string(), "pid": std::process::id(), "what": what});
        if let (Value::Object(line), Value::Object(more)) = (&mut line, more) {
            line.extend(more.iter().map(|(name, value)| (name.clone(), value.clone())));
        }
        let line = format!("{line}\n");
        let mut to = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if to.as_ref().is_none_or(|(_, size)| *size > MAX_FILE_BYTES) {
            *to = self.open();
        }
        if let Some((file, size)) = to.as_mut() {
            *size += line.len() as u64;
            let _ = file.write_all(line.as_bytes());
        }
    }

    fn open(&self) -> Option<(File, u64)> {
        crate::ownership::create_private_dir(self.path.parent()?).ok()?;
        if std::fs::metadata(&self.path).is_ok_and(|meta| meta.len() > MAX_FILE_BYTES) {
            let _ = std::fs::rename(&self.path, self.path.with_extension("log.1"));
        }
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.path).ok()?;
        let size = file.metadata().ok()?.len();
        Some((file, size))
    }
}

/// The last lines of the log, oldest first.
pub fn read_last_lines(path: &Path, lines: usize) -> std::io::Result<Vec<String>> {
    let older = std::fs::read_to_string(path.with_extension("log.1")).unwrap_or_default();
    let text = std::fs::read_to_string(path)?;
    let all: Vec<&str> = older.lines().chain(text.lines()).collect();
    Ok(all[all.len().saturating_sub(lines)..].iter().map(ToString::to_string).collect())
}

/// How the last daemons ended, oldest first: the logged reason, or `lost` for one that was killed or crashed before it
/// could log one. A daemon that `runs` now is left out.
pub fn exit_reasons(path: &Path, most: usize, runs: bool) -> Vec<String> {
    let lines = read_last_lines(path, usize::MAX).unwrap_or_default();
    let mut reasons: Vec<String> = Vec::new();
    let mut running = false;
    for line in lines.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        match line["what"].as_str() {
            Some("started") => {
                if running {
                    reasons.push(LOST.to_string());
                }
                running = true;
            }
            Some("ended") if running => {
                reasons.push(line["why"].as_str().unwrap_or_default().to_string());
                running = false;
            }
            _ => {}
        }
    }
    if running && !runs {
        reasons.push(LOST.to_string());
    }
    reasons.split_off(reasons.len().saturating_sub(most))
}

/// The exit reason of a daemon that logged none.
pub const LOST: &str = "lost";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_bounded() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("s/daemon.log");
        let log = Log::new(&path, Clock::System);
        for n in 0..3000 {
            log.write_entry("filled", &json!({"n": n, "with": "x".repeat(2000)}));
        }
        let size = |path: &Path| std::fs::metadata(path).map_or(0, |meta| meta.len());
        let whole = size(&path) + size(&path.with_extension("log.1"));
        assert!(whole < 2 * MAX_FILE_BYTES + 10_000, "{whole}");
        let last = read_last_lines(&path, 2).unwrap();
        assert!(last.len() == 2 && last[1].contains("\"n\":2999"), "{last:?}");
    }

    #[test]
    fn an_unlogged_exit_is_recognised_by_the_next_start() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("s/daemon.log");
        assert!(exit_reasons(&path, 3, true).is_empty());
        let log = Log::new(&path, Clock::System);
        for (what, why) in [
            ("started", ""),
            ("ended", "idle"),
            ("started", ""),
            ("history", ""),
            ("started", ""),
            ("ended", "drained"),
            ("started", ""),
        ] {
            log.write_entry(what, &json!({"why": why}));
        }
        assert_eq!(exit_reasons(&path, 3, true), ["idle", LOST, "drained"]);
        assert_eq!(exit_reasons(&path, 2, true), [LOST, "drained"]);
    }
}
