//! Finds what a short answer takes over from the agent: the option chosen ("yeah, the second one"), the alternative of two
//! ("后者"), the question answered.
//!
//! Does not know whether the answer is worth keeping. Takes nothing over after a refusal: a careless join brings the
//! refused option's words into the fact.

use super::cues::{compile, fold};
use super::sentence::parse_sentences;
use super::{MAX_FACT, TakenOver, Talk};
use crate::prose::{is_han, prose_lines, strip_markup};
use record::Role;
use regex::Regex;
use std::sync::LazyLock;

/// Characters of an option that are taken over.
const MAX_OPTION: usize = 110;
/// An answer that is longer speaks for itself.
const MAX_ANSWER: usize = 60;
/// How many turns back a list of options may be.
const REACH: usize = 6;

pub(crate) fn find_taken_over(talk: &Talk, at: usize, piece: &[usize]) -> Option<TakenOver> {
    let turn = &talk.turns[at];
    let sentences = || piece.iter().map(|nth| &turn.sentences[*nth]);
    let length: usize = sentences().map(super::sentence::Sentence::len).sum();
    let chosen = sentences().find_map(|sentence| {
        let place = named_place(&fold(&sentence.text))?;
        find_option(talk, at, place)
    });
    chosen.or_else(|| (length <= MAX_ANSWER).then(|| find_question(talk, at, piece)).flatten()).filter(
        |taken| {
            let takes = taken.text.chars().count() + 3 + length;
            takes <= MAX_FACT
        },
    )
}

/// Which option a sentence names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Counted from 0.
    Nth(usize),
    Last,
}

static PLACES: LazyLock<Vec<(Regex, Place)>> = LazyLock::new(|| {
    let table = [
        (
            r"\b(the )?(first|1st) (one|option|variant|approach|way|is|sounds)\b|\boption (1|a|one)\b|^(1|a)\b[.,)! ]?|第[一1](个|种|条|套|项)|方案 ?[一a1]|前者|\bthe former\b|(选|用|走|按|就) ?(1|a)\b",
            Place::Nth(0),
        ),
        (
            r"\b(the )?(second|2nd) (one|option|variant|approach|way|is|sounds)\b|\boption (2|b|two)\b|^(2|b)\b[.,)! ]?|第[二2](个|种|条|套|项)|方案 ?[二b2]|(选|用|走|按|就) ?(2|b)\b",
            Place::Nth(1),
        ),
        (
            r"\b(the )?(third|3rd) (one|option|variant|approach|way|is|sounds)\b|\boption (3|c|three)\b|^(3|c)\b[.,)! ]?|第[三3](个|种|条|套|项)|方案 ?[三c3]|(选|用|走|按|就) ?(3|c)\b",
            Place::Nth(2),
        ),
        (r"后者|\bthe (latter|last one)\b|最后(一个|那个|一种)", Place::Last),
    ];
    table.into_iter().map(|(pattern, place)| (compile(pattern), place)).collect()
});

static REFUSAL: LazyLock<Regex> = LazyLock::new(|| {
    compile(r"\b(not|no|never|skip|without|except|hate|wrong)\b|不(选|要|用|走|行)|别|算了|否")
});

fn named_place(folded: &str) -> Option<Place> {
    let (found, place) = PLACES.iter().find_map(|(regex, place)| Some((regex.find(folded)?, *place)))?;
    let before = &folded[..found.start()];
    let near: String = before.chars().rev().take(14).collect::<Vec<_>>().into_iter().rev().collect();
    (!REFUSAL.is_match(&near)).then_some(place)
}

fn find_option(talk: &Talk, at: usize, place: Place) -> Option<TakenOver> {
    let agent = (at.saturating_sub(REACH)..at).rev().filter(|turn| talk.turns[*turn].role != Role::User);
    agent.into_iter().find_map(|turn| {
        let message = talk.turns[turn].message;
        let options = list_options(&message.text);
        let option = match place {
            Place::Nth(nth) => options.get(nth),
            Place::Last => options.last(),
        }?;
        (options.len() > 1)
            .then(|| TakenOver { text: shorten_option(option), message_id: message.id.clone() })
    })
}

static ITEM: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(^|[\s：:；;。，,])(\(?[1-5a-dA-D][)）、]|[1-5]\.\s|[A-D]\.\s|[①②③④⑤]|[A-D][：:]|方案 ?[一二三ABCabc123][：:，]?|[一二三]是|[Oo]ption [1-4A-Da-d][:：]?)\s*",
    )
});

