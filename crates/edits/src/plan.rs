//! A planned edit: text edits by byte range in each file, what is uncertain about it, and its diff.
//!
//! Does not know how the edits were found, or how they are written.

use crate::diff::unified_diff;
use crate::edit::{FileEdit, Place, TextEdit};
use crate::error::EditError;
use crate::sources::Sources;
use crate::text::{SourceText, apply_edits, line_and_column, line_at};
use crate::tree::Tree;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use syntax::{Digest, Span, whole_words};

/// Why a step that is planned without doubt cannot be applied yet.
pub const NEEDS_COMPILER: &str = "only a compiler can confirm it";

/// A place that may have to change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uncertain {
    pub place: Place,
    /// The edit it would need; `None` if the doubt is about the symbol itself.
    pub edit: Option<TextEdit>,
    /// Whether nothing else in the tree has the name.
    pub likely: bool,
    /// Whether a compiler can decide about it.
    pub can_be_compiled: bool,
}

/// A planned edit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// What the plan does, for reading: `rename Store.Get to Fetch`.
    pub title: String,
    /// By path.
    pub files: Vec<FileEdit>,
    /// The digests of the files that were read: if one of them changes, the plan is out of date.
    pub read: BTreeMap<String, u64>,
    /// Places that may have to change too; the plan is complete if there are none.
    pub unsure: Vec<Uncertain>,
    /// The compilers that checked it.
    #[serde(default)]
    pub checked_by: Option<String>,
    /// Places that use what the plan deletes or declares differently all the same.
    #[serde(default)]
    pub still_used: Vec<Place>,
    /// A unified diff.
    pub diff: String,
}

impl Plan {
    pub fn is_complete(&self) -> bool {
        self.unsure.is_empty()
    }

    pub fn edit_count(&self) -> usize {
        self.files.iter().map(|file| file.edits.len()).sum()
    }

    /// An ID that depends on the content of the plan alone.
    pub fn id(&self) -> String {
        let bytes = serde_json::to_vec(&(&self.title, &self.files)).unwrap_or_default();
        format!("e{:08x}", Digest::of_bytes(&bytes).0 >> 32)
    }

    pub(crate) fn empty(title: String) -> Plan {
        Plan {
            title,
            files: Vec::new(),
            read: BTreeMap::new(),
            unsure: Vec::new(),
            checked_by: None,
            still_used: Vec::new(),
            diff: String::new(),
        }
    }

    /// Builds a plan from edits by path; the tree has the text of every file.
    pub(crate) fn build(
        tree: &Tree,
        title: String,
        edits: BTreeMap<String, Vec<TextEdit>>,
    ) -> Result<Plan, EditError> {
        let mut plan = Plan::empty(title);
        for (path, mut edits) in edits {
            edits.sort();
            edits.dedup();
            if edits.is_empty() {
                continue;
            }
            let is_new = tree.file_number(&path).is_none();
            let digest = if is_new { 0 } else { tree.digest(&path)? };
            plan.files.push(FileEdit { path, digest, edits, moved_to: None, is_new });
        }
        if plan.files.is_empty() {
            return Err(EditError::NoChange);
        }
        plan.refresh_diff(&tree.sources)?;
        Ok(plan)
    }

    /// Writes the diff again, after edits were added.
    pub(crate) fn refresh_diff(&mut self, sources: &Sources) -> Result<(), EditError> {
        self.diff.clear();
        for file in &self.files {
            let text = if file.is_new { "" } else { &sources.text(&file.path)?.text };
            self.diff.push_str(&unified_diff(file, text));
        }
        Ok(())
    }

    /// Adds the edits of the unsure places for which `is_chosen` holds, and keeps the others as unsure.
    pub fn confirm(
        &mut self,
        sources: &Sources,
        is_chosen: &dyn Fn(&Uncertain) -> bool,
    ) -> Result<(), EditError> {
        let (chosen, kept) = std::mem::take(&mut self.unsure).into_iter().partition(|it| is_chosen(it));
        self.unsure = kept;
        for uncertain in Vec::<Uncertain>::into_iter(chosen) {
            let Some(edit) = uncertain.edit else { continue };
            self.add_edit(sources, &uncertain.place.file, edit)?;
        }
        self.refresh_diff(sources)
    }

