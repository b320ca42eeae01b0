//! gptme: `~/.local/share/gptme/logs/<name>/conversation.jsonl`. Its tools are fenced blocks in the model's text, and
//! their results are system messages after it.
//!
//! Times have no zone and are read as local. Does not know a tool that neither its list nor gptme's configuration names.

use record::{Kind, Message, Role, Session, Stamp, TitleOrigin, Tokens, parse_local_time};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use transcript::conversation::value::{
    as_token_count, call_of, known_stamp, optional_text, text_field, token_counts,
};
use transcript::conversation::{Conversation, Outcome, exit_code_after};
use transcript::document::{Documents, read_records, read_sidecar_text};
use transcript::walk::{TranscriptList, walk_files};
use transcript::{Error, Evidence, Store, Transcript};

pub const GPTME: Documents = Documents {
    store: Store {
        name: "gptme",
        variables: &[("GPTME_LOGS_HOME", "gptme's conversations [default: ~/.local/share/gptme/logs]")],
        evidence: Evidence::RealClient,
        roots: |places| match places.vars.get("GPTME_LOGS_HOME").filter(|value| !value.is_empty()) {
            Some(_) => places.roots_from_var("GPTME_LOGS_HOME", ""),
            None => vec![places.xdg_dir("XDG_DATA_HOME", ".local/share").join("gptme/logs")],
        },
        list: list_conversations,
    },
    load: load_conversation,
};

fn list_conversations(root: &Path, found: &mut TranscriptList) {
    walk_files(root, found, &mut |path, meta, found| {
        if path.file_name().is_some_and(|name| name == "conversation.jsonl") {
            let folder = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
            found.add_file(path.to_path_buf(), meta, &folder, root);
        }
    });
}

/// Tools that run what their block contains. `complete` ends the conversation and has no result worth a call.
const TOOLS: [&str; 18] = [
    "append",
    "browser",
    "chats",
    "gh",
    "ipython",
    "lessons",
    "mcp",
    "memory",
    "morph",
    "patch",
    "patch_many",
    "python",
    "read",
    "save",
    "shell",
    "subagent",
    "tmux",
    "todo",
];

fn load_conversation(transcript: &Transcript) -> Result<Conversation, Error> {
    let mut conversation = Conversation::new(Session::new("gptme", &transcript.hint));
    describe_session(&transcript.path, &mut conversation.session);
    let mut open = Vec::new();
    read_records(&transcript.path, &mut conversation, &mut |line, conversation| {
        parse_line(&line, &mut open, conversation);
    })?;
    Ok(conversation)
}

/// The folder and the name are in gptme's configuration of the conversation.
fn describe_session(path: &Path, session: &mut Session) {
    let config = read_sidecar_text(&path.with_file_name("config.toml")).unwrap_or_default();
    let setting = |key: &str| {
        let line = config.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix('='));
        line.map(|value| value.trim().trim_matches('"').to_string()).filter(|value| !value.is_empty())
    };
    let workspace = setting("workspace").unwrap_or_default();
    // The home directory is the one above `.local`, which need not be that of this process.
    let home = path.ancestors().find(|above| above.ends_with(".local")).and_then(Path::parent);
    let cwd = match (workspace.strip_prefix("~/"), home) {
        (Some(below), Some(home)) => home.join(below).to_string_lossy().into_owned(),
        _ => workspace,
    };
    session.cwd = Arc::from(cwd);
    session.project = session.cwd.clone();
    session.title = setting("name").map(|name| (Arc::from(name), TitleOrigin::Agent));
}

fn time_of(line: &Value) -> Stamp {
    parse_local_time(text_field(line, "timestamp"))
}

/// `open` has the calls of the last reply that still lack a result.
fn parse_line(line: &Value, open: &mut Vec<String>, conversation: &mut Conversation) {
    let content = text_field(line, "content");
    match text_field(line, "role") {
        "user" => {
            open.clear();
            let kind = if content.starts_with("<system>") { Kind::Meta } else { Kind::Prompt };
            add_message(line, (Role::User, kind), without_files(content), 0, conversation);
        }
        "assistant" => add_reply(line, content, open, conversation),
        "system" => add_system(line, content, open, conversation),
        other => conversation.count_unknown(&format!("message {other}")),
    }
}

/// A prompt that names a file gets the file's text appended, in a block with four backticks.
fn without_files(content: &str) -> String {
    content.split_once("\n\n````").map_or(content, |(prompt, _)| prompt).to_string()
}

