//! What a prompt says about an earlier session: its subject and its time.
//!
//! Does not know any language.

/// What a prompt says about something that was.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// What it is about, without the words that only refer.
    pub subject: String,
    /// When it was, if that was said.
    pub time: Option<Time>,
    /// It can hardly mean anything else, as "we decided last week" does; "the script we wrote" could be of today.
    pub plain: bool,
}

/// A time that a prompt names: its words, as they are shown, and between how many days ago it lies.
#[derive(Clone, Debug, PartialEq)]
pub struct Time {
    pub words: String,
    pub days: (f64, f64),
}

impl Time {
    pub(crate) fn new(words: &str, days: (f64, f64)) -> Time {
        Time { words: words.to_string(), days }
    }
}

/// What one sentence says: the time it names, whether it refers plainly.
pub(crate) struct Cue {
    pub(crate) time: Option<Time>,
    pub(crate) plain: bool,
}

/// Any time at all narrows nothing.
pub(crate) const ANY: f64 = 3650.0;
/// How many days ago a month of the last twelve was.
pub(crate) fn month_ago(month: i64, today: (i64, i64)) -> (f64, f64) {
    let back = (today.0 - month).rem_euclid(12) as f64;
    let begun = today.1 as f64 + 30.5 * back;
    // Work of the 31st is remembered as that of the 1st, and the other way round.
    ((begun - 35.0).max(0.0), begun + 4.0)
}
