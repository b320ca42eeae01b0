//! A model of the protocol, checked exhaustively with `stateright`: from every state that three devices reach in six steps, some rounds lead
//! to one state on all of them, in which nothing that counts is lost and nothing that was forgotten is back.
//!
//! What decides is not modelled but called: `loci_sync::merge`. Abstract is what surrounds it: a device is a value instead of a database, an
//! object is there or not, heads are named by a hash of their content, member lists, keys and requests are left out, and the list of a
//! storage is what is there or, in a round that is behind, what this device has seen before. Adopting the log of another device is not part
//! of the protocol yet; adopting one's own after a clone is. `agrees` ties the model to the engine: the same random steps run through both.
//!
//! The short form takes four steps. `LOCI_MODEL_STEPS=6` is the long form, 1.9 million states in two minutes, and `LOCI_MODEL_SEEDS=1000` that of
//! `agrees`.

mod agrees;
mod device;
mod world;

use stateright::{Checker, Model, Property};
use world::{Action, World};

/// A defect that the model must notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Defect {
    /// Merging packs drops what says that a record was forgotten.
    DropTombstones,
    /// What arrives counts, whatever is known.
    LastRead,
    /// A clone does not publish again what only its former log has.
    ForgetUnshared,
    /// A clone goes on under the name of the device that it copies.
    KeepName,
    /// What the storage has lost is not published again.
    NoRepair,
    /// What is staged again gets a new version.
    NewVersion,
    /// All writes up to the last one of a head count as read, also those of another branch.
    TrustNumbers,
}

pub(crate) struct Protocol {
    pub(crate) disasters: &'static [Disaster],
    pub(crate) defect: Option<Defect>,
}

/// What happens besides writing, forgetting and rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disaster {
    /// A round whose list is behind, as if two devices published at once.
    Behind,
    /// A kill between the packs and the head.
    Kill,
    /// A device is copied onto the last one.
    Clone,
    /// A device goes back to its backup.
    Backup,
    /// The storage goes back to its backup.
    Snapshot,
    /// A pack is gone that its owner does not keep.
    Lose,
}

const ALL: &[Disaster] = &[
    Disaster::Behind,
    Disaster::Kill,
    Disaster::Clone,
    Disaster::Backup,
    Disaster::Snapshot,
    Disaster::Lose,
];

impl Model for Protocol {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(3)]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        actions.extend(world.list_actions(self.disasters));
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        next.step(action, self.defect);
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Protocol>> {
        vec![Property::always("the devices agree on all that counts", |model: &Protocol, world: &World| {
            world.settles(model.defect).is_ok()
        })]
    }
}

/// Checks all states up to a number of steps. Returns how many there are, and what leads to one that does not settle.
fn explore(protocol: Protocol, steps: usize) -> (usize, Option<Vec<Action>>) {
    // The first state has depth 1, and those of the last depth are not looked at.
    let checker = protocol.checker().target_max_depth(steps + 2).spawn_bfs().join();
    let discovery = checker.discovery("the devices agree on all that counts");
    (checker.unique_state_count(), discovery.map(|path| path.into_actions()))
}

fn expect_no_discovery(disasters: &'static [Disaster], steps: usize) {
    let (states, discovery) = explore(Protocol { disasters, defect: None }, steps);
    println!("{states} states in {steps} steps with {disasters:?}");
    if let Some(actions) = discovery {
        let mut world = World::new(3);
        for action in &actions {
            world.step(*action, None);
        }
        panic!("{actions:?} leads to {:?}: {world:#?}", world.settles(None));
    }
}

#[test]
fn three_devices_agree_after_any_steps() {
    let steps = testutil::needs::number_variable("LOCI_MODEL_STEPS", 4);
    expect_no_discovery(ALL, steps);
}

/// What leads to each defect, as the search in six steps has found it.
const NOTICED: &[(Defect, &[Action])] = &[
    (
        Defect::DropTombstones,
        &[Action::Note, Action::Round(0), Action::Forget(0), Action::Round(0), Action::Note],
    ),
    (Defect::LastRead, &[Action::Put(0), Action::Put(1)]),
    (
        Defect::ForgetUnshared,
        &[Action::Clone, Action::Put(0), Action::Round(0), Action::Put(2), Action::RoundBehind(2)],
    ),
    (Defect::KeepName, &[Action::Clone, Action::Note]),
    (Defect::NoRepair, &[Action::Note, Action::Round(0), Action::Lose(0)]),
    (Defect::NewVersion, &[Action::Note, Action::Round(0), Action::Lose(0)]),
    (
        Defect::TrustNumbers,
        &[
            Action::Put(0),
            Action::BackUp(0),
            Action::Note,
            Action::Round(0),
            Action::GoBack(0),
            Action::RoundBehind(0),
        ],
    ),
];

#[test]
fn the_model_notices_each_defect() {
    for (defect, actions) in NOTICED {
        let settle = |defect| {
            let mut world = World::new(3);
            actions.iter().for_each(|action| world.step(*action, defect));
            world.settles(defect)
        };
        assert_eq!(settle(None), Ok(()), "{actions:?}");
        assert!(settle(Some(*defect)).is_err(), "{defect:?} was not noticed after {actions:?}");
    }
}
