//! How often the hook before an edit speaks: about functions with a decision, and about those without. Silence means something only if it speaks
//! about the former.
//!
//! Does not know how the hook finds decisions.

use crate::replay::Replay;
use crate::{Symbol, has_flag, loci};
use serde_json::json;
use std::io::Write;
use std::process::Stdio;
use testutil::command;

/// Every so many functions has a decision.
const DECIDED: usize = 12;
/// A hook that misses its deadline on a busy machine is silent: it is asked again in another session.
const ATTEMPTS: usize = 3;

pub(crate) fn measure(replay: &Replay, symbols: &[Symbol]) {
    let is_function = |symbol: &&Symbol| matches!(symbol.kind.as_str(), "function" | "method");
    let functions: Vec<&Symbol> = symbols.iter().filter(is_function).collect();
    let root = replay.root.to_str().unwrap();
    for symbol in functions.iter().step_by(DECIDED) {
        let text = format!("{} has to keep the order of what it is given", written_name(symbol));
        loci(replay, &["memory", "add", &text, "--project", root]).expect(0);
    }
    let mut counts = [[0, 0], [0, 0]];
    for (number, symbol) in functions.iter().enumerate() {
        let Some(line) = own_line(replay, symbol) else { continue };
        let is_decided = number % DECIDED == 0;
        let speaks = (0..ATTEMPTS).any(|attempt| {
            let said = run_hook(replay, &format!("{number}-{attempt}"), symbol, &line);
            if said.is_empty() == is_decided && has_flag("--explain") {
                println!("{} {}", symbol.name, said);
            }
            !said.is_empty()
        });
        let count = &mut counts[usize::from(is_decided)];
        *count = [count[0] + 1, count[1] + usize::from(speaks)];
    }
    let [[others, spoken], [decided, told]] = counts;
    let share = 100.0 * (others - spoken) as f64 / others.max(1) as f64;
    println!("{others} edits of functions without a decision: silent in {share:.1} %");
    println!("{decided} edits of functions with one: told in {told}");
}

/// A function as people write it: a method with its type, another function with its file. Nobody writes the modules around it, or the trait
/// that a method implements.
fn written_name(symbol: &Symbol) -> String {
    let path = symbol.name.split('(').next().unwrap_or_default();
    let (above, last) = path.rsplit_once('.').unwrap_or_default();
    let own = last.rsplit("::").next().unwrap_or_default();
    let owner = above.rsplit('.').next().filter(|_| symbol.kind == "method");
    let name = owner.map_or_else(|| own.to_string(), |owner| format!("{owner}.{own}"));
    format!("`{name}` in {}", symbol.file.rsplit('/').next().unwrap_or_default())
}

/// The longest line of a function that its file has once.
fn own_line(replay: &Replay, symbol: &Symbol) -> Option<String> {
    let text = std::fs::read_to_string(replay.root.join(&symbol.file)).ok()?;
    let (from, to) = symbol.lines;
    let lines = text.lines().take(to).skip(from - 1);
    let own = lines.filter(|line| text.matches(line).count() == 1);
    own.max_by_key(|line| line.len()).map(str::to_string)
}

fn run_hook(replay: &Replay, session: &str, symbol: &Symbol, line: &str) -> String {
    let tool = json!({"file_path": replay.root.join(&symbol.file), "old_string": line, "new_string": "x"});
    let input = json!({"session_id": session, "cwd": replay.root, "tool_name": "Edit", "tool_input": tool});
    let mut hook = command(replay.home.path(), &["hook", "before-edit"]);
    let mut child = hook.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
    String::from_utf8_lossy(&child.wait_with_output().unwrap().stdout).into_owned()
}
