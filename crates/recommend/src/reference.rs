//! A reference from a prompt to an earlier session: its subject and its time.
//!
//! Does not know any language.

/// What a prompt says about an earlier session.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// The subject, without the words that only refer back.
    pub subject: String,
    /// The time, if the prompt names one.
    pub time: Option<Time>,
    /// A rule found it. Otherwise other signs suggest it, and the subject is the prompt as a whole.
    pub cued: bool,
    /// The reference is explicit, as in "we decided last week"; "the script we wrote" could be from today.
    pub plain: bool,
}

/// A time that a prompt names: its words, as displayed, and the range in days before today.
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

/// The reference found in one sentence: its time, and whether it is explicit.
pub(crate) struct Cue {
    pub(crate) time: Option<Time>,
    pub(crate) plain: bool,
}

/// The upper bound of a time that does not narrow the search, in days.
pub(crate) const ANY: f64 = 3650.0;

/// The range in days before today of the last occurrence of a month.
pub(crate) fn month_ago(month: i64, today: (i64, i64)) -> (f64, f64) {
    let back = (today.0 - month).rem_euclid(12) as f64;
    let begun = today.1 as f64 + 30.5 * back;
    // Tolerance: people confuse the last days of a month with the first days of the next.
    ((begun - 35.0).max(0.0), begun + 4.0)
}
