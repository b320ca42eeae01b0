//! The user's own settings, `config.toml` below `XDG_CONFIG_HOME`. Every one has a default, so that there need not be any.
//!
//! Does not read the environment, which is stronger: whoever asks looks there first.

use api::{Code, Error};
use serde::Deserialize;
use sources::Places;
use std::time::Duration;

/// Each setting with its meaning, for the reference.
pub const SETTINGS: &[(&str, &str)] = &[
    (
        "inline_threshold_bytes",
        "an answer to an agent that is larger than this goes into a file [default: 8192]",
    ),
    (
        "daemon.idle_exit_minutes",
        "how long nobody asks and nothing moves before the daemon goes [default: 120]",
    ),
    ("daemon.reply_minutes", "how long an agent may take to answer a message [default: 30]"),
    ("daemon.poll_seconds", "how often folders are looked at that the kernel cannot watch [default: 30]"),
    (
        "memory.idle_minutes",
        "memory is consolidated by itself when no agent wrote anything for so long [default: 30]",
    ),
    ("memory.every_hours", "and no more often than this [default: 4]"),
];

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    pub(crate) inline_threshold_bytes: Option<u64>,
    pub(crate) memory: Memory,
    pub(crate) daemon: Daemon,
}

/// How the daemon lives.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Daemon {
    idle_exit_minutes: Option<u64>,
    poll_seconds: Option<u64>,
    reply_minutes: Option<u64>,
}

impl Daemon {
    pub fn read(places: &Places) -> Result<Daemon, Error> {
        read(places).map(|config| config.daemon)
    }

    pub fn idle_exit(self) -> Duration {
        Duration::from_secs(self.idle_exit_minutes.unwrap_or(120).saturating_mul(60))
    }

    pub fn reply_minutes(self) -> u64 {
        self.reply_minutes.unwrap_or(30).clamp(1, 24 * 60)
    }

    pub fn poll(self) -> Duration {
        Duration::from_secs(self.poll_seconds.unwrap_or(30).max(1))
    }
}

/// When memory is consolidated by itself.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Memory {
    pub(crate) idle_minutes: u32,
    pub(crate) every_hours: u32,
}

impl Default for Memory {
    fn default() -> Memory {
        Memory { idle_minutes: 30, every_hours: 4 }
    }
}

pub(crate) fn read(places: &Places) -> Result<Config, Error> {
    let path = places.xdg("XDG_CONFIG_HOME", ".config").join("loci/config.toml");
    let wrong = |error: &dyn std::fmt::Display| {
        let known = SETTINGS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        Error::new(Code::InvalidArgument, format!("{}: {error}", path.display()))
            .hint(format!("its settings: {known}"))
    };
    match std::fs::read_to_string(&path) {
        Ok(text) => toml::from_str(&text).map_err(|e| wrong(&e.message())),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Config::default()),
        Err(e) => Err(wrong(&e)),
    }
}
