//! The names under which Loci is published: one place, so that a manifest cannot disagree with another.
//!
//! Does not know the version: it comes from the workspace manifest.

/// The account that owns the repository and the packages.
pub(crate) const OWNER: &str = "loci-dev";
pub(crate) const REPOSITORY: &str = "https://github.com/loci-dev/loci";
/// The program, and the name of the deb, the rpm, the formula and the Scoop manifest.
pub(crate) const PROGRAM: &str = "loci";
/// The plain name belongs to another project.
pub(crate) const NPM: &str = "@loci-dev/loci";
/// The plain name belongs to another project; the script it installs is [`PROGRAM`].
pub(crate) const PYPI: &str = "loci-dev";
/// The namespace of a GitHub account in the MCP registry.
pub(crate) const MCP_REGISTRY: &str = "io.github.loci-dev/loci";
pub(crate) const WINGET: &str = "LociDev.Loci";
pub(crate) const AUTHORS: &str = "The Loci contributors";
/// Debian requires an address.
pub(crate) const MAINTAINER: &str = "The Loci contributors <loci-dev@users.noreply.github.com>";
pub(crate) const LICENCE: &str = "MIT OR Apache-2.0";
pub(crate) const TITLE: &str = "Loci";
/// One line for package lists. The MCP registry allows 100 characters, Scoop and Homebrew fewer than 80.
pub(crate) const SUMMARY: &str = "Local-first memory and context engine for coding agents";
pub(crate) const KEYWORDS: &[&str] = &["memory", "history", "search", "context", "mcp", "coding-agents"];

/// Where a release keeps its files.
pub(crate) fn download(version: &str, file: &str) -> String {
    format!("{REPOSITORY}/releases/download/v{version}/{file}")
}
