//! Has a model write the notes that are wanted: the most urgent first, each asked about as its type is at that moment, what it says
//! merged with what was there and written in one step.
//!
//! Does not know how a model is reached, or what a call costs: that is `llm`.

use super::question::{Question, failed, wanted};
use super::{read, read_own, stays};
use crate::model_config::{self, Configured};
use crate::ops::code::access::PATIENTLY;
use crate::ops::code::code_query::{CodeQuery, at_root, folder_error, root_of};
use crate::ops::code::graph::{named, parsed};
use crate::ops::code::tree::store_error;
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
    fn handle(&self, ask: &WriteNotes) -> Result<NotesWritten, Error> {
        write_notes(self, ask)
    }
}

fn write_notes(service: &Service, ask: &WriteNotes) -> Result<NotesWritten, Error> {
    ask.check()?;
    let configured = model_config::configured(service)?.ok_or_else(no_model)?;
    write(service, ask, &configured, &root_of(service, ask.root.as_ref())?)
}

/// Writes what waits in the trees that were asked about lately and have a folder for it, in a run that has asked so many questions
/// already; gives how many notes were written.
pub(crate) fn write_waiting(service: &Service, asked: u64) -> Result<u64, Error> {
    let Some(configured) = model_config::configured(service)?.filter(|model| model.code) else {
        return Ok(0);
    };
    let most = configured.notes_per_run.min(configured.jobs_per_run.saturating_sub(asked));
    let (mut written, mut spent, mut failed) = (0, 0, None);
    for (root, _) in service.code_folders() {
        let has_folder = Folder::at(&root).is_ok_and(|folder| folder.is_some());
        if spent >= most || !has_folder {
            continue;
        }
        let ask = WriteNotes { limit: Some(most - spent), ..WriteNotes::default() };
        match write(service, &ask, &configured, &root) {
            Ok(done) => {
                written += done.model.answered;
                // what was asked in vain was asked
                spent += done.model.answered + done.model.failed;
            }
            // A tree that cannot be written to keeps no other from its notes.
            Err(error) => failed = Some(error),
        }
    }
    failed.filter(|_| written == 0).map_or(Ok(written), Err)
}

fn no_model() -> Error {
    Error::new(Code::InvalidArgument, "a model writes notes, and none is configured")
        .hint("write `provider` below `[model]` in config.toml: `claude`, `anthropic` or `openai`")
        .hint("`loci code semantic` says where a note of your own would lie")
}

fn write(
    service: &Service,
    ask: &WriteNotes,
    configured: &Configured,
    root: &Path,
) -> Result<NotesWritten, Error> {
    let mut done = NotesWritten {
        model: model_run::run_of(configured),
        dry_run: ask.dry_run,
        ..NotesWritten::default()
    };
    let (jobs, off, coverage) = at_root(service, root, |desk| {
        let off =
            |id: &String| desk.number(id).is_some_and(|of| stays(desk, of, &|path| configured.is_off(path)));
        let (off, jobs): (Vec<_>, Vec<_>) =
            planned(desk, ask)?.into_iter().partition(|ids| ids.iter().any(off));
        Ok((jobs, off.len() as u64, desk.coverage()))
    })?;
    (done.coverage, done.model.off) = (coverage, off);
    if jobs.is_empty() {
        done.model.why =
            (off > 0).then(|| "nothing of this project is sent (`model.projects_off`)".to_string());
        return Ok(done);
    }
    let most = ask.limit.unwrap_or(u64::MAX).min(configured.jobs_per_run);
    let mut run = Run { service, configured, root, masker: model_run::masker(service)?, most, done };
    if ask.dry_run {
        run.rehearse(&jobs, ask.payload)?;
    } else {
        run.put(&jobs)?;
    }
    Ok(run.done)
}

/// The notes that are wanted, as lists of ids, the most urgent first.
fn planned(desk: &CodeQuery<'_>, ask: &WriteNotes) -> Result<Vec<Vec<String>>, Error> {
    let graph = desk.graph();
    let asked = match (&ask.path, &ask.filter) {
        (Some(path), _) => vec![desk.one_type(path)?],
        (None, Some(filter)) => named(desk, &graph, &parsed(filter)?),
        (None, None) => waiting(desk),
    };
    let by_name = ask.path.is_some();
    let folder = desk.folder();
    let wants = |of: &u32| {
        let note = folder.as_ref().and_then(|folder| read(desk, folder, *of));
        note.is_none_or(|note| {
            let (state, why) = note.standing(desk, *of);
            // who names a type wants to know of small changes as well
            state != Note::Cached || by_name && !why.is_empty()
        })
    };
    // Its circle would be written about, and it would want a note as before: in every run, and paid for each time.
    let by_hand = |of: &u32| {
        let own = folder.as_ref().and_then(|folder| read_own(desk, folder, *of));
        own.is_some_and(|note| !note.head.untouched)
    };
    let (by_hand, open): (Vec<u32>, Vec<u32>) = asked.into_iter().filter(wants).partition(by_hand);
    let states: BTreeMap<u32, State> = open.into_iter().map(|of| (of, wanted(desk, of))).collect();
    let planned = note::plan(&graph, &states).into_iter().map(|job| job.of);
    let each = by_hand.into_iter().map(|of| vec![of]);
    Ok(planned.chain(each).map(|job| job.into_iter().map(|of| desk.id(of)).collect()).collect())
}

