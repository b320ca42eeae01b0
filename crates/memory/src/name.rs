//! Derives a session's name: a line that the user would accept as its title, in the language of the prompt.
//!
//! Never empty, never an ID, never markup. Does not know which name a model would choose.

use crate::digest::{Digest, distinct_file_names, file_name, sorted_by_count};
use crate::entry::By;
use crate::pasted::own_lines;
use crate::phrases::{
    ACRONYMS, CLOSERS, EMPTY_TITLES, FILLERS, GENERIC_REQUEST_WORDS, HAN_OPENERS, INSPECTION_COMMANDS,
    OPENERS, QUESTIONS, ROLE_OPENERS,
};
use crate::prose::{display_width, is_han, prose_lines, split_sentences, strip_list_marker, strip_markup};
use crate::talk::Talk;
use crate::talk::central::Central;
use crate::talk::cues::fold;
use crate::talk::sentence::{content_words, parse_sentences};

/// Columns in a list; a Chinese character takes two.
pub(crate) const MAX_WIDTH: usize = 60;
/// A shorter clause says too little to represent its sentence.
const MIN_CLAUSE: usize = 18;
/// In a long session the first prompts state its purpose.
const MAX_PROMPTS: usize = 20;

pub(crate) fn derive_name(digest: &Digest, talk: &Talk) -> (String, By) {
    if let Some((title, by)) = name_from_title(digest) {
        return (title, by);
    }
    let requests =
        || digest.prompts.iter().take(MAX_PROMPTS).filter_map(|prompt| Request::from_prompt(&prompt.text));
    let central = Central::new(talk);
    let strong = central_request(digest, &central)
        .or_else(|| requests().find(|wish| wish.is_specific).map(|wish| wish.text))
        .map(|name| name_subject(name, talk, &central));
    let made = strong
        .or_else(|| digest.commits.iter().find_map(|commit| to_title(commit)))
        .or_else(|| name_from_files("Edit", "编辑", &digest.files_changed, digest))
        .or_else(|| requests().map(|wish| wish.text).find(|text| count_meaning(text) > 0))
        .or_else(|| name_from_slash_commands(&digest.slash_commands))
        .or_else(|| name_from_files("Look at", "查看", &digest.files_read, digest))
        .or_else(|| name_from_commands(&digest.commands))
        .or_else(|| name_from_reply(digest))
        // "Run it" says less than any action that was taken.
        .or_else(|| requests().next().map(|wish| wish.text));
    (made.unwrap_or_else(|| fallback_name(digest)), By::Derived)
}

/// Sentences of the first prompts among which the name is chosen. Most people begin with what they want: a later sentence
/// counts less, and must stand for much more of the session.
const FIRST_SENTENCES: usize = 4;
const LATER: f32 = 0.6;
const HEAD_START: f32 = 3.0;

/// The opening sentence that the rest of the session comes back to most: "Bad news." says nothing about it.
fn central_request(digest: &Digest, central: &Central) -> Option<String> {
    let heading = digest.prompts.first().and_then(|prompt| announced_heading(&prose_lines(&prompt.text)));
    if digest.replies.is_empty() || heading.is_some() {
        return heading;
    }
    let prose = digest.prompts.iter().take(2).map(|prompt| prose_lines(&own_lines(&prompt.text)));
    let sentences = prose.flat_map(|prose| parse_sentences(&prose));
    let titles = sentences.filter_map(|one| to_title(&one.text)).filter(|title| is_specific_title(title));
    let mut best: Option<(f32, String)> = None;
    for (nth, title) in titles.take(FIRST_SENTENCES).enumerate() {
        let head_start = if nth == 0 { HEAD_START } else { 0.0 };
        let weight =
            head_start + LATER.powi(nth as i32) * central.weigh(&content_words(&fold(&title))) as f32;
        if weight > best.as_ref().map_or(0.0, |(best, _)| *best) {
            best = Some((weight, title));
        }
    }
    best.map(|(_, title)| title)
}

/// The name with the words that the session comes back to and the name lacks. A long name makes room for them.
fn name_subject(name: String, talk: &Talk, central: &Central) -> String {
    let words = central.missing_from(&name, talk, 2);
    let suffix = match &words[..] {
        [] => return name,
        words => format!(" · {}", words.join(", ")),
    };
    let room = MAX_WIDTH.saturating_sub(display_width(&suffix));
    if room < MIN_CLAUSE {
        return name;
    }
    format!("{}{suffix}", truncate_to(&name, room))
}

