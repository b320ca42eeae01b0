//! One sentence of a message, with what can be said about it alone: its cues, its content words, whether it asks.
//!
//! Does not know the other sentences, nor who said it.

use super::cues::{Cues, compile, fold};
use crate::prose::{is_han, split_sentences, strip_list_marker, strip_markup};
use regex::Regex;
use std::collections::BTreeSet;
use std::sync::LazyLock;

#[derive(Clone, Debug)]
pub(crate) struct Sentence {
    /// As written, without markup.
    pub(crate) text: String,
    pub(crate) cues: Cues,
    pub(crate) is_question: bool,
    /// Says nothing beyond politeness, assent or farewell.
    pub(crate) is_small_talk: bool,
    pub(crate) words: Words,
}

/// Content words in lower case: Latin words of three letters and more, and pairs of Han characters.
pub(crate) type Words = BTreeSet<String>;

impl Sentence {
    fn new(text: &str) -> Sentence {
        let text = strip_markup(strip_list_marker(text));
        let folded = fold(&text);
        let (cues, words) = (Cues::find(&folded), content_words(&folded));
        let is_question = is_question(&folded);
        let is_small_talk = !is_question && is_small_talk(&folded, cues, &words);
        Sentence { text, cues, is_question, is_small_talk, words }
    }

    /// Neither a question nor a supposition: its cues are meant.
    pub(crate) fn is_plain(&self) -> bool {
        !self.is_question && !self.cues.has("hypothesis")
    }

    /// A thought that commits to nothing: "maybe we could", "要是用 wasm 呢".
    pub(crate) fn is_supposed(&self) -> bool {
        self.cues.has("hypothesis")
            && !self.cues.has_any(&["from_now", "never", "decide", "must", "always", "no_x"])
    }

    pub(crate) fn len(&self) -> usize {
        self.text.chars().count()
    }
}

/// The sentences of a text that a person or an agent wrote; a semicolon separates them too.
pub(crate) fn parse_sentences(prose: &str) -> Vec<Sentence> {
    let parts = split_sentences(prose).into_iter().flat_map(split_at_semicolons);
    parts.filter(|part| part.chars().any(char::is_alphanumeric)).map(Sentence::new).collect()
}

fn split_at_semicolons(sentence: &str) -> Vec<&str> {
    let (mut parts, mut from) = (Vec::new(), 0);
    for (at, c) in sentence.char_indices() {
        let behind = at + c.len_utf8();
        if c == '；' || c == ';' && sentence[behind..].starts_with(' ') {
            parts.push(sentence[from..behind].trim());
            from = behind;
        }
    }
    parts.push(sentence[from..].trim());
    parts
}

static ASKING: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"[?？]\W*$|(吗|呢|么|没有|如何)[。.！!~ ]*$|^(and |so |but |ok,? |hm+,? |wait,? )?(what|why|how|where|which|who|whose|when|is|are|does|do|did|can|could|should|shall|would|will|has|any|thoughts|wdyt)\b|怎么|为什么|为啥|什么|哪(个|里|些|种|边)|是不是|要不要|能不能|有没有|会不会|多少|咋",
    )
});

/// "what we decided: …" and "不管怎么" do not ask.
static NOT_ASKING: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"^(do (it|that|not|the|both|so)|what (we|i) |when (we|you|the|a|it)\b|which (means|is)|will do|has to|is (fine|ok)|不管|无论|没什么|什么都|怎么都)",
    )
});

fn is_question(folded: &str) -> bool {
    let marked = folded.trim_end_matches(['"', ')', '”', '）', ' ']).ends_with(['?', '？']);
    marked || ASKING.is_match(folded) && !NOT_ASKING.is_match(folded)
}

/// Cues of a statement worth more than its length.
const MEANINGFUL: &[&str] =
    &["always", "never", "from_now", "must", "no_x", "open", "number", "option", "rule_word", "change"];

fn is_small_talk(folded: &str, cues: Cues, words: &Words) -> bool {
    let han = folded.chars().filter(|c| is_han(*c)).count();
    let short = folded.split_whitespace().count() + han / 2 <= 5;
    let polite = cues.has_any(&["chat", "confirm", "task"]);
    short && (polite || words.len() <= 1 && !cues.has_any(&["decide", "verb"])) && !cues.has_any(MEANINGFUL)
}

/// Latin words that say nothing about a subject.
#[rustfmt::skip] // a table
const STOP_WORDS: &[&str] = &[
    "the", "and", "for", "that", "this", "with", "from", "have", "has", "had", "are", "was", "were", "will", "would", "can",
    "could", "should", "not", "but", "you", "your", "our", "their", "they", "them", "its", "it's", "what", "which", "who",
    "how", "why", "when", "where", "then", "than", "there", "here", "just", "also", "only", "all", "any", "some", "one",
    "two", "out", "into", "over", "about", "after", "before", "again", "still", "too", "very", "more", "most", "now", "yes",
    "yeah", "please", "let", "lets", "let's", "use", "get", "got", "make", "want", "need", "don't", "dont", "can't", "i'm",
    "i'll", "we'll", "that's", "thats", "because", "since", "like", "each", "every", "never", "always", "doing", "done",
    "been", "being", "did", "does", "may", "might", "way", "thing", "things", "other", "same", "own", "off", "per", "via",
];

