//! Tasks of Roo Code, Cline before 3 and Kilo before 2026-04 in VS Code and its relatives:
//! `<host>/User/globalStorage/<extension>/tasks/<task>/api_conversation_history.json`, and what the screen showed beside it.
//!
//! Unverified: made from public descriptions. Does not know exit codes, except in text.

use crate::blocks::{Stored, add_blocks, inside};
use record::{Kind, Session, Stamp, TitleOrigin};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use transcript::conversation::value::{as_items, as_stamp, optional_text, text_field};
use transcript::conversation::{Conversation, Outcome, Part};
use transcript::document::{Documents, read_document, read_sidecar};
use transcript::walk::{TranscriptList, walk_files};
use transcript::{Environment, Error, Evidence, Store, Transcript};

/// Editors that run the extensions.
const HOSTS: [&str; 6] = ["Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf", "Trae"];

macro_rules! extension {
    ($constant:ident, $name:literal, $extension:literal) => {
        pub const $constant: Documents = Documents {
            store: Store {
                name: $name,
                variables: &[],
                evidence: Evidence::PublicSchema,
                roots: |places| storage_roots(places, $extension),
                list: list_tasks,
            },
            load: |transcript| load_task($name, transcript),
        };
    };
}

extension!(ROO, "roo", "rooveterinaryinc.roo-cline");
extension!(CLINE_VSCODE, "cline-vscode", "saoudrizwan.claude-dev");
extension!(KILO_VSCODE, "kilo-vscode", "kilocode.kilo-code");

/// Where editors keep their settings: one place per system.
pub(crate) fn editor_roots(places: &Environment) -> Vec<PathBuf> {
    let mut roots = vec![places.xdg_dir("XDG_CONFIG_HOME", ".config")];
    roots.extend(places.below_home("Library/Application Support"));
    roots.extend(places.below_home("AppData/Roaming"));
    roots
}

fn storage_roots(places: &Environment, extension: &str) -> Vec<PathBuf> {
    let below = |root: PathBuf| {
        HOSTS
            .iter()
            .map(move |host| root.join(host).join("User/globalStorage").join(extension))
            .collect::<Vec<_>>()
    };
    let mut roots: Vec<_> = editor_roots(places).into_iter().flat_map(below).collect();
    // A directory that does not exist is not worth a line in `loci sources`, except the first of each system.
    let first = roots.first().cloned();
    roots.retain(|root| Some(root) == first.as_ref() || root.is_dir());
    roots
}

fn list_tasks(root: &Path, found: &mut TranscriptList) {
    walk_files(&root.join("tasks"), found, &mut |path, meta, found| {
        if path.file_name().is_some_and(|name| name == "api_conversation_history.json") {
            let task = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
            found.add_file(path.to_path_buf(), meta, &task, root);
        }
    });
}

fn load_task(name: &'static str, transcript: &Transcript) -> Result<Conversation, Error> {
    let mut conversation = Conversation::new(Session::new(name, &transcript.hint));
    describe_task(transcript, &mut conversation.session);
    let begun = conversation.session.started_at;
    let Some(document) = read_document(&transcript.path, &mut conversation)? else { return Ok(conversation) };
    for message in as_items(&document) {
        let at = as_stamp(&message["ts"]).or(begun);
        let stored = Stored { at, ..Stored::default() };
        add_blocks(text_field(message, "role"), &message["content"], stored, typed, &mut conversation);
        add_text_results(message, at, &mut conversation);
    }
    Ok(conversation)
}

/// The task's ID is the time it began, in milliseconds; folder and title are in a file of the task or of all tasks.
fn describe_task(transcript: &Transcript, session: &mut Session) {
    let folder = transcript.path.parent().unwrap_or(Path::new(""));
    let own = read_sidecar(&folder.join("history_item.json"));
    let all = read_sidecar(&transcript.group.join("state/taskHistory.json"));
    let listed = as_items(&all).iter().find(|item| text_field(item, "id") == &*transcript.hint);
    let item = if own.is_object() { &own } else { listed.unwrap_or(&Value::Null) };
    let cwd = ["workspace", "cwdOnTaskInitialization"].iter().find_map(|key| optional_text(item, key));
    session.cwd = Arc::from(cwd.unwrap_or_default());
    session.project = session.cwd.clone();
    session.started_at = transcript.hint.parse().map_or(Stamp::NONE, Stamp::from_number);
    session.title = optional_text(item, "task")
        .map(|task| (Arc::from(transcript::survey::title_from_prompt(&task)), TitleOrigin::FirstPrompt));
    if let Some(parent) = optional_text(item, "parentTaskId") {
        session.parent_session_id = Some(Arc::from(parent));
        session.agent_id = Some(session.session_id.clone());
    }
}

/// A prompt is wrapped in one of these; the environment is appended to everything.
fn typed(text: &str) -> (Kind, String) {
    let wrapped = ["task", "user_message", "feedback", "answer"].iter().find_map(|tag| inside(text, tag));
    if let Some(prompt) = wrapped {
        return (Kind::Prompt, prompt.to_string());
    }
    let own = text.split("<environment_details>").next().unwrap_or("").trim();
    let result = own.starts_with('[') && own.contains("] Result:");
    (if result { Kind::Meta } else { Kind::Prompt }, own.to_string())
}

/// Without native calls, a reply contains them as XML and the next message their results: `[tool for 'x'] Result:`.
fn add_text_results(message: &Value, at: Stamp, conversation: &mut Conversation) {
    if text_field(message, "role") != "user" {
        return;
    }
    let texts = as_items(&message["content"]).iter().filter_map(|block| optional_text(block, "text"));
    let results: Vec<String> =
        texts.filter(|text| text.starts_with('[') && text.contains("] Result:")).collect();
    for text in results {
        let (head, body) = text.split_once("] Result:").unwrap_or((&text, ""));
        let head = head.trim_start_matches('[');
        let (tool, about) = head.split_once(" for ").unwrap_or((head, ""));
        let id = conversation.next_id();
        let input = serde_json::json!({"about": about.trim_matches('\'')});
        conversation.parts.push(Part::call(transcript::conversation::value::call_of(&id, tool, &input), at));
        let failed = body.contains("<error>") || body.trim_start().starts_with("Error");
        conversation.add_result(&id, at, Outcome::of_flag(failed, body.trim()));
    }
}
