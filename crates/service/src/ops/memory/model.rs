//! Has a model improve what was derived: names, tags, summaries and facts of sessions that it has not seen as they are now.
//! Only if one is configured; within its limits; the latest sessions first. What it says is believed as far as
//! `memory::read_answer` believes it.
//!
//! Does not know how a model is reached, or what a call costs: that is `llm`.

use super::digest::Plan;
use super::{Hand, told};
use crate::model::{self, Configured};
use crate::ops::spending::{about, put_away};
use crate::tombstones::Tombstones;
use crate::{Service, home, ingest};
use api::Error;
use api::memory::{Consolidate, Consolidated};
use api::spending::{ModelRun, PlannedCall};
use llm::{Claim, Desk, Fault, Job, Ledger, MaskedPrompt, Ran};
use mask::Masker;
use memory::{Digest, Finding, Origin, derive};
use record::Stamp;

/// What is asked about one session.
struct Question {
    digest: Digest,
    asked: memory::Ask,
    prompt: MaskedPrompt,
    job: Job,
}

/// Asks about what is new, or says what would be asked. What goes wrong with a model leaves what was derived as it is.
pub(super) fn improve(service: &Service, ask: &Consolidate, done: &mut Consolidated) -> Result<(), Error> {
    if !ask.dry_run {
        settle(service)?;
    }
    if ask.no_model {
        return Ok(());
    }
    match model::configured(service) {
        Ok(None) => {}
        Ok(Some(configured)) => {
            let mut run = ModelRun {
                provider: configured.model.provider.name.to_string(),
                model: configured.model.name.clone(),
                ..ModelRun::default()
            };
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
    let Some(known) = model::look_at_ledger(service) else { return Ok(()) };
    let jobs = known.jobs().map_err(|error| model::told(&error))?;
    drop(known);
    let kept = put_away(service, &jobs)?;
    if kept.is_empty() {
        return Ok(());
    }
    let (mut ledger, now) = (model::ledger(service)?, service.clock.now());
    kept.iter().try_for_each(|key| ledger.done(key, now)).map_err(|error| model::told(&error))
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
    let resting = resting(service)?;
    let rests = |name: &(String, String), ended: Stamp| {
        resting.iter().any(|(known, since)| *known == about(&name.0, &name.1) && *since >= ended)
    };
    run.left = plan.leave_out(&|name, wanted| rests(name, wanted.ended_at));
    run.left += plan.limit(Some(configured.jobs_per_run));
    let masker = masker(service)?;
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

/// What was set aside, and what is not due yet: a session that has gone on since is asked about all the same.
fn resting(service: &Service) -> Result<Vec<(String, Stamp)>, Error> {
    let Some(ledger) = model::look_at_ledger(service) else { return Ok(Vec::new()) };
    let now = service.clock.now();
    let jobs = ledger.jobs().map_err(|error| model::told(&error))?;
    let rests = |job: &llm::JobRow| job.state == "parked" || job.state == "open" && job.due > now;
    Ok(jobs.into_iter().filter(rests).map(|job| (job.about, job.changed)).collect())
}

fn masker(service: &Service) -> Result<Masker, Error> {
    let home = service.home().ok_or_else(ingest::homeless)?;
    Ok(Masker::new(home::mask_key(Some(&home))))
}

/// What would be asked, what it can come to, and with `payload` the very text.
fn plan(
    service: &Service,
    ask: &Consolidate,
    configured: &Configured,
    questions: &[Question],
    run: &mut ModelRun,
) -> Result<(), Error> {
    let used = match model::look_at_ledger(service) {
        Some(ledger) => ledger.used(service.clock.now()).map_err(|error| model::told(&error))?,
        None => 0,
    };
    for question in questions.iter().filter(|question| !question.asked.shown.is_empty()) {
        let (schema, limits) = (&question.asked.schema, configured.limits(question.asked.max_tokens));
        let tokens = llm::expected(&question.prompt, schema, limits);
        if used + run.tokens_in + run.tokens_out + tokens > configured.tokens_per_day {
            run.left += 1;
            run.why = Some(over_budget(used, configured.tokens_per_day));
            continue;
        }
        let (sent, received) = (tokens - u64::from(limits.max_tokens), u64::from(limits.max_tokens));
        let cost = configured.price.map(|price| llm::price_of(sent, received, price));
        (run.tokens_in, run.tokens_out) = (run.tokens_in + sent, run.tokens_out + received);
        run.cost = cost.map(|cost| run.cost.unwrap_or(0.0) + cost).or(run.cost);
        let payload = ask.payload.then(|| configured.model.payload(&question.prompt, schema, limits));
        let (chat_id, source) = (question.digest.session_id.clone(), question.digest.source.clone());
        run.planned.push(PlannedCall { chat_id, source, tokens, cost, payload });
    }
    Ok(())
}

fn over_budget(used: u64, cap: u64) -> String {
    format!("{used} of {cap} tokens a day are used (`model.tokens_per_day`)")
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
    let home = service.home().ok_or_else(ingest::homeless)?;
    let Some(_turn) = home::Lock::seize_at(&home, &home.model_lock())? else {
        run.left += questions.len() as u64;
        run.why = Some("another run is asking the model".to_string());
        return Ok(());
    };
    let mut ledger = model::ledger(service)?;
    let mut asking =
        Asking { service, configured, masker: masker(service)?, hand: Hand::new(service, false)?, run, done };
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
    hand: Hand,
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
        let limits = self.configured.limits(question.asked.max_tokens);
        let asked = (&question.prompt, &question.asked.schema, limits);
        let Configured { model, tokens_per_day, price, .. } = self.configured;
        let (clock, tokens_per_day, price) = (self.service.clock, *tokens_per_day, *price);
        let mut desk = Desk { ledger, model, clock, tokens_per_day, price };
        let masker = &self.masker;
        let judge = |text: &str| {
            memory::read_answer(&masker.json(text), &question.asked).map_err(|why| why.to_string())
        };
        let mut ran = desk.run(&question.job, asked, judge).map_err(|error| model::told(&error))?;
        if matches!(ran, Ran::NotNow(Claim::Done)) {
            // It was answered and put away, and the memory it was put into is gone.
            desk.ledger.reopen(&question.job.key, clock.now()).map_err(|error| model::told(&error))?;
            ran = desk.run(&question.job, asked, judge).map_err(|error| model::told(&error))?;
        }
        match ran {
            Ran::Answered(answer, usage) => {
                self.keep(&answer.finding(&question.digest, &question.asked, clock.now()))?;
                ledger.done(&question.job.key, clock.now()).map_err(|error| model::told(&error))?;
                self.spent(&usage);
                self.run.answered += 1;
            }
            Ran::Failed(failure) => {
                self.spent(&failure.usage);
                self.run.failed += 1;
                self.run.why = (failure.fault != Fault::Job).then_some(failure.message);
            }
            Ran::NotNow(claim) => {
                self.run.left += 1;
                self.run.why = why(&claim);
                self.run.trouble = matches!(claim, Claim::Closed { .. });
            }
        }
        Ok(())
    }

    fn keep(&mut self, finding: &Finding) -> Result<(), Error> {
        // A call takes seconds, in which a person may have asked to forget what it was about.
        if Tombstones::read(self.service.home().as_ref()).holds(&finding.source, &finding.session_id) {
            return Ok(());
        }
        let (applied, session) = self.hand.take(finding)?;
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

    fn spent(&mut self, usage: &llm::Usage) {
        self.run.tokens_in += usage.tokens_in;
        self.run.tokens_out += usage.tokens_out;
        let priced =
            self.configured.price.map(|price| llm::price_of(usage.tokens_in, usage.tokens_out, price));
        let cost = usage.cost.or(priced.filter(|_| usage.told));
        self.run.cost = cost.map(|cost| self.run.cost.unwrap_or(0.0) + cost).or(self.run.cost);
    }
}

/// Why nothing more is asked; none where only this one question has to wait.
fn why(claim: &Claim) -> Option<String> {
    match claim {
        Claim::Closed { until, message, .. } => Some(format!("not before {until}: {message}")),
        Claim::OverBudget { used, cap, .. } => Some(over_budget(*used, *cap)),
        _ => None,
    }
}
