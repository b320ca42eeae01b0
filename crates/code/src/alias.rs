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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codebase::SourceFile;
    use crate::hash::hash_type;
    use crate::resolve::Resolver;
    use project::Project;
    use std::fmt::Write;
    use syntax::{LANGUAGES, Reader, Symbols};

    struct SampleType {
        id: TypeId,
        name: String,
        kind: TypeKind,
        hashes: TypeHashes,
        bodies: BTreeSet<Digest>,
        files: Vec<String>,
    }

    /// Parses some files and describes each type in them.
    fn sample_types(files: &[(String, String)]) -> Vec<SampleType> {
        let mut reader = Reader::new(&LANGUAGES[0]).unwrap();
        let read = |(path, text): &(String, String)| SourceFile {
            path: path.clone(),
            project: 0,
            generated: false,
            facts: reader.read(text, &Symbols::default()),
        };
        let code = Codebase::new(vec![Project::default()], files.iter().map(read).collect());
        let resolver = Resolver::new(&code);
        let describe = |(of, each): (usize, &Type)| SampleType {
            id: each.id,
            name: each.name.clone(),
            kind: each.kind,
            hashes: hash_type(&code, &resolver, of as u32),
            bodies: body_digests(&code, each),
            files: each.parts.iter().map(|(file, _)| code.files[*file as usize].path.clone()).collect(),
        };
        code.types.iter().enumerate().map(describe).collect()
    }

    fn only_in_first<'a>(all: &'a [SampleType], without: &[SampleType]) -> Vec<TypeSnapshot<'a>> {
        let only_here = |each: &&SampleType| without.iter().all(|other| other.id != each.id);
        let known = |each: &'a SampleType| TypeSnapshot {
            id: each.id,
            name: &each.name,
            kind: each.kind,
            hashes: &each.hashes,
            bodies: &each.bodies,
            files: &each.files,
        };
        all.iter().filter(only_here).map(known).collect()
    }

    /// The detected renames (old and new name) between two versions of the same files, and the number of conflicts.
    fn detected_renames(
        before: &[(String, String)],
        after: &[(String, String)],
    ) -> (Vec<(String, String)>, usize) {
        let (old, new) = (sample_types(before), sample_types(after));
        let (gone, come) = (only_in_first(&old, &new), only_in_first(&new, &old));
        let (aliases, conflicts) = detect_renames(&gone, &come, &|_| None);
        let name = |of: &[TypeSnapshot], id: TypeId| {
            of.iter().find(|known| known.id == id).unwrap().name.to_string()
        };
        let pairs = aliases.iter().map(|alias| (name(&gone, alias.old), name(&come, alias.new))).collect();
        (pairs, conflicts.len())
    }

    struct Random(u64);

    impl Random {
        fn next_below(&mut self, n: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % n
        }
    }

    const WORDS: &[&str] = &[
        "Node", "Store", "Batch", "Cache", "User", "Order", "Index", "Queue", "Parser", "Token", "Reader",
        "Frame",
    ];

    /// A class as people write them: properties that every second class has, and methods of its own.
    fn sample_class(dice: &mut Random, space: &str, name: &str) -> String {
        let mut text = format!(
            "namespace {space} {{ public class {name} {{\n  public {name}(int seed) {{ Seed = seed + {}; }}\n  public int Seed {{ get; }}\n",
            dice.next_below(1000)
        );
        for _ in 0..dice.next_below(3) {
            let _ = writeln!(
                text,
                "  public string {} {{ get; set; }}",
                ["Id", "Name", "Title"][dice.next_below(3) as usize]
            );
        }
        for n in 0..2 + dice.next_below(5) {
            let word = WORDS[dice.next_below(12) as usize];
            let _ = writeln!(
                text,
                "  public int Get{word}{n}(int a, {name} other) {{ var x = a * {}; return x - {} + other.Seed; }}",
                dice.next_below(500),
                dice.next_below(500)
            );
        }
        text + "} }\n"
    }

    /// Two hundred renames and moves, half of them with an edit, in trees with another type that stays the same.
    #[test]
    fn renamed_and_moved_types_are_found() {
        let mut dice = Random(7);
        let mut hits = 0;
        for round in 0..200 {
            let stays = sample_class(&mut dice, "Memo.Core", "Stays");
            let (old_name, new_name) = (
                format!("Old{}", WORDS[dice.next_below(12) as usize]),
                format!("New{}", WORDS[dice.next_below(12) as usize]),
            );
            let text = sample_class(&mut dice, "Memo.Core", &old_name);
            let (mut after, expected) = match round % 3 {
                0 => (text.replace(&old_name, &new_name), format!("Memo.Core.{new_name}")),
                1 => (text.replace("Memo.Core", "Memo.Elsewhere"), format!("Memo.Elsewhere.{old_name}")),
                _ => (
                    text.replace(&old_name, &new_name).replace("Memo.Core", "Memo.Elsewhere"),
                    format!("Memo.Elsewhere.{new_name}"),
                ),
            };
            if dice.next_below(2) == 0 {
                after = after.replacen("var x = a *", "var x = 7 + a *", 1); // edited in the same batch
            }
            let new_path = if round % 2 == 0 { "a.cs" } else { "b.cs" };
            let file = |path: &str, text: &str| (path.to_string(), text.to_string());
            let before = [file("a.cs", &text), file("s.cs", &stays)];
            let after = [file(new_path, &after), file("s.cs", &stays)];
            hits += usize::from(
                detected_renames(&before, &after).0 == [(format!("Memo.Core.{old_name}"), expected)],
            );
        }
        println!("{hits} of 200");
        assert!(hits >= 190, "{hits} of 200");
    }

    /// Two hundred times, a type is removed and another is added that has the same shape and another purpose.
    #[test]
    fn unrelated_types_are_not_reported_as_renames() {
        let mut dice = Random(11);
        let file = |path: &str, text: &str| (path.to_string(), text.to_string());
        for round in 0..200 {
            let one = sample_class(&mut dice, "Memo.Core", "OldThing");
            let other =
                sample_class(&mut dice, if round % 2 == 0 { "Memo.Core" } else { "Memo.Web" }, "Another");
            let path = if round % 4 == 0 { "a.cs" } else { "b.cs" };
            let (pairs, _) = detected_renames(&[file("a.cs", &one)], &[file(path, &other)]);
            assert_eq!(pairs, [], "round {round}\n{one}\n{other}");
        }
        // Plain data classes, of which a codebase has many.
        let holder = |name: &str| {
            format!(
                "namespace N {{ public class {name} {{ public int Id {{ get; set; }} public string Name {{ get; set; }} }} }}"
            )
        };
        assert_eq!(
            detected_renames(&[file("a.cs", &holder("UserDto"))], &[file("b.cs", &holder("OrderDto"))]).0,
            []
        );
    }

    #[test]
    fn ambiguous_renames_are_reported_as_conflicts() {
        let mut dice = Random(3);
        let file = |path: &str, text: String| (path.to_string(), text);
        let text = sample_class(&mut dice, "N", "Old");
        let twice = [file("b.cs", text.replace("Old", "One")), file("c.cs", text.replace("Old", "Two"))];
        assert_eq!(detected_renames(&[file("a.cs", text.clone())], &twice), (vec![], 1));
        let rather =
            [file("a.cs", text.replace("Old", "One")), file("c.cs", sample_class(&mut dice, "N", "Two"))];
        assert_eq!(
            detected_renames(&[file("a.cs", text)], &rather),
            (vec![("N.Old".into(), "N.One".into())], 0)
        );
    }
}
