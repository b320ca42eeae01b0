//! Text of the card: the suggested session, the reasons, and three choices as commands.
//!
//! Does not choose.

use crate::Render;
use crate::options::{Ink, RenderOptions};
use api::operation::quoted;
use api::recommend::{Card, Recommended};
use api::terminal_text::{one_line, put};

impl Render for Recommended {
    fn render(&self, options: &RenderOptions) -> String {
        let sure = self.confidence.map_or(String::new(), |sure| format!(" (confidence {sure:.2})"));
        let why = self.reason.as_deref().unwrap_or_default();
        self.card
            .as_ref()
            .map_or_else(|| format!("no suggestion: {why}{sure}\n"), |card| shown(card, options))
    }
}

fn shown(card: &Card, options: &RenderOptions) -> String {
    let name = if card.name.is_empty() { "(no title)" } else { &card.name };
    let mut out = format!("{}\n", options.paint(Ink::Bold, &one_line(name)));
    let facts = [
        options.when(card.date),
        one_line(&card.source),
        card.project.as_deref().map_or(String::new(), |path| options.path(path)),
        format!("confidence {:.2}", card.confidence),
    ];
    put(&mut out, format_args!("  {}\n", options.facts(&facts)));
    if !card.why.is_empty() {
        put(&mut out, format_args!("  matched: {}\n", one_line(&card.why.join(", "))));
    }
    if !card.preview.is_empty() {
        put(&mut out, format_args!("  {}\n", options.paint(Ink::Dim, &one_line(&card.preview))));
    }
    let show = format!("loci show {}", quoted(&card.chat_id));
    let there = card.resume.as_deref().unwrap_or("not supported by this agent");
    put(&mut out, format_args!("\n  1  continue there      {}\n", one_line(there)));
    put(&mut out, format_args!("  2  read it here        {show}\n"));
    put(&mut out, format_args!("  3  ignore it           nothing was changed\n"));
    out
}
