//! Text of the responses about the code base.

use crate::Render;
use crate::costs::model_run;
use crate::format::{grouped, plural};
use crate::options::{Ink, RenderOptions};
use api::code::{
    CodeStatus, Coverage, Drawn, Found, InFocus, IndexedCode, Investigation, Marked, Meant, NoteLine,
    NotesWritten, Outlined, PackBuilt, Packs, PromptWindow, Semantic, SymbolRef, TypeRef, Used, Work,
};
use api::terminal_text::{clean, one_line, put};

impl Render for Outlined {
    fn render(&self, options: &RenderOptions) -> String {
        let percent = self.outline_tokens as f64 * 100.0 / self.source_tokens.max(1) as f64;
        let cost = format!(
            "{}, {percent:.0} % of the source ({})",
            plural(self.outline_tokens, "token"),
            plural(self.source_tokens, "token")
        );
        let mut out = format!("{}\n\n{}\n", text(&self.outline).trim_end(), options.paint(Ink::Dim, &cost));
        out.push_str(&gaps(options, &self.coverage));
        out
    }
}

impl Render for Meant {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out = String::new();
        if self.nearly && !self.candidates.is_empty() {
            put(&mut out, format_args!("no exact match; similar names:\n"));
        }
        self.candidates.iter().for_each(|symbol| out.push_str(&line(options, symbol)));
        out + &gaps(options, &self.coverage)
    }
}

impl Render for Used {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out = line(options, &self.resolved);
        let mut file = "";
        let (doubted, sure): (Vec<_>, Vec<_>) = self.usages.iter().partition(|it| it.certainty == POSSIBLE);
        let few = doubted.iter().take(FEW);
        let (more_sure, more) = (
            self.total.saturating_sub(self.possible) > sure.len() as u64,
            self.possible.saturating_sub(few.len() as u64),
        );
        for usage in sure.iter().chain(few) {
            if usage.file != file {
                file = &usage.file;
                put(&mut out, format_args!("\n{}\n", options.paint(Ink::Bold, &clean(file))));
            }
            let sure = matches!(usage.certainty.as_str(), "exact" | "certain");
            let doubt = if sure { String::new() } else { format!("  ({})", usage.certainty) };
            put(
                &mut out,
                format_args!(
                    "  {:>5}  {}{}\n",
                    usage.line,
                    clean(&usage.text),
                    options.paint(Ink::Dim, &doubt)
                ),
            );
        }
        if more_sure {
            put(
                &mut out,
                format_args!("\n… {} in total; --max-results shows more\n", plural(self.total, "usage")),
            );
        }
        if more > 0 {
            let places = plural(more, "more match").replace("matchs", "matches");
            let advice = "--certainty likely hides them, --json --max-results N lists them";
            put(&mut out, format_args!("\n… {places} by name only (possible); {advice}\n"));
        }
        out + &gaps(options, &self.coverage)
    }
}

const POSSIBLE: &str = "possible";
/// For a method called `find`, 317 of 320 matches belonged to other types: a few examples are enough.
const FEW: usize = 5;

impl Render for Drawn {
    /// Only the graph, so that the output can be redirected to a file.
    fn render(&self, _: &RenderOptions) -> String {
        text(&self.picture)
    }
}

impl Render for Semantic {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out = line(options, &self.resolved);
        put(&mut out, format_args!("note: {}  {}\n", self.state, options.facts(&[clean(&self.path)])));
        for why in &self.why {
            put(&mut out, format_args!("  {}\n", clean(why)));
        }
        if let Some(note) = &self.text {
            put(&mut out, format_args!("\n{}", text(note)));
        }
        if !self.with.is_empty() {
            out.push_str(&named("also covers:", &self.with));
        }
        if let Some(error) = &self.last_error {
            let failure = format!("the last attempt failed: {}", clean(error));
            put(&mut out, format_args!("{}\n", options.paint(Ink::Warn, &failure)));
        }
        if let Some(next) = &self.next {
            put(&mut out, format_args!("{}\n", clean(next)));
        }
        out + &gaps(options, &self.coverage)
    }
}

impl Render for NotesWritten {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out: String = self.notes.iter().map(|note| note_line(options, note)).collect();
        if self.notes.is_empty() {
            out.push_str("no note is requested or stale; `loci code notes NAME` writes one\n");
        }
        out.push_str(&model_run(&self.model, options, "note", self.dry_run));
        out + &gaps(options, &self.coverage)
    }
}

