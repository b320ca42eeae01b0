//! Text of `loci status`.

use crate::Render;
use crate::format::{plural, size};
use crate::options::{Ink, RenderOptions};
use api::status::Status;
use api::terminal_text::{clean, put};

impl Render for Status {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out = String::new();
        let mut row = |name: &str, text: String| {
            put(&mut out, format_args!("{} {text}\n", options.paint(Ink::Bold, &format!("{name:<9}"))));
        };
        row("loci", format!("{}, in {}", self.version, clean(&self.data)));
        row("history", history(self));
        row("memory", memory(self));
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
                    plural(model.tokens_today, "token"),
                    plural(model.parked, "job")
                ),
            );
        }
        let m = &self.messages;
        if m.agents + m.spooled > 0 {
            row(
                "messages",
                format!(
                    "{}; {} waiting, {} running, {} answered, {} failed, {} spooled for the daemon",
                    plural(m.agents, "agent"),
                    m.waiting,
                    m.running,
                    m.answered,
                    m.failed,
                    m.spooled
                ),
            );
        }
        row("daemon", daemon(self));
        let total: u64 = self.sizes.values().sum();
        row("disk", format!("{}{}", size(total), sizes(self)));
        out
    }
}

fn history(status: &Status) -> String {
    let h = &status.history;
    if !h.indexed {
        return "not indexed; run `loci index`".to_string();
    }
    let trees =
        if h.code_trees > 0 { format!("; {}", plural(h.code_trees, "source tree")) } else { String::new() };
    format!(
        "{}, {}, {} messages and calls{trees}",
        plural(h.transcripts, "transcript"),
        plural(h.sessions, "session"),
        h.events
    )
}

fn memory(status: &Status) -> String {
    let m = &status.memory;
    if m.sessions + m.facts == 0 {
        return "empty; run `loci memory consolidate`".to_string();
    }
    let review = if m.in_review > 0 {
        format!(", {} pending review (`loci memory list --state review`)", m.in_review)
    } else {
        String::new()
    };
    format!("{}, {}{review}", plural(m.sessions, "session"), plural(m.facts, "fact"))
}

fn daemon(status: &Status) -> String {
    let d = &status.daemon;
    if !d.running {
        return "not running; started on demand".to_string();
    }
    let trouble = d.trouble.as_ref().map(|t| format!("; {}", clean(t))).unwrap_or_default();
    let pid = d.pid.unwrap_or_default();
    format!(
        "running (pid {pid}), {} served, {} watched, {} MB{trouble}",
        plural(d.calls, "call"),
        plural(d.watched, "directory").replace("directorys", "directories"),
        d.rss_bytes >> 20
    )
}

fn sizes(status: &Status) -> String {
    let kept = status.sizes.iter().filter(|(_, bytes)| **bytes > 0);
    let each: Vec<String> = kept.map(|(name, bytes)| format!("{name} {}", size(*bytes))).collect();
    if each.is_empty() { String::new() } else { format!(": {}", each.join(", ")) }
}
