//! `loci setup` and `loci setup --remove`: dry run, confirmation, changes, interruption and complete removal.

use crate::fixture::Fixture;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use testutil::binary;

const AGENTS: [&str; 4] = ["claude-code", "codex", "gemini-cli", "opencode"];

fn agent_names(response: &Value) -> Vec<&str> {
    response["agents"].as_array().unwrap().iter().map(|agent| agent["agent"].as_str().unwrap()).collect()
}

fn changes(response: &Value) -> Vec<&Value> {
    response["agents"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|agent| agent["changes"].as_array().unwrap())
        .collect()
}

/// Loci's own folders: the server that `setup` starts as a check may create files there.
const LOCI_FOLDERS: &[&str] = &[".cache", ".local"];

#[test]
fn removal_restores_the_files_of_four_agents_byte_for_byte() {
    let fixture = Fixture::new();
    let before = fixture.snapshot_files(LOCI_FOLDERS);
    let planned = fixture.run_json(&["setup", "--dry-run"], 0);
    assert_eq!(agent_names(&planned), AGENTS);
    assert_eq!(planned["dryRun"], true);
    assert!(changes(&planned).iter().all(|change| change["made"] == false));
    assert_eq!(fixture.snapshot_files(LOCI_FOLDERS), before);

    let done = fixture.run_json(&["setup", "--yes"], 0);
    assert!(changes(&done).iter().all(|change| change["made"] == true));
    for agent in done["agents"].as_array().unwrap() {
        let checks = agent["checks"].as_array().unwrap();
        assert!(checks.len() == 3 && checks.iter().all(|check| check["holds"] == true), "{agent}");
        assert!(agent["next"].is_string());
    }
    let settings: Value = serde_json::from_str(&fixture.read(".claude/settings.json")).unwrap();
    assert_eq!(settings["enabledPlugins"], json!({"loci@loci": true}));
    assert!(
        fixture
            .read(".codex/config.toml")
            .contains(&format!("\n[mcp_servers.loci]\ncommand = \"{}\"\n", binary()))
    );
    assert!(fixture.read(".gemini/extensions/loci/gemini-extension.json").contains(binary()));
    assert!(
        fixture.read(".config/opencode/opencode.jsonc").contains("\r\n\t\"mcp\": {\r\n\t\t\"loci\": {\r\n")
    );

    let after = fixture.snapshot_files(LOCI_FOLDERS);
    assert!(changes(&fixture.run_json(&["setup", "--yes"], 0)).is_empty());
    assert_eq!(fixture.snapshot_files(LOCI_FOLDERS), after);
    let removed = fixture.run_json(&["setup", "--remove", "--yes"], 0);
    assert_eq!(changes(&removed).len(), changes(&done).len());
    assert_eq!(fixture.snapshot_files(LOCI_FOLDERS), before);
    let data = fixture.path().join(".local/share/loci");
    assert!(!data.join("setup.json").exists() && !data.join("agents").exists());
    fixture.run_json(&["setup", "--remove", "--yes"], 2);
}

const SUPPORTED: &str = "claude-code, codex, gemini-cli, opencode, kilo, qwen, copilot, droid, cline, kimi, cursor, \
                         vscode-copilot, zed, crush";

/// Each parameter changes the response.
#[test]
fn agents_can_be_chosen() {
    let fixture = Fixture::new();
    assert_eq!(agent_names(&fixture.run_json(&["setup", "codex", "--yes"], 0)), ["codex"]);
    assert_eq!(
        agent_names(&fixture.run_json(&["setup", "--agents", "opencode,codex", "--dry-run"], 0)),
        ["codex", "opencode"]
    );
    assert_eq!(agent_names(&fixture.run_json(&["setup", "--remove", "--dry-run"], 0)), ["codex"]);
    let refused = fixture.run_json(&["setup", "emacs", "--dry-run"], 1);
    assert_eq!(
        (&refused["code"], &refused["hints"][0]),
        (&json!("INVALID_ARGUMENT"), &json!(format!("supported: {}", SUPPORTED)))
    );
}

