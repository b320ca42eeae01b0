//! Runs the indexers of SCIP that are installed on a source tree: which of them fit the tree, where their programs are, and one
//! supervised run of each, whose index is stored in a folder outside of the tree.
//!
//! Does not decide whether an indexer may run: it runs code of the project, so a person has to allow it per tree. Does not know what
//! an index is used for.

mod run;
mod table;

pub use run::{IndexError, IndexRun, Indexed};
pub use table::{INDEXERS, Indexer, IndexerTarget, find_targets};
