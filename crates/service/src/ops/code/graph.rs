//! Who depends on whom, drawn; and which types a filter names.
//!
//! Does not know how a picture is drawn.

use super::code_query::{CodeQuery, at_desk};
use crate::Service;
use api::code::{CodeGraph, Drawn};
use api::{Code, Error, Handle, Request};
use code::{FORMS, Field, Filter, Graph, wild};

impl Handle<CodeGraph> for Service {
    fn handle(&self, ask: &CodeGraph) -> Result<Drawn, Error> {
        code_graph(self, ask)
    }
}

fn code_graph(service: &Service, ask: &CodeGraph) -> Result<Drawn, Error> {
    ask.check()?;
    let filter = parsed(&ask.filter)?;
    at_desk(service, ask.root.as_ref(), |desk| {
        let graph = desk.graph();
        let of = named(desk, &graph, &filter);
        let form = FORMS.iter().find(|(_, name)| *name == ask.form).map_or(FORMS[0].0, |(form, _)| *form);
        let picture = desk.veiled(code::picture(&graph, &of, &|of| desk.name(of), form));
        Ok(Drawn { types: of.len() as u64, picture, coverage: desk.coverage() })
    })
}

/// A filter, or where it is wrong: the line again, with a mark below the place.
pub(super) fn parsed(text: &str) -> Result<Filter, Error> {
    Filter::parse(text).map_err(|error| {
        Error::new(Code::InvalidFilter, format!("the filter `{text}` cannot be read {error}"))
            .hint("namespace:Memo.Core AND (type:*Store OR depends:Node) AND !tag:generated")
    })
}

/// The types that a filter names.
pub(super) fn named(desk: &CodeQuery<'_>, graph: &Graph, filter: &Filter) -> Vec<u32> {
    let holds = |of: &u32| filter.holds(&|field, word| fits(desk, graph, *of, field, word));
    (0..desk.types()).filter(holds).collect()
}

/// Whether a word of a filter fits a type.
fn fits(desk: &CodeQuery<'_>, graph: &Graph, of: u32, field: Field, word: &str) -> bool {
    let like = |text: &str| wild(word.as_bytes(), text.to_lowercase().as_bytes());
    let called = |of: u32| like(&desk.simple_name(of)) || like(&desk.name(of));
    match field {
        Field::Namespace => like(desk.name(of).rsplit_once('.').map_or("", |(space, _)| space)),
        Field::Type => called(of),
        Field::Access => like(desk.access_word(of)),
        Field::Tag => desk.tags(of).into_iter().any(like),
        Field::Depends => graph.uses(of).iter().any(|to| called(*to)),
    }
}
