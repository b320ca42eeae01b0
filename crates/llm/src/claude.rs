//! The `claude` command as a model: with the user's login and nothing else of theirs. No tools, settings, hooks, MCP
//! servers, memory files or transcript, in an empty folder; and a variable that disables our own hooks.
//!
//! Does not validate the answer.

use crate::completion::{Completion, CompletionRequest};
use crate::failure::{Failure, FailureClass};
use crate::{anthropic, retry_time};
use record::Stamp;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use subprocess::{Finished, Job, RunError, Supervisor};

/// Set within a model call of ours: `loci hook` prints nothing if this is set.
pub const NESTED_CALL_VAR: &str = "LOCI_WITHIN";

/// Variables passed on to the command: what it needs to find itself, its login and the network. All others are withheld,
/// above all those that mark our process as running inside another `claude`.
pub const PASSED_VARS: &[&str] = &[
    "HOME",
    "PATH",
    "USER",
    "LOGNAME",
    "SHELL",
    "TMPDIR",
    "LANG",
    "LC_ALL",
    "XDG_CONFIG_HOME",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "CLAUDE_CONFIG_DIR",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_CUSTOM_HEADERS",
    "ANTHROPIC_VERTEX_PROJECT_ID",
    "AWS_REGION",
    "AWS_PROFILE",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_BEARER_TOKEN_BEDROCK",
    "CLOUD_ML_REGION",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "NODE_EXTRA_CA_CERTS",
    "SSL_CERT_FILE",
    "IS_SANDBOX",
];

