//! The shell command that resumes a session.
//!
//! Does not know whether the agent is installed or the directory still exists.

use crate::operation::shell_quote;

/// Shown instead of the command if the agent has deleted the transcript.
pub const GONE: &str = "(transcript deleted by its agent; archived by Loci)";

/// None if the agent cannot resume a given session.
pub fn resume_command(source: &str, project: &str, id: &str) -> Option<String> {
    let id = shell_quote(id);
    match source {
        // Claude Code finds a session only in the directory it ran in.
        "claude-code" if project.is_empty() => Some(format!("claude --resume {id}")),
        "claude-code" => Some(format!("cd {} && claude --resume {id}", shell_quote(project))),
        "codex" => Some(format!("codex resume {id}")),
        "opencode" => Some(format!("opencode -s {id}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::resume_command;

    #[test]
    fn each_agent_has_its_own_resume_command() {
        for (source, project, typed) in [
            ("claude-code", "/srv/a", Some("cd /srv/a && claude --resume 7f")),
            ("claude-code", "/srv/it's here", Some(r"cd '/srv/it'\''s here' && claude --resume 7f")),
            ("claude-code", "/srv/$(x)", Some("cd '/srv/$(x)' && claude --resume 7f")),
            ("codex", "/srv/a", Some("codex resume 7f")),
            ("opencode", "/srv/a", Some("opencode -s 7f")),
            ("gemini-cli", "/srv/a", None),
            ("chatwise", "", None),
        ] {
            assert_eq!(resume_command(source, project, "7f").as_deref(), typed, "{source} {project}");
        }
    }
}
