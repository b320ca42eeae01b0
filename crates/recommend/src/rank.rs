//! Which of the sessions that a search found may be meant: those that fit equally well, and how far the first is ahead.
//!
//! Does not search, and does not know where sessions are kept.

use record::Session;
use search::ChatHit;
use std::cmp::Reverse;

/// A rival of another project counts for so much less where the first is of this one.
const ELSEWHERE: f32 = 0.85;
/// Nearer than this to the first, one cannot be told from it by its words.
const TIE: f32 = 0.93;

/// What is known of the sessions behind the hits.
pub struct Sessions<'a> {
    /// The session of a conversation's number; none where it is gone.
    pub of: &'a dyn Fn(u32) -> Option<Session>,
    /// Whether a session is of the project that the person works in.
    pub is_here: &'a dyn Fn(&Session) -> bool,
}

/// Those that fit about as well as the first: of this project before others, the latest first. What was talked about twice
/// is meant as of the last time.
pub fn tied(chats: &[ChatHit], sessions: &Sessions<'_>) -> Vec<u32> {
    let best = chats.first().map_or(0.0, |first| first.score);
    let close = chats.iter().take_while(|hit| hit.score >= best * TIE);
    let close = close.filter_map(|hit| Some(((sessions.of)(hit.chat)?, hit.chat)));
    let mut all: Vec<(Session, u32)> = close.collect();
    all.sort_by_key(|(session, chat)| (!(sessions.is_here)(session), Reverse(session.ended_at), *chat));
    all.into_iter().map(|(_, chat)| chat).collect()
}

/// How far the first is ahead of the next that could be meant and is not tied with it, as a share of its score.
pub fn margin(chats: &[ChatHit], tied: &[u32], here: bool, sessions: &Sessions<'_>) -> f32 {
    let Some((first, others)) = chats.split_first() else { return 0.0 };
    let rival = |hit: &ChatHit| {
        let elsewhere = here && (sessions.of)(hit.chat).is_none_or(|session| !(sessions.is_here)(&session));
        hit.score * if elsewhere { ELSEWHERE } else { 1.0 }
    };
    let rivals = others.iter().filter(|hit| !tied.contains(&hit.chat));
    let rival = rivals.map(rival).fold(0.0, f32::max);
    (1.0 - rival / first.score.max(f32::MIN_POSITIVE)).max(0.0)
}
