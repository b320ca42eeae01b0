//! The common part of all model runs: estimates the cost, checks budget and backoff, makes the calls, and records costs and
//! the reason for stopping.
//!
//! Does not know the content of the prompts.

use crate::model_config::Configured;
use crate::{Service, ledger};
use api::Error;
use api::costs::ModelRun;
use history::error::homeless;
use history::home;
use llm::{Claim, Desk, Job, JobRow, Ledger, MaskedPrompt, Ran};
use mask::Masker;
use serde_json::Value;

/// The prompt, the schema of the response, and the maximum number of response tokens.
pub(crate) type Words<'w> = (&'w MaskedPrompt, &'w Value, u32);

pub(crate) fn run_of(configured: &Configured) -> ModelRun {
    ModelRun {
        provider: configured.model.provider.name.to_string(),
        model: configured.model.name.clone(),
        ..ModelRun::default()
    }
}

pub(crate) fn masker(service: &Service) -> Result<Masker, Error> {
    let home = service.home().ok_or_else(homeless)?;
    Ok(Masker::new(home::mask_key(Some(&home))))
}

/// Acquires the lock for model calls. None: another run holds it.
pub(crate) fn turn(service: &Service) -> Result<Option<home::Lock>, Error> {
    let home = service.home().ok_or_else(homeless)?;
    home::Lock::seize_at(&home, &home.model_lock())
}

/// Jobs that are parked or not due yet.
pub(crate) fn resting(service: &Service) -> Result<Vec<JobRow>, Error> {
    let Some(ledger) = ledger::look(service) else { return Ok(Vec::new()) };
    let now = service.clock.now();
    let mut jobs = ledger.jobs().map_err(|error| ledger::told(&error))?;
    jobs.retain(|job| job.state == "parked" || job.state == "open" && job.due > now);
    Ok(jobs)
}

/// Tokens used within the last 24 hours.
pub(crate) fn used(service: &Service) -> Result<u64, Error> {
    let Some(ledger) = ledger::look(service) else { return Ok(0) };
    ledger.used(service.clock.now()).map_err(|error| ledger::told(&error))
}

/// The maximum cost of a call.
pub(crate) struct Price {
    pub(crate) tokens: u64,
    pub(crate) cost: Option<f64>,
    pub(crate) payload: Option<String>,
}

/// Adds a call to the estimate of a run. None if it would exceed the daily budget.
pub(crate) fn weigh(
    configured: &Configured,
    (prompt, schema, max_tokens): Words<'_>,
    (used, with_payload): (u64, bool),
    run: &mut ModelRun,
) -> Option<Price> {
    let limits = configured.limits(max_tokens);
    let tokens = llm::expected(prompt, schema, limits);
    if used + run.tokens_in + run.tokens_out + tokens > configured.tokens_per_day {
        run.left += 1;
        run.why = Some(over_budget(used, configured.tokens_per_day));
        return None;
    }
    let (sent, received) = (tokens - u64::from(max_tokens), u64::from(max_tokens));
    let cost = configured.price.map(|price| llm::price_of(sent, received, price));
    (run.tokens_in, run.tokens_out) = (run.tokens_in + sent, run.tokens_out + received);
    run.cost = cost.map(|cost| run.cost.unwrap_or(0.0) + cost).or(run.cost);
    let payload = with_payload.then(|| configured.model.payload(prompt, schema, limits));
    Some(Price { tokens, cost, payload })
}

fn over_budget(used: u64, cap: u64) -> String {
    format!("{used} of {cap} tokens a day are used (`model.tokens_per_day`)")
}

/// Runs one job. A job that is already done is run again: its stored result is gone.
pub(crate) fn put<T>(
    service: &Service,
    configured: &Configured,
    ledger: &mut Ledger,
    job: &Job,
    (prompt, schema, max_tokens): Words<'_>,
    judge: impl Fn(&str) -> Result<T, String>,
) -> Result<Ran<T>, Error> {
    let ledger_error = |error: llm::Error| ledger::told(&error);
    let Configured { model, tokens_per_day, price, .. } = configured;
    let (clock, tokens_per_day, price) = (service.clock, *tokens_per_day, *price);
    let request = (prompt, schema, configured.limits(max_tokens));
    let mut runner = Desk { ledger, model, clock, tokens_per_day, price };
    match runner.run(job, request, &judge).map_err(ledger_error)? {
        Ran::NotNow(Claim::Done) => {
            runner.ledger.reopen(&job.key, clock.now()).map_err(ledger_error)?;
            runner.run(job, request, &judge).map_err(ledger_error)
        }
        ran => Ok(ran),
    }
}

pub(crate) fn spent(configured: &Configured, usage: &llm::Usage, run: &mut ModelRun) {
    run.tokens_in += usage.tokens_in;
    run.tokens_out += usage.tokens_out;
    let priced = configured.price.map(|price| llm::price_of(usage.tokens_in, usage.tokens_out, price));
    let cost = usage.cost.or(priced.filter(|_| usage.told));
    run.cost = cost.map(|cost| run.cost.unwrap_or(0.0) + cost).or(run.cost);
}

/// Records a failed call. A failure that would affect every other job ends the run.
pub(crate) fn failed(configured: &Configured, failure: llm::Failure, run: &mut ModelRun) {
    spent(configured, &failure.usage, run);
    run.failed += 1;
    run.why = (failure.fault != llm::Fault::Job).then_some(failure.message);
}

/// Records a job that cannot run now.
pub(crate) fn not_now(claim: &Claim, run: &mut ModelRun) {
    run.left += 1;
    run.why = why(claim);
    run.trouble = matches!(claim, Claim::Closed { .. });
}

/// The reason for ending the run; None if only this job has to wait.
fn why(claim: &Claim) -> Option<String> {
    matches!(claim, Claim::Closed { .. } | Claim::OverBudget { .. }).then(|| waits(claim))
}

/// The reason why a job did not run.
pub(crate) fn waits(claim: &Claim) -> String {
    match claim {
        Claim::Closed { until, message, .. } => format!("not before {until}: {message}"),
        Claim::OverBudget { used, cap, .. } => over_budget(*used, *cap),
        Claim::NotDue { until, error } => format!("not before {until}: {error}"),
        Claim::Parked { error, .. } => {
            format!("set aside: {error}; `loci memory jobs --retry` lets it be asked again")
        }
        Claim::Taken { until } => format!("another asks it, until {until} at most"),
        Claim::Done | Claim::Answered(_) | Claim::Yours(_) => "it was answered".to_string(),
    }
}
