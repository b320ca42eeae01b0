//! Outlines of types and members, with their token counts and those of the source.
//!
//! Does not know the purpose of a type: that is in its note.

use super::code_query::{CodeQuery, with_tree};
use crate::Service;
use api::code::{GetMemberOutline, GetOutline, Outlined};
use api::{Code, Error, Handle, Request};
use code::Symbol;

impl Handle<GetOutline> for Service {
    fn handle(&self, request: &GetOutline) -> Result<Outlined, Error> {
        request.check_params()?;
        with_tree(self, request.root.as_ref(), |query| {
            Ok(make_outline(query, query.resolve_symbol(&request.path)?))
        })
    }
}

impl Handle<GetMemberOutline> for Service {
    fn handle(&self, request: &GetMemberOutline) -> Result<Outlined, Error> {
        request.check_params()?;
        with_tree(self, request.root.as_ref(), |query| {
            let symbol = query.resolve_symbol(&request.path)?;
            if symbol.member.is_none() {
                let name = query.name(symbol.of);
                return Err(Error::new(Code::InvalidArgument, format!("`{name}` is a type, not a member"))
                    .hint(format!("loci code outline {name}"))
                    .hint(format!("loci code resolve '{name}.*'")));
            }
            Ok(make_outline(query, symbol))
        })
    }
}

fn make_outline(query: &CodeQuery<'_>, symbol: Symbol) -> Outlined {
    let outline = query.outline_of(symbol);
    let (outline_tokens, source_tokens) = query.token_counts(symbol, &outline);
    query.record_access(symbol.of);
    Outlined {
        resolved: query.symbol_ref(symbol),
        outline_tokens,
        source_tokens,
        outline,
        coverage: query.coverage(),
    }
}
