//! The current time, and times relative to it such as "since 3 days ago". No other module in Loci reads the
//! system clock.

use crate::Stamp;
use jiff::tz::TimeZone;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A clock that tests can stop: `Clock::At` always returns the same time.
#[derive(Clone, Copy, Debug)]
pub enum Clock {
    System,
    At(Stamp),
}

/// Parses a time without a zone, as clients write it that mean local time: `2026-11-16T01:41:58.887` or with a space
/// instead of the `T`. A time with a zone is read as such.
pub fn parse_local_time(text: &str) -> Stamp {
    let stamp = Stamp::parse(text.as_bytes());
    if stamp.is_some() {
        return stamp;
    }
    let Ok(civil) = text.trim().replacen(' ', "T", 1).parse::<jiff::civil::DateTime>() else {
        return Stamp::NONE;
    };
    civil.to_zoned(local_time_zone()).map_or(Stamp::NONE, |zoned| Stamp(zoned.timestamp().as_millisecond()))
}

impl Clock {
    #[allow(clippy::disallowed_methods)] // the only place that reads the clock
    pub fn now(self) -> Stamp {
        match self {
            Clock::System => Stamp(jiff::Timestamp::now().as_millisecond()),
            Clock::At(stamp) => stamp,
        }
    }

    /// Parses `7d`, `12h`, `30m`, `2w`, `today`, `yesterday`, a date, or an RFC 3339 time. A bare date is
    /// midnight in the machine's own time zone, as a person means it.
    pub fn parse_time(self, text: &str) -> Option<Stamp> {
        let text = text.trim();
        if let Some(span) = parse_duration_ms(text).or_else(|| parse_phrase_ms(text)) {
            return Some(Stamp(self.now().0 - span));
        }
        match text {
            "today" => return self.local_midnight(0),
            "yesterday" => return self.local_midnight(1),
            _ => {}
        }
        if let Ok(date) = text.parse::<jiff::civil::Date>()
            && !text.contains('T')
        {
            return midnight_of_date(date);
        }
        Some(Stamp::parse(text.as_bytes())).filter(|s| s.is_some())
    }

    /// Parses the same formats for the end of a range: a day lasts until its last millisecond.
    pub fn parse_end_time(self, text: &str) -> Option<Stamp> {
        let start = self.parse_time(text)?;
        let day = matches!(text.trim(), "today" | "yesterday")
            || text.trim().parse::<jiff::civil::Date>().is_ok() && !text.contains('T');
        if !day {
            return Some(start);
        }
        let zoned = jiff::Timestamp::from_millisecond(start.0).ok()?.to_zoned(local_time_zone());
        let next = zoned.date().tomorrow().ok()?;
        Some(Stamp(midnight_of_date(next)?.0 - 1))
    }

    /// Year, month, day, hour and minute in the user's time zone; a stopped clock uses UTC.
    pub fn local_fields(self, at: Stamp) -> Option<[i64; 5]> {
        let zone = match self {
            Clock::System => local_time_zone(),
            Clock::At(_) => TimeZone::UTC,
        };
        let zoned = jiff::Timestamp::from_millisecond(at.0).ok()?.to_zoned(zone);
        let (date, time) = (zoned.date(), zoned.time());
        Some([
            i64::from(date.year()),
            i64::from(date.month()),
            i64::from(date.day()),
            i64::from(time.hour()),
            i64::from(time.minute()),
        ])
    }

    /// The day in the user's time zone, `2026-11-14`; empty for no time.
    pub fn local_day(self, at: Stamp) -> String {
        let fields = if at.is_some() { self.local_fields(at) } else { None };
        fields.map_or_else(String::new, |[year, month, day, ..]| format!("{year:04}-{month:02}-{day:02}"))
    }

    /// The Monday of the week of a day, and the month of a day, in the user's time zone.
    pub fn local_week(self, at: Stamp) -> String {
        let day = self.local_day(at);
        let Ok(date) = day.parse::<jiff::civil::Date>() else { return day };
        let since_monday = i64::from(date.weekday().to_monday_zero_offset());
        date.checked_sub(jiff::Span::new().days(since_monday)).map_or(day, |monday| monday.to_string())
    }

    pub fn local_month(self, at: Stamp) -> String {
        self.local_day(at).chars().take(7).collect()
    }

