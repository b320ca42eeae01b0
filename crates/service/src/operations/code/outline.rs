//! Outlines of types and members, with their token counts and those of the source.
//!
//! Does not know the purpose of a type: that is in its note.

use super::code_query::{CodeQuery, with_tree};
use crate::Service;
use api::code::{GetMemberOutline, GetOutline, GetSource, Outlined, SourceText, Sourced, SymbolRef};
use api::{Error, Handle, Request};
use code::{Symbol, count_tokens};

impl Handle<GetOutline> for Service {
    fn handle(&self, request: &GetOutline) -> Result<Outlined, Error> {
        request.check_params()?;
        with_tree(self, request.root.as_ref(), |query| {
            code_index::OUTLINES.record(query.is_from_store());
            match query.store().file_named(&request.path) {
                Ok(Some(file)) => Ok(make_file_outline(query, file)),
                _ => Ok(make_outline(query, &query.resolve_overloads(&request.path)?)),
            }
        })
    }
}

impl Handle<GetSource> for Service {
    fn handle(&self, request: &GetSource) -> Result<Sourced, Error> {
        request.check_params()?;
        with_tree(self, request.root.as_ref(), |query| {
            let symbols = query.resolve_overloads(&request.path)?;
            let mut sourced = Sourced { resolved: query.symbol_ref(symbols[0]), ..Sourced::default() };
            let mut left = request.max_lines as usize;
            query.record_access(symbols[0].of);
            for symbol in symbols {
                let Some(card) = query.card(symbol.of) else { continue };
                for piece in query.store().source_of(&card, query.member(symbol).as_ref()) {
                    let shown = query.mask_text(&piece.text);
                    let lines: Vec<&str> = shown.lines().collect();
                    let taken = left.min(lines.len());
                    left -= taken;
                    sourced.left_out += (lines.len() - taken) as u64;
                    let (file, line, text) = (piece.file, piece.first_line, lines[..taken].join("\n"));
                    sourced.source.push(SourceText { file, line, text });
                }
            }
            sourced.source.retain(|piece| !piece.text.is_empty());
            Ok(Sourced { coverage: query.coverage(), ..sourced })
        })
    }
}

fn make_file_outline(query: &CodeQuery<'_>, file: String) -> Outlined {
    let (outline, text) = query.or_record_error(query.store().file_outline(&file));
    let resolved = SymbolRef { path: file.clone(), kind: "file".to_string(), file, ..SymbolRef::default() };
    Outlined {
        resolved,
        outline_tokens: count_tokens(&outline) as u64,
        source_tokens: count_tokens(&text) as u64,
        outline: query.mask_text(outline),
        coverage: query.coverage(),
    }
}

impl Handle<GetMemberOutline> for Service {
    fn handle(&self, request: &GetMemberOutline) -> Result<Outlined, Error> {
        let GetMemberOutline { path, root } = request.clone();
        self.handle(&GetOutline { path, root })
    }
}

/// The outline of a symbol with its overloads.
fn make_outline(query: &CodeQuery<'_>, symbols: &[Symbol]) -> Outlined {
    query.record_access(symbols[0].of);
    let mut outlined = Outlined { resolved: query.symbol_ref(symbols[0]), ..Outlined::default() };
    for symbol in symbols {
        let outline = query.outline_of(*symbol);
        let (outline_tokens, source_tokens) = query.token_counts(*symbol, &outline);
        outlined.outline_tokens += outline_tokens;
        outlined.source_tokens += source_tokens;
        outlined.outline += &outline;
    }
    Outlined { coverage: query.coverage(), ..outlined }
}
