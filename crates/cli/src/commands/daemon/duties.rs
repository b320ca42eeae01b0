//! What the daemon answers with, as seen from where it is asked, and what it does between questions.
//!
//! Keeps nothing from one call to the next, and does not know sockets, locks or watchers.

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

/// Answers each call on its own, as seen from where it is asked.
pub(super) struct Counter {
    pub(super) places: Places,
    pub(super) poke: Poke,
    /// Directories in which the code was asked about: a tree of another one may have to be watched.
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
        // Filters and guards are this program again: without its file it can run none, and is about to make room.
        if !exe().exists() {
            return Err(leaving());
        }
        let service = self.service(&call);
        let params = std::mem::take(&mut call.params);
        let tool = api::tool_named(call.method);
        let told = match (tool, api::operation_named(call.method)) {
            (Some(tool), _) if call.meta.envelope => {
                serde_json::to_value(service.tool(tool, params)?).unwrap_or_default()
            }
            (_, Some(operation)) if !call.meta.envelope => answered(&service, operation, params, &mut call)?,
            _ => match view(call.method) {
                Some(view) => asked(&service, view, params, &mut call)?,
                None => return Ok(Told::Unknown),
            },
        };
        // Called off in the middle, what only looks may have left something out; whoever asked can look for itself.
        if service.progress.stopped() && api::operation_named(call.method).is_none_or(|asked| asked.read_only)
        {
            return Err(leaving());
        }
        let code = |operation: &api::Operation| operation.command.starts_with("code ");
        if api::operation_named(call.method).is_some_and(code) && self.is_new(&service.cwd) {
            self.poke.rearranged();
        }
        Ok(Told::Answer(told))
    }

    fn figures(&self) -> Value {
        json!({"rss_bytes": rss(), "threads": entries("/proc/self/task"), "open_files": entries("/proc/self/fd")})
    }

    fn is_busy(&self) -> bool {
        self.runs.are_any()
    }
}

fn leaving() -> Error {
    Error::new(Code::ShuttingDown, "the daemon is about to end")
}

fn answered(
    service: &Service,
    operation: &'static api::Operation,
    mut params: Map<String, Value>,
    call: &mut Call<'_>,
) -> Result<Value, Error> {
    let control = service.control(operation, &mut params)?;
    let answer = api::call(service, operation, params)?;
    if control.alters() {
        service.shaped(operation, &answer, &control, call.lines)?;
        return Ok(json!({}));
    }
    Ok(serde_json::to_value(&answer).unwrap_or_default())
}

/// A view by its title, or by the tool that asks it.
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
    let ask = api::ViewRequest::new(view, params)?;
    if call.meta.envelope {
        let (envelope, outcome) = service.view(view, ask, &view.named())?;
        return Ok(json!({"envelope": envelope, "ending": outcome.ending()}));
    }
    let format = if call.meta.tsv { service::Format::Tsv } else { service::Format::Jsonl };
    let outcome = service.answer(view, &ask, format, call.lines)?;
    Ok(serde_json::to_value(outcome.ending()).unwrap_or_default())
}

/// What this process holds in memory, in bytes; nothing where the system does not tell.
fn rss() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
}

fn entries(folder: &str) -> usize {
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}

/// What is done between questions, with the places that the daemon was started with.
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
        let mut told = json!({"named": done.named, "changed": done.changed, "facts": done.facts});
        match service.idle_notes(&done) {
            Ok(notes) => told["notes"] = json!(notes),
            // What was consolidated is so all the same. Its message may name a project, which no log should.
            Err(error) => told["notes_failed"] = json!(error.code.word()),
        }
        Ok(Some(told))
    }
}

/// Messages that are handed out: nothing else keeps them waiting.
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
