//! Text about a place in the code, and a session as Markdown for whoever continues it.
//!
//! Does not know where the facts come from.

use crate::Render;
use crate::options::{RenderOptions, Style};
use crate::why::render_step;
use api::about::{AboutFound, HandoffMade, Remark, StaleFact, StatedFact};
use api::terminal_text::{append_fmt, one_line, short_id, strip_controls};

impl Render for AboutFound {
    fn render(&self, options: &RenderOptions) -> String {
        let title = |text: &str| format!("\n{}\n", options.paint(Style::Bold, text));
        let mut out = strip_lines(&self.outline);
        if !self.facts.is_empty() {
            out += &title("What holds");
            out += &render_facts(&self.facts, options);
        }
        if !self.stale.is_empty() {
            out += &title("Said before the code changed");
            out.extend(self.stale.iter().map(|stale| render_stale(stale, options)));
        }
        if !self.said.is_empty() {
            out += &title("Said about it");
            out.extend(self.said.iter().map(|remark| render_remark(remark, options)));
        }
        self.notes.iter().for_each(|note| append_fmt(&mut out, format_args!("\n{}\n", one_line(note))));
        for (heading, steps) in [("Last sessions", &self.sessions), ("What failed", &self.failed)] {
            if !steps.is_empty() {
                out += &title(heading);
                out.extend(steps.iter().map(|step| render_step(step, options)));
            }
        }
        if self.facts.is_empty()
            && self.stale.is_empty()
            && self.said.is_empty()
            && self.sessions.is_empty()
            && self.failed.is_empty()
        {
            append_fmt(
                &mut out,
                format_args!("\nno facts and no recorded sessions about {}\n", one_line(&self.target)),
            );
        }
        out
    }
}

fn strip_lines(text: &str) -> String {
    let mut out = String::new();
    text.lines().for_each(|line| append_fmt(&mut out, format_args!("{}\n", strip_controls(line))));
    out
}

fn render_facts(facts: &[StatedFact], options: &RenderOptions) -> String {
    let line = |fact: &StatedFact| {
        format!("- {} ({}, {})\n", one_line(&fact.text), fact.kind, options.format_date(fact.at))
    };
    facts.iter().map(line).collect()
}

fn render_remark(remark: &Remark, options: &RenderOptions) -> String {
    let (date, session) = (options.format_date(remark.at), short_id(&remark.session_id));
    format!("- \"{}\" ({date}, session {session})\n", one_line(&remark.text))
}

fn render_stale(stale: &StaleFact, options: &RenderOptions) -> String {
    let changed = match stale.change_class.as_str() {
        "Removed" => "was removed",
        "Structure" => "has another signature",
        _ => "behaves differently",
    };
    let (fact, symbol) = (&stale.fact, one_line(&stale.symbol));
    let commit: String = stale.since.chars().take(7).collect();
    let date = options.format_date(fact.at);
    format!("- {} ({}, {date}): {symbol} {changed} since {commit}\n", one_line(&fact.text), fact.kind)
}

impl Render for HandoffMade {
    fn render(&self, options: &RenderOptions) -> String {
        let when = options.format_date(self.ended_at);
        let mut out = format!("# Continue session {}\n\n{}, {when}", self.session_id, self.source);
        if !self.project.is_empty() {
            append_fmt(&mut out, format_args!(", {}", options.display_path(&self.project)));
        }
        out += ". What follows is history; check it before you rely on it.\n";
        let mut section = |heading: &str, body: String| {
            if !body.trim().is_empty() {
                append_fmt(&mut out, format_args!("\n## {heading}\n\n{}\n", body.trim_end()));
            }
        };
        section("Task", strip_lines(&self.task));
        let later = self.prompts.iter().map(|prompt| format!("- {}\n", one_line(prompt)));
        section("Asked since", later.collect());
        section("Decided", render_facts(&self.decisions, options));
        section("Open", render_facts(&self.open, options));
        let files: Vec<String> =
            self.files.iter().map(|file| format!("- {}", strip_controls(file))).collect();
        section("Files edited", files.join("\n"));
        if let Some(run) = &self.failed {
            let error = strip_lines(&self.error);
            section("Failed last", format!("`{}`\n\n```text\n{error}```\n", one_line(&run.command)));
        }
        section("The agent said last", strip_lines(&self.last_reply));
        if let Some(command) = &self.command {
            section("Continue with", format!("    {}\n", one_line(command)));
        }
        out
    }
}
