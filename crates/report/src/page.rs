//! The page: a summary, then one section per question, each with its chart and the table of the same numbers.
//!
//! Everything from the history is escaped, and the page's policy forbids loading anything. Does not know how a number was counted.

mod sections;

use api::report::Report;
use api::terminal_text::{append_fmt, escape_html};
use record::Stamp;
use render::RenderOptions;
use render::format::{count_of, format_money, group_digits};

use crate::document::{draw_end, draw_head};
use crate::table::shorten;

/// No page is larger: the oldest sessions are left out, and the page says how many.
pub const MAX_BYTES: usize = 2_000_000;

pub fn to_html(report: &Report, options: &RenderOptions) -> String {
    let title = page_title(report, options);
    let mut out = draw_head(&title, "");
    append_fmt(
        &mut out,
        format_args!("<header>\n<h1>{title}</h1>\n{}</header>\n", draw_intro(report, options)),
    );
    out += "<main>\n";
    out += &draw_summary(report);
    let tail = draw_end("");
    let sections = sections::draw_all(report, options, MAX_BYTES - out.len() - tail.len());
    out + &sections + &tail
}

/// Escaped.
fn page_title(report: &Report, options: &RenderOptions) -> String {
    let day = |at: i64| options.clock.local_day(Stamp(at));
    let project = report
        .project
        .as_deref()
        .map_or(String::new(), |path| format!(" in {}", shorten(&options.display_path(path), 80)));
    escape_html(&format!("Coding agents{project}, {} to {}", day(report.from), day(report.to)))
}

fn draw_intro(report: &Report, options: &RenderOptions) -> String {
    let sources = if report.source.is_empty() { "All agents".to_string() } else { report.source.join(", ") };
    let mut out = format!(
        "<p>{}. Times are {}. Secrets are masked; the page loads nothing.</p>\n",
        escape_html(&shorten(&sources, 200)),
        escape_html(&options.clock.zone_name())
    );
    if report.unread > 0 {
        let places = count_of(report.unread, "place");
        append_fmt(
            &mut out,
            format_args!(
                "<p class=\"warning\">Incomplete: {places} of the history could not be read. Run <code>loci sources --problems</code>.</p>\n"
            ),
        );
    }
    for note in &report.notes {
        append_fmt(&mut out, format_args!("<p class=\"warning\">{}</p>\n", escape_html(&shorten(note, 400))));
    }
    out + &sections::draw_links()
}

fn draw_summary(report: &Report) -> String {
    let (counts, usage) = (&report.counts, &report.usage);
    let facts = [
        ("Sessions", group_digits(counts.sessions)),
        ("Turns", group_digits(counts.turns)),
        ("Tool calls", group_digits(counts.tool_calls)),
        ("Failed calls", format!("{} ({:.1}%)", group_digits(counts.errors), counts.error_rate * 100.0)),
        ("Cost", format_money(usage.cost_usd, usage.unpriced.unwrap_or(0))),
        ("Replies without a price", group_digits(usage.unpriced.unwrap_or(0))),
        ("Tokens read", group_digits(usage.input + usage.cache_read + usage.cache_write)),
        ("Tokens written", group_digits(usage.output)),
    ];
    let mut lines = String::new();
    for (name, value) in facts {
        append_fmt(&mut lines, format_args!("<div><dt>{name}</dt><dd>{value}</dd></div>\n"));
    }
    format!("<section>\n<h2 id=\"summary\">Summary</h2>\n<dl>\n{lines}</dl>\n</section>\n")
}

#[cfg(test)]
mod tests;
