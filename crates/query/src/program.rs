//! A jq program, compiled and run on one value at a time.
//!
//! Restricted to pure computation: no access to the environment, the clock or further input, no side output, no exit.
//! It can still loop and exhaust memory; `child` limits that. Does not know where a value comes from.

use crate::Error;
use jaq_core::load::{Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Vars, data, unwrap_valr};
use jaq_json::Val;

/// Longer than any filter a person types.
pub const MAX_FILTER_BYTES: usize = 4096;

/// Removed functions, with the definitions that depend on them.
const REFUSED: &[&str] = &[
    "debug",
    "debug_empty",
    "env",
    "halt",
    "halt_error",
    "input",
    "input_filename",
    "inputs",
    "localtime",
    "now",
    "stderr",
    "stderr_empty",
    "strflocaltime",
    "mktime_local",
];

/// A filter that begins like this is applied to the array of all records; any other to each record.
const ARRAY_STARTS: &[&str] = &[
    ".[",
    "[.[",
    "map(",
    "group_by(",
    "sort_by(",
    "unique_by(",
    "min_by(",
    "max_by(",
    "length",
    "reduce .[",
    "foreach .[",
    "first",
    "last",
    "reverse",
    "add",
    "sort",
    "any(",
    "all(",
];

/// How Loci decides the input of a filter, for the help.
pub const INPUT_RULE: &str = "A filter gets one record at a time, as in `select(.status == \"error\")`. One that begins \
like a filter over an array (`.[`, `map(`, `group_by(`, `sort_by(`, `length`, `reduce .[`, …) gets all records as \
one array. To force one record at a time, begin with `. | `.";

pub fn takes_array(filter: &str) -> bool {
    let filter = filter.trim_start().trim_start_matches('(').trim_start();
    ARRAY_STARTS.iter().any(|start| {
        let rest = filter.strip_prefix(start);
        let word = start.ends_with(|c: char| c.is_ascii_alphabetic());
        rest.is_some_and(|rest| !word || !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
    })
}

type Data = data::JustLut<Val>;

pub struct Program(jaq_core::Filter<Data>);

impl Program {
    pub fn compile(code: &str) -> Result<Program, Error> {
        if code.len() > MAX_FILTER_BYTES {
            return Err(Error::Filter(format!(
                "{} bytes exceed the limit of {MAX_FILTER_BYTES}",
                code.len()
            )));
        }
        let defs = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
        let defs = defs.filter(|def| !REFUSED.contains(&def.name));
        let funs = jaq_core::funs::<Data>().chain(jaq_std::funs()).chain(jaq_json::funs());
        let funs = funs.filter(|fun| !REFUSED.contains(&fun.0));
        let arena = Arena::default();
        let modules = Loader::new(defs).load(&arena, File { code, path: () });
        let modules = modules.map_err(|errors| Error::Filter(load_message(&errors)))?;
        let filter = Compiler::default().with_funs(funs).compile(modules);
        filter.map(Program).map_err(|errors| Error::Filter(compile_message(&errors)))
    }

    /// Runs the program on one JSON value and passes on each result; stops if `each` returns false.
    pub fn run(&self, input: &[u8], each: &mut dyn FnMut(&Val) -> bool) -> Result<(), Error> {
        let input = jaq_json::read::parse_single(input).map_err(|e| Error::Failed(e.to_string()))?;
        let ctx = Ctx::<Data>::new(&self.0.lut, Vars::new([]));
        for result in self.0.id.run((ctx, input)).map(unwrap_valr) {
            match result {
                Ok(value) if !each(&value) => return Ok(()),
                Ok(_) => {}
                Err(e) => return Err(Error::Failed(e.to_string())),
            }
        }
        Ok(())
    }
}

fn load_message(errors: &jaq_core::load::Errors<&str, ()>) -> String {
    let mut out = Vec::new();
    for (_, error) in errors {
        match error {
            jaq_core::load::Error::Io(paths) => {
                out.extend(paths.iter().map(|(path, _)| format!("cannot import `{path}`")));
            }
            jaq_core::load::Error::Lex(found) => {
                out.extend(found.iter().map(|(expected, got)| {
                    format!("expected {} at `{}`", expected.as_str(), truncate_input(got))
                }));
            }
            jaq_core::load::Error::Parse(found) => {
                out.extend(found.iter().map(|(expected, got)| {
                    format!("expected {} at `{}`", expected.as_str(), truncate_input(got))
                }));
            }
        }
    }
    out.join("; ")
}

fn compile_message(errors: &jaq_core::compile::Errors<&str, ()>) -> String {
    let found = errors.iter().flat_map(|(_, errors)| errors);
    let words = found.map(|(name, undefined)| {
        if REFUSED.contains(&name.trim_start_matches('$')) {
            return format!("`{name}` is not available here");
        }
        format!("unknown {} `{name}`", undefined.as_str())
    });
    words.collect::<Vec<_>>().join("; ")
}

fn truncate_input(text: &str) -> String {
    if text.is_empty() { "end of filter".to_string() } else { text.chars().take(30).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_filter(filter: &str, input: &str) -> Result<Vec<String>, Error> {
        let mut out = Vec::new();
        Program::compile(filter)?.run(input.as_bytes(), &mut |v| {
            out.push(v.to_string());
            true
        })?;
        Ok(out)
    }

    #[test]
    fn filters_return_the_results_of_jq() {
        for (filter, input, expected) in [
            (".tool", r#"{"tool":"Bash"}"#, vec!["\"Bash\""]),
            ("select(.status == \"error\") | .n", r#"{"status":"ok","n":1}"#, vec![]),
            (".[] | .a", r#"[{"a":1},{"a":2}]"#, vec!["1", "2"]),
            (
                "group_by(.t) | map({t: .[0].t, n: length})",
                r#"[{"t":"b"},{"t":"a"},{"t":"b"}]"#,
                vec![r#"[{"t":"a","n":1},{"t":"b","n":2}]"#],
            ),
            (".[length-1:]", "[1,2,3]", vec!["[3]"]),
            ("test(\"a.c\")", "\"abc\"", vec!["true"]),
        ] {
            assert_eq!(run_filter(filter, input).unwrap(), expected, "{filter}");
        }
    }

    #[test]
    fn errors_name_the_cause() {
        for (filter, words) in [
            (".[", "expected"),
            ("frobnicate", "unknown filter `frobnicate`"),
            ("env", "`env` is not available here"),
            ("$ENV", "$ENV"),
            ("input", "not available"),
            ("halt", "not available"),
            ("now", "not available"),
            ("import \"x\" as x; .", "import"),
            (&"x".repeat(5000), "4096"),
        ] {
            let error = run_filter(filter, "null").unwrap_err().to_string();
            assert!(error.contains(words), "{filter:.20}: {error}");
        }
        assert!(run_filter(".a", "[1]").unwrap_err().to_string().contains("failed"));
    }

    #[test]
    fn the_beginning_of_a_filter_selects_its_input() {
        for array in [
            ".[] | .tool",
            ".[0]",
            "map(.tool)",
            "length",
            "group_by(.x)",
            "[.[] | .a]",
            "(.[] | .a)",
            " sort_by(.a)",
        ] {
            assert!(takes_array(array), "{array}");
        }
        for record in [
            ".tool",
            "select(.a)",
            ". | .[0]?",
            "lengthy",
            "{tool}",
            "[.tool, .status] | @tsv",
            "first_at",
            ".input.x[0]",
        ] {
            assert!(!takes_array(record), "{record}");
        }
    }
}
