//! What one may ask Loci and what one gets back: the questions and operations, their parameters and answers, the
//! errors and exit codes, each in one table. Help, reference pages, schemas and tests are made from these tables.
//!
//! Does not know how anything is answered.

pub mod ask;
pub mod caller;
pub mod chats;
pub mod code;
pub mod control;
pub mod desk;
pub mod envelope;
pub mod error;
pub mod guidance;
pub mod mailbox;
pub mod memory;
pub mod ops;
pub mod params;
pub mod plain;
pub mod recommend;
pub mod refs;
pub mod render;
pub mod resolve;
pub mod resume;
pub mod schema;
pub mod search;
pub mod sessions;
pub mod setup;
pub mod spending;
pub mod status;
pub mod tools;
pub mod upkeep;
pub mod views;

pub use ask::Ask;
pub use caller::{Answer, Caller, call, read_answer};
pub use control::Control;
pub use desk::{Asker, Desk, Watch};
pub use envelope::Envelope;
pub use error::{Code, Error, Exit};
pub use ops::{OPERATIONS, Operation, Request, operation};
pub use params::{PARAMS, Param, Shape};
pub use render::{Look, Render};
pub use resume::resume;
pub use tools::{Set, TOOLS, Tool, tool_named};
pub use views::{VIEWS, View};
