//! What a person wants to hear no more of, taken out of other words: of a name, a summary, or of what they are made from.
//!
//! Knows a forgotten fact by its id alone, a hash: whoever says the same in other words is not understood.

use crate::digest::Digest;
use crate::facts::fact_text;
use crate::name::{of_nothing, shortened};
use crate::prose::{is_han, plain, sentences, shown_chars, without_tags};
use crate::{fact_id, normal};
use record::Role;
use std::collections::BTreeSet;

/// A run of fewer letters than this is no quotation: "sqlite" alone gives nothing away.
const FEWEST: usize = 8;

impl Digest {
    /// As if the sentences that were forgotten had never been said: neither a name nor a summary is made of them, and no
    /// model is told. What the person said is taken out by whole sentences, for one that begins alike may settle
    /// something else; what an agent repeated of it, wherever it stands.
    #[must_use]
    pub fn without(mut self, forgotten: &BTreeSet<String>) -> Digest {
        let said = self.prompts.iter().chain(&self.turns).map(|said| said.text.as_str());
        let texts = said.chain([self.last_reply.as_str()]).chain(self.commits.iter().map(String::as_str));
        let unsaid: Vec<String> =
            texts.flat_map(|text| forgotten_in(text, &self.project, forgotten)).collect();
        if unsaid.is_empty() {
            return self;
        }
        self.titles.retain(|(title, _)| !carries(title, &unsaid));
        self.commits.retain(|commit| !carries(commit, &unsaid));
        self.last_reply = unrepeated(&left_of(&self.last_reply, &self.project, forgotten), &unsaid);
        for said in self.prompts.iter_mut().chain(&mut self.turns) {
            said.text = left_of(&said.text, &self.project, forgotten);
            if said.role != Role::User {
                said.text = unrepeated(&said.text, &unsaid);
            }
        }
        self.unsaid = unsaid;
        self
    }
}

/// Whether a sentence is one of those: read as it was when it became a fact, without its markup, or as it stands.
fn is_forgotten(sentence: &str, project: &str, forgotten: &BTreeSet<String>) -> bool {
    [&fact_text(sentence), sentence].iter().any(|text| forgotten.contains(&fact_id(project, text)))
}

/// The sentences of a text, and what is quoted in it, of which the ids were forgotten.
pub(crate) fn forgotten_in(text: &str, project: &str, forgotten: &BTreeSet<String>) -> Vec<String> {
    if forgotten.is_empty() {
        return Vec::new();
    }
    let text = without_tags(text);
    let quoted = || text.split(['“', '”', '\n']).flat_map(sentences);
    let whole = sentences(&text).into_iter().chain(quoted());
    whole.filter(|piece| is_forgotten(piece, project, forgotten)).map(fact_text).collect()
}

/// A text without the sentences that were forgotten. One that has none of them stays as it is.
fn left_of(text: &str, project: &str, forgotten: &BTreeSet<String>) -> String {
    let bare = without_tags(text);
    let gone = |sentence: &&str| is_forgotten(sentence, project, forgotten);
    if !sentences(&bare).iter().any(gone) {
        return text.to_string();
    }
    let left = |line: &str| {
        let (out, kept): (Vec<&str>, Vec<&str>) = sentences(line).into_iter().partition(gone);
        if out.is_empty() { line.to_string() } else { kept.join(" ") }
    };
    bare.lines().map(left).collect::<Vec<_>>().join("\n")
}

