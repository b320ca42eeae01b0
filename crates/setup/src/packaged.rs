//! The files that ship with Loci for each agent (`integrations/` in the repository), with the program's path on this machine
//! substituted for its bare name.
//!
//! Does not know where they are installed.

use serde_json::Value;
use std::path::Path;

/// A file in `integrations/`, by its path in its agent's folder.
pub(crate) struct PackagedFile {
    pub(crate) path: &'static str,
    pub(crate) text: &'static str,
}

macro_rules! packed {
    ($folder:literal: $($path:literal)*) => {
        &[$(PackagedFile {
            path: $path,
            text: include_str!(concat!("../../../integrations/", $folder, "/", $path)),
        }),*]
    };
}

pub(crate) const CLAUDE: &[PackagedFile] = packed!["claude-code":
    ".claude-plugin/marketplace.json"
    "loci/.claude-plugin/plugin.json"
    "loci/.mcp.json"
    "loci/LICENSE"
    "loci/README.md"
    "loci/agents/error-analyst.md"
    "loci/agents/meta-coach.md"
    "loci/agents/meta-query.md"
    "loci/agents/workflow-tuner.md"
    "loci/commands/errors.md"
    "loci/commands/files.md"
    "loci/commands/search.md"
    "loci/commands/stats.md"
    "loci/commands/timeline.md"
    "loci/commands/usage.md"
    "loci/hooks/hooks.json"
];

pub(crate) const CODEX: &[PackagedFile] = packed!["codex":
    "agents/error-analyst.toml"
    "agents/meta-coach.toml"
    "agents/meta-query.toml"
    "agents/workflow-tuner.toml"
    "skills/loci/SKILL.md"
];

pub(crate) const GEMINI: &[PackagedFile] = packed!["gemini-cli":
    "agents/error-analyst.md"
    "agents/meta-coach.md"
    "agents/meta-query.md"
    "agents/workflow-tuner.md"
    "commands/loci/errors.toml"
    "commands/loci/files.toml"
    "commands/loci/search.toml"
    "commands/loci/stats.toml"
    "commands/loci/timeline.toml"
    "commands/loci/usage.toml"
    "gemini-extension.json"
    "hooks/hooks.json"
];

pub(crate) const OPENCODE: &[PackagedFile] = packed!["opencode":
    "agent/error-analyst.md"
    "agent/meta-coach.md"
    "agent/meta-query.md"
    "agent/workflow-tuner.md"
    "command/loci/errors.md"
    "command/loci/files.md"
    "command/loci/search.md"
    "command/loci/stats.md"
    "command/loci/timeline.md"
    "command/loci/usage.md"
];

/// Our program as named in the files: quoted for a shell, and plain.
pub(crate) struct Program {
    path: String,
    quoted_path: String,
}

impl Program {
    pub(crate) fn new(path: &Path) -> Program {
        let path = path.to_string_lossy().into_owned();
        let shell = api::operation::shell_quote(&path);
        Program { path, quoted_path: shell }
    }

    /// The command line for a shell.
    pub(crate) fn command_line(&self, arguments: &str) -> String {
        format!("{} {arguments}", self.quoted_path)
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }
}

impl PackagedFile {
    /// Renders the file with the program's path, and the variables that locate Loci's files.
    pub(crate) fn render_file(&self, program: &Program, env: &Value) -> String {
        if Path::new(self.path).extension().is_some_and(|ending| ending == "json") {
            return self.render_json(program, env);
        }
        let is_toml = Path::new(self.path).extension().is_some_and(|ending| ending == "toml");
        let shell =
            if is_toml { program.quoted_path.replace('\\', "\\\\") } else { program.quoted_path.clone() };
        let mut text = self.text.to_string();
        for opening in ["`", "!{", "Bash("] {
            text = text.replace(&format!("{opening}loci "), &format!("{opening}{shell} "));
        }
        text
    }

    fn render_json(&self, program: &Program, env: &Value) -> String {
        // The file is compiled in, and a test parses each of them.
        let Ok(mut tree) = serde_json::from_str::<Value>(self.text) else { return self.text.to_string() };
        substitute_program(&mut tree, program, env);
        serde_json::to_string_pretty(&tree).unwrap_or_default() + "\n"
    }
}

/// Replaces `loci` as a command with the path, and adds the variables to an MCP server.
fn substitute_program(value: &mut Value, program: &Program, env: &Value) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(|item| substitute_program(item, program, env)),
        Value::Object(map) => {
            map.values_mut().for_each(|item| substitute_program(item, program, env));
            let command = map.get("command").and_then(Value::as_str).map(str::to_string);
            match command.as_deref() {
                Some("loci") => {
                    map.insert("command".to_string(), program.path.clone().into());
                    if env.as_object().is_some_and(|env| !env.is_empty()) {
                        map.insert("env".to_string(), env.clone());
                    }
                }
                Some(command) if command.starts_with("loci ") => {
                    map.insert("command".to_string(), program.command_line(&command["loci ".len()..]).into());
                }
                _ => {}
            }
        }
        _ => {}
    }
}
