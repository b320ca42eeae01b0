//! The prompt window: pinned, focused and recently requested types, within a token budget.
//!
//! Does not choose what fits the budget: [`code::fill_window`] does.

use super::code_query::{CodeQuery, with_tree};
use super::{notes, pack};
use crate::Service;
use api::code::{GetPromptWindow, PromptWindow, WindowEntry};
use api::{Error, Handle, Request};
use code::{count_tokens, recency_score};
use folder::access::{AccessEntry, SHORT_LOCK_TIMEOUT};
use folder::{FOLDER_NAME, LociFolder, PROMPT_WINDOW};
use std::collections::{BTreeMap, BTreeSet};

/// Rewrites the window file with the default parameters.
pub(super) fn rewrite_window(query: &CodeQuery<'_>) -> Result<(), Error> {
    build_window(query, &GetPromptWindow::default()).map(|_| ())
}

impl Handle<GetPromptWindow> for Service {
    fn handle(&self, request: &GetPromptWindow) -> Result<PromptWindow, Error> {
        request.check_params()?;
        with_tree(self, request.root.as_ref(), |query| build_window(query, request))
    }
}

fn build_window(query: &CodeQuery<'_>, request: &GetPromptWindow) -> Result<PromptWindow, Error> {
    let in_pack =
        request.pack.as_deref().map_or(Ok(BTreeSet::new()), |name| pack::pack_types(query, name))?;
    let folder = query.folder();
    let mut noted = BTreeMap::new();
    let [pinned, focus, recent] = [pinned_types(query), focus_types(query), recent_types(query, &in_pack)]
        .map(|of| {
            of.into_iter().map(|of| window_entry(query, folder.as_ref(), &mut noted, of)).collect::<Vec<_>>()
        });
    let budget = (request.budget as usize).saturating_sub(count_tokens(&code::Window::frame()));
    let window = code::fill_window(budget, &pinned, &focus, &recent);
    let all: Vec<&code::WindowEntry> = pinned.iter().chain(&focus).chain(&recent).collect();
    let text = window.render(&all);
    let changed = folder.as_ref().and_then(|folder| write_window(query, folder, &text));
    let shown = |shown: &code::ShownEntry| WindowEntry {
        path: query.name(shown.of),
        type_id: query.id(shown.of),
        region: shown.region.name().to_string(),
    };
    Ok(PromptWindow {
        tokens: count_tokens(&text) as u64,
        budget: request.budget,
        shown: window.shown.iter().map(shown).collect(),
        left_out: window.left_out.iter().map(|of| query.type_ref(*of)).collect(),
        path: changed.map(|_| format!("{FOLDER_NAME}/{PROMPT_WINDOW}")),
        changed: changed.unwrap_or_default(),
        window: text,
        coverage: query.coverage(),
    })
}

/// Writes the window file and returns whether it changed. `None`: it could not be written, and a note says why.
fn write_window(query: &CodeQuery<'_>, folder: &LociFolder, text: &str) -> Option<bool> {
    let written =
        folder.lock_for_writing(SHORT_LOCK_TIMEOUT).and_then(|pen| pen.write(PROMPT_WINDOW, text.as_bytes()));
    written.map_err(|error| query.add_note(format!("cannot store the prompt window: {error}"))).ok()
}

fn pinned_types(query: &CodeQuery<'_>) -> Vec<u32> {
    let number = |seen: &AccessEntry| {
        let number = query.type_by_id(&seen.id);
        if number.is_none() {
            query.add_note(format!(
                "pinned type `{}` no longer exists; `loci code unpin {0}` removes it",
                seen.name
            ));
        }
        number
    };
    query.access.pinned.iter().filter_map(number).collect()
}

/// The focus region: the last requested type and the explicitly focused types, then their base types and dependencies, most
/// recent first. The last requested type comes first because a small budget must not drop it.
fn focus_types(query: &CodeQuery<'_>) -> Vec<u32> {
    let access = &query.access;
    let lead = access.recent_entries().find_map(|seen| query.type_by_id(&seen.id));
    let focused = access.focused_at(query.now()).filter_map(|seen| query.type_by_id(&seen.id));
    let mut leads: Vec<u32> = lead.into_iter().chain(focused).collect();
    let near = |of: &u32| [query.base_types(*of), query.used_types(*of)].concat();
    let mut around: Vec<u32> = leads.iter().flat_map(near).collect();
    let mut ages: BTreeMap<u32, usize> = BTreeMap::new();
    for (age, of) in
        access.recent.iter().enumerate().filter_map(|(age, seen)| Some((age, query.type_by_id(&seen.id)?)))
    {
        ages.entry(of).or_insert(age);
    }
    let dismissed: BTreeSet<u32> =
        access.dismissed.iter().filter_map(|seen| query.type_by_id(&seen.id)).collect();
    around.retain(|of| !dismissed.contains(of));
    // Stable sort: base types stay before other dependencies.
    around.sort_by_key(|of| ages.get(of).copied().unwrap_or(usize::MAX));
    leads.extend(around);
    leads
}

fn recent_types(query: &CodeQuery<'_>, in_pack: &BTreeSet<u32>) -> Vec<u32> {
    let known = query.access.recent_entries().filter_map(|seen| query.type_by_id(&seen.id));
    let value =
        |(age, of): (usize, u32)| (recency_score(age, query.user_count(of), in_pack.contains(&of)), of);
    let mut all: Vec<(f64, u32)> = known.enumerate().map(value).collect();
    // Stable sort: of two with the same value, the later request comes first.
    all.sort_by(|one, other| other.0.total_cmp(&one.0));
    all.into_iter().map(|(_, of)| of).collect()
}

/// All texts of a type: its outline, then the sections of its note. The note of a cycle is shown with the first of its types;
/// `noted` has that type for each note.
fn window_entry(
    query: &CodeQuery<'_>,
    folder: Option<&LociFolder>,
    noted: &mut BTreeMap<String, u32>,
    of: u32,
) -> code::WindowEntry {
    let mut texts = vec![query.outline(of)];
    let note = folder.and_then(|folder| notes::read_note(query, folder, of));
    if let Some(note) = note.filter(|note| *noted.entry(note.path().to_string()).or_insert(of) == of) {
        texts.extend(note.marked_sections(query, of));
    }
    let priced = |text: String| {
        let tokens = count_tokens(&text) + 1;
        (text, tokens)
    };
    code::WindowEntry { of, texts: texts.into_iter().map(priced).collect() }
}