/// What was asked for, and what is out of date.
fn waiting(desk: &CodeQuery<'_>) -> Vec<u32> {
    let asked = desk.asked_for().into_iter().map(|(of, _)| of);
    let stale = all_noted(desk).into_iter().filter(|(_, state)| *state == Note::Stale).map(|(of, _)| of);
    asked.chain(stale).collect()
}

/// The types about which there is a note, and how it stands.
fn all_noted(desk: &CodeQuery<'_>) -> Vec<(u32, Note)> {
    let Some(folder) = desk.folder() else { return Vec::new() };
    let own = folder.list(TYPES).unwrap_or_else(|error| {
        desk.note(error.to_string());
        Vec::new()
    });
    let own = own.iter().filter_map(|name| desk.number(name.strip_suffix(".semantic.md")?));
    let grouped = super::groups(desk, &folder).into_keys();
    let mut all: Vec<u32> = own.chain(grouped).collect();
    all.sort_unstable();
    all.dedup();
    all.into_iter().filter_map(|of| Some((of, read(desk, &folder, of)?.standing(desk, of).0))).collect()
}

/// How many types have a note, how many wait for one or for a better one, and how many were asked about in vain.
pub(in crate::ops::code) fn counted(
    service: &Service,
    desk: &CodeQuery<'_>,
) -> Result<(u64, u64, u64), Error> {
    let noted = all_noted(desk);
    let waits = |state: &Note| *state == Note::Stale;
    let stale = noted.iter().filter(|(_, state)| waits(state)).count();
    let queue = desk.asked_for().len() + stale;
    Ok((noted.len() as u64, queue as u64, failed(service, desk)?.len() as u64))
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
    fn question(&self, desk: &CodeQuery<'_>, ids: &[String]) -> Option<Question> {
        Question::new(desk, ids, &self.masker, self.configured)
    }

    /// Says what would be asked, and what it can come to.
    fn rehearse(&mut self, jobs: &[Vec<String>], payload: bool) -> Result<(), Error> {
        let used = model_run::used(self.service)?;
        let resting = model_run::resting(self.service)?;
        self.done = at_root(self.service, self.root, |desk| {
            let (mut done, mut planned) = (self.done.clone(), 0);
            for (at, ids) in jobs.iter().enumerate() {
                // to word a question takes a look at everything that its type uses
                if planned >= self.most {
                    done.model.left += (jobs.len() - at) as u64;
                    break;
                }
                let Some(question) = self.question(desk, ids) else { continue };
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

    /// Puts the questions, one after the other, until there are none or no more may be asked.
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
            let asked = self.done.model.answered + self.done.model.failed;
            if self.done.model.why.is_some() || asked >= self.most {
                self.done.model.left += (jobs.len() - at) as u64;
                break;
            }
            self.one(&mut ledger, ids)?;
        }
        Ok(())
    }

    /// Asks about one note, as its types are now.
    fn one(&mut self, ledger: &mut Ledger, ids: &[String]) -> Result<(), Error> {
        let resting = model_run::resting(self.service)?;
        let begun = at_root(self.service, self.root, |desk| {
            let Some(question) = self.question(desk, ids) else { return Ok(None) };
            if let Some(line) = not_asked(&question, &resting) {
                return Ok(Some(Err(line)));
            }
            let begin = |of: u32| desk.had(desk.store().begin_note(desk.type_id(of), desk.now()));
            let stood: Vec<(String, State)> =
                numbers(desk, ids).map(|(id, of)| (id.clone(), begin(of))).collect();
            Ok(Some(Ok((question, stood))))
        })?;
        let (question, stood) = match begun {
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
        let Ran::Answered(said, usage) = ran else { return self.in_vain(&question, &stood, ran) };
        let line = self.put_away(&question, &said)?;
        ledger.done(&question.job.key, self.service.clock.now()).map_err(|error| ledger::told(&error))?;
        model_run::spent(self.configured, &usage, &mut self.done.model);
        self.done.model.answered += 1;
        self.done.notes.push(line);
        Ok(())
    }

    /// What a note would say with this answer. What the model was not to say is taken out before anything is kept.
    fn judged(&self, question: &Question, text: &str) -> Result<Sayings, String> {
        let before = question.before.as_ref().map(|(_, sections)| sections);
        let said =
            note::read_said(&self.masker.json(text), before.is_some()).map_err(|why| why.to_string())?;
        let Said::Sections(mut new) = said else {
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

    /// It stays asked for, or holds as it did; the ledger knows when it may be asked again.
    fn in_vain(
        &mut self,
        question: &Question,
        stood: &[(String, State)],
        ran: Ran<Sayings>,
    ) -> Result<(), Error> {
        at_root(self.service, self.root, |desk| {
            for (id, before) in stood {
                if let Some(of) = desk.number(id) {
                    desk.had(desk.store().give_up_note(desk.type_id(of), before, desk.now()));
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

    /// Writes the note, unless a person has put another text there meanwhile.
    fn put_away(&self, question: &Question, said: &Sayings) -> Result<NoteLine, Error> {
        let folder = Folder::make(self.root).map_err(|error| folder_error(&error))?;
        let text = self.text(question, &said.sections);
        let outcome = match (&question.before, said.new.is_empty()) {
            (None, _) => "written",
            (Some(_), true) => "unchanged",
            (Some(_), false) => "updated",
        };
        let told = at_root(self.service, self.root, |desk| {
            let pen = folder.pen(PATIENTLY).map_err(|error| folder_error(&error))?;
            let there = folder.read(&question.path).map_err(|error| folder_error(&error))?;
            let there = there.map(|bytes| desk.veiled(String::from_utf8_lossy(&bytes)));
            if there.as_ref() != question.before.as_ref().map(|(text, _)| text)
                && there.as_ref() != Some(&text)
            {
                return Ok("kept");
            }
            let written = desk.store().undisturbed(&folder, || {
                pen.write(&question.path, text.as_bytes())?;
                clear(desk, &folder, &pen, question)
            });
            written.map_err(|error| folder_error(&error))?;
            let holds = ended(desk, question, &desk.veiled(&text))?;
            Ok(if holds { outcome } else { "outdated" })
        })?;
        let why = match told {
            "kept" => Some("it was changed by hand while the model was asked".to_string()),
            "outdated" => Some("it was changed while the model was asked".to_string()),
            _ => None,
        };
        Ok(NoteLine { sections: said.new.clone(), why, ..question.line(told) })
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

/// What a note says with an answer.
struct Sayings {
    sections: Sections,
    /// The headings of what is new; none: the model sees no reason to change anything.
    new: Vec<String>,
}

fn leave(done: &mut NotesWritten, line: NoteLine) {
    done.model.left += u64::from(line.outcome == "waiting");
    done.notes.push(line);
}

/// Of those that are still there.
fn numbers<'i>(desk: &CodeQuery<'_>, ids: &'i [String]) -> impl Iterator<Item = (&'i String, u32)> {
    ids.iter().filter_map(|id| Some((id, desk.number(id)?)))
}

/// A question that is not put: a person looks after the note, or it was put in vain a short while ago.
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

/// Takes away what the new note stands for: notes of its types alone, and of circles that are another one now.
fn clear(
    desk: &CodeQuery<'_>,
    folder: &Folder,
    pen: &Pen<'_>,
    question: &Question,
) -> Result<(), code::folder::FolderError> {
    let ours = |text: &[u8]| note::read(&desk.veiled(String::from_utf8_lossy(text))).0;
    for id in question.ids.iter().filter(|_| question.ids.len() > 1) {
        let own = note_of(id);
        if folder.read(&own)?.is_some_and(|text| ours(&text).untouched) {
            pen.remove(&own)?;
        }
    }
    for file in folder.list(GROUPS)? {
        let name = file.strip_suffix(".md").map(group_note_of).unwrap_or_default();
        let Some(head) = folder.read(&name)?.map(|text| ours(&text)) else { continue };
        let mut there = head.types.iter().filter_map(|id| desk.number(id)).map(|of| desk.id(of));
        let covered = |id: String| question.ids.contains(&id) || folder.path(&note_of(&id)).is_file();
        if name != question.path && head.untouched && there.all(covered) {
            pen.remove(&name)?;
        }
    }
    Ok(())
}

/// The types have this note now; false where one of them is not any more what it was asked about.
fn ended(desk: &CodeQuery<'_>, question: &Question, text: &str) -> Result<bool, Error> {
    let mut all = true;
    for (id, base) in question.ids.iter().zip(&question.bases) {
        let Some(of) = desk.number(id) else { continue };
        let (then, now) = (base.hashes.hashes, desk.hashes(of));
        let holds = then.structure == now.structure && then.implementation() == now.implementation();
        let state = desk.store().end_note(desk.type_id(of), text, base, holds);
        all &= state.map_err(|error| store_error(&error))?.note == Note::Cached;
    }
    Ok(all)
}
