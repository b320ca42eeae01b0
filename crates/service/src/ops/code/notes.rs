//! The note that a model wrote about a type: whether there is one, what it says, whether the type has changed since, and what happens
//! next. Who asks for one that is missing or stale has asked for it to be written.
//!
//! Does not write notes: that is `write.rs`.

mod question;
mod write;

pub(super) use write::counted;
pub(crate) use write::write_waiting;

use super::code_query::{CodeQuery, at_desk};
use crate::{Service, model_config};
use api::code::{GetSemantic, Semantic, TypeRef};
use api::{Error, Handle, Request};
use code::folder::{Folder, GROUPS, NAME, group_note_of, note_of};
use code::note::{self, Head, Section, Sections};
use code::{Hashes, Note, State, Symbol};
use std::collections::BTreeMap;

/// The parts of a note, the most important first.
const PARTS: &[Section] =
    &[Section::Role, Section::Lifecycle, Section::Limitations, Section::Recommendations, Section::EdgeCases];

impl Handle<GetSemantic> for Service {
    fn handle(&self, ask: &GetSemantic) -> Result<Semantic, Error> {
        get_semantic(self, ask)
    }
}

fn get_semantic(service: &Service, ask: &GetSemantic) -> Result<Semantic, Error> {
    ask.check()?;
    at_desk(service, ask.root.as_ref(), |desk| {
        let of = desk.one_type(&ask.path)?;
        let folder = desk.folder();
        let note = folder.as_ref().and_then(|folder| read(desk, folder, of));
        let (state, why) = standing(desk, of, note.as_ref());
        let may = may_be_asked(service, desk, of, note.as_ref(), folder.is_some());
        let asked = matches!((&may, state), (Asked::Yes { .. }, Note::None | Note::Stale));
        let state = if asked { desk.ask_for_note(of) } else { state };
        desk.asked(of);
        Ok(Semantic {
            resolved: desk.told(Symbol { of, member: None }),
            state: state.name().to_string(),
            why,
            next: next(desk, of, state, &may),
            with: note.as_ref().map_or_else(Vec::new, |note| note.others(desk, of)),
            last_error: last_error(service, desk, of)?,
            path: format!(
                "{NAME}/{}",
                note.as_ref().map_or_else(|| note_of(&desk.id(of)), |it| it.path.clone())
            ),
            text: note.map(|note| note.text),
            coverage: desk.coverage(),
        })
    })
}

/// How the note about a type stands, whether there is one or not.
fn standing(desk: &CodeQuery<'_>, of: u32, note: Option<&Written>) -> (Note, Vec<String>) {
    match (note, desk.note_state(of).note) {
        (Some(note), _) => note.standing(desk, of),
        (None, waits @ (Note::Pending | Note::Generating)) => (waits, Vec::new()),
        (None, _) => (Note::None, Vec::new()),
    }
}

/// Whether a model may be asked to write a note.
enum Asked {
    Yes {
        /// The daemon has it written; else a person types it.
        by_itself: bool,
    },
    /// Nobody configured one.
    NoModel,
    /// The tree has no folder to put it into, and a question makes none.
    NoFolder,
    /// This project is never sent.
    Off,
    /// A person wrote it, or changed it.
    ByHand,
}

/// Whether something of a type must stay here: one of its files lies in a folder that is never sent, though the tree may not.
pub(super) fn stays(desk: &CodeQuery<'_>, of: u32, is_off: &dyn Fn(&str) -> bool) -> bool {
    let lies_off = |file: &String| is_off(&desk.root().join(file).to_string_lossy());
    desk.card(of).is_some_and(|card| card.files.iter().any(lies_off))
}

