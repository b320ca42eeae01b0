//! Text of the maintenance responses: index, archive, health checks, secrets and forgotten sessions.
//!
//! Does not know the value of any secret.

use crate::Render;
use crate::format::{count_of, format_size};
use crate::options::{RenderOptions, Style};
use crate::search::render_session_id;
use api::maintenance::{
    Archived, ArchivedTranscript, DoctorReport, Finding, Forgotten, Indexed, SecretKind, SecretPlace,
    Secrets, Severity,
};
use api::terminal_text::{append_fmt, one_line, short_id};

impl Render for Indexed {
    fn render(&self, _options: &RenderOptions) -> String {
        let mut out = format!(
            "{}: {} new, {} changed, {} gone\n",
            count_of(self.files, "transcript"),
            self.added,
            self.changed,
            self.gone
        );
        append_fmt(
            &mut out,
            format_args!("{}, {}\n", count_of(self.sessions, "session"), count_of(self.events, "event")),
        );
        append_fmt(
            &mut out,
            format_args!("read {} in {:.1} s\n", format_size(self.bytes_read), self.seconds),
        );
        append_fmt(
            &mut out,
            format_args!(
                "index {}, catalogue {}, archive {}\n",
                format_size(self.index_bytes),
                format_size(self.catalogue_bytes),
                format_size(self.archive_bytes)
            ),
        );
        for note in &self.notes {
            append_fmt(&mut out, format_args!("note: {}\n", one_line(note)));
        }
        if self.problems > 0 {
            append_fmt(
                &mut out,
                format_args!(
                    "{} could not be read; `loci sources --problems` lists them\n",
                    count_of(self.problems, "place")
                ),
            );
        }
        out
    }
}

impl Render for Archived {
    fn render(&self, options: &RenderOptions) -> String {
        let budget = self.budget.map_or(String::new(), |most| format!(" of at most {}", format_size(most)));
        let mut out = format!(
            "{} with {}, {}{budget}\n",
            count_of(self.files, "transcript"),
            count_of(self.entries, "record"),
            format_size(self.bytes)
        );
        if self.oldest.is_some() && self.newest.is_some() {
            append_fmt(
                &mut out,
                format_args!(
                    "from {} to {}\n",
                    options.format_date(self.oldest),
                    options.format_date(self.newest)
                ),
            );
        }
        out.extend(self.kept.iter().map(|kept| render_archived(kept, options)));
        let rest = self.files.saturating_sub(self.kept.len() as u64);
        if rest > 0 {
            append_fmt(&mut out, format_args!("  {} not listed (smaller)\n", count_of(rest, "transcript")));
        }
        if !self.removed.is_empty() {
            let total = self.removed.iter().map(|kept| kept.bytes).sum();
            let (many, verb) = (
                count_of(self.removed.len() as u64, "transcript"),
                if self.dry_run { "would be" } else { "were" },
            );
            append_fmt(&mut out, format_args!("{many} {verb} removed, {}:\n", format_size(total)));
            out.extend(self.removed.iter().map(|kept| render_archived(kept, options)));
        }
        out
    }
}

fn render_archived(kept: &ArchivedTranscript, options: &RenderOptions) -> String {
    let facts = [one_line(&kept.source), options.format_date(kept.newest), options.display_path(&kept.file)];
    format!(
        "  {:>10}  {:<13}  {}\n",
        format_size(kept.bytes),
        short_id(&kept.chat_id),
        options.join_facts(&facts)
    )
}

impl Render for DoctorReport {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out: String = self.findings.iter().map(|finding| render_finding(finding, options)).collect();
        if let Some(file) = &self.bundle {
            append_fmt(&mut out, format_args!("wrote {}: review it before you send it\n", one_line(file)));
        }
        out
    }
}

fn render_finding(finding: &Finding, options: &RenderOptions) -> String {
    let (word, ink) = match finding.severity {
        Severity::Ok => ("ok     ", Style::Good),
        Severity::Warning => ("warning", Style::Warn),
        Severity::Problem => ("problem", Style::Bad),
    };
    let line = format!(
        "{}  {}: {}\n",
        options.paint(ink, word),
        one_line(&finding.check),
        one_line(&finding.message)
    );
    match &finding.fix {
        Some(fix) => line + &format!("         {}\n", options.paint(Style::Bold, &one_line(fix))),
        None => line,
    }
}

impl Render for Secrets {
    fn render(&self, options: &RenderOptions) -> String {
        if self.found.is_empty() {
            return "no secrets were found\n".to_string() + &render_unsearched(self.unread);
        }
        let mut out: String = self.found.iter().map(render_kind).collect();
        out.extend(self.places.iter().map(|at| render_location(at, options)));
        out + &render_unsearched(self.unread)
    }
}

/// Places that were not searched.
fn render_unsearched(places: u64) -> String {
    if places == 0 {
        return String::new();
    }
    let (many, verb) = (count_of(places, "place"), if places == 1 { "was" } else { "were" });
    format!("{many} could not be read and {verb} not searched; `loci sources --problems` lists them\n")
}

fn render_kind(kind: &SecretKind) -> String {
    format!("{:>6} ×  {}  in {}\n", kind.count, one_line(&kind.kind), count_of(kind.chats, "session"))
}

fn render_location(at: &SecretPlace, options: &RenderOptions) -> String {
    let facts = [
        options.format_date(at.created_at),
        one_line(&at.source),
        at.project.as_deref().map_or(String::new(), |path| options.display_path(path)),
        options.display_path(&at.file),
    ];
    format!(
        "  {}  {} {}  {}\n",
        one_line(&at.kind),
        short_id(&at.chat_id),
        short_id(&at.message_id),
        options.join_facts(&facts)
    )
}

impl Render for Forgotten {
    fn render(&self, options: &RenderOptions) -> String {
        if self.chats.is_empty() {
            return "no matching sessions\n".to_string() + &render_unsearched(self.unread);
        }
        let mut out: String = self.chats.iter().map(|chat| render_session_id(chat, options)).collect();
        append_fmt(
            &mut out,
            format_args!(
                "{} {}: {}, {} in the archive, {}, {}\n",
                count_of(self.chats.len() as u64, "session"),
                if self.dry_run { "would be forgotten" } else { "forgotten" },
                count_of(self.events, "event"),
                count_of(self.archive_files, "file"),
                count_of(self.saved_results, "saved result"),
                format_size(self.bytes)
            ),
        );
        out + &render_unsearched(self.unread)
    }
}
