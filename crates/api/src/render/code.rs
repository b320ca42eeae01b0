//! Answers about the code base as a person reads them.

use super::{Ink, Look, Render, plural};
use crate::code::{Coverage, Drawn, Meant, Outlined, SymbolRef, Used};
use crate::plain::{clean, put};

impl Render for Outlined {
    fn render(&self, look: &Look) -> String {
        let percent = self.outline_tokens as f64 * 100.0 / self.source_tokens.max(1) as f64;
        let cost = format!(
            "{} of {} of its source ({percent:.0} %)",
            plural(self.outline_tokens, "token"),
            plural(self.source_tokens, "token")
        );
        let mut out = format!("{}\n\n{}\n", text(&self.outline).trim_end(), look.paint(Ink::Dim, &cost));
        out.push_str(&gaps(look, &self.coverage));
        out
    }
}

impl Render for Meant {
    fn render(&self, look: &Look) -> String {
        let mut out = String::new();
        if self.nearly && !self.candidates.is_empty() {
            put(&mut out, format_args!("nothing is called so; written nearly so:\n"));
        }
        self.candidates.iter().for_each(|symbol| out.push_str(&line(look, symbol)));
        out + &gaps(look, &self.coverage)
    }
}

impl Render for Used {
    fn render(&self, look: &Look) -> String {
        let mut out = line(look, &self.resolved);
        let mut file = "";
        for usage in &self.usages {
            if usage.file != file {
                file = &usage.file;
                put(&mut out, format_args!("\n{}\n", look.paint(Ink::Bold, &clean(file))));
            }
            let doubt = if usage.certainty == "certain" { "" } else { "  (likely)" };
            put(
                &mut out,
                format_args!("  {:>5}  {}{}\n", usage.line, clean(&usage.text), look.paint(Ink::Dim, doubt)),
            );
        }
        if self.total > self.usages.len() as u64 {
            put(
                &mut out,
                format_args!("\n… {} in all; --max-results shows more\n", plural(self.total, "mention")),
            );
        }
        out + &gaps(look, &self.coverage)
    }
}

impl Render for Drawn {
    /// Nothing but the picture, so that it can be sent to a file.
    fn render(&self, _: &Look) -> String {
        text(&self.picture)
    }
}

fn line(look: &Look, symbol: &SymbolRef) -> String {
    let facts = look.facts(&[
        format!("{} {}", symbol.access, symbol.kind),
        format!("{}:{}", clean(&symbol.file), symbol.line),
        symbol.member_id.clone().unwrap_or_else(|| symbol.type_id.clone()),
    ]);
    format!("{}  {facts}\n", look.paint(Ink::Bold, &clean(&symbol.path)))
}

fn gaps(look: &Look, coverage: &Coverage) -> String {
    if coverage.with_gaps == 0 && coverage.unread.is_empty() {
        return String::new();
    }
    let read = format!(
        "{} of {} could not be understood everywhere, {} not be read",
        plural(coverage.with_gaps, "file"),
        coverage.files,
        coverage.unread.len()
    );
    format!("{}\n", look.paint(Ink::Dim, &read))
}

/// Source may hold what a terminal would obey.
fn text(source: &str) -> String {
    source.lines().map(|line| clean(line) + "\n").collect()
}
