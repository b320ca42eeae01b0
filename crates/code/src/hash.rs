//! The five hashes of a type: its contract with other types (structure), the bodies of its public members (public), code that
//! only it can see (internal), its documentation (doc), and every byte (cosmetic). Two versions with an equal hash differ only in
//! the other aspects.
//!
//! Does not know the other version; `classify` compares.
//!
//! Hash inputs are canonical: members are sorted, the parts of a partial type are joined, and names are resolved where possible.
//! They include `HASH_VERSION`, which changes when any of this does.

use crate::codebase::Codebase;
use crate::resolve::Resolver;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use syntax::{Digest, Member, MemberKind, Shape, TypePart, Visibility, language_of};

/// Changes when the same source would get different hashes.
pub const HASH_VERSION: u32 = 3;

/// The five hashes of a type.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Hashes {
    pub structure: Digest,
    pub public: Digest,
    pub internal: Digest,
    pub cosmetic: Digest,
    pub doc: Digest,
}

impl Hashes {
    /// Public and internal behaviour combined.
    pub fn implementation(&self) -> Digest {
        Digest::of_bytes(format!("v1|{:016x}|{:016x}", self.public.0, self.internal.0).as_bytes())
    }
}

/// The hashes of one member; zero for an aspect that the member does not contribute to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MemberHashes {
    pub kind: MemberKind,
    pub key: String,
    pub visibility: Visibility,
    pub structure: Digest,
    pub public: Digest,
    pub internal: Digest,
    pub doc: Digest,
    /// Its behaviour without its name and signature.
    pub body: Digest,
}

/// Everything that is compared between two versions of a type.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TypeHashes {
    pub hashes: Hashes,
    /// Sorted by kind and key.
    pub members: Vec<MemberHashes>,
    /// Whether part of the type could not be parsed.
    pub degraded: bool,
}

/// Hashes several texts independently of their order.
fn digest_unordered(name: &str, mut texts: Vec<String>) -> Digest {
    texts.sort_unstable();
    Digest::of_bytes(format!("{name}/{HASH_VERSION}\n{}", texts.join("\n")).as_bytes())
}

/// The hashes of a type and of each of its members.
pub fn hash_type(code: &Codebase, resolver: &Resolver, of: u32) -> TypeHashes {
    let each = &code.types[of as usize];
    let mut members: Vec<MemberHashes> = Vec::new();
    for (file, part) in &each.parts {
        for member in &code.part((*file, *part)).members {
            members.push(member_hashes(resolver, *file, member));
        }
    }
    members.sort_by(|one, other| {
        (one.kind, &one.key, one.structure, one.public).cmp(&(
            other.kind,
            &other.key,
            other.structure,
            other.public,
        ))
    });
    let of_members = |pick: fn(&MemberHashes) -> Digest| {
        members
            .iter()
            .map(pick)
            .filter(|digest| digest.0 != 0)
            .map(|digest| format!("member {:016x}", digest.0))
    };
    let mut structure = header_lines(code, resolver, of);
    structure.extend(of_members(|member| member.structure));
    structure.extend(field_order(code, of));
    let mut public: Vec<String> = of_members(|member| member.public).collect();
    let mut doc: Vec<String> = of_members(|member| member.doc).collect();
    for part in code.parts(each) {
        if part.header_behaviour.0 != 0 {
            public.push(format!("header {:016x}", part.header_behaviour.0));
        }
        doc.extend(part.doc.as_ref().map(|doc| format!("type {:016x}", doc.digest.0)));
    }
    let raw = code.parts(each).map(|part| format!("{:016x}", part.raw_digest.0));
    let hashes = Hashes {
        structure: digest_unordered("structure", structure),
        public: digest_unordered("public", public),
        internal: digest_unordered("internal", of_members(|member| member.internal).collect()),
        cosmetic: digest_unordered("cosmetic", raw.collect()),
        doc: digest_unordered("doc", doc),
    };
    TypeHashes { hashes, members, degraded: code.parts(each).any(|part| part.degraded) }
}

