//! Writes the index as files that people read and commit: an outline per type, and for each source folder a list of its types
//! with their hashes and the state of their notes. Only changed types are processed, and only files with different content are written.
//!
//! Does not know when to run. If the folder was deleted or changed by someone else, everything is written.

use super::depth::DepthFinder;
use super::freshness::FileStamp;
use super::packs::list_packs;
use super::rows::{FoundNote, NoteHead, RowState, format_row, is_same_version};
use super::table::Table;
use super::{PROJECTS, Refreshed, RenameConflict, RenamedType, Store, StoreError};
use code::HASH_VERSION;
use code::TypeSummary;
use folder::{
    FolderError, GROUPS, INDEX, LociFolder, PACKS, SHARDS, TYPES, WriteLock, group_note_path, note_path,
    outline_path,
};
use project::Project;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use syntax::{Digest, TypeId};

/// The cost of writing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExportCost {
    pub files: u64,
    pub bytes: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<db::Error> for ExportError {
    fn from(error: db::Error) -> ExportError {
        ExportError::Store(error.into())
    }
}

const ALIASES: &str = "aliases.json";
const ALIAS_CONFLICTS: &str = "alias_conflicts.log";
const HASH_CONFLICTS: &str = "hash_conflicts.log";

/// The metadata of the folder after the last complete write. Another name if rows get more fields: then everything is written again.
const FOLDER_STAMPS: &str = "as left with states";

/// How to treat the texts that are written and read.
pub struct ExportOptions<'a> {
    /// Masks secrets: source contains them like any text, and these files are committed.
    pub mask: &'a dyn Fn(&str) -> String,
    pub parse_note: &'a dyn Fn(&str) -> NoteHead,
}

impl Store {
    /// Writes everything that changed since the last time, and the aliases and conflicts in `done`.
    pub fn export_files(
        &mut self,
        folder: &LociFolder,
        lock: &WriteLock<'_>,
        done: &Refreshed,
        options: &ExportOptions<'_>,
    ) -> Result<ExportCost, ExportError> {
        if self.is_exported(folder, done)? {
            return Ok(ExportCost::default());
        }
        self.begin_writing()?;
        let writing = self.db.transaction()?;
        let mut export = Exporter::new(Table::new(&writing), folder, lock, options);
        let as_left: Option<Vec<Option<FileStamp>>> = export.table.get_meta(FOLDER_STAMPS)?;
        let untouched = as_left == Some(folder_stamps(folder));
        export.write_index()?;
        export.write_aliases()?;
        export
            .append_lines(ALIAS_CONFLICTS, &done.conflicts.iter().map(format_conflict).collect::<Vec<_>>())?;
        export.append_lines(HASH_CONFLICTS, &done.collisions)?;
        if untouched {
            export.write_changed()?;
        } else {
            export.write_all()?;
        }
        export.table.clear_pending()?;
        export.table.set_meta(FOLDER_STAMPS, &folder_stamps(folder))?;
        let kept = export.cost;
        writing.commit()?;
        Ok(kept)
    }

    /// Writes `index.json` again, if the folder has one: its packs changed.
    pub fn export_index(
        &self,
        folder: &LociFolder,
        lock: &WriteLock<'_>,
        options: &ExportOptions<'_>,
    ) -> Result<(), ExportError> {
        if !folder.path(INDEX).is_file() {
            return Ok(());
        }
        Exporter::new(Table::new(&self.db), folder, lock, options).write_index()
    }

    /// Runs `work`, which changes the folder but not its outlines and lists, such as writing a note; the next `export_files` does not
    /// have to check all files because of it.
    pub fn without_invalidating<T>(&self, folder: &LociFolder, work: impl FnOnce() -> T) -> T {
        let as_left: Option<Vec<Option<FileStamp>>> =
            Table::new(&self.db).get_meta(FOLDER_STAMPS).unwrap_or_default();
        let untouched = as_left == Some(folder_stamps(folder));
        let done = work();
        if untouched {
            self.write_best_effort(|table| table.set_meta(FOLDER_STAMPS, &folder_stamps(folder)));
        }
        done
    }

