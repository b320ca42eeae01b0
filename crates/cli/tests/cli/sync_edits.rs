//! Edits of facts on two devices that leave, join and exchange in any order: no edit of another fact is lost, and of two edits of one fact the
//! later stays.
//!
//! The short form takes 4 sequences; `LOCI_EDITS=100` is the long form.

use crate::sync::{Devices, run};
use testutil::Home;
use testutil::needs::number_variable;

const FACTS: usize = 3;

/// xorshift64*, so that a failing sequence can be run again.
struct Rng(u64);

impl Rng {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) % limit
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Fact {
    Text(String),
    Retired,
}

struct World {
    devices: Devices,
    joined: [bool; 2],
    ids: Vec<String>,
    /// What was done last to each fact.
    last: Vec<Fact>,
    steps: Vec<String>,
}

impl World {
    fn start() -> World {
        let devices = Devices::joined();
        let add = |at: usize| {
            let line = format!("memory add 'Fact {at} as it was' --project /srv/demo/shop");
            run(&devices.work, &line)["memory"]["id"].as_str().unwrap().to_string()
        };
        let ids = (0..FACTS).map(add).collect();
        devices.rounds();
        let last = (0..FACTS).map(|at| Fact::Text(format!("Fact {at} as it was"))).collect();
        World { devices, joined: [true; 2], ids, last, steps: Vec::new() }
    }

    fn home(&self, which: usize) -> &Home {
        [&self.devices.work, &self.devices.laptop][which]
    }

    fn join(&mut self, which: usize) {
        let (url, phrase) = (self.devices.bucket.path().display(), &self.devices.phrase);
        run(self.home(which), &format!("sync join {url} {phrase} --label again{which}"));
        self.joined[which] = true;
    }

    fn step(&mut self, rng: &mut Rng) {
        let (which, at) = (rng.below(2) as usize, rng.below(FACTS as u64) as usize);
        let kind = rng.below(10);
        self.steps.push(format!("{kind} on {which}, fact {at}"));
        match kind {
            0..=3 => {
                let text = format!("Fact {at} after step {}", self.steps.len());
                run(self.home(which), &format!("memory edit {} --text '{text}'", self.ids[at]));
                self.last[at] = Fact::Text(text);
            }
            4 => {
                run(self.home(which), &format!("memory retire {}", self.ids[at]));
                self.last[at] = Fact::Retired;
            }
            5 if self.joined[which] => {
                run(self.home(which), "sync leave");
                self.joined[which] = false;
            }
            _ if !self.joined[which] => self.join(which),
            _ => drop(run(self.home(which), "sync now")),
        }
    }

    /// All that the devices have is exchanged; what was done last to each fact is what both show.
    fn check(&mut self, seed: u64) {
        for which in 0..2 {
            if !self.joined[which] {
                self.join(which);
            }
        }
        self.devices.rounds();
        self.devices.rounds();
        for (id, last) in self.ids.iter().zip(&self.last) {
            for which in 0..2 {
                let shown = run(self.home(which), &format!("memory show {id}")).to_string();
                let is_last = match last {
                    Fact::Text(text) => shown.contains(text),
                    Fact::Retired => shown.contains("retired"),
                };
                assert!(
                    is_last,
                    "seed {seed}, device {which}: wanted {last:?}, got {shown}; {:#?}",
                    self.steps
                );
            }
        }
    }
}

#[test]
fn the_last_edit_of_each_fact_stays_whoever_leaves_and_joins() {
    for seed in 1..=number_variable("LOCI_EDITS", 4) {
        let (mut world, mut rng) = (World::start(), Rng(seed * 2 + 1));
        for _ in 0..14 {
            world.step(&mut rng);
        }
        world.check(seed);
    }
}
