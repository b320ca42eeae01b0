//! What a device remembers between rounds, in one `SQLite` file: its keys, the versions of all records, what it still has to
//! publish, and how far it has read each log. Every step is one transaction, so a kill at any moment leaves a state from
//! which the next round goes on.
//!
//! Does not know the storage, and decrypts nothing.

use crate::codec::{Reader, Writer};
use crate::error::{Error, Result};
use crate::finding::{Finding, Problem};
use crate::head::{Head, MembersRef, PackEntry};
use crate::id::ShortHash;
use crate::id::{DeviceId, Hash};
use crate::keys::PublicKey;
use crate::members::{MemberHistory, MemberList, MembersVersion};
use crate::merge::{Known, Link, Staging, decide_staging, hear_clock, next_clock};
use crate::names::HeadName;
use crate::record::{Body, KeyHash, Rank, Record, Version};
use db::sealed::{self, SealedConnection};
use db::{Connection, OptionalExtension, Row, params};
use std::collections::BTreeMap;
use std::path::Path;

const MIGRATIONS: &[&str] = &["
    create table meta (name text primary key, value blob not null) without rowid;
    create table members (
        version integer not null, hash blob not null, parents blob not null, list blob not null,
        primary key (version, hash)
    ) without rowid;
    create table versions (
        key blob primary key, forgotten integer not null, clock integer not null, device blob not null,
        body blob not null
    ) without rowid;
    create table pending (
        id integer primary key autoincrement, key blob not null, record blob not null,
        is_packed integer not null default 0
    );
    create index pending_key on pending (key);
    create table own_packs (
        number integer primary key, level integer not null, first integer not null, last integer not null,
        length integer not null, hash blob not null, size integer not null, sealed blob,
        is_dirty integer not null default 0
    );
    create table own_keys (key blob not null, pack integer not null, primary key (key, pack)) without rowid;
    create table own_heads (number integer not null, hash blob not null, primary key (number, hash)) without rowid;
    create table outbox (id integer primary key autoincrement, name text not null, bytes blob not null);
    create table garbage (name text primary key, since integer not null) without rowid;
    create table chains (
        device blob primary key, number integer not null, hash blob not null, previous blob not null,
        ancestors blob not null, signer blob not null, last_write integer not null, written integer not null,
        forgotten integer not null, heard integer not null, head blob not null
    );
    create table seen_heads (
        device blob not null, number integer not null, hash blob not null, primary key (device, number, hash)
    ) without rowid;
    create table applied_packs (device blob not null, hash blob not null, primary key (device, hash)) without rowid;
    create table confirmations (
        device blob not null, about blob not null, count integer not null, primary key (device, about)
    ) without rowid;
    create table findings (
        problem text not null, object text not null, device blob, since integer not null,
        primary key (problem, object)
    ) without rowid;
", REPAIR_STEP];

/// What the storage may have to be given again.
const REPAIR_STEP: &str = "
    alter table members add column sealed blob not null default x'';  -- as it is in the storage
    create table lost (          -- records whose pack is gone, which the caller is asked to stage again
        key blob primary key, pack integer not null
    ) without rowid;
    create table marks (         -- own records without content: nobody could stage them again
        key blob primary key, record blob not null
    ) without rowid;
";

/// Own packs up to this size are kept, so that merging small packs needs no requests.
const CACHED_PACK: usize = 64 << 10;
/// Own heads that are remembered; older ones cannot be in a listing any more.
const REMEMBERED_HEADS: u64 = 1000;

const CHAINS: &str = "select device, number, hash, previous, ancestors, signer, last_write, written, forgotten, heard, head from chains";

/// Garbage whose grace period has not started.
const NOT_YET: i64 = i64::MAX;

pub(crate) struct State {
    pub(crate) db: SealedConnection,
}

/// How far the log of another device was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chain {
    pub(crate) device: DeviceId,
    pub(crate) number: u64,
    pub(crate) hash: Hash,
    pub(crate) previous: Hash,
    pub(crate) ancestors: Vec<ShortHash>,
    pub(crate) signer: PublicKey,
    /// All writes up to this one were applied.
    pub(crate) last_write: u64,
    pub(crate) written: u64,
    pub(crate) forgotten: u64,
    /// When a new head was read, in this device's time.
    pub(crate) heard: u64,
    /// The bytes of the head.
    pub(crate) head: Vec<u8>,
}