    /// Decides about uncertain places, each named as `file:line`, or with its column where a line has several: some change too, others
    /// stay as they are.
    pub fn decide_places(
        &mut self,
        sources: &Sources,
        confirmed: &[String],
        left: &[String],
    ) -> Result<(), EditError> {
        self.require_unchanged(sources)?;
        let (confirmed, left) = (self.find_places(confirmed)?, self.find_places(left)?);
        if let Some(both) = confirmed.iter().find(|place| left.contains(place)) {
            let hint = format!("leave out one of them for {both}");
            return Err(EditError::invalid("a place cannot both change and stay", hint));
        }
        let is_confirmed = |it: &Uncertain| confirmed.contains(&name_place(&it.place));
        if let Some(it) = self.unsure.iter().find(|it| is_confirmed(it) && it.edit.is_none()) {
            let message = format!("it is not known how {}:{} would change", it.place.file, it.place.line);
            return Err(EditError::invalid(message, "`--leave` it, and change it yourself if it has to"));
        }
        for it in self.unsure.iter().filter(|it| is_confirmed(it)) {
            require_free_name(sources, it)?;
        }
        let is_left = |it: &Uncertain| left.contains(&name_place(&it.place));
        self.unsure.retain(|it| it.place.reason == NEEDS_COMPILER || !is_left(it));
        if self.unsure.iter().any(is_confirmed) {
            // what a compiler said was about another text
            self.checked_by = None;
            self.confirm(sources, &is_confirmed)?;
        }
        check_syntax(sources, self)
    }

    /// Refuses a plan about files that are no longer as they were.
    fn require_unchanged(&self, sources: &Sources) -> Result<(), EditError> {
        let known = self.files.iter().filter(|file| !file.is_new).map(|file| (&file.path, file.digest));
        let uncertain = self.unsure.iter().map(|it| &it.place.file);
        let read = uncertain.filter_map(|file| self.read.get(file).map(|digest| (file, *digest)));
        let is_other = |(file, digest): &(&String, u64)| sources.digest(file).ok() != Some(*digest);
        let mut changed: Vec<String> =
            known.chain(read).filter(is_other).map(|(file, _)| file.clone()).collect();
        changed.sort();
        changed.dedup();
        if changed.is_empty() { Ok(()) } else { Err(EditError::Changed(changed)) }
    }

    /// The uncertain places with these names, with their columns.
    fn find_places(&self, names: &[String]) -> Result<Vec<String>, EditError> {
        let mut found = Vec::new();
        for name in names {
            let is_named =
                |it: &Place| name_place(it) == *name || format!("{}:{}", it.file, it.line) == *name;
            let mut places: Vec<&Place> =
                self.unsure.iter().map(|it| &it.place).filter(|it| is_named(it)).collect();
            places.dedup_by_key(|it| name_place(it));
            match places.as_slice() {
                [one] if one.reason == NEEDS_COMPILER => {
                    let message = format!("{name}: {NEEDS_COMPILER}");
                    return Err(EditError::invalid(message, "plan it again with --check"));
                }
                [one] => found.push(name_place(one)),
                [] => {
                    let all: Vec<String> = self.unsure.iter().map(|it| name_place(&it.place)).collect();
                    let known = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
                    let message = format!("the plan has no uncertain place `{name}`");
                    return Err(EditError::invalid(message, format!("uncertain places: {known}")));
                }
                several => {
                    let all: Vec<String> = several.iter().map(|it| name_place(it)).collect();
                    let message = format!("`{name}` is {} uncertain places", all.len());
                    return Err(EditError::invalid(message, all.join(", ")));
                }
            }
        }
        Ok(found)
    }

    pub(crate) fn add_edit(
        &mut self,
        sources: &Sources,
        path: &str,
        edit: TextEdit,
    ) -> Result<(), EditError> {
        if !self.files.iter().any(|file| file.path == path) {
            let digest = sources.digest(path)?;
            self.files.push(FileEdit {
                path: path.to_owned(),
                digest,
                edits: Vec::new(),
                moved_to: None,
                is_new: false,
            });
            self.files.sort_by(|one, other| one.path.cmp(&other.path));
        }
        if let Some(file) = self.files.iter_mut().find(|file| file.path == path) {
            // one call can be an argument of another
            let overlaps = |it: &&TextEdit| **it != edit && it.from < edit.to && edit.from < it.to;
            if file.edits.iter().any(|it| overlaps(&it)) {
                let place = Place::new(path, &sources.text(path)?.text, edit.from, "overlaps another change");
                return Err(EditError::Overlap(vec![place]));
            }
            file.edits.push(edit);
            file.edits.sort();
            file.edits.dedup();
        }
        Ok(())
    }

