//! Standard input and output as the SDK reads them, but for three things: what a client says before its greeting does not
//! end the conversation, a message that is none is always refused, and that the client has hung up is known at once.
//!
//! Does not understand what is said.

use rmcp::RoleServer;
use rmcp::model::JsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader, DuplexStream, Empty, Stdin, Stdout};
use tokio::sync::{Mutex, Notify, mpsc};

/// What answers on their way still get once nobody asks any more: `printf … | loci mcp` wants its reply, and an agent
/// that has gone wants us gone within a second. The SDK would wait for five.
const GRACE: Duration = Duration::from_millis(400);

/// What is heard but not yet taken; who says more waits.
const AHEAD: usize = 16;

type Ear = AsyncRwTransport<RoleServer, Stdin, DuplexStream>;
type Mouth = Arc<Mutex<AsyncRwTransport<RoleServer, Empty, Stdout>>>;

pub(crate) struct Wire {
    heard: mpsc::Receiver<RxJsonRpcMessage<RoleServer>>,
    mouth: Mouth,
    line: Arc<Line>,
}

/// What the two ends of the wire know of each other.
#[derive(Default)]
pub(crate) struct Line {
    greeted: AtomicBool,
    closed: Notify,
}

impl Line {
    pub(crate) fn greeted(&self) {
        self.greeted.store(true, Relaxed);
    }

    pub(crate) async fn hung_up(&self) {
        self.closed.notified().await;
        tokio::time::sleep(GRACE).await;
    }
}

impl Wire {
    /// The SDK drops what it was at with a line when something else is ready, such as an answer that has just been sent: the
    /// refusal that it was about to write is lost then. So it listens on a task of its own.
    pub(crate) fn new() -> (Wire, Arc<Line>) {
        let (input, output) = rmcp::transport::stdio();
        let mouth = Arc::new(Mutex::new(AsyncRwTransport::new_server(tokio::io::empty(), output)));
        let (refuses, refused) = tokio::io::duplex(4096);
        let ((tell, heard), line) = (mpsc::channel(AHEAD), Arc::new(Line::default()));
        tokio::spawn(listen(AsyncRwTransport::new_server(input, refuses), tell, line.clone()));
        tokio::spawn(refuse(refused, mouth.clone()));
        (Wire { heard, mouth, line: line.clone() }, line)
    }
}

async fn listen(mut ear: Ear, tell: mpsc::Sender<RxJsonRpcMessage<RoleServer>>, line: Arc<Line>) {
    while let Some(message) = ear.receive().await {
        if tell.send(message).await.is_err() {
            break;
        }
    }
    line.closed.notify_one();
}

/// Refusals go the way of all answers, lest two be written into each other.
async fn refuse(refused: DuplexStream, mouth: Mouth) {
    let mut lines = BufReader::new(refused).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if let Ok(refusal) = serde_json::from_str(&line) {
            let _ = say(mouth.clone(), refusal).await;
        }
    }
}

async fn say(mouth: Mouth, item: TxJsonRpcMessage<RoleServer>) -> Result<(), std::io::Error> {
    mouth.lock().await.send(item).await
}

impl Transport<RoleServer> for Wire {
    type Error = std::io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        say(self.mouth.clone(), item)
    }

    /// Before the greeting only requests count: the SDK would give up on anything else.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let message = self.heard.recv().await?;
            if self.line.greeted.load(Relaxed) || matches!(message, JsonRpcMessage::Request(_)) {
                return Some(message);
            }
        }
    }

    /// Nothing to do: the process ends, and its output with it.
    async fn close(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}
