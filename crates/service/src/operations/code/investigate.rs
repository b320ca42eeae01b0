//! Answers a question about the code in natural language. Progress is stored in `.loci/ops`, so that other processes can
//! follow it and the question is not sent twice while the structure of the code in scope is unchanged.
//!
//! Does not know how evidence is found or how a model is called.

mod evidence;
mod model;

use super::access::PATIENTLY;
use super::code_query::{CodeQuery, at_root, folder_error, root_of};
use super::tree::name_of;
use crate::Service;
use api::code::{Found, Investigate, Investigation, Step, StreamOp};
use api::{Code, Error, Handle, Request};
use code::Digest;
use code::folder::{Folder, OPS, op_of};
use history::error::homeless;
use history::home::{self, Lock};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long the first call waits before it returns a running operation. Without a model it is finished by then.
const AT_ONCE: Duration = Duration::from_secs(2);
/// How long to wait for another process that took the lock to write its first file: normally milliseconds, more on a busy
/// machine.
const BEGINNING: Duration = Duration::from_secs(10);
/// Polling interval.
const LOOK: Duration = Duration::from_millis(50);
/// Stored investigations per tree; the oldest are deleted.
const MOST: usize = 200;

impl Handle<Investigate> for Service {
    fn handle(&self, request: &Investigate) -> Result<Investigation, Error> {
        investigate(self, request)
    }
}

fn investigate(service: &Service, request: &Investigate) -> Result<Investigation, Error> {
    request.check()?;
    let root = root_of(service, request.root.as_ref())?;
    let case = at_root(service, &root, |query| Case::new(query, request))?;
    let folder = match Folder::make(&root) {
        Ok(folder) => folder,
        // A read-only tree is investigated without storing the result.
        Err(error) => return Course::begin(service, case, None)?.run(None, &error.to_string()),
    };
    let lock = match seized(service, &case, &folder)? {
        Ok(lock) => lock,
        Err(investigation) => return Ok(*investigation),
    };
    // Written before its ID is returned.
    let course = match Course::begin(service, case.clone(), Some(&folder)) {
        Ok(course) => course,
        // The same applies if the folder exists but cannot be written.
        Err(error) => return Course::begin(service, case, None)?.run(Some(lock), &error.to_string()),
    };
    if !service.lasts {
        return course.run(Some(lock), "");
    }
    let op = case.id.clone();
    begin_apart(service, case, lock)?;
    let poll = StreamOp { op, wait: AT_ONCE.as_secs(), ..StreamOp::default() };
    followed(service, &root, &poll, |now| now.state != RUNNING)
}

/// Takes the lock for a case, or returns the investigation of the process that holds or held it.
fn seized(
    service: &Service,
    case: &Case,
    folder: &Folder,
) -> Result<Result<Lock, Box<Investigation>>, Error> {
    let until = Instant::now() + BEGINNING;
    loop {
        if let Some(kept) = case.kept(service, folder) {
            return Ok(Err(Box::new(kept)));
        }
        if let Some(lock) = case.seize(service)? {
            let Some(kept) = case.kept(service, folder) else { return Ok(Ok(lock)) };
            case.release(service, lock);
            return Ok(Err(Box::new(kept)));
        }
        // The process that just took the lock may not have written its file yet.
        let is_begun = kept(service, &case.root, &case.id).is_ok_and(|investigation| investigation.is_some());
        if is_begun || Instant::now() >= until {
            return read(service, &case.root, &case.id).map(|investigation| Err(Box::new(investigation)));
        }
        std::thread::sleep(LOOK);
    }
}

