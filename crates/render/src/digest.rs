//! A digest as Markdown, to be read on a terminal, mailed or pasted into a report.
//!
//! Does not know how facts are found.

use crate::Render;
use crate::format::{count_of, format_money, group_digits};
use crate::options::RenderOptions;
use api::digest::{DigestFact, DigestMade, DoneSession, Spent};
use api::terminal_text::{append_fmt, one_line, truncate_width};
use std::collections::BTreeMap;

/// Columns of a session's title.
const TITLE_WIDTH: usize = 100;

impl Render for DigestMade {
    fn render(&self, options: &RenderOptions) -> String {
        let (from, to) = (options.format_date(Some(self.from)), options.format_date(Some(self.to)));
        let mut out = format!("# {from} to {to}\n\n## Done\n\n");
        if self.done.is_empty() {
            out += "No sessions.\n";
        }
        for (project, sessions) in by_project(&self.done) {
            let name =
                if project.is_empty() { "no project".to_string() } else { options.display_path(project) };
            append_fmt(&mut out, format_args!("### {name}\n\n"));
            out.extend(sessions.iter().map(|session| render_session(session, options)));
            out.push('\n');
        }
        out += &render_facts("Decided", &self.decided, options);
        out += &render_facts("Found out", &self.found_out, options);
        out += &render_facts("Left open", &self.left_open, options);
        out + &render_spent(&self.spent, self.done.len() as u64)
    }
}

/// The sessions by project, the project with the newest session first.
fn by_project(done: &[DoneSession]) -> Vec<(&str, Vec<&DoneSession>)> {
    let mut found: Vec<(&str, Vec<&DoneSession>)> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for session in done {
        let project = session.project.as_deref().unwrap_or_default();
        let at = *places.entry(project).or_insert(found.len());
        if at == found.len() {
            found.push((project, Vec::new()));
        }
        found[at].1.push(session);
    }
    found
}

fn render_session(session: &DoneSession, options: &RenderOptions) -> String {
    let title = truncate_width(&one_line(&session.title), TITLE_WIDTH);
    let title = if title.is_empty() { "(no title)" } else { &title };
    let counts = [count_of(session.turns, "turn"), count_of(session.tool_calls, "call")].join(", ");
    let id = api::terminal_text::short_id(&session.session_id);
    format!("- {title} ({}, {counts}, `{id}`)\n", options.format_date(session.ended_at))
}

fn render_facts(heading: &str, facts: &[DigestFact], options: &RenderOptions) -> String {
    if facts.is_empty() {
        return String::new();
    }
    let line = |fact: &DigestFact| {
        let project =
            fact.project.as_deref().map_or(String::new(), |path| format!(", {}", options.display_path(path)));
        format!("- {} ({}{project})\n", one_line(&fact.text), options.format_date(fact.at))
    };
    format!("## {heading}\n\n{}\n", facts.iter().map(line).collect::<String>())
}

fn render_spent(spent: &Spent, sessions: u64) -> String {
    let unpriced = if spent.unpriced > 0 {
        format!(" ({} without a price)", count_of(spent.unpriced, "reply").replace("replys", "replies"))
    } else {
        String::new()
    };
    format!(
        "## Spent\n\n{}{unpriced} in {}: {} tokens read, {} written\n",
        format_money(spent.cost_usd, spent.unpriced),
        count_of(sessions, "session"),
        group_digits(spent.input),
        group_digits(spent.output)
    )
}
