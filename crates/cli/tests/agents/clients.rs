//! The real clients, without a network: what `loci setup` did is what they load, list and run, and what it took out is
//! gone.

use crate::fixture::Fixture;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use testutil::binary;
use testutil::clients::{CLAUDE, CODEX, Clients, GEMINI, OPENCODE};

/// Nothing but loopback, a home of its own, and no variable of this machine's. The provider is a port at which nobody
/// listens: looking for the real one without a network takes Claude Code 18 seconds at each start.
const ALONE: &str = r#"ip link set lo up; exec env -i HOME="$1" PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 TERM=dumb USER=dev \
  ANTHROPIC_BASE_URL=http://127.0.0.1:9 ANTHROPIC_API_KEY=dummy GEMINI_API_KEY=dummy GEMINI_CLI_TRUST_WORKSPACE=true IS_SANDBOX=1 DISABLE_AUTOUPDATER=1 DISABLE_TELEMETRY=1 \
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 OPENCODE_DISABLE_AUTOUPDATE=1 OPENCODE_DISABLE_MODELS_FETCH=1 \
  OPENCODE_DISABLE_DEFAULT_PLUGINS=1 timeout 120 "${@:2}" </dev/null"#;

/// Runs a client in a home and gives back what it printed, on both ends.
fn run(home: &Path, program: &Path, args: &[&str]) -> (bool, String) {
    let work = home.join("work");
    fs::create_dir_all(&work).unwrap();
    let mut command = Command::new("unshare");
    command.args(["-n", "bash", "-c", ALONE, "alone"]).arg(home);
    if program.to_string_lossy().ends_with("gemini") {
        command.arg("node");
    }
    let output = command.arg(program).args(args).current_dir(work).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

/// Runs a script of sessions against a scripted provider and returns what the provider was sent.
pub(crate) fn session(fixture: &Fixture, clients: &Clients, scenarios: &str, script: &str) -> String {
    let requests = fixture.path().join("requests.jsonl");
    let mut command = clients.beside_provider(&clients.scripts.join(scenarios), &requests);
    let status = command.args(["bash", "-c", script, "session"]).arg(fixture.path()).status();
    assert!(status.unwrap().success());
    fs::read_to_string(requests).unwrap()
}

fn integrations() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../integrations").canonicalize().unwrap()
}

// ---- Claude Code

