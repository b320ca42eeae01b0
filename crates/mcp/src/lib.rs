//! Speaks MCP: an agent's calls in, envelopes out. On standard input and output, or over HTTP on loopback for clients
//! that cannot start a process.
//!
//! Does not know how anything is answered: that is whoever is handed to it as a `ToolHandler`.

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
    #[error("the server could not be started: {0}")]
    Start(#[from] std::io::Error),
    #[error("the client does not speak MCP: {0}")]
    Greeting(String),
}

/// Serves one agent on standard input and output until either is closed or the agent is gone.
pub fn serve(handler: Arc<dyn ToolHandler>, sets: &[Set]) -> Result<(), Error> {
    // Known before the first word: an agent may be killed as soon as it is answered.
    let parent = rustix::process::getppid();
    let server = Server::new(handler, sets);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let ended = runtime.block_on(async {
        tokio::select! {
            ended = converse(server) => ended,
            () = orphaned(parent) => Ok(()),
        }
    });
    // Whatever is still being read is of use to nobody.
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
        // Closed before anything was said: there is nobody to tell.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(Error::Greeting(error.to_string())),
    }
}

/// Serves over HTTP on loopback until the process is stopped. `ready` is told the address.
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

/// How often is looked whether the agent that started us is still there. Its death closes our input, unless another
/// child of its holds the other end: then only this ends us.
const LOOK: Duration = Duration::from_millis(250);

async fn orphaned(parent: Option<Pid>) {
    loop {
        tokio::time::sleep(LOOK).await;
        if rustix::process::getppid() != parent {
            return;
        }
    }
}
