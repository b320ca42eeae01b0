//! The declarations of a file as another parser lists them, and what follows from the laws of the hashes if they differ.
//!
//! Does not know what Loci reports.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The declarations of one version of a file.
#[derive(Default)]
pub(super) struct Declarations {
    pub(super) unreadable: bool,
    /// Overloads share a name.
    by_name: BTreeMap<Key, Vec<Declaration>>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    owner: String,
    name: String,
    is_type: bool,
}

#[derive(Clone, PartialEq, Eq)]
struct Declaration {
    visibility: String,
    structure: String,
    behaviour: String,
    doc: String,
}

impl Declaration {
    fn is_private(&self) -> bool {
        self.visibility == "private"
    }
}

/// From the deepest to the shallowest.
pub(super) const CLASSES: [&str; 5] = ["Structure", "PublicBehavior", "Internal", "Docs", "Cosmetic"];

/// What a report must say about a declaration.
pub(super) struct Expected {
    /// The types around it, without the module.
    pub(super) owner: String,
    pub(super) name: String,
    pub(super) is_type: bool,
    /// `Added`, `Removed` or `Changed`.
    fate: &'static str,
    class: &'static str,
}

impl Expected {
    /// Whether the words of a report say so. The class of a type is that of its deepest change, so it may be deeper; another kind of
    /// type, or a member with another kind, is removed and added.
    pub(super) fn accepts(&self, words: &str) -> bool {
        let (class, fate) = words.split_once(' ').unwrap_or((words, ""));
        let rank = |class: &str| CLASSES.iter().position(|it| *it == class);
        match self.fate {
            "Changed" if self.is_type => rank(class).is_none_or(|found| Some(found) <= rank(self.class)),
            "Changed" => class == self.class,
            // the type around it was added or removed as well
            wanted => class == wanted || fate == wanted && class == self.class,
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{} should be {} {}", self.owner, self.name, self.class, self.fate)
    }
}

pub(super) fn parse_all(printed: &str) -> Result<BTreeMap<usize, Declarations>, String> {
    let mut found: BTreeMap<usize, Declarations> = BTreeMap::new();
    for line in printed.lines() {
        let row: Value = serde_json::from_str(line).map_err(|error| format!("{error}: {line}"))?;
        let file = found.entry(row["file"].as_u64().unwrap_or_default() as usize).or_default();
        if row["unreadable"] == true {
            file.unreadable = true;
            continue;
        }
        let text = |field: &str| row[field].as_str().unwrap_or_default().to_owned();
        let key = Key { owner: text("owner"), name: text("name"), is_type: row["kind"] == "type" };
        let declaration = Declaration {
            visibility: text("visibility"),
            structure: text("structure"),
            behaviour: text("behaviour"),
            doc: doc_words(&text("doc")),
        };
        file.by_name.entry(key).or_default().push(declaration);
    }
    Ok(found)
}

/// A formatter may wrap documentation.
fn doc_words(doc: &str) -> String {
    doc.split(|c: char| c.is_whitespace() || c == '*' || c == '/')
        .filter(|it| !it.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

pub(super) fn expected_changes(before: &Declarations, after: &Declarations) -> Vec<Expected> {
    let keys: BTreeSet<&Key> = before.by_name.keys().chain(after.by_name.keys()).collect();
    let of = |all: &Declarations, key: &Key| all.by_name.get(key).cloned().unwrap_or_default();
    let change = |key: &Key| {
        let (fate, class) = compare_overloads(&of(before, key), &of(after, key))?;
        let Key { owner, name, is_type } = key.clone();
        Some(Expected { owner, name, is_type, fate, class })
    };
    keys.into_iter().filter_map(change).collect()
}

/// The fate and the class of what has one name.
fn compare_overloads(old: &[Declaration], new: &[Declaration]) -> Option<(&'static str, &'static str)> {
    if old.is_empty() || new.is_empty() {
        let fate = if old.is_empty() { "Added" } else { "Removed" };
        return Some((fate, class_of_unpaired(&[old, new].concat())));
    }
    let only = |in_one: &[Declaration], other: &[Declaration]| -> Vec<Declaration> {
        in_one.iter().filter(|it| !other.contains(it)).cloned().collect()
    };
    let (gone, come) = (only(old, new), only(new, old));
    match (gone.len(), come.len()) {
        (0, 0) if old.len() == new.len() => None,
        (0, 0) => Some(("Changed", class_of_unpaired(old))),
        (one, other) if one == other => {
            let classes = gone.iter().zip(&come).map(|(old, new)| compare_pair(old, new));
            let deepest = classes.min_by_key(|class| CLASSES.iter().position(|it| it == class));
            deepest.map(|class| ("Changed", class))
        }
        _ => Some(("Changed", class_of_unpaired(&[gone, come].concat()))),
    }
}

fn class_of_unpaired(all: &[Declaration]) -> &'static str {
    if all.iter().all(Declaration::is_private) { "Internal" } else { "Structure" }
}

fn compare_pair(old: &Declaration, new: &Declaration) -> &'static str {
    let is_private = old.is_private() && new.is_private();
    let is_public = [old, new].iter().any(|it| it.visibility == "public");
    if (&old.structure, &old.visibility) != (&new.structure, &new.visibility) {
        if is_private { "Internal" } else { "Structure" }
    } else if old.behaviour != new.behaviour {
        if is_public { "PublicBehavior" } else { "Internal" }
    } else {
        "Docs"
    }
}

#[cfg(test)]
mod tests {
    use super::{expected_changes, parse_all};