impl Chain {
    pub(crate) fn link(&self) -> Link {
        let Chain { number, hash, previous, .. } = *self;
        Link { number, hash, previous, ancestors: self.ancestors.clone() }
    }
}

/// An own pack that is part of the newest head.
#[derive(Clone, Debug)]
pub(crate) struct OwnPack {
    pub(crate) entry: PackEntry,
    /// Bytes of its records before compression.
    pub(crate) size: usize,
    pub(crate) is_dirty: bool,
}

/// A pack that was sealed and will be published with the next head.
pub(crate) struct NewPack {
    pub(crate) pack: OwnPack,
    pub(crate) name: String,
    pub(crate) sealed: Vec<u8>,
    pub(crate) keys: Vec<KeyHash>,
    /// Its records without content.
    pub(crate) marks: Vec<Record>,
}

/// Everything that one publication changes.
pub(crate) struct Publication {
    pub(crate) packs: Vec<NewPack>,
    /// Own packs after it, with the levels they have then.
    pub(crate) live: Vec<OwnPack>,
    /// Objects that it supersedes.
    pub(crate) garbage: Vec<Garbage>,
    pub(crate) packed: Vec<i64>,
    pub(crate) head: HeadName,
    pub(crate) head_object: String,
    pub(crate) head_bytes: Vec<u8>,
    /// The object that says that there is something new.
    pub(crate) hint: Option<String>,
}

/// When this device last had read everything, and what the hint was then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) hint: String,
    pub(crate) at: u64,
}

/// An object to delete once no head names it.
pub(crate) struct Garbage {
    pub(crate) name: String,
    /// It contains a forgotten record: slow readers get no grace.
    pub(crate) is_urgent: bool,
}

/// What staging a change did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Staged {
    Accepted,
    Unchanged,
    /// The key was forgotten, and stays so.
    Refused,
}

fn blob<const N: usize>(row: &Row<'_>, column: usize) -> std::result::Result<[u8; N], db::Error> {
    let bytes: Vec<u8> = row.get(column)?;
    bytes.try_into().map_err(|_| db::corrupt_error(&"an identifier of the wrong length"))
}

fn number(row: &Row<'_>, column: usize) -> std::result::Result<u64, db::Error> {
    row.get::<_, i64>(column).map(|value| value as u64)
}

impl State {
    pub(crate) fn open(path: &Path) -> Result<State> {
        Ok(State { db: sealed::open_writer(path, MIGRATIONS)? })
    }

    // Single values.

    pub(crate) fn get(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let sql = "select value from meta where name = ?1";
        Ok(self.db.prepare_cached(sql)?.query_row([name], |row| row.get(0)).optional()?)
    }

    pub(crate) fn get_array<const N: usize>(&self, name: &str) -> Result<Option<[u8; N]>> {
        let damaged = |_| Error::Damaged { what: "the sync state" };
        self.get(name)?.map(|value| value.try_into().map_err(damaged)).transpose()
    }

    pub(crate) fn get_number(&self, name: &str) -> Result<u64> {
        Ok(self.get_array(name)?.map_or(0, u64::from_be_bytes))
    }

    pub(crate) fn set(&self, name: &str, value: &[u8]) -> Result<()> {
        set_value(&self.db, name, value)
    }

    pub(crate) fn remove(&self, name: &str) -> Result<()> {
        self.db.execute("delete from meta where name = ?1", [name])?;
        Ok(())
    }

    pub(crate) fn set_all(&mut self, values: &[(&str, &[u8])]) -> Result<()> {
        let step = self.db.transaction()?;
        values.iter().try_for_each(|(name, value)| set_value(&step, name, value))?;
        Ok(step.commit()?)
    }

    pub(crate) fn listed(&self) -> Result<Option<Listed>> {
        let Some(hint) = self.get("hint")? else { return Ok(None) };
        let hint = String::from_utf8(hint).map_err(|_| Error::Damaged { what: "the sync state" })?;
        Ok(Some(Listed { hint, at: self.get_number("listed")? }))
    }

    pub(crate) fn save_listed(&mut self, listed: &Listed) -> Result<()> {
        self.set_all(&[("hint", listed.hint.as_bytes()), ("listed", &listed.at.to_be_bytes())])
    }

    // The member list.

