//! The only door out: takes masked text, checks the budget, calls a model, writes the receipt.
//!
//! Without a model that a person configured there is nobody to call, and nothing ever leaves. Does not know what sessions,
//! summaries or facts are.

mod anthropic;
mod claude;
mod errand;
mod failure;
mod harmless;
mod http;
mod ledger;
mod openai;
mod prompt;
mod provider;
mod wait;

pub use claude::{PASSED, WITHIN};
pub use errand::{Desk, Ran, expected, price_of};
pub use failure::{Class, Failure, Fault, Usage};
pub use harmless::harmless;
pub use http::BadAddress;
pub use ledger::{ATTEMPTS, Claim, Closed, DAY, Error, Job, JobRow, Ledger, Receipt, Want};
pub use prompt::MaskedPrompt;
pub use provider::{Completed, Key, Limits, Misconfigured, Model, PROVIDERS, Provider, Settings};
