//! Test data for `bench index`: needles whose session is known, thousands of small transcripts, and a line that was
//! just written.
//!
//! Does not know how well any of it is found.

use crate::scan::find_transcripts;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

const ADJECTIVES: [&str; 16] = [
    "amber", "basalt", "cobalt", "dahlia", "ember", "fjord", "garnet", "heron", "indigo", "juniper",
    "kestrel", "lichen", "marble", "nectar", "osprey", "pewter",
];
const THINGS: [&str; 17] = [
    "anvil", "beacon", "cradle", "dynamo", "easel", "furnace", "gantry", "hangar", "inkwell", "jetty",
    "kiln", "lantern", "mortar", "nozzle", "orchard", "pulley", "quarry",
];
const PLACES: [&str; 7] = ["青龙", "白鹭", "松涛", "星河", "云雀", "寒梅", "碧潭"];
const DEVICES: [&str; 5] = ["调度器", "归档库", "计费网关", "灰度通道", "限流阀"];

/// A unique sentence, the query to find it, and its session.
pub(super) struct Needle {
    pub(super) text: String,
    pub(super) query: String,
    pub(super) session_id: String,
}

impl Needle {
    /// Kinds alternate: a rare word, a sentence of common ones, Chinese, an identifier, an error.
    fn new(n: usize, chat: &str) -> Needle {
        let (a, b) = (ADJECTIVES[n % 16], THINGS[n % 17]);
        let (place, device) = (PLACES[n % 7], DEVICES[n / 5 % 5]);
        let number = 1000 + n * 7919 % 8999;
        let (text, query) = match n % 5 {
            0 => {
                let word = format!("{}{}{n}", &a[..3], &b[1..]);
                (format!("The rollout ticket for this is {word} and it must not be closed early."), word)
            }
            1 => (
                format!(
                    "We agreed that the {a} {b} service keeps {number} connections because the vendor throttles."
                ),
                format!("{a} {b} {number} connections vendor throttles"),
            ),
            2 => (
                format!("决定：{place}{device}的上限改为{number}，否则夜间批处理会超时。"),
                // Starts in the middle of a run of characters.
                format!("{device}的上限改为{number}"),
            ),
            3 => {
                let upper = |word: &str| word[..1].to_uppercase() + &word[1..];
                let name = format!("{}{}Cache{n}", upper(a), upper(b));
                (format!("pub struct {name} {{ slots: [u32; {number}] }}"), name)
            }
            _ => (
                format!("error: linker `{a}-{b}-ld{n}` exited with status {number}"),
                format!("linker {a}-{b}-ld{n}"),
            ),
        };
        Needle { text, query, session_id: chat.to_owned() }
    }

    fn to_json(&self) -> Value {
        json!([self.text, self.query, self.session_id])
    }

    fn from_json(stored: &Value) -> Needle {
        let text = |at: usize| stored[at].as_str().unwrap_or_default().to_owned();
        Needle { text: text(0), query: text(1), session_id: text(2) }
    }
}

/// The needles of a history; adds them if they are missing.
pub(super) fn plant_needles(home: &Path, many: usize) -> io::Result<Vec<Needle>> {
    let list = home.join("needles.json");
    if let Ok(read) = fs::read(&list) {
        let stored: Vec<Value> = serde_json::from_slice(&read)?;
        return Ok(stored.iter().map(Needle::from_json).collect());
    }
    let mut files = find_transcripts(&home.join(".claude/projects"))?;
    files.retain(|file| !file.components().any(|part| part.as_os_str() == "subagents"));
    let mut needles = Vec::new();
    for n in 0..many {
        let file = &files[n * files.len() / many];
        let chat = file.file_stem().unwrap_or_default().to_string_lossy();
        let needle = Needle::new(n, &chat);
        append_lines(file, &transcript_lines(n, &chat, &needle.text))?;
        needles.push(needle);
    }
    fs::write(list, Value::from(needles.iter().map(Needle::to_json).collect::<Vec<_>>()).to_string())?;
    Ok(needles)
}

