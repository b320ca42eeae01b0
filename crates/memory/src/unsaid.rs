//! What a person wants to hear no more of, taken out of other words: of a name, a summary, or of what they are made from.
//!
//! Knows a forgotten fact by its id alone, a hash: whoever says the same in other words is not understood.

use crate::digest::Digest;
use crate::name::of_nothing;
use crate::prose::sentences;
use crate::{fact_id, normal};
use std::collections::BTreeSet;

/// A run of fewer letters than this is no quotation: "sqlite" alone gives nothing away.
const FEWEST: usize = 8;

impl Digest {
    /// As if the sentences that were forgotten had never been said: neither a name nor a summary is made of them, and no
    /// model is told.
    #[must_use]
    pub fn without(mut self, forgotten: &BTreeSet<String>) -> Digest {
        let texts = self.prompts.iter().chain(&self.turns).map(|said| said.text.as_str());
        let texts = texts.chain([self.last_reply.as_str()]).chain(self.commits.iter().map(String::as_str));
        let unsaid: Vec<String> =
            texts.flat_map(|text| forgotten_in(text, &self.project, forgotten)).collect();
        if unsaid.is_empty() {
            return self;
        }
        self.titles.retain(|(title, _)| !carries(title, &unsaid));
        self.commits.retain(|commit| !carries(commit, &unsaid));
        self.last_reply = taken_out(&self.last_reply, &unsaid, "");
        for said in self.prompts.iter_mut().chain(&mut self.turns) {
            said.text = taken_out(&said.text, &unsaid, "");
        }
        self
    }
}

/// The sentences of a text, and what is quoted in it, of which the ids were forgotten.
pub(crate) fn forgotten_in(text: &str, project: &str, forgotten: &BTreeSet<String>) -> Vec<String> {
    if forgotten.is_empty() {
        return Vec::new();
    }
    let is_forgotten = |piece: &&str| forgotten.contains(&fact_id(project, piece));
    let quoted = || text.split(['“', '”', '\n']).flat_map(sentences);
    let whole = sentences(text).into_iter().chain(quoted());
    whole.filter(is_forgotten).map(String::from).collect()
}

/// Whether a name is made of such words: it is often only a part of the sentence, or a few words of it in another order.
pub(crate) fn carries(name: &str, unsaid: &[String]) -> bool {
    unsaid.iter().any(|words| {
        let (there, words_letters) = (letters(name), letters(words));
        let (_, run) = longest_run(&there, &words_letters);
        run >= needed(there.len()) || run >= needed(words_letters.len()) || shares_words(name, words)
    })
}

/// Two thirds of what a name says: "Parser kept in pages" of "keep the parser in pages".
fn shares_words(name: &str, words: &str) -> bool {
    let (name, words) = (normal(name), normal(words));
    let said: Vec<&str> = name.split(' ').filter(|word| word.chars().count() >= 4).collect();
    let shared = said.iter().filter(|word| words.split(' ').any(|other| other == **word)).count();
    shared > 0 && shared * 3 >= said.len() * 2
}

/// A text without such words, and `left` where they stood.
pub(crate) fn taken_out(text: &str, unsaid: &[String], left: &str) -> String {
    unsaid.iter().fold(text.to_string(), |text, words| without_words(text, words, left))
}

fn without_words(mut text: String, words: &str, left: &str) -> String {
    let words = letters(words);
    loop {
        let there = letters(&text);
        let (from, run) = longest_run(&there, &words);
        if run < needed(words.len()) {
            return text;
        }
        let (start, end) = whole_words(&text, there[from].1, there[from + run - 1].2);
        text.replace_range(start..end, left);
    }
}

/// Two thirds of the sentence: its end may be cut off, and a path in it may have become the name of a file.
fn needed(letters: usize) -> usize {
    (letters * 2 / 3).max(FEWEST.min(letters)).max(1)
}

/// Up to where the words at both ends begin and end, with the mark that ends a sentence.
fn whole_words(text: &str, start: usize, end: usize) -> (usize, usize) {
    let is_word = |c: char| c.is_ascii_alphanumeric();
    let before = text[..start].trim_end_matches(is_word).len();
    let start = if text[start..].starts_with(is_word) { before } else { start };
    let rest = &text[end..];
    let rest = if text[..end].ends_with(is_word) { rest.trim_start_matches(is_word) } else { rest };
    let rest = rest.trim_start_matches(['.', '。', '!', '！', '…']);
    (start, text.len() - rest.len())
}

