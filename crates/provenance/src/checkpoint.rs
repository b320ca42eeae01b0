//! Reads what Entire stores about a checkpoint, which a commit names in its trailer: the sessions that were open, and the files each
//! changed.
//!
//! A checkpoint says nothing about lines. Does not run git.

use serde_json::Value;

/// Where a repository keeps its checkpoints, and the trailer that names one.
pub const BRANCH: &str = "entire/checkpoints/v1";
pub const TRAILER: &str = "Entire-Checkpoint";

/// A session of a checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckpointSession {
    pub id: String,
    /// The agent as Entire writes it; empty if it did not know.
    pub agent: String,
    pub files: Vec<String>,
}

/// The folder of a checkpoint on the branch; None if this is no name of one.
pub fn folder_of(checkpoint: &str) -> Option<String> {
    let is_name = checkpoint.len() == 12 && checkpoint.bytes().all(|b| b.is_ascii_hexdigit());
    is_name.then(|| format!("{}/{}", &checkpoint[..2], &checkpoint[2..]))
}

/// The paths on the branch of what is stored about each session, from the description of the checkpoint.
pub fn session_paths(metadata: &[u8]) -> Vec<String> {
    let metadata: Value = serde_json::from_slice(metadata).unwrap_or_default();
    let sessions = metadata["sessions"].as_array().into_iter().flatten();
    let paths = sessions.filter_map(|session| session["metadata"].as_str());
    paths.map(|path| path.trim_start_matches('/').to_string()).collect()
}

/// Reads the description of a session; None if it names none.
pub fn parse_session(metadata: &[u8]) -> Option<CheckpointSession> {
    let metadata: Value = serde_json::from_slice(metadata).ok()?;
    let id = metadata["session_id"].as_str()?;
    let agent = metadata["agent"].as_str().filter(|agent| *agent != "Agent").unwrap_or_default();
    let files = metadata["files_touched"].as_array().into_iter().flatten();
    Some(CheckpointSession {
        id: session_id(id).to_string(),
        agent: agent.to_string(),
        files: files.filter_map(Value::as_str).map(str::to_string).collect(),
    })
}

/// The first versions put the day before the ID.
fn session_id(id: &str) -> &str {
    let is_dated = id.len() > 11 && id.as_bytes()[..11].iter().all(|b| b.is_ascii_digit() || *b == b'-');
    let rest = if is_dated { &id[11..] } else { id };
    if rest.len() == 36 { rest } else { id }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_have_a_folder_for_each_name() {
        assert_eq!(folder_of("00c9e2351016").as_deref(), Some("00/c9e2351016"));
        for wrong in ["", "00c9", "00c9e235101g", "../../../etcd"] {
            assert_eq!(folder_of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn sessions_are_read_with_their_files() {
        let all = br#"{"sessions": [{"metadata": "/00/c9e2351016/2/metadata.json"}, {}]}"#;
        assert_eq!(session_paths(all), ["00/c9e2351016/2/metadata.json"]);
        let id = "253fd5ef-38bf-4f4a-804a-98df5088a868";
        let one = format!(
            r#"{{"session_id": "2026-01-12-{id}", "agent": "Claude Code", "files_touched": ["a.go"]}}"#
        );
        let found = parse_session(one.as_bytes()).unwrap();
        assert_eq!(
            (found.id.as_str(), found.agent.as_str(), &found.files[..]),
            (id, "Claude Code", &["a.go".to_string()][..])
        );
        assert_eq!(parse_session(b"{}"), None);
    }
}
