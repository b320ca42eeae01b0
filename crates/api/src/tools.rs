//! The table of tools that agents can call: name, tool sets, and the view or operation behind each.
//!
//! Does not describe parameters: a tool has those of its view or operation, under the same names.

use crate::control::CONTROL;
use crate::operation::Operation;
use crate::operations::OPERATIONS;
use crate::params::Param;
use crate::view_params::{PARAMS, param_named};
use crate::views::{VIEWS, View, view_named};

pub struct Tool {
    pub name: &'static str,
    pub sets: &'static [Set],
    /// One line: an agent pays for every word of it in every session.
    pub about: &'static str,
    pub asks: Asks,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Set {
    Chat,
    History,
    Code,
    Agents,
    Memory,
}

impl Set {
    pub const ALL: &'static [(Set, &'static str, &'static str)] = &[
        (Set::Chat, "chat", "search and read past conversations"),
        (Set::History, "history", "query tool calls, errors, messages and files"),
        (Set::Code, "code", "outlines, symbols and usages of the code base"),
        (Set::Agents, "agents", "send messages to other agents"),
        (Set::Memory, "memory", "names, summaries and facts of past sessions"),
    ];
    /// The sets that are enabled by default.
    pub const USUAL: &'static [Set] = &[Set::Chat, Set::History];

