//! Finds tags, special tokens and bracketed markers that have a meaning to agents, their tools or models.
//!
//! A name of several words counts if it speaks of the conversation (`tool_use_error`, `user-prompt-submit-hook`), whoever
//! invented it. A single word counts only in the form of a tag: the same words are types, components and placeholders in code.

use super::fold::{fold_char, fold_to_one};
use rustc_hash::FxHashSet;
use std::cell::OnceCell;

/// Names that count in any form, without their separators.
#[rustfmt::skip]
const NAMES: &[&str] = &[
    "systemreminder", "systemprompt", "toolcall", "toolcalls", "tooluse", "toolresult", "toolresults",
    "toolresponse", "toolerror", "tooloutput", "toolcode", "toolcallbegin", "toolcallend", "functioncall",
    "functioncalls", "functionresult", "functionresults", "functionresponse", "scratchpad", "antthinking",
    "antartifact", "imstart", "imend", "startofturn", "endofturn", "beginoftext", "endoftext",
    "beginofsentence", "endofsentence", "eotid", "eomid", "startheaderid", "endheaderid", "startofimage",
    "fimprefix", "fimmiddle", "fimsuffix", "fimbegin", "fimhole", "fimend", "bostoken", "eostoken", "readfile",
    "writetofile", "replaceinfile", "applydiff", "applypatch", "executebash", "executecommand",
    "executeipython", "attemptcompletion", "askfollowupquestion", "newtask", "switchmode", "taskid",
    "persistedoutput", "forkboilerplate", "turnaborted", "turncontext", "collaborationmode", "modelswitch",
    "newdiagnostics", "idediagnostics", "ideopenedfile", "ideselection", "statesnapshot", "proposedplan",
    "recalledhistory", "recalled", "tokenbudget", "userquery", "userstyle", "userpreferences", "userexamples",
    "editorcontext", "attachedfiles", "documentcontent",
];
/// Words of which one is enough in a name of several.
#[rustfmt::skip]
const STRONG: &[&str] = &[
    "reminder", "reminders", "instruction", "instructions", "prompt", "prompts", "subagent", "jailbreak",
    "scratchpad", "antml", "anthropic", "claude", "openai", "chatgpt", "teammate",
];
/// Who takes part in a conversation, and what it is made of: a name with one of each counts.
#[rustfmt::skip]
const ACTORS: &[&str] = &[
    "system", "user", "human", "assistant", "developer", "agent", "agents", "ai", "llm", "model", "tool",
    "tools", "function", "functions", "command", "commands", "bash", "shell", "local", "session",
    "conversation", "turn", "environment", "env", "ide", "mcp", "hook", "task", "workspace", "policy",
    "permission", "permissions", "security", "safety", "skill", "skills", "plugin", "plugins", "memory",
    "admin", "root",
];
#[rustfmt::skip]
const MATTERS: &[&str] = &[
    "message", "messages", "msg", "notification", "notifications", "notice", "warning", "override", "call",
    "calls", "calling", "use", "result", "results", "response", "responses", "output", "outputs", "error",
    "errors", "input", "name", "args", "arguments", "contents", "stdout", "stderr", "caveat", "hook", "start",
    "stop", "end", "submit", "context", "details", "info", "memory", "rules", "rule", "policy", "directive",
    "directives", "update", "alert", "command", "commands", "mode", "request", "action", "query", "data",
    "aborted", "spec", "event", "history", "thinking", "note", "role", "content",
];
/// Single words that count as a tag, but not as a type argument or a component.
#[rustfmt::skip]
const ROLES: &[&str] = &[
    "system", "human", "assistant", "developer", "instruction", "instructions", "thinking", "think",
    "reasoning", "invoke", "inst", "sys", "reminder", "jailbreak", "loci", "bos", "eos", "sop", "eop",
    "subagent", "antml",
];
/// Single words that are as common in code and help texts (`ssh <user>@host`): they count only where both tags of the
/// pair are, or as `<function=NAME>`.
#[rustfmt::skip]
const PAIRED: &[&str] = &[
    "user", "tool", "tools", "function", "functions", "parameter", "parameters", "result", "results", "output",
    "stdout", "stderr", "prompt", "permissions", "policy", "important", "admin", "override", "context",
    "memory", "skill", "env", "model", "agent", "command", "rules",
];
/// Namespaces in which every tag name counts.
#[rustfmt::skip]
const NAMESPACES: &[&str] = &[
    "antml", "anthropic", "claude", "openai", "system", "mcp", "loci",
];

