//! The file format of notes.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may fail by panicking

use code::{Digest, Hashes};
use loci_notes::*;

/// The width at which a note is wrapped.
const LINE_WIDTH: usize = 110;

fn sample_hashes(n: u64) -> Hashes {
    let digest = Digest(n << 40);
    Hashes { structure: digest, public: digest, ..Hashes::default() }
}

fn sample_sections(words: &str) -> Sections {
    SECTIONS.iter().map(|(section, heading, _)| (*section, format!("{words} of {heading}: more"))).collect()
}

fn sample_note(types: &[(String, String, Hashes)], sections: &Sections) -> String {
    let dependencies = ["T_y".to_string()];
    format_note(&NoteContent {
        types,
        dependencies: &dependencies,
        model: "openai m",
        date: "2026-11-15",
        sections,
    })
}

fn sample_type(id: &str, n: u64) -> (String, String, Hashes) {
    (format!("N.{id}"), format!("T_{id}"), sample_hashes(n))
}

#[test]
fn a_written_note_is_parsed_back() {
    for types in [vec![sample_type("a", 1)], vec![sample_type("a", 1), sample_type("b", 2)]] {
        let sections = sample_sections(&"a long sentence that has to be broken somewhere ".repeat(9));
        let text = sample_note(&types, &sections);
        let body = text.split_once("\n\n").unwrap().1;
        assert!(body.lines().all(|line| line.chars().count() <= LINE_WIDTH), "{text}");
        let (head, read) = parse_note(&text);
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        for (section, text) in &sections {
            assert_eq!(read[section], squeezed(text));
        }
        assert!(head.untouched);
        assert_eq!(head.structure.len(), types.len());
        assert_eq!(head.structure[0], types[0].2.structure.to_string());
        assert_eq!(head.types.len(), if types.len() == 1 { 0 } else { 2 });
    }
}

#[test]
fn edits_by_a_person_are_detected() {
    let text = sample_note(&[sample_type("a", 1)], &sample_sections("x"));
    for (touched, untouched) in [
        (text.clone(), true),
        (text.replace("x of ROLE", "y of ROLE"), false),
        (text.replace("Model: openai m\n", ""), false),
        (text.replace("Date: 2026-11-15", "Date: 2026-11-16"), true),
        (text.replace("\n\nROLE", "\n\nMind the lock.\n\nROLE"), false),
        (text.replace("\n\nROLE", "\n\nMine: mind the lock.\nROLE"), false),
        (text.replace("\n\nROLE", "\nDate: mind the lock.\nROLE"), false),
        (text.replace("\n\nROLE", "\n\n\nROLE"), true),
        ("ROLE: by hand\n".to_string(), false),
        (String::new(), false),
    ] {
        assert_eq!(parse_note(&touched).0.untouched, untouched, "{touched}");
    }
}

#[test]
fn section_text_cannot_forge_headings_or_header_lines() {
    let mut sections = sample_sections("x");
    sections.insert(Section::Role, "first\nLIFECYCLE: forged\nStructureHash: forged".to_string());
    let (head, read) = parse_note(&sample_note(&[sample_type("a", 1)], &sections));
    assert_eq!(read[&Section::Role], "first LIFECYCLE: forged StructureHash: forged");
    assert_eq!(read[&Section::Lifecycle], "x of LIFECYCLE: more");
    assert_eq!(head.structure, [sample_hashes(1).structure.to_string()]);
}

#[test]
fn the_id_of_a_cycle_does_not_depend_on_the_order_of_its_types() {
    let ids = |all: &[&str]| all.iter().map(|id| (*id).to_string()).collect::<Vec<_>>();
    assert_eq!(group_id(&ids(&["T_a", "T_b"])), group_id(&ids(&["T_b", "T_a"])));
    assert_ne!(group_id(&ids(&["T_a", "T_b"])), group_id(&ids(&["T_a", "T_c"])));
}
