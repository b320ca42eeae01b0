//! Where the space of this device is, and what is left out of it. Kept beside the state of `sync`; contains no credentials.
//!
//! Does not know what travels.

use crate::known::Known;
use api::{Code, Error};
use db::durable::OpenError;
use history::error::{newer_store, read_error};
use history::home::{self, Home};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use sync::storage::{Backoff, Cloud, Folder, Retry, Store, StoreError};
use sync::{Settings, Space};

/// What a device keeps when it leaves a space.
pub(crate) const LEFT_FILE: &str = "left.json";

/// The settings of the space that this device belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SpaceSettings {
    /// `s3://bucket/prefix`, `az://container/prefix` or a folder.
    pub(crate) url: String,
    /// The name of this device.
    pub(crate) label: String,
    /// Projects whose sessions and memory stay here.
    pub(crate) excluded: Vec<String>,
    /// Set by the first `loci sync now`: before it, nothing leaves by itself, so that projects can be excluded.
    pub(crate) started: bool,
    /// This device has joined and has not read all that the others wrote: until then what it has is not later than what they have.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) returned: bool,
    /// In a team: what a person has shared. Nothing else leaves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) shared: Vec<SharedItem>,
    /// What the next round withdraws.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) withdrawn: Vec<SharedItem>,
}

/// A fact or a session that is shared with a team.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SharedItem {
    /// The ID of a fact, or source and ID of a session.
    pub(crate) id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<String>,
    /// Differs each time the same thing is shared: what was withdrawn is gone for good under its old key.
    pub(crate) since: u64,
    /// Of a session: whether its tool calls are shared as well.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) with_tools: bool,
}

impl SpaceSettings {
    /// Whether a project, or a folder above it, is excluded.
    pub(crate) fn excludes(&self, project: &str) -> bool {
        let is_within = |excluded: &String| {
            project
                .strip_prefix(excluded.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.excluded.iter().any(is_within)
    }
}

/// Where the state of a space is on this device: of the person's own, or of a team.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) folder: PathBuf,
    /// What this device calls the team.
    pub(crate) team: Option<String>,
}

impl Place {
    pub(crate) fn private(home: &Home) -> Place {
        Place { folder: home.sync(), team: None }
    }

    pub(crate) fn of_team(home: &Home, team: &str) -> Place {
        Place { folder: home.teams().join(team), team: Some(team.to_string()) }
    }

    /// The teams that this device belongs to, by name.
    pub(crate) fn teams(home: &Home) -> Vec<Place> {
        let entries = std::fs::read_dir(home.teams()).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        let places = names.iter().map(|name| Place::of_team(home, name));
        places.filter(Place::is_joined).collect()
    }

    fn settings_file(&self) -> PathBuf {
        self.folder.join("settings.json")
    }

    /// Whether this device belongs to the space, even if its settings are damaged.
    pub(crate) fn is_joined(&self) -> bool {
        self.settings_file().exists()
    }

    /// Damaged settings are not those of a device that belongs to no space.
    pub(crate) fn joined_settings(&self) -> Result<SpaceSettings, Error> {
        let path = self.settings_file();
        let text = match std::fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(sync_error(sync::Error::NotJoined));
            }
            text => text.map_err(read_error)?,
        };
        serde_json::from_slice(&text).map_err(|error| {
            let message = format!("the settings of sync are damaged: {}: {error}", path.display());
            Error::new(Code::ReadError, message).hint("loci sync leave, then join again")
        })
    }

    pub(crate) fn store_settings(&self, settings: &SpaceSettings) -> Result<(), Error> {
        let path = self.settings_file();
        // Serialization cannot fail: the type contains only what JSON can represent.
        let text = serde_json::to_string_pretty(settings).unwrap_or_default() + "\n";
        home::replace_file(&path, text.as_bytes()).map_err(|error| home::unwritable(&path, &error))
    }

    /// Opens the space of this device, or makes it one of a space with `enter`.
    pub(crate) fn enter<T>(
        &self,
        url: &str,
        variables: &[(String, String)],
        enter: impl FnOnce(&std::path::Path, Box<dyn Store>, Settings) -> sync::Result<T>,
    ) -> Result<T, Error> {
        let failed = |error: std::io::Error| home::unwritable(&self.folder, &error);
        for folder in self.folder.parent().into_iter().chain([self.folder.as_path()]) {
            home::create_private_dir(folder).map_err(failed)?;
        }
        let store = open_storage(url, variables).map_err(|error| sync_error(sync::Error::Store(error)))?;
        enter(&self.folder, store, Settings::default()).map_err(sync_error)
    }

    /// The space that this device belongs to.
    pub(crate) fn open(&self, variables: &[(String, String)]) -> Result<(SpaceSettings, Space), Error> {
        let settings = self.joined_settings()?;
        let space = self.enter(&settings.url, variables, Space::open)?;
        Ok((settings, space))
    }

    /// Ends the membership of this device: keys and state are deleted. What it knew of memory stays, for the day on which it joins again.
    pub(crate) fn delete(&self) -> Result<(), Error> {
        let failed = |error: std::io::Error| home::unwritable(&self.folder, &error);
        let mut is_any_kept = false;
        let entries: Vec<PathBuf> = std::fs::read_dir(&self.folder)
            .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect())
            .map_err(failed)?;
        // The settings last: after a kill, a device without them would belong to no space that it could leave.
        let (settings, others): (Vec<_>, Vec<_>) =
            entries.into_iter().partition(|path| *path == self.settings_file());
        for path in others.into_iter().chain(settings) {
            if path.ends_with(LEFT_FILE) {
                is_any_kept = true;
            } else if path.is_dir() {
                std::fs::remove_dir_all(&path).map_err(failed)?;
            } else {
                std::fs::remove_file(&path).map_err(failed)?;
            }
        }
        if is_any_kept { Ok(()) } else { std::fs::remove_dir(&self.folder).map_err(failed) }
    }
}

