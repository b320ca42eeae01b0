//! Search results by session: title, time and project, passages with highlighted matches, resume command.
//!
//! Does not compute the confidence: shows the figure of the response as a word.

use crate::Render;
use crate::format::{count_of, count_of_total, shortest_id, wrap_text};
use crate::options::{RenderOptions, Style};
use api::resolve_ids::{ChatId, MessageId, Resolved};
use api::resume::missing_note;
use api::search::{ChatFound, NextAction, Origin, SearchFound, Snippet};
use api::sessions::{SessionLine, Sessions};
use api::terminal_text::{append_fmt, is_printable, one_line};
use api::{guidance, operation_named};

impl Render for SearchFound {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out = String::new();
        for chat in &self.results {
            let id = shortest_id(&chat.chat_id, self.results.iter().map(|other| other.chat_id.as_str()));
            out += &render_result(chat, &id, options);
            out.push('\n');
        }
        out += &render_summary(self, options);
        out += &render_added_words(self, options);
        out += &render_notes(&self.notes, options);
        if let Some(action) = self.guidance.as_ref().and_then(|guidance| guidance.next_actions.first()) {
            out += &render_next_step(action, options);
        }
        out
    }
}

fn render_notes(notes: &[String], options: &RenderOptions) -> String {
    notes.iter().map(|note| options.paint(Style::Dim, &format!("note: {}", one_line(note))) + "\n").collect()
}

fn render_summary(response: &SearchFound, options: &RenderOptions) -> String {
    let as_of =
        response.as_of.map_or(String::new(), |at| format!(" (as of {})", options.format_date(Some(at))));
    if response.results.is_empty() {
        return format!("no results{as_of}\n");
    }
    let many = count_of_total(response.results.len() as u64, response.total_chats, "session");
    format!("{many}, confidence: {}{as_of}\n", guidance::confidence_word(response.confidence))
}

/// The words that were added to the search.
fn render_added_words(response: &SearchFound, options: &RenderOptions) -> String {
    let added = response.guidance.as_ref().map(|guidance| &guidance.state.expanded_terms);
    let beside = |(word, others): (&String, &Vec<String>)| {
        let others = one_line(&others.join(", "));
        if word == LEARNT { others } else { format!("{others} (for {})", one_line(word)) }
    };
    let all: Vec<String> = added.into_iter().flatten().map(beside).collect();
    if all.is_empty() {
        return String::new();
    }
    format!("{}\n", options.paint(Style::Dim, &format!("also searched for: {}", all.join("; "))))
}

/// The key of words learnt from the user's own sessions: they extend the query as a whole.
const LEARNT: &str = "*";

fn render_result(chat: &ChatFound, id: &str, options: &RenderOptions) -> String {
    let mut out = render_title(&chat.title, options);
    let facts = [
        options.format_when(chat.time_range.to.or(chat.time_range.from)),
        one_line(&chat.source),
        render_device(chat.device.as_deref()),
        chat.project.as_deref().map_or(String::new(), |path| options.display_path(path)),
        count_of(chat.hits, "hit"),
        id.to_string(),
    ];
    append_fmt(&mut out, format_args!("  {}\n", options.join_facts(&facts)));
    for snippet in chat.snippets.iter().filter(|snippet| !repeats_title(snippet, chat)) {
        out += &render_passage(snippet, options);
    }
    let missing = missing_note(id, chat.archived, chat.device.as_deref());
    out + &render_resume(chat.resume.as_deref(), missing, options)
}

/// The device that a session or fact came from; empty for this one.
pub(crate) fn render_device(device: Option<&str>) -> String {
    device.map_or(String::new(), |device| format!("on {}", one_line(device)))
}

fn render_title(title: &str, options: &RenderOptions) -> String {
    let title = one_line(title);
    let title = if title.is_empty() { "(no title)" } else { &title };
    format!("{}\n", options.paint(Style::Bold, title))
}

/// The resume command, or why there is none.
pub(crate) fn render_resume(
    command: Option<&str>,
    missing: Option<String>,
    options: &RenderOptions,
) -> String {
    let line = |text: &str| format!("  {}\n", options.paint(Style::Dim, &one_line(text)));
    match (command, missing) {
        (Some(command), _) => line(&format!("resume: {command}")),
        (None, Some(missing)) => line(&missing),
        (None, None) => String::new(),
    }
}

/// The label of a passage.
/// Whether a passage says no more than the title above it, which often is the first prompt.
fn repeats_title(snippet: &Snippet, chat: &ChatFound) -> bool {
    let start = |text: &str| one_line(text).trim_end_matches('…').trim().to_lowercase();
    let (title, passage) = (start(&chat.title), start(&snippet.text));
    !passage.is_empty() && title.starts_with(&passage) && chat.snippets.len() > 1
}