/// Han characters that say nothing about a subject.
const STOP_HAN: &str = "的了是在我你他它们这那就都也还又和与或不没有要会能可把被给对从到用说个一上下里为以及而但所因如果吧吗呢啊么先再";

pub(crate) fn content_words(folded: &str) -> Words {
    let mut words: Words =
        latin_words(folded).filter(|word| !is_stop_word(word)).map(|word| stem(word).to_string()).collect();
    words.extend(han_pairs(folded));
    words
}

fn latin_words(folded: &str) -> impl Iterator<Item = &str> {
    let is_latin = |c: char| c.is_alphanumeric() && !is_han(c) || c == '_' || c == '\'';
    let words = folded.split(move |c: char| !is_latin(c)).map(|word| word.trim_matches(['\'', '_']));
    words.filter(|word| word.len() > 2)
}

fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.contains(&word)
}

fn han_pairs(folded: &str) -> impl Iterator<Item = String> {
    let says_something =
        |(one, next): &(char, char)| [*one, *next].into_iter().all(|c| is_han(c) && !STOP_HAN.contains(c));
    let pairs = folded.chars().zip(folded.chars().skip(1)).filter(says_something);
    pairs.map(|(one, next)| String::from_iter([one, next]))
}

/// A rough stem: inflections of one word meet, and that is enough to compare two messages.
fn stem(word: &str) -> &str {
    let cut = |end: &str| word.strip_suffix(end).filter(|rest| rest.len() > 3);
    cut("ing").or_else(|| cut("ed")).or_else(|| cut("es")).or_else(|| cut("s")).unwrap_or(word)
}

/// The share of `words` that `others` contain, in percent.
pub(crate) fn overlap(words: &Words, others: &Words) -> u8 {
    if words.is_empty() {
        return 0;
    }
    let shared = words.iter().filter(|word| others.contains(*word)).count();
    (shared * 100 / words.len()) as u8
}

/// The same for the content words of a text, most of which are in no query: comparing first spares collecting them.
pub(crate) fn overlap_with_text(words: &Words, folded: &str) -> u8 {
    if words.is_empty() {
        return 0;
    }
    let is_wanted = |word: &&str| words.contains(stem(word)) && !is_stop_word(word);
    let mut shared: BTreeSet<&str> = latin_words(folded).filter(is_wanted).map(stem).collect();
    let wants_han = words.iter().any(|word| word.chars().any(is_han));
    let pairs: Vec<String> = if wants_han { han_pairs(folded).collect() } else { Vec::new() };
    shared.extend(pairs.iter().map(String::as_str).filter(|pair| words.contains(*pair)));
    (shared.len() * 100 / words.len()) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_compared_as_its_words_are() {
        let texts = [
            "We retried caches, doing the retry queue again.",
            "退款队列 uses 两个队列",
            "retries_ 'cache' it's",
            "",
        ];
        for query in ["retry the cache queue", "队列 retrying", "doing", "退款", "", "这个"] {
            let words = content_words(query);
            for text in texts.map(fold) {
                assert_eq!(
                    overlap_with_text(&words, &text),
                    overlap(&words, &content_words(&text)),
                    "{query:?} in {text:?}"
                );
            }
        }
    }

    #[test]
    fn questions_are_recognised_with_and_without_a_question_mark() {
        for (text, asks) in [
            ("what happens behind the alb after 60s", true),
            ("镜像里加 TZ 还是改配置？", true),
            ("那是哪个 key", true),
            ("do it the other way", false),
            ("what we decided stays", false),
            ("use server-sent events", false),
            ("后者。", false),
        ] {
            assert_eq!(parse_sentences(text)[0].is_question, asks, "{text}");
        }
    }

    #[test]
    fn small_talk_is_short_and_decides_nothing() {
        for (text, small) in [
            ("thanks, perfect", true),
            ("收工", true),
            ("好的", true),
            ("yes do it", true),
            ("no more queue experiments", false),
            ("never again", false),
            ("选 2", false),
        ] {
            assert_eq!(parse_sentences(text)[0].is_small_talk, small, "{text}");
        }
    }

    #[test]
    fn inflections_and_pairs_of_han_characters_are_compared() {
        let words = |text: &str| content_words(text);
        assert_eq!(overlap(&words("polling the dashboards"), &words("poll dashboard")), 100);
        assert_eq!(overlap(&words("时区写死"), &words("容器的时区")), 33);
    }
}
