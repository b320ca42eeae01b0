//! `cargo xtask quality usages FOLDER...`: the share of functions called somewhere that have usages, per source tree.
//!
//! Does not parse source: it runs the example `usages` of the crate `code` in release mode.

use crate::Outcome;
use crate::args::Args;
use std::process::Command;

pub(super) fn run(args: &[String]) -> Outcome {
    let args = Args::parse(args, &[], &[])?;
    if args.positional.is_empty() {
        return Err("name the source trees to sample".to_owned());
    }
    let cargo = Command::new("cargo")
        .args(["run", "--quiet", "--release", "-p", "loci-code-index", "--example", "usages", "--", "sample"])
        .args(&args.positional)
        .status();
    Ok(cargo.map_err(|error| format!("cargo: {error}"))?.success())
}
