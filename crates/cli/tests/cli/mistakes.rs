//! Fifty plausible mistakes: each ends in the right answer, or in a line that works when it is typed as given.

use serde_json::{Value, json};
use testutil::{Finished, Home, Session, run_line};

/// What a mistake ends in.
enum Ending {
    /// The command runs and prints this.
    Prints(&'static str),
    /// The command fails and suggests a line, which prints this.
    Suggests(&'static str),
}

use Ending::{Prints, Suggests};

const LATE: &str = "aaaa1111-0000-4000-8000-000000000001";

const MISTAKES: &[(&str, Ending)] = &[
    // No such command.
    ("serach walrus", Suggests("walrus")),
    ("sesions", Suggests("walrus")),
    ("statsu", Suggests("sessions")),
    ("walrus cache", Prints("walrus")),
    ("why is the cache cold", Prints("walrus")),
    ("find walrus", Prints("walrus")),
    ("grep walrus", Prints("walrus")),
    ("list", Prints("walrus")),
    ("log", Prints("walrus")),
    ("history -n 1", Prints("walrus")),
    ("cat last", Prints("walrus")),
    ("view last", Prints("walrus")),
    ("errors --all-projects", Prints("Exit code 1")),
    ("tools --all-projects", Prints("uptime")),
    ("prompts --all-projects", Prints("walrus")),
    ("cost --all-projects", Prints("2026-02-28")),
    ("tokens --all-projects", Prints("2026-02-28")),
    ("facts", Prints("walrus")),
    ("agents", Prints("claude-code")),
    ("query error --all-projects", Suggests("Exit code 1")),
    ("query tool --all-projects", Suggests("uptime")),
    ("query message --all-projects", Suggests("walrus")),
    ("analyze error --all-projects", Suggests("Bash")),
    ("memory lst", Suggests("")),
    // A wrong flag.
    ("sessions --projects beta", Suggests("walrus")),
    ("search walrus --limits 3", Suggests("walrus")),
    ("usage --all-project", Suggests("2026-02-28")),
    ("query tools --all-projects --statsu error", Suggests("false")),
    // A value in other words.
    ("usage --all-projects --by weeks", Prints("2026-02-23")),
    ("usage --all-projects --by monthly", Prints("2026-02")),
    ("stats --all-projects --by tools", Prints("Bash")),
    ("query tools --all-projects --status failed", Prints("false")),
    ("query tools --all-projects --status ok", Prints("uptime")),
    ("query errors --all-projects --tool bash", Prints("Exit code 1")),
    ("sessions --source claude", Prints("walrus")),
    ("search walrus --source Claude", Prints("walrus")),
    ("sessions --since '2 years'", Prints("walrus")),
    ("sessions --since 'last year'", Prints("walrus")),
    ("sessions --since 900", Prints("walrus")),
    ("search walrus --since '24 months ago'", Prints("walrus")),
    ("sessions -o jsonl", Prints("walrus")),
    ("query tools --all-projects -o json", Prints("uptime")),
    ("export last -o markdown", Prints("# Why is the walrus")),
    // A file for a format.
    ("report --since 2026-01-01 -o report.html", Prints("")),
    ("report --since 2026-01-01 --output page.htm", Prints("")),
    ("export last -o session.md", Prints("")),
    // A name for an ID, an ID for a name, a path.
    ("show walrus", Suggests("walrus")),
    ("export walrus", Suggests("walrus")),
    ("query tools --session walrus", Suggests("walrus")),
    ("show 99999999", Suggests("walrus")),
    ("sessions --project beta", Prints("walrus")),
    ("sessions --project BETA", Prints("walrus")),
    ("query tools --project beta", Prints("uptime")),
    ("resume walrus", Prints(LATE)),
    ("config get poll_seconds", Suggests("")),
    // Something is missing.
    ("search", Suggests("")),
    ("show", Suggests("walrus")),
];

fn home_with_sessions() -> Home {
    let home = Home::new();
    let mut late = Session::new(LATE, "/srv/demo/beta", "2026-02-28T20:00:00Z");
    late.prompt("why is the walrus cache cold");
    late.did("Bash", json!({"command": "uptime"}), "up");
    late.failed("Bash", json!({"command": "false"}), "Exit code 1");
    late.reply(&["It was flushed."]);
    home.add(&late);
    run_line(&home, "memory consolidate --no-model").expect(0);
    home
}

/// The lines that an error suggests, in order.
fn suggested_lines(output: &Finished) -> Vec<String> {
    let hint = |line: &str| line.strip_prefix("loci: hint: ").map(str::to_string);
    let plain: Vec<String> = output.stderr.lines().filter_map(hint).collect();
    let quoted = |line: &String| line.split('`').nth(1).map(str::to_string);
    let is_line = |line: &String| line.starts_with("loci ");
    plain.iter().cloned().chain(plain.iter().filter_map(quoted)).filter(is_line).collect()
}

#[test]
fn a_mistake_ends_in_the_answer_or_in_a_line_that_works() {
    let home = home_with_sessions();
    let mut wrong = Vec::new();
    for (line, ending) in MISTAKES {
        let output = run_line(&home, line);
        match ending {
            Prints(text) if output.code == Some(0) && output.text().contains(text) => {}
            Suggests(text) if works(&home, &output, text) => {}
            _ => wrong.push(format!("loci {line}\n{}\n{}", output.text(), output.stderr)),
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), MISTAKES.len(), wrong.join("\n---\n"));
}

/// Whether the first suggestion, typed as it is, succeeds and prints the text.
fn works(home: &Home, output: &Finished, text: &str) -> bool {
    let Some(line) = suggested_lines(output).into_iter().next() else { return false };
    let typed = run_line(home, line.strip_prefix("loci ").unwrap_or(&line));
    output.code != Some(0) && matches!(typed.code, Some(0 | 2)) && typed.text().contains(text)
}

#[test]
fn the_suggestion_is_also_in_the_error_record() {
    let home = home_with_sessions();
    let output = run_line(&home, "serach walrus").expect(1);
    let record: Value = output.records().remove(0);
    assert_eq!(record["hints"][0], "loci search walrus", "{record}");
}
