//! From records to bytes: chooses the fields, writes JSON lines or TSV, runs the jq filter, counts limit and
//! offset, and stops when nobody reads any more.

use crate::saved_results::RefFile;
use crate::{Service, Take, query_error};
use api::{ViewRequest, Code, Error, View};
use history::home;
use query::child::Runner;
use query::tally::Tally;
use record::Line;
use record::encode::{Encoder, tsv};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    Jsonl,
    Tsv,
}

fn encoder(view: &View, ask: &ViewRequest, format: Format) -> Encoder {
    let columns = || {
        if ask.fields.is_empty() {
            view.fields.iter().map(ToString::to_string).collect()
        } else {
            ask.fields.clone()
        }
    };
    // Filters and counts read JSON, whatever is printed in the end.
    let tsv = (format == Format::Tsv && !ask.control().alters()).then(columns);
    Encoder { fields: ask.fields.clone(), tsv }
}

/// Prints lines in the order they are given.
pub(crate) struct Printer<'a> {
    pub(crate) encoder: Encoder,
    take: Take<'a>,
    jq: Option<Runner>,
    tsv: bool,
    /// The first line of a table, until there is something to stand below it: an error has a table of its own.
    header: Option<String>,
    skip: u64,
    left: u64,
    pub(crate) printed: u64,
    open: bool,
    /// The last line's memory, for the next.
    scratch: Vec<u8>,
    counted: Option<Counted>,
}

/// Where the number of records is wanted instead of them, or before them.
struct Counted {
    tally: Tally,
    /// The records, until they are counted: there may be more of them than memory.
    records: Option<RefFile>,
    failed: Option<std::io::Error>,
}

impl<'a> Printer<'a> {
    pub(crate) fn new(
        service: &Service,
        view: &View,
        ask: &ViewRequest,
        format: Format,
        take: Take<'a>,
    ) -> Result<Printer<'a>, Error> {
        let jq = ask.jq_filter.as_ref().map(|filter| Runner::start(&service.exe, filter, ask.slurp));
        let mut printer = Printer {
            encoder: encoder(view, ask, format),
            take,
            jq: jq.transpose().map_err(|e| query_error(&e))?,
            tsv: format == Format::Tsv,
            header: None,
            skip: ask.offset.unwrap_or(0),
            left: ask.limit.unwrap_or(u64::MAX),
            printed: 0,
            open: true,
            scratch: Vec::new(),
            counted: counted(service, view, ask, format)?,
        };
        if printer.left == 0 {
            printer.open = false;
        }
        printer.header = printer.encoder.tsv.as_ref().map(|columns| columns.join("\t") + "\n");
        Ok(printer)
    }

    /// Prints one record. False: enough.
    pub(crate) fn record(&mut self, line: &Line<'_>) -> bool {
        let mut bytes = std::mem::take(&mut self.scratch);
        bytes.clear();
        self.encoder.encode_into(line, &mut bytes);
        let open = self.encoded(&bytes);
        self.scratch = bytes;
        open
    }

    /// Prints one record that a thread has encoded already.
    pub(crate) fn encoded(&mut self, bytes: &[u8]) -> bool {
        let Some(mut runner) = self.jq.take() else { return self.line(bytes) };
        let record = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let wanted = runner.feed(record, &mut |result| self.result(&result));
        self.jq = Some(runner);
        wanted && self.open
    }

    fn line(&mut self, bytes: &[u8]) -> bool {
        if !self.open {
            return false;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return true;
        }
        self.print_header();
        self.printed += 1;
        self.left -= 1;
        self.open = self.give(bytes) && self.left > 0;
        self.open
    }

    fn give(&mut self, bytes: &[u8]) -> bool {
        match &mut self.counted {
            Some(counted) => counted.add(bytes),
            None => (self.take)(bytes),
        }
    }

    fn print_header(&mut self) {
        if let Some(header) = self.header.take() {
            (self.take)(header.as_bytes());
        }
    }

    /// One value of a filter. In TSV an array is a row and anything else one field.
    fn result(&mut self, json: &[u8]) -> bool {
        let mut bytes = json.to_vec();
        if self.tsv && self.counted.is_none() {
            bytes = tsv(json);
        }
        bytes.push(b'\n');
        self.line(&bytes)
    }

    pub(crate) fn finish(mut self) -> Result<u64, Error> {
        if let Some(runner) = self.jq.take() {
            // Dropped, a runner stops its child.
            if self.open {
                runner.finish(&mut |result| self.result(&result)).map_err(|e| query_error(&e))?;
            }
        }
        self.print_header();
        if let Some(counted) = self.counted.take() {
            self.print_counts(counted)?;
        }
        Ok(self.printed)
    }

    fn print_counts(&mut self, counted: Counted) -> Result<(), Error> {
        let kinds = counted.tally.records();
        if let (true, Some(serde_json::Value::Object(first))) = (self.tsv, kinds.first()) {
            (self.take)(format!("{}\n", first.keys().cloned().collect::<Vec<_>>().join("\t")).as_bytes());
        }
        for kind in kinds {
            let line = kind.to_string().into_bytes();
            let line = if self.tsv { tsv(&line) } else { line };
            (self.take)(&[&line[..], b"\n"].concat());
        }
        let Some(records) = counted.records else { return Ok(()) };
        let path = records.path.clone();
        let fail = |error: &std::io::Error| home::unwritable(&path, error);
        if let Some(error) = &counted.failed {
            return Err(fail(error));
        }
        (self.take)(b"---\n");
        records.read_back(self.take).map_err(|error| fail(&error))
    }
}

fn counted(
    service: &Service,
    view: &View,
    ask: &ViewRequest,
    format: Format,
) -> Result<Option<Counted>, Error> {
    if !ask.stats_only && !ask.stats_first {
        return Ok(None);
    }
    if ask.stats_first && format == Format::Tsv {
        return Err(Error::new(Code::InvalidArgument, "counts and records are two tables, and TSV is one")
            .hint("-o jsonl prints both, --stats-only the counts alone"));
    }
    let records = ask.stats_first.then(|| service.refs().create("", "stats_first"));
    let records = records.transpose().map_err(|error| {
        Error::new(
            Code::ReadError,
            format!("there is nowhere to keep records while they are counted: {error}"),
        )
        .hint("--stats-only needs no room")
    })?;
    Ok(Some(Counted { tally: Tally::new(view.stats), records, failed: None }))
}

impl Counted {
    fn add(&mut self, line: &[u8]) -> bool {
        if let Ok(record) = serde_json::from_slice(line) {
            self.tally.add(&record);
        }
        if let Some(Err(error)) = self.records.as_mut().map(|records| records.line(line)) {
            self.failed.get_or_insert(error);
        }
        self.failed.is_none()
    }
}
