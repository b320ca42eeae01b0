//! Answers a question about the code in natural language. Progress is stored in `.loci/ops`, so that other processes can
//! follow it and the question is not sent twice while the structure of the code in scope is unchanged.
//!
//! Does not know how evidence is found or how a model is called.

mod evidence;
mod model;

use super::code_query::{CodeQuery, folder_error, resolve_root, with_root};
use super::tree::tree_name;
use crate::Service;
use api::code::{Conclusion, Investigate, Investigation, Step, StreamOp};
use api::{Code, Error, Handle, Request};
use code::Digest;
use folder::access::LONG_LOCK_TIMEOUT;
use folder::{LociFolder, OPS, investigation_path};
use history::error::no_home;
use history::home::{self, Lock};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long the first call waits before it returns a running operation. Without a model it is finished by then.
const FIRST_WAIT: Duration = Duration::from_secs(2);
/// How long to wait for another process that took the lock to write its first file: normally milliseconds, more on a busy
/// machine.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// Polling interval.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Stored investigations per tree; the oldest are deleted.
const MAX_STORED: usize = 200;

impl Handle<Investigate> for Service {
    fn handle(&self, request: &Investigate) -> Result<Investigation, Error> {
        request.check_params()?;
        let root = resolve_root(self, request.root.as_ref())?;
        let case = with_root(self, &root, |query| Inquiry::new(query, request))?;
        let folder = match LociFolder::open_or_create(&storage_root(self, &root)) {
            Ok(folder) => folder,
            // A read-only tree is investigated without storing the result.
            Err(error) => return InvestigationRun::begin(self, case, None)?.run(None, &error.to_string()),
        };
        let lock = match lock_or_existing(self, &case, &folder)? {
            Ok(lock) => lock,
            Err(investigation) => return Ok(*investigation),
        };
        // Written before its ID is returned.
        let course = match InvestigationRun::begin(self, case.clone(), Some(&folder)) {
            Ok(course) => course,
            // The same applies if the folder exists but cannot be written.
            Err(error) => {
                return InvestigationRun::begin(self, case, None)?.run(Some(lock), &error.to_string());
            }
        };
        if !self.is_long_running {
            return course.run(Some(lock), "");
        }
        let op = case.id.clone();
        spawn_investigation(self, case, lock)?;
        let poll = StreamOp { op, wait: FIRST_WAIT.as_secs(), ..StreamOp::default() };
        poll_until(self, &root, &poll, |now| now.state != RUNNING)
    }
}

