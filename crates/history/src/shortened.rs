//! Transcripts that lost more than a tenth of their entries, as problems: until the transcript has grown beyond, the session is
//! forgotten, or a person dismisses it.
//!
//! Does not decide what a transcript lost: the archive marks what it alone has.

use crate::error::store_error;
use api::Error;
use catalogue::{Reader, ShortenedFile};
use record::{Problem, ProblemKind};

/// The problems as of the last update.
pub fn list_problems(reader: &Reader) -> Result<Vec<Problem>, Error> {
    let files = reader.shortened_files().map_err(store_error)?;
    Ok(files.into_iter().map(to_problem).collect())
}

fn to_problem(file: ShortenedFile) -> Problem {
    let note = describe(&file);
    Problem { kind: ProblemKind::Shortened, file: file.path, offset: 0, note }
}

/// What a person needs to know of it.
pub fn describe(file: &ShortenedFile) -> String {
    let ShortenedFile { entries, kept, session_id, .. } = file;
    format!("lost {kept} of {entries} entries; the archive has them: loci show {session_id} --all")
}
