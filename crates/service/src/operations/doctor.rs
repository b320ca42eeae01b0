//! Checks the installation and warns about transcripts that are about to be lost.
//!
//! Reports findings with the command that fixes them. Does not change anything itself.

#![allow(clippy::unnecessary_wraps)] // a check may return nothing

mod bundle;

use crate::{Service, env, memory_store};
use api::alerts::{Metric, threshold_of};
use api::maintenance::{DoctorReport, DoctorRequest, Finding, Severity};
use api::setup::SetupRequest;
use api::{Error, Handle, Request};
use history::freshness::KnownFiles;
use history::home::{self, Home};
use history::{catalogue_cache, transcripts};
use mailbox::Mailbox;
use sources::{Environment, SOURCES, Transcript};
use std::fs::File;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

/// One check: its name and function. `None`: nothing to report.
type Check = (&'static str, fn(&Installation<'_>) -> Option<CheckResult>);

/// The findings of this check quote settings; the bundle redacts them.
const MODEL: &str = "model";

const CHECKS: &[Check] = &[
    ("home", check_home),
    ("settings", check_settings),
    (MODEL, check_model),
    ("histories", check_histories),
    ("catalogue", check_catalogue),
    ("index", check_index),
    ("freshness", check_freshness),
    ("clean-up", check_clean_up),
    ("archive", check_archive),
    ("databases", check_databases),
    ("permissions", check_permissions),
    ("daemon", check_daemon),
    ("resolve time", check_resolve_time),
    ("memory", check_memory),
    ("sync", check_sync),
    ("note queue", check_note_queue),
    ("watching", check_watches),
    ("exits", check_exits),
    ("programs", check_programs),
    ("wiring", check_wiring),
    ("leftovers", check_leftovers),
    ("messages", check_messages),
    ("edits", check_edits),
    ("space", check_disk_space),
];

struct Installation<'s> {
    service: &'s Service,
    home: Option<Home>,
}

struct CheckResult {
    severity: Severity,
    message: String,
    fix: Option<String>,
}

fn ok(message: String) -> Option<CheckResult> {
    Some(CheckResult { severity: Severity::Ok, message, fix: None })
}

fn warning(message: String, fix: impl Into<String>) -> Option<CheckResult> {
    Some(CheckResult { severity: Severity::Warning, message, fix: Some(fix.into()) })
}

fn problem(message: String, fix: impl Into<String>) -> Option<CheckResult> {
    Some(CheckResult { severity: Severity::Problem, message, fix: Some(fix.into()) })
}

impl Handle<DoctorRequest> for Service {
    fn handle(&self, request: &DoctorRequest) -> Result<DoctorReport, Error> {
        request.check_params()?;
        if let Some(name) = &request.dismiss {
            self.dismiss_loss(name)?;
        }
        let mut checkup = run_checks(self);
        checkup.findings.extend(find_losses(self));
        if let Some(file) = &request.bundle {
            checkup.bundle = Some(bundle::write_bundle(self, &checkup, file)?);
        }
        Ok(checkup)
    }
}

fn run_checks(service: &Service) -> DoctorReport {
    let install = Installation { service, home: service.home() };
    let finding = |(name, check): &Check| {
        let found = check(&install)?;
        let check = (*name).to_string();
        Some(Finding { check, severity: found.severity, message: found.message, fix: found.fix })
    };
    DoctorReport { findings: CHECKS.iter().filter_map(finding).collect(), bundle: None }
}

/// A tree in which only some files have a change may not build, and does not say why.
fn check_edits(install: &Installation<'_>) -> Option<CheckResult> {
    let all = super::interrupted_edits::all_interrupted(install.service);
    let first = all.first()?;
    let messages: Vec<String> = all.iter().map(|it| format!("{}: {it}", it.root)).collect();
    problem(messages.join("; "), first.roll_back.clone())
}

