//! Detects references in English: who did what, and when.
//!
//! Does not know the words: they are in the tables of `split_words`.

use crate::reference::{Cue, Time, month_ago};
use crate::words::{
    COMMON_DEEDS, DEEDS, EMPTY, MONTHS, NOT_ASKED, NUMBERS, PHRASES, PRODUCTS, SOFT, TIMES, UNITS, WHO,
};
use std::ops::Range;

/// A named time: its position among the words, and its range in days before today.
struct NamedTime {
    place: Range<usize>,
    days: (f64, f64),
}

/// Maximum distance in words of an action from its subject ("we also finally fixed"), and of a result from its time.
const REACH: usize = 3;

pub(crate) fn find_cue(lower: &str, today: (i64, i64)) -> Option<Cue> {
    let words = split_words(lower);
    let time = find_time(&words, today);
    let named = time.as_ref().map(|time| Time::new(&words[time.place.clone()].join(" "), time.days));
    let cue = |plain| Cue { time: named, plain };
    let remembers = words.first() == Some(&"remember") && lower.trim_end().ends_with('?');
    if remembers
        || asks_about_past(&words)
        || PHRASES.iter().any(|phrase| find_phrase(&words, phrase).is_some())
    {
        return Some(cue(true));
    }
    let deed = find_action(&words);
    if let Some(time) = &time {
        let firm = deed.is_some() || has_product(&words, &time.place);
        return firm.then(|| cue(true));
    }
    let at = deed.filter(|at| !COMMON_DEEDS.contains(&words[*at]))?;
    let who = &words[..at];
    let ours = who.iter().rev().take(REACH).any(|word| word.starts_with("we"));
    let earlier = words
        .iter()
        .enumerate()
        .any(|(n, word)| SOFT.contains(word) && words.get(n + 1).is_none_or(|next| !WHO.contains(next)));
    let pointed = ours && who.iter().any(|word| matches!(*word, "that" | "the" | "those"));
    (earlier || pointed).then(|| cue(false))
}

fn split_words(lower: &str) -> Vec<&str> {
    let cores = lower.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    cores.map(|word| word.strip_suffix("'s").unwrap_or(word)).filter(|word| !word.is_empty()).collect()
}

fn find_phrase(words: &[&str], phrase: &str) -> Option<usize> {
    let phrase: Vec<&str> = phrase.split(' ').collect();
    words.windows(phrase.len()).position(|window| window == phrase)
}

fn find_time(words: &[&str], today: (i64, i64)) -> Option<NamedTime> {
    let listed = TIMES.iter().find_map(|(phrase, from, to)| {
        let at = find_phrase(words, phrase)?;
        Some(NamedTime { place: at..at + phrase.split(' ').count(), days: (*from, *to) })
    });
    listed.or_else(|| counted_time(words)).or_else(|| in_month(words, today))
}

/// `three weeks ago`, `2 days ago`.
fn counted_time(words: &[&str]) -> Option<NamedTime> {
    let at = words.windows(3).position(|three| three[2] == "ago" && days_in_unit(three[1]).is_some())?;
    let unit = days_in_unit(words[at + 1])?;
    let known = NUMBERS.iter().find(|(word, _)| *word == words[at]).map(|(_, number)| *number);
    let number = known.or_else(|| words[at].parse().ok()).filter(|number| (1.0..1000.0).contains(number))?;
    let slack = unit * 0.5 + 1.5;
    Some(NamedTime { place: at..at + 3, days: ((number * unit - slack).max(0.0), number * unit + slack) })
}

fn days_in_unit(word: &str) -> Option<f64> {
    UNITS.iter().find(|(name, _)| *name == word).map(|(_, days)| *days)
}

/// `in March`, `from March`; the name of a month alone is ambiguous.
fn in_month(words: &[&str], today: (i64, i64)) -> Option<NamedTime> {
    let month = |word: &str| MONTHS.iter().position(|month| *month == word);
    let at = words
        .windows(2)
        .position(|two| matches!(two[0], "in" | "from" | "since") && month(two[1]).is_some())?;
    let month = month(words[at + 1])? as i64 + 1;
    Some(NamedTime { place: at..at + 2, days: month_ago(month, today) })
}

/// `why did we go with`: a question about our own past action.
fn asks_about_past(words: &[&str]) -> bool {
    words
        .windows(3)
        .any(|three| matches!(three[0], "did" | "had") && three[1] == "we" && !NOT_ASKED.contains(&three[2]))
}

/// The position of an action by a participant: `we also fixed`.
fn find_action(words: &[&str]) -> Option<usize> {
    let behind = |from: usize| (from..words.len().min(from + REACH)).find(|at| DEEDS.contains(&words[*at]));
    (0..words.len()).filter(|at| WHO.contains(&words[*at])).find_map(|at| behind(at + 1))
}

/// `the plan from last week`, `last week's fix`.
fn has_product(words: &[&str], time: &Range<usize>) -> bool {
    let joined = time.start > 0 && matches!(words[time.start - 1], "from" | "of");
    let before = words[..time.start].iter().rev().skip(1).take(REACH);
    // `last time the session expired` is about the session, not about a result.
    let owns = !matches!(words[time.end - 1], "time" | "then");
    let after = words[time.end..].iter().take(REACH).filter(|_| owns);
    after.chain(before.filter(|_| joined)).any(|word| PRODUCTS.contains(word))
}

/// The words that name the subject, as typed.
pub(crate) fn subject_words(text: &str) -> String {
    let lower = text.to_lowercase();
    let typed: Vec<&str> = text.split_whitespace().map(trim_word).filter(|word| !word.is_empty()).collect();
    let plain: Vec<&str> = lower.split_whitespace().map(trim_word).filter(|word| !word.is_empty()).collect();
    if typed.len() != plain.len() {
        return text.to_string();
    }
    let time = find_time(&split_words(&lower), (1, 1)).map(|named| named.place).unwrap_or_default();
    let kept = (0..typed.len()).filter(|at| !time.contains(at) && !EMPTY.contains(&plain[*at]));
    kept.map(|at| typed[at]).collect::<Vec<_>>().join(" ")
}

fn trim_word(word: &str) -> &str {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    word.strip_suffix("'s").unwrap_or(word)
}