/// The declaration header of a type, one line per fact; facts repeated by several parts count once.
fn header_lines(code: &Codebase, resolver: &Resolver, of: u32) -> Vec<String> {
    let each = &code.types[of as usize];
    let mut lines = vec![format!("{} {} {}", each.visibility.name(), each.kind.name(), each.name)];
    for (file, part) in &each.parts {
        let part = code.part((*file, *part));
        let shapes = |name: &str, shapes: &[Shape]| -> Vec<String> {
            shapes.iter().map(|shape| format!("{name} {}", render_resolved(resolver, *file, shape))).collect()
        };
        lines.extend(part.modifiers.iter().map(|word| format!("modifier {word}")));
        lines.extend(Some(&part.parameters).filter(|it| !it.is_empty()).map(|it| format!("parameters {it}")));
        lines.extend(shapes("attribute", &part.attributes));
        let bases = shapes("base", &part.bases);
        lines.extend(Some(bases.join(", ")).filter(|_| bases.len() > 1 && has_ordered_bases(code, *file)));
        lines.extend(bases);
        if !part.header.is_empty() {
            lines.extend(shapes("header", std::slice::from_ref(&part.header)));
        }
    }
    for nested in code.nested_types(of) {
        let nested = &code.types[nested as usize];
        if nested.visibility.is_visible_outside() {
            lines.push(format!("nested {} {} {}", nested.visibility.name(), nested.kind.name(), nested.name));
        }
    }
    lines.sort_unstable();
    lines.dedup();
    lines
}

/// Whether the order of base types decides which of two inherited members is meant.
fn has_ordered_bases(code: &Codebase, file: u32) -> bool {
    let language = language_of(code.files[file as usize].path.as_ref());
    language.is_some_and(|language| matches!(language.name, "Python" | "C++"))
}

/// If a type declares its memory layout, the order of its fields is part of its contract.
fn field_order(code: &Codebase, of: u32) -> Option<String> {
    let each = &code.types[of as usize];
    let says_layout = |part: &TypePart| part.has_explicit_layout;
    let mut parts = code.parts(each);
    parts.any(says_layout).then(|| {
        let members = code.parts(each).flat_map(|part| &part.members);
        let fields = members.filter(|member| member.kind == MemberKind::Field && !member.is_static);
        format!("order {}", fields.map(|field| field.name.as_str()).collect::<Vec<_>>().join(" "))
    })
}

fn member_hashes(resolver: &Resolver, file: u32, member: &Member) -> MemberHashes {
    let shape = render_resolved(resolver, file, &member.shape);
    let head = format!("{} {} {} {shape}", member.visibility.name(), member.kind.name(), member.name);
    let with = |digest: Digest| {
        if digest.0 == 0 {
            Digest(0)
        } else {
            Digest::of_bytes(format!("{head}\n{:016x}", digest.0).as_bytes())
        }
    };
    let zero = Digest(0);
    let body = Digest(member.behaviour.0 ^ member.private_behaviour.0.rotate_left(1));
    let open = member.visibility.is_public_api();
    let structure =
        if member.visibility.is_visible_outside() { Digest::of_bytes(head.as_bytes()) } else { zero };
    let internal = match member.visibility {
        Visibility::Private => Digest::of_bytes(format!("{head}\n{:016x}", member.behaviour.0).as_bytes()),
        _ if open => with(member.private_behaviour),
        _ => with(body),
    };
    MemberHashes {
        kind: member.kind,
        key: member.key.clone(),
        visibility: member.visibility,
        structure,
        public: if open { with(member.behaviour) } else { zero },
        internal,
        doc: member.doc.as_ref().map_or(zero, |doc| with(doc.digest)),
        body,
    }
}

/// Renders a shape with each name resolved.
fn render_resolved(resolver: &Resolver, file: u32, shape: &Shape) -> String {
    let mut out = String::new();
    shape.render(
        |reference, out| {
            let _ = write!(out, "{}", resolver.canonical_name(file, reference));
        },
        &mut out,
    );
    out
}
