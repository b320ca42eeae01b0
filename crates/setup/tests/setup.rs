//! What `loci setup` does to a machine, and that it can be undone: whatever the agents' files looked like, and whoever
//! changed them in between.

// clippy.toml allows unwrapping in tests, but knows no helpers; the pedantic lints are for shipped code.
#![allow(clippy::unwrap_used, clippy::pedantic)]

use api::Response;
use api::setup::{AgentSetup, Does, SetupDone, SetupRequest};
use loci_setup::{Machine, setup};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A machine with a home of its own, on which four agents have been used.
struct Desk {
    machine: Machine,
    _dir: TempDir,
}

const SETTINGS: &str = "{\n  \"model\": \"opus\",\n  \"env\": {\"A\": \"1\"}\n}";
const CONFIG: &str = "model = \"x\" # mine\r\n\r\n[mcp_servers.other]\r\ncommand = \"y\"";
const JSONC: &str = "{\n\t// mine\n\t\"theme\": \"x\",\n}\n";

impl Desk {
    fn bare() -> Desk {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        fs::create_dir_all(home.join("bin")).unwrap();
        let exe = home.join("bin/loci");
        program(&exe);
        let data = home.join(".local/share/loci");
        Desk { machine: Machine { home, vars: BTreeMap::new(), data, exe }, _dir: dir }
    }

    fn used() -> Desk {
        let desk = Desk::bare();
        desk.write(".claude/settings.json", SETTINGS);
        desk.write(".codex/config.toml", CONFIG);
        fs::create_dir_all(desk.path(".gemini")).unwrap();
        desk.write(".config/opencode/opencode.jsonc", JSONC);
        desk
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

    fn setup(&self) -> SetupDone {
        setup(&self.machine, &SetupRequest::default()).unwrap()
    }

    fn remove(&self) -> SetupDone {
        setup(&self.machine, &SetupRequest { remove: true, ..SetupRequest::default() }).unwrap()
    }

    /// Every file, folder and link below home, with its bytes and its mode.
    fn everything(&self) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
        let mut all = BTreeMap::new();
        walk(&self.machine.home, &mut all);
        all
    }
}

/// Written by another process: a test that starts one at the same moment would hold this file open, and what is open
/// for writing cannot be run.
fn program(path: &Path) {
    let script = r#"printf '#!/bin/sh\necho loci 0.0.0\n' > "$0" && chmod 755 "$0""#;
    assert!(Command::new("sh").args(["-c", script]).arg(path).status().unwrap().success());
}

fn walk(folder: &Path, all: &mut BTreeMap<PathBuf, (u32, Vec<u8>)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let meta = fs::symlink_metadata(&path).unwrap();
        let bytes = if meta.is_symlink() {
            fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
        } else if meta.is_dir() {
            walk(&path, all);
            Vec::new()
        } else {
            fs::read(&path).unwrap()
        };
        all.insert(path, (meta.mode(), bytes));
    }
}

fn of<'a>(done: &'a SetupDone, name: &str) -> &'a AgentSetup {
    done.agents.iter().find(|agent| agent.agent == name).unwrap_or_else(|| panic!("{name} in {done:?}"))
}

#[test]
fn what_is_set_up_is_taken_out_to_the_last_byte() {
    let desk = Desk::used();
    let before = desk.everything();
    let shown = setup(&desk.machine, &SetupRequest { dry_run: true, ..SetupRequest::default() }).unwrap();
    assert_eq!(desk.everything(), before, "a dry run leaves no trace");

    let done = desk.setup();
    assert!(!done.failed(), "{done:#?}");
    assert_eq!(done.agents.len(), 4);
    for (was, is) in shown.agents.iter().zip(&done.agents) {
        assert!(is.changes.iter().all(|change| change.made), "{is:?}");
        let told = |agent: &AgentSetup| -> Vec<_> {
            agent.changes.iter().map(|c| (c.path.clone(), c.does, c.diff.clone(), c.bytes)).collect()
        };
        assert_eq!(told(was), told(is), "what was shown is what was done");
        assert!(is.checks.iter().all(|check| check.holds) && is.checks.len() == 3, "{:?}", is.checks);
    }
    let receipt = fs::metadata(desk.machine.data.join("setup.json")).unwrap();
    assert_eq!(receipt.mode() & 0o777, 0o600);

    let after = desk.everything();
    let again = desk.setup();
    assert_eq!(again.changes(), 0, "{again:#?}");
    assert!(!again.failed());
    assert_eq!(desk.everything(), after, "a second time changes nothing");

    let gone = desk.remove();
    assert!(!gone.failed() && gone.changes() == done.changes(), "{gone:#?}");
    assert_eq!(desk.everything(), before);
    assert!(desk.remove().is_empty(), "there is nothing left to take out");
}

