//! Text of the responses about the code base.

use crate::Render;
use crate::costs::render_model_run;
use crate::format::{count_of, group_digits};
use crate::options::{RenderOptions, Style};
use api::code::{
    ChangesFound, CodeStatus, Conclusion, Coverage, FocusList, GraphDrawn, IndexedCode, Investigation,
    MapDrawn, NoteLine, NotesWritten, Outlined, PackBuilt, Package, Packs, PinResult, PromptWindow, Semantic,
    Sourced, SymbolMatches, SymbolRef, TypeAlias, TypeChange, TypeRef, UsagesFound, Work,
};
use api::terminal_text::{append_fmt, one_line, strip_controls};

impl Render for Outlined {
    fn render(&self, options: &RenderOptions) -> String {
        let (own, source) = (count_of(self.outline_tokens, "token"), count_of(self.source_tokens, "token"));
        let percent = self.outline_tokens as f64 * 100.0 / self.source_tokens.max(1) as f64;
        let cost = if self.outline_tokens < self.source_tokens {
            format!("{own}, {percent:.0} % of the source ({source})")
        } else {
            format!("{own}; the source has only {source}: `loci code source` shows it")
        };
        let mut out =
            format!("{}\n\n{}\n", clean_source(&self.outline).trim_end(), options.paint(Style::Dim, &cost));
        out.push_str(&render_coverage(options, &self.coverage));
        out
    }
}

impl Render for SymbolMatches {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out = String::new();
        if self.nearly && !self.candidates.is_empty() {
            append_fmt(&mut out, format_args!("no exact match; similar names:\n"));
        }
        // Of many, the file says where each is; a name of the whole path would say it twice.
        let is_list = self.candidates.len() > 1;
        for symbol in &self.candidates {
            let is_type = symbol.member_id.is_none();
            let path =
                if is_list { last_words(&symbol.path, if is_type { 1 } else { 2 }) } else { &symbol.path };
            out.push_str(&render_named(options, symbol, path));
        }
        out + &render_coverage(options, &self.coverage)
    }
}

impl Render for MapDrawn {
    fn render(&self, options: &RenderOptions) -> String {
        let cost = format!(
            "{} of {}, {} of {}",
            group_digits(self.shown),
            count_of(self.total, "symbol"),
            group_digits(self.tokens),
            count_of(self.budget, "token")
        );
        let mut out = format!("{}\n{}\n", clean_source(&self.map), options.paint(Style::Dim, &cost));
        self.packages.iter().for_each(|package| out.push_str(&render_package(options, package)));
        out.push_str(&render_coverage(options, &self.coverage));
        out
    }
}

/// The package with its size, and a line for each package that it uses.
fn render_package(options: &RenderOptions, of: &Package) -> String {
    let path = |path: &str| if path.is_empty() { ".".to_string() } else { strip_controls(path) };
    let cycle = of.cycle.map_or(String::new(), |number| format!(", in cycle {number}"));
    let size = format!("{}, {}{cycle}", count_of(of.lines, "line"), count_of(of.types, "type"));
    let mut out = format!("\n{}  {}\n", path(&of.path), options.paint(Style::Dim, &size));
    for used in &of.uses {
        let references = count_of(used.references, "reference");
        append_fmt(
            &mut out,
            format_args!("  uses {}  {}\n", path(&used.path), options.paint(Style::Dim, &references)),
        );
    }
    out
}

impl Render for Sourced {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out = String::new();
        for piece in &self.source {
            let place = format!("{}:{}", strip_controls(&piece.file), piece.line);
            append_fmt(&mut out, format_args!("{}\n", options.paint(Style::Dim, &place)));
            for (at, line) in clean_source(&piece.text).lines().enumerate() {
                append_fmt(&mut out, format_args!("{:>5}  {line}\n", piece.line as usize + at));
            }
        }
        if self.left_out > 0 {
            let more = count_of(self.left_out, "more line");
            append_fmt(&mut out, format_args!("\n… {more}; --max-lines shows more\n"));
        }
        out + &render_coverage(options, &self.coverage)
    }
}

