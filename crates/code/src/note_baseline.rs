//! The baseline of a note: the hashes of the type and the text of its members when the note was written, and the diff against the
//! current version.
//!
//! Does not know where it is stored. Without a baseline, a change is known by its hashes alone.

use crate::classify::{ChangeClass, ChangeKind, classify_change};
use crate::hash::TypeHashes;
use crate::type_summary::{MemberSummary, SourceRange, TypeSummary};
use serde::{Deserialize, Serialize};
use syntax::MemberKind;

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Baseline {
    pub hashes: TypeHashes,
    members: Vec<MemberBaseline>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct MemberBaseline {
    kind: MemberKind,
    key: String,
    signature: String,
    text: String,
}

/// A changed, added or removed member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangedMember {
    pub signature: String,
    pub class: ChangeClass,
    pub change: ChangeKind,
    /// Removed lines begin with `-`, added lines with `+`.
    pub diff: Vec<String>,
}

/// Only the beginning of a longer member is stored and compared: a generated table of a megabyte is not worth describing.
const MAX_MEMBER_BYTES: usize = 4 << 10;
/// Limit for all members together; the rest are known by their hashes alone.
const MAX_BASELINE_BYTES: usize = 128 << 10;
/// Maximum number of removed and of added lines shown per member.
const MAX_DIFF_LINES: usize = 8;
/// A line of minified source can be as long as a page.
const MAX_LINE_BYTES: usize = 160;

impl Baseline {
    /// The baseline of the current version; `text` returns a range of the type's files, or only its signature.
    pub fn capture(card: &TypeSummary, text: &dyn Fn(&SourceRange, bool) -> String) -> Baseline {
        let mut left = MAX_BASELINE_BYTES;
        let kept = |member: &MemberSummary| {
            let own = truncate_text(&text(&member.range, false), MAX_MEMBER_BYTES.min(left));
            left -= own.len();
            let signature = to_one_line(&text(&member.range, true));
            MemberBaseline { kind: member.kind, key: member.key.clone(), signature, text: own }
        };
        Baseline { hashes: card.hashes.clone(), members: card.members.iter().map(kept).collect() }
    }

    /// The change class between this baseline and the current version, and the changed members, deepest change first; `None` if
    /// nothing changed.
    pub fn changes_since(&self, now: &Baseline) -> Option<(ChangeClass, Vec<ChangedMember>)> {
        let change = classify_change(&self.hashes, &now.hashes)?;
        let mut members: Vec<ChangedMember> = change
            .members
            .iter()
            .map(|member| {
                let (old, new) =
                    (self.member(member.kind, &member.key), now.member(member.kind, &member.key));
                let signature = new.or(old).map_or_else(|| member.key.clone(), |kept| kept.signature.clone());
                let lines =
                    |kept: Option<&MemberBaseline>| kept.map_or_else(String::new, |kept| kept.text.clone());
                let diff = diff_lines(&lines(old), &lines(new));
                ChangedMember { signature, class: member.class, change: member.change, diff }
            })
            .collect();
        members.sort_by_key(|member| member.class);
        Some((change.class, members))
    }

    fn member(&self, kind: MemberKind, key: &str) -> Option<&MemberBaseline> {
        self.members.iter().find(|member| (member.kind, member.key.as_str()) == (kind, key))
    }
}

fn truncate_text(text: &str, most: usize) -> String {
    text[..text.floor_char_boundary(most)].to_string()
}

fn to_one_line(text: &str) -> String {
    truncate_text(&text.split_whitespace().collect::<Vec<_>>().join(" "), MAX_LINE_BYTES)
}

/// The lines between the first and the last difference: enough for an edit in one place, and no more than a reader looks at.
fn diff_lines(old: &str, new: &str) -> Vec<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let same = |one: &&str, other: &&str| one.trim() == other.trim();
    let before = old.iter().zip(&new).take_while(|(one, other)| same(one, other)).count();
    let (old, new) = (&old[before..], &new[before..]);
    let after = old.iter().rev().zip(new.iter().rev()).take_while(|(one, other)| same(one, other)).count();
    let side = |sign: char, lines: &[&str]| {
        let mut shown: Vec<String> = lines
            .iter()
            .take(MAX_DIFF_LINES)
            .map(|line| format!("{sign} {}", truncate_text(line.trim(), MAX_LINE_BYTES)))
            .collect();
        if lines.len() > MAX_DIFF_LINES {
            shown.push(format!("{sign} … {} more lines", lines.len() - MAX_DIFF_LINES));
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
            assert_eq!(diff_lines(old, new), lines, "{old:?} {new:?}");
        }
        let long = "line\n".repeat(20);
        let lines = diff_lines("", &long);
        assert_eq!((lines.len(), lines[8].as_str()), (9, "+ … 12 more lines"));
    }

    /// A type whose members are given as key, body hash and text.
    fn sample_baseline(members: &[(&str, u64, &str)]) -> Baseline {
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
            body: hash(*n),
        });
        let members_kept = members.iter().map(|(key, _, text)| MemberBaseline {
            kind: MemberKind::Method,
            key: (*key).to_string(),
            signature: format!("void {key}"),
            text: (*text).to_string(),
        });
        let own = Hashes { structure: hash(members.len() as u64), public: hash(all), ..Hashes::default() };
        Baseline {
            hashes: TypeHashes { hashes: own, members: hashes.collect(), degraded: false },
            members: members_kept.collect(),
        }
    }

    #[test]
    fn changes_are_listed_per_member() {
        let then = sample_baseline(&[("A()", 1, "a"), ("B()", 2, "b")]);
        assert_eq!(then.changes_since(&then), None);
        let (class, members) =
            then.changes_since(&sample_baseline(&[("A()", 1, "a"), ("B()", 9, "x")])).unwrap();
        assert_eq!(class, ChangeClass::PublicBehavior);
        let expected = ChangedMember {
            signature: "void B()".to_string(),
            class: ChangeClass::PublicBehavior,
            change: ChangeKind::Changed,
            diff: vec!["- b".to_string(), "+ x".to_string()],
        };
        assert_eq!(members, [expected]);
        let (class, members) = then.changes_since(&sample_baseline(&[("A()", 1, "a")])).unwrap();
        assert_eq!(
            (class, members[0].change, members[0].diff.clone()),
            (ChangeClass::Structure, ChangeKind::Removed, vec!["- b".to_string()])
        );
    }
}