    /// Whether the files are up to date and `done` has nothing to add.
    pub fn is_exported(&self, folder: &LociFolder, done: &Refreshed) -> Result<bool, StoreError> {
        let mut table = Table::new(&self.db);
        let as_left: Option<Vec<Option<FileStamp>>> = table.get_meta(FOLDER_STAMPS)?;
        let has_reports =
            !done.aliases.is_empty() || !done.conflicts.is_empty() || !done.collisions.is_empty();
        Ok(!has_reports && as_left == Some(folder_stamps(folder)) && table.pending_types()?.is_empty())
    }
}

/// The metadata of the folder and its subfolders, which changes when a file is added or removed.
fn folder_stamps(folder: &LociFolder) -> Vec<Option<FileStamp>> {
    [INDEX, TYPES, SHARDS, GROUPS, PACKS]
        .into_iter()
        .map(|name| FileStamp::read_from(&folder.path(name)))
        .collect()
}

fn format_conflict(doubt: &RenameConflict) -> String {
    format!("{} may be any of {}", doubt.name, doubt.candidates.join(", "))
}

struct Exporter<'a> {
    table: Table<'a>,
    folder: &'a LociFolder,
    lock: &'a WriteLock<'a>,
    options: &'a ExportOptions<'a>,
    cost: ExportCost,
    /// The notes about dependency cycles, by the IDs of their types.
    group_notes: Option<BTreeMap<String, (FoundNote, u64)>>,
    depths: DepthFinder,
}

