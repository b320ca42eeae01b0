//! The real clients without a network: they load, list and run what `loci setup` installed, and nothing of it after
//! removal.

use crate::fixture::Fixture;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use testutil::binary;
use testutil::clients::{CLAUDE, CODEX, Clients, GEMINI, OPENCODE};

/// Runs a command with only the loopback interface, its own home and a clean environment. The provider URL is a closed
/// port: without a network, looking up the real provider takes Claude Code 18 seconds at each start.
const ISOLATED: &str = r#"ip link set lo up; exec env -i HOME="$1" PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 TERM=dumb USER=dev \
  ANTHROPIC_BASE_URL=http://127.0.0.1:9 ANTHROPIC_API_KEY=dummy GEMINI_API_KEY=dummy GEMINI_CLI_TRUST_WORKSPACE=true IS_SANDBOX=1 DISABLE_AUTOUPDATER=1 DISABLE_TELEMETRY=1 \
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 OPENCODE_DISABLE_AUTOUPDATE=1 OPENCODE_DISABLE_MODELS_FETCH=1 \
  OPENCODE_DISABLE_DEFAULT_PLUGINS=1 timeout 120 "${@:2}" </dev/null"#;

/// Runs a client in a home; returns whether it succeeded, and its standard output followed by standard error.
fn run_client(home: &Path, program: &Path, args: &[&str]) -> (bool, String) {
    let work = home.join("work");
    fs::create_dir_all(&work).unwrap();
    let mut command = Command::new("unshare");
    command.args(["-n", "bash", "-c", ISOLATED, "alone"]).arg(home);
    if program.to_string_lossy().ends_with("gemini") {
        command.arg("node");
    }
    let output = command.arg(program).args(args).current_dir(work).output().unwrap();
    let printed = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&printed).into_owned())
}

/// Runs a script of client sessions against the scripted provider; returns the requests that the provider received.
pub(crate) fn run_session_script(
    fixture: &Fixture,
    clients: &Clients,
    scenarios: &str,
    script: &str,
) -> String {
    let requests = fixture.path().join("requests.jsonl");
    let mut command = clients.command_with_provider(&clients.scripts.join(scenarios), &requests);
    let status = command.args(["bash", "-c", script, "session"]).arg(fixture.path()).status();
    assert!(status.unwrap().success());
    fs::read_to_string(requests).unwrap()
}

fn integrations_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../integrations").canonicalize().unwrap()
}

// ---- Claude Code

#[test]
#[ignore = "needs claude-code: see CONTRIBUTING.md"]
fn the_plugin_validates_and_can_be_installed_manually() {
    let clients = Clients::offline(CLAUDE);
    let claude = clients.program(CLAUDE);
    let fixture = Fixture::new();
    let market = integrations_folder().join("claude-code");
    let (plugin, market) = (market.join("loci"), market.to_str().unwrap());
    let claude = |args: &[&str]| {
        let (ok, printed) = run_client(fixture.path(), &claude, args);
        assert!(ok, "{args:?}: {printed}");
        printed
    };
    claude(&["plugin", "validate", "--strict", plugin.to_str().unwrap()]);
    claude(&["plugin", "validate", "--strict", market]);
    claude(&["plugin", "marketplace", "add", market]);
    claude(&["plugin", "install", "loci@loci"]);
    assert!(claude(&["plugin", "list", "--json"]).contains("\"loci@loci\""));
    assert!(claude(&["mcp", "list"]).contains("plugin:loci:loci: loci mcp"));
    claude(&["plugin", "uninstall", "loci@loci"]);
    claude(&["plugin", "marketplace", "remove", "loci"]);
    assert!(!claude(&["plugin", "list", "--json"]).contains("loci@loci"));
}

/// Two sessions; the second runs one of Loci's slash commands.
const TWO_SESSIONS: &str = r#". "$CLIENTS/env.sh"; mkdir -p "$1/work"; cd "$1/work"
CL_TIMEOUT=60 cl "$1" -p "SCENARIO:hello first" --output-format json < /dev/null > "$1/first.json"
CL_TIMEOUT=60 cl "$1" -p "/loci:usage" --output-format stream-json --verbose < /dev/null > "$1/session.jsonl"
"#;

