//! The note that a model wrote about a type: whether there is one, what it says, and whether the type has changed since.
//!
//! Does not write notes.

use super::desk::{Desk, at_desk};
use crate::Service;
use api::code::{GetSemantic, Semantic};
use api::{Error, Request};
use code::folder::{Folder, NAME, note_of};
use code::{Hashes, Note, State, Symbol};

/// The parts of a note, the most important first.
const PARTS: &[&str] = &["ROLE", "LIFECYCLE", "LIMITATIONS", "RECOMMENDATIONS", "EDGE_CASES"];

/// How a note comes to be, with the head that it needs.
fn none_yet(now: &Hashes) -> String {
    format!(
        "a model writes it, and none is asked to yet; whatever is put at this path is taken for the note, and holds as long as the \
         type does if its first lines are `StructureHash: {}` and `ImplHash: {}`",
        now.structure,
        now.implementation()
    )
}

pub(crate) fn get_semantic(service: &Service, ask: &GetSemantic) -> Result<Semantic, Error> {
    ask.check()?;
    at_desk(service, ask.root.as_ref(), |desk| {
        let of = desk.one_type(&ask.path)?;
        let note = desk.folder().and_then(|folder| read(desk, &folder, of));
        let now = desk.hashes(of);
        let (state, why) = note.as_ref().map_or((Note::None, Vec::new()), |note| note.standing(desk, of));
        desk.asked(of);
        Ok(Semantic {
            resolved: desk.told(Symbol { of, member: None }),
            state: state.name().to_string(),
            why,
            next: note.is_none().then(|| none_yet(&now)),
            text: note.map(|note| note.text),
            path: format!("{NAME}/{}", note_of(&desk.id(of))),
            coverage: desk.coverage(),
        })
    })
}

/// The note about a type, if there is one that can be read.
pub(super) fn read(desk: &Desk<'_>, folder: &Folder, of: u32) -> Option<Written> {
    let bytes = folder.read(&note_of(&desk.id(of))).unwrap_or_else(|error| {
        desk.note(error.to_string());
        None
    })?;
    Some(Written::new(desk.veiled(String::from_utf8_lossy(&bytes))))
}

pub(super) struct Written {
    pub(super) text: String,
    /// What the type was when it was written, as the head of the note says.
    structure: Option<String>,
    implementation: Option<String>,
}

impl Written {
    fn new(text: String) -> Written {
        let head = |name: &str| {
            let mut lines = text.lines().take_while(|line| !is_part(line));
            let line = lines.find_map(|line| line.strip_prefix(name))?;
            line.trim_start().strip_prefix(':').map(|value| value.trim().to_string())
        };
        let (structure, implementation) = (head("StructureHash"), head("ImplHash"));
        Written { text, structure, implementation }
    }

    /// Whether its head fits the type as it is, and what does not.
    fn fits(&self, now: &Hashes) -> Vec<String> {
        if self.structure.is_none() || self.implementation.is_none() {
            return vec!["it does not say which StructureHash and ImplHash it was written for".to_string()];
        }
        let both = [
            (&self.structure, now.structure, "its structure"),
            (&self.implementation, now.implementation(), "what it does"),
        ];
        let differs = both.into_iter().filter_map(|(then, now, what)| {
            let (then, now) = (then.as_deref()?, now.to_string());
            let changed = !then.eq_ignore_ascii_case(&now);
            changed.then(|| format!("{what} has changed since: {then} then, {now} now"))
        });
        differs.collect()
    }

    /// Whether it still holds, and why not: what its head says, and what has happened since Loci first saw it. Changes that nobody
    /// else can see leave it true until there are many.
    pub(super) fn standing(&self, desk: &Desk<'_>, of: u32) -> (Note, Vec<String>) {
        let why = self.fits(&desk.hashes(of));
        let since = desk.since(of, &self.text, why.is_empty());
        judged(why, &since)
    }

    /// What it says, without its head.
    pub(super) fn body(&self) -> &str {
        let head = self.text.split_inclusive('\n').take_while(|line| !is_part(line)).map(str::len).sum();
        self.text[head..].trim_end()
    }

    /// Its parts, the most important first, each with its heading.
    pub(super) fn parts(&self) -> Vec<String> {
        let mut found: Vec<(usize, String)> = Vec::new();
        for line in self.body().lines() {
            match (rank(line), found.last_mut()) {
                (Some(rank), _) => found.push((rank, format!("{line}\n"))),
                (None, Some((_, part))) => part.extend([line, "\n"]),
                (None, None) => {}
            }
        }
        found.sort_by_key(|(rank, _)| *rank);
        found.into_iter().map(|(_, part)| part).filter(|part| says_something(part)).collect()
    }
}

fn judged(mut why: Vec<String>, since: &State) -> (Note, Vec<String>) {
    if since.note == Note::Cached {
        let small = |why: &mut String| {
            why.push_str(", which nobody else can see; a few more, or a day, make it stale");
        };
        why.iter_mut().for_each(small);
        return (Note::Cached, why);
    }
    if why.is_empty() {
        let what = if since.reached {
            "something it uses has"
        } else {
            "a type that it forms a circle with, or it itself, has"
        };
        why.push(format!("{what} changed since it was written"));
    }
    (Note::Stale, why)
}

fn rank(line: &str) -> Option<usize> {
    let heading = line.split_once(':')?.0;
    PARTS.iter().position(|part| *part == heading)
}

fn is_part(line: &str) -> bool {
    rank(line).is_some()
}

/// A heading alone tells nobody anything.
fn says_something(part: &str) -> bool {
    part.split_once(':').is_some_and(|(_, rest)| !rest.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use code::Digest;

    fn hashes(n: u64) -> Hashes {
        let digest = Digest(n << 40);
        Hashes { structure: digest, public: digest, internal: digest, cosmetic: digest, doc: digest }
    }

    fn written(structure: &str, implementation: &str) -> Written {
        let head = format!("# Semantic: N.A T_x\nStructureHash: {structure}\nImplHash: {implementation}\n");
        Written::new(
            head + "Dependencies: T_y\n\nROLE: keeps\n nodes\nLIFECYCLE:\nEDGE_CASES: none\nLIMITATIONS: one\n",
        )
    }

    #[test]
    fn a_note_says_what_it_was_written_for() {
        let now = hashes(1);
        let (structure, both) = (now.structure.to_string(), now.implementation().to_string());
        for (note, reasons) in [
            (written(&structure, &both), 0),
            (written(&structure.to_uppercase(), &both), 0),
            (written("00000000", &both), 1),
            (written(&structure, "00000000"), 1),
            (written("00000000", "00000000"), 2),
            (Written::new("ROLE: by hand\nStructureHash: in the text\n".to_string()), 1),
            (Written::new(String::new()), 1),
        ] {
            let why = note.fits(&now);
            assert_eq!(why.len(), reasons, "{}: {why:?}", note.text);
        }
        let why = written("00000000", &both).fits(&now);
        assert!(why[0].starts_with("its structure has changed since: 00000000 then"), "{why:?}");
    }

    #[test]
    fn the_parts_come_in_their_order_and_empty_ones_not_at_all() {
        let note = written("a", "b");
        assert_eq!(note.parts(), ["ROLE: keeps\n nodes\n", "LIMITATIONS: one\n", "EDGE_CASES: none\n"]);
        assert!(note.body().starts_with("ROLE: keeps") && note.body().ends_with("LIMITATIONS: one"));
        assert_eq!(Written::new("nothing like it".to_string()).parts(), [""; 0]);
    }
}
