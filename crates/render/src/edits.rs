//! Text of the responses about edits of source code.

use crate::Render;
use crate::format::count_of;
use crate::options::{RenderOptions, Style};
use api::edits::{EditApplied, EditList, EditPlace, EditPlanned, InterruptedEdit, NEEDS_COMPILER, Trust};
use api::terminal_text::{append_fmt, one_line, strip_controls};

impl Render for EditPlanned {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out = String::new();
        for line in self.diff.lines() {
            append_fmt(&mut out, format_args!("{}\n", strip_controls(&line.replace('\t', "    "))));
        }
        let places: u64 = self.files.iter().map(|file| file.edits).sum();
        let size = format!("{} in {}", count_of(places, "place"), count_of(self.files.len() as u64, "file"));
        append_fmt(
            &mut out,
            format_args!("\n{}: {size}\n", options.paint(Style::Bold, &one_line(&self.title))),
        );
        if let Some(checker) = &self.checked_by {
            append_fmt(&mut out, format_args!("{checker} reports no new errors\n"));
        }
        push_places(&mut out, "new warnings", &self.new_warnings);
        push_places(&mut out, "still used", &self.still_used);
        push_places(&mut out, "not certain", &self.unsure);
        let id = &self.id;
        let next = match (self.applied, self.complete) {
            (true, _) => format!("applied as {id}; `loci edit undo {id}` undoes it"),
            (false, true) if self.checked_by.is_none() => {
                format!("not written yet, and not compiled (--check does); `loci edit apply {id}` writes it")
            }
            (false, true) => format!("not written yet; `loci edit apply {id}` writes it"),
            (false, false) if self.unsure.iter().all(|it| it.reason == NEEDS_COMPILER) => {
                "not complete: add --check, and the compiler decides".into()
            }
            (false, false) => format!(
                "not complete: add --check, or confirm each place: loci edit apply {id} --confirm FILE:LINE (or --leave)"
            ),
        };
        append_fmt(&mut out, format_args!("{next}\n"));
        push_interrupted(&mut out, self.interrupted.as_ref());
        out
    }
}

fn push_interrupted(out: &mut String, interrupted: Option<&InterruptedEdit>) {
    if let Some(edit) = interrupted {
        append_fmt(out, format_args!("{}\n", strip_controls(&edit.to_string())));
    }
}

/// How many places are listed for people.
const PLACES_SHOWN: usize = 20;

fn push_places(out: &mut String, title: &str, places: &[EditPlace]) {
    if places.is_empty() {
        return;
    }
    append_fmt(out, format_args!("{title}:\n"));
    for place in places.iter().take(PLACES_SHOWN) {
        let (file, text) = (strip_controls(&place.file), one_line(&place.text));
        append_fmt(out, format_args!("  {file}:{}  {}  {text}\n", place.line, one_line(&place.reason)));
    }
    if places.len() > PLACES_SHOWN {
        append_fmt(out, format_args!("  … {} more\n", places.len() - PLACES_SHOWN));
    }
}

impl Render for EditApplied {
    fn render(&self, _: &RenderOptions) -> String {
        let mut out = format!("{} {}: {}\n", self.state, self.id, one_line(&self.title));
        self.files.iter().for_each(|file| append_fmt(&mut out, format_args!("  {}\n", strip_controls(file))));
        if !self.kept.is_empty() {
            append_fmt(&mut out, format_args!("left as they are, because they have changed since:\n"));
        }
        self.kept.iter().for_each(|file| append_fmt(&mut out, format_args!("  {}\n", strip_controls(file))));
        out
    }
}

impl Render for EditList {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out = String::new();
        if self.edits.is_empty() {
            out.push_str("no edit of this tree was applied\n");
        }
        for edit in &self.edits {
            let files = count_of(edit.files.len() as u64, "file");
            let line = format!("{}  {}  {}  {files}", edit.id, edit.state, one_line(&edit.title));
            append_fmt(&mut out, format_args!("{line}  {}\n", options.paint(Style::Dim, &edit.time)));
        }
        let counts: Vec<String> = self.counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
        if !counts.is_empty() {
            append_fmt(&mut out, format_args!("{}\n", counts.join(", ")));
        }
        push_interrupted(&mut out, self.interrupted.as_ref());
        out
    }
}

impl Render for Trust {
    fn render(&self, _: &RenderOptions) -> String {
        let word = if self.trusted { "may" } else { "may not" };
        format!("edits of {} {word} run its compiler\n", strip_controls(&self.root))
    }
}
