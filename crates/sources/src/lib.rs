//! Reads the histories that coding agents leave on disk: one module and one row in `SOURCES` per agent.
//! Nothing here writes to, locks or renames an agent's files. `archive` keeps copies that outlive the
//! originals.
//!
//! A source is read twice: a *survey* of the whole transcript keeps a small row per message and call, and a
//! *fetch* reads one of them again, in full, from its position. Does not know queries, indexes or terminals.

pub mod archive;
pub mod chatwise;
pub mod claude;
pub mod codex;
#[cfg(fuzzing)]
mod fuzz;
pub mod gemini;
pub mod opencode;
pub mod zed;

pub use agents::{export, find_encrypted, import};
#[cfg(fuzzing)]
#[doc(hidden)]
pub use fuzz::survey as fuzz_survey;
pub(crate) use transcript::records;
pub use transcript::{
    Environment, Error, Evidence, FileStamp, Names, Source, Survey, SurveyOptions, SurveyOutcome, Transcript,
    conversation, document, edit, event_log, json, line_reader, lines, salvage, survey, walk,
};

use record::{Call, Message, Row};
use std::path::PathBuf;

/// Every agent Loci can read, in listing order.
pub const SOURCES: &[&dyn Source] = &[
    &claude::Claude,
    &codex::Codex,
    &gemini::Gemini,
    &opencode::OPENCODE,
    &chatwise::ChatWise,
    &opencode::KILO,
    &agents::qwen::QWEN,
    &agents::pi::PI,
    &agents::copilot::COPILOT,
    &agents::droid::DROID,
    &agents::grok::GROK,
    &agents::kimi::KIMI,
    &agents::cline::CLINE,
    &agents::cn::CN,
    &agents::openhands::OPENHANDS,
    &agents::hermes::HERMES,
    &agents::vibe::VIBE,
    &agents::aider::AIDER,
    &agents::gptme::GPTME,
    &agents::cursor::CURSOR,
    &agents::cursor::CURSOR_CLI,
    &agents::vscode::VSCODE,
    &agents::roo::ROO,
    &agents::roo::CLINE_VSCODE,
    &agents::roo::KILO_VSCODE,
    &zed::ZED,
    &agents::goose::GOOSE,
    &agents::crush::CRUSH,
    &agents::kiro::KIRO,
    &agents::amp::AMP,
    &agents::warp::WARP,
    &agents::junie::JUNIE,
    &agents::auggie::AUGGIE,
    &agents::antigravity::ANTIGRAVITY,
    &agents::import::IMPORT,
];

/// Where an agent's history would be. Without a home directory there is none unless a variable names an
/// absolute path: never below the working directory by accident.
pub fn source_roots(source: &dyn Source, places: &Environment) -> Vec<PathBuf> {
    let mut roots = source.default_roots(places);
    roots.retain(|root| places.home.is_absolute() || root.is_absolute());
    roots
}

/// Whether it is an archived copy. Checks the extension first, because this runs for every record that is
/// read.
fn is_archived_copy(transcript: &Transcript) -> bool {
    let path = transcript.path.as_os_str().as_encoded_bytes();
    path.ends_with(b".loci") && archive::is_archived(&transcript.path)
}

/// Surveys a whole transcript, or its archived copy.
pub fn survey_transcript(transcript: &Transcript, survey: &mut Survey<'_>) -> Result<(), Error> {
    if is_archived_copy(transcript) {
        return archive::survey_archive(transcript, survey);
    }
    SOURCES[transcript.source].survey(transcript, survey)
}

/// Reads one call in full: the call and its result each from the transcript or its archived copy.
pub fn fetch_call(transcript: &Transcript, result: &Transcript, row: &Row) -> Result<Call, Error> {
    let source = SOURCES[transcript.source];
    if is_archived_copy(transcript) {
        return archive::fetch_call(transcript, result, row);
    }
    if row.end == Row::NO_END || !is_archived_copy(result) {
        return source.fetch_call(transcript, result, row);
    }
    let mut call = source.fetch_call(transcript, transcript, &Row { end: Row::NO_END, ..*row })?;
    archive::fetch_result(result, row, &mut call)?;
    Ok(call)
}

/// Reads one message in full, from the transcript or its archived copy.
pub fn fetch_message(transcript: &Transcript, row: &Row) -> Result<Message, Error> {
    if is_archived_copy(transcript) {
        return archive::fetch_message(transcript, row);
    }
    SOURCES[transcript.source].fetch_message(transcript, row)
}

/// Finds every transcript of the named sources (all if none is named), sorted by path.
pub fn find_transcripts(places: &Environment, only: &[String]) -> walk::TranscriptList {
    let mut found = walk::TranscriptList::default();
    for (index, source) in SOURCES.iter().enumerate() {
        if !only.is_empty() && !only.iter().any(|name| name == source.name()) {
            continue;
        }
        found.source = index;
        for root in source_roots(*source, places) {
            source.list_transcripts(&root, &mut found);
        }
    }
    // Compared as bytes: comparing ten thousand paths component by component costs more than reading their
    // metadata.
    found.transcripts.sort_by(|a, b| (a.path.as_os_str(), &a.part).cmp(&(b.path.as_os_str(), &b.part)));
    found.transcripts.dedup_by(|a, b| a.path.as_os_str() == b.path.as_os_str() && a.part == b.part);
    found.transcripts.shrink_to_fit();
    found
}
