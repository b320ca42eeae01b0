//! Detects references in Chinese: a time, with an action or a result in the same clause. `上次提交` is a commit and `循环之前`
//! a position before a loop; `上次聊的` is a session.
//!
//! Does not know the words: they are in the tables of `words`.

use crate::reference::{ANY, Cue, Time, month_ago};
use crate::words::{
    ZH_DEEDS, ZH_EMPTY, ZH_LAST, ZH_LEADS, ZH_MATTERS, ZH_MECHANICAL, ZH_PHRASES, ZH_PRODUCTS, ZH_SOFT,
    ZH_TIMES,
};

/// Characters after a time in which an action or result belongs to it.
const REACH: usize = 16;
/// The same between `那个` and a result.
const WIDE: usize = 24;
/// The same between a month and an action: `9月份聊的`.
const MONTHLY: usize = 4;
/// Not accepted as actions after an ambiguous time word: `之前怎么没报错` is a complaint.
const VAGUE: &[&str] = &["怎么", "为什么", "帮我"];
const ALIKE: &[&str] = &["一样", "那样"];

pub(crate) fn find_cue(lower: &str, today: (i64, i64)) -> Option<Cue> {
    let month = named_month(lower, today);
    let cue = |plain| Cue { time: month.clone(), plain };
    let firm = |word: &str| texts_after(lower, word).any(|rest| is_firm(rest, ZH_LAST.contains(&word)));
    if let Some((word, from, to)) = ZH_TIMES.iter().find(|(word, ..)| firm(word)) {
        let time = (*to < ANY).then(|| Time::new(word, (*from, *to)));
        return Some(Cue { time: time.or(month), plain: true });
    }
    let in_month = || {
        month.is_some()
            && texts_after(lower, "月").any(|rest| contains_any(clause_prefix(rest, MONTHLY), ZH_DEEDS))
    };
    if ZH_PHRASES.iter().any(|phrase| lower.contains(phrase)) || in_month() {
        return Some(cue(true));
    }
    for word in ZH_SOFT {
        if let Some(plain) = lower.match_indices(word).find_map(|(at, _)| judge_soft_time(lower, word, at)) {
            return Some(cue(plain));
        }
    }
    texts_after(lower, "那个").any(|rest| ends_in_product(clause_prefix(rest, WIDE))).then(|| cue(false))
}

/// The rest of the text after each occurrence of a word.
fn texts_after<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = &'t str> {
    text.match_indices(word).map(|(at, word)| &text[at + word.len()..])
}

/// The rest of the clause, up to `many` characters.
fn clause_prefix(rest: &str, many: usize) -> &str {
    let end = rest.find(['，', ',', '。', '、', '：', ':', '\n']).unwrap_or(rest.len());
    let rest = &rest[..end];
    let mut left = many * 2;
    let mut latin = false;
    for (at, c) in rest.char_indices() {
        // A Latin word of any length counts as two characters.
        let cost = if c.is_ascii() { 4 * usize::from(!latin && c.is_ascii_alphanumeric()) } else { 2 };
        latin = c.is_ascii();
        if cost > left {
            return &rest[..at];
        }
        left -= cost;
    }
    rest
}

fn contains_any(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.contains(word))
}

fn is_mechanical(rest: &str) -> bool {
    let rest = rest.trim_start();
    ZH_MECHANICAL.iter().any(|word| rest.starts_with(word))
}

/// Whether an explicit time refers to a session. `last`: the word alone means the last session, unless a machine action
/// follows.
fn is_firm(rest: &str, last: bool) -> bool {
    let near = clause_prefix(rest, REACH);
    if is_mechanical(near) {
        return last && (ends_in_product(near) || contains_any(near, &["那个问题", "那次"]));
    }
    let near = clause_prefix(rest, REACH);
    last || contains_any(near, ZH_DEEDS)
        || contains_any(near, ZH_PRODUCTS)
        || contains_any(near, ZH_MATTERS)
        || contains_any(near, ALIKE)
}

fn ends_in_product(near: &str) -> bool {
    ZH_PRODUCTS.iter().any(|product| near.contains(&format!("的{product}")))
}

