//! The table of agents Loci can be installed into: how each is detected, what it is given, what notes it leaves.
//!
//! Does not know how files are edited; it only lists what should be in them.

use crate::artifact::Artifact;
use crate::entry::{Entry, Location};
use crate::packaged::{self, PackagedFile, Program};
use crate::settings::{Hooks, ServerForm, Settings};
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
    gives: Gives,
    /// The agent's own notes about what it was given.
    pub(crate) traces: fn(&Machine) -> Vec<Trace>,
    pub(crate) next_step: &'static str,
}

/// What an agent is given.
#[derive(Clone, Copy)]
enum Gives {
    /// Files of ours, and entries that refer to them.
    Files(fn(&Machine) -> Vec<Artifact>),
    /// Only entries in its settings.
    Settings(&'static Settings),
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

pub(crate) const AGENTS: &[Agent] = &[
    Agent {
        name: "claude-code",
        title: "Claude Code",
        program: "claude",
        settings_folder: claude_folder,
        gives: Gives::Files(claude_artifacts),
        traces: claude_traces,
        next_step: "start a new session and type `/loci:stats`; `claude mcp list` shows `plugin:loci:loci`",
    },
    Agent {
        name: "codex",
        title: "Codex",
        program: "codex",
        settings_folder: codex_folder,
        gives: Gives::Files(codex_artifacts),
        traces: codex_traces,
        next_step: "start a new session, in which Codex asks whether the two hooks may run; `codex mcp list` shows `loci`",
    },
    Agent {
        name: "gemini-cli",
        title: "Gemini CLI",
        program: "gemini",
        settings_folder: gemini_folder,
        gives: Gives::Files(gemini_artifacts),
        traces: |_| Vec::new(),
        next_step: "start a new session and type `/loci:stats`; `gemini extensions list` shows `loci`",
    },
    Agent {
        name: "opencode",
        title: "OpenCode",
        program: "opencode",
        settings_folder: opencode_folder,
        gives: Gives::Files(opencode_artifacts),
        traces: |_| Vec::new(),
        next_step: "start a new session and type `/loci/stats`; `opencode mcp list` shows `loci`",
    },
    Agent {
        name: "kilo",
        title: "Kilo",
        program: "kilo",
        settings_folder: |machine| config_folder(machine).join("kilo"),
        gives: Gives::Settings(&Settings {
            files: &["kilo.jsonc", "kilo.json"],
            servers: "mcp",
            form: ServerForm::CommandList,
            hooks: None,
        }),
        traces: |_| Vec::new(),
        next_step: "start a new session; `kilo mcp list` shows `loci`",
    },
    Agent {
        name: "qwen",
        title: "Qwen Code",
        program: "qwen",
        settings_folder: |machine| machine.folder_or_home("QWEN_HOME", ".qwen"),
        gives: Gives::Settings(&Settings {
            files: &["settings.json"],
            servers: "mcpServers",
            form: ServerForm::Plain,
            hooks: Some(Hooks { file: "settings.json", above: &["hooks"], timeout: 1000 }),
        }),
        traces: |_| Vec::new(),
        next_step: "start a new session; `qwen mcp list` shows `loci`",
    },
    Agent {
        name: "copilot",
        title: "Copilot CLI",
        program: "copilot",
        settings_folder: |machine| machine.folder_or_home("COPILOT_HOME", ".copilot"),
        gives: Gives::Settings(&Settings {
            files: &["mcp-config.json"],
            servers: "mcpServers",
            form: ServerForm::AllTools,
            hooks: None,
        }),
        traces: |_| Vec::new(),
        next_step: "start a new session and type `/mcp show`",
    },
    Agent {
        name: "droid",
        title: "Factory Droid",
        program: "droid",
        settings_folder: |machine| machine.home.join(".factory"),
        gives: Gives::Settings(&Settings {
            files: &["mcp.json"],
            servers: "mcpServers",
            form: ServerForm::Stdio,
            hooks: Some(Hooks { file: "hooks.json", above: &[], timeout: 1 }),
        }),
        traces: |_| Vec::new(),
        next_step: "start a new session and type `/mcp`",
    },
    Agent {
        name: "cline",
        title: "Cline",
        program: "cline",
        settings_folder: |machine| machine.folder_or_home("CLINE_DATA_DIR", ".cline/data"),
        gives: Gives::Settings(&Settings {
            files: &["settings/cline_mcp_settings.json"],
            servers: "mcpServers",
            form: ServerForm::Plain,
            hooks: None,
        }),
        traces: |_| Vec::new(),
        next_step: "start a new session",
    },
    Agent {
        name: "kimi",
        title: "Kimi Code",
        program: "kimi",
        settings_folder: |machine| machine.folder_or_home("KIMI_CODE_HOME", ".kimi-code"),
        gives: Gives::Settings(&Settings {
            files: &["mcp.json"],
            servers: "mcpServers",
            form: ServerForm::Plain,
            hooks: None,
        }),
        traces: |_| Vec::new(),
        next_step: "start a new session and type `/mcp`",
    },
    Agent {
        name: "cursor",
        title: "Cursor",
        program: "cursor-agent",
        settings_folder: |machine| machine.folder_or_home("CURSOR_CONFIG_DIR", ".cursor"),
        gives: Gives::Settings(&Settings {
            files: &["mcp.json"],
            servers: "mcpServers",
            form: ServerForm::Plain,
            hooks: None,
        }),
        traces: |_| Vec::new(),
        next_step: "restart Cursor; its MCP settings show `loci` (not tested with Cursor itself)",
    },
    Agent {
        name: "vscode-copilot",
        title: "VS Code",
        program: "code",
        settings_folder: |machine| editor_folder(machine, "Code/User"),
        gives: Gives::Settings(&Settings {
            files: &["mcp.json"],
            servers: "servers",
            form: ServerForm::Stdio,
            hooks: None,
        }),
        traces: |_| Vec::new(),
        next_step: "run `MCP: List Servers` in VS Code (not tested with VS Code itself)",
    },
    Agent {
        name: "zed",
        title: "Zed",
        program: "zed",
        settings_folder: |machine| config_folder(machine).join("zed"),
        gives: Gives::Settings(&Settings {
            files: &["settings.json"],
            servers: "context_servers",
            form: ServerForm::Plain,
            hooks: None,
        }),
        traces: |_| Vec::new(),
        next_step: "open the settings of Zed's agent panel (not tested with Zed itself)",
    },
    Agent {
        name: "crush",
        title: "Crush",
        program: "crush",
        settings_folder: |machine| config_folder(machine).join("crush"),
        gives: Gives::Settings(&Settings {
            files: &["crush.json"],
            servers: "mcp",
            form: ServerForm::Stdio,
            hooks: None,
        }),
        traces: |_| Vec::new(),
        next_step: "start a new session (not tested with Crush itself)",
    },
];

impl Agent {
    /// Evidence that the agent is installed: its settings folder or its program.
    pub(crate) fn detect(&self, machine: &Machine) -> Option<PathBuf> {
        let folder = (self.settings_folder)(machine);
        if folder.is_dir() { Some(folder) } else { machine.find_program(self.program) }
    }

    /// What should exist for it.
    pub(crate) fn artifacts(&self, machine: &Machine) -> Vec<Artifact> {
        match self.gives {
            Gives::Files(list) => list(machine),
            Gives::Settings(settings) => settings.artifacts(&(self.settings_folder)(machine), machine),
        }
    }
}

// ---- folders

fn claude_folder(machine: &Machine) -> PathBuf {
    machine.folder_or_home("CLAUDE_CONFIG_DIR", ".claude")
}

fn codex_folder(machine: &Machine) -> PathBuf {
    machine.folder_or_home("CODEX_HOME", ".codex")
}

fn gemini_folder(machine: &Machine) -> PathBuf {
    machine.folder_from_var("GEMINI_CLI_HOME").unwrap_or_else(|| machine.home.clone()).join(".gemini")
}

fn config_folder(machine: &Machine) -> PathBuf {
    machine.folder_or_home("XDG_CONFIG_HOME", ".config")
}

fn opencode_folder(machine: &Machine) -> PathBuf {
    config_folder(machine).join("opencode")
}

/// Where macOS and Windows keep the settings of programs, instead of the configuration directory.
const SETTINGS_FOLDERS: [&str; 2] = ["Library/Application Support", "AppData/Roaming"];

fn editor_folder(machine: &Machine, name: &str) -> PathBuf {
    let mut folders = SETTINGS_FOLDERS.iter().map(|folder| machine.home.join(folder).join(name));
    folders.find(|folder| folder.is_dir()).unwrap_or_else(|| config_folder(machine).join(name))
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

const OPENCODE_SETTINGS: Settings = Settings {
    files: &["opencode.jsonc", "opencode.json"],
    servers: "mcp",
    form: ServerForm::CommandList,
    hooks: None,
};

fn opencode_artifacts(machine: &Machine) -> Vec<Artifact> {
    let folder = opencode_folder(machine);
    let mut pieces = packaged_artifacts(machine, packaged::OPENCODE, &folder);
    pieces.extend(OPENCODE_SETTINGS.artifacts(&folder, machine));
    pieces
}
