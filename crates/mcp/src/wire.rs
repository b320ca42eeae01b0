//! Standard input and output as a transport of the SDK, with three differences: messages before the handshake do not end the
//! session, an invalid message is always rejected, and a client that disconnects is noticed at once.
//!
//! Does not interpret the messages.

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

/// How long pending responses may take after the input was closed: `printf … | loci mcp` needs its response, and an agent that
/// has gone expects us to exit within a second. The SDK would wait for five.
const GRACE: Duration = Duration::from_millis(400);

/// Messages received but not yet handled; a client that sends more waits.
const AHEAD: usize = 16;

type Ear = AsyncRwTransport<RoleServer, Stdin, DuplexStream>;
type Mouth = Arc<Mutex<AsyncRwTransport<RoleServer, Empty, Stdout>>>;

pub(crate) struct Wire {
    heard: mpsc::Receiver<RxJsonRpcMessage<RoleServer>>,
    mouth: Mouth,
    line: Arc<Line>,
}

/// State shared by the two ends of the transport.
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
    /// The SDK cancels reading a line when another future is ready, such as a response that has just been sent; the
    /// rejection it was about to write is lost then. Therefore a separate task reads.
    pub(crate) fn new() -> (Wire, Arc<Line>) {
        let (input, output) = rmcp::transport::stdio();
        let mouth = Arc::new(Mutex::new(AsyncRwTransport::new_server(tokio::io::empty(), output)));
        let (rejections, rejected) = tokio::io::duplex(4096);
        let ((sender, heard), line) = (mpsc::channel(AHEAD), Arc::new(Line::default()));
        tokio::spawn(listen(AsyncRwTransport::new_server(input, rejections), sender, line.clone()));
        tokio::spawn(refuse(rejected, mouth.clone()));
        (Wire { heard, mouth, line: line.clone() }, line)
    }
}

async fn listen(mut input: Ear, sender: mpsc::Sender<RxJsonRpcMessage<RoleServer>>, line: Arc<Line>) {
    while let Some(message) = input.receive().await {
        if sender.send(message).await.is_err() {
            break;
        }
    }
    line.closed.notify_one();
}

/// Writes rejections through the same output as all responses, so that two messages never interleave.
async fn refuse(rejections: DuplexStream, output: Mouth) {
    let mut lines = BufReader::new(rejections).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if let Ok(rejection) = serde_json::from_str(&line) {
            let _ = say(output.clone(), rejection).await;
        }
    }
}

async fn say(output: Mouth, item: TxJsonRpcMessage<RoleServer>) -> Result<(), std::io::Error> {
    output.lock().await.send(item).await
}

impl Transport<RoleServer> for Wire {
    type Error = std::io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        say(self.mouth.clone(), item)
    }

    /// Before the handshake only requests are passed on: the SDK would give up on anything else.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let message = self.heard.recv().await?;
            if self.line.greeted.load(Relaxed) || matches!(message, JsonRpcMessage::Request(_)) {
                return Some(message);
            }
        }
    }

    /// Nothing to do: the process exits, which closes its output.
    async fn close(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}
