//! Two writers and six readers run concurrently while the history grows. No run fails because of a lock, every response
//! is from before or after an update, and the final state equals that of a single writer.

use crate::history::History;
use crate::instance::{Instance, VIEWS, assert_same, collect_responses};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

#[test]
fn two_writers_and_six_readers_run_concurrently() {
    let mut history = History::new(20);
    let instance = Instance::new(history.home.path());
    instance.index();
    let known = history.needles[1].clone();
    let done = AtomicBool::new(false);
    let (instance, done, known) = (&instance, &done, &known);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|n| {
                scope.spawn(move || {
                    let mut runs = 0;
                    while !done.load(Relaxed) {
                        let line =
                            if (runs + n) % 5 == 4 { "index --rebuild -o json" } else { "index -o json" };
                        instance.run(line).expect(0);
                        runs += 1;
                    }
                    runs
                })
            })
            .collect();
        let readers: Vec<_> = (0..6)
            .map(|n| {
                scope.spawn(move || {
                    let (mut runs, mut previous) = (0, 0);
                    while !done.load(Relaxed) {
                        match n {
                            0..3 => assert_eq!(instance.search_ids(known).len(), 1),
                            3 => {
                                let listed =
                                    instance.run("sessions -o json --limit 1000").expect(0).records();
                                assert!(listed[0]["sessions"].as_array().unwrap().len() >= 20);
                            }
                            4 => {
                                // The exit code is 3 because of a transcript with a bad line, so it is not checked.
                                let count = instance.run("query messages --all-projects").lines().len();
                                assert!(count >= previous, "{count} messages after {previous}");
                                previous = count;
                            }
                            _ => {
                                instance.run("resolve 0000000 -o json").expect(0);
                            }
                        }
                        runs += 1;
                    }
                    runs
                })
            })
            .collect();
        let until = Instant::now() + Duration::from_secs(8);
        let mut n = 0;
        while Instant::now() < until {
            let count = history.growing.len();
            history.grow_session(n % count);
            n += 1;
            std::thread::sleep(Duration::from_millis(100));
        }
        done.store(true, Relaxed);
        for runs in writers.into_iter().chain(readers) {
            assert!(runs.join().unwrap() > 0);
        }
    });
    instance.index();
    let fresh = Instance::new(history.home.path());
    fresh.index();
    let searches: Vec<String> = history.search_terms().into_iter().step_by(7).collect();
    assert_same(
        "after concurrent runs",
        &collect_responses(instance, VIEWS, &searches),
        &collect_responses(&fresh, VIEWS, &searches),
    );
    assert_eq!(instance.archived_copies(), fresh.archived_copies());
}
