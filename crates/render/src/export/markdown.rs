//! A session as Markdown.
//!
//! Messages are Markdown already and stay as they are; code that contains fences gets longer ones.

use super::{call_title, calls_of, head_facts, speaker_of, title_of};
use crate::RenderOptions;
use api::gather_chats::{ChatMessage, OneChat};
use api::terminal_text::{append_fmt, one_line, strip_controls};

pub fn to_markdown(session: &OneChat, options: &RenderOptions) -> String {
    let mut out = format!("# {}\n\n", one_line(title_of(session)));
    for (name, value) in head_facts(session, options) {
        append_fmt(&mut out, format_args!("- {name}: {}\n", one_line(&value)));
    }
    for message in &session.messages {
        append_message(&mut out, message, options);
    }
    for note in &session.notes {
        append_fmt(&mut out, format_args!("\n> {}\n", one_line(note)));
    }
    out
}

fn append_message(out: &mut String, message: &ChatMessage, options: &RenderOptions) {
    let when = options.format_date(message.created_at);
    append_fmt(out, format_args!("\n## {}, {when}\n\n", one_line(speaker_of(message))));
    if !message.content.trim().is_empty() {
        append_fmt(out, format_args!("{}\n", clean_text(&message.content)));
    }
    for (call, result) in calls_of(message) {
        append_fmt(out, format_args!("\n**{}**\n\n", one_line(&call_title(call))));
        out.push_str(&fenced(&crate::gather_chats::summarize_args(&call.args)));
        if let Some(result) = result.filter(|text| !text.trim().is_empty()) {
            out.push('\n');
            out.push_str(&fenced(&result));
        }
    }
}

/// Without control characters, which a terminal would obey.
fn clean_text(text: &str) -> String {
    text.lines().map(|line| strip_controls(line).trim_end().to_string()).collect::<Vec<_>>().join("\n")
}

/// A code block whose fence is longer than any in the text.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    format!("{fence}\n{}\n{fence}\n", clean_text(text).trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_becomes_a_document() {
        let (session, options) = super::super::tests::sample();
        let expected = "# Fix <it> & more

- Agent: codex
- Project: ~/loci
- Started: 14 Nov 10:00
- Ended: 14 Nov 10:00
- Messages: 2
- Session: aaaa1111

## user, 14 Nov 10:00

Why?
```rust
let x = 1 < 2;
```
now

## assistant, 14 Nov 10:00

Because.

**Bash (error)**

````
echo '<b>```'
````

`````
````
</pre><script>
`````

> a note
";
        assert_eq!(to_markdown(&session, &options), expected);
    }
}
