//! A database of our own that cannot be rebuilt and whose loss is noticed. `SQLite` notices damage to its structure, and neither
//! a flipped bit in a value, nor an emptied file, nor an older copy in the place of the newest one.
//!
//! Triggers keep the number of rows and a sum of their hashes for each table, in the transaction of each change. A small file
//! beside the database, the witness, has its identity, its generation, the number of its rows, and the size and time of its file.
//! Does not know what any table means, nor who may be told.

use crate::durable::{self, OpenError};
use crate::{Connection, Error, OptionalExtension, sibling_path};
use os::checked_file;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};

/// The table of seals: one row for each table, and one without a name: generation and identity of the database.
pub(crate) const TABLE: &str = "loci_seals";
/// Part of the name of each trigger; another form of the hash needs another name.
const TRIGGER: &str = "loci_seal_1_";
const WITNESS: &str = ".seal";

/// What became of a database since it was written last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loss {
    /// It is gone or empty, and had this many rows.
    Gone { rows: i64 },
    /// Another database is in its place, which does not have what it had.
    Replaced { rows: i64 },
    /// It is an older version of itself.
    Older { rows: i64 },
    /// A value, a row or a page of it is damaged.
    Damaged { what: String },
}

impl std::fmt::Display for Loss {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Loss::Gone { rows } => write!(out, "is gone or empty, and had {rows} rows"),
            Loss::Replaced { rows } => {
                write!(out, "was replaced by another one; the one before had {rows} rows")
            }
            Loss::Older { rows } => write!(out, "is an older version of itself; the newest had {rows} rows"),
            Loss::Damaged { what } => write!(out, "is damaged: {what}"),
        }
    }
}

/// Identity, generation and content of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seal {
    id: i64,
    generation: i64,
    rows: i64,
}

/// A connection that writes the witness when it is closed after a change.
pub struct SealedConnection {
    /// None only while it is dropped.
    connection: Option<Connection>,
    /// Where the database is, and its generation when it was opened. None: its witness is not ours to write.
    opened: Option<(PathBuf, i64)>,
}

impl SealedConnection {
    /// A connection that only reads, or one of a database in memory.
    pub fn unsealed(connection: Connection) -> SealedConnection {
        SealedConnection { connection: Some(connection), opened: None }
    }
}

impl Deref for SealedConnection {
    type Target = Connection;
    fn deref(&self) -> &Connection {
        self.connection.as_ref().expect("it is open until it is dropped")
    }
}

impl DerefMut for SealedConnection {
    fn deref_mut(&mut self) -> &mut Connection {
        self.connection.as_mut().expect("it is open until it is dropped")
    }
}

impl Drop for SealedConnection {
    fn drop(&mut self) {
        let (Some((path, before)), Some(connection)) = (&self.opened, self.connection.take()) else { return };
        let seal = read_seal(&connection);
        // The log is merged into the file now, and the file has the size and time that the witness names.
        drop(connection);
        // Best effort: a witness that is behind only notices less, and the next writer brings it up to date.
        if let Ok(Some(seal)) = seal
            && (seal.generation != *before || !is_as_written(path))
        {
            let _ = write_witness(path, seal);
        }
    }
}

/// Opens the database for writing like [`durable::open_writer`], and seals its tables.
pub fn open_writer(path: &Path, steps: &[&str]) -> Result<SealedConnection, OpenError> {
    let failed = |error| OpenError::Failed { path: path.to_path_buf(), error };
    let witness = read_witness(path);
    let mut connection = durable::open_writer(path, steps)?;
    add_functions(&connection).map_err(failed)?;
    seal_tables(&mut connection).map_err(failed)?;
    let seal = read_seal(&connection).map_err(failed)?;
    let Some((seal, witness)) = seal.zip(witness) else {
        // The first witness, also of a database without rows.
        return Ok(SealedConnection { connection: Some(connection), opened: Some((path.to_path_buf(), -1)) });
    };
    if find_difference(seal, witness).is_none() {
        let stale = if seal == witness { seal.generation } else { -1 };
        return Ok(SealedConnection {
            connection: Some(connection),
            opened: Some((path.to_path_buf(), stale)),
        });
    }
    if seal.id == witness.id {
        // An older version that is written to must not pass for the newest one once it has as many generations.
        set_identity(&connection).map_err(failed)?;
    }
    Ok(SealedConnection::unsealed(connection))
}

