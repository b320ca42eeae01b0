//! What happened around an edit in its session: the prompt that asked for it, what the agent said last, the next build or test,
//! and the commits that the session made.
//!
//! Does not know files or lines.

use api::why::CheckRun;
use api::{Error, ViewRequest};
use history::History;
use history::error::read_error;
use history::outcome::Outcome;
use history::scan::{Part, ScanResult, by_session, is_warm_up, scan_part};
use record::row::USAGE_ONLY;
use record::{Call, Kind, Row, RowKind, Session, Status};
use rustc_hash::FxHashMap;
use sources::SurveyOptions;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;

/// The events of some sessions, in order.
pub struct SessionContext<'h, 'a> {
    history: &'h History<'a>,
    library: ScanResult,
    rows: Vec<Row>,
    /// Where the row of a call is in `rows`.
    places: FxHashMap<(u64, u64, i64), usize>,
    /// The commands that were read, by their place in `rows`: each edit of a session asks for those after it.
    commands: RefCell<FxHashMap<usize, Option<Command>>>,
}

/// A command that a session ran.
#[derive(Clone, Debug)]
struct Command {
    text: String,
    /// The commit that its output names.
    commit: Option<String>,
}

/// Calls that are read to find the next build or test after an edit.
const MAX_AHEAD: usize = 400;

impl<'h, 'a> SessionContext<'h, 'a> {
    /// Reads the events of these sessions of a repository.
    pub fn read(
        history: &'h History<'a>,
        root: &Path,
        sessions: &BTreeSet<String>,
    ) -> Result<SessionContext<'h, 'a>, Error> {
        let request =
            ViewRequest { project: Some(root.to_string_lossy().into_owned()), ..ViewRequest::default() };
        SessionContext::read_matching(history, &request, Some(sessions))
    }

    /// Reads the events that a request selects, of these sessions or of all.
    pub fn read_matching(
        history: &'h History<'a>,
        request: &ViewRequest,
        sessions: Option<&BTreeSet<String>>,
    ) -> Result<SessionContext<'h, 'a>, Error> {
        let part = sessions.map_or(Part::All, Part::Sessions);
        let (library, rows) =
            scan_part(history, request, SurveyOptions::ALL.into(), by_session, &part, |library, joined| {
                let row = &joined.row;
                let is_text = !is_warm_up(row) && !row.has_flag(USAGE_ONLY);
                is_text
                    && sessions.is_none_or(|sessions| sessions.contains(&*library.session(row).session_id))
            })?;
        let rows = rows.collect::<Result<Vec<Row>, _>>().map_err(read_error)?;
        let calls = rows.iter().enumerate().filter(|(_, row)| row.row == RowKind::Call);
        let places = calls.map(|(at, row)| (place_key(row), at)).collect();
        Ok(SessionContext { history, library, rows, places, commands: RefCell::default() })
    }

    /// The calls, session by session.
    pub fn calls(&self) -> impl Iterator<Item = &Row> {
        let is_kept = |row: &&Row| row.row == RowKind::Call && !self.library.is_abandoned(row);
        self.rows.iter().filter(is_kept)
    }

    /// None if it cannot be read.
    pub fn read_call(&self, row: &Row) -> Option<Call> {
        self.history.read_call(&self.library, row).ok()
    }

    pub fn tool(&self, row: &Row) -> &str {
        self.library.name(row)
    }

    pub fn session(&self, row: &Row) -> &Session {
        self.library.session(row)
    }

    pub fn absolute_path(&self, row: &Row, file: &str) -> String {
        self.library.absolute_path(row, file)
    }

    /// What could not be read, and how much there was.
    pub fn into_outcome(self) -> Outcome {
        self.library.outcome
    }

    fn place_of(&self, edit: &Row) -> Option<usize> {
        self.places.get(&place_key(edit)).copied()
    }

    /// The rows of the same session before a place, latest first.
    fn before(&self, at: usize) -> impl Iterator<Item = &Row> {
        let session = self.rows[at].key;
        self.rows[..at].iter().rev().take_while(move |row| row.key == session)
    }

