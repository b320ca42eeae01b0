//! Replays the history of a repository as if sessions, shell commands and people had made it: a new repository, and the
//! transcripts of the sessions.
//!
//! Does not ask Loci.

use crate::layout::{Layout, hash};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use testutil::{Home, Session, git, write_file};

/// Who made a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Maker {
    /// A session whose edits are recorded.
    Recorded,
    /// A session that changed files by shell commands only.
    Shell,
    Person,
}

/// A commit of the original, and who makes it here.
pub(crate) struct Step {
    pub(crate) original: String,
    pub(crate) subject: String,
    pub(crate) maker: Maker,
    pub(crate) session: String,
}

pub(crate) struct Replay {
    pub(crate) home: Home,
    pub(crate) root: PathBuf,
    /// The repository it was made from.
    pub(crate) original: PathBuf,
    /// The commit before the first step.
    pub(crate) base: String,
    pub(crate) steps: Vec<Step>,
    /// The texts of the original at its end.
    pub(crate) files: BTreeMap<String, String>,
}

/// Milliseconds from one commit to the next.
const STEP: i64 = 7_200_000;
/// 2024-01-01.
const START: i64 = 1_704_067_200_000;

impl Replay {
    pub(crate) fn make(original: &Path, suffix: &str, count: usize) -> Replay {
        let home = Home::new();
        let root = std::fs::canonicalize(home.path()).unwrap().join("replayed");
        std::fs::create_dir_all(&root).unwrap();
        let number = format!("-n{count}");
        let log = read(original, &["log", "--first-parent", "--reverse", &number, "--format=%H %s", "HEAD"]);
        let steps: Vec<Step> = log.lines().filter_map(|line| line.split_once(' ')).map(draw).collect();
        let base = read(original, &["rev-parse", &format!("{}^", steps[0].original)]).trim().to_string();
        let original = original.to_path_buf();
        let mut replay = Replay { home, root, original, base, steps, files: BTreeMap::new() };
        replay.run(suffix);
        replay
    }

    fn run(&mut self, suffix: &str) {
        let date = date_of(START - STEP);
        git(&self.root, &date, &["init", "-q", "-b", "main"]);
        let listed = read(&self.original, &["ls-tree", "-r", "--name-only", &self.base]);
        for path in listed.lines().filter(|path| path.ends_with(suffix)) {
            let text = self.show(&self.base, path);
            self.files.insert(path.to_string(), text);
        }
        let mut layout = Layout::Original;
        self.lay_out(layout, layout);
        self.commit(START - STEP, "Begin");
        for number in 0..self.steps.len() {
            let next = Layout::at(number, self.steps.len());
            if next != layout {
                self.lay_out(layout, next);
                self.commit(START + STEP * number as i64 - STEP / 2, "Format and move files");
                layout = next;
            }
            self.take_step(number, suffix, layout);
        }
    }

    fn show(&self, commit: &str, path: &str) -> String {
        read(&self.original, &["show", &format!("{commit}:{path}")])
    }

    /// Writes all files in a layout, and removes those of another one.
    fn lay_out(&self, from: Layout, to: Layout) {
        for (path, text) in &self.files {
            let _ = std::fs::remove_file(self.root.join(from.path(path)));
            write_file(&self.root.join(to.path(path)), to.text(text).as_bytes());
        }
    }

    fn commit(&self, at: i64, subject: &str) -> String {
        git(&self.root, &date_of(at), &["add", "-A"]);
        git(&self.root, &date_of(at), &["commit", "-q", "--allow-empty", "-m", subject]);
        git(&self.root, &date_of(at), &["rev-parse", "HEAD"])
    }

    fn take_step(&mut self, number: usize, suffix: &str, layout: Layout) {
        let (commit, maker) = (self.steps[number].original.clone(), self.steps[number].maker);
        let names = ["diff-tree", "-r", "--no-renames", "--name-only", "-m", "--first-parent"];
        let changed = read(&self.original, &[&names[..], &[&format!("{commit}^"), &commit]].concat());
        for path in changed.lines().filter(|path| path.ends_with(suffix)) {
            let there = read(&self.original, &["ls-tree", "-r", "--name-only", &commit, "--", path]);
            let place = self.root.join(layout.path(path));
            if there.trim().is_empty() {
                let _ = std::fs::remove_file(place);
                self.files.remove(path);
            } else {
                let text = self.show(&commit, path);
                write_file(&place, layout.text(&text).as_bytes());
                self.files.insert(path.to_string(), text);
            }
        }
        let at = START + STEP * number as i64;
        git(&self.root, &date_of(at), &["add", "-A"]);
        let diff = read(&self.root, &["diff", "--cached", "-M", "-U3", "--no-color"]);
        let made = self.commit(at, &self.steps[number].subject);
        let session = match maker {
            Maker::Recorded => self.record(number, at, &parse_diff(&diff), &made),
            Maker::Shell => self.record_shell(number, at),
            Maker::Person => return,
        };
        self.home.add(&session);
    }

