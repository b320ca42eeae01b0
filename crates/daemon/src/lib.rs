//! One process that stays: who serves this user, at which socket, what it watches and when it goes; and the other end,
//! how a command reaches it. It is optional and holds nothing that is not on disk.
//!
//! Does not know the operations: a method's name and parameters are handed to whoever answers, as every door does.

pub mod client;
mod door;
mod events;
mod herald;
pub mod life;
mod line;
pub mod log;
mod nudge;
pub mod place;
pub mod rpc;
pub mod seat;
mod serve;
mod socket;
pub mod unit;
mod watch;

pub use client::{Client, Unreached};
pub use life::{Ended, Keeper, Porter, Settings, run};
pub use place::{Homes, Place};
pub use rpc::{Meta, PROTOCOL};
pub use seat::{Holder, Seat};
pub use serve::{Answers, Call, Figures, Told};
pub use watch::Kind;

/// What keeps a daemon from serving, or a command from reaching it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{path}: {error}", path = .path.display())]
    Path { path: std::path::PathBuf, error: std::io::Error },
    #[error("{path} is {what}: it will not be used as a socket", path = .path.display())]
    Foreign { path: std::path::PathBuf, what: &'static str },
    #[error("no thread could be started: {0}")]
    Thread(std::io::Error),
}

impl Error {
    fn path(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Error {
        move |error| Error::Path { path: path.to_path_buf(), error }
    }
}