    fn row(file: u32, name: &str, visibility: &str, texts: [&str; 3]) -> String {
        let [structure, behaviour, doc] = texts;
        format!(
            "{{\"file\":{file},\"owner\":\"A\",\"name\":\"{name}\",\"kind\":\"function\",\"visibility\":\"{visibility}\",\"structure\":\"{structure}\",\"behaviour\":\"{behaviour}\",\"doc\":\"{doc}\"}}"
        )
    }

    /// The lines that the laws give for one declaration before and after.
    fn judged(rows: &[String]) -> Vec<String> {
        let found = parse_all(&rows.join("\n")).unwrap_or_default();
        let none = super::Declarations::default();
        let side = |number| found.get(&number).unwrap_or(&none);
        expected_changes(side(0), side(1)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_deepest_difference_decides() {
        let pair = |visibility, after| {
            judged(&[row(0, "f", visibility, ["s", "b", "d"]), row(1, "f", visibility, after)])
        };
        assert_eq!(pair("public", ["s", "b", "d"]), [""; 0]);
        assert_eq!(pair("public", ["t", "c", "e"]), ["A.f should be Structure Changed"]);
        assert_eq!(pair("public", ["s", "c", "e"]), ["A.f should be PublicBehavior Changed"]);
        assert_eq!(pair("internal", ["s", "c", "e"]), ["A.f should be Internal Changed"]);
        assert_eq!(pair("private", ["t", "c", "e"]), ["A.f should be Internal Changed"]);
        assert_eq!(pair("public", ["s", "b", "e"]), ["A.f should be Docs Changed"]);
        assert_eq!(judged(&[row(1, "f", "private", ["s", "b", "d"])]), ["A.f should be Internal Added"]);
        assert_eq!(judged(&[row(0, "f", "public", ["s", "b", "d"])]), ["A.f should be Structure Removed"]);
    }

    #[test]
    fn a_changed_overload_is_compared_with_itself() {
        let rows = [
            row(0, "f", "public", ["s", "b", ""]),
            row(0, "f", "private", ["t", "b", ""]),
            row(1, "f", "public", ["s", "b", ""]),
            row(1, "f", "private", ["t", "c", ""]),
        ];
        assert_eq!(judged(&rows), ["A.f should be Internal Changed"]);
    }

    #[test]
    fn a_report_may_be_deeper_for_a_type_only() {
        let function = &judged_expectation("function");
        assert!(function.accepts("PublicBehavior Changed") && !function.accepts("Structure Changed"));
        assert!(!function.accepts("Cosmetic Changed"));
        let of_type = &judged_expectation("type");
        assert!(of_type.accepts("Structure") && !of_type.accepts("Cosmetic"));
    }

    fn judged_expectation(kind: &str) -> super::Expected {
        let rows = [row(0, "f", "public", ["s", "b", ""]), row(1, "f", "public", ["s", "c", ""])];
        let rows = rows.map(|row| row.replace("\"function\"", &format!("\"{kind}\"")));
        let found = parse_all(&rows.join("\n")).unwrap_or_default();
        expected_changes(&found[&0], &found[&1]).remove(0)
    }
}