    pub(crate) fn insert_members(&self, version: &MembersVersion) -> Result<()> {
        let mut parents = Writer::default();
        for parent in &version.parents {
            parents.number(parent.version).array(&parent.hash.0);
        }
        let sql = "insert or ignore into members values (?1, ?2, ?3, ?4, ?5)";
        let at = version.at;
        let list = version.list.encode();
        let values = params![at.version as i64, at.hash.0, parents.finish(), list, version.sealed];
        self.db.execute(sql, values)?;
        Ok(())
    }

    /// The member lists as they are in the storage, oldest first; those that an earlier Loci accepted are not kept.
    pub(crate) fn sealed_members(&self) -> Result<Vec<(MembersRef, Vec<u8>)>> {
        let sql = "select version, hash, sealed from members where length(sealed) > 0 order by version, hash";
        let mut rows = self.db.prepare_cached(sql)?;
        let lists = rows.query_map([], |row| {
            Ok((MembersRef { version: number(row, 0)?, hash: Hash(blob(row, 1)?) }, row.get(2)?))
        })?;
        Ok(lists.collect::<std::result::Result<_, _>>()?)
    }

    pub(crate) fn count_members(&self) -> Result<u64> {
        Ok(self.db.query_row("select count(*) from members", [], |row| number(row, 0))?)
    }

    pub(crate) fn load_members(&self) -> Result<MemberHistory> {
        let mut rows = self.db.prepare("select version, hash, parents, list from members")?;
        let mut rows = rows.query([])?;
        let mut history = MemberHistory::default();
        while let Some(row) = rows.next()? {
            let at = MembersRef { version: number(row, 0)?, hash: Hash(blob(row, 1)?) };
            let parents = decode_parents(&row.get::<_, Vec<u8>>(2)?)?;
            let list = MemberList::decode(&row.get::<_, Vec<u8>>(3)?)?;
            history.insert(MembersVersion { at, parents, list, sealed: Vec::new() });
        }
        Ok(history)
    }

    // Records.

    pub(crate) fn rank(&self, key: &KeyHash) -> Result<Option<Rank>> {
        find_version(&self.db, key).map(|found| found.map(|known| known.rank))
    }

    /// Stages changes in one transaction. Each gets a clock above everything this device has seen.
    pub(crate) fn stage(
        &mut self,
        changes: impl Iterator<Item = (String, String, Body)>,
        now: u64,
    ) -> Result<Vec<Staged>> {
        let step = self.db.transaction()?;
        // Read here: another process may have found out that this device is a clone.
        let device = read_device(&step)?;
        let mut clock = read_clock(&step)?;
        let mut staged = Vec::new();
        for (collection, key, body) in changes {
            let version = Version { clock: next_clock(now, clock), device };
            let record = Record { collection, key, version, body };
            let done = stage_record(&step, &record)?;
            if done == Staged::Accepted {
                clock = version.clock;
            }
            staged.push(done);
        }
        write_clock(&step, clock)?;
        step.commit()?;
        Ok(staged)
    }

    pub(crate) fn count_pending(&self) -> Result<u64> {
        Ok(self.db.query_row("select count(*) from pending", [], |row| number(row, 0))?)
    }

    /// Pending records in the order they were staged, up to a size.
    pub(crate) fn load_pending(&self, most: usize) -> Result<(Vec<i64>, Vec<Record>)> {
        let mut rows =
            self.db.prepare_cached("select id, record from pending where is_packed = 0 order by id")?;
        let mut rows = rows.query([])?;
        let (mut ids, mut records, mut size) = (Vec::new(), Vec::new(), 0);
        while let Some(row) = rows.next()? {
            let record = decode_record(&row.get::<_, Vec<u8>>(1)?)?;
            size += record.size();
            if size > most && !records.is_empty() {
                break;
            }
            ids.push(row.get(0)?);
            records.push(record);
        }
        Ok((ids, records))
    }

    /// Records that were read from the log of another device and applied by the caller.
    pub(crate) fn commit_applied(&mut self, device: DeviceId, pack: &Hash, winners: &[Record]) -> Result<()> {
        let step = self.db.transaction()?;
        let mut clock = read_clock(&step)?;
        for record in winners {
            clock = hear_clock(clock, record.version.clock);
            if upsert_version(&step, record)? {
                take_lost(&step, &record.key_hash())?;
                step.prepare_cached("delete from pending where key = ?1 and is_packed = 0")?
                    .execute([record.key_hash()])?;
            }
            if record.body == Body::Forgotten {
                mark_dirty(&step, &record.key_hash())?;
            }
        }
        write_clock(&step, clock)?;
        let sql = "insert or ignore into applied_packs values (?1, ?2)";
        step.prepare_cached(sql)?.execute(params![device.0, pack.0])?;
        Ok(step.commit()?)
    }

