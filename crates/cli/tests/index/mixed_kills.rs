//! `kill -9` of every process that writes, in turn, while a daemon, six readers and two writers of transcripts run: nothing
//! that was acknowledged is lost, nothing forgotten comes back, no read fails or waits for long, and the final state
//! equals that of a fresh home.
//!
//! Does not know how the stores recover: it looks at responses only, and runs SQLite's own check on each database.
//!
//! `LOCI_KILLS=2000` runs the long form, and `LOCI_SEED` repeats the kills of a run that failed.

use crate::history::{Rng, needle};
use crate::instance::{Instance, VIEWS, assert_same, collect_responses, list_files};
use crate::workload::{Daemon, Workload};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use testutil::needs::number_variable;
use testutil::{ALPHA, Session, copy_folder, without_last_change, write_file};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Victim {
    Index,
    Rebuild,
    Forget,
    Consolidate,
    IndexCode,
    EditMemory,
    Daemon,
}

const VICTIMS: [Victim; 9] = [
    Victim::Index,
    Victim::Forget,
    Victim::Daemon,
    Victim::Rebuild,
    Victim::EditMemory,
    Victim::Consolidate,
    Victim::Index,
    Victim::Forget,
    Victim::IndexCode,
];

/// Words of sessions to be forgotten start here, far from those of the history.
const FIRST_DOOMED_WORD: usize = 900_000;
/// Sessions with edited memory.
const EDITED_SESSIONS: usize = 8;

/// A session to be forgotten.
struct Doomed {
    id: String,
    word: String,
}

/// Names that a session may have: the last acknowledged one, and those of later edits that were killed.
#[derive(Default)]
struct Edited {
    names: Vec<String>,
    is_acknowledged: bool,
}

struct Loop<'a> {
    workload: &'a Workload,
    rng: Rng,
    daemon: Daemon,
    /// How long each kind of process runs, roughly.
    durations: BTreeMap<Victim, Duration>,
    /// Not yet forgotten, or only perhaps.
    doomed: Vec<Doomed>,
    doomed_count: usize,
    edited: BTreeMap<String, Edited>,
    edit_count: usize,
    killed: BTreeMap<Victim, usize>,
}

