//! Installs Loci into the agents found on this machine, shows the exact changes first, and reverts them byte for byte.
//!
//! It knows the agents' settings files, and of Loci only the path of its program. Does not know the engines, terminals, or
//! how operations are implemented.

mod agents;
mod artifact;
mod check;
mod diff;
mod disk;
mod edit;
mod entry;
mod file_change;
#[cfg(fuzzing)]
mod fuzz;
mod json;
mod packaged;
mod plan;
mod receipt;
mod removal;
mod settings;
mod text;
mod toml;
mod undo;

#[cfg(fuzzing)]
#[doc(hidden)]
pub use fuzz::edit_settings as fuzz_edit_settings;

use agents::{AGENTS, Agent};
use api::setup::{AgentSetup, SetupDone, SetupProblem, SetupRequest};
use os::directory::FolderLock;
use packaged::Program;
use plan::Plan;
use receipt::{Installation, ReadError, Receipt};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The machine, as far as setup depends on it.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    pub home: PathBuf,
    pub vars: BTreeMap<&'static str, OsString>,
    /// Loci's data directory.
    pub data: PathBuf,
    /// Our own executable.
    pub exe: PathBuf,
}

/// The environment variables this crate reads, besides those of the sources.
pub const VARIABLES: &[(&str, &str)] =
    &[("PATH", "Directories in which `loci setup` finds agents and the `loci` program")];

/// Agents start MCP servers and hooks with few variables. These locate Loci's own files and must be passed on.
const PASSED_VARS: &[&str] = &["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"];

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{path}: {error}")]
    Io { path: PathBuf, error: std::io::Error },
    #[error("another `loci setup` is running")]
    Busy,
    #[error("{path} was created by a newer Loci (version {found}, this one supports {known})")]
    Newer { path: PathBuf, found: u64, known: u32 },
}

impl Machine {
    /// The first folder that a variable names, if it is absolute: it must not depend on the working directory.
    fn folder_from_var(&self, variable: &str) -> Option<PathBuf> {
        let text = self.vars.get(variable)?.to_string_lossy().into_owned();
        let first = text.split([':', ',']).find(|part| !part.is_empty()).map(PathBuf::from);
        first.filter(|path| path.is_absolute())
    }

    /// The folder that a variable names, or the one below the home directory.
    fn folder_or_home(&self, variable: &str, default: &str) -> PathBuf {
        self.folder_from_var(variable).unwrap_or_else(|| self.home.join(default))
    }

    /// Finds a program on `PATH`.
    fn find_program(&self, name: &str) -> Option<PathBuf> {
        let folders = self.vars.get("PATH")?;
        std::env::split_paths(folders).map(|folder| folder.join(name)).find(|path| is_program(path))
    }

    /// Our program by the path that survives updates: the one on `PATH` leads to the new version, the target of a symbolic
    /// link often does not.
    fn loci_program(&self) -> Program {
        let real = std::fs::canonicalize(&self.exe).ok();
        let typed = self.exe.file_name().and_then(|name| self.find_program(&name.to_string_lossy()));
        let same = |path: &PathBuf| real.is_some() && std::fs::canonicalize(path).ok() == real;
        Program::new(&typed.filter(same).unwrap_or_else(|| self.exe.clone()))
    }

    fn passed_env(&self) -> Value {
        let set = PASSED_VARS.iter().filter_map(|name| Some((*name, self.vars.get(name)?.to_str()?)));
        set.filter(|(_, path)| Path::new(path).is_absolute())
            .map(|(name, path)| (name.to_string(), path))
            .collect()
    }
}

/// Whether the path is an executable file.
pub fn is_program(path: &Path) -> bool {
    os::files::is_program(path)
}

/// How many agents are set up, from the receipt in the data folder.
pub fn count_agents(data: &Path) -> Result<usize, Error> {
    let path = Receipt::path(data);
    match Receipt::read(data) {
        Ok(receipt) => Ok(receipt.agents.len()),
        Err(ReadError::Io(error)) => Err(Error::Io { path, error }),
        Err(ReadError::Newer { found, known }) => Err(Error::Newer { path, found, known }),
    }
}

