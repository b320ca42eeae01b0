//! Everything that is to be said of one type without looking at any other: its name, where it stands, its members, its hashes and its
//! outline.
//!
//! Does not know how it is kept, nor who uses the type.

use crate::alias::bodies;
use crate::codebase::Codebase;
use crate::hash::{TypeHashes, hashes};
use crate::outline::Outliner;
use crate::resolve::Resolver;
use crate::symbol::{Named, NamedMember, members};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use syntax::{Digest, MemberKind, Span, TypeId, TypeKind, Visibility};

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Card {
    pub id: TypeId,
    /// In full.
    pub name: String,
    /// The last part of it.
    pub simple: String,
    pub project: String,
    pub kind: TypeKind,
    pub visibility: Visibility,
    pub arity: u16,
    /// Whether a tool wrote it.
    pub generated: bool,
    pub files: Vec<String>,
    /// Its declarations.
    pub parts: Vec<Place>,
    pub members: Vec<Offered>,
    pub hashes: TypeHashes,
    /// What its members do, a number each.
    pub bodies: BTreeSet<Digest>,
    /// With the whole id in it, as in the next.
    pub outline: String,
    /// The outline as it is kept in a file, with hashes.
    pub kept: String,
}

/// A stretch of one of the files.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Place {
    /// Index among the type's files.
    pub file: u32,
    pub span: Span,
    /// From the first modifier to the body.
    pub signature: Span,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Offered {
    pub name: String,
    /// What tells it from the others of its type.
    pub key: String,
    pub kind: MemberKind,
    pub visibility: Visibility,
    pub place: Place,
}

impl Card {
    pub(crate) fn of(code: &Codebase, resolver: &Resolver<'_>, outliner: &Outliner<'_>, of: u32) -> Card {
        let each = &code.types[of as usize];
        let mut files: Vec<String> = Vec::new();
        let mut number = |file: u32| {
            let path = &code.files[file as usize].path;
            files.iter().position(|known| known == path).unwrap_or_else(|| {
                files.push(path.clone());
                files.len() - 1
            }) as u32
        };
        let place = |file, span, signature| Place { file, span, signature };
        let parts = each.parts.iter().map(|at| (number(at.0), code.part(*at)));
        let parts = parts.map(|(file, part)| place(file, part.span, part.signature)).collect();
        let members = members(code, each).into_iter().map(|(file, member)| Offered {
            name: member.name.clone(),
            key: member.key.clone(),
            kind: member.kind,
            visibility: member.visibility,
            place: place(number(file), member.span, member.signature),
        });
        let members = members.collect();
        Card {
            id: each.id,
            name: each.name.clone(),
            simple: code.simple_name(of).to_owned(),
            project: code.projects.get(each.project as usize).map_or_else(String::new, |it| it.name.clone()),
            kind: each.kind,
            visibility: each.visibility,
            arity: code.parts(each).next().map_or(0, |part| part.arity),
            generated: each.parts.iter().all(|(file, _)| code.files[*file as usize].generated),
            files,
            parts,
            members,
            hashes: hashes(code, resolver, of),
            bodies: bodies(code, each),
            outline: outliner.whole(of),
            kept: outliner.whole_file(of),
        }
    }

    /// What finds it.
    pub(crate) fn named(&self) -> Named {
        let member = |it: &Offered| NamedMember {
            name: it.name.clone(),
            key: it.key.clone(),
            visibility: it.visibility,
        };
        Named {
            id: self.id,
            name: self.name.clone(),
            project: self.project.clone(),
            arity: self.arity,
            visibility: self.visibility,
            members: self.members.iter().map(member).collect(),
        }
    }

    /// The folder in which it is declared first.
    pub fn folder(&self) -> &str {
        self.files.first().and_then(|file| file.rsplit_once('/')).map_or("", |(folder, _)| folder)
    }
}
