//! Holds a store against what really happened: `expected.json` of each client was taken from the requests it sent, not
//! from its store.
//!
//! Does not know how the store was made.

use loci_sources::edit::{FileEdit, may_edit, read_edits};
use loci_sources::{Environment, SOURCES, source_roots};
use record::{Call, Kind, Message, Row, RowKind, Status};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use testutil::needs::shared_folder;
use testutil::survey::{Surveyed, survey_all};

/// How an agent's store differs from the others.
pub(crate) struct Client {
    pub(crate) name: &'static str,
    /// Where the store is below the home directory, if the source cannot find it by itself.
    pub(crate) root: Option<&'static str>,
    /// Runs that leave nothing behind.
    pub(crate) unrecorded: &'static [&'static str],
    /// Runs of which only the prompt is recorded.
    pub(crate) prompt_only: &'static [&'static str],
    /// Calls that the client makes itself, without the model.
    pub(crate) own_tools: &'static [&'static str],
    /// Tools whose recorded result is worded differently from the one that the model was given.
    pub(crate) reworded: &'static [&'static str],
    /// Whether messages have a time.
    pub(crate) times: bool,
    /// Whether a failed request is recorded.
    pub(crate) api_error: bool,
    pub(crate) models: &'static [&'static str],
    /// Input, output, cache read and cache write tokens of the whole store; copies count once.
    pub(crate) tokens: [u32; 4],
}

pub(crate) const CLIENT: Client = Client {
    name: "",
    root: None,
    unrecorded: &[],
    prompt_only: &[],
    own_tools: &[],
    reworded: &[],
    times: true,
    api_error: true,
    models: &["stub-model"],
    tokens: [0; 4],
};

pub(crate) struct Store {
    sessions: Vec<Surveyed>,
}

/// What the client did, according to its requests.
pub(crate) fn read_expected(client: &Client) -> Value {
    let path = shared_folder().join("clients").join(client.name).join("expected.json");
    serde_json::from_slice(&std::fs::read(path).expect("needs corpus: no expected.json")).unwrap()
}

pub(crate) fn read_store(client: &Client, home: &Path) -> Store {
    let source = *SOURCES.iter().find(|source| source.name() == client.name).unwrap();
    let roots = match client.root {
        Some(root) => vec![home.join(root)],
        None => source_roots(source, &Environment { home: home.into(), vars: BTreeMap::new() }),
    };
    let mut sessions: Vec<_> = roots.iter().flat_map(|root| survey_all(source, root)).collect();
    sessions.sort_by_key(|one| one.facts.birth);
    assert!(!sessions.is_empty(), "{}: no session found", client.name);
    drop_copies(&mut sessions);
    Store { sessions }
}

/// Of an event in several sessions, the earliest keeps it, as in the catalogue.
fn drop_copies(sessions: &mut [Surveyed]) {
    let mut seen = BTreeSet::new();
    for session in sessions {
        let new: BTreeSet<u64> =
            session.rows.iter().map(|row| row.key).filter(|key| !seen.contains(key)).collect();
        session.rows.retain(|row| new.contains(&row.key));
        session.messages.retain(|(row, _)| new.contains(&row.key));
        session.calls.retain(|(row, _)| new.contains(&row.key));
        seen.extend(new);
    }
}

fn assert_coverage(client: &Client, store: &Store) {
    for session in &store.sessions {
        assert_eq!(session.unknown_names(), [""; 0], "{}", client.name);
        assert!(session.facts.problems.is_empty(), "{}: {:?}", client.name, session.facts.problems);
        let directory = session.session().directory();
        assert!(
            directory.ends_with(&format!("/work/{}/my.proj_é 1", client.name)),
            "{}: {directory}",
            client.name
        );
    }
}

/// A prompt without the quotes that Kilo puts around an argument with spaces.
fn typed(message: &Message) -> &str {
    message.text.trim().trim_matches('"')
}

/// The messages and calls of one prompt.
struct Turn<'s> {
    messages: Vec<&'s (Row, Message)>,
    calls: Vec<&'s (Row, Call)>,
}

