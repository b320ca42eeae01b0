//! The stored description of one type: its name, location, members, hashes and outline.
//!
//! Can be built without any other type's summary. Does not know how it is stored or which types use it.

use crate::alias::body_digests;
use crate::codebase::Codebase;
use crate::hash::{TypeHashes, hash_type};
use crate::outline::Outliner;
use crate::resolve::Resolver;
use crate::symbol::{MemberName, TypeNames, distinct_members};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use syntax::{Digest, MemberKind, Span, TypeId, TypeKind, Visibility};

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TypeSummary {
    pub id: TypeId,
    /// The full name.
    pub name: String,
    /// The last part of the name.
    pub simple_name: String,
    pub project: String,
    pub kind: TypeKind,
    pub visibility: Visibility,
    pub arity: u16,
    /// Whether every declaration is in generated code.
    pub generated: bool,
    pub files: Vec<String>,
    /// The declarations.
    pub parts: Vec<SourceRange>,
    pub members: Vec<MemberSummary>,
    pub hashes: TypeHashes,
    /// The digests of the members' bodies.
    pub bodies: BTreeSet<Digest>,
    /// With the full ID, as in `outline_file`.
    pub outline: String,
    /// The outline as it is written to a file, with hashes.
    pub outline_file: String,
}

/// A range of one of the type's files.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SourceRange {
    /// Index into the type's files.
    pub file: u32,
    pub span: Span,
    /// From the first modifier up to the body.
    pub signature: Span,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MemberSummary {
    pub name: String,
    /// Identifies the member within its type: its name with the types of its parameters.
    pub key: String,
    pub kind: MemberKind,
    pub visibility: Visibility,
    pub range: SourceRange,
}

impl TypeSummary {
    pub fn build(code: &Codebase, resolver: &Resolver<'_>, outliner: &Outliner<'_>, of: u32) -> TypeSummary {
        let each = &code.types[of as usize];
        let mut files: Vec<String> = Vec::new();
        let mut number = |file: u32| {
            let path = &code.files[file as usize].path;
            files.iter().position(|known| known == path).unwrap_or_else(|| {
                files.push(path.clone());
                files.len() - 1
            }) as u32
        };
        let place = |file, span, signature| SourceRange { file, span, signature };
        let parts = each.parts.iter().map(|at| (number(at.0), code.part(*at)));
        let parts = parts.map(|(file, part)| place(file, part.span, part.signature)).collect();
        let members = distinct_members(code, each).into_iter().map(|(file, member)| MemberSummary {
            name: member.name.clone(),
            key: member.key.clone(),
            kind: member.kind,
            visibility: member.visibility,
            range: place(number(file), member.span, member.signature),
        });
        let members = members.collect();
        TypeSummary {
            id: each.id,
            name: each.name.clone(),
            simple_name: code.simple_name(of).to_owned(),
            project: code.projects.get(each.project as usize).map_or_else(String::new, |it| it.name.clone()),
            kind: each.kind,
            visibility: each.visibility,
            arity: code.parts(each).next().map_or(0, |part| part.arity),
            generated: each.parts.iter().all(|(file, _)| code.files[*file as usize].generated),
            files,
            parts,
            members,
            hashes: hash_type(code, resolver, of),
            bodies: body_digests(code, each),
            outline: outliner.text_with_full_id(of),
            outline_file: outliner.file_with_full_id(of),
        }
    }

    /// The names under which the type is looked up.
    pub fn to_names(&self) -> TypeNames {
        let member = |it: &MemberSummary| MemberName {
            name: it.name.clone(),
            key: it.key.clone(),
            visibility: it.visibility,
        };
        TypeNames {
            id: self.id,
            name: self.name.clone(),
            project: self.project.clone(),
            arity: self.arity,
            visibility: self.visibility,
            members: self.members.iter().map(member).collect(),
        }
    }

    /// The kind of each of its files: generated, test or source.
    pub fn file_kinds(&self) -> Vec<&'static str> {
        let kind = |path: &String| match (self.generated, path.to_lowercase().contains("test")) {
            (true, _) => "generated",
            (_, true) => "test",
            _ => "source",
        };
        self.files.iter().map(kind).collect()
    }

    /// The folder of the first declaration.
    pub fn folder(&self) -> &str {
        self.files.first().and_then(|file| file.rsplit_once('/')).map_or("", |(folder, _)| folder)
    }
}