    // What the storage has lost of it.

    /// Gives up an own pack that the storage has lost and that is not cached. Its records are lost until they are staged again; those
    /// without content are pending at once. What this device has replaced since is in later packs.
    pub(crate) fn give_up_pack(&mut self, pack: u64) -> Result<()> {
        let step = self.db.transaction()?;
        let device = read_device(&step)?;
        let sql = "insert or ignore into lost
            select k.key, k.pack from own_keys k join versions v on v.key = k.key
            where k.pack = ?1 and v.device = ?2
                and not exists (select 1 from pending p where p.key = k.key)
                and not exists (select 1 from own_keys o where o.key = k.key and o.pack > ?1)";
        step.execute(sql, params![pack as i64, device.0])?;
        let mut rows = step
            .prepare("select l.key, m.record from lost l join marks m on m.key = l.key where l.pack = ?1")?;
        let marks = rows.query_map([pack as i64], |row| Ok((blob(row, 0)?, row.get::<_, Vec<u8>>(1)?)))?;
        let marks: Vec<(KeyHash, Vec<u8>)> = marks.collect::<std::result::Result<_, _>>()?;
        drop(rows);
        for (key, record) in marks {
            let rank = decode_record(&record)?.rank();
            if find_version(&step, &key)?.is_some_and(|known| known.rank == rank) {
                step.execute("insert into pending (key, record) values (?1, ?2)", params![key, record])?;
                take_lost(&step, &key)?;
            }
        }
        step.execute("delete from own_packs where number = ?1", [pack as i64])?;
        step.execute("delete from own_keys where pack = ?1", [pack as i64])?;
        Ok(step.commit()?)
    }

    pub(crate) fn is_lost(&self, key: &KeyHash) -> Result<bool> {
        is_lost(&self.db, key)
    }

    /// Whether this is the last version of a key that is known, and none that still has to be sent.
    pub(crate) fn is_exchanged(&self, key: &KeyHash, body: &Body) -> Result<bool> {
        let is_known = find_version(&self.db, key)?.is_some_and(|known| known.body == body.hash());
        Ok(is_known && !self.db.prepare_cached("select 1 from pending where key = ?1")?.exists([key])?)
    }

    /// The packs whose records nobody has staged again.
    pub(crate) fn lost_packs(&self) -> Result<Vec<u64>> {
        let mut rows = self.db.prepare_cached("select distinct pack from lost order by pack")?;
        let packs = rows.query_map([], |row| number(row, 0))?;
        Ok(packs.collect::<std::result::Result<_, _>>()?)
    }

    // What this device publishes.

    pub(crate) fn own_packs(&self) -> Result<Vec<OwnPack>> {
        let sql =
            "select number, level, first, last, length, hash, size, is_dirty from own_packs order by first";
        let mut rows = self.db.prepare_cached(sql)?;
        let packs = rows.query_map([], |row| {
            let entry = PackEntry {
                number: number(row, 0)?,
                level: number(row, 1)?,
                first: number(row, 2)?,
                last: number(row, 3)?,
                length: number(row, 4)?,
                hash: Hash(blob(row, 5)?),
            };
            Ok(OwnPack { entry, size: number(row, 6)? as usize, is_dirty: row.get(7)? })
        })?;
        Ok(packs.collect::<std::result::Result<_, _>>()?)
    }

    pub(crate) fn cached_pack(&self, pack: u64) -> Result<Option<Vec<u8>>> {
        let sql = "select sealed from own_packs where number = ?1";
        Ok(self.db.query_row(sql, [pack as i64], |row| row.get(0)).optional()?.flatten())
    }

