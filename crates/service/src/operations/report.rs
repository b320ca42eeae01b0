//! Gathers a report from the views and operations that count its numbers, and from memory.
//!
//! Does not count by itself, so that a report cannot contradict `usage`, `stats`, `analyze` and `sessions`.

use crate::Service;
use api::report::{FactLine, Report, ReportRequest};
use api::search::stamp_to_ms;
use api::sessions::ListSessions;
use api::{Error, Handle};
use memory::{Fact, State};
use report::{StatedFact, Window};
use views::Format;

impl Handle<ReportRequest> for Service {
    fn handle(&self, request: &ReportRequest) -> Result<Report, Error> {
        let window = Window::new(request, self.clock)?;
        let sessions = Handle::<ListSessions>::handle(self, &window.sessions())?;
        let facts = self.load_facts()?;
        let is_within = self.fact_filter(request.project.as_deref(), window.from, window.to);
        let stated = facts.iter().filter(|fact| is_within(fact)).map(|fact| stated_fact(fact, &facts));
        let counted = report::gather_views(&window, self.clock, &mut |view, request, take| {
            Ok(self.run_view(view, request, Format::Jsonl, take)?.count_lost())
        })?;
        Ok(window.complete(counted, sessions, stated))
    }
}

fn stated_fact(fact: &Fact, all: &[Fact]) -> StatedFact {
    let replaced = fact.superseded_by.as_ref().filter(|_| fact.state == State::Superseded);
    let text_of = |id: &String| all.iter().find(|one| one.id == *id).map_or(id, |one| &one.text).clone();
    let line = FactLine {
        id: fact.id.clone(),
        kind: fact.kind.word().to_string(),
        text: fact.text.clone(),
        project: (!fact.project.is_empty()).then(|| fact.project.clone()),
        at: stamp_to_ms(fact.made_at),
        superseded_by: replaced.map(text_of),
    };
    let sources = fact.evidence.iter().map(|one| one.source.clone()).collect();
    StatedFact { line, state: fact.state.word(), sources }
}
