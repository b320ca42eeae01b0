//! What Loci promises of everything it derives and keeps (catalogue, text index, archive) when it is killed, when
//! transcripts change under it, when the disk is full or read-only, when its files are damaged, and when several of it
//! run at once. Every test runs the real binary over a history that it generates itself; an answer counts as right
//! when it is the one that a fresh index, or no index at all, gives.
//!
//! `LOCI_KILLS=2000` makes the kill loop long; `LOCI_SEED` repeats one that failed.

// clippy.toml allows unwrapping and printing in tests, but knows no helpers; the pedantic lints are for shipped code.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::pedantic,
    clippy::type_complexity,
    clippy::redundant_closure
)]

#[allow(dead_code)] // shared with the other binary, which uses more of it
#[path = "../faults/builder.rs"]
mod builder;
#[allow(dead_code)]
#[path = "../truth/home.rs"]
mod corpus;
#[allow(dead_code)]
#[path = "../faults/run.rs"]
mod run;

mod desk;
mod history;

mod broken;
mod changes;
mod crowd;
mod fresh;
mod full;
mod kills;
mod same_bytes;
mod secrets;
mod shapes;
