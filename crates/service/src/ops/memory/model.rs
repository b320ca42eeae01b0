//! Has a model improve what was derived: names, tags, summaries and facts of sessions that it has not seen as they are now.
//! Only if one is configured; within its limits; the latest sessions first. What it says is believed as far as
//! `memory::read_answer` believes it.
//!
//! Does not know how a model is reached, or what a call costs: that is `llm`.

use super::digest::Plan;
use super::{Sink, told};
use crate::ledger::about;
use crate::model_config::{self, Configured};
use crate::ops::spending::put_away;
use crate::{Service, ledger, model_run};
use api::Error;
use api::costs::{ModelRun, PlannedCall};
use api::memory::{Consolidate, Consolidated};
use api::costs::{ModelRun, PlannedCall};
use history::tombstones::Tombstones;
use llm::{Job, Ledger, MaskedPrompt, Ran};
use mask::Masker;
use memory::{Digest, Finding, Origin, derive};
use record::Stamp;

/// What is asked about one session.
struct Question {
    digest: Digest,
    asked: memory::ViewRequest,
    prompt: MaskedPrompt,
    job: Job,
}

impl Question {
    fn words(&self) -> model_run::Words<'_> {
        (&self.prompt, &self.asked.schema, self.asked.max_tokens)
    }
}

/// Asks about what is new, or says what would be asked. What goes wrong with a model leaves what was derived as it is.
pub(super) fn improve(service: &Service, ask: &Consolidate, done: &mut Consolidated) -> Result<(), Error> {
    if !ask.dry_run {
        settle(service)?;
    }
    if ask.no_model {
        return Ok(());
    }
    match model_config::configured(service) {
        Ok(None) => {}
        Ok(Some(configured)) => {
            let mut run = model_run::run_of(&configured);
            let questions = questions(service, ask, &configured, &mut run)?;
            if ask.dry_run {
                plan(service, ask, &configured, &questions, &mut run)?;
            } else {
                put(service, &configured, &questions, &mut run, done)?;
            }
            done.model = Some(run);
        }
        Err(error) => {
            done.model =
                Some(ModelRun { why: Some(error.to_string()), trouble: true, ..ModelRun::default() });
        }
    }
    Ok(())
}

/// Says of answers that memory holds already that they are put away: a run may have been killed between the two.
fn settle(service: &Service) -> Result<(), Error> {
    let Some(known) = ledger::look(service) else { return Ok(()) };
    let jobs = known.jobs().map_err(|error| ledger::told(&error))?;
    drop(known);
    let kept = put_away(service, &jobs)?;
    if kept.is_empty() {
        return Ok(());
    }
    let (mut ledger, now) = (ledger::open(service)?, service.clock.now());
    kept.iter().try_for_each(|key| ledger.done(key, now)).map_err(|error| ledger::told(&error))
}

/// The latest sessions that the model has not seen as they are, and may see.
fn questions(
    service: &Service,
    ask: &Consolidate,
    configured: &Configured,
    run: &mut ModelRun,
) -> Result<Vec<Question>, Error> {
    let mut plan = Plan::for_model(service, ask)?;
    run.off = plan.leave_out(&|_, wanted| configured.is_off(&wanted.project));
    // A session that has gone on since is asked about all the same.
    let resting = model_run::resting(service)?;
    let rests = |name: &(String, String), ended: Stamp| {
        resting.iter().any(|job| job.about == about(&name.0, &name.1) && job.changed >= ended)
    };
    run.left = plan.leave_out(&|name, wanted| rests(name, wanted.ended_at));
    run.left += plan.limit(Some(configured.jobs_per_run));
    let masker = model_run::masker(service)?;
    let mut questions = Vec::new();
    plan.each(service, &mut |digest| {
        questions.push(question(digest, &masker));
        Ok(())
    })?;
    questions.sort_by(|a, b| b.digest.ended_at.cmp(&a.digest.ended_at).then(a.job.key.cmp(&b.job.key)));
    Ok(questions)
}

fn question(digest: &Digest, masker: &Masker) -> Question {
    let asked = memory::ask(digest);
    let prompt = MaskedPrompt::mask(masker, asked.system, &asked.text);
    let about = about(&digest.source, &digest.session_id);
    let job = Job { key: format!("{about} {}", prompt.fingerprint()), about };
    Question { digest: digest.clone(), asked, prompt, job }
}

