//! Renames between two versions of a tree: members under another name, and bodies that differ only in the names they mention.
//!
//! Does not know how renamed types are found.

use super::table::Table;
use super::versions::{WithoutFiles, parse_version};
use super::{ChangedType, PROJECTS, RefreshJob, RenamedType, StoreError};
use code::MemberHashes;
use code::TypeSummary;
use code::{Change, ChangeClass, ChangeKind, MemberChange, NoteStatus, classify_change, revert_changes};
use project::Project;
use std::collections::{BTreeMap, BTreeSet};
use syntax::{Digest, TypeId};

/// Many members that have nothing to do with each other share a shorter body.
const MIN_BODY_BYTES: u32 = 32;

/// Members that have another name and the same body, kind and parameter types, if no other member fits.
pub(super) fn renamed_members(before: &TypeSummary, after: &TypeSummary, at: i64) -> Vec<RenamedType> {
    let (gone, come) = (only_in(before, after), only_in(after, before));
    let mut found = Vec::new();
    for old in &gone {
        let is_same = |other: &&&MemberHashes| {
            (other.kind, other.body, parameters(&other.key)) == (old.kind, old.body, parameters(&old.key))
        };
        let (mut same, mut rivals) = (come.iter().filter(is_same), gone.iter().filter(is_same));
        if let (Some(new), None, Some(_), None) = (same.next(), same.next(), rivals.next(), rivals.next()) {
            let name = |of: &TypeSummary, key: &str| format!("{}.{}", of.name, name_in(key));
            let id = Digest::of_bytes(format!("{}\n{}", before.id, old.key).as_bytes()).0;
            found.push(RenamedType {
                old: TypeId(id),
                old_name: name(before, &old.key),
                new: after.id,
                new_name: name(after, &new.key),
                reason: "its body is the same".to_owned(),
                at,
            });
        }
    }
    found
}

/// Whether two types have the same members with the same bodies, whatever their names resolve to.
fn has_same_members(one: &TypeSummary, other: &TypeSummary) -> bool {
    let members = |of: &TypeSummary| -> BTreeSet<_> {
        of.hashes
            .members
            .iter()
            .map(|it| (it.kind.name(), it.key.clone(), it.visibility, it.body.0))
            .collect()
    };
    members(one) == members(other)
}

/// The members with a body that another version does not have under their name.
fn only_in<'a>(of: &'a TypeSummary, other: &TypeSummary) -> Vec<&'a MemberHashes> {
    let names: BTreeSet<&str> = other.hashes.members.iter().map(|it| name_in(&it.key)).collect();
    let has_body = |member: &&MemberHashes| {
        let mut ranges = of.members.iter().filter(|it| (it.kind, &it.key) == (member.kind, &member.key));
        ranges.any(|it| it.range.span.to.saturating_sub(it.range.signature.to) >= MIN_BODY_BYTES)
    };
    let members = of.hashes.members.iter().filter(|it| it.body.0 != 0 && !names.contains(name_in(&it.key)));
    members.filter(has_body).collect()
}

/// The name at the beginning of a key.
fn name_in(key: &str) -> &str {
    key.split('(').next().unwrap_or(key)
}

fn parameters(key: &str) -> &str {
    &key[name_in(key).len()..]
}

/// The old and the new simple names.
pub(super) fn renamed_words(aliases: &[RenamedType]) -> Vec<(String, String)> {
    let simple = |name: &str| {
        let last = name.rsplit(['.', '+']).next().unwrap_or(name);
        last.split('`').next().unwrap_or(last).to_owned()
    };
    let words = aliases.iter().map(|alias| (simple(&alias.old_name), simple(&alias.new_name)));
    words.filter(|(old, new)| old != new && !old.is_empty()).collect()
}

/// A text in which a name is replaced wherever it is a word of its own.
pub(super) fn replace_word(bytes: &[u8], old: &str, new: &str) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    let (mut replaced, mut from) = (String::new(), 0);
    for (at, _) in text.match_indices(old) {
        let end = at + old.len();
        if at >= from && !text[..at].ends_with(is_letter) && !text[end..].starts_with(is_letter) {
            replaced += &text[from..at];
            replaced += new;
            from = end;
        }
    }
    (replaced + &text[from..]).into_bytes()
}

/// Removes changed bodies from a report that are the same under the same names. `again` compares the two versions under the same
/// names; signatures stay as they are, because a name in one is part of the contract.
pub(super) fn excuse_mentions(changes: &mut [ChangedType], again: &[ChangedType]) {
    for changed in changes {
        let same = again.iter().find(|it| it.id == changed.id).and_then(|it| it.change.as_ref());
        let Some(change) = &mut changed.change else { continue };
        let is_body =
            |it: &MemberChange| it.class == ChangeClass::PublicBehavior && it.change == ChangeKind::Changed;
        let class_now = |of: &MemberChange| {
            let members = same.map_or(&[][..], |change| &change.members);
            members.iter().find(|it| (it.kind, &it.key) == (of.kind, &of.key)).map(|it| it.class)
        };
        change.members.retain_mut(|member| match class_now(member) {
            _ if !is_body(member) => true,
            Some(class) => {
                member.class = class.max(member.class);
                true
            }
            None => false,
        });
        if change.class == ChangeClass::PublicBehavior {
            let class = same.map_or(ChangeClass::Cosmetic, |change: &Change| change.class);
            change.class = class.max(ChangeClass::PublicBehavior);
        }
    }
}

