//! The prompts a user picks as slash commands: each asks the agent for one report.
//!
//! Does not answer them: the agent does, with the tools.

/// A prompt with at most one argument, which replaces `{}` in its text.
pub struct Prompt {
    pub name: &'static str,
    pub about: &'static str,
    pub argument: Option<Argument>,
    pub text: &'static str,
    /// The text if the argument is omitted.
    pub text_without_argument: &'static str,
}

pub struct Argument {
    pub name: &'static str,
    pub about: &'static str,
    pub required: bool,
}

pub const PROMPTS: &[Prompt] = &[
    Prompt {
        name: "recall",
        about: "Search past sessions for a topic and report what was decided",
        argument: Some(Argument {
            name: "what",
            about: "What to search for, in your own words",
            required: true,
        }),
        text: "Search my past conversations for: {}\nUse search_conversations, follow its guidance until it says to stop, read \
               the best one or two with gather_chats, and tell me what was said and decided, with dates and session ids. Say \
               so if nothing fits.",
        text_without_argument: "",
    },
    Prompt {
        name: "session",
        about: "Summarize a past session",
        argument: Some(Argument { name: "session", about: "Session ID prefix", required: true }),
        text: "Read the session {} with gather_chats (includeTools: false first) and sum it up: what was asked, what was done, \
               what was decided, what was left open.",
        text_without_argument: "",
    },
    Prompt {
        name: "errors",
        about: "Report recurring errors in this project",
        argument: Some(Argument { name: "since", about: "How far back, for example 7d", required: false }),
        text: "Report what failed in this project since {}. Call query_history with view \"analyze errors\" and that `since`, then \
               query_context for the one or two most frequent signatures, and list each with its count, its likely cause and a fix.",
        text_without_argument: "Report what failed in this project. Call query_history with view \"analyze errors\", then query_context for the \
                  one or two most frequent signatures, and list each with its count, its likely cause and a fix.",
    },
    Prompt {
        name: "stats",
        about: "Show activity statistics for this project",
        argument: Some(Argument { name: "since", about: "How far back, for example 7d", required: false }),
        text: "Show a short table of what was done in this project since {}: call get_stats with that `since`, then again with \
               by \"tool\".",
        text_without_argument: "Show a short table of what was done in this project: call get_stats, then again with by \"tool\".",
    },
    Prompt {
        name: "timeline",
        about: "List recent sessions and their outcomes",
        argument: Some(Argument { name: "since", about: "How far back, for example 7d", required: false }),
        text: "List what was worked on since {} with list_sessions, newest first: date, title, project, and what came of it in a \
               few words.",
        text_without_argument: "List what was worked on lately with list_sessions, newest first: date, title, project, and what came of it in \
                  a few words.",
    },
];

impl Prompt {
    /// The prompt's text. `None` if a required argument is missing.
    pub fn fill_template(&self, value: Option<&str>) -> Option<String> {
        match (value.filter(|value| !value.trim().is_empty()), &self.argument) {
            (Some(value), Some(_)) => Some(self.text.replace("{}", value)),
            (None, Some(argument)) if argument.required => None,
            _ => Some(self.text_without_argument.to_string()),
        }
    }
}