/// Takes the lock for a case, or returns the investigation of the process that holds or held it.
fn lock_or_existing(
    service: &Service,
    case: &Inquiry,
    folder: &LociFolder,
) -> Result<Result<Lock, Box<Investigation>>, Error> {
    let until = Instant::now() + START_TIMEOUT;
    loop {
        if let Some(kept) = case.stored_answer(service, folder) {
            return Ok(Err(Box::new(kept)));
        }
        if let Some(lock) = case.try_lock(service)? {
            let Some(kept) = case.stored_answer(service, folder) else { return Ok(Ok(lock)) };
            case.release_lock(service, lock);
            return Ok(Err(Box::new(kept)));
        }
        // The process that just took the lock may not have written its file yet.
        let is_begun =
            load_stored(service, &case.root, &case.id).is_ok_and(|investigation| investigation.is_some());
        if is_begun || Instant::now() >= until {
            return read_investigation(service, &case.root, &case.id)
                .map(|investigation| Err(Box::new(investigation)));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Runs the investigation in its own thread, independent of the request.
fn spawn_investigation(service: &Service, case: Inquiry, lock: Lock) -> Result<(), Error> {
    let (places, exe) = (service.places.clone(), service.exe.clone());
    let own = Service::new(places, service.clock, service.cwd.clone(), exe, service.threads);
    let folder = LociFolder::open_or_create(&storage_root(service, &case.root))
        .map_err(|error| folder_error(&error))?;
    let work = move || {
        if let Ok(course) = InvestigationRun::begin(&own, case, Some(&folder)) {
            let _ = course.run(Some(lock), "");
        }
    };
    std::thread::Builder::new()
        .name("investigation".to_string())
        .spawn(work)
        .map(|_| ())
        .map_err(history::error::read_error)
}

impl Handle<StreamOp> for Service {
    fn handle(&self, request: &StreamOp) -> Result<Investigation, Error> {
        request.check_params()?;
        let root = resolve_root(self, request.root.as_ref())?;
        let op = resolve_prefix(&storage_root(self, &root), &request.op)?;
        let poll = StreamOp { op, ..request.clone() };
        let mut investigation =
            poll_until(self, &root, &poll, |now| now.state != RUNNING || now.next > poll.from)?;
        investigation.events.retain(|step| step.n >= poll.from);
        Ok(investigation)
    }
}

/// Polls until `enough` holds, the timeout expires or the request is cancelled.
fn poll_until(
    service: &Service,
    root: &Path,
    request: &StreamOp,
    enough: impl Fn(&Investigation) -> bool,
) -> Result<Investigation, Error> {
    let until = Instant::now() + Duration::from_secs(request.wait);
    loop {
        let now = read_investigation(service, root, &request.op)?;
        if enough(&now) || Instant::now() >= until || service.progress.is_cancelled() {
            return Ok(now);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Where the investigations of a tree are stored: in its `.loci` folder, or in the cache if it has none. A question creates no
/// files in a tree.
fn storage_root(service: &Service, root: &Path) -> PathBuf {
    let has_folder = !matches!(LociFolder::open(root), Ok(None));
    let Some(home) = service.home().filter(|_| !has_folder) else { return root.to_path_buf() };
    let folder = home.code().join(format!("{}-investigations", tree_name(root)));
    // If it cannot be created, opening it fails, and the answer is not stored.
    let _ = home::create_private_dir(&folder);
    folder
}

const RUNNING: &str = "running";
const DONE: &str = "done";

/// Resolves an ID prefix to exactly one investigation.
fn resolve_prefix(root: &Path, start: &str) -> Result<String, Error> {
    let folder = LociFolder::open(root).map_err(|error| folder_error(&error))?;
    let files = folder
        .map_or(Ok(Vec::new()), |folder| folder.list_files(OPS))
        .map_err(|error| folder_error(&error))?;
    let ids: Vec<&str> = files.iter().filter_map(|name| name.strip_suffix(".json")).collect();
    let fit: Vec<&&str> = ids.iter().filter(|id| id.starts_with(start.trim())).collect();
    match fit[..] {
        [one] => Ok((*one).to_string()),
        [] => Err(Error::new(
            Code::NotFound,
            format!("no investigation in this tree has an ID that starts with `{start}`"),
        )
        .hint("start one with `loci code investigate`")),
        _ => Err(Error::new(Code::AmbiguousId, format!("investigation prefix `{start}` is ambiguous"))
            .hint(format!("one of: {}", fit.iter().take(9).map(|id| **id).collect::<Vec<_>>().join(", ")))),
    }
}

/// Reads a stored investigation. One whose lock is free is not running, even if its file says so.
fn read_investigation(service: &Service, root: &Path, id: &str) -> Result<Investigation, Error> {
    let mut investigation = load_stored(service, root, id)?.ok_or_else(|| {
        Error::new(Code::NotFound, format!("investigation `{id}` no longer exists"))
            .hint("start it again with `loci code investigate`")
    })?;
    if investigation.state == RUNNING {
        let held = service.home().is_some_and(|home| Lock::is_held(&home.op_lock(&lock_name(root, id))));
        investigation.hint =
            Some(format!("still running; `loci code op {id} --wait 30` waits for the result"));
        if !held {
            // It may have finished since the file was read.
            investigation =
                load_stored(service, root, id)?.filter(|now| now.state != RUNNING).unwrap_or(Investigation {
                    state: "interrupted".to_string(),
                    hint: Some(
                        "the process running it exited; start it again with `loci code investigate`"
                            .to_string(),
                    ),
                    ..investigation
                });
        }
    }
    Ok(investigation)
}

/// Returns `None` also for a file not written on this machine: a tree may come from anywhere, and a forged file would pass as
/// a model's answer.
fn load_stored(service: &Service, root: &Path, id: &str) -> Result<Option<Investigation>, Error> {
    let root = storage_root(service, root);
    let Some(folder) = LociFolder::open(&root).map_err(|error| folder_error(&error))? else {
        return Ok(None);
    };
    let bytes = folder.read(&investigation_path(id)).map_err(|error| folder_error(&error))?;
    let read = |bytes: Vec<u8>| {
        serde_json::from_slice::<StoredInvestigation>(&bytes).map_err(|error| {
            Error::new(Code::ReadError, format!("`.loci/{}` is damaged: {error}", investigation_path(id)))
                .hint("delete it and run the investigation again")
        })
    };
    let kept = bytes.map(read).transpose()?;
    let Some(key) = service.home().and_then(|home| home::own_key(&home)) else { return Ok(None) };
    Ok(kept
        .filter(|kept| kept.investigation.op == id && kept.seal == compute_seal(&key, &kept.investigation))
        .map(|kept| kept.investigation))
}

/// An investigation as stored in the tree.
#[derive(Serialize, Deserialize)]
struct StoredInvestigation {
    #[serde(default)]
    seal: String,
    #[serde(flatten)]
    investigation: Investigation,
}

/// A keyed digest that only a process with this home's key can compute.
fn compute_seal(key: &[u8; 32], investigation: &Investigation) -> String {
    let investigation = serde_json::to_vec(investigation).unwrap_or_default();
    format!("{:016x}", Digest::of_bytes(&[&key[..], &investigation, &key[..]].concat()).0)
}

/// Includes the root: two checkouts may have investigations with the same ID.
fn lock_name(root: &Path, id: &str) -> String {
    format!("{}-{id}", tree_name(root))
}

/// The question and its scope.
#[derive(Clone)]
struct Inquiry {
    root: PathBuf,
    /// Hash of the question, the scope and the structure of all types in scope.
    id: String,
    question: String,
    scope: Vec<String>,
    /// Full IDs of the types in scope; `None`: all types.
    within: Option<Vec<String>>,
}

impl Inquiry {
    fn new(query: &CodeQuery<'_>, request: &Investigate) -> Result<Inquiry, Error> {
        let question = request.question.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut scope: Vec<String> = request.scope.iter().map(|path| path.trim().to_string()).collect();
        scope.sort();
        scope.dedup();
        let within = (!scope.is_empty()).then(|| evidence::resolve_scope(query, &scope)).transpose()?;
        let basis = evidence::structure_digest(query, within.as_deref());
        let basis = format!("{}\n{}\n{}", question, scope.join("\n"), basis.0);
        Ok(Inquiry {
            root: query.root().to_path_buf(),
            id: format!("O_{}", Digest::of_bytes(basis.as_bytes())),
            question: query.mask_text(question),
            scope: scope.iter().map(|path| query.mask_text(path)).collect(),
            within,
        })
    }

    /// The stored answer of a model. Evidence alone costs nothing and is gathered again.
    fn stored_answer(&self, service: &Service, folder: &LociFolder) -> Option<Investigation> {
        if !folder.path(&investigation_path(&self.id)).exists() {
            return None;
        }
        let investigation = read_investigation(service, &self.root, &self.id)
            .ok()
            .filter(|investigation| investigation.state == DONE);
        let by_model = |investigation: &Investigation| {
            investigation.answer.as_ref().is_some_and(|found| found.by == model::BY_MODEL)
        };
        investigation.filter(by_model).map(|investigation| Investigation { kept: true, ..investigation })
    }

    /// Takes the lock; `None` if another process holds it.
    fn try_lock(&self, service: &Service) -> Result<Option<Lock>, Error> {
        let home = service.home().ok_or_else(no_home)?;
        let ops = home.ops();
        home::create_private_dir(&ops).map_err(|error| home::unwritable(&ops, &error))?;
        Lock::try_acquire_at(&home, &home.op_lock(&lock_name(&self.root, &self.id)))
    }

    /// Removes the lock file while the lock is still held: afterwards another process may own it.
    fn release_lock(&self, service: &Service, lock: Lock) {
        if let Some(home) = service.home() {
            let _ = std::fs::remove_file(home.op_lock(&lock_name(&self.root, &self.id)));
        }
        drop(lock);
    }
}

/// A running investigation.
struct InvestigationRun<'a> {
    service: &'a Service,
    /// Where progress is stored, if the tree is writable.
    folder: Option<&'a LociFolder>,
    case: Inquiry,
    investigation: Investigation,
}

impl<'a> InvestigationRun<'a> {
    fn begin(
        service: &'a Service,
        case: Inquiry,
        folder: Option<&'a LociFolder>,
    ) -> Result<InvestigationRun<'a>, Error> {
        let investigation = Investigation {
            op: case.id.clone(),
            state: RUNNING.to_string(),
            question: case.question.clone(),
            scope: case.scope.clone(),
            ..Investigation::default()
        };
        let course = InvestigationRun { service, folder, case, investigation };
        course.store_progress()?;
        Ok(course)
    }

    /// Runs to the end and holds the lock until then. If nothing can be stored, the hint gives the reason.
    fn run(mut self, lock: Option<Lock>, unkept: &str) -> Result<Investigation, Error> {
        let outcome = self.find_answer();
        let failed = outcome.as_ref().err().cloned();
        match outcome {
            Ok(found) => self.store_answer(&found)?,
            Err(error) => {
                self.investigation.state = "failed".to_string();
                self.investigation.error = Some(error.to_string());
                self.store_progress()?;
            }
        }
        if let Some(lock) = lock {
            self.case.release_lock(self.service, lock);
        }
        self.prune_stored();
        self.investigation.hint = (!unkept.is_empty()).then(|| format!("the result is not stored: {unkept}"));
        failed.map_or(Ok(self.investigation), Err)
    }

    fn find_answer(&mut self) -> Result<Conclusion, Error> {
        let (service, root) = (self.service, self.case.root.clone());
        let (question, within) = (self.case.question.clone(), self.case.within.clone());
        let found = with_root(service, &root, |query| {
            Ok(evidence::gather_evidence(query, &question, within.as_deref()))
        })?;
        let names: Vec<&str> = found.exhibits.iter().map(|it| it.symbol.path.as_str()).collect();
        let fit = if names.is_empty() { "none".to_string() } else { names.join(", ") };
        self.record_step(format!("types searched: {}; matching the question: {fit}", found.looked_at))?;
        model::answer_question(self, found)
    }

    fn store_answer(&mut self, found: &Conclusion) -> Result<(), Error> {
        self.investigation.state = DONE.to_string();
        self.investigation.answer = Some(found.clone());
        self.store_progress()
    }

    fn record_step(&mut self, text: String) -> Result<(), Error> {
        self.investigation.heard += usize::from(self.service.progress.report_step(&text));
        let at = self.service.clock.now().0;
        self.investigation.events.push(Step { n: self.investigation.next, at, text });
        self.investigation.next += 1;
        self.store_progress()
    }

    fn store_progress(&self) -> Result<(), Error> {
        let Some(folder) = self.folder else { return Ok(()) };
        let key = home::mask_key(self.service.home().as_ref());
        let kept = StoredInvestigation {
            seal: compute_seal(&key, &self.investigation),
            investigation: self.investigation.clone(),
        };
        let mut bytes = serde_json::to_vec_pretty(&kept).unwrap_or_default();
        bytes.push(b'\n');
        let pen = folder.lock_for_writing(LONG_LOCK_TIMEOUT).map_err(|error| folder_error(&error))?;
        pen.write(&investigation_path(&self.case.id), &bytes)
            .map(|_| ())
            .map_err(|error| folder_error(&error))
    }

    /// Deletes the oldest stored investigations.
    fn prune_stored(&self) {
        let Some(folder) = self.folder else { return };
        let mut files = folder.list_files(OPS).unwrap_or_default();
        files.retain(|name| name.strip_suffix(".json").is_some());
        let since =
            |name: &String| std::fs::metadata(folder.path(OPS).join(name)).and_then(|it| it.modified()).ok();
        let mut dated: Vec<_> = files.iter().map(|name| (since(name), name)).collect();
        dated.sort();
        let Ok(pen) = folder.lock_for_writing(LONG_LOCK_TIMEOUT) else { return };
        for (_, name) in dated.iter().take(files.len().saturating_sub(MAX_STORED)) {
            let _ = pen.remove(&format!("{OPS}/{name}"));
        }
    }
}
