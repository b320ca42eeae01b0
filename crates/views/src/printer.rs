//! Prints records: selects fields, writes JSON lines or TSV, runs the jq filter, applies limit and offset, and stops when
//! the reader closes the pipe.
//!
//! Does not know where records come from.

use crate::{Take, Views, query_error};
use api::{Code, Error, View, ViewRequest};
use history::home;
use history::saved_results::ResultWriter;
use query::child::Runner;
use query::tally::Tally;
use record::Record;
use record::encode::{Encoder, json_to_tsv};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    Jsonl,
    Tsv,
}

fn build_encoder(view: &View, request: &ViewRequest, format: Format) -> Encoder {
    let columns = || {
        if request.fields.is_empty() {
            view.fields.iter().map(ToString::to_string).collect()
        } else {
            request.fields.clone()
        }
    };
    // Filters and counts read JSON, regardless of the output format.
    let tsv = (format == Format::Tsv && !request.output_controls().alters_records()).then(columns);
    Encoder { fields: request.fields.clone(), tsv }
}

/// Prints lines in the order they are given.
pub(crate) struct Printer<'a> {
    pub(crate) encoder: Encoder,
    take: Take<'a>,
    jq: Option<Runner>,
    tsv: bool,
    /// The header of a table, printed before the first row: an error must not follow a header.
    header: Option<String>,
    skip: u64,
    left: u64,
    pub(crate) printed: u64,
    open: bool,
    /// Buffer reused for each line.
    scratch: Vec<u8>,
    counted: Option<CountedOutput>,
}

/// Collects counts that are printed instead of the records, or before them.
struct CountedOutput {
    tally: Tally,
    /// The records, spooled to a file while they are counted: they may not fit in memory.
    records: Option<ResultWriter>,
    failed: Option<std::io::Error>,
}

impl<'a> Printer<'a> {
    pub(crate) fn new(
        views: &Views<'_>,
        view: &View,
        request: &ViewRequest,
        format: Format,
        take: Take<'a>,
    ) -> Result<Printer<'a>, Error> {
        let jq = request.jq_filter.as_ref().map(|filter| Runner::start(views.exe, filter, request.slurp));
        let mut printer = Printer {
            encoder: build_encoder(view, request, format),
            take,
            jq: jq.transpose().map_err(|e| query_error(&e))?,
            tsv: format == Format::Tsv,
            header: None,
            skip: request.offset.unwrap_or(0),
            left: request.limit.unwrap_or(u64::MAX),
            printed: 0,
            open: true,
            scratch: Vec::new(),
            counted: start_counting(views, view, request, format)?,
        };
        if printer.left == 0 {
            printer.open = false;
        }
        printer.header = printer.encoder.tsv.as_ref().map(|columns| columns.join("\t") + "\n");
        Ok(printer)
    }

    /// Prints one record. False: stop.
    pub(crate) fn print_record(&mut self, line: &Record<'_>) -> bool {
        let mut bytes = std::mem::take(&mut self.scratch);
        bytes.clear();
        self.encoder.encode_into(line, &mut bytes);
        let open = self.print_encoded(&bytes);
        self.scratch = bytes;
        open
    }

    /// Prints one record that is already encoded.
    pub(crate) fn print_encoded(&mut self, bytes: &[u8]) -> bool {
        let Some(mut runner) = self.jq.take() else { return self.print_line(bytes) };
        let record = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let wanted = runner.feed(record, &mut |result| self.print_result(&result));
        self.jq = Some(runner);
        wanted && self.open
    }

    fn print_line(&mut self, bytes: &[u8]) -> bool {
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
        self.open = self.emit_line(bytes) && self.left > 0;
        self.open
    }

    fn emit_line(&mut self, bytes: &[u8]) -> bool {
        match &mut self.counted {
            Some(counted) => counted.add_line(bytes),
            None => (self.take)(bytes),
        }
    }

    fn print_header(&mut self) {
        if let Some(header) = self.header.take() {
            (self.take)(header.as_bytes());
        }
    }

    /// Prints one result of the filter. In TSV, an array is a row and anything else a single field.
    fn print_result(&mut self, json: &[u8]) -> bool {
        let mut bytes = json.to_vec();
        if self.tsv && self.counted.is_none() {
            bytes = json_to_tsv(json);
        }
        bytes.push(b'\n');
        self.print_line(&bytes)
    }

    pub(crate) fn finish(mut self) -> Result<u64, Error> {
        if let Some(runner) = self.jq.take() {
            // A runner that is dropped kills its subprocess.
            if self.open {
                runner.finish(&mut |result| self.print_result(&result)).map_err(|e| query_error(&e))?;
            }
        }
        self.print_header();
        if let Some(counted) = self.counted.take() {
            self.print_counts(counted)?;
        }
        Ok(self.printed)
    }

    fn print_counts(&mut self, counted: CountedOutput) -> Result<(), Error> {
        let kinds = counted.tally.records();
        if let (true, Some(serde_json::Value::Object(first))) = (self.tsv, kinds.first()) {
            (self.take)(format!("{}\n", first.keys().cloned().collect::<Vec<_>>().join("\t")).as_bytes());
        }
        for kind in kinds {
            let line = kind.to_string().into_bytes();
            let line = if self.tsv { json_to_tsv(&line) } else { line };
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

fn start_counting(
    views: &Views<'_>,
    view: &View,
    request: &ViewRequest,
    format: Format,
) -> Result<Option<CountedOutput>, Error> {
    if !request.stats_only && !request.stats_first {
        return Ok(None);
    }
    if request.stats_first && format == Format::Tsv {
        return Err(Error::new(
            Code::InvalidArgument,
            "--stats-first cannot print TSV: counts and records are two tables",
        )
        .hint("use `-o jsonl`, or `--stats-only` for the counts alone"));
    }
    // deleted once it is printed, so that it may be larger than what is saved
    let spool = || views.saved_results.clone().with_limit(u64::MAX).create_file("", "stats_first");
    let records = request.stats_first.then(spool);
    let records = records.transpose().map_err(|error| {
        Error::new(
            Code::ReadError,
            format!("cannot create a file for the records while they are counted: {error}"),
        )
        .hint("`--stats-only` needs no file")
    })?;
    Ok(Some(CountedOutput { tally: Tally::new(view.stats), records, failed: None }))
}

impl CountedOutput {
    fn add_line(&mut self, line: &[u8]) -> bool {
        if let Ok(record) = serde_json::from_slice(line) {
            self.tally.add(&record);
        }
        if let Some(Err(error)) = self.records.as_mut().map(|records| records.write_line(line)) {
            self.failed.get_or_insert(error);
        }
        self.failed.is_none()
    }
}