impl<'a> Exporter<'a> {
    fn new(
        table: Table<'a>,
        folder: &'a LociFolder,
        lock: &'a WriteLock<'a>,
        options: &'a ExportOptions<'a>,
    ) -> Exporter<'a> {
        let cost = ExportCost::default();
        Exporter { table, folder, lock, options, cost, group_notes: None, depths: DepthFinder::default() }
    }

    fn write_file(&mut self, name: &str, text: &str) -> Result<(), ExportError> {
        let text = (self.options.mask)(text);
        if self.lock.write_unsynced(name, text.as_bytes())? {
            self.cost.files += 1;
            self.cost.bytes += text.len() as u64;
        }
        Ok(())
    }

    /// Writes `index.json`: projects, packs and settings.
    fn write_index(&mut self) -> Result<(), ExportError> {
        let projects: Vec<Project> = self.table.get_meta(PROJECTS)?.unwrap_or_default();
        let to_json = |(at, project): (usize, &Project)| {
            let refers: Vec<String> = project.references.iter().map(|to| format!("P{to}")).collect();
            json!({ "id": format!("P{at}"), "name": project.name, "path": project.path, "tfm": project.framework, "references": refers })
        };
        let all: Vec<Value> = projects.iter().enumerate().skip(1).map(to_json).collect();
        let packs = list_packs(&mut self.table, self.folder)?;
        let index = json!({
            "schemaVersion": "2.0",
            "projects": all,
            "types": format!("{SHARDS}/"),
            "packs": packs,
            "configSnapshot": {
                "hashVersion": HASH_VERSION.to_string(),
                "structureHashIncludesXmlDoc": false,
                "includeInternalForDependencies": false,
                "internalImplAffectsSemantic": false,
                "semanticDocAffects": false,
            },
        });
        self.write_file(INDEX, &to_pretty_json(&index))
    }

    /// Records renames, and renames the notes accordingly.
    fn write_aliases(&mut self) -> Result<(), ExportError> {
        self.import_aliases()?;
        let all: Vec<RenamedType> = self.table.load_aliases()?;
        for renamed in &all {
            self.lock.rename(&note_path(&renamed.old.to_string()), &note_path(&renamed.new.to_string()))?;
        }
        if all.is_empty() {
            return Ok(());
        }
        let entries: Vec<Value> = all
            .iter()
            .map(|it| {
                json!({
                    "oldTypeId": it.old.to_string(), "oldFqn": it.old_name, "newTypeId": it.new.to_string(),
                    "newFqn": it.new_name, "reason": it.reason, "detectedAt": it.at,
                })
            })
            .collect();
        self.write_file(ALIASES, &to_pretty_json(&Value::Array(entries)))
    }

    /// Imports aliases from the file that are not in the index: another checkout wrote them, or the index was rebuilt.
    fn import_aliases(&mut self) -> Result<(), ExportError> {
        let bytes = self.folder.read(ALIASES)?.unwrap_or_default();
        let entries: Vec<Value> = serde_json::from_slice(&bytes).unwrap_or_default();
        let known: Vec<TypeId> = self.table.load_aliases::<RenamedType>()?.iter().map(|it| it.old).collect();
        for renamed in entries.iter().filter_map(parse_alias).filter(|it| !known.contains(&it.old)) {
            self.table.set_alias(renamed.old, &renamed.old_name, &renamed)?;
        }
        Ok(())
    }

    fn append_lines(&mut self, name: &str, lines: &[String]) -> Result<(), ExportError> {
        if lines.is_empty() {
            return Ok(());
        }
        let before = self.folder.read(name)?.unwrap_or_default();
        let text = String::from_utf8_lossy(&before).into_owned() + &lines.join("\n") + "\n";
        self.write_file(name, &text)
    }

    /// Writes the outlines and lists of changed types.
    fn write_changed(&mut self) -> Result<(), ExportError> {
        let (pending, mut folders) = (self.table.pending_types()?, BTreeSet::new());
        if pending.len() > MANY_TYPES {
            self.depths.learn_all(&mut self.table)?;
        }
        for (id, folder) in pending {
            folders.insert(folder);
            self.write_outline(id)?;
        }
        folders.iter().try_for_each(|folder| self.write_shard(folder).map(|_| ()))
    }

    fn write_outline(&mut self, id: TypeId) -> Result<(), ExportError> {
        let name = outline_path(&id.to_string());
        match self.table.load_summary(id)? {
            Some(card) => self.write_file(&name, &card.outline_file),
            None => Ok(self.lock.remove(&name)?),
        }
    }

    /// Writes the list of a folder; returns its types.
    fn write_shard(&mut self, folder: &str) -> Result<Vec<TypeId>, ExportError> {
        let name = shard_path(folder);
        let previous = self.read_rows(&name)?;
        let (mut lines, ids) = (Vec::new(), self.table.types_below(folder)?);
        for id in &ids {
            let Some(card) = self.table.load_summary(*id)? else { continue };
            lines.push(self.format_row(&card, previous.get(&id.to_string()))?);
        }
        if lines.is_empty() {
            self.lock.remove(&name)?;
        } else {
            lines.sort();
            self.write_file(&name, &(lines.join("\n") + "\n"))?;
        }
        Ok(ids)
    }

    /// The rows of a list as it is, by the IDs of their types.
    fn read_rows(&self, name: &str) -> Result<BTreeMap<String, Value>, ExportError> {
        let bytes = self.folder.read(name)?.unwrap_or_default();
        let rows = bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
        Ok(rows.filter_map(|row: Value| Some((row["id"].as_str()?.to_owned(), row))).collect())
    }

    fn format_row(&mut self, card: &TypeSummary, previous: Option<&Value>) -> Result<String, ExportError> {
        let note = self.find_note(card.id)?;
        let known =
            previous.filter(|row| is_same_version(card, row)).and_then(|row| row["depthHint"].as_u64());
        let depth = match known {
            Some(depth) => depth as u32,
            None => self.depths.find(&self.table, card.id)?,
        };
        let state = self.table.load_state(card.id)?.unwrap_or_default();
        let base = if note.is_some() { self.table.load_baseline(card.id)? } else { None };
        let base = base.map(|base| base.hashes.hashes).filter(|base| {
            let wanted = base.implementation().to_string();
            let note = note.as_ref();
            note.and_then(|note| note.head.implementation.get(note.position)) == Some(&wanted)
        });
        let row = RowState {
            state,
            note: note.as_ref(),
            base: base.map(|base| [base.public, base.internal]),
            previous,
            depth: Some(depth),
        };
        Ok(format_row(card, &row))
    }

    /// The type's own note, or that of its dependency cycle.
    fn find_note(&mut self, id: TypeId) -> Result<Option<FoundNote>, ExportError> {
        let own = self.read_note(&note_path(&id.to_string()));
        let own =
            own.map(|(head, digest)| (FoundNote { head, position: 0, group: None, seen: false }, digest));
        let found = own.or_else(|| self.group_notes().get(&id.to_string()).cloned());
        let Some((note, digest)) = found else { return Ok(None) };
        Ok(Some(FoundNote { seen: self.table.note_digest(id)? == Some(digest), ..note }))
    }

    /// The header and the digest of a note; a file that is not readable counts as none.
    fn read_note(&self, name: &str) -> Option<(NoteHead, u64)> {
        let bytes = self.folder.read(name).ok()??;
        let text = (self.options.mask)(&String::from_utf8_lossy(&bytes));
        Some(((self.options.parse_note)(&text), Digest::of_bytes(text.as_bytes()).0))
    }

    fn group_notes(&mut self) -> &BTreeMap<String, (FoundNote, u64)> {
        if self.group_notes.is_none() {
            self.group_notes = Some(self.load_group_notes());
        }
        self.group_notes.get_or_insert_default()
    }

    fn load_group_notes(&self) -> BTreeMap<String, (FoundNote, u64)> {
        let mut found = BTreeMap::new();
        for file in self.folder.list_files(GROUPS).unwrap_or_default() {
            let Some(group) = file.strip_suffix(".md") else { continue };
            let Some((head, digest)) = self.read_note(&group_note_path(group)) else { continue };
            for (position, id) in head.types.iter().enumerate() {
                let group = Some(group.to_owned());
                let note = FoundNote { head: head.clone(), position, group, seen: false };
                found.insert(id.clone(), (note, digest));
            }
        }
        found
    }

    /// Writes everything, and removes files that no longer belong.
    fn write_all(&mut self) -> Result<(), ExportError> {
        self.depths.learn_all(&mut self.table)?;
        let (mut outlines, mut lists) = (BTreeSet::new(), BTreeSet::new());
        for folder in self.table.type_folders()? {
            lists.insert(shard_path(&folder));
            for id in self.write_shard(&folder)? {
                self.write_outline(id)?;
                outlines.insert(outline_path(&id.to_string()));
            }
        }
        self.remove_orphans(TYPES, ".outline.md", &outlines)?;
        self.remove_orphans(SHARDS, ".jsonl", &lists)
    }

    /// Removes our files that no type corresponds to.
    fn remove_orphans(
        &mut self,
        inner: &str,
        ending: &str,
        kept: &BTreeSet<String>,
    ) -> Result<(), ExportError> {
        for name in self.folder.list_files(inner)? {
            let path = format!("{inner}/{name}");
            if name.ends_with(ending) && !kept.contains(&path) {
                self.lock.remove(&path)?;
            }
        }
        Ok(())
    }
}

