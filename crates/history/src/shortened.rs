//! Transcripts that lost more than a tenth of their entries, as problems: until the transcript has grown beyond, the session is
//! forgotten, or a person dismisses it.
//!
//! Does not decide what a transcript lost: the archive marks what it alone has.

use crate::error::store_error;
use crate::standing_problems::{Area, SHORTENED, StandingProblem};
use api::Error;
use catalogue::{Reader, ShortenedFile};
use record::{Problem, ProblemKind, Stamp};

/// Those that the last update knew of.
pub(crate) fn list_standing(reader: &Reader, now: Stamp) -> Result<Vec<StandingProblem>, Error> {
    let files = reader.shortened_files().map_err(store_error)?;
    Ok(files.iter().map(|file| to_standing(file, now)).collect())
}

/// Those that nobody has dismissed, with their files.
pub fn list_problems(reader: &Reader, open: &[StandingProblem]) -> Result<Vec<Problem>, Error> {
    let files = reader.shortened_files().map_err(store_error)?;
    let is_open = |file: &ShortenedFile| {
        let id = to_standing(file, Stamp::default()).id;
        open.iter().any(|one| one.id == id)
    };
    let files = files.into_iter().filter(is_open);
    Ok(files
        .map(|file| Problem {
            kind: ProblemKind::Shortened,
            note: describe(&file),
            file: file.path,
            offset: 0,
        })
        .collect())
}

fn to_standing(file: &ShortenedFile, now: Stamp) -> StandingProblem {
    // A session that goes on has more entries, and one that lost more is another problem.
    let key = format!("{}\n{}\n{}", file.path.display(), file.part.as_deref().unwrap_or_default(), file.kept);
    let message = format!("{} {}", file.path.display(), describe(file));
    StandingProblem::new(SHORTENED, &key, Area::Sessions, message, now)
}

/// What a person needs to know of it.
fn describe(file: &ShortenedFile) -> String {
    let ShortenedFile { entries, kept, session_id, .. } = file;
    format!("lost {kept} of {entries} entries; the archive has them: loci show {session_id} --all")
}