/// The transcript lines for a text by the user, the model or a tool.
fn transcript_lines(n: usize, chat: &str, text: &str) -> String {
    let line = |n: usize, kind: &str, message: &Value| {
        let mut line = json!({
            "parentUuid": null, "isSidechain": false, "userType": "external", "cwd": "/home/dev/work/planted",
            "sessionId": chat, "version": "2.1.96", "gitBranch": "main", "type": kind,
            "uuid": format!("{n:08x}-7e57-4000-8000-{n:012x}"), "timestamp": "2026-07-01T08:00:00.000Z",
        });
        line["message"] = message.clone();
        format!("{line}\n")
    };
    let reply = |n: usize, content: Value| {
        let id = format!("msg_planted{n:08}");
        let usage = json!({"input_tokens": 1, "output_tokens": 1});
        line(
            2 * n,
            "assistant",
            &json!({"id": id, "role": "assistant", "model": "m", "content": content, "usage": usage}),
        )
    };
    match n / 5 % 3 {
        0 => line(2 * n, "user", &json!({"role": "user", "content": text})),
        1 => reply(n, json!([{"type": "text", "text": text}])),
        _ => {
            let id = format!("toolu_planted{n:08}");
            let call = json!([{"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "make"}}]);
            let result = json!([{"type": "tool_result", "tool_use_id": id, "content": text}]);
            reply(n, call) + &line(2 * n + 1, "user", &json!({"role": "user", "content": result}))
        }
    }
}

pub(super) fn append_lines(file: &Path, lines: &str) -> io::Result<()> {
    OpenOptions::new().append(true).open(file)?.write_all(lines.as_bytes())
}

/// Appends a unique line to the transcript in the middle; returns the word to search for and its session.
pub(super) fn append_unique_line(home: &Path) -> io::Result<(String, String)> {
    let files = find_transcripts(&home.join(".claude/projects"))?;
    let file = &files[files.len() / 2];
    let chat = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let length = fs::metadata(file)?.len() as usize;
    let word = format!("justnow{length}x");
    // By the user, under an ID that no other line has.
    append_lines(
        file,
        &transcript_lines(15 * (10_000_000 + length), &chat, &format!("and what about {word}, is it done?")),
    )?;
    Ok((word, chat))
}

/// Creates a history of many short sessions.
pub(super) fn write_many_sessions(home: &Path, sessions: usize) -> io::Result<()> {
    let projects = home.join(".claude/projects");
    let done = home.join("done");
    if done.exists() {
        return Ok(());
    }
    for n in 0..sessions {
        let folder = projects.join(format!("-home-dev-work-project{}", n % 50));
        fs::create_dir_all(&folder)?;
        let chat = format!("{n:08x}-0000-4000-8000-{:012x}", n * 2_654_435_761 % 0xffff_ffff_ffff);
        let mut text = String::new();
        for turn in 0..6 {
            let (a, b) = (ADJECTIVES[(n + turn) % 16], THINGS[(n / 16 + turn) % 17]);
            let sentence =
                format!("the {a} {b} number {} is checked once more before it is closed", n * 6 + turn);
            let _ =
                write!(text, "{}", transcript_lines((n * 6 + turn) * 15 + turn % 3 * 5, &chat, &sentence));
        }
        fs::write(folder.join(format!("{chat}.jsonl")), text)?;
    }
    fs::write(done, "")
}

/// Creates a session that is newer than all others.
pub(super) fn write_new_session(home: &Path, n: usize, title: &str) -> io::Result<()> {
    let chat = format!("{n:08x}-0000-4000-8000-00000000feed");
    let lines = transcript_lines((1_000_000 + n) * 15, &chat, title);
    let lines = lines.replace("2026-07-01T08:00:00", &format!("2027-01-01T08:{:02}:{:02}", n / 60, n % 60));
    let folder = home.join(".claude/projects/-home-dev-work-planted");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(format!("{chat}.jsonl")), lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn needles_are_distinct_and_each_line_is_json() {
        let needles: Vec<Needle> = (0..400).map(|n| Needle::new(n, "chat")).collect();
        assert_eq!(needles.iter().map(|needle| &needle.query).collect::<BTreeSet<_>>().len(), 400);
        for (n, needle) in needles.iter().enumerate() {
            for line in transcript_lines(n, &needle.session_id, &needle.text).lines() {
                let read: Value = serde_json::from_str(line).unwrap();
                assert_eq!(read["sessionId"], "chat");
            }
        }
    }
}
