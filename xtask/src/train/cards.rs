//! Trains how sure a suggestion is: the product itself is asked about the prompts of the sets of talk and of generated
//! histories, and the weights follow from which of its candidates were right.
//!
//! Does not know what the inputs mean (`recommend::confidence`).

use super::linear::{self, Row};
use crate::Outcome;
use crate::args::Args;
use crate::quality::recommend::{self as generated, open_service};
use crate::quality::set::Scratch;
use crate::repository;
use api::Handle;
use api::maintenance::Index;
use api::recommend::{Recommend, THRESHOLD};
use record::Stamp;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// A prompt with the product's best candidate.
struct Asked {
    set: String,
    refers: bool,
    inputs: Option<Vec<f32>>,
    is_right: bool,
}

pub(crate) fn run(args: &[String]) -> Outcome {
    let args = Args::parse(args, &["sets", "without"], &["folds"])?;
    let folder = args.path_value("sets").ok_or("--sets DIR is missing")?;
    let scratch = Scratch::new();
    let mut asked = ask_sets(&folder, &scratch)?;
    asked.retain(|one| Some(one.set.as_str()) != args.text_value("without"));
    let rows = generated_rows(&scratch)?;
    println!("{} prompts of talk, {} of generated histories", asked.len(), rows.len());
    if args.has_switch("folds") {
        print_folds(&asked, &rows);
        return Ok(true);
    }
    let weights = fit(&asked.iter().collect::<Vec<_>>(), &rows);
    let mut text = String::new();
    for (name, weight) in recommend::confidence::input_names().iter().zip(weights) {
        let _ = writeln!(text, "{name} {weight:.4}"); // writing to a String does not fail
    }
    let path = repository::root().join("crates/recommend/src/weights.txt");
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(true)
}

/// How much a prompt of a generated history counts: ordinary prompts and subjects never discussed are among them.
const GENERATED: f64 = 0.8;
const PENALTY: f64 = 2.0;

fn fit(asked: &[&Asked], generated: &[(Vec<f32>, bool)]) -> Vec<f64> {
    let row = |inputs: &[f32], positive: bool, weight: f64| {
        // The first input is constant.
        Row { values: inputs[1..].iter().map(|input| f64::from(*input)).collect(), positive, weight }
    };
    let talk = asked.iter().filter_map(|one| Some(row(one.inputs.as_ref()?, one.is_right, 1.0)));
    let rest = generated.iter().map(|(inputs, right)| row(inputs, *right, GENERATED));
    let linear = linear::train_rows(&talk.chain(rest).collect::<Vec<_>>(), PENALTY);
    [linear.bias].into_iter().chain(linear.weights).collect()
}

fn generated_rows(scratch: &Scratch) -> Result<Vec<(Vec<f32>, bool)>, String> {
    generated::tuning_rows(101, 2, scratch)
}

fn print_folds(asked: &[Asked], rows: &[(Vec<f32>, bool)]) {
    let mut sets: Vec<&str> = asked.iter().map(|one| one.set.as_str()).collect();
    sets.sort_unstable();
    sets.dedup();
    let mut total = [0; 5];
    for set in sets {
        let (held, others): (Vec<&Asked>, Vec<&Asked>) = asked.iter().partition(|one| one.set == set);
        let weights = fit(&others, rows);
        let counts = count_cards(&held, &weights);
        print_counts(&format!("set {set}, not trained on"), counts);
        total.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    print_counts("all sets, each not trained on", total);
}

/// Cards, right cards, false cards, prompts that refer back, ordinary prompts.
fn count_cards(held: &[&Asked], weights: &[f64]) -> [usize; 5] {
    let mut counts = [0; 5];
    for one in held {
        let sum = |inputs: &Vec<f32>| -> f64 {
            inputs.iter().zip(weights).map(|(input, weight)| f64::from(*input) * weight).sum()
        };
        let shows = one.inputs.as_ref().is_some_and(|inputs| 1.0 / (1.0 + (-sum(inputs)).exp()) >= THRESHOLD);
        counts[0] += usize::from(shows);
        counts[1] += usize::from(shows && one.is_right);
        counts[2] += usize::from(shows && !one.refers);
        counts[3] += usize::from(one.refers);
        counts[4] += usize::from(!one.refers);
    }
    counts
}

fn print_counts(title: &str, [cards, right, wrong, referring, ordinary]: [usize; 5]) {
    let share = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
    println!(
        "{title}: recall {:.1} % of {referring}, precision {:.1} % of {cards} cards, false {:.1} % of {ordinary}",
        share(right, referring),
        share(right, cards),
        share(wrong, ordinary)
    );
}

// ---- the sets as homes

fn ask_sets(folder: &Path, scratch: &Scratch) -> Result<Vec<Asked>, String> {
    let mut folders: Vec<PathBuf> = fs::read_dir(folder)
        .map_err(|error| format!("{}: {error}", folder.display()))?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.join("prompts.json").is_file())
        .collect();
    folders.sort();
    let mut all = Vec::new();
    for folder in folders {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        all.extend(ask_set(&folder, &name, &scratch.subfolder(&format!("cards-{name}")))?);
    }
    Ok(all)
}

