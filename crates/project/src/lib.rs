//! Finds the projects of a source tree: reads their manifests, and lists the files that belong to each.
//!
//! Does not know what is in a source file, and runs no build tool.

mod cargo;
mod compile_items;
mod discover;
mod family;
mod framework;
mod go_mod;
mod java;
mod manifest;
mod msbuild;
mod npm;
mod path;
mod python;
mod source;
mod wildcard;

pub use discover::{Layout, LayoutError, Project, Solution, discover, discover_while, is_generated, is_rule};
pub use source::read_source;
pub use wildcard::wild;
