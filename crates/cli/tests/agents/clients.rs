//! The real clients, without a network: what `loci setup` did is what they load, list and run, and what it took out is
//! gone. Each test is skipped, with a word about it, where its client is not installed.

use crate::desk::{Desk, EXE};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// A path the environment names. Which machine this is, is the tests' business and not the program's.
#[allow(clippy::disallowed_methods)]
fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from)
}

/// A client, by where it lies below the folder of clients. None, with a word about it, where it cannot be run.
fn client(name: &str, path: &str) -> Option<PathBuf> {
    let cache = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    let clients = variable("CLIENTS_HOME").unwrap_or_else(|| cache.unwrap_or_default().join("loci-clients"));
    let program = clients.join(path);
    if !program.is_file() {
        println!("skipped: {name} is not installed (nothing at {})", program.display());
        return None;
    }
    let apart = Command::new("unshare").args(["-n", "true"]).status();
    if !apart.is_ok_and(|status| status.success()) {
        println!("skipped: this machine gives no network namespace");
        return None;
    }
    Some(program)
}

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

/// Runs a script of sessions against a scripted provider and gives back what the provider was sent. None, with a word
/// about it, where there is no such provider.
pub(crate) fn session(desk: &Desk, scenarios: &str, script: &str) -> Option<String> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/clients");
    let scripts = variable("LOCI_CLIENTS").unwrap_or(beside);
    let Ok(scripts) = scripts.canonicalize() else {
        println!("skipped: no scripts to drive a session with at {}", scripts.display());
        return None;
    };
    let requests = desk.home().join("requests.jsonl");
    let status = Command::new(scripts.join("stub/run_in_ns.sh"))
        .arg(scripts.join(scenarios))
        .args([
            &requests,
            Path::new("bash"),
            Path::new("-c"),
            Path::new(script),
            Path::new("session"),
            desk.home(),
        ])
        .env("LOCI_DAEMON", "off")
        .env("CLIENTS", &scripts)
        .status();
    assert!(status.unwrap().success());
    Some(fs::read_to_string(requests).unwrap())
}

fn integrations() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../integrations").canonicalize().unwrap()
}

// ---- Claude Code

pub(crate) fn claude() -> Option<PathBuf> {
    client("Claude Code", "claude-code/node_modules/@anthropic-ai/claude-code-linux-x64/claude")
}