    /// The text of the last message before an edit that is of one of these kinds and not empty.
    fn last_text(&self, edit: &Row, kinds: &[Kind]) -> String {
        let Some(at) = self.place_of(edit) else { return String::new() };
        let messages =
            self.before(at).filter(|row| row.row == RowKind::Message && kinds.contains(&row.kind()));
        let mut texts = messages.filter_map(|row| self.history.read_message(&self.library, row).ok());
        texts.find(|message| !message.text.trim().is_empty()).map(|message| message.text).unwrap_or_default()
    }

    /// The prompt or task that an edit answers.
    pub fn prompt(&self, edit: &Row) -> String {
        self.last_text(edit, &[Kind::Prompt, Kind::Task, Kind::Command])
    }

    /// The last prompt of a session until a time.
    pub fn last_prompt(&self, session: &str, until: i64) -> Option<(&Row, String)> {
        let is_meant = |row: &&Row| {
            row.row == RowKind::Message
                && matches!(row.kind(), Kind::Prompt | Kind::Task)
                && row.at.0 <= until
                && *self.library.session(row).session_id == *session
        };
        let rows = self.rows.iter().rev().filter(is_meant);
        let mut texts =
            rows.filter_map(|row| Some((row, self.history.read_message(&self.library, row).ok()?.text)));
        texts.find(|(_, text)| !text.trim().is_empty())
    }

    /// What the agent said last before an edit, since the prompt.
    pub fn reasoning(&self, edit: &Row) -> String {
        let Some(at) = self.place_of(edit) else { return String::new() };
        let is_prompt =
            |row: &&Row| row.row == RowKind::Message && matches!(row.kind(), Kind::Prompt | Kind::Task);
        let replies = self.before(at).take_while(|row| !is_prompt(row));
        let replies = replies.filter(|row| row.row == RowKind::Message && row.kind() == Kind::Reply).take(20);
        let mut texts = replies.filter_map(|row| self.history.read_message(&self.library, row).ok());
        texts.find(|message| !message.text.trim().is_empty()).map(|message| message.text).unwrap_or_default()
    }

    fn commands_after(&self, edit: &Row) -> impl Iterator<Item = (&Row, Command)> {
        let at = self.place_of(edit).unwrap_or(self.rows.len());
        let session = self.rows.get(at).map(|row| row.key);
        let later = self.rows.iter().enumerate().skip(at + 1);
        let later = later.take_while(move |(_, row)| Some(row.key) == session);
        let shell = later.filter(|(_, row)| row.row == RowKind::Call && is_shell(self.library.name(row)));
        shell.take(MAX_AHEAD).filter_map(|(at, row)| Some((row, self.read_command(at)?)))
    }

    fn read_command(&self, at: usize) -> Option<Command> {
        if let Some(known) = self.commands.borrow().get(&at) {
            return known.clone();
        }
        let command = self.parse_command(&self.rows[at]);
        self.commands.borrow_mut().insert(at, command.clone());
        command
    }

    fn parse_command(&self, row: &Row) -> Option<Command> {
        let text = self.history.read_call_summary(&self.library, row).ok()?.command?;
        let is_commit = text.contains("git") && text.contains("commit");
        let output = if is_commit { self.history.read_call(&self.library, row).ok()?.output } else { None };
        let output = output.and_then(|json| serde_json::from_str::<String>(&json).ok());
        Some(Command { text, commit: output.as_deref().and_then(committed_hash) })
    }

    /// The next build or test after an edit.
    pub fn outcome(&self, edit: &Row) -> Option<CheckRun> {
        let (row, command) = self.commands_after(edit).find(|(_, command)| is_check(&command.text))?;
        let command = api::terminal_text::one_line(&command.text);
        Some(CheckRun { command, status: row.status().as_str().to_string() })
    }

    /// The next commit that the session itself made after an edit, as its output names it.
    pub fn next_commit(&self, edit: &Row) -> Option<String> {
        let mut made = self.commands_after(edit).filter(|(row, _)| row.status() != Status::Error);
        made.find_map(|(_, command)| command.commit)
    }

    /// Whether the session's own output says, after the edit, that it made this commit.
    pub fn attests(&self, edit: &Row, commit: &str) -> bool {
        let made = |command: &Command| command.commit.as_deref().is_some_and(|hash| commit.starts_with(hash));
        self.commands_after(edit).any(|(row, command)| row.status() != Status::Error && made(&command))
    }

