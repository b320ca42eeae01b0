//! Lists secrets found in transcripts by type and location. Never returns their values.
//!
//! Reads the transcripts unmasked. Does not remove anything: masking does not undo the leak, so a secret should be rotated.

use crate::Service;
use api::maintenance::{SecretKind, SecretPlace, Secrets, SecretsRequest};
use api::search::stamp_to_ms;
use api::{Error, Handle, Request, ViewRequest};
use history::error::read_error;
use history::masked_read::{self, RawRecord};
use history::scan::{ScanResult, by_time_down, scan_rows};
use history::scope;
use mask::Masker;
use record::Row;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use views::BOTH;

impl Handle<SecretsRequest> for Service {
    fn handle(&self, request: &SecretsRequest) -> Result<Secrets, Error> {
        request.check_params()?;
        request.source.iter().try_for_each(|name| scope::check_source(name))?;
        let scan_request = ViewRequest {
            all_projects: request.project.is_none(),
            project: request.project.clone(),
            source: request.source.clone(),
            ..ViewRequest::default()
        };
        let (library, rows) = scan_rows(&self.history(), &scan_request, BOTH, by_time_down, |_, _| true)?;
        let (masker, unread) = (Masker::new([0; 32]), library.outcome.count_lost() as u64);
        let mut search = SecretScan { masker, request, kinds: BTreeMap::new(), places: Vec::new(), unread };
        for row in rows {
            search.scan_row(&library, &row.map_err(read_error)?);
        }
        Ok(search.into_response())
    }
}

/// The secret types named by the placeholders in a text, in order.
fn placeholder_kinds(text: &str) -> Vec<String> {
    let parts = text.split("⟦secret:").skip(1);
    parts.filter_map(|part| part.split_once(':')).map(|(kind, _)| kind.to_string()).collect()
}

struct SecretScan<'a> {
    masker: Masker,
    request: &'a SecretsRequest,
    kinds: BTreeMap<String, (u64, BTreeSet<String>)>,
    places: Vec<SecretPlace>,
    /// Records, lines and transcripts that could not be read.
    unread: u64,
}

impl SecretScan<'_> {
    fn scan_row(&mut self, library: &ScanResult, row: &Row) {
        let (id, kinds) = match masked_read::read_raw(library, row) {
            Ok(RawRecord::Message(message)) => {
                (message.id, self.secret_kinds(&message.text, Masker::mask_text))
            }
            Ok(RawRecord::Call(call)) => {
                let mut kinds = self.secret_kinds(&call.input, Masker::mask_json);
                kinds.extend(
                    call.output.iter().flat_map(|output| self.secret_kinds(output, Masker::mask_json)),
                );
                // An error that exists only as text has no output.
                let error = call.error.iter().filter(|_| call.output.is_none());
                kinds.extend(error.flat_map(|error| self.secret_kinds(error, Masker::mask_text)));
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
                    created_at: stamp_to_ms(row.at),
                });
            }
        }
    }

    /// Types of the secrets that masking replaces. Placeholders already in the text do not count.
    fn secret_kinds(
        &self,
        text: &str,
        masked: impl for<'t> Fn(&Masker, &'t str) -> Cow<'t, str>,
    ) -> Vec<String> {
        let Cow::Owned(masked) = masked(&self.masker, text) else { return Vec::new() };
        let mut kinds = placeholder_kinds(&masked);
        for old in placeholder_kinds(text) {
            kinds.iter().position(|kind| *kind == old).map(|at| kinds.swap_remove(at));
        }
        kinds
    }

    fn into_response(self) -> Secrets {
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