fn parse_alias(entry: &Value) -> Option<RenamedType> {
    let text = |name: &str| entry[name].as_str().map(str::to_owned);
    Some(RenamedType {
        old: TypeId::parse_full(&text("oldTypeId")?)?,
        old_name: text("oldFqn")?,
        new: TypeId::parse_full(&text("newTypeId")?)?,
        new_name: text("newFqn")?,
        reason: text("reason")?,
        at: entry["detectedAt"].as_i64()?,
    })
}

fn to_pretty_json(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

/// One search per type is quadratic where types are layered; from here on all depths together are cheaper.
const MANY_TYPES: usize = 100;

/// File names are limited to 255 bytes.
const MAX_NAME_BYTES: usize = 200;

fn shard_path(folder: &str) -> String {
    format!("{SHARDS}/{}", shard_name(folder))
}

/// The path of the folder as a file name: `src!Core.jsonl`.
fn shard_name(folder: &str) -> String {
    let mut name = folder.replace('%', "%25").replace('!', "%21").replace('/', "!");
    if name.is_empty() {
        name.push('!');
    }
    if name.len() > MAX_NAME_BYTES {
        let cut = (0..=MAX_NAME_BYTES - 20).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0);
        name = format!("{}%{}", &name[..cut], Digest::of_bytes(folder.as_bytes()));
    }
    name + ".jsonl"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_folder_name_gives_a_unique_file_name() {
        let long = "a/".repeat(300);
        let names: BTreeSet<String> =
            ["", "a", "a/b", "a!b", "a%21b", "!", "a%2Fb", &long, &(long.clone() + "b")]
                .map(shard_name)
                .into();
        assert_eq!(names.len(), 9, "{names:?}");
        assert!(names.iter().all(|name| name.len() < 255 && !name.contains('/')));
        assert!(names.contains("a!b.jsonl"));
    }
}