    /// Saves a publication. From here on it is only sent, however often that is interrupted.
    pub(crate) fn save_publication(&mut self, publication: &Publication) -> Result<()> {
        let step = self.db.transaction()?;
        let kept: Vec<u64> = publication.live.iter().map(|pack| pack.entry.number).collect();
        for pack in &publication.packs {
            insert_pack(&step, pack)?;
            queue_object(&step, &pack.name, &pack.sealed)?;
        }
        for pack in &publication.live {
            let level = "update own_packs set level = ?2 where number = ?1";
            step.execute(level, params![pack.entry.number as i64, pack.entry.level as i64])?;
        }
        drop_packs_except(&step, &kept)?;
        queue_object(&step, &publication.head_object, &publication.head_bytes)?;
        if let Some(hint) = &publication.hint {
            queue_object(&step, hint, &publication.head.hash.0)?;
        }
        let head = params![publication.head.number as i64, publication.head.hash.0];
        step.execute("insert into own_heads values (?1, ?2)", head)?;
        for id in &publication.packed {
            step.prepare_cached("update pending set is_packed = 1 where id = ?1")?.execute([id])?;
        }
        set_value(&step, "head", &publication.head_bytes)?;
        for garbage in &publication.garbage {
            let since = if garbage.is_urgent { 0 } else { NOT_YET };
            step.execute("insert or ignore into garbage values (?1, ?2)", params![garbage.name, since])?;
        }
        Ok(step.commit()?)
    }

