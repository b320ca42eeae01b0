//! A message written by a person, by the agent or by the client software between them.

use crate::Stamp;

#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Role {
    User,
    Assistant,
    System,
}

impl Role {
    pub fn as_str(self) -> &'static str {
        match self {
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::System => "system",
        }
    }
}

/// Declares the kinds once, each with its word in the output. The order is the value stored in a row's byte.
macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $word:literal,)*) => {
        /// What a message really is. Many entries have the role "user" although no person typed them.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Kind { $($(#[$doc])* $name,)* }
        impl Kind {
            pub const ALL: &'static [Kind] = &[$(Kind::$name,)*];
            pub fn as_str(self) -> &'static str { match self { $(Kind::$name => $word,)* } }
        }
    };
}

kinds! {
    /// Typed by a person, or passed by a script as the prompt.
    Prompt = "prompt",
    /// A slash command, as the client wraps it.
    Command = "command",
    CommandOutput = "command_output",
    /// A shell command typed by the person (`!ls`), and its output.
    Shell = "shell",
    ShellOutput = "shell_output",
    /// Text that a hook added to the context.
    Hook = "hook",
    /// The summary that replaces the history after a compaction.
    CompactionSummary = "compaction_summary",
    /// The report of a background task.
    Notification = "notification",
    Interruption = "interruption",
    /// Anything else the client writes in the user's name: caveats, skill bodies, reminders.
    Meta = "meta",
    /// The task an agent gave its subagent.
    Task = "task",
    /// The surroundings as the client describes them: environment, instruction files.
    Context = "context",
    /// The agent's answer.
    Reply = "reply",
    /// The provider failed, and the client recorded the failure as a reply.
    ApiError = "api_error",
}

impl Kind {
    pub fn from_byte(b: u8) -> Kind {
        Kind::ALL.get(b as usize).copied().unwrap_or(Kind::Meta)
    }
}

/// Token counts the provider reported for one reply. `cache_write` includes `cache_write_1h`, which costs
/// more.
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
    /// A streamed reply repeats its counts on every line and only the last may be final, so the largest is
    /// correct.
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

/// A complete message, read from its source.
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