/// What was lost, as far as one small file and one row show. Opens no database that never had a row, and none that has the size
/// and the time of its last change: opening one costs more than all else that a short command does about losses.
pub fn find_loss(path: &Path) -> Result<Option<Loss>, Error> {
    if is_as_written(path) { Ok(None) } else { compare_seal(path) }
}

fn compare_seal(path: &Path) -> Result<Option<Loss>, Error> {
    // Before the database: a writer commits first and writes the witness then.
    let Some(witness) = read_witness(path).filter(|witness| witness.rows > 0) else { return Ok(None) };
    let rows = witness.rows;
    if !std::fs::metadata(path).is_ok_and(|meta| meta.len() > 0) {
        return Ok(Some(Loss::Gone { rows }));
    }
    let connection = crate::open_foreign(path)?;
    Ok(match read_seal(&connection)? {
        Some(seal) => find_difference(seal, witness),
        None => Some(Loss::Gone { rows }),
    })
}

/// The same, and compares every row with the seals.
pub fn verify_rows(path: &Path) -> Option<Loss> {
    let verify = || match compare_seal(path)? {
        None if path.exists() => compare_rows(&crate::open_foreign(path)?),
        found => Ok(found),
    };
    verify().unwrap_or_else(|error| Some(Loss::Damaged { what: error.to_string() }))
}

/// The same, and reads every byte.
pub fn verify(path: &Path) -> Option<Loss> {
    let damage = || durable::find_damage(path).map(|what| Loss::Damaged { what });
    verify_rows(path).or_else(|| if path.exists() { damage() } else { None })
}

/// Takes the database as it is for what it should be: a person has seen the loss.
pub fn accept(path: &Path) -> Result<(), Error> {
    let witness = sibling_path(path, WITNESS);
    if let Err(error) = std::fs::remove_file(witness)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        return Err(crate::io_error(&error));
    }
    if !std::fs::metadata(path).is_ok_and(|meta| meta.len() > 0) {
        return Ok(());
    }
    let mut connection = Connection::open(path)?;
    add_functions(&connection)?;
    if read_seal(&connection)?.is_some() {
        connection.execute(&format!("delete from {TABLE} where name != ''"), [])?;
    }
    seal_tables(&mut connection)?;
    let seal = read_seal(&connection)?;
    drop(connection);
    match seal {
        Some(seal) => write_witness(path, seal).map_err(|error| crate::io_error(&error)),
        None => Ok(()),
    }
}

fn find_difference(seal: Seal, witness: Seal) -> Option<Loss> {
    let rows = witness.rows;
    match () {
        () if rows == 0 => None,
        () if seal.id != witness.id && seal.rows == 0 => Some(Loss::Gone { rows }),
        () if seal.id != witness.id => Some(Loss::Replaced { rows }),
        () if seal.generation < witness.generation => Some(Loss::Older { rows }),
        () => None,
    }
}

// ---- the witness

fn read_witness(path: &Path) -> Option<Seal> {
    let (seal, _) = read_witness_line(path)?;
    Some(seal)
}

/// Whether the file has the size and time of modification that its witness names.
fn is_as_written(path: &Path) -> bool {
    let written = read_witness_line(path).and_then(|(_, state)| state);
    written.is_some() && written == read_file_state(path)
}

/// Size, and time of modification in nanoseconds since 1970.
fn read_file_state(path: &Path) -> Option<(u64, u64)> {
    let meta = std::fs::metadata(path).ok()?;
    let modified = meta.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some((meta.len(), u64::try_from(modified.as_nanos()).ok()?))
}

