//! The programs that can speak for an agent: how each is asked without a terminal, how it goes on with a conversation, and what
//! of what it prints is its reply.
//!
//! Runs none of them; the message goes in by standard input, which all of them read.

use serde::Deserialize;
use std::ffi::OsString;
use subprocess::Finished;

pub struct AgentClient {
    /// Also the program's.
    pub name: &'static str,
    asked: &'static [&'static str],
    /// In front of the conversation's id, to go on with it; `-` stands for standard input where that must be said.
    goes_on: &'static str,
    last: Option<&'static str>,
    /// So much may it print.
    pub most: usize,
    heard: fn(&Finished) -> Heard,
    /// What it complains with when it does not know a conversation.
    lost: &'static str,
}

/// A reply is read by a person or a model.
const LONGEST_REPLY: usize = 4 << 20;

/// In the order in which they are offered.
pub const CLIENTS: &[AgentClient] = &[
    AgentClient {
        name: "claude",
        asked: &["-p", "--output-format", "json"],
        goes_on: "--resume",
        last: None,
        most: LONGEST_REPLY + (1 << 20),
        heard: of_claude,
        lost: "No conversation found",
    },
    AgentClient {
        name: "codex",
        // An agent's directory need not be a repository.
        asked: &["exec", "--json", "--skip-git-repo-check"],
        goes_on: "resume",
        last: Some("-"),
        // With its reply it prints what every command did that it ran. Four run at once, and all of it is held until they end.
        most: 64 << 20,
        heard: of_codex,
        lost: "no rollout found",
    },
];

/// What came of running a client.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    Reply {
        text: String,
        session: Option<String>,
    },
    /// It does not know the conversation any more.
    Forgotten,
    /// It may work another time.
    Later(String),
    Never(String),
    CalledOff,
}

impl AgentClient {
    pub fn named(name: &str) -> Option<&'static AgentClient> {
        CLIENTS.iter().find(|client| client.name == name)
    }

    pub fn args(&self, session: Option<&str>) -> Vec<OsString> {
        let on = session.map(|id| [self.goes_on, id]);
        let all = self.asked.iter().copied().chain(on.into_iter().flatten()).chain(self.last);
        all.map(OsString::from).collect()
    }

    pub fn heard(&self, finished: &Finished) -> Heard {
        match (self.heard)(finished) {
            Heard::Later(why) | Heard::Never(why) if why.contains(self.lost) => Heard::Forgotten,
            Heard::Reply { text, .. } if text.len() > LONGEST_REPLY => {
                Heard::Never(format!("its reply is longer than {} MB", LONGEST_REPLY >> 20))
            }
            heard => heard,
        }
    }
}

fn complaint(finished: &Finished) -> String {
    finished.stderr.lines().last().unwrap_or("it said nothing").to_string()
}

/// A provider that is overloaded may not be so later, nor a line be cut.
fn refused(status: u16, why: String) -> Heard {
    let low = why.to_lowercase();
    let passes =
        status == 429 || status >= 500 || status == 0 && PASSING.iter().any(|word| low.contains(word));
    if passes { Heard::Later(why) } else { Heard::Never(why) }
}

/// Where no status is told: what clients say of troubles that pass.
const PASSING: &[&str] = &[
    "at capacity",
    "overloaded",
    "rate limit",
    "stream disconnected",
    "error sending request",
    "connection",
    "timed out",
    "timeout",
];

/// What `claude -p --output-format json` prints; there is more in it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Printed {
    is_error: bool,
    result: Option<String>,
    session_id: Option<String>,
    api_error_status: Option<u16>,
}

fn of_claude(finished: &Finished) -> Heard {
    let printed: Option<Printed> = serde_json::from_slice(&finished.stdout).ok();
    match printed {
        Some(Printed { is_error: false, result: Some(text), session_id, .. }) if finished.status == 0 => {
            Heard::Reply { text, session: session_id }
        }
        printed => {
            let printed = printed.unwrap_or_default();
            let why = printed.result.filter(|r| !r.is_empty()).unwrap_or_else(|| complaint(finished));
            refused(printed.api_error_status.unwrap_or(0), why)
        }
    }
}

