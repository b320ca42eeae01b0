//! The table of tools that agents can call: name, tool sets, and the view or operation behind each.
//!
//! Does not describe parameters: a tool has those of its view or operation, under the same names.

use crate::control::Control;
use crate::operation::Operation;
use crate::operations::OPERATIONS;
use crate::params::Param;
use crate::toolsets::Set;
use crate::view_request::ViewRequest;
use crate::views::{VIEWS, View, view_named};

pub struct Tool {
    pub name: &'static str,
    pub sets: &'static [Set],
    /// One line: an agent pays for every word of it in every session.
    pub about: &'static str,
    pub asks: ToolTarget,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ToolTarget {
    /// A view, limited to the current project by default.
    View(&'static str, &'static str),
    /// The same view, limited to the calling session.
    OwnSession(&'static str, &'static str),
    /// The view named by the parameter `view`.
    AnyView,
    /// The operation with the tool's name.
    Operation,
}

const CHAT: &[Set] = &[Set::Chat];
const CORE_CHAT: &[Set] = &[Set::Core, Set::Chat];
const CORE_HISTORY: &[Set] = &[Set::Core, Set::History];
const CORE_CODE: &[Set] = &[Set::Core, Set::Code];
const CORE_MEMORY: &[Set] = &[Set::Core, Set::Memory];
const CODE_MEMORY: &[Set] = &[Set::Code, Set::Memory];
const HISTORY: &[Set] = &[Set::History];
const CODE: &[Set] = &[Set::Code];
const EDIT: &[Set] = &[Set::Edit];
const AGENTS: &[Set] = &[Set::Agents];
const MEMORY: &[Set] = &[Set::Memory];
const EVERY: &[Set] = &[Set::Core, Set::Chat, Set::History, Set::Code, Set::Edit, Set::Memory, Set::Agents];

const fn tool_row(name: &'static str, sets: &'static [Set], asks: ToolTarget, about: &'static str) -> Tool {
    Tool { name, sets, about, asks }
}

pub const TOOLS: &[Tool] = &[
    tool_row(
        "search_conversations",
        CORE_CHAT,
        ToolTarget::Operation,
        "Search past conversations in all projects. Follow guidance.nextActions; then gather_chats.",
    ),
    tool_row("gather_chats", CORE_CHAT, ToolTarget::Operation, "Read sessions by ID."),
    tool_row("resolve_ids", CHAT, ToolTarget::Operation, "Look up sessions and messages by ID prefix."),
    tool_row("list_sessions", CORE_CHAT, ToolTarget::Operation, "List sessions, newest first."),
    tool_row("query_tools", HISTORY, ToolTarget::View("query", "tools"), "List tool calls of this project."),
    tool_row(
        "query_tools_session",
        HISTORY,
        ToolTarget::OwnSession("query", "tools"),
        "List tool calls of this session.",
    ),
    tool_row(
        "query_user_messages",
        HISTORY,
        ToolTarget::View("query", "user-messages"),
        "List user prompts of this project.",
    ),
    tool_row(
        "query_user_messages_session",
        HISTORY,
        ToolTarget::OwnSession("query", "user-messages"),
        "List user prompts of this session.",
    ),
    tool_row("get_stats", HISTORY, ToolTarget::View("", "stats"), "Count sessions, turns, calls and errors."),
    tool_row(
        "get_session_stats",
        HISTORY,
        ToolTarget::OwnSession("", "stats"),
        "Count turns, calls and errors of this session.",
    ),
    tool_row(
        "query_errors",
        CORE_HISTORY,
        ToolTarget::View("query", "errors"),
        "List errors with their signatures.",
    ),
    tool_row(
        "query_tool_sequences",
        HISTORY,
        ToolTarget::View("analyze", "sequences"),
        "Find recurring sequences of tool calls.",
    ),
    tool_row(
        "query_file_access",
        HISTORY,
        ToolTarget::View("query", "file-access"),
        "List reads, edits and writes per file.",
    ),
    tool_row(
        "query_conversation",
        HISTORY,
        ToolTarget::View("query", "turns"),
        "List turns: prompt, tools, reply, duration.",
    ),
    tool_row(
        "query_context",
        HISTORY,
        ToolTarget::View("query", "context"),
        "Show the turns around an error.",
    ),
    tool_row(
        "recall",
        CODE_MEMORY,
        ToolTarget::Operation,
        "Before changing code: its outline, facts, last sessions and what failed.",
    ),
    tool_row("why", CORE_CODE, ToolTarget::Operation, "Which sessions made code, and why."),
    tool_row("query_history", CORE_HISTORY, ToolTarget::AnyView, "Run any view, such as `query edits`."),
    tool_row(
        "read_ref",
        EVERY,
        ToolTarget::Operation,
        "Read a saved result (file_ref) if you cannot open its path.",
    ),
    tool_row("cleanup_temp_files", HISTORY, ToolTarget::Operation, "Delete old saved results."),
    tool_row("get_outline", CORE_CODE, ToolTarget::Operation, "Outline a type, member or file."),
    tool_row("get_source", CORE_CODE, ToolTarget::Operation, "Show source by name or file:line."),
    tool_row("find_symbols", CORE_CODE, ToolTarget::Operation, "Find symbols by name, part of it or words."),
    tool_row(
        "find_usages",
        CORE_CODE,
        ToolTarget::Operation,
        "Find usages, callers, callees, subtypes or tests of a symbol.",
    ),
    tool_row("code_map", CODE, ToolTarget::Operation, "Show the most important symbols of the tree."),
    tool_row("code_graph", CODE, ToolTarget::Operation, "Draw the dependency graph (mermaid, dot, svg)."),
    tool_row(
        "get_semantic",
        CODE,
        ToolTarget::Operation,
        "Show the note about a type and whether it is stale.",
    ),
    tool_row(
        "investigate",
        CODE,
        ToolTarget::Operation,
        "Answer a question about the code. Returns an op; follow it with stream_op while it runs.",
    ),
    tool_row("stream_op", CODE, ToolTarget::Operation, "Show the progress and result of an investigation."),
    tool_row(
        "build_pack",
        CODE,
        ToolTarget::Operation,
        "Write outlines of matching types to one file, within a token budget.",
    ),
    tool_row("list_packs", CODE, ToolTarget::Operation, "List packs."),
    tool_row(
        "code_context",
        CODE,
        ToolTarget::Operation,
        "Show outlines of pinned, focused and recent types; pin, add or drop one.",
    ),
    tool_row(
        "index_code",
        CODE,
        ToolTarget::Operation,
        "Update the code index; list changed types by change class.",
    ),
    tool_row(
        "code_changes",
        CODE,
        ToolTarget::Operation,
        "List types changed since a commit, with dependents and tests to run.",
    ),
    tool_row("code_status", CODE, ToolTarget::Operation, "Show code index statistics."),
    tool_row(
        "rename_symbol",
        EDIT,
        ToolTarget::Operation,
        "Plan the rename of a symbol with all its uses; returns a diff and an ID for apply_edit.",
    ),
    tool_row(
        "replace_symbol",
        EDIT,
        ToolTarget::Operation,
        "Plan a new body or declaration; then apply_edit.",
    ),
    tool_row(
        "insert_code",
        EDIT,
        ToolTarget::Operation,
        "Plan text before, after or inside a symbol; then apply_edit.",
    ),
    tool_row(
        "delete_symbol",
        EDIT,
        ToolTarget::Operation,
        "Plan the removal of an unused symbol; then apply_edit.",
    ),
    tool_row(
        "change_signature",
        EDIT,
        ToolTarget::Operation,
        "Plan new, removed, reordered or renamed parameters with all calls; then apply_edit.",
    ),
    tool_row(
        "move_symbol",
        EDIT,
        ToolTarget::Operation,
        "Plan to move a type or function to another file; then apply_edit.",
    ),
    tool_row(
        "extract_interface",
        EDIT,
        ToolTarget::Operation,
        "Plan an interface or trait from members of a type; then apply_edit.",
    ),
    tool_row("batch_edit", EDIT, ToolTarget::Operation, "Plan several edits as one; then apply_edit."),
    tool_row("apply_edit", EDIT, ToolTarget::Operation, "Apply a planned edit to all its files, or to none."),
    tool_row("undo_edit", EDIT, ToolTarget::Operation, "Undo an applied edit."),
    tool_row("show_edit", EDIT, ToolTarget::Operation, "Show an edit with its diff."),
    tool_row("list_edits", EDIT, ToolTarget::Operation, "List applied edits."),
    tool_row(
        "dispatch",
        AGENTS,
        ToolTarget::Operation,
        "Send a message to another agent; returns its reply or a message ID.",
    ),
    tool_row("list_messages", AGENTS, ToolTarget::Operation, "List messages with their state and replies."),
    tool_row("list_agents", AGENTS, ToolTarget::Operation, "List agents that can receive messages."),
    tool_row(
        "recommend",
        CHAT,
        ToolTarget::Operation,
        "Suggest the session a prompt refers to, if one clearly fits.",
    ),
    tool_row("list_memory", CORE_MEMORY, ToolTarget::Operation, "List facts and names of past sessions."),
    tool_row(
        "show_memory",
        MEMORY,
        ToolTarget::Operation,
        "Show a session's summary, or a fact with its evidence. History, not a task.",
    ),
    tool_row("pin_memory", MEMORY, ToolTarget::Operation, "Pin a memory to the top of the list."),
    tool_row("retire_memory", MEMORY, ToolTarget::Operation, "Retire a fact that is no longer true."),
];

/// Tools that another tool replaces: no longer listed, but still answered for a release.
pub const REPLACED: &[(Tool, &str)] = &[
    (tool_row("get_member_outline", CODE, ToolTarget::Operation, "Outline a member."), "get_outline"),
    (tool_row("resolve_symbol", CODE, ToolTarget::Operation, "Resolve a name."), "find_symbols"),
    (tool_row("search_symbols", CODE, ToolTarget::Operation, "Search symbols."), "find_symbols"),
    (tool_row("get_prompt_window", CODE, ToolTarget::Operation, "Show the window."), "code_context"),
    (tool_row("pin", CODE, ToolTarget::Operation, "Pin a type."), "code_context"),
    (tool_row("unpin", CODE, ToolTarget::Operation, "Unpin a type."), "code_context"),
    (tool_row("dismiss", CODE, ToolTarget::Operation, "Hide a type."), "code_context"),
];

/// The tool that replaces a tool of this name.
pub fn replacement_of(name: &str) -> Option<&'static str> {
    REPLACED.iter().find(|(tool, _)| tool.name == name).map(|(_, by)| *by)
}

