//! The scripts that drove the clients: which tools a scenario calls, and how the calls were made to end.

use serde_json::Value;
use std::fs;
use std::path::Path;

pub(crate) struct Script(Value);

/// A call as the script has it.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub(crate) tool: String,
    /// The turn of the script it is made in.
    pub(crate) turn: usize,
    pub(crate) fails: bool,
}

/// Calls that the script makes fail whatever the version: scenario and places of the calls in it.
const FAILS: &[(&str, &[usize])] = &[
    // three times `exit 3`, a file that is not there, a text that is not in the file
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

    pub(crate) fn calls(&self, scenario: &str) -> Vec<Planned> {
        let fails = FAILS.iter().find(|(name, _)| *name == scenario).map_or(&[][..], |(_, at)| at);
        let turns = self.0[scenario].as_array().unwrap_or_else(|| panic!("no scenario {scenario}"));
        let mut calls = Vec::new();
        for (turn, said) in turns.iter().enumerate() {
            for block in said["blocks"].as_array().unwrap().iter().filter(|b| b["type"] == "tool_use") {
                let tool = block["name"].as_str().unwrap().to_string();
                calls.push(Planned { tool, turn, fails: fails.contains(&calls.len()) });
            }
        }
        calls
    }

    pub(crate) fn ends(&self, scenario: &str) -> Vec<(String, String)> {
        self.calls(scenario).iter().map(Planned::end).collect()
    }
}

impl Planned {
    pub(crate) fn end(&self) -> (String, String) {
        (self.tool.clone(), if self.fails { "error" } else { "success" }.to_string())
    }
}

/// The scenario a text names: `SCENARIO:basic Please …`.
pub(crate) fn scenario(text: &str) -> Option<&str> {
    text.split("SCENARIO:").nth(1)?.split_whitespace().next()
}
