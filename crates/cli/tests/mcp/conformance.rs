//! The official MCP conformance suite against the server over HTTP: every scenario that it lists either passes or is
//! named here with the reason why it does not apply to Loci.

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

/// Reasons why a scenario does not apply.
const FIXTURE: &str = "it calls a tool or prompt that only the suite's own example server has";
const LOGGING: &str = "Loci sends no log messages, and the protocol has none from 2026-07-28 on";
const RESOURCES: &str = "Loci has no resources: sessions are read with gather_chats";

/// The scenario, why it does not apply, and the error of the suite that proves it.
const NOT_APPLICABLE: &[(&str, &str, &str)] = &[
    ("logging-set-level", LOGGING, "logging/setLevel"),
    ("tools-call-simple-text", FIXTURE, "unknown tool `test_simple_text`"),
    ("tools-call-image", FIXTURE, "unknown tool `test_image_content`"),
    ("tools-call-audio", FIXTURE, "unknown tool `test_audio_content`"),
    ("tools-call-embedded-resource", FIXTURE, "unknown tool `test_embedded_resource`"),
    ("tools-call-mixed-content", FIXTURE, "unknown tool `test_multiple_content_types`"),
    ("tools-call-with-logging", LOGGING, "logging/setLevel"),
    ("tools-call-error", FIXTURE, "unknown tool `test_error_handling`"),
    ("tools-call-with-progress", FIXTURE, "unknown tool `test_tool_with_progress`"),
    ("tools-call-sampling", FIXTURE, "unknown tool `test_sampling`"),
    ("tools-call-elicitation", FIXTURE, "unknown tool `test_elicitation`"),
    ("json-schema-2020-12", FIXTURE, "Tool 'json_schema_2020_12_tool' not found"),
    ("elicitation-sep1034-defaults", FIXTURE, "unknown tool `test_elicitation_sep1034_defaults`"),
    ("elicitation-sep1330-enums", FIXTURE, "unknown tool `test_elicitation_sep1330_enums`"),
    ("resources-read-text", RESOURCES, "resources/read"),
    ("resources-read-binary", RESOURCES, "resources/read"),
    ("resources-templates-read", RESOURCES, "resources/read"),
    ("resources-subscribe", RESOURCES, "resources/subscribe"),
    ("resources-unsubscribe", RESOURCES, "resources/subscribe"),
    ("prompts-get-simple", FIXTURE, "unknown prompt `test_simple_prompt`"),
    ("prompts-get-with-args", FIXTURE, "unknown prompt `test_prompt_with_arguments`"),
    ("prompts-get-embedded-resource", FIXTURE, "unknown prompt `test_prompt_with_embedded_resource`"),
    ("prompts-get-with-image", FIXTURE, "unknown prompt `test_prompt_with_image`"),
];

fn run_suite(clients: &Clients, home: &Home, args: &[&str]) -> String {
    let mut command = Command::new(clients.installed.join(NODE));
    set_environment(&mut command, home.path());
    let ended = run_command({
        command.arg(clients.installed.join(CONFORMANCE)).args(args);
        command
    });
    format!("{}{}", ended.text(), ended.stderr)
}

/// The suite's scenarios for servers. It prints each one after a dash.
fn list_scenarios(clients: &Clients, home: &Home) -> BTreeSet<String> {
    let text = run_suite(clients, home, &["list", "--server"]);
    let names = text.lines().filter_map(|line| line.trim().strip_prefix("- ")?.split(' ').next());
    names.map(str::to_string).collect()
}

/// The checks of a scenario. The suite names the folder after the scenario and the time.
fn read_checks(results: &Path, scenario: &str) -> Vec<Value> {
    let prefix = format!("server-{scenario}-20");
    let folders = fs::read_dir(results).unwrap().map(|entry| entry.unwrap());
    let mut matching = folders.filter(|entry| entry.file_name().to_str().unwrap().starts_with(&prefix));
    let folder = matching.next().unwrap_or_else(|| panic!("{scenario} was not run")).path();
    serde_json::from_slice(&fs::read(folder.join("checks.json")).unwrap()).unwrap()
}

#[test]
#[ignore = "needs mcp-tools: see CONTRIBUTING.md"]
fn every_scenario_passes_or_does_not_apply() {
    let clients = Clients::require(&[CONFORMANCE, NODE]);
    let home = sample_home();
    let known =
        PASSED.iter().chain(NOT_APPLICABLE.iter().map(|(name, ..)| name)).map(|name| (*name).to_string());
    assert_eq!(list_scenarios(&clients, &home), known.collect(), "the suite's scenarios have changed");

    let (server, results) = (HttpServer::start(&home), home.path().join("results"));
    run_suite(
        &clients,
        &home,
        &["server", "--url", &server.address, "--suite", "all", "-o", results.to_str().unwrap()],
    );
    for scenario in PASSED {
        let checks = read_checks(&results, scenario);
        assert!(checks.iter().any(|check| check["status"] == "SUCCESS"), "{scenario}: {checks:?}");
        assert!(checks.iter().all(|check| check["status"] != "FAILURE"), "{scenario}: {checks:?}");
    }
    for (scenario, reason, expected) in NOT_APPLICABLE {
        println!("{scenario} does not apply: {reason}");
        let checks = read_checks(&results, scenario);
        let is_expected =
            checks.iter().any(|c| c["errorMessage"].as_str().is_some_and(|m| m.contains(expected)));
        assert!(is_expected, "{scenario} fails for another reason than that {reason}: {checks:?}");
    }
}