/// The turns that begin with this prompt, in order of time.
fn find_turns<'s>(store: &'s Store, prompt: &str) -> Vec<Turn<'s>> {
    let mut turns = Vec::new();
    for session in &store.sessions {
        let asked = |(row, message): &&(Row, Message)| row.kind() == Kind::Prompt && typed(message) == prompt;
        for (prompt, _) in session.messages.iter().filter(asked) {
            let in_turn = |row: &Row| row.turn == prompt.turn && row.session == prompt.session;
            turns.push(Turn {
                messages: session.messages.iter().filter(|(row, _)| in_turn(row)).collect(),
                calls: session.calls.iter().filter(|(row, _)| in_turn(row)).collect(),
            });
        }
    }
    turns
}

/// Prompts, calls, inputs, results, statuses, exit codes, failures and replies of these runs.
pub(crate) fn check_runs(client: &Client, store: &Store, runs: &[Value]) {
    assert_coverage(client, store);
    let runs: Vec<&Value> = runs.iter().collect();
    let recorded = |run: &&&Value| !client.unrecorded.contains(&run["run"].as_str().unwrap());
    let mut prompts: Vec<&str> =
        runs.iter().filter(recorded).map(|run| run["prompt"].as_str().unwrap()).collect();
    let messages = store.sessions.iter().flat_map(|session| &session.messages);
    let mut found: Vec<&str> =
        messages.filter(|(row, _)| row.kind() == Kind::Prompt).map(|(_, message)| typed(message)).collect();
    prompts.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, prompts, "{}", client.name);
    for (n, run) in runs.iter().enumerate().filter(|(_, run)| recorded(run)) {
        let prompt = run["prompt"].as_str().unwrap();
        let before = runs[..n].iter().filter(recorded).filter(|r| r["prompt"] == run["prompt"]).count();
        let turns = find_turns(store, prompt);
        if client.prompt_only.contains(&run["run"].as_str().unwrap()) {
            assert!(turns[before].calls.is_empty(), "{} {}", client.name, run["run"]);
        } else {
            check_run(client, run, &turns[before]);
        }
    }
}

fn check_run(client: &Client, run: &Value, turn: &Turn<'_>) {
    let name = format!("{} {}", client.name, run["run"]);
    let expected = run["calls"].as_array().unwrap();
    let tools: Vec<&str> = expected.iter().map(|call| call["tool"].as_str().unwrap()).collect();
    let calls: Vec<&Call> = turn.calls.iter().map(|(_, call)| call).collect();
    let calls: Vec<&Call> =
        calls.into_iter().filter(|call| !client.own_tools.contains(&call.tool.as_str())).collect();
    let found: Vec<&str> = calls.iter().map(|call| call.tool.as_str()).collect();
    // The calls of a client whose tools are text are listed as such.
    let texts = tools.iter().all(|tool| *tool == "text");
    assert_eq!(found.len(), tools.len(), "{name}: {found:?}");
    assert!(texts || found == tools, "{name}: {found:?}");
    for (expected, call) in expected.iter().zip(calls) {
        check_call(client, &name, expected, call);
    }
    let replies: Vec<&str> = turn
        .messages
        .iter()
        .filter(|(row, _)| row.kind() == Kind::Reply)
        .map(|(_, m)| m.text.trim())
        .collect();
    if let Some(answer) = run["answer"].as_str() {
        assert!(replies.contains(&answer.trim()), "{name}: {answer:?} not in {replies:?}");
    }
    for said in expected.iter().filter_map(|call| call["said"].as_str()) {
        assert!(replies.contains(&said.trim()), "{name}: {said:?} not in {replies:?}");
    }
    if let Some(error) = run["api_error"]["message"].as_str().filter(|_| client.api_error) {
        let errors: Vec<&str> = turn
            .messages
            .iter()
            .filter(|(r, _)| r.kind() == Kind::ApiError)
            .map(|(_, m)| m.text.as_str())
            .collect();
        assert!(errors.iter().any(|text| text.contains(error)), "{name}: {errors:?}");
    }
}

