//! Text of messages between agents.

use crate::Render;
use crate::format::plural;
use crate::options::{Ink, RenderOptions};
use api::mailbox::{AgentLine, Agents, MessageLine, Messages, Removed};
use api::terminal_text::{clean, cut, one_line, put};

impl Render for MessageLine {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out = head(self, options);
        for (label, text) in [("reply", &self.reply), ("error", &self.error)] {
            if let Some(text) = text {
                put(
                    &mut out,
                    format_args!("{}\n{}\n", options.paint(Ink::Dim, label), clean(text).trim_end()),
                );
            }
        }
        if let Some(next) = &self.next {
            put(&mut out, format_args!("{}\n", options.paint(Ink::Dim, next)));
        }
        out
    }
}

fn head(message: &MessageLine, options: &RenderOptions) -> String {
    let number = message.id.map_or_else(|| "a message".to_string(), |id| format!("message {id}"));
    let from =
        if message.from.is_empty() { String::new() } else { format!(" from {}", clean(&message.from)) };
    let to = options.paint(Ink::Bold, &clean(&message.agent));
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
            out += &head(message, options);
            for (label, text) in [
                ("  > ", Some(&message.text)),
                ("  < ", message.reply.as_ref()),
                ("  ! ", message.error.as_ref()),
            ] {
                let Some(text) = text.filter(|text| !text.is_empty()) else { continue };
                put(
                    &mut out,
                    format_args!(
                        "{}{}\n",
                        options.paint(Ink::Dim, label),
                        cut(&one_line(text), options.width.saturating_sub(6))
                    ),
                );
            }
        }
        if self.spooled > 0 {
            put(
                &mut out,
                format_args!(
                    "{} waiting for the daemon: `loci daemon start`\n",
                    plural(self.spooled, "message")
                ),
            );
        }
        out
    }
}

impl Render for AgentLine {
    fn render(&self, options: &RenderOptions) -> String {
        let session = self.session.as_ref().map(|id| format!("  {}", clean(id))).unwrap_or_default();
        let name = options.paint(Ink::Bold, &clean(&self.name));
        let note =
            self.note.as_ref().map(|note| format!("{}\n", options.paint(Ink::Dim, note))).unwrap_or_default();
        format!(
            "{name}  {}  {}{}\n{note}",
            clean(&self.directory),
            self.client,
            options.paint(Ink::Dim, &session)
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
        format!("removed {} and {}\n", clean(&self.name), plural(self.messages, "message"))
    }
}
