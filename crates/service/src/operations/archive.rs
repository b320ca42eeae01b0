//! Lists the archived copies of transcripts that agents delete, reports their size and prunes them on request.
//!
//! Nothing is removed without an explicit request. Does not know the contents of the transcripts.

use crate::Service;
use api::maintenance::{ArchiveRequest, Archived, ArchivedTranscript as Listed, parse_size};
use api::{Code, Error, Handle, Request};
use history::error::no_home;
use history::home::Lock;
use history::transcripts;
use record::Stamp;
use sources::archive::{ArchivedTranscript, Store};

/// How many copies the response lists, largest first.
const MAX_LISTED: usize = 20;

impl Handle<ArchiveRequest> for Service {
    fn handle(&self, request: &ArchiveRequest) -> Result<Archived, Error> {
        request.check_params()?;
        let store = transcripts::archive_store(&self.history()).ok_or_else(no_home)?;
        let mut all = store.list_archived().archived;
        let to_remove = select_removals(self, request, &mut all);
        let removed: Vec<Listed> = to_remove.iter().map(|kept| to_listed(self, kept)).collect();
        if !request.dry_run && !to_remove.is_empty() {
            remove_copies(self, &store, &to_remove)?;
        } else {
            all.extend(to_remove);
        }
        let mut response = Archived {
            files: all.len() as u64,
            entries: all.iter().map(|kept| u64::from(kept.entries)).sum(),
            bytes: all.iter().map(|kept| kept.packed).sum(),
            budget: Some(archive_budget(self)?),
            oldest: all.iter().map(newest_event).filter(|at| at.is_some()).min().map(|at| at.0),
            newest: all.iter().map(newest_event).max().filter(|at| at.is_some()).map(|at| at.0),
            removed,
            dry_run: request.dry_run,
            ..Archived::default()
        };
        all.sort_by(|a, b| (b.packed, &a.path).cmp(&(a.packed, &b.path)));
        response.kept = all.iter().take(MAX_LISTED).map(|kept| to_listed(self, kept)).collect();
        Ok(response)
    }
}

/// Size at which `doctor` warns. The archive is never pruned automatically.
pub(crate) fn archive_budget(service: &Service) -> Result<u64, Error> {
    let Some(set) = config::env::text_var(&service.places, "LOCI_ARCHIVE_BUDGET") else {
        return Ok(DEFAULT_BUDGET);
    };
    parse_size(&set).ok_or_else(|| {
        let message = format!("LOCI_ARCHIVE_BUDGET: invalid size `{set}`");
        Error::new(Code::InvalidArgument, message).hint("use a number with K, M, G or T, for example 2G")
    })
}

/// Ten gigabytes hold about eighty gigabytes of transcripts.
const DEFAULT_BUDGET: u64 = 10 << 30;

fn newest_event(kept: &ArchivedTranscript) -> Stamp {
    kept.sessions.iter().map(|session| session.ended_at).max().unwrap_or_default()
}

fn to_listed(service: &Service, kept: &ArchivedTranscript) -> Listed {
    let masked = |text: &str| service.history().mask_text(text);
    let id = kept.sessions.first().map(|session| session.session_id.to_string());
    Listed {
        chat_id: masked(&id.unwrap_or_else(|| kept.hint.clone())),
        source: kept.source.clone(),
        file: masked(&kept.original.to_string_lossy()),
        bytes: kept.packed,
        newest: api::search::stamp_to_ms(newest_event(kept)),
    }
}

/// Moves the copies to remove out of `all`: those older than `older_than`, then the oldest until the rest fits `prune_to`.
fn select_removals(
    service: &Service,
    request: &ArchiveRequest,
    all: &mut Vec<ArchivedTranscript>,
) -> Vec<ArchivedTranscript> {
    let mut to_remove = Vec::new();
    if let Some(older) = request.older_than.as_deref().and_then(|text| service.clock.parse_time(text)) {
        to_remove.extend(all.extract_if(.., |kept| newest_event(kept) < older));
    }
    if let Some(most) = request.prune_to.as_deref().and_then(parse_size) {
        all.sort_by(|a, b| (newest_event(b), &b.path).cmp(&(newest_event(a), &a.path)));
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

fn remove_copies(service: &Service, store: &Store, to_remove: &[ArchivedTranscript]) -> Result<(), Error> {
    let home = service.home().ok_or_else(no_home)?;
    let _lock = Lock::acquire(&home)?;
    let removed = store.remove_copies(to_remove.iter().map(|kept| kept.path.as_path()));
    removed.map_err(|error| Error::new(Code::ReadError, error.to_string()))?;
    // The next catch-up removes the catalogue rows of transcripts that no longer have a copy.
    Ok(())
}
