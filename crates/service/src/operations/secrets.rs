//! Lists secrets found in transcripts by type and location. Never returns their values.
//!
//! Reads the transcripts unmasked. Does not remove anything: masking does not undo the leak, so a secret should be rotated.

use super::records::BOTH;
use crate::Service;
use api::maintenance::{SecretKind, SecretPlace, Secrets, SecretsRequest};
use api::search::ms;
use api::{Error, Handle, Request, ViewRequest};
use history::error::read_error;
use history::masked_read::{self, Raw};
use history::scan::{Library, by_time_down, gather};
use history::scope;
use mask::Masker;
use record::Row;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

impl Handle<SecretsRequest> for Service {
    fn handle(&self, request: &SecretsRequest) -> Result<Secrets, Error> {
        secrets(self, request)
    }
}

fn secrets(service: &Service, request: &SecretsRequest) -> Result<Secrets, Error> {
    request.check()?;
    request.source.iter().try_for_each(|name| scope::known_source(name))?;
    let scan_request = ViewRequest {
        all_projects: request.project.is_none(),
        project: request.project.clone(),
        source: request.source.clone(),
        ..ViewRequest::default()
    };
    let (library, rows) = gather(&service.history(), &scan_request, BOTH, by_time_down, |_, _| true)?;
    let (masker, unread) = (Masker::new([0; 32]), library.outcome.lost() as u64);
    let mut search = Search { masker, request, kinds: BTreeMap::new(), places: Vec::new(), unread };
    for row in rows {
        search.row(&library, &row.map_err(read_error)?);
    }
    Ok(search.finish())
}

/// The secret types named by the placeholders in a text, in order.
fn placeholders(text: &str) -> Vec<String> {
    let parts = text.split("⟦secret:").skip(1);
    parts.filter_map(|part| part.split_once(':')).map(|(kind, _)| kind.to_string()).collect()
}

struct Search<'a> {
    masker: Masker,
    request: &'a SecretsRequest,
    kinds: BTreeMap<String, (u64, BTreeSet<String>)>,
    places: Vec<SecretPlace>,
    /// Records, lines and transcripts that could not be read.
    unread: u64,
}

impl Search<'_> {
    fn row(&mut self, library: &Library, row: &Row) {
        let (id, kinds) = match masked_read::raw(library, row) {
            Ok(Raw::Message(message)) => (message.id, self.kinds(&message.text, Masker::text)),
            Ok(Raw::Call(call)) => {
                let mut kinds = self.kinds(&call.input, Masker::json);
                kinds.extend(call.output.iter().flat_map(|output| self.kinds(output, Masker::json)));
                // An error that exists only as text has no output.
                let error = call.error.iter().filter(|_| call.output.is_none());
                kinds.extend(error.flat_map(|error| self.kinds(error, Masker::text)));
                (call.id, kinds)
            }
            Err(_) => {
                self.unread += 1;
                return;
            }
        };
        let transcript = &library.transcripts[row.file as usize];
        let session = library.session(row);
        for name in kinds {
            if !self.request.kind.is_empty() && !self.request.kind.contains(&name) {
                continue;
            }
            let kind = self.kinds.entry(name.clone()).or_default();
            kind.0 += 1;
            kind.1.insert(session.session_id.to_string());
            if (self.places.len() as u64) < self.request.limit {
                self.places.push(SecretPlace {
                    chat_id: session.session_id.to_string(),
                    message_id: id.clone(),
                    source: session.source.to_string(),
                    project: (!session.project.is_empty()).then(|| session.project.to_string()),
                    file: transcript.path.to_string_lossy().into_owned(),
                    kind: name,
                    created_at: ms(row.at),
                });
            }
        }
    }

    /// Types of the secrets that masking replaces. Placeholders already in the text do not count.
    fn kinds(&self, text: &str, masked: impl for<'t> Fn(&Masker, &'t str) -> Cow<'t, str>) -> Vec<String> {
        let Cow::Owned(masked) = masked(&self.masker, text) else { return Vec::new() };
        let mut kinds = placeholders(&masked);
        for old in placeholders(text) {
            kinds.iter().position(|kind| *kind == old).map(|at| kinds.swap_remove(at));
        }
        kinds
    }

    fn finish(self) -> Secrets {
        let one = |(kind, (count, chats)): (String, (u64, BTreeSet<String>))| SecretKind {
            kind,
            count,
            chats: chats.len() as u64,
        };
        let mut found: Vec<SecretKind> = self.kinds.into_iter().map(one).collect();
        found.sort_by(|a, b| (b.count, &a.kind).cmp(&(a.count, &b.kind)));
        Secrets { found, places: self.places, unread: self.unread }
    }
}