/// Implements the operation.
pub fn run_setup(machine: &Machine, ask: &SetupRequest) -> Result<SetupDone, Error> {
    let mut done = SetupDone { remove: ask.remove, dry_run: ask.dry_run, ..SetupDone::default() };
    if ask.dry_run || (ask.remove && !Receipt::path(&machine.data).exists()) {
        let receipt = machine.read_receipt()?;
        done.agents = select_agents(machine, ask, &receipt)
            .map(|agent| preview_agent(machine, ask, agent, &receipt))
            .collect();
        return Ok(done);
    }
    let (_lock, folders) = acquire_lock(machine)?;
    let mut receipt = machine.read_receipt()?;
    receipt.folders.splice(0..0, folders);
    receipt
        .agents
        .values()
        .flat_map(|wiring| &wiring.files)
        .for_each(|record| disk::remove_temporary(&record.path));
    for agent in select_agents(machine, ask, &receipt) {
        done.agents.push(apply_agent(machine, ask, agent, &mut receipt)?);
    }
    if receipt.agents.is_empty() {
        disk::remove_empty_folders(&receipt.folders);
    }
    Ok(done)
}

/// The requested agents. By default the detected ones; for a removal those that were set up.
fn select_agents<'a>(
    machine: &'a Machine,
    ask: &'a SetupRequest,
    receipt: &Receipt,
) -> impl Iterator<Item = &'static Agent> + use<'a> {
    let installed: Vec<String> = receipt.agents.keys().cloned().collect();
    AGENTS.iter().filter(move |agent| match (ask.agents.is_empty(), ask.remove) {
        (false, _) => ask.agents.iter().any(|name| name == agent.name),
        (true, true) => installed.iter().any(|name| name == agent.name),
        (true, false) => agent.detect(machine).is_some(),
    })
}

fn new_report(machine: &Machine, agent: &Agent) -> AgentSetup {
    AgentSetup {
        agent: agent.name.to_string(),
        title: agent.title.to_string(),
        found: agent.detect(machine).map(|path| path.to_string_lossy().into_owned()),
        ..AgentSetup::default()
    }
}

fn plan_agent(
    machine: &Machine,
    ask: &SetupRequest,
    agent: &Agent,
    receipt: &Receipt,
) -> Result<Plan, SetupProblem> {
    match (ask.remove, receipt.agents.get(agent.name)) {
        (true, None) => Ok(Plan::default()),
        (true, Some(wiring)) => Ok(removal::plan_removal(machine, agent, wiring)),
        (false, _) => plan::plan_install(machine, agent, receipt),
    }
}

fn preview_agent(machine: &Machine, ask: &SetupRequest, agent: &Agent, receipt: &Receipt) -> AgentSetup {
    let mut report = new_report(machine, agent);
    match plan_agent(machine, ask, agent, receipt) {
        Ok(plan) => {
            report.changes = plan.list_changes();
            report.problems = plan.problems;
        }
        Err(problem) => report.problems.push(problem),
    }
    report
}

/// Applies the plan for one agent. A problem with one agent does not stop the others.
fn apply_agent(
    machine: &Machine,
    ask: &SetupRequest,
    agent: &Agent,
    receipt: &mut Receipt,
) -> Result<AgentSetup, Error> {
    let mut report = new_report(machine, agent);
    match plan_agent(machine, ask, agent, receipt) {
        Err(problem) => report.problems.push(problem),
        Ok(plan) => {
            report.changes = plan.list_changes();
            report.problems.clone_from(&plan.problems);
            if ask.remove {
                uninstall_agent(machine, agent, &plan, receipt, &mut report)?;
            } else {
                install_agent(machine, agent, plan, receipt, &mut report)?;
            }
        }
    }
    Ok(report)
}

