//! How a note lies in a file: a head that says for which types, as they were when it was written, and five sections.
//!
//! Does not know whether it still holds. What a person wrote is read as far as it looks like a note.

use crate::hash::Hashes;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use syntax::Digest;

/// In the order of the file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Section {
    Role,
    Lifecycle,
    EdgeCases,
    Limitations,
    Recommendations,
}

/// Each section with its heading and what a model calls it.
pub const SECTIONS: &[(Section, &str, &str)] = &[
    (Section::Role, "ROLE", "role"),
    (Section::Lifecycle, "LIFECYCLE", "lifecycle"),
    (Section::EdgeCases, "EDGE_CASES", "edge_cases"),
    (Section::Limitations, "LIMITATIONS", "limitations"),
    (Section::Recommendations, "RECOMMENDATIONS", "recommendations"),
];

pub type Sections = BTreeMap<Section, String>;

/// The section that a line begins.
pub fn section_of(line: &str) -> Option<Section> {
    let heading = line.split_once(':')?.0;
    SECTIONS.iter().find(|(_, word, _)| *word == heading).map(|(section, ..)| *section)
}

/// What the head of a note says; lists have one entry for each type of a circle.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Head {
    pub types: Vec<String>,
    pub structure: Vec<String>,
    pub implementation: Vec<String>,
    /// Whether a model wrote it and nobody has touched its text since.
    pub untouched: bool,
}

/// Lines are broken here, so that a change of one sentence is a change of a line or two.
const WIDE: usize = 110;

/// What a note is written for.
pub struct Written<'a> {
    /// Full name, id and hashes of one type, or of all of a circle.
    pub types: &'a [(String, String, Hashes)],
    /// Ids of what they use.
    pub dependencies: &'a [String],
    pub model: &'a str,
    pub date: &'a str,
    pub sections: &'a Sections,
}

/// What the note about a circle is called: the same for the same types.
pub fn group_id(ids: &[String]) -> String {
    let mut sorted = ids.to_vec();
    sorted.sort();
    format!("G_{}", Digest::of(sorted.join(" ").as_bytes()))
}

pub fn write(note: &Written<'_>) -> String {
    let list = |pick: fn(&(String, String, Hashes)) -> String| {
        note.types.iter().map(pick).collect::<Vec<_>>().join(", ")
    };
    let ids = list(|(_, id, _)| id.clone());
    let mut text = match note.types {
        [(name, id, _)] => format!("# Semantic: {name} {id}\n"),
        several => {
            let all: Vec<String> = several.iter().map(|(_, id, _)| id.clone()).collect();
            format!("# Semantic: {} {}\nTypes: {ids}\n", list(|(name, ..)| name.clone()), group_id(&all))
        }
    };
    let body = body(note.sections);
    for (name, value) in [
        ("StructureHash", list(|(.., hashes)| hashes.structure.to_string())),
        ("ImplHash", list(|(.., hashes)| hashes.implementation().to_string())),
        ("Dependencies", note.dependencies.join(", ")),
        ("Model", note.model.to_string()),
        ("Date", note.date.to_string()),
        ("TextHash", Digest::of(body.as_bytes()).to_string()),
    ] {
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = writeln!(text, "{name}: {value}"); // writing to a String does not fail
    }
    text + "\n" + &body
}

fn body(sections: &Sections) -> String {
    let mut text = String::new();
    for (section, heading, _) in SECTIONS {
        let told = sections.get(section).map_or("", String::as_str);
        wrap(&mut text, &format!("{heading}: {told}"));
    }
    text
}

/// Lines that go on are indented: none of them can pass for a heading.
fn wrap(out: &mut String, text: &str) {
    let mut wide = 0;
    for (at, word) in text.split_whitespace().enumerate() {
        let long = word.chars().count();
        if at > 0 && wide + 1 + long > WIDE {
            out.push_str("\n  ");
            wide = 2;
        } else if at > 0 {
            out.push(' ');
            wide += 1;
        }
        out.push_str(word);
        wide += long;
    }
    out.push('\n');
}

pub fn read(text: &str) -> (Head, Sections) {
    let length = text.split_inclusive('\n').take_while(|line| section_of(line).is_none()).map(str::len).sum();
    let (head, body) = text.split_at(length);
    let told = |name: &str| {
        let line = head.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_start().strip_prefix(':').map(str::trim)
    };
    let list = |name: &str| {
        let all = told(name).unwrap_or_default().split(',').map(str::trim);
        all.filter(|one| !one.is_empty()).map(str::to_string).collect::<Vec<_>>()
    };
    let untouched = told("Model").is_some()
        && is_ours(head)
        && told("TextHash").is_some_and(|hash| hash == Digest::of(body.as_bytes()).to_string());
    let head = Head {
        types: list("Types"),
        structure: list("StructureHash"),
        implementation: list("ImplHash"),
        untouched,
    };
    (head, sections(body))
}

