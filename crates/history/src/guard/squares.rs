//! Finds markers in square brackets: `[INST]`, `[/TOOL_RESULTS]`, `[|user|]`, `[Request interrupted by user]`.
//!
//! Does not know angle brackets.

use super::fold::fold_char;
use super::names::{MAX_NAME, Meaning, Name, first_letter, is_pair_word, is_role};
use super::openers::{after_bar, split_lead};
use rustc_hash::FxHashSet;
use std::cell::OnceCell;

/// Markup of forums, which is closed in the same way.
#[rustfmt::skip]
const FORUM: &[&str] = &[
    "b", "i", "u", "s", "url", "img", "quote", "code", "list", "size", "color", "colour", "font", "center", "left", "right", "table", "tr",
    "td", "th", "spoiler", "youtube", "video", "email", "sub", "sup", "hr", "align", "indent", "li", "ul", "ol", "pre", "tt", "attach", "php",
    "html", "sql", "noparse", "h",
];

pub(super) struct Squares<'t> {
    text: &'t str,
    closed: OnceCell<FxHashSet<String>>,
    is_template: OnceCell<bool>,
}

impl<'t> Squares<'t> {
    pub(super) fn new(text: &'t str) -> Squares<'t> {
        Squares { text, closed: OnceCell::new(), is_template: OnceCell::new() }
    }

    /// Whether the bracket at this position begins a marker that models were trained on, or that looks like a message of the system.
    pub(super) fn is_marker(&self, at: usize, after: usize) -> bool {
        let tail = &self.text[after..];
        // Most brackets are links, lists and indexes.
        let Some(first) = tail.chars().find(|c| *c != ' ') else { return false };
        if first.is_ascii() && !(first.is_ascii_alphabetic() || matches!(first, '/' | '|' | '&' | '\\')) {
            return false;
        }
        if is_short_token(tail) {
            return true;
        }
        if first.is_ascii_alphabetic() && is_ordinary(tail.as_bytes()) {
            return self.is_notice(at, tail);
        }
        // `rows[SYSTEM]` is an index.
        let is_index =
            self.text[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ')' | ']'));
        let (lead, rest) = split_lead(tail);
        let is_closing = lead.contains(['/', '／']) && !lead.contains('!');
        if let Some((_, inner)) = after_bar(rest) {
            return is_barred(inner);
        }
        let name = Name::read(rest);
        let end = name.rest.trim_start();
        let is_end = end.chars().next().is_some_and(|c| first_letter(c) == Some(']'));
        let is_loud = !name.raw.is_ascii() || !name.raw.contains(char::is_lowercase);
        let word = name.squashed.as_str();
        match word {
            "inst" | "gmask" | "smask" | "toolcalls" | "toolresults" | "availabletools" | "systemprompt"
            | "toolcontent"
                if is_end && (!is_index || is_loud || is_closing) =>
            {
                return true;
            }
            // The prompt of an assistant that leaked: `[system](#context)`.
            "system" | "user" | "assistant" if name.rest.starts_with("](#") => return true,
            _ => {}
        }
        let is_word = name.raw.chars().count() >= 2 && is_loud && is_end && !word.is_empty();
        let is_ascii_or_folded = name.raw.is_ascii() || word.is_ascii();
        if is_closing {
            return is_word
                && is_ascii_or_folded
                && !FORUM.contains(&word)
                && name.raw.contains(|c: char| c.is_alphabetic());
        }
        if is_index && !(is_word && self.is_template() && name.raw.len() > 3) {
            return false;
        }
        if matches!(word, "sys" | "system" | "assistant" | "user" | "human" | "think") {
            return is_loud && (is_end || name.rest.starts_with([':', ' ']) && closes_loudly(name.rest));
        }
        let is_of_tools =
            || matches!(name.words[0].as_str(), "tool" | "tools" | "system" | "assistant" | "function");
        is_word && is_ascii_or_folded && {
            name.is_protocol()
                || name.meaning() == Meaning::Conversation && is_of_tools()
                || !FORUM.contains(&word) && self.closed().contains(word)
                || self.is_template() && is_glued(rest, end)
        } || self.is_notice(at, rest)
    }

    /// `]~b]`, `]~!b[`: the begin of a turn.
    pub(super) fn is_token_end(&self, at: usize) -> bool {
        let rest = self.text[at + 2..].trim_start_matches('!');
        let word = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_lowercase()).len();
        let is_index = self.text[..at]
            .ends_with(|c: char| c.is_alphanumeric() || matches!(c, '"' | '\'' | ')' | '_' | ' '));
        (1..=3).contains(&word) && rest[word..].starts_with(['[', ']']) && !is_index
    }

    /// The names that a bracket closes.
    fn closed(&self) -> &FxHashSet<String> {
        self.closed.get_or_init(|| {
            let closers = memchr::memmem::find_iter(self.text.as_bytes(), b"[/");
            closers.map(|at| Name::read(self.text[at + 2..].trim_start()).squashed).collect()
        })
    }

    /// Whether a bracket is there that nothing but the template of a model has.
    fn is_template(&self) -> bool {
        const CLOSED: [&str; 4] = ["inst", "availabletools", "toolresults", "systemprompt"];
        *self.is_template.get_or_init(|| {
            CLOSED.iter().any(|name| self.closed().contains(*name))
                || ["[INST]", "[TOOL_CALLS]"].iter().any(|mark| self.text.contains(mark))
        })
    }

    /// A line of its own that says what somebody in the conversation did: `[Request interrupted by user]`.
    fn is_notice(&self, at: usize, rest: &str) -> bool {
        let before = self.text[..at].trim_end_matches([' ', '\t', '>']);
        if !(before.is_empty() || before.ends_with('\n')) || !rest.starts_with(char::is_uppercase) {
            return false;
        }
        let line = rest.lines().next().unwrap_or_default();
        let Some(inner) = line.trim_end().strip_suffix(']').filter(|inner| inner.len() < MAX_NAME * 2) else {
            return false;
        };
        let words: Vec<String> =
            inner.split([' ', ':', ',']).filter(|word| !word.is_empty()).map(super::fold::squash).collect();
        let speaks = |word: &String| {
            matches!(
                word.as_str(),
                "user"
                    | "assistant"
                    | "human"
                    | "agent"
                    | "model"
                    | "system"
                    | "tool"
                    | "operator"
                    | "developer"
            )
        };
        words.len() >= 3 && !inner.contains(['[', ']', '/', '=']) && words.iter().any(speaks)
    }
}

