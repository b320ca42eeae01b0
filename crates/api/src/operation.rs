//! The description of an operation: its row in the table, its request and response types, and the trait that implements it.
//!
//! Does not know which operations there are: the table is in [`crate::operations`].

use crate::fields::Fields;
use crate::params::{self, flag_name};
use crate::terminal_text::append_fmt;
use crate::{Code, Control, Error, Exit, Param, control};
pub use api_derive::Operation;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

#[derive(Clone, Copy)]
pub struct Operation {
    /// The tool name.
    pub name: &'static str,
    /// The command, without `loci`.
    pub command: &'static str,
    pub about: &'static str,
    /// The content and order of the response.
    pub answer: &'static str,
    pub example: &'static str,
    /// The positional arguments of the command.
    pub words: Option<Positional>,
    pub params: &'static [Param],
    /// Required parameters.
    pub required: &'static [&'static str],
    /// Short flags on the command line.
    pub handy: &'static [ShortFlag],
    /// Deletes and rewrites nothing; updating an index on the way does not count.
    pub read_only: bool,
    /// The response keys that may contain the records; the first one present is used. Empty if the response has no list.
    pub rows: &'static [&'static str],
    /// The fields that `stats_only` counts its records by.
    pub stats: &'static [&'static str],
    /// Runs in the process that was started, never in the daemon: it needs the credentials, the path or the terminal of the caller.
    pub local: bool,
    /// Starts the daemon if none runs: a message outlives the command that sent it.
    pub daemon: bool,
    /// Can be drawn as a page.
    pub page: bool,
    /// Prints whole messages, and therefore takes `--unmasked`.
    pub unmaskable: bool,
    /// Asks before it changes what cannot be rebuilt.
    pub confirm: Option<Confirmation>,
    /// What people look for instead of its command.
    pub second_name: Option<&'static str>,
    pub phrase: Phrase,
}

#[derive(Clone, Copy)]
pub struct Confirmation {
    /// What it does, as the begin of a sentence.
    pub why: &'static str,
    pub question: &'static str,
}

/// What an operation does with the recovery phrase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phrase {
    None,
    /// It is typed, or read from standard input.
    Typed,
    /// It is shown, on a terminal only: an agent that runs this would have it in its transcript.
    Shown,
}

/// Positional arguments.
#[derive(Clone, Copy)]
pub struct Positional {
    pub value: &'static str,
    pub about: &'static str,
    /// The parameters they fill: each gets all words, except with [`Number::InTurn`].
    pub into: &'static [&'static str],
    pub number: Number,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Number {
    One,
    /// A list with one element per word.
    Several,
    /// One text of any number of words.
    Sentence,
    /// The first word fills the first parameter, the second word the second.
    InTurn,
}

