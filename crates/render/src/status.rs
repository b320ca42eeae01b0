//! Text of `loci status`.

use crate::Render;
use crate::format::{count_of, format_size};
use crate::options::{RenderOptions, Style};
use api::status::Status;
use api::terminal_text::{append_fmt, strip_controls};

impl Render for Status {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out = String::new();
        let mut row = |name: &str, text: String| {
            append_fmt(
                &mut out,
                format_args!("{} {text}\n", options.paint(Style::Bold, &format!("{name:<9}"))),
            );
        };
        row("loci", format!("{}, in {}", self.version, strip_controls(&self.data)));
        row("history", history_row(self));
        row("memory", memory_row(self));
        if let Some(model) = &self.model {
            let closed = if model.closed.is_empty() {
                String::new()
            } else {
                format!("; in backoff: {}", model.closed.join(", "))
            };
            row(
                "model",
                format!(
                    "{} today, {} parked{closed}",
                    count_of(model.tokens_today, "token"),
                    count_of(model.parked, "job")
                ),
            );
        }
        let m = &self.messages;
        if m.agents + m.spooled > 0 {
            row(
                "messages",
                format!(
                    "{}; {} waiting, {} running, {} answered, {} failed, {} spooled for the daemon",
                    count_of(m.agents, "agent"),
                    m.waiting,
                    m.running,
                    m.answered,
                    m.failed,
                    m.spooled
                ),
            );
        }
        row("daemon", daemon_row(self));
        let total: u64 = self.sizes.values().sum();
        row("disk", format!("{}{}", format_size(total), size_details(self)));
        for edit in &self.interrupted_edits {
            row("edits", strip_controls(&format!("{}: {edit}", edit.root)).clone());
        }
        out
    }
}

fn history_row(status: &Status) -> String {
    let h = &status.history;
    if !h.indexed {
        return "not indexed; run `loci index`".to_string();
    }
    let trees =
        if h.code_trees > 0 { format!("; {}", count_of(h.code_trees, "source tree")) } else { String::new() };
    format!(
        "{}, {}, {} messages and calls{trees}",
        count_of(h.transcripts, "transcript"),
        count_of(h.sessions, "session"),
        h.events
    )
}

fn memory_row(status: &Status) -> String {
    let m = &status.memory;
    if m.sessions + m.facts == 0 {
        return "empty; run `loci memory consolidate`".to_string();
    }
    let review = if m.in_review > 0 {
        format!(", {} pending review (`loci memory list --state review`)", m.in_review)
    } else {
        String::new()
    };
    format!("{}, {}{review}", count_of(m.sessions, "session"), count_of(m.facts, "fact"))
}

fn daemon_row(status: &Status) -> String {
    let d = &status.daemon;
    if !d.running {
        return "not running; started on demand".to_string();
    }
    let trouble = d.trouble.as_ref().map(|t| format!("; {}", strip_controls(t))).unwrap_or_default();
    let pid = d.pid.unwrap_or_default();
    format!(
        "running (pid {pid}), {} served, {} watched, {} MB{trouble}",
        count_of(d.calls, "call"),
        count_of(d.watched, "directory").replace("directorys", "directories"),
        d.rss_bytes >> 20
    )
}

fn size_details(status: &Status) -> String {
    let kept = status.sizes.iter().filter(|(_, bytes)| **bytes > 0);
    let each: Vec<String> = kept.map(|(name, bytes)| format!("{name} {}", format_size(*bytes))).collect();
    if each.is_empty() { String::new() } else { format!(": {}", each.join(", ")) }
}
