//! The sets of tools that an agent can be given.
//!
//! Does not know which tools are in a set: see [`crate::tools`].

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Set {
    Chat,
    History,
    Code,
    Edit,
    Agents,
    Memory,
    Core,
}

impl Set {
    pub const ALL: &'static [(Set, &'static str, &'static str)] = &[
        (Set::Chat, "chat", "search and read past sessions"),
        (Set::History, "history", "query tool calls, errors, messages and files"),
        (Set::Code, "code", "outlines, symbols and usages in a source tree"),
        (Set::Edit, "edit", "rename, change, move and delete code by symbol"),
        (Set::Agents, "agents", "send messages to named agents"),
        (Set::Memory, "memory", "names, summaries and facts of past sessions"),
        (Set::Core, "core", "a few tools of each kind: search, sessions, errors, memory, code"),
    ];
    /// The sets that are enabled by default: whole history, and of memory and code what most questions need.
    pub const USUAL: &'static [Set] = &[Set::Chat, Set::History, Set::Core];

    pub fn from_name(word: &str) -> Option<Set> {
        Set::ALL.iter().find(|(_, name, _)| *name == word).map(|(set, ..)| *set)
    }
}
