//! Reverts one record of the receipt: an unmodified file gets its former bytes back; from a modified one only our
//! entries are removed.
//!
//! Does not know the agents' files; the receipt lists what was installed where.

use crate::disk;
use crate::edit::EditError;
use crate::file_change::{FileChange, io_problem};
use crate::receipt::{FileContent, FileRecord, fingerprint};
use api::setup::SetupProblem;

/// The change that reverts one record. `None` if nothing of ours is there.
pub(crate) fn revert_record(record: &FileRecord) -> Result<Option<FileChange>, SetupProblem> {
    let path = &record.path;
    let Some(text) = disk::read_text(path).map_err(|error| io_problem(path, &error))? else {
        return Ok(None);
    };
    let after = match &record.what {
        FileContent::Whole(prints) if prints.contains(&fingerprint(&text)) => None,
        FileContent::Whole(_) => {
            let message = format!("{} was kept: it was changed after `loci setup` wrote it", path.display());
            return Err(SetupProblem {
                message,
                by_hand: Some("remove it if you do not need it".to_string()),
            });
        }
        FileContent::Entries(inserted) => {
            let after = text_without_entries(record, &text).map_err(|error| SetupProblem {
                message: format!("{} was not changed: {error}", path.display()),
                by_hand: Some(manual_instructions(record)),
            })?;
            let ours = inserted.created
                && after != text
                && (after.is_empty() || inserted.form.is_empty_document(&after));
            (!ours).then_some(after)
        }
    };
    if after.as_ref() == Some(&text) {
        return Ok(None);
    }
    let shows_diff = matches!(record.what, FileContent::Entries(_));
    Ok(Some(FileChange { path: path.clone(), before: Some(text), after, shows_diff }))
}

fn manual_instructions(record: &FileRecord) -> String {
    let FileContent::Entries(inserted) = &record.what else { return String::new() };
    let names = inserted.spots.iter().map(|spot| format!("`{}`", spot.dotted_name())).collect::<Vec<_>>();
    format!("remove these entries by hand: {}", names.join(", "))
}

/// The text of a user's file without our entries.
pub(crate) fn text_without_entries(record: &FileRecord, text: &str) -> Result<String, EditError> {
    let FileContent::Entries(inserted) = &record.what else { return Ok(text.to_string()) };
    let former = inserted.stitches.iter().find_map(|stitches| stitches.revert(text));
    match former {
        Some(former) => Ok(former),
        None => inserted.form.remove_entries(text, &inserted.spots, &inserted.made),
    }
}
