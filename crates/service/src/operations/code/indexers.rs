//! Runs the SCIP indexers that fit a tree, if a person trusts it, and says what each of them did.
//!
//! Does not know how an indexer is run (`indexers` does) or what its index changes (`code-index` does).

use super::tree::{Tree, store_error, store_path};
use super::workbench::{open_bench, read_deadline};
use crate::Service;
use api::code::IndexerResult;
use api::{Code, Error};
use code_index::scip_folder;
use indexers::{INDEXERS, IndexError, IndexRun, IndexerTarget, find_targets};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use subprocess::Supervisor;

/// An indexer that takes longer is stopped, in seconds.
const DEADLINE: u64 = 1800;
/// When a run is first reported, and how often after that.
const FIRST_STEP: Duration = Duration::from_secs(1);
const LATER_STEPS: Duration = Duration::from_secs(30);

/// Runs the indexers of a tree, one after the other. An error if none of them wrote an index.
pub(super) fn run_indexers(service: &Service, tree: &Tree) -> Result<Vec<IndexerResult>, Error> {
    let (root, env) = (tree.root(), crate::env::inherited_env());
    let targets = applicable_targets(tree)?;
    require_program(&targets, root, &env)?;
    require_trust(service, root)?;
    let output = output_folder(service, root)?;
    let deadline = read_deadline(service, "LOCI_INDEXER_SECONDS", DEADLINE)?;
    let supervisor = Supervisor::new(&service.exe);
    let run = IndexRun {
        supervisor: &supervisor,
        env,
        deadline,
        cancel: Some(service.progress.cancel_flag()),
        root,
        output: &output,
    };
    let mut results = Vec::new();
    for target in &targets {
        results.push(run_one(service, target, &run));
    }
    if service.progress.is_cancelled() {
        return Err(Error::new(Code::Cancelled, "cancelled"));
    }
    require_success(service, results)
}

fn applicable_targets(tree: &Tree) -> Result<Vec<IndexerTarget>, Error> {
    let folder = |manifest: &str| manifest.rfind('/').map_or("", |at| &manifest[..=at]).to_owned();
    let projects = tree.store.projects().map_err(|error| store_error(&error))?;
    let folders: Vec<String> =
        projects.iter().map(|project| folder(&project.path)).chain([String::new()]).collect();
    let targets = find_targets(tree.root(), &folders);
    if !targets.is_empty() {
        return Ok(targets);
    }
    let mut refused = Error::new(
        Code::NotFound,
        format!("no indexer fits {}: it has none of their manifests", tree.root().display()),
    );
    for indexer in INDEXERS {
        refused = refused.hint(format!("{}: {}", indexer.name, indexer.manifests.join(", ")));
    }
    Err(refused)
}

/// Refuses if no fitting indexer is installed.
fn require_program(
    targets: &[IndexerTarget],
    root: &Path,
    env: &BTreeMap<OsString, OsString>,
) -> Result<(), Error> {
    if targets.iter().any(|target| target.find_program(root, env).is_some()) {
        return Ok(());
    }
    let mut names: Vec<&str> = targets.iter().map(|target| target.indexer.name).collect();
    names.dedup();
    let mut refused =
        Error::new(Code::NotFound, format!("no indexer of this tree is installed: {}", names.join(", ")));
    for target in targets {
        if !refused.hints.iter().any(|hint| hint == target.indexer.install) {
            refused = refused.hint(target.indexer.install);
        }
    }
    Err(refused)
}

fn require_trust(service: &Service, root: &Path) -> Result<(), Error> {
    let named = root.to_string_lossy().into_owned();
    let (_, bench) = open_bench(service, Some(&named))?;
    if bench.is_trusted() {
        return Ok(());
    }
    Err(Error::new(Code::EditRefused, "running an indexer in this tree is not allowed")
        .hint("`loci edit trust` allows it; an indexer runs code of the project, such as build scripts"))
}

/// Where the indexes of a tree are stored: beside its code index.
fn output_folder(service: &Service, root: &Path) -> Result<PathBuf, Error> {
    let store = store_path(service, root).ok_or_else(|| Error::new(Code::NotFound, "HOME is not set"))?;
    let folder = scip_folder(&store);
    history::home::create_private_dir(&folder).map_err(|error| history::home::unwritable(&folder, &error))?;
    Ok(folder)
}

fn run_one(service: &Service, target: &IndexerTarget, run: &IndexRun<'_>) -> IndexerResult {
    let (indexer, language) = (target.indexer.name.to_owned(), target.indexer.language.to_owned());
    let result = IndexerResult { indexer, language, folder: target.folder.clone(), ..Default::default() };
    match report_while(service, target.indexer.name, || target.run(run)) {
        Ok(done) => IndexerResult { files: done.files, occurrences: done.occurrences, ..result },
        Err(error) => IndexerResult { error: Some(describe(&error)), ..result },
    }
}

fn describe(error: &IndexError) -> String {
    match error {
        IndexError::NotInstalled { install, .. } => format!("not installed; {install}"),
        other => other.to_string(),
    }
}

/// Reports that an indexer is running, from the first second on.
fn report_while<T>(service: &Service, name: &str, work: impl FnOnce() -> T) -> T {
    let (done, waits) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let (began, mut pause) = (Instant::now(), FIRST_STEP);
            while let Err(RecvTimeoutError::Timeout) = waits.recv_timeout(pause) {
                let seconds = began.elapsed().as_secs();
                service.progress.report_step(&format!("{name} is indexing, {seconds} s"));
                pause = LATER_STEPS;
            }
        });
        let result = work();
        drop(done);
        result
    })
}

fn require_success(service: &Service, results: Vec<IndexerResult>) -> Result<Vec<IndexerResult>, Error> {
    if results.iter().any(|it| it.error.is_none()) {
        return Ok(results);
    }
    let mut errors: Vec<String> = results.into_iter().filter_map(|it| it.error).collect();
    errors.dedup();
    let message = service.history().mask_text(&errors.join("; "));
    Err(Error::new(Code::ReadError, message)
        .hint("run the indexer by hand in the tree; an `index.scip` at the root is used as well"))
}
