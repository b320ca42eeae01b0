//! Amp: the threads it kept in `~/.local/share/amp/threads` before it moved them to its service.
//!
//! Unverified: made from public descriptions. Does not know threads that only the service has.

use crate::blocks::{Stored, add_blocks};
use record::{Kind, Session, Status, TitleOrigin};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use transcript::conversation::value::{
    as_integer, as_items, as_stamp, as_token_count, display_text, optional_text, text_field, token_counts,
};
use transcript::conversation::{Conversation, Outcome};
use transcript::document::{Documents, read_document};
use transcript::walk::{TranscriptList, walk_files};
use transcript::{Error, Evidence, Store, Transcript};

pub const AMP: Documents = Documents {
    store: Store {
        name: "amp",
        variables: &[],
        evidence: Evidence::PublicSchema,
        roots: |places| vec![places.xdg_dir("XDG_DATA_HOME", ".local/share").join("amp/threads")],
        list: list_threads,
    },
    load: load_thread,
};

fn list_threads(root: &Path, found: &mut TranscriptList) {
    walk_files(root, found, &mut |path, meta, found| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if let Some(id) = name.strip_suffix(".json").filter(|id| id.starts_with("T-")) {
            found.add_file(path.to_path_buf(), meta, id, root);
        }
    });
}

fn load_thread(transcript: &Transcript) -> Result<Conversation, Error> {
    let mut conversation = Conversation::new(Session::new("amp", &transcript.hint));
    let Some(thread) = read_document(&transcript.path, &mut conversation)? else { return Ok(conversation) };
    conversation.count_understood();
    describe_thread(&thread, &mut conversation.session);
    let begun = conversation.session.started_at;
    for (n, message) in as_items(&thread["messages"]).iter().enumerate() {
        let usage = &message["usage"];
        let count = |key: &str| as_token_count(&usage[key]);
        let at = as_stamp(&message["meta"]["sentAt"]).or(as_stamp(&usage["timestamp"])).or(begun);
        let id = format!("{}/{n}", transcript.hint);
        let stored = Stored {
            id: &id,
            at,
            model: optional_text(usage, "model"),
            tokens: token_counts(
                count("inputTokens"),
                count("outputTokens"),
                count("cacheReadInputTokens"),
                count("cacheCreationInputTokens"),
            ),
        };
        add_runs(message, at, &mut conversation);
        let typed = |text: &str| (Kind::Prompt, text.to_string());
        add_blocks(text_field(message, "role"), &message["content"], stored, typed, &mut conversation);
    }
    Ok(conversation)
}

fn describe_thread(thread: &Value, session: &mut Session) {
    let tree = &thread["env"]["initial"]["trees"][0];
    session.cwd = Arc::from(text_field(tree, "uri").trim_start_matches("file://"));
    session.project = session.cwd.clone();
    session.git_branch = Arc::from(text_field(&tree["repository"], "ref").trim_start_matches("refs/heads/"));
    session.started_at = as_stamp(&thread["created"]);
    session.title = optional_text(thread, "title").map(|title| (Arc::from(title), TitleOrigin::Agent));
}

/// A result is the state of a run: what it returned, or why it did not.
fn add_runs(message: &Value, at: record::Stamp, conversation: &mut Conversation) {
    for block in as_items(&message["content"]).iter().filter(|block| block["run"].is_object()) {
        let (run, result) = (&block["run"], &block["run"]["result"]);
        let status = match text_field(run, "status") {
            "done" => Status::Success,
            "error" | "cancelled" | "rejected-by-user" => Status::Error,
            _ => continue,
        };
        let error = optional_text(&run["error"], "message").or_else(|| optional_text(run, "reason"));
        let text = optional_text(result, "output").unwrap_or_else(|| display_text(result));
        let text = if text.is_empty() { error.clone().unwrap_or_default() } else { text };
        let outcome =
            Outcome::new(status, text).with_exit_code(as_integer(&result["exitCode"])).with_error(error);
        conversation.add_result(text_field(block, "toolUseID"), at, outcome);
    }
}
