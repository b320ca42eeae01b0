//! `cargo xtask reference`: writes the pages of docs/reference, and the table of rooms in ARCHITECTURE.md, from the
//! tables the program itself works by. A test fails while what is committed differs from what would be written.

use crate::args::Args;
use crate::tidy::root;
use crate::{Outcome, rooms};
use api::params::dashed;
use api::tools::Asks;
use api::{Code, Exit, OPERATIONS, Operation, PARAMS, Param, Set, Shape, TOOLS, Tool, VIEWS, View};
use std::fmt::Write;
use std::fs;

pub(crate) const HELP: &str =
    "[--check]\nwrite docs/reference and the table of rooms; --check only says what is out of date";

const MADE: &str =
    "<!-- Written by `cargo xtask reference`; edit the tables it is made from instead. -->\n\n";
const ROOMS_FROM: &str = "<!-- rooms: written by `cargo xtask reference` -->\n";
const ROOMS_TO: &str = "<!-- end of rooms -->\n";

pub(crate) fn run(args: &[String]) -> Outcome {
    let check = Args::parse(args, &[], &["check"])?.has("check");
    let mut current = true;
    for (name, text) in pages()? {
        let path = root().join(name);
        if fs::read_to_string(&path).is_ok_and(|old| old == text) {
            continue;
        }
        current = false;
        println!("{name}{}", if check { " is out of date" } else { "" });
        if !check {
            fs::write(&path, text).map_err(|error| format!("{name}: {error}"))?;
        }
    }
    Ok(current || !check)
}

/// Every page with what it should hold.
fn pages() -> Result<Vec<(&'static str, String)>, String> {
    Ok(vec![
        ("docs/reference/commands.md", commands()),
        ("docs/reference/tools.md", tools()),
        ("docs/reference/environment.md", environment()),
        ("docs/reference/exit-codes-and-errors.md", exits_and_errors()),
        ("ARCHITECTURE.md", architecture()?),
    ])
}

fn architecture() -> Result<String, String> {
    let text =
        fs::read_to_string(root().join("ARCHITECTURE.md")).map_err(|e| format!("ARCHITECTURE.md: {e}"))?;
    let parts =
        text.split_once(ROOMS_FROM).and_then(|(head, rest)| Some((head, rest.split_once(ROOMS_TO)?.1)));
    let (head, tail) = parts.ok_or("ARCHITECTURE.md: the marks around the table of rooms are gone")?;
    let table = rooms::table(&rooms::packages(root())?);
    Ok(format!("{head}{ROOMS_FROM}{table}{ROOMS_TO}{tail}"))
}

// ---- commands

fn commands() -> String {
    let mut page = format!("{MADE}# Commands\n\n");
    page.push_str(
        "A command is a question or an operation. A question prints records: JSON lines when standard output is a pipe or\n\
         a file, text for people on a terminal. An operation has one answer: one JSON object on a line, or text in the same\n\
         way. A parameter that a command does not take is refused.\n\n",
    );
    page.push_str("| operation | what it is for |\n| --- | --- |\n");
    for operation in OPERATIONS {
        let name = operation.command;
        line(
            &mut page,
            &format!("| [`loci {name}`](#loci-{}) | {} |", name.replace(' ', "-"), operation.about),
        );
    }
    page.push_str("\n| question | what it answers |\n| --- | --- |\n");
    for view in VIEWS {
        line(&mut page, &format!("| [`loci {}`](#{}) | {} |", view.title(), anchor(view), view.about));
    }
    page.push_str(
        "\n# Operations\n\nThey are about every project unless told otherwise. An agent calls them by the names and parameters in\n\
         brackets; a person types the flags. Each takes `-o json|text` (or `--json`) and `--threads N` besides.\n",
    );
    for operation in OPERATIONS {
        page.push_str(&operation_section(operation));
    }
    page.push_str("\n# Questions\n");
    page.push_str("\n## Parameters\n\n| parameter | meaning | taken by |\n| --- | --- | --- |\n");
    for param in PARAMS {
        line(&mut page, &format!("| {} | {} | {} |", flag(param), cell(param.about), takers(param)));
    }
    line(&mut page, "| `-o`, `--output FORMAT` | How to print: `jsonl`, `tsv` or `text` | every question |");
    line(&mut page, "| `--threads N` | Read with this many threads | every question |");
    page.push_str(
        "\nA list is given with commas or by repeating the flag. `--session` is stronger than `--project`, and\n\
         `--project` than the working directory.\n",
    );
    line(&mut page, &filters());
    for view in VIEWS {
        page.push_str(&command(view));
    }
    page
}

