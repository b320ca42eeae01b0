//! The sections of the page, in their order.
//!
//! Does not count: it selects what is shown of a long list and says how much is not.

use crate::activity::day_number;
use crate::chart::{Bar, Caption, Column, Span, WEEKDAYS, draw_bars, draw_columns, draw_grid, draw_timeline};
use crate::table::{Cell, Table, shorten};
use api::report::{FactLine, Listed, Report, SessionEntry, ToolLine, UsageLine};
use api::terminal_text::{append_fmt, short_id};
use record::Stamp;
use render::RenderOptions;
use render::format::{format_money, group_digits};

/// Rows of a chart by name, and of a table by name or day.
const MAX_BARS: usize = 12;
const MAX_ROWS: usize = 400;
const NAME_COLUMNS: usize = 80;
const TITLE_COLUMNS: usize = 100;
const TEXT_COLUMNS: usize = 240;

/// Anchor and heading, in the order of the page.
const SECTIONS: &[(&str, &str)] = &[
    ("days", "Cost and tokens by day"),
    ("models", "Cost and tokens by model"),
    ("projects", "Cost and tokens by project"),
    ("activity", "Activity by weekday and hour"),
    ("tools", "Success and failure by tool"),
    ("failures", "Failures that recur"),
    ("files", "Files that change most"),
    ("decisions", "Decisions"),
    ("open", "Left open"),
    ("sessions", "Sessions"),
];

pub(super) fn draw_links() -> String {
    let link = |(id, title): &(&str, &str)| format!("<li><a href=\"#{id}\">{title}</a></li>\n");
    let links: String = SECTIONS.iter().map(link).collect();
    format!("<nav aria-label=\"Sections\">\n<ul>\n{links}</ul>\n</nav>\n")
}

/// Draws all sections; the sessions, which come last, take what is left of the budget.
pub(super) fn draw_all(report: &Report, options: &RenderOptions, budget: usize) -> String {
    let mut out = String::new();
    for (id, title) in SECTIONS {
        let body = match *id {
            "days" => draw_days(&report.days),
            "models" => draw_groups("models", "Model", &report.models, &str::to_string),
            "projects" => {
                draw_groups("projects", "Project", &report.projects, &|path| options.display_path(path))
            }
            "activity" => draw_activity(&report.activity),
            "tools" => draw_tools(report),
            "failures" => draw_failures(report, options),
            "files" => draw_files(report, options),
            "decisions" => draw_facts(&report.decisions, "decisions", options),
            "open" => draw_facts(&report.open, "open points", options),
            _ => draw_sessions(&report.sessions, options, budget.saturating_sub(out.len() + 1000)),
        };
        append_fmt(&mut out, format_args!("<section>\n<h2 id=\"{id}\">{title}</h2>\n{body}</section>\n"));
    }
    out
}

fn none(what: &str) -> String {
    format!("<p>No {what} in this period.</p>\n")
}

/// `Shown: 100 of 240 failures.` if some are left out.
fn left_out(shown: usize, total: u64, what: &str) -> String {
    if shown as u64 >= total {
        return String::new();
    }
    let rest = total - shown as u64;
    format!(
        "<p class=\"rest\">{} of {} {what}; {} are left out.</p>\n",
        group_digits(shown as u64),
        group_digits(total),
        group_digits(rest)
    )
}

fn tokens_of(line: &UsageLine) -> u64 {
    line.input + line.output + line.cache_read + line.cache_write
}

const USAGE: &[&str] = &["Cost", "Replies", "Input", "Output", "Cache read", "Cache write", "Without price"];

fn usage_cells(name: String, line: &UsageLine) -> Vec<Cell> {
    let counts = [
        line.messages,
        line.input,
        line.output,
        line.cache_read,
        line.cache_write,
        line.unpriced.unwrap_or(0),
    ];
    [Cell::Text(name), Cell::Cost(line.cost_usd, line.unpriced.unwrap_or(0))]
        .into_iter()
        .chain(counts.map(Cell::Count))
        .collect()
}

