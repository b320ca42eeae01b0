//! `loci setup`: the changes it makes, and that removal reverts them for any content of the agents' files, including
//! files that were modified in between.

// clippy.toml allows `unwrap` in tests, but not in their helper functions; the pedantic lints are for shipped code.
#![allow(clippy::unwrap_used, clippy::pedantic)]

use api::Response;
use api::setup::{AgentSetup, ChangeKind, SetupDone, SetupRequest};
use loci_setup::{Machine, run_setup};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A machine with its own home folder.
struct Sandbox {
    machine: Machine,
    _dir: TempDir,
}

const SETTINGS: &str = "{\n  \"model\": \"opus\",\n  \"env\": {\"A\": \"1\"}\n}";
const CONFIG: &str = "model = \"x\" # mine\r\n\r\n[mcp_servers.other]\r\ncommand = \"y\"";
const JSONC: &str = "{\n\t// mine\n\t\"theme\": \"x\",\n}\n";

impl Sandbox {
    fn without_agents() -> Sandbox {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        fs::create_dir_all(home.join("bin")).unwrap();
        let exe = home.join("bin/loci");
        write_program(&exe);
        let data = home.join(".local/share/loci");
        Sandbox { machine: Machine { home, vars: BTreeMap::new(), data, exe }, _dir: dir }
    }

    fn with_agents() -> Sandbox {
        let sandbox = Sandbox::without_agents();
        sandbox.write(".claude/settings.json", SETTINGS);
        sandbox.write(".codex/config.toml", CONFIG);
        fs::create_dir_all(sandbox.path(".gemini")).unwrap();
        sandbox.write(".config/opencode/opencode.jsonc", JSONC);
        sandbox
    }

    fn path(&self, path: &str) -> PathBuf {
        self.machine.home.join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    fn run_setup(&self) -> SetupDone {
        run_setup(&self.machine, &SetupRequest::default()).unwrap()
    }

    fn run_removal(&self) -> SetupDone {
        run_setup(&self.machine, &SetupRequest { remove: true, ..SetupRequest::default() }).unwrap()
    }

    /// Every file, folder and link in the home folder, with its bytes and mode.
    fn snapshot_home(&self) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
        let mut all = BTreeMap::new();
        walk_tree(&self.machine.home, &mut all);
        all
    }
}

/// Written by another process: a child that another test spawns at the same moment would inherit the open file, and a
/// file that is open for writing cannot be executed.
fn write_program(path: &Path) {
    let script = r#"printf '#!/bin/sh\necho loci 0.0.0\n' > "$0" && chmod 755 "$0""#;
    assert!(Command::new("sh").args(["-c", script]).arg(path).status().unwrap().success());
}

fn walk_tree(folder: &Path, all: &mut BTreeMap<PathBuf, (u32, Vec<u8>)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let meta = fs::symlink_metadata(&path).unwrap();
        let bytes = if meta.is_symlink() {
            fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
        } else if meta.is_dir() {
            walk_tree(&path, all);
            Vec::new()
        } else {
            fs::read(&path).unwrap()
        };
        all.insert(path, (meta.mode(), bytes));
    }
}

fn agent_report<'a>(done: &'a SetupDone, name: &str) -> &'a AgentSetup {
    done.agents.iter().find(|agent| agent.agent == name).unwrap_or_else(|| panic!("{name} in {done:?}"))
}

