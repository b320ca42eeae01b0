//! The index of a source tree in a database: stores the facts of its files, detects changes on disk, parses changed files again, and
//! answers from what it stored.
//!
//! Does not resolve names or compute hashes (`code` does), and does not know where the database is or what time it is.

mod assignment;
mod creation;
mod hits;
mod nested;
mod store;

pub use assignment::{is_assignable, is_assigned};
pub use hits::{HitCounter, OUTLINES};
pub use store::{
    BUILT, ChangedType, ChangesSince, DeepChange, ExportCost, ExportError, ExportOptions, Extent, FileFilter,
    IndexedFile, Located, NameResolution, NoteHead, Package, PartialCodebase, RELATIONS, Refreshed, Relation,
    RenameConflict, RenamedType, RunGit, SinceError, SiteFilter, SourcePiece, Store, StoreError,
    SymbolFilter, TreeMap, TreeStatus, UsageSite, UsageSites, count_by_file, is_below, is_test_path,
    keep_best_sites, pack_built_at, packed_types, scip_folder,
};
