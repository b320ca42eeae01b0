//! What happened in a session, in three to five plain sentences with dates: what was asked, what was touched and run, how
//! it ended.
//!
//! Does not judge whether it went well; what is quoted is quoted.

use crate::digest::{Digest, by_count, file_name};
use crate::name::{Wish, shortened};
use crate::prose::{plain, prose, sentences, width};
use crate::words::QUIET;

/// How much of a quotation is shown.
const QUOTED: usize = 160;
const NAMED: usize = 4;

pub(crate) fn summary(digest: &Digest) -> String {
    let said = [Some(asked(digest)), went_on(digest), touched(digest), ran(digest), ended(digest)];
    said.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn asked(digest: &Digest) -> String {
    let (day, project) = (digest.started_at.or(digest.ended_at).day(), digest.project_name());
    let place = if project.is_empty() { String::new() } else { format!(" in {project}") };
    let on = if day.is_empty() { String::new() } else { format!("On {day}") };
    let begin = if on.is_empty() && place.is_empty() {
        "The user".to_string()
    } else {
        format!("{on}{place} the user")
    };
    let begin = begin.trim_start().to_string();
    let wishes = || digest.prompts.iter().filter_map(|said| quote(&said.text));
    let first = digest
        .prompts
        .iter()
        .filter(|said| Wish::of(&said.text).is_some_and(|wish| wish.says_enough))
        .find_map(|said| quote(&said.text));
    match first.or_else(|| wishes().next()) {
        Some(wish) => format!("{begin} asked {}: “{wish}”.", digest.source),
        None => format!("{begin} worked with {} and asked for nothing in words.", digest.source),
    }
}

/// The last of several requests, where it says more than the first.
fn went_on(digest: &Digest) -> Option<String> {
    let more = digest.prompts.len().checked_sub(2)?;
    let last = digest
        .prompts
        .iter()
        .rev()
        .take(more + 1)
        .find(|said| Wish::of(&said.text).is_some_and(|wish| wish.says_enough))?;
    let wish = quote(&last.text)?;
    let between = if more == 0 { String::new() } else { format!(", after {}", plural(more, "more request")) };
    Some(format!("The last request was{between}: “{wish}”."))
}

fn touched(digest: &Digest) -> Option<String> {
    let (verb, files) = if digest.changed.is_empty() {
        ("Looked at", &digest.looked_at)
    } else {
        ("Changed", &digest.changed)
    };
    let names: Vec<&str> = by_count(files).into_iter().map(file_name).collect();
    (!names.is_empty()).then(|| format!("{verb} {}.", listed(&names)))
}

fn ran(digest: &Digest) -> Option<String> {
    let mut parts = Vec::new();
    let mut heads: Vec<String> = Vec::new();
    for head in digest.commands.iter().filter_map(|command| head_of(command)) {
        if !heads.contains(&head) {
            heads.push(head);
        }
    }
    if !heads.is_empty() {
        parts.push(format!("ran {}", listed(&heads.iter().map(String::as_str).collect::<Vec<_>>())));
    }
    if let Some(commit) = digest.commits.last() {
        let many = if digest.commits.len() > 1 {
            format!(" and {} more", digest.commits.len() - 1)
        } else {
            String::new()
        };
        parts.push(format!("committed “{}”{many}", cut(&plain(commit))));
    }
    if digest.errors > 0 {
        parts.push(format!("{} of {} failed", digest.errors, plural(digest.calls as usize, "call")));
    }
    let text = parts.join("; ");
    let mut letters = text.chars();
    let first = letters.next()?;
    Some(format!("{}{}.", first.to_uppercase(), letters.as_str()))
}

/// A command's program, and what it was to do: `cargo test`, `git commit`.
fn head_of(command: &str) -> Option<String> {
    let line = command.lines().next()?.split(" && ").last()?.split(['|', ';', '>']).next()?;
    let mut words = line.split_whitespace().filter(|word| !word.contains('='));
    let program = file_name(words.next()?).to_string();
    if QUIET.contains(&program.as_str()) {
        return None;
    }
    let verb = words.next().filter(|word| {
        word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.starts_with('-') && word.len() > 1
    });
    Some(verb.map_or(program.clone(), |verb| format!("{program} {verb}")))
}

fn ended(digest: &Digest) -> Option<String> {
    let prose = prose(&digest.last_reply);
    let mut quoted = String::new();
    for sentence in sentences(&prose).into_iter().map(plain).filter(|sentence| !sentence.is_empty()) {
        if !quoted.is_empty() && width(&quoted) + width(&sentence) > QUOTED {
            break;
        }
        quoted = format!("{quoted} {sentence}").trim_start().to_string();
    }
    let day = digest.ended_at.day();
    let on = if day.is_empty() { String::new() } else { format!(" on {day}") };
    (!quoted.is_empty()).then(|| format!("It ended{on} with: “{}”.", cut(quoted.trim_end_matches('.'))))
}

/// The sentences of a prompt that a person wrote, on one line.
fn quote(prompt: &str) -> Option<String> {
    let said = sentences(&prose(prompt))
        .into_iter()
        .map(|sentence| shortened(&plain(sentence)))
        .collect::<Vec<_>>()
        .join(" ");
    let said = said.trim_end_matches(['.', '。']).trim();
    (said.chars().filter(|c| c.is_alphabetic()).count() > 1).then(|| cut(said))
}

fn cut(text: &str) -> String {
    if width(text) <= QUOTED {
        return text.to_string();
    }
    let (mut taken, mut out) = (0, String::new());
    for c in text.chars() {
        taken += width(c.encode_utf8(&mut [0; 4]));
        if taken > QUOTED - 1 {
            break;
        }
        out.push(c);
    }
    let whole = out.rfind(' ').filter(|at| *at > out.len() / 2).unwrap_or(out.len());
    format!("{}…", &out[..whole])
}

fn listed(names: &[&str]) -> String {
    let shown = names.iter().take(NAMED).copied().collect::<Vec<_>>();
    let more = names.len().saturating_sub(NAMED);
    match (more, &shown[..]) {
        (0, [one]) => (*one).to_string(),
        (0, [all @ .., last]) => format!("{} and {last}", all.join(", ")),
        _ => format!("{} and {more} more", shown.join(", ")),
    }
}

fn plural(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Said;
    use record::{Role, Stamp};

    fn said(text: &str) -> Said {
        Said { id: "m".into(), role: Role::User, at: Stamp::NONE, text: text.into() }
    }

    #[test]
    fn a_session_is_told_in_a_few_sentences() {
        let digest = Digest {
            source: "claude-code".into(),
            project: "/srv/shop".into(),
            started_at: Stamp::parse(b"2026-11-12T10:00:00Z"),
            ended_at: Stamp::parse(b"2026-11-13T10:00:00Z"),
            prompts: vec![
                said("hi"),
                said("Fix the pager in src/pager.rs. It skips a row."),
                said("now add a test for an empty page"),
            ],
            changed: [("/srv/shop/src/pager.rs".to_string(), 3), ("/srv/shop/tests/pager.rs".to_string(), 1)]
                .into(),
            commands: vec!["cargo test -p shop".into(), "git commit -m x".into(), "ls".into()],
            commits: vec!["Show the last row of a page".into()],
            calls: 9,
            errors: 1,
            last_reply: "Done. Both tests pass.\n```\nlog\n```".into(),
            ..Digest::default()
        };
        assert_eq!(
            summary(&digest),
            "On 2026-11-12 in shop the user asked claude-code: “Fix the pager in pager.rs. It skips a row”. \
             The last request was, after 1 more request: “now add a test for an empty page”. Changed pager.rs and pager.rs. \
             Ran cargo test and git commit; committed “Show the last row of a page”; 1 of 9 calls failed. \
             It ended on 2026-11-13 with: “Done. Both tests pass”."
        );
    }

    #[test]
    fn nothing_is_said_of_what_is_not_known() {
        assert_eq!(
            summary(&Digest { source: "codex".into(), ..Digest::default() }),
            "The user worked with codex and asked for nothing in words."
        );
    }
}
