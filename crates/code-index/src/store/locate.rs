//! Resolves what a reader writes to a symbol of the index: a name, an ID, a path through re-exports, an inherited member, a former
//! name, or a place in a file; and returns the source of a symbol.
//!
//! Does not guess between several candidates: it returns them all, the likeliest first.

use super::partial::join_partial;
use super::pasted::{Pasted, read_pasted};
use super::table::Table;
use super::{PROJECTS, Store, StoreError};
use code::UsageFinder;
use code::{Codebase, MemberLocation, SourceFile};
use code::{MatchKind, PathResolution, Symbol, SymbolIndex, TypeNames, path_words};
use code::{MemberSummary, SourceRange, TypeSummary};
use project::Project;
use std::fmt::Write as _;
use syntax::{FileFacts, Import, ImportKind, Path, Scope, Segment, Span, TypeId, TypeKind, language_of};

/// A type, or a member of it by its position in the summary.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Located {
    pub of: TypeId,
    pub member: Option<u32>,
}

/// The result of resolving a name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NameResolution {
    /// The symbol; several if it has overloads, and none if the name is ambiguous or unknown.
    pub resolved: Vec<Located>,
    /// All symbols that fit equally well, the likeliest first.
    pub candidates: Vec<(Located, MatchKind)>,
    /// The former name of a renamed type, and why it is considered the same.
    pub redirected_from: Option<(String, String)>,
}

impl NameResolution {
    /// The symbol with its overloads, or what a pattern fits, unless that is more than 20: `*` means nothing in particular.
    pub fn all_meant(&self) -> impl Iterator<Item = Located> {
        let is_pattern = self.resolved.is_empty() && self.candidates.len() <= 20;
        let fits = self.candidates.iter().filter(move |(_, fit)| is_pattern && *fit == MatchKind::Wildcard);
        self.resolved.iter().copied().chain(fits.map(|(at, _)| *at))
    }
}

/// A piece of source text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourcePiece {
    pub file: String,
    pub first_line: u32,
    pub last_line: u32,
    /// Whole lines.
    pub text: String,
}

/// The project of a file that belongs to none, and so sees all of them.
const NO_PROJECT: u32 = u32::MAX;
/// No real file has this path.
const QUERY_FILE: &str = "\u{0}query";
/// A chain of bases longer than this is a cycle.
const MAX_LINEAGE: usize = 200;
/// A name is tried in so many packages of a tree.
const MAX_PACKAGES: usize = 24;
/// A longer signature is cut in the outline of a file.
const MAX_SIGNATURE: usize = 160;

impl Store {
    /// Resolves a name; `recency` ranks equally good candidates.
    pub fn resolve_name(
        &self,
        path: &str,
        recency: &dyn Fn(TypeId) -> u64,
    ) -> Result<NameResolution, StoreError> {
        let found = self.resolve_written(path, recency)?;
        if found.resolved.is_empty()
            && found.candidates.iter().all(|(_, fit)| *fit != MatchKind::Wildcard)
            && let Some(pasted) = self.by_pasted(path, recency)?
        {
            return Ok(pasted);
        }
        Ok(found)
    }

    /// Resolves a name that is written as one.
    fn resolve_written(
        &self,
        path: &str,
        recency: &dyn Fn(TypeId) -> u64,
    ) -> Result<NameResolution, StoreError> {
        let path = &plain_spelling(path);
        if let Some(found) = self.by_id(path)?.or(self.by_place(path)?).or(self.by_file(path)?) {
            return Ok(found.into());
        }
        let found = self.by_name(path, recency)?;
        if !found.resolved.is_empty() && found.is_case_exact {
            return Ok(found.into());
        }
        if let Some(exported) = self.by_export(path)? {
            return Ok(exported.into());
        }
        if let Some(inherited) = self.by_inheritance(path, recency)? {
            return Ok(inherited.into());
        }
        if found.resolved.is_empty()
            && let Some(exported) = self.by_package(path)?
        {
            return Ok(exported.into());
        }
        if found.resolved.is_empty()
            && let Some(renamed) = self.by_former_name(path, recency)?
        {
            return Ok(renamed);
        }
        if found.is_unknown()
            && let Some(similar) = self.by_variable(path, recency)?
        {
            return Ok(similar);
        }
        Ok(found.into())
    }

