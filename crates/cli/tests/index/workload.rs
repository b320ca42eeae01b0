//! Processes that use one instance at the same time: readers, writers of transcripts, and a daemon. They record what is
//! wrong with a response, and how long a search waited for others.
//!
//! Does not know which processes a test kills.

use crate::history::{History, Rng};
use crate::instance::{Instance, search_hits};
use std::collections::BTreeSet;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};
use testutil::{Finished, split_words};

/// The longest that a search may wait for other processes.
const LONGEST_WAIT: Duration = Duration::from_secs(2);
/// How many times the duration of a concurrent search in a quiet home a search may take, besides [`LONGEST_WAIT`]. Both
/// compete for the same cores, but a search that finds the work of a killed process completes it first, which took up to
/// five times as long.
const LOAD_FACTOR: u32 = 8;
/// How much is written between two kills.
const LINES_PER_KILL: usize = 2;
const KILLS_PER_SESSION: usize = 6;
const PAUSE: Duration = Duration::from_millis(120);

/// What the responses must contain, and what they must not.
#[derive(Default)]
pub(crate) struct Expected {
    /// Words that were completely written, each in one session.
    pub(crate) words: Vec<String>,
    /// The IDs of sessions that were completely written.
    pub(crate) sessions: BTreeSet<String>,
    /// Words of sessions whose `forget` succeeded.
    pub(crate) forgotten: Vec<String>,
}

struct Timing {
    started: Instant,
    took: Duration,
    line: String,
}

pub(crate) struct Workload {
    pub(crate) instance: Instance,
    history: Mutex<History>,
    expected: Mutex<Expected>,
    quiet_history: History,
    quiet: Instance,
    problems: Mutex<Vec<String>>,
    searches: Mutex<Vec<Timing>>,
    quiet_searches: Mutex<Vec<Timing>>,
    kills: AtomicUsize,
    done: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap()
}

impl Workload {
    /// `kills` limits how much is written. The quiet home is as large from the start, so that a search takes as long.
    pub(crate) fn new(scale: usize, kills: usize) -> Workload {
        let (history, mut quiet_history) =
            (History::new(scale), History::new(scale + kills / KILLS_PER_SESSION));
        for n in 0..kills * LINES_PER_KILL {
            quiet_history.grow_session(n % scale);
        }
        let (instance, quiet) =
            (Instance::new(history.home.path()), Instance::new(quiet_history.home.path()));
        instance.index();
        quiet.index();
        std::fs::create_dir_all(history.home.path().join("run")).unwrap();
        let mut expected = Expected { words: history.needles.clone(), ..Expected::default() };
        expected.sessions.extend(main_sessions(&history));
        Workload {
            instance,
            history: Mutex::new(history),
            expected: Mutex::new(expected),
            quiet_history,
            quiet,
            problems: Mutex::default(),
            searches: Mutex::default(),
            quiet_searches: Mutex::default(),
            kills: AtomicUsize::new(0),
            done: AtomicBool::new(false),
        }
    }