/// Runs the investigation in its own thread, independent of the request.
fn begin_apart(service: &Service, case: Case, lock: Lock) -> Result<(), Error> {
    let (places, exe) = (service.places.clone(), service.exe.clone());
    let own = Service::new(places, service.clock, service.cwd.clone(), exe, service.threads);
    let folder = Folder::make(&case.root).map_err(|error| folder_error(&error))?;
    let work = move || {
        if let Ok(course) = Course::begin(&own, case, Some(&folder)) {
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
        stream_op(self, request)
    }
}

fn stream_op(service: &Service, request: &StreamOp) -> Result<Investigation, Error> {
    request.check()?;
    let root = root_of(service, request.root.as_ref())?;
    let op = named(&root, &request.op)?;
    let poll = StreamOp { op, ..request.clone() };
    let mut investigation =
        followed(service, &root, &poll, |now| now.state != RUNNING || now.next > poll.from)?;
    investigation.events.retain(|step| step.n >= poll.from);
    Ok(investigation)
}

/// Polls until `enough` holds, the timeout expires or the request is cancelled.
fn followed(
    service: &Service,
    root: &Path,
    request: &StreamOp,
    enough: impl Fn(&Investigation) -> bool,
) -> Result<Investigation, Error> {
    let until = Instant::now() + Duration::from_secs(request.wait);
    loop {
        let now = read(service, root, &request.op)?;
        if enough(&now) || Instant::now() >= until || service.progress.stopped() {
            return Ok(now);
        }
        std::thread::sleep(LOOK);
    }
}

const RUNNING: &str = "running";
const DONE: &str = "done";

/// Resolves an ID prefix to exactly one investigation.
fn named(root: &Path, start: &str) -> Result<String, Error> {
    let folder = Folder::at(root).map_err(|error| folder_error(&error))?;
    let files =
        folder.map_or(Ok(Vec::new()), |folder| folder.list(OPS)).map_err(|error| folder_error(&error))?;
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
fn read(service: &Service, root: &Path, id: &str) -> Result<Investigation, Error> {
    let mut investigation = kept(service, root, id)?.ok_or_else(|| {
        Error::new(Code::NotFound, format!("investigation `{id}` no longer exists"))
            .hint("start it again with `loci code investigate`")
    })?;
    if investigation.state == RUNNING {
        let held = service.home().is_some_and(|home| Lock::is_held(&home.op_lock(&lock_name(root, id))));
        investigation.hint = Some(format!("`loci code op {id} --wait 30` has the rest"));
        if !held {
            // It may have finished since the file was read.
            investigation =
                kept(service, root, id)?.filter(|now| now.state != RUNNING).unwrap_or(Investigation {
                    state: "interrupted".to_string(),
                    hint: Some("whoever looked into it was ended; ask again to begin anew".to_string()),
                    ..investigation
                });
        }
    }
    Ok(investigation)
}

/// Returns `None` also for a file not written on this machine: a tree may come from anywhere, and a forged file would pass as
/// a model's answer.
fn kept(service: &Service, root: &Path, id: &str) -> Result<Option<Investigation>, Error> {
    let Some(folder) = Folder::at(root).map_err(|error| folder_error(&error))? else { return Ok(None) };
    let bytes = folder.read(&op_of(id)).map_err(|error| folder_error(&error))?;
    let read = |bytes: Vec<u8>| {
        serde_json::from_slice::<Kept>(&bytes).map_err(|error| {
            Error::new(Code::ReadError, format!("`.loci/{}` is damaged: {error}", op_of(id)))
                .hint("delete it and run the investigation again")
        })
    };
    let kept = bytes.map(read).transpose()?;
    let Some(key) = service.home().and_then(|home| home::own_key(&home)) else { return Ok(None) };
    Ok(kept
        .filter(|kept| kept.investigation.op == id && kept.seal == seal(&key, &kept.investigation))
        .map(|kept| kept.investigation))
}

/// An investigation as stored in the tree.
#[derive(Serialize, Deserialize)]
struct Kept {
    #[serde(default)]
    seal: String,
    #[serde(flatten)]
    investigation: Investigation,
}

/// A keyed digest that only a process with this home's key can compute.
fn seal(key: &[u8; 32], investigation: &Investigation) -> String {
    let investigation = serde_json::to_vec(investigation).unwrap_or_default();
    format!("{:016x}", Digest::of(&[&key[..], &investigation, &key[..]].concat()).0)
}

/// Includes the root: two checkouts may have investigations with the same ID.
fn lock_name(root: &Path, id: &str) -> String {
    format!("{}-{id}", name_of(root))
}

/// The question and its scope.
#[derive(Clone)]
struct Case {
    root: PathBuf,
    /// Hash of the question, the scope and the structure of all types in scope.
    id: String,
    question: String,
    scope: Vec<String>,
    /// Full IDs of the types in scope; `None`: all types.
    within: Option<Vec<String>>,
}

impl Case {
    fn new(query: &CodeQuery<'_>, request: &Investigate) -> Result<Case, Error> {
        let question = request.question.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut scope: Vec<String> = request.scope.iter().map(|path| path.trim().to_string()).collect();
        scope.sort();
        scope.dedup();
        let within = (!scope.is_empty()).then(|| evidence::scoped(query, &scope)).transpose()?;
        let basis = evidence::basis(query, within.as_deref());
        let basis = format!("{}\n{}\n{}", question, scope.join("\n"), basis.0);
        Ok(Case {
            root: query.root().to_path_buf(),
            id: format!("O_{}", Digest::of(basis.as_bytes())),
            question: query.veiled(question),
            scope: scope.iter().map(|path| query.veiled(path)).collect(),
            within,
        })
    }

    /// The stored answer of a model. Evidence alone costs nothing and is gathered again.
    fn kept(&self, service: &Service, folder: &Folder) -> Option<Investigation> {
        if !folder.path(&op_of(&self.id)).exists() {
            return None;
        }
        let investigation =
            read(service, &self.root, &self.id).ok().filter(|investigation| investigation.state == DONE);
        let by_model = |investigation: &Investigation| {
            investigation.answer.as_ref().is_some_and(|found| found.by == model::BY)
        };
        investigation.filter(by_model).map(|investigation| Investigation { kept: true, ..investigation })
    }

    /// Takes the lock; `None` if another process holds it.
    fn seize(&self, service: &Service) -> Result<Option<Lock>, Error> {
        let home = service.home().ok_or_else(homeless)?;
        let ops = home.ops();
        home::make(&ops).map_err(|error| home::unwritable(&ops, &error))?;
        Lock::seize_at(&home, &home.op_lock(&lock_name(&self.root, &self.id)))
    }

    /// Removes the lock file while the lock is still held: afterwards another process may own it.
    fn release(&self, service: &Service, lock: Lock) {
        if let Some(home) = service.home() {
            let _ = std::fs::remove_file(home.op_lock(&lock_name(&self.root, &self.id)));
        }
        drop(lock);
    }
}

/// A running investigation.
struct Course<'a> {
    service: &'a Service,
    /// Where progress is stored, if the tree is writable.
    folder: Option<&'a Folder>,
    case: Case,
    investigation: Investigation,
}

impl<'a> Course<'a> {
    fn begin(service: &'a Service, case: Case, folder: Option<&'a Folder>) -> Result<Course<'a>, Error> {
        let investigation = Investigation {
            op: case.id.clone(),
            state: RUNNING.to_string(),
            question: case.question.clone(),
            scope: case.scope.clone(),
            ..Investigation::default()
        };
        let course = Course { service, folder, case, investigation };
        course.keep()?;
        Ok(course)
    }

    /// Runs to the end and holds the lock until then. If nothing can be stored, the hint gives the reason.
    fn run(mut self, lock: Option<Lock>, unkept: &str) -> Result<Investigation, Error> {
        let outcome = self.find();
        let failed = outcome.as_ref().err().cloned();
        match outcome {
            Ok(found) => self.done(&found)?,
            Err(error) => {
                self.investigation.state = "failed".to_string();
                self.investigation.error = Some(error.to_string());
                self.keep()?;
            }
        }
        if let Some(lock) = lock {
            self.case.release(self.service, lock);
        }
        self.clear();
        self.investigation.hint = (!unkept.is_empty()).then(|| format!("nothing of it is kept: {unkept}"));
        failed.map_or(Ok(self.investigation), Err)
    }

    fn find(&mut self) -> Result<Found, Error> {
        let (service, root) = (self.service, self.case.root.clone());
        let (question, within) = (self.case.question.clone(), self.case.within.clone());
        let found =
            at_root(service, &root, |query| Ok(evidence::gather(query, &question, within.as_deref())))?;
        let names: Vec<&str> = found.exhibits.iter().map(|it| it.symbol.path.as_str()).collect();
        let fit = if names.is_empty() { "none".to_string() } else { names.join(", ") };
        self.step(format!("types looked at: {}; that fit the question: {fit}", found.looked_at))?;
        model::answered(self, found)
    }

    fn done(&mut self, found: &Found) -> Result<(), Error> {
        self.investigation.state = DONE.to_string();
        self.investigation.answer = Some(found.clone());
        self.keep()
    }

    fn step(&mut self, text: String) -> Result<(), Error> {
        self.investigation.heard += usize::from(self.service.progress.step(&text));
        let at = self.service.clock.now().0;
        self.investigation.events.push(Step { n: self.investigation.next, at, text });
        self.investigation.next += 1;
        self.keep()
    }

    fn keep(&self) -> Result<(), Error> {
        let Some(folder) = self.folder else { return Ok(()) };
        let key = home::mask_key(self.service.home().as_ref());
        let kept = Kept { seal: seal(&key, &self.investigation), investigation: self.investigation.clone() };
        let mut bytes = serde_json::to_vec_pretty(&kept).unwrap_or_default();
        bytes.push(b'\n');
        let pen = folder.pen(PATIENTLY).map_err(|error| folder_error(&error))?;
        pen.write(&op_of(&self.case.id), &bytes).map(|_| ()).map_err(|error| folder_error(&error))
    }

    /// Deletes the oldest stored investigations.
    fn clear(&self) {
        let Some(folder) = self.folder else { return };
        let mut files = folder.list(OPS).unwrap_or_default();
        files.retain(|name| name.strip_suffix(".json").is_some());
        let since =
            |name: &String| std::fs::metadata(folder.path(OPS).join(name)).and_then(|it| it.modified()).ok();
        let mut dated: Vec<_> = files.iter().map(|name| (since(name), name)).collect();
        dated.sort();
        let Ok(pen) = folder.pen(PATIENTLY) else { return };
        for (_, name) in dated.iter().take(files.len().saturating_sub(MOST)) {
            let _ = pen.remove(&format!("{OPS}/{name}"));
        }
    }
}
