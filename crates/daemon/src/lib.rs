//! The background daemon: leader lock, socket, file watcher and lifecycle; and the client that commands reach it with.
//! The daemon is optional and keeps no state that is not on disk.
//!
//! Does not know the operations: it passes a method's name and parameters to its [`Answers`] handler.

pub mod client;
mod door;
mod events;
mod herald;
pub mod holder;
pub mod life;
mod line;
pub mod log;
mod nudge;
mod ownership;
pub mod place;
pub mod rpc;
pub mod seat;
mod serve;
mod socket;
pub mod unit;
mod watch;

pub use client::{Client, Unreached};
pub use events::Kind;
pub use holder::Holder;
pub use life::{Ended, Keeper, Porter, Settings, run};
pub use place::{Homes, Place};
pub use rpc::{Meta, PROTOCOL};
pub use seat::Seat;
pub use serve::{Answers, Call, Figures, Told};

/// Why the daemon cannot serve, or a command cannot reach it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{path}: {error}", path = .path.display())]
    Path { path: std::path::PathBuf, error: std::io::Error },
    #[error("refusing to use {path} as the socket: it is {what}", path = .path.display())]
    Foreign { path: std::path::PathBuf, what: &'static str },
    #[error("could not start a thread: {0}")]
    Thread(std::io::Error),
}

impl Error {
    fn path(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Error {
        move |error| Error::Path { path: path.to_path_buf(), error }
    }
}
