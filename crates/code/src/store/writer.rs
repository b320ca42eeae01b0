//! Writes the index as files that people read and commit: an outline per type, and for each source folder a list of its types
//! with their hashes. Only changed types are processed, and only files with different content are written.
//!
//! Does not know when to run. If the folder was deleted or changed by someone else, everything is written.

use super::freshness::Stamp;
use super::table::Table;
use super::{Doubt, PROJECTS, Refreshed, Renamed, Store, StoreError};
use crate::card::Card;
use crate::folder::{Folder, FolderError, INDEX, Pen, SHARDS, TYPES, note_of, outline_of};
use crate::hash::HASH_VERSION;
use project::Project;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use syntax::{Digest, TypeId};

/// The cost of writing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    pub files: u64,
    pub bytes: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<db::Error> for KeepError {
    fn from(error: db::Error) -> KeepError {
        KeepError::Store(error.into())
    }
}

const ALIASES: &str = "aliases.json";
const ALIAS_CONFLICTS: &str = "alias_conflicts.log";
const HASH_CONFLICTS: &str = "hash_conflicts.log";

/// The metadata of the folder after the last complete write.
const AS_LEFT: &str = "as left";

impl Store {
    /// Writes everything that changed since the last time, and the aliases and conflicts in `done`. `mask` masks secrets: source
    /// contains them like any text, and these files are committed.
    pub fn keep(
        &mut self,
        folder: &Folder,
        lock: &Pen<'_>,
        done: &Refreshed,
        mask: &dyn Fn(&str) -> String,
    ) -> Result<Kept, KeepError> {
        if self.is_kept(folder, done)? {
            return Ok(Kept::default());
        }
        self.begin_writing()?;
        let writing = self.db.transaction()?;
        let mut export = Desk { table: Table::new(&writing), folder, lock, mask, kept: Kept::default() };
        let as_left: Option<Vec<Option<Stamp>>> = export.table.meta(AS_LEFT)?;
        let untouched = as_left == Some(looks(folder));
        export.projects()?;
        export.renamed()?;
        export.append(ALIAS_CONFLICTS, &done.doubtful.iter().map(doubt).collect::<Vec<_>>())?;
        export.append(HASH_CONFLICTS, &done.collisions)?;
        if untouched {
            export.some()?;
        } else {
            export.all()?;
        }
        export.table.clear_pending()?;
        export.table.set_meta(AS_LEFT, &looks(folder))?;
        let kept = export.kept;
        writing.commit()?;
        Ok(kept)
    }

    /// Runs `work`, which changes the folder but not its outlines and lists, such as writing a note; the next `keep` does not
    /// have to check all files because of it.
    pub fn undisturbed<T>(&self, folder: &Folder, work: impl FnOnce() -> T) -> T {
        let as_left: Option<Vec<Option<Stamp>>> = Table::new(&self.db).meta(AS_LEFT).unwrap_or_default();
        let untouched = as_left == Some(looks(folder));
        let done = work();
        if untouched {
            self.scribble(|table| table.set_meta(AS_LEFT, &looks(folder)));
        }
        done
    }

    /// Whether the files are up to date and `done` has nothing to add.
    pub fn is_kept(&self, folder: &Folder, done: &Refreshed) -> Result<bool, StoreError> {
        let mut table = Table::new(&self.db);
        let as_left: Option<Vec<Option<Stamp>>> = table.meta(AS_LEFT)?;
        let has_reports =
            !done.aliases.is_empty() || !done.doubtful.is_empty() || !done.collisions.is_empty();
        Ok(!has_reports && as_left == Some(looks(folder)) && table.pending()?.is_empty())
    }
}

/// The metadata of the folder and its subfolders, which changes when a file is added or removed.
fn looks(folder: &Folder) -> Vec<Option<Stamp>> {
    [INDEX, TYPES, SHARDS].into_iter().map(|name| Stamp::at(&folder.path(name))).collect()
}

fn doubt(doubt: &Doubt) -> String {
    format!("{} may be any of {}", doubt.name, doubt.candidates.join(", "))
}

struct Desk<'a> {
    table: Table<'a>,
    folder: &'a Folder,
    lock: &'a Pen<'a>,
    mask: &'a dyn Fn(&str) -> String,
    kept: Kept,
}

