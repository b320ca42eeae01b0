//! One question about a type, or about types that hold each other: what is known of them now, what the note that is there says, and
//! what has changed since.
//!
//! Does not ask it, and does not word it: `code::note` does.

use super::{Written, read, stays};
use crate::model_config::Configured;
use crate::ops::code::code_query::CodeQuery;
use crate::ops::code::tree::name_of;
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

/// What is asked about one note.
pub(super) struct Question {
    /// Whole ids of its types, by name.
    pub(super) ids: Vec<String>,
    pub(super) types: Vec<TypeRef>,
    /// Where the note lies, below the tree's folder.
    pub(super) path: String,
    /// What its types are as they were asked about.
    pub(super) bases: Vec<Base>,
    pub(super) dependencies: Vec<String>,
    /// The note that is to be brought up to date, as it stands.
    pub(super) before: Option<(String, Sections)>,
    pub(super) class: Option<&'static str>,
    /// A person wrote the note, or changed it.
    pub(super) by_hand: bool,
    pub(super) asked: Asking,
    pub(super) prompt: MaskedPrompt,
    pub(super) job: Job,
}

/// More are not named in a head.
const DEPENDENCIES: usize = 40;
/// What changed only because something else did.
const REACHED: &str = "Structure-Dependency";

impl Question {
    /// None: one of its types is no longer there, or lies where nothing is sent from.
    pub(super) fn new(
        desk: &CodeQuery<'_>,
        ids: &[String],
        masker: &Masker,
        configured: &Configured,
    ) -> Option<Question> {
        let is_off = |path: &str| configured.is_off(path);
        let of: Vec<u32> = ids.iter().map(|id| desk.number(id)).collect::<Option<_>>()?;
        if of.iter().any(|of| stays(desk, *of, &is_off)) {
            return None;
        }
        let folder = desk.folder();
        let path = if let [id] = ids { note_of(id) } else { group_note_of(&group_id(ids)) };
        let there = folder.as_ref().and_then(|folder| standing_at(desk, folder, &of, &path));
        let bases: Vec<Base> = of.iter().map(|of| desk.base(*of)).collect::<Option<_>>()?;
        let by_hand = there.as_ref().is_some_and(|note| !note.head.untouched);
        let change = there.as_ref().filter(|_| !by_hand).map(|note| change(desk, &of, &bases, note));
        let class = change.as_ref().map(|(class, _)| *class);
        let before = there.map(|note| (note.text, note.sections)).filter(|_| !by_hand);
        let brief = Brief {
            subjects: of.iter().map(|of| known(desk, *of, desk.outline(*of))).collect(),
            dependencies: folder
                .as_ref()
                .map_or_else(Vec::new, |folder| dependencies(desk, folder, &of, &is_off)),
            before: change.zip(before.clone()).map(|((class, members), (_, sections))| Before {
                sections,
                class,
                members,
            }),
        };
        let asked = code::note::ask(&brief);
        let prompt = MaskedPrompt::mask(masker, asked.system, &asked.text);
        let types: Vec<TypeRef> = of.iter().map(|of| desk.type_ref(*of)).collect();
        let about = about(desk.root(), &types);
        let job = Job { key: format!("{about} {}", prompt.fingerprint()), about };
        let dependencies = used(desk, &of).into_iter().map(|of| desk.id(of)).take(DEPENDENCIES).collect();
        Some(Question {
            ids: ids.to_vec(),
            types,
            path,
            bases,
            dependencies,
            before,
            class,
            by_hand,
            asked,
            prompt,
            job,
        })
    }