impl<'a> Loop<'a> {
    fn new(workload: &'a Workload, seed: u64) -> Loop<'a> {
        let daemon = Daemon::start(workload);
        let (durations, edited, killed) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut this = Loop {
            workload,
            rng: Rng(seed),
            daemon,
            durations,
            doomed: Vec::new(),
            doomed_count: 0,
            edited,
            edit_count: 0,
            killed,
        };
        (0..4).for_each(|_| this.add_doomed());
        this
    }

    fn add_doomed(&mut self) {
        let n = self.doomed_count;
        self.doomed_count += 1;
        let (id, word) = (format!("dddd{n:04x}-0000-4000-8000-000000000000"), needle(FIRST_DOOMED_WORD + n));
        let mut session = Session::new(&id, ALPHA, "2026-03-30T09:00:00Z");
        session.prompt(&format!("A confidential {word}")).reply(&[&format!("Part of {word}.")]);
        self.workload.history().home.add(&session);
        self.doomed.push(Doomed { id, word });
    }

    fn kill_next(&mut self, kill: usize) {
        let victim = VICTIMS[kill % VICTIMS.len()];
        match victim {
            Victim::Index => drop(self.run_and_kill(victim, "index")),
            Victim::Rebuild => drop(self.run_and_kill(victim, "index --rebuild")),
            Victim::Consolidate => drop(self.run_and_kill(victim, "memory consolidate --no-model")),
            Victim::IndexCode => {
                edit_tree(&self.workload.instance.home.join("tree"), kill);
                self.run_and_kill(victim, "code index --root tree");
            }
            Victim::Forget => self.forget(),
            Victim::EditMemory => self.edit_memory(),
            Victim::Daemon => self.restart_daemon(),
        }
    }

    fn restart_daemon(&mut self) {
        if self.daemon.has_exited() {
            self.workload.report("the daemon exited by itself".to_string());
        }
        self.daemon.kill();
        self.daemon = Daemon::start(self.workload);
        *self.killed.entry(Victim::Daemon).or_default() += 1;
    }

    /// Runs a command and kills it at a random moment. Returns whether it ended before and succeeded.
    fn run_and_kill(&mut self, victim: Victim, line: &str) -> bool {
        let with_daemon = self.rng.below(4) == 0;
        let usual = *self.durations.entry(victim).or_insert(Duration::from_millis(300));
        let share = self.rng.below(1000) as f64 / 1000.0;
        let mut command = self.workload.command(line, with_daemon);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let started = Instant::now();
        let mut child = command.spawn().unwrap();
        let deadline = started + usual.mul_f64(share * 1.3);
        while Instant::now() < deadline && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(2));
        }
        let exited = child.try_wait().unwrap().is_some();
        let _ = child.kill();
        let output = child.wait_with_output().unwrap();
        if !exited {
            *self.killed.entry(victim).or_default() += 1;
            // It may take longer than was known.
            self.durations.insert(victim, usual.mul_f64(1.05).min(Duration::from_secs(3)));
            return false;
        }
        self.durations.insert(victim, (usual * 3 + started.elapsed()) / 4);
        // A forgotten session cannot be forgotten again: another process may have completed a killed run.
        let is_done = output.status.success() || victim == Victim::Forget && output.status.code() == Some(2);
        if !is_done {
            let stderr = String::from_utf8_lossy(&output.stderr);
            self.workload.report(format!("`{line}` exits with {:?}: {stderr}", output.status.code()));
        }
        is_done
    }

    fn forget(&mut self) {
        let doomed = self.doomed.remove(0);
        if self.run_and_kill(Victim::Forget, &format!("forget {} --yes", doomed.id)) {
            self.workload.expected().forgotten.push(doomed.word);
            self.add_doomed();
        } else {
            self.doomed.push(doomed);
        }
    }

    fn edit_memory(&mut self) {
        let id = self.workload.history().growing[self.rng.below(EDITED_SESSIONS)].session.id.clone();
        self.edit_count += 1;
        let name = format!("edit number {}", self.edit_count);
        let is_acknowledged =
            self.run_and_kill(Victim::EditMemory, &format!("memory edit {id} --name '{name}'"));
        let edited = self.edited.entry(id).or_default();
        if is_acknowledged {
            edited.names.clear();
            edited.is_acknowledged = true;
        }
        edited.names.push(name);
    }

    /// Checks that no acknowledged edit is lost.
    fn check_edits(&self) {
        for (id, edited) in &self.edited {
            let shown =
                testutil::run_command(self.workload.command(&format!("memory show {id} -o json"), false));
            let shown = shown.expect(0).records().remove(0);
            let name = shown["memory"]["text"].as_str().unwrap_or_default();
            // Before the first acknowledged edit, the derived name is correct, too.
            if edited.is_acknowledged && !edited.names.iter().any(|one| one == name) {
                self.workload.report(format!("{id} is named {name:?} instead of {:?}", edited.names));
            }
        }
    }
}

/// A source tree whose types change with `revision`.
fn edit_tree(tree: &Path, revision: usize) {
    write_file(&tree.join("Cargo.toml"), b"[package]\nname = \"tree\"\n");
    for n in 0..12 {
        let body = if n == revision % 12 { revision } else { n };
        let text =
            format!("pub struct Part{n};\nimpl Part{n} {{ pub fn run(&self) -> usize {{ {body} }} }}\n");
        write_file(&tree.join(format!("src/part{n}.rs")), text.as_bytes());
    }
}

pub(crate) fn assert_databases_are_sound(folders: &[&Path]) {
    let files = folders.iter().flat_map(|folder| list_files(folder));
    let databases: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|ending| ending == "db")).collect();
    assert!(databases.len() >= 2, "catalogue and memory: {databases:?}");
    for path in databases {
        let found = db::open_foreign(&path)
            .and_then(|open| open.query_row("pragma integrity_check", [], |row| row.get::<_, String>(0)));
        assert_eq!(found.unwrap(), "ok", "{}", path.display());
    }
}

/// Files of Loci that contain one of the words.
fn files_containing(instance: &Instance, words: &[String]) -> Vec<String> {
    let folders = [&instance.data, &instance.cache, &instance.home.join(".local/state")];
    let mut found = Vec::new();
    for path in folders.iter().flat_map(|folder| list_files(folder)) {
        let bytes = fs::read(&path).unwrap();
        let contains = |word: &&String| bytes.windows(word.len()).any(|window| window == word.as_bytes());
        found.extend(words.iter().find(contains).map(|word| format!("{word} in {}", path.display())));
    }
    found
}

/// Every file that `code index` writes into the tree, except the personal ones.
fn outlines(tree: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let root = tree.join(".loci");
    let files = list_files(&root).into_iter();
    let files = files.filter(|path| !path.ends_with("lock") && !path.ends_with("access.json"));
    files.map(|path| (path.strip_prefix(&root).unwrap().to_path_buf(), fs::read(&path).unwrap())).collect()
}

