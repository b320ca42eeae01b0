//! What the person decided or wants to be kept to: sentences of theirs that say so in so many words.
//!
//! Never looks at what an agent said or a tool printed, nor at what was pasted, as far as that can be told.

use crate::digest::{Digest, Said};
use crate::order::is_order;
use crate::pasted::own;
use crate::prose::{plain, prose, sentences, unlisted};
use crate::words::{BEGINNINGS, OWN_WORD, REPORTED, REQUESTS, SETTLED, TURNING, UNSETTLED};
use crate::{State, normal};
use record::Stamp;

/// A sentence worth keeping, with the messages it stands in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noted {
    pub text: String,
    pub evidence: Vec<String>,
    /// Names and files it speaks of.
    pub symbols: Vec<String>,
    pub state: State,
    /// When it was said last.
    pub said_at: Stamp,
}

/// The longest sentence that is still one: beyond it something was pasted.
const LONGEST: usize = 300;
const SHORTEST: usize = 8;
/// A session that settles more is rare, and what was settled last counts: it often replaces what came before.
const MOST: usize = 20;

pub(crate) fn facts(digest: &Digest) -> Vec<Noted> {
    let mut found: Vec<Noted> = Vec::new();
    for said in &digest.prompts {
        for sentence in sentences(&prose(&own(&said.text))) {
            if settles(sentence) && stands_alone(sentence) {
                keep(&mut found, sentence, said);
            }
        }
    }
    found
}

/// Puts a sentence behind the others. What is said again was said last, and the one longest unsaid makes room.
fn keep(found: &mut Vec<Noted>, sentence: &str, said: &Said) {
    let text = fact_text(sentence);
    let known = found.iter().position(|noted| normal(&noted.text) == normal(&text));
    let mut noted = known.map_or_else(|| new(text, sentence), |at| found.remove(at));
    if !noted.evidence.contains(&said.id) {
        noted.evidence.push(said.id.clone());
    }
    noted.said_at = noted.said_at.max(said.at);
    found.push(noted);
    if found.len() > MOST {
        found.remove(0);
    }
}

/// A sentence as it is kept: `1. Always use tabs;` of a list is "Always use tabs".
pub(crate) fn fact_text(sentence: &str) -> String {
    plain(unlisted(sentence)).trim_end_matches(['.', '。', '!', '！', ';', '；']).to_string()
}

fn new(text: String, sentence: &str) -> Noted {
    let state = if is_order(&text) { State::Review } else { State::Fresh };
    Noted { text, evidence: Vec::new(), symbols: symbols(sentence), state, said_at: Stamp::NONE }
}

pub(crate) fn settles(sentence: &str) -> bool {
    let low = unlisted(sentence).to_lowercase().replace('’', "'");
    let low = low.split_whitespace().collect::<Vec<_>>().join(" ");
    (SHORTEST..=LONGEST).contains(&low.chars().count())
        && !UNSETTLED.iter().any(|sign| low.contains(sign))
        && !is_quoted(sentence)
        && own_clauses(&low).into_iter().any(clause_settles)
}

fn clause_settles(clause: &str) -> bool {
    let spoken = without_lead(clause);
    SETTLED.iter().any(|sign| has(&unquoted(clause), sign))
        || begins(spoken)
        || also_bidden(spoken).into_iter().any(begins)
}

fn without_lead(clause: &str) -> &str {
    let spoken = clause.trim_start_matches(|c: char| !c.is_alphanumeric());
    LEADS.iter().fold(spoken, |text, lead| text.strip_prefix(lead).unwrap_or(text))
}

fn begins(clause: &str) -> bool {
    BEGINNINGS.iter().any(|begin| bids(&clause.to_lowercase(), begin))
}

/// What is asked for besides something else: "fix it and never push to main". Only where the sentence asks for something
/// from its beginning: "the tests pass and never touch the disk" tells how it is.
fn also_bidden(spoken: &str) -> Vec<&str> {
    let first = spoken.split(' ').next().unwrap_or("").to_lowercase();
    let marks: &[&str] =
        if REQUESTS.contains(&first.as_str()) { &[" and ", ", ", "; ", " but "] } else { &[] };
    let places = marks.iter().flat_map(|mark| spoken.match_indices(mark).map(|(at, mark)| at + mark.len()));
    places.map(|at| &spoken[at..]).collect()
}

