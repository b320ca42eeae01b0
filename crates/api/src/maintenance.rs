//! Maintenance: the index, the archive, health checks, secrets in transcripts, and forgetting sessions.
//!
//! Does not know where any of it is stored. The value of a secret never passes through here.

use crate::operation::{Operation, Request, Response};
use crate::params::{PROJECT, SOURCE, check_not_blank};
use crate::resolve_ids::ChatId;
use crate::{Code, Error, Exit};
use serde::{Deserialize, Serialize};

// ---- index

/// Update or rebuild the transcript index
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "index",
    command = "index",
    answer = "the transcripts and bytes read, and the size of the index",
    example = "loci index",
    returns = Indexed,
)]
pub struct Index {
    /// Delete the index and read all transcripts again
    pub rebuild: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Indexed {
    /// What the index contains now.
    pub files: u64,
    pub sessions: u64,
    pub events: u64,
    /// Transcripts that are new, changed or deleted.
    pub added: u64,
    pub changed: u64,
    pub gone: u64,
    pub bytes_read: u64,
    pub index_bytes: u64,
    pub catalogue_bytes: u64,
    pub archive_bytes: u64,
    /// The number of places that could not be read.
    pub problems: u64,
    /// What was damaged or outdated and has been rebuilt.
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

/// Show or prune the archive: Loci's copies of transcripts
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "archive",
    command = "archive",
    answer = "the size of the archive, its largest transcripts, and those that were deleted, or would be with --dry-run",
    example = "loci archive --prune-to 2G --dry-run",
    returns = Archived,
    check,
)]
pub struct ArchiveRequest {
    /// Delete the oldest archived transcripts until the archive is at most this large: 500M, 2G
    #[param(value = "SIZE", check = check_size)]
    pub prune_to: Option<String>,
    /// Delete archived transcripts older than this: 365d, 2025-01-01
    #[param(value = "TIME")]
    pub older_than: Option<String>,
    /// Show what would be deleted
    pub dry_run: bool,
}

impl ArchiveRequest {
    fn check(&self) -> Result<(), Error> {
        if self.dry_run && self.prune_to.is_none() && self.older_than.is_none() {
            return Err(Error::new(Code::InvalidArgument, "`dry_run` needs `prune_to` or `older_than`")
                .hint(Self::OPERATION.example));
        }
        Ok(())
    }
}

fn check_size(name: &str, text: &str) -> Result<(), Error> {
    if parse_size(text).is_some() {
        return Ok(());
    }
    Err(Error::new(Code::InvalidArgument, format!("invalid size for `{name}`: `{text}`"))
        .hint("use a number and K, M, G or T, for example 2G"))
}

/// Parses a size such as `2G`, `1.5GB`, `500 MiB` or `1024`; all units are powers of 1024.
pub fn parse_size(text: &str) -> Option<u64> {
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
    /// The maximum size in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest: Option<i64>,
    /// The largest, at most twenty.
    pub kept: Vec<ArchivedTranscript>,
    /// What was deleted or, in a dry run, would be.
    pub removed: Vec<ArchivedTranscript>,
    #[serde(skip_serializing_if = "crate::search::is_false")]
    pub dry_run: bool,
}

impl Response for Archived {}

/// One transcript in the archive.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ArchivedTranscript {
    pub chat_id: String,
    pub source: String,
    pub file: String,
    pub bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest: Option<i64>,
}

// ---- doctor

