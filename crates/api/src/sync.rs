//! Synchronising archive and memory with the other devices of a person, and sharing parts of them with a team.
//!
//! Does not know storages or encryption.

use crate::operation::{Operation, Request, Response};
use crate::{Code, Error, Param};
use serde::{Deserialize, Serialize};

const URL: Param = Param::text(
    "url",
    "URL",
    "`s3://bucket/prefix`, `az://container/prefix`, or a folder that your devices share",
);
const LABEL: Param = Param::text("label", "NAME", "Name of this device [default: its host name]");
const TEAM: Param =
    Param { check: Some(check_team), ..Param::text("team", "NAME", "The team, as this device calls it") };
const ITEMS: Param = Param::list(
    "items",
    "ITEMS",
    "Facts and sessions by ID, or project folders for all reviewed facts that they have now",
);

/// The name of a team is part of a path.
fn check_team(_: &str, team: &str) -> Result<(), Error> {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if team.is_empty() || team.len() > 40 || !team.chars().all(is_letter) {
        let message = format!("invalid team name `{team}`");
        return Err(Error::new(Code::InvalidArgument, message)
            .hint("letters, digits, `-` and `_`, for example: core-team"));
    }
    Ok(())
}

// ---- init and join

/// Start syncing through a folder or bucket, end-to-end encrypted
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "sync_init",
    command = "sync init",
    answer = "the recovery phrase, which is shown once and lets other devices join",
    example = "loci sync init ~/Dropbox/loci",
    returns = SyncJoined,
    local,
    phrase = Shown,
)]
pub struct SyncInit {
    #[param(like = URL, required = "URL", word)]
    pub url: String,
    #[param(like = LABEL)]
    pub label: Option<String>,
    /// Start a space for a team, in which only what you share is seen
    #[param(value = "NAME", check = check_team)]
    pub team: Option<String>,
}

/// Join your existing sync
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "sync_join",
    command = "sync join",
    answer = "the space and the name of this device; of a team without an invitation, the request for its administrator",
    example = "loci sync join ~/Dropbox/loci",
    returns = SyncJoined,
    local,
    phrase = Typed,
    second = "recover",
    words(InTurn, "URL", "The URL that the first device was given and, for a team, the invitation. The recovery phrase is read from standard input", into("url", "phrase")),
    check,
)]
pub struct SyncJoin {
    #[param(like = URL, required = "URL")]
    pub url: String,
    /// The invitation of a team; the recovery phrase is read from standard input only
    #[param(value = "INVITATION")]
    pub phrase: String,
    #[param(like = LABEL)]
    pub label: Option<String>,
    /// Join a team: without an invitation, ask for one
    #[param(value = "NAME", check = check_team)]
    pub team: Option<String>,
}

impl SyncJoin {
    fn check(&self) -> Result<(), Error> {
        if self.team.is_none() && self.phrase.trim().is_empty() {
            return Err(
                Error::new(Code::InvalidArgument, "missing recovery phrase").hint(Self::OPERATION.example)
            );
        }
        Ok(())
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

pub const ROLES: &[&str] = &["reader", "writer", "administrator"];

/// Admit a person's device to a team
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "sync_admit",
    command = "sync admit",
    answer = "the invitation for the other device, which contains no secret",
    example = "loci sync admit 4c534a31… --team core",
    returns = SyncAdmitted,
    local,
)]
pub struct SyncAdmit {
    /// What `loci sync join` has printed on the other device
    #[param(value = "REQUEST", required = "request", word)]
    pub request: String,
    #[param(like = TEAM)]
    pub team: Option<String>,
    /// reader: receives only; writer: shares as well; administrator: admits and removes others
    #[param(value = "ROLE", default = "writer", choice = ROLES)]
    pub role: String,
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

/// Share facts or sessions with a team, after you have seen them
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "sync_share",
    command = "sync share",
    answer = "exactly what the next round sends, item by item",
    example = "loci sync share f-3b21c0ffee12 --team core",
    returns = SyncShared,
    local,
    confirm("sharing shows it to others", "Share this?"),
    words(Several, "ITEM", "Facts and sessions by ID, or project folders for all reviewed facts that they have now", into("items")),
    check,
)]
pub struct SyncShare {
    #[param(like = ITEMS, required = "facts or sessions")]
    pub items: Vec<String>,
    #[param(like = TEAM)]
    pub team: Option<String>,
    /// Share the tool calls of sessions as well, with their output
    pub with_tools: bool,
    /// Show what would be shared
    pub dry_run: bool,
}

impl SyncShare {
    fn check(&self) -> Result<(), Error> {
        check_items(&self.items, Self::OPERATION.example)
    }
}

fn check_items(items: &[String], example: &str) -> Result<(), Error> {
    if items.iter().all(|item| item.trim().is_empty()) {
        return Err(Error::new(Code::InvalidArgument, "missing fact, session or project").hint(example));
    }
    Ok(())
}

