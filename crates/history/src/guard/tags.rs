//! Finds tags and special tokens that have a meaning to agents, their tools or models.
//!
//! What has the shape of a control token counts whatever its name is (`<|…|>`, `<start_of_…>`), and so does the name of a protocol
//! (`names`). Other names that speak of a conversation count only as a wrapper, a tag that is closed or has attributes, outside of documents
//! (`elements`): the same words are types, components and placeholders in code.

use super::elements::Elements;
use super::names::{MAX_NAME, MAX_TAG, Meaning, Name, first_letter, is_pair_word, is_role, read_char};
use super::openers::{Sign, after_bar, openers, split_lead};
use super::squares;
use std::cell::OnceCell;

/// Replaces the first character of everything that counts. None: nothing does.
pub(super) fn defuse_tags(text: &str) -> Option<String> {
    let page = Page {
        text,
        elements: OnceCell::new(),
        squares: squares::Squares::new(text),
        tokens: OnceCell::new(),
    };
    let (mut out, mut done) = (None, 0);
    for (at, length, sign) in openers(text) {
        let after = at + length;
        let harms = match sign {
            Sign::Angle => page.is_tag(at, after),
            Sign::Encoded => page.is_encoded_tag(after),
            Sign::Bracket => page.squares.is_marker(at, after),
            Sign::Ending => page.squares.is_token_end(at),
            Sign::Lookalike => page.is_lookalike_tag(at, after),
        };
        if harms {
            let out = out.get_or_insert_with(|| String::with_capacity(text.len() + 16));
            out.push_str(&text[done..at]);
            out.push(match sign {
                Sign::Bracket => '⁅',
                Sign::Ending => '⁆',
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

/// Characters that look like the begin of a tag, or that templates use for it.
const LOOKALIKE_ENDS: &[char] =
    &['›', '»', '⟩', '〉', '》', '❭', '❯', '❱', 'ᐳ', '˃', '≻', '⧽', '\u{232a}', '▷', '✿'];

/// Tokens that are words of programs and pages as well: they count beside another one.
const TOKENS: [&str; 12] = [
    "<PRE>", "<SUF>", "<MID>", "<EOT>", "<unk>", "<pad>", "<mask>", "<cls>", "<sep>", "<bos>", "<eos>",
    "</s>",
];

struct Page<'t> {
    text: &'t str,
    /// The tags of the text and how they are nested, read when first needed.
    elements: OnceCell<Elements>,
    squares: squares::Squares<'t>,
    /// Which of [`TOKENS`] the text contains.
    tokens: OnceCell<Vec<&'static str>>,
}

impl Page<'_> {
    fn elements(&self) -> &Elements {
        self.elements.get_or_init(|| Elements::read(self.text))
    }

    /// Whether the `<` at this position begins a tag that counts.
    fn is_tag(&self, at: usize, after: usize) -> bool {
        let (lead, rest) = split_lead(&self.text[after..]);
        if let Some((bar, token)) = after_bar(rest) {
            return is_special_token(bar, token, &self.text[..at]);
        }
        // Most brackets compare.
        if !rest
            .starts_with(|c: char| c.is_alphabetic() || !c.is_ascii() || matches!(c, '&' | '*' | '`' | '_'))
        {
            return rest.starts_with('<') && self.is_shouted(at);
        }
        let name = Name::read(rest);
        // Emphasis may divide a name; `<*node>` is a pointer.
        if name.squashed.is_empty() || rest.starts_with(['*', '`', '_']) && name.words.len() == 1 {
            return false;
        }
        let is_closing = lead.contains(['/', '\\', '∕', '⁄', '／', '＼']);
        let before = &self.text[..at];
        if !is_closing && name.is_code(before) {
            return false;
        }
        // `<turn|>`
        let is_half = after_bar(name.rest).is_some_and(|(_, end)| end.starts_with('>'));
        let is_glued = before.ends_with(char::is_alphanumeric);
        if is_half && !name.raw.contains(char::is_whitespace) && (!is_glued || name.raw.len() > 2) {
            return true;
        }
        // `n < tool_calls && done` compares.
        let may_compare =
            lead.contains(char::is_whitespace) || before.ends_with(|c: char| c.is_alphanumeric());
        if may_compare && !is_closing && !name.raw.contains('-') && !name.ends_like_tag() {
            return false;
        }
        let meaning = name.meaning();
        if meaning == Meaning::Protocol {
            return true;
        }
        let word = name.squashed.as_str();
        if name.raw == "s" {
            return self.is_sequence_token(at, is_closing, &name);
        }
        // `<?instruction … ?>` is for a program that reads the document.
        if name.words.len() == 1 && is_role(word) && name.may_be_tag() && !lead.contains('?') {
            return true;
        }
        if self.is_beside_token(&name) {
            return true;
        }
        self.is_wrapper(at, is_closing, &name, meaning)
    }

    /// A tag whose name may be one in a document or a placeholder: it counts if it wraps text, and nothing of a document is around it.
    fn is_wrapper(&self, at: usize, is_closing: bool, name: &Name<'_>, meaning: Meaning) -> bool {
        let has_blank_in_name = name.has_second_word() && meaning == Meaning::Other;
        let word = name.squashed.as_str();
        // In lower case this is an element of documentation.
        let is_document = word == "important" && name.raw.contains(char::is_lowercase);
        let is_paired_word = name.words.len() == 1 && is_pair_word(word) && !is_document && !name.is_type;
        if has_blank_in_name {
            let (words, _) = name.all_words();
            let is_closed = || self.elements().is_closed(&words);
            return words.contains("instruction")
                || is_closed() && (is_paired_word || self.text[..at].is_empty() || is_role(word));
        }
        if !name.ends_like_tag() || (meaning == Meaning::Other && !is_paired_word) {
            return false;
        }
        if is_paired_word && name.rest.starts_with('=') {
            return true;
        }
        // `<<END_OF_INPUT>>`
        let is_double = name.words.len() > 1 && self.text[..at].ends_with('<') && name.rest.starts_with(">>");
        if is_double && !name.raw.contains(char::is_lowercase) {
            return true;
        }
        let is_pair = is_closing || self.elements().is_closed(word);
        // A title or a snippet may have lost the end: a placeholder is not alone on its line, nor does text follow it at once.
        let is_cut = name.is_bare()
            && !is_paired_word
            && !name.is_type
            && (self.is_line(at, name)
                || meaning == Meaning::Conversation
                    && name
                        .rest
                        .trim_start()
                        .strip_prefix('>')
                        .is_some_and(|text| text.starts_with(char::is_alphabetic)));
        let is_whole = is_cut
            || meaning == Meaning::Conversation
                && (name.has_attributes() || name.is_bare() && name.closes_itself());
        (is_pair || is_whole) && !self.elements().is_in_document(self.text, at)
    }

    /// Whether nothing else is on its line: a placeholder stands in a command.
    fn is_line(&self, at: usize, name: &Name<'_>) -> bool {
        let is_blank = |c: char| matches!(c, ' ' | '\t' | '>' | '<');
        let before = self.text[..at].trim_end_matches([' ', '\t', '<']);
        let after = name.rest.trim_start_matches(is_blank);
        (before.is_empty() || before.ends_with('\n')) && (after.is_empty() || after.starts_with(['\n', '\r']))
    }

    /// `>>QUESTION<<`: this is the first of the two brackets.
    fn is_shouted(&self, at: usize) -> bool {
        let before = &self.text[..at];
        let word = before.trim_end_matches(|c: char| c.is_ascii_uppercase());
        before.len() - word.len() >= 4
            && word
                .strip_suffix(">>")
                .is_some_and(|rest| !rest.ends_with(|c: char| c.is_alphanumeric() || c == '>'))
    }

    /// Whether this is one of [`TOKENS`], and the text contains another one of its sort.
    fn is_beside_token(&self, name: &Name<'_>) -> bool {
        let is_loud = name.raw.starts_with(|c: char| c.is_ascii_uppercase());
        let is_this = |token: &str| token[1..token.len() - 1] == *name.raw;
        let is_sort = |token: &str| token[1..].starts_with(|c: char| c.is_ascii_uppercase()) == is_loud;
        name.rest.starts_with('>')
            && TOKENS.iter().any(|token| is_this(token))
            && self.tokens().iter().any(|token| is_sort(token) && !is_this(token))
    }

    fn tokens(&self) -> &[&'static str] {
        self.tokens.get_or_init(|| TOKENS.iter().copied().filter(|token| self.text.contains(token)).collect())
    }

    fn is_encoded_tag(&self, after: usize) -> bool {
        let (_, rest) = split_lead(&self.text[after..]);
        if let Some((bar, token)) = after_bar(rest) {
            return is_special_token(bar, token, "");
        }
        let name = Name::read(rest);
        name.is_protocol() || matches!(name.raw, "INST" | "inst") && name.rest.starts_with("&#93;")
    }

    /// `‹system-reminder›` and its like. What this module writes ends with `>`.
    fn is_lookalike_tag(&self, at: usize, after: usize) -> bool {
        let (_, rest) = split_lead(&self.text[after..]);
        let name = Name::read(rest);
        let sign = self.text[at..].chars().next();
        let is_template = matches!(sign, Some('◁' | '✿'));
        let counts = match sign {
            Some('✿') => name.raw.len() >= 4 && name.raw.bytes().all(|byte| byte.is_ascii_uppercase()),
            Some('◁') => !name.raw.is_empty() && name.raw.is_ascii(),
            _ => name.is_protocol(),
        };
        if !counts {
            return false;
        }
        if is_template {
            return name.rest.starts_with(LOOKALIKE_ENDS);
        }
        let end = rest
            .chars()
            .take(MAX_TAG)
            .find(|c| matches!(c, '>' | '＞' | '﹥') || LOOKALIKE_ENDS.contains(c) && *c != '✿');
        end.is_some_and(|end| !matches!(end, '>' | '＞' | '﹥'))
    }

    /// `<s>` and `</s>` are the ends of a sequence, and in HTML the ends of struck text.
    fn is_sequence_token(&self, at: usize, is_closing: bool, name: &Name<'_>) -> bool {
        if !name.rest.starts_with('>') {
            return false;
        }
        let line = &self.text[self.text.floor_char_boundary(at.saturating_sub(MAX_TAG))..];
        let start = line.floor_char_boundary(at.min(MAX_TAG));
        let start = line[..start].rfind('\n').map_or(0, |end| end + 1);
        let line = line[start..].lines().next().unwrap_or_default().trim();
        if line.starts_with("<s>") && line.ends_with("</s>") && line.split(' ').nth(2).is_some() {
            return true;
        }
        let is_struck = |inner: &str| !inner.is_empty() && !inner.contains(['\n', '[', '<', '|', ':']);
        if is_closing {
            let before = &self.text[self.text.floor_char_boundary(at.saturating_sub(MAX_TAG))..at];
            return !before.rfind("<s>").is_some_and(|open| is_struck(&before[open + 3..]));
        }
        let is_argument = self.text[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ':'));
        let inner = &name.rest[1..name.rest.floor_char_boundary(MAX_TAG)];
        let begins = at == 0 || inner.starts_with(['[', '<']) || self.tokens().contains(&"</s>");
        !is_argument && begins && !inner.find("</s>").is_some_and(|end| is_struck(&inner[..end]))
    }
}

/// `<|name|>` and `<｜name｜>`, whatever its name, and the halves `<|name>` and `<｜name`. With blanks, `a <| b |> c` is an expression, so that
/// the name has to be one that counts.
fn is_special_token(bar: char, rest: &str, before: &str) -> bool {
    let ends = |at: usize| {
        after_bar(&rest[at..])
            .and_then(|(_, end)| read_char(end.trim_start()))
            .is_some_and(|(_, c)| first_letter(c) == Some('>'))
    };
    let line = &rest[..rest.floor_char_boundary(MAX_NAME + 16)];
    let end = line.char_indices().find(|(at, c)| (*c == '|' || *c == '&' || !c.is_ascii()) && ends(*at));
    let inner = end.map_or("", |(at, _)| &rest[..at]);
    let is_tight = inner.contains(char::is_alphanumeric)
        && !inner.starts_with(char::is_whitespace)
        && !inner.ends_with(char::is_whitespace)
        && !inner.contains(['\n', '<', '>', '(', ')']);
    if is_tight || is_known_token(rest) {
        return true;
    }
    let length = rest.len()
        - rest.trim_start_matches(|c: char| c.is_alphanumeric() || matches!(c, '_' | '▁' | '-')).len();
    let next = rest[length..].chars().next();
    let is_word = length >= 2 && !before.ends_with(|c: char| c.is_alphanumeric());
    is_word && (bar != '|' && !bar.is_ascii() || next == Some('>') || next == Some('<'))
}

fn is_known_token(rest: &str) -> bool {
    let (_, rest) = split_lead(rest);
    let name = Name::read(rest);
    let is_word = || {
        is_role(&name.squashed)
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
    };
    name.meaning() != Meaning::Other && name.raw.contains('_') || name.is_protocol() || {
        let end = name.rest.trim_start();
        is_word() && after_bar(end).is_some_and(|(_, end)| end.trim_start().starts_with('>'))
    }
}