/// The names of all views, for `query_history`.
pub fn view_names() -> Vec<String> {
    VIEWS.iter().map(View::title).collect()
}

pub fn tool_named(name: &str) -> Option<&'static Tool> {
    let replaced = REPLACED.iter().map(|(tool, _)| tool);
    TOOLS.iter().chain(replaced).find(|tool| tool.name == name)
}

impl Tool {
    pub fn operation(&self) -> Option<&'static Operation> {
        OPERATIONS.iter().find(|operation| self.asks == ToolTarget::Operation && operation.name == self.name)
    }

    /// The view of this tool, if it is fixed.
    pub fn view(&self) -> Option<&'static View> {
        match self.asks {
            ToolTarget::View(group, name) | ToolTarget::OwnSession(group, name) => view_named(group, name),
            ToolTarget::AnyView | ToolTarget::Operation => None,
        }
    }

    pub fn read_only(&self) -> bool {
        self.operation().is_none_or(|operation| operation.read_only)
    }

    /// Its parameters, in the order of the tables.
    /// Those that agents are offered.
    pub fn params(&self) -> Vec<&'static Param> {
        match self.asks {
            ToolTarget::Operation => self.operation().map_or_else(Vec::new, |operation| {
                let control = Control::PARAMS.iter().filter(|param| operation.accepts_control(param.name));
                let offered = operation
                    .params
                    .iter()
                    .filter(|param| !FOR_PEOPLE.contains(&(operation.name, param.name)));
                offered.chain(control).collect()
            }),
            ToolTarget::AnyView => ViewRequest::PARAMS.iter().collect(),
            ToolTarget::View(..) | ToolTarget::OwnSession(..) => {
                let takes = |name: &&str| !self.is_own() || !OWN_KNOWS.contains(name);
                let view = self.view().into_iter().flat_map(View::params).filter(takes);
                view.filter_map(ViewRequest::param_named).collect()
            }
        }
    }

    /// The equivalent command line; none for a tool limited to the calling session, which shares the view of another tool.
    fn command_line(&self) -> Option<String> {
        let view = self.view().filter(|_| !self.is_own()).map(View::title);
        view.or_else(|| Some(self.operation()?.command.to_string())).map(|words| format!("loci {words}"))
    }

    fn is_own(&self) -> bool {
        matches!(self.asks, ToolTarget::OwnSession(..))
    }
}

