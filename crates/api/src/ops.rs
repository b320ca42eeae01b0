//! Every operation, once: what it is called at each door, what it takes, an example that can be typed. The command
//! line, the reference pages, the tools of an agent and the tests are made from this table.
//!
//! Does not know who answers: that is whoever implements `Caller`.

use crate::params::dashed;
use crate::{Code, Error, Param, chats, resolve, search, sessions, upkeep};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

pub struct Operation {
    /// As an agent calls it.
    pub name: &'static str,
    /// As a person types it.
    pub command: &'static str,
    pub about: &'static str,
    /// What the answer holds and in what order.
    pub answer: &'static str,
    pub example: &'static str,
    /// What may stand on a command line without a flag.
    pub words: Option<Words>,
    pub params: &'static [Param],
    /// Shorter flags for a person.
    pub handy: &'static [Handy],
    /// It changes nothing, not even what Loci itself keeps.
    pub read_only: bool,
}

/// Words without a flag.
pub struct Words {
    pub value: &'static str,
    pub about: &'static str,
    /// The parameters they fill, each with all of them.
    pub into: &'static [&'static str],
    pub number: Number,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Number {
    One,
    /// A list, one to a word.
    Several,
    /// One text, however many words it has.
    Sentence,
}

/// A flag that says in short what a parameter says in full.
pub struct Handy {
    pub flag: &'static str,
    /// What stands for its value in help; nothing where it takes none.
    pub value: &'static str,
    pub means: Means,
    pub about: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Means {
    /// This parameter, with this word for its value.
    Is(&'static str, &'static str),
    /// Another name of this parameter.
    Names(&'static str),
    /// The beginning or the end of the span of time that this parameter is.
    Start(&'static str),
    End(&'static str),
}

impl Means {
    pub fn param(self) -> &'static str {
        match self {
            Means::Is(name, _) | Means::Names(name) | Means::Start(name) | Means::End(name) => name,
        }
    }
}

pub const OPERATIONS: &[Operation] = &[
    search::OPERATION,
    chats::OPERATION,
    resolve::OPERATION,
    sessions::OPERATION,
    upkeep::INDEX,
    upkeep::ARCHIVE,
    upkeep::DOCTOR,
    upkeep::SECRETS,
    upkeep::FORGET,
];

/// The operation of that name, at any door.
pub fn operation(name: &str) -> Option<&'static Operation> {
    OPERATIONS.iter().find(|op| op.name == name || op.command == name)
}

/// What an operation is asked: a type whose fields are the operation's parameters.
pub trait Request: Serialize + DeserializeOwned + Default {
    const OPERATION: &'static Operation;

    /// What the types alone do not say: words that must be of a list, contradictions, what cannot be left out.
    fn check(&self) -> Result<(), Error>;

    /// Reads a request, and refuses what it does not take by naming what it does.
    fn read(params: Map<String, Value>) -> Result<Self, Error> {
        let operation = Self::OPERATION;
        if let Some(name) = params.keys().find(|name| !operation.takes(name)) {
            return Err(operation.refuses(&format!("{} takes no `{name}`", operation.name)));
        }
        let request: Self = serde_json::from_value(Value::Object(params))
            .map_err(|e| operation.refuses(&format!("{}: {e}", operation.name)))?;
        request.check()?;
        Ok(request)
    }

    /// The parameters that say more than leaving them out would.
    fn args(&self) -> Map<String, Value> {
        let object = |request: &Self| match serde_json::to_value(request) {
            Ok(Value::Object(map)) => map,
            _ => Map::new(),
        };
        let usual = object(&Self::default());
        object(self).into_iter().filter(|(name, value)| usual.get(name) != Some(value)).collect()
    }
}

impl Operation {
    pub fn takes(&self, name: &str) -> bool {
        self.params.iter().any(|param| param.name == name)
    }

    fn refuses(&self, why: &str) -> Error {
        let known = self.params.iter().map(|param| param.name).collect::<Vec<_>>().join(", ");
        let known = if known.is_empty() { "no parameters".to_string() } else { known };
        Error::new(Code::InvalidArgument, why).hint(format!("it takes: {known}"))
    }

    /// The command line that asks for the same.
    pub fn typed(&self, params: &Map<String, Value>) -> String {
        let mut line = format!("loci {}", self.command);
        let words = self.words.as_ref().filter(|words| words.into.len() == 1);
        let mut flags = String::new();
        for param in self.params {
            let Some(value) = params.get(param.name) else { continue };
            match words.filter(|words| words.into[0] == param.name) {
                Some(words) => push_words(words, &dashed(param.name), value, &mut line),
                None => push_flag(&dashed(param.name), value, &mut flags),
            }
        }
        line + &flags
    }
}

fn push_words(words: &Words, flag: &str, value: &Value, line: &mut String) {
    let like_a_flag = |value: &Value| value.as_str().is_some_and(|text| text.starts_with('-'));
    match value {
        Value::Array(items) if words.number == Number::Sentence || items.iter().any(like_a_flag) => {
            items.iter().for_each(|item| push_flag(flag, item, line));
        }
        Value::Array(items) => items.iter().for_each(|item| push_word(item, line)),
        one if like_a_flag(one) => push_flag(flag, one, line),
        one => push_word(one, line),
    }
}

fn push_word(value: &Value, line: &mut String) {
    line.push(' ');
    line.push_str(&quoted(&plain(value)));
}

fn push_flag(flag: &str, value: &Value, line: &mut String) {
    match value {
        Value::Bool(true) => line.push_str(&format!(" --{flag}")),
        Value::Bool(false) => line.push_str(&format!(" --{flag}=false")),
        Value::Array(items) => items.iter().for_each(|item| push_flag(flag, item, line)),
        // A span of time: on a command line its ends have flags of their own.
        Value::Object(span) => {
            for (end, name) in [("start", "since"), ("end", "until")] {
                if let Some(ms) = span.get(end).and_then(Value::as_i64) {
                    line.push_str(&format!(" --{name} {}", record::Stamp(ms)));
                }
            }
        }
        one => line.push_str(&format!(" --{flag}={}", quoted(&plain(one)))),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

/// A word as a shell reads it back.
pub fn quoted(word: &str) -> String {
    let safe = |c: char| c.is_alphanumeric() || "-_./:@%+,".contains(c);
    if !word.is_empty() && word.chars().all(safe) && !word.starts_with('-') {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