/// "Done." is not a name.
fn name_from_reply(digest: &Digest) -> Option<String> {
    let prose = prose_lines(&digest.last_reply);
    split_sentences(&prose).into_iter().filter_map(to_title).find(|text| is_specific_title(text))
}

// ---- the agent's title

fn name_from_title(digest: &Digest) -> Option<(String, By)> {
    let best = digest.titles.iter().filter(|(title, by)| *by == By::Renamed || is_good_title(title));
    let (title, by) = best.max_by_key(|(_, by)| *by)?;
    let text = strip_markup(title);
    // A person's own words are kept, only joined into one line.
    let text = if *by == By::Renamed {
        text
    } else {
        to_title(strip_quotes(&text)).unwrap_or_else(|| truncate_title(strip_quotes(&text)))
    };
    (!text.is_empty()).then_some((text, *by))
}

/// The text without quotation marks around all of it: some agents put them around a title, some people around a prompt.
/// An opening mark whose counterpart is in a later sentence is removed too.
fn strip_quotes(text: &str) -> &str {
    const PAIRS: &[(char, char)] = &[('"', '"'), ('“', '”'), ('「', '」'), ('\'', '\'')];
    let opened = PAIRS.iter().find_map(|(open, close)| Some((text.strip_prefix(*open)?, *close)));
    let Some((inner, close)) = opened else { return text };
    if !inner.contains(close) {
        return inner;
    }
    let ended = inner.trim_end_matches(['.', '。']).strip_suffix(close);
    ended.filter(|inner| !inner.contains(close)).unwrap_or(text)
}

fn is_good_title(title: &str) -> bool {
    let lower = strip_markup(title).to_lowercase();
    let bare = lower.split(" - ").next().unwrap_or("").trim();
    let empty = EMPTY_TITLES.contains(&bare) || bare.starts_with("i'm ") || bare.starts_with("i’ll ");
    !empty && Request::from_prompt(title).is_some() && !is_id(bare)
}

/// A machine-generated word: a hash or a number.
fn is_id(word: &str) -> bool {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    plain && (word.len() >= 12 && digits * 4 >= word.len() || digits == word.len())
}

// ---- requests

/// A prompt's request as a title.
pub(crate) struct Request {
    pub(crate) text: String,
    /// Whether it can be understood without the messages before it.
    pub(crate) is_specific: bool,
}

impl Request {
    pub(crate) fn from_prompt(prompt: &str) -> Option<Request> {
        let prose = prose_lines(prompt);
        let mut weak = None;
        if let Some(text) = announced_heading(&prose) {
            return Some(Request { text, is_specific: true });
        }
        for sentence in split_sentences(&prose) {
            let Some(text) = to_title(sentence) else { continue };
            if is_specific_title(&text) {
                return Some(Request { text, is_specific: true });
            }
            weak = weak.or(Some(text));
        }
        weak.map(|text| Request { text, is_specific: false })
    }
}

/// The heading after an introduction: "Implement the following plan:", then `# Move sessions to JWT`.
fn announced_heading(prose: &str) -> Option<String> {
    let mut lines = prose.lines().filter(|line| !line.is_empty());
    let hands_over = lines.next()?.trim_end().ends_with([':', '：']);
    let heading = lines.next().filter(|line| hands_over && line.starts_with('#'))?;
    to_title(heading).filter(|text| is_specific_title(text))
}

/// A sentence as a title, if it has any content.
fn to_title(sentence: &str) -> Option<String> {
    let sentence = strip_markup(strip_list_marker(sentence));
    let sentence = strip_quotes(&sentence);
    let bare = strip_opening(strip_label(sentence));
    if is_command(sentence) || is_role(sentence) || is_role(&bare) {
        return None;
    }
    let bare = strip_closing(&bare);
    if is_filler(bare) || is_id(bare) {
        return None;
    }
    // "SCENARIO:slow run it" says less without its label.
    let bare =
        if count_meaning(bare) == 0 && is_specific_title(sentence) { strip_closing(sentence) } else { bare };
    let text = truncate_title(&spell_out_label(&shorten_paths(bare)));
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    (letters >= 2).then(|| capitalise_title(&text))
}

