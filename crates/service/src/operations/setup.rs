//! Configures Loci in the agents on this machine by calling the setup crate.
//!
//! Does not know the agents' config files. Diffs of them are masked like any other text.

use crate::Service;
use api::setup::{SetupDone, SetupRequest};
use api::{Code, Error, Handle, Request};
use history::error::no_home;
use history::home;
use setup::Machine;

impl Handle<SetupRequest> for Service {
    fn handle(&self, request: &SetupRequest) -> Result<SetupDone, Error> {
        request.check_params()?;
        let home = self.home().ok_or_else(no_home)?;
        let machine = Machine {
            home: self.places.home.clone(),
            vars: self.places.vars.clone(),
            data: home.data,
            exe: self.exe.clone(),
        };
        let mut done = setup::run_setup(&machine, request).map_err(|error| setup_error(&error))?;
        let changes = done.agents.iter_mut().flat_map(|agent| &mut agent.changes);
        for diff in changes.filter_map(|change| change.diff.as_mut()) {
            if let Some(masker) = self.history().masker() {
                *diff = masker.mask_text(diff).into_owned();
            }
        }
        Ok(done)
    }
}

fn setup_error(error: &setup::Error) -> Error {
    match error {
        setup::Error::Io { path, error } => home::unwritable(path, error),
        setup::Error::Busy => Error::new(Code::WriterBusy, error.to_string())
            .hint("wait until it has finished, then run this again"),
    }
}
