//! `cargo xtask quality tasks FILE FOLDER`: questions about real source trees, answered by `loci code` and by text search: the tokens of
//! the commands and of what they print, and whether the facts of the answer are in it.
//!
//! FILE lists the questions with the commands of both sides, `xtask/data/tasks.json`; FOLDER contains the source trees that it names. Does
//! not judge what an agent makes of an answer.

use crate::Outcome;
use crate::args::Args;
use crate::quality::set::Scratch;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Least share of tasks in which Loci is right and costs less.
const MINIMUM: f64 = 0.8;

struct Task {
    repo: String,
    commit: String,
    question: String,
    /// Commands of a shell.
    text: Vec<String>,
    /// Arguments of `loci code`.
    loci: Vec<Vec<String>>,
    /// What the answer must contain: words, or a place as `file:line`.
    facts: Vec<String>,
    /// What it must not contain.
    wrong: Vec<String>,
}

impl Task {
    fn read(of: &Value) -> Option<Task> {
        let text = |field: &str| of[field].as_str().map(str::to_owned);
        let commands = of["loci"].as_array()?.iter().map(read_list).collect::<Option<_>>()?;
        Some(Task {
            repo: text("repo")?,
            commit: text("commit")?,
            question: text("question")?,
            text: read_list(&of["text"])?,
            loci: commands,
            facts: read_list(&of["facts"])?,
            wrong: read_list(&of["wrong"])?,
        })
    }
}

fn read_list(of: &Value) -> Option<Vec<String>> {
    of.as_array()?.iter().map(|it| it.as_str().map(str::to_owned)).collect()
}

/// What one side printed.
struct Side {
    transcript: String,
    tokens: usize,
    /// Facts that it lacks, and what should not be in it.
    faults: Vec<String>,
}

impl Side {
    fn judge(task: &Task, transcript: String) -> Side {
        let lacks = task.facts.iter().filter(|fact| !contains_fact(&transcript, fact));
        let lacks = lacks.map(|fact| format!("lacks {fact}"));
        let wrong = task.wrong.iter().filter(|fact| contains_fact(&transcript, fact));
        let faults = lacks.chain(wrong.map(|fact| format!("has {fact}"))).collect();
        Side { tokens: tokens::count_tokens(&transcript), transcript, faults }
    }
}

pub(super) fn run(args: &[String]) -> Outcome {
    let args = Args::parse(args, &["loci", "write"], &[])?;
    let [file, folder] = &args.positional[..] else { return Err("name a list and a folder".to_owned()) };
    let (tasks, scratch) = (read_tasks(file)?, Scratch::new());
    let home = scratch.subfolder("home");
    std::fs::create_dir_all(&home).map_err(|error| error.to_string())?;
    let loci = args.path_value("loci").map_or_else(super::names::beside_this_program, Ok)?;
    let (mut sums, mut right, mut fewer) = ([0, 0], 0, 0);
    for (number, task) in tasks.iter().enumerate() {
        let tree = Path::new(folder).join(&task.repo);
        super::names::check_commit(&tree, &task.commit)?;
        let text = Side::judge(task, run_text_search(task, &tree)?);
        let ours = Side::judge(task, run_loci(task, &tree, &loci, &home)?);
        sums = [sums[0] + text.tokens, sums[1] + ours.tokens];
        right += usize::from(ours.faults.is_empty());
        fewer += usize::from(ours.faults.is_empty() && ours.tokens < text.tokens);
        println!("{:>2} {:>6} {:>6}  {}: {}", number + 1, text.tokens, ours.tokens, task.repo, task.question);
        print_faults("text search", &text.faults);
        print_faults("loci", &ours.faults);
        if let Some(folder) = args.path_value("write") {
            write_transcripts(&folder, number + 1, task, [&text, &ours])?;
        }
    }
    let (count, [text, ours]) = (tasks.len(), sums);
    println!("tokens of text search and of loci: {text}, {ours}");
    println!("loci is right in {right} of {count} tasks, right and with fewer tokens in {fewer}");
    Ok(right == count && fewer as f64 >= MINIMUM * count as f64)
}

