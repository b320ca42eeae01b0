//! Writes queued notes with a model, most urgent first. Each prompt uses the current state of its types; the answer is merged
//! with the existing note and written atomically.
//!
//! Does not know how a model is called, or what a call costs: that is `llm`.

use super::question::{NotePrompt, failed_jobs, ranking_state};
use super::{is_excluded, read_note, read_own_note};
use crate::operations::code::code_query::{CodeQuery, folder_error, resolve_root, with_root};
use crate::operations::code::graph::{parse_filter, select_types};
use crate::operations::code::tree::{Tree, store_error};
use crate::{Service, ledger, model_run};
use api::code::{NoteLine, NotesWritten, WriteNotes};
use api::{Code, Error, Handle, Request};
use code::{Hashes, NoteState, NoteStatus};
use config::model::{self, ConfiguredModel};
use folder::access::LONG_LOCK_TIMEOUT;
use folder::{GROUPS, LociFolder, TYPES, WriteLock, group_note_path, note_path};
use llm::{CallOutcome, Ledger, remove_instructions};
use mask::Masker;
use notes::{NoteResponse, SECTIONS, Sections};
use std::collections::BTreeMap;
use std::path::Path;

impl Handle<WriteNotes> for Service {
    fn handle(&self, request: &WriteNotes) -> Result<NotesWritten, Error> {
        request.check_params()?;
        let configured = model::load_model(&self.places, &self.exe)?.ok_or_else(no_model)?;
        write_in_tree(self, request, &configured, &resolve_root(self, request.root.as_ref())?)
    }
}

/// Writes queued notes in the recently used trees that have a `.loci` folder, in a run that has already made `calls_made` calls.
/// Returns how many notes were written.
pub(crate) fn write_waiting(service: &Service, calls_made: u64) -> Result<u64, Error> {
    let Some(configured) = model::load_model(&service.places, &service.exe)?.filter(|model| model.code)
    else {
        return Ok(0);
    };
    let most = configured.notes_per_run.min(configured.jobs_per_run.saturating_sub(calls_made));
    let (mut written, mut spent, mut failed) = (0, 0, None);
    for (root, _) in service.code_folders() {
        let has_folder = LociFolder::open(&root).is_ok_and(|folder| folder.is_some());
        if spent >= most || !has_folder {
            continue;
        }
        let request = WriteNotes { limit: Some(most - spent), ..WriteNotes::default() };
        match write_in_tree(service, &request, &configured, &root) {
            Ok(done) => {
                written += done.model.answered;
                // failed calls count against the limit
                spent += done.model.answered + done.model.failed;
            }
            // A tree that cannot be written does not block the others.
            Err(error) => failed = Some(error),
        }
    }
    failed.filter(|_| written == 0).map_or(Ok(written), Err)
}

fn no_model() -> Error {
    Error::new(Code::InvalidArgument, "no model is configured to write notes")
        .hint("set `provider` in the `[model]` section of config.toml: `claude`, `anthropic` or `openai`")
        .hint("`loci code semantic` shows the path for a note of your own")
}

fn write_in_tree(
    service: &Service,
    request: &WriteNotes,
    configured: &ConfiguredModel,
    root: &Path,
) -> Result<NotesWritten, Error> {
    let mut done = NotesWritten {
        model: model_run::new_run(configured),
        dry_run: request.dry_run,
        ..NotesWritten::default()
    };
    let (jobs, off, coverage) = with_root(service, root, |query| {
        let off = |id: &String| {
            query.type_by_id(id).is_some_and(|of| is_excluded(query, of, &|path| configured.is_off(path)))
        };
        let (off, jobs): (Vec<_>, Vec<_>) =
            plan_notes(query, request)?.into_iter().partition(|ids| ids.iter().any(off));
        Ok((jobs, off.len() as u64, query.coverage()))
    })?;
    (done.coverage, done.model.off) = (coverage, off);
    if jobs.is_empty() {
        done.model.why =
            (off > 0).then(|| "this project is excluded from model calls (`model.projects_off`)".to_string());
        return Ok(done);
    }
    let most = request.limit.unwrap_or(u64::MAX).min(configured.jobs_per_run);
    let mut run = NoteRun {
        service,
        configured,
        root,
        masker: model_run::prompt_masker(service)?,
        max_calls: most,
        done,
    };
    if request.dry_run {
        run.plan_calls(&jobs, request.payload)?;
    } else {
        run.send_prompts(&jobs)?;
    }
    if run.done.model.answered > 0 {
        // Opening the tree writes the rows of the types whose notes are new.
        Tree::open(service, root)?;
    }
    Ok(run.done)
}

