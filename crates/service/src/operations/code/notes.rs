//! `semantic`: the note about a type, whether it is stale, and what happens next. Requesting a missing or stale note queues it
//! for writing.
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

/// The sections of a note, most important first.
const PARTS: &[Section] =
    &[Section::Role, Section::Lifecycle, Section::Limitations, Section::Recommendations, Section::EdgeCases];

impl Handle<GetSemantic> for Service {
    fn handle(&self, request: &GetSemantic) -> Result<Semantic, Error> {
        get_semantic(self, request)
    }
}

fn get_semantic(service: &Service, request: &GetSemantic) -> Result<Semantic, Error> {
    request.check()?;
    at_desk(service, request.root.as_ref(), |query| {
        let of = query.one_type(&request.path)?;
        let folder = query.folder();
        let note = folder.as_ref().and_then(|folder| read(query, folder, of));
        let (state, why) = standing(query, of, note.as_ref());
        let may = may_be_asked(service, query, of, note.as_ref(), folder.is_some());
        let queue = matches!((&may, state), (Asked::Yes { .. }, Note::None | Note::Stale));
        let state = if queue { query.ask_for_note(of) } else { state };
        query.asked(of);
        Ok(Semantic {
            resolved: query.told(Symbol { of, member: None }),
            state: state.name().to_string(),
            why,
            next: next(query, of, state, &may),
            with: note.as_ref().map_or_else(Vec::new, |note| note.others(query, of)),
            last_error: last_error(service, query, of)?,
            path: format!(
                "{NAME}/{}",
                note.as_ref().map_or_else(|| note_of(&query.id(of)), |it| it.path.clone())
            ),
            text: note.map(|note| note.text),
            coverage: query.coverage(),
        })
    })
}

/// The state of the note about a type, and the reasons if it is stale.
fn standing(query: &CodeQuery<'_>, of: u32, note: Option<&Written>) -> (Note, Vec<String>) {
    match (note, query.note_state(of).note) {
        (Some(note), _) => note.standing(query, of),
        (None, waits @ (Note::Pending | Note::Generating)) => (waits, Vec::new()),
        (None, _) => (Note::None, Vec::new()),
    }
}

/// Whether a model may write the note.
enum Asked {
    Yes {
        /// The daemon writes it; otherwise a person runs the command.
        by_itself: bool,
    },
    /// No model is configured.
    NoModel,
    /// The tree has no `.loci` folder, and a read operation does not create one.
    NoFolder,
    /// The project is excluded from model calls.
    Off,
    /// A person wrote or changed the note.
    ByHand,
}

/// Whether a type must not be sent: one of its files is in an excluded folder, even if the tree as a whole is not excluded.
pub(super) fn stays(query: &CodeQuery<'_>, of: u32, is_off: &dyn Fn(&str) -> bool) -> bool {
    let is_excluded = |file: &String| is_off(&query.root().join(file).to_string_lossy());
    query.card(of).is_some_and(|card| card.files.iter().any(is_excluded))
}

fn may_be_asked(
    service: &Service,
    query: &CodeQuery<'_>,
    of: u32,
    note: Option<&Written>,
    has_folder: bool,
) -> Asked {
    if note.is_some_and(|note| !note.head.untouched) {
        return Asked::ByHand;
    }
    let wished = model_config::wished(service).unwrap_or_else(|error| {
        // An invalid config must not hide the existing note.
        query.note(error.to_string());
        None
    });
    match wished {
        None => Asked::NoModel,
        Some((off, _)) if stays(query, of, &|path| off.holds(path)) => Asked::Off,
        Some(_) if !has_folder => Asked::NoFolder,
        Some((_, by_itself)) => Asked::Yes { by_itself },
    }
}

