//! One model call, from its reservation to its receipt. The ledger records every outcome: a killed process leaves a lease
//! that expires and a reservation that counts, and an answer that was not stored yet is not paid for twice.
//!
//! Does not know what a good answer is: the caller's `judge` decides.

use crate::failure::{Failure, FailureClass, Usage};
use crate::ledger::{Error, Job, LeaseResult, Ledger, Reservation};
use crate::prompt::MaskedPrompt;
use crate::provider::{Limits, Model};
use record::Clock;
use serde_json::Value;

/// Milliseconds added to the call's timeout: when a lease expires, its holder has had time to write the receipt.
const LEASE_MARGIN_MS: i64 = 5_000;

/// The ledger, model and budget for calls.
pub struct ModelCaller<'d> {
    pub ledger: &'d mut Ledger,
    pub model: &'d Model,
    pub clock: Clock,
    pub tokens_per_day: u64,
    /// Dollars per million input and output tokens. Without it, a receipt has no price.
    pub price: Option<(f64, f64)>,
}

/// How a call ended.
#[derive(Debug)]
pub enum CallOutcome<T> {
    /// The answer passed `judge`. Call [`Ledger::mark_done`] once it has been stored.
    Answered(T, Usage),
    Failed(Failure),
    /// No request was sent.
    NotCalled(LeaseResult),
}

impl ModelCaller<'_> {
    /// Calls the model if the job is due and within the budget, and validates the answer with `judge`.
    pub fn run<T>(
        &mut self,
        job: &Job,
        (prompt, schema, limits): (&MaskedPrompt, &Value, Limits),
        judge: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<CallOutcome<T>, Error> {
        let want = reservation_for(self.model, prompt, schema, limits);
        let want = Reservation { tokens_per_day: self.tokens_per_day, ..want };
        let receipt = match self.ledger.lease_job(job, &want, self.clock.now())? {
            LeaseResult::Granted(receipt) => receipt,
            LeaseResult::Answered(text) => return self.judge_saved_answer(job, &text, judge),
            other => return Ok(CallOutcome::NotCalled(other)),
        };
        let completed = self.model.complete(prompt, schema, limits, self.clock.now());
        let judged = completed.and_then(|done| match judge(&done.text) {
            Ok(good) => Ok((done, good)),
            Err(why) => Err(Failure::of_job(FailureClass::Poison, why).with_usage(done.usage)),
        });
        let (now, call) = (self.clock.now(), (receipt, self.model.endpoint.as_str()));
        match judged {
            Ok((done, good)) => {
                self.ledger.record_answer(call, &done.text, &done.usage, self.cost_of(&done.usage), now)?;
                Ok(CallOutcome::Answered(good, done.usage.or_reserved(want.tokens)))
            }
            Err(failure) => {
                let failure = failure.with_counted_usage(want.tokens);
                self.ledger.record_failure(call, &failure, self.cost_of(&failure.usage), now)?;
                Ok(CallOutcome::Failed(failure))
            }
        }
    }

    /// Validates an answer that was paid for but not stored. It passed once; if it no longer does, the job is reopened.
    fn judge_saved_answer<T>(
        &mut self,
        job: &Job,
        text: &str,
        judge: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<CallOutcome<T>, Error> {
        match judge(text) {
            Ok(good) => Ok(CallOutcome::Answered(good, Usage::default())),
            Err(why) => {
                self.ledger.reopen_job(&job.key, self.clock.now())?;
                Ok(CallOutcome::Failed(Failure::of_job(FailureClass::Poison, why)))
            }
        }
    }

    fn cost_of(&self, usage: &Usage) -> Option<f64> {
        usage.cost.or_else(|| {
            self.price
                .filter(|_| usage.reported)
                .map(|price| price_of_tokens(usage.tokens_in, usage.tokens_out, price))
        })
    }
}

fn reservation_for<'w>(
    model: &'w Model,
    prompt: &MaskedPrompt,
    schema: &Value,
    limits: Limits,
) -> Reservation<'w> {
    Reservation {
        endpoint: &model.endpoint,
        provider: model.provider.name,
        model: &model.name,
        bytes: model.preview_payload(prompt, schema, limits).len() as u64,
        tokens: expected_tokens(prompt, schema, limits),
        tokens_per_day: 0,
        lease: limits.timeout.as_millis() as i64 + LEASE_MARGIN_MS,
    }
}

/// Upper estimate of a call's tokens: prompt, schema and the longest answer.
pub fn expected_tokens(prompt: &MaskedPrompt, schema: &Value, limits: Limits) -> u64 {
    prompt.estimate_tokens() + schema.to_string().len() as u64 / 3 + u64::from(limits.max_tokens)
}

pub fn price_of_tokens(tokens_in: u64, tokens_out: u64, (price_in, price_out): (f64, f64)) -> f64 {
    (tokens_in as f64 * price_in + tokens_out as f64 * price_out) / 1e6
}
