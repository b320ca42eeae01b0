//! Reads the name of a tag or marker and tells what it speaks of: the shape of the control tokens of models, the roles and matters of a
//! conversation, or anything else.
//!
//! Does not know what stands around the name.

use super::fold::{fold_char, fold_to_one};
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// Names that nothing but a protocol of a conversation has, without their separators.
#[rustfmt::skip]
const NAMES: &[&str] = &[
    "systemreminder", "systemprompt", "toolcall", "toolcalls", "tooluse", "toolresult", "toolresults",
    "toolresponse", "toolerror", "tooloutput", "toolcode", "toolcallbegin", "toolcallend", "functioncall",
    "functioncalls", "functionresult", "functionresults", "functionresponse", "scratchpad", "antthinking",
    "antartifact", "imstart", "imend", "imsep", "startofturn", "endofturn", "beginoftext", "endoftext",
    "beginofsentence", "endofsentence", "eotid", "eomid", "startheaderid", "endheaderid", "startofimage",
    "bostoken", "eostoken", "readfile",
    "commandname", "commandmessage", "commandargs", "writetofile", "replaceinfile", "applydiff", "applypatch", "executebash", "executecommand",
    "executeipython", "attemptcompletion", "askfollowupquestion", "newtask", "switchmode", "taskid",
    "persistedoutput", "forkboilerplate", "turnaborted", "turncontext", "collaborationmode", "modelswitch",
    "newdiagnostics", "idediagnostics", "ideopenedfile", "ideselection", "statesnapshot", "proposedplan",
    "recalledhistory", "recalled", "tokenbudget", "userquery", "userstyle", "userpreferences", "userexamples",
    "editorcontext", "attachedfiles", "documentcontent", "environmentcontext", "environmentdetails",
];
/// Words of which one is enough in a name of several.
#[rustfmt::skip]
const STRONG: &[&str] = &[
    "reminder", "reminders", "instruction", "instructions", "prompt", "prompts", "subagent", "jailbreak",
    "scratchpad", "antml", "anthropic", "claude", "openai", "chatgpt", "teammate",
];
/// Words of vocabularies of models: with another word or a number they name a token.
#[rustfmt::skip]
const TOKENS: &[&str] = &[
    "bos", "eos", "bom", "eom", "eot", "sop", "eop", "sos", "eod", "eoh", "eoa", "fim", "unk", "unused", "reserved", "extra", "special",
];
/// Who speaks: with `start`, `end` and the like it names a token.
#[rustfmt::skip]
const SPEAKERS: &[&str] = &[
    "system", "user", "human", "assistant", "bot", "chatbot", "tool", "function", "model", "turn", "think", "thinking",
];
/// Who takes part in a conversation, and what it is made of: a name with one of each speaks of it.
#[rustfmt::skip]
const ACTORS: &[&str] = &[
    "system", "user", "human", "assistant", "developer", "operator", "agent", "agents", "ai", "llm", "bot", "chatbot", "model", "tool",
    "tools", "function", "functions", "command", "commands", "bash", "shell", "terminal", "local", "session",
    "conversation", "chat", "turn", "environment", "env", "ide", "editor", "mcp", "hook", "task", "workspace", "sandbox", "policy",
    "permission", "permissions", "approval", "security", "safety", "skill", "skills", "plugin", "plugins", "memory", "memories",
    "admin", "root",
];
#[rustfmt::skip]
const MATTERS: &[&str] = &[
    "message", "messages", "msg", "notification", "notifications", "notice", "warning", "override", "call",
    "calls", "calling", "use", "result", "results", "response", "responses", "output", "outputs", "error",
    "errors", "input", "name", "args", "arguments", "contents", "stdout", "stderr", "caveat", "hook", "start",
    "stop", "end", "submit", "context", "details", "info", "information", "memory", "memories", "rules", "rule", "policy", "directive",
    "directives", "update", "alert", "command", "commands", "mode", "request", "action", "query", "data",
    "aborted", "spec", "event", "history", "thinking", "note", "role", "content", "feedback", "guidance", "guideline", "guidelines",
    "order", "orders", "log", "transcript", "summary", "state", "status", "grant", "approval", "decision", "announcement", "turn",
];
/// Single words that are a role or a thought, and nothing in HTML.
#[rustfmt::skip]
const ROLES: &[&str] = &[
    "system", "human", "assistant", "developer", "instruction", "instructions", "thinking", "think",
    "reasoning", "invoke", "inst", "sys", "reminder", "jailbreak", "loci", "bos", "eos", "sop", "eop",
    "subagent", "antml",
];
/// Single words that are as common in code, help texts and documents: they count only as a pair of tags around text.
#[rustfmt::skip]
const PAIRED: &[&str] = &[
    "user", "tool", "tools", "function", "functions", "parameter", "parameters", "result", "results", "output",
    "stdout", "stderr", "prompt", "permissions", "policy", "important", "admin", "override", "context",
    "memory", "memories", "skill", "env", "model", "agent", "command", "rules", "feedback", "channel", "task", "query", "answer",
    "response", "observation", "conversation", "transcript", "history", "directive", "notice", "notification", "operator", "approval",
    "attachment", "attachments", "hook", "plan", "goal", "commentary", "analysis",
];
/// Namespaces in which every tag name counts.
#[rustfmt::skip]
const NAMESPACES: &[&str] = &[
    "antml", "anthropic", "claude", "openai", "system", "mcp", "loci",
];