/// What an agent said without what it repeats of such words, whatever markup it put into them. A sentence that says
/// most of them in its own way goes as a whole: no fact is made of it.
fn unrepeated(text: &str, unsaid: &[String]) -> String {
    let left = |sentence: &str| {
        let said = plain(sentence);
        let rest = taken_out(&said, unsaid, "");
        let is_same = rest == said;
        if carries(&rest, unsaid) {
            String::new()
        } else if is_same {
            sentence.to_string()
        } else {
            rest
        }
    };
    let line = |line: &str| {
        let parts: Vec<&str> = sentences(line);
        let told: Vec<String> = parts.iter().map(|sentence| left(sentence)).collect();
        if told == parts { line.to_string() } else { told.join(" ") }
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

// ---- names

/// Whether a name is made of such words: it is often only a part of the sentence, or a few words of it in another order.
/// That it begins alike says nothing: "we decided to use" begins many a sentence.
pub(crate) fn carries(name: &str, unsaid: &[String]) -> bool {
    unsaid.iter().any(|words| is_part(name, words) || has_the_end(name, words) || shares_words(name, words))
}

/// Whether a name made of what is left still says the words, whole or cut.
pub(crate) fn still_says(name: &str, unsaid: &[String]) -> bool {
    let goes_on = |end: usize| name[end..].trim_start().starts_with(char::is_alphanumeric);
    unsaid.iter().any(|words| {
        find(name, words).is_some_and(|(_, end)| !goes_on(end)) || name.ends_with('…') && is_part(name, words)
    })
}

fn is_part(name: &str, words: &str) -> bool {
    let there = letters(name);
    there.len() >= FEWEST && ways(words).iter().any(|way| runs(&letters(way), &there).next().is_some())
}

/// Two thirds of the sentence up to its end, which is what tells it from others.
fn has_the_end(name: &str, words: &str) -> bool {
    let (there, all) = (letters(name), letters(words));
    let end = &all[all.len() - needed(all.len()).min(all.len())..];
    runs(&there, end).next().is_some()
}

/// Two thirds of what a name says: "Parser kept in pages" of "keep the parser in pages".
fn shares_words(name: &str, words: &str) -> bool {
    let (name, words) = (normal(name), normal(words));
    let telling = |word: &&str| word.chars().count() >= 4 && !SAID_OF_ANYTHING.contains(word);
    let said: Vec<&str> = name.split(' ').filter(telling).collect();
    let shared = said.iter().filter(|word| words.split(' ').any(|other| other == **word)).count();
    shared > 0 && shared * 3 >= said.len() * 2
}

/// Every second decision has one of these.
#[rustfmt::skip] // a table
const SAID_OF_ANYTHING: &[&str] = &["decided", "always", "never", "from", "with", "have", "should", "must", "instead"];

fn needed(letters: usize) -> usize {
    (letters * 2 / 3).max(FEWEST.min(letters)).max(1)
}

// ---- texts

/// A text without such words, and `left` where they stood; where the text is cut, without how they begin.
pub(crate) fn taken_out(text: &str, unsaid: &[String], left: &str) -> String {
    unsaid.iter().fold(text.to_string(), |text, words| without_words(text, words, left))
}

fn without_words(mut text: String, words: &str, left: &str) -> String {
    // Behind what was put in place of words there are only others.
    let mut from = 0;
    while let Some((start, end)) = find(&text[from..], words).or_else(|| find_cut(&text[from..], words)) {
        text.replace_range(from + start..from + end, left);
        from += start + left.len();
    }
    text
}

/// How a sentence may stand elsewhere: a path in it may have become the name of a file.
fn ways(words: &str) -> Vec<String> {
    let (whole, short) = (words.to_string(), shortened(words));
    if short == whole { vec![whole] } else { vec![whole, short] }
}

/// All of the words, from where one begins to where one ends, with the mark that ends a sentence.
fn find(text: &str, words: &str) -> Option<(usize, usize)> {
    let there = letters(text);
    ways(words).iter().find_map(|way| {
        let way = letters(way);
        let found = runs(&there, &way).map(|at| (there[at].1, there[at + way.len() - 1].2));
        found
            .filter(|(start, end)| is_apart(text, *start) && is_apart(text, *end))
            .map(|(start, end)| {
                let rest = text[end..].trim_start_matches(['`', '*', '.', '。', '!', '！', '…']);
                (start, text.len() - rest.len())
            })
            .next()
    })
}

/// How the words begin, before the sign that a text was cut there.
fn find_cut(text: &str, words: &str) -> Option<(usize, usize)> {
    text.match_indices('…').find_map(|(cut, sign)| {
        let there = letters(&text[..cut]);
        ways(words).iter().find_map(|way| {
            let way = letters(way);
            let many = (FEWEST..=way.len().min(there.len())).rev().find(|many| {
                let (tail, head) = (&there[there.len() - many..], &way[..*many]);
                is_same(tail, head) && is_apart(text, tail[0].1)
            })?;
            Some((there[there.len() - many].1, cut + sign.len()))
        })
    })
}

/// No word goes on over this place.
fn is_apart(text: &str, at: usize) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() && !is_han(c));
    !(is_word(text[..at].chars().next_back()) && is_word(text[at..].chars().next()))
}