    /// `src/a.py`: the module of a file, or the first type in it.
    fn by_file(&self, path: &str) -> Result<Option<Located>, StoreError> {
        let Some(file) = self.file_named(path)? else { return Ok(None) };
        let types = self.types_of_file(&file)?;
        let of = types.iter().find(|of| of.kind == TypeKind::Module).or_else(|| types.first());
        Ok(of.map(|of| Located { of: of.id, member: None }))
    }

    /// A frame of a stack trace, a signature, a path with generics: the name in it, in the file that it mentions, or else the
    /// declaration at the line.
    fn by_pasted(
        &self,
        text: &str,
        recency: &dyn Fn(TypeId) -> u64,
    ) -> Result<Option<NameResolution>, StoreError> {
        let Pasted { file, line, name } = read_pasted(text);
        let file = file.map_or(Ok(None), |file| self.file_ending(&file))?;
        let mut name = name.as_deref().filter(|name| *name != text.trim());
        // What is in front may be the folder of a module, or a package under another name.
        while let Some(path) = name {
            let mut found = self.resolve_written(path, recency)?;
            let candidates = || found.candidates.iter().filter(|(_, fit)| !matches!(fit, MatchKind::Near(_)));
            if let Some(file) = &file {
                let mut here = Vec::new();
                for (at, _) in candidates() {
                    here.extend(self.is_in_file(*at, file)?.then_some(*at));
                }
                if let Some(first) = here.first() {
                    return Ok(Some((*first).into()));
                }
            } else if !found.resolved.is_empty() {
                return Ok(Some(std::mem::take(&mut found)));
            }
            name = path.split_once('.').map(|(_, rest)| rest);
        }
        let (Some(file), Some(line)) = (file, line) else { return Ok(None) };
        let found = self.declaration_in(&file, line_span(&self.read_text(&file), line))?;
        Ok(found.map(NameResolution::from))
    }

    fn is_in_file(&self, at: Located, file: &str) -> Result<bool, StoreError> {
        let Some(of) = self.type_summary(at.of)? else { return Ok(false) };
        let mut places = match at.member.and_then(|member| of.members.get(member as usize)) {
            Some(member) => vec![member.range],
            None => of.parts.clone(),
        }
        .into_iter();
        Ok(places.any(|range| of.files[range.file as usize] == file))
    }

    /// The indexed file with the longest end of a path, which may begin elsewhere, as that of an installed package does.
    fn file_ending(&self, path: &str) -> Result<Option<String>, StoreError> {
        let mut rest = Some(path);
        while let Some(path) = rest {
            if let Some(file) = self.file_named(path)? {
                return Ok(Some(file));
            }
            rest = path.split_once('/').map(|(_, rest)| rest);
        }
        Ok(None)
    }

    /// `z.object`, where a package of the tree exports `z`.
    fn by_package(&self, path: &str) -> Result<Option<Located>, StoreError> {
        if path_words(path).len() < 2 {
            return Ok(None);
        }
        let projects: Vec<Project> = Table::new(&self.db).get_meta(PROJECTS)?.unwrap_or_default();
        let mut found = Vec::new();
        for project in projects.iter().filter(|project| !project.path.is_empty()).take(MAX_PACKAGES) {
            found.extend(self.by_export(&format!("{}.{path}", project.name))?);
        }
        found.dedup();
        Ok(found.first().copied().filter(|_| found.len() == 1))
    }

