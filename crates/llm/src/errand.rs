//! One question to a model, from its reservation to its receipt. Whatever happens in between, the ledger knows of it: a kill
//! leaves a lease that runs out and a reservation that counts, an answer that was not put away yet is not paid for twice.
//!
//! Does not know what a good answer is: whoever asks judges it.

use crate::failure::{Class, Failure, Usage};
use crate::ledger::{Claim, Error, Job, Ledger, Want};
use crate::prompt::MaskedPrompt;
use crate::provider::{Limits, Model};
use record::Clock;
use serde_json::Value;

/// Beyond the time a call may take: until a lease runs out, whoever held it has had time to write its receipt.
const MARGIN: i64 = 5_000;

/// What a call is made with, besides the question.
pub struct Desk<'d> {
    pub ledger: &'d mut Ledger,
    pub model: &'d Model,
    pub clock: Clock,
    pub tokens_per_day: u64,
    /// Dollars for a million tokens, in and out; where nobody knows, a receipt has no price.
    pub price: Option<(f64, f64)>,
}

/// How an errand ended.
#[derive(Debug)]
pub enum Ran<T> {
    /// Judged good. `Ledger::done` when it has been put away.
    Answered(T, Usage),
    Failed(Failure),
    /// Nothing was sent.
    NotNow(Claim),
}

impl Desk<'_> {
    /// Asks, if the question is due and the budget allows it, and has the answer judged.
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
        let said = self.model.complete(prompt, schema, limits, self.clock.now());
        let judged = said.and_then(|done| match judge(&done.text) {
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

    /// An answer that was paid for and not put away. It was good once; if it is not any more, it is asked again.
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

/// The most a call is expected to take, in tokens: what is said, the schema that goes with it, and the longest answer.
pub fn expected(prompt: &MaskedPrompt, schema: &Value, limits: Limits) -> u64 {
    prompt.tokens() + schema.to_string().len() as u64 / 3 + u64::from(limits.max_tokens)
}

pub fn price_of(tokens_in: u64, tokens_out: u64, (price_in, price_out): (f64, f64)) -> f64 {
    (tokens_in as f64 * price_in + tokens_out as f64 * price_out) / 1e6
}
