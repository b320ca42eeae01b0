//! Unites copies of one transcript: of several devices, or of one device at several times. The result has every entry of each, whatever
//! the order in which they arrive; of two states of an entry of which one extends the other, the longer.
//!
//! Does not know which copy is newer, nor where the bytes came from.

use super::content::{Content, is_extended, session_prints};
use super::copy::Archive;
use super::entry::{RowLine, SessionLine, split_entries};
use super::frame_writer::{FrameWriter, TemporaryFile};
use super::raw_copy::check_name;
use super::table::{Header, StoredOutcome};
use super::{Store, name_of_origin, open_existing};
use crate::Error;
use rustc_hash::{FxHashMap, FxHashSet};

/// What became of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum United {
    /// It had everything.
    Unchanged,
    Written,
}

/// An open copy and what its sessions are called in the result.
struct Side {
    archive: Archive,
    numbers: Vec<u32>,
    /// Keeps the file of a large copy that arrived.
    _temporary: Option<TemporaryFile>,
}

impl Store {
    /// Adds copies, or parts of copies, that came from the device `origin`, to what the archive has of it. `name` is that of the
    /// transcript; without an origin, the transcript is one of this device. Refuses what is not an intact copy of it.
    pub fn unite_copies(&self, name: u128, origin: Option<&str>, arrived: &[&[u8]]) -> Result<United, Error> {
        let path = self.path_by_name(name_of_origin(name, origin));
        let existing = open_existing(&path)?;
        let exists = existing.is_some();
        let mut sides: Vec<Side> = existing.into_iter().map(|archive| Side::of(archive, None)).collect();
        for bytes in arrived {
            let (archive, temporary) = self.open_piece(name, bytes)?;
            let side = Side::of(archive, temporary);
            check_name(&side.archive.path, &side.archive.table.header, name)?;
            sides.push(side);
        }
        let Some(first) = sides.first() else { return Ok(United::Unchanged) };
        let mut header: Header = first.archive.table.header.clone();
        header.origin = origin.map(str::to_string);
        let closing = unite_sessions(&mut sides);
        let mut union = Contents::default();
        for (number, side) in sides.iter().enumerate() {
            union.add_side(number, side)?;
        }
        union.drop_states(&sides)?;
        if exists && union.is_first_side_whole() && is_same_closing(&sides[0], &closing) {
            return Ok(United::Unchanged);
        }
        let mut writer = FrameWriter::new(self.target_at(path));
        union.write(&sides, &mut writer)?;
        writer.finish(header, closing)?.publish()?;
        Ok(United::Written)
    }
}

impl Side {
    fn of(archive: Archive, temporary: Option<TemporaryFile>) -> Side {
        Side { archive, numbers: Vec::new(), _temporary: temporary }
    }
}

/// The sessions of all sides, those of the first side first.
fn unite_sessions(sides: &mut [Side]) -> StoredOutcome {
    let mut closing = StoredOutcome::default();
    for side in sides {
        let stored = &side.archive.table.closing;
        for line in &stored.sessions {
            let line = line.clone().with_kept(0);
            let known = closing.sessions.iter().position(|known| known.is_same_session(&line));
            let at =
                known.filter(|at| !side.numbers.contains(&(*at as u32))).unwrap_or(closing.sessions.len());
            match closing.sessions.get_mut(at) {
                Some(known) => *known = known.clone().united(line),
                None => closing.sessions.push(line),
            }
            side.numbers.push(at as u32);
        }
        closing.birth = closing.birth.into_iter().chain(stored.birth).min();
        if side.numbers.first() == Some(&0) && stored.abandoned.len() > closing.abandoned.len() {
            closing.abandoned.clone_from(&stored.abandoned);
        }
        if closing.coverage.is_empty() {
            closing.coverage.clone_from(&stored.coverage);
        }
    }
    closing
}

fn is_same_closing(side: &Side, closing: &StoredOutcome) -> bool {
    let stored = &side.archive.table.closing;
    let bare = |line: &SessionLine| line.clone().with_kept(0);
    stored.sessions.iter().map(bare).eq(closing.sessions.iter().map(bare))
        && stored.abandoned == closing.abandoned
}

/// Where an entry is: the side, and the position in its lines.
#[derive(Clone, Copy, PartialEq)]
struct Place {
    side: usize,
    at: u64,
}

/// The entries of all sides.
#[derive(Default)]
struct Contents {
    /// How many entries with this content are written, and the place of the first.
    chosen: FxHashMap<u64, (u32, Place)>,
    /// The different states of one entry.
    states: FxHashMap<u64, Vec<u64>>,
    /// Content that a side had and has replaced.
    dropped: FxHashSet<u64>,
    /// Content that a side has, but its transcript no longer has.
    kept: FxHashSet<u64>,
    /// How many entries with this content the first side has.
    first: FxHashMap<u64, u32>,
    is_first_damaged: bool,
}

