//! Resolves a name to a symbol, and searches symbols.
//!
//! Does not choose among several candidates: it ranks the likeliest first.

use super::code_query::with_tree;
use crate::Service;
use api::code::{ResolveSymbol, SearchSymbols, SymbolMatches};
use api::{Error, Handle, Request};
use code::{Located, MatchKind};

impl Handle<ResolveSymbol> for Service {
    fn handle(&self, request: &ResolveSymbol) -> Result<SymbolMatches, Error> {
        request.check_params()?;
        with_tree(self, request.root.as_ref(), |query| {
            let found = query.resolve_name(&request.path);
            let to_ref = |at: &Located| query.symbol_ref(query.to_symbol(*at));
            Ok(SymbolMatches {
                resolved: found.resolved.first().map(to_ref),
                nearly: found.candidates.iter().any(|(_, fit)| matches!(fit, MatchKind::Near(_))),
                candidates: found.candidates.iter().map(|(at, _)| to_ref(at)).collect(),
                redirected_from: found.redirected_from.map(|(old, _)| old),
                coverage: query.coverage(),
            })
        })
    }
}

impl Handle<SearchSymbols> for Service {
    fn handle(&self, request: &SearchSymbols) -> Result<SymbolMatches, Error> {
        request.check_params()?;
        with_tree(self, request.root.as_ref(), |query| {
            let found = query.search(&request.query, request.limit as usize);
            let candidates = found.iter().map(|symbol| query.symbol_ref(*symbol)).collect();
            Ok(SymbolMatches { candidates, coverage: query.coverage(), ..SymbolMatches::default() })
        })
    }
}
