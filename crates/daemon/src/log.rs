//! What the daemon did, for whoever wonders: a line of JSON each, in a file that does not grow without end. Never what
//! anybody said.
//!
//! Does not decide what is worth a line.

use record::Clock;
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Two files of this size at most.
const LARGEST: u64 = 2 << 20;

#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    clock: Clock,
    to: Mutex<Option<(File, u64)>>,
}

impl Log {
    pub fn new(path: &Path, clock: Clock) -> Log {
        Log { path: path.to_path_buf(), clock, to: Mutex::new(None) }
    }

    /// A line that cannot be written is nobody's business.
    pub fn say(&self, what: &str, more: &Value) {
        let mut line = json!({"at": self.clock.now().to_string(), "pid": std::process::id(), "what": what});
        if let (Value::Object(line), Value::Object(more)) = (&mut line, more) {
            line.extend(more.iter().map(|(name, value)| (name.clone(), value.clone())));
        }
        let line = format!("{line}\n");
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        if to.as_ref().is_none_or(|(_, size)| *size > LARGEST) {
            *to = self.open();
        }
        if let Some((file, size)) = to.as_mut() {
            *size += line.len() as u64;
            let _ = file.write_all(line.as_bytes());
        }
    }

    fn open(&self) -> Option<(File, u64)> {
        crate::socket::make_private(self.path.parent()?).ok()?;
        if std::fs::metadata(&self.path).is_ok_and(|meta| meta.len() > LARGEST) {
            let _ = std::fs::rename(&self.path, self.path.with_extension("log.1"));
        }
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.path).ok()?;
        let size = file.metadata().ok()?.len();
        Some((file, size))
    }
}

/// The last lines of the log, the oldest first.
pub fn last(path: &Path, lines: usize) -> std::io::Result<Vec<String>> {
    let older = std::fs::read_to_string(path.with_extension("log.1")).unwrap_or_default();
    let text = std::fs::read_to_string(path)?;
    let all: Vec<&str> = older.lines().chain(text.lines()).collect();
    Ok(all[all.len().saturating_sub(lines)..].iter().map(ToString::to_string).collect())
}

/// How the last daemons ended, the oldest first: the reason each wrote down, or `lost` for one that was killed or fell
/// before it could. One that `runs` now is left out.
pub fn exits(path: &Path, most: usize, runs: bool) -> Vec<String> {
    let lines = last(path, usize::MAX).unwrap_or_default();
    let mut ends: Vec<String> = Vec::new();
    let mut lives = false;
    for line in lines.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        match line["what"].as_str() {
            Some("started") => {
                if lives {
                    ends.push(LOST.to_string());
                }
                lives = true;
            }
            Some("ended") if lives => {
                ends.push(line["why"].as_str().unwrap_or_default().to_string());
                lives = false;
            }
            _ => {}
        }
    }
    if lives && !runs {
        ends.push(LOST.to_string());
    }
    ends.split_off(ends.len().saturating_sub(most))
}

/// An end that nobody wrote down.
pub const LOST: &str = "lost";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_has_an_end() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("s/daemon.log");
        let log = Log::new(&path, Clock::System);
        for n in 0..3000 {
            log.say("filled", &json!({"n": n, "with": "x".repeat(2000)}));
        }
        let size = |path: &Path| std::fs::metadata(path).map_or(0, |meta| meta.len());
        let whole = size(&path) + size(&path.with_extension("log.1"));
        assert!(whole < 2 * LARGEST + 10_000, "{whole}");
        let last = last(&path, 2).unwrap();
        assert!(last.len() == 2 && last[1].contains("\"n\":2999"), "{last:?}");
    }

    #[test]
    fn an_end_that_nobody_wrote_down_is_known_by_the_next_beginning() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("s/daemon.log");
        assert!(exits(&path, 3, true).is_empty());
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
            log.say(what, &json!({"why": why}));
        }
        assert_eq!(exits(&path, 3, true), ["idle", LOST, "drained"]);
        assert_eq!(exits(&path, 2, true), [LOST, "drained"]);
    }
}