    fn begin(&self, number: usize, at: i64) -> Session {
        let step = &self.steps[number];
        let mut session = Session::new(&step.session, self.root.to_str().unwrap(), &date_of(at - STEP / 3));
        session.prompt(&format!("{}, please", step.subject));
        session
    }

    /// One call for each hunk, or the whole file. Some sessions try something else first, and some commit.
    fn record(&self, number: usize, at: i64, changes: &[FileChange], made: &str) -> Session {
        let (step, mut session) = (&self.steps[number], self.begin(number, at));
        let check = || json!({"command": "make test"});
        for change in changes {
            let path = self.root.join(&change.path);
            let draw = hash(&format!("{made}{}", change.path));
            if change.is_new || draw % 100 < 12 {
                let content = std::fs::read_to_string(&path).unwrap_or_default();
                session.did("Write", json!({"file_path": path, "content": content}), "written");
                continue;
            }
            let edit =
                |old: &str, new: &str| json!({"file_path": path, "old_string": old, "new_string": new});
            for (place, hunk) in change.hunks.iter().enumerate() {
                if place == 0 && draw % 100 > 80 {
                    let tried = format!("{}    tried_first_{draw}()\n", hunk.old);
                    session.did("Edit", edit(&hunk.old, &tried), "edited");
                    session.failed("Bash", check(), "Exit code 2\n1 failed");
                    session.did("Edit", edit(&tried, &hunk.old), "edited");
                }
                session.did("Edit", edit(&hunk.old, &hunk.new), "edited");
            }
        }
        session.did("Bash", check(), "12 passed");
        if hash(made).is_multiple_of(2) {
            let output = format!("[main {}] {}", &made[..7], step.subject);
            session.did("Bash", json!({"command": "git commit -am work"}), &output);
        }
        session.reply(&["Done."]);
        session
    }

    fn record_shell(&self, number: usize, at: i64) -> Session {
        let mut session = self.begin(number, at);
        session.did("Bash", json!({"command": "python3 tools/rewrite.py && make format"}), "ok");
        session.reply(&["Done."]);
        session
    }
}

/// 60 % of the commits are recorded, 15 % made by shell commands, the others by a person. The hash decides.
fn draw((hash, subject): (&str, &str)) -> Step {
    let maker = match u32::from_str_radix(&hash[..6], 16).unwrap_or(0) % 100 {
        0..60 => Maker::Recorded,
        60..75 => Maker::Shell,
        _ => Maker::Person,
    };
    let session =
        format!("{}-{}-4{}-8{}-{}", &hash[..8], &hash[8..12], &hash[12..15], &hash[15..18], &hash[18..30]);
    Step { original: hash.to_string(), subject: subject.to_string(), maker, session }
}

fn date_of(at: i64) -> String {
    record::Stamp(at).to_string()
}

pub(crate) fn read(repo: &Path, args: &[&str]) -> String {
    let done = Command::new("git").arg("-C").arg(repo).args(args).output().expect("git runs");
    String::from_utf8_lossy(&done.stdout).into_owned()
}

pub(crate) struct FileChange {
    path: String,
    is_new: bool,
    hunks: Vec<HunkTexts>,
}

/// A hunk with its surroundings, before and after.
#[derive(Default)]
struct HunkTexts {
    old: String,
    new: String,
}

/// The changed files of a patch that still exist.
fn parse_diff(text: &str) -> Vec<FileChange> {
    let mut found: Vec<FileChange> = Vec::new();
    let mut in_hunk = false;
    for line in text.split_inclusive('\n') {
        if line.starts_with("diff --git ") {
            found.push(FileChange { path: String::new(), is_new: false, hunks: Vec::new() });
            in_hunk = false;
            continue;
        }
        let Some(file) = found.last_mut() else { continue };
        if line.starts_with("@@") {
            file.hunks.push(HunkTexts::default());
            in_hunk = true;
        } else if in_hunk && let Some(hunk) = file.hunks.last_mut() {
            let (sign, said) = line.split_at(1);
            hunk.old.extend((sign == " " || sign == "-").then_some(said));
            hunk.new.extend((sign == " " || sign == "+").then_some(said));
        } else if let Some(path) = line.strip_prefix("+++ b/") {
            file.path = path.trim_end().to_string();
        } else if line.starts_with("new file") {
            file.is_new = true;
        }
    }
    found.retain(|file| !file.path.is_empty());
    found
}