#[test]
fn setup_changes_nothing_without_confirmation() {
    let fixture = Fixture::new();
    let before = fixture.snapshot_files(LOCI_FOLDERS);
    let refused = fixture.run_json(&["setup"], 1);
    assert_eq!(refused["code"], "INVALID_ARGUMENT");
    assert_eq!(refused["hints"], json!(["loci setup --dry-run", "loci setup --yes"]));
    assert_eq!(fixture.run_json(&["setup", "--remove"], 1)["hints"][1], "loci setup --remove --yes");
    assert_eq!(fixture.snapshot_files(LOCI_FOLDERS), before);
}

#[test]
fn the_text_plan_shows_every_added_line() {
    let fixture = Fixture::new();
    let output = fixture.loci(&["setup", "--dry-run", "-o", "text"]);
    let text = String::from_utf8(output.stdout).unwrap();
    for line in [
        "Claude Code  found: ~/.claude\n",
        "  edit     ~/.claude/settings.json\n",
        "    +    \"enabledPlugins\": {\n",
        "    +[mcp_servers.loci]\n",
        "  create   ~/.gemini/extensions/loci/hooks/hooks.json\n",
        "hook session-start",
        "           errors.toml, files.toml, search.toml, stats.toml, timeline.toml, usage.toml\n",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}

/// The context lines of a diff may contain the user's secrets.
#[test]
fn secrets_next_to_a_change_are_masked() {
    let fixture = Fixture::new();
    let token = mask::specimen::generate_secrets(1)
        .into_iter()
        .find(|one| one.kind.starts_with("github"))
        .unwrap()
        .secret
        .concat();
    fixture.write(".claude/settings.json", &format!("{{\n  \"env\": {{\"GH_TOKEN\": \"{token}\"}}\n}}\n"));
    let shown = String::from_utf8(fixture.loci(&["setup", "--dry-run"]).stdout).unwrap();
    assert!(shown.contains("GH_TOKEN") && !shown.contains(&token), "{shown}");
    fixture.run_json(&["setup", "--yes"], 0);
    assert!(fixture.read(".claude/settings.json").contains(&token));
}

/// After `kill -9` at any moment, both `setup` and `setup --remove` repair the result.
#[test]
fn a_kill_at_any_moment_is_repaired_by_setup_and_by_remove() {
    let fixture = Fixture::new();
    let before = fixture.snapshot_files(LOCI_FOLDERS);
    let started = Instant::now();
    fixture.run_json(&["setup", "--yes"], 0);
    let full_run = started.elapsed().min(Duration::from_secs(2));
    let after = fixture.snapshot_files(LOCI_FOLDERS);
    fixture.run_json(&["setup", "--remove", "--yes"], 0);
    for kill in 0..24_u32 {
        let args: &[&str] = if kill % 4 == 3 { &["setup", "--remove", "--yes"] } else { &["setup", "--yes"] };
        let mut child = fixture.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(full_run * (kill % 12) / 12);
        let _ = child.kill();
        child.wait().unwrap();
        match kill % 3 {
            0 => {
                fixture.run_json(&["setup", "--yes"], 0);
                assert_eq!(fixture.snapshot_files(LOCI_FOLDERS), after, "kill {kill}");
            }
            1 => {
                fixture.loci(&["setup", "--remove", "--yes"]);
                assert_eq!(fixture.snapshot_files(LOCI_FOLDERS), before, "kill {kill}");
            }
            _ => {}
        }
    }
}

/// This binary accepts every `loci` command in the installed slash commands and subagents.
#[test]
fn every_command_in_the_installed_files_is_accepted() {
    let fixture = Fixture::new();
    fixture.run_json(&["setup", "--yes"], 0);
    let (loci, mut commands) = (binary(), BTreeSet::new());
    for (_, (_, bytes)) in fixture.snapshot_files(&[]) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        for (open, close) in [(format!("`{loci} "), '`'), (format!("!{{{loci} "), '}')] {
            for rest in text.split(&open).skip(1) {
                let line = rest.split(close).next().unwrap().replace("{{args", "x");
                commands.insert(line.trim_end_matches(" || true").to_string());
            }
        }
    }
    assert!(commands.len() > 12, "{commands:?}");
    // The plugin's README mentions `setup` itself.
    for line in commands.iter().filter(|line| !line.starts_with("setup")) {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &format!("{loci} {line}")])
            .env_clear()
            .env("HOME", fixture.path())
            .env("LOCI_DAEMON", "off")
            .current_dir(fixture.path());
        let output = shell.output().unwrap();
        let is_accepted = matches!(output.status.code(), Some(0 | 2));
        assert!(is_accepted, "loci {line}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
