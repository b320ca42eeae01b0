//! Diagnostics of compilers: parses what each prints, and compares two runs by code, message and file, never by line.
//!
//! Does not run compilers.

use crate::edit::Place;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// What a compiler reports about a place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Diagnostic {
    /// Relative to the root of the tree.
    pub file: String,
    /// From 1; 0 if it has no place.
    pub line: u32,
    pub is_error: bool,
    pub code: String,
    pub message: String,
}

impl Diagnostic {
    /// Its place, with what it says.
    pub fn place(&self) -> Place {
        let code = if self.code.is_empty() { String::new() } else { format!("{}: ", self.code) };
        let reason = format!("{code}{}", self.message);
        Place { file: self.file.clone(), line: self.line, column: 1, text: String::new(), reason }
    }
}

/// How a compiler prints its diagnostics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One JSON object per line, as `cargo --message-format=json` prints.
    CargoJson,
    /// `file(line,column): error CODE: message`, as `tsc` and `csc` print.
    Parentheses,
    /// `file:line: error: message`, as `javac` prints, with lines that belong to it below.
    Colon,
    /// `file:line:column: message`, as `go` prints; everything is an error.
    ColonColumn,
    /// The JSON of `pyright --outputjson`.
    PyrightJson,
}

/// Parses the output of a compiler that ran in `folder`.
pub fn parse_diagnostics(format: Format, output: &str, folder: &str) -> Vec<Diagnostic> {
    let mut found = match format {
        Format::CargoJson => output.lines().filter_map(parse_cargo_line).collect(),
        Format::Parentheses => output.lines().filter_map(parse_parentheses).collect(),
        Format::Colon => parse_colon_lines(output),
        Format::ColonColumn => output.lines().filter_map(parse_colon_column).collect(),
        Format::PyrightJson => parse_pyright(output),
    };
    let folder = folder.trim_end_matches('/');
    for diagnostic in &mut found {
        let file = diagnostic.file.strip_prefix(folder).map_or(diagnostic.file.as_str(), |rest| rest);
        diagnostic.file = file.trim_start_matches('/').trim_start_matches("./").to_owned();
        let message = diagnostic.message.replace(folder, "");
        message.trim().clone_into(&mut diagnostic.message);
    }
    // several targets of a package report the same place
    found.sort();
    found.dedup();
    found
}

fn parse_cargo_line(line: &str) -> Option<Diagnostic> {
    let value: Value = serde_json::from_str(line).ok()?;
    let message = value.get("message").filter(|_| value["reason"] == "compiler-message")?;
    let level = message["level"].as_str()?;
    if !matches!(level, "error" | "warning") {
        return None;
    }
    let spans = message["spans"].as_array()?;
    let primary = spans.iter().find(|span| span["is_primary"] == true).or_else(|| spans.first());
    // the place in our source, not in the macro that expanded there
    let place = primary.map(outermost_expansion);
    let text = message["message"].as_str()?.to_owned();
    let is_summary = primary.is_none()
        && (text.starts_with("aborting due")
            || text.contains("warnings emitted")
            || text.contains("warning emitted"));
    (!is_summary).then(|| Diagnostic {
        file: place.and_then(|span| span["file_name"].as_str()).unwrap_or_default().to_owned(),
        line: place.and_then(|span| span["line_start"].as_u64()).unwrap_or(0) as u32,
        is_error: level == "error",
        code: message["code"]["code"].as_str().unwrap_or_default().to_owned(),
        message: text,
    })
}

fn outermost_expansion(span: &Value) -> &Value {
    let mut span = span;
    while let Some(outer) = span.get("expansion").and_then(|it| it.get("span")).filter(|it| it.is_object()) {
        let is_ours = |span: &Value| {
            span["file_name"].as_str().is_some_and(|file| !file.starts_with('/') && !file.starts_with('<'))
        };
        if is_ours(span) && !is_ours(outer) {
            break;
        }
        span = outer;
    }
    span
}

fn parse_parentheses(line: &str) -> Option<Diagnostic> {
    let (place, rest) = line.split_once("): ")?;
    let (file, position) = place.rsplit_once('(')?;
    let line = position.split(',').next()?.parse().ok()?;
    let (level, rest) = rest.split_once(' ')?;
    let (code, message) = rest.split_once(": ")?;
    // the name of the project follows the message in builds
    let message = message.rsplit_once(" [").map_or(message, |(message, _)| message);
    matches!(level, "error" | "warning").then(|| Diagnostic {
        file: file.to_owned(),
        line,
        is_error: level == "error",
        code: code.to_owned(),
        message: message.to_owned(),
    })
}

