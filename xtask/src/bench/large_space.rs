//! `cargo xtask bench sync --devices 1000`: what a year costs in a space with many devices: objects, bytes, requests and their list
//! price, and what a new device needs to join.
//!
//! The engine runs over a store in memory that counts requests. All devices behave alike, so one log is written for a whole year, and
//! one reader is measured among many writers for a day; the rest is multiplied, and said so. Time is simulated.

use super::workspace::describe_machine;
use crate::Outcome;
use crate::args::Args;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use sync::storage::{Store, StoreError};
use sync::{Change, Phrase, Role, Settings, Space};

/// Profile T of the plan for scale: days of work, records a day and their length; and how often they are published.
const DAYS: u64 = 220;
const ROUNDS: u64 = 40;
const RECORDS: u64 = 10;
const WORDS: u64 = 120;
/// A device polls once a minute while a person works.
const MINUTES: u64 = 8 * 60;
const START: u64 = 1_800_000_000_000;
/// List prices of S3 in dollars, per request and per gigabyte and month. Deletions cost nothing.
const PUT: f64 = 0.005 / 1e3;
const GET: f64 = 0.0004 / 1e3;
const STORED: f64 = 0.023 / 1e9;
/// Names on a page of a list.
const PAGE: usize = 1_000;

type Failed = Box<dyn std::error::Error>;

pub(super) fn run(args: &Args) -> Outcome {
    let most = args.number_value("devices", 1_000)?;
    let days = args.number_value("days", DAYS)?;
    measure(most, days).map(|()| true).map_err(|error| error.to_string())
}

fn measure(most: u64, days: u64) -> Result<(), Failed> {
    println!(
        "{}\n{DAYS} days with {} records, published {ROUNDS} times a day",
        describe_machine(),
        ROUNDS * RECORDS
    );
    let log = write_log(days)?;
    println!("\nnew device, by the number of logs of {days} days\n  devices  requests  megabytes  seconds");
    for devices in [1, 4].into_iter().filter(|devices| *devices <= most) {
        join_logs(devices, days)?;
    }
    println!(
        "\nspace, for a year, per device; estimated from a day with that many devices\n  devices  objects  gigabytes    puts   lists     gets  dollars  all gets"
    );
    for devices in [10, 100, 1_000, 10_000].into_iter().filter(|devices| *devices <= most) {
        let day = read_day(devices)?;
        print_year(devices, &log, &day);
    }
    println!(
        "\nmember list: its size, what each device needs to hear of one more, and a new device by the phrase after only invitations; and after that\n  devices  kB list  gets+puts  gets      MB         seconds  gets again"
    );
    for devices in [10, 100, 1_000, 10_000].into_iter().filter(|devices| *devices <= most) {
        admit_one(devices)?;
    }
    Ok(())
}

// ---- the store

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    puts: u64,
    gets: u64,
    lists: u64,
    bytes_in: u64,
    bytes_out: u64,
}

impl Counts {
    fn requests(&self) -> u64 {
        self.puts + self.gets + self.lists
    }
}

#[derive(Default)]
struct Bucket {
    objects: BTreeMap<String, Arc<[u8]>>,
    counts: Counts,
}

/// One device's view of the bucket.
#[derive(Clone, Default)]
struct View {
    bucket: Arc<Mutex<Bucket>>,
    /// A writer that is not measured sees no logs but its own: what it would read is measured at the reader.
    only: Option<String>,
}

