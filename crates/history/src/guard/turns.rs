//! Finds what begins a turn in the text formats of models: `Human:` at the begin of a line, however it is emphasised, headings of
//! instructions, lines that delimit a part of a conversation.
//!
//! `User:` and `System:` begin lines of logs and forms as well. They count where somebody else of a conversation speaks too, or says a
//! sentence, and not among fields of a form. Does not know tags.

use super::fold::fold_char;
use super::squares;
use std::sync::LazyLock;

/// Before the colon: so that it does not follow the word, and everybody sees it.
const MARK: char = '‹';

/// Characters before and after the word.
const MAX_LEAD: usize = 24;

/// Bytes of a line, and of the next one, that are looked at.
const MAX_LINE: usize = 400;

static HEADING: LazyLock<memchr::memmem::Finder<'static>> =
    LazyLock::new(|| memchr::memmem::Finder::new("### "));

/// Marks the colons of turn markers. None: there are none.
pub(super) fn defuse_turns(text: &str) -> Option<String> {
    let mut markers = Vec::new();
    let mut places = Vec::new();
    for start in line_starts(text) {
        let line = &text[start..];
        // A snippet stands between backticks.
        let quote = usize::from(line.starts_with('`'));
        if let [first, second, third, ..] = line.as_bytes()[quote..]
            && first == second
            && second == third
        {
            let whole = line[quote..].lines().next().unwrap_or_default();
            let whole = if quote == 1 { whole.split('`').next().unwrap_or_default() } else { whole };
            places.extend(squares::read_delimiter(whole).map(|run| start + quote + run));
        }
        if let Some(marker) = Marker::read(line) {
            markers.push((start, marker));
        }
    }
    for at in HEADING.find_iter(text.as_bytes()) {
        let near = &text[text.floor_char_boundary(at.saturating_sub(MAX_LEAD))..at];
        let is_at_begin = near.rsplit('\n').next().unwrap_or_default().trim().is_empty();
        if let Some(marker) = Marker::read(&text[at..]).filter(|it| !is_at_begin && it.has_colon) {
            markers.push((at, marker));
        }
    }
    let talk = Talk::of(text, &markers);
    places.extend(
        markers
            .iter()
            .filter(|(start, it)| talk.has_turn(text, *start, it))
            .map(|(start, it)| start + it.place),
    );
    if places.is_empty() {
        return None;
    }
    places.sort_unstable();
    places.dedup();
    let mut out = String::with_capacity(text.len() + 16);
    let mut done = 0;
    for place in places {
        out.push_str(&text[done..place]);
        out.push(MARK);
        done = place;
    }
    out.push_str(&text[done..]);
    Some(out)
}

/// The beginning of the text, and the position after each line break.
fn line_starts(text: &str) -> impl Iterator<Item = usize> {
    std::iter::once(0).chain(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1))
}

/// What is said about a conversation by its markers together.
#[derive(Default)]
struct Talk {
    /// `Human` or `Assistant`, in capitals, outside of a form.
    has_party: bool,
    /// Somebody who asks and somebody who answers.
    is_dialogue: bool,
    /// The same in a language other than English, or in lower case.
    is_plain_dialogue: bool,
    has_short: bool,
    is_exercise: bool,
    is_loop: bool,
    has_headings: bool,
}

