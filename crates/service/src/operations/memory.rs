//! Memory of sessions: consolidates, lists, shows, edits, forgets, exports and imports it.
//!
//! Does not know how a name is derived from a prompt: that is `memory`.

mod change;
mod digest;
mod document;
mod forget;
mod list;
mod model;
mod named;
mod show;
mod stale;

use crate::{Service, memory_store};
use api::memory::{Consolidate, Consolidated, SessionNamed};
use api::{Error, Handle, Request};
use digest::Plan;
use history::error::no_home;
use history::home::Lock;
use memory::{ApplyOutcome, Finding, SessionMemory, Store, derive_memory};

impl Handle<Consolidate> for Service {
    fn handle(&self, request: &Consolidate) -> Result<Consolidated, Error> {
        request.check_params()?;
        let home = self.home().ok_or_else(no_home)?;
        // A dry run does not write and needs no lock.
        let lease = if request.dry_run { None } else { Some(Lock::acquire_at(&home, &home.memory_lock())?) };
        let (mut done, store) = consolidate_locked(self, request)?;
        // Model calls are slow; the ledger leases each job separately, so the lock is released first.
        drop(lease);
        model::improve_sessions(self, request, store, &mut done)?;
        Ok(done)
    }
}

/// Improves the derived memory of a run with the configured model.
pub(crate) fn improve_with_model(
    service: &Service,
    store: Store,
    done: &mut Consolidated,
) -> Result<(), Error> {
    model::improve_sessions(service, &Consolidate::default(), store, done)
}

/// Consolidates. The caller holds the memory lock. Returns what was written to: in a dry run a copy in memory.
pub(crate) fn consolidate_locked(
    service: &Service,
    request: &Consolidate,
) -> Result<(Consolidated, Store), Error> {
    execute_plan(service, request, Plan::new(service, request)?)
}

/// Derives a session again even if it has no new messages.
fn derive_again(service: &Service, session_id: &str) -> Result<Consolidated, Error> {
    let home = service.home().ok_or_else(no_home)?;
    let _lease = Lock::acquire_at(&home, &home.memory_lock())?;
    let request = Consolidate { chat_ids: vec![session_id.to_string()], ..Consolidate::default() };
    execute_plan(service, &request, Plan::including_unchanged(service, &request)?).map(|(done, _)| done)
}

fn execute_plan(
    service: &Service,
    request: &Consolidate,
    plan: Plan,
) -> Result<(Consolidated, Store), Error> {
    let mut done = Consolidated {
        unchanged: plan.unchanged,
        forgotten: plan.forgotten,
        dry_run: request.dry_run,
        ..Consolidated::default()
    };
    let mut store = memory_store::open_for_run(service, request.dry_run)?;
    done.unread = plan.for_each_digest(service, &mut |digest| {
        let finding = derive_memory(digest).into_finding(digest, service.clock.now());
        let (applied, session) = apply_finding(&mut store, &finding)?;
        count_applied(&mut done, applied, session);
        Ok(())
    })?;
    stale::mark_stale_facts(&mut store)?;
    if !request.dry_run {
        stale::compare_with_code(service, &store)?;
    }
    store.mark_superseded().map_err(|error| memory_store::store_error(&error))?;
    // Only a run over all sessions sets the last-run time: explicitly named sessions say nothing about the rest.
    if request.covers_all_sessions() {
        store.set_last_run(service.clock.now()).map_err(|error| memory_store::store_error(&error))?;
    }
    Ok((done, store))
}

fn apply_finding(
    store: &mut Store,
    finding: &Finding,
) -> Result<(ApplyOutcome, Option<SessionMemory>), Error> {
    let taken = store
        .apply_finding(finding)
        .and_then(|applied| Ok((applied, store.session(&finding.source, &finding.session_id)?)));
    taken.map_err(|error| memory_store::store_error(&error))
}

fn count_applied(done: &mut Consolidated, applied: ApplyOutcome, session: Option<SessionMemory>) {
    done.facts += applied.facts;
    done.in_review += applied.in_review;
    match (applied.is_new, applied.changed) {
        (true, _) => done.named += 1,
        (_, true) => done.changed += 1,
        _ => done.unchanged += 1,
    }
    if applied.is_new || applied.changed {
        done.sessions.extend(session.map(|session| to_session_named(session, applied.facts)));
    }
}

fn to_session_named(session: SessionMemory, facts: u64) -> SessionNamed {
    SessionNamed {
        chat_id: session.session_id,
        source: session.source,
        project: (!session.project.is_empty()).then_some(session.project),
        name: session.name.text,
        named_by: session.name.by.word().to_string(),
        tags: session.tags.into_keys().collect(),
        facts,
    }
}