fn passage_label(snippet: &Snippet) -> &str {
    match snippet.source {
        Origin::Title => "title",
        Origin::Tool => "tool",
        Origin::Content => &snippet.role,
    }
}

const ROLE: usize = 9;
const INDENT: usize = 4;

fn render_passage(snippet: &Snippet, options: &RenderOptions) -> String {
    let text = mark_matches(snippet);
    let width = options.width.saturating_sub(INDENT + ROLE + 2).max(20);
    let mut out = String::new();
    for (n, line) in wrap_text(&text, width).iter().enumerate() {
        let who = format!("{:<ROLE$}", if n == 0 { one_line(passage_label(snippet)) } else { String::new() });
        let line = paint_matches(line, options);
        append_fmt(
            &mut out,
            format_args!("{:INDENT$}{}  {}\n", "", options.paint(Style::Role, &who), line.trim_end()),
        );
    }
    out
}

/// The passage on one line; each character is marked if it is part of a match.
fn mark_matches(snippet: &Snippet) -> Vec<(char, bool)> {
    let mut out: Vec<(char, bool)> = Vec::new();
    for (at, c) in snippet.text.chars().enumerate() {
        let hit = snippet.highlights.iter().any(|[from, to]| (*from as usize..*to as usize).contains(&at));
        if c.is_whitespace() {
            if out.last().is_some_and(|(last, _)| *last != ' ') {
                out.push((' ', hit));
            }
        } else if is_printable(c) {
            out.push((c, hit));
        }
    }
    out
}

fn paint_matches(text: &[(char, bool)], options: &RenderOptions) -> String {
    let same = text.chunk_by(|a, b| a.1 == b.1);
    same.map(|run| {
        let shown: String = run.iter().map(|(c, _)| *c).collect();
        if run[0].1 { options.paint(Style::Match, &shown) } else { shown }
    })
    .collect()
}

/// The next step as a command.
fn render_next_step(action: &NextAction, options: &RenderOptions) -> String {
    let Some(operation) = operation_named(&action.tool) else { return String::new() };
    let mut args = action.args.clone();
    args.shift_remove("iteration"); // Of no use to a person.
    let typed = one_line(&operation.command_line(&args));
    format!("next: {}\n", options.paint(Style::Bold, &typed))
        + &format!("  {}\n", options.paint(Style::Dim, &action.why))
}

// ---- lists of sessions

impl Render for Sessions {
    fn render(&self, options: &RenderOptions) -> String {
        let ids = || self.sessions.iter().map(|other| other.chat_id.as_str());
        let lines = self
            .sessions
            .iter()
            .map(|line| render_session(line, &shortest_id(&line.chat_id, ids()), options));
        let listed: String = lines.collect();
        let listed = if listed.is_empty() { "no sessions\n".to_string() } else { listed };
        let shown = self.sessions.len() as u64;
        let total = (shown > 0 && self.total > shown)
            .then(|| format!("\n{}\n", count_of_total(shown, self.total, "session")));
        listed + &total.unwrap_or_default() + &render_notes(&self.notes, options)
    }
}

fn render_session(line: &SessionLine, id: &str, options: &RenderOptions) -> String {
    let failed = if line.errors > 0 { format!(", {} failed", line.errors) } else { String::new() };
    let facts = [
        options.format_when(line.time_range.to.or(line.time_range.from)),
        one_line(&line.source),
        render_device(line.device.as_deref()),
        line.project.as_deref().map_or(String::new(), |path| options.display_path(path)),
        format!("{}, {}{failed}", count_of(line.turns, "turn"), count_of(line.tool_calls, "call")),
        id.to_string(),
    ];
    let head = render_title(&line.title, options);
    let missing = missing_note(id, line.archived, line.device.as_deref());
    format!(
        "{head}  {}\n{}",
        options.join_facts(&facts),
        render_resume(line.resume.as_deref(), missing, options)
    )
}

impl Render for Resolved {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out: String = self.chats.iter().map(|chat| render_session_id(chat, options)).collect();
        out.extend(self.messages.iter().map(|message| render_message_id(message, options)));
        if out.is_empty() {
            return "no session or message has this ID prefix\n".to_string();
        }
        if self.more {
            out += "more matches not listed; use a longer prefix\n";
        } else if self.ambiguous {
            out += "the prefix is ambiguous; use a longer one\n";
        }
        out
    }
}

pub(crate) fn render_session_id(chat: &ChatId, options: &RenderOptions) -> String {
    let facts = [
        one_line(&chat.title),
        one_line(&chat.source),
        chat.project.as_deref().map_or(String::new(), |path| options.display_path(path)),
    ];
    format!(
        "session  {}  {}\n",
        options.paint(Style::Bold, &one_line(&chat.chat_id)),
        options.join_facts(&facts)
    )
}

