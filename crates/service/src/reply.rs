//! Wraps responses in envelopes for agents: inline if small, otherwise as a file of records with a summary. Nothing is
//! truncated silently: if the file cannot be written, the envelope says so and where to continue.
//!
//! Does not know the protocol that carries the envelope.

use crate::losses::describe_losses;
use crate::{Outcome, Service};
use ::reply::Collector;
use api::control::INLINE;
use api::envelope::{CODE_NOTE, Envelope, NOTE, Recalled};
use api::saved_results::ReadRef;
use api::sessions::ListSessions;
use api::tools::ToolTarget;
use api::{AnyResponse, Code, Control, Error, Handle, Operation, Request, Tool, View, ViewRequest};
use history::guard;
use query::child::Runner;
use query::tally::Tally;
use serde_json::{Map, Value, json};
use views::Format;
use views::query_error;

impl Service {
    /// Runs a tool call.
    pub fn call_tool(&self, tool: &Tool, mut params: Map<String, Value>) -> Result<Envelope, Error> {
        let envelope = match (tool.asks, tool.view(), tool.operation()) {
            (ToolTarget::AnyView, ..) => {
                let view = named_view(&mut params)?;
                self.wrap_view(view, &params, tool.name)
            }
            (ToolTarget::OwnSession(..), Some(view), _) => {
                refuse_unknown(tool, &params)?;
                let (session, note) = self.require_own_session()?;
                params.insert("session".to_string(), json!(session));
                let envelope = self.wrap_view(view, &params, tool.name);
                envelope.map(|mut envelope| {
                    envelope.notes.extend(note);
                    envelope
                })
            }
            (_, Some(view), _) => self.wrap_view(view, &params, tool.name),
            (_, _, Some(operation)) => self.call_operation(operation, params),
            _ => Err(Error::new(Code::InternalError, format!("tool {} has no operation", tool.name))),
        }?;
        if self.progress.is_cancelled() {
            return Err(Error::new(Code::Cancelled, "cancelled"));
        }
        Ok(envelope)
    }

    fn wrap_view(
        &self,
        view: &'static View,
        params: &Map<String, Value>,
        query: &str,
    ) -> Result<Envelope, Error> {
        self.run_view_enveloped(view, ViewRequest::new(view, params)?, query).map(|(envelope, _)| envelope)
    }

    /// The ID of the requesting session. If its agent does not provide it, the latest session of the project, with a note.
    fn require_own_session(&self) -> Result<(String, Option<String>), Error> {
        if let Some(own) = self.own_session() {
            return Ok((own, None));
        }
        let project = Some(self.cwd.to_string_lossy().into_owned());
        let listed = ListSessions { project, limit: 1, ..ListSessions::default() };
        let latest = Handle::<ListSessions>::handle(self, &listed)?.sessions.into_iter().next();
        let unknown = || {
            Error::new(
                Code::SessionNotFound,
                "the requesting session is unknown: the agent does not provide its ID, and this project has no session",
            )
            .hint("call the tool without `_session` and pass `session`; list_sessions lists the IDs")
        };
        let id = latest.ok_or_else(unknown)?.chat_id;
        let note = format!(
            "the agent does not provide its session ID: this is the latest session of the project, {id}"
        );
        Ok((id, Some(note)))
    }

    pub(crate) fn own_session(&self) -> Option<String> {
        config::env::text_var(&self.places, "CLAUDE_CODE_SESSION_ID")
    }

    /// Runs a view and wraps its records in an envelope.
    pub fn run_view_enveloped(
        &self,
        view: &'static View,
        mut request: ViewRequest,
        query: &str,
    ) -> Result<(Envelope, Outcome), Error> {
        let control = request.output_controls();
        // Counting is done by the collector: the summary of a file needs the counts anyway.
        (request.stats_only, request.stats_first) = (false, false);
        let mut collector = self.new_collector(&control, query, view.stats, request.session.as_deref())?;
        let progress = &self.progress;
        let mut take = |line: &[u8]| collector.push_line(line) && !progress.is_cancelled();
        let outcome = self.run_view(view, &request, Format::Jsonl, &mut take)?;
        let mut envelope = collector.finish(&control);
        if let Some(at) = &mut envelope.next_offset {
            *at += request.offset.unwrap_or(0);
        }
        envelope.notes.extend(outcome_notes(&outcome, &request));
        envelope.notes.extend(describe_losses(&self.losses_of_view(view)?));
        Ok((self.with_recalled_note(envelope, NOTE), outcome))
    }

    fn call_operation(
        &self,
        operation: &'static Operation,
        mut params: Map<String, Value>,
    ) -> Result<Envelope, Error> {
        let control = self.take_controls(operation, &mut params)?;
        let answer = if operation.name == ReadRef::OPERATION.name {
            let limit = self.inline_threshold(&control)?;
            AnyResponse::ReadRef(self.saved_results().read_lines(&Request::read(&params)?, limit)?)
        } else {
            api::call(self, operation, params)?
        };
        self.wrap_response(operation, &answer, &control)
    }