fn is_command(sentence: &str) -> bool {
    let first = sentence.split_whitespace().next().unwrap_or("");
    first.starts_with('/') && !first[1..].contains('/') && !first.contains('.')
}

/// "You are a senior engineer." occurs in every session.
fn is_role(sentence: &str) -> bool {
    let low = sentence.to_lowercase();
    ROLE_OPENERS.iter().any(|begin| low.starts_with(begin))
}

/// Removes a label before the sentence, in capitals or one that fits any prompt: `TASK: …`, `SCENARIO:basic …`. A
/// ticket number is kept.
fn strip_label(sentence: &str) -> &str {
    let Some((first, rest)) = sentence.split_once(char::is_whitespace) else { return sentence };
    let label = first.split(':').next().unwrap_or("");
    let shouted = label.len() >= 4 && label.chars().all(|c| c.is_ascii_uppercase());
    let is_label = label.len() < first.len() && (shouted || LABELS.contains(&label.to_lowercase().as_str()));
    let several = rest.split_whitespace().count() > 1 || rest.chars().any(is_han);
    if is_label && several { rest.trim_start() } else { sentence }
}

#[rustfmt::skip] // a table
const LABELS: &[&str] = &["task", "goal", "bug", "todo", "note", "request", "issue", "question", "feature", "plan"];

/// A label that is the whole title, spelled out: `SCENARIO:slow` becomes "Scenario: slow".
fn spell_out_label(text: &str) -> String {
    match text.split_once(':') {
        Some((label, word))
            if label.len() >= 4
                && !word.starts_with(' ')
                && !word.is_empty()
                && !word.contains(['/', ':']) =>
        {
            let shouted = label.chars().all(|c| c.is_ascii_uppercase());
            if shouted {
                format!("{}: {word}", capitalise_title(&label.to_lowercase()))
            } else {
                text.to_string()
            }
        }
        _ => text.to_string(),
    }
}

/// The sentence without its polite beginning.
fn strip_opening(sentence: &str) -> String {
    let mut rest = sentence.trim().trim_start_matches(['¿', '¡']);
    loop {
        let before = rest;
        for opener in OPENERS {
            rest = strip_opener(rest, opener);
        }
        for opener in HAN_OPENERS {
            // "好友" does not begin with "好".
            let inner =
                rest.strip_prefix(opener).filter(|inner| opener.chars().count() > 1 || begins_clause(inner));
            rest = inner.unwrap_or(rest).trim_start_matches(|c: char| "，,、。!！~ ".contains(c));
        }
        if rest == before {
            return rest.to_string();
        }
    }
}

fn begins_clause(rest: &str) -> bool {
    rest.starts_with(|c: char| "，,、。!！ ".contains(c))
        || !rest.starts_with(is_han)
        || rest.chars().count() > 3
}

/// An opener that ends in a space begins the sentence; any other is followed by a comma or a dash.
fn strip_opener<'t>(text: &'t str, opener: &str) -> &'t str {
    let Some(head) = text.get(..opener.len()).filter(|head| head.to_lowercase() == opener) else {
        return text;
    };
    let rest = &text[head.len()..];
    if opener.ends_with(' ') {
        return rest.trim_start();
    }
    if rest.starts_with(|c: char| ",.!:;—-".contains(c)) {
        return rest.trim_start_matches(|c: char| ",.!:;—- ".contains(c));
    }
    // "so the cache is empty" begins with the cache.
    let joins = ["so", "now", "ok", "okay", "and", "then", "also", "next", "please", "bitte", "por favor"]
        .contains(&opener);
    if joins && rest.starts_with(' ') { rest.trim_start() } else { text }
}

/// The sentence without its polite ending. A question keeps its question mark.
fn strip_closing(sentence: &str) -> &str {
    let mut text = sentence.trim_end();
    loop {
        let before = text;
        text = text.trim_end_matches(|c: char| ".!。！,，:：;；、~…".contains(c) || c.is_whitespace());
        for closer in CLOSERS {
            let cut = text.len().checked_sub(closer.len()).filter(|at| text.is_char_boundary(*at));
            let Some(at) = cut.filter(|at| text[*at..].to_lowercase() == **closer) else { continue };
            let apart = closer.chars().all(is_han) || text[..at].ends_with(|c: char| !c.is_alphanumeric());
            if apart && at > 0 {
                text = text[..at].trim_end();
            }
        }
        let asks =
            QUESTIONS.iter().any(|word| text.to_lowercase().starts_with(word)) || text.contains(is_han);
        if !asks {
            text = text.trim_end_matches('?');
        }
        if text == before {
            return text;
        }
    }
}

