//! What has to be done so that an agent has what it should: file by file the text before and after, and what will be
//! remembered of it.
//!
//! Does not touch the disk until it is told to.

use crate::agents::{Agent, Piece};
use crate::entry::{Entry, Spot};
use crate::receipt::{Receipt, Record, Sewn, What, Wiring, print};
use crate::text::Form;
use crate::{Machine, diff, disk, undo};
use api::setup::{AgentSetup, Change, Does, SetupProblem};
use std::path::{Path, PathBuf};

#[derive(Default)]
pub(crate) struct Plan {
    pub(crate) moves: Vec<Move>,
    /// What the receipt will hold afterwards.
    pub(crate) records: Vec<Record>,
    /// Folders that are, or will have been, made for it; the outermost first.
    pub(crate) folders: Vec<PathBuf>,
    /// What is left alone, and why.
    pub(crate) problems: Vec<SetupProblem>,
}

/// One file from one text to another; none: no such file.
pub(crate) struct Move {
    pub(crate) path: PathBuf,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
    /// Whether the lines are shown: of most files that come with Loci only their names are.
    pub(crate) shown: bool,
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
    // What a former version put elsewhere is taken out on the way.
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

pub(crate) fn unreadable(path: &Path, error: &std::io::Error) -> SetupProblem {
    SetupProblem { message: format!("{}: {error}", path.display()), by_hand: None }
}

impl Plan {
    fn add(&mut self, path: &Path, before: Option<String>, after: &str, shown: bool) {
        for folder in disk::missing_above(path) {
            if !self.folders.contains(&folder) {
                self.folders.push(folder);
            }
        }
        if before.as_deref() != Some(after) {
            self.moves.push(Move { path: path.to_path_buf(), before, after: Some(after.to_string()), shown });
        }
    }

    fn whole(&mut self, path: &Path, text: &str, known: Option<&Record>) -> Result<(), SetupProblem> {
        let there = disk::read(path).map_err(|error| unreadable(path, &error))?;
        let prints = match known.map(|record| &record.what) {
            Some(What::Whole(prints)) => &prints[..],
            _ => &[],
        };
        if let Some(there) = there.as_ref().filter(|there| *there != text) {
            if prints.is_empty() {
                return Err(taken(path, "there is a file of that name already, which is not Loci's"));
            }
            if !prints.contains(&print(there)) {
                return Err(taken(path, "it was changed after `loci setup` wrote it"));
            }
        }
        self.records.push(Record { path: path.to_path_buf(), what: What::Whole(vec![print(text)]) });
        // What starts a program is shown as it will stand.
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
            message: format!("{} is left as it is: {why}", path.display()),
            by_hand: Some(form.by_hand(entries)),
        };
        let there = disk::read(path).map_err(|error| by_hand(error.to_string()))?;
        let text = there.clone().unwrap_or_default();
        let tree = form.tree(&text).map_err(|misfit| by_hand(misfit.to_string()))?;
        if let Some(record) = known.filter(|record| record.names(entries))
            && entries.iter().all(|entry| entry.spot.find(&tree) == Some(&entry.value))
        {
            self.records.push(record.clone());
            return Ok(());
        }
        let base = match known {
            Some(record) => {
                undo::text_without(record, &text).map_err(|misfit| by_hand(misfit.to_string()))?
            }
            None => text.clone(),
        };
        let bare = form.tree(&base).map_err(|misfit| by_hand(misfit.to_string()))?;
        if let Some(entry) = entries.iter().find(|entry| entry.spot.find(&bare).is_some()) {
            return Err(SetupProblem {
                message: format!(
                    "{} is left as it is: `{}` is there already, and Loci did not put it there",
                    path.display(),
                    entry.spot.name()
                ),
                by_hand: Some(
                    "take it out, or keep it and leave this agent as it is; then run this again".to_string(),
                ),
            });
        }
        let made = made(entries, &bare);
        let (after, stitches) = form.put_in(&base, entries).map_err(|misfit| by_hand(misfit.to_string()))?;
        let created = match known.map(|record| &record.what) {
            Some(What::Entries(sewn)) => sewn.created,
            _ => there.is_none(),
        };
        let spots = entries.iter().map(|entry| entry.spot.clone()).collect();
        let sewn = Sewn { form, created, spots, made, stitches: vec![stitches] };
        self.records.push(Record { path: path.to_path_buf(), what: What::Entries(sewn) });
        self.add(path, there, &after, true);
        Ok(())
    }

    /// What the receipt must hold while the files go from one text to the other: both.
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
        self.moves.iter().map(Move::told).collect()
    }

    /// Makes the changes one after the other, and stops at the first that fails.
    pub(crate) fn make(&self, told: &mut AgentSetup) {
        for (at, step) in self.moves.iter().enumerate() {
            if let Err(error) = step.make(&self.folders) {
                told.problems.push(unreadable(&step.path, &error));
                return;
            }
            told.changes[at].made = true;
        }
    }
}

/// The objects and tables that have to be made around the entries.
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
    /// Whether these are the entries it speaks of.
    fn names(&self, entries: &[Entry]) -> bool {
        matches!(&self.what, What::Entries(sewn) if sewn.spots.iter().eq(entries.iter().map(|entry| &entry.spot)))
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

impl Move {
    fn told(&self) -> Change {
        let text = |side: &Option<String>| side.clone().unwrap_or_default();
        Change {
            path: self.path.to_string_lossy().into_owned(),
            does: match (&self.before, &self.after) {
                (None, _) => Does::Create,
                (_, None) => Does::Remove,
                _ => Does::Edit,
            },
            diff: self.shown.then(|| diff::unified(&text(&self.before), &text(&self.after))),
            bytes: text(&self.after).len() as u64,
            made: false,
        }
    }

    /// Only if the file is still as it was looked at.
    fn make(&self, folders: &[PathBuf]) -> std::io::Result<()> {
        if disk::read(&self.path)? != self.before {
            return Err(std::io::Error::other("it was changed while this was going on; run it again"));
        }
        let Some(after) = &self.after else { return disk::remove(&self.path) };
        let above = folders.iter().filter(|folder| self.path.starts_with(folder));
        above.into_iter().try_for_each(|folder| disk::make_folder(folder, 0o755))?;
        disk::write(&self.path, after, 0o644)
    }
}
