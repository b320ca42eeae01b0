//! Further real clients after `loci setup`: they offer Loci's tools to their model, and run its hooks where setup adds
//! hooks.

use serde_json::{Value, json};
use std::path::Path;
use testutil::clients::Clients;
use testutil::{Home, command, run_command, write_file};

struct Setup {
    agent: &'static str,
    /// Its program below the folder of installed clients.
    program: &'static str,
    runs: &'static [&'static str],
    /// A settings file that the script of the client leaves alone, with its content before setup.
    settings: (&'static str, &'static str),
}

fn loci(home: &Home, args: &[&str]) -> Value {
    let finished = run_command(command(home.path(), args)).expect(0);
    serde_json::from_slice(&finished.stdout).unwrap()
}

/// Runs the client in the home; returns the requests to its model.
fn requests(clients: &Clients, setup: &Setup, home: &Path) -> String {
    let out = tempfile::tempdir().unwrap();
    clients.run_neutral(setup.agent, home, out.path(), setup.runs);
    std::fs::read_to_string(out.path().join("requests.jsonl")).unwrap()
}

fn assert_tools_are_offered(setup: &Setup) {
    let clients = Clients::as_root(setup.program);
    let home = Home::new();
    let file = write_file(&home.path().join(setup.settings.0), setup.settings.1.as_bytes());
    let done = loci(&home, &["setup", setup.agent, "--yes", "-o", "json"]);
    assert_eq!(done["agents"][0]["agent"], setup.agent);
    let sent = requests(&clients, setup, home.path());
    assert!(sent.contains("search_conversations"), "{}: no tool of Loci in {sent:.2000}", setup.agent);
    loci(&home, &["setup", setup.agent, "--remove", "--yes", "-o", "json"]);
    assert_eq!(std::fs::read_to_string(file).unwrap(), setup.settings.1, "{}", setup.agent);
}

const QWEN: Setup = Setup {
    agent: "qwen",
    program: "qwen/node_modules/.bin/qwen",
    runs: &["odd"],
    settings: (".qwen/settings.json", "{}"),
};

#[test]
#[ignore = "needs qwen: see CONTRIBUTING.md"]
fn qwen_code_offers_the_tools_and_runs_the_hooks() {
    let clients = Clients::as_root(QWEN.program);
    let home = Home::new();
    // An earlier session in the folder in which the script runs.
    let earlier =
        json!({"type": "message", "role": "user", "text": "Sort the quinces.", "at": "2026-11-16T01:00:00Z"});
    let session = json!({"type": "session", "id": "s-1", "cwd": "/home/dev/work/qwen/my.proj_é 1"});
    write_file(&home.path().join("mine.jsonl"), format!("{session}\n{earlier}\n").as_bytes());
    loci(&home, &["import", "mine.jsonl", "-o", "json"]);
    loci(&home, &["index", "-o", "json"]);
    loci(&home, &["setup", "qwen", "--yes", "-o", "json"]);
    let sent = requests(&clients, &QWEN, home.path());
    assert!(sent.contains("search_conversations"), "no tool of Loci in {sent:.2000}");
    assert!(sent.contains("Sort the quinces"), "no context from the hook in {sent:.2000}");
}

#[test]
#[ignore = "needs copilot: see CONTRIBUTING.md"]
fn copilot_cli_offers_the_tools() {
    assert_tools_are_offered(&Setup {
        agent: "copilot",
        program: "copilot/node_modules/.bin/copilot",
        runs: &["odd"],
        settings: (".copilot/mcp-config.json", "{\"mcpServers\": {}}\n"),
    });
}

#[test]
#[ignore = "needs droid: see CONTRIBUTING.md"]
fn factory_droid_offers_the_tools() {
    assert_tools_are_offered(&Setup {
        agent: "droid",
        program: "droid/node_modules/@factory/cli-linux-x64/bin/droid",
        runs: &["odd"],
        settings: (".factory/mcp.json", "{\"mcpServers\": {}}\n"),
    });
}

#[test]
#[ignore = "needs cline: see CONTRIBUTING.md"]
fn cline_offers_the_tools() {
    assert_tools_are_offered(&Setup {
        agent: "cline",
        program: "cline/node_modules/.bin/cline",
        runs: &["auth", "odd"],
        settings: (".cline/data/settings/cline_mcp_settings.json", "{}"),
    });
}

#[test]
#[ignore = "needs kimi: see CONTRIBUTING.md"]
fn kimi_code_offers_the_tools() {
    assert_tools_are_offered(&Setup {
        agent: "kimi",
        program: "kimi/node_modules/.bin/kimi",
        runs: &["odd"],
        settings: (".kimi-code/mcp.json", "{ }"),
    });
}

#[test]
#[ignore = "needs kilo: see CONTRIBUTING.md"]
fn kilo_offers_the_tools() {
    assert_tools_are_offered(&Setup {
        agent: "kilo",
        program: "kilo/node_modules/@kilocode/cli-linux-x64/bin/kilo",
        runs: &["odd"],
        // It adds the schema to a file without one.
        settings: (
            ".config/kilo/kilo.jsonc",
            "{\n  // mine\n  \"$schema\": \"https://app.kilo.ai/config.json\"\n}\n",
        ),
    });
}
