//! `loci mcp --http`: who is let in, and who is not.

use crate::raw_client::PATIENCE;
use serde_json::json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use testutil::{Home, command, sample_home};

type Headers<'a> = &'a [(&'a str, &'a str)];

/// A server on loopback, and where it listens.
pub(crate) struct HttpServer {
    child: Child,
    pub(crate) address: String,
}

impl HttpServer {
    pub(crate) fn start(home: &Home) -> HttpServer {
        let mut child = command(home.path(), &["mcp", "--http"]).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("loci: listening at ").unwrap_or_else(|| panic!("{line}"));
        HttpServer { child, address: address.to_string() }
    }

    fn host(&self) -> &str {
        self.address.strip_prefix("http://").unwrap().split('/').next().unwrap()
    }

    fn token(&self) -> &str {
        self.address.rsplit('/').next().unwrap()
    }

    /// Says a request as it stands here; the status and what follows.
    fn ask(&self, path: &str, headers: Headers<'_>, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.host()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut request = format!("POST {path} HTTP/1.1\r\n");
        let usual = [("Host", self.host()), ("Content-Type", "application/json"), ("Connection", "close")];
        let usual = usual.iter().filter(|(name, _)| headers.iter().all(|(other, _)| other != name));
        for (name, value) in usual.chain(headers) {
            request += &format!("{name}: {value}\r\n");
        }
        request += &format!(
            "Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        // Who is refused early may find the server shut while he still talks.
        let _ = stream.write_all(request.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
        (status.unwrap_or_else(|| panic!("no answer to {path} {headers:?}: {answer}")), answer)
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn greeting(padding: usize) -> String {
    let client = json!({"name": "x".repeat(padding + 1), "version": "1"});
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string()
}

#[test]
fn only_who_knows_the_token_is_let_in() {
    let server = HttpServer::start(&sample_home());
    let (path, bearer) = (format!("/mcp/{}", server.token()), format!("Bearer {}", server.token()));
    let wrong = format!("/mcp/{}", "0".repeat(server.token().len()));
    let half = format!("/mcp/{}", &server.token()[..8]);
    let longer = format!("{path}0");
    let cases: &[(&str, Headers<'_>, u16)] = &[
        (&path, &[], 200),
        ("/mcp", &[("Authorization", &bearer)], 200),
        ("/mcp", &[], 401),
        ("/mcp/", &[], 401),
        ("/", &[], 401),
        (&wrong, &[], 401),
        (&half, &[], 401),
        (&longer, &[], 401),
        ("/mcp", &[("Authorization", "Bearer 00000000")], 401),
        ("/mcp", &[("Authorization", "Bearer ")], 401),
        ("/other", &[("Authorization", &bearer)], 401),
    ];
    for (path, headers, status) in cases {
        let (got, answer) = server.ask(path, headers, &greeting(0));
        assert_eq!(got, *status, "{path} {headers:?}: {answer}");
        assert_eq!(answer.contains("loci"), *status == 200, "{path} {headers:?}: {answer}");
    }
}

/// A page of another site must not reach us through a browser, by whatever name it calls this machine.
#[test]
fn other_sites_are_refused_even_with_the_token() {
    let server = HttpServer::start(&sample_home());
    let path = format!("/mcp/{}", server.token());
    let (own, port) = (format!("http://{}", server.host()), server.host().split(':').nth(1).unwrap());
    let (local, evil) = (format!("localhost:{port}"), format!("evil.example:{port}"));
    let cases: &[(Headers<'_>, bool)] = &[
        (&[("Origin", &own)], true),
        (&[("Host", &local)], true),
        (&[("Origin", "https://evil.example")], false),
        (&[("Origin", "null")], false),
        (&[("Origin", "http://127.0.0.1:1")], false),
        (&[("Host", &evil)], false),
        (&[("Host", "127.0.0.1.evil.example")], false),
    ];
    for (headers, welcome) in cases {
        let (status, answer) = server.ask(&path, headers, &greeting(0));
        assert_eq!(status, if *welcome { 200 } else { 403 }, "{headers:?}: {answer}");
    }
}

#[test]
fn a_body_of_more_than_a_megabyte_is_refused_and_the_server_goes_on() {
    let server = HttpServer::start(&sample_home());
    let path = format!("/mcp/{}", server.token());
    assert_eq!(server.ask(&path, &[], &greeting((1 << 20) - 1000)).0, 200);
    assert_eq!(server.ask(&path, &[], &greeting(1 << 20)).0, 413);
    assert_eq!(server.ask(&path, &[], &greeting(0)).0, 200);
}