fn add_message(
    line: &Value,
    author: (Role, Kind),
    text: String,
    calls: usize,
    conversation: &mut Conversation,
) {
    conversation.count_understood();
    let usage = &line["metadata"]["usage"];
    let n = |key: &str| as_token_count(&usage[key]);
    let tokens = token_counts(
        n("input_tokens"),
        n("output_tokens"),
        n("cache_read_tokens"),
        n("cache_creation_tokens"),
    );
    let made = Message {
        text,
        model: optional_text(&line["metadata"], "model").filter(|_| author.0 == Role::Assistant),
        tool_calls: calls as u32,
        at: known_stamp(time_of(line)),
        ..Message::default()
    };
    conversation.add_message(author.0, author.1, made, if usage.is_object() { tokens } else { Tokens::ZERO });
}

fn add_reply(line: &Value, content: &str, open: &mut Vec<String>, conversation: &mut Conversation) {
    let (text, blocks) = split_blocks(content);
    add_message(line, (Role::Assistant, Kind::Reply), text, blocks.len(), conversation);
    open.clear();
    for block in blocks {
        let id = conversation.next_id();
        conversation.add_call(call_of(&id, &block.tool, &block.input()), time_of(line));
        open.push(id);
    }
    open.reverse();
}

/// A fenced block whose first word is a tool: the words after it, and its content.
struct Block {
    tool: String,
    argument: String,
    body: String,
}

impl Block {
    fn input(&self) -> Value {
        match (self.tool.as_str(), self.argument.as_str()) {
            ("shell", _) => json!({"command": self.body}),
            ("ipython" | "python", _) => json!({"code": self.body}),
            (_, "") => json!({"content": self.body}),
            (_, argument) => json!({"path": argument, "content": self.body}),
        }
    }
}

/// Separates the blocks that are calls from the rest of a reply.
fn split_blocks(content: &str) -> (String, Vec<Block>) {
    let (mut text, mut blocks) = (Vec::new(), Vec::new());
    let mut lines = content.lines();
    while let Some(line) = lines.next() {
        let head = line.strip_prefix("```").map(|info| info.split_once(' ').unwrap_or((info, "")));
        match head.filter(|(tool, _)| TOOLS.contains(tool)) {
            Some((tool, argument)) => {
                let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
                let (tool, argument) = (tool.to_string(), argument.trim().to_string());
                blocks.push(Block { tool, argument, body: body.join("\n") });
            }
            None => text.push(line),
        }
    }
    (text.join("\n"), blocks)
}

/// A result of the oldest open call, or something gptme says.
fn add_system(line: &Value, content: &str, open: &mut Vec<String>, conversation: &mut Conversation) {
    if line["hide"] == true || line["pinned"] == true {
        return conversation.count_ignored();
    }
    if line["metadata"]["error"] == true {
        return add_message(line, (Role::Assistant, Kind::ApiError), content.to_string(), 0, conversation);
    }
    if let Some(call) = open.pop() {
        conversation.count_understood();
        conversation.add_result(&call, time_of(line), parse_result(content));
        return;
    }
    let kind = if content.starts_with("Interrupted") { Kind::Interruption } else { Kind::Meta };
    add_message(line, (Role::System, kind), content.to_string(), 0, conversation);
}

fn parse_result(content: &str) -> Outcome {
    let last = content.trim_end().lines().next_back().unwrap_or("");
    let code = last.strip_prefix("Return code: ").and_then(|_| exit_code_after(last, "Return code: "));
    let head = content.trim_start().to_lowercase();
    let failed =
        head.starts_with("error") || head.starts_with("command interrupted") || head.starts_with("aborted");
    Outcome::of_flag(failed, content).with_exit_code(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_blocks_of_tools_are_calls() {
        let (text, blocks) = split_blocks(
            "Look.\n```shell\nls\n```\n```python\nx\n```\n```rust\nfn\n```\n```save a b.py\n1\n\n2\n```",
        );
        assert_eq!(text, "Look.\n```rust\nfn\n```");
        let found: Vec<_> = blocks.iter().map(|b| (b.tool.as_str(), b.input())).collect();
        assert_eq!(
            found,
            [
                ("shell", json!({"command": "ls"})),
                ("python", json!({"code": "x"})),
                ("save", json!({"path": "a b.py", "content": "1\n\n2"})),
            ]
        );
    }
}