fn usage_table(
    heading: &str,
    caption: &str,
    filter: &str,
    lines: &[&UsageLine],
    name: &dyn Fn(&str) -> String,
) -> String {
    let columns = [&[heading], USAGE].concat();
    let table = Table { caption, columns: &columns, filter };
    let rows =
        lines.iter().take(MAX_ROWS).map(|line| usage_cells(shorten(&name(&line.name), NAME_COLUMNS), line));
    let shown = lines.len().min(MAX_ROWS);
    table.draw(rows) + &left_out(shown, lines.len() as u64, "lines")
}

fn money_of(line: &UsageLine) -> String {
    format_money(line.cost_usd, line.unpriced.unwrap_or(0))
}

fn draw_days(days: &[UsageLine]) -> String {
    if days.is_empty() {
        return none("replies of models");
    }
    let column = |line: &UsageLine, value: f64, shown: String| {
        Some(Column { day: day_number(&line.name)?, label: line.name.clone(), value, shown })
    };
    let shown = &days[..days.len().min(MAX_ROWS)];
    let costs: Vec<Column> =
        shown.iter().filter_map(|line| column(line, line.cost_usd, money_of(line))).collect();
    let count =
        |line: &UsageLine| (tokens_of(line) as f64, format!("{} tokens", group_digits(tokens_of(line))));
    let tokens: Vec<Column> =
        shown.iter().filter_map(|line| column(line, count(line).0, count(line).1)).collect();
    let chart = |id: &str, title: &str, columns: &[Column]| {
        draw_columns(&Caption { id, title, summary: &describe_columns(columns), key: &[] }, columns)
    };
    let lines: Vec<&UsageLine> = days.iter().collect();
    chart("days-cost", "Cost by day", &costs)
        + &chart("days-tokens", "Tokens by day, with cached ones", &tokens)
        + &usage_table("Day", "Cost and tokens by day", "", &lines, &str::to_string)
}

fn describe_columns(columns: &[Column]) -> String {
    let most = columns.iter().max_by(|a, b| a.value.total_cmp(&b.value));
    let most =
        most.map_or(String::new(), |column| format!(" The highest is {} on {}.", column.shown, column.label));
    format!("{} days.{most} The table has all numbers.", columns.len())
}

/// Charts cost, or tokens if no model has a price.
fn draw_groups(id: &str, heading: &str, lines: &[UsageLine], name: &dyn Fn(&str) -> String) -> String {
    if lines.is_empty() {
        return none("replies of models");
    }
    let mut lines: Vec<&UsageLine> = lines.iter().collect();
    lines.sort_by(|a, b| {
        b.cost_usd.total_cmp(&a.cost_usd).then(tokens_of(b).cmp(&tokens_of(a))).then(a.name.cmp(&b.name))
    });
    let has_cost = lines.iter().any(|line| line.cost_usd > 0.0);
    let bar = |line: &&UsageLine| {
        let tokens = tokens_of(line);
        let (value, shown) =
            if has_cost { (line.cost_usd, money_of(line)) } else { (tokens as f64, group_digits(tokens)) };
        Bar { label: or_unknown(name(&line.name)), parts: vec![("bar", value)], shown }
    };
    let bars: Vec<Bar> = lines.iter().take(MAX_BARS).map(bar).collect();
    let title = format!("{} by {}", if has_cost { "Cost" } else { "Tokens" }, heading.to_lowercase());
    let caption = Caption {
        id: &format!("{id}-chart"),
        title: &title,
        summary: &describe_bars(&bars, lines.len()),
        key: &[],
    };
    let caption_of_table = format!("Cost and tokens by {}", heading.to_lowercase());
    draw_bars(&caption, &bars)
        + &usage_table(heading, &caption_of_table, id, &lines, &|text| or_unknown(name(text)))
}

fn or_unknown(name: String) -> String {
    if name.trim().is_empty() { "unknown".to_string() } else { name }
}

fn describe_bars(bars: &[Bar], all: usize) -> String {
    let most =
        bars.first().map_or(String::new(), |bar| format!(" The first is {}: {}.", bar.label, bar.shown));
    format!("The first {} of {all}.{most} The table has all numbers.", bars.len())
}