#[test]
fn everything_installed_is_removed_to_the_last_byte() {
    let sandbox = Sandbox::with_agents();
    let before = sandbox.snapshot_home();
    let shown =
        run_setup(&sandbox.machine, &SetupRequest { dry_run: true, ..SetupRequest::default() }).unwrap();
    assert_eq!(sandbox.snapshot_home(), before, "a dry run leaves no trace");

    let done = sandbox.run_setup();
    assert!(!done.has_failed(), "{done:#?}");
    assert_eq!(done.agents.len(), 4);
    for (was, is) in shown.agents.iter().zip(&done.agents) {
        assert!(is.changes.iter().all(|change| change.made), "{is:?}");
        let summary = |agent: &AgentSetup| -> Vec<_> {
            agent.changes.iter().map(|c| (c.path.clone(), c.does, c.diff.clone(), c.bytes)).collect()
        };
        assert_eq!(summary(was), summary(is), "the preview equals the result");
        assert!(is.checks.iter().all(|check| check.holds) && is.checks.len() == 3, "{:?}", is.checks);
    }
    let receipt = fs::metadata(sandbox.machine.data.join("setup.json")).unwrap();
    assert_eq!(receipt.mode() & 0o777, 0o600);

    let after = sandbox.snapshot_home();
    let again = sandbox.run_setup();
    assert_eq!(again.change_count(), 0, "{again:#?}");
    assert!(!again.has_failed());
    assert_eq!(sandbox.snapshot_home(), after, "a second run changes nothing");

    let removal = sandbox.run_removal();
    assert!(!removal.has_failed() && removal.change_count() == done.change_count(), "{removal:#?}");
    assert_eq!(sandbox.snapshot_home(), before);
    assert!(sandbox.run_removal().is_empty(), "nothing is left to remove");
}

#[test]
fn agents_are_detected_by_folder_or_program_and_created_files_are_removed() {
    let mut sandbox = Sandbox::without_agents();
    assert!(sandbox.run_setup().is_empty());
    write_program(&sandbox.path("bin/codex"));
    write_program(&sandbox.path("bin/opencode"));
    sandbox.machine.vars.insert("PATH", sandbox.path("bin").into_os_string());
    let before = sandbox.snapshot_home();
    let done = sandbox.run_setup();
    let names: Vec<&str> = done.agents.iter().map(|agent| agent.agent.as_str()).collect();
    assert_eq!(names, ["codex", "opencode"]);
    assert_eq!(agent_report(&done, "codex").found.as_deref(), sandbox.path("bin/codex").to_str());
    assert!(sandbox.read(".codex/config.toml").starts_with("[mcp_servers.loci]\n"));
    assert!(sandbox.read(".config/opencode/opencode.json").starts_with("{\n  \"mcp\": {\n"));
    sandbox.run_removal();
    assert_eq!(sandbox.snapshot_home(), before);
}

#[test]
fn variables_move_the_files_and_reach_the_server() {
    let mut sandbox = Sandbox::without_agents();
    for (variable, folder) in [("CLAUDE_CONFIG_DIR", "c"), ("CODEX_HOME", "x"), ("GEMINI_CLI_HOME", "g")] {
        sandbox.machine.vars.insert(variable, sandbox.path(folder).into_os_string());
        fs::create_dir_all(sandbox.path(folder)).unwrap();
    }
    fs::create_dir_all(sandbox.path("g/.gemini")).unwrap();
    let cache = sandbox.path("cache").to_str().unwrap().to_string();
    sandbox.machine.vars.insert("XDG_CACHE_HOME", cache.clone().into());
    sandbox.machine.vars.insert("XDG_DATA_HOME", "relative".into());
    assert_eq!(sandbox.run_setup().agents.len(), 3);
    assert!(sandbox.path("c/settings.json").is_file());
    let env = format!("env = {{ XDG_CACHE_HOME = \"{cache}\" }}");
    assert!(sandbox.read("x/config.toml").contains(&env), "{}", sandbox.read("x/config.toml"));
    assert!(sandbox.read("g/.gemini/extensions/loci/gemini-extension.json").contains(&cache));
}

#[test]
fn only_a_requested_agent_is_set_up() {
    let sandbox = Sandbox::with_agents();
    let only = |remove| SetupRequest { agents: vec!["codex".into()], remove, ..SetupRequest::default() };
    let before = sandbox.snapshot_home();
    let done = run_setup(&sandbox.machine, &only(false)).unwrap();
    assert_eq!(done.agents.len(), 1);
    assert_eq!(sandbox.read(".claude/settings.json"), SETTINGS);
    let both = sandbox.run_setup();
    assert!(
        agent_report(&both, "codex").changes.is_empty()
            && !agent_report(&both, "opencode").changes.is_empty()
    );
    run_setup(&sandbox.machine, &only(true)).unwrap();
    assert_eq!(sandbox.read(".codex/config.toml"), CONFIG);
    assert_ne!(sandbox.read(".claude/settings.json"), SETTINGS);
    sandbox.run_removal();
    assert_eq!(sandbox.snapshot_home(), before);
}

