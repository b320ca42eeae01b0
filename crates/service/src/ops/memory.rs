//! What is remembered of sessions: made here from what is there, listed, shown, changed by a person, forgotten, taken
//! elsewhere.
//!
//! Does not know how a name is made of a prompt: that is `memory`.

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
use history::error::homeless;
use history::home::Lock;
use memory::{Applied, Finding, Remembered, Store, derive};

impl Handle<Consolidate> for Service {
    fn handle(&self, ask: &Consolidate) -> Result<Consolidated, Error> {
        consolidate(self, ask)
    }
}

fn consolidate(service: &Service, ask: &Consolidate) -> Result<Consolidated, Error> {
    ask.check()?;
    let home = service.home().ok_or_else(homeless)?;
    // A rehearsal keeps nobody waiting.
    let lease = if ask.dry_run { None } else { Some(Lock::take_at(&home, &home.memory_lock())?) };
    let mut done = run(service, ask)?;
    // A model takes its time, and whom it is asked for is settled question by question.
    drop(lease);
    model::improve(service, ask, &mut done)?;
    Ok(done)
}

/// Has a model improve what a run has derived.
pub(crate) fn improve(service: &Service, done: &mut Consolidated) -> Result<(), Error> {
    model::improve(service, &Consolidate::default(), done)
}

/// Does it; whoever calls holds the lease.
pub(crate) fn run(service: &Service, ask: &Consolidate) -> Result<Consolidated, Error> {
    carry_out(service, ask, Plan::new(service, ask)?)
}

/// Derives a session anew, though nothing was said in it since.
fn again(service: &Service, session_id: &str) -> Result<Consolidated, Error> {
    let home = service.home().ok_or_else(homeless)?;
    let _lease = Lock::take_at(&home, &home.memory_lock())?;
    let ask = Consolidate { chat_ids: vec![session_id.to_string()], ..Consolidate::default() };
    carry_out(service, &ask, Plan::again(service, &ask)?)
}

fn carry_out(service: &Service, ask: &Consolidate, plan: Plan) -> Result<Consolidated, Error> {
    let mut done = Consolidated {
        unchanged: plan.unchanged,
        forgotten: plan.forgotten,
        dry_run: ask.dry_run,
        ..Consolidated::default()
    };
    let mut sink = Sink::new(service, ask.dry_run)?;
    done.unread = plan.each(service, &mut |digest| {
        let finding = derive(digest).finding(digest, service.clock.now());
        let (applied, session) = sink.take(&finding)?;
        count(&mut done, applied, session);
        Ok(())
    })?;
    if let Sink::Store(mut store) = sink {
        stale::mark(&mut store)?;
        // Only a run over everything counts as one: what was named by hand says nothing of the rest.
        if ask.is_of_everything() {
            store.set_last_run(service.clock.now()).map_err(|error| memory_store::told(&error))?;
        }
    }
    Ok(done)
}

/// Who takes what was found: one that keeps it, or one that only says what would be kept.
enum Sink {
    Store(Store),
    /// With what is known already, if anything is.
    DryRun(Option<Store>),
}

impl Sink {
    fn new(service: &Service, dry_run: bool) -> Result<Sink, Error> {
        if dry_run {
            memory_store::look(service).map(Sink::DryRun)
        } else {
            memory_store::open(service).map(Sink::Store)
        }
    }

    fn take(&mut self, finding: &Finding) -> Result<(Applied, Option<Remembered>), Error> {
        let taken = match self {
            Sink::DryRun(None) => return Ok(memory::first(finding)),
            Sink::DryRun(Some(store)) => store.rehearse(finding),
            Sink::Store(store) => store.apply(finding).and_then(|applied| {
                let session = store.session(&finding.source, &finding.session_id)?;
                Ok((applied, session))
            }),
        };
        taken.map_err(|error| memory_store::told(&error))
    }
}

fn count(done: &mut Consolidated, applied: Applied, session: Option<Remembered>) {
    done.facts += applied.facts;
    done.in_review += applied.in_review;
    match (applied.is_new, applied.changed) {
        (true, _) => done.named += 1,
        (_, true) => done.changed += 1,
        _ => done.unchanged += 1,
    }
    if applied.is_new || applied.changed {
        done.sessions.extend(session.map(|session| told(session, applied.facts)));
    }
}

fn told(session: Remembered, facts: u64) -> SessionNamed {
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
