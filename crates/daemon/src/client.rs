//! The other end of the socket: a command that asks the daemon what it would otherwise do itself. Whoever is not answered
//! in time goes on alone.
//!
//! Does not start a daemon: that is the command's to decide.

use crate::rpc::{self, Meta, PROTOCOL};
use crate::{Holder, Place, socket};
use serde_json::{Map, Value, json};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// How long a daemon may take to say that it is there.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often it is asked, while an answer is waited for, whether it is still wanted.
const LISTEN: Duration = Duration::from_millis(200);

/// Why there is nobody to ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreached {
    /// Nobody serves.
    Absent,
    /// Somebody holds the socket and does not answer.
    Silent,
    /// It is of another version, and cannot be asked.
    Other { version: String },
}

pub struct Client {
    reader: BufReader<UnixStream>,
    /// The version of the daemon.
    pub version: String,
    /// The time zone that it was told, if it was told one.
    pub zone: Option<String>,
    next: u64,
    /// It has said that it is there, and may take its time.
    patient: bool,
}

/// How a call ended that got no answer.
#[derive(Debug)]
pub enum Lost {
    /// The daemon is gone, or going: whoever asked can do it alone.
    Gone,
    Refused(api::Error),
}

impl Client {
    /// The daemon, at the socket that this environment names or, where another one started it, at its own.
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
        // What somebody else put at the name is not spoken to.
        if socket::check(&place.socket).is_err() {
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

    /// Asks, and hands on what is told meanwhile: the notice's name and what it says, and now and then nothing. False calls
    /// the question off.
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
        let mut said = Vec::new();
        loop {
            match self.reader.read_until(b'\n', &mut said) {
                Ok(n) if n > 0 && said.last() == Some(&b'\n') => {}
                // What has come of a line so far is kept.
                Err(e) if self.patient && is_pause(&e) => {
                    if notice("", &Value::Null) {
                        continue;
                    }
                    return Err(Lost::Gone);
                }
                Ok(_) | Err(_) => return Err(Lost::Gone),
            }
            let mut told: Value = serde_json::from_slice(&said).map_err(|_| Lost::Gone)?;
            said.clear();
            if told["id"] == json!(self.next) && told.get("method").is_none() {
                return understood(told);
            }
            if let Some(method) = told["method"].as_str().map(str::to_string)
                && !notice(&method, &told["params"].take())
            {
                return Err(Lost::Gone);
            }
        }
    }
}

fn is_pause(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

fn understood(mut said: Value) -> Result<Value, Lost> {
    if said.get("error").is_none() {
        return Ok(said["result"].take());
    }
    Err(match rpc::read_error(&said["error"]) {
        Some(error) if error.code != api::Code::ShuttingDown => Lost::Refused(error),
        // It is going, or of another build that does not know what is asked.
        _ => Lost::Gone,
    })
}

/// Whether anybody answers at the socket.
pub fn answers(place: &Place) -> bool {
    !matches!(Client::connect(place), Err(Unreached::Absent | Unreached::Silent))
}