    /// The next object to send. None: everything was sent.
    pub(crate) fn next_outgoing(&self) -> Result<Option<(i64, String, Vec<u8>)>> {
        let sql = "select id, name, bytes from outbox order by id limit 1";
        Ok(self.db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).optional()?)
    }

    /// Removes an object that was sent. After the last, the publication is complete: its records are no longer pending, and
    /// what it superseded may be deleted.
    pub(crate) fn finish_outgoing(&mut self, id: i64, now: u64) -> Result<()> {
        let step = self.db.transaction()?;
        step.execute("delete from outbox where id = ?1", [id])?;
        let left: i64 = step.query_row("select count(*) from outbox", [], |row| row.get(0))?;
        if left == 0 {
            finish_publication(&step, now)?;
        }
        Ok(step.commit()?)
    }

    pub(crate) fn last_head(&self) -> Result<Option<Head>> {
        self.get("head")?.map(|bytes| Head::decode(&bytes)).transpose()
    }

    pub(crate) fn is_own_head(&self, name: &HeadName) -> Result<bool> {
        let sql = "select 1 from own_heads where number = ?1 and hash = ?2";
        let mut found = self.db.prepare_cached(sql)?;
        Ok(found.exists(params![name.number as i64, name.hash.0])?)
    }

    /// Own heads below a number that may still be in the storage.
    pub(crate) fn own_heads_below(&self, limit: u64) -> Result<Vec<(u64, Hash)>> {
        let sql = "select number, hash from own_heads where number < ?1 and number >= ?2 order by number";
        let from = self.get_number("first-kept-head")?;
        let mut rows = self.db.prepare_cached(sql)?;
        let heads =
            rows.query_map([limit as i64, from as i64], |row| Ok((number(row, 0)?, Hash(blob(row, 1)?))))?;
        Ok(heads.collect::<std::result::Result<_, _>>()?)
    }

    pub(crate) fn set_first_kept_head(&mut self, first: u64) -> Result<()> {
        let step = self.db.transaction()?;
        set_value(&step, "first-kept-head", &first.to_be_bytes())?;
        let oldest = first.saturating_sub(REMEMBERED_HEADS);
        step.execute("delete from own_heads where number < ?1", [oldest as i64])?;
        Ok(step.commit()?)
    }

    pub(crate) fn due_garbage(&self, until: u64) -> Result<Vec<String>> {
        let mut rows = self.db.prepare_cached("select name from garbage where since <= ?1 order by name")?;
        let names = rows.query_map([until as i64], |row| row.get(0))?;
        Ok(names.collect::<std::result::Result<_, _>>()?)
    }

    pub(crate) fn forget_garbage(&self, name: &str) -> Result<()> {
        self.db.execute("delete from garbage where name = ?1", [name])?;
        Ok(())
    }

    /// Starts a new log: nothing was published in it. What was not sent yet is pending again, and so are records to
    /// publish once more, if no later version is known.
    pub(crate) fn start_log(
        &mut self,
        device: DeviceId,
        salt: &[u8; 16],
        republished: &[Record],
    ) -> Result<()> {
        let step = self.db.transaction()?;
        for table in ["outbox", "own_packs", "own_keys", "own_heads", "garbage", "marks"] {
            step.execute(&format!("delete from {table}"), [])?;
        }
        step.execute("delete from meta where name in ('head', 'first-kept-head')", [])?;
        step.execute("update pending set is_packed = 0", [])?;
        for record in republished {
            let key = record.key_hash();
            if find_version(&step, &key)?.is_some_and(|known| known.rank == record.rank()) {
                let sql = "insert into pending (key, record) values (?1, ?2)";
                step.prepare_cached(sql)?.execute(params![key, encode_record(record)])?;
            }
        }
        sign_pending_over(&step, device)?;
        set_value(&step, "device", &device.0)?;
        set_value(&step, "salt", salt)?;
        Ok(step.commit()?)
    }

    // What this device has read.

    pub(crate) fn chains(&self) -> Result<BTreeMap<DeviceId, Chain>> {
        let mut rows = self.db.prepare_cached(CHAINS)?;
        let chains = rows.query_map([], read_chain)?;
        chains.map(|chain| Ok(chain.map(|chain| (chain.device, chain))?)).collect()
    }

    pub(crate) fn chain(&self, device: &DeviceId) -> Result<Option<Chain>> {
        let sql = format!("{CHAINS} where device = ?1");
        Ok(self.db.prepare_cached(&sql)?.query_row([device.0], read_chain).optional()?)
    }

    pub(crate) fn is_seen(&self, name: &HeadName) -> Result<bool> {
        let sql = "select 1 from seen_heads where device = ?1 and number = ?2 and hash = ?3";
        let mut found = self.db.prepare_cached(sql)?;
        Ok(found.exists(params![name.device.0, name.number as i64, name.hash.0])?)
    }

    pub(crate) fn mark_seen(&self, name: &HeadName) -> Result<()> {
        let sql = "insert or ignore into seen_heads values (?1, ?2, ?3)";
        self.db.prepare_cached(sql)?.execute(params![name.device.0, name.number as i64, name.hash.0])?;
        Ok(())
    }

    pub(crate) fn is_applied(&self, device: DeviceId, pack: &Hash) -> Result<bool> {
        let mut found =
            self.db.prepare_cached("select 1 from applied_packs where device = ?1 and hash = ?2")?;
        Ok(found.exists(params![device.0, pack.0])?)
    }

    /// Saves how far a log was read, and what its device has confirmed.
    pub(crate) fn save_chain(&mut self, chain: &Chain, head: &Head, is_complete: bool) -> Result<()> {
        let step = self.db.transaction()?;
        let device = chain.device.0;
        let ancestors: Vec<u8> = chain.ancestors.concat();
        let sql = "insert or replace into chains values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
        step.prepare_cached(sql)?.execute(params![
            device,
            chain.number as i64,
            chain.hash.0,
            chain.previous.0,
            ancestors,
            chain.signer,
            chain.last_write as i64,
            chain.written as i64,
            chain.forgotten as i64,
            chain.heard as i64,
            chain.head,
        ])?;
        for (about, count) in &head.confirmed {
            let sql = "insert or replace into confirmations values (?1, ?2, ?3)";
            step.prepare_cached(sql)?.execute(params![device, about.0, *count as i64])?;
        }
        if is_complete {
            // The hashes of its packs tell what to skip, should a later head be too far ahead to compare.
            step.prepare_cached("delete from applied_packs where device = ?1")?.execute([device])?;
            for pack in &head.packs {
                let sql = "insert or ignore into applied_packs values (?1, ?2)";
                step.prepare_cached(sql)?.execute(params![device, pack.hash.0])?;
            }
            let sql = "insert or ignore into seen_heads values (?1, ?2, ?3)";
            step.prepare_cached(sql)?.execute(params![device, chain.number as i64, chain.hash.0])?;
            let oldest = chain.number.saturating_sub(REMEMBERED_HEADS) as i64;
            let sql = "delete from seen_heads where device = ?1 and number < ?2";
            step.prepare_cached(sql)?.execute(params![device, oldest])?;
        }
        Ok(step.commit()?)
    }

    pub(crate) fn confirmations(&self, about: DeviceId) -> Result<BTreeMap<DeviceId, u64>> {
        let mut rows = self.db.prepare_cached("select device, count from confirmations where about = ?1")?;
        let counts = rows.query_map([about.0], |row| Ok((DeviceId(blob(row, 0)?), number(row, 1)?)))?;
        Ok(counts.collect::<std::result::Result<_, _>>()?)
    }

    /// Replaces the findings by those of a round; one that persists keeps its time.
    pub(crate) fn save_findings(&mut self, findings: &[Finding], now: u64) -> Result<()> {
        let step = self.db.transaction()?;
        let before = load_findings(&step)?;
        step.execute("delete from findings", [])?;
        for finding in findings {
            let since = before.iter().find(|(known, _)| known == finding).map_or(now, |(_, since)| *since);
            let device = finding.device.map(|device| device.0);
            let values = params![finding.problem.word(), finding.object, device, since as i64];
            step.execute("insert or ignore into findings values (?1, ?2, ?3, ?4)", values)?;
        }
        Ok(step.commit()?)
    }

    pub(crate) fn findings(&self) -> Result<Vec<(Finding, u64)>> {
        load_findings(&self.db)
    }
}

