//! Changes one setting in `config.toml` and leaves every other byte as it is.
//!
//! Does not know what a setting means; the file as a whole is checked before it is written.

use crate::{Config, SETTINGS, config_path, read_bounded};
use api::setup::{Change, ChangeKind};
use api::{Code, Error};
use sources::Environment;
use std::path::Path;

/// The value of a setting as it is written in the file; `None` if it is not set.
pub fn value_of(places: &Environment, name: &str) -> Result<Option<String>, Error> {
    check_name(name)?;
    let text = read_file(&config_path(places))?;
    let table: toml::Table = toml::from_str(&text)
        .map_err(|error| Error::new(Code::InvalidArgument, error.message().to_string()))?;
    let mut at = Some(toml::Value::Table(table));
    for part in name.split('.') {
        at = at.and_then(|value| value.get(part).cloned());
    }
    Ok(at.map(|value| match value {
        toml::Value::String(text) => text,
        other => other.to_string(),
    }))
}

/// Sets a setting, unless this is a dry run; returns the change as setup reports it.
pub fn change_value(places: &Environment, name: &str, value: &str, dry_run: bool) -> Result<Change, Error> {
    let path = config_path(places);
    let does = if path.exists() { ChangeKind::Edit } else { ChangeKind::Create };
    let before = value_of(places, name)?;
    if !dry_run {
        set_value(places, name, Some(value))?;
    }
    let removed = before.map_or_else(String::new, |before| format!("-{name} = {before}\n"));
    let bytes = std::fs::metadata(&path).map_or(0, |meta| meta.len());
    let diff = Some(format!("{removed}+{name} = {value}\n"));
    Ok(Change { path: path.to_string_lossy().into_owned(), does, diff, bytes, made: !dry_run })
}

/// Sets a setting, or removes it if there is no value, and writes the file.
pub fn set_value(places: &Environment, name: &str, value: Option<&str>) -> Result<(), Error> {
    check_name(name)?;
    let path = config_path(places);
    let changed = change_text(&read_file(&path)?, name, value);
    toml::from_str::<Config>(&changed).map_err(|error| {
        let given = value.unwrap_or_default();
        Error::new(Code::InvalidArgument, format!("`{given}` is no value for {name}: {}", error.message()))
    })?;
    write_file(&path, &changed)
        .map_err(|error| Error::new(Code::ReadError, format!("{}: {error}", path.display())))
}

fn check_name(name: &str) -> Result<(), Error> {
    if SETTINGS.iter().any(|(known, _)| *known == name) {
        return Ok(());
    }
    let ends_alike = |known: &str| known.rsplit('.').next() == name.rsplit('.').next();
    let alike = SETTINGS.iter().map(|(known, _)| *known).find(|known| ends_alike(known));
    let error = Error::new(Code::InvalidArgument, format!("there is no setting `{name}`"));
    Err(error.hint(alike.map_or("loci config list".to_string(), |known| format!("loci config get {known}"))))
}

fn read_file(path: &Path) -> Result<String, Error> {
    match read_bounded(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(Error::new(Code::ReadError, format!("{}: {error}", path.display()))),
    }
}

/// Replaced as a whole: a reader sees the old file or the new one.
fn write_file(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let new = path.with_extension("toml.new");
    std::fs::write(&new, text)?;
    std::fs::rename(&new, path)
}

/// The text with the setting changed: its line is replaced, or a line is added to its table.
fn change_text(text: &str, name: &str, value: Option<&str>) -> String {
    let (table, key) = name.rsplit_once('.').unwrap_or(("", name));
    let line = value.map(|value| format!("{key} = {}", to_toml(value)));
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    let (start, end) = table_range(&lines, table);
    let known = (start..end).find(|at| key_of(&lines[*at]) == Some(key));
    match (known, line, start > lines.len()) {
        (Some(at), Some(line), _) => lines[at] = line,
        (Some(at), None, _) => drop(lines.remove(at)),
        (None, Some(line), false) => lines.insert(start, line),
        (None, Some(line), true) => {
            if lines.last().is_some_and(|last| !last.is_empty()) {
                lines.push(String::new());
            }
            lines.extend([format!("[{table}]"), line]);
        }
        (None, None, _) => {}
    }
    if lines.is_empty() { String::new() } else { lines.join("\n") + "\n" }
}

/// The lines of a table after its header; beyond the end if there is no such table. The settings outside of tables come
/// first.
fn table_range(lines: &[String], table: &str) -> (usize, usize) {
    let header = format!("[{table}]");
    let is_header = |line: &String| line.trim_start().starts_with('[') && !line.contains('=');
    let start = if table.is_empty() {
        0
    } else {
        let found = lines.iter().position(|line| line.trim() == header);
        match found {
            Some(at) => at + 1,
            None => return (lines.len() + 1, lines.len()),
        }
    };
    let end = lines[start..].iter().position(is_header).map_or(lines.len(), |length| start + length);
    (start, end)
}

fn key_of(line: &str) -> Option<&str> {
    line.split_once('=').map(|(key, _)| key.trim())
}

/// A number, a boolean or a list as it is; anything else as a string.
fn to_toml(value: &str) -> String {
    let parsed = toml::from_str::<toml::Table>(&format!("x = {value}")).ok();
    match parsed.and_then(|table| table.get("x").cloned()) {
        Some(
            toml::Value::Integer(_) | toml::Value::Float(_) | toml::Value::Boolean(_) | toml::Value::Array(_),
        ) => value.to_string(),
        Some(toml::Value::String(text)) => toml::Value::String(text).to_string(),
        _ => toml::Value::String(value.to_string()).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_line_of_the_setting_changes() {
        let text = "# mine\ninline_threshold_bytes = 9\n\n[daemon]\n# slow disk\npoll_seconds = 60\n\n[model]\ncode = true\n";
        let changed = change_text(text, "daemon.poll_seconds", Some("5"));
        assert_eq!(changed, text.replace("poll_seconds = 60", "poll_seconds = 5"));
        let added = change_text(text, "daemon.reply_minutes", Some("3"));
        assert_eq!(added, text.replace("[daemon]\n", "[daemon]\nreply_minutes = 3\n"));
        let new = change_text(text, "memory.every_hours", Some("2"));
        assert_eq!(new, format!("{text}\n[memory]\nevery_hours = 2\n"));
        let root = change_text("[model]\ncode = true\n", "inline_threshold_bytes", Some("7"));
        assert_eq!(root, "inline_threshold_bytes = 7\n[model]\ncode = true\n");
        assert_eq!(change_text(text, "model.code", None), text.replace("code = true\n", ""));
        assert_eq!(change_text(text, "model.proxy", None), text);
    }

    #[test]
    fn words_become_strings_and_numbers_do_not() {
        assert_eq!(to_toml("claude"), "\"claude\"");
        assert_eq!(to_toml("\"claude\""), "\"claude\"");
        assert_eq!(to_toml("5"), "5");
        assert_eq!(to_toml("true"), "true");
        assert_eq!(to_toml("[\"/a\"]"), "[\"/a\"]");
        assert_eq!(to_toml("a\nb = 1"), toml::Value::String("a\nb = 1".into()).to_string());
    }
}
