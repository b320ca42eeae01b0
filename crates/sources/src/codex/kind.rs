//! What a message with the role "user" really is. Codex describes the surroundings in the user's name.
//!
//! Does not know what the person typed: a wrapper is told by how its text begins.

use record::Kind;

/// What is made of a text that no person typed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wrapper {
    Tells(Kind),
    /// Another line says the same and is the one taken.
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

/// The wrapper a text is, if it is one.
pub(super) fn of_wrapper(text: &[u8]) -> Option<Wrapper> {
    let text = text.trim_ascii_start();
    WRAPPERS.iter().find(|(start, _)| text.starts_with(start.as_bytes())).map(|(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrappers_are_told_from_prompts() {
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
