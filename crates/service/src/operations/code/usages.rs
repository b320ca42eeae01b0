//! Usages of a type or a member by line, each with its certainty.
//!
//! Does not know how references are resolved.

use super::code_query::{CodeQuery, line_of, with_tree};
use crate::Service;
use api::code::{FileUsages, FindUsages, Usage, UsagesFound};
use api::{Error, Handle, Request};
use code::Certainty;
use code_index::{FileFilter, Relation, SiteFilter, UsageSite};

impl Handle<FindUsages> for Service {
    fn handle(&self, request: &FindUsages) -> Result<UsagesFound, Error> {
        request.check_params()?;
        with_tree(self, request.root.as_ref(), |query| {
            query.require_folder(&request.under)?;
            let symbols = query.resolve_overloads(&request.path)?;
            let named = code_index::RELATIONS.iter().find(|(name, _)| *name == request.relation);
            let (relation, depth) = (named.map_or(Relation::Usages, |it| it.1), request.depth as u32);
            let mut all: Vec<UsageSite> =
                symbols.iter().flat_map(|symbol| query.find_related(*symbol, relation, depth)).collect();
            code_index::keep_best_sites(&mut all);
            let filter = to_filter(request);
            all.retain(|each| filter.files.accepts(&each.file));
            let found = all.len();
            all.retain(|each| filter.accepts(each));
            if found > all.len() {
                let (left, least) = (found - all.len(), filter.least.name());
                query.add_note(format!("{left} more places are less certain than `{least}`"));
            }
            let possible = all.iter().filter(|each| each.certainty == Certainty::Possible).count() as u64;
            // by certainty first and tests last, so that the limit drops what matters least
            all.sort_by_cached_key(|it| {
                (it.certainty, code_index::is_test_path(&it.file), it.file.clone(), it.at)
            });
            let (limit, listed) = (request.max_results as usize, !request.by_file);
            let has_value = symbols.iter().filter_map(|it| query.member(*it));
            let has_value = has_value.into_iter().any(|member| code_index::is_assignable(member.kind));
            let is_write = |it: &UsageSite| {
                has_value && code_index::is_assigned(&it.file, &query.file_text(&it.file), (it.at, it.end))
            };
            let shown = all.iter().take(if listed { limit } else { 0 });
            let counted = code_index::count_by_file(&all).into_iter().take(if listed { 0 } else { limit });
            Ok(UsagesFound {
                resolved: query.symbol_ref(symbols[0]),
                symbols: symbols.len() as u64,
                relation: request.relation.clone(),
                total: all.len() as u64,
                possible,
                usages: shown.map(|each| Usage { write: is_write(each), ..to_usage(query, each) }).collect(),
                files: counted.map(|(file, usages)| FileUsages { file: file.to_owned(), usages }).collect(),
                coverage: query.coverage(),
            })
        })
    }
}

fn to_filter(request: &FindUsages) -> SiteFilter<'_> {
    let named = |it: &Certainty| request.certainty.as_deref() == Some(it.name());
    let least = [Certainty::Exact, Certainty::Certain, Certainty::Likely].into_iter().find(named);
    let least = least.unwrap_or(Certainty::Possible);
    let files = FileFilter { under: &request.under, without_tests: request.without_tests };
    SiteFilter { least, files }
}

/// Lines of context for masking: a private key of 8,192 bits has a hundred lines.
const MASK_CONTEXT_LINES: usize = 110;

pub(super) fn to_usage(query: &CodeQuery<'_>, each: &UsageSite) -> Usage {
    let text = query.file_text(&each.file);
    let line = line_of(&text, each.at as usize);
    let before = (line as usize).saturating_sub(MASK_CONTEXT_LINES);
    let upto: Vec<&str> = text.lines().take(line as usize).skip(before).collect();
    // Masked together with the lines above: the last line of a key alone is not recognised.
    let masked = query.mask_text(upto.join("\n"));
    let shown = masked.lines().last().unwrap_or_default();
    Usage {
        file: each.file.clone(),
        line,
        // Masked before truncation: half a secret is not recognised.
        text: query.mask_text(shown.trim()).chars().take(200).collect(),
        within: each.within.clone(),
        certainty: each.certainty.name().to_string(),
        write: false,
    }
}
