//! Describes a candidate by features of one byte: its cues, its form, its place in the exchange, what came before it and
//! what happened next.
//!
//! Does not know what a feature is worth.

use super::cues::{CLASSES, Cues};
use super::sentence::{Sentence, Words, overlap};
use super::{Talk, Turn};
use crate::decision::is_decision;
use crate::prose::is_han;
use record::Role;

/// Features with their names, in a fixed order.
#[derive(Default)]
struct Sheet {
    values: Vec<u8>,
    names: Vec<String>,
    /// Names are needed for training only.
    is_named: bool,
}

impl Sheet {
    fn add(&mut self, name: &str, value: usize) {
        self.values.push(value.min(100) as u8);
        if self.is_named {
            self.names.push(name.to_string());
        }
    }

    fn flag(&mut self, name: &str, is: bool) {
        self.add(name, usize::from(is));
    }

    fn cues(&mut self, prefix: &str, cues: Cues) {
        for ((name, _), is) in CLASSES.iter().zip(cues.bits()) {
            self.values.push(u8::from(is));
            if self.is_named {
                self.names.push(format!("{prefix}.{name}"));
            }
        }
    }
}

pub(crate) fn describe_person(
    talk: &Talk,
    at: usize,
    piece: &[usize],
    place: (usize, usize),
    takes_over: bool,
) -> Vec<u8> {
    let mut sheet = Sheet::default();
    fill_person(&mut sheet, talk, at, piece, place, takes_over);
    sheet.values
}

pub(crate) fn describe_agent(talk: &Talk, at: usize, piece: &[usize], place: (usize, usize)) -> Vec<u8> {
    let mut sheet = Sheet::default();
    fill_agent(&mut sheet, talk, at, piece, place);
    sheet.values
}

/// The names of the features of a role's candidates.
pub fn feature_names(role: Role) -> Vec<String> {
    let message =
        crate::DigestMessage { id: String::new(), role, at: record::Stamp::NONE, text: "x".to_string() };
    let digest = crate::Digest {
        prompts: vec![message.clone()],
        replies: vec![crate::digest::Reply { message, prompts_before: 1, calls: 0 }],
        ..crate::Digest::default()
    };
    let talk = Talk::new(&digest);
    let mut sheet = Sheet { is_named: true, ..Sheet::default() };
    match role {
        Role::User => fill_person(&mut sheet, &talk, 0, &[], (0, 1), false),
        _ => fill_agent(&mut sheet, &talk, 1, &[], (0, 1)),
    }
    sheet.names
}

fn fill_person(
    sheet: &mut Sheet,
    talk: &Talk,
    at: usize,
    piece: &[usize],
    place: (usize, usize),
    takes_over: bool,
) {
    let turn = &talk.turns[at];
    let sentences: Vec<&Sentence> = piece.iter().map(|nth| &turn.sentences[*nth]).collect();
    let words: Words = sentences.iter().flat_map(|sentence| sentence.words.iter().cloned()).collect();
    let all = united(sentences.iter().copied());
    let clean = united(sentences.iter().copied().filter(|sentence| sentence.is_plain()));
    sheet.cues("any", all);
    sheet.cues("clean", clean);
    fill_pairs(sheet, clean);
    fill_form(sheet, turn, &sentences, &words);
    sheet.flag("takes_over", takes_over);
    sheet.flag("explicit", sentences.iter().any(|sentence| is_decision(&sentence.text)));
    fill_message(sheet, turn, place);
    fill_position(sheet, talk, at);
    fill_before(sheet, talk, at, &words);
    fill_after(sheet, talk, at, &words);
}

/// Cues that mean more together.
fn fill_pairs(sheet: &mut Sheet, cues: Cues) {
    for (one, other) in [
        ("from_now", "never"),
        ("from_now", "must_not"),
        ("from_now", "always"),
        ("decide", "not_x"),
        ("decide", "why"),
        ("reject", "decide"),
        ("reject", "why"),
        ("verb", "not_x"),
        ("we", "must_not"),
        ("we", "decide"),
        ("only", "unit"),
        ("must_not", "why"),
        ("temporary", "task"),
        ("temporary", "decide"),
        ("i", "temporary"),
        ("environment", "supports"),
    ] {
        sheet.flag(&format!("pair.{one}+{other}"), cues.has(one) && cues.has(other));
    }
    let lasting = [
        "always",
        "never",
        "from_now",
        "must",
        "must_only",
        "no_x",
        "rule_word",
        "decide",
        "not_x",
        "change",
    ];
    sheet.add("pair.lasting", lasting.iter().filter(|name| cues.has(name)).count());
}