/// The notes to write, as lists of type IDs, most urgent first.
fn plan_notes(query: &CodeQuery<'_>, request: &WriteNotes) -> Result<Vec<Vec<String>>, Error> {
    let graph = query.dependency_graph();
    let selected = match (&request.path, &request.filter) {
        (Some(path), _) => vec![query.resolve_type(path)?],
        (None, Some(filter)) => select_types(query, &graph, &parse_filter(filter)?),
        (None, None) => queued_or_stale(query),
    };
    let by_name = request.path.is_some();
    let folder = query.folder();
    let wants = |of: &u32| {
        let note = folder.as_ref().and_then(|folder| read_note(query, folder, *of));
        note.is_none_or(|note| {
            let (state, why) = note.current_state(query, *of);
            // for an explicitly named type, small changes count too
            state != NoteStatus::Cached || by_name && !why.is_empty()
        })
    };
    // Planning these with their cycle would write the cycle's note and still leave them without one: a call in every run, each
    // of them paid for.
    let by_hand = |of: &u32| {
        let own = folder.as_ref().and_then(|folder| read_own_note(query, folder, *of));
        own.is_some_and(|note| !note.content.head.untouched)
    };
    let (by_hand, open): (Vec<u32>, Vec<u32>) = selected.into_iter().filter(wants).partition(by_hand);
    let states: BTreeMap<u32, NoteState> =
        open.into_iter().map(|of| (of, ranking_state(query, of))).collect();
    let planned = notes::plan_notes(&graph, &states).into_iter().map(|job| job.of);
    let each = by_hand.into_iter().map(|of| vec![of]);
    Ok(planned.chain(each).map(|job| job.into_iter().map(|of| query.id(of)).collect()).collect())
}

/// Types whose note is queued or stale.
fn queued_or_stale(query: &CodeQuery<'_>) -> Vec<u32> {
    let queued = query.queued_notes().into_iter().map(|(of, _)| of);
    let stale = types_with_notes(query)
        .into_iter()
        .filter(|(_, state)| *state == NoteStatus::Stale)
        .map(|(of, _)| of);
    queued.chain(stale).collect()
}

/// The types that have a note, with its state.
fn types_with_notes(query: &CodeQuery<'_>) -> Vec<(u32, NoteStatus)> {
    let Some(folder) = query.folder() else { return Vec::new() };
    let own = folder.list_files(TYPES).unwrap_or_else(|error| {
        query.add_note(error.to_string());
        Vec::new()
    });
    let own = own.iter().filter_map(|name| query.type_by_id(name.strip_suffix(".semantic.md")?));
    let grouped = super::cycle_notes(query, &folder).into_keys();
    let mut all: Vec<u32> = own.chain(grouped).collect();
    all.sort_unstable();
    all.dedup();
    all.into_iter()
        .filter_map(|of| Some((of, read_note(query, &folder, of)?.current_state(query, of).0)))
        .collect()
}

/// The number of types with a note, of queued or stale notes, and of failed jobs.
pub(in crate::operations::code) fn count_notes(
    service: &Service,
    query: &CodeQuery<'_>,
) -> Result<(u64, u64, u64), Error> {
    let noted = types_with_notes(query);
    let waits = |state: &NoteStatus| *state == NoteStatus::Stale;
    let stale = noted.iter().filter(|(_, state)| waits(state)).count();
    let queue = query.queued_notes().len() + stale;
    Ok((noted.len() as u64, queue as u64, failed_jobs(service, query)?.len() as u64))
}

