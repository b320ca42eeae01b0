//! The operations of `loci sync`.
//!
//! Does not know what travels, and does not read the environment.

use crate::round::{preview, run_round};
use crate::settings::{Place, SpaceSettings, exclude_project, sync_error};
use crate::status::{find_members, keep_failure, read_status};
use api::sync::{
    SyncDevices, SyncDevicesRequest, SyncExclude, SyncInit, SyncJoin, SyncJoined, SyncLeave, SyncLeft,
    SyncNow, SyncPreview, SyncPreviewed, SyncRemove, SyncRound, SyncStatus, SyncStatusRequest,
};
use api::{Code, Error};
use history::error::no_home;
use history::home::Home;
use history::{History, scope};
use sync::{Phrase, Space};

/// What the operations depend on besides their parameters.
pub struct Caller<'c> {
    pub history: History<'c>,
    /// The variables of the cloud's own tools.
    pub variables: Vec<(String, String)>,
    /// The name of this machine.
    pub host: String,
}

impl Caller<'_> {
    fn home(&self) -> Result<Home, Error> {
        self.history.home().ok_or_else(no_home)
    }

    /// A folder is stored as an absolute path: rounds run in any directory.
    fn resolve_url(&self, url: &str) -> Result<String, Error> {
        if url.contains("://") {
            return Ok(url.to_string());
        }
        let path = match url.strip_prefix("~/") {
            Some(below) => self.history.places.home.join(below),
            None => self.history.cwd.join(url),
        };
        if path.is_dir() {
            return Ok(path.to_string_lossy().into_owned());
        }
        Err(Error::new(Code::InvalidArgument, format!("{} is not a folder", path.display()))
            .hint(format!("mkdir -p {}", path.display())))
    }

    fn label(&self, given: Option<&String>) -> String {
        let given = given.map(|label| label.trim().to_string()).filter(|label| !label.is_empty());
        given.unwrap_or_else(|| self.host.clone())
    }
}

fn refuse_joined(place: &Place) -> Result<(), Error> {
    if place.settings().is_some() {
        return Err(sync_error(sync::Error::AlreadyJoined));
    }
    Ok(())
}

fn finish_joining(
    place: &Place,
    url: String,
    label: String,
    space: &Space,
    phrase: Option<String>,
) -> Result<SyncJoined, Error> {
    let settings = SpaceSettings { url: url.clone(), label: label.clone(), ..SpaceSettings::default() };
    place.store_settings(&settings)?;
    Ok(SyncJoined { space: space.id().to_string(), label, url, phrase })
}

pub fn init(caller: &Caller<'_>, request: &SyncInit) -> Result<SyncJoined, Error> {
    let (place, url) = (Place::private(&caller.home()?), caller.resolve_url(&request.url)?);
    let label = caller.label(request.label.as_ref());
    refuse_joined(&place)?;
    let (space, phrase) = place.enter(&url, &caller.variables, |folder, store, settings| {
        Space::create(folder, store, &label, settings)
    })?;
    finish_joining(&place, url, label, &space, Some(phrase.to_string()))
}

pub fn join(caller: &Caller<'_>, request: &SyncJoin) -> Result<SyncJoined, Error> {
    let (place, url) = (Place::private(&caller.home()?), caller.resolve_url(&request.url)?);
    let label = caller.label(request.label.as_ref());
    refuse_joined(&place)?;
    let phrase = Phrase::parse(request.phrase.trim()).map_err(sync_error)?;
    let space = place.enter(&url, &caller.variables, |folder, store, settings| {
        Space::recover(folder, store, &phrase, &label, settings)
    })?;
    finish_joining(&place, url, label, &space, None)
}

pub fn sync_now(caller: &Caller<'_>, _: &SyncNow) -> Result<SyncRound, Error> {
    let place = Place::private(&caller.home()?);
    let mut settings = place.joined_settings()?;
    if !settings.started {
        settings.started = true;
        place.store_settings(&settings)?;
    }
    run_round(&caller.history, &caller.variables)
}

/// Runs a round, if this device belongs to a space and a person has run the first one. A failure is kept for `sync status`.
pub fn sync_if_started(caller: &Caller<'_>) -> Result<(), Error> {
    let place = Place::private(&caller.home()?);
    if !place.settings().is_some_and(|settings| settings.started) {
        return Ok(());
    }
    let done = run_round(&caller.history, &caller.variables).map(|_| ());
    keep_failure(&place, done.as_ref().err());
    done
}

pub fn show_preview(caller: &Caller<'_>, request: &SyncPreview) -> Result<SyncPreviewed, Error> {
    preview(&caller.history, request.limit)
}

pub fn show_status(caller: &Caller<'_>, _: &SyncStatusRequest) -> Result<SyncStatus, Error> {
    let home = caller.home()?;
    let (settings, space) = Place::private(&home).open(&caller.variables)?;
    read_status(&home, settings, &space)
}

pub fn list_devices(caller: &Caller<'_>, _: &SyncDevicesRequest) -> Result<SyncDevices, Error> {
    let home = caller.home()?;
    let (settings, space) = Place::private(&home).open(&caller.variables)?;
    Ok(SyncDevices { devices: read_status(&home, settings, &space)?.devices })
}

pub fn exclude(caller: &Caller<'_>, request: &SyncExclude) -> Result<SyncStatus, Error> {
    let home = caller.home()?;
    let (mut settings, space) = Place::private(&home).open(&caller.variables)?;
    // An agent records the folder as it was opened, which may be by a link.
    let typed = caller.history.cwd.join(&request.project);
    let names = [scope::canonical_path(&typed), typed].map(|path| path.to_string_lossy().into_owned());
    exclude_project(&home, &mut settings, &space, &names, request.undo)?;
    read_status(&home, settings, &space)
}

pub fn remove(caller: &Caller<'_>, request: &SyncRemove) -> Result<SyncStatus, Error> {
    let home = caller.home()?;
    let (settings, mut space) = Place::private(&home).open(&caller.variables)?;
    for member in find_members(&space, &request.device)? {
        space.remove_member(&member).map_err(sync_error)?;
    }
    read_status(&home, settings, &space)
}

pub fn leave(caller: &Caller<'_>, _: &SyncLeave) -> Result<SyncLeft, Error> {
    let place = Place::private(&caller.home()?);
    let settings = place.joined_settings()?;
    place.delete()?;
    Ok(SyncLeft { url: settings.url })
}
