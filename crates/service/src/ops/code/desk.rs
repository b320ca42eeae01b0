//! What the operations need to know of a tree: its types by number, what they are called, their outlines and hashes, and who
//! depends on whom.
//!
//! Keeps nothing between two questions: what is cached can be wrong, what is read is not.

use super::access::{self, Access};
use crate::{Service, scope};
use api::code::{Coverage, SymbolRef, TypeRef};
use api::{Code, Error};
use code::folder::{Folder, FolderError};
use code::{Codebase, Edge, Fit, Graph, Hashes, Meant, Names, Outliner, Resolver, Symbol, is_prefix};
use rustc_hash::FxHashMap;
use std::cell::{OnceCell, RefCell};
use std::path::{Path, PathBuf};

/// A tree that was read for one question.
struct Tree {
    root: PathBuf,
    code: Codebase,
    /// What could not be read, and why.
    unread: Vec<String>,
}

/// What is worked out once, when something asks for it first.
#[derive(Default)]
struct Shelf<'a> {
    resolver: OnceCell<Resolver<'a>>,
    outliner: OnceCell<Outliner<'a>>,
    names: OnceCell<Names<'a>>,
    numbers: OnceCell<FxHashMap<String, u32>>,
}

pub(crate) struct Desk<'a> {
    service: &'a Service,
    tree: &'a Tree,
    shelf: &'a Shelf<'a>,
    lately: &'a dyn Fn(u32) -> u64,
    now: i64,
    pub(crate) access: &'a Access,
    notes: RefCell<Vec<String>>,
}

/// How many of the files that were not read are named.
const NAMED: usize = 5;

/// The root that is meant: what was named, or the repository around the working directory.
pub(crate) fn root_of(service: &Service, named: Option<&String>) -> Result<PathBuf, Error> {
    let root = match named {
        Some(named) => scope::real(&service.cwd.join(named)),
        None => scope::enclosing(&service.cwd),
    };
    let shown = root.display();
    if root.is_file() {
        let above = root.parent().unwrap_or(&root).display();
        return Err(Error::new(Code::NotFound, format!("{shown} is a file, not a source tree"))
            .hint(format!("--root {above}")));
    }
    if root.as_os_str().is_empty() {
        return Err(
            Error::new(Code::NotFound, "the working directory is gone").hint("--root names the source tree")
        );
    }
    if !root.is_dir() {
        return Err(Error::new(Code::NotFound, format!("no such folder: `{shown}`"))
            .hint("--root names the source tree"));
    }
    // Its files are every program of the machine, and some of them never end.
    if root.parent().is_none() {
        return Err(Error::new(
            Code::InvalidArgument,
            format!("{shown} is the whole machine, not a source tree"),
        )
        .hint("--root names the source tree"));
    }
    Ok(root)
}

impl Tree {
    fn read(service: &Service, root: PathBuf) -> Result<Tree, Error> {
        let layout = code::discover(&root).map_err(|error| {
            Error::new(Code::NotFound, error.to_string()).hint("--root names the source tree")
        })?;
        let (code, mut unread) = code::read_tree(&root, &layout, service.threads);
        unread.extend(layout.problems);
        if code.types.is_empty() {
            return Err(nothing(&root, &unread));
        }
        Ok(Tree { root, code, unread })
    }
}

fn nothing(root: &Path, unread: &[String]) -> Error {
    let known: Vec<&str> = code::LANGUAGES.iter().map(|language| language.name).collect();
    let error = Error::new(Code::NotFound, format!("no source was found below {}", root.display()))
        .hint(format!("languages that are read: {}", known.join(", ")))
        .hint("--root names the source tree");
    unread.iter().take(NAMED).fold(error, |error, why| error.hint(format!("not read: {why}")))
}

