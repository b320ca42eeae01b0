//! Secrets and decoys in realistic contexts, by nine writers who had not seen the rules. The trees were trained on the
//! `training` files; of two writers, half was kept apart (`unseen`) and looked at only as a sum.
//!
//! The files store each text reversed, so that scanners do not take the invented tokens for real ones.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::pedantic)]

use loci_mask::Masker;
use serde_json::Value;
use std::path::Path;

fn read_entries(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text_of(entry: &Value, field: &str) -> String {
    entry[field].as_str().unwrap().chars().rev().collect()
}

/// The share of secrets that do not survive masking, and of decoys that are altered.
fn score(set: &str) -> (f64, f64) {
    let masker = Masker::new([7; 32]);
    // `--nocapture` shows the failures, but never those of the half that must stay unseen.
    let show = !set.starts_with("unseen");
    let secrets = read_entries(&format!("{set}-secrets.jsonl"));
    let decoys = read_entries(&format!("{set}-decoys.jsonl"));
    assert!(secrets.len() >= 100 && decoys.len() >= 100, "{} {}", secrets.len(), decoys.len());
    let (mut caught, mut altered) = (0, 0);
    for entry in &secrets {
        let (context, secret) = (text_of(entry, "context"), text_of(entry, "secret"));
        assert!(context.contains(&secret));
        if !masker.mask_text(&context).contains(&secret) {
            caught += 1;
        } else if show {
            println!("MISSED {} {}: {secret:?} in {context:?}", entry["id"], entry["kind"]);
        }
    }
    for entry in &decoys {
        let text = text_of(entry, "text");
        let masked = masker.mask_text(&text);
        if masked != text {
            altered += 1;
            if show {
                println!("ALTERED {} {}: {text:?} -> {masked:?}", entry["id"], entry["kind"]);
            }
        }
    }
    let (caught, altered) =
        (f64::from(caught) / secrets.len() as f64, f64::from(altered) / decoys.len() as f64);
    println!(
        "{set}: {:.1} % of {} caught, {:.2} % of {} decoys altered",
        caught * 100.0,
        secrets.len(),
        altered * 100.0,
        decoys.len()
    );
    (caught, altered)
}

/// One secret of each of a hundred kinds and a hundred decoys, by a seventh writer. The rules were mended on them.
#[test]
fn secrets_of_a_hundred_kinds_are_caught() {
    let (caught, altered) = score("kinds");
    assert!(caught >= 0.97 && altered <= 0.01);
}

/// By two more writers, the second of whom was given a list of kinds. The rules were mended on them, the trees were not trained on them.
#[test]
fn secrets_of_two_more_writers_are_caught() {
    for set in ["kinds-2", "kinds-3"] {
        let (caught, altered) = score(set);
        assert!(caught >= 0.99 && altered <= 0.005, "{set}");
    }
}

/// What the trees were trained on. The share says what they can tell apart at all.
#[test]
fn secrets_of_the_training_sets_are_caught() {
    for (writer, least) in [(1, 0.93), (2, 0.90), (3, 0.84), (4, 0.85), (5, 0.70), (6, 0.87)] {
        let (caught, altered) = score(&format!("training-{writer}"));
        assert!(caught >= least && altered <= 0.006, "writer {writer}");
    }
}

/// The goal is 95 % caught and at most 0.5 % altered. Measured 91.3 % and 0.56 %, 80.8 % and 1.71 %; by the rules
/// without the trees 70 % and 58 % of the training halves of the same writers.
#[test]
fn secrets_of_the_unseen_halves_are_caught() {
    for (writer, least, most) in [(2, 0.90, 0.008), (3, 0.79, 0.019)] {
        let (caught, altered) = score(&format!("unseen-{writer}"));
        assert!(caught >= least && altered <= most, "writer {writer}");
    }
}
