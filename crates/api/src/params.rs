//! The description of a parameter, and the parameters that operations share.

use crate::fields::{Fields, Kind, Shape};
use crate::{Code, Error};
use record::{Clock, Stamp};
use serde_json::{Map, Value};

/// Another way to write a value, and what is meant.
pub type Spelling = (&'static str, &'static str);

/// Checks a text of a parameter: the name of the parameter, and the text.
pub type Check = fn(&str, &str) -> Result<(), Error>;

#[derive(Clone, Copy)]
pub struct Param {
    pub name: &'static str,
    pub shape: Shape,
    /// The placeholder for the value in help.
    pub value: &'static str,
    pub about: &'static str,
    pub schema: fn() -> Value,
    /// What is missing without it, if it must be given; empty if the request says this itself.
    pub required: Option<&'static str>,
    /// The least and the most it may be.
    pub range: Option<(u64, u64)>,
    /// Programs use it, people seldom do: `-h` leaves it out.
    pub program: bool,
    pub spelled: &'static [Spelling],
    /// Checks each text of it: its name and the text.
    pub check: Option<Check>,
}

impl Param {
    /// The value that is meant, for a value as people and models write it.
    pub(crate) fn respell(&self, given: &Value) -> Value {
        let meant = |text: &str| {
            let folded = text.trim().to_lowercase();
            self.spelled.iter().find(|(written, _)| *written == folded).map(|(_, meant)| Value::from(*meant))
        };
        match given {
            Value::String(text) => meant(text).unwrap_or_else(|| given.clone()),
            Value::Array(items) => items.iter().map(|item| self.respell(item)).collect(),
            other => other.clone(),
        }
    }
}

impl Param {
    const fn new<T: Kind>(name: &'static str, value: &'static str, about: &'static str) -> Param {
        Param {
            name,
            shape: T::SHAPE,
            value,
            about,
            schema: T::schema,
            required: None,
            range: None,
            program: false,
            spelled: &[],
            check: None,
        }
    }

    pub(crate) const fn text(name: &'static str, value: &'static str, about: &'static str) -> Param {
        Param::new::<String>(name, value, about)
    }

    pub(crate) const fn list(name: &'static str, value: &'static str, about: &'static str) -> Param {
        Param::new::<Vec<String>>(name, value, about)
    }

    pub(crate) const fn flag(name: &'static str, about: &'static str) -> Param {
        Param::new::<bool>(name, "", about)
    }

    pub(crate) const fn count(name: &'static str, about: &'static str) -> Param {
        Param::new::<u64>(name, u64::PLACEHOLDER, about)
    }
}

// ---- the parameters of a request

/// Reads parameters that are known to be accepted. The error names the parameter.
pub(crate) fn read(
    request: &mut dyn Fields,
    params: &[Param],
    given: &Map<String, Value>,
) -> Result<(), String> {
    for (position, param) in params.iter().enumerate() {
        let Some(value) = given.get(param.name).filter(|value| !value.is_null()) else { continue };
        let meant = param.respell(value);
        let read = request.field_mut(position).read(&meant);
        read.map_err(|wanted| format!("`{}` must be {wanted}", param.name))?;
    }
    Ok(())
}

/// The parameters that differ from their defaults.
pub(crate) fn write_changed(
    request: &dyn Fields,
    usual: &dyn Fields,
    params: &[Param],
) -> Map<String, Value> {
    let values = params.iter().enumerate().map(|(position, param)| {
        (param.name, request.field(position).write(), usual.field(position).write())
    });
    values
        .filter(|(_, value, usual)| value != usual)
        .map(|(name, value, _)| (name.to_owned(), value))
        .collect()
}

/// What a table of parameters can say of their values: which must be there, their words, and their ranges.
pub(crate) fn check(request: &dyn Fields, params: &[Param], example: &str) -> Result<(), Error> {
    let invalid = |message: String, hint: String| Err(Error::new(Code::InvalidArgument, message).hint(hint));
    for (position, param) in params.iter().enumerate() {
        let value = request.field(position).write();
        if let Some(check) = param.check {
            texts_of(&value)
                .try_for_each(|text| check(param.name, text))
                .map_err(|error| if error.hints.is_empty() { error.hint(example) } else { error })?;
        }
        if let Some(what) = param.required.filter(|what| !what.is_empty() && is_blank(&value)) {
            return invalid(format!("missing {what}"), example.to_owned());
        }
        if let (Shape::Choice(words), Value::String(word)) = (param.shape, &value)
            && !words.contains(&word.as_str())
        {
            return invalid(
                format!("unknown {} `{word}`", param.name),
                format!("one of: {}", words.join(", ")),
            );
        }
        if let (Some((least, most)), Some(number)) = (param.range, value.as_u64())
            && !(least..=most).contains(&number)
        {
            let wanted =
                if most == u64::MAX { format!("at least {least}") } else { format!("{least} to {most}") };
            return invalid(format!("`{}` is {number}", param.name), wanted);
        }
    }
    Ok(())
}

