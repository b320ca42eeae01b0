//! The symbols of a single text, without an index: as much as a hook can afford before an edit.
//!
//! Does not resolve names. Two versions of a symbol are compared by what they say, not by what their names mean.

use crate::classify::ChangeClass;
use syntax::{Digest, FileFacts, Member, Reader, Span, Symbols, TypeKind, TypePart, Visibility, language_of};

/// A type or a member, and what others can rely on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSymbol {
    /// `Store.flush`; a free function has no type before it.
    pub name: String,
    pub span: Span,
    pub is_member: bool,
    declared: Vec<String>,
    /// What it does as far as users of the library can observe it.
    behaviour: Vec<Digest>,
    /// What it does, visible outside or not.
    body: Vec<Digest>,
    doc: Option<Digest>,
}

/// How two versions of what a name declares differ; None if the name is in neither. Versions that differ in nothing but layout and
/// comments differ cosmetically.
pub fn classify_symbol(before: &[FileSymbol], after: &[FileSymbol], name: &str) -> Option<ChangeClass> {
    let (before, after) = (named(before, name), named(after, name));
    if before.is_empty() && after.is_empty() {
        return None;
    }
    let same = |is_same: fn(&FileSymbol, &FileSymbol) -> bool| {
        before.len() == after.len() && before.iter().zip(&after).all(|(one, other)| is_same(one, other))
    };
    Some(if !same(|one, other| one.declared == other.declared) {
        ChangeClass::Structure
    } else if !same(|one, other| one.behaviour == other.behaviour) {
        ChangeClass::PublicBehavior
    } else if !same(|one, other| one.body == other.body) {
        ChangeClass::Internal
    } else if !same(|one, other| one.doc == other.doc) {
        ChangeClass::Docs
    } else {
        ChangeClass::Cosmetic
    })
}

fn named<'s>(all: &'s [FileSymbol], name: &str) -> Vec<&'s FileSymbol> {
    all.iter().filter(|it| it.name == name).collect()
}

/// The types and members that a text declares; none in a language that is not supported.
pub fn symbols_in_text(path: &str, text: &str) -> Vec<FileSymbol> {
    let reader = language_of(path.as_ref()).and_then(|language| Reader::new(language).ok());
    let Some(mut reader) = reader else { return Vec::new() };
    let facts = reader.read(text, &Symbols::default());
    let mut found = Vec::new();
    for part in &facts.types {
        let name = type_name(&facts, part);
        found.extend(part.members.iter().map(|member| member_symbol(&name, member)));
        if part.kind != TypeKind::Module {
            found.push(type_symbol(name, part));
        }
    }
    found
}

/// The members that overlap a span, or else the innermost type around it.
pub fn symbols_at(symbols: &[FileSymbol], at: Span) -> Vec<&FileSymbol> {
    let overlaps = |symbol: &&FileSymbol| symbol.span.from < at.to && at.from < symbol.span.to;
    let (members, types): (Vec<_>, Vec<_>) =
        symbols.iter().filter(overlaps).partition(|symbol| symbol.is_member);
    if !members.is_empty() {
        return members;
    }
    types.into_iter().min_by_key(|symbol| symbol.span.to - symbol.span.from).into_iter().collect()
}

/// The name of a type with the types around it. A module is named by its file, which nobody writes before a function.
fn type_name(facts: &FileFacts, part: &TypePart) -> String {
    let outer = part.outer.and_then(|outer| facts.types.get(outer as usize));
    let above = outer.map_or_else(String::new, |outer| type_name(facts, outer));
    if part.kind == TypeKind::Module { above } else { join_names(&above, &part.name) }
}

fn join_names(above: &str, name: &str) -> String {
    if above.is_empty() { name.to_owned() } else { format!("{above}.{name}") }
}

fn member_symbol(above: &str, member: &Member) -> FileSymbol {
    // As the index sees it: code of the same package is changed together.
    let behaviour = member.visibility.is_public_api().then_some(member.behaviour);
    FileSymbol {
        name: join_names(above, &member.name),
        span: member.span,
        is_member: true,
        declared: vec![member.signature_text.clone()],
        behaviour: behaviour.into_iter().collect(),
        body: vec![member.behaviour, member.private_behaviour],
        doc: member.doc.as_ref().map(|doc| doc.digest),
    }
}

fn type_symbol(name: String, part: &TypePart) -> FileSymbol {
    let visibility = part.visibility.map(Visibility::name).unwrap_or_default();
    let mut declared = vec![visibility.to_owned(), part.modifiers.join(" "), part.header_text.clone()];
    let visible = || part.members.iter().filter(|member| member.visibility.is_visible_outside());
    let public = part.members.iter().filter(|member| member.visibility.is_public_api());
    declared.extend(visible().map(|member| member.signature_text.clone()));
    FileSymbol {
        name,
        span: part.span,
        is_member: false,
        declared,
        behaviour: public.map(|member| member.behaviour).collect(),
        body: part.members.iter().map(|member| member.behaviour).collect(),
        doc: part.doc.as_ref().map(|doc| doc.digest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "pub struct Store { a: u32 }\n\nimpl Store {\n    pub fn flush(&self) -> u32 {\n        1\n    }\n    fn inner(&self) {}\n}\n\nfn free() {}\n";

    #[test]
    fn the_symbol_around_a_place_is_found() {
        let found = symbols_in_text("a.rs", TEXT);
        for (text, expected) in [("        1", "Store.flush"), ("fn free", "free"), ("struct Store", "Store")]
        {
            let at = TEXT.find(text).unwrap();
            let names: Vec<&str> = symbols_at(&found, Span::new(at, at + text.len()))
                .iter()
                .map(|it| it.name.as_str())
                .collect();
            assert_eq!(names, [expected], "{text}");
        }
        assert!(symbols_in_text("a.txt", TEXT).is_empty());
    }

    #[test]
    fn an_edit_has_the_class_of_what_it_changes() {
        for (name, from, to, class) in [
            ("Store.flush", "-> u32", "-> u64", ChangeClass::Structure),
            ("Store.flush", "        1", "        2", ChangeClass::PublicBehavior),
            ("Store.inner", "inner(&self) {}", "inner(&self) { drop(1) }", ChangeClass::Internal),
            ("Store.flush", "    pub fn flush", "    /// Writes.\n    pub fn flush", ChangeClass::Docs),
            ("Store.flush", "        1", "        1 // one", ChangeClass::Cosmetic),
        ] {
            let (before, after) =
                (symbols_in_text("a.rs", TEXT), symbols_in_text("a.rs", &TEXT.replace(from, to)));
            assert_eq!(classify_symbol(&before, &after, name), Some(class), "{to}");
        }
        assert_eq!(
            classify_symbol(&symbols_in_text("a.rs", TEXT), &[], "Store.flush"),
            Some(ChangeClass::Structure)
        );
        assert_eq!(classify_symbol(&[], &[], "Store.flush"), None);
    }
}
