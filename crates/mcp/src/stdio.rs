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
const DRAIN_TIME: Duration = Duration::from_millis(400);

/// Messages received but not yet handled; a client that sends more waits.
const QUEUE_SIZE: usize = 16;

type InputTransport = AsyncRwTransport<RoleServer, Stdin, DuplexStream>;
type OutputTransport = Arc<Mutex<AsyncRwTransport<RoleServer, Empty, Stdout>>>;

pub(crate) struct StdioTransport {
    messages: mpsc::Receiver<RxJsonRpcMessage<RoleServer>>,
    output: OutputTransport,
    state: Arc<ConnectionState>,
}

/// State shared by the two ends of the transport.
#[derive(Default)]
pub(crate) struct ConnectionState {
    is_initialized: AtomicBool,
    input_closed: Notify,
}

impl ConnectionState {
    pub(crate) fn mark_initialized(&self) {
        self.is_initialized.store(true, Relaxed);
    }

    pub(crate) async fn wait_closed(&self) {
        self.input_closed.notified().await;
        tokio::time::sleep(DRAIN_TIME).await;
    }
}

impl StdioTransport {
    /// The SDK cancels reading a line when another future is ready, such as a response that has just been sent; the
    /// rejection it was about to write is lost then. Therefore a separate task reads.
    pub(crate) fn new() -> (StdioTransport, Arc<ConnectionState>) {
        let (input, output) = rmcp::transport::stdio();
        let mouth = Arc::new(Mutex::new(AsyncRwTransport::new_server(tokio::io::empty(), output)));
        let (rejections, rejected) = tokio::io::duplex(4096);
        let ((sender, heard), line) = (mpsc::channel(QUEUE_SIZE), Arc::new(ConnectionState::default()));
        tokio::spawn(read_messages(AsyncRwTransport::new_server(input, rejections), sender, line.clone()));
        tokio::spawn(forward_rejections(rejected, mouth.clone()));
        (StdioTransport { messages: heard, output: mouth, state: line.clone() }, line)
    }
}

async fn read_messages(
    mut input: InputTransport,
    sender: mpsc::Sender<RxJsonRpcMessage<RoleServer>>,
    line: Arc<ConnectionState>,
) {
    while let Some(message) = input.receive().await {
        if sender.send(message).await.is_err() {
            break;
        }
    }
    line.input_closed.notify_one();
}

/// Writes rejections through the same output as all responses, so that two messages never interleave.
async fn forward_rejections(rejections: DuplexStream, output: OutputTransport) {
    let mut lines = BufReader::new(rejections).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if let Ok(rejection) = serde_json::from_str(&line) {
            let _ = send_message(output.clone(), rejection).await;
        }
    }
}

async fn send_message(
    output: OutputTransport,
    item: TxJsonRpcMessage<RoleServer>,
) -> Result<(), std::io::Error> {
    output.lock().await.send(item).await
}

impl Transport<RoleServer> for StdioTransport {
    type Error = std::io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        send_message(self.output.clone(), item)
    }

    /// Before the handshake only requests are passed on: the SDK would give up on anything else.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let message = self.messages.recv().await?;
            if self.state.is_initialized.load(Relaxed) || matches!(message, JsonRpcMessage::Request(_)) {
                return Some(message);
            }
        }
    }

    /// Nothing to do: the process exits, which closes its output.
    async fn close(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}