struct NoteRun<'a> {
    service: &'a Service,
    configured: &'a ConfiguredModel,
    root: &'a Path,
    masker: Masker,
    max_calls: u64,
    done: NotesWritten,
}

impl NoteRun<'_> {
    fn build_prompt(&self, query: &CodeQuery<'_>, ids: &[String]) -> Option<NotePrompt> {
        NotePrompt::new(query, ids, &self.masker, self.configured)
    }

    /// Plans the calls of a dry run with their maximum cost.
    fn plan_calls(&mut self, jobs: &[Vec<String>], payload: bool) -> Result<(), Error> {
        let used = model_run::tokens_used(self.service)?;
        let resting = model_run::waiting_jobs(self.service)?;
        self.done = with_root(self.service, self.root, |query| {
            let (mut done, mut planned) = (self.done.clone(), 0);
            for (at, ids) in jobs.iter().enumerate() {
                // building a prompt loads all dependencies of its type
                if planned >= self.max_calls {
                    done.model.left += (jobs.len() - at) as u64;
                    break;
                }
                let Some(question) = self.build_prompt(query, ids) else { continue };
                if let Some(line) = skipped_line(&question, &resting) {
                    add_skipped(&mut done, line);
                } else if let Some(price) = model_run::estimate_call(
                    self.configured,
                    question.prompt_parts(),
                    (used, payload),
                    &mut done.model,
                ) {
                    planned += 1;
                    let model_run::CallEstimate { tokens, cost, payload } = price;
                    done.notes.push(NoteLine {
                        tokens: Some(tokens),
                        cost,
                        payload,
                        ..question.note_line("planned")
                    });
                }
            }
            Ok(done)
        })?;
        Ok(())
    }

    /// Sends the prompts one by one until none is left or a limit is reached.
    fn send_prompts(&mut self, jobs: &[Vec<String>]) -> Result<(), Error> {
        if jobs.is_empty() {
            return Ok(());
        }
        let Some(_turn) = model_run::try_model_lock(self.service)? else {
            self.done.model.left += jobs.len() as u64;
            self.done.model.why = Some("another run is calling the model".to_string());
            return Ok(());
        };
        let mut ledger = ledger::open(self.service)?;
        for (at, ids) in jobs.iter().enumerate() {
            if self.service.progress.is_cancelled() {
                self.done.model.why = Some("cancelled".to_string());
            }
            let calls = self.done.model.answered + self.done.model.failed;
            if self.done.model.why.is_some() || calls >= self.max_calls {
                self.done.model.left += (jobs.len() - at) as u64;
                break;
            }
            self.write_note(&mut ledger, ids)?;
        }
        Ok(())
    }

    /// Writes one note for the current state of its types.
    fn write_note(&mut self, ledger: &mut Ledger, ids: &[String]) -> Result<(), Error> {
        let resting = model_run::waiting_jobs(self.service)?;
        let begun = with_root(self.service, self.root, |query| {
            let Some(question) = self.build_prompt(query, ids) else { return Ok(None) };
            if let Some(line) = skipped_line(&question, &resting) {
                return Ok(Some(Err(line)));
            }
            let begin =
                |of: u32| query.or_record_error(query.store().begin_note(query.type_id(of), query.now()));
            let previous: Vec<(String, NoteState)> =
                existing_types(query, ids).map(|(id, of)| (id.clone(), begin(of))).collect();
            Ok(Some(Ok((question, previous))))
        })?;
        let (question, previous) = match begun {
            None => return Ok(()),
            Some(Err(line)) => {
                add_skipped(&mut self.done, line);
                return Ok(());
            }
            Some(Ok(begun)) => begun,
        };
        let names: Vec<&str> = question.types.iter().map(|it| it.path.as_str()).collect();
        self.service.progress.report_step(&format!("calling the model about {}", names.join(", ")));
        let judge = |text: &str| self.merge_answer(&question, text);
        let ran = model_run::run_job(
            self.service,
            self.configured,
            ledger,
            &question.job,
            question.prompt_parts(),
            judge,
        )?;
        let CallOutcome::Answered(answer, usage) = ran else {
            return self.restore_states(&question, &previous, ran);
        };
        let line = self.store_note(&question, &answer)?;
        ledger
            .mark_done(&question.job.key, self.service.clock.now())
            .map_err(|error| ledger::ledger_error(&error))?;
        model_run::add_usage(self.configured, &usage, &mut self.done.model);
        self.done.model.answered += 1;
        self.done.notes.push(line);
        Ok(())
    }

    /// Merges an answer into the note's sections. Text that the model must not produce is removed before anything is stored.
    fn merge_answer(&self, question: &NotePrompt, text: &str) -> Result<MergedAnswer, String> {
        let before = question.before.as_ref().map(|(_, sections)| sections);
        let answer = notes::parse_response(&self.masker.mask_json(text), before.is_some())
            .map_err(|why| why.to_string())?;
        let NoteResponse::Sections(mut new) = answer else {
            return Ok(MergedAnswer { sections: before.cloned().unwrap_or_default(), new: Vec::new() });
        };
        for text in new.values_mut() {
            *text = remove_instructions(&api::terminal_text::one_line(text), question.prompt.text());
        }
        let names = SECTIONS.iter().filter(|(section, ..)| new.contains_key(section));
        let names = names.map(|(_, heading, _)| (*heading).to_string()).collect();
        let sections =
            notes::merge_sections(before.unwrap_or(&Sections::new()), new).map_err(|why| why.to_string())?;
        Ok(MergedAnswer { sections, new: names })
    }

    /// Restores the note states after a failed call. The ledger decides when to retry.
    fn restore_states(
        &mut self,
        question: &NotePrompt,
        previous: &[(String, NoteState)],
        ran: CallOutcome<MergedAnswer>,
    ) -> Result<(), Error> {
        with_root(self.service, self.root, |query| {
            for (id, before) in previous {
                if let Some(of) = query.type_by_id(id) {
                    query.or_record_error(query.store().abandon_note(query.type_id(of), before, query.now()));
                }
            }
            Ok(())
        })?;
        let (outcome, why) = match ran {
            CallOutcome::Failed(failure) => {
                let why = failure.message.clone();
                model_run::record_failure(self.configured, failure, &mut self.done.model);
                ("failed", why)
            }
            CallOutcome::NotCalled(claim) => {
                model_run::record_skipped(&claim, &mut self.done.model);
                ("waiting", model_run::skip_reason(&claim))
            }
            CallOutcome::Answered(..) => return Ok(()),
        };
        self.done.notes.push(NoteLine { why: Some(why), ..question.note_line(outcome) });
        Ok(())
    }

    /// Writes the note unless a person changed the file in the meantime.
    fn store_note(&self, question: &NotePrompt, answer: &MergedAnswer) -> Result<NoteLine, Error> {
        let folder = LociFolder::open_or_create(self.root).map_err(|error| folder_error(&error))?;
        let text = self.note_text(question, &answer.sections);
        let outcome = match (&question.before, answer.new.is_empty()) {
            (None, _) => "written",
            (Some(_), true) => "unchanged",
            (Some(_), false) => "updated",
        };
        let outcome = with_root(self.service, self.root, |query| {
            let pen = folder.lock_for_writing(LONG_LOCK_TIMEOUT).map_err(|error| folder_error(&error))?;
            let there = folder.read(&question.path).map_err(|error| folder_error(&error))?;
            let there = there.map(|bytes| query.mask_text(String::from_utf8_lossy(&bytes)));
            if there.as_ref() != question.before.as_ref().map(|(text, _)| text)
                && there.as_ref() != Some(&text)
            {
                return Ok("kept");
            }
            let written = query.store().without_invalidating(&folder, || {
                pen.write(&question.path, text.as_bytes())?;
                remove_replaced(query, &folder, &pen, question)
            });
            written.map_err(|error| folder_error(&error))?;
            let holds = record_note(query, question, &query.mask_text(&text))?;
            Ok(if holds { outcome } else { "outdated" })
        })?;
        let why = match outcome {
            "kept" => Some("the note was edited by hand during the model call".to_string()),
            "outdated" => Some("the type changed during the model call".to_string()),
            _ => None,
        };
        Ok(NoteLine { sections: answer.new.clone(), why, ..question.note_line(outcome) })
    }

    fn note_text(&self, question: &NotePrompt, sections: &Sections) -> String {
        let types: Vec<(String, String, Hashes)> = question
            .types
            .iter()
            .zip(&question.bases)
            .map(|(of, base)| (of.path.clone(), of.type_id.clone(), base.hashes.hashes))
            .collect();
        let model = &self.configured.model;
        notes::format_note(&notes::NoteContent {
            types: &types,
            dependencies: &question.dependencies,
            model: &format!("{} {}", model.provider.name, model.name),
            date: &self.service.clock.now().utc_day(),
            sections,
        })
    }
}

