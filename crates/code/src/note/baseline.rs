//! The baseline of a note: the hashes of the type and the text of its members when the note was written, and the diff against the
//! current version.
//!
//! Does not know where it is stored. Without a baseline, a change is known by its hashes alone.

use crate::card::{Card, Offered, Place};
use crate::classify::{ChangeClass, Fate, classify};
use crate::hash::TypeHashes;
use serde::{Deserialize, Serialize};
use syntax::MemberKind;

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Base {
    pub hashes: TypeHashes,
    members: Vec<Kept>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Kept {
    kind: MemberKind,
    key: String,
    signature: String,
    text: String,
}

/// A changed, added or removed member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Affected {
    pub signature: String,
    pub class: ChangeClass,
    pub fate: Fate,
    /// Removed lines begin with `-`, added lines with `+`.
    pub diff: Vec<String>,
}

/// Only the beginning of a longer member is stored and compared: a generated table of a megabyte is not worth describing.
const MOST_OF_MEMBER: usize = 4 << 10;
/// Limit for all members together; the rest are known by their hashes alone.
const MOST: usize = 128 << 10;
/// Maximum number of removed and of added lines shown per member.
const LINES: usize = 8;
/// A line of minified source can be as long as a page.
const MOST_OF_LINE: usize = 160;

impl Base {
    /// The baseline of the current version; `text` returns a range of the type's files, or only its signature.
    pub fn of(card: &Card, text: &dyn Fn(&Place, bool) -> String) -> Base {
        let mut left = MOST;
        let kept = |member: &Offered| {
            let own = cut(&text(&member.place, false), MOST_OF_MEMBER.min(left));
            left -= own.len();
            let signature = one_line(&text(&member.place, true));
            Kept { kind: member.kind, key: member.key.clone(), signature, text: own }
        };
        Base { hashes: card.hashes.clone(), members: card.members.iter().map(kept).collect() }
    }

    /// The change class between this baseline and the current version, and the changed members, deepest change first; `None` if
    /// nothing changed.
    pub fn change(&self, now: &Base) -> Option<(ChangeClass, Vec<Affected>)> {
        let change = classify(&self.hashes, &now.hashes)?;
        let mut members: Vec<Affected> = change
            .members
            .iter()
            .map(|member| {
                let (old, new) =
                    (self.member(member.kind, &member.key), now.member(member.kind, &member.key));
                let signature = new.or(old).map_or_else(|| member.key.clone(), |kept| kept.signature.clone());
                let lines = |kept: Option<&Kept>| kept.map_or_else(String::new, |kept| kept.text.clone());
                let diff = diff(&lines(old), &lines(new));
                Affected { signature, class: member.class, fate: member.fate, diff }
            })
            .collect();
        members.sort_by_key(|member| member.class);
        Some((change.class, members))
    }

    fn member(&self, kind: MemberKind, key: &str) -> Option<&Kept> {
        self.members.iter().find(|member| (member.kind, member.key.as_str()) == (kind, key))
    }
}

fn cut(text: &str, most: usize) -> String {
    text[..text.floor_char_boundary(most)].to_string()
}

fn one_line(text: &str) -> String {
    cut(&text.split_whitespace().collect::<Vec<_>>().join(" "), MOST_OF_LINE)
}

/// The lines between the first and the last difference: enough for an edit in one place, and no more than a reader looks at.
fn diff(old: &str, new: &str) -> Vec<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let same = |one: &&str, other: &&str| one.trim() == other.trim();
    let before = old.iter().zip(&new).take_while(|(one, other)| same(one, other)).count();
    let (old, new) = (&old[before..], &new[before..]);
    let after = old.iter().rev().zip(new.iter().rev()).take_while(|(one, other)| same(one, other)).count();
    let side = |sign: char, lines: &[&str]| {
        let mut shown: Vec<String> = lines
            .iter()
            .take(LINES)
            .map(|line| format!("{sign} {}", cut(line.trim(), MOST_OF_LINE)))
            .collect();
        if lines.len() > LINES {
            shown.push(format!("{sign} … {} more lines", lines.len() - LINES));
        }
        shown
    };
    [side('-', &old[..old.len() - after]), side('+', &new[..new.len() - after])].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::{Hashes, MemberHashes};
    use syntax::{Digest, Visibility};

    #[test]
    fn a_diff_has_the_lines_between_the_first_and_last_difference() {
        for (old, new, lines) in [
            ("a\nb\nc", "a\nb\nc", vec![]),
            ("a\nb\nc", "a\nx\nc", vec!["- b", "+ x"]),
            ("a\nc", "a\nb\nc", vec!["+ b"]),
            ("a\nb\nb\nc", "a\nb\nc", vec!["- b"]),
            ("  a\n", "a\n", vec![]),
            ("", "a", vec!["+ a"]),
        ] {
            assert_eq!(diff(old, new), lines, "{old:?} {new:?}");
        }
        let long = "line\n".repeat(20);
        let lines = diff("", &long);
        assert_eq!((lines.len(), lines[8].as_str()), (9, "+ … 12 more lines"));
    }

    /// A type whose members are given as key, body hash and text.
    fn base(members: &[(&str, u64, &str)]) -> Base {
        let hash = |n: u64| Digest(n);
        let all: u64 = members.iter().map(|(_, n, _)| n).sum();
        let zero = Digest::default();
        let hashes = members.iter().map(|(key, n, _)| MemberHashes {
            kind: MemberKind::Method,
            key: (*key).to_string(),
            visibility: Visibility::Public,
            structure: hash(1),
            public: hash(*n),
            internal: zero,
            doc: zero,
        });
        let members_kept = members.iter().map(|(key, _, text)| Kept {
            kind: MemberKind::Method,
            key: (*key).to_string(),
            signature: format!("void {key}"),
            text: (*text).to_string(),
        });
        let own = Hashes { structure: hash(members.len() as u64), public: hash(all), ..Hashes::default() };
        Base {
            hashes: TypeHashes { hashes: own, members: hashes.collect(), degraded: false },
            members: members_kept.collect(),
        }
    }

    #[test]
    fn changes_are_listed_per_member() {
        let then = base(&[("A()", 1, "a"), ("B()", 2, "b")]);
        assert_eq!(then.change(&then), None);
        let (class, members) = then.change(&base(&[("A()", 1, "a"), ("B()", 9, "x")])).unwrap();
        assert_eq!(class, ChangeClass::PublicBehavior);
        let expected = Affected {
            signature: "void B()".to_string(),
            class: ChangeClass::PublicBehavior,
            fate: Fate::Changed,
            diff: vec!["- b".to_string(), "+ x".to_string()],
        };
        assert_eq!(members, [expected]);
        let (class, members) = then.change(&base(&[("A()", 1, "a")])).unwrap();
        assert_eq!(
            (class, members[0].fate, members[0].diff.clone()),
            (ChangeClass::Structure, Fate::Removed, vec!["- b".to_string()])
        );
    }
}
