//! The database tables of an index: facts per file, where names are declared and mentioned, a summary per type, and edges between
//! types.
//!
//! Does not interpret the data. Apart from a few counts, all SQL of this crate is in this file.

use crate::store::delta::{declared_namespaces, has_global_imports, has_renaming_import, is_module};
use crate::store::freshness::FolderSnapshot;
use crate::store::partial::{DeclarationSource, declared_names};
use code::Baseline;
use code::NoteState;
use code::SourceFile;
use code::TypeNames;
use code::TypeSummary;
use code::{Certainty, Edge};
use db::{Connection, Error, OptionalExtension as _, params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash as _, Hasher as _};
use syntax::{Digest, FileFacts, TypeId};

/// The format version; an older version is rebuilt from source. Changes with these tables, with the content of facts, and with how
/// files are parsed.
pub(crate) const SCHEMA_VERSION: i64 = 13;

pub(crate) const SCHEMA: &str = "
    create table meta (name text primary key, told blob not null) without rowid;
    create table folders (path text primary key, told blob not null) without rowid;
    create table files (id integer primary key, path text not null unique, project integer not null, generated integer not null,
        digest integer not null, context integer not null, lines integer not null, gaps integer not null, global integer not null,
        renames integer not null, inactive integer not null);
    create table facts (file integer primary key, told blob not null);
    create table declares (word integer, file integer, primary key (word, file)) without rowid;
    create table mentions (word integer, file integer, primary key (word, file)) without rowid;
    create table spaces (word integer, path text, file integer, own integer not null, primary key (word, path, file)) without rowid;
    create table types (id integer primary key, name text not null, folder text not null, told blob not null);
    create index below on types (folder);
    create table cards (id integer primary key, told blob not null);
    create table parts (file integer, type integer, primary key (file, type)) without rowid;
    create index part_of on parts (type, file);
    create table named (word integer, type integer, primary key (word, type)) without rowid;
    create table edges (user integer, used integer, certainty integer not null, mentions integer not null, base integer not null,
        primary key (user, used)) without rowid;
    create index users on edges (used, user);
    create table states (type integer primary key, noted integer not null, told blob not null);
    create table bases (type integer primary key, told blob not null);
    create table aliases (old integer primary key, name text not null, told blob not null);
    create table tokens (type integer, key text, outline integer not null, source integer not null, primary key (type, key)) without rowid;
    create table pending (type integer, folder text, primary key (type, folder)) without rowid;
";

/// A row of `files`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileRow {
    pub(crate) id: i64,
    pub(crate) project: u32,
    /// Digest of its content.
    pub(crate) digest: u64,
    /// Digest of the project settings that affect parsing.
    pub(crate) context: u64,
}

/// Words are indexed by 32 bits of their hash. A collision costs an unnecessary lookup, nothing else.
pub(crate) fn word_key(word: &str) -> i64 {
    let mut hasher = rustc_hash::FxHasher::default();
    word.hash(&mut hasher);
    (hasher.finish() >> 32) as i64
}

fn name_key(name: &str) -> i64 {
    word_key(&name.to_lowercase())
}

pub(crate) fn id_key(id: TypeId) -> i64 {
    id.0 as i64
}

fn serialize(value: &impl Serialize) -> Vec<u8> {
    // plain data serialised into memory cannot fail
    postcard::to_stdvec(value).unwrap_or_default()
}

fn deserialize<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    postcard::from_bytes(bytes).map_err(|error| db::corrupt_error(&error))
}

/// Reads and writes rows; counts the bytes transferred.
pub(crate) struct Table<'a> {
    pub(crate) db: &'a Connection,
    pub(crate) read_bytes: u64,
    pub(crate) written_bytes: u64,
}

