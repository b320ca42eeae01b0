//! The entry point for fuzzing: edits any text as settings of an agent and checks that the edit can be reverted.
//!
//! Does not know the agents.

use crate::entry::Entry;
use crate::text::SettingsFormat;
use serde_json::json;

/// Inserts two entries, reverts them, and removes them one by one. Panics if another text than the original results, or
/// if a removal leaves an entry.
pub fn edit_settings(text: &str) {
    let server = Entry::at_key(&["mcpServers", "loci"], json!({"command": "loci", "args": ["mcp"]}));
    let hook = Entry::in_list(&["hooks", "Stop"], "loci hook", json!({"command": "loci hook stop"}));
    let entries = [server, hook];
    for format in [SettingsFormat::Json, SettingsFormat::Toml] {
        let Ok((edited, record)) = format.insert_entries(text, &entries) else { continue };
        assert_eq!(record.revert(&edited).as_deref(), Some(text), "reverted");
        let spots = entries.each_ref().map(|entry| entry.location.clone());
        let Ok(removed) = format.remove_entries(&edited, &spots, &[]) else { continue };
        let tree = format.parse_tree(&removed).expect("the rest is valid");
        assert!(spots.iter().all(|spot| spot.find(&tree).is_none()), "an entry is left in {removed}");
    }
}
