//! `semantic`: the note about a type, whether it is stale, and what happens next. Requesting a missing or stale note queues it
//! for writing.
//!
//! Does not write notes: that is `write.rs`.

mod question;
mod write;

pub(super) use write::count_notes;
pub(crate) use write::write_waiting;

use super::code_query::{CodeQuery, with_tree};
use crate::Service;
use api::code::{GetSemantic, Semantic, TypeRef};
use api::{Error, Handle, Request};
use code::folder::{FOLDER_NAME, GROUPS, LociFolder, group_note_path, note_path};
use code::note::{self, NoteHeader, Section, Sections};
use code::{Hashes, NoteState, NoteStatus, Symbol};
use std::collections::BTreeMap;

/// The sections of a note, most important first.
const SECTION_ORDER: &[Section] =
    &[Section::Role, Section::Lifecycle, Section::Limitations, Section::Recommendations, Section::EdgeCases];

impl Handle<GetSemantic> for Service {
    fn handle(&self, request: &GetSemantic) -> Result<Semantic, Error> {
        request.check_params()?;
        with_tree(self, request.root.as_ref(), |query| {
            let of = query.resolve_type(&request.path)?;
            let folder = query.folder();
            let note = folder.as_ref().and_then(|folder| read_note(query, folder, of));
            let (state, why) = note_status(query, of, note.as_ref());
            let may = model_permission(self, query, of, note.as_ref(), folder.is_some());
            let queue = matches!(
                (&may, state),
                (ModelPermission::Allowed { .. }, NoteStatus::None | NoteStatus::Stale)
            );
            let state = if queue { query.queue_note(of) } else { state };
            query.record_access(of);
            Ok(Semantic {
                resolved: query.symbol_ref(Symbol { of, member: None }),
                state: state.name().to_string(),
                why,
                next: describe_next(query, of, state, &may),
                with: note.as_ref().map_or_else(Vec::new, |note| note.other_types(query, of)),
                last_error: last_error(self, query, of)?,
                path: format!(
                    "{FOLDER_NAME}/{}",
                    note.as_ref().map_or_else(|| note_path(&query.id(of)), |it| it.path.clone())
                ),
                text: note.map(|note| note.text),
                coverage: query.coverage(),
            })
        })
    }
}

/// The state of the note about a type, and the reasons if it is stale.
fn note_status(query: &CodeQuery<'_>, of: u32, note: Option<&StoredNote>) -> (NoteStatus, Vec<String>) {
    match (note, query.note_state(of).status) {
        (Some(note), _) => note.current_state(query, of),
        (None, waits @ (NoteStatus::Pending | NoteStatus::Generating)) => (waits, Vec::new()),
        (None, _) => (NoteStatus::None, Vec::new()),
    }
}

/// Whether a model may write the note.
enum ModelPermission {
    Allowed {
        /// The daemon writes it; otherwise a person runs the command.
        by_itself: bool,
    },
    /// No model is configured.
    NoModel,
    /// The tree has no `.loci` folder, and a read operation does not create one.
    NoFolder,
    /// The project is excluded from model calls.
    Excluded,
    /// A person wrote or changed the note.
    ByHand,
}

/// Whether a type must not be sent: one of its files is in an excluded folder, even if the tree as a whole is not excluded.
pub(super) fn is_excluded(query: &CodeQuery<'_>, of: u32, is_off: &dyn Fn(&str) -> bool) -> bool {
    let is_excluded = |file: &String| is_off(&query.root().join(file).to_string_lossy());
    query.card(of).is_some_and(|card| card.files.iter().any(is_excluded))
}

fn model_permission(
    service: &Service,
    query: &CodeQuery<'_>,
    of: u32,
    note: Option<&StoredNote>,
    has_folder: bool,
) -> ModelPermission {
    if note.is_some_and(|note| !note.head.untouched) {
        return ModelPermission::ByHand;
    }
    let wished = config::model::read_restrictions(&service.places).unwrap_or_else(|error| {
        // An invalid config must not hide the existing note.
        query.add_note(error.to_string());
        None
    });
    match wished {
        None => ModelPermission::NoModel,
        Some((off, _)) if is_excluded(query, of, &|path| off.contains(path)) => ModelPermission::Excluded,
        Some(_) if !has_folder => ModelPermission::NoFolder,
        Some((_, by_itself)) => ModelPermission::Allowed { by_itself },
    }
}

/// Describes the next step; `None` if the note is current.
fn describe_next(query: &CodeQuery<'_>, of: u32, state: NoteStatus, may: &ModelPermission) -> Option<String> {
    let now = query.hashes(of);
    let head = format!(
        "to write it by hand, create a file at this path; with the first lines `StructureHash: {}` and \
         `ImplHash: {}` it stays current until the type changes",
        now.structure,
        now.implementation()
    );
    let typed = format!("`loci code notes {}`", query.name(of));
    match (state, may) {
        (NoteStatus::Cached, _) => None,
        (NoteStatus::Generating, _) => Some("the note is being written".to_string()),
        (NoteStatus::Pending, ModelPermission::Allowed { by_itself: true }) => {
            Some(format!("queued: the daemon writes it when idle, {typed} writes it now"))
        }
        (NoteStatus::Pending, ModelPermission::Allowed { by_itself: false }) => {
            Some(format!("queued: {typed} writes it now, the daemon only with `code = true` in `[model]`"))
        }
        (NoteStatus::None, ModelPermission::NoModel) => {
            Some(format!("no model is configured to write it (`model.provider`); {head}"))
        }
        (NoteStatus::None, ModelPermission::Excluded) => {
            Some(format!("this project is excluded from model calls (`model.projects_off`); {head}"))
        }
        (NoteStatus::None, ModelPermission::NoFolder) => Some(format!("{typed} writes it; {head}")),
        (_, ModelPermission::ByHand) => Some(format!(
            "written or edited by hand, so no model overwrites it; delete the file to let a model write it; \
             {head}"
        )),
        (_, ModelPermission::NoModel) => {
            Some("no model is configured to rewrite it (`model.provider`)".to_string())
        }
        (_, ModelPermission::Excluded) => {
            Some("this project is excluded from model calls (`model.projects_off`)".to_string())
        }
        (_, _) => Some(format!("{typed} writes it")),
    }
}