/// What was lost or damaged and neither mended nor dismissed: a finding each.
fn find_losses(service: &Service) -> Vec<Finding> {
    const CHECK: &str = "losses";
    let finding = |severity, message, fix| Finding { check: CHECK.to_string(), severity, message, fix };
    let (open, dismissed) = match service.all_losses() {
        Ok(losses) => losses,
        Err(error) => return vec![finding(Severity::Problem, error.message, None)],
    };
    let mut findings: Vec<Finding> = Vec::new();
    for one in &open {
        let dismiss = format!("loci doctor --dismiss {}", one.id);
        let fix = if one.fix.is_empty() { dismiss } else { format!("{}, or {dismiss}", one.fix) };
        findings.push(finding(Severity::Problem, format!("{} ({})", one.message, one.id), Some(fix)));
    }
    let last = dismissed.iter().filter_map(|one| Some((one.dismissed?, one))).max_by_key(|(at, _)| *at);
    if let Some((at, one)) = last {
        let message = format!(
            "{} dismissed, the last at {}: {} ({})",
            dismissed.len(),
            record::Stamp(at),
            one.message,
            one.id
        );
        findings.push(finding(Severity::Ok, message, None));
    }
    findings
}

fn check_home(install: &Installation<'_>) -> Option<CheckResult> {
    let Some(home) = &install.home else {
        return problem("no data directory: HOME is not set".to_string(), "export HOME=~");
    };
    match home.network_warning() {
        Some(message) => warning(message, "export XDG_DATA_HOME=/local/data XDG_CACHE_HOME=/local/cache"),
        None => ok(format!("data in {}, cache in {}", home.data.display(), home.cache.display())),
    }
}

/// What `loci sync status` knows of each space, without contacting its storage.
fn check_sync(install: &Installation<'_>) -> Option<CheckResult> {
    install.home.as_ref()?;
    match exchange::operations::list_problems(&install.service.sync_caller()) {
        Ok(None) => None,
        Ok(Some(problems)) if problems.is_empty() => ok("nothing is wrong with the storage".to_string()),
        Ok(Some(problems)) => problem(problems.join("; "), "loci sync check"),
        Err(error) => problem(error.message, "loci sync status"),
    }
}

/// A config file that cannot be parsed stops the daemon and every model call.
fn check_settings(install: &Installation<'_>) -> Option<CheckResult> {
    let places = &install.service.places;
    let error = config::read_config(places).err()?;
    problem(error.message, edit_settings(places))
}

fn edit_settings(places: &Environment) -> String {
    let file = api::operation::shell_quote(&config::config_path(places).to_string_lossy());
    format!("${{EDITOR:-vi}} {file}")
}

/// Whether the configured model looks usable, without calling it. Whether its key is valid or its address reachable is known
/// only after a call.
fn check_model(install: &Installation<'_>) -> Option<CheckResult> {
    let service = install.service;
    config::read_config(&service.places).ok()?.model.provider?;
    let model = match config::model::inspect_model(&service.places, &service.exe) {
        Ok(model) => model?,
        Err(error) => return problem(error.message, edit_settings(&service.places)),
    };
    let label = format!("{}, model {}", model.endpoint, model.name);
    let Some(program) = model.program() else { return ok(format!("{label}; settings are valid")) };
    let name = program.to_string_lossy();
    match env::find_programs(&service.places, &name).first() {
        Some(found) => ok(format!("{label}: {}", found.display())),
        None => problem(
            format!(
                "`model.provider` is `{}`, but there is no program `{name}` on PATH",
                model.provider.name
            ),
            edit_settings(&service.places),
        ),
    }
}

fn check_histories(install: &Installation<'_>) -> Option<CheckResult> {
    let found = sources::find_transcripts(&install.service.places, &[]);
    if found.transcripts.is_empty() {
        return warning("no agent history found".to_string(), "loci sources");
    }
    let names: Vec<&str> = SOURCES
        .iter()
        .enumerate()
        .filter(|(n, _)| found.transcripts.iter().any(|t| t.source == *n))
        .map(|(_, source)| source.name())
        .collect();
    if let Some(first) = found.problems.first() {
        let message = format!("{}: {}", first.file.display(), first.note);
        return warning(message, "loci sources --problems");
    }
    ok(format!("{} transcripts from {}", found.transcripts.len(), names.join(", ")))
}

/// For a store that a newer Loci has written.
const UPDATE: &str = "loci update --check";

