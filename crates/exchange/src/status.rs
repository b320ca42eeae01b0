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
        findings: status.findings.iter().map(|(finding, _)| to_finding(finding)).collect(),
    })
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
