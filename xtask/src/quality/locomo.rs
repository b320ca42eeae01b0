//! `LoCoMo`: ten long dialogues of dated sessions, and questions with the turns that answer them.
//!
//! Does not use the answers: only the session that contains one must be found. The data is evaluated and never copied.

use super::set::{LabelledQuery, Message, Session, Set};
use search::Part;
use serde_json::Value;
use std::path::Path;

pub(crate) const CATEGORIES: [&str; 5] =
    ["1 multi-hop", "2 temporal", "3 open-domain", "4 single-hop", "5 adversarial"];

pub(crate) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// One set per dialogue; the few questions without evidence are skipped.
pub(crate) fn load_sets(path: &Path) -> Result<Vec<Set>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let data: Value = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    let dialogues = data.as_array().ok_or("expected a list of dialogues")?;
    Ok(dialogues.iter().enumerate().map(|(at, dialogue)| dialogue_set(at, dialogue)).collect())
}

fn dialogue_set(at: usize, dialogue: &Value) -> Set {
    let conversation = &dialogue["conversation"];
    let (mut numbers, mut sessions) = (Vec::new(), Vec::new());
    for number in 1..100 {
        if let Some(turns) =
            conversation[format!("session_{number}")].as_array().filter(|turns| !turns.is_empty())
        {
            let date =
                parse_date(conversation[format!("session_{number}_date_time")].as_str().unwrap_or_default());
            numbers.push(number);
            sessions.push(parse_session(turns, conversation["speaker_a"].as_str().unwrap_or_default(), date));
        }
    }
    let queries = dialogue["qa"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|question| parse_question(question, &numbers));
    Set { name: format!("locomo-{at}"), queries: queries.collect(), sessions }
}

/// A turn as a chat message: the speaker, the text, and the caption of an attached image.
fn parse_session(turns: &[Value], person: &str, at: i64) -> Session {
    let message = |(nth, turn): (usize, &Value)| {
        let speaker = turn["speaker"].as_str().unwrap_or_default();
        let mut text = format!("{speaker}: {}", turn["text"].as_str().unwrap_or_default());
        if let Some(caption) = turn["blip_caption"].as_str() {
            text.push_str("\n[image: ");
            text.push_str(caption);
            text.push(']');
        }
        let part = if speaker == person { Part::Person } else { Part::Assistant };
        Message { part, at: at + nth as i64 * 30_000, text }
    };
    Session { title: None, messages: turns.iter().enumerate().map(message).collect() }
}

fn parse_question(question: &Value, numbers: &[usize]) -> Option<LabelledQuery> {
    let evidence = question["evidence"].as_array()?.iter().filter_map(Value::as_str);
    // `D3:11`, occasionally several in one text.
    let named = evidence.flat_map(|text| text.split([';', ' ', ',']));
    let session = |name: &str| name.trim().strip_prefix('D')?.split(':').next()?.parse::<usize>().ok();
    let right: Vec<usize> = named
        .filter_map(session)
        .filter_map(|number| numbers.iter().position(|known| *known == number))
        .collect();
    let category = question["category"].as_u64()? as usize;
    let kind = CATEGORIES.get(category.checked_sub(1)?)?.to_string();
    let query = question["question"].as_str()?.to_owned();
    (!right.is_empty()).then_some(LabelledQuery { query, kind, right, ..LabelledQuery::default() })
}

/// Parses `1:56 pm on 8 May, 2023`, to the day.
fn parse_date(text: &str) -> i64 {
    let words: Vec<&str> = text.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    let [.., day, month, year] = words[..] else { return 0 };
    let month = MONTHS.iter().position(|known| *known == month).unwrap_or_default() as i64 + 1;
    let (day, year) = (day.parse().unwrap_or(1), year.parse().unwrap_or(1970));
    days_since_epoch(year, month, day) * 86_400_000
}

/// Days since 1970, counted from March so that a leap day comes last.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    year.div_euclid(400) * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_parsed_to_the_day() {
        assert_eq!(parse_date("1:56 pm on 8 May, 2023"), 1_683_504_000_000);
    }
}