fn check_catalogue(install: &Installation<'_>) -> Option<CheckResult> {
    let path = install.home.as_ref()?.catalogue();
    if !path.exists() {
        return warning("there is no catalogue yet".to_string(), "loci index");
    }
    let names: Vec<&'static str> = SOURCES.iter().map(|source| source.name()).collect();
    match catalogue::Reader::open(&path, &names) {
        Ok(Some(reader)) => match reader.find_damage() {
            Ok(None) => {
                let (files, sessions, events) = reader.count_totals().ok()?;
                ok(format!("{files} transcripts, {sessions} sessions, {events} messages and calls"))
            }
            Ok(Some(wrong)) => problem(format!("the catalogue is damaged: {wrong}"), "loci index --rebuild"),
            Err(error) => problem(error.to_string(), "loci index --rebuild"),
        },
        Ok(None) => {
            warning("the catalogue was written by an older version of Loci".to_string(), "loci index")
        }
        Err(error @ catalogue::Error::Newer { .. }) => problem(error.to_string(), UPDATE),
        Err(error) => problem(error.to_string(), "loci index --rebuild"),
    }
}

fn check_index(install: &Installation<'_>) -> Option<CheckResult> {
    let folder = install.home.as_ref()?.index();
    match search::Index::open(&folder) {
        Ok(Some(index)) => match index.verify_checksums() {
            Ok(damaged) if damaged.is_empty() => ok(format!("{} texts, all files intact", index.len())),
            Ok(damaged) => problem(format!("damaged files: {}", damaged.join(", ")), "loci index --rebuild"),
            Err(error) => problem(error.to_string(), "loci index --rebuild"),
        },
        Ok(None) if is_catalogue_empty(install) => None,
        Ok(None) => warning("there is no text index yet".to_string(), "loci index"),
        Err(error @ search::Error::Newer { .. }) => problem(error.to_string(), UPDATE),
        Err(error) => problem(error.to_string(), "loci index --rebuild"),
    }
}

/// Whether the catalogue has no transcripts, so that there is nothing to index.
fn is_catalogue_empty(install: &Installation<'_>) -> bool {
    catalogue_cache::open_catalogue(&install.service.history())
        .and_then(|reader| reader.count_totals().ok())
        .is_some_and(|(files, ..)| files == 0)
}

fn check_freshness(install: &Installation<'_>) -> Option<CheckResult> {
    let reader = catalogue_cache::open_catalogue(&install.service.history())?;
    let memory = KnownFiles::load(&reader).ok()?;
    let found = transcripts::find_transcripts(&install.service.history(), Some(&reader), &[]);
    let behind: Vec<_> = found.transcripts.iter().filter(|t| memory.current_id(t).is_none()).collect();
    let denied: Vec<_> = behind.iter().filter_map(|t| Some((t, File::open(&t.path).err()?))).collect();
    if let Some((first, error)) = denied.first() {
        let count = denied.len();
        let message =
            format!("{count} transcripts cannot be read, such as {}: {error}", first.path.display());
        return problem(message, "loci sources --problems");
    }
    if behind.is_empty() {
        return ok("the index is up to date".to_string());
    }
    warning(format!("{} transcripts changed since the last index update", behind.len()), "loci index")
}

/// Days after which Claude Code deletes a transcript, unless `cleanupPeriodDays` is set.
const DEFAULT_CLEANUP_DAYS: i64 = 30;
/// Warn this many days before the deletion.
const WARN_DAYS: i64 = 7;

/// Transcripts that Claude Code is about to delete, and whether the archive has a copy.
fn check_clean_up(install: &Installation<'_>) -> Option<CheckResult> {
    let service = install.service;
    let (days, set) = cleanup_days(service);
    let now = service.clock.now().0;
    let store = transcripts::archive_store(&service.history())?;
    let found = sources::find_transcripts(&service.places, &["claude-code".to_string()]);
    let left = |changed: i64| days - (now - changed / 1_000_000) / 86_400_000;
    let soon = found.transcripts.iter().filter(|t| left(t.file_stamp.changed) <= WARN_DAYS);
    let (mut safe, mut lost) = (0, 0);
    for transcript in soon {
        if store.has_copy(transcript) {
            safe += 1;
        } else if !is_known_empty(install, transcript) {
            lost += 1;
        }
    }
    let rule = if set { "set by `cleanupPeriodDays`" } else { "default" };
    if lost > 0 {
        let message = format!(
            "Claude Code deletes transcripts {days} days after their last change ({rule}): {lost} are due within \
             {WARN_DAYS} days and not archived"
        );
        return problem(message, "loci index");
    }
    ok(format!(
        "Claude Code deletes transcripts after {days} days ({rule}): {safe} are due within {WARN_DAYS} days, \
         all archived"
    ))
}

