//! The background daemon: leader lock, socket, file watcher and lifecycle; and the client that commands reach it with.
//! The daemon is optional and keeps no state that is not on disk.
//!
//! Does not know the operations: it passes a method's name and parameters to its [`CallHandler`] handler.

mod attention;
pub mod client;
mod connection;
mod events;
pub mod holder;
pub mod leader_lock;
pub mod lifecycle;
mod listener;
pub mod log;
mod ownership;
pub mod paths;
mod probe;
pub mod rpc;
mod sd_notify;
mod server;
mod socket;
pub mod unit;
mod waker;
mod watcher;

pub use attention::{watch_folders, watch_signals};
pub use client::{Client, ConnectError};
pub use events::FolderKind;
pub use holder::Holder;
pub use leader_lock::LeaderLock;
pub use lifecycle::{BackgroundJobs, Dispatcher, ExitReason, Settings, run_daemon};
pub use paths::{BaseDirs, RuntimePaths};
pub use rpc::{Meta, PROTOCOL_VERSION};
pub use server::{Call, CallHandler, CallOutcome, Counters};

/// Why the daemon cannot serve, or a command cannot reach it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{path}: {error}", path = .path.display())]
    Path { path: std::path::PathBuf, error: std::io::Error },
    #[error("refusing to use {path} as the socket: it is {what}", path = .path.display())]
    UnsafePath { path: std::path::PathBuf, what: &'static str },
    #[error("could not start a thread: {0}")]
    Thread(std::io::Error),
}

impl Error {
    fn at_path(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Error {
        move |error| Error::Path { path: path.to_path_buf(), error }
    }
}
