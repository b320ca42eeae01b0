//! Notes that describe types: which are needed and in which order, the prompt for a model, validation of its response, and the
//! file format.
//!
//! Does not call a model, and does not read or write files.

mod answer;
mod baseline;
mod plan;
mod prompt;
mod text;

pub use answer::{MAX_SECTION_CHARS, Said, Why, merged, read_said};
pub use baseline::{Affected, Base};
pub use plan::{LARGEST_CIRCLE, NoteJob, plan};
pub use prompt::{Asking, Before, Brief, Known, ask, quoted};
pub use text::{Head, SECTIONS, Section, Sections, Written, group_id, read, section_of, write};
