//! Packs: outlines of the types that match a filter and of the types they use, in one file of the `.loci` folder.
//!
//! Does not choose what fits the budget: `code::pack` does.

use super::code_query::{CodeQuery, export_error, folder_error, resolve_root, with_root, with_tree};
use super::graph::{parse_filter, select_types};
use super::notes;
use super::tree::with_export_options;
use crate::Service;
use api::code::{BuildPack, ListPacks, PackBuilt, PackInfo, Packs, check_pack_name};
use api::{Code, Error, Handle, Request};
use code::{Graph, PackCost, TypeId, count_tokens};
use code_index::{BUILT, pack_built_at, packed_types};
use folder::access::LONG_LOCK_TIMEOUT;
use folder::{FOLDER_NAME, LociFolder, PACKS, WriteLock, pack_path};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The texts of one type that a pack can contain.
struct PackTexts {
    outline: String,
    note: String,
    price: PackCost,
}

impl Handle<BuildPack> for Service {
    fn handle(&self, request: &BuildPack) -> Result<PackBuilt, Error> {
        request.check_params()?;
        let filter = parse_filter(&request.filter)?;
        with_tree(self, request.root.as_ref(), |query| {
            let graph = query.dependency_graph();
            let named = select_types(query, &graph, &filter);
            if named.is_empty() {
                return Err(Error::new(
                    Code::NotFound,
                    format!("no type matches filter `{}`", request.filter),
                )
                .hint("search by part of a name with `loci code search`")
                .hint("use a wildcard for namespaces with a common prefix: namespace:Memo.*"));
            }
            let texts = candidate_texts(query, &graph, &named);
            let price = |of: u32| texts.get(&of).map_or_else(PackCost::default, |texts| texts.price);
            let now = self.clock.now().to_string();
            let frame = count_tokens(&pack_header(request, texts.len(), texts.len(), &now));
            let budget = (request.budget as usize).saturating_sub(frame);
            let pack = code::build_pack(&named, &graph, &|of| query.is_public(of), &price, budget);
            if pack.types.is_empty() {
                let least = pack.smallest_budget + frame;
                let message = format!("no type fits into {} tokens; no pack was written", request.budget);
                return Err(Error::new(Code::InvalidArgument, message)
                    .hint(format!("--budget {least} fits the most used type")));
            }
            let folder = LociFolder::open_or_create(query.root()).map_err(|error| folder_error(&error))?;
            let pen = folder.lock_for_writing(LONG_LOCK_TIMEOUT).map_err(|error| folder_error(&error))?;
            let text_at = |built: &str| pack_text(request, &pack, &texts, built);
            let (text, new) = write_pack(self, query, (&folder, &pen), &request.name, &now, &text_at)?;
            let left: BTreeSet<u32> = pack.left_out.iter().copied().collect();
            Ok(PackBuilt {
                name: request.name.clone(),
                path: format!("{FOLDER_NAME}/{}", pack_path(&request.name)),
                types: pack.types.iter().map(|of| query.type_ref(*of)).collect(),
                tokens: count_tokens(&text) as u64,
                budget: request.budget,
                left_out: left.iter().map(|of| query.type_ref(*of)).collect(),
                reused: !new,
                coverage: query.coverage(),
            })
        })
    }
}

