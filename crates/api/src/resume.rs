//! The shell command that resumes a session.
//!
//! Does not know whether the agent is installed or the directory still exists.

use crate::operation::shell_quote;

/// Shown instead of the command if the agent has deleted the transcript.
pub const GONE: &str = "(transcript deleted by its agent; archived by Loci)";

/// Why a session cannot be resumed here: it took place on another device, or its transcript is gone. None: it can.
pub fn missing_note(id: &str, archived: bool, device: Option<&str>) -> Option<String> {
    match device {
        Some(device) => Some(format!("(took place on {device}; to continue it here: loci handoff {id})")),
        None => archived.then(|| GONE.to_string()),
    }
}

/// How an agent resumes a session: its command in front of the ID, and whether it finds sessions only in the directory
/// they ran in.
const COMMANDS: &[(&str, &str, bool)] = &[
    ("claude-code", "claude --resume", true),
    ("codex", "codex resume", false),
    ("opencode", "opencode -s", false),
    ("kilo", "kilo -s", false),
    ("qwen", "qwen --resume", true),
    ("pi", "pi --session", true),
    ("copilot", "copilot --resume", false),
    ("hermes", "hermes chat --resume", false),
    ("droid", "droid --resume", true),
    ("grok", "grok --resume", true),
    ("kimi", "kimi --session", true),
    ("cline", "cline --id", true),
    // It resumes only the newest session; a fork has the same history.
    ("cn", "cn --fork", true),
    ("openhands", "openhands --resume", true),
    ("vibe", "vibe --resume", true),
    ("gptme", "gptme --name", true),
    // From their documentation, not tried.
    ("cursor-cli", "cursor-agent --resume", true),
    ("goose", "goose session --resume --session-id", false),
    ("amp", "amp threads continue", true),
];

/// None if the agent cannot resume a given session.
pub fn resume_command(source: &str, project: &str, id: &str) -> Option<String> {
    let (_, command, in_project) = COMMANDS.iter().find(|(name, ..)| *name == source)?;
    let id = shell_quote(id);
    if *in_project && !project.is_empty() {
        return Some(format!("cd {} && {command} {id}", shell_quote(project)));
    }
    Some(format!("{command} {id}"))
}

/// What a resume command needs: its folder, its program, and the session that it names.
#[derive(Debug, PartialEq, Eq)]
pub struct Needs<'c> {
    pub folder: Option<String>,
    pub program: &'c str,
    pub id: &'c str,
}

/// Reads what [`resume_command`] has written.
pub fn needs_of(command: &str) -> Needs<'_> {
    let (folder, rest) = match command.strip_prefix("cd ").and_then(|rest| rest.split_once(" && ")) {
        Some((folder, rest)) => (Some(unquote(folder)), rest),
        None => (None, command),
    };
    let program = rest.split(' ').next().unwrap_or(rest);
    Needs { folder, program, id: rest.rsplit(' ').next().unwrap_or(rest) }
}

fn unquote(word: &str) -> String {
    let inner = word.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    inner.map_or_else(|| word.to_owned(), |inner| inner.replace(r"'\''", "'"))
}

#[cfg(test)]
mod tests {
    use super::{Needs, needs_of, resume_command};

    #[test]
    fn a_resume_command_says_what_it_needs() {
        for (project, folder) in [("/srv/a", "/srv/a"), ("/srv/it's here", "/srv/it's here")] {
            let command = resume_command("claude-code", project, "7f").unwrap();
            let needs = Needs { folder: Some(folder.to_owned()), program: "claude", id: "7f" };
            assert_eq!(needs_of(&command), needs);
        }
        assert_eq!(needs_of("codex resume 7f"), Needs { folder: None, program: "codex", id: "7f" });
    }

    #[test]
    fn each_agent_has_its_own_resume_command() {
        for (source, project, typed) in [
            ("claude-code", "/srv/a", Some("cd /srv/a && claude --resume 7f")),
            ("claude-code", "/srv/it's here", Some(r"cd '/srv/it'\''s here' && claude --resume 7f")),
            ("claude-code", "/srv/$(x)", Some("cd '/srv/$(x)' && claude --resume 7f")),
            ("codex", "/srv/a", Some("codex resume 7f")),
            ("opencode", "/srv/a", Some("opencode -s 7f")),
            ("qwen", "/srv/a", Some("cd /srv/a && qwen --resume 7f")),
            ("pi", "", Some("pi --session 7f")),
            ("kimi", "/srv/a", Some("cd /srv/a && kimi --session 7f")),
            ("goose", "/srv/a", Some("goose session --resume --session-id 7f")),
            ("gemini-cli", "/srv/a", None),
            ("chatwise", "", None),
        ] {
            assert_eq!(resume_command(source, project, "7f").as_deref(), typed, "{source} {project}");
        }
    }
}
