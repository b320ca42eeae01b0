//! Every write, sync, rename and creation of a file fails once, or from then on, or the process is killed before it: the
//! command succeeds or says what failed, nothing that was acknowledged is lost, and the next run completes the work.
//!
//! Does not know which call belongs to which store: the tracer counts them.
//!
//! `LOCI_FAULTS=100000` tries every call; by default a few, spread over the run.

use crate::history::History;
use crate::instance::{Instance, Response, assert_same, list_files, run_view};
use crate::mixed_kills::assert_databases_are_sound;
use testutil::needs::number_variable;
use testutil::tracer::{EIO, ENOSPC, Fault, Tracer};
use testutil::{ALPHA, Session};

const FAULTS: [Fault; 5] =
    [Fault::Once(EIO), Fault::Kill, Fault::Sticky(ENOSPC), Fault::Once(ENOSPC), Fault::Sticky(EIO)];
const DOOMED: &str = "dddd1111-0000-4000-8000-000000000000";
const DOOMED_WORD: &str = "quokkaplan";
const OLD_NAME: &str = "the first name";
const NEW_NAME: &str = "the second name";

/// A command with work to do, and a state from which it starts.
struct Case {
    history: History,
    before: Instance,
    line: String,
    /// Responses after the command, if they do not depend on whether it succeeded.
    expected: Vec<Response>,
}

fn build_case(line: &str, prepare: fn(&Instance)) -> Case {
    let mut history = History::new(4);
    let mut doomed = Session::new(DOOMED, ALPHA, "2026-03-30T09:00:00Z");
    doomed.prompt(&format!("A confidential {DOOMED_WORD}")).reply(&["ok"]);
    history.home.add(&doomed);
    let before = Instance::new(history.home.path());
    for line in ["index", "memory consolidate --no-model"] {
        before.run(line).expect(0);
    }
    let edited = &history.growing[0].session.id;
    before.run(&format!("memory edit {edited} --name '{OLD_NAME}'")).expect(0);
    history.grow_session(2);
    history.add_session();
    prepare(&before);
    let line = line.replace("EDITED", &history.growing[0].session.id);
    let mut case = Case { history, before, line, expected: Vec::new() };
    case.expected = case.responses(&Instance::new(case.history.home.path()));
    case
}

impl Case {
    fn responses(&self, instance: &Instance) -> Vec<Response> {
        let searches = self.history.needles.iter().step_by(5);
        // Sessions have names from memory, which a fresh instance lacks.
        let find = |word: &String| {
            let mut ids = instance.search_ids(word);
            ids.sort();
            (word.clone(), None, ids.join("\n"))
        };
        let mut all: Vec<Response> = searches.map(find).collect();
        let views = ["query tools --all-projects", "stats --all-projects --by session"];
        // A forgotten session is missing from the views only if the command succeeded.
        if !self.line.starts_with("forget") {
            all.extend(views.map(|line| run_view(instance, line)));
        }
        all
    }

    /// Calls to try: all of them, or an even selection.
    fn places(&self, tracer: &Tracer) -> Vec<usize> {
        let instance = self.before.duplicate();
        let (finished, calls) = self.run_with(tracer, &instance, Fault::None, 0);
        finished.expect(0);
        let tried = number_variable("LOCI_FAULTS", 6).min(calls);
        assert!(tried > 0, "`{}` changes no file", self.line);
        (0..tried).map(|n| 1 + n * calls / tried).collect()
    }

    fn run_with(
        &self,
        tracer: &Tracer,
        instance: &Instance,
        fault: Fault,
        at: usize,
    ) -> (testutil::Finished, usize) {
        let words = testutil::split_words(&self.line);
        let command = instance.command(&words.iter().map(String::as_str).collect::<Vec<_>>());
        tracer.run(&command, instance.data.parent().unwrap(), fault, at)
    }

