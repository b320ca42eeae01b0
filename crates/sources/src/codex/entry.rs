//! One line of a Codex rollout: the few fields that matter, read in one lazy pass.
//!
//! Up to 0.21 a line is the item itself; later it is wrapped as `{timestamp, type, payload}`. Does not know
//! the meaning of an item: that is the survey's job.

use crate::json::{self, Cursor, JsonResult};
use crate::survey::SurveyOptions;
use record::Stamp;

/// How a type is treated, before its body is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    Understood,
    Ignored,
    Unknown,
}

const ITEMS: &[&[u8]] = &[
    b"message",
    b"function_call",
    b"function_call_output",
    b"custom_tool_call",
    b"custom_tool_call_output",
    b"local_shell_call",
    b"web_search_call",
    b"image_generation_call",
    b"tool_search_call",
    b"tool_search_output",
];

const IGNORED_ITEMS: &[&[u8]] = &[
    b"additional_tools",
    b"agent_message",
    b"compaction",
    b"compaction_summary",
    b"compaction_trigger",
    b"context_compaction",
    b"ghost_snapshot",
    b"other",
    b"reasoning",
];

const EVENTS: &[&[u8]] = &[
    b"user_message",
    b"agent_message",
    b"token_count",
    b"turn_aborted",
    b"error",
    b"stream_error",
    b"task_started",
    b"turn_started",
    b"task_complete",
    b"turn_complete",
    b"patch_apply_end",
    b"mcp_tool_call_end",
    b"exec_command_end",
    b"thread_name_updated",
    b"thread_rolled_back",
];

const IGNORED_EVENTS: &[&[u8]] = &[
    b"agent_reasoning",
    b"agent_reasoning_raw_content",
    b"agent_reasoning_section_break",
    b"background_event",
    b"collab_agent_interaction_end",
    b"collab_agent_spawn_end",
    b"collab_close_end",
    b"collab_resume_end",
    b"collab_waiting_end",
    b"context_compacted",
    b"deprecation_notice",
    b"dynamic_tool_call_request",
    b"dynamic_tool_call_response",
    b"entered_review_mode",
    b"exited_review_mode",
    b"guardian_assessment",
    b"hook_completed",
    b"hook_started",
    b"image_generation_end",
    b"item_started",
    b"model_reroute",
    b"model_verification",
    b"plan_update",
    b"request_user_input",
    b"shutdown_complete",
    b"sub_agent_activity",
    b"thread_goal_updated",
    b"thread_settings_applied",
    b"turn_diff",
    b"undo_completed",
    b"view_image_tool_call",
    b"warning",
    b"web_search_end",
];

const COMPLETED: &[&[u8]] = &[
    b"UserMessage",
    b"AgentMessage",
    b"CommandExecution",
    b"FileChange",
    b"McpToolCall",
    b"DynamicToolCall",
    b"CollabAgentToolCall",
];

const IGNORED_COMPLETED: &[&[u8]] = &[
    b"ContextCompaction",
    b"EnteredReviewMode",
    b"ExitedReviewMode",
    b"HookPrompt",
    b"ImageGeneration",
    b"ImageView",
    b"Plan",
    b"Reasoning",
    b"SubAgentActivity",
    b"WebSearch",
];

/// Known top-level fields of a line; others are reported by `loci sources`.
const KNOWN_FIELDS: &[&[u8]] = &[
    b"timestamp",
    b"ordinal",
    b"type",
    b"payload",
    b"metadata",
    b"record_type",
    b"id",
    b"instructions",
    b"git",
    b"role",
    b"content",
    b"summary",
    b"encrypted_content",
    b"name",
    b"arguments",
    b"call_id",
    b"output",
    b"input",
    b"status",
    b"action",
];

