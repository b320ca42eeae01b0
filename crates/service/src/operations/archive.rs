//! Lists the archived copies of transcripts that agents delete, reports their size and prunes them on request.
//!
//! Nothing is removed without an explicit request. Does not know the contents of the transcripts.

use crate::Service;
use api::maintenance::{ArchiveRequest, Archived, Kept as Listed, bytes};
use api::{Code, Error, Handle, Request};
use history::error::homeless;
use history::home::Lock;
use history::transcripts;
use record::Stamp;
use sources::archive::{Kept, Store};

/// How many copies the response lists, largest first.
const LARGEST: usize = 20;

impl Handle<ArchiveRequest> for Service {
    fn handle(&self, request: &ArchiveRequest) -> Result<Archived, Error> {
        archive(self, request)
    }
}

fn archive(service: &Service, request: &ArchiveRequest) -> Result<Archived, Error> {
    request.check()?;
    let store = transcripts::store(&service.history()).ok_or_else(homeless)?;
    let mut all = store.list().kept;
    let to_remove = doomed(service, request, &mut all);
    let removed: Vec<Listed> = to_remove.iter().map(listed).collect();
    if !request.dry_run && !to_remove.is_empty() {
        remove(service, &store, &to_remove)?;
    } else {
        all.extend(to_remove);
    }
    let mut response = Archived {
        files: all.len() as u64,
        entries: all.iter().map(|kept| u64::from(kept.entries)).sum(),
        bytes: all.iter().map(|kept| kept.packed).sum(),
        budget: Some(budget(service)?),
        oldest: all.iter().map(newest).filter(|at| at.is_some()).min().map(|at| at.0),
        newest: all.iter().map(newest).max().filter(|at| at.is_some()).map(|at| at.0),
        removed,
        dry_run: request.dry_run,
        ..Archived::default()
    };
    all.sort_by(|a, b| (b.packed, &a.path).cmp(&(a.packed, &b.path)));
    response.kept = all.iter().take(LARGEST).map(listed).collect();
    Ok(response)
}

/// Size at which `doctor` warns. The archive is never pruned automatically.
pub(crate) fn budget(service: &Service) -> Result<u64, Error> {
    let Some(set) = crate::env::text(&service.places, "LOCI_ARCHIVE_BUDGET") else { return Ok(BUDGET) };
    bytes(&set).ok_or_else(|| {
        let message = format!("LOCI_ARCHIVE_BUDGET is `{set}`, which is not a size");
        Error::new(Code::InvalidArgument, message).hint("a size is a number and K, M, G or T, as in 2G")
    })
}

/// Ten gigabytes hold about eighty gigabytes of transcripts.
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

/// Moves the copies to remove out of `all`: those older than `older_than`, then the oldest until the rest fits `prune_to`.
fn doomed(service: &Service, request: &ArchiveRequest, all: &mut Vec<Kept>) -> Vec<Kept> {
    let mut to_remove = Vec::new();
    if let Some(older) = request.older_than.as_deref().and_then(|text| service.clock.moment(text)) {
        to_remove.extend(all.extract_if(.., |kept| newest(kept) < older));
    }
    if let Some(most) = request.prune_to.as_deref().and_then(bytes) {
        all.sort_by(|a, b| (newest(b), &b.path).cmp(&(newest(a), &a.path)));
        let mut size: u64 = all.iter().map(|kept| kept.packed).sum();
        while size > most
            && let Some(oldest) = all.pop()
        {
            size -= oldest.packed;
            to_remove.push(oldest);
        }
    }
    to_remove
}

fn remove(service: &Service, store: &Store, to_remove: &[Kept]) -> Result<(), Error> {
    let home = service.home().ok_or_else(homeless)?;
    let _lock = Lock::take(&home)?;
    for kept in to_remove {
        store.remove(&kept.path).map_err(|error| Error::new(Code::ReadError, error.to_string()))?;
    }
    // The next catch-up removes the catalogue rows of transcripts that no longer have a copy.
    Ok(())
}
