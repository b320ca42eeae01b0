//! The summary of a report on a terminal: totals and the top of each list.
//!
//! Does not draw: the page with the charts is in `report`.

use crate::Render;
use crate::format::{count_of, format_money, group_digits};
use crate::options::RenderOptions;
use api::report::{Listed, Report, UsageLine};
use api::terminal_text::{append_fmt, one_line, truncate_width};

/// Lines of each list.
const MAX_LINES: usize = 5;
const TEXT_WIDTH: usize = 80;

impl Render for Report {
    fn render(&self, options: &RenderOptions) -> String {
        let (from, to) = (options.format_date(Some(self.from)), options.format_date(Some(self.to)));
        let mut out = format!("# {from} to {to}\n\n{}", render_totals(self));
        out.extend(self.notes.iter().map(|note| format!("{}\n", one_line(note))));
        out += &render_costs("Cost by model", &self.models, &str::to_string);
        out += &render_costs("Cost by project", &self.projects, &|path| options.display_path(path));
        let failed =
            |line: &api::report::FailureLine| format!("{} × {}: {}", line.count, line.tool, line.message);
        out += &render_list("Failures that recur", &self.failures, failed);
        let changed = |line: &api::report::FileLine| {
            format!("{} × {}", line.edits + line.writes, options.display_path(&line.file))
        };
        out += &render_list("Files that change most", &self.files, changed);
        out += &render_list("Decisions", &self.decisions, |fact| fact.text.clone());
        out += &render_list("Left open", &self.open, |fact| fact.text.clone());
        out + "\n`loci report --file report.html` writes a page with charts and all lists.\n"
    }
}

fn render_totals(report: &Report) -> String {
    let (counts, usage) = (&report.counts, &report.usage);
    let parts = [
        count_of(counts.sessions, "session"),
        count_of(counts.turns, "turn"),
        count_of(counts.tool_calls, "call"),
        format!("{} failed", group_digits(counts.errors)),
        format_money(usage.cost_usd, usage.unpriced.unwrap_or(0)),
        format!("{} tokens", group_digits(usage.input + usage.output + usage.cache_read + usage.cache_write)),
    ];
    format!("{}\n", parts.join(", "))
}

fn render_costs(heading: &str, lines: &[UsageLine], name: &dyn Fn(&str) -> String) -> String {
    let mut lines: Vec<&UsageLine> = lines.iter().collect();
    lines.sort_by(|a, b| b.cost_usd.total_cmp(&a.cost_usd).then(a.name.cmp(&b.name)));
    let listed = Listed { total: lines.len() as u64, listed: lines };
    render_list(heading, &listed, |line| {
        format!("{} {}", format_money(line.cost_usd, line.unpriced.unwrap_or(0)), name(&line.name))
    })
}

fn render_list<T>(heading: &str, lines: &Listed<T>, line: impl Fn(&T) -> String) -> String {
    if lines.total == 0 {
        return String::new();
    }
    let mut out = format!("\n## {heading}\n\n");
    for one in lines.listed.iter().take(MAX_LINES) {
        append_fmt(&mut out, format_args!("- {}\n", truncate_width(&one_line(&line(one)), TEXT_WIDTH)));
    }
    let rest = lines.total.saturating_sub(MAX_LINES as u64);
    if rest > 0 {
        append_fmt(&mut out, format_args!("- … and {} more\n", group_digits(rest)));
    }
    out
}