/// A payload, or in the oldest format the line itself. Values are raw bytes of the file; strings without
/// quotes.
#[derive(Default)]
pub(super) struct Item<'a> {
    pub(super) kind: &'a [u8],
    pub(super) id: &'a [u8],
    pub(super) role: &'a [u8],
    pub(super) call_id: &'a [u8],
    pub(super) name: &'a [u8],
    pub(super) namespace: &'a [u8],
    pub(super) status: &'a [u8],
    pub(super) turn_id: &'a [u8],
    pub(super) response_id: &'a [u8],
    pub(super) message: &'a [u8],
    pub(super) reason: &'a [u8],
    pub(super) message_kind: &'a [u8],
    pub(super) cwd: &'a [u8],
    pub(super) model: &'a [u8],
    pub(super) version: &'a [u8],
    pub(super) forked_from: &'a [u8],
    pub(super) parent: &'a [u8],
    pub(super) nickname: &'a [u8],
    pub(super) thread_name: &'a [u8],
    pub(super) timestamp: &'a [u8],
    pub(super) record_type: &'a [u8],
    // Of any type, including quotes.
    pub(super) content: &'a [u8],
    pub(super) arguments: &'a [u8],
    pub(super) input: &'a [u8],
    pub(super) action: &'a [u8],
    pub(super) output: &'a [u8],
    pub(super) images: &'a [u8],
    pub(super) local_images: &'a [u8],
    pub(super) info: &'a [u8],
    pub(super) usage: &'a [u8],
    pub(super) completed: &'a [u8],
    pub(super) git: &'a [u8],
    pub(super) source: &'a [u8],
    pub(super) error: &'a [u8],
    pub(super) result: &'a [u8],
    pub(super) success: &'a [u8],
    pub(super) exit_code: &'a [u8],
    pub(super) num_turns: &'a [u8],
}

impl<'a> Item<'a> {
    pub(super) fn parse(object: &'a [u8]) -> JsonResult<Item<'a>> {
        let mut item = Item::default();
        item.read_fields(&mut Cursor::new(object, 0))?;
        Ok(item)
    }

    fn read_fields(&mut self, cursor: &mut Cursor<'a>) -> JsonResult<()> {
        cursor.enter_object()?;
        while let Some(key) = cursor.next_key()? {
            self.read_field(key, cursor)?;
        }
        Ok(())
    }

    fn read_field(&mut self, key: &[u8], cursor: &mut Cursor<'a>) -> JsonResult<()> {
        if let Some(slot) = self.string_slot(key) {
            *slot = cursor.string_or_skip()?;
            return Ok(());
        }
        let value = cursor.skip_value()?;
        if let Some(slot) = self.value_slot(key) {
            *slot = if value == b"null" { b"" } else { value };
        }
        Ok(())
    }

    fn string_slot(&mut self, key: &[u8]) -> Option<&mut &'a [u8]> {
        Some(match key {
            b"type" => &mut self.kind,
            b"id" => &mut self.id,
            b"role" => &mut self.role,
            b"call_id" => &mut self.call_id,
            b"name" => &mut self.name,
            b"namespace" => &mut self.namespace,
            b"status" => &mut self.status,
            b"turn_id" => &mut self.turn_id,
            b"response_id" => &mut self.response_id,
            b"message" => &mut self.message,
            b"reason" => &mut self.reason,
            b"kind" => &mut self.message_kind,
            b"cwd" => &mut self.cwd,
            b"model" => &mut self.model,
            b"cli_version" => &mut self.version,
            b"forked_from_id" => &mut self.forked_from,
            b"parent_thread_id" => &mut self.parent,
            b"agent_nickname" => &mut self.nickname,
            b"thread_name" => &mut self.thread_name,
            b"timestamp" => &mut self.timestamp,
            b"record_type" => &mut self.record_type,
            _ => return None,
        })
    }