/// With the symbol that a line below names: `cannot find symbol` alone is the same for every name.
fn parse_colon_lines(output: &str) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = Vec::new();
    for line in output.lines() {
        if let Some(diagnostic) = parse_colon(line) {
            found.push(diagnostic);
        } else if let Some(symbol) = line.strip_prefix("  symbol:")
            && let Some(last) = found.last_mut()
        {
            last.message = format!("{}: {}", last.message, symbol.trim());
        }
    }
    found
}

fn parse_colon(line: &str) -> Option<Diagnostic> {
    let at = line.find(".java:")? + ".java".len();
    let (number, rest) = line[at + 1..].split_once(": ")?;
    let number = number.parse().ok()?;
    let (is_error, message) = match rest.strip_prefix("error: ") {
        Some(message) => (true, message),
        None => (false, rest.strip_prefix("warning: ")?),
    };
    let file = line[..at].to_owned();
    Some(Diagnostic { file, line: number, is_error, code: String::new(), message: message.to_owned() })
}

fn parse_colon_column(line: &str) -> Option<Diagnostic> {
    let line = line.strip_prefix("vet: ").unwrap_or(line);
    let at = line.find(".go:")? + ".go".len();
    let mut parts = line[at + 1..].splitn(3, ':');
    let number = parts.next()?.parse().ok()?;
    let (column, message) = (parts.next()?, parts.next()?);
    column.parse::<u32>().ok()?;
    let file = line[..at].to_owned();
    Some(Diagnostic {
        file,
        line: number,
        is_error: true,
        code: String::new(),
        message: message.trim().to_owned(),
    })
}

fn parse_pyright(output: &str) -> Vec<Diagnostic> {
    let value: Value = serde_json::from_str(output).unwrap_or_default();
    let all = value["generalDiagnostics"].as_array().cloned().unwrap_or_default();
    let to_diagnostic = |it: &Value| {
        Some(Diagnostic {
            file: it["file"].as_str()?.to_owned(),
            line: it["range"]["start"]["line"].as_u64()? as u32 + 1,
            is_error: it["severity"] == "error",
            code: it["rule"].as_str().unwrap_or_default().to_owned(),
            message: it["message"].as_str()?.to_owned(),
        })
    };
    all.iter().filter_map(to_diagnostic).collect()
}

/// What an edit changes about diagnostics that stay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// New and old name of what is renamed: a message about it counts as the same.
    pub names: Vec<(String, String)>,
    /// The file that a declaration goes to, and the one it leaves: a diagnostic goes with it.
    pub files: Vec<(String, String)>,
}

impl Carried {
    fn old_text(&self, text: &str) -> String {
        let back = |text: String, (new, old): &(String, String)| replace_word(&text, new, old);
        self.names.iter().fold(text.to_owned(), back)
    }
}

/// What the first run reported and the second has not reported again, counted.
struct Known(BTreeMap<(bool, String, String, String), usize>);

impl Known {
    fn new(before: &[Diagnostic], carried: &Carried) -> Known {
        let mut known = Known(BTreeMap::new());
        for it in before {
            *known.0.entry(Known::key(it, &it.file, carried)).or_default() += 1;
        }
        known
    }

    fn key(it: &Diagnostic, file: &str, carried: &Carried) -> (bool, String, String, String) {
        (it.is_error, it.code.clone(), carried.old_text(file), carried.old_text(&it.message))
    }

    /// Whether the first run has it in a file; it counts once.
    fn take(&mut self, it: &Diagnostic, file: &str, carried: &Carried) -> bool {
        let count = self.0.get_mut(&Known::key(it, file, carried)).filter(|count| **count > 0);
        count.map(|count| *count -= 1).is_some()
    }
}

/// The diagnostics of a second run that the first did not have.
pub fn new_diagnostics(before: &[Diagnostic], after: &[Diagnostic], carried: &Carried) -> Vec<Diagnostic> {
    let mut known = Known::new(before, carried);
    let mut new: Vec<Diagnostic> =
        after.iter().filter(|it| !known.take(it, &it.file, carried)).cloned().collect();
    // after those that stayed: what is left of the other file went with the declaration
    new.retain(|it| {
        let mut left = carried.files.iter().filter(|(to, _)| *to == it.file);
        !left.any(|(_, from)| known.take(it, from, carried))
    });
    new
}