fn texts_of(value: &Value) -> impl Iterator<Item = &str> {
    let items = value.as_array().map_or(&[][..], Vec::as_slice);
    value.as_str().into_iter().chain(items.iter().filter_map(Value::as_str))
}

fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.iter().all(is_blank),
        _ => false,
    }
}

/// The schemas of parameters, by name.
pub(crate) fn schemas(params: &[Param]) -> Map<String, Value> {
    params.iter().map(|param| (param.name.to_owned(), (param.schema)())).collect()
}

// ---- parameters that operations share; operations cover all projects by default

pub(crate) const SOURCE: Param = Param {
    spelled: AGENT_NAMES,
    ..Param::list(
        "source",
        "NAME",
        "Only these agents, comma-separated: claude-code, codex, opencode, … (`loci sources` lists all)",
    )
};
pub(crate) const PROJECT: Param =
    Param::text("project", "PROJECT", "Only this project: path, name or git remote [default: all projects]");
pub(crate) const DEVICE: Param = Param {
    check: Some(check_not_blank),
    ..Param::text("device", "NAME", "Only sessions of this device (`loci sync devices` lists them)")
};
pub(crate) const MINE: Param = Param::flag("mine", "Only sessions of this device");
pub(crate) const SINCE: Param = Param {
    check: Some(check_time),
    ..Param::text(
        "since",
        "TIME",
        "Earliest time: 7d, 12h, today, 2026-11-01 (local time), or an RFC 3339 time",
    )
};
pub(crate) const UNTIL: Param = Param {
    check: Some(check_time),
    ..Param::text("until", "TIME", "Latest time (same formats as `--since`; dates include the whole day)")
};
pub(crate) const OFFSET: Param = Param::count("offset", "Skip the first N");
pub(crate) const REVERSE: Param = Param::flag("reverse", "Oldest first");
pub(crate) const ROOT: Param = Param::text(
    "root",
    "DIR",
    "Source tree [default: the enclosing git repository, or the current directory]",
);

// ---- other spellings

pub(crate) const AGENT_NAMES: &[Spelling] = &[
    ("claude", "claude-code"),
    ("claude_code", "claude-code"),
    ("gemini", "gemini-cli"),
    ("codex-cli", "codex"),
];
pub(crate) const STATUS_WORDS: &[Spelling] =
    &[("failed", "error"), ("failure", "error"), ("errors", "error"), ("ok", "success"), ("done", "success")];
pub(crate) const GROUP_WORDS: &[Spelling] = &[
    ("days", "day"),
    ("daily", "day"),
    ("weeks", "week"),
    ("weekly", "week"),
    ("months", "month"),
    ("monthly", "month"),
    ("sessions", "session"),
    ("models", "model"),
    ("projects", "project"),
    ("sources", "source"),
    ("agent", "source"),
    ("agents", "source"),
    ("tools", "tool"),
];

// ---- checks of one value

/// `device` and `mine` contradict each other.
pub(crate) fn check_origin(device: Option<&str>, mine: bool) -> Result<(), Error> {
    if device.is_some() && mine {
        return Err(Error::new(Code::InvalidArgument, "`mine` and `device` exclude each other")
            .hint("`loci sync devices` lists the devices"));
    }
    Ok(())
}

pub(crate) fn check_not_blank(name: &str, text: &str) -> Result<(), Error> {
    if text.trim().is_empty() {
        return Err(Error::new(Code::InvalidArgument, format!("`{name}` is empty")));
    }
    Ok(())
}

/// Checks that a text is a valid time, independent of the current time.
pub(crate) fn check_time(name: &str, text: &str) -> Result<(), Error> {
    if Clock::At(Stamp(0)).parse_time(text).is_some() {
        return Ok(());
    }
    Err(Error::new(Code::InvalidArgument, format!("invalid time for `{name}`: `{text}`"))
        .hint("use 7d, 12h, today, 2026-11-01 or 2026-11-01T09:30:00Z"))
}

/// The flag of a parameter: `chat-id-prefix` for `chatIdPrefix`, `time-window` for `time_window`.
pub fn flag_name(name: &str) -> String {
    let mut flag = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            flag.push('-');
        }
        flag.push(if c == '_' { '-' } else { c.to_ascii_lowercase() });
    }
    flag
}