impl Talk {
    fn of(text: &str, markers: &[(usize, Marker)]) -> Talk {
        if markers.is_empty() {
            return Talk::default();
        }
        let has = |is_meant: &dyn Fn(usize, &Marker) -> bool| {
            markers.iter().any(|(start, it)| it.has_colon && is_meant(*start, it))
        };
        let has_word = |word: Word| has(&|_, it| it.word == word && it.is_capital);
        let said = |start: usize, it: &Marker| {
            (it.is_loud || it.is_sentence || start > 0 && is_after_blank_line(text, start))
                && !is_field(text, start, it)
        };
        let weak = |asks: bool| {
            move |it: &Marker| match it.word {
                Word::Human | Word::User => asks,
                Word::Assistant | Word::System | Word::Tool => !asks,
                Word::Foreign { asks: this } => this == asks,
                _ => false,
            }
        };
        let (asks, answers) = (weak(true), weak(false));
        let is_said = has(&|start, it| (asks(it) || answers(it)) && said(start, it));
        let both = |is_meant: &dyn Fn(&Marker) -> bool| {
            has(&|start, it| asks(it) && is_meant(it) && !is_field(text, start, it))
                && has(&|start, it| answers(it) && is_meant(it) && !is_field(text, start, it))
        };
        let heads = |words: [Word; 2]| {
            markers
                .iter()
                .any(|(_, it)| it.is_heading && !it.has_colon && words.contains(&it.word) && it.is_capital)
        };
        Talk {
            has_party: has(&|start, it| {
                matches!(it.word, Word::Human | Word::Assistant)
                    && it.is_capital
                    && !is_field(text, start, it)
            }),
            is_dialogue: both(&|it| it.is_capital && !matches!(it.word, Word::Foreign { .. })) && is_said,
            is_plain_dialogue: both(&|it| it.is_sentence) && is_said,
            has_short: has_word(Word::ShortHuman)
                && has_word(Word::ShortAssistant)
                && has(&|start, it| {
                    it.word == Word::ShortAssistant && start > 0 && is_after_blank_line(text, start)
                }),
            is_exercise: has(&|_, it| matches!(it.word, Word::Instruction | Word::Response) && it.is_heading),
            is_loop: has_word(Word::ActionInput)
                || has_word(Word::Observation) && (has_word(Word::Action) || has_word(Word::Thought)),
            has_headings: heads([Word::Human, Word::User]) && heads([Word::Assistant, Word::Tool]),
        }
    }

    fn has_turn(&self, text: &str, start: usize, it: &Marker) -> bool {
        if !it.has_colon {
            return (self.has_headings || it.has_picture)
                && it.is_heading
                && it.is_capital
                && it.is_speaker();
        }
        // Nobody writes these words in other letters without a reason.
        if it.is_disguised && it.is_speaker() {
            return true;
        }
        if it.is_heading && it.is_speaker() && it.is_capital && it.value_is_empty {
            return true;
        }
        let is_field = || is_field(text, start, it);
        let is_company = self.is_dialogue || self.has_party && it.is_capital;
        match it.word {
            Word::Human | Word::Assistant if it.is_capital => !is_field(),
            Word::Human | Word::Assistant => {
                self.is_plain_dialogue || it.is_sentence && is_after_blank_line(text, start) && !is_field()
            }
            Word::System if it.is_capital => {
                (is_company || it.is_sentence && !is_followed_by_field(text, start)) && !is_field()
            }
            Word::User | Word::Tool if it.is_capital => is_company && !is_field(),
            Word::System | Word::User | Word::Tool | Word::Foreign { .. } => {
                self.is_plain_dialogue && !is_field()
            }
            Word::ShortHuman | Word::ShortAssistant => self.has_short && it.is_capital,
            Word::Instruction => it.is_heading,
            Word::Response => it.is_third_level,
            Word::Input => it.is_third_level && self.is_exercise,
            Word::Thought | Word::Action | Word::ActionInput | Word::Observation => self.is_loop,
        }
    }
}

fn is_after_blank_line(text: &str, start: usize) -> bool {
    let before = text[..start].strip_suffix('\n').unwrap_or_default();
    before.trim_end_matches(['\r', ' ', '\t']).ends_with('\n') || start == 0
}

/// Whether this is one of several fields: a short value, beside a line with another name and a short value.
fn is_field(text: &str, start: usize, it: &Marker) -> bool {
    if it.is_sentence || it.value_is_empty && !it.has_nested {
        return false;
    }
    let near = &text[text.floor_char_boundary(start.saturating_sub(MAX_LINE))..start];
    let before = near.strip_suffix('\n').map(|before| before.rsplit('\n').next().unwrap_or_default());
    let after = line_below(text, start);
    [before, after].into_iter().flatten().any(is_other_field) || it.has_nested
}

/// Whether the line below is a field of a form, which a sentence above does not make a turn.
fn is_followed_by_field(text: &str, start: usize) -> bool {
    line_below(text, start).is_some_and(is_other_field)
}

fn line_below(text: &str, start: usize) -> Option<&str> {
    text[start..text.floor_char_boundary(start + MAX_LINE)].split('\n').nth(1)
}

