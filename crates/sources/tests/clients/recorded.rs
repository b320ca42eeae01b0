//! The recorded stores of further agents, held against what really happened.

use crate::check::{Client, check_edits, check_runs, check_times, check_usage, read_expected, read_store};
use crate::table;
use testutil::copy_folder;
use testutil::needs::shared_folder;

fn check_recorded(client: &Client) {
    let expected = read_expected(client);
    let version = expected["version"].as_str().unwrap();
    let home = tempfile::tempdir().unwrap();
    copy_folder(&shared_folder().join("corpus/more").join(client.name).join(version), home.path());
    let store = read_store(client, home.path());
    check_runs(client, &store, expected["runs"].as_array().unwrap());
    if client.times {
        check_times(client, &store, "2026-11-16T01:");
    }
    check_usage(client, &store);
    check_edits(client, &store);
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn kilo_is_read_as_recorded() {
    check_recorded(&table::KILO);
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn qwen_is_read_as_recorded() {
    check_recorded(&table::QWEN);
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn pi_is_read_as_recorded() {
    check_recorded(&table::PI);
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn copilot_is_read_as_recorded() {
    check_recorded(&table::COPILOT);
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn droid_is_read_as_recorded() {
    check_recorded(&table::DROID);
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn grok_is_read_as_recorded() {
    check_recorded(&table::GROK);
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn cline_is_read_as_recorded() {
    check_recorded(&table::CLINE);
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn cn_is_read_as_recorded() {
    check_recorded(&table::CN);
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn openhands_is_read_as_recorded() {
    check_recorded(&table::OPENHANDS);
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn hermes_is_read_as_recorded() {
    check_recorded(&table::HERMES);
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn vibe_is_read_as_recorded() {
    check_recorded(&table::VIBE);
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn aider_is_read_as_recorded() {
    check_recorded(&table::AIDER);
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn gptme_is_read_as_recorded() {
    check_recorded(&table::GPTME);
}

#[test]
#[ignore = "needs corpus: see CONTRIBUTING.md"]
fn kimi_is_read_as_recorded() {
    check_recorded(&table::KIMI);
}
