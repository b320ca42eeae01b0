//! Resolves a name to a symbol, and searches symbols.
//!
//! Does not choose among several candidates: it ranks the likeliest first.

use super::code_query::at_desk;
use crate::Service;
use api::code::{Meant, ResolveSymbol, SearchSymbols};
use api::{Error, Handle, Request};
use code::{Fit, Symbol};

impl Handle<ResolveSymbol> for Service {
    fn handle(&self, request: &ResolveSymbol) -> Result<Meant, Error> {
        resolve_symbol(self, request)
    }
}

fn resolve_symbol(service: &Service, request: &ResolveSymbol) -> Result<Meant, Error> {
    request.check()?;
    at_desk(service, request.root.as_ref(), |query| {
        let resolution = query.meant(&request.path);
        let to_ref = |(symbol, _): &(Symbol, Fit)| query.told(*symbol);
        Ok(Meant {
            resolved: resolution.resolved.map(|symbol| query.told(symbol)),
            nearly: resolution.candidates.iter().any(|(_, fit)| matches!(fit, Fit::Near(_))),
            candidates: resolution.candidates.iter().map(to_ref).collect(),
            coverage: query.coverage(),
        })
    })
}

impl Handle<SearchSymbols> for Service {
    fn handle(&self, request: &SearchSymbols) -> Result<Meant, Error> {
        search_symbols(self, request)
    }
}

fn search_symbols(service: &Service, request: &SearchSymbols) -> Result<Meant, Error> {
    request.check()?;
    at_desk(service, request.root.as_ref(), |query| {
        let found = query.search(&request.query, request.limit as usize);
        let candidates = found.iter().map(|(symbol, _)| query.told(*symbol)).collect();
        Ok(Meant { resolved: None, candidates, nearly: false, coverage: query.coverage() })
    })
}
