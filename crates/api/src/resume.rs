//! The command that goes on with a session, as it is typed into a shell.
//!
//! Does not know whether that agent is installed, or whether the folder is still there.

use crate::operation::quoted;

/// What is said in the place of the command where the agent has nothing left to resume.
pub const GONE: &str = "(its transcript is gone; kept by Loci)";

/// None: this agent cannot be told which session to resume.
pub fn resume(source: &str, project: &str, id: &str) -> Option<String> {
    let id = quoted(id);
    match source {
        // It finds a session only in the folder that it was held in.
        "claude-code" if project.is_empty() => Some(format!("claude --resume {id}")),
        "claude-code" => Some(format!("cd {} && claude --resume {id}", quoted(project))),
        "codex" => Some(format!("codex resume {id}")),
        "opencode" => Some(format!("opencode -s {id}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::resume;

    #[test]
    fn each_agent_is_resumed_in_its_own_words() {
        for (source, project, typed) in [
            ("claude-code", "/srv/a", Some("cd /srv/a && claude --resume 7f")),
            ("claude-code", "/srv/it's here", Some(r"cd '/srv/it'\''s here' && claude --resume 7f")),
            ("claude-code", "/srv/$(x)", Some("cd '/srv/$(x)' && claude --resume 7f")),
            ("codex", "/srv/a", Some("codex resume 7f")),
            ("opencode", "/srv/a", Some("opencode -s 7f")),
            ("gemini-cli", "/srv/a", None),
            ("chatwise", "", None),
        ] {
            assert_eq!(resume(source, project, "7f").as_deref(), typed, "{source} {project}");
        }
    }
}