const LISTS: [&[&str]; 8] = [NAMES, STRONG, TOKENS, SPEAKERS, ACTORS, MATTERS, ROLES, PAIRED];
const NAME: u8 = 1;
const STRONG_WORD: u8 = 1 << 1;
const TOKEN: u8 = 1 << 2;
const SPEAKER: u8 = 1 << 3;
const ACTOR: u8 = 1 << 4;
const MATTER: u8 = 1 << 5;
const ROLE: u8 = 1 << 6;
const PAIR: u8 = 1 << 7;

/// The lists that a word is in, a bit for each.
fn lists_of(word: &str) -> u8 {
    static WORDS: LazyLock<FxHashMap<&'static str, u8>> = LazyLock::new(|| {
        let mut words = FxHashMap::default();
        for (at, list) in LISTS.iter().enumerate() {
            list.iter().for_each(|word| *words.entry(*word).or_default() |= 1 << at);
        }
        words
    });
    WORDS.get(word).copied().unwrap_or_default()
}

/// A role or a thought, and nothing in HTML.
pub(super) fn is_role(word: &str) -> bool {
    lists_of(word) & ROLE != 0
}

/// A word that counts as a pair of tags.
pub(super) fn is_pair_word(word: &str) -> bool {
    lists_of(word) & PAIR != 0
}

/// The longest name considered, in characters.
pub(super) const MAX_NAME: usize = 80;
/// How far the end of a tag is looked for.
pub(super) const MAX_TAG: usize = 400;

/// What a name says about the tag that has it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Only the protocol of a conversation has such a name.
    Protocol,
    /// The name speaks of a conversation, as names in programs and documents do too.
    Conversation,
    /// Words joined by underscores.
    Joined,
    Other,
}

/// The name of a tag, as it is written and as it is read.
pub(super) struct Name<'t> {
    /// As written.
    pub(super) raw: &'t str,
    /// Its letters and digits, folded, without separators.
    pub(super) squashed: String,
    /// The same by words: separators and capitals divide.
    pub(super) words: Vec<String>,
    /// Whether capitals divide its words, or begin it, as in the names of types.
    pub(super) is_type: bool,
    /// Everything after the name.
    pub(super) rest: &'t str,
    /// Whether a colon divides it, and the part before.
    pub(super) namespace: Option<String>,
}