#[test]
fn agents_are_found_by_their_folder_or_their_program_and_what_is_made_for_them_goes_again() {
    let mut desk = Desk::bare();
    assert!(desk.setup().is_empty());
    program(&desk.path("bin/codex"));
    program(&desk.path("bin/opencode"));
    desk.machine.vars.insert("PATH", desk.path("bin").into_os_string());
    let before = desk.everything();
    let done = desk.setup();
    let names: Vec<&str> = done.agents.iter().map(|agent| agent.agent.as_str()).collect();
    assert_eq!(names, ["codex", "opencode"]);
    assert_eq!(of(&done, "codex").found.as_deref(), desk.path("bin/codex").to_str());
    assert!(desk.read(".codex/config.toml").starts_with("[mcp_servers.loci]\n"));
    assert!(desk.read(".config/opencode/opencode.json").starts_with("{\n  \"mcp\": {\n"));
    desk.remove();
    assert_eq!(desk.everything(), before);
}

#[test]
fn variables_move_the_files_and_reach_the_server() {
    let mut desk = Desk::bare();
    for (variable, folder) in [("CLAUDE_CONFIG_DIR", "c"), ("CODEX_HOME", "x"), ("GEMINI_CLI_HOME", "g")] {
        desk.machine.vars.insert(variable, desk.path(folder).into_os_string());
        fs::create_dir_all(desk.path(folder)).unwrap();
    }
    fs::create_dir_all(desk.path("g/.gemini")).unwrap();
    let cache = desk.path("cache").to_str().unwrap().to_string();
    desk.machine.vars.insert("XDG_CACHE_HOME", cache.clone().into());
    desk.machine.vars.insert("XDG_DATA_HOME", "relative".into());
    assert_eq!(desk.setup().agents.len(), 3);
    assert!(desk.path("c/settings.json").is_file());
    let env = format!("env = {{ XDG_CACHE_HOME = \"{cache}\" }}");
    assert!(desk.read("x/config.toml").contains(&env), "{}", desk.read("x/config.toml"));
    assert!(desk.read("g/.gemini/extensions/loci/gemini-extension.json").contains(&cache));
}

#[test]
fn an_agent_that_is_named_is_set_up_alone() {
    let desk = Desk::used();
    let only = |remove| SetupRequest { agents: vec!["codex".into()], remove, dry_run: false };
    let before = desk.everything();
    let done = setup(&desk.machine, &only(false)).unwrap();
    assert_eq!(done.agents.len(), 1);
    assert_eq!(desk.read(".claude/settings.json"), SETTINGS);
    let both = desk.setup();
    assert!(of(&both, "codex").changes.is_empty() && !of(&both, "opencode").changes.is_empty());
    setup(&desk.machine, &only(true)).unwrap();
    assert_eq!(desk.read(".codex/config.toml"), CONFIG);
    assert_ne!(desk.read(".claude/settings.json"), SETTINGS);
    desk.remove();
    assert_eq!(desk.everything(), before);
}

#[test]
fn a_program_that_moved_is_followed() {
    let mut desk = Desk::used();
    let before = desk.everything();
    desk.setup();
    let moved = desk.path("it's new/loci");
    fs::create_dir_all(moved.parent().unwrap()).unwrap();
    program(&moved);
    desk.machine.exe = moved.clone();
    let done = desk.setup();
    assert!(!done.failed(), "{done:#?}");
    assert!(done.agents.iter().all(|agent| !agent.changes.is_empty()));
    let everything: Vec<u8> = desk.everything().into_values().flat_map(|(_, bytes)| bytes).collect();
    let old = desk.path("bin/loci");
    assert!(
        !String::from_utf8_lossy(&everything).contains(old.to_str().unwrap()),
        "nothing leads to the old place"
    );
    let hook =
        serde_json::to_string(&format!("'{}' hook prompt", moved.to_str().unwrap().replace('\'', r"'\''")));
    assert!(desk.read(".codex/config.toml").contains(&hook.unwrap()));
    desk.remove();
    fs::remove_dir_all(moved.parent().unwrap()).unwrap();
    assert_eq!(desk.everything(), before);
}

