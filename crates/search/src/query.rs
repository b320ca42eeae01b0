//! A query as the caller states it, and the words that are looked up for it.
//!
//! Does not know whether a word occurs in the index.

use crate::fold::is_cjk;
use crate::schema::Part;
use crate::token::{Kind, Scratch, Tokens};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::LazyLock;

/// Where a match counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    Content,
    Title,
    #[default]
    Both,
}

/// Whose text is searched. Titles are controlled by the scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    pub person: bool,
    pub assistant: bool,
    pub tool: bool,
    pub client: bool,
    pub system: bool,
    /// Output of Loci itself.
    pub echo: bool,
}

impl Default for Parts {
    fn default() -> Parts {
        Parts { person: true, assistant: true, tool: true, client: true, system: true, echo: false }
    }
}

/// A search request. `Query::new` sets the product's defaults.
pub struct Query<'a> {
    /// One or several phrases; a chat that matches any of them is found.
    pub intents: Vec<String>,
    /// Every word must occur somewhere in the chat.
    pub match_all: bool,
    /// Nearly equal words match as well, with less weight.
    pub fuzzy: bool,
    /// Words that occur nowhere are taken for misspelt: nearly equal words match in their place.
    pub correct: bool,
    /// Related words match as well, with less weight.
    pub expand: bool,
    /// Chats in which one of these occurs are excluded; several words must occur in one message.
    pub exclude: Vec<String>,
    /// Skip words that occur in very many messages: they cost most and do not distinguish conversations. A query of
    /// only such words finds nothing.
    pub skip_common: bool,
    pub scope: Scope,
    pub parts: Parts,
    /// Milliseconds, both inclusive.
    pub from: Option<i64>,
    pub to: Option<i64>,
    /// Messages of the index that are among the extra ones in their current form.
    pub replaced: Option<&'a dyn Fn(u64) -> bool>,
    /// Chats that may be found; all if not set.
    pub allowed: Option<&'a dyn Fn(u32) -> bool>,
    pub limit_chats: usize,
    pub limit_hits_per_chat: usize,
    /// Reads the text of a message. Without it phrases are not verified and `expand` learns nothing.
    pub text: Option<&'a dyn Fn(u64) -> Option<String>>,
}

impl Query<'_> {
    pub fn new(intent: &str) -> Query<'static> {
        Query {
            intents: vec![intent.to_owned()],
            match_all: false,
            fuzzy: false,
            correct: false,
            expand: false,
            exclude: Vec::new(),
            skip_common: false,
            scope: Scope::Both,
            parts: Parts::default(),
            from: None,
            to: None,
            replaced: None,
            allowed: None,
            limit_chats: 10,
            limit_hits_per_chat: 3,
            text: None,
        }
    }

    pub(crate) fn searches_part(&self, part: Part) -> bool {
        match part {
            Part::Title => self.scope != Scope::Content,
            _ if self.scope == Scope::Title => false,
            Part::Person => self.parts.person,
            Part::Assistant => self.parts.assistant,
            Part::Tool => self.parts.tool,
            Part::Client => self.parts.client,
            Part::System => self.parts.system,
            Part::Echo => self.parts.echo,
        }
    }

    pub(crate) fn in_time(&self, at: i64) -> bool {
        self.from.is_none_or(|from| from <= at) && self.to.is_none_or(|to| at <= to)
    }
}

/// A term of the index that counts as a word, with its weight.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Form {
    pub(crate) term: String,
    pub(crate) weight: f32,
}

/// A word that is looked up: its term in the index, and other terms that count as it.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    pub(crate) forms: Vec<Form>,
    pub(crate) kind: Kind,
    /// Its weight among the words of the query.
    pub(crate) weight: f32,
    /// The index of the phrase it belongs to.
    pub(crate) intent: usize,
    /// The run of characters it was typed in: the parts of an identifier, the pairs of a Chinese sentence.
    pub(crate) unit: usize,
    /// Whether it was not typed, but is related to a typed word.
    pub(crate) related: bool,
}

