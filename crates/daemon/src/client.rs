//! The client end of the socket: a command calls the daemon for work it could also do itself, and does it in its own
//! process if the daemon does not answer in time.
//!
//! Does not start a daemon: the command decides that.

use crate::rpc::{self, Meta, PROTOCOL};
use crate::{Holder, Place, ownership, socket};
use serde_json::{Map, Value, json};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// How long the daemon may take to answer the handshake.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often a waiting call checks whether it was cancelled.
const LISTEN: Duration = Duration::from_millis(200);

/// Why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreached {
    /// No daemon is running.
    Absent,
    /// The socket accepts connections but does not answer.
    Silent,
    /// The daemon speaks another protocol version.
    Other { version: String },
}

pub struct Client {
    reader: BufReader<UnixStream>,
    /// The daemon's version.
    pub version: String,
    /// The time zone the daemon was configured with, if any.
    pub zone: Option<String>,
    next: u64,
    /// The handshake succeeded: from here on a read timeout is only a chance to cancel.
    patient: bool,
}

/// Why a call returned no result.
#[derive(Debug)]
pub enum Lost {
    /// The daemon has ended or is ending, or the call was cancelled. The command can do the work itself.
    Gone,
    Refused(api::Error),
}

impl Client {
    /// Connects to the socket of this environment, or to the socket named in the lock file if the daemon was started in
    /// another environment.
    pub fn connect(place: &Place) -> Result<Client, Unreached> {
        match Client::at(place) {
            Err(Unreached::Absent) => {
                let holder = Holder::of(place).filter(Holder::is_running);
                let other = holder.map(|holder| holder.socket).filter(|socket| *socket != place.socket);
                other.map_or(Err(Unreached::Absent), |socket| Client::at(&Place { socket, ..place.clone() }))
            }
            reached => reached,
        }
    }

    fn at(place: &Place) -> Result<Client, Unreached> {
        // Never talk to a path that belongs to another user.
        if ownership::check_replaceable(&place.socket).is_err() {
            return Err(Unreached::Absent);
        }
        let stream = UnixStream::connect(&place.socket).map_err(|_| Unreached::Absent)?;
        if !socket::is_own(&stream) {
            return Err(Unreached::Absent);
        }
        let timed = stream.set_read_timeout(Some(PATIENCE)).and(stream.set_write_timeout(Some(PATIENCE)));
        timed.map_err(|_| Unreached::Silent)?;
        let mut client = Client {
            reader: BufReader::new(stream),
            version: String::new(),
            zone: None,
            next: 0,
            patient: false,
        };
        let hello = client.call("hello", Map::new(), &Meta::default(), &mut |_, _| true);
        let hello = hello.map_err(|_| Unreached::Silent)?;
        client.version = hello["version"].as_str().unwrap_or_default().to_string();
        client.zone = hello["zone"].as_str().map(str::to_string);
        if hello["protocol"] != json!(PROTOCOL) {
            return Err(Unreached::Other { version: client.version });
        }
        let _ = client.reader.get_ref().set_read_timeout(Some(LISTEN));
        client.patient = true;
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
    ) -> Result<Value, Lost> {
        self.next += 1;
        let line = rpc::request(self.next, method, params, meta);
        self.reader.get_ref().write_all(line.as_bytes()).map_err(|_| Lost::Gone)?;
        let mut buffer = Vec::new();
        loop {
            match self.reader.read_until(b'\n', &mut buffer) {
                Ok(n) if n > 0 && buffer.last() == Some(&b'\n') => {}
                // The part of the line received so far stays in the buffer.
                Err(e) if self.patient && is_pause(&e) => {
                    if notice("", &Value::Null) {
                        continue;
                    }
                    return Err(Lost::Gone);
                }
                Ok(_) | Err(_) => return Err(Lost::Gone),
            }
            let mut message: Value = serde_json::from_slice(&buffer).map_err(|_| Lost::Gone)?;
            buffer.clear();
            if message["id"] == json!(self.next) && message.get("method").is_none() {
                return understood(message);
            }
            if let Some(method) = message["method"].as_str().map(str::to_string)
                && !notice(&method, &message["params"].take())
            {
                return Err(Lost::Gone);
            }
        }
    }
}

fn is_pause(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

fn understood(mut response: Value) -> Result<Value, Lost> {
    if response.get("error").is_none() {
        return Ok(response["result"].take());
    }
    Err(match rpc::read_error(&response["error"]) {
        Some(error) if error.code != api::Code::ShuttingDown => Lost::Refused(error),
        // It is ending, or is another build that does not know this method.
        _ => Lost::Gone,
    })
}

/// Whether a daemon answers at the socket.
pub fn answers(place: &Place) -> bool {
    !matches!(Client::connect(place), Err(Unreached::Absent | Unreached::Silent))
}
