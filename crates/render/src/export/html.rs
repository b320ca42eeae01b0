//! A session as one HTML file: no network, searchable, calls folded, readable when printed.
//!
//! Everything from the session is escaped; the page's policy forbids loading anything.

use super::{call_title, calls_of, head_facts, speaker_of, title_of};
use crate::RenderOptions;
use api::gather_chats::{ChatMessage, OneChat};
use api::terminal_text::{append_fmt, escape_html as escape, one_line};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

pub fn to_html(session: &OneChat, options: &RenderOptions) -> String {
    let title = escape(&one_line(title_of(session)));
    let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n<header>\n<h1>{title}</h1>\n<dl>\n"
    );
    for (name, value) in head_facts(session, options) {
        append_fmt(&mut out, format_args!("<dt>{name}<dd>{}\n", escape(&value)));
    }
    out += "</dl>\n<input id=\"search\" type=\"search\" placeholder=\"Search this session\" aria-label=\"Search\">\n\
            <button id=\"fold\" type=\"button\">Open all calls</button> <span id=\"count\"></span>\n</header>\n<main>\n";
    for message in &session.messages {
        append_message(&mut out, message, options);
    }
    for note in &session.notes {
        append_fmt(&mut out, format_args!("<p class=\"note\">{}</p>\n", escape(note)));
    }
    append_fmt(&mut out, format_args!("</main>\n<script>\n{SCRIPT}</script>\n</html>\n"));
    out
}

fn append_message(out: &mut String, message: &ChatMessage, options: &RenderOptions) {
    let who = speaker_of(message);
    let role = if message.kind.is_none() && message.role == "user" { "user" } else { "other" };
    let when = options.format_date(message.created_at);
    append_fmt(
        out,
        format_args!("<article class=\"{role}\">\n<h2>{} <time>{}</time></h2>\n", escape(who), escape(&when)),
    );
    append_body(out, &message.content);
    for (call, result) in calls_of(message) {
        let failed = call.status.as_deref().is_some_and(|status| status == "error");
        let class = if failed { " class=\"failed\"" } else { "" };
        let about = one_line(&crate::gather_chats::summarize_args(&call.args));
        append_fmt(
            out,
            format_args!(
                "<details{class}><summary>{} <code>{}</code></summary>\n<pre>{}</pre>\n",
                escape(&call_title(call)),
                escape(&api::terminal_text::truncate_width(&about, 100)),
                escape(&serde_json::to_string_pretty(&call.args).unwrap_or_default())
            ),
        );
        if let Some(result) = result {
            append_fmt(out, format_args!("<pre>{}</pre>\n", escape(&result)));
        }
        *out += "</details>\n";
    }
    *out += "</article>\n";
}

/// Prose keeps its line breaks; what is between fences is code.
fn append_body(out: &mut String, text: &str) {
    let (mut is_code, mut part) = (false, String::new());
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            close_part(out, &mut part, is_code);
            is_code = !is_code;
        } else {
            part += line;
            part.push('\n');
        }
    }
    close_part(out, &mut part, is_code);
}

fn close_part(out: &mut String, part: &mut String, is_code: bool) {
    let text = std::mem::take(part);
    if text.trim().is_empty() {
        return;
    }
    let (open, close) = if is_code { ("<pre>", "</pre>") } else { ("<p>", "</p>") };
    append_fmt(out, format_args!("{open}{}{close}\n", escape(text.trim_end())));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_session_is_taken_for_markup() {
        let (session, options) = super::super::tests::sample();
        let page = to_html(&session, &options);
        assert!(page.contains("<h1>Fix &lt;it&gt; &amp; more</h1>"), "{page}");
        assert!(page.contains("<pre>let x = 1 &lt; 2;</pre>"), "{page}");
        assert!(
            page.contains("&lt;/pre&gt;&lt;script&gt;") && page.matches("<script>").count() == 1,
            "{page}"
        );
        assert!(page.contains("<details class=\"failed\">"), "{page}");
        assert!(!page.contains("http://") && !page.contains("https://"), "{page}");
    }
}
