//! What a model was asked and what it cost, as a person reads it.
//!
//! Does not know which model that was.

use super::{Ink, Look, Render, grouped, plural, size};
use crate::plain::{clean, one_line, put, short_id};
use crate::spending::{ClosedDoor, CostLine, Costs, JobLine, Jobs, ModelRun, PlannedCall, is_session};

impl Render for Jobs {
    fn render(&self, look: &Look) -> String {
        let mut out = String::new();
        if self.retried > 0 {
            put(&mut out, format_args!("{} may be asked again\n", plural(self.retried, "question")));
        }
        if self.jobs.is_empty() && self.closed.is_empty() && self.retried == 0 {
            out.push_str("nothing waits, and nothing was set aside\n");
        }
        out.extend(self.jobs.iter().map(|job| line(job, look)));
        out.extend(self.closed.iter().map(|door| closed(door, look)));
        if self.jobs.iter().any(|job| job.state == "parked") {
            out.push_str("`loci memory jobs --retry` lets what was set aside be asked again\n");
        }
        out
    }
}

fn line(job: &JobLine, look: &Look) -> String {
    let ink = if job.state == "parked" { Ink::Bad } else { Ink::Warn };
    let due = job.due.map_or(String::new(), |due| format!("not before {}", look.date(Some(due))));
    let facts = [
        one_line(&job.source),
        job.class.as_deref().map_or(String::new(), one_line),
        plural(u64::from(job.attempts), "attempt"),
        due,
    ];
    let why =
        job.error.as_deref().map_or(String::new(), |error| format!("            {}\n", one_line(error)));
    // What is no session has a name, which says nothing by its first letters.
    let about = if is_session(&job.source) { short_id(&job.chat_id) } else { one_line(&job.chat_id) };
    format!("{about:<8}  {}  {}\n{why}", look.paint(ink, &job.state), look.facts(&facts))
}

fn closed(door: &ClosedDoor, look: &Look) -> String {
    let name = one_line(&door.name);
    format!("{name} is not asked before {}: {}\n", look.date(door.until), one_line(&door.message))
}

impl Render for Costs {
    fn render(&self, look: &Look) -> String {
        if self.total.calls == 0 {
            return "no model was asked\n".to_string();
        }
        let mut out: String = self.costs.iter().map(|one| row(one, look)).collect();
        out += &row(&CostLine { group: "all".to_string(), ..self.total.clone() }, look);
        let cap = self.tokens_per_day.map_or(String::new(), |cap| format!(" of {}", grouped(cap)));
        put(&mut out, format_args!("within 24 hours: {}{cap} tokens\n", grouped(self.used_today)));
        out
    }
}

fn row(one: &CostLine, look: &Look) -> String {
    let unpriced = match one.unpriced {
        0 => String::new(),
        many => format!("{} without a price", plural(many, "call")),
    };
    let failed = if one.failed == 0 { String::new() } else { format!("{} failed", one.failed) };
    let facts = [
        plural(one.calls, "call"),
        failed,
        format!("{} + {} tokens", grouped(one.tokens_in), grouped(one.tokens_out)),
        format!("{} sent", size(one.bytes_sent)),
        unpriced,
    ];
    let group = look.paint(Ink::Bold, &one_line(&one.group));
    format!("{group}  ${:.4}  {}\n", one.cost, look.facts(&facts))
}

impl Render for ModelRun {
    fn render(&self, look: &Look) -> String {
        self.told(look, "session", !self.planned.is_empty())
    }
}

impl ModelRun {
    /// What was asked about so many of something, or would be.
    pub(super) fn told(&self, look: &Look, of: &str, planned: bool) -> String {
        let mut out = String::new();
        let name = [self.provider.as_str(), self.model.as_str()].join(" ");
        let (name, cost) =
            (one_line(name.trim()), self.cost.map_or(String::new(), |cost| format!("${cost:.4}")));
        let tokens = format!("{} + {} tokens", grouped(self.tokens_in), grouped(self.tokens_out));
        if planned && self.tokens_in > 0 {
            let many = plural(self.planned.len() as u64, of);
            let many = if self.planned.is_empty() { String::new() } else { format!(" about {many}") };
            let most = look.facts(&[format!("at most {tokens}"), cost]);
            put(&mut out, format_args!("{name} would be asked{many}  {most}\n"));
        } else if self.answered + self.failed > 0 {
            let failed = if self.failed == 0 { String::new() } else { format!(", {} in vain", self.failed) };
            let many = plural(self.answered + self.failed, of);
            put(
                &mut out,
                format_args!("{name} was asked about {many}{failed}  {}\n", look.facts(&[tokens, cost])),
            );
        }
        out.extend(self.planned.iter().map(|call| planned_call(call, look)));
        let left = plural(self.left, of);
        match (&self.why, self.left) {
            (Some(why), 0) => put(&mut out, format_args!("no model was asked: {}\n", one_line(why))),
            (Some(why), _) => put(&mut out, format_args!("{left} not asked about: {}\n", one_line(why))),
            (None, 1..) => {
                put(&mut out, format_args!("{left} left for another run; `loci memory jobs` says more\n"));
            }
            (None, 0) => {}
        }
        out
    }
}

fn planned_call(call: &PlannedCall, look: &Look) -> String {
    let cost = call.cost.map_or(String::new(), |cost| format!("${cost:.4}"));
    let facts = [one_line(&call.source), format!("at most {} tokens", grouped(call.tokens)), cost];
    let payload =
        call.payload.as_deref().map_or(String::new(), |payload| format!("{}\n\n", clean_lines(payload)));
    format!("  {:<8}  {}\n{payload}", short_id(&call.chat_id), look.facts(&facts))
}

/// Line by line as it would be sent, but for what would steer the terminal.
fn clean_lines(text: &str) -> String {
    text.lines().map(clean).collect::<Vec<_>>().join("\n")
}