    /// Extracts the output controls; an error if the operation does not accept one of them.
    pub fn take_controls(
        &self,
        operation: &Operation,
        params: &mut Map<String, Value>,
    ) -> Result<Control, Error> {
        let foreign = Control::PARAMS
            .iter()
            .find(|param| params.contains_key(param.name) && !operation.accepts_control(param.name));
        if let Some(param) = foreign {
            let message = format!("{} does not accept `{}`", operation.name, param.name);
            return Err(Error::new(Code::InvalidArgument, message).hint(operation.example));
        }
        let control = Control::take_from_params(params)?;
        // Counts are of everything, not of the first page.
        if let Some(limit) = operation.limit_param().filter(|_| control.stats_only) {
            let most = if limit == "limit_chats" { api::search::MOST_CHATS } else { MAX_COUNTED };
            params.entry(limit).or_insert_with(|| json!(most));
        }
        Ok(control)
    }

    /// Wraps an operation's response in an envelope.
    pub fn wrap_response(
        &self,
        operation: &'static Operation,
        answer: &AnyResponse,
        control: &Control,
    ) -> Result<Envelope, Error> {
        let mut envelope = self.wrap_whole_response(operation, answer, control)?;
        envelope.notes.extend(describe_losses(&self.losses_of_operation(operation)?));
        Ok(envelope)
    }

    fn wrap_whole_response(
        &self,
        operation: &'static Operation,
        answer: &AnyResponse,
        control: &Control,
    ) -> Result<Envelope, Error> {
        let note = if operation.command.starts_with("code ") { CODE_NOTE } else { NOTE };
        let mut whole = answer.to_agent();
        guard::defuse_value(&mut whole);
        if control.alters_records() {
            let rows = take_rows(operation, &mut whole);
            return Ok(self.with_recalled_note(self.wrap_rows(operation, &rows, control)?, note));
        }
        let limit = self.inline_threshold(control)?;
        // A page of a saved result is not saved again.
        let stays = operation.rows.is_empty() || operation.name == ReadRef::OPERATION.name;
        if stays || whole.to_string().len() as u64 <= limit {
            return Ok(self.with_recalled_note(Envelope { data: Some(whole), ..Envelope::default() }, note));
        }
        let rows = take_rows(operation, &mut whole);
        let mut collector = Collector::new(self.saved_results(), 0, operation.name, operation.stats, None);
        collector.push_head(&whole);
        for row in &rows {
            collector.push_line(format!("{row}\n").as_bytes());
        }
        let mut envelope = collector.finish(control);
        if envelope.degraded_reason.is_some() {
            envelope.notes.clear();
            envelope.data = Some(fit_page(operation, whole, rows, limit, &mut envelope.notes));
            envelope.next_offset = None;
        } else {
            ::reply::summarize_best(operation, &whole, &rows, &mut envelope);
        }
        Ok(self.with_recalled_note(envelope, note))
    }

    /// Prints an operation's records after filtering or counting, for a terminal.
    pub fn print_shaped(
        &self,
        operation: &Operation,
        answer: &AnyResponse,
        control: &Control,
        take: views::Take<'_>,
    ) -> Result<(), Error> {
        let rows = take_rows(operation, &mut serde_json::to_value(answer).unwrap_or_default());
        let (mut tally, mut lines) = (Tally::new(operation.stats), Vec::new());
        self.filter_rows(&rows, control, &mut |line| {
            tally.add(&serde_json::from_slice(line).unwrap_or_default());
            lines.push(line.to_vec());
            true
        })?;
        let counts = control.stats_only || control.stats_first;
        let kinds = if counts { tally.records() } else { Vec::new() };
        let kinds = kinds.iter().map(|kind| format!("{kind}\n").into_bytes());
        let border = control.stats_first.then(|| b"---\n".to_vec());
        let records = if control.stats_only { Vec::new() } else { lines };
        kinds.chain(border).chain(records).all(|line| take(&line));
        Ok(())
    }

    /// Wraps filtered or counted records in an envelope.
    fn wrap_rows(&self, operation: &Operation, rows: &[Value], control: &Control) -> Result<Envelope, Error> {
        let mut collector = self.new_collector(control, operation.name, operation.stats, None)?;
        self.filter_rows(rows, control, &mut |line| collector.push_line(line))?;
        Ok(collector.finish(control))
    }

    /// Applies the jq filter, if any, and passes each result to `take` as a line.
    pub(crate) fn filter_rows(
        &self,
        rows: &[Value],
        control: &Control,
        take: views::Take<'_>,
    ) -> Result<(), Error> {
        let Some(filter) = &control.jq_filter else {
            rows.iter().all(|row| take(format!("{row}\n").as_bytes()));
            return Ok(());
        };
        let mut each = |mut result: Vec<u8>| {
            result.push(b'\n');
            take(&result)
        };
        let mut runner = Runner::start(&self.exe, filter, control.slurp).map_err(|e| query_error(&e))?;
        for row in rows {
            if !runner.feed(row.to_string().as_bytes(), &mut each) {
                break;
            }
        }
        runner.finish(&mut each).map_err(|e| query_error(&e))
    }

