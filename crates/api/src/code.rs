//! Operations on the code base: outlines, symbol lookup, usages and the dependency graph.
//!
//! Does not know how source is parsed.

mod changes;
mod find;
mod index;
mod investigate;
mod map;
mod notes;
mod pack;
mod semantic;
mod status;
mod window;

pub use changes::{ChangesFound, CodeChanges};
pub use find::{FindSymbols, KINDS};
pub use index::{ChangedMember, IndexCode, IndexedCode, IndexerResult, TypeAlias, TypeChange, Work};
pub use investigate::{Conclusion, EvidenceItem, Investigate, Investigation, Step, StreamOp};
pub use map::{CodeMap, MapDrawn, Package, PackageUse};
pub use notes::{NoteLine, NotesWritten, WriteNotes};
pub use pack::{BuildPack, ListPacks, PackBuilt, PackInfo, Packs, check_pack_name};
pub use semantic::{GetSemantic, Semantic};
pub use status::{CodeStatus, CodeStatusRequest, InLanguage};
pub use window::{
    CodeContext, Dismiss, FocusEntry, FocusList, GetPromptWindow, Pin, PinResult, PromptWindow, Unpin,
    WindowEntry,
};

use crate::Param;
use crate::operation::{Operation, Response};
use crate::params::{ROOT, check_not_blank};
use serde::{Deserialize, Serialize};

const UNDER: Param = Param::text("under", "FOLDER", "Only in this folder or file of the tree");
const WITHOUT_TESTS: Param = Param::flag("without_tests", "Leave out files of tests");
const PATH: Param = Param {
    check: Some(check_not_blank),
    ..Param::text(
        "path",
        "NAME",
        "A type or member by name or file:line; also by suffix, re-exported path or ID prefix: NodeStore, \
         Core.NodeStore.Get*, store.get(int), flask.Flask, src/store.rs:12",
    )
};
const FILTER: Param = Param::text(
    "filter",
    "FILTER",
    "Type filter: namespace:, type:, access:, tag: or depends: with * and ?, combined with AND, OR, ! and parentheses",
);

// ---- outlines

/// Show the outline of a type (signatures, documentation, base types, dependencies) or of a file
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "get_outline",
    command = "code outline",
    answer = "the outline as text, and the token counts of outline and source",
    example = "loci code outline NodeStore",
    returns = Outlined,
    read_only,
)]
pub struct GetOutline {
    #[param(like = PATH, required = "name", word)]
    pub path: String,
    #[param(like = ROOT)]
    pub root: Option<String>,
}

/// Show the outline of a member: signature, documentation, location
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "get_member_outline",
    command = "code member",
    answer = "the outline as text, and the token counts of outline and source",
    example = "loci code member 'NodeStore.Get(int)'",
    returns = Outlined,
    read_only,
)]
pub struct GetMemberOutline {
    #[param(like = PATH, required = "name", word)]
    pub path: String,
    #[param(like = ROOT)]
    pub root: Option<String>,
}

/// Show the source of a type or member, with line numbers
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "get_source",
    command = "code source",
    answer = "the source text of each declaration, and where it starts",
    example = "loci code source NodeStore.Get",
    returns = Sourced,
    read_only,
    rows("source"),
    stats("file"),
)]
pub struct GetSource {
    #[param(like = PATH, required = "name", word)]
    pub path: String,
    /// Maximum number of lines
    #[param(default = 400)]
    pub max_lines: u64,
    #[param(like = ROOT)]
    pub root: Option<String>,
}

/// Resolve a name to a type or member
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "resolve_symbol",
    command = "code resolve",
    answer = "the symbol if the name is unambiguous, and all candidates, likeliest first",
    example = "loci code resolve Store.Get*",
    returns = SymbolMatches,
    read_only,
    rows("candidates"),
    stats("kind"),
)]
pub struct ResolveSymbol {
    #[param(like = PATH, required = "name", word)]
    pub path: String,
    #[param(like = ROOT)]
    pub root: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Sourced {
    pub resolved: SymbolRef,
    /// One for each declaration; overloads and parts of a type are separate.
    pub source: Vec<SourceText>,
    /// Lines beyond the limit.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: u64,
    pub coverage: Coverage,
}

impl Response for Sourced {}

/// Whole lines of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SourceText {
    pub file: String,
    /// The number of the first line.
    pub line: u32,
    pub text: String,
}

/// A resolved symbol.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SymbolRef {
    /// Its full name.
    pub path: String,
    pub type_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member_id: Option<String>,
    pub kind: String,
    pub access: String,
    pub file: String,
    pub line: u32,
    /// The last line of its first declaration.
    #[serde(rename = "endLine", skip_serializing_if = "is_no_line")]
    pub end_line: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference
fn is_no_line(line: &u32) -> bool {
    *line == 0
}

/// A type by name and ID.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TypeRef {
    /// Its full name.
    pub path: String,
    pub type_id: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Outlined {
    pub resolved: SymbolRef,
    pub outline: String,
    /// Counted with the vocabulary of a real model; an estimate for others.
    pub outline_tokens: u64,
    pub source_tokens: u64,
    pub coverage: Coverage,
}

impl Response for Outlined {}

/// How much of the tree the response covers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Coverage {
    /// The commit that is checked out. The response reflects the working tree, committed or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    pub files: u64,
    /// Files with places that could not be parsed.
    pub with_gaps: u64,
    /// Files in which nothing was found because a condition such as `#if` leaves their text out.
    #[serde(skip_serializing_if = "is_zero")]
    pub inactive: u64,
    /// The number of files that were not read.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_read: u64,
    /// The first of them, with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
    /// Other problems that did not prevent a response.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference
