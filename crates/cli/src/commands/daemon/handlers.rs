//! The daemon's call handler, background jobs and message dispatcher.
//!
//! Handles each call with the caller's directory and environment. Between calls it keeps no results, only the stores that the last search
//! opened. Does not know sockets, locks or watchers.

use crate::daemon_client::daemon_status_source;
use crate::environment::current_exe;
use api::{Code, Error};
use daemon::lifecycle::WakeHandle;
use daemon::{BackgroundJobs, Call, CallHandler, CallOutcome, Dispatcher};
use record::{Clock, Stamp};
use serde_json::{Map, Value, json};
use service::{Deliveries, Environment, Service, SnapshotCache};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Handles each call with the working directory and the variables of its caller.
pub(super) struct ServiceHandler {
    pub(super) places: Environment,
    pub(super) wake: WakeHandle,
    /// Directories from which code operations were called: a new one may belong to a tree that is not watched yet.
    pub(super) code_dirs: Mutex<BTreeSet<PathBuf>>,
    pub(super) runs: Deliveries,
    pub(super) snapshots: Arc<SnapshotCache>,
}

impl ServiceHandler {
    fn is_new_code_dir(&self, cwd: &Path) -> bool {
        self.code_dirs.lock().unwrap_or_else(PoisonError::into_inner).insert(cwd.to_path_buf())
    }

    fn service_for(&self, call: &Call<'_>) -> Service {
        let mut places = match &call.meta.vars {
            Some(vars) => service::env::places_of_client(vars),
            None => self.places.clone(),
        };
        if let Some(session) = &call.meta.session {
            places.vars.insert("CLAUDE_CODE_SESSION_ID", session.into());
        }
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = call.meta.threads.unwrap_or_else(cores).clamp(1, 64);
        let cwd =
            call.meta.cwd.clone().filter(|cwd| cwd.is_absolute()).unwrap_or_else(|| places.home.clone());
        let is_watched = service::env::have_same_places(&places, &self.places);
        let mut service = Service::new(places, Clock::System, cwd, current_exe(), threads);
        service.snapshots = is_watched.then(|| Arc::clone(&self.snapshots));
        service.progress = Arc::clone(&call.progress);
        service.daemon = Some(daemon_status_source(&self.places));
        let poke = self.wake.clone();
        service.wake_delivery = Some(Arc::new(move || poke.wake_dispatcher()));
        service.is_long_running = true;
        service
    }
}

impl CallHandler for ServiceHandler {
    fn handle_call(&self, mut call: Call<'_>) -> Result<CallOutcome, Error> {
        // jq filters and supervisors re-execute this binary. If its file is gone, neither can run, and the daemon is about to
        // exit for its replacement.
        if !current_exe().exists() {
            return Err(shutting_down_error());
        }
        let service = self.service_for(&call);
        let params = std::mem::take(&mut call.params);
        let tool = api::tool_named(call.method);
        let response = match (tool, api::operation_named(call.method)) {
            (Some(tool), _) if call.meta.envelope => {
                serde_json::to_value(service.call_tool(tool, params)?).unwrap_or_default()
            }
            (_, Some(operation)) if !call.meta.envelope => {
                run_operation(&service, operation, params, &mut call)?
            }
            _ => match find_view(call.method) {
                Some(view) => run_view(&service, view, &params, &mut call)?,
                None => return Ok(CallOutcome::UnknownMethod),
            },
        };
        // A read-only operation cancelled midway may be incomplete; the client then runs it itself.
        if service.progress.is_cancelled()
            && api::operation_named(call.method).is_none_or(|operation| operation.read_only)
        {
            return Err(shutting_down_error());
        }
        let code = |operation: &api::Operation| operation.command.starts_with("code ");
        if api::operation_named(call.method).is_some_and(code) && self.is_new_code_dir(&service.cwd) {
            self.wake.request_folder_scan();
        }
        Ok(CallOutcome::Response(response))
    }

    fn process_figures(&self) -> Value {
        json!({"rss_bytes": resident_bytes(), "threads": count_dir_entries("/proc/self/task"), "open_files": count_dir_entries("/proc/self/fd"), "snapshots_reused": self.snapshots.reused()})
    }

    fn is_busy(&self) -> bool {
        self.runs.are_any()
    }
}

fn shutting_down_error() -> Error {
    Error::new(Code::ShuttingDown, "the daemon is shutting down")
}

