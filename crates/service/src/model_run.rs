//! The common part of all model runs: estimates the cost, checks budget and backoff, makes the calls, and records costs and
//! the reason for stopping.
//!
//! Does not know the content of the prompts.

use crate::{Service, ledger};
use api::Error;
use api::costs::ModelRun;
use config::model::ConfiguredModel;
use history::error::no_home;
use history::home;
use llm::{CallOutcome, Job, JobRow, LeaseResult, Ledger, MaskedPrompt, ModelCaller};
use mask::Masker;
use serde_json::Value;

/// The prompt, the schema of the response, and the maximum number of response tokens.
pub(crate) type PromptSpec<'w> = (&'w MaskedPrompt, &'w Value, u32);

pub(crate) fn new_run(configured: &ConfiguredModel) -> ModelRun {
    ModelRun {
        provider: configured.model.provider.name.to_string(),
        model: configured.model.name.clone(),
        ..ModelRun::default()
    }
}

pub(crate) fn prompt_masker(service: &Service) -> Result<Masker, Error> {
    let home = service.home().ok_or_else(no_home)?;
    Ok(Masker::new(home::mask_key(Some(&home))))
}

/// Acquires the lock for model calls. None: another run holds it.
pub(crate) fn try_model_lock(service: &Service) -> Result<Option<home::Lock>, Error> {
    let home = service.home().ok_or_else(no_home)?;
    home::Lock::try_acquire_at(&home, &home.model_lock())
}

/// Jobs that are parked or not due yet.
pub(crate) fn waiting_jobs(service: &Service) -> Result<Vec<JobRow>, Error> {
    let Some(ledger) = ledger::open_existing(service)? else { return Ok(Vec::new()) };
    let now = service.clock.now();
    let mut jobs = ledger.unfinished_jobs().map_err(|error| ledger::ledger_error(&error))?;
    jobs.retain(|job| job.state == "parked" || job.state == "open" && job.due > now);
    Ok(jobs)
}

/// Tokens used within the last 24 hours.
pub(crate) fn tokens_used(service: &Service) -> Result<u64, Error> {
    let Some(ledger) = ledger::open_existing(service)? else { return Ok(0) };
    ledger.tokens_used(service.clock.now()).map_err(|error| ledger::ledger_error(&error))
}

/// The maximum cost of a call.
pub(crate) struct CallEstimate {
    pub(crate) tokens: u64,
    pub(crate) cost: Option<f64>,
    pub(crate) payload: Option<String>,
}

/// Adds a call to the estimate of a run. None if it would exceed the daily budget.
pub(crate) fn estimate_call(
    configured: &ConfiguredModel,
    (prompt, schema, max_tokens): PromptSpec<'_>,
    (used, with_payload): (u64, bool),
    run: &mut ModelRun,
) -> Option<CallEstimate> {
    let limits = configured.limits(max_tokens);
    let tokens = llm::expected_tokens(prompt, schema, limits);
    if used + run.tokens_in + run.tokens_out + tokens > configured.tokens_per_day {
        run.left += 1;
        run.why = Some(over_budget(used, configured.tokens_per_day));
        return None;
    }
    let (sent, received) = (tokens - u64::from(max_tokens), u64::from(max_tokens));
    let cost = configured.price.map(|price| llm::price_of_tokens(sent, received, price));
    (run.tokens_in, run.tokens_out) = (run.tokens_in + sent, run.tokens_out + received);
    run.cost = cost.map(|cost| run.cost.unwrap_or(0.0) + cost).or(run.cost);
    let payload = with_payload.then(|| configured.model.preview_payload(prompt, schema, limits));
    Some(CallEstimate { tokens, cost, payload })
}

fn over_budget(used: u64, cap: u64) -> String {
    format!("daily token limit: {used} of {cap} tokens used (`model.tokens_per_day`)")
}

/// Runs one job. A job that is already done is run again: its stored result is gone.
pub(crate) fn run_job<T>(
    service: &Service,
    configured: &ConfiguredModel,
    ledger: &mut Ledger,
    job: &Job,
    (prompt, schema, max_tokens): PromptSpec<'_>,
    judge: impl Fn(&str) -> Result<T, String>,
) -> Result<CallOutcome<T>, Error> {
    let ledger_error = |error: llm::Error| ledger::ledger_error(&error);
    let ConfiguredModel { model, tokens_per_day, price, .. } = configured;
    let (clock, tokens_per_day, price) = (service.clock, *tokens_per_day, *price);
    let request = (prompt, schema, configured.limits(max_tokens));
    let mut runner = ModelCaller { ledger, model, clock, tokens_per_day, price };
    match runner.run(job, request, &judge).map_err(ledger_error)? {
        CallOutcome::NotCalled(LeaseResult::Done) => {
            runner.ledger.reopen_job(&job.key, clock.now()).map_err(ledger_error)?;
            runner.run(job, request, &judge).map_err(ledger_error)
        }
        ran => Ok(ran),
    }
}

pub(crate) fn add_usage(configured: &ConfiguredModel, usage: &llm::Usage, run: &mut ModelRun) {
    run.tokens_in += usage.tokens_in;
    run.tokens_out += usage.tokens_out;
    let priced = configured.price.map(|price| llm::price_of_tokens(usage.tokens_in, usage.tokens_out, price));
    let cost = usage.cost.or(priced.filter(|_| usage.reported));
    run.cost = cost.map(|cost| run.cost.unwrap_or(0.0) + cost).or(run.cost);
}

/// Records a failed call. A failure that would affect every other job ends the run.
pub(crate) fn record_failure(configured: &ConfiguredModel, failure: llm::Failure, run: &mut ModelRun) {
    add_usage(configured, &failure.usage, run);
    run.failed += 1;
    run.why = (failure.fault != llm::Fault::Job).then_some(failure.message);
}

/// Records a job that cannot run now.
pub(crate) fn record_skipped(claim: &LeaseResult, run: &mut ModelRun) {
    run.left += 1;
    run.why = stop_reason(claim);
    run.trouble = matches!(claim, LeaseResult::EndpointClosed { .. });
}

/// The reason for ending the run; None if only this job has to wait.
fn stop_reason(claim: &LeaseResult) -> Option<String> {
    matches!(claim, LeaseResult::EndpointClosed { .. } | LeaseResult::OverBudget { .. })
        .then(|| skip_reason(claim))
}

/// The reason why a job did not run.
pub(crate) fn skip_reason(claim: &LeaseResult) -> String {
    match claim {
        LeaseResult::EndpointClosed { until, message, .. } => format!("in backoff until {until}: {message}"),
        LeaseResult::OverBudget { used, cap, .. } => over_budget(*used, *cap),
        LeaseResult::NotDue { until, error } => format!("next attempt after {until}: {error}"),
        LeaseResult::Parked { error, .. } => {
            format!("parked: {error}; `loci memory jobs --retry` retries it")
        }
        LeaseResult::Leased { until } => format!("another process is running this job (lease until {until})"),
        LeaseResult::Done | LeaseResult::Answered(_) | LeaseResult::Granted(_) => {
            "already answered".to_string()
        }
    }
}
