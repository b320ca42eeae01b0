//! Storage servers on loopback, for tests of sync: any server, and moto, which speaks S3.
//!
//! Does not install them: `.ci/run` does.

use crate::needs::path_variable;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A server that ends with the test.
pub struct StorageServer {
    process: Child,
    pub port: u16,
}

impl Drop for StorageServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Where `.ci/run` installs programs.
pub(crate) fn cache_folder() -> PathBuf {
    let cache = path_variable("XDG_CACHE_HOME").or_else(|| Some(path_variable("HOME")?.join(".cache")));
    cache.unwrap_or_default().join("loci-ci")
}

/// A port that nothing listens on now.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl StorageServer {
    /// Starts a program of the cache and waits until it answers. `arguments` are given the port.
    pub fn start(need: &str, program: &str, arguments: impl Fn(u16) -> Vec<String>) -> StorageServer {
        let program = cache_folder().join(program);
        assert!(program.exists(), "needs {need}: no {}; run `.ci/run`", program.display());
        let port = free_port();
        let mut command = Command::new(program);
        let process =
            command.args(arguments(port)).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let server = StorageServer { process, port };
        let deadline = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < deadline, "{need} did not start");
            std::thread::sleep(Duration::from_millis(50));
        }
        server
    }

    /// moto with an empty bucket, and the variables with which `s3://loci` is that bucket.
    pub fn moto() -> (StorageServer, Vec<(String, String)>) {
        let server = StorageServer::start("moto", "moto/bin/moto_server", |port| {
            ["-H", "127.0.0.1", "-p", &port.to_string()].map(str::to_owned).to_vec()
        });
        let host = format!("127.0.0.1:{}", server.port);
        let mut stream = TcpStream::connect(&host).unwrap();
        let request =
            format!("PUT /loci HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        let endpoint = format!("http://{host}");
        let variables = [
            ("AWS_ENDPOINT", endpoint.as_str()),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ACCESS_KEY_ID", "test"),
            ("AWS_SECRET_ACCESS_KEY", "test"),
        ];
        (server, variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec())
    }
}
