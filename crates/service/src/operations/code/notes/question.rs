//! Builds the prompt for one note about a type or a dependency cycle: the current outlines, the existing note and the changes
//! since.
//!
//! Does not send the prompt, and does not word it: `notes` does.

use super::{StoredNote, is_excluded, read_note};
use crate::operations::code::code_query::CodeQuery;
use crate::operations::code::tree::tree_name;
use crate::{Service, ledger, model_run};
use api::Error;
use api::code::{NoteLine, TypeRef};
use api::costs::NOTE;
use code::{Baseline, ChangeClass, ChangedMember, Digest, NoteState, NoteStatus};
use config::model::ConfiguredModel;
use folder::{FOLDER_NAME, LociFolder, group_note_path, note_path};
use llm::{Job, JobRow, MaskedPrompt};
use mask::Masker;
use notes::{DescribedType, PreviousNote, Prompt, PromptInput, Section, Sections, group_id};
use std::path::Path;

/// The prompt for one note.
pub(super) struct NotePrompt {
    /// Full IDs of its types, ordered by name.
    pub(super) ids: Vec<String>,
    pub(super) types: Vec<TypeRef>,
    /// Path of the note relative to the `.loci` folder.
    pub(super) path: String,
    /// The state of the types when the prompt was built.
    pub(super) bases: Vec<Baseline>,
    pub(super) dependencies: Vec<String>,
    /// The existing note to update.
    pub(super) before: Option<(String, Sections)>,
    pub(super) class: Option<&'static str>,
    /// A person wrote or changed the note.
    pub(super) by_hand: bool,
    pub(super) prompt_spec: Prompt,
    pub(super) prompt: MaskedPrompt,
    pub(super) job: Job,
}

/// Maximum number of dependencies in a note's header.
const MAX_DEPENDENCIES: usize = 40;
/// Change class of a type that changed only through a dependency.
const DEPENDENCY_CHANGE: &str = "Structure-Dependency";

