//! The hint: one small object that each publication overwrites, so that a device finds out with one request whether any device has published
//! since. It is never believed: what it leads to is a list, and after a while a device lists without it.
//!
//! Does not know what was published.

use super::Space;
use crate::error::Result;
use crate::names::hint_name;
use crate::state::Listed;
use crate::storage::{Hint, StoreError};

/// A publication whose hint was lost, by a kill of its device for good or by a race, is found after this time.
const LIST_EVERY_MS: u64 = 15 * 60 * 1000;

/// What a poll has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Polled {
    /// Nobody has published since everything was read.
    Quiet,
    /// The heads must be listed. What the hint was before that, if there is one.
    List(Option<String>),
}

impl Space {
    pub(super) fn poll(&mut self, now: u64) -> Result<Polled> {
        if !self.store.has_hints() {
            return Ok(Polled::List(None));
        }
        let listed = self.state.listed()?;
        let tag = listed.as_ref().map(|listed| listed.hint.as_str());
        // If this one object is not to be had, the list decides.
        let hint = self.store.poll_hint(&hint_name(self.id), tag).unwrap_or(Hint::Missing);
        let is_fresh = listed.as_ref().is_some_and(|listed| now.abs_diff(listed.at) < LIST_EVERY_MS);
        match hint {
            Hint::Same if is_fresh && !self.is_check_due(now)? && self.state.findings()?.is_empty() => {
                // It is the object that was there when this device had read everything.
                self.is_confirmed = true;
                self.read_up_to = listed.map(|listed| listed.hint);
                Ok(Polled::Quiet)
            }
            Hint::Same => Ok(Polled::List(listed.map(|listed| listed.hint))),
            Hint::New(tag) => Ok(Polled::List(Some(tag))),
            Hint::Missing => Ok(Polled::List(None)),
        }
    }

    /// Everything was read that was there when the hint was read.
    pub(super) fn save_listed(&mut self, hint: Option<String>, now: u64) -> Result<()> {
        if let Some(hint) = &hint {
            self.state.save_listed(&Listed { hint: hint.clone(), at: now })?;
        }
        self.read_up_to = hint;
        Ok(())
    }

    /// Overwrites the hint after a publication. If nobody else has done so since this device has read everything, its own hint is nothing new
    /// to it.
    pub(super) fn put_hint(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        match self.store.put_hint(name, bytes, self.read_up_to.as_deref()) {
            Ok(Some(own)) => {
                if let Some(listed) = self.state.listed()? {
                    self.state.save_listed(&Listed { hint: own.clone(), ..listed })?;
                    self.read_up_to = Some(own);
                }
                Ok(())
            }
            // A storage that never overwrites: the others find the publication when they list.
            Ok(None) | Err(StoreError::Refused { .. } | StoreError::Exists { .. }) => {
                self.read_up_to = None;
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }
}
