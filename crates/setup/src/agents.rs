//! The table of agents Loci can be installed into: how each is detected, what it is given, what notes it leaves.
//!
//! Does not know how files are edited; it only lists what should be in them.

use crate::entry::{Entry, Location};
use crate::packaged::{self, PackagedFile, Program};
use crate::text::SettingsFormat;
use crate::{Machine, disk};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

pub(crate) struct Agent {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// The command that starts it.
    program: &'static str,
    /// Its settings folder.
    settings_folder: fn(&Machine) -> PathBuf,
    pub(crate) artifacts: fn(&Machine) -> Vec<Artifact>,
    /// The agent's own notes about what it was given.
    pub(crate) traces: fn(&Machine) -> Vec<Trace>,
    pub(crate) next_step: &'static str,
}

/// A note of an agent about something of ours.
pub(crate) struct Trace {
    pub(crate) path: PathBuf,
    pub(crate) form: SettingsFormat,
    pub(crate) location: Location,
}

impl Trace {
    fn new(path: &Path, form: SettingsFormat, keys: &[&str]) -> Trace {
        let keys = keys.iter().map(ToString::to_string).collect();
        Trace { path: path.to_path_buf(), form, location: Location { keys, mark: None } }
    }
}

/// A file, or entries in a file, that should exist.
pub(crate) enum Artifact {
    /// A file of ours.
    OwnFile { path: PathBuf, text: String },
    /// Entries in a user's file.
    Entries { path: PathBuf, form: SettingsFormat, entries: Vec<Entry> },
}

pub(crate) const AGENTS: &[Agent] = &[
    Agent {
        name: "claude-code",
        title: "Claude Code",
        program: "claude",
        settings_folder: claude_folder,
        artifacts: claude_artifacts,
        traces: claude_traces,
        next_step: "start a new session and type `/loci:stats`; `claude mcp list` shows `plugin:loci:loci`",
    },
    Agent {
        name: "codex",
        title: "Codex",
        program: "codex",
        settings_folder: codex_folder,
        artifacts: codex_artifacts,
        traces: codex_traces,
        next_step: "start a new session, in which Codex asks whether the two hooks may run; `codex mcp list` shows `loci`",
    },
    Agent {
        name: "gemini-cli",
        title: "Gemini CLI",
        program: "gemini",
        settings_folder: gemini_folder,
        artifacts: gemini_artifacts,
        traces: |_| Vec::new(),
        next_step: "start a new session and type `/loci:stats`; `gemini extensions list` shows `loci`",
    },
    Agent {
        name: "opencode",
        title: "OpenCode",
        program: "opencode",
        settings_folder: opencode_folder,
        artifacts: opencode_artifacts,
        traces: |_| Vec::new(),
        next_step: "start a new session and type `/loci/stats`; `opencode mcp list` shows `loci`",
    },
];

impl Agent {
    /// Evidence that the agent is installed: its settings folder or its program.
    pub(crate) fn detect(&self, machine: &Machine) -> Option<PathBuf> {
        let folder = (self.settings_folder)(machine);
        if folder.is_dir() { Some(folder) } else { machine.find_program(self.program) }
    }
}

// ---- folders

fn claude_folder(machine: &Machine) -> PathBuf {
    machine.folder_from_var("CLAUDE_CONFIG_DIR").unwrap_or_else(|| machine.home.join(".claude"))
}

fn codex_folder(machine: &Machine) -> PathBuf {
    machine.folder_from_var("CODEX_HOME").unwrap_or_else(|| machine.home.join(".codex"))
}

fn gemini_folder(machine: &Machine) -> PathBuf {
    machine.folder_from_var("GEMINI_CLI_HOME").unwrap_or_else(|| machine.home.clone()).join(".gemini")
}

fn opencode_folder(machine: &Machine) -> PathBuf {
    machine
        .folder_from_var("XDG_CONFIG_HOME")
        .unwrap_or_else(|| machine.home.join(".config"))
        .join("opencode")
}

// ---- artifacts

fn packaged_artifacts(machine: &Machine, files: &[PackagedFile], folder: &Path) -> Vec<Artifact> {
    let (program, env) = (machine.loci_program(), machine.passed_env());
    let whole = |file: &PackagedFile| Artifact::OwnFile {
        path: folder.join(file.path),
        text: file.render_file(&program, &env),
    };
    files.iter().map(whole).collect()
}

fn marketplace_folder(machine: &Machine) -> PathBuf {
    machine.data.join("agents/claude-code")
}

/// A plugin that is read in place from Loci's data folder: only two entries in the agent's settings change.
/// `claude plugin install` would have the same effect, but rewrites the whole settings file.
fn claude_artifacts(machine: &Machine) -> Vec<Artifact> {
    let market = marketplace_folder(machine);
    let mut pieces = packaged_artifacts(machine, packaged::CLAUDE, &market);
    let source = json!({"source": {"source": "directory", "path": market.to_string_lossy()}});
    let entries = vec![
        Entry::at_key(&["extraKnownMarketplaces", "loci"], source),
        Entry::at_key(&["enabledPlugins", "loci@loci"], json!(true)),
    ];
    pieces.push(Artifact::Entries {
        path: claude_folder(machine).join("settings.json"),
        form: SettingsFormat::Json,
        entries,
    });
    pieces
}