impl Render for UsagesFound {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out = render_symbol(options, &self.resolved);
        if self.symbols > 1 {
            append_fmt(&mut out, format_args!("and {}\n", count_of(self.symbols - 1, "more symbol")));
        }
        if !self.files.is_empty() {
            return out + &render_counts(options, self);
        }
        let (mut file, mut around) = ("", "");
        let (doubted, sure): (Vec<_>, Vec<_>) = self.usages.iter().partition(|it| it.certainty == POSSIBLE);
        let few = doubted.iter().take(POSSIBLE_SHOWN);
        let (more_sure, more) = (
            self.total.saturating_sub(self.possible) > sure.len() as u64,
            self.possible.saturating_sub(few.len() as u64),
        );
        for usage in sure.iter().chain(few) {
            if usage.file != file {
                (file, around) = (&usage.file, "");
                append_fmt(
                    &mut out,
                    format_args!("\n{}\n", options.paint(Style::Bold, &strip_controls(file))),
                );
            }
            let sure = matches!(usage.certainty.as_str(), "exact" | "certain");
            let mut facts = if sure { String::new() } else { format!("  ({})", usage.certainty) };
            if usage.write && self.relation != "writes" {
                facts.push_str("  (write)");
            }
            let name = usage.within.as_deref().filter(|name| self.names_what_is_around() && *name != around);
            if let Some(name) = name {
                around = name;
                append_fmt(&mut facts, format_args!("  in {}", last_words(name, 2)));
            }
            append_fmt(
                &mut out,
                format_args!(
                    "  {:>5}  {}{}\n",
                    usage.line,
                    strip_controls(&usage.text),
                    options.paint(Style::Dim, &strip_controls(&facts))
                ),
            );
        }
        if more_sure {
            append_fmt(
                &mut out,
                format_args!("\n… {} in total; --max-results shows more\n", count_of(self.total, "usage")),
            );
        }
        if more > 0 {
            let places = count_of(more, "more match").replace("matchs", "matches");
            let advice = "--certainty likely hides them, --json --max-results N lists them";
            append_fmt(&mut out, format_args!("\n… {places} by name only (possible); {advice}\n"));
        }
        out + &render_coverage(options, &self.coverage)
    }
}

/// A name without packages and namespaces: so many words, and parameters.
fn last_words(name: &str, count: usize) -> &str {
    let plain = name.split(['(', '<']).next().unwrap_or(name);
    plain.rmatch_indices('.').nth(count - 1).map_or(name, |(at, _)| &name[at + 1..])
}

fn render_counts(options: &RenderOptions, found: &UsagesFound) -> String {
    let mut out = String::new();
    for each in &found.files {
        append_fmt(&mut out, format_args!("  {:>5}  {}\n", each.usages, strip_controls(&each.file)));
    }
    let listed: u64 = found.files.iter().map(|it| it.usages).sum();
    if listed < found.total {
        let total = count_of(found.total, "usage");
        append_fmt(&mut out, format_args!("… {total} in total; --max-results shows more files\n"));
    }
    if found.possible > 0 {
        let doubted = count_of(found.possible, "match").replace("matchs", "matches");
        append_fmt(&mut out, format_args!("{doubted} by name only (possible)\n"));
    }
    out + &render_coverage(options, &found.coverage)
}

const POSSIBLE: &str = "possible";
/// For a method called `find`, 317 of 320 matches belonged to other types: a few examples are enough.
const POSSIBLE_SHOWN: usize = 5;

impl Render for GraphDrawn {
    /// Only the graph, so that the output can be redirected to a file.
    fn render(&self, _: &RenderOptions) -> String {
        clean_source(&self.picture)
    }
}