    /// `app.route`, where `app` is a variable of the reader: members of that name, as similar names.
    fn by_variable(
        &self,
        path: &str,
        recency: &dyn Fn(TypeId) -> u64,
    ) -> Result<Option<NameResolution>, StoreError> {
        let Some((variable, member)) = path.split_once('.') else { return Ok(None) };
        let is_plain = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || c == '_');
        if !is_plain(variable) || !is_plain(member) || variable.starts_with(char::is_uppercase) {
            return Ok(None);
        }
        let mut candidates = self.by_name(member, recency)?.candidates;
        candidates.retain(|(at, fit)| at.member.is_some() && !matches!(fit, MatchKind::Near(_)));
        for (_, fit) in &mut candidates {
            *fit = MatchKind::Near(1);
        }
        Ok((!candidates.is_empty()).then(|| NameResolution { candidates, ..NameResolution::default() }))
    }

    fn by_id(&self, path: &str) -> Result<Option<Located>, StoreError> {
        let Some(own) = path.trim().strip_prefix("T_") else { return Ok(None) };
        let (head, is_member) = own.split_once('_').map_or((own, false), |(head, _)| (head, true));
        let [of] = self.types_with_prefix(head)?[..] else { return Ok(None) };
        if !is_member {
            return Ok(Some(Located { of, member: None }));
        }
        let Some(summary) = self.type_summary(of)? else { return Ok(None) };
        let is_it = |member: &MemberSummary| {
            let id = syntax::MemberId::new(of, member.kind, &member.key).to_string();
            id.strip_prefix("T_").is_some_and(|id| id.eq_ignore_ascii_case(own))
        };
        let member = summary.members.iter().position(is_it).map(|at| at as u32);
        Ok(member.map(|member| Located { of, member: Some(member) }))
    }

    /// `src/a.rs:12`: the innermost declaration at a line.
    fn by_place(&self, path: &str) -> Result<Option<Located>, StoreError> {
        let mut parts = path.trim().split(':');
        let (Some(file), Some(line)) = (parts.next(), parts.next()) else { return Ok(None) };
        let Ok(line) = line.parse::<u32>() else { return Ok(None) };
        let Some(file) = self.file_named(file)?.or(self.file_with_stem(file)?) else { return Ok(None) };
        self.declaration_in(&file, line_span(&self.read_text(&file), line))
    }

    /// The innermost declaration with code at a byte of a file: the method, not the field that it assigns there.
    pub(super) fn caller_at(&self, file: &str, at: u32) -> Result<Option<Located>, StoreError> {
        let at = Span { from: at, to: at + 1 };
        let code = self.innermost(file, at, |it| it.kind != syntax::MemberKind::Field)?;
        if code.is_some_and(|it| it.member.is_some()) { Ok(code) } else { self.declaration_in(file, at) }
    }

    fn declaration_in(&self, file: &str, at: Span) -> Result<Option<Located>, StoreError> {
        self.innermost(file, at, |_| true)
    }

    /// A method of Go is also a part of its type; parts come first, so of two that are as large the member is taken.
    fn innermost(
        &self,
        file: &str,
        at: Span,
        counts: impl Fn(&MemberSummary) -> bool,
    ) -> Result<Option<Located>, StoreError> {
        let mut best: Option<(u32, Located)> = None;
        for summary in self.types_of_file(file)? {
            let members = summary.members.iter().enumerate().filter(|(_, it)| counts(it));
            let members = members.map(|(at, it)| (Some(at as u32), it.range));
            let places = summary.parts.iter().map(|range| (None, *range)).chain(members);
            for (member, range) in places.filter(|(_, range)| summary.files[range.file as usize] == file) {
                let is_around = range.span.from < at.to && at.from < range.span.to;
                let size = range.span.to - range.span.from;
                if is_around && best.is_none_or(|(known, _)| size <= known) {
                    best = Some((size, Located { of: summary.id, member }));
                }
            }
        }
        Ok(best.map(|(_, found)| found))
    }

    /// The indexed file with this path, or the only one that ends with it.
    pub fn file_named(&self, path: &str) -> Result<Option<String>, StoreError> {
        let path = path.trim().trim_start_matches("./");
        if language_of(path.as_ref()).is_none() {
            return Ok(None);
        }
        let table = Table::new(&self.db);
        if table.find_file(path)?.is_some() {
            return Ok(Some(path.to_owned()));
        }
        let ends = |known: &String| known.strip_suffix(path).is_some_and(|before| before.ends_with('/'));
        let mut fitting = table.files()?.into_keys().filter(ends);
        Ok(fitting.next().filter(|_| fitting.next().is_none()))
    }

    /// The only file with this path, which has no extension.
    fn file_with_stem(&self, path: &str) -> Result<Option<String>, StoreError> {
        let ends = |known: &String| {
            let before = known.rsplit_once('.').and_then(|(known, _)| known.strip_suffix(path));
            before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        let mut fitting = Table::new(&self.db).files()?.into_keys().filter(ends);
        Ok(fitting.next().filter(|_| fitting.next().is_none()))
    }

    fn by_name(&self, path: &str, recency: &dyn Fn(TypeId) -> u64) -> Result<ByName, StoreError> {
        let few = self.types_named(path)?;
        let found = SymbolIndex::new(&few, recency).resolve_path(path);
        let written = |(_, fit): &(Symbol, MatchKind)| matches!(fit, MatchKind::Exact | MatchKind::Suffix);
        if !found.candidates.is_empty() && found.candidates.iter().all(written) {
            return Ok(ByName::new(&few, &found));
        }
        let all = self.all_names()?;
        let found = SymbolIndex::new(&all, recency).resolve_path(path);
        Ok(ByName::new(&all, &found))
    }

    /// Resolves a path as an import of it would be: `flask.Flask` is declared in `flask.app`.
    fn by_export(&self, path: &str) -> Result<Option<Located>, StoreError> {
        let words = path_words(path);
        if words.len() < 2 {
            return Ok(None);
        }
        let mut table = Table::new(&self.db);
        let projects: Vec<Project> = table.get_meta(PROJECTS)?.unwrap_or_default();
        let start = vec![import_file(&words)];
        let (code, found) = join_partial(&mut table, &projects, start, |code, resolver| {
            let file = code.files.iter().position(|file| file.path == QUERY_FILE)?;
            UsageFinder::new(code, resolver).imported_symbol(file as u32)
        })?;
        let Some((of, member)) = found else { return Ok(None) };
        let of = code.types[of as usize].id;
        let Some(member) = member else { return Ok(Some(Located { of, member: None })) };
        self.member_at(of, &code, member)
    }

    fn member_at(
        &self,
        of: TypeId,
        code: &Codebase,
        at: MemberLocation,
    ) -> Result<Option<Located>, StoreError> {
        let declared = code.member(at);
        let Some(summary) = self.type_summary(of)? else { return Ok(None) };
        let is_it = |member: &MemberSummary| member.kind == declared.kind && member.key == declared.key;
        let member = summary.members.iter().position(is_it).map(|at| at as u32);
        Ok(member.map(|member| Located { of, member: Some(member) }))
    }

    /// `Derived.member`, where a base declares the member.
    fn by_inheritance(
        &self,
        path: &str,
        recency: &dyn Fn(TypeId) -> u64,
    ) -> Result<Option<Located>, StoreError> {
        let Some((outer, name)) = path.trim().rsplit_once(['.', ':']) else { return Ok(None) };
        let outer = outer.trim_end_matches([':', '.']);
        if outer.is_empty() || name.contains(['*', '?', '(']) {
            return Ok(None);
        }
        let named = self.by_name(outer, recency)?;
        let mut start = named.resolved;
        start.extend(self.by_export(outer)?.filter(|_| start.is_empty()));
        if start.is_empty() {
            // Several types of that name may have it from the same base.
            let is_exact = |(_, fit): &&(Located, MatchKind)| !matches!(fit, MatchKind::Near(_));
            start = named.candidates.iter().filter(is_exact).map(|(at, _)| *at).collect();
        }
        let mut found = Vec::new();
        for at in start.iter().filter(|at| at.member.is_none()) {
            found.extend(self.find_in_lineage(at.of, name)?);
        }
        found.dedup();
        Ok(found.first().copied().filter(|_| found.len() == 1))
    }

    /// The member with this name of a type or of its nearest base that has it.
    fn find_in_lineage(&self, of: TypeId, name: &str) -> Result<Option<Located>, StoreError> {
        let mut lineage = vec![of];
        let mut at = 0;
        while let Some(of) = lineage.get(at).copied().filter(|_| at < MAX_LINEAGE) {
            let names = self.names_of(&[of])?;
            let members = names.iter().flat_map(|names| &names.members);
            if let Some(member) = members.into_iter().position(|member| member.name == name) {
                return Ok(Some(Located { of, member: Some(member as u32) }));
            }
            let bases = self.bases(of)?;
            lineage.extend(bases.into_iter().filter(|base| !lineage.contains(base)).collect::<Vec<_>>());
            at += 1;
        }
        Ok(None)
    }

    /// A former name of a renamed type, or of a member of one.
    fn by_former_name(
        &self,
        path: &str,
        recency: &dyn Fn(TypeId) -> u64,
    ) -> Result<Option<NameResolution>, StoreError> {
        let path = path.trim();
        for (name, member) in [(path, None)].into_iter().chain(split_member(path)) {
            let wanted = name.to_lowercase();
            let ends = |name: &str| {
                let name = name.to_lowercase();
                name == wanted || name.strip_suffix(&wanted).is_some_and(|head| head.ends_with(['.', '+']))
            };
            let mut renamed = self.renamed_types()?.into_iter().filter(|it| ends(&it.old_name));
            let (Some(renamed), None) = (renamed.next(), renamed.next()) else { continue };
            let new_path = match member {
                Some(member) => format!("{}.{member}", renamed.new_name),
                None => renamed.new_name.clone(),
            };
            let found = self.by_name(&new_path, recency)?;
            if !found.resolved.is_empty() {
                let redirected_from = Some((renamed.old_name, renamed.reason));
                return Ok(Some(NameResolution { redirected_from, ..found.into() }));
            }
        }
        Ok(None)
    }

    // ---- source

    /// The source of a symbol, one piece for each declaration.
    pub fn source_of(&self, of: &TypeSummary, member: Option<&MemberSummary>) -> Vec<SourcePiece> {
        let ranges: Vec<SourceRange> = match member {
            Some(member) => vec![member.range],
            None => of.parts.clone(),
        };
        let mut pieces: Vec<SourcePiece> = Vec::new();
        for range in ranges {
            let file = &of.files[range.file as usize];
            let text = self.read_text(file);
            let piece = cut_lines(file, &text, range.span);
            if pieces.last() != Some(&piece) {
                pieces.push(piece);
            }
        }
        pieces
    }

    /// The declarations of a file with their lines, and the text of the file.
    pub fn file_outline(&self, file: &str) -> Result<(String, String), StoreError> {
        let text = self.read_text(file);
        let mut rows: Vec<(Span, bool, String)> = Vec::new();
        for summary in self.types_of_file(file)? {
            let here = |range: &SourceRange| summary.files[range.file as usize] == file;
            for range in summary.parts.iter().filter(|range| here(range)) {
                let shown = match summary.kind {
                    TypeKind::Module => format!("module {}", summary.name),
                    _ => one_line(range.signature.text_in(&text)),
                };
                rows.push((range.span, false, shown));
            }
            for member in summary.members.iter().filter(|member| here(&member.range)) {
                rows.push((member.range.span, true, one_line(member.range.signature.text_in(&text))));
            }
        }
        rows.sort_by_key(|(span, is_member, _)| (span.from, *is_member, std::cmp::Reverse(span.to)));
        let mut out = format!("{file} ({} lines)\n", text.lines().count());
        let mut around: Vec<u32> = Vec::new();
        for (span, _, shown) in rows {
            around.retain(|end| *end >= span.to);
            let piece = cut_lines(file, &text, span);
            let lines = format!("{}-{}", piece.first_line, piece.last_line);
            let _ = writeln!(out, "{lines:>11}  {}{shown}", "  ".repeat(around.len()));
            around.push(span.to);
        }
        Ok((out, text))
    }

    pub(super) fn read_text(&self, file: &str) -> String {
        let bytes = project::read_source(&self.root, file).unwrap_or_default();
        syntax::decode_text(&bytes).into_owned()
    }

    pub(super) fn types_of_file(&self, file: &str) -> Result<Vec<TypeSummary>, StoreError> {
        let mut table = Table::new(&self.db);
        let Some(row) = table.find_file(file)? else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for id in table.types_in(row.id)? {
            found.extend(table.load_summary(id)?);
        }
        Ok(found)
    }
}