#[test]
fn the_plugin_is_sound_and_can_be_installed_by_hand() {
    let Some(claude) = claude() else { return };
    let desk = Desk::new();
    let market = integrations().join("claude-code");
    let (plugin, market) = (market.join("loci"), market.to_str().unwrap());
    let claude = |args: &[&str]| {
        let (well, said) = run(desk.home(), &claude, args);
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
const CLAUDE: &str = r#". "$CLIENTS/env.sh"; mkdir -p "$1/work"; cd "$1/work"
CL_TIMEOUT=60 cl "$1" -p "SCENARIO:hello first" --output-format json < /dev/null > "$1/first.json"
CL_TIMEOUT=60 cl "$1" -p "/loci:usage" --output-format stream-json --verbose < /dev/null > "$1/session.jsonl"
"#;

#[test]
fn claude_code_loads_what_was_set_up_and_forgets_what_was_removed() {
    let Some(claude) = claude() else { return };
    let desk = Desk::new();
    let settings = desk.read(".claude/settings.json");
    desk.answer(&["setup", "claude-code", "--yes"], 0);
    let listed = run(desk.home(), &claude, &["mcp", "list"]).1;
    assert!(listed.contains(&format!("plugin:loci:loci: {EXE} mcp")), "{listed}");
    let Some(sent) = session(&desk, "claude-code/claude_scenarios.json", CLAUDE) else { return };

    let told = desk.read("session.jsonl");
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
    assert!(run(desk.home(), &claude, &["plugin", "list", "--json"]).1.contains("\"loci@loci\""));

    desk.answer(&["setup", "--remove", "--yes"], 0);
    assert_eq!(desk.read(".claude/settings.json"), settings);
    let listed = run(desk.home(), &claude, &["plugin", "list", "--json"]).1;
    assert!(!listed.contains("loci@loci"), "{listed}");
    let listed = run(desk.home(), &claude, &["plugin", "marketplace", "list", "--json"]).1;
    assert!(!listed.contains("\"loci\""), "{listed}");
    assert!(!run(desk.home(), &claude, &["mcp", "list"]).1.contains("loci:loci"));
}

/// The client writes its settings anew when it changes them; what is ours goes all the same, and nothing else.
#[test]
fn settings_that_claude_code_wrote_anew_lose_only_ours() {
    let Some(claude) = claude() else { return };
    let desk = Desk::new();
    desk.answer(&["setup", "claude-code", "--yes"], 0);
    let market = desk.home().join("market");
    let plugin = market.join("mine/.claude-plugin");
    fs::create_dir_all(&plugin).unwrap();
    fs::create_dir_all(market.join(".claude-plugin")).unwrap();
    fs::write(plugin.join("plugin.json"), r#"{"name": "mine", "version": "1.0.0"}"#).unwrap();
    let told =
        r#"{"name": "mine", "owner": {"name": "me"}, "plugins": [{"name": "mine", "source": "./mine"}]}"#;
    fs::write(market.join(".claude-plugin/marketplace.json"), told).unwrap();
    let written = desk.read(".claude/settings.json");
    for args in
        [&["plugin", "marketplace", "add", market.to_str().unwrap()][..], &["plugin", "install", "mine@mine"]]
    {
        let (well, said) = run(desk.home(), &claude, args);
        assert!(well, "{said}");
    }
    let anew = desk.read(".claude/settings.json");
    assert!(!anew.starts_with(&written[..40]), "it was written anew: {anew}");
    desk.answer(&["setup", "--remove", "--yes"], 0);
    let left: Value = serde_json::from_str(&desk.read(".claude/settings.json")).unwrap();
    let mut expected: Value = serde_json::from_str(&anew).unwrap();
    expected["enabledPlugins"].as_object_mut().unwrap().remove("loci@loci").unwrap();
    expected["extraKnownMarketplaces"].as_object_mut().unwrap().remove("loci").unwrap();
    assert_eq!(left, expected);
}

// ---- the others

pub(crate) fn codex() -> Option<PathBuf> {
    let folder = "codex/node_modules/@openai/codex-linux-x64/vendor";
    client("Codex", &format!("{folder}/x86_64-unknown-linux-musl/bin/codex"))
}

fn gemini() -> Option<PathBuf> {
    client("Gemini CLI", "gemini/node_modules/.bin/gemini")
}

/// As if the person had agreed to the hooks; the provider stands in the settings of the scripts.
const CODEX: &str = r#". "$CLIENTS/env.sh"; . "$CLIENTS/codex/codex_env.sh"; cd "$1"
grep -v '^model = ' "$CLIENTS/codex/config.toml" | cat - .codex/config.toml > with-provider; cat with-provider > .codex/config.toml
cx "$1" exec --dangerously-bypass-hook-trust --skip-git-repo-check "SCENARIO:hello hi" < /dev/null > codex.txt 2>&1
"#;

#[test]
fn codex_lists_the_server_and_takes_the_rest() {
    let Some(codex) = codex() else { return };
    let desk = Desk::new();
    let config = desk.read(".codex/config.toml");
    desk.answer(&["setup", "codex", "--yes"], 0);
    let listed = run(desk.home(), &codex, &["mcp", "get", "loci"]).1;
    assert!(listed.contains(&format!("command: {EXE}")) && listed.contains("args: mcp"), "{listed}");
    // It edits its settings itself, and keeps what it finds.
    let (well, said) = run(desk.home(), &codex, &["mcp", "add", "mine", "--", "true"]);
    assert!(well, "{said}");
    if let Some(sent) = session(&desk, "codex/codex_scenarios.json", CODEX) {
        assert!(sent.contains("- loci: Reports about past sessions"), "the skill is offered");
        let said = desk.read("codex.txt");
        assert!(!said.contains("malformed"), "the subagents are understood: {said}");
        assert!(said.contains("hook: SessionStart") && said.contains("hook: UserPromptSubmit"), "{said}");
    }
    desk.answer(&["setup", "--remove", "--yes"], 0);
    let listed = run(desk.home(), &codex, &["mcp", "list"]).1;
    assert!(!listed.contains("loci") && listed.contains("mine"), "{listed}");
    assert!(run(desk.home(), &codex, &["mcp", "remove", "mine"]).0);
    let left: toml::Table = toml::from_str(&desk.read(".codex/config.toml")).unwrap();
    assert_eq!(left["mcp_servers"], toml::from_str::<toml::Table>(&config).unwrap()["mcp_servers"]);
    assert!(left.get("hooks").is_none_or(|hooks| !hooks.to_string().contains("loci")), "{left:?}");
}

#[test]
fn gemini_cli_lists_the_extension() {
    let Some(gemini) = gemini() else { return };
    let desk = Desk::new();
    desk.answer(&["setup", "gemini-cli", "--yes"], 0);
    let listed = run(desk.home(), &gemini, &["extensions", "list"]).1;
    assert!(listed.contains("loci (0.1.0)"), "{listed}");
    let listed = run(desk.home(), &gemini, &["mcp", "list"]).1;
    assert!(listed.contains(&format!("loci (from loci): {EXE} mcp")), "{listed}");
    desk.answer(&["setup", "--remove", "--yes"], 0);
    assert!(!run(desk.home(), &gemini, &["extensions", "list"]).1.contains("loci"));
    let folder = integrations().join("gemini-cli");
    let (well, said) =
        run(desk.home(), &gemini, &["extensions", "install", "--consent", folder.to_str().unwrap()]);
    assert!(well, "by hand: {said}");
    assert!(run(desk.home(), &gemini, &["extensions", "list"]).1.contains("loci (0.1.0)"));
}

#[test]
fn opencode_lists_the_server_the_commands_and_the_subagents() {
    let Some(opencode) = client("OpenCode", "opencode/node_modules/opencode-linux-x64/bin/opencode") else {
        return;
    };
    let desk = Desk::new();
    let config = desk.read(".config/opencode/opencode.jsonc");
    desk.answer(&["setup", "opencode", "--yes"], 0);
    let listed = run(desk.home(), &opencode, &["mcp", "list"]).1;
    assert!(listed.contains("loci") && listed.contains(&format!("{EXE} mcp")), "{listed}");
    let said = run(desk.home(), &opencode, &["debug", "config"]).1;
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
    desk.answer(&["setup", "--remove", "--yes"], 0);
    // It names its schema in a file that does not; only ours went.
    let schema = "\n  \"$schema\": \"https://opencode.ai/config.json\",";
    assert_eq!(desk.read(".config/opencode/opencode.jsonc").replacen(schema, "", 1), config);
    assert!(!run(desk.home(), &opencode, &["mcp", "list"]).1.contains(EXE));
}

// ---- hooks

/// A prompt with hooks that hang. They would take two minutes; their deadlines are a second each, in whatever unit the
/// agent counts.
fn hanging(agent: &str, hooks: &str, scenarios: &str, script: &str) {
    let desk = Desk::new();
    desk.answer(&["setup", agent, "--yes"], 0);
    let wired = desk.read(hooks);
    let hung = wired
        .replace(&format!("{EXE} hook session-start"), "sleep 60")
        .replace(&format!("{EXE} hook prompt"), "sleep 60");
    assert_eq!(hung.matches("sleep 60").count(), 2, "{wired}");
    desk.write(hooks, &hung);
    let started = Instant::now();
    let Some(sent) = session(&desk, scenarios, script) else { return };
    assert!(sent.contains("SCENARIO:hello hi"), "the prompt arrived");
    assert!(desk.read("said.txt").contains("Hello from stub"), "{}", desk.read("said.txt"));
    assert!(started.elapsed() < Duration::from_secs(55), "a hook held up the prompt");
}

#[test]
fn a_hook_that_hangs_does_not_hold_up_claude_code() {
    let script =
        r#". "$CLIENTS/env.sh"; cd "$1"; cl "$1" -p "SCENARIO:hello hi" < /dev/null > said.txt 2>&1"#;
    let hooks = ".local/share/loci/agents/claude-code/loci/hooks/hooks.json";
    if claude().is_some() {
        hanging("claude-code", hooks, "claude-code/claude_scenarios.json", script);
    }
}

#[test]
fn a_hook_that_hangs_does_not_hold_up_codex() {
    let script = CODEX.replace("codex.txt", "said.txt");
    if codex().is_some() {
        hanging("codex", ".codex/config.toml", "codex/codex_scenarios.json", &script);
    }
}

#[test]
fn a_hook_that_hangs_does_not_hold_up_gemini_cli() {
    let script = r#". "$CLIENTS/env.sh"; . "$CLIENTS/gemini/gemini_env.sh"; cd "$1"
gm "$1" -p "SCENARIO:hello hi" < /dev/null > said.txt 2>&1"#;
    if gemini().is_some() {
        hanging(
            "gemini-cli",
            ".gemini/extensions/loci/hooks/hooks.json",
            "gemini/gemini_scenarios.json",
            script,
        );
    }
}
