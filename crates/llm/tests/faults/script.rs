//! A scripted server on loopback: it responds, stays silent, trickles or disconnects, and records its requests.
//!
//! Does not know its clients.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The server's reaction to a request.
#[derive(Clone)]
pub(crate) enum Act {
    /// Sends nothing and keeps the connection open.
    Silence,
    /// Responds after a delay.
    After(Duration, String),
    /// Sends one byte per second.
    Trickle(String),
    /// Sends half of the promised body and disconnects.
    Cut(String),
    Say(u16, &'static [(&'static str, &'static str)], String),
}

pub(crate) struct Server {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<(String, String)>>>,
}

impl Server {
    /// Reacts to the first request with the first act and so on; the last act is for all further requests.
    pub(crate) fn new(acts: Vec<Act>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (acts, log) = (acts.clone(), Arc::clone(&log));
                std::thread::spawn(move || serve(stream, &acts, &log));
            }
        });
        Server { url, seen }
    }

    pub(crate) fn requests(&self) -> usize {
        self.seen.lock().unwrap().len()
    }

    pub(crate) fn head(&self, at: usize) -> String {
        self.seen.lock().unwrap()[at].0.clone()
    }

    pub(crate) fn body(&self, at: usize) -> Value {
        serde_json::from_str(&self.seen.lock().unwrap()[at].1).unwrap()
    }
}

/// Serves one request.
pub(crate) fn serve_once(stream: TcpStream, act: Act) {
    serve(stream, &[act], &Mutex::default());
}

fn serve(stream: TcpStream, acts: &[Act], log: &Mutex<Vec<(String, String)>>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 || line == "\r\n" {
            break;
        }
        if let Some(number) = line.to_lowercase().strip_prefix("content-length:") {
            length = number.trim().parse().ok()?;
        }
        head += &line;
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let at = {
        let mut all = log.lock().unwrap();
        all.push((head, String::from_utf8(body).unwrap()));
        all.len() - 1
    };
    act(stream, &acts[at.min(acts.len() - 1)])
}

fn act(mut stream: TcpStream, act: &Act) -> Option<()> {
    let head = |status: u16, more: &str, length: usize| {
        format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n{more}\r\n"
        )
    };
    match act {
        Act::Silence => std::thread::sleep(Duration::from_secs(60)),
        Act::After(time, text) => {
            std::thread::sleep(*time);
            stream.write_all(head(200, "", text.len()).as_bytes()).ok()?;
            stream.write_all(text.as_bytes()).ok()?;
        }
        Act::Trickle(text) => {
            stream.write_all(head(200, "", text.len()).as_bytes()).ok()?;
            for byte in text.bytes() {
                stream.write_all(&[byte]).ok()?;
                std::thread::sleep(Duration::from_secs(1));
            }
        }
        Act::Cut(text) => {
            stream.write_all(head(200, "", text.len()).as_bytes()).ok()?;
            stream.write_all(&text.as_bytes()[..text.len() / 2]).ok()?;
        }
        Act::Say(status, headers, text) => {
            let more: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
            stream.write_all(head(*status, &more, text.len()).as_bytes()).ok()?;
            stream.write_all(text.as_bytes()).ok()?;
        }
    }
    Some(())
}

pub(crate) fn chat(content: &str) -> String {
    json!({"choices": [{"message": {"content": content}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20}})
    .to_string()
}

pub(crate) fn messages(input: &Value) -> String {
    json!({"content": [{"type": "tool_use", "name": "answer", "input": input}], "stop_reason": "tool_use",
        "usage": {"input_tokens": 100, "output_tokens": 20}})
    .to_string()
}

pub(crate) fn ok(body: String) -> Act {
    Act::Say(200, &[], body)
}
