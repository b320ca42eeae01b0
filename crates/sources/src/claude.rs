//! Claude Code: `~/.claude/projects/<encoded path>/<session>.jsonl`, its subagents' files in all three places
//! where versions have stored them, and the formats of 0.2 to 2.1.
//!
//! The folder name cannot be decoded to a path, so the project is the `cwd` written inside.

mod entry;
pub(crate) mod fetch;
mod kind;

use crate::json::{JsonResult, Malformed};
use crate::records::{self, LineParser};
use crate::survey::{MessageEntry, row_flags};
use crate::walk::{TranscriptList, walk_files_with_suffix};
use crate::{Environment, Error, Source, Survey, Transcript, json, line_reader};
use entry::Entry;
use memchr::memmem;
use record::row::WARM_UP;
use record::{Call, Kind, Message, Role, Row, Session, Status, TitleOrigin, Tokens};
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

pub struct Claude;

/// The length of `.jsonl`.
const SUFFIX_LEN: usize = 6;
const SEPARATOR: u8 = std::path::MAIN_SEPARATOR as u8;

impl Source for Claude {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn env_variables(&self) -> &'static [(&'static str, &'static str)] {
        &[("CLAUDE_CONFIG_DIR", "Claude Code's data directories, separated by `:` [default: ~/.claude]")]
    }

    fn default_roots(&self, places: &Environment) -> Vec<PathBuf> {
        let mut roots = places.roots_from_var("CLAUDE_CONFIG_DIR", ".claude");
        if !places.vars.contains_key("CLAUDE_CONFIG_DIR") {
            roots.push(places.xdg_dir("XDG_CONFIG_HOME", ".config").join("claude"));
        }
        roots.into_iter().map(|root| root.join("projects")).collect()
    }

    fn list_transcripts(&self, root: &Path, found: &mut TranscriptList) {
        let above = root.as_os_str().len() + 1;
        walk_files_with_suffix(root, b".jsonl", found, &mut |path, meta, found| {
            // As bytes: splitting ten thousand paths costs more than reading their metadata.
            let bytes = path.as_os_str().as_encoded_bytes();
            let stem =
                bytes[..bytes.len() - SUFFIX_LEN].rsplit(|b| *b == SEPARATOR).next().unwrap_or_default();
            if stem.is_empty() {
                return;
            }
            let hint = String::from_utf8_lossy(stem).into_owned();
            let folder = bytes.get(above..).and_then(|below| memchr::memchr(SEPARATOR, below));
            // A transcript directly in the projects folder shares no folder with others.
            let group = &bytes[..folder.map_or(bytes.len(), |length| above + length)];
            let group = os::files::path_from_bytes(group.to_vec());
            found.add_file(path, meta, &hint, &group);
        });
    }

    fn may_belong(&self, transcript: &Transcript, project: &Path) -> bool {
        let folder = transcript.group.file_name().unwrap_or_default().to_string_lossy();
        let encoded = encode_project_path(&project.to_string_lossy());
        let cut = encoded.get(..200).unwrap_or(&encoded);
        folder.starts_with(cut)
    }

    fn survey(&self, transcript: &Transcript, survey: &mut Survey<'_>) -> Result<(), Error> {
        Walk::new(transcript, survey).run(transcript)
    }

    fn survey_from(
        &self,
        transcript: &Transcript,
        from: u64,
        survey: &mut Survey<'_>,
    ) -> Result<bool, Error> {
        let mut walk = Walk::new(transcript, survey);
        records::read_lines_from(
            &mut walk,
            line_reader::open_at(&transcript.path, from)?,
            &transcript.path,
            from,
        )?;
        Ok(true)
    }

    fn fetch_call(&self, transcript: &Transcript, result: &Transcript, row: &Row) -> Result<Call, Error> {
        fetch::fetch_call(transcript, result, row)
    }

    fn fetch_message(&self, transcript: &Transcript, row: &Row) -> Result<Message, Error> {
        fetch::fetch_message(transcript, row)
    }
}

/// The folder name Claude Code derives from a path: every UTF-16 unit outside `[A-Za-z0-9]` becomes a dash,
/// and a name over 200 is truncated there (a hash follows, which a prefix match does not need).
fn encode_project_path(path: &str) -> String {
    path.encode_utf16()
        .map(|unit| char::from_u32(u32::from(unit)).filter(char::is_ascii_alphanumeric).unwrap_or('-'))
        .collect()
}

