//! Stores parts of copies that other devices sent: each where its lines before are, whatever the order in which they arrive.
//!
//! A copy is its first lines and a chain of parts. Where two parts begin at the same place, the one that contains the other counts,
//! or else the later version, so that all devices end with the same chain. Does not know what is in a line.

use crate::copy_name::{hex, parse_name};
use crate::known::{AppliedPart, Chain, Known, WaitingPart};
use crate::part::{MAX_LINES, Part, copy_of_part, hash_state};
use api::Error;
use history::error::read_error;
use sources::archive::{CopyLines, Store};
use std::collections::BTreeSet;
use sync::{Body, DeviceId, Record};

/// What became of the parts of one copy.
pub(crate) struct Grown {
    pub(crate) name: u128,
    /// Who wrote the last part.
    pub(crate) device: DeviceId,
    chain: Chain,
}

/// Takes in what arrived. Returns the names of the copies that may grow by it. Parts of transcripts that an agent has on this device
/// are left to this device.
pub(crate) fn take_parts(
    known: &Known,
    live: &BTreeSet<u128>,
    records: &[&Record],
) -> Result<BTreeSet<u128>, Error> {
    let mut touched = BTreeSet::new();
    for record in records {
        let Some(name) = copy_of_part(&record.key) else { continue };
        let copy = hex(name);
        known.add_part_key(&record.key, &copy, false)?;
        // Another device writes this copy as well: the next parcel of this device is a whole.
        known.set_sent(&copy, None)?;
        match &record.body {
            Body::Bytes(body) if !live.contains(&name) && !known.is_forgotten(&copy)? => {
                let (key, body) = (record.key.clone(), body.clone());
                known.add_waiting(&copy, &WaitingPart { key, version: record.version, body })?;
                touched.insert(name);
            }
            _ => known.remove_waiting(&record.key)?,
        }
    }
    Ok(touched)
}

/// The states that a copy has been in, from its first lines on: how many lines, and what of them no longer counts.
fn list_states(chain: &Chain, lines: u64) -> Vec<(u64, Vec<u64>)> {
    let mut dead = chain.first_dead.clone();
    let mut states = Vec::new();
    for part in &chain.parts {
        states.push((part.start, dead.clone()));
        dead.extend(&part.dead);
        dead.sort_unstable();
        dead.dedup();
    }
    states.push((lines, dead));
    states
}

/// The chain of a copy, if the copy is what it says; otherwise all of the copy counts as its first lines.
fn find_chain(known: &Known, name: u128, copy: &CopyLines) -> Result<Chain, Error> {
    let lines = copy.lines.len() as u64;
    let start = Chain { first_lines: lines, first_dead: copy.dead.clone(), parts: Vec::new() };
    let chain = known.chain(&hex(name))?.unwrap_or_else(|| start.clone());
    let is_of_copy = list_states(&chain, lines).last().is_some_and(|(_, dead)| *dead == copy.dead)
        && (!chain.parts.is_empty() || chain.first_lines == lines)
        && chain.parts.iter().all(|part| part.start <= lines);
    Ok(if is_of_copy { chain } else { start })
}

/// What to do with a part.
enum Fit {
    /// It follows the state with this number, and replaces what followed it.
    After(usize),
    /// Another part has its place for good.
    Replaced,
    /// Its lines before are not there.
    NotYet,
}

fn find_fit(name: u128, copy: &CopyLines, chain: &Chain, part: &Part<'_>, waiting: &WaitingPart) -> Fit {
    let states = list_states(chain, copy.lines.len() as u64);
    let is_before = |(lines, dead): &(u64, Vec<u64>)| {
        *lines == part.start
            && copy.lines.get(..*lines as usize).is_some_and(|lines| hash_state(lines, dead) == part.before)
    };
    let Some(at) = states.iter().rposition(is_before) else { return Fit::NotYet };
    let Some(there) = chain.parts.get(at) else { return Fit::After(at) };
    if replaces(name, &copy.lines[part.start as usize..], part, waiting.version > there.version) {
        Fit::After(at)
    } else {
        Fit::Replaced
    }
}

/// Whether a part takes the place of the lines that follow its beginning: if it has them all and more, or, if each has something
/// else, by its version. Two devices may have sent the same transcript, one of them less of it, and later.
fn replaces(name: u128, there: &[u8], part: &Part<'_>, is_later: bool) -> bool {
    match CopyLines::decode_appended(name, part.content) {
        Ok(appended) if there.starts_with(&appended.lines) && there.len() > appended.lines.len() => false,
        Ok(appended) if appended.lines.starts_with(there) && appended.lines.len() > there.len() => true,
        _ => is_later,
    }
}

