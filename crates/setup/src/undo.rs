//! Reverts one record of the receipt: an unmodified file gets its former bytes back; from a modified one only our
//! entries are removed.
//!
//! Does not know the agents' files; the receipt lists what was installed where.

use crate::disk;
use crate::edit::EditError;
use crate::file_change::{FileChange, io_problem};
use crate::receipt::{Record, What, print};
use api::setup::SetupProblem;

/// The change that reverts one record. `None` if nothing of ours is there.
pub(crate) fn undone(record: &Record) -> Result<Option<FileChange>, SetupProblem> {
    let path = &record.path;
    let Some(text) = disk::read(path).map_err(|error| io_problem(path, &error))? else { return Ok(None) };
    let after = match &record.what {
        What::Whole(prints) if prints.contains(&print(&text)) => None,
        What::Whole(_) => {
            let message = format!("{} was kept: it was changed after `loci setup` wrote it", path.display());
            return Err(SetupProblem {
                message,
                by_hand: Some("remove it if you do not need it".to_string()),
            });
        }
        What::Entries(inserted) => {
            let after = text_without(record, &text).map_err(|error| SetupProblem {
                message: format!("{} was not changed: {error}", path.display()),
                by_hand: Some(by_hand(record)),
            })?;
            let ours =
                inserted.created && after != text && (after.is_empty() || inserted.form.says_nothing(&after));
            (!ours).then_some(after)
        }
    };
    if after.as_ref() == Some(&text) {
        return Ok(None);
    }
    let shows_diff = matches!(record.what, What::Entries(_));
    Ok(Some(FileChange { path: path.clone(), before: Some(text), after, shows_diff }))
}

fn by_hand(record: &Record) -> String {
    let What::Entries(inserted) = &record.what else { return String::new() };
    let names = inserted.spots.iter().map(|spot| format!("`{}`", spot.name())).collect::<Vec<_>>();
    format!("remove these entries by hand: {}", names.join(", "))
}

/// The text of a user's file without our entries.
pub(crate) fn text_without(record: &Record, text: &str) -> Result<String, EditError> {
    let What::Entries(inserted) = &record.what else { return Ok(text.to_string()) };
    let former = inserted.stitches.iter().find_map(|stitches| stitches.undone(text));
    match former {
        Some(former) => Ok(former),
        None => inserted.form.take_out(text, &inserted.spots, &inserted.made),
    }
}
