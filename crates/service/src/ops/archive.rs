//! What is kept of histories that agents delete, how much room it takes, and what to remove of it.
//!
//! Only what a person asks to remove is removed. Does not know what was said.

use crate::Service;
use api::maintenance::{ArchiveRequest, Archived, Kept as Listed, bytes};
use api::{Code, Error, Handle, Request};
use history::error::homeless;
use history::home::Lock;
use history::transcripts;
use record::Stamp;
use sources::archive::{Kept, Store};

/// How many are listed.
const LARGEST: usize = 20;

impl Handle<ArchiveRequest> for Service {
    fn handle(&self, ask: &ArchiveRequest) -> Result<Archived, Error> {
        archive(self, ask)
    }
}

fn archive(service: &Service, ask: &ArchiveRequest) -> Result<Archived, Error> {
    ask.check()?;
    let store = transcripts::store(&service.history()).ok_or_else(homeless)?;
    let mut all = store.list().kept;
    let doomed = doomed(service, ask, &mut all);
    let removed: Vec<Listed> = doomed.iter().map(listed).collect();
    if !ask.dry_run && !doomed.is_empty() {
        remove(service, &store, &doomed)?;
    } else {
        all.extend(doomed);
    }
    let mut told = Archived {
        files: all.len() as u64,
        entries: all.iter().map(|kept| u64::from(kept.entries)).sum(),
        bytes: all.iter().map(|kept| kept.packed).sum(),
        budget: Some(budget(service)?),
        oldest: all.iter().map(newest).filter(|at| at.is_some()).min().map(|at| at.0),
        newest: all.iter().map(newest).max().filter(|at| at.is_some()).map(|at| at.0),
        removed,
        dry_run: ask.dry_run,
        ..Archived::default()
    };
    all.sort_by(|a, b| (b.packed, &a.path).cmp(&(a.packed, &b.path)));
    told.kept = all.iter().take(LARGEST).map(listed).collect();
    Ok(told)
}

/// How large the archive may grow before `doctor` warns. It is never cut down behind anybody's back.
pub(crate) fn budget(service: &Service) -> Result<u64, Error> {
    let Some(set) = crate::env::text(&service.places, "LOCI_ARCHIVE_BUDGET") else { return Ok(BUDGET) };
    bytes(&set).ok_or_else(|| {
        let message = format!("LOCI_ARCHIVE_BUDGET is `{set}`, which is no size");
        Error::new(Code::InvalidArgument, message).hint("a size is a number and K, M, G or T, as in 2G")
    })
}

/// Ten gigabytes: about eighty of transcripts.
const BUDGET: u64 = 10 << 30;

fn newest(kept: &Kept) -> Stamp {
    kept.sessions.iter().map(|session| session.ended_at).max().unwrap_or_default()
}

fn listed(kept: &Kept) -> Listed {
    let id = kept.sessions.first().map(|session| session.session_id.to_string());
    Listed {
        chat_id: id.unwrap_or_else(|| kept.hint.clone()),
        source: kept.source.clone(),
        file: kept.original.to_string_lossy().into_owned(),
        bytes: kept.packed,
        newest: api::search::ms(newest(kept)),
    }
}

/// Takes what is to be removed out of the list: what is too old, and the oldest until the rest is small enough.
fn doomed(service: &Service, ask: &ArchiveRequest, all: &mut Vec<Kept>) -> Vec<Kept> {
    let mut doomed = Vec::new();
    if let Some(older) = ask.older_than.as_deref().and_then(|text| service.clock.moment(text)) {
        doomed.extend(all.extract_if(.., |kept| newest(kept) < older));
    }
    if let Some(most) = ask.prune_to.as_deref().and_then(bytes) {
        all.sort_by(|a, b| (newest(b), &b.path).cmp(&(newest(a), &a.path)));
        let mut size: u64 = all.iter().map(|kept| kept.packed).sum();
        while size > most
            && let Some(oldest) = all.pop()
        {
            size -= oldest.packed;
            doomed.push(oldest);
        }
    }
    doomed
}

fn remove(service: &Service, store: &Store, doomed: &[Kept]) -> Result<(), Error> {
    let home = service.home().ok_or_else(homeless)?;
    let _lock = Lock::take(&home)?;
    for kept in doomed {
        store.remove(&kept.path).map_err(|error| Error::new(Code::ReadError, error.to_string()))?;
    }
    // What the catalogue still has of a transcript that is gone with its copy goes with the next catching up.
    Ok(())
}