#[test]
fn a_moved_program_is_updated() {
    let mut sandbox = Sandbox::with_agents();
    let before = sandbox.snapshot_home();
    sandbox.run_setup();
    let moved = sandbox.path("it's new/loci");
    fs::create_dir_all(moved.parent().unwrap()).unwrap();
    write_program(&moved);
    sandbox.machine.exe = moved.clone();
    let done = sandbox.run_setup();
    assert!(!done.has_failed(), "{done:#?}");
    assert!(done.agents.iter().all(|agent| !agent.changes.is_empty()));
    let everything: Vec<u8> = sandbox.snapshot_home().into_values().flat_map(|(_, bytes)| bytes).collect();
    let old = sandbox.path("bin/loci");
    assert!(
        !String::from_utf8_lossy(&everything).contains(old.to_str().unwrap()),
        "nothing refers to the old path"
    );
    let hook =
        serde_json::to_string(&format!("'{}' hook prompt", moved.to_str().unwrap().replace('\'', r"'\''")));
    assert!(sandbox.read(".codex/config.toml").contains(&hook.unwrap()));
    sandbox.run_removal();
    fs::remove_dir_all(moved.parent().unwrap()).unwrap();
    assert_eq!(sandbox.snapshot_home(), before);
}

/// The path on `PATH` still works after an update; the target of the link may not.
#[test]
fn the_path_found_on_path_is_written() {
    let mut sandbox = Sandbox::with_agents();
    fs::create_dir_all(sandbox.path("store/v1")).unwrap();
    fs::rename(sandbox.path("bin/loci"), sandbox.path("store/v1/loci")).unwrap();
    symlink(sandbox.path("store/v1/loci"), sandbox.path("bin/loci")).unwrap();
    sandbox.machine.exe = sandbox.path("store/v1/loci");
    sandbox.machine.vars.insert("PATH", sandbox.path("bin").into_os_string());
    sandbox.run_setup();
    assert!(
        sandbox
            .read(".codex/config.toml")
            .contains(&format!("command = \"{}\"", sandbox.path("bin/loci").display()))
    );
}

#[test]
fn foreign_entries_named_loci_are_kept() {
    let sandbox = Sandbox::with_agents();
    sandbox.write(".codex/config.toml", "[mcp_servers.loci]\ncommand = \"mine\"\n");
    sandbox.write(".config/opencode/agent/meta-query.md", "mine");
    sandbox.write(".claude/settings.json", "{\"enabledPlugins\": {\"loci@loci\": false}}");
    let before = sandbox.snapshot_home();
    let done = sandbox.run_setup();
    assert!(done.has_failed());
    for name in ["claude-code", "codex", "opencode"] {
        let agent = agent_report(&done, name);
        assert!(agent.changes.is_empty(), "{agent:?}");
        assert!(agent.problems[0].by_hand.is_some(), "{agent:?}");
    }
    assert!(!agent_report(&done, "gemini-cli").changes.is_empty(), "the other agents are set up");
    sandbox.run_removal();
    assert_eq!(sandbox.snapshot_home(), before);
}

#[test]
fn a_file_that_cannot_be_parsed_is_left_with_manual_instructions() {
    let sandbox = Sandbox::with_agents();
    sandbox.write(".claude/settings.json", "{ model: opus }");
    sandbox.write(".codex/config.toml", "mcp_servers = { a = { command = \"b\" } }\n");
    fs::write(sandbox.path(".config/opencode/opencode.jsonc"), b"{\"a\": \"\xff\"}").unwrap();
    let before = sandbox.snapshot_home();
    let done = sandbox.run_setup();
    for (name, shown) in
        [("claude-code", "\"loci@loci\": true"), ("codex", "[mcp_servers.loci]"), ("opencode", "\"mcp\": {")]
    {
        let agent = agent_report(&done, name);
        assert!(agent.changes.is_empty(), "{agent:?}");
        assert!(agent.problems[0].by_hand.as_ref().unwrap().contains(shown), "{agent:?}");
    }
    sandbox.run_removal();
    assert_eq!(sandbox.snapshot_home(), before);
}

