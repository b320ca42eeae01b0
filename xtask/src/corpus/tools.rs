//! Tool calls and their results. Claude Code writes a result twice: as the model received it, and as `toolUseResult`, which
//! makes up two fifths of a history.
//!
//! Does not know the sessions.

use super::rng::Rng;
use super::text::{Project, Text};
use std::fmt::Write;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Shell,
    Read,
    Edit,
    Write,
    Search,
    Todo,
    Agent,
    Text,
}

pub(super) struct Tool {
    pub(super) name: &'static str,
    weight: usize,
    shape: Shape,
}

const fn tool(name: &'static str, weight: usize, shape: Shape) -> Tool {
    Tool { name, weight, shape }
}

pub(super) const TOOLS: [Tool; 12] = [
    tool("Bash", 430, Shape::Shell),
    tool("Read", 200, Shape::Read),
    tool("Edit", 130, Shape::Edit),
    tool("Write", 45, Shape::Write),
    tool("Grep", 60, Shape::Search),
    tool("Glob", 35, Shape::Search),
    tool("TodoWrite", 45, Shape::Todo),
    tool("Agent", 15, Shape::Agent),
    tool("WebFetch", 10, Shape::Text),
    tool("WebSearch", 8, Shape::Text),
    tool("mcp__docs__get_page", 12, Shape::Text),
    tool("mcp__browser__take_snapshot", 10, Shape::Text),
];

/// Per mille of calls that fail.
const FAILING: usize = 55;

const REFUSALS: [&str; 4] = [
    "<tool_use_error>File has not been read yet. Read it first before writing to it.</tool_use_error>",
    "<tool_use_error>String to replace not found in file.</tool_use_error>",
    "<tool_use_error>File does not exist.</tool_use_error>",
    "The user doesn't want to proceed with this tool use. The tool use was rejected.",
];

const COMMANDS: [&str; 5] =
    ["cargo test --workspace", "git log --oneline", "npm run build", "grep -rn \\\"TODO\\\" src", "ls -la"];

pub(super) struct Call<'a> {
    /// Index in `TOOLS`.
    pub(super) tool: usize,
    pub(super) id: String,
    /// The entry that made the call.
    pub(super) source: String,
    pub(super) path: &'a str,
    pub(super) fails: bool,
    /// A result of some hundred thousand bytes, written twice: a line of 1.4 MB.
    huge: bool,
}

impl<'a> Call<'a> {
    pub(super) fn draw(rng: &mut Rng, project: &'a Project, huge: bool) -> Call<'a> {
        let total = TOOLS.iter().map(|tool| tool.weight).sum();
        let mut at = rng.below(total);
        let mut tool = 0;
        while at >= TOOLS[tool].weight {
            at -= TOOLS[tool].weight;
            tool += 1;
        }
        if huge {
            tool = TOOLS.len() - 1;
        }
        Call {
            tool,
            id: super::ids::tagged(rng, "toolu_01"),
            source: String::new(),
            path: rng.favour(&project.paths).as_str(),
            fails: !huge && rng.per_mille(FAILING),
            huge,
        }
    }

    pub(super) fn name(&self) -> &'static str {
        TOOLS[self.tool].name
    }

    fn shape(&self) -> Shape {
        TOOLS[self.tool].shape
    }

    pub(super) fn is_shell(&self) -> bool {
        self.shape() == Shape::Shell
    }

    pub(super) fn input(&self, rng: &mut Rng, text: &Text, out: &mut String) {
        let path = self.path;
        let mut code = |median, sigma, most| {
            let length = rng.around(median, sigma, most);
            text.code.take(rng, length)
        };
        let _ = match self.shape() {
            Shape::Shell => {
                let script = code(120.0, 1.3, 3000);
                let command = rng.pick(&COMMANDS);
                write!(out, "{{\"command\":\"{command} {path}\\n{script}\",\"description\":\"Run it\"}}")
            }
            Shape::Read => write!(out, "{{\"file_path\":\"{path}\"}}"),
            Shape::Edit => {
                let (old, new) = (code(200.0, 1.2, 10_000), code(300.0, 1.2, 12_000));
                let _ =
                    write!(out, "{{\"replace_all\":false,\"file_path\":\"{path}\",\"old_string\":\"{old}\"");
                write!(out, ",\"new_string\":\"{new}\"}}")
            }
            Shape::Write => {
                let content = code(3000.0, 1.1, 40_000);
                write!(out, "{{\"file_path\":\"{path}\",\"content\":\"{content}\"}}")
            }
            Shape::Search => {
                write!(out, "{{\"pattern\":\"fn .*\",\"path\":\"{path}\",\"output_mode\":\"content\"}}")
            }
            Shape::Todo => todos(rng, text, out),
            Shape::Agent => {
                let length = rng.around(700.0, 0.8, 6000);
                let prompt = text.prose.take(rng, length);
                write!(
                    out,
                    "{{\"description\":\"Look\",\"subagent_type\":\"Explore\",\"prompt\":\"{prompt}\"}}"
                )
            }
            Shape::Text => {
                write!(out, "{{\"url\":\"https://example.org/{}\",\"prompt\":\"Sum up\"}}", rng.below(900))
            }
        };
    }

    /// Writes the block, from `{"tool_use_id"` to its end. Returns where its text is, to be repeated.
    pub(super) fn result(&self, rng: &mut Rng, text: &Text, out: &mut String) -> Repeat {
        let list = matches!(self.shape(), Shape::Agent | Shape::Text) && !self.fails;
        let open = if list { "[{\"type\":\"text\",\"text\":\"" } else { "\"" };
        let _ = write!(out, "{{\"tool_use_id\":\"{}\",\"type\":\"tool_result\",\"content\":{open}", self.id);
        let from = out.len();
        let plain = if self.fails { self.failure(rng, text, out) } else { self.said(rng, text, out) };
        let repeat = Repeat { from, to: out.len(), plain };
        out.push_str(if list { "\"}]" } else { "\"" });
        if self.fails {
            out.push_str(",\"is_error\":true");
        } else if self.is_shell() {
            out.push_str(",\"is_error\":false");
        }
        out.push('}');
        repeat
    }

