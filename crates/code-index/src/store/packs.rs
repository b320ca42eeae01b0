//! The packs of a folder as `index.json` lists them.
//!
//! Does not build packs, and does not read a clock: a pack names the time at which it was built.

use super::table::Table;
use super::{Store, StoreError};
use code::count_tokens;
use folder::{INDEX, LociFolder, PACKS, pack_path};
use serde_json::{Value, json};
use syntax::{Digest, TypeId};

/// The line of a pack's header that says when it was built.
pub const BUILT: &str = "Built: ";

/// When a pack was built; older packs do not say.
pub fn pack_built_at(text: &str) -> Option<&str> {
    text.lines().take_while(|line| !line.is_empty()).find_map(|line| line.strip_prefix(BUILT))
}

/// The types named in the headings of a pack's outlines: `# Memo.Core.Node`, with an ID where the name is ambiguous.
pub fn packed_types(text: &str) -> impl Iterator<Item = &str> {
    let heads = text.lines().filter_map(|line| line.strip_prefix("# "));
    heads.map(|line| {
        line.split_once(' ').map_or(line, |(name, id)| if id.starts_with("T_") { id } else { name })
    })
}

impl Store {
    /// The IDs of the types in a pack that still exist.
    pub fn pack_type_ids(&self, text: &str) -> Result<Vec<TypeId>, StoreError> {
        type_ids(&mut Table::new(&self.db), text)
    }
}

fn type_ids(table: &mut Table<'_>, text: &str) -> Result<Vec<TypeId>, StoreError> {
    let mut found = Vec::new();
    for name in packed_types(text) {
        let ids = match TypeId::parse_full(name) {
            Some(id) => vec![id],
            None => table.types_named(simple_name(name))?,
        };
        let named = table.names_of(&ids)?.into_iter();
        found.extend(named.filter(|it| it.name == name || it.id.to_string() == name).map(|it| it.id));
    }
    Ok(found)
}

fn simple_name(name: &str) -> &str {
    let name = name.split(['<', '`']).next().unwrap_or(name);
    name.rsplit(['.', '+', ':', '/', '#']).next().unwrap_or(name)
}

/// The entries of `packs`. One whose file has not changed is taken from the previous list: counting its tokens takes a millisecond
/// per thousand.
pub(super) fn list_packs(table: &mut Table<'_>, folder: &LociFolder) -> Result<Vec<Value>, StoreError> {
    let before: Value = folder
        .read(INDEX)
        .ok()
        .flatten()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default();
    let before = before["packs"].as_array().cloned().unwrap_or_default();
    let mut packs = Vec::new();
    for file in folder.list_files(PACKS).unwrap_or_default() {
        let Some(name) = file.strip_suffix(".md") else { continue };
        let Some(bytes) = folder.read(&pack_path(name)).ok().flatten() else { continue };
        let text = String::from_utf8_lossy(&bytes);
        let hash = Digest::of_bytes(&bytes).to_string();
        let known = before.iter().find(|it| it["name"] == name && it["hash"] == hash.as_str());
        packs.push(match known {
            Some(known) => known.clone(),
            None => describe_pack(table, name, &hash, &text)?,
        });
    }
    Ok(packs)
}

fn describe_pack(table: &mut Table<'_>, name: &str, hash: &str, text: &str) -> Result<Value, StoreError> {
    let ids: Vec<String> = type_ids(table, text)?.iter().map(TypeId::to_string).collect();
    Ok(json!({
        "name": name,
        "tokenEstimate": count_tokens(text),
        "lastBuild": pack_built_at(text),
        "typeIds": ids,
        "hash": hash,
    }))
}
