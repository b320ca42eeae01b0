//! Finds symbols by name, part of a name or several words.
//!
//! Does not know how names are compared.

use super::{SymbolMatches, UNDER, WITHOUT_TESTS};
use crate::operation::Operation;
use crate::params::ROOT;

/// Kinds of symbols: `type` is every type except modules, `function` includes methods.
pub const KINDS: &[&str] = &[
    "type",
    "class",
    "struct",
    "interface",
    "enum",
    "trait",
    "module",
    "function",
    "method",
    "field",
    "property",
    "constant",
    "macro",
];

/// Find types and members by name, pattern, part of a name or several words
#[derive(Clone, Debug, PartialEq, Operation)]
#[operation(
    name = "find_symbols",
    command = "code find",
    answer = "the symbol if the text names one, and all candidates, best match first",
    example = "loci code find bind json --kind function",
    returns = SymbolMatches,
    read_only,
    rows("candidates"),
    stats("kind"),
    words(Sentence, "TEXT", "A name, part of one, several words of it, or several names; also `*pattern*`, `file:line` and IDs", into("query")),
)]
pub struct FindSymbols {
    /// A name, part of one, several words of it, or several names; also `*pattern*`, `file:line` and IDs
    #[param(value = "TEXT", required = "name")]
    pub query: String,
    /// Only symbols of this kind (function includes methods)
    #[param(
        value = "KIND",
        choice = KINDS,
    )]
    pub kind: Option<String>,
    #[param(like = UNDER)]
    pub under: String,
    #[param(like = WITHOUT_TESTS)]
    pub without_tests: bool,
    /// Maximum number of symbols
    #[param(default = 20)]
    pub limit: u64,
    #[param(like = ROOT)]
    pub root: Option<String>,
}
