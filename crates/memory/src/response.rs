//! Validates a model's response: one JSON object of exactly the requested shape, within its limits, citing only
//! messages that were shown.
//!
//! Repairs nothing: an invalid response is rejected with the reason, so that the request can be retried.

use crate::digest::Digest;
use crate::entry::{By, Finding, Kind, NotedFact, Origin, State, Subject};
use crate::instruction::is_instruction;
use crate::prompt::{
    MAX_EVIDENCE, MAX_FACT, MAX_FACTS, MAX_NAME, MAX_SUMMARY, MAX_SYMBOL, MAX_TAG, MAX_TAGS, ModelPrompt,
};
use crate::prose::strip_markup;
use crate::talk::cues::fold;
use crate::talk::sentence::content_words;
use record::{Role, Stamp};
use serde::Deserialize;

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelResponse {
    pub session_name: String,
    pub tags: Vec<String>,
    pub summary: String,
    pub facts: Vec<ClaimedFact>,
}

/// A fact as a model states it; its evidence as message IDs.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimedFact {
    pub text: String,
    pub kind: String,
    pub evidence: Vec<String>,
    /// IDs of known facts that no longer hold because of this one.
    pub replaces: Vec<String>,
    pub symbols: Vec<String>,
}

/// Why a response is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    #[error("the response is not the requested JSON object: {0}")]
    WrongShape(String),
    #[error("`{0}` is empty")]
    Empty(&'static str),
    #[error("`{0}` is longer than {1}")]
    TooLong(&'static str, usize),
    #[error("a fact cites `{0}`, which was not shown")]
    NotShown(String),
    #[error("a fact replaces `{0}`, which was not shown")]
    NotKnown(String),
    #[error("`{0}` is not a kind of fact")]
    NoSuchKind(String),
    #[error("a fact cites nothing")]
    NoEvidence,
}

pub fn parse_response(text: &str, ask: &ModelPrompt) -> Result<ModelResponse, Rejection> {
    let mut answer: ModelResponse =
        serde_json::from_str(text.trim()).map_err(|error| Rejection::WrongShape(error.to_string()))?;
    check_text("session_name", &answer.session_name, MAX_NAME)?;
    check_text("summary", &answer.summary, MAX_SUMMARY)?;
    check_count("tags", answer.tags.len(), MAX_TAGS)?;
    check_count("facts", answer.facts.len(), MAX_FACTS)?;
    answer.tags.iter().try_for_each(|tag| check_text("tags", tag, MAX_TAG))?;
    answer.facts.iter_mut().try_for_each(|claim| resolve_evidence(claim, ask))?;
    Ok(answer)
}

fn resolve_evidence(claim: &mut ClaimedFact, ask: &ModelPrompt) -> Result<(), Rejection> {
    check_text("text", &claim.text, MAX_FACT)?;
    check_count("evidence", claim.evidence.len(), MAX_EVIDENCE)?;
    check_count("symbols", claim.symbols.len(), MAX_EVIDENCE)?;
    claim.symbols.iter().try_for_each(|symbol| check_text("symbols", symbol, MAX_SYMBOL))?;
    if claim.evidence.is_empty() {
        return Err(Rejection::NoEvidence);
    }
    if Kind::from_word(&claim.kind).is_none() {
        return Err(Rejection::NoSuchKind(claim.kind.clone()));
    }
    resolve_numbers(&mut claim.evidence, 'm', &ask.message_ids).map_err(Rejection::NotShown)?;
    resolve_numbers(&mut claim.replaces, 'f', &ask.fact_ids).map_err(Rejection::NotKnown)
}

/// Replaces `m3` by the third ID. Returns the first that was not shown.
fn resolve_numbers(numbered: &mut [String], letter: char, ids: &[String]) -> Result<(), String> {
    for one in numbered {
        let number = one.strip_prefix(letter).and_then(|digits| digits.parse::<usize>().ok());
        let shown = number.and_then(|number| ids.get(number.checked_sub(1)?));
        *one = shown.ok_or_else(|| one.clone())?.clone();
    }
    Ok(())
}

fn check_text(name: &'static str, text: &str, most: usize) -> Result<(), Rejection> {
    match text.chars().count() {
        _ if strip_markup(text).is_empty() => Err(Rejection::Empty(name)),
        n if n > most => Err(Rejection::TooLong(name, most)),
        _ => Ok(()),
    }
}

fn check_count(name: &'static str, many: usize, most: usize) -> Result<(), Rejection> {
    if many > most { Err(Rejection::TooLong(name, most)) } else { Ok(()) }
}

impl ModelResponse {
    /// The response as a [`Finding`]. A fact that reads like an instruction, or names an address or command that the
    /// user did not type, awaits review.
    pub fn into_finding(self, digest: &Digest, ask: &ModelPrompt, now: Stamp) -> Finding {
        let facts = self.facts.into_iter().map(|claim| judge_claim(claim, digest, &ask.typed)).collect();
        Finding {
            name: (strip_markup(&self.session_name), By::Model),
            summary: (strip_markup(&self.summary), By::Model),
            tags: self.tags,
            facts,
            ..Finding::for_digest(digest, By::Model, Origin::Model, now)
        }
    }
}

/// A model's fact is trusted only as far as its evidence: it must cite the user's own words and must not contain an
/// address, path, command or obligation that they do not contain.
fn judge_claim(claim: ClaimedFact, digest: &Digest, typed: &str) -> NotedFact {
    let text = strip_markup(&claim.text);
    let cited = || digest.turns.iter().filter(|message| claim.evidence.contains(&message.id));
    let by_person = cited().any(|message| message.role == Role::User);
    let said_at = cited().map(|message| message.at).max().unwrap_or(Stamp::NONE);
    let foreign = text
        .split_whitespace()
        .map(|word| word.trim_matches(['(', ')', ',', '.', ':', ';', '`', '"']))
        .any(|word| names_place_or_command(word) && !typed.contains(word));
    let low = text.to_lowercase();
    let bids = OBLIGATION_WORDS.iter().any(|word| low.contains(word) && !typed.to_lowercase().contains(word));
    let doubtful = is_instruction(&text) || foreign || bids || !by_person;
    let state = if doubtful { State::Review } else { State::Fresh };
    NotedFact {
        is_by_agent: false,
        subject: Subject { words: content_words(&fold(&text)), reverses: !claim.replaces.is_empty() },
        text,
        evidence: claim.evidence,
        symbols: claim.symbols,
        state,
        stated_at: said_at,
        kind: Kind::from_word(&claim.kind).unwrap_or(Kind::Decision),
        replaces: claim.replaces,
    }
}

/// Words that state an obligation; if the user did not write them, the model added them.
const OBLIGATION_WORDS: &[&str] = &[
    "always", "never", "must", "should", "have to", "clone", "push", "一定", "必须", "永远", "都要", "跑",
    "传到",
];

fn names_place_or_command(word: &str) -> bool {
    let inside = word.trim_matches('.');
    word.starts_with("--") || inside.contains(['/', '.', '|', '$', '\\'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::DigestMessage;
    use crate::prompt::build_prompt;
    use serde_json::{Value, json};

    fn sample_digest() -> Digest {
        let message = |id: &str, role, text: &str| DigestMessage {
            id: id.into(),
            role,
            at: Stamp(0),
            text: text.into(),
        };
        let turns = vec![
            message("aa", Role::User, "we keep pages of 500"),
            message("bb", Role::Assistant, "use --fast"),
        ];
        Digest { turns, ..Digest::default() }
    }

    fn sample_prompt() -> ModelPrompt {
        ModelPrompt { fact_ids: vec!["f-1".into()], ..build_prompt(&sample_digest(), &[]) }
    }

    fn sample_response(facts: &Value) -> Value {
        json!({"session_name": "Page size", "tags": ["paging"], "summary": "It was kept.", "facts": facts})
    }

    #[test]
    fn a_response_of_the_right_shape_is_accepted() {
        let text = sample_response(
            &json!([{"text": "Pages have 500 rows", "kind": "constraint", "evidence": ["m1"], "replaces": ["f1"], "symbols": ["pager.rs"]}]),
        )
        .to_string();
        let read = parse_response(&text, &sample_prompt()).unwrap();
        assert_eq!(read.facts[0].evidence, ["aa"]);
        let found = read.into_finding(&sample_digest(), &sample_prompt(), Stamp(1));
        assert_eq!(
            (found.name.1, found.origin, found.facts[0].state),
            (By::Model, Origin::Model, State::Fresh)
        );
        assert_eq!(
            (found.facts[0].kind, &found.facts[0].replaces[..]),
            (Kind::Constraint, &["f-1".to_string()][..])
        );
    }

    #[test]
    fn anything_else_is_rejected_with_a_reason() {
        let fact = |evidence: Value, text: &str| {
            sample_response(
                &json!([{"text": text, "kind": "rule", "evidence": evidence, "replaces": [], "symbols": []}]),
            )
        };
        let mut replacing = fact(json!(["m1"]), "x");
        replacing["facts"][0]["replaces"] = json!(["f2"]);
        let mut odd = fact(json!(["m1"]), "x");
        odd["facts"][0]["kind"] = json!("hunch");
        let long = "x".repeat(2_000);
        let mut extra = sample_response(&json!([]));
        extra["more"] = json!(1);
        let mut nameless = sample_response(&json!([]));
        nameless["session_name"] = json!("  ");
        let mut wordy = sample_response(&json!([]));
        wordy["summary"] = json!(long);
        let mut tagged = sample_response(&json!([]));
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
            (replacing.to_string(), "replaces `f2`, which was not shown"),
            (odd.to_string(), "`hunch` is not a kind"),
            (fact(json!(["m1"]), &long).to_string(), "`text` is longer"),
        ] {
            let refused = parse_response(&text, &sample_prompt()).unwrap_err().to_string();
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
            let claim = ClaimedFact {
                text: text.into(),
                kind: "rule".into(),
                evidence: vec!["aa".into()],
                replaces: Vec::new(),
                symbols: Vec::new(),
            };
            assert_eq!(judge_claim(claim, &sample_digest(), &sample_prompt().typed).state, state, "{text}");
        }
    }
}