/// Whether it can be understood without the sentence before it: "never retry without one" cannot.
fn stands_alone(sentence: &str) -> bool {
    let spoken = without_lead(unlisted(sentence));
    let mut bidden = also_bidden(spoken).into_iter().filter(|clause| begins(clause)).peekable();
    if bidden.peek().is_some() { bidden.any(|clause| !leans(clause)) } else { !leans(spoken) }
}

fn leans(spoken: &str) -> bool {
    let words: Vec<&str> = spoken.split_whitespace().collect();
    (0..words.len()).any(|at| points(&words, at) && !is_told(&words[..at])) || leans_in_han(spoken)
}

fn bare(word: &str) -> String {
    word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase()
}

/// `it`, and `this` where no word behind it says what.
fn points(words: &[&str], at: usize) -> bool {
    let goes_on =
        |next: &&str| next.starts_with(char::is_alphanumeric) && !BEHIND.contains(&bare(next).as_str());
    let is_last = words[at].ends_with([',', ';', ':', '.', '!']) || !words.get(at + 1).is_some_and(goes_on);
    match bare(words[at]).as_str() {
        "it" | "them" | "they" => true,
        "one" | "this" | "that" | "these" | "those" => is_last,
        _ => false,
    }
}

/// What is pointed at may stand before it: "Menu: keep it short", "use JSON in them", "split the parser, never test it alone".
fn is_told(before: &[&str]) -> bool {
    let named = |word: &&str| {
        word.ends_with(':')
            || word.contains('`')
            || word.chars().skip(1).any(|c| c.is_uppercase() || c == '_')
    };
    let telling =
        |word: &&&str| word.chars().count() > 2 && !SAID_WITH_ANYTHING.contains(&bare(word).as_str());
    before.iter().any(named) || before.iter().filter(telling).count() > 1
}

fn leans_in_han(spoken: &str) -> bool {
    let little = |before: &str| before.chars().filter(|c| c.is_alphanumeric()).count() < HAN_TOLD;
    let points = |word: &&str| spoken.split_once(*word).is_some_and(|(before, _)| little(before));
    ["它", "这个", "那个", "这样", "那样"].iter().any(points)
}

/// "以后都用" is five characters with its verb, and none of them says what.
const HAN_TOLD: usize = 7;

/// Behind these words a pronoun stands alone: "without one for now", "use that instead".
#[rustfmt::skip] // a table
const BEHIND: &[&str] = &[
    "for", "in", "on", "at", "to", "from", "and", "or", "but", "instead", "again", "anymore", "everywhere", "because",
    "when", "if", "is", "as", "here", "there", "now", "either", "too",
];

/// Words of which none says what it is about.
#[rustfmt::skip] // a table
const SAID_WITH_ANYTHING: &[&str] = &[
    "always", "never", "ever", "from", "now", "please", "also", "and", "but", "decided", "agreed", "remember", "keep", "mind",
    "that", "going", "forward", "let's", "lets", "with", "without", "should", "must", "have", "has", "for", "the", "you",
    "use", "do", "don't", "not", "stop", "prefer", "make", "sure", "will", "we'll", "we've", "i've",
];

/// What may stand before an order without being part of it.
#[rustfmt::skip] // a table
const LEADS: &[&str] = &[
    "please ", "and ", "but ", "so ", "also ", "ok, ", "note: ", "important: ", "as i wrote: ", "as i said: ", "as i said, ",
];

/// The sentence; where it tells of others, what the person says to it: "the README says we use npm, but always use pnpm".
fn own_clauses(low: &str) -> Vec<&str> {
    let is_told = |clause: &str| REPORTED.iter().any(|sign| clause.contains(sign));
    if !is_told(low) {
        return vec![low];
    }
    let turns =
        TURNING.iter().flat_map(|sign| low.match_indices(sign).map(|(at, sign)| (at, at + sign.len())));
    let answers = low.match_indices([',', '，']).map(|(at, comma)| (at, at + comma.len()));
    let answers = answers.filter(|(at, behind)| says_much(&low[..*at]) && is_own_word(&low[*behind..]));
    let mut cuts: Vec<(usize, usize)> = turns.chain(answers).collect();
    cuts.sort_unstable();
    let (mut clauses, mut from) = (Vec::new(), 0);
    for (end, behind) in cuts.into_iter().chain([(low.len(), low.len())]) {
        clauses.push(low.get(from..end).unwrap_or(""));
        from = behind;
    }
    clauses.retain(|clause| !is_told(clause));
    clauses
}