fn ask_set(folder: &Path, name: &str, home: &Path) -> Result<Vec<Asked>, String> {
    for path in repository::files(&folder.join("sessions"))? {
        let slug = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        write_transcript(home, &slug, &read_json(&path)?)?;
    }
    let index = Index::default();
    open_service(home, Path::new("/"), generated::NOW).handle(&index).map_err(|error| error.to_string())?;
    let prompts = read_json(&folder.join("prompts.json"))?;
    Ok(prompts.as_array().into_iter().flatten().map(|prompt| ask(home, name, prompt)).collect())
}

fn ask(home: &Path, set: &str, prompt: &Value) -> Asked {
    let wanted: Vec<String> = match &prompt["expect"] {
        Value::String(slug) => vec![session_id(slug)],
        slugs => slugs.as_array().into_iter().flatten().filter_map(Value::as_str).map(session_id).collect(),
    };
    let request = Recommend { prompt: text(prompt, "prompt").to_owned(), ..Recommend::default() };
    let at = Stamp::parse(text(prompt, "at").as_bytes());
    let cwd = home.join("src").join(text(prompt, "project"));
    let _ = fs::create_dir_all(&cwd);
    let found = open_service(home, &cwd, at).confidence_inputs(&request);
    let is_right = found.as_ref().is_some_and(|(_, session, _)| wanted.contains(session));
    Asked {
        set: set.to_owned(),
        refers: !wanted.is_empty(),
        inputs: found.map(|(inputs, ..)| inputs),
        is_right,
    }
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

fn read_json(path: &Path) -> Result<Value, String> {
    serde_json::from_str(&repository::read(path)?).map_err(|error| format!("{}: {error}", path.display()))
}

/// A session ID that is the same in every run.
fn session_id(slug: &str) -> String {
    let key = record::event_key(b's', &[slug.as_bytes()]);
    format!("{:08x}-0000-4000-8000-{:012x}", key as u32, key >> 16 & 0xffff_ffff_ffff)
}

fn write_transcript(home: &Path, slug: &str, session: &Value) -> Result<(), String> {
    let project = home.join("src").join(text(session, "project"));
    let folder = home.join(".claude/projects").join(project.to_string_lossy().replace('/', "-"));
    let id = session_id(slug);
    let started = Stamp::parse(text(session, "start").as_bytes()).0;
    let mut lines = String::new();
    for (nth, turn) in session["turns"].as_array().into_iter().flatten().enumerate() {
        let (kind, role, content) = match (turn["user"].as_str(), turn["assistant"].as_str()) {
            (Some(text), _) => ("user", "user", json!(text)),
            (_, Some(text)) => ("assistant", "assistant", json!([{"type": "text", "text": text}])),
            _ => {
                let call = json!([{"type": "tool_use", "id": format!("t{nth}"), "name": turn["tool"], "input": turn["input"]}]);
                ("assistant", "assistant", call)
            }
        };
        let line = json!({
            "type": kind, "uuid": format!("{id}-{nth}"), "sessionId": id, "cwd": project, "version": "2.1.0",
            "timestamp": Stamp(started + nth as i64 * 20_000).to_string(), "isSidechain": false, "userType": "external",
            "message": {"role": role, "content": content},
        });
        let _ = writeln!(lines, "{line}"); // writing to a String does not fail
    }
    let file = folder.join(format!("{id}.jsonl"));
    let fail = |error: std::io::Error| format!("{}: {error}", file.display());
    fs::create_dir_all(&folder).map_err(fail)?;
    fs::create_dir_all(&project).map_err(fail)?;
    fs::write(&file, lines).map_err(fail)
}