    /// Refuses a plan that is not complete.
    pub fn require_complete(&self) -> Result<(), EditError> {
        if self.is_complete() {
            return Ok(());
        }
        Err(EditError::Incomplete(self.unsure.iter().map(|it| it.place.clone()).collect()))
    }

    /// The new content of each file, by path: `None` for a path that goes.
    pub fn contents(&self, tree: &Tree) -> Result<BTreeMap<String, Option<Vec<u8>>>, EditError> {
        let mut contents = BTreeMap::new();
        for file in &self.files {
            let empty = SourceText::default();
            let bytes = file.apply_to(if file.is_new { &empty } else { tree.text(&file.path)? })?;
            if let Some(to) = &file.moved_to {
                contents.insert(file.path.clone(), None);
                contents.insert(to.clone(), Some(bytes));
            } else {
                contents.insert(file.path.clone(), Some(bytes));
            }
        }
        Ok(contents)
    }
}

impl FileEdit {
    /// The edited content, in the encoding of the file.
    pub(crate) fn apply_to(&self, source: &SourceText) -> Result<Vec<u8>, EditError> {
        let unwritable = || EditError::Encoding(self.path.clone());
        let text = apply_edits(&source.text, &self.edits).ok_or_else(unwritable)?;
        source.encode(&text).ok_or_else(unwritable)
    }
}

impl Place {
    pub(crate) fn new(file: &str, text: &str, at: u32, reason: impl Into<String>) -> Place {
        let (line, column) = line_and_column(text, at as usize);
        let shown = line_at(text, at as usize).trim().chars().take(200).collect();
        Place { file: file.to_owned(), line, column, text: shown, reason: reason.into() }
    }
}

/// `src/a.rs:12:5`
fn name_place(it: &Place) -> String {
    format!("{}:{}:{}", it.file, it.line, it.column)
}

/// Refuses a new name that its file already uses for something else. Members are looked up in their type.
fn require_free_name(sources: &Sources, uncertain: &Uncertain) -> Result<(), EditError> {
    let Some(edit) = &uncertain.edit else { return Ok(()) };
    let path = &uncertain.place.file;
    let text = &sources.text(path)?.text;
    let is_member = |at: u32| {
        let before = text[..at as usize].trim_end();
        before.ends_with('.') || before.ends_with("::")
    };
    let is_name = !edit.text.is_empty() && edit.text.chars().all(|c| c.is_alphanumeric() || c == '_');
    if !is_name || is_member(edit.from) {
        return Ok(());
    }
    let nodes = sources.nodes(path)?;
    let is_prose = |at: u32| ["comment", "string"].iter().any(|word| nodes.get(at).kind.contains(word));
    let is_code = |span: &Span| {
        let node = nodes.at(*span);
        !is_member(span.from) && node.is_none_or(|at| !is_prose(at) && !nodes.ancestors(at).any(is_prose))
    };
    let used: Vec<Span> = whole_words(text, &edit.text).into_iter().filter(is_code).collect();
    let to_place = |span: &Span| Place::new(path, text, span.from, "already has the new name");
    match used.as_slice() {
        [] => Ok(()),
        used => {
            Err(EditError::Captured { name: edit.text.clone(), places: used.iter().map(to_place).collect() })
        }
    }
}

/// Refuses a plan after which more of a file does not parse than before.
pub(crate) fn check_syntax(sources: &Sources, plan: &Plan) -> Result<(), EditError> {
    let mut places = Vec::new();
    for file in &plan.files {
        if sources.is_broken_by(&file.path, &file.edits)? {
            let before = if file.is_new { "" } else { &sources.text(&file.path)?.text };
            let at = file.edits.first().map_or(0, |edit| edit.from);
            places.push(Place::new(&file.path, before, at, "does not parse after the edit"));
        }
    }
    if places.is_empty() { Ok(()) } else { Err(EditError::Broken { places }) }
}