/// Whether a transcript was read and contains no session, so that there is nothing to archive.
fn is_known_empty(install: &Installation<'_>, transcript: &Transcript) -> bool {
    let is_empty = || {
        let reader = catalogue_cache::open_catalogue(&install.service.history())?;
        let id = KnownFiles::load(&reader).ok()?.current_id(transcript)?;
        let states = reader.file_states(|file| file == id).ok()?;
        states.get(&id).map(|state| state.sessions.iter().all(history::scan::is_empty))
    };
    is_empty().unwrap_or(false)
}

/// `cleanupPeriodDays` from the user's settings, and whether it is set.
fn cleanup_days(service: &Service) -> (i64, bool) {
    let roots = service.places.roots_from_var("CLAUDE_CONFIG_DIR", ".claude");
    let settings = roots.iter().filter_map(|root| std::fs::read(root.join("settings.json")).ok());
    let set = settings
        .filter_map(|text| serde_json::from_slice::<serde_json::Value>(&text).ok())
        .find_map(|settings| settings["cleanupPeriodDays"].as_i64());
    (set.unwrap_or(DEFAULT_CLEANUP_DAYS), set.is_some())
}

fn check_archive(install: &Installation<'_>) -> Option<CheckResult> {
    let (service, home) = (install.service, install.home.as_ref()?);
    let size = super::index::size_of_path(&home.archive());
    let budget = match super::archive::archive_budget(service) {
        Ok(budget) => budget,
        Err(error) => return problem(error.message, "unset LOCI_ARCHIVE_BUDGET"),
    };
    let copies = match transcripts::check_archive(&service.history())? {
        Ok(copies) => copies,
        Err((message, next)) => return problem(message, next),
    };
    let shown = format!("{copies} copies take {} of {} MB", size >> 20, budget >> 20);
    if size > budget { warning(shown, "loci archive --prune-to 8G --dry-run") } else { ok(shown) }
}

/// The databases that cannot be rebuilt from transcripts: memory, messages and the ledger of model calls.
fn check_databases(install: &Installation<'_>) -> Option<CheckResult> {
    let home = install.home.as_ref()?;
    let paths = [home.memory(), home.mailbox(), home.ledger()];
    let checks = [memory::find_damage, mailbox::find_damage, llm::find_damage];
    let existing: Vec<_> = paths.iter().zip(checks).filter(|(path, _)| path.exists()).collect();
    for (path, find_damage) in &existing {
        if let Some(damage) = find_damage(path) {
            let file = api::operation::shell_quote(&path.to_string_lossy());
            return problem(
                format!("{} is damaged: {damage}", path.display()),
                format!("mv {file} {file}.damaged"),
            );
        }
    }
    if let Some(newer) = find_newer_database(home) {
        return problem(newer, UPDATE);
    }
    // What its readers ask, and not only whether its pages hang together.
    if let Err(error) = read_memory(install.service) {
        let fix = error.hints.first().cloned().unwrap_or_default();
        return problem(error.message, fix);
    }
    if existing.is_empty() {
        None
    } else {
        ok(if existing.len() == 1 {
            "database intact".to_owned()
        } else {
            format!("{} databases intact", existing.len())
        })
    }
}

fn read_memory(service: &Service) -> Result<(), Error> {
    let Some(store) = memory_store::open_existing(service)? else { return Ok(()) };
    let failed = |error| memory_store::store_error(&error);
    store.load_all().map_err(failed)?;
    store.last_run().map_err(failed)?;
    store.forgotten_entries().map_err(failed)?;
    store.derived_up_to().map_err(failed)?;
    Ok(())
}

/// Describes the first of these databases that a newer Loci has written.
fn find_newer_database(home: &Home) -> Option<String> {
    let memory = memory::Store::open_read_only(&home.memory()).err();
    let memory =
        memory.filter(|error| matches!(error, memory::Error::Newer(_))).map(|error| error.to_string());
    let mailbox = || Mailbox::open_existing(&home.mailbox()).err().filter(mailbox::Error::is_newer);
    let ledger = || llm::Ledger::open_existing(&home.ledger()).err().filter(llm::Error::is_newer);
    memory.or_else(|| Some(mailbox()?.to_string())).or_else(|| Some(ledger()?.to_string()))
}

