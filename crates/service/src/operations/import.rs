//! Imports histories by calling the history crate.
//!
//! Does not know their form.

use crate::Service;
use api::import::{HistoryImported, ImportRequest};
use api::{Error, Handle, Request};
use history::error::no_home;

impl Handle<ImportRequest> for Service {
    fn handle(&self, request: &ImportRequest) -> Result<HistoryImported, Error> {
        request.check_params()?;
        let home = self.home().ok_or_else(no_home)?;
        history::import::import_file(&self.history(), &home, &self.cwd.join(&request.file), request.dry_run)
    }
}
