//! Surveys arbitrary bytes as the log or document of every further agent that stores files, and fetches every row.

#![no_main]

use libfuzzer_sys::fuzz_target;

/// Each agent with the name of a file that it would store; databases and folders are not bytes.
const FILES: &[(&str, &str)] = &[
    ("qwen", "x.jsonl"),
    ("pi", "x.jsonl"),
    ("copilot", "events.jsonl"),
    ("droid", "x.jsonl"),
    ("grok", "updates.jsonl"),
    ("kimi", "wire.jsonl"),
    ("cline", "x.messages.json"),
    ("cn", "x.json"),
    ("gptme", "conversation.jsonl"),
    ("aider", ".aider.chat.history.md"),
    ("cursor-cli", "x.jsonl"),
    ("vscode-copilot", "x.json"),
    ("vscode-copilot", "x.jsonl"),
    ("roo", "api_conversation_history.json"),
    ("goose", "x.jsonl"),
    ("amp", "T-x.json"),
    ("junie", "events.jsonl"),
    ("auggie", "x.json"),
    ("antigravity", "transcript.jsonl"),
    ("import", "x.jsonl"),
];

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let (agent, file) = FILES[usize::from(*first) % FILES.len()];
    sources::fuzz_survey(agent, file, rest);
});
