//! The scripts that drove the clients: which tools a scenario calls, and which of the calls fail.

use serde_json::Value;
use std::fs;
use std::path::Path;

pub(crate) struct Script(Value);

/// A call that the script makes.
#[derive(Clone, Debug)]
pub(crate) struct PlannedCall {
    pub(crate) tool: String,
    /// Index of the script's turn that makes the call.
    pub(crate) turn: usize,
    pub(crate) fails: bool,
}

/// Calls that fail in every version: scenario and indices of the calls in it.
const FAILING_CALLS: &[(&str, &[usize])] = &[
    // three times `exit 3`, a missing file, a text that is not in the file
    ("basic", &[6, 7, 8, 9, 10]),
    ("sub_count", &[1]), // `exit 7`
    ("badtool", &[0, 1]),
    ("denied", &[0, 1]),
    ("web", &[0]),
    ("mcp", &[1]),
    ("mcpplug", &[1]),
];

impl Script {
    pub(crate) fn claude(clients: &Path) -> Script {
        let path = clients.join("claude-code/claude_scenarios.json");
        Script(serde_json::from_slice(&fs::read(path).unwrap()).unwrap())
    }

    pub(crate) fn calls(&self, scenario: &str) -> Vec<PlannedCall> {
        let fails = FAILING_CALLS.iter().find(|(name, _)| *name == scenario).map_or(&[][..], |(_, at)| at);
        let turns = self.0[scenario].as_array().unwrap_or_else(|| panic!("no scenario {scenario}"));
        let mut calls = Vec::new();
        for (turn, reply) in turns.iter().enumerate() {
            for block in reply["blocks"].as_array().unwrap().iter().filter(|b| b["type"] == "tool_use") {
                let tool = block["name"].as_str().unwrap().to_string();
                calls.push(PlannedCall { tool, turn, fails: fails.contains(&calls.len()) });
            }
        }
        calls
    }

    pub(crate) fn ends(&self, scenario: &str) -> Vec<(String, String)> {
        self.calls(scenario).iter().map(PlannedCall::end).collect()
    }
}

impl PlannedCall {
    pub(crate) fn end(&self) -> (String, String) {
        (self.tool.clone(), if self.fails { "error" } else { "success" }.to_string())
    }
}

/// The scenario that a prompt names: `SCENARIO:basic Please …`.
pub(crate) fn scenario_name(text: &str) -> Option<&str> {
    text.split("SCENARIO:").nth(1)?.split_whitespace().next()
}
