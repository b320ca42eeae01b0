//! The table of agents Loci can be installed into: how each is detected, what it is given, what notes it leaves.
//!
//! Does not know how files are edited; it only lists what should be in them.

use crate::entry::{Entry, Spot};
use crate::pack::{self, Packed, Program};
use crate::text::Form;
use crate::{Machine, disk};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

pub(crate) struct Agent {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// The command that starts it.
    program: &'static str,
    /// Its settings folder.
    folder: fn(&Machine) -> PathBuf,
    pub(crate) pieces: fn(&Machine) -> Vec<Piece>,
    /// The agent's own notes about what it was given.
    pub(crate) traces: fn(&Machine) -> Vec<Trace>,
    pub(crate) next: &'static str,
}

/// A note of an agent about something of ours.
pub(crate) struct Trace {
    pub(crate) path: PathBuf,
    pub(crate) form: Form,
    pub(crate) spot: Spot,
}

impl Trace {
    fn at(path: &Path, form: Form, keys: &[&str]) -> Trace {
        let keys = keys.iter().map(ToString::to_string).collect();
        Trace { path: path.to_path_buf(), form, spot: Spot { keys, mark: None } }
    }
}

/// A file, or entries in a file, that should exist.
pub(crate) enum Piece {
    /// A file of ours.
    Whole { path: PathBuf, text: String },
    /// Entries in a user's file.
    Entries { path: PathBuf, form: Form, entries: Vec<Entry> },
}

pub(crate) const AGENTS: &[Agent] = &[
    Agent {
        name: "claude-code",
        title: "Claude Code",
        program: "claude",
        folder: claude,
        pieces: for_claude,
        traces: left_by_claude,
        next: "start a new session and type `/loci:stats`; `claude mcp list` shows `plugin:loci:loci`",
    },
    Agent {
        name: "codex",
        title: "Codex",
        program: "codex",
        folder: codex,
        pieces: for_codex,
        traces: left_by_codex,
        next: "start a new session, in which Codex asks whether the two hooks may run; `codex mcp list` shows `loci`",
    },
    Agent {
        name: "gemini-cli",
        title: "Gemini CLI",
        program: "gemini",
        folder: gemini,
        pieces: for_gemini,
        traces: |_| Vec::new(),
        next: "start a new session and type `/loci:stats`; `gemini extensions list` shows `loci`",
    },
    Agent {
        name: "opencode",
        title: "OpenCode",
        program: "opencode",
        folder: opencode,
        pieces: for_opencode,
        traces: |_| Vec::new(),
        next: "start a new session and type `/loci/stats`; `opencode mcp list` shows `loci`",
    },
];

impl Agent {
    /// Evidence that the agent is installed: its settings folder or its program.
    pub(crate) fn found(&self, machine: &Machine) -> Option<PathBuf> {
        let folder = (self.folder)(machine);
        if folder.is_dir() { Some(folder) } else { machine.program(self.program) }
    }
}

// ---- folders

fn claude(machine: &Machine) -> PathBuf {
    machine.folder("CLAUDE_CONFIG_DIR").unwrap_or_else(|| machine.home.join(".claude"))
}

fn codex(machine: &Machine) -> PathBuf {
    machine.folder("CODEX_HOME").unwrap_or_else(|| machine.home.join(".codex"))
}

fn gemini(machine: &Machine) -> PathBuf {
    machine.folder("GEMINI_CLI_HOME").unwrap_or_else(|| machine.home.clone()).join(".gemini")
}

fn opencode(machine: &Machine) -> PathBuf {
    machine.folder("XDG_CONFIG_HOME").unwrap_or_else(|| machine.home.join(".config")).join("opencode")
}

// ---- artifacts

fn packed(machine: &Machine, files: &[Packed], folder: &Path) -> Vec<Piece> {
    let (program, env) = (machine.loci(), machine.env());
    let whole =
        |file: &Packed| Piece::Whole { path: folder.join(file.path), text: file.placed(&program, &env) };
    files.iter().map(whole).collect()
}

fn marketplace(machine: &Machine) -> PathBuf {
    machine.data.join("agents/claude-code")
}