impl Contents {
    fn add_side(&mut self, number: usize, side: &Side) -> Result<(), Error> {
        let (mut counts, mut replaced) = (FxHashMap::<u64, u32>::default(), Vec::new());
        let table = &side.archive.table;
        let damaged = each_entry(side, number == 0, &mut |at, content, _, _| {
            if side.archive.is_replaced(at) {
                replaced.push(content.print);
                return Ok(());
            }
            if side.archive.is_kept(at) {
                self.kept.insert(content.print);
            }
            let count = counts.entry(content.print).or_default();
            *count += 1;
            let chosen = self.chosen.entry(content.print).or_insert((0, Place { side: number, at }));
            if chosen.0 == 0 {
                self.states.entry(content.identity).or_default().push(content.print);
            }
            chosen.0 = chosen.0.max(*count);
            Ok(())
        })?;
        self.is_first_damaged |= damaged;
        let gone = replaced.into_iter().chain(table.dropped.iter().copied());
        self.dropped.extend(gone.filter(|print| !counts.contains_key(print)));
        if number == 0 {
            self.first = counts;
        }
        Ok(())
    }

    /// Of two states of an entry of which one extends the other, the longer counts; and none that a side has replaced.
    fn drop_states(&mut self, sides: &[Side]) -> Result<(), Error> {
        for prints in self.states.values().filter(|prints| prints.len() > 1) {
            let mut records = Vec::new();
            for print in prints {
                records.push((*print, read_record(sides, self.chosen[print].1)?));
            }
            for (print, record) in &records {
                let is_shorter = |(other, longer): &(u64, Vec<u8>)| {
                    other != print
                        && is_extended(record, longer, None)
                        && (!is_extended(longer, record, None) || print < other)
                };
                if records.iter().any(is_shorter) {
                    self.dropped.insert(*print);
                }
            }
        }
        Ok(())
    }

    fn is_first_side_whole(&self) -> bool {
        let is_complete = |(print, (count, _)): (&u64, &(u32, Place))| {
            let wanted = if self.dropped.contains(print) { 0 } else { *count };
            self.first.get(print).copied().unwrap_or(0) == wanted
        };
        !self.is_first_damaged && self.chosen.iter().all(is_complete)
    }