/// One pass over one file.
struct Walk<'s, 'a> {
    survey: &'s mut Survey<'a>,
    session_id: Vec<u8>,
    is_agent_file: bool,
    /// Old versions keep subagents inside the main file: entry ID to the session created for its chain.
    sidechains: FxHashMap<u64, u32>,
    /// Titles found before the conversation they belong to, by the entry they name.
    summaries: Vec<(Vec<u8>, String)>,
    message_counts: [u32; 2],
}

impl<'s, 'a> Walk<'s, 'a> {
    fn new(transcript: &Transcript, survey: &'s mut Survey<'a>) -> Walk<'s, 'a> {
        let path = &transcript.path;
        let agent = transcript.hint.strip_prefix("agent-");
        let parent = path.parent().filter(|p| p.ends_with("subagents")).and_then(Path::parent);
        let owner = parent.and_then(Path::file_name).map(|n| n.to_string_lossy().into_owned());
        let id = match agent {
            Some(_) => owner.unwrap_or_default(),
            None => transcript.hint.to_string(),
        };
        let mut session = Session::new("claude-code", &id);
        if let Some(agent) = agent {
            session.agent_id = Some(Arc::from(agent));
            session.parent_session_id = Some(session.session_id.clone());
        }
        survey.add_session(session);
        Walk {
            survey,
            session_id: id.into_bytes(),
            is_agent_file: agent.is_some(),
            sidechains: FxHashMap::default(),
            summaries: Vec::new(),
            message_counts: [0; 2],
        }
    }

    fn run(mut self, transcript: &Transcript) -> Result<(), Error> {
        let file = line_reader::open_regular(&transcript.path)?;
        records::read_lines(&mut self, file, &transcript.path)?;
        self.flag_warm_up();
        Ok(())
    }

    // ---- entries

    fn handle_entry(&mut self, entry: &Entry<'_>, place: u64, line: &[u8]) {
        if self.survey.options.fields {
            self.count_unknown_fields(entry, line);
        }
        match entry.kind {
            b"user" | b"assistant" | b"system" | b"attachment" => {
                self.survey.coverage_mut().understood += 1;
                self.update_session(entry);
                self.handle_message(entry, place);
            }
            b"summary" | b"custom-title" | b"agent-name" | b"worktree-state" => {
                self.survey.coverage_mut().understood += 1;
                self.handle_metadata(entry, line);
            }
            other if entry::IGNORED.contains(&other) => {
                self.survey.coverage_mut().ignored += 1;
                if self.survey.outcome.birth.is_none() && entry.timestamp.is_some() {
                    self.survey.outcome.birth = Some(entry.timestamp);
                }
            }
            other => {
                let name = json::decode_string(other);
                self.survey.coverage_mut().count_unknown_type(&name);
            }
        }
    }

    fn count_unknown_fields(&mut self, entry: &Entry<'_>, line: &[u8]) {
        if std::str::from_utf8(line).is_err() {
            self.survey.coverage_mut().lossy_utf8 += 1;
        }
        if entry::IGNORED.contains(&entry.kind) {
            return;
        }
        for field in &entry.unknown_fields {
            let name = format!("{}.{}", json::decode_string(entry.kind), json::decode_string(field));
            *self.survey.coverage_mut().unknown_fields.entry(name).or_default() += 1;
        }
    }

    fn update_session(&mut self, entry: &Entry<'_>) {
        if self.survey.set_version(entry.version) {
            self.survey.copies_keep_ids = copies_keep_ids(entry.version);
        }
        if self.is_agent_file && self.session_id.is_empty() {
            self.session_id = entry.session_id.to_vec();
            let id: Arc<str> = Arc::from(json::decode_string(entry.session_id).as_str());
            let session = self.survey.session_mut(0);
            (session.session_id, session.parent_session_id) = (id.clone(), Some(id));
        }
        let session = self.survey.session_mut(0);
        Survey::set_if_empty(&mut session.cwd, entry.cwd);
        Survey::set_if_empty(&mut session.project, entry.cwd);
        Survey::set_if_empty(&mut session.git_branch, entry.git_branch);
    }

