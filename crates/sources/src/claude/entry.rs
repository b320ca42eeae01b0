//! One line of a Claude Code transcript: the few fields that matter, read in one lazy pass.
//!
//! Does not rely on key order (`read_message` precedes `type` in replies), and stops early on most lines:
//! `toolUseResult`, two fifths of all bytes, repeats the content of the message.

use crate::json::{Cursor, JsonResult};
use crate::survey::SurveyOptions;
use record::{Stamp, Tokens};

/// Types without conversation content.
pub(super) const IGNORED: &[&[u8]] = &[
    b"api-request",
    b"api-request-blob",
    b"api-request-shape",
    b"atis-latch",
    b"cost-state",
    b"file-history-delta",
    b"file-history-snapshot",
    b"last-prompt",
    b"mode",
    b"permission-mode",
    b"progress",
    b"queue-operation",
    b"tools-used",
];

const UNDERSTOOD: &[&[u8]] = &[
    b"user",
    b"assistant",
    b"system",
    b"attachment",
    b"summary",
    b"custom-title",
    b"agent-name",
    b"worktree-state",
];

/// Known top-level fields of a conversation entry; others are reported by `loci sources`.
const KNOWN_FIELDS: &[&str] = &[
    "agentId",
    "agentName",
    "apiBlockIndex",
    "apiErrorIsTransient",
    "apiErrorStatus",
    "apiErrorType",
    "api_refusal_category",
    "attachment",
    "attributionAgent",
    "attributionMcpServer",
    "attributionMcpTool",
    "attributionPlugin",
    "attributionSkill",
    "cause",
    "commandRun",
    "compactMetadata",
    "content",
    "costUSD",
    "customTitle",
    "cwd",
    "durationMs",
    "effort",
    "entrypoint",
    "error",
    "errorDetails",
    "failedResponseHadNoToolCall",
    "forkedFrom",
    "gitBranch",
    "hasOutput",
    "hookAdditionalContext",
    "hookCount",
    "hookErrors",
    "hookInfos",
    "imagePasteIds",
    "interruptedMessageId",
    "isAbortedMidStream",
    "isApiErrorMessage",
    "isCompactSummary",
    "isMeta",
    "isSidechain",
    "isVisibleInTranscriptOnly",
    "leafUuid",
    "level",
    "logicalParentUuid",
    "madeBy",
    "maxRetries",
    "mcpCallNotReadOnly",
    "mcpMeta",
    "message",
    "messageCount",
    "origin",
    "parentUuid",
    "perTurnEffort",
    "permissionDecision",
    "permissionMode",
    "preventContinuation",
    "preventedContinuation",
    "promptCacheRequested",
    "promptId",
    "promptSource",
    "promptSubmitEnding",
    "queueSkipAttachments",
    "refusedMessageId",
    "rendered",
    "renderedBesideToolResult",
    "renderedInHumanTurn",
    "renderedRole",
    "repeatsCompactSummary",
    "requestId",
    "requestRef",
    "requestedModel",
    "retryAttempt",
    "retryInMs",
    "sandboxed",
    "serverClassifierRequest",
    "sessionId",
    "session_id",
    "slug",
    "source",
    "sourceToolAssistantUUID",
    "sourceToolUseID",
    "stopReason",
    "subtype",
    "summary",
    "thinkingDisplay",
    "thinkingDurationMs",
    "thinkingMetadata",
    "timestamp",
    "todos",
    "toolDenialKind",
    "toolEndsTurn",
    "toolInputStreamMs",
    "toolUseID",
    "toolUseResult",
    "turnCompanion",
    "turnOrigin",
    "turnPosition",
    "type",
    "userType",
    "uuid",
    "version",
    "worktreeSession",
];

#[derive(Clone, Copy, Default)]
pub(super) struct Block<'a> {
    pub(super) kind: &'a [u8],
    pub(super) id: &'a [u8],
    pub(super) name: &'a [u8],
    pub(super) is_error: bool,
    /// Whether `is_error` is present at all.
    pub(super) has_is_error: bool,
}