/// The result of looking up declared names.
struct ByName {
    resolved: Vec<Located>,
    candidates: Vec<(Located, MatchKind)>,
    is_case_exact: bool,
}

impl ByName {
    /// Whether no name matches, or only a similar one.
    fn is_unknown(&self) -> bool {
        self.candidates.iter().all(|(_, fit)| matches!(fit, MatchKind::Near(_)))
    }

    fn new(types: &[TypeNames], found: &PathResolution) -> ByName {
        let same = |symbol: &Symbol, first: Symbol| {
            symbol.of == first.of && symbol.member.is_some() == first.member.is_some()
        };
        let resolved = found.resolved.map_or_else(Vec::new, |first| match first.member {
            Some(_) => {
                let all = found.candidates.iter().map(|(symbol, _)| *symbol);
                all.filter(|symbol| same(symbol, first)).map(|symbol| locate(types, symbol)).collect()
            }
            None => vec![locate(types, first)],
        });
        let candidates =
            found.candidates.iter().map(|(symbol, fit)| (locate(types, *symbol), *fit)).collect();
        ByName { resolved, candidates, is_case_exact: found.is_case_exact }
    }
}

impl From<ByName> for NameResolution {
    fn from(found: ByName) -> NameResolution {
        NameResolution { resolved: found.resolved, candidates: found.candidates, redirected_from: None }
    }
}

