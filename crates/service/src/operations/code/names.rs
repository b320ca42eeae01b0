//! Finds symbols by name, part of a name or several words, and draws the map of a tree.
//!
//! Does not choose among several candidates: it ranks the likeliest first.

use super::code_query::{CodeQuery, with_tree};
use crate::Service;
use api::code::{
    CodeMap, FindSymbols, MapDrawn, Package, PackageUse, ResolveSymbol, SearchSymbols, SymbolMatches,
};
use api::{Error, Handle, Request};
use code::MatchKind;
use code_index::{Located, NameResolution};

fn to_matches(query: &CodeQuery<'_>, found: NameResolution) -> SymbolMatches {
    let to_ref = |at: &Located| query.symbol_ref(query.to_symbol(*at));
    SymbolMatches {
        resolved: found.resolved.first().map(to_ref),
        nearly: found.candidates.iter().any(|(_, fit)| matches!(fit, MatchKind::Near(_))),
        candidates: found.candidates.iter().map(|(at, _)| to_ref(at)).collect(),
        redirected_from: found.redirected_from.map(|(old, _)| old),
        coverage: query.coverage(),
    }
}

impl Handle<FindSymbols> for Service {
    fn handle(&self, request: &FindSymbols) -> Result<SymbolMatches, Error> {
        request.check_params()?;
        with_tree(self, request.root.as_ref(), |query| {
            query.require_folder(&request.under)?;
            Ok(to_matches(query, query.find_symbols(request)))
        })
    }
}

impl Handle<ResolveSymbol> for Service {
    fn handle(&self, request: &ResolveSymbol) -> Result<SymbolMatches, Error> {
        request.check_params()?;
        with_tree(self, request.root.as_ref(), |query| {
            Ok(to_matches(query, query.resolve_name(&request.path)))
        })
    }
}

impl Handle<SearchSymbols> for Service {
    fn handle(&self, request: &SearchSymbols) -> Result<SymbolMatches, Error> {
        request.check_params()?;
        let SearchSymbols { query, limit, root } = request.clone();
        self.handle(&FindSymbols { query, limit, root, ..FindSymbols::default() })
    }
}

impl Handle<CodeMap> for Service {
    fn handle(&self, request: &CodeMap) -> Result<MapDrawn, Error> {
        request.check_params()?;
        with_tree(self, request.root.as_ref(), |query| {
            query.require_folder(&request.under)?;
            let map = query.or_record_error(query.store().map(&request.under, request.budget));
            let packages = if request.packages { list_packages(query, &request.under) } else { Vec::new() };
            Ok(MapDrawn {
                map: query.mask_text(map.text),
                tokens: map.tokens,
                budget: request.budget,
                shown: map.shown,
                total: map.total,
                packages,
                coverage: query.coverage(),
            })
        })
    }
}

fn list_packages(query: &CodeQuery<'_>, under: &str) -> Vec<Package> {
    let found = query.or_record_error(query.store().packages(under));
    let to_use = |(at, references): &(usize, u64)| PackageUse {
        path: query.mask_text(found[*at].path.clone()),
        references: *references,
    };
    let to_package = |package: &code_index::Package| Package {
        path: query.mask_text(package.path.clone()),
        files: package.files,
        lines: package.lines,
        types: package.types,
        leading: package.leading.iter().map(|name| query.mask_text(name.clone())).collect(),
        test: package.is_test,
        layer: package.layer,
        cycle: package.cycle,
        uses: package.uses.iter().map(to_use).collect(),
    };
    found.iter().map(to_package).collect()
}