impl View {
    fn with<T>(&self, work: impl FnOnce(&mut Bucket) -> T) -> T {
        work(&mut self.bucket.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn take_counts(&self) -> Counts {
        self.with(|bucket| std::mem::take(&mut bucket.counts))
    }

    fn boxed(&self) -> Box<dyn Store> {
        Box::new(self.clone())
    }
}

impl Store for View {
    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.with(|bucket| {
            bucket.counts.puts += 1;
            bucket.counts.bytes_out += bytes.len() as u64;
            bucket.objects.insert(name.to_owned(), bytes.into());
        });
        Ok(())
    }

    fn get(&self, name: &str, _: usize) -> Result<Vec<u8>, StoreError> {
        let found = self.with(|bucket| {
            let found = bucket.objects.get(name).cloned();
            bucket.counts.gets += 1;
            bucket.counts.bytes_in += found.as_ref().map_or(0, |bytes| bytes.len() as u64);
            found
        });
        found.map(|bytes| bytes.to_vec()).ok_or(StoreError::NotFound { name: name.to_owned() })
    }

    fn list(&self, prefix: &str, after: Option<&str>) -> Result<Vec<String>, StoreError> {
        let own = self.only.as_ref().filter(|_| prefix.ends_with("/heads/"));
        let prefix = own.map_or(prefix.to_owned(), |own| format!("{prefix}{own}/"));
        Ok(self.with(|bucket| {
            let names = bucket.objects.range(prefix.clone()..).map(|(name, _)| name);
            let names = names.take_while(|name| name.starts_with(&prefix));
            let names: Vec<String> =
                names.filter(|name| after.is_none_or(|after| name.as_str() > after)).cloned().collect();
            bucket.counts.lists += names.len().div_ceil(PAGE).max(1) as u64;
            bucket.counts.bytes_in += names.iter().map(String::len).sum::<usize>() as u64;
            names
        }))
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.with(|bucket| drop(bucket.objects.remove(name)));
        Ok(())
    }
}

// ---- devices

/// xorshift64*, so that every run writes the same.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) % limit
    }

    /// About 750 bytes that compress like talk: a vocabulary of 3,000 words.
    fn message(&mut self) -> String {
        let words: Vec<String> =
            (0..WORDS).map(|_| self.below(3_000)).map(|word| format!("w{:x}", word * word)).collect();
        words.join(" ")
    }
}

fn publish(space: &mut Space, random: &mut Random, label: &str, now: u64) -> Result<(), Failed> {
    let changes = (0..RECORDS).map(|at| Change::put("dialogue", &format!("{label}-{at}"), random.message()));
    space.stage(changes.collect::<Vec<_>>(), now)?;
    space.sync(now, &mut |_| Ok(()))?;
    Ok(())
}

/// A space, its first device, and a folder for the states of all.
struct World {
    home: testutil::Home,
    view: View,
    first: Space,
    phrase: Phrase,
}

impl World {
    fn new() -> Result<World, Failed> {
        let (home, view) = (testutil::Home::new(), View::default());
        let folder = make_folder(&home.path().join("first"))?;
        let (first, phrase) = Space::create(&folder, view.boxed(), "first", Settings::default())?;
        Ok(World { home, view, first, phrase })
    }

    /// Admits devices, all of which begin with the last member list.
    fn admit(&mut self, count: u64) -> Result<Vec<Space>, Failed> {
        let folders: Vec<PathBuf> = (0..count)
            .map(|at| make_folder(&self.home.path().join(at.to_string())))
            .collect::<Result<_, _>>()?;
        let mut last = None;
        for folder in &folders {
            let request = Space::request(folder, "device")?;
            last = Some(self.first.admit(&request, Role::Writer)?);
        }
        let mut devices = Vec::new();
        for folder in folders {
            let Some(invitation) = &last else { break };
            let space = Space::accept(&folder, self.view.boxed(), invitation, Settings::default())?;
            let only = Some(space.device().to_string());
            drop(space);
            let view = View { only, ..self.view.clone() };
            devices.push(Space::open(&folder, Box::new(view), Settings::default())?);
        }
        Ok(devices)
    }

    fn join(&self, name: &str) -> Result<(Counts, Duration), Failed> {
        let folder = make_folder(&self.home.path().join(name))?;
        self.view.take_counts();
        let started = Instant::now();
        let mut space = Space::recover(&folder, self.view.boxed(), &self.phrase, "new", Settings::default())?;
        space.sync(START + DAYS * 86_400_000, &mut |_| Ok(()))?;
        Ok((self.view.take_counts(), started.elapsed()))
    }
}

fn make_folder(path: &Path) -> Result<PathBuf, std::io::Error> {
    std::fs::create_dir_all(path).map(|()| path.to_path_buf())
}

// ---- what is measured

/// The log of one device after a year.
struct Log {
    objects: u64,
    bytes: u64,
    spent: Counts,
}

fn write_year(space: &mut Space, seed: u64, days: u64) -> Result<(), Failed> {
    let mut random = Random(seed * 2 + 1);
    for day in 0..days {
        for round in 0..ROUNDS {
            let now = START + day * 86_400_000 + round * MINUTES * 60_000 / ROUNDS;
            publish(space, &mut random, &format!("{seed}-{day}-{round}"), now)?;
        }
    }
    Ok(())
}

