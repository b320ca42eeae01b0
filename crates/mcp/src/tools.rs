//! The tool list of the protocol, made from the table of `api`.
//!
//! Does not know what the tools do.

use api::{Set, TOOLS, Tool, tool_schema};
use rmcp::model::{MetaObject, Tool as Listed, ToolAnnotations};
use serde_json::json;
use std::sync::Arc;

/// The tools of these sets, as listed to an agent.
pub fn list_tools(sets: &[Set]) -> Vec<Listed> {
    let output = Arc::new(tool_schema::output_schema());
    let is_offered = |tool: &&Tool| tool.sets.iter().any(|set| sets.contains(set));
    TOOLS.iter().filter(is_offered).map(|tool| describe_tool(tool, output.clone())).collect()
}

fn describe_tool(tool: &'static Tool, output: Arc<rmcp::model::JsonObject>) -> Listed {
    let hints = ToolAnnotations::default().read_only(tool.read_only()).open_world(false);
    let hints = if tool.read_only() { hints } else { hints.destructive(true).idempotent(true) };
    // Unknown parameters are refused either way; saying so for each tool costs a hundred tokens.
    let mut input = tool_schema::input_schema(tool);
    input.remove("additionalProperties");
    let listed =
        Listed::new(tool.name, tool.about, input).with_raw_output_schema(output).with_annotations(hints);
    if ENTRY_TOOLS.contains(&tool.name) { listed.with_meta(always_loaded_meta()) } else { listed }
}

/// Claude Code defers tools until they are searched for; one of each kind is always loaded: sessions, errors, memory, code.
const ENTRY_TOOLS: &[&str] = &["search_conversations", "query_errors", "list_memory", "get_outline"];

fn always_loaded_meta() -> MetaObject {
    let mut meta = MetaObject::default();
    meta.insert("anthropic/alwaysLoad".to_string(), json!(true));
    meta
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count_tokens(sets: &[Set]) -> (usize, usize) {
        let whole = serde_json::to_value(list_tools(sets)).unwrap();
        // What the model sees: clients do not pass output schemas and annotations on.
        let mut seen = whole.clone();
        for tool in seen.as_array_mut().unwrap() {
            tool.as_object_mut()
                .unwrap()
                .retain(|name, _| ["name", "description", "inputSchema"].contains(&name.as_str()));
        }
        let count = |value: &serde_json::Value| tokens::count_tokens(&value.to_string());
        (count(&whole), count(&seen))
    }

    #[test]
    fn the_list_of_tools_costs_little() {
        let all: Vec<Set> = Set::ALL.iter().map(|(set, ..)| *set).collect();
        // An agent is never given all sets at once.
        for (sets, most) in [
            (&all[..], 7500),
            (Set::USUAL, 4000),
            (&[Set::Core], 2500),
            (&[Set::Chat], 4000),
            (&[Set::Code], 4000),
        ] {
            let (whole, seen) = count_tokens(sets);
            println!("{sets:?}: {whole} tokens on the wire, {seen} of them for the model");
            assert!(seen <= most, "{sets:?} cost a model {seen} tokens");
            let (_, stated) = tool_schema::listing_cost(sets);
            let apart = (stated as f64 - seen as f64).abs() / seen as f64;
            assert!(apart < 0.08, "{sets:?}: {stated} tokens are stated, {seen} are measured");
        }
    }
}
