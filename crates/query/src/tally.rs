//! Counts records by kind.
//!
//! Does not keep the records.

use rustc_hash::FxHasher;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

/// Counts records by the values of the given fields. The numbers of records without any of these fields are summed, and
/// values that are not objects, such as filter results, are counted by value.
pub struct Tally {
    by: &'static [&'static str],
    /// By their JSON text: JSON values have no order of their own.
    kinds: BTreeMap<String, (Map<String, Value>, u64)>,
    sums: Map<String, Value>,
    /// How many records had each rate.
    rated: BTreeMap<String, u64>,
    summed: u64,
    pub total: u64,
}

impl Tally {
    pub fn new(by: &'static [&'static str]) -> Tally {
        Tally { by, kinds: BTreeMap::new(), sums: Map::new(), rated: BTreeMap::new(), summed: 0, total: 0 }
    }

    pub fn add(&mut self, record: &Value) {
        self.total += 1;
        match record {
            Value::Object(map) if self.by.iter().any(|name| map.contains_key(*name)) => {
                let field = |name: &&str| ((*name).to_string(), map.get(*name).cloned().unwrap_or_default());
                self.count_kind(self.by.iter().map(field).collect());
            }
            Value::Object(map) => self.sum_numbers(map),
            other => self.count_kind(Map::from_iter([("value".to_string(), other.clone())])),
        }
    }

    fn count_kind(&mut self, kind: Map<String, Value>) {
        let text = kind.values().map(ToString::to_string).collect::<Vec<_>>().join("\t");
        let (key, kind) = if text.len() <= MAX_KIND_BYTES { (text, kind) } else { shorten_kind(&text, kind) };
        self.kinds.entry(key).or_insert((kind, 0)).1 += 1;
    }

    fn sum_numbers(&mut self, map: &Map<String, Value>) {
        self.summed += 1;
        for (name, value) in map.iter().filter(|(_, value)| value.is_number()) {
            let sum = self.sums.entry(name.clone()).or_insert(json!(0));
            *sum = add_numbers(sum, value);
            if name.ends_with("rate") {
                *self.rated.entry(name.clone()).or_default() += 1;
            }
        }
    }

    /// The most frequent kind first, then by name; sums last, in one record.
    pub fn records(&self) -> Vec<Value> {
        let mut kinds: Vec<_> = self.kinds.iter().collect();
        kinds.sort_by(|(a, (_, n)), (b, (_, m))| m.cmp(n).then(a.cmp(b)));
        let mut records: Vec<Value> = kinds.into_iter().map(|(_, (kind, n))| with_count(kind, *n)).collect();
        if self.kinds.is_empty() || self.summed > 0 {
            let mut sums = Map::from_iter([("total_records".to_string(), json!(self.summed))]);
            sums.extend(self.sums.clone());
            for (name, records) in &self.rated {
                sums[name] = average(&self.sums[name], *records);
            }
            records.push(Value::Object(sums));
        }
        records
    }

    /// How often each value of a field occurs, the most frequent first.
    pub fn of_field(&self, name: &str) -> Vec<(String, u64)> {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for (kind, n) in self.kinds.values() {
            if let Some(word) = kind.get(name).and_then(Value::as_str) {
                *counts.entry(word.to_string()).or_default() += n;
            }
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by(|(a, n), (b, m)| m.cmp(n).then(a.cmp(b)));
        counts
    }

    pub fn fields(&self) -> &'static [&'static str] {
        self.by
    }
}

/// A longer kind is stored as its beginning and a hash: counting tool output would otherwise keep all of it in memory.
const MAX_KIND_BYTES: usize = 256;

fn shorten_kind(text: &str, kind: Map<String, Value>) -> (String, Map<String, Value>) {
    let mut hash = FxHasher::default();
    text.hash(&mut hash);
    let cut = |text: &str| text.chars().take(MAX_KIND_BYTES / 2).collect::<String>();
    let shown = |value: Value| match value {
        Value::String(text) if text.len() > MAX_KIND_BYTES / 2 => json!(cut(&text) + "…"),
        Value::Array(_) | Value::Object(_) => json!(cut(&value.to_string()) + "…"),
        other => other,
    };
    let kind = kind.into_iter().map(|(name, value)| (name, shown(value))).collect();
    (format!("{}{:016x}", cut(text), hash.finish()), kind)
}

fn with_count(kind: &Map<String, Value>, n: u64) -> Value {
    let mut record = kind.clone();
    record.insert("count".to_string(), json!(n));
    Value::Object(record)
}

/// The average of rates, which cannot be added up; four digits, as rates have.
fn average(sum: &Value, records: u64) -> Value {
    let average = sum.as_f64().unwrap_or_default() / records.max(1) as f64;
    json!((average * 10_000.0).round() / 10_000.0)
}

/// Adds two numbers; integers stay integers.
fn add_numbers(a: &Value, b: &Value) -> Value {
    match (a.as_i64(), b.as_i64()) {
        (Some(a), Some(b)) => json!(a.saturating_add(b)),
        _ => json!(a.as_f64().unwrap_or_default() + b.as_f64().unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally_lines(by: &'static [&'static str], records: &[Value]) -> Vec<String> {
        let mut tally = Tally::new(by);
        for record in records {
            tally.add(record);
        }
        tally.records().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn kinds_are_counted_and_numbers_summed() {
        let calls = [
            json!({"tool": "Read", "status": "success"}),
            json!({"tool": "Bash", "status": "error"}),
            json!({"tool": "Bash", "status": "error"}),
            json!({"tool": "Bash"}),
        ];
        assert_eq!(
            tally_lines(&["tool", "status"], &calls),
            [
                r#"{"tool":"Bash","status":"error","count":2}"#,
                r#"{"tool":"Bash","status":null,"count":1}"#,
                r#"{"tool":"Read","status":"success","count":1}"#,
            ]
        );
        assert_eq!(
            tally_lines(
                &[],
                &[json!({"file": "a", "reads": 2}), json!({"file": "b", "reads": 3, "rate": 0.5})]
            ),
            [r#"{"total_records":2,"reads":5,"rate":0.5}"#]
        );
        assert_eq!(
            tally_lines(&[], &[json!({"success_rate": 0.5}), json!({"success_rate": 1}), json!({"n": 1})]),
            [r#"{"total_records":3,"success_rate":0.75,"n":1}"#],
            "rates are averaged"
        );
        assert_eq!(
            tally_lines(&["tool"], &[json!("x"), json!("y"), json!("x")]),
            [r#"{"value":"x","count":2}"#, r#"{"value":"y","count":1}"#]
        );
        assert_eq!(tally_lines(&["tool"], &[]), [r#"{"total_records":0}"#]);
        let long = |end: &str| json!("x".repeat(1000) + end);
        let counted = tally_lines(&["tool"], &[long("a"), long("b"), long("a")]);
        let counts: Vec<bool> = counted.iter().map(|line| line.ends_with("x…\",\"count\":2}")).collect();
        assert_eq!(counts, [true, false], "alike at the beginning, and still two: {counted:?}");
    }
}