    /// Day and minute in the user's time zone, `2026-11-14 22:58`.
    pub fn local_minute(self, at: Stamp) -> Option<String> {
        let [year, month, day, hour, minute] = self.local_fields(at)?;
        Some(format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}"))
    }

    /// The name of the user's time zone, as in `CET` or `+09`.
    pub fn zone_name(self) -> String {
        let zone = match self {
            Clock::System => local_time_zone(),
            Clock::At(_) => TimeZone::UTC,
        };
        let now = jiff::Timestamp::from_millisecond(self.now().0).unwrap_or_default();
        zone.to_offset_info(now).abbreviation().to_string()
    }

    fn local_midnight(self, days_ago: i64) -> Option<Stamp> {
        let now = jiff::Timestamp::from_millisecond(self.now().0).ok()?;
        let today = now.to_zoned(local_time_zone()).date();
        midnight_of_date(today.checked_sub(jiff::Span::new().days(days_ago)).ok()?)
    }
}

fn midnight_of_date(date: jiff::civil::Date) -> Option<Stamp> {
    let zoned = date.to_zoned(local_time_zone()).ok()?;
    Some(Stamp(zoned.timestamp().as_millisecond()))
}

/// How long the time zone is cached. Short enough that a long-running process notices when its user travels.
const ZONE_CACHE_TTL: Duration = Duration::from_mins(1);

/// The machine's own time zone, cached for `ZONE_CACHE_TTL`.
#[allow(clippy::disallowed_methods)] // the only place that reads the clock
fn local_time_zone() -> TimeZone {
    static LAST: Mutex<Option<(Instant, TimeZone)>> = Mutex::new(None);
    let Ok(mut last) = LAST.lock() else { return TimeZone::system() };
    if let Some((at, zone)) = &*last
        && at.elapsed() < ZONE_CACHE_TTL
    {
        return zone.clone();
    }
    let zone = read_zone(tz_override().as_deref(), &zoneinfo_dir()).unwrap_or_else(TimeZone::system);
    *last = Some((Instant::now(), zone.clone()));
    zone
}

/// The value of `TZ`, which overrides the machine's time zone for this process.
#[allow(clippy::disallowed_methods)] // the only place that reads `TZ`
pub fn tz_override() -> Option<String> {
    std::env::var_os("TZ").map(|name| name.to_str().unwrap_or("?").to_string())
}

#[allow(clippy::disallowed_methods)] // the only place that reads `TZDIR`
fn zoneinfo_dir() -> PathBuf {
    let set = std::env::var_os("TZDIR").filter(|place| !place.is_empty());
    set.map_or_else(|| PathBuf::from("/usr/share/zoneinfo"), PathBuf::from)
}

/// Reads a single file, where the library would first list every zone on the machine: 1,300 files here, which
/// cost a hook more than all its other work for most prompts. Returns None for anything more complex, such as
/// `CET-1CEST`.
fn read_zone(named: Option<&str>, zones: &Path) -> Option<TimeZone> {
    let file = match named {
        None => PathBuf::from("/etc/localtime"),
        Some("") => return Some(TimeZone::UTC),
        Some(name) => zones.join(Some(name.trim_start_matches(':')).filter(|name| is_zone_name(name))?),
    };
    TimeZone::tzif("", &std::fs::read(file).ok()?).ok()
}

/// Whether this is a plain name such as `Europe/Berlin` that cannot lead out of the zone directory.
fn is_zone_name(name: &str) -> bool {
    let fine = |c: char| c.is_ascii_alphanumeric() || "_-+/".contains(c);
    name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(fine)
}

/// Other ways to say how long ago: `7 days`, `2 weeks ago`, `last week`, and a bare number of days.
fn parse_phrase_ms(text: &str) -> Option<i64> {
    const DAY_MS: i64 = 86_400_000;
    let folded = text.to_lowercase().replace([' ', '-', '_'], "");
    let text = folded.strip_suffix("ago").unwrap_or(&folded);
    let text = text.strip_prefix("last").or_else(|| text.strip_prefix("past")).unwrap_or(text);
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number = if digits == 0 { 1 } else { text[..digits].parse::<i64>().ok()? };
    let unit = match &text[digits..] {
        "" if (1..=5).contains(&digits) => DAY_MS,
        "minute" | "minutes" | "min" | "mins" => 60_000,
        "hour" | "hours" => 3_600_000,
        "day" | "days" => DAY_MS,
        "week" | "weeks" => 7 * DAY_MS,
        "month" | "months" => 30 * DAY_MS,
        "year" | "years" => 365 * DAY_MS,
        _ => return None,
    };
    number.checked_mul(unit)
}

