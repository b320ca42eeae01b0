//! Builds the prompt for one note about a type or a dependency cycle: the current outlines, the existing note and the changes
//! since.
//!
//! Does not send the prompt, and does not word it: `code::note` does.

use super::{Written, read, stays};
use crate::model_config::Configured;
use crate::operations::code::code_query::CodeQuery;
use crate::operations::code::tree::name_of;
use crate::{Service, ledger, model_run};
use api::Error;
use api::code::{NoteLine, TypeRef};
use api::costs::NOTE;
use code::folder::{Folder, NAME, group_note_of, note_of};
use code::note::{Affected, Asking, Base, Before, Brief, Known, Section, Sections, group_id};
use code::{ChangeClass, Digest, Note, State};
use llm::{Job, JobRow, MaskedPrompt};
use mask::Masker;
use std::path::Path;

/// The prompt for one note.
pub(super) struct Question {
    /// Full IDs of its types, ordered by name.
    pub(super) ids: Vec<String>,
    pub(super) types: Vec<TypeRef>,
    /// Path of the note relative to the `.loci` folder.
    pub(super) path: String,
    /// The state of the types when the prompt was built.
    pub(super) bases: Vec<Base>,
    pub(super) dependencies: Vec<String>,
    /// The existing note to update.
    pub(super) before: Option<(String, Sections)>,
    pub(super) class: Option<&'static str>,
    /// A person wrote or changed the note.
    pub(super) by_hand: bool,
    pub(super) prompt_spec: Asking,
    pub(super) prompt: MaskedPrompt,
    pub(super) job: Job,
}

/// Maximum number of dependencies in a note's header.
const DEPENDENCIES: usize = 40;
/// Change class of a type that changed only through a dependency.
const REACHED: &str = "Structure-Dependency";

impl Question {
    /// `None`: one of the types no longer exists, or is in an excluded folder.
    pub(super) fn new(
        query: &CodeQuery<'_>,
        ids: &[String],
        masker: &Masker,
        configured: &Configured,
    ) -> Option<Question> {
        let is_off = |path: &str| configured.is_off(path);
        let of: Vec<u32> = ids.iter().map(|id| query.number(id)).collect::<Option<_>>()?;
        if of.iter().any(|of| stays(query, *of, &is_off)) {
            return None;
        }
        let folder = query.folder();
        let path = if let [id] = ids { note_of(id) } else { group_note_of(&group_id(ids)) };
        let there = folder.as_ref().and_then(|folder| standing_at(query, folder, &of, &path));
        let bases: Vec<Base> = of.iter().map(|of| query.base(*of)).collect::<Option<_>>()?;
        let by_hand = there.as_ref().is_some_and(|note| !note.head.untouched);
        let change = there.as_ref().filter(|_| !by_hand).map(|note| change(query, &of, &bases, note));
        let class = change.as_ref().map(|(class, _)| *class);
        let before = there.map(|note| (note.text, note.sections)).filter(|_| !by_hand);
        let brief = Brief {
            subjects: of.iter().map(|of| known(query, *of, query.outline(*of))).collect(),
            dependencies: folder
                .as_ref()
                .map_or_else(Vec::new, |folder| dependencies(query, folder, &of, &is_off)),
            before: change.zip(before.clone()).map(|((class, members), (_, sections))| Before {
                sections,
                class,
                members,
            }),
        };
        let prompt_spec = code::note::ask(&brief);
        let prompt = MaskedPrompt::mask(masker, prompt_spec.system, &prompt_spec.text);
        let types: Vec<TypeRef> = of.iter().map(|of| query.type_ref(*of)).collect();
        let about = about(query.root(), &types);
        let job = Job { key: format!("{about} {}", prompt.fingerprint()), about };
        let dependencies = used(query, &of).into_iter().map(|of| query.id(of)).take(DEPENDENCIES).collect();
        Some(Question {
            ids: ids.to_vec(),
            types,
            path,
            bases,
            dependencies,
            before,
            class,
            by_hand,
            prompt_spec,
            prompt,
            job,
        })
    }

    pub(super) fn words(&self) -> model_run::Words<'_> {
        (&self.prompt, &self.prompt_spec.schema, self.prompt_spec.max_tokens)
    }

    pub(super) fn line(&self, outcome: &str) -> NoteLine {
        NoteLine {
            types: self.types.clone(),
            path: format!("{NAME}/{}", self.path),
            outcome: outcome.to_string(),
            change_class: self.class.map(str::to_string),
            ..NoteLine::default()
        }
    }
}

