//! The space as this device knows it: its devices, what waits to be sent, and what was noticed about the storage.
//!
//! Contacts nothing.

use crate::known::Known;
use crate::origins::Origins;
use crate::settings::{Place, SpaceSettings, sync_error};
use api::Error;
use api::sync::{SyncDevice, SyncFinding, SyncStatus};
use history::home::Home;
use std::collections::BTreeMap;
use sync::{DeviceStatus, Finding, Space};

pub(crate) fn read_status(
    home: &Home,
    place: &Place,
    settings: SpaceSettings,
    space: &Space,
) -> Result<SyncStatus, Error> {
    let status = space.status().map_err(sync_error)?;
    let exchanged = Exchanged {
        transcripts: match place.team {
            // Teams exchange no transcripts.
            Some(_) => BTreeMap::new(),
            None => Known::open(home)?.copies_by_device()?.into_iter().collect(),
        },
        received: Origins::load(Some(home)).count_by_device()?,
    };
    Ok(SyncStatus {
        space: status.space.to_string(),
        url: settings.url,
        label: settings.label,
        team: place.team.clone(),
        teams: Place::teams(home).into_iter().filter_map(|place| place.team).collect(),
        pending: status.pending,
        excluded: settings.excluded,
        devices: status.devices.into_iter().map(|one| to_device(one, &exchanged)).collect(),
        failure: std::fs::read_to_string(place.folder.join(FAILURE)).ok().map(|text| text.trim().to_string()),
        findings: status.findings.iter().map(|(finding, _)| to_finding(finding)).collect(),
        ..SyncStatus::default()
    })
}

/// The file that says why the last round failed.
const FAILURE: &str = "failure";

/// Keeps why a round failed, or removes it after one that did not. That another process runs a round is no failure.
pub(crate) fn keep_failure(place: &Place, failure: Option<&Error>) {
    let path = place.folder.join(FAILURE);
    if failure.is_some_and(|error| error.message == sync::Error::Busy.to_string()) {
        return;
    }
    // Best effort: the round itself is what matters.
    let _ = match failure {
        Some(error) => history::home::replace_file(&path, error.message.as_bytes()),
        None => std::fs::remove_file(path),
    };
}

/// What came from each device, and under an empty name what this device has sent.
struct Exchanged {
    transcripts: BTreeMap<String, u64>,
    /// Sessions and facts.
    received: BTreeMap<String, (u64, u64)>,
}

fn to_device(one: DeviceStatus, exchanged: &Exchanged) -> SyncDevice {
    let device = one.device.to_string();
    let sender = if one.is_self { "" } else { &device };
    let (sessions, facts) = exchanged.received.get(&device).copied().unwrap_or_default();
    SyncDevice {
        transcripts: exchanged.transcripts.get(sender).copied().unwrap_or(0),
        sessions,
        facts,
        label: one.label.unwrap_or_default(),
        this: one.is_self,
        written_at: (one.written > 0).then_some(one.written as i64),
        confirmed: one.has_confirmed,
        device,
    }
}

pub(crate) fn to_finding(finding: &Finding) -> SyncFinding {
    SyncFinding { problem: finding.problem.word().to_string(), object: finding.object.clone() }
}

/// The members with this label, or that of the device with this identifier. A machine that joined twice has two.
pub(crate) fn find_members(space: &Space, named: &str) -> Result<Vec<String>, Error> {
    let devices = space.status().map_err(sync_error)?.devices;
    let by_device = devices.iter().filter(|one| one.device.to_string().starts_with(named));
    let mut found: Vec<String> = by_device
        .filter_map(|one| space.author(one.device).ok().flatten())
        .map(|member| member.id())
        .collect();
    let members = space.members();
    found.extend(members.iter().filter(|one| !one.is_recovery && one.label == named).map(sync::Member::id));
    found.sort();
    found.dedup();
    if found.is_empty() {
        return Err(sync_error(sync::Error::UnknownMember(named.to_string())));
    }
    Ok(found)
}
