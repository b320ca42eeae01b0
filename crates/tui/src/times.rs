//! Times as lists show them: local, short, and the same width in every row.
//!
//! Does not know the current time: the clock is passed in.

use api::search::TimeRange;
use record::{Clock, Stamp};

/// `2026-11-17`, with a word for today and yesterday.
pub(crate) fn day_heading(clock: Clock, at: Option<i64>) -> String {
    let Some(at) = at else { return "unknown day".to_string() };
    let day = clock.local_day(Stamp(at));
    let is_day = |word: &str| clock.parse_time(word).is_some_and(|start| clock.local_day(start) == day);
    match ["today", "yesterday"].into_iter().find(|word| is_day(word)) {
        Some(word) => format!("{day} ({word})"),
        None => day,
    }
}

/// `09:30`.
pub(crate) fn clock_time(clock: Clock, at: Option<i64>) -> String {
    let fields = at.and_then(|at| clock.local_fields(Stamp(at)));
    fields.map_or_else(String::new, |[.., hour, minute]| format!("{hour:02}:{minute:02}"))
}

/// `2026-11-17`.
pub(crate) fn day(clock: Clock, at: Option<i64>) -> String {
    at.map_or_else(String::new, |at| clock.local_day(Stamp(at)))
}

/// `2026-11-17 09:30`.
pub(crate) fn minute(clock: Clock, at: Option<i64>) -> String {
    format!("{} {}", day(clock, at), clock_time(clock, at)).trim().to_string()
}

/// `2026-11-17 09:30 – 2026-11-17 10:10`.
pub(crate) fn range(clock: Clock, range: TimeRange) -> String {
    format!("{} – {}", minute(clock, range.from), minute(clock, range.to))
}

/// The milliseconds of a time in a record.
pub(crate) fn parse_ms(text: Option<&str>) -> Option<i64> {
    let stamp = Stamp::parse(text?.as_bytes());
    stamp.is_some().then_some(stamp.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_near_the_current_one_have_a_word() {
        let now = Stamp::parse(b"2026-11-17T12:00:00Z");
        let clock = Clock::At(now);
        let back = |days: i64| day_heading(clock, Some(now.0 - days * 86_400_000));
        assert_eq!(back(0), "2026-11-17 (today)");
        assert_eq!(back(1), "2026-11-16 (yesterday)");
        assert_eq!(back(2), "2026-11-15");
        assert_eq!(day_heading(clock, None), "unknown day");
        assert_eq!(minute(clock, Some(now.0)), "2026-11-17 12:00");
        assert_eq!(clock_time(clock, None), "");
    }
}