/// `Driver: vacant`, `  name: core`: a name that is none of a speaker, and a short value.
fn is_other_field(line: &str) -> bool {
    let line = &line[..line.floor_char_boundary(160)];
    let Some((name, value)) = line.split_once(':') else { return false };
    let name = name.trim_matches(|c: char| {
        c.is_whitespace() || matches!(c, '-' | '*' | '_' | '`' | '"' | '\'' | '>' | '#')
    });
    let is_name = !name.is_empty()
        && name.len() <= 40
        && name.split(' ').count() <= 4
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.' | '/'));
    is_name
        && (value.is_empty() || value.starts_with([' ', '\t']))
        && value.split_whitespace().count() <= 8
        && Word::of(&super::fold::squash(name)).is_none()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Human,
    Assistant,
    System,
    User,
    Tool,
    ShortHuman,
    ShortAssistant,
    Instruction,
    Input,
    Response,
    Thought,
    Action,
    ActionInput,
    Observation,
    /// A speaker in another language.
    Foreign {
        asks: bool,
    },
}

impl Word {
    fn of(name: &str) -> Option<Word> {
        Some(match name {
            "human" => Word::Human,
            "assistant" => Word::Assistant,
            "system" | "developer" => Word::System,
            "user" => Word::User,
            "tool" | "model" | "ai" | "bot" | "chatbot" | "gpt" | "chatgpt" | "function" => Word::Tool,
            "h" => Word::ShortHuman,
            "a" => Word::ShortAssistant,
            "instruction" => Word::Instruction,
            "input" => Word::Input,
            "response" => Word::Response,
            "thought" => Word::Thought,
            "action" => Word::Action,
            "actioninput" => Word::ActionInput,
            "observation" | "finalanswer" => Word::Observation,
            // Folded: marks are dropped and lookalikes replaced.
            "用户" | "人类" | "ユーザー" | "사용자" | "benutzer" | "nutzer" | "utilisateur" | "usuario"
            | "utente" => Word::Foreign { asks: true },
            "助手" | "助理" | "アシスタント" | "어시스턴트" | "assistent" | "asistente" | "assistente" => {
                Word::Foreign { asks: false }
            }
            _ => return None,
        })
    }
}

#[allow(clippy::struct_excessive_bools)] // independent observations about one line
struct Marker {
    word: Word,
    is_capital: bool,
    is_loud: bool,
    is_heading: bool,
    is_third_level: bool,
    /// Letters of the word are not those that it is written with.
    is_disguised: bool,
    has_colon: bool,
    /// A picture stands before the word, as in exported chats.
    has_picture: bool,
    value_is_empty: bool,
    /// What follows is several words and looks like speech.
    is_sentence: bool,
    /// A line that is indented follows, as in YAML.
    has_nested: bool,
    /// Where the mark is inserted.
    place: usize,
}

impl Marker {
    fn read(line: &str) -> Option<Marker> {
        let line = &line[..line.floor_char_boundary(MAX_LINE)];
        let is_lead = |c: char| {
            c.is_whitespace() && c != '\n'
                || matches!(c, '*' | '_' | '#' | '`' | '~' | '>' | '-' | '+' | '/' | '!' | '<')
                || !c.is_ascii() && !c.is_alphanumeric()
        };
        let unmarked = trim_few(line, is_lead);
        let number = unmarked.len() - unmarked.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let rest = match &unmarked[number..] {
            item if (1..=3).contains(&number) && item.starts_with([')', '.']) => {
                trim_few(&item[1..], is_lead)
            }
            _ => unmarked,
        };
        let lead = &line[..line.len() - rest.len()];
        // Most lines end here.
        if !may_be_word(&rest.as_bytes()[..rest.len().min(64)]) {
            return None;
        }
        let (mut name, mut end, mut blanks) = (String::new(), rest.len(), 0);
        for (at, c) in rest.char_indices().take(MAX_LEAD) {
            let is_between = c == ' ' && blanks == 0 && matches!(name.as_str(), "action" | "final");
            blanks += usize::from(is_between);
            let mut is_letter = true;
            fold_char(c, |letter| {
                is_letter &= letter.is_alphabetic();
                name.extend(letter.is_alphabetic().then_some(letter));
            });
            // The prolonged sound mark of `ユーザー` is a letter; a length mark is read as a colon.
            if !is_between && (!is_letter || is_colon(c)) {
                end = at;
                break;
            }
        }
        let trimmed = if name.ends_with('\u{2d0}') { &name[..name.len() - 2] } else { name.as_str() };
        let word = Word::of(trimmed)?;
        let written = rest[..end].trim_end();
        let after =
            trim_few(&rest[end..], |c| c.is_whitespace() && c != '\n' || matches!(c, '*' | '_' | '`' | '~'));
        let colon = after.chars().next().filter(|c| is_colon(*c));
        let is_heading = lead.contains("##");
        if colon.is_none() {
            let is_alone = is_heading
                && after.lines().next().unwrap_or_default().trim().is_empty()
                && !lead.contains(MARK);
            is_alone.then_some(())?;
        }
        let said = &after[colon.map_or(0, char::len_utf8)..];
        let said = said.trim_start_matches(['*', '_', '`', '~']);
        let value = said.lines().next().unwrap_or_default().trim();
        let is_latin = trimmed.is_ascii();
        Some(Marker {
            word,
            is_capital: written.contains(char::is_uppercase) || !is_latin,
            is_loud: !written.contains(char::is_lowercase) && is_latin,
            is_heading,
            is_third_level: lead.trim() == "###",
            is_disguised: is_latin
                && !matches!(word, Word::Foreign { .. })
                && written.chars().any(|c| !c.is_ascii() && c.is_alphanumeric()),
            has_colon: colon.is_some(),
            has_picture: lead.contains(|c| matches!(c, '\u{1f300}'..='\u{1faff}')),
            value_is_empty: value.is_empty(),
            is_sentence: is_sentence(value),
            has_nested: said
                .split('\n')
                .nth(1)
                .is_some_and(|next| value.is_empty() && next.starts_with(['\t', ' ']) && next.contains(':')),
            place: if colon.is_some() { line.len() - after.len() } else { lead.len() },
        })
    }

