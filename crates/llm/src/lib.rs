//! Model calls, the only part of Loci that uses the network: takes masked text, checks the budget, calls a model, writes
//! a receipt.
//!
//! Without a model configured by the user there is no server to call, and no text leaves the machine. Does not know what
//! sessions, summaries or facts are.

mod anthropic;
mod call;
mod claude;
mod completion;
mod failure;
mod harmless;
mod http;
mod ledger;
mod openai;
mod prompt;
mod provider;
mod retry_time;

pub use call::{CallOutcome, ModelCaller, expected_tokens, price_of_tokens};
pub use claude::{NESTED_CALL_VAR, PASSED_VARS};
pub use completion::Completion;
pub use db::durable::find_damage;
pub use failure::{Failure, FailureClass, Fault, Usage};
pub use harmless::remove_instructions;
pub use http::AddressError;
pub use ledger::{
    ClosedEndpoint, DAY_MS, Error, Job, JobRow, LeaseResult, Ledger, MAX_ATTEMPTS, Receipt, Reservation,
};
pub use prompt::MaskedPrompt;
pub use provider::{ConfigError, Key, Limits, Model, PROVIDERS, Provider, Settings};