    fn new_collector(
        &self,
        control: &Control,
        query: &str,
        stats: &'static [&'static str],
        session: Option<&str>,
    ) -> Result<Collector, Error> {
        let limit = self.inline_threshold(control)?;
        let collector =
            Collector::new(self.saved_results(), limit, query, stats, session.map(str::to_string));
        Ok(collector.count_only(control.stats_only))
    }

    /// The inline threshold: from the parameter, then the environment, then the configuration.
    pub(crate) fn inline_threshold(&self, control: &Control) -> Result<u64, Error> {
        if let Some(bytes) = control.inline_threshold_bytes {
            return Ok(bytes);
        }
        let set = match config::env::text_var(&self.places, "LOCI_INLINE_THRESHOLD") {
            Some(text) => Some(("LOCI_INLINE_THRESHOLD", text.trim().parse().ok())),
            None => config::read_config(&self.places)?
                .inline_threshold_bytes
                .map(|bytes| ("inline_threshold_bytes in config.toml", Some(bytes))),
        };
        match set {
            None => Ok(INLINE),
            // A larger one set for all calls is taken as the most that is possible: no call should fail for it.
            Some((_, Some(bytes))) => Ok(bytes.min(api::control::MOST_INLINE)),
            Some((name, None)) => {
                Err(Error::new(Code::InvalidArgument, format!("{name} is not a valid number of bytes"))
                    .hint(format!("use a number up to {}", api::control::MOST_INLINE)))
            }
        }
    }

    fn with_recalled_note(&self, mut envelope: Envelope, note: &str) -> Envelope {
        let as_of = self.clock.now().to_string();
        envelope.recalled = Some(Recalled { note: note.to_string(), as_of });
        envelope
    }
}

/// Records that `stats_only` counts of an operation with a limit.
const MAX_COUNTED: u64 = 1_000_000;

/// Takes the list of records out of a response.
fn take_rows(operation: &Operation, answer: &mut Value) -> Vec<Value> {
    let name = operation.rows.iter().find(|name| answer.get(*name).is_some());
    match name.and_then(|name| answer.get_mut(*name)).map(Value::take) {
        Some(Value::Array(rows)) => rows,
        _ => Vec::new(),
    }
}

/// Puts back as many records as fit inline.
fn fit_page(
    operation: &Operation,
    mut head: Value,
    rows: Vec<Value>,
    limit: u64,
    notes: &mut Vec<String>,
) -> Value {
    let (all, mut kept, mut size) = (rows.len(), Vec::new(), head.to_string().len() as u64);
    for row in rows {
        size += row.to_string().len() as u64 + 1;
        if size > limit.max(INLINE) {
            break;
        }
        kept.push(row);
    }
    if kept.len() < all {
        notes.push(format!("the first {} of {all} records; narrow the request to get the rest", kept.len()));
    }
    let name = operation.rows.iter().find(|name| head.get(*name).is_some());
    if let Some(name) = name {
        head[*name] = Value::Array(kept);
    }
    head
}

fn named_view(params: &mut Map<String, Value>) -> Result<&'static View, Error> {
    let known = || format!("one of: {}", api::tools::view_names().join(", "));
    let name = params.shift_remove("view");
    let name = name.as_ref().and_then(Value::as_str).unwrap_or("");
    api::VIEWS
        .iter()
        .find(|view| view.title() == name)
        .ok_or_else(|| Error::new(Code::InvalidArgument, format!("unknown view `{name}`")).hint(known()))
}

fn refuse_unknown(tool: &Tool, params: &Map<String, Value>) -> Result<(), Error> {
    let known: Vec<&str> = tool.params().iter().map(|param| param.name).collect();
    match params.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => {
            Err(Error::new(Code::InvalidArgument, format!("{}: unknown parameter `{name}`", tool.name))
                .hint(format!("parameters: {}", known.join(", "))))
        }
    }
}

/// Notes for the agent about losses and empty results.
fn outcome_notes(outcome: &Outcome, request: &ViewRequest) -> Vec<String> {
    let mut notes = Vec::new();
    if outcome.count_lost() > 0 {
        notes.push(format!("{} parts of the history could not be read", outcome.count_lost()));
    }
    if outcome.printed == 0 && request.limit != Some(0) {
        let filtered = outcome.total.filter(|total| *total > 0 && request.jq_filter.is_some());
        notes.push(match (&outcome.project, outcome.files + outcome.sessions) {
            _ if filtered.is_some() => {
                format!("the jq filter left none of {} records", filtered.unwrap_or_default())
            }
            (Some(project), _) => {
                format!("nothing in {}; all_projects:true searches every project", project.display())
            }
            (None, 0) => "no agent history found".to_string(),
            (None, _) => "nothing found".to_string(),
        });
    }
    notes
}
