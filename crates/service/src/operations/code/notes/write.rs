//! Writes queued notes with a model, most urgent first. Each prompt uses the current state of its types; the answer is merged
//! with the existing note and written atomically.
//!
//! Does not know how a model is called, or what a call costs: that is `llm`.

use super::question::{Question, failed, wanted};
use super::{read, read_own, stays};
use crate::model_config::{self, Configured};
use crate::operations::code::access::PATIENTLY;
use crate::operations::code::code_query::{CodeQuery, at_root, folder_error, root_of};
use crate::operations::code::graph::{named, parsed};
use crate::operations::code::tree::store_error;
use crate::{Service, ledger, model_run};
use api::code::{NoteLine, NotesWritten, WriteNotes};
use api::{Code, Error, Handle, Request};
use code::folder::{Folder, GROUPS, Pen, TYPES, group_note_of, note_of};
use code::note::{self, SECTIONS, Said, Sections};
use code::{Hashes, Note, State};
use llm::{Ledger, Ran, harmless};
use mask::Masker;
use std::collections::BTreeMap;
use std::path::Path;

impl Handle<WriteNotes> for Service {
    fn handle(&self, request: &WriteNotes) -> Result<NotesWritten, Error> {
        write_notes(self, request)
    }
}

fn write_notes(service: &Service, request: &WriteNotes) -> Result<NotesWritten, Error> {
    request.check()?;
    let configured = model_config::configured(service)?.ok_or_else(no_model)?;
    write(service, request, &configured, &root_of(service, request.root.as_ref())?)
}

