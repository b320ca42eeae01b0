//! The real kind of a message with the role "user". Codex describes the surroundings in the user's name.
//!
//! Does not know the person's own text: a wrapper is recognised by how it begins.

use record::Kind;

/// What becomes of a text that no person typed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wrapper {
    Message(Kind),
    /// Another line contains the same, and that one is used.
    Duplicate,
}

use Wrapper::{Duplicate, Message};

/// How wrappers begin, in every version seen.
const WRAPPERS: &[(&str, Wrapper)] = &[
    ("<environment_context>", Message(Kind::Context)),
    ("<user_instructions>", Message(Kind::Context)),
    ("# AGENTS.md instructions", Message(Kind::Context)),
    ("<INSTRUCTIONS>", Message(Kind::Context)),
    ("<permissions instructions>", Message(Kind::Context)),
    ("<collaboration_mode>", Message(Kind::Context)),
    ("<turn_aborted>", Duplicate),
    ("<user_shell_command>", Message(Kind::Shell)),
    ("<user_action>", Message(Kind::Command)),
    ("<subagent_notification>", Message(Kind::Notification)),
    ("<hook_prompt", Message(Kind::Hook)),
    ("<skill>", Message(Kind::Meta)),
];

/// The wrapper that a text is, if any.
pub(super) fn find_wrapper(text: &[u8]) -> Option<Wrapper> {
    let text = text.trim_ascii_start();
    WRAPPERS.iter().find(|(start, _)| text.starts_with(start.as_bytes())).map(|(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrappers_are_distinguished_from_prompts() {
        for (text, kind) in [
            ("<environment_context>\\n  <cwd>", Some(Message(Kind::Context))),
            ("# AGENTS.md instructions for /x", Some(Message(Kind::Context))),
            ("<turn_aborted>\\nThe user", Some(Duplicate)),
            ("<div> is broken, fix it", None),
            ("", None),
        ] {
            assert_eq!(find_wrapper(text.as_bytes()), kind, "{text}");
        }
    }
}
