//! The client programs of agents: how to run each without a terminal, how to resume a session, and how to parse its output.
//!
//! Does not run them. The message is passed on standard input, which all of them read.

use serde::Deserialize;
use std::ffi::OsString;
use subprocess::Finished;

pub struct AgentClient {
    /// Also the name of the program.
    pub name: &'static str,
    base_args: &'static [&'static str],
    /// The argument before a session ID to resume it.
    resume_arg: &'static str,
    /// The last argument; `-` selects standard input if the program needs it.
    last_arg: Option<&'static str>,
    /// Limit for its standard output, in bytes.
    pub max_output: usize,
    parse: fn(&Finished) -> ClientOutcome,
    /// Part of its error message for an unknown session.
    session_lost_marker: &'static str,
}

/// Limit for a reply, which a person or a model reads; in bytes.
const LONGEST_REPLY: usize = 4 << 20;

/// The supported clients, in the order in which they are offered.
pub const CLIENTS: &[AgentClient] = &[
    AgentClient {
        name: "claude",
        base_args: &["-p", "--output-format", "json"],
        resume_arg: "--resume",
        last_arg: None,
        max_output: LONGEST_REPLY + (1 << 20),
        parse: parse_claude,
        session_lost_marker: "No conversation found",
    },
    AgentClient {
        name: "codex",
        // An agent's directory need not be a repository.
        base_args: &["exec", "--json", "--skip-git-repo-check"],
        resume_arg: "resume",
        last_arg: Some("-"),
        // It prints the output of every command it runs. Four clients run at once, and all output is buffered until they exit.
        max_output: 64 << 20,
        parse: parse_codex,
        session_lost_marker: "no rollout found",
    },
];

/// The outcome of running a client.
#[derive(Debug, PartialEq, Eq)]
pub enum ClientOutcome {
    Reply {
        text: String,
        session: Option<String>,
    },
    /// The session no longer exists.
    SessionLost,
    /// A transient failure; retry later.
    Transient(String),
    /// A permanent failure.
    Permanent(String),
    Cancelled,
}

impl AgentClient {
    pub fn by_name(name: &str) -> Option<&'static AgentClient> {
        CLIENTS.iter().find(|client| client.name == name)
    }

    pub fn args(&self, session: Option<&str>) -> Vec<OsString> {
        let resume = session.map(|id| [self.resume_arg, id]);
        let all = self.base_args.iter().copied().chain(resume.into_iter().flatten()).chain(self.last_arg);
        all.map(OsString::from).collect()
    }

    pub fn parse_outcome(&self, finished: &Finished) -> ClientOutcome {
        match (self.parse)(finished) {
            ClientOutcome::Transient(why) | ClientOutcome::Permanent(why)
                if why.contains(self.session_lost_marker) =>
            {
                ClientOutcome::SessionLost
            }
            ClientOutcome::Reply { text, .. } if text.len() > LONGEST_REPLY => {
                ClientOutcome::Permanent(format!("the reply is longer than {} MB", LONGEST_REPLY >> 20))
            }
            outcome => outcome,
        }
    }
}

fn last_stderr_line(finished: &Finished) -> String {
    finished.stderr.lines().last().unwrap_or("no error message").to_string()
}

/// Classifies a failure: overload and network errors are transient.
fn classify_failure(status: u16, why: String) -> ClientOutcome {
    let low = why.to_lowercase();
    let is_transient = status == 429
        || status >= 500
        || status == 0 && TRANSIENT_MARKERS.iter().any(|word| low.contains(word));
    if is_transient { ClientOutcome::Transient(why) } else { ClientOutcome::Permanent(why) }
}

/// Parts of clients' error messages for transient failures, used if no HTTP status is known.
const TRANSIENT_MARKERS: &[&str] = &[
    "at capacity",
    "overloaded",
    "rate limit",
    "stream disconnected",
    "error sending request",
    "connection",
    "timed out",
    "timeout",
];

/// The output of `claude -p --output-format json`; other fields are ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Printed {
    is_error: bool,
    result: Option<String>,
    session_id: Option<String>,
    api_error_status: Option<u16>,
}

fn parse_claude(finished: &Finished) -> ClientOutcome {
    let printed: Option<Printed> = serde_json::from_slice(&finished.stdout).ok();
    match printed {
        Some(Printed { is_error: false, result: Some(text), session_id, .. }) if finished.status == 0 => {
            ClientOutcome::Reply { text, session: session_id }
        }
        printed => {
            let printed = printed.unwrap_or_default();
            let why = printed.result.filter(|r| !r.is_empty()).unwrap_or_else(|| last_stderr_line(finished));
            classify_failure(printed.api_error_status.unwrap_or(0), why)
        }
    }
}

/// One line of the output of `codex exec --json`; most event types are ignored.
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

/// The last message is the reply; earlier messages announce what it is about to do.
fn parse_codex(finished: &Finished) -> ClientOutcome {
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
        (Some(text), None) if done && finished.status == 0 => ClientOutcome::Reply { text, session },
        (_, why) => {
            let why = why.filter(|why| !why.is_empty()).unwrap_or_else(|| last_stderr_line(finished));
            classify_failure(status_in(&why), why)
        }
    }
}

