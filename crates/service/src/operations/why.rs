//! `why`: resolves what was asked about and lets `lineage` explain it.
//!
//! Does not know how lines are matched with edits.

use super::code::changes::run_git;
use super::code::code_query::{resolve_root, with_root};
use crate::Service;
use api::why::{AGENT_TRACE, Why, WhyFound};
use api::{Error, Handle, Request};
use exchange::Origins;
use lineage::agent_trace::to_trace;
use lineage::{Place, Target, explain};

impl Handle<Why> for Service {
    fn handle(&self, request: &Why) -> Result<WhyFound, Error> {
        request.check_params()?;
        let root = resolve_root(self, request.root.as_ref())?;
        let git = |args: &[&str], stdin: Vec<u8>| run_git(self, &root, args, stdin);
        let find_symbol = |name: &str| {
            with_root(self, &root, |query| {
                let symbol = query.symbol_ref(query.resolve_symbol(name)?);
                Ok(Place {
                    name: symbol.path,
                    file: symbol.file,
                    lines: Some((symbol.line, symbol.end_line)),
                })
            })
        };
        let target = Target::parse(request.target.trim(), &root, &self.cwd, &git, &find_symbol)?;
        let mut found = explain(&self.history(), &root, &git, target, request)?;
        let origins = Origins::load(self.home().as_ref());
        for step in &mut found.steps {
            let (Some(source), Some(id)) = (&step.source, &step.session_id) else { continue };
            step.device = origins.session_device(source, id);
        }
        if request.format.as_deref() == Some(AGENT_TRACE) {
            found.trace = Some(to_trace(&found, &git, self.clock.now(), env!("CARGO_PKG_VERSION")));
        }
        Ok(found)
    }
}
