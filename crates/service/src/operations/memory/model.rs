//! Improves derived names, tags, summaries and facts with a model, for sessions that it has not seen in their current state.
//! Runs only if a model is configured, within its limits, latest sessions first. `memory::read_answer` validates the answers.
//!
//! Does not know how a model is called, or what a call costs: that is `llm`.

use super::digest::Plan;
use super::{Sink, told};
use crate::ledger::about;
use crate::model_config::{self, Configured};
use crate::operations::spending::put_away;
use crate::{Service, ledger, model_run};
use api::Error;
use api::costs::{ModelRun, PlannedCall};
use api::memory::{Consolidate, Consolidated};
use history::tombstones::Tombstones;
use llm::{Job, Ledger, MaskedPrompt, Ran};
use mask::Masker;
use memory::{Digest, Finding, Origin, derive};
use record::Stamp;

/// The prompt about one session.
struct Question {
    digest: Digest,
    prompt_spec: memory::Ask,
    prompt: MaskedPrompt,
    job: Job,
}

impl Question {
    fn words(&self) -> model_run::Words<'_> {
        (&self.prompt, &self.prompt_spec.schema, self.prompt_spec.max_tokens)
    }
}

/// Sends the prompts for changed sessions, or plans them in a dry run. Model errors leave the derived memory unchanged.
pub(super) fn improve(
    service: &Service,
    request: &Consolidate,
    done: &mut Consolidated,
) -> Result<(), Error> {
    if !request.dry_run {
        settle(service)?;
    }
    if request.no_model {
        return Ok(());
    }
    match model_config::configured(service) {
        Ok(None) => {}
        Ok(Some(configured)) => {
            let mut run = model_run::run_of(&configured);
            let questions = questions(service, request, &configured, &mut run)?;
            if request.dry_run {
                plan(service, request, &configured, &questions, &mut run)?;
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

/// Marks answers that memory already contains as done: a run may have been killed between the two writes.
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

/// Prompts for the latest sessions that the model may see and has not seen in their current state.
fn questions(
    service: &Service,
    request: &Consolidate,
    configured: &Configured,
    run: &mut ModelRun,
) -> Result<Vec<Question>, Error> {
    let mut plan = Plan::for_model(service, request)?;
    run.off = plan.leave_out(&|_, wanted| configured.is_off(&wanted.project));
    // A session with newer events is sent even if its last job is backing off.
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
    let prompt_spec = memory::ask(digest);
    let prompt = MaskedPrompt::mask(masker, prompt_spec.system, &prompt_spec.text);
    let about = about(&digest.source, &digest.session_id);
    let job = Job { key: format!("{about} {}", prompt.fingerprint()), about };
    Question { digest: digest.clone(), prompt_spec, prompt, job }
}

/// Plans the calls of a dry run: the maximum cost and, with `payload`, the exact text.
fn plan(
    service: &Service,
    request: &Consolidate,
    configured: &Configured,
    questions: &[Question],
    run: &mut ModelRun,
) -> Result<(), Error> {
    let used = model_run::used(service)?;
    for question in questions.iter().filter(|question| !question.prompt_spec.shown.is_empty()) {
        let Some(price) = model_run::weigh(configured, question.words(), (used, request.payload), run) else {
            continue;
        };
        let (chat_id, source) = (question.digest.session_id.clone(), question.digest.source.clone());
        let model_run::Price { tokens, cost, payload } = price;
        run.planned.push(PlannedCall { chat_id, source, tokens, cost, payload });
    }
    Ok(())
}

/// Sends the prompts one by one until none is left or a limit is reached.
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
    let mut runner = Asking {
        service,
        configured,
        masker: model_run::masker(service)?,
        sink: Sink::new(service, false)?,
        run,
        done,
    };
    for (at, question) in questions.iter().enumerate() {
        if service.progress.stopped() {
            runner.run.why = Some("it was called off".to_string());
        }
        if runner.run.why.is_some() {
            runner.run.left += (questions.len() - at) as u64;
            break;
        }
        runner.one(&mut ledger, question)?;
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
        if question.prompt_spec.shown.is_empty() {
            // The session has no text, so there is nothing to send, now or later.
            let finding = derive(&question.digest).finding(&question.digest, self.service.clock.now());
            return self.keep(&Finding { origin: Origin::Model, ..finding });
        }
        let masker = &self.masker;
        let judge = |text: &str| {
            memory::read_answer(&masker.json(text), &question.prompt_spec).map_err(|why| why.to_string())
        };
        let ran =
            model_run::put(self.service, self.configured, ledger, &question.job, question.words(), judge)?;
        match ran {
            Ran::Answered(answer, usage) => {
                let now = self.service.clock.now();
                self.keep(&answer.finding(&question.digest, &question.prompt_spec, now))?;
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
        // A call takes seconds; a person may have forgotten the session in the meantime.
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