fn write_log(days: u64) -> Result<Log, Failed> {
    let mut world = World::new()?;
    world.view.take_counts();
    let started = Instant::now();
    write_year(&mut world.first, 1, days)?;
    let spent = world.view.take_counts();
    let (objects, bytes) = world.view.with(|bucket| {
        (bucket.objects.len() as u64, bucket.objects.values().map(|bytes| bytes.len() as u64).sum())
    });
    println!(
        "one log of {days} days: {objects} objects, {:.1} MB stored; {} puts with {:.1} MB, {} gets; {:.0} s to simulate",
        bytes as f64 / 1e6,
        spent.puts,
        spent.bytes_out as f64 / 1e6,
        spent.gets,
        started.elapsed().as_secs_f64()
    );
    Ok(Log { objects, bytes, spent })
}

/// A new device fetches logs.
fn join_logs(devices: u64, days: u64) -> Result<(), Failed> {
    let mut world = World::new()?;
    for (seed, mut space) in world.admit(devices)?.into_iter().enumerate() {
        write_year(&mut space, seed as u64 + 1, days)?;
    }
    let (counts, time) = world.join("new")?;
    println!(
        "  {devices:7}  {:8}  {:9.1}  {:7.1}",
        counts.requests(),
        counts.bytes_in as f64 / 1e6,
        time.as_secs_f64()
    );
    Ok(())
}

/// One device reads what many write on one day, once a minute or, where a list has several pages, as rarely as the daemon does.
fn read_day(devices: u64) -> Result<Counts, Failed> {
    let mut world = World::new()?;
    let mut writers = world.admit(devices - 1)?;
    let mut random = Random(5);
    let mut spent = Counts::default();
    // The first publication of each device is not part of the day: a log begins once.
    for (number, writer) in writers.iter_mut().enumerate() {
        publish(writer, &mut random, &format!("{number}-0"), START)?;
    }
    world.first.sync(START, &mut |_| Ok(()))?;
    let mut next_round = 0;
    for minute in 0..MINUTES {
        let now = START + 60_000 * (minute + 1);
        for (number, writer) in writers.iter_mut().enumerate() {
            // Each publishes 40 times, at minutes of its own.
            if (minute + number as u64 * 7).is_multiple_of(MINUTES / ROUNDS) {
                publish(writer, &mut random, &format!("{number}-{minute}"), now)?;
            }
        }
        if minute >= next_round {
            world.view.take_counts();
            let round = world.first.sync(now, &mut |_| Ok(()))?;
            let counts = world.view.take_counts();
            spent.gets += counts.gets;
            spent.lists += counts.lists;
            spent.bytes_in += counts.bytes_in;
            next_round = minute + round.lists;
        }
    }
    Ok(spent)
}

fn print_year(devices: u64, log: &Log, day: &Counts) {
    let (puts, lists) = (log.spent.puts, day.lists * DAYS);
    let gets = day.gets * DAYS + log.spent.gets;
    let requests = puts as f64 * PUT + lists as f64 * PUT + gets as f64 * GET;
    // Half of a year's bytes on average.
    let stored = log.bytes as f64 * STORED * 12.0 / 2.0;
    println!(
        "  {devices:7}  {:7}  {:9.1}  {puts:6}  {lists:6}  {gets:7}  {:7.2}  {:8.1e}",
        log.objects * devices,
        log.bytes as f64 * devices as f64 / 1e9,
        requests + stored,
        gets as f64 * devices as f64
    );
}

/// What one more device costs the others, and what joining costs it by the phrase, and by the phrase once more.
fn admit_one(devices: u64) -> Result<(), Failed> {
    let mut world = World::new()?;
    drop(world.admit(devices)?);
    world.first.sync(START, &mut |_| Ok(()))?;
    let list = world.view.with(|bucket| {
        let lists = bucket.objects.iter().filter(|(name, _)| name.contains("/members/"));
        lists.map(|(_, bytes)| bytes.len()).max().unwrap_or(0)
    });
    let mut other = Space::open(&world.home.path().join("0"), world.view.boxed(), Settings::default())?;
    other.sync(START, &mut |_| Ok(()))?;
    let folder = make_folder(&world.home.path().join("one"))?;
    world.first.admit(&Space::request(&folder, "one")?, Role::Writer)?;
    world.first.sync(START + 1, &mut |_| Ok(()))?;
    world.view.take_counts();
    other.sync(START + 2, &mut |_| Ok(()))?;
    let heard = world.view.take_counts();
    let (joined, time) = world.join("new")?;
    let (again, _) = world.join("another")?;
    println!(
        "  {devices:7}  {:7.1}  {:9}  {:9}  {:9.1}  {:7.1}  {:9}",
        list as f64 / 1e3,
        heard.gets + heard.puts,
        joined.gets,
        joined.bytes_in as f64 / 1e6,
        time.as_secs_f64(),
        again.gets
    );
    Ok(())
}