impl RefreshJob<'_> {
    /// Compares changed types again under the names they had before the renames of this batch.
    pub(super) fn excuse_renames(
        &mut self,
        before: &[TypeSummary],
        changed: &mut BTreeMap<TypeId, ChangeClass>,
    ) -> Result<(), StoreError> {
        let words = renamed_words(&self.done.aliases);
        if words.is_empty() || before.is_empty() {
            return Ok(());
        }
        let files = before.iter().flat_map(|it| it.files.iter().cloned()).collect();
        let now = self.summarize_under_old_names(&words, files, &before.iter().map(|it| it.id).collect())?;
        for old in before {
            let Some(new) = now.iter().find(|it| it.id == old.id) else { continue };
            let change = classify_change(&old.hashes, &new.hashes);
            let again = [ChangedType { id: old.id, name: String::new(), change, removed: false }];
            for report in self.done.changes.iter_mut().filter(|it| it.id == old.id) {
                excuse_mentions(std::slice::from_mut(report), &again);
                changed.extend(report.change.as_ref().map(|change| (report.id, change.class)));
            }
        }
        Ok(())
    }

    /// Records what changed in types with notes besides their names.
    pub(super) fn record_changes_of_renamed(
        &mut self,
        gone: &[TypeSummary],
        changed: &mut BTreeMap<TypeId, ChangeClass>,
    ) -> Result<(), StoreError> {
        let mut renamed = Vec::new();
        for alias in &self.done.aliases {
            let Some(old) = gone.iter().find(|it| it.id == alias.old) else { continue };
            let is_noted = self.table.note_digest(alias.new)?.is_some();
            renamed.extend(self.table.load_summary(alias.new)?.filter(|_| is_noted).map(|new| (old, new)));
        }
        if renamed.is_empty() {
            return Ok(());
        }
        let words = renamed_words(&self.done.aliases);
        let files = renamed.iter().flat_map(|(_, new)| new.files.iter().cloned()).collect();
        let ids = renamed.iter().map(|(old, _)| old.id).collect();
        let under_old_names = self.summarize_under_old_names(&words, files, &ids)?;
        for (old, new) in &renamed {
            let same = under_old_names.iter().find(|it| it.id == old.id);
            let class = same.map_or_else(
                || (!has_same_members(old, new)).then_some(ChangeClass::Structure),
                |same| classify_change(&old.hashes, &same.hashes).map(|change| change.class),
            );
            changed.extend(class.map(|class| (new.id, class)));
            if class.is_none() {
                self.move_ground(new.id)?;
            }
        }
        Ok(())
    }

    /// A note that was current is current under the new name, and one about what the type is called again.
    fn move_ground(&mut self, new: TypeId) -> Result<(), StoreError> {
        let Some(mut state) = self.table.load_state(new)? else { return Ok(()) };
        let ground = self.table.note_ground(new)?;
        if state.status == NoteStatus::Cached && !state.has_drift() {
            state.ground = ground;
        }
        let mut states = BTreeMap::from([(new, state)]);
        revert_changes(&mut states, &[], &BTreeMap::from([(new, ground)]));
        Ok(self.table.set_state(new, &states[&new])?)
    }

    /// Types as they would be without the renames of this batch.
    fn summarize_under_old_names(
        &mut self,
        words: &[(String, String)],
        mut files: BTreeSet<String>,
        ids: &BTreeSet<TypeId>,
    ) -> Result<Vec<TypeSummary>, StoreError> {
        let renamed: BTreeSet<TypeId> = self.done.aliases.iter().map(|alias| alias.new).collect();
        for id in renamed {
            files.extend(self.table.load_summary(id)?.into_iter().flat_map(|it| it.files));
        }
        let projects: Vec<Project> = self.table.get_meta(PROJECTS)?.unwrap_or_default();
        let mut sources = Vec::new();
        for path in &files {
            let Some(row) = self.table.find_file(path)? else { continue };
            let Ok(mut bytes) = std::fs::read(self.root.join(path)) else { continue };
            for (old, new) in words {
                bytes = replace_word(&bytes, new, old);
            }
            sources.extend(parse_version(&projects, path, row.project, &bytes));
        }
        let mut source = WithoutFiles { table: Table::new(self.table.db), files: &files };
        Ok(source.summarize(&projects, sources, ids)?)
    }
}