/// Variables that are always set. The command's default of ten retries would outlast any deadline of ours.
const FIXED_VARS: &[(&str, &str)] = &[
    (NESTED_CALL_VAR, "1"),
    ("CLAUDE_CODE_MAX_RETRIES", "1"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ("DISABLE_AUTOUPDATER", "1"),
];

/// Each of these disables something; see `claude --help`.
const FLAGS: &[&str] = &[
    "-p",
    "--output-format",
    "json",
    "--no-session-persistence",
    "--tools",
    "",
    "--setting-sources",
    "",
    "--strict-mcp-config",
    "--disable-slash-commands",
    "--settings",
    r#"{"disableAllHooks":true}"#,
];

/// The command prints one JSON object.
const MAX_OUTPUT_BYTES: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct ClaudeCommand {
    pub(crate) supervisor: Supervisor,
    pub(crate) program: PathBuf,
    /// An empty folder that belongs to no project.
    pub(crate) cwd: PathBuf,
    pub(crate) env: BTreeMap<OsString, OsString>,
    /// The configuration directory of another login, if the user configured one.
    pub(crate) config_dir: Option<PathBuf>,
}

pub(crate) fn command_args(request: &CompletionRequest<'_>) -> Vec<String> {
    let mut args: Vec<String> = FLAGS.iter().map(|flag| (*flag).to_string()).collect();
    let schema = request.schema.to_string();
    let own = [
        ("--model", request.model),
        ("--system-prompt", request.prompt.system()),
        ("--json-schema", schema.as_str()),
    ];
    for (flag, value) in own {
        args.extend([flag.to_string(), value.to_string()]);
    }
    args
}

impl ClaudeCommand {
    pub(crate) fn complete(
        &self,
        request: &CompletionRequest<'_>,
        within: Duration,
        now: Stamp,
    ) -> Result<Completion, Failure> {
        let mut env = self.env.clone();
        env.extend(FIXED_VARS.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
        env.insert("CLAUDE_CODE_MAX_OUTPUT_TOKENS".into(), request.max_tokens.to_string().into());
        if let Some(dir) = &self.config_dir {
            env.insert("CLAUDE_CONFIG_DIR".into(), dir.clone().into());
        }
        let job = Job {
            program: self.program.clone(),
            args: command_args(request).into_iter().map(OsString::from).collect(),
            env,
            cwd: self.cwd.clone(),
            stdin: request.prompt.text().as_bytes().to_vec(),
            deadline: within,
            stdout_limit: MAX_OUTPUT_BYTES,
            cancel: None,
        };
        parse_output(&self.supervisor.run(job).map_err(|failed| classify_run_error(&failed))?, now)
    }
}

fn classify_run_error(failed: &RunError) -> Failure {
    match failed {
        RunError::NotFound(_) | RunError::CannotStart { .. } => {
            Failure::of_provider(FailureClass::Auth, failed.to_string()).with_unsent(true)
        }
        RunError::TooMuchOutput(_) => Failure::of_job(FailureClass::Poison, failed.to_string()),
        RunError::TimedOut(_) | RunError::Cancelled | RunError::SupervisorKilled => {
            Failure::of_job(FailureClass::Transient, failed.to_string())
        }
    }
}

/// Parses the JSON object it prints. Only `is_error` decides about success: `subtype` can be "success" beside it.
fn parse_output(done: &Finished, now: Stamp) -> Result<Completion, Failure> {
    let output = String::from_utf8_lossy(&done.stdout);
    let object = output.lines().rev().find_map(|line| serde_json::from_str::<Value>(line).ok());
    let Some(answer) = object.filter(|answer| answer["type"] == "result") else {
        let words = if done.stderr.trim().is_empty() { &output } else { done.stderr.as_str() };
        return Err(classify_message(
            &format!("claude exited with status {}: {}", done.status, truncate_message(words)),
            None,
            now,
        ));
    };
    let mut usage = anthropic::parse_usage(&answer["usage"]);
    usage.cost = answer["total_cost_usd"].as_f64();
    let text = answer["result"].as_str().unwrap_or_default();
    if answer["is_error"] != false {
        let status = answer["api_error_status"].as_u64();
        return Err(classify_message(&format!("claude reported: {}", truncate_message(text)), status, now)
            .with_usage(usage));
    }
    let structured = Some(&answer["structured_output"]).filter(|it| it.is_object()).map(Value::to_string);
    match structured.unwrap_or_else(|| text.to_string()) {
        empty if empty.trim().is_empty() => {
            Err(Failure::of_job(FailureClass::Poison, "the answer is empty").with_usage(usage))
        }
        text => Ok(Completion { text, usage }),
    }
}

fn truncate_message(words: &str) -> String {
    words.trim().chars().filter(|c| !c.is_control()).take(300).collect()
}

/// Phrases that ask the user to log in, in lower case.
const LOGIN_PHRASES: &[&str] =
    &["/login", "log in", "not logged in", "invalid api key", "authentication", "unauthorized", "oauth"];

fn classify_message(words: &str, status: Option<u64>, now: Stamp) -> Failure {
    let low = words.to_lowercase();
    if let Some(until) = retry_time::quota_reset_time(words, now) {
        return Failure::of_provider(FailureClass::Quota, words).with_until(Some(until));
    }
    match status {
        Some(401 | 403 | 404) => Failure::of_provider(FailureClass::Auth, words),
        Some(402) => Failure::of_provider(FailureClass::Quota, words),
        Some(429) => Failure::of_provider(FailureClass::RateLimited, words),
        Some(502..=504 | 529) => Failure::of_provider(FailureClass::Transient, words),
        Some(400..=499) => Failure::of_job(FailureClass::Refused, words),
        Some(500..=599) => Failure::of_either(FailureClass::Transient, words),
        _ if LOGIN_PHRASES.iter().any(|word| low.contains(word)) => {
            Failure::of_provider(FailureClass::Auth, words)
        }
        _ if low.contains("connection error") => Failure::of_provider(FailureClass::Transient, words),
        _ => Failure::of_job(FailureClass::Transient, words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::{Fault, Usage};
    use serde_json::json;

    fn finished_with(status: i32, stdout: &str, stderr: &str) -> Finished {
        Finished { status, stdout: stdout.as_bytes().to_vec(), stderr: stderr.to_string() }
    }

    fn result_json(more: &Value) -> String {
        let mut whole = json!({"type": "result", "subtype": "success", "is_error": false, "result": "",
            "usage": {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 3}, "total_cost_usd": 0.01});
        for (name, value) in more.as_object().unwrap() {
            whole[name] = value.clone();
        }
        whole.to_string()
    }

    #[test]
    fn the_structured_output_is_the_answer_and_has_a_price() {
        let text = result_json(&json!({"structured_output": {"a": 1}, "result": "prose"}));
        let read = parse_output(&finished_with(0, &format!("a warning\n{text}\n"), ""), Stamp(0)).unwrap();
        assert_eq!(read.text, r#"{"a":1}"#);
        let usage = Usage { tokens_in: 15, tokens_out: 3, reported: true, cost: Some(0.01) };
        assert_eq!(read.usage, usage);
    }

    #[test]
    fn reported_errors_are_classified() {
        let now = Stamp::parse(b"2026-11-15T12:00:00Z");
        let error = |words: &str, status: Value| {
            result_json(&json!({"is_error": true, "result": words, "api_error_status": status}))
        };
        let limit = "You've hit your weekly limit · resets Nov 18 at 3am (UTC)";
        for (stdout, stderr, class, fault) in [
            (error(limit, json!(429)), "", FailureClass::Quota, Fault::Provider),
            (error(limit, Value::Null), "", FailureClass::Quota, Fault::Provider),
            (error("API Error: 529 overloaded", json!(529)), "", FailureClass::Transient, Fault::Provider),
            (error("API Error: 500", json!(500)), "", FailureClass::Transient, Fault::Either),
            (error("rate limited", json!(429)), "", FailureClass::RateLimited, Fault::Provider),
            (
                error("Invalid API key · Please run /login", Value::Null),
                "",
                FailureClass::Auth,
                Fault::Provider,
            ),
            (
                error("API Error: Connection error.", Value::Null),
                "",
                FailureClass::Transient,
                Fault::Provider,
            ),
            (error("prompt is too long", json!(400)), "", FailureClass::Refused, Fault::Job),
            (result_json(&json!({})), "", FailureClass::Poison, Fault::Job),
            (String::new(), "Segmentation fault", FailureClass::Transient, Fault::Job),
            (String::new(), "Please run /login", FailureClass::Auth, Fault::Provider),
            ("Here you are!".to_string(), "", FailureClass::Transient, Fault::Job),
        ] {
            let failure = parse_output(&finished_with(1, &stdout, stderr), now).unwrap_err();
            assert_eq!((failure.class, failure.fault), (class, fault), "{stdout} {stderr}");
        }
    }
}
