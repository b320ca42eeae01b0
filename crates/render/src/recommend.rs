//! Text of the card: the suggested session, the reasons, and three choices as commands.
//!
//! Does not choose.

use crate::Render;
use crate::options::{RenderOptions, Style};
use api::operation::shell_quote;
use api::recommend::{Card, Recommended};
use api::terminal_text::{append_fmt, one_line};

impl Render for Recommended {
    fn render(&self, options: &RenderOptions) -> String {
        let sure = self.confidence.map_or(String::new(), |sure| format!(" (confidence {sure:.2})"));
        let why = self.reason.as_deref().unwrap_or_default();
        self.card
            .as_ref()
            .map_or_else(|| format!("no suggestion: {why}{sure}\n"), |card| render_card(card, options))
    }
}

fn render_card(card: &Card, options: &RenderOptions) -> String {
    let name = if card.name.is_empty() { "(no title)" } else { &card.name };
    let mut out = format!("{}\n", options.paint(Style::Bold, &one_line(name)));
    let facts = [
        options.format_when(card.date),
        one_line(&card.source),
        card.project.as_deref().map_or(String::new(), |path| options.display_path(path)),
        format!("confidence {:.2}", card.confidence),
    ];
    append_fmt(&mut out, format_args!("  {}\n", options.join_facts(&facts)));
    if !card.why.is_empty() {
        append_fmt(&mut out, format_args!("  matched: {}\n", one_line(&card.why.join(", "))));
    }
    if !card.preview.is_empty() {
        append_fmt(&mut out, format_args!("  {}\n", options.paint(Style::Dim, &one_line(&card.preview))));
    }
    let show = format!("loci show {}", shell_quote(&card.chat_id));
    let there = card.resume.as_deref().unwrap_or("not supported by this agent");
    append_fmt(&mut out, format_args!("\n  1  continue there      {}\n", one_line(there)));
    append_fmt(&mut out, format_args!("  2  read it here        {show}\n"));
    append_fmt(&mut out, format_args!("  3  ignore it           nothing was changed\n"));
    out
}
