//! How a row is stored in the `events` table: absent values are null, and repeated values are stored as
//! differences.
//!
//! Does not know which rows belong together.

use db::params;
use record::row::COPIED;
use record::{Kind, Row, RowKind, Stamp, Status, Tokens};

/// The columns of an event in the order that `read_row` expects.
pub(crate) const EVENT_COLUMNS: &str = "id, key, what, at, lasted, place, length, session, turn, sequence, name, lines, \
    input, output, cache_read, cache_write, cache_write_1h, head";

pub(crate) const INSERT_EVENT: &str = "insert or replace into events(id, key, what, at, lasted, place, length, session, \
    turn, sequence, name, lines, input, output, cache_read, cache_write, cache_write_1h, head, failed, told) \
    values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)";

fn pack_kind(row: &Row) -> i64 {
    row.row as i64 | i64::from(row.detail) << 2 | i64::from(row.flags) << 10
}

/// Whether a row is marked as a copy, from its packed form.
pub(crate) fn is_marked_copy(what: i64) -> bool {
    (what >> 10) as u8 & COPIED != 0
}

/// Whether it is a failure: of a call or of the provider.
pub(crate) fn is_failure(row: &Row) -> bool {
    match row.row {
        RowKind::Call => row.status() == Status::Error,
        RowKind::Message => row.kind() == Kind::ApiError,
        RowKind::Result => false,
    }
}

/// IDs are mostly truncated text: the zeros after a short one are not stored.
fn trimmed_id(row: &Row) -> &[u8] {
    let end = row.id.iter().rposition(|b| *b != 0).map_or(0, |n| n + 1);
    &row.id[..end]
}

/// Writes a row. `name` is the ID of its tool or model in the `names` table.
pub(crate) fn insert_row(
    insert: &mut db::Statement<'_>,
    id: u64,
    row: &Row,
    name: Option<i64>,
    indexed: bool,
) -> Result<(), db::Error> {
    let at = row.at.is_some().then_some(row.at.0);
    let lasted = (row.until.is_some() && row.until != row.at).then(|| row.until.0 - at.unwrap_or(0));
    let ended = if row.until.is_some() && row.until == row.at { Some(0) } else { lasted };
    let length = (row.end != Row::NO_END).then(|| row.end as i64 - row.start as i64);
    let t = row.tokens;
    insert.execute(params![
        id as i64,
        row.key as i64,
        pack_kind(row),
        at,
        ended,
        row.start as i64,
        length,
        row.session,
        row.turn,
        row.sequence,
        name,
        row.lines,
        t.input,
        t.output,
        t.cache_read,
        t.cache_write,
        t.cache_write_1h,
        trimmed_id(row),
        is_failure(row),
        indexed,
    ])?;
    Ok(())
}

/// A row as it was written, except for its file and name: those are IDs of this database.
pub(crate) struct StoredRow {
    pub(crate) id: u64,
    pub(crate) name: Option<i64>,
    pub(crate) row: Row,
}

pub(crate) fn read_row(from: &db::Row<'_>) -> Result<StoredRow, db::Error> {
    let what: i64 = from.get(2)?;
    let at: Option<i64> = from.get(3)?;
    let lasted: Option<i64> = from.get(4)?;
    let place: i64 = from.get(5)?;
    let length: Option<i64> = from.get(6)?;
    let head = from.get_ref(17)?.as_blob().unwrap_or_default();
    let row = Row {
        key: from.get::<_, i64>(1)? as u64,
        at: at.map_or(Stamp::NONE, Stamp),
        until: lasted.map_or(Stamp::NONE, |n| Stamp(at.unwrap_or(0) + n)),
        start: place as u64,
        end: length.map_or(Row::NO_END, |n| (place + n) as u64),
        session: from.get(7)?,
        turn: from.get(8)?,
        sequence: from.get(9)?,
        lines: from.get(11)?,
        tokens: Tokens {
            input: from.get(12)?,
            output: from.get(13)?,
            cache_read: from.get(14)?,
            cache_write: from.get(15)?,
            cache_write_1h: from.get(16)?,
        },
        id: Row::id_head(head),
        row: [RowKind::Message, RowKind::Call, RowKind::Result][(what & 3).min(2) as usize],
        detail: (what >> 2) as u8,
        flags: (what >> 10) as u8,
        ..Row::default()
    };
    Ok(StoredRow { id: from.get::<_, i64>(0)? as u64, name: from.get(10)?, row })
}
