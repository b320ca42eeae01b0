//! Compares the sessions that a search found: which match equally well, and how far the first is ahead.
//!
//! Does not search, and does not know where sessions are stored.

use record::Session;
use search::ChatHit;
use std::cmp::Reverse;

/// Factor for a candidate from another project if the first belongs to the current one.
const ELSEWHERE: f32 = 0.85;
/// Scores at or above this share of the best one count as equal. A session of the current project may be further behind:
/// people rarely say which project they mean.
const TIE: f32 = 0.93;
const TIE_HERE: f32 = 0.62;

/// Access to the sessions behind the hits.
pub struct Sessions<'a> {
    /// Loads a session by its number; None if it is gone.
    pub load: &'a dyn Fn(u32) -> Option<Session>,
    /// Whether a session belongs to the current project.
    pub is_here: &'a dyn Fn(&Session) -> bool,
}

/// The sessions that match about as well as the first: the current project first, then the latest. If a subject was
/// discussed twice, a prompt refers to the last time.
pub fn find_ties(chats: &[ChatHit], sessions: &Sessions<'_>) -> Vec<u32> {
    let Some((first, others)) = chats.split_first() else { return Vec::new() };
    let load = |hit: &ChatHit| Some(((sessions.load)(hit.chat)?, hit.chat));
    let Some(leader) = load(first) else { return Vec::new() };
    let near = others.iter().take_while(|hit| hit.score >= first.score * TIE_HERE);
    let near: Vec<(f32, (Session, u32))> = near.filter_map(|hit| Some((hit.score, load(hit)?))).collect();
    // The best session of the current project stands in for a leader from elsewhere.
    let home = near.iter().find(|(_, (session, _))| (sessions.is_here)(session)).map(|(score, _)| *score);
    let best = home.filter(|_| !(sessions.is_here)(&leader.0)).unwrap_or(first.score);
    let is_close = |score: f32, session: &Session| {
        score >= best * TIE && (score >= first.score * TIE || (sessions.is_here)(session))
    };
    let close =
        near.into_iter().filter(|(score, (session, _))| is_close(*score, session)).map(|(_, one)| one);
    let mut all: Vec<(Session, u32)> = [leader].into_iter().chain(close).collect();
    all.sort_by_key(|(session, chat)| (!(sessions.is_here)(session), Reverse(session.ended_at), *chat));
    all.into_iter().map(|(_, chat)| chat).collect()
}

/// The lead of the first over the next candidate that is not tied with it, as a share of its score.
pub fn lead_margin(chats: &[ChatHit], tied: &[u32], here: bool, sessions: &Sessions<'_>) -> f32 {
    let Some((first, others)) = chats.split_first() else { return 0.0 };
    let rival = |hit: &ChatHit| {
        let elsewhere = here && (sessions.load)(hit.chat).is_none_or(|session| !(sessions.is_here)(&session));
        hit.score * if elsewhere { ELSEWHERE } else { 1.0 }
    };
    let rivals = others.iter().filter(|hit| !tied.contains(&hit.chat));
    let rival = rivals.map(rival).fold(0.0, f32::max);
    (1.0 - rival / first.score.max(f32::MIN_POSITIVE)).max(0.0)
}