fn set_value(db: &Connection, name: &str, value: &[u8]) -> Result<()> {
    db.prepare_cached("insert or replace into meta values (?1, ?2)")?.execute(params![name, value])?;
    Ok(())
}

fn read_clock(db: &Connection) -> Result<u64> {
    let sql = "select value from meta where name = 'clock'";
    let value: Option<Vec<u8>> = db.prepare_cached(sql)?.query_row([], |row| row.get(0)).optional()?;
    Ok(value.and_then(|value| value.try_into().ok()).map_or(0, u64::from_be_bytes))
}

fn read_device(db: &Connection) -> Result<DeviceId> {
    let sql = "select value from meta where name = 'device'";
    Ok(DeviceId(db.prepare_cached(sql)?.query_row([], |row| blob(row, 0))?))
}

fn write_clock(db: &Connection, clock: u64) -> Result<()> {
    set_value(db, "clock", &clock.to_be_bytes())
}

fn decode_parents(bytes: &[u8]) -> Result<Vec<MembersRef>> {
    let mut reader = Reader::new(bytes, "the sync state");
    let mut parents = Vec::new();
    while !reader.is_empty() {
        parents.push(MembersRef { version: reader.number()?, hash: Hash(reader.array()?) });
    }
    Ok(parents)
}

fn encode_record(record: &Record) -> Vec<u8> {
    let mut writer = Writer::default();
    record.encode(&mut writer);
    writer.finish()
}

fn decode_record(bytes: &[u8]) -> Result<Record> {
    Record::decode(&mut Reader::new(bytes, "the sync state"))
}

fn find_version(db: &Connection, key: &KeyHash) -> Result<Option<Known>> {
    let mut row = db.prepare_cached("select forgotten, clock, device, body from versions where key = ?1")?;
    let found = row.query_row([key], |row| {
        let version = Version { clock: number(row, 1)?, device: DeviceId(blob(row, 2)?) };
        Ok(Known { rank: Rank { forgotten: row.get(0)?, version }, body: blob(row, 3)? })
    });
    Ok(found.optional()?)
}

/// Saves the version of a record, unless a higher one is known.
fn upsert_version(db: &Connection, record: &Record) -> Result<bool> {
    let key = record.key_hash();
    let rank = record.rank();
    if find_version(db, &key)?.is_some_and(|known| known.rank >= rank) {
        return Ok(false);
    }
    let sql = "insert or replace into versions values (?1, ?2, ?3, ?4, ?5)";
    let version = rank.version;
    let values = params![key, rank.forgotten, version.clock as i64, version.device.0, record.body.hash()];
    db.prepare_cached(sql)?.execute(values)?;
    Ok(true)
}

fn stage_record(db: &Connection, record: &Record) -> Result<Staged> {
    let key = record.key_hash();
    let known = find_version(db, &key)?;
    let record = match decide_staging(known, record, is_lost(db, &key)?) {
        Staging::Refused => return Ok(Staged::Refused),
        Staging::Unchanged => return Ok(Staged::Unchanged),
        Staging::Again(version) => &Record { version, ..record.clone() },
        Staging::New => record,
    };
    take_lost(db, &key)?;
    upsert_version(db, record)?;
    db.prepare_cached("delete from pending where key = ?1 and is_packed = 0")?.execute([key])?;
    let sql = "insert into pending (key, record) values (?1, ?2)";
    db.prepare_cached(sql)?.execute(params![key, encode_record(record)])?;
    if record.body == Body::Forgotten {
        mark_dirty(db, &key)?;
    }
    Ok(Staged::Accepted)
}

fn is_lost(db: &Connection, key: &KeyHash) -> Result<bool> {
    Ok(db.prepare_cached("select 1 from lost where key = ?1")?.exists([key])?)
}

/// Whether a record was lost. It no longer is.
fn take_lost(db: &Connection, key: &KeyHash) -> Result<bool> {
    Ok(db.prepare_cached("delete from lost where key = ?1")?.execute([key])? > 0)
}