/// Compares the instance with one that was built from the same transcripts without a kill.
fn assert_equals_fresh(workload: &Workload, doomed: &[String]) {
    let (instance, fresh) = (&workload.instance, Instance::new(&workload.instance.home));
    // Names that a user gave are shown in lists. They are not derived from transcripts.
    fs::create_dir_all(fresh.data.join("loci")).unwrap();
    fs::copy(instance.data.join("loci/memory.db"), fresh.data.join("loci/memory.db")).unwrap();
    fresh.index();
    fresh.run(&format!("forget {} --yes", doomed.join(" "))).expect(0);
    fresh.index();
    let history = workload.history();
    let step = (history.needles.len() / 40).max(1);
    let searches: Vec<String> = history.search_terms().into_iter().step_by(step).collect();
    let (one, other) =
        (collect_responses(instance, VIEWS, &searches), collect_responses(&fresh, VIEWS, &searches));
    assert_same("after the kills", &one, &other);
    assert_eq!(instance.archived_copies(), fresh.archived_copies());
    let copy = tempfile::TempDir::new().unwrap();
    copy_folder(&instance.home.join("tree/src"), &copy.path().join("tree/src"));
    fs::copy(instance.home.join("tree/Cargo.toml"), copy.path().join("tree/Cargo.toml")).unwrap();
    fresh.run(&format!("code index --root {}", copy.path().join("tree").display())).expect(0);
    let written = |tree: &Path| without_last_change(outlines(tree));
    assert_eq!(written(&instance.home.join("tree")), written(&copy.path().join("tree")));
}

/// Requires every word that was written, over all sessions.
fn assert_nothing_is_lost(workload: &Workload) {
    let ended = workload.instance.run("query messages --all-projects --fields text");
    let calls = workload.instance.run("query tools --all-projects --fields output");
    let (messages, calls) = (ended.text(), calls.text());
    let expected = workload.expected();
    let lost: Vec<&String> =
        expected.words.iter().filter(|word| !messages.contains(*word) && !calls.contains(*word)).collect();
    assert!(lost.is_empty(), "lost: {lost:?}");
    for word in expected.words.iter().step_by(expected.words.len().div_ceil(60)) {
        assert!(!workload.instance.search_ids(word).is_empty(), "{word}");
    }
}

#[test]
fn kills_of_every_writer_lose_nothing_and_disturb_no_reader() {
    let (kills, seed) = (number_variable("LOCI_KILLS", 90), number_variable("LOCI_SEED", 20_261_116));
    let workload = Workload::new(20, kills);
    edit_tree(&workload.instance.home.join("tree"), 0);
    for line in ["code index --root tree", "memory consolidate --no-model"] {
        workload.instance.run(line).expect(0);
    }
    let mut state = Loop::new(&workload, seed);
    workload.run(|| {
        for kill in 0..kills {
            state.kill_next(kill);
            workload.count_kill();
            if kill % 30 == 29 {
                state.check_edits();
            }
            if workload.has_problems() {
                break;
            }
        }
    });
    let summary = format!("seed {seed}: killed {:?}; {}", state.killed, workload.summarize());
    println!("{summary}");
    let problems = workload.list_problems();
    assert!(problems.is_empty(), "{summary}\n{}", problems.join("\n"));
    assert!(state.killed.values().sum::<usize>() * 3 > kills, "too few processes were killed: {summary}");
    finish(state);
    let delays = workload.list_delays();
    assert!(delays.is_empty(), "{summary}\n{}", delays.join("\n"));
}

/// Completes what was interrupted, and checks the final state.
fn finish(state: Loop<'_>) {
    let workload = state.workload;
    for doomed in &state.doomed {
        let ended = workload.instance.run(&format!("forget {} --yes", doomed.id));
        assert!(matches!(ended.code, Some(0 | 2)), "{}", ended.stderr);
    }
    state.check_edits();
    let doomed: Vec<String> =
        (0..state.doomed_count).map(|n| format!("dddd{n:04x}-0000-4000-8000-000000000000")).collect();
    drop(state);
    for line in ["index", "memory consolidate --no-model", "code index --root tree"] {
        workload.instance.run(line).expect(0);
    }
    assert_databases_are_sound(&[&workload.instance.data, &workload.instance.cache]);
    assert_nothing_is_lost(workload);
    let words: Vec<String> = (0..doomed.len()).map(|n| needle(FIRST_DOOMED_WORD + n)).collect();
    assert_eq!(files_containing(&workload.instance, &words), [""; 0]);
    assert_equals_fresh(workload, &doomed);
}
