//! What of a model's answer is believed: one JSON object of exactly the shape that was asked for, within its limits, with
//! evidence among what was shown.
//!
//! Repairs nothing: what is not right is said, so that it can be asked again.

use crate::ask::{
    Ask, MOST_EVIDENCE, MOST_FACT, MOST_FACTS, MOST_NAME, MOST_OF_SYMBOL, MOST_SUMMARY, MOST_TAG, MOST_TAGS,
};
use crate::digest::Digest;
use crate::facts::Noted;
use crate::merge::{Finding, Origin};
use crate::order::is_order;
use crate::prose::plain;
use crate::{By, State};
use record::{Role, Stamp};
use serde::Deserialize;

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    pub session_name: String,
    pub tags: Vec<String>,
    pub summary: String,
    pub facts: Vec<Claim>,
}

/// What a model takes for a fact; its evidence as the ids of messages.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    pub text: String,
    pub evidence: Vec<String>,
    pub symbols: Vec<String>,
}

/// Why an answer is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    #[error("the answer is not the JSON object that was asked for: {0}")]
    Shape(String),
    #[error("`{0}` is empty")]
    Empty(&'static str),
    #[error("`{0}` is longer than {1}")]
    Long(&'static str, usize),
    #[error("a fact cites `{0}`, which was not shown")]
    Unshown(String),
    #[error("a fact cites nothing")]
    Unproven,
}

pub fn read_answer(text: &str, ask: &Ask) -> Result<Answer, Why> {
    let mut answer: Answer =
        serde_json::from_str(text.trim()).map_err(|error| Why::Shape(error.to_string()))?;
    fits("session_name", &answer.session_name, MOST_NAME)?;
    fits("summary", &answer.summary, MOST_SUMMARY)?;
    few("tags", answer.tags.len(), MOST_TAGS)?;
    few("facts", answer.facts.len(), MOST_FACTS)?;
    answer.tags.iter().try_for_each(|tag| fits("tags", tag, MOST_TAG))?;
    answer.facts.iter_mut().try_for_each(|claim| prove(claim, ask))?;
    Ok(answer)
}

fn prove(claim: &mut Claim, ask: &Ask) -> Result<(), Why> {
    fits("text", &claim.text, MOST_FACT)?;
    few("evidence", claim.evidence.len(), MOST_EVIDENCE)?;
    few("symbols", claim.symbols.len(), MOST_EVIDENCE)?;
    claim.symbols.iter().try_for_each(|symbol| fits("symbols", symbol, MOST_OF_SYMBOL))?;
    if claim.evidence.is_empty() {
        return Err(Why::Unproven);
    }
    for one in &mut claim.evidence {
        let number = one.strip_prefix('m').and_then(|digits| digits.parse::<usize>().ok());
        let shown = number.and_then(|number| ask.shown.get(number.checked_sub(1)?));
        *one = shown.ok_or_else(|| Why::Unshown(one.clone()))?.clone();
    }
    Ok(())
}

fn fits(name: &'static str, text: &str, most: usize) -> Result<(), Why> {
    match text.chars().count() {
        _ if plain(text).is_empty() => Err(Why::Empty(name)),
        n if n > most => Err(Why::Long(name, most)),
        _ => Ok(()),
    }
}

fn few(name: &'static str, many: usize, most: usize) -> Result<(), Why> {
    if many > most { Err(Why::Long(name, most)) } else { Ok(()) }
}

impl Answer {
    /// As it is remembered. What reads like an order, or names an address or a command that the person did not type, waits
    /// for a person.
    pub fn finding(self, digest: &Digest, ask: &Ask, now: Stamp) -> Finding {
        let facts = self.facts.into_iter().map(|claim| noted(claim, digest, &ask.typed)).collect();
        Finding {
            name: (plain(&self.session_name), By::Model),
            summary: (plain(&self.summary), By::Model),
            tags: self.tags,
            facts,
            ..Finding::of(digest, By::Model, Origin::Model, now)
        }
    }
}

/// A model's fact is trusted no more than what it rests on: the person's own words, and no address, path, command or duty that
/// does not stand in them.
fn noted(claim: Claim, digest: &Digest, typed: &str) -> Noted {
    let text = plain(&claim.text);
    let cited = || digest.turns.iter().filter(|said| claim.evidence.contains(&said.id));
    let by_person = cited().any(|said| said.role == Role::User);
    let said_at = cited().map(|said| said.at).max().unwrap_or(Stamp::NONE);
    let foreign = text
        .split_whitespace()
        .map(|word| word.trim_matches(['(', ')', ',', '.', ':', ';', '`', '"']))
        .any(|word| names_a_place(word) && !typed.contains(word));
    let low = text.to_lowercase();
    let bids = DUTIES.iter().any(|word| low.contains(word) && !typed.to_lowercase().contains(word));
    let doubtful = is_order(&text) || foreign || bids || !by_person;
    let state = if doubtful { State::Review } else { State::Fresh };
    Noted { text, evidence: claim.evidence, symbols: claim.symbols, state, said_at }
}

/// Words that bind somebody; where the person did not use them, a model did.
const DUTIES: &[&str] = &[
    "always", "never", "must", "should", "have to", "clone", "push", "一定", "必须", "永远", "都要", "跑",
    "传到",
];

fn names_a_place(word: &str) -> bool {
    let inside = word.trim_matches('.');
    word.starts_with("--") || inside.contains(['/', '.', '|', '$', '\\'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::ask;
    use crate::digest::Said;
    use serde_json::{Value, json};

    fn told() -> Digest {
        let said = |id: &str, role, text: &str| Said { id: id.into(), role, at: Stamp(0), text: text.into() };
        let turns =
            vec![said("aa", Role::User, "we keep pages of 500"), said("bb", Role::Assistant, "use --fast")];
        Digest { turns, ..Digest::default() }
    }

    fn shown() -> Ask {
        ask(&told())
    }

    fn answer(facts: &Value) -> Value {
        json!({"session_name": "Page size", "tags": ["paging"], "summary": "It was kept.", "facts": facts})
    }

    #[test]
    fn an_answer_of_the_right_shape_is_read() {
        let text =
            answer(&json!([{"text": "Pages have 500 rows", "evidence": ["m1"], "symbols": ["pager.rs"]}]))
                .to_string();
        let read = read_answer(&text, &shown()).unwrap();
        assert_eq!(read.facts[0].evidence, ["aa"]);
        let found = read.finding(&told(), &shown(), Stamp(1));
        assert_eq!(
            (found.name.1, found.origin, found.facts[0].state),
            (By::Model, Origin::Model, State::Fresh)
        );
    }

    #[test]
    fn anything_else_is_refused_and_says_why() {
        let fact = |evidence: Value, text: &str| {
            answer(&json!([{"text": text, "evidence": evidence, "symbols": []}]))
        };
        let long = "x".repeat(2_000);
        let mut extra = answer(&json!([]));
        extra["more"] = json!(1);
        let mut nameless = answer(&json!([]));
        nameless["session_name"] = json!("  ");
        let mut wordy = answer(&json!([]));
        wordy["summary"] = json!(long);
        let mut tagged = answer(&json!([]));
        tagged["tags"] = json!(["a", "b", "c", "d", "e", "f", "g", "h", "i"]);
        for (text, why) in [
            ("Here you are: {}".to_string(), "not the JSON object"),
            ("{}".to_string(), "not the JSON object"),
            (extra.to_string(), "not the JSON object"),
            (nameless.to_string(), "`session_name` is empty"),
            (wordy.to_string(), "`summary` is longer"),
            (tagged.to_string(), "`tags` is longer"),
            (fact(json!(["m3"]), "x").to_string(), "`m3`, which was not shown"),
            (fact(json!(["m0"]), "x").to_string(), "`m0`, which was not shown"),
            (fact(json!(["aa"]), "x").to_string(), "`aa`, which was not shown"),
            (fact(json!([]), "x").to_string(), "cites nothing"),
            (fact(json!(["m1"]), &long).to_string(), "`text` is longer"),
        ] {
            let refused = read_answer(&text, &shown()).unwrap_err().to_string();
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }

    #[test]
    fn what_a_model_would_have_done_waits_for_a_person() {
        for (text, state) in [
            ("Pages have 500 rows", State::Fresh),
            ("Run the installer first", State::Review),
            ("The tool takes --fast", State::Review),
            ("Docs live at https://example.org", State::Review),
            ("Always use tabs", State::Review),
        ] {
            let claim = Claim { text: text.into(), evidence: vec!["aa".into()], symbols: Vec::new() };
            assert_eq!(noted(claim, &told(), &shown().typed).state, state, "{text}");
        }
    }
}
