//! The words Loci speaks: what a session, a message and a tool call are, how a moment in time and an error
//! are named, and how one record becomes one line of output.
//!
//! Knows nothing of files, agents' formats, sockets or terminals.

pub mod call;
pub mod cell;
pub mod clock;
pub mod coverage;
pub mod message;
pub mod row;
pub mod session;
pub mod signature;
pub mod stamp;

pub use call::{Call, Status};
pub use cell::{Cell, Line};
pub use clock::Clock;
pub use coverage::{Coverage, Problem, ProblemKind};
pub use message::{Kind, Message, Role, Tokens};
pub use row::{Row, RowKind};
pub use session::{Session, TitleOrigin};
pub use signature::signature;
pub use stamp::Stamp;

use std::hash::Hasher;

/// A 64-bit name for some bytes: two rows with the same key are copies of one event. Lives for one run only
/// (nothing stored may depend on it); at ten million keys a false match has odds of about one in 400,000.
pub fn key(domain: u8, parts: &[&[u8]]) -> u64 {
    let mut hasher = rustc_hash::FxHasher::default();
    hasher.write_u8(domain);
    for part in parts {
        hasher.write(part);
    }
    hasher.finish()
}