impl<'a> Table<'a> {
    pub(crate) fn new(db: &'a Connection) -> Table<'a> {
        Table { db, read_bytes: 0, written_bytes: 0 }
    }

    /// Commits what was written so far, within a transaction that goes on.
    pub(crate) fn commit_part(&self) -> Result<(), Error> {
        self.db.execute_batch("commit; begin immediate")
    }

    // ---- named values

    pub(crate) fn get_meta<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>, Error> {
        let found = self.query_blob("select told from meta where name = ?1", name)?;
        found.map(|bytes| deserialize(&bytes)).transpose()
    }

    pub(crate) fn set_meta(&mut self, name: &str, value: &impl Serialize) -> Result<(), Error> {
        let bytes = serialize(value);
        self.written_bytes += bytes.len() as u64;
        self.execute("insert or replace into meta values (?1, ?2)", params![name, bytes])
    }

    fn query_blob(&mut self, sql: &str, key: impl db::ToSql) -> Result<Option<Vec<u8>>, Error> {
        let found: Option<Vec<u8>> =
            self.db.prepare_cached(sql)?.query_row([key], |row| row.get(0)).optional()?;
        self.read_bytes += found.as_ref().map_or(0, |bytes| bytes.len() as u64);
        Ok(found)
    }

    fn execute(&self, sql: &str, with: impl db::Params) -> Result<(), Error> {
        self.db.prepare_cached(sql)?.execute(with).map(|_| ())
    }

    fn query_numbers(&self, sql: &str, key: i64) -> Result<Vec<i64>, Error> {
        let mut statement = self.db.prepare_cached(sql)?;
        let found = statement.query_map([key], |row| row.get(0))?;
        found.collect()
    }

    // ---- folders

    pub(crate) fn folder_snapshots(&mut self) -> Result<Vec<(String, FolderSnapshot)>, Error> {
        let mut statement = self.db.prepare_cached("select path, told from folders")?;
        let mut rows = statement.query([])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let bytes: Vec<u8> = row.get(1)?;
            self.read_bytes += bytes.len() as u64;
            found.push((row.get(0)?, deserialize(&bytes)?));
        }
        Ok(found)
    }

    pub(crate) fn set_folder(&mut self, path: &str, folder: &FolderSnapshot) -> Result<(), Error> {
        let bytes = serialize(folder);
        self.written_bytes += bytes.len() as u64;
        self.execute("insert or replace into folders values (?1, ?2)", params![path, bytes])
    }

    pub(crate) fn set_folders(&mut self, folders: &BTreeMap<String, FolderSnapshot>) -> Result<(), Error> {
        self.execute("delete from folders", [])?;
        folders.iter().try_for_each(|(path, folder)| self.set_folder(path, folder))
    }

    // ---- files

    pub(crate) fn find_file(&self, path: &str) -> Result<Option<FileRow>, Error> {
        let sql = "select id, project, digest, context from files where path = ?1";
        self.db.prepare_cached(sql)?.query_row([path], file_row).optional()
    }

    pub(crate) fn files(&self) -> Result<BTreeMap<String, FileRow>, Error> {
        let mut statement = self.db.prepare_cached("select id, project, digest, context, path from files")?;
        let found = statement.query_map([], |row| Ok((row.get(4)?, file_row(row)?)))?;
        found.collect()
    }

