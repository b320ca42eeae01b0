//! Reads single records in full with their secrets masked. Everything that is printed or stored passes through here; raw
//! text is read only to scan it.
//!
//! Does not choose which records.

use crate::call_summary::CallSummary;
use crate::masker::replace;
use crate::scan::{self, Library};
use crate::to_record::Failure;
use crate::{History, search_text};
use record::{Call, Message, Problem, Row, RowKind};
use sources::Transcript;

/// An unmasked record, secrets included: for code that scans for what must not be shown.
pub enum Raw {
    Message(Message),
    Call(Box<Call>),
}

pub fn raw(library: &Library, row: &Row) -> Result<Raw, Problem> {
    match row.row {
        RowKind::Message => raw_message(library, row).map(Raw::Message),
        _ => raw_call(library, row).map(|call| Raw::Call(Box::new(call))),
    }
}

fn raw_message(library: &Library, row: &Row) -> Result<Message, Problem> {
    let transcript = &library.transcripts[row.file as usize];
    sources::message(transcript, row).map_err(|e| scan::problem(transcript, &e))
}

fn raw_call(library: &Library, row: &Row) -> Result<Call, Problem> {
    let (transcript, result) =
        (&library.transcripts[row.file as usize], &library.transcripts[row.end_file as usize]);
    sources::call(transcript, result, row).map_err(|e| scan::problem(transcript, &e))
}

impl History<'_> {
    pub fn read_call(&self, library: &Library, row: &Row) -> Result<Call, Problem> {
        raw_call(library, row).map(|call| self.masked_call(call))
    }

    /// Reads a call without its output: masking the output would cost more than everything else.
    pub fn read_call_summary(&self, library: &Library, row: &Row) -> Result<CallSummary, Problem> {
        let mut summary = CallSummary::of(&raw_call(library, row)?);
        if let Some(masker) = self.masker() {
            summary
                .command
                .iter_mut()
                .chain(&mut summary.file)
                .for_each(|text| replace(text, |text| masker.text(text)));
        }
        Ok(summary)
    }

    pub fn read_message(&self, library: &Library, row: &Row) -> Result<Message, Problem> {
        raw_message(library, row).map(|message| self.masked_message(message))
    }

    pub fn read_failure(&self, library: &Library, row: &Row) -> Result<Failure, Problem> {
        match row.row {
            RowKind::Call => {
                self.read_call(library, row).map(|call| Failure::of_call(library.name(row), call))
            }
            _ => self.read_message(library, row).map(Failure::of_provider),
        }
    }

    /// The ID and the masked text of one record.
    pub fn said(&self, transcript: &Transcript, row: &Row) -> Option<(String, String)> {
        if row.row == RowKind::Message {
            let message = self.masked_message(sources::message(transcript, row).ok()?);
            return Some((message.id, message.text));
        }
        let row = Row { file: 0, end_file: 0, ..*row };
        let call = self.masked_call(sources::call(transcript, transcript, &row).ok()?);
        let text = search_text::of_call(&call);
        Some((call.id, text))
    }
}