/// Whether text follows at once.
fn is_glued(rest: &str, end: &str) -> bool {
    let after = &rest[rest.len() - end.len()..];
    let mut chars = after.chars();
    chars.next();
    chars.next().is_some_and(|c| !c.is_whitespace() && !matches!(c, '(' | ':' | '.' | ','))
}

/// `[|user|]`, after the first bar.
fn is_barred(inner: &str) -> bool {
    let name = Name::read(inner);
    let word = name.squashed.as_str();
    let is_word = is_role(word) || is_pair_word(word) || name.is_protocol();
    is_word && after_bar(name.rest).is_some_and(|(_, end)| end.starts_with(']'))
}

/// Whether a bracket of ASCII letters ends late or never, or has small letters and none of the words in it.
fn is_ordinary(tail: &[u8]) -> bool {
    let tail = &tail[..tail.len().min(MAX_NAME)];
    let Some(end) = memchr::memchr(b']', tail) else { return tail.is_ascii() };
    let inner = tail[..end].trim_ascii();
    let is_small = inner.is_ascii() && inner.iter().any(u8::is_ascii_lowercase) && !inner.contains(&b'&');
    is_small && !matches!(inner[0].to_ascii_lowercase(), b'i' | b's' | b'a' | b'u' | b't' | b'g')
}

/// `[e~[`, after the bracket.
fn is_short_token(tail: &str) -> bool {
    let word = tail.len() - tail.trim_start_matches(|c: char| c.is_ascii_lowercase()).len();
    (1..=3).contains(&word) && tail[word..].starts_with("~[")
}

/// Whether a bracket with several words ends on its line and is written in capitals: `[SYSTEM NOTIFICATION]`.
fn closes_loudly(rest: &str) -> bool {
    let line = rest.lines().next().unwrap_or_default();
    let inner = line.find(']').map(|end| &line[..end]);
    inner.is_some_and(|inner| inner.len() < MAX_NAME && !inner.contains(char::is_lowercase))
}

/// A run of the same sign around words that begin or end a part of a conversation: `--- Context from: NOTES.md ---`,
/// `=== BEGIN SYSTEM PROMPT ===`. The position after the first run.
pub(super) fn read_delimiter(line: &str) -> Option<usize> {
    let first = *line.as_bytes().first()?;
    if !matches!(first, b'-' | b'=' | b'*' | b'#' | b'~' | b'_' | b'>' | b'<' | b'+') {
        return None;
    }
    let sign = char::from(first);
    let rest = line.trim_start_matches(sign);
    let run = line.len() - rest.len();
    let inner = rest.trim_end().trim_end_matches(if sign == '<' {
        '>'
    } else if sign == '>' {
        '<'
    } else {
        sign
    });
    if run < 3
        || inner.len() + 2 > rest.trim_end().len()
        || inner.starts_with(['‹', sign])
        || inner.is_empty()
        || inner.len() > MAX_NAME * 2
    {
        return None;
    }
    let mut text = String::new();
    inner.chars().for_each(|c| fold_char(c, |letter| text.push(letter)));
    let words: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let has = |list: &[&str]| words.iter().any(|word| list.contains(word));
    let bounds = has(&["begin", "begins", "start", "end", "ends", "beginning"]);
    let speaks = has(&[
        "system",
        "user",
        "assistant",
        "human",
        "developer",
        "operator",
        "tool",
        "agent",
        "ai",
        "llm",
        "model",
        "conversation",
        "untrusted",
        "external",
    ]);
    let says = has(&[
        "prompt",
        "prompts",
        "message",
        "messages",
        "instruction",
        "instructions",
        "reminder",
        "notification",
        "turn",
        "override",
        "request",
        "transcript",
        "conversation",
        "policy",
        "input",
        "output",
        "response",
        "result",
        "results",
        "content",
        "context",
        "data",
    ]);
    let is_context = words.windows(2).any(|two| two == ["context", "from"])
        || words.windows(2).any(|two| two == ["context", "entry"]);
    let counts = is_context
        || speaks && says
        || bounds && (speaks && words.len() <= 3 || has(&["prompt", "instructions", "conversation"]));
    (counts && words.len() <= 12).then_some(run)
}
