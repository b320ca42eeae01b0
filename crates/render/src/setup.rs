//! Text of `loci setup`: planned or completed changes per file, as diffs.
//!
//! Does not know the agents' file formats.

use crate::Render;
use crate::format::{count_of, format_size, group_digits};
use crate::options::{RenderOptions, Style};
use api::Response;
use api::setup::{AgentSetup, Change, ChangeKind, SetupDone, ToolsetChoice};
use api::terminal_text::{append_fmt, one_line, strip_controls};
use std::path::Path;

impl Render for SetupDone {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out: String =
            self.agents.iter().map(|agent| render_agent(agent, self.remove, options)).collect();
        if self.is_empty() {
            let nothing = if self.remove {
                "Loci is not set up for any agent"
            } else {
                "no agents found on this machine"
            };
            append_fmt(&mut out, format_args!("{nothing}\n"));
        }
        if let Some(choice) = &self.toolsets {
            out += &render_toolsets(choice, options);
        }
        out
    }
}

/// The tools that agents get, what they cost, and what else could be chosen.
fn render_toolsets(choice: &ToolsetChoice, options: &RenderOptions) -> String {
    let mut out = format!(
        "{}  {}\n",
        options.paint(Style::Bold, &format!("Tools: {}", choice.chosen.join(","))),
        options.paint(Style::Dim, &cost_of(choice.tools, choice.tokens))
    );
    out += &render_changes(choice.change.as_slice(), options);
    if choice.change.is_none() {
        let flag = options.paint(Style::Bold, "--toolsets SETS");
        append_fmt(&mut out, format_args!("  choose others with {flag}\n"));
        for set in &choice.known {
            let about = format!("{}; {}", one_line(&set.about), cost_of(set.tools, set.tokens));
            append_fmt(&mut out, format_args!("  {:<8} {}\n", set.name, options.paint(Style::Dim, &about)));
        }
    }
    out
}

fn cost_of(tools: u64, tokens: u64) -> String {
    format!("{}, about {} tokens in every session", count_of(tools, "tool"), group_digits(tokens))
}

fn render_agent(agent: &AgentSetup, remove: bool, options: &RenderOptions) -> String {
    let title = options.paint(Style::Bold, &one_line(&agent.title));
    let mut out = match &agent.found {
        Some(found) => {
            format!(
                "{title}  {}\n",
                options.paint(Style::Dim, &format!("found: {}", options.display_path(found)))
            )
        }
        None => format!("{title}  {}\n", options.paint(Style::Dim, "not found")),
    };
    append_fmt(&mut out, format_args!("{}", render_changes(&agent.changes, options)));
    let idle = agent.changes.is_empty() && agent.problems.is_empty();
    if idle && remove {
        append_fmt(&mut out, format_args!("  nothing to remove\n"));
    } else if idle && agent.found.is_some() {
        append_fmt(&mut out, format_args!("  already set up\n"));
    }
    for check in &agent.checks {
        let (word, ink) = if check.holds { ("ok     ", Style::Good) } else { ("failed ", Style::Bad) };
        append_fmt(&mut out, format_args!("  {}  {}\n", options.paint(ink, word), one_line(&check.what)));
    }
    for problem in &agent.problems {
        append_fmt(
            &mut out,
            format_args!("  {}  {}\n", options.paint(Style::Bad, "problem"), one_line(&problem.message)),
        );
        let by_hand = problem.by_hand.iter().flat_map(|text| text.lines());
        by_hand.for_each(|line| append_fmt(&mut out, format_args!("           {}\n", strip_controls(line))));
    }
    if let Some(next) = &agent.next {
        append_fmt(&mut out, format_args!("  next     {}\n", one_line(next)));
    }
    out
}

/// Files shipped with Loci are grouped by directory; changes to the user's own files are shown as diffs.
fn render_changes(all: &[Change], options: &RenderOptions) -> String {
    let mut out = String::new();
    let mut rest = all;
    while let Some(first) = rest.first() {
        let folder = parent_directory(first);
        let same = |c: &&Change| {
            c.diff.is_none()
                && (c.does, c.made) == (first.does, first.made)
                && self::parent_directory(c) == folder
        };
        let many = if first.diff.is_some() { 1 } else { rest.iter().take_while(same).count() };
        let (now, later) = rest.split_at(many.max(1));
        append_fmt(&mut out, format_args!("{}", render_group(now, folder, options)));
        rest = later;
    }
    out
}

