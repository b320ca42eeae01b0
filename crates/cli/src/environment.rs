//! Process environment of a command: the working directory, the path of this binary, and the [`Service`].
//!
//! Does not know which command runs.

use crate::daemon_client;
use api::Code;
use clap::ArgMatches;
use record::Clock;
use service::Service;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Builds the [`Service`]. The second value is an error if the settings are invalid.
pub(crate) fn build_service(matches: &ArgMatches) -> (Service, Result<(), api::Error>) {
    let places = service::env::read_places();
    let threads = thread_count(matches, &places);
    let exe = std::env::current_exe().unwrap_or_default();
    let count = threads.as_ref().map_or(1, |n| *n).clamp(1, 64);
    let mut service = Service::new(places, Clock::System, current_dir(), exe, count);
    service.daemon = Some(daemon_client::daemon_status_source(&service.places));
    service.masked = !matches!(matches.try_get_one::<bool>("unmasked"), Ok(Some(true)));
    (service, threads.map(|_| ()))
}

/// The pager: the one the user has chosen, or `less`.
pub(crate) fn pager(service: &Service) -> String {
    let var = |name: &str| service::env::text_var(&service.places, name);
    var("LOCI_PAGER").or_else(|| var("PAGER")).unwrap_or_else(|| "less".to_string())
}

#[allow(clippy::disallowed_methods)] // the only place that reads it
pub(crate) fn current_dir() -> PathBuf {
    std::env::current_dir().unwrap_or_default()
}

/// Cached at the first call: the kernel has no path for a binary that has since been replaced.
pub(crate) fn current_exe() -> PathBuf {
    static EXE: OnceLock<PathBuf> = OnceLock::new();
    EXE.get_or_init(|| std::env::current_exe().unwrap_or_default()).clone()
}

/// Number of threads from `--threads`, `LOCI_THREADS` or the number of cores.
fn thread_count(matches: &ArgMatches, places: &service::Environment) -> Result<usize, api::Error> {
    let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    if let Some(n) = matches.get_one::<u64>("threads") {
        return Ok(*n as usize);
    }
    let Some(set) = service::env::text_var(places, "LOCI_THREADS") else { return Ok(cores()) };
    set.parse().ok().filter(|n| *n > 0).ok_or_else(|| {
        let message = format!("LOCI_THREADS is `{set}`, expected a number of at least 1");
        api::Error::new(Code::InvalidArgument, message)
    })
}