fn check_permissions(install: &Installation<'_>) -> Option<CheckResult> {
    let home = install.home.as_ref()?;
    let open = [&home.data, &home.cache]
        .into_iter()
        .find(|dir| std::fs::metadata(dir).is_ok_and(|meta| os::files::is_open_to_others(&meta)));
    match open {
        // Every writer restores the permissions.
        Some(dir) => problem(format!("other users can access {}", dir.display()), "loci index"),
        None => ok("only you can read Loci's files".to_string()),
    }
}

fn check_daemon(install: &Installation<'_>) -> Option<CheckResult> {
    let state = super::status::daemon_status(install.service);
    match (state.running, state.trouble) {
        (_, Some(trouble)) => problem(format!("the daemon is running, but {trouble}"), "loci daemon stop"),
        (true, None) => ok(format!("the daemon is running (process {})", state.pid.unwrap_or_default())),
        (false, None) => ok("the daemon is not running; it starts on demand".to_string()),
    }
}

/// Compares a figure with its threshold.
fn judge_figure(metric: Metric, value: f64) -> Option<CheckResult> {
    let threshold = threshold_of(metric);
    match threshold.check(value) {
        Some(alert) => warning(alert.message, alert.fix),
        None => ok(threshold.describe(value)),
    }
}

fn check_resolve_time(install: &Installation<'_>) -> Option<CheckResult> {
    let daemon = super::status::daemon_status(install.service);
    judge_figure(Metric::ResolveTime, daemon.p95_resolve_ms()?)
}

/// The memory of the daemon, which keeps running.
fn check_memory(install: &Installation<'_>) -> Option<CheckResult> {
    let daemon = super::status::daemon_status(install.service);
    let megabytes = daemon.rss_bytes.div_ceil(1 << 20);
    if megabytes == 0 { None } else { judge_figure(Metric::Memory, megabytes as f64) }
}

/// The source tree with the longest queue of notes.
fn check_note_queue(install: &Installation<'_>) -> Option<CheckResult> {
    let (root, length) = install.service.longest_note_queue().filter(|(_, length)| *length > 0)?;
    let result = judge_figure(Metric::QueueLength, length as f64)?;
    let root = root.to_string_lossy();
    let fix = result.fix.map(|fix| format!("{fix} --root {}", api::operation::shell_quote(&root)));
    Some(CheckResult { message: format!("{} ({root})", result.message), fix, ..result })
}

/// Number of folders to watch, compared with the kernel's per-user inotify limit.
fn check_watches(install: &Installation<'_>) -> Option<CheckResult> {
    let limit = std::fs::read_to_string("/proc/sys/fs/inotify/max_user_watches").ok()?;
    let limit: usize = limit.trim().parse().ok()?;
    let code = install.service.code_folders().iter().map(|(_, folders)| folders.len()).sum::<usize>();
    let needed = install.service.history_folders().len() + code;
    if needed > limit {
        let message = format!(
            "the kernel limit is {limit} watched folders, but {needed} are needed: the rest is polled"
        );
        return warning(message, "sudo sysctl fs.inotify.max_user_watches=524288");
    }
    ok(format!("{needed} folders to watch, the kernel allows {limit}"))
}

/// How the last daemons exited. One that exited without being stopped is reported.
fn check_exits(install: &Installation<'_>) -> Option<CheckResult> {
    let ends = super::status::daemon_status(install.service).exits;
    let lost = ends.iter().filter(|end| *end == "lost").count();
    match (ends.len(), lost) {
        (0, _) => None,
        (_, 0) => ok(format!("the last daemons exited normally: {}", ends.join(", "))),
        (all, lost) => {
            let message = format!("of the last {all} daemons, {lost} crashed or were killed");
            warning(message, "loci daemon logs -n 100")
        }
    }
}