impl<'t> Name<'t> {
    pub(super) fn read(text: &'t str) -> Name<'t> {
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

    pub(super) fn meaning(&self) -> Meaning {
        let in_namespace = |space: &str| NAMESPACES.contains(&space) && !self.rest.starts_with(':');
        let is_several = self.words.len() > 1;
        let all = || self.words.iter().map(|word| lists_of(word));
        if self.namespace.as_deref().is_some_and(in_namespace)
            || lists_of(&self.squashed) & NAME != 0
            || is_several && all().any(|lists| lists & STRONG_WORD != 0)
            || self.is_token()
        {
            return Meaning::Protocol;
        }
        let is_in_space = self.namespace.as_deref().is_some_and(|space| lists_of(space) & ACTOR != 0)
            && all().any(|lists| lists & MATTER != 0);
        if is_several && self.has_actor_and_matter() || is_in_space {
            return Meaning::Conversation;
        }
        let is_one_case = !self.raw.contains(char::is_lowercase) || !self.raw.contains(char::is_uppercase);
        if is_several && self.raw.contains('_') && !self.raw.contains(['-', '.', ':']) && is_one_case {
            return Meaning::Joined;
        }
        Meaning::Other
    }

    pub(super) fn is_protocol(&self) -> bool {
        self.meaning() == Meaning::Protocol
    }

    /// `start_of_turn`, `fim_prefix`, `BOS_TOKEN`, `unused42`, `human_end`: names of tokens.
    fn is_token(&self) -> bool {
        let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        let is_token = |word: &str| lists_of(word) & TOKEN != 0;
        match self.words.as_slice() {
            // `seed:bos`
            [word] if self.namespace.is_some() => is_token(word),
            [word] => {
                let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
                letters.len() < word.len() && matches!(letters, "unused" | "reserved" | "extraid" | "special")
            }
            [first, of, ..] if of == "of" && matches!(first.as_str(), "start" | "end" | "begin") => true,
            [first, second] if is_token(first) => {
                let is_end = matches!(
                    first.as_str(),
                    "bos" | "eos" | "bom" | "eom" | "eot" | "sop" | "eop" | "fim" | "unk"
                );
                is_end || is_number(second) || second == "token"
            }
            [first, second] => {
                let is_bound = matches!(second.as_str(), "start" | "end" | "begin" | "token");
                is_bound && lists_of(first) & SPEAKER != 0
            }
            [first, second, ..] => {
                matches!(first.as_str(), "extra" | "special") && matches!(second.as_str(), "id" | "token")
                    || first == "tokens" && second == "unused"
            }
            [] => false,
        }
    }

    fn has_actor_and_matter(&self) -> bool {
        let lists = || self.words.iter().map(|word| lists_of(word)).enumerate();
        let actor = lists().find(|(_, lists)| lists & ACTOR != 0).map(|(at, _)| at);
        actor.is_some_and(|actor| lists().any(|(at, lists)| at != actor && lists & MATTER != 0))
    }

    /// Whether this is a type argument, or a component of a page: `Promise<ToolResult>`, `<ToolResult value={x} />`, `<Prompt />`.
    pub(super) fn is_code(&self, before: &str) -> bool {
        let is_glued = before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '.' | ')'));
        let is_word = self.words.len() == 1 && self.namespace.is_none();
        let tag = &self.rest[..self.rest.floor_char_boundary(MAX_TAG)];
        let tag = &tag[..tag.find('>').unwrap_or(0)];
        let is_component = self.is_type && (tag.ends_with('/') || tag.contains("={"));
        let is_joined = !is_word && !self.raw.contains('-') && self.namespace.is_none();
        let is_argument = is_glued
            && (self.is_type
                || is_word && self.ends_like_argument()
                || is_joined && self.is_followed_by_code());
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

    /// After `Vec<tool_call>` comes punctuation, a name or a block.
    fn is_followed_by_code(&self) -> bool {
        let Some(after) = self.rest.strip_prefix('>') else { return self.rest.starts_with([',', '*', '&']) };
        let next =
            after.trim_start_matches(|c: char| c.is_alphanumeric() || matches!(c, ' ' | '_' | '&' | '*'));
        after.starts_with([')', ',', ';', '>', '&', '*', '(', ':'])
            || after.starts_with(' ')
                && after.len() - next.len() < 32
                && next.starts_with(['{', '=', ';', ',', ')', '('])
    }

    pub(super) fn may_be_tag(&self) -> bool {
        // `<Assistant object at 0x7f>` is how Python prints, `<System as Trait>` how Rust names.
        !self.rest.starts_with(" object at ")
            && !self.rest.starts_with(" as ")
            && !self.rest.starts_with("::")
            // `<developer@example.org>`; `#include <sys/types.h>`, also in a comment.
            && !self.rest.starts_with('@')
            && (!self.rest.starts_with('/') || self.rest.starts_with("/>"))
    }

    /// `>`, or attributes.
    pub(super) fn ends_like_tag(&self) -> bool {
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

    /// Whether a second word follows a blank, without being an attribute: `<permissions instructions>`.
    pub(super) fn has_second_word(&self) -> bool {
        self.rest.starts_with(' ') && self.all_words().1
    }

    /// The letters of all words up to the bracket, and whether there are only words.
    pub(super) fn all_words(&self) -> (String, bool) {
        let end = self.rest.find('>').filter(|end| *end <= MAX_NAME).unwrap_or(0);
        let more = &self.rest[..end];
        let is_words =
            !more.trim().is_empty() && more.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b' ');
        (
            if is_words { self.squashed.clone() + &super::fold::squash(more) } else { self.squashed.clone() },
            is_words,
        )
    }

    pub(super) fn has_attributes(&self) -> bool {
        self.rest.starts_with(char::is_whitespace) && self.ends_like_tag() && {
            let tag = &self.rest[..self.rest.floor_char_boundary(MAX_TAG)];
            let tag = &tag[..tag.find('>').unwrap_or(tag.len())];
            // Bindings of components are attributes of another kind.
            tag.contains('=') && !tag.contains(['{', '@', '(']) && !tag.contains(" :") && !tag.contains(" v-")
        }
    }

    pub(super) fn closes_itself(&self) -> bool {
        let tag = &self.rest[..self.rest.floor_char_boundary(MAX_TAG)];
        tag.find('>').is_some_and(|end| tag[..end].ends_with('/'))
    }

    /// Whether nothing else is between the bracket and the end.
    pub(super) fn is_bare(&self) -> bool {
        self.rest.trim_start().starts_with(['>', '/'])
    }
}

/// The characters of a text with their positions and lengths; `&#115;` is the character that it stands for.
fn read_chars(text: &str) -> impl Iterator<Item = (usize, usize, char)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (length, c) = read_char(&text[at..])?;
        at += length;
        Some((at - length, length, c))
    })
}

