//! What a command gets from its process: the working directory, this program's path, and the service.
//!
//! Does not know which command runs.

use crate::daemon_client;
use api::Code;
use clap::ArgMatches;
use record::Clock;
use service::Service;
use std::path::PathBuf;
use std::sync::OnceLock;

/// What answers, and whether it was told sensibly how.
pub(crate) fn service(matches: &ArgMatches) -> (Service, Result<(), api::Error>) {
    let places = service::env::places();
    let threads = threads(matches, &places);
    let exe = std::env::current_exe().unwrap_or_default();
    let many = threads.as_ref().map_or(1, |n| *n).clamp(1, 64);
    let mut service = Service::new(places, Clock::System, cwd(), exe, many);
    service.daemon = Some(daemon_client::teller(&service.places));
    service.masked = !matches!(matches.try_get_one::<bool>("unmasked"), Ok(Some(true)));
    (service, threads.map(|_| ()))
}

#[allow(clippy::disallowed_methods)] // the one place
pub(crate) fn cwd() -> PathBuf {
    std::env::current_dir().unwrap_or_default()
}

/// As it was when this process started: the kernel has no path for a program that was replaced.
pub(crate) fn exe() -> PathBuf {
    static EXE: OnceLock<PathBuf> = OnceLock::new();
    EXE.get_or_init(|| std::env::current_exe().unwrap_or_default()).clone()
}

/// How many threads were asked for, on the command line or in the environment.
fn threads(matches: &ArgMatches, places: &service::Places) -> Result<usize, api::Error> {
    let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    if let Some(n) = matches.get_one::<u64>("threads") {
        return Ok(*n as usize);
    }
    let Some(set) = service::env::text(places, "LOCI_THREADS") else { return Ok(cores()) };
    set.parse().ok().filter(|n| *n > 0).ok_or_else(|| {
        let message = format!("LOCI_THREADS is `{set}`, not a number from 1 on");
        api::Error::new(Code::InvalidArgument, message)
    })
}