/// The options that a message lists: numbered lines, numbers within a sentence, or the sides of an "or".
fn list_options(text: &str) -> Vec<String> {
    let prose = prose_lines(text);
    let items: Vec<(usize, usize)> =
        ITEM.find_iter(&prose).map(|found| (found.start(), found.end())).collect();
    if items.len() > 1 {
        let ends = items.iter().skip(1).map(|(start, _)| *start).chain([prose.len()]);
        return items.iter().zip(ends).map(|((_, from), to)| clean_option(&prose[*from..to])).collect();
    }
    let bullets: Vec<String> = prose
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- ").or_else(|| line.trim().strip_prefix("* ")))
        .map(clean_option)
        .collect();
    if bullets.len() > 1 { bullets } else { split_alternatives(&prose) }
}

static ALTERNATIVES: LazyLock<Regex> =
    LazyLock::new(|| compile(r",? or (should|would|do|shall) |,? or |，?还是|，?或者|；|; |, "));

/// "Poll, server-sent events, or a socket?", "镜像里加 TZ；或者在 SQL 里写".
fn split_alternatives(prose: &str) -> Vec<String> {
    let joins = |text: &str| {
        text.contains(" or ") || text.contains("还是") || text.contains("或者") || text.contains('；')
    };
    let lines: Vec<&str> = prose.lines().filter(|line| joins(line)).collect();
    let Some(line) = lines.last() else { return Vec::new() };
    let sentences = crate::prose::split_sentences(line);
    let Some(sentence) = sentences.into_iter().rev().find(|sentence| joins(sentence)) else {
        return Vec::new();
    };
    let list = sentence.split_once([':', '：']).map_or(sentence, |(_, list)| list);
    ALTERNATIVES.split(list).map(clean_option).filter(|option| !option.is_empty()).collect()
}

fn clean_option(text: &str) -> String {
    let text = strip_markup(text.trim());
    text.trim_matches(|c: char| c.is_whitespace() || "。.，,；;：:?？、-—".contains(c)).to_string()
}

/// The beginning of an option, to the end of a sentence or clause.
fn shorten_option(option: &str) -> String {
    let most = if option.chars().any(is_han) { MAX_OPTION * 2 / 3 } else { MAX_OPTION };
    let end = option.char_indices().nth(most).map_or(option.len(), |(at, _)| at);
    if end == option.len() {
        return option.to_string();
    }
    let cut = option[..end].rfind(['.', '。', '，', ',', '；', ';', ':', '：']).filter(|at| *at > end / 3);
    option[..cut.unwrap_or(end)].trim().to_string()
}

/// The agent's question that a short statement answers.
fn find_question(talk: &Talk, at: usize, piece: &[usize]) -> Option<TakenOver> {
    let turn = &talk.turns[at];
    // An answer comes first in its message, and asks nothing back.
    if piece.first() != Some(&0) || turn.sentences.iter().any(|sentence| sentence.is_question) {
        return None;
    }
    let first = &turn.sentences[0];
    if first.cues.has_any(&["reject", "hypothesis"]) {
        return None;
    }
    let before = talk.reply_before(at)?;
    let message = talk.turns[before].message;
    let sentences = parse_sentences(&prose_lines(&message.text));
    let question = sentences.iter().rev().take(2).find(|sentence| sentence.is_question)?;
    (question.len() <= MAX_OPTION + 30)
        .then(|| TakenOver { text: question.text.clone(), message_id: message.id.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_named_by_its_place() {
        for (text, place) in [
            ("yeah was a joke. go with the second one", Some(Place::Nth(1))),
            ("选 2", Some(Place::Nth(1))),
            ("后者。", Some(Place::Last)),
            ("b, but without the cache", Some(Place::Nth(1))),
            ("第一种吧", Some(Place::Nth(0))),
            ("not the second one", None),
            ("别用 2", None),
            ("the first request fails", None),
        ] {
            assert_eq!(named_place(text), place, "{text}");
        }
    }

    #[test]
    fn options_are_read_from_lists_and_sentences() {
        let listed = "Three shapes:\n\n1. **Plugins.** Each its own package.\n2. **In-tree adapters.** One registry.\n3. A service each";
        assert_eq!(list_options(listed)[1], "In-tree adapters. One registry");
        assert_eq!(
            list_options("可以：1）开 unaligned 先缓解；2）空 user_id 分流；3）加随机后缀")[1],
            "空 user_id 分流"
        );
        assert_eq!(
            list_options("Options: a longer interval, server-sent events, or a WebSocket."),
            ["a longer interval", "server-sent events", "a WebSocket"]
        );
    }
}