fn parse_duration_ms(text: &str) -> Option<i64> {
    let unit = match text.bytes().last()? {
        b's' => 1000,
        b'm' => 60_000,
        b'h' => 3_600_000,
        b'd' => 86_400_000,
        b'w' => 7 * 86_400_000,
        _ => return None,
    };
    let n: i64 = text[..text.len() - 1].parse().ok()?;
    n.checked_mul(unit).filter(|n| *n >= 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_mean_what_a_person_means() {
        let clock = Clock::At(Stamp(1_000 * 86_400_000));
        let days_ago = |text: &str| clock.parse_time(text).map(|at| 1_000 - at.0 / 86_400_000);
        for (text, days) in [
            ("7", 7),
            ("7 days", 7),
            ("7d", 7),
            ("2 weeks ago", 14),
            ("last week", 7),
            ("lastweek", 7),
            ("past 3 months", 90),
            ("last year", 365),
            ("1 Day Ago", 1),
        ] {
            assert_eq!(days_ago(text), Some(days), "{text}");
        }
        for text in ["soon", "last", "", "2026", "7 parsecs", "ago", "99999999999999999999 days"] {
            assert!(clock.parse_time(text).is_none() || text == "2026", "{text}");
        }
    }

    #[test]
    fn a_time_has_local_calendar_fields() {
        let clock = Clock::At(Stamp(0));
        assert_eq!(
            clock.local_fields(Stamp::parse(b"2026-11-15T12:34:56.000Z")),
            Some([2026, 11, 15, 12, 34])
        );
        assert_eq!(clock.local_fields(Stamp::NONE), None);
    }

    #[test]
    fn a_zone_is_read_from_its_file_as_the_library_would() {
        let zones = zoneinfo_dir();
        let noon = jiff::Timestamp::from_second(1_794_744_000).unwrap();
        let mut compared = 0;
        for name in ["Europe/Berlin", ":Asia/Shanghai", "America/St_Johns", "UTC", "Etc/GMT+5"] {
            let Some(ours) = read_zone(Some(name), &zones) else { continue }; // a machine without a zone database
            let theirs = TimeZone::get(name.trim_start_matches(':')).unwrap();
            assert_eq!(ours.to_datetime(noon), theirs.to_datetime(noon), "{name}");
            compared += 1;
        }
        assert!(compared == 5 || !zones.exists(), "{compared} of 5");
        assert_eq!(read_zone(Some(""), &zones), Some(TimeZone::UTC), "set and empty, as POSIX has it");
        for other in
            ["?", "CET-1CEST,M3.5.0,M10.5.0/3", "../../etc/localtime", "/etc/localtime", "Nowhere/Such", ":"]
        {
            assert!(read_zone(Some(other), &zones).is_none(), "{other}");
        }
    }

    #[test]
    fn relative_and_absolute_times_are_parsed() {
        let clock = Clock::At(Stamp::parse(b"2026-11-15T12:00:00.000Z"));
        for (text, expected) in [
            ("7d", "2026-11-08T12:00:00.000Z"),
            ("90m", "2026-11-15T10:30:00.000Z"),
            ("2w", "2026-11-01T12:00:00.000Z"),
            ("2026-11-01T00:00:00Z", "2026-11-01T00:00:00.000Z"),
        ] {
            assert_eq!(clock.parse_time(text).unwrap().to_string(), expected, "{text}");
        }
        let day = clock.parse_end_time("2026-11-01").unwrap().0 - clock.parse_time("2026-11-01").unwrap().0;
        assert!((82_799_999..=90_000_000).contains(&day), "a day, including clock changes: {day}");
        assert_eq!(clock.parse_end_time("7d"), clock.parse_time("7d"));
        for bad in ["", "soon", "-3d", "d", "99999999999999999999d", "2026-99-01"] {
            assert!(clock.parse_time(bad).is_none(), "{bad}");
        }
    }
}