impl NotePrompt {
    /// `None`: one of the types no longer exists, or is in an excluded folder.
    pub(super) fn new(
        query: &CodeQuery<'_>,
        ids: &[String],
        masker: &Masker,
        configured: &ConfiguredModel,
    ) -> Option<NotePrompt> {
        let is_off = |path: &str| configured.is_off(path);
        let of: Vec<u32> = ids.iter().map(|id| query.type_by_id(id)).collect::<Option<_>>()?;
        if of.iter().any(|of| is_excluded(query, *of, &is_off)) {
            return None;
        }
        let folder = query.folder();
        let path = if let [id] = ids { note_path(id) } else { group_note_path(&group_id(ids)) };
        let there = folder.as_ref().and_then(|folder| existing_note(query, folder, &of, &path));
        let bases: Vec<Baseline> = of.iter().map(|of| query.note_base(*of)).collect::<Option<_>>()?;
        let by_hand = there.as_ref().is_some_and(|note| !note.content.head.untouched);
        let change = there.as_ref().filter(|_| !by_hand).map(|note| change_since(query, &of, &bases, note));
        let class = change.as_ref().map(|(class, _)| *class);
        let before = there.map(|note| (note.content.text, note.content.sections)).filter(|_| !by_hand);
        let brief = PromptInput {
            subjects: of.iter().map(|of| to_known(query, *of, query.outline(*of))).collect(),
            dependencies: folder
                .as_ref()
                .map_or_else(Vec::new, |folder| described_dependencies(query, folder, &of, &is_off)),
            previous: change.zip(before.clone()).map(|((class, members), (_, sections))| PreviousNote {
                sections,
                class,
                members,
            }),
        };
        let prompt_spec = notes::build_prompt(&brief);
        let prompt = MaskedPrompt::mask(masker, prompt_spec.system, &prompt_spec.text);
        let types: Vec<TypeRef> = of.iter().map(|of| query.type_ref(*of)).collect();
        let about = job_subject(query.root(), &types);
        let job = Job { key: format!("{about} {}", prompt.fingerprint()), about };
        let dependencies = outside_dependencies(query, &of)
            .into_iter()
            .map(|of| query.id(of))
            .take(MAX_DEPENDENCIES)
            .collect();
        Some(NotePrompt {
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

    pub(super) fn prompt_parts(&self) -> model_run::PromptSpec<'_> {
        (&self.prompt, &self.prompt_spec.schema, self.prompt_spec.max_tokens)
    }

    pub(super) fn note_line(&self, outcome: &str) -> NoteLine {
        NoteLine {
            types: self.types.clone(),
            path: format!("{FOLDER_NAME}/{}", self.path),
            outcome: outcome.to_string(),
            change_class: self.class.map(str::to_string),
            ..NoteLine::default()
        }
    }
}

fn to_known(query: &CodeQuery<'_>, of: u32, text: String) -> DescribedType {
    DescribedType { name: query.name(of), text }
}

/// The existing note at the path of the new one. The note of a cycle with other members cannot be updated.
fn existing_note(query: &CodeQuery<'_>, folder: &LociFolder, of: &[u32], path: &str) -> Option<StoredNote> {
    of.iter().filter_map(|of| read_note(query, folder, *of)).find(|note| note.path == path)
}

/// The dependencies of the types outside the group, base types first.
fn outside_dependencies(query: &CodeQuery<'_>, of: &[u32]) -> Vec<u32> {
    let mut found: Vec<u32> = Vec::new();
    for used in of.iter().flat_map(|of| [query.base_types(*of), query.used_types(*of)].concat()) {
        if !of.contains(&used) && !found.contains(&used) {
            found.push(used);
        }
    }
    found
}

/// Role and lifecycle of the dependencies that have a current note.
fn described_dependencies(
    query: &CodeQuery<'_>,
    folder: &LociFolder,
    of: &[u32],
    is_off: &dyn Fn(&str) -> bool,
) -> Vec<DescribedType> {
    let summarise = |of: u32| {
        let note = read_note(query, folder, of).filter(|note| note.may_be_sent(query, of, is_off))?;
        if note.current_state(query, of).0 != NoteStatus::Cached {
            return None;
        }
        let part = |section: Section| note.content.sections.get(&section).cloned().unwrap_or_default();
        Some(to_known(query, of, format!("{}\n{}", part(Section::Role), part(Section::Lifecycle))))
    };
    outside_dependencies(query, of).into_iter().filter_map(summarise).collect()
}

/// The changes since the note was written: the deepest change class, and the affected members.
fn change_since(
    query: &CodeQuery<'_>,
    of: &[u32],
    now: &[Baseline],
    note: &StoredNote,
) -> (&'static str, Option<Vec<ChangedMember>>) {
    let (mut deepest, mut members): (Option<ChangeClass>, _) = (None, Some(Vec::new()));
    for (of, now) in of.iter().zip(now) {
        let then = query.or_record_error(query.store().baseline_of(query.type_id(*of)));
        let (class, touched) = match then {
            Some(then) => then
                .changes_since(now)
                .map_or((None, Some(Vec::new())), |(class, all)| (Some(class), Some(all))),
            None => (class_from_header(query, *of, note), None),
        };
        deepest = [deepest, class].into_iter().flatten().min();
        members = members.zip(touched).map(|(mut all, more)| {
            all.extend(more);
            all
        });
    }
    (deepest.map_or(DEPENDENCY_CHANGE, ChangeClass::name), members)
}

/// Derives the change class from the hashes in the note's header when its base is no longer stored. An unknown hash counts as
/// a deep change.
fn class_from_header(query: &CodeQuery<'_>, of: u32, note: &StoredNote) -> Option<ChangeClass> {
    let id = query.id(of);
    let at = note.content.head.types.iter().position(|known| *known == id).unwrap_or(0);
    let now = query.hashes(of);
    let same = |list: &[String], now: Digest| list.get(at).is_some_and(|then| *then == now.to_string());
    if !same(&note.content.head.structure, now.structure) {
        return Some(ChangeClass::Structure);
    }
    (!same(&note.content.head.implementation, now.implementation())).then_some(ChangeClass::PublicBehavior)
}

/// The state by which a requested note is ranked.
pub(super) fn ranking_state(query: &CodeQuery<'_>, of: u32) -> NoteState {
    let state = query.note_state(of);
    let note = if state.status == NoteStatus::Cached { NoteStatus::Stale } else { state.status };
    NoteState { status: note, ..state }
}

// ---- job names in the ledger

fn job_subject(root: &Path, types: &[TypeRef]) -> String {
    let names: Vec<String> = types.iter().map(|it| it.path.replace(' ', "")).collect();
    format!("{NOTE} {} {}", tree_name(root), names.join(" "))
}

/// Whether a job is about the type with this name.
pub(super) fn is_about(about: &str, name: &str) -> bool {
    let name = name.replace(' ', "");
    about.split(' ').skip(2).any(|word| word == name)
}

/// Failed jobs for notes of this tree.
pub(super) fn failed_jobs(service: &Service, query: &CodeQuery<'_>) -> Result<Vec<JobRow>, Error> {
    let Some(ledger) = ledger::open_existing(service)? else { return Ok(Vec::new()) };
    let ours = format!("{NOTE} {} ", tree_name(query.root()));
    let mut jobs = ledger.unfinished_jobs().map_err(|error| ledger::ledger_error(&error))?;
    jobs.retain(|job| job.about.starts_with(&ours) && job.error.is_some());
    Ok(jobs)
}