#[test]
#[ignore = "needs claude-code: see CONTRIBUTING.md"]
fn claude_code_loads_the_plugin_after_setup_and_not_after_removal() {
    let clients = Clients::offline(CLAUDE);
    let claude = clients.program(CLAUDE);
    let fixture = Fixture::new();
    let settings = fixture.read(".claude/settings.json");
    fixture.run_json(&["setup", "claude-code", "--yes"], 0);
    let listed = run_client(fixture.path(), &claude, &["mcp", "list"]).1;
    assert!(listed.contains(&format!("plugin:loci:loci: {} mcp", binary())), "{listed}");
    let requests = run_session_script(&fixture, &clients, "claude-code/claude_scenarios.json", TWO_SESSIONS);

    let stream = fixture.read("session.jsonl");
    let events: Vec<Value> = stream.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let init = events.iter().find(|event| event["subtype"] == "init").unwrap();
    for (list, names) in [
        ("slash_commands", ["errors", "files", "search", "stats", "timeline", "usage"].as_slice()),
        ("agents", &["error-analyst", "meta-coach", "meta-query", "workflow-tuner"]),
    ] {
        let listed = init[list].as_array().unwrap();
        let missing: Vec<_> =
            names.iter().filter(|name| !listed.contains(&format!("loci:{name}").into())).collect();
        assert!(missing.is_empty(), "{list}: {missing:?}");
    }
    let hooks = events.iter().filter(|event| event["subtype"] == "hook_started");
    assert!(hooks.into_iter().any(|event| event["hook_event"] == "SessionStart"));
    assert!(
        requests.contains("claude-opus-5-5 ") && requests.contains("cache_read"),
        "the usage report is not in the requests"
    );
    assert!(run_client(fixture.path(), &claude, &["plugin", "list", "--json"]).1.contains("\"loci@loci\""));

    fixture.run_json(&["setup", "--remove", "--yes"], 0);
    assert_eq!(fixture.read(".claude/settings.json"), settings);
    let listed = run_client(fixture.path(), &claude, &["plugin", "list", "--json"]).1;
    assert!(!listed.contains("loci@loci"), "{listed}");
    let listed = run_client(fixture.path(), &claude, &["plugin", "marketplace", "list", "--json"]).1;
    assert!(!listed.contains("\"loci\""), "{listed}");
    assert!(!run_client(fixture.path(), &claude, &["mcp", "list"]).1.contains("loci:loci"));
}