/// Extends a copy by the parts that wait for it, with the writer lock held by the caller. Returns what to remember once the copy is
/// on the disk, and the keys of parts that are not intact. None: nothing fits.
pub(crate) fn extend_copy(
    store: &Store,
    known: &Known,
    name: u128,
    damaged: &mut Vec<String>,
) -> Result<Option<Grown>, Error> {
    let mut waiting = known.waiting(&hex(name))?;
    let Some(mut copy) = store.read_lines(name, MAX_LINES).ok().flatten() else { return Ok(None) };
    let mut chain = find_chain(known, name, &copy)?;
    let mut last = None;
    loop {
        let before = waiting.len();
        let mut rest = Vec::new();
        for one in waiting {
            match Part::parse(&one.body).map(|part| (part, find_fit(name, &copy, &chain, &part, &one))) {
                None => damaged.push(one.key),
                Some((_, Fit::NotYet)) => rest.push(one),
                Some((_, Fit::Replaced)) => {}
                Some((part, Fit::After(at))) => match CopyLines::decode_appended(name, part.content) {
                    Ok(appended) => {
                        add_part(&mut copy, &mut chain, at, appended, &one);
                        last = Some(one.version.device);
                    }
                    Err(sources::Error::Damaged { .. }) => damaged.push(one.key),
                    // Not acknowledged: it comes again for a newer Loci.
                    Err(error) => return Err(read_error(error)),
                },
            }
        }
        waiting = rest;
        if waiting.len() == before {
            break;
        }
    }
    let Some(device) = last else { return Ok(None) };
    match store.put_lines(name, copy) {
        Ok(()) => Ok(Some(Grown { name, device, chain })),
        Err(sources::Error::Damaged { .. }) => {
            damaged.push(hex(name));
            Ok(None)
        }
        Err(error) => Err(read_error(error)),
    }
}

fn add_part(copy: &mut CopyLines, chain: &mut Chain, at: usize, appended: CopyLines, one: &WaitingPart) {
    let mut states = list_states(chain, copy.lines.len() as u64);
    let (start, dead) = states.swap_remove(at);
    chain.parts.truncate(at);
    chain.parts.push(AppliedPart { start, dead: appended.dead.clone(), version: one.version });
    copy.extend(start as usize, &dead, appended);
}

/// Remembers what was applied. Parts that wait no longer are found by trying them against the chain.
pub(crate) fn remember_growth(known: &Known, grown: &Grown, store: &Store) -> Result<(), Error> {
    let copy = hex(grown.name);
    known.set_chain(&copy, Some(&grown.chain))?;
    let Some(lines) = store.read_lines(grown.name, MAX_LINES).ok().flatten() else { return Ok(()) };
    for waiting in known.waiting(&copy)? {
        let fit = Part::parse(&waiting.body)
            .map(|part| find_fit(grown.name, &lines, &grown.chain, &part, &waiting));
        if !matches!(fit, Some(Fit::NotYet)) {
            known.remove_waiting(&waiting.key)?;
        }
    }
    Ok(())
}

/// Whether a received copy already contains a whole that is older than its last part: then the parts after it stay. So it does not matter
/// whether a device reads the part or the whole first, if two devices have sent the same transcript.
pub(crate) fn has_whole(store: &Store, known: &Known, name: u128, record: &Record) -> Result<bool, Error> {
    let key = hex(name);
    let Some(mut chain) = known.chain(&key)? else { return Ok(false) };
    let (Some(last), Body::Bytes(bytes)) = (chain.parts.last(), &record.body) else { return Ok(false) };
    if last.version < record.version {
        return Ok(false);
    }
    let read = |lines: Result<Option<CopyLines>, sources::Error>| lines.ok().flatten();
    let Some(copy) = read(store.read_lines(name, MAX_LINES)) else { return Ok(false) };
    let Some(whole) = read(store.lines_of_raw(name, bytes, MAX_LINES)) else { return Ok(false) };
    let lines = whole.lines.len() as u64;
    let states = list_states(&chain, copy.lines.len() as u64);
    let at = states.iter().position(|state| *state == (lines, whole.dead.clone()));
    let Some(at) = at.filter(|_| copy.lines.starts_with(&whole.lines)) else { return Ok(false) };
    chain.parts.drain(..at);
    (chain.first_lines, chain.first_dead) = (lines, whole.dead);
    known.in_transaction(|| known.set_sent(&key, None).and_then(|()| known.set_chain(&key, Some(&chain))))?;
    Ok(true)
}

/// Removes parts that wait and contain a forgotten session.
pub(crate) fn forget_waiting(known: &Known, is_forgotten: &dyn Fn(&str, &str) -> bool) -> Result<(), Error> {
    for copy in known.names_waiting()? {
        let Some(name) = parse_name(&copy) else { continue };
        for waiting in known.waiting(&copy)? {
            let part = Part::parse(&waiting.body).map(|part| CopyLines::decode_appended(name, part.content));
            // What cannot be read may contain it.
            let contains = !part.is_some_and(|part| {
                part.is_ok_and(|part| part.sessions().all(|(source, id)| !is_forgotten(source, id)))
            });
            if contains {
                known.remove_waiting(&waiting.key)?;
            }
        }
    }
    Ok(())
}
