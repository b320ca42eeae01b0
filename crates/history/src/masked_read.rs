//! Reads single records in full with their secrets masked. Everything that is printed or stored passes through here; raw
//! text is read only to scan it.
//!
//! Does not choose which records.

use crate::call_summary::CallSummary;
use crate::masker::replace_masked;
use crate::scan::{self, ScanResult};
use crate::to_record::Failure;
use crate::{History, search_text};
use record::{Call, Message, Problem, Row, RowKind};
use sources::Transcript;

/// An unmasked record, secrets included: for code that scans for what must not be shown.
pub enum RawRecord {
    Message(Message),
    Call(Box<Call>),
}

pub fn read_raw(library: &ScanResult, row: &Row) -> Result<RawRecord, Problem> {
    match row.row {
        RowKind::Message => read_raw_message(library, row).map(RawRecord::Message),
        _ => read_raw_call(library, row).map(|call| RawRecord::Call(Box::new(call))),
    }
}

fn read_raw_message(library: &ScanResult, row: &Row) -> Result<Message, Problem> {
    let transcript = &library.transcripts[row.file as usize];
    sources::fetch_message(transcript, row).map_err(|e| scan::read_problem(transcript, &e))
}

fn read_raw_call(library: &ScanResult, row: &Row) -> Result<Call, Problem> {
    let (transcript, result) =
        (&library.transcripts[row.file as usize], &library.transcripts[row.end_file as usize]);
    sources::fetch_call(transcript, result, row).map_err(|e| scan::read_problem(transcript, &e))
}

impl History<'_> {
    pub fn read_call(&self, library: &ScanResult, row: &Row) -> Result<Call, Problem> {
        read_raw_call(library, row).map(|call| self.mask_call(call))
    }

    /// Reads a call without its output: masking the output would cost more than everything else.
    pub fn read_call_summary(&self, library: &ScanResult, row: &Row) -> Result<CallSummary, Problem> {
        let mut summary = CallSummary::from_call(&read_raw_call(library, row)?);
        if let Some(masker) = self.masker() {
            summary
                .command
                .iter_mut()
                .chain(&mut summary.file)
                .for_each(|text| replace_masked(text, |text| masker.mask_text(text)));
        }
        Ok(summary)
    }

    pub fn read_message(&self, library: &ScanResult, row: &Row) -> Result<Message, Problem> {
        read_raw_message(library, row).map(|message| self.mask_message(message))
    }

    pub fn read_failure(&self, library: &ScanResult, row: &Row) -> Result<Failure, Problem> {
        match row.row {
            RowKind::Call => {
                self.read_call(library, row).map(|call| Failure::of_call(library.name(row), call))
            }
            _ => self.read_message(library, row).map(Failure::of_provider),
        }
    }

    /// The ID and the masked text of one record.
    pub fn read_text(&self, transcript: &Transcript, row: &Row) -> Option<(String, String)> {
        if row.row == RowKind::Message {
            let message = self.mask_message(sources::fetch_message(transcript, row).ok()?);
            return Some((message.id, message.text));
        }
        let row = Row { file: 0, end_file: 0, ..*row };
        let call = self.mask_call(sources::fetch_call(transcript, transcript, &row).ok()?);
        let text = search_text::call_text(&call);
        Some((call.id, text))
    }
}
