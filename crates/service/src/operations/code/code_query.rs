//! Read access to a tree for the operations: types by number, names, outlines, hashes and dependencies.
//!
//! Does not parse the tree itself: the store is brought up to date first, and only the data that a request needs is loaded.

use super::tree::{Tree, edits_folder, store_error};
use crate::Service;
use crate::operations::interrupted_edits::interrupted_in;
use api::code::{Coverage, FindSymbols, SymbolRef, TypeRef};
use api::{Code, Error};
use code::Baseline;
use code::{
    Edge, Graph, Hashes, MatchKind, MemberSummary, NoteState, NoteStatus, Symbol, TypeId, TypeNames,
    TypeSummary, count_tokens,
};
use code_index::{
    ExportError, FileFilter, Located, NameResolution, Relation, Store, StoreError, SymbolFilter,
};
use folder::access::{self, Access, Accessed};
use folder::{FolderError, LociFolder};
use history::scope;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

pub(crate) struct CodeQuery<'a> {
    service: &'a Service,
    tree: Tree,
    /// Types loaded by this request, by number.
    loaded: RefCell<LoadedTypes>,
    now: i64,
    pub(crate) access: Access,
    recency: FxHashMap<String, u64>,
    notes: RefCell<Vec<String>>,
    /// The first store error; returned instead of the response.
    failed: RefCell<Option<Failure>>,
}

struct Failure {
    error: Error,
    /// The store is damaged and can be rebuilt.
    damaged: bool,
}

#[derive(Default)]
struct LoadedTypes {
    ids: Vec<TypeId>,
    numbers: FxHashMap<TypeId, u32>,
    names: FxHashMap<u32, Rc<TypeNames>>,
    cards: FxHashMap<u32, Rc<TypeSummary>>,
    texts: FxHashMap<String, Rc<str>>,
    /// Notes about dependency cycles: for each type, the file and the position in it.
    groups: Option<BTreeMap<u32, (String, usize)>>,
    /// Whether every type of the tree has been numbered.
    all: bool,
}

/// How many symbols an error lists that a path may mean.
const CANDIDATES_IN_ERROR: usize = 8;
/// How many unread files are listed by name.
const MAX_UNREAD_LISTED: usize = 5;

/// The root of the tree: the given path, or the repository that contains the working directory.
pub(crate) fn resolve_root(service: &Service, named: Option<&String>) -> Result<PathBuf, Error> {
    let root = match named {
        Some(named) => scope::canonical_path(&service.cwd.join(named)),
        None => scope::enclosing_project(&service.cwd),
    };
    let shown = root.display();
    if root.is_file() {
        let above = root.parent().unwrap_or(&root).display();
        return Err(Error::new(Code::NotFound, format!("{shown} is a file, not a source tree"))
            .hint(format!("--root {above}")));
    }
    if !root.is_dir() {
        return Err(Error::new(Code::NotFound, format!("no such folder: `{shown}`"))
            .hint("--root selects the source tree"));
    }
    // `/` contains every file of the machine, including special files that never end.
    if root.parent().is_none() {
        return Err(Error::new(
            Code::InvalidArgument,
            format!("{shown} is the root of the file system, not a source tree"),
        )
        .hint("--root selects the source tree"));
    }
    if is_home_folder(service, &root) {
        let message = format!("{shown} is a home folder, not a source tree");
        return Err(Error::new(Code::InvalidArgument, message)
            .hint("--root DIR selects the source tree")
            .hint(format!("{HOME_IS_TREE}=on accepts a home folder that is one, as in a container")));
    }
    Ok(root)
}

/// Accepts the home folder as a source tree.
const HOME_IS_TREE: &str = "LOCI_HOME_TREE";

/// Whether a folder is the home folder, or above it and no repository. It contains the files of everything else, and those that Loci
/// itself writes.
pub(crate) fn is_home_folder(service: &Service, root: &Path) -> bool {
    let home = &service.places.home;
    if !home.is_absolute() || crate::env::text_var(&service.places, HOME_IS_TREE).as_deref() == Some("on") {
        return false;
    }
    let home = scope::canonical_path(home);
    home == root || home.starts_with(root) && !root.join(".git").exists()
}

