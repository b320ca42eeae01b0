//! Index, memory, queue and daemon status. Reads every store and creates none.
//!
//! Does not judge the figures: that is `doctor`.

use super::index;
use super::interrupted_edits::all_interrupted;
use crate::{Service, memory_store};
use api::status::{DaemonState, History, Model, Remembers, Status, StatusRequest, Waiting};
use api::{Error, Handle, Request};
use history::error::{no_home, store_error};
use history::home::Home;
use history::{catalogue_cache, freshness};
use llm::Ledger;
use mailbox::{Mailbox, Spool, State};
use std::collections::BTreeMap;

impl Handle<StatusRequest> for Service {
    fn handle(&self, request: &StatusRequest) -> Result<Status, Error> {
        request.check_params()?;
        let home = self.home().ok_or_else(no_home)?;
        Ok(Status {
            version: env!("CARGO_PKG_VERSION").to_string(),
            history: history_status(self, &home)?,
            memory: memory_status(self)?,
            model: model_status(self, &home),
            messages: mailbox_status(&home)?,
            daemon: daemon_status(self),
            sizes: store_sizes(&home),
            interrupted_edits: all_interrupted(self),
            data: home.data.to_string_lossy().into_owned(),
            cache: home.cache.to_string_lossy().into_owned(),
        })
    }
}

fn history_status(service: &Service, home: &Home) -> Result<History, Error> {
    let trees = std::fs::read_dir(home.code()).into_iter().flatten().flatten();
    let code_trees = trees.filter(|entry| entry.path().extension().is_some_and(|e| e == "db")).count() as u64;
    let Some(reader) = catalogue_cache::open_catalogue(&service.history()) else {
        return Ok(History { code_trees, ..History::default() });
    };
    let (transcripts, sessions, events) = reader.count_totals().map_err(store_error)?;
    let as_of = reader.meta_value(freshness::CAUGHT_UP).map_err(store_error)?;
    Ok(History { indexed: true, transcripts, sessions, events, as_of, code_trees })
}

fn memory_status(service: &Service) -> Result<Remembers, Error> {
    let Some(store) = memory_store::open_existing(service)? else { return Ok(Remembers::default()) };
    let store_failed = |error: memory::Error| memory_store::store_error(&error);
    let (sessions, facts) = store.load_all().map_err(store_failed)?;
    let last_run = store.last_run().map_err(store_failed)?;
    Ok(Remembers {
        sessions: sessions.len() as u64,
        facts: facts.len() as u64,
        in_review: facts.iter().filter(|fact| fact.state == memory::State::Review).count() as u64,
        last_run: last_run.is_some().then_some(last_run.0),
    })
}

fn model_status(service: &Service, home: &Home) -> Option<Model> {
    let ledger = Ledger::open_existing(&home.ledger()).ok()??;
    let now = service.clock.now();
    let closed = ledger.closed_endpoints(now).ok()?;
    Some(Model {
        tokens_today: ledger.tokens_used(now).ok()?,
        parked: ledger.unfinished_jobs().ok()?.iter().filter(|job| job.state == "parked").count() as u64,
        closed: closed.iter().map(|one| format!("{} until {}", one.name, one.until)).collect(),
    })
}

fn mailbox_status(home: &Home) -> Result<Waiting, Error> {
    let spooled = Spool::new(&home.spool()).count_waiting();
    let failed = |error: mailbox::Error| super::mailbox::mailbox_error(&error);
    let Some(store) = Mailbox::open_existing(&home.mailbox()).map_err(failed)? else {
        return Ok(Waiting { spooled, ..Waiting::default() });
    };
    let counts = store.count_by_state().map_err(failed)?;
    let of = |wanted: State| counts.iter().find(|(state, _)| *state == wanted).map_or(0, |(_, n)| *n);
    Ok(Waiting {
        agents: store.list_agents().map_err(failed)?.len() as u64,
        waiting: of(State::Waiting),
        running: of(State::Running),
        answered: of(State::Answered),
        failed: of(State::Failed),
        spooled,
    })
}

/// Daemon state from the callback that the interface registered.
pub(crate) fn daemon_status(service: &Service) -> DaemonState {
    let state = service.daemon.as_ref().map(|query| query()).unwrap_or_default();
    serde_json::from_value(state).unwrap_or_default()
}

fn store_sizes(home: &Home) -> BTreeMap<String, u64> {
    let own = index::file_sizes(home);
    let kept = |name: &str| {
        ["", "-wal"].iter().map(|end| index::size_of_path(&home.data.join(format!("{name}{end}")))).sum()
    };
    BTreeMap::from([
        ("archive".to_string(), own.archive_bytes),
        ("catalogue".to_string(), own.catalogue_bytes),
        ("code".to_string(), index::size_of_path(&home.code())),
        ("index".to_string(), own.index_bytes),
        ("ledger".to_string(), kept("ledger.db")),
        ("memory".to_string(), kept("memory.db")),
        ("messages".to_string(), kept("post.db")),
    ])
}