fn render_message_id(message: &MessageId, options: &RenderOptions) -> String {
    let facts = [
        message.role.as_deref().map_or(String::new(), one_line),
        options.format_when(message.created_at),
        format!("in {}", one_line(&message.chat_id)),
    ];
    format!(
        "message  {}  {}\n",
        options.paint(Style::Bold, &one_line(&message.message_id)),
        options.join_facts(&facts)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::search::{Intent, SearchConversations, TimeRange};
    use record::{Clock, Stamp};
    use std::collections::BTreeMap;

    fn sample_options(colour: bool) -> RenderOptions {
        let clock = Clock::At(Stamp::parse(b"2026-11-15T09:30:00Z"));
        RenderOptions { clock, home: "/home/ada".to_string(), width: 60, wrap: true, colour }
    }

    fn sample_response() -> SearchFound {
        let at = Stamp::parse(b"2026-11-12T09:30:00Z").0;
        let snippet = |role: &str, text: &str, highlights: &[[u32; 2]], source| Snippet {
            message_id: "m".into(),
            role: role.into(),
            created_at: Some(at),
            text: text.into(),
            source,
            highlights: highlights.to_vec(),
        };
        let chat = ChatFound {
            chat_id: "7f3a0000-1111".into(),
            title: "Daemon loses\nits socket".into(),
            hits: 4,
            time_range: TimeRange { from: Some(at), to: Some(at) },
            snippets: vec![
                snippet(
                    "user",
                    "the  daemon\nloses its socket when the \u{1b}[31mlid closes",
                    &[[22, 28]],
                    Origin::Content,
                ),
                snippet("assistant", "虚拟列表滚动很卡", &[[0, 4]], Origin::Content),
                snippet("assistant", "bind: address in use", &[], Origin::Tool),
            ],
            source: "claude-code".into(),
            project: Some("/home/ada/loci".into()),
            resume: Some("cd /home/ada/loci && claude --resume 7f3a0000-1111".into()),
            archived: false,
            device: None,
        };
        let ask = SearchConversations {
            intent_query: Intent(vec!["lost socket".into()]),
            ..SearchConversations::default()
        };
        SearchFound { confidence: 0.8, results: vec![chat], ..SearchFound::default() }
            .with_guidance(&ask, BTreeMap::new())
    }

    const PLAIN: &str = "Daemon loses its socket
  3 days ago, 12 Nov 09:30 · claude-code · ~/loci · 4 hits · 7f3a0000
    user       the daemon loses its socket when the [31mlid
               closes
    assistant  虚拟列表滚动很卡
    tool       bind: address in use
  resume: cd /home/ada/loci && claude --resume 7f3a0000-1111

1 session, confidence: sure
next: loci show 7f3a0000-1111
  read it
";

    #[test]
    fn results_are_readable_without_colours() {
        assert_eq!(sample_response().render(&sample_options(false)), PLAIN);
    }

    #[test]
    fn colours_mark_matches_without_changing_the_text() {
        let coloured = sample_response().render(&sample_options(true));
        assert!(coloured.contains("its \x1b[1;33msocket\x1b[0m when"), "{coloured}");
        assert!(coloured.contains("\x1b[1;33m虚拟列表\x1b[0m滚动很卡"), "{coloured}");
        let mut bare = String::new();
        let mut parts = coloured.split('\x1b');
        bare += parts.next().unwrap();
        parts.for_each(|part| bare += part.split_once('m').unwrap().1);
        assert_eq!(bare, PLAIN);
    }

    #[test]
    fn added_words_are_listed_and_archived_sessions_have_no_resume_command() {
        let mut answer = sample_response();
        let words = [("login", vec!["sign-in", "auth"]), ("*", vec!["cookie"])];
        let words =
            words.map(|(word, all)| (word.to_string(), all.into_iter().map(str::to_string).collect()));
        answer.guidance.as_mut().unwrap().state.expanded_terms = words.into();
        answer.results[0].archived = true;
        answer.results[0].resume = None;
        let text = answer.render(&sample_options(false));
        assert!(text.contains("\nalso searched for: cookie; sign-in, auth (for login)\n"), "{text}");
        assert!(text.contains("\n  (transcript deleted by its agent; archived by Loci)\n"), "{text}");
        assert!(!text.contains("resume:"), "{text}");
    }

    #[test]
    fn an_empty_search_says_so_and_suggests_a_next_step() {
        let ask =
            SearchConversations { intent_query: Intent(vec!["x".into()]), ..SearchConversations::default() };
        let none = SearchFound::default().with_guidance(&ask, BTreeMap::new());
        let text = none.render(&sample_options(false));
        assert!(text.starts_with("no results\nnext: loci search x --fuzzy\n"), "{text}");
    }
}
