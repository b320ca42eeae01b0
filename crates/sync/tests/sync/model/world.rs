//! The world of the model: three devices, a storage, and what may happen to them.
//!
//! Does not know how a device decides.

use super::device::{Device, Item, Said};
use super::{Defect, Disaster};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Pack {
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) items: Vec<Item>,
    pub(crate) hash: u64,
    /// Its owner has a copy.
    pub(crate) is_kept: bool,
}

impl Pack {
    pub(crate) fn seal(log: u8, first: u64, last: u64, items: Vec<Item>) -> Pack {
        let mut hasher = DefaultHasher::new();
        (log, first, last, &items).hash(&mut hasher);
        // Large packs are not kept. Here it is each other one, so that both ways to mend are taken.
        let hash = hasher.finish();
        Pack { first, last, is_kept: items.iter().all(|item| item.clock.is_multiple_of(2)), items, hash }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct HeadObject {
    pub(crate) number: u64,
    pub(crate) hash: u64,
    pub(crate) previous: u64,
    pub(crate) ancestors: Vec<u64>,
    pub(crate) packs: Vec<Pack>,
    /// Of the own head: the storage does not have it, or not all that it names.
    pub(crate) is_lost: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Storage {
    pub(crate) logs: BTreeMap<u8, BTreeSet<HeadObject>>,
    pub(crate) packs: BTreeMap<u64, Pack>,
    named: u8,
}

impl Storage {
    /// A name that no log has. Names are random, so that none comes again.
    pub(crate) fn name_log(&mut self) -> u8 {
        self.named += 1;
        100 + self.named
    }

    pub(crate) fn publish(&mut self, log: u8, packs: Vec<Pack>, head: HeadObject) {
        for pack in packs {
            self.packs.insert(pack.hash, pack);
        }
        self.logs.entry(log).or_default().insert(head);
    }

    pub(crate) fn delete_heads(&mut self, log: u8, hashes: &[u64]) {
        self.logs.entry(log).or_default().retain(|head| !hashes.contains(&head.hash));
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Put(usize),
    Forget(usize),
    /// The first device writes something else, so that its log grows.
    Note,
    Round(usize),
    RoundBehind(usize),
    RoundKilled(usize),
    /// The last device becomes a copy of the first.
    Clone,
    BackUp(usize),
    GoBack(usize),
    SaveStorage,
    RestoreStorage,
    /// The newest pack of a device is gone.
    Lose(usize),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct World {
    pub(crate) devices: Vec<Device>,
    pub(crate) storage: Storage,
    /// Every write has a text of its own.
    texts: u8,
    backups: BTreeMap<usize, Device>,
    saved: Option<Storage>,
    /// A device was copied or went back, or the storage has lost something: not both, for then nobody might have it.
    is_device_hit: bool,
    is_storage_hit: bool,
    /// What the storage has shown: nobody may lose it.
    published: Highest,
}

/// What all write and forget, and what only the first device writes.
pub(crate) const KEY: u8 = 1;
pub(crate) const NOTE: u8 = 2;

/// What counts of a key: whether it is forgotten, or else the highest clock, with every text that has it. Clones may have written two.
type Highest = BTreeMap<u8, (bool, u64, BTreeSet<Said>)>;

impl World {
    pub(crate) fn new(devices: u8) -> World {
        World {
            // The time of the second device is ahead.
            devices: (0..devices).map(|at| Device::new(at + 1, if at == 1 { 5 } else { 0 })).collect(),
            storage: Storage::default(),
            texts: 0,
            backups: BTreeMap::new(),
            saved: None,
            is_device_hit: false,
            is_storage_hit: false,
            published: Highest::new(),
        }
    }

    pub(crate) fn list_actions(&self, disasters: &[Disaster]) -> Vec<Action> {
        let has = |disaster| disasters.contains(&disaster);
        let mut actions = vec![Action::Note];
        for at in 0..self.devices.len() {
            actions.extend([Action::Put(at), Action::Forget(at), Action::Round(at)]);
            if has(Disaster::Behind) {
                actions.push(Action::RoundBehind(at));
            }
            if has(Disaster::Kill) {
                actions.push(Action::RoundKilled(at));
            }
            let may_lose = has(Disaster::Lose) && !self.is_device_hit;
            if may_lose
                && self.devices[at].own_packs().any(|pack| self.storage.packs.contains_key(&pack.hash))
            {
                actions.push(Action::Lose(at));
            }
        }
        // Devices are alike but for their clocks: one of them is enough.
        let last = self.devices.last().expect("there are devices");
        if has(Disaster::Clone)
            && !self.is_storage_hit
            && last.waiting().next().is_none()
            && last.outbox.is_none()
        {
            actions.push(Action::Clone);
        }
        if has(Disaster::Backup) {
            match self.backups.get(&0) {
                None => actions.push(Action::BackUp(0)),
                Some(backup) if !self.is_storage_hit && *backup != self.devices[0] => {
                    actions.push(Action::GoBack(0));
                }
                Some(_) => {}
            }
        }
        if has(Disaster::Snapshot) {
            match &self.saved {
                None => actions.push(Action::SaveStorage),
                Some(saved) if !self.is_device_hit && *saved != self.storage => {
                    actions.push(Action::RestoreStorage);
                }
                Some(_) => {}
            }
        }
        actions
    }

    pub(crate) fn step(&mut self, action: Action, defect: Option<Defect>) {
        match action {
            Action::Put(at) => {
                self.texts += 1;
                self.devices[at].stage(KEY, Said::Text(self.texts), defect);
            }
            Action::Note => {
                self.texts += 1;
                self.devices[0].stage(NOTE, Said::Text(self.texts), defect);
            }
            Action::Forget(at) => self.devices[at].stage(KEY, Said::Forgotten, defect),
            Action::Round(at) => {
                self.devices[at].pull(&mut self.storage, defect);
                self.devices[at].push(&mut self.storage, defect);
            }
            Action::RoundBehind(at) => self.devices[at].push(&mut self.storage, defect),
            Action::RoundKilled(at) => self.devices[at].run_killed(&mut self.storage, defect),
            Action::Clone => {
                self.is_device_hit = true;
                let copy = self.devices[0].clone();
                *self.devices.last_mut().expect("there are devices") = copy;
            }
            Action::BackUp(at) => drop(self.backups.insert(at, self.devices[at].clone())),
            Action::GoBack(at) => {
                self.is_device_hit = true;
                self.devices[at] = self.backups.remove(&at).expect("it was offered because it is there");
            }
            Action::SaveStorage => self.saved = Some(self.storage.clone()),
            Action::RestoreStorage => {
                self.is_storage_hit = true;
                let named = self.storage.named;
                self.storage = self.saved.take().expect("it was offered because it is there");
                self.storage.named = named;
            }
            Action::Lose(at) => {
                self.is_storage_hit = true;
                let newest = self.devices[at].own_packs().last().map(|pack| pack.hash);
                newest.iter().for_each(|hash| drop(self.storage.packs.remove(hash)));
            }
        }
        self.note_published();
    }

    fn note_published(&mut self) {
        let heads = self.storage.logs.values().flatten();
        let items: Vec<Item> =
            heads.flat_map(|head| &head.packs).flat_map(|pack| &pack.items).copied().collect();
        items.into_iter().for_each(|item| add(&mut self.published, item));
    }

    /// What counts once all have exchanged what they have: what was published, and what waits.
    fn expected(&self) -> Highest {
        let mut expected = self.published.clone();
        let waiting = self.devices.iter().flat_map(Device::waiting);
        waiting.for_each(|item| add(&mut expected, *item));
        expected
    }

    /// Runs rounds until all have read all, and compares; also with a device that joins then.
    pub(crate) fn settles(&self, defect: Option<Defect>) -> Result<(), String> {
        let expected = self.expected();
        let mut world = self.clone();
        for _ in 0..3 {
            let before = world.clone();
            for at in 0..world.devices.len() {
                world.step(Action::Round(at), defect);
            }
            if world == before {
                break;
            }
        }
        if world.devices.iter().any(|device| device.waiting().next().is_some()) {
            return Err("something still waits".to_owned());
        }
        let mut late = Device::new(LATE, 0);
        late.pull(&mut world.storage, defect);
        world.devices.push(late);
        for (key, counts) in &expected {
            let first = world.devices[0].known.get(key);
            if let Some(other) = world.devices.iter().find(|device| device.known.get(key) != first) {
                return Err(format!("devices differ: {first:?}, {:?}", other.known.get(key)));
            }
            check(first, counts)?;
        }
        Ok(())
    }
}

/// The name of a device that joins in the end.
const LATE: u8 = 50;

fn check(
    item: Option<&Item>,
    (is_forgotten, clock, said): &(bool, u64, BTreeSet<Said>),
) -> Result<(), String> {
    let Some(item) = item else { return Err("everything is lost".to_owned()) };
    match item.said {
        Said::Forgotten if *is_forgotten => Ok(()),
        _ if *is_forgotten => Err("what was forgotten is back".to_owned()),
        _ if item.clock < *clock => Err("an older version is back".to_owned()),
        _ if item.clock > *clock => Err("nobody wrote this version".to_owned()),
        _ if !said.contains(&item.said) => Err("a text of nobody".to_owned()),
        _ => Ok(()),
    }
}

/// By the rule that forgetting is above all, then the clock.
fn add(highest: &mut Highest, item: Item) {
    let rank = (item.said == Said::Forgotten, item.clock);
    let (is_forgotten, clock, said) = highest.entry(item.key).or_insert((rank.0, rank.1, BTreeSet::new()));
    if (*is_forgotten, *clock) < rank {
        (*is_forgotten, *clock) = rank;
        said.clear();
    }
    if (*is_forgotten, *clock) == rank {
        said.insert(item.said);
    }
}
