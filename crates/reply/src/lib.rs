//! Collects the records of a response one by one into an envelope: inline, or as a saved result.
//!
//! Does not know where records come from.

use api::envelope::{Envelope, FileRef, LARGEST_REF, Mode, Summary};
use api::search::SearchConversations;
use api::{Control, Operation, Request};
use history::guard;
use history::saved_results::{ResultWriter, SavedResults};
use query::summary::{search_summary, shorten_record, summary_counts};
use query::tally::Tally;
use serde_json::Value;
use std::borrow::Cow;

pub struct Collector {
    refs: SavedResults,
    limit: u64,
    query: String,
    session: Option<String>,
    /// Lines that fit inline; kept even after a file is started, in case the disk fills up.
    kept: Vec<u8>,
    kept_lines: u64,
    file: Option<ResultWriter>,
    failed: Option<String>,
    tally: Tally,
    fields: Vec<String>,
    first: Value,
    last: Vec<u8>,
    lines: u64,
    /// Only count; keep no records.
    counting: bool,
}

/// Field names in a summary.
const MOST_FIELDS: usize = 24;

impl Collector {
    pub fn new(
        refs: SavedResults,
        limit: u64,
        query: &str,
        stats: &'static [&'static str],
        session: Option<String>,
    ) -> Collector {
        Collector {
            refs,
            limit,
            query: query.to_string(),
            session,
            kept: Vec::new(),
            kept_lines: 0,
            file: None,
            failed: None,
            tally: Tally::new(stats),
            fields: Vec::new(),
            first: Value::Null,
            last: Vec::new(),
            lines: 0,
            counting: false,
        }
    }

    #[must_use]
    pub fn count_only(mut self, only: bool) -> Collector {
        self.counting = only;
        self
    }

    /// The response without its records: the first line of the file.
    pub fn push_head(&mut self, head: &Value) {
        self.store_line(format!("{head}\n").as_bytes());
    }

    /// Adds one record, including its newline. Always true: continue.
    pub fn push_line(&mut self, bytes: &[u8]) -> bool {
        let parsed = serde_json::from_slice::<Value>(bytes);
        // A filter may print values that are not JSON, such as `NaN`: kept as a string.
        let (odd, mut record) = (parsed.is_err(), parsed.unwrap_or_else(|_| text_of(bytes)));
        self.tally.add(&record);
        let altered = guard::may_harm_json(bytes) && guard::defuse_value(&mut record);
        let bytes = if odd || altered {
            Cow::Owned(format!("{record}\n").into_bytes())
        } else {
            Cow::Borrowed(bytes)
        };
        if self.counting {
            return true;
        }
        self.note_fields(&record);
        self.last.clear();
        self.last.extend_from_slice(&bytes);
        self.store_line(&bytes);
        self.lines += 1;
        true
    }

    fn note_fields(&mut self, record: &Value) {
        if self.lines == 0 {
            self.first = record.clone();
        }
        let Value::Object(map) = record else { return };
        for name in map.keys() {
            if self.fields.len() < MOST_FIELDS && !self.fields.contains(name) {
                self.fields.push(name.clone());
            }
        }
    }

    fn store_line(&mut self, bytes: &[u8]) {
        // A JSON array has a comma or bracket in place of each newline, plus one bracket.
        let fits = ((self.kept.len() + bytes.len()) as u64) < self.limit;
        if self.file.is_none()
            && self.failed.is_none()
            && (fits || !self.begin_file())
            && self.failed.is_none()
        {
            self.kept.extend_from_slice(bytes);
            self.kept_lines += 1;
            return;
        }
        if let Some(file) = &mut self.file
            && let Err(error) = file.write_line(bytes)
        {
            self.failed = Some(failure_reason(&error));
            self.file = None;
        }
    }

    /// Starts the file with the lines kept so far. False if it cannot be written; the reason is in `failed`.
    fn begin_file(&mut self) -> bool {
        let session = self.session.as_deref().unwrap_or("");
        let begun = self.refs.create_file(session, &self.query).and_then(|mut file| {
            self.kept.split_inclusive(|b| *b == b'\n').try_for_each(|line| file.write_line(line))?;
            Ok(file)
        });
        match begun {
            Ok(file) => self.file = Some(file),
            Err(error) => self.failed = Some(failure_reason(&error)),
        }
        self.failed.is_none()
    }

    pub fn finish(mut self, control: &Control) -> Envelope {
        if control.stats_only {
            return self.only_counts();
        }
        let stats = control.stats_first.then(|| self.tally.records());
        let mut envelope = match self.file.take().map(ResultWriter::finish) {
            Some(Ok(stored)) => self.as_file(&stored),
            Some(Err(error)) => {
                self.failed = Some(failure_reason(&error));
                self.as_page()
            }
            None => self.as_page(),
        };
        if let Some(stats) = stats {
            put_stats(&mut envelope, stats);
        }
        envelope
    }

    /// Returns only the counts. They are records themselves and may not fit inline either.
    fn only_counts(self) -> Envelope {
        let records = self.tally.records();
        let mut counts = Collector::new(self.refs, self.limit, &self.query, &[], self.session);
        for record in records {
            counts.push_line(format!("{record}\n").as_bytes());
        }
        counts.finish(&Control::default())
    }

    fn as_page(&self) -> Envelope {
        let lines = self.kept.split(|b| *b == b'\n').filter(|line| !line.is_empty());
        let mut data: Vec<Value> = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
        let mut envelope = Envelope { degraded_reason: self.failed.clone(), ..Envelope::default() };
        if self.failed.is_some() && data.is_empty() && self.lines > 0 {
            data.push(shorten_record(&self.first, self.limit.max(512) as usize));
            envelope.notes.push("the first record is shortened".to_string());
        }
        let given = data.len() as u64;
        if self.failed.is_some() && given < self.lines {
            envelope.next_offset = Some(given);
            envelope.notes.push(format!("the first {given} of {} records", self.lines));
            if self.failed.as_deref() == Some(TOO_LARGE) {
                envelope.notes.push("larger than 256 MB: ask for fewer records or fields".to_string());
            }
        }
        envelope.data = Some(Value::Array(data));
        envelope
    }

    fn as_file(&self, (path, size_bytes, line_count): &(std::path::PathBuf, u64, u64)) -> Envelope {
        self.refs.enforce_size_limit();
        let last = serde_json::from_slice(&self.last).unwrap_or_default();
        let mut fields = self.fields.clone();
        for name in &mut fields {
            *name = name.chars().take(40).collect();
        }
        let summary = Summary {
            total_records: self.lines,
            first_line: shorten_record(&self.first, LINE),
            last_line: shorten_record(&last, LINE),
            counts: summary_counts(&self.tally),
        };
        let path = path.to_string_lossy().into_owned();
        let file_ref = FileRef { path, size_bytes: *size_bytes, line_count: *line_count, fields, summary };
        let mut envelope = Envelope { mode: Mode::FileRef, file_ref: Some(file_ref), ..Envelope::default() };
        shrink_to_fit(&mut envelope);
        envelope
    }
}