fn run_operation(
    service: &Service,
    operation: &'static api::Operation,
    mut params: Map<String, Value>,
    call: &mut Call<'_>,
) -> Result<Value, Error> {
    let control = service.take_controls(operation, &mut params)?;
    let response = api::call(service, operation, params)?;
    if control.alters_records() {
        service.print_shaped(operation, &response, &control, call.on_record)?;
        return Ok(json!({}));
    }
    Ok(serde_json::to_value(&response).unwrap_or_default())
}

/// Finds a view by its title, or by the name of its tool.
fn find_view(name: &str) -> Option<&'static api::View> {
    let titled = api::VIEWS.iter().find(|view| view.title() == name);
    titled.or_else(|| api::tool_named(name)?.view())
}

fn run_view(
    service: &Service,
    view: &'static api::View,
    params: &Map<String, Value>,
    call: &mut Call<'_>,
) -> Result<Value, Error> {
    let request = api::ViewRequest::new(view, params)?;
    if call.meta.envelope {
        let (envelope, outcome) = service.run_view_enveloped(view, request, &view.file_stem())?;
        return Ok(json!({"envelope": envelope, "ending": outcome.summarize()}));
    }
    let format = if call.meta.tsv { service::Format::Tsv } else { service::Format::Jsonl };
    let outcome = service.run_view(view, &request, format, call.on_record)?;
    Ok(serde_json::to_value(outcome.summarize()).unwrap_or_default())
}

/// Resident memory of this process in bytes; 0 on systems without `/proc`.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
}

fn count_dir_entries(folder: &str) -> usize {
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}

/// Background jobs, with the paths and variables of the daemon itself.
pub(super) struct ServiceJobs {
    pub(super) places: Environment,
    pub(super) snapshots: Arc<SnapshotCache>,
}

impl ServiceJobs {
    fn build_service(&self) -> Service {
        Service::new(self.places.clone(), Clock::System, self.places.home.clone(), current_exe(), 1)
    }
}

impl BackgroundJobs for ServiceJobs {
    fn watched_folders(&mut self) -> Vec<(PathBuf, daemon::FolderKind)> {
        let service = self.build_service();
        let history = service.history_folders().into_iter().map(|path| (path, daemon::FolderKind::History));
        let code = service.code_folders().into_iter().flat_map(|(root, folders)| {
            folders.into_iter().map(move |path| (path, daemon::FolderKind::Code(root.clone())))
        });
        code.chain(history).collect()
    }

    fn on_history_changed(&mut self) -> Result<Value, Error> {
        self.build_service().update_history()
    }

    fn is_code_being_edited(&mut self, root: &Path) -> bool {
        self.build_service().is_code_being_edited(root)
    }

    fn on_code_changed(&mut self, root: &Path) -> Result<Value, Error> {
        self.build_service().update_code(root)
    }

    fn on_idle(&mut self, quiet: Duration) -> Result<Option<Value>, Error> {
        self.snapshots.close_expired();
        let service = self.build_service();
        let quiet = i64::try_from(quiet.as_millis()).unwrap_or(i64::MAX);
        let done = service.consolidate_if_due(Stamp(service.clock.now().0.saturating_sub(quiet)))?;
        let Some(done) = done else { return Ok(None) };
        let mut summary = json!({"named": done.named, "changed": done.changed, "facts": done.facts});
        match service.write_idle_notes(&done) {
            Ok(notes) => summary["notes"] = json!(notes),
            // Consolidation itself succeeded. Log only the error code: the message may contain a project name.
            Err(error) => summary["notes_failed"] = json!(error.code.word()),
        }
        Ok(Some(summary))
    }
}

/// Delivers messages between agents, on its own thread so that no background job delays them.
pub(super) struct MessageDispatcher {
    pub(super) places: Environment,
    pub(super) wake: WakeHandle,
    pub(super) runs: Deliveries,
}

impl Dispatcher for MessageDispatcher {
    fn dispatch_pending(&mut self) -> Result<Option<Value>, Error> {
        let poke = self.wake.clone();
        let done: Arc<dyn Fn() + Send + Sync> = Arc::new(move || poke.wake_dispatcher());
        let service =
            Service::new(self.places.clone(), Clock::System, self.places.home.clone(), current_exe(), 1);
        service.deliver_pending(&self.runs, &done)
    }
}
