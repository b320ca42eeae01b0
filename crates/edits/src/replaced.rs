//! What a new declaration takes away: names that it no longer declares, signatures that it changes, and who uses them.
//!
//! Does not know whether the users still compile.

use crate::edit::{Place, TextEdit};
use crate::error::EditError;
use crate::mentions::Mentions;
use crate::naming::RenameOptions;
use crate::plan::{Plan, Uncertain};
use crate::rename::find_uses;
use crate::sources::SymbolPlace;
use crate::tree::Tree;
use syntax::{FileFacts, Span};

/// A type, or a member with its signature.
#[derive(PartialEq, Eq)]
struct Declared {
    name: String,
    at: u32,
    /// Empty for a type: what a type declares are its members.
    signature: String,
}

/// Adds to the plan of a replacement which places use what the new text does not declare, and which use what it declares
/// differently. The former are uncertain; the latter may well be right.
pub(crate) fn add_users_of_lost(
    tree: &Tree,
    plan: &mut Plan,
    (file, span): (&str, Span),
    edit: &TextEdit,
) -> Result<(), EditError> {
    let number = tree.file_number(file).ok_or_else(|| EditError::NotFound(file.to_owned()))?;
    let new_span = Span { from: edit.from, to: edit.from + edit.text.len() as u32 };
    let (new_text, new_facts) = tree.sources.read_edited(file, std::slice::from_ref(edit))?;
    let old = list_declared(&tree.code.files[number as usize].facts, &tree.text(file)?.text, span);
    let new = list_declared(&new_facts, &new_text, new_span);
    let own = [(file.to_owned(), span)];
    for it in &old {
        let is_there = |other: &&Declared| {
            other.name == it.name && other.signature.is_empty() == it.signature.is_empty()
        };
        let same_name: Vec<&Declared> = new.iter().filter(is_there).collect();
        if same_name.iter().any(|other| other.signature == it.signature) {
            continue;
        }
        let place = SymbolPlace { file: file.to_owned(), at: it.at, name: it.name.clone() };
        let mentions = Mentions::find(tree, &it.name, number);
        let (used, _) = find_uses(tree, &mentions, &place, &own, RenameOptions::default())?;
        if same_name.is_empty() {
            let reason = format!("uses `{}`, which the new text does not declare", it.name);
            let to_unsure = |place| Uncertain { place, edit: None, likely: false, can_be_compiled: true };
            plan.unsure
                .extend(used.into_iter().map(|it| Place { reason: reason.clone(), ..it }).map(to_unsure));
        } else {
            let reason = format!("uses `{}`, whose declaration changes", it.name);
            plan.still_used.extend(used.into_iter().map(|it| Place { reason: reason.clone(), ..it }));
        }
    }
    Ok(())
}

/// The declarations inside of a span.
fn list_declared(facts: &FileFacts, text: &str, span: Span) -> Vec<Declared> {
    let is_inside = |it: Span| span.from <= it.from && it.to <= span.to;
    let mut found = Vec::new();
    for part in &facts.types {
        if is_inside(part.span) {
            found.push(Declared {
                name: part.name.clone(),
                at: part.signature.from,
                signature: String::new(),
            });
        }
        for member in part.members.iter().filter(|it| is_inside(it.span)) {
            let words: Vec<&str> = member.signature.text_in(text).split_whitespace().collect();
            let signature = format!("{} {}", member.key, words.join(" "));
            found.push(Declared { name: member.name.clone(), at: member.signature.from, signature });
        }
    }
    found
}
