//! Plans the installation for one agent: per file the text before and after, and the records for the receipt.
//!
//! Does not write to disk until the plan is applied.

use crate::agents::Agent;
use crate::artifact::Artifact;
use crate::entry::{Entry, Location};
use crate::file_change::{FileChange, io_problem};
use crate::receipt::{FileContent, FileRecord, InsertedEntries, Installation, Receipt, fingerprint};
use crate::text::SettingsFormat;
use crate::{Machine, disk, undo};
use api::setup::{AgentSetup, Change, SetupProblem};
use std::path::{Path, PathBuf};

#[derive(Default)]
pub(crate) struct Plan {
    pub(crate) changes: Vec<FileChange>,
    /// The records for the receipt.
    pub(crate) records: Vec<FileRecord>,
    /// Folders created for it, or to be created; outermost first.
    pub(crate) folders: Vec<PathBuf>,
    /// What is not changed, and why.
    pub(crate) problems: Vec<SetupProblem>,
}

pub(crate) fn plan_install(
    machine: &Machine,
    agent: &Agent,
    receipt: &Receipt,
) -> Result<Plan, SetupProblem> {
    let folders = receipt.agents.get(agent.name).map(|wiring| wiring.folders.clone()).unwrap_or_default();
    let mut plan = Plan { folders, ..Plan::default() };
    let pieces = agent.artifacts(machine);
    for piece in &pieces {
        let known = receipt.find_record(agent.name, piece.path());
        match piece {
            Artifact::OwnFile { path, text } => plan.plan_own_file(path, text, known)?,
            Artifact::Entries { path, form, entries } => plan.plan_entries(path, *form, entries, known)?,
        }
    }
    // Remove files that an earlier version installed elsewhere.
    let gone = receipt.agents.get(agent.name).into_iter().flat_map(|wiring| &wiring.files);
    for record in gone.filter(|record| pieces.iter().all(|piece| piece.path() != record.path)) {
        plan.changes.extend(undo::revert_record(record)?);
    }
    Ok(plan)
}

impl Plan {
    fn add_change(&mut self, path: &Path, before: Option<String>, after: &str, shows_diff: bool) {
        for folder in disk::missing_parents(path) {
            if !self.folders.contains(&folder) {
                self.folders.push(folder);
            }
        }
        if before.as_deref() != Some(after) {
            self.changes.push(FileChange {
                path: path.to_path_buf(),
                before,
                after: Some(after.to_string()),
                shows_diff,
            });
        }
    }

    fn plan_own_file(
        &mut self,
        path: &Path,
        text: &str,
        known: Option<&FileRecord>,
    ) -> Result<(), SetupProblem> {
        let there = disk::read_text(path).map_err(|error| io_problem(path, &error))?;
        let prints = match known.map(|record| &record.what) {
            Some(FileContent::Whole(prints)) => &prints[..],
            _ => &[],
        };
        if let Some(there) = there.as_ref().filter(|there| *there != text) {
            if prints.is_empty() {
                return Err(conflict_problem(path, "a file of that name exists and does not belong to Loci"));
            }
            if !prints.contains(&fingerprint(there)) {
                return Err(conflict_problem(path, "it was changed after `loci setup` wrote it"));
            }
        }
        self.records
            .push(FileRecord { path: path.to_path_buf(), what: FileContent::Whole(vec![fingerprint(text)]) });
        // Show the content of files that start a program.
        let starts = path.extension().is_some_and(|ending| ending == "json") && text.contains("\"command\"");
        self.add_change(path, there, text, starts);
        Ok(())
    }