/// Claude Code rewrites its settings file whenever it changes it. Removal still deletes Loci's entries and no others.
#[test]
#[ignore = "needs claude-code: see CONTRIBUTING.md"]
fn removal_keeps_other_entries_in_settings_that_claude_code_rewrote() {
    let clients = Clients::offline(CLAUDE);
    let claude = clients.program(CLAUDE);
    let fixture = Fixture::new();
    fixture.run_json(&["setup", "claude-code", "--yes"], 0);
    let market = fixture.path().join("market");
    let plugin = market.join("mine/.claude-plugin");
    fs::create_dir_all(&plugin).unwrap();
    fs::create_dir_all(market.join(".claude-plugin")).unwrap();
    fs::write(plugin.join("plugin.json"), r#"{"name": "mine", "version": "1.0.0"}"#).unwrap();
    let manifest =
        r#"{"name": "mine", "owner": {"name": "me"}, "plugins": [{"name": "mine", "source": "./mine"}]}"#;
    fs::write(market.join(".claude-plugin/marketplace.json"), manifest).unwrap();
    let before = fixture.read(".claude/settings.json");
    for args in
        [&["plugin", "marketplace", "add", market.to_str().unwrap()][..], &["plugin", "install", "mine@mine"]]
    {
        let (ok, printed) = run_client(fixture.path(), &claude, args);
        assert!(ok, "{printed}");
    }
    let rewritten = fixture.read(".claude/settings.json");
    assert!(!rewritten.starts_with(&before[..40]), "Claude Code did not rewrite the file: {rewritten}");
    fixture.run_json(&["setup", "--remove", "--yes"], 0);
    let remaining: Value = serde_json::from_str(&fixture.read(".claude/settings.json")).unwrap();
    let mut expected: Value = serde_json::from_str(&rewritten).unwrap();
    expected["enabledPlugins"].as_object_mut().unwrap().remove("loci@loci").unwrap();
    expected["extraKnownMarketplaces"].as_object_mut().unwrap().remove("loci").unwrap();
    assert_eq!(remaining, expected);
}

// ---- other agents

/// Runs Codex with trusted hooks. The provider comes from the `config.toml` of the client scripts.
const CODEX_SESSION: &str = r#". "$CLIENTS/env.sh"; . "$CLIENTS/codex/codex_env.sh"; cd "$1"
grep -v '^model = ' "$CLIENTS/codex/config.toml" | cat - .codex/config.toml > with-provider; cat with-provider > .codex/config.toml
cx "$1" exec --dangerously-bypass-hook-trust --skip-git-repo-check "SCENARIO:hello hi" < /dev/null > codex.txt 2>&1
"#;

#[test]
#[ignore = "needs codex: see CONTRIBUTING.md"]
fn codex_lists_the_server_and_loads_the_skill_subagents_and_hooks() {
    let clients = Clients::offline(CODEX);
    let codex = clients.program(CODEX);
    let fixture = Fixture::new();
    let config = fixture.read(".codex/config.toml");
    fixture.run_json(&["setup", "codex", "--yes"], 0);
    let listed = run_client(fixture.path(), &codex, &["mcp", "get", "loci"]).1;
    assert!(listed.contains(&format!("command: {}", binary())) && listed.contains("args: mcp"), "{listed}");
    // Codex edits its settings itself and keeps existing entries.
    let (ok, printed) = run_client(fixture.path(), &codex, &["mcp", "add", "mine", "--", "true"]);
    assert!(ok, "{printed}");
    let requests = run_session_script(&fixture, &clients, "codex/codex_scenarios.json", CODEX_SESSION);
    assert!(requests.contains("- loci: Reports about past sessions"), "the skill was not offered");
    let codex_output = fixture.read("codex.txt");
    assert!(!codex_output.contains("malformed"), "Codex rejected a subagent: {codex_output}");
    assert!(
        codex_output.contains("hook: SessionStart") && codex_output.contains("hook: UserPromptSubmit"),
        "{codex_output}"
    );
    fixture.run_json(&["setup", "--remove", "--yes"], 0);
    let listed = run_client(fixture.path(), &codex, &["mcp", "list"]).1;
    assert!(!listed.contains("loci") && listed.contains("mine"), "{listed}");
    assert!(run_client(fixture.path(), &codex, &["mcp", "remove", "mine"]).0);
    let remaining: toml::Table = toml::from_str(&fixture.read(".codex/config.toml")).unwrap();
    assert_eq!(remaining["mcp_servers"], toml::from_str::<toml::Table>(&config).unwrap()["mcp_servers"]);
    assert!(remaining.get("hooks").is_none_or(|hooks| !hooks.to_string().contains("loci")), "{remaining:?}");
}

#[test]
#[ignore = "needs gemini-cli: see CONTRIBUTING.md"]
fn gemini_cli_lists_the_extension() {
    let gemini = Clients::offline(GEMINI).program(GEMINI);
    let fixture = Fixture::new();
    fixture.run_json(&["setup", "gemini-cli", "--yes"], 0);
    let listed = run_client(fixture.path(), &gemini, &["extensions", "list"]).1;
    assert!(listed.contains("loci (0.1.0)"), "{listed}");
    let listed = run_client(fixture.path(), &gemini, &["mcp", "list"]).1;
    assert!(listed.contains(&format!("loci (from loci): {} mcp", binary())), "{listed}");
    fixture.run_json(&["setup", "--remove", "--yes"], 0);
    assert!(!run_client(fixture.path(), &gemini, &["extensions", "list"]).1.contains("loci"));
    let folder = integrations_folder().join("gemini-cli");
    let (ok, printed) = run_client(
        fixture.path(),
        &gemini,
        &["extensions", "install", "--consent", folder.to_str().unwrap()],
    );
    assert!(ok, "manual installation: {printed}");
    assert!(run_client(fixture.path(), &gemini, &["extensions", "list"]).1.contains("loci (0.1.0)"));
}

#[test]
#[ignore = "needs opencode: see CONTRIBUTING.md"]
fn opencode_lists_the_server_the_commands_and_the_subagents() {
    let opencode = Clients::offline(OPENCODE).program(OPENCODE);
    let fixture = Fixture::new();
    let config = fixture.read(".config/opencode/opencode.jsonc");
    fixture.run_json(&["setup", "opencode", "--yes"], 0);
    let listed = run_client(fixture.path(), &opencode, &["mcp", "list"]).1;
    assert!(listed.contains("loci") && listed.contains(&format!("{} mcp", binary())), "{listed}");
    let printed = run_client(fixture.path(), &opencode, &["debug", "config"]).1;
    let resolved: Value = serde_json::from_str(&printed[printed.find('{').unwrap()..]).unwrap();
    for (list, names) in [
        (
            "command",
            ["errors", "files", "search", "stats", "timeline", "usage"]
                .map(|name| format!("loci/{name}"))
                .to_vec(),
        ),
        ("agent", ["error-analyst", "meta-coach", "meta-query", "workflow-tuner"].map(String::from).to_vec()),
    ] {
        assert!(names.iter().all(|name| resolved[list][name].is_object()), "{list}: {}", resolved[list]);
    }
    fixture.run_json(&["setup", "--remove", "--yes"], 0);
    // OpenCode adds `$schema` to a file that lacks it; apart from that, removal restores the original.
    let schema = "\n  \"$schema\": \"https://opencode.ai/config.json\",";
    assert_eq!(fixture.read(".config/opencode/opencode.jsonc").replacen(schema, "", 1), config);
    assert!(!run_client(fixture.path(), &opencode, &["mcp", "list"]).1.contains(binary()));
}

// ---- hooks

/// Sends a prompt while both hooks hang. Without timeouts they would take two minutes; each hook has a timeout of one
/// second, in the unit that the agent uses.
fn check_hanging_hooks(clients: &Clients, agent: &str, hooks: &str, scenarios: &str, script: &str) {
    let fixture = Fixture::new();
    fixture.run_json(&["setup", agent, "--yes"], 0);
    let installed = fixture.read(hooks);
    let modified = installed
        .replace(&format!("{} hook session-start", binary()), "sleep 60")
        .replace(&format!("{} hook prompt", binary()), "sleep 60");
    assert_eq!(modified.matches("sleep 60").count(), 2, "{installed}");
    fixture.write(hooks, &modified);
    let started = Instant::now();
    let requests = run_session_script(&fixture, clients, scenarios, script);
    assert!(requests.contains("SCENARIO:hello hi"), "the prompt did not arrive");
    assert!(fixture.read("said.txt").contains("Hello from stub"), "{}", fixture.read("said.txt"));
    assert!(started.elapsed() < Duration::from_secs(55), "a hook delayed the prompt");
}

#[test]
#[ignore = "needs claude-code: see CONTRIBUTING.md"]
fn a_hanging_hook_does_not_block_claude_code() {
    let script =
        r#". "$CLIENTS/env.sh"; cd "$1"; cl "$1" -p "SCENARIO:hello hi" < /dev/null > said.txt 2>&1"#;
    let hooks = ".local/share/loci/agents/claude-code/loci/hooks/hooks.json";
    check_hanging_hooks(
        &Clients::offline(CLAUDE),
        "claude-code",
        hooks,
        "claude-code/claude_scenarios.json",
        script,
    );
}

#[test]
#[ignore = "needs codex: see CONTRIBUTING.md"]
fn a_hanging_hook_does_not_block_codex() {
    let script = CODEX_SESSION.replace("codex.txt", "said.txt");
    check_hanging_hooks(
        &Clients::offline(CODEX),
        "codex",
        ".codex/config.toml",
        "codex/codex_scenarios.json",
        &script,
    );
}

#[test]
#[ignore = "needs gemini-cli: see CONTRIBUTING.md"]
fn a_hanging_hook_does_not_block_gemini_cli() {
    let script = r#". "$CLIENTS/env.sh"; . "$CLIENTS/gemini/gemini_env.sh"; cd "$1"
gm "$1" -p "SCENARIO:hello hi" < /dev/null > said.txt 2>&1"#;
    check_hanging_hooks(
        &Clients::offline(GEMINI),
        "gemini-cli",
        ".gemini/extensions/loci/hooks/hooks.json",
        "gemini/gemini_scenarios.json",
        script,
    );
}
