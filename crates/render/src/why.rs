//! Text of why a piece of code is as it is.
//!
//! Does not know how lines were matched with edits.

use crate::Render;
use crate::format::count_of;
use crate::options::{RenderOptions, Style};
use crate::search::render_device;
use api::terminal_text::{append_fmt, one_line, short_id, strip_controls};
use api::why::{Evidence, WhyFound, WhyStep};

impl Render for WhyFound {
    fn render(&self, options: &RenderOptions) -> String {
        if let Some(trace) = &self.trace {
            return format!("{trace}\n");
        }
        let mut out = format!("{}\n", options.paint(Style::Bold, &one_line(&self.summary)));
        if self.omitted > 0 {
            let earlier = count_of(u64::from(self.omitted), "earlier step");
            append_fmt(&mut out, format_args!("\n{earlier} left out; a larger --budget shows them\n"));
        }
        self.steps.iter().for_each(|step| out += &render_step(step, options));
        for note in &self.notes {
            append_fmt(&mut out, format_args!("\nnote: {}\n", one_line(note)));
        }
        out
    }
}

pub(crate) fn render_step(step: &WhyStep, options: &RenderOptions) -> String {
    let colour = match step.evidence {
        Evidence::Attested | Evidence::Textual => Style::Good,
        Evidence::Likely => Style::Warn,
        Evidence::Unknown => Style::Dim,
    };
    let session = step.session_id.as_deref().map(short_id).unwrap_or_default();
    let who = [step.source.clone().unwrap_or_default(), session].join(" ");
    let undone = if step.undone { "undone".to_string() } else { String::new() };
    let lines = if step.lines > 0 { count_of(u64::from(step.lines), "line") } else { String::new() };
    let device = render_device(step.device.as_deref());
    let by = step.attested_by.as_deref().map(one_line).unwrap_or_default();
    let model = step.model.as_deref().map(one_line).unwrap_or_default();
    let facts = [options.format_date(step.at), one_line(who.trim()), model, device, lines, undone, by];
    let facts = options.join_facts(&facts);
    let mut out = format!("\n{} {facts}\n", options.paint(colour, step.evidence.as_str()));
    let mut push = |label: &str, text: &str| {
        if !text.trim().is_empty() {
            append_fmt(&mut out, format_args!("  {label:<9} {}\n", one_line(text)));
        }
    };
    push("asked", &step.prompt);
    push("said", &step.reasoning);
    if let Some(outcome) = &step.outcome {
        push(&outcome.status, &outcome.command);
    }
    if let Some(commit) = &step.commit {
        push("commit", &format!("{} {}", commit.hash.get(..10).unwrap_or(&commit.hash), commit.subject));
    }
    if let (Some(id), Some(turn)) = (&step.session_id, step.turn) {
        push("more", &format!("loci show {} (turn {turn})", short_id(id)));
    }
    for line in step.diff.lines() {
        let colour = if line.starts_with('+') { Style::Good } else { Style::Bad };
        let line = strip_controls(&line.replace('\t', "    "));
        append_fmt(&mut out, format_args!("    {}\n", options.paint(colour, &line)));
    }
    out
}
