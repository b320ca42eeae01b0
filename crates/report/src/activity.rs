//! Counts events by weekday and hour in local time.
//!
//! Does not know what the events are.

use record::{Clock, Stamp};

/// Weekdays, Monday first, by hours.
pub(crate) struct Activity(Vec<[u64; 24]>);

impl Default for Activity {
    fn default() -> Activity {
        Activity(vec![[0; 24]; 7])
    }
}

impl Activity {
    /// An event without a time has neither weekday nor hour and is not counted.
    pub(crate) fn add_event(&mut self, at: Stamp, clock: Clock) {
        let Some([year, month, day, hour, _]) = clock.local_fields(at) else { return };
        let weekday = weekday_of(year, month, day);
        if let Some(count) = self.0.get_mut(weekday).and_then(|hours| hours.get_mut(hour as usize)) {
            *count += 1;
        }
    }

    pub(crate) fn into_rows(self) -> Vec<[u64; 24]> {
        self.0
    }
}

/// 0 for Monday. A date has the same weekday in every time zone.
fn weekday_of(year: i64, month: i64, day: i64) -> usize {
    let date = format!("{year:04}-{month:02}-{day:02}");
    // 1970-01-01 was a Thursday.
    day_number(&date).map_or(0, |number| (number + 3).rem_euclid(7) as usize)
}

/// Days since 1970-01-01 of a date such as `2026-11-14`.
pub(crate) fn day_number(date: &str) -> Option<i64> {
    const DAY_MS: i64 = 86_400_000;
    let midnight = Stamp::parse(format!("{date}T00:00:00Z").as_bytes());
    midnight.is_some().then(|| midnight.0.div_euclid(DAY_MS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_counted_by_weekday_and_hour() {
        let mut activity = Activity::default();
        for text in
            ["2026-11-16T00:30:00Z", "2026-11-16T00:59:59Z", "2026-11-15T23:00:00Z", "1969-12-31T05:00:00Z"]
        {
            activity.add_event(Stamp::parse(text.as_bytes()), Clock::At(Stamp(0)));
        }
        activity.add_event(Stamp::NONE, Clock::At(Stamp(0)));
        let rows = activity.into_rows();
        assert_eq!((rows[0][0], rows[6][23], rows[2][5]), (2, 1, 1), "Monday, Sunday, Wednesday");
        assert_eq!(rows.iter().flatten().sum::<u64>(), 4);
    }

    #[test]
    fn only_a_date_has_a_day_number() {
        assert_eq!(day_number("1970-01-02"), Some(1));
        assert_eq!(day_number("unknown"), None);
    }
}
