//! Removes forgotten facts from other text: from a name, a summary, or the text they are derived from.
//!
//! Knows a forgotten fact only by its ID, a hash, and so does not recognise the same statement in other words.

use crate::digest::Digest;
use crate::entry::{fact_id, normalise_text};
use crate::facts::fact_text;
use crate::name::{fallback_name, shorten_paths};
use crate::prose::{is_han, split_sentences, strip_markup, visible_chars, without_tags};
use record::Role;
use std::collections::BTreeSet;

/// A shorter run of letters is not a quotation: "sqlite" alone discloses nothing.
const MIN_LETTERS: usize = 8;

impl Digest {
    /// The digest as if the forgotten sentences had never been said: no name or summary is derived from them, and no
    /// model sees them. From the user's text whole sentences are removed, because a sentence that begins alike may
    /// state a different decision. From an agent's text every repetition is removed.
    #[must_use]
    pub fn without_forgotten(mut self, forgotten: &BTreeSet<String>) -> Digest {
        let replies = self.replies.iter().map(|reply| &reply.message);
        let messages =
            self.prompts.iter().chain(&self.turns).chain(replies).map(|message| message.text.as_str());
        let texts = messages.chain([self.last_reply.as_str()]).chain(self.commits.iter().map(String::as_str));
        let mut forgotten_texts: Vec<String> =
            texts.flat_map(|text| forgotten_in(text, &self.project, forgotten)).collect();
        let parts = forgotten_parts(&self, forgotten);
        forgotten_texts.extend(parts.iter().cloned());
        if forgotten_texts.is_empty() {
            return self;
        }
        self.titles.retain(|(title, _)| !is_made_of_forgotten(title, &forgotten_texts));
        self.commits.retain(|commit| !is_made_of_forgotten(commit, &forgotten_texts));
        self.last_reply = remove_repetitions(
            &remove_sentences(&self.last_reply, &self.project, forgotten),
            &forgotten_texts,
        );
        let replies = self.replies.iter_mut().map(|reply| &mut reply.message);
        for message in self.prompts.iter_mut().chain(&mut self.turns).chain(replies) {
            message.text = remove_sentences(&message.text, &self.project, forgotten);
            message.text = remove_parts(&message.text, &parts);
            if message.role != Role::User {
                message.text = remove_repetitions(&message.text, &forgotten_texts);
            }
        }
        self.forgotten_texts = forgotten_texts;
        self
    }
}

/// The sentences of forgotten facts that consist of several: a fact is known by the hash of its whole text, so the
/// candidates are made again and compared.
fn forgotten_parts(digest: &Digest, forgotten: &BTreeSet<String>) -> Vec<String> {
    let candidates = crate::talk::find_candidates(digest).into_iter();
    let is_gone = |text: &str| forgotten.contains(&fact_id(&digest.project, text));
    let gone =
        candidates.filter(|one| is_gone(&one.text) || is_gone(&crate::talk::join_sentences(&one.sentences)));
    gone.flat_map(|one| one.taken_over.map(|before| before.text).into_iter().chain(one.sentences)).collect()
}

