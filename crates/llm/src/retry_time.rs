//! Until when to wait, from a provider's message: a number of seconds, a date, or a sentence such as "You've hit your weekly
//! limit · resets Nov 18 at 3am".
//!
//! Does not know time zones: a sentence that names none, or another, is taken as UTC. Half a day too early costs one refused
//! call; half a day too late costs half a day.

use record::Stamp;

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;

const MONTHS: &[&str] = &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Phrases that report an exhausted quota, in lower case. Seen from Claude Code, Anthropic, `OpenAI` and similar providers.
const QUOTA_PHRASES: &[&str] = &[
    "weekly limit",
    "usage limit",
    "session limit",
    "5-hour limit",
    "five-hour limit",
    "monthly limit",
    "spending limit",
    "spend limit",
    "limit reached",
    "reached your limit",
    "hit your limit",
    "quota exceeded",
    "exceeded your current quota",
    "insufficient_quota",
    "insufficient credit",
    "out of credits",
    "credit balance is too low",
    "billing_hard_limit",
];
/// A longer text is an answer that mentions limits.
const MAX_MESSAGE_BYTES: usize = 600;
/// Wait this long if no time is given: a call that is refused again costs little.
const DEFAULT_WAIT_MS: i64 = HOUR_MS;

/// Parses `Retry-After`: seconds, or an HTTP date.
pub(crate) fn parse_retry_after(text: &str, now: Stamp) -> Option<Stamp> {
    match text.trim().parse::<f64>() {
        Ok(seconds) if seconds.is_finite() && seconds >= 0.0 => Some(Stamp(now.0 + (seconds * 1e3) as i64)),
        Ok(_) => None,
        Err(_) => parse_http_date(text.trim()),
    }
}

/// `Wed, 18 Nov 2026 03:00:00 GMT`
fn parse_http_date(text: &str) -> Option<Stamp> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [_, day, month, year, time, "GMT"] = words[..] else { return None };
    utc_stamp(year.parse().ok()?, month_number(month)?, day.parse().ok()?, time)
}

/// If the text reports an exhausted quota, returns until when.
pub(crate) fn quota_reset_time(text: &str, now: Stamp) -> Option<Stamp> {
    let text = text.trim().to_lowercase();
    if text.len() > MAX_MESSAGE_BYTES || !QUOTA_PHRASES.iter().any(|words| text.contains(words)) {
        return None;
    }
    Some(
        parse_reset_time(&text, now)
            .filter(|until| until.0 > now.0)
            .unwrap_or(Stamp(now.0 + DEFAULT_WAIT_MS)),
    )
}

fn parse_reset_time(text: &str, now: Stamp) -> Option<Stamp> {
    // `Claude AI usage limit reached|1763175600`
    if let Some(seconds) = text.rsplit_once('|').and_then(|(_, end)| end.trim().parse::<i64>().ok()) {
        return Some(Stamp(seconds * 1000));
    }
    let after = ["resets", "reset", "try again", "available again"]
        .iter()
        .find_map(|word| text.split_once(word).map(|(_, after)| after))?;
    let words: Vec<&str> = after
        .split(|c: char| c.is_whitespace() || "(),·|".contains(c))
        .filter(|word| !word.is_empty())
        .collect();
    parse_duration(&words)
        .map(|span| Stamp(now.0 + span))
        .or_else(|| parse_date(&words, now))
        .or_else(|| parse_clock_time(&words, now))
}

/// `in 2 days 3 hours`, `in 45m`
fn parse_duration(words: &[&str]) -> Option<i64> {
    let at = words.iter().position(|word| *word == "in")? + 1;
    let mut sum = None;
    let mut number: Option<i64> = None;
    for word in &words[at..] {
        let digits = word.trim_end_matches(|c: char| !c.is_ascii_digit());
        let unit = &word[digits.len()..];
        number = digits.parse().ok().or(number);
        let Some(scale) = unit_millis(unit) else { continue };
        sum = Some(sum.unwrap_or(0) + number.take()?.checked_mul(scale)?);
    }
    sum
}

fn unit_millis(unit: &str) -> Option<i64> {
    match unit.trim_end_matches('.') {
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1000),
        "m" | "min" | "mins" | "minute" | "minutes" => Some(MINUTE_MS),
        "h" | "hr" | "hrs" | "hour" | "hours" => Some(HOUR_MS),
        "d" | "day" | "days" => Some(DAY_MS),
        _ => None,
    }
}

/// `nov 18 at 3am`, `2026-11-18t03:00:00z`
fn parse_date(words: &[&str], now: Stamp) -> Option<Stamp> {
    let whole = |word: &&str| Some(Stamp::parse(word.to_uppercase().as_bytes())).filter(|at| at.is_some());
    if let Some(at) = words.iter().find_map(whole) {
        return Some(at);
    }
    let at = words.iter().position(|word| month_number(word).is_some())?;
    let month = month_number(words[at])?;
    let day = words.get(at + 1)?.trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse().ok()?;
    let time = words[at..].iter().find_map(|word| parse_hour(word)).unwrap_or_else(|| "00:00:00".to_string());
    let year: i64 = now.utc_day().get(..4)?.parse().ok()?;
    let this_year = utc_stamp(year, month, day, &time)?;
    // A date in the past is in the next year, unless it is today.
    if this_year.0 + DAY_MS > now.0 { Some(this_year) } else { utc_stamp(year + 1, month, day, &time) }
}

