//! A scripted model server on loopback: it responds, stays silent, sends slowly or truncates, and records its requests.
//!
//! Does not know the client.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How the server handles a request.
#[derive(Clone)]
pub enum Act {
    /// Sends nothing and keeps the connection open.
    Silence,
    /// Responds after a delay.
    After(Duration, String),
    /// Sends one byte per second.
    Trickle(String),
    /// Closes the connection after half of the body.
    Cut(String),
    /// Responds with status, headers and body.
    Say(u16, &'static [(&'static str, &'static str)], String),
}

pub struct Server {
    pub url: String,
    /// Head and body of each request.
    received: Arc<Mutex<Vec<(String, String)>>>,
}

impl Server {
    /// Handles the first request with the first act and so on; the last act applies to all further requests.
    pub fn new(acts: Vec<Act>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let received = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&received);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (acts, log) = (acts.clone(), Arc::clone(&log));
                std::thread::spawn(move || handle_request(stream, &acts, &log));
            }
        });
        Server { url, received }
    }

    /// The number of requests received.
    pub fn requests(&self) -> usize {
        self.received.lock().unwrap().len()
    }

    pub fn head(&self, at: usize) -> String {
        self.received.lock().unwrap()[at].0.clone()
    }

    pub fn body(&self, at: usize) -> Value {
        serde_json::from_str(&self.received.lock().unwrap()[at].1).unwrap()
    }
}

/// Handles one request.
pub fn serve_once(stream: TcpStream, act: Act) {
    handle_request(stream, &[act], &Mutex::default());
}

fn handle_request(stream: TcpStream, acts: &[Act], log: &Mutex<Vec<(String, String)>>) -> Option<()> {
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
    send_response(stream, &acts[at.min(acts.len() - 1)])
}

fn send_response(mut stream: TcpStream, act: &Act) -> Option<()> {
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

/// The body of an OpenAI chat completion.
pub fn chat(content: &str) -> String {
    json!({"choices": [{"message": {"content": content}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20}})
    .to_string()
}

/// The body of an Anthropic message that calls the tool `answer`.
pub fn messages(input: &Value) -> String {
    json!({"content": [{"type": "tool_use", "name": "answer", "input": input}], "stop_reason": "tool_use",
        "usage": {"input_tokens": 100, "output_tokens": 20}})
    .to_string()
}

pub fn ok(body: String) -> Act {
    Act::Say(200, &[], body)
}