fn read_witness_line(path: &Path) -> Option<(Seal, Option<(u64, u64)>)> {
    let read = checked_file::read_lines(&sibling_path(path, WITNESS)).ok()?;
    // A damaged witness is no witness: the next writer replaces it.
    let line = read.lines.first().filter(|_| read.condition == checked_file::Condition::Whole)?;
    let mut fields = line.split(' ');
    let mut next = || fields.next()?.parse().ok();
    let seal = Seal { id: next()?, generation: next()?, rows: next()? };
    let mut next = || fields.next()?.parse().ok();
    Some((seal, next().zip(next())))
}

fn write_witness(path: &Path, seal: Seal) -> std::io::Result<()> {
    // Another process may have written a later one meanwhile.
    if read_witness(path).is_some_and(|there| there.id == seal.id && there.generation > seal.generation) {
        return Ok(());
    }
    let mut numbers = vec![seal.id.to_string(), seal.generation.to_string(), seal.rows.to_string()];
    // While another process has it open, the file is not as it will be.
    if !crate::has_wal(path)
        && let Some((size, modified)) = read_file_state(path)
    {
        numbers.extend([size.to_string(), modified.to_string()]);
    }
    let line = numbers.join(" ");
    checked_file::replace_lines_lazily(&sibling_path(path, WITNESS), std::iter::once(line.as_str()))
}

// ---- the seals

