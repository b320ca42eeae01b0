//! `cargo xtask bench why`: the cost of `loci why` on a long history, and of keeping edits in the index.
//!
//! The long form, whose figures are in docs/concepts/why.md:
//!
//!     cargo build --release
//!     cargo xtask bench why --commits 10000 --size 1G
//!
//! It makes a repository and the sessions that wrote most of it. All of the history belongs to this repository, which is the worst case. The first
//! answer is compared with `git log -L` for the same function, with the code index of the tree and without it; a later answer with a search, and
//! the index with that of a history of as many bytes in which no call names a file.

use super::goal::{Bound, Cost, Goal};
use super::measure::{Case, Results, measure_cases};
use super::table;
use super::workspace::{self, Binaries, Workspace};
use crate::Outcome;
use crate::args::Args;
use serde_json::json;
use std::ffi::OsString;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use testutil::Session;

pub(super) fn run(args: &[String]) -> Outcome {
    let names = ["commits", "size", "rounds", "loci", "keep"];
    let args = Args::parse(args, &names, &["smoke", "strict"])?;
    let smoke = args.has_switch("smoke");
    let binaries = Binaries::find(args.path_value("loci").as_deref(), None, smoke)?;
    let work = Workspace::new(args.path_value("keep").as_deref())?;
    let commits = args.number_value("commits", if smoke { 1000 } else { 10_000 })?.max(100) as usize;
    let size = args.size_value("size")?.unwrap_or(if smoke { 20_000_000 } else { 1_000_000_000 });
    let rounds = args.number_value("rounds", 3)?.max(1) as usize;
    println!("{}", workspace::describe_machine());
    let made = MadeHistory::open(&work.corpus_folder(&format!("why-{commits}-{size}")), commits, size)?;
    println!("{commits} commits, {} MB in {} sessions", made.bytes / 1_000_000, made.sessions);
    let mut results = Results::default();
    measure_cases(&made.index_cases(&binaries, rounds), &mut results)?;
    measure_cases(&made.first_cases(&binaries, rounds), &mut results)?;
    let later = made.later_cases(&binaries, rounds);
    // The first answers above were forgotten again: each function is asked about once before it counts.
    measure_cases(&later, &mut Results::default())?;
    measure_cases(&later, &mut results)?;
    let missed = table::print_table(&results, &list_goals());
    Ok(!(missed && args.has_switch("strict")))
}

fn list_goals() -> Vec<Goal> {
    let goal = |name, most, of| Goal::new(name, Cost::Cpu, Bound::AtMost(most), of);
    vec![goal("first", 5.0, "git"), goal("later", 3.0, "search"), goal("index", 1.15, "no edits")]
}

/// Files of the repository, functions in each, and lines in each of these.
const FILES: usize = 200;
const FUNCTIONS: usize = 40;
const LINES: usize = 7;
/// Consecutive commits that one session makes.
const COMMITS_PER_SESSION: usize = 5;
/// 2024-01-01, in seconds.
const START: i64 = 1_704_067_200;
/// Seconds from one commit to the next.
const STEP: i64 = 3600;

/// The functions that are asked about: one that changes often, one in between, and one that hardly ever does.
const ASKED: [(usize, usize); 3] = [(0, 0), (20, 7), (150, 30)];

/// A repository and two homes with the same history, one of them without edits.
struct MadeHistory {
    root: PathBuf,
    home: PathBuf,
    home_without_edits: PathBuf,
    sessions: usize,
    bytes: u64,
}

impl MadeHistory {
    fn open(at: &Path, commits: usize, size: u64) -> Result<MadeHistory, String> {
        let fail = |error: std::io::Error| format!("{}: {error}", at.display());
        let (root, home) = (at.join("tree"), at.join("home"));
        let home_without_edits = at.join("plain");
        let sessions = commits.div_ceil(COMMITS_PER_SESSION);
        let mut made = MadeHistory { root, home, home_without_edits, sessions, bytes: 0 };
        if !at.join("done").exists() {
            let _ = fs::remove_dir_all(at);
            fs::create_dir_all(&made.root).map_err(fail)?;
            made.generate(commits, size).map_err(fail)?;
            fs::write(at.join("done"), made.bytes.to_string()).map_err(fail)?;
        }
        let bytes = fs::read_to_string(at.join("done")).map_err(fail)?;
        made.bytes = bytes.trim().parse().map_err(|error| format!("{}: {error}", at.display()))?;
        Ok(made)
    }

