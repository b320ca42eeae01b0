//! Improves derived names, tags, summaries and facts with a model, for sessions that it has not seen in their current state.
//! Runs only if a model is configured, within its limits, latest sessions first. `memory::read_answer` validates the answers.
//!
//! Does not know how a model is called, or what a call costs: that is `llm`.

use super::digest::Plan;
use super::{apply_finding, to_session_named};
use crate::ledger::session_key;
use crate::operations::spending::applied_answers;
use crate::{Service, ledger, memory_store, model_run};
use api::Error;
use api::costs::{ModelRun, PlannedCall};
use api::memory::{Consolidate, Consolidated};
use config::model::{self as model_config, ConfiguredModel};
use history::tombstones::Tombstones;
use llm::{CallOutcome, Job, Ledger, MaskedPrompt};
use mask::Masker;
use memory::{Digest, Fact, Finding, Origin, Store, derive_memory};
use record::Stamp;

/// The prompt about one session.
struct SessionPrompt {
    digest: Digest,
    prompt_spec: memory::ModelPrompt,
    prompt: MaskedPrompt,
    job: Job,
}

impl SessionPrompt {
    fn prompt_parts(&self) -> model_run::PromptSpec<'_> {
        (&self.prompt, &self.prompt_spec.schema, self.prompt_spec.max_tokens)
    }
}