fn is_filler(sentence: &str) -> bool {
    let low = sentence.to_lowercase();
    let bare = low.trim_matches(|c: char| !c.is_alphanumeric());
    bare.is_empty() || FILLERS.contains(&bare)
}

/// Two meaningful words, or three characters.
fn is_specific_title(text: &str) -> bool {
    count_meaning(text) >= 4
}

/// How much the text says by itself: two for each meaningful word.
fn count_meaning(text: &str) -> usize {
    let han = text.chars().filter(|c| is_han(*c)).count();
    let words =
        text.split(|c: char| !c.is_alphanumeric() && !"_-'".contains(c)).filter(|word| !word.is_empty());
    let meant = words
        .filter(|word| {
            !GENERIC_REQUEST_WORDS.contains(&word.to_lowercase().as_str()) && !word.chars().any(is_han)
        })
        .count();
    let pointing = ["这个", "那个", "它", "一下", "继续", "刚才", "上面", "问题", "看看", "修复", "修改"];
    let pointed: usize =
        pointing.iter().filter(|word| text.contains(**word)).map(|word| word.chars().count()).sum();
    meant * 2 + han.saturating_sub(pointed) * 4 / 3
}

/// Shortens paths to file names and addresses to host names.
pub(crate) fn shorten_paths(text: &str) -> String {
    let words: Vec<(&str, String)> = text.split(' ').map(|word| (word, short_word(word))).collect();
    // `src/main.rs and tests/main.rs` would become one file.
    let is_twice =
        |(word, short): &(&str, String)| words.iter().any(|(other, same)| same == short && other != word);
    let display = |pair: &(&str, String)| if is_twice(pair) { pair.0.to_string() } else { pair.1.clone() };
    words.iter().map(display).collect::<Vec<_>>().join(" ")
}

fn short_word(word: &str) -> String {
    let around = |c: char| "()[]{}\"'“”‘’,;:.!?，。：；！？、".contains(c);
    let inner = word.trim_matches(around);
    if inner.is_empty() {
        return word.to_string();
    }
    let (head, tail) = word.split_once(inner).unwrap_or(("", ""));
    // Chinese adjoins a path without a space, so only characters that can occur in a path are considered.
    let shortened_parts = inner.split_inclusive(|c: char| is_han(c)).map(|part| {
        let end = part.find(is_han).unwrap_or(part.len());
        short_path(&part[..end]) + &part[end..]
    });
    format!("{head}{}{tail}", shortened_parts.collect::<String>())
}

fn short_path(word: &str) -> String {
    if let Some((_, address)) = word.split_once("://") {
        return address.split('/').next().unwrap_or(address).trim_start_matches("www.").to_string();
    }
    let path = word.strip_prefix('@').filter(|rest| rest.contains(['/', '.'])).unwrap_or(word);
    let rooted = path.starts_with(['/', '~']) || path.starts_with("./") || path.starts_with("../");
    let last = file_name(path);
    let is_file = last.split_once('.').is_some_and(|(stem, ending)| !stem.is_empty() && !ending.is_empty());
    let parts = path.matches('/').count();
    if parts > 0 && last.len() > 1 && (rooted && parts > 1 || is_file || parts > 2) {
        last.to_string()
    } else {
        path.to_string()
    }
}

// ---- length

/// Where a sentence can be cut: at punctuation between clauses, or else before a word that begins one.
#[rustfmt::skip] // a table
const CLAUSE_MARKS: &[&str] = &["; ", ": ", " — ", " – ", " - ", ", ", " (", "；", "，", "：", "（", "、"];
#[rustfmt::skip] // a table
const CLAUSE_WORDS: &[&str] = &[
    " because ", " so that ", " such that ", " which ", " while ", " since ", " before ", " after ", " when ", " where ",
    " if ", " and then ",
];