    fn handle_metadata(&mut self, entry: &Entry<'_>, line: &[u8]) {
        match entry.kind {
            b"custom-title" | b"agent-name" => {
                let key: &[u8] = if entry.kind == b"agent-name" { b"agentName" } else { b"customTitle" };
                if let Some(title) = json::get_text(line, key) {
                    self.survey.set_title(0, &title, TitleOrigin::Custom);
                }
            }
            b"summary" => {
                if let (Some(title), Some(leaf)) =
                    (json::get_text(line, b"summary"), json::get_value(line, b"leafUuid"))
                    && !is_refusal(&title)
                {
                    self.summaries.push((json::strip_quotes(leaf).to_vec(), title));
                }
            }
            _ => {
                let state = json::get_value(line, b"worktreeSession").unwrap_or(b"");
                if let Some(original) = json::get_text(state, b"originalCwd") {
                    self.survey.session_mut(0).project = Arc::from(original.as_str());
                }
            }
        }
    }

    fn handle_message(&mut self, entry: &Entry<'_>, place: u64) {
        let session = self.session_of_entry(entry);
        if let Some((_, title)) = self.summaries.iter().find(|(leaf, _)| leaf == entry.uuid) {
            let title = title.clone();
            self.survey.set_title(0, &title, TitleOrigin::Agent);
        }
        let copied = entry.forked || (!entry.session_id.is_empty() && entry.session_id != self.session_id);
        let flags = row_flags(copied, entry.sidechain);
        match entry.kind {
            b"assistant" => self.add_assistant(entry, session, place, flags),
            b"user" => self.add_user(entry, session, place, flags),
            b"system" if entry.subtype == b"api_error" => {
                self.add_message(entry, session, place, flags, Role::System, Kind::ApiError, b"");
            }
            b"attachment" if entry.attachment == b"queued_command" => {
                let kind = if entry.command_mode == b"prompt" || entry.command_mode.is_empty() {
                    Kind::Prompt
                } else {
                    Kind::Notification
                };
                self.add_message(entry, session, place, flags, Role::User, kind, entry.text);
            }
            b"attachment"
                if entry.attachment.starts_with(b"hook_") && entry.attachment != b"hook_success" =>
            {
                self.add_message(entry, session, place, flags, Role::System, Kind::Hook, b"");
            }
            _ if copied => {}
            _ => self.survey.record_time(session, entry.timestamp),
        }
        if session == 0 && !entry.uuid.is_empty() {
            self.survey.add_entry(entry.uuid, entry.parent, entry.logical_parent);
        }
    }

    /// The session an entry belongs to: the file's own, or one created for a subagent's chain inside it.
    fn session_of_entry(&mut self, entry: &Entry<'_>) -> u32 {
        if self.is_agent_file || !entry.sidechain {
            return 0;
        }
        let id = record::event_key(b'e', &[entry.uuid]);
        let parent = self.sidechains.get(&record::event_key(b'e', &[entry.parent])).copied();
        let session = parent.unwrap_or_else(|| self.start_sidechain(entry));
        self.sidechains.insert(id, session);
        session
    }

    fn start_sidechain(&mut self, entry: &Entry<'_>) -> u32 {
        let main = self.survey.session_mut(0).clone();
        let mut session = Session::new("claude-code", &main.session_id);
        session.parent_session_id = Some(main.session_id);
        let name = json::decode_string(&entry.uuid[..entry.uuid.len().min(8)]);
        session.agent_id = Some(Arc::from(name.as_str()));
        (session.cwd, session.project) = (main.cwd, main.project);
        (session.git_branch, session.version) = (main.git_branch, main.version);
        self.survey.add_session(session)
    }

    fn add_assistant(&mut self, entry: &Entry<'_>, session: u32, place: u64, flags: u8) {
        self.message_counts[1] += 1;
        let kind = if entry.api_error { Kind::ApiError } else { Kind::Reply };
        let id = if entry.message_id.is_empty() { entry.uuid } else { entry.message_id };
        self.survey.add_message(MessageEntry {
            session,
            role: Role::Assistant,
            kind,
            id,
            at: entry.timestamp,
            place,
            text: b"",
            model: entry.model,
            tokens: entry.tokens,
            flags,
        });
        for block in &entry.blocks {
            if block.kind == b"tool_use" {
                self.survey.add_call(session, block.id, block.name, entry.timestamp, place, flags);
            }
        }
    }

    fn add_user(&mut self, entry: &Entry<'_>, session: u32, place: u64, flags: u8) {
        self.message_counts[0] += 1;
        let mut results = false;
        for block in entry.blocks.iter().filter(|b| b.kind == b"tool_result") {
            results = true;
            let status = if block.is_error || (!block.has_is_error && entry.result_is_error) {
                Status::Error
            } else {
                Status::Success
            };
            self.survey.add_result(block.id, status, entry.timestamp, place);
        }
        if results && entry.text.is_empty() {
            self.survey.record_time(session, entry.timestamp);
            return;
        }
        let kind = kind::kind_of_user_entry(entry);
        if self.is_agent_file && entry.text == b"Warmup" {
            self.message_counts[0] = u32::MAX / 2;
        }
        self.add_message(entry, session, place, flags, Role::User, kind, entry.text);
    }

