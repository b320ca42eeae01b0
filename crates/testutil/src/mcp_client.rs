//! An MCP client that talks to the real binary over standard input and output, one request at a time.
//!
//! Does not know the tools.

use crate::command;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

pub struct McpClient {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last_id: u64,
}

impl McpClient {
    /// Starts `loci mcp` in a home directory, with additional environment variables.
    pub fn new(home: &Path, vars: &[(&str, &str)]) -> McpClient {
        McpClient::start_with_args(home, &["mcp"], vars)
    }

    /// Starts `loci` with these arguments and performs the MCP handshake.
    pub fn start_with_args(home: &Path, args: &[&str], vars: &[(&str, &str)]) -> McpClient {
        let mut command = command(home, args);
        command.envs(vars.iter().copied());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut client = McpClient { child, input, output, last_id: 0 };
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        assert_eq!(client.request("initialize", hello)["result"]["serverInfo"]["name"], "loci");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    /// Sends a request and returns the response, skipping notifications.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the server closed the connection");
            let response: Value = serde_json::from_str(&line).unwrap();
            if response["id"] == id {
                return response;
            }
        }
    }

    /// Calls a tool and returns its result, whether it succeeded or failed.
    pub fn tool_result(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))["result"].take()
    }

    /// Calls a tool, which must succeed, and returns the envelope.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let mut result = self.tool_result(tool, arguments);
        assert_ne!(result["isError"], true, "{result}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), result["structuredContent"]);
        result["structuredContent"].take()
    }

    /// Calls a tool, which must fail, and returns the error code.
    #[track_caller]
    pub fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.tool_result(tool, arguments);
        assert_eq!(result["isError"], true, "{result}");
        let error: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        error["code"].as_str().unwrap().to_string()
    }
}

impl Drop for McpClient {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
