//! Edits source code by symbol: resolves the symbol, plans, checks, applies and undoes.
//!
//! Does not know how an edit is planned or written: `edits` does.

use super::code::workbench::{open_bench, read_deadline, to_error, to_plain_error};
use super::code::{code_query, tree};
use super::interrupted_edits::describe;
use crate::Service;
use api::edits::{
    ApplyEdit, BatchEdit, ChangeSignature, DeleteSymbol, EditApplied, EditEntry, EditList, EditPlace,
    EditPlanned, EditStep, EditedFile, ExtractInterface, InsertCode, ListEdits, MoveSymbol, RenameSymbol,
    ReplaceSymbol, ShowEdit, StepKind, Trust, TrustChecks, UndoEdit, WantedEdit,
};
use api::{Code, Error, Handle, Request};
use code::Symbol;
use code_index::{PartialCodebase, StoreError};
use code_query::{CodeQuery, with_root};
use edits::{
    Applied, BatchStep, CheckRefusal, CheckSetup, EditError, EditKind, EditOutcome, JournalState, Place,
    Plan, Sources, SymbolPlace, Tree, Workbench, look_up_names, plan_batch,
};
use record::Stamp;
use std::rc::Rc;
use subprocess::Supervisor;

/// A compiler that takes longer is ended, in seconds.
const CHECK_DEADLINE: u64 = 1200;

/// Requests that plan an edit.
macro_rules! plan_requests {
    ($($request:ty)*) => {$(
        impl Handle<$request> for Service {
            fn handle(&self, request: &$request) -> Result<EditPlanned, Error> {
                request.check_params()?;
                plan(self, &WantedEdit::from(request))
            }
        }
    )*};
}

plan_requests! {
    RenameSymbol ReplaceSymbol InsertCode DeleteSymbol ChangeSignature MoveSymbol ExtractInterface
}

impl Handle<BatchEdit> for Service {
    fn handle(&self, request: &BatchEdit) -> Result<EditPlanned, Error> {
        request.check_params()?;
        let read = |file: &String| {
            let text = std::fs::read_to_string(self.cwd.join(file));
            text.map_err(|error| Error::new(Code::ReadError, format!("{file}: {error}")))
        };
        let text = request.file.as_ref().map(read).transpose()?;
        plan(self, &request.to_wanted(text.as_deref())?)
    }
}

/// The fields of a step have the names of those of its kind.
fn to_kind(step: &EditStep) -> Result<EditKind, Error> {
    let kind = serde_json::to_value(step).and_then(serde_json::from_value);
    kind.map_err(|error| Error::new(Code::InvalidArgument, error.to_string()))
}

impl Handle<ApplyEdit> for Service {
    fn handle(&self, request: &ApplyEdit) -> Result<EditApplied, Error> {
        request.check_params()?;
        let (root, bench) = open_bench(self, request.root.as_ref())?;
        let finished = bench.journal.finish(&request.id).map_err(|error| refuse(self, &bench, &error))?;
        if let Some(finished) = finished {
            bench.outcomes.record(EditOutcome::Applied);
            return Ok(to_applied(finished, "applied"));
        }
        let mut plan = bench.journal.load_plan(&request.id).map_err(|error| to_error(self, &error))?;
        if !(request.confirm.is_empty() && request.leave.is_empty()) {
            let sources = with_root(self, &root, open_sources)?;
            let decided = plan.decide_places(&sources, &request.confirm, &request.leave);
            decided.map_err(|error| refuse(self, &bench, &error))?;
            if plan.is_complete() {
                bench.journal.save_plan(&plan).map_err(|error| to_error(self, &error))?;
            }
        }
        Ok(to_applied(apply_plan(self, &bench, &plan)?, "applied"))
    }
}

impl Handle<UndoEdit> for Service {
    fn handle(&self, request: &UndoEdit) -> Result<EditApplied, Error> {
        request.check_params()?;
        let (_, bench) = open_bench(self, request.root.as_ref())?;
        let done = bench.journal.undo(&request.id).map_err(|error| refuse(self, &bench, &error))?;
        bench.outcomes.record(EditOutcome::Undone);
        Ok(to_applied(done, "undone"))
    }
}

impl Handle<ShowEdit> for Service {
    fn handle(&self, request: &ShowEdit) -> Result<EditPlanned, Error> {
        request.check_params()?;
        let (_, bench) = open_bench(self, request.root.as_ref())?;
        let plan = bench.journal.load_plan(&request.id).map_err(|error| to_error(self, &error))?;
        let entry = bench.journal.entry(&request.id);
        let applied = entry.is_ok_and(|entry| entry.state == JournalState::Applied);
        let interrupted = bench.journal.interrupted().map(|it| describe(self, &it));
        Ok(EditPlanned { id: request.id.clone(), applied, interrupted, ..to_planned(self, &plan) })
    }
}

