//! `query edits` and `analyze rework`: the edits that sessions made, and the work that was done twice.
//!
//! Does not know how edits are read or what became of them: that is `lineage`.

use crate::ViewQuery;
use crate::printer::Printer;
use api::{Error, ViewRequest};
use code::{Span, classify_symbol, symbols_at, symbols_in_text};
use history::outcome::Outcome;
use history::scan::by_time;
use lineage::edit_records::{EditRecords, EditedText, SymbolEdit};
use lineage::rework::{find_rework, to_record};
use lineage::session_context::SessionContext;
use lineage::session_edits::{SessionEdit, SessionEdits};
use std::collections::BTreeSet;

pub(crate) fn list_edits(question: &ViewQuery<'_>, printer: &mut Printer<'_>) -> Result<Outcome, Error> {
    let (pattern, fields) = (question.compile_pattern()?, question.selected_fields());
    let history = &question.history;
    let mut read = SessionEdits::read_matching(history, question.request, &[])?;
    read.library.outcome.problems.append(&mut read.problems);
    // The build or commit after an edit may be outside the period.
    let around = ViewRequest { since: None, until: None, ..question.request.clone() };
    let sessions: BTreeSet<String> = read.sessions.iter().map(|(id, _)| id.to_string()).collect();
    let context = SessionContext::read_matching(history, &around, Some(&sessions))?;
    let mut records = EditRecords::new(history, &read, &context, &compare_versions);
    let is_meant = |edit: &&SessionEdit| {
        let (tool, text) = (read.library.name(&edit.row), &edit.edit);
        let before = text.before.as_deref().unwrap_or_default();
        question.matches_file(&read.absolute_path(edit))
            && (question.request.tool.is_empty()
                || question.request.tool.iter().any(|it| it.eq_ignore_ascii_case(tool)))
            && pattern.as_ref().is_none_or(|it| it.matches(&text.after) || it.matches(before))
    };
    let mut edits: Vec<&SessionEdit> = read.edits.iter().filter(is_meant).collect();
    if !question.request.reverse {
        edits.reverse();
    }
    edits.into_iter().all(|edit| printer.print_record(&records.record(edit, &fields)));
    Ok(read.library.outcome)
}

pub(crate) fn list_rework(question: &ViewQuery<'_>, printer: &mut Printer<'_>) -> Result<Outcome, Error> {
    let (history, fields) = (&question.history, question.selected_fields());
    let context = SessionContext::read_matching(history, question.request, None)?;
    let mut found = find_rework(&context);
    found.retain(|(finding, _)| finding.file.as_deref().is_none_or(|file| question.matches_file(file)));
    found.sort_by(|(_, one), (_, other)| by_time(one, other));
    if !question.request.reverse {
        found.reverse();
    }
    found.iter().all(|finding| printer.print_record(&to_record(&context, finding, &fields)));
    Ok(context.into_outcome())
}

/// The symbols at the place of an edit, with the class of the change.
fn compare_versions(edited: &EditedText<'_>) -> Vec<SymbolEdit> {
    let now = symbols_in_text(edited.path, edited.now);
    let before = symbols_in_text(edited.path, edited.before);
    let mut seen = BTreeSet::new();
    let changed = symbols_at(&now, Span::new(edited.at.start, edited.at.end));
    let changed = changed.into_iter().filter(|symbol| seen.insert(symbol.name.clone()));
    changed
        .filter_map(|symbol| {
            let class = classify_symbol(&before, &now, &symbol.name)?;
            Some(SymbolEdit { name: symbol.name.clone(), change_class: class.name() })
        })
        .collect()
}
