//! Text of the memory responses.
//!
//! Does not know how memory is derived.

use crate::Render;
use crate::format::{plural, told_apart, wrapped};
use crate::options::{Ink, RenderOptions};
use api::Response;
use api::memory::{
    Consolidated, Memories, MemoryChanged, MemoryDocument, MemoryForgotten, MemoryImported, MemoryLine,
    MemoryShown, Quote,
};
use api::terminal_text::{cut, one_line, put, short_id};

/// Sessions to list; the rest is only counted.
const LISTED: usize = 20;

impl Render for Consolidated {
    fn render(&self, options: &RenderOptions) -> String {
        if self.is_empty() {
            return "no sessions\n".to_string();
        }
        let would = if self.dry_run { "would be " } else { "" };
        let mut out = if self.named + self.changed + self.facts == 0 {
            format!("no change: {} up to date\n", plural(self.unchanged, "session"))
        } else {
            format!(
                "{} {would}named, {} changed, {} unchanged; {}\n",
                plural(self.named, "session"),
                self.changed,
                self.unchanged,
                plural(self.facts, "new fact"),
            )
        };
        if self.in_review > 0 {
            let many = plural(self.in_review, "fact");
            put(&mut out, format_args!("{many} pending review: `loci memory list --state review`\n"));
        }
        for one in self.sessions.iter().take(LISTED) {
            let facts = [one_line(&one.source), one.tags.join(" ")];
            let name = options.paint(Ink::Bold, &one_line(&one.name));
            put(
                &mut out,
                format_args!("  {:<8}  {name}  {}\n", short_id(&one.chat_id), options.facts(&facts)),
            );
        }
        let more = self.sessions.len().saturating_sub(LISTED) as u64;
        if more > 0 {
            // A dry run stores nothing that could be listed.
            let all = if self.dry_run { "`-o json` shows" } else { "`loci memory list` shows" };
            put(&mut out, format_args!("  … and {}; {all} them\n", plural(more, "more session")));
        }
        if let Some(run) = &self.model {
            out += &run.render(options);
        }
        if self.unread > 0 {
            let many = plural(self.unread, "record");
            put(&mut out, format_args!("{many} could not be read; `loci sources --problems` lists them\n"));
        }
        out
    }
}

impl Render for Memories {
    fn render(&self, options: &RenderOptions) -> String {
        if self.memories.is_empty() {
            let waiting = waiting(self.in_review);
            return format!("no matching memories; `loci memory consolidate` creates them\n{waiting}");
        }
        let ids = || self.memories.iter().map(|one| one.id.as_str());
        let lines = self.memories.iter().map(|one| line(one, &told_apart(&one.id, ids()), options));
        let mut out: String = lines.collect();
        let more = self.total.saturating_sub(self.memories.len() as u64);
        if more > 0 {
            put(
                &mut out,
                format_args!(
                    "… {} in total; --limit and --offset show more\n",
                    plural(self.total, "memory").replace("memorys", "memories")
                ),
            );
        }
        out + &waiting(self.in_review)
    }
}

fn waiting(in_review: u64) -> String {
    match in_review {
        0 => String::new(),
        1 => "1 fact pending review: `loci memory list --state review`\n".to_string(),
        many => format!("{many} facts pending review: `loci memory list --state review`\n"),
    }
}

/// Facts have short IDs, shown in full; of a session ID the prefix `head` is shown.
fn line(one: &MemoryLine, head: &str, options: &RenderOptions) -> String {
    let id = if one.kind == "fact" { one_line(&one.id) } else { head.to_string() };
    let pinned = if one.pinned { "* " } else { "" };
    let text = options.paint(Ink::Bold, &one_line(&one.text));
    let state = one.state.as_deref().filter(|state| *state != "fresh").unwrap_or("");
    let edited = if one.edited { "edited" } else { "" };
    let facts = [
        state.to_string(),
        edited.to_string(),
        options.when(one.at),
        one.source.as_deref().map_or(String::new(), one_line),
        one.project.as_deref().map_or(String::new(), |path| options.path(path)),
        one_line(&one.tags.join(" ")),
    ];
    format!("{id:<14}  {pinned}{text}\n                {}\n", options.facts(&facts))
}

impl Render for MemoryShown {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out = line(&self.memory, &short_id(&self.memory.id), options);
        if let Some(summary) = &self.summary {
            let text: Vec<(char, bool)> = one_line(summary).chars().map(|c| (c, false)).collect();
            for row in wrapped(&text, options.width.saturating_sub(2).max(20)) {
                let row: String = row.into_iter().map(|(c, _)| c).collect();
                put(&mut out, format_args!("  {}\n", row.trim_end()));
            }
            let by = self.summary_by.as_deref().unwrap_or("");
            put(
                &mut out,
                format_args!(
                    "  {}\n",
                    options.facts(&[format!("summary: {by}"), options.when(self.summary_at)])
                ),
            );
        }
        if !self.facts.is_empty() {
            out.push_str("facts:\n");
            out.extend(
                self.facts.iter().map(|fact| format!("  {}  {}\n", one_line(&fact.id), one_line(&fact.text))),
            );
        }
        out.extend(self.evidence.iter().map(|quote| quoted(quote, options)));
        if let Some(resume) = &self.resume {
            put(&mut out, format_args!("resume: {}\n", one_line(resume)));
        }
        out + &format!("{}\n", options.paint(Ink::Dim, &one_line(&self.note)))
    }
}

fn quoted(quote: &Quote, options: &RenderOptions) -> String {
    let said =
        quote.text.as_deref().map_or("(no longer readable)".to_string(), |text| cut(&one_line(text), 400));
    let facts = [
        options.when(quote.created_at),
        one_line(&quote.source),
        format!("loci show {}", short_id(&quote.chat_id)),
    ];
    format!("  “{said}”\n  {}\n", options.facts(&facts))
}

impl Render for MemoryChanged {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out = line(&self.memory, &short_id(&self.memory.id), options);
        if !self.changed {
            out.push_str("no change\n");
        }
        out
    }
}

impl Render for MemoryForgotten {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out: String =
            self.memories.iter().map(|one| line(one, &short_id(&one.id), options)).collect();
        let many = plural(self.memories.len() as u64, "memory").replace("memorys", "memories");
        let verb = if self.dry_run { "would be forgotten" } else { "forgotten permanently" };
        put(&mut out, format_args!("{many} {verb}\n"));
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
            plural(self.sessions, "session"),
            plural(self.facts, "fact"),
            self.unchanged
        );
        if self.forgotten > 0 {
            put(&mut out, format_args!("{} skipped: forgotten here\n", self.forgotten));
        }
        out
    }
}