/// Brings the index of a tree up to date and runs a query on it.
pub(crate) fn with_tree<T>(
    service: &Service,
    root: Option<&String>,
    lookup: impl Fn(&CodeQuery<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    with_root(service, &resolve_root(service, root)?, lookup)
}

/// Like `with_tree`, for a tree whose root is already resolved.
pub(crate) fn with_root<T>(
    service: &Service,
    root: &Path,
    lookup: impl Fn(&CodeQuery<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    with_open_tree(service, Tree::open(service, root)?, lookup)
}

/// Runs a query on a tree that is already up to date. A damaged store is rebuilt, once.
pub(crate) fn with_open_tree<T>(
    service: &Service,
    tree: Tree,
    lookup: impl Fn(&CodeQuery<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let root = tree.root().to_path_buf();
    let run = |tree: Tree| {
        let query = CodeQuery::new(service, tree);
        let response = query.require_types().and_then(|()| lookup(&query));
        (response, query.failed.take())
    };
    match run(tree) {
        // rebuild the damaged store, once
        (_, Some(Failure { damaged: true, .. })) => {
            let (response, failure) = run(Tree::rebuild_store(service, &root)?);
            failure.map_or(response, |failure| Err(failure.error))
        }
        (_, Some(failure)) => Err(failure.error),
        (response, None) => response,
    }
}

impl<'a> CodeQuery<'a> {
    fn new(service: &'a Service, tree: Tree) -> CodeQuery<'a> {
        let (access, mut notes) = access::read_access(tree.root());
        notes.extend(tree.notes.iter().cloned());
        let edits = service.home().map(|home| edits_folder(&home, tree.root()));
        let interrupted = edits.and_then(|folder| interrupted_in(service, tree.root(), &folder));
        notes.extend(interrupted.map(|edit| edit.to_string()));
        let lately = access.recency_ranks();
        let (met, failed) = (RefCell::default(), RefCell::new(None));
        let now = service.clock.now().0;
        CodeQuery {
            service,
            tree,
            loaded: met,
            now,
            access,
            recency: lately,
            notes: RefCell::new(notes),
            failed,
        }
    }

    fn require_types(&self) -> Result<(), Error> {
        let extent = self.extent();
        if extent.types > 0 { Ok(()) } else { Err(no_source_error(self.root(), &extent.unread)) }
    }

    /// Unwraps a store result. An error is recorded and returned when the query ends.
    pub(super) fn or_record_error<T: Default>(&self, result: Result<T, StoreError>) -> T {
        result.unwrap_or_else(|error| {
            let damaged = matches!(error, StoreError::Damaged(_));
            self.failed.borrow_mut().get_or_insert(Failure { error: store_error(&error), damaged });
            T::default()
        })
    }

    pub(crate) fn root(&self) -> &Path {
        self.tree.root()
    }

    /// Whether no file had to be parsed for this request.
    pub(super) fn is_from_store(&self) -> bool {
        self.tree.done.parsed == 0
    }

    pub(crate) fn extent(&self) -> code_index::Extent {
        self.or_record_error(self.tree.store.extent())
    }

    pub(crate) fn coverage(&self) -> Coverage {
        let extent = self.extent();
        Coverage {
            head: self.tree.head.clone(),
            files: extent.files,
            with_gaps: extent.with_gaps,
            inactive: extent.inactive,
            not_read: extent.unread.len() as u64,
            unread: extent.unread.iter().take(MAX_UNREAD_LISTED).cloned().collect(),
            notes: self.notes.borrow().clone(),
        }
    }

    /// Adds a note to the response without failing the request.
    pub(crate) fn add_note(&self, note: String) {
        self.notes.borrow_mut().push(note);
    }

    // ---- types by number

    fn assign_number(&self, id: TypeId) -> u32 {
        let mut met = self.loaded.borrow_mut();
        if let Some(known) = met.numbers.get(&id) {
            return *known;
        }
        let next = met.ids.len() as u32;
        met.ids.push(id);
        met.numbers.insert(id, next);
        next
    }

    fn load_named(&self, named: TypeNames) -> u32 {
        let of = self.assign_number(named.id);
        self.loaded.borrow_mut().names.insert(of, Rc::new(named));
        of
    }

    /// The number of types. Afterwards every type has a number, in the order of names.
    pub(crate) fn number_all_types(&self) -> u32 {
        if !self.loaded.borrow().all {
            let mut all = self.or_record_error(self.tree.store.all_names());
            all.sort_by(|one, other| (&one.name, one.id).cmp(&(&other.name, other.id)));
            for named in all {
                self.load_named(named);
            }
            self.loaded.borrow_mut().all = true;
        }
        self.loaded.borrow().ids.len() as u32
    }

    pub(super) fn type_id(&self, of: u32) -> TypeId {
        self.loaded.borrow().ids[of as usize]
    }

    pub(super) fn card(&self, of: u32) -> Option<Rc<TypeSummary>> {
        if let Some(known) = self.loaded.borrow().cards.get(&of) {
            return Some(known.clone());
        }
        let card = Rc::new(self.or_record_error(self.tree.store.type_summary(self.type_id(of)))?);
        self.loaded.borrow_mut().cards.insert(of, card.clone());
        Some(card)
    }

    pub(crate) fn card_of(&self, id: TypeId) -> Option<Rc<TypeSummary>> {
        self.card(self.assign_number(id))
    }

    fn load_names(&self, of: u32) -> Option<Rc<TypeNames>> {
        if let Some(known) = self.loaded.borrow().names.get(&of) {
            return Some(known.clone());
        }
        let named = self.or_record_error(self.tree.store.names_of(&[self.type_id(of)])).pop();
        named.map(|named| {
            let named = Rc::new(named);
            self.loaded.borrow_mut().names.insert(of, named.clone());
            named
        })
    }

    pub(crate) fn name(&self, of: u32) -> String {
        self.load_names(of).map_or_else(String::new, |named| named.name.clone())
    }

    pub(crate) fn simple_name(&self, of: u32) -> String {
        self.load_names(of).map_or_else(String::new, |named| named.simple_name().to_string())
    }

    pub(crate) fn id(&self, of: u32) -> String {
        self.type_id(of).to_string()
    }

    pub(crate) fn type_ref(&self, of: u32) -> TypeRef {
        TypeRef { path: self.mask_text(self.name(of)), type_id: self.id(of) }
    }

    /// The type with this full ID, or the type it was renamed to.
    pub(crate) fn type_by_id(&self, id: &str) -> Option<u32> {
        let mut id = TypeId::parse_full(id)?;
        if self.or_record_error(self.tree.store.names_of(&[id])).is_empty() {
            id = self.renamed_types().into_iter().rev().find(|it| it.old == id)?.new;
        }
        self.or_record_error(self.tree.store.names_of(&[id])).pop().map(|named| self.load_named(named))
    }

    pub(crate) fn renamed_types(&self) -> Vec<code_index::RenamedType> {
        self.or_record_error(self.tree.store.renamed_types())
    }

    /// Whether the type is visible outside its declaring scope.
    pub(crate) fn is_public(&self, of: u32) -> bool {
        self.load_names(of).is_some_and(|named| named.visibility.is_public_api())
    }

    pub(crate) fn access_word(&self, of: u32) -> &'static str {
        self.load_names(of).map_or("", |named| named.visibility.name())
    }

    /// The kind of each file that declares the type.
    pub(crate) fn file_kinds(&self, of: u32) -> Vec<&'static str> {
        self.card(of).map_or_else(Vec::new, |card| card.file_kinds())
    }

    fn recency_of(&self, id: TypeId) -> u64 {
        self.recency.get(&id.to_string()).copied().unwrap_or(0)
    }

    /// Resolves a name to a symbol with its overloads, and to candidates.
    pub(crate) fn resolve_name(&self, path: &str) -> NameResolution {
        let found = self.or_record_error(self.tree.store.resolve_name(path, &|id| self.recency_of(id)));
        if let (Some((old, reason)), Some(new)) = (&found.redirected_from, found.resolved.first()) {
            let name = self.name(self.assign_number(new.of));
            self.add_note(format!("`{old}` was renamed to `{name}`: {reason}"));
        }
        found
    }

    pub(crate) fn find_symbols(&self, request: &FindSymbols) -> NameResolution {
        let files = FileFilter { under: &request.under, without_tests: request.without_tests };
        let wanted = SymbolFilter { kind: request.kind.as_deref(), files };
        let (limit, recency) = (request.limit as usize, |id| self.recency_of(id));
        self.or_record_error(self.tree.store.find_symbols(&request.query, wanted, limit, &recency))
    }

    /// An error if the tree has no source files below a folder, with the folders that may be meant.
    pub(crate) fn require_folder(&self, folder: &str) -> Result<(), Error> {
        let Some(near) = self.or_record_error(self.tree.store.missing_folder(folder)) else { return Ok(()) };
        let message = format!("no source files below `{folder}` in {}", self.root().display());
        let error = near.iter().fold(Error::new(Code::NotFound, message), |error, folder| {
            error.hint(format!("--under {folder}"))
        });
        Err(if near.is_empty() { error.hint("paths are relative to the root of the tree") } else { error })
    }

    /// The file and line of a symbol's name.
    pub(crate) fn name_place(&self, of: &TypeSummary, member: Option<&MemberSummary>) -> (String, u32) {
        let place = self.tree.store.name_place(of, member);
        place.map_or_else(Default::default, |(file, at)| {
            let line = line_of(&self.file_text(&file), at as usize);
            (file, line)
        })
    }

    pub(crate) fn to_symbol(&self, at: Located) -> Symbol {
        Symbol { of: self.assign_number(at.of), member: at.member }
    }

    /// Resolves a path or an ID to exactly one symbol; of overloads, to the first.
    pub(crate) fn resolve_symbol(&self, path: &str) -> Result<Symbol, Error> {
        let found = self.resolve_name(path);
        let first = found.resolved.first().map(|at| self.to_symbol(*at));
        first.ok_or_else(|| self.resolution_error(path, &found))
    }

    /// Resolves a path or an ID to a symbol with its overloads, or a pattern to all its symbols; there is at least one.
    pub(crate) fn resolve_overloads(&self, path: &str) -> Result<Vec<Symbol>, Error> {
        let found = self.resolve_name(path);
        let all: Vec<Symbol> = found.all_meant().map(|at| self.to_symbol(at)).collect();
        if all.is_empty() { Err(self.resolution_error(path, &found)) } else { Ok(all) }
    }

    /// Resolves a path or an ID to exactly one type. A member resolves to its type.
    pub(crate) fn resolve_type(&self, path: &str) -> Result<u32, Error> {
        self.resolve_symbol(path).map(|symbol| symbol.of)
    }

    pub(crate) fn member(&self, symbol: Symbol) -> Option<MemberSummary> {
        self.card(symbol.of)?.members.get(symbol.member? as usize).cloned()
    }

    /// File, byte and name of the first declaration of a symbol.
    pub(crate) fn declaration_place(&self, symbol: Symbol) -> Option<(String, u32, String)> {
        let card = self.card(symbol.of)?;
        let member = self.member(symbol);
        let range = member.as_ref().map_or_else(|| card.parts.first().copied(), |it| Some(it.range))?;
        let name = member.map_or_else(|| card.simple_name.clone(), |it| it.name);
        Some((card.files.get(range.file as usize)?.clone(), range.signature.from, name))
    }

    fn member_id(&self, symbol: Symbol) -> Option<String> {
        let member = self.member(symbol)?;
        Some(code::MemberId::new(self.type_id(symbol.of), member.kind, &member.key).to_string())
    }

    /// The full name of a symbol.
    fn full_name(&self, symbol: Symbol) -> String {
        let name = self.name(symbol.of);
        self.member(symbol).map_or_else(|| name.clone(), |member| format!("{name}.{}", member.key))
    }

    fn resolution_error(&self, path: &str, resolution: &NameResolution) -> Error {
        let all: Vec<Symbol> = resolution.candidates.iter().map(|(at, _)| self.to_symbol(*at)).collect();
        if resolution.candidates.iter().all(|(_, fit)| !matches!(fit, MatchKind::Near(_))) && !all.is_empty()
        {
            return self.ambiguity_error(path, &all);
        }
        let unknown = Error::new(Code::SymbolNotFound, format!("no symbol is named `{path}`"));
        let refused = self.with_candidates(unknown, &all);
        if all.is_empty() { refused.hint("search by part of a name with `loci code find`") } else { refused }
    }

    /// The error that a path means several symbols, with what to type for each.
    pub(crate) fn ambiguity_error(&self, path: &str, all: &[Symbol]) -> Error {
        let message = format!("`{path}` is ambiguous ({} symbols)", all.len());
        self.with_candidates(Error::new(Code::AmbiguousSymbol, message), all)
    }

    /// Adds symbols to an error, each in a form that means it alone.
    fn with_candidates(&self, error: Error, all: &[Symbol]) -> Error {
        let names: Vec<String> = all.iter().map(|it| self.mask_text(self.full_name(*it))).collect();
        let to_path = |(at, name): (usize, &String)| {
            // projects may have types of the same name, and a type may have an alias of the same name
            let is_unique = names.iter().filter(|it| *it == name).count() == 1;
            if is_unique { name.clone() } else { self.place_of(all[at]).unwrap_or_else(|| name.clone()) }
        };
        let listed: Vec<String> = names.iter().enumerate().take(CANDIDATES_IN_ERROR).map(to_path).collect();
        listed.iter().fold(error.names(listed.clone()), Error::hint)
    }

    /// `src/a.rs:12`
    fn place_of(&self, symbol: Symbol) -> Option<String> {
        let (file, line) = self.name_place(&*self.card(symbol.of)?, self.member(symbol).as_ref());
        (!file.is_empty()).then(|| format!("{file}:{line}"))
    }

    pub(crate) fn symbol_ref(&self, symbol: Symbol) -> SymbolRef {
        let Some(card) = self.card(symbol.of) else { return SymbolRef::default() };
        let member = self.member(symbol);
        let place = member.as_ref().map(|member| member.range).or_else(|| card.parts.first().copied());
        let file = place.map_or_else(String::new, |place| card.files[place.file as usize].clone());
        let text = self.file_text(&file);
        let line = place.map_or(1, |place| line_of(&text, place.signature.from as usize));
        let end_line = place.map_or(line, |place| line_of(&text, place.span.to as usize));
        SymbolRef {
            path: self.mask_text(self.full_name(symbol)),
            type_id: card.id.to_string(),
            member_id: self.member_id(symbol),
            kind: member.as_ref().map_or(card.kind.name(), |member| member.kind.name()).to_string(),
            access: member.as_ref().map_or(card.visibility, |member| member.visibility).name().to_string(),
            file,
            line,
            end_line,
        }
    }

    // ---- outlines and notes

    pub(crate) fn outline(&self, of: u32) -> String {
        let outline = self.card(of).map(|card| self.or_record_error(self.tree.store.outline_text(&card)));
        self.mask_text(outline.unwrap_or_default())
    }

    /// Masks secrets in source text: output from here can end up in committed files.
    pub(crate) fn mask_text(&self, text: impl AsRef<str>) -> String {
        self.service.history().mask_text(text.as_ref())
    }

    /// The outline of a member, or of its type if the symbol is a type.
    pub(crate) fn outline_of(&self, symbol: Symbol) -> String {
        match (self.card(symbol.of), self.member(symbol)) {
            (Some(card), Some(member)) => {
                let line_of = |path: &str, at: usize| line_of(&self.file_text(path), at);
                let outline = self.tree.store.member_outline(&card, &member.key, &line_of);
                self.mask_text(self.or_record_error(outline))
            }
            _ => self.outline(symbol.of),
        }
    }

    /// The source text that an outline summarises.
    pub(crate) fn source_of(&self, symbol: Symbol) -> String {
        let card = self.card(symbol.of);
        let pieces = card.map(|card| self.tree.store.source_of(&card, self.member(symbol).as_ref()));
        pieces.into_iter().flatten().map(|piece| piece.text).collect()
    }

    /// Token counts of an outline and of its source.
    pub(crate) fn token_counts(&self, symbol: Symbol, outline: &str) -> (u64, u64) {
        let key = self.member(symbol).map_or_else(String::new, |member| member.key);
        let count = || (count_tokens(outline) as u64, count_tokens(&self.source_of(symbol)) as u64);
        self.or_record_error(self.tree.store.token_costs(self.type_id(symbol.of), &key, count))
    }

    pub(crate) fn hashes(&self, of: u32) -> Hashes {
        self.card(of).map_or_else(Hashes::default, |card| card.hashes.hashes)
    }

    /// What has changed in a type since a note was written about it.
    pub(crate) fn changes_since(&self, of: u32, text: &str, holds: bool) -> NoteState {
        self.or_record_error(self.tree.store.note_state_for_text(self.type_id(of), text, holds, self.now))
    }

    /// The stored state of the note about a type.
    pub(crate) fn note_state(&self, of: u32) -> NoteState {
        let mut state = self.or_record_error(self.tree.store.note_state(self.type_id(of)));
        state.apply_timeouts(self.now);
        state
    }

    /// Queues the note about a type for writing.
    pub(crate) fn queue_note(&self, of: u32) -> NoteStatus {
        let queued = self.tree.store.request_note(self.type_id(of), self.now);
        match queued {
            Ok(state) => state.status,
            Err(error) => {
                self.add_note(format!("cannot queue the note: {error}"));
                self.note_state(of).status
            }
        }
    }

    /// Types whose note is queued or being written.
    pub(crate) fn queued_notes(&self) -> Vec<(u32, NoteState)> {
        let queued = self.or_record_error(self.tree.store.requested_notes(self.now));
        let there = |id: TypeId| self.type_by_id(&id.to_string());
        queued.into_iter().filter_map(|(id, state)| Some((there(id)?, state))).collect()
    }

    /// The tree's store.
    pub(crate) fn store(&self) -> &Store {
        &self.tree.store
    }

    /// The current state of a type that a note is based on. Masked before excerpts are taken: eight lines from the middle of a
    /// thirty-line key contain neither its first nor its last line and would not be recognised.
    pub(crate) fn note_base(&self, of: u32) -> Option<Baseline> {
        let card = self.card(of)?;
        Some(Baseline::capture(&card, &|place, signature| {
            let span = if signature { place.signature } else { place.span };
            self.mask_text(span.text_in(&self.file_text(&card.files[place.file as usize])))
        }))
    }

    /// The note of the dependency cycle that a type belongs to. `find` runs once per request.
    pub(crate) fn group_note(
        &self,
        of: u32,
        find: impl FnOnce() -> BTreeMap<u32, (String, usize)>,
    ) -> Option<(String, usize)> {
        let known = self.loaded.borrow().groups.is_some();
        if !known {
            let found = find();
            self.loaded.borrow_mut().groups = Some(found);
        }
        self.loaded.borrow().groups.as_ref()?.get(&of).cloned()
    }

    fn to_numbers(&self, ids: Vec<TypeId>) -> Vec<u32> {
        ids.into_iter().map(|id| self.assign_number(id)).collect()
    }

    pub(crate) fn base_types(&self, of: u32) -> Vec<u32> {
        self.to_numbers(self.or_record_error(self.tree.store.bases(self.type_id(of))))
    }

    pub(crate) fn used_types(&self, of: u32) -> Vec<u32> {
        self.to_numbers(self.or_record_error(self.tree.store.uses(self.type_id(of))))
    }

    /// The number of types that use this one.
    pub(crate) fn user_count(&self, of: u32) -> usize {
        self.or_record_error(self.tree.store.users(self.type_id(of))).len()
    }

    /// The dependency graph of the whole tree.
    pub(crate) fn dependency_graph(&self) -> Graph {
        let count = self.number_all_types();
        let mut ids: Vec<TypeId> = self.loaded.borrow().ids.clone();
        ids.sort_unstable();
        let number: Vec<u32> = ids.iter().map(|id| self.assign_number(*id)).collect();
        let edges = self.or_record_error(self.tree.store.edges(&ids));
        let edges: Vec<Edge> = edges
            .into_iter()
            .map(|edge| Edge { from: number[edge.from as usize], to: number[edge.to as usize], ..edge })
            .collect();
        Graph::new(count as usize, edges.iter().map(Edge::ends))
    }

    /// The places related to a type or a member.
    pub(crate) fn find_related(
        &self,
        symbol: Symbol,
        relation: Relation,
        depth: u32,
    ) -> Vec<code_index::UsageSite> {
        let Some(card) = self.card(symbol.of) else { return Vec::new() };
        let found = self.tree.store.related(&card, self.member(symbol).as_ref(), relation, depth);
        let found = self.or_record_error(found);
        found.problems.into_iter().for_each(|problem| self.add_note(problem));
        found.sites
    }

    /// The number of members of all types.
    pub(crate) fn member_count(&self) -> u64 {
        let types = self.number_all_types();
        (0..types).filter_map(|of| self.load_names(of)).map(|named| named.members.len() as u64).sum()
    }

    /// The current text of a file.
    pub(crate) fn file_text(&self, path: &str) -> Rc<str> {
        if let Some(known) = self.loaded.borrow().texts.get(path) {
            return known.clone();
        }
        let bytes = code::read_source(self.root(), path).unwrap_or_default();
        let text: Rc<str> = Rc::from(&*code::decode_text(&bytes));
        self.loaded.borrow_mut().texts.insert(path.to_string(), text.clone());
        text
    }

    /// The parsed files with their line counts.
    pub(crate) fn parsed_files(&self) -> Vec<(String, u64)> {
        self.or_record_error(self.tree.store.files())
    }

    /// The tree's `.loci` folder, if it exists and is usable.
    pub(crate) fn folder(&self) -> Option<LociFolder> {
        LociFolder::open(self.root()).unwrap_or_else(|error| {
            self.add_note(error.to_string());
            None
        })
    }

    pub(crate) fn now(&self) -> i64 {
        self.now
    }

    /// Records the access to a type if the tree has a `.loci` folder: a read operation creates no files in the tree.
    pub(crate) fn record_access(&self, of: u32) {
        let Some(folder) = self.folder() else { return };
        let seen = self.type_ref(of);
        let noted = access::update_access(&folder, access::SHORT_LOCK_TIMEOUT, self.now, |access| {
            access.record_request(Accessed { id: &seen.type_id, name: &seen.path }, self.now)
        });
        match noted {
            Ok((_, notes)) => notes.into_iter().for_each(|note| self.add_note(note)),
            Err(error) => self.add_note(format!("cannot record the access: {error}")),
        }
    }
}

fn no_source_error(root: &Path, unread: &[String]) -> Error {
    let known: Vec<&str> = code::LANGUAGES.iter().map(|language| language.name).collect();
    let error = Error::new(Code::NotFound, format!("no source files below {}", root.display()))
        .hint(format!("supported languages: {}", known.join(", ")))
        .hint("--root selects the source tree");
    unread.iter().take(MAX_UNREAD_LISTED).fold(error, |error, why| error.hint(format!("not read: {why}")))
}

pub(crate) fn line_of(text: &str, at: usize) -> u32 {
    1 + text.get(..at).unwrap_or(text).matches('\n').count() as u32
}

pub(crate) fn export_error(error: &ExportError) -> Error {
    match error {
        ExportError::Folder(error) => folder_error(error),
        ExportError::Store(error) => store_error(error),
    }
}

/// Maps an error of the `.loci` folder to an API error with a hint.
pub(crate) fn folder_error(error: &FolderError) -> Error {
    let (code, hint) = match error {
        FolderError::Full(_) => (Code::DiskFull, "nothing was changed; free disk space and run this again"),
        FolderError::Busy(_) => {
            (Code::WriterBusy, "wait for the other process or stop it, then run this again")
        }
        FolderError::ReadOnly(_) => {
            (Code::ReadError, "packs and pins are stored in `.loci` at the root of the tree")
        }
        FolderError::NotAFolder(_) | FolderError::NotAFile(_) | FolderError::TooLarge(_) => {
            (Code::ReadError, "move it away and run this again")
        }
        FolderError::Io { .. } => (Code::ReadError, "--root selects the source tree"),
    };
    Error::new(code, error.to_string()).hint(hint)
}