fn note_line(options: &RenderOptions, note: &NoteLine) -> String {
    let ink = match note.outcome.as_str() {
        "failed" => Ink::Bad,
        "waiting" | "outdated" | "kept" => Ink::Warn,
        _ => Ink::Dim,
    };
    let names = note.types.iter().map(|it| clean(&it.path)).collect::<Vec<_>>().join(", ");
    let tokens = note.tokens.map_or(String::new(), |tokens| format!("at most {} tokens", grouped(tokens)));
    let cost = note.cost.map_or(String::new(), |cost| format!("${cost:.4}"));
    let class = note.change_class.clone().unwrap_or_default();
    let facts = options.facts(&[class, note.sections.join(" "), tokens, cost, clean(&note.path)]);
    let mut out =
        format!("{}  {}  {facts}\n", options.paint(ink, &note.outcome), options.paint(Ink::Bold, &names));
    for detail in note.why.iter().chain(&note.payload) {
        out.push_str(&text(detail).lines().fold(String::new(), |out, line| out + "    " + line + "\n"));
    }
    out
}

impl Render for Investigation {
    fn render(&self, options: &RenderOptions) -> String {
        let cached = if self.kept { "cached" } else { "" };
        let scope = self.scope.join(" ");
        let facts = options.facts(&[self.op.clone(), self.state.clone(), cached.to_string(), clean(&scope)]);
        let mut out = format!("{}  {facts}\n", options.paint(Ink::Bold, &one_line(&self.question)));
        for step in self.events.iter().skip(self.heard) {
            put(
                &mut out,
                format_args!("{}\n", options.paint(Ink::Dim, &format!("  {}", one_line(&step.text)))),
            );
        }
        if let Some(found) = &self.answer {
            out.push_str(&found_text(options, found));
        }
        for message in self.error.iter().chain(&self.hint) {
            put(&mut out, format_args!("{}\n", options.paint(Ink::Warn, &clean(message))));
        }
        out
    }
}

fn found_text(options: &RenderOptions, found: &Found) -> String {
    let mut out = String::new();
    if let Some(answer) = &found.text {
        put(&mut out, format_args!("\n{}\n", text(answer).trim_end()));
        out.extend(found.cites.iter().map(|symbol| format!("  {}", line(options, symbol))));
    }
    if let Some(why) = &found.why {
        put(&mut out, format_args!("{}\n", options.paint(Ink::Dim, &clean(why))));
    }
    out.push_str(&gaps(options, &found.coverage));
    if found.evidence.is_empty() {
        out.push_str("no symbol matches the question; use --scope to say where to look\n");
    }
    // An answer shows only the symbols it cites.
    for exhibit in found.evidence.iter().filter(|_| found.text.is_none()) {
        put(&mut out, format_args!("\n{}", text(&exhibit.outline)));
        if let Some(note) = &exhibit.note {
            out.push_str(&text(note));
        }
        for usage in &exhibit.usages {
            put(&mut out, format_args!("  {}:{}  {}\n", clean(&usage.file), usage.line, clean(&usage.text)));
        }
    }
    out
}

impl Render for PackBuilt {
    fn render(&self, options: &RenderOptions) -> String {
        let written = if self.reused { "unchanged" } else { "written" };
        let cost = format!("{} of {} tokens", grouped(self.tokens), grouped(self.budget));
        let facts = options.facts(&[plural(self.types.len() as u64, "type"), cost, written.to_string()]);
        let mut out = format!("{}  {facts}\n", options.paint(Ink::Bold, &clean(&self.path)));
        out.push_str(&named("", &self.types));
        out.push_str(&named("did not fit:", &self.left_out));
        out + &gaps(options, &self.coverage)
    }
}

impl Render for Packs {
    fn render(&self, options: &RenderOptions) -> String {
        if self.packs.is_empty() {
            return "no packs; `loci code pack NAME --filter EXPR` builds one\n".to_string();
        }
        let mut out = String::new();
        for pack in &self.packs {
            let facts = [plural(pack.types, "type"), plural(pack.tokens, "token"), clean(&pack.filter)];
            let name = options.paint(Ink::Bold, &clean(&pack.name));
            put(&mut out, format_args!("{name}  {}\n", options.facts(&facts)));
        }
        out
    }
}

impl Render for PromptWindow {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out = text(&self.window);
        if self.shown.is_empty() {
            out.push_str("no pinned, focused or recent types; `loci code pin NAME` pins one\n");
        }
        out.push_str(&named("pinned, did not fit:", &self.left_out));
        let cost = format!("{} of {} tokens", grouped(self.tokens), grouped(self.budget));
        let at = self.path.as_deref().map(clean).unwrap_or_default();
        put(&mut out, format_args!("{}\n", options.facts(&[cost, at])));
        out + &gaps(options, &self.coverage)
    }
}

impl Render for Marked {
    fn render(&self, options: &RenderOptions) -> String {
        let changed = if self.changed { "" } else { "  (no change)" };
        let name = options.paint(Ink::Bold, &clean(&self.resolved.path));
        let mut out = format!("{name}{}\n", options.paint(Ink::Dim, changed));
        out.push_str(&named("pinned:", &self.pinned));
        out + &notes(options, &self.notes)
    }
}

