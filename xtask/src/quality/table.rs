//! Prints hits among the first results, by kind and in total.
//!
//! Does not know the goals.

use super::set::Outcome;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Default)]
pub(crate) struct HitRates {
    pub(crate) queries: usize,
    pub(crate) first: f64,
    pub(crate) five: f64,
    pub(crate) mrr: f64,
}

pub(crate) fn compute_rates<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> HitRates {
    let mut sum = HitRates::default();
    for outcome in outcomes {
        sum.queries += 1;
        sum.first += f64::from(u8::from(outcome.is_within(1)));
        sum.five += f64::from(u8::from(outcome.is_within(5)));
        sum.mrr += outcome.rank.map_or(0.0, |rank| 1.0 / rank as f64);
    }
    let all = sum.queries.max(1) as f64;
    HitRates { first: sum.first / all, five: sum.five / all, mrr: sum.mrr / all, ..sum }
}

pub(crate) fn print_table(title: &str, outcomes: &[Outcome]) -> HitRates {
    println!("\n{title:<24} {:>7} {:>7} {:>7} {:>6}", "queries", "hit@1", "hit@5", "MRR");
    let mut kinds: BTreeMap<&str, Vec<&Outcome>> = BTreeMap::new();
    for outcome in outcomes {
        kinds.entry(&outcome.kind).or_default().push(outcome);
    }
    for (kind, of) in kinds {
        print_row(kind, compute_rates(of));
    }
    let total = compute_rates(outcomes);
    print_row("total", total);
    total
}

fn print_row(name: &str, figures: HitRates) {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let HitRates { queries, first, five, mrr } = figures;
    println!("{name:<24} {queries:>7} {:>7} {:>7} {mrr:>6.3}", percent(first), percent(five));
}