impl Desk<'_> {
    fn write(&mut self, name: &str, text: &str) -> Result<(), KeepError> {
        let text = (self.mask)(text);
        if self.lock.jot(name, text.as_bytes())? {
            self.kept.files += 1;
            self.kept.bytes += text.len() as u64;
        }
        Ok(())
    }

    fn projects(&mut self) -> Result<(), KeepError> {
        let projects: Vec<Project> = self.table.meta(PROJECTS)?.unwrap_or_default();
        let to_json = |(at, project): (usize, &Project)| {
            let refers: Vec<String> = project.references.iter().map(|to| format!("P{to}")).collect();
            json!({ "id": format!("P{at}"), "name": project.name, "path": project.path, "tfm": project.framework, "references": refers })
        };
        let all: Vec<Value> = projects.iter().enumerate().skip(1).map(to_json).collect();
        let index = json!({
            "schemaVersion": "2.0",
            "projects": all,
            "types": format!("{SHARDS}/"),
            "configSnapshot": {
                "hashVersion": HASH_VERSION.to_string(),
                "structureHashIncludesXmlDoc": false,
                "includeInternalForDependencies": false,
                "internalImplAffectsSemantic": false,
                "semanticDocAffects": false,
            },
        });
        self.write(INDEX, &pretty(&index))
    }

    /// Records renames, and renames the notes accordingly.
    fn renamed(&mut self) -> Result<(), KeepError> {
        self.remembered()?;
        let all: Vec<Renamed> = self.table.aliases()?;
        for renamed in &all {
            self.lock.rename(&note_of(&renamed.old.to_string()), &note_of(&renamed.new.to_string()))?;
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
        self.write(ALIASES, &pretty(&Value::Array(entries)))
    }

    /// Imports aliases from the file that are not in the index: another checkout wrote them, or the index was rebuilt.
    fn remembered(&mut self) -> Result<(), KeepError> {
        let bytes = self.folder.read(ALIASES)?.unwrap_or_default();
        let entries: Vec<Value> = serde_json::from_slice(&bytes).unwrap_or_default();
        let known: Vec<TypeId> = self.table.aliases::<Renamed>()?.iter().map(|it| it.old).collect();
        for renamed in entries.iter().filter_map(renamed).filter(|it| !known.contains(&it.old)) {
            self.table.set_alias(renamed.old, &renamed.old_name, &renamed)?;
        }
        Ok(())
    }

    fn append(&mut self, name: &str, lines: &[String]) -> Result<(), KeepError> {
        if lines.is_empty() {
            return Ok(());
        }
        let before = self.folder.read(name)?.unwrap_or_default();
        let text = String::from_utf8_lossy(&before).into_owned() + &lines.join("\n") + "\n";
        self.write(name, &text)
    }

    /// Writes the outlines and lists of changed types.
    fn some(&mut self) -> Result<(), KeepError> {
        let mut folders = BTreeSet::new();
        for (id, folder) in self.table.pending()? {
            folders.insert(folder);
            self.outline(id)?;
        }
        folders.iter().try_for_each(|folder| self.shard(folder))
    }

    fn outline(&mut self, id: TypeId) -> Result<(), KeepError> {
        let name = outline_of(&id.to_string());
        match self.table.card(id)? {
            Some(card) => self.write(&name, &card.kept),
            None => Ok(self.lock.remove(&name)?),
        }
    }

    fn shard(&mut self, folder: &str) -> Result<(), KeepError> {
        let mut lines = Vec::new();
        for id in self.table.types_below(folder)? {
            lines.extend(self.table.card(id)?.map(|card| line(&card)));
        }
        self.list(folder, lines)
    }

    fn list(&mut self, folder: &str, mut lines: Vec<String>) -> Result<(), KeepError> {
        let name = format!("{SHARDS}/{}", shard_name(folder));
        if lines.is_empty() {
            return Ok(self.lock.remove(&name)?);
        }
        lines.sort();
        self.write(&name, &(lines.join("\n") + "\n"))
    }

    /// Writes everything, and removes files that no longer belong.
    fn all(&mut self) -> Result<(), KeepError> {
        let mut lists: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut outlines = BTreeSet::new();
        for (id, _) in self.table.types()? {
            let Some(card) = self.table.card(id)? else { continue };
            lists.entry(card.folder().to_owned()).or_default().push(line(&card));
            let name = outline_of(&id.to_string());
            self.write(&name, &card.kept)?;
            outlines.insert(name);
        }
        let lists_kept: BTreeSet<String> =
            lists.keys().map(|folder| format!("{SHARDS}/{}", shard_name(folder))).collect();
        for (folder, lines) in lists {
            self.list(&folder, lines)?;
        }
        self.clear(TYPES, ".outline.md", &outlines)?;
        self.clear(SHARDS, ".jsonl", &lists_kept)
    }

    /// Removes our files that no type corresponds to.
    fn clear(&mut self, inner: &str, ending: &str, kept: &BTreeSet<String>) -> Result<(), KeepError> {
        for name in self.folder.list(inner)? {
            let path = format!("{inner}/{name}");
            if name.ends_with(ending) && !kept.contains(&path) {
                self.lock.remove(&path)?;
            }
        }
        Ok(())
    }
}

fn renamed(entry: &Value) -> Option<Renamed> {
    let text = |name: &str| entry[name].as_str().map(str::to_owned);
    Some(Renamed {
        old: TypeId::whole(&text("oldTypeId")?)?,
        old_name: text("oldFqn")?,
        new: TypeId::whole(&text("newTypeId")?)?,
        new_name: text("newFqn")?,
        reason: text("reason")?,
        at: entry["detectedAt"].as_i64()?,
    })
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

/// A type as one line, so that a changed type is a changed line; the name comes first, for sorting.
fn line(card: &Card) -> String {
    let hashes = &card.hashes.hashes;
    let mut fields = Map::new();
    for (name, value) in [
        ("fqn", card.name.clone()),
        ("id", card.id.to_string()),
        ("project", card.project.clone()),
        ("kind", card.kind.name().to_owned()),
        ("access", card.visibility.name().to_owned()),
        ("structureHash", hashes.structure.to_string()),
        ("publicImplHash", hashes.public.to_string()),
        ("internalImplHash", hashes.internal.to_string()),
        ("cosmeticHash", hashes.cosmetic.to_string()),
        ("implHash", hashes.implementation().to_string()),
        ("xmlDocHash", hashes.doc.to_string()),
    ] {
        fields.insert(name.to_owned(), Value::String(value));
    }
    fields.insert("files".to_owned(), json!(card.files));
    Value::Object(fields).to_string()
}

/// File names are limited to 255 bytes.
const LONGEST: usize = 200;

/// The path of the folder as a file name: `src!Core.jsonl`.
fn shard_name(folder: &str) -> String {
    let mut name = folder.replace('%', "%25").replace('!', "%21").replace('/', "!");
    if name.is_empty() {
        name.push('!');
    }
    if name.len() > LONGEST {
        let cut = (0..=LONGEST - 20).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0);
        name = format!("{}%{}", &name[..cut], Digest::of(folder.as_bytes()));
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
