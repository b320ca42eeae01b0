//! One value of one record, and how it is written as JSON or as a TSV field. A record to print is a `Record`:
//! named cells in the order of the contract.
//!
//! Does not know which record it belongs to.

use crate::Stamp;
use std::borrow::Cow;
use std::io::Write;

#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Cow<'a, str>),
    /// Valid JSON text, passed on byte for byte.
    Json(Cow<'a, str>),
    Time(Stamp),
    List(Vec<Cell<'a>>),
    Object(Record<'a>),
}

/// The named values of one record. `Null` values are omitted when it is written.
pub type Record<'a> = Vec<(&'a str, Cell<'a>)>;

impl<'a> Cell<'a> {
    pub fn text(s: impl Into<Cow<'a, str>>) -> Cell<'a> {
        Cell::Text(s.into())
    }

    /// An absent value becomes `Null`, which is omitted from the record.
    pub fn opt<T>(value: Option<T>, make: impl FnOnce(T) -> Cell<'a>) -> Cell<'a> {
        value.map_or(Cell::Null, make)
    }

    pub fn count(n: impl TryInto<i64>) -> Cell<'a> {
        Cell::Int(n.try_into().unwrap_or(i64::MAX))
    }

    /// An estimate of the printed size in bytes, where it is cheap to compute.
    pub fn estimated_len(&self) -> usize {
        match self {
            Cell::Text(s) | Cell::Json(s) => s.len() + s.len() / 16,
            _ => 0,
        }
    }

    pub fn is_null(&self) -> bool {
        matches!(self, Cell::Null) || matches!(self, Cell::Time(s) if !s.is_some())
    }

    pub fn write_json(&self, out: &mut Vec<u8>) {
        match self {
            cell if cell.is_null() => out.extend_from_slice(b"null"),
            Cell::Bool(b) => out.extend_from_slice(if *b { b"true" } else { b"false" }),
            Cell::Int(n) => drop(write!(out, "{n}")),
            Cell::Float(n) => drop(serde_json::to_writer(out, n)),
            Cell::Text(s) => drop(serde_json::to_writer(out, s)),
            Cell::Json(s) => out.extend_from_slice(s.as_bytes()),
            Cell::Time(s) => {
                out.push(b'"');
                out.extend_from_slice(&s.to_rfc3339());
                out.push(b'"');
            }
            Cell::List(items) => {
                out.push(b'[');
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    item.write_json(out);
                }
                out.push(b']');
            }
            Cell::Object(line) => write_object(line, out),
            Cell::Null => {}
        }
    }

    /// TSV: escapes tabs, line ends and backslashes, so that one record stays one line and `cut` works.
    pub fn write_tsv(&self, out: &mut Vec<u8>) {
        match self {
            cell if cell.is_null() => {}
            Cell::Text(s) => escape_tsv(s, out),
            Cell::Time(s) => out.extend_from_slice(&s.to_rfc3339()),
            other => {
                let mut json = Vec::new();
                other.write_json(&mut json);
                escape_tsv(&String::from_utf8_lossy(&json), out);
            }
        }
    }

    pub fn into_owned(self) -> Cell<'static> {
        match self {
            Cell::Null => Cell::Null,
            Cell::Bool(b) => Cell::Bool(b),
            Cell::Int(n) => Cell::Int(n),
            Cell::Float(n) => Cell::Float(n),
            Cell::Text(s) => Cell::Text(Cow::Owned(s.into_owned())),
            Cell::Json(s) => Cell::Json(Cow::Owned(s.into_owned())),
            Cell::Time(s) => Cell::Time(s),
            Cell::List(items) => Cell::List(items.into_iter().map(Cell::into_owned).collect()),
            Cell::Object(line) => Cell::Json(Cow::Owned(object_text(&line))),
        }
    }
}

fn escape_tsv(s: &str, out: &mut Vec<u8>) {
    for b in s.bytes() {
        match b {
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\\' => out.extend_from_slice(b"\\\\"),
            _ => out.push(b),
        }
    }
}

/// Writes `{"a":1,…}` without nulls.
pub fn write_object(line: &[(&str, Cell<'_>)], out: &mut Vec<u8>) {
    write_fields(line.iter(), out);
}

/// Writes some fields of a record as an object, without nulls.
pub fn write_fields<'a, 'c: 'a>(fields: impl Iterator<Item = &'a (&'a str, Cell<'c>)>, out: &mut Vec<u8>) {
    out.push(b'{');
    let mut first = true;
    for (name, cell) in fields.filter(|(_, cell)| !cell.is_null()) {
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
        out.push(b'"');
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\":");
        cell.write_json(out);
    }
    out.push(b'}');
}

fn object_text(line: &[(&str, Cell<'_>)]) -> String {
    let mut out = Vec::new();
    write_object(line, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_omits_unknown_values() {
        let line: Record<'_> = vec![
            ("tool", Cell::text("Ba\"sh\n")),
            ("error", Cell::Null),
            ("timestamp", Cell::Time(Stamp::NONE)),
            ("input", Cell::Json("{\"a\": 1}".into())),
            ("n", Cell::List(vec![Cell::Int(1), Cell::Bool(true)])),
        ];
        assert_eq!(object_text(&line), r#"{"tool":"Ba\"sh\n","input":{"a": 1},"n":[1,true]}"#);
    }

    #[test]
    fn a_tsv_field_never_contains_a_tab_or_a_line_end() {
        let mut out = Vec::new();
        Cell::text("a\tb\nc\\d\r").write_tsv(&mut out);
        assert_eq!(out, b"a\\tb\\nc\\\\d\\r");
    }
}
