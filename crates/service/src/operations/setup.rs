//! Configures Loci in the agents on this machine by calling the setup crate.
//!
//! Does not know the agents' config files. Diffs of them are masked like any other text.

use crate::Service;
use api::setup::{SetupDone, SetupRequest};
use api::{Code, Error, Handle, Request};
use history::error::homeless;
use history::home;
use setup::Machine;

impl Handle<SetupRequest> for Service {
    fn handle(&self, request: &SetupRequest) -> Result<SetupDone, Error> {
        setup(self, request)
    }
}

fn setup(service: &Service, request: &SetupRequest) -> Result<SetupDone, Error> {
    request.check()?;
    let home = service.home().ok_or_else(homeless)?;
    let machine = Machine {
        home: service.places.home.clone(),
        vars: service.places.vars.clone(),
        data: home.data,
        exe: service.exe.clone(),
    };
    let mut done = setup::setup(&machine, request).map_err(|error| told(&error))?;
    let changes = done.agents.iter_mut().flat_map(|agent| &mut agent.changes);
    for diff in changes.filter_map(|change| change.diff.as_mut()) {
        if let Some(masker) = service.history().masker() {
            *diff = masker.text(diff).into_owned();
        }
    }
    Ok(done)
}

fn told(error: &setup::Error) -> Error {
    match error {
        setup::Error::Io { path, error } => home::unwritable(path, error),
        setup::Error::Busy => Error::new(Code::WriterBusy, error.to_string())
            .hint("wait until it has finished, then run this again"),
    }
}
