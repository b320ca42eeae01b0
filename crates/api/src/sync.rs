//! Synchronising archive and memory with the other devices of a person, and sharing parts of them with a team.
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

const TEAM: Param = param("team", Shape::Text, "NAME", "The team, as this device calls it");

/// The name of a team is part of a path.
fn check_team(team: Option<&String>) -> Result<(), Error> {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match team {
        Some(team) if team.is_empty() || team.len() > 40 || !team.chars().all(is_letter) => {
            let message = format!("invalid team name `{team}`");
            Err(Error::new(Code::InvalidArgument, message)
                .hint("letters, digits, `-` and `_`, for example: core-team"))
        }
        _ => Ok(()),
    }
}

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
    params: &[
        param("url", Shape::Text, "URL", URL_ABOUT),
        LABEL,
        param("team", Shape::Text, "NAME", "Start a space for a team, in which only what you share is seen"),
    ],
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
    pub team: Option<String>,
}

impl Request for SyncInit {
    const OPERATION: &'static Operation = &INIT;
    type Response = SyncJoined;

    fn check_params(&self) -> Result<(), Error> {
        check_team(self.team.as_ref())?;
        check_present(&self.url, "URL", INIT.example)
    }
}

pub const JOIN: Operation = Operation {
    words: Some(Positional {
        value: "URL",
        about: "The URL that the first device was given and, for a team, the invitation. The recovery phrase is read from standard input",
        into: &["url", "phrase"],
        number: Number::InTurn,
    }),
    params: &[
        param("url", Shape::Text, "URL", URL_ABOUT),
        param(
            "phrase",
            Shape::Text,
            "INVITATION",
            "The invitation of a team; the recovery phrase is read from standard input only",
        ),
        LABEL,
        param("team", Shape::Text, "NAME", "Join a team: without an invitation, ask for one"),
    ],
    required: &["url"],
    ..operation(
        ("sync_join", "sync join", "loci sync join ~/Dropbox/loci"),
        "Join the space that another device of yours has started",
        "the space and the name of this device; of a team without an invitation, the request for its administrator",
        schema_properties::<SyncJoin>,
    )
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SyncJoin {
    pub url: String,
    pub phrase: String,
    pub label: Option<String>,
    pub team: Option<String>,
}

impl Request for SyncJoin {
    const OPERATION: &'static Operation = &JOIN;
    type Response = SyncJoined;

    fn check_params(&self) -> Result<(), Error> {
        check_team(self.team.as_ref())?;
        check_present(&self.url, "URL", JOIN.example)?;
        match self.team {
            Some(_) => Ok(()),
            None => check_present(&self.phrase, "recovery phrase", JOIN.example),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SyncJoined {
    /// Empty as long as this device has only asked to join.
    pub space: String,
    pub label: String,
    pub url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    /// What the administrator of the team needs for `loci sync admit`. It contains no secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// Of a team on a folder: what keeps other users of this machine from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// Of a new space: whoever has it can read everything in the space.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phrase: Option<String>,
}

impl Response for SyncJoined {}

pub const ADMIT: Operation = Operation {
    words: Some(Positional {
        value: "REQUEST",
        about: "What `loci sync join` has printed on the other device",
        into: &["request"],
        number: Number::One,
    }),
    params: &[
        param("request", Shape::Text, "REQUEST", "What `loci sync join` has printed on the other device"),
        TEAM,
        param(
            "role",
            Shape::Choice(ROLES),
            "ROLE",
            "reader: receives only; writer: shares as well; administrator: admits and removes others [default: writer]",
        ),
    ],
    required: &["request"],
    ..operation(
        ("sync_admit", "sync admit", "loci sync admit 4c534a31… --team core"),
        "Admit a person's device to a team",
        "the invitation for the other device, which contains no secret",
        schema_properties::<SyncAdmit>,
    )
};

pub const ROLES: &[&str] = &["reader", "writer", "administrator"];

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SyncAdmit {
    pub request: String,
    pub team: Option<String>,
    pub role: String,
}

impl Default for SyncAdmit {
    fn default() -> SyncAdmit {
        SyncAdmit { request: String::new(), team: None, role: "writer".to_string() }
    }
}

impl Request for SyncAdmit {
    const OPERATION: &'static Operation = &ADMIT;
    type Response = SyncAdmitted;

    fn check_params(&self) -> Result<(), Error> {
        check_team(self.team.as_ref())?;
        if !ROLES.contains(&self.role.as_str()) {
            return Err(Error::new(Code::InvalidArgument, format!("invalid `role`: `{}`", self.role))
                .hint(format!("one of: {}", ROLES.join(", "))));
        }
        check_present(&self.request, "request", ADMIT.example)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SyncAdmitted {
    pub team: String,
    pub url: String,
    /// The name that the new member gave itself.
    pub label: String,
    pub role: String,
    pub invitation: String,
}

impl Response for SyncAdmitted {}

// ---- sharing with a team

const ITEMS: &str = "Facts and sessions by ID, or project folders for all reviewed facts that they have now";

pub const SHARE: Operation = Operation {
    words: Some(Positional { value: "ITEM", about: ITEMS, into: &["items"], number: Number::Several }),
    params: &[
        param("items", Shape::List, "ITEMS", ITEMS),
        TEAM,
        param("with_tools", Shape::Flag, "", "Share the tool calls of sessions as well, with their output"),
        param("dry_run", Shape::Flag, "", "Show what would be shared"),
    ],
    required: &["items"],
    ..operation(
        ("sync_share", "sync share", "loci sync share f-3b21c0ffee12 --team core"),
        "Share facts or sessions with a team, after you have seen them",
        "exactly what the next round sends, item by item",
        schema_properties::<SyncShare>,
    )
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SyncShare {
    pub items: Vec<String>,
    pub team: Option<String>,
    pub with_tools: bool,
    pub dry_run: bool,
}

impl Request for SyncShare {
    const OPERATION: &'static Operation = &SHARE;
    type Response = SyncShared;

    fn check_params(&self) -> Result<(), Error> {
        check_team(self.team.as_ref())?;
        check_items(&self.items, SHARE.example)
    }
}

fn check_items(items: &[String], example: &str) -> Result<(), Error> {
    if items.iter().all(|item| item.trim().is_empty()) {
        return Err(Error::new(Code::InvalidArgument, "missing fact, session or project").hint(example));
    }
    Ok(())
}

pub const UNSHARE: Operation = Operation {
    words: Some(Positional { value: "ITEM", about: ITEMS, into: &["items"], number: Number::Several }),
    params: &[param("items", Shape::List, "ITEMS", ITEMS), TEAM],
    required: &["items"],
    ..operation(
        ("sync_unshare", "sync unshare", "loci sync unshare f-3b21c0ffee12 --team core"),
        "Withdraw what you have shared: it leaves the storage, and the reviews of others",
        "what the next round withdraws; what others have accepted stays with them",
        schema_properties::<SyncUnshare>,
    )
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SyncUnshare {
    pub items: Vec<String>,
    pub team: Option<String>,
}

impl Request for SyncUnshare {
    const OPERATION: &'static Operation = &UNSHARE;
    type Response = SyncShared;

    fn check_params(&self) -> Result<(), Error> {
        check_team(self.team.as_ref())?;
        check_items(&self.items, UNSHARE.example)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SyncShared {
    pub team: String,
    pub items: Vec<SyncItem>,
    /// Items that are withdrawn, not shared.
    #[serde(skip_serializing_if = "crate::search::is_false")]
    pub withdrawn: bool,
    #[serde(skip_serializing_if = "crate::search::is_false")]
    pub dry_run: bool,
}

impl Response for SyncShared {
    fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    fn is_pending(&self) -> bool {
        !self.items.is_empty()
    }
}

/// A fact or a session that is shared with a team.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SyncItem {
    pub id: String,
    /// `fact` or `session`.
    pub kind: String,
    /// The text of a fact, as it is sent; the title of a session.
    pub text: String,
    /// The project as others see it: the remote of its repository, or the name of its folder.
    pub project: String,
    /// Of a session: messages and tool calls.
    #[serde(skip_serializing_if = "is_zero")]
    pub messages: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub calls: u64,
    /// Before compression and encryption.
    pub bytes: u64,
    /// Who shares it; none for what this device shares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature that serde asks for
fn is_zero(n: &u64) -> bool {
    *n == 0
}

pub const TAKE: Operation = Operation {
    words: Some(Positional {
        value: "SESSION",
        about: "The ID of a session that a member shares",
        into: &["session"],
        number: Number::One,
    }),
    params: &[param("session", Shape::Text, "SESSION", "The ID of a session that a member shares"), TEAM],
    required: &["session"],
    ..operation(
        ("sync_take", "sync take", "loci sync take 975e66ab --team core"),
        "Take over a session that a member of a team shares, so that it is searched and read like yours",
        "the session, with the member that it came from",
        schema_properties::<SyncTake>,
    )
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SyncTake {
    pub session: String,
    pub team: Option<String>,
}

impl Request for SyncTake {
    const OPERATION: &'static Operation = &TAKE;
    type Response = SyncTaken;

    fn check_params(&self) -> Result<(), Error> {
        check_team(self.team.as_ref())?;
        check_present(&self.session, "session", TAKE.example)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SyncTaken {
    pub team: String,
    pub session: SyncItem,
}

impl Response for SyncTaken {}

// ---- rounds

pub const NOW: Operation = Operation {
    params: &[param(
        "team",
        Shape::Text,
        "NAME",
        "Only with this team [default: your devices and all teams]",
    )],
    ..operation(
        ("sync_now", "sync now", "loci sync now"),
        "Send what is new on this device, and receive what is new on the others",
        "numbers of records sent and received, and what was noticed about the storage",
        schema_properties::<SyncNow>,
    )
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SyncNow {
    pub team: Option<String>,
}

impl Request for SyncNow {
    const OPERATION: &'static Operation = &NOW;
    type Response = SyncRound;

    fn check_params(&self) -> Result<(), Error> {
        check_team(self.team.as_ref())
    }
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
    /// Of teams: facts of others that wait for your review, and sessions that can be taken.
    pub suggested: u64,
    pub offered: u64,
    /// Facts that you have accepted and that their authors have withdrawn. They stay.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub withdrawn: Vec<String>,
    /// Records in the name of another member: ignored.
    #[serde(skip_serializing_if = "is_zero")]
    pub refused: u64,
    /// Objects that the storage had lost of this device, and that were published again.
    #[serde(skip_serializing_if = "is_zero")]
    pub repaired: u64,
    /// Received records that could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<SyncFinding>,
    /// Requests that a round without news takes. Decides how often the daemon runs one; not shown.
    #[serde(skip)]
    pub lists: u64,
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
    params: &[
        param("limit", Shape::Count, "N", "Transcripts or items to list [default: 50]"),
        param("team", Shape::Text, "NAME", "What the next round sends to this team"),
    ],
    read_only: true,
    ..operation(
        ("sync_preview", "sync preview", "loci sync preview --limit 20"),
        "Show what the next round would send",
        "transcripts with project, title and size, and the number of sessions and facts of memory; of a team, each item",
        schema_properties::<SyncPreview>,
    )
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SyncPreview {
    pub limit: u64,
    pub team: Option<String>,
}

impl Default for SyncPreview {
    fn default() -> SyncPreview {
        SyncPreview { limit: 50, team: None }
    }
}

impl Request for SyncPreview {
    const OPERATION: &'static Operation = &PREVIEW;
    type Response = SyncPreviewed;

    fn check_params(&self) -> Result<(), Error> {
        check_team(self.team.as_ref())
    }
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
    /// Of a team: what is shared with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<SyncItem>,
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
    params: &[TEAM],
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
pub struct SyncStatusRequest {
    pub team: Option<String>,
}

impl Request for SyncStatusRequest {
    const OPERATION: &'static Operation = &STATUS;
    type Response = SyncStatus;

    fn check_params(&self) -> Result<(), Error> {
        check_team(self.team.as_ref())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SyncStatus {
    pub space: String,
    pub url: String,
    pub label: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    /// The teams that this device belongs to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub teams: Vec<String>,
    /// Of a team: what this device shares, and the sessions of others that can be taken.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<SyncItem>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub offered: Vec<SyncItem>,
    /// Records that wait to be sent.
    pub pending: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub excluded: Vec<String>,
    pub devices: Vec<SyncDevice>,
    /// Why the last round failed.
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
    params: &[TEAM],
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
pub struct SyncDevicesRequest {
    pub team: Option<String>,
}

impl Request for SyncDevicesRequest {
    const OPERATION: &'static Operation = &DEVICES;
    type Response = SyncDevices;

    fn check_params(&self) -> Result<(), Error> {
        check_team(self.team.as_ref())
    }
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
    params: &[param("device", Shape::Text, "DEVICE", "Name or identifier of the device"), TEAM],
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
    pub team: Option<String>,
}

impl Request for SyncRemove {
    const OPERATION: &'static Operation = &REMOVE;
    type Response = SyncStatus;

    fn check_params(&self) -> Result<(), Error> {
        check_team(self.team.as_ref())?;
        check_present(&self.device, "device", REMOVE.example)
    }
}

pub const REKEY: Operation = Operation {
    params: &[TEAM],
    ..operation(
        ("sync_rekey", "sync rekey", "loci sync rekey"),
        "Replace the recovery phrase: the former one opens nothing that is written from now on",
        "the new recovery phrase, which is shown once",
        schema_properties::<SyncRekey>,
    )
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SyncRekey {
    pub team: Option<String>,
}

impl Request for SyncRekey {
    const OPERATION: &'static Operation = &REKEY;
    type Response = SyncRekeyed;

    fn check_params(&self) -> Result<(), Error> {
        check_team(self.team.as_ref())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SyncRekeyed {
    pub url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    /// Whoever has it can read everything in the space.
    pub phrase: String,
}

impl Response for SyncRekeyed {}

pub const CHECK: Operation = Operation {
    params: &[
        param("read", Shape::Flag, "", "Read every object and compare its content, not only its name"),
        param(
            "repair",
            Shape::Flag,
            "",
            "Publish again what is missing of this device, also into a storage that was emptied",
        ),
        TEAM,
    ],
    ..operation(
        ("sync_check", "sync check", "loci sync check --read"),
        "Check that the storage has everything that the devices have published",
        "the number of objects that should be there, and each that is missing or damaged",
        schema_properties::<SyncCheck>,
    )
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SyncCheck {
    pub read: bool,
    pub repair: bool,
    pub team: Option<String>,
}

impl Request for SyncCheck {
    const OPERATION: &'static Operation = &CHECK;
    type Response = SyncChecked;

    fn check_params(&self) -> Result<(), Error> {
        check_team(self.team.as_ref())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SyncChecked {
    /// Packs, heads and member lists that should be there.
    pub objects: u64,
    /// Bytes that were read and compared.
    pub bytes: u64,
    /// Objects of this device that were published again.
    #[serde(skip_serializing_if = "is_zero")]
    pub repaired: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<SyncFinding>,
}

impl Response for SyncChecked {
    fn is_incomplete(&self) -> bool {
        !self.findings.is_empty()
    }
}

pub const LEAVE: Operation = Operation {
    params: &[TEAM],
    ..operation(
        ("sync_leave", "sync leave", "loci sync leave"),
        "Stop synchronising this device; what it has received stays",
        "the storage that was left",
        schema_properties::<SyncLeave>,
    )
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SyncLeave {
    pub team: Option<String>,
}

impl Request for SyncLeave {
    const OPERATION: &'static Operation = &LEAVE;
    type Response = SyncLeft;

    fn check_params(&self) -> Result<(), Error> {
        check_team(self.team.as_ref())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SyncLeft {
    pub url: String,
    /// What a device that joins again has to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

impl Response for SyncLeft {}
