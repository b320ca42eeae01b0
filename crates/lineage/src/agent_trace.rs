//! Writes an answer as an Agent Trace 0.1 record: which lines of which files which conversation wrote.
//!
//! Lines that nobody is known to have written are left out. Does not know how they were attributed.

use crate::RunGit;
use api::terminal_text::append_fmt;
use api::why::{LineOwner, WhyFound, WhyStep};
use provenance::note::sha256_hex;
use record::Stamp;
use serde_json::{Map, Value, json};

/// The version of the specification.
const VERSION: &str = "0.1.0";

/// The record of an answer: about its commit, or about the files as they are, whose revision is the commit that is checked out.
pub fn to_trace(found: &WhyFound, git: RunGit<'_>, now: Stamp, tool: &str) -> Value {
    let head = || git(&["rev-parse", "--verify", "--quiet", "HEAD"], Vec::new()).ok();
    let head = || head().map(|hash| String::from_utf8_lossy(&hash).trim().to_string());
    let revision = found.commit.as_ref().map(|commit| commit.hash.clone()).or_else(head);
    make_record(found, revision.as_deref(), now, tool)
}

fn make_record(found: &WhyFound, revision: Option<&str>, now: Stamp, tool: &str) -> Value {
    let files = list_files(&found.owners);
    let steps = found.steps.iter().filter(|step| step.session_id.is_some());
    let told = json!({
        "target": found.target,
        "lines": found.lines,
        "explained": found.explained,
        "steps": steps.map(describe_step).collect::<Vec<_>>(),
    });
    let mut record = Map::new();
    record.insert("version".into(), json!(VERSION));
    record.insert("id".into(), json!(make_id(&[&revision.unwrap_or_default().into(), &files, &told])));
    record.insert("timestamp".into(), json!(String::from_utf8_lossy(&now.to_rfc3339())));
    if let Some(revision) = revision {
        record.insert("vcs".into(), json!({"type": "git", "revision": revision}));
    }
    record.insert("tool".into(), json!({"name": "loci", "version": tool}));
    record.insert("files".into(), files);
    record.insert("metadata".into(), json!({"dev.loci": told}));
    Value::Object(record)
}

/// An ID that is the same for the same content, in the form of a UUID of version 8.
fn make_id(parts: &[&Value]) -> String {
    let text: Vec<String> = parts.iter().map(ToString::to_string).collect();
    let hex = sha256_hex(text.join("\n").as_bytes());
    format!("{}-{}-8{}-8{}-{}", &hex[..8], &hex[8..12], &hex[12..15], &hex[15..18], &hex[18..30])
}

fn list_files(owners: &[LineOwner]) -> Value {
    let mut paths: Vec<&str> = owners.iter().map(|owner| owner.path.as_str()).collect();
    paths.sort_unstable();
    paths.dedup();
    let files = paths.into_iter().map(|path| {
        let mut lines: Vec<&LineOwner> = owners.iter().filter(|owner| owner.path == path).collect();
        lines.sort_by_key(|owner| owner.line);
        json!({"path": path, "conversations": list_conversations(&lines)})
    });
    files.collect()
}

fn list_conversations(lines: &[&LineOwner]) -> Value {
    let mut sessions: Vec<(&str, &str)> = Vec::new();
    for owner in lines {
        let key = (owner.source.as_str(), owner.session_id.as_str());
        if !sessions.contains(&key) {
            sessions.push(key);
        }
    }
    let conversations = sessions.into_iter().map(|(source, id)| {
        let own: Vec<&LineOwner> =
            lines.iter().filter(|it| it.session_id == id && it.source == source).copied().collect();
        let mut contributor = Map::from_iter([("type".to_string(), json!("ai"))]);
        if let Some(model) = own.iter().find_map(|owner| owner.model.as_deref()) {
            contributor.insert("model_id".into(), json!(model_id(model)));
        }
        json!({"url": session_url(source, id), "contributor": contributor, "ranges": list_ranges(&own)})
    });
    conversations.collect()
}

