//! Text of an imported history.
//!
//! Does not know the forms that can be imported.

use crate::Render;
use crate::format::count_of;
use crate::options::RenderOptions;
use api::import::{HistoryImported, ImportChange, ImportedSession};
use api::terminal_text::{append_fmt, one_line, short_id};

/// Sessions and problems that are listed.
const LISTED: usize = 20;

impl Render for HistoryImported {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out =
            format!("{}, {}\n", one_line(&self.form), count_of(self.sessions.len() as u64, "session"));
        out.extend(self.sessions.iter().take(LISTED).map(|one| render_session(one, options)));
        let rest = self.sessions.len().saturating_sub(LISTED);
        if rest > 0 {
            append_fmt(&mut out, format_args!("  {} more\n", count_of(rest as u64, "session")));
        }
        if self.unknown > 0 {
            append_fmt(&mut out, format_args!("{} of an unknown type\n", count_of(self.unknown, "line")));
        }
        for problem in self.problems.iter().take(LISTED) {
            append_fmt(&mut out, format_args!("left out: {}\n", one_line(problem)));
        }
        if self.problems.len() > LISTED {
            append_fmt(&mut out, format_args!("left out: {} more\n", self.problems.len() - LISTED));
        }
        if self.forgotten > 0 {
            append_fmt(
                &mut out,
                format_args!("{} skipped: forgotten here\n", count_of(self.forgotten, "session")),
            );
        }
        append_fmt(&mut out, format_args!("{}\n", next_step(self, options)));
        out
    }
}

fn next_step(done: &HistoryImported, options: &RenderOptions) -> String {
    if done.dry_run {
        return "nothing was written; run it without --dry-run to import this".to_string();
    }
    let folder = options.display_path(&done.folder);
    format!("masked copies are in {folder}; `loci sessions --source import` lists them")
}

fn render_session(one: &ImportedSession, options: &RenderOptions) -> String {
    let change = match one.change {
        ImportChange::New => "new",
        ImportChange::Changed => "changed",
        ImportChange::Unchanged => "unchanged",
    };
    let facts = [
        change.to_string(),
        count_of(one.messages, "message"),
        count_of(one.calls, "call"),
        one_line(&one.title),
    ];
    format!("  {:<13}  {}\n", short_id(&one.chat_id), options.join_facts(&facts))
}
