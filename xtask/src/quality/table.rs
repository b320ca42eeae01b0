//! Prints hits among the first results, by kind and in total.
//!
//! Does not know the goals.

use super::set::Outcome;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Default)]
pub(crate) struct Figures {
    pub(crate) queries: usize,
    pub(crate) first: f64,
    pub(crate) five: f64,
    pub(crate) mrr: f64,
}

pub(crate) fn figures<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> Figures {
    let mut sum = Figures::default();
    for outcome in outcomes {
        sum.queries += 1;
        sum.first += f64::from(u8::from(outcome.within(1)));
        sum.five += f64::from(u8::from(outcome.within(5)));
        sum.mrr += outcome.rank.map_or(0.0, |rank| 1.0 / rank as f64);
    }
    let all = sum.queries.max(1) as f64;
    Figures { first: sum.first / all, five: sum.five / all, mrr: sum.mrr / all, ..sum }
}

pub(crate) fn print(title: &str, outcomes: &[Outcome]) -> Figures {
    println!("\n{title:<24} {:>7} {:>7} {:>7} {:>6}", "queries", "hit@1", "hit@5", "MRR");
    let mut kinds: BTreeMap<&str, Vec<&Outcome>> = BTreeMap::new();
    for outcome in outcomes {
        kinds.entry(&outcome.kind).or_default().push(outcome);
    }
    for (kind, of) in kinds {
        line(kind, figures(of));
    }
    let total = figures(outcomes);
    line("total", total);
    total
}

fn line(name: &str, figures: Figures) {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let Figures { queries, first, five, mrr } = figures;
    println!("{name:<24} {queries:>7} {:>7} {:>7} {mrr:>6.3}", percent(first), percent(five));
}