fn check_call(client: &Client, name: &str, expected: &Value, call: &Call) {
    let name = format!("{name} {} {}", call.tool, expected["expect"]);
    let input: Value = serde_json::from_str(&call.input).unwrap();
    match expected["input"].as_str() {
        Some(block) => assert!(block.starts_with(&format!("```{}", call.tool)), "{name}"),
        None => assert_eq!(input, expected["input"], "{name}"),
    }
    let expect = expected["expect"].as_str().unwrap();
    let code = expect.strip_prefix("exit ").map(|code| code.parse::<i64>().unwrap());
    match (expect, code) {
        ("ok", _) => {
            assert_eq!((call.status, &call.error), (Status::Success, &None), "{name}");
            assert!(call.exit_code.is_none_or(|code| code == 0), "{name}");
        }
        ("aborted", _) => {
            assert!([Status::Pending, Status::Error].contains(&call.status), "{name}: {call:?}");
        }
        ("error", _) if expected["tool"] == "text" => assert_eq!(call.status, Status::Error, "{name}"),
        (_, code) => {
            assert_eq!((call.status, call.exit_code), (Status::Error, code), "{name}: {call:?}");
            assert!(call.error.as_ref().is_some_and(|error| !error.is_empty()), "{name}");
        }
    }
    let (Some(result), Some(output)) = (expected["result"].as_str(), &call.output) else { return };
    let output: String = serde_json::from_str(output).unwrap();
    if !client.reworded.contains(&call.tool.as_str()) && expect != "aborted" {
        // Some clients send results as JSON, of which the store or Loci has only the text.
        let shared = |from: &str, to: &str| {
            from.lines().map(str::trim).any(|line| line.len() > 2 && to.contains(line))
        };
        let same = shared(result, &output) || shared(&output, result);
        assert!(same, "{name}: {result:?} and {output:?}");
    }
}

/// Every row and session has a time that begins with `when`.
pub(crate) fn check_times(client: &Client, store: &Store, when: &str) {
    for session in &store.sessions {
        for row in session.rows.iter().filter(|row| !row.has_flag(record::row::USAGE_ONLY)) {
            assert!(row.at.to_string().starts_with(when), "{}: {row:?}", client.name);
            let ended = row.row != RowKind::Call || row.end == Row::NO_END || row.until >= row.at;
            assert!(ended, "{}: {row:?}", client.name);
        }
        assert!(session.session().started_at.to_string().starts_with(when), "{}", client.name);
    }
}

pub(crate) fn check_usage(client: &Client, store: &Store) {
    let mut total = [0; 4];
    for session in &store.sessions {
        total = std::array::from_fn(|n| total[n] + session.tokens()[n]);
    }
    assert_eq!(total, client.tokens, "{}", client.name);
    check_models(client, store);
}

pub(crate) fn check_models(client: &Client, store: &Store) {
    let models: BTreeSet<&str> = store
        .sessions
        .iter()
        .flat_map(|session| session.messages.iter().filter_map(|(_, message)| message.model.as_deref()))
        .collect();
    assert_eq!(models.into_iter().collect::<Vec<_>>(), client.models, "{}", client.name);
}

/// The script lets every client write a helper that returns 41 and change it to 42: both texts are known, and that before
/// the change as well. A client without tools writes it as it should be.
pub(crate) fn check_edits(client: &Client, store: &Store) {
    let calls = store.sessions.iter().flat_map(|session| &session.calls).map(|(_, call)| call);
    let edits: Vec<FileEdit> = calls.filter(|call| may_edit(&call.tool)).flat_map(read_edits).collect();
    let has = |before: Option<&str>, after: &str| {
        let is_before = |edit: &FileEdit| match (before, edit.before.as_deref()) {
            (Some(text), replaced) => replaced.is_some_and(|replaced| replaced.contains(text)),
            (None, replaced) => replaced.unwrap_or("").is_empty(),
        };
        edits
            .iter()
            .any(|edit| edit.path.ends_with("helper.py") && is_before(edit) && edit.after.contains(after))
    };
    let recorded = if client.own_tools.is_empty() {
        has(None, "return 41") && has(Some("return 41"), "return 42")
    } else {
        has(None, "return 42")
    };
    assert!(recorded, "{}: {edits:?}", client.name);
}