    fn generate(&mut self, commits: usize, size: u64) -> std::io::Result<()> {
        let quiet = |args: &[&str]| {
            let mut git = Command::new("git");
            git.arg("-C").arg(&self.root).args(args).stdout(Stdio::null()).stderr(Stdio::null());
            git
        };
        quiet(&["init", "-q", "-b", "main"]).status()?;
        let mut import = quiet(&["fast-import", "--quiet"]).stdin(Stdio::piped()).spawn()?;
        let Some(stdin) = import.stdin.take() else { return Ok(()) };
        let (mut stream, mut tree) = (BufWriter::new(stdin), Tree::default());
        let room = size as usize / self.sessions;
        let mut bytes = 0;
        for first in (0..commits).step_by(COMMITS_PER_SESSION) {
            let mut session = begin_session(first, &self.root);
            for number in first..(first + COMMITS_PER_SESSION).min(commits) {
                let change = tree.change(number);
                tree.write_commit(&mut stream, number, change.file)?;
                // The others are a person's.
                if number % COMMITS_PER_SESSION < 3 {
                    add_edit(&mut session, &change);
                }
            }
            fill_session(&mut session, &tree, room);
            let text = session.text();
            bytes += text.len() as u64;
            self.write_session(&self.home, first, &text)?;
            let plain = text.replace("\"file_path\"", "\"fold_path\"").replace("\"Edit\"", "\"Exit\"");
            self.write_session(&self.home_without_edits, first, &plain)?;
        }
        stream.flush()?;
        drop(stream);
        import.wait()?;
        quiet(&["checkout", "-q", "-f", "main"]).status()?;
        self.bytes = bytes;
        Ok(())
    }

    fn write_session(&self, home: &Path, number: usize, text: &str) -> std::io::Result<()> {
        let name = self.root.to_string_lossy().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let folder = home.join(".claude/projects").join(name);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(format!("{}.jsonl", session_id(number))), text)
    }

    fn index_cases(&self, binaries: &Binaries, rounds: usize) -> Vec<Case> {
        let case = |name: &str, home: &Path| {
            let mut case = Case::new(name, &binaries.loci, home, &["index", "-o", "json"]);
            case.removed_before = vec![home.join(".cache/loci"), home.join(".local/share/loci")];
            (case.rounds, case.repeats) = (rounds, Some(1));
            case
        };
        vec![case("no edits", &self.home_without_edits), case("index", &self.home)]
    }

    /// A case that asks about one function after the other.
    fn ask_case(
        &self,
        name: &str,
        program: &Path,
        args: &[&str],
        rotating: &[OsString],
        rounds: usize,
    ) -> Case {
        let mut case = Case::new(name, program, &self.home, args);
        (case.rotating_args, case.rounds) = (rotating.to_vec(), rounds);
        case.repeats = Some(2 * ASKED.len() as u32);
        // A function that no session touched has no answer.
        case.accepted_exit = Some(2);
        case
    }

    fn why_case(&self, name: &str, binaries: &Binaries, rounds: usize) -> Case {
        let names = ASKED.map(|(file, at)| OsString::from(function_name(file, at)));
        let args = ["why", "--root", &self.root.to_string_lossy()];
        self.ask_case(name, &binaries.loci, &args, &names, rounds)
    }

    fn first_cases(&self, binaries: &Binaries, rounds: usize) -> Vec<Case> {
        let ranges = ASKED.map(|(file, at)| {
            let first = at * LINES + 1;
            OsString::from(format!("-L{first},{}:{}", first + LINES - 2, path_of(file)))
        });
        let args = ["-C", &self.root.to_string_lossy(), "log"];
        let git = self.ask_case("git", Path::new("git"), &args, &ranges, rounds);
        let [answers, code] = ["why", "code"].map(|kept| self.home.join(".cache/loci").join(kept));
        let (mut first, mut with_index) =
            (self.why_case("first", binaries, rounds), self.why_case("first, index", binaries, rounds));
        first.removed_before = vec![answers.clone()];
        with_index.removed_before = vec![answers, code];
        vec![git, first, with_index]
    }

    fn later_cases(&self, binaries: &Binaries, rounds: usize) -> Vec<Case> {
        let words = ["rows of step", "limit", "collect"].map(OsString::from);
        let search = self.ask_case("search", &binaries.loci, &["search"], &words, rounds);
        vec![search, self.why_case("later", binaries, rounds)]
    }
}

