//! Summarises a session in one to five plain sentences with dates: what was asked, what was touched and run, how it
//! ended. A part without content gets no sentence.
//!
//! Does not judge whether the session was successful; quotations are verbatim.

use crate::digest::{Digest, distinct_file_names, file_name, sorted_by_count};
use crate::entry::{Kind, NotedFact, State, normalise_text};
use crate::name::Request;
use crate::phrases::INSPECTION_COMMANDS;
use crate::prose::{display_width, quote_verbatim};
use crate::talk::Talk;
use crate::talk::central::Central;
use crate::talk::sentence::Sentence;

/// Maximum width of a quotation.
const MAX_QUOTE_WIDTH: usize = 160;
const MAX_NAMES: usize = 4;
/// Facts of one kind and sentences of the middle that are quoted.
const MAX_QUOTED_FACTS: usize = 4;
const MAX_MIDDLE: usize = 2;
/// A sentence below it says little about the session.
const MIN_DENSITY: f32 = 4.0;

pub(crate) fn summarise_session(digest: &Digest, talk: &Talk, facts: &[NotedFact]) -> String {
    let sentences = [
        Some(first_request_sentence(digest)),
        last_request_sentence(digest),
        facts_sentence("Found", facts, &[Kind::Cause]),
        facts_sentence("Decided", facts, &[Kind::Decision, Kind::Rule, Kind::Preference, Kind::Constraint]),
        facts_sentence("Left open", facts, &[Kind::Open]),
        middle_sentence(digest, talk, facts),
        files_sentence(digest),
        commands_sentence(digest),
        ending_sentence(digest),
    ];
    sentences.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Indices of the first and the last request. The first is the earliest that can be understood alone, or else the
/// earliest of any.
fn find_requests(digest: &Digest) -> Option<(usize, usize)> {
    let wish = |at: &usize| Request::from_prompt(&digest.prompts[*at].text);
    let all = || (0..digest.prompts.len()).filter(|at| quote_text(&digest.prompts[*at].text).is_some());
    let clear = all().find(|at| wish(at).is_some_and(|wish| wish.is_specific));
    let first = clear.or_else(|| all().find(|at| wish(at).is_some())).or_else(|| all().next())?;
    let last = all().rev().find(|at| wish(at).is_some());
    Some((first, last.filter(|last| *last > first).unwrap_or(first)))
}

fn first_request_sentence(digest: &Digest) -> String {
    let (day, project) = (digest.started_at.or(digest.ended_at).utc_day(), digest.project_name());
    let place = if project.is_empty() { String::new() } else { format!(" in {project}") };
    let on = if day.is_empty() { String::new() } else { format!("On {day}") };
    let begin = if on.is_empty() && place.is_empty() {
        "The user".to_string()
    } else {
        format!("{on}{place} the user")
    };
    let begin = begin.trim_start().to_string();
    match find_requests(digest).and_then(|(first, _)| quote_text(&digest.prompts[first].text)) {
        Some(wish) => format!("{begin} asked {}: “{wish}”.", digest.source),
        None => format!("{begin} worked with {} and asked for nothing in words.", digest.source),
    }
}

/// The last of several requests, if it differs from the first.
fn last_request_sentence(digest: &Digest) -> Option<String> {
    let (first, last) = find_requests(digest)?;
    let (begun, wish) = (quote_text(&digest.prompts[first].text)?, quote_text(&digest.prompts[last].text)?);
    let more = digest.prompts[first..last]
        .iter()
        .skip(1)
        .filter(|prompt| Request::from_prompt(&prompt.text).is_some())
        .count();
    let between =
        if more == 0 { String::new() } else { format!(", after {}", format_count(more, "more request")) };
    (normalise_text(&begun) != normalise_text(&wish))
        .then(|| format!("The last request was{between}: “{wish}”."))
}

/// What was found, decided or left open, in the words of the facts that are kept.
fn facts_sentence(title: &str, facts: &[NotedFact], kinds: &[Kind]) -> Option<String> {
    let chosen = facts.iter().filter(|fact| kinds.contains(&fact.kind) && fact.state != State::Review);
    let quoted: Vec<String> =
        chosen.take(MAX_QUOTED_FACTS).map(|fact| format!("“{}”", truncate_quote(&fact.text))).collect();
    (!quoted.is_empty()).then(|| format!("{title}: {}.", quoted.join("; ")))
}

/// What the middle of the session came back to most, if no fact says it.
fn middle_sentence(digest: &Digest, talk: &Talk, facts: &[NotedFact]) -> Option<String> {
    let central = Central::new(talk);
    let said =
        |text: &str| facts.iter().any(|fact| fact.text.contains(text)) || digest.last_reply.contains(text);
    let middle = talk.turns.iter().skip(1).flat_map(|turn| &turn.sentences);
    let mut best: Vec<(f32, &Sentence)> = middle
        .filter(|sentence| !sentence.is_question && !sentence.is_small_talk && !said(&sentence.text))
        .map(|sentence| (central.density(sentence), sentence))
        .filter(|(density, _)| *density >= MIN_DENSITY)
        .collect();
    best.sort_by(|a, b| b.0.total_cmp(&a.0));
    let quoted: Vec<String> = best
        .iter()
        .take(MAX_MIDDLE)
        .map(|(_, sentence)| format!("“{}”", truncate_quote(sentence.text.trim_end_matches(['.', '。']))))
        .collect();
    (!quoted.is_empty()).then(|| format!("In between: {}.", quoted.join("; ")))
}

fn files_sentence(digest: &Digest) -> Option<String> {
    let (verb, files) = if digest.files_changed.is_empty() {
        ("Looked at", &digest.files_read)
    } else {
        ("Changed", &digest.files_changed)
    };
    let names = distinct_file_names(&sorted_by_count(files));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    (!names.is_empty()).then(|| format!("{verb} {}.", join_names(&names)))
}

fn commands_sentence(digest: &Digest) -> Option<String> {
    let mut parts = Vec::new();
    if let Some(heads) = list_command_heads(&digest.commands) {
        parts.push(format!("ran {heads}"));
    }
    if let Some(commit) = digest.commits.last() {
        let many = if digest.commits.len() > 1 {
            format!(" and {} more", digest.commits.len() - 1)
        } else {
            String::new()
        };
        parts.push(format!("committed “{}”{many}", truncate_quote(&quote_verbatim(commit))));
    }
    if digest.errors > 0 {
        let of_them = list_command_heads(&digest.failed_commands)
            .map_or_else(String::new, |heads| format!(" ({heads})"));
        parts.push(format!(
            "{} of {} failed{of_them}",
            digest.errors,
            format_count(digest.calls as usize, "call")
        ));
    }
    let text = parts.join("; ");
    let mut letters = text.chars();
    let first = letters.next()?;
    Some(format!("{}{}.", first.to_uppercase(), letters.as_str()))
}

/// The programs that were run, each once.
fn list_command_heads(commands: &[String]) -> Option<String> {
    let mut heads: Vec<String> = Vec::new();
    for head in commands.iter().filter_map(|command| command_head(command)) {
        if !heads.contains(&head) {
            heads.push(head);
        }
    }
    (!heads.is_empty()).then(|| join_names(&heads.iter().map(String::as_str).collect::<Vec<_>>()))
}

/// A command's program and its subcommand: `cargo test`, `git commit`.
fn command_head(command: &str) -> Option<String> {
    let line = command.lines().next()?.split(" && ").last()?.split(['|', ';', '>']).next()?;
    let mut words = line.split_whitespace().filter(|word| !word.contains('='));
    let program = file_name(words.next()?).to_string();
    if INSPECTION_COMMANDS.contains(&program.as_str()) {
        return None;
    }
    let verb = words.next().filter(|word| {
        word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.starts_with('-') && word.len() > 1
    });
    Some(verb.map_or(program.clone(), |verb| format!("{program} {verb}")))
}

/// A reply before the last request does not conclude the session.
fn ending_sentence(digest: &Digest) -> Option<String> {
    let day = digest.ended_at.utc_day();
    let on = if day.is_empty() { String::new() } else { format!(" on {day}") };
    let reply = quote_text(&digest.last_reply);
    let behind = digest.prompts.len().saturating_sub(digest.unanswered_prompts);
    if digest.prompts[behind..].iter().all(|prompt| Request::from_prompt(&prompt.text).is_none()) {
        return reply.map(|reply| format!("It ended{on} with: “{reply}”."));
    }
    let before = reply.map_or_else(String::new, |reply| format!("; the reply before it was “{reply}”"));
    Some(format!("It ended{on} with the last request open: no reply follows it{before}."))
}

/// The text that its author wrote, verbatim.
fn quote_text(text: &str) -> Option<String> {
    let text = quote_verbatim(text);
    let text = text.strip_suffix(['.', '。']).filter(|text| !text.ends_with('.')).unwrap_or(&text).trim();
    (text.chars().filter(|c| c.is_alphabetic()).count() > 1).then(|| truncate_quote(text))
}

/// Truncates at the end of a sentence, or else of a word, and appends `…`.
fn truncate_quote(text: &str) -> String {
    if display_width(text) <= MAX_QUOTE_WIDTH {
        return text.to_string();
    }
    let (mut taken, mut end) = (0, 0);
    for (at, c) in text.char_indices() {
        taken += display_width(c.encode_utf8(&mut [0; 4]));
        if taken > MAX_QUOTE_WIDTH - 2 {
            break;
        }
        end = at + c.len_utf8();
    }
    let whole = |place: Option<usize>| place.filter(|place| *place > end / 2);
    let sentence = whole(text[..end].rfind(". ").map(|at| at + 1));
    let sentence = sentence.or_else(|| whole(text[..end].rfind('。').map(|at| at + '。'.len_utf8())));
    match sentence {
        Some(at) => format!("{} …", &text[..at]),
        None => format!("{}…", &text[..whole(text[..end].rfind(' ')).unwrap_or(end)]),
    }
}

fn join_names(names: &[&str]) -> String {
    let first_names = names.iter().take(MAX_NAMES).copied().collect::<Vec<_>>();
    let more = names.len().saturating_sub(MAX_NAMES);
    match (more, &first_names[..]) {
        (0, [one]) => (*one).to_string(),
        (0, [all @ .., last]) => format!("{} and {last}", all.join(", ")),
        _ => format!("{} and {more} more", first_names.join(", ")),
    }
}

fn format_count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::DigestMessage;
    use record::{Role, Stamp};

    fn summary_of(digest: &Digest) -> String {
        summarise_session(digest, &Talk::new(digest), &[])
    }

    fn sample_prompt(text: &str) -> DigestMessage {
        DigestMessage { id: "m".into(), role: Role::User, at: Stamp::NONE, text: text.into() }
    }

    #[test]
    fn a_session_is_summarised_in_a_few_sentences() {
        let digest = Digest {
            source: "claude-code".into(),
            project: "/srv/shop".into(),
            started_at: Stamp::parse(b"2026-11-12T10:00:00Z"),
            ended_at: Stamp::parse(b"2026-11-13T10:00:00Z"),
            prompts: vec![
                sample_prompt("hi"),
                sample_prompt("Fix the pager in src/pager.rs. It skips a row."),
                sample_prompt("again without the index"),
                sample_prompt("now add a test for an empty page"),
            ],
            files_changed: [
                ("/srv/shop/src/pager.rs".to_string(), 3),
                ("/srv/shop/tests/pager.rs".to_string(), 1),
            ]
            .into(),
            commands: vec!["cargo test -p shop".into(), "git commit -m x".into(), "ls".into()],
            failed_commands: vec!["curl http://x.example".into()],
            commits: vec!["Show the last row of a page".into()],
            calls: 9,
            errors: 1,
            last_reply: "Done. Both tests pass.\n```\nlog\n```".into(),
            ..Digest::default()
        };
        assert_eq!(
            summary_of(&digest),
            "On 2026-11-12 in shop the user asked claude-code: “Fix the pager in src/pager.rs. It skips a row”. \
             The last request was, after 1 more request: “now add a test for an empty page”. Changed src/pager.rs and \
             tests/pager.rs. Ran cargo test and git commit; committed “Show the last row of a page”; 1 of 9 calls failed (curl). \
             It ended on 2026-11-13 with: “Done. Both tests pass. …”."
        );
    }

    #[test]
    fn a_request_without_a_reply_is_reported_as_open() {
        let summarise = |prompts: &[&str], unanswered, reply: &str| {
            let prompts = prompts.iter().map(|text| sample_prompt(text)).collect();
            summary_of(&Digest {
                prompts,
                unanswered_prompts: unanswered,
                last_reply: reply.into(),
                ..Digest::default()
            })
        };
        for (prompts, unanswered, reply, end) in [
            (
                &["split orders.ts up", "now deploy the orders"][..],
                1,
                "Done.",
                "It ended with the last request open: no reply follows it; the reply before it was “Done”.",
            ),
            (&["split orders.ts up"], 1, "", "It ended with the last request open: no reply follows it."),
            (&["split orders.ts up", "thanks, perfect"], 1, "Done.", "It ended with: “Done”."),
            (&["split orders.ts up", "now deploy the orders"], 0, "Done.", "It ended with: “Done”."),
        ] {
            let text = summarise(prompts, unanswered, reply);
            assert!(text.ends_with(end), "{text}");
            let both = prompts.len() > 1 && Request::from_prompt(prompts[1]).is_some();
            assert_eq!(text.contains("The last request was: “now deploy the orders”."), both, "{text}");
        }
    }

    #[test]
    fn one_request_is_mentioned_once() {
        let prompts = vec![sample_prompt("hi"), sample_prompt("migrate the invoices to gRPC")];
        let text = summary_of(&Digest { prompts, last_reply: "Done.".into(), ..Digest::default() });
        assert_eq!(text.matches("migrate the invoices").count(), 1, "{text}");
    }

    #[test]
    fn failed_commands_are_not_reported_as_run() {
        let digest = Digest {
            failed_commands: vec!["curl -O http://x.example".into()],
            calls: 2,
            errors: 2,
            ..Digest::default()
        };
        let text = summary_of(&digest);
        assert!(text.ends_with("2 of 2 calls failed (curl)."), "{text}");
        assert!(!text.contains("Ran"), "{text}");
    }

    #[test]
    fn unknown_parts_are_left_out() {
        assert_eq!(
            summary_of(&Digest { source: "codex".into(), ..Digest::default() }),
            "The user worked with codex and asked for nothing in words."
        );
    }
}