/// The sections of a note after an answer.
struct MergedAnswer {
    sections: Sections,
    /// Headings of the changed sections; empty if the model sees no reason for a change.
    new: Vec<String>,
}

fn add_skipped(done: &mut NotesWritten, line: NoteLine) {
    done.model.left += u64::from(line.outcome == "waiting");
    done.notes.push(line);
}

/// The numbers of the types that still exist.
fn existing_types<'i>(query: &CodeQuery<'_>, ids: &'i [String]) -> impl Iterator<Item = (&'i String, u32)> {
    ids.iter().filter_map(|id| Some((id, query.type_by_id(id)?)))
}

/// The result line of a prompt that is not sent: a person maintains the note, or a recent call failed.
fn skipped_line(question: &NotePrompt, resting: &[llm::JobRow]) -> Option<NoteLine> {
    if question.by_hand {
        let why = "written or edited by hand; delete the file to let a model write it";
        return Some(NoteLine { why: Some(why.to_string()), ..question.note_line("kept") });
    }
    let rests = resting.iter().find(|job| job.key == question.job.key)?;
    let aside = if rests.state == "parked" { "parked: " } else { "" };
    let why = format!("{aside}{}", rests.error.as_deref().unwrap_or("the model call was interrupted"));
    Some(NoteLine { why: Some(why), ..question.note_line("waiting") })
}

