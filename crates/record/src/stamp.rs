//! A point in time in milliseconds: how transcripts write it, how Loci prints it, which day it falls on.
//!
//! Does not know the current time: see [`crate::clock`].

use std::fmt;

/// Milliseconds since 1970-01-01 UTC. `Stamp::NONE` means that the record has no time; it sorts first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Stamp(pub i64);

impl Default for Stamp {
    fn default() -> Stamp {
        Stamp::NONE
    }
}

const DAY_MS: i64 = 86_400_000;

impl Stamp {
    pub const NONE: Stamp = Stamp(i64::MIN);

    pub fn is_some(self) -> bool {
        self != Stamp::NONE
    }

    /// Parses RFC 3339 as agents write it (`2026-11-14T22:58:34.112Z`) without the calendar library, and
    /// anything else RFC 3339 allows with it.
    pub fn parse(text: &[u8]) -> Stamp {
        parse_common(text).or_else(|| parse_with_jiff(text)).unwrap_or(Stamp::NONE)
    }

    /// Converts seconds or milliseconds, distinguished by size: 1e12 ms is the year 2001, 1e12 s the year
    /// 33,658.
    pub fn from_number(n: f64) -> Stamp {
        if !n.is_finite() || n <= 0.0 {
            return Stamp::NONE;
        }
        Stamp(if n > 1e11 { n as i64 } else { (n * 1000.0) as i64 })
    }

    #[must_use]
    pub fn or(self, other: Stamp) -> Stamp {
        if self.is_some() { self } else { other }
    }

    /// The UTC day, `2026-11-14`.
    pub fn utc_day(self) -> String {
        self.to_string().chars().take(10).collect()
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.to_rfc3339();
        f.write_str(std::str::from_utf8(&shown).unwrap_or(""))
    }
}

impl Stamp {
    /// `2026-11-14T22:58:34.112Z`, or empty. Every printed record has one, so the digits are written by hand.
    pub fn to_rfc3339(self) -> Vec<u8> {
        if !self.is_some() {
            return Vec::new();
        }
        let mut out = b"0000-00-00T00:00:00.000Z".to_vec();
        let (year, month, day) = civil_from_days(self.0.div_euclid(DAY_MS));
        let ms = self.0.rem_euclid(DAY_MS);
        let parts = [
            (0, 4, year.clamp(0, 9999)),
            (5, 2, month),
            (8, 2, day),
            (11, 2, ms / 3_600_000),
            (14, 2, ms / 60_000 % 60),
            (17, 2, ms / 1000 % 60),
            (20, 3, ms % 1000),
        ];
        for (at, width, mut n) in parts {
            for digit in out[at..at + width].iter_mut().rev() {
                *digit = b'0' + (n % 10) as u8;
                n /= 10;
            }
        }
        out
    }
}

/// Parses exactly `YYYY-MM-DDTHH:MM:SS[.mmm]Z`.
fn parse_common(b: &[u8]) -> Option<Stamp> {
    let milli = match b.len() {
        24 if b[19] == b'.' => parse_digits(&b[20..23])?,
        20 => 0,
        _ => return None,
    };
    let shape = b[4] == b'-' && b[7] == b'-' && b[10] == b'T' && b[13] == b':' && b[16] == b':';
    if !shape || b[b.len() - 1] != b'Z' {
        return None;
    }
    let (year, month, day) = (parse_digits(&b[..4])?, parse_digits(&b[5..7])?, parse_digits(&b[8..10])?);
    let (hour, minute, second) =
        (parse_digits(&b[11..13])?, parse_digits(&b[14..16])?, parse_digits(&b[17..19])?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let of_day = hour * 3_600_000 + minute * 60_000 + second * 1000 + milli;
    Some(Stamp(days_from_civil(year, month, day) * DAY_MS + of_day))
}

fn parse_with_jiff(b: &[u8]) -> Option<Stamp> {
    let stamp: jiff::Timestamp = std::str::from_utf8(b).ok()?.parse().ok()?;
    Some(Stamp(stamp.as_millisecond()))
}

fn parse_digits(b: &[u8]) -> Option<i64> {
    b.iter().try_fold(0, |n, c| c.is_ascii_digit().then(|| n * 10 + i64::from(c - b'0')))
}

/// Days since 1970-01-01 of a Gregorian date; eras of 400 years, years from March.
fn days_from_civil(y: i64, m: i64, d: i64) -> i64 {
    let y = if m <= 2 { y - 1 } else { y };
    let era = y.div_euclid(400);
    let of_era = y.rem_euclid(400);
    let of_year = (153 * ((m + 9) % 12) + 2) / 5 + d - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let z = days + 719_468;
    let (era, of_era) = (z.div_euclid(146_097), z.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::Stamp;

    #[test]
    fn times_are_parsed_as_agents_write_them() {
        for (text, shown) in [
            ("2026-11-14T22:58:34.112Z", "2026-11-14T22:58:34.112Z"),
            ("2026-11-14T22:58:34Z", "2026-11-14T22:58:34.000Z"),
            ("2026-11-14T22:58:34.112345678Z", "2026-11-14T22:58:34.112Z"),
            ("2026-11-14T23:58:34+01:00", "2026-11-14T22:58:34.000Z"),
            ("2024-02-29T00:00:00.000Z", "2024-02-29T00:00:00.000Z"),
            ("1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z"),
            ("yesterday", ""),
            ("2026-13-14T22:58:34.112Z", ""),
        ] {
            assert_eq!(Stamp::parse(text.as_bytes()).to_string(), shown, "{text}");
        }
    }

    #[test]
    fn seconds_and_milliseconds_are_distinguished() {
        assert_eq!(Stamp::from_number(1_794_698_919.0), Stamp::from_number(1_794_698_919_000.0));
        assert_eq!(Stamp::from_number(0.0), Stamp::NONE);
    }

    #[test]
    fn agrees_with_the_calendar_library() {
        for day in (-40_000..80_000).step_by(37) {
            let ours = Stamp(day * super::DAY_MS);
            let theirs = jiff::Timestamp::from_millisecond(ours.0).unwrap();
            assert_eq!(ours.to_string()[..19], theirs.to_string()[..19]);
            assert_eq!(Stamp::parse(ours.to_string().as_bytes()), ours);
        }
    }
}
