//! Resolves a name to a symbol, and searches symbols.
//!
//! Does not choose among several candidates: it ranks the likeliest first.

use super::code_query::with_tree;
use crate::Service;
use api::code::{ResolveSymbol, SearchSymbols, SymbolMatches};
use api::{Error, Handle, Request};
use code::{MatchKind, Symbol};

impl Handle<ResolveSymbol> for Service {
    fn handle(&self, request: &ResolveSymbol) -> Result<SymbolMatches, Error> {
        request.check_params()?;
        with_tree(self, request.root.as_ref(), |query| {
            let resolution = query.resolve_path(&request.path);
            let to_ref = |(symbol, _): &(Symbol, MatchKind)| query.symbol_ref(*symbol);
            Ok(SymbolMatches {
                resolved: resolution.resolved.map(|symbol| query.symbol_ref(symbol)),
                nearly: resolution.candidates.iter().any(|(_, fit)| matches!(fit, MatchKind::Near(_))),
                candidates: resolution.candidates.iter().map(to_ref).collect(),
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
            let candidates = found.iter().map(|(symbol, _)| query.symbol_ref(*symbol)).collect();
            Ok(SymbolMatches { resolved: None, candidates, nearly: false, coverage: query.coverage() })
        })
    }
}
