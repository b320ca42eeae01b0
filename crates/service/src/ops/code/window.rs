//! The prompt window: what is pinned, what the work is about, what was asked for lately, as much as a budget of tokens allows.
//!
//! Does not choose what fits: `code::fill` does.

use super::access::{BRIEFLY, Seen};
use super::code_query::{CodeQuery, at_desk};
use super::{notes, pack};
use crate::Service;
use api::code::{GetPromptWindow, InWindow, PromptWindow};
use api::{Error, Handle, Request};
use code::folder::{Folder, NAME, PROMPT_WINDOW};
use code::{Entry, Note, Region, Window, count_tokens, fill, worth};
use std::collections::{BTreeMap, BTreeSet};

const TITLE: &str = "# Prompt window\n\n";

/// Writes the window again as it would be asked for without saying more.
pub(super) fn rewrite(desk: &CodeQuery<'_>) -> Result<(), Error> {
    filled(desk, &GetPromptWindow::default()).map(|_| ())
}

impl Handle<GetPromptWindow> for Service {
    fn handle(&self, ask: &GetPromptWindow) -> Result<PromptWindow, Error> {
        get_prompt_window(self, ask)
    }
}

fn get_prompt_window(service: &Service, ask: &GetPromptWindow) -> Result<PromptWindow, Error> {
    ask.check()?;
    at_desk(service, ask.root.as_ref(), |desk| filled(desk, ask))
}

fn filled(desk: &CodeQuery<'_>, ask: &GetPromptWindow) -> Result<PromptWindow, Error> {
    let in_pack = ask.pack.as_deref().map_or(Ok(BTreeSet::new()), |name| pack::types_of(desk, name))?;
    let folder = desk.folder();
    let [pinned, focus, recent] = [pinned(desk), focus(desk), recent(desk, &in_pack)]
        .map(|of| of.into_iter().map(|of| entry(desk, folder.as_ref(), of)).collect::<Vec<_>>());
    let frame: usize = [Region::Pinned, Region::Focus, Region::Recent]
        .map(|region| count_tokens(&heading(region)))
        .iter()
        .sum();
    let budget = (ask.budget as usize).saturating_sub(frame + count_tokens(TITLE));
    let window = fill(budget, &pinned, &focus, &recent);
    let all: Vec<&Entry> = pinned.iter().chain(&focus).chain(&recent).collect();
    let text = written(&window, &all);
    let changed = folder.as_ref().and_then(|folder| kept(desk, folder, &text));
    let shown = |shown: &code::Shown| InWindow {
        path: desk.name(shown.of),
        type_id: desk.id(shown.of),
        region: shown.region.name().to_string(),
    };
    Ok(PromptWindow {
        tokens: count_tokens(&text) as u64,
        budget: ask.budget,
        shown: window.shown.iter().map(shown).collect(),
        left_out: window.left_out.iter().map(|of| desk.type_ref(*of)).collect(),
        path: changed.map(|_| format!("{NAME}/{PROMPT_WINDOW}")),
        changed: changed.unwrap_or_default(),
        window: text,
        coverage: desk.coverage(),
    })
}

/// Writes the window where it is kept. None: it could not be, which is told.
fn kept(desk: &CodeQuery<'_>, folder: &Folder, text: &str) -> Option<bool> {
    let written = folder.pen(BRIEFLY).and_then(|pen| pen.write(PROMPT_WINDOW, text.as_bytes()));
    written.map_err(|error| desk.note(format!("the window is not kept: {error}"))).ok()
}

fn pinned(desk: &CodeQuery<'_>) -> Vec<u32> {
    let number = |seen: &Seen| {
        let number = desk.number(&seen.id);
        if number.is_none() {
            desk.note(format!("`{}` is pinned and no longer there; `loci code unpin {0}`", seen.name));
        }
        number
    };
    desk.access.pinned.iter().filter_map(number).collect()
}

/// What the work is about: what was said to be and what was asked for last, then what those build upon and use. Each step from the
/// lead first, then the latest: on a small budget the lead itself is what must not be missing.
fn focus(desk: &CodeQuery<'_>) -> Vec<u32> {
    let access = &desk.access;
    let lead = access.lately().find_map(|seen| desk.number(&seen.id));
    let said = access.in_context(desk.now()).filter_map(|seen| desk.number(&seen.id));
    let mut leads: Vec<u32> = lead.into_iter().chain(said).collect();
    let near = |of: &u32| [desk.bases(*of), desk.uses(*of)].concat();
    let mut around: Vec<u32> = leads.iter().flat_map(near).collect();
    let mut ages: BTreeMap<u32, usize> = BTreeMap::new();
    for (age, of) in
        access.recent.iter().enumerate().filter_map(|(age, seen)| Some((age, desk.number(&seen.id)?)))
    {
        ages.entry(of).or_insert(age);
    }
    let dismissed: BTreeSet<u32> = access.dismissed.iter().filter_map(|seen| desk.number(&seen.id)).collect();
    around.retain(|of| !dismissed.contains(of));
    // Stable: bases stand before what is only used.
    around.sort_by_key(|of| ages.get(of).copied().unwrap_or(usize::MAX));
    leads.extend(around);
    leads
}

fn recent(desk: &CodeQuery<'_>, in_pack: &BTreeSet<u32>) -> Vec<u32> {
    let known = desk.access.lately().filter_map(|seen| desk.number(&seen.id));
    let value = |(age, of): (usize, u32)| (worth(age, desk.used_by(of), in_pack.contains(&of)), of);
    let mut all: Vec<(f64, u32)> = known.enumerate().map(value).collect();
    // Stable: of two that are worth the same, the later.
    all.sort_by(|one, other| other.0.total_cmp(&one.0));
    all.into_iter().map(|(_, of)| of).collect()
}

/// Everything there is to show of a type: its outline, then the parts of its note.
fn entry(desk: &CodeQuery<'_>, folder: Option<&Folder>, of: u32) -> Entry {
    let mut texts = vec![desk.outline(of)];
    if let Some(note) = folder.and_then(|folder| notes::read_own(desk, folder, of)) {
        let mut parts = note.parts();
        if let Some(first) = parts.first_mut().filter(|_| note.standing(desk, of).0 != Note::Cached) {
            first.insert_str(0, "(written before the type was changed)\n");
        }
        texts.extend(parts);
    }
    let priced = |text: String| {
        let tokens = count_tokens(&text) + 1;
        (text, tokens)
    };
    Entry { of, texts: texts.into_iter().map(priced).collect() }
}

fn heading(region: Region) -> String {
    format!("## {}\n\n", region.name())
}

fn written(window: &Window, entries: &[&Entry]) -> String {
    let mut text = TITLE.to_string();
    let mut region = None;
    for shown in &window.shown {
        if region != Some(shown.region) {
            region = Some(shown.region);
            text.push_str(&heading(shown.region));
        }
        let entry = entries.iter().find(|entry| entry.of == shown.of);
        for (part, _) in entry.into_iter().flat_map(|entry| entry.texts.iter().take(shown.texts)) {
            text.push_str(part);
        }
        text.push('\n');
    }
    text
}
