//! One model call, from its reservation to its receipt. The ledger records every outcome: a killed process leaves a lease
//! that expires and a reservation that counts, and an answer that was not stored yet is not paid for twice.
//!
//! Does not know what a good answer is: the caller's `judge` decides.

use crate::failure::{Class, Failure, Usage};
use crate::ledger::{Claim, Error, Job, Ledger, Want};
use crate::prompt::MaskedPrompt;
use crate::provider::{Limits, Model};
use record::Clock;
use serde_json::Value;

/// Milliseconds added to the call's timeout: when a lease expires, its holder has had time to write the receipt.
const MARGIN: i64 = 5_000;

/// The ledger, model and budget for calls.
pub struct Desk<'d> {
    pub ledger: &'d mut Ledger,
    pub model: &'d Model,
    pub clock: Clock,
    pub tokens_per_day: u64,
    /// Dollars per million input and output tokens. Without it, a receipt has no price.
    pub price: Option<(f64, f64)>,
}

/// How a call ended.
#[derive(Debug)]
pub enum Ran<T> {
    /// The answer passed `judge`. Call [`Ledger::done`] once it has been stored.
    Answered(T, Usage),
    Failed(Failure),
    /// No request was sent.
    NotNow(Claim),
}

impl Desk<'_> {
    /// Calls the model if the job is due and within the budget, and validates the answer with `judge`.
    pub fn run<T>(
        &mut self,
        job: &Job,
        (prompt, schema, limits): (&MaskedPrompt, &Value, Limits),
        judge: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Ran<T>, Error> {
        let want = want(self.model, prompt, schema, limits);
        let want = Want { tokens_per_day: self.tokens_per_day, ..want };
        let receipt = match self.ledger.claim(job, &want, self.clock.now())? {
            Claim::Yours(receipt) => receipt,
            Claim::Answered(text) => return self.judged_before(job, &text, judge),
            other => return Ok(Ran::NotNow(other)),
        };
        let completed = self.model.complete(prompt, schema, limits, self.clock.now());
        let judged = completed.and_then(|done| match judge(&done.text) {
            Ok(good) => Ok((done, good)),
            Err(why) => Err(Failure::of_job(Class::Poison, why).spent(done.usage)),
        });
        let (now, call) = (self.clock.now(), (receipt, self.model.door.as_str()));
        match judged {
            Ok((done, good)) => {
                self.ledger.answered(call, &done.text, &done.usage, self.cost(&done.usage), now)?;
                Ok(Ran::Answered(good, done.usage.counted(want.tokens)))
            }
            Err(failure) => {
                let failure = failure.counted(want.tokens);
                self.ledger.failed(call, &failure, self.cost(&failure.usage), now)?;
                Ok(Ran::Failed(failure))
            }
        }
    }

    /// Validates an answer that was paid for but not stored. It passed once; if it no longer does, the job is reopened.
    fn judged_before<T>(
        &mut self,
        job: &Job,
        text: &str,
        judge: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Ran<T>, Error> {
        match judge(text) {
            Ok(good) => Ok(Ran::Answered(good, Usage::default())),
            Err(why) => {
                self.ledger.reopen(&job.key, self.clock.now())?;
                Ok(Ran::Failed(Failure::of_job(Class::Poison, why)))
            }
        }
    }

    fn cost(&self, usage: &Usage) -> Option<f64> {
        usage.cost.or_else(|| {
            self.price.filter(|_| usage.told).map(|price| price_of(usage.tokens_in, usage.tokens_out, price))
        })
    }
}

fn want<'w>(model: &'w Model, prompt: &MaskedPrompt, schema: &Value, limits: Limits) -> Want<'w> {
    Want {
        door: &model.door,
        provider: model.provider.name,
        model: &model.name,
        bytes: model.payload(prompt, schema, limits).len() as u64,
        tokens: expected(prompt, schema, limits),
        tokens_per_day: 0,
        lease: limits.within.as_millis() as i64 + MARGIN,
    }
}

/// Upper estimate of a call's tokens: prompt, schema and the longest answer.
pub fn expected(prompt: &MaskedPrompt, schema: &Value, limits: Limits) -> u64 {
    prompt.tokens() + schema.to_string().len() as u64 / 3 + u64::from(limits.max_tokens)
}

pub fn price_of(tokens_in: u64, tokens_out: u64, (price_in, price_out): (f64, f64)) -> f64 {
    (tokens_in as f64 * price_in + tokens_out as f64 * price_out) / 1e6
}