fn uninstall_agent(
    machine: &Machine,
    agent: &Agent,
    plan: &Plan,
    receipt: &mut Receipt,
    report: &mut AgentSetup,
) -> Result<(), Error> {
    plan.apply_changes(report);
    if !report.problems.is_empty() {
        return Ok(());
    }
    disk::remove_empty_folders(&plan.folders);
    // Other agents may still use a folder that was created for this one: the last of them removes it.
    let left = plan.folders.iter().filter(|folder| folder.is_dir() && !receipt.folders.contains(folder));
    receipt.folders.extend(left.cloned().collect::<Vec<_>>());
    receipt.agents.remove(agent.name);
    machine.write_receipt(receipt)
}

fn install_agent(
    machine: &Machine,
    agent: &Agent,
    plan: Plan,
    receipt: &mut Receipt,
    report: &mut AgentSetup,
) -> Result<(), Error> {
    let before = receipt.clone();
    // First record what may be written, so that an interruption can be undone; afterwards what was written.
    receipt.agents.insert(agent.name.to_string(), plan.transition_record(before.agents.get(agent.name)));
    if !plan.changes.is_empty() {
        machine.write_receipt(receipt)?;
    }
    plan.apply_changes(report);
    if !report.problems.is_empty() {
        return Ok(());
    }
    let wiring = Installation { files: plan.records, folders: plan.folders };
    receipt.agents.insert(agent.name.to_string(), wiring);
    if *receipt != before {
        machine.write_receipt(receipt)?;
    }
    report.checks = check::run_checks(machine, agent);
    report.next = Some(agent.next_step.to_string());
    Ok(())
}

impl Machine {
    fn read_receipt(&self) -> Result<Receipt, Error> {
        let path = Receipt::path(&self.data);
        match Receipt::read(&self.data) {
            Ok(receipt) => Ok(receipt),
            Err(ReadError::Io(error)) => Err(Error::Io { path, error }),
            Err(ReadError::Newer { found, known }) => Err(Error::Newer { path, found, known }),
        }
    }

    fn write_receipt(&self, receipt: &Receipt) -> Result<(), Error> {
        receipt.write(&self.data).map_err(|error| Error::Io { path: Receipt::path(&self.data), error })
    }
}

/// How long a second setup waits for the first.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Keeps a second setup out.
struct SetupLock {
    _home: Option<FolderLock>,
    _data: FolderLock,
}

/// Locks folders that exist anyway, so that no lock file is left behind; the kernel releases the locks however the process
/// ends. Also returns the folders that had to be created.
///
/// The home folder is locked first, because it is never removed. Locking only the data folder would be too late: a process
/// that finds it missing while another removes its parents would create it again, keep those parents from being removed,
/// and record them with neither (an empty `.local` in one of 25 trials of six at once).
fn acquire_lock(machine: &Machine) -> Result<(SetupLock, Vec<PathBuf>), Error> {
    let until = Instant::now() + LOCK_TIMEOUT;
    let home = machine.home.is_dir().then(|| lock_folder(&machine.home, until, || Ok(()))).transpose()?;
    let mut made: Vec<PathBuf> = Vec::new();
    let data = lock_folder(&machine.data, until, || {
        let missing = disk::missing_parents(&machine.data.join("x"));
        missing.iter().try_for_each(|folder| {
            if !made.contains(folder) {
                made.push(folder.clone());
            }
            disk::create_folder(folder, 0o700)
        })
    })?;
    Ok((SetupLock { _home: home, _data: data }, made))
}

/// Locks a folder once it exists and no other process holds it.
fn lock_folder(
    path: &Path,
    until: Instant,
    mut prepare: impl FnMut() -> io::Result<()>,
) -> Result<FolderLock, Error> {
    let fail = |error| Error::Io { path: path.to_path_buf(), error };
    loop {
        match prepare().and_then(|()| FolderLock::try_acquire(path)) {
            Ok(Some(lock)) => return Ok(lock),
            Ok(None) => {}
            // The previous holder may be removing the folder.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(fail(error)),
        }
        if Instant::now() > until {
            return Err(Error::Busy);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