fn draw_activity(rows: &[[u64; 24]]) -> String {
    let total: u64 = rows.iter().flatten().sum();
    if total == 0 {
        return none("tool calls");
    }
    let summary = format!("{} tool calls. The table has all numbers.", group_digits(total));
    let caption = Caption {
        id: "activity-chart",
        title: "Tool calls by weekday and hour",
        summary: &summary,
        key: &[],
    };
    let hours: Vec<String> = (0..24).map(|hour| format!("{hour:02}")).collect();
    let mut columns = vec!["Day"];
    columns.extend(hours.iter().map(String::as_str));
    let cells = |(name, hours): (&&str, &[u64; 24])| {
        [Cell::Text((*name).to_string())].into_iter().chain(hours.map(Cell::Count)).collect()
    };
    let table = Table { caption: "Tool calls by weekday and hour", columns: &columns, filter: "" };
    draw_grid(&caption, rows) + &table.draw(WEEKDAYS.iter().zip(rows).map(cells))
}

fn draw_tools(report: &Report) -> String {
    let tools = &report.counts.tools;
    if tools.is_empty() {
        return none("tool calls");
    }
    let bars: Vec<Bar> = tools.iter().take(MAX_BARS).map(tool_bar).collect();
    let caption = Caption {
        id: "tools-chart",
        title: "Calls by tool:",
        summary: &describe_bars(&bars, tools.len()),
        key: &[("good", "succeeded"), ("bad", "failed"), ("other", "pending or unknown")],
    };
    let columns = &["Tool", "Calls", "Succeeded", "Failed", "Pending", "Unknown", "Failure rate", "Sessions"];
    let table = Table { caption: "Calls by tool", columns, filter: "tools" };
    let rows = tools.iter().take(MAX_ROWS).map(|tool| {
        let counts = [tool.count, tool.success, tool.errors, tool.pending, tool.unknown].map(Cell::Count);
        let name = Cell::Text(or_unknown(shorten(&tool.tool, NAME_COLUMNS)));
        let tail = [Cell::Rate(tool.error_rate), Cell::Count(tool.sessions)];
        [name].into_iter().chain(counts).chain(tail).collect()
    });
    draw_bars(&caption, &bars)
        + &table.draw(rows)
        + &left_out(tools.len().min(MAX_ROWS), tools.len() as u64, "tools")
}

fn tool_bar(tool: &ToolLine) -> Bar {
    let parts = [("good", tool.success), ("bad", tool.errors), ("other", tool.pending + tool.unknown)];
    Bar {
        label: or_unknown(tool.tool.clone()),
        parts: parts.map(|(class, count)| (class, count as f64)).to_vec(),
        shown: format!("{}, {} failed", group_digits(tool.count), group_digits(tool.errors)),
    }
}

fn draw_failures(report: &Report, options: &RenderOptions) -> String {
    let failures = &report.failures;
    if failures.total == 0 {
        return none("failures that occurred twice");
    }
    let columns = &["Signature", "Tool", "Message", "Times", "Sessions", "First", "Last"];
    let table = Table { caption: "Failures by signature", columns, filter: "failures" };
    let rows = failures.listed.iter().map(|line| {
        vec![
            Cell::line(&line.signature, NAME_COLUMNS),
            Cell::line(&line.tool, NAME_COLUMNS),
            Cell::line(&line.message, TEXT_COLUMNS),
            Cell::Count(line.count),
            Cell::Count(line.sessions),
            minute(options, line.first_at),
            minute(options, line.last_at),
        ]
    });
    table.draw(rows) + &left_out(failures.listed.len(), failures.total, "failures")
}

fn draw_files(report: &Report, options: &RenderOptions) -> String {
    let files = &report.files;
    if files.total == 0 {
        return none("files that changed often");
    }
    let columns = &["File", "Edits", "Writes", "Reads", "Failed", "Sessions", "Last"];
    let table = Table { caption: "Files by number of changes", columns, filter: "files" };
    let rows = files.listed.iter().map(|line| {
        let counts = [line.edits, line.writes, line.reads, line.errors, line.sessions].map(Cell::Count);
        let file = Cell::line(&options.display_path(&line.file), 2 * NAME_COLUMNS);
        [file].into_iter().chain(counts).chain([minute(options, line.last_at)]).collect()
    });
    table.draw(rows) + &left_out(files.listed.len(), files.total, "files")
}