#[derive(Default)]
pub(super) struct Entry<'a> {
    pub(super) kind: &'a [u8],
    pub(super) subtype: &'a [u8],
    pub(super) uuid: &'a [u8],
    pub(super) parent: &'a [u8],
    pub(super) logical_parent: &'a [u8],
    pub(super) timestamp: Stamp,
    pub(super) session_id: &'a [u8],
    pub(super) cwd: &'a [u8],
    pub(super) git_branch: &'a [u8],
    pub(super) version: &'a [u8],
    pub(super) sidechain: bool,
    pub(super) meta: bool,
    pub(super) compact_summary: bool,
    pub(super) api_error: bool,
    pub(super) forked: bool,
    pub(super) turn_origin: &'a [u8],
    pub(super) message_id: &'a [u8],
    pub(super) model: &'a [u8],
    pub(super) tokens: Tokens,
    pub(super) blocks: Vec<Block<'a>>,
    /// The first text of a user message, still escaped.
    pub(super) text: &'a [u8],
    pub(super) result_is_error: bool,
    pub(super) attachment: &'a [u8],
    pub(super) command_mode: &'a [u8],
    pub(super) unknown_fields: Vec<&'a [u8]>,
    /// Whether the parser reached the end of the record, and the record the end of its line.
    pub(super) is_complete: bool,
}

impl<'a> Entry<'a> {
    /// Parses the record at `at`; returns how far it read.
    pub(super) fn parse(bytes: &'a [u8], at: usize, want: SurveyOptions) -> JsonResult<(Entry<'a>, usize)> {
        let mut cursor = Cursor::new(bytes, at);
        let mut entry = Entry::default();
        cursor.enter_object()?;
        while let Some(key) = cursor.next_key()? {
            if want.fields && !KNOWN_FIELDS.iter().any(|known| known.as_bytes() == key) {
                entry.unknown_fields.push(key);
            }
            if !entry.read_field(key, &mut cursor, want)? && !want.fields {
                return Ok((entry, cursor.at));
            }
        }
        entry.is_complete = cursor.at_line_end();
        if entry.is_complete { Ok((entry, cursor.at)) } else { Err(crate::json::Malformed) }
    }

    /// Reads one value. False: nothing relevant can follow.
    fn read_field(&mut self, key: &[u8], cursor: &mut Cursor<'a>, want: SurveyOptions) -> JsonResult<bool> {
        match key {
            b"type" => {
                self.kind = cursor.string_or_skip()?;
                // The type comes first in a sidecar line, so its body is skipped unread.
                return Ok(!IGNORED.contains(&self.kind) || self.kind == b"queue-operation");
            }
            b"subtype" => self.subtype = cursor.string_or_skip()?,
            b"uuid" => self.uuid = cursor.string_or_skip()?,
            b"parentUuid" => self.parent = cursor.string_or_skip()?,
            b"logicalParentUuid" => self.logical_parent = cursor.string_or_skip()?,
            b"timestamp" => self.timestamp = Stamp::parse(cursor.string_or_skip()?),
            b"sessionId" => self.session_id = cursor.string_or_skip()?,
            b"cwd" => self.cwd = cursor.string_or_skip()?,
            b"gitBranch" => self.git_branch = cursor.string_or_skip()?,
            b"version" => self.version = cursor.string_or_skip()?,
            b"turnOrigin" => self.turn_origin = cursor.string_or_skip()?,
            b"isSidechain" => self.sidechain = cursor.read_bool()?,
            b"isMeta" => self.meta = cursor.read_bool()?,
            b"isCompactSummary" => self.compact_summary = cursor.read_bool()?,
            b"isApiErrorMessage" => self.api_error = cursor.read_bool()?,
            b"forkedFrom" => {
                cursor.skip_value()?;
                self.forked = true;
            }
            b"message" => self.read_message(cursor, want)?,
            b"attachment" => self.read_attachment(cursor)?,
            b"toolUseResult" => return self.read_tool_use_result(cursor, want),
            _ => drop(cursor.skip_value()?),
        }
        Ok(true)
    }

    /// The structured result. The survey only needs to know whether it is an error text. Nothing follows it
    /// except session properties that other lines repeat.
    fn read_tool_use_result(&mut self, cursor: &mut Cursor<'a>, want: SurveyOptions) -> JsonResult<bool> {
        if cursor.peek() == b'"' {
            self.result_is_error = cursor.read_string()?.starts_with(b"Error");
            return Ok(true);
        }
        if !want.fields && self.timestamp.is_some() && !self.uuid.is_empty() && !self.blocks.is_empty() {
            return Ok(false);
        }
        cursor.skip_value()?;
        Ok(true)
    }