/// Check the installation and suggest fixes
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "doctor",
    command = "doctor",
    answer = "one finding per check, and the path of the bundle. The exit code is 1 if a check finds a problem",
    example = "loci doctor --bundle loci-report.tar",
    returns = DoctorReport,
    local,
    rows("findings"),
    stats("severity"),
)]
pub struct DoctorRequest {
    /// Also write a tar file for a bug report: versions, counts, findings, settings and the end of the daemon log, but no
    /// messages; secrets and your home directory are masked
    #[param(value = "FILE", check = check_not_blank)]
    pub bundle: Option<String>,
    /// Stop reporting a loss, by the ID in its finding: what was lost stays lost
    #[param(value = "ID")]
    pub dismiss: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DoctorReport {
    pub findings: Vec<Finding>,
    /// The path of the bug report file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bundle: Option<String>,
}

impl Response for DoctorReport {
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
    /// A command to type.
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

/// List secrets found in transcripts by type and location (values stay masked)
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "secrets",
    command = "secrets",
    answer = "kinds, most frequent first; then locations, newest first",
    example = "loci secrets --project . --limit 10",
    returns = Secrets,
    read_only,
    rows("found"),
    stats("kind"),
)]
pub struct SecretsRequest {
    #[param(like = PROJECT)]
    pub project: Option<String>,
    #[param(like = SOURCE)]
    pub source: Vec<String>,
    /// Only these kinds of secrets, as listed in the output
    #[param(value = "KIND")]
    pub kind: Vec<String>,
    /// Maximum number of locations
    #[param(default = 50)]
    pub limit: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Secrets {
    pub found: Vec<SecretKind>,
    pub places: Vec<SecretPlace>,
    /// Records, lines and transcripts that could not be read and therefore were not searched.
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
    /// The number of occurrences.
    pub count: u64,
    /// The number of sessions.
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
    /// The transcript that contains it.
    pub file: String,
    pub kind: String,
    pub created_at: Option<i64>,
}

// ---- forget

/// Permanently delete sessions from Loci's data (agents' own transcripts are kept)
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "forget",
    command = "forget",
    answer = "the sessions that were forgotten, or would be with --dry-run",
    example = "loci forget 975e66ab --dry-run",
    returns = Forgotten,
    confirm("forgetting is permanent", "Forget this?"),
    words(Several, "ID", "Sessions to forget, by ID or ID prefix", into("chat_ids")),
    check,
)]
pub struct ForgetRequest {
    /// Sessions to forget, by ID or ID prefix
    #[param(value = "IDS")]
    pub chat_ids: Vec<String>,
    /// Forget all sessions in this directory or below
    #[param(value = "PATH")]
    pub project: Option<String>,
    /// Forget all sessions that contain this text
    #[param(value = "TEXT")]
    pub matching: Option<String>,
    /// Show what would be forgotten
    pub dry_run: bool,
}

impl ForgetRequest {
    fn check(&self) -> Result<(), Error> {
        let invalid =
            |message: &str| Err(Error::new(Code::InvalidArgument, message).hint(Self::OPERATION.example));
        let texts = [&self.project, &self.matching].into_iter().flatten().chain(&self.chat_ids);
        if texts.clone().any(|text| text.trim().is_empty()) {
            return invalid("an ID, `project` or `matching` is empty, which would match everything");
        }
        let ways = [!self.chat_ids.is_empty(), self.project.is_some(), self.matching.is_some()];
        match ways.iter().filter(|given| **given).count() {
            0 => invalid("nothing selected: pass session IDs, `project` or `matching`"),
            1 => Ok(()),
            _ => invalid("session IDs, `project` and `matching` cannot be combined"),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Forgotten {
    pub chats: Vec<ChatId>,
    pub events: u64,
    pub archive_files: u64,
    /// Saved results, all of which are deleted: any of them may quote a session.
    pub saved_results: u64,
    pub bytes: u64,
    #[serde(skip_serializing_if = "crate::search::is_false")]
    pub dry_run: bool,
    /// With `matching`: records, lines and transcripts that could not be read and therefore were not searched.
    pub unread: u64,
}

impl Response for Forgotten {
    fn is_empty(&self) -> bool {
        self.chats.is_empty() && self.events == 0
    }
}

#[cfg(test)]
mod tests {
    use super::parse_size;

    #[test]
    fn sizes_are_parsed_in_common_notations() {
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
            assert_eq!(parse_size(text), size, "{text}");
        }
    }
}