    fn plan_entries(
        &mut self,
        path: &Path,
        form: SettingsFormat,
        entries: &[Entry],
        known: Option<&FileRecord>,
    ) -> Result<(), SetupProblem> {
        let by_hand = |why: String| SetupProblem {
            message: format!("{} was not changed: {why}", path.display()),
            by_hand: Some(form.manual_text(entries)),
        };
        let there = disk::read_text(path).map_err(|error| by_hand(error.to_string()))?;
        let text = there.clone().unwrap_or_default();
        let tree = form.parse_tree(&text).map_err(|error| by_hand(error.to_string()))?;
        if let Some(record) = known.filter(|record| record.has_entries(entries))
            && entries.iter().all(|entry| entry.location.find(&tree) == Some(&entry.value))
        {
            self.records.push(record.clone());
            return Ok(());
        }
        let base = match known {
            Some(record) => {
                undo::text_without_entries(record, &text).map_err(|error| by_hand(error.to_string()))?
            }
            None => text.clone(),
        };
        let bare = form.parse_tree(&base).map_err(|error| by_hand(error.to_string()))?;
        if let Some(entry) = entries.iter().find(|entry| entry.location.find(&bare).is_some()) {
            return Err(SetupProblem {
                message: format!(
                    "{} was not changed: `{}` already exists and was not added by Loci",
                    path.display(),
                    entry.location.dotted_name()
                ),
                by_hand: Some(
                    "remove it and run this again, or keep it and leave this agent as it is".to_string(),
                ),
            });
        }
        let made = created_parents(entries, &bare);
        let (after, stitches) =
            form.insert_entries(&base, entries).map_err(|error| by_hand(error.to_string()))?;
        let created = match known.map(|record| &record.what) {
            Some(FileContent::Entries(inserted)) => inserted.created,
            _ => there.is_none(),
        };
        let spots = entries.iter().map(|entry| entry.location.clone()).collect();
        let inserted = InsertedEntries { form, created, spots, made, stitches: vec![stitches] };
        self.records.push(FileRecord { path: path.to_path_buf(), what: FileContent::Entries(inserted) });
        self.add_change(path, there, &after, true);
        Ok(())
    }

    /// The record to keep while files are being changed: both the old and the new state.
    pub(crate) fn transition_record(&self, before: Option<&Installation>) -> Installation {
        let mut files = self.records.clone();
        for old in before.into_iter().flat_map(|wiring| &wiring.files) {
            match files.iter_mut().find(|record| record.path == old.path) {
                None => files.push(old.clone()),
                Some(record) => record.merge_previous(old),
            }
        }
        Installation { files, folders: self.folders.clone() }
    }

    pub(crate) fn list_changes(&self) -> Vec<Change> {
        self.changes.iter().map(FileChange::to_change).collect()
    }

    /// Applies the changes in order and stops at the first failure.
    pub(crate) fn apply_changes(&self, report: &mut AgentSetup) {
        for (at, step) in self.changes.iter().enumerate() {
            if let Err(error) = step.apply(&self.folders) {
                report.problems.push(io_problem(&step.path, &error));
                return;
            }
            report.changes[at].made = true;
        }
    }
}

/// The number of keys above an entry; all of them lead to a list.
fn depth_of(entry: &Entry) -> usize {
    entry.location.keys.len() - usize::from(entry.location.mark.is_none())
}

/// The parent objects, tables and lists that have to be created for the entries.
fn created_parents(entries: &[Entry], tree: &serde_json::Value) -> Vec<Vec<String>> {
    let around =
        entries.iter().flat_map(|entry| (1..=depth_of(entry)).map(|end| entry.location.keys[..end].to_vec()));
    let mut made: Vec<Vec<String>> =
        around.filter(|keys| Location { keys: keys.clone(), mark: None }.find(tree).is_none()).collect();
    made.dedup();
    made
}

fn conflict_problem(path: &Path, why: &str) -> SetupProblem {
    let message = format!("{}: {why}", path.display());
    SetupProblem { message, by_hand: Some("rename or remove it, then run this again".to_string()) }
}

impl FileRecord {
    /// Whether the record contains exactly these entries.
    fn has_entries(&self, entries: &[Entry]) -> bool {
        matches!(&self.what, FileContent::Entries(inserted) if inserted.spots.iter().eq(entries.iter().map(|entry| &entry.location)))
    }

    fn merge_previous(&mut self, old: &FileRecord) {
        match (&mut self.what, &old.what) {
            (FileContent::Whole(prints), FileContent::Whole(before)) => prints.extend(before.iter().cloned()),
            (FileContent::Entries(now), FileContent::Entries(before)) => {
                now.stitches.extend(before.stitches.iter().cloned());
                now.spots.extend(
                    before.spots.iter().filter(|spot| !now.spots.contains(spot)).cloned().collect::<Vec<_>>(),
                );
                now.made.extend(before.made.iter().cloned());
            }
            _ => {}
        }
    }
}