    fn failure(&self, rng: &mut Rng, text: &Text, out: &mut String) -> Option<String> {
        if self.is_shell() {
            let _ = write!(out, "Exit code {}\\n", [1, 1, 1, 2, 101, 127][rng.below(6)]);
            let length = rng.around(500.0, 1.3, 20_000);
            out.push_str(text.log.take(rng, length));
        } else {
            let _ = write!(out, "{}", rng.pick(&REFUSALS));
        }
        None
    }

    /// Writes the output of a successful call. Returns the plain file content if the model received it with line numbers.
    fn said(&self, rng: &mut Rng, text: &Text, out: &mut String) -> Option<String> {
        let length = rng.around(550.0, 1.8, 100_000);
        match self.shape() {
            Shape::Shell => out.push_str(text.log.take(rng, length.min(30_000))),
            Shape::Search => out.push_str(text.log.take(rng, length.min(40_000))),
            Shape::Read => {
                let file = text.code.take(rng, length.max(400) * 2);
                for (number, line) in file.split_inclusive("\\n").enumerate() {
                    let _ = write!(out, "{:>6}→{line}", number + 1);
                }
                return Some(file.to_owned());
            }
            Shape::Edit | Shape::Write => {
                let _ = write!(out, "The file {} has been updated successfully.", self.path);
            }
            Shape::Todo => out.push_str("Todos have been modified successfully."),
            Shape::Agent => out.push_str(text.prose.take(rng, length.clamp(400, 12_000))),
            Shape::Text if self.huge => out.push_str(text.prose.take(rng, 700_000)),
            Shape::Text => out.push_str(text.prose.take(rng, length * 3)),
        }
        None
    }

    /// The value of `toolUseResult`.
    pub(super) fn structured(&self, repeat: &Repeat, rng: &mut Rng, text: &Text, out: &mut String) {
        let path = self.path;
        if self.fails {
            out.push_str("\"Error: ");
            repeat.again(out);
            out.push('"');
            return;
        }
        let close = match self.shape() {
            Shape::Shell => {
                out.push_str("{\"stdout\":\"");
                repeat.again(out);
                "\",\"stderr\":\"\",\"interrupted\":false,\"isImage\":false,\"noOutputExpected\":false}"
            }
            Shape::Read => {
                let _ = write!(out, "{{\"type\":\"text\",\"file\":{{\"filePath\":\"{path}\",\"content\":\"");
                repeat.again(out);
                "\",\"numLines\":40,\"startLine\":1,\"totalLines\":40}}"
            }
            Shape::Edit => {
                let length = rng.around(7000.0, 0.9, 120_000);
                let (file, hunk) = (text.code.take(rng, length), text.code.take(rng, 300));
                let _ = write!(
                    out,
                    "{{\"filePath\":\"{path}\",\"oldString\":\"{hunk}\",\"newString\":\"{hunk}\""
                );
                let _ = write!(out, ",\"originalFile\":\"{file}\",\"structuredPatch\":[{{\"oldStart\":14,");
                let _ = write!(out, "\"oldLines\":7,\"newStart\":14,\"newLines\":9,\"lines\":[\"{hunk}\"");
                "]}],\"userModified\":false,\"replaceAll\":false}"
            }
            Shape::Write => {
                let length = rng.around(3000.0, 1.1, 40_000);
                let file = text.code.take(rng, length);
                let _ = write!(out, "{{\"type\":\"create\",\"filePath\":\"{path}\",\"content\":\"{file}");
                "\",\"structuredPatch\":[],\"originalFile\":null}"
            }
            Shape::Search => {
                out.push_str("{\"mode\":\"content\",\"numFiles\":0,\"filenames\":[],\"content\":\"");
                repeat.again(out);
                "\",\"numLines\":9}"
            }
            Shape::Todo => "{\"oldTodos\":[],\"newTodos\":[]}",
            Shape::Agent => {
                out.push_str("{\"status\":\"completed\",\"agentId\":\"a000000\",\"content\":[{\"type\":\"text\",\"text\":\"");
                repeat.again(out);
                "\"}],\"totalDurationMs\":32855,\"totalTokens\":43179,\"totalToolUseCount\":2}"
            }
            Shape::Text => {
                out.push_str("[{\"type\":\"text\",\"text\":\"");
                repeat.again(out);
                "\"}]"
            }
        };
        out.push_str(close);
    }
}

/// Text already written, to be repeated: its range, or its content without line numbers.
pub(super) struct Repeat {
    from: usize,
    to: usize,
    plain: Option<String>,
}

impl Repeat {
    fn again(&self, out: &mut String) {
        match &self.plain {
            Some(plain) => out.push_str(plain),
            None => out.extend_from_within(self.from..self.to),
        }
    }
}

fn todos(rng: &mut Rng, text: &Text, out: &mut String) -> std::fmt::Result {
    out.push_str("{\"todos\":[");
    for item in 0..rng.within(2, 8) {
        let comma = if item > 0 { "," } else { "" };
        let what = text.prose.take(rng, 60);
        write!(out, "{comma}{{\"content\":\"{what}\",\"status\":\"pending\",\"activeForm\":\"Working\"}}")?;
    }
    out.push_str("]}");
    Ok(())
}
