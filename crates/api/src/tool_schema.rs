//! JSON Schemas of a tool's input and output: the types supply the shapes, the tables the descriptions.
//!
//! Kept short: an agent pays for a tool's schema in every session. Parameters that all views share are explained once, in
//! the server's instructions, and have no description in the schemas.

use crate::control::{CONTROL, Control};
use crate::envelope::Envelope;
use crate::schema::{schema_of, schema_properties};
use crate::tools::{Tool, ToolTarget, view_names};
use crate::views::{FORM, SCOPE};
use crate::{Param, Shape, ViewRequest};
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
    let mut all = schema_properties::<Control>();
    all.extend(
        tool.operation().map_or_else(schema_properties::<ViewRequest>, |operation| (operation.shapes)()),
    );
    all
}

/// Adds a description to parameters specific to this tool, and the allowed values if the type does not list them.
fn add_description(tool: &Tool, param: &Param, shape: &mut Value) {
    let shared = SCOPE.contains(&param.name) || FORM.contains(&param.name);
    let control = CONTROL.iter().any(|control| control.name == param.name);
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