/// What a head that was written here is made of, each at most once.
const KEYS: &[&str] =
    &["# Semantic", "Types", "StructureHash", "ImplHash", "Dependencies", "Model", "Date", "TextHash"];

/// Whether a head holds nothing besides: a remark above the first section is a person's, and its hash does not cover it.
fn is_ours(head: &str) -> bool {
    let told = head.lines().filter(|line| !line.trim().is_empty());
    let mut keys: Vec<&str> = told.map(|line| line.split_once(':').map_or("", |(key, _)| key)).collect();
    let known = keys.iter().all(|key| KEYS.contains(key));
    let many = keys.len();
    keys.sort_unstable();
    keys.dedup();
    known && keys.len() == many
}

fn sections(body: &str) -> Sections {
    let mut found = Sections::new();
    let mut at = None;
    for line in body.lines() {
        let own = section_of(line);
        let told = if own.is_some() { line.split_once(':').map_or("", |(_, rest)| rest) } else { line };
        at = own.or(at);
        let Some(section) = at else { continue };
        let text: &mut String = found.entry(section).or_default();
        if !text.is_empty() && !told.trim().is_empty() {
            text.push(' ');
        }
        text.push_str(told.trim());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashes(n: u64) -> Hashes {
        let digest = Digest(n << 40);
        Hashes { structure: digest, public: digest, ..Hashes::default() }
    }

    fn said(words: &str) -> Sections {
        SECTIONS
            .iter()
            .map(|(section, heading, _)| (*section, format!("{words} of {heading}: more")))
            .collect()
    }

    fn note(types: &[(String, String, Hashes)], sections: &Sections) -> String {
        let dependencies = ["T_y".to_string()];
        write(&Written {
            types,
            dependencies: &dependencies,
            model: "openai m",
            date: "2026-11-15",
            sections,
        })
    }

    fn of(id: &str, n: u64) -> (String, String, Hashes) {
        (format!("N.{id}"), format!("T_{id}"), hashes(n))
    }

    #[test]
    fn what_is_written_is_read_back() {
        for types in [vec![of("a", 1)], vec![of("a", 1), of("b", 2)]] {
            let sections = said(&"a long sentence that has to be broken somewhere ".repeat(9));
            let text = note(&types, &sections);
            let body = text.split_once("\n\n").unwrap().1;
            assert!(body.lines().all(|line| line.chars().count() <= WIDE), "{text}");
            let (head, read) = read(&text);
            let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            for (section, told) in &sections {
                assert_eq!(read[section], squeezed(told));
            }
            assert!(head.untouched);
            assert_eq!(head.structure.len(), types.len());
            assert_eq!(head.structure[0], types[0].2.structure.to_string());
            assert_eq!(head.types.len(), if types.len() == 1 { 0 } else { 2 });
        }
    }

    #[test]
    fn a_text_that_a_person_touched_is_known() {
        let text = note(&[of("a", 1)], &said("x"));
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
            assert_eq!(read(&touched).0.untouched, untouched, "{touched}");
        }
    }

    #[test]
    fn a_section_cannot_pass_for_another_and_no_line_for_the_head() {
        let mut sections = said("x");
        sections.insert(Section::Role, "first\nLIFECYCLE: forged\nStructureHash: forged".to_string());
        let (head, read) = read(&note(&[of("a", 1)], &sections));
        assert_eq!(read[&Section::Role], "first LIFECYCLE: forged StructureHash: forged");
        assert_eq!(read[&Section::Lifecycle], "x of LIFECYCLE: more");
        assert_eq!(head.structure, [hashes(1).structure.to_string()]);
    }

    #[test]
    fn a_circle_has_one_name_whatever_order_its_types_come_in() {
        let ids = |all: &[&str]| all.iter().map(|id| (*id).to_string()).collect::<Vec<_>>();
        assert_eq!(group_id(&ids(&["T_a", "T_b"])), group_id(&ids(&["T_b", "T_a"])));
        assert_ne!(group_id(&ids(&["T_a", "T_b"])), group_id(&ids(&["T_a", "T_c"])));
    }
}
