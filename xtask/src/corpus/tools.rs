//! Tool calls and their results. Claude Code writes a result twice: as the model received it, and as `toolUseResult`,
//! which makes up two fifths of a history.
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

const fn new_tool(name: &'static str, weight: usize, shape: Shape) -> Tool {
    Tool { name, weight, shape }
}

pub(super) const TOOLS: [Tool; 12] = [
    new_tool("Bash", 430, Shape::Shell),
    new_tool("Read", 200, Shape::Read),
    new_tool("Edit", 130, Shape::Edit),
    new_tool("Write", 45, Shape::Write),
    new_tool("Grep", 60, Shape::Search),
    new_tool("Glob", 35, Shape::Search),
    new_tool("TodoWrite", 45, Shape::Todo),
    new_tool("Agent", 15, Shape::Agent),
    new_tool("WebFetch", 10, Shape::Text),
    new_tool("WebSearch", 8, Shape::Text),
    new_tool("mcp__docs__get_page", 12, Shape::Text),
    new_tool("mcp__browser__take_snapshot", 10, Shape::Text),
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
            id: super::ids::draw_tagged_id(rng, "toolu_01"),
            source: String::new(),
            path: rng.pick_favoured(&project.paths).as_str(),
            fails: !huge && rng.per_mille(FAILING),
            huge,
        }
    }

    pub(super) fn tool_name(&self) -> &'static str {
        TOOLS[self.tool].name
    }

    fn tool_shape(&self) -> Shape {
        TOOLS[self.tool].shape
    }

    pub(super) fn is_shell(&self) -> bool {
        self.tool_shape() == Shape::Shell
    }

    pub(super) fn write_input(&self, rng: &mut Rng, text: &Text, out: &mut String) {
        let path = self.path;
        let mut code = |median, sigma, most| {
            let length = rng.log_normal(median, sigma, most);
            text.code.draw_lines(rng, length)
        };
        let _ = match self.tool_shape() {
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
            Shape::Todo => write_todos(rng, text, out),
            Shape::Agent => {
                let length = rng.log_normal(700.0, 0.8, 6000);
                let prompt = text.prose.draw_lines(rng, length);
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
    pub(super) fn write_result(&self, rng: &mut Rng, text: &Text, out: &mut String) -> WrittenText {
        let list = matches!(self.tool_shape(), Shape::Agent | Shape::Text) && !self.fails;
        let open = if list { "[{\"type\":\"text\",\"text\":\"" } else { "\"" };
        let _ = write!(out, "{{\"tool_use_id\":\"{}\",\"type\":\"tool_result\",\"content\":{open}", self.id);
        let from = out.len();
        let plain =
            if self.fails { self.write_failure(rng, text, out) } else { self.write_output(rng, text, out) };
        let repeat = WrittenText { from, to: out.len(), plain };
        out.push_str(if list { "\"}]" } else { "\"" });
        if self.fails {
            out.push_str(",\"is_error\":true");
        } else if self.is_shell() {
            out.push_str(",\"is_error\":false");
        }
        out.push('}');
        repeat
    }

    fn write_failure(&self, rng: &mut Rng, text: &Text, out: &mut String) -> Option<String> {
        if self.is_shell() {
            let _ = write!(out, "Exit code {}\\n", [1, 1, 1, 2, 101, 127][rng.below(6)]);
            let length = rng.log_normal(500.0, 1.3, 20_000);
            out.push_str(text.log.draw_lines(rng, length));
        } else {
            let _ = write!(out, "{}", rng.pick(&REFUSALS));
        }
        None
    }

    /// Writes the output of a successful call. Returns the plain file content if the model received it with line
    /// numbers.
    fn write_output(&self, rng: &mut Rng, text: &Text, out: &mut String) -> Option<String> {
        let length = rng.log_normal(550.0, 1.8, 100_000);
        match self.tool_shape() {
            Shape::Shell => out.push_str(text.log.draw_lines(rng, length.min(30_000))),
            Shape::Search => out.push_str(text.log.draw_lines(rng, length.min(40_000))),
            Shape::Read => {
                let file = text.code.draw_lines(rng, length.max(400) * 2);
                for (number, line) in file.split_inclusive("\\n").enumerate() {
                    let _ = write!(out, "{:>6}→{line}", number + 1);
                }
                return Some(file.to_owned());
            }
            Shape::Edit | Shape::Write => {
                let _ = write!(out, "The file {} has been updated successfully.", self.path);
            }
            Shape::Todo => out.push_str("Todos have been modified successfully."),
            Shape::Agent => out.push_str(text.prose.draw_lines(rng, length.clamp(400, 12_000))),
            Shape::Text if self.huge => out.push_str(text.prose.draw_lines(rng, 700_000)),
            Shape::Text => out.push_str(text.prose.draw_lines(rng, length * 3)),
        }
        None
    }

    /// The value of `toolUseResult`.
    pub(super) fn write_structured(
        &self,
        repeat: &WrittenText,
        rng: &mut Rng,
        text: &Text,
        out: &mut String,
    ) {
        let path = self.path;
        if self.fails {
            out.push_str("\"Error: ");
            repeat.write_again(out);
            out.push('"');
            return;
        }
        let close = match self.tool_shape() {
            Shape::Shell => {
                out.push_str("{\"stdout\":\"");
                repeat.write_again(out);
                "\",\"stderr\":\"\",\"interrupted\":false,\"isImage\":false,\"noOutputExpected\":false}"
            }
            Shape::Read => {
                let _ = write!(out, "{{\"type\":\"text\",\"file\":{{\"filePath\":\"{path}\",\"content\":\"");
                repeat.write_again(out);
                "\",\"numLines\":40,\"startLine\":1,\"totalLines\":40}}"
            }
            Shape::Edit => {
                let length = rng.log_normal(7000.0, 0.9, 120_000);
                let (file, hunk) = (text.code.draw_lines(rng, length), text.code.draw_lines(rng, 300));
                let _ = write!(
                    out,
                    "{{\"filePath\":\"{path}\",\"oldString\":\"{hunk}\",\"newString\":\"{hunk}\""
                );
                let _ = write!(out, ",\"originalFile\":\"{file}\",\"structuredPatch\":[{{\"oldStart\":14,");
                let _ = write!(out, "\"oldLines\":7,\"newStart\":14,\"newLines\":9,\"lines\":[\"{hunk}\"");
                "]}],\"userModified\":false,\"replaceAll\":false}"
            }
            Shape::Write => {
                let length = rng.log_normal(3000.0, 1.1, 40_000);
                let file = text.code.draw_lines(rng, length);
                let _ = write!(out, "{{\"type\":\"create\",\"filePath\":\"{path}\",\"content\":\"{file}");
                "\",\"structuredPatch\":[],\"originalFile\":null}"
            }
            Shape::Search => {
                out.push_str("{\"mode\":\"content\",\"numFiles\":0,\"filenames\":[],\"content\":\"");
                repeat.write_again(out);
                "\",\"numLines\":9}"
            }
            Shape::Todo => "{\"oldTodos\":[],\"newTodos\":[]}",
            Shape::Agent => {
                out.push_str("{\"status\":\"completed\",\"agentId\":\"a000000\",\"content\":[{\"type\":\"text\",\"text\":\"");
                repeat.write_again(out);
                "\"}],\"totalDurationMs\":32855,\"totalTokens\":43179,\"totalToolUseCount\":2}"
            }
            Shape::Text => {
                out.push_str("[{\"type\":\"text\",\"text\":\"");
                repeat.write_again(out);
                "\"}]"
            }
        };
        out.push_str(close);
    }
}

/// Text already written, to be repeated: its range, or its content without line numbers.
pub(super) struct WrittenText {
    from: usize,
    to: usize,
    plain: Option<String>,
}

impl WrittenText {
    fn write_again(&self, out: &mut String) {
        match &self.plain {
            Some(plain) => out.push_str(plain),
            None => out.extend_from_within(self.from..self.to),
        }
    }
}

fn write_todos(rng: &mut Rng, text: &Text, out: &mut String) -> std::fmt::Result {
    out.push_str("{\"todos\":[");
    for item in 0..rng.in_range(2, 8) {
        let comma = if item > 0 { "," } else { "" };
        let what = text.prose.draw_lines(rng, 60);
        write!(out, "{comma}{{\"content\":\"{what}\",\"status\":\"pending\",\"activeForm\":\"Working\"}}")?;
    }
    out.push_str("]}");
    Ok(())
}
