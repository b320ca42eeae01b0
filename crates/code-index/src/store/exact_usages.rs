//! Joins usages that were found by name with the SCIP indexes of a tree, place by place.
//!
//! Does not know the format of an index or whether it still matches a file: `code` says what the indexes say of a place.

use super::usage_site::{UsageSite, UsageSites, usage_site};
use code::scip::{Declaration, IndexPlaces, SymbolVerdicts, TreeIndexes, UsagePosition, Verdict};
use code::{Certainty, Codebase, Resolver, Span, UsageFinder};
use std::collections::BTreeMap;

/// Adds the references of the indexes to what was found by name. A place that refers to another symbol in an index is dropped, unless
/// a use of that may reach this one; where an index has nothing, what was found remains.
pub(super) fn join_exact_usages(
    code: &Codebase,
    places: IndexPlaces<'_>,
    declared: Option<Declaration>,
    found: &mut UsageSites,
) {
    let (exact, problems) = TreeIndexes::load(code, places);
    found.problems = problems.iter().map(ToString::to_string).collect();
    let Some(declared) = declared else { return };
    let Some((verdicts, references)) = SymbolVerdicts::load(&exact, declared) else { return };
    let resolver = Resolver::new(code);
    let finder = UsageFinder::new(code, &resolver);
    let mut join = UsageJoin { declared, verdicts, finder, files: number_files(code) };
    let sites = std::mem::take(&mut found.sites).into_iter();
    found.sites = sites.filter_map(|site| join.rate_site(site)).collect();
    found.sites.extend(references.iter().map(|(place, verdict)| to_site(code, place, verdict)));
}

fn number_files(code: &Codebase) -> BTreeMap<&str, u32> {
    code.files.iter().zip(0..).map(|(file, number)| (file.path.as_str(), number)).collect()
}

/// A reference that an index has.
fn to_site(code: &Codebase, place: &UsagePosition, verdict: &Verdict) -> UsageSite {
    let certainty = if *verdict == Verdict::Confirmed { Certainty::Exact } else { Certainty::Likely };
    usage_site(&code.files[place.file as usize], (place.span.from, place.span.to), certainty)
}

struct UsageJoin<'x> {
    declared: Declaration,
    verdicts: SymbolVerdicts<'x>,
    finder: UsageFinder<'x>,
    files: BTreeMap<&'x str, u32>,
}

impl UsageJoin<'_> {
    /// A usage that was found by name, with its certainty in view of the indexes; `None` if they refute it.
    fn rate_site(&mut self, site: UsageSite) -> Option<UsageSite> {
        let certainty = match self.verdict_on(&site) {
            Verdict::Silent | Verdict::Ambiguous => site.certainty,
            Verdict::Confirmed => Certainty::Exact,
            Verdict::Other(targets) => site.certainty.max(self.best_through(&targets)?),
        };
        Some(UsageSite { certainty, ..site })
    }

    fn verdict_on(&mut self, site: &UsageSite) -> Verdict {
        let span = Span { from: site.at, to: site.end };
        let file = self.files.get(site.file.as_str());
        file.map_or(Verdict::Silent, |file| self.verdicts.verdict_at(*file, span))
    }

    /// The best certainty with which a use of one of other declarations may reach the member.
    fn best_through(&self, targets: &[Declaration]) -> Option<Certainty> {
        let member = self.declared.member?;
        let members = targets.iter().filter_map(|target| target.member);
        members.filter_map(|target| self.finder.certainty_through(target, member)).min()
    }
}