    /// Whether the person went back to before the edit.
    pub fn is_abandoned(&self, edit: &Row) -> bool {
        self.place_of(edit).is_some_and(|at| self.library.is_abandoned(&self.rows[at]))
    }
}

/// What identifies a call in two scans, whose files have other numbers.
fn place_key(row: &Row) -> (u64, u64, i64) {
    (row.start, record::event_key(0, &[&row.id]), row.at.0)
}

/// Whether a tool runs commands, for the tools of all agents.
pub fn is_shell(tool: &str) -> bool {
    const NAMES: &[&str] = &["bash", "shell", "exec", "terminal", "run_command", "execute", "cmd"];
    let tool = tool.to_ascii_lowercase();
    NAMES.iter().any(|name| tool.contains(name))
}

/// Programs that build or test, with the subcommands that do; none: each does.
const CHECKS: &[(&str, &[&str])] = &[
    ("cargo", &["build", "test", "check", "clippy", "nextest", "run"]),
    ("go", &["build", "test", "vet"]),
    ("npm", &["test", "run", "t"]),
    ("pnpm", &["test", "run", "build", "lint"]),
    ("yarn", &["test", "run", "build", "lint"]),
    ("bun", &["test", "run"]),
    ("npx", &["tsc", "jest", "vitest", "eslint", "mocha"]),
    ("dotnet", &["build", "test"]),
    ("mvn", &[]),
    ("gradle", &[]),
    ("gradlew", &[]),
    ("make", &[]),
    ("just", &[]),
    ("task", &[]),
    ("mise", &["run"]),
    ("pytest", &[]),
    ("tox", &[]),
    ("mypy", &[]),
    ("ruff", &[]),
    ("tsc", &[]),
    ("jest", &[]),
    ("vitest", &[]),
    ("rspec", &[]),
    ("ctest", &[]),
    ("bazel", &["build", "test"]),
    ("swift", &["build", "test"]),
];

/// Whether a command builds or tests.
pub fn is_check(command: &str) -> bool {
    command.split(['\n', ';', '|', '&']).any(|part| {
        let mut words = part.split_whitespace().skip_while(|word| {
            word.contains('=') || matches!(*word, "env" | "time" | "sudo" | "uv" | "run" | "poetry" | "exec")
        });
        let Some(program) = words.next() else { return false };
        let name = program.rsplit('/').next().unwrap_or(program);
        if name.starts_with("python") {
            let rest: Vec<&str> = words.take(2).collect();
            return matches!(rest[..], ["-m", "pytest" | "unittest" | "mypy"]);
        }
        let known = CHECKS.iter().find(|(known, _)| *known == name);
        known.is_some_and(|(_, subcommands)| {
            subcommands.is_empty() || words.any(|word| subcommands.contains(&word))
        })
    })
}

/// The hash in what `git commit` prints: `[main 1a2b3c4] Subject`.
fn committed_hash(output: &str) -> Option<String> {
    output.lines().filter_map(|line| line.trim().strip_prefix('[')?.split_once(']')).find_map(
        |(inside, _)| {
            let word = inside.split_whitespace().next_back()?;
            let is_hash = word.len() >= 7 && word.bytes().all(|b| b.is_ascii_hexdigit());
            is_hash.then(|| word.to_string())
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_and_tests_are_recognised() {
        for command in [
            "cargo test -p x",
            "cd a && RUST_LOG=1 cargo nextest run",
            "go test ./...",
            "python -m pytest -q",
            "uv run pytest",
            "npm run build",
            "make",
            "./gradlew test",
            "mise run test",
        ] {
            assert!(is_check(command), "{command}");
        }
        for command in ["cargo add x", "ls", "git commit -m 'make it pass'", "go mod tidy", "grep test a"] {
            assert!(!is_check(command), "{command}");
        }
    }

    #[test]
    fn the_hash_of_a_new_commit_is_read() {
        for (output, hash) in [
            ("[main 1a2b3c4] Fix\n 1 file changed", Some("1a2b3c4")),
            ("hook ok\n[main (root-commit) 1a2b3c4d5] First", Some("1a2b3c4d5")),
            ("[INFO] done\nnothing to commit", None),
        ] {
            assert_eq!(committed_hash(output).as_deref(), hash, "{output}");
        }
    }
}