/// The longest name considered, in characters.
const MAX_NAME: usize = 80;
/// How far the end of a tag is looked for.
const MAX_TAG: usize = 400;

/// Ways to write `<` that a reader of the text, or a second decoding, turns into one. Only names that nothing else has count after them.
#[rustfmt::skip]
const ENCODED: &[&str] = &[
    "&lt;", "&LT;", "&#60;", "&#060;", "&#x3c;", "&#x3C;", "&#X3C;", "\\u003c", "\\u003C", "\\x3c", "\\x3C",
    "%3c", "%3C",
];

/// Replaces the first character of everything that counts. None: nothing does.
pub(super) fn defuse_tags(text: &str) -> Option<String> {
    let page = Page { text, closed: OnceCell::new() };
    let (mut out, mut done) = (None, 0);
    for (at, length, sign) in openers(text) {
        let after = at + length;
        let harms = match sign {
            Sign::Angle => page.is_tag(at, after),
            Sign::Encoded => page.is_encoded_tag(after),
            Sign::Bracket => page.is_marker(at, after),
            Sign::Lookalike => page.is_lookalike_tag(after),
        };
        if harms {
            let out = out.get_or_insert_with(|| String::with_capacity(text.len() + 16));
            out.push_str(&text[done..at]);
            out.push(match sign {
                Sign::Bracket => '⁅',
                // `‹` is what stands for `<` in defused text, so that it has to be another character here.
                Sign::Lookalike => '(',
                Sign::Angle | Sign::Encoded => '‹',
            });
            done = after;
        }
    }
    let mut out = out?;
    out.push_str(&text[done..]);
    Some(out)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    Angle,
    Encoded,
    Bracket,
    /// A bracket that looks like an angle bracket.
    Lookalike,
}

