//! A question about the code in a person's words: begun, followed and answered. What happens on the way is kept in `.loci/ops`, so that
//! it can be followed from elsewhere and is not asked twice while nothing it rests on has changed.
//!
//! Does not know what evidence is, nor how a model is asked about it.

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

/// Whoever can follow it waits no longer than this: without a model it is done by then.
const AT_ONCE: Duration = Duration::from_secs(2);
/// From the lock to the first file are milliseconds; a machine may be busy with everything else.
const BEGINNING: Duration = Duration::from_secs(10);
/// How often it is looked whether something has happened.
const LOOK: Duration = Duration::from_millis(50);
/// More than anybody goes back to; the oldest go.
const MOST: usize = 200;

impl Handle<Investigate> for Service {
    fn handle(&self, ask: &Investigate) -> Result<Investigation, Error> {
        investigate(self, ask)
    }
}

fn investigate(service: &Service, ask: &Investigate) -> Result<Investigation, Error> {
    ask.check()?;
    let root = root_of(service, ask.root.as_ref())?;
    let case = at_root(service, &root, |desk| Case::new(desk, ask))?;
    let folder = match Folder::make(&root) {
        Ok(folder) => folder,
        // A tree that nothing can be put into is answered about all the same.
        Err(error) => return Course::begin(service, case, None)?.run(None, &error.to_string()),
    };
    let lock = match seized(service, &case, &folder)? {
        Ok(lock) => lock,
        Err(told) => return Ok(*told),
    };
    // It is there before anybody can ask for it.
    let course = match Course::begin(service, case.clone(), Some(&folder)) {
        Ok(course) => course,
        // Nor is one refused that has a folder into which nothing can be put.
        Err(error) => return Course::begin(service, case, None)?.run(Some(lock), &error.to_string()),
    };
    if !service.lasts {
        return course.run(Some(lock), "");
    }
    let op = case.id.clone();
    begin_apart(service, case, lock)?;
    let asked = StreamOp { op, wait: AT_ONCE.as_secs(), ..StreamOp::default() };
    followed(service, &root, &asked, |now| now.state != RUNNING)
}

/// The right to look into it; or what is told by another who has it, or had it until now.
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
        // Whoever seized it a moment ago has not written it down yet.
        let is_begun = kept(service, &case.root, &case.id).is_ok_and(|told| told.is_some());
        if is_begun || Instant::now() >= until {
            return read(service, &case.root, &case.id).map(|told| Err(Box::new(told)));
        }
        std::thread::sleep(LOOK);
    }
}

/// Goes on in a thread of its own, whatever becomes of whoever asked.
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
    fn handle(&self, ask: &StreamOp) -> Result<Investigation, Error> {
        stream_op(self, ask)
    }
}

fn stream_op(service: &Service, ask: &StreamOp) -> Result<Investigation, Error> {
    ask.check()?;
    let root = root_of(service, ask.root.as_ref())?;
    let op = named(&root, &ask.op)?;
    let asked = StreamOp { op, ..ask.clone() };
    let mut told = followed(service, &root, &asked, |now| now.state != RUNNING || now.next > asked.from)?;
    told.events.retain(|step| step.n >= asked.from);
    Ok(told)
}

/// Looks at it until enough has happened or nobody waits any more.
fn followed(
    service: &Service,
    root: &Path,
    ask: &StreamOp,
    enough: impl Fn(&Investigation) -> bool,
) -> Result<Investigation, Error> {
    let until = Instant::now() + Duration::from_secs(ask.wait);
    loop {
        let now = read(service, root, &ask.op)?;
        if enough(&now) || Instant::now() >= until || service.progress.stopped() {
            return Ok(now);
        }
        std::thread::sleep(LOOK);
    }
}

const RUNNING: &str = "running";
const DONE: &str = "done";