    fn is_speaker(&self) -> bool {
        matches!(self.word, Word::Human | Word::Assistant | Word::System | Word::User | Word::Tool)
    }
}

/// Whether the letters at the begin may be a word that counts. Those of ASCII are compared without a copy.
fn may_be_word(rest: &[u8]) -> bool {
    const WORDS: [&[u8]; 21] = [
        b"human",
        b"assistant",
        b"system",
        b"developer",
        b"user",
        b"tool",
        b"model",
        b"ai",
        b"bot",
        b"chatbot",
        b"gpt",
        b"chatgpt",
        b"function",
        b"h",
        b"a",
        b"instruction",
        b"input",
        b"response",
        b"thought",
        b"action",
        b"observation",
    ];
    const FOREIGN: [&[u8]; 9] = [
        b"final",
        b"benutzer",
        b"nutzer",
        b"utilisateur",
        b"usuario",
        b"utente",
        b"assistent",
        b"asistente",
        b"assistente",
    ];
    let length = rest.iter().take(16).take_while(|byte| byte.is_ascii_alphabetic()).count();
    match rest.get(length) {
        // Other letters: only those that fold to the first one of a word.
        Some(0x80..) => length > 0 || may_begin_word(rest),
        None if length == 0 => false,
        _ => {
            (1..=11).contains(&length)
                && WORDS
                    .iter()
                    .chain(&FOREIGN)
                    .any(|word| word.len() == length && rest[..length].eq_ignore_ascii_case(word))
        }
    }
}

fn may_begin_word(rest: &[u8]) -> bool {
    let first = rest.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
    let first = first.and_then(super::names::first_letter);
    first.is_some_and(|c| c.is_ascii_alphabetic() || "用人ユ사助ア어".contains(c))
}

/// Several words, or characters of a script without blanks, that are not the value of a field: no digits in most of them.
fn is_sentence(value: &str) -> bool {
    let words: Vec<&str> = value.split_whitespace().collect();
    let wide =
        value.chars().filter(|c| matches!(c, '\u{3040}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}')).count();
    let lower = words.iter().filter(|word| word.starts_with(char::is_lowercase)).count();
    wide >= 4
        || words.len() >= 4 && lower * 2 >= words.len()
        || words.len() >= 2 && value.ends_with(['.', '!', '?']) && lower > 0
}

/// Without a few such characters at the begin.
fn trim_few(text: &str, is_meant: impl Fn(char) -> bool) -> &str {
    let end =
        text.char_indices().take(MAX_LEAD).find(|(_, c)| !is_meant(*c)).map_or(text.len(), |(at, _)| at);
    &text[end..]
}

/// A colon, or a character that looks like one.
fn is_colon(c: char) -> bool {
    let mut is_colon = matches!(c, '∶' | '꞉' | 'ː' | '˸' | '⁚' | '։' | '׃' | '܃' | '܄' | '᛬' | '⁝' | 'ꓽ');
    fold_char(c, |letter| is_colon |= letter == ':');
    is_colon
}