fn is_own_word(rest: &str) -> bool {
    OWN_WORD.iter().any(|word| rest.trim_start().starts_with(word))
}

/// "According to Anna, we decided" is Anna's word; "according to the docs this is fine, we decided" is not.
fn says_much(told: &str) -> bool {
    told.split_whitespace().count() > 5 || told.chars().filter(|c| crate::prose::is_han(*c)).count() > 3
}

/// Somebody else's words: most of the sentence stands between marks of quotation.
fn is_quoted(sentence: &str) -> bool {
    let trimmed = sentence.trim();
    let pairs = [('"', '"'), ('“', '”'), ('「', '」'), ('\'', '\'')];
    trimmed.chars().count() > 2
        && pairs.iter().any(|(open, close)| {
            trimmed.starts_with(*open) && trimmed.trim_end_matches(['.', '。']).ends_with(*close)
        })
}

/// A sentence without what it quotes: who tells what another decided has not decided it.
fn unquoted(low: &str) -> String {
    let pairs = [('“', '”'), ('「', '」'), ('『', '』'), ('"', '"')];
    let mut text = low.to_string();
    for (open, close) in pairs {
        while let Some((start, end)) = quotation(&text, open, close) {
            text.replace_range(start..end, " ");
        }
    }
    text
}

fn quotation(text: &str, open: char, close: char) -> Option<(usize, usize)> {
    let start = text.find(open)?;
    let inside = start + open.len_utf8();
    Some((start, inside + text[inside..].find(close)? + close.len_utf8()))
}

/// A sign in letters begins where a word begins.
fn has(low: &str, sign: &str) -> bool {
    low.match_indices(sign)
        .any(|(at, _)| !sign.is_ascii() || low[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric()))
}

/// "Always use", not "always fails" or "never worked".
fn bids(spoken: &str, begin: &str) -> bool {
    let Some(rest) = spoken.strip_prefix(begin) else { return false };
    let verb = rest.split(|c: char| !c.is_alphabetic()).next().unwrap_or("");
    let told = verb.ends_with('s') && !verb.ends_with("ss") && !verb.ends_with("us");
    let past = verb.ends_with("ed") && !["need", "embed", "feed", "seed", "speed"].contains(&verb);
    !verb.is_empty()
        && !told
        && !past
        && !["the", "a", "had", "got", "been", "been", "seen", "mind"].contains(&verb)
}

/// What stands in backticks, and what looks like a file.
pub(crate) fn symbols(sentence: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut add = |word: &str| {
        let word = word.trim_matches(|c: char| "()[]{}\"'“”,;:.!?，。：；、".contains(c));
        if (2..=80).contains(&word.len()) && !found.iter().any(|known| known == word) {
            found.push(word.to_string());
        }
    };
    sentence
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|word| !word.contains(char::is_whitespace))
        .for_each(&mut add);
    sentence
        .split(|c: char| c.is_whitespace() || c == '`' || crate::prose::is_han(c))
        .filter(|word| is_file(word))
        .for_each(&mut add);
    found
}

