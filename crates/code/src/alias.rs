//! Rename detection: decides which removed type reappears as an added type under another name or in another namespace, so that
//! its notes and state can be carried over.
//!
//! Compares only the types removed and added in one batch, and reports a conflict where two candidates fit: most codebases have
//! types that look alike (in one with 15,700 types, every second type has the same members as another). Does not know where
//! aliases are stored.

use crate::codebase::{Codebase, Type};
use crate::hash::TypeHashes;
use std::collections::BTreeSet;
use syntax::{Digest, MemberKind, TypeId, TypeKind};

/// A type before or after a refresh, reduced to what rename detection compares.
#[derive(Clone, Copy)]
pub struct TypeSnapshot<'a> {
    pub id: TypeId,
    /// The full name.
    pub name: &'a str,
    pub kind: TypeKind,
    pub hashes: &'a TypeHashes,
    /// The digests of the members' bodies.
    pub bodies: &'a BTreeSet<Digest>,
    /// The files that declare it.
    pub files: &'a [String],
}

/// The digests of all member bodies of a type; empty bodies are left out.
pub fn body_digests(code: &Codebase, of: &Type) -> BTreeSet<Digest> {
    let members = code.parts(of).flat_map(|part| &part.members);
    members
        .flat_map(|member| [member.behaviour, member.private_behaviour])
        .filter(|body| body.0 != 0)
        .collect()
}

/// A renamed type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Alias {
    pub old: TypeId,
    pub new: TypeId,
    /// The evidence for the rename, as a sentence.
    pub reason: String,
}

/// A removed type with several rename candidates; a person may decide.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conflict {
    pub old: TypeId,
    pub candidates: Vec<TypeId>,
}

/// By how much the best score must exceed the next one.
const SCORE_MARGIN: f64 = 0.5;

/// The evidence that two types are the same.
struct Evidence {
    /// The share of common bodies (Jaccard index); `None` if there are too few bodies to compare.
    bodies: Option<f64>,
    /// The share of common members, and how many members the larger type has.
    members: f64,
    count: usize,
    /// Both are declared in the same file, or git reports that the file was renamed.
    same_file: bool,
    same_name: bool,
    same_namespace: bool,
}

impl Evidence {
    fn compare(old: &TypeSnapshot, new: &TypeSnapshot, renamed: &dyn Fn(&str) -> Option<String>) -> Evidence {
        let (one, other) = (normalised_members(old), normalised_members(new));
        let enough = old.bodies.len().min(new.bodies.len()) >= 2;
        let in_same_file = |file: &String| {
            new.files.contains(file) || renamed(file).is_some_and(|to| new.files.contains(&to))
        };
        let ((old_space, old_name), (new_space, new_name)) = (split_name(old.name), split_name(new.name));
        Evidence {
            bodies: enough.then(|| jaccard_index(old.bodies, new.bodies)),
            members: jaccard_index(&one, &other),
            count: one.len().max(other.len()),
            same_file: old.files.iter().any(in_same_file),
            same_name: old_name == new_name,
            same_namespace: old_space == new_space,
        }
    }

    /// Why the two types are the same; `None` if the evidence is too weak.
    fn reason(&self) -> Option<&'static str> {
        if self.bodies.is_some_and(|share| share >= 0.6) {
            return Some("its members do the same");
        }
        let alike = self.members >= 0.85;
        match (self.same_file, self.same_name) {
            (true, true) => Some("its name and its file are the same"),
            (true, false) if alike && self.count >= 1 && self.same_namespace => {
                Some("its file and its members are the same")
            }
            (_, true) if alike && self.count >= 2 && self.bodies.is_none_or(|share| share >= 0.3) => {
                Some("its name and its members are the same")
            }
            _ => None,
        }
    }

    fn score(&self) -> f64 {
        let yes = |fact: bool, weight: f64| if fact { weight } else { 0.0 };
        4.0 * self.bodies.unwrap_or(0.0)
            + 2.0 * self.members
            + yes(self.same_file, 1.5)
            + yes(self.same_name, 1.5)
            + yes(self.same_namespace, 0.5)
    }
}

/// Pairs removed types with added ones. `renamed` returns the new path of a file that was renamed or moved.
pub fn detect_renames(
    gone: &[TypeSnapshot],
    come: &[TypeSnapshot],
    renamed: &dyn Fn(&str) -> Option<String>,
) -> (Vec<Alias>, Vec<Conflict>) {
    let mut pairs: Vec<(usize, usize, f64, &'static str)> = Vec::new();
    for (o, old) in gone.iter().enumerate() {
        for (n, new) in come
            .iter()
            .enumerate()
            .filter(|(_, new)| new.kind == old.kind && arity_suffix(new.name) == arity_suffix(old.name))
        {
            let evidence = Evidence::compare(old, new, renamed);
            if let Some(reason) = evidence.reason() {
                pairs.push((o, n, evidence.score(), reason));
            }
        }
    }
    let (mut found, mut conflicts) = (Vec::new(), Vec::new());
    for (o, old) in gone.iter().enumerate() {
        let mine: Vec<_> = pairs.iter().filter(|pair| pair.0 == o).collect();
        let Some(best) = mine.iter().copied().max_by(|a, b| a.2.total_cmp(&b.2)) else { continue };
        // No other pairing of either type may score nearly as well.
        let rival = |pair: &&(usize, usize, f64, &str)| {
            (pair.0 == o) != (pair.1 == best.1) && pair.2 > best.2 - SCORE_MARGIN
        };
        if pairs.iter().any(|pair| rival(&pair)) {
            let candidates =
                mine.iter().filter(|pair| pair.2 > best.2 - SCORE_MARGIN).map(|pair| come[pair.1].id);
            conflicts.push(Conflict { old: old.id, candidates: candidates.collect() });
        } else {
            found.push(Alias { old: old.id, new: come[best.1].id, reason: best.3.to_string() });
        }
    }
    (found, conflicts)
}

/// Kind and signature of each member, with a placeholder for the type's own name, because the name is what changed.
fn normalised_members(of: &TypeSnapshot) -> BTreeSet<(MemberKind, String)> {
    let own = split_name(of.name).1;
    of.hashes.members.iter().map(|member| (member.kind, mask_name(own, &member.key))).collect()
}

/// Replaces each whole-word occurrence of a name with `\u{1}`.
fn mask_name(name: &str, text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(name) {
        let (before, behind) = (&rest[..at], &rest[at + name.len()..]);
        let is_word_char = |c: char| c.is_alphanumeric() || c == '_';
        let whole = !before.ends_with(is_word_char) && !behind.starts_with(is_word_char);
        out.push_str(before);
        out.push_str(if whole { "\u{1}" } else { name });
        rest = behind;
    }
    out + rest
}

fn jaccard_index<T: Ord>(one: &BTreeSet<T>, other: &BTreeSet<T>) -> f64 {
    let all = one.union(other).count();
    if all == 0 { 0.0 } else { one.intersection(other).count() as f64 / all as f64 }
}

/// Splits a full name into its namespace and outer types, and the simple name without its number of type parameters.
fn split_name(name: &str) -> (&str, &str) {
    let (outer, own) = name.rsplit_once(['.', '+']).unwrap_or(("", name));
    (outer, own.split('`').next().unwrap_or(own))
}

fn arity_suffix(name: &str) -> &str {
    name.rsplit_once(['.', '+']).map_or(name, |(_, own)| own).split_once('`').map_or("", |(_, n)| n)
}