/// Letters and digits in lower case, with where they begin and end.
fn letters(text: &str) -> Vec<(char, usize, usize)> {
    let low = |c: char| c.to_lowercase().next().unwrap_or(c);
    let all = text.char_indices().filter(|(_, c)| c.is_alphanumeric());
    all.map(|(at, c)| (low(c), at, at + c.len_utf8())).collect()
}

/// The longest run of letters that stands in both: where it begins in the first, and how long it is.
fn longest_run(a: &[(char, usize, usize)], b: &[(char, usize, usize)]) -> (usize, usize) {
    let (mut best, mut row) = ((0, 0), vec![0_usize; b.len() + 1]);
    for (at, (here, ..)) in a.iter().enumerate() {
        // From the back, so that what stands before is still that of the letter before.
        for other in (0..b.len()).rev() {
            row[other + 1] = if b[other].0 == *here { row[other] + 1 } else { 0 };
            if row[other + 1] > best.1 {
                best = (at + 1 - row[other + 1], row[other + 1]);
            }
        }
    }
    best
}

/// What a session is called when its name has to go and nothing is there to make another of.
pub(crate) fn nameless(source: &str, project: &str, started_at: record::Stamp) -> String {
    of_nothing(&Digest {
        source: source.to_string(),
        project: project.to_string(),
        started_at,
        ..Digest::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Said;
    use crate::{By, derive};
    use record::{Role, Stamp};

    const FACT: &str = "We decided to keep SQLite for the orders";

    #[test]
    fn words_are_taken_out_however_they_are_written() {
        for (text, left) in [
            (
                "The user said: “We decided to keep SQLite for the orders. Go on”.",
                "The user said: “… Go on”.",
            ),
            ("so we DECIDED to keep `SQLite` for the orders!", "so …"),
            ("“We decided to keep SQLite for the…”", "“…”"),
            ("We keep SQLite here", "We keep SQLite here"),
            ("Orders are in a table", "Orders are in a table"),
        ] {
            assert_eq!(taken_out(text, &[FACT.to_string()], "…"), left);
        }
        let han = ["我们决定用 Postgres 存订单".to_string()];
        assert_eq!(taken_out("好的，我们决定用Postgres存订单。继续", &han, "…"), "好的，…继续");
    }

    #[test]
    fn a_name_that_is_a_part_of_them_carries_them() {
        for (name, carried) in [
            ("Keep SQLite for the orders", true),
            ("We decided to keep SQLite for the orders, then test", true),
            ("Keep the parser fast", false),
            ("SQLite", true),
            ("Orders and their pages", false),
            ("SQLite kept for orders", true),
        ] {
            assert_eq!(carries(name, &[FACT.to_string()]), carried, "{name}");
        }
    }

    #[test]
    fn a_session_is_told_as_if_it_had_not_been_said() {
        let said = |text: &str| Said { id: "m".into(), role: Role::User, at: Stamp::NONE, text: text.into() };
        let prompts = vec![said(&format!("{FACT}. Now write the pager")), said("add a test for the pager")];
        let digest = Digest {
            source: "codex".into(),
            project: "/p".into(),
            titles: vec![("Keep SQLite for the orders".into(), By::Host)],
            turns: prompts.clone(),
            prompts,
            last_reply: format!("Fine. {FACT}."),
            ..Digest::default()
        };
        let forgotten = BTreeSet::from([fact_id("/p", FACT)]);
        let told = derive(&digest.clone().without(&forgotten));
        assert_eq!(told.name, "Write the pager");
        assert!(!told.summary.contains("SQLite") && told.summary.contains("pager"), "{}", told.summary);
        assert!(told.facts.is_empty());
        assert!(!crate::ask(&digest.clone().without(&forgotten)).text.contains("SQLite"));
        assert!(derive(&digest.without(&BTreeSet::new())).name.contains("SQLite"), "nothing was forgotten");
    }
}
