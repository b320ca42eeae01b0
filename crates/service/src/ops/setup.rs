//! Wires Loci into the agents of this machine: hands the question on to the room that knows their files.
//!
//! Does not know those files. What is shown of them is masked like any other text.

use crate::Service;
use api::setup::{SetupRequest, SetupDone};
use api::{Code, Error, Handle, Request};
use history::error::homeless;
use history::home;
use setup::Machine;

impl Handle<SetupRequest> for Service {
    fn handle(&self, ask: &SetupRequest) -> Result<SetupDone, Error> {
        setup(self, ask)
    }
}

fn setup(service: &Service, ask: &SetupRequest) -> Result<SetupDone, Error> {
    ask.check()?;
    let home = service.home().ok_or_else(homeless)?;
    let machine = Machine {
        home: service.places.home.clone(),
        vars: service.places.vars.clone(),
        data: home.data,
        exe: service.exe.clone(),
    };
    let mut done = setup::setup(&machine, ask).map_err(|error| told(&error))?;
    let changes = done.agents.iter_mut().flat_map(|agent| &mut agent.changes);
    for diff in changes.filter_map(|change| change.diff.as_mut()) {
        if let Some(veil) = service.history().masker() {
            *diff = veil.text(diff).into_owned();
        }
    }
    Ok(done)
}

fn told(error: &setup::Error) -> Error {
    match error {
        setup::Error::Io { path, error } => home::unwritable(path, error),
        setup::Error::Busy => {
            Error::new(Code::WriterBusy, error.to_string()).hint("wait for it to end and run this again")
        }
    }
}
