//! A tool call: the agent's input, the tool's output, and whether it succeeded.

#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord, Default)]
#[repr(u8)]
pub enum Status {
    Success,
    Error,
    /// No result was written: still running, or the client was killed.
    #[default]
    Pending,
    /// The result does not state whether the call succeeded.
    Unknown,
}

impl Status {
    pub const ALL: [Status; 4] = [Status::Success, Status::Error, Status::Pending, Status::Unknown];

    pub fn as_str(self) -> &'static str {
        match self {
            Status::Success => "success",
            Status::Error => "error",
            Status::Pending => "pending",
            Status::Unknown => "unknown",
        }
    }

    pub fn from_name(word: &str) -> Option<Status> {
        Status::ALL.into_iter().find(|s| s.as_str() == word)
    }

    pub fn from_byte(b: u8) -> Status {
        Status::ALL.get(b as usize).copied().unwrap_or(Status::Unknown)
    }
}

/// A complete call, read from its source. `input` is JSON text as the agent wrote it.
#[derive(Clone, Debug, Default)]
pub struct Call {
    pub id: String,
    pub tool: String,
    pub input: String,
    /// JSON text: a string, as the model saw it. None while there is no result.
    pub output: Option<String>,
    pub status: Status,
    /// Decoded text of the error.
    pub error: Option<String>,
    pub duration_ms: Option<i64>,
    pub exit_code: Option<i64>,
    pub file: Option<String>,
}

impl Call {
    /// The MCP server named in `mcp__server__tool`.
    pub fn mcp_server(tool: &str) -> Option<&str> {
        let (server, _) = tool.strip_prefix("mcp__")?.rsplit_once("__")?;
        (!server.is_empty()).then_some(server)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mcp_servers_are_read_from_tool_names() {
        for (tool, server) in [
            ("mcp__mem__recall", Some("mem")),
            ("mcp__plugin_mem-plugin_mem__recall", Some("plugin_mem-plugin_mem")),
            ("Bash", None),
            ("mcp__x", None),
        ] {
            assert_eq!(Call::mcp_server(tool), server, "{tool}");
        }
    }
}
