//! The real kind of a message with the role "user". Codex describes the surroundings in the user's name.
//!
//! Does not know the person's own text: a wrapper is recognised by how it begins.

use record::Kind;

/// What becomes of a text that no person typed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wrapper {
    Tells(Kind),
    /// Another line contains the same, and that one is used.
    Repeats,
}

use Wrapper::{Repeats, Tells};

/// How wrappers begin, in every version seen.
const WRAPPERS: &[(&str, Wrapper)] = &[
    ("<environment_context>", Tells(Kind::Context)),
    ("<user_instructions>", Tells(Kind::Context)),
    ("# AGENTS.md instructions", Tells(Kind::Context)),
    ("<INSTRUCTIONS>", Tells(Kind::Context)),
    ("<permissions instructions>", Tells(Kind::Context)),
    ("<collaboration_mode>", Tells(Kind::Context)),
    ("<turn_aborted>", Repeats),
    ("<user_shell_command>", Tells(Kind::Shell)),
    ("<user_action>", Tells(Kind::Command)),
    ("<subagent_notification>", Tells(Kind::Notification)),
    ("<hook_prompt", Tells(Kind::Hook)),
    ("<skill>", Tells(Kind::Meta)),
];

/// The wrapper that a text is, if any.
pub(super) fn of_wrapper(text: &[u8]) -> Option<Wrapper> {
    let text = text.trim_ascii_start();
    WRAPPERS.iter().find(|(start, _)| text.starts_with(start.as_bytes())).map(|(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrappers_are_distinguished_from_prompts() {
        for (text, kind) in [
            ("<environment_context>\\n  <cwd>", Some(Tells(Kind::Context))),
            ("# AGENTS.md instructions for /x", Some(Tells(Kind::Context))),
            ("<turn_aborted>\\nThe user", Some(Repeats)),
            ("<div> is broken, fix it", None),
            ("", None),
        ] {
            assert_eq!(of_wrapper(text.as_bytes()), kind, "{text}");
        }
    }
}