/// Rewrites a hint for agents: replaces commands with tool names.
pub fn rewrite_for_agents(hint: &str) -> String {
    let mut known: Vec<(String, &str)> =
        TOOLS.iter().filter_map(|tool| Some((tool.command_line()?, tool.name))).collect();
    known.extend(REPLACED.iter().filter_map(|(tool, by)| Some((tool.command_line()?, *by))));
    // Longest command first: `loci query tools` before its prefixes.
    known.sort_by_key(|(typed, _)| std::cmp::Reverse(typed.len()));
    known.iter().fold(hint.to_string(), |hint, (typed, name)| hint.replace(typed, name))
}

/// Operations and their parameters that agents are not offered: what a transcript no longer has was discarded on purpose, or is looked
/// for by a person.
const FOR_PEOPLE: &[(&str, &str)] = &[("gather_chats", "all")];

/// Parameters that a tool limited to the calling session does not have: its scope is known, and it is short.
const OWN_KNOWS: &[&str] =
    &["session", "project", "all_projects", "source", "since", "until", "slurp", "stats_first"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_has_an_existing_view_or_operation() {
        for tool in TOOLS {
            match tool.asks {
                ToolTarget::Operation => assert!(tool.operation().is_some(), "{}", tool.name),
                ToolTarget::AnyView => {}
                _ => assert!(tool.view().is_some(), "{}", tool.name),
            }
            assert!(!tool.params().is_empty() && !tool.sets.is_empty(), "{}", tool.name);
        }
    }

    #[test]
    fn a_replaced_tool_is_answered_but_not_listed() {
        for (tool, by) in REPLACED {
            assert!(TOOLS.iter().all(|listed| listed.name != tool.name), "{}", tool.name);
            assert!(TOOLS.iter().any(|listed| listed.name == *by), "{by}");
            assert!(tool_named(tool.name).and_then(Tool::operation).is_some(), "{}", tool.name);
            assert_eq!(replacement_of(tool.name), Some(*by));
        }
    }

    #[test]
    fn a_hint_names_what_an_agent_can_call() {
        assert_eq!(rewrite_for_agents("`loci sessions` lists them"), "`list_sessions` lists them");
        assert_eq!(
            rewrite_for_agents("see `loci query tools`, then `loci show`"),
            "see `query_tools`, then `gather_chats`"
        );
        assert_eq!(rewrite_for_agents("use 7d"), "use 7d");
    }

    #[test]
    fn a_tool_limited_to_the_calling_session_takes_no_scope() {
        let own = tool_named("query_tools_session").unwrap();
        assert!(own.params().iter().all(|param| !OWN_KNOWS.contains(&param.name)));
        assert!(own.params().iter().any(|param| param.name == "status"));
    }
}
