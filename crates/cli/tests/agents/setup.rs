//! `loci setup` as a person or a script runs it: what is shown, asked, done, killed and undone.

use crate::fixture::Fixture;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use testutil::binary;

const AGENTS: [&str; 4] = ["claude-code", "codex", "gemini-cli", "opencode"];

fn names(answer: &Value) -> Vec<&str> {
    answer["agents"].as_array().unwrap().iter().map(|agent| agent["agent"].as_str().unwrap()).collect()
}

fn changes(answer: &Value) -> Vec<&Value> {
    answer["agents"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|agent| agent["changes"].as_array().unwrap())
        .collect()
}

/// Loci's own folders, which a server that was tried out may have made.
const OURS: &[&str] = &[".cache", ".local"];

#[test]
fn four_agents_are_wired_and_unwired_to_the_last_byte() {
    let fixture = Fixture::new();
    let before = fixture.everything(OURS);
    let shown = fixture.answer(&["setup", "--dry-run"], 0);
    assert_eq!(names(&shown), AGENTS);
    assert_eq!(shown["dryRun"], true);
    assert!(changes(&shown).iter().all(|change| change["made"] == false));
    assert_eq!(fixture.everything(OURS), before);

    let done = fixture.answer(&["setup", "--yes"], 0);
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

    let after = fixture.everything(OURS);
    assert!(changes(&fixture.answer(&["setup", "--yes"], 0)).is_empty());
    assert_eq!(fixture.everything(OURS), after);
    let gone = fixture.answer(&["setup", "--remove", "--yes"], 0);
    assert_eq!(changes(&gone).len(), changes(&done).len());
    assert_eq!(fixture.everything(OURS), before);
    let own = fixture.path().join(".local/share/loci");
    assert!(!own.join("setup.json").exists() && !own.join("agents").exists());
    fixture.answer(&["setup", "--remove", "--yes"], 2);
}

/// Each parameter changes the answer.
#[test]
fn agents_can_be_chosen() {
    let fixture = Fixture::new();
    assert_eq!(names(&fixture.answer(&["setup", "codex", "--yes"], 0)), ["codex"]);
    assert_eq!(
        names(&fixture.answer(&["setup", "--agents", "opencode,codex", "--dry-run"], 0)),
        ["codex", "opencode"]
    );
    assert_eq!(names(&fixture.answer(&["setup", "--remove", "--dry-run"], 0)), ["codex"]);
    let refused = fixture.answer(&["setup", "emacs", "--dry-run"], 1);
    assert_eq!(
        (&refused["code"], &refused["hints"][0]),
        (&json!("INVALID_ARGUMENT"), &json!("supported: claude-code, codex, gemini-cli, opencode"))
    );
}

#[test]
fn nothing_is_changed_unasked() {
    let fixture = Fixture::new();
    let before = fixture.everything(OURS);
    let refused = fixture.answer(&["setup"], 1);
    assert_eq!(refused["code"], "INVALID_ARGUMENT");
    assert_eq!(refused["hints"], json!(["loci setup --dry-run", "loci setup --yes"]));
    assert_eq!(fixture.answer(&["setup", "--remove"], 1)["hints"][1], "loci setup --remove --yes");
    assert_eq!(fixture.everything(OURS), before);
}

#[test]
fn a_person_sees_every_line_that_comes() {
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

/// What stands beside a change may be a secret of somebody's.
#[test]
fn secrets_beside_a_change_are_masked() {
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
    fixture.answer(&["setup", "--yes"], 0);
    assert!(fixture.read(".claude/settings.json").contains(&token));
}

/// `kill -9` at any moment: either way on repairs it.
#[test]
fn a_kill_at_any_moment_is_repaired_by_setup_and_by_remove() {
    let fixture = Fixture::new();
    let before = fixture.everything(OURS);
    let started = Instant::now();
    fixture.answer(&["setup", "--yes"], 0);
    let whole = started.elapsed().min(Duration::from_secs(2));
    let after = fixture.everything(OURS);
    fixture.answer(&["setup", "--remove", "--yes"], 0);
    for kill in 0..24_u32 {
        let args: &[&str] = if kill % 4 == 3 { &["setup", "--remove", "--yes"] } else { &["setup", "--yes"] };
        let mut child = fixture.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(whole * (kill % 12) / 12);
        let _ = child.kill();
        child.wait().unwrap();
        match kill % 3 {
            0 => {
                fixture.answer(&["setup", "--yes"], 0);
                assert_eq!(fixture.everything(OURS), after, "kill {kill}");
            }
            1 => {
                fixture.loci(&["setup", "--remove", "--yes"]);
                assert_eq!(fixture.everything(OURS), before, "kill {kill}");
            }
            _ => {}
        }
    }
}

/// Whatever the slash commands run, and whatever subagents are told to run, this program understands.
#[test]
fn every_command_in_the_files_can_be_typed() {
    let fixture = Fixture::new();
    fixture.answer(&["setup", "--yes"], 0);
    let (loci, mut typed) = (binary(), BTreeSet::new());
    for (_, (_, bytes)) in fixture.everything(&[]) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        for (open, close) in [(format!("`{loci} "), '`'), (format!("!{{{loci} "), '}')] {
            for rest in text.split(&open).skip(1) {
                let line = rest.split(close).next().unwrap().replace("{{args", "x");
                typed.insert(line.trim_end_matches(" || true").to_string());
            }
        }
    }
    assert!(typed.len() > 12, "{typed:?}");
    // The plugin's page for people names this very command.
    for line in typed.iter().filter(|line| !line.starts_with("setup")) {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &format!("{loci} {line}")])
            .env_clear()
            .env("HOME", fixture.path())
            .env("LOCI_DAEMON", "off")
            .current_dir(fixture.path());
        let ended = shell.output().unwrap();
        let understood = matches!(ended.status.code(), Some(0 | 2));
        assert!(understood, "loci {line}: {}", String::from_utf8_lossy(&ended.stderr));
    }
}