impl Handle<ListEdits> for Service {
    fn handle(&self, request: &ListEdits) -> Result<EditList, Error> {
        let (_, bench) = open_bench(self, request.root.as_ref())?;
        let to_entry = |entry: edits::JournalEntry| EditEntry {
            id: entry.id,
            title: entry.title,
            state: entry.state.name().to_owned(),
            time: Stamp(entry.time).to_string(),
            files: entry.files.into_iter().map(|file| file.path).collect(),
        };
        let edits = bench.journal.entries().into_iter().map(to_entry).collect();
        let interrupted = bench.journal.interrupted().map(|it| describe(self, &it));
        Ok(EditList { edits, counts: bench.outcomes.counts(), interrupted })
    }
}

impl Handle<TrustChecks> for Service {
    fn handle(&self, request: &TrustChecks) -> Result<Trust, Error> {
        let (root, bench) = open_bench(self, request.root.as_ref())?;
        bench.set_trusted(!request.revoke).map_err(|error| to_error(self, &error))?;
        Ok(Trust { root: root.to_string_lossy().into_owned(), trusted: bench.is_trusted() })
    }
}

fn plan(service: &Service, wanted: &WantedEdit) -> Result<EditPlanned, Error> {
    let (root, bench) = open_bench(service, wanted.root.as_ref())?;
    if let Some(interrupted) = bench.journal.interrupted() {
        // some files have their new names and others do not: a plan of such a tree is wrong
        return Err(to_error(service, &EditError::Interrupted(Box::new(interrupted))));
    }
    let (tree, steps, mut plan) =
        with_root(service, &root, |query| plan_steps(service, query, &bench, wanted))?;
    let mut new_warnings = Vec::new();
    if wanted.check {
        let supervisor = Supervisor::new(&service.exe);
        let env = crate::env::inherited_env();
        let deadline = read_deadline(service, "LOCI_CHECK_SECONDS", CHECK_DEADLINE)?;
        let setup = CheckSetup { supervisor: &supervisor, env, deadline };
        let checked = bench.check(&tree, &mut plan, &steps, &setup);
        let checked = checked.map_err(|refusal| to_check_error(service, &bench, &refusal))?;
        plan.checked_by = Some(checked.checker);
        new_warnings = checked.settled.new_warnings.iter().map(|it| to_place(&it.place())).collect();
    }
    let id = bench.journal.save_plan(&plan).map_err(|error| to_error(service, &error))?;
    bench.outcomes.record(EditOutcome::Planned);
    if wanted.apply {
        apply_plan(service, &bench, &plan)?;
    }
    Ok(EditPlanned { id, applied: wanted.apply, new_warnings, ..to_planned(service, &plan) })
}

fn apply_plan(service: &Service, bench: &Workbench, plan: &Plan) -> Result<Applied, Error> {
    let done = bench.journal.apply(plan, service.clock.now().0);
    let done = done.map_err(|error| {
        let refused = refuse(service, bench, &error);
        let decidable = plan.unsure.iter().find(|it| it.place.reason != edits::NEEDS_COMPILER);
        match (&error, decidable) {
            (EditError::Incomplete(_), Some(first)) => {
                let place = format!("{}:{}", first.place.file, first.place.line);
                let change =
                    if first.edit.is_some() { format!("--confirm {place}, or ") } else { String::new() };
                let id = plan.id();
                refused.hint(format!("loci edit apply {id} {change}--leave {place}; for each place"))
            }
            (EditError::Incomplete(_), None) => refused.hint("plan it again with --check"),
            _ => refused,
        }
    })?;
    bench.outcomes.record(EditOutcome::Applied);
    Ok(done)
}

/// Counts a refusal. Its hints show source lines.
fn refuse(service: &Service, bench: &Workbench, error: &EditError) -> Error {
    bench.outcomes.record_refusal(error);
    let mut refused = to_error(service, error);
    refused.hints.iter_mut().for_each(|hint| *hint = service.history().mask_text(hint));
    refused
}

/// A plan for reading; its ID, and whether it is applied, are not part of it.
fn to_planned(service: &Service, plan: &Plan) -> EditPlanned {
    let mask = |text: &str| service.history().mask_text(text);
    let masked = |it: &Place| EditPlace { text: mask(&it.text), ..to_place(it) };
    let files = plan.files.iter().map(|file| EditedFile {
        path: file.path.clone(),
        edits: file.edits.len() as u64,
        moved_to: file.moved_to.clone(),
    });
    EditPlanned {
        title: plan.title.clone(),
        complete: plan.is_complete(),
        files: files.collect(),
        unsure: plan.unsure.iter().map(|it| masked(&it.place)).collect(),
        still_used: plan.still_used.iter().map(masked).collect(),
        checked_by: plan.checked_by.clone(),
        diff: mask(&plan.diff),
        ..EditPlanned::default()
    }
}