/// Own packs that contain a forgotten key must be written anew.
fn mark_dirty(db: &Connection, key: &KeyHash) -> Result<()> {
    let sql = "update own_packs set is_dirty = 1 where number in (select pack from own_keys where key = ?1)";
    db.prepare_cached(sql)?.execute([key])?;
    Ok(())
}

fn insert_pack(db: &Connection, new: &NewPack) -> Result<()> {
    let entry = &new.pack.entry;
    let sealed = (new.sealed.len() <= CACHED_PACK).then_some(&new.sealed);
    let sql = "insert into own_packs values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0)";
    db.execute(
        sql,
        params![
            entry.number as i64,
            entry.level as i64,
            entry.first as i64,
            entry.last as i64,
            entry.length as i64,
            entry.hash.0,
            new.pack.size as i64,
            sealed,
        ],
    )?;
    for key in &new.keys {
        let sql = "insert or ignore into own_keys values (?1, ?2)";
        db.prepare_cached(sql)?.execute(params![key, entry.number as i64])?;
    }
    for mark in &new.marks {
        let sql = "insert or replace into marks values (?1, ?2)";
        db.prepare_cached(sql)?.execute(params![mark.key_hash(), encode_record(mark)])?;
    }
    Ok(())
}

fn drop_packs_except(db: &Connection, kept: &[u64]) -> Result<()> {
    let mut rows = db.prepare("select number from own_packs")?;
    let numbers: Vec<u64> =
        rows.query_map([], |row| number(row, 0))?.collect::<std::result::Result<_, _>>()?;
    for gone in numbers.into_iter().filter(|number| !kept.contains(number)) {
        db.execute("delete from own_packs where number = ?1", [gone as i64])?;
        db.execute("delete from own_keys where pack = ?1", [gone as i64])?;
    }
    Ok(())
}

fn queue_object(db: &Connection, name: &str, bytes: &[u8]) -> Result<()> {
    db.execute("insert into outbox (name, bytes) values (?1, ?2)", params![name, bytes])?;
    Ok(())
}

fn finish_publication(db: &Connection, now: u64) -> Result<()> {
    db.execute("delete from pending where is_packed = 1", [])?;
    // The grace period starts when the head without them is in the storage.
    db.execute("update garbage set since = ?1 where since = ?2", params![now as i64, NOT_YET])?;
    Ok(())
}

/// Pending records get the new device as their author, in the versions as well.
fn sign_pending_over(db: &Connection, device: DeviceId) -> Result<()> {
    let mut rows = db.prepare("select id, key, record from pending")?;
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        let mut record = decode_record(&row.get::<_, Vec<u8>>(2)?)?;
        let before = record.version.device;
        record.version.device = device;
        let id: i64 = row.get(0)?;
        db.execute("update pending set record = ?2 where id = ?1", params![id, encode_record(&record)])?;
        let sql = "update versions set device = ?3 where key = ?1 and device = ?2 and clock = ?4";
        let clock = record.version.clock as i64;
        db.execute(sql, params![record.key_hash(), before.0, device.0, clock])?;
    }
    Ok(())
}

fn read_chain(row: &Row<'_>) -> std::result::Result<Chain, db::Error> {
    let ancestors: Vec<u8> = row.get(4)?;
    let shorten = |chunk: &[u8]| chunk.try_into().unwrap_or_default();
    Ok(Chain {
        device: DeviceId(blob(row, 0)?),
        number: number(row, 1)?,
        hash: Hash(blob(row, 2)?),
        previous: Hash(blob(row, 3)?),
        ancestors: ancestors.chunks(8).map(shorten).collect(),
        signer: blob(row, 5)?,
        last_write: number(row, 6)?,
        written: number(row, 7)?,
        forgotten: number(row, 8)?,
        heard: number(row, 9)?,
        head: row.get(10)?,
    })
}

fn load_findings(db: &Connection) -> Result<Vec<(Finding, u64)>> {
    let mut rows =
        db.prepare("select problem, object, device, since from findings order by object, problem")?;
    let found = rows.query_map([], |row| {
        let device: Option<Vec<u8>> = row.get(2)?;
        let device = device.and_then(|bytes| bytes.try_into().ok()).map(DeviceId);
        Ok((row.get::<_, String>(0)?, row.get(1)?, device, number(row, 3)?))
    })?;
    let mut findings = Vec::new();
    for row in found {
        let (problem, object, device, since) = row?;
        if let Some(problem) = Problem::from_word(&problem) {
            findings.push((Finding { device, problem, object }, since));
        }
    }
    Ok(findings)
}