#[test]
#[ignore = "needs claude-code: see CONTRIBUTING.md"]
fn the_plugin_is_sound_and_can_be_installed_by_hand() {
    let clients = Clients::offline(CLAUDE);
    let claude = clients.program(CLAUDE);
    let fixture = Fixture::new();
    let market = integrations().join("claude-code");
    let (plugin, market) = (market.join("loci"), market.to_str().unwrap());
    let claude = |args: &[&str]| {
        let (well, said) = run(fixture.path(), &claude, args);
        assert!(well, "{args:?}: {said}");
        said
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

/// Two sessions, the second of which is a slash command of ours.
const TWO_SESSIONS: &str = r#". "$CLIENTS/env.sh"; mkdir -p "$1/work"; cd "$1/work"
CL_TIMEOUT=60 cl "$1" -p "SCENARIO:hello first" --output-format json < /dev/null > "$1/first.json"
CL_TIMEOUT=60 cl "$1" -p "/loci:usage" --output-format stream-json --verbose < /dev/null > "$1/session.jsonl"
"#;

#[test]
#[ignore = "needs claude-code: see CONTRIBUTING.md"]
fn claude_code_loads_what_was_set_up_and_forgets_what_was_removed() {
    let clients = Clients::offline(CLAUDE);
    let claude = clients.program(CLAUDE);
    let fixture = Fixture::new();
    let settings = fixture.read(".claude/settings.json");
    fixture.answer(&["setup", "claude-code", "--yes"], 0);
    let listed = run(fixture.path(), &claude, &["mcp", "list"]).1;
    assert!(listed.contains(&format!("plugin:loci:loci: {} mcp", binary())), "{listed}");
    let sent = session(&fixture, &clients, "claude-code/claude_scenarios.json", TWO_SESSIONS);

    let told = fixture.read("session.jsonl");
    let events: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
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
        sent.contains("claude-opus-5-5 ") && sent.contains("cache_read"),
        "the report stands in what is sent"
    );
    assert!(run(fixture.path(), &claude, &["plugin", "list", "--json"]).1.contains("\"loci@loci\""));

    fixture.answer(&["setup", "--remove", "--yes"], 0);
    assert_eq!(fixture.read(".claude/settings.json"), settings);
    let listed = run(fixture.path(), &claude, &["plugin", "list", "--json"]).1;
    assert!(!listed.contains("loci@loci"), "{listed}");
    let listed = run(fixture.path(), &claude, &["plugin", "marketplace", "list", "--json"]).1;
    assert!(!listed.contains("\"loci\""), "{listed}");
    assert!(!run(fixture.path(), &claude, &["mcp", "list"]).1.contains("loci:loci"));
}

/// The client writes its settings anew when it changes them; what is ours goes all the same, and nothing else.
#[test]
#[ignore = "needs claude-code: see CONTRIBUTING.md"]
fn settings_that_claude_code_wrote_anew_lose_only_ours() {
    let clients = Clients::offline(CLAUDE);
    let claude = clients.program(CLAUDE);
    let fixture = Fixture::new();
    fixture.answer(&["setup", "claude-code", "--yes"], 0);
    let market = fixture.path().join("market");
    let plugin = market.join("mine/.claude-plugin");
    fs::create_dir_all(&plugin).unwrap();
    fs::create_dir_all(market.join(".claude-plugin")).unwrap();
    fs::write(plugin.join("plugin.json"), r#"{"name": "mine", "version": "1.0.0"}"#).unwrap();
    let told =
        r#"{"name": "mine", "owner": {"name": "me"}, "plugins": [{"name": "mine", "source": "./mine"}]}"#;
    fs::write(market.join(".claude-plugin/marketplace.json"), told).unwrap();
    let written = fixture.read(".claude/settings.json");
    for args in
        [&["plugin", "marketplace", "add", market.to_str().unwrap()][..], &["plugin", "install", "mine@mine"]]
    {
        let (well, said) = run(fixture.path(), &claude, args);
        assert!(well, "{said}");
    }
    let anew = fixture.read(".claude/settings.json");
    assert!(!anew.starts_with(&written[..40]), "it was written anew: {anew}");
    fixture.answer(&["setup", "--remove", "--yes"], 0);
    let left: Value = serde_json::from_str(&fixture.read(".claude/settings.json")).unwrap();
    let mut expected: Value = serde_json::from_str(&anew).unwrap();
    expected["enabledPlugins"].as_object_mut().unwrap().remove("loci@loci").unwrap();
    expected["extraKnownMarketplaces"].as_object_mut().unwrap().remove("loci").unwrap();
    assert_eq!(left, expected);
}

// ---- the others

/// As if the person had agreed to the hooks; the provider stands in the settings of the scripts.
const CODEX_SESSION: &str = r#". "$CLIENTS/env.sh"; . "$CLIENTS/codex/codex_env.sh"; cd "$1"
grep -v '^model = ' "$CLIENTS/codex/config.toml" | cat - .codex/config.toml > with-provider; cat with-provider > .codex/config.toml
cx "$1" exec --dangerously-bypass-hook-trust --skip-git-repo-check "SCENARIO:hello hi" < /dev/null > codex.txt 2>&1
"#;

#[test]
#[ignore = "needs codex: see CONTRIBUTING.md"]
fn codex_lists_the_server_and_takes_the_rest() {
    let clients = Clients::offline(CODEX);
    let codex = clients.program(CODEX);
    let fixture = Fixture::new();
    let config = fixture.read(".codex/config.toml");
    fixture.answer(&["setup", "codex", "--yes"], 0);
    let listed = run(fixture.path(), &codex, &["mcp", "get", "loci"]).1;
    assert!(listed.contains(&format!("command: {}", binary())) && listed.contains("args: mcp"), "{listed}");
    // It edits its settings itself, and keeps what it finds.
    let (well, said) = run(fixture.path(), &codex, &["mcp", "add", "mine", "--", "true"]);
    assert!(well, "{said}");
    let sent = session(&fixture, &clients, "codex/codex_scenarios.json", CODEX_SESSION);
    assert!(sent.contains("- loci: Reports about past sessions"), "the skill is offered");
    let said = fixture.read("codex.txt");
    assert!(!said.contains("malformed"), "the subagents are understood: {said}");
    assert!(said.contains("hook: SessionStart") && said.contains("hook: UserPromptSubmit"), "{said}");
    fixture.answer(&["setup", "--remove", "--yes"], 0);
    let listed = run(fixture.path(), &codex, &["mcp", "list"]).1;
    assert!(!listed.contains("loci") && listed.contains("mine"), "{listed}");
    assert!(run(fixture.path(), &codex, &["mcp", "remove", "mine"]).0);
    let left: toml::Table = toml::from_str(&fixture.read(".codex/config.toml")).unwrap();
    assert_eq!(left["mcp_servers"], toml::from_str::<toml::Table>(&config).unwrap()["mcp_servers"]);
    assert!(left.get("hooks").is_none_or(|hooks| !hooks.to_string().contains("loci")), "{left:?}");
}

#[test]
#[ignore = "needs gemini-cli: see CONTRIBUTING.md"]
fn gemini_cli_lists_the_extension() {
    let gemini = Clients::offline(GEMINI).program(GEMINI);
    let fixture = Fixture::new();
    fixture.answer(&["setup", "gemini-cli", "--yes"], 0);
    let listed = run(fixture.path(), &gemini, &["extensions", "list"]).1;
    assert!(listed.contains("loci (0.1.0)"), "{listed}");
    let listed = run(fixture.path(), &gemini, &["mcp", "list"]).1;
    assert!(listed.contains(&format!("loci (from loci): {} mcp", binary())), "{listed}");
    fixture.answer(&["setup", "--remove", "--yes"], 0);
    assert!(!run(fixture.path(), &gemini, &["extensions", "list"]).1.contains("loci"));
    let folder = integrations().join("gemini-cli");
    let (well, said) =
        run(fixture.path(), &gemini, &["extensions", "install", "--consent", folder.to_str().unwrap()]);
    assert!(well, "by hand: {said}");
    assert!(run(fixture.path(), &gemini, &["extensions", "list"]).1.contains("loci (0.1.0)"));
}

#[test]
#[ignore = "needs opencode: see CONTRIBUTING.md"]
fn opencode_lists_the_server_the_commands_and_the_subagents() {
    let opencode = Clients::offline(OPENCODE).program(OPENCODE);
    let fixture = Fixture::new();
    let config = fixture.read(".config/opencode/opencode.jsonc");
    fixture.answer(&["setup", "opencode", "--yes"], 0);
    let listed = run(fixture.path(), &opencode, &["mcp", "list"]).1;
    assert!(listed.contains("loci") && listed.contains(&format!("{} mcp", binary())), "{listed}");
    let said = run(fixture.path(), &opencode, &["debug", "config"]).1;
    let resolved: Value = serde_json::from_str(&said[said.find('{').unwrap()..]).unwrap();
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
    fixture.answer(&["setup", "--remove", "--yes"], 0);
    // It names its schema in a file that does not; only ours went.
    let schema = "\n  \"$schema\": \"https://opencode.ai/config.json\",";
    assert_eq!(fixture.read(".config/opencode/opencode.jsonc").replacen(schema, "", 1), config);
    assert!(!run(fixture.path(), &opencode, &["mcp", "list"]).1.contains(binary()));
}

// ---- hooks

/// A prompt with hooks that hang. They would take two minutes; their deadlines are a second each, in whatever unit the
/// agent counts.
fn hanging(clients: &Clients, agent: &str, hooks: &str, scenarios: &str, script: &str) {
    let fixture = Fixture::new();
    fixture.answer(&["setup", agent, "--yes"], 0);
    let wired = fixture.read(hooks);
    let hung = wired
        .replace(&format!("{} hook session-start", binary()), "sleep 60")
        .replace(&format!("{} hook prompt", binary()), "sleep 60");
    assert_eq!(hung.matches("sleep 60").count(), 2, "{wired}");
    fixture.write(hooks, &hung);
    let started = Instant::now();
    let sent = session(&fixture, clients, scenarios, script);
    assert!(sent.contains("SCENARIO:hello hi"), "the prompt arrived");
    assert!(fixture.read("said.txt").contains("Hello from stub"), "{}", fixture.read("said.txt"));
    assert!(started.elapsed() < Duration::from_secs(55), "a hook held up the prompt");
}

#[test]
#[ignore = "needs claude-code: see CONTRIBUTING.md"]
fn a_hook_that_hangs_does_not_hold_up_claude_code() {
    let script =
        r#". "$CLIENTS/env.sh"; cd "$1"; cl "$1" -p "SCENARIO:hello hi" < /dev/null > said.txt 2>&1"#;
    let hooks = ".local/share/loci/agents/claude-code/loci/hooks/hooks.json";
    hanging(&Clients::offline(CLAUDE), "claude-code", hooks, "claude-code/claude_scenarios.json", script);
}

#[test]
#[ignore = "needs codex: see CONTRIBUTING.md"]
fn a_hook_that_hangs_does_not_hold_up_codex() {
    let script = CODEX_SESSION.replace("codex.txt", "said.txt");
    hanging(&Clients::offline(CODEX), "codex", ".codex/config.toml", "codex/codex_scenarios.json", &script);
}

#[test]
#[ignore = "needs gemini-cli: see CONTRIBUTING.md"]
fn a_hook_that_hangs_does_not_hold_up_gemini_cli() {
    let script = r#". "$CLIENTS/env.sh"; . "$CLIENTS/gemini/gemini_env.sh"; cd "$1"
gm "$1" -p "SCENARIO:hello hi" < /dev/null > said.txt 2>&1"#;
    hanging(
        &Clients::offline(GEMINI),
        "gemini-cli",
        ".gemini/extensions/loci/hooks/hooks.json",
        "gemini/gemini_scenarios.json",
        script,
    );
}