/// Where something may begin: position, length and sign.
fn openers(text: &str) -> impl Iterator<Item = (usize, usize, Sign)> {
    let bytes = text.as_bytes();
    let mut next = 0;
    std::iter::from_fn(move || {
        while next < bytes.len() {
            let at = next;
            let byte = bytes[at];
            next += 1;
            match byte {
                b'<' => return Some((at, 1, Sign::Angle)),
                b'[' => return Some((at, 1, Sign::Bracket)),
                b'&' | b'\\' | b'%' => {
                    let Some(code) = ENCODED.iter().find(|code| bytes[at..].starts_with(code.as_bytes()))
                    else {
                        continue;
                    };
                    return Some((at, code.len(), Sign::Encoded));
                }
                // Of the other characters only a few look like a bracket: these bytes begin them.
                0xc2 | 0xcb | 0xe1 | 0xe3 | 0xef | 0xe2
                    if byte != 0xe2 || matches!(bytes[next], 0x80 | 0x89 | 0x8c | 0x9d | 0x9f | 0xa7) =>
                {
                    let Some(c) = text[at..].chars().next() else { continue };
                    next = at + c.len_utf8();
                    if matches!(
                        c,
                        '‹' | '«'
                            | '⟨'
                            | '〈'
                            | '《'
                            | '❬'
                            | '❮'
                            | '❰'
                            | 'ᐸ'
                            | '˂'
                            | '≺'
                            | '⧼'
                            | '\u{2329}'
                    ) {
                        return Some((at, c.len_utf8(), Sign::Lookalike));
                    }
                    if !matches!(c, '\u{226e}' | '\u{fe47}' | '\u{fe64}' | '\u{ff1c}' | '\u{ff3b}') {
                        continue;
                    }
                    match first_letter(c) {
                        Some('<') => return Some((at, c.len_utf8(), Sign::Angle)),
                        Some('[') => return Some((at, c.len_utf8(), Sign::Bracket)),
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        None
    })
}

fn first_letter(c: char) -> Option<char> {
    let mut first = None;
    fold_char(c, |letter| {
        first.get_or_insert(letter);
    });
    first
}

struct Page<'t> {
    text: &'t str,
    /// The names of closing tags in the text, read when first needed.
    closed: OnceCell<FxHashSet<String>>,
}

impl Page<'_> {
    /// Whether the `<` at this position begins a tag that counts.
    fn is_tag(&self, at: usize, after: usize) -> bool {
        let (lead, rest) = split_lead(&self.text[after..]);
        if let Some(token) = after_bar(rest) {
            return is_special_token(token);
        }
        let name = Name::read(rest);
        if name.squashed.is_empty() {
            return false;
        }
        let is_closing = lead.contains(['/', '\\']);
        let before = &self.text[..at];
        if !is_closing && name.is_code(before) {
            return false;
        }
        // `n < tool_calls && done` compares.
        let may_compare =
            lead.contains(char::is_whitespace) || before.ends_with(|c: char| c.is_alphanumeric());
        if may_compare && !is_closing && !name.raw.contains('-') && !name.ends_like_tag() {
            return false;
        }
        if name.is_of_conversation() {
            return true;
        }
        let word = name.squashed.as_str();
        if word == "s" && name.raw == "s" {
            return self.is_sequence_token(at, is_closing, &name);
        }
        if name.words.len() != 1 {
            return false;
        }
        (ROLES.contains(&word) && name.may_be_tag())
            || (PAIRED.contains(&word)
                && name.ends_like_tag()
                && (is_closing || name.rest.starts_with('=') || self.is_closed(word)))
    }

    fn is_encoded_tag(&self, after: usize) -> bool {
        let (_, rest) = split_lead(&self.text[after..]);
        match after_bar(rest) {
            Some(token) => is_known_token(token),
            None => Name::read(rest).is_of_conversation(),
        }
    }

    /// `‹system-reminder›` and its like. What this module writes ends with `>`.
    fn is_lookalike_tag(&self, after: usize) -> bool {
        let (_, rest) = split_lead(&self.text[after..]);
        if !Name::read(rest).is_of_conversation() {
            return false;
        }
        let end = rest.chars().take(MAX_TAG).find(|c| {
            matches!(
                c,
                '>' | '›'
                    | '»'
                    | '⟩'
                    | '〉'
                    | '》'
                    | '❭'
                    | '❯'
                    | '❱'
                    | 'ᐳ'
                    | '˃'
                    | '≻'
                    | '⧽'
                    | '\u{232a}'
                    | '＞'
                    | '﹥'
            )
        });
        end.is_some_and(|end| !matches!(end, '>' | '＞' | '﹥'))
    }

    /// `[INST]`, `[/INST]`, `[SYSTEM]`: markers that models were trained on, or that look like a message of the system.
    fn is_marker(&self, at: usize, after: usize) -> bool {
        let (_, rest) = split_lead(&self.text[after..]);
        // Most brackets are links, lists and indexes.
        let first = rest.chars().next().unwrap_or(' ').to_ascii_lowercase();
        if first.is_ascii() && !matches!(first, 'i' | 's' | 'a' | 'u' | 't' | 'g' | '&') {
            return false;
        }
        // `rows[SYSTEM]` is an index.
        if self.text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            return false;
        }
        let name = Name::read(rest);
        let is_end = name.rest.chars().next().is_some_and(|c| first_letter(c) == Some(']'));
        let is_loud = !name.raw.is_ascii() || !name.raw.contains(char::is_lowercase);
        match name.squashed.as_str() {
            "inst" | "gmask" | "smask" | "toolcalls" | "toolresults" | "availabletools" | "systemprompt"
            | "toolcontent" => is_end,
            // The prompt of an assistant that leaked: `[system](#context)`.
            "system" | "user" | "assistant" if name.rest.starts_with("](#") => true,
            "sys" | "system" | "assistant" | "user" | "think" => {
                is_loud && (is_end || name.rest.starts_with([':', ' ']) && closes_loudly(name.rest))
            }
            _ => false,
        }
    }

    /// `<s>` and `</s>` are the ends of a sequence, and in HTML the ends of struck text.
    fn is_sequence_token(&self, at: usize, is_closing: bool, name: &Name<'_>) -> bool {
        if !name.rest.starts_with('>') {
            return false;
        }
        let is_struck = |inner: &str| !inner.is_empty() && !inner.contains(['\n', '[', '<', '|', ':']);
        if is_closing {
            let before = &self.text[self.text.floor_char_boundary(at.saturating_sub(MAX_TAG))..at];
            return !before.rfind("<s>").is_some_and(|open| is_struck(&before[open + 3..]));
        }
        let is_argument = self.text[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ':'));
        let inner = &name.rest[1..name.rest.floor_char_boundary(MAX_TAG)];
        !is_argument && !inner.find("</s>").is_some_and(|end| is_struck(&inner[..end]))
    }

    /// Whether the text contains the closing tag of this name.
    fn is_closed(&self, name: &str) -> bool {
        let closed = self.closed.get_or_init(|| {
            let tags = openers(self.text).filter(|(.., sign)| *sign == Sign::Angle);
            let closing = tags.filter_map(|(at, length, _)| {
                let (lead, rest) = split_lead(&self.text[at + length..]);
                lead.contains(['/', '\\']).then(|| Name::read(rest).squashed)
            });
            closing.collect()
        });
        closed.contains(name)
    }
}

