//! The client end of the socket: a command calls the daemon for work it could also do itself, and does it in its own
//! process if the daemon does not answer in time.
//!
//! Does not start a daemon: the command decides that.

use crate::rpc::{self, Meta, PROTOCOL_VERSION};
use crate::{Holder, RuntimePaths, ownership};
use os::socket::Stream;
use serde_json::{Map, Value, json};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::time::Duration;

/// How long the daemon may take to answer the handshake.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// How often a waiting call checks whether it was cancelled.
const CANCEL_CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// Why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectError {
    /// No daemon is running.
    NotRunning,
    /// The socket accepts connections but does not answer.
    NotResponding,
    /// The daemon speaks another protocol version.
    ProtocolMismatch { version: String },
}

pub struct Client {
    reader: BufReader<Stream>,
    /// The daemon's version.
    pub version: String,
    /// The time zone the daemon was configured with, if any.
    pub zone: Option<String>,
    last_id: u64,
    /// The handshake succeeded: from here on a read timeout is only a chance to cancel.
    is_greeted: bool,
}

/// Why a call returned no result.
#[derive(Debug)]
pub enum CallError {
    /// The daemon has ended or is ending, or the call was cancelled. The command can do the work itself.
    Disconnected,
    Failed(api::Error),
}

impl Client {
    /// Connects to the socket of this environment, or to the socket named in the lock file if the daemon was started in
    /// another environment.
    pub fn connect(place: &RuntimePaths) -> Result<Client, ConnectError> {
        match Client::connect_to(place) {
            Err(ConnectError::NotRunning) => {
                let holder = Holder::read_current(place).filter(Holder::is_running);
                let other = holder.map(|holder| holder.socket).filter(|socket| *socket != place.socket);
                other.map_or(Err(ConnectError::NotRunning), |socket| {
                    Client::connect_to(&RuntimePaths { socket, ..place.clone() })
                })
            }
            reached => reached,
        }
    }

    fn connect_to(place: &RuntimePaths) -> Result<Client, ConnectError> {
        // Never talk to a path that belongs to another user.
        if ownership::check_replaceable(&place.socket).is_err() {
            return Err(ConnectError::NotRunning);
        }
        let stream = Stream::connect(&place.socket).map_err(|_| ConnectError::NotRunning)?;
        if !os::socket::is_own(&stream) {
            return Err(ConnectError::NotRunning);
        }
        let timed = stream
            .set_read_timeout(Some(CONNECT_TIMEOUT))
            .and(stream.set_write_timeout(Some(CONNECT_TIMEOUT)));
        timed.map_err(|_| ConnectError::NotResponding)?;
        let mut client = Client {
            reader: BufReader::new(stream),
            version: String::new(),
            zone: None,
            last_id: 0,
            is_greeted: false,
        };
        let hello = client.call("hello", Map::new(), &Meta::default(), &mut |_, _| true);
        let hello = hello.map_err(|_| ConnectError::NotResponding)?;
        client.version = hello["version"].as_str().unwrap_or_default().to_string();
        client.zone = hello["zone"].as_str().map(str::to_string);
        if hello["protocol"] != json!(PROTOCOL_VERSION) {
            return Err(ConnectError::ProtocolMismatch { version: client.version });
        }
        let _ = client.reader.get_ref().set_read_timeout(Some(CANCEL_CHECK_INTERVAL));
        client.is_greeted = true;
        Ok(client)
    }

    /// Sends a request and waits for its response. `notice` receives the name and parameters of each notification, and an
    /// empty name at every timeout; it returns false to cancel the call.
    pub fn call(
        &mut self,
        method: &str,
        params: Map<String, Value>,
        meta: &Meta,
        notice: &mut dyn FnMut(&str, &Value) -> bool,
    ) -> Result<Value, CallError> {
        self.last_id += 1;
        let line = rpc::format_request(self.last_id, method, params, meta);
        self.reader.get_ref().write_all(line.as_bytes()).map_err(|_| CallError::Disconnected)?;
        let mut buffer = Vec::new();
        loop {
            match self.reader.read_until(b'\n', &mut buffer) {
                Ok(n) if n > 0 && buffer.last() == Some(&b'\n') => {}
                // The part of the line received so far stays in the buffer.
                Err(e) if self.is_greeted && is_timeout(&e) => {
                    if notice("", &Value::Null) {
                        continue;
                    }
                    return Err(CallError::Disconnected);
                }
                Ok(_) | Err(_) => return Err(CallError::Disconnected),
            }
            let mut message: Value = serde_json::from_slice(&buffer).map_err(|_| CallError::Disconnected)?;
            buffer.clear();
            if message["id"] == json!(self.last_id) && message.get("method").is_none() {
                return parse_response(message);
            }
            if let Some(method) = message["method"].as_str().map(str::to_string)
                && !notice(&method, &message["params"].take())
            {
                return Err(CallError::Disconnected);
            }
        }
    }
}

fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

fn parse_response(mut response: Value) -> Result<Value, CallError> {
    if response.get("error").is_none() {
        return Ok(response["result"].take());
    }
    Err(match rpc::parse_error(&response["error"]) {
        Some(error) if error.code != api::Code::ShuttingDown => CallError::Failed(error),
        // It is ending, or is another build that does not know this method.
        _ => CallError::Disconnected,
    })
}

/// Whether a daemon answers at the socket.
pub fn is_daemon_responding(place: &RuntimePaths) -> bool {
    !matches!(Client::connect(place), Err(ConnectError::NotRunning | ConnectError::NotResponding))
}
