//! Text of `loci setup`: planned or completed changes per file, as diffs.
//!
//! Does not know the agents' file formats.

use crate::Render;
use crate::format::{plural, size};
use crate::options::{Ink, RenderOptions};
use api::Response;
use api::setup::{AgentSetup, Change, Does, SetupDone};
use api::terminal_text::{clean, one_line, put};
use std::path::Path;

impl Render for SetupDone {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out: String =
            self.agents.iter().map(|agent| agent_setup(agent, self.remove, options)).collect();
        if self.is_empty() {
            let nothing = if self.remove {
                "Loci is not set up for any agent"
            } else {
                "no agents found on this machine"
            };
            put(&mut out, format_args!("{nothing}\n"));
        }
        out
    }
}

fn agent_setup(agent: &AgentSetup, remove: bool, options: &RenderOptions) -> String {
    let title = options.paint(Ink::Bold, &one_line(&agent.title));
    let mut out = match &agent.found {
        Some(found) => {
            format!("{title}  {}\n", options.paint(Ink::Dim, &format!("found: {}", options.path(found))))
        }
        None => format!("{title}  {}\n", options.paint(Ink::Dim, "not found")),
    };
    put(&mut out, format_args!("{}", changes(&agent.changes, options)));
    let idle = agent.changes.is_empty() && agent.problems.is_empty();
    if idle && remove {
        put(&mut out, format_args!("  nothing to remove\n"));
    } else if idle && agent.found.is_some() {
        put(&mut out, format_args!("  already set up\n"));
    }
    for check in &agent.checks {
        let (word, ink) = if check.holds { ("ok     ", Ink::Good) } else { ("failed ", Ink::Bad) };
        put(&mut out, format_args!("  {}  {}\n", options.paint(ink, word), one_line(&check.what)));
    }
    for problem in &agent.problems {
        put(
            &mut out,
            format_args!("  {}  {}\n", options.paint(Ink::Bad, "problem"), one_line(&problem.message)),
        );
        let by_hand = problem.by_hand.iter().flat_map(|text| text.lines());
        by_hand.for_each(|line| put(&mut out, format_args!("           {}\n", clean(line))));
    }
    if let Some(next) = &agent.next {
        put(&mut out, format_args!("  next     {}\n", one_line(next)));
    }
    out
}

/// Files shipped with Loci are grouped by directory; changes to the user's own files are shown as diffs.
fn changes(all: &[Change], options: &RenderOptions) -> String {
    let mut out = String::new();
    let mut rest = all;
    while let Some(first) = rest.first() {
        let folder = folder(first);
        let same = |c: &&Change| {
            c.diff.is_none() && (c.does, c.made) == (first.does, first.made) && self::folder(c) == folder
        };
        let many = if first.diff.is_some() { 1 } else { rest.iter().take_while(same).count() };
        let (now, later) = rest.split_at(many.max(1));
        put(&mut out, format_args!("{}", several(now, folder, options)));
        rest = later;
    }
    out
}

fn folder(change: &Change) -> &str {
    Path::new(&change.path).parent().and_then(Path::to_str).unwrap_or_default()
}

fn several(changes: &[Change], folder: &str, options: &RenderOptions) -> String {
    let first = &changes[0];
    let word = options.paint(if first.does == Does::Remove { Ink::Warn } else { Ink::Good }, word(first));
    if changes.len() == 1 {
        // The diff is shown only before the change is made.
        let shown = first.diff.iter().filter(|_| !first.made).flat_map(|diff| diff.lines());
        let shown = shown.map(|line| diff_line(line, options));
        return format!("  {word}  {}\n{}", options.path(&first.path), shown.collect::<String>());
    }
    let bytes = changes.iter().map(|change| change.bytes).sum();
    let names = changes.iter().filter_map(|change| Path::new(&change.path).file_name()?.to_str());
    let names = clean(&names.collect::<Vec<_>>().join(", "));
    let many = plural(changes.len() as u64, "file");
    let many = if first.does == Does::Remove { many } else { format!("{many}, {}", size(bytes)) };
    format!("  {word}  {}/  {}\n           {names}\n", options.path(folder), options.paint(Ink::Dim, &many))
}

fn word(change: &Change) -> &'static str {
    match (change.does, change.made) {
        (Does::Create, false) => "create ",
        (Does::Create, true) => "created",
        (Does::Edit, false) => "edit   ",
        (Does::Edit, true) => "edited ",
        (Does::Remove, false) => "remove ",
        (Does::Remove, true) => "removed",
    }
}

fn diff_line(line: &str, options: &RenderOptions) -> String {
    let line = clean(line);
    let painted = match line.chars().next() {
        Some('+') => options.paint(Ink::Good, &line),
        Some('-') => options.paint(Ink::Bad, &line),
        Some('@') => options.paint(Ink::Dim, &line),
        _ => line,
    };
    format!("    {painted}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::setup::{Check, SetupProblem};
    use record::Clock;

    fn change(path: &str, does: Does, diff: Option<&str>) -> Change {
        Change { path: path.into(), does, diff: diff.map(str::to_string), bytes: 512, made: false }
    }

    #[test]
    fn changes_are_shown_per_file_or_per_directory() {
        let mut agent = AgentSetup {
            agent: "codex".into(),
            title: "Codex".into(),
            found: Some("/home/dev/.codex".into()),
            changes: vec![
                change("/home/dev/.codex/agents/a.toml", Does::Create, None),
                change("/home/dev/.codex/agents/b.toml", Does::Create, None),
                change("/home/dev/.codex/config.toml", Does::Edit, Some("@@ -1,1 +1,2 @@\n a\n+\u{1b}b\n")),
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