fn known(query: &CodeQuery<'_>, of: u32, text: String) -> Known {
    Known { name: query.name(of), text }
}

/// The existing note at the path of the new one. The note of a cycle with other members cannot be updated.
fn standing_at(query: &CodeQuery<'_>, folder: &Folder, of: &[u32], path: &str) -> Option<Written> {
    of.iter().filter_map(|of| read(query, folder, *of)).find(|note| note.path == path)
}

/// The dependencies of the types outside the group, base types first.
fn used(query: &CodeQuery<'_>, of: &[u32]) -> Vec<u32> {
    let mut found: Vec<u32> = Vec::new();
    for used in of.iter().flat_map(|of| [query.bases(*of), query.uses(*of)].concat()) {
        if !of.contains(&used) && !found.contains(&used) {
            found.push(used);
        }
    }
    found
}

/// Role and lifecycle of the dependencies that have a current note.
fn dependencies(
    query: &CodeQuery<'_>,
    folder: &Folder,
    of: &[u32],
    is_off: &dyn Fn(&str) -> bool,
) -> Vec<Known> {
    let summarise = |of: u32| {
        let note = read(query, folder, of).filter(|note| note.may_leave(query, of, is_off))?;
        if note.standing(query, of).0 != Note::Cached {
            return None;
        }
        let part = |section: Section| note.sections.get(&section).cloned().unwrap_or_default();
        Some(known(query, of, format!("{}\n{}", part(Section::Role), part(Section::Lifecycle))))
    };
    used(query, of).into_iter().filter_map(summarise).collect()
}

/// The changes since the note was written: the deepest change class, and the affected members.
fn change(
    query: &CodeQuery<'_>,
    of: &[u32],
    now: &[Base],
    note: &Written,
) -> (&'static str, Option<Vec<Affected>>) {
    let (mut deepest, mut members): (Option<ChangeClass>, _) = (None, Some(Vec::new()));
    for (of, now) in of.iter().zip(now) {
        let then = query.had(query.store().base_of(query.type_id(*of)));
        let (class, touched) = match then {
            Some(then) => {
                then.change(now).map_or((None, Some(Vec::new())), |(class, all)| (Some(class), Some(all)))
            }
            None => (by_head(query, *of, note), None),
        };
        deepest = [deepest, class].into_iter().flatten().min();
        members = members.zip(touched).map(|(mut all, more)| {
            all.extend(more);
            all
        });
    }
    (deepest.map_or(REACHED, ChangeClass::name), members)
}

/// Derives the change class from the hashes in the note's header when its base is no longer stored. An unknown hash counts as
/// a deep change.
fn by_head(query: &CodeQuery<'_>, of: u32, note: &Written) -> Option<ChangeClass> {
    let id = query.id(of);
    let at = note.head.types.iter().position(|known| *known == id).unwrap_or(0);
    let now = query.hashes(of);
    let same = |list: &[String], now: Digest| list.get(at).is_some_and(|then| *then == now.to_string());
    if !same(&note.head.structure, now.structure) {
        return Some(ChangeClass::Structure);
    }
    (!same(&note.head.implementation, now.implementation())).then_some(ChangeClass::PublicBehavior)
}

/// The state by which a requested note is ranked.
pub(super) fn wanted(query: &CodeQuery<'_>, of: u32) -> State {
    let state = query.note_state(of);
    let note = if state.note == Note::Cached { Note::Stale } else { state.note };
    State { note, ..state }
}

// ---- job names in the ledger

fn about(root: &Path, types: &[TypeRef]) -> String {
    let names: Vec<String> = types.iter().map(|it| it.path.replace(' ', "")).collect();
    format!("{NOTE} {} {}", name_of(root), names.join(" "))
}

/// Whether a job is about the type with this name.
pub(super) fn is_about(about: &str, name: &str) -> bool {
    let name = name.replace(' ', "");
    about.split(' ').skip(2).any(|word| word == name)
}

/// Failed jobs for notes of this tree.
pub(super) fn failed(service: &Service, query: &CodeQuery<'_>) -> Result<Vec<JobRow>, Error> {
    let Some(ledger) = ledger::look(service) else { return Ok(Vec::new()) };
    let ours = format!("{NOTE} {} ", name_of(query.root()));
    let mut jobs = ledger.jobs().map_err(|error| ledger::told(&error))?;
    jobs.retain(|job| job.about.starts_with(&ours) && job.error.is_some());
    Ok(jobs)
}