    fn check(&self, tracer: &Tracer, fault: Fault, at: usize) {
        let label = format!("`{}`, {fault:?} at call {at}", self.line);
        let instance = self.before.duplicate();
        let (finished, _) = self.run_with(tracer, &instance, fault, at);
        let is_killed = fault == Fault::Kill && finished.code == Some(137);
        // The text index speaks of a panic in its message for a failed write.
        assert!(!finished.stderr.contains("panicked at"), "{label}: {}", finished.stderr);
        assert!(is_killed || matches!(finished.code, Some(0 | 1)), "{label}: {finished:?}");
        assert!(finished.code != Some(1) || !finished.stderr.is_empty(), "{label}: no message");
        let is_acknowledged = finished.code == Some(0);
        assert_databases_are_sound(&[&instance.data, &instance.cache]);
        self.check_name(&instance, is_acknowledged, &label);
        assert_same(&label, &self.responses(&instance), &self.expected);
        self.check_forgotten(&instance, is_acknowledged, &label);
        instance.index();
        assert_same(&format!("{label}, then index"), &self.responses(&instance), &self.expected);
    }

    fn check_name(&self, instance: &Instance, is_acknowledged: bool, label: &str) {
        let id = &self.history.growing[0].session.id;
        let shown = instance.run(&format!("memory show {id} -o json")).expect(0).records().remove(0);
        let name = shown["memory"]["text"].as_str().unwrap();
        let is_edit = self.line.starts_with("memory edit");
        let allowed: &[&str] = match (is_edit, is_acknowledged) {
            (true, true) => &[NEW_NAME],
            (true, false) => &[OLD_NAME, NEW_NAME],
            _ => &[OLD_NAME],
        };
        assert!(allowed.contains(&name), "{label}: {name}");
    }

    fn check_forgotten(&self, instance: &Instance, is_acknowledged: bool, label: &str) {
        if !self.line.starts_with("forget") {
            return;
        }
        if is_acknowledged {
            assert!(instance.search_ids(DOOMED_WORD).is_empty(), "{label}");
        }
        let again = instance.run(&self.line);
        assert!(matches!(again.code, Some(0 | 2)), "{label}, again: {}", again.stderr);
        let contains = |path: &std::path::PathBuf| {
            std::fs::read(path).unwrap().windows(DOOMED_WORD.len()).any(|part| part == DOOMED_WORD.as_bytes())
        };
        let left: Vec<_> = list_files(instance.data.parent().unwrap()).into_iter().filter(contains).collect();
        assert!(left.is_empty(), "{label}: {left:?}");
    }
}

fn check_all_faults(line: &str, prepare: fn(&Instance)) {
    let (tracer, case) = (Tracer::new(), build_case(line, prepare));
    let is_long = number_variable("LOCI_FAULTS", 0) > 0;
    for (n, at) in case.places(&tracer).into_iter().enumerate() {
        let faults = if is_long { &FAULTS[..] } else { &FAULTS[n % FAULTS.len()..=n % FAULTS.len()] };
        faults.iter().for_each(|fault| case.check(&tracer, *fault, at));
    }
}

#[test]
fn a_failed_call_during_an_update_is_reported_and_recovered_from() {
    check_all_faults("index", |_| {});
}

#[test]
fn a_failed_call_during_a_rebuild_is_reported_and_recovered_from() {
    check_all_faults("index --rebuild", |_| {});
}

#[test]
fn a_failed_call_during_an_edit_of_memory_is_reported_and_recovered_from() {
    check_all_faults(&format!("memory edit EDITED --name '{NEW_NAME}'"), |_| {});
}

#[test]
fn a_failed_call_during_consolidation_is_reported_and_recovered_from() {
    check_all_faults("memory consolidate --no-model", |_| {});
}

#[test]
fn a_failed_call_while_forgetting_is_reported_and_recovered_from() {
    check_all_faults(&format!("forget {DOOMED} --yes"), |_| {});
}

/// R34: the catalogue of an older version is replaced.
#[test]
fn a_failed_call_during_an_upgrade_of_the_catalogue_is_reported_and_recovered_from() {
    check_all_faults("index", |instance| {
        let catalogue = db::Connection::open(instance.catalogue()).unwrap();
        catalogue.execute_batch("pragma user_version = 3; drop table touched").unwrap();
    });
}
