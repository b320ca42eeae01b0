//! Reads a session as an exchange: who says what in answer to what, and what happened next. Cuts it into candidates for
//! facts and describes each by features.
//!
//! Does not judge a candidate: that is `talk::model`, with weights that `cargo xtask train talk` learns.

pub(crate) mod central;
pub(crate) mod choice;
pub(crate) mod cues;
pub(crate) mod features;
pub(crate) mod mentions;
pub(crate) mod model;
pub(crate) mod sentence;
pub(crate) mod work;

pub use features::feature_names;
pub use work::{WORK_KINDS, describe_work, work_feature_names};

use crate::digest::{Digest, DigestMessage};
use crate::pasted::own_lines;
use crate::prose::{is_han, prose_lines};
use mentions::Mentions;
use record::{Role, Stamp};
use sentence::{Sentence, Words, parse_sentences};

/// The longest fact: more is not read at a glance.
pub(crate) const MAX_FACT: usize = 320;
/// Sentences of an agent's candidate: it explains at length, and its reader confirms the point.
const MAX_AGENT_SENTENCES: usize = 3;

/// One message with its sentences.
pub(crate) struct Turn<'d> {
    pub(crate) role: Role,
    pub(crate) message: &'d DigestMessage,
    pub(crate) sentences: Vec<Sentence>,
    pub(crate) words: Words,
    /// Calls of tools since the message before.
    pub(crate) calls: u32,
    /// Whether lines were left out as pasted.
    pub(crate) has_paste: bool,
}

/// A session as an exchange of messages.
pub(crate) struct Talk<'d> {
    pub(crate) turns: Vec<Turn<'d>>,
    pub(crate) mentions: Mentions,
    pub(crate) commit_words: Words,
}

/// A text that may be worth keeping.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub text: String,
    pub role: Role,
    pub features: Vec<u8>,
    /// The message it is from.
    pub message_id: String,
    pub at: Stamp,
    /// The message before it whose words it takes over: the option chosen, the question answered.
    pub(crate) taken_over: Option<TakenOver>,
    pub(crate) turn: usize,
    /// Its sentences, as written.
    pub(crate) sentences: Vec<String>,
}

/// Words of an agent that a person's answer makes their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TakenOver {
    pub(crate) text: String,
    pub(crate) message_id: String,
}

