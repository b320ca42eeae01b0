//! Aider: `.aider.chat.history.md` in each repository, one Markdown file that every run appends to.
//!
//! The file has no IDs, so a repository's history is one session. Files are found where Aider has run in the home
//! directory or up to two levels below it, and where its own variable says. Does not know the output or exit code of a
//! test: Aider keeps neither. A `#### ` or `> ` inside a reply cannot be told apart from Aider's own.

use record::{Kind, Message, Role, Session, Stamp, Tokens, event_key, parse_local_time};
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use transcript::conversation::value::{call_of, known_stamp, token_counts};
use transcript::conversation::{Conversation, Outcome, Part};
use transcript::document::{Documents, read_sidecar_text, read_text};
use transcript::walk::TranscriptList;
use transcript::{Environment, Error, Evidence, Store, Transcript};

pub const AIDER: Documents = Documents {
    store: Store {
        name: "aider",
        variables: &[(
            "AIDER_CHAT_HISTORY_FILE",
            "Aider's history files, separated by `:` [default: .aider.chat.history.md of the repositories below ~]",
        )],
        evidence: Evidence::RealClient,
        roots: find_roots,
        list: list_histories,
    },
    load: load_history,
};

const HISTORY: &str = ".aider.chat.history.md";
/// Directories examined, so that a large home directory does not slow down every query.
const MAX_DIRECTORIES: usize = 400;

fn find_roots(places: &Environment) -> Vec<PathBuf> {
    if places.vars.get("AIDER_CHAT_HISTORY_FILE").is_some_and(|value| !value.is_empty()) {
        return places.roots_from_var("AIDER_CHAT_HISTORY_FILE", "");
    }
    let home = &places.home;
    // Aider creates both on its first start: without them, there is nothing to look for.
    if !home.is_absolute() || !(home.join(".aider").is_dir() || home.join(".aider.conf.yml").is_file()) {
        return Vec::new();
    }
    let mut level = vec![home.clone()];
    let mut all = level.clone();
    for _ in 0..2 {
        level = level.iter().flat_map(|folder| visible_folders(folder)).take(MAX_DIRECTORIES).collect();
        all.extend(level.iter().cloned());
    }
    all.truncate(MAX_DIRECTORIES);
    all.retain(|folder| folder.join(HISTORY).is_file());
    all
}

