//! Plans the installation for one agent: per file the text before and after, and the records for the receipt.
//!
//! Does not write to disk until the plan is applied.

use crate::agents::{Agent, Piece};
use crate::entry::{Entry, Spot};
use crate::file_change::{FileChange, io_problem};
use crate::receipt::{Receipt, Record, Sewn, What, Wiring, print};
use crate::text::Form;
use crate::{Machine, disk, undo};
use api::setup::{AgentSetup, Change, SetupProblem};
use std::path::{Path, PathBuf};

#[derive(Default)]
pub(crate) struct Plan {
    pub(crate) moves: Vec<FileChange>,
    /// The records for the receipt.
    pub(crate) records: Vec<Record>,
    /// Folders created for it, or to be created; outermost first.
    pub(crate) folders: Vec<PathBuf>,
    /// What is not changed, and why.
    pub(crate) problems: Vec<SetupProblem>,
}

pub(crate) fn plan(machine: &Machine, agent: &Agent, receipt: &Receipt) -> Result<Plan, SetupProblem> {
    let folders = receipt.agents.get(agent.name).map(|wiring| wiring.folders.clone()).unwrap_or_default();
    let mut plan = Plan { folders, ..Plan::default() };
    let pieces = (agent.pieces)(machine);
    for piece in &pieces {
        let known = receipt.record(agent.name, piece.path());
        match piece {
            Piece::Whole { path, text } => plan.whole(path, text, known)?,
            Piece::Entries { path, form, entries } => plan.entries(path, *form, entries, known)?,
        }
    }
    // Remove files that an earlier version installed elsewhere.
    let gone = receipt.agents.get(agent.name).into_iter().flat_map(|wiring| &wiring.files);
    for record in gone.filter(|record| pieces.iter().all(|piece| piece.path() != record.path)) {
        plan.moves.extend(undo::undone(record)?);
    }
    Ok(plan)
}

impl Piece {
    fn path(&self) -> &Path {
        match self {
            Piece::Whole { path, .. } | Piece::Entries { path, .. } => path,
        }
    }
}

impl Plan {
    fn add(&mut self, path: &Path, before: Option<String>, after: &str, shows_diff: bool) {
        for folder in disk::missing_above(path) {
            if !self.folders.contains(&folder) {
                self.folders.push(folder);
            }
        }
        if before.as_deref() != Some(after) {
            self.moves.push(FileChange {
                path: path.to_path_buf(),
                before,
                after: Some(after.to_string()),
                shows_diff,
            });
        }
    }

    fn whole(&mut self, path: &Path, text: &str, known: Option<&Record>) -> Result<(), SetupProblem> {
        let there = disk::read(path).map_err(|error| io_problem(path, &error))?;
        let prints = match known.map(|record| &record.what) {
            Some(What::Whole(prints)) => &prints[..],
            _ => &[],
        };
        if let Some(there) = there.as_ref().filter(|there| *there != text) {
            if prints.is_empty() {
                return Err(taken(path, "a file of that name exists and does not belong to Loci"));
            }
            if !prints.contains(&print(there)) {
                return Err(taken(path, "it was changed after `loci setup` wrote it"));
            }
        }
        self.records.push(Record { path: path.to_path_buf(), what: What::Whole(vec![print(text)]) });
        // Show the content of files that start a program.
        let starts = path.extension().is_some_and(|ending| ending == "json") && text.contains("\"command\"");
        self.add(path, there, text, starts);
        Ok(())
    }

    fn entries(
        &mut self,
        path: &Path,
        form: Form,
        entries: &[Entry],
        known: Option<&Record>,
    ) -> Result<(), SetupProblem> {
        let by_hand = |why: String| SetupProblem {
            message: format!("{} was not changed: {why}", path.display()),
            by_hand: Some(form.by_hand(entries)),
        };
        let there = disk::read(path).map_err(|error| by_hand(error.to_string()))?;
        let text = there.clone().unwrap_or_default();
        let tree = form.tree(&text).map_err(|error| by_hand(error.to_string()))?;
        if let Some(record) = known.filter(|record| record.names(entries))
            && entries.iter().all(|entry| entry.spot.find(&tree) == Some(&entry.value))
        {
            self.records.push(record.clone());
            return Ok(());
        }
        let base = match known {
            Some(record) => undo::text_without(record, &text).map_err(|error| by_hand(error.to_string()))?,
            None => text.clone(),
        };
        let bare = form.tree(&base).map_err(|error| by_hand(error.to_string()))?;
        if let Some(entry) = entries.iter().find(|entry| entry.spot.find(&bare).is_some()) {
            return Err(SetupProblem {
                message: format!(
                    "{} was not changed: `{}` already exists and was not added by Loci",
                    path.display(),
                    entry.spot.name()
                ),
                by_hand: Some(
                    "remove it and run this again, or keep it and leave this agent as it is".to_string(),
                ),
            });
        }
        let made = made(entries, &bare);
        let (after, stitches) = form.put_in(&base, entries).map_err(|error| by_hand(error.to_string()))?;
        let created = match known.map(|record| &record.what) {
            Some(What::Entries(inserted)) => inserted.created,
            _ => there.is_none(),
        };
        let spots = entries.iter().map(|entry| entry.spot.clone()).collect();
        let inserted = Sewn { form, created, spots, made, stitches: vec![stitches] };
        self.records.push(Record { path: path.to_path_buf(), what: What::Entries(inserted) });
        self.add(path, there, &after, true);
        Ok(())
    }

    /// The record to keep while files are being changed: both the old and the new state.
    pub(crate) fn while_at_it(&self, before: Option<&Wiring>) -> Wiring {
        let mut files = self.records.clone();
        for old in before.into_iter().flat_map(|wiring| &wiring.files) {
            match files.iter_mut().find(|record| record.path == old.path) {
                None => files.push(old.clone()),
                Some(record) => record.remember(old),
            }
        }
        Wiring { files, folders: self.folders.clone() }
    }

    pub(crate) fn changes(&self) -> Vec<Change> {
        self.moves.iter().map(FileChange::to_change).collect()
    }

    /// Applies the changes in order and stops at the first failure.
    pub(crate) fn make(&self, report: &mut AgentSetup) {
        for (at, step) in self.moves.iter().enumerate() {
            if let Err(error) = step.apply(&self.folders) {
                report.problems.push(io_problem(&step.path, &error));
                return;
            }
            report.changes[at].made = true;
        }
    }
}

/// The parent objects and tables that have to be created for the entries.
fn made(entries: &[Entry], tree: &serde_json::Value) -> Vec<Vec<String>> {
    let around = entries
        .iter()
        .flat_map(|entry| (1..entry.spot.keys.len()).map(|end| entry.spot.keys[..end].to_vec()));
    let mut made: Vec<Vec<String>> =
        around.filter(|keys| Spot { keys: keys.clone(), mark: None }.find(tree).is_none()).collect();
    made.dedup();
    made
}

fn taken(path: &Path, why: &str) -> SetupProblem {
    let message = format!("{}: {why}", path.display());
    SetupProblem { message, by_hand: Some("rename or remove it, then run this again".to_string()) }
}

impl Record {
    /// Whether the record contains exactly these entries.
    fn names(&self, entries: &[Entry]) -> bool {
        matches!(&self.what, What::Entries(inserted) if inserted.spots.iter().eq(entries.iter().map(|entry| &entry.spot)))
    }

    fn remember(&mut self, old: &Record) {
        match (&mut self.what, &old.what) {
            (What::Whole(prints), What::Whole(before)) => prints.extend(before.iter().cloned()),
            (What::Entries(now), What::Entries(before)) => {
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
