//! Synchronisation with the other devices of a person.
//!
//! Does not know what travels: that is in `exchange`.

use crate::Service;
use api::sync::{
    SyncExclude, SyncInit, SyncJoin, SyncJoined, SyncLeave, SyncLeft, SyncNow, SyncPreview, SyncPreviewed,
    SyncRemove, SyncRound, SyncStatus, SyncStatusRequest,
};
use api::{Code, Error, Handle, Request};
use config::env::{cloud_variables, host_name};
use exchange::{SpaceSettings, open_space, read_status, settings_of, store_settings, sync_error};
use history::error::no_home;
use history::home::{self, Home};
use history::scope;
use sync::{Phrase, Space};

fn own_home(service: &Service) -> Result<Home, Error> {
    service.home().ok_or_else(no_home)
}

fn joined_settings(home: &Home) -> Result<SpaceSettings, Error> {
    settings_of(home).ok_or_else(|| sync_error(sync::Error::NotJoined))
}

/// A folder is stored as an absolute path: rounds run in any directory.
fn resolve_url(service: &Service, url: &str) -> Result<String, Error> {
    if url.contains("://") {
        return Ok(url.to_string());
    }
    let path = match url.strip_prefix("~/") {
        Some(below) => service.places.home.join(below),
        None => service.cwd.join(url),
    };
    if path.is_dir() {
        return Ok(path.to_string_lossy().into_owned());
    }
    Err(Error::new(Code::InvalidArgument, format!("{} is not a folder", path.display()))
        .hint(format!("mkdir -p {}", path.display())))
}

fn refuse_joined(home: &Home) -> Result<(), Error> {
    if settings_of(home).is_some() {
        return Err(sync_error(sync::Error::AlreadyJoined));
    }
    Ok(())
}

fn finish_joining(
    home: &Home,
    url: String,
    label: String,
    space: &Space,
    phrase: Option<String>,
) -> Result<SyncJoined, Error> {
    store_settings(
        home,
        &SpaceSettings { url: url.clone(), label: label.clone(), ..SpaceSettings::default() },
    )?;
    Ok(SyncJoined { space: space.id().to_string(), label, url, phrase })
}

fn label_of(given: Option<&String>) -> String {
    given.map(|label| label.trim().to_string()).filter(|label| !label.is_empty()).unwrap_or_else(host_name)
}

impl Handle<SyncInit> for Service {
    fn handle(&self, request: &SyncInit) -> Result<SyncJoined, Error> {
        request.check_params()?;
        let (home, url, label) =
            (own_home(self)?, resolve_url(self, &request.url)?, label_of(request.label.as_ref()));
        refuse_joined(&home)?;
        let (space, phrase) = open_space(&home, &url, &cloud_variables(), |folder, store, settings| {
            Space::create(folder, store, &label, settings)
        })?;
        finish_joining(&home, url, label, &space, Some(phrase.to_string()))
    }
}

impl Handle<SyncJoin> for Service {
    fn handle(&self, request: &SyncJoin) -> Result<SyncJoined, Error> {
        request.check_params()?;
        let (home, url, label) =
            (own_home(self)?, resolve_url(self, &request.url)?, label_of(request.label.as_ref()));
        refuse_joined(&home)?;
        let phrase = Phrase::parse(request.phrase.trim()).map_err(sync_error)?;
        let space = open_space(&home, &url, &cloud_variables(), |folder, store, settings| {
            Space::recover(folder, store, &phrase, &label, settings)
        })?;
        finish_joining(&home, url, label, &space, None)
    }
}

impl Handle<SyncNow> for Service {
    fn handle(&self, request: &SyncNow) -> Result<SyncRound, Error> {
        request.check_params()?;
        let home = own_home(self)?;
        let mut settings = joined_settings(&home)?;
        if !settings.started {
            settings.started = true;
            store_settings(&home, &settings)?;
        }
        exchange::run_round(&self.history(), &cloud_variables())
    }
}

impl Service {
    /// Runs a round, if this device belongs to a space and a person has run the first one. A failure is kept for `sync status`.
    pub fn sync_if_started(&self) -> Result<(), Error> {
        let home = own_home(self)?;
        if !settings_of(&home).is_some_and(|settings| settings.started) {
            return Ok(());
        }
        let done = exchange::run_round(&self.history(), &cloud_variables()).map(|_| ());
        exchange::keep_failure(&home, done.as_ref().err());
        done
    }
}

impl Handle<SyncPreview> for Service {
    fn handle(&self, request: &SyncPreview) -> Result<SyncPreviewed, Error> {
        request.check_params()?;
        exchange::preview(&self.history(), request.limit)
    }
}

fn open_joined(home: &Home) -> Result<(SpaceSettings, Space), Error> {
    let settings = joined_settings(home)?;
    let space = open_space(home, &settings.url, &cloud_variables(), Space::open)?;
    Ok((settings, space))
}

impl Handle<SyncStatusRequest> for Service {
    fn handle(&self, request: &SyncStatusRequest) -> Result<SyncStatus, Error> {
        request.check_params()?;
        let home = own_home(self)?;
        let (settings, space) = open_joined(&home)?;
        read_status(&home, settings, &space)
    }
}

impl Handle<SyncExclude> for Service {
    fn handle(&self, request: &SyncExclude) -> Result<SyncStatus, Error> {
        request.check_params()?;
        let home = own_home(self)?;
        let (mut settings, space) = open_joined(&home)?;
        // An agent records the folder as it was opened, which may be by a link.
        let typed = self.cwd.join(&request.project);
        let names = [scope::canonical_path(&typed), typed].map(|path| path.to_string_lossy().into_owned());
        exchange::exclude_project(&home, &mut settings, &space, &names, request.undo)?;
        read_status(&home, settings, &space)
    }
}

impl Handle<SyncRemove> for Service {
    fn handle(&self, request: &SyncRemove) -> Result<SyncStatus, Error> {
        request.check_params()?;
        let home = own_home(self)?;
        let (settings, mut space) = open_joined(&home)?;
        for member in exchange::find_members(&space, &request.device)? {
            space.remove_member(&member).map_err(sync_error)?;
        }
        read_status(&home, settings, &space)
    }
}

impl Handle<SyncLeave> for Service {
    fn handle(&self, request: &SyncLeave) -> Result<SyncLeft, Error> {
        request.check_params()?;
        let home = own_home(self)?;
        let settings = joined_settings(&home)?;
        let folder = home.sync();
        std::fs::remove_dir_all(&folder).map_err(|error| home::unwritable(&folder, &error))?;
        Ok(SyncLeft { url: settings.url })
    }
}
