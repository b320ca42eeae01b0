//! How many made-up secrets are found, and how many texts without one stay as they are.

use loci_mask::Masker;
use loci_mask::specimen::{Specimen, Wrapping, decoys, secrets};
use std::collections::{BTreeMap, BTreeSet};

const SEEDS: [u64; 2] = [1, 20_261_115];

fn masked(masker: &Masker, specimen: &Specimen) -> Vec<String> {
    let mut all = vec![masker.text(&specimen.text).into_owned()];
    if specimen.wrapping == Wrapping::Json {
        all.push(masker.json(&specimen.text).into_owned());
    }
    all
}

/// Nothing of the secret is left: not the whole, not a line of it.
fn caught(masked: &[String], specimen: &Specimen) -> bool {
    masked.iter().all(|text| specimen.secret.iter().all(|piece| !text.contains(piece.as_str())))
}

#[test]
fn made_up_secrets_are_found_in_every_wrapping() {
    let masker = Masker::new([3; 32]);
    for seed in SEEDS {
        let all = secrets(seed);
        let kinds: BTreeSet<_> = all.iter().map(|it| it.kind).collect();
        assert!(kinds.len() >= 34 && all.len() >= 816);
        let (mut missed, mut vendors, mut missed_vendors) = (BTreeMap::new(), 0, 0);
        for specimen in &all {
            let found = caught(&masked(&masker, specimen), specimen);
            vendors += usize::from(specimen.vendor);
            missed_vendors += usize::from(specimen.vendor && !found);
            if !found {
                missed
                    .entry((specimen.kind, format!("{:?}", specimen.wrapping)))
                    .or_insert_with(Vec::new)
                    .push(&specimen.text);
            }
        }
        let count: usize = missed.values().map(Vec::len).sum();
        println!(
            "seed {seed}: {} of {} found, vendors {} of {vendors}, {} kinds",
            all.len() - count,
            all.len(),
            vendors - missed_vendors,
            kinds.len()
        );
        for (what, texts) in &missed {
            println!("missed {what:?} {}: {}", texts.len(), texts[0]);
        }
        assert!(count * 100 <= all.len() * 5, "recall below 95 %");
        assert!(missed_vendors * 100 <= vendors, "recall of vendors' shapes below 99 %");
    }
}

#[test]
fn the_kind_is_the_one_it_was_made_as() {
    let masker = Masker::new([3; 32]);
    let all = secrets(SEEDS[0]);
    let right = |it: &&Specimen| {
        masked(&masker, it).iter().all(|text| text.contains(&format!("⟦secret:{}:", it.kind)))
    };
    let wrong: BTreeSet<_> =
        all.iter().filter(|it| !right(it)).map(|it| (it.kind, masker.text(&it.text))).collect();
    for one in &wrong {
        println!("{one:?}");
    }
    assert!(wrong.len() * 50 <= all.len(), "{} of {} were given another kind", wrong.len(), all.len());
}

#[test]
fn texts_without_a_secret_stay_as_they_are() {
    let masker = Masker::new([3; 32]);
    for seed in SEEDS {
        let all = decoys(seed);
        assert!(all.len() >= 1680);
        let altered: Vec<_> =
            all.iter().filter(|text| masker.text(text) != **text || masker.json(text) != **text).collect();
        println!("seed {seed}: {} of {} altered", altered.len(), all.len());
        for text in &altered {
            println!("altered: {text}\n      -> {}", masker.text(text));
        }
        assert!(altered.len() * 200 <= all.len(), "more than 0.5 % altered");
    }
}

#[test]
fn nothing_is_found_in_the_source_of_this_crate() {
    let masker = Masker::new([3; 32]);
    for text in
        [include_str!("../src/rules.rs"), include_str!("../src/specimen.rs"), include_str!("../src/hunt.rs")]
    {
        assert_eq!(masker.find(text), []);
    }
}