/// Claude Code records what its settings made it load, and lists it until that record is removed.
fn claude_traces(machine: &Machine) -> Vec<Trace> {
    let known = claude_folder(machine).join("plugins/known_marketplaces.json");
    let source = read_tree(&known, SettingsFormat::Json)
        .pointer("/loci/source/path")
        .and_then(Value::as_str)
        .map(PathBuf::from);
    if source != Some(marketplace_folder(machine)) {
        return Vec::new();
    }
    let installed = claude_folder(machine).join("plugins/installed_plugins.json");
    vec![
        Trace::new(&installed, SettingsFormat::Json, &["plugins", "loci@loci"]),
        Trace::new(&known, SettingsFormat::Json, &["loci"]),
    ]
}

/// Parses a file. Empty if it cannot be read or parsed.
fn read_tree(path: &Path, form: SettingsFormat) -> Value {
    let text = disk::read_text(path).ok().flatten().unwrap_or_default();
    form.parse_tree(&text).unwrap_or_default()
}

/// Codex reads hooks from its settings, with timeouts in seconds, and runs them once the user has approved them.
fn codex_artifacts(machine: &Machine) -> Vec<Artifact> {
    let loci = machine.loci_program();
    let mut server = json!({"command": loci.path(), "args": ["mcp"]});
    if let Value::Object(env) = machine.passed_env()
        && !env.is_empty()
    {
        server["env"] = Value::Object(env);
    }
    // Codex passes on only variables that are named: the agent it works for, and the number of hops of its message.
    server["env_vars"] = json!(["LOCI_AGENT", "LOCI_HOPS"]);
    let entries = vec![
        Entry::at_key(&["mcp_servers", "loci"], server),
        codex_hook(&loci, "SessionStart"),
        codex_hook(&loci, "UserPromptSubmit"),
    ];
    let mut pieces = packaged_artifacts(machine, packaged::CODEX, &codex_folder(machine));
    pieces.push(Artifact::Entries {
        path: codex_folder(machine).join("config.toml"),
        form: SettingsFormat::Toml,
        entries,
    });
    pieces
}

fn codex_hook(loci: &Program, event: &str) -> Entry {
    let line = loci.command_line(if event == "SessionStart" { "hook session-start" } else { "hook prompt" });
    let mark = line.rsplit('/').next().unwrap_or(&line).to_string();
    let run = json!({"type": "command", "command": line, "timeout": 1});
    Entry::in_list(&["hooks", event], &mark, json!({"hooks": [run]}))
}

/// Codex records which hooks the user has approved, by file and position.
fn codex_traces(machine: &Machine) -> Vec<Trace> {
    let config = codex_folder(machine).join("config.toml");
    let tree = read_tree(&config, SettingsFormat::Toml);
    let approved: Vec<&String> = tree
        .pointer("/hooks/state")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(key, _)| key)
        .collect();
    let mut traces = Vec::new();
    for (event, recorded) in [("SessionStart", "session_start"), ("UserPromptSubmit", "user_prompt_submit")] {
        let hooks = tree.pointer(&format!("/hooks/{event}")).and_then(Value::as_array).into_iter().flatten();
        let ours = codex_hook(&machine.loci_program(), event).location;
        for (at, _) in hooks.enumerate().filter(|(_, hook)| ours.is_marked(hook)) {
            let ending = format!("config.toml:{recorded}:{at}:0");
            let keys = approved.iter().filter(|key| key.ends_with(&ending));
            traces
                .extend(keys.map(|key| Trace::new(&config, SettingsFormat::Toml, &["hooks", "state", key])));
        }
    }
    traces
}

/// An extension is a folder; nothing else of the agent's changes.
fn gemini_artifacts(machine: &Machine) -> Vec<Artifact> {
    packaged_artifacts(machine, packaged::GEMINI, &gemini_folder(machine).join("extensions/loci"))
}

fn opencode_artifacts(machine: &Machine) -> Vec<Artifact> {
    let folder = opencode_folder(machine);
    let mut server =
        json!({"type": "local", "command": [machine.loci_program().path(), "mcp"], "enabled": true});
    if let Value::Object(env) = machine.passed_env()
        && !env.is_empty()
    {
        server["environment"] = Value::Object(env);
    }
    let names = ["opencode.jsonc", "opencode.json"];
    let name = names.iter().find(|name| folder.join(name).exists()).unwrap_or(&"opencode.json");
    let entries = vec![Entry::at_key(&["mcp", "loci"], server)];
    let mut pieces = packaged_artifacts(machine, packaged::OPENCODE, &folder);
    pieces.push(Artifact::Entries { path: folder.join(name), form: SettingsFormat::Json, entries });
    pieces
}
