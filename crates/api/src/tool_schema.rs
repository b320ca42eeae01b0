//! JSON Schemas of a tool's input and output: the types supply the shapes, the tables the descriptions.
//!
//! Kept short: an agent pays for a tool's schema in every session. Parameters that all views share are explained once, in
//! the server's instructions, and have no description in the schemas.

use crate::control::Control;
use crate::envelope::Envelope;
use crate::schema::schema_of;
use crate::setup::{Toolset, ToolsetChoice};
use crate::tools::{TOOLS, Tool, ToolTarget, view_names};
use crate::toolsets::Set;
use crate::views::{FORM, SCOPE};
use crate::{Param, Shape, ViewRequest, params};
use serde_json::{Map, Value, json};

/// The schema of a tool's parameters.
pub fn input_schema(tool: &Tool) -> Map<String, Value> {
    let mut known = param_schemas(tool);
    let mut properties = Map::new();
    if tool.asks == ToolTarget::AnyView {
        properties.insert("view".to_string(), json!({"enum": view_names()}));
    }
    for param in tool.params() {
        let mut shape = known.remove(param.name).unwrap_or_else(|| json!({}));
        add_description(tool, param, &mut shape);
        properties.insert(param.name.to_string(), shape);
    }
    let mut schema = Map::new();
    schema.insert("type".to_string(), json!("object"));
    schema.insert("properties".to_string(), Value::Object(properties));
    let required = required_params(tool);
    if !required.is_empty() {
        schema.insert("required".to_string(), json!(required));
    }
    schema.insert("additionalProperties".to_string(), json!(false));
    schema
}

/// The chosen sets, what they cost, and what each set would cost.
pub fn describe_choice(sets: &[Set]) -> ToolsetChoice {
    let describe = |(set, name, about): &(Set, &str, &str)| {
        let (tools, tokens) = listing_cost(&[*set]);
        Toolset { name: (*name).to_string(), about: (*about).to_string(), tools, tokens }
    };
    let chosen = Set::ALL.iter().filter(|(set, ..)| sets.contains(set));
    let (tools, tokens) = listing_cost(sets);
    ToolsetChoice {
        chosen: chosen.map(|(_, name, _)| (*name).to_string()).collect(),
        tools,
        tokens,
        known: Set::ALL.iter().map(describe).collect(),
        change: None,
    }
}

/// How many tools these sets have, and about how many tokens an agent spends on their list in every session.
///
/// Estimated from its size, to the nearest hundred; a test compares it with the o200k tokenizer.
pub fn listing_cost(sets: &[Set]) -> (u64, u64) {
    let offered: Vec<&Tool> =
        TOOLS.iter().filter(|tool| tool.sets.iter().any(|set| sets.contains(set))).collect();
    let bytes: usize = offered.iter().map(|tool| listing_of(tool).to_string().len()).sum();
    (offered.len() as u64, ((bytes as f64 / BYTES_PER_TOKEN / 100.0).round() as u64) * 100)
}

/// Bytes of a tool list per token, as measured.
const BYTES_PER_TOKEN: f64 = 4.4;

/// What a model sees of a tool.
fn listing_of(tool: &Tool) -> Value {
    json!({"name": tool.name, "description": tool.about, "inputSchema": input_schema(tool)})
}

/// The schema of every reply, one level deep: it is repeated for each tool in the listing.
pub fn output_schema() -> Map<String, Value> {
    let mut schema = schema_of::<Envelope>();
    schema.remove("additionalProperties");
    for (_, property) in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        if let Value::Object(inner) = property {
            inner.retain(|word, _| ["type", "enum", "anyOf"].contains(&word.as_str()));
        }
    }
    schema
}

fn required_params(tool: &Tool) -> &'static [&'static str] {
    match tool.asks {
        ToolTarget::AnyView => &["view"],
        _ => tool.operation().map_or(&[], |operation| operation.required),
    }
}

/// The schemas of its parameters, by name.
fn param_schemas(tool: &Tool) -> Map<String, Value> {
    let mut all = params::schemas(Control::PARAMS);
    all.extend(params::schemas(tool.operation().map_or(ViewRequest::PARAMS, |operation| operation.params)));
    all
}

/// Parameters that select by device; the server's instructions explain them.
const ORIGIN: &[&str] = &["device", "mine"];

/// Parameters whose names say what they do.
const PLAIN: &[&str] = &["tool", "max_results", "under", "without_tests", "limit_chats"];

/// Adds a description to parameters specific to this tool, and the allowed values if the type does not list them.
fn add_description(tool: &Tool, param: &Param, shape: &mut Value) {
    let shared = [SCOPE, FORM, ORIGIN, PLAIN].iter().any(|names| names.contains(&param.name));
    let control = Control::PARAMS.iter().any(|control| control.name == param.name);
    if let Some(view) = tool.view().filter(|_| param.name == "by") {
        *shape = json!({"enum": view.by});
    } else if let Shape::Choice(words) = param.shape {
        *shape = json!({"enum": words});
    } else if !shared && !control && tool.asks != ToolTarget::AnyView {
        shape["description"] = json!(brief_description(param.about));
    }
}

/// The text up to the first bracket or semicolon; the rest is for the reference pages.
fn brief_description(about: &str) -> &str {
    about.split(['[', ';']).next().unwrap_or(about).trim_end_matches([' ', '.'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TOOLS;

    #[test]
    fn every_parameter_has_a_schema_and_others_are_rejected() {
        for tool in TOOLS {
            let schema = input_schema(tool);
            let properties = schema["properties"].as_object().unwrap();
            for (name, shape) in properties {
                let typed = ["type", "anyOf", "enum"].iter().any(|word| shape.get(word).is_some());
                assert!(typed, "{} {name}: {shape}", tool.name);
            }
            assert_eq!(schema["additionalProperties"], json!(false));
            for name in required_params(tool) {
                assert!(properties.contains_key(*name), "{} {name}", tool.name);
            }
        }
    }

    #[test]
    fn the_output_schema_has_every_envelope_field() {
        let schema = output_schema();
        let properties = schema["properties"].as_object().unwrap();
        assert_eq!(schema["required"], json!(["mode"]));
        assert_eq!(properties["mode"]["enum"], json!(["inline", "file_ref"]));
        for name in ["data", "file_ref", "stats", "recalled", "degraded_reason", "next_offset", "notes"] {
            assert!(properties.contains_key(name), "{name}");
        }
    }
}