/// Removes the notes that the new one replaces: those of its single types, and those of cycles that no longer exist.
fn remove_replaced(
    query: &CodeQuery<'_>,
    folder: &LociFolder,
    pen: &WriteLock<'_>,
    question: &NotePrompt,
) -> Result<(), folder::FolderError> {
    let ours = |text: &[u8]| notes::parse_note(&query.mask_text(String::from_utf8_lossy(text))).0;
    for id in question.ids.iter().filter(|_| question.ids.len() > 1) {
        let own = note_path(id);
        if folder.read(&own)?.is_some_and(|text| ours(&text).untouched) {
            pen.remove(&own)?;
        }
    }
    for file in folder.list_files(GROUPS)? {
        let name = file.strip_suffix(".md").map(group_note_path).unwrap_or_default();
        let Some(head) = folder.read(&name)?.map(|text| ours(&text)) else { continue };
        let mut there = head.types.iter().filter_map(|id| query.type_by_id(id)).map(|of| query.id(of));
        let covered = |id: String| question.ids.contains(&id) || folder.path(&note_path(&id)).is_file();
        if name != question.path && head.untouched && there.all(covered) {
            pen.remove(&name)?;
        }
    }
    Ok(())
}

/// Records the note for its types. Returns false if one of them changed since the prompt was built.
fn record_note(query: &CodeQuery<'_>, question: &NotePrompt, text: &str) -> Result<bool, Error> {
    let mut all = true;
    for (id, base) in question.ids.iter().zip(&question.bases) {
        let Some(of) = query.type_by_id(id) else { continue };
        let (then, now) = (base.hashes.hashes, query.hashes(of));
        let holds = then.structure == now.structure && then.implementation() == now.implementation();
        let state = query.store().finish_note(query.type_id(of), text, base, holds);
        all &= state.map_err(|error| store_error(&error))?.status == NoteStatus::Cached;
    }
    Ok(all)
}