/// `3pm`, `at 15:30`: the next occurrence of that time.
fn parse_clock_time(words: &[&str], now: Stamp) -> Option<Stamp> {
    let time = words.iter().find_map(|word| parse_hour(word))?;
    let today = Stamp::parse(format!("{}T{time}Z", now.utc_day()).as_bytes());
    today.is_some().then(|| if today.0 > now.0 { today } else { Stamp(today.0 + DAY_MS) })
}

/// `3pm`, `3:30am`, `15:30` as `15:00:00`, `03:30:00`, `15:30:00`.
fn parse_hour(word: &str) -> Option<String> {
    let (digits, half) = match word.strip_suffix("am") {
        Some(digits) => (digits, Some(0)),
        None => word.strip_suffix("pm").map_or((word, None), |digits| (digits, Some(12))),
    };
    let (hour, minute) = digits.split_once(':').unwrap_or((digits, "0"));
    if half.is_none() && !digits.contains(':') {
        return None;
    }
    let (hour, minute): (u32, u32) = (hour.parse().ok()?, minute.parse().ok()?);
    let hour = half.map_or(hour, |half| hour % 12 + half);
    (hour < 24 && minute < 60).then(|| format!("{hour:02}:{minute:02}:00"))
}

fn month_number(word: &str) -> Option<i64> {
    let low = word.to_lowercase();
    let low = low.get(..3).filter(|_| low.chars().all(char::is_alphabetic))?;
    MONTHS.iter().position(|month| *month == low).map(|at| at as i64 + 1)
}

fn utc_stamp(year: i64, month: i64, day: i64, time: &str) -> Option<Stamp> {
    Some(Stamp::parse(format!("{year:04}-{month:02}-{day:02}T{time}Z").as_bytes())).filter(|at| at.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Stamp {
        Stamp::parse(b"2026-11-15T12:00:00Z")
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        for (text, expected) in [
            ("0", "2026-11-15T12:00:00.000Z"),
            ("3037", "2026-11-15T12:50:37.000Z"),
            ("1.5", "2026-11-15T12:00:01.500Z"),
            ("Wed, 18 Nov 2026 03:00:00 GMT", "2026-11-18T03:00:00.000Z"),
            ("soon", ""),
            ("-5", ""),
            ("inf", ""),
        ] {
            assert_eq!(parse_retry_after(text, now()).unwrap_or(Stamp::NONE).to_string(), expected, "{text}");
        }
    }

    #[test]
    fn quota_messages_in_prose_are_parsed() {
        for (text, expected) in [
            ("You've hit your weekly limit · resets Nov 18 at 3am (UTC)", "2026-11-18T03:00:00.000Z"),
            ("You've hit your weekly limit · resets Nov 18, 3:30pm", "2026-11-18T15:30:00.000Z"),
            ("You've hit your session limit · resets 3pm (Europe/Berlin)", "2026-11-15T15:00:00.000Z"),
            ("5-hour limit reached ∙ resets 9am", "2026-11-16T09:00:00.000Z"),
            ("Claude AI usage limit reached|1763211600", "2025-11-15T13:00:00.000Z"),
            ("Claude AI usage limit reached|1794751200", "2026-11-15T14:00:00.000Z"),
            ("Usage limit: try again in 2 days 3 hours", "2026-11-17T15:00:00.000Z"),
            ("usage limit, try again in 45m.", "2026-11-15T12:45:00.000Z"),
            ("Monthly limit. Resets 2026-12-01T00:00:00Z.", "2026-11-15T13:00:00.000Z"),
            ("Monthly limit. Resets 2026-12-01T00:00:00Z", "2026-12-01T00:00:00.000Z"),
            ("weekly limit, resets Jan 2", "2027-01-02T00:00:00.000Z"),
            ("Your credit balance is too low to access the API", "2026-11-15T13:00:00.000Z"),
            ("weekly limit · resets in the spring", "2026-11-15T13:00:00.000Z"),
            ("The rate limiter of the proxy was rewritten", ""),
            ("{\"session_name\":\"Paging\"}", ""),
        ] {
            let found = quota_reset_time(text, now()).unwrap_or(Stamp::NONE).to_string();
            // A time in the past gives the default wait.
            let expected = if expected.starts_with("2025") { "2026-11-15T13:00:00.000Z" } else { expected };
            assert_eq!(found, expected, "{text}");
        }
        assert_eq!(quota_reset_time(&format!("{} weekly limit", "x".repeat(700)), now()), None);
    }
}
