//! Passes the target and, for optimised builds, the commit to the program. A debug build names no commit: it would have to be
//! linked again after each.

#![allow(clippy::disallowed_methods)] // variables that cargo sets for build scripts

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=LOCI_COMMIT");
    let target = std::env::var("TARGET").unwrap_or_default();
    println!("cargo::rustc-env=LOCI_TARGET={target}");
    if std::env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|env| env == "musl") {
        // 48,000 relocations take 1.1 MB as a list of entries and 30 kB as bits. glibc understands this only since 2.36.
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    let is_optimised = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = std::env::var("LOCI_COMMIT").ok().or_else(|| is_optimised.then(current_commit).flatten());
    println!("cargo::rustc-env=LOCI_COMMIT={}", commit.unwrap_or_default());
}

/// The commit of the checkout; `None` outside one.
fn current_commit() -> Option<String> {
    let head = run_git(&["rev-parse", "--git-path", "HEAD"])?;
    println!("cargo::rerun-if-changed={head}");
    if let Some(branch) =
        run_git(&["symbolic-ref", "-q", "HEAD"]).and_then(|name| run_git(&["rev-parse", "--git-path", &name]))
    {
        println!("cargo::rerun-if-changed={branch}");
    }
    run_git(&["rev-parse", "--short=12", "HEAD"])
}

fn run_git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_string()).filter(|text| !text.is_empty())
}