fn visible_folders(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let visible = folders.filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'));
    let mut paths: Vec<_> = visible.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn list_histories(root: &Path, found: &mut TranscriptList) {
    let path = if root.is_dir() { root.join(HISTORY) } else { root.to_path_buf() };
    if let Ok(meta) = path.metadata()
        && meta.is_file()
    {
        let key = event_key(b'a', &[path.as_os_str().as_encoded_bytes()]);
        let group = path.parent().unwrap_or(root).to_path_buf();
        found.add_file(path, &meta, &format!("{key:016x}"), &group);
    }
}

fn load_history(transcript: &Transcript) -> Result<Conversation, Error> {
    let mut conversation = Conversation::new(Session::new("aider", &transcript.hint));
    let folder = transcript.path.parent().unwrap_or(Path::new(""));
    conversation.session.cwd = Arc::from(folder.to_string_lossy().as_ref());
    conversation.session.project = conversation.session.cwd.clone();
    let text = read_text(&transcript.path, &mut conversation)?;
    let mut reader = Reader { asked: read_times(folder), ..Reader::default() };
    for line in text.lines() {
        reader.read_line(line, &mut conversation);
    }
    reader.end_block(&mut conversation);
    Ok(conversation)
}

/// When each prompt was typed, by its text; the history of the input line has the time of every prompt.
fn read_times(folder: &Path) -> FxHashMap<String, Vec<Stamp>> {
    let text = read_sidecar_text(&folder.join(".aider.input.history")).unwrap_or_default();
    let mut times: FxHashMap<String, Vec<Stamp>> = FxHashMap::default();
    for entry in text.split("\n# ") {
        let (time, typed) = entry.split_once('\n').unwrap_or((entry, ""));
        let typed: Vec<&str> = typed.lines().filter_map(|line| line.strip_prefix('+')).collect();
        let at = parse_local_time(time.trim_start_matches(['#', ' ', '\n']));
        times.entry(typed.join("\n").trim().to_string()).or_default().insert(0, at);
    }
    times
}

/// What the current lines belong to.
#[derive(Clone, Copy, Default, PartialEq)]
enum Block {
    #[default]
    None,
    Prompt,
    Reply,
    /// A commit message, up to the line that ends with two blanks.
    Commit,
}

#[derive(Default)]
struct Reader {
    block: Block,
    lines: Vec<String>,
    /// The time of the last prompt or of the run.
    at: Stamp,
    model: Option<String>,
    asked: FxHashMap<String, Vec<Stamp>>,
}

impl Reader {
    fn read_line(&mut self, line: &str, conversation: &mut Conversation) {
        if self.block == Block::Commit {
            conversation.count_ignored();
            self.block = if line.ends_with("  ") { Block::None } else { Block::Commit };
        } else if let Some(time) = line.strip_prefix("# aider chat started at ") {
            self.start_run(time, conversation);
        } else if let Some(typed) = line.strip_prefix("#### ") {
            self.switch_to(Block::Prompt, conversation);
            conversation.count_understood();
            self.lines.push(typed.trim_end().to_string());
        } else if let Some(note) = line.strip_prefix('>') {
            self.read_note(note, conversation);
        } else if line.trim().is_empty() && self.block != Block::Reply {
            conversation.coverage.lines += 1;
            conversation.coverage.blank += 1;
        } else {
            self.switch_to(Block::Reply, conversation);
            conversation.count_understood();
            self.lines.push(line.to_string());
        }
    }

    fn start_run(&mut self, time: &str, conversation: &mut Conversation) {
        self.end_block(conversation);
        conversation.count_understood();
        self.at = parse_local_time(time.trim());
        let started = &mut conversation.session.started_at;
        *started = started.or(self.at);
    }

    fn switch_to(&mut self, block: Block, conversation: &mut Conversation) {
        if self.block != block {
            self.end_block(conversation);
            self.block = block;
        }
    }

    fn end_block(&mut self, conversation: &mut Conversation) {
        let text = std::mem::take(&mut self.lines).join("\n").trim().to_string();
        match std::mem::take(&mut self.block) {
            Block::Prompt => {
                let asked = self.asked.get_mut(&text).and_then(Vec::pop);
                self.at = asked.unwrap_or(Stamp::NONE).or(self.at);
                self.add_message((Role::User, Kind::Prompt), text, conversation);
            }
            Block::Reply if !text.is_empty() => {
                self.add_message((Role::Assistant, Kind::Reply), text, conversation);
            }
            _ => {}
        }
    }

    fn add_message(&self, author: (Role, Kind), text: String, conversation: &mut Conversation) {
        let model = self.model.clone().filter(|_| author.0 == Role::Assistant);
        let made = Message { text, model, at: known_stamp(self.at), ..Message::default() };
        conversation.add_message(author.0, author.1, made, Tokens::ZERO);
    }

    /// A line that Aider itself says.
    fn read_note(&mut self, note: &str, conversation: &mut Conversation) {
        self.end_block(conversation);
        let said = note.trim();
        if let Some(usage) = said.strip_prefix("Tokens: ") {
            conversation.count_understood();
            return conversation.set_reply_tokens(parse_tokens(usage));
        }
        if let Some(model) = said.strip_prefix("Model: ") {
            conversation.count_understood();
            self.model = model.split(" with ").next().map(str::to_string);
        } else if let Some(version) = said.strip_prefix("Aider v") {
            conversation.count_understood();
            conversation.session.version = Arc::from(version);
        } else if let Some(file) = said.strip_prefix("Applied edit to ") {
            conversation.count_understood();
            self.add_edit(file, conversation);
        } else if said.starts_with("litellm.") && said.contains("Error") {
            conversation.count_understood();
            self.add_message((Role::Assistant, Kind::ApiError), said.to_string(), conversation);
        } else if said.starts_with("^C") {
            conversation.count_understood();
            self.add_message((Role::System, Kind::Interruption), said.to_string(), conversation);
        } else {
            conversation.count_ignored();
            if said.starts_with("Commit ") && !note.ends_with("  ") {
                self.block = Block::Commit;
            }
        }
    }

    fn add_edit(&self, file: &str, conversation: &mut Conversation) {
        let id = conversation.next_id();
        let mut input = json!({"path": file});
        if let Some(text) = last_reply(conversation).and_then(|reply| blocks_of(reply, file)) {
            input["content"] = Value::from(text);
        }
        conversation.add_call(call_of(&id, "edit", &input), self.at);
        conversation.add_result(&id, self.at, Outcome::of_flag(false, format!("Applied edit to {file}")));
    }
}

fn last_reply(conversation: &Conversation) -> Option<&str> {
    conversation.parts.iter().rev().find_map(|part| match part {
        Part::Message { kind: Kind::Reply, message, .. } => Some(message.text.as_str()),
        _ => None,
    })
}

/// What a reply has for a file: the fenced blocks that follow its name, with the whole text or with replacements.
fn blocks_of(reply: &str, file: &str) -> Option<String> {
    let mut found = String::new();
    let mut lines = reply.lines();
    while lines.any(|line| line.trim() == file) {
        if lines.next().is_some_and(|line| line.starts_with("```")) {
            for line in lines.by_ref().take_while(|line| !line.starts_with("```")) {
                found.push_str(line);
                found.push('\n');
            }
        }
    }
    (!found.is_empty()).then_some(found)
}

/// `848 sent, 50 received.`, `1.0k sent, 2k cache hit, 54 received. Cost: …`
fn parse_tokens(usage: &str) -> Tokens {
    let count = |word: &str| {
        let part = usage.split(',').find(|part| part.contains(word))?;
        let number = part.split_whitespace().next()?;
        let (digits, factor) = number.strip_suffix('k').map_or((number, 1.0), |digits| (digits, 1000.0));
        Some((digits.parse::<f64>().ok()? * factor) as u32)
    };
    let of = |word: &str| count(word).unwrap_or(0);
    let cached = of("cache hit");
    token_counts(of("sent").saturating_sub(cached), of("received"), cached, of("cache write"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_an_edit_is_the_block_below_the_name_of_its_file() {
        let reply =
            "I add it.\n\na.py\n```python\nx = 1\n```\n\nb.py\n```\ny\n```\na.py\n```python\nz\n```\n";
        assert_eq!(blocks_of(reply, "a.py").as_deref(), Some("x = 1\nz\n"));
        assert_eq!(blocks_of("See a.py\na.py\nis done", "a.py"), None);
    }

    #[test]
    fn tokens_are_read_as_aider_rounds_them() {
        assert_eq!(parse_tokens("848 sent, 50 received."), token_counts(848, 50, 0, 0));
        let cached =
            parse_tokens("12k sent, 1.5k cache write, 10k cache hit, 1.0k received. Cost: $0.01 message");
        assert_eq!(cached, token_counts(2000, 1000, 10_000, 1500));
    }
}
