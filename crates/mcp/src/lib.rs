//! The MCP server: tool calls in, envelopes out, over standard input and output, or over HTTP on loopback for clients that
//! cannot start a process.
//!
//! Does not know how a tool is implemented: it is given a `ToolHandler` that handles calls.

mod http;
mod prompts;
mod server;
mod tools;
mod wire;

pub use http::Door;
pub use prompts::{PROMPTS, Prompt};
pub use tools::listed;

use api::{Set, ToolHandler};
use rmcp::ServiceExt;
use rustix::process::Pid;
use server::Server;
use std::sync::Arc;
use std::time::Duration;
use wire::Wire;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("could not start the server: {0}")]
    Start(#[from] std::io::Error),
    #[error("MCP handshake failed: {0}")]
    Greeting(String),
}

/// Serves one agent on standard input and output until either is closed or the agent is gone.
pub fn serve(handler: Arc<dyn ToolHandler>, sets: &[Set]) -> Result<(), Error> {
    // Read before the handshake: the agent may be killed as soon as it has a response.
    let parent = rustix::process::getppid();
    let server = Server::new(handler, sets);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let ended = runtime.block_on(async {
        tokio::select! {
            ended = converse(server) => ended,
            () = orphaned(parent) => Ok(()),
        }
    });
    // The client is gone: discard the results of reads in progress.
    runtime.shutdown_background();
    ended
}

async fn converse(server: Server) -> Result<(), Error> {
    let (wire, line) = Wire::new();
    match server.serve(wire).await {
        Ok(running) => {
            line.greeted();
            tokio::select! {
                _ = running.waiting() => {}
                () = line.hung_up() => {}
            }
            Ok(())
        }
        // Closed before the handshake: there is no one to report to.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(Error::Greeting(error.to_string())),
    }
}

/// Serves over HTTP on loopback until the process is stopped. Calls `ready` with the address.
pub fn serve_http(
    handler: Arc<dyn ToolHandler>,
    sets: &[Set],
    door: &Door,
    ready: impl FnOnce(&str),
) -> Result<(), Error> {
    let server = Server::new(handler, sets);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(http::serve(server, door, ready))?;
    Ok(())
}

/// How often to check that the agent that started us is still running. Its death closes our input, unless another child of
/// its holds the other end: then only this check ends us.
const LOOK: Duration = Duration::from_millis(250);

async fn orphaned(parent: Option<Pid>) {
    loop {
        tokio::time::sleep(LOOK).await;
        if rustix::process::getppid() != parent {
            return;
        }
    }
}
