//! Recognises a day or month in a query: `7 July, 2023`, `May 2023`, `2023-07-07`, `2023年7月`.
//!
//! Does not know the current date: "last month" becomes `from` and `to` before it gets here.

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAY_MS: i64 = 86_400_000;
/// A day's events are discussed on that day and on this many days after it.
const DISCUSSED_DAYS: i64 = 7;

/// A named day or month.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NamedDate {
    year: Option<i64>,
    month: i64,
    day: Option<i64>,
}

impl NamedDate {
    /// The first date in a phrase. A month alone does not count: it may be a name, or the verb.
    pub(crate) fn parse(phrase: &str) -> Option<NamedDate> {
        let lower = phrase.to_lowercase();
        let words: Vec<&str> =
            lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        (0..words.len())
            .find_map(|at| parse_written(&words, at))
            .or_else(|| parse_numeric(&words))
            .or_else(|| parse_chinese(&lower))
    }

    /// Whether a time in milliseconds is within that period or shortly after.
    pub(crate) fn contains_time(&self, at: i64) -> bool {
        let day = at.div_euclid(DAY_MS);
        let year = self.year.unwrap_or_else(|| year_of(day - DISCUSSED_DAYS));
        let from = days_since_epoch(year, self.month, self.day.unwrap_or(1));
        let to = match self.day {
            Some(_) => from,
            None if self.month == 12 => days_since_epoch(year + 1, 1, 1) - 1,
            None => days_since_epoch(year, self.month + 1, 1) - 1,
        };
        (from..=to + DISCUSSED_DAYS).contains(&day)
    }
}

/// A month name with a day or a year next to it.
fn parse_written(words: &[&str], at: usize) -> Option<NamedDate> {
    let month = MONTHS.iter().position(|short| is_month(words[at], short))? as i64 + 1;
    let number = |at: Option<usize>| at.and_then(|at| words.get(at)).and_then(|word| parse_number(word));
    let (before, after, later) = (number(at.checked_sub(1)), number(Some(at + 1)), number(Some(at + 2)));
    let day = |number: &i64| (1..=31).contains(number);
    let year = |number: &i64| (1970..2200).contains(number);
    let named = NamedDate {
        month,
        day: before.filter(day).or(after.filter(day)),
        year: after.filter(year).or(later.filter(year)),
    };
    (named.day.is_some() || named.year.is_some()).then_some(named)
}

fn is_month(word: &str, short: &str) -> bool {
    const LONG: [&str; 13] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "sept",
        "october",
        "november",
        "december",
    ];
    word == short || (word.starts_with(short) && LONG.contains(&word))
}

/// `7`, and also `7th`.
fn parse_number(word: &str) -> Option<i64> {
    word.trim_end_matches(|c: char| c.is_ascii_lowercase()).parse().ok()
}

/// `2023-07-07` or `2023/7`.
fn parse_numeric(words: &[&str]) -> Option<NamedDate> {
    words.windows(2).enumerate().find_map(|(at, pair)| {
        let year = pair[0].parse().ok().filter(|year| pair[0].len() == 4 && (1970..2200).contains(year))?;
        let month = pair[1].parse().ok().filter(|month| (1..=12).contains(month))?;
        let day = words.get(at + 2).and_then(|day| day.parse().ok()).filter(|day| (1..=31).contains(day));
        Some(NamedDate { year: Some(year), month, day })
    })
}

/// `2023年7月7日`, `7月7日`, `2023年7月`.
fn parse_chinese(text: &str) -> Option<NamedDate> {
    let (before, after) = text.split_once('月')?;
    let month = trailing_number(before).filter(|month| (1..=12).contains(month))?;
    let year = before.split_once('年').and_then(|(year, _)| trailing_number(year));
    let day = after.split_once(['日', '号']).and_then(|(day, _)| day.trim().parse().ok());
    (year.is_some() || day.is_some()).then_some(NamedDate { year, month, day })
}

/// The number at the end of a text.
fn trailing_number(text: &str) -> Option<i64> {
    let text = text.trim_end();
    let from = text.char_indices().rev().take_while(|(_, c)| c.is_ascii_digit()).last()?.0;
    text[from..].parse().ok()
}

/// Days since 1970, computed with years that begin in March so that the leap day comes last.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    year.div_euclid(400) * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn year_of(day: i64) -> i64 {
    let guess = 1970 + day.div_euclid(365);
    (guess - 2..=guess).rev().find(|year| days_since_epoch(*year, 1, 1) <= day).unwrap_or(guess)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_parsed_from_phrases() {
        let named = |year, month, day| Some(NamedDate { year, month, day });
        for (phrase, date) in [
            ("what happened on 7 July, 2023?", named(Some(2023), 7, Some(7))),
            ("on May 3, 2023", named(Some(2023), 5, Some(3))),
            ("in May 2023", named(Some(2023), 5, None)),
            ("the 3rd of may", None),
            ("march 3rd", named(None, 3, Some(3))),
            ("we may ship", None),
            ("released 2026-11-15", named(Some(2026), 11, Some(15))),
            ("2023年7月的部署", named(Some(2023), 7, None)),
            ("7月7日的会议", named(None, 7, Some(7))),
            ("status 2023 500", None),
        ] {
            assert_eq!(NamedDate::parse(phrase), date, "{phrase}");
        }
    }

    #[test]
    fn a_day_includes_the_days_after_it() {
        let at = |year, month, day| days_since_epoch(year, month, day) * DAY_MS + 1;
        let day = NamedDate { year: Some(2023), month: 12, day: Some(30) };
        assert!(day.contains_time(at(2023, 12, 30)) && day.contains_time(at(2024, 1, 3)));
        assert!(!day.contains_time(at(2023, 12, 29)) && !day.contains_time(at(2024, 1, 9)));
        let any = NamedDate { year: None, month: 12, day: Some(30) };
        assert!(any.contains_time(at(2021, 12, 31)) && any.contains_time(at(2024, 1, 3)));
        let month = NamedDate { year: Some(2023), month: 5, day: None };
        assert!(month.contains_time(at(2023, 5, 31)) && !month.contains_time(at(2023, 4, 30)));
    }
}
