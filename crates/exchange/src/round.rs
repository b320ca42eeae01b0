//! One round: what was changed here is staged, what others wrote is stored, new copies are staged, and what was staged is sent.
//!
//! Does not know when rounds happen. Every step can be repeated: a killed round is finished by the next.

use crate::copies::Exchange;
use crate::known::{Kept, Known};
use crate::origins::OriginWriter;
use crate::returned::Returned;
use crate::settings::{Place, sync_error};
use crate::status::to_finding;
use crate::{copies, earlier_names, lost, memory_records, part, tombstone_records};
use api::sync::{SyncPreviewed, SyncRound, SyncTranscript};
use api::{Code, Error};
use history::home::{Home, Lock};
use history::tombstones::Tombstones;
use history::{History, ingest};
use sources::archive::Store;
use std::collections::BTreeSet;
use sync::{DeviceId, Record, Space};

/// Runs a round. `variables` are those of the cloud's own tools.
pub(crate) fn run_round(history: &History<'_>, variables: &[(String, String)]) -> Result<SyncRound, Error> {
    let home = history.home().ok_or_else(history::error::no_home)?;
    let (settings, mut space) = Place::private(&home).open(variables)?;
    let _round = lock_round(&home)?;
    // Every store first: one that a newer Loci has written ends the round before it has changed anything.
    let (known, origins) = (Known::open(&home)?, OriginWriter::open(&home)?);
    earlier_names::rename_copies(&home, &known)?;
    fill_origins(&known, &origins)?;
    tombstone_records::unite_tombstones(&known, &home)?;
    ingest::catch_up(history, false)?;
    let now = history.clock.now().0.max(0) as u64;
    let returned = Returned::load(&home, &settings)?;
    // Tombstones first: what was forgotten must not be sent once more.
    tombstone_records::stage_tombstones(&mut space, &home, now)?;
    if returned.is_none() {
        // What was changed here is above what arrives.
        memory_records::stage_memory(history, &mut space, &known, &settings, now)?;
    }
    let exchange = Exchange { home: &home, known: &known, origins: &origins, this: space.device() };
    let mut receiver = Receiver::new(history, &exchange, returned.as_ref());
    let round = space.sync_staging(
        now,
        &mut |records| receiver.apply(records).map_err(|error| error.message),
        &mut |space| {
            let staged = lost::find_lost(space, &known).and_then(|is_any_lost| {
                if is_any_lost {
                    tombstone_records::stage_tombstones(space, &home, now)?;
                }
                if is_any_lost || returned.is_some() {
                    memory_records::stage_memory(history, space, &known, &settings, now)?;
                }
                copies::stage_copies(history, space, &exchange, &settings, now)
            });
            staged.map_err(|error| error.message)
        },
    );
    let received = receiver.outcome;
    name_devices(&space, &origins)?;
    // What has arrived becomes searchable even if the round failed later.
    if received.transcripts + received.forgotten > 0 {
        ingest::catch_up(history, false)?;
    }
    let round = round.map_err(sync_error)?;
    if returned.is_some() && round.findings.is_empty() {
        Returned::finish(&Place::private(&home))?;
    }
    Ok(SyncRound {
        sent: round.sent,
        repaired: round.repaired.len() as u64,
        lists: round.lists,
        findings: round.findings.iter().map(to_finding).collect(),
        excluded: known.count_kept(Kept::Excluded)?,
        withheld: known.count_kept(Kept::Withheld)?,
        too_large: known.count_kept(Kept::TooLarge)?,
        transcripts: received.transcripts,
        memory: received.memory,
        forgotten: received.forgotten,
        unreadable: received.unreadable,
        ..SyncRound::default()
    })
}

/// Two rounds at once, of the daemon and of a person, would each plan what to send from what the other is just sending.
fn lock_round(home: &Home) -> Result<Lock, Error> {
    let path = home.sync().join("round.lock");
    Lock::try_acquire_at(home, &path)?.ok_or_else(|| sync_error(sync::Error::Busy))
}

/// A device that received sessions before origins were stored knows them from the copies.
fn fill_origins(known: &Known, origins: &OriginWriter) -> Result<(), Error> {
    if !origins.is_empty()? {
        return Ok(());
    }
    for session in known.received_sessions()? {
        if let Some(device) = DeviceId::parse(&session.device) {
            origins.set_session(&session.source, &session.id, device)?;
        }
    }
    Ok(())
}