/// A plugin that is read in place from Loci's data folder: only two entries in the agent's settings change.
/// `claude plugin install` would have the same effect, but rewrites the whole settings file.
fn for_claude(machine: &Machine) -> Vec<Piece> {
    let market = marketplace(machine);
    let mut pieces = packed(machine, pack::CLAUDE, &market);
    let source = json!({"source": {"source": "directory", "path": market.to_string_lossy()}});
    let entries = vec![
        Entry::member(&["extraKnownMarketplaces", "loci"], source),
        Entry::member(&["enabledPlugins", "loci@loci"], json!(true)),
    ];
    pieces.push(Piece::Entries { path: claude(machine).join("settings.json"), form: Form::Json, entries });
    pieces
}

/// Claude Code records what its settings made it load, and lists it until that record is removed.
fn left_by_claude(machine: &Machine) -> Vec<Trace> {
    let known = claude(machine).join("plugins/known_marketplaces.json");
    let source =
        tree(&known, Form::Json).pointer("/loci/source/path").and_then(Value::as_str).map(PathBuf::from);
    if source != Some(marketplace(machine)) {
        return Vec::new();
    }
    let installed = claude(machine).join("plugins/installed_plugins.json");
    vec![
        Trace::at(&installed, Form::Json, &["plugins", "loci@loci"]),
        Trace::at(&known, Form::Json, &["loci"]),
    ]
}

/// Parses a file. Empty if it cannot be read or parsed.
fn tree(path: &Path, form: Form) -> Value {
    let text = disk::read(path).ok().flatten().unwrap_or_default();
    form.tree(&text).unwrap_or_default()
}

/// Codex reads hooks from its settings, with timeouts in seconds, and runs them once the user has approved them.
fn for_codex(machine: &Machine) -> Vec<Piece> {
    let loci = machine.loci();
    let mut server = json!({"command": loci.path(), "args": ["mcp"]});
    if let Value::Object(env) = machine.env()
        && !env.is_empty()
    {
        server["env"] = Value::Object(env);
    }
    // Codex passes on only variables that are named: the agent it works for, and the number of hops of its message.
    server["env_vars"] = json!(["LOCI_AGENT", "LOCI_HOPS"]);
    let entries = vec![
        Entry::member(&["mcp_servers", "loci"], server),
        codex_hook(&loci, "SessionStart"),
        codex_hook(&loci, "UserPromptSubmit"),
    ];
    let mut pieces = packed(machine, pack::CODEX, &codex(machine));
    pieces.push(Piece::Entries { path: codex(machine).join("config.toml"), form: Form::Toml, entries });
    pieces
}

fn codex_hook(loci: &Program, event: &str) -> Entry {
    let line = loci.line(if event == "SessionStart" { "hook session-start" } else { "hook prompt" });
    let mark = line.rsplit('/').next().unwrap_or(&line).to_string();
    let run = json!({"type": "command", "command": line, "timeout": 1});
    Entry::element(&["hooks", event], &mark, json!({"hooks": [run]}))
}

/// Codex records which hooks the user has approved, by file and position.
fn left_by_codex(machine: &Machine) -> Vec<Trace> {
    let config = codex(machine).join("config.toml");
    let tree = tree(&config, Form::Toml);
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
        let ours = codex_hook(&machine.loci(), event).spot;
        for (at, _) in hooks.enumerate().filter(|(_, hook)| ours.is_marked(hook)) {
            let ending = format!("config.toml:{recorded}:{at}:0");
            let keys = approved.iter().filter(|key| key.ends_with(&ending));
            traces.extend(keys.map(|key| Trace::at(&config, Form::Toml, &["hooks", "state", key])));
        }
    }
    traces
}

/// An extension is a folder; nothing else of the agent's changes.
fn for_gemini(machine: &Machine) -> Vec<Piece> {
    packed(machine, pack::GEMINI, &gemini(machine).join("extensions/loci"))
}

fn for_opencode(machine: &Machine) -> Vec<Piece> {
    let folder = opencode(machine);
    let mut server = json!({"type": "local", "command": [machine.loci().path(), "mcp"], "enabled": true});
    if let Value::Object(env) = machine.env()
        && !env.is_empty()
    {
        server["environment"] = Value::Object(env);
    }
    let names = ["opencode.jsonc", "opencode.json"];
    let name = names.iter().find(|name| folder.join(name).exists()).unwrap_or(&"opencode.json");
    let entries = vec![Entry::member(&["mcp", "loci"], server)];
    let mut pieces = packed(machine, pack::OPENCODE, &folder);
    pieces.push(Piece::Entries { path: folder.join(name), form: Form::Json, entries });
    pieces
}