    #[allow(clippy::too_many_arguments)] // the fields of one message
    fn add_message(
        &mut self,
        entry: &Entry<'_>,
        session: u32,
        place: u64,
        flags: u8,
        role: Role,
        kind: Kind,
        text: &[u8],
    ) {
        let (id, at, tokens) = (entry.uuid, entry.timestamp, Tokens::ZERO);
        self.survey.add_message(MessageEntry {
            session,
            role,
            kind,
            id,
            at,
            place,
            text,
            model: b"",
            tokens,
            flags,
        });
    }

    /// 2.0.57 to 2.1.1 leave an `agent-` file for each warm-up call: the word "Warmup" and a reply, or in the
    /// oldest the reply alone.
    fn flag_warm_up(self) {
        let [users, replies] = self.message_counts;
        let lone = self.is_agent_file && users == 0 && replies == 1;
        if users >= u32::MAX / 2 || lone {
            self.survey.flag_buffered_rows(WARM_UP);
        }
    }
}

impl<'a> LineParser<'a> for Walk<'_, 'a> {
    fn survey_mut(&mut self) -> &mut Survey<'a> {
        self.survey
    }

    fn parse_line(&mut self, bytes: &[u8], start: usize, base: u64) -> JsonResult<usize> {
        let (entry, parsed) = Entry::parse(bytes, start, self.survey.options)?;
        let end =
            if entry.is_complete { parsed } else { record_end(bytes, start, parsed).ok_or(Malformed)? };
        self.survey.coverage_mut().lines += 1;
        self.handle_entry(&entry, base + start as u64, &bytes[start..end]);
        Ok(end)
    }

    fn is_record(&self, object: &[u8]) -> bool {
        entry::is_record(object)
    }
}

/// 1.0.30 resumes into a new file under new IDs; 1.0.90 and all later versions seen copy entries unchanged.
fn copies_keep_ids(version: &[u8]) -> bool {
    let mut parts = version.split(|b| *b == b'.').map(|part| {
        part.iter()
            .take_while(|b| b.is_ascii_digit())
            .fold(0, |n: u32, b| n.saturating_mul(10) + u32::from(b - b'0'))
    });
    std::array::from_fn(|_| parts.next().unwrap_or(0)) >= [1, 0, 90]
}

/// If a client could not reach its model, it stored the error message as the title.
fn is_refusal(title: &str) -> bool {
    ["Invalid API key", "API Error", "Credit balance is too low"].iter().any(|start| title.starts_with(start))
}

static SPLICED: LazyLock<memmem::Finder<'static>> =
    LazyLock::new(|| memmem::Finder::new(b"{\"parentUuid\":"));

/// The end of a line of which only the head was parsed; None if it is not a complete record. It is complete
/// if it ends like a record and no other is spliced into it: an unescaped `{"parentUuid":` cannot occur
/// inside a string. In doubt, and for a last line that may be half written, all of it is scanned.
fn record_end(bytes: &[u8], start: usize, parsed: usize) -> Option<usize> {
    let end = records::line_end(bytes, parsed);
    let rest = &bytes[parsed.min(end)..end];
    let ended = end < bytes.len() && rest.trim_ascii_end().ends_with(b"}");
    if ended && SPLICED.find(rest).is_none() {
        return Some(end);
    }
    let mut cursor = json::Cursor::new(&bytes[..end], start);
    (cursor.skip_value().is_ok() && cursor.at_line_end()).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_versions_copy_entries_unchanged() {
        for (version, keeps_ids) in [
            ("", false),
            ("0.2.114", false),
            ("1.0.30", false),
            ("1.0.90", true),
            ("1.1", true),
            ("2.0.0-beta.1", true),
        ] {
            assert_eq!(copies_keep_ids(version.as_bytes()), keeps_ids, "{version}");
        }
    }

    #[test]
    fn folder_names_are_encoded_as_claude_does() {
        for (path, folder) in [
            ("/home/dev/work/cc-2.1.325/paths/My Project", "-home-dev-work-cc-2-1-325-paths-My-Project"),
            ("/p/emoji🚀dir", "-p-emoji--dir"),
            ("/p/日本語", "-p----"),
        ] {
            assert_eq!(encode_project_path(path), folder);
        }
    }
}
