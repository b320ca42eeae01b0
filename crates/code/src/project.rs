//! x
use crate::csharp::symbols::Symbols;

/// What is built together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Project {
    pub name: String,
    /// Its manifest, from the root of the tree.
    pub path: String,
    /// The projects it refers to, by index.
    pub references: Vec<u32>,
    pub symbols: Symbols,
    /// Namespaces that every file of it imports.
    pub usings: Vec<String>,
}