/// Sends the prompts for changed sessions, or plans them in a dry run. Model errors leave the derived memory unchanged.
pub(super) fn improve_sessions(
    service: &Service,
    request: &Consolidate,
    store: Store,
    done: &mut Consolidated,
) -> Result<(), Error> {
    if !request.dry_run {
        settle_applied_answers(service)?;
    }
    if request.no_model {
        return Ok(());
    }
    match model_config::load_model(&service.places, &service.exe) {
        Ok(None) => {}
        Ok(Some(configured)) => {
            let mut run = model_run::new_run(&configured);
            let known = store.facts("").map_err(|error| memory_store::store_error(&error))?;
            let questions = build_prompts(service, request, &known, &configured, &mut run)?;
            if request.dry_run {
                plan_calls(service, request, &configured, &questions, &mut run)?;
            } else {
                send_prompts(service, &configured, &questions, store, (&mut run, done))?;
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
fn settle_applied_answers(service: &Service) -> Result<(), Error> {
    let Some(known) = ledger::open_existing(service)? else { return Ok(()) };
    let jobs = known.unfinished_jobs().map_err(|error| ledger::ledger_error(&error))?;
    drop(known);
    let kept = applied_answers(service, &jobs)?;
    if kept.is_empty() {
        return Ok(());
    }
    let (mut ledger, now) = (ledger::open(service)?, service.clock.now());
    kept.iter().try_for_each(|key| ledger.mark_done(key, now)).map_err(|error| ledger::ledger_error(&error))
}

/// Prompts for the latest sessions that the model may see and has not seen in their current state.
fn build_prompts(
    service: &Service,
    request: &Consolidate,
    known: &[Fact],
    configured: &ConfiguredModel,
    run: &mut ModelRun,
) -> Result<Vec<SessionPrompt>, Error> {
    let mut plan = Plan::for_model(service, request)?;
    run.off = plan.remove_where(&|_, wanted| configured.is_off(&wanted.project));
    // A session with newer events is sent even if its last job is backing off.
    let resting = model_run::waiting_jobs(service)?;
    let rests = |name: &(String, String), ended: Stamp| {
        resting.iter().any(|job| job.about == session_key(&name.0, &name.1) && job.changed >= ended)
    };
    run.left = plan.remove_where(&|name, wanted| rests(name, wanted.ended_at));
    run.left += plan.keep_latest(Some(configured.jobs_per_run));
    let masker = model_run::prompt_masker(service)?;
    let mut questions = Vec::new();
    plan.for_each_digest(service, &mut |digest| {
        questions.push(build_prompt(digest, known, &masker));
        Ok(())
    })?;
    questions.sort_by(|a, b| b.digest.ended_at.cmp(&a.digest.ended_at).then(a.job.key.cmp(&b.job.key)));
    Ok(questions)
}

fn build_prompt(digest: &Digest, known: &[Fact], masker: &Masker) -> SessionPrompt {
    let prompt_spec = memory::build_prompt(digest, known);
    let prompt = MaskedPrompt::mask(masker, prompt_spec.system, &prompt_spec.text);
    let about = session_key(&digest.source, &digest.session_id);
    let job = Job { key: format!("{about} {}", prompt.fingerprint()), about };
    SessionPrompt { digest: digest.clone(), prompt_spec, prompt, job }
}

/// Plans the calls of a dry run: the maximum cost and, with `payload`, the exact text.
fn plan_calls(
    service: &Service,
    request: &Consolidate,
    configured: &ConfiguredModel,
    questions: &[SessionPrompt],
    run: &mut ModelRun,
) -> Result<(), Error> {
    let used = model_run::tokens_used(service)?;
    for question in questions.iter().filter(|question| !question.prompt_spec.message_ids.is_empty()) {
        let Some(price) =
            model_run::estimate_call(configured, question.prompt_parts(), (used, request.payload), run)
        else {
            continue;
        };
        let (chat_id, source) = (question.digest.session_id.clone(), question.digest.source.clone());
        let model_run::CallEstimate { tokens, cost, payload } = price;
        run.planned.push(PlannedCall { chat_id, source, tokens, cost, payload });
    }
    Ok(())
}

/// Sends the prompts one by one until none is left or a limit is reached.
fn send_prompts(
    service: &Service,
    configured: &ConfiguredModel,
    questions: &[SessionPrompt],
    store: Store,
    (run, done): (&mut ModelRun, &mut Consolidated),
) -> Result<(), Error> {
    if questions.is_empty() {
        return Ok(());
    }
    let Some(_turn) = model_run::try_model_lock(service)? else {
        run.left += questions.len() as u64;
        run.why = Some("another run is calling the model".to_string());
        return Ok(());
    };
    let mut ledger = ledger::open(service)?;
    let mut runner =
        ModelRunner { service, configured, masker: model_run::prompt_masker(service)?, store, run, done };
    for (at, question) in questions.iter().enumerate() {
        if service.progress.is_cancelled() {
            runner.run.why = Some("cancelled".to_string());
        }
        if runner.run.why.is_some() {
            runner.run.left += (questions.len() - at) as u64;
            break;
        }
        runner.send_prompt(&mut ledger, question)?;
    }
    runner.store.mark_superseded().map_err(|error| memory_store::store_error(&error))
}

struct ModelRunner<'a> {
    service: &'a Service,
    configured: &'a ConfiguredModel,
    masker: Masker,
    store: Store,
    run: &'a mut ModelRun,
    done: &'a mut Consolidated,
}

impl ModelRunner<'_> {
    fn send_prompt(&mut self, ledger: &mut Ledger, question: &SessionPrompt) -> Result<(), Error> {
        if question.prompt_spec.message_ids.is_empty() {
            // The session has no text, so there is nothing to send, now or later.
            let finding =
                derive_memory(&question.digest).into_finding(&question.digest, self.service.clock.now());
            return self.store_finding(&Finding { origin: Origin::Model, ..finding });
        }
        let masker = &self.masker;
        let judge = |text: &str| {
            memory::parse_response(&masker.mask_json(text), &question.prompt_spec)
                .map_err(|why| why.to_string())
        };
        let ran = model_run::run_job(
            self.service,
            self.configured,
            ledger,
            &question.job,
            question.prompt_parts(),
            judge,
        )?;
        match ran {
            CallOutcome::Answered(answer, usage) => {
                let now = self.service.clock.now();
                self.store_finding(&answer.into_finding(&question.digest, &question.prompt_spec, now))?;
                ledger.mark_done(&question.job.key, now).map_err(|error| ledger::ledger_error(&error))?;
                model_run::add_usage(self.configured, &usage, self.run);
                self.run.answered += 1;
            }
            CallOutcome::Failed(failure) => model_run::record_failure(self.configured, failure, self.run),
            CallOutcome::NotCalled(claim) => model_run::record_skipped(&claim, self.run),
        }
        Ok(())
    }

    fn store_finding(&mut self, finding: &Finding) -> Result<(), Error> {
        // A call takes seconds; a person may have forgotten the session in the meantime.
        if Tombstones::read(self.service.home().as_ref())?.contains(&finding.source, &finding.session_id) {
            return Ok(());
        }
        let (applied, session) = apply_finding(&mut self.store, finding)?;
        self.done.facts += applied.facts;
        self.done.in_review += applied.in_review;
        let Some(session) = session.filter(|_| applied.changed) else { return Ok(()) };
        let line = to_session_named(session, applied.facts);
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
