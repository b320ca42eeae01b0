//! The official conformance suite against the server over HTTP: every scenario that it lists is either passed or named
//! here with what the suite wants that Loci does not have.

use crate::http::HttpServer;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use testutil::clients::{CONFORMANCE, Clients, NODE};
use testutil::{Home, run_command, sample_home, set_environment};

const PASSED: &[&str] = &[
    "server-initialize",
    "ping",
    "completion-complete",
    "tools-list",
    "server-sse-polling",
    "server-sse-multiple-streams",
    "resources-list",
    "prompts-list",
    "dns-rebinding-protection",
];

/// Why a scenario does not apply.
const FIXTURE: &str = "it calls a tool or prompt that only the suite's own example server has";
const LOGGING: &str = "Loci sends no log messages, and the protocol has none from 2026-07-28 on";
const RESOURCES: &str = "Loci has no resources: conversations are read with gather_chats";

/// The scenario, why it does not apply, and the suite's complaint that shows it.
const NOT_OURS: &[(&str, &str, &str)] = &[
    ("logging-set-level", LOGGING, "logging/setLevel"),
    ("tools-call-simple-text", FIXTURE, "no tool `test_simple_text`"),
    ("tools-call-image", FIXTURE, "no tool `test_image_content`"),
    ("tools-call-audio", FIXTURE, "no tool `test_audio_content`"),
    ("tools-call-embedded-resource", FIXTURE, "no tool `test_embedded_resource`"),
    ("tools-call-mixed-content", FIXTURE, "no tool `test_multiple_content_types`"),
    ("tools-call-with-logging", LOGGING, "logging/setLevel"),
    ("tools-call-error", FIXTURE, "no tool `test_error_handling`"),
    ("tools-call-with-progress", FIXTURE, "no tool `test_tool_with_progress`"),
    ("tools-call-sampling", FIXTURE, "no tool `test_sampling`"),
    ("tools-call-elicitation", FIXTURE, "no tool `test_elicitation`"),
    ("json-schema-2020-12", FIXTURE, "Tool 'json_schema_2020_12_tool' not found"),
    ("elicitation-sep1034-defaults", FIXTURE, "no tool `test_elicitation_sep1034_defaults`"),
    ("elicitation-sep1330-enums", FIXTURE, "no tool `test_elicitation_sep1330_enums`"),
    ("resources-read-text", RESOURCES, "resources/read"),
    ("resources-read-binary", RESOURCES, "resources/read"),
    ("resources-templates-read", RESOURCES, "resources/read"),
    ("resources-subscribe", RESOURCES, "resources/subscribe"),
    ("resources-unsubscribe", RESOURCES, "resources/subscribe"),
    ("prompts-get-simple", FIXTURE, "no prompt `test_simple_prompt`"),
    ("prompts-get-with-args", FIXTURE, "no prompt `test_prompt_with_arguments`"),
    ("prompts-get-embedded-resource", FIXTURE, "no prompt `test_prompt_with_embedded_resource`"),
    ("prompts-get-with-image", FIXTURE, "no prompt `test_prompt_with_image`"),
];

fn suite(clients: &Clients, home: &Home, args: &[&str]) -> String {
    let mut command = Command::new(clients.installed.join(NODE));
    set_environment(&mut command, home.path());
    let ended = run_command({
        command.arg(clients.installed.join(CONFORMANCE)).args(args);
        command
    });
    format!("{}{}", ended.text(), ended.stderr)
}

/// The scenarios for servers that the suite has, each after a dash.
fn listed(clients: &Clients, home: &Home) -> BTreeSet<String> {
    let text = suite(clients, home, &["list", "--server"]);
    let names = text.lines().filter_map(|line| line.trim().strip_prefix("- ")?.split(' ').next());
    names.map(str::to_string).collect()
}

/// What was checked in a scenario. The suite names the folder of each after it and the time of day.
fn checks(results: &Path, scenario: &str) -> Vec<Value> {
    let begins = format!("server-{scenario}-20");
    let folders = fs::read_dir(results).unwrap().map(|entry| entry.unwrap());
    let mut of_it = folders.filter(|entry| entry.file_name().to_str().unwrap().starts_with(&begins));
    let folder = of_it.next().unwrap_or_else(|| panic!("{scenario} was not run")).path();
    serde_json::from_slice(&fs::read(folder.join("checks.json")).unwrap()).unwrap()
}

#[test]
#[ignore = "needs mcp-tools: see CONTRIBUTING.md"]
fn every_scenario_is_passed_or_does_not_apply() {
    let clients = Clients::with(&[CONFORMANCE, NODE]);
    let home = sample_home();
    let known = PASSED.iter().chain(NOT_OURS.iter().map(|(name, ..)| name)).map(|name| (*name).to_string());
    assert_eq!(listed(&clients, &home), known.collect(), "the suite has other scenarios than these");

    let (server, results) = (HttpServer::start(&home), home.path().join("results"));
    suite(
        &clients,
        &home,
        &["server", "--url", &server.address, "--suite", "all", "-o", results.to_str().unwrap()],
    );
    for scenario in PASSED {
        let checks = checks(&results, scenario);
        assert!(checks.iter().any(|check| check["status"] == "SUCCESS"), "{scenario}: {checks:?}");
        assert!(checks.iter().all(|check| check["status"] != "FAILURE"), "{scenario}: {checks:?}");
    }
    for (scenario, why, complaint) in NOT_OURS {
        println!("{scenario} does not apply: {why}");
        let complaints = checks(&results, scenario);
        let said =
            complaints.iter().any(|c| c["errorMessage"].as_str().is_some_and(|m| m.contains(complaint)));
        assert!(said, "{scenario} fails for another reason than that {why}: {complaints:?}");
    }
}
