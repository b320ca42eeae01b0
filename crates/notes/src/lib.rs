//! Notes that describe types, and answers to questions about code: which notes are needed and in which order, what a model is asked,
//! validation of its response, and the file format.
//!
//! Does not call a model, and does not read or write files.

pub mod finding;
mod format;
mod plan;
mod prompt;
mod response;
mod text;

pub use format::{
    NoteContent, NoteHeader, SECTIONS, Section, Sections, format_note, group_id, parse_heading, parse_note,
};
pub use plan::{MAX_CYCLE_TYPES, NoteJob, plan_notes};
pub use prompt::{DescribedType, PreviousNote, Prompt, PromptInput, build_prompt, quote_lines};
pub use response::{MAX_SECTION_CHARS, NoteResponse, NoteResponseError, merge_sections, parse_response};
pub use text::{NoteText, judge_state};