fn fill_form(sheet: &mut Sheet, turn: &Turn, sentences: &[&Sentence], words: &Words) {
    let text = || sentences.iter().flat_map(|sentence| sentence.text.chars());
    let han = text().filter(|c| is_han(*c)).count();
    let share = |name: &str| {
        let many = sentences.iter().filter(|sentence| sentence.cues.has(name)).count();
        many * 100 / sentences.len().max(1)
    };
    sheet.add("form.length", (text().count() + han) / 4);
    sheet.add("form.sentences", sentences.len());
    sheet.add("form.clauses", text().filter(|c| ",，、:：—".contains(*c)).count());
    sheet.add("form.words", words.len());
    sheet.flag("form.short", text().count() + han < 24);
    sheet.flag("form.han", han > 0);
    sheet.flag("form.colon", text().any(|c| ":：".contains(c)));
    sheet.flag("form.quotes", text().any(|c| "\"“”「」".contains(c)));
    sheet.flag("form.shouted", text().any(|c| "!！".contains(c)));
    sheet.flag("form.paste", turn.has_paste);
    for name in ["hypothesis", "chat", "task", "temporary", "i", "quoted"] {
        sheet.add(&format!("share.{name}"), share(name));
    }
}

fn fill_message(sheet: &mut Sheet, turn: &Turn, (nth, many): (usize, usize)) {
    let asks = turn.sentences.iter().filter(|sentence| sentence.is_question).count();
    sheet.add("message.questions", asks * 100 / turn.sentences.len().max(1));
    sheet.flag("message.asks_last", turn.sentences.last().is_some_and(|sentence| sentence.is_question));
    sheet.add("message.sentences", turn.sentences.len());
    sheet.flag("message.later_piece", nth > 0);
    sheet.add("message.pieces", many);
    let first = turn.sentences.first().map_or(Cues::default(), |sentence| sentence.cues);
    for name in ["confirm", "confirm_cause", "reject", "chat", "option", "change", "error", "task"] {
        sheet.flag(&format!("first.{name}"), first.has(name));
    }
}

fn fill_position(sheet: &mut Sheet, talk: &Talk, at: usize) {
    let is_own = |turn: &&Turn| turn.role == Role::User;
    let before = talk.turns[..at].iter().filter(is_own).count();
    let after = talk.turns[at + 1..].iter().filter(is_own).count();
    sheet.flag("place.first", before == 0);
    sheet.flag("place.second", before == 1);
    sheet.flag("place.last", after == 0);
    sheet.add("place.share", before * 100 / (before + after).max(1));
    sheet.add("place.prompts", before + after + 1);
    let opening =
        talk.turns.iter().find(is_own).map_or(Cues::default(), |turn| united(turn.sentences.iter()));
    for name in ["error", "change", "task", "hypothesis"] {
        sheet.flag(&format!("opening.{name}"), opening.has(name));
    }
}

fn fill_before(sheet: &mut Sheet, talk: &Talk, at: usize, words: &Words) {
    let before = talk.reply_before(at).map(|before| &talk.turns[before]);
    sheet.flag("before.none", before.is_none());
    let cues = before.map_or(Cues::default(), |turn| united(turn.sentences.iter()));
    for name in ["propose", "cause", "done", "option", "error", "number"] {
        sheet.flag(&format!("before.{name}"), cues.has(name));
    }
    let asks = |turn: &Turn| turn.sentences.iter().rev().take(2).any(|sentence| sentence.is_question);
    sheet.flag("before.asks", before.is_some_and(asks));
    sheet.add("before.sentences", before.map_or(0, |turn| turn.sentences.len()));
    sheet.add("before.overlap", before.map_or(0, |turn| overlap(words, &turn.words).into()));
    sheet.add("before.known", talk.mentions.share_before(words, at).into());
    sheet.flag("before.worked", talk.reply_before(at).is_some_and(|before| talk.turns[before].calls > 0));
}