fn truncate_title(text: &str) -> String {
    let text = text.trim();
    if display_width(text) <= MAX_WIDTH {
        return text.to_string();
    }
    let fits = |at: &usize| (MIN_CLAUSE..=MAX_WIDTH).contains(&display_width(&text[..*at]));
    let ends = |mark: &str| text.match_indices(mark).map(|(at, _)| at).filter(fits).max();
    let last = |marks: &[&str]| marks.iter().filter_map(|mark| ends(mark)).max();
    let at = last(CLAUSE_MARKS).or_else(|| last(CLAUSE_WORDS));
    match at {
        Some(at) => text[..at].trim_end_matches(|c: char| ",;:，；：、 ".contains(c)).to_string(),
        None => truncate_at_word(text),
    }
}

fn truncate_at_word(text: &str) -> String {
    truncate_to(text, MAX_WIDTH)
}

/// Truncates at a space and appends `…`.
fn truncate_to(text: &str, width: usize) -> String {
    if display_width(text) <= width {
        return text.to_string();
    }
    let (mut taken, mut end, mut blank) = (0, 0, 0);
    for (at, c) in text.char_indices() {
        taken += display_width(c.encode_utf8(&mut [0; 4]));
        if taken > width - 1 {
            break;
        }
        end = at + c.len_utf8();
        if c == ' ' {
            blank = at;
        }
    }
    let end = if display_width(&text[..blank]) > width / 2 { blank } else { end };
    format!("{}…", text[..end].trim_end_matches(|c: char| ",;:，；：、 …".contains(c)))
}

/// Capitalises the first word, or all of an acronym, unless it is an identifier: `parse_line`, `iOS`, `a.rs`.
fn capitalise_title(text: &str) -> String {
    let first = text.split_whitespace().next().unwrap_or("");
    let named = first.contains(['_', '.', '/', '(', ':']) || first.chars().skip(1).any(char::is_uppercase);
    if ACRONYMS.contains(&first) {
        return first.to_uppercase() + &text[first.len()..];
    }
    let mut chars = text.chars();
    match chars.next() {
        Some(c) if !named && c.is_lowercase() => c.to_uppercase().chain(chars).collect(),
        _ => text.to_string(),
    }
}

// ---- sessions without requests

fn name_from_files(
    verb: &str,
    han: &str,
    files: &std::collections::BTreeMap<String, u32>,
    digest: &Digest,
) -> Option<String> {
    let paths = sorted_by_count(files);
    let names = distinct_file_names(&paths[..paths.len().min(2)]);
    let in_han = digest.prompts.iter().any(|prompt| prompt.text.chars().any(is_han));
    let (verb, and, more) = if in_han { (han, " 和 ", " 等文件") } else { (verb, " and ", " and more") };
    match &names[..] {
        [one, two] if paths.len() == 2 => Some(format!("{verb} {one}{and}{two}")),
        [one, two] if in_han => Some(format!("{verb} {one}、{two}{more}")),
        [one, two] => Some(format!("{verb} {one}, {two}{more}")),
        [one] => Some(format!("{verb} {one}")),
        _ => None,
    }
}

fn name_from_slash_commands(slashes: &[String]) -> Option<String> {
    let is_specific = |slash: &&String| {
        !["/clear", "/exit", "/quit", "/help", "/model", "/login", "/config"].contains(&slash.as_str())
    };
    slashes.iter().find(is_specific).map(|slash| format!("Run {}", truncate_title(&strip_markup(slash))))
}

/// The first command that shows what was attempted; inspection commands do not count.
fn name_from_commands(commands: &[String]) -> Option<String> {
    let main_part = |command: &String| {
        let line = command.lines().next()?.split(['|', '>', ';']).next()?;
        let line = line.split(" && ").last()?.trim();
        (!line.is_empty()).then(|| truncate_title(&shorten_paths(&strip_markup(line))))
    };
    let is_specific = |line: &String| !INSPECTION_COMMANDS.contains(&line.split(' ').next().unwrap_or(""));
    let specific = commands.iter().filter_map(main_part).find(is_specific);
    specific.or_else(|| commands.iter().find_map(main_part)).map(|line| format!("Run {line}"))
}