    fn value_slot(&mut self, key: &[u8]) -> Option<&mut &'a [u8]> {
        Some(match key {
            b"content" => &mut self.content,
            b"arguments" => &mut self.arguments,
            b"input" => &mut self.input,
            b"action" => &mut self.action,
            b"output" => &mut self.output,
            b"images" => &mut self.images,
            b"local_images" => &mut self.local_images,
            b"info" => &mut self.info,
            b"usage" => &mut self.usage,
            b"item" => &mut self.completed,
            b"git" => &mut self.git,
            b"source" => &mut self.source,
            b"error" => &mut self.error,
            b"result" => &mut self.result,
            b"success" => &mut self.success,
            b"exit_code" => &mut self.exit_code,
            b"num_turns" => &mut self.num_turns,
            _ => return None,
        })
    }

    /// The name of a tool; a server of the Model Context Protocol is written as a namespace.
    pub(super) fn tool_name(&self) -> Vec<u8> {
        let name: &[u8] = match self.kind {
            b"local_shell_call" => b"local_shell",
            b"web_search_call" => b"web_search",
            b"image_generation_call" => b"image_generation",
            b"tool_search_call" => b"tool_search",
            _ => self.name,
        };
        let server = self.namespace.strip_suffix(b"__").unwrap_or(self.namespace);
        if !server.starts_with(b"mcp__") || name.starts_with(b"mcp__") {
            return name.to_vec();
        }
        [server, b"__", name].concat()
    }
}

#[derive(Default)]
pub(super) struct Entry<'a> {
    /// Empty in the oldest format, whose lines are bare items.
    pub(super) kind: &'a [u8],
    pub(super) at: Stamp,
    pub(super) item: Item<'a>,
    pub(super) unknown_fields: Vec<&'a [u8]>,
}

impl<'a> Entry<'a> {
    /// Parses the record at `at`, which must fill its line; returns how far it read.
    pub(super) fn parse(bytes: &'a [u8], at: usize, want: SurveyOptions) -> JsonResult<(Entry<'a>, usize)> {
        let mut cursor = Cursor::new(bytes, at);
        let (mut entry, mut wrapped) = (Entry::default(), false);
        cursor.enter_object()?;
        while let Some(key) = cursor.next_key()? {
            if want.fields && !KNOWN_FIELDS.contains(&key) {
                entry.unknown_fields.push(key);
            }
            match key {
                b"type" => entry.kind = cursor.string_or_skip()?,
                b"payload" if cursor.peek() == b'{' => {
                    wrapped = true;
                    entry.item = Item::default();
                    entry.item.read_fields(&mut cursor)?;
                }
                b"timestamp" => {
                    let text = cursor.string_or_skip()?;
                    entry.at = Stamp::parse(text);
                    if !wrapped {
                        entry.item.timestamp = text;
                    }
                }
                b"payload" | b"ordinal" | b"metadata" => drop(cursor.skip_value()?),
                _ if wrapped => drop(cursor.skip_value()?),
                _ => entry.item.read_field(key, &mut cursor)?,
            }
        }
        if !wrapped {
            (entry.item.kind, entry.kind) = (entry.kind, b"");
        }
        if cursor.at_line_end() { Ok((entry, cursor.at)) } else { Err(json::Malformed) }
    }

    /// The first line of the oldest format names the session and has no type.
    pub(super) fn is_bare_head(&self) -> bool {
        self.kind.is_empty() && self.item.kind.is_empty() && !self.item.id.is_empty()
    }

    pub(super) fn classify(&self) -> Class {
        let item = self.item.kind;
        match self.kind {
            b"session_meta" | b"turn_context" | b"compacted" | b"token_usage_record" => Class::Understood,
            b"world_state" | b"inter_agent_communication" | b"inter_agent_communication_metadata" => {
                Class::Ignored
            }
            b"event_msg" if item == b"item_completed" => {
                classify_kind(self.completed_kind(), COMPLETED, IGNORED_COMPLETED)
            }
            b"event_msg" => classify_kind(item, EVENTS, IGNORED_EVENTS),
            b"" if self.is_bare_head() => Class::Understood,
            b"" if !self.item.record_type.is_empty() => Class::Ignored,
            b"response_item" | b"" => classify_kind(item, ITEMS, IGNORED_ITEMS),
            _ => Class::Unknown,
        }
    }

    /// The name under which an unknown type is reported.
    pub(super) fn type_name(&self) -> String {
        let inner = if self.item.kind == b"item_completed" { self.completed_kind() } else { self.item.kind };
        match (json::decode_string(self.kind), json::decode_string(inner)) {
            (kind, inner) if inner.is_empty() => kind,
            (kind, inner) if kind.is_empty() => inner,
            (kind, inner) => format!("{kind}/{inner}"),
        }
    }

