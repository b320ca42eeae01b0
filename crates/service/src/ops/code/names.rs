//! Which symbol a name means, or may mean.
//!
//! Does not choose among several: it puts the likeliest first.

use super::code_query::at_desk;
use crate::Service;
use api::code::{Meant, ResolveSymbol, SearchSymbols};
use api::{Error, Handle, Request};
use code::{Fit, Symbol};

impl Handle<ResolveSymbol> for Service {
    fn handle(&self, ask: &ResolveSymbol) -> Result<Meant, Error> {
        resolve_symbol(self, ask)
    }
}

fn resolve_symbol(service: &Service, ask: &ResolveSymbol) -> Result<Meant, Error> {
    ask.check()?;
    at_desk(service, ask.root.as_ref(), |desk| {
        let meant = desk.meant(&ask.path);
        let told = |(symbol, _): &(Symbol, Fit)| desk.told(*symbol);
        Ok(Meant {
            resolved: meant.resolved.map(|symbol| desk.told(symbol)),
            nearly: meant.candidates.iter().any(|(_, fit)| matches!(fit, Fit::Near(_))),
            candidates: meant.candidates.iter().map(told).collect(),
            coverage: desk.coverage(),
        })
    })
}

impl Handle<SearchSymbols> for Service {
    fn handle(&self, ask: &SearchSymbols) -> Result<Meant, Error> {
        search_symbols(self, ask)
    }
}

fn search_symbols(service: &Service, ask: &SearchSymbols) -> Result<Meant, Error> {
    ask.check()?;
    at_desk(service, ask.root.as_ref(), |desk| {
        let found = desk.search(&ask.query, ask.limit as usize);
        let candidates = found.iter().map(|(symbol, _)| desk.told(*symbol)).collect();
        Ok(Meant { resolved: None, candidates, nearly: false, coverage: desk.coverage() })
    })
}
