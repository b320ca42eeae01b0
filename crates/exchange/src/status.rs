//! The space as this device knows it: its devices, what waits to be sent, and what was noticed about the storage.
//!
//! Contacts nothing.

use crate::known::Known;
use crate::settings::{SpaceSettings, sync_error};
use api::Error;
use api::sync::{SyncDevice, SyncFinding, SyncStatus};
use history::home::Home;
use std::collections::BTreeMap;
use sync::{DeviceStatus, Finding, Space};

pub fn read_status(home: &Home, settings: SpaceSettings, space: &Space) -> Result<SyncStatus, Error> {
    let status = space.status().map_err(sync_error)?;
    let received: BTreeMap<String, u64> = Known::open(home)?.received_by_device()?.into_iter().collect();
    Ok(SyncStatus {
        space: status.space.to_string(),
        url: settings.url,
        label: settings.label,
        pending: status.pending,
        excluded: settings.excluded,
        devices: status.devices.into_iter().map(|one| to_device(one, &received)).collect(),
        failure: std::fs::read_to_string(home.sync().join(FAILURE)).ok().map(|text| text.trim().to_string()),
        findings: status.findings.iter().map(|(finding, _)| to_finding(finding)).collect(),
    })
}

/// The file that says why the last round of the daemon failed.
const FAILURE: &str = "failure";

/// Keeps why a round in the background failed, or removes it after one that did not.
pub fn keep_failure(home: &Home, failure: Option<&Error>) {
    let path = home.sync().join(FAILURE);
    // Best effort: the round itself is what matters.
    let _ = match failure {
        Some(error) => history::home::replace_file(&path, error.message.as_bytes()),
        None => std::fs::remove_file(path),
    };
}

fn to_device(one: DeviceStatus, received: &BTreeMap<String, u64>) -> SyncDevice {
    let device = one.device.to_string();
    SyncDevice {
        transcripts: received.get(&device).copied().unwrap_or(0),
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
pub fn find_members(space: &Space, named: &str) -> Result<Vec<String>, Error> {
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
