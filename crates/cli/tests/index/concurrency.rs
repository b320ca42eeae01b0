//! Several of it at once: two that write and six that read, while the history grows. Nobody is told that anything is
//! locked, every answer is one of before or after, and what is left in the end is what one alone would have made.

use crate::history::History;
use crate::instance::{Instance, VIEWS, answers, assert_same};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

#[test]
fn two_writers_and_six_readers_do_not_disturb_each_other() {
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
                    let (mut runs, mut least) = (0, 0);
                    while !done.load(Relaxed) {
                        match n {
                            0..3 => assert_eq!(instance.finds(known).len(), 1),
                            3 => {
                                let listed =
                                    instance.run("sessions -o json --limit 1000").expect(0).records();
                                assert!(listed[0]["sessions"].as_array().unwrap().len() >= 20);
                            }
                            4 => {
                                let many = instance.run("query messages --all-projects").lines().len();
                                // A transcript with a bad line makes the exit code 3; a history only grows.
                                assert!(many >= least, "{many} after {least}");
                                least = many;
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
            let many = history.growing.len();
            history.grow(n % many);
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
    let searches: Vec<String> = history.searches().into_iter().step_by(7).collect();
    assert_same("after the crowd", &answers(instance, VIEWS, &searches), &answers(&fresh, VIEWS, &searches));
    assert_eq!(instance.archived(), fresh.archived());
}