/// The first character, or the one that a reference there stands for, with the length of what is written.
pub(super) fn read_char(text: &str) -> Option<(usize, char)> {
    read_reference(text).or_else(|| text.chars().next().map(|c| (c.len_utf8(), c)))
}

/// References by name to characters that make up tags, or that nobody sees.
#[rustfmt::skip]
const REFERENCES: &[(&str, char)] = &[
    ("lt", '<'), ("LT", '<'), ("gt", '>'), ("GT", '>'), ("lsqb", '['), ("lbrack", '['), ("rsqb", ']'), ("rbrack", ']'), ("vert", '|'),
    ("verbar", '|'), ("VerticalLine", '|'), ("sol", '/'), ("bsol", '\\'), ("colon", ':'), ("lowbar", '_'), ("UnderBar", '_'),
    ("hyphen", '-'), ("dash", '-'), ("ndash", '-'), ("mdash", '-'), ("nbsp", ' '), ("ensp", ' '), ("emsp", ' '), ("thinsp", ' '),
    ("Tab", '\t'), ("NewLine", '\n'), ("shy", '\u{ad}'), ("ZeroWidthSpace", '\u{200b}'), ("NoBreak", '\u{2060}'),
    ("zwj", '\u{200d}'), ("zwnj", '\u{200c}'), ("lrm", '\u{200e}'), ("rlm", '\u{200f}'),
];

/// `&lt;`, `&#60;`, `&#x03c`: with the semicolon, or a number that ends without one.
fn read_reference(text: &str) -> Option<(usize, char)> {
    let inner = text.strip_prefix('&')?;
    let Some(number) = inner.strip_prefix('#') else {
        let named =
            |(name, _): &&(&str, char)| inner.strip_prefix(*name).is_some_and(|rest| rest.starts_with(';'));
        return REFERENCES.iter().find(named).map(|(name, c)| (name.len() + 2, *c));
    };
    let (digits, radix) = match number.strip_prefix(['x', 'X']) {
        Some(hex) => (hex, 16),
        None => (number, 10),
    };
    let length = digits.bytes().take(10).take_while(|byte| char::from(*byte).is_digit(radix)).count();
    let code = u32::from_str_radix(&digits[..length], radix).ok()?;
    let start = text.len() - digits.len();
    let end = start + length + usize::from(digits[length..].starts_with(';'));
    Some((end, char::from_u32(code)?))
}

/// The first letter that a character stands for.
pub(super) fn first_letter(c: char) -> Option<char> {
    let mut first = None;
    fold_char(c, |letter| {
        first.get_or_insert(letter);
    });
    first
}

/// What separates the words of a name, emphasis of Markdown included.
fn is_separator(c: char) -> bool {
    matches!(
        c,
        '-' | '_' | '.' | '*' | '`' | '·' | '▁' | '‿' | '⁀' | '\u{2010}'
            ..='\u{2015}' | '\u{2212}' | '\u{02d7}' | '\u{ad}'
    ) || fold_to_one(c).is_some_and(|c| matches!(c, '-' | '_'))
}