fn replace_word(text: &str, word: &str, by: &str) -> String {
    let mut out = text.to_owned();
    for span in syntax::whole_words(text, word).into_iter().rev() {
        out.replace_range(span.from as usize..span.to as usize, by);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(format: Format, output: &str) -> (String, u32, bool, String, String) {
        let found = parse_diagnostics(format, output, "/scratch");
        assert_eq!(found.len(), 1, "{found:?}");
        let it = found[0].clone();
        (it.file, it.line, it.is_error, it.code, it.message)
    }

    #[test]
    fn every_format_is_understood() {
        let cargo = r#"{"reason":"compiler-message","message":{"level":"error","code":{"code":"E0425"},"message":"cannot find `a`","spans":[{"is_primary":true,"file_name":"src/a.rs","line_start":3}]}}"#;
        assert_eq!(
            one(Format::CargoJson, cargo),
            ("src/a.rs".into(), 3, true, "E0425".into(), "cannot find `a`".into())
        );
        let tsc = "src/a.ts(3,7): error TS2304: Cannot find name 'a'.";
        assert_eq!(
            one(Format::Parentheses, tsc),
            ("src/a.ts".into(), 3, true, "TS2304".into(), "Cannot find name 'a'.".into())
        );
        let csc = "/scratch/A.cs(3,7): warning CS0168: unused [/scratch/a.csproj]";
        assert_eq!(
            one(Format::Parentheses, csc),
            ("A.cs".into(), 3, false, "CS0168".into(), "unused".into())
        );
        let javac = "/scratch/p/A.java:3: error: cannot find symbol\n  a b;\n  ^\n  symbol:   class a\n  location: class A\n";
        assert_eq!(
            one(Format::Colon, javac),
            ("p/A.java".into(), 3, true, String::new(), "cannot find symbol: class a".into())
        );
        let go = "# a\n./a.go:3:7: undefined: a\n";
        assert_eq!(
            one(Format::ColonColumn, go),
            ("a.go".into(), 3, true, String::new(), "undefined: a".into())
        );
        let pyright = r#"{"generalDiagnostics":[{"file":"/scratch/a.py","severity":"error","rule":"r","message":"m","range":{"start":{"line":2}}}]}"#;
        assert_eq!(one(Format::PyrightJson, pyright), ("a.py".into(), 3, true, "r".into(), "m".into()));
    }

    #[test]
    fn runs_are_compared_without_lines_and_under_the_old_name() {
        let at = |line, message: &str| Diagnostic {
            file: "a".into(),
            line,
            is_error: true,
            code: String::new(),
            message: message.into(),
        };
        let before = [at(1, "unused `get`"), at(2, "odd")];
        assert_eq!(
            new_diagnostics(
                &before,
                &[at(5, "unused `fetch`"), at(9, "odd")],
                &Carried { names: vec![("fetch".into(), "get".into())], ..Carried::default() }
            ),
            []
        );
        let twice = [at(2, "odd"), at(3, "odd")];
        let more = new_diagnostics(&before, &twice, &Carried::default());
        assert_eq!(more, [at(3, "odd")], "one more than before");
    }

    #[test]
    fn diagnostics_go_with_a_declaration_to_its_new_file() {
        let at = |file: &str, message: &str| Diagnostic {
            file: file.into(),
            line: 1,
            is_error: true,
            code: String::new(),
            message: message.into(),
        };
        let before = [at("a", "no package p"), at("a", "no package p"), at("b", "no package q")];
        let carried = Carried { files: vec![("b".into(), "a".into())], ..Carried::default() };
        let new = |after: &[Diagnostic]| new_diagnostics(&before, after, &carried);
        assert_eq!(new(&[at("a", "no package p"), at("b", "no package p"), at("b", "no package q")]), []);
        // a third one, another message, and the same message in a file that nothing went to
        let third = [at("b", "no package p"), at("b", "no package p"), at("b", "no package p")];
        assert_eq!(new(&third), [at("b", "no package p")]);
        assert_eq!(new(&[at("b", "no package r")]), [at("b", "no package r")]);
        assert_eq!(new(&[at("c", "no package p")]), [at("c", "no package p")]);
    }
}