/// None: the tables were never sealed.
fn read_seal(connection: &Connection) -> Result<Option<Seal>, Error> {
    let exists = "select 1 from sqlite_schema where type = 'table' and name = ?1";
    if connection.query_row(exists, [TABLE], |_| Ok(())).optional()?.is_none() {
        return Ok(None);
    }
    let own = connection
        .query_row(&format!("select sum, rows from {TABLE} where name = ''"), [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    let rows = format!("select coalesce(sum(rows), 0) from {TABLE} where name != ''");
    let rows = connection.query_row(&rows, [], |row| row.get(0))?;
    Ok(own.map(|(id, generation)| Seal { id, generation, rows }))
}

fn set_identity(connection: &Connection) -> Result<(), Error> {
    let sql = format!(
        "insert into {TABLE} values ('', 1, random()) on conflict(name) do update set sum = excluded.sum, rows = rows + 1"
    );
    connection.execute(&sql, []).map(drop)
}

/// Gives every table its triggers and its sum, if the layout has changed since that was done.
fn seal_tables(connection: &mut Connection) -> Result<(), Error> {
    if is_sealed(connection)? {
        return Ok(());
    }
    let sealing = connection.transaction()?;
    seal_layout(&sealing)?;
    sealing.commit()
}

/// The same for a layout that the caller has changed, in the transaction that changes it.
pub fn seal_layout(sealing: &Connection) -> Result<(), Error> {
    sealing.execute_batch(&format!(
        "create table if not exists {TABLE}(name text primary key, rows integer not null, sum integer not null) without rowid"
    ))?;
    if read_seal(sealing)?.is_none() {
        set_identity(sealing)?;
    }
    for trigger in sealing_triggers(sealing)? {
        sealing.execute_batch(&format!("drop trigger \"{trigger}\""))?;
    }
    sealing.execute(&format!("delete from {TABLE} where name != ''"), [])?;
    for table in tables(sealing)? {
        let (rows, sum) = sum_rows(sealing, &table)?;
        sealing.execute(
            &format!("insert into {TABLE} values (?1, ?2, ?3)"),
            rusqlite::params![table, rows, sum],
        )?;
        sealing.execute_batch(&trigger_sql(&table, &crate::table_columns(sealing, &table)?))?;
    }
    Ok(())
}

fn is_sealed(connection: &Connection) -> Result<bool, Error> {
    if read_seal(connection)?.is_none() {
        return Ok(false);
    }
    let sealed: Vec<String> =
        names(connection, &format!("select name from {TABLE} where name != '' order by name"))?;
    Ok(sealed == tables(connection)?
        && sealing_triggers(connection)?
            == sealed
                .iter()
                .flat_map(|table| triggers_of(table, connection))
                .collect::<std::collections::BTreeSet<_>>()
                .into_iter()
                .collect::<Vec<_>>())
}

/// The names of the triggers of a table, which say how many columns it had.
fn triggers_of(table: &str, connection: &Connection) -> Vec<String> {
    let columns = crate::table_columns(connection, table).map_or(0, |columns| columns.len());
    ["delete", "insert", "update"].iter().map(|event| trigger_name(table, columns, event)).collect()
}

fn trigger_name(table: &str, columns: usize, event: &str) -> String {
    format!("{TRIGGER}{table}_{columns}_{event}")
}

fn names(connection: &Connection, sql: &str) -> Result<Vec<String>, Error> {
    connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
}

fn tables(connection: &Connection) -> Result<Vec<String>, Error> {
    let sql = format!(
        "select name from sqlite_schema where type = 'table' and name not like 'sqlite!_%' escape '!' \
         and name != '{TABLE}' order by name"
    );
    names(connection, &sql)
}

fn sealing_triggers(connection: &Connection) -> Result<Vec<String>, Error> {
    names(
        connection,
        "select name from sqlite_schema where type = 'trigger' and name like 'loci!_seal!_%' escape '!' order by name",
    )
}

fn trigger_sql(table: &str, columns: &[String]) -> String {
    let values =
        |row: &str| columns.iter().map(|column| format!("{row}.\"{column}\"")).collect::<Vec<_>>().join(", ");
    let own = format!("update {TABLE} set rows = rows + 1 where name = ''");
    let count = columns.len();
    let (old, new) = (values("old"), values("new"));
    let event = |event: &str, rows: &str, sum: &str| {
        format!(
            "create trigger \"{}\" after {event} on \"{table}\" begin \
             update {TABLE} set rows = rows {rows}, sum = {sum} where name = '{table}'; {own}; end;\n",
            trigger_name(table, count, event)
        )
    };
    [
        event("insert", "+ 1", &format!("loci_add(sum, {new})")),
        event("delete", "- 1", &format!("loci_subtract(sum, {old})")),
        event("update", "+ 0", &format!("loci_add(loci_subtract(sum, {old}), {new})")),
    ]
    .concat()
}

fn sum_rows(connection: &Connection, table: &str) -> Result<(i64, i64), Error> {
    let mut statement = connection.prepare(&format!("select * from \"{table}\""))?;
    let columns = statement.column_count();
    let (mut rows, mut count, mut sum) = (statement.query([])?, 0_i64, 0_i64);
    while let Some(row) = rows.next()? {
        let values = (0..columns).map(|column| row.get_ref(column));
        sum = sum.wrapping_add(hash_values(values)?);
        count += 1;
    }
    Ok((count, sum))
}

fn compare_rows(connection: &Connection) -> Result<Option<Loss>, Error> {
    if read_seal(connection)?.is_none() {
        return Ok(None);
    }
    let sealed: Vec<(String, i64, i64)> = connection
        .prepare(&format!("select name, rows, sum from {TABLE} where name != ''"))?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    // A table that is not sealed yet is the work of a writer that was killed before it sealed it; the next one does.
    let present = tables(connection)?;
    if let Some((missing, ..)) = sealed.iter().find(|(name, ..)| !present.contains(name)) {
        return Ok(Some(Loss::Damaged { what: format!("its table {missing} is gone") }));
    }
    for (table, rows, sum) in &sealed {
        let found = sum_rows(connection, table)?;
        if found != (*rows, *sum) {
            let what = format!(
                "{table} has {} rows with another content than the {rows} that were written",
                found.0
            );
            return Ok(Some(Loss::Damaged { what }));
        }
    }
    Ok(None)
}

fn add_functions(connection: &Connection) -> Result<(), Error> {
    // `insert or replace` deletes rows, and tells triggers only with this setting.
    connection.pragma_update(None, "recursive_triggers", true)?;
    let flags = FunctionFlags::SQLITE_UTF8.union(FunctionFlags::SQLITE_DETERMINISTIC);
    let change = |context: &Context<'_>, sign: i64| -> Result<i64, Error> {
        let sum: i64 = context.get(0)?;
        let values = (1..context.len()).map(|at| Ok(context.get_raw(at)));
        Ok(sum.wrapping_add(hash_values(values)?.wrapping_mul(sign)))
    };
    connection.create_scalar_function("loci_add", -1, flags, move |context| change(context, 1))?;
    connection.create_scalar_function("loci_subtract", -1, flags, move |context| change(context, -1))
}

/// FNV-1a over types and values.
fn hash_values<'v>(values: impl Iterator<Item = Result<ValueRef<'v>, Error>>) -> Result<i64, Error> {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |kind: u8, bytes: &[u8]| {
        let ending = bytes.len().to_le_bytes();
        for byte in std::iter::once(&kind).chain(bytes).chain(&ending) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for value in values {
        match value? {
            ValueRef::Null => add(0, &[]),
            ValueRef::Integer(number) => add(1, &number.to_le_bytes()),
            ValueRef::Real(number) => add(2, &number.to_le_bytes()),
            ValueRef::Text(bytes) => add(3, bytes),
            ValueRef::Blob(bytes) => add(4, bytes),
        }
    }
    Ok(hash.cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: &[&str] = &[
        "create table parent(id integer primary key, text text); \
         create table child(parent integer references parent(id) on delete cascade, n integer, primary key(parent, n)) without rowid",
        "alter table parent add column more text default 'x'",
    ];

    fn temp_path(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("loci-sealed-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        folder.join("m.db")
    }

    fn fill(path: &Path) {
        let writer = open_writer(path, &STEPS[..1]).unwrap();
        for n in 0..50 {
            writer.execute("insert into parent values (?1, ?2)", (n, format!("text number {n}"))).unwrap();
            writer.execute("insert into child values (?1, 1), (?1, 2)", [n]).unwrap();
        }
        writer.execute_batch("update parent set text = text || '!' where id % 3 = 0; delete from parent where id > 40;
            insert or replace into parent values (7, 'seven'); insert into parent values (8, 'x') on conflict(id) do update set text = 'eight'").unwrap();
    }

    #[test]
    fn the_seals_follow_every_change_and_every_layout() {
        let path = temp_path("follow");
        fill(&path);
        assert_eq!(verify(&path), None);
        let moved = open_writer(&path, STEPS).unwrap();
        moved.execute("update parent set more = 'y' where id = 1", []).unwrap();
        drop(moved);
        assert_eq!(verify(&path), None);
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }

    #[test]
    fn a_flipped_value_a_loss_and_an_older_version_are_noticed_until_they_are_accepted() {
        let path = temp_path("noticed");
        fill(&path);
        let older = std::fs::read(&path).unwrap();
        open_writer(&path, &STEPS[..1])
            .unwrap()
            .execute("insert into parent values (90, 'new')", [])
            .unwrap();
        let newest = std::fs::read(&path).unwrap();
        let at = newest.windows(11).position(|window| window == b"text number").unwrap();
        let mut flipped = newest.clone();
        flipped[at] ^= 1;
        std::fs::write(&path, &flipped).unwrap();
        assert!(matches!(verify(&path), Some(Loss::Damaged { .. })), "{:?}", verify(&path));
        for (bytes, is_expected) in [
            (None, (|loss| matches!(loss, Loss::Gone { .. })) as fn(&Loss) -> bool),
            (Some(Vec::new()), |loss| matches!(loss, Loss::Gone { .. })),
            (Some(older), |loss| matches!(loss, Loss::Older { .. })),
        ] {
            let _ = std::fs::remove_file(&path);
            if let Some(bytes) = bytes {
                std::fs::write(&path, bytes).unwrap();
            }
            let loss = find_loss(&path).unwrap().expect("a loss");
            assert!(is_expected(&loss), "{loss:?}");
            // It stays noticed after others have written to what is left, however often.
            for n in 0..5 {
                let writer = open_writer(&path, &STEPS[..1]).unwrap();
                writer.execute("insert into parent values (?1, 'later')", [100 + n]).unwrap();
            }
            assert!(find_loss(&path).unwrap().is_some());
            std::fs::write(&path, &newest).unwrap();
            assert_eq!(verify(&path), None, "the right file mends it");
        }
        std::fs::write(&path, &flipped).unwrap();
        accept(&path).unwrap();
        assert_eq!(verify(&path), None);
        std::fs::remove_file(&path).unwrap();
        accept(&path).unwrap();
        assert_eq!(verify(&path), None);
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }
}
