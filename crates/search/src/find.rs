//! Finds the conversations that match a query, best first.
//!
//! Does not know how results are displayed.

use crate::confidence::Evidence;
use crate::date;
use crate::error::Error;
use crate::index::Index;
use crate::occurrences::{MessageInfo, Occurrence, OccurrenceScan, WordCount};
use crate::query::{Query, Terms};
use crate::rank::{self, MatchedMessage, Rarity, TUNING, Tuning};
use crate::related;
use crate::schema::Part;
use crate::similar;
use crate::token::{Kind, Scratch};
use crate::verify;
use crate::writer::Doc;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// The number of chats that are scored message by message.
const MAX_CANDIDATES: usize = 64;

/// The results and the words that were searched.
#[derive(Clone, Debug, Default)]
pub struct SearchResult {
    pub chats: Vec<ChatHit>,
    /// The number of chats with any match.
    pub total_chats: usize,
    /// The probability that the first chat is the one that was meant; calibrated, see `confidence`.
    pub confidence: f32,
    /// The features the confidence was computed from.
    pub evidence: Evidence,
    pub terms: Terms,
    /// Words that were searched in addition to those of the query.
    pub expanded: BTreeMap<String, Vec<String>>,
    /// Typed words that occur nowhere, with what was searched in their place; see [`Query::correct`].
    pub corrected: BTreeMap<String, Vec<String>>,
    /// The number of chats removed by [`Query::exclude`].
    pub excluded: usize,
}

#[derive(Clone, Debug)]
pub struct ChatHit {
    pub chat: u32,
    pub score: f32,
    /// The number of matching messages.
    pub hits: usize,
    /// The best matches, best first.
    pub events: Vec<EventHit>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EventHit {
    pub event: u64,
    pub part: Part,
    pub at: i64,
    pub score: f32,
}

/// A chat while it is being ranked.
struct Candidate {
    slot: usize,
    whole: f32,
    score: f32,
    messages: Vec<MatchedMessage>,
    /// It matched only in messages that have another text now.
    is_outdated: bool,
}

impl Index {
    /// Finds chats. `extra` are messages that are not in the index yet; they are ranked with the rest.
    pub fn find(&self, query: &Query, extra: &[Doc]) -> Result<SearchResult, Error> {
        find_chats(Some(self), query, extra, &TUNING)
    }