fn parent_directory(change: &Change) -> &str {
    Path::new(&change.path).parent().and_then(Path::to_str).unwrap_or_default()
}

fn render_group(changes: &[Change], folder: &str, options: &RenderOptions) -> String {
    let first = &changes[0];
    let word = options
        .paint(if first.does == ChangeKind::Remove { Style::Warn } else { Style::Good }, change_word(first));
    if changes.len() == 1 {
        // The diff is shown only before the change is made.
        let shown = first.diff.iter().filter(|_| !first.made).flat_map(|diff| diff.lines());
        let shown = shown.map(|line| render_diff_line(line, options));
        return format!("  {word}  {}\n{}", options.display_path(&first.path), shown.collect::<String>());
    }
    let bytes = changes.iter().map(|change| change.bytes).sum();
    let names = changes.iter().filter_map(|change| Path::new(&change.path).file_name()?.to_str());
    let names = strip_controls(&names.collect::<Vec<_>>().join(", "));
    let many = count_of(changes.len() as u64, "file");
    let many =
        if first.does == ChangeKind::Remove { many } else { format!("{many}, {}", format_size(bytes)) };
    format!(
        "  {word}  {}/  {}\n           {names}\n",
        options.display_path(folder),
        options.paint(Style::Dim, &many)
    )
}

fn change_word(change: &Change) -> &'static str {
    match (change.does, change.made) {
        (ChangeKind::Create, false) => "create ",
        (ChangeKind::Create, true) => "created",
        (ChangeKind::Edit, false) => "edit   ",
        (ChangeKind::Edit, true) => "edited ",
        (ChangeKind::Remove, false) => "remove ",
        (ChangeKind::Remove, true) => "removed",
    }
}

fn render_diff_line(line: &str, options: &RenderOptions) -> String {
    let line = strip_controls(line);
    let painted = match line.chars().next() {
        Some('+') => options.paint(Style::Good, &line),
        Some('-') => options.paint(Style::Bad, &line),
        Some('@') => options.paint(Style::Dim, &line),
        _ => line,
    };
    format!("    {painted}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::setup::{Check, SetupProblem};
    use record::Clock;

    fn sample_change(path: &str, does: ChangeKind, diff: Option<&str>) -> Change {
        Change { path: path.into(), does, diff: diff.map(str::to_string), bytes: 512, made: false }
    }

    #[test]
    fn changes_are_shown_per_file_or_per_directory() {
        let mut agent = AgentSetup {
            agent: "codex".into(),
            title: "Codex".into(),
            found: Some("/home/dev/.codex".into()),
            changes: vec![
                sample_change("/home/dev/.codex/agents/a.toml", ChangeKind::Create, None),
                sample_change("/home/dev/.codex/agents/b.toml", ChangeKind::Create, None),
                sample_change(
                    "/home/dev/.codex/config.toml",
                    ChangeKind::Edit,
                    Some("@@ -1,1 +1,2 @@\n a\n+\u{1b}b\n"),
                ),
            ],
            ..AgentSetup::default()
        };
        let options = RenderOptions::plain(Clock::System, "/home/dev");
        let shown = |agent: &AgentSetup| {
            SetupDone { agents: vec![agent.clone()], ..SetupDone::default() }.render(&options)
        };
        assert_eq!(
            shown(&agent),
            "Codex  found: ~/.codex\n  create   ~/.codex/agents/  2 files, 1.0 KB\n           a.toml, b.toml\n  \
             edit     ~/.codex/config.toml\n    @@ -1,1 +1,2 @@\n     a\n    +b\n"
        );
        agent.changes.drain(..2);
        agent.changes[0].made = true;
        agent.checks.push(Check { what: "it runs".into(), holds: false });
        agent.problems.push(SetupProblem { message: "no".into(), by_hand: Some("add\n  this".into()) });
        agent.next = Some("look".into());
        assert_eq!(
            shown(&agent),
            "Codex  found: ~/.codex\n  edited   ~/.codex/config.toml\n  failed   it runs\n  problem  no\n           add\n             \
             this\n  next     look\n"
        );
        agent = AgentSetup { title: "Codex".into(), found: Some("/x".into()), ..AgentSetup::default() };
        assert_eq!(shown(&agent), "Codex  found: /x\n  already set up\n");
        assert_eq!(SetupDone::default().render(&options), "no agents found on this machine\n");
    }
}
