//! Notes about what types are for: which are wanted and in which order, what a model is asked, what of its answer is taken, and how a
//! note lies in a file.
//!
//! Does not ask a model, and does not read or write files.

mod answer;
mod baseline;
mod plan;
mod prompt;
mod text;

pub use answer::{LONGEST, Said, Why, merged, read_said};
pub use baseline::{Affected, Base};
pub use plan::{LARGEST_CIRCLE, NoteJob, plan};
pub use prompt::{Asking, Before, Brief, Known, ask, quoted};
pub use text::{Head, SECTIONS, Section, Sections, Written, group_id, read, section_of, write};
