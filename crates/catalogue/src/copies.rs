//! One event, many lines: a reply streamed block by block, a history replayed into a new file by resume, fork
//! or compaction, a result written in another file than its call. The only place where Loci decides that
//! several lines are the same event.
//!
//! The earliest session keeps the event; the rest are copies.

use crate::{Error, Sorted};
use record::row::COPIED;
use record::{Row, RowKind, Stamp};
use std::cmp::Ordering;

/// Sorts rows of one event next to each other: the order of a `Sorter` whose result goes to `join_copies`.
pub fn compare_by_key(a: &Row, b: &Row) -> Ordering {
    (a.key, a.row, a.file, a.start).cmp(&(b.key, b.row, b.file, b.start))
}

/// An event counted once, and how many lines were left out for that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JoinedEvent {
    pub row: Row,
    pub copies: CopyCounts,
}

/// Lines that repeat an event: blocks of the same reply, and copies in other files.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CopyCounts {
    pub streamed: u32,
    pub replayed: u32,
}

/// Reads rows in the order of `compare_by_key` and passes each event on once. `birth` returns the time a file was
/// started. Returns the number of results without a call.
pub fn join_copies(
    mut rows: Sorted,
    birth: impl Fn(u32) -> Stamp,
    mut each: impl FnMut(JoinedEvent) -> Result<(), Error>,
) -> Result<u64, Error> {
    let mut group: Vec<Row> = Vec::new();
    let mut orphans = 0;
    loop {
        let next = rows.next().transpose()?;
        if let (Some(first), Some(row)) = (group.first(), &next)
            && first.key == row.key
        {
            group.push(*row);
            continue;
        }
        if !group.is_empty() {
            match join_group(&group, &birth) {
                Some(joined) => each(joined)?,
                None => orphans += 1,
            }
            group.clear();
        }
        match next {
            Some(row) => group.push(row),
            None => return Ok(orphans),
        }
    }
}

fn join_group(group: &[Row], birth: &impl Fn(u32) -> Stamp) -> Option<JoinedEvent> {
    let age = |row: &Row| (row.has_flag(COPIED), birth(row.file), row.file, row.start);
    let owner = group.iter().filter(|r| r.row != RowKind::Result).min_by_key(|r| age(r))?;
    let joined = match owner.row {
        RowKind::Message => join_message(group, owner),
        _ => join_call(group, owner, age),
    };
    Some(joined)
}

/// A reply's lines in the owner's file are one message; its tokens are the largest count in any copy.
fn join_message(group: &[Row], owner: &Row) -> JoinedEvent {
    let mut row = *owner;
    let mut tally = CopyCounts::default();
    row.lines = 0;
    for other in group {
        row.tokens = row.tokens.max(other.tokens);
        if other.file == owner.file {
            row.lines += other.lines;
            row.end = row.end.max(other.end);
            row.until = row.until.max(other.until);
            row.start = row.start.min(other.start);
        } else {
            tally.replayed += other.lines;
        }
    }
    tally.streamed = row.lines.saturating_sub(1);
    JoinedEvent { row, copies: tally }
}

fn join_call<K: Ord>(group: &[Row], owner: &Row, age: impl Fn(&Row) -> K) -> JoinedEvent {
    let mut row = *owner;
    if row.end == Row::NO_END {
        // Its result is elsewhere: with a copy of the call, or alone in another file.
        if let Some(other) = group.iter().filter(|r| r.end != Row::NO_END).min_by_key(|r| age(r)) {
            (row.end, row.end_file, row.until, row.detail) =
                (other.end, other.end_file, other.until, other.detail);
        }
    }
    let replayed = group.iter().filter(|r| r.row == RowKind::Call).count() as u32 - 1;
    JoinedEvent { row, copies: CopyCounts { replayed, streamed: 0 } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sorter;
    use record::{Status, Tokens};

    fn join_rows(rows: &[Row], births: &[i64]) -> Vec<JoinedEvent> {
        let mut sorter = Sorter::new(compare_by_key);
        for row in rows {
            sorter.push(*row).unwrap();
        }
        let mut found = Vec::new();
        join_copies(
            sorter.finish().unwrap(),
            |file| Stamp(births[file as usize]),
            |j| {
                found.push(j);
                Ok(())
            },
        )
        .unwrap();
        found
    }

    fn call_row(key: u64, file: u32, end: u64) -> Row {
        let detail = if end == Row::NO_END { Status::Pending } else { Status::Error } as u8;
        Row { key, file, end, end_file: file, row: RowKind::Call, detail, ..Row::default() }
    }

    #[test]
    fn the_earliest_session_keeps_the_event() {
        let rows = [call_row(1, 0, 9), call_row(1, 1, 9), call_row(2, 0, 9)];
        let found = join_rows(&rows, &[200, 100]);
        assert_eq!(found.iter().map(|j| (j.row.key, j.row.file)).collect::<Vec<_>>(), [(1, 1), (2, 0)]);
        assert_eq!(found[0].copies.replayed, 1);
    }

    #[test]
    fn an_entry_that_says_it_is_a_copy_is_one() {
        let mut copy = call_row(1, 0, 9);
        copy.flags = COPIED;
        assert_eq!(join_rows(&[copy, call_row(1, 1, 9)], &[5, 5])[0].row.file, 1);
    }

    #[test]
    fn a_result_in_another_file_finds_its_call() {
        let result = Row {
            key: 1,
            file: 1,
            start: 7,
            end: 7,
            end_file: 1,
            row: RowKind::Result,
            detail: 1,
            ..Row::default()
        };
        let found = join_rows(&[call_row(1, 0, Row::NO_END), result], &[1, 2]);
        assert_eq!((found[0].row.end, found[0].row.end_file, found[0].row.status()), (7, 1, Status::Error));
        assert!(join_rows(&[result], &[1, 2]).is_empty());
    }

    #[test]
    fn a_streamed_reply_is_one_message_with_its_final_count() {
        let line = |file, place, output| Row {
            key: 3,
            file,
            start: place,
            end: place,
            tokens: Tokens { output, ..Tokens::ZERO },
            ..Row::default()
        };
        let found = join_rows(&[line(0, 10, 1), line(0, 20, 57), line(1, 10, 1)], &[1, 2]);
        let only = &found[0];
        assert_eq!((only.row.tokens.output, only.row.start, only.row.end, only.row.lines), (57, 10, 20, 2));
        assert_eq!((only.copies.streamed, only.copies.replayed), (1, 1));
    }
}
