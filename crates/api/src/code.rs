//! The code base itself: what a type looks like, what a name means, who uses it, who depends on whom.
//!
//! Does not know how source is read.

mod index;
mod investigate;
mod notes;
mod pack;
mod semantic;
mod status;
mod window;

pub use index::{INDEX, IndexCode, IndexedCode, TypeAlias, TypeChange, Work};
pub use investigate::{Exhibit, Found, INVESTIGATE, Investigate, Investigation, STREAM, Step, StreamOp};
pub use notes::{NOTES, NoteLine, NotesWritten, WriteNotes};
pub use pack::{BUILD, BuildPack, LIST, ListPacks, PackBuilt, PackInfo, Packs, is_pack};
pub use semantic::{GetSemantic, SEMANTIC, Semantic};
pub use status::{CodeStatus, CodeStatusRequest, InLanguage, STATUS};
pub use window::{
    CONTEXT, CodeContext, DISMISS, Dismiss, GetPromptWindow, InFocus, InWindow, Marked, PIN, Pin,
    PromptWindow, UNPIN, Unpin, UntilThen, WINDOW,
};

use crate::operation::{Handy, Means, Number, Operation, Request, Response, Words};
use crate::params::param;
use crate::schema::properties;
use crate::{Code, Error, Param, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const ROOT: Param = param(
    "root",
    Shape::Text,
    "DIR",
    "The source tree [default: the enclosing git repository, or the working directory]",
);
const NAMED: &str = "A type or member by its name or the end of it: NodeStore, Core.NodeStore.Get*, store.get(int), or the beginning of an id";

const ONE: Option<Words> = Some(Words { value: "NAME", about: NAMED, into: &["path"], number: Number::One });

const fn path_param() -> Param {
    param("path", Shape::Text, "NAME", NAMED)
}

/// Requests that name one symbol and nothing else.
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

            fn check(&self) -> Result<(), Error> {
                $crate::code::is_named(&self.path, &$operation)
            }
        }
    )*};
}
use about_one;

// ---- outlines

pub const OUTLINE: Operation = Operation {
    name: "get_outline",
    command: "code outline",
    about: "Show what a type offers in a fraction of its source: signatures, documentation, bases, dependencies",
    answer: "the outline as text, what it costs in tokens and what its source would",
    example: "loci code outline NodeStore",
    words: ONE,
    params: &[path_param(), ROOT],
    required: &["path"],
    shapes: properties::<GetOutline>,
    handy: &[],
    read_only: true,
    rows: &[],
    stats: &[],
};

pub const MEMBER: Operation = Operation {
    name: "get_member_outline",
    command: "code member",
    about: "Show one member: its signature, what its documentation says first, and where it stands",
    answer: "the outline as text, what it costs in tokens and what its source would",
    example: "loci code member 'NodeStore.Get(int)'",
    words: ONE,
    params: &[path_param(), ROOT],
    required: &["path"],
    shapes: properties::<GetMemberOutline>,
    handy: &[],
    read_only: true,
    rows: &[],
    stats: &[],
};

about_one! {
    GetOutline = OUTLINE -> Outlined;
    GetMemberOutline = MEMBER -> Outlined;
}

fn is_named(path: &str, operation: &Operation) -> Result<(), Error> {
    if path.trim().is_empty() {
        return Err(Error::new(Code::InvalidArgument, "of what? A name is missing").hint(operation.example));
    }
    Ok(())
}

/// The symbol that was meant.
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
}

/// A type, as far as one needs to name it.
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
    /// Counted with a vocabulary that models really use; for others an estimate.
    pub outline_tokens: u64,
    pub source_tokens: u64,
    pub coverage: Coverage,
}

impl Response for Outlined {}

/// How much of the tree the answer rests on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Coverage {
    /// The commit that is checked out. The answer is about the files as they are now, committed or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    pub files: u64,
    /// Files with places that could not be understood.
    pub with_gaps: u64,
    /// How many files could not be read, or were not.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_read: u64,
    /// The first of them, with why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
    /// What else went wrong on the way and did not keep the answer from coming.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde hands over a reference
fn is_zero(n: &u64) -> bool {
    *n == 0
}

// ---- names

pub const RESOLVE: Operation = Operation {
    name: "resolve_symbol",
    command: "code resolve",
    about: "Say which type or member a name means, or may mean",
    answer: "the symbol, if there is no doubt, and what else fits as well, the likeliest first",
    example: "loci code resolve Store.Get*",
    words: ONE,
    params: &[path_param(), ROOT],
    required: &["path"],
    shapes: properties::<ResolveSymbol>,
    handy: &[],
    read_only: true,
    rows: &["candidates"],
    stats: &["kind"],
};

