//! Joins the files of a source tree into a codebase: outlines, change classes, dependencies, name resolution and usages.
//!
//! Does not parse source text (`syntax` does) or read manifests (`project` does), and does not know sessions, the network or
//! terminals.

mod alias;
mod classify;
mod codebase;
mod file_symbols;
mod hash;
pub mod investigation;
mod note_baseline;
mod note_state;
mod outline;
mod pack;
mod read;
mod resolve;
pub mod scip;
mod symbol;
mod type_summary;
mod usage;
mod window;

pub use alias::{Alias, Conflict, TypeSnapshot, body_digests, detect_renames};
pub use classify::{Change, ChangeClass, ChangeKind, MemberChange, classify_change};
pub use codebase::{
    ATTRIBUTE_SUFFIX, Codebase, KnownIds, MemberLocation, NAMESPACE_FILE, SourceFile, Tables, Type,
    full_names, place_in_project, spelled_full_name,
};
pub use file_symbols::{FileSymbol, classify_symbol, symbols_at, symbols_in_text};
pub use graph::{DIAGRAM_FORMATS, DiagramFormat, Graph, render_diagram};
pub use hash::{HASH_VERSION, Hashes, MemberHashes, TypeHashes, hash_type};
pub use note_baseline::{Baseline, ChangedMember};
pub use note_state::{
    BATCH_MILLIS, DRIFT_WINDOW_MILLIS, Drift, NoteState, NoteStatus, apply_changes, note_urgency,
    revert_changes,
};
pub use outline::{Outliner, TokenCost, count_tokens};
pub use pack::{Pack, PackCost, build_pack};
pub use project::head_commit;
pub use project::{FIELDS, Field, Filter, FilterError};
pub use project::{Layout, LayoutError, Project, discover, read_source, wildcard_matches};
pub use read::{Cancelled, ReadResult, RefreshOptions, read_files, read_tree};
pub use resolve::{Certainty, Edge, ResolvedReference, Resolver};
pub use symbol::{
    MatchKind, MemberName, PathResolution, Symbol, SymbolIndex, TypeNames, edit_distance, last_word,
    path_words, without_arguments,
};
pub use syntax::{
    Digest, LANGUAGES, MemberId, MemberKind, Span, TypeId, TypeKind, Visibility, decode_text, language_of,
};
pub use type_summary::{MemberSummary, SourceRange, TypeSummary};
pub use usage::{Meaning, Mention, NameReport, NamedDeclaration, Usage, UsageFinder};
pub use window::{Region, ShownEntry, Window, WindowEntry, fill_window, recency_score};
