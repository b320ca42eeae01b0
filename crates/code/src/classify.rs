//! Classifies an edit: the change class of a type between two versions, and of each of its members.
//!
//! Does not know the consequences: which notes become stale, what has to be written again.

use crate::hash::{MemberHashes, TypeHashes};
use std::collections::BTreeMap;
use syntax::MemberKind;

/// From the deepest to the shallowest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, serde::Serialize, serde::Deserialize)]
pub enum ChangeClass {
    /// A signature, visibility, attribute or base: the contract with other types.
    Structure,
    /// Bodies and default values of public and protected members.
    PublicBehavior,
    /// Code that is visible to the type alone.
    Internal,
    /// Documentation only.
    Docs,
    /// Comments and formatting only.
    Cosmetic,
}

impl ChangeClass {
    pub fn name(self) -> &'static str {
        match self {
            ChangeClass::Structure => "Structure",
            ChangeClass::PublicBehavior => "PublicBehavior",
            ChangeClass::Internal => "Internal",
            ChangeClass::Docs => "Docs",
            ChangeClass::Cosmetic => "Cosmetic",
        }
    }
}

/// The difference between two versions of a type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    pub class: ChangeClass,
    /// The members that differ, by kind and key; empty if only the type's own header, documentation or formatting does.
    pub members: Vec<MemberChange>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemberChange {
    pub kind: MemberKind,
    pub key: String,
    pub class: ChangeClass,
    pub change: ChangeKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChangeKind {
    Added,
    Removed,
    Changed,
}

/// Compares two versions of a type; `None` if they are identical byte for byte.
pub fn classify_change(old: &TypeHashes, new: &TypeHashes) -> Option<Change> {
    let (one, other) = (&old.hashes, &new.hashes);
    let class = if one.structure != other.structure {
        ChangeClass::Structure
    } else if one.public != other.public {
        ChangeClass::PublicBehavior
    } else if one.internal != other.internal {
        ChangeClass::Internal
    } else if one.doc != other.doc {
        ChangeClass::Docs
    } else if one.cosmetic != other.cosmetic {
        ChangeClass::Cosmetic
    } else {
        return None;
    };
    Some(Change { class, members: member_changes(old, new) })
}

/// Members by kind and key; the two halves of a partial method share an entry.
fn members_by_key(of: &TypeHashes) -> BTreeMap<(MemberKind, &str), Vec<&MemberHashes>> {
    let mut found: BTreeMap<(MemberKind, &str), Vec<&MemberHashes>> = BTreeMap::new();
    for member in &of.members {
        found.entry((member.kind, &member.key)).or_default().push(member);
    }
    found
}

fn member_changes(old: &TypeHashes, new: &TypeHashes) -> Vec<MemberChange> {
    let (old, new) = (members_by_key(old), members_by_key(new));
    let mut changes = Vec::new();
    for (key, before) in &old {
        let (class, fate) = match new.get(key) {
            Some(after) => match deepest_difference(before, after) {
                Some(class) => (class, ChangeKind::Changed),
                None => continue,
            },
            None => (class_of_unpaired(before), ChangeKind::Removed),
        };
        changes.push(MemberChange { kind: key.0, key: key.1.to_owned(), class, change: fate });
    }
    for (key, after) in new.iter().filter(|(key, _)| !old.contains_key(*key)) {
        changes.push(MemberChange {
            kind: key.0,
            key: key.1.to_owned(),
            class: class_of_unpaired(after),
            change: ChangeKind::Added,
        });
    }
    changes.sort_by(|one, other| (one.kind, &one.key).cmp(&(other.kind, &other.key)));
    changes
}

/// The change class of a member that exists in one version only.
fn class_of_unpaired(members: &[&MemberHashes]) -> ChangeClass {
    let seen = members.iter().any(|member| member.visibility.is_visible_outside());
    if seen { ChangeClass::Structure } else { ChangeClass::Internal }
}

/// Selects one hash of a member.
type HashSelector = fn(&MemberHashes) -> u64;

fn deepest_difference(before: &[&MemberHashes], after: &[&MemberHashes]) -> Option<ChangeClass> {
    let differs = |pick: HashSelector| {
        let all = |members: &[&MemberHashes]| members.iter().map(|member| pick(member)).collect::<Vec<_>>();
        all(before) != all(after)
    };
    let layers: [(ChangeClass, HashSelector); 4] = [
        (ChangeClass::Structure, |member| member.structure.0),
        (ChangeClass::PublicBehavior, |member| member.public.0),
        (ChangeClass::Internal, |member| member.internal.0),
        (ChangeClass::Docs, |member| member.doc.0),
    ];
    layers.into_iter().find(|(_, pick)| differs(*pick)).map(|(class, _)| class)
}
