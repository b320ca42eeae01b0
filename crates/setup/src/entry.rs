//! One entry of ours in a user's settings, as a value: its location, its content, and how to recognise it.
//!
//! Does not know the file formats: JSON and TOML are parsed into the same tree, and each edit of a text is verified against
//! the same edit of that tree.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The location of an entry of ours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Location {
    /// Keys from the outermost to the innermost.
    pub(crate) keys: Vec<String>,
    /// If set, the location is a list, and our element is the one that contains this text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mark: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) location: Location,
    pub(crate) value: Value,
}

impl Entry {
    pub(crate) fn at_key(keys: &[&str], value: Value) -> Entry {
        let keys = keys.iter().map(ToString::to_string).collect();
        Entry { location: Location { keys, mark: None }, value }
    }

    pub(crate) fn in_list(keys: &[&str], mark: &str, value: Value) -> Entry {
        let keys = keys.iter().map(ToString::to_string).collect();
        Entry { location: Location { keys, mark: Some(mark.to_string()) }, value }
    }
}

impl Location {
    /// The dotted name, for display.
    pub(crate) fn dotted_name(&self) -> String {
        self.keys.join(".")
    }

    pub(crate) fn is_marked(&self, value: &Value) -> bool {
        self.mark.as_ref().is_some_and(|mark| iter_strings(value).any(|text| text.contains(mark.as_str())))
    }

    /// The value at this location.
    pub(crate) fn find<'v>(&self, tree: &'v Value) -> Option<&'v Value> {
        let there = self.keys.iter().try_fold(tree, |at, key| at.get(key))?;
        match self.mark {
            None => Some(there),
            Some(_) => there.as_array()?.iter().find(|element| self.is_marked(element)),
        }
    }

    /// The tree without the entry, and without parents that become empty.
    pub(crate) fn remove_from(&self, mut tree: Value) -> Value {
        self.remove_at_depth(&mut tree, 0);
        tree
    }

    fn remove_at_depth(&self, at: &mut Value, depth: usize) {
        let (Some(key), Some(map)) = (self.keys.get(depth), at.as_object_mut()) else { return };
        if depth + 1 == self.keys.len() && self.mark.is_none() {
            map.shift_remove(key);
            return;
        }
        let Some(inner) = map.get_mut(key) else { return };
        match inner {
            Value::Array(list) if depth + 1 == self.keys.len() => {
                list.retain(|element| !self.is_marked(element));
            }
            _ => self.remove_at_depth(inner, depth + 1),
        }
        if is_empty_container(inner) {
            map.shift_remove(key);
        }
    }
}

impl Entry {
    /// The tree with the entry.
    pub(crate) fn insert_into(&self, mut tree: Value) -> Value {
        let last = self.location.keys.len() - 1;
        let mut at = &mut tree;
        for (depth, key) in self.location.keys.iter().enumerate() {
            let Value::Object(map) = at else { return tree };
            let fresh = if depth == last && self.location.mark.is_some() {
                Value::Array(Vec::new())
            } else {
                Value::Object(Map::new())
            };
            at = map.entry(key.clone()).or_insert(fresh);
        }
        match (at, &self.location.mark) {
            (Value::Array(list), Some(_)) => list.push(self.value.clone()),
            (at, _) => *at = self.value.clone(),
        }
        tree
    }
}

pub(crate) fn is_empty_container(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
}

fn iter_strings(value: &Value) -> Box<dyn Iterator<Item = &str> + '_> {
    match value {
        Value::String(text) => Box::new(std::iter::once(text.as_str())),
        Value::Array(list) => Box::new(list.iter().flat_map(iter_strings)),
        Value::Object(map) => Box::new(map.values().flat_map(iter_strings)),
        _ => Box::new(std::iter::empty()),
    }
}
