//! Text of the card: the suggested session, the reasons, and three choices as commands.
//!
//! Does not choose.

use crate::Render;
use crate::options::{RenderOptions, Style};
use api::operation::shell_quote;
use api::recommend::{Card, Recommended};
use api::terminal_text::{append_fmt, one_line, truncate_width};

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

/// Width of a name on a card, in columns.
const NAME_WIDTH: usize = 80;

/// The card of a prompt hook: in the language of the prompt, one choice per line. Its texts must have been defused.
pub fn hook_card(card: &Card, date: &str, english: bool) -> String {
    let name = if card.name.is_empty() { &card.chat_id } else { &card.name };
    let name = truncate_width(&one_line(name), NAME_WIDTH);
    let why = one_line(&card.why.join(if english { ", " } else { "、" }));
    let (sure, there) = (card.confidence, card.resume.as_deref().map(one_line));
    if english {
        let there = there.unwrap_or_else(|| "this agent cannot resume a specific session".to_string());
        format!(
            "Loci: this may refer to an earlier session: \"{name}\" · {date} · matched {why} (confidence {sure:.2})\n\
             1 continue there: {there}\n2 bring its summary in here: type `loci bring`\n3 ignore: just go on"
        )
    } else {
        let there = there.unwrap_or_else(|| "这个客户端不能指定会话".to_string());
        format!(
            "Loci：可能指的是历史会话「{name}」· {date} · 匹配 {why}（置信度 {sure:.2}）\n\
             1 切换过去继续：{there}\n2 把摘要调入当前聊天：输入 `带入摘要`（或 `loci bring`）\n3 忽略：直接继续"
        )
    }
}