/// The error of the last attempt to write the note about a type.
fn last_error(service: &Service, query: &CodeQuery<'_>, of: u32) -> Result<Option<String>, Error> {
    let name = query.mask_text(query.name(of));
    let failed = question::failed_jobs(service, query)?;
    Ok(failed.into_iter().find(|job| question::is_about(&job.about, &name)).and_then(|job| job.error))
}

/// The type's own note, if it exists and is readable.
pub(super) fn read_own_note(query: &CodeQuery<'_>, folder: &LociFolder, of: u32) -> Option<StoredNote> {
    let own = note_path(&query.id(of));
    read_masked(query, folder, &own).map(|text| StoredNote::new(own, text, 0))
}

/// The type's own note, or that of its dependency cycle.
pub(super) fn read_note(query: &CodeQuery<'_>, folder: &LociFolder, of: u32) -> Option<StoredNote> {
    let own = read_own_note(query, folder, of);
    if own.is_some() {
        return own;
    }
    let (path, at) = query.group_note(of, || cycle_notes(query, folder))?;
    read_masked(query, folder, &path).map(|text| StoredNote::new(path, text, at))
}

fn read_masked(query: &CodeQuery<'_>, folder: &LociFolder, name: &str) -> Option<String> {
    let bytes = folder.read(name).unwrap_or_else(|error| {
        query.add_note(error.to_string());
        None
    })?;
    Some(query.mask_text(String::from_utf8_lossy(&bytes)))
}

/// For each type in a dependency cycle, the note of the cycle and the type's position in it.
fn cycle_notes(query: &CodeQuery<'_>, folder: &LociFolder) -> BTreeMap<u32, (String, usize)> {
    let mut found = BTreeMap::new();
    for file in folder.list_files(GROUPS).unwrap_or_default() {
        let Some(name) = file.strip_suffix(".md").map(group_note_path) else { continue };
        let Some((head, _)) = read_masked(query, folder, &name).map(|text| note::parse_note(&text)) else {
            continue;
        };
        for (at, id) in head.types.iter().enumerate() {
            let Some(of) = query.type_by_id(id) else { continue };
            // A cycle that changed leaves two notes for a while: prefer the one with a matching hash.
            let fits = head.structure.get(at) == Some(&query.hashes(of).structure.to_string());
            if fits || !found.contains_key(&of) {
                found.insert(of, (name.clone(), at));
            }
        }
    }
    found
}

pub(super) struct StoredNote {
    /// Relative to the tree's `.loci` folder.
    path: String,
    pub(super) text: String,
    head: NoteHeader,
    sections: Sections,
    /// Position of the type in the note's header.
    position: usize,
}

impl StoredNote {
    fn new(path: String, text: String, at: usize) -> StoredNote {
        let (head, sections) = note::parse_note(&text);
        StoredNote { path, text, head, sections, position: at }
    }

    /// The other types that the note describes.
    fn other_types(&self, query: &CodeQuery<'_>, of: u32) -> Vec<TypeRef> {
        let all = self.head.types.iter().filter_map(|id| query.type_by_id(id));
        all.filter(|other| *other != of).map(|other| query.type_ref(other)).collect()
    }

    /// Whether the note may be sent: it describes no excluded type.
    pub(super) fn may_be_sent(&self, query: &CodeQuery<'_>, of: u32, is_off: &dyn Fn(&str) -> bool) -> bool {
        let others = self.head.types.iter().filter_map(|id| query.type_by_id(id));
        others.chain([of]).all(|of| !is_excluded(query, of, is_off))
    }

    /// Compares the hashes in the header with the current type and returns the differences.
    fn hash_differences(&self, now: &Hashes) -> Vec<String> {
        let (Some(structure), Some(implementation)) =
            (self.head.structure.get(self.position), self.head.implementation.get(self.position))
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

    /// The state of the note and the reasons: the header's hashes, and the changes since Loci first saw it. Internal changes leave
    /// it valid until there are many.
    pub(super) fn current_state(&self, query: &CodeQuery<'_>, of: u32) -> (NoteStatus, Vec<String>) {
        let why = self.hash_differences(&query.hashes(of));
        let since = query.changes_since(of, &self.text, why.is_empty());
        judge_state(why, &since)
    }

    /// The text without the header.
    pub(super) fn body(&self) -> &str {
        let is_head = |line: &&str| note::parse_heading(line).is_none();
        let head = self.text.split_inclusive('\n').take_while(is_head).map(str::len).sum();
        self.text[head..].trim_end()
    }

    /// The sections with their headings, most important first.
    pub(super) fn ordered_sections(&self) -> Vec<String> {
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

fn judge_state(mut why: Vec<String>, since: &NoteState) -> (NoteStatus, Vec<String>) {
    if since.status == NoteStatus::Cached {
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
    let section = note::parse_heading(line)?;
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

    fn parse_note(text: &str) -> StoredNote {
        StoredNote::new("types/x.md".to_string(), text.to_string(), 0)
    }

    fn make_note(structure: &str, implementation: &str) -> StoredNote {
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
            let why = note.hash_differences(&now);
            assert_eq!(why.len(), reasons, "{}: {why:?}", note.text);
        }
        let why = make_note("00000000", &both).hash_differences(&now);
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
