//! Trains the trees that decide whether a value near the word for a secret is one (`loci-mask`).
//!
//! Does not know how a value is described (`mask::evidence`).

use super::boost::{self, Example, Settings, Tree, write_trees};
use crate::Outcome;
use crate::args::Args;
use crate::repository;
use mask::evidence::{Evidence, EvidenceCollector, Features, QUICK};
use serde_json::Value;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

const MODEL: Settings = Settings { trees: 150, depth: 6, rate: 0.1, ..Settings::DEFAULT };
const GATE: Settings = Settings { trees: 12, depth: 5, rate: 0.3, ..Settings::DEFAULT };

/// Lines of source code that are described together, and how much of it is used: every n-th file.
const LINES: usize = 8;
const MAX_FILE: u64 = 200_000;

/// A text with the evidence in it.
struct Text {
    writer: String,
    is_secret: bool,
    /// Whether rules other than the trees find the secret, or alter the decoy.
    by_rules: bool,
    rows: Range<usize>,
}

#[derive(Default)]
struct Data {
    texts: Vec<Text>,
    examples: Vec<Example>,
}

pub(crate) fn run(args: &[String]) -> Outcome {
    let args = Args::parse(args, &["text"], &["folds"])?;
    let mut data = Data::default();
    data.read_examples()?;
    data.read_generated_decoys();
    data.read_sources(repository::root(), 1)?;
    if let Some(folder) = args.path_value("text") {
        data.read_sources(&folder, 12)?;
    }
    println!("{} texts, {} values", data.texts.len(), data.examples.len());
    if args.has_switch("folds") {
        data.print_folds();
        return Ok(true);
    }
    let folder = repository::root().join("crates/mask/src");
    write_trees(&folder.join("gate.txt"), &boost::train(&data.quick_examples(), &GATE))?;
    write_trees(&folder.join("trees.txt"), &boost::train(&data.examples, &MODEL))?;
    Ok(true)
}

impl Data {
    fn read_examples(&mut self) -> Result<(), String> {
        let folder = repository::root().join("crates/mask/testdata");
        let mut names: Vec<PathBuf> = repository::files(&folder)?;
        names.sort();
        for path in names {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let Some(rest) = name.strip_prefix("training-") else { continue };
            let (writer, kind) = rest.split_once('-').ok_or_else(|| format!("{name}: no writer"))?;
            for line in repository::read(&path)?.lines() {
                let entry: Value = serde_json::from_str(line).map_err(|error| format!("{name}: {error}"))?;
                if kind == "secrets" {
                    self.add_secret(writer, &reversed(&entry, "context"), &reversed(&entry, "secret"));
                } else {
                    self.add_harmless(writer, &reversed(&entry, "text"), 3.0);
                }
            }
        }
        Ok(())
    }

    fn read_generated_decoys(&mut self) {
        for seed in [3, 4] {
            for text in mask::specimen::generate_decoys(seed) {
                self.add_harmless("generated", &text, 1.0);
            }
        }
    }

    /// Every n-th source file below the folder.
    fn read_sources(&mut self, folder: &Path, every: usize) -> Result<(), String> {
        let mut files = repository::files(folder)?;
        files.sort();
        let endings = ["rs", "md", "toml", "ts", "py", "js", "json", "yml"];
        let is_source = |path: &&PathBuf| {
            let ending = path.extension().unwrap_or_default().to_string_lossy().into_owned();
            let small = fs::metadata(path).is_ok_and(|file| file.len() <= MAX_FILE);
            small && !holds_invented_secrets(path) && endings.contains(&ending.as_str())
        };
        for path in files.iter().filter(is_source).step_by(every) {
            let Ok(text) = fs::read_to_string(path) else { continue };
            let lines: Vec<&str> = text.lines().collect();
            for part in lines.chunks(LINES) {
                self.add_harmless("source", &part.join("\n"), 0.7);
            }
        }
        Ok(())
    }

    fn add_secret(&mut self, writer: &str, text: &str, secret: &str) {
        let Some(at) = text.find(secret) else { return };
        let by_rules =
            !mask::find_by_rules(text).iter().all(|it| it.to <= at || it.from >= at + secret.len());
        let from = self.examples.len();
        let mut collector = ExampleCollector {
            secret: Some(at..at + secret.len()),
            weight: 1.0,
            examples: &mut self.examples,
        };
        mask::collect_evidence(text, &mut collector);
        self.add_text(writer, true, by_rules, from);
    }