pub(crate) fn fallback_name(digest: &Digest) -> String {
    let (project, day) = (digest.project_name(), digest.started_at.or(digest.ended_at).utc_day());
    let place = if project.is_empty() { &digest.source } else { project };
    if day.is_empty() { format!("Session in {place}") } else { format!("Session in {place} on {day}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name_of(digest: &Digest) -> (String, By) {
        derive_name(digest, &Talk::new(digest))
    }
    use crate::digest::DigestMessage;
    use record::{Role, Stamp};

    fn sample_prompt(text: &str) -> DigestMessage {
        DigestMessage { id: "m".into(), role: Role::User, at: Stamp::NONE, text: text.into() }
    }

    fn name_of_prompts(prompts: &[&str]) -> String {
        let prompts = prompts.iter().map(|text| sample_prompt(text)).collect();
        name_of(&Digest { prompts, project: "/srv/shop".into(), started_at: Stamp(0), ..Digest::default() }).0
    }

    #[test]
    fn a_prompt_becomes_a_title() {
        for (prompts, title) in [
            (&["Can you please fix the flaky login test?"][..], "Fix the flaky login test"),
            (
                &["hi", "/clear", "please add a --json flag to src/cli/main.rs, thanks"],
                "Add a --json flag to main.rs",
            ),
            (&["帮我把 README 翻译成英文"], "把 README 翻译成英文"),
            (&["请帮我优化一下微信登录的架构，现在太慢了"], "优化一下微信登录的架构，现在太慢了"),
            (&["继续", "我想给 /srv/shop/src/api.ts 加上缓存"], "给 api.ts 加上缓存"),
            (&["SCENARIO:basic Please add a helper and test it."], "Add a helper and test it"),
            (&["SCENARIO:slow please"], "Scenario: slow"),
            (&["SCENARIO:hello path"], "Scenario: hello path"),
            (
                &["Why does the cache miss on every second request?"],
                "Why does the cache miss on every second request?",
            ),
            (
                &["You are a senior engineer. Refactor the payment retry loop."],
                "Refactor the payment retry loop",
            ),
            (
                &[
                    "It panics:\n```\nthread 'main' panicked\n```\nfind out why the parser panics on empty input",
                ],
                "Find out why the parser panics on empty input",
            ),
            (
                &["fix it", "the export button does nothing in Safari"],
                "The export button does nothing in Safari",
            ),
            (&["Kannst du bitte den Importer schneller machen?"], "Den Importer schneller machen"),
            (
                &["look at https://github.com/a/b/issues/12 and explain the race"],
                "Look at github.com and explain the race",
            ),
            (&["**Task:** `parse_line` drops the last token"], "parse_line drops the last token"),
            (
                &[
                    "<system-reminder>be brief</system-reminder>",
                    "[Image #1]",
                    "why is this layout broken on mobile",
                ],
                "Why is this layout broken on mobile",
            ),
            (
                &[
                    "We need to migrate the invoice service from REST to gRPC without breaking the mobile clients that still poll",
                ],
                "Migrate the invoice service from REST to gRPC without…",
            ),
            (
                &[
                    "In the settings page, when the user changes the language, the date format should follow it immediately",
                ],
                "In the settings page, when the user changes the language",
            ),
            (
                &[
                    "Implement the following plan:\n\n# Plan: Move sessions to JWT\n\n## Context\nSessions are in memory.",
                ],
                "Move sessions to JWT",
            ),
            (&["Fix the following error:\n\n  at foo (a.js:1)"], "Fix the following error"),
            (&["I want you to act as a staff engineer. Read the RFC on retries"], "Read the RFC on retries"),
            (&["ci is red again:\n\n    at a (b:1)"], "CI is red again"),
            (&["1. rename OrderService to OrderFacade\n2. move it"], "Rename OrderService to OrderFacade"),
            (&["update src/main.rs and tests/main.rs"], "Update src/main.rs and tests/main.rs"),
            (&["\"Fix the login. It fails.\""], "Fix the login"),
            (&["“add paging to the orders”"], "Add paging to the orders"),
            (&["SCENARIO:slow run it"], "Scenario: slow run it"),
            (&["SCENARIO:hello look at the picture"], "Look at the picture"),
            (&["run it"], "Run it"),
            (&["hello"], "Session in shop on 1970-01-01"),
            (&[], "Session in shop on 1970-01-01"),
        ] {
            assert_eq!(name_of_prompts(prompts), title, "{prompts:?}");
        }
    }

    /// A session of the table: its other content, then its prompts.
    fn digest_of_row(rest: &str, prompts: &str) -> Digest {
        let prompts = prompts.split(" ¶ ").filter(|text| !text.is_empty());
        let mut digest = Digest {
            prompts: prompts.map(|text| sample_prompt(&text.replace("\\n", "\n"))).collect(),
            project: "/srv/shop".into(),
            started_at: Stamp::parse(b"2026-03-04T09:00:00Z"),
            ..Digest::default()
        };
        for (what, of) in rest.split("; ").filter_map(|part| part.split_once(": ")) {
            let files = || of.split(", ").map(|file| (file.to_string(), 1)).collect();
            match what {
                "changed" => digest.files_changed = files(),
                "looked" => digest.files_read = files(),
                "commit" => digest.commits.push(of.into()),
                "command" => digest.commands.push(of.into()),
                "slash" => digest.slash_commands.push(of.into()),
                "title" => digest.titles.push((of.into(), By::Host)),
                "renamed" => digest.titles.push((of.into(), By::Renamed)),
                other => panic!("{other}"),
            }
        }
        digest
    }

    /// The documented table matches the derived names.
    #[test]
    fn the_documented_names_are_the_derived_names() {
        let table = include_str!("../../../docs/concepts/memory-names.tsv");
        let mut wrong = Vec::new();
        for row in table.lines().skip(1) {
            let cells: Vec<&str> = row.split('\t').collect();
            let [expected, rest, prompts] = cells[..] else { panic!("{row}") };
            let made = name_of(&digest_of_row(rest, prompts)).0;
            assert!(!made.is_empty() && display_width(&made) <= MAX_WIDTH, "{made}");
            if made != expected {
                wrong.push(format!("{made}\t{rest}\t{prompts}"));
            }
        }
        assert!(table.lines().count() > 30 && wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn an_agents_title_is_used_if_it_has_content() {
        for (titles, title, by) in [
            (vec![("Fix flaky login test", By::Host)], "Fix flaky login test", By::Host),
            (vec![("New session - 2026-11-12T10:00:00.000Z", By::Host)], "Add paging", By::Derived),
            (vec![("Greeting", By::Host), ("my refactoring", By::Renamed)], "my refactoring", By::Renamed),
            (vec![("975e66ab-1111-2222-3333-444455556666", By::Host)], "Add paging", By::Derived),
        ] {
            let titles = titles.into_iter().map(|(title, by)| (title.to_string(), by)).collect();
            let digest = Digest { titles, prompts: vec![sample_prompt("add paging")], ..Digest::default() };
            assert_eq!(name_of(&digest), (title.to_string(), by));
        }
    }

    #[test]
    fn a_session_without_requests_is_named_after_its_actions() {
        let files = |names: &[&str]| names.iter().map(|name| ((*name).to_string(), 1)).collect();
        let edited = Digest { files_changed: files(&["/p/lexer.rs", "/p/parser.rs"]), ..Digest::default() };
        assert_eq!(name_of(&edited).0, "Edit lexer.rs and parser.rs");
        let many = Digest {
            files_changed: files(&["/a.rs", "/b.rs", "/c.rs"]),
            prompts: vec![sample_prompt("继续")],
            ..Digest::default()
        };
        assert_eq!(name_of(&many).0, "编辑 a.rs、b.rs 等文件");
        let run =
            Digest { commands: vec!["ls".into(), "cd /p && cargo test | tail".into()], ..Digest::default() };
        assert_eq!(name_of(&run).0, "Run cargo test");
        let few = Digest { prompts: vec![sample_prompt("run it")], ..run };
        assert_eq!(name_of(&few).0, "Run cargo test", "`run it` names nothing");
        let twice =
            Digest { files_changed: files(&["/p/src/main.rs", "/p/tests/main.rs"]), ..Digest::default() };
        assert_eq!(name_of(&twice).0, "Edit src/main.rs and tests/main.rs");
        let committed = Digest { commits: vec!["Fix overflow in pager".into()], ..edited };
        assert_eq!(name_of(&committed).0, "Fix overflow in pager");
        let slash =
            Digest { slash_commands: vec!["/clear".into(), "/review 12".into()], ..Digest::default() };
        assert_eq!(name_of(&slash).0, "Run /review 12");
    }
}