/// Splits off what may stand between the bracket and the name.
fn split_lead(text: &str) -> (&str, &str) {
    let is_lead =
        |c: char| c.is_whitespace() || matches!(c, '/' | '!' | '?' | '\\' | '／' | '＼') || fold_is_empty(c);
    let rest = text.trim_start_matches(is_lead);
    text.split_at(text.len() - rest.len())
}

fn fold_is_empty(c: char) -> bool {
    !c.is_ascii() && first_letter(c).is_none()
}

/// The text after a bar, in any of its forms.
fn after_bar(rest: &str) -> Option<&str> {
    let c = rest.chars().next()?;
    let is_bar = matches!(
        c,
        '|' | '\u{ff5c}'
            | '\u{ffe8}'
            | '\u{2223}'
            | '\u{2502}'
            | '\u{23d0}'
            | '\u{01c0}'
            | '\u{00a6}'
            | '\u{2758}'
    );
    is_bar.then(|| &rest[c.len_utf8()..])
}

/// `<|name|>` and `<｜name｜>`, whatever its name. With blanks, `a <| b |> c` is an expression, so that the name has to be one that counts.
fn is_special_token(rest: &str) -> bool {
    let end = rest.char_indices().take(MAX_NAME + 16).find(|(at, _)| {
        after_bar(&rest[*at..])
            .is_some_and(|end| end.chars().next().is_some_and(|c| first_letter(c) == Some('>')))
    });
    let inner = end.map_or("", |(at, _)| &rest[..at]);
    let is_tight = !inner.is_empty()
        && !inner.starts_with(char::is_whitespace)
        && !inner.ends_with(char::is_whitespace)
        && !inner.contains(['\n', '<', '>', '(', ')']);
    is_tight || is_known_token(rest)
}

fn is_known_token(rest: &str) -> bool {
    let (_, rest) = split_lead(rest);
    let name = Name::read(rest);
    name.is_of_conversation()
        || ROLES.contains(&name.squashed.as_str())
        || matches!(
            name.squashed.as_str(),
            "user"
                | "tool"
                | "channel"
                | "message"
                | "start"
                | "end"
                | "endofprompt"
                | "return"
                | "call"
                | "constrain"
        )
}

/// Whether a bracket with several words ends on its line and is written in capitals: `[SYSTEM NOTIFICATION]`.
fn closes_loudly(rest: &str) -> bool {
    let line = rest.lines().next().unwrap_or_default();
    let inner = line.find(']').map(|end| &line[..end]);
    inner.is_some_and(|inner| inner.len() < MAX_NAME && !inner.contains(char::is_lowercase))
}

/// The name of a tag, as it is written and as it is read.
struct Name<'t> {
    /// As written.
    raw: &'t str,
    /// Its letters and digits, folded, without separators.
    squashed: String,
    /// The same by words: separators and capitals divide.
    words: Vec<String>,
    /// Whether capitals divide its words, or begin it, as in the names of types.
    is_type: bool,
    /// Everything after the name.
    rest: &'t str,
    /// Whether a colon divides it, and the part before.
    namespace: Option<String>,
}