/// What a person types goes on working after an update; where its link leads may not.
#[test]
fn the_path_that_a_person_types_is_written_down() {
    let mut desk = Desk::used();
    fs::create_dir_all(desk.path("store/v1")).unwrap();
    fs::rename(desk.path("bin/loci"), desk.path("store/v1/loci")).unwrap();
    symlink(desk.path("store/v1/loci"), desk.path("bin/loci")).unwrap();
    desk.machine.exe = desk.path("store/v1/loci");
    desk.machine.vars.insert("PATH", desk.path("bin").into_os_string());
    desk.setup();
    assert!(
        desk.read(".codex/config.toml")
            .contains(&format!("command = \"{}\"", desk.path("bin/loci").display()))
    );
}

#[test]
fn what_somebody_else_named_loci_stays_theirs() {
    let desk = Desk::used();
    desk.write(".codex/config.toml", "[mcp_servers.loci]\ncommand = \"mine\"\n");
    desk.write(".config/opencode/agent/meta-query.md", "mine");
    desk.write(".claude/settings.json", "{\"enabledPlugins\": {\"loci@loci\": false}}");
    let before = desk.everything();
    let done = desk.setup();
    assert!(done.failed());
    for name in ["claude-code", "codex", "opencode"] {
        let agent = of(&done, name);
        assert!(agent.changes.is_empty(), "{agent:?}");
        assert!(agent.problems[0].by_hand.is_some(), "{agent:?}");
    }
    assert!(!of(&done, "gemini-cli").changes.is_empty(), "the others are not kept waiting");
    desk.remove();
    assert_eq!(desk.everything(), before);
}

#[test]
fn what_cannot_be_understood_is_left_with_what_to_add_by_hand() {
    let desk = Desk::used();
    desk.write(".claude/settings.json", "{ model: opus }");
    desk.write(".codex/config.toml", "mcp_servers = { a = { command = \"b\" } }\n");
    fs::write(desk.path(".config/opencode/opencode.jsonc"), b"{\"a\": \"\xff\"}").unwrap();
    let before = desk.everything();
    let done = desk.setup();
    for (name, shown) in
        [("claude-code", "\"loci@loci\": true"), ("codex", "[mcp_servers.loci]"), ("opencode", "\"mcp\": {")]
    {
        let agent = of(&done, name);
        assert!(agent.changes.is_empty(), "{agent:?}");
        assert!(agent.problems[0].by_hand.as_ref().unwrap().contains(shown), "{agent:?}");
    }
    desk.remove();
    assert_eq!(desk.everything(), before);
}