fn is_zero(n: &u64) -> bool {
    *n == 0
}

// ---- names

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SymbolMatches {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved: Option<SymbolRef>,
    pub candidates: Vec<SymbolRef>,
    /// The candidates only have similar names.
    #[serde(skip_serializing_if = "crate::search::is_false")]
    pub nearly: bool,
    /// The former name, if the symbol was renamed.
    #[serde(rename = "redirectedFrom", skip_serializing_if = "Option::is_none")]
    pub redirected_from: Option<String>,
    pub coverage: Coverage,
}

impl Response for SymbolMatches {
    fn is_empty(&self) -> bool {
        self.candidates.is_empty()
    }
}

/// Search types and members by part of the name
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "search_symbols",
    command = "code search",
    answer = "symbols, best match first, types before members",
    example = "loci code search store --limit 5",
    returns = SymbolMatches,
    read_only,
    rows("candidates"),
    stats("kind"),
)]
pub struct SearchSymbols {
    /// Part of a name
    #[param(value = "TEXT", required = "name", word)]
    pub query: String,
    /// Maximum number of symbols
    #[param(default = 20)]
    pub limit: u64,
    #[param(like = ROOT)]
    pub root: Option<String>,
}

/// The certainties of a usage, highest first.
pub const CERTAINTIES: &[&str] = &["exact", "certain", "likely", "possible"];

/// What `find_usages` can list.
pub const RELATIONS: &[&str] = &["usages", "writes", "callers", "callees", "subtypes", "tests"];

/// Find usages, callers, callees, subtypes or tests of a type or member, and rate the certainty of each
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "find_usages",
    command = "code usages",
    answer = "usages, the most certain first and tests last, then by file and line",
    example = "loci code usages NodeStore --max-results 10",
    returns = UsagesFound,
    read_only,
    rows("files", "usages"),
    stats("certainty"),
    words(One, "NAME", "A type or member by name or file:line; also by suffix, re-exported path or ID prefix: NodeStore, Core.NodeStore.Get*, store.get(int), flask.Flask, src/store.rs:12", into("path")),
)]
pub struct FindUsages {
    /// A type or member, by name, name suffix or ID prefix
    #[param(value = "NAME", required = "name")]
    pub path: String,
    /// Maximum number of usages
    #[param(
        value = "N",
        default = 50,
        flag("limit", Names, "N", "Maximum number of usages (same as --max-results) [default: 50]")
    )]
    pub max_results: u64,
    /// Minimum certainty, from exact (highest) to possible (name match only) [default: possible]
    #[param(value = "HOW_SURE", choice = CERTAINTIES)]
    pub certainty: Option<String>,
    /// What to list; writes are assignments, subtypes of a member are its overrides
    #[param(
        value = "RELATION",
        default = "usages",
        choice = RELATIONS,
    )]
    pub relation: String,
    /// How long a chain of calls may be [default: 1; tests: 3]
    #[param(default = 1)]
    pub depth: u64,
    #[param(like = UNDER)]
    pub under: String,
    #[param(like = WITHOUT_TESTS)]
    pub without_tests: bool,
    /// Count usages per file instead of listing them
    pub by_file: bool,
    #[param(like = ROOT)]
    pub root: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct UsagesFound {
    pub resolved: SymbolRef,
    /// How many symbols the usages are of: overloads, or those that a pattern fits. `resolved` is the first.
    pub symbols: u64,
    /// What was asked for, unless usages.
    #[serde(skip_serializing_if = "is_usages")]
    pub relation: String,
    pub usages: Vec<Usage>,
    /// With `by_file`, instead of `usages`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileUsages>,
    pub total: u64,
    /// The usages among them that match by name only.
    pub possible: u64,
    pub coverage: Coverage,
}

fn is_usages(relation: &str) -> bool {
    relation.is_empty() || relation == RELATIONS[0]
}

impl UsagesFound {
    /// Whether `within` says more than the line does.
    pub fn names_what_is_around(&self) -> bool {
        matches!(self.relation.as_str(), "callers" | "tests")
    }
}

impl Response for UsagesFound {
    fn is_empty(&self) -> bool {
        self.usages.is_empty() && self.files.is_empty()
    }
}

/// A file with the number of usages in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileUsages {
    pub file: String,
    pub usages: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    pub file: String,
    pub line: u32,
    pub text: String,
    /// The enclosing type; of callers and tests, also its member and functions inside of it (`Store.load > retry`); of callees and
    /// subtypes, what is declared here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// `certain` if the language's rules allow only one target, `likely` if a library could contain another.
    pub certainty: String,
    /// Whether a field, property or variable is assigned here.
    #[serde(skip_serializing_if = "crate::search::is_false")]
    pub write: bool,
}

// ---- the graph

/// Draw the dependency graph as Mermaid, DOT or SVG
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "code_graph",
    command = "code graph",
    answer = "the graph as text",
    example = "loci code graph 'namespace:Memo.Core' --form mermaid",
    returns = GraphDrawn,
    read_only,
    words(Sentence, "FILTER", "Type filter: namespace:, type:, access:, tag: or depends: with * and ?, combined with AND, OR, ! and parentheses", into("filter")),
)]
pub struct CodeGraph {
    #[param(like = FILTER, required = "filter")]
    pub filter: String,
    /// Graph format
    #[param(value = "FORM", default = "mermaid", choice = &["mermaid", "dot", "svg"])]
    pub form: String,
    #[param(like = ROOT)]
    pub root: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GraphDrawn {
    pub types: u64,
    pub picture: String,
    pub coverage: Coverage,
}

impl Response for GraphDrawn {
    fn is_empty(&self) -> bool {
        self.types == 0
    }
}
