//! What keeps Loci itself in order: its index, its archive, its health, the secrets in the histories, and what is
//! to be forgotten.
//!
//! Does not know where any of it lies. The value of a secret never passes through here.

use crate::operation::{Number, Operation, Request, Response, Words};
use crate::params::{PROJECT, SOURCE, is_time, param};
use crate::resolve_ids::ChatId;
use crate::schema::properties;
use crate::{Code, Error, Exit, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

// ---- index

pub const INDEX: Operation = Operation {
    name: "index",
    command: "index",
    about: "Bring the index up to date with the histories, or make it again",
    answer: "what was read and what the index holds now",
    example: "loci index",
    words: None,
    params: &[param("rebuild", Shape::Flag, "", "Throw the index away and read everything again")],
    required: &[],
    shapes: properties::<Index>,
    handy: &[],
    read_only: false,
    rows: &[],
    stats: &[],
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Index {
    pub rebuild: bool,
}

impl Request for Index {
    const OPERATION: &'static Operation = &INDEX;
    type Response = Indexed;
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Indexed {
    /// What the index holds now.
    pub files: u64,
    pub sessions: u64,
    pub events: u64,
    /// Transcripts that were new, had changed, or are no longer there.
    pub added: u64,
    pub changed: u64,
    pub gone: u64,
    pub bytes_read: u64,
    pub index_bytes: u64,
    pub catalogue_bytes: u64,
    pub archive_bytes: u64,
    /// In how many places something could not be read.
    pub problems: u64,
    /// What was damaged or outdated and has been made again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    pub seconds: f64,
}

impl Response for Indexed {
    fn is_incomplete(&self) -> bool {
        self.problems > 0
    }
}

// ---- archive

pub const ARCHIVE: Operation = Operation {
    name: "archive",
    command: "archive",
    about: "Show what is kept of histories that agents delete, and prune it",
    answer: "how much is kept, the largest first, and what was removed",
    example: "loci archive --prune-to 2G --dry-run",
    words: None,
    params: &[
        param("prune_to", Shape::Text, "SIZE", "Remove the oldest until no more than this is kept: 500M, 2G"),
        param("older_than", Shape::Text, "TIME", "Remove what is older than this: 365d, 2025-01-01"),
        param("dry_run", Shape::Flag, "", "Only say what would be removed"),
    ],
    required: &[],
    shapes: properties::<ArchiveRequest>,
    handy: &[],
    read_only: false,
    rows: &[],
    stats: &[],
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ArchiveRequest {
    pub prune_to: Option<String>,
    pub older_than: Option<String>,
    pub dry_run: bool,
}

impl Request for ArchiveRequest {
    const OPERATION: &'static Operation = &ARCHIVE;
    type Response = Archived;

    fn check(&self) -> Result<(), Error> {
        if let Some(text) = self.prune_to.as_deref().filter(|text| bytes(text).is_none()) {
            return Err(Error::new(
                Code::InvalidArgument,
                format!("`prune_to` does not understand `{text}`"),
            )
            .hint("a size is a number and K, M, G or T, as in 2G"));
        }
        if self.dry_run && self.prune_to.is_none() && self.older_than.is_none() {
            return Err(Error::new(
                Code::InvalidArgument,
                "`dry_run` is about removing, and nothing is to be removed",
            )
            .hint(ARCHIVE.example));
        }
        is_time("older_than", self.older_than.as_deref())
    }
}

/// How many bytes `2G`, `1.5GB`, `500 MiB` or `1024` are; a thousand is 1024 here.
pub fn bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = (text[..end].parse::<f64>().ok()?, text[end..].trim().to_ascii_lowercase());
    let unit = unit.strip_suffix("ib").or_else(|| unit.strip_suffix('b')).unwrap_or(&unit);
    let power = ["", "k", "m", "g", "t"].iter().position(|known| *known == unit)?;
    let size = number * 1024_f64.powi(power as i32);
    (size.is_finite() && size < 1e18).then_some(size as u64)
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Archived {
    pub files: u64,
    pub entries: u64,
    pub bytes: u64,
    /// How many bytes it may grow to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest: Option<i64>,
    /// The largest, at most twenty.
    pub kept: Vec<Kept>,
    /// What was removed or, in a dry run, would be.
    pub removed: Vec<Kept>,
    #[serde(skip_serializing_if = "crate::search::is_false")]
    pub dry_run: bool,
}

impl Response for Archived {}

/// One transcript in the archive.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Kept {
    pub chat_id: String,
    pub source: String,
    pub file: String,
    pub bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest: Option<i64>,
}

// ---- doctor

pub const DOCTOR: Operation = Operation {
    name: "doctor",
    command: "doctor",
    about: "Check that everything Loci needs is in order, and say what to do where it is not",
    answer: "one finding for each check; what is a problem makes the command fail. With `bundle` also where the file was written",
    example: "loci doctor",
    words: None,
    params: &[param(
        "bundle",
        Shape::Text,
        "FILE",
        "Also write a tar for a report of a defect: versions, figures, findings, settings and the daemon's last lines, with \
         secrets and your home masked; nothing that was said",
    )],
    required: &[],
    shapes: properties::<DoctorRequest>,
    handy: &[],
    read_only: true,
    rows: &["findings"],
    stats: &["severity"],
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DoctorRequest {
    pub bundle: Option<String>,
}

impl Request for DoctorRequest {
    const OPERATION: &'static Operation = &DOCTOR;
    type Response = Checkup;

    fn check(&self) -> Result<(), Error> {
        if self.bundle.as_deref() == Some("") {
            return Err(Error::new(Code::InvalidArgument, "`--bundle` needs a file to write")
                .hint("loci doctor --bundle loci-report.tar"));
        }
        Ok(())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Checkup {
    pub findings: Vec<Finding>,
    /// The file that was written for a report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bundle: Option<String>,
}

impl Response for Checkup {
    fn exit(&self) -> Exit {
        let problem = self.findings.iter().any(|finding| finding.severity == Severity::Problem);
        if problem { Exit::Failed } else { Exit::Found }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Finding {
    pub check: String,
    pub severity: Severity,
    pub message: String,
    /// Something one can type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    #[default]
    Ok,
    Warning,
    Problem,
}

// ---- secrets

pub const SECRETS: Operation = Operation {
    name: "secrets",
    command: "secrets",
    about: "Say which kinds of secrets stand in the histories, and where; never what they are",
    answer: "kinds, the most frequent first; then places, the latest first",
    example: "loci secrets --project . --limit 10",
    words: None,
    params: &[
        PROJECT,
        SOURCE,
        param("kind", Shape::List, "KIND", "Only these kinds, as the answer names them"),
        param("limit", Shape::Count, "N", "At most this many places [default: 50]"),
    ],
    required: &[],
    shapes: properties::<SecretsRequest>,
    handy: &[],
    read_only: true,
    rows: &["found"],
    stats: &["kind"],
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SecretsRequest {
    pub project: Option<String>,
    pub source: Vec<String>,
    pub kind: Vec<String>,
    pub limit: u64,
}

impl Default for SecretsRequest {
    fn default() -> SecretsRequest {
        SecretsRequest { project: None, source: Vec::new(), kind: Vec::new(), limit: 50 }
    }
}

impl Request for SecretsRequest {
    const OPERATION: &'static Operation = &SECRETS;
    type Response = Secrets;
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Secrets {
    pub found: Vec<SecretKind>,
    pub places: Vec<SecretPlace>,
    /// Records, lines and transcripts that could not be read, and so were not searched.
    pub unread: u64,
}

impl Response for Secrets {
    fn is_empty(&self) -> bool {
        self.found.is_empty()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SecretKind {
    pub kind: String,
    /// How often it occurs.
    pub count: u64,
    /// In how many conversations.
    pub chats: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SecretPlace {
    pub chat_id: String,
    pub message_id: String,
    pub source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The transcript it stands in.
    pub file: String,
    pub kind: String,
    pub created_at: Option<i64>,
}

// ---- forget

pub const FORGET: Operation = Operation {
    name: "forget",
    command: "forget",
    about: "Take conversations out of everything Loci keeps, for good; the agents' own histories stay as they are",
    answer: "the conversations that were forgotten, or would be",
    example: "loci forget 975e66ab --dry-run",
    words: Some(Words {
        value: "ID",
        about: "A conversation's id, or the beginning of it",
        into: &["chat_ids"],
        number: Number::Several,
    }),
    params: &[
        param("chat_ids", Shape::List, "IDS", "These conversations: their ids, or the beginnings of them"),
        param("project", Shape::Text, "PATH", "Every conversation of this project, or below it"),
        param("matching", Shape::Text, "TEXT", "Every conversation in which this text stands"),
        param("dry_run", Shape::Flag, "", "Only say what would be forgotten"),
    ],
    required: &[],
    shapes: properties::<ForgetRequest>,
    handy: &[],
    read_only: false,
    rows: &[],
    stats: &[],
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ForgetRequest {
    pub chat_ids: Vec<String>,
    pub project: Option<String>,
    pub matching: Option<String>,
    pub dry_run: bool,
}

impl Request for ForgetRequest {
    const OPERATION: &'static Operation = &FORGET;
    type Response = Forgotten;

    fn check(&self) -> Result<(), Error> {
        let invalid = |message: &str| Err(Error::new(Code::InvalidArgument, message).hint(FORGET.example));
        let texts = [&self.project, &self.matching].into_iter().flatten().chain(&self.chat_ids);
        if texts.clone().any(|text| text.trim().is_empty()) {
            return invalid("an id, `project` or `matching` is empty, which could mean everything");
        }
        let ways = [!self.chat_ids.is_empty(), self.project.is_some(), self.matching.is_some()];
        match ways.iter().filter(|given| **given).count() {
            0 => invalid("what is to be forgotten? Give ids, a project or a text"),
            1 => Ok(()),
            _ => invalid("ids, `project` and `matching` are three ways to say what: give one of them"),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Forgotten {
    pub chats: Vec<ChatId>,
    pub events: u64,
    pub archive_files: u64,
    pub bytes: u64,
    #[serde(skip_serializing_if = "crate::search::is_false")]
    pub dry_run: bool,
    /// With `matching`: records, lines and transcripts that could not be read, and so were not searched.
    pub unread: u64,
}

impl Response for Forgotten {
    fn is_empty(&self) -> bool {
        self.chats.is_empty() && self.events == 0
    }
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, size) in [
            ("1024", Some(1024)),
            ("2G", Some(2 << 30)),
            ("1.5 MB", Some(3 << 19)),
            ("500MiB", Some(500 << 20)),
            ("7k", Some(7 << 10)),
            ("", None),
            ("G", None),
            ("-1G", None),
            ("2X", None),
            ("1e40T", None),
        ] {
            assert_eq!(bytes(text), size, "{text}");
        }
    }
}
