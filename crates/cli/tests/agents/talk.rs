//! Realistic sessions and prompts in the real Claude Code: the right card for prompts that refer back, none for ordinary
//! ones, and at the start of a session what holds in the project. Set `a` of the talk that nobody tuned for, see
//! docs/concepts/talk.md.

use crate::clients::run_session_script;
use crate::fixture::Fixture;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use testutil::clients::{CLAUDE, Clients};
use testutil::needs::shared_folder;

/// Prompts that refer back and get a card: half of the 24 in the set do.
const REFERRING: [&str; 10] = [
    "continue the carriers thing",
    "where were we with the label voids?",
    "support says double mails again",
    "devon wants to touch the pgbouncer",
    "mara pushed a new version",
    "did we ever finish the grpc thing",
    "new job for the postnl manifest",
    "add a fuel surcharge for postnl",
    "what did u tell me about skip locked",
    "jonas is on about own repos",
];
const ORDINARY: usize = 20;
/// A hook that misses its deadline of 100 ms on a busy machine is silent: then the prompt is typed again.
const ATTEMPTS: usize = 3;
/// The budget of the hook at the start of a session, in bytes: about 400 tokens.
const MAX_START_BYTES: usize = 1_200;

struct Talk {
    fixture: Fixture,
    prompts: Vec<Value>,
    /// Session IDs by the name of the session in the set.
    ids: Value,
}

impl Talk {
    fn new() -> Talk {
        let set = shared_folder().join("eval/talk/a");
        let fixture = Fixture::new();
        let ids = write_transcripts(&fixture, &set);
        fixture.run_json(&["setup", "claude-code", "--yes"], 0);
        fixture.run_json(&["index", "--json"], 0);
        fixture.run_json(&["memory", "consolidate", "--json"], 0);
        let prompts = fs::read_to_string(set.join("prompts.json")).unwrap();
        Talk { fixture, prompts: serde_json::from_str(&prompts).unwrap(), ids }
    }

    /// Starts a session for each prompt, in the prompt's project; returns the requests to the model.
    fn type_prompts(&self, prompts: &[&Value]) -> String {
        let clients = Clients::offline(CLAUDE);
        let mut script = r#". "$CLIENTS/env.sh"; export CL_TIMEOUT=60"#.to_string();
        for (n, prompt) in prompts.iter().enumerate() {
            self.fixture.write(&format!("prompt-{n}"), prompt["prompt"].as_str().unwrap());
            let project = prompt["project"].as_str().unwrap();
            script += &format!(
                "\ncd \"$1/src/{project}\"; cl \"$1\" -p \"$(cat \"$1/prompt-{n}\")\" --output-format stream-json --verbose \
                 < /dev/null > \"$1/{n}.jsonl\" 2>&1"
            );
        }
        run_session_script(&self.fixture, &clients, "claude-code/claude_scenarios.json", &(script + "\n"))
    }

    /// What a person is shown besides the reply.
    fn notices(&self, n: usize) -> String {
        let text = self.fixture.read(&format!("{n}.jsonl"));
        let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let notices = events.filter(|event| event["subtype"] == "informational");
        notices.map(|event| event["content"].as_str().unwrap_or_default().to_string()).collect()
    }

    fn find_prompt(&self, start: &str) -> &Value {
        let found = self.prompts.iter().find(|prompt| prompt["prompt"].as_str().unwrap().starts_with(start));
        found.unwrap_or_else(|| panic!("the set has no prompt `{start}`"))
    }

    fn expected_ids(&self, prompt: &Value) -> Vec<&str> {
        let slugs = prompt["expect"].as_array().cloned().unwrap_or_else(|| vec![prompt["expect"].clone()]);
        slugs.iter().map(|slug| self.ids[slug.as_str().unwrap()].as_str().unwrap()).collect()
    }
}

fn write_transcripts(fixture: &Fixture, set: &PathBuf) -> Value {
    let script = "import glob, json, os, sys\nsys.dont_write_bytecode = True\nsys.path.insert(0, sys.argv[1])\nimport transcript\n\
        paths = glob.glob(sys.argv[2] + '/sessions/*.json')\n\
        print(json.dumps({os.path.basename(p)[:-5]: transcript.write(sys.argv[3], os.path.basename(p)[:-5], json.load(open(p))) for p in paths}))";
    let output = Command::new("python3")
        .args(["-c", script])
        .arg(shared_folder().join("eval"))
        .arg(set)
        .arg(fixture.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
#[ignore = "needs claude-code: see CONTRIBUTING.md"]
fn ten_prompts_that_refer_back_get_their_cards_and_each_session_what_holds() {
    let mut left = REFERRING.to_vec();
    for attempt in 0..ATTEMPTS {
        if left.is_empty() {
            break;
        }
        // A fresh home: otherwise the earlier attempt is a session that says the same.
        let talk = Talk::new();
        let prompts: Vec<&Value> = left.iter().map(|start| talk.find_prompt(start)).collect();
        let requests = talk.type_prompts(&prompts);
        let cards: Vec<String> = (0..prompts.len()).map(|n| talk.notices(n)).collect();
        for (prompt, card) in prompts.iter().zip(&cards) {
            let is_right = talk.expected_ids(prompt).iter().any(|id| card.contains(id));
            assert!(card.is_empty() || is_right, "{prompt}: {card}");
        }
        if attempt == 0 {
            assert_start_has_what_holds(&talk, &requests);
        }
        left = left
            .into_iter()
            .zip(&cards)
            .filter(|(_, card)| card.is_empty())
            .map(|(start, _)| start)
            .collect();
    }
    assert_eq!(left, Vec::<&str>::new(), "no card");
}

#[test]
#[ignore = "needs claude-code: see CONTRIBUTING.md"]
fn twenty_ordinary_prompts_get_no_card() {
    let talk = Talk::new();
    let ordinary = talk.prompts.iter().filter(|prompt| prompt["expect"].is_null());
    let prompts: Vec<&Value> = ordinary.take(ORDINARY).collect();
    assert_eq!(prompts.len(), ORDINARY);
    talk.type_prompts(&prompts);
    for (n, prompt) in prompts.iter().enumerate() {
        let events = talk.fixture.read(&format!("{n}.jsonl"));
        assert!(events.contains("\"type\":\"result\""), "{prompt} was not answered: {events}");
        assert_eq!(talk.notices(n), "", "{prompt}");
    }
}

/// The model got rules and decisions that hold in its project, and none that was replaced.
fn assert_start_has_what_holds(talk: &Talk, requests: &str) {
    let exported = talk.fixture.run_json(&["memory", "export"], 0);
    let request = requests
        .lines()
        .filter(|line| line.contains("/v1/messages"))
        .find(|line| line.contains("continue the carriers thing"))
        .unwrap();
    let facts = exported["facts"].as_array().unwrap();
    let given = |state: &str| {
        let of_state = facts.iter().filter(|fact| fact["state"].as_str().unwrap_or("fresh") == state);
        let texts = of_state.map(|fact| fact["text"].as_str().unwrap());
        let quoted = |text: &str| serde_json::to_string(text).unwrap().trim_matches('"').to_string();
        texts
            .filter(|text| text.len() > 20 && request.contains(&quoted(text)))
            .map(String::from)
            .collect::<Vec<_>>()
    };
    let current = given("fresh");
    assert!(current.len() >= 3, "the model got {current:?}: {request:.4000}");
    assert!(current.iter().map(String::len).sum::<usize>() <= MAX_START_BYTES, "{current:?}");
    assert_eq!(given("superseded"), Vec::<String>::new());
}