/// Opens the storage of a URL. `variables` are those of the cloud's own tools.
pub(crate) fn open_storage(url: &str, variables: &[(String, String)]) -> Result<Box<dyn Store>, StoreError> {
    if !url.contains("://") {
        return Ok(Box::new(Folder::new(&PathBuf::from(url))));
    }
    let cloud = Cloud::open(url, variables.iter().cloned())?;
    Ok(Box::new(Retry::new(cloud, Backoff::default(), std::thread::sleep)))
}

/// What S3 says to a request whose time is wrong by more than 15 minutes.
const WRONG_CLOCK: &str = "RequestTimeTooSkewed";

/// An error of `sync`, with what to do.
#[allow(clippy::needless_pass_by_value)] // used with `map_err`
pub(crate) fn sync_error(error: sync::Error) -> Error {
    if let sync::Error::Open(OpenError::Newer { .. }) = error {
        return newer_store(error);
    }
    let code = match &error {
        sync::Error::Phrase(_)
        | sync::Error::PhraseUnknown
        | sync::Error::UnknownMember(_)
        | sync::Error::Label(_)
        | sync::Error::AlreadyJoined
        | sync::Error::NotJoined
        | sync::Error::Removed => Code::InvalidArgument,
        _ => Code::ReadError,
    };
    let hint = match &error {
        sync::Error::NotJoined => Some("loci sync init URL"),
        sync::Error::NotOurs => {
            Some("mount it; if it was emptied, `loci sync check --repair` fills it again")
        }
        sync::Error::AlreadyJoined | sync::Error::UnknownMember(_) => Some("loci sync status"),
        sync::Error::Removed => Some("loci sync leave"),
        sync::Error::Store(StoreError::Refused { reason, .. }) if reason.contains(WRONG_CLOCK) => {
            Some("set the clock of this machine")
        }
        sync::Error::Store(StoreError::Refused { .. }) => {
            Some("check the URL and the credentials of your storage")
        }
        sync::Error::Store(_) => Some("nothing is lost: `loci sync now` tries again"),
        _ => None,
    };
    let error = Error::new(code, error.to_string());
    hint.into_iter().fold(error, Error::hint)
}

/// Keeps a project, under all its names, on this device from now on, or sends it again. Refused while records wait to be sent: some may be of the project.
pub(crate) fn exclude_project(
    home: &Home,
    settings: &mut SpaceSettings,
    space: &Space,
    names: &[String],
    undo: bool,
) -> Result<(), Error> {
    let pending = space.status().map_err(sync_error)?.pending;
    if pending > 0 && !undo {
        let message = format!("{pending} records wait to be sent, and may be of this project");
        return Err(Error::new(Code::InvalidArgument, message)
            .hint("loci sync now")
            .hint("to send none of them: loci sync leave, then start again"));
    }
    settings.excluded.retain(|known| !names.contains(known));
    if !undo {
        settings.excluded.extend_from_slice(names);
    }
    settings.excluded.sort();
    settings.excluded.dedup();
    Place::private(home).store_settings(settings)?;
    Known::open(home)?.forget_versions()
}
