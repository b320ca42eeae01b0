//! Linux, macOS and the other systems of the Unix family. Does not know Windows.

pub mod directory;
pub mod files;
pub mod processes;
pub mod socket;
