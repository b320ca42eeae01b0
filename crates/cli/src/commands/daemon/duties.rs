//! The daemon's call handler, background jobs and message dispatcher.
//!
//! Handles each call with the caller's directory and environment and keeps no results between calls. Does not know
//! sockets, locks or watchers.

use crate::daemon_client::teller;
use crate::environment::exe;
use api::{Code, Error};
use daemon::life::Poke;
use daemon::{Answers, Call, Keeper, Porter, Told};
use record::{Clock, Stamp};
use serde_json::{Map, Value, json};
use service::{Places, Runs, Service};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Handles each call with the working directory and the variables of its caller.
pub(super) struct Counter {
    pub(super) places: Places,
    pub(super) poke: Poke,
    /// Directories from which code operations were called: a new one may belong to a tree that is not watched yet.
    pub(super) asked_in: Mutex<BTreeSet<PathBuf>>,
    pub(super) runs: Runs,
}

impl Counter {
    fn is_new(&self, cwd: &Path) -> bool {
        self.asked_in.lock().unwrap_or_else(PoisonError::into_inner).insert(cwd.to_path_buf())
    }

    fn service(&self, call: &Call<'_>) -> Service {
        let mut places = match &call.meta.vars {
            Some(vars) => service::env::told(vars),
            None => self.places.clone(),
        };
        if let Some(session) = &call.meta.session {
            places.vars.insert("CLAUDE_CODE_SESSION_ID", session.into());
        }
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = call.meta.threads.unwrap_or_else(cores).clamp(1, 64);
        let cwd =
            call.meta.cwd.clone().filter(|cwd| cwd.is_absolute()).unwrap_or_else(|| places.home.clone());
        let mut service = Service::new(places, Clock::System, cwd, exe(), threads);
        service.progress = Arc::clone(&call.progress);
        service.daemon = Some(teller(&self.places));
        let poke = self.poke.clone();
        service.stays = Some(Arc::new(move || poke.poke()));
        service.lasts = true;
        service
    }
}

impl Answers for Counter {
    fn answer(&self, mut call: Call<'_>) -> Result<Told, Error> {
        // jq filters and supervisors re-execute this binary. If its file is gone, neither can run, and the daemon is about to
        // exit for its replacement.
        if !exe().exists() {
            return Err(leaving());
        }
        let service = self.service(&call);
        let params = std::mem::take(&mut call.params);
        let tool = api::tool_named(call.method);
        let response = match (tool, api::operation_named(call.method)) {
            (Some(tool), _) if call.meta.envelope => {
                serde_json::to_value(service.tool(tool, params)?).unwrap_or_default()
            }
            (_, Some(operation)) if !call.meta.envelope => answered(&service, operation, params, &mut call)?,
            _ => match view(call.method) {
                Some(view) => asked(&service, view, params, &mut call)?,
                None => return Ok(Told::Unknown),
            },
        };
        // A read-only operation cancelled midway may be incomplete; the client then runs it itself.
        if service.progress.stopped()
            && api::operation_named(call.method).is_none_or(|operation| operation.read_only)
        {
            return Err(leaving());
        }
        let code = |operation: &api::Operation| operation.command.starts_with("code ");
        if api::operation_named(call.method).is_some_and(code) && self.is_new(&service.cwd) {
            self.poke.rearranged();
        }
        Ok(Told::Answer(response))
    }

    fn figures(&self) -> Value {
        json!({"rss_bytes": rss(), "threads": entries("/proc/self/task"), "open_files": entries("/proc/self/fd")})
    }

    fn is_busy(&self) -> bool {
        self.runs.are_any()
    }
}

fn leaving() -> Error {
    Error::new(Code::ShuttingDown, "the daemon is shutting down")
}

fn answered(
    service: &Service,
    operation: &'static api::Operation,
    mut params: Map<String, Value>,
    call: &mut Call<'_>,
) -> Result<Value, Error> {
    let control = service.control(operation, &mut params)?;
    let response = api::call(service, operation, params)?;
    if control.alters() {
        service.shaped(operation, &response, &control, call.lines)?;
        return Ok(json!({}));
    }
    Ok(serde_json::to_value(&response).unwrap_or_default())
}

/// Finds a view by its title, or by the name of its tool.
fn view(name: &str) -> Option<&'static api::View> {
    let titled = api::VIEWS.iter().find(|view| view.title() == name);
    titled.or_else(|| api::tool_named(name)?.view())
}

fn asked(
    service: &Service,
    view: &'static api::View,
    params: Map<String, Value>,
    call: &mut Call<'_>,
) -> Result<Value, Error> {
    let request = api::ViewRequest::new(view, params)?;
    if call.meta.envelope {
        let (envelope, outcome) = service.view(view, request, &view.named())?;
        return Ok(json!({"envelope": envelope, "ending": outcome.ending()}));
    }
    let format = if call.meta.tsv { service::Format::Tsv } else { service::Format::Jsonl };
    let outcome = service.answer(view, &request, format, call.lines)?;
    Ok(serde_json::to_value(outcome.ending()).unwrap_or_default())
}

/// Resident memory of this process in bytes; 0 on systems without `/proc`.
fn rss() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
}

fn entries(folder: &str) -> usize {
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}

/// Background jobs, with the paths and variables of the daemon itself.
pub(super) struct Housekeeping {
    pub(super) places: Places,
}

impl Housekeeping {
    fn service(&self) -> Service {
        Service::new(self.places.clone(), Clock::System, self.places.home.clone(), exe(), 1)
    }
}

impl Keeper for Housekeeping {
    fn folders(&mut self) -> Vec<(PathBuf, daemon::Kind)> {
        let service = self.service();
        let history = service.history_folders().into_iter().map(|path| (path, daemon::Kind::History));
        let code = service.code_folders().into_iter().flat_map(|(root, folders)| {
            folders.into_iter().map(move |path| (path, daemon::Kind::Code(root.clone())))
        });
        code.chain(history).collect()
    }

    fn history_moved(&mut self) -> Result<Value, Error> {
        self.service().history_moved()
    }

    fn code_moved(&mut self, root: &Path) -> Result<Value, Error> {
        self.service().code_moved(root)
    }

    fn rest(&mut self, quiet: Duration) -> Result<Option<Value>, Error> {
        let service = self.service();
        let quiet = i64::try_from(quiet.as_millis()).unwrap_or(i64::MAX);
        let done = service.idle_work(Stamp(service.clock.now().0.saturating_sub(quiet)))?;
        let Some(done) = done else { return Ok(None) };
        let mut summary = json!({"named": done.named, "changed": done.changed, "facts": done.facts});
        match service.idle_notes(&done) {
            Ok(notes) => summary["notes"] = json!(notes),
            // Consolidation itself succeeded. Log only the error code: the message may contain a project name.
            Err(error) => summary["notes_failed"] = json!(error.code.word()),
        }
        Ok(Some(summary))
    }
}

/// Delivers messages between agents, on its own thread so that no background job delays them.
pub(super) struct Errands {
    pub(super) places: Places,
    pub(super) poke: Poke,
    pub(super) runs: Runs,
}

impl Porter for Errands {
    fn errands(&mut self) -> Result<Option<Value>, Error> {
        let poke = self.poke.clone();
        let done: Arc<dyn Fn() + Send + Sync> = Arc::new(move || poke.poke());
        let service = Service::new(self.places.clone(), Clock::System, self.places.home.clone(), exe(), 1);
        service.errands(&self.runs, &done)
    }
}
