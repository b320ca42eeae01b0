//! A type as one line of the list of its folder: its hashes, its last change and the state of its note.
//!
//! Does not read the store or the folder: the caller passes what it found there.

use code::{NoteState, NoteStatus, TypeSummary};
use serde_json::{Map, Value, json};
use syntax::Digest;

/// The header of a note, as far as rows depend on it; each list has one entry per type.
#[derive(Clone, Debug, Default)]
pub struct NoteHead {
    pub types: Vec<String>,
    pub structure: Vec<String>,
    pub implementation: Vec<String>,
    pub date: Option<String>,
}

/// The note about a type.
#[derive(Clone, Debug)]
pub(super) struct FoundNote {
    pub(super) head: NoteHead,
    /// The position of the type in the header.
    pub(super) position: usize,
    /// The ID of its dependency cycle, if the note is about one.
    pub(super) group: Option<String>,
    /// Whether the stored state is about this text.
    pub(super) seen: bool,
}

/// What is known about a type besides its summary.
pub(super) struct RowState<'a> {
    pub(super) state: NoteState,
    pub(super) note: Option<&'a FoundNote>,
    /// Public and internal hash of the version that the note was written for.
    pub(super) base: Option<[Digest; 2]>,
    /// The row as it was last written. Another checkout may have written it, and it knows what a new index does not.
    pub(super) previous: Option<&'a Value>,
    pub(super) depth: Option<u32>,
}

/// A type as one line, so that a changed type is a changed line; the name comes first, for sorting.
pub(super) fn format_row(card: &TypeSummary, row: &RowState<'_>) -> String {
    let mut fields = Map::new();
    for (name, value) in [
        ("fqn", card.name.clone()),
        ("id", card.id.to_string()),
        ("project", card.project.clone()),
        ("kind", card.kind.name().to_owned()),
        ("access", card.visibility.name().to_owned()),
    ]
    .into_iter()
    .chain(hash_fields(card))
    {
        fields.insert(name.to_owned(), Value::String(value));
    }
    fields.insert("files".to_owned(), json!(card.files));
    let base = row.note.and_then(|note| semantic_base(card, row, note));
    for (name, value) in [
        ("changeClass", json!(change_class(card, row))),
        ("internalChanged", json!(is_drifting(card, row, base.as_ref()))),
        ("semanticState", json!(semantic_state(card, row, base.as_ref()))),
        ("lastSemanticBase", json!(base)),
        ("semanticGroupId", json!(row.note.and_then(|note| note.group.as_ref()))),
        ("depthHint", json!(row.depth)),
    ] {
        fields.insert(name.to_owned(), value);
    }
    Value::Object(fields).to_string()
}

fn hash_fields(card: &TypeSummary) -> [(&'static str, String); 6] {
    let hashes = &card.hashes.hashes;
    [
        ("structureHash", hashes.structure.to_string()),
        ("publicImplHash", hashes.public.to_string()),
        ("internalImplHash", hashes.internal.to_string()),
        ("cosmeticHash", hashes.cosmetic.to_string()),
        ("implHash", hashes.implementation().to_string()),
        ("xmlDocHash", hashes.doc.to_string()),
    ]
}

/// Whether a row has the hashes of this version of the type.
pub(super) fn is_same_version(card: &TypeSummary, row: &Value) -> bool {
    hash_fields(card).iter().all(|(name, hash)| row[*name] == **hash)
}

/// The hashes that differ, deepest first, and the class of a change that they are the deepest of.
const CLASSES: &[(&str, &str)] = &[
    ("structureHash", "Structure"),
    ("publicImplHash", "PublicBehavior"),
    ("internalImplHash", "Internal"),
    ("xmlDocHash", "Docs"),
    ("cosmeticHash", "Cosmetic"),
];

/// The class of the last change. Of a change before this index was made, only the hashes in the previous row tell.
fn change_class(card: &TypeSummary, row: &RowState<'_>) -> Option<String> {
    if row.note.is_some() && row.state.dependency_changed {
        return Some("Structure-Dependency".to_owned());
    }
    let own = || row.state.last_change.map(|class| class.name().to_owned());
    let Some(previous) = row.previous else { return own() };
    let now = hash_fields(card);
    let differs =
        |name: &str| now.iter().any(|(field, hash)| *field == name && previous[name] != hash.as_str());
    match CLASSES.iter().find(|(name, _)| differs(name)) {
        Some((_, class)) => Some(own().unwrap_or_else(|| (*class).to_owned())),
        None => previous["changeClass"].as_str().map(str::to_owned).or_else(own),
    }
}

/// What the note was written for. `None` if its header does not say.
fn semantic_base(card: &TypeSummary, row: &RowState<'_>, note: &FoundNote) -> Option<Value> {
    let structure = note.head.structure.get(note.position)?.to_lowercase();
    let implementation = note.head.implementation.get(note.position)?.to_lowercase();
    let now = &card.hashes.hashes;
    let mut base =
        json!({"structureHash": structure, "implHash": implementation, "generatedAt": note.head.date});
    let before =
        row.previous.map(|row| &row["lastSemanticBase"]).filter(|it| it["implHash"] == implementation);
    let parts = match (now.implementation().to_string() == implementation, row.base, before) {
        (true, ..) => [json!(now.public.to_string()), json!(now.internal.to_string())],
        (false, Some(base), _) => base.map(|hash| json!(hash.to_string())),
        (false, None, Some(before)) => {
            ["publicImplHash", "internalImplHash"].map(|name| before[name].clone())
        }
        (false, None, None) => [Value::Null, Value::Null],
    };
    [base["publicImplHash"], base["internalImplHash"]] = parts;
    Some(base)
}

/// The previous row, if it is about this version and this note, and the store has not seen the note yet.
fn inherited<'a>(card: &TypeSummary, row: &RowState<'a>, base: Option<&Value>) -> Option<&'a Value> {
    let unseen = row.note.is_some_and(|note| !note.seen);
    let previous = row.previous.filter(|_| unseen).filter(|previous| is_same_version(card, previous))?;
    let is_same =
        |name: &str| previous["lastSemanticBase"][name] == base.map_or(Value::Null, |it| it[name].clone());
    ["structureHash", "implHash", "generatedAt"].iter().all(|name| is_same(name)).then_some(previous)
}

/// Requests for a note are left out: they are made by reading, and reading changes no committed file.
fn semantic_state(card: &TypeSummary, row: &RowState<'_>, base: Option<&Value>) -> String {
    let Some(note) = row.note else { return NoteStatus::None.name().to_owned() };
    if let Some(state) = inherited(card, row, base).and_then(|previous| previous["semanticState"].as_str()) {
        return state.to_owned();
    }
    let current = match row.state.status {
        NoteStatus::Cached if note.seen => true,
        NoteStatus::Stale if note.seen => false,
        _ => is_current(card, base) && !(note.seen && row.state.dependency_changed),
    };
    if current { NoteStatus::Cached } else { NoteStatus::Stale }.name().to_owned()
}

fn is_current(card: &TypeSummary, base: Option<&Value>) -> bool {
    let now = &card.hashes.hashes;
    base.is_some_and(|base| {
        base["structureHash"] == now.structure.to_string()
            && base["implHash"] == now.implementation().to_string()
    })
}

/// Whether the note covers everything but internal changes.
fn is_drifting(card: &TypeSummary, row: &RowState<'_>, base: Option<&Value>) -> bool {
    if let Some(previous) = inherited(card, row, base) {
        return previous["internalChanged"] == true;
    }
    row.note.is_some_and(|note| note.seen) && row.state.status == NoteStatus::Cached && row.state.has_drift()
}