/// What would be asked, what it can come to, and with `payload` the very text.
fn plan(
    service: &Service,
    ask: &Consolidate,
    configured: &Configured,
    questions: &[Question],
    run: &mut ModelRun,
) -> Result<(), Error> {
    let used = model_run::used(service)?;
    for question in questions.iter().filter(|question| !question.asked.shown.is_empty()) {
        let Some(price) = model_run::weigh(configured, question.words(), (used, ask.payload), run) else {
            continue;
        };
        let (chat_id, source) = (question.digest.session_id.clone(), question.digest.source.clone());
        let model_run::Price { tokens, cost, payload } = price;
        run.planned.push(PlannedCall { chat_id, source, tokens, cost, payload });
    }
    Ok(())
}

/// Puts the questions, one after the other, until there are none or no more may be asked.
fn put(
    service: &Service,
    configured: &Configured,
    questions: &[Question],
    run: &mut ModelRun,
    done: &mut Consolidated,
) -> Result<(), Error> {
    if questions.is_empty() {
        return Ok(());
    }
    let Some(_turn) = model_run::turn(service)? else {
        run.left += questions.len() as u64;
        run.why = Some("another run is asking the model".to_string());
        return Ok(());
    };
    let mut ledger = ledger::open(service)?;
    let mut asking = Asking {
        service,
        configured,
        masker: model_run::masker(service)?,
        sink: Sink::new(service, false)?,
        run,
        done,
    };
    for (at, question) in questions.iter().enumerate() {
        if service.progress.stopped() {
            asking.run.why = Some("it was called off".to_string());
        }
        if asking.run.why.is_some() {
            asking.run.left += (questions.len() - at) as u64;
            break;
        }
        asking.one(&mut ledger, question)?;
    }
    Ok(())
}

struct Asking<'a> {
    service: &'a Service,
    configured: &'a Configured,
    masker: Masker,
    sink: Sink,
    run: &'a mut ModelRun,
    done: &'a mut Consolidated,
}

impl Asking<'_> {
    fn one(&mut self, ledger: &mut Ledger, question: &Question) -> Result<(), Error> {
        if question.asked.shown.is_empty() {
            // Nothing was said in it: there is nothing to ask, now or later.
            let finding = derive(&question.digest).finding(&question.digest, self.service.clock.now());
            return self.keep(&Finding { origin: Origin::Model, ..finding });
        }
        let masker = &self.masker;
        let judge = |text: &str| {
            memory::read_answer(&masker.json(text), &question.asked).map_err(|why| why.to_string())
        };
        let ran =
            model_run::put(self.service, self.configured, ledger, &question.job, question.words(), judge)?;
        match ran {
            Ran::Answered(answer, usage) => {
                let now = self.service.clock.now();
                self.keep(&answer.finding(&question.digest, &question.asked, now))?;
                ledger.done(&question.job.key, now).map_err(|error| ledger::told(&error))?;
                model_run::spent(self.configured, &usage, self.run);
                self.run.answered += 1;
            }
            Ran::Failed(failure) => model_run::failed(self.configured, failure, self.run),
            Ran::NotNow(claim) => model_run::not_now(&claim, self.run),
        }
        Ok(())
    }

    fn keep(&mut self, finding: &Finding) -> Result<(), Error> {
        // A call takes seconds, in which a person may have asked to forget what it was about.
        if Tombstones::read(self.service.home().as_ref()).holds(&finding.source, &finding.session_id) {
            return Ok(());
        }
        let (applied, session) = self.sink.take(finding)?;
        self.done.facts += applied.facts;
        self.done.in_review += applied.in_review;
        let Some(session) = session.filter(|_| applied.changed) else { return Ok(()) };
        let line = told(session, applied.facts);
        let known = self
            .done
            .sessions
            .iter_mut()
            .find(|one| one.chat_id == line.chat_id && one.source == line.source);
        if let Some(known) = known {
            *known = line;
            return Ok(());
        }
        self.done.changed += 1;
        self.done.unchanged = self.done.unchanged.saturating_sub(1);
        self.done.sessions.push(line);
        Ok(())
    }
}
