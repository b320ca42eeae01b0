//! Text of model jobs, calls and costs.
//!
//! Does not know which model was called.

use crate::Render;
use crate::format::{count_of, format_size, group_digits};
use crate::options::{RenderOptions, Style};
use api::costs::{CostLine, Costs, JobLine, Jobs, ModelRun, PlannedCall, ProviderBackoff, is_session};
use api::terminal_text::{append_fmt, one_line, short_id, strip_controls};

impl Render for Jobs {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out = String::new();
        if self.retried > 0 {
            append_fmt(&mut out, format_args!("{} reset for a retry\n", count_of(self.retried, "job")));
        }
        if self.jobs.is_empty() && self.closed.is_empty() && self.retried == 0 {
            out.push_str("no jobs waiting or parked\n");
        }
        out.extend(self.jobs.iter().map(|job| render_job(job, options)));
        out.extend(self.closed.iter().map(|backoff| render_backoff(backoff, options)));
        if self.jobs.iter().any(|job| job.state == "parked") {
            out.push_str("`loci memory jobs --retry` retries parked jobs\n");
        }
        out
    }
}

fn render_job(job: &JobLine, options: &RenderOptions) -> String {
    let ink = if job.state == "parked" { Style::Bad } else { Style::Warn };
    let due = job.due.map_or(String::new(), |due| format!("not before {}", options.format_date(Some(due))));
    let facts = [
        one_line(&job.source),
        job.class.as_deref().map_or(String::new(), one_line),
        count_of(u64::from(job.attempts), "attempt"),
        due,
    ];
    let why =
        job.error.as_deref().map_or(String::new(), |error| format!("            {}\n", one_line(error)));
    // A job that is not about a session has a name, which must not be truncated.
    let about = if is_session(&job.source) { short_id(&job.chat_id) } else { one_line(&job.chat_id) };
    format!("{about:<8}  {}  {}\n{why}", options.paint(ink, &job.state), options.join_facts(&facts))
}

fn render_backoff(backoff: &ProviderBackoff, options: &RenderOptions) -> String {
    let name = one_line(&backoff.name);
    format!(
        "{name} in backoff until {}: {}\n",
        options.format_date(backoff.until),
        one_line(&backoff.message)
    )
}

impl Render for Costs {
    fn render(&self, options: &RenderOptions) -> String {
        if self.total.calls == 0 {
            return "no model calls\n".to_string();
        }
        let mut out: String = self.costs.iter().map(|one| render_cost(one, options)).collect();
        out += &render_cost(&CostLine { group: "all".to_string(), ..self.total.clone() }, options);
        let cap = self.tokens_per_day.map_or(String::new(), |cap| format!(" of {}", group_digits(cap)));
        append_fmt(&mut out, format_args!("last 24 hours: {}{cap} tokens\n", group_digits(self.used_today)));
        out
    }
}

fn render_cost(one: &CostLine, options: &RenderOptions) -> String {
    let unpriced = match one.unpriced {
        0 => String::new(),
        many => format!("{} without a price", count_of(many, "call")),
    };
    let failed = if one.failed == 0 { String::new() } else { format!("{} failed", one.failed) };
    let facts = [
        count_of(one.calls, "call"),
        failed,
        format!("{} + {} tokens", group_digits(one.tokens_in), group_digits(one.tokens_out)),
        format!("{} sent", format_size(one.bytes_sent)),
        unpriced,
    ];
    let group = options.paint(Style::Bold, &one_line(&one.group));
    format!("{group}  ${:.4}  {}\n", one.cost, options.join_facts(&facts))
}

impl Render for ModelRun {
    fn render(&self, options: &RenderOptions) -> String {
        render_model_run(self, options, "session", !self.planned.is_empty())
    }
}

/// The model calls made, or planned, for a number of sessions or notes.
pub(crate) fn render_model_run(run: &ModelRun, options: &RenderOptions, of: &str, planned: bool) -> String {
    let mut out = String::new();
    let name = [run.provider.as_str(), run.model.as_str()].join(" ");
    let (name, cost) = (one_line(name.trim()), run.cost.map_or(String::new(), |cost| format!("${cost:.4}")));
    let tokens = format!("{} + {} tokens", group_digits(run.tokens_in), group_digits(run.tokens_out));
    if planned && run.tokens_in > 0 {
        let many = count_of(run.planned.len() as u64, of);
        let many = if run.planned.is_empty() { String::new() } else { format!(" for {many}") };
        let most = options.join_facts(&[format!("at most {tokens}"), cost]);
        append_fmt(&mut out, format_args!("{name} would be called{many}  {most}\n"));
    } else if run.answered + run.failed > 0 {
        let failed = if run.failed == 0 { String::new() } else { format!(", {} failed", run.failed) };
        let many = count_of(run.answered + run.failed, of);
        append_fmt(
            &mut out,
            format_args!("{name} was called for {many}{failed}  {}\n", options.join_facts(&[tokens, cost])),
        );
    }
    out.extend(run.planned.iter().map(|call| render_planned_call(call, options)));
    let left = count_of(run.left, of);
    match (&run.why, run.left) {
        (Some(why), 0) => append_fmt(&mut out, format_args!("no model calls: {}\n", one_line(why))),
        (Some(why), _) => append_fmt(&mut out, format_args!("{left} skipped: {}\n", one_line(why))),
        (None, 1..) => {
            append_fmt(&mut out, format_args!("{left} left for another run; see `loci memory jobs`\n"));
        }
        (None, 0) => {}
    }
    out
}

fn render_planned_call(call: &PlannedCall, options: &RenderOptions) -> String {
    let cost = call.cost.map_or(String::new(), |cost| format!("${cost:.4}"));
    let facts = [one_line(&call.source), format!("at most {} tokens", group_digits(call.tokens)), cost];
    let payload =
        call.payload.as_deref().map_or(String::new(), |payload| format!("{}\n\n", clean_lines(payload)));
    format!("  {:<8}  {}\n{payload}", short_id(&call.chat_id), options.join_facts(&facts))
}

/// The text as it would be sent, without control sequences.
fn clean_lines(text: &str) -> String {
    text.lines().map(strip_controls).collect::<Vec<_>>().join("\n")
}