impl From<Located> for NameResolution {
    fn from(found: Located) -> NameResolution {
        let candidates = vec![(found, MatchKind::Exact)];
        NameResolution { resolved: vec![found], candidates, redirected_from: None }
    }
}

pub(super) fn locate(types: &[TypeNames], symbol: Symbol) -> Located {
    Located { of: types[symbol.of as usize].id, member: symbol.member }
}

fn split_member(path: &str) -> Option<(&str, Option<&str>)> {
    path.rsplit_once('.').map(|(outer, name)| (outer, Some(name)))
}

/// A name as the tables have it: `A#b` of Java's documentation and `(*A).B` of Go's are `A.b` and `A.B`.
fn plain_spelling(path: &str) -> String {
    let path = path.trim();
    // but `#b` is a private name of JavaScript, and `b#2` the second of two variants
    let documented = path.split_once('#').filter(|(of, member)| {
        of.ends_with(char::is_alphanumeric) && member.starts_with(char::is_alphabetic)
    });
    let path = documented.map_or_else(|| path.to_owned(), |(of, member)| format!("{of}.{member}"));
    match path.strip_prefix("(*").and_then(|rest| rest.split_once(')')) {
        Some((of, rest)) => format!("{of}{rest}"),
        None => path,
    }
}

/// A file that imports a path from the global namespace.
fn import_file(words: &[String]) -> SourceFile {
    let mut facts = FileFacts { has_module_path: true, requires_imports: true, ..FileFacts::default() };
    facts.words.push("global".into());
    facts.words.extend(words.iter().map(|word| word.as_str().into()));
    let segments = (1..=words.len() as u32).map(|word| Segment { word, arity: 0 }).collect();
    facts.paths.push(Path { alias: Some(0), segments });
    let kind = ImportKind::Alias(words.len() as u32);
    let imports = vec![Import { kind, path: 0, global: false }];
    facts.scopes.push(Scope { parent: None, namespace: Vec::new(), imports });
    SourceFile { path: QUERY_FILE.to_owned(), project: NO_PROJECT, generated: false, facts }
}