    fn write(&self, sides: &[Side], writer: &mut FrameWriter) -> Result<(), Error> {
        let mut written = FxHashMap::<u64, u32>::default();
        for (number, side) in sides.iter().enumerate() {
            let is_in_place = side.numbers.iter().enumerate().all(|(at, number)| at as u32 == *number);
            let mut counts = FxHashMap::<u64, u32>::default();
            each_entry(side, number == 0, &mut |at, content, line, record| {
                if side.archive.is_replaced(at) || self.dropped.contains(&content.print) {
                    return Ok(());
                }
                let (count, written) =
                    (counts.entry(content.print).or_default(), written.entry(content.print).or_default());
                *count += 1;
                if *count <= *written {
                    return Ok(());
                }
                *written = *count;
                let mut head: RowLine<'_> = match serde_json::from_slice(line) {
                    Ok(head) => head,
                    Err(_) => return Ok(()),
                };
                if is_in_place {
                    writer.add_stored(line, record, head.ordinal)?;
                } else {
                    head.session = side.numbers[head.session as usize];
                    writer.add_line(&head, record)?;
                }
                if self.kept.contains(&content.print) {
                    writer.mark_last_kept();
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// Takes the position of an entry, what it is known by, its line and its record.
type EntryVisitor<'v> = dyn FnMut(u64, Content, &[u8], &[u8]) -> Result<(), Error> + 'v;

/// Passes on every entry, replaced ones included. Returns whether frames of the copy that is here, which may be damaged, were left out;
/// what arrives must be intact.
fn each_entry(side: &Side, skips_damage: bool, each: &mut EntryVisitor<'_>) -> Result<bool, Error> {
    let sessions = session_prints(&side.archive.table.closing.sessions);
    let (damaged, mut is_damaged) = (|what| Error::Damaged { path: side.archive.path.clone(), what }, false);
    for n in 0..side.archive.spans.len() {
        let raw = match side.archive.unpack_frame(n) {
            Ok(raw) => raw,
            Err(Error::Damaged { .. }) if skips_damage => {
                is_damaged = true;
                continue;
            }
            Err(error) => return Err(error),
        };
        let (start, mut end) = (side.archive.spans[n].raw, 0);
        for (offset, line, record) in split_entries(&raw) {
            end = offset as usize + line.len() + record.len() + 2;
            let row: RowLine<'_> =
                serde_json::from_slice(line).map_err(|_| damaged("its lines cannot be parsed"))?;
            let session =
                sessions.get(row.session as usize).ok_or_else(|| damaged("an entry has no session"))?;
            each(start + offset, Content::of(&row, session, record), line, record)?;
        }
        if end != raw.len() {
            return Err(damaged("its lines cannot be parsed"));
        }
    }
    Ok(is_damaged)
}

fn read_record(sides: &[Side], place: Place) -> Result<Vec<u8>, Error> {
    let archive = &sides[place.side].archive;
    let Some(n) = archive.frame_at(place.at) else { return Ok(Vec::new()) };
    let raw = archive.unpack_frame(n)?;
    let entry = split_entries(&raw[(place.at - archive.spans[n].raw) as usize..]).next();
    Ok(entry.map(|(_, _, record)| record.to_vec()).unwrap_or_default())
}

/// The content of entries at these positions, for a device that has the lines.
pub(super) fn prints_at(lines: &[u8], places: &[u64], sessions: &[SessionLine]) -> Vec<u64> {
    let sessions = session_prints(sessions);
    let print = |place: &u64| {
        let (_, line, record) = split_entries(lines.get(*place as usize..)?).next()?;
        let row: RowLine<'_> = serde_json::from_slice(line).ok()?;
        Some(Content::of(&row, sessions.get(row.session as usize)?, record).print)
    };
    places.iter().filter_map(print).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// An entry: the number of its ID and of its text. Texts with greater numbers extend those with smaller ones of their parity.
    type Made = (u8, u8);

    const NAME: &str = "/srv/demo/one.jsonl";

    fn text_of(number: u8) -> String {
        let letter = if number.is_multiple_of(2) { "even " } else { "odd " };
        letter.repeat(usize::from(number) / 2 + 1)
    }

    /// The stored bytes of a copy with these entries.
    fn copy_of(store: &Store, entries: &[Made]) -> (u128, Vec<u8>) {
        let header: Header = serde_json::from_str(&format!(
            r#"{{"source":"claude","path":"{NAME}","hint":"","group":"","size":1,"keys":0}}"#
        ))
        .unwrap();
        let name = header.transcript_name();
        let mut writer = FrameWriter::new(store.target_at(store.path_by_name(name)));
        for (ordinal, (id, text)) in entries.iter().enumerate() {
            let head = format!(
                r#"{{"n":{ordinal},"row":"message","is":"prompt","key":{id},"turn":{ordinal},"seq":1,"lines":1}}"#
            );
            let record = format!(r#"{{"id":"{id}","text":"{}"}}"#, text_of(*text));
            writer.add_stored(head.as_bytes(), record.as_bytes(), ordinal as u32).unwrap();
        }
        let sessions =
            serde_json::from_str(r#"[{"session_id":"s","started_at":null,"ended_at":null}]"#).unwrap();
        let closing = StoredOutcome { sessions, ..StoredOutcome::default() };
        writer.finish(header, closing).unwrap().publish().unwrap();
        (name, store.read_raw(name, name).unwrap().unwrap())
    }

    fn contents(store: &Store, name: u128) -> BTreeMap<String, u32> {
        let copy = store.read_lines(name_of_origin(name, Some("a")), u64::MAX).unwrap().unwrap();
        let mut records = BTreeMap::new();
        for (at, _, record) in split_entries(&copy.lines) {
            if copy.dead.binary_search(&at).is_err() {
                *records.entry(String::from_utf8_lossy(record).into_owned()).or_default() += 1;
            }
        }
        records
    }

    proptest! {
        /// Law: the union of copies does not depend on the order in which they arrive, nor on how often, and has every entry of each,
        /// or a longer state of it.
        #[test]
        fn copies_unite_in_any_order(
            copies in prop::collection::vec(prop::collection::vec((0..4_u8, 0..6_u8), 0..12), 1..4),
            order in Just([0_usize, 1, 2, 3]).prop_shuffle(),
        ) {
            let tmp = tempfile::tempdir().unwrap();
            let maker = Store::new(tmp.path().join("maker"));
            let made: Vec<(u128, Vec<u8>)> = copies.iter().map(|entries| copy_of(&maker, entries)).collect();
            let name = made[0].0;
            let pieces: Vec<&[u8]> = made.iter().map(|(_, bytes)| bytes.as_slice()).collect();
            let at_once = Store::new(tmp.path().join("once"));
            at_once.unite_copies(name, Some("a"), &pieces).unwrap();
            let one_by_one = Store::new(tmp.path().join("each"));
            let in_order = || order.iter().filter_map(|at| pieces.get(*at));
            for piece in in_order().chain(in_order()) {
                one_by_one.unite_copies(name, Some("a"), &[piece]).unwrap();
            }
            let united = contents(&at_once, name);
            prop_assert_eq!(&united, &contents(&one_by_one, name));
            for piece in &pieces {
                let again = one_by_one.unite_copies(name, Some("a"), &[piece]).unwrap();
                prop_assert_eq!(again, United::Unchanged);
            }
            for (id, text) in copies.iter().flatten() {
                let start = format!(r#"{{"id":"{id}","text":"{}"#, text_of(*text));
                prop_assert!(united.keys().any(|record| record.starts_with(&start)), "{} in {:?}", start, united);
            }
        }
    }
}
