//! The contract of every interface: operations and views, their parameters, requests and responses, errors and exit codes,
//! each in one table. Help, reference pages, schemas and tests are generated from these tables.
//!
//! Does not know how an operation is implemented, nor how a response is shown to a person.

#![allow(clippy::doc_markdown)] // the doc comment of a parameter is its help, as plain text

pub mod about;
pub mod alerts;
pub mod code;
pub mod code_error;
pub mod control;
pub mod costs;
pub mod digest;
pub mod edits;
pub mod envelope;
pub mod error;
pub mod fields;
pub mod gather_chats;
pub mod guidance;
pub mod import;
pub mod mailbox;
pub mod maintenance;
pub mod memory;
pub mod operation;
pub mod operations;
pub mod params;
pub mod progress;
pub mod project;
pub mod recommend;
pub mod report;
pub mod resolve_ids;
pub mod resume;
pub mod saved_results;
mod schema;
pub mod search;
pub mod sessions;
pub mod setup;
pub mod status;
pub mod sync;
pub mod terminal_text;
pub mod tool_handler;
pub mod tool_schema;
pub mod tools;
pub mod toolsets;
pub mod view_request;
pub mod views;
pub mod why;

pub use control::Control;
pub use envelope::Envelope;
pub use error::{Code, Error, Exit};
pub use fields::Shape;
pub use operation::{Handle, Operation, Request, Response};
pub use operations::{AnyResponse, OPERATIONS, Operations, call, operation_named, read_response};
pub use params::Param;
pub use progress::Progress;
pub use resume::resume_command;
pub use tool_handler::{CallContext, ToolHandler};
pub use tools::{REPLACED, TOOLS, Tool, replacement_of, tool_named};
pub use toolsets::Set;
pub use view_request::ViewRequest;
pub use views::{VIEWS, View, view_named};
