//! `loci mcp --http`: the token, the origin checks and the size limit of requests.

use crate::raw_client::TIMEOUT;
use serde_json::json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use testutil::{Home, command, sample_home};

type Headers<'a> = &'a [(&'a str, &'a str)];

/// A server on loopback and its address.
pub(crate) struct HttpServer {
    child: Child,
    pub(crate) address: String,
}

impl HttpServer {
    pub(crate) fn start(home: &Home) -> HttpServer {
        HttpServer::start_command(command(home.path(), &["mcp", "--http"]))
    }

    /// A server with a limit on its file descriptors.
    fn start_limited(home: &Home, descriptors: u32) -> HttpServer {
        let loci = command(home.path(), &["mcp", "--http"]);
        let mut limited = Command::new("sh");
        limited.args(["-c", &format!("ulimit -n {descriptors}; exec \"$@\""), "sh"]);
        limited.arg(loci.get_program()).args(loci.get_args()).current_dir(home.path()).env_clear();
        limited.envs(loci.get_envs().filter_map(|(name, value)| Some((name, value?))));
        HttpServer::start_command(limited)
    }

    fn start_command(mut command: Command) -> HttpServer {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
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

    /// Sends a POST request; returns the status and the whole response.
    fn post(&self, path: &str, headers: Headers<'_>, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.host()).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let mut request = format!("POST {path} HTTP/1.1\r\n");
        let default_headers =
            [("Host", self.host()), ("Content-Type", "application/json"), ("Connection", "close")];
        let default_headers =
            default_headers.iter().filter(|(name, _)| headers.iter().all(|(other, _)| other != name));
        for (name, value) in default_headers.chain(headers) {
            request += &format!("{name}: {value}\r\n");
        }
        request += &format!(
            "Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        // The server may close a rejected connection before the request is sent completely.
        let _ = stream.write_all(request.as_bytes());
        let mut response = Vec::new();
        let _ = stream.read_to_end(&mut response);
        let response = String::from_utf8_lossy(&response).into_owned();
        let status = response.split(' ').nth(1).and_then(|code| code.parse().ok());
        (status.unwrap_or_else(|| panic!("no response to {path} {headers:?}: {response}")), response)
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn initialize_request(padding: usize) -> String {
    let client = json!({"name": "x".repeat(padding + 1), "version": "1"});
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string()
}

#[test]
fn only_requests_with_the_token_are_accepted() {
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
        let (actual, response) = server.post(path, headers, &initialize_request(0));
        assert_eq!(actual, *status, "{path} {headers:?}: {response}");
        assert_eq!(response.contains("loci"), *status == 200, "{path} {headers:?}: {response}");
    }
}

/// A page of another site must not reach the server through a browser, under any host name for this machine.
#[test]
fn other_sites_are_rejected_even_with_the_token() {
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
    for (headers, is_allowed) in cases {
        let (status, response) = server.post(&path, headers, &initialize_request(0));
        assert_eq!(status, if *is_allowed { 200 } else { 403 }, "{headers:?}: {response}");
    }
}

/// Which of two hosts a server believes differs, and a URI of another host is a request to that host.
#[test]
fn a_request_that_names_two_hosts_is_rejected() {
    let server = HttpServer::start(&sample_home());
    let path = format!("/mcp/{}", server.token());
    let (own, evil) = (server.host().to_owned(), "evil.example");
    let cases: &[(&str, Headers<'_>, u16)] = &[
        (&path, &[("Host", &own), ("Host", evil)], 403),
        (&path, &[("Host", &own), ("Host", &own)], 403),
        (&format!("http://{evil}{path}"), &[], 403),
        (&format!("http://{own}@{evil}{path}"), &[], 403),
        (&format!("http://{own}{path}"), &[], 200),
    ];
    for (path, headers, status) in cases {
        let (actual, response) = server.post(path, headers, &initialize_request(0));
        assert_eq!(actual, *status, "{path} {headers:?}: {response}");
    }
}

/// Clients that start sessions and never end them. `LOCI_SESSIONS=12000` runs the long form.
#[test]
fn sessions_that_nobody_ends_do_not_take_memory_for_ever() {
    let server = HttpServer::start(&sample_home());
    let path = format!("/mcp/{}", server.token());
    let start = || {
        let (status, response) = server.post(&path, &[], &initialize_request(0));
        assert_eq!(status, 200, "{response}");
        let lines = response.lines().filter_map(|line| line.split_once(": "));
        let mut ids = lines.filter(|(name, _)| name.eq_ignore_ascii_case("mcp-session-id"));
        ids.next().unwrap().1.trim().to_owned()
    };
    let ping = |id: &str| {
        let body = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}).to_string();
        server.post(&path, &[("Mcp-Session-Id", id)], &body).0
    };
    (0..100).for_each(|_| drop(start()));
    let (unused, used) = (start(), start());
    let before = memory_kb(server.child.id());
    for n in 0..testutil::needs::number_variable("LOCI_SESSIONS", 600) {
        start();
        if n % 50 == 0 {
            assert_eq!(ping(&used), 200, "a session in use stays, after {n} others");
        }
    }
    let grown = memory_kb(server.child.id()).saturating_sub(before);
    assert!(grown <= 8 * 1024, "{grown} kB more");
    assert_eq!(ping(&unused), 404, "the one unused for longest has ended");
}

#[test]
fn a_body_over_one_megabyte_is_rejected_and_the_server_continues() {
    let server = HttpServer::start(&sample_home());
    let path = format!("/mcp/{}", server.token());
    assert_eq!(server.post(&path, &[], &initialize_request((1 << 20) - 1000)).0, 200);
    assert_eq!(server.post(&path, &[], &initialize_request(1 << 20)).0, 413);
    assert_eq!(server.post(&path, &[], &initialize_request(0)).0, 200);
}

/// Connections that send nothing, or half a head, cost neither the server nor other clients.
#[test]
fn idle_connections_do_not_end_the_server() {
    let server = HttpServer::start_limited(&sample_home(), 120);
    let mut idle = Vec::new();
    for n in 0..400 {
        // Beyond the limit they wait in the kernel's queue, which is bounded too.
        let Ok(mut stream) = TcpStream::connect_timeout(
            &server.host().parse().unwrap(),
            std::time::Duration::from_millis(200),
        ) else {
            break;
        };
        if n % 2 == 0 {
            stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: ").unwrap();
        }
        idle.push(stream);
    }
    assert!(idle.len() > 120, "{}", idle.len());
    let path = format!("/mcp/{}", server.token());
    assert_eq!(server.post(&path, &[], &initialize_request(0)).0, 200);
}

/// S9: other processes of this machine can connect, but without the token they get nothing and cost little.
/// `LOCI_CONNECTIONS=10000` runs the long form.
#[test]
fn a_flood_of_requests_without_the_token_does_not_disturb_a_client() {
    let server = HttpServer::start(&sample_home());
    let path = format!("/mcp/{}", server.token());
    assert_eq!(server.post(&path, &[], &initialize_request(0)).0, 200);
    let before = memory_kb(server.child.id());
    let count = testutil::needs::number_variable("LOCI_CONNECTIONS", 600);
    let frames: [&[u8]; 5] = [
        b"\xff\xfe\x00garbage\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
        b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfffffffff\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ];
    let mut open = Vec::new();
    for n in 0..count {
        let mut stream = TcpStream::connect(server.host()).unwrap();
        let _ = stream.write_all(frames[n % frames.len()]);
        open.push(stream);
        if open.len() > 100 {
            open.remove(0);
        }
        if n % 100 == 0 {
            assert_eq!(server.post("/mcp", &[], &initialize_request(0)).0, 401);
            assert_eq!(server.post(&path, &[], &initialize_request(0)).0, 200, "after {n} connections");
        }
    }
    drop(open);
    assert_eq!(server.post(&path, &[], &initialize_request(0)).0, 200);
    let grown = memory_kb(server.child.id()).saturating_sub(before);
    assert!(grown <= 20 * 1024, "{grown} kB more after {count} connections");
}

fn memory_kb(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
