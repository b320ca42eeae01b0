//! Text of the maintenance responses: index, archive, health checks, secrets and forgotten sessions.
//!
//! Does not know the value of any secret.

use crate::Render;
use crate::format::{plural, size};
use crate::options::{Ink, RenderOptions};
use crate::search::chat_id;
use api::maintenance::{
    Archived, Checkup, Finding, Forgotten, Indexed, Kept, SecretKind, SecretPlace, Secrets, Severity,
};
use api::terminal_text::{one_line, put, short_id};

impl Render for Indexed {
    fn render(&self, _options: &RenderOptions) -> String {
        let mut out = format!(
            "{}: {} new, {} changed, {} gone\n",
            plural(self.files, "transcript"),
            self.added,
            self.changed,
            self.gone
        );
        put(
            &mut out,
            format_args!("{}, {}\n", plural(self.sessions, "session"), plural(self.events, "event")),
        );
        put(&mut out, format_args!("read {} in {:.1} s\n", size(self.bytes_read), self.seconds));
        put(
            &mut out,
            format_args!(
                "index {}, catalogue {}, archive {}\n",
                size(self.index_bytes),
                size(self.catalogue_bytes),
                size(self.archive_bytes)
            ),
        );
        for note in &self.notes {
            put(&mut out, format_args!("note: {}\n", one_line(note)));
        }
        if self.problems > 0 {
            put(
                &mut out,
                format_args!(
                    "{} could not be read; `loci sources --problems` lists them\n",
                    plural(self.problems, "place")
                ),
            );
        }
        out
    }
}

impl Render for Archived {
    fn render(&self, options: &RenderOptions) -> String {
        let budget = self.budget.map_or(String::new(), |most| format!(" of at most {}", size(most)));
        let mut out = format!(
            "{} with {}, {}{budget}\n",
            plural(self.files, "transcript"),
            plural(self.entries, "record"),
            size(self.bytes)
        );
        if self.oldest.is_some() && self.newest.is_some() {
            put(
                &mut out,
                format_args!("from {} to {}\n", options.date(self.oldest), options.date(self.newest)),
            );
        }
        out.extend(self.kept.iter().map(|kept| line(kept, options)));
        let rest = self.files.saturating_sub(self.kept.len() as u64);
        if rest > 0 {
            put(&mut out, format_args!("  {} not listed (smaller)\n", plural(rest, "transcript")));
        }
        if !self.removed.is_empty() {
            let total = self.removed.iter().map(|kept| kept.bytes).sum();
            let (many, verb) = (
                plural(self.removed.len() as u64, "transcript"),
                if self.dry_run { "would be" } else { "were" },
            );
            put(&mut out, format_args!("{many} {verb} removed, {}:\n", size(total)));
            out.extend(self.removed.iter().map(|kept| line(kept, options)));
        }
        out
    }
}

fn line(kept: &Kept, options: &RenderOptions) -> String {
    let facts = [one_line(&kept.source), options.date(kept.newest), options.path(&kept.file)];
    format!("  {:>10}  {:<13}  {}\n", size(kept.bytes), short_id(&kept.chat_id), options.facts(&facts))
}

impl Render for Checkup {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out: String = self.findings.iter().map(|finding| checked(finding, options)).collect();
        if let Some(file) = &self.bundle {
            put(&mut out, format_args!("wrote {}: review it before you send it\n", one_line(file)));
        }
        out
    }
}

fn checked(finding: &Finding, options: &RenderOptions) -> String {
    let (word, ink) = match finding.severity {
        Severity::Ok => ("ok     ", Ink::Good),
        Severity::Warning => ("warning", Ink::Warn),
        Severity::Problem => ("problem", Ink::Bad),
    };
    let line = format!(
        "{}  {}: {}\n",
        options.paint(ink, word),
        one_line(&finding.check),
        one_line(&finding.message)
    );
    match &finding.fix {
        Some(fix) => line + &format!("         {}\n", options.paint(Ink::Bold, &one_line(fix))),
        None => line,
    }
}

impl Render for Secrets {
    fn render(&self, options: &RenderOptions) -> String {
        if self.found.is_empty() {
            return "no secrets were found\n".to_string() + &unsearched(self.unread);
        }
        let mut out: String = self.found.iter().map(kind).collect();
        out.extend(self.places.iter().map(|at| place(at, options)));
        out + &unsearched(self.unread)
    }
}

/// Places that were not searched.
fn unsearched(places: u64) -> String {
    if places == 0 {
        return String::new();
    }
    let (many, verb) = (plural(places, "place"), if places == 1 { "was" } else { "were" });
    format!("{many} could not be read and {verb} not searched; `loci sources --problems` lists them\n")
}

fn kind(kind: &SecretKind) -> String {
    format!("{:>6} ×  {}  in {}\n", kind.count, one_line(&kind.kind), plural(kind.chats, "session"))
}

fn place(at: &SecretPlace, options: &RenderOptions) -> String {
    let facts = [
        options.date(at.created_at),
        one_line(&at.source),
        at.project.as_deref().map_or(String::new(), |path| options.path(path)),
        options.path(&at.file),
    ];
    format!(
        "  {}  {} {}  {}\n",
        one_line(&at.kind),
        short_id(&at.chat_id),
        short_id(&at.message_id),
        options.facts(&facts)
    )
}

impl Render for Forgotten {
    fn render(&self, options: &RenderOptions) -> String {
        if self.chats.is_empty() {
            return "no matching sessions\n".to_string() + &unsearched(self.unread);
        }
        let mut out: String = self.chats.iter().map(|chat| chat_id(chat, options)).collect();
        put(
            &mut out,
            format_args!(
                "{} {}: {}, {} in the archive, {}\n",
                plural(self.chats.len() as u64, "session"),
                if self.dry_run { "would be forgotten" } else { "forgotten" },
                plural(self.events, "event"),
                plural(self.archive_files, "file"),
                size(self.bytes)
            ),
        );
        out + &unsearched(self.unread)
    }
}
