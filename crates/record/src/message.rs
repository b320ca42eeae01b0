//! A message: what a person, the agent or the machinery between them said.

use crate::Stamp;

#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Role {
    User,
    Assistant,
    System,
}

impl Role {
    pub fn word(self) -> &'static str {
        match self {
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::System => "system",
        }
    }
}

/// Declares the kinds once: the word in the output, and its place in a row's byte.
macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $word:literal,)*) => {
        /// What a message really is. Many entries carry the role "user" and were typed by nobody.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Kind { $($(#[$doc])* $name,)* }
        impl Kind {
            pub const ALL: &'static [Kind] = &[$(Kind::$name,)*];
            pub fn word(self) -> &'static str { match self { $(Kind::$name => $word,)* } }
        }
    };
}

kinds! {
    /// A person typed it (or a script gave it as the prompt).
    Prompt = "prompt",
    /// A slash command, as the client wraps it.
    Command = "command",
    CommandOutput = "command_output",
    /// A shell command typed by the person (`!ls`), and what it printed.
    Shell = "shell",
    ShellOutput = "shell_output",
    /// What a hook put before the model.
    Hook = "hook",
    /// The summary that stands for history after a compaction.
    CompactionSummary = "compaction_summary",
    /// A background task reports.
    Notification = "notification",
    Interruption = "interruption",
    /// Anything else the client says in the user's name: caveats, skill bodies, reminders.
    Meta = "meta",
    /// What an agent asked its subagent to do.
    Task = "task",
    /// Surroundings the client describes: environment, instructions files.
    Context = "context",
    /// The agent's answer.
    Reply = "reply",
    /// The provider failed and the client wrote it down as an answer.
    ApiError = "api_error",
}

impl Kind {
    pub fn from_byte(b: u8) -> Kind {
        Kind::ALL.get(b as usize).copied().unwrap_or(Kind::Meta)
    }
}

/// What the provider counted for one reply. `cache_write` includes `cache_write_1h`, which costs more.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tokens {
    pub input: u32,
    pub output: u32,
    pub cache_read: u32,
    pub cache_write: u32,
    pub cache_write_1h: u32,
}

impl Tokens {
    pub const ZERO: Tokens = Tokens { input: 0, output: 0, cache_read: 0, cache_write: 0, cache_write_1h: 0 };

    pub fn is_zero(self) -> bool {
        self == Tokens::ZERO
    }

    #[must_use]
    /// A streamed reply repeats its counts on every line and only the last may be final: the largest is true.
    pub fn max(self, other: Tokens) -> Tokens {
        Tokens {
            input: self.input.max(other.input),
            output: self.output.max(other.output),
            cache_read: self.cache_read.max(other.cache_read),
            cache_write: self.cache_write.max(other.cache_write),
            cache_write_1h: self.cache_write_1h.max(other.cache_write_1h),
        }
    }
}

/// A whole message, read from its source.
#[derive(Clone, Debug, Default)]
pub struct Message {
    pub id: String,
    pub parent_id: Option<String>,
    pub text: String,
    pub model: Option<String>,
    /// How many tool calls the message makes.
    pub tool_calls: u32,
    pub at: Option<Stamp>,
}