/// Extracts the HTTP status from a message such as `last status: 429 Too Many Requests`.
fn status_in(why: &str) -> u16 {
    let after = why.split_once("status").map_or("", |(_, after)| after);
    let number: String =
        after.chars().skip_while(|c| ": ".contains(*c)).take_while(char::is_ascii_digit).collect();
    number.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome_of(name: &str, status: i32, stdout: &str, stderr: &str) -> ClientOutcome {
        let (stdout, stderr) = (stdout.as_bytes().to_vec(), stderr.to_string());
        AgentClient::by_name(name).unwrap().parse_outcome(&Finished { status, stdout, stderr })
    }

    fn reply_with(text: &str) -> ClientOutcome {
        ClientOutcome::Reply { text: text.into(), session: Some("s".into()) }
    }

    #[test]
    fn arguments_start_and_resume_a_session() {
        for (name, session, args) in [
            ("claude", None, "-p --output-format json"),
            ("claude", Some("s"), "-p --output-format json --resume s"),
            ("codex", None, "exec --json --skip-git-repo-check -"),
            ("codex", Some("s"), "exec --json --skip-git-repo-check resume s -"),
        ] {
            let given = AgentClient::by_name(name).unwrap().args(session);
            assert_eq!(given.join(std::ffi::OsStr::new(" ")), args);
        }
    }

    #[test]
    fn claude_output_is_parsed_into_an_outcome() {
        for (status, stdout, stderr, expected) in [
            (0, r#"{"is_error":false,"result":"fine","session_id":"s"}"#, "", reply_with("fine")),
            (0, r#"{"is_error":false,"result":"","session_id":"s"}"#, "", reply_with("")),
            (
                1,
                r#"{"is_error":true,"subtype":"success","result":"overloaded","api_error_status":529}"#,
                "",
                ClientOutcome::Transient("overloaded".into()),
            ),
            (
                1,
                r#"{"is_error":true,"result":"bad key","api_error_status":401}"#,
                "",
                ClientOutcome::Permanent("bad key".into()),
            ),
            (1, "", "x\nNo conversation found with session ID: 1", ClientOutcome::SessionLost),
            (1, "", "", ClientOutcome::Permanent("no error message".into())),
            (0, "prose", "odd", ClientOutcome::Permanent("odd".into())),
            (139, r#"{"is_error":false,"result":"half"}"#, "", ClientOutcome::Permanent("half".into())),
        ] {
            assert_eq!(outcome_of("claude", status, stdout, stderr), expected, "{stdout}{stderr}");
        }
    }

    #[test]
    fn codex_output_is_parsed_into_an_outcome() {
        const BEGUN: &str =
            "{\"type\":\"thread.started\",\"thread_id\":\"s\"}\n{\"type\":\"turn.started\"}\n";
        const DONE: &str = "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":1}}\n";
        let item = |kind: &str, text: &str| {
            format!(
                "{{\"type\":\"item.completed\",\"item\":{{\"id\":\"0\",\"type\":\"{kind}\",\"text\":\"{text}\"}}}}\n"
            )
        };
        let failed =
            |why: &str| format!("{BEGUN}{{\"type\":\"turn.failed\",\"error\":{{\"message\":\"{why}\"}}}}\n");
        let message = |text: &str| item("agent_message", text);
        for (status, stdout, stderr, expected) in [
            (0, format!("{BEGUN}{}{DONE}", message("fine")), "", reply_with("fine")),
            (
                0,
                format!("{BEGUN}{}{}{}{DONE}", message("I look"), item("reasoning", "hm"), message("fine")),
                "WARNING",
                reply_with("fine"),
            ),
            (0, format!("{BEGUN}{}", message("half")), "cut", ClientOutcome::Permanent("cut".into())),
            (1, format!("{BEGUN}{}{DONE}", message("half")), "odd", ClientOutcome::Permanent("odd".into())),
            (
                1,
                failed("exceeded retry limit, last status: 429 Too Many Requests"),
                "",
                ClientOutcome::Transient("exceeded retry limit, last status: 429 Too Many Requests".into()),
            ),
            (
                1,
                failed("Selected model is at capacity. Please try a different model."),
                "",
                ClientOutcome::Transient(
                    "Selected model is at capacity. Please try a different model.".into(),
                ),
            ),
            (
                1,
                failed("stream disconnected before completion: error sending request"),
                "",
                ClientOutcome::Transient(
                    "stream disconnected before completion: error sending request".into(),
                ),
            ),
            (
                0,
                format!("{BEGUN}{}{DONE}", message(&"x".repeat(LONGEST_REPLY + 1))),
                "",
                ClientOutcome::Permanent("the reply is longer than 4 MB".into()),
            ),
            (
                1,
                failed("unexpected status 401 Unauthorized: bad key"),
                "",
                ClientOutcome::Permanent("unexpected status 401 Unauthorized: bad key".into()),
            ),
            (
                1,
                String::new(),
                "x\nError: thread/resume failed: no rollout found for thread id 1 (code -32600)",
                ClientOutcome::SessionLost,
            ),
            (0, "prose".to_string(), "", ClientOutcome::Permanent("no error message".into())),
        ] {
            assert_eq!(outcome_of("codex", status, &stdout, stderr), expected, "{stdout:.200}{stderr}");
        }
    }
}
