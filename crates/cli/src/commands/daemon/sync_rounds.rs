//! Rounds of synchronisation while the daemon runs, on a thread of their own: a storage that does not answer delays nothing else.
//!
//! Does not know what a round does. The thread ends with the process: a round can be interrupted at any point.

use crate::environment::current_exe;
use record::Clock;
use service::{Environment, Service};
use std::time::Duration;

const EVERY: Duration = Duration::from_mins(1);
/// After failures, rounds become rarer, up to this.
const LONGEST: Duration = Duration::from_mins(15);

/// Starts the thread. Without a space, a round is one look for a file; before the first `loci sync now`, too.
pub(super) fn start(places: &Environment) {
    let places = places.clone();
    let every = seconds_between(&places).unwrap_or(EVERY);
    let run = move || {
        let mut pause = every;
        loop {
            std::thread::sleep(pause);
            let service = Service::new(places.clone(), Clock::System, places.home.clone(), current_exe(), 1);
            pause = next_pause(every, pause, service.sync_if_started().ok());
        }
    };
    // Without the thread, `loci sync now` still works.
    let _ = std::thread::Builder::new().name("sync".to_string()).spawn(run);
}

/// The time until the next round, after one that took this long to come. In a space so large that a round without news takes several
/// requests, rounds are rarer, so that an idle device makes one request a minute. None: the round failed.
fn next_pause(every: Duration, before: Duration, lists: Option<u64>) -> Duration {
    let pause = match lists {
        Some(lists) => every * u32::try_from(lists.max(1)).unwrap_or(u32::MAX),
        None => before * 2,
    };
    pause.min(LONGEST.max(every))
}

fn seconds_between(places: &Environment) -> Option<Duration> {
    let text = service::env::text_var(places, "LOCI_SYNC_SECONDS")?;
    text.parse().ok().filter(|seconds| *seconds > 0).map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_become_rarer_after_failures_and_in_large_spaces() {
        let minutes = Duration::from_mins;
        let cases = [
            (minutes(1), Some(1), minutes(1)),
            (minutes(8), Some(0), minutes(1)),
            (minutes(1), Some(4), minutes(4)),
            (minutes(1), Some(9_000), LONGEST),
            (minutes(2), None, minutes(4)),
            (minutes(15), None, LONGEST),
        ];
        for (before, lists, expected) in cases {
            assert_eq!(next_pause(EVERY, before, lists), expected, "{before:?} {lists:?}");
        }
        // A person who wants fewer rounds gets them.
        assert_eq!(next_pause(minutes(30), minutes(30), Some(1)), minutes(30));
    }
}
