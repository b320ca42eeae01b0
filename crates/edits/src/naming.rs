//! New names: what a rename may do besides, and which names a language accepts.
//!
//! Does not know what has the name already.

use crate::error::EditError;
use serde::Deserialize;

/// What a rename may do besides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct RenameOptions {
    /// Also rename whole words in comments and strings.
    pub in_comments: bool,
    /// Also rename the uncertain places whose name nothing else in the tree has.
    pub include_likely: bool,
}

/// Refuses what is no name in the language, or the old name.
pub(crate) fn check_name(new_name: &str, old: &str, language: &'static str) -> Result<(), EditError> {
    let is_word = new_name.chars().all(|c| c.is_alphanumeric() || c == '_')
        && new_name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    if !is_word
        || KEYWORDS.iter().any(|(of, words)| (*of == language || of.is_empty()) && words.contains(&new_name))
    {
        return Err(EditError::NotAName(new_name.to_owned(), language));
    }
    if new_name == old { Err(EditError::SameName(old.to_owned())) } else { Ok(()) }
}

/// Words that are no names: in all languages, and in one.
const KEYWORDS: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "if", "else", "for", "while", "return", "break", "continue", "true", "false", "class", "struct",
            "enum", "switch", "case", "default", "try", "catch", "finally", "throw", "new", "this", "super",
            "null", "import", "const", "static", "void", "int", "in", "is", "as", "do", "_",
        ],
    ),
    (
        "Rust",
        &[
            "fn", "let", "mut", "pub", "mod", "use", "impl", "trait", "type", "where", "match", "loop",
            "move", "ref", "self", "Self", "crate", "unsafe", "async", "await", "dyn", "extern", "box",
            "yield", "abstract", "final",
        ],
    ),
    (
        "Go",
        &[
            "func",
            "var",
            "type",
            "map",
            "chan",
            "go",
            "defer",
            "range",
            "select",
            "interface",
            "package",
            "goto",
        ],
    ),
    (
        "Python",
        &[
            "def", "lambda", "pass", "None", "True", "False", "and", "or", "not", "with", "yield", "from",
            "global", "nonlocal", "del", "elif", "except", "raise", "assert", "async", "await",
        ],
    ),
    (
        "TypeScript",
        &[
            "function",
            "var",
            "let",
            "typeof",
            "instanceof",
            "delete",
            "export",
            "extends",
            "yield",
            "with",
            "await",
        ],
    ),
    (
        "Java",
        &[
            "public",
            "private",
            "protected",
            "package",
            "interface",
            "extends",
            "implements",
            "final",
            "abstract",
            "synchronized",
            "volatile",
            "transient",
            "throws",
            "instanceof",
            "boolean",
            "byte",
            "char",
            "long",
            "float",
            "double",
            "short",
            "assert",
            "goto",
        ],
    ),
    (
        "C#",
        &[
            "public",
            "private",
            "protected",
            "internal",
            "namespace",
            "using",
            "interface",
            "abstract",
            "sealed",
            "override",
            "virtual",
            "readonly",
            "string",
            "object",
            "bool",
            "byte",
            "char",
            "long",
            "float",
            "double",
            "short",
            "out",
            "ref",
            "params",
            "event",
            "delegate",
            "base",
            "lock",
            "checked",
            "typeof",
            "sizeof",
        ],
    ),
];
