//! Everything Loci derives and stores (catalogue, text index, archive) when it is killed, when transcripts change, when
//! the disk is full or read-only, when its files are damaged, and when several processes run at once. Every test runs
//! the real binary over a history that it generates. A response is correct if it equals that of a fresh index, or of no
//! index at all.
//!
//! `LOCI_KILLS=2000` makes the kill loops long; `LOCI_SEED` repeats one that failed.

// clippy.toml allows unwrapping and printing in tests, but not in functions they call; the pedantic lints are for shipped code.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::pedantic,
    clippy::type_complexity,
    clippy::redundant_closure
)]

mod busy_writer;
mod changes;
mod clock;
mod concurrency;
mod damage;
mod disk;
mod equivalence;
mod flip_any_byte;
mod forgetting;
mod freshness;
mod full_disk;
mod history;
mod instance;
mod io_errors;
mod kills;
mod long_reader;
mod lost_copies;
mod migration;
mod mixed_kills;
mod modes;
mod newer;
mod power_loss;
mod price_of_change;
mod secrets;
mod shapes;
mod unreadable;
mod upgrades;
mod workload;