/// Adjacent lines as ranges, with a hash of their text.
fn list_ranges(lines: &[&LineOwner]) -> Value {
    let runs = lines.chunk_by(|one, next| next.line == one.line + 1);
    let ranges = runs.filter_map(|run| {
        let (first, last) = (run.first()?, run.last()?);
        let text: Vec<&str> = run.iter().map(|owner| owner.text.as_str()).collect();
        let hash = format!("sha256:{}", sha256_hex(text.join("\n").as_bytes()));
        Some(json!({"start_line": first.line, "end_line": last.line, "content_hash": hash}))
    });
    ranges.collect()
}

/// Where a conversation can be looked up: `loci show` takes its last part.
fn session_url(source: &str, id: &str) -> String {
    let mut url = String::from("loci://sessions/");
    append_escaped(&mut url, if source.is_empty() { "unknown" } else { source });
    url.push('/');
    append_escaped(&mut url, id);
    url
}

fn append_escaped(url: &mut String, text: &str) {
    for byte in text.bytes() {
        match byte {
            b'-' | b'_' | b'.' | b'~' => url.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => url.push(char::from(byte)),
            _ => append_fmt(url, format_args!("%{byte:02X}")),
        }
    }
}

/// Who makes a model, by the beginning of its name, as models.dev writes it.
const MAKERS: &[(&str, &str)] = &[
    ("claude", "anthropic"),
    ("gpt", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("gemini", "google"),
];
/// The specification allows no more characters.
const MAX_MODEL: usize = 250;

fn model_id(model: &str) -> String {
    let maker = MAKERS.iter().find(|(start, _)| model.starts_with(start));
    let named = match maker {
        Some((_, maker)) if !model.contains('/') => format!("{maker}/{model}"),
        _ => model.to_string(),
    };
    named.chars().take(MAX_MODEL).collect()
}

fn describe_step(step: &WhyStep) -> Value {
    json!({
        "url": session_url(step.source.as_deref().unwrap_or_default(), step.session_id.as_deref().unwrap_or_default()),
        "evidence": step.evidence,
        "attested_by": step.attested_by,
        "turn": step.turn,
        "calls": step.calls,
        "undone": step.undone,
        "outcome": step.outcome,
        "commit": step.commit.as_ref().map(|commit| &commit.hash),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(line: u32, session: &str, model: Option<&str>) -> LineOwner {
        let (path, text) = ("src/a.rs".to_string(), format!("line {line}"));
        let (session_id, source) = (session.to_string(), "claude".to_string());
        LineOwner { path, line, text, session_id, source, model: model.map(str::to_string) }
    }

    fn found(owners: &[LineOwner]) -> WhyFound {
        WhyFound { owners: owners.to_vec(), ..WhyFound::default() }
    }

    #[test]
    fn lines_are_grouped_by_conversation_and_range() {
        let owners = [
            owner(3, "a", Some("claude-x")),
            owner(1, "a", None),
            owner(2, "a", None),
            owner(4, "b", None),
            owner(9, "a", None),
        ];
        let trace = make_record(&found(&owners), Some("abc"), Stamp(0), "1.2.3");
        let talks = &trace["files"][0]["conversations"];
        let ranges = |at: usize| -> Vec<(u64, u64)> {
            let ranges = talks[at]["ranges"].as_array().unwrap().iter();
            ranges.map(|it| (it["start_line"].as_u64().unwrap(), it["end_line"].as_u64().unwrap())).collect()
        };
        assert_eq!((ranges(0), ranges(1)), (vec![(1, 3), (9, 9)], vec![(4, 4)]));
        assert_eq!(talks[0]["contributor"], json!({"type": "ai", "model_id": "anthropic/claude-x"}));
        assert_eq!(talks[1]["contributor"], json!({"type": "ai"}));
        assert_eq!(talks[1]["url"], "loci://sessions/claude/b");
        let again = make_record(&found(&owners), Some("abc"), Stamp(1), "1.2.3");
        assert_eq!(trace["id"], again["id"], "the same content has the same ID");
        assert_ne!(trace["id"], make_record(&found(&owners[1..]), Some("abc"), Stamp(0), "1")["id"]);
    }

    #[test]
    fn ids_of_sessions_are_escaped_in_urls() {
        assert_eq!(session_url("", "a b/ü"), "loci://sessions/unknown/a%20b%2F%C3%BC");
    }
}