/// A short flag for a parameter or for one of its values.
pub struct ShortFlag {
    pub flag: &'static str,
    /// The placeholder for its value in help; empty if it takes none.
    pub value: &'static str,
    pub means: FlagMeaning,
    pub about: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlagMeaning {
    /// Sets this parameter to this value.
    Is(&'static str, &'static str),
    /// An alias of this parameter.
    Names(&'static str),
    /// The start or end of this time range parameter.
    Start(&'static str),
    End(&'static str),
}

impl FlagMeaning {
    pub fn param_name(self) -> &'static str {
        match self {
            FlagMeaning::Is(name, _)
            | FlagMeaning::Names(name)
            | FlagMeaning::Start(name)
            | FlagMeaning::End(name) => name,
        }
    }
}

/// The request of an operation: its fields are the operation's parameters, in this order. Derived: see `api_derive`.
pub trait Request: Fields + Default {
    const OPERATION: &'static Operation;
    type Response: Response;

    /// Validates what the table says of the parameters, then what it cannot say: contradictions.
    fn check_params(&self) -> Result<(), Error>;

    /// Parses and validates a request. The error for an unknown parameter lists the known ones.
    fn read(params: &Map<String, Value>) -> Result<Self, Error> {
        let mut request = Self::default();
        Self::OPERATION.read_into(&mut request, params)?;
        request.check_params()?;
        Ok(request)
    }

    /// The parameters that differ from their defaults.
    fn non_default_params(&self) -> Map<String, Value> {
        params::write_changed(self, &Self::default(), Self::OPERATION.params)
    }
}

/// The response of an operation.
pub trait Response: Serialize + DeserializeOwned {
    /// Whether nothing was found.
    fn is_empty(&self) -> bool {
        false
    }

    /// Whether part of the data could not be read.
    fn is_incomplete(&self) -> bool {
        false
    }

    /// The exit status of a process that ran only this operation.
    fn exit(&self) -> Exit {
        match (self.is_incomplete(), self.is_empty()) {
            (true, _) => Exit::Incomplete,
            (_, true) => Exit::Nothing,
            _ => Exit::Found,
        }
    }

    /// Whether a dry run found something that a real run would change.
    fn is_pending(&self) -> bool {
        self.exit() == Exit::Found
    }

    /// The response as agents receive it.
    fn to_agent(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// Implements one operation.
pub trait Handle<R: Request> {
    fn handle(&self, request: &R) -> Result<R::Response, Error>;
}

impl Operation {
    /// What a derived row does not say.
    pub(crate) const EMPTY: Operation = Operation {
        name: "",
        command: "",
        about: "",
        answer: "",
        example: "",
        words: None,
        params: &[],
        required: &[],
        handy: &[],
        read_only: false,
        rows: &[],
        stats: &[],
        local: false,
        daemon: false,
        page: false,
        unmaskable: false,
        confirm: None,
        second_name: None,
        phrase: Phrase::None,
    };

    fn read_into(&self, request: &mut dyn Fields, params: &Map<String, Value>) -> Result<(), Error> {
        if let Some(name) = params.keys().find(|name| !self.accepts_param(name)) {
            return Err(self.parameter_error(&format!("{}: unknown parameter `{name}`", self.name)));
        }
        params::read(request, self.params, params)
            .map_err(|why| self.parameter_error(&format!("{}: {why}", self.name)))
    }

    pub fn accepts_param(&self, name: &str) -> bool {
        self.params.iter().any(|param| param.name == name)
    }

    /// Whether this operation accepts output controls (limit, fields, jq).
    pub fn accepts_control(&self, name: &str) -> bool {
        name == control::INLINE_THRESHOLD.name
            || (!self.rows.is_empty() && Control::PARAMS.iter().any(|c| c.name == name))
    }

    /// The parameter that `--limit` sets.
    pub fn limit_param(&self) -> Option<&'static str> {
        let alias =
            self.handy.iter().find(|handy| handy.flag == "limit").map(|handy| handy.means.param_name());
        alias.or_else(|| self.accepts_param("limit").then_some("limit"))
    }

    fn parameter_error(&self, why: &str) -> Error {
        let known = self.params.iter().map(|param| param.name).collect::<Vec<_>>().join(", ");
        let known = if known.is_empty() { "none".to_string() } else { known };
        Error::new(Code::InvalidArgument, why).hint(format!("parameters: {known}"))
    }

    /// The short flag for this parameter and value.
    fn short_flag(&self, name: &str, value: &Value) -> Option<&'static str> {
        let says = |handy: &&ShortFlag| matches!(handy.means, FlagMeaning::Is(of, word) if of == name && value_text(value) == word);
        self.handy.iter().find(says).map(|handy| handy.flag)
    }

    /// The equivalent command line.
    pub fn command_line(&self, params: &Map<String, Value>) -> String {
        let mut line = format!("loci {}", self.command);
        let one = |words: &&Positional| words.into.len() == 1 || words.number == Number::InTurn;
        let words = self.words.as_ref().filter(one);
        let mut flags = String::new();
        for param in self.params {
            let Some(value) = params.get(param.name) else { continue };
            match words.filter(|words| words.into.contains(&param.name)) {
                Some(words) => push_words(words, &flag_name(param.name), value, &mut line),
                None => match self.short_flag(param.name, value) {
                    Some(flag) => append_fmt(&mut flags, format_args!(" --{flag}")),
                    None => push_flag(&flag_name(param.name), value, &mut flags),
                },
            }
        }
        line + &flags
    }
}

fn push_words(words: &Positional, flag: &str, value: &Value, line: &mut String) {
    let like_a_flag = |value: &Value| value.as_str().is_some_and(|text| text.starts_with('-'));
    match value {
        Value::Array(items) if words.number == Number::Sentence || items.iter().any(like_a_flag) => {
            push_flag(flag, value, line);
        }
        Value::Array(items) => items.iter().for_each(|item| push_word(item, line)),
        one if like_a_flag(one) => push_flag(flag, one, line),
        one => push_word(one, line),
    }
}

fn push_word(value: &Value, line: &mut String) {
    line.push(' ');
    line.push_str(&shell_quote(&value_text(value)));
}

fn push_flag(flag: &str, value: &Value, line: &mut String) {
    match value {
        Value::Bool(true) => append_fmt(line, format_args!(" --{flag}")),
        Value::Bool(false) => append_fmt(line, format_args!(" --{flag}=false")),
        Value::Array(items) => items.iter().for_each(|item| push_flag(flag, item, line)),
        // A time range: start and end are separate flags on the command line.
        Value::Object(span) => {
            for (end, name) in [("start", "since"), ("end", "until")] {
                if let Some(ms) = span.get(end).and_then(Value::as_i64) {
                    append_fmt(line, format_args!(" --{name} {}", record::Stamp(ms)));
                }
            }
        }
        one => append_fmt(line, format_args!(" --{flag}={}", shell_quote(&value_text(one)))),
    }
}

fn value_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

/// A word quoted for a POSIX shell.
pub fn shell_quote(word: &str) -> String {
    let safe = |c: char| c.is_alphanumeric() || "-_./:@%+,".contains(c);
    if !word.is_empty() && word.chars().all(safe) && !word.starts_with('-') {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