about_one! {
    ResolveSymbol = RESOLVE -> Meant;
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Meant {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved: Option<SymbolRef>,
    pub candidates: Vec<SymbolRef>,
    /// They are only written nearly so.
    #[serde(skip_serializing_if = "crate::search::is_false")]
    pub nearly: bool,
    pub coverage: Coverage,
}

impl Response for Meant {
    fn is_empty(&self) -> bool {
        self.candidates.is_empty()
    }
}

pub const SEARCH: Operation = Operation {
    name: "search_symbols",
    command: "code search",
    about: "Find types and members by a part of their names",
    answer: "symbols, the best first, types before members",
    example: "loci code search store --limit 5",
    words: Some(Words { value: "TEXT", about: "A part of a name", into: &["query"], number: Number::One }),
    params: &[
        param("query", Shape::Text, "TEXT", "A part of a name"),
        param("limit", Shape::Count, "N", "At most this many [default: 20]"),
        ROOT,
    ],
    required: &["query"],
    shapes: properties::<SearchSymbols>,
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
    type Response = Meant;

    fn check(&self) -> Result<(), Error> {
        is_named(&self.query, &SEARCH)
    }
}

/// How sure a mention can be, the surest first.
pub const CERTAINTIES: &[&str] = &["exact", "certain", "likely", "possible"];

pub const USAGES: Operation = Operation {
    name: "find_usages",
    command: "code usages",
    about: "Show where a type or a member is mentioned, and how sure that is",
    answer: "lines that mention it, by file and line",
    example: "loci code usages NodeStore --max-results 10",
    words: ONE,
    params: &[
        param("path", Shape::Text, "NAME", "A type by its name or the end of it, or the beginning of an id"),
        param("max_results", Shape::Count, "N", "At most this many [default: 50]"),
        param(
            "certainty",
            Shape::Choice(CERTAINTIES),
            "HOW_SURE",
            "At least so sure; `likely` leaves out what only has the same name [default: possible]",
        ),
        ROOT,
    ],
    required: &["path"],
    shapes: properties::<FindUsages>,
    handy: &[Handy {
        flag: "limit",
        value: "N",
        means: Means::Names("max_results"),
        about: "At most this many",
    }],
    read_only: true,
    rows: &["usages"],
    stats: &["certainty"],
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FindUsages {
    pub path: String,
    pub max_results: u64,
    pub certainty: Option<String>,
    pub root: Option<String>,
}

impl Default for FindUsages {
    fn default() -> FindUsages {
        FindUsages { path: String::new(), max_results: 50, certainty: None, root: None }
    }
}

impl Request for FindUsages {
    const OPERATION: &'static Operation = &USAGES;
    type Response = Used;

    fn check(&self) -> Result<(), Error> {
        is_named(&self.path, &USAGES)?;
        match &self.certainty {
            Some(word) if !CERTAINTIES.contains(&word.as_str()) => {
                let message = format!("`certainty` cannot be `{word}`");
                Err(Error::new(Code::InvalidArgument, message).hint(CERTAINTIES.join(", ")))
            }
            _ => Ok(()),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Used {
    pub resolved: SymbolRef,
    pub usages: Vec<Usage>,
    pub total: u64,
    /// Of them, those that only have the same name.
    pub possible: u64,
    pub coverage: Coverage,
}

impl Response for Used {
    fn is_empty(&self) -> bool {
        self.usages.is_empty()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    pub file: String,
    pub line: u32,
    pub text: String,
    /// The type in whose declaration it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// `certain` where the language's rules leave one reading, `likely` where a library could hide another.
    pub certainty: String,
}

// ---- the graph

pub const GRAPH: Operation = Operation {
    name: "code_graph",
    command: "code graph",
    about: "Draw who depends on whom: Mermaid, DOT or SVG",
    answer: "the picture as text",
    example: "loci code graph 'namespace:Memo.Core' --form mermaid",
    words: Some(Words {
        value: "FILTER",
        about: "Which types: namespace: type: access: tag: depends: with * and ?, joined by AND, OR, ! and brackets",
        into: &["filter"],
        number: Number::Sentence,
    }),
    params: &[
        pack::FILTER,
        param(
            "form",
            Shape::Choice(&["mermaid", "dot", "svg"]),
            "FORM",
            "How it is drawn [default: mermaid]",
        ),
        ROOT,
    ],
    required: &["filter"],
    shapes: properties::<CodeGraph>,
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
    type Response = Drawn;

    fn check(&self) -> Result<(), Error> {
        is_named(&self.filter, &GRAPH)?;
        if ["mermaid", "dot", "svg"].contains(&self.form.as_str()) {
            return Ok(());
        }
        Err(Error::new(Code::InvalidArgument, format!("there is no form `{}`", self.form))
            .hint("mermaid, dot or svg"))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Drawn {
    pub types: u64,
    pub picture: String,
    pub coverage: Coverage,
}

impl Response for Drawn {
    fn is_empty(&self) -> bool {
        self.types == 0
    }
}
