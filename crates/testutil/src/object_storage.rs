//! A storage server on loopback that speaks S3: moto.
//!
//! Does not install it: `.ci/run` does.

use crate::needs::path_variable;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A server with an empty bucket `loci`, which ends with the test.
pub struct ObjectStorage {
    process: Child,
    port: u16,
}

impl Drop for ObjectStorage {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn moto_program() -> PathBuf {
    let cache = path_variable("XDG_CACHE_HOME").or_else(|| Some(path_variable("HOME")?.join(".cache")));
    cache.unwrap_or_default().join("loci-ci/moto/bin/moto_server")
}

impl ObjectStorage {
    pub fn start() -> ObjectStorage {
        let program = moto_program();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let process = Command::new(&program)
            .args(["-H", "127.0.0.1", "-p", &port.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("needs moto: {}: {error}", program.display()));
        let storage = ObjectStorage { process, port };
        storage.create_bucket();
        storage
    }

    fn create_bucket(&self) {
        let until = Instant::now() + Duration::from_secs(60);
        let mut stream = loop {
            match TcpStream::connect(("127.0.0.1", self.port)) {
                Ok(stream) => break stream,
                Err(error) => assert!(Instant::now() < until, "moto does not answer: {error}"),
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        let host = format!("127.0.0.1:{}", self.port);
        let request =
            format!("PUT /loci HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }

    /// The variables with which `s3://loci` is this bucket.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("AWS_ENDPOINT", format!("http://127.0.0.1:{}", self.port)),
            ("AWS_ALLOW_HTTP", "true".to_string()),
            ("AWS_REGION", "us-east-1".to_string()),
            ("AWS_ACCESS_KEY_ID", "test".to_string()),
            ("AWS_SECRET_ACCESS_KEY", "test".to_string()),
        ]
    }
}