/// Writes queued notes in the recently used trees that have a `.loci` folder, in a run that has already made `calls_made` calls.
/// Returns how many notes were written.
pub(crate) fn write_waiting(service: &Service, calls_made: u64) -> Result<u64, Error> {
    let Some(configured) = model_config::configured(service)?.filter(|model| model.code) else {
        return Ok(0);
    };
    let most = configured.notes_per_run.min(configured.jobs_per_run.saturating_sub(calls_made));
    let (mut written, mut spent, mut failed) = (0, 0, None);
    for (root, _) in service.code_folders() {
        let has_folder = Folder::at(&root).is_ok_and(|folder| folder.is_some());
        if spent >= most || !has_folder {
            continue;
        }
        let request = WriteNotes { limit: Some(most - spent), ..WriteNotes::default() };
        match write(service, &request, &configured, &root) {
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
    Error::new(Code::InvalidArgument, "notes are written by a model, and none is configured")
        .hint("set `provider` in the `[model]` section of config.toml: `claude`, `anthropic` or `openai`")
        .hint("`loci code semantic` shows the path for a note of your own")
}

fn write(
    service: &Service,
    request: &WriteNotes,
    configured: &Configured,
    root: &Path,
) -> Result<NotesWritten, Error> {
    let mut done = NotesWritten {
        model: model_run::run_of(configured),
        dry_run: request.dry_run,
        ..NotesWritten::default()
    };
    let (jobs, off, coverage) = at_root(service, root, |query| {
        let off = |id: &String| {
            query.number(id).is_some_and(|of| stays(query, of, &|path| configured.is_off(path)))
        };
        let (off, jobs): (Vec<_>, Vec<_>) =
            planned(query, request)?.into_iter().partition(|ids| ids.iter().any(off));
        Ok((jobs, off.len() as u64, query.coverage()))
    })?;
    (done.coverage, done.model.off) = (coverage, off);
    if jobs.is_empty() {
        done.model.why =
            (off > 0).then(|| "nothing of this project is sent (`model.projects_off`)".to_string());
        return Ok(done);
    }
    let most = request.limit.unwrap_or(u64::MAX).min(configured.jobs_per_run);
    let mut run = Run { service, configured, root, masker: model_run::masker(service)?, most, done };
    if request.dry_run {
        run.rehearse(&jobs, request.payload)?;
    } else {
        run.put(&jobs)?;
    }
    Ok(run.done)
}

/// The notes to write, as lists of type IDs, most urgent first.
fn planned(query: &CodeQuery<'_>, request: &WriteNotes) -> Result<Vec<Vec<String>>, Error> {
    let graph = query.graph();
    let selected = match (&request.path, &request.filter) {
        (Some(path), _) => vec![query.one_type(path)?],
        (None, Some(filter)) => named(query, &graph, &parsed(filter)?),
        (None, None) => waiting(query),
    };
    let by_name = request.path.is_some();
    let folder = query.folder();
    let wants = |of: &u32| {
        let note = folder.as_ref().and_then(|folder| read(query, folder, *of));
        note.is_none_or(|note| {
            let (state, why) = note.standing(query, *of);
            // for an explicitly named type, small changes count too
            state != Note::Cached || by_name && !why.is_empty()
        })
    };
    // Planning these with their cycle would write the cycle's note and still leave them without one: a call in every run, each
    // of them paid for.
    let by_hand = |of: &u32| {
        let own = folder.as_ref().and_then(|folder| read_own(query, folder, *of));
        own.is_some_and(|note| !note.head.untouched)
    };
    let (by_hand, open): (Vec<u32>, Vec<u32>) = selected.into_iter().filter(wants).partition(by_hand);
    let states: BTreeMap<u32, State> = open.into_iter().map(|of| (of, wanted(query, of))).collect();
    let planned = note::plan(&graph, &states).into_iter().map(|job| job.of);
    let each = by_hand.into_iter().map(|of| vec![of]);
    Ok(planned.chain(each).map(|job| job.into_iter().map(|of| query.id(of)).collect()).collect())
}

/// Types whose note is queued or stale.
fn waiting(query: &CodeQuery<'_>) -> Vec<u32> {
    let queued = query.asked_for().into_iter().map(|(of, _)| of);
    let stale = all_noted(query).into_iter().filter(|(_, state)| *state == Note::Stale).map(|(of, _)| of);
    queued.chain(stale).collect()
}

/// The types that have a note, with its state.
fn all_noted(query: &CodeQuery<'_>) -> Vec<(u32, Note)> {
    let Some(folder) = query.folder() else { return Vec::new() };
    let own = folder.list(TYPES).unwrap_or_else(|error| {
        query.note(error.to_string());
        Vec::new()
    });
    let own = own.iter().filter_map(|name| query.number(name.strip_suffix(".semantic.md")?));
    let grouped = super::groups(query, &folder).into_keys();
    let mut all: Vec<u32> = own.chain(grouped).collect();
    all.sort_unstable();
    all.dedup();
    all.into_iter().filter_map(|of| Some((of, read(query, &folder, of)?.standing(query, of).0))).collect()
}

/// The number of types with a note, of queued or stale notes, and of failed jobs.
pub(in crate::operations::code) fn counted(
    service: &Service,
    query: &CodeQuery<'_>,
) -> Result<(u64, u64, u64), Error> {
    let noted = all_noted(query);
    let waits = |state: &Note| *state == Note::Stale;
    let stale = noted.iter().filter(|(_, state)| waits(state)).count();
    let queue = query.asked_for().len() + stale;
    Ok((noted.len() as u64, queue as u64, failed(service, query)?.len() as u64))
}

struct Run<'a> {
    service: &'a Service,
    configured: &'a Configured,
    root: &'a Path,
    masker: Masker,
    most: u64,
    done: NotesWritten,
}

impl Run<'_> {
    fn question(&self, query: &CodeQuery<'_>, ids: &[String]) -> Option<Question> {
        Question::new(query, ids, &self.masker, self.configured)
    }

    /// Plans the calls of a dry run with their maximum cost.
    fn rehearse(&mut self, jobs: &[Vec<String>], payload: bool) -> Result<(), Error> {
        let used = model_run::used(self.service)?;
        let resting = model_run::resting(self.service)?;
        self.done = at_root(self.service, self.root, |query| {
            let (mut done, mut planned) = (self.done.clone(), 0);
            for (at, ids) in jobs.iter().enumerate() {
                // building a prompt loads all dependencies of its type
                if planned >= self.most {
                    done.model.left += (jobs.len() - at) as u64;
                    break;
                }
                let Some(question) = self.question(query, ids) else { continue };
                if let Some(line) = not_asked(&question, &resting) {
                    leave(&mut done, line);
                } else if let Some(price) =
                    model_run::weigh(self.configured, question.words(), (used, payload), &mut done.model)
                {
                    planned += 1;
                    let model_run::Price { tokens, cost, payload } = price;
                    done.notes.push(NoteLine {
                        tokens: Some(tokens),
                        cost,
                        payload,
                        ..question.line("planned")
                    });
                }
            }
            Ok(done)
        })?;
        Ok(())
    }

    /// Sends the prompts one by one until none is left or a limit is reached.
    fn put(&mut self, jobs: &[Vec<String>]) -> Result<(), Error> {
        if jobs.is_empty() {
            return Ok(());
        }
        let Some(_turn) = model_run::turn(self.service)? else {
            self.done.model.left += jobs.len() as u64;
            self.done.model.why = Some("another run is asking the model".to_string());
            return Ok(());
        };
        let mut ledger = ledger::open(self.service)?;
        for (at, ids) in jobs.iter().enumerate() {
            if self.service.progress.stopped() {
                self.done.model.why = Some("it was called off".to_string());
            }
            let calls = self.done.model.answered + self.done.model.failed;
            if self.done.model.why.is_some() || calls >= self.most {
                self.done.model.left += (jobs.len() - at) as u64;
                break;
            }
            self.one(&mut ledger, ids)?;
        }
        Ok(())
    }

    /// Writes one note for the current state of its types.
    fn one(&mut self, ledger: &mut Ledger, ids: &[String]) -> Result<(), Error> {
        let resting = model_run::resting(self.service)?;
        let begun = at_root(self.service, self.root, |query| {
            let Some(question) = self.question(query, ids) else { return Ok(None) };
            if let Some(line) = not_asked(&question, &resting) {
                return Ok(Some(Err(line)));
            }
            let begin = |of: u32| query.had(query.store().begin_note(query.type_id(of), query.now()));
            let previous: Vec<(String, State)> =
                numbers(query, ids).map(|(id, of)| (id.clone(), begin(of))).collect();
            Ok(Some(Ok((question, previous))))
        })?;
        let (question, previous) = match begun {
            None => return Ok(()),
            Some(Err(line)) => {
                leave(&mut self.done, line);
                return Ok(());
            }
            Some(Ok(begun)) => begun,
        };
        let names: Vec<&str> = question.types.iter().map(|it| it.path.as_str()).collect();
        self.service.progress.step(&format!("asking about {}", names.join(", ")));
        let judge = |text: &str| self.judged(&question, text);
        let ran =
            model_run::put(self.service, self.configured, ledger, &question.job, question.words(), judge)?;
        let Ran::Answered(answer, usage) = ran else { return self.in_vain(&question, &previous, ran) };
        let line = self.put_away(&question, &answer)?;
        ledger.done(&question.job.key, self.service.clock.now()).map_err(|error| ledger::told(&error))?;
        model_run::spent(self.configured, &usage, &mut self.done.model);
        self.done.model.answered += 1;
        self.done.notes.push(line);
        Ok(())
    }

    /// Merges an answer into the note's sections. Text that the model must not produce is removed before anything is stored.
    fn judged(&self, question: &Question, text: &str) -> Result<Sayings, String> {
        let before = question.before.as_ref().map(|(_, sections)| sections);
        let answer =
            note::read_said(&self.masker.json(text), before.is_some()).map_err(|why| why.to_string())?;
        let Said::Sections(mut new) = answer else {
            return Ok(Sayings { sections: before.cloned().unwrap_or_default(), new: Vec::new() });
        };
        for text in new.values_mut() {
            *text = harmless(&api::terminal_text::one_line(text), question.prompt.text());
        }
        let names = SECTIONS.iter().filter(|(section, ..)| new.contains_key(section));
        let names = names.map(|(_, heading, _)| (*heading).to_string()).collect();
        let sections =
            note::merged(before.unwrap_or(&Sections::new()), new).map_err(|why| why.to_string())?;
        Ok(Sayings { sections, new: names })
    }

    /// Restores the note states after a failed call. The ledger decides when to retry.
    fn in_vain(
        &mut self,
        question: &Question,
        previous: &[(String, State)],
        ran: Ran<Sayings>,
    ) -> Result<(), Error> {
        at_root(self.service, self.root, |query| {
            for (id, before) in previous {
                if let Some(of) = query.number(id) {
                    query.had(query.store().give_up_note(query.type_id(of), before, query.now()));
                }
            }
            Ok(())
        })?;
        let (outcome, why) = match ran {
            Ran::Failed(failure) => {
                let why = failure.message.clone();
                model_run::failed(self.configured, failure, &mut self.done.model);
                ("failed", why)
            }
            Ran::NotNow(claim) => {
                model_run::not_now(&claim, &mut self.done.model);
                ("waiting", model_run::waits(&claim))
            }
            Ran::Answered(..) => return Ok(()),
        };
        self.done.notes.push(NoteLine { why: Some(why), ..question.line(outcome) });
        Ok(())
    }

    /// Writes the note unless a person changed the file in the meantime.
    fn put_away(&self, question: &Question, answer: &Sayings) -> Result<NoteLine, Error> {
        let folder = Folder::make(self.root).map_err(|error| folder_error(&error))?;
        let text = self.text(question, &answer.sections);
        let outcome = match (&question.before, answer.new.is_empty()) {
            (None, _) => "written",
            (Some(_), true) => "unchanged",
            (Some(_), false) => "updated",
        };
        let outcome = at_root(self.service, self.root, |query| {
            let pen = folder.pen(PATIENTLY).map_err(|error| folder_error(&error))?;
            let there = folder.read(&question.path).map_err(|error| folder_error(&error))?;
            let there = there.map(|bytes| query.veiled(String::from_utf8_lossy(&bytes)));
            if there.as_ref() != question.before.as_ref().map(|(text, _)| text)
                && there.as_ref() != Some(&text)
            {
                return Ok("kept");
            }
            let written = query.store().undisturbed(&folder, || {
                pen.write(&question.path, text.as_bytes())?;
                clear(query, &folder, &pen, question)
            });
            written.map_err(|error| folder_error(&error))?;
            let holds = ended(query, question, &query.veiled(&text))?;
            Ok(if holds { outcome } else { "outdated" })
        })?;
        let why = match outcome {
            "kept" => Some("it was changed by hand while the model was asked".to_string()),
            "outdated" => Some("it was changed while the model was asked".to_string()),
            _ => None,
        };
        Ok(NoteLine { sections: answer.new.clone(), why, ..question.line(outcome) })
    }

    fn text(&self, question: &Question, sections: &Sections) -> String {
        let types: Vec<(String, String, Hashes)> = question
            .types
            .iter()
            .zip(&question.bases)
            .map(|(of, base)| (of.path.clone(), of.type_id.clone(), base.hashes.hashes))
            .collect();
        let model = &self.configured.model;
        note::write(&note::Written {
            types: &types,
            dependencies: &question.dependencies,
            model: &format!("{} {}", model.provider.name, model.name),
            date: &self.service.clock.now().day(),
            sections,
        })
    }
}