impl Render for InFocus {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out = String::new();
        for each in &self.context {
            let facts = options.facts(&[format!("until {}", each.until), each.type_id.clone()]);
            put(&mut out, format_args!("{}  {facts}\n", options.paint(Ink::Bold, &clean(&each.path))));
        }
        if self.context.is_empty() {
            out.push_str("no types in focus; `loci code context add NAME` adds one\n");
        }
        out + &notes(options, &self.notes)
    }
}

/// The number of changes to print; renaming a base type changes thousands.
const SHOWN: usize = 60;

impl Render for IndexedCode {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out = String::new();
        for change in self.changes.iter().take(SHOWN) {
            let class = options.paint(Ink::Dim, &format!("{:20}", change.change_class));
            put(&mut out, format_args!("{class} {}\n", clean(&change.path)));
            for member in &change.members {
                put(&mut out, format_args!("{:20} {}\n", "", clean(member)));
            }
        }
        if self.changes.len() > SHOWN {
            let more = plural((self.changes.len() - SHOWN) as u64, "more type");
            put(&mut out, format_args!("… {more}; -o json lists all\n"));
        }
        for alias in &self.aliases {
            let (old, new) = (clean(&alias.old), clean(&alias.new));
            put(&mut out, format_args!("{old} was renamed to {new}: {}\n", clean(&alias.reason)));
        }
        let Work { files_parsed, types_hashed, files_written, .. } = self.work;
        let cost = format!(
            "{} indexed; {} parsed, {} hashed, {} written to .loci",
            plural(self.types_indexed, "type"),
            plural(files_parsed, "file"),
            plural(types_hashed, "type"),
            plural(files_written, "file")
        );
        put(&mut out, format_args!("{}\n", options.paint(Ink::Dim, &cost)));
        out + &gaps(options, &self.coverage)
    }
}

impl Render for CodeStatus {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out = format!("{}\n", options.paint(Ink::Bold, &options.path(&self.root)));
        for (name, n) in [
            ("projects", self.projects),
            ("files", self.files),
            ("lines", self.lines),
            ("types", self.types_indexed),
            ("members", self.members),
            ("edges", self.edges),
            ("gaps", self.gaps),
            ("packs", self.packs),
            ("pinned", self.pinned),
            ("notes", self.notes),
            ("notes queued", self.semantic_queue_length),
            ("notes failed", self.semantic_failures),
        ] {
            put(&mut out, format_args!("  {name:<12}{:>12}\n", grouped(n)));
        }
        for each in &self.languages {
            let facts = options.facts(&[plural(each.files, "file"), plural(each.lines, "line")]);
            put(&mut out, format_args!("  {:<12}  {facts}\n", each.name));
        }
        if let Some(mb) = self.memory_mb {
            put(&mut out, format_args!("  {:<12}{:>9} MB\n", "memory", grouped(mb)));
        }
        out + &gaps(options, &self.coverage)
    }
}

/// Names, one per line, below a heading; empty if there are none.
fn named(heading: &str, types: &[TypeRef]) -> String {
    let mut out = String::new();
    if !types.is_empty() && !heading.is_empty() {
        put(&mut out, format_args!("{heading}\n"));
    }
    for each in types {
        put(&mut out, format_args!("  {}\n", clean(&each.path)));
    }
    out
}

fn notes(options: &RenderOptions, notes: &[String]) -> String {
    notes.iter().fold(String::new(), |out, note| out + &options.paint(Ink::Warn, &clean(note)) + "\n")
}

fn line(options: &RenderOptions, symbol: &SymbolRef) -> String {
    let facts = options.facts(&[
        format!("{} {}", symbol.access, symbol.kind),
        format!("{}:{}", clean(&symbol.file), symbol.line),
        symbol.member_id.clone().unwrap_or_else(|| symbol.type_id.clone()),
    ]);
    format!("{}  {facts}\n", options.paint(Ink::Bold, &clean(&symbol.path)))
}

/// What the response does not cover, with reasons as far as known.
fn gaps(options: &RenderOptions, coverage: &Coverage) -> String {
    let mut out = notes(options, &coverage.notes);
    if coverage.with_gaps > 0 || coverage.not_read > 0 {
        let read = format!(
            "{} of {} with parse errors, {} not read",
            plural(coverage.with_gaps, "file"),
            coverage.files,
            coverage.not_read
        );
        put(&mut out, format_args!("{}\n", options.paint(Ink::Dim, &read)));
    }
    for why in &coverage.unread {
        put(&mut out, format_args!("{}\n", options.paint(Ink::Dim, &format!("  {}", clean(why)))));
    }
    out
}

/// Removes control sequences that source text may contain.
fn text(source: &str) -> String {
    source.lines().map(|line| clean(line) + "\n").collect()
}
