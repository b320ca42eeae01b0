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
use code::{NoteStatus, Symbol};
use folder::{FOLDER_NAME, GROUPS, LociFolder, group_note_path, note_path};
use notes::{NoteText, judge_state};
use std::collections::BTreeMap;

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
                text: note.map(|note| note.content.text),
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
    if note.is_some_and(|note| !note.content.head.untouched) {
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
        let Some((head, _)) = read_masked(query, folder, &name).map(|text| notes::parse_note(&text)) else {
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
    pub(super) content: NoteText,
    /// Position of the type in the note's header.
    position: usize,
}

impl StoredNote {
    fn new(path: String, text: String, at: usize) -> StoredNote {
        StoredNote { path, content: NoteText::parse(text), position: at }
    }

    /// The sections to show next to the type, most important first. The first says what a reader must know about the note.
    pub(super) fn marked_sections(&self, query: &CodeQuery<'_>, of: u32) -> Vec<String> {
        let mut sections = self.content.ordered_sections();
        let others: Vec<String> = self.others(query, of).map(|other| query.name(other)).collect();
        let is_current = self.current_state(query, of).0 == NoteStatus::Cached;
        if let Some(first) = sections.first_mut() {
            if !is_current {
                first.insert_str(0, "(written before the type was changed)\n");
            }
            if !others.is_empty() {
                first.insert_str(0, &format!("(together with {})\n", others.join(", ")));
            }
        }
        sections
    }

    /// Where it is stored: the types of a cycle have one note.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    fn others<'a>(&'a self, query: &'a CodeQuery<'_>, of: u32) -> impl Iterator<Item = u32> + 'a {
        let all = self.content.head.types.iter().filter_map(|id| query.type_by_id(id));
        all.filter(move |other| *other != of)
    }

    /// The other types that the note describes.
    fn other_types(&self, query: &CodeQuery<'_>, of: u32) -> Vec<TypeRef> {
        self.others(query, of).map(|other| query.type_ref(other)).collect()
    }

    /// Whether the note may be sent: it describes no excluded type.
    pub(super) fn may_be_sent(&self, query: &CodeQuery<'_>, of: u32, is_off: &dyn Fn(&str) -> bool) -> bool {
        let others = self.content.head.types.iter().filter_map(|id| query.type_by_id(id));
        others.chain([of]).all(|of| !is_excluded(query, of, is_off))
    }

    /// The state of the note and the reasons: the header's hashes, and the changes since Loci first saw it. Internal changes leave
    /// it valid until there are many.
    pub(super) fn current_state(&self, query: &CodeQuery<'_>, of: u32) -> (NoteStatus, Vec<String>) {
        let why = self.content.hash_differences(self.position, &query.hashes(of));
        let since = query.changes_since(of, &self.content.text, why.is_empty());
        judge_state(why, &since)
    }
}