/// Writes a pack, and `index.json` with it. One that would differ only in the time at which it was built is left as it is.
fn write_pack(
    service: &Service,
    query: &CodeQuery<'_>,
    (folder, pen): (&LociFolder, &WriteLock<'_>),
    name: &str,
    now: &str,
    text_at: &dyn Fn(&str) -> String,
) -> Result<(String, bool), Error> {
    let path = pack_path(name);
    let there = folder.read(&path).map_err(|error| folder_error(&error))?.unwrap_or_default();
    let there = String::from_utf8_lossy(&there);
    let before = pack_built_at(&there).map(text_at).filter(|text| *text == there);
    if let Some(text) = before {
        return Ok((text, false));
    }
    let text = text_at(now);
    let written = query.store().without_invalidating(folder, || {
        pen.write(&path, text.as_bytes())?;
        with_export_options(service, |options| query.store().export_index(folder, pen, options))
    });
    written.map_err(|error| export_error(&error))?;
    Ok((text, true))
}

/// The texts of all types that a pack may contain.
fn candidate_texts(query: &CodeQuery<'_>, graph: &Graph, named: &[u32]) -> BTreeMap<u32, PackTexts> {
    let used: Vec<&u32> =
        named.iter().flat_map(|of| graph.uses(*of)).filter(|of| query.is_public(**of)).collect();
    let folder = query.folder();
    let mut texts = BTreeMap::new();
    let mut written = BTreeSet::new();
    for of in named.iter().chain(used).copied() {
        if texts.contains_key(&of) {
            continue;
        }
        let outline = query.outline(of) + "\n";
        let note = folder.as_ref().and_then(|folder| notes::read_note(query, folder, of));
        // The note of a cycle is read once, with the first of its types.
        let note = note.filter(|note| written.insert(note.path().to_string()));
        let note = note.map_or_else(String::new, |note| note_text(&note.marked_sections(query, of)));
        let price = PackCost { outline: count_tokens(&outline), note: count_tokens(&note) };
        texts.insert(of, PackTexts { outline, note, price });
    }
    texts
}

fn note_text(sections: &[String]) -> String {
    if sections.is_empty() { String::new() } else { sections.concat() + "\n" }
}

fn pack_text(
    request: &BuildPack,
    pack: &code::Pack,
    texts: &BTreeMap<u32, PackTexts>,
    built: &str,
) -> String {
    let mut text = pack_header(request, pack.types.len(), pack.left_out.len(), built);
    for (of, texts) in pack.types.iter().filter_map(|of| Some((of, texts.get(of)?))) {
        text.push_str(&texts.outline);
        if pack.with_notes.contains(of) {
            text.push_str(&texts.note);
        }
    }
    text
}

/// The header names no place, and no other time than when these types were packed first.
fn pack_header(request: &BuildPack, types: usize, left_out: usize, built: &str) -> String {
    let filter = request.filter.split_whitespace().collect::<Vec<_>>().join(" ");
    let head = format!("Pack: {} | Types: {types} | Left out: {left_out}", request.name);
    format!("{head}\nFilter: {filter}\n{BUILT}{built}\n\n")
}

impl Handle<ListPacks> for Service {
    fn handle(&self, request: &ListPacks) -> Result<Packs, Error> {
        request.check_params()?;
        let root = resolve_root(self, request.root.as_ref())?;
        let folder = LociFolder::open(&root).map_err(|error| folder_error(&error))?;
        let Some(folder) = folder else { return Ok(Packs::default()) };
        let (mut packs, mut texts) = (Vec::new(), Vec::new());
        for file in folder.list_files(PACKS).map_err(|error| folder_error(&error))? {
            let Some(name) = file.strip_suffix(".md").filter(|name| check_pack_name("name", name).is_ok())
            else {
                continue;
            };
            let bytes =
                folder.read(&pack_path(name)).map_err(|error| folder_error(&error))?.unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            packs.push(pack_info(name, &text));
            texts.push(text);
        }
        for (pack, ids) in packs.iter_mut().zip(type_ids(self, &root, &texts)) {
            pack.type_ids = ids;
        }
        Ok(Packs { packs })
    }
}

/// The IDs of the types of each pack. A tree that cannot be read has packs, but none of their types.
fn type_ids(service: &Service, root: &Path, texts: &[String]) -> Vec<Vec<String>> {
    if texts.is_empty() {
        return Vec::new();
    }
    let ids_of = |query: &CodeQuery<'_>, text: &String| {
        let ids = query.or_record_error(query.store().pack_type_ids(text));
        ids.iter().map(TypeId::to_string).collect::<Vec<_>>()
    };
    let found = with_root(service, root, |query| Ok(texts.iter().map(|text| ids_of(query, text)).collect()));
    found.unwrap_or_default()
}

/// Reads a pack's header and counts its types and tokens.
fn pack_info(name: &str, text: &str) -> PackInfo {
    let filter = text.lines().nth(1).and_then(|line| line.strip_prefix("Filter: ")).unwrap_or_default();
    PackInfo {
        name: name.to_string(),
        path: format!("{FOLDER_NAME}/{}", pack_path(name)),
        filter: filter.to_string(),
        types: packed_types(text).count() as u64,
        tokens: count_tokens(text) as u64,
        last_build: pack_built_at(text).map(str::to_string),
        type_ids: Vec::new(),
    }
}

/// The types of a pack that still exist.
pub(super) fn pack_types(query: &CodeQuery<'_>, name: &str) -> Result<BTreeSet<u32>, Error> {
    let bytes = match query.folder() {
        Some(folder) => folder.read(&pack_path(name)).map_err(|error| folder_error(&error))?,
        None => None,
    };
    let bytes = bytes.ok_or_else(|| {
        Error::new(Code::NotFound, format!("no pack named `{name}`"))
            .hint("list packs with `loci code packs`")
            .hint(format!("loci code pack {name} --filter 'namespace:Memo.Core'"))
    })?;
    Ok(packed_types(&String::from_utf8_lossy(&bytes)).filter_map(|id| query.resolve_type(id).ok()).collect())
}
