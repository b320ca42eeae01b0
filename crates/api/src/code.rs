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

pub use changes::{CHANGES, ChangesFound, CodeChanges};
pub use find::{FIND, FindSymbols, KINDS};
pub use index::{ChangedMember, INDEX, IndexCode, IndexedCode, IndexerResult, TypeAlias, TypeChange, Work};
pub use investigate::{
    Conclusion, EvidenceItem, INVESTIGATE, Investigate, Investigation, STREAM, Step, StreamOp,
};
pub use map::{CodeMap, MAP, MapDrawn, Package, PackageUse};
pub use notes::{NOTES, NoteLine, NotesWritten, WriteNotes};
pub use pack::{BUILD, BuildPack, LIST, ListPacks, PackBuilt, PackInfo, Packs, check_pack_name};
pub use semantic::{GetSemantic, SEMANTIC, Semantic};
pub use status::{CodeStatus, CodeStatusRequest, InLanguage, STATUS};
pub use window::{
    CONTEXT, CodeContext, DISMISS, Dismiss, FocusEntry, FocusList, GetPromptWindow, PIN, Pin, PinResult,
    PromptWindow, UNPIN, Unpin, WINDOW, WindowEntry,
};

use crate::operation::{FlagMeaning, Number, Operation, Positional, Request, Response, ShortFlag};
use crate::params::param;
use crate::schema::schema_properties;
use crate::{Code, Error, Param, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const ROOT: Param = param(
    "root",
    Shape::Text,
    "DIR",
    "Source tree [default: the enclosing git repository, or the current directory]",
);
const UNDER: Param = param("under", Shape::Text, "FOLDER", "Only in this folder or file of the tree");
const WITHOUT_TESTS: Param = param("without_tests", Shape::Flag, "", "Leave out files of tests");
const NAMED: &str = "A type or member by name or file:line; also by suffix, re-exported path or ID prefix: NodeStore, \
                     Core.NodeStore.Get*, store.get(int), flask.Flask, src/store.rs:12";

const ONE: Option<Positional> =
    Some(Positional { value: "NAME", about: NAMED, into: &["path"], number: Number::One });

const fn path_param() -> Param {
    param("path", Shape::Text, "NAME", NAMED)
}

/// Requests whose only parameters are a symbol and the root.
macro_rules! about_one {
    ($($name:ident = $operation:ident -> $response:ident;)*) => {$(
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            pub path: String,
            pub root: Option<String>,
        }

        impl Request for $name {
            const OPERATION: &'static Operation = &$operation;
            type Response = $response;

            fn check_params(&self) -> Result<(), Error> {
                $crate::code::check_name(&self.path, &$operation)
            }
        }
    )*};
}
use about_one;

// ---- outlines

pub const OUTLINE: Operation = Operation {
    name: "get_outline",
    command: "code outline",
    about: "Show the outline of a type (signatures, documentation, base types, dependencies) or of a file",
    answer: "the outline as text, and the token counts of outline and source",
    example: "loci code outline NodeStore",
    words: ONE,
    params: &[path_param(), ROOT],
    required: &["path"],
    shapes: schema_properties::<GetOutline>,
    handy: &[],
    read_only: true,
    rows: &[],
    stats: &[],
};

pub const MEMBER: Operation = Operation {
    name: "get_member_outline",
    command: "code member",
    about: "Show the outline of a member: signature, documentation, location",
    answer: "the outline as text, and the token counts of outline and source",
    example: "loci code member 'NodeStore.Get(int)'",
    words: ONE,
    params: &[path_param(), ROOT],
    required: &["path"],
    shapes: schema_properties::<GetMemberOutline>,
    handy: &[],
    read_only: true,
    rows: &[],
    stats: &[],
};