#[test]
fn a_link_is_followed_and_the_mode_is_kept() {
    let sandbox = Sandbox::with_agents();
    sandbox.write("dotfiles/settings.json", SETTINGS);
    fs::set_permissions(sandbox.path("dotfiles/settings.json"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::remove_file(sandbox.path(".claude/settings.json")).unwrap();
    symlink("../dotfiles/settings.json", sandbox.path(".claude/settings.json")).unwrap();
    let before = sandbox.snapshot_home();
    assert!(!sandbox.run_setup().has_failed());
    assert!(sandbox.path(".claude/settings.json").is_symlink());
    assert!(sandbox.read("dotfiles/settings.json").contains("loci@loci"));
    assert_eq!(fs::metadata(sandbox.path("dotfiles/settings.json")).unwrap().mode() & 0o777, 0o640);
    sandbox.run_removal();
    assert_eq!(sandbox.snapshot_home(), before);
}

/// Agents rewrite their settings in their own style and record the approved plugins and hooks.
#[test]
fn only_our_entries_are_removed_from_rewritten_settings() {
    let sandbox = Sandbox::with_agents();
    sandbox.run_setup();
    let claude: serde_json::Value = serde_json::from_str(&sandbox.read(".claude/settings.json")).unwrap();
    let mut claude = claude.as_object().unwrap().clone();
    claude.insert("theme".into(), "dark".into());
    sandbox.write(".claude/settings.json", &serde_json::to_string_pretty(&claude).unwrap());
    let market = sandbox.machine.data.join("agents/claude-code");
    let known = serde_json::json!({"loci": {"source": {"source": "directory", "path": market}}, "other": {}});
    sandbox.write(".claude/plugins/known_marketplaces.json", &serde_json::to_string_pretty(&known).unwrap());
    sandbox.write(
        ".claude/plugins/installed_plugins.json",
        "{\"version\": 2, \"plugins\": {\"loci@loci\": [{}]}}",
    );
    let approved = |event: &str, at: u8| {
        format!(
            "\n[hooks.state.\"{}:{event}:{at}:0\"]\ntrusted_hash = \"x\"\n",
            sandbox.path(".codex/config.toml").display()
        )
    };
    let approvals =
        [approved("session_start", 0), approved("user_prompt_submit", 0), approved("session_start", 1)]
            .concat();
    let codex = format!("{}\n[tui]\nx = 1\n{approvals}", sandbox.read(".codex/config.toml"));
    sandbox.write(".codex/config.toml", &codex);

    let again = sandbox.run_setup();
    assert_eq!(again.change_count(), 0, "the entries are still in place: {again:#?}");
    assert!(!sandbox.run_removal().has_failed());
    let left = "{\n  \"model\": \"opus\",\n  \"env\": {\n    \"A\": \"1\"\n  },\n  \"theme\": \"dark\"\n}";
    assert_eq!(sandbox.read(".claude/settings.json"), left);
    assert_eq!(sandbox.read(".claude/plugins/known_marketplaces.json"), "{\n  \"other\": {}\n}");
    assert_eq!(sandbox.read(".claude/plugins/installed_plugins.json"), "{\"version\": 2, \"plugins\": {}}");
    assert_eq!(
        sandbox.read(".codex/config.toml"),
        format!("{CONFIG}\r\n\n[tui]\nx = 1\n{}", approved("session_start", 1))
    );
    assert!(!sandbox.machine.data.exists());
}

/// The user may add a marketplace with the same name.
#[test]
fn a_marketplace_that_the_user_added_is_kept() {
    let sandbox = Sandbox::with_agents();
    sandbox.run_setup();
    let known = "{\"loci\": {\"source\": {\"source\": \"github\", \"repo\": \"a/b\"}}}";
    sandbox.write(".claude/plugins/known_marketplaces.json", known);
    sandbox.write(".claude/plugins/installed_plugins.json", "{\"plugins\": {\"loci@loci\": []}}");
    sandbox.run_removal();
    assert_eq!(sandbox.read(".claude/plugins/known_marketplaces.json"), known);
    assert_eq!(sandbox.read(".claude/plugins/installed_plugins.json"), "{\"plugins\": {\"loci@loci\": []}}");
}

#[test]
fn an_installed_file_that_the_user_changed_is_kept() {
    let sandbox = Sandbox::with_agents();
    let before = sandbox.snapshot_home();
    sandbox.run_setup();
    let path = sandbox.path(".gemini/extensions/loci/commands/loci/stats.toml");
    fs::write(&path, "mine").unwrap();
    let refused = sandbox.run_setup();
    assert!(agent_report(&refused, "gemini-cli").problems[0].message.contains("changed"), "{refused:?}");
    let removal = sandbox.run_removal();
    assert!(removal.has_failed() && path.is_file());
    let report = agent_report(&removal, "gemini-cli");
    assert!(report.changes.iter().all(|change| change.does == ChangeKind::Remove && change.made));
    fs::remove_file(path).unwrap();
    assert!(!sandbox.run_removal().has_failed());
    assert_eq!(sandbox.snapshot_home(), before);
}

#[test]
fn created_settings_are_kept_if_the_user_added_to_them() {
    let sandbox = Sandbox::without_agents();
    fs::create_dir_all(sandbox.path(".claude")).unwrap();
    fs::create_dir_all(sandbox.path(".config/opencode")).unwrap();
    let before = sandbox.snapshot_home();
    sandbox.run_setup();
    let settings: serde_json::Value = serde_json::from_str(&sandbox.read(".claude/settings.json")).unwrap();
    sandbox.write(".claude/settings.json", &settings.to_string());
    let added = sandbox.read(".config/opencode/opencode.json").replacen('{', "{\n  \"theme\": \"x\",", 1);
    sandbox.write(".config/opencode/opencode.json", &added);
    sandbox.run_removal();
    assert_eq!(sandbox.read(".config/opencode/opencode.json"), "{\n  \"theme\": \"x\"\n}\n");
    fs::remove_file(sandbox.path(".config/opencode/opencode.json")).unwrap();
    assert_eq!(sandbox.snapshot_home(), before, "settings that contain only our entries are removed");
}

#[test]
fn concurrent_runs_have_the_same_result() {
    let sandbox = Sandbox::with_agents();
    let before = sandbox.snapshot_home();
    std::thread::scope(|scope| {
        let sandbox = &sandbox;
        let one = |at| move || if at % 3 == 2 { sandbox.run_removal() } else { sandbox.run_setup() };
        let all: Vec<_> = (0..6).map(|at| scope.spawn(one(at))).collect();
        assert!(all.into_iter().all(|one| !one.join().unwrap().has_failed()));
    });
    sandbox.run_setup();
    assert_eq!(sandbox.run_setup().change_count(), 0);
    sandbox.run_removal();
    assert_eq!(sandbox.snapshot_home(), before);
}

/// Removal ends with the folders created for Loci's own files; setup begins with them.
#[test]
fn created_folders_are_recorded_when_setup_and_removal_race() {
    let sandbox = Sandbox::without_agents();
    fs::create_dir_all(sandbox.path(".claude")).unwrap();
    let before = sandbox.snapshot_home();
    for round in 0..10 {
        std::thread::scope(|scope| {
            let sandbox = &sandbox;
            let one = |at: usize| {
                move || if at.is_multiple_of(2) { sandbox.run_removal() } else { sandbox.run_setup() }
            };
            (0..4).for_each(|at| drop(scope.spawn(one(at))));
        });
        sandbox.run_setup();
        sandbox.run_removal();
        assert_eq!(sandbox.snapshot_home(), before, "round {round}");
    }
}

#[test]
fn an_unreadable_receipt_is_not_overwritten() {
    let sandbox = Sandbox::with_agents();
    sandbox.run_setup();
    let receipt = sandbox.machine.data.join("setup.json");
    for damage in ["{", "{\"version\": 99, \"agents\": {}, \"folders\": []}"] {
        fs::write(&receipt, damage).unwrap();
        for remove in [false, true] {
            let error =
                run_setup(&sandbox.machine, &SetupRequest { remove, ..SetupRequest::default() }).unwrap_err();
            assert!(error.to_string().contains("setup.json"), "{error}");
        }
        assert_eq!(fs::read_to_string(&receipt).unwrap(), damage);
    }
}

// ---- the files that ship with Loci

fn integrations_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../integrations")
}

#[test]
fn every_file_of_the_repository_is_installed() {
    let sandbox = Sandbox::with_agents();
    sandbox.run_setup();
    let by_hand = ["config.toml", "opencode.json"];
    for (folder, to) in [
        ("claude-code", sandbox.machine.data.join("agents/claude-code")),
        ("codex", sandbox.path(".codex")),
        ("gemini-cli", sandbox.path(".gemini/extensions/loci")),
        ("opencode", sandbox.path(".config/opencode")),
    ] {
        let mut all = BTreeMap::new();
        walk_tree(&integrations_folder().join(folder), &mut all);
        let files = all
            .keys()
            .filter(|path| path.is_file())
            .map(|path| path.strip_prefix(integrations_folder().join(folder)));
        for file in
            files.map(Result::unwrap).filter(|file| !by_hand.iter().any(|name| *file == Path::new(name)))
        {
            let text = fs::read_to_string(to.join(file))
                .unwrap_or_else(|e| panic!("{folder}/{}: {e}", file.display()));
            assert!(
                !text.contains("`loci ") && !text.contains("{loci "),
                "{}: contains the bare program name",
                file.display()
            );
            match file.extension().and_then(|ending| ending.to_str()) {
                Some("json") => drop(serde_json::from_str::<serde_json::Value>(&text).unwrap()),
                Some("toml") => drop(toml::from_str::<toml::Table>(&text).unwrap()),
                _ => {}
            }
        }
    }
}

#[test]
fn the_plugin_and_the_extension_have_the_version_of_the_program() {
    for path in ["claude-code/loci/.claude-plugin/plugin.json", "gemini-cli/gemini-extension.json"] {
        let text = fs::read_to_string(integrations_folder().join(path)).unwrap();
        let manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"), "{path}");
    }
}

/// The subagents have the same instructions for every agent.
#[test]
fn the_subagents_are_the_same_everywhere() {
    let read = |path: String| fs::read_to_string(integrations_folder().join(path)).unwrap();
    let body = |text: String| text.splitn(3, "---\n").nth(2).unwrap().trim_start().to_string();
    for name in ["meta-query", "meta-coach", "error-analyst", "workflow-tuner"] {
        let instructions = body(read(format!("claude-code/loci/agents/{name}.md")));
        assert_eq!(body(read(format!("gemini-cli/agents/{name}.md"))), instructions);
        assert_eq!(body(read(format!("opencode/agent/{name}.md"))), instructions);
        let codex: toml::Table = toml::from_str(&read(format!("codex/agents/{name}.toml"))).unwrap();
        assert_eq!(codex["developer_instructions"].as_str().unwrap(), instructions);
        assert!(
            instructions.contains("Output control:")
                && instructions.contains("stats_only")
                && instructions.contains("file_ref"),
            "{name}"
        );
        let others = ["meta-query", "meta-coach", "error-analyst", "workflow-tuner"];
        assert!(others.iter().all(|other| !instructions.contains(other)), "{name} depends on another");
    }
}

/// The files that setup edits for agents that get nothing but entries, with content that a careless edit would destroy.
const SETTINGS_ONLY: &[(&str, &str, &str)] = &[
    ("kilo", ".config/kilo/kilo.json", "{\r\n\t\"mcp\": {\"other\": {\"type\": \"remote\"}}\r\n}"),
    ("qwen", ".qwen/settings.json", "{\"hooks\": {\"Stop\": [{\"hooks\": []}]}, \"$version\": 2}\n\n"),
    ("copilot", ".copilot/mcp-config.json", "{ \"mcpServers\": { } }"),
    (
        "droid",
        ".factory/mcp.json",
        "{\n    \"mcpServers\": {\n        \"a\": {\"type\": \"http\"}\n    }\n}\n",
    ),
    ("cline", ".cline/data/settings/cline_mcp_settings.json", "{}"),
    ("kimi", ".kimi-code/mcp.json", "\n"),
    ("cursor", ".cursor/mcp.json", "{\"mcpServers\":{\"a\":{\"url\":\"x\"}}}"),
    ("vscode-copilot", ".config/Code/User/mcp.json", "{\n\t\"servers\": {},\n\t\"inputs\": []\n}"),
    ("zed", ".config/zed/settings.json", "// mine\n{\n  \"theme\": \"One\", // dark\n}\n"),
    ("crush", ".config/crush/crush.json", "{\"$schema\": \"x\",\n\"lsp\": {}}"),
];

#[test]
fn agents_with_settings_only_get_a_server_and_their_files_back() {
    let sandbox = Sandbox::without_agents();
    for (_, path, text) in SETTINGS_ONLY {
        sandbox.write(path, text);
    }
    let before = sandbox.snapshot_home();
    let done = sandbox.run_setup();
    assert!(!done.has_failed(), "{done:#?}");
    assert_eq!(done.agents.len(), SETTINGS_ONLY.len());
    for (agent, path, _) in SETTINGS_ONLY {
        let report = agent_report(&done, agent);
        assert!(report.changes.iter().any(|change| change.path.ends_with(path) && change.diff.is_some()));
        let now = sandbox.read(path);
        assert!(now.contains("loci\"") && now.contains("bin/loci"), "{agent}: {now}");
    }
    for (file, has) in
        [(".qwen/settings.json", true), (".factory/hooks.json", true), (".factory/mcp.json", false)]
    {
        let text = sandbox.read(file);
        assert_eq!(
            text.contains("hook session-start") && text.contains("UserPromptSubmit"),
            has,
            "{file}: {text}"
        );
    }
    assert_eq!(sandbox.run_setup().change_count(), 0);
    assert!(!sandbox.run_removal().has_failed());
    assert_eq!(sandbox.snapshot_home(), before);
}

#[test]
fn every_agent_of_the_table_can_be_configured_where_nothing_is_installed() {
    let sandbox = Sandbox::without_agents();
    let before = sandbox.snapshot_home();
    let agents = api::setup::AGENTS.iter().map(ToString::to_string).collect();
    let done = run_setup(&sandbox.machine, &SetupRequest { agents, ..SetupRequest::default() }).unwrap();
    let names: Vec<&str> = done.agents.iter().map(|agent| agent.agent.as_str()).collect();
    assert_eq!(names, api::setup::AGENTS);
    assert!(!done.has_failed(), "{done:#?}");
    sandbox.run_removal();
    assert_eq!(sandbox.snapshot_home(), before);
}

/// The agent or the user adds hooks beside ours, so that the former bytes cannot be restored as a whole.
#[test]
fn hooks_of_others_in_a_list_survive_removal() {
    let sandbox = Sandbox::without_agents();
    let theirs = r#"{"hooks": [{"type": "command", "command": "mine"}]}"#;
    let before = format!("{{\n  \"hooks\": {{\n    \"SessionStart\": [\n      {theirs}\n    ]\n  }}\n}}\n");
    sandbox.write(".qwen/settings.json", &before);
    assert!(!sandbox.run_setup().has_failed());
    let both = sandbox.read(".qwen/settings.json");
    assert!(both.contains(theirs) && both.contains("hook session-start"), "{both}");
    sandbox.write(".qwen/settings.json", &both.replace("\"mine\"", "\"mine too\""));
    assert!(!sandbox.run_removal().has_failed());
    assert_eq!(sandbox.read(".qwen/settings.json"), before.replace("\"mine\"", "\"mine too\""));
}