impl Render for Semantic {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out = render_symbol(options, &self.resolved);
        append_fmt(
            &mut out,
            format_args!("note: {}  {}\n", self.state, options.join_facts(&[strip_controls(&self.path)])),
        );
        for why in &self.why {
            append_fmt(&mut out, format_args!("  {}\n", strip_controls(why)));
        }
        if let Some(note) = &self.text {
            append_fmt(&mut out, format_args!("\n{}", clean_source(note)));
        }
        if !self.with.is_empty() {
            out.push_str(&render_types("also covers:", &self.with));
        }
        if let Some(error) = &self.last_error {
            let failure = format!("the last attempt failed: {}", strip_controls(error));
            append_fmt(&mut out, format_args!("{}\n", options.paint(Style::Warn, &failure)));
        }
        if let Some(next) = &self.next {
            append_fmt(&mut out, format_args!("{}\n", strip_controls(next)));
        }
        out + &render_coverage(options, &self.coverage)
    }
}

impl Render for NotesWritten {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out: String = self.notes.iter().map(|note| render_note(options, note)).collect();
        if self.notes.is_empty() {
            out.push_str("no note is requested or stale; `loci code notes NAME` writes one\n");
        }
        out.push_str(&render_model_run(&self.model, options, "note", self.dry_run));
        out + &render_coverage(options, &self.coverage)
    }
}

fn render_note(options: &RenderOptions, note: &NoteLine) -> String {
    let ink = match note.outcome.as_str() {
        "failed" => Style::Bad,
        "waiting" | "outdated" | "kept" => Style::Warn,
        _ => Style::Dim,
    };
    let names = note.types.iter().map(|it| strip_controls(&it.path)).collect::<Vec<_>>().join(", ");
    let tokens =
        note.tokens.map_or(String::new(), |tokens| format!("at most {} tokens", group_digits(tokens)));
    let cost = note.cost.map_or(String::new(), |cost| format!("${cost:.4}"));
    let class = note.change_class.clone().unwrap_or_default();
    let facts =
        options.join_facts(&[class, note.sections.join(" "), tokens, cost, strip_controls(&note.path)]);
    let mut out =
        format!("{}  {}  {facts}\n", options.paint(ink, &note.outcome), options.paint(Style::Bold, &names));
    for detail in note.why.iter().chain(&note.payload) {
        out.push_str(
            &clean_source(detail).lines().fold(String::new(), |out, line| out + "    " + line + "\n"),
        );
    }
    out
}

impl Render for Investigation {
    fn render(&self, options: &RenderOptions) -> String {
        let cached = if self.kept { "cached" } else { "" };
        let scope = self.scope.join(" ");
        let facts = options.join_facts(&[
            self.op.clone(),
            self.state.clone(),
            cached.to_string(),
            strip_controls(&scope),
        ]);
        let mut out = format!("{}  {facts}\n", options.paint(Style::Bold, &one_line(&self.question)));
        for step in self.events.iter().skip(self.heard) {
            append_fmt(
                &mut out,
                format_args!("{}\n", options.paint(Style::Dim, &format!("  {}", one_line(&step.text)))),
            );
        }
        if let Some(found) = &self.answer {
            out.push_str(&render_conclusion(options, found));
        }
        for message in self.error.iter().chain(&self.hint) {
            append_fmt(&mut out, format_args!("{}\n", options.paint(Style::Warn, &strip_controls(message))));
        }
        out
    }
}

