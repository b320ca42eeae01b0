//! Creates or updates `.loci` at the root of a tree and reports the changes.
//!
//! Does not know how source is read or how the files are written.

use super::code_query::{export_error, folder_error, with_open_tree};
use super::indexers::run_indexers;
use super::tree::Tree;
use super::{code_query::resolve_root, window};
use crate::Service;
use api::code::{ChangedMember, IndexCode, IndexedCode, TypeAlias, TypeChange, Work};
use api::{Error, Handle, Request};
use code::{ChangeClass, MemberChange, MemberSummary, TypeId};
use code_index::ChangedType;
use folder::access::LONG_LOCK_TIMEOUT;
use folder::{LociFolder, PROMPT_WINDOW};

impl Handle<IndexCode> for Service {
    fn handle(&self, request: &IndexCode) -> Result<IndexedCode, Error> {
        request.check_params()?;
        let root = resolve_root(self, request.root.as_ref())?;
        let mut tree = Tree::open(self, &root)?;
        let indexers = if request.scip { run_indexers(self, &tree)? } else { Vec::new() };
        let folder = LociFolder::open_or_create(&root).map_err(|error| folder_error(&error))?;
        tree.write_files(self, &folder, LONG_LOCK_TIMEOUT).map_err(|error| export_error(&error))?;
        let (done, kept) = (tree.done.clone(), tree.kept);
        with_open_tree(self, tree, |query| {
            if folder.path(PROMPT_WINDOW).is_file() {
                window::rewrite_window(query)?;
            }
            Ok(IndexedCode {
                root: query.root().to_string_lossy().into_owned(),
                types_indexed: query.extent().types,
                changes: done
                    .changes
                    .iter()
                    .map(type_change)
                    .chain(done.affected.iter().map(dependency_change))
                    .collect(),
                aliases: done.aliases.iter().map(type_alias).collect(),
                indexers: indexers.clone(),
                work: Work {
                    files_parsed: done.parsed,
                    types_hashed: done.hashed,
                    source_bytes_read: done.source_bytes,
                    kept_bytes_read: done.read_bytes,
                    kept_bytes_written: done.written_bytes,
                    files_written: kept.files,
                    file_bytes_written: kept.bytes,
                },
                coverage: query.coverage(),
            })
        })
    }
}

/// A type whose dependencies changed.
fn dependency_change((id, name): &(TypeId, String)) -> TypeChange {
    let (path, type_id) = (name.clone(), id.to_string());
    TypeChange { path, type_id, change_class: "Structure-Dependency".to_string(), ..TypeChange::default() }
}

pub(super) fn type_alias(it: &code_index::RenamedType) -> TypeAlias {
    TypeAlias { old: it.old_name.clone(), new: it.new_name.clone(), reason: it.reason.clone() }
}

pub(super) fn type_change(changed: &ChangedType) -> TypeChange {
    let class = match (&changed.change, changed.removed) {
        (Some(change), _) => change.class.name(),
        (None, true) => "Removed",
        (None, false) => "Added",
    };
    let members = changed.change.iter().flat_map(|change| &change.members).map(changed_member).collect();
    TypeChange {
        path: changed.name.clone(),
        type_id: changed.id.to_string(),
        change_class: class.to_string(),
        members,
        ..TypeChange::default()
    }
}

fn changed_member(it: &MemberChange) -> ChangedMember {
    let (change_class, change) = (it.class.name().to_string(), format!("{:?}", it.change));
    ChangedMember { key: it.key.clone(), change_class, change, ..ChangedMember::default() }
}

pub(super) fn added_member(it: &MemberSummary) -> ChangedMember {
    let class =
        if it.visibility.is_visible_outside() { ChangeClass::Structure } else { ChangeClass::Internal };
    let (change_class, change) = (class.name().to_string(), "Added".to_string());
    ChangedMember { key: it.key.clone(), change_class, change, ..ChangedMember::default() }
}
