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
            pause = match service.sync_if_started() {
                Ok(()) => every,
                Err(_) => (pause * 2).min(LONGEST.max(every)),
            };
        }
    };
    // Without the thread, `loci sync now` still works.
    let _ = std::thread::Builder::new().name("sync".to_string()).spawn(run);
}

fn seconds_between(places: &Environment) -> Option<Duration> {
    let text = service::env::text_var(places, "LOCI_SYNC_SECONDS")?;
    text.parse().ok().filter(|seconds| *seconds > 0).map(Duration::from_secs)
}