/// The words of a query that were searched, for snippets and for display.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    pub(crate) words: Vec<Word>,
    pub(crate) intents: usize,
    pub(crate) plain: bool,
}

/// A part of an identifier weighs less than the identifier, and a pair of characters less than a word.
const PART_WEIGHT: f32 = 0.5;
const PAIR_WEIGHT: f32 = 0.7;

static STOP_WORDS: LazyLock<FxHashSet<&'static str>> = LazyLock::new(|| {
    let lines = include_str!("stopwords.txt").lines().filter(|line| !line.starts_with('#'));
    lines.flat_map(str::split_whitespace).collect()
});

pub(crate) fn is_stop(word: &str) -> bool {
    STOP_WORDS.contains(word)
}

/// The weight of a related word relative to the typed one.
const RELATED_WEIGHT: f32 = 0.5;

impl Terms {
    pub fn new<S: AsRef<str>>(intents: &[S]) -> Terms {
        Terms::from_phrases(intents, false)
    }

    /// `plain`: for an index without stems.
    pub(crate) fn from_phrases<S: AsRef<str>>(intents: &[S], plain: bool) -> Terms {
        let mut terms = Terms { words: Vec::new(), intents: intents.len(), plain };
        for (at, intent) in intents.iter().enumerate() {
            let (mut words, stop): (Vec<_>, Vec<_>) =
                parse_words(intent.as_ref(), at, plain).into_iter().partition(|(_, stop)| !stop);
            if words.is_empty() {
                words = stop; // "what is it" consists of stop words only
            }
            terms.words.extend(words.into_iter().map(|(word, _)| word));
        }
        terms
    }

    /// Every word of a phrase, including stop words: `out of memory` is not `memory`.
    pub(crate) fn from_literal(phrase: &str, plain: bool) -> Terms {
        let words = parse_words(phrase, 0, plain).into_iter().map(|(word, _)| word).collect();
        Terms { words, intents: 1, plain }
    }