fn render_conclusion(options: &RenderOptions, found: &Conclusion) -> String {
    let mut out = String::new();
    if let Some(answer) = &found.text {
        append_fmt(&mut out, format_args!("\n{}\n", clean_source(answer).trim_end()));
        out.extend(found.cites.iter().map(|symbol| format!("  {}", render_symbol(options, symbol))));
    }
    if let Some(why) = &found.why {
        append_fmt(&mut out, format_args!("{}\n", options.paint(Style::Dim, &strip_controls(why))));
    }
    out.push_str(&render_coverage(options, &found.coverage));
    if found.evidence.is_empty() {
        out.push_str("no symbol matches the question; use --scope to say where to look\n");
    }
    // An answer shows only the symbols it cites.
    for exhibit in found.evidence.iter().filter(|_| found.text.is_none()) {
        append_fmt(&mut out, format_args!("\n{}", clean_source(&exhibit.outline)));
        if let Some(note) = &exhibit.note {
            out.push_str(&clean_source(note));
        }
        for usage in &exhibit.usages {
            append_fmt(
                &mut out,
                format_args!(
                    "  {}:{}  {}\n",
                    strip_controls(&usage.file),
                    usage.line,
                    strip_controls(&usage.text)
                ),
            );
        }
    }
    out
}

impl Render for PackBuilt {
    fn render(&self, options: &RenderOptions) -> String {
        let written = if self.reused { "unchanged" } else { "written" };
        let cost = format!("{} of {} tokens", group_digits(self.tokens), group_digits(self.budget));
        let facts =
            options.join_facts(&[count_of(self.types.len() as u64, "type"), cost, written.to_string()]);
        let mut out = format!("{}  {facts}\n", options.paint(Style::Bold, &strip_controls(&self.path)));
        out.push_str(&render_types("", &self.types));
        out.push_str(&render_types("did not fit:", &self.left_out));
        out + &render_coverage(options, &self.coverage)
    }
}

impl Render for Packs {
    fn render(&self, options: &RenderOptions) -> String {
        if self.packs.is_empty() {
            return "no packs; `loci code pack NAME --filter EXPR` builds one\n".to_string();
        }
        let mut out = String::new();
        for pack in &self.packs {
            let facts =
                [count_of(pack.types, "type"), count_of(pack.tokens, "token"), strip_controls(&pack.filter)];
            let name = options.paint(Style::Bold, &strip_controls(&pack.name));
            append_fmt(&mut out, format_args!("{name}  {}\n", options.join_facts(&facts)));
        }
        out
    }
}

impl Render for PromptWindow {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out = clean_source(&self.window);
        if self.shown.is_empty() {
            out.push_str("no pinned, focused or recent types; `loci code pin NAME` pins one\n");
        }
        out.push_str(&render_types("pinned, did not fit:", &self.left_out));
        let cost = format!("{} of {} tokens", group_digits(self.tokens), group_digits(self.budget));
        let at = self.path.as_deref().map(strip_controls).unwrap_or_default();
        append_fmt(&mut out, format_args!("{}\n", options.join_facts(&[cost, at])));
        out + &render_coverage(options, &self.coverage)
    }
}

impl Render for PinResult {
    fn render(&self, options: &RenderOptions) -> String {
        let changed = if self.changed { "" } else { "  (no change)" };
        let name = options.paint(Style::Bold, &strip_controls(&self.resolved.path));
        let mut out = format!("{name}{}\n", options.paint(Style::Dim, changed));
        out.push_str(&render_types("pinned:", &self.pinned));
        out + &render_notes(options, &self.notes)
    }
}

impl Render for FocusList {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out = String::new();
        for each in &self.context {
            let facts = options.join_facts(&[format!("until {}", each.until), each.type_id.clone()]);
            append_fmt(
                &mut out,
                format_args!("{}  {facts}\n", options.paint(Style::Bold, &strip_controls(&each.path))),
            );
        }
        if let Some(window) = &self.window {
            out.push_str(&window.render(options));
        } else if !self.pinned.is_empty() {
            out.push_str(&render_types("pinned:", &self.pinned));
        } else if self.context.is_empty() {
            out.push_str("no types in focus; `loci code context add NAME` adds one\n");
        }
        out + &render_notes(options, &self.notes)
    }
}

/// The number of changes to print; renaming a base type changes thousands.
const SHOWN: usize = 60;

/// The number of members to print of an added type.
const ADDED_SHOWN: usize = 12;