    pub(crate) fn history(&self) -> MutexGuard<'_, History> {
        lock(&self.history)
    }

    pub(crate) fn expected(&self) -> MutexGuard<'_, Expected> {
        lock(&self.expected)
    }

    pub(crate) fn report(&self, problem: String) {
        lock(&self.problems).push(problem);
    }

    pub(crate) fn has_problems(&self) -> bool {
        !lock(&self.problems).is_empty()
    }

    /// Lets the writers go on to the next kill.
    pub(crate) fn count_kill(&self) {
        self.kills.fetch_add(1, Relaxed);
    }

    /// Waits until `many` kills have happened. False: the test is over.
    fn wait_for_kills(&self, many: usize) -> bool {
        while self.kills.load(Relaxed) < many && !self.done.load(Relaxed) {
            std::thread::sleep(PAUSE / 8);
        }
        !self.done.load(Relaxed)
    }

    pub(crate) fn stop(&self) {
        self.done.store(true, Relaxed);
    }

    /// A command of the instance, answered by the daemon if one runs.
    pub(crate) fn command(&self, line: &str, with_daemon: bool) -> Command {
        let words = split_words(line);
        let mut command = self.instance.command(&words.iter().map(String::as_str).collect::<Vec<_>>());
        command.env("XDG_RUNTIME_DIR", self.instance.home.join("run"));
        command.env("LOCI_DAEMON", if with_daemon { "use" } else { "off" });
        command
    }

    /// Runs readers and writers until [`Workload::stop`]; `interfere` runs on this thread and then stops them.
    pub(crate) fn run(&self, interfere: impl FnOnce()) {
        std::thread::scope(|scope| {
            scope.spawn(|| self.append_lines());
            scope.spawn(|| self.create_sessions());
            scope.spawn(|| self.search_quiet_home());
            for n in 0..6 {
                scope.spawn(move || self.read(n));
            }
            let stop = StopOnDrop(self);
            interfere();
            drop(stop);
        });
    }

    fn append_lines(&self) {
        let (mut rng, mut written) = (Rng(7001), 0);
        while self.wait_for_kills(written / LINES_PER_KILL) {
            written += 1;
            let mut history = self.history();
            let which = rng.below(history.growing.len());
            let word = history.grow_session(which);
            drop(history);
            self.expected().words.push(word);
            std::thread::sleep(PAUSE / 2);
        }
    }

    fn create_sessions(&self) {
        let (mut rng, mut created) = (Rng(7002), 0);
        while self.wait_for_kills(created * KILLS_PER_SESSION) {
            created += 1;
            let mut history = self.history();
            let known = history.needles.len();
            if rng.below(4) == 0 {
                history.add_fork(rng.below(20))
            } else {
                history.add_session()
            }
            let (words, ids) = (history.needles[known..].to_vec(), main_sessions(&history));
            drop(history);
            let mut expected = self.expected();
            expected.words.extend(words);
            expected.sessions.extend(ids);
            drop(expected);
        }
    }

    /// Measures what a search takes on this machine at this moment without other users of its stores.
    fn search_quiet_home(&self) {
        let word = &self.quiet_history.needles[3];
        while !self.done.load(Relaxed) {
            let started = Instant::now();
            let hits = self.quiet.search(word);
            assert_eq!(hits.len(), 1);
            let timing = Timing { started, took: started.elapsed(), line: word.clone() };
            lock(&self.quiet_searches).push(timing);
            std::thread::sleep(PAUSE / 4);
        }
    }

    fn read(&self, n: usize) {
        let mut rng = Rng(9000 + n as u64);
        while !self.done.load(Relaxed) {
            match n {
                0 | 1 => self.search_word(&mut rng, true),
                2 => self.search_word(&mut rng, false),
                3 => self.list_sessions(rng.below(2) == 0),
                4 => self.show_session(&mut rng),
                _ => self.query_messages(&mut rng),
            }
            std::thread::sleep(PAUSE / 4);
        }
    }

    fn run_reader(&self, line: &str, with_daemon: bool, codes: &[i32]) -> Option<Finished> {
        let started = Instant::now();
        let finished = testutil::run_command(self.command(line, with_daemon));
        let timing = Timing { started, took: finished.took, line: line.to_string() };
        lock(&self.searches).push(timing);
        let is_expected = finished.code.is_some_and(|code| codes.contains(&code));
        if is_expected && !finished.stderr.contains("panicked") {
            return Some(finished);
        }
        let stdout = String::from_utf8_lossy(&finished.stdout);
        self.report(format!("`{line}` exits with {:?}: {stdout:.400} {}", finished.code, finished.stderr));
        None
    }

    fn search_word(&self, rng: &mut Rng, with_daemon: bool) {
        let expected = self.expected();
        let is_forgotten = !expected.forgotten.is_empty() && rng.below(4) == 0;
        let words = if is_forgotten { &expected.forgotten } else { &expected.words };
        // Half of the searches are for one of the last words.
        let range = if rng.below(2) == 0 { words.len() } else { words.len().min(4) };
        let word = words[words.len() - 1 - rng.below(range)].clone();
        drop(expected);
        // Quoted, so that other spellings are not tried.
        let line = format!("search '\"{word}\"' -o json");
        if let Some(finished) = self.run_reader(&line, with_daemon, &[0, 2]) {
            let response = finished.records().remove(0);
            let hits = search_hits(&response);
            // A fork has the title of its original, and is found by it.
            let is_quoted = hits.iter().any(|(_, snippets)| snippets.iter().any(|text| text.contains(&word)));
            if is_quoted == is_forgotten || hits.is_empty() != is_forgotten {
                self.report(format!(
                    "`{line}` (forgotten: {is_forgotten}, daemon: {with_daemon}) finds {hits:?}, notes {}",
                    response["notes"]
                ));
            }
        }
    }

    fn list_sessions(&self, with_daemon: bool) {
        let expected = self.expected().sessions.clone();
        let Some(finished) = self.run_reader("sessions -o json --limit 1000", with_daemon, &[0]) else {
            return;
        };
        let response = finished.records().remove(0);
        let listed = response["sessions"].as_array().unwrap();
        let listed: BTreeSet<String> =
            listed.iter().map(|one| one["chatId"].as_str().unwrap().to_string()).collect();
        let missing: Vec<&String> = expected.difference(&listed).collect();
        if !missing.is_empty() {
            self.report(format!(
                "`sessions` (daemon: {with_daemon}) lists {} and misses {missing:?}",
                listed.len()
            ));
        }
    }

    fn show_session(&self, rng: &mut Rng) {
        let expected = self.expected();
        let id = expected.sessions.iter().nth(rng.below(expected.sessions.len())).unwrap().clone();
        drop(expected);
        // The exit code is 3 for a session with a bad line.
        let finished = self.run_reader(&format!("show {id} -o json"), rng.below(2) == 0, &[0, 3]);
        if let Some(finished) = finished.filter(|finished| !finished.text().contains(&id)) {
            self.report(format!("`show {id}` prints {:.300}", finished.text()));
        }
    }

    fn query_messages(&self, rng: &mut Rng) {
        // A query that starts before a session is forgotten may still list it.
        let known = self.expected();
        let (count, forgotten) = (known.words.len(), known.forgotten.clone());
        drop(known);
        let line = "query messages --all-projects --fields text";
        if let Some(finished) = self.run_reader(line, rng.below(2) == 0, &[0, 3]) {
            let text = finished.text();
            let expected = self.expected();
            let lost = expected.words[..count].iter().rev().take(5).find(|word| !text.contains(*word));
            let back = forgotten.iter().find(|word| text.contains(*word));
            let lost = lost.filter(|word| self.is_prompt(word));
            if lost.is_some() || back.is_some() {
                let lines = finished.lines().len();
                self.report(format!("`{line}` of {lines} lines: lost {lost:?}, or came back {back:?}"));
            }
        }
    }

    /// Every second word of a session is in the output of a call and not in a message.
    fn is_prompt(&self, word: &str) -> bool {
        let history = self.history();
        history.growing.iter().any(|one| {
            one.session
                .lines
                .iter()
                .any(|line| line.contains("\"role\":\"user\",\"content\":\"") && line.contains(word))
        })
    }

    /// What was wrong with a response.
    pub(crate) fn list_problems(&self) -> Vec<String> {
        lock(&self.problems).clone()
    }

    /// Searches that waited too long.
    pub(crate) fn list_delays(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let (searches, quiet) = (lock(&self.searches), lock(&self.quiet_searches));
        let is_search = |search: &&Timing| search.line.starts_with("search ");
        for search in searches.iter().filter(is_search).filter(|search| search.took > LONGEST_WAIT) {
            let allowed = LONGEST_WAIT + slowest_during(&quiet, search) * LOAD_FACTOR;
            if search.took > allowed {
                problems.push(format!("`{}` takes {:?}, allowed {allowed:?}", search.line, search.took));
            }
        }
        problems
    }

    /// The number of reads, and the longest of them next to the longest in the quiet home.
    pub(crate) fn summarize(&self) -> String {
        let (searches, quiet) = (lock(&self.searches), lock(&self.quiet_searches));
        let expected = self.expected();
        let longest = |all: &[Timing]| all.iter().map(|timing| timing.took).max().unwrap_or_default();
        format!(
            "{} reads, longest {:?}, in a quiet home {:?}; {} lines, {} forgotten",
            searches.len(),
            longest(&searches),
            longest(&quiet),
            expected.words.len(),
            expected.forgotten.len()
        )
    }
}

/// Stops the threads even if the test panics: otherwise it would wait for them forever.
struct StopOnDrop<'a>(&'a Workload);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

fn main_sessions(history: &History) -> Vec<String> {
    let main = history.growing.iter().filter(|one| one.session.agent.is_none());
    main.map(|one| one.session.id.clone()).collect()
}

/// The longest search in the quiet home that ran at the same time.
fn slowest_during(quiet: &[Timing], search: &Timing) -> Duration {
    let end = search.started + search.took;
    let overlapping =
        quiet.iter().filter(|other| other.started < end && other.started + other.took > search.started);
    overlapping.map(|other| other.took).max().unwrap_or_default()
}

/// A daemon that ends with the test.
pub(crate) struct Daemon(Child);

impl Daemon {
    pub(crate) fn start(workload: &Workload) -> Daemon {
        let mut command = workload.command("daemon run", true);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Daemon(command.spawn().unwrap())
    }

    pub(crate) fn has_exited(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }

    pub(crate) fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.kill();
    }
}