/// With several `loci` programs on PATH, the one that runs depends on the caller's PATH.
fn check_programs(install: &Installation<'_>) -> Option<CheckResult> {
    let service = install.service;
    let own = std::fs::canonicalize(&service.exe).ok()?;
    let mut found: Vec<PathBuf> = Vec::new();
    for real in env::find_programs(&service.places, "loci")
        .into_iter()
        .filter_map(|path| std::fs::canonicalize(path).ok())
    {
        if !found.contains(&real) {
            found.push(real);
        }
    }
    let shown =
        |all: &[PathBuf]| all.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    match &found[..] {
        [] => None,
        [one] if *one == own => ok(format!("one program: {}", own.display())),
        [first, ..] if *first != own => {
            let message = format!("this is {}, but `loci` on PATH is {}", own.display(), first.display());
            warning(message, "which -a loci")
        }
        all => warning(format!("several `loci` programs on PATH: {}", shown(all)), "which -a loci"),
    }
}

/// Whether the agents that have Loci configured would start this program with this version's settings.
fn check_wiring(install: &Installation<'_>) -> Option<CheckResult> {
    let rehearse =
        |request: SetupRequest| install.service.handle(&SetupRequest { dry_run: true, ..request }).ok();
    let wired = rehearse(SetupRequest { remove: true, ..SetupRequest::default() })?;
    let agents: Vec<String> = wired.agents.into_iter().map(|agent| agent.agent).collect();
    if agents.is_empty() {
        return None;
    }
    let now = rehearse(SetupRequest { agents: agents.clone(), ..SetupRequest::default() })?;
    let other = now.agents.iter().filter(|agent| !agent.changes.is_empty() || !agent.problems.is_empty());
    let other: Vec<&str> = other.map(|agent| agent.title.as_str()).collect();
    if other.is_empty() {
        return ok(format!("set up for {}", agents.join(", ")));
    }
    let message = format!("the setup of {} does not match this version of Loci", other.join(", "));
    warning(message, "loci setup")
}

/// Suffix of partially written files. A running writer needs one for seconds; an older one was left by a kill.
const PARTIAL_SUFFIX: &str = ".new";
const MIN_LEFTOVER_AGE: Duration = Duration::from_hours(1);

fn check_leftovers(install: &Installation<'_>) -> Option<CheckResult> {
    let home = install.home.as_ref()?;
    let folders = [home.data.clone(), home.cache.clone(), home.code(), home.archive()];
    let files = folders.iter().flat_map(std::fs::read_dir).flatten().flatten().map(|entry| entry.path());
    let now = install.service.clock.now().0;
    let is_old = |path: &PathBuf| {
        let changed = std::fs::metadata(path).and_then(|meta| meta.modified()).ok();
        let at =
            changed.and_then(|at| at.duration_since(UNIX_EPOCH).ok()).map_or(now, |at| at.as_millis() as i64);
        now - at > MIN_LEFTOVER_AGE.as_millis() as i64
    };
    let half = |path: &PathBuf| path.to_string_lossy().ends_with(PARTIAL_SUFFIX);
    let mut left: Vec<PathBuf> = files.filter(half).filter(is_old).collect();
    left.sort();
    if left.is_empty() {
        return None;
    }
    let message = format!("{} partially written files were left by a killed loci process", left.len());
    let all: Vec<String> =
        left.iter().map(|path| api::operation::shell_quote(&path.to_string_lossy())).collect();
    warning(message, format!("rm -- {}", all.join(" ")))
}

/// Spooled messages that were rejected or wait for a daemon.
fn check_messages(install: &Installation<'_>) -> Option<CheckResult> {
    let spool = mailbox::Spool::new(&install.home.as_ref()?.spool());
    match (spool.count_rejected(), spool.count_waiting()) {
        (0, 0) => None,
        (0, waiting) => {
            warning(format!("{waiting} messages are waiting for the daemon"), "loci daemon start")
        }
        (refused, _) => {
            let place = spool.rejected_path();
            let message = format!("{refused} messages were rejected and moved to {}", place.display());
            warning(message, "loci agent list")
        }
    }
}

/// Free disk space below which the check warns.
const MIN_FREE_BYTES: u64 = 256 << 20;

fn check_disk_space(install: &Installation<'_>) -> Option<CheckResult> {
    let home = install.home.as_ref()?;
    let there = home.data.ancestors().find(|dir| dir.exists())?;
    let free = home::free_bytes(there)?;
    if free < MIN_FREE_BYTES {
        return warning(format!("only {} MB of disk space left", free >> 20), "loci archive");
    }
    ok(format!("{} MB of disk space left", free >> 20))
}