/// The sections of a note after an answer.
struct Sayings {
    sections: Sections,
    /// Headings of the changed sections; empty if the model sees no reason for a change.
    new: Vec<String>,
}

fn leave(done: &mut NotesWritten, line: NoteLine) {
    done.model.left += u64::from(line.outcome == "waiting");
    done.notes.push(line);
}

/// The numbers of the types that still exist.
fn numbers<'i>(query: &CodeQuery<'_>, ids: &'i [String]) -> impl Iterator<Item = (&'i String, u32)> {
    ids.iter().filter_map(|id| Some((id, query.number(id)?)))
}

/// The result line of a prompt that is not sent: a person maintains the note, or a recent call failed.
fn not_asked(question: &Question, resting: &[llm::JobRow]) -> Option<NoteLine> {
    if question.by_hand {
        let why = "a person wrote or changed it; delete it to have it written anew";
        return Some(NoteLine { why: Some(why.to_string()), ..question.line("kept") });
    }
    let rests = resting.iter().find(|job| job.key == question.job.key)?;
    let aside = if rests.state == "parked" { "set aside: " } else { "" };
    let why = format!("{aside}{}", rests.error.as_deref().unwrap_or("it was lost"));
    Some(NoteLine { why: Some(why), ..question.line("waiting") })
}