fn draw_facts(facts: &Listed<FactLine>, what: &str, options: &RenderOptions) -> String {
    if facts.total == 0 {
        return none(what) + "<p>None yet. Run <code>loci memory consolidate</code> to extract them.</p>\n";
    }
    let columns = &["Stated", "Kind", "Text", "State", "Project"];
    let caption = format!("{what} of memory").replacen(char::is_lowercase, &what[..1].to_uppercase(), 1);
    let table = Table { caption: &caption, columns, filter: what };
    let rows = facts.listed.iter().map(|fact| {
        let state = fact
            .superseded_by
            .as_ref()
            .map_or("in force".to_string(), |text| format!("superseded by: {text}"));
        vec![
            minute(options, fact.at),
            Cell::line(&fact.kind, NAME_COLUMNS),
            Cell::line(&fact.text, TEXT_COLUMNS),
            Cell::line(&state, TEXT_COLUMNS),
            project(options, fact.project.as_deref()),
        ]
    });
    table.draw(rows) + &left_out(facts.listed.len(), facts.total, what)
}

fn draw_sessions(sessions: &Listed<SessionEntry>, options: &RenderOptions, budget: usize) -> String {
    if sessions.total == 0 {
        return none("sessions");
    }
    let timeline = draw_timeline_of(&sessions.listed, options);
    let budget = budget.saturating_sub(timeline.len());
    let columns = &["Last message", "Session", "Agent", "Project", "Turns", "Calls", "Failed", "ID"];
    let table = Table { caption: "Sessions, newest first", columns, filter: "sessions" };
    let rows = sessions.listed.iter().map(|session| {
        let title = shorten(&session.title, TITLE_COLUMNS);
        vec![
            minute(options, session.ended_at),
            Cell::Text(if title.is_empty() { "(no title)".to_string() } else { title }),
            Cell::line(&session.source, NAME_COLUMNS),
            project(options, session.project.as_deref()),
            Cell::Count(session.turns),
            Cell::Count(session.tool_calls),
            Cell::Count(session.errors),
            Cell::line(&short_id(&session.session_id), NAME_COLUMNS),
        ]
    });
    let (html, drawn) = table.draw_within(rows, budget);
    timeline + &html + &left_out(drawn, sessions.total, "sessions")
}

/// Sessions in the timeline: more would cover each other, and take most of the page.
const MAX_SPANS: usize = 1000;

fn draw_timeline_of(sessions: &[SessionEntry], options: &RenderOptions) -> String {
    let spans: Vec<Span> =
        sessions.iter().take(MAX_SPANS).filter_map(|session| to_span(session, options)).collect();
    if spans.is_empty() {
        return String::new();
    }
    let summary = format!(
        "{} sessions by day and hour. The table has their names and times.",
        group_digits(spans.len() as u64)
    );
    let title = "When sessions took place";
    draw_timeline(&Caption { id: "timeline", title, summary: &summary, key: &[] }, &spans)
}

/// A session that goes on after midnight is drawn to the end of its first day.
fn to_span(session: &SessionEntry, options: &RenderOptions) -> Option<Span> {
    let fields = |at: i64| options.clock.local_fields(Stamp(at));
    let hours = |fields: [i64; 5]| fields[3] as f64 + fields[4] as f64 / 60.0;
    let (started, ended) = (fields(session.started_at?)?, session.ended_at.and_then(fields));
    let from = hours(started);
    let to = match ended {
        Some(ended) if ended[..3] == started[..3] => hours(ended).max(from),
        Some(_) => 24.0,
        None => from,
    };
    let day = day_number(&options.clock.local_day(Stamp(session.started_at?)))?;
    let minute = options.clock.local_minute(Stamp(session.started_at?)).unwrap_or_default();
    Some(Span { day, from, to, label: format!("{minute}: {}", shorten(&session.title, TITLE_COLUMNS)) })
}

fn minute(options: &RenderOptions, at: Option<i64>) -> Cell {
    Cell::Text(at.and_then(|at| options.clock.local_minute(Stamp(at))).unwrap_or_default())
}

fn project(options: &RenderOptions, path: Option<&str>) -> Cell {
    path.map_or(Cell::Text(String::new()), |path| Cell::line(&options.display_path(path), NAME_COLUMNS))
}
