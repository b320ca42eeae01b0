//! What of a model's answer about a type is taken: one JSON object of the shape that was asked for, within its limits; merged, section
//! by section, with what was there.
//!
//! Repairs nothing: what is not right is said, so that it can be asked again.

use super::text::{SECTIONS, Sections};
use serde::Deserialize;

/// The longest that one section may be, in characters.
pub const LONGEST: usize = 900;

/// What a model said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Said {
    /// The note stands as it is.
    NoChange,
    /// The sections that it gave.
    Sections(Sections),
}

/// Why an answer is not taken.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Why {
    #[error("the answer is not the JSON object that was asked for: {0}")]
    Shape(String),
    #[error("`{0}` is missing")]
    Missing(&'static str),
    #[error("`{0}` is longer than {LONGEST} characters")]
    Long(&'static str),
    #[error("it says that nothing changes, and what does")]
    Both,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Answer {
    role: Option<String>,
    lifecycle: Option<String>,
    edge_cases: Option<String>,
    limitations: Option<String>,
    recommendations: Option<String>,
    no_change: Option<bool>,
}

/// Reads an answer to a first question, or to one about a note that is there.
pub fn read_said(text: &str, update: bool) -> Result<Said, Why> {
    let Answer { role, lifecycle, edge_cases, limitations, recommendations, no_change } =
        serde_json::from_str(text.trim()).map_err(|error| Why::Shape(error.to_string()))?;
    let told = [role, lifecycle, edge_cases, limitations, recommendations];
    let mut sections = Sections::new();
    for ((section, _, name), told) in SECTIONS.iter().zip(told) {
        let told = told.filter(|told| !told.trim().is_empty());
        if told.as_ref().is_some_and(|told| told.chars().count() > LONGEST) {
            return Err(Why::Long(name));
        }
        if told.is_none() && !update {
            return Err(Why::Missing(name));
        }
        sections.extend(told.map(|told| (*section, told)));
    }
    match (update && no_change == Some(true), sections.is_empty()) {
        (true, true) => Ok(Said::NoChange),
        (true, false) => Err(Why::Both),
        (false, true) => Err(Why::Missing("no_change")),
        (false, false) => Ok(Said::Sections(sections)),
    }
}

/// What is new in the place of what was; what was not mentioned stays.
pub fn merged(before: &Sections, said: Sections) -> Result<Sections, Why> {
    let mut all = before.clone();
    all.extend(said);
    let missing =
        SECTIONS.iter().find(|(section, ..)| all.get(section).is_none_or(|text| text.trim().is_empty()));
    missing.map_or(Ok(all), |(_, _, name)| Err(Why::Missing(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::note::Section;
    use serde_json::{Value, json};

    fn whole() -> Value {
        json!({"role": "a", "lifecycle": "b", "edge_cases": "c", "limitations": "d", "recommendations": "e"})
    }

    fn with(field: &str, value: Value) -> String {
        let mut answer = whole();
        answer[field] = value;
        answer.to_string()
    }

    #[test]
    fn a_first_answer_has_all_sections() {
        let Ok(Said::Sections(sections)) = read_said(&whole().to_string(), false) else { panic!() };
        assert_eq!((sections.len(), sections[&Section::Limitations].as_str()), (5, "d"));
        for (text, why) in [
            ("Here it is: {}".to_string(), "not the JSON object"),
            ("{}".to_string(), "`role` is missing"),
            (with("limitations", json!(null)), "`limitations` is missing"),
            (with("role", json!("  ")), "`role` is missing"),
            (with("role", json!("x".repeat(LONGEST + 1))), "`role` is longer"),
            (with("role", json!(["x"])), "not the JSON object"),
            (with("command", json!("rm")), "not the JSON object"),
            (json!({"no_change": true}).to_string(), "`role` is missing"),
        ] {
            let refused = read_said(&text, false).unwrap_err().to_string();
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }

    #[test]
    fn a_later_answer_has_what_changes_or_says_that_nothing_does() {
        let none = json!({"no_change": true, "role": null});
        assert_eq!(read_said(&none.to_string(), true), Ok(Said::NoChange));
        let one = json!({"no_change": false, "role": "new", "lifecycle": null});
        assert_eq!(
            read_said(&one.to_string(), true),
            Ok(Said::Sections([(Section::Role, "new".to_string())].into()))
        );
        for (text, why) in
            [("{}", Why::Missing("no_change")), (r#"{"no_change":true,"role":"x"}"#, Why::Both)]
        {
            assert_eq!(read_said(text, true), Err(why), "{text}");
        }
    }

    #[test]
    fn only_what_was_mentioned_is_replaced() {
        let Ok(Said::Sections(before)) = read_said(&whole().to_string(), false) else { panic!() };
        let after = merged(&before, [(Section::Role, "new".to_string())].into()).unwrap();
        assert_eq!((after[&Section::Role].as_str(), after[&Section::Lifecycle].as_str()), ("new", "b"));
        assert_eq!(merged(&Sections::new(), after.clone()), Ok(after));
        let half = [(Section::Role, "new".to_string())].into();
        assert_eq!(merged(&Sections::new(), half), Err(Why::Missing("lifecycle")));
    }
}