/// `  file:line`, without the file if it is clear, and nothing if there is no place.
fn render_place(options: &RenderOptions, file: &str, line: u32) -> String {
    if line == 0 {
        return String::new();
    }
    options.paint(Style::Dim, &format!("  {}:{line}", strip_controls(file)))
}

/// Changed types with their members, and renamed types.
fn render_changes(options: &RenderOptions, changes: &[TypeChange], aliases: &[TypeAlias]) -> String {
    let mut out = String::new();
    for change in changes.iter().take(SHOWN) {
        let class = options.paint(Style::Dim, &format!("{:20}", change.change_class));
        let place = render_place(options, &change.file, change.line);
        append_fmt(&mut out, format_args!("{class} {}{place}\n", strip_controls(&change.path)));
        let shown = if change.change_class == "Added" { ADDED_SHOWN } else { usize::MAX };
        for member in change.members.iter().take(shown) {
            let facts = format!("{}: {} {}", member.key, member.change_class, member.change);
            // The file is the same as the type's, except for partial types and packages.
            let file = if member.file == change.file { "" } else { &member.file };
            let place = render_place(options, file, member.line);
            append_fmt(&mut out, format_args!("{:20} {}{place}\n", "", strip_controls(&facts)));
        }
        if change.members.len() > shown {
            append_fmt(&mut out, format_args!("{:20} … {} more\n", "", change.members.len() - shown));
        }
    }
    if changes.len() > SHOWN {
        let more = count_of((changes.len() - SHOWN) as u64, "more type");
        append_fmt(&mut out, format_args!("… {more}; -o json lists all\n"));
    }
    for alias in aliases {
        let (old, new) = (strip_controls(&alias.old), strip_controls(&alias.new));
        append_fmt(&mut out, format_args!("{old} was renamed to {new}: {}\n", strip_controls(&alias.reason)));
    }
    out
}

impl Render for ChangesFound {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out = render_changes(options, &self.changes, &self.aliases);
        for (title, names) in [("dependents:", &self.dependents), ("tests:", &self.tests)] {
            if names.is_empty() {
                continue;
            }
            append_fmt(&mut out, format_args!("{title}\n"));
            for name in names.iter().take(SHOWN) {
                append_fmt(&mut out, format_args!("  {}\n", strip_controls(name)));
            }
            if names.len() > SHOWN {
                append_fmt(&mut out, format_args!("  … {} more; -o json lists all\n", names.len() - SHOWN));
            }
        }
        let since: String = self.since.chars().take(12).collect();
        let summary = format!(
            "{} in {} since {}",
            count_of(self.changes.len() as u64, "changed type"),
            count_of(self.files.len() as u64, "file"),
            strip_controls(&since)
        );
        append_fmt(&mut out, format_args!("{}\n", options.paint(Style::Dim, &summary)));
        out + &render_coverage(options, &self.coverage)
    }
}

impl Render for IndexedCode {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out = render_changes(options, &self.changes, &self.aliases);
        let Work { files_parsed, types_hashed, files_written, .. } = self.work;
        let cost = format!(
            "{} indexed; {} parsed, {} hashed, {} written to .loci",
            count_of(self.types_indexed, "type"),
            count_of(files_parsed, "file"),
            count_of(types_hashed, "type"),
            count_of(files_written, "file")
        );
        append_fmt(&mut out, format_args!("{}\n", options.paint(Style::Dim, &cost)));
        for it in &self.indexers {
            let result = it.error.clone().unwrap_or_else(|| {
                format!("{}, {}", count_of(it.files, "file"), count_of(it.occurrences, "occurrence"))
            });
            let folder = if it.folder.is_empty() { String::new() } else { format!(" in {}", it.folder) };
            let line = strip_controls(&format!("{}{folder}: {result}", it.indexer));
            append_fmt(&mut out, format_args!("{}\n", options.paint(Style::Dim, &line)));
        }
        out + &render_coverage(options, &self.coverage)
    }
}

