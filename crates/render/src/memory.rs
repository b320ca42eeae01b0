//! Text of the memory responses.
//!
//! Does not know how memory is derived.

use crate::Render;
use crate::format::{count_of, shortest_id, wrap_text};
use crate::options::{RenderOptions, Style};
use api::Response;
use api::memory::{
    Consolidated, Memories, MemoryChanged, MemoryDocument, MemoryForgotten, MemoryImported, MemoryLine,
    MemoryShown, Quote,
};
use api::terminal_text::{append_fmt, one_line, short_id, truncate_width};

/// Sessions to list; the rest is only counted.
const LISTED: usize = 20;

impl Render for Consolidated {
    fn render(&self, options: &RenderOptions) -> String {
        if self.is_empty() {
            return "no sessions\n".to_string();
        }
        let would = if self.dry_run { "would be " } else { "" };
        let mut out = if self.named + self.changed + self.facts == 0 {
            format!("no change: {} up to date\n", count_of(self.unchanged, "session"))
        } else {
            format!(
                "{} {would}named, {} changed, {} unchanged; {}\n",
                count_of(self.named, "session"),
                self.changed,
                self.unchanged,
                count_of(self.facts, "new fact"),
            )
        };
        if self.in_review > 0 {
            let many = count_of(self.in_review, "fact");
            append_fmt(&mut out, format_args!("{many} pending review: `loci memory list --state review`\n"));
        }
        for one in self.sessions.iter().take(LISTED) {
            let facts = [one_line(&one.source), one.tags.join(" ")];
            let name = options.paint(Style::Bold, &one_line(&one.name));
            append_fmt(
                &mut out,
                format_args!("  {:<8}  {name}  {}\n", short_id(&one.chat_id), options.join_facts(&facts)),
            );
        }
        let more = self.sessions.len().saturating_sub(LISTED) as u64;
        if more > 0 {
            // A dry run stores nothing that could be listed.
            let all = if self.dry_run { "`-o json` shows" } else { "`loci memory list` shows" };
            append_fmt(&mut out, format_args!("  … and {}; {all} them\n", count_of(more, "more session")));
        }
        if let Some(run) = &self.model {
            out += &run.render(options);
        }
        if self.unread > 0 {
            let many = count_of(self.unread, "record");
            append_fmt(
                &mut out,
                format_args!("{many} could not be read; `loci sources --problems` lists them\n"),
            );
        }
        out
    }
}

impl Render for Memories {
    fn render(&self, options: &RenderOptions) -> String {
        if self.memories.is_empty() {
            let waiting = render_pending(self.in_review);
            return format!("no matching memories; `loci memory consolidate` creates them\n{waiting}");
        }
        let ids = || self.memories.iter().map(|one| one.id.as_str());
        let lines = self.memories.iter().map(|one| render_memory(one, &shortest_id(&one.id, ids()), options));
        let mut out: String = lines.collect();
        let more = self.total.saturating_sub(self.memories.len() as u64);
        if more > 0 {
            append_fmt(
                &mut out,
                format_args!(
                    "… {} in total; --limit and --offset show more\n",
                    count_of(self.total, "memory").replace("memorys", "memories")
                ),
            );
        }
        out + &render_pending(self.in_review)
    }
}

fn render_pending(in_review: u64) -> String {
    match in_review {
        0 => String::new(),
        1 => "1 fact pending review: `loci memory list --state review`\n".to_string(),
        many => format!("{many} facts pending review: `loci memory list --state review`\n"),
    }
}

/// Facts have short IDs, shown in full; of a session ID the prefix `head` is shown.
fn render_memory(one: &MemoryLine, head: &str, options: &RenderOptions) -> String {
    let id = if one.kind == "fact" { one_line(&one.id) } else { head.to_string() };
    let pinned = if one.pinned { "* " } else { "" };
    let text = options.paint(Style::Bold, &one_line(&one.text));
    let state = one.state.as_deref().filter(|state| *state != "fresh").unwrap_or("");
    let edited = if one.edited { "edited" } else { "" };
    let facts = [
        state.to_string(),
        edited.to_string(),
        options.format_when(one.at),
        one.source.as_deref().map_or(String::new(), one_line),
        one.device.as_deref().map_or(String::new(), |device| format!("from {}", one_line(device))),
        one.project.as_deref().map_or(String::new(), |path| options.display_path(path)),
        one_line(&one.tags.join(" ")),
    ];
    format!("{id:<14}  {pinned}{text}\n                {}\n", options.join_facts(&facts))
}

impl Render for MemoryShown {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out = render_memory(&self.memory, &short_id(&self.memory.id), options);
        if let Some(summary) = &self.summary {
            let text: Vec<(char, bool)> = one_line(summary).chars().map(|c| (c, false)).collect();
            for row in wrap_text(&text, options.width.saturating_sub(2).max(20)) {
                let row: String = row.into_iter().map(|(c, _)| c).collect();
                append_fmt(&mut out, format_args!("  {}\n", row.trim_end()));
            }
            let by = self.summary_by.as_deref().unwrap_or("");
            append_fmt(
                &mut out,
                format_args!(
                    "  {}\n",
                    options.join_facts(&[format!("summary: {by}"), options.format_when(self.summary_at)])
                ),
            );
        }
        if !self.facts.is_empty() {
            out.push_str("facts:\n");
            out.extend(
                self.facts.iter().map(|fact| format!("  {}  {}\n", one_line(&fact.id), one_line(&fact.text))),
            );
        }
        out.extend(self.evidence.iter().map(|quote| render_quote(quote, options)));
        if let Some(resume) = &self.resume {
            append_fmt(&mut out, format_args!("resume: {}\n", one_line(resume)));
        }
        out + &format!("{}\n", options.paint(Style::Dim, &one_line(&self.note)))
    }
}

fn render_quote(quote: &Quote, options: &RenderOptions) -> String {
    let said = quote
        .text
        .as_deref()
        .map_or("(no longer readable)".to_string(), |text| truncate_width(&one_line(text), 400));
    let facts = [
        options.format_when(quote.created_at),
        one_line(&quote.source),
        format!("loci show {}", short_id(&quote.chat_id)),
    ];
    format!("  “{said}”\n  {}\n", options.join_facts(&facts))
}

impl Render for MemoryChanged {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out = render_memory(&self.memory, &short_id(&self.memory.id), options);
        if !self.changed {
            out.push_str("no change\n");
        }
        out
    }
}

impl Render for MemoryForgotten {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out: String =
            self.memories.iter().map(|one| render_memory(one, &short_id(&one.id), options)).collect();
        let many = count_of(self.memories.len() as u64, "memory").replace("memorys", "memories");
        let verb = if self.dry_run { "would be forgotten" } else { "forgotten permanently" };
        append_fmt(&mut out, format_args!("{many} {verb}\n"));
        out
    }
}

impl Render for MemoryDocument {
    /// Pretty-printed JSON: the document is meant for programs.
    fn render(&self, _: &RenderOptions) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

impl Render for MemoryImported {
    fn render(&self, _: &RenderOptions) -> String {
        let mut out = format!(
            "{} and {} imported, {} unchanged\n",
            count_of(self.sessions, "session"),
            count_of(self.facts, "fact"),
            self.unchanged
        );
        if self.forgotten > 0 {
            append_fmt(&mut out, format_args!("{} skipped: forgotten here\n", self.forgotten));
        }
        out
    }
}
