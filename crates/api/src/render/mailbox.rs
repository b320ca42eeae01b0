//! Messages between agents, as a person reads them.

use super::{Ink, Look, Render, plural};
use crate::mailbox::{AgentLine, Agents, MessageLine, Messages, Removed};
use crate::plain::{clean, cut, one_line, put};

impl Render for MessageLine {
    fn render(&self, look: &Look) -> String {
        let mut out = head(self, look);
        for (label, text) in [("reply", &self.reply), ("error", &self.error)] {
            if let Some(text) = text {
                put(&mut out, format_args!("{}\n{}\n", look.paint(Ink::Dim, label), clean(text).trim_end()));
            }
        }
        if let Some(next) = &self.next {
            put(&mut out, format_args!("{}\n", look.paint(Ink::Dim, next)));
        }
        out
    }
}

fn head(message: &MessageLine, look: &Look) -> String {
    let number = message.id.map_or_else(|| "a message".to_string(), |id| format!("message {id}"));
    let from =
        if message.from.is_empty() { String::new() } else { format!(" from {}", clean(&message.from)) };
    let to = look.paint(Ink::Bold, &clean(&message.agent));
    let often =
        if message.attempts > 1 { format!(", delivered {} times", message.attempts) } else { String::new() };
    format!("{number} to {to}{from}: {}{often}\n", message.state)
}

impl Render for Messages {
    fn render(&self, look: &Look) -> String {
        if self.messages.is_empty() && self.spooled == 0 {
            return "no such messages: `loci dispatch AGENT MESSAGE` hands one in, `loci agent messages` lists them\n".to_string();
        }
        let mut out = String::new();
        for message in &self.messages {
            out += &head(message, look);
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
                        look.paint(Ink::Dim, label),
                        cut(&one_line(text), look.width.saturating_sub(6))
                    ),
                );
            }
        }
        if self.spooled > 0 {
            put(
                &mut out,
                format_args!(
                    "{} for the daemon: `loci daemon start`\n",
                    plural(self.spooled, "message waits")
                ),
            );
        }
        out
    }
}

impl Render for AgentLine {
    fn render(&self, look: &Look) -> String {
        let session = self.session.as_ref().map(|id| format!("  {}", clean(id))).unwrap_or_default();
        let name = look.paint(Ink::Bold, &clean(&self.name));
        let note =
            self.note.as_ref().map(|note| format!("{}\n", look.paint(Ink::Dim, note))).unwrap_or_default();
        format!(
            "{name}  {}  {}{}\n{note}",
            clean(&self.directory),
            self.client,
            look.paint(Ink::Dim, &session)
        )
    }
}

impl Render for Agents {
    fn render(&self, look: &Look) -> String {
        if self.agents.is_empty() {
            return "no agent has a name yet: `loci agent add NAME DIRECTORY`\n".to_string();
        }
        self.agents.iter().map(|agent| agent.render(look)).collect()
    }
}

impl Render for Removed {
    fn render(&self, _: &Look) -> String {
        format!("{} is gone, and {} with it\n", clean(&self.name), plural(self.messages, "message"))
    }
}
