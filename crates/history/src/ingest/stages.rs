//! Runs single stages of indexing so that `cargo xtask bench index` can measure each, and lists the indexed texts so that
//! a bare engine can be given the same input.
//!
//! Does not index anything; used only by the benchmark.

use super::text::{Record, RecordReader};
use super::{UpdateReport, open};
use crate::error::{no_home, read_error, store_error};
use crate::event_ids::title_event;
use crate::home::Lock;
use crate::scan::read_through;
use crate::search_text::{self, is_searchable};
use crate::tombstones::Tombstones;
use crate::{History, transcripts};
use api::{Code, Error};
use catalogue::{EventFilter, event_id};
use record::Row;
use search::Part;
use sources::archive::Store;
use sources::{Names, SurveyOptions, Transcript};
use std::path::Path;

/// An indexed text: file, session, event, part, time, text.
pub type Text<'t> = (u32, u32, u64, u8, i64, &'t str);

/// The stages in order. Each includes the previous one, except that `mask` and `keep` both extend `read`.
const STAGES: [&str; 5] = ["find", "survey", "read", "mask", "keep"];

impl History<'_> {
    /// Reads the whole history up to one stage, on one thread; archived copies go to `archive`. Returns the number of
    /// transcripts and rows, the bytes of text for the index, and the size of the copies.
    #[doc(hidden)]
    pub fn run_stage(&self, stage: &str, archive: &Path) -> Result<[u64; 4], Error> {
        let Some(far) = STAGES.iter().position(|known| *known == stage) else {
            let known = STAGES.join(", ");
            return Err(Error::new(
                Code::InvalidArgument,
                format!("unknown stage `{stage}`: expected one of {known}"),
            ));
        };
        let history = History { masked: stage == "mask", ..*self };
        let store = Store::new(archive.to_path_buf());
        let names = Names::default();
        let [mut files, mut many, mut bytes, mut packed] = [0; 4];
        let found = transcripts::find_readable(&history, None, &[]);
        files += found.transcripts.len() as u64;
        store.begin_batch();
        for transcript in found.transcripts.iter().filter(|_| far > 0) {
            let mut rows = Vec::new();
            let emit = &mut |more: &mut Vec<Row>| rows.append(more);
            let (_, facts) = read_through(&history, 0, transcript, &names, SurveyOptions::ALL, emit);
            many += rows.len() as u64;
            if far == 1 {
                continue;
            }
            let teller = RecordReader {
                history,
                store: store.clone(),
                names: &names,
                tombstones: Tombstones::default(),
            };
            let begun =
                (stage == "keep" && !rows.is_empty()).then(|| store.begin_copy(transcript, 0)).transpose();
            let mut keeper = begun.map_err(read_error)?;
            let list = names.to_vec();
            for (ordinal, row) in (0..).zip(&rows) {
                let Ok(record) = teller.read_record(transcript, row) else { continue };
                if let Some(keeper) = &mut keeper {
                    let name = list.get(row.name as usize).map_or("", |name| &**name);
                    match &record {
                        Record::Message(message) => keeper.add_message(ordinal, row, name, message),
                        Record::Call(call) => keeper.add_call(ordinal, row, name, call),
                    }
                }
                if is_searchable(row) {
                    bytes += text_of_record(row, record).1.len() as u64;
                }
            }
            if let Some(keeper) = keeper {
                packed += keeper.finish(&facts).map_err(read_error)?.bytes;
            }
        }
        store.commit_batch().map_err(read_error)?;
        Ok([files, many, bytes, packed])
    }

    /// Calls `each` with every indexed text, in catalogue order.
    #[doc(hidden)]
    pub fn each_indexed_text(&self, each: &mut dyn FnMut(Text<'_>)) -> Result<(), Error> {
        let home = self.home().ok_or_else(no_home)?;
        let _lock = Lock::acquire(&home)?;
        let catalogue = open::open_catalogue(&home, &mut UpdateReport::default())?;
        let reader = catalogue.reader();
        let names = Names::default();
        let store = Store::new(home.archive());
        let teller = RecordReader { history: *self, store, names: &names, tombstones: Tombstones::default() };
        for stored in reader.all_files().map_err(store_error)? {
            let Some(transcript) = transcripts::as_readable(self, &stored) else { continue };
            let mut rows = Vec::new();
            let push = |row| {
                rows.push(row);
                Ok(())
            };
            reader.for_each_row(&[stored.id], EventFilter::All, push).map_err(store_error)?;
            let titles = catalogue.session_titles(stored.id).map_err(store_error)?;
            for fresh in catalogue.indexed_events(stored.id).map_err(store_error)? {
                let Some(row) = rows.get(fresh.ordinal as usize) else { continue };
                let chat = titles.get(row.session as usize).map_or(0, |(chat, ..)| *chat);
                let event = event_id(stored.id, fresh.ordinal);
                if let Some((part, text)) = teller.read_indexed_text(&transcript, row) {
                    each((stored.id, chat, event, part as u8, row.at.0.max(0), &text));
                }
            }
            for (chat, number, title) in &titles {
                if let Some(title) = title {
                    each((stored.id, *chat, title_event(*number), Part::Title as u8, 0, title));
                }
            }
        }
        Ok(())
    }
}

impl RecordReader<'_> {
    /// None if the record has no text or cannot be read.
    fn read_indexed_text(&self, transcript: &Transcript, row: &Row) -> Option<(Part, String)> {
        let row = Row { file: 0, end_file: 0, ..*row };
        let (part, text) = text_of_record(&row, self.read_record(transcript, &row).ok()?);
        (!text.is_empty()).then_some((part, text))
    }
}

fn text_of_record(row: &Row, record: Record) -> (Part, String) {
    match record {
        Record::Message(message) => {
            (search_text::part_of(row.kind()), search_text::shorten_text(message.text))
        }
        Record::Call(call) => (search_text::part_of_call(&call), search_text::call_text(&call)),
    }
}