    pub(crate) fn line_counts(&self) -> Result<Vec<(String, u64)>, Error> {
        let mut statement = self.db.prepare_cached("select path, lines from files order by path")?;
        let found = statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as u64)))?;
        found.collect()
    }

    pub(crate) fn load_facts(&mut self, file: i64) -> Result<FileFacts, Error> {
        let found = self.query_blob("select told from facts where file = ?1", file)?;
        found.map_or_else(|| Ok(FileFacts::default()), |bytes| deserialize(&bytes))
    }

    pub(crate) fn load_source(&mut self, file: i64) -> Result<SourceFile, Error> {
        let sql = "select path, project, generated from files where id = ?1";
        let (path, project, generated) = self
            .db
            .prepare_cached(sql)?
            .query_row([file], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        Ok(SourceFile { path, project, generated, facts: self.load_facts(file)? })
    }

    /// Stores the facts of a file; returns its row ID.
    pub(crate) fn add_file(&mut self, file: &SourceFile, digest: u64, context: u64) -> Result<i64, Error> {
        let facts = &file.facts;
        let sql = "insert into files (path, project, generated, digest, context, lines, gaps, global, renames,
                inactive)
            values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
            on conflict (path) do update set project = ?2, generated = ?3, digest = ?4, context = ?5, lines = ?6, gaps = ?7, global = ?8,
                renames = ?9, inactive = ?10
            returning id";
        let row = params![
            file.path,
            file.project,
            file.generated,
            digest as i64,
            context as i64,
            facts.lines,
            facts.gaps.len() as i64,
            has_global_imports(facts),
            has_renaming_import(facts),
            facts.is_inactive
        ];
        let id: i64 = self.db.prepare_cached(sql)?.query_row(row, |row| row.get(0))?;
        let bytes = serialize(facts);
        self.written_bytes += bytes.len() as u64;
        self.execute("insert or replace into facts values (?1, ?2)", params![id, bytes])?;
        for word in declared_names(facts) {
            self.execute("insert or ignore into declares values (?1, ?2)", [word_key(&word), id])?;
        }
        for word in &facts.words {
            self.execute("insert or ignore into mentions values (?1, ?2)", [word_key(word), id])?;
        }
        for space in declared_namespaces(facts) {
            let key = space.last().map_or(0, |word| word_key(word));
            let path = space.join(".");
            let own = facts.has_module_path && is_module(facts, &space);
            self.execute(
                "insert or ignore into spaces values (?1, ?2, ?3, ?4)",
                params![key, path, id, own],
            )?;
        }
        Ok(id)
    }

    /// Removes a file from the word tables; its row ID stays with its path.
    pub(crate) fn forget_words(&mut self, file: i64, facts: &FileFacts) -> Result<(), Error> {
        for word in declared_names(facts) {
            self.execute("delete from declares where word = ?1 and file = ?2", [word_key(&word), file])?;
        }
        for word in &facts.words {
            self.execute("delete from mentions where word = ?1 and file = ?2", [word_key(word), file])?;
        }
        for space in declared_namespaces(facts) {
            let key = space.last().map_or(0, |word| word_key(word));
            self.execute("delete from spaces where word = ?1 and file = ?2", [key, file])?;
        }
        Ok(())
    }

    pub(crate) fn remove_file(&mut self, file: i64) -> Result<(), Error> {
        self.execute("delete from facts where file = ?1", [file])?;
        self.execute("delete from files where id = ?1", [file])
    }

    pub(crate) fn set_project(&mut self, file: i64, project: u32) -> Result<(), Error> {
        self.execute("update files set project = ?2 where id = ?1", params![file, project])
    }

    pub(crate) fn files_mentioning(&self, word: &str) -> Result<Vec<i64>, Error> {
        self.query_numbers("select file from mentions where word = ?1", word_key(word))
    }

    /// The number of files that mention a word.
    pub(crate) fn mention_count(&self, word: &str) -> Result<u64, Error> {
        let count = self.query_numbers("select count(*) from mentions where word = ?1", word_key(word))?;
        Ok(count.first().map_or(0, |count| *count as u64))
    }

    /// The files that declare a namespace or one nested in it.
    pub(crate) fn files_below(&self, space: &[String]) -> Result<Vec<i64>, Error> {
        let (key, path) = (space.last().map_or(0, |word| word_key(word)), space.join("."));
        let mut statement =
            self.db.prepare_cached("select file from spaces where word = ?1 and path = ?2")?;
        let found = statement.query_map(params![key, path], |row| row.get(0))?;
        found.collect()
    }

    /// The files that are a module or add to it.
    pub(crate) fn files_in(&self, space: &[String]) -> Result<Vec<i64>, Error> {
        let (key, path) = (space.last().map_or(0, |word| word_key(word)), space.join("."));
        let mut statement =
            self.db.prepare_cached("select file from spaces where word = ?1 and path = ?2 and own")?;
        let found = statement.query_map(params![key, path], |row| row.get(0))?;
        found.collect()
    }

    /// The files that mention a name and import something under a different name.
    pub(crate) fn files_renaming(&self, name: &str) -> Result<Vec<i64>, Error> {
        let sql = "select id from mentions join files on id = file where word = ?1 and renames";
        self.query_numbers(sql, word_key(name))
    }

    pub(crate) fn files_with_declaration(&self, word: &str) -> Result<Vec<i64>, Error> {
        self.query_numbers("select file from declares where word = ?1", word_key(word))
    }

    pub(crate) fn is_declared(&self, word: &str) -> Result<bool, Error> {
        let sql = "select exists (select 1 from declares where word = ?1) or exists (select 1 from spaces where word = ?1)";
        self.db.prepare_cached(sql)?.query_row([word_key(word)], |row| row.get(0))
    }

    fn global_files(&self) -> Result<Vec<i64>, Error> {
        let mut statement = self.db.prepare_cached("select id from files where global")?;
        let found = statement.query_map([], |row| row.get(0))?;
        found.collect()
    }

    // ---- types

    pub(crate) fn load_summary(&mut self, id: TypeId) -> Result<Option<TypeSummary>, Error> {
        let found = self.query_blob("select told from cards where id = ?1", id_key(id))?;
        found.map(|bytes| deserialize(&bytes)).transpose()
    }

    /// Visits all summaries, by ID.
    pub(crate) fn for_each_summary<E: From<Error>>(
        &mut self,
        mut take: impl FnMut(TypeSummary) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut statement = self.db.prepare_cached("select told from cards order by id")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let bytes = row.get_ref(0)?.as_blob().map_err(Error::from)?;
            self.read_bytes += bytes.len() as u64;
            take(deserialize(bytes)?)?;
        }
        Ok(())
    }

    pub(crate) fn store_summary(&mut self, card: &TypeSummary) -> Result<(), Error> {
        let (id, bytes, named) = (id_key(card.id), serialize(card), serialize(&card.to_names()));
        self.written_bytes += (bytes.len() + named.len()) as u64;
        let row = params![id, card.name, card.folder(), named];
        self.execute("insert or replace into types values (?1, ?2, ?3, ?4)", row)?;
        self.execute("insert or replace into cards values (?1, ?2)", params![id, bytes])?;
        for name in name_keys(card) {
            self.execute("insert or ignore into named values (?1, ?2)", [name, id])?;
        }
        self.execute("delete from tokens where type = ?1", [id])?;
        self.add_parts(card)?;
        self.mark_pending(card)
    }

    /// The token cost of the outline and the source of a type or one of its members.
    pub(crate) fn token_costs(&self, of: TypeId, key: &str) -> Result<Option<(u64, u64)>, Error> {
        let sql = "select outline, source from tokens where type = ?1 and key = ?2";
        let row = |row: &db::Row<'_>| Ok((row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64));
        self.db.prepare_cached(sql)?.query_row(params![id_key(of), key], row).optional()
    }

    pub(crate) fn set_tokens(
        &self,
        of: TypeId,
        key: &str,
        (outline, source): (u64, u64),
    ) -> Result<(), Error> {
        let row = params![id_key(of), key, outline as i64, source as i64];
        self.execute("insert or replace into tokens values (?1, ?2, ?3, ?4)", row)
    }

    /// Marks a type's files in `.loci/` as pending.
    pub(crate) fn mark_pending(&mut self, card: &TypeSummary) -> Result<(), Error> {
        self.execute("insert or ignore into pending values (?1, ?2)", params![id_key(card.id), card.folder()])
    }

    pub(crate) fn add_parts(&mut self, card: &TypeSummary) -> Result<(), Error> {
        let sql = "insert or ignore into parts select id, ?2 from files where path = ?1";
        card.files.iter().try_for_each(|path| self.execute(sql, params![path, id_key(card.id)]))
    }

    pub(crate) fn files_of(&self, of: TypeId) -> Result<Vec<i64>, Error> {
        self.query_numbers("select file from parts where type = ?1", id_key(of))
    }

    /// Removes a summary from the name table; the summary itself is replaced or removed separately.
    pub(crate) fn forget_names(&mut self, card: &TypeSummary) -> Result<(), Error> {
        for name in name_keys(card) {
            self.execute("delete from named where word = ?1 and type = ?2", [name, id_key(card.id)])?;
        }
        Ok(())
    }

    pub(crate) fn forget_parts(&mut self, file: i64) -> Result<(), Error> {
        self.execute("delete from parts where file = ?1", [file])
    }

    pub(crate) fn remove_summary(&mut self, card: &TypeSummary) -> Result<(), Error> {
        let id = id_key(card.id);
        self.forget_names(card)?;
        self.execute("delete from types where id = ?1", [id])?;
        self.execute("delete from cards where id = ?1", [id])?;
        self.execute("delete from tokens where type = ?1", [id])?;
        self.execute("delete from edges where user = ?1", [id])?;
        self.mark_pending(card)
    }

    pub(crate) fn types_in(&self, file: i64) -> Result<Vec<TypeId>, Error> {
        let found = self.query_numbers("select type from parts where file = ?1", file)?;
        Ok(found.into_iter().map(|id| TypeId(id as u64)).collect())
    }

    /// The types with this simple name or with a member of this name, ignoring case.
    pub(crate) fn types_named(&self, name: &str) -> Result<Vec<TypeId>, Error> {
        let found = self.query_numbers("select type from named where word = ?1", name_key(name))?;
        Ok(found.into_iter().map(|id| TypeId(id as u64)).collect())
    }

    /// The names of some types and their members.
    pub(crate) fn names_of(&mut self, ids: &[TypeId]) -> Result<Vec<TypeNames>, Error> {
        let mut found = Vec::new();
        for id in ids {
            let bytes = self.query_blob("select told from types where id = ?1", id_key(*id))?;
            found.extend(bytes.map(|bytes| deserialize(&bytes)).transpose()?);
        }
        Ok(found)
    }

    pub(crate) fn all_names(&mut self) -> Result<Vec<TypeNames>, Error> {
        let mut statement = self.db.prepare_cached("select told from types order by id")?;
        let mut rows = statement.query([])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let bytes = row.get_ref(0)?.as_blob().map_err(Error::from)?;
            self.read_bytes += bytes.len() as u64;
            found.push(deserialize(bytes)?);
        }
        Ok(found)
    }

    /// Every type with its full name, by ID.
    pub(crate) fn types(&self) -> Result<Vec<(TypeId, String)>, Error> {
        let mut statement = self.db.prepare_cached("select id, name from types order by id")?;
        let found = statement.query_map([], |row| Ok((TypeId(row.get::<_, i64>(0)? as u64), row.get(1)?)))?;
        found.collect()
    }

    /// The types with IDs in this range, inclusive.
    pub(crate) fn types_between(&self, from: TypeId, to: TypeId) -> Result<Vec<TypeId>, Error> {
        let mut statement =
            self.db.prepare_cached("select id from types where id between ?1 and ?2 limit 20")?;
        let found = statement.query_map([id_key(from), id_key(to)], |row| row.get::<_, i64>(0))?;
        found.map(|id| id.map(|id| TypeId(id as u64))).collect()
    }

    /// The IDs before and after one, in the order of their spelling.
    pub(crate) fn neighbouring_ids(&self, id: TypeId) -> Result<Vec<TypeId>, Error> {
        // SQLite integers are signed: IDs with the highest bit set sort before the others in the table, but after them in
        // spelling
        let halves = if id_key(id) < 0 { "id < 0" } else { "id >= 0" };
        let mut found = Vec::new();
        for sql in [
            format!("select id from types where id < ?1 and {halves} order by id desc limit 1"),
            format!("select id from types where id > ?1 and {halves} order by id limit 1"),
        ] {
            found.extend(self.query_numbers(&sql, id_key(id))?);
        }
        Ok(found.into_iter().map(|id| TypeId(id as u64)).collect())
    }

    // ---- edges

    pub(crate) fn set_edges(
        &mut self,
        user: TypeId,
        edges: &[(TypeId, Edge)],
        had: bool,
    ) -> Result<(), Error> {
        let id = id_key(user);
        if had {
            self.execute("delete from edges where user = ?1", [id])?;
        }
        for (used, edge) in edges {
            let certainty = edge.certainty as i64;
            let row = params![id, id_key(*used), certainty, edge.references, edge.base];
            self.execute("insert or replace into edges values (?1, ?2, ?3, ?4, ?5)", row)?;
        }
        self.written_bytes += edges.len() as u64 * 24;
        Ok(())
    }

    /// All edges, as positions in the sorted list `ids`.
    pub(crate) fn all_edges(&mut self, ids: &[TypeId]) -> Result<Vec<Edge>, Error> {
        let mut statement =
            self.db.prepare_cached("select user, used, certainty, mentions, base from edges")?;
        let at = |id: i64| ids.binary_search(&TypeId(id as u64)).ok().map(|at| at as u32);
        let mut rows = statement.query([])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let (Some(from), Some(to)) = (at(row.get(0)?), at(row.get(1)?)) else { continue };
            let (certainty, mentions, base) = (certainty_from_number(row.get(2)?), row.get(3)?, row.get(4)?);
            found.push(Edge { from, to, certainty, references: mentions, base });
        }
        self.read_bytes += found.len() as u64 * 24;
        found.sort_unstable();
        Ok(found)
    }

    pub(crate) fn users_of(&self, of: TypeId, bases_only: bool) -> Result<Vec<TypeId>, Error> {
        let sql = if bases_only {
            "select user from edges where used = ?1 and base"
        } else {
            "select user from edges where used = ?1"
        };
        let found = self.query_numbers(sql, id_key(of))?;
        Ok(found.into_iter().map(|id| TypeId(id as u64)).collect())
    }

    pub(crate) fn used_by_type(&self, of: TypeId) -> Result<Vec<TypeId>, Error> {
        let found = self.query_numbers("select used from edges where user = ?1", id_key(of))?;
        Ok(found.into_iter().map(|id| TypeId(id as u64)).collect())
    }

    /// Digest of a type and of the structure of what it uses: all that a note about it depends on.
    pub(crate) fn note_ground(&mut self, of: TypeId) -> Result<u64, Error> {
        let Some(own) = self.load_summary(of)?.map(|own| own.hashes.hashes) else { return Ok(0) };
        let mut digests = vec![own.structure.0, own.public.0, own.internal.0];
        let mut used = self.used_by_type(of)?;
        used.sort_unstable();
        for id in used {
            digests.extend(self.load_summary(id)?.map(|used| used.hashes.hashes.structure.0));
        }
        let bytes: Vec<u8> = digests.iter().flat_map(|digest| digest.to_le_bytes()).collect();
        Ok(Digest::of_bytes(&bytes).0)
    }

    pub(crate) fn bases_of(&self, of: TypeId) -> Result<Vec<TypeId>, Error> {
        let found = self.query_numbers("select used from edges where user = ?1 and base", id_key(of))?;
        Ok(found.into_iter().map(|id| TypeId(id as u64)).collect())
    }

    // ---- note states

    pub(crate) fn load_state(&mut self, of: TypeId) -> Result<Option<NoteState>, Error> {
        let found = self.query_blob("select told from states where type = ?1", id_key(of))?;
        found.map(|bytes| deserialize(&bytes)).transpose()
    }

    pub(crate) fn set_state(&mut self, of: TypeId, state: &NoteState) -> Result<(), Error> {
        let bytes = serialize(state);
        self.written_bytes += bytes.len() as u64;
        let sql = "insert into states values (?1, 0, ?2) on conflict (type) do update set told = ?2";
        self.execute(sql, params![id_key(of), bytes])
    }

    /// The digest of a type's note; `None` without one.
    pub(crate) fn note_digest(&self, of: TypeId) -> Result<Option<u64>, Error> {
        let found = self.query_numbers("select noted from states where type = ?1", id_key(of))?;
        Ok(found.first().map(|noted| *noted as u64).filter(|noted| *noted != 0))
    }

    pub(crate) fn set_note(&self, of: TypeId, note: u64) -> Result<(), Error> {
        self.execute("update states set noted = ?2 where type = ?1", params![id_key(of), note as i64])
    }

    /// The types that have a note.
    pub(crate) fn types_with_notes(&self) -> Result<Vec<TypeId>, Error> {
        let found = self.query_numbers("select type from states where noted <> ?1", 0)?;
        Ok(found.into_iter().map(|id| TypeId(id as u64)).collect())
    }

    /// All types with a stored state.
    pub(crate) fn all_states(&mut self) -> Result<Vec<(TypeId, NoteState)>, Error> {
        let mut statement = self.db.prepare_cached("select type, told from states order by type")?;
        let mut rows = statement.query([])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let bytes = row.get_ref(1)?.as_blob().map_err(Error::from)?;
            self.read_bytes += bytes.len() as u64;
            found.push((TypeId(row.get::<_, i64>(0)? as u64), deserialize(bytes)?));
        }
        Ok(found)
    }

    /// The baseline of a type's note.
    pub(crate) fn load_baseline(&mut self, of: TypeId) -> Result<Option<Baseline>, Error> {
        let found = self.query_blob("select told from bases where type = ?1", id_key(of))?;
        found.map(|bytes| deserialize(&bytes)).transpose()
    }

    pub(crate) fn store_baseline(&mut self, of: TypeId, base: &Baseline) -> Result<(), Error> {
        let bytes = serialize(base);
        self.written_bytes += bytes.len() as u64;
        self.execute("insert or replace into bases values (?1, ?2)", params![id_key(of), bytes])
    }

    /// Moves the state of a renamed type to its new ID.
    pub(crate) fn move_state(&mut self, old: TypeId, new: TypeId) -> Result<(), Error> {
        let both = [id_key(old), id_key(new)];
        self.execute("update or replace states set type = ?2 where type = ?1", both)?;
        self.execute("update or replace bases set type = ?2 where type = ?1", both)
    }

    pub(crate) fn set_alias(&mut self, old: TypeId, name: &str, alias: &impl Serialize) -> Result<(), Error> {
        let row = params![id_key(old), name, serialize(alias)];
        self.execute("insert or replace into aliases values (?1, ?2, ?3)", row)
    }

    pub(crate) fn load_aliases<T: DeserializeOwned>(&mut self) -> Result<Vec<T>, Error> {
        let mut statement = self.db.prepare_cached("select told from aliases order by name, old")?;
        let mut rows = statement.query([])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(deserialize(row.get_ref(0)?.as_blob().map_err(Error::from)?)?);
        }
        Ok(found)
    }

    // ---- files to be written

    pub(crate) fn pending_types(&self) -> Result<Vec<(TypeId, String)>, Error> {
        let mut statement = self.db.prepare_cached("select type, folder from pending")?;
        let found = statement.query_map([], |row| Ok((TypeId(row.get::<_, i64>(0)? as u64), row.get(1)?)))?;
        found.collect()
    }

    /// The types whose first declaration is in a folder.
    pub(crate) fn types_below(&self, folder: &str) -> Result<Vec<TypeId>, Error> {
        let mut statement = self.db.prepare_cached("select id from types where folder = ?1")?;
        let found = statement.query_map([folder], |row| Ok(TypeId(row.get::<_, i64>(0)? as u64)))?;
        found.collect()
    }

    /// The folders that contain first declarations of types.
    pub(crate) fn type_folders(&self) -> Result<Vec<String>, Error> {
        let mut statement = self.db.prepare_cached("select distinct folder from types order by folder")?;
        let found = statement.query_map([], |row| row.get(0))?;
        found.collect()
    }

    /// Marks the row of a type as pending: the state of its note changed.
    pub(crate) fn mark_row_pending(&self, of: TypeId) -> Result<(), Error> {
        let sql = "insert or ignore into pending select id, folder from types where id = ?1";
        self.execute(sql, [id_key(of)])
    }

    pub(crate) fn clear_pending(&mut self) -> Result<(), Error> {
        self.execute("delete from pending", [])
    }

    pub(crate) fn query_count(&self, sql: &str) -> Result<u64, Error> {
        let number: Option<i64> = self.db.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
        Ok(number.unwrap_or_default() as u64)
    }
}

