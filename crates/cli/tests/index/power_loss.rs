//! Power cuts: at any moment, what was not synced may be missing, in any combination. An acknowledged edit of memory is
//! kept, a forgotten session stays forgotten, and derived data is usable or built again.
//!
//! Does not cut the power: it records what a command writes and replays a part of it.
//!
//! `LOCI_CUTS=100000` cuts after every operation; by default after a few, spread over the run.

use crate::disk::{Disk, Unsynced};
use crate::history::{History, Rng};
use crate::instance::{Instance, assert_same, run_search};
use crate::mixed_kills::assert_databases_are_sound;
use std::path::Path;
use testutil::needs::number_variable;
use testutil::split_words;
use testutil::tracer::{Operation, Tracer};

const LOSSES: [Unsynced; 4] = [Unsynced::Nothing, Unsynced::Some, Unsynced::Data, Unsynced::Names];

fn record(tracer: &Tracer, instance: &Instance, line: &str) -> Vec<Operation> {
    let words = split_words(line);
    let command = instance.command(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let (finished, operations) = tracer.record(&command, root(instance));
    finished.expect(0);
    operations
}

fn root(instance: &Instance) -> &Path {
    instance.data.parent().unwrap()
}

/// Moments to cut at: after the last operation, and some before.
fn moments(count: usize, default: usize) -> Vec<usize> {
    let tried = number_variable("LOCI_CUTS", default).min(count);
    let mut all: Vec<usize> = (0..tried).map(|n| n * count / tried).collect();
    all.push(count);
    all
}

/// Leaves in the instance's folders what a cut at each moment leaves, and calls `check` with the moment.
fn cut_power(before: &Disk, operations: &[Operation], default: usize, check: impl Fn(usize, &str)) {
    let mut rng = Rng(20_261_117);
    for (n, moment) in moments(operations.len(), default).into_iter().enumerate() {
        let mut disk = before.clone();
        operations[..moment].iter().for_each(|operation| disk.replay(operation));
        let is_long = number_variable("LOCI_CUTS", 0) > 0 || moment == operations.len();
        let losses = if is_long { &LOSSES[..] } else { &LOSSES[n % LOSSES.len()..=n % LOSSES.len()] };
        for loss in losses {
            disk.write_remains(*loss, &mut rng);
            check(moment, &format!("after {moment} of {} operations, kept {loss:?}", operations.len()));
        }
    }
}

#[test]
fn an_acknowledged_edit_of_memory_survives_a_power_cut() {
    let history = History::new(3);
    let id = history.growing[0].session.id.clone();
    let instance = Instance::new(history.home.path());
    for line in [
        "index".to_string(),
        "memory consolidate --no-model".to_string(),
        format!("memory edit {id} --name zero"),
    ] {
        instance.run(&line).expect(0);
    }
    let (tracer, before) = (Tracer::new(), Disk::load(root(&instance)));
    let mut operations = record(&tracer, &instance, &format!("memory edit {id} --name one"));
    let first = operations.len();
    operations.extend(record(&tracer, &instance, &format!("memory edit {id} --name two")));
    assert!(operations.iter().any(|one| matches!(one, Operation::Sync { .. })), "nothing was synced");
    cut_power(&before, &operations, 16, |moment, label| {
        let shown = instance.run(&format!("memory show {id} -o json")).expect(0).records().remove(0);
        let name = shown["memory"]["text"].as_str().unwrap();
        let allowed: &[&str] = match moment {
            _ if moment == operations.len() => &["two"],
            _ if moment >= first => &["one", "two"],
            _ => &["zero", "one"],
        };
        assert!(allowed.contains(&name), "{label}: {name}");
        assert_databases_are_sound(&[&instance.data, &instance.cache]);
    });
}

#[test]
fn a_power_cut_during_an_update_costs_no_line() {
    let mut history = History::new(4);
    let instance = Instance::new(history.home.path());
    instance.index();
    let (tracer, before) = (Tracer::new(), Disk::load(root(&instance)));
    let words = [history.grow_session(1), history.grow_session(2), history.needles[1].clone()];
    let operations = record(&tracer, &instance, "index");
    let fresh = Instance::new(history.home.path());
    fresh.index();
    let search =
        |instance: &Instance| words.iter().map(|word| run_search(instance, word)).collect::<Vec<_>>();
    let expected = search(&fresh);
    cut_power(&before, &operations, 10, |_, label| {
        for word in &words {
            assert_eq!(instance.search_ids(word), fresh.search_ids(word), "{label}: {word}");
        }
        instance.index();
        assert_same(&format!("{label}, then index"), &search(&instance), &expected);
    });
}

#[test]
fn a_forgotten_session_stays_forgotten_after_a_power_cut() {
    let history = History::new(3);
    let (id, word) = (history.growing[2].session.id.clone(), history.needles[3].clone());
    let instance = Instance::new(history.home.path());
    instance.index();
    assert_eq!(instance.search_ids(&word), std::slice::from_ref(&id));
    let (tracer, before) = (Tracer::new(), Disk::load(root(&instance)));
    let operations = record(&tracer, &instance, &format!("forget {id} --yes"));
    cut_power(&before, &operations, 8, |moment, label| {
        let ids = instance.search_ids(&word);
        assert!(ids.is_empty() || moment < operations.len(), "{label}: {ids:?}");
        let done = instance.run("index");
        assert_eq!(done.code, Some(0), "{label}: {} {}", done.text(), done.stderr);
        let again = instance.run(&format!("forget {id} --yes"));
        assert!(matches!(again.code, Some(0 | 2)), "{label}: {}", again.stderr);
        assert!(instance.search_ids(&word).is_empty(), "{label}");
    });
}
