//! Configures Loci in the agents on this machine by calling the setup crate, and the tools they get.
//!
//! Does not know the agents' config files. Diffs of them are masked like any other text.

use crate::Service;
use api::setup::{SetupDone, SetupRequest, ToolsetChoice};
use api::{Code, Error, Handle, Request, tool_schema};
use config::edit;
use history::error::{newer_store, no_home};
use history::home;
use setup::Machine;

impl Handle<SetupRequest> for Service {
    fn handle(&self, request: &SetupRequest) -> Result<SetupDone, Error> {
        request.check_params()?;
        let home = self.home().ok_or_else(no_home)?;
        let toolsets = (!request.remove).then(|| self.choose_toolsets(request)).transpose()?;
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
        done.toolsets = toolsets;
        Ok(done)
    }
}

impl Service {
    /// How many agents are set up to use Loci.
    pub fn count_agents(&self) -> Result<usize, Error> {
        let home = self.home().ok_or_else(no_home)?;
        setup::count_agents(&home.data).map_err(|error| setup_error(&error))
    }

    /// The toolsets that agents get. Those of the request are stored, unless it only asks what would change.
    fn choose_toolsets(&self, request: &SetupRequest) -> Result<ToolsetChoice, Error> {
        let sets = config::toolsets(&self.places, &request.toolsets);
        let mut choice = tool_schema::describe_choice(&sets);
        if request.toolsets.is_empty() || sets == config::toolsets(&self.places, &[]) {
            return Ok(choice);
        }
        let value = serde_json::to_string(&choice.chosen).unwrap_or_default();
        choice.change = Some(edit::change_value(&self.places, TOOLSETS, &value, request.dry_run)?);
        Ok(choice)
    }
}

/// The setting that names the toolsets.
const TOOLSETS: &str = "mcp.toolsets";

fn setup_error(error: &setup::Error) -> Error {
    match error {
        setup::Error::Io { path, error } => home::unwritable(path, error),
        setup::Error::Newer { .. } => newer_store(error),
        setup::Error::Busy => Error::new(Code::WriterBusy, error.to_string())
            .hint("wait until it has finished, then run this again"),
    }
}