fn operation_section(operation: &Operation) -> String {
    let (command, name) = (operation.command, operation.name);
    let mut text =
        format!("\n## `loci {command}`\n\n{} (`{name}`).\n\n    {}\n\n", operation.about, operation.example);
    line(&mut text, &format!("- Answer: {}", operation.answer));
    line(&mut text, &format!("- Read only: {}", if operation.read_only { "yes" } else { "no" }));
    if operation.params.is_empty() {
        return text;
    }
    page_params(operation, &mut text);
    text
}

fn page_params(operation: &Operation, text: &mut String) {
    text.push_str("\n| typed | called | meaning |\n| --- | --- | --- |\n");
    if let Some(words) = &operation.words {
        line(text, &format!("| `{}` | {} | {} |", words.value, quoted(words.into), words.about));
    }
    for param in operation.params {
        line(text, &format!("| {} | `{}` | {} |", flag(param), param.name, cell(param.about)));
    }
    for handy in operation.handy {
        let typed = format!("--{} {}", handy.flag, handy.value);
        line(
            text,
            &format!("| `{}` | `{}` | {} |", typed.trim_end(), handy.means.param(), cell(handy.about)),
        );
    }
}

fn filters() -> String {
    let limits = query::child::LIMITS;
    format!(
        "\n## Filters\n\n{}\n\n`--slurp` gives any filter the whole array.\n\n\
         A filter runs in a process of its own, without environment, and within limits: {} s for one record (as much\n\
         again for every 20 MB of an array), {} MB of memory, {} results and {} MB of results from one run, {} bytes of\n\
         filter. What reads the environment, the clock or further input, writes elsewhere or ends the process is not\n\
         there to be called.",
        service::JQ_RULE,
        limits.time.as_secs(),
        limits.memory >> 20,
        limits.values,
        limits.bytes >> 20,
        query::program::LONGEST
    )
}

fn command(view: &View) -> String {
    let own: Vec<String> = view.own.iter().map(|name| format!("`--{}`", dashed(name))).collect();
    let mut text = format!("\n## `loci {}`\n\n{}.\n\n    {}\n\n", view.title(), view.about, view.example);
    line(&mut text, &format!("- Order: {}", view.order));
    if !own.is_empty() {
        line(&mut text, &format!("- Beyond the shared parameters: {}", own.join(", ")));
    }
    if !view.by.is_empty() {
        line(&mut text, &format!("- `--by`: {}", quoted(view.by)));
    }
    line(&mut text, &format!("- Fields: {}", quoted(view.fields)));
    text
}

/// What stands behind `#` in a link to a command's heading.
fn anchor(view: &View) -> String {
    format!("loci-{}", view.title().replace(' ', "-"))
}

fn flag(param: &Param) -> String {
    match param.shape {
        Shape::Flag => format!("`--{}`", dashed(param.name)),
        Shape::Switch => format!("`--{}=true\\|false`", dashed(param.name)),
        Shape::Choice(words) => format!("`--{} {}`", dashed(param.name), words.join("\\|")),
        _ => format!("`--{} {}`", dashed(param.name), param.value),
    }
}

