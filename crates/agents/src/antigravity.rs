//! Antigravity: the transcripts that some builds keep in clear, `brain/<id>/.system_generated/logs/transcript*.jsonl`
//! below `~/.gemini/antigravity*`. Its other stores are encrypted or have no public schema: they are detected, not read.
//!
//! Unverified: made from public descriptions. Does not know the folder of a conversation, calls or tokens.

use crate::blocks::inside;
use record::{Kind, Message, Role, Session, Tokens, event_key};
use serde_json::Value;
use std::path::{Path, PathBuf};
use transcript::conversation::value::{as_stamp, known_stamp, text_field};
use transcript::event_log::{Entry, EventLog};
use transcript::walk::{TranscriptList, walk_files};
use transcript::{Environment, Evidence, Store, Transcript};

pub const ANTIGRAVITY: EventLog = EventLog {
    store: Store {
        name: "antigravity",
        variables: &[],
        evidence: Evidence::PublicSchema,
        roots: find_roots,
        list: list_logs,
    },
    describe: |_: &Transcript, _: &mut Session| {},
    usage: None,
    parse: parse_line,
};

fn find_roots(places: &Environment) -> Vec<PathBuf> {
    let gemini = places.below_home(".gemini");
    gemini
        .iter()
        .flat_map(|root| ["antigravity", "antigravity-ide", "antigravity-cli"].map(|name| root.join(name)))
        .collect()
}

/// The full transcript stands for the shorter one beside it.
fn list_logs(root: &Path, found: &mut TranscriptList) {
    walk_files(&root.join("brain"), found, &mut |path, meta, found| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let full = name == "transcript_full.jsonl";
        if full || (name == "transcript.jsonl" && !path.with_file_name("transcript_full.jsonl").is_file()) {
            let id = path.ancestors().nth(3).and_then(Path::file_name).unwrap_or_default().to_string_lossy();
            found.add_file(path.to_path_buf(), meta, &id, root);
        }
    });
}

fn parse_line(line: &Value, entry: &mut Entry) {
    let content = text_field(line, "content");
    let at = as_stamp(&line["created_at"]);
    let id =
        format!("{:016x}", event_key(b'g', &[text_field(line, "created_at").as_bytes(), content.as_bytes()]));
    let message = |text: &str| Message {
        id: id.clone(),
        text: text.to_string(),
        at: known_stamp(at),
        ..Message::default()
    };
    match text_field(line, "source") {
        "USER_EXPLICIT" => {
            let prompt = inside(content, "USER_REQUEST").unwrap_or(content);
            let prompt = prompt.split("<ADDITIONAL_METADATA>").next().unwrap_or("").trim();
            entry.add_message(Role::User, Kind::Prompt, message(prompt), Tokens::ZERO);
        }
        "MODEL" => entry.add_message(Role::Assistant, Kind::Reply, message(content), Tokens::ZERO),
        "SYSTEM" | "USER_IMPLICIT" | "TOOL" => entry.ignore(),
        other => entry.unknown(other),
    }
}
