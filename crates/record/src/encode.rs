//! Encodes a record as a JSON line or a TSV row.
//!
//! Does not print.

use crate::cell::{self, Cell};

/// Encodes records as lines. Shared by the threads that read records.
#[derive(Clone)]
pub struct Encoder {
    /// The fields to write, in this order; all fields if empty.
    pub fields: Vec<String>,
    /// The columns of a table; None for JSON.
    pub tsv: Option<Vec<String>>,
}

impl Encoder {
    /// The encoded line, including its newline.
    pub fn encode(&self, line: &[(&str, Cell<'_>)]) -> Vec<u8> {
        // Text makes up nearly all of a long line: reserving capacity for it avoids reallocation.
        let texts = line.iter().map(|(_, cell)| cell.estimated_len()).sum::<usize>();
        let mut out = Vec::with_capacity(texts + 512);
        self.encode_into(line, &mut out);
        out
    }

    pub fn encode_into(&self, line: &[(&str, Cell<'_>)], out: &mut Vec<u8>) {
        let named = |field: &String| line.iter().find(|(name, _)| name == field);
        match &self.tsv {
            Some(columns) => {
                for (i, column) in columns.iter().enumerate() {
                    if i > 0 {
                        out.push(b'\t');
                    }
                    if let Some((_, cell)) = named(column) {
                        cell.write_tsv(out);
                    }
                }
            }
            None if self.fields.is_empty() => cell::write_object(line, out),
            None => cell::write_fields(self.fields.iter().filter_map(named), out),
        }
        out.push(b'\n');
    }
}

/// Converts one JSON value to a TSV row.
pub fn json_to_tsv(json: &[u8]) -> Vec<u8> {
    let cell = |value: &serde_json::Value| match value {
        serde_json::Value::Null => Cell::Null,
        serde_json::Value::String(s) => Cell::text(s.clone()),
        other => Cell::Json(other.to_string().into()),
    };
    let cells = match serde_json::from_slice(json) {
        Ok(serde_json::Value::Array(items)) => items.iter().map(cell).collect(),
        Ok(serde_json::Value::Object(map)) => map.values().map(cell).collect(),
        Ok(other) => vec![cell(&other)],
        Err(_) => vec![Cell::text(String::from_utf8_lossy(json).into_owned())],
    };
    let mut out = Vec::new();
    for (i, cell) in cells.iter().enumerate() {
        if i > 0 {
            out.push(b'\t');
        }
        cell.write_tsv(&mut out);
    }
    out
}