pub const SOURCE: Operation = Operation {
    name: "get_source",
    command: "code source",
    about: "Show the source of a type or member, with line numbers",
    answer: "the source text of each declaration, and where it starts",
    example: "loci code source NodeStore.Get",
    words: ONE,
    params: &[
        path_param(),
        param("max_lines", Shape::Count, "N", "Maximum number of lines [default: 400]"),
        ROOT,
    ],
    required: &["path"],
    shapes: schema_properties::<GetSource>,
    handy: &[],
    read_only: true,
    rows: &["source"],
    stats: &["file"],
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GetSource {
    pub path: String,
    pub max_lines: u64,
    pub root: Option<String>,
}

impl Default for GetSource {
    fn default() -> GetSource {
        GetSource { path: String::new(), max_lines: 400, root: None }
    }
}

impl Request for GetSource {
    const OPERATION: &'static Operation = &SOURCE;
    type Response = Sourced;

    fn check_params(&self) -> Result<(), Error> {
        check_name(&self.path, &SOURCE)
    }
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

about_one! {
    GetOutline = OUTLINE -> Outlined;
    GetMemberOutline = MEMBER -> Outlined;
}

fn check_name(path: &str, operation: &Operation) -> Result<(), Error> {
    if path.trim().is_empty() {
        return Err(Error::new(Code::InvalidArgument, "missing name").hint(operation.example));
    }
    Ok(())
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

pub const RESOLVE: Operation = Operation {
    name: "resolve_symbol",
    command: "code resolve",
    about: "Resolve a name to a type or member",
    answer: "the symbol if the name is unambiguous, and all candidates, likeliest first",
    example: "loci code resolve Store.Get*",
    words: ONE,
    params: &[path_param(), ROOT],
    required: &["path"],
    shapes: schema_properties::<ResolveSymbol>,
    handy: &[],
    read_only: true,
    rows: &["candidates"],
    stats: &["kind"],
};

about_one! {
    ResolveSymbol = RESOLVE -> SymbolMatches;
}

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

pub const SEARCH: Operation = Operation {
    name: "search_symbols",
    command: "code search",
    about: "Search types and members by part of the name",
    answer: "symbols, best match first, types before members",
    example: "loci code search store --limit 5",
    words: Some(Positional { value: "TEXT", about: "Part of a name", into: &["query"], number: Number::One }),
    params: &[
        param("query", Shape::Text, "TEXT", "Part of a name"),
        param("limit", Shape::Count, "N", "Maximum number of symbols [default: 20]"),
        ROOT,
    ],
    required: &["query"],
    shapes: schema_properties::<SearchSymbols>,
    handy: &[],
    read_only: true,
    rows: &["candidates"],
    stats: &["kind"],
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SearchSymbols {
    pub query: String,
    pub limit: u64,
    pub root: Option<String>,
}

impl Default for SearchSymbols {
    fn default() -> SearchSymbols {
        SearchSymbols { query: String::new(), limit: 20, root: None }
    }
}

impl Request for SearchSymbols {
    const OPERATION: &'static Operation = &SEARCH;
    type Response = SymbolMatches;

    fn check_params(&self) -> Result<(), Error> {
        check_name(&self.query, &SEARCH)
    }
}

/// The certainties of a usage, highest first.
pub const CERTAINTIES: &[&str] = &["exact", "certain", "likely", "possible"];

/// What `find_usages` can list.
pub const RELATIONS: &[&str] = &["usages", "writes", "callers", "callees", "subtypes", "tests"];

pub const USAGES: Operation = Operation {
    name: "find_usages",
    command: "code usages",
    about: "Find usages, callers, callees, subtypes or tests of a type or member, and rate the certainty of each",
    answer: "usages, the most certain first and tests last, then by file and line",
    example: "loci code usages NodeStore --max-results 10",
    words: ONE,
    params: &[
        param("path", Shape::Text, "NAME", "A type or member, by name, name suffix or ID prefix"),
        param("max_results", Shape::Count, "N", "Maximum number of usages [default: 50]"),
        param(
            "certainty",
            Shape::Choice(CERTAINTIES),
            "HOW_SURE",
            "Minimum certainty, from exact (highest) to possible (name match only) [default: possible]",
        ),
        param(
            "relation",
            Shape::Choice(RELATIONS),
            "RELATION",
            "What to list; writes are assignments, subtypes of a member are its overrides [default: usages]",
        ),
        param("depth", Shape::Count, "N", "How long a chain of calls may be [default: 1; tests: 3]"),
        UNDER,
        WITHOUT_TESTS,
        param("by_file", Shape::Flag, "", "Count usages per file instead of listing them"),
        ROOT,
    ],
    required: &["path"],
    shapes: schema_properties::<FindUsages>,
    handy: &[ShortFlag {
        flag: "limit",
        value: "N",
        means: FlagMeaning::Names("max_results"),
        about: "Maximum number of usages (same as --max-results) [default: 50]",
    }],
    read_only: true,
    rows: &["files", "usages"],
    stats: &["certainty"],
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FindUsages {
    pub path: String,
    pub max_results: u64,
    pub certainty: Option<String>,
    pub relation: String,
    pub depth: u64,
    pub under: String,
    pub without_tests: bool,
    pub by_file: bool,
    pub root: Option<String>,
}

impl Default for FindUsages {
    fn default() -> FindUsages {
        FindUsages {
            path: String::new(),
            max_results: 50,
            certainty: None,
            relation: RELATIONS[0].to_string(),
            depth: 1,
            under: String::new(),
            without_tests: false,
            by_file: false,
            root: None,
        }
    }
}

impl Request for FindUsages {
    const OPERATION: &'static Operation = &USAGES;
    type Response = UsagesFound;

    fn check_params(&self) -> Result<(), Error> {
        check_name(&self.path, &USAGES)?;
        let certainty = self.certainty.as_deref().map(|word| ("certainty", word, CERTAINTIES));
        let relation = Some(("relation", self.relation.as_str(), RELATIONS));
        match [certainty, relation].into_iter().flatten().find(|(_, word, known)| !known.contains(word)) {
            Some((name, word, known)) => {
                let message = format!("invalid `{name}`: `{word}`");
                Err(Error::new(Code::InvalidArgument, message).hint(format!("one of: {}", known.join(", "))))
            }
            None => Ok(()),
        }
    }
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

pub const GRAPH: Operation = Operation {
    name: "code_graph",
    command: "code graph",
    about: "Draw the dependency graph as Mermaid, DOT or SVG",
    answer: "the graph as text",
    example: "loci code graph 'namespace:Memo.Core' --form mermaid",
    words: Some(Positional {
        value: "FILTER",
        about: pack::FILTER.about,
        into: &["filter"],
        number: Number::Sentence,
    }),
    params: &[
        pack::FILTER,
        param("form", Shape::Choice(&["mermaid", "dot", "svg"]), "FORM", "Graph format [default: mermaid]"),
        ROOT,
    ],
    required: &["filter"],
    shapes: schema_properties::<CodeGraph>,
    handy: &[],
    read_only: true,
    rows: &[],
    stats: &[],
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CodeGraph {
    pub filter: String,
    pub form: String,
    pub root: Option<String>,
}

impl Default for CodeGraph {
    fn default() -> CodeGraph {
        CodeGraph { filter: String::new(), form: "mermaid".to_string(), root: None }
    }
}

impl Request for CodeGraph {
    const OPERATION: &'static Operation = &GRAPH;
    type Response = GraphDrawn;

    fn check_params(&self) -> Result<(), Error> {
        check_name(&self.filter, &GRAPH)?;
        if ["mermaid", "dot", "svg"].contains(&self.form.as_str()) {
            return Ok(());
        }
        Err(Error::new(Code::InvalidArgument, format!("unknown form `{}`", self.form))
            .hint("one of: mermaid, dot, svg"))
    }
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