fn path_of(file: usize) -> String {
    format!("src/part_{file}.py")
}

fn function_name(file: usize, at: usize) -> String {
    format!("collect_{file}_{at}")
}

fn session_id(number: usize) -> String {
    format!("{number:08x}-0000-4000-8000-000000000000")
}

/// How often each function has changed.
struct Tree {
    versions: Vec<[u32; FUNCTIONS]>,
}

impl Default for Tree {
    fn default() -> Tree {
        Tree { versions: vec![[0; FUNCTIONS]; FILES] }
    }
}

/// A changed function.
struct Change {
    file: usize,
    before: String,
    after: String,
}

impl Tree {
    /// Changes one function. The first files change most.
    fn change(&mut self, number: usize) -> Change {
        let draw = |salt: usize| (number * 7919 + salt * 104_729) % 1_000_003;
        let file = draw(1) % (draw(2) % FILES + 1);
        let at = draw(3) % FUNCTIONS;
        let version = self.versions[file][at];
        self.versions[file][at] += 1;
        Change { file, before: function_text(file, at, version), after: function_text(file, at, version + 1) }
    }

    fn text(&self, file: usize) -> String {
        (0..FUNCTIONS).map(|at| function_text(file, at, self.versions[file][at])).collect()
    }

    /// The first commit has all files, each later one the one that changed.
    fn write_commit(&self, out: &mut impl Write, number: usize, file: usize) -> std::io::Result<()> {
        let at = START + STEP * number as i64;
        let message = format!("Change part {file} in step {number}");
        writeln!(out, "commit refs/heads/main\ncommitter a <a@example.org> {at} +0000")?;
        writeln!(out, "data {}\n{message}", message.len())?;
        let files = if number == 0 { 0..FILES } else { file..file + 1 };
        for file in files {
            let text = self.text(file);
            writeln!(out, "M 100644 inline {}\ndata {}\n{text}", path_of(file), text.len())?;
        }
        writeln!(out)
    }
}

/// A function of six lines and a blank one; each version changes two of them.
fn function_text(file: usize, at: usize, version: u32) -> String {
    let (one, other) = (version / 2 + version % 2, version / 2);
    format!(
        "def {}(rows, limit):\n    kept = [row for row in rows if row.step_{file}_{at} >= {one}]\n    total = sum(row.weight for row in kept)\n    \
         limit = min(limit, total + {other})\n    ordered = sorted(kept, key=lambda row: (row.rank, {version}))\n    return ordered[:limit]\n\n",
        function_name(file, at)
    )
}

/// A session before the commits from a number on.
fn begin_session(number: usize, root: &Path) -> Session {
    let start = record::Stamp((START + STEP * number as i64 - STEP / 2) * 1000);
    let mut session = Session::new(&session_id(number), &root.to_string_lossy(), &start.to_string());
    session.prompt(&format!("rows of step {number} are counted twice, mend it"));
    session
}

/// An edit, and a test after it.
fn add_edit(session: &mut Session, change: &Change) {
    let path = format!("{}/{}", session.cwd, path_of(change.file));
    let input = json!({"file_path": path, "old_string": change.before, "new_string": change.after});
    session.did("Edit", input, "edited");
    session.did("Bash", json!({"command": "python3 -m pytest -q"}), "12 passed");
}

/// Reads files until the session has its size.
fn fill_session(session: &mut Session, tree: &Tree, size: usize) {
    let mut bytes: usize = session.lines.iter().map(String::len).sum();
    let mut file = session.lines.len();
    while bytes < size {
        file = (file + 37) % FILES;
        let path = format!("{}/{}", session.cwd, path_of(file));
        let known = session.lines.len();
        session.did("Read", json!({"file_path": path}), &tree.text(file));
        bytes += session.lines[known..].iter().map(String::len).sum::<usize>();
    }
}