/// The one investigation whose id begins so.
fn named(root: &Path, start: &str) -> Result<String, Error> {
    let folder = Folder::at(root).map_err(|error| folder_error(&error))?;
    let files =
        folder.map_or(Ok(Vec::new()), |folder| folder.list(OPS)).map_err(|error| folder_error(&error))?;
    let ids: Vec<&str> = files.iter().filter_map(|name| name.strip_suffix(".json")).collect();
    let fit: Vec<&&str> = ids.iter().filter(|id| id.starts_with(start.trim())).collect();
    match fit[..] {
        [one] => Ok((*one).to_string()),
        [] => Err(Error::new(Code::NotFound, format!("there is no investigation `{start}` in this tree"))
            .hint("`loci code investigate` begins one")),
        _ => Err(Error::new(
            Code::AmbiguousId,
            format!("several investigations have an id that begins with `{start}`"),
        )
        .hint(format!("one of: {}", fit.iter().take(9).map(|id| **id).collect::<Vec<_>>().join(", ")))),
    }
}

/// What is kept of it. What nobody works on any more is not running, whatever the file says.
fn read(service: &Service, root: &Path, id: &str) -> Result<Investigation, Error> {
    let mut told = kept(service, root, id)?.ok_or_else(|| {
        Error::new(Code::NotFound, format!("the investigation `{id}` is gone"))
            .hint("`loci code investigate` begins it anew")
    })?;
    if told.state == RUNNING {
        let held = service.home().is_some_and(|home| Lock::is_held(&home.op_lock(&lock_name(root, id))));
        told.hint = Some(format!("`loci code op {id} --wait 30` has the rest"));
        if !held {
            // It may have ended since it was read.
            told = kept(service, root, id)?.filter(|now| now.state != RUNNING).unwrap_or(Investigation {
                state: "interrupted".to_string(),
                hint: Some("whoever looked into it was ended; ask again to begin anew".to_string()),
                ..told
            });
        }
    }
    Ok(told)
}

/// None also for a file that was not written here: a tree comes from anywhere, and would put words into a model's mouth.
fn kept(service: &Service, root: &Path, id: &str) -> Result<Option<Investigation>, Error> {
    let Some(folder) = Folder::at(root).map_err(|error| folder_error(&error))? else { return Ok(None) };
    let bytes = folder.read(&op_of(id)).map_err(|error| folder_error(&error))?;
    let read = |bytes: Vec<u8>| {
        serde_json::from_slice::<Kept>(&bytes).map_err(|error| {
            Error::new(Code::ReadError, format!("`.loci/{}` cannot be understood: {error}", op_of(id)))
                .hint("delete it, and ask again")
        })
    };
    let kept = bytes.map(read).transpose()?;
    let Some(key) = service.home().and_then(|home| home::own_key(&home)) else { return Ok(None) };
    Ok(kept.filter(|kept| kept.told.op == id && kept.seal == seal(&key, &kept.told)).map(|kept| kept.told))
}

/// An investigation as it lies in the tree.
#[derive(Serialize, Deserialize)]
struct Kept {
    #[serde(default)]
    seal: String,
    #[serde(flatten)]
    told: Investigation,
}

/// What nobody without the key of this home can write below an investigation.
fn seal(key: &[u8; 32], told: &Investigation) -> String {
    let told = serde_json::to_vec(told).unwrap_or_default();
    format!("{:016x}", Digest::of(&[&key[..], &told, &key[..]].concat()).0)
}

/// Two checkouts may ask the same.
fn lock_name(root: &Path, id: &str) -> String {
    format!("{}-{id}", name_of(root))
}

/// What is to be found out, and where.
#[derive(Clone)]
struct Case {
    root: PathBuf,
    /// Over the question, where it is asked, and the structure of all that is looked at.
    id: String,
    question: String,
    scope: Vec<String>,
    /// Whole ids of the types in scope; none: all.
    within: Option<Vec<String>>,
}

impl Case {
    fn new(desk: &CodeQuery<'_>, ask: &Investigate) -> Result<Case, Error> {
        let question = ask.question.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut scope: Vec<String> = ask.scope.iter().map(|path| path.trim().to_string()).collect();
        scope.sort();
        scope.dedup();
        let within = (!scope.is_empty()).then(|| evidence::scoped(desk, &scope)).transpose()?;
        let basis = evidence::basis(desk, within.as_deref());
        let told = format!("{}\n{}\n{}", question, scope.join("\n"), basis.0);
        Ok(Case {
            root: desk.root().to_path_buf(),
            id: format!("O_{}", Digest::of(told.as_bytes())),
            question: desk.veiled(question),
            scope: scope.iter().map(|path| desk.veiled(path)).collect(),
            within,
        })
    }