    /// Codex's own ID of the line, if any: rows are created and found again by it.
    pub(super) fn own_id(&self) -> &'a [u8] {
        let item = &self.item;
        match (self.kind, item.kind) {
            (b"token_usage_record", _) => item.response_id,
            (b"event_msg", b"item_completed") => {
                json::get_value(item.completed, b"id").map_or(b"", json::strip_quotes)
            }
            (b"event_msg", _) => item.turn_id,
            _ if !item.call_id.is_empty() => item.call_id,
            _ => item.id,
        }
    }

    fn completed_kind(&self) -> &'a [u8] {
        json::get_value(self.item.completed, b"type").map_or(b"", json::strip_quotes)
    }
}

fn classify_kind(kind: &[u8], understood: &[&[u8]], ignored: &[&[u8]]) -> Class {
    match kind {
        kind if understood.contains(&kind) => Class::Understood,
        kind if ignored.contains(&kind) => Class::Ignored,
        _ => Class::Unknown,
    }
}

/// Whether a complete JSON object, found inside a damaged line, is a line of its own. Bare items of the
/// oldest format cannot be distinguished from the inner values of a broken line and are not salvaged.
pub(super) fn is_record(object: &[u8]) -> bool {
    let Ok((entry, _)) = Entry::parse(object, 0, SurveyOptions::default()) else { return false };
    !entry.kind.is_empty() && entry.at.is_some() && entry.classify() != Class::Unknown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_line(line: &str) -> Entry<'_> {
        Entry::parse(line.as_bytes(), 0, SurveyOptions { fields: true, ..SurveyOptions::default() })
            .unwrap()
            .0
    }

    #[test]
    fn wrapped_and_bare_lines_contain_the_same_item() {
        let bare = parse_line(r#"{"type":"message","id":null,"role":"user","content":[]}"#);
        let wrapped = parse_line(
            r#"{"timestamp":"2026-11-14T23:29:42.093Z","type":"response_item","payload":{"type":"message","role":"user","content":[]}}"#,
        );
        for entry in [&bare, &wrapped] {
            assert_eq!((entry.item.kind, entry.item.role), (&b"message"[..], &b"user"[..]));
            assert_eq!(entry.classify(), Class::Understood);
            assert!(entry.unknown_fields.is_empty());
        }
        assert!(wrapped.at.is_some() && !bare.at.is_some());
    }

    #[test]
    fn types_are_known_or_named() {
        for (line, class, name) in [
            (r#"{"id":"a","timestamp":"t","git":{}}"#, Class::Understood, ""),
            (r#"{"record_type":"state"}"#, Class::Ignored, ""),
            (r#"{"type":"novel","payload":{"type":"x"}}"#, Class::Unknown, "novel/x"),
            (r#"{"type":"event_msg","payload":{"type":"y"}}"#, Class::Unknown, "event_msg/y"),
            (
                r#"{"type":"event_msg","payload":{"type":"item_completed","item":{"type":"Zed"}}}"#,
                Class::Unknown,
                "event_msg/Zed",
            ),
            (r#"{"type":"thing"}"#, Class::Unknown, "thing"),
        ] {
            let entry = parse_line(line);
            assert_eq!(entry.classify(), class, "{line}");
            if class == Class::Unknown {
                assert_eq!(entry.type_name(), name);
            }
        }
    }

    #[test]
    fn servers_are_part_of_the_tool_name() {
        for (name, namespace, tool) in [
            ("recall", "mcp__mem", "mcp__mem__recall"),
            ("recall", "mcp__mem__", "mcp__mem__recall"),
            ("mcp__mem__recall", "", "mcp__mem__recall"),
            ("spawn_agent", "multi_agent_v1", "spawn_agent"),
        ] {
            let item = Item { name: name.as_bytes(), namespace: namespace.as_bytes(), ..Item::default() };
            assert_eq!(item.tool_name(), tool.as_bytes());
        }
    }
}
