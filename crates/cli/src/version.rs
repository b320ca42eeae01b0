//! What this build is: its version, commit and target. Does not know other versions.

pub(crate) const NUMBER: &str = env!("CARGO_PKG_VERSION");
/// Empty in debug builds, and outside a checkout.
pub(crate) const COMMIT: &str = env!("LOCI_COMMIT");
pub(crate) const TARGET: &str = env!("LOCI_TARGET");

/// The text after the program's name in `loci --version`.
pub(crate) fn describe() -> String {
    if COMMIT.is_empty() { format!("{NUMBER} ({TARGET})") } else { format!("{NUMBER} ({COMMIT}, {TARGET})") }
}