/// The text without these sentences, in whatever markup.
fn remove_parts(text: &str, parts: &[String]) -> String {
    if parts.is_empty() {
        return text.to_string();
    }
    let line = |line: &str| {
        let cut = replace_forgotten(line, parts, "");
        if cut == line { line.to_string() } else { cut.trim().to_string() }
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Whether a sentence is forgotten, read without its markup as when it became a fact, or as written.
fn is_forgotten(sentence: &str, project: &str, forgotten: &BTreeSet<String>) -> bool {
    [&fact_text(sentence), sentence].iter().any(|text| forgotten.contains(&fact_id(project, text)))
}

/// The sentences and quotations in a text whose IDs are forgotten.
pub(crate) fn forgotten_in(text: &str, project: &str, forgotten: &BTreeSet<String>) -> Vec<String> {
    if forgotten.is_empty() {
        return Vec::new();
    }
    let text = without_tags(text);
    let quoted = || text.split(['“', '”', '\n']).flat_map(split_sentences);
    // A fact of several sentences is quoted as a whole.
    let quotations = text.split(['“', '”', '\n']).map(str::trim).filter(|piece| !piece.is_empty());
    let whole = split_sentences(&text).into_iter().chain(quoted()).chain(quotations);
    whole.filter(|piece| is_forgotten(piece, project, forgotten)).map(fact_text).collect()
}

/// The text without its forgotten sentences. A text that has none is returned unchanged.
fn remove_sentences(text: &str, project: &str, forgotten: &BTreeSet<String>) -> String {
    let bare = without_tags(text);
    let is_gone = |sentence: &&str| is_forgotten(sentence, project, forgotten);
    if !split_sentences(&bare).iter().any(is_gone) {
        return text.to_string();
    }
    let left = |line: &str| {
        let (out, kept): (Vec<&str>, Vec<&str>) = split_sentences(line).into_iter().partition(is_gone);
        if out.is_empty() { line.to_string() } else { kept.join(" ") }
    };
    bare.lines().map(left).collect::<Vec<_>>().join("\n")
}

/// An agent's text without its repetitions of forgotten sentences, in any markup. A sentence that restates most of one
/// in other words is removed as a whole; no fact is derived from it.
fn remove_repetitions(text: &str, unsaid: &[String]) -> String {
    let left = |sentence: &str| {
        let text = strip_markup(sentence);
        let rest = replace_forgotten(&text, unsaid, "");
        let is_same = rest == text;
        if is_made_of_forgotten(&rest, unsaid) {
            String::new()
        } else if is_same {
            sentence.to_string()
        } else {
            rest
        }
    };
    let line = |line: &str| {
        let parts: Vec<&str> = split_sentences(line);
        let kept: Vec<String> = parts.iter().map(|sentence| left(sentence)).collect();
        if kept == parts { line.to_string() } else { kept.join(" ") }
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

// ---- names

/// Whether a name is made of forgotten text: it is often only a part of the sentence, or a few of its words in another
/// order. A common beginning is not enough: "we decided to use" begins many sentences.
pub(crate) fn is_made_of_forgotten(name: &str, unsaid: &[String]) -> bool {
    unsaid.iter().any(|words| is_part(name, words) || contains_end(name, words) || shares_words(name, words))
}

/// Whether a name derived from the remaining text still contains the forgotten text, whole or truncated.
pub(crate) fn still_contains(name: &str, unsaid: &[String]) -> bool {
    let goes_on = |end: usize| name[end..].trim_start().starts_with(char::is_alphanumeric);
    unsaid.iter().any(|words| {
        find_sentence(name, words).is_some_and(|(_, end)| !goes_on(end))
            || name.ends_with('…') && is_part(name, words)
    })
}

fn is_part(name: &str, words: &str) -> bool {
    let there = collect_letters(name);
    there.len() >= MIN_LETTERS
        && possible_forms(words).iter().any(|way| find_runs(&collect_letters(way), &there).next().is_some())
}

/// Whether the name contains the last two thirds of the sentence, which distinguish it from others.
fn contains_end(name: &str, words: &str) -> bool {
    let (there, all) = (collect_letters(name), collect_letters(words));
    let end = &all[all.len() - required_letters(all.len()).min(all.len())..];
    find_runs(&there, end).next().is_some()
}

/// Whether the sentence contains two thirds of the name's words: "Parser kept in pages" and "keep the parser in pages".
fn shares_words(name: &str, words: &str) -> bool {
    let (name, words) = (normalise_text(name), normalise_text(words));
    let is_specific = |word: &&str| word.chars().count() >= 4 && !GENERIC_WORDS.contains(word);
    let specific: Vec<&str> = name.split(' ').filter(is_specific).collect();
    let shared = specific.iter().filter(|word| words.split(' ').any(|other| other == **word)).count();
    shared > 0 && shared * 3 >= specific.len() * 2
}

/// Words that occur in every second decision.
#[rustfmt::skip] // a table
const GENERIC_WORDS: &[&str] = &["decided", "always", "never", "from", "with", "have", "should", "must", "instead"];

fn required_letters(letters: usize) -> usize {
    (letters * 2 / 3).max(MIN_LETTERS.min(letters)).max(1)
}

// ---- texts

/// The text with forgotten text replaced by `left`. Where the text is truncated, the beginning of a forgotten sentence
/// is replaced too.
pub(crate) fn replace_forgotten(text: &str, unsaid: &[String], left: &str) -> String {
    unsaid.iter().fold(text.to_string(), |text, words| replace_sentence(text, words, left))
}

fn replace_sentence(mut text: String, words: &str, left: &str) -> String {
    // Do not search the replacement again.
    let mut from = 0;
    while let Some((start, end)) =
        find_sentence(&text[from..], words).or_else(|| find_truncated(&text[from..], words))
    {
        text.replace_range(from + start..from + end, left);
        from += start + left.len();
    }
    text
}

/// The forms in which a sentence may occur: a path in it may have been shortened to its file name.
fn possible_forms(words: &str) -> Vec<String> {
    let (whole, short) = (words.to_string(), shorten_paths(words));
    if short == whole { vec![whole] } else { vec![whole, short] }
}

/// The range of the whole sentence, at word boundaries, including its final punctuation.
fn find_sentence(text: &str, words: &str) -> Option<(usize, usize)> {
    let there = collect_letters(text);
    possible_forms(words).iter().find_map(|way| {
        let way = collect_letters(way);
        let found = find_runs(&there, &way).map(|at| (there[at].1, there[at + way.len() - 1].2));
        found
            .filter(|(start, end)| is_word_boundary(text, *start) && is_word_boundary(text, *end))
            .map(|(start, end)| {
                let rest = text[end..].trim_start_matches(['`', '*', '.', '。', '!', '！', '…']);
                (start, text.len() - rest.len())
            })
            .next()
    })
}

/// The range of a truncated beginning of the sentence, including the `…`.
fn find_truncated(text: &str, words: &str) -> Option<(usize, usize)> {
    text.match_indices('…').find_map(|(cut, sign)| {
        let there = collect_letters(&text[..cut]);
        possible_forms(words).iter().find_map(|way| {
            let way = collect_letters(way);
            let many = (MIN_LETTERS..=way.len().min(there.len())).rev().find(|many| {
                let (tail, head) = (&there[there.len() - many..], &way[..*many]);
                is_same_letters(tail, head) && is_word_boundary(text, tail[0].1)
            })?;
            Some((there[there.len() - many].1, cut + sign.len()))
        })
    })
}

/// Whether there is a word boundary at this position.
fn is_word_boundary(text: &str, at: usize) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() && !is_han(c));
    !(is_word(text[..at].chars().next_back()) && is_word(text[at..].chars().next()))
}

/// A lower-case letter with its start and end.
type Letter = (char, usize, usize);

/// Letters and digits only: punctuation and spacing vary, and a summary quotes markup as typed.
fn collect_letters(text: &str) -> Vec<Letter> {
    let low = |c: char| c.to_lowercase().next().unwrap_or(c);
    let all = visible_chars(text).filter(|(_, c)| c.is_alphanumeric());
    all.map(|(at, c)| (low(c), at, at + c.len_utf8())).collect()
}

fn is_same_letters(a: &[Letter], b: &[Letter]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0)
}

/// Positions at which `part` occurs in `all`.
fn find_runs(all: &[Letter], part: &[Letter]) -> impl Iterator<Item = usize> {
    let windows = if part.is_empty() { 0 } else { (all.len() + 1).saturating_sub(part.len()) };
    (0..windows).filter(|at| is_same_letters(&all[*at..at + part.len()], part))
}

/// The name of a session whose name was removed and for which there is nothing to derive another from.
pub(crate) fn placeholder_name(source: &str, project: &str, started_at: record::Stamp) -> String {
    fallback_name(&Digest {
        source: source.to_string(),
        project: project.to_string(),
        started_at,
        ..Digest::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::DigestMessage;
    use crate::{By, derive_memory};
    use record::{Role, Stamp};

    const FACT: &str = "We decided to keep SQLite for the orders";

    #[test]
    fn forgotten_text_is_removed_in_any_spelling() {
        for (text, left) in [
            (
                "The user said: “We decided to keep SQLite for the orders. Go on”.",
                "The user said: “… Go on”.",
            ),
            ("so we DECIDED to keep `SQLite` for the orders!", "so …"),
            ("“We decided to keep SQLite for the…”", "“…”"),
            ("We keep SQLite here", "We keep SQLite here"),
            ("We decided to keep SQLite for the users", "We decided to keep SQLite for the users"),
            ("We decided to keep SQLite. “We decided to…", "We decided to keep SQLite. “…"),
            ("Orders are in a table", "Orders are in a table"),
        ] {
            assert_eq!(replace_forgotten(text, &[FACT.to_string()], "…"), left);
        }
        let han = ["我们决定用 Postgres 存订单".to_string()];
        assert_eq!(replace_forgotten("好的，我们决定用Postgres存订单。继续", &han, "…"), "好的，…继续");
    }

    #[test]
    fn a_name_made_of_forgotten_text_is_recognised() {
        for (name, expected) in [
            ("Keep SQLite for the orders", true),
            ("We decided to keep SQLite for the orders, then test", true),
            ("Keep the parser fast", false),
            ("SQLite", true),
            ("Orders and their pages", false),
            ("SQLite kept for orders", true),
            ("We decided to keep SQLite…", true),
            ("We decided to keep Postgres", false),
        ] {
            assert_eq!(is_made_of_forgotten(name, &[FACT.to_string()]), expected, "{name}");
        }
        let path = ["Never touch src/db/store.rs by hand".to_string()];
        assert!(
            is_made_of_forgotten("Never touch store.rs by hand", &path),
            "a path became the name of its file"
        );
        assert_eq!(replace_forgotten("“Never touch store.rs by hand”", &path, "…"), "“…”");
    }

    fn digest_of_prompts(prompts: &[&str], reply: &str) -> Digest {
        let prompt = |text: &&str| DigestMessage {
            id: "m".into(),
            role: Role::User,
            at: Stamp::NONE,
            text: (*text).into(),
        };
        let prompts: Vec<DigestMessage> = prompts.iter().map(prompt).collect();
        let (project, last_reply) = ("/p".into(), reply.into());
        Digest {
            source: "codex".into(),
            project,
            turns: prompts.clone(),
            prompts,
            last_reply,
            ..Digest::default()
        }
    }

    /// Without its object, "Never use" would state the opposite.
    #[test]
    fn a_sentence_with_the_same_beginning_is_kept() {
        for (gone, prompts, name, facts) in [
            (
                "We decided to use Redis",
                &[
                    "We decided to use Redis. We decided to use Postgres for orders.",
                    "We decided to use Kafka for events.",
                ][..],
                "We decided to use Postgres for orders",
                &["We decided to use Postgres for orders", "We decided to use Kafka for events"][..],
            ),
            (
                "Never use unwrap",
                &["Never use unwrap. Never use unwrap in tests either. Never use unsafe."],
                "Never use unwrap in tests either",
                &["Never use unwrap in tests either", "Never use unsafe"],
            ),
            (
                "我们决定用 Redis",
                &["我们决定用 Redis。我们决定用 Redis 存会话，订单另说。我们决定用 Kafka。"],
                "我们决定用 Redis 存会话，订单另说",
                &["我们决定用 Redis 存会话，订单另说", "我们决定用 Kafka"],
            ),
        ] {
            let derived = derive_memory(
                &digest_of_prompts(prompts, "").without_forgotten(&BTreeSet::from([fact_id("/p", gone)])),
            );
            let left: Vec<&str> = derived.facts.iter().map(|noted| noted.text.as_str()).collect();
            assert_eq!((derived.name.as_str(), &left[..]), (name, facts));
            assert!(facts.iter().all(|fact| derived.summary.contains(fact)), "{}", derived.summary);
        }
    }

    /// A fact may be a whole message, and take over the words of the agent that it answers.
    #[test]
    fn a_fact_of_several_sentences_is_forgotten_with_all_of_them() {
        let message = |id: &str, role, text: &str| DigestMessage {
            id: id.into(),
            role,
            at: Stamp::NONE,
            text: text.into(),
        };
        let fact = "Should late rows be dropped? — side output to dwd_late. never lose one";
        let digest = Digest {
            source: "codex".into(),
            project: "/p".into(),
            prompts: vec![
                message("a", Role::User, "the GMV job is late, look at the watermark"),
                message("b", Role::User, "side output to dwd_late. never lose one"),
            ],
            replies: vec![crate::Reply {
                message: message(
                    "r",
                    Role::Assistant,
                    "The watermark is 5 minutes. Should late rows be dropped?",
                ),
                prompts_before: 1,
                calls: 0,
            }],
            last_reply: "Late rows go to dwd_late now.".into(),
            ..Digest::default()
        };
        let known = crate::talk::find_candidates(&digest);
        assert!(known.iter().any(|one| one.text == fact), "{known:?}");
        let derived = derive_memory(&digest.without_forgotten(&BTreeSet::from([fact_id("/p", fact)])));
        let all = format!("{} {} {:?}", derived.name, derived.summary, derived.facts);
        assert!(!all.contains("never lose") && !all.contains("be dropped"), "{all}");
        assert!(all.contains("watermark"), "{all}");
    }

    #[test]
    fn a_sentence_is_recognised_in_its_markup() {
        for prompt in [
            "We decided to keep [walruses](http://x.example/a) in the cellar behind the old brewery because it is cool there.",
            "<ide_opened_file>x</ide_opened_file> We decided to keep walruses in the cellar. Write the plan",
            "We decided to keep **walruses** in the cellar (see <b>plan</b>)",
            "1. We decided to keep `walruses` in the cellar;\n2. Write the plan",
        ] {
            let digest = digest_of_prompts(
                &[prompt],
                "Noted: we decided to keep [walruses](http://y.example) in the cellar.",
            );
            let fact = derive_memory(&digest).facts.remove(0).text;
            let digest = digest.without_forgotten(&BTreeSet::from([fact_id("/p", &fact)]));
            let derived = derive_memory(&digest);
            let all =
                format!("{} {} {}", derived.name, derived.summary, crate::build_prompt(&digest, &[]).text);
            let cellar = "we decided to keep walruses in the cellar";
            let said_short = fact.to_lowercase() == cellar;
            assert!(!derived.name.contains("walrus") && derived.name.len() > 3, "{prompt}: {}", derived.name);
            assert!(!all.contains("brewery") && !all.contains("We decided"), "{prompt}: {all}");
            assert!(!said_short || !all.contains("walrus"), "{prompt}: {all}");
            assert!(derived.facts.is_empty());
        }
    }

    /// A name derived from something else that still contains the forgotten text.
    #[test]
    fn a_name_that_still_contains_it_is_replaced() {
        for (name, expected) in [
            ("Ok: we decided to keep SQLite for the orders", true),
            ("We decided to keep SQLite for…", true),
            ("We decided to keep SQLite for the orders of 2026", false),
        ] {
            assert_eq!(still_contains(name, &[FACT.to_string()]), expected, "{name}");
        }
        let digest =
            Digest { forgotten_texts: vec![FACT.into()], ..digest_of_prompts(&[&format!("Hm: {FACT}")], "") };
        assert_eq!(derive_memory(&digest).name, "Session in p");
    }

    #[test]
    fn a_session_is_summarised_without_forgotten_text() {
        let prompt = |text: &str| DigestMessage {
            id: "m".into(),
            role: Role::User,
            at: Stamp::NONE,
            text: text.into(),
        };
        let prompts =
            vec![prompt(&format!("{FACT}. Now write the pager")), prompt("add a test for the pager")];
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
        let derived = derive_memory(&digest.clone().without_forgotten(&forgotten));
        assert_eq!(derived.name, "Write the pager");
        assert!(
            !derived.summary.contains("SQLite") && derived.summary.contains("pager"),
            "{}",
            derived.summary
        );
        assert!(derived.facts.is_empty());
        assert!(
            !crate::build_prompt(&digest.clone().without_forgotten(&forgotten), &[]).text.contains("SQLite")
        );
        assert!(
            derive_memory(&digest.without_forgotten(&BTreeSet::new())).name.contains("SQLite"),
            "nothing was forgotten"
        );
    }
}