/// A letter in lower case, with where it begins and ends.
type Letter = (char, usize, usize);

/// Letters and digits alone: marks and blanks are set by everybody as they like, and a summary quotes markup as it was typed.
fn letters(text: &str) -> Vec<Letter> {
    let low = |c: char| c.to_lowercase().next().unwrap_or(c);
    let all = shown_chars(text).filter(|(_, c)| c.is_alphanumeric());
    all.map(|(at, c)| (low(c), at, at + c.len_utf8())).collect()
}

fn is_same(a: &[Letter], b: &[Letter]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0)
}

/// Where the second stands in the first.
fn runs(all: &[Letter], part: &[Letter]) -> impl Iterator<Item = usize> {
    let windows = if part.is_empty() { 0 } else { (all.len() + 1).saturating_sub(part.len()) };
    (0..windows).filter(|at| is_same(&all[*at..at + part.len()], part))
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
            ("We decided to keep SQLite for the users", "We decided to keep SQLite for the users"),
            ("We decided to keep SQLite. “We decided to…", "We decided to keep SQLite. “…"),
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
            ("We decided to keep SQLite…", true),
            ("We decided to keep Postgres", false),
        ] {
            assert_eq!(carries(name, &[FACT.to_string()]), carried, "{name}");
        }
        let path = ["Never touch src/db/store.rs by hand".to_string()];
        assert!(carries("Never touch store.rs by hand", &path), "a path became the name of its file");
        assert_eq!(taken_out("“Never touch store.rs by hand”", &path, "…"), "“…”");
    }

    fn asked(prompts: &[&str], reply: &str) -> Digest {
        let said =
            |text: &&str| Said { id: "m".into(), role: Role::User, at: Stamp::NONE, text: (*text).into() };
        let prompts: Vec<Said> = prompts.iter().map(said).collect();
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

    /// "Never use" without what was never to be used would say the opposite.
    #[test]
    fn a_sentence_that_begins_alike_stays_whole() {
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
            let told = derive(&asked(prompts, "").without(&BTreeSet::from([fact_id("/p", gone)])));
            let left: Vec<&str> = told.facts.iter().map(|noted| noted.text.as_str()).collect();
            assert_eq!((told.name.as_str(), &left[..]), (name, facts));
            assert!(facts.iter().all(|fact| told.summary.contains(fact)), "{}", told.summary);
        }
    }

    #[test]
    fn a_sentence_is_known_again_in_its_markup() {
        for prompt in [
            "We decided to keep [walruses](http://x.example/a) in the cellar behind the old brewery because it is cool there.",
            "<ide_opened_file>x</ide_opened_file> We decided to keep walruses in the cellar. Write the plan",
            "We decided to keep **walruses** in the cellar (see <b>plan</b>)",
            "1. We decided to keep `walruses` in the cellar;\n2. Write the plan",
        ] {
            let digest =
                asked(&[prompt], "Noted: we decided to keep [walruses](http://y.example) in the cellar.");
            let fact = derive(&digest).facts.remove(0).text;
            let digest = digest.without(&BTreeSet::from([fact_id("/p", &fact)]));
            let told = derive(&digest);
            let all = format!("{} {} {}", told.name, told.summary, crate::ask(&digest).text);
            let cellar = "we decided to keep walruses in the cellar";
            let said_short = fact.to_lowercase() == cellar;
            assert!(!told.name.contains("walrus") && told.name.len() > 3, "{prompt}: {}", told.name);
            assert!(!all.contains("brewery") && !all.contains("We decided"), "{prompt}: {all}");
            assert!(!said_short || !all.contains("walrus"), "{prompt}: {all}");
            assert!(told.facts.is_empty());
        }
    }

    /// A name that comes of something else and says it all the same.
    #[test]
    fn a_name_that_still_says_it_gives_way() {
        for (name, says) in [
            ("Ok: we decided to keep SQLite for the orders", true),
            ("We decided to keep SQLite for…", true),
            ("We decided to keep SQLite for the orders of 2026", false),
        ] {
            assert_eq!(still_says(name, &[FACT.to_string()]), says, "{name}");
        }
        let digest = Digest { unsaid: vec![FACT.into()], ..asked(&[&format!("Hm: {FACT}")], "") };
        assert_eq!(derive(&digest).name, "Session in p");
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