    /// What a model has said about it already. Evidence costs nothing, and is looked for again.
    fn kept(&self, service: &Service, folder: &Folder) -> Option<Investigation> {
        if !folder.path(&op_of(&self.id)).exists() {
            return None;
        }
        let told = read(service, &self.root, &self.id).ok().filter(|told| told.state == DONE);
        let by_model = |told: &Investigation| told.answer.as_ref().is_some_and(|found| found.by == model::BY);
        told.filter(by_model).map(|told| Investigation { kept: true, ..told })
    }

    /// None: another process is at it.
    fn seize(&self, service: &Service) -> Result<Option<Lock>, Error> {
        let home = service.home().ok_or_else(homeless)?;
        let ops = home.ops();
        home::make(&ops).map_err(|error| home::unwritable(&ops, &error))?;
        Lock::seize_at(&home, &home.op_lock(&lock_name(&self.root, &self.id)))
    }

    /// Its file goes while it is still held: afterwards it may be another's.
    fn release(&self, service: &Service, lock: Lock) {
        if let Some(home) = service.home() {
            let _ = std::fs::remove_file(home.op_lock(&lock_name(&self.root, &self.id)));
        }
        drop(lock);
    }
}

/// A case that is being looked into.
struct Course<'a> {
    service: &'a Service,
    /// Where it is kept, if it can be.
    folder: Option<&'a Folder>,
    case: Case,
    told: Investigation,
}

impl<'a> Course<'a> {
    fn begin(service: &'a Service, case: Case, folder: Option<&'a Folder>) -> Result<Course<'a>, Error> {
        let told = Investigation {
            op: case.id.clone(),
            state: RUNNING.to_string(),
            question: case.question.clone(),
            scope: case.scope.clone(),
            ..Investigation::default()
        };
        let course = Course { service, folder, case, told };
        course.keep()?;
        Ok(course)
    }

    /// Looks into it to the end; the lock is held until then. Where it cannot be kept, the answer says why.
    fn run(mut self, lock: Option<Lock>, unkept: &str) -> Result<Investigation, Error> {
        let outcome = self.find();
        let failed = outcome.as_ref().err().cloned();
        match outcome {
            Ok(found) => self.done(&found)?,
            Err(error) => {
                self.told.state = "failed".to_string();
                self.told.error = Some(error.to_string());
                self.keep()?;
            }
        }
        if let Some(lock) = lock {
            self.case.release(self.service, lock);
        }
        self.clear();
        self.told.hint = (!unkept.is_empty()).then(|| format!("nothing of it is kept: {unkept}"));
        failed.map_or(Ok(self.told), Err)
    }

    fn find(&mut self) -> Result<Found, Error> {
        let (service, root) = (self.service, self.case.root.clone());
        let (question, within) = (self.case.question.clone(), self.case.within.clone());
        let found = at_root(service, &root, |desk| Ok(evidence::gather(desk, &question, within.as_deref())))?;
        let names: Vec<&str> = found.exhibits.iter().map(|it| it.symbol.path.as_str()).collect();
        let fit = if names.is_empty() { "none".to_string() } else { names.join(", ") };
        self.step(format!("types looked at: {}; that fit the question: {fit}", found.looked_at))?;
        model::answered(self, found)
    }

    fn done(&mut self, found: &Found) -> Result<(), Error> {
        self.told.state = DONE.to_string();
        self.told.answer = Some(found.clone());
        self.keep()
    }

    fn step(&mut self, text: String) -> Result<(), Error> {
        self.told.heard += usize::from(self.service.progress.step(&text));
        let at = self.service.clock.now().0;
        self.told.events.push(Step { n: self.told.next, at, text });
        self.told.next += 1;
        self.keep()
    }

    fn keep(&self) -> Result<(), Error> {
        let Some(folder) = self.folder else { return Ok(()) };
        let key = home::mask_key(self.service.home().as_ref());
        let kept = Kept { seal: seal(&key, &self.told), told: self.told.clone() };
        let mut bytes = serde_json::to_vec_pretty(&kept).unwrap_or_default();
        bytes.push(b'\n');
        let pen = folder.pen(PATIENTLY).map_err(|error| folder_error(&error))?;
        pen.write(&op_of(&self.case.id), &bytes).map(|_| ()).map_err(|error| folder_error(&error))
    }

    /// Takes away what nobody goes back to.
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