/// Removes the notes that the new one replaces: those of its single types, and those of cycles that no longer exist.
fn clear(
    query: &CodeQuery<'_>,
    folder: &Folder,
    pen: &Pen<'_>,
    question: &Question,
) -> Result<(), code::folder::FolderError> {
    let ours = |text: &[u8]| note::read(&query.veiled(String::from_utf8_lossy(text))).0;
    for id in question.ids.iter().filter(|_| question.ids.len() > 1) {
        let own = note_of(id);
        if folder.read(&own)?.is_some_and(|text| ours(&text).untouched) {
            pen.remove(&own)?;
        }
    }
    for file in folder.list(GROUPS)? {
        let name = file.strip_suffix(".md").map(group_note_of).unwrap_or_default();
        let Some(head) = folder.read(&name)?.map(|text| ours(&text)) else { continue };
        let mut there = head.types.iter().filter_map(|id| query.number(id)).map(|of| query.id(of));
        let covered = |id: String| question.ids.contains(&id) || folder.path(&note_of(&id)).is_file();
        if name != question.path && head.untouched && there.all(covered) {
            pen.remove(&name)?;
        }
    }
    Ok(())
}

/// Records the note for its types. Returns false if one of them changed since the prompt was built.
fn ended(query: &CodeQuery<'_>, question: &Question, text: &str) -> Result<bool, Error> {
    let mut all = true;
    for (id, base) in question.ids.iter().zip(&question.bases) {
        let Some(of) = query.number(id) else { continue };
        let (then, now) = (base.hashes.hashes, query.hashes(of));
        let holds = then.structure == now.structure && then.implementation() == now.implementation();
        let state = query.store().end_note(query.type_id(of), text, base, holds);
        all &= state.map_err(|error| store_error(&error))?.note == Note::Cached;
    }
    Ok(all)
}
