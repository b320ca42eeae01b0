//! Text of messages between agents.

use crate::Render;
use crate::format::count_of;
use crate::options::{RenderOptions, Style};
use api::mailbox::{AgentLine, Agents, MessageLine, Messages, Removed};
use api::terminal_text::{append_fmt, one_line, strip_controls, truncate_width};

impl Render for MessageLine {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out = render_header(self, options);
        for (label, text) in [("reply", &self.reply), ("error", &self.error)] {
            if let Some(text) = text {
                append_fmt(
                    &mut out,
                    format_args!(
                        "{}\n{}\n",
                        options.paint(Style::Dim, label),
                        strip_controls(text).trim_end()
                    ),
                );
            }
        }
        if let Some(next) = &self.next {
            append_fmt(&mut out, format_args!("{}\n", options.paint(Style::Dim, next)));
        }
        out
    }
}

fn render_header(message: &MessageLine, options: &RenderOptions) -> String {
    let number = message.id.map_or_else(|| "a message".to_string(), |id| format!("message {id}"));
    let from = if message.from.is_empty() {
        String::new()
    } else {
        format!(" from {}", strip_controls(&message.from))
    };
    let to = options.paint(Style::Bold, &strip_controls(&message.agent));
    let often =
        if message.attempts > 1 { format!(", delivered {} times", message.attempts) } else { String::new() };
    format!("{number} to {to}{from}: {}{often}\n", message.state)
}

impl Render for Messages {
    fn render(&self, options: &RenderOptions) -> String {
        if self.messages.is_empty() && self.spooled == 0 {
            return "no matching messages; `loci dispatch AGENT MESSAGE` sends one, `loci agent messages` lists all\n".to_string();
        }
        let mut out = String::new();
        for message in &self.messages {
            out += &render_header(message, options);
            for (label, text) in [
                ("  > ", Some(&message.text)),
                ("  < ", message.reply.as_ref()),
                ("  ! ", message.error.as_ref()),
            ] {
                let Some(text) = text.filter(|text| !text.is_empty()) else { continue };
                append_fmt(
                    &mut out,
                    format_args!(
                        "{}{}\n",
                        options.paint(Style::Dim, label),
                        truncate_width(&one_line(text), options.width.saturating_sub(6))
                    ),
                );
            }
        }
        if self.spooled > 0 {
            append_fmt(
                &mut out,
                format_args!(
                    "{} waiting for the daemon: `loci daemon start`\n",
                    count_of(self.spooled, "message")
                ),
            );
        }
        out
    }
}

impl Render for AgentLine {
    fn render(&self, options: &RenderOptions) -> String {
        let session = self.session.as_ref().map(|id| format!("  {}", strip_controls(id))).unwrap_or_default();
        let name = options.paint(Style::Bold, &strip_controls(&self.name));
        let note = self
            .note
            .as_ref()
            .map(|note| format!("{}\n", options.paint(Style::Dim, note)))
            .unwrap_or_default();
        format!(
            "{name}  {}  {}{}\n{note}",
            strip_controls(&self.directory),
            self.client,
            options.paint(Style::Dim, &session)
        )
    }
}

impl Render for Agents {
    fn render(&self, options: &RenderOptions) -> String {
        if self.agents.is_empty() {
            return "no agents; `loci agent add NAME DIRECTORY` adds one\n".to_string();
        }
        self.agents.iter().map(|agent| agent.render(options)).collect()
    }
}

impl Render for Removed {
    fn render(&self, _: &RenderOptions) -> String {
        format!("removed {} and {}\n", strip_controls(&self.name), count_of(self.messages, "message"))
    }
}