/// An ambiguous time word refers to the past at the beginning of a clause or after a leading word. Some(true): explicitly.
fn judge_soft_time(text: &str, word: &str, at: usize) -> Option<bool> {
    let clause = text[..at]
        .rsplit(['，', ',', '。', '、', '：', ':', '\n', '？', '?'])
        .next()
        .unwrap_or("")
        .trim_end();
    let lead = ZH_LEADS.iter().find(|lead| clause.ends_with(**lead));
    let near = clause_prefix(&text[at + word.len()..], REACH);
    let clear = |deed: &&&str| word == "当时" || !VAGUE.contains(*deed);
    // `日期之前定的` is as clear as `之前定的日期`.
    let at_once = ZH_DEEDS.iter().filter(clear).any(|deed| near.starts_with(deed));
    if (!clause.is_empty() && lead.is_none() && !at_once) || is_mechanical(near) {
        return None;
    }
    let done = ZH_DEEDS.iter().filter(clear).any(|deed| near.contains(deed));
    if !done && !contains_any(near, ZH_PRODUCTS) && !contains_any(near, &["那次", "那个"]) {
        return None;
    }
    let ours =
        lead.is_some_and(|lead| ["我们", "咱们", "跟你", "和你"].contains(lead)) || near.starts_with("我们");
    Some(ours)
}

/// A named month: `三月` or `9月`.
fn named_month(text: &str, today: (i64, i64)) -> Option<Time> {
    const NUMBERS: &[&str] = &["十二", "十一", "十", "九", "八", "七", "六", "五", "四", "三", "二", "一"];
    let before = text[..text.find('月')?].trim_end();
    if before.ends_with('个') {
        return None;
    }
    let written = NUMBERS.iter().position(|word| before.ends_with(word));
    let digits = &before[before.trim_end_matches(|c: char| c.is_ascii_digit()).len()..];
    let (word, month) = match written {
        Some(at) => (NUMBERS[at], 12 - at as i64),
        None => (digits, digits.parse().ok()?),
    };
    (1..=12).contains(&month).then(|| Time::new(&format!("{word}月"), month_ago(month, today)))
}

/// A pair of characters that is this many times rarer than both neighbouring pairs spans a word boundary.
const RARITY_FACTOR: u64 = 4;

/// Inserts spaces between words, based on the pair frequencies of the index. A pair that spans two words is rare and
/// meaningless, but would get the highest weight. Single characters are dropped: `改` is in every other message.
pub fn split_words(text: &str, frequency: &dyn Fn(&str) -> u64) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let chars: Vec<char> = text.chars().collect();
    for run in chars.chunk_by(|a, b| is_han(*a) == is_han(*b)) {
        match run {
            [first, ..] if !is_han(*first) => out.extend(run),
            [_] => out.push(' '),
            _ => split_run(run, frequency, &mut out),
        }
    }
    out
}

fn split_run(run: &[char], frequency: &dyn Fn(&str) -> u64, out: &mut String) {
    let pairs: Vec<u64> = run.windows(2).map(|pair| frequency(&pair.iter().collect::<String>())).collect();
    let mut begun = 0;
    for (at, c) in run.iter().enumerate() {
        let border = at >= begun + 2
            && run.len() - at >= 2
            && pairs[at - 1] * RARITY_FACTOR < pairs[at - 2].min(pairs[at]);
        if border {
            out.push(' ');
            begun = at;
        }
        out.push(*c);
    }
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}')
}

/// Whether a prompt contains Chinese characters, which decides the language of its card. Punctuation does not count.
pub fn has_han(prompt: &str) -> bool {
    prompt.chars().any(is_han)
}

/// The text without words that only refer back.
pub(crate) fn remove_referring_words(text: &str) -> String {
    let times = ZH_TIMES.iter().map(|(word, ..)| *word);
    let all = times.chain(ZH_PHRASES.iter().copied()).chain(ZH_EMPTY.iter().copied());
    all.fold(text.to_string(), |text, word| if text.contains(word) { text.replace(word, " ") } else { text })
}

#[cfg(test)]
mod tests {
    use super::split_words;

    #[test]
    fn a_rare_pair_between_common_pairs_is_a_word_boundary() {
        let known = |pair: &str| match pair {
            "限流" | "流器" | "日志" => 90,
            "太多" | "志太" | "虚拟" | "拟列" | "列表" => 40,
            _ => 1,
        };
        for (text, parts) in [
            ("限流器日志太多", "限流器 日志太多"),
            ("虚拟列表", "虚拟列表"),
            ("改 React 限流器", "  React 限流器"),
            ("围棋引擎", "围棋引擎"),
        ] {
            assert_eq!(split_words(text, &known), parts, "{text}");
        }
    }
}