impl<'t> Name<'t> {
    fn read(text: &'t str) -> Name<'t> {
        let (mut words, mut word) = (Vec::new(), String::new());
        let (mut namespace, mut end) = (None, 0);
        let (mut has_separator, mut was_lower, mut lower, mut upper) = (false, false, 0, 0);
        let first_is_capital = text.starts_with(char::is_uppercase);
        for (at, length, c) in read_chars(text).take(MAX_NAME) {
            let (mut is_part, mut separates) = (true, false);
            let divides = was_lower && c.is_uppercase();
            if divides && !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            fold_char(c, |letter| match letter {
                letter if letter.is_alphanumeric() => word.push(letter),
                letter if is_separator(letter) => separates = true,
                ':' if namespace.is_none() => {
                    namespace = Some(words.concat() + &word);
                    words.clear();
                    word.clear();
                }
                _ => is_part = false,
            });
            if !is_part {
                break;
            }
            if separates {
                has_separator = true;
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            was_lower = c.is_lowercase();
            lower += usize::from(was_lower);
            upper += usize::from(c.is_uppercase());
            end = at + length;
        }
        if !word.is_empty() {
            words.push(word);
        }
        let (raw, rest) = text.split_at(end);
        let is_type = !has_separator && lower > 0 && upper > 0 && (first_is_capital || words.len() > 1);
        Name { raw, squashed: words.concat(), words, is_type, rest, namespace }
    }

    /// Whether nothing but the protocol of a conversation has a name like this.
    fn is_of_conversation(&self) -> bool {
        let has = |list: &[&str]| self.words.iter().any(|word| list.contains(&word.as_str()));
        self.namespace
            .as_deref()
            .is_some_and(|space| NAMESPACES.contains(&space) && !self.rest.starts_with(':'))
            || NAMES.contains(&self.squashed.as_str())
            || (self.words.len() > 1 && (has(STRONG) || self.has_actor_and_matter()))
    }

    fn has_actor_and_matter(&self) -> bool {
        let words = || self.words.iter().map(String::as_str).enumerate();
        let actor = words().find(|(_, word)| ACTORS.contains(word)).map(|(at, _)| at);
        actor.is_some_and(|actor| words().any(|(at, word)| at != actor && MATTERS.contains(&word)))
    }

    /// Whether this is a type argument, or a component of a page: `Promise<ToolResult>`, `<ToolResult value={x} />`, `<Prompt />`.
    fn is_code(&self, before: &str) -> bool {
        let is_glued = before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '.' | ')'));
        let is_word = self.words.len() == 1 && self.namespace.is_none();
        let tag = &self.rest[..self.rest.floor_char_boundary(MAX_TAG)];
        let tag = &tag[..tag.find('>').unwrap_or(0)];
        let is_component = self.is_type && (tag.ends_with('/') || tag.contains("={"));
        let is_argument = is_glued && (self.is_type || is_word && self.ends_like_argument());
        let is_included = before.trim_end().ends_with("#include") || before.trim_end().ends_with("#import");
        let is_path = self.rest.starts_with(':') || self.rest.starts_with("::");
        is_component || is_argument || is_included || is_glued && is_path
    }

    /// After a type argument comes punctuation; after a tag comes its text.
    fn ends_like_argument(&self) -> bool {
        let Some(after) = self.rest.strip_prefix('>') else {
            return self.rest.starts_with([',', '<', '(', '*', '&', '[', ':', '.']);
        };
        after.starts_with([
            '(', ')', ',', ';', '>', '&', '*', '{', '.', '[', ':', ']', '?', '|', '=', '`', '"',
        ]) || after.is_empty()
            || after.starts_with(' ') && !after.starts_with(" <")
    }

    fn may_be_tag(&self) -> bool {
        // `<Assistant object at 0x7f>` is how Python prints, `<System as Trait>` how Rust names.
        !self.rest.starts_with(" object at ")
            && !self.rest.starts_with(" as ")
            && !self.rest.starts_with("::")
    }

    /// `>`, or attributes.
    fn ends_like_tag(&self) -> bool {
        let rest = self.rest.trim_start();
        let rest = rest.trim_start_matches(['/', '／']);
        match rest.chars().next().and_then(first_letter) {
            Some('>') | None => true,
            Some('=') => rest.len() == self.rest.len() && !rest.starts_with("==") && !rest.starts_with("=>"),
            Some(c) if c.is_ascii_alphabetic() && rest.len() < self.rest.len() => {
                let word = rest
                    .trim_start_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':'));
                word.trim_start().starts_with('=')
            }
            _ => false,
        }
    }
}

/// The characters of a text with their positions and lengths; `&#115;` is the character that it stands for.
fn read_chars(text: &str) -> impl Iterator<Item = (usize, usize, char)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &text[at..];
        let (length, c) = read_reference(rest).or_else(|| rest.chars().next().map(|c| (c.len_utf8(), c)))?;
        at += length;
        Some((at - length, length, c))
    })
}

fn read_reference(text: &str) -> Option<(usize, char)> {
    let digits = text.strip_prefix("&#")?;
    let end = digits.char_indices().take(10).find(|(_, c)| *c == ';').map(|(at, _)| at)?;
    let code = match digits[..end].strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => digits[..end].parse(),
    };
    Some((2 + end + 1, char::from_u32(code.ok()?)?))
}

/// What separates the words of a name.
fn is_separator(c: char) -> bool {
    matches!(
        c,
        '-' | '_' | '.' | '·' | '▁' | '‿' | '⁀' | '\u{2010}'
            ..='\u{2015}' | '\u{2212}' | '\u{02d7}' | '\u{ad}'
    ) || fold_to_one(c).is_some_and(|c| matches!(c, '-' | '_'))
}
