//! The MCP server: tool calls in, envelopes out, over standard input and output, or over HTTP on loopback for clients that
//! cannot start a process.
//!
//! Does not know how a tool is implemented: it is given a `ToolHandler` that handles calls.

mod http;
mod prompts;
mod server;
mod sessions;
mod stdio;
mod tools;

pub use http::HttpOptions;
pub use prompts::{PROMPTS, Prompt};
pub use tools::list_tools;

use api::{Set, ToolHandler};
use rmcp::ServiceExt;
use server::Server;
use std::sync::Arc;
use std::time::Duration;
use stdio::StdioTransport;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("could not start the server: {0}")]
    Start(#[from] std::io::Error),
    #[error("MCP handshake failed: {0}")]
    Handshake(String),
}

/// Serves one agent on standard input and output until either is closed or the agent is gone.
pub fn serve_stdio(handler: Arc<dyn ToolHandler>, sets: &[Set]) -> Result<(), Error> {
    // Read before the handshake: the agent may be killed as soon as it has a response.
    let parent = os::processes::parent_id();
    let server = Server::new(handler, sets);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let ended = runtime.block_on(async {
        tokio::select! {
            ended = run_session(server) => ended,
            () = wait_until_orphaned(parent) => Ok(()),
        }
    });
    // The client is gone: discard the results of reads in progress.
    runtime.shutdown_background();
    ended
}

async fn run_session(server: Server) -> Result<(), Error> {
    let (wire, line) = StdioTransport::new();
    match server.serve(wire).await {
        Ok(running) => {
            line.mark_initialized();
            tokio::select! {
                _ = running.waiting() => {}
                () = line.wait_closed() => {}
            }
            Ok(())
        }
        // Closed before the handshake: there is no one to report to.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(Error::Handshake(error.to_string())),
    }
}

/// Serves over HTTP on loopback until the process is stopped. Calls `ready` with the address.
pub fn serve_http(
    handler: Arc<dyn ToolHandler>,
    sets: &[Set],
    options: &HttpOptions,
    ready: impl FnOnce(&str),
) -> Result<(), Error> {
    let server = Server::new(handler, sets);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(http::serve_connections(server, options, ready))?;
    Ok(())
}

/// How often to check that the agent that started us is still running. Its death closes our input, unless another child of
/// its holds the other end: then only this check ends us.
const PARENT_CHECK_INTERVAL: Duration = Duration::from_millis(250);

async fn wait_until_orphaned(parent: Option<u32>) {
    loop {
        tokio::time::sleep(PARENT_CHECK_INTERVAL).await;
        if os::processes::parent_id() != parent {
            return;
        }
    }
}
