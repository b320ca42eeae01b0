//! Measures line → session on a repository in which git-ai wrote down the session of each line (its own, for example):
//!
//!     git clone --mirror https://github.com/git-ai-project/git-ai gitai.git
//!     cargo run --release --workspace --example notes -- gitai.git
//!
//! Older notes contain the messages of their sessions, and with Claude Code the text of each edit. Every commit with such a note is
//! attributed by its lines alone, and the note's lines are only compared afterwards. Cursor's messages lack the text of edits:
//! lines of such sessions can only be claimed wrongly. Does not read transcripts, and does not measure symbols.

// The pedantic lints are for shipped code.
#![allow(clippy::pedantic, clippy::print_stdout)]

use provenance::line::Line;
use provenance::note::Note;
use provenance::{Commit, Edit, Pool, attribute_commit, parse_log};
use record::Stamp;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

fn main() {
    let Some(repo) = std::env::args().nth(1) else {
        println!("usage: notes REPO");
        return;
    };
    let repo = Path::new(&repo);
    let notes = read_notes(repo);
    let edits = recorded_edits(&notes);
    let numbers = number_sessions(&edits);
    let (mut pool, mut seen) = (Pool::default(), BTreeSet::new());
    for edit in &edits {
        let session = numbers[edit.session.as_str()];
        if seen.insert((edit.at, &edit.path, &edit.after)) {
            let (before, after) = (edit.before.as_deref(), edit.after.as_str());
            pool.add(Edit { session, at: edit.at, path: &edit.path, before, after });
        }
    }
    println!("{} notes, {} sessions with {} edits", notes.len(), numbers.len(), pool.len());
    let mut counts = Counts::default();
    for commit in read_commits(repo) {
        if let Some((note, json)) = notes.get(&commit.hash) {
            let own = recorded_sessions(json);
            let own = numbers.iter().filter(|(id, _)| own.contains(**id)).map(|(id, n)| (*id, *n)).collect();
            counts.add_commit(&pool, &commit, note, &own);
        }
    }
    counts.print();
}

fn git(repo: &Path, args: &[&str], stdin: Vec<u8>) -> Vec<u8> {
    let mut command = Command::new("git");
    command.arg("-C").arg(repo).args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("git starts");
    let mut input = child.stdin.take().expect("git has an input");
    let writer = std::thread::spawn(move || input.write_all(&stdin));
    let output = child.wait_with_output().expect("git ends");
    let _ = writer.join();
    output.stdout
}

/// The notes by commit: parsed, and the JSON in them.
fn read_notes(repo: &Path) -> BTreeMap<String, (Note, Value)> {
    let listed = git(repo, &["notes", "--ref=ai", "list"], Vec::new());
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let pairs: Vec<(&str, &str)> = listed.lines().filter_map(|line| line.split_once(' ')).collect();
    let asked: String = pairs.iter().map(|(blob, _)| format!("{blob}\n")).collect();
    let printed = git(repo, &["cat-file", "--batch"], asked.into_bytes());
    let (mut rest, mut found) = (&printed[..], BTreeMap::new());
    for (_, commit) in pairs {
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else { break };
        let head = String::from_utf8_lossy(&rest[..end]).into_owned();
        rest = &rest[end + 1..];
        let Some(size) = head.rsplit(' ').next().and_then(|size| size.parse::<usize>().ok()) else {
            continue;
        };
        let text = String::from_utf8_lossy(&rest[..size]).into_owned();
        rest = &rest[size + 1..];
        let json = text.strip_prefix("---\n").or_else(|| text.split_once("\n---\n").map(|(_, json)| json));
        let json = json.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
        found.insert(commit.to_string(), (Note::parse(&text), json));
    }
    found
}