impl Render for CodeStatus {
    fn render(&self, options: &RenderOptions) -> String {
        let mut out = format!("{}\n", options.paint(Style::Bold, &options.display_path(&self.root)));
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
            append_fmt(&mut out, format_args!("  {name:<12}{:>12}\n", group_digits(n)));
        }
        for each in &self.languages {
            let facts = options.join_facts(&[count_of(each.files, "file"), count_of(each.lines, "line")]);
            append_fmt(&mut out, format_args!("  {:<12}  {facts}\n", each.name));
        }
        if let Some(mb) = self.memory_mb {
            append_fmt(&mut out, format_args!("  {:<12}{:>9} MB\n", "memory", group_digits(mb)));
        }
        out + &render_daemon_figures(options, self) + &render_coverage(options, &self.coverage)
    }
}

/// What the daemon measured, and the alerts.
fn render_daemon_figures(options: &RenderOptions, status: &CodeStatus) -> String {
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let mut out = String::new();
    for (name, figure) in [
        ("uptime", status.uptime_sec.map(|seconds| format!("{} s", group_digits(seconds)))),
        ("resolve p95", status.p95_resolve_ms.map(|ms| format!("{ms} ms"))),
        ("outline hits", status.outline_hit_ratio.map(percent)),
        ("window used", status.prompt_budget_ratio.map(percent)),
    ] {
        if let Some(figure) = figure {
            append_fmt(&mut out, format_args!("  {name:<12}{figure:>12}\n"));
        }
    }
    let alerts: Vec<String> =
        status.alerts.iter().map(|alert| format!("{}; see `{}`", alert.message, alert.fix)).collect();
    out + &render_notes(options, &alerts)
}

/// Names, one per line, below a heading; empty if there are none.
fn render_types(heading: &str, types: &[TypeRef]) -> String {
    let mut out = String::new();
    if !types.is_empty() && !heading.is_empty() {
        append_fmt(&mut out, format_args!("{heading}\n"));
    }
    for each in types {
        append_fmt(&mut out, format_args!("  {}\n", strip_controls(&each.path)));
    }
    out
}

fn render_notes(options: &RenderOptions, notes: &[String]) -> String {
    notes
        .iter()
        .fold(String::new(), |out, note| out + &options.paint(Style::Warn, &strip_controls(note)) + "\n")
}

fn render_symbol(options: &RenderOptions, symbol: &SymbolRef) -> String {
    render_named(options, symbol, &symbol.path)
}

fn render_named(options: &RenderOptions, symbol: &SymbolRef, name: &str) -> String {
    let kind = format!("{} {}", symbol.access, symbol.kind);
    let place = format!("{}:{}", strip_controls(&symbol.file), symbol.line);
    let facts = options.join_facts(&[kind, place]);
    format!("{}  {facts}\n", options.paint(Style::Bold, &strip_controls(name)))
}

/// What the response does not cover, with reasons as far as known.
fn render_coverage(options: &RenderOptions, coverage: &Coverage) -> String {
    let mut out = render_notes(options, &coverage.notes);
    let shares = [
        (coverage.with_gaps, "with parse errors"),
        (coverage.not_read, "not read"),
        (coverage.inactive, "left out by conditions such as #if"),
    ];
    let shares = shares.iter().filter(|(count, _)| *count > 0);
    let shares: Vec<String> = shares.map(|(count, what)| format!("{count} {what}")).collect();
    if !shares.is_empty() {
        let read = format!("of {}: {}", count_of(coverage.files, "file"), shares.join(", "));
        append_fmt(&mut out, format_args!("{}\n", options.paint(Style::Dim, &read)));
    }
    for why in &coverage.unread {
        append_fmt(
            &mut out,
            format_args!("{}\n", options.paint(Style::Dim, &format!("  {}", strip_controls(why)))),
        );
    }
    out
}

/// Removes control sequences that source text may contain.
fn clean_source(source: &str) -> String {
    source.lines().map(|line| strip_controls(line) + "\n").collect()
}