    pub fn named(word: &str) -> Option<Set> {
        Set::ALL.iter().find(|(_, name, _)| *name == word).map(|(set, ..)| *set)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asks {
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
const HISTORY: &[Set] = &[Set::History];
const CODE: &[Set] = &[Set::Code];
const AGENTS: &[Set] = &[Set::Agents];
const MEMORY: &[Set] = &[Set::Memory];
const EVERY: &[Set] = &[Set::Chat, Set::History, Set::Code, Set::Memory, Set::Agents];

const fn tool(name: &'static str, sets: &'static [Set], asks: Asks, about: &'static str) -> Tool {
    Tool { name, sets, about, asks }
}

pub const TOOLS: &[Tool] = &[
    tool(
        "search_conversations",
        CHAT,
        Asks::Operation,
        "Search past conversations in all projects. Follow guidance.nextActions; then gather_chats.",
    ),
    tool("gather_chats", CHAT, Asks::Operation, "Read whole sessions by ID."),
    tool("resolve_ids", CHAT, Asks::Operation, "Look up sessions and messages by ID prefix."),
    tool("list_sessions", CHAT, Asks::Operation, "List sessions, newest first."),
    tool("query_tools", HISTORY, Asks::View("query", "tools"), "List tool calls of this project."),
    tool(
        "query_tools_session",
        HISTORY,
        Asks::OwnSession("query", "tools"),
        "List tool calls of this session.",
    ),
    tool(
        "query_user_messages",
        HISTORY,
        Asks::View("query", "user-messages"),
        "List user prompts of this project.",
    ),
    tool(
        "query_user_messages_session",
        HISTORY,
        Asks::OwnSession("query", "user-messages"),
        "List user prompts of this session.",
    ),
    tool("get_stats", HISTORY, Asks::View("", "stats"), "Count sessions, turns, calls and errors."),
    tool(
        "get_session_stats",
        HISTORY,
        Asks::OwnSession("", "stats"),
        "Count turns, calls and errors of this session.",
    ),
    tool("query_errors", HISTORY, Asks::View("query", "errors"), "List errors with their signatures."),
    tool(
        "query_tool_sequences",
        HISTORY,
        Asks::View("analyze", "sequences"),
        "Find recurring sequences of tool calls.",
    ),
    tool(
        "query_file_access",
        HISTORY,
        Asks::View("query", "file-access"),
        "List reads, edits and writes per file.",
    ),
    tool(
        "query_conversation",
        HISTORY,
        Asks::View("query", "turns"),
        "List turns: prompt, tools, reply, duration.",
    ),
    tool("query_context", HISTORY, Asks::View("query", "context"), "Show the turns around an error."),
    tool(
        "query_history",
        HISTORY,
        Asks::AnyView,
        "Run any view by name, such as `query messages`, `analyze errors`, `usage`.",
    ),
    tool("read_ref", EVERY, Asks::Operation, "Read a saved result (file_ref) if you cannot open its path."),
    tool("cleanup_temp_files", HISTORY, Asks::Operation, "Delete old saved results."),
    tool("get_outline", CODE, Asks::Operation, "Show the outline of a type or member."),
    tool("get_member_outline", CODE, Asks::Operation, "Show a member: signature, documentation, location."),
    tool(
        "resolve_symbol",
        CODE,
        Asks::Operation,
        "Resolve a name to a type or member (suffix, * and ? work).",
    ),
    tool("search_symbols", CODE, Asks::Operation, "Search types and members by part of the name."),
    tool("find_usages", CODE, Asks::Operation, "Find usages of a type or member, with certainty."),
    tool("code_graph", CODE, Asks::Operation, "Draw the dependency graph (mermaid, dot, svg)."),
    tool("get_semantic", CODE, Asks::Operation, "Show the note about a type and whether it is stale."),
    tool(
        "investigate",
        CODE,
        Asks::Operation,
        "Answer a question about the code. Returns an op; follow it with stream_op while it runs.",
    ),
    tool("stream_op", CODE, Asks::Operation, "Show the progress and result of an investigation."),
    tool(
        "build_pack",
        CODE,
        Asks::Operation,
        "Write outlines of matching types to one file, within a token budget.",
    ),
    tool("list_packs", CODE, Asks::Operation, "List packs."),
    tool("get_prompt_window", CODE, Asks::Operation, "Show outlines of pinned, focused and recent types."),
    tool("pin", CODE, Asks::Operation, "Keep a type in the prompt window."),
    tool("unpin", CODE, Asks::Operation, "Unpin a type."),
    tool("dismiss", CODE, Asks::Operation, "Hide a type from the prompt window until it is requested again."),
    tool("code_context", CODE, Asks::Operation, "Add, clear or list focus types of the prompt window."),
    tool("index_code", CODE, Asks::Operation, "Update the code index; list changed types by change class."),
    tool("code_status", CODE, Asks::Operation, "Show code index statistics."),
    tool(
        "dispatch",
        AGENTS,
        Asks::Operation,
        "Send a message to another agent; returns its reply or a message ID.",
    ),
    tool("list_messages", AGENTS, Asks::Operation, "List messages with their state and replies."),
    tool("list_agents", AGENTS, Asks::Operation, "List agents that can receive messages."),
    tool(
        "recommend",
        CHAT,
        Asks::Operation,
        "Suggest the earlier session a prompt refers to, if one clearly fits.",
    ),
    tool(
        "list_memory",
        MEMORY,
        Asks::Operation,
        "List names of past sessions and the facts derived from them.",
    ),
    tool(
        "show_memory",
        MEMORY,
        Asks::Operation,
        "Show a session's summary, or a fact with its evidence. History, not a task.",
    ),
    tool("pin_memory", MEMORY, Asks::Operation, "Pin a memory to the top of the list."),
    tool("retire_memory", MEMORY, Asks::Operation, "Retire a fact that is no longer true."),
];

/// The names of all views, for `query_history`.
pub fn view_names() -> Vec<String> {
    VIEWS.iter().map(View::title).collect()
}

pub fn tool_named(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

impl Tool {
    pub fn operation(&self) -> Option<&'static Operation> {
        OPERATIONS.iter().find(|operation| self.asks == Asks::Operation && operation.name == self.name)
    }

    /// The view of this tool, if it is fixed.
    pub fn view(&self) -> Option<&'static View> {
        match self.asks {
            Asks::View(group, name) | Asks::OwnSession(group, name) => view_named(group, name),
            Asks::AnyView | Asks::Operation => None,
        }
    }

    pub fn read_only(&self) -> bool {
        self.operation().is_none_or(|operation| operation.read_only)
    }

    /// Its parameters, in the order of the tables.
    pub fn params(&self) -> Vec<&'static Param> {
        match self.asks {
            Asks::Operation => self.operation().map_or_else(Vec::new, |operation| {
                let control = CONTROL.iter().filter(|param| operation.takes_control(param.name));
                operation.params.iter().chain(control).collect()
            }),
            Asks::AnyView => PARAMS.iter().collect(),
            Asks::View(..) | Asks::OwnSession(..) => {
                let takes = |name: &&str| !self.is_own() || !OWN_KNOWS.contains(name);
                let view = self.view().into_iter().flat_map(View::params).filter(takes);
                view.filter_map(param_named).collect()
            }
        }
    }

    /// The equivalent command line; none for a tool limited to the calling session, which shares the view of another tool.
    fn typed(&self) -> Option<String> {
        let view = self.view().filter(|_| !self.is_own()).map(View::title);
        view.or_else(|| Some(self.operation()?.command.to_string())).map(|words| format!("loci {words}"))
    }

    fn is_own(&self) -> bool {
        matches!(self.asks, Asks::OwnSession(..))
    }
}

/// Rewrites a hint for agents: replaces commands with tool names.
pub fn in_tools(hint: &str) -> String {
    let mut known: Vec<(String, &str)> =
        TOOLS.iter().filter_map(|tool| Some((tool.typed()?, tool.name))).collect();
    // Longest command first: `loci query tools` before its prefixes.
    known.sort_by_key(|(typed, _)| std::cmp::Reverse(typed.len()));
    known.iter().fold(hint.to_string(), |hint, (typed, name)| hint.replace(typed, name))
}

/// Parameters that a tool limited to the calling session does not have.
const OWN_KNOWS: &[&str] = &["session", "project", "all_projects", "source"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_has_an_existing_view_or_operation() {
        for tool in TOOLS {
            match tool.asks {
                Asks::Operation => assert!(tool.operation().is_some(), "{}", tool.name),
                Asks::AnyView => {}
                _ => assert!(tool.view().is_some(), "{}", tool.name),
            }
            assert!(!tool.params().is_empty() && !tool.sets.is_empty(), "{}", tool.name);
        }
    }

    #[test]
    fn a_hint_names_what_an_agent_can_call() {
        assert_eq!(in_tools("`loci sessions` lists them"), "`list_sessions` lists them");
        assert_eq!(
            in_tools("see `loci query tools`, then `loci show`"),
            "see `query_tools`, then `gather_chats`"
        );
        assert_eq!(in_tools("use 7d"), "use 7d");
    }

    #[test]
    fn a_tool_limited_to_the_calling_session_takes_no_scope() {
        let own = tool_named("query_tools_session").unwrap();
        assert!(own.params().iter().all(|param| !OWN_KNOWS.contains(&param.name)));
        assert!(own.params().iter().any(|param| param.name == "status"));
    }
}