/// Numbers the sessions; those that share an edit are one that was resumed under another ID.
fn number_sessions(edits: &BTreeSet<Recorded>) -> BTreeMap<&str, u32> {
    let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
    let mut owners: BTreeMap<(i64, &str, &str), u32> = BTreeMap::new();
    for edit in edits {
        let next = numbers.len() as u32;
        let number = *numbers.entry(&edit.session).or_insert(next);
        let owner = *owners.entry((edit.at, &edit.path, &edit.after)).or_insert(number);
        if owner != number {
            numbers
                .values_mut()
                .chain(owners.values_mut())
                .filter(|it| **it == number)
                .for_each(|it| *it = owner);
        }
    }
    numbers
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Recorded {
    at: i64,
    session: String,
    path: String,
    before: Option<String>,
    after: String,
}

/// The edits in the messages of all notes, each once, oldest first.
fn recorded_edits(notes: &BTreeMap<String, (Note, Value)>) -> BTreeSet<Recorded> {
    let mut found = BTreeSet::new();
    for (_, json) in notes.values() {
        for prompt in json["prompts"].as_object().into_iter().flatten().map(|(_, prompt)| prompt) {
            let session = prompt["agent_id"]["id"].as_str().unwrap_or_default();
            for message in prompt["messages"].as_array().into_iter().flatten() {
                found.extend(read_edit(session, message));
            }
        }
    }
    found
}

/// The sessions whose edits this very note contains: other notes often stop before the edits of this commit.
fn recorded_sessions(json: &Value) -> BTreeSet<&str> {
    let prompts = json["prompts"].as_object().into_iter().flatten().map(|(_, prompt)| prompt);
    let has_edit = |prompt: &&Value| {
        let mut messages = prompt["messages"].as_array().into_iter().flatten();
        messages.any(|message| read_edit("", message).is_some())
    };
    prompts.filter(has_edit).filter_map(|prompt| prompt["agent_id"]["id"].as_str()).collect()
}

fn read_edit(session: &str, message: &Value) -> Option<Recorded> {
    let (input, name) = (&message["input"], message["name"].as_str()?);
    let text = |field: &str| input[field].as_str().map(str::to_string);
    let (before, after) = match name {
        "Edit" => (Some(text("old_string")?), text("new_string")?),
        "Write" => (None, text("content")?),
        _ => return None,
    };
    let at = Stamp::parse(message["timestamp"].as_str()?.as_bytes()).0;
    Some(Recorded { at, session: session.to_string(), path: text("file_path")?, before, after })
}

fn read_commits(repo: &Path) -> Vec<Commit> {
    let args = ["log", "-p", "-M", "--no-merges", provenance::patch::LOG_FORMAT, "HEAD"];
    parse_log(&String::from_utf8_lossy(&git(repo, &args, Vec::new())))
}

/// Lines of one kind.
#[derive(Default)]
struct Lines {
    right: u32,
    another: u32,
    unexplained: u32,
}

impl Lines {
    fn add(&mut self, truth: u32, claimed: Option<u32>) {
        match claimed {
            Some(session) if session == truth => self.right += 1,
            Some(_) => self.another += 1,
            None => self.unexplained += 1,
        }
    }

    fn print(&self, what: &str) {
        let all = self.right + self.another + self.unexplained;
        let precision = percent(self.right, self.right + self.another);
        println!("{all} lines {what}: right {:.2} %, precision {precision:.2} %", percent(self.right, all));
    }
}

fn percent(n: u32, of: u32) -> f64 {
    100.0 * f64::from(n) / f64::from(of.max(1))
}

#[derive(Default)]
struct Counts {
    commits: u32,
    /// Lines of which an edit of the named session is recorded that wrote this text, to any file.
    written: Lines,
    /// Lines of sessions that have other edits in the note: a subagent, a command or a lost message wrote these.
    unwritten: Lines,
    /// Lines of sessions whose edits are not recorded, and how many of them are claimed for one that is.
    unrecorded: u32,
    claimed: u32,
    /// The same for lines that the note gives to nobody.
    nobodys: u32,
    nobodys_claimed: u32,
}

impl Counts {
    fn add_commit(&mut self, pool: &Pool, commit: &Commit, note: &Note, numbers: &BTreeMap<&str, u32>) {
        self.commits += 1;
        attribute_commit(pool, commit, &[], &|_| true, |file, hunk, claims| {
            let numbered = (hunk.start..).zip(&hunk.lines).zip(hunk.moved_lines()).zip(claims);
            for (((line, (text, added)), moved), claim) in numbered {
                let said = Line::new(text);
                if !added || moved || said.is_blank() {
                    continue;
                }
                let claimed = claim.map(|claim| pool.session_of(claim.edit));
                match note.session_at(&file.path, line).map(|n| numbers.get(note.sessions[n].id.as_str())) {
                    Some(Some(truth)) if pool.writers(said, commit.until()).any(|it| it == *truth) => {
                        self.written.add(*truth, claimed);
                    }
                    Some(Some(truth)) => self.unwritten.add(*truth, claimed),
                    Some(None) => {
                        self.unrecorded += 1;
                        self.claimed += u32::from(claimed.is_some());
                    }
                    None => {
                        self.nobodys += 1;
                        self.nobodys_claimed += u32::from(claimed.is_some());
                    }
                }
            }
        });
    }

    fn print(&self) {
        println!("{} commits with notes", self.commits);
        self.written.print("that a recorded edit of the named session wrote");
        self.unwritten.print("of which the named session's messages have no edit");
        let share = percent(self.claimed, self.unrecorded);
        println!("{} lines of sessions without recorded edits: claimed {share:.2} %", self.unrecorded);
        let share = percent(self.nobodys_claimed, self.nobodys);
        println!("{} lines of nobody: claimed {share:.2} %", self.nobodys);
    }
}