#[test]
fn a_link_is_followed_and_the_mode_is_kept() {
    let desk = Desk::used();
    desk.write("dotfiles/settings.json", SETTINGS);
    fs::set_permissions(desk.path("dotfiles/settings.json"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::remove_file(desk.path(".claude/settings.json")).unwrap();
    symlink("../dotfiles/settings.json", desk.path(".claude/settings.json")).unwrap();
    let before = desk.everything();
    assert!(!desk.setup().failed());
    assert!(desk.path(".claude/settings.json").is_symlink());
    assert!(desk.read("dotfiles/settings.json").contains("loci@loci"));
    assert_eq!(fs::metadata(desk.path("dotfiles/settings.json")).unwrap().mode() & 0o777, 0o640);
    desk.remove();
    assert_eq!(desk.everything(), before);
}

/// The agents write their settings anew, each in its own manner, and note what they were given.
#[test]
fn of_what_the_agents_wrote_anew_only_ours_goes() {
    let desk = Desk::used();
    desk.setup();
    let claude: serde_json::Value = serde_json::from_str(&desk.read(".claude/settings.json")).unwrap();
    let mut claude = claude.as_object().unwrap().clone();
    claude.insert("theme".into(), "dark".into());
    desk.write(".claude/settings.json", &serde_json::to_string_pretty(&claude).unwrap());
    let market = desk.machine.data.join("agents/claude-code");
    let known = serde_json::json!({"loci": {"source": {"source": "directory", "path": market}}, "other": {}});
    desk.write(".claude/plugins/known_marketplaces.json", &serde_json::to_string_pretty(&known).unwrap());
    desk.write(
        ".claude/plugins/installed_plugins.json",
        "{\"version\": 2, \"plugins\": {\"loci@loci\": [{}]}}",
    );
    let agreed = |event: &str, at: u8| {
        format!(
            "\n[hooks.state.\"{}:{event}:{at}:0\"]\ntrusted_hash = \"x\"\n",
            desk.path(".codex/config.toml").display()
        )
    };
    let noted =
        [agreed("session_start", 0), agreed("user_prompt_submit", 0), agreed("session_start", 1)].concat();
    let codex = format!("{}\n[tui]\nx = 1\n{noted}", desk.read(".codex/config.toml"));
    desk.write(".codex/config.toml", &codex);

    let again = desk.setup();
    assert_eq!(again.changes(), 0, "it still holds what it should: {again:#?}");
    assert!(!desk.remove().failed());
    let left = "{\n  \"model\": \"opus\",\n  \"env\": {\n    \"A\": \"1\"\n  },\n  \"theme\": \"dark\"\n}";
    assert_eq!(desk.read(".claude/settings.json"), left);
    assert_eq!(desk.read(".claude/plugins/known_marketplaces.json"), "{\n  \"other\": {}\n}");
    assert_eq!(desk.read(".claude/plugins/installed_plugins.json"), "{\"version\": 2, \"plugins\": {}}");
    assert_eq!(
        desk.read(".codex/config.toml"),
        format!("{CONFIG}\r\n\n[tui]\nx = 1\n{}", agreed("session_start", 1))
    );
    assert!(!desk.machine.data.exists());
}

/// A marketplace of that name which somebody added by hand is none of ours.
#[test]
fn what_the_agent_notes_of_others_stays() {
    let desk = Desk::used();
    desk.setup();
    let known = "{\"loci\": {\"source\": {\"source\": \"github\", \"repo\": \"a/b\"}}}";
    desk.write(".claude/plugins/known_marketplaces.json", known);
    desk.write(".claude/plugins/installed_plugins.json", "{\"plugins\": {\"loci@loci\": []}}");
    desk.remove();
    assert_eq!(desk.read(".claude/plugins/known_marketplaces.json"), known);
    assert_eq!(desk.read(".claude/plugins/installed_plugins.json"), "{\"plugins\": {\"loci@loci\": []}}");
}

#[test]
fn a_file_of_ours_that_a_person_changed_is_kept() {
    let desk = Desk::used();
    let before = desk.everything();
    desk.setup();
    let path = desk.path(".gemini/extensions/loci/commands/loci/stats.toml");
    fs::write(&path, "mine").unwrap();
    let refused = desk.setup();
    assert!(of(&refused, "gemini-cli").problems[0].message.contains("changed"), "{refused:?}");
    let gone = desk.remove();
    assert!(gone.failed() && path.is_file());
    let kept = of(&gone, "gemini-cli");
    assert!(kept.changes.iter().all(|change| change.does == Does::Remove && change.made));
    fs::remove_file(path).unwrap();
    assert!(!desk.remove().failed());
    assert_eq!(desk.everything(), before);
}

#[test]
fn settings_that_came_with_us_stay_if_somebody_added_to_them() {
    let desk = Desk::bare();
    fs::create_dir_all(desk.path(".claude")).unwrap();
    fs::create_dir_all(desk.path(".config/opencode")).unwrap();
    let before = desk.everything();
    desk.setup();
    let settings: serde_json::Value = serde_json::from_str(&desk.read(".claude/settings.json")).unwrap();
    desk.write(".claude/settings.json", &settings.to_string());
    let added = desk.read(".config/opencode/opencode.json").replacen('{', "{\n  \"theme\": \"x\",", 1);
    desk.write(".config/opencode/opencode.json", &added);
    desk.remove();
    assert_eq!(desk.read(".config/opencode/opencode.json"), "{\n  \"theme\": \"x\"\n}\n");
    fs::remove_file(desk.path(".config/opencode/opencode.json")).unwrap();
    assert_eq!(desk.everything(), before, "settings that hold nothing but ours go as a whole");
}

#[test]
fn several_at_once_come_to_the_same() {
    let desk = Desk::used();
    let before = desk.everything();
    std::thread::scope(|scope| {
        let desk = &desk;
        let one = |at| move || if at % 3 == 2 { desk.remove() } else { desk.setup() };
        let all: Vec<_> = (0..6).map(|at| scope.spawn(one(at))).collect();
        assert!(all.into_iter().all(|one| !one.join().unwrap().failed()));
    });
    desk.setup();
    assert_eq!(desk.setup().changes(), 0);
    desk.remove();
    assert_eq!(desk.everything(), before);
}

/// Taking out ends with the folders that were made for Loci's own files; putting in begins with them.
#[test]
fn folders_belong_to_somebody_whoever_goes_while_another_comes() {
    let desk = Desk::bare();
    fs::create_dir_all(desk.path(".claude")).unwrap();
    let before = desk.everything();
    for round in 0..10 {
        std::thread::scope(|scope| {
            let desk = &desk;
            let one = |at: usize| move || if at.is_multiple_of(2) { desk.remove() } else { desk.setup() };
            (0..4).for_each(|at| drop(scope.spawn(one(at))));
        });
        desk.setup();
        desk.remove();
        assert_eq!(desk.everything(), before, "round {round}");
    }
}

#[test]
fn a_receipt_that_cannot_be_read_is_not_written_over() {
    let desk = Desk::used();
    desk.setup();
    let receipt = desk.machine.data.join("setup.json");
    for damage in ["{", "{\"version\": 99, \"agents\": {}, \"folders\": []}"] {
        fs::write(&receipt, damage).unwrap();
        for remove in [false, true] {
            let error =
                setup(&desk.machine, &SetupRequest { remove, ..SetupRequest::default() }).unwrap_err();
            assert!(error.to_string().contains("setup.json"), "{error}");
        }
        assert_eq!(fs::read_to_string(&receipt).unwrap(), damage);
    }
}

// ---- the files that come with Loci

fn integrations() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../integrations")
}

#[test]
fn every_file_of_the_repository_is_installed() {
    let desk = Desk::used();
    desk.setup();
    let by_hand = ["config.toml", "opencode.json"];
    for (folder, to) in [
        ("claude-code", desk.machine.data.join("agents/claude-code")),
        ("codex", desk.path(".codex")),
        ("gemini-cli", desk.path(".gemini/extensions/loci")),
        ("opencode", desk.path(".config/opencode")),
    ] {
        let mut all = BTreeMap::new();
        walk(&integrations().join(folder), &mut all);
        let files = all
            .keys()
            .filter(|path| path.is_file())
            .map(|path| path.strip_prefix(integrations().join(folder)));
        for file in
            files.map(Result::unwrap).filter(|file| !by_hand.iter().any(|name| *file == Path::new(name)))
        {
            let text = fs::read_to_string(to.join(file))
                .unwrap_or_else(|e| panic!("{folder}/{}: {e}", file.display()));
            assert!(
                !text.contains("`loci ") && !text.contains("{loci "),
                "{}: the program by its path",
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
        let text = fs::read_to_string(integrations().join(path)).unwrap();
        let told: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(told["version"], env!("CARGO_PKG_VERSION"), "{path}");
    }
}

/// The subagents say the same to every agent.
#[test]
fn the_subagents_are_the_same_everywhere() {
    let read = |path: String| fs::read_to_string(integrations().join(path)).unwrap();
    let body = |text: String| text.splitn(3, "---\n").nth(2).unwrap().trim_start().to_string();
    for name in ["meta-query", "meta-coach", "error-analyst", "workflow-tuner"] {
        let said = body(read(format!("claude-code/loci/agents/{name}.md")));
        assert_eq!(body(read(format!("gemini-cli/agents/{name}.md"))), said);
        assert_eq!(body(read(format!("opencode/agent/{name}.md"))), said);
        let codex: toml::Table = toml::from_str(&read(format!("codex/agents/{name}.toml"))).unwrap();
        assert_eq!(codex["developer_instructions"].as_str().unwrap(), said);
        assert!(
            said.contains("Output control:") && said.contains("stats_only") && said.contains("file_ref"),
            "{name}"
        );
        let others = ["meta-query", "meta-coach", "error-analyst", "workflow-tuner"];
        assert!(others.iter().all(|other| !said.contains(other)), "{name} depends on another");
    }
}