    pub(super) fn words(&self) -> model_run::Words<'_> {
        (&self.prompt, &self.asked.schema, self.asked.max_tokens)
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

fn known(desk: &CodeQuery<'_>, of: u32, text: String) -> Known {
    Known { name: desk.name(of), text }
}

/// The note that lies where the new one would. Of a circle that was another one it says nothing that could be brought up to date.
fn standing_at(desk: &CodeQuery<'_>, folder: &Folder, of: &[u32], path: &str) -> Option<Written> {
    of.iter().filter_map(|of| read(desk, folder, *of)).find(|note| note.path == path)
}

/// What the types use besides themselves, what they build upon first.
fn used(desk: &CodeQuery<'_>, of: &[u32]) -> Vec<u32> {
    let mut found: Vec<u32> = Vec::new();
    for used in of.iter().flat_map(|of| [desk.bases(*of), desk.uses(*of)].concat()) {
        if !of.contains(&used) && !found.contains(&used) {
            found.push(used);
        }
    }
    found
}

/// Role and lifecycle of what is used, where a note that holds says so.
fn dependencies(
    desk: &CodeQuery<'_>,
    folder: &Folder,
    of: &[u32],
    is_off: &dyn Fn(&str) -> bool,
) -> Vec<Known> {
    let told = |of: u32| {
        let note = read(desk, folder, of).filter(|note| note.may_leave(desk, of, is_off))?;
        if note.standing(desk, of).0 != Note::Cached {
            return None;
        }
        let part = |section: Section| note.sections.get(&section).cloned().unwrap_or_default();
        Some(known(desk, of, format!("{}\n{}", part(Section::Role), part(Section::Lifecycle))))
    };
    used(desk, of).into_iter().filter_map(told).collect()
}

/// What has happened to the types since their note was written: the deepest change, and the members it touched.
fn change(
    desk: &CodeQuery<'_>,
    of: &[u32],
    now: &[Base],
    note: &Written,
) -> (&'static str, Option<Vec<Affected>>) {
    let (mut deepest, mut members): (Option<ChangeClass>, _) = (None, Some(Vec::new()));
    for (of, now) in of.iter().zip(now) {
        let then = desk.had(desk.store().base_of(desk.type_id(*of)));
        let (class, touched) = match then {
            Some(then) => {
                then.change(now).map_or((None, Some(Vec::new())), |(class, all)| (Some(class), Some(all)))
            }
            None => (by_head(desk, *of, note), None),
        };
        deepest = [deepest, class].into_iter().flatten().min();
        members = members.zip(touched).map(|(mut all, more)| {
            all.extend(more);
            all
        });
    }
    (deepest.map_or(REACHED, ChangeClass::name), members)
}

/// What it was based on is not known any more: its head says how deep the change is. Who cannot tell takes it for a deep one.
fn by_head(desk: &CodeQuery<'_>, of: u32, note: &Written) -> Option<ChangeClass> {
    let id = desk.id(of);
    let at = note.head.types.iter().position(|known| *known == id).unwrap_or(0);
    let now = desk.hashes(of);
    let same = |list: &[String], now: Digest| list.get(at).is_some_and(|then| *then == now.to_string());
    if !same(&note.head.structure, now.structure) {
        return Some(ChangeClass::Structure);
    }
    (!same(&note.head.implementation, now.implementation())).then_some(ChangeClass::PublicBehavior)
}

/// The state by which a note that is wanted is ranked.
pub(super) fn wanted(desk: &CodeQuery<'_>, of: u32) -> State {
    let state = desk.note_state(of);
    let note = if state.note == Note::Cached { Note::Stale } else { state.note };
    State { note, ..state }
}

// ---- how a note is named in the ledger

fn about(root: &Path, types: &[TypeRef]) -> String {
    let names: Vec<String> = types.iter().map(|it| it.path.replace(' ', "")).collect();
    format!("{NOTE} {} {}", name_of(root), names.join(" "))
}

/// Whether a question was about a type of this name.
pub(super) fn is_about(about: &str, name: &str) -> bool {
    let name = name.replace(' ', "");
    about.split(' ').skip(2).any(|word| word == name)
}

/// Questions about notes of this tree that were put in vain.
pub(super) fn failed(service: &Service, desk: &CodeQuery<'_>) -> Result<Vec<JobRow>, Error> {
    let Some(ledger) = ledger::look(service) else { return Ok(Vec::new()) };
    let ours = format!("{NOTE} {} ", name_of(desk.root()));
    let mut jobs = ledger.jobs().map_err(|error| ledger::told(&error))?;
    jobs.retain(|job| job.about.starts_with(&ours) && job.error.is_some());
    Ok(jobs)
}
