//! JSON schemas of the request and response types, shortened for agents.
//!
//! Does not know tools: see [`crate::tool_schema`].

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

pub(crate) fn schema_of<T: JsonSchema>() -> Map<String, Value> {
    let settings = SchemaSettings::draft2020_12().with(|s| {
        s.inline_subschemas = true;
        s.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    strip_details(&mut schema);
    match schema {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// Removes details that agents do not need: titles, defaults, integer formats, nullability and doc comments.
fn strip_details(schema: &mut Value) {
    let Value::Object(map) = schema else {
        if let Value::Array(items) = schema {
            items.iter_mut().for_each(strip_details);
        }
        return;
    };
    for word in ["title", "default", "format", "minimum", "maximum", "description"] {
        if map.get(word).is_some_and(|value| !value.is_object()) {
            map.remove(word);
        }
    }
    if let Some(Value::Array(types)) = map.get_mut("type") {
        types.retain(|word| word != "null");
        if let [one] = &types[..] {
            let one = one.clone();
            map.insert("type".to_string(), one);
        }
    }
    if let Some(Value::Array(any)) = map.get_mut("anyOf") {
        any.retain(|one| one["type"] != "null");
        if let [one] = &any[..] {
            let one = one.clone();
            map.remove("anyOf");
            if let Value::Object(inner) = one {
                map.extend(inner);
            }
        }
    }
    map.values_mut().for_each(strip_details);
}