/// A line of what `codex exec --json` prints; of most kinds nothing is needed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Event {
    r#type: String,
    thread_id: Option<String>,
    item: Item,
    error: Reason,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Item {
    r#type: String,
    text: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Reason {
    message: String,
}

/// The last of what it said is its reply: before it stands what it was about to do.
fn of_codex(finished: &Finished) -> Heard {
    let (mut session, mut text, mut why, mut done) = (None, None, None, false);
    for event in finished.stdout.split(|b| *b == b'\n').filter_map(|line| serde_json::from_slice(line).ok()) {
        let Event { r#type, thread_id, item, error } = event;
        match r#type.as_str() {
            "thread.started" => session = thread_id,
            "item.completed" if item.r#type == "agent_message" => text = item.text,
            "turn.completed" => done = true,
            "turn.failed" => why = Some(error.message),
            _ => {}
        }
    }
    match (text, why) {
        (Some(text), None) if done && finished.status == 0 => Heard::Reply { text, session },
        (_, why) => {
            let why = why.filter(|why| !why.is_empty()).unwrap_or_else(|| complaint(finished));
            refused(status_in(&why), why)
        }
    }
}

/// It tells the provider's status in words: `last status: 429 Too Many Requests`.
fn status_in(why: &str) -> u16 {
    let after = why.split_once("status").map_or("", |(_, after)| after);
    let number: String =
        after.chars().skip_while(|c| ": ".contains(*c)).take_while(char::is_ascii_digit).collect();
    number.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(name: &str, status: i32, stdout: &str, stderr: &str) -> Heard {
        let (stdout, stderr) = (stdout.as_bytes().to_vec(), stderr.to_string());
        AgentClient::named(name).unwrap().heard(&Finished { status, stdout, stderr })
    }

    fn reply(text: &str) -> Heard {
        Heard::Reply { text: text.into(), session: Some("s".into()) }
    }

    #[test]
    fn a_conversation_begins_and_goes_on() {
        for (name, session, args) in [
            ("claude", None, "-p --output-format json"),
            ("claude", Some("s"), "-p --output-format json --resume s"),
            ("codex", None, "exec --json --skip-git-repo-check -"),
            ("codex", Some("s"), "exec --json --skip-git-repo-check resume s -"),
        ] {
            let given = AgentClient::named(name).unwrap().args(session);
            assert_eq!(given.join(std::ffi::OsStr::new(" ")), args);
        }
    }

    #[test]
    fn what_claude_prints_is_a_reply_or_a_reason() {
        for (status, stdout, stderr, expected) in [
            (0, r#"{"is_error":false,"result":"fine","session_id":"s"}"#, "", reply("fine")),
            (0, r#"{"is_error":false,"result":"","session_id":"s"}"#, "", reply("")),
            (
                1,
                r#"{"is_error":true,"subtype":"success","result":"overloaded","api_error_status":529}"#,
                "",
                Heard::Later("overloaded".into()),
            ),
            (
                1,
                r#"{"is_error":true,"result":"bad key","api_error_status":401}"#,
                "",
                Heard::Never("bad key".into()),
            ),
            (1, "", "x\nNo conversation found with session ID: 1", Heard::Forgotten),
            (1, "", "", Heard::Never("it said nothing".into())),
            (0, "prose", "odd", Heard::Never("odd".into())),
            (139, r#"{"is_error":false,"result":"half"}"#, "", Heard::Never("half".into())),
        ] {
            assert_eq!(heard("claude", status, stdout, stderr), expected, "{stdout}{stderr}");
        }
    }

    #[test]
    fn what_codex_prints_is_a_reply_or_a_reason() {
        const BEGUN: &str =
            "{\"type\":\"thread.started\",\"thread_id\":\"s\"}\n{\"type\":\"turn.started\"}\n";
        const DONE: &str = "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":1}}\n";
        let said = |kind: &str, text: &str| {
            format!(
                "{{\"type\":\"item.completed\",\"item\":{{\"id\":\"0\",\"type\":\"{kind}\",\"text\":\"{text}\"}}}}\n"
            )
        };
        let failed =
            |why: &str| format!("{BEGUN}{{\"type\":\"turn.failed\",\"error\":{{\"message\":\"{why}\"}}}}\n");
        let message = |text: &str| said("agent_message", text);
        for (status, stdout, stderr, expected) in [
            (0, format!("{BEGUN}{}{DONE}", message("fine")), "", reply("fine")),
            (
                0,
                format!("{BEGUN}{}{}{}{DONE}", message("I look"), said("reasoning", "hm"), message("fine")),
                "WARNING",
                reply("fine"),
            ),
            (0, format!("{BEGUN}{}", message("half")), "cut", Heard::Never("cut".into())),
            (1, format!("{BEGUN}{}{DONE}", message("half")), "odd", Heard::Never("odd".into())),
            (
                1,
                failed("exceeded retry limit, last status: 429 Too Many Requests"),
                "",
                Heard::Later("exceeded retry limit, last status: 429 Too Many Requests".into()),
            ),
            (
                1,
                failed("Selected model is at capacity. Please try a different model."),
                "",
                Heard::Later("Selected model is at capacity. Please try a different model.".into()),
            ),
            (
                1,
                failed("stream disconnected before completion: error sending request"),
                "",
                Heard::Later("stream disconnected before completion: error sending request".into()),
            ),
            (
                0,
                format!("{BEGUN}{}{DONE}", message(&"x".repeat(LONGEST_REPLY + 1))),
                "",
                Heard::Never("its reply is longer than 4 MB".into()),
            ),
            (
                1,
                failed("unexpected status 401 Unauthorized: bad key"),
                "",
                Heard::Never("unexpected status 401 Unauthorized: bad key".into()),
            ),
            (
                1,
                String::new(),
                "x\nError: thread/resume failed: no rollout found for thread id 1 (code -32600)",
                Heard::Forgotten,
            ),
            (0, "prose".to_string(), "", Heard::Never("it said nothing".into())),
        ] {
            assert_eq!(heard("codex", status, &stdout, stderr), expected, "{stdout:.200}{stderr}");
        }
    }
}
