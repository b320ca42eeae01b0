//! Every tool that an agent may call, once: its name, the set it comes in, and which question or operation it asks.
//!
//! Does not say what a parameter means: a tool takes those of what it asks, under the same names.

use crate::control::CONTROL;
use crate::operation::Operation;
use crate::operations::OPERATIONS;
use crate::params::Param;
use crate::view_params::{PARAMS, param_named};
use crate::views::{VIEWS, View, view_named};

pub struct Tool {
    pub name: &'static str,
    pub sets: &'static [Set],
    /// One line: an agent pays for every word of it, in every session.
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
        (Set::Chat, "chat", "find past conversations and read them"),
        (Set::History, "history", "ask about calls, failures, messages, files"),
        (Set::Code, "code", "outlines, names and usages of the code base itself"),
        (Set::Agents, "agents", "hand messages to other agents"),
        (Set::Memory, "memory", "what is remembered of sessions, and what was decided in them"),
    ];
    /// What an agent gets that asks for nothing in particular.
    pub const USUAL: &'static [Set] = &[Set::Chat, Set::History];

    pub fn named(word: &str) -> Option<Set> {
        Set::ALL.iter().find(|(_, name, _)| *name == word).map(|(set, ..)| *set)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asks {
    /// A question, about the project unless it is told otherwise.
    View(&'static str, &'static str),
    /// The same about the session that asks.
    OwnSession(&'static str, &'static str),
    /// A question that is named by the parameter `view`.
    AnyView,
    /// The operation of the tool's name.
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
        "Find past conversations by what was meant. All projects. Follow guidance.nextActions; then gather_chats.",
    ),
    tool("gather_chats", CHAT, Asks::Operation, "Read whole conversations by id."),
    tool("resolve_ids", CHAT, Asks::Operation, "Complete the beginning of a conversation's or message's id."),
    tool("list_sessions", CHAT, Asks::Operation, "Recent conversations, the latest first."),
    tool("query_tools", HISTORY, Asks::View("query", "tools"), "Tool calls of this project."),
    tool("query_tools_session", HISTORY, Asks::OwnSession("query", "tools"), "Tool calls of this session."),
    tool(
        "query_user_messages",
        HISTORY,
        Asks::View("query", "user-messages"),
        "What people typed in this project.",
    ),
    tool(
        "query_user_messages_session",
        HISTORY,
        Asks::OwnSession("query", "user-messages"),
        "What people typed in this session.",
    ),
    tool("get_stats", HISTORY, Asks::View("", "stats"), "Counts of sessions, turns, calls, failures."),
    tool("get_session_stats", HISTORY, Asks::OwnSession("", "stats"), "The same counts of this session."),
    tool("query_errors", HISTORY, Asks::View("query", "errors"), "What failed, with signatures."),
    tool(
        "query_tool_sequences",
        HISTORY,
        Asks::View("analyze", "sequences"),
        "Runs of tool calls that recur.",
    ),
    tool(
        "query_file_access",
        HISTORY,
        Asks::View("query", "file-access"),
        "What was done to each file, step by step.",
    ),
    tool(
        "query_conversation",
        HISTORY,
        Asks::View("query", "turns"),
        "Turn by turn: prompt, tools, reply, duration.",
    ),
    tool("query_context", HISTORY, Asks::View("query", "context"), "What happened around a failure."),
    tool(
        "query_history",
        HISTORY,
        Asks::AnyView,
        "Any view by name, such as `query messages`, `analyze errors`, `usage`.",
    ),
    tool("read_ref", EVERY, Asks::Operation, "Read a file_ref when you cannot open its path."),
    tool("cleanup_temp_files", HISTORY, Asks::Operation, "Remove old file_ref files."),
    tool("get_outline", CODE, Asks::Operation, "What a type or member offers, in a fraction of its source."),
    tool("get_member_outline", CODE, Asks::Operation, "One member: signature, documentation, place."),
    tool("resolve_symbol", CODE, Asks::Operation, "Which type or member a name means: suffix, * and ? work."),
    tool("search_symbols", CODE, Asks::Operation, "Types and members by a part of their names."),
    tool(
        "find_usages",
        CODE,
        Asks::Operation,
        "Where a type or a member is mentioned, and how sure that is.",
    ),
    tool("code_graph", CODE, Asks::Operation, "Who depends on whom, drawn (mermaid, dot, svg)."),
    tool(
        "get_semantic",
        CODE,
        Asks::Operation,
        "The note about what a type is for, and whether it still holds.",
    ),
    tool(
        "investigate",
        CODE,
        Asks::Operation,
        "Find what in the code answers a question. Gives an op; stream_op has the rest if it is still running.",
    ),
    tool("stream_op", CODE, Asks::Operation, "What an investigation has found since."),
    tool(
        "build_pack",
        CODE,
        Asks::Operation,
        "Outlines of the types of a filter in one file, within a budget.",
    ),
    tool("list_packs", CODE, Asks::Operation, "The packs that were built."),
    tool(
        "get_prompt_window",
        CODE,
        Asks::Operation,
        "Outlines of what is pinned, in focus and asked for lately.",
    ),
    tool("pin", CODE, Asks::Operation, "Keep a type in the prompt window."),
    tool("unpin", CODE, Asks::Operation, "Let a pinned type go."),
    tool(
        "dismiss",
        CODE,
        Asks::Operation,
        "Leave a type out of the prompt window until it is asked for again.",
    ),
    tool(
        "code_context",
        CODE,
        Asks::Operation,
        "What the work is about for a while: add, clear or list types.",
    ),
    tool(
        "index_code",
        CODE,
        Asks::Operation,
        "Bring what is known of the code base up to date, and say what changed and how deep.",
    ),
    tool("code_status", CODE, Asks::Operation, "How much of the code base is known."),
    tool(
        "dispatch",
        AGENTS,
        Asks::Operation,
        "Hand a message to another agent; its reply, or a number to follow.",
    ),
    tool("list_messages", AGENTS, Asks::Operation, "What became of messages, and the replies."),
    tool("list_agents", AGENTS, Asks::Operation, "The agents that messages can be handed to."),
    tool(
        "recommend",
        CHAT,
        Asks::Operation,
        "Which earlier conversation a prompt refers back to, if clearly one.",
    ),
    tool(
        "list_memory",
        MEMORY,
        Asks::Operation,
        "Names of past sessions, and facts that were decided in them.",
    ),
    tool(
        "show_memory",
        MEMORY,
        Asks::Operation,
        "A session's summary, or a fact with its evidence. History, not a task.",
    ),
    tool("pin_memory", MEMORY, Asks::Operation, "Keep a memory at the top of the list."),
    tool("retire_memory", MEMORY, Asks::Operation, "Put a fact away that no longer holds."),
];

