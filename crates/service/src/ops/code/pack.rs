//! Packs: the outlines of what a filter names and of what that uses, in one file of the tree's folder.
//!
//! Does not choose what stays when the budget is short: `code::pack` does.

use super::access::PATIENTLY;
use super::code_query::{CodeQuery, at_desk, folder_error, root_of};
use super::graph::{named, parsed};
use super::notes;
use crate::Service;
use api::code::{BuildPack, ListPacks, PackBuilt, PackInfo, Packs, is_pack};
use api::{Code, Error, Handle, Request};
use code::folder::{Folder, NAME, PACKS, pack_of};
use code::{Graph, Price, count_tokens};
use std::collections::{BTreeMap, BTreeSet};

/// What a pack can show of one type.
struct Texts {
    outline: String,
    note: String,
    price: Price,
}

impl Handle<BuildPack> for Service {
    fn handle(&self, ask: &BuildPack) -> Result<PackBuilt, Error> {
        build_pack(self, ask)
    }
}

fn build_pack(service: &Service, ask: &BuildPack) -> Result<PackBuilt, Error> {
    ask.check()?;
    let filter = parsed(&ask.filter)?;
    at_desk(service, ask.root.as_ref(), |desk| {
        let graph = desk.graph();
        let named = named(desk, &graph, &filter);
        if named.is_empty() {
            return Err(Error::new(Code::NotFound, format!("no type fits the filter `{}`", ask.filter))
                .hint("`loci code search` finds parts of names")
                .hint("namespace:Memo.* names the types of all namespaces that begin so"));
        }
        let texts = texts(desk, &graph, &named);
        let price = |of: u32| texts.get(&of).map_or_else(Price::default, |texts| texts.price);
        let frame = count_tokens(&head(ask, texts.len(), texts.len()));
        let budget = (ask.budget as usize).saturating_sub(frame);
        let pack = code::pack(&named, &graph, &|of| desk.is_open(of), &price, budget);
        if pack.types.is_empty() {
            let least = pack.least + frame;
            let message = format!("nothing fits into {} tokens, and no pack was written", ask.budget);
            return Err(Error::new(Code::InvalidArgument, message)
                .hint(format!("--budget {least} holds what most of it rests on")));
        }
        let text = written(ask, &pack, &texts);
        let folder = Folder::make(desk.root()).map_err(|error| folder_error(&error))?;
        let pen = folder.pen(PATIENTLY).map_err(|error| folder_error(&error))?;
        let new = pen.write(&pack_of(&ask.name), text.as_bytes()).map_err(|error| folder_error(&error))?;
        let left: BTreeSet<u32> = pack.left_out.iter().copied().collect();
        Ok(PackBuilt {
            name: ask.name.clone(),
            path: format!("{NAME}/{}", pack_of(&ask.name)),
            types: pack.types.iter().map(|of| desk.type_ref(*of)).collect(),
            tokens: count_tokens(&text) as u64,
            budget: ask.budget,
            left_out: left.iter().map(|of| desk.type_ref(*of)).collect(),
            reused: !new,
            coverage: desk.coverage(),
        })
    })
}

/// The texts of everything that may come into a pack.
fn texts(desk: &CodeQuery<'_>, graph: &Graph, named: &[u32]) -> BTreeMap<u32, Texts> {
    let used = named.iter().flat_map(|of| graph.uses(*of)).filter(|of| desk.is_open(**of));
    let all: BTreeSet<u32> = named.iter().chain(used).copied().collect();
    let folder = desk.folder();
    let each = |of: u32| {
        let outline = desk.outline(of) + "\n";
        let note = folder.as_ref().and_then(|folder| notes::read_own(desk, folder, of));
        let note = note.map(|note| note.body().to_string() + "\n\n").filter(|note| !note.trim().is_empty());
        let note = note.unwrap_or_default();
        let price = Price { outline: count_tokens(&outline), note: count_tokens(&note) };
        (of, Texts { outline, note, price })
    };
    all.into_iter().map(each).collect()
}

fn written(ask: &BuildPack, pack: &code::Pack, texts: &BTreeMap<u32, Texts>) -> String {
    let mut text = head(ask, pack.types.len(), pack.left_out.len());
    for (of, texts) in pack.types.iter().filter_map(|of| Some((of, texts.get(of)?))) {
        text.push_str(&texts.outline);
        if pack.with_notes.contains(of) {
            text.push_str(&texts.note);
        }
    }
    text
}

/// Nothing in it depends on when or where it was built: the same types are the same bytes.
fn head(ask: &BuildPack, types: usize, left_out: usize) -> String {
    let filter = ask.filter.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("Pack: {} | Types: {types} | Left out: {left_out}\nFilter: {filter}\n\n", ask.name)
}

impl Handle<ListPacks> for Service {
    fn handle(&self, ask: &ListPacks) -> Result<Packs, Error> {
        list_packs(self, ask)
    }
}

fn list_packs(service: &Service, ask: &ListPacks) -> Result<Packs, Error> {
    ask.check()?;
    let root = root_of(service, ask.root.as_ref())?;
    let folder = Folder::at(&root).map_err(|error| folder_error(&error))?;
    let Some(folder) = folder else { return Ok(Packs::default()) };
    let mut packs = Vec::new();
    for file in folder.list(PACKS).map_err(|error| folder_error(&error))? {
        let Some(name) = file.strip_suffix(".md").filter(|name| is_pack(name).is_ok()) else { continue };
        let bytes = folder.read(&pack_of(name)).map_err(|error| folder_error(&error))?.unwrap_or_default();
        packs.push(info(name, &String::from_utf8_lossy(&bytes)));
    }
    Ok(Packs { packs })
}

/// What a pack says of itself.
fn info(name: &str, text: &str) -> PackInfo {
    let filter = text.lines().nth(1).and_then(|line| line.strip_prefix("Filter: ")).unwrap_or_default();
    PackInfo {
        name: name.to_string(),
        path: format!("{NAME}/{}", pack_of(name)),
        filter: filter.to_string(),
        types: heads(text).count() as u64,
        tokens: count_tokens(text) as u64,
    }
}

/// What the first lines of the outlines of a pack call their types: `# Memo.Core.Node`, with an id where the name is not enough.
fn heads(text: &str) -> impl Iterator<Item = &str> {
    let heads = text.lines().filter_map(|line| line.strip_prefix("# "));
    heads.map(|line| {
        line.split_once(' ').map_or(line, |(name, id)| if id.starts_with("T_") { id } else { name })
    })
}

/// The types of a pack that are still there.
pub(super) fn types_of(desk: &CodeQuery<'_>, name: &str) -> Result<BTreeSet<u32>, Error> {
    let bytes = match desk.folder() {
        Some(folder) => folder.read(&pack_of(name)).map_err(|error| folder_error(&error))?,
        None => None,
    };
    let bytes = bytes.ok_or_else(|| {
        Error::new(Code::NotFound, format!("there is no pack `{name}`"))
            .hint("`loci code packs` lists them")
            .hint(format!("loci code pack {name} --filter 'namespace:Memo.Core'"))
    })?;
    Ok(heads(&String::from_utf8_lossy(&bytes)).filter_map(|id| desk.one_type(id).ok()).collect())
}
