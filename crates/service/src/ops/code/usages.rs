//! Where a type or a member is mentioned, line by line, and how sure that is.
//!
//! Does not know how a name is looked up.

use super::code_query::{CodeQuery, at_desk, line_of};
use crate::Service;
use api::code::{CERTAINTIES, FindUsages, Usage, Used};
use api::{Error, Handle, Request};
use code::{Certainty, Mentioned};

impl Handle<FindUsages> for Service {
    fn handle(&self, ask: &FindUsages) -> Result<Used, Error> {
        find_usages(self, ask)
    }
}

fn find_usages(service: &Service, ask: &FindUsages) -> Result<Used, Error> {
    ask.check()?;
    at_desk(service, ask.root.as_ref(), |desk| {
        let symbol = desk.one(&ask.path)?;
        let mut all = desk.mentions(symbol);
        all.retain(|each| is_sure_enough(each.certainty, ask.certainty.as_deref()));
        let total = all.len() as u64;
        let possible = all.iter().filter(|each| each.certainty == Certainty::Possible).count() as u64;
        // what is sure is worth more than what comes first
        all.sort_by(|one, other| {
            (one.certainty, &one.file, one.at).cmp(&(other.certainty, &other.file, other.at))
        });
        all.truncate(ask.max_results as usize);
        Ok(Used {
            resolved: desk.told(symbol),
            total,
            possible,
            usages: all.iter().map(|each| told(desk, each)).collect(),
            coverage: desk.coverage(),
        })
    })
}

fn is_sure_enough(certainty: Certainty, least: Option<&str>) -> bool {
    let place = |word: &str| CERTAINTIES.iter().position(|known| *known == word);
    least.is_none_or(|least| place(certainty.name()) <= place(least))
}

/// A private key of 8,192 bits has a hundred lines.
const ABOVE: usize = 110;

pub(super) fn told(desk: &CodeQuery<'_>, each: &Mentioned) -> Usage {
    let text = desk.text(&each.file);
    let line = line_of(&text, each.at as usize);
    let before = (line as usize).saturating_sub(ABOVE);
    let upto: Vec<&str> = text.lines().take(line as usize).skip(before).collect();
    // Masked with what stands above it: the last line of a key is not known as one.
    let masked = desk.veiled(upto.join("\n"));
    let shown = masked.lines().last().unwrap_or_default();
    Usage {
        file: each.file.clone(),
        line,
        // Masked before it is cut: half a secret is not known as one.
        text: desk.veiled(shown.trim()).chars().take(200).collect(),
        within: each.within.clone(),
        certainty: each.certainty.name().to_string(),
    }
}
