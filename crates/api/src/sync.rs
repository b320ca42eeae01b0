//! Synchronising archive and memory with the other devices of a person.
//!
//! Does not know storages or encryption.

use crate::operation::{Number, Operation, Positional, Request, Response};
use crate::params::param;
use crate::schema::schema_properties;
use crate::{Code, Error, Param, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const URL_ABOUT: &str = "`s3://bucket/prefix`, `az://container/prefix`, or a folder that your devices share";
const LABEL: Param = param("label", Shape::Text, "NAME", "Name of this device [default: its host name]");

const fn operation(
    (name, command, example): (&'static str, &'static str, &'static str),
    about: &'static str,
    answer: &'static str,
    shapes: fn() -> serde_json::Map<String, serde_json::Value>,
) -> Operation {
    Operation {
        name,
        command,
        about,
        answer,
        example,
        words: None,
        params: &[],
        required: &[],
        shapes,
        handy: &[],
        read_only: false,
        rows: &[],
        stats: &[],
    }
}

const URL_WORD: Positional =
    Positional { value: "URL", about: URL_ABOUT, into: &["url"], number: Number::One };

fn check_present(value: &str, what: &str, example: &str) -> Result<(), Error> {
    if value.trim().is_empty() {
        return Err(Error::new(Code::InvalidArgument, format!("missing {what}")).hint(example));
    }
    Ok(())
}

// ---- init and join

pub const INIT: Operation = Operation {
    words: Some(URL_WORD),
    params: &[param("url", Shape::Text, "URL", URL_ABOUT), LABEL],
    required: &["url"],
    ..operation(
        ("sync_init", "sync init", "loci sync init ~/Dropbox/loci"),
        "Start to synchronise this device through a storage that you have, end-to-end encrypted",
        "the recovery phrase, which is shown once and lets other devices join",
        schema_properties::<SyncInit>,
    )
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SyncInit {
    pub url: String,
    pub label: Option<String>,
}

impl Request for SyncInit {
    const OPERATION: &'static Operation = &INIT;
    type Response = SyncJoined;

    fn check_params(&self) -> Result<(), Error> {
        check_present(&self.url, "URL", INIT.example)
    }
}

pub const JOIN: Operation = Operation {
    words: Some(Positional {
        value: "URL",
        about: "The URL that the first device was given, and the recovery phrase; without a phrase, it is read from standard input",
        into: &["url", "phrase"],
        number: Number::InTurn,
    }),
    params: &[
        param("url", Shape::Text, "URL", URL_ABOUT),
        param("phrase", Shape::Text, "PHRASE", "The recovery phrase; `-` reads it from standard input"),
        LABEL,
    ],
    required: &["url", "phrase"],
    ..operation(
        ("sync_join", "sync join", "loci sync join ~/Dropbox/loci -"),
        "Join the space that another device of yours has started",
        "the space and the name of this device",
        schema_properties::<SyncJoin>,
    )
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SyncJoin {
    pub url: String,
    pub phrase: String,
    pub label: Option<String>,
}

impl Request for SyncJoin {
    const OPERATION: &'static Operation = &JOIN;
    type Response = SyncJoined;

    fn check_params(&self) -> Result<(), Error> {
        check_present(&self.url, "URL", JOIN.example)?;
        check_present(&self.phrase, "recovery phrase", JOIN.example)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SyncJoined {
    pub space: String,
    pub label: String,
    pub url: String,
    /// Of a new space: whoever has it can read everything in the space.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phrase: Option<String>,
}

impl Response for SyncJoined {}

// ---- rounds

pub const NOW: Operation = operation(
    ("sync_now", "sync now", "loci sync now"),
    "Send what is new on this device, and receive what is new on the others",
    "numbers of records sent and received, and what was noticed about the storage",
    schema_properties::<SyncNow>,
);

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SyncNow {}

impl Request for SyncNow {
    const OPERATION: &'static Operation = &NOW;
    type Response = SyncRound;
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SyncRound {
    /// Records that were sent: transcripts, sessions and facts of memory, tombstones.
    pub sent: u64,
    /// Transcripts that were received.
    pub transcripts: u64,
    /// Entries of memory that changed here.
    pub memory: u64,
    /// Sessions that another device has forgotten, and this one now too.
    pub forgotten: u64,
    /// Transcripts that stayed here: their project is excluded, newer rules mask something in them, or they are larger than a record
    /// may be.
    pub excluded: u64,
    pub withheld: u64,
    pub too_large: u64,
    /// Received records that could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<SyncFinding>,
}

impl Response for SyncRound {
    fn is_incomplete(&self) -> bool {
        !self.unreadable.is_empty() || !self.findings.is_empty()
    }
}

/// Something about the storage that is not as it should be. Local data is not affected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SyncFinding {
    /// One word, such as `rollback`, `fork` or `missing-pack`.
    pub problem: String,
    pub object: String,
}

// ---- preview

pub const PREVIEW: Operation = Operation {
    params: &[param("limit", Shape::Count, "N", "Transcripts to list [default: 50]")],
    read_only: true,
    ..operation(
        ("sync_preview", "sync preview", "loci sync preview --limit 20"),
        "Show what the next round would send",
        "transcripts with project, title and size, and the number of sessions and facts of memory",
        schema_properties::<SyncPreview>,
    )
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SyncPreview {
    pub limit: u64,
}

impl Default for SyncPreview {
    fn default() -> SyncPreview {
        SyncPreview { limit: 50 }
    }
}

impl Request for SyncPreview {
    const OPERATION: &'static Operation = &PREVIEW;
    type Response = SyncPreviewed;
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SyncPreviewed {
    pub transcripts: Vec<SyncTranscript>,
    /// All transcripts and their bytes, listed or not.
    pub total: u64,
    pub bytes: u64,
    /// Sessions and facts of memory; those that the storage has already are not sent again.
    pub sessions: u64,
    pub facts: u64,
    /// Transcripts of excluded projects.
    pub excluded: u64,
    /// Records of earlier rounds that could not be sent yet.
    pub pending: u64,
}

impl Response for SyncPreviewed {
    fn is_empty(&self) -> bool {
        self.total + self.sessions + self.facts + self.pending == 0
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SyncTranscript {
    pub source: String,
    pub project: String,
    pub title: String,
    pub bytes: u64,
}

// ---- status

pub const STATUS: Operation = Operation {
    read_only: true,
    ..operation(
        ("sync_status", "sync status", "loci sync status"),
        "Show the devices of the space, what waits to be sent, and what was noticed about the storage",
        "storage, this device, all devices with their last change and whether they have forgotten what you forgot",
        schema_properties::<SyncStatusRequest>,
    )
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SyncStatusRequest {}

impl Request for SyncStatusRequest {
    const OPERATION: &'static Operation = &STATUS;
    type Response = SyncStatus;
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SyncStatus {
    pub space: String,
    pub url: String,
    pub label: String,
    /// Records that wait to be sent.
    pub pending: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub excluded: Vec<String>,
    pub devices: Vec<SyncDevice>,
    /// Why the last round of the daemon failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<SyncFinding>,
}

impl Response for SyncStatus {}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SyncDevice {
    pub device: String,
    /// Empty after its removal.
    pub label: String,
    pub this: bool,
    /// Milliseconds since 1970, by its own clock.
    pub written_at: Option<i64>,
    /// Transcripts here that came from it; of this device, those that it has sent.
    pub transcripts: u64,
    /// Sessions and facts here that came from it.
    pub sessions: u64,
    pub facts: u64,
    /// Whether it has applied everything that this device has forgotten.
    pub confirmed: bool,
}

pub const DEVICES: Operation = Operation {
    read_only: true,
    ..operation(
        ("sync_devices", "sync devices", "loci sync devices"),
        "List the devices of the space, when each wrote last, and what came from it",
        "devices with name, last change, and the number of sessions and facts that came from each",
        schema_properties::<SyncDevicesRequest>,
    )
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SyncDevicesRequest {}

impl Request for SyncDevicesRequest {
    const OPERATION: &'static Operation = &DEVICES;
    type Response = SyncDevices;
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SyncDevices {
    pub devices: Vec<SyncDevice>,
}

impl Response for SyncDevices {
    fn is_empty(&self) -> bool {
        self.devices.is_empty()
    }
}

// ---- members and exclusions

pub const EXCLUDE: Operation = Operation {
    words: Some(Positional {
        value: "PROJECT",
        about: "A project folder; what is below it stays on this device",
        into: &["project"],
        number: Number::One,
    }),
    params: &[
        param("project", Shape::Text, "PROJECT", "A project folder; what is below it stays on this device"),
        param("undo", Shape::Flag, "", "Send the project again"),
    ],
    required: &["project"],
    ..operation(
        ("sync_exclude", "sync exclude", "loci sync exclude ~/work/secret"),
        "Keep the sessions and memory of a project on this device",
        "the excluded projects",
        schema_properties::<SyncExclude>,
    )
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SyncExclude {
    pub project: String,
    pub undo: bool,
}

impl Request for SyncExclude {
    const OPERATION: &'static Operation = &EXCLUDE;
    type Response = SyncStatus;

    fn check_params(&self) -> Result<(), Error> {
        check_present(&self.project, "project", EXCLUDE.example)
    }
}

pub const REMOVE: Operation = Operation {
    words: Some(Positional {
        value: "DEVICE",
        about: "Name or identifier of the device",
        into: &["device"],
        number: Number::One,
    }),
    params: &[param("device", Shape::Text, "DEVICE", "Name or identifier of the device")],
    required: &["device"],
    ..operation(
        ("sync_remove", "sync remove", "loci sync remove laptop"),
        "Remove a device from the space: it can read nothing that is written from now on",
        "the remaining devices",
        schema_properties::<SyncRemove>,
    )
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SyncRemove {
    pub device: String,
}

impl Request for SyncRemove {
    const OPERATION: &'static Operation = &REMOVE;
    type Response = SyncStatus;

    fn check_params(&self) -> Result<(), Error> {
        check_present(&self.device, "device", REMOVE.example)
    }
}

pub const LEAVE: Operation = operation(
    ("sync_leave", "sync leave", "loci sync leave"),
    "Stop synchronising this device; what it has received stays",
    "the storage that was left",
    schema_properties::<SyncLeave>,
);

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SyncLeave {}

impl Request for SyncLeave {
    const OPERATION: &'static Operation = &LEAVE;
    type Response = SyncLeft;
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SyncLeft {
    pub url: String,
}

impl Response for SyncLeft {}