    /// The terms that are looked up, in the order they were typed.
    pub fn typed_terms(&self) -> Vec<String> {
        let mut seen = FxHashSet::default();
        let first = self.words.iter().filter(|word| !word.related).filter_map(|word| word.forms.first());
        first.filter(|form| seen.insert(&form.term)).map(|form| form.term.clone()).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Adds related words for a phrase of the query. For a single word they become further forms of it; for several
    /// words, or for a word that was not typed, they become words of their own.
    pub(crate) fn add_related(&mut self, intent: usize, phrase: &str, others: &[String]) {
        let phrase: Vec<String> = whole_terms(phrase, self.plain);
        let known = self.words.iter().position(|word| {
            phrase.len() == 1 && word.intent == intent && !word.related && word.forms[0].term == phrase[0]
        });
        let mut single = Vec::new();
        for other in others {
            let terms = whole_terms(other, self.plain);
            match &terms[..] {
                [] => {}
                [term] => single.push(Form { term: term.clone(), weight: 1.0 }),
                _ => self.words.extend(terms.iter().map(|term| {
                    let form = Form { term: term.clone(), weight: 1.0 };
                    Word::new_related(vec![form], intent, RELATED_WEIGHT / terms.len() as f32)
                })),
            }
        }
        single.retain(|form| !phrase.contains(&form.term));
        match known {
            Some(at) => {
                let forms = &mut self.words[at].forms;
                single.retain(|form| forms.iter().all(|known| known.term != form.term));
                forms.extend(single.into_iter().map(|form| Form { weight: RELATED_WEIGHT, ..form }));
            }
            None if !single.is_empty() => self.words.push(Word::new_related(single, intent, RELATED_WEIGHT)),
            None => {}
        }
    }

    /// The words that each term of the index counts as.
    pub(crate) fn by_term(&self) -> FxHashMap<&str, Vec<(usize, f32)>> {
        let mut found: FxHashMap<&str, Vec<(usize, f32)>> = FxHashMap::default();
        for (at, word) in self.words.iter().enumerate() {
            for form in &word.forms {
                found.entry(&form.term).or_default().push((at, form.weight));
            }
        }
        found
    }
}

impl Word {
    fn new_related(forms: Vec<Form>, intent: usize, weight: f32) -> Word {
        Word { forms, kind: Kind::Word, weight, intent, unit: usize::MAX, related: true }
    }
}

/// The phrases between quotation marks, as they are compared.
pub fn quoted_phrases(intent: &str) -> Vec<String> {
    let inside = intent.split('"').skip(1).step_by(2).map(fold_text);
    inside.filter(|phrase| !phrase.is_empty()).collect()
}

/// In lower case and with single spaces.
pub fn fold_text(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// The number of words in a phrase that are not stop words.
pub fn content_words(phrase: &str) -> usize {
    parse_words(phrase, 0, false).iter().filter(|(_, stop)| !stop).count()
}

/// The terms of a phrase, without the parts of identifiers.
fn whole_terms(phrase: &str, plain: bool) -> Vec<String> {
    let mut scratch = Scratch::without_stems(plain);
    let mut tokens = Tokens::new(phrase, &mut scratch);
    let mut found = Vec::new();
    while let Some(token) = tokens.advance() {
        if token.kind != Kind::Piece {
            found.push(token.text.to_owned());
        }
    }
    found
}

/// The words of a phrase, each once, and whether it is a stop word.
fn parse_words(intent: &str, at: usize, plain: bool) -> Vec<(Word, bool)> {
    let mut found: Vec<(Word, bool)> = Vec::new();
    let mut scratch = Scratch::without_stems(plain);
    let mut tokens = Tokens::new(intent, &mut scratch);
    let (mut unit, mut end) = (0, 0);
    while let Some(token) = tokens.advance() {
        if token.place.start >= end || (token.kind == Kind::Cjk && token.place.start + 12 < end) {
            unit += 1;
        }
        end = end.max(token.place.end);
        let typed = &intent[token.place.clone()];
        let raw = typed.to_lowercase();
        let stop = STOP_WORDS.contains(raw.as_str());
        let forms = word_forms(token.text, &raw, token.kind);
        if found.iter().any(|(known, _)| known.forms[0] == forms[0]) {
            continue;
        }
        let weight = match token.kind {
            Kind::Piece => PART_WEIGHT,
            Kind::Cjk if typed.chars().count() > 1 => PAIR_WEIGHT,
            _ => 1.0,
        };
        found.push((Word { forms, kind: token.kind, weight, intent: at, unit, related: false }, stop));
    }
    found
}

/// The stem, and the word as typed: an identifier as a whole is indexed without stemming.
fn word_forms(term: &str, raw: &str, kind: Kind) -> Vec<Form> {
    let mut forms = vec![Form { term: term.to_owned(), weight: 1.0 }];
    if kind == Kind::Word && raw != term && raw.chars().all(char::is_alphanumeric) {
        forms.push(Form { term: raw.to_owned(), weight: 1.0 });
    }
    forms
}

/// A single CJK character is indexed only where it occurs alone; elsewhere it is found within pairs.
pub(crate) fn is_single_cjk(word: &Word) -> bool {
    let mut chars = word.forms[0].term.chars();
    matches!((chars.next(), chars.next()), (Some(only), None) if is_cjk(only))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_split_into_terms() {
        let cases: &[(&str, &[&str])] = &[
            ("What did Caroline research?", &["carolin", "research"]),
            ("what is it", &["what", "is", "it"]),
            ("getUserById getUserById", &["getuserbyid", "user", "id"]),
            ("虚拟列表 怎么", &["虚拟", "拟列", "列表"]),
        ];
        for (text, terms) in cases {
            assert_eq!(Terms::new(&[text]).typed_terms(), *terms, "{text}");
        }
    }
}