/// Unshare: remove it from the storage and from teammates' review
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "sync_unshare",
    command = "sync unshare",
    answer = "what the next round withdraws; what others have accepted stays with them",
    example = "loci sync unshare f-3b21c0ffee12 --team core",
    returns = SyncShared,
    local,
    words(Several, "ITEM", "Facts and sessions by ID, or project folders for all reviewed facts that they have now", into("items")),
    check,
)]
pub struct SyncUnshare {
    #[param(like = ITEMS, required = "facts or sessions")]
    pub items: Vec<String>,
    #[param(like = TEAM)]
    pub team: Option<String>,
}

impl SyncUnshare {
    fn check(&self) -> Result<(), Error> {
        check_items(&self.items, Self::OPERATION.example)
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

/// Import a session that a teammate shares
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "sync_take",
    command = "sync take",
    answer = "the session, with the member that it came from",
    example = "loci sync take 975e66ab --team core",
    returns = SyncTaken,
    local,
)]
pub struct SyncTake {
    /// The ID of a session that a member shares
    #[param(value = "SESSION", required = "session", word)]
    pub session: String,
    #[param(like = TEAM)]
    pub team: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SyncTaken {
    pub team: String,
    pub session: SyncItem,
}

impl Response for SyncTaken {}

// ---- rounds

/// Send what is new on this device, and receive what is new on the others
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "sync_now",
    command = "sync now",
    answer = "numbers of records sent and received, and what was noticed about the storage",
    example = "loci sync now",
    returns = SyncRound,
    local,
)]
pub struct SyncNow {
    /// Only with this team [default: your devices and all teams]
    #[param(value = "NAME", check = check_team)]
    pub team: Option<String>,
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

/// Show what the next round would send
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "sync_preview",
    command = "sync preview",
    answer = "transcripts with project, title and size, and the number of sessions and facts of memory; of a team, each item",
    example = "loci sync preview --limit 20",
    returns = SyncPreviewed,
    read_only,
    local,
)]
pub struct SyncPreview {
    /// Transcripts or items to list
    #[param(default = 50)]
    pub limit: u64,
    /// What the next round sends to this team
    #[param(value = "NAME", check = check_team)]
    pub team: Option<String>,
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

/// Show the devices of the space, what waits to be sent, and what was noticed about the storage
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "sync_status",
    command = "sync status",
    answer = "storage, this device, all devices with their last change and whether they have forgotten what you forgot",
    example = "loci sync status",
    returns = SyncStatus,
    read_only,
    local,
)]
pub struct SyncStatusRequest {
    #[param(like = TEAM)]
    pub team: Option<String>,
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

/// List the devices of the space, when each wrote last, and what came from it
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "sync_devices",
    command = "sync devices",
    answer = "devices with name, last change, and the number of sessions and facts that came from each",
    example = "loci sync devices",
    returns = SyncDevices,
    read_only,
    local,
)]
pub struct SyncDevicesRequest {
    #[param(like = TEAM)]
    pub team: Option<String>,
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

/// Keep the sessions and memory of a project on this device
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "sync_exclude",
    command = "sync exclude",
    answer = "the excluded projects",
    example = "loci sync exclude ~/work/secret",
    returns = SyncStatus,
    local,
)]
pub struct SyncExclude {
    /// A project folder; what is below it stays on this device
    #[param(value = "PROJECT", required = "project", word)]
    pub project: String,
    /// Send the project again
    pub undo: bool,
}

/// Remove a device from the space: it can read nothing that is written from now on
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "sync_remove",
    command = "sync remove",
    answer = "the remaining devices",
    example = "loci sync remove laptop",
    returns = SyncStatus,
    local,
)]
pub struct SyncRemove {
    /// Name or identifier of the device
    #[param(value = "DEVICE", required = "device", word)]
    pub device: String,
    #[param(like = TEAM)]
    pub team: Option<String>,
}

/// Replace the recovery phrase: the former one opens nothing that is written from now on
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "sync_rekey",
    command = "sync rekey",
    answer = "the new recovery phrase, which is shown once",
    example = "loci sync rekey",
    returns = SyncRekeyed,
    local,
    phrase = Shown,
)]
pub struct SyncRekey {
    #[param(like = TEAM)]
    pub team: Option<String>,
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

/// Check that the storage has everything that the devices have published
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "sync_check",
    command = "sync check",
    answer = "the number of objects that should be there, and each that is missing or damaged",
    example = "loci sync check --read",
    returns = SyncChecked,
    local,
)]
pub struct SyncCheck {
    /// Read every object and compare its content, not only its name
    pub read: bool,
    /// Publish again what is missing of this device, also into a storage that was emptied
    pub repair: bool,
    #[param(like = TEAM)]
    pub team: Option<String>,
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

/// Stop synchronising this device; what it has received stays
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "sync_leave",
    command = "sync leave",
    answer = "the storage that was left",
    example = "loci sync leave",
    returns = SyncLeft,
    local,
)]
pub struct SyncLeave {
    #[param(like = TEAM)]
    pub team: Option<String>,
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