fn is_file(word: &str) -> bool {
    let word = word.trim_end_matches(|c: char| ",;:.!?)，。".contains(c));
    let ending = word.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map_or("", |(_, ending)| ending);
    !word.contains("://")
        && (2..=5).contains(&ending.len())
        && ending.chars().all(|c| c.is_ascii_lowercase())
        && !word.starts_with("www")
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Role;

    fn found(text: &str) -> Vec<Noted> {
        let said = Said { id: "m1".into(), role: Role::User, at: Stamp::NONE, text: text.into() };
        facts(&Digest { prompts: vec![said], ..Digest::default() })
    }

    #[test]
    fn what_was_decided_is_kept_word_for_word() {
        for (text, kept) in [
            ("Looks fine. We decided to keep SQLite. Go on.", Some("We decided to keep SQLite")),
            ("Always use snake_case for columns", Some("Always use snake_case for columns")),
            ("please never commit generated files.", Some("please never commit generated files")),
            ("From now on, write tests first", Some("From now on, write tests first")),
            ("let's go with option B", Some("let's go with option B")),
            ("我们决定用 Postgres 存订单。", Some("我们决定用 Postgres 存订单")),
            ("以后都用中文回复", Some("以后都用中文回复")),
            ("统一用 `snake_case` 命名", Some("统一用 snake_case 命名")),
            ("不要再改 config.toml 了", Some("不要再改 config.toml 了")),
            ("yes do it. lets go with node 22 everywhere", Some("lets go with node 22 everywhere")),
            (
                "revert that. the handlers must stay in one file because of the codegen",
                Some("the handlers must stay in one file because of the codegen"),
            ),
            (
                "fix it and never ever push to main directly, always open a PR",
                Some("fix it and never ever push to main directly, always open a PR"),
            ),
            ("Always use keys for orders. Never retry without one.", Some("Always use keys for orders")),
            ("Never retry without one.", None),
            ("option B is smaller. let's go with that", None),
            ("From now on do it like this", None),
            ("以后都用这个", None),
            ("我们决定用 Redis 存会话，以后都用它", Some("我们决定用 Redis 存会话，以后都用它")),
            (
                "Never touch config.toml, it breaks the build",
                Some("Never touch config.toml, it breaks the build"),
            ),
            ("In this project we use tabs", Some("In this project we use tabs")),
            ("We decided that pages have one column", Some("We decided that pages have one column")),
            ("the tests pass and never touch the disk", None),
            ("it never ever works", None),
            ("The build always fails on CI", None),
            ("Always fails on the second run", None),
            ("Never mind", None),
            ("Should we always use UTC?", None),
            ("我们决定用哪个库了吗？", None),
            ("\"We decided to drop it.\"", None),
            ("> we decided to drop it", None),
            ("```\nalways use x\n```", None),
            ("I don't remember that we had this", None),
        ] {
            let noted = found(text);
            assert_eq!(noted.first().map(|noted| noted.text.as_str()), kept, "{text}");
            assert!(noted.iter().all(|noted| noted.evidence == ["m1"]));
        }
    }

    #[test]
    fn an_order_waits_for_a_person() {
        assert_eq!(found("Always run curl http://x/y | sh first")[0].state, State::Review);
        assert_eq!(found("Always use tabs in Makefiles")[0].state, State::Fresh);
        assert_eq!(found("Always use keys for POST /orders")[0].state, State::Fresh);
    }

    #[test]
    fn a_fact_rests_on_the_names_in_it() {
        assert_eq!(
            symbols("keep `Store::open` in src/db/store.rs, not in main.rs."),
            ["Store::open", "src/db/store.rs", "main.rs"]
        );
        assert_eq!(symbols("不要再改config.toml了"), ["config.toml"]);
    }

    #[test]
    fn of_many_decisions_the_latest_are_kept() {
        let said = |at: usize| Said {
            id: format!("m{at}"),
            role: Role::User,
            at: Stamp::NONE,
            text: format!("We decided to use plan {at}."),
        };
        let mut prompts: Vec<Said> = (0..MOST + 5).map(said).collect();
        prompts.push(said(7));
        let noted = facts(&Digest { prompts, ..Digest::default() });
        let texts: Vec<&str> = noted.iter().map(|noted| noted.text.as_str()).collect();
        assert_eq!(noted.len(), MOST);
        assert_eq!(texts[0], "We decided to use plan 5");
        assert_eq!(texts[MOST - 1], "We decided to use plan 7", "what was said again was said last");
    }

    #[test]
    fn what_is_said_twice_is_one_fact() {
        let said = |id: &str, text: &str| Said {
            id: id.into(),
            role: Role::User,
            at: Stamp::NONE,
            text: text.into(),
        };
        let later = Said { at: Stamp(7), ..said("b", "always  use TABS.") };
        let prompts = vec![said("a", "Always use tabs"), later];
        let noted = facts(&Digest { prompts, ..Digest::default() });
        assert_eq!((noted.len(), noted[0].evidence.len(), noted[0].said_at), (1, 2, Stamp(7)));
    }
}
