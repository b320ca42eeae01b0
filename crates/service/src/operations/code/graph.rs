//! Renders the dependency graph, and selects types by filter.
//!
//! Does not know the output formats of the graph.

use super::code_query::{CodeQuery, at_desk};
use crate::Service;
use api::code::{CodeGraph, Drawn};
use api::{Code, Error, Handle, Request};
use code::{FORMS, Field, Filter, Graph, wild};

impl Handle<CodeGraph> for Service {
    fn handle(&self, request: &CodeGraph) -> Result<Drawn, Error> {
        code_graph(self, request)
    }
}

fn code_graph(service: &Service, request: &CodeGraph) -> Result<Drawn, Error> {
    request.check()?;
    let filter = parsed(&request.filter)?;
    at_desk(service, request.root.as_ref(), |query| {
        let graph = query.graph();
        let of = named(query, &graph, &filter);
        let form = FORMS.iter().find(|(_, name)| *name == request.form).map_or(FORMS[0].0, |(form, _)| *form);
        let picture = query.veiled(code::picture(&graph, &of, &|of| query.name(of), form));
        Ok(Drawn { types: of.len() as u64, picture, coverage: query.coverage() })
    })
}

/// Parses a filter. The error names the filter and the position of the mistake.
pub(super) fn parsed(text: &str) -> Result<Filter, Error> {
    Filter::parse(text).map_err(|error| {
        Error::new(Code::InvalidFilter, format!("invalid filter `{text}` {error}"))
            .hint("namespace:Memo.Core AND (type:*Store OR depends:Node) AND !tag:generated")
    })
}

/// The types that match a filter.
pub(super) fn named(query: &CodeQuery<'_>, graph: &Graph, filter: &Filter) -> Vec<u32> {
    let holds = |of: &u32| filter.holds(&|field, word| fits(query, graph, *of, field, word));
    (0..query.types()).filter(holds).collect()
}

/// Whether a type matches one term of a filter.
fn fits(query: &CodeQuery<'_>, graph: &Graph, of: u32, field: Field, word: &str) -> bool {
    let like = |text: &str| wild(word.as_bytes(), text.to_lowercase().as_bytes());
    let called = |of: u32| like(&query.simple_name(of)) || like(&query.name(of));
    match field {
        Field::Namespace => like(query.name(of).rsplit_once('.').map_or("", |(space, _)| space)),
        Field::Type => called(of),
        Field::Access => like(query.access_word(of)),
        Field::Tag => query.tags(of).into_iter().any(like),
        Field::Depends => graph.uses(of).iter().any(|to| called(*to)),
    }
}