fn print_faults(side: &str, faults: &[String]) {
    if !faults.is_empty() {
        println!("       {side} {}", faults.join(", "));
    }
}

fn read_tasks(file: &str) -> Result<Vec<Task>, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let tasks: Vec<Value> = serde_json::from_str(&text).map_err(|error| format!("{file}: {error}"))?;
    let tasks: Option<Vec<Task>> = tasks.iter().map(Task::read).collect();
    tasks.ok_or_else(|| format!("{file}: a task lacks a field"))
}

fn run_text_search(task: &Task, tree: &Path) -> Result<String, String> {
    let mut transcript = String::new();
    for line in &task.text {
        let printed = print_output(Command::new("bash").args(["-c", line]).current_dir(tree))?;
        let _ = write!(transcript, "$ {line}\n{printed}");
    }
    // `grep -r` begins each path with the folder that it searches.
    Ok(transcript.replace("\n./", "\n"))
}

fn run_loci(task: &Task, tree: &Path, loci: &Path, home: &Path) -> Result<String, String> {
    let mut transcript = String::new();
    for words in &task.loci {
        let mut command = Command::new(loci);
        testutil::set_environment(&mut command, home);
        let printed = print_output(command.arg("code").args(words).args(["-o", "text"]).current_dir(tree))?;
        let _ = write!(transcript, "$ loci code {} -o text\n{printed}", words.join(" "));
    }
    Ok(transcript)
}

fn print_output(command: &mut Command) -> Result<String, String> {
    let run = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let printed = String::from_utf8_lossy(&run.stdout).into_owned();
    Ok(printed + &String::from_utf8_lossy(&run.stderr))
}

/// Whether a fact is in a transcript; a place may also be a line number below the path of its file.
fn contains_fact(transcript: &str, fact: &str) -> bool {
    let place = fact.rsplit_once(':').filter(|(_, line)| line.bytes().all(|byte| byte.is_ascii_digit()));
    let Some((file, line)) = place else { return transcript.contains(fact) };
    let mut current = "";
    let is_place = |row: &str, current: &str| {
        let begins = |row: &str| {
            row.strip_prefix(fact).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        let first = row.split_whitespace().next().and_then(|word| word.split('-').next());
        let is_below = current == file && row.starts_with(' ') && first == Some(line);
        is_below || row.match_indices(fact).any(|(at, _)| begins(&row[at..]))
    };
    for row in transcript.lines() {
        if is_place(row, current) {
            return true;
        }
        if !row.starts_with(' ') {
            let header = row.split(" (").next().unwrap_or(row).trim_end();
            current =
                header.rsplit_once(':').filter(|it| it.1.parse::<u32>().is_ok()).map_or(header, |it| it.0);
        }
    }
    false
}

fn write_transcripts(folder: &PathBuf, number: usize, task: &Task, sides: [&Side; 2]) -> Result<(), String> {
    let [text, ours] = sides.map(|side| &side.transcript);
    let page = format!("# {}\n\n## Text search\n\n{text}\n## Loci\n\n{ours}", task.question);
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(folder.join(format!("{number:02}.md")), page))
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::contains_fact;

    #[test]
    fn a_place_is_found_in_both_forms() {
        let grep = "src/a.rs:12:    call();\n";
        let grouped = "src/a.rs\n     12  call();\n\nsrc/b.rs\n     15  call();\n";
        let numbered = "src/a.rs:11\n   11  fn f() {\n   12      call();\n";
        let outline = "src/a.rs (20 lines)\n     12-14  call()\n";
        for transcript in [grep, grouped, numbered, outline] {
            assert!(contains_fact(transcript, "src/a.rs:12"), "{transcript}");
            assert!(!contains_fact(transcript, "src/a.rs:1") && !contains_fact(transcript, "src/a.rs:15"));
        }
        assert!(contains_fact(grep, "call()") && !contains_fact(grep, "other"));
    }
}