fn may_be_asked(
    service: &Service,
    desk: &CodeQuery<'_>,
    of: u32,
    note: Option<&Written>,
    has_folder: bool,
) -> Asked {
    if note.is_some_and(|note| !note.head.untouched) {
        return Asked::ByHand;
    }
    let wished = model_config::wished(service).unwrap_or_else(|error| {
        // A configuration that is wrong is no reason not to show what is there.
        desk.note(error.to_string());
        None
    });
    match wished {
        None => Asked::NoModel,
        Some((off, _)) if stays(desk, of, &|path| off.holds(path)) => Asked::Off,
        Some(_) if !has_folder => Asked::NoFolder,
        Some((_, by_itself)) => Asked::Yes { by_itself },
    }
}

/// What happens next, in words; nothing where the note holds.
fn next(desk: &CodeQuery<'_>, of: u32, state: Note, may: &Asked) -> Option<String> {
    let now = desk.hashes(of);
    let head = format!(
        "whatever is put at this path is taken for the note, and holds as long as the type does if its first lines are \
         `StructureHash: {}` and `ImplHash: {}`",
        now.structure,
        now.implementation()
    );
    let typed = format!("`loci code notes {}`", desk.name(of));
    match (state, may) {
        (Note::Cached, _) => None,
        (Note::Generating, _) => Some("it is being written".to_string()),
        (Note::Pending, Asked::Yes { by_itself: true }) => {
            Some(format!("it is asked for: the daemon writes it when nobody is at work, and {typed} at once"))
        }
        (Note::Pending, Asked::Yes { by_itself: false }) => Some(format!(
            "it is asked for: {typed} has it written, or the daemon, where `code = true` stands below `[model]`"
        )),
        (Note::None, Asked::NoModel) => {
            Some(format!("a model writes it, and none is configured (`model.provider`); {head}"))
        }
        (Note::None, Asked::Off) => {
            Some(format!("nothing of this project is sent (`model.projects_off`); {head}"))
        }
        (Note::None, Asked::NoFolder) => Some(format!("{typed} has it written; {head}")),
        (_, Asked::ByHand) => Some(format!(
            "a person wrote or changed it, so no model does; delete it to have it written anew, or {head}"
        )),
        (_, Asked::NoModel) => {
            Some("no model is configured that could write it anew (`model.provider`)".to_string())
        }
        (_, Asked::Off) => Some("nothing of this project is sent (`model.projects_off`)".to_string()),
        (_, _) => Some(format!("{typed} has it written")),
    }
}

/// Why a model could not write the note about a type when it was asked last.
fn last_error(service: &Service, desk: &CodeQuery<'_>, of: u32) -> Result<Option<String>, Error> {
    let name = desk.veiled(desk.name(of));
    let failed = question::failed(service, desk)?;
    Ok(failed.into_iter().find(|job| question::is_about(&job.about, &name)).and_then(|job| job.error))
}

/// The note about a type alone, if there is one that can be read.
pub(super) fn read_own(desk: &CodeQuery<'_>, folder: &Folder, of: u32) -> Option<Written> {
    let own = note_of(&desk.id(of));
    text(desk, folder, &own).map(|text| Written::new(own, text, 0))
}

/// Its own note, or that of the circle it is part of.
pub(super) fn read(desk: &CodeQuery<'_>, folder: &Folder, of: u32) -> Option<Written> {
    let own = read_own(desk, folder, of);
    if own.is_some() {
        return own;
    }
    let (path, at) = desk.group_note(of, || groups(desk, folder))?;
    text(desk, folder, &path).map(|text| Written::new(path, text, at))
}

fn text(desk: &CodeQuery<'_>, folder: &Folder, name: &str) -> Option<String> {
    let bytes = folder.read(name).unwrap_or_else(|error| {
        desk.note(error.to_string());
        None
    })?;
    Some(desk.veiled(String::from_utf8_lossy(&bytes)))
}

