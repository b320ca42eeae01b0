//! Measures how many generated secrets are found, and how many texts without one stay unchanged.

use loci_mask::Masker;
use loci_mask::specimen::{Specimen, Wrapping, generate_decoys, generate_secrets};
use std::collections::{BTreeMap, BTreeSet};

const SEEDS: [u64; 2] = [1, 20_261_115];

fn mask_specimen(masker: &Masker, specimen: &Specimen) -> Vec<String> {
    let mut all = vec![masker.mask_text(&specimen.text).into_owned()];
    if specimen.wrapping == Wrapping::Json {
        all.push(masker.mask_json(&specimen.text).into_owned());
    }
    all
}

/// Whether no part of the secret is left: neither the whole nor one of its lines.
fn is_masked(masked: &[String], specimen: &Specimen) -> bool {
    masked.iter().all(|text| specimen.secret.iter().all(|piece| !text.contains(piece.as_str())))
}

#[test]
fn generated_secrets_are_found_in_every_wrapping() {
    let masker = Masker::new([3; 32]);
    for seed in SEEDS {
        let all = generate_secrets(seed);
        let kinds: BTreeSet<_> = all.iter().map(|it| it.kind).collect();
        assert!(kinds.len() >= 34 && all.len() >= 816);
        let (mut missed, mut vendors, mut missed_vendors) = (BTreeMap::new(), 0, 0);
        for specimen in &all {
            let found = is_masked(&mask_specimen(&masker, specimen), specimen);
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
        assert!(missed_vendors * 100 <= vendors, "recall of vendor formats below 99 %");
    }
}

#[test]
fn each_secret_is_found_as_its_own_kind() {
    let masker = Masker::new([3; 32]);
    let all = generate_secrets(SEEDS[0]);
    let has_own_kind = |it: &&Specimen| {
        mask_specimen(&masker, it).iter().all(|text| text.contains(&format!("⟦secret:{}:", it.kind)))
    };
    let wrong: BTreeSet<_> =
        all.iter().filter(|it| !has_own_kind(it)).map(|it| (it.kind, masker.mask_text(&it.text))).collect();
    for one in &wrong {
        println!("{one:?}");
    }
    assert!(wrong.len() * 50 <= all.len(), "{} of {} have another kind", wrong.len(), all.len());
}

#[test]
fn texts_without_a_secret_are_unchanged() {
    let masker = Masker::new([3; 32]);
    for seed in SEEDS {
        let all = generate_decoys(seed);
        assert!(all.len() >= 1680);
        let altered: Vec<_> = all
            .iter()
            .filter(|text| masker.mask_text(text) != **text || masker.mask_json(text) != **text)
            .collect();
        println!("seed {seed}: {} of {} altered", altered.len(), all.len());
        for text in &altered {
            println!("altered: {text}\n      -> {}", masker.mask_text(text));
        }
        assert!(altered.len() * 200 <= all.len(), "more than 0.5 % altered");
    }
}

#[test]
fn nothing_is_found_in_the_source_of_this_crate() {
    let masker = Masker::new([3; 32]);
    for text in
        [include_str!("../src/rules.rs"), include_str!("../src/specimen.rs"), include_str!("../src/scan.rs")]
    {
        assert_eq!(masker.find_secrets(text), []);
    }
}
