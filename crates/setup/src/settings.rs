//! Agents that are given nothing but entries in their settings: the MCP server, and hooks where they have them.
//!
//! Does not know which agents there are.

use crate::Machine;
use crate::artifact::Artifact;
use crate::entry::Entry;
use crate::packaged::Program;
use crate::text::SettingsFormat;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Where an agent's settings name MCP servers and hooks. All of them are JSON, with or without comments.
pub(crate) struct Settings {
    /// Files below the settings folder: the first that exists, otherwise the last.
    pub(crate) files: &'static [&'static str],
    /// The key above the servers.
    pub(crate) servers: &'static str,
    pub(crate) form: ServerForm,
    pub(crate) hooks: Option<Hooks>,
}

/// How a server is written.
#[derive(Clone, Copy)]
pub(crate) enum ServerForm {
    /// `command`, `args` and `env`.
    Plain,
    /// The same, with the type `stdio`.
    Stdio,
    /// The same, with the type `local` and a list of permitted tools.
    AllTools,
    /// Program and arguments in one list, as `OpenCode` has it.
    CommandList,
}

/// Hooks with the events and output of Claude Code.
pub(crate) struct Hooks {
    pub(crate) file: &'static str,
    /// Keys above the events.
    pub(crate) above: &'static [&'static str],
    /// One second, in the agent's unit.
    pub(crate) timeout: u32,
}

/// Events, and what Loci does at each.
const EVENTS: [(&str, &str); 2] =
    [("SessionStart", "hook session-start"), ("UserPromptSubmit", "hook prompt")];

impl Settings {
    pub(crate) fn artifacts(&self, folder: &Path, machine: &Machine) -> Vec<Artifact> {
        let existing = self.files.iter().find(|name| folder.join(name).exists());
        let Some(name) = existing.or(self.files.last()) else { return Vec::new() };
        let loci = machine.loci_program();
        let server = self.form.server(&loci, machine.passed_env());
        let mut pieces =
            vec![entries_in(folder.join(name), vec![Entry::at_key(&[self.servers, "loci"], server)])];
        if let Some(hooks) = &self.hooks {
            add_entries(&mut pieces, folder.join(hooks.file), hooks.entries(&loci));
        }
        pieces
    }
}

fn entries_in(path: PathBuf, entries: Vec<Entry>) -> Artifact {
    Artifact::Entries { path, form: SettingsFormat::Json, entries }
}

/// A file is edited once, whatever it gets.
fn add_entries(pieces: &mut Vec<Artifact>, at: PathBuf, mut more: Vec<Entry>) {
    for piece in pieces.iter_mut() {
        if let Artifact::Entries { path, entries, .. } = piece
            && *path == at
        {
            return entries.append(&mut more);
        }
    }
    pieces.push(entries_in(at, more));
}

impl ServerForm {
    fn server(self, loci: &Program, env: Value) -> Value {
        let (mut server, env_key) = match self {
            ServerForm::Plain => (json!({"command": loci.path(), "args": ["mcp"]}), "env"),
            ServerForm::Stdio => (json!({"type": "stdio", "command": loci.path(), "args": ["mcp"]}), "env"),
            ServerForm::AllTools => {
                (json!({"type": "local", "command": loci.path(), "args": ["mcp"], "tools": ["*"]}), "env")
            }
            ServerForm::CommandList => {
                (json!({"type": "local", "command": [loci.path(), "mcp"], "enabled": true}), "environment")
            }
        };
        if env.as_object().is_some_and(|env| !env.is_empty()) {
            server[env_key] = env;
        }
        server
    }
}

impl Hooks {
    fn entries(&self, loci: &Program) -> Vec<Entry> {
        let entry = |(event, arguments): &(&str, &str)| {
            let line = loci.command_line(arguments);
            let mark = line.rsplit('/').next().unwrap_or(&line).to_string();
            let keys: Vec<&str> = self.above.iter().chain([event]).copied().collect();
            let run = json!({"type": "command", "command": line, "timeout": self.timeout});
            Entry::in_list(&keys, &mark, json!({"hooks": [run]}))
        };
        EVENTS.iter().map(entry).collect()
    }
}
