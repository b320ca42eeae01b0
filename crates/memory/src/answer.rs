//! Validates a model's response: one JSON object of exactly the requested shape, within its limits, citing only
//! messages that were shown.
//!
//! Repairs nothing: an invalid response is rejected with the reason, so that the request can be retried.

use crate::ask::{
    Ask, MOST_EVIDENCE, MOST_FACT, MOST_FACTS, MOST_NAME, MOST_OF_SYMBOL, MOST_SUMMARY, MOST_TAG, MOST_TAGS,
};
use crate::digest::Digest;
use crate::entry::{By, Finding, Noted, Origin, State};
use crate::order::is_order;
use crate::prose::plain;
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

/// A fact as a model states it; its evidence as message IDs.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    pub text: String,
    pub evidence: Vec<String>,
    pub symbols: Vec<String>,
}

/// Why a response is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    #[error("the response is not the requested JSON object: {0}")]
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
    /// The response as a [`Finding`]. A fact that reads like an instruction, or names an address or command that the
    /// user did not type, awaits review.
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

/// A model's fact is trusted only as far as its evidence: it must cite the user's own words and must not contain an
/// address, path, command or obligation that they do not contain.
fn noted(claim: Claim, digest: &Digest, typed: &str) -> Noted {
    let text = plain(&claim.text);
    let cited = || digest.turns.iter().filter(|message| claim.evidence.contains(&message.id));
    let by_person = cited().any(|message| message.role == Role::User);
    let said_at = cited().map(|message| message.at).max().unwrap_or(Stamp::NONE);
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

/// Words that state an obligation; if the user did not write them, the model added them.
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
        let message =
            |id: &str, role, text: &str| Said { id: id.into(), role, at: Stamp(0), text: text.into() };
        let turns = vec![
            message("aa", Role::User, "we keep pages of 500"),
            message("bb", Role::Assistant, "use --fast"),
        ];
        Digest { turns, ..Digest::default() }
    }

    fn shown() -> Ask {
        ask(&told())
    }

    fn answer(facts: &Value) -> Value {
        json!({"session_name": "Page size", "tags": ["paging"], "summary": "It was kept.", "facts": facts})
    }

    #[test]
    fn a_response_of_the_right_shape_is_accepted() {
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
    fn anything_else_is_rejected_with_a_reason() {
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
            ("Here you are: {}".to_string(), "not the requested JSON object"),
            ("{}".to_string(), "not the requested JSON object"),
            (extra.to_string(), "not the requested JSON object"),
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
    fn instructions_from_a_model_wait_for_review() {
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