/// Plans steps on as much of the codebase as they need.
fn plan_steps(
    service: &Service,
    query: &CodeQuery<'_>,
    bench: &Workbench,
    wanted: &WantedEdit,
) -> Result<(Tree, Vec<BatchStep>, Plan), Error> {
    let broken = |error: StoreError| tree::store_error(&error);
    let store = query.store();
    let sources = Rc::new(open_sources(query)?);
    let to_step =
        |step: &EditStep| Ok(BatchStep { place: find_place(query, &sources, step)?, kind: to_kind(step)? });
    let steps = wanted.steps.iter().map(to_step).collect::<Result<Vec<_>, Error>>()?;
    if steps.iter().any(|step| step.kind.needs_whole_tree()) {
        let tree = Tree::new(sources, store.codebase().map_err(broken)?);
        let plan = plan_batch(&tree, &steps).map_err(|error| refuse(service, bench, &error))?;
        return Ok((tree, steps, plan));
    }
    let start = steps.iter().map(|step| step.place.file.clone()).collect();
    let mut partial = store.partial_codebase(&start).map_err(broken)?;
    loop {
        let tree = Tree::new(sources.clone(), partial.join());
        look_up_names(&tree, &steps);
        if !load_missing(&mut partial, &tree)? {
            let planned = plan_batch(&tree, &steps);
            if !load_missing(&mut partial, &tree)? {
                return Ok((tree, steps, planned.map_err(|error| refuse(service, bench, &error))?));
            }
        }
        partial.take_back(tree.code);
    }
}

/// The source files that are indexed.
fn open_sources(query: &CodeQuery<'_>) -> Result<Sources, Error> {
    let broken = |error: StoreError| tree::store_error(&error);
    let indexed = query.store().indexed_files().map_err(broken)?;
    let files = indexed.into_iter().map(|file| (file.path, file.project, Some(file.digest)));
    Ok(Sources::new(query.root(), query.store().projects().map_err(broken)?, files))
}

/// Loads what a tree lacked; whether there was anything.
fn load_missing(partial: &mut PartialCodebase<'_>, tree: &Tree) -> Result<bool, Error> {
    let loaded = partial.load_missing(&tree.code, &tree.missing_files());
    loaded.map_err(|error| tree::store_error(&error))
}

/// The place of a symbol: `file:line:column`, or the declaration that a name resolves to.
fn find_place(query: &CodeQuery<'_>, sources: &Sources, step: &EditStep) -> Result<SymbolPlace, Error> {
    let path = &step.path;
    if let Some(found) = sources.parse_place(path) {
        return found.map_err(|error| to_plain_error(&error));
    }
    let all = query.resolve_overloads(path)?;
    let find = |symbol: &Symbol| {
        let place = query.declaration_place(*symbol);
        place.map(|(file, at, name)| SymbolPlace { file, at, name })
    };
    let places: Vec<SymbolPlace> = all.iter().filter_map(find).collect();
    // overloads are renamed together; any other edit means one of them
    let is_family =
        all.iter().all(|it| it.of == all[0].of) && places.iter().all(|it| it.name == places[0].name);
    if places.len() > 1 && !(step.operation == StepKind::Rename && is_family) {
        return Err(query.ambiguity_error(path, &all));
    }
    let unknown =
        || Error::new(Code::SymbolNotFound, format!("`{path}` has no declaration that can be edited"));
    places.into_iter().next().ok_or_else(unknown)
}

fn to_applied(done: Applied, state: &str) -> EditApplied {
    EditApplied {
        id: done.id,
        title: done.title,
        state: state.to_owned(),
        files: done.files,
        kept: done.kept,
    }
}

fn to_place(place: &Place) -> EditPlace {
    EditPlace {
        file: place.file.clone(),
        line: place.line,
        text: place.text.clone(),
        reason: place.reason.clone(),
    }
}

fn to_check_error(service: &Service, bench: &Workbench, refusal: &CheckRefusal) -> Error {
    match refusal {
        CheckRefusal::Edit(error) => refuse(service, bench, error),
        CheckRefusal::NotTrusted => Error::new(Code::EditRefused, refusal.to_string())
            .hint("`loci edit trust` allows it; a compiler runs code of the project, such as build scripts"),
        CheckRefusal::NoChecker(_) | CheckRefusal::Check(_) => {
            Error::new(Code::EditRefused, refusal.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_only_a_compiler_confirms_is_recognised_where_it_is_shown() {
        assert_eq!(edits::NEEDS_COMPILER, api::edits::NEEDS_COMPILER);
    }
}
