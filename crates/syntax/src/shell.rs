//! Shell: the functions of a script, at the level of declarations. Its variables belong to the code that runs on load.
//!
//! Does not know which scripts a script sources, nor which variables are exported to the programs it starts.

use crate::language::{Extraction, Language, Level};
use crate::module_path::{Reach, path_of_file};
use crate::walk::{DEFAULT_DIALECT, DEFAULT_HEAD_RULES, Dialect, HeadRules, LazyDialect, Role, TokenRule};
use facts::MemberKind;

pub(crate) const LANGUAGE: Language = Language {
    name: "Shell",
    level: Level::Declarations,
    extensions: &["sh", "bash"],
    grammar: || grammars::bash().into(),
    extraction: Extraction::Table(&DIALECT),
    module_path: Some(|_, path| path_of_file(path, Reach::All)),
};

static DIALECT: LazyDialect = LazyDialect::new(Dialect {
    roles: &[
        ("comment", Role::Skip),
        ("if_statement", Role::Transparent),
        ("elif_clause", Role::Transparent),
        ("else_clause", Role::Transparent),
        ("function_definition", Role::Member(MemberKind::Function)),
    ],
    token_rules: &[
        ("comment", TokenRule::Comment),
        ("string", TokenRule::Whole),
        ("raw_string", TokenRule::Whole),
        ("heredoc_body", TokenRule::Whole),
        ("program", TokenRule::LineTerminated),
        ("compound_statement", TokenRule::LineTerminated),
        ("do_group", TokenRule::LineTerminated),
    ],
    head: |walk, node| walk.read_table_head(node),
    head_rules: Some(&HEAD_RULES),
    ..DEFAULT_DIALECT
});

const HEAD_RULES: HeadRules = HeadRules { names: &["word", "variable_name"], ..DEFAULT_HEAD_RULES };