/// The byte range of a line, counted from 1.
fn line_span(text: &str, line: u32) -> Span {
    let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
    let from = starts.into_iter().nth(line.saturating_sub(1) as usize).unwrap_or(text.len());
    let length = text[from..].find('\n').unwrap_or(text.len() - from);
    Span::new(from, (from + length).max(from + 1))
}

/// The whole lines that a range covers.
fn cut_lines(file: &str, text: &str, span: Span) -> SourcePiece {
    let (from, to) = ((span.from as usize).min(text.len()), (span.to as usize).min(text.len()));
    let start = text[..from].rfind('\n').map_or(0, |at| at + 1);
    let inner = text[start..to].trim_end();
    let end = start + inner.len();
    let end = end + text[end..].find('\n').unwrap_or(text.len() - end);
    let first_line = 1 + text[..start].matches('\n').count() as u32;
    let text = text[start..end].to_owned();
    let last_line = first_line + text.matches('\n').count() as u32;
    SourcePiece { file: file.to_owned(), first_line, last_line, text }
}

/// A signature on one line.
pub(super) fn one_line(text: &str) -> String {
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let plain = joined.trim_end_matches(['{', ':', '=', ' ']);
    match plain.char_indices().nth(MAX_SIGNATURE) {
        Some((at, _)) => format!("{}…", &plain[..at]),
        None => plain.to_owned(),
    }
}
