//! The stored description of one type: its name, location, members, hashes and outline.
//!
//! Can be built without any other type's summary. Does not know how it is stored or which types use it.

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
    /// The full name.
    pub name: String,
    /// The last part of the name.
    pub simple: String,
    pub project: String,
    pub kind: TypeKind,
    pub visibility: Visibility,
    pub arity: u16,
    /// Whether every declaration is in generated code.
    pub generated: bool,
    pub files: Vec<String>,
    /// The declarations.
    pub parts: Vec<Place>,
    pub members: Vec<Offered>,
    pub hashes: TypeHashes,
    /// The digests of the members' bodies.
    pub bodies: BTreeSet<Digest>,
    /// With the full ID, as in `kept`.
    pub outline: String,
    /// The outline as it is written to a file, with hashes.
    pub kept: String,
}

/// A range of one of the type's files.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Place {
    /// Index into the type's files.
    pub file: u32,
    pub span: Span,
    /// From the first modifier up to the body.
    pub signature: Span,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Offered {
    pub name: String,
    /// Identifies the member within its type: its name with the types of its parameters.
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

    /// The names under which the type is looked up.
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

    /// The folder of the first declaration.
    pub fn folder(&self) -> &str {
        self.files.first().and_then(|file| file.rsplit_once('/')).map_or("", |(folder, _)| folder)
    }
}