fn text_of(bytes: &[u8]) -> Value {
    Value::String(String::from_utf8_lossy(bytes).trim_end().to_string())
}

/// The result is larger than all saved results may be together.
const TOO_LARGE: &str = "refs_too_large";

/// The machine-readable reason why there is no file.
fn failure_reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => "refs_full".to_string(),
        std::io::ErrorKind::FileTooLarge => TOO_LARGE.to_string(),
        _ => format!("refs_unwritable: {error}"),
    }
}

/// Bytes of a record shown in a summary.
const LINE: usize = 360;
/// Bytes reserved for the rest of the envelope around a summary.
const AROUND: usize = 260;

/// Shrinks the summary step by step until the envelope of a saved result is small enough.
fn shrink_to_fit(envelope: &mut Envelope) {
    let size = |envelope: &Envelope| serde_json::to_string(envelope).map_or(0, |text| text.len()) + AROUND;
    for step in 0..4 {
        if size(envelope) <= LARGEST_REF {
            return;
        }
        let Some(file_ref) = &mut envelope.file_ref else { return };
        match step {
            0 => file_ref.summary.last_line = shorten_record(&file_ref.summary.last_line, 120),
            1 => file_ref.summary.counts.clear(),
            2 => file_ref.fields.truncate(8),
            _ => (file_ref.summary.first_line, file_ref.summary.last_line) = (Value::Null, Value::Null),
        }
    }
}

/// Adds counts to the envelope as far as they fit; `stats_only` returns all of them.
fn put_stats(envelope: &mut Envelope, mut stats: Vec<Value>) {
    let budget = if envelope.mode == Mode::FileRef { 600 } else { usize::MAX };
    let (all, mut size) = (stats.len(), 0);
    stats.retain(|record| {
        size += record.to_string().len() + 1;
        size <= budget
    });
    if stats.len() < all {
        envelope.notes.push(format!("{} of {all} kinds; stats_only returns all", stats.len()));
    }
    envelope.stats = Some(stats);
    if let Some(file_ref) = envelope.file_ref.as_mut().filter(|_| budget < usize::MAX) {
        file_ref.summary.counts.clear();
        (file_ref.summary.first_line, file_ref.summary.last_line) = (
            shorten_record(&file_ref.summary.first_line, 160),
            shorten_record(&file_ref.summary.last_line, 160),
        );
    }
    shrink_to_fit(envelope);
}

/// For a search, replaces the summary by what the next step needs: status, IDs, guidance and the best hits, as many as fit.
pub fn summarize_best(operation: &Operation, head: &Value, rows: &[Value], envelope: &mut Envelope) {
    if operation.name != SearchConversations::OPERATION.name {
        return;
    }
    for hits in (1..=MOST_HITS).rev() {
        let Some(file_ref) = &mut envelope.file_ref else { return };
        let summary = &mut file_ref.summary;
        (summary.first_line, summary.last_line) = (Value::Null, Value::Null);
        file_ref.fields.clear();
        summary.counts = search_summary(head, rows, hits);
        if serde_json::to_string(envelope).map_or(0, |text| text.len()) + AROUND <= LARGEST_REF {
            return;
        }
    }
}

/// Hits and IDs in the summary of a search.
const MOST_HITS: usize = 4;