    fn add_harmless(&mut self, writer: &str, text: &str, weight: f32) {
        let from = self.examples.len();
        mask::collect_evidence(
            text,
            &mut ExampleCollector { secret: None, weight, examples: &mut self.examples },
        );
        let by_rules = writer.len() == 1 && !mask::find_by_rules(text).is_empty();
        self.add_text(writer, false, by_rules, from);
    }

    fn add_text(&mut self, writer: &str, is_secret: bool, by_rules: bool, from: usize) {
        let rows = from..self.examples.len();
        self.texts.push(Text { writer: writer.to_owned(), is_secret, by_rules, rows });
    }

    /// The examples with their quick features only; secrets count more, because the gate must not lose them.
    fn quick_examples(&self) -> Vec<Example> {
        let quick = |it: &Example| Example {
            features: it.features[..QUICK].to_vec(),
            positive: it.positive,
            weight: if it.positive { 3.0 } else { it.weight },
        };
        self.examples.iter().map(quick).collect()
    }

    fn print_folds(&self) {
        let mut writers: Vec<&str> =
            self.texts.iter().map(|it| it.writer.as_str()).filter(|it| it.len() == 1).collect();
        writers.sort_unstable();
        writers.dedup();
        for writer in writers {
            let rows = self.texts.iter().filter(|it| it.writer != writer).flat_map(|it| it.rows.clone());
            let copy = |row: usize| {
                let it = &self.examples[row];
                Example { features: it.features.clone(), positive: it.positive, weight: it.weight }
            };
            let trees = boost::train(&rows.map(copy).collect::<Vec<_>>(), &MODEL);
            self.print_scores(writer, &trees);
        }
    }

    fn print_scores(&self, writer: &str, trees: &[Tree]) {
        let limit = mask::classifier::THRESHOLD as f32 / 100.0;
        let scores = |it: &Text, positive: bool| {
            let found = |row: usize| {
                let example = &self.examples[row];
                (example.positive || !positive) && boost::score_all(trees, &example.features, &MODEL) > limit
            };
            it.by_rules || it.rows.clone().any(found)
        };
        let share = |is_secret: bool| {
            let all: Vec<&Text> =
                self.texts.iter().filter(|it| it.writer == writer && it.is_secret == is_secret).collect();
            let hits = all.iter().filter(|it| scores(it, is_secret)).count();
            (100.0 * hits as f64 / all.len().max(1) as f64, all.len())
        };
        let ((caught, secrets), (altered, decoys)) = (share(true), share(false));
        println!(
            "writer {writer}, not trained on: {caught:.1} % of {secrets} secrets caught, {altered:.2} % of {decoys} decoys altered"
        );
    }
}

/// Tests, and the parts of masking whose tests are beside them.
fn holds_invented_secrets(path: &Path) -> bool {
    let path = path.to_string_lossy();
    let plain = ["rules.rs", "scan.rs", "specimen.rs", "json.rs"].iter().any(|name| path.ends_with(name));
    path.contains("tests/") || path.contains("testdata") || (path.contains("crates/mask") && !plain)
}

/// The text of a field; the files store it reversed, so that scanners do not take the invented tokens for real ones.
fn reversed(entry: &Value, field: &str) -> String {
    entry[field].as_str().unwrap_or_default().chars().rev().collect()
}

/// Keeps evidence as examples.
struct ExampleCollector<'a> {
    secret: Option<Range<usize>>,
    weight: f32,
    examples: &'a mut Vec<Example>,
}

impl EvidenceCollector for ExampleCollector<'_> {
    fn wants(&self, _: &Features) -> bool {
        true
    }

    fn add(&mut self, it: Evidence) {
        let positive = self.secret.as_ref().is_some_and(|secret| is_same_place(&it.at, secret));
        // Beside the secret that is written down there may be another one.
        let weight = if self.secret.is_some() && !positive { 0.2 } else { self.weight };
        self.examples.push(Example { features: it.features.to_vec(), positive, weight });
    }
}

/// Whether the place covers most of the secret and little else.
fn is_same_place(place: &Range<usize>, secret: &Range<usize>) -> bool {
    let shared = place.end.min(secret.end).saturating_sub(place.start.max(secret.start));
    shared * 10 >= secret.len() * 8 && shared * 10 >= place.len() * 6
}