fn takers(param: &Param) -> String {
    let (taken, not): (Vec<&View>, Vec<&View>) = VIEWS.iter().partition(|view| view.takes(param.name));
    let named =
        |views: &[&View]| views.iter().map(|v| format!("`{}`", v.title())).collect::<Vec<_>>().join(", ");
    match not.len() {
        0 => "every question".to_owned(),
        1 => format!("every question but {}", named(&not)),
        _ => named(&taken),
    }
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Text that may stand between the bars of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn line(page: &mut String, text: &str) {
    let _ = writeln!(page, "{text}"); // writing to a String does not fail
}

// ---- tools

fn tools() -> String {
    let mut page = format!("{MADE}# Tools\n\n");
    page.push_str(
        "What an agent may call over `loci mcp`. A tool is a question or an operation under the name that agents know, with the\n\
         same parameters and the same answer as on the command line. Scope is the project the agent works in unless `session`,\n\
         `project` or `all_projects` is given; names that end in `_session` are about the session that asks. Anything a tool does\n\
         not take is refused.\n\n",
    );
    for (_, word, about) in Set::ALL {
        line(&mut page, &format!("- `--toolsets {word}`: {about}"));
    }
    page.push_str("\n| tool | set | what it is for | the same as |\n| --- | --- | --- | --- |\n");
    for tool in TOOLS {
        let sets: Vec<&str> = tool
            .sets
            .iter()
            .filter_map(|set| Set::ALL.iter().find(|(s, ..)| s == set))
            .map(|s| s.1)
            .collect();
        line(
            &mut page,
            &format!(
                "| [`{0}`](#{0}) | {1} | {2} | {3} |",
                tool.name,
                sets.join(", "),
                cell(tool.about),
                asked_by(tool)
            ),
        );
    }
    page.push_str(REPLIES);
    for tool in TOOLS {
        line(
            &mut page,
            &format!(
                "
## {}

{}

| parameter | meaning |
| --- | --- |",
                tool.name, tool.about
            ),
        );
        for param in tool.params() {
            line(&mut page, &format!("| `{}` | {} |", param.name, cell(param.about)));
        }
    }
    page
}

const REPLIES: &str = "
# Replies

Every reply is one object, as `structuredContent` and again as text:

    {\"mode\":\"inline\",\"recalled\":{…},\"data\":…}
    {\"mode\":\"file_ref\",\"recalled\":{…},\"file_ref\":{\"path\",\"size_bytes\",\"line_count\",\"fields\",\"summary\":{…}}}

`data` holds the records of a question, or the whole answer of an operation. What is larger than `inline_threshold_bytes` goes into
a file of JSON lines, and the reply stays below 2 kB: `summary` has `total_records`, counts by kind, and the first and the last record
with long values shortened (they end in `…`); of a search it has the best conversations. Such a file of an operation begins with a line
that holds everything but the records. `stats` stands beside either where `stats_first` asks for it. Where the file cannot be
written, `data` holds as much as a reply may, `degraded_reason` says why and `next_offset` where to go on. `notes` say what else one
should know. The same object is printed by `--hybrid` on the command line.
";

fn asked_by(tool: &Tool) -> String {
    match (tool.view(), tool.operation()) {
        (Some(view), _) if matches!(tool.asks, Asks::OwnSession(..)) => {
            format!("`loci {} --session …`", view.title())
        }
        (Some(view), _) => format!("`loci {}`", view.title()),
        (_, Some(operation)) => format!("`loci {}`", operation.command),
        _ => "any question, named by `view`".to_owned(),
    }
}

// ---- environment, exit codes, errors

fn environment() -> String {
    let mut page = format!(
        "{MADE}# Environment\n\nLoci reads these variables and no others. What a variable moves is still only read.\n\n\
         | variable | meaning |\n| --- | --- |\n"
    );
    for (name, meaning) in service::env::all() {
        line(&mut page, &format!("| `{name}` | {} |", cell(meaning)));
    }
    page.push_str("\n# Configuration\n\n`config.toml` in `loci` below `XDG_CONFIG_HOME`. A variable is stronger than a setting, a parameter stronger than both.\n\n| setting | meaning |\n| --- | --- |\n");
    for (name, meaning) in service::config::SETTINGS {
        line(&mut page, &format!("| `{name}` | {} |", cell(meaning)));
    }
    page
}

fn exits_and_errors() -> String {
    let mut page = format!("{MADE}# Exit codes and errors\n\n| exit code | meaning |\n| --- | --- |\n");
    for (_, code, meaning) in Exit::ALL {
        line(&mut page, &format!("| {code} | {} |", cell(meaning)));
    }
    page.push_str(
        "\nAn error is told twice: in words on standard error, with hints of what to type instead, and as one record on\n\
         standard output in the format asked for (`jsonl`, `json`: `error`, `code`, `hints`; `tsv`: `error`, `code`). A command\n\
         line that cannot be parsed at all is told on standard error alone.\n\n| code | meaning |\n| --- | --- |\n",
    );
    for (_, word, meaning) in Code::ALL {
        line(&mut page, &format!("| `{word}` | {} |", cell(meaning)));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_pages_are_those_that_would_be_written() {
        for (name, text) in pages().unwrap() {
            let committed = fs::read_to_string(root().join(name)).unwrap_or_default();
            assert!(committed == text, "{name} is out of date: run `cargo xtask reference`");
        }
    }

    #[test]
    fn every_command_and_parameter_has_its_place() {
        let page = commands();
        assert!(VIEWS.iter().all(|view| page.contains(&format!("\n## `loci {}`\n", view.title()))));
        assert!(OPERATIONS.iter().all(|op| page.contains(&format!("\n## `loci {}`\n", op.command))));
        assert!(PARAMS.iter().all(|param| page.contains(&format!("\n| {} | ", flag(param)))));
    }
}
