//! Tokens and cost by day, model, project or agent.
//!
//! Does not know prices.

use super::ListScreen;
use crate::document::Document;
use crate::filters::Filters;
use crate::ink::Ink;
use crate::request::{Answer, Query, UsageLine};
use crate::rows::{Choosable, Order, Rows};
use render::RenderOptions;
use render::format::{count_of, format_money, group_digits};

const GROUPINGS: &[&str] = &["day", "week", "month", "model", "project", "source"];

#[derive(Default)]
pub(crate) struct Usage {
    pub(crate) rows: Rows<UsageLine>,
    detail: Document,
    grouping: usize,
}

impl Usage {
    pub(crate) fn grouping(&self) -> &'static str {
        GROUPINGS[self.grouping]
    }

    /// Whether the lines are a series over time, newest first.
    pub(crate) fn is_series(&self) -> bool {
        self.grouping < 3
    }
}

impl UsageLine {
    /// The value of the grouping.
    pub(crate) fn group(&self) -> &str {
        let all = [&self.day, &self.week, &self.month, &self.model, &self.project, &self.source];
        all.into_iter().flatten().next().map_or("", String::as_str)
    }
}

pub(crate) fn total_tokens(line: &UsageLine) -> u64 {
    line.input + line.output + line.cache_read + line.cache_write
}

fn order() -> Order<UsageLine> {
    Order { key: UsageLine::group, heading: Box::new(|_| None) }
}

impl ListScreen for Usage {
    fn request(&self, filters: &Filters) -> Option<Query> {
        Some(Query::Usage { by: self.grouping(), filters: filters.clone() })
    }

    fn accept(&mut self, query: &Query, answer: Answer, _: &RenderOptions) {
        let (Query::Usage { by, .. }, Answer::Usage(lines)) = (query, answer) else { return };
        if *by == self.grouping() {
            self.rows.replace(lines, &order());
        }
    }

    fn list(&mut self) -> &mut dyn Choosable {
        &mut self.rows
    }

    fn show_detail(&mut self, _: &Filters, _: &RenderOptions) -> Option<Query> {
        self.detail = self.rows.selected().map_or_else(Document::default, describe);
        None
    }

    fn detail(&self) -> &Document {
        &self.detail
    }

    fn detail_mut(&mut self) -> &mut Document {
        &mut self.detail
    }

    fn next_variant(&mut self) -> bool {
        self.grouping = (self.grouping + 1) % GROUPINGS.len();
        self.rows = Rows::default();
        true
    }

    fn summary(&self) -> String {
        let cost: f64 = self.rows.items().iter().filter_map(|line| line.cost_usd).sum();
        let unpriced = self.rows.items().iter().filter_map(|line| line.unpriced).sum();
        let tokens: u64 = self.rows.items().iter().map(total_tokens).sum();
        let lines = count_of(self.rows.len() as u64, self.grouping());
        format!("{lines} · {} · {}", count_of(tokens, "token"), format_money(cost, unpriced))
    }

    fn empty_text(&self) -> String {
        "no token counts in this part of the history".to_string()
    }
}

fn describe(line: &UsageLine) -> Document {
    let mut document = Document::default();
    document.push_text(line.group(), Ink::Bold);
    let counts = [
        ("replies", line.messages),
        ("input", line.input),
        ("output", line.output),
        ("cache read", line.cache_read),
        ("cache write", line.cache_write),
    ];
    for (name, count) in counts {
        document.push(vec![(format!("{name:<12}"), Ink::Dim), (group_digits(count), Ink::Plain)]);
    }
    document.push(vec![(format!("{:<12}", "cost"), Ink::Dim), (line.money(), Ink::Plain)]);
    document
}