fn file_row(row: &db::Row<'_>) -> Result<FileRow, Error> {
    Ok(FileRow {
        id: row.get(0)?,
        project: row.get(1)?,
        digest: row.get::<_, i64>(2)? as u64,
        context: row.get::<_, i64>(3)? as u64,
    })
}

fn certainty_from_number(number: i64) -> Certainty {
    let all = [Certainty::Exact, Certainty::Certain, Certainty::Likely, Certainty::Possible];
    all.into_iter().find(|each| *each as i64 == number).unwrap_or(Certainty::Possible)
}

/// The keys under which a type is found: its simple name and the names of its members.
fn name_keys(card: &TypeSummary) -> BTreeSet<i64> {
    let members = card.members.iter().map(|member| name_key(&member.name));
    members.chain([name_key(&card.simple_name)]).collect()
}

impl DeclarationSource for Table<'_> {
    type Error = Error;

    fn files_declaring(
        &mut self,
        words: &BTreeSet<String>,
        had: &BTreeSet<String>,
    ) -> Result<(Vec<SourceFile>, Vec<Vec<String>>), Error> {
        let (mut wanted, mut spaces) = (BTreeSet::new(), BTreeSet::new());
        wanted.extend(self.global_files()?);
        for word in words {
            let key = word_key(word);
            wanted.extend(self.files_with_declaration(word)?);
            // a module may re-export names without declaring any
            wanted.extend(self.query_numbers("select file from spaces where word = ?1 and own", key)?);
            let mut statement = self.db.prepare_cached("select distinct path from spaces where word = ?1")?;
            for path in statement.query_map([key], |row| row.get::<_, String>(0))? {
                spaces.insert(path?.split('.').map(str::to_owned).collect::<Vec<_>>());
            }
        }
        let mut files = Vec::new();
        for id in wanted {
            let path: String = self
                .db
                .prepare_cached("select path from files where id = ?1")?
                .query_row([id], |row| row.get(0))?;
            if !had.contains(&path) {
                files.push(self.load_source(id)?);
            }
        }
        Ok((files, spaces.into_iter().collect()))
    }
}