/// Reads the tree that is meant and asks something of it.
pub(crate) fn at_desk<T>(
    service: &Service,
    root: Option<&String>,
    ask: impl FnOnce(&Desk<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let tree = Tree::read(service, root_of(service, root)?)?;
    let (access, notes) = access::read(&tree.root);
    let lately = access.ranks(tree.code.types.iter().map(|each| each.id));
    let lately = |of: u32| lately.get(of as usize).copied().unwrap_or(0);
    let shelf = Shelf::default();
    let now = service.clock.now().0;
    ask(&Desk {
        service,
        tree: &tree,
        shelf: &shelf,
        lately: &lately,
        now,
        access: &access,
        notes: RefCell::new(notes),
    })
}

impl<'a> Desk<'a> {
    pub(crate) fn root(&self) -> &'a Path {
        &self.tree.root
    }

    pub(crate) fn coverage(&self) -> Coverage {
        let files = &self.tree.code.files;
        Coverage {
            files: files.len() as u64,
            with_gaps: files.iter().filter(|file| !file.facts.gaps.is_empty()).count() as u64,
            not_read: self.tree.unread.len() as u64,
            unread: self.tree.unread.iter().take(NAMED).cloned().collect(),
            notes: self.notes.borrow().clone(),
        }
    }

    /// Tells what went wrong without keeping the answer from coming.
    pub(crate) fn note(&self, note: String) {
        self.notes.borrow_mut().push(note);
    }

    // ---- types by number

    pub(crate) fn types(&self) -> u32 {
        self.tree.code.types.len() as u32
    }

    pub(crate) fn name(&self, of: u32) -> &'a str {
        &self.tree.code.types[of as usize].name
    }

    pub(crate) fn simple_name(&self, of: u32) -> &'a str {
        self.tree.code.simple_name(of)
    }

    pub(crate) fn id(&self, of: u32) -> String {
        self.tree.code.types[of as usize].id.to_string()
    }

    pub(crate) fn type_ref(&self, of: u32) -> TypeRef {
        TypeRef { path: self.name(of).to_string(), type_id: self.id(of) }
    }

    /// The type of a whole id, if it is still there.
    pub(crate) fn number(&self, id: &str) -> Option<u32> {
        let numbers =
            self.shelf.numbers.get_or_init(|| (0..self.types()).map(|of| (self.id(of), of)).collect());
        numbers.get(id).copied()
    }

    /// Whether others may use it, and how that is called.
    pub(crate) fn is_open(&self, of: u32) -> bool {
        self.tree.code.types[of as usize].visibility.is_open()
    }

    pub(crate) fn access_word(&self, of: u32) -> &'static str {
        self.tree.code.types[of as usize].visibility.name()
    }

    /// What kinds of files declare it, each in a word.
    pub(crate) fn tags(&self, of: u32) -> impl Iterator<Item = &'static str> + use<'a> {
        let code = &self.tree.code;
        code.types[of as usize].parts.iter().map(|(file, _)| tag(&code.files[*file as usize]))
    }

    // ---- what a name means

    pub(crate) fn names(&self) -> &'a Names<'a> {
        self.shelf.names.get_or_init(|| Names::new(&self.tree.code, self.lately))
    }

    pub(crate) fn meant(&self, path: &str) -> Meant {
        self.names().meant(path)
    }

    /// The one symbol that a path or an id means.
    pub(crate) fn one(&self, path: &str) -> Result<Symbol, Error> {
        if let Some(symbol) = self.by_id(path) {
            return Ok(symbol);
        }
        let meant = self.meant(path);
        meant.resolved.ok_or_else(|| self.unclear(path, &meant))
    }

    /// The one type that a path or an id means; who names a member means the type it belongs to.
    pub(crate) fn one_type(&self, path: &str) -> Result<u32, Error> {
        self.one(path).map(|symbol| symbol.of)
    }

    fn by_id(&self, path: &str) -> Option<Symbol> {
        let path = path.trim();
        let own = path.strip_prefix("T_")?;
        let (head, is_member) = own.split_once('_').map_or((own, false), |(head, _)| (head, true));
        let mut ids = (0..self.types()).filter(|of| is_prefix(head, self.tree.code.types[*of as usize].id));
        let (of, None) = (ids.next()?, ids.next()) else { return None };
        if !is_member {
            return Some(Symbol { of, member: None });
        }
        let members = self.members(of).filter(|symbol| {
            let id = self.member_id(*symbol).unwrap_or_default();
            id.strip_prefix("T_").is_some_and(|id| id.eq_ignore_ascii_case(own))
        });
        members.min()
    }

    /// Every declaration of a member of a type.
    fn members(&self, of: u32) -> impl Iterator<Item = Symbol> + use<'a> {
        let code = &self.tree.code;
        code.types[of as usize].parts.iter().flat_map(move |(file, part)| {
            let count = code.part((*file, *part)).members.len() as u32;
            (0..count).map(move |index| Symbol { of, member: Some((*file, *part, index)) })
        })
    }

    fn member_id(&self, symbol: Symbol) -> Option<String> {
        let (file, part, index) = symbol.member?;
        let member = &self.tree.code.part((file, part)).members[index as usize];
        let id = self.tree.code.types[symbol.of as usize].id;
        Some(code::MemberId::new(id, member.kind, &member.key).to_string())
    }

    fn unclear(&self, path: &str, meant: &Meant) -> Error {
        let names = self.names();
        let listed = meant.candidates.iter().take(8).map(|(symbol, _)| names.full(*symbol));
        let near = meant.candidates.iter().any(|(_, fit)| matches!(fit, Fit::Near(_)));
        let error = if meant.candidates.is_empty() || near {
            Error::new(Code::SymbolNotFound, format!("nothing is called `{path}`"))
        } else {
            Error::new(Code::AmbiguousSymbol, format!("`{path}` may mean {} symbols", meant.candidates.len()))
        };
        let refused = listed.fold(error, Error::hint);
        if meant.candidates.is_empty() {
            return refused.hint("`loci code search` finds parts of names");
        }
        refused
    }

    pub(crate) fn told(&self, symbol: Symbol) -> SymbolRef {
        let (code, names) = (&self.tree.code, self.names());
        let each = &code.types[symbol.of as usize];
        let member = names.member(symbol);
        let (file, span) = match (symbol.member, member) {
            (Some((file, ..)), Some(member)) => (file, member.signature),
            _ => (each.parts[0].0, code.part(each.parts[0]).signature),
        };
        SymbolRef {
            path: names.full(symbol),
            type_id: each.id.to_string(),
            member_id: self.member_id(symbol),
            kind: member.map_or(each.kind.name(), |member| member.kind.name()).to_string(),
            access: member.map_or(each.visibility, |member| member.visibility).name().to_string(),
            file: code.files[file as usize].path.clone(),
            line: line_of(&self.text(file), span.from as usize),
        }
    }

    // ---- what a type looks like

    fn outliner(&self) -> &'a Outliner<'a> {
        self.shelf.outliner.get_or_init(|| Outliner::new(&self.tree.code, self.resolver()))
    }

    pub(crate) fn outline(&self, of: u32) -> String {
        self.veiled(self.outliner().text(of))
    }

    /// Source holds secrets as any text does; what is shown of it goes into files that are committed.
    pub(crate) fn veiled(&self, text: String) -> String {
        self.service.masker().map(|veil| veil.text(&text).into_owned()).unwrap_or(text)
    }

    /// The outline of a member, or of a type where none is meant.
    pub(crate) fn outline_of(&self, symbol: Symbol) -> String {
        match self.names().member(symbol) {
            Some(member) => self.veiled(self.outliner().member(symbol.of, &member.key).unwrap_or_default()),
            None => self.outline(symbol.of),
        }
    }

    /// The source that an outline stands for.
    pub(crate) fn source_of(&self, symbol: Symbol) -> String {
        let code = &self.tree.code;
        if let (Some(member), Some((file, ..))) = (self.names().member(symbol), symbol.member) {
            return member.span.of(&self.text(file)).to_string();
        }
        let part = |at: &(u32, u32)| code.part(*at).span.of(&self.text(at.0)).to_string();
        code.types[symbol.of as usize].parts.iter().map(part).collect()
    }

    pub(crate) fn hashes(&self, of: u32) -> Hashes {
        code::hashes(&self.tree.code, self.resolver(), of).hashes
    }

    // ---- who depends on whom

    pub(crate) fn resolver(&self) -> &'a Resolver<'a> {
        self.shelf.resolver.get_or_init(|| Resolver::new(&self.tree.code))
    }

    pub(crate) fn bases(&self, of: u32) -> &'a [u32] {
        self.resolver().bases(of)
    }

    pub(crate) fn edges(&self) -> Vec<Edge> {
        self.resolver().edges()
    }

    pub(crate) fn graph(&self) -> Graph {
        Graph::new(self.types() as usize, &self.edges())
    }

    // ---- the files themselves

    /// Everything that was read, for what is asked of places in files and of the tree as a whole.
    pub(crate) fn code(&self) -> &'a Codebase {
        &self.tree.code
    }

    /// The text of a file, read once more.
    pub(crate) fn text(&self, file: u32) -> String {
        let path = &self.tree.code.files[file as usize].path;
        code::read_source(&self.tree.root, path)
            .map_or_else(|_| String::new(), |bytes| code::decode(&bytes).into_owned())
    }

    /// The tree's own folder, if it has one that can be used.
    pub(crate) fn folder(&self) -> Option<Folder> {
        Folder::at(self.root()).unwrap_or_else(|error| {
            self.note(error.to_string());
            None
        })
    }

    // ---- what was asked for

    pub(crate) fn now(&self) -> i64 {
        self.now
    }

    /// Remembers that a type was asked for, where the tree has a folder for it: a question makes no files in somebody's tree.
    pub(crate) fn asked(&self, of: u32) {
        let Some(folder) = self.folder() else { return };
        let seen = self.type_ref(of);
        let noted = access::update(&folder, access::BRIEFLY, self.now, |access| access.ask(&seen, self.now));
        match noted {
            Ok((_, notes)) => notes.into_iter().for_each(|note| self.note(note)),
            Err(error) => self.note(format!("not remembered as asked for: {error}")),
        }
    }
}

pub(crate) fn line_of(text: &str, at: usize) -> u32 {
    1 + text.get(..at).unwrap_or(text).matches('\n').count() as u32
}

/// What kind of file it is, in a word.
fn tag(file: &code::SourceFile) -> &'static str {
    let path = file.path.to_lowercase();
    match (file.generated, path.contains("test")) {
        (true, _) => "generated",
        (_, true) => "test",
        _ => "source",
    }
}

/// What went wrong with the tree's folder, and what to do about it.
pub(crate) fn folder_error(error: &FolderError) -> Error {
    let (code, hint) = match error {
        FolderError::Full(_) => (Code::DiskFull, "free some space and run it again: nothing was changed"),
        FolderError::Busy(_) => (Code::WriterBusy, "wait for it, or stop it, and run this again"),
        FolderError::ReadOnly(_) => {
            (Code::ReadError, "packs and what is pinned are kept in `.loci` at the root of the tree")
        }
        FolderError::NotAFolder(_) | FolderError::NotAFile(_) | FolderError::TooLarge(_) => {
            (Code::ReadError, "move it out of the way, and run this again")
        }
        FolderError::Io { .. } => (Code::ReadError, "--root names the source tree"),
    };
    Error::new(code, error.to_string()).hint(hint)
}
