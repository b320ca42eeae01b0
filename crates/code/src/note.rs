//! Notes that describe types: which are needed and in which order, the prompt for a model, validation of its response, and the
//! file format.
//!
//! Does not call a model, and does not read or write files.

mod baseline;
mod format;
mod plan;
mod prompt;
mod response;

pub use baseline::{Baseline, ChangedMember};
pub use format::{
    NoteContent, NoteHeader, SECTIONS, Section, Sections, format_note, group_id, parse_heading, parse_note,
};
pub use plan::{MAX_CYCLE_TYPES, NoteJob, plan_notes};
pub use prompt::{DescribedType, PreviousNote, Prompt, PromptInput, build_prompt, quote_lines};
pub use response::{MAX_SECTION_CHARS, NoteResponse, NoteResponseError, merge_sections, parse_response};
