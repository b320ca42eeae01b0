//! The text of a stored note: its header compared with the type as it is, and its sections by importance.
//!
//! Does not know where the note is stored.

use crate::format::{NoteHeader, Section, Sections, parse_heading, parse_note};
use code::{Hashes, NoteState, NoteStatus};

/// The sections of a note, most important first.
const SECTION_ORDER: &[Section] =
    &[Section::Role, Section::Lifecycle, Section::Limitations, Section::Recommendations, Section::EdgeCases];

/// A note as it was stored.
pub struct NoteText {
    pub text: String,
    pub head: NoteHeader,
    pub sections: Sections,
}

impl NoteText {
    pub fn parse(text: String) -> NoteText {
        let (head, sections) = parse_note(&text);
        NoteText { text, head, sections }
    }

    /// Compares the hashes of the type at a position of the header with the current ones and returns the differences.
    pub fn hash_differences(&self, position: usize, now: &Hashes) -> Vec<String> {
        let (Some(structure), Some(implementation)) =
            (self.head.structure.get(position), self.head.implementation.get(position))
        else {
            return vec!["its header has no StructureHash and ImplHash".to_string()];
        };
        let both = [
            (structure, now.structure, "the structure"),
            (implementation, now.implementation(), "the implementation"),
        ];
        let differs = both.into_iter().filter_map(|(then, now, what)| {
            let now = now.to_string();
            let changed = !then.eq_ignore_ascii_case(&now);
            changed.then(|| format!("{what} changed from {then} to {now}"))
        });
        differs.collect()
    }

    /// The text without the header.
    pub fn body(&self) -> &str {
        let is_head = |line: &&str| parse_heading(line).is_none();
        let head = self.text.split_inclusive('\n').take_while(is_head).map(str::len).sum();
        self.text[head..].trim_end()
    }

    /// The sections with their headings, most important first.
    pub fn ordered_sections(&self) -> Vec<String> {
        let mut found: Vec<(usize, String)> = Vec::new();
        for line in self.body().lines() {
            match (section_rank(line), found.last_mut()) {
                (Some(rank), _) => found.push((rank, format!("{line}\n"))),
                (None, Some((_, part))) => part.extend([line, "\n"]),
                (None, None) => {}
            }
        }
        found.sort_by_key(|(rank, _)| *rank);
        found.into_iter().map(|(_, part)| part).filter(|part| has_text(part)).collect()
    }
}

/// The state of a note and the reasons: the differences of hashes, and the changes since it was written.
pub fn judge_state(mut why: Vec<String>, since: &NoteState) -> (NoteStatus, Vec<String>) {
    if since.status == NoteStatus::Cached {
        // Without changes, the hashes differ by a new name of the type.
        if !since.has_drift() {
            why.clear();
        }
        let small = |why: &mut String| {
            why.push_str("; internal only: the note becomes stale after a few more changes or a day");
        };
        why.iter_mut().for_each(small);
        return (NoteStatus::Cached, why);
    }
    if why.is_empty() {
        let what = if since.dependency_changed {
            "a dependency"
        } else {
            "the type or another in its dependency cycle"
        };
        why.push(format!("{what} changed since it was written"));
    }
    let waits = matches!(since.status, NoteStatus::Pending | NoteStatus::Generating);
    (if waits { since.status } else { NoteStatus::Stale }, why)
}

fn section_rank(line: &str) -> Option<usize> {
    let section = parse_heading(line)?;
    SECTION_ORDER.iter().position(|part| *part == section)
}

/// Whether a section has text besides its heading.
fn has_text(part: &str) -> bool {
    part.split_once(':').is_some_and(|(_, rest)| !rest.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use code::Digest;

    fn make_hashes(n: u64) -> Hashes {
        let digest = Digest(n << 40);
        Hashes { structure: digest, public: digest, internal: digest, cosmetic: digest, doc: digest }
    }

    fn parse_note(text: &str) -> NoteText {
        NoteText::parse(text.to_string())
    }

    fn make_note(structure: &str, implementation: &str) -> NoteText {
        let head = format!("# Semantic: N.A T_x\nStructureHash: {structure}\nImplHash: {implementation}\n");
        parse_note(
            &(head
                + "Dependencies: T_y\n\nROLE: keeps\n nodes\nLIFECYCLE:\nEDGE_CASES: none\nLIMITATIONS: one\n"),
        )
    }

    #[test]
    fn a_note_is_compared_with_the_hashes_in_its_header() {
        let now = make_hashes(1);
        let (structure, both) = (now.structure.to_string(), now.implementation().to_string());
        for (note, reasons) in [
            (make_note(&structure, &both), 0),
            (make_note(&structure.to_uppercase(), &both), 0),
            (make_note("00000000", &both), 1),
            (make_note(&structure, "00000000"), 1),
            (make_note("00000000", "00000000"), 2),
            (parse_note("ROLE: by hand\nStructureHash: in the text\n"), 1),
            (parse_note(""), 1),
        ] {
            let why = note.hash_differences(0, &now);
            assert_eq!(why.len(), reasons, "{}: {why:?}", note.text);
        }
        let why = make_note("00000000", &both).hash_differences(0, &now);
        assert!(why[0].starts_with("the structure changed from 00000000 to"), "{why:?}");
    }

    #[test]
    fn sections_are_ordered_and_empty_ones_omitted() {
        let note = make_note("a", "b");
        assert_eq!(
            note.ordered_sections(),
            ["ROLE: keeps\n nodes\n", "LIMITATIONS: one\n", "EDGE_CASES: none\n"]
        );
        assert!(note.body().starts_with("ROLE: keeps") && note.body().ends_with("LIMITATIONS: one"));
        assert_eq!(parse_note("nothing like it").ordered_sections(), [""; 0]);
    }
}