    /// The same with other parameters, for tuning.
    #[doc(hidden)]
    pub fn find_tuned(&self, query: &Query, extra: &[Doc], tuning: &Tuning) -> Result<SearchResult, Error> {
        find_chats(Some(self), query, extra, tuning)
    }
}

/// Finds chats in messages that are in no index.
pub fn find_among(query: &Query, docs: &[Doc]) -> Result<SearchResult, Error> {
    find_chats(None, query, docs, &TUNING)
}

fn find_chats(
    index: Option<&Index>,
    query: &Query,
    extra: &[Doc],
    tuning: &Tuning,
) -> Result<SearchResult, Error> {
    let plain = index.is_some_and(|index| index.stamp.plain);
    let mut terms = Terms::from_phrases(&query.intents, plain);
    similar::add_pairs(index, &mut terms)?;
    if query.fuzzy {
        similar::add_similar_forms(index, extra, &mut terms)?;
    }
    let mut sweep = OccurrenceScan::new(index, query, extra);
    if query.skip_common {
        sweep.remove_common(&mut terms)?;
    }
    let excluded = exclude_chats(&mut sweep, query, plain)?;
    let mut expanded = BTreeMap::new();
    if query.expand {
        expanded = expand_by_vocabulary(query, &mut terms);
    }
    let mut ranked = rank_chats(&mut sweep, tuning, query, &terms)?;
    let mut corrected = BTreeMap::new();
    if query.correct && !ranked.missing.is_empty() {
        corrected = correct_words(&sweep, index, extra, &mut terms, &ranked.missing)?;
        if corrected.values().any(|forms| !forms.is_empty()) {
            ranked = rank_chats(&mut sweep, tuning, query, &terms)?;
        }
    }
    if query.expand && expand_by_cooccurrence(&mut sweep, &ranked, &mut terms, &mut expanded)? {
        ranked = rank_chats(&mut sweep, tuning, query, &terms)?;
    }
    let (evidence, total_chats) = (ranked.evidence, ranked.total);
    let confidence = if ranked.candidates.is_empty() { 0.0 } else { evidence.confidence() };
    let chats = ranked.candidates.into_iter().take(query.limit_chats);
    let chats = chats.map(|candidate| to_chat_hit(&sweep, query, candidate)).collect();
    Ok(SearchResult { chats, total_chats, confidence, evidence, terms, expanded, corrected, excluded })
}

/// Chats in order, with the features of the ranking.
struct Ranked {
    candidates: Vec<Candidate>,
    total: usize,
    evidence: Evidence,
    /// Indexes of typed words without an occurrence.
    missing: Vec<usize>,
}

/// Looks for words near to those that occur nowhere at all, and adds them as forms.
fn correct_words(
    sweep: &OccurrenceScan,
    index: Option<&Index>,
    extra: &[Doc],
    terms: &mut Terms,
    missing: &[usize],
) -> Result<BTreeMap<String, Vec<String>>, Error> {
    let is_unknown = |at: &usize| terms.words[*at].forms.iter().all(|form| sweep.frequency(&form.term) == 0);
    let unknown: Vec<usize> = missing.iter().copied().filter(is_unknown).collect();
    similar::correct_words(index, extra, terms, &unknown)
}

fn rank_chats(
    sweep: &mut OccurrenceScan,
    tuning: &Tuning,
    query: &Query,
    terms: &Terms,
) -> Result<Ranked, Error> {
    let (counts, mut hits) = sweep.count_words(terms)?;
    let all = sweep.message_count();
    let rare: Vec<Rarity> =
        counts.iter().map(|count| rank::word_rarity(count, sweep.chats.len(), all)).collect();
    let mut candidates = score_by_chat(sweep, tuning, query, terms, &counts, &rare);
    let mut total = candidates.len();
    candidates.truncate(MAX_CANDIDATES.max(query.limit_chats.saturating_mul(2)));
    let mut wanted = vec![false; sweep.chats.len()];
    for candidate in &candidates {
        wanted[candidate.slot] = true;
    }
    // If a rarer word identifies the relevant messages, a second pass over the common words would cost more than
    // everything else.
    if !counts.iter().any(|count| !count.common && count.messages > 0) {
        sweep.collect_common(terms, &counts, &wanted, &mut hits)?;
    }
    hits.retain(|hit| wanted[hit.slot as usize]);
    hits.sort_by_key(|hit| (hit.slot, hit.place, hit.word));
    for candidate in &mut candidates {
        score_by_passage(sweep, tuning, terms, &rare, &hits, candidate)?;
    }
    total -= candidates.iter().filter(|candidate| candidate.is_outdated).count();
    candidates.retain(|candidate| !candidate.is_outdated);
    boost_by_date(tuning, query, terms, &rare, &mut candidates);
    sort_candidates(&mut candidates);
    adjust_by_text(sweep, tuning, terms, &rare, &mut candidates)?;
    sort_candidates(&mut candidates);
    let evidence = collect_evidence(sweep, terms, &counts, &rare, &candidates, total);
    let is_missing = |at: &usize| {
        let word = &terms.words[*at];
        !word.related && word.kind == Kind::Word && counts[*at].messages == 0
    };
    let missing = (0..terms.words.len()).filter(is_missing).collect();
    Ok(Ranked { candidates, total, evidence, missing })
}

/// The best first; of equal ones the newest, because the number of a chat depends on what was indexed before.
fn sort_candidates(candidates: &mut [Candidate]) {
    let newest = |candidate: &Candidate| candidate.messages.iter().map(|matched| matched.message.at).max();
    candidates.sort_by(|a, b| {
        b.score.total_cmp(&a.score).then_with(|| newest(b).cmp(&newest(a))).then(a.slot.cmp(&b.slot))
    });
}

/// Boosts chats from the time that the query names.
fn boost_by_date(
    tuning: &Tuning,
    query: &Query,
    terms: &Terms,
    rare: &[Rarity],
    candidates: &mut [Candidate],
) {
    let Some(named) = query.intents.iter().find_map(|intent| date::NamedDate::parse(intent)) else { return };
    let all = rank::total_rarity(terms, rare, |_| true);
    for candidate in candidates {
        if candidate.messages.iter().any(|matched| named.contains_time(matched.message.at)) {
            candidate.score += tuning.date_bonus * all;
        }
    }
}

/// The number of chats whose text is read, and of messages in each.
const READ_CHATS: usize = 12;
const READ_MESSAGES: usize = 2;

/// Reads the best messages of the best chats again and adjusts their scores by their text.
fn adjust_by_text(
    sweep: &mut OccurrenceScan,
    tuning: &Tuning,
    terms: &Terms,
    rare: &[Rarity],
    candidates: &mut [Candidate],
) -> Result<(), Error> {
    let by_term = terms.by_term();
    let mut scratch = Scratch::without_stems(terms.plain);
    // Stop when no bonus could reach the lead.
    let most = tuning.proximity_bonus * rank::total_rarity(terms, rare, |_| true);
    let mut leading = f32::MIN;
    for candidate in candidates.iter_mut().take(READ_CHATS) {
        if candidate.score + most < leading {
            break;
        }
        let mut best: f32 = 0.0;
        let mut order: Vec<usize> = (0..candidate.messages.len()).collect();
        order.sort_by(|a, b| {
            let (a, b) = (&candidate.messages[*a], &candidate.messages[*b]);
            rank::compare_messages(a, b)
        });
        for at in order.into_iter().take(READ_MESSAGES) {
            let matched = &mut candidate.messages[at];
            let Some(text) = sweep.message_text(matched.place)? else { continue };
            let read = verify::check_text(&text, terms, &by_term, rare, &mut scratch);
            let mut bonus = tuning.proximity_bonus * read.proximity;
            if read.is_question && matched.part == Part::Person {
                bonus -= tuning.question_penalty * matched.score;
            }
            matched.score += bonus;
            best = best.max(bonus);
        }
        candidate.score += best;
        leading = leading.max(candidate.score);
    }
    Ok(())
}

/// Computes the features of a ranking.
fn collect_evidence(
    sweep: &OccurrenceScan,
    terms: &Terms,
    counts: &[WordCount],
    rare: &[Rarity],
    candidates: &[Candidate],
    total: usize,
) -> Evidence {
    let Some(first) = candidates.first() else { return Evidence::default() };
    let all = rank::total_rarity(terms, rare, |_| true).max(f32::MIN_POSITIVE);
    let within = |matched: &MatchedMessage| {
        rank::total_rarity(terms, rare, |at| matched.words.iter().any(|(word, _)| usize::from(*word) == at))
    };
    let second = candidates.get(1).map_or(0.0, |second| second.score);
    let typed = terms.words.iter().filter(|word| !word.related).count();
    let by_name = |at: usize| {
        let times = counts[at].times.get(first.slot);
        times.is_some_and(|times| times[Part::Title as usize] + times[Part::Person as usize] > 0.0)
    };
    Evidence {
        margin: ((first.score - second) / first.score.max(f32::MIN_POSITIVE)).clamp(0.0, 1.0),
        covered: rank::total_rarity(terms, rare, |at| counts[at].is_in(first.slot)) / all,
        together: first.messages.iter().map(within).fold(0.0, f32::max) / all,
        score: (first.score / all).clamp(0.0, 2.0),
        words: ((typed.max(1) as f32).log2() / 3.0).min(1.0),
        spread: total as f32 / sweep.chats.len().max(1) as f32,
        named: rank::total_rarity(terms, rare, by_name) / all,
        named_unweighted: (0..typed).filter(|at| by_name(*at)).count() as f32 / typed.max(1) as f32,
        mass: all,
    }
}

/// Adds synonyms from the vocabulary.
fn expand_by_vocabulary(query: &Query, terms: &mut Terms) -> BTreeMap<String, Vec<String>> {
    let mut expanded = BTreeMap::new();
    for (at, intent) in query.intents.iter().enumerate() {
        for (phrase, others) in related::find_synonyms(intent) {
            terms.add_related(at, &phrase, &others);
            expanded.insert(phrase, others);
        }
    }
    expanded
}

/// The number of best messages that expansion learns from.
const LEARNED_MESSAGES: usize = 8;
const LEARNED_BYTES: usize = 16 << 10;

/// Adds words that co-occur with those of the query; `false` if there are none.
fn expand_by_cooccurrence(
    sweep: &mut OccurrenceScan,
    ranked: &Ranked,
    terms: &mut Terms,
    expanded: &mut BTreeMap<String, Vec<String>>,
) -> Result<bool, Error> {
    let best = ranked.candidates.iter().take(LEARNED_MESSAGES / 2).flat_map(|candidate| {
        let mut messages: Vec<&MatchedMessage> = candidate.messages.iter().collect();
        messages.sort_by(|a, b| rank::compare_messages(a, b));
        messages.into_iter().take(2)
    });
    let mut texts = Vec::new();
    for matched in best {
        texts.extend(
            sweep
                .message_text(matched.place)?
                .map(|text| text[..text.floor_char_boundary(LEARNED_BYTES)].to_owned()),
        );
    }
    let known: FxHashSet<String> =
        terms.words.iter().flat_map(|word| &word.forms).map(|form| form.term.clone()).collect();
    let all = sweep.message_count();
    let learned = related::learn_related(&texts, &known, all, terms.plain, |term| sweep.frequency(term));
    if learned.is_empty() {
        return Ok(false);
    }
    terms.add_related(0, "", &learned);
    expanded.insert(LEARNED_KEY.to_owned(), learned);
    Ok(true)
}

/// The key under which words learned from the user's own conversations are listed: they belong to the query as a whole.
const LEARNED_KEY: &str = "*";

/// Excludes the chats in which an excluded term occurs; returns how many.
fn exclude_chats(sweep: &mut OccurrenceScan, query: &Query, plain: bool) -> Result<usize, Error> {
    let everywhere = vec![true; sweep.chats.len()];
    let mut shut = FxHashSet::default();
    for term in &query.exclude {
        let terms = Terms::from_literal(term, plain);
        let (counts, mut hits) = sweep.count_words(&terms)?;
        sweep.collect_common(&terms, &counts, &everywhere, &mut hits)?;
        hits.sort_by_key(|hit| (hit.place, hit.word));
        hits.dedup_by_key(|hit| (hit.place, hit.word));
        let messages = hits.chunk_by(|one, other| one.place == other.place);
        let whole = messages.filter(|words| words.len() == terms.words.len());
        shut.extend(whole.map(|words| words[0].slot as usize));
    }
    for slot in &shut {
        sweep.deny_chat(*slot);
    }
    Ok(shut.len())
}

/// Every matching chat, scored by all of its words, best first.
fn score_by_chat(
    sweep: &OccurrenceScan,
    tuning: &Tuning,
    query: &Query,
    terms: &Terms,
    counts: &[WordCount],
    rare: &[Rarity],
) -> Vec<Candidate> {
    let lengths: Vec<f32> =
        (0..sweep.chats.len()).map(|slot| weighted_length(sweep, tuning, query, slot)).collect();
    let average = (lengths.iter().sum::<f32>() / lengths.len().max(1) as f32).max(1.0);
    let mut found = Vec::new();
    for (slot, length) in lengths.iter().enumerate() {
        let norm = 1.0 - tuning.b + tuning.b * length / average;
        let whole = rank::chat_score(tuning, terms, counts, rare, slot, norm);
        if whole > 0.0 && (!query.match_all || matches_all(terms, counts, slot)) {
            let messages = Vec::new();
            found.push(Candidate { slot, whole, score: whole, messages, is_outdated: false });
        }
    }
    found.sort_by(|a, b| b.whole.total_cmp(&a.whole).then(a.slot.cmp(&b.slot)));
    found
}

/// The length of a chat, weighted like its words.
fn weighted_length(sweep: &OccurrenceScan, tuning: &Tuning, query: &Query, slot: usize) -> f32 {
    let bytes = sweep.chats.length_of(slot).bytes;
    let parts = Part::ALL.into_iter().filter(|part| query.searches_part(*part));
    parts.map(|part| bytes[part as usize] as f32 * tuning.parts[part as usize]).sum()
}

/// Whether every typed unit occurs: an identifier as a whole or by all parts, Chinese by most pairs.
fn matches_all(terms: &Terms, counts: &[WordCount], slot: usize) -> bool {
    let mut units: BTreeMap<(usize, usize), (f32, f32)> = BTreeMap::new();
    for (at, word) in terms.words.iter().enumerate().filter(|(_, word)| !word.related) {
        let (found, all) = units.entry((word.intent, word.unit)).or_default();
        *all += 1.0;
        *found += f32::from(u8::from(counts[at].is_in(slot)));
    }
    let mut intents = vec![true; terms.intents];
    for ((intent, _), (found, all)) in units {
        intents[intent] &= found > 0.0 && found >= all * 0.6;
    }
    intents.into_iter().any(|intent| intent)
}

fn score_by_passage(
    sweep: &mut OccurrenceScan,
    tuning: &Tuning,
    terms: &Terms,
    rare: &[Rarity],
    hits: &[Occurrence],
    candidate: &mut Candidate,
) -> Result<(), Error> {
    let from = hits.partition_point(|hit| (hit.slot as usize) < candidate.slot);
    let own = hits[from..].iter().take_while(|hit| hit.slot as usize == candidate.slot).count();
    let mut failed = None;
    candidate.messages = rank::group_by_message(tuning, &hits[from..from + own], |place| {
        sweep.message_info(place).unwrap_or_else(|error| {
            failed = Some(error);
            MessageInfo::default()
        })
    });
    if let Some(error) = failed {
        return Err(error);
    }
    if let Some(is_replaced) = sweep.replaced()
        && !candidate.messages.is_empty()
    {
        candidate.messages.retain(|matched| matched.place.is_extra() || !is_replaced(matched.message.event));
        candidate.is_outdated = candidate.messages.is_empty();
    }
    let best = rank::score_passages(tuning, terms, rare, &mut candidate.messages, 200.0);
    candidate.score = (1.0 - tuning.passage) * candidate.whole + tuning.passage * best;
    Ok(())
}

fn to_chat_hit(sweep: &OccurrenceScan, query: &Query, candidate: Candidate) -> ChatHit {
    let hits = candidate.messages.len();
    let mut messages = candidate.messages;
    messages.sort_by(rank::compare_messages);
    let events = messages.iter().take(query.limit_hits_per_chat).map(|matched| EventHit {
        event: matched.message.event,
        part: matched.part,
        at: matched.message.at,
        score: matched.score,
    });
    ChatHit {
        chat: sweep.chats.chat_at(candidate.slot),
        score: candidate.score,
        hits,
        events: events.collect(),
    }
}