/// The views that `query_history` names: every one.
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

    /// The question it asks, where it is always the same.
    pub fn view(&self) -> Option<&'static View> {
        match self.asks {
            Asks::View(group, name) | Asks::OwnSession(group, name) => view_named(group, name),
            Asks::AnyView | Asks::Operation => None,
        }
    }

    pub fn read_only(&self) -> bool {
        self.operation().is_none_or(|operation| operation.read_only)
    }

    /// What it takes, in the order of the tables.
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

    /// How a person asks the same; a tool about one's own session is no other question.
    fn typed(&self) -> Option<String> {
        let view = self.view().filter(|_| !self.is_own()).map(View::title);
        view.or_else(|| Some(self.operation()?.command.to_string())).map(|words| format!("loci {words}"))
    }

    fn is_own(&self) -> bool {
        matches!(self.asks, Asks::OwnSession(..))
    }
}

/// A hint for a person as one for an agent: what is typed becomes what is called.
pub fn in_tools(hint: &str) -> String {
    let mut known: Vec<(String, &str)> =
        TOOLS.iter().filter_map(|tool| Some((tool.typed()?, tool.name))).collect();
    // `loci query tools` before anything that begins like it.
    known.sort_by_key(|(typed, _)| std::cmp::Reverse(typed.len()));
    known.iter().fold(hint.to_string(), |hint, (typed, name)| hint.replace(typed, name))
}

/// What a question about one's own session has no choice of.
const OWN_KNOWS: &[&str] = &["session", "project", "all_projects", "source"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_asks_something_that_is_there() {
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
        assert_eq!(in_tools("write 7d"), "write 7d");
    }

    #[test]
    fn a_tool_about_ones_own_session_cannot_be_sent_elsewhere() {
        let own = tool_named("query_tools_session").unwrap();
        assert!(own.params().iter().all(|param| !OWN_KNOWS.contains(&param.name)));
        assert!(own.params().iter().any(|param| param.name == "status"));
    }
}
