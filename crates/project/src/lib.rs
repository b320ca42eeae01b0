//! Discovers the projects of a source tree: reads their manifests and assigns source files to them.
//!
//! Does not know the contents of source files, and does not run build tools.

mod cargo;
mod compile_items;
mod composer;
mod discover;
mod ecosystem;
mod filter;
mod framework;
mod go_mod;
mod head;
mod java;
mod manifest;
mod msbuild;
mod npm;
mod path;
mod python;
mod source;
mod swift_package;
mod wildcard;
mod xml;

pub use discover::{
    Layout, LayoutError, Project, Solution, discover, discover_with_progress, is_generated, is_layout_file,
};
pub use filter::{FIELDS, Field, Filter, FilterError};
pub use head::head_commit;
pub use source::read_source;
pub use wildcard::wildcard_matches;