fn name_devices(space: &Space, origins: &OriginWriter) -> Result<(), Error> {
    let devices = space.status().map_err(sync_error)?.devices;
    let named =
        devices.iter().filter(|one| !one.is_self).filter_map(|one| Some((one.device, one.label.as_ref()?)));
    named.into_iter().try_for_each(|(device, label)| origins.name_device(device, label, ""))
}

/// Stores what arrives.
struct Receiver<'r> {
    history: &'r History<'r>,
    exchange: &'r Exchange<'r>,
    returned: Option<&'r Returned>,
    /// The copies that were stored or have grown.
    received: BTreeSet<u128>,
    outcome: SyncRound,
}

impl<'r> Receiver<'r> {
    fn new(
        history: &'r History<'r>,
        exchange: &'r Exchange<'r>,
        returned: Option<&'r Returned>,
    ) -> Receiver<'r> {
        Receiver { history, exchange, returned, received: BTreeSet::new(), outcome: SyncRound::default() }
    }

    fn apply(&mut self, records: &[Record]) -> Result<(), Error> {
        let of = |collection: &str| -> Vec<&Record> {
            records.iter().filter(|record| record.collection == collection).collect()
        };
        let lock = Lock::acquire(self.exchange.home)?;
        let tombstones = of(tombstone_records::COLLECTION);
        self.outcome.forgotten += tombstone_records::apply_tombstones(
            self.history,
            (self.exchange.home, self.exchange.known),
            &lock,
            &tombstones,
        )?;
        self.apply_copies(&of(copies::COLLECTION), &of(part::COLLECTION))?;
        drop(lock);
        let memory: Vec<&Record> =
            [memory_records::FORGOTTEN, memory_records::SESSIONS, memory_records::FACTS]
                .iter()
                .flat_map(|name| of(name))
                .collect();
        if !memory.is_empty() {
            let (changed, unreadable) = memory_records::apply_memory(
                self.history,
                (self.exchange.known, self.exchange.origins),
                self.returned,
                &memory,
            )?;
            self.outcome.memory += changed;
            if !unreadable.is_empty() {
                // Not acknowledged: it must neither be lost nor be answered with what this version knows of it.
                let message = "another device has written memory in a form that this version cannot read";
                return Err(Error::new(Code::ReadError, message).hint("update Loci on this device"));
            }
        }
        Ok(())
    }
}

impl Receiver<'_> {
    fn apply_copies(&mut self, wholes: &[&Record], parts: &[&Record]) -> Result<(), Error> {
        if wholes.is_empty() && parts.is_empty() {
            return Ok(());
        }
        let store = Store::new(self.exchange.home.archive());
        let tombstones = Tombstones::read(Some(self.exchange.home))?;
        let (changed, damaged) = copies::apply_copies(&store, self.exchange, &tombstones, wholes, parts)?;
        self.received.extend(changed);
        self.outcome.transcripts = self.received.len() as u64;
        self.outcome.unreadable.extend(damaged);
        Ok(())
    }
}

/// Lists what the next round would send. Contacts nothing and changes nothing that was exchanged.
pub(crate) fn preview(history: &History<'_>, limit: u64) -> Result<SyncPreviewed, Error> {
    let home = history.home().ok_or_else(history::error::no_home)?;
    let (settings, space) = Place::private(&home).open(&[])?;
    let known = Known::open(&home)?;
    ingest::catch_up(history, false)?;
    let store = Store::new(home.archive());
    let pending = space.status().map_err(sync_error)?.pending;
    let mut shown = SyncPreviewed { pending, ..SyncPreviewed::default() };
    for copy in copies::find_changes(&store, &known, space.device())?.0 {
        if copies::is_excluded(&store, copy.archived, &settings) {
            shown.excluded += 1;
            continue;
        }
        let bytes =
            copies::plan_copy(&store, &known, &copy)?.map_or(0, |planned| planned.parcel.len() as u64);
        let Ok(copy) = store.find_by_name(copy.archived) else { continue };
        let session = copy.sessions.first();
        let title =
            session.and_then(|one| one.title.as_ref()).map_or(String::new(), |(title, _)| title.to_string());
        let project = session.map_or(String::new(), |one| one.project.to_string());
        (shown.total, shown.bytes) = (shown.total + 1, shown.bytes + bytes);
        if shown.total <= limit {
            let title = history.mask_line(&title);
            shown.transcripts.push(SyncTranscript { source: copy.source, project, title, bytes });
        }
    }
    for change in memory_records::list_changes(history, &settings)? {
        match change.collection.as_str() {
            memory_records::SESSIONS => shown.sessions += 1,
            memory_records::FACTS => shown.facts += 1,
            _ => {}
        }
    }
    Ok(shown)
}
