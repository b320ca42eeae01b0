//! Renders the dependency graph, and selects types by filter.
//!
//! Does not know the output formats of the graph.

use super::code_query::{CodeQuery, with_tree};
use crate::Service;
use api::code::{CodeGraph, GraphDrawn};
use api::{Code, Error, Handle, Request};
use code::{DIAGRAM_FORMATS, Field, Filter, Graph, wildcard_matches};

impl Handle<CodeGraph> for Service {
    fn handle(&self, request: &CodeGraph) -> Result<GraphDrawn, Error> {
        request.check_params()?;
        let filter = parse_filter(&request.filter)?;
        with_tree(self, request.root.as_ref(), |query| {
            let graph = query.dependency_graph();
            let of = select_types(query, &graph, &filter);
            let form = DIAGRAM_FORMATS
                .iter()
                .find(|(_, name)| *name == request.form)
                .map_or(DIAGRAM_FORMATS[0].0, |(form, _)| *form);
            let picture = query.mask_text(code::render_diagram(&graph, &of, &|of| query.name(of), form));
            Ok(GraphDrawn { types: of.len() as u64, picture, coverage: query.coverage() })
        })
    }
}

/// Parses a filter; a name alone means the types of this name. The error names the filter and the position of the mistake.
pub(super) fn parse_filter(text: &str) -> Result<Filter, Error> {
    let is_name =
        !text.trim().is_empty() && text.trim().chars().all(|c| c.is_alphanumeric() || "_.*?".contains(c));
    let meant = if is_name { format!("type:{}", text.trim()) } else { text.to_owned() };
    Filter::parse(&meant).map_err(|error| {
        let message = format!("invalid filter `{text}` {error}");
        Error::new(Code::InvalidFilter, message)
            .mistake(error.position as u64 + 1, error.hint)
            .hint("namespace:Memo.Core AND (type:*Store OR depends:Node) AND !tag:generated")
    })
}

/// The types that match a filter.
pub(super) fn select_types(query: &CodeQuery<'_>, graph: &Graph, filter: &Filter) -> Vec<u32> {
    let holds = |of: &u32| filter.matches(&|field, word| matches_term(query, graph, *of, field, word));
    (0..query.number_all_types()).filter(holds).collect()
}

/// Whether a type matches one term of a filter.
fn matches_term(query: &CodeQuery<'_>, graph: &Graph, of: u32, field: Field, word: &str) -> bool {
    let like = |text: &str| wildcard_matches(word.as_bytes(), text.to_lowercase().as_bytes());
    let called = |of: u32| like(&query.simple_name(of)) || like(&query.name(of));
    match field {
        Field::Namespace => like(query.name(of).rsplit_once('.').map_or("", |(space, _)| space)),
        Field::Type => called(of),
        Field::Access => like(query.access_word(of)),
        Field::Tag => query.file_kinds(of).into_iter().any(like),
        Field::Depends => graph.uses(of).iter().any(|to| called(*to)),
    }
}