fn fill_after(sheet: &mut Sheet, talk: &Talk, at: usize, words: &Words) {
    let after = talk.turns.get(at + 1).filter(|turn| turn.role != Role::User);
    sheet.flag("after.none", after.is_none());
    let first = after.and_then(|turn| turn.sentences.first()).map_or(Cues::default(), |one| one.cues);
    sheet.flag("after.ack", first.has("ack"));
    let cues = after.map_or(Cues::default(), |turn| united(turn.sentences.iter()));
    for name in ["done", "propose", "cause", "keep", "must_not"] {
        sheet.flag(&format!("after.{name}"), cues.has(name));
    }
    sheet.flag("after.asks", after.is_some_and(|turn| turn.sentences.iter().any(|one| one.is_question)));
    sheet.add("after.overlap", after.map_or(0, |turn| overlap(words, &turn.words).into()));
    sheet.add("after.calls", after.map_or(0, |turn| turn.calls as usize));
    sheet.add("after.echo", talk.mentions.share_after(words, at).into());
    sheet.add("after.committed", overlap(words, &talk.commit_words).into());
    let last = talk.turns.iter().rev().find(|turn| turn.role != Role::User);
    sheet.add("after.last_reply", last.map_or(0, |turn| overlap(words, &turn.words).into()));
}

fn fill_agent(sheet: &mut Sheet, talk: &Talk, at: usize, piece: &[usize], place: (usize, usize)) {
    let turn = &talk.turns[at];
    let sentences: Vec<&Sentence> = piece.iter().map(|nth| &turn.sentences[*nth]).collect();
    let words: Words = sentences.iter().flat_map(|sentence| sentence.words.iter().cloned()).collect();
    sheet.cues("any", united(sentences.iter().copied()));
    fill_form(sheet, turn, &sentences, &words);
    let causes = |sentence: &&&Sentence| sentence.cues.has("cause");
    sheet.add("cause.sentences", sentences.iter().filter(causes).count());
    let earlier = |turn: &&Turn| turn.role != Role::User && united(turn.sentences.iter()).has("cause");
    sheet.add("cause.earlier", talk.turns[..at].iter().filter(earlier).count());
    sheet.add("cause.later", talk.turns[at + 1..].iter().filter(earlier).count());
    fill_message(sheet, turn, place);
    sheet.flag("message.last_piece", place.0 + 1 == place.1);
    fill_position(sheet, talk, at);
    sheet.add("calls.before", turn.calls as usize);
    fill_answer(sheet, talk, at, &words);
    fill_echo(sheet, talk, at, &words);
}

/// How a person answers an agent's words.
fn fill_answer(sheet: &mut Sheet, talk: &Talk, at: usize, words: &Words) {
    let is_last_before = talk.turns.get(at + 1).is_some_and(|turn| turn.role == Role::User);
    let answer = talk.next_turn(at, Role::User).map(|next| &talk.turns[next]);
    sheet.flag("answer.at_once", is_last_before);
    sheet.flag("answer.none", answer.is_none());
    let start = answer.map_or(Cues::default(), |turn| united(turn.sentences.iter().take(2)));
    sheet.cues("answer", start);
    let first = answer.and_then(|turn| turn.sentences.first());
    sheet.flag("answer.asks", first.is_some_and(|sentence| sentence.is_question));
    sheet.flag("answer.small", first.is_some_and(|sentence| sentence.is_small_talk));
    sheet.add(
        "answer.length",
        answer.map_or(0, |turn| turn.sentences.iter().map(Sentence::len).sum::<usize>() / 4),
    );
    sheet.add("answer.repeats", answer.map_or(0, |turn| overlap(&turn.words, words).into()));
    sheet.add("answer.overlap", answer.map_or(0, |turn| overlap(words, &turn.words).into()));
    let confirms = start.has_any(&["confirm", "confirm_cause"]) && !start.has("reject");
    sheet.flag("answer.confirms_at_once", confirms && is_last_before);
}

/// Whether the session comes back to the words, and whether it began with them.
fn fill_echo(sheet: &mut Sheet, talk: &Talk, at: usize, words: &Words) {
    let opening = talk.turns.iter().find(|turn| turn.role == Role::User);
    sheet.add("echo.opening", opening.map_or(0, |turn| overlap(words, &turn.words).into()));
    sheet.add("echo.committed", overlap(words, &talk.commit_words).into());
    for (name, role) in [("echo.person", Role::User), ("echo.agent", Role::Assistant)] {
        sheet.add(name, talk.mentions.share_after_by(words, at, role).into());
    }
    sheet.add("echo.known", talk.mentions.share_before(words, at).into());
    let edits = talk.turns[at + 1..].iter().map(|turn| turn.calls as usize).sum::<usize>();
    sheet.add("echo.calls_after", edits);
}

pub(crate) fn united<'s>(sentences: impl Iterator<Item = &'s Sentence>) -> Cues {
    sentences.fold(Cues::default(), |cues, sentence| cues.with(sentence.cues))
}