/// Describes the next step; `None` if the note is current.
fn next(query: &CodeQuery<'_>, of: u32, state: Note, may: &Asked) -> Option<String> {
    let now = query.hashes(of);
    let head = format!(
        "whatever is put at this path is taken for the note, and holds as long as the type does if its first lines are \
         `StructureHash: {}` and `ImplHash: {}`",
        now.structure,
        now.implementation()
    );
    let typed = format!("`loci code notes {}`", query.name(of));
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

/// The error of the last attempt to write the note about a type.
fn last_error(service: &Service, query: &CodeQuery<'_>, of: u32) -> Result<Option<String>, Error> {
    let name = query.veiled(query.name(of));
    let failed = question::failed(service, query)?;
    Ok(failed.into_iter().find(|job| question::is_about(&job.about, &name)).and_then(|job| job.error))
}

/// The type's own note, if it exists and is readable.
pub(super) fn read_own(query: &CodeQuery<'_>, folder: &Folder, of: u32) -> Option<Written> {
    let own = note_of(&query.id(of));
    text(query, folder, &own).map(|text| Written::new(own, text, 0))
}

/// The type's own note, or that of its dependency cycle.
pub(super) fn read(query: &CodeQuery<'_>, folder: &Folder, of: u32) -> Option<Written> {
    let own = read_own(query, folder, of);
    if own.is_some() {
        return own;
    }
    let (path, at) = query.group_note(of, || groups(query, folder))?;
    text(query, folder, &path).map(|text| Written::new(path, text, at))
}

fn text(query: &CodeQuery<'_>, folder: &Folder, name: &str) -> Option<String> {
    let bytes = folder.read(name).unwrap_or_else(|error| {
        query.note(error.to_string());
        None
    })?;
    Some(query.veiled(String::from_utf8_lossy(&bytes)))
}

/// For each type in a dependency cycle, the note of the cycle and the type's position in it.
fn groups(query: &CodeQuery<'_>, folder: &Folder) -> BTreeMap<u32, (String, usize)> {
    let mut found = BTreeMap::new();
    for file in folder.list(GROUPS).unwrap_or_default() {
        let Some(name) = file.strip_suffix(".md").map(group_note_of) else { continue };
        let Some((head, _)) = text(query, folder, &name).map(|text| note::read(&text)) else { continue };
        for (at, id) in head.types.iter().enumerate() {
            let Some(of) = query.number(id) else { continue };
            // A cycle that changed leaves two notes for a while: prefer the one with a matching hash.
            let fits = head.structure.get(at) == Some(&query.hashes(of).structure.to_string());
            if fits || !found.contains_key(&of) {
                found.insert(of, (name.clone(), at));
            }
        }
    }
    found
}

pub(super) struct Written {
    /// Relative to the tree's `.loci` folder.
    path: String,
    pub(super) text: String,
    head: Head,
    sections: Sections,
    /// Position of the type in the note's header.
    at: usize,
}

impl Written {
    fn new(path: String, text: String, at: usize) -> Written {
        let (head, sections) = note::read(&text);
        Written { path, text, head, sections, at }
    }

    /// The other types that the note describes.
    fn others(&self, query: &CodeQuery<'_>, of: u32) -> Vec<TypeRef> {
        let all = self.head.types.iter().filter_map(|id| query.number(id));
        all.filter(|other| *other != of).map(|other| query.type_ref(other)).collect()
    }

    /// Whether the note may be sent: it describes no excluded type.
    pub(super) fn may_leave(&self, query: &CodeQuery<'_>, of: u32, is_off: &dyn Fn(&str) -> bool) -> bool {
        let others = self.head.types.iter().filter_map(|id| query.number(id));
        others.chain([of]).all(|of| !stays(query, of, is_off))
    }

    /// Compares the hashes in the header with the current type and returns the differences.
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

    /// The state of the note and the reasons: the header's hashes, and the changes since Loci first saw it. Internal changes leave
    /// it valid until there are many.
    pub(super) fn standing(&self, query: &CodeQuery<'_>, of: u32) -> (Note, Vec<String>) {
        let why = self.fits(&query.hashes(of));
        let since = query.since(of, &self.text, why.is_empty());
        judged(why, &since)
    }

    /// The text without the header.
    pub(super) fn body(&self) -> &str {
        let is_head = |line: &&str| note::section_of(line).is_none();
        let head = self.text.split_inclusive('\n').take_while(is_head).map(str::len).sum();
        self.text[head..].trim_end()
    }

    /// The sections with their headings, most important first.
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

/// Whether a section has text besides its heading.
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
    fn a_note_is_compared_with_the_hashes_in_its_header() {
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
    fn sections_are_ordered_and_empty_ones_omitted() {
        let note = written("a", "b");
        assert_eq!(note.parts(), ["ROLE: keeps\n nodes\n", "LIMITATIONS: one\n", "EDGE_CASES: none\n"]);
        assert!(note.body().starts_with("ROLE: keeps") && note.body().ends_with("LIMITATIONS: one"));
        assert_eq!(read_as("nothing like it").parts(), [""; 0]);
    }
}
