//! Operations on the command line: response formats, ID prefixes, errors and exit codes. Every test runs the real
//! binary on histories that it generates.

// clippy.toml allows unwrapping and printing in tests, but not in functions they call. The pedantic lints are for
// shipped code.
#![allow(clippy::unwrap_used, clippy::pedantic)]

mod code;
mod code_map;
mod code_scip;
mod code_store;
mod commands;
mod digest;
mod doctor;
mod documents;
mod durable_stores;
mod edit_safety;
mod edits;
mod export;
mod fact_check;
mod findings;
mod generated_facts;
mod hostile_trees;
mod import;
mod interface;
mod language_service;
mod loci_folder;
mod manglings;
mod memory;
mod memory_add;
mod mistakes;
mod names;
mod projects;
mod recommend;
mod report;
mod search;
mod show;
mod sync;
mod sync_edits;
mod sync_growth;
mod sync_repair;
mod team;
mod update;
mod walk;
mod why;