    fn read_message(&mut self, cursor: &mut Cursor<'a>, want: SurveyOptions) -> JsonResult<()> {
        cursor.enter_object()?;
        while let Some(key) = cursor.next_key()? {
            match key {
                b"id" => self.message_id = cursor.string_or_skip()?,
                b"model" => self.model = cursor.string_or_skip()?,
                b"content" => self.read_content(cursor)?,
                b"usage" if want.messages => self.tokens = read_usage(cursor)?,
                _ => drop(cursor.skip_value()?),
            }
        }
        Ok(())
    }

    fn read_content(&mut self, cursor: &mut Cursor<'a>) -> JsonResult<()> {
        if !cursor.enter_array() {
            self.text = cursor.string_or_skip()?;
            return Ok(());
        }
        while cursor.next_item()? {
            if cursor.peek() != b'{' {
                cursor.skip_value()?;
                continue;
            }
            self.read_block(cursor)?;
        }
        Ok(())
    }

    fn read_block(&mut self, cursor: &mut Cursor<'a>) -> JsonResult<()> {
        let mut block = Block::default();
        let mut text: &[u8] = b"";
        cursor.enter_object()?;
        while let Some(key) = cursor.next_key()? {
            match key {
                b"type" => block.kind = cursor.string_or_skip()?,
                b"id" | b"tool_use_id" => block.id = cursor.string_or_skip()?,
                b"name" => block.name = cursor.string_or_skip()?,
                b"text" => text = cursor.string_or_skip()?,
                b"is_error" => (block.is_error, block.has_is_error) = (cursor.read_bool()?, true),
                _ => drop(cursor.skip_value()?),
            }
        }
        if block.kind == b"text" && self.text.is_empty() {
            self.text = text;
        }
        self.blocks.push(block);
        Ok(())
    }

    fn read_attachment(&mut self, cursor: &mut Cursor<'a>) -> JsonResult<()> {
        if cursor.peek() != b'{' {
            cursor.skip_value()?;
            return Ok(());
        }
        cursor.enter_object()?;
        while let Some(key) = cursor.next_key()? {
            match key {
                b"type" => self.attachment = cursor.string_or_skip()?,
                b"commandMode" => self.command_mode = cursor.string_or_skip()?,
                b"prompt" if self.attachment == b"queued_command" => {
                    let mut inner = cursor.clone();
                    cursor.skip_value()?;
                    self.read_content(&mut inner)?;
                }
                _ => drop(cursor.skip_value()?),
            }
        }
        Ok(())
    }
}

fn read_usage(cursor: &mut Cursor<'_>) -> JsonResult<Tokens> {
    let mut tokens = Tokens::ZERO;
    if cursor.peek() != b'{' {
        cursor.skip_value()?;
        return Ok(tokens);
    }
    cursor.enter_object()?;
    while let Some(key) = cursor.next_key()? {
        match key {
            b"input_tokens" => tokens.input = cursor.read_number()? as u32,
            b"output_tokens" => tokens.output = cursor.read_number()? as u32,
            b"cache_read_input_tokens" => tokens.cache_read = cursor.read_number()? as u32,
            b"cache_creation_input_tokens" => tokens.cache_write = cursor.read_number()? as u32,
            b"cache_creation" => {
                let detail = cursor.skip_value()?;
                let hour = crate::json::get_value(detail, b"ephemeral_1h_input_tokens").unwrap_or(b"0");
                tokens.cache_write_1h = Cursor::new(hour, 0).read_number()? as u32;
            }
            _ => drop(cursor.skip_value()?),
        }
    }
    Ok(tokens)
}

/// Whether a complete JSON object, found inside a damaged line, is an entry and not an inner value.
pub(super) fn is_record(object: &[u8]) -> bool {
    let Ok((entry, _)) = Entry::parse(object, 0, SurveyOptions { fields: true, ..SurveyOptions::default() })
    else {
        return false;
    };
    if UNDERSTOOD[..4].contains(&entry.kind) {
        return !entry.uuid.is_empty() && entry.timestamp.is_some();
    }
    (IGNORED.contains(&entry.kind) || UNDERSTOOD.contains(&entry.kind))
        && (!entry.session_id.is_empty() || crate::json::get_value(object, b"leafUuid").is_some())
}