/// Which note of a circle is about a type, and at which place among its types.
fn groups(desk: &CodeQuery<'_>, folder: &Folder) -> BTreeMap<u32, (String, usize)> {
    let mut found = BTreeMap::new();
    for file in folder.list(GROUPS).unwrap_or_default() {
        let Some(name) = file.strip_suffix(".md").map(group_note_of) else { continue };
        let Some((head, _)) = text(desk, folder, &name).map(|text| note::read(&text)) else { continue };
        for (at, id) in head.types.iter().enumerate() {
            let Some(of) = desk.number(id) else { continue };
            // A circle that has changed leaves two notes for a while: the one that fits is meant.
            let fits = head.structure.get(at) == Some(&desk.hashes(of).structure.to_string());
            if fits || !found.contains_key(&of) {
                found.insert(of, (name.clone(), at));
            }
        }
    }
    found
}

pub(super) struct Written {
    /// Below the tree's folder.
    path: String,
    pub(super) text: String,
    head: Head,
    sections: Sections,
    /// Which of the types in its head is meant.
    at: usize,
}

impl Written {
    fn new(path: String, text: String, at: usize) -> Written {
        let (head, sections) = note::read(&text);
        Written { path, text, head, sections, at }
    }

    /// The other types that it is about.
    fn others(&self, desk: &CodeQuery<'_>, of: u32) -> Vec<TypeRef> {
        let all = self.head.types.iter().filter_map(|id| desk.number(id));
        all.filter(|other| *other != of).map(|other| desk.type_ref(other)).collect()
    }

    /// Whether it may be told: it says nothing of a type that must stay here.
    pub(super) fn may_leave(&self, desk: &CodeQuery<'_>, of: u32, is_off: &dyn Fn(&str) -> bool) -> bool {
        let others = self.head.types.iter().filter_map(|id| desk.number(id));
        others.chain([of]).all(|of| !stays(desk, of, is_off))
    }

    /// Whether its head fits the type as it is, and what does not.
    fn fits(&self, now: &Hashes) -> Vec<String> {
        let (Some(structure), Some(implementation)) =
            (self.head.structure.get(self.at), self.head.implementation.get(self.at))
        else {
            return vec!["it does not say which StructureHash and ImplHash it was written for".to_string()];
        };
        let both = [
            (structure, now.structure, "its structure"),
            (implementation, now.implementation(), "what it does"),
        ];
        let differs = both.into_iter().filter_map(|(then, now, what)| {
            let now = now.to_string();
            let changed = !then.eq_ignore_ascii_case(&now);
            changed.then(|| format!("{what} has changed since: {then} then, {now} now"))
        });
        differs.collect()
    }

    /// Whether it still holds, and why not: what its head says, and what has happened since Loci first saw it. Changes that nobody
    /// else can see leave it true until there are many.
    pub(super) fn standing(&self, desk: &CodeQuery<'_>, of: u32) -> (Note, Vec<String>) {
        let why = self.fits(&desk.hashes(of));
        let since = desk.since(of, &self.text, why.is_empty());
        judged(why, &since)
    }

    /// What it says, without its head.
    pub(super) fn body(&self) -> &str {
        let is_head = |line: &&str| note::section_of(line).is_none();
        let head = self.text.split_inclusive('\n').take_while(is_head).map(str::len).sum();
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
    let waits = matches!(since.note, Note::Pending | Note::Generating);
    (if waits { since.note } else { Note::Stale }, why)
}

fn rank(line: &str) -> Option<usize> {
    let section = note::section_of(line)?;
    PARTS.iter().position(|part| *part == section)
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

    fn read_as(text: &str) -> Written {
        Written::new("types/x.md".to_string(), text.to_string(), 0)
    }

    fn written(structure: &str, implementation: &str) -> Written {
        let head = format!("# Semantic: N.A T_x\nStructureHash: {structure}\nImplHash: {implementation}\n");
        read_as(
            &(head
                + "Dependencies: T_y\n\nROLE: keeps\n nodes\nLIFECYCLE:\nEDGE_CASES: none\nLIMITATIONS: one\n"),
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
            (read_as("ROLE: by hand\nStructureHash: in the text\n"), 1),
            (read_as(""), 1),
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
        assert_eq!(read_as("nothing like it").parts(), [""; 0]);
    }
}