impl<'d> Talk<'d> {
    pub(crate) fn new(digest: &'d Digest) -> Talk<'d> {
        let mut turns = Vec::with_capacity(digest.prompts.len() + digest.replies.len());
        let mut replies = digest.replies.iter().peekable();
        for (at, prompt) in digest.prompts.iter().enumerate() {
            while let Some(reply) = replies.next_if(|reply| reply.prompts_before <= at) {
                turns.push(Turn::of_agent(&reply.message, reply.calls));
            }
            turns.push(Turn::of_person(prompt));
        }
        turns.extend(replies.map(|reply| Turn::of_agent(&reply.message, reply.calls)));
        let commit_words = sentence::content_words(&cues::fold(&digest.commits.join("\n")));
        Talk { mentions: Mentions::new(&turns), turns, commit_words }
    }

    /// The last turn of the other side before one, if a person's message does not intervene.
    pub(crate) fn reply_before(&self, at: usize) -> Option<usize> {
        at.checked_sub(1).filter(|before| self.turns[*before].role != Role::User)
    }

    /// The next turn of a role.
    pub(crate) fn next_turn(&self, at: usize, role: Role) -> Option<usize> {
        (at + 1..self.turns.len()).find(|next| self.turns[*next].role == role)
    }

    /// All candidates, in order, with their features.
    pub(crate) fn candidates(&self) -> Vec<Candidate> {
        let of_turn = |at: usize| match self.turns[at].role {
            Role::User => self.person_candidates(at),
            _ => self.agent_candidates(at),
        };
        (0..self.turns.len()).flat_map(of_turn).collect()
    }

    /// What a person says, without questions and small talk, in pieces that can be read at a glance.
    fn person_candidates(&self, at: usize) -> Vec<Candidate> {
        let turn = &self.turns[at];
        let is_said = |one: &Sentence| !one.is_question && !one.is_small_talk && !one.is_supposed();
        let said = (0..turn.sentences.len()).filter(|nth| is_said(&turn.sentences[*nth]));
        let pieces = group_sentences(&turn.sentences, said, usize::MAX);
        let many = pieces.len();
        let piece = |(nth, piece): (usize, Vec<usize>)| {
            let taken_over = choice::find_taken_over(self, at, &piece);
            let features = features::describe_person(self, at, &piece, (nth, many), taken_over.is_some());
            self.candidate(at, &piece, taken_over, features)
        };
        pieces.into_iter().enumerate().map(piece).collect()
    }

    /// What an agent says and a person then answers, or what ends the session.
    fn agent_candidates(&self, at: usize) -> Vec<Candidate> {
        let turn = &self.turns[at];
        // A proposal is not a finding, and its words may be those of the option that is refused.
        let is_said = |one: &Sentence| !one.is_question && !one.cues.has("propose");
        let said = (0..turn.sentences.len()).filter(|nth| is_said(&turn.sentences[*nth]));
        let pieces = group_sentences(&turn.sentences, said, MAX_AGENT_SENTENCES);
        let many = pieces.len();
        let piece = |(nth, piece): (usize, Vec<usize>)| {
            let features = features::describe_agent(self, at, &piece, (nth, many));
            self.candidate(at, &piece, None, features)
        };
        pieces.into_iter().enumerate().map(piece).collect()
    }

    fn candidate(
        &self,
        at: usize,
        piece: &[usize],
        taken_over: Option<TakenOver>,
        features: Vec<u8>,
    ) -> Candidate {
        let turn = &self.turns[at];
        let sentences: Vec<String> = piece.iter().map(|nth| turn.sentences[*nth].text.clone()).collect();
        let text = join_sentences(&sentences);
        let text = match &taken_over {
            Some(before) => format!("{} — {text}", before.text),
            None => text,
        };
        Candidate {
            text,
            role: turn.role,
            features,
            message_id: turn.message.id.clone(),
            at: turn.message.at,
            taken_over,
            turn: at,
            sentences,
        }
    }
}

impl<'d> Turn<'d> {
    fn of_person(message: &'d DigestMessage) -> Turn<'d> {
        let own = without_quotations(&own_lines(&message.text));
        let has_paste = own.len() * 10 < message.text.len() * 9;
        Turn::new(Role::User, message, &prose_lines(&own), 0, has_paste)
    }

    fn of_agent(message: &'d DigestMessage, calls: u32) -> Turn<'d> {
        Turn::new(Role::Assistant, message, &prose_lines(&message.text), calls, false)
    }

    fn new(role: Role, message: &'d DigestMessage, prose: &str, calls: u32, has_paste: bool) -> Turn<'d> {
        let sentences = parse_sentences(prose);
        let words = sentences.iter().flat_map(|sentence| sentence.words.iter().cloned()).collect();
        Turn { role, message, sentences, words, calls, has_paste }
    }
}

/// A longer quotation is somebody else's statement; a shorter one is a name or a word that is meant.
const MAX_QUOTATION: usize = 45;
const MAX_HAN_QUOTATION: usize = 22;

/// The text without long quotations.
fn without_quotations(text: &str) -> String {
    let mut out = text.to_string();
    for (open, close) in [('“', '”'), ('「', '」'), ('"', '"')] {
        let mut from = 0;
        while let Some(start) = out[from..].find(open).map(|at| from + at) {
            let inside = start + open.len_utf8();
            let Some(end) = out[inside..].find(close).map(|at| inside + at) else { break };
            let quoted = &out[inside..end];
            let most = if quoted.chars().any(is_han) { MAX_HAN_QUOTATION } else { MAX_QUOTATION };
            let behind = end + close.len_utf8();
            if quoted.chars().count() > most && !quoted.contains('\n') {
                out.replace_range(start..behind, " ");
                from = start;
            } else {
                from = behind;
            }
        }
    }
    out
}

/// Groups sentences into pieces of at most [`MAX_FACT`] characters. A longer sentence belongs to none.
fn group_sentences(
    sentences: &[Sentence],
    said: impl Iterator<Item = usize>,
    most: usize,
) -> Vec<Vec<usize>> {
    let mut pieces: Vec<Vec<usize>> = Vec::new();
    let mut length = 0;
    for nth in said.filter(|nth| sentences[*nth].len() <= MAX_FACT) {
        let added = sentences[nth].len() + 1;
        let open = pieces.last_mut().filter(|piece| length + added <= MAX_FACT && piece.len() < most);
        if let Some(piece) = open {
            piece.push(nth);
            length += added;
        } else {
            pieces.push(vec![nth]);
            length = added;
        }
    }
    pieces
}

/// Sentences as one text: Latin ones are separated by a space, Chinese ones by their own punctuation.
pub(crate) fn join_sentences(sentences: &[String]) -> String {
    let mut text = String::new();
    for sentence in sentences {
        let ends_wide = text.chars().next_back().is_some_and(|c| "。！？；，：".contains(c));
        if !text.is_empty() && !ends_wide {
            text.push_str(if text.ends_with(|c: char| c.is_ascii_punctuation()) { " " } else { ". " });
        }
        text.push_str(sentence);
    }
    text.trim_end_matches(['.', '。', '!', '！', ';', '；']).to_string()
}

/// The candidates of a session, for training.
pub fn find_candidates(digest: &Digest) -> Vec<Candidate> {
    Talk::new(digest).candidates()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Reply;

    /// A session from lines that begin with `U:` or `A:`.
    fn sample_digest(turns: &[&str]) -> Digest {
        let mut digest = Digest { source: "codex".into(), project: "/p".into(), ..Digest::default() };
        for (nth, turn) in turns.iter().enumerate() {
            let (role, text) =
                (if turn.starts_with("U:") { Role::User } else { Role::Assistant }, turn[2..].trim());
            let message =
                DigestMessage { id: format!("m{nth}"), role, at: Stamp(nth as i64), text: text.into() };
            if role == Role::User {
                digest.prompts.push(message);
            } else {
                let prompts_before = digest.prompts.len();
                digest.replies.push(Reply { message, prompts_before, calls: 0 });
            }
        }
        digest
    }

    fn texts(turns: &[&str]) -> Vec<String> {
        let candidates = find_candidates(&sample_digest(turns)).into_iter();
        candidates.filter(|one| one.role == Role::User).map(|one| one.text).collect()
    }

    #[test]
    fn questions_small_talk_suppositions_and_pastes_are_left_out() {
        let kept = texts(&[
            "U: what if we used wasm lol. no db session inside an adapter. thoughts? thanks",
            "U: 群里说的：\n\n【值班群】\n阿坤 03:20 所有任务必须迁走\n\n以后打款文件 4 点前必须出",
            "U: the guide says \"always use BACKWARD, you must never enable FULL on a shared cluster\". we use FULL",
        ]);
        assert_eq!(kept[0], "no db session inside an adapter");
        assert!(
            kept.iter().any(|text| text.contains("4 点前")) && !kept.iter().any(|text| text.contains("迁走")),
            "{kept:?}"
        );
        assert!(!kept.iter().any(|text| text.contains("BACKWARD")), "{kept:?}");
    }

    #[test]
    fn a_choice_takes_over_the_option() {
        let options = "A: Three shapes:\n1. **Plugins.** Each in its package.\n2. **In-tree adapters.** One registry.\n3. A service each.";
        for (answer, taken) in [
            ("U: yeah was a joke. go with the second one", Some("In-tree adapters. One registry")),
            ("U: 选 1", Some("Plugins. Each in its package")),
            ("U: not the second one, keep what we have", None),
        ] {
            let candidates = find_candidates(&sample_digest(&["U: plan the carriers", options, answer]));
            let chosen = candidates.into_iter().rfind(|one| one.role == Role::User);
            let before = chosen.and_then(|one| one.taken_over);
            assert_eq!(before.as_ref().map(|before| before.text.as_str()), taken, "{answer}");
            assert!(before.is_none_or(|before| before.message_id == "m1"));
        }
    }

    #[test]
    fn a_short_answer_takes_over_the_question_and_a_refusal_does_not() {
        let asked = "A: Done. Should late rows be dropped?";
        for (answer, kept) in [
            ("U: keep them in a side output", "Should late rows be dropped? — keep them in a side output"),
            ("U: no, keep them for good", "no, keep them for good"),
        ] {
            assert_eq!(texts(&["U: fix the job", asked, answer]).last().unwrap(), kept);
        }
    }

    #[test]
    fn an_agents_proposals_are_not_candidates() {
        let digest = sample_digest(&[
            "U: why is it slow",
            "A: The index is missing, so every query scans the table. I could add a cache.",
        ]);
        let said: Vec<String> = find_candidates(&digest)
            .into_iter()
            .filter(|one| one.role != Role::User)
            .map(|one| one.text)
            .collect();
        assert_eq!(said, ["The index is missing, so every query scans the table"]);
    }
}
